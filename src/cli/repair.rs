//! `repair`: mends a finished dataset and says what it changed and what it could not.

use std::path::PathBuf;

use super::output::{Terminal, print, print_json};
use super::runner::operate;
use super::writing::{WriteArguments, tell_samples};
use crate::error::Result;
use crate::model::Finding;
use crate::ops::{OperationOutput, RepairRequest};

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

/// Repairs; exit code 1 when errors are left, or when nothing states the checksums of samples that
/// were copied.
pub fn repair(arguments: RepairArguments, terminal: &Terminal) -> Result<u8> {
    let RepairArguments {
        path,
        output,
        open,
        write,
        json,
    } = arguments;
    let options = write.options(output, None);
    let repaired = operate(
        terminal,
        RepairRequest {
            input: path,
            open: open.options(),
            options,
        },
    )?;
    if json {
        print_json(&repaired.to_json())?;
    } else {
        let (mended, left) = (repaired.mended.len(), repaired.left.len());
        let summary = match (mended, left) {
            (0, 0) => "nothing was to be repaired, and the dataset was written anew".to_owned(),
            _ => format!("{mended} repaired, {left} left"),
        };
        let path = repaired.built.path.display();
        print(&format!(
            "{}{}{path}: {summary}\n",
            list_findings("repaired", &repaired.mended),
            list_findings("left", &repaired.left)
        ))?;
    }
    Ok(tell_samples(&repaired.built).max(u8::from(!repaired.is_valid())))
}

fn list_findings(word: &str, findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!(
            "{word:10}{:8}{}\n          {}\n",
            finding.rule.code(),
            finding.at,
            finding.message
        ));
    }
    text
}
