//! The structure view and the extension runner: faults are shown, fixed by buttons with a preview,
//! and columns computed.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::draft::Edit;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::NodePath;
use taco_studio::studio::Command;

use super::support::{
    Window, app, choose, click, dataset, document, fill, picture, sample, settle, take,
};

fn draft(theme: egui::Theme) -> Window {
    let mut harness = app(theme);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    harness
}

fn damage(harness: &mut Window, edits: Vec<Edit>) {
    for edit in edits {
        harness.state_mut().command(Command::Edit { edit });
        settle(harness);
    }
}

fn broken(harness: &Window) -> usize {
    let report = harness.state().studio().report().clone();
    report
        .findings
        .iter()
        .filter(|finding| finding.rule.code() == "PIT-1")
        .count()
}

fn label_with(harness: &Window, role: Role, part: &str) -> String {
    let nodes = harness
        .query_all_by_role(role)
        .filter_map(|node| node.accesskit_node().label());
    nodes
        .into_iter()
        .find(|label| label.contains(part))
        .unwrap_or_else(|| panic!("nothing is called …{part}…"))
}

#[test]
fn the_lens_shows_every_fault_and_mends_it() {
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = draft(theme);
        damage(
            &mut harness,
            vec![
                Edit::Rename {
                    sample: NodePath(vec![2, 2]),
                    id: "label_v2.tif".into(),
                },
                Edit::Remove {
                    parent: NodePath(vec![5]),
                    at: 1,
                    count: 1,
                },
                Edit::Remove {
                    parent: NodePath(vec![7]),
                    at: 1,
                    count: 1,
                },
                Edit::Move {
                    sample: NodePath(vec![8, 0]),
                    to: NodePath(vec![8]),
                    at: 1,
                },
            ],
        );
        assert_eq!(broken(&harness), 4);
        harness.state_mut().show_pane(Pane::Structure);
        settle(&mut harness);
        let cell = label_with(&harness, Role::Cell, ": missing");
        click(&mut harness, &cell);
        picture(&mut harness, &format!("structure-{word}"));
        assert!(
            harness.query_by_label("Missing child").is_some(),
            "the cell says what is wrong"
        );
        assert!(harness.query_by_label_contains("Fix: Pad ").is_some());
        // Applies the same fix to all roots of the shape, after a preview.
        click(&mut harness, "Apply to all like this");
        picture(&mut harness, &format!("structure-alike-{word}"));
        click(&mut harness, "Apply the fixes");
        assert_eq!(broken(&harness), 2);
        harness.state_mut().act(Action::Undo);
        settle(&mut harness);
        assert_eq!(broken(&harness), 4, "one step");
        // Fixes one root by its own button.
        let wrong = label_with(&harness, Role::Cell, "has the id label_v2.tif");
        click(&mut harness, &wrong);
        let apply = label_with(&harness, Role::Button, "Apply: Rename");
        click(&mut harness, &apply);
        assert_eq!(broken(&harness), 3);
        click(&mut harness, "Preview fixes");
        click(&mut harness, "Cancel");
        click(&mut harness, "Fix safe");
        assert_eq!(broken(&harness), 0);
        assert!(harness.query_by_label("Missing child").is_none());
    }
}

#[test]
fn the_pattern_can_come_from_another_root() {
    let mut harness = draft(egui::Theme::Dark);
    damage(
        &mut harness,
        vec![Edit::Remove {
            parent: NodePath(vec![5]),
            at: 1,
            count: 1,
        }],
    );
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    let roots = document(&harness).rows(0);
    let id = dataset(&harness).root.samples[5].id.clone();
    harness.state_mut().command(Command::ChoosePattern {
        choice: taco_studio::draft::PatternChoice::Root(id),
    });
    settle(&mut harness);
    let structure = document(&harness).structure().expect("a draft has one");
    assert_eq!(structure.pattern().len(), 5);
    assert_eq!(
        structure.root_counts().faults() as usize,
        roots - 1,
        "now all others have one too many"
    );
    drop(structure);
    assert_eq!(
        broken(&harness),
        roots - 1,
        "the findings are shown beside the same root"
    );
    harness.state_mut().act(Action::Validate);
    settle(&mut harness);
    assert_eq!(broken(&harness), roots - 1, "also those of the whole check");
}

#[test]
fn extensions_show_an_example_before_they_run() {
    let mut harness = draft(egui::Theme::Light);
    let level = document(&harness).tree().levels.len() - 1;
    let before = document(&harness).fields(level).len();
    harness.state_mut().show_pane(Pane::Extensions);
    settle(&mut harness);
    click(&mut harness, "Run Histogram");
    assert!(
        harness.query_by_label_contains("low: Needed").is_some(),
        "the missing value is named"
    );
    fill(&mut harness, "low of Histogram", "0");
    fill(&mut harness, "high of Histogram", "1000");
    let column = format!("of level {level}: ");
    assert!(
        harness
            .query_all_by_label_contains(&column)
            .next()
            .is_some(),
        "the columns have an example"
    );
    picture(&mut harness, "extensions-light");
    click(&mut harness, "Run extensions");
    picture(&mut harness, "jobs-light");
    assert!(
        document(&harness).fields(level).len() > before,
        "the columns are there"
    );
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(document(&harness).fields(level).len(), before, "one step");
}

#[test]
fn the_range_of_histograms_comes_from_the_data() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Two roots with different values: the range has both.
    let mut highest = 0.0f64;
    for (scene, seed) in [("a", 1), ("b", 20)] {
        let image = folder.path().join(format!("scenes/{scene}/image.tif"));
        crate::support::geotiff(&image, 2, 16, seed);
        let opened = gdal::Dataset::open(&image).expect("opens");
        for band in 1..=2 {
            let pixels = opened
                .rasterband(band)
                .and_then(|band| band.read_as::<f64>((0, 0), (16, 16), (16, 16), None))
                .expect("pixels");
            highest = pixels.data().iter().copied().fold(highest, f64::max);
        }
    }
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![folder.path().join("scenes")]);
    harness.state_mut().show_pane(Pane::Extensions);
    settle(&mut harness);
    click(&mut harness, "Run Histogram");
    click(&mut harness, "Take low and high from the data");
    let typed = |harness: &Window, name: &str| {
        harness
            .get_by_role_and_label(Role::TextInput, name)
            .accesskit_node()
            .value()
    };
    assert_eq!(
        typed(&harness, "low of Histogram").as_deref(),
        Some("7"),
        "of the first root"
    );
    assert_eq!(
        typed(&harness, "high of Histogram"),
        Some(highest.to_string()),
        "of the second root"
    );
    picture(&mut harness, "histogram-range-light");
    click(&mut harness, "Run extensions");
    let names: Vec<String> = document(&harness)
        .fields(1)
        .into_iter()
        .map(|field| field.name)
        .collect();
    assert!(
        names.iter().any(|name| name == "histogram:counts"),
        "{names:?}"
    );
}

#[test]
fn nothing_is_called_safe_that_needs_a_choice() {
    let mut harness = draft(egui::Theme::Light);
    damage(
        &mut harness,
        vec![Edit::Rename {
            sample: NodePath(vec![2, 2]),
            id: "photo_label.tif".into(),
        }],
    );
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    assert_eq!(broken(&harness), 1);
    for button in ["Fix safe", "Fix all safe", "Preview fixes"] {
        assert!(
            harness.get_by_label(button).accesskit_node().is_disabled(),
            "{button}"
        );
    }
    // The fix is offered, and its card is inside the panel.
    let wrong = label_with(&harness, Role::Cell, "has the id photo_label.tif");
    click(&mut harness, &wrong);
    let apply = label_with(&harness, Role::Button, "Apply: Rename");
    let card = label_with(&harness, Role::RadioButton, "Fix: Rename");
    let window = harness.ctx.content_rect();
    assert!(
        harness.get_by_label(&card).rect().right() <= window.right(),
        "the panel is not widened"
    );
    let below = harness
        .get_by_label_contains("of roots match")
        .rect()
        .bottom();
    assert!(
        below <= harness.get_by_label("Fix all safe").rect().top(),
        "what is below the strip is not cut"
    );
    click(&mut harness, &apply);
    assert_eq!(broken(&harness), 0);
}

#[test]
fn a_small_window_hides_nothing_behind_something_else() {
    let mut harness = draft(egui::Theme::Dark);
    harness.set_size(egui::vec2(1024.0, 700.0));
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    picture(&mut harness, "structure-small");
    let rect = |label: &str| harness.get_by_label(label).rect();
    let combo = harness
        .get_by_role_and_label(Role::ComboBox, "Pattern from")
        .rect();
    for button in ["Preview fixes", "Fix safe"] {
        assert!(!combo.intersects(rect(button)), "{button}");
    }
    assert!(
        !rect("Unplaced files").intersects(rect("Match by pattern")),
        "the tray's head"
    );
    // The active tab is visible: left of the neighbouring panel.
    harness.state_mut().show_pane(Pane::Pattern);
    settle(&mut harness);
    picture(&mut harness, "tabs-small");
    let tab = |name: &str| {
        let tabs = harness
            .query_all_by_role(Role::Tab)
            .filter(|node| node.accesskit_node().label().as_deref() == Some(name));
        tabs.map(|node| node.rect())
            .next()
            .unwrap_or_else(|| panic!("no tab {name}"))
    };
    assert!(
        tab("Pattern").right() <= tab("Sample").left(),
        "the tab in front is scrolled into sight"
    );
    // The collection form shows all sections.
    harness.state_mut().show_pane(Pane::Collection);
    settle(&mut harness);
    let part = harness
        .get_by_role_and_label(Role::RadioButton, "JSON")
        .rect();
    assert!(part.right() <= 1024.0, "{part:?}");
}

/// Ids of the labels in the sample dataset become `label_0.tif`, `label_1.tif`, ….
fn number_labels(harness: &mut Window) -> usize {
    let roots = dataset(harness).root.samples.len();
    let names = (0..roots as u32)
        .map(|root| {
            (
                NodePath(vec![root, 2]),
                format!("label_{root:04}.tif").into(),
            )
        })
        .collect();
    damage(harness, vec![Edit::RenameMany { names }]);
    roots
}

#[test]
fn a_position_is_renamed_by_pattern_in_all_roots() {
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = draft(theme);
        let roots = number_labels(&mut harness);
        harness.state_mut().show_pane(Pane::Structure);
        settle(&mut harness);
        click(&mut harness, "Consistency");
        click(&mut harness, "Compare headers");
        click(&mut harness, "Rename by pattern…");
        choose(&mut harness, "Position to rename", "label_0000.tif");
        picture(&mut harness, &format!("rename-by-pattern-{word}"));
        click(&mut harness, "Rename all");
        let labels: std::collections::BTreeSet<String> = dataset(&harness)
            .root
            .samples
            .iter()
            .map(|root| root.children().expect("children").samples[2].id.to_string())
            .collect();
        assert_eq!(
            labels.into_iter().collect::<Vec<_>>(),
            ["label.tif"],
            "{roots} roots"
        );
        harness.state_mut().act(Action::Undo);
        settle(&mut harness);
        assert!(
            dataset(&harness).root.samples[1]
                .children()
                .expect("children")
                .samples
                .iter()
                .any(|s| &*s.id == "label_0001.tif")
        );
    }
}

#[test]
fn time_steps_are_numbered_by_their_dates_in_all_roots() {
    let mut harness = draft(egui::Theme::Light);
    // The first two samples of each root are dates of its own, the later one first.
    let roots = dataset(&harness).root.samples.len() as u32;
    let dated = |root: u32, position: u32| {
        let id = format!("20{:02}-0{}-01.tif", 10 + root, 9 - position);
        (NodePath(vec![root, position]), id.into())
    };
    let names = (0..roots).flat_map(|root| [dated(root, 0), dated(root, 1)]);
    let names = names.collect();
    let payload = |harness: &Window, root: usize, position: usize| {
        let children = dataset(harness).root.samples[root].children().cloned();
        let sample = children.expect("children").samples[position].clone();
        (sample.id.to_string(), sample.payload)
    };
    damage(&mut harness, vec![Edit::RenameMany { names }]);
    let (_, later) = payload(&harness, 3, 0);
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    click(&mut harness, "Consistency");
    click(&mut harness, "Compare headers");
    click(&mut harness, "Rename by pattern…");
    choose(&mut harness, "Position to rename", "2010-09-01.tif");
    fill(&mut harness, "New name", "t{##}.tif");
    picture(&mut harness, "number-by-date-light");
    click(&mut harness, "Rename all");
    for root in 0..roots as usize {
        let ids = [0, 1].map(|position| payload(&harness, root, position).0);
        assert_eq!(ids, ["t00.tif", "t01.tif"], "root {root}");
    }
    assert_eq!(
        payload(&harness, 3, 1).1,
        later,
        "the order is that of the dates"
    );
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(payload(&harness, 3, 0).1, later, "one step");
}

#[test]
fn rasters_that_differ_are_listed_accepted_and_dropped() {
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = draft(theme);
        // Two roots have the raster of another position, with other bands.
        let first = dataset(&harness).root.samples[3]
            .children()
            .expect("children")
            .samples[0]
            .payload
            .clone();
        let put = |root: u32| Edit::SetPayload {
            sample: NodePath(vec![root, 2]),
            payload: first.clone(),
        };
        damage(&mut harness, vec![put(2), put(5)]);
        harness.state_mut().show_pane(Pane::Structure);
        settle(&mut harness);
        click(&mut harness, "Consistency");
        click(&mut harness, "Compare headers");
        let outliers = |harness: &Window| -> Vec<String> {
            let report = harness.state().studio().report().clone();
            report
                .findings
                .iter()
                .filter(|f| f.rule.code() == "CON-2")
                .map(|f| f.at.to_string())
                .collect()
        };
        assert_eq!(
            outliers(&harness).len(),
            2,
            "{:?}",
            harness.state().studio().report().findings
        );
        picture(&mut harness, &format!("consistency-{word}"));
        let accept = label_with(&harness, Role::Button, "Accept: Bands of");
        click(&mut harness, &accept);
        assert!(
            outliers(&harness).is_empty(),
            "accepted values are no findings"
        );
        let list = label_with(&harness, Role::ListItem, "Accepted: Bands");
        assert!(list.contains("(2)"), "{list}");
        click(&mut harness, "Take back");
        assert_eq!(outliers(&harness).len(), 2);
        // An edit is compared at once, without another reading.
        harness.state_mut().act(Action::Undo);
        settle(&mut harness);
        assert_eq!(outliers(&harness).len(), 1);
        harness.state_mut().act(Action::Redo);
        settle(&mut harness);
        let roots = dataset(&harness).root.samples.len();
        let drop = label_with(&harness, Role::Button, "Drop the roots: Bands of");
        click(&mut harness, &drop);
        click(&mut harness, "Apply the fixes");
        assert_eq!(
            (
                dataset(&harness).root.samples.len(),
                outliers(&harness).len()
            ),
            (roots - 2, 0)
        );
    }
}

#[test]
fn the_row_of_a_rule_fixes_all_roots_after_a_preview() {
    let mut harness = draft(egui::Theme::Dark);
    damage(
        &mut harness,
        vec![
            Edit::Remove {
                parent: NodePath(vec![5]),
                at: 1,
                count: 1,
            },
            Edit::Remove {
                parent: NodePath(vec![7]),
                at: 1,
                count: 1,
            },
            Edit::Remove {
                parent: NodePath(vec![8]),
                at: 1,
                count: 1,
            },
        ],
    );
    assert_eq!(broken(&harness), 3);
    harness.state_mut().show_pane(Pane::Problems);
    settle(&mut harness);
    picture(&mut harness, "problems-groups-dark");
    let pad = label_with(&harness, Role::Button, "in 3 roots…");
    click(&mut harness, &pad);
    click(&mut harness, "Apply the fixes");
    assert_eq!(broken(&harness), 0);
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(broken(&harness), 3, "one step");
}
