//! The map with samples of every kind: rasters in UTM, around poles, across the antimeridian, lines
//! and points.

use egui_kittest::kittest::Queryable;
use taco_studio::gui::action::Action;
use taco_studio::studio::RowRef;

use super::support::{Window, app, document, fold_bottom, picture, settle, take};
use crate::places::dataset_of_kinds;
use crate::support::Workspace;

const THEMES: [(egui::Theme, &str); 2] =
    [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")];

/// Selects the sample with this id.
fn select(harness: &mut Window, id: &str) {
    let rows = document(harness).rows(0) as u32;
    let row = (0..rows)
        .find(|&row| document(harness).id(RowRef { level: 0, row }) == Some(id))
        .expect("the sample");
    harness.state_mut().select(Some(RowRef { level: 0, row }));
    settle(harness);
}

#[test]
fn samples_of_every_kind_are_on_the_map() {
    let workspace = Workspace::new();
    let dataset = dataset_of_kinds(&workspace, "places.tacozip", None);
    for (theme, word) in THEMES {
        let mut harness = app(theme);
        take(&mut harness, vec![dataset.clone()]);
        fold_bottom(&mut harness);
        harness.state_mut().act(Action::ShowMap);
        settle(&mut harness);
        assert!(
            harness
                .query_by_label("15 of 15 samples match on the map")
                .is_some()
        );
        picture(&mut harness, &format!("places-all-{word}"));
        for id in [
            "antarctic",
            "antimeridian",
            "track",
            "station",
            "utm_drawn",
            "arctic",
        ] {
            select(&mut harness, id);
            assert!(
                harness.query_by_label("Open in Preview").is_some(),
                "{id} is in sight, with its card"
            );
            picture(&mut harness, &format!("places-{id}-{word}"));
        }
    }
}

#[test]
fn lines_points_and_neighbours_across_the_antimeridian_fill_the_map() {
    let workspace = Workspace::new();
    let near = dataset_of_kinds(&workspace, "lines.tacozip", Some(&["track", "station"]));
    let across = dataset_of_kinds(
        &workspace,
        "across.tacozip",
        Some(&["antimeridian", "pacific", "greenland_seam"]),
    );
    for (theme, word) in THEMES {
        for (dataset, count) in [(&near, 2), (&across, 3)] {
            let mut harness = app(theme);
            take(&mut harness, vec![dataset.clone()]);
            fold_bottom(&mut harness);
            harness.state_mut().act(Action::ShowMap);
            settle(&mut harness);
            assert!(
                harness
                    .query_by_label(&format!("{count} of {count} samples match on the map"))
                    .is_some()
            );
            picture(&mut harness, &format!("places-{count}-{word}"));
        }
    }
}
