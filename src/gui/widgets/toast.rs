//! The short message at the bottom right: one at a time, six seconds, with Undo after an edit.

use std::time::Duration;

use egui::{Align2, Area, Context, Id, Order, RichText};

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
        Self { good, text: text.into(), action: None, since_s: None }
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
        Area::new(Id::unique("toast")).order(Order::Tooltip).anchor(Align2::RIGHT_BOTTOM, [-16.0, -16.0 - bottom]).show(
            ctx,
            |ui| {
                if self.card_ui(ui) {
                    event = ToastEvent::Acted;
                }
            },
        );
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
