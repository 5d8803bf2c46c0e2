//! `concat`: several datasets as one, written as a dataset or only compared.

use std::path::PathBuf;

use serde_json::json;

use super::create::print_built;
use super::opening::JoinArguments;
use super::output::{Terminal, print, print_json};
use super::query::FilterArguments;
use super::runner::{open, operate};
use super::writing::{DamageArguments, PartsArguments, WriteArguments};
use crate::container::{BuildOptions, Physical};
use crate::error::{Error, Result};
use crate::ops::{ExportRequest, RowChoice};

/// Arguments of `concat`.
#[derive(Debug, clap::Args)]
pub struct ConcatArguments {
    /// The first dataset.
    pub first: PathBuf,
    #[command(flatten)]
    pub join: JoinArguments,
    /// The file or folder to write. Without it nothing is written: the rows of each level are
    /// counted, and columns that would be left out or filled are named.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArguments,
    #[command(flatten)]
    pub parts: PartsArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Leave padding out.
    #[arg(long, requires = "output")]
    pub drop_padding: bool,
    /// Put the name of their dataset in front of ids that several datasets share.
    #[arg(long, requires = "output")]
    pub prefix_ids: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `concat`; exit code 1 when samples are damaged or differ from their source.
pub fn concat(arguments: ConcatArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.join.more.is_empty() {
        return Err(Error::usage("concat needs at least two datasets")
            .hint("name another dataset after the first one"));
    }
    let options = arguments.join.options();
    let filters = arguments.filter.filters()?;
    let Some(target) = arguments.output else {
        if !filters.is_empty() {
            return Err(
                Error::usage("rows are chosen for an output, and there is none")
                    .hint("name an output with -o, or count the rows with `taco-studio query`"),
            );
        }
        let reader = open(terminal, &arguments.first, &options)?;
        let Physical::Joined(joined) = reader.physical() else {
            return Err(Error::internal("nothing was joined"));
        };
        let levels = joined_levels(joined);
        if arguments.json {
            let datasets: Vec<String> = joined
                .datasets()
                .map(|(_, path)| path.display().to_string())
                .collect();
            let out = json!({ "datasets": datasets, "rows": levels, "changes": joined.changes() });
            print_json(&out)?;
        } else {
            let rows: Vec<String> = levels
                .iter()
                .enumerate()
                .map(|(level, rows)| format!("level{level}: {rows} rows"))
                .collect();
            print(&format!(
                "{} datasets as one: {}",
                joined.datasets().len(),
                rows.join(", ")
            ))?;
        }
        return Ok(0);
    };
    let request = ExportRequest {
        input: arguments.first,
        open: options,
        options: BuildOptions {
            on_damage: arguments.damage.on_damage(),
            ..arguments.write.options(target, arguments.parts.parts())
        },
        rows: RowChoice {
            filters,
            ..RowChoice::default()
        },
        keep_padding: !arguments.drop_padding,
        keep_siblings: false,
        prefix_ids: arguments.prefix_ids,
        allow_missing_parts: false,
    };
    print_built(&operate(terminal, request)?, arguments.json)
}

fn joined_levels(joined: &dyn crate::container::ContainerReader) -> Vec<usize> {
    (0..joined.levels().count())
        .map(|level| joined.levels().rows(level))
        .collect()
}
