//! `repair`: mends a finished dataset and says what it changed and what it could not.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::output::{Terminal, print, print_json};
use super::runner::run;
use super::writing::{WriteArguments, tell_samples};
use crate::error::Result;
use crate::model::Finding;
use crate::ops;
use crate::studio::JobKind;

/// Arguments of `repair`.
#[derive(Debug, clap::Args)]
pub struct RepairArguments {
    /// The dataset; it is not changed.
    pub path: PathBuf,
    /// Output file or folder.
    #[arg(long, short)]
    pub output: PathBuf,
    #[command(flatten)]
    pub open: super::opening::OpenArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Repairs; exit code 1 when errors are left, or when nothing states the checksums of samples that were copied.
pub fn repair(arguments: RepairArguments, terminal: &Terminal) -> Result<u8> {
    let RepairArguments { path, output, open, write, json } = arguments;
    let options = write.options(output, None);
    let (open, kind) = (open.options(), JobKind::Repair(path.clone()));
    let repaired = run(terminal, &kind, move |ctx| ops::repair(&path, &open, &options, ctx))?;
    let list = |findings: &[Finding]| findings.iter().map(Finding::json).collect::<Json>();
    if json {
        let out = json!({
            "path": repaired.built.path.display().to_string(),
            "valid": repaired.is_valid(),
            "repaired": list(&repaired.mended),
            "left": list(&repaired.left),
        });
        print_json(&out)?;
    } else {
        let lines = |word: &str, findings: &[Finding]| -> String {
            let line = |f: &Finding| format!("{word:10}{:8}{}\n          {}\n", f.rule.code(), f.at, f.message);
            findings.iter().map(line).collect()
        };
        let (mended, left) = (repaired.mended.len(), repaired.left.len());
        let summary = match (mended, left) {
            (0, 0) => "nothing was to be repaired, and the dataset was written anew".to_owned(),
            _ => format!("{mended} repaired, {left} left"),
        };
        let path = repaired.built.path.display();
        print(&format!("{}{}{path}: {summary}\n", lines("repaired", &repaired.mended), lines("left", &repaired.left)))?;
    }
    Ok(tell_samples(&repaired.built).max(u8::from(!repaired.is_valid())))
}
