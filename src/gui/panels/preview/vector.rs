//! Vector samples: the shapes of their features over the picture of a sibling at the same place,
//! and the values of the fields.

use std::sync::Arc;

use egui::{
    Color32, Painter, Pos2, Rect, Role, ScrollArea, Sense, Shape as Drawn, Stroke, Ui, UiBuilder,
    Vec2, WidgetInfo, pos2, vec2,
};

use super::picture::Picture;
use super::picture_options::{beside_key, look_of, shows_classes};
use super::sibling_rows::list_files_around;
use super::sidebar::SIDEBAR_WIDTH;
use super::state::{CanvasView, PreviewPanel};
use super::transform::Transform;
use super::vector_features::VectorView;
use super::{canvas, file_contents, siblings};
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::inspector;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, RowScroll, VirtualRows, paint};
use crate::raster::PixelShape;
use crate::studio::{Document, RowRef};

/// Siblings that are asked for a picture.
const ASKED_MOST: usize = 16;
/// Distance in points at which a line or point is under the pointer.
const REACH: f32 = 5.0;
/// Height of a line of the list.
const LINE: f32 = 20.0;
/// Part of the height that the list takes.
const LIST_PART: f32 = 0.5;

/// Draws the panel for a vector file.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    key: DocumentKey,
    at: RowRef,
) {
    let by_class = shows_classes(panel, document);
    let wanted = (at, beside_key(panel, cx, key, by_class));
    let asked = list_files_around(document, at, ASKED_MOST)
        .into_iter()
        .filter(|&sibling| sibling != at);
    let state = &mut panel.vector;
    if state.view.key() != Some(&wanted) {
        let (source, places) = (
            document.raster_later(at),
            asked
                .map(|sibling| document.raster_later(sibling))
                .collect(),
        );
        (state.background, state.selected, state.scroll) = (None, None, RowScroll::default());
        let beside = wanted.1.clone();
        state.view.update(
            cx.jobs,
            wanted.clone(),
            tr!("Read the features"),
            move |ctx| Ok(Arc::new(VectorView::read(source, places, &beside, ctx)?)),
        );
    }
    let view = match panel.vector.view.get(&wanted) {
        Some(Ok(view)) => view.clone(),
        Some(Err(error)) => {
            let why = error.sentence();
            return file_contents::ui(ui, panel, cx, key, at, &why);
        }
        None => {
            widgets::spinner(ui, 24.0);
            return;
        }
    };
    // The view of a picture stays for the features over it.
    panel.view.show(view.plane.size);
    refresh_background(ui, panel, cx, document, &view);
    let area = ui.available_rect_before_wrap();
    let side = if area.width() > 2.2 * SIDEBAR_WIDTH {
        SIDEBAR_WIDTH
    } else {
        0.0
    };
    let (left, right) = area.split_left_right_at_x(area.right() - side);
    let strip = if area.height() > 4.0 * siblings::HEIGHT {
        siblings::HEIGHT
    } else {
        0.0
    };
    let (upper, lower) = left.split_top_bottom_at_y(left.bottom() - strip);
    let (picture, readout) = upper.split_top_bottom_at_y(upper.bottom() - 24.0);
    let under = canvas_ui(ui, panel, cx, document, at, &view, picture);
    readout_ui(ui, &view, under.or(panel.vector.selected), readout);
    if strip > 0.0 {
        siblings::ui(ui, panel, cx, document, at, lower);
    }
    if side > 0.0 {
        ui.scope_builder(
            UiBuilder::new().max_rect(right).id_salt("vector-side"),
            |ui| side_ui(ui, panel, &view, picture),
        );
    }
}

/// Renders the picture behind the features as the preview of that sibling has it.
fn refresh_background(
    ui: &Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    view: &VectorView,
) {
    let Some(answer) = &view.background else {
        return;
    };
    let look = look_of(panel, document, Some(&answer.1));
    let picture = panel
        .vector
        .background
        .get_or_insert_with(|| Picture::new(ui.ctx(), answer.clone()));
    picture.refresh(cx.jobs, &look);
}

/// Draws picture and shapes into `rect`. Returns the feature under the pointer.
fn canvas_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    view: &VectorView,
    rect: Rect,
) -> Option<usize> {
    let t = theme::tokens(ui);
    let response = ui.interact(rect, ui.scope_id().with("canvas"), Sense::click_and_drag());
    let title = document
        .path(at)
        .map(|path| path.to_string())
        .unwrap_or_default();
    response
        .widget_info(|| WidgetInfo::labeled(Role::Image, true, tr!("Shapes of {title}", title)));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.input);
    let [width, height] = view.plane.size;
    let (mut transform, fit) = canvas::shown_transform(panel, rect, view.plane.size);
    if canvas::navigate(ui, panel, cx, &response, &mut transform, fit) {
        transform.middle = [
            transform.middle[0].clamp(0.0, width),
            transform.middle[1].clamp(0.0, height),
        ];
        panel.view.place = Some((transform.middle, transform.scale));
    }
    if let Some(picture) = &panel.vector.background {
        canvas::paint_picture(&painter, picture, transform);
    }
    let pointer = response
        .hover_pos()
        .map(|at| transform.pixel_from_screen(at));
    let under = pointer.and_then(|at| view.row_at(at, f64::from(REACH) / transform.scale));
    if response.clicked() {
        let state = &mut panel.vector;
        state.selected = under;
        if let Some(row) = under {
            state.scroll.reveal(row as u64);
        }
    }
    let selected = panel.vector.selected;
    let is_over_picture = view.background.is_some();
    for row in (0..view.rows.len()).filter(|row| ![selected, under].contains(&Some(*row))) {
        if let Some((_, feature)) = view.feature(row) {
            shape_ui(
                &painter,
                t,
                &feature.shape,
                transform,
                rect,
                Pen::Plain { is_over_picture },
            );
        }
    }
    for (row, pen) in [(under, Pen::Under), (selected, Pen::Selected)] {
        if let Some((_, feature)) = row.and_then(|row| view.feature(row)) {
            shape_ui(&painter, t, &feature.shape, transform, rect, pen);
        }
    }
    under
}

/// How a shape is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Pen {
    Plain { is_over_picture: bool },
    Under,
    Selected,
}

fn shape_ui(
    painter: &Painter,
    t: &ThemeTokens,
    shape: &PixelShape,
    transform: Transform,
    rect: Rect,
    pen: Pen,
) {
    let Some([left, top, right, bottom]) = shape.bounds else {
        return;
    };
    let bounds = Rect::from_two_pos(
        transform.screen_from_pixel([left, top]),
        transform.screen_from_pixel([right, bottom]),
    );
    if !bounds.expand(REACH).intersects(rect) {
        return;
    }
    let (width, colour) = match pen {
        // Over a picture the lines of the theme have no certain contrast.
        Pen::Plain {
            is_over_picture: true,
        } => (1.5, Color32::from_rgb(0xff, 0xd6, 0x4a)),
        Pen::Plain {
            is_over_picture: false,
        } => (1.5, t.acc),
        Pen::Under => (2.0, t.acc),
        Pen::Selected => (3.0, t.accfill),
    };
    let edge = Stroke::new(width + 2.0, Color32::from_black_alpha(110));
    let stroke = Stroke::new(width, colour);
    // A shape of less than a point is a dot.
    if bounds.width().max(bounds.height()) < 1.0 && shape.points.is_empty() {
        painter.circle_filled(bounds.center(), width, colour);
        return;
    }
    let rings: Vec<Vec<Pos2>> = shape
        .rings
        .iter()
        .map(|ring| on_screen(ring, transform))
        .collect();
    let lines: Vec<Vec<Pos2>> = shape
        .lines
        .iter()
        .map(|line| on_screen(line, transform))
        .collect();
    for stroke in [edge, stroke] {
        painter.extend(
            rings
                .iter()
                .map(|ring| Drawn::closed_line(ring.clone(), stroke)),
        );
        painter.extend(lines.iter().map(|line| Drawn::line(line.clone(), stroke)));
    }
    for &point in &shape.points {
        let at = transform.screen_from_pixel(point);
        painter.circle(
            at,
            3.0 + width / 2.0,
            colour,
            Stroke::new(1.0, Color32::from_black_alpha(160)),
        );
    }
}

/// The positions of a line without those that differ by less than a pixel from the one before: far
/// away, an outline has thousands.
fn on_screen(line: &[[f64; 2]], transform: Transform) -> Vec<Pos2> {
    /// Distance in points.
    const APART: f32 = 0.7;
    let mut positions: Vec<Pos2> = Vec::new();
    for (index, &at) in line.iter().enumerate() {
        let at = transform.screen_from_pixel(at);
        let is_end = index + 1 == line.len();
        if is_end
            || positions
                .last()
                .is_none_or(|last| last.distance_sq(at) >= APART * APART)
        {
            positions.push(at);
        }
    }
    positions
}

/// Draws the line below the picture: the feature under the pointer, or how many there are.
fn readout_ui(ui: &mut Ui, view: &VectorView, row: Option<usize>, rect: Rect) {
    let count = view.rows.len();
    let n = paint::format_grouped_number(count as u64);
    let text = match row {
        Some(row) => {
            let number = paint::format_grouped_number(row as u64 + 1);
            format!(
                "{}   {}",
                tr!("feature {number} of {n}", number, n),
                view.caption(row)
            )
        }
        None if view.features.is_cut => tr!("the first {n} features", n),
        None => tr_n!(count, "{n} feature", "{n} features", n),
    };
    let crs = view
        .features
        .layers
        .first()
        .map_or("", |layer| layer.crs.as_str());
    canvas::readout_line_ui(ui, &text, crs, rect);
}

/// Draws the list of features and the values of the selected one.
fn side_ui(ui: &mut Ui, panel: &mut PreviewPanel, view: &VectorView, picture: Rect) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter()
        .vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let (upper, lower) = rect.split_top_bottom_at_y(rect.top() + rect.height() * LIST_PART);
    ui.scope_builder(UiBuilder::new().max_rect(upper).id_salt("features"), |ui| {
        list_ui(ui, panel, view, picture)
    });
    ui.painter()
        .hline(lower.x_range(), lower.top() + 0.5, Stroke::new(1.0, t.line));
    let selected = panel.vector.selected;
    ui.scope_builder(UiBuilder::new().max_rect(lower).id_salt("values"), |ui| {
        values_ui(ui, view, selected)
    });
}

fn list_ui(ui: &mut Ui, panel: &mut PreviewPanel, view: &VectorView, picture: Rect) {
    let t = theme::tokens(ui);
    let n = paint::format_grouped_number(view.rows.len() as u64);
    ui.spacing_mut().item_spacing.y = 0.0;
    widgets::section_header(ui, tr!("Features"), |ui| {
        ui.label(theme::rich_text(n).font(font::mono(11.0)).color(t.tx3));
    });
    let several = view.features.layers.len() > 1;
    let state = &mut panel.vector;
    let (mut scroll, selected) = (state.scroll, state.selected);
    let list = VirtualRows::new(tr!("Features"), view.rows.len() as u64)
        .row_height(LINE)
        .cursor(selected.map(|row| row as u64));
    let output = list.show(ui, &mut scroll, |ui, row, rect, response| {
        let row = row as usize;
        let chosen = selected == Some(row);
        let mut caption = view.caption(row);
        if several && let Some((layer, _)) = view.feature(row) {
            caption = format!("{}  {caption}", layer.name);
        }
        response.widget_info(|| {
            WidgetInfo::selected(
                Role::ListItem,
                true,
                chosen,
                tr!("Feature {number}: {caption}", number = row + 1, caption),
            )
        });
        paint::row_background(ui.painter(), t, rect, chosen, response.hovered());
        let gutter = Rect::from_min_size(rect.min, vec2(44.0, rect.height()));
        paint::text_right(
            ui.painter(),
            gutter,
            &paint::format_grouped_number(row as u64 + 1),
            font::mono(10.5),
            t.tx3,
        );
        paint::text_left(
            ui.painter(),
            rect.with_min_x(gutter.right() + 8.0),
            &caption,
            font::regular(12.0),
            t.tx,
        );
    });
    let state = &mut panel.vector;
    state.scroll = scroll;
    if let Some(row) = output.clicked.or(output.moved_to) {
        state.selected = Some(row as usize);
        reveal(&mut panel.view, view, row as usize, picture);
    }
}

/// Moves the view to a feature that it does not show.
fn reveal(shown: &mut CanvasView, view: &VectorView, row: usize, picture: Rect) {
    let Some((middle, scale)) = shown.place else {
        return;
    };
    let Some([left, top, right, bottom]) = view
        .feature(row)
        .and_then(|(_, feature)| feature.shape.bounds)
    else {
        return;
    };
    let half = Vec2::new(picture.width(), picture.height()) / 2.0 / scale as f32;
    let seen = Rect::from_center_size(pos2(middle[0] as f32, middle[1] as f32), 2.0 * half);
    let centre = [(left + right) / 2.0, (top + bottom) / 2.0];
    if !seen.contains(pos2(centre[0] as f32, centre[1] as f32)) {
        shown.place = Some((centre, scale));
    }
}

fn values_ui(ui: &mut Ui, view: &VectorView, selected: Option<usize>) {
    let t = theme::tokens(ui);
    ui.spacing_mut().item_spacing.y = 0.0;
    let feature = selected.and_then(|row| view.feature(row));
    // Of a file with several layers, those of the first are shown until a feature is selected.
    let Some(layer) = feature
        .map(|(layer, _)| layer)
        .or(view.features.layers.first())
    else {
        return;
    };
    widgets::section_header(ui, tr!("Fields"), |_| {});
    ScrollArea::vertical()
        .id_salt("vector-values")
        .auto_shrink(false)
        .show(ui, |ui| {
            let shapes = if layer.geometry.is_empty() {
                tr!("of any type")
            } else {
                &layer.geometry
            };
            for (name, value) in [
                (tr!("Layer"), layer.name.as_str()),
                (tr!("Shapes"), shapes),
                (tr!("CRS"), &layer.crs),
            ] {
                pair_ui(ui, name, Some(value).filter(|value| !value.is_empty()));
            }
            ui.add_space(6.0);
            match feature {
                Some((layer, feature)) => {
                    for (name, value) in layer.fields.iter().zip(&feature.values) {
                        pair_ui(ui, name, value.as_deref());
                    }
                }
                None => {
                    let text = tr!("Select a feature to see its values.");
                    egui::Frame::NONE
                        .inner_margin(egui::Margin::symmetric(12, 4))
                        .show(ui, |ui| {
                            ui.label(
                                theme::rich_text(text)
                                    .font(font::regular(12.0))
                                    .color(t.tx3),
                            );
                        });
                }
            }
        });
}

/// Draws a name and its value; null is a dash.
fn pair_ui(ui: &mut Ui, name: &str, value: Option<&str>) {
    let shown = value.unwrap_or("–");
    inspector::pair(ui, name, shown, true).on_hover_text(theme::rich_text(shown));
}
