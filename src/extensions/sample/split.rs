//! `split`: the part of a machine-learning split that a sample belongs to, constant or from a
//! column.

use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::field;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "split",
    title: mark!("Split from a column"),
    summary: mark!("Says whether a sample is for train, test or validation."),
    scope: ExtensionScope::Sample,
    options,
    make,
};

/// The values that the Python tools accept.
const PARTS: &[&str] = &["train", "test", "validation"];

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("value"),
            OptionKind::Choice(PARTS),
            mark!("the same part for every targeted sample"),
        ),
        OptionSpec::new(
            mark!("column"),
            OptionKind::Column,
            mark!("a column that holds the part; \"val\" and \"valid\" mean validation"),
        ),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitColumnOptions {
    value: Option<String>,
    column: Option<String>,
}

enum SplitSource {
    Fixed(Value),
    Column(String),
}

fn make(given: &Json) -> Result<Extension> {
    let options: SplitColumnOptions = parse_options("split", &options(), given)?;
    Ok(Extension::Sample(Box::new(
        match (options.value, options.column) {
            (Some(value), None) => SplitSource::Fixed(Value::text(value)),
            (None, Some(column)) => SplitSource::Column(column),
            _ => {
                return Err(Error::usage(
                    "split needs one of the options value and column",
                ));
            }
        },
    )))
}

impl SampleExtension for SplitSource {
    fn schema(&self) -> Vec<FieldSpec> {
        let dtype = arrow::datatypes::DataType::Utf8;
        vec![field(
            "split",
            dtype,
            "Dataset partition identifier (train, test, or validation)",
        )]
    }

    fn needs_file(&self) -> bool {
        false
    }

    fn compute(&self, sample: &SampleView<'_>, _: &JobContext) -> Result<Vec<Value>> {
        let column = match self {
            SplitSource::Fixed(value) => return Ok(vec![value.clone()]),
            SplitSource::Column(column) => column,
        };
        let (_, value) = sample.need(column)?;
        let Value::Text(text) = &value else {
            return Err(Error::usage(format!(
                "column {column} holds no text here, so it names no split"
            )));
        };
        let word = text.trim().to_lowercase();
        let part = match word.as_str() {
            "val" | "valid" | "dev" => "validation",
            "training" => "train",
            "testing" => "test",
            other => other,
        };
        if !PARTS.contains(&part) {
            return Err(
                Error::usage(format!("column {column} says {text}, which is no split"))
                    .hint("use train, test or validation"),
            );
        }
        Ok(vec![Value::text(part)])
    }
}
