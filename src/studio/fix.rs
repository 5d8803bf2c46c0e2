//! Fixes of findings: computed off the interface thread by a [`FixFinder`], each applied as one
//! undoable edit.

use std::sync::{Arc, OnceLock, PoisonError};

use super::{Event, Outcome, Studio};
use crate::draft::{
    self, Content, Edit, FileKind, Fix, FixPlan, Kinds, PatternChoice, Structure, TrayIndex,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Finding};
use crate::raster::{self, RasterSource, claims_raster};

/// Snapshot of the draft and its pattern, for computing fixes on any thread. Cheap to create:
/// samples are shared.
pub struct FixFinder {
    content: Content,
    revision: u64,
    choice: PatternChoice,
    structure: OnceLock<Structure>,
    tray: OnceLock<TrayIndex>,
    kinds: Kinds,
}

impl Studio {
    /// Fix finder for the current revision of the open draft; `None` without a draft.
    pub fn fix_finder(&self) -> Option<Arc<FixFinder>> {
        self.require_fix_finder().ok()
    }

    /// The fix finder of the draft, kept until the draft or its pattern changes.
    pub(super) fn require_fix_finder(&self) -> Result<Arc<FixFinder>> {
        let document = self.draft_document()?;
        let revision = document.draft.revision();
        let choice = document.structure().choice().clone();
        let mut known = document
            .fix_finder
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(finder) = known
            .as_ref()
            .filter(|finder| finder.is_of(revision, &choice))
        {
            return Ok(finder.clone());
        }
        let content = document.draft.content().clone();
        let finder = Arc::new(FixFinder::new(content, revision, choice));
        *known = Some(finder.clone());
        Ok(finder)
    }
}

impl FixFinder {
    fn new(content: Content, revision: u64, choice: PatternChoice) -> Self {
        Self {
            content,
            revision,
            choice,
            structure: OnceLock::new(),
            tray: OnceLock::new(),
            kinds: Kinds::new(kind_of),
        }
    }

    /// True for the finder of this revision and choice.
    fn is_of(&self, revision: u64, choice: &PatternChoice) -> bool {
        self.revision == revision && self.choice == *choice
    }

    /// The fixes of a finding, best first. The first call examines the whole draft.
    pub fn fixes(&self, finding: &Finding) -> Vec<Fix> {
        draft::fixes_of(
            &self.content.dataset,
            self.structure(),
            finding,
            self.tray(),
            &self.kinds,
        )
    }

    /// One plan for each kind of fix of the roots that break the pattern.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn plans(&self, ctx: &JobContext) -> Result<Vec<FixPlan>> {
        draft::group_plans(
            &self.content.dataset,
            self.structure(),
            |finding| self.fixes(finding),
            || ctx.check(),
        )
    }

    /// One edit with all safe fixes; `None` when there are none.
    fn safe(&self) -> Option<Edit> {
        draft::fix_safe(
            &self.content.dataset,
            self.structure(),
            self.tray(),
            &self.kinds,
        )
        .map(|(edit, _)| edit)
    }

    /// Changes of the first fix without removal in every root that violates PIT-1.
    pub fn safe_plan(&self) -> Option<FixPlan> {
        draft::safe_plan(&self.content.dataset, self.structure(), |finding| {
            self.fixes(finding)
        })
    }

    /// Changes of the same kind of fix in every root with the shape of `root`.
    pub fn alike_plan(&self, root: usize, like: &Fix) -> Option<FixPlan> {
        draft::alike_plan(
            &self.content.dataset,
            self.structure(),
            root,
            like,
            |finding| self.fixes(finding),
        )
    }

    fn structure(&self) -> &Structure {
        self.structure.get_or_init(|| {
            let mut structure = Structure::from_dataset(&self.content.dataset);
            structure.choose(self.choice.clone());
            structure
        })
    }

    fn tray(&self) -> &TrayIndex {
        self.tray
            .get_or_init(|| TrayIndex::from_files(self.content.tray.clone()))
    }
}

/// Contents of a local file, by its header. Sends no request to servers.
fn kind_of(asset: &AssetPath) -> Option<FileKind> {
    if asset.remote_file().is_some() {
        return None;
    }
    match raster::describe(&RasterSource::member(asset.clone())) {
        Ok(info) if info.band_count > 0 => Some(FileKind::Raster {
            dtype: info.bands.first()?.dtype.clone(),
            bands: info.band_count,
            size: (info.width, info.height),
            crs: info.crs_code.clone().or_else(|| info.crs_wkt.clone()),
        }),
        Ok(_) => Some(FileKind::Other),
        // A damaged raster says nothing about what it was.
        Err(_) if claims_raster(&asset.to_vsi()) => None,
        Err(_) => Some(FileKind::Other),
    }
}

impl Studio {
    pub(super) fn fix_safe(&mut self) -> Result<Outcome> {
        let finder = self.require_fix_finder()?;
        self.edit_later(tr!("Fix what is safe"), move |_, _| {
            finder
                .safe()
                .ok_or_else(|| Error::usage("there is nothing that can be fixed without a choice"))
        })
    }

    pub(super) fn choose_pattern(&mut self, choice: PatternChoice) -> Result<Outcome> {
        self.draft_document()?.structure().choose(choice);
        // Findings must refer to the same pattern.
        self.start_check();
        Ok(Outcome::Done(Event::None))
    }

    pub(super) fn apply_fix(&mut self, finding: usize, fix: usize) -> Result<Outcome> {
        let (finder, found) = (self.require_fix_finder()?, self.finding(finding)?);
        self.edit_later(tr!("Fix"), move |_, _| {
            let mut fixes = finder.fixes(&found);
            match fixes.len() {
                0 => Err(Error::usage("this finding has no fix")
                    .hint("change the samples that it names")),
                count if fix >= count => Err(Error::usage(format!(
                    "there is no fix {fix}; this finding has {count}"
                ))),
                _ => Ok(fixes.swap_remove(fix).edit),
            }
        })
    }

    pub(super) fn finding(&self, finding: usize) -> Result<Finding> {
        // Findings of an older revision must not be applied. A script checks when it says so.
        if self.check.runs_by_itself() && !self.is_report_current() {
            return Err(Error::usage("the draft changed since it was checked")
                .hint("try again when the check is done"));
        }
        let found = self.report().findings.get(finding).cloned();
        found.ok_or_else(|| {
            Error::usage(format!("there is no finding {finding}")).hint("check the draft first")
        })
    }
}
