//! A choice from a list: egui's combo box in the style of an input, with a caret.

use egui::{Align, ComboBox, Layout, Response, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

/// Shows `current` and, when clicked, the options. Returns the index of the chosen option.
pub fn combo<S: AsRef<str>>(
    ui: &mut Ui,
    name: &str,
    current: &str,
    width: f32,
    mono: bool,
    options: &[S],
) -> Option<usize> {
    let t = theme::tokens(ui);
    let text_font = if mono {
        font::mono(12.0)
    } else {
        font::regular(13.0)
    };
    // Several combos of a panel can have the same name.
    let id = ui.next_auto_id();
    let key = id.with("typed");
    // Before the button, which Enter would click.
    let typed = ui
        .data(|data| data.get_temp::<(String, f64)>(key))
        .is_some_and(|(typed, _)| !typed.is_empty());
    let entered =
        typed && ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, egui::Key::Enter));
    // A longer text is cut at the width.
    let shown = ui.allocate_ui_with_layout(
        vec2(width, 26.0),
        Layout::left_to_right(Align::Center),
        |ui| {
            ui.spacing_mut().button_padding = vec2(9.0, 4.0);
            ui.spacing_mut().interact_size.y = 26.0;
            ui.spacing_mut().icon_width = 12.0;
            let widgets = &mut ui.visuals_mut().widgets;
            for state in [
                &mut widgets.inactive,
                &mut widgets.hovered,
                &mut widgets.active,
                &mut widgets.open,
            ] {
                (state.weak_bg_fill, state.bg_stroke, state.expansion) =
                    (t.input, Stroke::new(1.0, t.tx3), 0.0);
                state.corner_radius = 4.into();
            }
            widgets.inactive.bg_stroke.color = t.ctl;
            ComboBox::from_id_salt(id)
                .selected_text(
                    theme::rich_text(current)
                        .font(text_font.clone())
                        .color(t.tx),
                )
                .width(width)
                .height(300.0)
                .truncate()
                .icon(move |ui, rect, _, _| {
                    paint::draw_icon(ui.painter(), rect.center(), icons::CARET_DOWN, 12.0, t.tx3)
                })
                .show_ui(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    ui.set_min_width((width - 10.0).max(60.0));
                    let (sought, is_new) = sought_option(ui, key, options);
                    let mut picked = None;
                    for (index, option) in options.iter().enumerate() {
                        let chosen =
                            sought.map_or(option.as_ref() == current, |sought| sought == index);
                        let response = option_ui(ui, option.as_ref(), chosen, text_font.clone());
                        if is_new && sought == Some(index) {
                            response.scroll_to_me(None);
                        }
                        if response.clicked() {
                            picked = Some(index);
                        }
                    }
                    if entered {
                        picked = sought;
                        ui.close();
                    }
                    picked
                })
        },
    );
    if shown.inner.inner.is_none() {
        ui.data_mut(|data| data.remove::<(String, f64)>(key));
    }
    let (response, enabled) = (shown.inner.response, ui.is_enabled());
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ComboBox, enabled, name);
        info.current_text_value = Some(current.to_owned());
        info
    });
    paint::focus_ring(ui, &response, 4);
    shown.inner.inner.flatten()
}

/// Seconds after which typing begins a new word.
const TYPING_S: f64 = 1.5;

/// The option that begins with what is typed while the list is open, or else contains it, and
/// whether letters were typed in this frame.
fn sought_option<S: AsRef<str>>(ui: &Ui, key: egui::Id, options: &[S]) -> (Option<usize>, bool) {
    let (now, new) = ui.input(|input| {
        let typed = input.events.iter().filter_map(|event| {
            if let egui::Event::Text(text) = event {
                Some(text.as_str())
            } else {
                None
            }
        });
        (input.time, typed.collect::<String>())
    });
    let is_new = !new.is_empty();
    let (typed, _) = ui.data_mut(|data| {
        let state = data.get_temp_mut_or_default::<(String, f64)>(key);
        if is_new && now - state.1 > TYPING_S {
            state.0.clear();
        }
        if is_new {
            state.0.push_str(&new.to_lowercase());
            state.1 = now;
        }
        state.clone()
    });
    if typed.is_empty() {
        return (None, false);
    }
    let names: Vec<String> = options
        .iter()
        .map(|option| option.as_ref().to_lowercase())
        .collect();
    let begins = names.iter().position(|name| name.starts_with(&typed));
    (
        begins.or_else(|| names.iter().position(|name| name.contains(&typed))),
        is_new,
    )
}

/// One row of a list of options.
pub(super) fn option_ui(
    ui: &mut Ui,
    text: &str,
    chosen: bool,
    text_font: egui::FontId,
) -> Response {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, enabled, chosen, text));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, 3, t.bg4);
    } else if chosen {
        ui.painter().rect_filled(rect, 3, t.sel);
    }
    paint::text_left(
        ui.painter(),
        rect.shrink2(vec2(6.0, 0.0)),
        text,
        text_font,
        t.tx,
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    #[test]
    fn typing_finds_an_option_and_enter_takes_it() {
        let names: Vec<String> = (1..=60).map(|number| format!("B{number:02}")).collect();
        let mut harness = Harness::builder()
            .with_context_setup(theme::install)
            .build_ui_state(
                |ui, picked: &mut Option<usize>| {
                    if let Some(index) = combo(ui, "Band", "B01", 90.0, true, &names) {
                        *picked = Some(index);
                    }
                },
                None,
            );
        harness
            .get_by_role_and_label(Role::ComboBox, "Band")
            .click();
        harness.run();
        harness.event(egui::Event::Text("b4".into()));
        harness.run();
        harness.event(egui::Event::Text("8".into()));
        harness.run();
        harness.key_press(egui::Key::Enter);
        harness.run();
        assert_eq!(*harness.state(), Some(47));
        assert!(
            harness.query_by_label("B48").is_none(),
            "the list is closed"
        );
    }
}
