//! A tag input: removable chips, with suggestions while typing.

use egui::{
    Id, Key, Modifiers, Popup, PopupCloseBehavior, Rect, Sense, Shape, Stroke, StrokeKind,
    TextEdit, Ui, UiBuilder, pos2, vec2,
};

use super::badge::closable_chip;
use super::combo::option_ui;
use crate::gui::theme::{self, font};

const SHOWN: usize = 8;

/// Id of the text field of the tag input `name`, to request focus.
pub fn tag_input_id(ui: &Ui, name: &str) -> Id {
    ui.make_persistent_id(("tags", name)).with("edit")
}

/// Draws the input and edits `tags`; returns true when they changed. `name` is the accessible name;
/// `bad` draws the border of an error. With `strict`, only suggestions can be added; otherwise
/// Enter, a comma or losing the focus adds the typed text. Down and Up select suggestions; Escape
/// discards the typed text.
pub fn tag_input<S: AsRef<str>>(
    ui: &mut Ui,
    name: &str,
    tags: &mut Vec<String>,
    suggestions: &[S],
    hint: &str,
    strict: bool,
    bad: bool,
) -> bool {
    let t = theme::tokens(ui);
    let id = ui.make_persistent_id(("tags", name));
    let mut typed: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let before = typed.clone();
    let width = ui.available_width();
    let frame = ui.painter().add(Shape::Noop);
    let top = ui.cursor().min;
    let mut removed = None;
    let mut child = ui.new_child(
        UiBuilder::new()
            .max_rect(Rect::from_min_size(
                top + vec2(5.0, 3.0),
                vec2(width - 10.0, 20.0),
            ))
            .layout(egui::Layout::left_to_right(egui::Align::Center).with_main_wrap(true)),
    );
    child.spacing_mut().item_spacing = vec2(4.0, 4.0);
    child.spacing_mut().interact_size.y = 20.0;
    for (index, tag) in tags.iter().enumerate() {
        if closable_chip(&mut child, tag) {
            removed = Some(index);
        }
    }
    let room = (child.available_size_before_wrap().x - 4.0).max(80.0);
    let edit_id = tag_input_id(ui, name);
    // Read before the editor, which releases the focus on Enter.
    let (enter, comma) = child.input(|input| (input.key_pressed(Key::Enter), typed.contains(',')));
    let (marks, lists) = (id.with("mark"), id.with("list"));
    let mut mark: Option<usize> = ui.data(|data| data.get_temp(marks)).unwrap_or_default();
    let listed = ui.data(|data| data.get_temp(lists)).unwrap_or(false)
        && ui.memory(|memory| memory.has_focus(edit_id));
    let (down, up) = if listed {
        child.input_mut(|input| {
            (
                input.consume_key(Modifiers::NONE, Key::ArrowDown),
                input.consume_key(Modifiers::NONE, Key::ArrowUp),
            )
        })
    } else {
        (false, false)
    };
    let edit = TextEdit::singleline(&mut typed)
        .id(edit_id)
        .frame(egui::Frame::NONE)
        .margin(egui::Margin::symmetric(4, 0))
        .min_size(vec2(0.0, 20.0))
        .align(egui::Align2::LEFT_CENTER)
        .desired_width(room - 8.0)
        .font(font::mono(12.0))
        .hint_text(
            theme::rich_text(hint)
                .font(font::regular(13.0))
                .color(t.tx3),
        );
    let response = child.add(edit);
    child
        .ctx()
        .accesskit_node_builder(response.id, |node| node.set_label(name));
    let used = child.min_rect();
    let rect = Rect::from_min_max(
        top,
        pos2(top.x + width, used.bottom().max(top.y + 23.0) + 3.0),
    );
    let outer = ui.allocate_rect(rect, Sense::hover());
    let stays = !response.has_focus() && !typed.trim().is_empty();
    let (border, thickness) = if bad || (strict && stays) {
        (t.err, 2.0)
    } else if response.has_focus() {
        (t.accfill, 2.0)
    } else {
        (t.ctl, 1.0)
    };
    ui.painter().set(
        frame,
        egui::epaint::RectShape::new(
            rect,
            4,
            t.input,
            Stroke::new(thickness, border),
            StrokeKind::Inside,
        ),
    );

    let wanted = typed.trim().trim_end_matches(',').to_lowercase();
    let offered: Vec<&str> = suggestions
        .iter()
        .map(AsRef::as_ref)
        .filter(|text| !tags.iter().any(|tag| tag == text) && text.to_lowercase().contains(&wanted))
        .take(SHOWN)
        .collect();
    if typed != before {
        mark = None;
    }
    mark = match mark {
        _ if offered.is_empty() => None,
        None if down => Some(0),
        None if up => Some(offered.len() - 1),
        Some(at) if down => Some((at + 1) % offered.len()),
        Some(at) if up => Some((at + offered.len() - 1) % offered.len()),
        at => at.filter(|at| *at < offered.len()),
    };
    let mut added = None;
    let popup = id.with("popup");
    // After a tag was added the list stays closed until the next key, so that it does not cover the
    // content below.
    let rest = id.with("rest");
    let resting = ui.data(|data| data.get_temp(rest)).unwrap_or(false)
        && wanted.is_empty()
        && response.has_focus();
    let open =
        response.has_focus() && !offered.is_empty() && !resting && (strict || !wanted.is_empty());
    let shown = Popup::from_response(&outer)
        .id(popup)
        .open(open || ui.data(|data| data.get_temp(popup)).unwrap_or(false))
        .close_behavior(PopupCloseBehavior::IgnoreClicks)
        .width(width)
        .gap(4.0)
        .accessible_name(tr!("Suggestions for {name}", name))
        .show(|ui| {
            ui.set_min_width(width - 10.0);
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, text) in offered.iter().enumerate() {
                if option_ui(ui, text, mark == Some(index), font::mono(12.0)).clicked() {
                    added = Some((*text).to_owned());
                }
            }
        });
    // A press on the list takes the focus from the text field. The list stays open for that frame,
    // so that the click reaches it.
    let hovered = shown.is_some_and(|shown| shown.response.contains_pointer());
    // After the click the list closes, as it covers the fields below. The text field keeps the
    // focus for another tag.
    ui.data_mut(|data| {
        data.insert_temp::<bool>(popup, hovered && !offered.is_empty() && added.is_none())
    });
    if added.is_some() {
        response.request_focus();
    }

    let marked = mark.and_then(|at| offered.get(at));
    let exact = marked.or(offered.iter().find(|text| text.to_lowercase() == wanted));
    let raw =
        || (!strict && !wanted.is_empty()).then(|| typed.trim().trim_end_matches(',').to_owned());
    if response.lost_focus() && enter || comma {
        added = exact
            .or(offered.first().filter(|_| strict))
            .map(|text| (*text).to_owned())
            .or_else(raw);
        response.request_focus();
    } else if response.lost_focus() && ui.input(|input| input.key_pressed(Key::Escape)) {
        typed.clear();
    } else if stays && !hovered && added.is_none() {
        // Losing the focus adds the typed text; with `strict`, only an exact or the only
        // suggestion.
        let only = offered.first().filter(|_| strict && offered.len() == 1);
        added = exact.or(only).map(|text| (*text).to_owned()).or_else(raw);
    }
    let kept = mark.filter(|_| added.is_none() && response.has_focus());
    ui.data_mut(|data| {
        data.insert_temp(lists, open);
        data.insert_temp(marks, kept);
    });
    if typed.is_empty()
        && before.is_empty()
        && response.has_focus()
        && ui.input(|input| input.key_pressed(Key::Backspace))
    {
        removed = tags.len().checked_sub(1);
    }
    let mut changed = false;
    if let Some(index) = removed {
        tags.remove(index);
        changed = true;
    }
    ui.data_mut(|data| data.insert_temp(rest, resting || added.is_some()));
    if let Some(text) = added {
        typed.clear();
        if !text.is_empty() && !tags.contains(&text) {
            tags.push(text);
            changed = true;
        }
    }
    ui.data_mut(|data| data.insert_temp(id, typed));
    changed
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use egui_kittest::kittest::Queryable;

    use super::*;

    #[test]
    fn the_list_closes_when_a_suggestion_was_clicked() {
        let tags: Rc<RefCell<Vec<String>>> = Rc::default();
        let edited = tags.clone();
        let mut harness = egui_kittest::Harness::builder()
            .with_context_setup(theme::install)
            .with_size(vec2(300.0, 300.0))
            .build_ui(move |ui| {
                tag_input(
                    ui,
                    "tasks",
                    &mut edited.borrow_mut(),
                    &["classification", "regression"],
                    "Add task",
                    true,
                    false,
                );
            });
        harness.run_steps(2);
        harness.get_by_label("tasks").focus();
        harness.run_steps(2);
        harness.event(egui::Event::Text("classif".to_owned()));
        harness.run_steps(3);
        harness.get_by_label("classification").click();
        harness.run_steps(4);
        assert_eq!(*tags.borrow(), ["classification"]);
        // The pointer is still where the list was.
        assert!(harness.query_by_label("regression").is_none());
        harness.event(egui::Event::Text("reg".to_owned()));
        harness.run_steps(3);
        assert!(
            harness.query_by_label("regression").is_some(),
            "the caret is in the input"
        );
    }
}
