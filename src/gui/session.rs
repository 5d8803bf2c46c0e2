//! The window's state for the open document: selection, filters, marks, uncommitted text. Reset
//! when another document opens.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::document_key::{DocumentKey, revision};
use super::drawn_panels::DrawnPanels;
use super::frame_watchdog::FrameWatchdog;
use super::outline;
use super::panels::panel_states::{
    ByteMapState, ColumnsState, ExtensionsState, FormState, GalleryState, JobsState, MapState,
    OpeningState, PatternState, PlanState, PreviewState, ProblemsState, QueryState, SampleState,
    SourceState, StatisticsState, StructureState, TablePanelState, TrayState, TreePanelState,
};
use super::sample_status::SampleStatus;
use super::value_id::ValueId;
use crate::jobs::{AsyncValue, JobId, Jobs, discard};
use crate::model::{Sample, SamplePath};
use crate::raster::RasterInfo;
use crate::studio::{
    Command, DiskChange, DiskWatch, Document, DocumentId, Recoverable, RowRef, Studio,
};

/// Totals of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes of data, where known.
    pub bytes: Option<u64>,
    /// Number of padding samples.
    pub padded: u64,
}

/// State of the window.
#[derive(Default)]
pub struct Session {
    /// Id of the open document.
    pub serial: DocumentId,
    /// The selected sample; `None` for the root.
    pub selected: Option<RowRef>,
    /// Level shown in the table.
    pub level: usize,
    /// Marks from the newest report.
    pub marks: Arc<SampleStatus>,
    marking: AsyncValue<(DocumentKey, ValueId, bool), Arc<SampleStatus>>,
    /// True after a check of this document.
    pub checked: bool,
    totals: AsyncValue<DocumentKey, Totals>,
    /// Which of the recent datasets exist, checked once each time the welcome screen opens.
    pub recent_there: AsyncValue<Vec<PathBuf>, Vec<bool>>,
    /// Levels whose table was requested.
    pub levels_asked: BTreeSet<usize>,
    /// True when the platform delivers no drops to this window.
    pub drops_blocked: bool,
    /// Hierarchy.
    pub tree: TreePanelState,
    /// Raster header of the single file being dragged.
    pub carried: AsyncValue<PathBuf, Arc<RasterInfo>>,
    /// Unplaced files.
    pub tray: TrayState,
    /// Pattern by example.
    pub pattern: PatternState,
    pub table: TablePanelState,
    /// Collection.
    pub form: FormState,
    pub sample: SampleState,
    pub problems: ProblemsState,
    pub jobs: JobsState,
    pub preview: PreviewState,
    pub query: QueryState,
    pub map: MapState,
    /// The level tables of a draft.
    pub draft_levels: super::draft_levels::DraftLevels,
    pub gallery: GalleryState,
    /// Folder for autosave.
    pub autosave: Option<PathBuf>,
    /// Last edit of the draft, in seconds since 1970.
    pub edited_s: Option<u64>,
    /// Drafts found by autosave, searched each time the welcome screen opens.
    pub recoverable: AsyncValue<u64, Vec<Recoverable>>,
    /// Folders that the user chose or agreed to watch.
    pub watch_agreed: HashSet<PathBuf>,
    /// Increased when an autosaved draft is deleted.
    pub forgotten: u64,
    /// Folder of the thumbnail cache; `None` in tests.
    pub cache_dir: Option<PathBuf>,
    pub statistics: StatisticsState,
    pub bytes: ByteMapState,
    /// Records slow steps.
    pub watch: FrameWatchdog,
    /// Panels drawn for this document.
    pub panels: DrawnPanels,
    pub columns: ColumnsState,
    /// The query whose rows are saved once a file is chosen.
    pub rows_to_save: Option<crate::query::Query>,
    /// The selected sample's path and row in a state of the document; an edit may move it.
    anchor: Option<(DocumentKey, RowRef, SamplePath)>,
    /// The sample that was selected when the file dialog opened.
    pub picked_for: Option<SamplePath>,
    pub structure: StructureState,
    /// Samples that the palette found.
    pub palette_samples: AsyncValue<(DocumentKey, String), Vec<RowRef>>,
    /// True when the banner was closed.
    pub banner_closed: bool,
    /// Looks at the files of the opened dataset; `None` inside where there is nothing to look at.
    disk: Option<Option<DiskWatch>>,
    /// The change on disk whose banner was closed.
    pub disk_seen: Option<DiskChange>,
    pub extensions: ExtensionsState,
    pub source: SourceState,
    pub plan: PlanState,
    /// The dataset that is being opened.
    pub opening: OpeningState,
}

impl Session {
    /// Resets the state for another document; keeps what belongs to the window.
    pub fn next_document(&mut self, id: DocumentId) {
        let next = Self {
            serial: id,
            drops_blocked: self.drops_blocked,
            cache_dir: self.cache_dir.take(),
            autosave: self.autosave.take(),
            watch: std::mem::take(&mut self.watch),
            jobs: std::mem::take(&mut self.jobs),
            extensions: self.extensions.for_next_document(),
            source: std::mem::take(&mut self.source),
            plan: std::mem::take(&mut self.plan),
            ..Self::default()
        };
        discard(std::mem::replace(self, next));
    }

    /// Updates what is computed from the document.
    pub fn refresh(&mut self, studio: &Studio, jobs: &Jobs) {
        let Some(document) = studio.document() else {
            self.marks = Arc::default();
            return;
        };
        if let Some(open) = document.opened_dataset() {
            self.disk
                .get_or_insert_with(|| DiskWatch::start_for_dataset(open, jobs));
        }
        let key = (self.serial, revision(studio));
        let of = (key, ValueId::from_arc(studio.report()), self.checked);
        let (report, tree, checked) = (
            studio.report().clone(),
            document.tree().clone(),
            self.checked,
        );
        self.marking.update(jobs, of, tr!("Marks"), move |_| {
            Ok(Arc::new(SampleStatus::new(&report, &tree, checked)))
        });
        if let Some(marks) = self.marking.latest() {
            self.marks = marks.clone();
        }
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
        // Most edits move nothing, and searching a million roots is slow.
        if let Some((was, at, path)) = &self.anchor
            && (was.0 == key.0 && was.1 != key.1 && self.selected == Some(*at))
            && document.path(*at).as_ref() != Some(path)
            && let Some((level, row)) = document.tree().find(path)
        {
            self.selected = Some(RowRef { level, row });
        }
        self.clamp(document);
        if self
            .anchor
            .as_ref()
            .is_none_or(|(was, at, _)| *was != key || Some(*at) != self.selected)
        {
            self.anchor = self
                .selected
                .and_then(|at| Some((key, at, document.path(at)?)));
        }
    }

    /// The panel that tracks the job of this command, so that it takes only the answer of its
    /// newest job.
    pub fn follower(command: &Command) -> Option<fn(&mut Session, JobId)> {
        match command {
            Command::Query { path: None, .. } => {
                Some(|session, job| session.query.record_start(job))
            }
            Command::Leakage { .. } => {
                Some(|session, job| session.statistics.leaks.record_start(job))
            }
            Command::ReadChunk { .. } => {
                Some(|session, job| session.preview.chunks.record_start(job))
            }
            _ => None,
        }
    }

    /// How the files of the opened dataset differ from what is shown.
    pub fn disk_change(&self) -> Option<DiskChange> {
        self.disk.as_ref()?.as_ref()?.change()
    }

    /// The totals, as far as known.
    pub fn totals(&self) -> Totals {
        self.totals.latest().copied().unwrap_or_default()
    }

    /// Clears a selection that an edit has removed.
    fn clamp(&mut self, document: &Document) {
        if self.selected.is_some_and(|at| document.id(at).is_none()) {
            self.selected = None;
        }
        self.level = self
            .level
            .min(document.tree().levels.len().saturating_sub(1));
    }
}
