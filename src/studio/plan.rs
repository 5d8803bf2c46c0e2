//! Commands of plans: writing a plan of the draft.

use std::path::PathBuf;

use super::{Event, JobTopic, Outcome, Studio};
use crate::container::BuildOptions;
use crate::error::{Error, Result};
use crate::ops::plan::{PlanRequest, PlanSource, make_plan};

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

impl Studio {
    pub(super) fn plan_draft(&mut self, plan: PlanDraft) -> Result<Outcome> {
        let document = self.draft_document()?;
        let calls = if plan.recipe {
            document.recipe.clone()
        } else {
            Vec::new()
        };
        let inputs = document
            .project()
            .map(|path| vec![path.to_owned()])
            .unwrap_or_default();
        let source = PlanSource::Draft(document.draft.dataset().clone());
        let PlanDraft {
            folder,
            options,
            most_parts,
            ..
        } = plan;
        let request = PlanRequest {
            source,
            inputs,
            calls,
            options,
            most_parts,
            folder: folder.clone(),
        };
        let label = tr!("Plan the parts in {path}", path = folder.display());
        let outcome = self.start_with_event(label, Event::Planned, move |ctx| {
            make_plan(&request, ctx).map(|_| folder)
        })?;
        Ok(self.about(JobTopic::Plan, outcome))
    }

    pub(super) fn one_plan_at_a_time(&self) -> Result<()> {
        if self.is_building_plan() {
            Err(Error::usage("a plan is being built")
                .hint("wait until it is done, or stop it in Jobs"))
        } else {
            Ok(())
        }
    }

    /// True while a plan is written, or its parts are built by this program.
    pub fn is_building_plan(&self) -> bool {
        self.running
            .iter()
            .any(|running| running.topic == Some(JobTopic::Plan))
    }
}
