//! `extend` and `extensions`: columns and collection fields computed from the samples, written into
//! a new dataset.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::output::{Terminal, print, print_json, say, say_failure};
use super::runner::operate;
use super::writing::{DamageArguments, WriteArguments, tell_samples};
use crate::consent;
use crate::container::{BuildOptions, is_same_file, read_json_document};
use crate::error::{Error, Result};
use crate::extensions::{
    CallTarget, ExtensionCall, OptionSpec, count_kept_failures, need_consent, programs_in,
};
use crate::ops::{ExtendRequest, Extended, ExtensionsRequest, OperationOutput};

/// Arguments of `extend`.
#[derive(Debug, clap::Args)]
pub struct ExtendArguments {
    /// The dataset.
    pub path: PathBuf,
    /// Output file or folder.
    #[arg(long, short)]
    pub output: PathBuf,
    /// The extensions, in order: stac,stats.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        required_unless_present = "calls"
    )]
    pub with: Vec<String>,
    /// Their options: JSON or a file of it. With several extensions an object by name: {"stac":
    /// {…}}.
    #[arg(long, value_name = "JSON|FILE", requires = "with")]
    pub options: Option<String>,
    /// Whole calls instead: JSON or a file with a list of {"extension", "options", "target",
    /// "schema_only"}.
    #[arg(
        long,
        value_name = "JSON|FILE",
        conflicts_with_all = ["with", "options", "level", "positions", "schema_only"],
    )]
    pub calls: Option<String>,
    /// The level of the samples.
    #[arg(long, default_value_t = 0)]
    pub level: usize,
    /// Ids at that level, or patterns with * and ?; every FILE without it.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub positions: Vec<String>,
    /// Add the columns with nulls, without computing.
    #[arg(long)]
    pub schema_only: bool,
    /// Replace columns of the same name.
    #[arg(long)]
    pub replace: bool,
    /// Let programs start that a file with options or calls names; those in the arguments
    /// themselves start without.
    #[arg(long)]
    pub allow_commands: bool,
    #[command(flatten)]
    pub open: super::opening::OpenArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Print what was done as JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn extend(arguments: ExtendArguments, terminal: &Terminal) -> Result<u8> {
    let calls = calls_of(&arguments)?;
    // Arguments were typed by the user; a file may come from anywhere.
    let typed = |text: &Option<String>| text.as_deref().is_none_or(is_inline);
    if arguments.allow_commands || (typed(&arguments.options) && typed(&arguments.calls)) {
        programs_in(&calls)
            .iter()
            .for_each(|program| consent::allow_program(program));
    }
    need_consent(&calls)?;
    if is_same_file(&arguments.path, &arguments.output) {
        return Err(Error::usage("the output is the dataset itself")
            .at_path(&arguments.output)
            .hint("write to another name"));
    }
    if arguments.output.exists() && !arguments.write.overwrite {
        return Err(Error::usage("the output exists")
            .at_path(&arguments.output)
            .hint("use --overwrite, or another name"));
    }
    let on_damage = arguments.damage.on_damage();
    let (open, replace) = (arguments.open.options(), arguments.replace);
    let options = BuildOptions {
        on_damage,
        ..arguments.write.options(arguments.output, None)
    };
    let extended = operate(
        terminal,
        ExtendRequest {
            input: arguments.path,
            open,
            calls,
            replace,
            options,
        },
    )?;
    let Extended {
        outcome: built,
        computed,
        failures,
        notes,
    } = &extended;
    if arguments.json {
        print(&extended.to_json().to_string())?;
    } else {
        for note in notes {
            let tell: fn(String) = if note.is_failure() {
                |line| say_failure(line)
            } else {
                |line| say(format!("note: {line}"))
            };
            note.lines().into_iter().for_each(tell);
        }
        for failure in failures {
            say_failure(format!(
                "{} at {}: {}",
                failure.extension, failure.path, failure.error
            ));
        }
        let failed = match (failures.len(), count_kept_failures(failures)) {
            (0, _) => String::new(),
            (failed, 0) => format!(", {failed} failed"),
            (failed, kept) => format!(", {failed} failed; the earlier values of {kept} stay"),
        };
        print(&format!(
            "{}: {} samples, {computed} computed{failed}",
            built.path.display(),
            built.samples
        ))?;
    }
    let failed = extended.has_failures();
    Ok(tell_samples(built).max(u8::from(failed)))
}

fn calls_of(arguments: &ExtendArguments) -> Result<Vec<ExtensionCall>> {
    if let Some(text) = &arguments.calls {
        let wrong =
            |error: serde_json::Error| Error::usage("the calls can't be read").because(error);
        return serde_json::from_value(json_or_file(text)?).map_err(wrong);
    }
    let options = arguments
        .options
        .as_deref()
        .map(json_or_file)
        .transpose()?
        .unwrap_or(Json::Null);
    let target = CallTarget {
        level: arguments.level,
        positions: arguments.positions.clone(),
    };
    let names = &arguments.with;
    // An object whose keys are all named extensions is one of options by name.
    let by_name = options
        .as_object()
        .is_some_and(|map| !map.is_empty() && map.keys().all(|key| names.contains(key)));
    if names.len() > 1 && !by_name && !options.is_null() {
        let error = Error::usage("with several extensions the options have to say whose they are");
        return Err(error.hint(format!("write {{\"{}\": {{…}}}}", names[0])));
    }
    let mut calls = Vec::with_capacity(names.len());
    for name in names {
        let options = if by_name {
            options.get(name).cloned().unwrap_or(Json::Null)
        } else {
            options.clone()
        };
        calls.push(ExtensionCall {
            extension: name.clone(),
            options,
            target: target.clone(),
            schema_only: arguments.schema_only,
        });
    }
    Ok(calls)
}

fn is_inline(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// JSON text, or the file of that name.
fn json_or_file(text: &str) -> Result<Json> {
    let content = if is_inline(text) {
        text.as_bytes().to_owned()
    } else {
        read_json_document(Path::new(text), "read the options")?
    };
    serde_json::from_slice(&content).map_err(|error| {
        let place = if is_inline(text) { "--options" } else { text };
        Error::usage("this is not JSON")
            .because(error)
            .at_place(place)
    })
}

/// Lists what can be computed.
pub fn list(as_json: bool, terminal: &Terminal) -> Result<u8> {
    let listed = operate(terminal, ExtensionsRequest {})?;
    if as_json {
        print_json(&listed.to_json())?;
        return Ok(0);
    }
    let mut text = String::new();
    for entry in &listed.0 {
        text.push_str(&format!("{}  {}\n", entry.name, entry.summary));
        for OptionSpec {
            name,
            kind,
            required,
            help,
            default,
        } in (entry.options)()
        {
            let need = if required {
                " (needed)".to_owned()
            } else {
                String::new()
            };
            let default = if default.is_null() {
                String::new()
            } else {
                format!(" [{default}]")
            };
            text.push_str(&format!(
                "    {name}: {}{need}{default}: {help}\n",
                kind.describe()
            ));
        }
    }
    print(&text)?;
    Ok(0)
}
