//! `leakage`: samples shared between the parts of a split, as text or JSON. Never changes the
//! dataset.

use std::path::PathBuf;

use super::output::{Terminal, print, print_json};
use super::runner::operate;
use crate::error::Result;
use crate::extensions::{Leakage, LeakageRequest};
use crate::ops::DatasetLeakageRequest;

/// Arguments of `leakage`.
#[derive(Debug, clap::Args)]
pub struct LeakageArguments {
    /// The dataset.
    pub path: PathBuf,
    /// The level whose samples are in the parts; the first one with the column when absent.
    #[arg(long)]
    pub level: Option<usize>,
    /// The column that names the parts.
    #[arg(long, value_name = "NAME", default_value = "split")]
    pub column: String,
    /// Share of the smaller footprint from which two overlap.
    #[arg(long, value_name = "SHARE", default_value_t = 0.001)]
    pub min_overlap: f64,
    /// Maximum number of days between two samples of the same time.
    #[arg(long, value_name = "DAYS", default_value_t = 1.0)]
    pub days: f64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `leakage`; exit code 1 when samples leak.
pub fn leakage(arguments: LeakageArguments, terminal: &Terminal) -> Result<u8> {
    let LeakageArguments {
        path,
        level,
        column,
        min_overlap,
        days,
        json,
    } = arguments;
    let search = LeakageRequest {
        level,
        column,
        min_overlap,
        days,
    };
    let found = operate(
        terminal,
        DatasetLeakageRequest {
            input: path,
            search,
            ..DatasetLeakageRequest::default()
        },
    )?;
    if json {
        print_json(&found)?;
    } else {
        print(&text(&found))?;
    }
    Ok(u8::from(found.leaks()))
}

/// The report for people.
pub fn text(found: &Leakage) -> String {
    let mut text = String::new();
    for part in &found.parts {
        text.push_str(&format!(
            "{:12} {:>9} samples, {} with a place, {} with a time\n",
            part.name, part.samples, part.placed, part.timed
        ));
    }
    for line in found.lines() {
        text.push_str(&format!("leak: {line}\n"));
    }
    for [a, b] in &found.spans {
        // A remark: it counts for nothing in the exit code.
        text.push_str(&format!("note: {a} and {b} overlap in time\n"));
    }
    for line in &found.unknown {
        text.push_str(&format!("not looked at: {line}\n"));
    }
    if !found.complete {
        text.push_str(
            "there were too many neighbours to look at all of them; there may be more leaks\n",
        );
    }
    if !found.leaks() {
        text.push_str(if found.unknown.is_empty() {
            "nothing leaks\n"
        } else {
            "nothing leaks in what could be looked at\n"
        });
    }
    text
}
