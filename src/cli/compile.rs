//! `compile`: chosen samples as a TORTILLA 0.5 or TACO 0.2 file.

use std::path::PathBuf;

use super::create::print_built;
use super::output::Terminal;
use super::query::RowArguments;
use super::runner::operate;
use super::writing::{DamageArguments, StreamArguments};
use crate::container::{TortillaOptions, parse_size, read_collection_file};
use crate::error::Result;
use crate::model::Profile;
use crate::ops::CompileRequest;

/// Arguments of `compile`.
#[derive(Debug, clap::Args)]
pub struct CompileArguments {
    /// The dataset: .tortilla, .taco, parts, or one of 2.0.
    pub input: PathBuf,
    /// Output file; its extension, .tortilla or .taco, selects the format.
    #[arg(long, short)]
    pub output: PathBuf,
    #[command(flatten)]
    pub rows: RowArguments,
    /// A JSON file with the collection of a .taco; that of the input when absent.
    #[arg(long, value_name = "FILE.json")]
    pub collection: Option<PathBuf>,
    /// Write parts with this much data at the most: NAME.0000.part.tortilla, …; 4GB, 512MB, ….
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = |text: &str| parse_size(text).map_err(|error| error.to_string()),
    )]
    pub split_size: Option<u64>,
    /// Go on where parts of a dataset of the first generation are missing.
    #[arg(long)]
    pub allow_missing_parts: bool,
    #[command(flatten)]
    pub stream: StreamArguments,
    /// Which form to write: that of the official tools, or that of the specification: extent in
    /// numbers, tasks as it spells them, whole seconds, parts from 0001.
    #[arg(long, value_name = "PROFILE", default_value = "tools")]
    pub profile: Profile,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Compiles; exit code 1 when damaged samples were copied.
pub fn compile(arguments: CompileArguments, terminal: &Terminal) -> Result<u8> {
    let collection = match &arguments.collection {
        Some(path) => Some(read_collection_file(path)?.fields),
        None => None,
    };
    let options = TortillaOptions {
        target: arguments.output,
        collection,
        part_bytes: arguments.split_size,
        stream: arguments.stream.stream,
        allow_non_tog: arguments.stream.allow_non_tog,
        overwrite: arguments.overwrite,
        on_damage: arguments.damage.on_damage(),
        text_form: arguments.profile == Profile::Spec,
    };
    let request = CompileRequest {
        input: arguments.input,
        options,
        allow_missing_parts: arguments.allow_missing_parts,
        rows: arguments.rows.choice()?,
    };
    print_built(&operate(terminal, request)?, arguments.json)
}
