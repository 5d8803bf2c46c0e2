//! The short message at the bottom right, or where it covers no button: one at a time, six seconds, with Undo after an edit.

use std::time::Duration;

use egui::{Align2, Area, Color32, Context, Id, Order, RichText, vec2};

use super::{key_cap, link};
use crate::gui::icons;
use crate::gui::theme::{self, font};

const SHOWN_S: f64 = 6.0;

/// A message with an optional action.
#[derive(Clone, Debug)]
pub struct Toast {
    /// True for success, false for a neutral note.
    pub good: bool,
    /// What has happened.
    pub text: String,
    /// An action with its shortcut: `("Undo", "Ctrl Z")`.
    pub action: Option<(&'static str, &'static str)>,
    since_s: Option<f64>,
    /// Where it is shown; chosen when it appears.
    corner: Option<Align2>,
}

/// Places of the toast, best first.
const CORNERS: [Align2; 6] =
    [Align2::RIGHT_BOTTOM, Align2::CENTER_BOTTOM, Align2::LEFT_BOTTOM, Align2::CENTER_TOP, Align2::RIGHT_TOP, Align2::LEFT_TOP];
/// Largest size of a widget that counts as a button, in points; lists and canvases are larger.
const BUTTON: egui::Vec2 = vec2(320.0, 40.0);

/// Distance from the corner, above `bottom` points of bars; at the top below the bar of menus.
fn offset(corner: Align2, bottom: f32) -> egui::Vec2 {
    let x = match corner.x() {
        egui::Align::Min => 16.0,
        egui::Align::Center => 0.0,
        egui::Align::Max => -16.0,
    };
    vec2(x, if corner.y() == egui::Align::Max { -16.0 - bottom } else { 56.0 })
}

/// The first place where a toast of this size covers no button of the last frame.
fn free_corner(ctx: &Context, size: egui::Vec2, bottom: f32) -> Align2 {
    let screen = ctx.content_rect();
    let place = |corner: &Align2| corner.align_size_within_rect(size, screen).translate(offset(*corner, bottom));
    let is_free = |corner: &&Align2| {
        let toast = place(corner);
        ctx.viewport(|viewport| {
            let widgets = viewport.prev_pass.widgets.layers().flat_map(|(_, widgets)| widgets.iter());
            let mut buttons = widgets.filter(|widget| {
                let size = widget.rect.size();
                widget.enabled && widget.sense.senses_click() && size.x <= BUTTON.x && size.y <= BUTTON.y
            });
            !buttons.any(|button| button.interact_rect.is_positive() && button.interact_rect.intersects(toast))
        })
    };
    CORNERS.iter().find(is_free).copied().unwrap_or(Align2::RIGHT_BOTTOM)
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
        Self { good, text: text.into(), action: None, since_s: None, corner: None }
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
        let corner = *self.corner.get_or_insert_with(|| {
            let width = |text: &str| {
                ctx.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font::regular(12.0), Color32::WHITE).size().x)
            };
            let action = self.action.map_or(0.0, |(text, keys)| width(text) + width(keys) + 40.0);
            free_corner(ctx, vec2(width(&self.text) + action + 64.0, 42.0), bottom)
        });
        Area::new(Id::unique("toast")).order(Order::Tooltip).anchor(corner, offset(corner, bottom)).show(ctx, |ui| {
            if self.card_ui(ui) {
                event = ToastEvent::Acted;
            }
        });
        event
    }

    /// The card alone. True when its action was clicked.
    pub(super) fn card_ui(&self, ui: &mut egui::Ui) -> bool {
        let t = theme::tokens(ui);
        let mut acted = false;
        egui::Frame::popup(ui.style()).inner_margin(egui::Margin::symmetric(12, 9)).show(ui, |ui| {
            ui.horizontal(|ui| {
                let (icon, color) = if self.good { (icons::CHECK_CIRCLE, t.ok) } else { (icons::INFO, t.info) };
                ui.label(RichText::new(icon).font(font::icon(16.0)).color(color));
                ui.label(RichText::new(&self.text).font(font::regular(12.0)).color(t.tx));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toast_covers_no_button() {
        for (at, corner) in [(egui::pos2(560.0, 340.0), Align2::CENTER_BOTTOM), (egui::pos2(20.0, 20.0), Align2::RIGHT_BOTTOM)] {
            let mut found = None;
            let mut harness =
                egui_kittest::Harness::builder().with_context_setup(theme::install).with_size(vec2(700.0, 400.0)).build_ui(|ui| {
                    ui.put(egui::Rect::from_min_size(at, vec2(80.0, 24.0)), egui::Button::new("Apply"));
                    found = Some(free_corner(ui.ctx(), vec2(200.0, 42.0), 20.0));
                });
            harness.run_steps(3);
            drop(harness);
            assert_eq!(found, Some(corner), "a button at {at}");
        }
    }
}
