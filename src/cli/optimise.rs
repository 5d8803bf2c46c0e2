//! `optimise`: rasters as TACO Optimized GeoTIFFs.

use std::path::PathBuf;

use super::opening::OpenArguments;
use super::output::{Terminal, print, print_json_line, say, say_failure};
use super::runner::operate;
use super::writing::{DamageArguments, WriteArguments, tell_damaged};
use crate::error::Result;
use crate::ops::{OperationOutput, OptimiseRequest, Optimised};
use crate::raster::TogOptions;

/// Reasons that are printed.
const SHOWN: usize = 20;

/// Arguments of `optimise`.
#[derive(Debug, clap::Args)]
pub struct OptimiseArguments {
    /// A raster, a folder of rasters, or a dataset of any generation.
    pub input: PathBuf,
    /// Output file or folder. For a dataset, the extensions .tortilla and .taco select the first
    /// generation.
    #[arg(long, short)]
    pub output: PathBuf,
    /// Columns and rows of a tile: a multiple of 16.
    #[arg(long, value_name = "PIXELS", default_value_t = TogOptions::default().block_size)]
    pub block_size: u32,
    /// Effort of zstd, 1 to 22.
    #[arg(long, value_name = "N", default_value_t = TogOptions::default().level)]
    pub effort: u8,
    /// Make a .tortilla or .taco streamable: one chain of tables for all levels and chunks.
    #[arg(long)]
    pub stream: bool,
    /// Also rewrite rasters that are optimized already.
    #[arg(long)]
    pub again: bool,
    /// The variable that is written of files with several, such as netCDF.
    #[arg(long, value_name = "NAME")]
    pub variable: Option<String>,
    #[command(flatten)]
    pub open: OpenArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Print what was done as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Optimises; exit code 1 when a raster could not be written and was copied, or when damaged
/// samples were.
pub fn optimise(arguments: OptimiseArguments, terminal: &Terminal) -> Result<u8> {
    let json = arguments.json;
    let options = arguments.write.options(arguments.output, None);
    let request = OptimiseRequest {
        input: arguments.input,
        output: options.target,
        open: arguments.open.options(),
        tog: TogOptions {
            block_size: arguments.block_size,
            level: arguments.effort,
            parallel: false,
        },
        format: Some(options.format),
        parquet: options.parquet,
        stream: arguments.stream,
        again: arguments.again,
        variable: arguments.variable.map(Into::into),
        overwrite: options.overwrite,
        text_columns: options.text_columns,
        align_blocks: options.align_blocks,
        on_damage: arguments.damage.on_damage(),
    };
    let done = operate(terminal, request)?;
    if json {
        print_json_line(&done)?;
    } else {
        print_done(&done)?;
    }
    Ok(tell_damaged(&done.damaged).max(u8::from(done.failures() > 0)))
}

fn print_done(done: &Optimised) -> Result<()> {
    for kept in done.kept.iter().take(SHOWN) {
        if kept.failed {
            say_failure(format!("failed: {}: {}", kept.path, kept.reason))
        } else {
            say(format!("kept: {}: {}", kept.path, kept.reason))
        }
    }
    if done.kept.len() > SHOWN {
        say(format!("and {} more", done.kept.len() - SHOWN));
    }
    let Optimised {
        already, others, ..
    } = done;
    print(&format!(
        "{}; {already} as they were, {} kept, {others} other files",
        done.summary(),
        done.kept.len()
    ))
}
