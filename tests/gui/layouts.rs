//! A folder of a published dataset is dropped on the window: what its files become is shown, and
//! added without an error of structure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::Value;
use taco_studio::model::{Sample, Tortilla, is_padding};
use taco_studio::studio::Command;

use super::support::{Window, app, click, dataset, document, fill, picture, settle};
use crate::layouts::{fixtures, write_files};
use crate::support::Workspace;

/// A window in whose empty draft a folder was dropped.
fn drop_folder(folder: PathBuf) -> Window {
    let mut window = app(egui::Theme::Dark);
    window.state_mut().command(Command::New);
    settle(&mut window);
    window.state_mut().take_dropped(vec![folder]);
    settle(&mut window);
    window
}

fn is_asked(window: &Window) -> bool {
    window
        .query_by_label("How the files belong together")
        .is_some()
}

fn ids(tortilla: &Tortilla) -> Vec<String> {
    tortilla
        .samples
        .iter()
        .map(|sample| sample.id.to_string())
        .collect()
}

/// Codes of the findings about the structure.
fn structure_findings(window: &Window) -> Vec<String> {
    let findings = &window.state().studio().report().findings;
    let codes = findings
        .iter()
        .map(|finding| finding.rule.code().to_owned());
    codes
        .filter(|code| code.starts_with("PIT") || code.starts_with("ID"))
        .collect()
}

#[test]
fn published_layouts_are_shown_and_added_without_an_error_of_structure() {
    let workspace = Workspace::new();
    let (mut wrong, mut added) = (Vec::new(), 0);
    for (name, fixture) in fixtures() {
        if fixture["question"].is_array() {
            continue;
        }
        write_files(&workspace, &name, &fixture);
        let mut window = drop_folder(workspace.path(&name));
        // One click from the drop to the roots.
        if is_asked(&window) {
            click(&mut window, "Add roots");
        }
        let root = &dataset(&window).root;
        let mut expected: Vec<String> = fixture["positions"]
            .as_array()
            .expect("positions")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        expected.sort();
        let found: BTreeSet<String> = root
            .samples
            .iter()
            .filter_map(Sample::children)
            .flat_map(|below| ids(below))
            .collect();
        let found: Vec<String> = found.into_iter().filter(|id| !is_padding(id)).collect();
        let findings = structure_findings(&window);
        if root.samples.len() as u64 == fixture["roots"].as_u64().expect("a number")
            && found == expected
            && findings.is_empty()
        {
            added += 1
        } else {
            wrong.push(format!(
                "{name}: {} roots, {found:?}, {findings:?}",
                root.samples.len()
            ))
        }
    }
    assert!(
        wrong.is_empty(),
        "{added} right, {} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(added >= 40, "{added}");
}

#[test]
fn what_may_be_classes_or_parts_is_asked_and_the_answer_is_taken() {
    let workspace = Workspace::new();
    let (name, fixture) = fixtures()
        .into_iter()
        .find(|(name, _)| name == "classes_or_parts")
        .expect("the fixture");
    write_files(&workspace, &name, &fixture);
    let mut window = drop_folder(workspace.path(&name));
    assert!(is_asked(&window));
    assert!(
        window
            .get_by_label("Add roots")
            .accesskit_node()
            .is_disabled(),
        "an answer is missing"
    );
    picture(&mut window, "layout-question-dark");
    click(&mut window, "The folders are classes: each file is a root");
    picture(&mut window, "layout-answer-dark");
    click(&mut window, "Add roots");
    let root = dataset(&window).root.clone();
    assert_eq!(
        root.samples.len(),
        fixture["paths"].as_array().expect("paths").len()
    );
    assert_eq!(
        root.schema
            .iter()
            .map(|field| field.name.as_str())
            .collect::<Vec<_>>(),
        ["label"]
    );
    // The other answer.
    let mut window = drop_folder(workspace.path(&name));
    let parts = window
        .query_all_by_label_contains("The folders are parts of scenes")
        .next()
        .expect("the answer");
    parts.click();
    settle(&mut window);
    click(&mut window, "Add roots");
    assert!(
        dataset(&window)
            .root
            .samples
            .iter()
            .all(|sample| sample.children().is_some())
    );
}

#[test]
fn scenes_in_folders_are_added_unasked_and_a_flat_folder_is_asked_about() {
    let workspace = Workspace::new();
    for scene in 1..=3 {
        for file in ["before.tif", "after.tif"] {
            workspace.write(&format!("scenes/scene_{scene}/{file}"), "x");
            workspace.write(&format!("nested/scene_{scene}/s2/{file}"), "x");
        }
        workspace.write(&format!("flat/tile_{scene:04}.tif"), "x");
    }
    for place in ["paris", "rome"] {
        workspace.write(&format!("places/{place}/before.tif"), "x");
        workspace.write(&format!("places/{place}/label.tif"), "x");
    }
    let places = drop_folder(workspace.path("places"));
    assert!(!is_asked(&places), "names without a number are positions");
    assert_eq!(ids(&dataset(&places).root), ["paris", "rome"]);
    for folder in ["scenes", "nested"] {
        let window = drop_folder(workspace.path(folder));
        assert!(!is_asked(&window), "{folder}");
        assert_eq!(
            ids(&dataset(&window).root),
            ["scene_1", "scene_2", "scene_3"],
            "{folder}"
        );
    }
    let mut window = drop_folder(workspace.path("flat"));
    assert!(is_asked(&window));
    click(&mut window, "Add roots");
    assert_eq!(dataset(&window).root.samples.len(), 3);
    let mut window = drop_folder(workspace.path("flat"));
    click(&mut window, "Add the folders as they are");
    assert_eq!(ids(&dataset(&window).root), ["flat"]);
}

#[test]
fn a_layout_is_saved_and_used_again_by_the_command_line_and_by_the_window() {
    let workspace = Workspace::new();
    for folder in ["first", "second"] {
        for scene in 1..=3 {
            workspace.write(&format!("{folder}/train/images/{scene:04}.tif"), "x");
            workspace.write(&format!("{folder}/train/masks/{scene:04}.png"), "x");
        }
    }
    let mut window = drop_folder(workspace.path("first"));
    click(&mut window, "Save the layout…");
    click(&mut window, "Save the layout");
    let saved = workspace.path("first-layout.json");
    assert!(saved.is_file());
    window.get_by_label_contains("uses it again");
    picture(&mut window, "layout-saved-dark");
    // A file is not replaced.
    click(&mut window, "Save the layout");
    window.get_by_label_contains("exists");
    let found = workspace.studio([
        "create".as_ref(),
        "second".as_ref(),
        "--layout".as_ref(),
        saved.as_os_str(),
        "--dry-run".as_ref(),
    ]);
    assert!(found.expect_code(0).stdout.contains("3 roots"));
    let mut window = drop_folder(workspace.path("second"));
    click(&mut window, "By a pattern");
    fill(&mut window, "Layout pattern", &saved.display().to_string());
    click(&mut window, "Add roots");
    assert_eq!(dataset(&window).root.samples.len(), 3);
}

#[test]
fn another_layout_and_what_is_left_out_are_chosen_before_anything_is_added() {
    let workspace = Workspace::new();
    for scene in 1..=4 {
        workspace.write(&format!("data/train/images/{scene:04}.tif"), "x");
        workspace.write(&format!("data/train/masks/{scene:04}.png"), "x");
        workspace.write(&format!("data/train/images/{scene:04}_thumb.jpg"), "x");
    }
    workspace.write("data/notes.txt", "words\n");
    let mut window = drop_folder(workspace.path("data"));
    assert!(is_asked(&window));
    fill(&mut window, "Leave out", "*_thumb.jpg");
    picture(&mut window, "layout-proposal-dark");
    click(&mut window, "By a pattern");
    fill(&mut window, "Layout pattern", "{split}/{position");
    assert!(
        window
            .get_by_label("Add roots")
            .accesskit_node()
            .is_disabled(),
        "the pattern is not complete"
    );
    fill(&mut window, "Layout pattern", "{split}/{position}/{root}");
    click(&mut window, "Add roots");
    let root = dataset(&window).root.clone();
    assert_eq!(ids(&root), ["0001", "0002", "0003", "0004"]);
    assert_eq!(
        ids(root.samples[0].children().expect("a FOLDER")),
        ["image", "mask"]
    );
    assert_eq!(
        root.schema
            .iter()
            .map(|field| field.name.as_str())
            .collect::<Vec<_>>(),
        ["split"]
    );
    let tray = document(&window).draft().expect("a draft").tray();
    assert_eq!(
        tray.iter()
            .map(|file| file.path.clone())
            .collect::<Vec<_>>(),
        [workspace.path("data/notes.txt")]
    );
    // One step takes all of it back.
    window
        .state_mut()
        .act(taco_studio::gui::action::Action::Undo);
    settle(&mut window);
    assert!(dataset(&window).root.samples.is_empty());
    assert!(
        document(&window)
            .draft()
            .expect("a draft")
            .tray()
            .is_empty()
    );
}
