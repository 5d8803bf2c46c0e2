//! State of the pattern panel. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use crate::draft::{Alternative, Example, PatternReport};
use crate::gui::document_key::DocumentKey;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::SamplePath;

/// Minimum number of examples for a search.
pub(super) const MIN_EXAMPLES: usize = 2;

/// An example as typed: a file and its position.
pub(super) struct ExampleRow {
    pub(super) file: std::path::PathBuf,
    pub(super) root: String,
    pub(super) position: String,
    /// Number of the step of the history that placed the file; `None` for an example that was
    /// typed.
    pub(super) step: Option<usize>,
}

impl ExampleRow {
    /// The example; `None` without a root.
    fn to_example(&self) -> Option<Example> {
        let position = SamplePath::parse(&self.position).0;
        let root = self.root.trim();
        (!root.is_empty()).then(|| Example {
            file: self.file.clone(),
            root: root.into(),
            position,
        })
    }
}

/// Which files the list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListedFiles {
    /// Files for which the pattern gives a position.
    #[default]
    Matched,
    /// Files whose names nearly match.
    NearlyMatched,
    /// The others.
    LeftOver,
}

/// State of the panel.
#[derive(Default)]
pub struct PatternPanel {
    pub(super) rows: Vec<ExampleRow>,
    /// The draft and examples of the newest search, running or ended: `search` forgets its key when
    /// its report is taken.
    pub(super) requested: Option<(DocumentKey, Vec<Example>)>,
    /// The running search for the pattern.
    pub(super) search: AsyncValue<(DocumentKey, Vec<Example>), PatternReport>,
    pub(super) report: Option<Arc<PatternReport>>,
    /// Index of the alternative that the user chose, if there are several.
    pub(super) chosen: Option<usize>,
    pub(super) listed: ListedFiles,
    pub(super) scroll: RowScroll,
}

impl PatternPanel {
    /// Adds an example; a second position for the same file replaces the first. `step` is the
    /// number of the step of the history that places the file, if one does.
    pub fn add(&mut self, example: Example, step: Option<usize>) {
        self.rows.retain(|row| row.file != example.file);
        let (root, position) = (example.root.to_string(), example.position.join(" / "));
        self.rows.push(ExampleRow {
            file: example.file,
            root,
            position,
            step,
        });
    }

    /// Adds an example for the user to fill in, unless there is one of the file.
    pub(super) fn add_blank(&mut self, file: std::path::PathBuf) {
        if self.rows.iter().all(|row| row.file != file) {
            self.rows.push(ExampleRow {
                file,
                root: String::new(),
                position: String::new(),
                step: None,
            });
        }
    }

    /// Removes the examples of steps after the first `steps` of the history, which were undone.
    pub fn remove_undone(&mut self, steps: usize) {
        self.rows
            .retain(|row| row.step.is_none_or(|step| step <= steps));
    }

    /// True while the pattern is searched for.
    pub(super) fn is_searching(&self) -> bool {
        self.search.is_pending()
    }

    /// Takes the report of the search, once it has ended.
    pub(super) fn take_report(&mut self) {
        let report = match self.search.take() {
            Some(Ok(report)) => report,
            Some(Err(error)) => PatternReport {
                trouble: Some(error.to_string()),
                ..PatternReport::default()
            },
            None => return,
        };
        self.chosen = None;
        self.scroll = RowScroll::default();
        self.report = Some(Arc::new(report));
    }

    /// The examples, if all of them are complete and there are enough.
    pub(super) fn examples(&self) -> Option<Vec<Example>> {
        let examples: Option<Vec<Example>> = self.rows.iter().map(ExampleRow::to_example).collect();
        examples.filter(|examples| examples.len() >= MIN_EXAMPLES)
    }

    /// The alternative by which files are placed, with its index: the only one, or the one that the
    /// user chose.
    pub(super) fn chosen_alternative(&self) -> Option<(usize, &Alternative)> {
        let report = self.report.as_ref()?;
        let index = match report.alternatives.as_slice() {
            [_] => 0,
            _ => self.chosen?,
        };
        Some((index, report.alternatives.get(index)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_takes_the_example_of_its_step_with_it() {
        let example = |name: &str| Example {
            file: name.into(),
            root: "a".into(),
            position: vec!["before".into()],
        };
        let mut state = PatternPanel::default();
        state.add(example("/typed.tif"), None);
        state.add(example("/first.tif"), Some(1));
        state.add(example("/second.tif"), Some(2));
        state.remove_undone(1);
        let files: Vec<_> = state
            .rows
            .iter()
            .map(|row| row.file.display().to_string())
            .collect();
        assert_eq!(files, ["/typed.tif", "/first.tif"]);
        state.remove_undone(0);
        assert_eq!(state.rows.len(), 1);
    }

    #[test]
    fn adding_a_file_again_keeps_what_was_typed() {
        let mut state = PatternPanel::default();
        state.add_blank("/a.tif".into());
        assert!(state.examples().is_none(), "it has no root");
        state.rows[0].root = "roi_1".to_owned();
        state.add_blank("/a.tif".into());
        assert_eq!((state.rows.len(), &*state.rows[0].root), (1, "roi_1"));
    }
}
