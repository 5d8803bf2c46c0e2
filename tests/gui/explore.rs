//! Exploring a dataset: a common selection in every panel, filters, the preview, SQL rows,
//! findings.

use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::query::Filter;
use taco_studio::studio::{Command, RowRef};

use super::support::{app, click, document, fill, fold_bottom, sample, settle, take};

#[test]
fn tree_table_inspector_and_preview_share_the_selection() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    let second = document(&harness)
        .id(RowRef { level: 0, row: 1 })
        .expect("a row")
        .to_owned();
    harness
        .get_by_role_and_label(egui::accesskit::Role::Row, &second)
        .click();
    settle(&mut harness);
    let item = harness.get_by_role_and_label(egui::accesskit::Role::TreeItem, &second);
    assert_eq!(item.accesskit_node().is_selected(), Some(true));
    assert!(
        harness.query_by_label("2 of 24").is_some(),
        "the inspector tells its place"
    );
    // Right expands a node, Down selects its first child.
    harness
        .get_by_role_and_label(egui::accesskit::Role::TreeItem, &second)
        .click();
    settle(&mut harness);
    for key in [Key::ArrowRight, Key::ArrowDown] {
        harness.key_press(key);
        settle(&mut harness);
    }
    harness.state_mut().act(Action::ShowPreview);
    settle(&mut harness);
    let path = document(&harness)
        .path(RowRef { level: 1, row: 6 })
        .expect("a child")
        .to_string();
    assert!(
        harness
            .query_by_label(&format!("Picture of {path}"))
            .is_some()
    );
    assert!(harness.query_by_label_contains("Driver: GTiff").is_some());
    // The preview keeps the pixel under the pointer in place.
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.center());
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("row 128 col 128")
            .next()
            .is_some()
            || harness
                .query_all_by_label_contains("row 127 col")
                .next()
                .is_some()
    );
}

#[test]
fn a_filter_keeps_matching_samples() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::F);
    settle(&mut harness);
    fill(&mut harness, "Filter ids", "ebro_000?");
    let rows = harness
        .query_all_by_role(egui::accesskit::Role::TreeItem)
        .count();
    assert_eq!(rows, 5, "the root and four scenes");
    fill(&mut harness, "Filter ids", "no such id");
    assert_eq!(
        harness
            .query_all_by_role(egui::accesskit::Role::TreeItem)
            .count(),
        1
    );
}

#[test]
fn the_map_says_that_the_selected_sample_is_filtered_out() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness
        .get_by_role_and_label(egui::accesskit::Role::TreeItem, "danube_0001")
        .click();
    settle(&mut harness);
    harness.state_mut().show_pane(Pane::Map);
    settle(&mut harness);
    for (river, expected) in [("danube", 0), ("po", 1)] {
        let filters = vec![Filter::condition(format!("river = '{river}'"))];
        harness.state_mut().command(Command::Filter { filters });
        settle(&mut harness);
        assert_eq!(
            harness.query_all_by_label("filtered out").count(),
            expected,
            "{river}"
        );
        super::support::picture(&mut harness, &format!("map-{river}-dark"));
    }
}

#[test]
fn go_to_row_takes_a_number() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::GoToRow);
    settle(&mut harness);
    fill(&mut harness, "Row number", "20");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    let id = document(&harness)
        .id(RowRef { level: 0, row: 19 })
        .expect("the twentieth row")
        .to_owned();
    let row = harness.get_by_role_and_label(egui::accesskit::Role::Row, &id);
    assert_eq!(row.accesskit_node().is_selected(), Some(true));
}

#[test]
fn sql_returns_rows_and_errors_have_suggestions() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    fill(
        &mut harness,
        "SQL",
        "SELECT id, cloud_cover FROM data WHERE river = 'po'",
    );
    click(&mut harness, "Run query");
    assert!(
        harness
            .query_by_label_contains("4 rows, 2 columns")
            .is_some()
    );
    fill(&mut harness, "SQL", "SELECT nothing_like_this FROM data");
    click(&mut harness, "Run query");
    assert!(
        harness
            .query_all_by_label_contains("nothing_like_this")
            .next()
            .is_some()
    );
}

#[test]
fn a_query_that_is_stopped_leaves_the_panel_ready() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    let many = "SELECT count(*) FROM data a CROSS JOIN data b CROSS JOIN data c CROSS JOIN data d \
        CROSS JOIN data e CROSS JOIN data f";
    fill(&mut harness, "SQL", many);
    harness.get_by_label("Run query").click();
    harness.run_steps(2);
    assert!(harness.query_by_label("Stop query").is_some(), "it runs");
    harness.get_by_label("Stop query").click();
    settle(&mut harness);
    assert!(
        harness.query_by_label("Stop query").is_none(),
        "it does not run any more"
    );
    fill(&mut harness, "SQL", "SELECT id FROM data LIMIT 2");
    click(&mut harness, "Run query");
    assert!(
        harness
            .query_by_label_contains("2 rows, 1 column")
            .is_some()
    );
}

#[test]
fn one_filter_is_in_every_view_and_can_be_written_into_the_statement() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    let filters = vec![
        Filter::condition("river = 'po'"),
        Filter::condition("cloud_cover < 100"),
    ];
    harness.state_mut().command(Command::Filter { filters });
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("4 of 24 rows of level 0")
            .is_some(),
        "the table says what is left"
    );
    // The count may include a header row.
    let rows = harness
        .query_all_by_role(egui::accesskit::Role::Row)
        .count();
    assert_eq!(rows, 4, "the table shows them");
    let items = harness
        .query_all_by_role(egui::accesskit::Role::TreeItem)
        .count();
    assert_eq!(items, 5, "the tree shows the root and them");
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    click(&mut harness, "Run query");
    assert!(
        harness.query_by_label_contains("4 rows, ").is_some(),
        "the query runs over them"
    );
    harness.get_by_label("Add to SQL").click();
    settle(&mut harness);
    assert!(harness.state().studio().filters().is_empty());
    click(&mut harness, "Run query");
    assert!(
        harness.query_by_label_contains("4 rows, ").is_some(),
        "the statement says the same"
    );
    click(&mut harness, "Column cloud_cover");
    settle(&mut harness);
    harness.state_mut().command(Command::Filter {
        filters: vec![Filter::condition("no_such = 1")],
    });
    settle(&mut harness);
    let told = harness.query_all_by_label_contains("no_such").count();
    assert!(told > 0, "the reason is beside the chip");
}

#[test]
fn completion_offers_columns_and_tab_takes_one() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    fill(&mut harness, "SQL", "SELECT id, clou");
    assert!(harness.query_by_label("Complete cloud_cover").is_some());
    harness.key_press(Key::Tab);
    settle(&mut harness);
    harness.event(egui::Event::Text(" FROM data LIMIT 3".into()));
    settle(&mut harness);
    click(&mut harness, "Run query");
    assert!(
        harness
            .query_by_label_contains("3 rows, 2 columns")
            .is_some()
    );
}

#[test]
fn the_column_explorer_filters_by_a_value() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Columns);
    settle(&mut harness);
    click(&mut harness, "Column river of level 0");
    click(&mut harness, "Filter by po");
    assert_eq!(
        harness
            .state()
            .studio()
            .filtered_rows()
            .and_then(|kept| kept.rows(0))
            .map(<[u32]>::len),
        Some(4)
    );
    click(&mut harness, "Remove filter river = 'po'");
    assert!(harness.state().studio().filtered_rows().is_none());
}

#[test]
fn a_subset_is_exported_from_the_query() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("po.tacozip");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().command(Command::Filter {
        filters: vec![Filter::condition("river = 'po'")],
    });
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    click(&mut harness, "Export subset…");
    fill(
        &mut harness,
        "Destination of the subset",
        &target.display().to_string(),
    );
    click(&mut harness, "Export now");
    assert!(target.is_file());
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).rows(0), 4);
}

#[test]
fn the_palette_and_the_theme_work_from_the_keyboard() {
    let mut harness = app(egui::Theme::Dark);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    settle(&mut harness);
    fill(&mut harness, "Search commands", "light theme");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    assert!(!harness.ctx.global_style().visuals.dark_mode);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::N);
    settle(&mut harness);
    assert!(document(&harness).draft().is_some());
}

#[test]
fn a_problem_leads_to_its_place() {
    let mut harness = app(egui::Theme::Dark);
    harness.state_mut().command(Command::New);
    settle(&mut harness);
    harness.state_mut().show_pane(Pane::Problems);
    harness.state_mut().show_pane(Pane::Sample);
    settle(&mut harness);
    assert!(
        harness.state().studio().report().errors() > 0,
        "an empty draft lacks its required fields"
    );
    let label = harness
        .get_all_by_role(egui::accesskit::Role::ListItem)
        .filter_map(|item| item.accesskit_node().label())
        .find(|label| label.contains("description"))
        .expect("the missing description is listed");
    click(&mut harness, &label);
    let field =
        harness.get_by_role_and_label(egui::accesskit::Role::MultilineTextInput, "description");
    assert!(
        field.is_focused(),
        "the form is in front, the cursor in the field"
    );
}

#[test]
fn ids_typed_above_the_tree_are_a_filter_of_every_view() {
    use egui::accesskit::Role;
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    fill(&mut harness, "Filter ids", "ebro_000?");
    let kept = |harness: &super::support::Window| {
        harness
            .state()
            .studio()
            .filtered_rows()
            .and_then(|kept| kept.rows(0).map(<[u32]>::len))
    };
    assert_eq!(kept(&harness), Some(4));
    assert_eq!(
        harness.query_all_by_role(Role::Row).count(),
        4,
        "the table shows the same"
    );
    assert_eq!(
        harness.query_all_by_role(Role::TreeItem).count(),
        5,
        "the tree has the root above them"
    );
    // Together with another filter.
    let mut filters = harness.state().studio().filters().to_vec();
    filters.push(Filter::condition("id <> 'ebro_0001'"));
    harness.state_mut().command(Command::Filter { filters });
    settle(&mut harness);
    assert_eq!(kept(&harness), Some(3));
    fill(&mut harness, "Filter ids", "ebro_0002");
    assert_eq!(
        (kept(&harness), harness.state().studio().filters().len()),
        (Some(1), 2),
        "the typed one is replaced"
    );
    let chip = harness
        .query_all_by_label("Remove filter id: ebro_0002")
        .next()
        .expect("a chip");
    chip.click();
    settle(&mut harness);
    assert_eq!(harness.state().studio().filters().len(), 1);
    let field = harness.get_by_role_and_label(Role::TextInput, "Filter ids");
    assert_eq!(
        field
            .accesskit_node()
            .value()
            .as_deref()
            .unwrap_or_default(),
        "",
        "its text went with it"
    );
    assert_eq!(
        harness.query_all_by_role(Role::TreeItem).count(),
        24,
        "the root and all but one"
    );
}

#[test]
fn rasters_are_drawn_in_their_places_on_the_map() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowMap);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let shown = |harness: &super::support::Window, text: &str| {
        harness.query_all_by_label_contains(text).next().is_some()
    };
    assert!(!shown(&harness, "drawn in place"), "only on demand");
    click(&mut harness, "Rasters on the map");
    click(&mut harness, "This sample");
    assert!(shown(&harness, "1 raster drawn in place"));
    click(&mut harness, "Rasters on the map");
    click(&mut harness, "With its siblings");
    assert!(shown(&harness, "5 rasters drawn in place"));
    super::support::picture(&mut harness, "map-rasters-dark");
}
