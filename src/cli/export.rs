//! `export`: a filtered part of a dataset as a dataset of its own.

use std::path::PathBuf;

use super::Terminal;
use super::arguments::OutputFormat;
use super::create::summary;
use super::opening::{JoinArguments, print_warnings};
use super::output::print;
use super::query::FilterArguments;
use super::verbs::studio;
use super::writing::{ParquetArguments, PartsArguments};
use crate::container::BuildOptions;
use crate::error::{Error, Result};
use crate::studio::{Command, Event, ExportRequest};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct ExportArguments {
    /// The dataset.
    pub input: PathBuf,
    #[command(flatten)]
    pub join: JoinArguments,
    /// The file or folder to make.
    #[arg(long, short)]
    pub output: PathBuf,
    /// A statement whose rows name the samples: SELECT id FROM data WHERE ….
    #[arg(long)]
    pub sql: Option<String>,
    /// The samples of level 0 by their ids.
    #[arg(long, value_delimiter = ',', value_name = "A,B,…")]
    pub ids: Option<Vec<String>>,
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Samples of level 0 at the most.
    #[arg(long)]
    pub limit: Option<usize>,
    /// The container; told from the output's name when absent.
    #[arg(long)]
    pub format: Option<OutputFormat>,
    /// Keep placeholders.
    #[arg(long)]
    pub keep_padding: bool,
    /// After a filter on a deeper level keep all children of the samples that are left.
    #[arg(long)]
    pub keep_siblings: bool,
    #[command(flatten)]
    pub parts: PartsArguments,
    #[command(flatten)]
    pub parquet: ParquetArguments,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `export`.
pub fn export(arguments: ExportArguments, terminal: &Terminal) -> Result<u8> {
    let format = arguments.format.unwrap_or_else(|| OutputFormat::of_name(&arguments.output)).format();
    let options = BuildOptions {
        target: arguments.output,
        format,
        parquet: arguments.parquet.options(),
        overwrite: arguments.overwrite,
        parts: arguments.parts.parts(),
    };
    let request = ExportRequest {
        input: arguments.input,
        open: arguments.join.options(),
        options,
        filters: arguments.filter.filters(),
        sql: arguments.sql,
        ids: arguments.ids,
        limit: arguments.limit,
        keep_padding: arguments.keep_padding,
        keep_siblings: arguments.keep_siblings,
    };
    let mut studio = studio();
    match studio.run_to_end(Command::Export { request: Box::new(request) }, &mut |progress| terminal.progress(progress))? {
        Event::Written(built) => {
            terminal.clear();
            print_warnings(&studio);
            print(&summary(&built, arguments.json));
            Ok(0)
        }
        other => Err(Error::internal(format!("exporting ended with {other:?}"))),
    }
}
