//! Map and query of a draft, which follow its edits.

use egui_kittest::kittest::Queryable;
use taco_studio::draft::Edit;
use taco_studio::error::Kind;
use taco_studio::gui::action::Action;
use taco_studio::jobs::JobContext;
use taco_studio::model::{Dataset, NodePath};
use taco_studio::query::Query;
use taco_studio::studio::Command;

use super::support::{Window, app, click, document, fill, picture, sample, settle, take};

fn draft_of_sample(theme: egui::Theme) -> Window {
    let mut harness = app(theme);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    assert!(document(&harness).draft().is_some());
    harness
}

fn remove_first_root(harness: &mut Window) {
    let edit = Edit::Remove {
        parent: NodePath(Vec::new()),
        at: 0,
        count: 1,
    };
    harness.state_mut().command(Command::Edit { edit });
    settle(harness);
}

#[test]
fn a_draft_is_queried_as_it_is_now() {
    let mut harness = draft_of_sample(egui::Theme::Dark);
    harness.state_mut().act(Action::ShowQuery);
    settle(&mut harness);
    fill(&mut harness, "SQL", "SELECT 100 * count(*) AS n FROM data");
    click(&mut harness, "Run query");
    assert!(harness.query_all_by_label_contains("2400").next().is_some());
    picture(&mut harness, "draft-query-dark");
    remove_first_root(&mut harness);
    click(&mut harness, "Run query");
    assert!(
        harness.query_all_by_label_contains("2300").next().is_some(),
        "without the removed root"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("rows.csv");
    let query = Query {
        sql: Some("SELECT id, river FROM data".into()),
        ..Query::default()
    };
    harness.state_mut().command(Command::SaveRows {
        query,
        target: target.clone(),
    });
    settle(&mut harness);
    let rows = std::fs::read_to_string(&target).expect("the rows are saved");
    assert_eq!(rows.lines().count(), 24, "a header and 23 roots: {rows}");
}

#[test]
fn a_draft_without_samples_says_so() {
    let refused = taco_studio::ops::draft_tables(&Dataset::default(), &JobContext::default())
        .err()
        .expect("there is nothing to query");
    assert_eq!(refused.kind(), Kind::Usage);
    assert!(refused.to_string().contains("no samples"), "{refused}");
}

#[test]
fn the_map_of_a_draft_follows_its_edits() {
    let mut harness = draft_of_sample(egui::Theme::Light);
    harness.state_mut().act(Action::ShowMap);
    settle(&mut harness);
    assert!(
        harness
            .query_by_label("24 of 24 samples match on the map")
            .is_some()
    );
    assert!(
        harness.query_by_label("Draw box").is_none(),
        "a draft has no filters"
    );
    picture(&mut harness, "draft-map-light");
    remove_first_root(&mut harness);
    assert!(
        harness
            .query_by_label("23 of 23 samples match on the map")
            .is_some()
    );
}
