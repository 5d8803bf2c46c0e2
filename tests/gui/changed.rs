//! A dataset that another program replaces, cuts or deletes while it is shown: the window says so,
//! shows no pixels of the new file under the names of the old one, and opens it again on request.

use std::path::Path;
use std::time::{Duration, Instant};

use egui_kittest::kittest::Queryable;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::SampleKind;
use taco_studio::studio::RowRef;

use super::support::{Window, app, click, document, picture, settle, take};
use crate::support::{Workspace, copy_folder, tests_folder};

/// The window looks every second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the banner says this.
fn wait_for(harness: &mut Window, text: &str) {
    let end = Instant::now() + PATIENCE;
    while harness.query_by_label_contains(text).is_none() {
        assert!(Instant::now() < end, "no banner says {text:?}");
        harness.step();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Selects each file in the preview and visits every panel; nothing panics.
fn look_at_all(harness: &mut Window) {
    let files: Vec<RowRef> = (0..document(harness).tree().levels.len())
        .flat_map(|level| {
            (0..document(harness).rows(level) as u32).map(move |row| RowRef { level, row })
        })
        .filter(|&at| document(harness).kind(at) == Some(SampleKind::File))
        .take(4)
        .collect();
    for pane in Pane::ALL {
        harness.state_mut().show_pane(pane);
        settle(harness);
    }
    harness.state_mut().act(Action::ShowPreview);
    for at in files {
        harness.state_mut().select(Some(at));
        settle(harness);
    }
}

fn golden(name: &str) -> std::path::PathBuf {
    tests_folder().join("fixtures/golden").join(name)
}

fn replace(file: &Path, by: &Path) {
    let partial = file.with_extension("new");
    std::fs::copy(by, &partial).expect("copies");
    std::fs::rename(&partial, file).expect("replaces");
}

#[test]
fn an_archive_that_is_replaced_cut_and_deleted_is_said_and_read_again() {
    let workspace = Workspace::new();
    let (old, new) = (
        golden("05_nested3_zip/stack.tacozip"),
        super::support::sample(),
    );
    let file = workspace.path("shown.tacozip");
    std::fs::copy(&old, &file).expect("copies");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![file.clone()]);
    assert_eq!(document(&harness).title(), "golden-nested3");
    assert!(harness.query_by_label("Reload").is_none());

    replace(&file, &new);
    wait_for(&mut harness, "was changed by another program");
    picture(&mut harness, "changed-archive");
    harness.state_mut().act(Action::ShowPreview);
    let at = (0..3)
        .map(|level| RowRef { level, row: 0 })
        .find(|&at| document(&harness).kind(at) == Some(SampleKind::File));
    harness.state_mut().select(at);
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("Open the dataset again")
            .next()
            .is_some(),
        "no pixels of another dataset"
    );
    assert!(harness.query_by_label_contains("Driver: ").is_none());
    look_at_all(&mut harness);
    click(&mut harness, "Reload");
    assert_eq!(document(&harness).title(), "river-floods-sample");
    settle(&mut harness);
    assert!(harness.query_by_label("Reload").is_none());

    // Cut in the middle: the tables are those in memory, and reading it again fails with a reason.
    let length = std::fs::metadata(&file).expect("is there").len();
    std::fs::File::options()
        .write(true)
        .open(&file)
        .and_then(|file| file.set_len(length / 2))
        .expect("cuts");
    wait_for(&mut harness, "was changed by another program");
    look_at_all(&mut harness);
    click(&mut harness, "Reload");
    assert_eq!(
        document(&harness).title(),
        "river-floods-sample",
        "what could not be read replaces nothing"
    );

    std::fs::remove_file(&file).expect("removes");
    wait_for(&mut harness, "was deleted or moved");
    assert!(harness.query_by_label("Reload").is_none());
    look_at_all(&mut harness);
    replace(&file, &old);
    wait_for(&mut harness, "was changed by another program");
    click(&mut harness, "Close the notice of the change");
    assert!(harness.query_by_label("Reload").is_none());
}

#[test]
fn a_folder_whose_tables_change_is_said_and_read_again() {
    let workspace = Workspace::new();
    let folder = workspace.path("shown");
    let from = std::fs::read_dir(tests_folder().join("fixtures/golden"))
        .expect("fixtures")
        .flatten()
        .map(|set| set.path());
    let from = from.flat_map(|set| {
        std::fs::read_dir(set)
            .into_iter()
            .flatten()
            .flatten()
            .map(|part| part.path())
    });
    let mut from: Vec<_> = from
        .filter(|part| part.join("COLLECTION.json").is_file() && part.join("METADATA").is_dir())
        .collect();
    from.sort();
    copy_folder(from.first().expect("a FOLDER"), &folder);
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![folder.clone()]);
    let collection = folder.join("COLLECTION.json");
    let text = std::fs::read_to_string(&collection)
        .expect("reads")
        .replacen("\"title\"", "\"title\" ", 1)
        + "\n";
    std::fs::write(&collection, text).expect("writes");
    wait_for(
        &mut harness,
        "COLLECTION.json was changed by another program",
    );
    click(&mut harness, "Reload");
    assert!(harness.query_by_label("Reload").is_none());
    std::fs::remove_dir_all(&folder).expect("removes");
    wait_for(&mut harness, "was deleted or moved");
    look_at_all(&mut harness);
}
