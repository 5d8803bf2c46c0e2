//! Selection, input and questions stay with their sample and document while other changes happen.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::Edit;
use taco_studio::gui::action::Action;
use taco_studio::model::NodePath;
use taco_studio::studio::{Command, RowRef};

use super::support::{
    Window, app, click, dataset, document, fill, fork_with_faults, sample, scenes, settle, take,
};

fn draft(harness: &mut Window, roots: usize) {
    take(harness, scenes().into_iter().take(roots).collect());
}

fn edit(harness: &mut Window, edit: Edit) {
    harness.state_mut().command(Command::Edit { edit });
    settle(harness);
}

fn is_selected(harness: &Window, id: &str) -> bool {
    harness
        .query_all_by_role_and_label(Role::TreeItem, id)
        .any(|item| item.accesskit_node().is_selected() == Some(true))
}

#[test]
fn a_filtered_hierarchy_outlives_roots_that_go() {
    let mut harness = app(egui::Theme::Dark);
    draft(&mut harness, 6);
    fill(&mut harness, "Filter ids", "_");
    for at in (0..6).rev() {
        // The filter runs in the background while frames show its previous result.
        edit(
            &mut harness,
            Edit::Remove {
                parent: NodePath::root(),
                at,
                count: 1,
            },
        );
    }
    assert_eq!(dataset(&harness).root.samples.len(), 0);
}

#[test]
fn the_selection_stays_on_its_sample() {
    let mut harness = app(egui::Theme::Dark);
    draft(&mut harness, 4);
    let id = dataset(&harness).root.samples[2].id.to_string();
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 2 }));
    settle(&mut harness);
    assert!(is_selected(&harness, &id));
    edit(
        &mut harness,
        Edit::Remove {
            parent: NodePath::root(),
            at: 0,
            count: 1,
        },
    );
    assert!(is_selected(&harness, &id), "one before it went");
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert!(is_selected(&harness, &id), "and came back");
    harness.state_mut().act(Action::MoveUp);
    settle(&mut harness);
    assert!(is_selected(&harness, &id), "it moved itself");
}

#[test]
fn a_shortcut_commits_the_text_of_a_field() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("work.tacostudio");
    let mut harness = app(egui::Theme::Dark);
    draft(&mut harness, 3);
    harness.state_mut().command(Command::SaveProject {
        path: Some(file.clone()),
        view: None,
        overwrite: None,
    });
    settle(&mut harness);
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 1 }));
    settle(&mut harness);
    harness
        .state_mut()
        .show_pane(taco_studio::gui::Pane::Sample);
    settle(&mut harness);
    fill(&mut harness, "Sample id", "typed_and_saved");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    settle(&mut harness);
    assert_eq!(&*dataset(&harness).root.samples[1].id, "typed_and_saved");
    assert!(
        !document(&harness).draft().expect("a draft").is_dirty(),
        "the file has it too"
    );
    // Changes of the draft keep the text being typed.
    fill(&mut harness, "Sample id", "half_typed");
    edit(
        &mut harness,
        Edit::SetCollection {
            key: "title".into(),
            value: Some("Elsewhere".into()),
        },
    );
    let field = harness.get_by_role_and_label(Role::TextInput, "Sample id");
    assert_eq!(field.value().as_deref(), Some("half_typed"));
    // Closing asks about text that was just typed.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::W);
    settle(&mut harness);
    assert_eq!(&*dataset(&harness).root.samples[1].id, "half_typed");
    assert!(harness.query_by_label("Discard changes").is_some());
}

#[test]
fn a_problem_that_is_mended_is_not_mended_again() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    fork_with_faults(&mut harness);
    let roots = dataset(&harness).root.samples.len();
    harness.state_mut().act(Action::NextProblem);
    settle(&mut harness);
    // At the rate of key repeat: the check of the first edit has not finished.
    for _ in 0..4 {
        harness.key_press_modifiers(Modifiers::COMMAND, Key::Period);
        harness.step();
    }
    settle(&mut harness);
    assert_eq!(
        dataset(&harness).root.samples.len(),
        roots,
        "no root was dropped"
    );
}

#[test]
fn a_question_goes_with_its_document() {
    let mut harness = app(egui::Theme::Dark);
    let folder = tempfile::tempdir().expect("a temporary folder");
    draft(&mut harness, 3);
    harness.state_mut().command(Command::SaveProject {
        path: Some(folder.path().join("a.tacostudio")),
        view: None,
        overwrite: None,
    });
    settle(&mut harness);
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 0 }));
    settle(&mut harness);
    harness.state_mut().act(Action::Remove);
    settle(&mut harness);
    assert!(harness.query_by_label("Remove folder").is_some());
    take(&mut harness, vec![sample()]);
    assert!(harness.query_by_label("Remove folder").is_none());
    assert!(document(&harness).opened_dataset().is_some());
    click(&mut harness, "Table");
}
