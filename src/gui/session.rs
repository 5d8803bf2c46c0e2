//! What the parts of the window share about the open document: selection, marks, structure, totals.
//! Reset when another document opens. The state of a panel is the panel's own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::document_key::{DocumentKey, revision};
use super::draft_structure::DraftStructure;
use super::outline;
use super::panels::jobs::state::JobsState;
use super::panels::plan::state::PlanState;
use super::sample_status::SampleStatus;
use super::selected_asset::SelectedAsset;
use super::selection::Selection;
use super::value_id::ValueId;
use crate::jobs::{AsyncValue, Jobs, discard};
use crate::model::Sample;
use crate::query::Filter;
use crate::studio::{DiskChange, DiskWatch, Document, DocumentId, RowRef, Studio};

/// Totals of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of data, where known.
    pub bytes: Option<u64>,
    /// Number of padding samples.
    pub padded: u64,
}

/// What the newest report says of the samples and fields of the dataset.
#[derive(Default)]
pub struct DatasetStatus {
    pub samples: Arc<SampleStatus>,
    /// True after a check of this document.
    pub has_check_result: bool,
    computed: AsyncValue<(DocumentKey, ValueId, bool), Arc<SampleStatus>>,
}

impl DatasetStatus {
    fn refresh(&mut self, studio: &Studio, jobs: &Jobs, key: DocumentKey, document: &Document) {
        let of = (
            key,
            ValueId::from_arc(studio.report()),
            self.has_check_result,
        );
        let (report, tree, checked) = (
            studio.report().clone(),
            document.tree().clone(),
            self.has_check_result,
        );
        self.computed.update(jobs, of, tr!("Marks"), move |_| {
            Ok(Arc::new(SampleStatus::new(&report, &tree, checked)))
        });
        if let Some(status) = self.computed.latest() {
            self.samples = status.clone();
        }
    }
}

/// Autosave of drafts, as far as the window shows it.
#[derive(Default)]
pub struct Autosaving {
    /// Folder of the autosaved drafts; `None` without autosave.
    pub folder: Option<PathBuf>,
    /// Last edit of the draft, in seconds since 1970.
    pub edited_s: Option<u64>,
    /// Increased when an autosaved draft is deleted.
    pub forgotten: u64,
}

/// Banners that were closed, and what is looked at for them.
#[derive(Default)]
pub struct Banners {
    /// True when the banner about the generation of the dataset was closed.
    pub is_generation_closed: bool,
    /// The change on disk whose banner was closed.
    pub closed_change: Option<DiskChange>,
    /// Looks at the files of the opened dataset; `None` inside where there is nothing to look at.
    disk: Option<Option<DiskWatch>>,
}

impl Banners {
    /// How the files of the opened dataset differ from what is shown.
    pub fn disk_change(&self) -> Option<DiskChange> {
        self.disk.as_ref()?.as_ref()?.change()
    }
}

/// What the window found at its start.
#[derive(Default)]
pub struct WindowEnvironment {
    /// True when the platform delivers no drops to this window.
    pub drops_blocked: bool,
    /// Folder of the thumbnail cache; `None` in tests.
    pub cache_dir: Option<PathBuf>,
}

/// What the parts of the window share.
#[derive(Default)]
pub struct Session {
    /// Id of the open document.
    pub serial: DocumentId,
    pub selection: Selection,
    /// The ids typed in the hierarchy as one of the dataset's filters, with their text; `None`
    /// while nothing is typed, and in drafts.
    pub id_filter: Option<(String, Filter)>,
    pub status: DatasetStatus,
    totals: AsyncValue<DocumentKey, Totals>,
    pub structure: DraftStructure,
    /// Storage of the selected sample.
    pub asset: SelectedAsset,
    /// Levels whose table was requested.
    pub levels_asked: BTreeSet<usize>,
    /// Samples that the palette found.
    pub palette_samples: AsyncValue<(DocumentKey, String), Vec<RowRef>>,
    pub jobs: JobsState,
    /// The plan that three panels show.
    pub plan: PlanState,
    pub autosaving: Autosaving,
    pub banners: Banners,
    pub environment: WindowEnvironment,
}

impl Session {
    /// Identifies the state of the open document.
    pub fn document_key(&self, studio: &Studio) -> DocumentKey {
        (self.serial, revision(studio))
    }

    /// Resets the state for another document; keeps what belongs to the window.
    pub fn next_document(&mut self, id: DocumentId) {
        let next = Self {
            serial: id,
            jobs: std::mem::take(&mut self.jobs),
            plan: std::mem::take(&mut self.plan),
            autosaving: Autosaving {
                folder: self.autosaving.folder.take(),
                ..Autosaving::default()
            },
            environment: std::mem::take(&mut self.environment),
            ..Self::default()
        };
        discard(std::mem::replace(self, next));
    }

    /// Updates what is computed from the document.
    pub fn refresh(&mut self, studio: &Studio, jobs: &Jobs) {
        let Some(document) = studio.document() else {
            self.status.samples = Arc::default();
            return;
        };
        if let Some(open) = document.opened_dataset() {
            self.banners
                .disk
                .get_or_insert_with(|| DiskWatch::start_for_dataset(open, jobs));
        }
        let key = self.document_key(studio);
        self.status.refresh(studio, jobs, key, document);
        self.refresh_totals(jobs, key, document);
        self.selection.follow_document(key, document);
    }

    fn refresh_totals(&mut self, jobs: &Jobs, key: DocumentKey, document: &Document) {
        let tree = document.tree().clone();
        let draft = document.draft().map(|draft| draft.dataset().root.clone());
        let known = document
            .opened_dataset()
            .and_then(|open| open.reader.info().size_bytes);
        self.totals.update(jobs, key, tr!("Sums"), move |_| {
            let bytes = draft
                .map(|root| root.samples.iter().map(Sample::size_bytes).sum())
                .or(known);
            Ok(Totals {
                bytes,
                padded: outline::count_placeholders(&tree),
            })
        });
    }

    /// The totals, as far as known.
    pub fn totals(&self) -> Totals {
        self.totals.latest().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_document_keeps_what_belongs_to_the_window() {
        let mut session = Session::default();
        session.environment.drops_blocked = true;
        session.autosaving = Autosaving {
            folder: Some("/kept".into()),
            edited_s: Some(1),
            forgotten: 2,
        };
        session.selection.level = 2;
        session.status.has_check_result = true;
        session.next_document(DocumentId::default());
        assert!(session.environment.drops_blocked);
        assert_eq!(session.autosaving.folder, Some("/kept".into()));
        assert_eq!(session.autosaving.edited_s, None);
        assert_eq!(session.selection.level, 0);
        assert!(!session.status.has_check_result);
    }
}
