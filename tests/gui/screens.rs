//! The main screens in both themes: they render, and every control has a name. TACO_STUDIO_SHEETS selects a folder for
//! screenshots.

use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::Edit;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::NodePath;
use taco_studio::studio::{Command, RowRef};

use super::support::{app, click, picture, sample, settle, take};

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
        harness.state_mut().act(Action::ToggleBottom);
        settle(&mut harness);
        picture(&mut harness, &format!("preview-{word}"));
        harness.state_mut().act(Action::ToggleBottom);
        harness.state_mut().show_pane(Pane::Query);
        settle(&mut harness);
        click(&mut harness, "Run query");
        picture(&mut harness, &format!("query-{word}"));
        harness.state_mut().act(Action::EditCopy);
        settle(&mut harness);
        let faults = [
            Edit::Rename { sample: NodePath(vec![2, 2]), id: "mask.tif".into() },
            Edit::Remove { parent: NodePath(vec![5]), at: 1, count: 1 },
            Edit::Rename { sample: NodePath(vec![9]), id: "minho:0002".into() },
        ];
        for edit in faults {
            harness.state_mut().command(Command::Edit { edit });
        }
        settle(&mut harness);
        let id = harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "id");
        id.focus();
        harness.step();
        harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "id").type_text(" X");
        settle(&mut harness);
        harness.state_mut().show_pane(Pane::Table);
        settle(&mut harness);
        harness.state_mut().select(Some(RowRef { level: 1, row: 15 }));
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
    assert!(harness.query_by_label("Locate river-floods-sample").is_some());
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
        report.findings.iter().filter(|finding| finding.rule.code() == "PIT-1").count()
    };
    assert_eq!(broken(&harness), 0);
    for edit in [
        Edit::Rename { sample: NodePath(vec![2, 2]), id: "mask.tif".into() },
        Edit::Remove { parent: NodePath(vec![5]), at: 1, count: 1 },
    ] {
        harness.state_mut().command(Command::Edit { edit });
        settle(&mut harness);
    }
    assert_eq!(broken(&harness), 2);
    picture(&mut harness, "fixes-dark");
    // The button of a finding fixes only that finding.
    let button = |harness: &super::support::Window| {
        let buttons = harness.query_all_by_role(egui::accesskit::Role::Button);
        let labels = buttons.filter_map(|node| node.accesskit_node().label()).filter(|label| label.contains(" in danube_0003"));
        labels.collect::<Vec<_>>()
    };
    let rename = button(&harness).into_iter().find(|label| label.starts_with("Rename")).expect("a button that renames");
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
