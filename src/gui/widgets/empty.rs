//! The empty state of a panel: title, reason and actions.

use egui::{Align, Layout, Ui, vec2};

use super::{Button, paint};
use crate::gui::theme::{self, font, text_style};

/// Texts of an empty state.
pub struct EmptyState<'a> {
    /// Icon, 24 points.
    pub icon: &'static str,
    /// Title: the missing content.
    pub title: &'a str,
    /// Why, or what fills it.
    pub why: &'a str,
    /// One or two actions, the more likely one first.
    pub actions: &'a [&'a str],
}

/// Draws an empty state in the centre of the available space. Returns the index of the clicked
/// action.
pub fn draw_empty_state_with_actions(ui: &mut Ui, state: &EmptyState<'_>) -> Option<usize> {
    let height = 116.0 + if state.actions.is_empty() { 0.0 } else { 34.0 };
    let free = ui.available_height() - height;
    if free >= 0.0 {
        return contents_ui(ui, state, free);
    }
    // A low panel scrolls, so that its actions can be reached.
    egui::ScrollArea::vertical()
        .id_salt("empty-state")
        .min_scrolled_height(0.0)
        .show(ui, |ui| contents_ui(ui, state, free))
        .inner
}

/// Draws an empty state without actions.
pub fn draw_empty_state(ui: &mut Ui, icon: &'static str, title: &str, why: &str) {
    let state = EmptyState {
        icon,
        title,
        why,
        actions: &[],
    };
    let _ = draw_empty_state_with_actions(ui, &state);
}

fn contents_ui(ui: &mut Ui, state: &EmptyState<'_>, free: f32) -> Option<usize> {
    let t = theme::tokens(ui);
    let mut clicked = None;
    ui.with_layout(Layout::top_down(Align::Center), |ui| {
        ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
        ui.add_space((free / 2.0).max(if free < 0.0 { 4.0 } else { 12.0 }));
        // The icon is the first to go where the height is short.
        if free >= 0.0 {
            let (rect, _) = ui.allocate_exact_size(vec2(28.0, 28.0), egui::Sense::hover());
            paint::draw_icon(ui.painter(), rect.center(), state.icon, 24.0, t.tx3);
        }
        ui.label(
            theme::rich_text(state.title)
                .font(font::semibold(13.0))
                .color(t.tx),
        );
        ui.scope(|ui| {
            ui.set_max_width(360.0_f32.min(ui.available_width() - 24.0));
            ui.label(
                theme::rich_text(state.why)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
        });
        if state.actions.is_empty() {
            return;
        }
        ui.add_space(4.0);
        // Centring two buttons needs their width in advance.
        let widths: f32 = state
            .actions
            .iter()
            .map(|text| {
                paint::measure_text_width(ui.painter(), text, font::medium(12.0), t.tx) + 18.0
            })
            .sum();
        let total = widths + 8.0 * (state.actions.len() - 1) as f32;
        ui.allocate_ui_with_layout(
            vec2(total, 24.0),
            Layout::left_to_right(Align::Center),
            |ui| {
                for (index, text) in state.actions.iter().enumerate() {
                    let button = if index == 0 {
                        Button::secondary(*text)
                    } else {
                        Button::ghost(*text)
                    };
                    if ui.add(button).clicked() {
                        clicked = Some(index);
                    }
                }
            },
        );
    });
    clicked
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use egui_kittest::kittest::Queryable;

    use super::*;
    use crate::gui::icons;

    #[test]
    fn the_action_of_a_low_panel_is_reached_by_scrolling() {
        let clicked: Rc<Cell<Option<usize>>> = Rc::default();
        let found = clicked.clone();
        let mut harness = egui_kittest::Harness::builder()
            .with_context_setup(theme::install)
            .with_size(vec2(400.0, 70.0))
            .build_ui(move |ui| {
                let state = EmptyState {
                    icon: icons::CLOUD,
                    title: "Nothing",
                    why: "There is nothing.",
                    actions: &["Open"],
                };
                found.set(found.get().or(draw_empty_state_with_actions(ui, &state)));
            });
        harness.run_steps(2);
        harness.get_by_label("Open").scroll_to_me();
        harness.run_steps(60);
        let rect = harness.get_by_label("Open").rect();
        assert!(rect.bottom() <= 70.0, "{rect:?}");
        harness.get_by_label("Open").click();
        harness.run_steps(2);
        assert_eq!(clicked.get(), Some(0));
    }
}
