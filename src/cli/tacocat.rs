//! `tacocat` and `tacollection`: one index over many archives.

use std::path::PathBuf;

use super::create::print_built;
use super::output::{Terminal, say};
use super::runner::operate;
use super::writing::ParquetArguments;
use crate::container::{ConsolidateOptions, Format, list_zips};
use crate::error::Result;
use crate::model::place_below;
use crate::ops::{ConsolidateRequest, folder_of_index, zips_elsewhere};
use crate::table::ParquetOptions;

/// Name of a TACOLLECTION in a folder.
const TACOLLECTION: &str = "TACOLLECTION.json";

/// Arguments of `tacocat`.
#[derive(Debug, clap::Args)]
pub struct TacocatArguments {
    /// The ZIPs, in the order of their rows, or a folder with them, for which the order is that of
    /// their names.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// The folder that gets .tacocat or __TACOCAT__: the one that holds the ZIPs, because readers
    /// look for them beside the index.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Make the single file __TACOCAT__ instead of the folder .tacocat.
    #[arg(long)]
    pub single_file: bool,
    /// Replace the index if it exists.
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub parquet: ParquetArguments,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tacollection`.
#[derive(Debug, clap::Args)]
pub struct TacollectionArguments {
    /// The ZIPs, or a folder with them.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output file in the folder of the ZIPs; for a folder, TACOLLECTION.json is appended.
    #[arg(long, short, value_name = "FILE or FOLDER")]
    pub output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Do not compare columns and trees of the datasets; the collection describes those of the
    /// first.
    #[arg(long)]
    pub no_schema_check: bool,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn tacocat(arguments: TacocatArguments, terminal: &Terminal) -> Result<u8> {
    let format = if arguments.single_file {
        Format::TacocatFile
    } else {
        Format::Tacocat
    };
    let parquet = arguments.parquet.options();
    let TacocatArguments {
        inputs,
        output: target,
        overwrite,
        json,
        ..
    } = arguments;
    let options = ConsolidateOptions {
        inputs: list_zips(&inputs)?,
        target,
        format,
        parquet,
        overwrite,
        skip_schema_check: false,
    };
    write_index(options, json, terminal)
}

pub fn tacollection(arguments: TacollectionArguments, terminal: &Terminal) -> Result<u8> {
    let TacollectionArguments {
        inputs,
        output,
        overwrite,
        no_schema_check: skip_schema_check,
        json,
    } = arguments;
    let is_folder = output.is_dir()
        || output
            .as_os_str()
            .to_string_lossy()
            .ends_with(['/', std::path::MAIN_SEPARATOR]);
    let target = if is_folder {
        place_below(&output, TACOLLECTION)
    } else {
        output
    };
    let (format, parquet) = (Format::Tacollection, ParquetOptions::default());
    write_index(
        ConsolidateOptions {
            inputs: list_zips(&inputs)?,
            target,
            format,
            parquet,
            overwrite,
            skip_schema_check,
        },
        json,
        terminal,
    )
}

fn write_index(options: ConsolidateOptions, json: bool, terminal: &Terminal) -> Result<u8> {
    let absent = misplaced_zips_warning(&options);
    let built = operate(terminal, ConsolidateRequest { options })?;
    if let Some(text) = absent {
        say(format!("warning: {text}"));
    }
    print_built(&built, json)
}

/// A warning when ZIPs are not in the folder where readers of the index look for them.
fn misplaced_zips_warning(options: &ConsolidateOptions) -> Option<String> {
    let count = zips_elsewhere(options);
    (count > 0).then(|| {
        format!(
            "{count} of {} ZIPs are not in {}, where readers of the index look for them: write \
                the index into the folder that \
             holds the ZIPs, move them there, or name their folder when you open it (--base-path)",
            options.inputs.len(),
            folder_of_index(options).display()
        )
    })
}
