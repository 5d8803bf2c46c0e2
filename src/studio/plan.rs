//! Commands of plans: writing a plan of the draft, and submitting its parts.

use std::path::PathBuf;

use super::{Event, JobKind, Outcome, Studio};
use crate::consent;
use crate::container::BuildOptions;
use crate::error::{Error, Result};
use crate::extensions::not_agreed;
use crate::ops::plan::{Engine, PlanRequest, PlanSource, RunRequest, SubmitRequest, make_plan, run_part, submit_plan};

/// A plan of the draft. Plain data.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PlanDraft {
    /// The folder for the plan; must not exist.
    pub folder: PathBuf,
    /// The dataset, how it is split, and the indexes over the parts.
    pub options: BuildOptions,
    /// Maximum number of parts; replaces the size limit.
    #[serde(default)]
    pub most_parts: Option<usize>,
    /// Runs the extensions stored in the project.
    #[serde(default)]
    pub recipe: bool,
}

/// Submission of the missing parts of a plan to an engine. Plain data.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PlanSubmission {
    /// The folder of the plan.
    pub folder: PathBuf,
    /// Engine that builds the parts.
    pub engine: Engine,
    /// Maximum number of attempts for each part.
    pub tries: u32,
    /// Executable that workers start; the running one when absent.
    #[serde(default)]
    pub program: Option<PathBuf>,
}

impl PlanSubmission {
    /// External programs that start on this machine or on workers, with their arguments; this executable itself is not listed.
    pub fn programs(&self) -> Vec<Vec<String>> {
        let named = self.program.iter().map(|program| vec![program.display().to_string()]);
        let of_engine = match &self.engine {
            Engine::Local { .. } => None,
            Engine::Slurm(options) => Some(["sbatch".to_owned()].into_iter().chain(options.more.iter().cloned()).collect()),
            Engine::Dask(options) => Some(vec![options.python.display().to_string(), options.scheduler.clone()]),
        };
        named.chain(of_engine).collect()
    }

    /// Those of [`PlanSubmission::programs`] that the user has not allowed in this session.
    pub fn programs_without_consent(&self) -> Vec<Vec<String>> {
        self.programs().into_iter().filter(|program| !consent::allows_program(program)).collect()
    }
}

impl Studio {
    pub(super) fn plan_draft(&mut self, plan: PlanDraft) -> Result<Outcome> {
        let document = self.draft_document()?;
        let calls = if plan.recipe { document.recipe.clone() } else { Vec::new() };
        let inputs = document.project().map(|path| vec![path.to_owned()]).unwrap_or_default();
        let source = PlanSource::Draft(document.draft.dataset().clone());
        let PlanDraft { folder, options, most_parts, .. } = plan;
        let request = PlanRequest { source, inputs, calls, options, most_parts, folder: folder.clone() };
        self.operate(JobKind::Plan(folder.clone()), Event::Planned, move |ctx| make_plan(&request, ctx).map(|_| folder))
    }

    pub(super) fn submit_plan(&mut self, submission: PlanSubmission) -> Result<Outcome> {
        self.one_plan_at_a_time()?;
        match submission.programs_without_consent().as_slice() {
            [] => {}
            programs => return Err(not_agreed(programs)),
        }
        let PlanSubmission { folder, engine, tries, program } = submission;
        let request =
            SubmitRequest { folder, engine, tries, program, relocate: Vec::new(), allow_commands: false, parts_only: false };
        self.operate(JobKind::PlanSubmit, |built| Event::PlanBuilt(Box::new(built)), move |ctx| submit_plan(&request, ctx))
    }

    pub(super) fn run_plan_part(&mut self, folder: PathBuf, part: u32) -> Result<Outcome> {
        self.one_plan_at_a_time()?;
        let request = RunRequest { folder: folder.clone(), part, again: false, relocate: Vec::new() };
        let event = |(folder, part)| Event::PlanPart { folder, part };
        self.operate(JobKind::PlanSubmit, event, move |ctx| run_part(&request, ctx).map(|_| (folder, part)))
    }

    fn one_plan_at_a_time(&self) -> Result<()> {
        match self.is_building_plan() {
            true => Err(Error::usage("a plan is being built").hint("wait until it is done, or stop it in Jobs")),
            false => Ok(()),
        }
    }

    /// True while a plan is written, or its parts are built by this program.
    pub fn is_building_plan(&self) -> bool {
        self.running.iter().any(|running| matches!(running.kind, JobKind::Plan(_) | JobKind::PlanSubmit))
    }
}
