//! What people expect from any window: panels without news are small, dialogs have their height,
//! keys work where the eye is.

use egui::{Id, Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::query::Filter;
use taco_studio::studio::{Command, RowRef};

use super::support::{
    app, click, copied, dataset, document, fork_with_faults, sample, scenes, settle, take,
};

#[test]
fn bottom_panels_without_news_leave_their_height_to_the_others() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowMap);
    settle(&mut harness);
    let high = harness.get_by_label("Map of level 0").rect().height();
    assert!(high > 500.0, "{high}");
    // A tab opens them, as the key does.
    click(&mut harness, "Jobs");
    let low = harness.get_by_label("Map of level 0").rect().height();
    assert!(low < high - 200.0, "{low} of {high}");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::J);
    settle(&mut harness);
    assert!((harness.get_by_label("Map of level 0").rect().height() - high).abs() < 1.0);
    // Findings open them, unless the user folded them.
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    assert!(harness.state().is_bottom_folded());
    fork_with_faults(&mut harness);
    assert!(!harness.state().is_bottom_folded());
}

#[test]
fn a_dialog_has_its_height_after_a_lower_one() {
    let mut harness = app(egui::Theme::Dark);
    let height = |harness: &super::support::Window| {
        let area = harness
            .ctx
            .memory(|memory| memory.area_rect(Id::unique("dialog")));
        area.expect("a dialog is open").height()
    };
    harness.state_mut().act(Action::OpenPath);
    settle(&mut harness);
    let low = height(&harness);
    harness.key_press(Key::Escape);
    settle(&mut harness);
    for action in [Action::Shortcuts, Action::Settings] {
        harness.state_mut().act(action);
        settle(&mut harness);
        let high = height(&harness);
        assert!(
            low < 300.0 && high > 500.0 && high <= 900.0 - 32.0,
            "{action:?}: {high} after {low}"
        );
        harness.key_press(Key::Escape);
        settle(&mut harness);
    }
}

#[test]
fn a_key_leads_to_the_same_position_in_the_next_root() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 1 }));
    settle(&mut harness);
    let node = |harness: &super::support::Window, row: u32| {
        document(harness)
            .node(RowRef { level: 1, row })
            .expect("a sample")
    };
    let first = node(&harness, 1);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::ArrowDown);
    settle(&mut harness);
    let selected = harness.state().selected_sample().expect("a selection");
    let second = document(&harness).node(selected).expect("a sample");
    assert_eq!(
        (second.0[0], &second.0[1..]),
        (first.0[0] + 1, &first.0[1..])
    );
    harness.key_press_modifiers(Modifiers::COMMAND, Key::ArrowUp);
    settle(&mut harness);
    assert_eq!(
        harness.state().selected_sample(),
        Some(RowRef { level: 1, row: 1 })
    );
    // There is no root before the first.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::ArrowUp);
    settle(&mut harness);
    assert_eq!(
        harness.state().selected_sample(),
        Some(RowRef { level: 1, row: 1 })
    );
}

#[test]
fn arrow_keys_lead_from_card_to_card() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Gallery);
    settle(&mut harness);
    let id = |harness: &super::support::Window, row: u32| {
        document(harness)
            .id(RowRef { level: 0, row })
            .expect("a root")
            .to_owned()
    };
    let (first, second) = (id(&harness, 0), id(&harness, 1));
    click(&mut harness, &format!("Card {first}"));
    let root = |harness: &super::support::Window| {
        let node = document(harness)
            .node(harness.state().selected_sample().expect("a selection"))
            .expect("a sample");
        id(harness, node.0[0])
    };
    assert_eq!(root(&harness), first);
    harness.key_press(Key::ArrowRight);
    settle(&mut harness);
    assert_eq!(root(&harness), second);
    harness.key_press(Key::ArrowDown);
    settle(&mut harness);
    assert!(
        ![&first, &second].contains(&&root(&harness)),
        "a line further down"
    );
    harness.key_press(Key::ArrowUp);
    harness.step();
    harness.key_press(Key::ArrowLeft);
    settle(&mut harness);
    assert_eq!(root(&harness), first);
}

#[test]
fn a_pixel_can_be_pinned_after_the_pointer_has_left_the_picture() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    assert!(
        harness
            .get_by_label("Pin the pixel")
            .accesskit_node()
            .is_disabled(),
        "no pixel yet"
    );
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.center());
    settle(&mut harness);
    let button = harness.get_by_label("Pin the pixel").rect().center();
    harness.hover_at(button);
    settle(&mut harness);
    assert!(
        !harness
            .get_by_label("Pin the pixel")
            .accesskit_node()
            .is_disabled()
    );
    click(&mut harness, "Pin the pixel");
    assert!(
        harness.query_by_label_contains("row, col:").is_some(),
        "its values are shown"
    );
}

#[test]
fn the_filter_of_a_zip_is_copied_as_python() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().command(Command::Filter {
        filters: vec![Filter::condition("id <> 'x'")],
    });
    settle(&mut harness);
    harness.state_mut().act(Action::ShowTable);
    settle(&mut harness);
    harness.get_by_label("Copy the filters as").click();
    settle(&mut harness);
    let python = copied(&mut harness, "Python (tacoreader)").expect("is copied");
    assert!(
        python.contains("tacoreader.load(") && python.contains("\"id\" <> 'x'"),
        "{python}"
    );
    harness.get_by_label("Copy the filters as").click();
    settle(&mut harness);
    let polars = copied(&mut harness, "Polars").expect("is copied");
    assert!(
        polars.contains("zipfile.ZipFile(") && polars.contains("METADATA/level0.parquet"),
        "{polars}"
    );
}

#[test]
fn dialogs_ask_for_what_they_name() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    harness.state_mut().show_pane(Pane::Table);
    settle(&mut harness);
    click(&mut harness, "Add column");
    assert!(harness.query_by_label("Change column").is_none());
    assert!(harness.query_by_label("Add this column").is_some());
}

#[test]
fn placed_samples_go_back_to_the_tray_and_undo_brings_them_back() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(3).collect());
    let (before, samples) = (dataset(&harness).clone(), document(&harness).rows(1));
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 1 }));
    settle(&mut harness);
    let files = dataset(&harness).root.samples[1]
        .children()
        .expect("a FOLDER")
        .samples
        .len();
    harness.state_mut().act(Action::Unplace);
    settle(&mut harness);
    let tray =
        |harness: &super::support::Window| document(harness).draft().expect("a draft").tray().len();
    assert_eq!(
        (dataset(&harness).root.samples.len(), tray(&harness)),
        (2, files)
    );
    assert!(document(&harness).rows(1) < samples);
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(tray(&harness), 0);
    assert_eq!(dataset(&harness).root, before.root);
}

#[test]
fn spectra_of_several_pixels_are_kept_and_compared() {
    let mut harness = app(egui::Theme::Light);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let canvas = harness.get_by_label_contains("Picture of").rect();
    for place in [canvas.center(), canvas.center() + egui::vec2(40.0, 30.0)] {
        harness.hover_at(place);
        settle(&mut harness);
        harness.key_press(Key::P);
        settle(&mut harness);
        click(&mut harness, "Keep the spectrum");
        harness.key_press(Key::P);
        settle(&mut harness);
    }
    let drawn = harness
        .query_all_by_label_contains("Spectrum of")
        .next()
        .expect("the plot");
    let label = drawn.accesskit_node().label().expect("a label");
    assert!(label.matches("; ").count() >= 1, "two curves: {label}");
    super::support::picture(&mut harness, "spectra-light");
    click(&mut harness, "Clear the kept spectra");
    assert!(harness.query_by_label("Clear the kept spectra").is_none());
}
