//! Submits the missing parts of a plan to an engine (processes on this machine, Slurm, Dask), which
//! executes `plan run` for each part, then finishes the plan. A second submission builds only the
//! parts that are still missing. The engine schedules; this module does not.

mod dask;
mod local;
mod slurm;

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use super::{FinishRequest, Finished, PartStatus, Plan, PlanStatus, plan_status, read_json};
use crate::error::{Error, IoContext, Kind, Result};
use crate::folders;
use crate::jobs::JobContext;
use crate::ops::operation::{Operation, OperationOutput, PathUse, PathVisitor};

/// Engine that builds the parts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Engine {
    /// Processes on this machine.
    Local {
        /// Maximum number of concurrent processes.
        workers: usize,
    },
    /// A job array of Slurm.
    Slurm(SlurmOptions),
    /// Tasks of Dask Distributed.
    Dask(DaskOptions),
}

impl Engine {
    /// Name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Engine::Local { .. } => "local",
            Engine::Slurm(_) => "slurm",
            Engine::Dask(_) => "dask",
        }
    }
}

/// How jobs of Slurm are submitted.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct SlurmOptions {
    /// Maximum number of array tasks that run at once; unlimited when absent.
    pub at_once: Option<u32>,
    /// Memory of a part in bytes; the plan's estimate when absent.
    pub memory_bytes: Option<u64>,
    /// Time limit of a part in seconds; the plan's estimate when absent.
    pub seconds: Option<u64>,
    /// Partition.
    pub partition: Option<String>,
    /// More options of `sbatch`, as `--account=NAME`.
    pub more: Vec<String>,
}

/// How Dask is reached.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct DaskOptions {
    /// Address of the scheduler, as `tcp://host:8786`.
    pub scheduler: String,
    /// A Python with the package `distributed`.
    pub python: PathBuf,
}

/// Submits the missing parts of a plan. With `local` and `dask` the operation ends when they have
/// ended, and finishes the plan if all parts are written. With Slurm it ends after `sbatch`; a job
/// that depends on the array (`afterok`) finishes the plan. Plain data.
///
/// # Errors
/// When the plan can't be read, the engine can't be started, or finishing fails. A failed part is
/// no error; it is in [`Submitted::status`].
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct SubmitRequest {
    /// The folder of the plan.
    pub folder: PathBuf,
    /// Engine that builds the parts.
    pub engine: Engine,
    /// Maximum number of attempts for each part.
    pub tries: u32,
    /// Executable that workers start; the running one when absent.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// Path prefixes to replace on the workers: (in the plan, on the worker).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relocate: Vec<(PathBuf, PathBuf)>,
    /// Allows extensions of the plan to start external programs. Only the user of this machine can,
    /// so no script has it.
    #[serde(skip)]
    pub allow_commands: bool,
    /// Writes the parts only, without finishing the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parts_only: bool,
}

impl SubmitRequest {
    /// Submits the parts to `engine`, each of which is tried once.
    pub fn new(folder: PathBuf, engine: Engine) -> Self {
        Self {
            folder,
            engine,
            tries: 1,
            program: None,
            relocate: Vec::new(),
            allow_commands: false,
            parts_only: false,
        }
    }
}

impl OperationOutput for Submitted {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        let (done, total) = (self.status.done, self.status.total);
        if self.jobs.is_empty() {
            tr!("{done} of {total} parts written", done, total)
        } else {
            tr_n!(
                self.parts.len(),
                "Submitted {n} part",
                "Submitted {n} parts",
                n = self.parts.len()
            )
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        let finished = self.finished.iter();
        finished
            .flat_map(|finished| {
                finished
                    .parts
                    .iter()
                    .chain(finished.indexes.iter().map(|index| &index.path))
            })
            .map(PathBuf::as_path)
            .collect()
    }

    fn is_sound(&self) -> bool {
        !self.jobs.is_empty() || self.status.done == self.status.total
    }
}

impl Operation for SubmitRequest {
    type Output = Submitted;

    fn label(&self) -> String {
        tr!("Build the parts").into()
    }

    /// The plan names the dataset.
    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.folder);
    }

    fn paths_in_files(&self) -> Result<Vec<(PathUse, PathBuf)>> {
        Plan::paths_with_relocated(&self.folder, &self.relocate)
    }

    /// Programs that start on this machine or on workers; this executable itself is not listed.
    fn programs(&self) -> Vec<Vec<String>> {
        let named = self
            .program
            .iter()
            .map(|program| vec![program.display().to_string()]);
        let of_engine = match &self.engine {
            Engine::Local { .. } => None,
            Engine::Slurm(options) => Some(
                ["sbatch".to_owned()]
                    .into_iter()
                    .chain(options.more.iter().cloned())
                    .collect(),
            ),
            Engine::Dask(options) => Some(vec![
                options.python.display().to_string(),
                options.scheduler.clone(),
            ]),
        };
        named.chain(of_engine).collect()
    }

    fn run(&self, ctx: &JobContext) -> Result<Submitted> {
        submit_plan(self, ctx)
    }
}

/// Result of [`SubmitRequest`].
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Submitted {
    /// Name of the engine.
    pub engine: &'static str,
    /// Numbers of the parts given to the engine.
    pub parts: Vec<u32>,
    /// Slurm job ids; empty for engines that this process waits for.
    pub jobs: Vec<String>,
    /// Status of the plan on return.
    pub status: PlanStatus,
    /// The finished dataset; `None` with Slurm, with `parts_only`, and while parts are missing.
    pub finished: Option<Finished>,
}

fn submit_plan(request: &SubmitRequest, ctx: &JobContext) -> Result<Submitted> {
    let folder = std::path::absolute(&request.folder).io_at("look at", &request.folder)?;
    let request = SubmitRequest {
        folder: folder.clone(),
        ..request.clone()
    };
    let plan = Plan::read(&folder)?;
    let log = folder.join("log");
    std::fs::create_dir_all(&log).io_at("make the folder for the logs", &log)?;
    let missing = plan_status(&folder)?.missing();
    let (parts, jobs) = match &request.engine {
        Engine::Local { workers } => (local::build(&request, &missing, *workers, ctx)?, Vec::new()),
        Engine::Dask(options) => (dask::build(&request, &missing, options, ctx)?, Vec::new()),
        Engine::Slurm(options) => slurm::submit(&request, &plan, missing, options)?,
    };
    let status = plan_status(&folder)?;
    let ends = !matches!(request.engine, Engine::Slurm(_))
        && !request.parts_only
        && status.done == status.total;
    let finished = if ends {
        Some(
            FinishRequest {
                folder: folder.clone(),
                hashes: false,
            }
            .run(ctx)?,
        )
    } else {
        None
    };
    let status = if finished.is_some() {
        plan_status(&folder)?
    } else {
        status
    };
    Ok(Submitted {
        engine: request.engine.name(),
        parts,
        jobs,
        status,
        finished,
    })
}

impl SubmitRequest {
    /// The program that the workers start.
    fn program(&self) -> Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => folders::own_program().map_err(|error| {
                Error::new(Kind::Io, "the path of this program is unknown")
                    .because(error)
                    .hint("name it with --program")
            }),
        }
    }

    /// Arguments of `plan run`, without the part number.
    fn run_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            "--quiet".into(),
            "plan".into(),
            "run".into(),
            self.folder.clone().into(),
        ];
        for (from, to) in &self.relocate {
            arguments.extend(["--relocate".into(), from.clone().into(), to.clone().into()]);
        }
        if self.allow_commands {
            arguments.push("--allow-commands".into());
        }
        arguments
    }
}

/// The log of a part.
fn log_path(folder: &Path, part: u32) -> PathBuf {
    folder.join("log").join(super::file_stem(part) + ".log")
}

/// Last lines of a part's log: at most `lines`, from its last 16 KiB; empty before the first
/// attempt. Slurm writes one log for each job; the newest is read.
///
/// # Errors
/// When the log can't be read.
pub fn log_tail(folder: &Path, part: &PartStatus, lines: usize) -> Result<Vec<String>> {
    const TAIL: u64 = 16 << 10;
    let newest = part
        .attempts
        .iter()
        .rev()
        .map(|attempt| &attempt.job)
        .find(|job| !job.is_empty());
    let of_job = newest.map(|job| {
        folder
            .join("log")
            .join(format!("slurm-{}.log", job.replace(['/', '\\'], "_")))
    });
    let Some(path) = of_job
        .into_iter()
        .chain([log_path(folder, part.number)])
        .find(|path| path.is_file())
    else {
        return Ok(Vec::new());
    };
    let (mut file, metadata) =
        crate::files::open_with_metadata(&path).io_at("read the log", &path)?;
    let size = metadata.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))
        .io_at("read the log", &path)?;
    let mut bytes = Vec::new();
    file.take(TAIL)
        .read_to_end(&mut bytes)
        .io_at("read the log", &path)?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    Ok(all[all.len().saturating_sub(lines)..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect())
}

/// Version of `sbatch` on this machine; `None` when it is not installed.
pub fn slurm_version() -> Option<String> {
    let ran = Command::new("sbatch")
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    (ran.status.success() && !text.is_empty()).then_some(text)
}

/// Runs a command-line tool of an engine; returns its standard output.
fn output_of(command: &mut Command, what: &str) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| {
            Error::new(Kind::Io, format!("{name} could not be started"))
                .because(error)
                .hint(format!("install {what} on this machine"))
        })?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        return Err(Error::new(Kind::Io, format!("{name} failed ({})", ran.status)).because(said));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Numbers as ranges: `1-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.map(write_range).collect::<Vec<_>>().join(",")
}

fn write_range(run: &[u32]) -> String {
    match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    }
}

/// Slurm jobs of the last submission (`submitted.json`); `None` before the first.
fn read_submitted_jobs<T: serde::de::DeserializeOwned>(folder: &Path) -> Result<Option<T>> {
    read_json(&folder.join("submitted.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[]), "");
    }
}
