//! Command files: a JSON list of commands with the expected outcome, run against the real studio.

use std::path::Path;

use serde_json::Value as Json;

use super::{Command, Event, Studio};
use crate::error::{Error, IoContext, Result};
use crate::jobs::Progress;

/// One line of a command file: a command, and what should come of it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ReplayLine {
    /// What to do.
    #[serde(flatten)]
    pub command: Command,
    /// What has to hold afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// What has to hold after a command. Absent fields are not looked at.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The command fails, with this in its message.
    pub error: Option<String>,
    /// Samples of each level.
    pub rows: Option<Vec<usize>>,
    /// Codes of the rules that the last check found, sorted, each once.
    pub rules: Option<Vec<String>>,
    /// Fields of the collection with these values.
    pub collection: Option<serde_json::Map<String, Json>>,
    /// Rows of a query.
    pub result: Option<Vec<Json>>,
}

/// Runs a command file; paths in it are relative to its folder. The first line that does not do what it should is the error.
pub fn replay(file: &Path, studio: &mut Studio, on_progress: &mut dyn FnMut(&Progress)) -> Result<usize> {
    let text = std::fs::read_to_string(file).io_at("read the command file", file)?;
    let lines: Vec<ReplayLine> = serde_json::from_str(&text)
        .map_err(|error| Error::usage("the command file is not a list of commands").because(error).at_path(file))?;
    let base = file.parent().unwrap_or(Path::new("."));
    let count = lines.len();
    for (number, mut line) in lines.into_iter().enumerate() {
        let place = |error: Error| error.at(format!("{} line {}", file.display(), number + 1));
        resolve(&mut line.command, base);
        let outcome = studio.run_to_end(line.command, on_progress);
        let expect = line.expect.unwrap_or_default();
        match (&outcome, &expect.error) {
            (Err(error), Some(part)) if error.report().contains(part.as_str()) => continue,
            (Err(error), Some(part)) => {
                return Err(place(Error::invalid(format!("expected an error with {part:?}, got: {error}"))));
            }
            (Ok(_), Some(part)) => return Err(place(Error::invalid(format!("expected an error with {part:?}, but it worked")))),
            _ => {}
        }
        let event = outcome.map_err(place)?;
        check(studio, &event, &expect).map_err(|what| place(Error::invalid(what)))?;
    }
    Ok(count)
}

fn resolve(command: &mut Command, base: &Path) {
    let join = |path: &mut std::path::PathBuf| *path = base.join(&*path);
    match command {
        Command::OpenWith { path, options } => {
            join(path);
            options.base_path.iter_mut().chain(&mut options.with).for_each(join);
        }
        Command::Open { path } | Command::ImportCollection { path } => join(path),
        Command::Import { paths, metadata, .. } => paths.iter_mut().chain(metadata).for_each(join),
        Command::Write { options } => join(&mut options.target),
        Command::Convert { input, options, .. } => {
            join(input);
            join(&mut options.target);
        }
        Command::SaveAsset { target, .. } => join(target),
        _ => {}
    }
}

fn check(studio: &Studio, event: &Event, expect: &Expect) -> Result<(), String> {
    let document = || studio.document().ok_or_else(|| "nothing is open".to_owned());
    if let Some(rows) = &expect.rows {
        let found: Vec<usize> = document()?.tree().levels.iter().map(|level| level.len()).collect();
        compare("rows", rows, &found)?;
    }
    if let Some(rules) = &expect.rules {
        let mut found: Vec<String> = studio.report().findings.iter().map(|finding| finding.rule.code().to_owned()).collect();
        found.sort();
        found.dedup();
        compare("rules", rules, &found)?;
    }
    for (key, value) in expect.collection.iter().flatten() {
        let found = document()?.collection().fields.get(key).cloned().unwrap_or(Json::Null);
        compare(key, value, &found)?;
    }
    if let Some(rows) = &expect.result {
        let Event::Queried(result) = event else { return Err("this command gives no rows".into()) };
        let found: Vec<Json> = result.json_rows().map(Json::Object).collect();
        compare("result", rows, &found)?;
    }
    Ok(())
}

fn compare<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}
