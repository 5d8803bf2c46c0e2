//! The main screens in both themes: they render, and every control has a name. TACO_STUDIO_SHEETS
//! selects a folder for screenshots.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::Edit;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::NodePath;
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, click, fold_bottom, picture, sample, settle, take};
use crate::curator;
use crate::support::Workspace;

#[test]
fn screens_draw_in_both_themes() {
    let sample = sample();
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = app(theme);
        take(&mut harness, vec![sample.clone()]);
        harness.state_mut().act(Action::Close);
        settle(&mut harness);
        picture(&mut harness, &format!("welcome-{word}"));
        click(&mut harness, "Open river-floods-sample");
        harness.state_mut().act(Action::ShowPreview);
        settle(&mut harness);
        let canvas = harness.get_by_label_contains("Picture of").rect();
        harness.hover_at(canvas.center() + egui::vec2(40.0, -30.0));
        fold_bottom(&mut harness);
        settle(&mut harness);
        picture(&mut harness, &format!("preview-{word}"));
        harness.state_mut().show_pane(Pane::Query);
        settle(&mut harness);
        click(&mut harness, "Run query");
        picture(&mut harness, &format!("query-{word}"));
        harness.state_mut().act(Action::EditCopy);
        settle(&mut harness);
        let faults = [
            Edit::Rename {
                sample: NodePath(vec![2, 2]),
                id: "label_v2.tif".into(),
            },
            Edit::Remove {
                parent: NodePath(vec![5]),
                at: 1,
                count: 1,
            },
            Edit::Rename {
                sample: NodePath(vec![9]),
                id: "minho:0002".into(),
            },
        ];
        for edit in faults {
            harness.state_mut().command(Command::Edit { edit });
        }
        settle(&mut harness);
        let id = harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "id");
        id.focus();
        harness.step();
        harness
            .get_by_role_and_label(egui::accesskit::Role::TextInput, "id")
            .type_text(" X");
        settle(&mut harness);
        harness.state_mut().show_pane(Pane::Table);
        settle(&mut harness);
        harness
            .state_mut()
            .select(Some(RowRef { level: 1, row: 15 }));
        settle(&mut harness);
        picture(&mut harness, &format!("build-{word}"));
        for _ in 0..4 {
            harness.state_mut().act(Action::Undo);
            settle(&mut harness);
        }
        harness.state_mut().act(Action::Write);
        settle(&mut harness);
        picture(&mut harness, &format!("write-{word}"));
        let dark = harness.ctx.global_style().visuals.dark_mode;
        assert_eq!(dark, theme == egui::Theme::Dark);
    }
}

/// Names and bounds of the buttons whose middle is in `area`.
fn buttons_in(harness: &Window, area: egui::Rect) -> Vec<(String, egui::Rect)> {
    let buttons = harness.query_all_by_role(Role::Button).map(|node| {
        (
            node.accesskit_node().label().unwrap_or_default(),
            node.rect(),
        )
    });
    buttons
        .filter(|(_, rect)| area.contains(rect.center()))
        .collect()
}

#[test]
fn buttons_of_a_small_window_are_whole_and_cover_no_text() {
    let workspace = Workspace::new();
    curator::messy(&workspace, 13);
    let mut harness = app(egui::Theme::Dark);
    harness.set_size(egui::vec2(1024.0, 640.0));
    take(&mut harness, vec![workspace.path("messy")]);
    harness.state_mut().show_pane(Pane::Problems);
    settle(&mut harness);
    picture(&mut harness, "small-problems");

    // The row of a rule: its sentence keeps a third, and the buttons share the rest.
    let row = harness
        .get_by_label_contains("All roots have one shape")
        .rect();
    let buttons = buttons_in(&harness, row);
    assert!(buttons.len() > 1, "{buttons:?}");
    for (index, (name, rect)) in buttons.iter().enumerate() {
        assert!(
            rect.left() > row.left() + row.width() / 3.0 && rect.right() <= row.right(),
            "{name} at {rect} of {row}"
        );
        for (other, next) in &buttons[index + 1..] {
            assert!(!rect.intersects(*next), "{name} and {other}");
        }
    }
    // What is beside the hierarchy begins at the table.
    let edge = harness
        .query_all_by_role(Role::Tab)
        .find(|node| node.accesskit_node().label().as_deref() == Some("Table"));
    let edge = edge.expect("the tab").rect().left();
    for name in ["With problems", "All"] {
        let rect = harness
            .get_by_role_and_label(Role::RadioButton, name)
            .rect();
        assert!(rect.right() <= edge, "{name} at {rect}");
    }
    let (matching, watched) = (
        harness.get_by_label("Match by pattern").rect(),
        harness.get_by_label("Watched folders").rect(),
    );
    assert!(
        matching.right() <= watched.left() && matching.left() > 0.0,
        "{matching} {watched}"
    );

    // The tools of consistency and of queries: nothing covers its neighbour, and nothing is left
    // out.
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    click(&mut harness, "Consistency");
    click(&mut harness, "Compare headers");
    picture(&mut harness, "small-consistency");
    let tolerance = harness
        .get_by_role_and_label(Role::ComboBox, "Tolerance")
        .rect();
    for name in ["Check again", "Rename by pattern…"] {
        let rect = harness.get_by_label(name).rect();
        assert!(
            !rect.intersects(tolerance) && rect.right() <= 1024.0,
            "{name} at {rect}, tolerance at {tolerance}"
        );
    }
    click(&mut harness, "Rename by pattern…");
    picture(&mut harness, "small-rename");
    let place = harness
        .get_by_role_and_label(Role::TextInput, "New name")
        .rect();
    let beside = harness
        .query_all_by_role(Role::Tab)
        .find(|node| node.accesskit_node().label().as_deref() == Some("Sample"));
    assert!(
        place.right() <= beside.expect("the tab").rect().left(),
        "{place}"
    );

    // The form of a plan beside the table.
    harness.state_mut().show_pane(Pane::Engine);
    settle(&mut harness);
    picture(&mut harness, "small-engine");
    for name in [
        "Run at once",
        "Program",
        "If it fails",
        "Folder of the plan",
    ] {
        let rect = harness.get_by_role_and_label(Role::TextInput, name).rect();
        assert!(
            rect.right() <= edge,
            "{name} at {rect}, the table begins at {edge}"
        );
    }
    let rect = harness.get_by_label("Read the state again").rect();
    assert!(rect.right() <= edge, "{rect}");

    let mut harness = app(egui::Theme::Dark);
    harness.set_size(egui::vec2(1024.0, 640.0));
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    click(&mut harness, "Run query");
    click(&mut harness, "Use the query");
    picture(&mut harness, "small-query");
    assert!(harness.query_by_label("Python (tacoreader)").is_some());
    click(&mut harness, "Export subset…");
    assert!(
        harness
            .query_by_label("Destination of the subset")
            .is_some(),
        "the dialog"
    );
}

#[test]
fn a_recent_dataset_that_is_gone_is_marked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("copy.tacozip");
    std::fs::copy(sample(), &copy).expect("copies");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![copy.clone()]);
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    assert!(harness.query_by_label("Open river-floods-sample").is_some());
    click(&mut harness, "Open river-floods-sample");
    std::fs::remove_file(&copy).expect("removes");
    harness.state_mut().act(Action::Close);
    settle(&mut harness);
    assert!(
        harness
            .query_by_label("Locate river-floods-sample")
            .is_some()
    );
    assert!(harness.query_by_label("Open river-floods-sample").is_none());
}

#[test]
fn problems_are_fixed_by_buttons() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    let broken = |harness: &super::support::Window| {
        let report = harness.state().studio().report().clone();
        report
            .findings
            .iter()
            .filter(|finding| finding.rule.code() == "PIT-1")
            .count()
    };
    assert_eq!(broken(&harness), 0);
    for edit in [
        Edit::Rename {
            sample: NodePath(vec![2, 2]),
            id: "label_v2.tif".into(),
        },
        Edit::Remove {
            parent: NodePath(vec![5]),
            at: 1,
            count: 1,
        },
    ] {
        harness.state_mut().command(Command::Edit { edit });
        settle(&mut harness);
    }
    assert_eq!(broken(&harness), 2);
    picture(&mut harness, "fixes-dark");
    // The button of a finding fixes only that finding.
    let button = |harness: &super::support::Window| {
        let buttons = harness.query_all_by_role(egui::accesskit::Role::Button);
        let labels = buttons
            .filter_map(|node| node.accesskit_node().label())
            .filter(|label| label.contains(" in danube_0003"));
        labels.collect::<Vec<_>>()
    };
    let rename = button(&harness)
        .into_iter()
        .find(|label| label.starts_with("Rename"))
        .expect("a button that renames");
    click(&mut harness, &rename);
    // The names differ, so old and new are shown first.
    assert_eq!(broken(&harness), 2);
    click(&mut harness, "Apply the fixes");
    assert_eq!(broken(&harness), 1);
    // One button fixes the rest, and one undo reverts it.
    click(&mut harness, "Fix all safe");
    assert_eq!(broken(&harness), 0);
    assert!(harness.query_by_label("Fix all safe").is_none());
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(broken(&harness), 1);
}
