//! The values of one pixel: coordinates, indices, class, every band.

use egui::{FontId, Rect, Response, Sense, Ui, pos2, vec2};

use super::difference;
use super::names::{classes_of, complex, narrow_name, number, number_of};
use super::scaling::{scaling_of, shared_scaling};
use super::state::PreviewPanel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::raster::{
    BandIndex, ComplexPart, PixelNumber, PixelValue, Probe, RasterInfo, indices_of,
};
use crate::studio::{Document, RowRef};

/// Height of a line, in points.
const LINE: f32 = 18.0;
/// Gap between a name, its bar and its text, in points.
const GAP: f32 = 6.0;

/// Draws coordinates, indices, class and band values of a pixel.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    document: &Document,
    at: RowRef,
    probe: &Probe,
    known: &[String],
) {
    let Some(info) = panel.info().cloned() else {
        return;
    };
    ui.spacing_mut().item_spacing.y = 2.0;
    line_ui(
        ui,
        tr!("row, col"),
        &format!(
            "{}, {}",
            paint::format_grouped_number(probe.row as u64),
            paint::format_grouped_number(probe.column as u64)
        ),
    );
    if let Some(apart) = difference::values(panel) {
        for (value, sources) in &apart {
            let name = name_probed_band(&info, value.band, known);
            line_ui(ui, &name, &difference::text(value))
                .on_hover_text(theme::rich_text(difference::sources_text(sources)));
        }
        return;
    }
    let scaled = |value: &PixelValue| scale_value(document, at, &info, value);
    for index in indices_of(&info, known) {
        if let Some((high, low)) = find_band_value(probe, index.high)
            .map(&scaled)
            .zip(find_band_value(probe, index.low).map(&scaled))
            .filter(|(high, low)| high + low != 0.0)
        {
            line_ui(
                ui,
                index.name,
                &format!("{:.3}", (high - low) / (high + low)),
            );
        }
    }
    if let [value] = probe.values.as_slice()
        && let Some((_, name)) = classes_of(document)
            .names
            .iter()
            .find(|(number, _)| is_equal_to_class(value.value, *number))
    {
        line_ui(ui, tr!("class"), name);
    }
    let with_scale = probe
        .values
        .iter()
        .any(|value| scaling_of(document, at, &info, value.band).is_some());
    // Where the bands shown have one scaling, the choice is beside the stretch.
    let shared = panel
        .image()
        .is_some_and(|image| shared_scaling(document, at, image).is_some());
    if with_scale && !shared {
        widgets::checkbox(ui, &mut panel.side.scaled, tr!("Scaled values"));
    }
    let scaled_shown = with_scale && panel.side.scaled;
    let highest = probe
        .values
        .iter()
        .filter(|value| !value.missing)
        .map(measure_magnitude)
        .fold(0.0, f64::max);
    // The names take what they need, up to half of the width.
    let longest = probe
        .values
        .iter()
        .map(|value| name_probed_band(&info, value.band, known).chars().count())
        .max();
    let names = (longest.unwrap_or(3) as f32 * 6.7 + 6.0).clamp(40.0, ui.available_width() * 0.42);
    for value in &probe.values {
        let name = name_probed_band(&info, value.band, known);
        let text = match value {
            value if value.missing => tr!("nodata").to_owned(),
            value if scaled_shown && value.imaginary.is_none() => number(scaled(value)),
            value => match value.imaginary {
                Some(imaginary) => complex(value.value, imaginary),
                None => number_of(value.value),
            },
        };
        let part = if value.missing || highest <= 0.0 {
            0.0
        } else {
            measure_magnitude(value) / highest
        };
        let response = value_ui(ui, (&name, names), &text, part as f32, value.missing);
        if let Some(imaginary) = value.imaginary.filter(|_| !value.missing) {
            let pair = [value.value.to_f64(), imaginary];
            let [magnitude, phase] = [ComplexPart::Magnitude, ComplexPart::Phase]
                .map(|part| number(part.value_of(pair)));
            line_ui(
                ui,
                tr!("magnitude, phase"),
                &format!("{magnitude}, {phase} rad"),
            );
        }
        if with_scale && !value.missing {
            let other = if scaled_shown {
                number_of(value.value)
            } else {
                number(scaled(value))
            };
            response.on_hover_text(if scaled_shown {
                tr!("stored {value}", value = other)
            } else {
                tr!("scaled {value}", value = other)
            });
        }
    }
}

/// The physical value of a pixel, or the stored one of a band without a scale.
fn scale_value(document: &Document, at: RowRef, info: &RasterInfo, value: &PixelValue) -> f64 {
    let stored = value.value.to_f64();
    scaling_of(document, at, info, value.band).map_or(stored, |scaling| scaling.physical(stored))
}

/// The value of a band unless it is missing.
fn find_band_value(probe: &Probe, band: BandIndex) -> Option<&PixelValue> {
    probe
        .values
        .iter()
        .find(|value| value.band == band)
        .filter(|value| !value.missing)
}

fn is_equal_to_class(value: PixelNumber, number: i64) -> bool {
    value.minus(PixelNumber::Integer(number.into())).to_f64() == 0.0
}

/// The magnitude of a complex value, or the absolute value of a real one.
fn measure_magnitude(value: &PixelValue) -> f64 {
    value
        .value
        .to_f64()
        .hypot(value.imaginary.unwrap_or_default())
}

fn name_probed_band(info: &RasterInfo, band: BandIndex, known: &[String]) -> String {
    info.band(band)
        .map_or(band.to_string(), |band| narrow_name(band, known))
}

/// A name at the left and a text at the right, on two lines where one is too narrow for both.
fn line_ui(ui: &mut Ui, name: &str, text: &str) -> Response {
    let t = theme::tokens(ui);
    let width = ui.available_width();
    let [name_width, text_width] = [(name, font::regular(12.0)), (text, font::mono(11.5))]
        .map(|(text, font)| width_of(ui, text, font));
    let lines = if name_width + text_width + GAP <= width {
        1.0
    } else {
        2.0
    };
    let (row, response) = ui.allocate_exact_size(vec2(width, LINE * lines), Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}"))
    });
    paint::text_left(
        ui.painter(),
        row.with_max_y(row.top() + LINE),
        name,
        font::regular(12.0),
        t.tx3,
    );
    paint::text_right(
        ui.painter(),
        row.with_min_y(row.bottom() - LINE),
        text,
        font::mono(11.5),
        t.tx,
    );
    response
}

/// The value of a band: its name in the given width, a bar as long as its `part` of the largest,
/// and its text. A long text takes the place of the bar, or a line of its own.
fn value_ui(
    ui: &mut Ui,
    (name, names): (&str, f32),
    text: &str,
    part: f32,
    missing: bool,
) -> Response {
    let t = theme::tokens(ui);
    let width = ui.available_width();
    let text_width = width_of(ui, text, font::mono(11.0));
    let lines = if names + text_width + GAP <= width {
        1.0
    } else {
        2.0
    };
    let (row, response) = ui.allocate_exact_size(vec2(width, LINE * lines), Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}"))
    });
    let (painter, first) = (ui.painter(), row.with_max_y(row.top() + LINE));
    let name_width = if lines > 1.0 { width } else { names };
    paint::text_left(
        painter,
        first.with_max_x(row.left() + name_width),
        name,
        font::mono(11.0),
        t.tx2,
    );
    let track = Rect::from_min_max(
        pos2(row.left() + names + GAP, first.center().y - 4.0),
        pos2(
            row.right() - (text_width + GAP).max(70.0),
            first.center().y + 4.0,
        ),
    );
    if track.width() > 12.0 {
        painter.rect_filled(track, 1, t.input);
        painter.rect_filled(
            track.with_max_x(track.left() + track.width() * part),
            1,
            t.ctl,
        );
    }
    paint::text_right(
        painter,
        row.with_min_y(row.bottom() - LINE),
        text,
        font::mono(11.0),
        if missing { t.tx3 } else { t.tx },
    );
    response
}

fn width_of(ui: &Ui, text: &str, font: FontId) -> f32 {
    paint::measure_text_width(ui.painter(), text, font, egui::Color32::PLACEHOLDER)
}
