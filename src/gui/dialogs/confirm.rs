//! The confirmation dialog, which lists lost and kept data.

use egui::{Frame, Margin, Ui};

use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::widgets::Button;

/// The question.
pub struct Confirm {
    pub title: String,
    /// Lost and kept data.
    pub what: String,
    /// Text of the confirming button; empty if only the alternative is offered.
    pub button: String,
    /// The request when confirmed.
    pub then: Option<Request>,
    /// The alternative: text and request.
    pub instead: Option<(String, Request)>,
    /// Text of the cancel button.
    pub stay: &'static str,
}

impl DialogView for Confirm {
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(460.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(ui, icons::WARNING, &self.title, "");
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.label(theme::style_small_text(&self.what, t.tx2));
        });
        let mut better = false;
        let (stay, act) = foot_ui(ui, |ui| {
            if let Some((verb, _)) = &self.instead {
                better = ui.add(Button::primary(verb.as_str()).large()).clicked();
            }
            let act = !self.button.is_empty()
                && ui
                    .add(Button::danger(self.button.as_str()).large())
                    .clicked();
            let keep = Button::ghost(self.stay).large();
            let keep = if self.instead.is_none() {
                keep.first()
            } else {
                keep
            };
            (ui.add(keep).clicked(), act)
        });
        if better && let Some((_, ask)) = self.instead.take() {
            return Next::Do(ask);
        }
        match (act, stay || close) {
            (true, _) => self.then.take().map_or(Next::Close, Next::Do),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}
