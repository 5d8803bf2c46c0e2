//! The panels are arranged for what was opened, and stay as they were left.

use egui_kittest::kittest::Queryable;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::RowRef;

use super::support::{Window, app, click, document, picture, sample, settle, take};

fn shows_table(harness: &Window) -> bool {
    harness.query_by_label("Go to row").is_some()
}

fn shows_picture(harness: &Window) -> bool {
    harness.query_by_label_contains("Picture of ").is_some()
}

#[test]
fn table_and_picture_are_side_by_side_for_datasets_where_this_was_chosen() {
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = app(theme);
        take(&mut harness, vec![sample()]);
        harness.state_mut().act(Action::ArrangeForExploring);
        harness
            .state_mut()
            .select(Some(RowRef { level: 1, row: 1 }));
        settle(&mut harness);
        assert!(
            shows_table(&harness) && shows_picture(&harness),
            "both at once"
        );
        picture(&mut harness, &format!("exploring-{word}"));
        harness.state_mut().act(Action::EditCopy);
        settle(&mut harness);
        assert!(document(&harness).draft().is_some());
        assert!(
            shows_table(&harness) && !shows_picture(&harness),
            "the table has the width"
        );
        harness.state_mut().act(Action::ArrangeForChecking);
        settle(&mut harness);
        assert!(!harness.state().is_bottom_folded() && !shows_table(&harness));
        assert!(
            harness.query_by_label("All roots").is_some(),
            "the structure is in front"
        );
        picture(&mut harness, &format!("checking-{word}"));
        take(&mut harness, vec![sample()]);
        if harness.query_by_label("Discard changes").is_some() {
            click(&mut harness, "Discard changes");
        }
        assert!(
            document(&harness).opened_dataset().is_some() && shows_table(&harness),
            "arranged as the dataset before"
        );
    }
}

#[test]
fn an_arrangement_is_found_as_it_was_left() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ArrangeForExploring);
    settle(&mut harness);
    harness.state_mut().show_pane(Pane::Gallery);
    harness.state_mut().act(Action::ArrangeForBuilding);
    settle(&mut harness);
    assert!(shows_table(&harness));
    harness.state_mut().act(Action::ArrangeForExploring);
    settle(&mut harness);
    assert!(
        !shows_table(&harness),
        "the gallery is in front of the table"
    );
    harness.state_mut().act(Action::ResetLayout);
    settle(&mut harness);
    assert!(shows_table(&harness));
}
