//! The rows of a query: charts, the whole of one row, errors and suggestions of the editor.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;

use super::support::{Window, app, choose, click, fill, picture, sample, settle, take};

fn query(theme: egui::Theme, sql: &str) -> Window {
    let mut window = app(theme);
    take(&mut window, vec![sample()]);
    window.state_mut().show_pane(Pane::Query);
    settle(&mut window);
    fill(&mut window, "SQL", sql);
    click(&mut window, "Run query");
    window
}

#[test]
fn a_result_is_drawn_as_bars_a_line_or_points() {
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let sql = "SELECT river, count(*) AS n, avg(cloud_cover) AS clouds FROM data GROUP BY \
            river ORDER BY river";
        let mut window = query(theme, sql);
        choose(&mut window, "shape", "Bars");
        assert!(
            window
                .query_by_label("Chart of n by river: 6 values")
                .is_some(),
            "the first text and the first number"
        );
        picture(&mut window, &format!("chart-bars-{word}"));
        choose(&mut window, "Column of the y axis", "number of rows");
        assert!(
            window
                .query_by_label("Chart of number of rows by river: 6 values")
                .is_some()
        );
        choose(&mut window, "Column of the y axis", "clouds");
        choose(&mut window, "shape", "Line");
        assert!(
            window
                .query_by_label("Chart of clouds by river: 6 values")
                .is_some()
        );
        assert!(
            window
                .query_by_label("x is the number of the row")
                .is_some(),
            "rivers have no order on an axis"
        );
        choose(&mut window, "Column of the x axis", "n");
        choose(&mut window, "shape", "Points");
        assert!(
            window
                .query_by_label("Chart of clouds by n: 6 values")
                .is_some()
        );
        picture(&mut window, &format!("chart-points-{word}"));
        choose(&mut window, "shape", "Rows");
        assert!(
            window
                .query_by_role_and_label(Role::Row, "danube")
                .is_some()
        );
    }
}

#[test]
fn one_row_is_whole_beside_the_table() {
    let mut window = query(
        egui::Theme::Dark,
        "SELECT id, river, cloud_cover, \"stac:centroid\" FROM data WHERE river = 'po' ORDER BY id",
    );
    let row = window.query_all_by_role(Role::Row).find(|node| {
        node.accesskit_node()
            .label()
            .is_some_and(|l| l.starts_with("po_"))
    });
    row.expect("a row of the result").click();
    settle(&mut window);
    picture(&mut window, "query-row-dark");
    assert!(window.query_by_label("Row 1").is_some());
    assert!(
        window
            .query_by_role_and_label(Role::ListItem, "river: po")
            .is_some()
    );
    assert!(
        window
            .query_all_by_label_contains("stac:centroid: POINT (")
            .next()
            .is_some(),
        "a geometry is no hexadecimal text"
    );
    click(&mut window, "Close the row");
    assert!(window.query_by_label("Row 1").is_none());
}

#[test]
fn an_error_goes_when_the_statement_changes_and_suggestions_close_on_run() {
    let mut window = query(egui::Theme::Dark, "SELECT nothing_like_this FROM data");
    let errors = |window: &Window| window.query_all_by_label_contains("Line 1: ").count();
    assert_eq!(errors(&window), 1);
    // As many characters as before.
    fill(&mut window, "SQL", "SELECT nothing_like_thiz FROM data");
    assert_eq!(errors(&window), 0, "the error was of another statement");
    fill(&mut window, "SQL", "SELECT id, clou");
    assert!(window.query_by_label("Complete cloud_cover").is_some());
    window.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    settle(&mut window);
    assert!(
        window.query_by_label("Complete cloud_cover").is_none(),
        "nothing covers the result"
    );
}

#[test]
fn the_editor_grows_with_its_text() {
    let mut window = query(egui::Theme::Dark, "SELECT id FROM data");
    let top = |window: &Window| {
        window
            .get_by_role_and_label(Role::RadioButton, "Bars")
            .rect()
            .top()
    };
    let few = top(&window);
    fill(
        &mut window,
        "SQL",
        "SELECT\n  id,\n  river,\n  cloud_cover\nFROM data\nWHERE river = 'po'\nORDER BY id",
    );
    assert!(
        top(&window) > few + 40.0,
        "seven lines are higher than three: {few} and {}",
        top(&window)
    );
}
