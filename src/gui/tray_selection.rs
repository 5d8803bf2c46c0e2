//! The files that are selected in the tray of unplaced files.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::file_dialog::is_table;
use crate::draft::Unplaced;
use crate::studio::Command;

#[derive(Default)]
pub struct TraySelection {
    /// The tray that the selection belongs to.
    pub tray: Arc<[Unplaced]>,
    /// Indices of selected files in the tray.
    pub chosen: BTreeSet<u32>,
    /// True when the list of files had the focus in the last frame.
    pub focused: bool,
    /// The first file that may be a table of metadata.
    pub table: Option<PathBuf>,
}

impl TraySelection {
    /// True when no file is selected.
    pub fn is_empty(&self) -> bool {
        let files = self.tray.len();
        self.chosen
            .first()
            .is_none_or(|&first| first as usize >= files)
    }

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

    /// Follows the draft: keeps the selection of files that remain. False when the tray is the
    /// same.
    pub fn follow_tray(&mut self, tray: &Arc<[Unplaced]>) -> bool {
        if Arc::ptr_eq(&self.tray, tray) {
            return false;
        }
        if !self.chosen.is_empty() {
            let paths: HashSet<_> = self
                .selected_files()
                .into_iter()
                .map(|file| file.path)
                .collect();
            let kept = (0..)
                .zip(tray.iter())
                .filter(|(_, file)| paths.contains(&file.path));
            self.chosen = kept.map(|(place, _)| place).collect();
        }
        self.table = tray
            .iter()
            .map(|file| &file.path)
            .find(|path| is_table(path))
            .cloned();
        self.tray = tray.clone();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_empty_where_it_names_no_file_of_the_tray() {
        let tray: Arc<[Unplaced]> = ["a", "b"].map(|name| Unplaced::file(name, 1)).into();
        for (chosen, empty) in [(vec![], true), (vec![1], false), (vec![2], true)] {
            let selection = TraySelection {
                tray: tray.clone(),
                chosen: chosen.into_iter().collect(),
                ..TraySelection::default()
            };
            assert_eq!(selection.is_empty(), empty);
            assert_eq!(selection.selected_files().is_empty(), empty);
        }
    }
}
