//! The sibling strip below the picture: thumbnails of the files beside the selected one, computed
//! one at a time, nearest first.

use std::path::PathBuf;

use egui::{
    Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::sibling_rows::list_files_around;
use super::state::{PreviewPanel, SiblingsState};
use super::tools;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::paint;
use crate::gui::{icons, textures};
use crate::jobs::Jobs;
use crate::ops::{ThumbnailRequest, thumbnail};
use crate::raster::{BandChoice, ColourMap};
use crate::studio::{Document, RowRef};

/// Height of the strip.
pub const HEIGHT: f32 = 104.0;
const WIDTH: f32 = 72.0;
const GAP: f32 = 6.0;
/// Width of the buttons in the header, in points.
const PLAYBACK: f32 = 76.0;
/// Most thumbnails kept.
const KEPT: usize = 256;

impl SiblingsState {
    fn upload(&mut self, ctx: &egui::Context) {
        let Some((at, image)) = self.next.key().copied().zip(self.next.take()) else {
            return;
        };
        if self.made.len() >= KEPT {
            self.made.clear();
        }
        self.made.insert(
            at,
            image
                .ok()
                .map(|image| textures::upload(ctx, "sibling", &image)),
        );
    }

    fn start(&mut self, jobs: &Jobs, cache: Option<PathBuf>, document: &Document, at: RowRef) {
        let place = document.raster_later(at);
        self.next
            .update(jobs, at, tr!("Small picture"), move |ctx| {
                let (source, _) = place()?;
                let request = ThumbnailRequest {
                    source,
                    side: 2 * WIDTH as usize,
                    bands: BandChoice::Auto,
                };
                Ok(thumbnail(&request, cache.as_deref(), ctx)?.rgba(None, ColourMap::Grey))
            });
    }
}

/// Draws the strip into `rect`.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg1);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let key = cx.document_key();
    let state = &mut panel.siblings;
    if state.made_for != Some(key) {
        *state = SiblingsState {
            made_for: Some(key),
            ..SiblingsState::default()
        };
    }
    state.upload(ui.ctx());
    let room = (((rect.width() - 16.0 + GAP) / (WIDTH + GAP)).floor() as usize).max(1);
    let shown = list_files_around(document, at, room);
    let place = shown.iter().position(|&other| other == at).unwrap_or(0);
    // Nearest first.
    let mut order: Vec<usize> = (0..shown.len()).collect();
    order.sort_by_key(|&index| index.abs_diff(place));
    if state.next.key().is_none()
        && let Some(&next) = order
            .iter()
            .find(|&&index| !state.made.contains_key(&shown[index]))
    {
        state.start(
            cx.jobs,
            cx.session.environment.cache_dir.clone(),
            document,
            shown[next],
        );
    }
    let head = Rect::from_min_size(rect.min + vec2(10.0, 3.0), vec2(rect.width() - 18.0, 24.0));
    let named = paint::text_left(&painter, head, tr!("Siblings"), font::semibold(12.0), t.tx);
    let tools = Rect::from_min_max(
        pos2((head.right() - PLAYBACK).max(named + 8.0), head.top()),
        head.max,
    );
    let words = head.with_min_x(named + 10.0).with_max_x(tools.left() - 8.0);
    paint::text_left(
        &painter,
        words,
        tr!("left and right arrows go from one to the next"),
        font::regular(11.0),
        t.tx3,
    );
    let layout = egui::Layout::left_to_right(egui::Align::Center);
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(tools)
            .layout(layout)
            .id_salt("playback"),
        |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            tools::playback_ui(ui, panel, cx, document, at);
        },
    );
    let mut requests = Vec::new();
    for (index, &sibling) in shown.iter().enumerate() {
        let left = rect.left() + 8.0 + index as f32 * (WIDTH + GAP);
        let frame = Rect::from_min_size(pos2(left, rect.top() + 28.0), vec2(WIDTH, 52.0));
        let id = document.id(sibling).unwrap_or_default();
        let child =
            UiBuilder::new()
                .max_rect(frame)
                .id_salt(("sibling", sibling.level, sibling.row));
        ui.scope_builder(child, |ui| {
            let response = ui.interact(frame, ui.scope_id().with("thumbnail"), Sense::click());
            response.widget_info(|| {
                WidgetInfo::selected(Role::Button, true, sibling == at, tr!("Sibling {id}", id))
            });
            let painter = ui.painter_at(frame.expand(2.0));
            painter.rect_filled(frame, 4, t.input);
            match panel.siblings.made.get(&sibling) {
                Some(Some(texture)) => picture(&painter, frame, texture),
                Some(None) => paint::draw_icon(&painter, frame.center(), icons::FILE, 18.0, t.tx3),
                None => paint::draw_icon(&painter, frame.center(), icons::of_file(id), 18.0, t.txd),
            }
            let (width, color) = if sibling == at {
                (2.0, t.accfill)
            } else if response.hovered() {
                (1.0, t.ctl)
            } else {
                (1.0, t.line2)
            };
            painter.rect_stroke(frame, 4, Stroke::new(width, color), StrokeKind::Inside);
            paint::focus_ring(ui, &response, 4);
            if response.clicked() {
                requests.push(Request::Select(Some(sibling)));
            }
        });
        let label = Rect::from_min_size(pos2(left, frame.bottom() + 3.0), vec2(WIDTH, 16.0));
        let color = if sibling == at { t.acc } else { t.tx2 };
        paint::text_center(ui.painter(), label, id, font::mono(11.0), color);
    }
    cx.requests.extend(requests);
}

/// Fills the frame with the centre of the picture.
pub fn picture(painter: &egui::Painter, frame: Rect, texture: &TextureHandle) {
    let size = texture.size_vec2();
    let scale = (frame.width() / size.x).max(frame.height() / size.y);
    let part = vec2(
        frame.width() / (size.x * scale),
        frame.height() / (size.y * scale),
    ) / 2.0;
    let uv = Rect::from_min_max(
        pos2(0.5 - part.x, 0.5 - part.y),
        pos2(0.5 + part.x, 0.5 + part.y),
    );
    painter.add(
        egui::epaint::RectShape::filled(frame, 4, egui::Color32::WHITE)
            .with_texture(texture.id(), uv),
    );
}
