//! `collection_command`: a program of the user that computes fields of the collection. It receives
//! one JSON line about the dataset, then one for each sample of a level, and writes JSON objects
//! whose members become fields.

use serde_json::{Map, Value as Json, json};

use super::super::program::{Program, json_lines};
use super::super::{
    CollectionExtension, Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec,
    parse_options, with_command_words,
};
use super::CollectionFields;
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, MAX_LEVELS, Sample, Tortilla, dtype_name};
use crate::table::value_json;

const NAME: &str = "collection_command";

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: NAME,
    title: mark!("Own program for the collection"),
    summary: mark!(
        "Runs a program of your own once, which gives fields of the collection as JSON."
    ),
    scope: ExtensionScope::Collection,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("command"),
            OptionKind::CommandLine,
            mark!("one line, such as python3 prog.py"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("timeout"),
            OptionKind::Number,
            mark!("seconds that one start may take"),
        )
        .or(60),
        OptionSpec::new(
            mark!("level"),
            OptionKind::Integer,
            mark!("the level whose samples the program gets, one a line"),
        )
        .or(0),
        OptionSpec::new(
            mark!("columns"),
            OptionKind::List(&OptionKind::Text),
            mark!("columns whose values the program gets"),
        ),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectionCommandOptions {
    command: Vec<String>,
    timeout: f64,
    level: usize,
    columns: Option<Vec<String>>,
}

struct CollectionProgram {
    program: Program,
    level: usize,
    columns: Vec<String>,
}

fn make(given: &Json) -> Result<Extension> {
    let options: CollectionCommandOptions =
        parse_options(NAME, &options(), &with_command_words(given)?)?;
    if options.level >= MAX_LEVELS {
        return Err(Error::usage(format!(
            "option level of {NAME} is {}; {MAX_LEVELS} levels are the most",
            options.level
        )));
    }
    Ok(Extension::Collection(Box::new(CollectionProgram {
        program: Program::new(NAME, options.command, options.timeout)?,
        level: options.level,
        columns: options.columns.unwrap_or_default(),
    })))
}

/// Number of samples and the fields of each level.
#[derive(Default)]
struct LevelFacts {
    samples: usize,
    fields: Map<String, Json>,
}

impl CollectionProgram {
    /// Collects facts of all levels, and a line for each sample of the chosen one; padding is left
    /// out.
    fn walk(
        &self,
        tortilla: &Tortilla,
        path: &str,
        level: usize,
        facts: &mut Vec<LevelFacts>,
        lines: &mut String,
    ) {
        if facts.len() <= level {
            facts.resize_with(level + 1, LevelFacts::default);
        }
        for field in tortilla.schema.iter() {
            facts[level]
                .fields
                .entry(field.name.clone())
                .or_insert_with(|| json!(dtype_name(&field.dtype)));
        }
        for sample in tortilla
            .samples
            .iter()
            .filter(|sample| !sample.is_padding())
        {
            facts[level].samples += 1;
            let own = if path.is_empty() {
                sample.id.to_string()
            } else {
                format!("{path}/{}", sample.id)
            };
            if level == self.level {
                lines.push_str(&self.line(tortilla, sample, &own).to_string());
                lines.push('\n');
            }
            if let Some(children) = sample.children().filter(|_| level + 1 < MAX_LEVELS) {
                self.walk(children, &own, level + 1, facts, lines);
            }
        }
    }

    fn line(&self, tortilla: &Tortilla, sample: &Sample, path: &str) -> Json {
        let mut values = Map::new();
        for name in &self.columns {
            values.insert(name.clone(), read_json_value(tortilla, sample, name));
        }
        json!({
            "id": sample.id,
            "path": path,
            "type": sample.kind().as_str(),
            "size": sample.size_bytes(),
            "values": values,
        })
    }
}

/// The value of a field of a sample; null where the tortilla has no such field.
fn read_json_value(tortilla: &Tortilla, sample: &Sample, name: &str) -> Json {
    let value = tortilla.field(name).and_then(|index| {
        let field = tortilla.schema.get(index)?;
        Some(value_json(sample.value(index), &field.dtype))
    });
    value.unwrap_or(Json::Null)
}

impl CollectionExtension for CollectionProgram {
    fn program(&self) -> Option<&[String]> {
        Some(self.program.command())
    }

    fn compute(&self, dataset: &Dataset, ctx: &JobContext) -> Result<CollectionFields> {
        let (mut facts, mut lines) = (Vec::new(), String::new());
        self.walk(&dataset.root, "", 0, &mut facts, &mut lines);
        let level = facts.get(self.level);
        let is_known = |name: &String| level.is_some_and(|level| level.fields.contains_key(name));
        if let Some(name) = self.columns.iter().find(|name| !is_known(name)) {
            return Err(Error::usage(format!(
                "there is no column {name} on level {}",
                self.level
            )));
        }
        let levels: Vec<Json> = facts
            .iter()
            .map(|level| json!({ "samples": level.samples, "fields": level.fields }))
            .collect();
        let about = json!({ "collection": dataset.collection.fields, "levels": levels });
        let answer = self.program.call(format!("{about}\n{lines}"), ctx)?;
        let mut fields = CollectionFields::new();
        for line in json_lines(&answer)? {
            let Json::Object(members) = line else {
                return Err(Error::format("the program's answer is no JSON object"));
            };
            if let Some(error) = members.get("error").filter(|error| !error.is_null()) {
                return Err(Error::new(
                    Kind::Io,
                    format!(
                        "the program says {}",
                        error.as_str().map_or(error.to_string(), str::to_owned)
                    ),
                ));
            }
            for (key, value) in members.into_iter().filter(|(key, _)| key != "error") {
                if key.is_empty() || key == "id" || key.starts_with("taco:") || key == "_tacocat" {
                    return Err(Error::format(format!(
                        "the program's answer sets {key:?}, which no program may set"
                    )));
                }
                fields.push((key, value));
            }
        }
        Ok(fields)
    }
}
