//! Names, values and errors that hide what they are: control characters, marks of writing
//! direction, characters without a picture, combining marks, a megabyte. Every panel and dialog
//! shows them in their displayed form, and stays quick.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use egui::Shape;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::{ColumnChange, Edit};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::{FieldSpec, NodePath, Value};
use taco_studio::studio::{Command, RowRef};
use taco_studio::text::printable;

use super::support::{Window, app, document, fill, picture, scenes, settle, take};
use crate::support::{Workspace, nightly_or};

/// Shown by egui as `docfdp.exe`, and obeyed by terminals.
const HIDDEN: &str = "doc\u{202e}fdp\u{200b}.exe\u{1b}[2J\u{2066}\r";

/// Texts painted in the last frame, and the names of controls.
fn shown(harness: &Window) -> Vec<String> {
    fn painted(shape: &Shape, texts: &mut Vec<String>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| painted(shape, texts)),
            Shape::Text(text) => texts.push(text.galley.text().to_owned()),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    harness
        .output()
        .shapes
        .iter()
        .for_each(|clipped| painted(&clipped.shape, &mut texts));
    for node in harness.query_all_by(|_| true) {
        let node = node.accesskit_node();
        texts.extend(node.label());
        if !matches!(
            node.role(),
            Role::TextRun | Role::TextInput | Role::MultilineTextInput
        ) {
            texts.extend(node.value());
        }
    }
    texts
}

/// Adds the texts of the window that hide something; returns how many show an escaped form.
fn look(harness: &Window, place: &str, hiding: &mut Vec<String>) -> usize {
    let texts = shown(harness);
    hiding.extend(
        texts
            .iter()
            .filter(|text| matches!(printable(text), Cow::Owned(_)))
            .map(|text| format!("{place}: {text:?}")),
    );
    texts
        .iter()
        .filter(|text| text.contains("\\u202e") || text.contains("\\u200b"))
        .count()
}

fn edit(harness: &mut Window, edit: Edit) {
    harness.state_mut().command(Command::Edit { edit });
    settle(harness);
}

/// A draft whose names and values all hide something.
fn hostile_draft(harness: &mut Window, text: &str) {
    take(harness, scenes()[..4].to_vec());
    for key in ["title", "description", "id", "curator"] {
        edit(
            harness,
            Edit::SetCollection {
                key: key.into(),
                value: Some(text.into()),
            },
        );
    }
    edit(
        harness,
        Edit::SetCollection {
            key: "keywords".into(),
            value: Some(serde_json::json!([text, "x"])),
        },
    );
    let providers = serde_json::json!([{ "name": text, "roles": ["producer"], "url": text }]);
    edit(
        harness,
        Edit::SetCollection {
            key: "providers".into(),
            value: Some(providers),
        },
    );
    let field = FieldSpec::new(text, arrow::datatypes::DataType::Utf8);
    let change = ColumnChange::Add {
        field,
        at: None,
        value: Value::Text(text.into()),
    };
    edit(harness, Edit::Column { level: 0, change });
    for sample in [vec![0], vec![1, 0], vec![2]] {
        edit(
            harness,
            Edit::Rename {
                sample: NodePath(sample),
                id: text.into(),
            },
        );
    }
}

/// Looks at every panel, with the first rows selected, and at the dialogs of a document. Returns
/// the panels that show an escaped form.
fn look_around(harness: &mut Window, hiding: &mut Vec<String>) -> Vec<Pane> {
    let mut escaped = Vec::new();
    for pane in Pane::ALL {
        harness.state_mut().show_pane(pane);
        for at in [RowRef { level: 0, row: 0 }, RowRef { level: 1, row: 3 }] {
            harness.state_mut().select(Some(at));
            settle(harness);
            if look(harness, pane.title(), hiding) > 0 {
                escaped.push(pane);
            }
        }
    }
    for part in ["Labels", "Bands", "Papers", "Split", "JSON"] {
        harness.state_mut().show_pane(Pane::Collection);
        settle(harness);
        harness
            .get_by_role_and_label(Role::RadioButton, part)
            .click();
        settle(harness);
        look(harness, part, hiding);
    }
    for action in [
        Action::Write,
        Action::ExportSubset,
        Action::Describe,
        Action::Publish,
        Action::OpenRecent,
        Action::GoToRow,
        Action::Rename,
        Action::Relocate,
        Action::Settings,
        Action::Palette,
        Action::Close,
    ] {
        harness.state_mut().act(action);
        settle(harness);
        look(harness, &format!("{action:?}"), hiding);
        harness.key_press(egui::Key::Escape);
        settle(harness);
    }
    escaped
}

#[test]
fn every_panel_and_dialog_of_a_draft_shows_what_a_name_hides() {
    let mut harness = app(egui::Theme::Dark);
    hostile_draft(&mut harness, HIDDEN);
    let mut hiding = Vec::new();
    let escaped = look_around(&mut harness, &mut hiding);
    hiding.sort();
    hiding.dedup();
    assert!(
        hiding.is_empty(),
        "texts that hide something:\n  {}",
        hiding.join("\n  ")
    );
    for pane in [
        Pane::Hierarchy,
        Pane::Table,
        Pane::Sample,
        Pane::Collection,
        Pane::Problems,
        Pane::Columns,
    ] {
        assert!(
            escaped.contains(&pane),
            "{} shows no escaped text",
            pane.title()
        );
    }
    harness.state_mut().show_pane(Pane::Problems);
    settle(&mut harness);
    picture(&mut harness, "hostile-draft");
}

#[test]
fn every_panel_of_a_written_dataset_shows_what_a_name_hides() {
    let workspace = Workspace::new();
    // What the format allows: no control characters in ids, everything in values.
    let id = "doc\u{202e}fdp\u{200b}.exe\u{2066}";
    crate::support::geotiff(&workspace.path(&format!("in/{id}.tif")), 3, 32, 1);
    crate::support::geotiff(&workspace.path("in/plain.tif"), 3, 32, 2);
    workspace.write(
        "collection.json",
        crate::support::COLLECTION.replace("Test scenes", "Test \\u202escenes\\u200b"),
    );
    workspace.write(
        "metadata.csv",
        format!("path,region\n{id}.tif,\"{HIDDEN}\"\nplain.tif,x\n"),
    );
    workspace
        .studio([
            "create",
            "in",
            "-o",
            "set.tacozip",
            "--collection",
            "collection.json",
            "--metadata",
            "metadata.csv",
        ])
        .expect_code(0);
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![workspace.path("set.tacozip")]);
    let mut hiding = Vec::new();
    for pane in Pane::ALL {
        harness.state_mut().show_pane(pane);
        for row in [0, 1] {
            harness.state_mut().select(Some(RowRef { level: 0, row }));
            settle(&mut harness);
            look(&harness, pane.title(), &mut hiding);
        }
    }
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    for statement in [
        "SELECT id, region, chr(8238) || 'x' AS \"a\u{202e}b\", chr(27) || '[2J' AS c FROM data"
            .to_owned(),
        "SELECT \"no\u{202e}column\" FROM data".to_owned(),
        format!("SELECT '{HIDDEN}' || id FROM data WHERE"),
    ] {
        fill(&mut harness, "SQL", &statement);
        harness.get_by_label("Run query").click();
        settle(&mut harness);
        assert!(
            look(&harness, &statement, &mut hiding) > 0 || !statement.contains("id"),
            "{statement:?} shows nothing escaped"
        );
    }
    // The recent list on the welcome screen.
    harness.state_mut().command(Command::Close);
    settle(&mut harness);
    look(&harness, "welcome", &mut hiding);
    hiding.sort();
    hiding.dedup();
    assert!(
        hiding.is_empty(),
        "texts that hide something:\n  {}",
        hiding.join("\n  ")
    );
}

/// Longest time of a panel with texts of a megabyte, in an unoptimised build on a busy machine.
const PANEL: Duration = Duration::from_secs(30);

#[test]
fn a_megabyte_of_text_and_a_storm_of_combining_marks_do_not_hold_the_window_up() {
    let texts = [
        format!("a{}", "\u{301}\u{489}".repeat(1 << 18)),
        "x".repeat(1 << 20),
    ];
    for text in texts.into_iter().take(nightly_or(1, 2)) {
        let mut harness = app(egui::Theme::Dark);
        hostile_draft(&mut harness, &text);
        assert!(document(&harness).title().len() >= 1 << 19);
        let mut hiding = Vec::new();
        for pane in Pane::ALL {
            let began = Instant::now();
            harness.state_mut().show_pane(pane);
            harness
                .state_mut()
                .select(Some(RowRef { level: 0, row: 0 }));
            settle(&mut harness);
            let took = began.elapsed();
            assert!(took < PANEL, "{} took {took:?}", pane.title());
            look(&harness, pane.title(), &mut hiding);
            let longest = harness
                .output()
                .shapes
                .iter()
                .map(|clipped| longest_text(&clipped.shape))
                .max()
                .unwrap_or_default();
            assert!(
                longest < 200_000,
                "{} lays out {longest} bytes",
                pane.title()
            );
        }
        hiding.sort();
        hiding.dedup();
        hiding
            .iter_mut()
            .for_each(|text| *text = text.chars().take(200).collect());
        assert!(
            hiding.is_empty(),
            "texts that hide something:\n  {}",
            hiding.join("\n  ")
        );
    }
}

fn longest_text(shape: &Shape) -> usize {
    match shape {
        Shape::Vec(shapes) => shapes.iter().map(longest_text).max().unwrap_or_default(),
        Shape::Text(text) => text.galley.text().len(),
        _ => 0,
    }
}

/// Resident memory of this process in MiB, as Linux counts it.
#[cfg(target_os = "linux")]
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .unwrap_or_default()
        / 1024
}

#[cfg(target_os = "linux")]
#[test]
fn rasters_that_claim_far_more_than_they_hold_are_errors_in_preview_gallery_and_statistics() {
    let workspace = Workspace::new();
    let mut harness = app(egui::Theme::Dark);
    for (what, bytes) in crate::claimed_sizes::hostile(&workspace) {
        let dataset = crate::fence::dataset_with(&workspace, &bytes);
        let before = resident_mib();
        let began = Instant::now();
        take(&mut harness, vec![dataset]);
        for pane in [
            Pane::Preview,
            Pane::Gallery,
            Pane::Statistics,
            Pane::Map,
            Pane::Sample,
        ] {
            harness.state_mut().show_pane(pane);
            harness
                .state_mut()
                .select(Some(RowRef { level: 0, row: 1 }));
            settle(&mut harness);
        }
        let (took, grown) = (began.elapsed(), resident_mib().saturating_sub(before));
        assert!(
            took < Duration::from_secs(120) && grown < 1500,
            "{what}: {took:?}, {grown} MiB more"
        );
        harness.state_mut().command(Command::Close);
        settle(&mut harness);
    }
}
