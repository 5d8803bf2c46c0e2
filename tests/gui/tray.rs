//! Unplaced files: dragged from the tray into positions and folders, placed with the keyboard, and
//! by a pattern derived from two examples. Samples are dragged between folders.

use std::path::{Path, PathBuf};

use egui::accesskit::Role;
use egui::{Key, Modifiers, Pos2};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, click, dataset, document, fill, picture, scenes, settle, take};

/// Four scenes; the second lacks `after.tif`, which is in another folder under another name.
fn broken_scenes(folder: &Path) -> (PathBuf, PathBuf) {
    let target = folder.join("scenes");
    for scene in scenes().into_iter().take(4) {
        let to = target.join(scene.file_name().expect("a name"));
        std::fs::create_dir_all(&to).expect("a folder");
        for file in std::fs::read_dir(&scene)
            .expect("files")
            .map(|entry| entry.expect("a file").path())
        {
            std::fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copies");
        }
    }
    let mut names: Vec<PathBuf> = std::fs::read_dir(&target)
        .expect("scenes")
        .map(|entry| entry.expect("one").path())
        .collect();
    names.sort();
    let loose = folder.join("late.tif");
    std::fs::rename(names[1].join("after.tif"), &loose).expect("moves");
    (target, loose)
}

fn draft(folder: &Path) -> (Window, PathBuf) {
    let (scenes, loose) = broken_scenes(folder);
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![scenes]);
    take(&mut harness, vec![loose.clone()]);
    (harness, loose)
}

fn tray(harness: &Window) -> usize {
    document(harness).draft().expect("a draft").tray().len()
}

/// Root and position of the missing sample.
fn missing(harness: &Window) -> (u32, u32) {
    let structure = document(harness).structure().expect("a draft has one");
    let root = structure.next_fault(None).expect("a fault");
    let position = structure
        .states(root)
        .iter()
        .position(|state| state.is_fault())
        .expect("a position");
    (root as u32, position as u32)
}

fn ids(harness: &Window, root: usize) -> Vec<String> {
    let children = dataset(harness).root.samples[root]
        .children()
        .expect("a FOLDER");
    children
        .samples
        .iter()
        .map(|sample| sample.id.to_string())
        .collect()
}

fn drag(harness: &mut Window, from: Pos2, to: Pos2) {
    harness.drag_at(from);
    harness.run_steps(2);
    for step in 1..=8 {
        harness.hover_at(from + (to - from) * (step as f32 / 8.0));
        harness.step();
    }
    harness.run_steps(3);
}

#[test]
fn writing_says_which_files_have_no_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut harness, _) = draft(folder.path());
    harness.state_mut().act(Action::Write);
    settle(&mut harness);
    assert!(
        harness
            .query_all_by_label_contains("1 unplaced file is not written")
            .next()
            .is_some()
    );
    assert!(
        harness
            .query_all_by_label_contains("late.tif: give them a place")
            .next()
            .is_some()
    );
    picture(&mut harness, "write-unplaced-dark");
    let world = harness
        .query_all_by_label_contains("the extent will be the whole globe")
        .next();
    assert!(world.is_some(), "no sample has a place");
}

#[test]
fn a_file_is_dragged_into_its_slot() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut harness, _) = draft(folder.path());
    assert_eq!(
        tray(&harness),
        1,
        "a loose file among scenes has no place yet"
    );
    let (root, _) = missing(&harness);
    let row = document(&harness).tree().levels[0].children(root)[0];
    harness.state_mut().select(Some(RowRef { level: 1, row }));
    settle(&mut harness);
    let file = harness
        .get_by_role_and_label(Role::ListItem, "late.tif")
        .rect()
        .center();
    let slot = harness
        .get_by_role_and_label(Role::TreeItem, "after.tif missing")
        .rect()
        .center();
    drag(&mut harness, file, slot);
    assert!(
        harness.query_by_label_contains("Place as").is_some(),
        "the pointer says where it goes"
    );
    picture(&mut harness, "tray-drag-dark");
    harness.drop_at(slot);
    settle(&mut harness);
    assert_eq!(tray(&harness), 0);
    let whole = ids(&harness, 0);
    assert_eq!(ids(&harness, root as usize), whole);
    assert_eq!(
        document(&harness)
            .structure()
            .expect("has one")
            .root_counts()
            .faults(),
        0
    );
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(
        (tray(&harness), ids(&harness, root as usize).len()),
        (1, whole.len() - 1),
        "one step"
    );
}

#[test]
fn a_file_is_dragged_onto_the_matrix_and_a_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut harness, _) = draft(folder.path());
    let (root, _) = missing(&harness);
    harness.state_mut().show_pane(Pane::Structure);
    settle(&mut harness);
    let file = harness
        .get_by_role_and_label(Role::ListItem, "late.tif")
        .rect()
        .center();
    let cells = harness.query_all_by_role(Role::Cell).filter(|node| {
        node.accesskit_node()
            .label()
            .is_some_and(|l| l.contains("missing"))
    });
    let cell = cells
        .map(|node| node.rect().center())
        .next()
        .expect("a cell");
    drag(&mut harness, file, cell);
    harness.drop_at(cell);
    settle(&mut harness);
    assert_eq!(ids(&harness, root as usize), ids(&harness, 0));
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    // Esc cancels the drag.
    let file = harness
        .get_by_role_and_label(Role::ListItem, "late.tif")
        .rect()
        .center();
    let name = dataset(&harness).root.samples[2].id.to_string();
    let row = harness
        .get_by_role_and_label(Role::TreeItem, &name)
        .rect()
        .center();
    drag(&mut harness, file, row);
    harness.key_press(Key::Escape);
    harness.run_steps(2);
    harness.drop_at(row);
    settle(&mut harness);
    assert_eq!((tray(&harness), ids(&harness, 2).len()), (1, 6));
    drag(&mut harness, file, row);
    harness.drop_at(row);
    settle(&mut harness);
    assert_eq!(
        ids(&harness, 2).last().map(String::as_str),
        Some("late.tif"),
        "into the folder, under its own name"
    );
}

#[test]
fn the_keyboard_places_as_well() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut harness, _) = draft(folder.path());
    let (root, position) = missing(&harness);
    let row = document(&harness).tree().levels[0].children(root)[0];
    harness.state_mut().select(Some(RowRef { level: 1, row }));
    settle(&mut harness);
    // Down the tree to the empty position.
    harness.get_by_role_and_label(Role::Tree, "Samples").focus();
    settle(&mut harness);
    for _ in 0..position {
        harness.key_press(Key::ArrowDown);
        settle(&mut harness);
    }
    let slot = |harness: &Window| {
        harness
            .get_by_role_and_label(Role::TreeItem, "after.tif missing")
            .accesskit_node()
            .is_selected()
    };
    let mut steps = 0;
    while slot(&harness) != Some(true) {
        harness.key_press(Key::ArrowUp);
        settle(&mut harness);
        steps += 1;
        assert!(steps < 5, "the slot is reached");
    }
    harness
        .get_by_role_and_label(Role::List, "Unplaced files")
        .focus();
    settle(&mut harness);
    harness.key_press(Key::ArrowDown);
    settle(&mut harness);
    harness.key_press(Key::Enter);
    settle(&mut harness);
    assert_eq!(ids(&harness, root as usize), ids(&harness, 0));
    assert_eq!(tray(&harness), 0);
}

#[test]
fn the_delete_key_takes_a_file_out_of_the_tray_and_no_sample() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut harness, loose) = draft(folder.path());
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 0 }));
    settle(&mut harness);
    harness
        .get_by_role_and_label(Role::ListItem, "late.tif")
        .click();
    settle(&mut harness);
    harness.key_press(Key::Delete);
    settle(&mut harness);
    assert_eq!(tray(&harness), 0);
    assert_eq!(dataset(&harness).root.samples.len(), 4);
    assert!(loose.exists());
}

#[test]
fn two_examples_place_all_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for scene in 0..6 {
        for band in ["red", "nir", "swir"] {
            std::fs::write(
                folder.path().join(format!("S2_{scene:03}_{band}.tif")),
                b"x",
            )
            .expect("writes");
        }
    }
    std::fs::write(folder.path().join("notes.txt"), b"x").expect("writes");
    let mut harness = app(egui::Theme::Light);
    harness.state_mut().command(Command::AddToTray {
        paths: vec![folder.path().to_owned()],
    });
    settle(&mut harness);
    assert_eq!(tray(&harness), 19);
    click(&mut harness, "Match by pattern");
    for (number, (file, root, position)) in [
        ("S2_000_red.tif", "000", "red"),
        ("S2_001_nir.tif", "001", "nir"),
    ]
    .into_iter()
    .enumerate()
    {
        harness.get_by_role_and_label(Role::ListItem, file).click();
        settle(&mut harness);
        click(&mut harness, "Add example");
        fill(
            &mut harness,
            &format!("Root of example {}", number + 1),
            root,
        );
        fill(
            &mut harness,
            &format!("Position of example {}", number + 1),
            position,
        );
    }
    picture(&mut harness, "pattern-light");
    assert!(
        harness
            .query_by_label_contains("18 files into 6 roots, 6 new")
            .is_some(),
        "told before it is done"
    );
    let row = harness.query_by_role_and_label(Role::ListItem, "S2_001_swir.tif: 001 / swir");
    assert!(row.is_some(), "each file with its place");
    click(&mut harness, "Place matched files");
    assert_eq!(
        (dataset(&harness).root.samples.len(), tray(&harness)),
        (6, 1)
    );
    assert_eq!(ids(&harness, 0), ["nir", "red", "swir"]);
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(
        (dataset(&harness).root.samples.len(), tray(&harness)),
        (0, 19),
        "one step"
    );
}

#[test]
fn ambiguous_names_give_several_alternatives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for site in ["north", "south"] {
        for date in ["20200101", "20200201"] {
            for band in ["red", "nir"] {
                std::fs::write(
                    folder.path().join(format!("{site}_{date}_{band}.tif")),
                    b"x",
                )
                .expect("writes");
            }
        }
    }
    let mut harness = app(egui::Theme::Dark);
    harness.state_mut().command(Command::AddToTray {
        paths: vec![folder.path().to_owned()],
    });
    settle(&mut harness);
    click(&mut harness, "Match by pattern");
    for (number, band) in ["red", "nir"].into_iter().enumerate() {
        harness
            .get_by_role_and_label(Role::ListItem, &format!("north_20200101_{band}.tif"))
            .click();
        settle(&mut harness);
        click(&mut harness, "Add example");
        fill(
            &mut harness,
            &format!("Root of example {}", number + 1),
            "r1",
        );
        fill(
            &mut harness,
            &format!("Position of example {}", number + 1),
            band,
        );
    }
    assert!(
        harness
            .query_by_label_contains("Which one is meant?")
            .is_some()
    );
    picture(&mut harness, "pattern-asked-dark");
    click(&mut harness, "Place matched files");
    assert_eq!(tray(&harness), 8, "nobody guesses");
    let ways = harness
        .query_all_by_role(Role::RadioButton)
        .filter_map(|node| node.accesskit_node().label());
    let way = ways
        .into_iter()
        .find(|label| label.contains("into 4 roots"))
        .expect("a way with four roots");
    click(&mut harness, &way);
    click(&mut harness, "Place matched files");
    assert_eq!(
        (dataset(&harness).root.samples.len(), tray(&harness)),
        (4, 0)
    );
}

#[test]
fn samples_are_dragged_between_folders_and_moved_by_keys() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (scenes, _) = broken_scenes(folder.path());
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![scenes]);
    let names: Vec<String> = dataset(&harness)
        .root
        .samples
        .iter()
        .map(|sample| sample.id.to_string())
        .collect();
    let middle = |harness: &Window, name: &str| {
        harness
            .get_by_role_and_label(Role::TreeItem, name)
            .rect()
            .center()
    };
    // The first sample after the third: a line between two rows.
    let (from, third) = (middle(&harness, &names[0]), middle(&harness, &names[2]));
    let below = third + egui::vec2(0.0, 10.0);
    drag(&mut harness, from, below);
    picture(&mut harness, "tree-drag-dark");
    harness.drop_at(below);
    settle(&mut harness);
    let order = |harness: &Window| {
        dataset(harness)
            .root
            .samples
            .iter()
            .map(|s| s.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        order(&harness),
        [&*names[1], &*names[2], &*names[0], &*names[3]]
    );
    // Two samples into the last folder.
    harness
        .get_by_role_and_label(Role::TreeItem, &names[1])
        .click();
    settle(&mut harness);
    harness
        .get_by_role_and_label(Role::TreeItem, &names[2])
        .click_modifiers(Modifiers::COMMAND);
    settle(&mut harness);
    let (from, into) = (middle(&harness, &names[2]), middle(&harness, &names[3]));
    drag(&mut harness, from, into);
    harness.drop_at(into);
    settle(&mut harness);
    assert_eq!(order(&harness), [&*names[0], &*names[3]]);
    let inside = dataset(&harness).root.samples[1]
        .children()
        .expect("a FOLDER")
        .samples
        .len();
    assert_eq!(inside, 8);
    harness.state_mut().act(Action::Undo);
    settle(&mut harness);
    assert_eq!(order(&harness).len(), 4, "one step");
    // The same with the keyboard, and undo.
    harness
        .get_by_role_and_label(Role::TreeItem, &names[2])
        .click();
    settle(&mut harness);
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowRight);
    settle(&mut harness);
    assert_eq!(order(&harness), [&*names[1], &*names[0], &*names[3]]);
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    settle(&mut harness);
    assert_eq!(
        order(&harness),
        [&*names[1], &*names[2], &*names[0], &*names[3]]
    );
    harness.state_mut().act(Action::Group);
    settle(&mut harness);
    assert_eq!(
        order(&harness),
        [&*names[1], "group", &*names[0], &*names[3]]
    );
    harness.key_press(Key::Escape);
    settle(&mut harness);
    harness.state_mut().act(Action::Dissolve);
    settle(&mut harness);
    assert_eq!(
        order(&harness),
        [&*names[1], &*names[2], &*names[0], &*names[3]]
    );
}
