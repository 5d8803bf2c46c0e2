//! `command` and `tortilla_command`: a program of the user, started per sample, per batch or once
//! for a level. It receives one JSON line per sample on standard input and writes one JSON line per
//! sample; the columns are declared in the options.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::super::declared::{need_type, value_of};
use super::super::program::{Program, json_lines};
use super::super::{
    BatchExtension, Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec,
    SampleExtension, SampleView, TortillaExtension, TortillaView, parse_options,
    with_command_words,
};
use super::field;
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value, check_field_name};
use crate::table::value_json;

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "command",
    title: mark!("Own program"),
    summary: mark!("Runs a program of your own for each sample, with JSON lines in and out."),
    scope: ExtensionScope::Sample,
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
            mark!("fields"),
            OptionKind::Json,
            mark!(
                "the columns: {\"name\": \"type\"}, with bool, int8 to uint64, double, float, \
                string, timestamp[us], list<double>, …"
            ),
        )
        .make_required(),
        OptionSpec::new(
            mark!("batch"),
            OptionKind::Integer,
            mark!("samples for one start of the program"),
        )
        .or(1),
        OptionSpec::new(
            mark!("timeout"),
            OptionKind::Number,
            mark!("seconds that one start may take"),
        )
        .or(60),
        OptionSpec::new(
            mark!("columns"),
            OptionKind::List(&OptionKind::Column),
            mark!("columns whose values the program gets"),
        ),
        OptionSpec::new(
            mark!("needs_file"),
            OptionKind::Bool,
            mark!("false to run for FOLDERs as well"),
        )
        .or(true),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleCommandOptions {
    command: Vec<String>,
    fields: serde_json::Map<String, Json>,
    batch: u32,
    timeout: f64,
    columns: Option<Vec<String>>,
    needs_file: bool,
}

/// Which samples have a path to their data in the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileChoice {
    /// All; a sample without data of its own fails.
    Needed,
    /// Those that have data of their own.
    Known,
    /// None.
    Omitted,
}

/// A program that computes columns.
struct CommandColumns {
    program: Program,
    fields: Vec<FieldSpec>,
    batch: usize,
    columns: Vec<String>,
    files: FileChoice,
}

fn make(given: &Json) -> Result<Extension> {
    let options: SampleCommandOptions =
        parse_options("command", &options(), &with_command_words(given)?)?;
    if options.batch == 0 {
        return Err(Error::usage("option batch of command has to be above 0"));
    }
    Ok(Extension::Sample(Box::new(CommandColumns {
        program: Program::new("command", options.command, options.timeout)?,
        fields: fields_of("command", &options.fields)?,
        batch: options.batch as usize,
        columns: options.columns.unwrap_or_default(),
        files: if options.needs_file {
            FileChoice::Needed
        } else {
            FileChoice::Omitted
        },
    })))
}

/// The declared columns of extension `name`.
fn fields_of(name: &str, declared: &serde_json::Map<String, Json>) -> Result<Vec<FieldSpec>> {
    let mut fields = Vec::new();
    for (column, word) in declared {
        check_field_name(column)
            .map_err(|fault| Error::usage(format!("column {column} of {name} {fault}")))?;
        fields.push(field(column, need_type(column, word)?, ""));
    }
    if fields.is_empty() {
        Err(Error::usage(format!(
            "option fields of {name} names no column"
        )))
    } else {
        Ok(fields)
    }
}

/// `tortilla_command`: one start of a program for all samples of a level.
pub const OF_TORTILLA: ExtensionEntry = ExtensionEntry {
    name: "tortilla_command",
    title: mark!("Own program for a level"),
    summary: mark!(
        "Runs a program of your own once for all samples of a level, with JSON lines in and out."
    ),
    scope: ExtensionScope::Tortilla,
    options: tortilla_options,
    make: |given| {
        let name = "tortilla_command";
        let options: CommandTortillaOptions =
            parse_options(name, &tortilla_options(), &with_command_words(given)?)?;
        Ok(Extension::Tortilla(Box::new(CommandColumns {
            program: Program::new(name, options.command, options.timeout)?,
            fields: fields_of(name, &options.fields)?,
            batch: usize::MAX,
            columns: options.columns.unwrap_or_default(),
            files: FileChoice::Known,
        })))
    },
};

fn tortilla_options() -> Vec<OptionSpec> {
    let kept = ["command", "fields", "timeout", "columns"];
    options()
        .into_iter()
        .filter(|option| kept.contains(&option.name))
        .collect()
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTortillaOptions {
    command: Vec<String>,
    fields: serde_json::Map<String, Json>,
    timeout: f64,
    columns: Option<Vec<String>>,
}

impl CommandColumns {
    /// The JSON line that describes a sample.
    fn question(&self, sample: &SampleView<'_>) -> Result<String> {
        let mut line = json!({
            "id": sample.id(),
            "path": sample.path().to_archive(),
            "size": sample.size_bytes(),
        });
        match (self.files, sample.asset()) {
            (FileChoice::Omitted, _) | (FileChoice::Known, Err(_)) => {}
            (_, asset) => line["file"] = json!(asset?.to_vsi()),
        }
        if !self.columns.is_empty() {
            let mut values = serde_json::Map::new();
            for name in &self.columns {
                let (field, value) = sample.need(name)?;
                values.insert(name.clone(), value_json(&value, &field.dtype));
            }
            line["values"] = Json::Object(values);
        }
        Ok(line.to_string() + "\n")
    }

    /// The column values in one line of output.
    fn read(&self, line: &Json) -> Result<Vec<Value>> {
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            return Err(Error::new(
                Kind::Io,
                format!(
                    "the program says {}",
                    error.as_str().map_or(error.to_string(), str::to_owned)
                ),
            ));
        }
        self.fields
            .iter()
            .map(|field| parse_answer(line, field))
            .collect()
    }
}

/// The value of a column in one line of output; null where the line does not have it.
fn parse_answer(line: &Json, field: &FieldSpec) -> Result<Value> {
    let json = line.get(&field.name).unwrap_or(&Json::Null);
    value_of(json, &field.dtype)
        .map_err(|why| Error::format(format!("the program's answer for {}: {why}", field.name)))
}

impl SampleExtension for CommandColumns {
    fn schema(&self) -> Vec<FieldSpec> {
        self.fields.clone()
    }

    fn needs_file(&self) -> bool {
        self.files == FileChoice::Needed
    }

    fn needs_raster(&self) -> bool {
        false
    }

    fn program(&self) -> Option<&[String]> {
        Some(self.program.command())
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let mut results = BatchExtension::compute(self, &[sample], ctx)?;
        results
            .pop()
            .unwrap_or_else(|| Err(Error::format("the program gave no answer")))
    }

    fn batch(&self) -> Option<&dyn BatchExtension> {
        Some(self)
    }
}

impl BatchExtension for CommandColumns {
    fn size(&self) -> usize {
        self.batch
    }

    fn compute(
        &self,
        samples: &[&SampleView<'_>],
        ctx: &JobContext,
    ) -> Result<Vec<Result<Vec<Value>>>> {
        let questions: Vec<Result<String>> =
            samples.iter().map(|sample| self.question(sample)).collect();
        let input: String = questions
            .iter()
            .filter_map(|question| question.as_deref().ok())
            .collect();
        let answer = if input.is_empty() {
            String::new()
        } else {
            self.program.call(input, ctx)?
        };
        let lines = json_lines(&answer)?;
        // Answers may name their sample by `path`, in any order; otherwise they are in input order.
        let path_of = |line: &Json| line.get("path").and_then(Json::as_str).map(str::to_owned);
        let by_path: HashMap<String, usize> = lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((path_of(line)?, index)))
            .collect();
        let mut next = 0;
        let mut results = Vec::with_capacity(samples.len());
        for (sample, question) in samples.iter().zip(questions) {
            if let Err(error) = question {
                results.push(Err(error));
                continue;
            }
            let index = if by_path.is_empty() {
                Some(next)
            } else {
                by_path.get(&sample.path().to_archive()).copied()
            };
            next += 1;
            let line = index.and_then(|index| lines.get(index));
            results.push(line.map_or_else(
                || Err(Error::format("the program gave no answer for this sample")),
                |line| self.read(line),
            ));
        }
        Ok(results)
    }
}

impl TortillaExtension for CommandColumns {
    fn schema(&self) -> Vec<FieldSpec> {
        self.fields.clone()
    }

    fn program(&self) -> Option<&[String]> {
        Some(self.program.command())
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let samples: Vec<&SampleView<'_>> = tortilla.samples.iter().collect();
        let rows = BatchExtension::compute(self, &samples, ctx)?;
        let mut columns: Vec<Vec<Value>> = self
            .fields
            .iter()
            .map(|_| Vec::with_capacity(samples.len()))
            .collect();
        for (sample, row) in samples.iter().zip(rows) {
            let row = row.map_err(|error| error.at_place(sample.path()))?;
            columns
                .iter_mut()
                .zip(row)
                .for_each(|(column, value)| column.push(value));
        }
        Ok(columns)
    }
}
