//! `plan`: splits a dataset into parts that several processes or machines build.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::create::CatalogueArguments;
use super::opening::OpenArguments;
use super::output::{Terminal, print, print_json, say, say_failure};
use super::runner::{command, operate, run, session};
use super::writing::{DamageArguments, PartsArguments, WriteArguments, tell_damaged};
use crate::container::{self, BuildOptions, JoinMode, OpenOptions};
use crate::error::{Error, Result};
use crate::extensions::ExtensionCall;
use crate::model::{Dataset, is_remote};
use crate::ops::plan::{
    DaskOptions, Engine, FinishRequest, PartRun, PartState, PlanRequest, PlanSource, PlanStatus,
    RunRequest, SlurmOptions, SubmitRequest, default_dataset, default_indexes, make_plan,
    plan_status,
};
use crate::ops::{CreateOutput, CreateRequest, OperationOutput, SidecarHandling};
use crate::studio::{Command, Document, is_project};

/// Arguments of `plan`.
#[derive(Debug, clap::Args)]
pub struct PlanArguments {
    /// Action on an existing plan; without it a plan is written.
    #[command(subcommand)]
    pub action: Option<PlanAction>,
    /// A project, a folder of files, a STAC catalogue or the address of an API search, or datasets
    /// to plan as one.
    pub sources: Vec<PathBuf>,
    /// Folder of the plan; every worker must be able to read and write it.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Path of the dataset, as NAME.tacozip; below the plan's folder when absent.
    #[arg(long, value_name = "OUT")]
    pub dataset: Option<PathBuf>,
    /// Split into at most N parts of similar size.
    #[arg(
        long = "parts",
        value_name = "N",
        conflicts_with = "split_size",
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub most_parts: Option<u32>,
    #[command(flatten)]
    pub parts: PartsArguments,
    /// Run the extensions stored in the project: those of single samples when the parts are built,
    /// those that need all samples now.
    #[arg(long)]
    pub recipe: bool,
    /// Allow the project's recipe to start external programs; without it they are listed, and
    /// nothing runs.
    #[arg(long, requires = "recipe")]
    pub allow_commands: bool,
    #[command(flatten)]
    pub catalogue: CatalogueArguments,
    /// For a folder of files or a STAC catalogue: a JSON file with the collection's fields.
    #[arg(long, value_name = "FILE.json")]
    pub collection: Option<PathBuf>,
    /// For a folder of files or a STAC catalogue: a CSV, spreadsheet (.xlsx, .ods), JSON or Parquet
    /// table of metadata, joined by relative path.
    #[arg(long, value_name = "TABLE")]
    pub metadata: Option<PathBuf>,
    /// The column of the table that names the samples, by path or id. Without it, the one that
    /// names most.
    #[arg(long, value_name = "COLUMN", requires = "metadata")]
    pub key: Option<String>,
    /// How to handle columns that not all of several datasets have.
    #[arg(long, value_name = "MODE", default_value = "intersection")]
    pub mode: JoinMode,
    #[command(flatten)]
    pub open: OpenArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Print the plan as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Actions on an existing plan.
#[derive(Debug, clap::Subcommand)]
pub enum PlanAction {
    /// Builds parts; those that are written already are compared with their SHA-256 and skipped.
    Run(RunArguments),
    /// Joins the parts: extent, pooled statistics and indexes, compared with the plan; exit code 2
    /// when a part is missing.
    Finish(FinishArguments),
    /// Submits the missing parts to an engine and finishes the plan; exit code 1 when a part is
    /// still missing.
    Submit(Box<SubmitArguments>),
    /// Prints the state: progress, throughput, failures with the sample and reason; exit code 1
    /// when a part failed.
    Status(StatusArguments),
}

/// Arguments of `plan run`.
#[derive(Debug, clap::Args)]
pub struct RunArguments {
    /// The folder of the plan.
    pub plan: PathBuf,
    /// Numbers of the parts, from 1.
    #[arg(long, value_name = "K", required = true, value_delimiter = ',')]
    pub part: Vec<u32>,
    /// Also rebuild parts that are written already.
    #[arg(long)]
    pub again: bool,
    /// Replace the first path prefix by the second in the sources of the plan.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    pub relocate: Option<Vec<PathBuf>>,
    /// Allow the plan's extensions to start external programs; without it they are listed, and
    /// nothing runs.
    #[arg(long)]
    pub allow_commands: bool,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `plan finish`.
#[derive(Debug, clap::Args)]
pub struct FinishArguments {
    /// The folder of the plan.
    pub plan: PathBuf,
    /// Read every part and compare its SHA-256; without it only sizes are compared.
    #[arg(long)]
    pub hashes: bool,
    /// Allow the plan's extensions to start external programs if a part has to be written again.
    #[arg(long)]
    pub allow_commands: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `plan status`.
#[derive(Debug, clap::Args)]
pub struct StatusArguments {
    /// The folder of the plan.
    pub plan: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `plan submit`.
#[derive(Debug, clap::Args)]
pub struct SubmitArguments {
    /// The folder of the plan.
    pub plan: PathBuf,
    /// Engine that builds the parts.
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub engine: EngineName,
    /// Maximum number of attempts for each part.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub tries: u32,
    /// local: maximum number of concurrent processes; a quarter of the cores when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,
    /// dask: the address of the scheduler, as tcp://host:8786.
    #[arg(long, value_name = "ADDRESS", required_if_eq("engine", "dask"))]
    pub scheduler: Option<String>,
    /// dask: a Python that has the package distributed.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
    /// slurm: maximum number of array tasks that run at once; unlimited when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub at_once: Option<u32>,
    /// slurm: memory of a part, as 8GB; the plan's estimate when absent.
    #[arg(long, value_name = "SIZE", value_parser = super::writing::size)]
    pub memory: Option<u64>,
    /// slurm: time limit of a part in minutes; the plan's estimate when absent.
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub time: Option<u32>,
    /// slurm: the partition.
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// slurm: another option of sbatch, as --sbatch=--account=NAME.
    #[arg(long = "sbatch", value_name = "OPTION", allow_hyphen_values = true)]
    pub more: Vec<String>,
    /// Executable that workers start, if its path differs on the workers.
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Replace the first path prefix by the second in the sources of the plan, on the workers.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    pub relocate: Option<Vec<PathBuf>>,
    /// Allow the plan's extensions to start external programs.
    #[arg(long)]
    pub allow_commands: bool,
    /// Build the parts only; `plan finish` joins them.
    #[arg(long)]
    pub parts_only: bool,
    /// Print the submitted parts and the status of the plan as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Engines by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineName {
    /// Processes on this machine.
    Local,
    /// A job array of Slurm.
    Slurm,
    /// Tasks of Dask Distributed.
    Dask,
}

/// Runs `plan` and its actions.
pub fn plan(arguments: PlanArguments, terminal: &Terminal) -> Result<u8> {
    match arguments.action {
        Some(_) if !arguments.sources.is_empty() || arguments.output.is_some() => Err(
            Error::usage("an action on a plan takes no input for a new plan"),
        ),
        Some(PlanAction::Run(arguments)) => run_parts(arguments, terminal),
        Some(PlanAction::Finish(arguments)) => finish(arguments, terminal),
        Some(PlanAction::Submit(arguments)) => submit(*arguments, terminal),
        Some(PlanAction::Status(arguments)) => status(&arguments),
        None => make(arguments, terminal),
    }
}

fn make(mut arguments: PlanArguments, terminal: &Terminal) -> Result<u8> {
    let folder = arguments.output.clone().ok_or_else(|| {
        Error::usage("a plan needs a folder of its own")
            .hint("name one that every worker can reach: -o FOLDER")
    })?;
    let Some(first) = arguments.sources.first().cloned() else {
        return Err(Error::usage("no input for the plan is named")
            .hint("name a project, a folder of files, or datasets"));
    };
    if arguments.allow_commands {
        crate::consent::allow_all_programs();
    }
    let of_project = is_project(&first);
    let is_folder = || !is_remote(&first) && first.is_dir() && container::detect(&first).is_err();
    let catalogue = std::mem::take(&mut arguments.catalogue).choice(&first)?;
    let of_files = !of_project && (catalogue.reads(&first) || is_folder());
    if (of_project || of_files) && arguments.sources.len() > 1 {
        return Err(
            Error::usage("one project, folder of files or catalogue is planned at a time")
                .at_path(&first),
        );
    }
    if arguments.recipe && !of_project {
        return Err(Error::usage("only a project keeps extensions to run")
            .at_path(&first)
            .hint("leave --recipe out"));
    }
    if !of_files && (arguments.collection.is_some() || arguments.metadata.is_some()) {
        return Err(Error::usage(
            "--collection and --metadata are for a folder of files or a catalogue",
        )
        .at_path(&first));
    }
    let dataset = arguments
        .dataset
        .clone()
        .unwrap_or_else(|| default_dataset(&folder, &stem(&first)));
    let parts = arguments.parts.clone().parts().unwrap_or_default();
    let options = arguments.write.options(dataset, None);
    let parts = default_indexes(&parts, options.format);
    let options = BuildOptions {
        on_damage: arguments.damage.on_damage(),
        parts: Some(parts),
        ..options
    };
    let (source, calls) = if of_project {
        let (dataset, recipe) = project(first, terminal)?;
        (
            PlanSource::Draft(dataset),
            if arguments.recipe { recipe } else { Vec::new() },
        )
    } else if of_files {
        let PlanArguments {
            collection,
            metadata,
            key,
            ..
        } = arguments;
        let output = CreateOutput::Dataset(options.clone());
        let input = CreateRequest {
            source: first,
            collection,
            metadata,
            key,
            fill_missing: false,
            pad_to: Vec::new(),
            align_schema: false,
            sidecars: SidecarHandling::Leave,
            layout: None,
            exclude: Vec::new(),
            catalogue,
            output,
        };
        (PlanSource::Folder(Box::new(input)), Vec::new())
    } else {
        let open = OpenOptions {
            with: arguments.sources[1..].to_vec(),
            mode: arguments.mode,
            ..arguments.open.options()
        };
        (PlanSource::Dataset(first, open), Vec::new())
    };
    let most_parts = arguments.most_parts.map(|count| count as usize);
    let request = PlanRequest {
        source,
        inputs: arguments.sources,
        calls,
        options,
        most_parts,
        folder: folder.clone(),
    };
    let plan = run(terminal, "plan", move |ctx| make_plan(&request, ctx))?;
    if arguments.json {
        let out = json!({
            "plan": folder.display().to_string(), "id": plan.id, "dataset": plan.dataset_in(
                &folder,
            ).display().to_string(),
            "parts": plan.parts, "roots": plan.roots(), "samples": plan.samples,
            "bytes": plan.data_bytes,
            "calls": plan.calls, "estimate": plan.estimate,
        });
        print_json(&out)?;
        return Ok(0);
    }
    print(&format!(
        "{}: {} parts, {} samples, {} bytes",
        folder.display(),
        plan.parts.len(),
        plan.samples,
        plan.data_bytes
    ))?;
    Ok(0)
}

/// Default name of the dataset, derived from its source.
fn stem(source: &Path) -> String {
    let name = source.file_stem().or_else(|| source.parent()?.file_name());
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The draft of a project and its stored extensions.
fn project(path: PathBuf, terminal: &Terminal) -> Result<(Dataset, Vec<ExtensionCall>)> {
    let mut studio = session();
    command(terminal, &mut studio, Command::OpenProject { path })?;
    let Some(Document::Draft(draft)) = studio.document() else {
        return Err(Error::internal("the project gave no draft"));
    };
    for server in draft.servers() {
        say(format!(
            "warning: the project reads {} from {}, which gets no token of yours",
            server.files_text(),
            server.host
        ));
    }
    Ok((draft.draft.dataset().clone(), draft.recipe.clone()))
}

fn run_parts(arguments: RunArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.allow_commands {
        crate::consent::allow_all_programs();
    }
    let relocate = pairs(arguments.relocate.as_deref());
    let mut code = 0;
    for part in arguments.part {
        let request = RunRequest {
            folder: arguments.plan.clone(),
            part,
            again: arguments.again,
            relocate: relocate.clone(),
        };
        let outcome = operate(terminal, request)?;
        let (result, skipped) = (outcome.result(), matches!(outcome, PartRun::Skipped(_)));
        if arguments.json {
            super::output::print_json_line(&outcome.to_json())?;
        } else {
            let what = if skipped {
                "is written already"
            } else {
                "written"
            };
            print(&format!(
                "{} {what}: {} samples, {} bytes, sha256 {}",
                result.name, result.samples, result.bytes, result.sha256
            ))?;
        }
        for failure in &result.failures {
            say_failure(format!(
                "{} at {}: {}",
                failure.extension, failure.sample, failure.error
            ));
        }
        code = code.max(tell_damaged(&result.damaged));
    }
    Ok(code)
}

fn pairs(relocate: Option<&[PathBuf]>) -> Vec<(PathBuf, PathBuf)> {
    match relocate {
        Some([from, to]) => vec![(from.clone(), to.clone())],
        _ => Vec::new(),
    }
}

fn submit(arguments: SubmitArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.allow_commands {
        crate::consent::allow_all_programs();
    }
    let engine = match arguments.engine {
        EngineName::Local => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Engine::Local {
                workers: arguments
                    .workers
                    .map_or(cores.div_ceil(4), |workers| workers as usize),
            }
        }
        EngineName::Slurm => Engine::Slurm(SlurmOptions {
            at_once: arguments.at_once,
            memory_bytes: arguments.memory,
            seconds: arguments.time.map(|minutes| u64::from(minutes) * 60),
            partition: arguments.partition,
            more: arguments.more,
        }),
        EngineName::Dask => Engine::Dask(DaskOptions {
            scheduler: arguments.scheduler.unwrap_or_default(),
            python: arguments.python,
        }),
    };
    let waits = arguments.engine != EngineName::Slurm;
    let request = SubmitRequest {
        folder: arguments.plan,
        engine,
        tries: arguments.tries,
        program: arguments.program,
        relocate: pairs(arguments.relocate.as_deref()),
        allow_commands: arguments.allow_commands,
        parts_only: arguments.parts_only,
    };
    let submitted = operate(terminal, request)?;
    if arguments.json {
        print_json(&submitted)?;
    } else {
        let jobs = if submitted.jobs.is_empty() {
            String::new()
        } else {
            format!(", jobs {}", submitted.jobs.join(", "))
        };
        print(&format!(
            "{} parts given to {}{jobs}\n{}",
            submitted.parts.len(),
            submitted.engine,
            status_text(&submitted.status)
        ))?;
    }
    Ok(u8::from(
        waits && submitted.status.done < submitted.status.total,
    ))
}

fn finish(arguments: FinishArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.allow_commands {
        crate::consent::allow_all_programs();
    }
    let request = FinishRequest {
        folder: arguments.plan,
        hashes: arguments.hashes,
    };
    let finished = operate(terminal, request)?;
    if arguments.json {
        print_json(&finished)?;
    } else {
        let mut text: String = finished
            .indexes
            .iter()
            .map(|index| format!("{}\n", index.path.display()))
            .collect();
        let (parts, samples, bytes) = (finished.parts.len(), finished.samples, finished.bytes);
        text.push_str(&format!("{parts} parts: {samples} samples, {bytes} bytes"));
        print(&text)?;
    }
    Ok(tell_damaged(&finished.damaged))
}

fn status(arguments: &StatusArguments) -> Result<u8> {
    let status = plan_status(&arguments.plan)?;
    if arguments.json {
        print_json(&status)?
    } else {
        print(&status_text(&status))?
    }
    Ok(u8::from(status.failed + status.lost > 0))
}

fn status_text(status: &PlanStatus) -> String {
    let mut text = format!(
        "{} of {} parts written, {} running, {} waiting, {} lost, {} failed\n",
        status.done, status.total, status.running, status.waiting, status.lost, status.failed
    );
    let share = if status.data_bytes > 0 {
        100.0 * status.done_bytes as f64 / status.data_bytes as f64
    } else {
        0.0
    };
    text.push_str(&format!(
        "{share:.0} % of {:.1} MB, {:.1} MB/s, {:.0} roots/s, {:.0} s so far",
        status.data_bytes as f64 / 1e6,
        status.bytes_per_second / 1e6,
        status.roots_per_second,
        status.elapsed_seconds
    ));
    if let Some(eta) = status.eta_seconds {
        text.push_str(&format!(", {eta:.0} s to go"));
    }
    text.push('\n');
    for part in &status.parts {
        let host = part.host.as_deref().unwrap_or("-");
        match (part.state, &part.error) {
            (PartState::Failed, Some(error)) => {
                let place = error
                    .place
                    .as_ref()
                    .map(|place| format!(" at {place}"))
                    .unwrap_or_default();
                let attempts = part.attempts.len();
                text.push_str(&format!(
                    "part {} failed on {host}{place}: {} ({attempts} attempts)\n",
                    part.number, error.message
                ));
            }
            (PartState::Failed, None) => {
                text.push_str(&format!("part {} was stopped on {host}\n", part.number))
            }
            (PartState::Lost, _) => text.push_str(&format!(
                "part {}: its process on {host} ended without a word\n",
                part.number
            )),
            (PartState::Running, _) => text.push_str(&format!(
                "part {} on {host}: {:.0} %\n",
                part.number,
                part.fraction * 100.0
            )),
            (PartState::Done | PartState::Waiting, _) => {}
        }
    }
    if let Some(finished) = &status.finished {
        let indexes = finished
            .indexes
            .iter()
            .map(|index| format!("{}\n", index.path.display()));
        text.push_str(&format!(
            "finished: {} samples\n{}",
            finished.samples,
            indexes.collect::<String>()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Arguments, Verb};

    #[test]
    fn a_plan_is_made_or_something_is_done_with_it() {
        let parse = |words: &[&str]| match Arguments::try_parse_from(
            ["taco-studio", "plan"].iter().chain(words),
        )
        .expect("parses")
        .verb
        {
            Some(Verb::Plan(arguments)) => arguments,
            other => panic!("{other:?}"),
        };
        let made = parse(&[
            "a.tacostudio",
            "-o",
            "plan",
            "--split-size",
            "4GB",
            "--recipe",
        ]);
        assert!(made.action.is_none() && made.recipe && made.parts.split_size == Some(4 << 30));
        let run = parse(&["run", "plan", "--part", "3,4"]);
        assert!(matches!(
            run.action,
            Some(PlanAction::Run(RunArguments { ref part, .. })) if *part == [3, 4]
        ));
        assert!(matches!(
            parse(&["status", "plan", "--json"]).action,
            Some(PlanAction::Status(_))
        ));
    }

    #[test]
    fn names_come_from_the_source() {
        assert_eq!(stem(Path::new("/a/andes.tacostudio")), "andes");
        assert_eq!(stem(Path::new("scenes/")), "scenes");
    }
}
