//! Keyboard input in dialogs and in the collection form: initial focus, confirmation, undo.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::Edit;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::NodePath;
use taco_studio::studio::Command;

use super::support::{Window, app, dataset, document, fill, picture, sample, settle, take};

fn press(harness: &mut Window, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    settle(harness);
}

/// Label of the focused widget.
fn focused(harness: &Window) -> Option<String> {
    harness
        .query_all_by(|node| node.is_focused())
        .next()?
        .accesskit_node()
        .label()
}

fn list(harness: &Window, key: &str) -> Vec<String> {
    let items = document(harness)
        .collection()
        .get(key)
        .and_then(|value| value.as_array())
        .cloned()
        .unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn text(harness: &Window, key: &str) -> String {
    document(harness)
        .collection()
        .get(key)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
        .to_owned()
}

/// An empty draft with the form in front.
fn form() -> Window {
    let mut harness = app(egui::Theme::Dark);
    harness.state_mut().command(Command::New);
    harness.state_mut().show_pane(Pane::Collection);
    settle(&mut harness);
    harness
}

#[test]
fn a_word_is_taken_when_the_focus_leaves_and_the_arrows_choose() {
    let mut harness = form();
    fill(&mut harness, "keywords", "rivers");
    press(&mut harness, Modifiers::NONE, Key::Tab);
    assert_eq!(list(&harness, "keywords"), ["rivers"], "Tab");
    fill(&mut harness, "keywords", "floods");
    harness
        .get_by_role_and_label(Role::TextInput, "title")
        .click();
    settle(&mut harness);
    assert_eq!(
        list(&harness, "keywords"),
        ["rivers", "floods"],
        "a click elsewhere"
    );
    fill(&mut harness, "keywords", "wrong");
    press(&mut harness, Modifiers::NONE, Key::Escape);
    assert_eq!(list(&harness, "keywords").len(), 2, "Escape takes nothing");

    fill(&mut harness, "licenses", "CC-BY-4");
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    press(&mut harness, Modifiers::NONE, Key::ArrowDown);
    press(&mut harness, Modifiers::NONE, Key::ArrowUp);
    picture(&mut harness, "tags-marked");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(list(&harness, "licenses"), ["CC-BY-4.0"]);
    // Only tasks of the list are accepted.
    fill(&mut harness, "tasks", "segm");
    press(&mut harness, Modifiers::NONE, Key::Tab);
    assert!(
        list(&harness, "tasks")
            .iter()
            .all(|task| task.contains("segm") && task != "segm")
    );
}

#[test]
fn undo_takes_back_the_last_edit_wherever_the_focus_is() {
    let mut harness = form();
    fill(&mut harness, "title", "Rivers");
    fill(&mut harness, "description", "Of Iberia");
    assert_eq!(
        (text(&harness, "title"), text(&harness, "description")),
        ("Rivers".into(), "Of Iberia".into())
    );
    assert_eq!(focused(&harness).as_deref(), Some("description"));
    press(&mut harness, Modifiers::COMMAND, Key::Z);
    assert_eq!(text(&harness, "description"), "");
    press(&mut harness, Modifiers::COMMAND, Key::Z);
    assert_eq!(text(&harness, "title"), "", "a second one goes on");
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(
        (text(&harness, "title"), text(&harness, "description")),
        ("Rivers".into(), String::new())
    );
    // Recent typing is undone as a whole.
    harness
        .get_by_role_and_label(Role::TextInput, "title")
        .type_text("x");
    harness.step();
    press(&mut harness, Modifiers::COMMAND, Key::Z);
    assert_eq!(text(&harness, "title"), "Rivers");
}

#[test]
fn the_offer_to_undo_goes_with_its_edit() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    let ids = |harness: &Window| {
        dataset(harness)
            .root
            .samples
            .iter()
            .map(|sample| sample.id.to_string())
            .collect::<Vec<_>>()
    };
    harness.state_mut().command(Command::Edit {
        edit: Edit::Rename {
            sample: NodePath(vec![0]),
            id: "first".into(),
        },
    });
    settle(&mut harness);
    harness.state_mut().command(Command::Edit {
        edit: Edit::Remove {
            parent: NodePath::root(),
            at: 3,
            count: 1,
        },
    });
    settle(&mut harness);
    let offered = |harness: &Window| {
        harness
            .query_by_role_and_label(Role::Link, "Undo")
            .is_some()
    };
    assert!(offered(&harness));
    press(&mut harness, Modifiers::COMMAND, Key::Z);
    assert_eq!(
        (ids(&harness).len(), ids(&harness)[0].as_str()),
        (24, "first")
    );
    assert!(!offered(&harness), "its button would take back the name");
}

#[test]
fn dialogs_focus_their_main_field() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    for (action, name) in [
        (Action::Describe, "Write description"),
        (Action::ExportSubset, "Export now"),
    ] {
        harness.state_mut().act(action);
        settle(&mut harness);
        assert_eq!(focused(&harness).as_deref(), Some(name));
        // Tab visits every widget except the close button, for which there is Esc.
        for _ in 0..30 {
            press(&mut harness, Modifiers::NONE, Key::Tab);
            assert_ne!(focused(&harness).as_deref(), Some("Close dialog"));
        }
        press(&mut harness, Modifiers::NONE, Key::Escape);
    }
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    harness.state_mut().act(Action::Write);
    settle(&mut harness);
    assert_eq!(
        focused(&harness).as_deref(),
        Some("Write now"),
        "once its checks have passed"
    );
    picture(&mut harness, "write-focus");
    press(&mut harness, Modifiers::NONE, Key::Escape);
    harness.state_mut().command(Command::Edit {
        edit: Edit::Rename {
            sample: NodePath(vec![0]),
            id: "first".into(),
        },
    });
    settle(&mut harness);
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    assert_eq!(focused(&harness).as_deref(), Some("Save first"));
    press(&mut harness, Modifiers::NONE, Key::Escape);
    // For closing with loss, Enter means to keep.
    let at = taco_studio::studio::RowRef { level: 0, row: 0 };
    harness.state_mut().select(Some(at));
    harness.state_mut().act(Action::Remove);
    settle(&mut harness);
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(dataset(&harness).root.samples.len(), 24);
    assert!(harness.query_by_label("Remove folder").is_none());
}
