//! `convert`: a dataset in another container, in parts, or with its tables compressed otherwise.

use std::path::PathBuf;

use super::Terminal;
use super::create::summary;
use super::opening::{OpenArguments, print_warnings};
use super::output::print;
use super::verbs::studio;
use super::writing::{DamageArguments, PartsArguments, WriteArguments, tell_damaged};
use crate::container::BuildOptions;
use crate::error::{Error, Result};
use crate::studio::{Command, Event};

/// Arguments of `convert`.
#[derive(Debug, clap::Args)]
pub struct ConvertArguments {
    /// The dataset.
    pub input: PathBuf,
    /// The file or folder to make.
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
    let ConvertArguments { input, output, open, parts, write, damage, json } = arguments;
    let options = BuildOptions { on_damage: damage.on_damage(), ..write.options(output, parts.parts()) };
    let (open, mut studio) = (open.options().into(), studio());
    match studio.run_to_end(Command::Convert { input, open, options }, &mut |progress| terminal.progress(progress))? {
        Event::Written(built) => {
            terminal.clear();
            print_warnings(&studio);
            print(&summary(&built, json))?;
            Ok(tell_damaged(&built.damaged))
        }
        other => Err(Error::internal(format!("converting ended with {other:?}"))),
    }
}
