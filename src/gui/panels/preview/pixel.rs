//! The values of one pixel: coordinates, indices, class, every band.

use egui::{Rect, Sense, Ui, pos2, vec2};

use super::names::{band_name, classes_of, number};
use super::scaling::{scaling_of, shared_scaling};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::raster::{ComplexPart, PixelValue, Probe, indices_of};
use crate::studio::{Document, RowRef};

/// Draws coordinates, indices, class and band values of a pixel.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, at: RowRef, probe: &Probe, known: &[String]) {
    let t = theme::tokens(ui);
    let Some(info) = cx.session.preview.info().cloned() else { return };
    ui.spacing_mut().item_spacing.y = 2.0;
    let line = |ui: &mut Ui, name: &str, text: &str| {
        let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}")));
        paint::text_left(ui.painter(), row, name, font::regular(12.0), t.tx3);
        paint::text_right(ui.painter(), row, text, font::mono(11.5), t.tx);
    };
    line(ui, tr!("row, col"), &format!("{}, {}", paint::grouped(probe.row as u64), paint::grouped(probe.column as u64)));
    let scaled = |value: &PixelValue| match scaling_of(document, at, &info, value.band) {
        Some(scaling) => scaling.physical(value.value),
        None => value.value,
    };
    for index in indices_of(&info, known) {
        let value = |band| probe.values.iter().find(|value| value.band == band).filter(|value| !value.missing).map(&scaled);
        if let Some((high, low)) = value(index.high).zip(value(index.low)).filter(|(high, low)| high + low != 0.0) {
            line(ui, index.name, &format!("{:.3}", (high - low) / (high + low)));
        }
    }
    if let [value] = probe.values.as_slice()
        && let Some((_, name)) = classes_of(document).names.iter().find(|(number, _)| *number as f64 == value.value)
    {
        line(ui, tr!("class"), name);
    }
    let with_scale = probe.values.iter().any(|value| scaling_of(document, at, &info, value.band).is_some());
    // Where the bands shown have one scaling, the choice is beside the stretch.
    let shared = cx.session.preview.image().is_some_and(|image| shared_scaling(document, at, image).is_some());
    if with_scale && !shared {
        widgets::checkbox(ui, &mut cx.session.preview.side.scaled, tr!("Scaled values"));
    }
    let scaled_shown = with_scale && cx.session.preview.side.scaled;
    let highest = probe.values.iter().filter(|value| !value.missing).map(|value| value.value.abs()).fold(0.0, f64::max);
    // The names take what they need, up to half of the width.
    let name_of = |value: &PixelValue| info.band(value.band).map_or(value.band.to_string(), |band| band_name(band, known));
    let longest = probe.values.iter().map(|value| name_of(value).chars().count()).max();
    let names = (longest.unwrap_or(3) as f32 * 6.7 + 6.0).clamp(40.0, ui.available_width() * 0.42);
    for value in &probe.values {
        let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
        let name = name_of(value);
        let text = match value {
            value if value.missing => tr!("nodata").to_owned(),
            value if scaled_shown && value.imaginary.is_none() => number(scaled(value)),
            value => match value.imaginary {
                Some(imaginary) => format!("{}{:+}i", number(value.value), imaginary),
                None => number(value.value),
            },
        };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}")));
        let painter = ui.painter();
        paint::text_left(painter, row.with_max_x(row.left() + names), &name, font::mono(11.0), t.tx2);
        let track = Rect::from_min_max(
            pos2(row.left() + names + 6.0, row.center().y - 4.0),
            pos2(row.right() - 70.0, row.center().y + 4.0),
        );
        if track.width() > 12.0 {
            painter.rect_filled(track, 1, t.input);
            if !value.missing && highest > 0.0 {
                let part = (value.value.abs() / highest) as f32;
                painter.rect_filled(track.with_max_x(track.left() + track.width() * part), 1, t.ctl);
            }
        }
        paint::text_right(painter, row, &text, font::mono(11.0), if value.missing { t.tx3 } else { t.tx });
        if let Some(imaginary) = value.imaginary.filter(|_| !value.missing) {
            let pair = [value.value, imaginary];
            let [magnitude, phase] = [ComplexPart::Magnitude, ComplexPart::Phase].map(|part| number(part.of(pair)));
            line(ui, tr!("magnitude, phase"), &format!("{magnitude}, {phase} rad"));
        }
        if with_scale && !value.missing {
            let other = if scaled_shown { number(value.value) } else { number(scaled(value)) };
            response.on_hover_text(match scaled_shown {
                true => tr!("stored {value}", value = other),
                false => tr!("scaled {value}", value = other),
            });
        }
    }
}
