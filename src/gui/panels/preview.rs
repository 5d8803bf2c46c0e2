//! The selected raster as a picture: pan, zoom, bands, stretch, the values under the pointer.

use std::sync::Arc;

use egui::{Frame, Key, Margin, Modifiers, Pos2, Rect, RichText, Sense, TextureHandle, Ui, UiBuilder, Vec2, pos2, vec2};

use super::inspector;
use super::preview_side::{self, band_name};
use super::siblings::{self, SiblingsState};
use crate::gui::cx::{Ask, Cx};
use crate::gui::icons;
use crate::gui::session::{Key as DocumentKey, revision};
use crate::gui::slot::Slot;
use crate::gui::textures;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, EmptyState, Segment};
use crate::jobs::JobId;
use crate::model::{AssetPath, SampleKind};
use crate::raster::{
    BandChoice, BandIndex, ColourMap, PreviewImage, PreviewRequest, Probe, RasterInfo, RenderOptions, Resampling, Stretch, Window,
    probe,
};
use crate::studio::{Command, Document, RowRef};

/// Columns and rows of the picture of a whole raster; closer views of larger rasters are read when they are looked at.
const WHOLE: usize = 2048;
/// A view has to rest this long before it is read.
const REST_S: f64 = 0.15;
const SIDE: f32 = 252.0;

type Answer = Arc<(PreviewRequest, PreviewImage)>;

struct Picture {
    answer: Answer,
    texture: TextureHandle,
}

/// What the panel keeps.
#[derive(Default)]
pub struct PreviewState {
    shown: Option<(DocumentKey, RowRef)>,
    asset: Option<AssetPath>,
    /// Bands, stretch and gamma; kept from one sample to the next.
    pub options: RenderOptions,
    whole: Option<Picture>,
    closer: Option<Picture>,
    arrived: Vec<Answer>,
    asked_whole: Option<PreviewRequest>,
    asked_closer: Option<PreviewRequest>,
    job: Option<JobId>,
    failed: Option<String>,
    /// Middle of the view in pixels of the raster, and points a pixel; `None` fits the raster.
    view: Option<([f64; 2], f64)>,
    moved_s: f64,
    /// The pixel under the pointer.
    pub pixel: Option<(usize, usize)>,
    /// Values there.
    pub probe: Slot<(AssetPath, usize, usize), Probe>,
    /// The strip of small pictures.
    pub siblings: SiblingsState,
}

impl PreviewState {
    /// True while values are read.
    pub fn is_busy(&self) -> bool {
        self.probe.is_busy() || self.siblings.is_busy()
    }

    /// Remembers the job of the newest request.
    pub fn started(&mut self, job: JobId) -> Option<JobId> {
        self.job.replace(job)
    }

    /// Takes a finished picture. Those that nobody waits for any more are dropped.
    pub fn take(&mut self, answer: Answer) {
        self.arrived.push(answer);
    }

    /// Takes a failure, if it is that of the newest request.
    pub fn fail(&mut self, job: JobId, why: &str) {
        if self.job == Some(job) {
            self.failed = Some(why.to_owned());
        }
    }

    /// True for the job of the newest request.
    pub fn is_own(&self, job: JobId) -> bool {
        self.job == Some(job)
    }

    /// The picture's raster.
    pub fn info(&self) -> Option<&Arc<RasterInfo>> {
        self.whole.as_ref().map(|picture| &picture.answer.1.info)
    }

    /// The newest picture: its limits and histograms.
    pub fn image(&self) -> Option<&PreviewImage> {
        self.whole.as_ref().map(|picture| &picture.answer.1)
    }

    fn upload(&mut self, ctx: &egui::Context) {
        for answer in std::mem::take(&mut self.arrived) {
            let place = match &answer.0 {
                request if self.asked_whole.as_ref() == Some(request) => &mut self.whole,
                request if self.asked_closer.as_ref() == Some(request) => &mut self.closer,
                _ => continue,
            };
            let texture = textures::upload(ctx, "preview", &answer.1.rgba);
            *place = Some(Picture { answer, texture });
            self.failed = None;
        }
    }
}

/// Draws the panel.
pub fn ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let Some(document) = cx.document() else {
        return nothing_ui(ui, "No preview", "Open a dataset, then select a raster.", &[]).map_or((), drop);
    };
    let Some(at) = cx.session.selected.filter(|&at| document.kind(at) == Some(SampleKind::File)) else {
        let first = first_file(document, cx.session.selected);
        let actions: &[&str] = if first.is_some() { &["Show the first file"] } else { &[] };
        if nothing_ui(ui, "A FOLDER has no picture", "Select a FILE in the hierarchy or the table.", actions).is_some() {
            cx.ask(Ask::Select(first));
        }
        return;
    };
    inspector::refresh(cx);
    let key = (cx.session.serial, revision(cx.studio));
    if cx.session.preview.shown != Some((key, at)) {
        let state = &mut cx.session.preview;
        (state.asset, state.view, state.failed, state.pixel) = (None, None, None, None);
        (state.asked_whole, state.asked_closer, state.closer) = (None, None, None);
        state.shown = Some((key, at));
    }
    if cx.session.preview.asset.is_none() {
        match cx.session.sample.asset(key, at) {
            Some(Ok(asset)) => match &asset.raster {
                Ok(_) => cx.session.preview.asset = Some(asset.path.clone()),
                Err(error) => cx.session.preview.failed = Some(error.to_string()),
            },
            Some(Err(error)) => cx.session.preview.failed = Some(error.to_string()),
            None => {}
        }
    }
    cx.session.preview.upload(ui.ctx());
    if let Some(why) = cx.session.preview.failed.clone() {
        cx.session.preview.whole = None;
        let _ = nothing_ui(ui, "No picture of this file", &why, &[]);
        return;
    }
    request_whole(cx);
    toolbar_ui(ui, cx, document, at);
    let area = ui.available_rect_before_wrap();
    let side = if area.width() > 2.2 * SIDE { SIDE } else { 0.0 };
    let (left, right) = area.split_left_right_at_x(area.right() - side);
    let strip = if left.height() > 4.0 * siblings::HEIGHT { siblings::HEIGHT } else { 0.0 };
    let (upper, lower) = left.split_top_bottom_at_y(left.bottom() - strip);
    let (canvas, readout) = upper.split_top_bottom_at_y(upper.bottom() - 24.0);
    canvas_ui(ui, cx, canvas);
    preview_side::readout_ui(ui, cx, readout);
    if strip > 0.0 {
        siblings::ui(ui, cx, document, at, lower);
    }
    if side > 0.0 {
        ui.scope_builder(UiBuilder::new().max_rect(right), |ui| preview_side::side_ui(ui, cx));
    }
}

fn nothing_ui(ui: &mut Ui, title: &str, why: &str, actions: &[&str]) -> Option<usize> {
    widgets::empty_state(ui, &EmptyState { icon: icons::IMAGE, title, why, actions })
}

/// The first FILE at or below a sample.
fn first_file(document: &Document, at: Option<RowRef>) -> Option<RowRef> {
    let mut at = match at {
        Some(at) => at,
        None if document.rows(0) > 0 => RowRef::default(),
        None => return None,
    };
    while document.kind(at)? == SampleKind::Folder {
        let row = *document.tree().levels.get(at.level)?.children(at.row).first()?;
        at = RowRef { level: at.level + 1, row };
    }
    Some(at)
}

fn request_whole(cx: &mut Cx<'_>) {
    let state = &mut cx.session.preview;
    let Some(asset) = state.asset.clone() else { return };
    let mut request = PreviewRequest::new(asset, (WHOLE, WHOLE));
    request.options = state.options.clone();
    if state.asked_whole.as_ref() != Some(&request) {
        state.asked_whole = Some(request.clone());
        (state.closer, state.asked_closer) = (None, None);
        cx.run(Command::Preview { request });
    }
}

fn toolbar_ui(ui: &mut Ui, cx: &mut Cx<'_>, document: &Document, at: RowRef) {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::symmetric(8, 5)).show(ui, |ui| {
        ui.set_height(26.0);
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            bands_ui(ui, cx);
            ui.separator();
            stretch_ui(ui, cx);
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                zoom_ui(ui, cx);
                for (icon, name, step) in [(icons::CARET_RIGHT, "Next sibling", 1), (icons::CARET_LEFT, "Previous sibling", -1)] {
                    let to = sibling(document, at, step);
                    let blocked = to.is_none().then_some("There is no other file beside it");
                    if ui.add(Button::icon_only(icon, name).blocked(blocked)).clicked() {
                        cx.ask(Ask::Select(to));
                    }
                }
            });
        });
    });
    let rect = ui.min_rect();
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, t.line));
}

/// The rows beside `at`: the whole level for level 0, else the children of its parent; and the place of `at` among them.
fn row_beside(document: &Document, at: RowRef) -> Option<(impl Fn(usize) -> Option<u32>, usize)> {
    let tree = document.tree();
    let level = tree.levels.get(at.level)?;
    let siblings = match at.level {
        0 => None,
        above => Some(tree.levels[above - 1].children(*level.parents.get(at.row as usize)?)),
    };
    let place = match siblings {
        None => at.row as usize,
        Some(rows) => rows.binary_search(&at.row).ok()?,
    };
    let count = level.len();
    let row = move |index: usize| match siblings {
        None => (index < count).then_some(index as u32),
        Some(rows) => rows.get(index).copied(),
    };
    Some((row, place))
}

/// The FILE `step` places further among the siblings of `at`.
fn sibling(document: &Document, at: RowRef, step: i64) -> Option<RowRef> {
    let (row, place) = row_beside(document, at)?;
    let level = document.tree().levels.get(at.level)?;
    let mut index = place as i64;
    loop {
        index += step;
        let row = row(usize::try_from(index).ok()?)?;
        if !level.folder[row as usize] {
            return Some(RowRef { level: at.level, row });
        }
    }
}

/// At most `room` FILEs around `at`, in order.
pub(super) fn siblings_of(document: &Document, at: RowRef, room: usize) -> Vec<RowRef> {
    let mut found = std::collections::VecDeque::from([at]);
    let (mut before, mut after) = (sibling(document, at, -1), sibling(document, at, 1));
    while found.len() < room && (before.is_some() || after.is_some()) {
        if let Some(next) = after.take() {
            found.push_back(next);
            after = sibling(document, next, 1);
        }
        if found.len() < room
            && let Some(next) = before.take()
        {
            found.push_front(next);
            before = sibling(document, next, -1);
        }
    }
    found.into()
}

fn bands_ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let t = theme::tokens(ui);
    let state = &mut cx.session.preview;
    let Some((info, shown)) = state.image().map(|image| (image.info.clone(), image.bands.clone())) else {
        ui.label(RichText::new("Reading…").font(font::regular(12.0)).color(t.tx3));
        return;
    };
    let names: Vec<String> = info.bands.iter().map(band_name).collect();
    // In the bar the first word has to do: "B04" of "B04 red".
    let name = |band: BandIndex| match names.get(band.position()) {
        Some(name) if name.chars().count() > 5 && !name.starts_with("Band ") => {
            name.split_whitespace().next().unwrap_or(name).to_owned()
        }
        Some(name) => name.clone(),
        None => band.to_string(),
    };
    let before = matches!(shown, BandChoice::Rgb(_));
    let mut rgb = before;
    if names.len() > 1 {
        widgets::segmented(ui, "preview-mode", &mut rgb, &[Segment::new(true, "RGB"), Segment::new(false, "One band")]);
    }
    let mut chosen = shown.clone();
    match &mut chosen {
        BandChoice::Rgb(bands) if rgb => {
            let colors = [t.err, t.ok, t.info];
            for ((letter, color), band) in ["R", "G", "B"].into_iter().zip(colors).zip(bands.iter_mut()) {
                ui.label(RichText::new(letter).font(font::mono_semibold(12.0)).color(color));
                if let Some(index) = widgets::combo(ui, &format!("Band for {letter}"), &name(*band), 74.0, true, &names) {
                    *band = BandIndex::from_position(index);
                }
            }
        }
        BandChoice::Single { band, map } if !rgb => {
            if let Some(index) = widgets::combo(ui, "Band", &name(*band), 96.0, true, &names) {
                *band = BandIndex::from_position(index);
            }
            let maps = ColourMap::ALL.map(ColourMap::label);
            if let Some(index) = widgets::combo(ui, "Colours", map.label(), 132.0, false, &maps) {
                *map = ColourMap::ALL[index];
            }
        }
        other => {
            *other = match other {
                BandChoice::Rgb(bands) => BandChoice::Single { band: bands[0], map: ColourMap::Grey },
                _ => BandChoice::Rgb([0, 1, 2].map(|place| BandIndex::from_position(place.min(names.len().saturating_sub(1))))),
            }
        }
    }
    if chosen != shown {
        state.options.bands = chosen;
    }
}

fn stretch_ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    const CHOICES: [(&str, Stretch); 4] = [
        ("2 to 98 %", Stretch::Percentile { low: 2.0, high: 98.0 }),
        ("0.5 to 99.5 %", Stretch::Percentile { low: 0.5, high: 99.5 }),
        ("Min to max", Stretch::MinMax),
        ("Mean ± 2 std", Stretch::StdDev(2.0)),
    ];
    let stretch = &mut cx.session.preview.options.stretch;
    let current = CHOICES.iter().find(|(_, choice)| choice == stretch).map_or("Fixed limits", |(text, _)| text);
    if let Some(index) = widgets::combo(ui, "Stretch", current, 116.0, false, &CHOICES.map(|(text, _)| text)) {
        *stretch = CHOICES[index].1;
    }
}

fn zoom_ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let t = theme::tokens(ui);
    if ui.add(Button::icon_only(icons::CORNERS_OUT, "Fit to the panel")).clicked() {
        cx.session.preview.view = None;
    }
    let mut factor = 1.0;
    if ui.add(Button::icon_only(icons::PLUS, "Zoom in")).clicked() {
        factor = 1.5;
    }
    let scale = ui.data(|data| data.get_temp::<f64>(egui::Id::unique("preview-scale"))).unwrap_or(1.0);
    ui.label(RichText::new(format!("{:.0} %", scale * 100.0)).font(font::mono(11.0)).color(t.tx2));
    if ui.add(Button::icon_only(icons::MINUS, "Zoom out")).clicked() {
        factor = 1.0 / 1.5;
    }
    if factor != 1.0
        && let Some(info) = cx.session.preview.info()
    {
        let middle = cx.session.preview.view.map_or([info.width as f64 / 2.0, info.height as f64 / 2.0], |(middle, _)| middle);
        cx.session.preview.view = Some((middle, scale * factor));
        cx.session.preview.moved_s = ui.input(|input| input.time);
    }
}

/// Screen ⇄ raster.
#[derive(Clone, Copy)]
struct Transform {
    screen: Pos2,
    middle: [f64; 2],
    scale: f64,
}

impl Transform {
    fn pixel_from_screen(self, at: Pos2) -> [f64; 2] {
        let from = at - self.screen;
        [self.middle[0] + f64::from(from.x) / self.scale, self.middle[1] + f64::from(from.y) / self.scale]
    }

    fn screen_from_pixel(self, at: [f64; 2]) -> Pos2 {
        self.screen + vec2(((at[0] - self.middle[0]) * self.scale) as f32, ((at[1] - self.middle[1]) * self.scale) as f32)
    }

    fn rect(self, window: Window) -> Rect {
        let (x, y) = (window.x as f64, window.y as f64);
        Rect::from_two_pos(
            self.screen_from_pixel([x, y]),
            self.screen_from_pixel([x + window.width as f64, y + window.height as f64]),
        )
    }
}

fn canvas_ui(ui: &mut Ui, cx: &mut Cx<'_>, rect: Rect) {
    let t = theme::tokens(ui);
    let response = ui.interact(rect, ui.scope_id().with("canvas"), Sense::click_and_drag());
    let title = cx.session.selected.and_then(|at| cx.document()?.path(at)).map(|path| path.to_string()).unwrap_or_default();
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Picture of {title}")));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.input);
    let Some(info) = cx.session.preview.info().cloned() else {
        ui.scope_builder(UiBuilder::new().max_rect(Rect::from_center_size(rect.center(), Vec2::splat(24.0))), |ui| {
            widgets::spinner(ui, 24.0)
        });
        return;
    };
    let (width, height) = (info.width.max(1) as f64, info.height.max(1) as f64);
    let fit = (f64::from(rect.width()) / width).min(f64::from(rect.height()) / height) * 0.98;
    let (middle, scale) = cx.session.preview.view.unwrap_or(([width / 2.0, height / 2.0], fit));
    let mut transform = Transform { screen: rect.center(), middle, scale };
    if navigate(ui, cx, &response, &mut transform, fit) {
        let state = &mut cx.session.preview;
        transform.middle = [transform.middle[0].clamp(0.0, width), transform.middle[1].clamp(0.0, height)];
        state.view = Some((transform.middle, transform.scale));
        state.moved_s = ui.input(|input| input.time);
    }
    ui.data_mut(|data| data.insert_temp(egui::Id::unique("preview-scale"), transform.scale * f64::from(ui.pixels_per_point())));
    let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    for picture in [&cx.session.preview.whole, &cx.session.preview.closer].into_iter().flatten() {
        painter.image(picture.texture.id(), transform.rect(picture.answer.1.window), all, egui::Color32::WHITE);
    }
    let pointer = response.hover_pos().map(|at| transform.pixel_from_screen(at));
    let inside = pointer.filter(|[x, y]| (0.0..width).contains(x) && (0.0..height).contains(y));
    cx.session.preview.pixel = inside.map(|[x, y]| (x as usize, y as usize));
    if let Some((column, row)) = cx.session.preview.pixel {
        if transform.scale >= 6.0 {
            let cell = transform.rect(Window { x: column, y: row, width: 1, height: 1 });
            painter.rect_stroke(cell, 0, egui::Stroke::new(1.0, t.accfill), egui::StrokeKind::Outside);
        }
        if let Some(asset) = cx.session.preview.asset.clone() {
            let file = asset.clone();
            cx.session
                .preview
                .probe
                .want(cx.jobs, (asset, column, row), "Preview values", move |ctx| probe(&file, column, row, ctx));
        }
    }
    cx.session.preview.probe.poll();
    request_closer(ui, cx, rect, transform, &info);
}

/// Drag, wheel and keys. True when the view changed.
fn navigate(ui: &Ui, cx: &mut Cx<'_>, response: &egui::Response, transform: &mut Transform, fit: f64) -> bool {
    let mut changed = false;
    if response.clicked() {
        response.request_focus();
    }
    if response.double_clicked() {
        cx.session.preview.view = None;
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
        let (wheel, pinch) = ui.input_mut(|input| (std::mem::take(&mut input.smooth_scroll_delta.y), input.zoom_delta()));
        factor *= f64::from(wheel / 240.0).exp2() * f64::from(pinch);
    }
    if response.has_focus() {
        let filter = egui::EventFilter { horizontal_arrows: true, ..Default::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        let (steps, zoom, home) = ui.input_mut(|input| {
            let mut count = |key| input.count_and_consume_key(Modifiers::NONE, key) as i64;
            let steps = count(Key::ArrowRight) - count(Key::ArrowLeft);
            (steps, count(Key::Plus) + count(Key::Equals) - count(Key::Minus), count(Key::Num0))
        });
        if home > 0 {
            cx.session.preview.view = None;
        }
        if zoom != 0 {
            factor *= 1.5_f64.powi(zoom as i32);
            about = Some(transform.screen);
        }
        if steps != 0
            && let (Some(document), Some(at)) = (cx.document(), cx.session.selected)
            && let Some(to) = sibling(document, at, steps.signum())
        {
            cx.ask(Ask::Select(Some(to)));
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

/// Reads the visible part of a raster that is larger than the picture of the whole, once the view rests.
fn request_closer(ui: &Ui, cx: &mut Cx<'_>, rect: Rect, transform: Transform, info: &RasterInfo) {
    let state = &mut cx.session.preview;
    let Some(whole) = &state.whole else { return };
    let had = whole.answer.1.rgba.width as f64 / info.width.max(1) as f64;
    let pixels = transform.scale * f64::from(ui.pixels_per_point());
    if had >= 1.0 || pixels <= had * 1.2 {
        (state.closer, state.asked_closer) = (None, None);
        return;
    }
    let rested = ui.input(|input| input.time) - state.moved_s;
    if rested < REST_S {
        ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(REST_S));
        return;
    }
    let [left, top] = transform.pixel_from_screen(rect.min).map(|at| at.floor().max(0.0));
    let [right, bottom] = transform.pixel_from_screen(rect.max).map(|at| at.ceil().max(0.0));
    let window = Window { x: left as usize, y: top as usize, width: (right - left) as usize, height: (bottom - top) as usize };
    let Some(window) = window.clip(info.width, info.height) else { return };
    let scale = ui.pixels_per_point();
    let fit = ((rect.width() * scale) as usize, (rect.height() * scale) as usize);
    let request = PreviewRequest { window: Some(window), fit, resampling: Resampling::Auto, ..whole.answer.0.clone() };
    if state.asked_closer.as_ref() != Some(&request) {
        state.asked_closer = Some(request.clone());
        cx.run(Command::Preview { request });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_and_raster_agree_both_ways() {
        let transform = Transform { screen: pos2(300.0, 200.0), middle: [50_000.5, 120.25], scale: 3.5 };
        let pixel = transform.pixel_from_screen(pos2(17.0, 391.0));
        let back = transform.screen_from_pixel(pixel);
        assert!((back - pos2(17.0, 391.0)).length() < 1e-3);
        let rect = transform.rect(Window { x: 50_000, y: 120, width: 1, height: 1 });
        assert!((rect.width() - 3.5).abs() < 1e-3);
    }
}
