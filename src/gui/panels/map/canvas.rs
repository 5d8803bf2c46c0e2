//! The map canvas: land, graticule, footprints, filter box, selection; drag, zoom and hover.

use std::sync::Arc;

use egui::{
    CursorIcon, Mesh, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui,
    UiBuilder, Vec2, WidgetInfo, pos2, vec2,
};
use geo::{LineString, Simplify};

use super::state::{Drag, DragMode, MapPanel, PlacedMesh};
use crate::gui::action::Action;
use crate::gui::filters::{self, FilterKey};
use crate::gui::icons;
use crate::gui::map::{
    BaseMap, Ink, MapScene, MapView, SceneRequest, around_pole, base_of, bucket_of, lat_of, lon_of,
    scene_of, wrap_longitude, x_of, y_of,
};
use crate::gui::outline::ancestors;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, paint};
use crate::ops::OutlineKind;
use crate::query::Filter;
use crate::studio::{Document, RowRef};

/// Share of a scene's margin that may be used before a new scene is requested.
const SPENT: f64 = 0.2;
const REACH: f32 = 4.0;
/// Distance between corners of a polygon that is being drawn, in points.
const LASSO_STEP: f32 = 4.0;

/// Draws the map into `rect`.
pub fn ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let response = ui.interact(rect, ui.scope_id().with("map"), Sense::click_and_drag());
    let level = panel.level;
    response
        .widget_info(|| WidgetInfo::labeled(Role::Image, true, tr!("Map of level {level}", level)));
    let view = navigate(ui, panel, cx, &response, rect);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.mapsea);
    want_base(panel, cx, &view);
    if let Some(base) = panel.base.latest() {
        base_ui(&painter, t, base, &view, rect);
    }
    graticule_ui(&painter, t, &view, rect);
    want_scene(panel, cx, t, &view, rect.size());
    let scene = panel.scene.latest().cloned();
    if let Some(scene) = &scene {
        painter.add(Shape::Mesh(place_scene_mesh(
            &mut panel.placed,
            scene,
            &view,
            rect,
        )));
    }
    super::rasters::ui(ui, panel, cx, document, &painter, &view, rect);
    let selected = selected_ui(&painter, t, panel, cx, document, &view, rect);
    lasso_ui(ui, panel, cx, t, &view, rect, &response);
    box_ui(ui, panel, cx, t, &view, rect, &response);
    if panel.places().is_none() {
        let middle = Rect::from_center_size(rect.center(), Vec2::splat(24.0));
        ui.scope_builder(UiBuilder::new().max_rect(middle), |ui| {
            widgets::spinner(ui, 24.0)
        });
    }
    point(ui, panel, cx, document, &view, rect, &response);
    buttons_ui(ui, panel, rect);
    if let Some((at, place)) = selected {
        card_ui(ui, panel, cx, document, at, place, rect);
    }
    paint::focus_ring(ui, &response, 0);
}

/// Handles drag, wheel and keys; returns the view of this frame.
fn navigate(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    response: &Response,
    rect: Rect,
) -> MapView {
    let mut view = panel.view.unwrap_or_else(|| fit_view(panel, rect.size()));
    let known = panel.places().is_some();
    if response.clicked() || response.drag_started() {
        response.request_focus();
    }
    if response.dragged() && panel.drag.is_none() && panel.mode == DragMode::Pan {
        let delta = response.drag_delta();
        view.middle[0] -= f64::from(delta.x) / view.scale;
        view.middle[1] -= f64::from(delta.y) / view.scale;
    }
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input_mut(|input| {
            (
                std::mem::take(&mut input.smooth_scroll_delta.y),
                input.zoom_delta(),
            )
        });
        let factor = f64::from(wheel / 180.0).exp2() * f64::from(pinch);
        if (factor - 1.0).abs() > 1e-6 {
            zoom_about(&mut view, rect, pointer, factor);
        }
    }
    view.clamp(rect.size());
    // The view is fixed until the footprints are known.
    if known {
        panel.view = Some(view);
    }
    if response.has_focus() {
        // Otherwise Esc would only release the focus.
        let filter = egui::EventFilter {
            escape: true,
            ..Default::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        super::keys(ui, panel, cx);
    }
    view
}

fn fit_view(state: &MapPanel, size: Vec2) -> MapView {
    match state.places().and_then(|(_, projected)| projected.bounds) {
        Some(bounds) => MapView::for_rectangle(bounds, size),
        None => MapView::whole(size),
    }
}

fn zoom_about(view: &mut MapView, rect: Rect, pointer: Pos2, factor: f64) {
    let fixed = view.plane(rect, pointer);
    view.scale = (view.scale * factor).clamp(f64::from(rect.width()) * 0.6, MapView::NEAREST);
    let now = view.plane(rect, pointer);
    view.middle[0] += fixed[0] - now[0];
    view.middle[1] += fixed[1] - now[1];
}

fn want_base(panel: &mut MapPanel, cx: &mut PanelContext<'_>, view: &MapView) {
    let bucket = bucket_of(view.scale);
    let base = &mut panel.base;
    if !base.is_pending() {
        base.update(cx.jobs, bucket, tr!("Base map"), move |ctx| {
            base_of(bucket, ctx).map(Arc::new)
        });
    }
}

fn base_ui(painter: &Painter, t: &ThemeTokens, base: &BaseMap, view: &MapView, rect: Rect) {
    let [_, top, _, bottom] = view.visible_rectangle(rect.size());
    let mut land = Mesh::default();
    let mut coasts: Vec<Shape> = Vec::new();
    for piece in &base.pieces {
        let [left, up, right, down] = piece.bounds;
        if down < top || up > bottom {
            continue;
        }
        for turn in view.turns(rect.size(), left, right) {
            let origin = view.screen(rect, [left + turn, up]);
            let place = |at: &[f32; 2]| origin + vec2(at[0], at[1]) * view.scale as f32;
            let first = land.vertices.len() as u32;
            for at in &piece.vertices {
                land.colored_vertex(place(at), t.mapland);
            }
            land.indices
                .extend(piece.indices.iter().map(|index| first + index));
            for ring in &piece.rings {
                coast(
                    &mut coasts,
                    ring.iter().map(place),
                    rect,
                    Stroke::new(1.0, t.mapline),
                );
            }
        }
    }
    painter.add(Shape::mesh(land));
    painter.extend(coasts);
}

/// The visible segments of a coastline.
fn coast(shapes: &mut Vec<Shape>, points: impl Iterator<Item = Pos2>, rect: Rect, stroke: Stroke) {
    let near = rect.expand(4.0);
    let mut line: Vec<Pos2> = Vec::new();
    let mut last: Option<Pos2> = None;
    for at in points {
        let shows = last.is_some_and(|last| Rect::from_two_pos(last, at).intersects(near));
        match last.filter(|_| shows) {
            Some(last) if line.is_empty() => line.extend([last, at]),
            Some(_) => line.push(at),
            None if !line.is_empty() => shapes.push(Shape::line(std::mem::take(&mut line), stroke)),
            None => {}
        }
        last = Some(at);
    }
    if !line.is_empty() {
        shapes.push(Shape::line(line, stroke));
    }
}

/// Draws the graticule, with labels at the left and lower edge.
fn graticule_ui(painter: &Painter, t: &ThemeTokens, view: &MapView, rect: Rect) {
    let [left, top, right, bottom] = view.visible_rectangle(rect.size());
    let degrees = lon_of(right) - lon_of(left);
    let steps = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0,
    ];
    let step = steps
        .into_iter()
        .find(|step| degrees / step <= 8.0)
        .unwrap_or(45.0);
    let places = if step < 0.1 {
        2
    } else {
        usize::from(step < 1.0)
    };
    let stroke = Stroke::new(1.0, t.grid);
    let mut lon = (lon_of(left) / step).ceil() * step;
    while lon <= lon_of(right) {
        let x = view.screen(rect, [x_of(lon), 0.0]).x;
        painter.vline(x, rect.y_range(), stroke);
        let label = Rect::from_center_size(pos2(x, rect.bottom() - 9.0), vec2(64.0, 14.0));
        paint::text_center(
            painter,
            label,
            &format_degrees(
                wrap_longitude(lon),
                places,
                tr!("E" in "compass"),
                tr!("W" in "compass"),
            ),
            font::mono(10.0),
            t.tx3,
        );
        lon += step;
    }
    let (north, south) = (lat_of(top.max(0.0)), lat_of(bottom.min(1.0)));
    let mut lat = (south / step).ceil() * step;
    while lat <= north {
        let y = view.screen(rect, [0.0, y_of(lat)]).y;
        painter.hline(rect.x_range(), y, stroke);
        let label = Rect::from_min_size(pos2(rect.left() + 4.0, y - 14.0), vec2(64.0, 14.0));
        paint::text_left(
            painter,
            label,
            &format_degrees(lat, places, tr!("N" in "compass"), tr!("S" in "compass")),
            font::mono(10.0),
            t.tx3,
        );
        lat += step;
    }
}

fn format_degrees(value: f64, places: usize, positive: &str, negative: &str) -> String {
    let side = if value > 1e-9 {
        positive
    } else if value < -1e-9 {
        negative
    } else {
        ""
    };
    format!("{:.places$}°{side}", value.abs())
}

/// Requests a scene when the present one no longer covers the view; one job at a time.
fn want_scene(
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    t: &ThemeTokens,
    view: &MapView,
    size: Vec2,
) {
    let Some((footprints, projected)) = panel.places().cloned() else {
        return;
    };
    let kept = cx.studio.filtered_rows().cloned();
    let classes = panel.classes().cloned();
    let density = panel.is_density();
    let of = (
        ValueId::from_arc(&footprints),
        kept.as_ref().map(ValueId::from_arc),
        classes.as_ref().map(ValueId::from_arc),
        (density, t.dark),
    );
    let sizes = [size.x as u32, size.y as u32];
    let made = panel
        .scene_key
        .as_ref()
        .filter(|made| made.0 == of && made.2 == sizes);
    let fits = made
        .and(panel.scene.latest())
        .and_then(|scene| scene.view)
        .is_some_and(|made| {
            let apart = view.middle[0] - made.middle[0];
            let across = (apart - apart.round()).abs() * view.scale;
            let down = (view.middle[1] - made.middle[1]).abs() * view.scale;
            (view.scale / made.scale - 1.0).abs() < 1e-3
                && across < SPENT * f64::from(size.x)
                && down < SPENT * f64::from(size.y)
        });
    if fits || panel.scene.is_pending() {
        return;
    }
    let key = (
        of,
        [
            view.middle[0].to_bits(),
            view.middle[1].to_bits(),
            view.scale.to_bits(),
        ],
        sizes,
    );
    let colours = classes.as_ref().map(|classes| {
        (0..classes.legend.len() as u8)
            .map(|class| classes.legend.colour(class, t))
            .collect()
    });
    let ink = Ink {
        classes: colours.unwrap_or_else(|| vec![t.accfill]),
        other: t.ctl,
        hidden: t.ctl.gamma_multiply(0.7),
    };
    let request = SceneRequest {
        footprints,
        projected,
        kept,
        classes,
        density,
        view: *view,
        size,
        ink,
    };
    panel.scene_key = Some(key.clone());
    panel
        .scene
        .update(cx.jobs, key, tr!("Footprints"), move |ctx| {
            scene_of(&request, ctx).map(Arc::new)
        });
}

/// Screen position of a scene's centre, and the scale from its own view to `view`.
fn anchor(scene: &MapScene, view: &MapView, rect: Rect) -> Option<(Pos2, f32)> {
    let made = scene.view?;
    let apart = made.middle[0] - view.middle[0];
    let near = [view.middle[0] + apart - apart.round(), made.middle[1]];
    Some((view.screen(rect, near), (view.scale / made.scale) as f32))
}

/// The scene's mesh in screen coordinates. Reuses the buffers of the last frame: a million
/// footprints take megabytes.
fn place_scene_mesh(
    kept: &mut Option<PlacedMesh>,
    scene: &Arc<MapScene>,
    view: &MapView,
    rect: Rect,
) -> Arc<Mesh> {
    let id = ValueId::from_arc(scene);
    let (origin, factor) = anchor(scene, view, rect).unwrap_or((rect.center(), 1.0));
    let mut mesh = match kept.take() {
        Some((of, at, by, mesh)) if of == id => {
            if (at, by) == (origin, factor) {
                *kept = Some((of, at, by, mesh.clone()));
                return mesh;
            }
            mesh
        }
        _ => Arc::new(scene.mesh.clone()),
    };
    for (vertex, made) in Arc::make_mut(&mut mesh)
        .vertices
        .iter_mut()
        .zip(&scene.mesh.vertices)
    {
        vertex.pos = origin + made.pos.to_vec2() * factor;
    }
    *kept = Some((id, origin, factor, mesh.clone()));
    mesh
}

/// The row of the map's level that contains the selection.
fn row_of(panel: &MapPanel, cx: &PanelContext<'_>, document: &Document) -> Option<RowRef> {
    let level = panel.level;
    let at = cx.session.selection.sample?;
    if at.level == level {
        return Some(at);
    }
    ancestors(document.tree(), at)
        .into_iter()
        .find(|above| above.level == level)
}

/// True when the filter keeps this sample.
fn is_left(cx: &PanelContext<'_>, at: RowRef) -> bool {
    cx.studio
        .filtered_rows()
        .is_none_or(|kept| kept.contains(at))
}

fn selected_ui(
    painter: &Painter,
    t: &ThemeTokens,
    panel: &MapPanel,
    cx: &PanelContext<'_>,
    document: &Document,
    view: &MapView,
    rect: Rect,
) -> Option<(RowRef, Pos2)> {
    let at = row_of(panel, cx, document)?;
    let (footprints, projected) = panel.places()?;
    let middle = projected
        .middles
        .get(at.row as usize)
        .filter(|middle| !middle[0].is_nan())?;
    let apart = f64::from(middle[0]) - view.middle[0];
    let turn = -apart.round();
    let place = view.screen(rect, [f64::from(middle[0]) + turn, f64::from(middle[1])]);
    let on_screen = |&[lon, lat]: &[f32; 2], turn: f64| {
        view.screen(rect, [x_of(f64::from(lon)) + turn, y_of(f64::from(lat))])
    };
    let all: Vec<Pos2> = footprints
        .points_of_row(at.row)
        .iter()
        .map(|at| on_screen(at, turn))
        .collect();
    let bounds = Rect::from_points(&all);
    let (left, right) = (
        view.plane(rect, bounds.left_top())[0] - turn,
        view.plane(rect, bounds.right_bottom())[0] - turn,
    );
    // The selected sample is shown even if it does not match the filter, in another colour.
    let fill = if is_left(cx, at) { t.accfill } else { t.bg1 };
    let line = if is_left(cx, at) { t.accfill } else { t.ctl };
    if bounds.width().max(bounds.height()) > 10.0 {
        let turns: Vec<f64> = view.turns(rect.size(), left, right).collect();
        for stroke in [Stroke::new(4.0, t.bg1), Stroke::new(2.0, line)] {
            for ((kind, points), &turn) in footprints
                .parts(at.row)
                .flat_map(|part| turns.iter().map(move |turn| (part, turn)))
            {
                let around = around_pole(points).filter(|_| kind == OutlineKind::Ring);
                let points: Vec<Pos2> = around
                    .as_deref()
                    .unwrap_or(points)
                    .iter()
                    .map(|at| on_screen(at, turn))
                    .collect();
                painter.add(match kind {
                    _ if around.is_some() => Shape::line(points, stroke),
                    OutlineKind::Ring | OutlineKind::Hole => Shape::closed_line(points, stroke),
                    OutlineKind::Line => Shape::line(points, stroke),
                    OutlineKind::Point => Shape::circle_filled(
                        points.first().copied().unwrap_or(place),
                        1.0 + stroke.width,
                        stroke.color,
                    ),
                });
            }
        }
    } else {
        let mark = Rect::from_center_size(place, Vec2::splat(11.0));
        painter.rect(mark, 0, fill, Stroke::new(2.0, t.tx), StrokeKind::Outside);
    }
    rect.contains(place).then_some((at, place))
}

/// The filter box in plane coordinates: left, top, right, bottom; right exceeds 1 when the box
/// crosses the antimeridian.
fn filter_box(cx: &PanelContext<'_>) -> Option<[f64; 4]> {
    let [west, south, east, north] = cx.studio.filters().iter().find_map(|filter| filter.bbox)?;
    let east = if west > east { east + 360.0 } else { east };
    Some([x_of(west), y_of(north), x_of(east), y_of(south)])
}

/// A box in plane coordinates as a filter in degrees. A box wider than the plane covers all
/// longitudes.
pub fn bbox_of([left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
    let round = |degrees: f64| (degrees * 1e4).round() / 1e4;
    let (west, east) = if right - left >= 1.0 {
        (-180.0, 180.0)
    } else {
        (wrap_longitude(lon_of(left)), wrap_longitude(lon_of(right)))
    };
    [
        round(west),
        round(lat_of(bottom)),
        round(east),
        round(lat_of(top)),
    ]
}

/// Draws the polygon of the filter, and the one that is being drawn.
fn lasso_ui(
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
    Some(corners.iter().map(|&[x, y]| [x_of(x), y_of(y)]).collect())
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
        .map(|at| [round(lon_of(at.x - turn)), round(lat_of(at.y))])
        .collect()
}

fn box_ui(
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
            lon_of(bounds[2]) - lon_of(bounds[0]),
            lat_of(bounds[1]) - lat_of(bounds[3]),
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

/// Handles hover and click on footprints.
fn point(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    view: &MapView,
    rect: Rect,
    response: &Response,
) {
    let pointer = response.hover_pos().filter(|_| panel.drag.is_none());
    let Some((pointer, scene)) = pointer.zip(panel.scene.latest()) else {
        return;
    };
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    let [x, y] = view.plane(rect, pointer);
    let (lon, lat) = (wrap_longitude(lon_of(x)), lat_of(y));
    let across = if lon < 0.0 {
        tr!("W" in "compass")
    } else {
        tr!("E" in "compass")
    };
    let sides = (
        across,
        if lat < 0.0 {
            tr!("S" in "compass")
        } else {
            tr!("N" in "compass")
        },
    );
    let text = format!("{:.3}°{} {:.3}°{}", lon.abs(), sides.0, lat.abs(), sides.1);
    let label = Rect::from_min_size(
        rect.left_top() + vec2(8.0, 8.0),
        vec2(text.chars().count() as f32 * 6.7 + 14.0, 20.0),
    );
    painter.rect(
        label,
        3,
        t.bg1.gamma_multiply(0.9),
        Stroke::new(1.0, t.line2),
        StrokeKind::Inside,
    );
    paint::text_center(&painter, label, &text, font::mono(11.0), t.tx2);
    let Some((origin, factor)) = anchor(scene, view, rect) else {
        return;
    };
    let Some(spot) = scene
        .spot_at(((pointer - origin) / factor).to_pos2(), REACH / factor)
        .copied()
    else {
        return;
    };
    let at = super::sample_of(panel, spot.row);
    let shown = Rect::from_min_max(
        origin + spot.rect.min.to_vec2() * factor,
        origin + spot.rect.max.to_vec2() * factor,
    );
    painter.rect_stroke(
        shown.expand(2.0),
        0,
        Stroke::new(1.5, t.tx),
        StrokeKind::Outside,
    );
    if response.clicked() {
        cx.request(Request::Select(Some(at)));
    }
    if response.double_clicked() {
        cx.request(Request::Do(Action::ShowPreview));
    }
    let (id, words) = super::line_of(document, panel, at);
    let more = if spot.count > 1 {
        let others = u64::from(spot.count) - 1;
        tr_n!(
            others,
            "and {n} more here; zoom in",
            "and {n} more here; zoom in",
            n = paint::format_grouped_number(others)
        )
    } else {
        String::new()
    };
    let lines: Vec<&str> = [words.as_str(), more.as_str()]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    let width = (id.chars().count().max(
        lines
            .iter()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0),
    ) as f32
        * 7.0
        + 20.0)
        .min(280.0);
    let tip = Rect::from_min_size(
        pointer + vec2(14.0, 14.0),
        vec2(width, 22.0 + 16.0 * lines.len() as f32),
    );
    let tip = tip.translate(vec2(
        (rect.right() - 4.0 - tip.right()).min(0.0),
        (rect.bottom() - 4.0 - tip.bottom()).min(0.0),
    ));
    painter.rect(tip, 4, t.bg2, Stroke::new(1.0, t.line2), StrokeKind::Inside);
    let mut line = Rect::from_min_size(tip.min + vec2(8.0, 3.0), vec2(width - 16.0, 16.0));
    paint::text_left(&painter, line, &id, font::mono_semibold(12.0), t.tx);
    for text in lines {
        line = line.translate(vec2(0.0, 16.0));
        paint::text_left(&painter, line, text, font::regular(11.0), t.tx2);
    }
}

fn buttons_ui(ui: &mut Ui, panel: &mut MapPanel, rect: Rect) {
    let t = theme::tokens(ui);
    let place = Rect::from_min_size(
        pos2(rect.right() - 36.0, rect.top() + 8.0),
        vec2(28.0, 54.0),
    );
    ui.painter().rect(
        place,
        4,
        t.bg1,
        Stroke::new(1.0, t.line2),
        StrokeKind::Inside,
    );
    ui.scope_builder(UiBuilder::new().max_rect(place.shrink(2.0)), |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        let mut factor = 1.0;
        if ui
            .add(Button::icon_only(icons::PLUS, tr!("Zoom the map in")))
            .clicked()
        {
            factor = 2.0;
        }
        if ui
            .add(Button::icon_only(icons::MINUS, tr!("Zoom the map out")))
            .clicked()
        {
            factor = 0.5;
        }
        if factor != 1.0
            && let Some(view) = &mut panel.view
        {
            zoom_about(view, rect, rect.center(), factor);
        }
    });
}

/// Draws the card beside the selected sample.
fn card_ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    place: Pos2,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let size = vec2(206.0, 62.0);
    if rect.width() < 2.0 * size.x || rect.height() < size.y + 16.0 {
        return;
    }
    let mut card = Rect::from_min_size(place + vec2(16.0, 16.0), size);
    // The zoom buttons are at the right.
    if card.right() > rect.right() - 44.0 {
        card = card.translate(vec2(-size.x - 32.0, 0.0));
    }
    if card.bottom() > rect.bottom() - 8.0 {
        card = card.translate(vec2(0.0, -size.y - 32.0));
    }
    // In a low map there may be no room above either: the card is beside the sample then.
    card = card.translate(vec2(0.0, (rect.top() + 8.0 - card.top()).max(0.0)));
    ui.painter().rect(
        card,
        6,
        t.bg2,
        Stroke::new(1.0, t.line2),
        StrokeKind::Inside,
    );
    let (id, words) = super::line_of(document, panel, at);
    ui.scope_builder(
        UiBuilder::new().max_rect(card.shrink2(vec2(10.0, 6.0))),
        |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.add(
                egui::Label::new(
                    theme::rich_text(id)
                        .font(font::mono_semibold(12.0))
                        .color(t.tx),
                )
                .truncate(),
            );
            let words = match words {
                _ if !is_left(cx, at) => tr!("filtered out" in "sample on the map").to_owned(),
                words if words.is_empty() => " ".to_owned(),
                words => words,
            };
            ui.add(egui::Label::new(super::small(&words, t.tx2)).truncate());
            if widgets::link(ui, tr!("Open in Preview")).clicked() {
                cx.request(Request::Do(Action::ShowPreview));
            }
        },
    );
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
            [x_of(170.0), y_of(10.0)],
            [x_of(190.0), y_of(10.0)],
            [x_of(180.0), y_of(-5.0)],
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
    fn only_the_coast_that_shows_is_drawn() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0));
        let coast_of = |points: &[(f32, f32)]| {
            let mut shapes = Vec::new();
            coast(
                &mut shapes,
                points.iter().map(|&(x, y)| pos2(x, y)),
                rect,
                Stroke::NONE,
            );
            let points = |shape: &Shape| {
                if let Shape::Path(path) = shape {
                    path.points.len()
                } else {
                    0
                }
            };
            shapes.iter().map(points).collect::<Vec<_>>()
        };
        assert_eq!(
            coast_of(&[
                (10.0, 10.0),
                (20.0, 20.0),
                (500.0, 20.0),
                (500.0, 500.0),
                (50.0, 50.0),
                (60.0, 60.0)
            ]),
            [3, 3]
        );
        assert_eq!(
            coast_of(&[(-500.0, 50.0), (500.0, 50.0)]),
            [2],
            "one that crosses from end to end"
        );
        assert!(coast_of(&[(500.0, 0.0), (500.0, 500.0), (0.0, 500.0)]).is_empty());
    }

    #[test]
    fn boxes_cross_the_antimeridian() {
        let [west, south, east, north] =
            bbox_of([x_of(170.0), y_of(10.0), x_of(190.0), y_of(-10.0)]);
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
