//! The canvas of the preview: pan and zoom, detail when the view rests, pixel under the pointer,
//! comparison, scale bar.

use egui::{
    Color32, Key, Modifiers, Painter, Rect, Sense, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2,
    vec2,
};

use super::picture::Picture;
use super::picture_request::{plain, read_picture};
use super::sibling_rows::find_sibling_file;
use super::state::{CompareMode, PreviewPanel};
use super::transform::Transform;
use super::{chunks, difference, play_stretch, scale_bar};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, paint};
use crate::jobs::AsyncValue;
use crate::raster::{PreviewRequest, RasterInfo, Window, probe};

/// Time that a view rests before its detail is read, in seconds.
const REST_S: f64 = 0.15;
/// Seconds each picture is shown in flicker mode.
const FLIP_S: f64 = 0.7;

/// Draws the canvas into `rect`.
pub fn ui(ui: &mut Ui, panel: &mut PreviewPanel, cx: &mut PanelContext<'_>, rect: Rect) {
    let t = theme::tokens(ui);
    let response = ui.interact(rect, ui.scope_id().with("canvas"), Sense::click_and_drag());
    let shown = panel.shown.map(|(_, at)| at);
    let title = shown
        .and_then(|at| cx.document()?.path(at))
        .map(|path| path.to_string())
        .unwrap_or_default();
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Image, true, tr!("Picture of {title}", title))
    });
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.input);
    let Some(info) = panel.info().cloned() else {
        ui.scope_builder(
            UiBuilder::new().max_rect(Rect::from_center_size(rect.center(), Vec2::splat(24.0))),
            |ui| widgets::spinner(ui, 24.0),
        );
        return;
    };
    let (width, height) = (info.width.max(1) as f64, info.height.max(1) as f64);
    let (mut transform, fit) = shown_transform(panel, rect, [width, height]);
    if navigate(ui, panel, cx, &response, &mut transform, fit) {
        transform.middle = [
            transform.middle[0].clamp(0.0, width),
            transform.middle[1].clamp(0.0, height),
        ];
        panel.view.place = Some((transform.middle, transform.scale));
        panel.view.moved_s = ui.input(|input| input.time);
    }
    panel.view.scale = transform.scale * f64::from(ui.pixels_per_point());
    pictures_ui(ui, panel, &painter, t, transform, rect);
    chunks::grid_ui(&painter, t, &panel.chunks, transform, rect);
    let pointer = response
        .hover_pos()
        .map(|at| transform.pixel_from_screen(at));
    let inside = pointer.filter(|[x, y]| (0.0..width).contains(x) && (0.0..height).contains(y));
    let pinned = panel.side.pinned;
    let under = inside.map(|[x, y]| (x as usize, y as usize));
    panel.side.last_under = under.or(panel.side.last_under);
    panel.pixel = pinned.or(under);
    if let Some((column, row)) = panel.pixel {
        let cell = transform.rect(Window {
            x: column,
            y: row,
            width: 1,
            height: 1,
        });
        if pinned.is_some() || transform.scale >= 6.0 {
            let shown = if cell.width() >= 6.0 {
                cell
            } else {
                Rect::from_center_size(cell.center(), Vec2::splat(9.0))
            };
            painter.rect_stroke(shown, 0, Stroke::new(1.5, t.accfill), StrokeKind::Outside);
        }
    }
    want_probe(panel, cx);
    scale_bar::ui(ui, panel, cx, &info, transform, rect);
    play_stretch::caption_ui(ui, panel, rect);
    request_closer(ui, panel, cx, rect, transform, &info);
}

/// Requests the values of the pixel under the pointer.
pub fn want_probe(panel: &mut PreviewPanel, cx: &mut PanelContext<'_>) {
    let Some(((column, row), asset)) = panel.pixel.zip(panel.asset.clone()) else {
        return;
    };
    let file = asset.clone();
    // One request at a time: the pointer may pass many pixels meanwhile.
    if !panel.probe.is_pending() {
        panel.probe.update(
            cx.jobs,
            (asset, column, row),
            tr!("Preview values"),
            move |ctx| probe(&file, column, row, ctx),
        );
    }
    if panel.compare.mode == CompareMode::Difference
        && let Some(other) = panel
            .other
            .as_ref()
            .map(|other| other.answer.0.source.clone())
        && !panel.other_probe.is_pending()
    {
        let key = (other.clone(), column, row);
        panel
            .other_probe
            .update(cx.jobs, key, tr!("Preview values"), move |ctx| {
                probe(&other, column, row, ctx)
            });
    }
}

/// Where the raster or plane is shown, and the scale at which all of it is.
pub fn shown_transform(panel: &PreviewPanel, rect: Rect, size: [f64; 2]) -> (Transform, f64) {
    let fit = fit_of(rect, size);
    let all = (size.map(|length| length / 2.0), fit);
    let (middle, scale) = panel.view.place.unwrap_or(all);
    let transform = Transform {
        screen: rect.center(),
        middle,
        scale,
    };
    (transform, fit)
}

/// Points per pixel at which a raster of this size fits the canvas.
pub fn fit_of(rect: Rect, [width, height]: [f64; 2]) -> f64 {
    (f64::from(rect.width()) / width).min(f64::from(rect.height()) / height) * 0.98
}

/// Draws a picture where its window is.
pub fn paint_picture(painter: &Painter, picture: &Picture, transform: Transform) {
    let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    painter.image(
        picture.texture.id(),
        transform.rect(picture.answer.1.window),
        all,
        Color32::WHITE,
    );
}

/// Draws the picture and, by the comparison mode, the second one.
fn pictures_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    painter: &Painter,
    t: &ThemeTokens,
    transform: Transform,
    rect: Rect,
) {
    let mode = panel.compare.mode;
    let time = ui.input(|input| input.time);
    let second = mode == CompareMode::Flip && (time / FLIP_S) as u64 % 2 == 1;
    if mode == CompareMode::Flip && panel.other.is_some() {
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_millis(50));
    }
    if mode == CompareMode::Difference {
        difference::refresh(ui, panel);
    }
    if mode == CompareMode::Difference
        && let (Some((_, _, texture)), Some(whole)) = (&panel.compare.apart, &panel.whole)
    {
        let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        painter.image(
            texture.id(),
            transform.rect(whole.answer.1.window),
            all,
            Color32::WHITE,
        );
        difference::legend_ui(ui, panel, rect);
        return;
    }
    match panel
        .other
        .as_ref()
        .filter(|other| second && other.is_ready())
    {
        Some(other) => paint_picture(painter, other, transform),
        None => [&panel.whole, &panel.closer]
            .into_iter()
            .flatten()
            .for_each(|picture| paint_picture(painter, picture, transform)),
    }
    if mode == CompareMode::Swipe && panel.other.is_some() {
        swipe_ui(ui, panel, t, transform, rect);
    }
}

/// Draws the second picture left of a draggable line.
fn swipe_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    t: &ThemeTokens,
    transform: Transform,
    rect: Rect,
) {
    let x = rect.left() + rect.width() * panel.compare.swipe;
    let grip = Rect::from_center_size(pos2(x, rect.center().y), vec2(26.0, rect.height()));
    let response = ui.interact(grip, ui.scope_id().with("swipe"), Sense::drag());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Splitter,
            true,
            tr!("Swipe between the pictures"),
        )
    });
    if let Some(pointer) = response
        .interact_pointer_pos()
        .filter(|_| response.dragged())
    {
        panel.compare.swipe = ((pointer.x - rect.left()) / rect.width()).clamp(0.02, 0.98);
    }
    let left = ui.painter_at(rect.with_max_x(x));
    left.rect_filled(rect, 0, t.input);
    if let Some(other) = panel.other.as_ref().filter(|other| other.is_ready()) {
        paint_picture(&left, other, transform);
    }
    let painter = ui.painter_at(rect);
    painter.vline(x, rect.y_range(), Stroke::new(2.0, Color32::WHITE));
    painter.circle_filled(pos2(x, rect.center().y), 13.0, Color32::WHITE);
    paint::draw_icon(
        &painter,
        pos2(x, rect.center().y),
        icons::ARROWS_LEFT_RIGHT,
        15.0,
        Color32::BLACK,
    );
    let other = panel.other.as_ref().map(|other| &*other.answer.1.info);
    let names = [
        with_variable(&panel.compare.other_name, other),
        with_variable(&panel.compare.own_name, panel.info().map(|info| &**info)),
    ];
    for (name, right) in names.iter().zip([false, true]) {
        let width = name.chars().count() as f32 * 7.4 + 16.0;
        let corner = if right {
            pos2(rect.right() - width - 10.0, rect.top() + 10.0)
        } else {
            rect.min + vec2(10.0, 10.0)
        };
        let label = Rect::from_min_size(corner, vec2(width, 22.0));
        painter.rect_filled(label, 4, t.bg1.gamma_multiply(0.9));
        paint::text_center(
            &painter,
            label,
            name,
            font::mono(12.0),
            if right { t.acc } else { t.tx },
        );
    }
    response.on_hover_cursor(egui::CursorIcon::ResizeHorizontal);
}

/// The name of a picture, with the variable that was read of a file with several.
fn with_variable(name: &str, info: Option<&RasterInfo>) -> String {
    match info.and_then(|info| info.variable.as_ref()) {
        Some(variable) => format!("{name}: {}", variable.sentence()),
        None => name.to_owned(),
    }
}

/// Handles drag, wheel and keys. True when the view changed.
pub fn navigate(
    ui: &Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    response: &egui::Response,
    transform: &mut Transform,
    fit: f64,
) -> bool {
    let mut changed = false;
    if response.clicked() {
        response.request_focus();
    }
    if response.double_clicked() {
        panel.view.fit();
        return false;
    }
    if response.dragged() {
        let delta = response.drag_delta();
        transform.middle[0] -= f64::from(delta.x) / transform.scale;
        transform.middle[1] -= f64::from(delta.y) / transform.scale;
        changed = delta != Vec2::ZERO;
    }
    let mut factor = 1.0;
    let mut about = response.hover_pos();
    if about.is_some() {
        let (wheel, pinch) = ui.input_mut(|input| {
            (
                std::mem::take(&mut input.smooth_scroll_delta.y),
                input.zoom_delta(),
            )
        });
        factor *= f64::from(wheel / 240.0).exp2() * f64::from(pinch);
    }
    if response.has_focus() {
        let filter = egui::EventFilter {
            horizontal_arrows: true,
            ..Default::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        let (steps, zoom, home, play, preset) = ui.input_mut(|input| {
            let mut count = |key| input.count_and_consume_key(Modifiers::NONE, key) as i64;
            let steps = count(Key::ArrowRight) - count(Key::ArrowLeft);
            let zoom = count(Key::Plus) + count(Key::Equals) - count(Key::Minus);
            let preset = [Key::Num1, Key::Num2, Key::Num3]
                .into_iter()
                .position(|key| count(key) > 0);
            (steps, zoom, count(Key::Num0), count(Key::Space), preset)
        });
        if home > 0 {
            panel.view.fit();
        }
        if play > 0 {
            let now = ui.input(|input| input.time);
            let next = &mut panel.next_step_s;
            *next = if next.is_some() { None } else { Some(now) };
        }
        if let (Some(preset), Some(info)) = (preset, panel.info())
            && let Some(bands) = crate::raster::Preset::ALL[preset]
                .bands(info, &super::names::band_names(cx.document()))
        {
            panel.options.bands = bands;
        }
        if zoom != 0 {
            factor *= 1.5_f64.powi(zoom as i32);
            about = Some(transform.screen);
        }
        if steps != 0
            && let (Some(document), Some(at)) = (cx.document(), panel.shown.map(|(_, at)| at))
            && let Some(to) = find_sibling_file(document, at, steps.signum())
        {
            cx.request(Request::Select(Some(to)));
        }
    }
    if let Some(about) = about.filter(|_| (factor - 1.0).abs() > 1e-6) {
        let fixed = transform.pixel_from_screen(about);
        transform.scale = (transform.scale * factor).clamp(fit.min(1.0) / 4.0, 128.0);
        let now = transform.pixel_from_screen(about);
        transform.middle[0] += fixed[0] - now[0];
        transform.middle[1] += fixed[1] - now[1];
        changed = true;
    }
    changed
}

/// Reads the visible part of a raster that is larger than the picture of the whole, once the view
/// rests.
fn request_closer(
    ui: &Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    rect: Rect,
    transform: Transform,
    info: &RasterInfo,
) {
    // A closer view belongs to the picture of the whole.
    if !panel.has_wanted_whole() {
        return;
    }
    let Some(whole) = &panel.whole else { return };
    let had = whole.answer.1.rgba.width as f64 / info.width.max(1) as f64;
    let pixels = transform.scale * f64::from(ui.pixels_per_point());
    if had >= 1.0 || pixels <= had * 1.2 {
        (panel.closer, panel.closer_read) = (None, AsyncValue::default());
        panel.incoming[1] = None;
        return;
    }
    let rested = ui.input(|input| input.time) - panel.view.moved_s;
    if rested < REST_S {
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_secs_f64(REST_S));
        return;
    }
    let [left, top] = transform
        .pixel_from_screen(rect.min)
        .map(|at| at.floor().max(0.0));
    let [right, bottom] = transform
        .pixel_from_screen(rect.max)
        .map(|at| at.ceil().max(0.0));
    let window = Window {
        x: left as usize,
        y: top as usize,
        width: (right - left) as usize,
        height: (bottom - top) as usize,
    };
    let Some(window) = window.clip(info.width, info.height) else {
        return;
    };
    let scale = ui.pixels_per_point();
    let fit = (
        (rect.width() * scale) as usize,
        (rect.height() * scale) as usize,
    );
    // Same resampling as for the whole raster: classes are not averaged.
    let request = PreviewRequest {
        window: Some(window),
        fit,
        ..whole.answer.0.clone()
    };
    let wanted = plain(&request);
    panel
        .closer_read
        .update(cx.jobs, wanted, tr!("Read the raster"), move |ctx| {
            read_picture(request, ctx)
        });
}

/// Draws the readout below the picture: row, column, coordinates.
pub fn readout_ui(ui: &mut Ui, panel: &PreviewPanel, rect: Rect) {
    let mut text = match panel.pixel {
        Some((column, row)) => {
            let (row, column) = (
                paint::format_grouped_number(row as u64),
                paint::format_grouped_number(column as u64),
            );
            tr!("row {row} col {column}", row, column)
        }
        None => match panel.info() {
            Some(info) => tr_n!(
                info.band_count,
                "{width} × {height} pixels, {bands} band",
                "{width} × {height} pixels, {bands} bands",
                width = paint::format_grouped_number(info.width as u64),
                height = paint::format_grouped_number(info.height as u64),
                bands = info.band_count
            ),
            None => String::new(),
        },
    };
    if let (Some((column, row)), Some(probe)) = (panel.pixel, panel.probe.latest())
        && (probe.column, probe.row) == (column, row)
    {
        if let Some([lon, lat]) = probe.lonlat {
            let east = if lon < 0.0 {
                tr!("W" in "compass")
            } else {
                tr!("E" in "compass")
            };
            let north = if lat < 0.0 {
                tr!("S" in "compass")
            } else {
                tr!("N" in "compass")
            };
            text.push_str(&format!(
                "   {:.4}°{east} {:.4}°{north}",
                lon.abs(),
                lat.abs()
            ));
        }
        if let Some([x, y]) = probe.xy {
            text.push_str(&format!("   {x:.1} {y:.1}"));
        }
        text.push_str(&difference::readout(panel));
    }
    if let Some(variable) = panel.info().and_then(|info| info.variable.as_ref()) {
        // In front of the coordinates, which change: the variable is never cut off.
        text = format!("{}   {text}", variable.sentence());
    }
    let crs = panel
        .info()
        .and_then(|info| info.crs_code.as_deref().or(info.crs_name.as_deref()))
        .unwrap_or_default();
    readout_line_ui(ui, &text, crs, rect);
}

/// Draws the line below a picture: a text, and the coordinate system as far as there is room.
pub fn readout_line_ui(ui: &mut Ui, text: &str, crs: &str, rect: Rect) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg2);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let inner = rect.shrink2(vec2(10.0, 0.0));
    // The coordinates of the pixel have priority; the name of the CRS is truncated to the remaining
    // width.
    let end = paint::text_left(&painter, inner, text, font::mono(11.0), t.tx2);
    if inner.right() - end > 60.0 {
        paint::text_right(
            &painter,
            inner.with_min_x(end + 16.0),
            crs,
            font::mono(11.0),
            t.tx3,
        );
    }
    let response = ui.interact(rect, ui.scope_id().with("readout"), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Status, true, text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_and_raster_agree_both_ways() {
        let transform = Transform {
            screen: pos2(300.0, 200.0),
            middle: [50_000.5, 120.25],
            scale: 3.5,
        };
        let pixel = transform.pixel_from_screen(pos2(17.0, 391.0));
        let back = transform.screen_from_pixel(pixel);
        assert!((back - pos2(17.0, 391.0)).length() < 1e-3);
        let rect = transform.rect(Window {
            x: 50_000,
            y: 120,
            width: 1,
            height: 1,
        });
        assert!((rect.width() - 3.5).abs() < 1e-3);
    }
}
