//! The command line: arguments become input of an operation ([`crate::ops`]), or commands of a
//! session where one is needed; results go to stdout, logs and progress to stderr. Exit codes: 0
//! fine, 1 findings, 2 usage or input error. Must never open a window.

mod arguments;
mod bench;
mod build;
mod commands;
mod compile;
mod concat;
mod convert;
mod create;
mod describe;
mod doctor;
mod edit;
mod export;
mod extend;
mod fields;
mod histograms;
mod inspect;
mod leakage;
mod mcp;
mod migrate;
mod opening;
mod optimise;
mod output;
mod plan;
mod publish;
mod query;
mod read;
mod remote;
mod repair;
mod replay;
mod reset;
mod rules;
mod runner;
mod stats;
mod tacocat;
mod validate;
mod values;
mod verbs;
mod writing;

pub use arguments::{Arguments, Verb, WindowArguments};
pub use doctor::report as report_doctor;
pub use output::Terminal;
use output::Verbosity;
use remote::admit_argument;
pub use replay::ReplayArguments;
pub use stats::StatsArguments;

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use crate::error::{Error, Kind, Result};

/// Action that the arguments request.
pub enum Invocation {
    /// Open the window.
    Window(WindowArguments),
    /// Run a script in the window's application.
    Replay(ReplayArguments),
    /// Look at this machine; the window's part of the checks is not the command line's to make.
    Doctor {
        /// Print JSON.
        json: bool,
    },
    /// The command has been run.
    Done(u8),
}

/// Parses the arguments, sets up logging, and runs the command if there is one.
pub fn run(arguments: Arguments) -> Invocation {
    // The window has no terminal to be read on: what it says is kept in a file.
    let log = if arguments.verb.is_none() {
        crate::folders::data_dir()
    } else {
        None
    };
    output::set_up_logging(
        Verbosity::from_flags(arguments.quiet, arguments.verbose),
        log.as_deref(),
    );
    if let Err(error) = arguments
        .temp_dir
        .as_deref()
        .map_or(Ok(()), use_temporary_folder)
        .and_then(|()| arguments.remote.apply())
    {
        output::say_error(&error);
        return Invocation::Done(error.exit_code());
    }
    let Some(verb) = arguments.verb else {
        crate::work_files::remove_abandoned_work();
        return Invocation::Window(arguments.window);
    };
    if let Verb::Doctor { json } = verb {
        return Invocation::Doctor { json };
    }
    let verb = match verb {
        Verb::Replay(script) if script.needs_application() => return Invocation::Replay(script),
        verb => verb,
    };
    let terminal = Terminal::new(arguments.quiet);
    let report = arguments.remote.traffic;
    if let Err(error) = crate::jobs::stop_on_signals() {
        tracing::warn!("{error}");
    }
    let outcome = run_verb(verb, &terminal);
    terminal.clear();
    if report {
        remote::print_traffic();
    }
    Invocation::Done(match outcome {
        Ok(code) => code,
        Err(error) => report_error(&error),
    })
}

/// Makes a folder that of temporary files: of this program, of the libraries in it, and of the
/// programs that it starts.
fn use_temporary_folder(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        return Err(Error::usage("there is no such folder for temporary files")
            .at_path(folder)
            .hint("make it, or leave out --temp-dir"));
    }
    let folder = std::path::absolute(folder)
        .map_err(|error| Error::io("find the folder for temporary files", folder, error))?;
    let names: &[&str] = if cfg!(windows) {
        &["TMP", "TEMP"]
    } else {
        &["TMPDIR"]
    };
    for name in names {
        // Safety: at the start of the program, whose only thread is this one.
        unsafe { std::env::set_var(name, &folder) };
    }
    Ok(())
}

/// Says what went wrong on standard error; returns the exit code.
pub fn report_error(error: &Error) -> u8 {
    output::say_error(error);
    error.exit_code()
}

/// Parses the arguments, of which the first is the name of the program. Help, the version and
/// faults of the call are printed here; then the exit code is returned.
pub fn arguments(
    arguments: impl IntoIterator<Item = OsString>,
) -> std::result::Result<Arguments, u8> {
    Arguments::try_parse_from(arguments.into_iter().map(admit_argument)).map_err(|asked| {
        match asked.print() {
            // Help and version are results like others.
            Err(error) if !asked.use_stderr() && error.kind() != std::io::ErrorKind::BrokenPipe => {
                report_error(
                    &Error::new(Kind::Io, "could not write to standard output").because(error),
                )
            }
            _ => u8::try_from(asked.exit_code()).unwrap_or(2),
        }
    })
}

/// True for verbs that write the tables of all samples.
fn writes_tables(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Create(_)
            | Verb::Build(_)
            | Verb::Extend(_)
            | Verb::Compile(_)
            | Verb::Describe(_)
            | Verb::Edit(_)
            | Verb::Tortilla2taco(_)
            | Verb::Taco2tortilla(_)
            | Verb::Migrate(_)
            | Verb::Optimise(_)
            | Verb::Repair(_)
            | Verb::Plan(_)
            | Verb::Publish(_)
            | Verb::Convert(_)
            | Verb::Tacocat(_)
            | Verb::Tacollection(_)
            | Verb::Export(_)
            | Verb::Concat(_)
    )
}

fn run_verb(verb: Verb, terminal: &Terminal) -> Result<u8> {
    if writes_tables(&verb) {
        crate::jobs::return_large_blocks();
    }
    match verb {
        Verb::Create(arguments) => create::create(arguments, terminal),
        Verb::Build(arguments) => build::build(arguments, terminal),
        Verb::Extend(arguments) => extend::extend(arguments, terminal),
        Verb::Extensions { json } => extend::list(json, terminal),
        Verb::Inspect { path, join, json } => {
            inspect::inspect(&path, &join.options(), json, terminal)
        }
        Verb::Validate(arguments) => validate::validate(arguments, terminal),
        Verb::Rules(arguments) => rules::rules(&arguments, terminal),
        Verb::Commands => commands::commands(),
        Verb::Compile(arguments) => compile::compile(arguments, terminal),
        Verb::Describe(arguments) => describe::describe(arguments, terminal),
        Verb::Edit(arguments) => edit::edit(arguments, terminal),
        Verb::Tortilla2taco(arguments) => edit::tortilla_to_taco(arguments, terminal),
        Verb::Taco2tortilla(arguments) => edit::taco_to_tortilla(arguments, terminal),
        Verb::Migrate(arguments) => migrate::migrate(arguments, terminal),
        Verb::Histograms(arguments) => histograms::histograms(arguments, terminal),
        Verb::Percentiles(arguments) => histograms::percentiles(arguments, terminal),
        Verb::Optimise(arguments) => optimise::optimise(arguments, terminal),
        Verb::Repair(arguments) => repair::repair(arguments, terminal),
        Verb::Read {
            path,
            sample,
            out,
            overwrite,
            format,
            damage,
            open,
        } => {
            let out = read::ReadOutput {
                file: out,
                overwrite,
                on_damage: damage.on_damage(),
                format,
            };
            read::read(&path, &open.options(), sample.as_deref(), out, terminal)
        }
        Verb::Plan(arguments) => plan::plan(arguments, terminal),
        Verb::Publish(arguments) => publish::publish(arguments, terminal),
        Verb::Convert(arguments) => convert::convert(arguments, terminal),
        Verb::Tacocat(arguments) => tacocat::tacocat(arguments, terminal),
        Verb::Tacollection(arguments) => tacocat::tacollection(arguments, terminal),
        Verb::Query(arguments) => query::query(arguments, terminal),
        Verb::Export(arguments) => export::export(arguments, terminal),
        Verb::Concat(arguments) => concat::concat(arguments, terminal),
        Verb::Fields(arguments) => fields::fields(&arguments, terminal),
        Verb::Stats(arguments) => stats::stats(arguments, terminal),
        Verb::Leakage(arguments) => leakage::leakage(arguments, terminal),
        Verb::Replay(arguments) => replay::replay(&arguments, terminal),
        Verb::Mcp(arguments) => mcp::mcp(&arguments),
        Verb::Sample { folder } => verbs::sample(&folder),
        Verb::Reset => reset::reset(),
        Verb::Drivers { json } => verbs::drivers(json),
        // Answered before: its checks reach up to the window.
        Verb::Doctor { .. } => Ok(0),
        Verb::BenchOpen { path } => bench::open(&path),
        Verb::BenchQuery { path } => bench::query(&path),
        Verb::BenchStats { folder } => bench::stats(&folder),
        Verb::BenchPreview { path } => bench::preview(&path),
        Verb::BenchDraft { samples, keep } => bench::draft(samples, keep.as_deref()),
    }
}
