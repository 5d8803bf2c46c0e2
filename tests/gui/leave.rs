//! Exporting and checking: catalogue metadata, migration to 2.0, leakage between splits.

use std::path::PathBuf;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::container::OpenOptions;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::query::Filter;
use taco_studio::studio::{Command, RowRef};

use super::support::{app, choose, click, copied, document, fill, picture, settle, take};

fn golden(path: &str) -> PathBuf {
    crate::support::project_folder()
        .join("tests/fixtures/golden")
        .join(path)
}

#[test]
fn every_description_is_written_from_the_export_menu() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(Theme::Dark);
    assert!(
        harness
            .get_by_role_and_label(Role::Button, "Export")
            .accesskit_node()
            .is_disabled(),
        "nothing is open"
    );
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    for (entry, name) in [
        ("STAC Collection and Items…", "stac"),
        ("GeoParquet…", "samples.parquet"),
        ("Croissant…", "croissant.json"),
        ("DataCite…", "datacite.json"),
        ("Data card (Markdown)…", "card.md"),
        ("Data card (HTML)…", "card.html"),
    ] {
        harness
            .get_by_role_and_label(Role::Button, "Export")
            .click();
        settle(&mut harness);
        harness.get_by_role_and_label(Role::MenuItem, entry).click();
        settle(&mut harness);
        let target = folder.path().join(name);
        fill(
            &mut harness,
            "Destination of the description",
            &target.display().to_string(),
        );
        picture(&mut harness, &format!("describe-{name}"));
        click(&mut harness, "Write description");
        assert!(target.exists(), "{entry}");
    }
    assert!(folder.path().join("stac/collection.json").is_file());
    let page = std::fs::read_to_string(folder.path().join("card.html")).expect("is written");
    assert!(
        page.contains("<svg") && page.contains("bahamas_rgb"),
        "it has a map and ids"
    );
    // A second export asks before overwriting.
    harness.state_mut().act(Action::Describe);
    settle(&mut harness);
    let card = folder.path().join("card.html");
    std::fs::write(&card, "old").expect("writes");
    fill(
        &mut harness,
        "Destination of the description",
        &card.display().to_string(),
    );
    assert!(
        harness
            .get_by_label("Write description")
            .accesskit_node()
            .is_disabled(),
        "the output exists"
    );
    // Errors are shown in the dialog, which keeps its input.
    let below = card.join("below.html");
    fill(
        &mut harness,
        "Destination of the description",
        &below.display().to_string(),
    );
    click(&mut harness, "Write description");
    let field = harness.get_by_role_and_label(Role::TextInput, "Destination of the description");
    assert_eq!(field.value(), Some(below.display().to_string()));
    picture(&mut harness, "describe-failed");
    fill(
        &mut harness,
        "Destination of the description",
        &card.display().to_string(),
    );
    click(&mut harness, "Replace an existing output");
    click(&mut harness, "Write description");
    assert!(
        std::fs::read_to_string(&card)
            .expect("is written")
            .contains("<svg")
    );
    assert!(
        harness.query_by_label("Write description").is_none(),
        "the dialog is done"
    );
}

#[test]
fn a_dataset_of_the_first_generation_moves_to_2_0() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![golden("46_v1_taco_nested/nested.taco")]);
    let roots = document(&harness).rows(0);
    harness.state_mut().act(Action::Migrate);
    settle(&mut harness);
    picture(&mut harness, "migrate-dark");
    // Renaming a column and omitting another one updates the plan.
    let named = |harness: &super::support::Window| -> Vec<String> {
        let fields = harness
            .query_all_by_role(Role::TextInput)
            .filter_map(|node| node.accesskit_node().label());
        fields
            .filter(|label| label.starts_with("New name of "))
            .collect()
    };
    let fields = named(&harness);
    assert!(fields.len() > 3, "{fields:?}");
    fill(&mut harness, &fields[fields.len() - 1], "my:renamed");
    harness.key_press(egui::Key::Tab);
    settle(&mut harness);
    for part in ["Collection", "Report", "Fields"] {
        harness
            .get_by_role_and_label(Role::RadioButton, part)
            .click();
        settle(&mut harness);
        picture(
            &mut harness,
            &format!("migrate-{}-dark", part.to_lowercase()),
        );
    }
    let target = folder.path().join("new.tacozip");
    fill(
        &mut harness,
        "Destination of the new dataset",
        &target.display().to_string(),
    );
    harness.key_press(egui::Key::Tab);
    settle(&mut harness);
    click(&mut harness, "Write the new dataset");
    assert!(target.is_file());
    picture(&mut harness, "migrated-dark");
    click(&mut harness, "Open the new dataset");
    assert_eq!(document(&harness).rows(0), roots);
    let levels = document(&harness).tree().levels.len();
    let names: Vec<String> = (0..levels)
        .flat_map(|level| document(&harness).fields(level))
        .map(|field| field.name)
        .collect();
    assert!(names.iter().any(|name| name == "my:renamed"), "{names:?}");
    // There is nothing left to migrate.
    harness.state_mut().act(Action::Migrate);
    settle(&mut harness);
    assert!(harness.query_by_label("Write the new dataset").is_none());
}

#[test]
fn leaks_are_shown_and_lead_to_the_samples() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    harness.state_mut().show_pane(Pane::Statistics);
    settle(&mut harness);
    choose(&mut harness, "Column of the parts", "split");
    click(&mut harness, "Look for leaks");
    picture(&mut harness, "leaks-dark");
    let sentence = |harness: &super::support::Window| {
        let items = harness
            .query_all_by_role(Role::ListItem)
            .filter_map(|node| node.accesskit_node().label());
        items
            .filter(|label| label.contains(" of test and "))
            .collect::<Vec<_>>()
    };
    let none = harness
        .query_all_by_label_contains("Nothing leaks between")
        .count();
    let leaks = sentence(&harness);
    assert!(none == 1 || !leaks.is_empty(), "the answer is shown");
    let Some(first) = leaks.first().cloned() else {
        return;
    };
    click(&mut harness, &first);
    picture(&mut harness, "leaks-open-dark");
    let link = harness
        .query_all_by_role(Role::Link)
        .filter_map(|node| node.accesskit_node().label())
        .find(|label| {
            let tree = document(&harness).tree();
            tree.find(&taco_studio::model::SamplePath::parse(label))
                .is_some()
        })
        .expect("the samples of a pair are links");
    let (level, row) = document(&harness)
        .tree()
        .find(&taco_studio::model::SamplePath::parse(&link))
        .expect("is there");
    harness
        .query_all_by_role_and_label(Role::Link, &link)
        .next()
        .expect("is there")
        .click();
    settle(&mut harness);
    let shown = document(&harness)
        .path(RowRef { level, row })
        .expect("a path")
        .to_string();
    assert!(
        harness
            .query_all_by_label_contains(shown.rsplit(" / ").next().unwrap_or_default())
            .next()
            .is_some()
    );
    click(&mut harness, "Filter to these");
    let kept = harness
        .state()
        .studio()
        .filtered_rows()
        .and_then(|kept| kept.rows(0))
        .map(<[u32]>::len)
        .expect("is applied");
    assert!(kept > 0 && kept < document(&harness).rows(0));
}

/// The copied script returns the rows that the panel shows, with the same filters.
#[test]
fn the_copied_script_gives_the_same_rows() {
    let dataset = golden("01_flat_zip/flat.tacozip");
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![dataset]);
    let filters = vec![
        Filter::bbox([-100.0, -30.0, 0.0, 50.0]),
        Filter::condition("split <> 'none'"),
    ];
    harness.state_mut().command(Command::Filter { filters });
    harness.state_mut().show_pane(Pane::Query);
    settle(&mut harness);
    fill(&mut harness, "SQL", "SELECT id FROM data ORDER BY id");
    click(&mut harness, "Run query");
    let shown = harness
        .state()
        .studio()
        .filtered_rows()
        .and_then(|kept| kept.rows(0))
        .expect("is applied")
        .to_vec();
    assert!(
        !shown.is_empty() && shown.len() < document(&harness).rows(0),
        "{shown:?}"
    );
    let mut wanted: Vec<String> = shown
        .iter()
        .map(|&row| {
            document(&harness)
                .id(RowRef { level: 0, row })
                .expect("an id")
                .to_owned()
        })
        .collect();
    wanted.sort();
    click(&mut harness, "Copy Python");
    let script = copied(&mut harness, "Python (tacoreader)");
    let script = script.expect("the script is on the clipboard");
    let workspace = crate::support::Workspace::new();
    // The reader's engine loads its spatial functions from an installed package instead of the
    // network.
    let before = "import duckdb_extensions; duckdb_extensions.import_extension('spatial')";
    let after = "column = rows['id']\n\
                 print(','.join(sorted(column.to_pylist() if hasattr(column, 'to_pylist') else \
        list(column))))";
    let file = workspace.write("copied.py", format!("{before}\n{script}\n{after}\n"));
    let ran = workspace
        .python(&file.display().to_string(), [] as [&str; 0])
        .expect_code(0);
    assert_eq!(
        ran.stdout.trim().lines().last().unwrap_or_default(),
        wanted.join(","),
        "{script}"
    );
}

/// Beside the filters; a ZIP has no file that other engines read.
#[test]
fn the_filters_are_copied_for_other_engines() {
    for (dataset, is_file) in [
        ("09_split_tacocat/.tacocat", true),
        ("01_flat_zip/flat.tacozip", false),
    ] {
        let mut harness = app(Theme::Light);
        take(&mut harness, vec![golden(dataset)]);
        harness.state_mut().command(Command::Filter {
            filters: vec![Filter::condition("split <> 'none'")],
        });
        harness.state_mut().show_pane(Pane::Table);
        settle(&mut harness);
        for (engine, word) in [
            ("DuckDB", "read_parquet("),
            ("Polars", "pl.scan_parquet("),
            ("Spark", "pyspark"),
            ("Dask", "dd.read_parquet("),
        ] {
            click(&mut harness, "Copy the filters as");
            if engine == "Polars" {
                picture(&mut harness, &format!("copy-as-{is_file}"));
            }
            // DuckDB and Spark read no tables within a ZIP.
            if !is_file && matches!(engine, "DuckDB" | "Spark") {
                assert!(
                    harness.get_by_label(engine).accesskit_node().is_disabled(),
                    "{engine}"
                );
                harness.key_press(egui::Key::Escape);
                settle(&mut harness);
                continue;
            }
            let copied = copied(&mut harness, engine).expect("is copied");
            assert!(
                copied.contains(word) && copied.contains("level0.parquet"),
                "{copied}"
            );
        }
    }
}

/// Several datasets opened together are exported as one; errors are shown in the dialog where they
/// can be corrected.
#[test]
fn a_subset_of_several_datasets_is_written_and_a_fault_stays_in_its_dialog() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let part = |number: u8| {
        golden(&format!(
            "27_v018_parts_tacocat/parts_part000{number}.tacozip"
        ))
    };
    let mut harness = app(Theme::Light);
    let options = OpenOptions {
        with: vec![part(2), part(3)],
        ..OpenOptions::default()
    };
    harness.state_mut().command(Command::OpenWith {
        path: part(1),
        options: Box::new(options),
    });
    settle(&mut harness);
    let roots = document(&harness).rows(0);
    assert!(roots > 2, "{roots}");
    harness.state_mut().act(Action::ExportSubset);
    settle(&mut harness);
    let blocked = folder.path().join("a-file");
    std::fs::write(&blocked, "here").expect("writes");
    fill(
        &mut harness,
        "Destination of the subset",
        &blocked.join("below.tacozip").display().to_string(),
    );
    click(&mut harness, "Export now");
    picture(&mut harness, "subset-failed-light");
    assert!(
        harness.query_by_label("Export now").is_some(),
        "the dialog stays"
    );
    fill(
        &mut harness,
        "Destination of the subset",
        &blocked.display().to_string(),
    );
    let button = harness.get_by_label("Export now");
    assert!(button.accesskit_node().is_disabled(), "the output exists");
    let target = folder.path().join("all.tacozip");
    fill(
        &mut harness,
        "Destination of the subset",
        &target.display().to_string(),
    );
    click(&mut harness, "Export now");
    assert!(target.is_file());
    picture(&mut harness, "subset-written-light");
    let path = target.display().to_string();
    assert!(
        harness
            .query_all_by_label_contains("all.tacozip")
            .next()
            .is_some(),
        "{path}"
    );
    assert!(
        harness
            .query_all_by_label_contains("can't be opened")
            .next()
            .is_none(),
        "there is no draft to compare it with"
    );
    assert!(harness.query_by_label("Show in folder").is_some());
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).rows(0), roots);
}

/// Writing without a dialog keeps another open dialog open.
#[test]
fn a_finished_write_keeps_another_dialog_open() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(Theme::Light);
    take(&mut harness, vec![golden("01_flat_zip/flat.tacozip")]);
    harness.state_mut().act(Action::About);
    settle(&mut harness);
    let command = Command::operate(taco_studio::ops::ConvertRequest {
        input: golden("01_flat_zip/flat.tacozip"),
        open: Default::default(),
        options: taco_studio::container::BuildOptions {
            text_columns: false,
            align_blocks: false,
            target: folder.path().join("out"),
            format: taco_studio::container::Format::Folder,
            parquet: Default::default(),
            overwrite: false,
            parts: None,
            on_damage: Default::default(),
        },
    });
    harness.state_mut().command(command);
    settle(&mut harness);
    assert!(folder.path().join("out/COLLECTION.json").is_file());
    assert!(
        harness.query_by_label("Close dialog").is_some()
            && harness.query_by_label("Open dataset").is_none()
    );
    harness.key_press(egui::Key::Escape);
    settle(&mut harness);
}

#[test]
fn placeholder_values_of_a_migrated_collection_are_reported_immediately() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![golden("42_v1_nested/nested.tortilla")]);
    harness.state_mut().act(Action::Migrate);
    settle(&mut harness);
    picture(&mut harness, "migrate-filled-dark");
    assert!(
        harness
            .query_all_by_label_contains("values filled in")
            .next()
            .is_some()
    );
    let told = harness
        .query_all_by_label_contains("Filled in, see Collection: ")
        .next()
        .expect("beside the button");
    let told = told.accesskit_node();
    let text = told.label().or(told.value()).unwrap_or_default();
    assert!(
        text.contains("licenses") && text.contains("providers") && !text.contains("taco_version"),
        "{text}"
    );
}

/// A part can be opened and its migration planned; writing asks first.
#[test]
fn an_incomplete_set_is_written_only_after_asking() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lone = folder.path().join("parts.0001.part.tortilla");
    std::fs::copy(golden("44_v1_parts/parts.0001.part.tortilla"), &lone).expect("copies");
    let mut harness = app(Theme::Light);
    take(&mut harness, vec![lone]);
    for (action, name, button, destination) in [
        (
            Action::Migrate,
            "moved",
            "Write the new dataset",
            "Destination of the new dataset",
        ),
        (
            Action::ExportSubset,
            "subset",
            "Export now",
            "Destination of the subset",
        ),
    ] {
        harness.state_mut().act(action);
        settle(&mut harness);
        assert!(
            harness
                .query_all_by_label_contains("parts.0000.part.tortilla")
                .next()
                .is_some(),
            "{button}"
        );
        let target = folder.path().join(format!("{name}.tacozip"));
        fill(&mut harness, destination, &target.display().to_string());
        harness.key_press(egui::Key::Tab);
        settle(&mut harness);
        assert!(
            harness.get_by_label(button).accesskit_node().is_disabled(),
            "{button}"
        );
        click(&mut harness, "Continue without the missing parts");
        picture(&mut harness, &format!("incomplete-{name}-light"));
        click(&mut harness, button);
        assert!(target.is_file(), "{button}");
        let close = if action == Action::Migrate {
            "Close the move"
        } else {
            "Close the export"
        };
        click(&mut harness, close);
    }
}
