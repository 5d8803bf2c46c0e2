//! The map canvas: land, graticule, footprints, filter box, selection; drag, zoom and hover.

use std::sync::Arc;

use egui::{
    Mesh, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui, UiBuilder,
    Vec2, WidgetInfo, pos2, vec2,
};

use super::area_filter::{box_ui, lasso_ui};
use super::base_map_layer::{base_ui, graticule_ui};
use super::state::{DragMode, LevelFootprints, MapPanel, SceneContents, SceneKey, ScreenMesh};
use crate::gui::action::Action;
use crate::gui::icons;
use crate::gui::map::{
    MapScene, MapView, SceneColours, SceneRequest, build_base_map, build_scene, edge_around_pole,
    latitude_at, longitude_at, plane_x, plane_y, scale_step, wrap_longitude,
};
use crate::gui::outline::ancestors;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, paint};
use crate::ops::OutlineKind;
use crate::studio::{Document, RowRef};

/// Share of the map's size by which the view may move from that of a scene before a new scene is
/// requested.
const USABLE_MARGIN: f64 = 0.2;
/// Distance from the pointer within which a footprint is found, in points.
const HOVER_REACH: f32 = 4.0;

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
    request_base_map(panel, cx, &view);
    if let Some(base) = panel.base.latest() {
        base_ui(&painter, t, base, &view, rect);
    }
    graticule_ui(&painter, t, &view, rect);
    request_scene(panel, cx, t, &view, rect.size());
    let scene = panel.scene.latest().cloned();
    if let Some(scene) = &scene {
        painter.add(Shape::Mesh(place_scene_mesh(
            &mut panel.drawn_mesh,
            scene,
            &view,
            rect,
        )));
    }
    super::rasters::ui(ui, panel, cx, document, &painter, &view, rect);
    let selected = selected_ui(&painter, t, panel, cx, document, &view, rect);
    lasso_ui(ui, panel, cx, t, &view, rect, &response);
    box_ui(ui, panel, cx, t, &view, rect, &response);
    if panel.footprints().is_none() {
        let middle = Rect::from_center_size(rect.center(), Vec2::splat(24.0));
        ui.scope_builder(UiBuilder::new().max_rect(middle), |ui| {
            widgets::spinner(ui, 24.0)
        });
    }
    hover_ui(ui, panel, cx, document, &view, rect, &response);
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
    let has_footprints = panel.footprints().is_some();
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
    // Without footprints the view is not kept, so that it fits them once they are known.
    if has_footprints {
        panel.view = Some(view);
    }
    if response.has_focus() {
        // Otherwise Esc would only release the focus.
        let filter = egui::EventFilter {
            escape: true,
            ..Default::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        super::handle_keys(ui, panel, cx);
    }
    view
}

fn fit_view(state: &MapPanel, size: Vec2) -> MapView {
    let footprints = state.footprints();
    match footprints.and_then(|footprints| footprints.projected.bounds) {
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

fn request_base_map(panel: &mut MapPanel, cx: &mut PanelContext<'_>, view: &MapView) {
    let step = scale_step(view.scale);
    let base = &mut panel.base;
    if !base.is_pending() {
        base.update(cx.jobs, step, tr!("Base map"), move |ctx| {
            build_base_map(step, ctx).map(Arc::new)
        });
    }
}

/// Requests a scene when the present one no longer covers the view; one job at a time.
fn request_scene(
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    t: &ThemeTokens,
    view: &MapView,
    size: Vec2,
) {
    let Some(LevelFootprints {
        geographic,
        projected,
    }) = panel.footprints().cloned()
    else {
        return;
    };
    let kept = cx.studio.filtered_rows().cloned();
    let classes = panel.classes().cloned();
    let density = panel.is_density();
    let contents = SceneContents {
        footprints: ValueId::from_arc(&geographic),
        kept_rows: kept.as_ref().map(ValueId::from_arc),
        classes: classes.as_ref().map(ValueId::from_arc),
        is_density: density,
        is_dark_theme: t.dark,
    };
    let key_size = [size.x as u32, size.y as u32];
    let newest_key = panel
        .scene_key
        .as_ref()
        .filter(|key| key.contents == contents && key.size == key_size);
    let fits = newest_key
        .and(panel.scene.latest())
        .and_then(|scene| scene.view)
        .is_some_and(|scene_view| covers_view(&scene_view, view, size));
    if fits || panel.scene.is_pending() {
        return;
    }
    let key = SceneKey {
        contents,
        view_bits: [
            view.middle[0].to_bits(),
            view.middle[1].to_bits(),
            view.scale.to_bits(),
        ],
        size: key_size,
    };
    let class_colours = classes.as_ref().map(|classes| {
        (0..classes.legend.len() as u8)
            .map(|class| classes.legend.colour(class, t))
            .collect()
    });
    let colours = SceneColours {
        classes: class_colours.unwrap_or_else(|| vec![t.accfill]),
        other: t.ctl,
        hidden: t.ctl.gamma_multiply(0.7),
    };
    let request = SceneRequest {
        footprints: geographic,
        projected,
        kept,
        classes,
        density,
        view: *view,
        size,
        colours,
    };
    panel.scene_key = Some(key.clone());
    panel
        .scene
        .update(cx.jobs, key, tr!("Footprints"), move |ctx| {
            build_scene(&request, ctx).map(Arc::new)
        });
}

/// True when a scene that was built for `scene_view` covers `view`.
fn covers_view(scene_view: &MapView, view: &MapView, size: Vec2) -> bool {
    let turns = view.middle[0] - scene_view.middle[0];
    // Plane coordinates repeat with each turn around the Earth, which is 1.
    let moved_x = (turns - turns.round()).abs() * view.scale;
    let moved_y = (view.middle[1] - scene_view.middle[1]).abs() * view.scale;
    (view.scale / scene_view.scale - 1.0).abs() < 1e-3
        && moved_x < USABLE_MARGIN * f64::from(size.x)
        && moved_y < USABLE_MARGIN * f64::from(size.y)
}

/// Screen position of a scene's centre, and the factor from the scale of the scene to that of
/// `view`.
fn locate_scene(scene: &MapScene, view: &MapView, rect: Rect) -> Option<(Pos2, f32)> {
    let scene_view = scene.view?;
    let turns = scene_view.middle[0] - view.middle[0];
    let nearest = [view.middle[0] + turns - turns.round(), scene_view.middle[1]];
    Some((
        view.screen(rect, nearest),
        (view.scale / scene_view.scale) as f32,
    ))
}

/// The scene's mesh in screen coordinates. Reuses the buffers of the last frame: a million
/// footprints take megabytes.
fn place_scene_mesh(
    last: &mut Option<ScreenMesh>,
    scene: &Arc<MapScene>,
    view: &MapView,
    rect: Rect,
) -> Arc<Mesh> {
    let id = ValueId::from_arc(scene);
    let (origin, factor) = locate_scene(scene, view, rect).unwrap_or((rect.center(), 1.0));
    let mut mesh = match last.take() {
        Some(drawn) if drawn.scene == id => {
            if (drawn.origin, drawn.factor) == (origin, factor) {
                return last.insert(drawn).mesh.clone();
            }
            drawn.mesh
        }
        _ => Arc::new(scene.mesh.clone()),
    };
    for (vertex, built) in Arc::make_mut(&mut mesh)
        .vertices
        .iter_mut()
        .zip(&scene.mesh.vertices)
    {
        vertex.pos = origin + built.pos.to_vec2() * factor;
    }
    *last = Some(ScreenMesh {
        scene: id,
        origin,
        factor,
        mesh: mesh.clone(),
    });
    mesh
}

/// The selected sample, or the FOLDER above it in the level of the map.
fn selected_row(panel: &MapPanel, cx: &PanelContext<'_>, document: &Document) -> Option<RowRef> {
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
fn matches_filter(cx: &PanelContext<'_>, at: RowRef) -> bool {
    cx.studio
        .filtered_rows()
        .is_none_or(|kept| kept.contains(at))
}

/// Draws the selected sample; returns its row and its middle on the screen, if that is visible.
fn selected_ui(
    painter: &Painter,
    t: &ThemeTokens,
    panel: &MapPanel,
    cx: &PanelContext<'_>,
    document: &Document,
    view: &MapView,
    rect: Rect,
) -> Option<(RowRef, Pos2)> {
    let at = selected_row(panel, cx, document)?;
    let LevelFootprints {
        geographic,
        projected,
    } = panel.footprints()?;
    let middle = projected
        .middles
        .get(at.row as usize)
        .filter(|middle| !middle[0].is_nan())?;
    // The turn around the Earth that brings the sample nearest to the middle of the view.
    let turn = -(f64::from(middle[0]) - view.middle[0]).round();
    let place = view.screen(rect, [f64::from(middle[0]) + turn, f64::from(middle[1])]);
    let on_screen = |&[lon, lat]: &[f32; 2], turn: f64| {
        view.screen(
            rect,
            [plane_x(f64::from(lon)) + turn, plane_y(f64::from(lat))],
        )
    };
    let all: Vec<Pos2> = geographic
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
    let fill = if matches_filter(cx, at) {
        t.accfill
    } else {
        t.bg1
    };
    let line = if matches_filter(cx, at) {
        t.accfill
    } else {
        t.ctl
    };
    if bounds.width().max(bounds.height()) > 10.0 {
        let turns: Vec<f64> = view.turns(rect.size(), left, right).collect();
        for stroke in [Stroke::new(4.0, t.bg1), Stroke::new(2.0, line)] {
            for ((kind, points), &turn) in geographic
                .parts(at.row)
                .flat_map(|part| turns.iter().map(move |turn| (part, turn)))
            {
                let around = edge_around_pole(points).filter(|_| kind == OutlineKind::Ring);
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

/// Handles hover and click on footprints.
fn hover_ui(
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
    let (lon, lat) = (wrap_longitude(longitude_at(x)), latitude_at(y));
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
    let Some((origin, factor)) = locate_scene(scene, view, rect) else {
        return;
    };
    let Some(target) = scene
        .target_at(
            ((pointer - origin) / factor).to_pos2(),
            HOVER_REACH / factor,
        )
        .copied()
    else {
        return;
    };
    let at = super::row_on_map(panel, target.row);
    let shown = Rect::from_min_max(
        origin + target.rect.min.to_vec2() * factor,
        origin + target.rect.max.to_vec2() * factor,
    );
    painter.rect_stroke(
        shown.expand(2.0),
        0,
        Stroke::new(1.5, t.tx),
        StrokeKind::Outside,
    );
    // While the footprints are read again, row numbers of the scene may be those of other samples.
    let is_current = !panel.footprints.is_pending();
    if response.clicked() && is_current {
        cx.request(Request::Select(Some(at)));
    }
    if response.double_clicked() && is_current {
        cx.request(Request::Do(Action::ShowPreview));
    }
    let super::SampleLine { id, details } = super::describe_sample(document, panel, at);
    let more = if target.count > 1 {
        let others = u64::from(target.count) - 1;
        tr_n!(
            others,
            "and {n} more here; zoom in",
            "and {n} more here; zoom in",
            n = paint::format_grouped_number(others)
        )
    } else {
        String::new()
    };
    let lines: Vec<&str> = [details.as_str(), more.as_str()]
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
    let super::SampleLine { id, details } = super::describe_sample(document, panel, at);
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
            let details = match details {
                _ if !matches_filter(cx, at) => {
                    tr!("filtered out" in "sample on the map").to_owned()
                }
                details if details.is_empty() => " ".to_owned(),
                details => details,
            };
            ui.add(egui::Label::new(super::small_text(&details, t.tx2)).truncate());
            if widgets::link(ui, tr!("Open in Preview")).clicked() {
                cx.request(Request::Do(Action::ShowPreview));
            }
        },
    );
}
