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
use crate::gui::draft_levels::level_source;
use crate::gui::filters::{self, FilterKey};
use crate::gui::icons;
use crate::gui::map::{DENSITY_STEPS, Legend, ProjectedFootprints, classify_rows, density_colour};
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::widgets::{self, Button, Segment, paint};
use crate::ops::{FootprintRequest, footprint_sources, footprints};
use crate::studio::{Document, RowRef};
use state::{DragMode, LevelFootprints, MapPanel};

impl Panel for MapPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return widgets::draw_empty_state(
                ui,
                icons::MAP_TRIFOLD,
                tr!("No map"),
                tr!("Open a dataset first."),
            );
        };
        let key = cx.document_key();
        let levels = document.tree().levels.len();
        // The view stays while a draft is edited.
        if self.made_for != Some(key.0) {
            let level = (0..levels)
                .find(|&level| !footprint_sources(&list_column_names(document, level)).is_empty())
                .unwrap_or(0);
            *self = MapPanel {
                made_for: Some(key.0),
                level,
                ..MapPanel::default()
            };
        }
        let tables = level_source(&mut self.draft_levels, cx.jobs, key, document);
        let last = levels.saturating_sub(1);
        if self.level > last {
            self.set_level(last);
        }
        let columns = list_column_names(document, self.level);
        let sources = footprint_sources(&columns);
        let request = FootprintRequest {
            level: self.level,
            source: self
                .source
                .clone()
                .filter(|source| sources.contains(source)),
        };
        let names = (self.level..levels).map(|level| list_column_names(document, level));
        let has_places = has_place_columns(names);
        if let Some(tables) = tables.clone().filter(|_| has_places) {
            let work = request.clone();
            self.footprints
                .update(cx.jobs, (key, request.clone()), tr!("Places"), move |ctx| {
                    let found = footprints(tables.levels(), &work, ctx)?;
                    let projected = ProjectedFootprints::new(&found);
                    Ok(LevelFootprints {
                        geographic: Arc::new(found),
                        projected: Arc::new(projected),
                    })
                });
        }
        self.colour = self.colour.take().filter(|column| columns.contains(column));
        if let (Some(column), Some(tables)) = (self.colour.clone(), tables.clone()) {
            let level = self.level;
            self.classes.update(
                cx.jobs,
                (key, level, column.clone()),
                tr!("Colours"),
                move |ctx| classify_rows(tables.levels(), level, &column, ctx).map(Arc::new),
            );
        }
        // Boxes and ranges of time are filters, which a draft does not have.
        let is_filtered = document.opened_dataset().is_some();
        if !is_filtered {
            self.mode = DragMode::Pan;
        }
        toolbar_ui(ui, self, &columns, &sources, levels, is_filtered);
        if is_filtered {
            filters::bar_ui(ui, cx, document, self.level);
        }
        if !has_places {
            let why = tr!(
                "Places come from istac:geometry, a centroid, or from stac:geotransform with \
                    stac:crs and stac:tensor_shape."
            );
            return widgets::draw_empty_state(
                ui,
                icons::MAP_TRIFOLD,
                tr!("This level has no places"),
                why,
            );
        }
        // Only a draft has level tables of its own that can fail.
        let failed = Some(&self.draft_levels)
            .filter(|_| !is_filtered)
            .and_then(|made| made.get(&key)?.as_ref().err());
        if let Some(error) = failed.or_else(|| self.footprints.get(&(key, request))?.as_ref().err())
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
        let times = list_time_columns(document, self.level);
        let strip = if times.is_empty() || area.height() < 260.0 || !is_filtered {
            0.0
        } else {
            time::HEIGHT
        };
        let (upper, lower) = area.split_top_bottom_at_y(area.bottom() - strip);
        let (canvas, legend) = upper.split_top_bottom_at_y(upper.bottom() - 26.0);
        canvas::ui(ui, self, cx, document, canvas);
        legend_ui(ui, self, cx, document, legend);
        if strip > 0.0 {
            time::ui(ui, self, cx, document, &times, lower);
        }
    }
}

/// True when one of these levels has columns of places: samples without a place of their own have
/// those of their descendants.
fn has_place_columns(levels: impl IntoIterator<Item = Vec<String>>) -> bool {
    let mut levels = levels.into_iter();
    levels.any(|names| !footprint_sources(&names).is_empty())
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

fn list_time_columns(document: &Document, level: usize) -> Vec<String> {
    let fields = document.fields(level).into_iter();
    fields
        .filter(|field| is_time_column(&field.name, &field.dtype))
        .map(|field| field.name)
        .collect()
}

/// Width in points from which the choice of colours fits beside the buttons behind it.
const MIN_WIDTH_FOR_COLOUR: f32 = 270.0;
/// Width in points from which the choice of geometries fits as well.
const MIN_WIDTH_FOR_GEOMETRY: f32 = 470.0;

fn toolbar_ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
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
                let modes = [
                    Segment::new(DragMode::Pan, tr!("Pan")),
                    Segment::new(DragMode::Draw, tr!("Draw box")),
                    Segment::new(DragMode::Lasso, tr!("Draw polygon")),
                ];
                if is_filtered {
                    widgets::draw_segments(ui, "map-mode", &mut panel.mode, &modes);
                }
                if levels > 1 {
                    let names: Vec<String> = (0..levels)
                        .map(|level| tr!("Level {level}", level))
                        .collect();
                    if let Some(level) = widgets::combo(
                        ui,
                        tr!("Level on the map"),
                        &names[panel.level],
                        84.0,
                        false,
                        &names,
                    ) {
                        panel.set_level(level);
                        (panel.source, panel.view) = (None, None);
                        (panel.time_column, panel.density) = (None, None);
                    }
                }
                if sources.len() > 1 && ui.available_width() > MIN_WIDTH_FOR_GEOMETRY {
                    widgets::draw_control_label(ui, tr!("Geometry"));
                    let current = panel
                        .source
                        .clone()
                        .or_else(|| sources.first().cloned())
                        .unwrap_or_default();
                    if let Some(index) =
                        widgets::combo(ui, tr!("Geometry"), &current, 130.0, true, sources)
                    {
                        panel.source = Some(sources[index].clone());
                    }
                }
                if ui.available_width() > MIN_WIDTH_FOR_COLOUR {
                    widgets::draw_control_label(ui, tr!("Colour"));
                    let mut choices = vec![tr!("one colour").to_owned(), tr!("density").to_owned()];
                    choices.extend(
                        columns
                            .iter()
                            .filter(|name| is_colour_choice(name, sources))
                            .cloned(),
                    );
                    let current = panel
                        .colour
                        .clone()
                        .unwrap_or_else(|| choices[usize::from(panel.is_density())].clone());
                    if let Some(index) = widgets::combo(
                        ui,
                        tr!("Colour by column"),
                        &current,
                        120.0,
                        false,
                        &choices,
                    ) {
                        panel.density = Some(index == 1);
                        panel.colour = (index > 1).then(|| choices[index].clone());
                    }
                }
                let shown = panel.rasters.shown;
                let button = Button::icon_only(icons::IMAGE, tr!("Rasters on the map"))
                    .with_selected_state(shown != raster_state::ShownRasters::Nothing);
                let button = ui.add(button.tooltip(tr!("Draw the selected raster in its place")));
                Popup::menu(&button).show(|ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    for choice in raster_state::ShownRasters::ALL {
                        let icon = if choice == shown { icons::CHECK } else { "" };
                        if widgets::menu_entry(ui, icon, choice.text(), "", None).clicked() {
                            panel.rasters.show(choice);
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
                        panel.view = None;
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

fn legend_ui(
    ui: &mut Ui,
    panel: &MapPanel,
    cx: &PanelContext<'_>,
    document: &Document,
    rect: egui::Rect,
) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg2);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let mut legend = LegendLine {
        painter: &painter,
        t,
        rect,
        at: rect.left() + 10.0,
    };
    let scene = panel.scene.latest();
    let matching = scene.map_or(0, |scene| scene.matching);
    match panel.classes() {
        _ if panel.is_reading() => legend.draw_entry(t.ctl, true, tr!("Reading places…")),
        _ if panel.is_density() => {
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
    if panel.rasters.is_reading() {
        legend.draw_entry(t.ctl, true, tr!("Reading rasters…"));
    } else if let Some(why) = panel
        .rasters
        .failure(rasters::selected_raster(cx, document))
    {
        legend.draw_entry(t.warn, true, why);
    }
    let source = match panel.footprints() {
        Some(footprints) if footprints.geographic.approximate => {
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
    let row_count = panel
        .footprints()
        .map_or(0, |footprints| footprints.geographic.rows());
    let response = ui.interact(rect, ui.scope_id().with("legend"), egui::Sense::hover());
    let (matching, total) = (
        paint::format_grouped_number(matching),
        paint::format_grouped_number(row_count as u64),
    );
    let mut text = if panel.is_reading() {
        tr!("Reading places…").to_owned()
    } else {
        tr!(
            "{matching} of {total} samples match on the map",
            matching,
            total
        )
    };
    let drawn = panel.rasters.drawn_count();
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
    /// Draws a text behind a square, which is a frame when it is hollow.
    fn draw_entry(&mut self, color: Color32, is_hollow: bool, text: &str) {
        let (left, rect) = (self.at, self.rect);
        let square = Rect::from_center_size(pos2(left + 5.0, rect.center().y), vec2(9.0, 9.0));
        if is_hollow {
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
pub fn handle_keys(ui: &Ui, panel: &mut MapPanel, cx: &mut PanelContext<'_>) {
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
    if draw && is_filtered {
        panel.mode = DragMode::Draw;
    }
    if fit {
        panel.view = None;
    }
    if zoom != 0
        && let Some(view) = &mut panel.view
    {
        view.scale *= 1.6_f64.powi(zoom);
    }
    if clear {
        if panel.mode != DragMode::Pan || panel.drag.is_some() {
            (panel.mode, panel.drag) = (DragMode::Pan, None);
            panel.lasso.clear();
        } else {
            filters::set(cx, FilterKey::Area, None);
        }
    }
}

/// The sample in a row of the map's level.
pub fn row_on_map(state: &MapPanel, row: u32) -> RowRef {
    RowRef {
        level: state.level,
        row,
    }
}

/// A line about a sample.
pub struct SampleLine {
    pub id: String,
    /// Its day and the value of the column of colours; empty without both.
    pub details: String,
}

pub fn describe_sample(document: &Document, state: &MapPanel, at: RowRef) -> SampleLine {
    let id = document.id(at).unwrap_or_default().to_owned();
    let time = state.find_time(at);
    let time = time.map(|micros| crate::gui::map::day_text(micros.div_euclid(86_400_000_000)));
    let value = state
        .colour
        .as_ref()
        .map(|column| format!("{column} {}", document.text(at, column)));
    let details: Vec<String> = time
        .into_iter()
        .chain(value.filter(|value| !value.ends_with(' ')))
        .collect();
    SampleLine {
        id,
        details: details.join(", "),
    }
}

/// A label in the small text style.
pub fn small_text(text: &str, color: egui::Color32) -> RichText {
    theme::rich_text(text)
        .text_style(text_style("small12"))
        .color(color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_the_places_of_the_levels_below() {
        let plain = vec!["id".to_owned(), "type".to_owned()];
        let placed = vec!["id".to_owned(), "istac:geometry".to_owned()];
        assert!(has_place_columns([plain.clone(), placed.clone()]));
        assert!(has_place_columns([placed]));
        assert!(!has_place_columns([plain]));
        assert!(!has_place_columns([]));
    }
}
