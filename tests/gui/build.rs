//! Building a dataset: files are added, the collection is filled in, edits are undone, the result
//! is written and opened again.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::RowRef;

use super::support::{
    Window, app, click, copied, dataset, document, fill, sample, scenes, settle, take,
};
use crate::support::Workspace;

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("only the path counts".into())
    }
}

#[test]
fn dropped_folders_become_a_dataset_that_is_written_and_opened_again() {
    let target = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(egui::Theme::Dark);
    for scene in scenes().into_iter().take(4) {
        harness
            .input_mut()
            .dropped_files
            .push(Arc::new(Dropped(scene)));
    }
    settle(&mut harness);
    assert_eq!(dataset(&harness).root.samples.len(), 4);
    assert!(
        harness.query_by_label_contains("Added 24 files").is_some(),
        "a message tells what came in"
    );

    click(&mut harness, "Collection");
    fill(&mut harness, "id", "Peru Cropland");
    assert_eq!(dataset(&harness).collection.id(), "Peru Cropland");
    assert!(
        harness
            .query_all_by_label_contains("lower-case")
            .next()
            .is_some(),
        "the fault is below the field"
    );
    click(&mut harness, "Write dataset…");
    assert!(harness.query_by_label_contains("block writing").is_some());
    harness.key_press(Key::Escape);
    settle(&mut harness);

    fill(&mut harness, "id", "peru-cropland");
    fill(&mut harness, "description", "Scenes for a test");
    fill(&mut harness, "licenses", "CC-BY-4.0,");
    fill(&mut harness, "tasks", "segm");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    click(&mut harness, "Add provider");
    fill(&mut harness, "name of providers 1", "A mapping group");
    let report = harness.state().studio().report().clone();
    assert!(report.is_valid(), "{:?}", report.findings);
    assert_eq!(
        dataset(&harness).collection.get("licenses"),
        Some(&serde_json::json!(["CC-BY-4.0"]))
    );

    click(&mut harness, "Write dataset…");
    let path = target.path().join("peru.tacozip");
    fill(&mut harness, "Destination", &path.display().to_string());
    click(&mut harness, "Write now");
    assert!(path.is_file());
    assert!(harness.query_by_label("Written and verified").is_some());
    // The report is beside the options and the checks from before the job.
    for label in ["Destination", "Pre-flight checks"] {
        assert!(harness.query_by_label(label).is_some(), "{label}");
    }
    assert!(
        harness
            .query_all_by_label_contains("The destination exists already")
            .next()
            .is_none()
    );
    // The code of the dialog runs with the official reader.
    let workspace = Workspace::new();
    for form in ["Python", "SQL"] {
        click(&mut harness, form);
        let code = copied(&mut harness, "Copy snippet").expect("the code is on the clipboard");
        let script = workspace.write("copied.py", &code).display().to_string();
        let printed = workspace
            .python(&script, [] as [&str; 0])
            .expect_code(0)
            .stdout;
        assert!(
            code.contains("dataset.sql(") == (form == "SQL") && printed.contains("FOLDER"),
            "{code}{printed}"
        );
    }
    for (form, part) in [
        ("taco_studio", "taco_studio.open("),
        ("PyTorch", "DataLoader(train"),
    ] {
        click(&mut harness, form);
        let code = copied(&mut harness, "Copy snippet").expect("the code is on the clipboard");
        assert!(code.contains(part), "{code}");
    }
    // The destination has a dataset now.
    click(&mut harness, "Write again…");
    assert!(
        harness
            .query_all_by_label_contains("The destination exists already")
            .next()
            .is_some()
    );
    fill(
        &mut harness,
        "Destination",
        &target.path().join("again.tacozip").display().to_string(),
    );
    click(&mut harness, "Write now");
    assert!(harness.query_by_label("Written and verified").is_some());
    // The draft has no file of its own, so it is not left without a question.
    click(&mut harness, "Done");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::N);
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("The dataset was written and stays")
            .next()
            .is_some()
    );
    click(&mut harness, "Cancel");
    assert_eq!(dataset(&harness).root.samples.len(), 4);
    click(&mut harness, "Write dataset…");
    fill(
        &mut harness,
        "Destination",
        &target.path().join("third.tacozip").display().to_string(),
    );
    click(&mut harness, "Write now");
    click(&mut harness, "Open dataset");
    let document = document(&harness);
    assert!(document.opened_dataset().is_some());
    assert_eq!(document.title(), "peru-cropland");
    assert_eq!((document.rows(0), document.rows(1)), (4, 24));
}

#[test]
fn edits_are_undone_and_done_again() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(2).collect());
    let first = dataset(&harness).root.samples[0].id.clone();
    harness
        .get_all_by_label(&first)
        .next()
        .expect("is listed")
        .click();
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowDown);
    settle(&mut harness);
    assert_eq!(
        dataset(&harness).root.samples[1].id,
        first,
        "moved one down"
    );

    harness.key_press(Key::F2);
    settle(&mut harness);
    fill(&mut harness, "Sample id", "renamed");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    assert_eq!(&*dataset(&harness).root.samples[1].id, "renamed");

    harness.state_mut().act(Action::Remove);
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("Files on disk stay")
            .is_some(),
        "a folder with contents asks first"
    );
    click(&mut harness, "Remove folder");
    assert_eq!(dataset(&harness).root.samples.len(), 1);

    for _ in 0..3 {
        harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        settle(&mut harness);
    }
    assert_eq!(dataset(&harness).root.samples[0].id, first);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    settle(&mut harness);
    assert_eq!(dataset(&harness).root.samples[1].id, first);
}

#[test]
fn unsaved_changes_are_not_lost_without_a_question() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(1).collect());
    take(&mut harness, vec![sample()]);
    assert!(
        document(&harness).draft().is_some(),
        "the draft is still there"
    );
    click(&mut harness, "Cancel");
    assert!(document(&harness).draft().is_some());
    take(&mut harness, vec![sample()]);
    click(&mut harness, "Discard changes");
    assert!(document(&harness).opened_dataset().is_some());
}

#[test]
fn pasted_paths_come_in_and_pasted_text_does_not() {
    let mut harness = app(egui::Theme::Dark);
    harness.event(egui::Event::Paste("just a sentence".into()));
    settle(&mut harness);
    assert!(harness.state().studio().document().is_none());
    let list: String = scenes()
        .iter()
        .take(2)
        .map(|path| taco_studio::model::file_url_of(path) + "\r\n")
        .collect();
    harness.event(egui::Event::Paste(list));
    settle(&mut harness);
    assert_eq!(dataset(&harness).root.samples.len(), 2);
}

#[test]
fn columns_of_a_level_change_in_one_step() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(3).collect());
    for pane in [Pane::Sample, Pane::Table] {
        harness.state_mut().show_pane(pane);
        settle(&mut harness);
    }
    click(&mut harness, "Add column");
    fill(&mut harness, "Name", "tile_code");
    fill(&mut harness, "Value", "T32_TQM");
    click(&mut harness, "Add this column");
    let names = |harness: &Window| -> Vec<String> {
        document(harness)
            .fields(0)
            .into_iter()
            .map(|field| field.name)
            .collect()
    };
    assert_eq!(names(&harness), ["tile_code"]);
    // The column's header opens its actions.
    click(&mut harness, "Column tile_code");
    click(&mut harness, "Split");
    fill(&mut harness, "New fields", "zone, square");
    click(&mut harness, "Change column");
    assert_eq!(names(&harness), ["tile_code", "zone", "square"]);
    assert_eq!(
        document(&harness).text(RowRef { level: 0, row: 1 }, "square"),
        "TQM"
    );
    click(&mut harness, "Column tile_code");
    click(&mut harness, "Remove");
    click(&mut harness, "Change column");
    assert_eq!(names(&harness), ["zone", "square"]);
    for left in [3, 1, 0] {
        harness.state_mut().act(Action::Undo);
        settle(&mut harness);
        assert_eq!(names(&harness).len(), left);
    }
}
