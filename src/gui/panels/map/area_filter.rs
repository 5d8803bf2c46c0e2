//! The area that samples are filtered by: a box with handles, or a polygon drawn with a lasso.

use egui::{CursorIcon, Pos2, Rect, Response, Shape, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};
use geo::{LineString, Simplify};

use super::state::{Drag, DragMode, MapPanel};
use crate::gui::filters::{self, FilterKey};
use crate::gui::map::{MapView, latitude_at, longitude_at, plane_x, plane_y, wrap_longitude};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{ThemeTokens, font};
use crate::gui::widgets::paint;
use crate::query::Filter;

/// Distance between corners of a polygon that is being drawn, in points.
const LASSO_STEP: f32 = 4.0;

/// The filter box in plane coordinates: left, top, right, bottom; right exceeds 1 when the box
/// crosses the antimeridian.
fn filter_box(cx: &PanelContext<'_>) -> Option<[f64; 4]> {
    let [west, south, east, north] = cx.studio.filters().iter().find_map(|filter| filter.bbox)?;
    let east = if west > east { east + 360.0 } else { east };
    Some([plane_x(west), plane_y(north), plane_x(east), plane_y(south)])
}

/// A box in plane coordinates as a filter in degrees. A box wider than the plane covers all
/// longitudes.
fn bbox_of([left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
    let round = |degrees: f64| (degrees * 1e4).round() / 1e4;
    let (west, east) = if right - left >= 1.0 {
        (-180.0, 180.0)
    } else {
        (
            wrap_longitude(longitude_at(left)),
            wrap_longitude(longitude_at(right)),
        )
    };
    [
        round(west),
        round(latitude_at(bottom)),
        round(east),
        round(latitude_at(top)),
    ]
}

/// Draws the polygon of the filter, and the one that is being drawn.
pub(super) fn lasso_ui(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    t: &ThemeTokens,
    view: &MapView,
    rect: Rect,
    response: &Response,
) {
    if panel.mode == DragMode::Lasso {
        if response.hovered() {
            ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
        }
        follow_lasso(ui, panel, cx, view, rect, response);
    }
    let drawn = panel.lasso.clone();
    let Some(corners) = Some(drawn)
        .filter(|drawn| !drawn.is_empty())
        .or_else(|| find_filter_polygon(cx.studio.filters()))
    else {
        return;
    };
    let [left, right] = corners
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |ends, at| {
            [ends[0].min(at[0]), ends[1].max(at[0])]
        });
    let painter = ui.painter_at(rect);
    for turn in view.turns(rect.size(), left, right) {
        let points = corners
            .iter()
            .map(|at| view.screen(rect, [at[0] + turn, at[1]]));
        painter.add(Shape::closed_line(
            points.collect(),
            Stroke::new(1.5, t.accfill),
        ));
    }
}

/// The corners of the first polygon among the filters, in plane coordinates.
fn find_filter_polygon(filters: &[Filter]) -> Option<Vec<[f64; 2]>> {
    let corners = filters
        .iter()
        .filter_map(|filter| filter.polygon.as_ref())
        .next()?;
    Some(
        corners
            .iter()
            .map(|&[x, y]| [plane_x(x), plane_y(y)])
            .collect(),
    )
}

/// Adds the pointer to the polygon that is being drawn; the end of the drag makes it the filter.
fn follow_lasso(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    view: &MapView,
    rect: Rect,
    response: &Response,
) {
    if response.drag_started()
        && let Some(start) = ui.input(|input| input.pointer.press_origin())
    {
        panel.lasso = vec![view.plane(rect, start)];
    }
    let last = panel.lasso.last().copied();
    if let (Some(at), Some(last)) = (response.interact_pointer_pos(), last)
        && view.screen(rect, last).distance(at) >= LASSO_STEP
    {
        panel.lasso.push(view.plane(rect, at));
    }
    if !response.drag_stopped() {
        return;
    }
    let drawn = std::mem::take(&mut panel.lasso);
    let tolerance = f64::from(LASSO_STEP) / 2.0 / view.scale;
    let corners = polygon_of(&drawn, tolerance);
    if corners.len() >= 3 {
        let level = panel.level;
        let filter = Filter {
            geometry_column: panel.source.clone(),
            ..Filter::polygon(corners)
        };
        filters::set(cx, FilterKey::Area, Some(filter.at_level(level)));
        panel.mode = DragMode::Pan;
    }
}

/// The corners of a drawn line in degrees, without those that bend it by less than the tolerance
/// (plane coordinates).
fn polygon_of(drawn: &[[f64; 2]], tolerance: f64) -> Vec<[f64; 2]> {
    let line: LineString = drawn.iter().map(|at| (at[0], at[1])).collect();
    let plain = line.simplify(tolerance);
    // The west end is within ±180 degrees; the rest is continuous.
    let west = plain.coords().map(|at| at.x).fold(f64::INFINITY, f64::min);
    let turn = west.floor();
    let round = |degrees: f64| (degrees * 1e4).round() / 1e4;
    plain
        .coords()
        .map(|at| [round(longitude_at(at.x - turn)), round(latitude_at(at.y))])
        .collect()
}

pub(super) fn box_ui(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    t: &ThemeTokens,
    view: &MapView,
    rect: Rect,
    response: &Response,
) {
    let pointer = response
        .interact_pointer_pos()
        .map(|at| view.plane(rect, at));
    let is_lasso = panel.mode == DragMode::Lasso;
    // A drag starts a box in draw mode, or while Shift is held.
    let is_filtered = cx
        .document()
        .is_some_and(|document| document.opened_dataset().is_some());
    let draws =
        is_filtered && (panel.mode == DragMode::Draw || ui.input(|input| input.modifiers.shift));
    let near = filter_box(cx).filter(|_| !is_lasso).and_then(|bounds| {
        let at = response.hover_pos().or(response.interact_pointer_pos())?;
        edges_at(view, rect, bounds, at).map(|edges| (edges, bounds))
    });
    if response.drag_started()
        && !is_lasso
        && let Some(start) = ui.input(|input| input.pointer.press_origin())
    {
        let grabbed = filter_box(cx)
            .and_then(|bounds| edges_at(view, rect, bounds, start).map(|edges| (edges, bounds)));
        panel.drag = match grabbed {
            Some((edges, bounds)) => Some(Drag::Edge(edges, bounds)),
            None if draws => Some(Drag::Draw(view.plane(rect, start))),
            None => None,
        };
    }
    if let Some((edges, _)) = near {
        let icon = match edges {
            [true, true, ..] | [_, _, true, true] => CursorIcon::ResizeNwSe,
            [_, true, true, _] | [true, _, _, true] => CursorIcon::ResizeNeSw,
            [true, ..] | [_, _, true, _] => CursorIcon::ResizeHorizontal,
            _ => CursorIcon::ResizeVertical,
        };
        ui.ctx().set_cursor_icon(icon);
    } else if draws && response.hovered() {
        ui.ctx().set_cursor_icon(CursorIcon::Crosshair);
    }
    let drawn = panel.drag.zip(pointer).map(|(drag, at)| match drag {
        Drag::Draw(from) => [
            from[0].min(at[0]),
            from[1].min(at[1]),
            from[0].max(at[0]),
            from[1].max(at[1]),
        ],
        Drag::Edge(edges, b) => {
            let turn = (at[0] - (b[0] + b[2]) / 2.0).round();
            let at = [at[0] - turn, at[1]];
            let moved: [f64; 4] =
                std::array::from_fn(|side| if edges[side] { at[side % 2] } else { b[side] });
            [
                moved[0].min(moved[2]),
                moved[1].min(moved[3]),
                moved[0].max(moved[2]),
                moved[1].max(moved[3]),
            ]
        }
    });
    if response.drag_stopped() && panel.drag.take().is_some() {
        if let Some(drawn) = drawn {
            let level = panel.level;
            // The drawn geometries are those that the box is compared with.
            let geometry_column = panel.source.clone();
            let filter = Filter {
                geometry_column,
                ..Filter::bbox(bbox_of(drawn))
            };
            filters::set(cx, FilterKey::Area, Some(filter.at_level(level)));
            panel.mode = DragMode::Pan;
        }
        return;
    }
    let Some(bounds) = drawn.or_else(|| filter_box(cx)) else {
        return;
    };
    let painter = ui.painter_at(rect);
    for turn in view.turns(rect.size(), bounds[0], bounds[2]) {
        let shown = on_screen(view, rect, bounds, turn);
        painter.rect_filled(shown, 0, t.accfill.gamma_multiply(0.06));
        painter.rect_stroke(shown, 0, Stroke::new(1.5, t.accfill), StrokeKind::Middle);
        for handle in handles(shown) {
            let square = Rect::from_center_size(handle, Vec2::splat(8.0));
            painter.rect(
                square,
                0,
                t.bg1,
                Stroke::new(1.5, t.accfill),
                StrokeKind::Inside,
            );
        }
        let degrees = [
            longitude_at(bounds[2]) - longitude_at(bounds[0]),
            latitude_at(bounds[1]) - latitude_at(bounds[3]),
        ];
        let text = format!("{:.1}° × {:.1}°", degrees[0], degrees[1]);
        let label = Rect::from_min_size(
            pos2(shown.left() + 8.0, shown.bottom() - 26.0),
            vec2(text.chars().count() as f32 * 7.0 + 14.0, 20.0),
        );
        if label.width() < shown.width() && shown.height() > 40.0 {
            painter.rect(
                label,
                3,
                t.bg1,
                Stroke::new(1.0, t.accline),
                StrokeKind::Inside,
            );
            paint::text_center(&painter, label, &text, font::mono(11.0), t.acc);
        }
    }
}

fn on_screen(view: &MapView, rect: Rect, b: [f64; 4], turn: f64) -> Rect {
    Rect::from_min_max(
        view.screen(rect, [b[0] + turn, b[1]]),
        view.screen(rect, [b[2] + turn, b[3]]),
    )
}

fn handles(r: Rect) -> [Pos2; 8] {
    [
        r.left_top(),
        r.center_top(),
        r.right_top(),
        r.right_center(),
        r.right_bottom(),
        r.center_bottom(),
        r.left_bottom(),
        r.left_center(),
    ]
}

/// The edges of the box that a drag starting at `at` moves.
fn edges_at(view: &MapView, rect: Rect, bounds: [f64; 4], at: Pos2) -> Option<[bool; 4]> {
    const SIDES: [[bool; 4]; 8] = [
        [true, true, false, false],
        [false, true, false, false],
        [false, true, true, false],
        [false, false, true, false],
        [false, false, true, true],
        [false, false, false, true],
        [true, false, false, true],
        [true, false, false, false],
    ];
    view.turns(rect.size(), bounds[0], bounds[2])
        .find_map(|turn| {
            let places = handles(on_screen(view, rect, bounds, turn));
            places
                .iter()
                .position(|place| place.distance(at) < 8.0)
                .map(|index| SIDES[index])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_line_becomes_a_polygon_in_degrees() {
        let side = |from: [f64; 2], to: [f64; 2]| {
            (0..10).map(move |n| {
                let part = f64::from(n) / 10.0;
                [
                    from[0] + (to[0] - from[0]) * part,
                    from[1] + (to[1] - from[1]) * part,
                ]
            })
        };
        let corners = [
            [plane_x(170.0), plane_y(10.0)],
            [plane_x(190.0), plane_y(10.0)],
            [plane_x(180.0), plane_y(-5.0)],
        ];
        let drawn: Vec<[f64; 2]> = side(corners[0], corners[1])
            .chain(side(corners[1], corners[2]))
            .chain([corners[2]])
            .collect();
        let found = polygon_of(&drawn, 1e-6);
        assert_eq!(found, [[170.0, 10.0], [190.0, 10.0], [180.0, -5.0]]);
        let west: Vec<[f64; 2]> = drawn.iter().map(|at| [at[0] - 1.0, at[1]]).collect();
        assert_eq!(polygon_of(&west, 1e-6)[1], [190.0, 10.0]);
        assert!(polygon_of(&drawn[..1], 1e-6).len() < 3);
    }

    #[test]
    fn boxes_cross_the_antimeridian() {
        let [west, south, east, north] = bbox_of([
            plane_x(170.0),
            plane_y(10.0),
            plane_x(190.0),
            plane_y(-10.0),
        ]);
        assert_eq!((west, east), (170.0, -170.0));
        assert!((south + 10.0).abs() < 1e-3 && (north - 10.0).abs() < 1e-3);
        assert_eq!(bbox_of([0.2, 0.3, 1.4, 0.6])[0], -180.0);
    }

    #[test]
    fn corners_move_two_edges() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(800.0, 600.0));
        let view = MapView {
            middle: [0.5, 0.5],
            scale: 1000.0,
        };
        let bounds = [0.4, 0.4, 0.6, 0.6];
        assert_eq!(
            edges_at(&view, rect, bounds, pos2(301.0, 199.0)),
            Some([true, true, false, false])
        );
        assert_eq!(
            edges_at(&view, rect, bounds, pos2(500.0, 300.0)),
            Some([false, false, true, false])
        );
        assert_eq!(edges_at(&view, rect, bounds, pos2(400.0, 300.0)), None);
    }
}
