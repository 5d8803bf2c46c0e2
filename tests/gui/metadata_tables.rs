//! The join of a table in the window reads what `create` and `edit` read.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::model::{FieldSpec, Tortilla, Value};
use taco_studio::studio::Command;
use taco_studio::table::{LevelTable, array_of};

use super::support::{app, click, dataset, settle, take};
use crate::metadata_tables::{cases, describe_columns, write_scenes};
use crate::support::Workspace;

/// The columns of the samples of a level, in the order of the samples.
fn columns_of_level(root: &Tortilla, level: usize) -> Vec<String> {
    let mut tortillas = vec![root];
    for _ in 0..level {
        let samples = tortillas.iter().flat_map(|tortilla| &tortilla.samples);
        tortillas = samples
            .filter_map(|sample| sample.children().map(AsRef::as_ref))
            .collect();
    }
    let schema: &[FieldSpec] = tortillas.first().map_or(&[], |tortilla| &tortilla.schema);
    let columns = schema.iter().enumerate().map(|(index, field)| {
        let samples = tortillas.iter().flat_map(|tortilla| &tortilla.samples);
        let values: Vec<Value> = samples.map(|sample| sample.value(index).clone()).collect();
        (field.clone(), values)
    });
    let (fields, arrays): (Vec<Field>, Vec<_>) = columns
        .map(|(field, values)| {
            let array = array_of(&field, values.iter()).expect("an array");
            (Field::new(&field.name, field.dtype, true), array)
        })
        .unzip();
    if fields.is_empty() {
        return Vec::new();
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).expect("a batch");
    describe_columns(&LevelTable::new(schema, vec![batch]))
}

#[test]
fn the_window_joins_the_same_values_of_tables_of_every_habit() {
    let workspace = Workspace::new();
    write_scenes(&workspace);
    let mut window = app(egui::Theme::Dark);
    take(&mut window, vec![workspace.path("scenes")]);
    let mut failed = Vec::new();
    for case in cases() {
        let table = workspace.write(case.name, &case.content);
        take(&mut window, vec![table]);
        if window.query_by_label("Join columns").is_none() {
            let shown: Vec<String> = window
                .query_all_by(|node| node.label().is_some())
                .filter_map(|node| node.accesskit_node().label())
                .collect();
            failed.push(format!("{}: {}", case.name, shown.join(" / ")));
            window.key_press(egui::Key::Escape);
            settle(&mut window);
            continue;
        }
        let samples = dataset(&window).root.samples.len();
        assert_eq!(samples, 4, "{}", case.name);
        click(&mut window, "Join columns");
        let found = columns_of_level(&dataset(&window).root, case.level);
        let expected = case.in_window.as_ref().unwrap_or(&case.columns);
        // The official writers call the items of lists "element".
        let expected: Vec<String> = expected
            .iter()
            .map(|column| column.replace("list<element", "list<item"))
            .collect();
        if found != expected {
            failed.push(format!(
                "{}:\n  {}\ninstead of\n  {}",
                case.name,
                found.join("\n  "),
                expected.join("\n  ")
            ));
        }
        if found.is_empty() {
            window.key_press(egui::Key::Escape);
        } else {
            window.state_mut().command(Command::Undo);
        }
        settle(&mut window);
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
