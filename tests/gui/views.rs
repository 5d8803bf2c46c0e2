//! Views for exploring: map, time range, gallery, comparison of images, statistics, byte map. Each
//! applies the common filter.

use std::path::PathBuf;

use egui::{Key, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::query::Filter;
use taco_studio::studio::{Command, RowRef};

use super::support::{
    Window, app, choose, click, document, fold_bottom, picture, sample, settle, take,
};

fn golden(path: &str) -> PathBuf {
    crate::support::project_folder()
        .join("tests/fixtures/golden")
        .join(path)
}

fn drag(harness: &mut Window, from: egui::Pos2, to: egui::Pos2) {
    harness.hover_at(from);
    harness.step();
    harness.drag_at(from);
    harness.step();
    for part in 1..=4 {
        harness.hover_at(from + (to - from) * (part as f32 / 4.0));
        harness.step();
    }
    harness.drop_at(to);
    settle(harness);
}

#[test]
fn a_polygon_drawn_on_the_map_is_a_filter_of_places() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    harness.state_mut().act(Action::ShowMap);
    settle(&mut harness);
    let map = harness.get_by_label("Map of level 0").rect();
    click(&mut harness, "Draw polygon");
    // A triangle over the left half.
    let corners = [
        map.left_top() + vec2(20.0, 60.0),
        map.left_bottom() + vec2(20.0, -20.0),
        map.center(),
    ];
    harness.hover_at(corners[0]);
    harness.step();
    harness.drag_at(corners[0]);
    harness.step();
    for side in corners.windows(2) {
        for part in 1..=8 {
            harness.hover_at(side[0] + (side[1] - side[0]) * (part as f32 / 8.0));
            harness.step();
        }
    }
    harness.drop_at(corners[2]);
    settle(&mut harness);
    let filters = harness.state().studio().filters().to_vec();
    let polygon = filters[0].polygon.clone().expect("a polygon was drawn");
    assert_eq!(polygon.len(), 3, "{polygon:?}");
    assert!(
        polygon[0][1] > polygon[1][1] && polygon[2][0] > polygon[0][0],
        "{polygon:?}"
    );
    let kept = |harness: &Window| {
        let studio = harness.state().studio();
        let rows = studio.filtered_rows().and_then(|kept| kept.rows(0));
        rows.map(<[u32]>::len).expect("is applied")
    };
    let in_polygon = kept(&harness);
    picture(&mut harness, "map-polygon-light");
    let chips = harness.query_all_by_label_contains("polygon of 3 corners");
    assert!(chips.count() > 0, "the filter has a chip");
    let bounds = filters[0].area_box().expect("a box");
    let filters = vec![Filter::bbox(bounds)];
    harness.state_mut().command(Command::Filter { filters });
    settle(&mut harness);
    let in_box = kept(&harness);
    assert!(in_polygon <= in_box, "{in_polygon} of {in_box}");
    harness.get_by_label("Map of level 0").focus();
    harness.key_press(Key::Escape);
    settle(&mut harness);
    assert!(harness.state().studio().filters().is_empty());
}

#[test]
fn a_box_on_the_map_and_a_range_of_time_are_filters() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    let rows = document(&harness).rows(0);
    harness.state_mut().act(Action::ShowMap);
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("samples match on the map")
            .is_some()
    );
    picture(&mut harness, "map-dark");
    let map = harness.get_by_label("Map of level 0").rect();
    click(&mut harness, "Draw box");
    drag(
        &mut harness,
        map.min + vec2(60.0, 60.0),
        map.center() + vec2(map.width() * 0.3, map.height() * 0.3),
    );
    let bbox = harness
        .state()
        .studio()
        .filters()
        .iter()
        .find_map(|filter| filter.bbox)
        .expect("a box was drawn");
    // The samples are on both sides of the Pacific: the view, and with it the box, goes across the
    // antimeridian.
    assert!(bbox[0] > bbox[2] && bbox[1] < bbox[3], "{bbox:?}");
    let left = harness
        .state()
        .studio()
        .filtered_rows()
        .and_then(|kept| kept.rows(0))
        .map(<[u32]>::len)
        .expect("is applied");
    assert!((1..=rows).contains(&left), "{left}");
    picture(&mut harness, "map-box-dark");
    // A corner of the box can be dragged.
    let chip = harness.state().studio().filters().to_vec();
    harness.get_by_label("Map of level 0").focus();
    harness.key_press(Key::Escape);
    settle(&mut harness);
    assert!(
        harness.state().studio().filters().is_empty(),
        "Esc takes the box off: {chip:?}"
    );

    let bars = harness.get_by_label("Range of time").rect();
    drag(
        &mut harness,
        bars.left_center() + vec2(4.0, 0.0),
        bars.center(),
    );
    let range = harness
        .state()
        .studio()
        .filters()
        .iter()
        .find_map(|filter| filter.datetime.clone())
        .expect("a range was drawn");
    assert!(range.contains('/'), "{range}");
    picture(&mut harness, "map-time-dark");
    click(&mut harness, "Clear range");
    assert!(harness.state().studio().filters().is_empty());
}

#[test]
fn the_map_points_at_samples_and_colours_them() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    harness.state_mut().act(Action::ShowMap);
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 1 }));
    settle(&mut harness);
    assert!(
        harness.query_by_label("Open in Preview").is_some(),
        "the selected sample has its card"
    );
    harness.get_by_label("Map of level 0").focus();
    for _ in 0..3 {
        harness.key_press(Key::Plus);
        settle(&mut harness);
    }
    picture(&mut harness, "map-near-light");
    harness.key_press(Key::Num0);
    settle(&mut harness);
    choose(&mut harness, "Colour by column", "density");
    picture(&mut harness, "map-density-light");
    let told = |harness: &Window| {
        harness
            .query_by_label("8 of 8 samples match on the map")
            .is_some()
    };
    assert!(told(&harness), "every sample is in a cell");
    choose(&mut harness, "Colour by column", "one colour");
    assert!(told(&harness));
    click(&mut harness, "Fit the map");
    let map = harness.get_by_label("Map of level 0").rect();
    harness.hover_at(map.center());
    settle(&mut harness);
}

#[test]
fn the_gallery_shows_a_card_for_each_sample_under_the_filter() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowGallery);
    settle(&mut harness);
    let first = document(&harness)
        .id(RowRef { level: 0, row: 0 })
        .expect("a row")
        .to_owned();
    assert!(harness.query_by_label(&format!("Card {first}")).is_some());
    picture(&mut harness, "gallery-dark");
    harness.state_mut().command(Command::Filter {
        filters: vec![Filter::condition("river = 'po'")],
    });
    settle(&mut harness);
    let cards = harness.query_all_by_label_contains("Card ").count();
    assert_eq!(cards, 4);
    let po = harness
        .state()
        .studio()
        .filtered_rows()
        .and_then(|kept| kept.rows(0))
        .expect("is applied")[2];
    let id = document(&harness)
        .id(RowRef { level: 0, row: po })
        .expect("a row")
        .to_owned();
    click(&mut harness, &format!("Card {id}"));
    assert!(
        harness.query_all_by_label_contains("of 6").next().is_some(),
        "the inspector shows a file of the sample"
    );
}

#[test]
fn two_pictures_are_compared() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    for mode in ["Swipe", "Difference", "Off"] {
        choose(&mut harness, "Compare", mode);
        picture(
            &mut harness,
            &format!("compare-{}-dark", mode.to_lowercase()),
        );
        if mode == "Swipe" {
            let line = harness.get_by_label("Swipe between the pictures").rect();
            drag(
                &mut harness,
                line.center() - vec2(0.0, 60.0),
                line.center() + vec2(-90.0, -60.0),
            );
            let moved = harness.get_by_label("Swipe between the pictures").rect();
            assert!(moved.center().x < line.center().x - 40.0);
        }
    }
}

#[test]
fn a_limit_on_the_histogram_can_be_dragged_and_a_pixel_pinned() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![sample()]);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let bars = harness
        .get_by_role_and_label(egui::accesskit::Role::Slider, "Histogram")
        .rect();
    drag(
        &mut harness,
        bars.left_center() + vec2(6.0, 0.0),
        bars.center(),
    );
    assert!(
        harness.query_by_label("Lower limit").is_some(),
        "the stretch has limits to type"
    );
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.center());
    settle(&mut harness);
    harness.key_press(Key::P);
    settle(&mut harness);
    harness.hover_at(canvas.left_top() - vec2(40.0, 0.0));
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("row, col: ")
            .next()
            .is_some(),
        "the pinned pixel stays"
    );
    picture(&mut harness, "preview-pinned-light");
}

#[test]
fn statistics_are_pooled_and_bytes_are_mapped() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    harness.state_mut().show_pane(Pane::Statistics);
    settle(&mut harness);
    // Rasters with different bands are not pooled; the panel says which.
    assert!(
        harness
            .query_by_label_contains("bahamas_rgb has 3 bands")
            .is_some()
    );
    assert!(harness.query_by_label("Splits").is_some());
    picture(&mut harness, "statistics-dark");
    // The rasters that match the filter are pooled.
    harness.state_mut().command(Command::Filter {
        filters: vec![Filter::condition("id = 'greenland'")],
    });
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("bahamas_rgb has 3 bands")
            .is_none()
    );
    assert!(
        harness.query_by_label_contains("1 sample,").is_some(),
        "only the one that is left counts"
    );
    harness.state_mut().command(Command::Filter {
        filters: Vec::new(),
    });
    settle(&mut harness);
    harness.state_mut().show_pane(Pane::Bytes);
    settle(&mut harness);
    assert!(harness.query_by_label_contains("data of samples").is_some());
    let map = harness.get_by_label_contains("Bytes of ").rect();
    harness.hover_at(map.center());
    settle(&mut harness);
    picture(&mut harness, "bytes-dark");
    take(&mut harness, vec![golden("04_nested2_folder/change")]);
    harness.state_mut().show_pane(Pane::Bytes);
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("every sample is a file")
            .next()
            .is_some(),
        "a FOLDER says why it has no map"
    );
}

#[test]
fn statistics_of_one_split_count_the_rasters_below_its_roots() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Statistics);
    settle(&mut harness);
    choose(&mut harness, "Level of the statistics", "Level 1");
    choose(&mut harness, "Position of the statistics", "before.tif");
    choose(&mut harness, "Split of the statistics", "test");
    click(&mut harness, "Read the pixels");
    let pooled = |harness: &Window, count: &str| {
        let text = |node: egui_kittest::Node<'_>| {
            node.accesskit_node()
                .label()
                .or_else(|| node.accesskit_node().value())
        };
        let labels: Vec<String> = harness
            .query_all_by_label_contains("samples, ")
            .filter_map(text)
            .collect();
        labels
            .into_iter()
            .any(|label| label.starts_with(&format!("{count} samples, ")))
    };
    assert!(
        pooled(&harness, "3"),
        "three of the scenes are in the split"
    );
    choose(&mut harness, "Split of the statistics", "All splits");
    click(&mut harness, "Read the pixels");
    assert!(pooled(&harness, "24"));
}

#[test]
fn the_rows_of_the_extensions_are_aligned() {
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![sample()]);
    window.state_mut().act(Action::EditCopy);
    window.state_mut().show_pane(Pane::Extensions);
    settle(&mut window);
    let of_list = |node: &egui_kittest::Node<'_>| {
        node.accesskit_node()
            .label()
            .is_some_and(|name| name.starts_with("Extension "))
    };
    let rows: Vec<egui::Rect> = window
        .query_all_by_role(egui::accesskit::Role::ListItem)
        .filter(of_list)
        .map(|node| node.rect())
        .collect();
    assert!(rows.len() > 5, "{rows:?}");
    for pair in rows.windows(2) {
        assert!(pair[0].bottom() <= pair[1].top() + 0.5, "{pair:?}");
    }
}
