//! `concat`: several datasets as one, written as a dataset or only compared.

use std::path::PathBuf;

use serde_json::json;

use super::Terminal;
use super::create::summary;
use super::opening::{JoinArguments, print_warnings};
use super::output::{print, print_json};
use super::query::FilterArguments;
use super::verbs::studio;
use super::writing::{DamageArguments, PartsArguments, WriteArguments, tell_damaged};
use crate::container::{BuildOptions, Physical};
use crate::error::{Error, Result};
use crate::studio::{Command, Event, ExportRequest, RowChoice};

/// Arguments of `concat`.
#[derive(Debug, clap::Args)]
pub struct ConcatArguments {
    /// The first dataset.
    pub first: PathBuf,
    #[command(flatten)]
    pub join: JoinArguments,
    /// The file or folder to make; without it, only what joining them would give is printed.
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
    /// Leave placeholders out.
    #[arg(long)]
    pub drop_padding: bool,
    /// Put the name of their dataset in front of ids that several datasets share.
    #[arg(long)]
    pub prefix_ids: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `concat`; exit code 1 when damaged samples were copied.
pub fn concat(arguments: ConcatArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.join.more.is_empty() {
        return Err(Error::usage("one dataset alone is not joined").hint("name two or more"));
    }
    let open = arguments.join.options();
    let mut studio = studio();
    let Some(target) = arguments.output else {
        let path = arguments.first;
        studio.run_to_end(Command::OpenWith { path, options: open.into() }, &mut |progress| terminal.progress(progress))?;
        terminal.clear();
        let opened = studio.document().and_then(|document| document.opened());
        let reader = opened.map(|open| &open.reader).ok_or_else(|| Error::internal("opening opened nothing"))?;
        let Physical::Joined(joined) = reader.physical() else { return Err(Error::internal("nothing was joined")) };
        let levels = joined_levels(joined);
        if arguments.json {
            let datasets: Vec<String> = joined.datasets().map(|(_, path)| path.display().to_string()).collect();
            let out = json!({ "datasets": datasets, "rows": levels, "changes": joined.changes() });
            print_json(&out)?;
        } else {
            print_warnings(&studio);
            let rows: Vec<String> = levels.iter().enumerate().map(|(level, rows)| format!("level{level}: {rows} rows")).collect();
            print(&format!("{} datasets as one: {}", joined.datasets().len(), rows.join(", ")))?;
        }
        return Ok(0);
    };
    let request = ExportRequest {
        input: arguments.first,
        open,
        options: BuildOptions {
            on_damage: arguments.damage.on_damage(),
            ..arguments.write.options(target, arguments.parts.parts())
        },
        rows: RowChoice { filters: arguments.filter.filters(), ..RowChoice::default() },
        keep_padding: !arguments.drop_padding,
        keep_siblings: false,
        prefix_ids: arguments.prefix_ids,
        allow_missing_parts: false,
    };
    match studio.run_to_end(Command::Export { request: Box::new(request) }, &mut |progress| terminal.progress(progress))? {
        Event::Written(built) => {
            terminal.clear();
            print_warnings(&studio);
            print(&summary(&built, arguments.json))?;
            Ok(tell_damaged(&built.damaged))
        }
        other => Err(Error::internal(format!("joining ended with {other:?}"))),
    }
}

fn joined_levels(joined: &dyn crate::container::ContainerReader) -> Vec<usize> {
    (0..joined.levels().count()).map(|level| joined.levels().rows(level)).collect()
}
