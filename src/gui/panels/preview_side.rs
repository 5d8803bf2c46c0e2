//! What stands beside the picture: gamma, histogram with limits, the values of the pixel under the pointer.

use egui::{Frame, Margin, Pos2, Rect, RichText, ScrollArea, Sense, Shape, Stroke, Ui, pos2, vec2};

use crate::gui::cx::Cx;
use crate::gui::theme::{self, Tokens, font, text_style};
use crate::gui::widgets::{self, paint};
use crate::raster::{BandInfo, Histogram, Limits, PreviewImage, Probe};

/// A band's name: its description, or its number.
pub fn band_name(band: &BandInfo) -> String {
    match band.description.trim() {
        "" => format!("Band {}", band.index),
        text => text.to_owned(),
    }
}

/// The line below the picture: row, column, coordinates.
pub fn readout_ui(ui: &mut Ui, cx: &Cx<'_>, rect: Rect) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg2);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let state = &cx.session.preview;
    let mut text = match state.pixel {
        Some((column, row)) => format!("row {} col {}", paint::grouped(row as u64), paint::grouped(column as u64)),
        None => match state.info() {
            Some(info) => format!(
                "{} × {} pixels, {} bands",
                paint::grouped(info.width as u64),
                paint::grouped(info.height as u64),
                info.band_count
            ),
            None => String::new(),
        },
    };
    if let (Some((column, row)), Some(probe)) = (state.pixel, state.probe.last())
        && (probe.column, probe.row) == (column, row)
    {
        if let Some([lon, lat]) = probe.lonlat {
            let (east, north) = (if lon < 0.0 { "W" } else { "E" }, if lat < 0.0 { "S" } else { "N" });
            text.push_str(&format!("   {:.4}°{east} {:.4}°{north}", lon.abs(), lat.abs()));
        }
        if let Some([x, y]) = probe.xy {
            text.push_str(&format!("   {x:.1} {y:.1}"));
        }
    }
    let inner = rect.shrink2(vec2(10.0, 0.0));
    paint::text_left(&painter, inner, &text, font::mono(11.0), t.tx2);
    let crs = state.info().and_then(|info| info.crs_code.as_deref().or(info.crs_name.as_deref())).unwrap_or_default();
    paint::text_right(&painter, inner, crs, font::mono(11.0), t.tx3);
    let response = ui.interact(rect, ui.scope_id().with("readout"), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Status, true, &text));
}

/// The right part of the panel.
pub fn side_ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter().vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    ScrollArea::vertical().id_salt("preview-side").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        widgets::section_header(ui, "Stretch", |_| {});
        block(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new("Gamma").text_style(text_style("small12")).color(t.tx2));
                let width = ui.available_width();
                widgets::slider(ui, "Gamma", &mut cx.session.preview.options.gamma, 0.2..=3.0, 1.0, width);
            });
            widgets::checkbox(ui, &mut cx.session.preview.options.nodata_transparent, "Nodata is transparent");
        });
        if let Some(image) = cx.session.preview.image() {
            widgets::section_header(ui, "Histogram", |ui| {
                ui.label(RichText::new("square root of count").text_style(text_style("small12")).color(t.tx3));
            });
            block(ui, |ui| histogram_ui(ui, image));
        }
        widgets::section_header(ui, "Pixel", |_| {});
        block(ui, |ui| match cx.session.preview.probe.last().filter(|_| cx.session.preview.pixel.is_some()) {
            Some(probe) => pixel_ui(ui, cx, probe),
            None => {
                let text = RichText::new("Move the pointer over the picture.").text_style(text_style("small12")).color(t.tx3);
                ui.label(text);
            }
        });
    });
}

fn block(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    Frame::NONE.inner_margin(Margin::symmetric(12, 8)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        contents(ui);
    });
}

fn band_colors(t: &Tokens, bands: usize) -> Vec<egui::Color32> {
    if bands == 3 { vec![t.err, t.ok, t.info] } else { vec![t.tx2; bands] }
}

fn histogram_ui(ui: &mut Ui, image: &PreviewImage) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 84.0), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histogram"));
    let painter = ui.painter_at(rect);
    painter.rect(rect, 2, t.input, Stroke::new(1.0, t.line2), egui::StrokeKind::Inside);
    let shown: Vec<&Histogram> = image.histograms.iter().filter(|histogram| histogram.valid > 0).collect();
    let (Some(min), Some(max)) = (
        shown.iter().map(|histogram| histogram.min).reduce(f64::min),
        shown.iter().map(|histogram| histogram.max).reduce(f64::max),
    ) else {
        paint::text_center(&painter, rect, "No values", font::regular(12.0), t.tx3);
        return;
    };
    let span = if max > min { max - min } else { 1.0 };
    let inner = rect.shrink(2.0);
    let x_of = |value: f64| inner.left() + ((value - min) / span) as f32 * inner.width();
    let highest = shown.iter().flat_map(|histogram| &histogram.counts).copied().max().unwrap_or(1).max(1) as f32;
    for (histogram, color) in image.histograms.iter().zip(band_colors(t, image.histograms.len())) {
        let bins = histogram.counts.len().max(1) as f64;
        let width = (histogram.max - histogram.min) / bins;
        let points: Vec<Pos2> = histogram
            .counts
            .iter()
            .enumerate()
            .map(|(bin, &count)| {
                let x = x_of(histogram.min + (bin as f64 + 0.5) * width);
                pos2(x, inner.bottom() - (count as f32 / highest).sqrt() * (inner.height() - 4.0))
            })
            .collect();
        // One mesh: polygons side by side would show their smoothed edges as stripes.
        let mut area = egui::Mesh::default();
        for point in &points {
            area.colored_vertex(*point, color.gamma_multiply(0.12));
            area.colored_vertex(pos2(point.x, inner.bottom()), color.gamma_multiply(0.12));
        }
        for first in (0..2 * points.len().saturating_sub(1) as u32).step_by(2) {
            area.add_triangle(first, first + 1, first + 2);
            area.add_triangle(first + 1, first + 2, first + 3);
        }
        painter.add(Shape::mesh(area));
        painter.add(Shape::line(points, Stroke::new(1.2, color)));
    }
    // One band has one pair of limits, drawn through; several have a tick each in their own colour, with the outermost drawn
    // through, so that three bands don't make a fence.
    let limits: Vec<&Limits> = image.limits.iter().flatten().collect();
    let outermost =
        limits.iter().map(|limits| limits.low).reduce(f64::min).zip(limits.iter().map(|limits| limits.high).reduce(f64::max));
    if limits.len() > 1 {
        for (limits, color) in image.limits.iter().zip(band_colors(t, image.limits.len())) {
            for value in limits.iter().flat_map(|limits| [limits.low, limits.high]) {
                painter.vline(x_of(value), inner.bottom() - 10.0..=inner.bottom(), Stroke::new(1.5, color));
            }
        }
    }
    if let Some((low, high)) = outermost {
        for (x, shade) in [
            (x_of(low), inner.with_max_x(x_of(low).max(inner.left()))),
            (x_of(high), inner.with_min_x(x_of(high).min(inner.right()))),
        ] {
            painter.rect_filled(shade, 0, t.input.gamma_multiply(0.6));
            painter.vline(x, inner.y_range(), Stroke::new(1.5, t.accfill));
        }
    }
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
    paint::text_left(ui.painter(), row, &number(min), font::mono(11.0), t.tx3);
    paint::text_right(ui.painter(), row, &number(max), font::mono(11.0), t.tx3);
    if let Some((low, high)) = outermost {
        paint::text_center(ui.painter(), row, &format!("{} – {}", number(low), number(high)), font::mono(11.0), t.tx);
    }
    ui.horizontal_wrapped(|ui| {
        for (band, color) in image.band_indices.iter().zip(band_colors(t, image.band_indices.len())) {
            let (square, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
            ui.painter().rect_filled(square, 1, color);
            let name = image.info.band(*band).map_or(band.to_string(), band_name);
            ui.label(RichText::new(name).font(font::mono(11.0)).color(t.tx2));
        }
    });
}

fn pixel_ui(ui: &mut Ui, cx: &Cx<'_>, probe: &Probe) {
    let t = theme::tokens(ui);
    let Some(info) = cx.session.preview.info() else { return };
    let highest = probe.values.iter().filter(|value| !value.missing).map(|value| value.value.abs()).fold(0.0, f64::max);
    ui.spacing_mut().item_spacing.y = 2.0;
    // Room for the longest name, as long as the bars keep half of the width.
    let longest = probe.values.iter().filter_map(|value| info.band(value.band)).map(|band| band_name(band).chars().count()).max();
    let names = (longest.unwrap_or(3) as f32 * 6.7 + 6.0).clamp(40.0, ui.available_width() * 0.42);
    for value in &probe.values {
        let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
        let name = info.band(value.band).map_or(value.band.to_string(), band_name);
        let text = match value {
            value if value.missing => "nodata".to_owned(),
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
    }
}

/// A value as people read it: whole numbers grouped, others with four significant places.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", paint::grouped(value.abs() as u64));
    }
    match value.abs() {
        size if !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn values_are_short() {
        assert_eq!(number(3680.0), "3\u{2009}680");
        assert_eq!(number(-2.0), "-2");
        assert_eq!(number(0.0312), "0.0312");
        assert_eq!(number(811.73), "811.7");
        assert_eq!(number(1.5e-9), "1.500e-9");
        assert_eq!(number(f64::NAN), "NaN");
    }
}
