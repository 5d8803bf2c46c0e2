//! `convert`: a dataset in another container, in parts, or with its tables compressed otherwise.

use std::path::PathBuf;

use super::create::print_built;
use super::opening::OpenArguments;
use super::output::Terminal;
use super::runner::operate;
use super::writing::{DamageArguments, PartsArguments, WriteArguments};
use crate::container::BuildOptions;
use crate::error::Result;
use crate::ops::ConvertRequest;

/// Arguments of `convert`.
#[derive(Debug, clap::Args)]
pub struct ConvertArguments {
    /// The dataset.
    pub input: PathBuf,
    /// Output file or folder.
    pub output: PathBuf,
    #[command(flatten)]
    pub open: OpenArguments,
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

/// Runs `convert`; exit code 1 when damaged samples were copied.
pub fn convert(arguments: ConvertArguments, terminal: &Terminal) -> Result<u8> {
    let ConvertArguments {
        input,
        output,
        open,
        parts,
        write,
        damage,
        json,
    } = arguments;
    let options = BuildOptions {
        on_damage: damage.on_damage(),
        ..write.options(output, parts.parts())
    };
    let built = operate(
        terminal,
        ConvertRequest {
            input,
            open: open.options(),
            options,
        },
    )?;
    print_built(&built, json)
}
