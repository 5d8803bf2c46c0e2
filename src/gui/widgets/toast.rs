//! The short message at the bottom right, or where it covers no button: one at a time, six seconds,
//! with Undo after an edit.

use std::sync::Arc;
use std::time::Duration;

use egui::text::LayoutJob;
use egui::{Area, Color32, Context, Galley, Id, LayerId, Order, Pos2, Rect, Vec2, pos2, vec2};

use super::{key_cap, link};
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::text::displayed_block;

const SHOWN_S: f64 = 6.0;

/// A message with an optional action.
#[derive(Clone, Debug)]
pub struct Toast {
    /// True for success, false for a neutral note.
    pub good: bool,
    /// Message of the toast.
    pub text: String,
    /// An action with its shortcut: `("Undo", "Ctrl Z")`.
    pub action: Option<(&'static str, &'static str)>,
    since_s: Option<f64>,
    /// Its left top corner; chosen when it appears, and again when a button comes there.
    place: Option<Pos2>,
}

/// Largest size of a widget that counts as a button, in points; lists and canvases are larger.
const BUTTON: Vec2 = vec2(320.0, 40.0);
/// Greatest height of a row of a list, in points.
const ROW: f32 = 40.0;
/// Distance from the edges of the window, in points.
const MARGIN: f32 = 16.0;
/// Height of the bar of menus with its margin, in points.
const TOP: f32 = 56.0;
/// Longest row of the text, in points, and most rows: an error may quote a name of any length.
const TEXT_WIDTH: f32 = 640.0;
const ROWS: usize = 4;
/// Step of the search for a free position, in points.
const STEP: f32 = 8.0;

fn layer() -> LayerId {
    LayerId::new(Order::Tooltip, Id::unique("toast"))
}

/// The buttons of the last frame, without those of the toast; `with_rows`: and the rows of lists.
fn clickable(ctx: &Context, with_rows: bool) -> Vec<Rect> {
    ctx.viewport(|viewport| {
        let layers = viewport
            .prev_pass
            .widgets
            .layers()
            .filter(|(id, _)| **id != layer());
        let widgets = layers
            .flat_map(|(_, widgets)| widgets.iter())
            .filter(|widget| {
                let size = widget.rect.size();
                widget.enabled
                    && widget.sense.senses_click()
                    && ((size.x <= BUTTON.x && size.y <= BUTTON.y) || (with_rows && size.y <= ROW))
            });
        widgets
            .map(|widget| widget.interact_rect)
            .filter(Rect::is_positive)
            .collect()
    })
}

/// The lowest position at which a toast of this size covers none of these: at the right, in the
/// middle or at the left.
fn free_place(covered: &[Rect], screen: Rect, size: Vec2, bottom: f32) -> Option<Pos2> {
    let columns = [
        screen.right() - MARGIN - size.x,
        screen.center().x - size.x / 2.0,
        screen.left() + MARGIN,
    ];
    let lowest = screen.bottom() - MARGIN - bottom - size.y;
    let steps = ((lowest - screen.top() - TOP).max(0.0) / STEP) as usize;
    let places = (0..=steps).flat_map(|step| columns.map(|x| pos2(x, lowest - step as f32 * STEP)));
    let is_free = |place: &Pos2| is_free(covered, Rect::from_min_size(*place, size));
    places.into_iter().find(is_free)
}

fn is_free(buttons: &[Rect], toast: Rect) -> bool {
    !buttons.iter().any(|button| button.intersects(toast))
}

/// Outcome of a frame of the toast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToastEvent {
    /// Still there.
    Shown,
    /// Its action was clicked.
    Acted,
    /// It has timed out.
    Over,
}

impl Toast {
    /// A message.
    pub fn new(good: bool, text: impl Into<String>) -> Self {
        Self {
            good,
            text: text.into(),
            action: None,
            since_s: None,
            place: None,
        }
    }

    /// Offers an action.
    #[must_use]
    pub fn action(mut self, text: &'static str, keys: &'static str) -> Self {
        self.action = Some((text, keys));
        self
    }

    /// Draws it, 16 points from the corner and above `bottom` points of bars.
    pub fn show(&mut self, ctx: &Context, bottom: f32) -> ToastEvent {
        let now = ctx.input(|input| input.time);
        let since = *self.since_s.get_or_insert(now);
        let left = SHOWN_S - (now - since);
        if left <= 0.0 {
            return ToastEvent::Over;
        }
        ctx.request_repaint_after(Duration::from_secs_f64(left));
        let mut event = ToastEvent::Shown;
        let screen = ctx.content_rect();
        let size = self.size(ctx);
        let buttons = clickable(ctx, false);
        let kept = self.place.filter(|place| {
            let rect = Rect::from_min_size(*place, size);
            screen.contains_rect(rect) && is_free(&buttons, rect)
        });
        // Rows are left free where that is possible; a window may be full of them.
        let place = kept
            .or_else(|| free_place(&clickable(ctx, true), screen, size, bottom))
            .or_else(|| free_place(&buttons, screen, size, bottom))
            .unwrap_or(pos2(
                screen.right() - MARGIN - size.x,
                screen.bottom() - MARGIN - bottom - size.y,
            ));
        self.place = Some(place);
        Area::new(layer().id)
            .order(layer().order)
            .fixed_pos(place)
            .show(ctx, |ui| {
                if self.card_ui(ui) {
                    event = ToastEvent::Acted;
                }
            });
        event
    }

    /// The text in at most [`ROWS`] rows.
    fn text_galley(&self, ctx: &Context, color: Color32) -> Arc<Galley> {
        let mut job = LayoutJob::simple(
            displayed_block(&self.text).into_owned(),
            font::regular(12.0),
            color,
            TEXT_WIDTH,
        );
        job.wrap.max_rows = ROWS;
        ctx.fonts_mut(|fonts| fonts.layout_job(job))
    }

    /// Size of the card, in points.
    fn size(&self, ctx: &Context) -> Vec2 {
        let action = self.action.map_or(0.0, |(text, keys)| {
            measure_toast_text(ctx, text) + measure_toast_text(ctx, keys) + 40.0
        });
        let text = self.text_galley(ctx, Color32::WHITE).size();
        let row = ctx.fonts_mut(|fonts| fonts.row_height(&font::regular(12.0)));
        vec2(text.x + action + 64.0, 42.0 + (text.y - row).max(0.0))
    }

    /// The card alone. True when its action was clicked.
    pub(super) fn card_ui(&self, ui: &mut egui::Ui) -> bool {
        let t = theme::tokens(ui);
        let mut acted = false;
        egui::Frame::popup(ui.style())
            .inner_margin(egui::Margin::symmetric(12, 9))
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    let (icon, color) = if self.good {
                        (icons::CHECK_CIRCLE, t.ok)
                    } else {
                        (icons::INFO, t.info)
                    };
                    ui.label(theme::rich_text(icon).font(font::icon(16.0)).color(color));
                    ui.label(self.text_galley(ui.ctx(), t.tx));
                    if let Some((text, keys)) = self.action {
                        ui.add_space(8.0);
                        acted = link(ui, text).clicked();
                        key_cap(ui, keys);
                    }
                });
            });
        acted
    }
}

fn measure_toast_text(ctx: &Context, text: &str) -> f32 {
    ctx.fonts_mut(|fonts| {
        fonts
            .layout_no_wrap(text.to_owned(), font::regular(12.0), Color32::WHITE)
            .size()
            .x
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toast_covers_no_button_while_it_is_shown() {
        // A dialog may open while the toast is shown: its buttons move the toast.
        let mut toast = Toast::new(true, "Added 37 files").action("Undo", "Ctrl Z");
        let (mut at, mut placed) = (vec![pos2(20.0, 20.0)], Vec::new());
        for buttons in [
            vec![],
            vec![pos2(560.0, 340.0)],
            vec![pos2(560.0, 340.0), pos2(330.0, 330.0), pos2(40.0, 350.0)],
        ] {
            at.extend(buttons);
            let mut found = None;
            let shown = &mut toast;
            let rects: Vec<Rect> = at
                .iter()
                .map(|at| Rect::from_min_size(*at, vec2(80.0, 24.0)))
                .collect();
            let mut harness = egui_kittest::Harness::builder()
                .with_context_setup(theme::install)
                .with_size(vec2(700.0, 400.0))
                .build_ui(|ui| {
                    rects
                        .iter()
                        .for_each(|rect| drop(ui.put(*rect, egui::Button::new("Apply"))));
                    shown.show(ui.ctx(), 20.0);
                    found = shown
                        .place
                        .map(|place| Rect::from_min_size(place, shown.size(ui.ctx())));
                });
            harness.run_steps(3);
            drop(harness);
            let found = found.expect("it is placed");
            assert!(
                is_free(&rects, found)
                    && Rect::from_min_size(Pos2::ZERO, vec2(700.0, 380.0)).contains_rect(found),
                "{found}"
            );
            placed.push(found.min);
        }
        assert!(
            (placed[0].y - (400.0 - MARGIN - 20.0 - 42.0)).abs() < 1.0,
            "{placed:?}"
        );
        assert!(placed[2].y < placed[0].y, "{placed:?}");
    }

    #[test]
    fn a_toast_covers_no_row_where_there_is_room() {
        let row = Rect::from_min_size(pos2(0.0, 330.0), vec2(700.0, 24.0));
        let placed = free_place(
            &[row],
            Rect::from_min_size(Pos2::ZERO, vec2(700.0, 400.0)),
            vec2(200.0, 42.0),
            20.0,
        );
        assert!(placed.is_some_and(|place| !Rect::from_min_size(place, vec2(200.0,
            42.0)).intersects(row)), "{placed:?}");
    }
}
