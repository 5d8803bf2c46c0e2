//! Every control of every panel has an accessible name, for screen readers and scripts.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;

use super::support::{Window, app, fork_with_faults, sample, settle, take};

const CONTROLS: [Role; 12] = [
    Role::Button,
    Role::CheckBox,
    Role::RadioButton,
    Role::ComboBox,
    Role::TextInput,
    Role::MultilineTextInput,
    Role::Slider,
    Role::Link,
    Role::Tab,
    Role::Row,
    Role::ListItem,
    Role::TreeItem,
];

/// Collects the controls without a name; returns the number of controls with one.
fn nameless(harness: &Window, place: &str, found: &mut Vec<String>) -> usize {
    let mut named = 0;
    for role in CONTROLS {
        for node in harness.query_all_by_role(role) {
            let label = node.accesskit_node().label().unwrap_or_default();
            if label.trim().is_empty() {
                found.push(format!("{place}: a {role:?} at {:?}", node.rect()));
            } else {
                named += 1;
            }
        }
    }
    named
}

#[test]
fn every_control_has_a_name() {
    let mut found = Vec::new();
    let mut harness = app(egui::Theme::Dark);
    assert!(nameless(&harness, "welcome", &mut found) > 5);
    take(&mut harness, vec![sample()]);
    for draft in [false, true] {
        if draft {
            fork_with_faults(&mut harness);
        }
        for pane in Pane::ALL {
            harness.state_mut().show_pane(pane);
            settle(&mut harness);
            let named = nameless(
                &harness,
                &format!(
                    "{} of {}",
                    pane.title(),
                    if draft { "a draft" } else { "a dataset" }
                ),
                &mut found,
            );
            assert!(named > 10, "{} has {named} controls", pane.title());
        }
    }
    for part in ["Labels", "Bands", "Papers", "Split", "RAI", "JSON"] {
        harness.state_mut().show_pane(Pane::Collection);
        settle(&mut harness);
        harness
            .get_by_role_and_label(Role::RadioButton, part)
            .click();
        settle(&mut harness);
        nameless(&harness, &format!("Collection, {part}"), &mut found);
    }
    harness.state_mut().act(Action::Undo);
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    harness.state_mut().act(Action::Write);
    settle(&mut harness);
    nameless(&harness, "the write dialog", &mut found);
    assert!(
        found.is_empty(),
        "controls without a name:\n  {}",
        found.join("\n  ")
    );
}
