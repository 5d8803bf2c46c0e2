//! State of the tray. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use crate::gui::document_key::DocumentKey;
use crate::gui::tray_selection::TraySelection;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;

/// State of the panel.
#[derive(Default)]
pub struct TrayState {
    pub(super) scroll: RowScroll,
    pub(super) filter: String,
    /// Row of the keyboard cursor, and anchor of a range.
    pub(super) cursor: Option<u64>,
    pub(super) anchor: Option<u64>,
    pub(super) shown: AsyncValue<(DocumentKey, String), Arc<Vec<u32>>>,
}

impl TrayState {
    /// Forgets the cursor of another tray.
    pub(super) fn forget_cursor(&mut self) {
        (self.cursor, self.anchor) = (None, None);
    }

    /// Index in the tray of a visible row.
    pub(super) fn place(&self, files: &TraySelection, row: u64) -> Option<u32> {
        match self.matching_indices() {
            Some(kept) => kept.get(row as usize).copied(),
            None => u32::try_from(row)
                .ok()
                .filter(|&place| (place as usize) < files.tray.len()),
        }
    }

    /// Indices of files that match the typed filter; `None` without one. Those of another tray or
    /// text are other files: there are none until they are known.
    pub(super) fn matching_indices(&self) -> Option<&[u32]> {
        if self.filter.trim().is_empty() {
            return None;
        }
        let known = self.shown.key().and_then(|key| self.shown.get(key));
        Some(
            known
                .and_then(|known| known.as_ref().ok())
                .map_or(&[], |kept| kept),
        )
    }

    /// Number of rows. While the filter is applied, that of the rows before: they are empty, so
    /// that the list keeps its place and the keyboard.
    pub(super) fn rows(&self, files: &TraySelection) -> u64 {
        let rows = match self.matching_indices() {
            Some(_) if self.shown.is_pending() => self.shown.latest().map_or(0, |kept| kept.len()),
            Some(kept) => kept.len(),
            None => files.tray.len(),
        };
        rows as u64
    }

    pub(super) fn select(
        &mut self,
        files: &mut TraySelection,
        row: u64,
        several: bool,
        range: bool,
    ) {
        let Some(place) = self.place(files, row) else {
            return;
        };
        if range {
            let anchor = *self.anchor.get_or_insert(self.cursor.unwrap_or(row));
            let rows = anchor.min(row)..=anchor.max(row);
            files.chosen = rows.filter_map(|row| self.place(files, row)).collect();
        } else {
            if !several {
                files.chosen.clear();
            }
            if !files.chosen.insert(place) {
                files.chosen.remove(&place);
            }
            self.anchor = Some(row);
        }
        self.cursor = Some(row);
    }
}
