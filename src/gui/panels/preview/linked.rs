//! Linked siblings side by side: pan and zoom apply to all, and each marks the same position.

use std::sync::Arc;

use egui::{
    Color32, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, Vec2, WidgetInfo, pos2,
    vec2,
};

use super::canvas;
use super::picture::{Picture, PictureLook};
use super::picture_options::beside_key;
use super::picture_request::BesideKey;
use super::sibling_rows::list_files_around;
use super::state::{LinkedState, PreviewPanel, PreviewSibling};
use super::transform::Transform;
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::jobs::Jobs;
use crate::studio::{Document, RowRef};

/// Maximum number of pictures.
const PICTURES_MAX: usize = 6;
/// Pictures read concurrently.
const READ_AT_ONCE: usize = 2;
const GAP: f32 = 2.0;

impl LinkedState {
    /// Chooses the pictures: keeps the previous ones while the selection is among them, so that the
    /// layout is stable.
    fn choose_rows(&mut self, document: &Document, key: DocumentKey, at: RowRef) {
        if self.made_for != Some(key) || !self.rows.contains(&at) {
            self.rows = list_files_around(document, at, PICTURES_MAX);
            self.made_for = Some(key);
        }
        let rows = &self.rows;
        self.others
            .retain(|row, _| rows.contains(row) && *row != at);
        for &row in rows.iter().filter(|&&row| row != at) {
            self.others.entry(row).or_default();
        }
    }

    fn update(&mut self, jobs: &Jobs, document: &Document, key: &BesideKey) {
        let mut running = self
            .others
            .values()
            .filter(|sibling| sibling.asked.is_pending())
            .count();
        for (&row, sibling) in &mut self.others {
            if sibling.asked.get(key).is_some()
                || sibling.asked.is_pending()
                || running >= READ_AT_ONCE
            {
                continue;
            }
            running += 1;
            let (place, beside) = (document.raster_later(row), key.clone());
            sibling
                .asked
                .update(jobs, key.clone(), tr!("Linked picture"), move |ctx| {
                    beside.read(place, ctx)
                });
        }
    }
}

/// Draws the selected picture and its siblings into `rect`.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    look: &PictureLook,
    rect: Rect,
) {
    let (jobs, key) = (cx.jobs, cx.document_key());
    let beside = beside_key(panel, cx, key, look.classes.is_some());
    panel.linked.choose_rows(document, key, at);
    if let Some(whole) = &panel.whole {
        let (ctx, limits) = (whole.ctx.clone(), whole.limits.clone());
        panel.linked.update(jobs, document, &beside);
        for sibling in panel.linked.others.values_mut() {
            if let Some(Ok(answer)) = sibling.asked.get(&beside)
                && sibling
                    .picture
                    .as_ref()
                    .is_none_or(|shown| !Arc::ptr_eq(&shown.answer, answer))
            {
                sibling.picture = Some(Picture::new(&ctx, answer.clone()));
            }
            if let Some(picture) = &mut sibling.picture {
                // Pictures with the same bands share one stretch, so that dates are comparable.
                let own = picture.answer.1.bands.clone();
                let same = own == look.options.bands;
                let mut shared = PictureLook {
                    limits: same.then(|| limits.clone()),
                    ..look.clone()
                };
                shared.options.bands = own;
                picture.refresh(jobs, &shared);
            }
        }
    }
    let rows = panel.linked.rows.clone();
    let cells = lay_out_cells(rect, rows.len());
    let mut pixel = None;
    for (&row, &cell) in rows.iter().zip(&cells) {
        if row == at {
            canvas::ui(ui, panel, cx, cell);
            pixel = panel.pixel;
        }
    }
    for (&row, &cell) in rows.iter().zip(&cells).filter(|(row, _)| **row != at) {
        let hovered = ui
            .scope_builder(
                UiBuilder::new()
                    .max_rect(cell)
                    .id_salt(("linked", row.level, row.row)),
                |ui| {
                    cell_ui(
                        ui,
                        panel,
                        cx,
                        document,
                        (key, look.classes.is_some()),
                        row,
                        cell,
                    )
                },
            )
            .inner;
        pixel = hovered.or(pixel);
    }
    panel.side.last_under = pixel.or(panel.side.last_under);
    panel.pixel = panel.side.pinned.or(pixel);
    canvas::want_probe(panel, cx);
    marks_ui(ui, panel, document, at, &rows, &cells);
}

/// Number of columns that makes the cells most square.
fn lay_out_cells(rect: Rect, count: usize) -> Vec<Rect> {
    let columns = (1..=count.max(1))
        .max_by_key(|&columns| {
            (
                measure_shorter_side(rect, count, columns),
                std::cmp::Reverse(columns),
            )
        })
        .unwrap_or(1);
    let lines = count.div_ceil(columns).max(1);
    let size = vec2(
        (rect.width() - GAP * (columns - 1) as f32) / columns as f32,
        (rect.height() - GAP * (lines - 1) as f32) / lines as f32,
    );
    (0..count)
        .map(|index| {
            let (column, line) = ((index % columns) as f32, (index / columns) as f32);
            Rect::from_min_size(
                rect.min + vec2(column * (size.x + GAP), line * (size.y + GAP)),
                size,
            )
        })
        .collect()
}

/// The shorter side of a cell when `count` pictures are in `columns` columns, in thousandths of a
/// point.
fn measure_shorter_side(rect: Rect, count: usize, columns: usize) -> i64 {
    let lines = count.div_ceil(columns);
    let size = vec2(rect.width() / columns as f32, rect.height() / lines as f32);
    (size.x.min(size.y) * 1000.0) as i64
}

/// The common view in a cell; `None` until its picture is ready.
fn transform_of(panel: &PreviewPanel, cell: Rect) -> Option<(Transform, f64, [f64; 2])> {
    let info = panel.info()?;
    let size = [info.width.max(1) as f64, info.height.max(1) as f64];
    let fit = canvas::fit_of(cell, size);
    let (middle, scale) = panel
        .view
        .place
        .unwrap_or(([size[0] / 2.0, size[1] / 2.0], fit));
    Some((
        Transform {
            screen: cell.center(),
            middle,
            scale,
        },
        fit,
        size,
    ))
}

/// Draws a sibling under the common view. Returns the pixel of the selected picture under the
/// pointer.
fn cell_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    (key, by_class): (DocumentKey, bool),
    row: RowRef,
    cell: Rect,
) -> Option<(usize, usize)> {
    let t = theme::tokens(ui);
    let id = document.id(row).unwrap_or_default();
    let response = ui.interact(cell, ui.scope_id().with("linked"), Sense::click_and_drag());
    response
        .widget_info(|| WidgetInfo::labeled(Role::Image, true, tr!("Linked picture of {id}", id)));
    let painter = ui.painter_at(cell);
    painter.rect_filled(cell, 0, t.input);
    let (mut transform, fit, size) = transform_of(panel, cell)?;
    if canvas::navigate(ui, panel, cx, &response, &mut transform, fit) {
        let view = &mut panel.view;
        transform.middle = [
            transform.middle[0].clamp(0.0, size[0]),
            transform.middle[1].clamp(0.0, size[1]),
        ];
        view.place = Some((transform.middle, transform.scale));
        view.moved_s = ui.input(|input| input.time);
    }
    if response.double_clicked() {
        cx.request(Request::Select(Some(row)));
    }
    let linked = &panel.linked;
    match linked.others.get(&row) {
        Some(PreviewSibling {
            picture: Some(picture),
            ..
        }) if picture.is_ready() => {
            // A sibling of another size shows the same ground: its pixels are scaled by the ratio
            // of sizes.
            let info = &picture.answer.1.info;
            let window = picture.answer.1.window;
            let (across, down) = (
                size[0] / info.width.max(1) as f64,
                size[1] / info.height.max(1) as f64,
            );
            let corner = |x: usize, y: usize| {
                transform.screen_from_pixel([x as f64 * across, y as f64 * down])
            };
            let place = Rect::from_two_pos(
                corner(window.x, window.y),
                corner(window.x + window.width, window.y + window.height),
            );
            let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            painter.image(picture.texture.id(), place, all, Color32::WHITE);
            if let Some(variable) = &info.variable {
                let line = Rect::from_min_max(
                    pos2(cell.left() + 8.0, cell.bottom() - 20.0),
                    cell.right_bottom(),
                );
                painter.rect_filled(line, 0, t.bg1.gamma_multiply(0.8));
                paint::text_left(
                    &painter,
                    line,
                    &variable.sentence(),
                    font::regular(11.0),
                    t.tx,
                );
            }
        }
        Some(sibling) => match sibling.asked.get(&beside_key(panel, cx, key, by_class)) {
            Some(Err(error)) => {
                let line = Rect::from_center_size(cell.center(), vec2(cell.width() - 16.0, 18.0));
                paint::text_center(&painter, line, error.summary(), font::regular(12.0), t.err);
            }
            _ => {
                let place = Rect::from_center_size(cell.center(), Vec2::splat(20.0));
                ui.scope_builder(UiBuilder::new().max_rect(place), |ui| {
                    widgets::spinner(ui, 20.0)
                });
            }
        },
        None => {}
    }
    paint::focus_ring(ui, &response, 0);
    let [x, y] = transform.pixel_from_screen(response.hover_pos()?);
    ((0.0..size[0]).contains(&x) && (0.0..size[1]).contains(&y)).then_some((x as usize, y as usize))
}

/// Draws the name of a picture, and the common position in it.
fn marks_ui(
    ui: &Ui,
    panel: &PreviewPanel,
    document: &Document,
    at: RowRef,
    rows: &[RowRef],
    cells: &[Rect],
) {
    let t = theme::tokens(ui);
    for (&row, &cell) in rows.iter().zip(cells) {
        let painter = ui.painter_at(cell);
        let galley = paint::layout_cut_line(
            &painter,
            document.id(row).unwrap_or_default(),
            font::mono(12.0),
            t.tx,
            cell.width() - 36.0,
        );
        let label = Rect::from_min_size(cell.min + vec2(8.0, 8.0), galley.size() + vec2(12.0, 6.0));
        painter.rect_filled(label, 4, t.bg1.gamma_multiply(0.9));
        painter.galley(
            label.min + vec2(6.0, 3.0),
            galley,
            if row == at { t.acc } else { t.tx },
        );
        if row == at {
            painter.rect_stroke(cell, 0, Stroke::new(1.0, t.accfill), StrokeKind::Inside);
        }
        let Some(((column, line), (transform, ..))) = panel.pixel.zip(transform_of(panel, cell))
        else {
            continue;
        };
        draw_cross(
            &painter,
            t,
            transform.screen_from_pixel([column as f64 + 0.5, line as f64 + 0.5]),
        );
    }
}

fn draw_cross(painter: &egui::Painter, t: &theme::ThemeTokens, at: Pos2) {
    for (width, color) in [(3.0, t.bg1), (1.0, Color32::WHITE)] {
        let stroke = Stroke::new(width, color);
        painter.rect_stroke(
            Rect::from_center_size(at, Vec2::splat(11.0)),
            0,
            stroke,
            StrokeKind::Middle,
        );
        for side in [
            vec2(1.0, 0.0),
            vec2(-1.0, 0.0),
            vec2(0.0, 1.0),
            vec2(0.0, -1.0),
        ] {
            painter.line_segment([at + side * 6.0, at + side * 13.0], stroke);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fill_the_panel_without_overlapping() {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), vec2(800.0, 600.0));
        for count in 1..=PICTURES_MAX {
            let cells = lay_out_cells(rect, count);
            assert_eq!(cells.len(), count);
            for (index, cell) in cells.iter().enumerate() {
                assert!(rect.expand(0.1).contains_rect(*cell), "{count}: {cell:?}");
                assert!(
                    cells[index + 1..]
                        .iter()
                        .all(|other| !cell.shrink(0.1).intersects(*other)),
                    "{count}"
                );
            }
        }
        let wide = lay_out_cells(Rect::from_min_size(Pos2::ZERO, vec2(900.0, 200.0)), 3);
        assert!(
            wide[2].left() > wide[1].right(),
            "three in a row where there is room"
        );
    }
}
