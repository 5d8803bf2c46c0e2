//! The signed difference of two pictures: its colours, their legend, and its values.

use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::names::{format_signed, name_band_at, number_of, numbers_apart};
use super::state::{CompareMode, DifferencePair, PreviewPanel};
use crate::error::Error;
use crate::gui::textures;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, paint};
use crate::raster::{BandDifference, ColourMap, PixelNumber, PixelValue, difference};

/// Size of the legend on the picture, in points.
const LEGEND: egui::Vec2 = vec2(190.0, 52.0);
/// Columns of a colour bar.
const STEPS: usize = 64;

/// Requests the difference of the pictures shown, and uploads its picture once.
pub fn refresh(ui: &Ui, state: &mut PreviewPanel) {
    let (Some(whole), Some(other)) = (&state.whole, &state.other) else {
        return;
    };
    let band = state
        .compare
        .band
        .min(whole.answer.1.band_indices.len().saturating_sub(1));
    let pair = DifferencePair {
        own: whole.answer.clone(),
        other: other.answer.clone(),
        band,
    };
    if state
        .compare
        .apart
        .as_ref()
        .is_some_and(|(shown, ..)| *shown == pair)
    {
        return;
    }
    let work = pair.clone();
    state.compare.want_difference(pair.clone(), move |_| {
        let (own, other) = (&work.own.1, &work.other.1);
        // Pictures of rasters of different sizes can have the same size.
        let same_size = (own.info.width, own.info.height) == (other.info.width, other.info.height);
        let apart = if same_size {
            difference(&own.prepared.pixels, &other.prepared.pixels, work.band)
        } else {
            None
        };
        apart
            .map(Arc::new)
            .ok_or_else(|| Error::usage("the two have different sizes or bands"))
    });
    match state.compare.difference.get(&pair) {
        Some(Ok(apart)) => {
            let texture = textures::upload(ui.ctx(), "difference", &apart.image);
            (state.compare.apart, state.compare.failed) =
                (Some((pair, apart.clone(), texture)), None);
        }
        Some(Err(error)) => {
            (state.compare.apart, state.compare.failed) = (None, Some(error.summary().to_owned()))
        }
        None => {}
    }
}

/// The texts at the ends of the colour bar and in its middle; `None` without a difference to show.
fn format_bar_ends(apart: &BandDifference) -> Option<[String; 3]> {
    let (limit, [low, high]) = (apart.limit?, apart.range?);
    if limit.to_f64() <= 0.0 {
        return None;
    }
    let [least, most] = [PixelNumber::Integer(0).minus(limit), limit];
    // Values beyond the ends have the colours of the ends.
    let below = if low.to_f64() < least.to_f64() {
        "≤ "
    } else {
        ""
    };
    let above = if high.to_f64() > most.to_f64() {
        "≥ "
    } else {
        ""
    };
    Some([
        format!("{below}{}", format_signed(least)),
        "0".into(),
        format!("{above}{}", format_signed(most)),
    ])
}

/// What is shown where there are no colours to explain.
fn without_colours(apart: &BandDifference) -> &'static str {
    match apart.range {
        Some(_) => tr!("No difference"),
        None => tr!("No pixel has data in both"),
    }
}

/// `own − other`.
fn names(state: &PreviewPanel) -> String {
    format!("{} − {}", state.compare.own_name, state.compare.other_name)
}

/// Paints the colours from the lowest to the highest difference.
fn colours_ui(ui: &Ui, rect: Rect) {
    let (painter, t) = (ui.painter_at(rect.expand(1.0)), theme::tokens(ui));
    let width = rect.width() / STEPS as f32;
    for step in 0..STEPS {
        let [red, green, blue] = ColourMap::BlueWhiteRed.colour(step as f32 / (STEPS - 1) as f32);
        let left = rect.left() + step as f32 * width;
        let column = Rect::from_min_max(
            pos2(left, rect.top()),
            pos2((left + width + 0.5).min(rect.right()), rect.bottom()),
        );
        painter.rect_filled(column, 0, egui::Color32::from_rgb(red, green, blue));
    }
    painter.rect_stroke(
        rect,
        0,
        Stroke::new(1.0, t.line2),
        egui::StrokeKind::Outside,
    );
}

/// Paints the colour bar in the upper part of `rect`, and its numbers below.
fn scale_ui(ui: &mut Ui, apart: &BandDifference, rect: Rect) {
    let t = theme::tokens(ui);
    let Some([low, middle, high]) = format_bar_ends(apart) else {
        paint::text_left(
            ui.painter(),
            rect,
            without_colours(apart),
            font::regular(11.0),
            t.tx2,
        );
        return;
    };
    let (bar, below) = rect.split_top_bottom_at_y(rect.top() + 10.0);
    colours_ui(ui, bar);
    let painter = ui.painter_at(rect.expand(2.0));
    let left = paint::text_left(&painter, below, &low, font::mono(10.5), t.tx);
    let right = paint::text_right(
        &painter,
        below.with_min_x(left + 4.0),
        &high,
        font::mono(10.5),
        t.tx,
    );
    let half = 8.0;
    if left + half < rect.center().x && right - half > rect.center().x {
        paint::text_center(
            &painter,
            Rect::from_center_size(below.center(), vec2(2.0 * half, below.height())),
            &middle,
            font::mono(10.5),
            t.tx,
        );
    }
}

/// Draws the legend in a corner of the picture.
pub fn legend_ui(ui: &mut Ui, panel: &PreviewPanel, rect: Rect) {
    let Some(apart) = panel.compare.shown_difference().cloned() else {
        return;
    };
    let t = theme::tokens(ui);
    let back = Rect::from_min_size(
        pos2(rect.left() + 10.0, rect.bottom() - LEGEND.y - 10.0),
        LEGEND,
    );
    ui.painter_at(rect)
        .rect_filled(back, 4, t.bg1.gamma_multiply(0.9));
    let inner = back.shrink2(vec2(8.0, 5.0));
    let (title, scale) = inner.split_top_bottom_at_y(inner.top() + 17.0);
    paint::text_left(
        &ui.painter_at(inner),
        title,
        &names(panel),
        font::mono(11.0),
        t.tx2,
    );
    scale_ui(ui, &apart, scale);
    let response = ui.interact(
        back,
        ui.scope_id().with("difference legend"),
        Sense::hover(),
    );
    response.widget_info(|| {
        let text = match format_bar_ends(&apart) {
            Some([low, _, high]) => {
                tr!("Colours of the difference, from {low} to {high}", low, high)
            }
            None => without_colours(&apart).to_owned(),
        };
        WidgetInfo::labeled(Role::Label, true, text)
    });
}

/// Draws the section in the sidebar: what is subtracted, the band, the colours, the lowest and the
/// highest difference.
pub fn side_ui(ui: &mut Ui, panel: &mut PreviewPanel, known: &[String]) {
    let t = theme::tokens(ui);
    let names = names(panel);
    widgets::section_header(ui, tr!("Difference"), |ui| {
        ui.add(
            egui::Label::new(theme::rich_text(names).font(font::mono(11.0)).color(t.tx3))
                .truncate(),
        );
    });
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            let bands: Vec<String> = panel.image().map_or_else(Vec::new, |image| {
                let bands = image.band_indices.iter();
                bands
                    .map(|band| name_band_at(&image.info, *band, known))
                    .collect()
            });
            if bands.len() > 1 {
                let current = bands
                    .get(panel.compare.band)
                    .or(bands.last())
                    .cloned()
                    .unwrap_or_default();
                let width = ui.available_width();
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Band of the difference"),
                    &current,
                    width,
                    true,
                    &bands,
                ) {
                    panel.compare.band = index;
                }
            }
            let Some(apart) = panel.compare.shown_difference().cloned() else {
                return;
            };
            let (rect, _) =
                ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::hover());
            scale_ui(ui, &apart, rect);
            if let Some([low, high]) = apart.range {
                let texts = numbers_apart([low, high]);
                let [low, high] = [(low, &texts[0]), (high, &texts[1])].map(|(value, text)| {
                    if value.to_f64() > 0.0 {
                        format!("+{text}")
                    } else {
                        text.clone()
                    }
                });
                let text = tr!("from {low} to {high}", low, high);
                ui.label(
                    theme::rich_text(text)
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
            }
        });
}

/// The differences of all bands at the pixel under the pointer, once both pictures have been read
/// there; with the values from which they come.
pub fn values(state: &PreviewPanel) -> Option<Vec<(PixelValue, [PixelValue; 2])>> {
    if state.compare.mode != CompareMode::Difference {
        return None;
    }
    let (own, other) = state.probe.latest().zip(state.other_probe.latest())?;
    let compared = state.other.as_ref().map(|other| &other.answer.0.source);
    let is_of_compared = state
        .other_probe
        .key()
        .is_some_and(|(source, ..)| Some(source) == compared);
    if (own.column, own.row) != (other.column, other.row) || !is_of_compared {
        return None;
    }
    Some(
        own.values
            .iter()
            .filter_map(|value| subtract_same_band(value, &other.values))
            .collect(),
    )
}

/// The difference from the value of the same band, and both values.
fn subtract_same_band(
    value: &PixelValue,
    others: &[PixelValue],
) -> Option<(PixelValue, [PixelValue; 2])> {
    let with = others.iter().find(|other| other.band == value.band)?;
    Some((value.minus(with), [*value, *with]))
}

/// The text of a difference.
pub fn text(value: &PixelValue) -> String {
    match value {
        value if value.missing => tr!("nodata").to_owned(),
        value => match value.imaginary {
            Some(imaginary) => super::names::complex(value.value, imaginary),
            None => format_signed(value.value),
        },
    }
}

/// The two values of a difference.
pub fn sources_text([own, other]: &[PixelValue; 2]) -> String {
    let [own, other] = [own, other].map(|value| {
        if value.missing {
            tr!("nodata").to_owned()
        } else {
            number_of(value.value)
        }
    });
    format!("{own} − {other}")
}

/// What the line below the picture says of the band shown; empty without a pixel under the pointer.
pub fn readout(state: &PreviewPanel) -> String {
    let shown = state.image().and_then(|image| {
        image
            .band_indices
            .get(state.compare.band)
            .or(image.band_indices.last())
    });
    let found = values(state).filter(|_| state.pixel.is_some()).zip(shown);
    let value =
        found.and_then(|(values, band)| values.into_iter().find(|(value, _)| value.band == *band));
    value.map_or_else(String::new, |(value, sources)| {
        format!("   {} ({})", text(&value), sources_text(&sources))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{BandIndex, Rgba};

    fn apart(limit: PixelNumber, low: PixelNumber, high: PixelNumber) -> BandDifference {
        let image = Rgba {
            width: 0,
            height: 0,
            data: Vec::new(),
        };
        BandDifference {
            image,
            limit: Some(limit),
            range: Some([low, high]),
        }
    }

    #[test]
    fn the_legend_has_signed_numbers_at_its_ends() {
        let integer = PixelNumber::Integer;
        assert_eq!(
            format_bar_ends(&apart(integer(150), integer(150), integer(150))),
            Some(["-150", "0", "+150"].map(String::from))
        );
        assert_eq!(
            format_bar_ends(&apart(integer(0), integer(0), integer(0))),
            None
        );
        let beyond = apart(
            PixelNumber::Real(0.5),
            PixelNumber::Real(-0.25),
            PixelNumber::Real(80.0),
        );
        assert_eq!(
            format_bar_ends(&beyond),
            Some(["-0.5000", "0", "≥ +0.5000"].map(String::from))
        );
    }

    #[test]
    fn values_of_a_pixel_are_signed() {
        let value = |value: i128, missing| PixelValue {
            band: BandIndex::FIRST,
            value: PixelNumber::Integer(value),
            imaginary: None,
            missing,
        };
        assert_eq!(text(&value(250, false).minus(&value(100, false))), "+150");
        assert_eq!(text(&value(0, false).minus(&value(255, false))), "-255");
        assert_eq!(text(&value(250, false).minus(&value(100, true))), "nodata");
        assert_eq!(
            sources_text(&[value(250, false), value(100, false)]),
            "250 − 100"
        );
    }
}
