//! `fields`: the columns of the levels, from the footers and COLLECTION.json alone.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::{Terminal, print, print_json};
use super::runner::open;
use crate::container::find_description;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::dtype_name;
use crate::table::{ParquetOptions, ParquetSlice, TableHead, write_parquet};
use crate::text::displayed_line;

/// Arguments of `fields`.
#[derive(Debug, clap::Args)]
pub struct FieldsArguments {
    /// The dataset.
    pub path: PathBuf,
    #[command(flatten)]
    pub join: super::opening::JoinArguments,
    /// Only this level.
    #[arg(long)]
    pub level: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `fields`.
pub fn fields(arguments: &FieldsArguments, terminal: &Terminal) -> Result<u8> {
    let reader = open(terminal, &arguments.path, &arguments.join.clone().options())?;
    let count = reader.levels().count();
    if let Some(level) = arguments.level.filter(|level| *level >= count) {
        return Err(Error::usage(format!("there is no level {level}"))
            .hint(format!("the dataset has {count}, counted from 0")));
    }
    let schema = reader.collection().get("taco:field_schema");
    let mut rows = Vec::new();
    for level in (0..count).filter(|level| arguments.level.is_none_or(|only| only == *level)) {
        // Tables that the reader made have no statistics yet: they get them as every written table
        // does.
        let made = match reader.levels().head(level) {
            Some(head) => head.clone(),
            None => {
                let table = reader.levels().table(level, &JobContext::default())?;
                let bytes =
                    write_parquet(table.schema(), table.batches(), &ParquetOptions::local())?;
                TableHead::read(ParquetSlice::from_bytes(bytes.into()))?
            }
        };
        let level_key = format!("level{level}");
        for (field, range) in made.schema().fields().iter().zip(made.ranges()?) {
            rows.push(json!({
                "level": level,
                "name": field.name(),
                "type": dtype_name(field.data_type()),
                "description": schema
                    .and_then(|schema| find_description(schema, &level_key, field.name()))
                    .unwrap_or_default(),
                "nulls": range.nulls,
                "min": range.min,
                "max": range.max,
            }));
        }
    }
    if arguments.json {
        print_json(&rows)?;
        return Ok(0);
    }
    let keys = [
        "level",
        "name",
        "type",
        "nulls",
        "min",
        "max",
        "description",
    ];
    let mut lines: Vec<Vec<String>> = vec![keys.iter().map(|key| (*key).to_owned()).collect()];
    lines.extend(rows.iter().map(|row| {
        keys.iter()
            .map(|key| format_json_cell(&row[*key]))
            .collect()
    }));
    let widths: Vec<usize> = (0..keys.len())
        .map(|at| {
            lines
                .iter()
                .map(|line| line[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    print(&text)?;
    Ok(0)
}

fn format_json_cell(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => shorten_field_value(text),
        other => other.to_string(),
    }
}

fn shorten_field_value(text: &str) -> String {
    const WIDEST: usize = 48;
    let plain = displayed_line(text);
    if plain.chars().count() <= WIDEST {
        plain.into_owned()
    } else {
        plain.chars().take(WIDEST - 1).chain(['…']).collect()
    }
}
