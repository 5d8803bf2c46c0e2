//! State of the plan panels. Imports no panel context, so that the session can hold it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::jobs::AsyncValue;
use crate::ops::plan::{DaskOptions, Engine, PlanStatus, SlurmOptions};

use super::throughput::Throughput;

/// Engine that builds the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// Processes on this machine.
    #[default]
    Local,
    /// A job array of Slurm.
    Slurm,
    /// Tasks of Dask Distributed.
    Dask,
}

/// The plan read from a folder.
#[derive(Clone)]
pub(super) struct ShownPlan {
    pub status: Arc<PlanStatus>,
    pub throughput: Arc<Throughput>,
}

/// The folder that was read, and its plan if it has one. The folder is kept, as the previous value
/// is shown while a new one is read.
pub(super) type ReadFolder = (PathBuf, Option<ShownPlan>);

/// State of the panels. Outlives the document.
pub struct PlanState {
    /// The folder of the plan, as typed.
    pub(super) folder: String,
    /// Path of the dataset, as typed; below the plan's folder when empty.
    pub(super) dataset: String,
    /// The number of parts, as typed.
    pub(super) parts: String,
    /// Runs the extensions that the project keeps.
    pub(super) recipe: bool,
    /// Engine that builds the parts.
    pub(super) engine: EngineChoice,
    /// Maximum number of concurrent local processes, as typed.
    pub(super) workers: String,
    /// Slurm: maximum number of array tasks that run at once, as typed; unlimited when empty.
    pub(super) at_once: String,
    /// Slurm: memory of a part in GB, as typed; the plan's estimate when empty.
    pub(super) memory: String,
    /// Slurm: time limit of a part in minutes, as typed; the plan's estimate when empty.
    pub(super) minutes: String,
    /// Slurm: partition; the default one when empty.
    pub(super) partition: String,
    /// Dask: address of the scheduler.
    pub(super) scheduler: String,
    /// Dask: a Python with `distributed`.
    pub(super) python: String,
    /// Maximum number of attempts for each part, as typed.
    pub(super) tries: String,
    /// Executable that workers start; the running one when empty.
    pub(super) program: String,
    /// True when the parts are grouped by machine.
    pub(super) by_host: bool,
    /// The part whose details are shown.
    pub(super) selected: Option<u32>,
    /// Status of the plan, by folder and number of the read.
    pub(super) status: AsyncValue<(PathBuf, u64), ReadFolder>,
    /// Last lines of the log of a part, by folder, part and number of the read.
    pub(super) log: AsyncValue<(PathBuf, u32, u64), Vec<String>>,
    /// Version of `sbatch` on this machine; `None` when it is not installed.
    pub(super) slurm: AsyncValue<(), Option<String>>,
    /// Number of the current read.
    pub(super) reading: u64,
    /// Time of the window in seconds when the state was last requested.
    pub(super) asked_at: f64,
}

impl Default for PlanState {
    fn default() -> Self {
        Self {
            folder: String::new(),
            dataset: String::new(),
            parts: "40".into(),
            recipe: false,
            engine: EngineChoice::default(),
            workers: "2".into(),
            at_once: String::new(),
            memory: String::new(),
            minutes: String::new(),
            partition: String::new(),
            scheduler: String::new(),
            python: "python3".into(),
            tries: "3".into(),
            program: String::new(),
            by_host: false,
            selected: None,
            status: AsyncValue::default(),
            log: AsyncValue::default(),
            slurm: AsyncValue::default(),
            reading: 0,
            asked_at: 0.0,
        }
    }
}

impl PlanState {
    /// Shows the plan in this folder.
    pub fn show(&mut self, folder: &Path) {
        self.folder = folder.display().to_string();
        // Parts of another plan have the same numbers.
        self.selected = None;
        self.read_again();
    }

    /// Requests the status again.
    pub fn read_again(&mut self) {
        self.reading += 1;
    }

    /// The typed folder; `None` for an empty field.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        Some(self.folder.trim())
            .filter(|typed| !typed.is_empty())
            .map(PathBuf::from)
    }

    /// The plan in the folder; `None` until it is read.
    pub(super) fn shown_plan(&self) -> Option<&ShownPlan> {
        let folder = self.folder()?;
        self.status
            .latest()
            .filter(|found| found.0 == folder)
            .and_then(|found| found.1.as_ref())
    }

    /// Maximum number of attempts for each part; `None` when the field has no number.
    pub(super) fn tries(&self) -> Option<u32> {
        self.tries.trim().parse().ok().filter(|tries| *tries > 0)
    }

    /// Executable that workers start; `None` for the running one.
    pub(super) fn program(&self) -> Option<PathBuf> {
        Some(self.program.trim())
            .filter(|typed| !typed.is_empty())
            .map(PathBuf::from)
    }

    /// The engine with its options.
    ///
    /// # Errors
    /// A message for the user about an invalid field.
    pub(super) fn engine(&self) -> Result<Engine, &'static str> {
        match self.engine {
            EngineChoice::Local => {
                let wrong = tr!("The number of processes is not a number.");
                let workers = parse_count(&self.workers, wrong)?.ok_or(wrong)?;
                Ok(Engine::Local {
                    workers: workers as usize,
                })
            }
            EngineChoice::Slurm => {
                let memory =
                    parse_positive_number(&self.memory, tr!("The memory is not a number of GB."))?;
                let minutes = parse_count(
                    &self.minutes,
                    tr!("The time limit is not a number of minutes."),
                )?;
                let partition = self.partition.trim();
                Ok(Engine::Slurm(SlurmOptions {
                    at_once: parse_count(
                        &self.at_once,
                        tr!("The number of parts to run at once is not a number."),
                    )?,
                    memory_bytes: memory.map(|memory| (memory * 1e9) as u64),
                    seconds: minutes.map(|minutes| u64::from(minutes) * 60),
                    partition: Some(partition.to_owned()).filter(|name| !name.is_empty()),
                    more: Vec::new(),
                }))
            }
            EngineChoice::Dask => {
                let (scheduler, python) = (self.scheduler.trim(), self.python.trim());
                if scheduler.is_empty() {
                    return Err(tr!("The address of the scheduler is missing."));
                }
                if python.is_empty() {
                    return Err(tr!("The Python with the package distributed is missing."));
                }
                Ok(Engine::Dask(DaskOptions {
                    scheduler: scheduler.to_owned(),
                    python: python.into(),
                }))
            }
        }
    }
}

/// A number from a thousandth to a million; `None` for an empty text.
fn parse_positive_number(text: &str, wrong: &'static str) -> Result<Option<f64>, &'static str> {
    parse_unless_empty(text, wrong, |number| (1e-3..1e6).contains(number))
}

/// A whole number from 1; `None` for an empty text.
fn parse_count(text: &str, wrong: &'static str) -> Result<Option<u32>, &'static str> {
    parse_unless_empty(text, wrong, |number| *number > 0)
}

fn parse_unless_empty<T: FromStr>(
    text: &str,
    wrong: &'static str,
    is_valid: impl Fn(&T) -> bool,
) -> Result<Option<T>, &'static str> {
    match text.trim() {
        "" => Ok(None),
        typed => typed.parse().ok().filter(is_valid).map(Some).ok_or(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_plan_has_no_part_selected() {
        let mut state = PlanState {
            selected: Some(2),
            ..PlanState::default()
        };
        state.read_again();
        assert_eq!(state.selected, Some(2));
        state.show(Path::new("/plans/other"));
        assert_eq!(state.selected, None);
    }

    #[test]
    fn an_engine_is_made_from_the_fields_or_the_wrong_field_is_named() {
        let mut state = PlanState::default();
        assert_eq!(state.engine(), Ok(Engine::Local { workers: 2 }));
        state.workers = "0".into();
        assert!(state.engine().is_err());
        state.engine = EngineChoice::Slurm;
        state.memory = "1.5".into();
        state.minutes = "30".into();
        state.at_once = "8".into();
        let wanted = SlurmOptions {
            at_once: Some(8),
            memory_bytes: Some(1_500_000_000),
            seconds: Some(1800),
            ..Default::default()
        };
        assert_eq!(state.engine(), Ok(Engine::Slurm(wanted)));
        state.memory = "much".into();
        assert_eq!(state.engine(), Err("The memory is not a number of GB."));
        state.engine = EngineChoice::Dask;
        assert_eq!(
            state.engine(),
            Err("The address of the scheduler is missing.")
        );
        state.scheduler = " tcp://host:8786 ".into();
        let dask = DaskOptions {
            scheduler: "tcp://host:8786".into(),
            python: "python3".into(),
        };
        assert_eq!(state.engine(), Ok(Engine::Dask(dask)));
    }
}
