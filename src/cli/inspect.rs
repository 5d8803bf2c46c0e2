//! `inspect`: describes a dataset, and prints what was noted while opening it. `validate` checks
//! the rules.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::output::{Terminal, print, print_json};
use super::runner::operate;
use crate::container::OpenOptions;
use crate::error::Result;
use crate::model::dtype_name;
use crate::ops::{InspectRequest, OperationOutput};
use crate::text::PrintableLine;

/// Runs `inspect`.
///
/// # Errors
/// Those of opening the dataset, and of writing to standard output.
pub fn inspect(
    path: &Path,
    options: &OpenOptions,
    as_json: bool,
    terminal: &Terminal,
) -> Result<u8> {
    let inspected = operate(
        terminal,
        InspectRequest {
            input: path.to_owned(),
            open: options.clone(),
        },
    )?;
    if as_json {
        print_json(&inspected.to_json())?;
        return Ok(0);
    }
    let reader = &inspected.reader;
    let (levels, info, collection) = (reader.levels(), reader.info(), reader.collection());
    let mut text = format!(
        "{}  {} (TACO {})\n",
        info.path.display().to_string().printable_line(),
        info.format.badge(),
        info.format.generation()
    );
    let title = collection.text("title");
    text.push_str(&format!("id       {}\n", collection.id().printable_line()));
    if !title.is_empty() {
        text.push_str(&format!("title    {}\n", title.printable_line()));
    }
    if let Json::Object(older) = &inspected.older_generation() {
        for (name, list) in [
            ("classes ", list_texts_at(older, "classes")),
            ("missing parts ", list_texts_at(older, "missing_parts")),
        ] {
            if !list.is_empty() {
                text.push_str(&format!("{name} {}\n", list.join(", ").printable_line()));
            }
        }
    }
    for level in 0..levels.count() {
        text.push_str(&format!("\nlevel{level}   {} rows\n", levels.rows(level)));
        let fields = levels.fields(level);
        let width = fields
            .iter()
            .map(|field| field.name.chars().count())
            .max()
            .unwrap_or(0);
        for field in fields {
            text.push_str(&format!(
                "  {:width$}  {}\n",
                field.name.printable_line(),
                dtype_name(&field.dtype).printable_line()
            ));
        }
    }
    for note in reader.notes() {
        text.push('\n');
        text.push_str(&format!("{} {}: {}", note.rule, note.at, note.message).printable_line());
        text.push('\n');
    }
    print(&text)?;
    Ok(0)
}

fn list_texts_at<'a>(object: &'a Map<String, Json>, key: &str) -> Vec<&'a str> {
    let list = object.get(key).and_then(Json::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect()
}
