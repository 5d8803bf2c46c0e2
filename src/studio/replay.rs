//! Scripts: a JSON list of commands with expected results, run by a session without a window.
//! Interface steps that make sense without a window are run too.

use std::path::Path;

use serde_json::Value as Json;

use super::document::Document;
use super::script::{Expect, ReplayLine, ScriptLine, Step, read_script};
use super::{Event, Studio, command_for};
use crate::error::{Error, Result};
use crate::jobs::Progress;
use crate::model::NodePath;
use crate::ops::AnyOutput;
use crate::query::QueryResult;

/// Runs a script without a window; its paths are relative to its folder. `on_line` receives the
/// 1-based number of each finished line.
///
/// # Errors
/// Those of [`super::read_script`]; the first line that fails or does not meet its expectation.
pub fn replay(
    file: &Path,
    studio: &mut Studio,
    on_progress: &mut dyn FnMut(&Progress),
    on_line: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<usize> {
    let lines = read_script(file)?;
    let count = lines.len();
    let name = file.display().to_string();
    for line in lines {
        let (number, place) = (line.number, line.place_in(&name));
        match line.content {
            ScriptLine::Command(line) => run_line(*line, studio, on_progress),
            ScriptLine::Step(step) => run_step(step, studio, on_progress),
        }
        .map_err(|error| error.at_place(place))?;
        on_line(number)?;
    }
    Ok(count)
}

/// Runs one command of a script and checks its expectation.
///
/// # Errors
/// The command's error unless it is expected; [`crate::error::Kind::Invalid`] when the result
/// differs from the expectation.
pub fn run_line(
    line: ReplayLine,
    studio: &mut Studio,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let outcome = studio.run_to_end(line.command, on_progress);
    let expect = line.expect.unwrap_or_default();
    match (&outcome, &expect.error) {
        (Err(error), Some(part)) if error.report().contains(part.as_str()) => return Ok(()),
        (Err(error), Some(part)) => {
            return Err(Error::invalid(format!(
                "expected an error with {part:?}, got: {error}"
            )));
        }
        (Ok(_), Some(part)) => {
            return Err(Error::invalid(format!(
                "expected an error with {part:?}, but it worked"
            )));
        }
        _ => {}
    }
    check_expectation(studio, &outcome?, &expect)
}

/// Compares the open document and the last event with a script's expectation.
///
/// # Errors
/// [`crate::error::Kind::Invalid`] with the difference.
pub fn check_expectation(studio: &Studio, event: &Event, expect: &Expect) -> Result<()> {
    check(studio, event, expect).map_err(Error::invalid)
}

/// Runs an interface step that needs no window.
fn run_step(step: Step, studio: &mut Studio, on_progress: &mut dyn FnMut(&Progress)) -> Result<()> {
    if step.needs_window() {
        return Err(Error::usage("this step needs a window")
            .hint("run the script with --headless or --window"));
    }
    match step {
        Step::Drop { paths } => {
            let command = command_for(paths, NodePath::root());
            studio.run_to_end(command, on_progress).map(|_| ())
        }
        Step::Expect { that, .. } => check_expectation(studio, &Event::None, &that),
        // Commands are awaited one by one, so no job runs between lines.
        _ => Ok(()),
    }
}

fn check(studio: &Studio, event: &Event, expect: &Expect) -> Result<(), String> {
    let document = || require_document(studio);
    if let Some(rows) = &expect.rows {
        let found: Vec<usize> = document()?
            .tree()
            .levels
            .iter()
            .map(|level| level.len())
            .collect();
        compare("rows", rows, &found)?;
    }
    if let Some(rules) = &expect.rules {
        let report = match event {
            Event::Finished(AnyOutput::Validate(report)) => report,
            _ => studio.report().as_ref(),
        };
        let mut found: Vec<String> = report
            .findings
            .iter()
            .map(|finding| finding.rule.code().to_owned())
            .collect();
        found.sort();
        found.dedup();
        compare("rules", rules, &found)?;
    }
    for (key, value) in expect.collection.iter().flatten() {
        let found = document()?
            .collection()
            .fields
            .get(key)
            .cloned()
            .unwrap_or(Json::Null);
        compare(key, value, &found)?;
    }
    if let Some(tray) = &expect.tray {
        let found = document()?
            .draft()
            .map(|draft| draft.tray().len())
            .unwrap_or_default();
        compare("tray", tray, &found)?;
    }
    if let Some(offers) = &expect.offers {
        let Event::Offered(found) = event else {
            return Err("this command offers nothing".into());
        };
        let alike = offers.len() == found.len()
            && offers
                .iter()
                .zip(found)
                .all(|(offer, found)| found.starts_with(offer.as_str()));
        if !alike {
            return Err(format!("offers: expected {offers:?}, found {found:?}"));
        }
    }
    if let Some(rows) = &expect.result {
        let result: &QueryResult = match event {
            Event::Queried(result) => result,
            Event::Finished(AnyOutput::Query(result)) => result,
            _ => return Err("this command gives no rows".into()),
        };
        let found: Vec<Json> = result.json_rows().map(Json::Object).collect();
        compare("result", rows, &found)?;
    }
    Ok(())
}

fn require_document(studio: &Studio) -> Result<&Document, String> {
    studio
        .document()
        .ok_or_else(|| "nothing is open".to_owned())
}

fn compare<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: &T,
    found: &T,
) -> Result<(), String> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, found {found:?}"))
    }
}
