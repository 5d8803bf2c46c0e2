//! Incoming data of a draft: a metadata table whose columns are joined, and files that appear in a
//! watched folder.

use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::model::Value;
use taco_studio::studio::Command;

use super::support::{
    Window, app, choose, click, dataset, document, fill, picture, scenes, settle, take,
};
use crate::catalogue_sources::write_items;
use crate::support::{Packing, Workspace, nested_scenes, pack};

#[test]
fn a_dropped_table_opens_the_preview_of_the_join() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ids: Vec<String> = scenes()
        .iter()
        .map(|scene| scene.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let table = folder.path().join("clouds.csv");
    let rows: Vec<String> = ids
        .iter()
        .skip(1)
        .enumerate()
        .map(|(n, id)| format!("{n},{id},{}.5,north", n * 10))
        .collect();
    std::fs::write(
        &table,
        format!(
            "nr,scene,cloud,region\n99,nowhere_1,1,south\n{}\n",
            rows.join("\n")
        ),
    )
    .expect("writes");
    let mut window = app(egui::Theme::Dark);
    take(&mut window, scenes());
    take(&mut window, vec![table.clone()]);
    picture(&mut window, "join-dark");
    assert_eq!(
        window
            .get_by_role_and_label(Role::ComboBox, "Column of keys")
            .accesskit_node()
            .value()
            .as_deref(),
        Some("scene")
    );
    let counts = format!("{} of {} samples get a row", ids.len() - 1, ids.len());
    assert!(window.query_by_label(&counts).is_some(), "{counts}");
    window.get_by_label("nowhere_1 → no sample");
    click(&mut window, "nr");
    click(&mut window, "Join columns");
    let root = &dataset(&window).root;
    let names: Vec<&str> = root
        .schema
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["cloud", "region"], "what was ticked off stays out");
    assert_eq!(root.samples[0].value(0), &Value::Null, "no row names it");
    assert_eq!(
        (root.samples[2].value(0), root.samples[2].value(1)),
        (&Value::Float(10.5), &Value::text("north"))
    );
    window.state_mut().command(Command::Undo);
    settle(&mut window);
    assert!(dataset(&window).root.schema.is_empty(), "one step");

    take(&mut window, vec![table.clone()]);
    choose(&mut window, "Column of keys", "region");
    picture(&mut window, "join-wrong-key-dark");
    assert!(
        window.query_by_label_contains("twice").is_some(),
        "says why not"
    );
    click(&mut window, "Add as a file");
    let tray = document(&window).draft().expect("a draft").tray();
    assert_eq!(
        tray.first().map(|file| file.path.as_path()),
        Some(table.as_path()),
        "a table may be data"
    );

    let collection = folder.path().join("COLLECTION.json");
    std::fs::write(&collection, r#"{"title": "Clouds over rivers"}"#).expect("writes");
    take(&mut window, vec![collection]);
    assert_eq!(
        dataset(&window)
            .collection
            .get("title")
            .and_then(|title| title.as_str()),
        Some("Clouds over rivers"),
        "is no table"
    );
}

#[test]
fn files_that_appear_in_a_watched_folder_come_into_the_tray() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = app(egui::Theme::Light);
    take(&mut window, scenes());
    window.get_by_label("Watched folders");
    window.state_mut().command(Command::Watch {
        folder: folder.path().to_owned(),
    });
    settle(&mut window);
    std::fs::copy(
        scenes()[0].join("before.tif"),
        folder.path().join("new_before.tif"),
    )
    .expect("copies");
    let end = Instant::now() + Duration::from_secs(60);
    while document(&window)
        .draft()
        .expect("a draft")
        .tray()
        .is_empty()
    {
        assert!(Instant::now() < end, "nothing came");
        window.step();
        std::thread::sleep(Duration::from_millis(50));
    }
    settle(&mut window);
    picture(&mut window, "watched-light");
    window.get_by_label_contains("new_before.tif");
    click(&mut window, "Watched folders");
    let stop = format!(
        "Stop watching {}",
        taco_studio::files::canonical(folder.path())
            .expect("is there")
            .display()
    );
    click(&mut window, &stop);
    assert_eq!(window.state().studio().watched_folders().len(), 0);
}

#[test]
fn a_dropped_catalogue_becomes_roots_and_only_what_is_chosen_of_it() {
    let workspace = Workspace::new();
    let items = write_items(&workspace, 2);
    let catalogue =
        serde_json::json!({ "type": "FeatureCollection", "features": items, "links": [] });
    workspace.write(
        "catalogue/items.json",
        serde_json::to_vec(&catalogue).expect("JSON"),
    );
    let mut window = app(egui::Theme::Dark);
    // Without a draft it begins one.
    take(&mut window, vec![workspace.path("catalogue/items.json")]);
    assert!(
        window.query_by_label("Add a catalogue").is_some()
            && window.query_by_label_contains("Open it instead").is_none()
    );
    assert!(
        window.query_by_label_contains("4 files").is_some(),
        "two positions of two items"
    );
    picture(&mut window, "catalogue-dark");
    fill(&mut window, "Keys of the assets", "red");
    window.key_press(egui::Key::Tab);
    settle(&mut window);
    assert!(
        window.query_by_label_contains("2 files").is_some(),
        "one position"
    );
    // The second item begins at 1 degree, and in February.
    for (field, typed) in [
        ("West, south, east and north of the items", "1.5,10,3,12"),
        ("Times of the items", "2024-02-01/.."),
    ] {
        fill(&mut window, field, "some");
        window.key_press(egui::Key::Tab);
        settle(&mut window);
        assert!(
            window.query_by_label_contains("2 files").is_some(),
            "what is wrong chooses nothing"
        );
        fill(&mut window, field, typed);
        window.key_press(egui::Key::Tab);
        settle(&mut window);
        assert!(
            window.query_by_label_contains("1 file").is_some(),
            "one item by {field}"
        );
        fill(&mut window, field, " ");
        window.key_press(egui::Key::Tab);
        settle(&mut window);
        assert!(window.query_by_label_contains("2 files").is_some());
    }
    picture(&mut window, "catalogue-search-dark");
    click(&mut window, "Add the dataset");
    let root = &dataset(&window).root;
    assert_eq!(
        root.samples
            .iter()
            .map(|sample| &*sample.id)
            .collect::<Vec<_>>(),
        ["scene_0", "scene_1"]
    );
    assert!(
        root.schema
            .iter()
            .any(|field| field.name == "eo:cloud_cover")
    );
    let below = root.samples[1].children().expect("a FOLDER");
    assert_eq!(
        below
            .samples
            .iter()
            .map(|sample| &*sample.id)
            .collect::<Vec<_>>(),
        ["red.tif"]
    );
}

#[test]
fn a_dropped_archive_is_read_as_the_folder_that_was_packed() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    pack(
        &workspace.path("scenes"),
        "scenes/",
        &workspace.path("scenes.zip"),
        Packing::Zip,
    );
    for scene in ["0001", "0002", "0003"] {
        for part in ["images", "masks"] {
            workspace.write(&format!("parallel/{part}/{scene}.tif"), "x");
        }
    }
    pack(
        &workspace.path("parallel"),
        "",
        &workspace.path("parallel.tar.gz"),
        Packing::TarGzip,
    );
    let ids = |window: &Window| {
        dataset(window)
            .root
            .samples
            .iter()
            .map(|sample| sample.id.to_string())
            .collect::<Vec<_>>()
    };
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![workspace.path("scenes.zip")]);
    assert_eq!(ids(&window), ["scene_8", "scene_9"], "it begins a draft");
    // In a draft with samples it may be a file.
    take(&mut window, vec![workspace.path("parallel.tar.gz")]);
    window.get_by_label("Add an archive");
    assert!(window.query_by_label_contains("Open it instead").is_none());
    picture(&mut window, "archive-dark");
    click(&mut window, "One FILE");
    click(&mut window, "Add the dataset");
    assert_eq!(ids(&window), ["scene_8", "scene_9", "parallel.tar.gz"]);
    window.state_mut().command(Command::Undo);
    settle(&mut window);
    // What belongs together by the names is shown before it is added.
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![workspace.path("parallel.tar.gz")]);
    window.get_by_label_contains("3 roots");
    picture(&mut window, "archive-layout-dark");
    click(&mut window, "Add roots");
    assert_eq!(ids(&window), ["0001", "0002", "0003"]);
    let below = dataset(&window).root.samples[0]
        .children()
        .expect("a FOLDER")
        .samples
        .len();
    assert_eq!(below, 2);
}
