//! The level tables of the open document: those of the dataset, or those that a job makes of the
//! draft.

use std::sync::Arc;

use super::document_key::DocumentKey;
use crate::container::{ContainerReader, LevelSet, draft_levels};
use crate::jobs::{AsyncValue, Jobs};
use crate::studio::Document;

/// The tables of the draft's last revision that was asked for.
pub type DraftLevels = AsyncValue<DocumentKey, Arc<LevelSet>>;

/// Where the level tables are.
#[derive(Clone)]
pub enum LevelSource {
    /// In the dataset.
    Dataset(Arc<dyn ContainerReader>),
    /// In memory.
    Draft(Arc<LevelSet>),
}

impl LevelSource {
    /// The level tables.
    pub fn levels(&self) -> &LevelSet {
        match self {
            Self::Dataset(reader) => reader.levels(),
            Self::Draft(levels) => levels,
        }
    }
}

/// The level tables of the document at the revision of `key`; `None` until a job has made those of
/// a draft.
pub fn level_source(
    made: &mut DraftLevels,
    jobs: &Jobs,
    key: DocumentKey,
    document: &Document,
) -> Option<LevelSource> {
    if let Some(open) = document.opened_dataset() {
        return Some(LevelSource::Dataset(open.reader.clone()));
    }
    let dataset = document.draft()?.dataset().clone();
    made.update(jobs, key, tr!("Tables of the draft"), move |ctx| {
        draft_levels(&dataset, ctx).map(Arc::new)
    });
    match made.get(&key) {
        Some(Ok(levels)) => Some(LevelSource::Draft(levels.clone())),
        _ => None,
    }
}
