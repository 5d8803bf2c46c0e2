//! State of the tray. Imports no panel context, so that the session can hold it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::draft::Unplaced;
use crate::gui::document_key::DocumentKey;
use crate::gui::file_dialog::is_table;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::studio::Command;

/// State of the panel.
#[derive(Default)]
pub struct TrayState {
    pub(super) scroll: RowScroll,
    pub(super) filter: String,
    /// The tray that this state belongs to.
    pub(super) tray: Arc<[Unplaced]>,
    /// Indices of selected files in the tray.
    pub(super) chosen: BTreeSet<u32>,
    /// Row of the keyboard cursor, and anchor of a range.
    pub(super) cursor: Option<u64>,
    pub(super) anchor: Option<u64>,
    /// True when the list had the focus in the last frame.
    pub focused: bool,
    pub(super) shown: AsyncValue<(DocumentKey, String), Arc<Vec<u32>>>,
    /// The first file that may be a table of metadata.
    pub table: Option<std::path::PathBuf>,
}

impl TrayState {
    /// The selected files, in the order of the tray.
    pub fn selected_files(&self) -> Vec<Unplaced> {
        self.chosen
            .iter()
            .filter_map(|&place| self.tray.get(place as usize))
            .cloned()
            .collect()
    }

    /// The command that removes the selected files from the tray.
    pub fn removal(&self) -> Option<Command> {
        let files: Vec<_> = self
            .selected_files()
            .into_iter()
            .map(|file| file.path)
            .collect();
        (!files.is_empty()).then_some(Command::RemoveFromTray { files })
    }

    /// Follows the draft: keeps the selection of files that remain.
    pub(super) fn follow(&mut self, tray: &Arc<[Unplaced]>) {
        if Arc::ptr_eq(&self.tray, tray) {
            return;
        }
        if !self.chosen.is_empty() {
            let paths: std::collections::HashSet<_> = self
                .selected_files()
                .into_iter()
                .map(|file| file.path)
                .collect();
            let kept = (0..)
                .zip(tray.iter())
                .filter(|(_, file)| paths.contains(&file.path));
            self.chosen = kept.map(|(place, _)| place).collect();
        }
        (self.cursor, self.anchor) = (None, None);
        self.table = tray
            .iter()
            .map(|file| &file.path)
            .find(|path| is_table(path))
            .cloned();
        self.tray = tray.clone();
    }

    /// Index in the tray of a visible row.
    pub(super) fn place(&self, row: u64) -> Option<u32> {
        match self.matching_indices() {
            Some(kept) => kept.get(row as usize).copied(),
            None => u32::try_from(row)
                .ok()
                .filter(|&place| (place as usize) < self.tray.len()),
        }
    }

    /// Indices of files that match the typed filter; `None` without one.
    pub(super) fn matching_indices(&self) -> Option<&Arc<Vec<u32>>> {
        if self.filter.trim().is_empty() {
            None
        } else {
            self.shown.latest()
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.matching_indices()
            .map_or(self.tray.len(), |kept| kept.len()) as u64
    }

    pub(super) fn select(&mut self, row: u64, several: bool, range: bool) {
        let Some(place) = self.place(row) else { return };
        if range {
            let anchor = *self.anchor.get_or_insert(self.cursor.unwrap_or(row));
            let rows = anchor.min(row)..=anchor.max(row);
            self.chosen = rows.filter_map(|row| self.place(row)).collect();
        } else {
            if !several {
                self.chosen.clear();
            }
            if !self.chosen.insert(place) {
                self.chosen.remove(&place);
            }
            self.anchor = Some(row);
        }
        self.cursor = Some(row);
    }
}
