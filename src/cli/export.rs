//! `export`: a filtered part of a dataset as a dataset of its own.

use std::path::PathBuf;

use super::create::print_built;
use super::opening::JoinArguments;
use super::output::Terminal;
use super::query::RowArguments;
use super::runner::operate;
use super::writing::{DamageArguments, PartsArguments, WriteArguments};
use crate::container::BuildOptions;
use crate::error::Result;
use crate::ops::ExportRequest;

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct ExportArguments {
    /// The dataset.
    pub input: PathBuf,
    #[command(flatten)]
    pub join: JoinArguments,
    /// Output file or folder.
    #[arg(long, short)]
    pub output: PathBuf,
    #[command(flatten)]
    pub rows: RowArguments,
    /// Keep placeholders.
    #[arg(long)]
    pub keep_padding: bool,
    /// After a filter on a deeper level keep all children of the samples that are left.
    #[arg(long)]
    pub keep_siblings: bool,
    /// Put the name of their dataset in front of ids that several datasets share.
    #[arg(long)]
    pub prefix_ids: bool,
    /// Go on where parts of a dataset of the first generation are missing.
    #[arg(long)]
    pub allow_missing_parts: bool,
    #[command(flatten)]
    pub parts: PartsArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `export`; exit code 1 when damaged samples were copied.
pub fn export(arguments: ExportArguments, terminal: &Terminal) -> Result<u8> {
    let request = ExportRequest {
        input: arguments.input,
        open: arguments.join.options(),
        options: BuildOptions {
            on_damage: arguments.damage.on_damage(),
            ..arguments
                .write
                .options(arguments.output, arguments.parts.parts())
        },
        rows: arguments.rows.choice()?,
        keep_padding: arguments.keep_padding,
        keep_siblings: arguments.keep_siblings,
        prefix_ids: arguments.prefix_ids,
        allow_missing_parts: arguments.allow_missing_parts,
    };
    print_built(&operate(terminal, request)?, arguments.json)
}
