//! Offers of the window: fixes show what they change before they are applied, dialogs act on the
//! text that is shown, and files that arrive by themselves wait in the tray.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::RowRef;
use taco_studio::studio::Command;

use super::support::{
    app, click, dataset, document, fill, fork_with_faults, picture, sample, scenes, settle, take,
};

/// Label of the first button whose label contains this text.
fn label_with(window: &super::support::Window, text: &str) -> String {
    let node = window
        .query_all_by_label_contains(text)
        .next()
        .unwrap_or_else(|| panic!("nothing contains {text}"));
    node.accesskit_node().label().expect("has a label")
}

#[test]
fn a_fix_shows_old_and_new_ids_before_it_renames_and_dropping_a_root_asks() {
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![sample()]);
    fork_with_faults(&mut window);
    window.state_mut().show_pane(Pane::Problems);
    settle(&mut window);
    let roots = dataset(&window).root.samples.len();
    let id = |window: &_| {
        dataset(window).root.samples[2]
            .children()
            .expect("a FOLDER")
            .samples[2]
            .id
            .to_string()
    };
    let rename = label_with(&window, "Rename label_v2.tif to label.tif in");
    click(&mut window, &rename);
    picture(&mut window, "fix-renames-dark");
    assert_eq!(id(&window), "label_v2.tif", "nothing has changed yet");
    label_with(&window, "label_v2.tif → label.tif");
    click(&mut window, "Apply the fixes");
    assert_eq!(id(&window), "label.tif");
    let drop = label_with(&window, "Drop ");
    click(&mut window, &drop);
    assert_eq!(dataset(&window).root.samples.len(), roots, "it asks first");
    click(&mut window, "Remove folder");
    assert_eq!(dataset(&window).root.samples.len(), roots - 1);
}

#[test]
fn enter_opens_the_path_that_was_typed_not_that_of_the_frame_before() {
    let mut window = app(egui::Theme::Dark);
    window.state_mut().act(Action::OpenPath);
    settle(&mut window);
    let (folder, name) = (
        sample().parent().expect("a folder").display().to_string(),
        sample(),
    );
    let name = name
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    fill(&mut window, "Path", &format!("{folder}/"));
    // The rest of the path and Enter arrive in one frame, as from a fast typist on a busy machine.
    let key = |pressed| Event::Key {
        key: Key::Enter,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    window
        .input_mut()
        .events
        .extend([Event::Text(name), key(true), key(false)]);
    window.step();
    settle(&mut window);
    let opened = document(&window)
        .opened_dataset()
        .expect("a dataset is opened, not a folder imported");
    assert_eq!(opened.reader.info().path, sample());
}

#[test]
fn files_of_a_later_start_go_into_the_tray_not_into_the_selected_scene() {
    let folder = tempfile::tempdir().expect("a folder");
    let late = folder.path().join("late.tif");
    std::fs::write(&late, b"x").expect("writes");
    let mut window = app(egui::Theme::Dark);
    take(&mut window, scenes());
    let before = dataset(&window).clone();
    window.state_mut().select(Some(RowRef { level: 0, row: 1 }));
    settle(&mut window);
    window.state_mut().take_handed_over(vec![late.clone()]);
    settle(&mut window);
    assert_eq!(dataset(&window).root, before.root);
    let tray = document(&window).draft().expect("a draft").tray();
    assert_eq!(
        tray.iter()
            .map(|file| file.path.clone())
            .collect::<Vec<_>>(),
        [late]
    );
}

#[test]
fn the_next_problem_takes_the_caret_out_of_the_field_before() {
    let mut window = app(egui::Theme::Dark);
    window.state_mut().command(Command::New);
    window.state_mut().show_pane(Pane::Collection);
    settle(&mut window);
    let focused = |window: &super::support::Window| -> Option<String> {
        window
            .query_all_by(|node| node.is_focused())
            .next()?
            .accesskit_node()
            .label()
    };
    let mut seen = Vec::new();
    for _ in 0..window.state().studio().report().findings.len() {
        window
            .get_by_role_and_label(Role::TextInput, "title")
            .focus();
        settle(&mut window);
        assert_eq!(focused(&window).as_deref(), Some("title"));
        window.state_mut().act(Action::NextProblem);
        settle(&mut window);
        assert_ne!(focused(&window).as_deref(), Some("title"), "after {seen:?}");
        seen.push(focused(&window));
    }
    assert!(seen.iter().flatten().count() > 2, "{seen:?}");
}

#[test]
fn a_damaged_raster_is_among_the_problems_as_soon_as_it_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies: Vec<std::path::PathBuf> = scenes()
        .iter()
        .take(3)
        .map(|scene| {
            let copy = folder.path().join(scene.file_name().expect("a name"));
            std::fs::create_dir(&copy).expect("a folder");
            for file in std::fs::read_dir(scene).expect("files").flatten() {
                std::fs::copy(file.path(), copy.join(file.file_name())).expect("copies");
            }
            copy
        })
        .collect();
    std::fs::write(copies[1].join("label.tif"), b"II*\0\x08\0\0\0 cut off").expect("writes");
    let mut window = app(egui::Theme::Dark);
    take(&mut window, copies);
    let report = window.state().studio().report().clone();
    let found: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.rule.code() == "SRC-2")
        .map(|finding| finding.at.to_string())
        .collect();
    assert_eq!(found.len(), 1, "{:?}", report.findings);
    assert!(found[0].ends_with("label.tif"), "{found:?}");
}

#[test]
fn the_next_problem_skips_none_when_the_field_of_the_one_before_is_filled() {
    let mut window = app(egui::Theme::Dark);
    take(&mut window, scenes());
    settle(&mut window);
    let fields = |window: &super::support::Window| -> Vec<String> {
        let report = window.state().studio().report().clone();
        report
            .findings
            .iter()
            .map(|finding| finding.at.to_string().replace("COLLECTION.json ", ""))
            .collect()
    };
    let all = fields(&window);
    assert!(
        ["id", "description"]
            .iter()
            .all(|field| all.iter().any(|other| other == field)),
        "{all:?}"
    );
    // The names of the fields that the steps lead to, each filled when it is a line of text.
    let mut seen = Vec::new();
    for _ in 0..all.len() {
        window.state_mut().act(Action::NextProblem);
        settle(&mut window);
        let Some(node) = window.query_all_by(|node| node.is_focused()).next() else {
            continue;
        };
        let name = node.accesskit_node().label().unwrap_or_default();
        if matches!(name.as_str(), "id" | "description" | "title") {
            window
                .input_mut()
                .events
                .push(Event::Text("words".to_owned()));
            settle(&mut window);
        }
        seen.push(name);
    }
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!(
        once.len(),
        seen.len(),
        "each problem is selected once before the first comes again: {seen:?}"
    );
    let left = fields(&window);
    let skipped: Vec<&String> = left
        .iter()
        .filter(|field| !seen.iter().any(|name| *field == name))
        .collect();
    // A list's first entry is a button, which has its own name.
    assert!(
        skipped
            .iter()
            .all(|field| field.contains("providers") || field.contains("dataset")),
        "{skipped:?} of {left:?}"
    );
    assert!(seen.len() + 1 >= all.len(), "{seen:?} of {all:?}");
}

#[test]
fn the_dialog_warns_of_a_destination_inside_another_dataset() {
    use super::support::{app as new_app, take as open};
    let folder = tempfile::tempdir().expect("a folder");
    let parts = folder.path().join("parts");
    std::fs::create_dir_all(parts.join(".tacocat")).expect("folders");
    let archive = parts.join("one.tacozip");
    std::fs::copy(sample(), &archive).expect("a copy");
    let mut window = new_app(egui::Theme::Dark);
    open(&mut window, vec![archive]);
    window.state_mut().act(Action::EditCopy);
    settle(&mut window);
    window.state_mut().act(Action::Write);
    settle(&mut window);
    let inside = |window: &super::support::Window| {
        window
            .query_by_label_contains("The destination is inside another dataset")
            .is_some()
    };
    let field = window.get_by_role_and_label(Role::TextInput, "Destination");
    let proposed = field.accesskit_node().value().expect("a path");
    assert!(
        !proposed.starts_with(&parts.display().to_string()),
        "{proposed} is among the parts of another dataset"
    );
    assert!(!inside(&window));
    fill(
        &mut window,
        "Destination",
        &parts.join("two.tacozip").display().to_string(),
    );
    assert!(
        inside(&window),
        "the user is warned where the place was typed"
    );
}

#[test]
fn a_file_without_a_picture_is_a_neutral_tile_and_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies: Vec<std::path::PathBuf> = ["one", "two", "three"]
        .map(|name| folder.path().join(name))
        .to_vec();
    for copy in &copies {
        std::fs::create_dir(copy).expect("a folder");
        std::fs::write(
            copy.join("notes.txt"),
            "Water is high.\nThe bridge is closed.\n",
        )
        .expect("writes");
    }
    let mut window = app(egui::Theme::Dark);
    take(&mut window, copies);
    window.state_mut().show_pane(Pane::Gallery);
    settle(&mut window);
    picture(&mut window, "gallery-tiles-dark");
    let cards: Vec<Option<String>> = window
        .query_all_by_label_contains("Card ")
        .filter(|node| node.accesskit_node().role() == Role::ListBoxOption)
        .map(|node| node.accesskit_node().description())
        .collect();
    assert_eq!(cards.len(), 3, "{cards:?}");
    assert!(
        cards
            .iter()
            .all(|kind| kind.as_deref().is_some_and(|kind| !kind.is_empty())),
        "each says what it is: {cards:?}"
    );
    assert!(
        window.query_by_label("Retry picture").is_none(),
        "nothing has failed"
    );
}

#[test]
fn a_dataset_dropped_on_a_draft_becomes_samples_a_folder_or_a_file() {
    let mut window = app(egui::Theme::Dark);
    take(&mut window, scenes());
    let before = dataset(&window).root.clone();
    let own = before.samples.len();
    let drop_and_choose = |window: &mut super::support::Window, choice: &str| {
        window.state_mut().take_dropped(vec![sample()]);
        settle(window);
        window
            .get_by_role_and_label(Role::RadioButton, choice)
            .click();
        settle(window);
        picture(
            window,
            &format!(
                "add-dataset-{}-dark",
                choice.replace(' ', "-").to_lowercase()
            ),
        );
        click(window, "Add the dataset");
        let root = dataset(window).root.clone();
        window.state_mut().act(Action::Undo);
        settle(window);
        assert_eq!(dataset(window).root, before, "one step takes it back");
        root
    };
    let joined = drop_and_choose(&mut window, "Its samples");
    assert_eq!(joined.samples.len(), 2 * own);
    let river = joined.field("river").expect("the dataset's field");
    assert!(
        joined.samples[0].value(river).is_null() && !joined.samples[own].value(river).is_null()
    );
    let below = |root: usize| {
        joined.samples[root]
            .children()
            .expect("a FOLDER")
            .schema
            .clone()
    };
    assert_eq!(below(0), below(own), "the fields of a level are aligned");
    let nested = drop_and_choose(&mut window, "One FOLDER");
    assert_eq!(nested.samples.len(), own + 1);
    assert_eq!(
        nested.samples[own]
            .children()
            .expect("a FOLDER")
            .samples
            .len(),
        own
    );
    let file = drop_and_choose(&mut window, "One FILE");
    assert_eq!(
        (file.samples.len(), file.samples[own].children().is_none()),
        (own + 1, true)
    );
    window.state_mut().take_dropped(vec![sample()]);
    settle(&mut window);
    window
        .get_by_role_and_label(Role::RadioButton, "Open it instead")
        .click();
    settle(&mut window);
    click(&mut window, "Add the dataset");
    // The draft has changes, so it asks.
    click(&mut window, "Discard changes");
    assert!(document(&window).opened_dataset().is_some());
}

#[test]
fn a_dataset_that_another_program_zipped_again_is_offered_for_repair() {
    let good = crate::rules::Good::new();
    let archive = crate::rezipped::archives(&good).join("deflated_top.zip");
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![archive.clone()]);
    picture(&mut window, "rezipped-dark");
    click(&mut window, "Repair a copy…");
    click(&mut window, "Repair");
    let copy = archive.with_file_name("deflated_top-repaired.tacozip");
    assert!(copy.is_file(), "the copy is written beside the archive");
    let opened = taco_studio::container::open(&copy, &taco_studio::jobs::JobContext::default());
    assert!(opened.is_ok(), "{:?}", opened.err());
}
