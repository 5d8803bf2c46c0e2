//! The values of one pixel: coordinates, indices, class, every band.

use egui::{FontId, Rect, Response, Sense, Ui, pos2, vec2};

use super::difference;
use super::names::{classes_of, complex, narrow_name, number, number_of};
use super::scaling::{scaling_of, shared_scaling};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::raster::{ComplexPart, PixelNumber, PixelValue, Probe, indices_of};
use crate::studio::{Document, RowRef};

/// Height of a line, in points.
const LINE: f32 = 18.0;
/// Gap between a name, its bar and its text, in points.
const GAP: f32 = 6.0;

/// Draws coordinates, indices, class and band values of a pixel.
pub fn ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    probe: &Probe,
    known: &[String],
) {
    let Some(info) = cx.session.preview.info().cloned() else {
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
    if let Some(apart) = difference::values(&cx.session.preview) {
        for (value, sources) in &apart {
            let name = info
                .band(value.band)
                .map_or(value.band.to_string(), |band| narrow_name(band, known));
            line_ui(ui, &name, &difference::text(value))
                .on_hover_text(theme::rich_text(difference::sources_text(sources)));
        }
        return;
    }
    let scaled = |value: &PixelValue| match scaling_of(document, at, &info, value.band) {
        Some(scaling) => scaling.physical(value.value.to_f64()),
        None => value.value.to_f64(),
    };
    for index in indices_of(&info, known) {
        let value = |band| {
            probe
                .values
                .iter()
                .find(|value| value.band == band)
                .filter(|value| !value.missing)
                .map(&scaled)
        };
        if let Some((high, low)) = value(index.high)
            .zip(value(index.low))
            .filter(|(high, low)| high + low != 0.0)
        {
            line_ui(
                ui,
                index.name,
                &format!("{:.3}", (high - low) / (high + low)),
            );
        }
    }
    if let [value] = probe.values.as_slice() {
        let is_class = |number: i64| {
            value
                .value
                .minus(PixelNumber::Integer(number.into()))
                .to_f64()
                == 0.0
        };
        if let Some((_, name)) = classes_of(document)
            .names
            .iter()
            .find(|(number, _)| is_class(*number))
        {
            line_ui(ui, tr!("class"), name);
        }
    }
    let with_scale = probe
        .values
        .iter()
        .any(|value| scaling_of(document, at, &info, value.band).is_some());
    // Where the bands shown have one scaling, the choice is beside the stretch.
    let shared = cx
        .session
        .preview
        .image()
        .is_some_and(|image| shared_scaling(document, at, image).is_some());
    if with_scale && !shared {
        widgets::checkbox(
            ui,
            &mut cx.session.preview.side.scaled,
            tr!("Scaled values"),
        );
    }
    let scaled_shown = with_scale && cx.session.preview.side.scaled;
    let size = |value: &PixelValue| {
        value
            .value
            .to_f64()
            .hypot(value.imaginary.unwrap_or_default())
    };
    let highest = probe
        .values
        .iter()
        .filter(|value| !value.missing)
        .map(size)
        .fold(0.0, f64::max);
    // The names take what they need, up to half of the width.
    let name_of = |value: &PixelValue| {
        info.band(value.band)
            .map_or(value.band.to_string(), |band| narrow_name(band, known))
    };
    let longest = probe
        .values
        .iter()
        .map(|value| name_of(value).chars().count())
        .max();
    let names = (longest.unwrap_or(3) as f32 * 6.7 + 6.0).clamp(40.0, ui.available_width() * 0.42);
    for value in &probe.values {
        let name = name_of(value);
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
            size(value) / highest
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
    paint::layout_unwrapped_line(ui.painter(), text, font, egui::Color32::PLACEHOLDER)
        .size()
        .x
}
