//! The map panel: footprints of the filtered samples of a level. A box drawn here and a time range
//! are filters of the dataset.

mod area_filter;
mod base_map_layer;
mod canvas;
mod raster_state;
pub mod rasters;
pub mod state;
mod time;

use std::sync::Arc;

use egui::{
    Align, Color32, Frame, Key as Press, Layout, Margin, Painter, Popup, Rect, RichText, Stroke,
    StrokeKind, Ui, pos2, vec2,
};

use crate::footprint::is_time_column;
use crate::gui::document_key::revision;
use crate::gui::draft_levels::level_source;
use crate::gui::filters::{self, FilterKey};
use crate::gui::icons;
use crate::gui::map::{DENSITY_STEPS, Legend, Projected, classes_of, density_colour};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::widgets::{self, Button, Segment, paint};
use crate::ops::{FootprintRequest, footprint_sources, footprints};
use crate::studio::{Document, RowRef};
use state::{DragMode, MapState};

/// Draws the panel.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let Some(document) = cx.document() else {
        return widgets::draw_empty_state(
            ui,
            icons::MAP_TRIFOLD,
            tr!("No map"),
            tr!("Open a dataset first."),
        );
    };
    let key = (cx.session.serial, revision(cx.studio));
    let levels = document.tree().levels.len();
    // The view stays while a draft is edited.
    if cx.session.map.made_for != Some(key.0) {
        let level = (0..levels)
            .find(|&level| !footprint_sources(&list_column_names(document, level)).is_empty())
            .unwrap_or(0);
        cx.session.map = MapState {
            made_for: Some(key.0),
            level,
            ..MapState::default()
        };
    }
    let tables = level_source(&mut cx.session.draft_levels, cx.jobs, key, document);
    let state = &mut cx.session.map;
    state.level = state.level.min(levels.saturating_sub(1));
    let own = list_column_names(document, state.level);
    let sources = footprint_sources(&own);
    let request = FootprintRequest {
        level: state.level,
        source: state
            .source
            .clone()
            .filter(|source| sources.contains(source)),
    };
    if let Some(tables) = tables
        .clone()
        .filter(|_| !sources.is_empty() || state.places.latest().is_some())
    {
        let work = request.clone();
        state
            .places
            .update(cx.jobs, (key, request.clone()), tr!("Places"), move |ctx| {
                let found = footprints(tables.levels(), &work, ctx)?;
                let projected = Projected::new(&found);
                Ok((Arc::new(found), Arc::new(projected)))
            });
    }
    state.colour = state.colour.take().filter(|column| own.contains(column));
    if let (Some(column), Some(tables)) = (state.colour.clone(), tables.clone()) {
        let level = state.level;
        state.classes.update(
            cx.jobs,
            (key, level, column.clone()),
            tr!("Colours"),
            move |ctx| classes_of(tables.levels(), level, &column, ctx).map(Arc::new),
        );
    }
    // Boxes and ranges of time are filters, which a draft does not have.
    let is_filtered = document.opened_dataset().is_some();
    if !is_filtered {
        cx.session.map.mode = DragMode::Pan;
    }
    toolbar_ui(ui, cx, &own, &sources, levels, is_filtered);
    if is_filtered {
        filters::bar_ui(ui, cx, document, cx.session.map.level);
    }
    if sources.is_empty() && cx.session.map.places.latest().is_none() {
        let why = tr!(
            "Places come from istac:geometry, a centroid, or from stac:geotransform with stac:crs \
                and stac:tensor_shape."
        );
        return widgets::draw_empty_state(
            ui,
            icons::MAP_TRIFOLD,
            tr!("This level has no places"),
            why,
        );
    }
    // The tables of a dataset are never made.
    let failed = Some(&cx.session.draft_levels)
        .filter(|_| !is_filtered)
        .and_then(|made| made.get(&key)?.as_ref().err());
    if let Some(error) =
        failed.or_else(|| cx.session.map.places.get(&(key, request))?.as_ref().err())
    {
        let why = error.to_string();
        return widgets::draw_empty_state(
            ui,
            icons::MAP_TRIFOLD,
            tr!("The places can't be read"),
            &why,
        );
    }
    let area = ui.available_rect_before_wrap();
    let times: Vec<&String> = own
        .iter()
        .filter(|name| is_time(document, cx.session.map.level, name))
        .collect();
    let strip = if times.is_empty() || area.height() < 260.0 || !is_filtered {
        0.0
    } else {
        time::HEIGHT
    };
    let (upper, lower) = area.split_top_bottom_at_y(area.bottom() - strip);
    let (canvas, legend) = upper.split_top_bottom_at_y(upper.bottom() - 26.0);
    canvas::ui(ui, cx, document, canvas);
    legend_ui(ui, cx, document, legend);
    if strip > 0.0 {
        let times: Vec<String> = times.into_iter().cloned().collect();
        time::ui(ui, cx, document, &times, lower);
    }
}

fn list_column_names(document: &Document, level: usize) -> Vec<String> {
    match document.opened_dataset() {
        Some(open) => open
            .reader
            .levels()
            .fields(level)
            .into_iter()
            .map(|field| field.name)
            .collect(),
        None => document
            .fields(level)
            .into_iter()
            .map(|field| field.name)
            .collect(),
    }
}

fn is_time(document: &Document, level: usize, name: &str) -> bool {
    document
        .fields(level)
        .iter()
        .any(|field| field.name == name && is_time_column(name, &field.dtype))
}

/// Width in points from which the choice of colours fits beside the buttons behind it.
const COLOUR_FROM: f32 = 270.0;
/// Width in points from which the choice of geometries fits as well.
const GEOMETRY_FROM: f32 = 470.0;

fn toolbar_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    columns: &[String],
    sources: &[String],
    levels: usize,
    is_filtered: bool,
) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_height(26.0);
            ui.horizontal_centered(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let state = &mut cx.session.map;
                let modes = [
                    Segment::new(DragMode::Pan, tr!("Pan")),
                    Segment::new(DragMode::Draw, tr!("Draw box")),
                    Segment::new(DragMode::Lasso, tr!("Draw polygon")),
                ];
                if is_filtered {
                    widgets::draw_segments(ui, "map-mode", &mut state.mode, &modes);
                }
                if levels > 1 {
                    let names: Vec<String> = (0..levels)
                        .map(|level| tr!("Level {level}", level))
                        .collect();
                    if let Some(level) = widgets::combo(
                        ui,
                        tr!("Level on the map"),
                        &names[state.level],
                        84.0,
                        false,
                        &names,
                    ) {
                        (state.level, state.source, state.view) = (level, None, None);
                        (state.time_column, state.density) = (None, None);
                    }
                }
                if sources.len() > 1 && ui.available_width() > GEOMETRY_FROM {
                    widgets::draw_control_label(ui, tr!("Geometry"));
                    let current = state
                        .source
                        .clone()
                        .or_else(|| sources.first().cloned())
                        .unwrap_or_default();
                    if let Some(index) =
                        widgets::combo(ui, tr!("Geometry"), &current, 130.0, true, sources)
                    {
                        state.source = Some(sources[index].clone());
                    }
                }
                if ui.available_width() > COLOUR_FROM {
                    widgets::draw_control_label(ui, tr!("Colour"));
                    let mut choices = vec![tr!("one colour").to_owned(), tr!("density").to_owned()];
                    choices.extend(
                        columns
                            .iter()
                            .filter(|name| is_colour_choice(name, sources))
                            .cloned(),
                    );
                    let current = state
                        .colour
                        .clone()
                        .unwrap_or_else(|| choices[usize::from(state.is_density())].clone());
                    if let Some(index) = widgets::combo(
                        ui,
                        tr!("Colour by column"),
                        &current,
                        120.0,
                        false,
                        &choices,
                    ) {
                        state.density = Some(index == 1);
                        state.colour = (index > 1).then(|| choices[index].clone());
                    }
                }
                let shown = state.rasters.shown;
                let button = Button::icon_only(icons::IMAGE, tr!("Rasters on the map"))
                    .with_selected_state(shown != raster_state::ShownRasters::Nothing);
                let button = ui.add(button.tooltip(tr!("Draw the selected raster in its place")));
                Popup::menu(&button).show(|ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    for choice in raster_state::ShownRasters::ALL {
                        let icon = if choice == shown { icons::CHECK } else { "" };
                        if widgets::menu_entry(ui, icon, choice.text(), "", None).clicked() {
                            state.rasters.show(choice);
                            ui.close();
                        }
                    }
                });
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let fit = Button::ghost(tr!("Fit")).icon(icons::CORNERS_OUT);
                    if ui
                        .add(
                            fit.name(tr!("Fit the map"))
                                .tooltip(tr!("Show every sample (0)")),
                        )
                        .clicked()
                    {
                        cx.session.map.view = None;
                    }
                });
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn is_colour_choice(name: &str, sources: &[String]) -> bool {
    !name.starts_with("internal:") && name != "id" && !sources.iter().any(|source| source == name)
}

fn legend_ui(ui: &mut Ui, cx: &PanelContext<'_>, document: &Document, rect: egui::Rect) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg2);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let state = &cx.session.map;
    let mut legend = LegendLine {
        painter: &painter,
        t,
        rect,
        at: rect.left() + 10.0,
    };
    let scene = state.scene.latest();
    let matching = scene.map_or(0, |scene| scene.matching);
    match state.classes() {
        _ if state.is_reading() => legend.draw_entry(t.ctl, true, tr!("Reading places…")),
        _ if state.is_density() => {
            let most = scene.map_or(0, |scene| scene.densest);
            for step in 0..DENSITY_STEPS {
                let count = f64::from(most.max(1))
                    .powf(f64::from(step) / f64::from(DENSITY_STEPS - 1))
                    .round() as u32;
                let text = match step {
                    0 => tr!("1 in a cell").to_owned(),
                    _ if step + 1 == DENSITY_STEPS => paint::format_grouped_number(u64::from(most)),
                    _ => String::new(),
                };
                legend.draw_entry(density_colour(count, most), false, &text);
            }
        }
        Some(classes) => match &classes.legend {
            Legend::Values(values) => {
                for (index, value) in values.iter().enumerate() {
                    legend.draw_entry(classes.legend.colour(index as u8, t), false, value);
                }
            }
            Legend::Steps(low, high) => {
                for class in 0..classes.legend.len() as u8 {
                    let text = match class {
                        0 => low.as_str(),
                        _ if usize::from(class) + 1 == classes.legend.len() => high.as_str(),
                        _ => "",
                    };
                    legend.draw_entry(classes.legend.colour(class, t), false, text);
                }
            }
        },
        None => {
            legend.draw_entry(
                t.accfill,
                false,
                &tr_n!(
                    matching,
                    "{n} match",
                    "{n} match",
                    n = paint::format_grouped_number(matching)
                ),
            );
            if let Some(scene) = scene.filter(|scene| scene.hidden > 0) {
                let hidden = tr_n!(
                    scene.hidden,
                    "{n} filtered out",
                    "{n} filtered out",
                    n = paint::format_grouped_number(scene.hidden)
                );
                legend.draw_entry(t.ctl, true, &hidden);
            }
            legend.draw_entry(t.tx, true, tr!("selected" in "sample on the map"));
        }
    }
    if state.rasters.is_reading() {
        legend.draw_entry(t.ctl, true, tr!("Reading rasters…"));
    } else if let Some(why) = state
        .rasters
        .failure(rasters::selected_raster(cx, document))
    {
        legend.draw_entry(t.warn, true, why);
    }
    let source = match state.places() {
        Some((footprints, _)) if footprints.approximate => {
            tr!("outlines approximate   Natural Earth")
        }
        _ => "Natural Earth",
    };
    paint::text_right(
        &painter,
        rect.shrink2(vec2(10.0, 0.0)),
        source,
        font::regular(11.0),
        t.tx3,
    );
    let placed = state
        .places()
        .map_or(0, |(footprints, _)| footprints.rows());
    let response = ui.interact(rect, ui.scope_id().with("legend"), egui::Sense::hover());
    let (matching, total) = (
        paint::format_grouped_number(matching),
        paint::format_grouped_number(placed as u64),
    );
    let mut text = if state.is_reading() {
        tr!("Reading places…").to_owned()
    } else {
        tr!(
            "{matching} of {total} samples match on the map",
            matching,
            total
        )
    };
    let drawn = state.rasters.drawn_count();
    if drawn > 0 {
        text.push_str("; ");
        text.push_str(&tr_n!(
            drawn,
            "{n} raster drawn in place",
            "{n} rasters drawn in place",
            n = drawn
        ));
    }
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Status, true, &text));
}

/// A line of entries from left to right.
struct LegendLine<'a> {
    painter: &'a Painter,
    t: &'a ThemeTokens,
    rect: Rect,
    /// Left end of the next entry.
    at: f32,
}

impl LegendLine<'_> {
    /// Draws a text behind a square, which is a frame when it is `hollow`.
    fn draw_entry(&mut self, color: Color32, hollow: bool, text: &str) {
        let (left, rect) = (self.at, self.rect);
        let square = Rect::from_center_size(pos2(left + 5.0, rect.center().y), vec2(9.0, 9.0));
        if hollow {
            let stroke = Stroke::new(1.0, color);
            self.painter
                .rect_stroke(square, 0, stroke, StrokeKind::Inside);
        } else {
            self.painter.rect_filled(square, 0, color);
        }
        let inner = Rect::from_min_max(
            pos2(left + 15.0, rect.top()),
            pos2(rect.right() - 110.0, rect.bottom()),
        );
        let font = font::regular(12.0);
        self.at = paint::text_left(self.painter, inner, text, font, self.t.tx2) + 14.0;
    }
}

/// Handles keys while the map has the focus.
pub fn keys(ui: &Ui, cx: &mut PanelContext<'_>) {
    let (draw, clear, zoom, fit) = ui.input_mut(|input| {
        let mut count = |key| input.count_and_consume_key(egui::Modifiers::NONE, key) as i32;
        let zoom = count(Press::Plus) + count(Press::Equals) - count(Press::Minus);
        (
            count(Press::B) > 0,
            count(Press::Escape) > 0,
            zoom,
            count(Press::Num0) > 0,
        )
    });
    let is_filtered = cx
        .document()
        .is_some_and(|document| document.opened_dataset().is_some());
    let state = &mut cx.session.map;
    if draw && is_filtered {
        state.mode = DragMode::Draw;
    }
    if fit {
        state.view = None;
    }
    if zoom != 0
        && let Some(view) = &mut state.view
    {
        view.scale *= 1.6_f64.powi(zoom);
    }
    if clear {
        if state.mode != DragMode::Pan || state.drag.is_some() {
            (state.mode, state.drag) = (DragMode::Pan, None);
            state.lasso.clear();
        } else {
            filters::set(cx, FilterKey::Area, None);
        }
    }
}

/// The sample in a row of the map's level.
pub fn sample_of(state: &MapState, row: u32) -> RowRef {
    RowRef {
        level: state.level,
        row,
    }
}

/// One line about a sample: its id, and its time where there is one.
pub fn line_of(document: &Document, state: &MapState, at: RowRef) -> (String, String) {
    let id = document.id(at).unwrap_or_default().to_owned();
    let time = state
        .times
        .latest()
        .and_then(|(_, times)| times.get(at.row as usize).copied().flatten());
    let time = time
        .filter(|_| at.level == state.level)
        .map(|micros| crate::gui::map::day_text(micros.div_euclid(86_400_000_000)));
    let value = state
        .colour
        .as_ref()
        .map(|column| format!("{column} {}", document.text(at, column)));
    let words: Vec<String> = time
        .into_iter()
        .chain(value.filter(|value| !value.ends_with(' ')))
        .collect();
    (id, words.join(", "))
}

/// A label in the small text style.
pub fn small(text: &str, color: egui::Color32) -> RichText {
    theme::rich_text(text)
        .text_style(text_style("small12"))
        .color(color)
}
