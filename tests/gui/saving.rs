//! Drafts are not lost: saved and opened again, autosaved, restored after a crash, with one
//! confirmation before discarding.

use std::path::Path;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use taco_studio::draft::Edit;
use taco_studio::gui::action::Action;
use taco_studio::jobs::Jobs;
use taco_studio::studio::{Command, Studio};

use super::support::{Window, app, click, dataset, document, fill, sample, scenes, settle, take};

/// Without a file dialog on the desktop, the window asks for the path; detecting this takes a
/// moment.
fn type_path(harness: &mut Window, path: &Path) {
    let end = Instant::now() + Duration::from_secs(30);
    while harness
        .query_by_role_and_label(Role::MultilineTextInput, "Path")
        .is_none()
        && harness
            .query_by_role_and_label(Role::TextInput, "Path")
            .is_none()
    {
        assert!(Instant::now() < end, "the window asks for a path");
        std::thread::sleep(Duration::from_millis(20));
        settle(harness);
    }
    fill(harness, "Path", &path.display().to_string());
    harness.key_press(Key::Enter);
    settle(harness);
}

#[test]
fn a_draft_is_saved_and_opened_again_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(3).collect());
    let id = dataset(&harness).root.samples[2].id.to_string();
    harness
        .get_all_by_label(&id)
        .next()
        .expect("is listed")
        .click();
    settle(&mut harness);
    let path = folder.path().join("work");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    type_path(&mut harness, &path);
    let saved = folder.path().join("work.tacostudio");
    assert!(saved.is_file(), "the ending is added");
    assert!(!document(&harness).draft().expect("a draft").is_dirty());
    harness.state_mut().act(Action::MoveUp);
    settle(&mut harness);
    assert!(document(&harness).draft().expect("a draft").is_dirty());
    harness.state_mut().act(Action::Save);
    settle(&mut harness);
    let as_saved = dataset(&harness).clone();
    // Saved, so there is no question.
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    assert!(harness.state().studio().document().is_none());
    take(&mut harness, vec![saved]);
    assert_eq!(*dataset(&harness), as_saved);
    assert!(
        harness.query_by_label("work.tacostudio").is_some(),
        "the status bar names the file"
    );
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("Open Untitled dataset")
            .is_some(),
        "it is among the recent ones"
    );
}

#[test]
fn saving_is_offered_before_changes_are_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(2).collect());
    take(&mut harness, vec![sample()]);
    assert!(document(&harness).draft().is_some(), "it asks first");
    click(&mut harness, "Save first");
    let path = folder.path().join("kept.tacostudio");
    type_path(&mut harness, &path);
    assert!(path.is_file());
    assert!(
        document(&harness).opened_dataset().is_some(),
        "what was wanted goes on once the draft is safe"
    );
}

#[test]
fn the_draft_of_a_killed_window_can_be_recovered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let held = {
        let mut harness = app(egui::Theme::Dark);
        harness.state_mut().keep_drafts_in(folder.path().to_owned());
        take(&mut harness, scenes().into_iter().take(2).collect());
        harness
            .state_mut()
            .select(Some(taco_studio::studio::RowRef { level: 0, row: 1 }));
        settle(&mut harness);
        harness.state_mut().act(Action::MoveUp);
        settle(&mut harness);
        let held = dataset(&harness).clone();
        // Every change is on disk when the next one arrives; the last one takes a moment.
        let journal = harness.state().studio().journal().expect("is kept");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::fs::read_to_string(&journal)
            .expect("reads")
            .lines()
            .count()
            < 3
        {
            assert!(
                std::time::Instant::now() < end,
                "the last change gets to the disk"
            );
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // The window disappears without being closed.
        held
    };
    let mut harness = app(egui::Theme::Dark);
    harness.state_mut().keep_drafts_in(folder.path().to_owned());
    settle(&mut harness);
    assert!(harness.query_by_label("Not saved").is_some());
    click(&mut harness, "Restore unsaved draft");
    assert_eq!(*dataset(&harness), held);
    assert!(harness.state().studio().document().is_some());
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    click(&mut harness, "Discard changes");
    assert!(
        harness.query_by_label("Not saved").is_none(),
        "thrown away is thrown away"
    );
}

#[test]
fn sources_that_have_moved_are_found_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let scene = scenes().into_iter().next().expect("a scene");
    std::fs::create_dir_all(&old).expect("a folder");
    for file in std::fs::read_dir(&scene)
        .expect("files")
        .map(|entry| entry.expect("a file").path())
    {
        std::fs::copy(&file, old.join(file.file_name().expect("a name"))).expect("copies");
    }
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![old.clone()]);
    std::fs::rename(&old, &new).expect("moves");
    harness.state_mut().act(Action::Relocate);
    settle(&mut harness);
    fill(&mut harness, "Folder as it is", &new.display().to_string());
    click(&mut harness, "Look there");
    let at = taco_studio::studio::RowRef { level: 1, row: 0 };
    let (asset, _) = document(&harness).asset(at).expect("a source");
    assert!(
        asset.to_vsi().starts_with(&new.display().to_string()),
        "{}",
        asset.to_vsi()
    );
}

#[test]
fn a_kept_draft_can_be_forgotten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(
        folder.path().join("draft-1.journal"),
        "{\"tacostudio_journal\":1,\"project\":null,\"base\":null,\"folder\":\"/\"}\n",
    )
    .expect("writes");
    let mut harness = app(egui::Theme::Dark);
    harness.state_mut().keep_drafts_in(folder.path().to_owned());
    settle(&mut harness);
    click(&mut harness, "Forget unsaved draft");
    assert!(harness.query_by_label("Not saved").is_none());
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
}

/// Saves another draft to this path, as another window would.
fn save_elsewhere(path: &Path, title: &str) {
    let mut studio = Studio::new(Jobs::quiet());
    let edit = Edit::SetCollection {
        key: "title".into(),
        value: Some(title.into()),
    };
    for command in [
        Command::New,
        Command::Edit { edit },
        Command::SaveProject {
            path: Some(path.to_owned()),
            view: None,
            overwrite: Some(true),
        },
    ] {
        studio.run_to_end(command, &mut |_| {}).expect("saves");
    }
}

fn title_in(path: &Path) -> String {
    let project =
        taco_studio::studio::open_project(path, &taco_studio::jobs::JobContext::default())
            .expect("opens");
    project.content.dataset.collection.text("title").to_owned()
}

#[test]
fn a_project_that_another_window_saved_is_asked_about() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tacostudio");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(2).collect());
    harness.state_mut().command(Command::SaveProject {
        path: Some(path.clone()),
        view: None,
        overwrite: None,
    });
    settle(&mut harness);
    let edit = |text: &str| Command::Edit {
        edit: Edit::SetCollection {
            key: "title".into(),
            value: Some(text.into()),
        },
    };
    harness.state_mut().command(edit("mine"));
    settle(&mut harness);
    save_elsewhere(&path, "theirs");
    for answer in ["Cancel", "Replace"] {
        harness.state_mut().act(Action::Save);
        settle(&mut harness);
        assert!(
            harness.query_by_label("Save as…").is_some(),
            "there is a third way"
        );
        assert_eq!(title_in(&path), "theirs");
        click(&mut harness, answer);
    }
    assert_eq!(title_in(&path), "mine");
    assert!(!document(&harness).draft().expect("a draft").is_dirty());
    // A file saved by this window is not reported as changed.
    harness.state_mut().command(edit("mine again"));
    harness.state_mut().act(Action::Save);
    settle(&mut harness);
    assert_eq!(title_in(&path), "mine again");
    // The action that waited for saving continues after replacing the file, and not after
    // cancelling.
    harness.state_mut().command(edit("last"));
    settle(&mut harness);
    save_elsewhere(&path, "theirs");
    for answer in ["Cancel", "Replace"] {
        harness.state_mut().act(Action::Close);
        settle(&mut harness);
        click(&mut harness, "Save first");
        assert!(harness.state().studio().document().is_some());
        click(&mut harness, answer);
    }
    assert!(
        harness.state().studio().document().is_none(),
        "it was closed"
    );
    assert_eq!(title_in(&path), "last");
}

#[cfg(unix)]
#[test]
fn the_previous_version_after_an_interrupted_write_can_be_opened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("set.tacozip");
    let aside = folder.path().join(".set.tacozip.aB3dE6.old");
    std::fs::create_dir_all(aside.join("old")).expect("a folder");
    std::fs::copy(sample(), aside.join("old/set.tacozip")).expect("a copy");
    let name: Vec<u8> = b"set.tacozip".to_vec();
    let record = serde_json::json!([{"name": {"Unix": name}, "new": 1, "goes": false}]);
    std::fs::write(aside.join("names.json"), record.to_string()).expect("written");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![path.clone()]);
    assert!(
        !path.exists() && harness.state().studio().document().is_none(),
        "it asks first"
    );
    click(&mut harness, "Bring back and open");
    assert!(document(&harness).opened_dataset().is_some());
    assert!(path.is_file() && !aside.exists());
}
