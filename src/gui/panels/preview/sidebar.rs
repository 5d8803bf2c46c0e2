//! The sidebar of the preview: stretch and gamma, histogram with limits, nodata; and at its bottom,
//! which does not scroll with them, the values of the pixel under the pointer.

use egui::{Frame, Margin, ScrollArea, Stroke, Ui, UiBuilder};

use super::names::{band_names, number, number_of};
use super::scaling::{Scaling, scaling_of, shared_scaling};
use super::state::PreviewPanel;
use super::{difference, histogram, legend, pixel, spectrum};
use crate::digits::six_digits_apart;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::{self, Button, TextField};
use crate::raster::{ComplexPart, PreviewImage, RasterInfo, Stretch, StretchLimits, indices_of};
use crate::studio::{Document, RowRef};

/// Width of the sidebar, in points.
pub const SIDEBAR_WIDTH: f32 = 252.0;
/// Height of a line of the pixel's values, in points.
const PIXEL_LINE_HEIGHT: f32 = 18.0;
/// Height of the pixel's header and margins, in points.
const PIXEL_HEAD_HEIGHT: f32 = 46.0;
/// Largest share of the sidebar's height that the pixel takes.
const PIXEL_SHARE: f32 = 0.45;
/// Largest share in a sidebar of less than 400 points.
const PIXEL_SHARE_LOW: f32 = 0.3;

/// Draws the sidebar.
pub fn side_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter()
        .vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let collection_bands = band_names(Some(document));
    let (upper, lower) = rect.split_top_bottom_at_y(
        rect.bottom() - pixel_height(panel, document, at, &collection_bands, rect.height()),
    );
    ui.scope_builder(
        UiBuilder::new().max_rect(upper).id_salt("preview-picture"),
        |ui| {
            ScrollArea::vertical()
                .id_salt("preview-side")
                .auto_shrink(false)
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    picture_ui(ui, panel, document, at, &collection_bands);
                    super::chunks::side_ui(ui, panel, cx, document, at);
                });
        },
    );
    ui.painter()
        .hline(lower.x_range(), lower.top() + 0.5, Stroke::new(1.0, t.line));
    ui.scope_builder(
        UiBuilder::new().max_rect(lower).id_salt("preview-pixel"),
        |ui| probe_ui(ui, panel, document, at, &collection_bands),
    );
}

/// Height that the values of a pixel take: a line for its coordinates, each index and each band. It
/// does not depend on whether the pointer is on the picture.
fn pixel_height(
    panel: &PreviewPanel,
    document: &Document,
    at: RowRef,
    collection_bands: &[String],
    height: f32,
) -> f32 {
    let lines = panel.info().map_or(2, |info| {
        let scaled = info
            .bands
            .iter()
            .any(|band| scaling_of(document, at, info, band.index).is_some());
        let complex = info.bands.iter().filter(|band| band.is_complex()).count();
        1 + indices_of(info, collection_bands).len()
            + info.bands.len()
            + complex
            + usize::from(scaled)
    });
    // In a low sidebar the stretch and its histogram need a larger share.
    let share = if height < 400.0 {
        PIXEL_SHARE_LOW
    } else {
        PIXEL_SHARE
    };
    (PIXEL_HEAD_HEIGHT + PIXEL_LINE_HEIGHT * lines.max(3) as f32 + 8.0).min(height * share)
}

/// Draws what belongs to the whole picture: stretch, histogram and nodata.
fn picture_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    document: &Document,
    at: RowRef,
    collection_bands: &[String],
) {
    if panel.compare.shown_difference().is_some() {
        return difference::side_ui(ui, panel, collection_bands);
    }
    let t = theme::tokens(ui);
    let shared = panel
        .image()
        .and_then(|image| shared_scaling(document, at, image));
    let scaling = shared
        .filter(|_| panel.side.scaled)
        .unwrap_or(Scaling::STORED);
    // Of a picture by a colour table, and of one without data, which a stretch does not change.
    let is_unstretched = panel.image().is_some_and(|image| image.limits == [None]);
    if let Some(image) = panel.image().filter(|_| is_unstretched) {
        legend::ui(ui, document, image);
    }
    widgets::section_header(ui, tr!("Stretch"), |_| {});
    block(ui, |ui| {
        stretch_ui(ui, panel, scaling);
        ui.horizontal(|ui| {
            ui.label(
                theme::rich_text(tr!("Gamma"))
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
            let width = ui.available_width();
            widgets::slider(
                ui,
                tr!("Gamma"),
                &mut panel.options.gamma,
                0.2..=3.0,
                1.0,
                width,
            );
        });
        complex_ui(ui, panel);
        widgets::checkbox(
            ui,
            &mut panel.options.nodata_transparent,
            tr!("Nodata is transparent"),
        );
        if let Some(Scaling { factor, offset }) = shared {
            widgets::checkbox(ui, &mut panel.side.scaled, tr!("Scaled values")).on_hover_text(tr!(
                "stored × {factor} + {offset}",
                factor = number(factor),
                offset = number(offset)
            ));
        }
    });
    if let Some(whole) = &panel.whole {
        let (answer, limits) = (whole.answer.clone(), whole.limits.clone());
        widgets::section_header(ui, tr!("Histogram"), |ui| {
            ui.label(
                theme::rich_text(tr!("square root of count"))
                    .text_style(text_style("small12"))
                    .color(t.tx3),
            );
        });
        block(ui, |ui| {
            histogram::ui(ui, panel, &answer.1, &limits, collection_bands, scaling);
            let side = &mut panel.side;
            let mut locked = side.locked.is_some();
            if widgets::checkbox(ui, &mut locked, tr!("Lock limits")).changed() {
                side.locked = locked.then(|| limits.clone());
            }
        });
        nodata_ui(ui, &answer.1);
        if !is_unstretched {
            legend::ui(ui, document, &answer.1);
        }
        let info = answer.1.info.clone();
        spectrum::ui(ui, panel, document, at, &info);
    }
}

/// Draws the choice of the part of complex numbers that is shown; nothing for other rasters.
fn complex_ui(ui: &mut Ui, panel: &mut PreviewPanel) {
    let t = theme::tokens(ui);
    let is_complex = |info: &RasterInfo| info.bands.iter().any(|band| band.is_complex());
    if !panel.info().is_some_and(|info| is_complex(info)) {
        return;
    }
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(tr!("Complex"))
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
        let part = &mut panel.options.part;
        let width = ui.available_width();
        if let Some(index) = widgets::combo(
            ui,
            tr!("Part of complex values"),
            name_complex_part(*part),
            width,
            false,
            &ComplexPart::ALL.map(name_complex_part),
        ) {
            *part = ComplexPart::ALL.get(index).copied().unwrap_or_default();
        }
    });
}

fn name_complex_part(part: ComplexPart) -> &'static str {
    match part {
        ComplexPart::Magnitude => tr!("Magnitude"),
        ComplexPart::Phase => tr!("Phase in radians"),
        ComplexPart::Real => tr!("Real part"),
        ComplexPart::Imaginary => tr!("Imaginary part"),
    }
}

/// The pixel under the pointer, else the last one that was under it, if this raster has it.
fn pixel_to_pin(panel: &PreviewPanel) -> Option<(usize, usize)> {
    let last = panel.side.last_under.filter(|&(x, y)| {
        panel
            .info()
            .is_some_and(|info| x < info.width && y < info.height)
    });
    panel.pixel.or(last)
}

/// Draws the values of the pixel under the pointer, or of the pinned pixel.
fn probe_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    document: &Document,
    at: RowRef,
    collection_bands: &[String],
) {
    let t = theme::tokens(ui);
    ui.spacing_mut().item_spacing.y = 0.0;
    let pinned = panel.side.pinned;
    widgets::section_header(ui, tr!("Pixel"), |ui| {
        let name = if pinned.is_some() {
            tr!("Unpin")
        } else {
            tr!("Pin")
        };
        let disabled_reason = pixel_to_pin(panel).is_none().then_some(tr!(
            "Select a pixel with Pin while the pointer is over the picture: press P"
        ));
        if ui
            .add(
                Button::ghost(name)
                    .icon(icons::PUSH_PIN)
                    .name(tr!("Pin the pixel"))
                    .with_disabled_reason(disabled_reason),
            )
            .clicked()
        {
            panel.side.pinned = if pinned.is_some() {
                None
            } else {
                pixel_to_pin(panel)
            };
        }
    });
    // The key pins the pixel under the pointer; for the button it is the last that was under it.
    if !ui.ctx().egui_wants_keyboard_input() && ui.input(|input| input.key_pressed(egui::Key::P)) {
        panel.side.pinned = if pinned.is_some() { None } else { panel.pixel };
    }
    ScrollArea::vertical()
        .id_salt("preview-values")
        .auto_shrink(false)
        .show(ui, |ui| {
            block(ui, |ui| {
                match panel
                    .probe
                    .latest()
                    .filter(|_| panel.pixel.is_some())
                    .cloned()
                {
                    Some(probe) => pixel::ui(ui, panel, document, at, &probe, collection_bands),
                    None => {
                        let text = theme::rich_text(tr!("Move the pointer over the picture."))
                            .text_style(text_style("small12"))
                            .color(t.tx3);
                        ui.label(text);
                    }
                }
            });
        });
}

fn block(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            contents(ui);
        });
}

/// Draws the stretch kind and its parameters.
fn stretch_ui(ui: &mut Ui, panel: &mut PreviewPanel, scaling: Scaling) {
    let kinds = [
        tr!("Percentile"),
        tr!("Min to max"),
        tr!("Standard deviations"),
        tr!("Fixed limits"),
    ];
    let current_limits: Vec<StretchLimits> = panel
        .whole
        .iter()
        .flat_map(|whole| whole.limits.iter().flatten().copied())
        .collect();
    let stretch = &mut panel.options.stretch;
    let kind = match stretch {
        Stretch::Percentile { .. } => 0,
        Stretch::MinMax => 1,
        Stretch::StdDev(_) => 2,
        Stretch::Manual { .. } => 3,
    };
    let outermost = histogram::outermost(&current_limits).unwrap_or(StretchLimits {
        low: 0.0,
        high: 1.0,
    });
    // Limits are on a line of their own: a field beside the choice would cut their digits.
    let fields = [2, 0, 1, 2][kind];
    let is_on_own_line = kind == 3;
    let gap = 5.0;
    ui.spacing_mut().item_spacing.x = gap;
    let full_width = ui.available_width();
    let mut chosen = None;
    let mut pair = match *stretch {
        Stretch::Percentile { low, high } => [low, high],
        Stretch::Manual { low, high } => scaling.physical_pair(low, high),
        Stretch::StdDev(factor) => [f64::from(factor), 0.0],
        Stretch::MinMax => [0.0, 0.0],
    };
    let texts = six_digits_apart(pair);
    let names = if kind == 2 {
        [mark!("Standard deviations"), ""]
    } else {
        [mark!("Lower limit"), mark!("Upper limit")]
    };
    let width = if is_on_own_line {
        (full_width - gap) / 2.0
    } else {
        50.0
    };
    let (names, typed) = (&names[..fields], &mut panel.side.typed);
    let mut draw_fields =
        |ui: &mut Ui| draw_stretch_fields(ui, names, typed, &mut pair, &texts, width);
    let changed = ui.horizontal(|ui| {
        let room = if is_on_own_line {
            full_width
        } else {
            (full_width - fields as f32 * (50.0 + gap)).max(96.0)
        };
        chosen = widgets::combo(ui, tr!("Stretch"), kinds[kind], room, false, &kinds);
        !is_on_own_line && draw_fields(ui)
    });
    let changed = if is_on_own_line {
        ui.horizontal(draw_fields).inner
    } else {
        changed.inner
    };
    if let Some(index) = chosen {
        *stretch = match index {
            0 => Stretch::default(),
            1 => Stretch::MinMax,
            2 => Stretch::StdDev(2.0),
            _ => Stretch::Manual {
                low: outermost.low,
                high: outermost.high,
            },
        };
    } else if changed {
        *stretch = match *stretch {
            Stretch::Percentile { .. } => Stretch::Percentile {
                low: pair[0].clamp(0.0, 100.0),
                high: pair[1].clamp(0.0, 100.0),
            },
            Stretch::StdDev(_) => Stretch::StdDev((pair[0] as f32).clamp(0.1, 20.0)),
            _ => {
                let [low, high] = scaling.stored_pair(pair[0], pair[1]);
                Stretch::Manual { low, high }
            }
        };
    }
}

/// Draws a field for each name; true when a number has changed.
fn draw_stretch_fields(
    ui: &mut Ui,
    names: &[&'static str],
    typed: &mut [String; 2],
    pair: &mut [f64; 2],
    texts: &[String; 2],
    width: f32,
) -> bool {
    let mut changed = false;
    for (index, name) in names.iter().enumerate() {
        changed |= number_field(
            ui,
            name,
            &mut typed[index],
            &mut pair[index],
            &texts[index],
            width,
        );
    }
    changed
}

/// A small number field that shows `value` as `text`. True when the number has changed.
fn number_field(
    ui: &mut Ui,
    name: &'static str,
    typed: &mut String,
    value: &mut f64,
    text: &str,
    width: f32,
) -> bool {
    let id = egui::Id::unique(("preview-number", name));
    if !ui.memory(|memory| memory.has_focus(id)) {
        text.clone_into(typed);
    }
    let response = TextField::new(crate::text::translate_text(name), typed)
        .id(id)
        .hide_label()
        .mono()
        .width(width)
        .show(ui);
    match typed.trim().parse::<f64>() {
        Ok(number) if response.changed() && number.is_finite() && number != *value => {
            *value = number;
            true
        }
        _ => false,
    }
}

/// Draws the nodata value, and the share of pixels without data.
fn nodata_ui(ui: &mut Ui, image: &PreviewImage) {
    let t = theme::tokens(ui);
    let (missing, total) = image.histograms.iter().fold((0, 0), |(missing, total), h| {
        (missing + h.total - h.valid, total + h.total)
    });
    let share = 100.0 * missing as f64 / (total as f64).max(1.0);
    widgets::section_header(ui, tr!("Nodata"), |ui| {
        let text = tr!("{share} % of pixels", share = format!("{share:.1}"));
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
    });
    block(ui, |ui| {
        let value = image
            .band_indices
            .first()
            .and_then(|band| image.info.band(*band))
            .and_then(|band| band.nodata_number());
        let text = match value {
            Some(value) => tr!("Value {value}", value = number_of(value)),
            None => tr!("The file names no value for missing data.").to_owned(),
        };
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
    });
}
