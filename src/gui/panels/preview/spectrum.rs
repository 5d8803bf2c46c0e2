//! The values of a pixel over the bands as a curve, beside curves that were kept: of other pixels,
//! also of other samples.

use egui::{Color32, Margin, Sense, Stroke, Ui};
use egui_plot::{Line, MarkerShape, PlotPoints, Points};

use super::names::{mark_text, number};
use super::scaling::scaling_of;
use super::state::{PreviewPanel, Spectrum};
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{self, Button, paint};
use crate::raster::{BandIndex, Probe, RasterInfo};
use crate::studio::{Document, RowRef};

/// Least number of bands that make a spectrum.
const BANDS_LEAST: usize = 4;
/// Most curves that are kept.
const KEPT_MOST: usize = 6;
/// Height of the plot in points.
const HEIGHT: f32 = 120.0;

/// Draws the curves of the pixel under the pointer and of those that were kept; nothing for rasters
/// of few bands.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    document: &Document,
    at: RowRef,
    info: &RasterInfo,
) {
    if info.bands.len() < BANDS_LEAST || info.bands.iter().any(|band| band.is_complex()) {
        return;
    }
    let t = theme::tokens(ui);
    let wavelengths = wavelengths_of(document, info);
    let probe = panel
        .probe
        .latest()
        .filter(|_| panel.pixel.is_some())
        .cloned();
    let scaled = panel.side.scaled;
    let now = probe.map(|probe| {
        let factor = |band| scaling_of(document, at, info, band).filter(|_| scaled);
        let value = |band, stored| factor(band).map_or(stored, |scaling| scaling.physical(stored));
        spectrum_of(
            document.id(at).unwrap_or_default(),
            &probe,
            wavelengths.as_deref(),
            value,
        )
    });
    let kept = panel.side.spectra.len();
    widgets::section_header(ui, tr!("Spectrum"), |ui| {
        if kept > 0
            && ui
                .add(Button::ghost(tr!("Clear")).name(tr!("Clear the kept spectra")))
                .clicked()
        {
            panel.side.spectra.clear();
        }
        let blocked = match (&now, kept) {
            (None, _) => Some(tr!("Pin a pixel first: press P over the picture")),
            (Some(_), KEPT_MOST..) => Some(tr!("Six spectra are kept")),
            _ => None,
        };
        let keep = Button::ghost(tr!("Keep"))
            .icon(icons::PLUS)
            .name(tr!("Keep the spectrum"))
            .with_disabled_reason(blocked);
        if ui.add(keep).clicked()
            && let Some(now) = &now
        {
            panel.side.spectra.push(now.clone());
        }
    });
    // Curves over another axis can't be compared.
    let by_wavelength = wavelengths.is_some();
    let mut curves: Vec<Spectrum> = panel.side.spectra.clone();
    curves.retain(|curve| curve.by_wavelength == by_wavelength);
    let shown_kept = curves.len();
    curves.extend(now);
    egui::Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            if curves.is_empty() {
                let text = tr!("Move the pointer over the picture.");
                ui.label(
                    theme::rich_text(text)
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
                return;
            }
            curves_ui(ui, t, &curves, shown_kept, by_wavelength);
            ui.spacing_mut().item_spacing.y = 2.0;
            for (at, curve) in curves.iter().enumerate().take(shown_kept) {
                ui.horizontal(|ui| {
                    let (rect, _) = ui.allocate_exact_size(egui::vec2(12.0, 12.0), Sense::hover());
                    ui.painter().hline(
                        rect.x_range(),
                        rect.center().y,
                        Stroke::new(2.0, colour_of(t, at)),
                    );
                    ui.label(
                        theme::rich_text(&curve.name)
                            .font(font::mono(11.0))
                            .color(t.tx2),
                    );
                });
            }
        });
}

fn colour_of(t: &ThemeTokens, at: usize) -> Color32 {
    [t.info, t.ok, t.warn, t.err, t.acc, t.tx2][at % KEPT_MOST]
}

fn curves_ui(ui: &mut Ui, t: &ThemeTokens, curves: &[Spectrum], kept: usize, by_wavelength: bool) {
    let points = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|point| point[1].is_finite());
    if points.clone().next().is_none() {
        ui.label(
            theme::rich_text(tr!("No values"))
                .font(font::regular(12.0))
                .color(t.tx3),
        );
        return;
    }
    let ((first, last), (low, high)) = (find_ends(points.clone(), 0), find_ends(points, 1));
    let margin = (high - low) * 0.06;
    let (x_ticks, y_ticks) = (
        plot::decimal_ticks(first, last, 5),
        plot::decimal_ticks(low, high, 4),
    );
    let step = |ticks: &[egui_plot::GridMark]| ticks.first().map_or(0.0, |mark| mark.step_size);
    let (x_step, y_step) = (step(&x_ticks), step(&y_ticks));
    let axes = Axes {
        x_bounds: first..=last,
        x_ticks,
        x_text: Box::new(move |value| mark_text(value, x_step)),
        x_title: if by_wavelength {
            tr!("wavelength in nm")
        } else {
            tr!("band")
        },
        y_bounds: low - margin..=high + margin,
        y_ticks,
        y_text: Box::new(move |value| mark_text(value, y_step)),
        y_width: 44.0,
    };
    let drawn = plot::show_next(
        ui,
        "spectrum",
        HEIGHT,
        Sense::hover(),
        axes,
        |x| Some(describe_nearest_points(curves, x)),
        |plot| {
            for (at, curve) in curves.iter().enumerate() {
                let colour = if at < kept { colour_of(t, at) } else { t.tx };
                let line: PlotPoints<'_> = curve.points.clone().into();
                plot.line(
                    Line::new("", line)
                        .stroke(Stroke::new(1.5, colour))
                        .allow_hover(false),
                );
                let marks: PlotPoints<'_> = curve.points.clone().into();
                plot.points(
                    Points::new("", marks)
                        .radius(2.0)
                        .shape(MarkerShape::Circle)
                        .color(colour)
                        .allow_hover(false),
                );
            }
        },
    );
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let spoken = tr!("Spectrum of {names}", names = names.join("; "));
    drawn
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &spoken));
    ui.add_space(4.0);
}

/// The ends of an axis around all points.
fn find_ends<'a>(points: impl Iterator<Item = &'a [f64; 2]> + Clone, axis: usize) -> (f64, f64) {
    let low = points
        .clone()
        .map(|point| point[axis])
        .fold(f64::INFINITY, f64::min);
    let high = points
        .map(|point| point[axis])
        .fold(f64::NEG_INFINITY, f64::max);
    if low < high {
        (low, high)
    } else {
        (low - 1.0, low + 1.0)
    }
}

/// The value of each curve at the point nearest to `x`.
fn describe_nearest_points(curves: &[Spectrum], x: f64) -> String {
    let lines = curves.iter().filter_map(|curve| {
        let near = |point: &&[f64; 2]| (point[0] - x).abs();
        let point = curve
            .points
            .iter()
            .min_by(|a, b| near(a).total_cmp(&near(b)))?;
        Some(format!("{}: {}", curve.name, number(point[1])))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The centre wavelengths of the bands in nanometres, when each has one: those of the collection,
/// or of the raster's header.
fn wavelengths_of(document: &Document, info: &RasterInfo) -> Option<Vec<f64>> {
    read_listed_wavelengths(document, info.bands.len())
        .or_else(|| info.bands.iter().map(|band| band.wavelength_nm).collect())
}

/// The wavelengths in nm that the collection has for all bands.
fn read_listed_wavelengths(document: &Document, bands: usize) -> Option<Vec<f64>> {
    let listed = document.collection().get("optical:bands")?.as_array()?;
    let wavelengths: Option<Vec<f64>> = listed
        .iter()
        .map(|band| band.get("center_wavelength")?.as_f64())
        .collect();
    wavelengths.filter(|known| known.len() == bands)
}

/// The curve of a probe, without bands that have no data there, in order of the axis.
fn spectrum_of(
    sample: &str,
    probe: &Probe,
    wavelengths: Option<&[f64]>,
    value: impl Fn(BandIndex, f64) -> f64,
) -> Spectrum {
    let known = probe.values.iter().filter(|value| !value.missing);
    let mut points: Vec<[f64; 2]> = known
        .map(|known| {
            [
                place_on_axis(known.band, wavelengths),
                value(known.band, known.value.to_f64()),
            ]
        })
        .collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (row, column) = (
        paint::format_grouped_number(probe.row as u64),
        paint::format_grouped_number(probe.column as u64),
    );
    Spectrum {
        name: format!("{sample} {row}, {column}"),
        points,
        by_wavelength: wavelengths.is_some(),
    }
}

/// The centre wavelength in nm, or the number of the band from 1.
fn place_on_axis(band: BandIndex, wavelengths: Option<&[f64]>) -> f64 {
    match wavelengths {
        Some(known) => known.get(band.position()).copied().unwrap_or_default(),
        None => band.position() as f64 + 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{PixelNumber, PixelValue};

    #[test]
    fn curves_are_in_order_of_the_axis_without_what_has_no_data() {
        let band = |number: u32| BandIndex::new(number).expect("from 1");
        let value = |number: u32, value: i128, missing: bool| PixelValue {
            band: band(number),
            value: PixelNumber::Integer(value),
            imaginary: None,
            missing,
        };
        let values = vec![
            value(1, 10, false),
            value(2, 20, false),
            value(3, 0, true),
            value(4, 40, false),
        ];
        let probe = Probe {
            column: 7,
            row: 1_200,
            xy: None,
            lonlat: None,
            values,
        };
        let stored = spectrum_of("a.tif", &probe, None, |_, value| value);
        assert_eq!(stored.points, [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]);
        assert_eq!(stored.name, "a.tif 1\u{2009}200, 7");
        let scaled = spectrum_of(
            "a.tif",
            &probe,
            Some(&[660.0, 560.0, 490.0, 850.0]),
            |_, value| value / 100.0,
        );
        assert_eq!(scaled.points, [[560.0, 0.2], [660.0, 0.1], [850.0, 0.4]]);
        assert!(scaled.by_wavelength && !stored.by_wavelength);
    }
}
