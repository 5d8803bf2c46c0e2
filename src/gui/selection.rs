//! What is selected in the open document. Every panel reads it, and several change it.

use std::collections::BTreeSet;

use super::document_key::DocumentKey;
use super::tray_selection::TraySelection;
use crate::model::SamplePath;
use crate::studio::{Document, RowRef};

#[derive(Default)]
pub struct Selection {
    /// The selected sample; `None` for the root.
    pub sample: Option<RowRef>,
    /// Level shown in the table.
    pub level: usize,
    /// The selected cell of the structure: root and position of the pattern.
    pub cell: Option<(u32, u32)>,
    /// Samples selected in the hierarchy in addition to `sample`.
    pub marked: BTreeSet<RowRef>,
    marked_for: DocumentKey,
    /// Row of the hierarchy from which a range is selected.
    pub range_start: Option<u64>,
    /// Files selected in the tray.
    pub files: TraySelection,
    /// The selected sample's path and row in a state of the document; an edit may move it.
    followed: Option<(DocumentKey, RowRef, SamplePath)>,
}

impl Selection {
    /// Reduces the selection to the one sample.
    pub fn clear_marked(&mut self) {
        self.marked.clear();
        self.range_start = None;
    }

    /// Clears the marks of another state of the document, where the rows had other numbers.
    pub fn clear_marked_after_change(&mut self, key: DocumentKey) {
        if self.marked_for != key {
            self.clear_marked();
            self.marked_for = key;
        }
    }

    /// All selected samples: the one sample and those marked in the hierarchy.
    pub fn all_samples(&self) -> BTreeSet<RowRef> {
        self.marked.iter().copied().chain(self.sample).collect()
    }

    /// Follows the selected sample into the document at the revision of `key`.
    pub fn follow_document(&mut self, key: DocumentKey, document: &Document) {
        // Most edits move nothing, and searching a million roots is slow.
        if let Some((was, at, path)) = &self.followed
            && (was.0 == key.0 && was.1 != key.1 && self.sample == Some(*at))
            && document.path(*at).as_ref() != Some(path)
            && let Some((level, row)) = document.tree().find(path)
        {
            self.sample = Some(RowRef { level, row });
        }
        self.clear_removed_sample(document);
        if self
            .followed
            .as_ref()
            .is_none_or(|(was, at, _)| *was != key || Some(*at) != self.sample)
        {
            self.followed = self
                .sample
                .and_then(|at| Some((key, at, document.path(at)?)));
        }
    }

    /// Clears a selection that an edit has removed.
    fn clear_removed_sample(&mut self, document: &Document) {
        if self.sample.is_some_and(|at| document.id(at).is_none()) {
            self.sample = None;
        }
        self.level = self
            .level
            .min(document.tree().levels.len().saturating_sub(1));
    }
}
