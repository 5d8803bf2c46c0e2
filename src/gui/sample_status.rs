//! Status marks of samples and the counts of the Problems tab, computed from a report. A parent has
//! the mark of its worst descendant.

use std::collections::HashMap;

use crate::gui::outline::ancestors;
use crate::gui::widgets::StatusMark;
use crate::model::{Finding, Location, Report, Severity, Skeleton};
use crate::studio::RowRef;

/// Status marks of the samples of a document, by sample.
#[derive(Clone, Debug, Default)]
pub struct SampleStatus {
    /// Worst mark of the findings about the sample itself.
    own: HashMap<RowRef, StatusMark>,
    /// Worst mark of the sample and its descendants.
    worst: HashMap<RowRef, StatusMark>,
    /// Worst mark of all samples.
    worst_of_all: StatusMark,
    /// Errors of the report.
    pub errors: u64,
    /// Warnings of the report.
    pub warnings: u64,
    has_check_result: bool,
}

impl SampleStatus {
    /// Computes the marks of `report` on `tree`.
    pub fn new(report: &Report, tree: &Skeleton, has_check_result: bool) -> Self {
        let mut marks = Self {
            has_check_result,
            errors: report.errors() as u64,
            warnings: report.warnings() as u64,
            ..Self::default()
        };
        for finding in &report.findings {
            let mark = match finding.severity {
                Severity::Error => StatusMark::Error,
                Severity::Warning => StatusMark::Warning,
            };
            let Some(at) = finding_sample(finding) else {
                continue;
            };
            marks.worst_of_all = marks.worst_of_all.max(mark);
            raise_mark(&mut marks.own, at, mark);
            raise_mark(&mut marks.worst, at, mark);
            for above in ancestors(tree, at) {
                raise_mark(&mut marks.worst, above, mark);
            }
        }
        marks
    }

    /// The worst mark of a sample and its descendants, or of all samples without `at`;
    /// [`StatusMark::Ok`] if a check found nothing.
    pub fn worst_mark(&self, at: Option<RowRef>) -> StatusMark {
        let found = match at {
            Some(at) => self.worst.get(&at).copied().unwrap_or_default(),
            None => self.worst_of_all,
        };
        if found == StatusMark::None && self.has_check_result {
            StatusMark::Ok
        } else {
            found
        }
    }

    /// The mark of the sample itself, without its descendants.
    pub fn own_mark(&self, at: RowRef) -> StatusMark {
        self.own.get(&at).copied().unwrap_or_default()
    }

    pub fn samples_with_findings(&self) -> impl Iterator<Item = RowRef> + '_ {
        self.own.keys().copied()
    }

    /// True when the marks are those of a check; false before the first check of the document.
    pub fn has_check_result(&self) -> bool {
        self.has_check_result
    }

    pub fn count_samples_with_findings(&self) -> u64 {
        self.own.len() as u64
    }
}

/// Sets the mark of a sample, unless it has a worse one.
fn raise_mark(marks: &mut HashMap<RowRef, StatusMark>, at: RowRef, mark: StatusMark) {
    let entry = marks.entry(at).or_default();
    *entry = (*entry).max(mark);
}

/// The sample of a finding, if any.
pub fn finding_sample(finding: &Finding) -> Option<RowRef> {
    match finding.at {
        Location::Sample { level, row, .. } => Some(RowRef { level, row }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Rule, Sample, SamplePath, Tortilla};

    #[test]
    fn a_parent_has_the_mark_of_its_worst_descendant() {
        let scene = |id: &str| {
            Sample::new_folder(
                id,
                Tortilla::new(vec![
                    Sample::new_file("x", "/x", 1),
                    Sample::new_file("y", "/y", 1),
                ]),
            )
        };
        let dataset = Dataset {
            root: Tortilla::new(vec![scene("a"), scene("b")]).into(),
            ..Dataset::default()
        };
        let tree = Skeleton::from_dataset(&dataset);
        let mut report = Report::default();
        let at = |level, row| Location::Sample {
            level,
            row,
            path: SamplePath::default(),
        };
        report.add(Rule::CollectionLicence, at(1, 2), "a warning on a sample");
        report.add(Rule::IdCharacters, at(1, 3), "an error beside it");
        let marks = SampleStatus::new(&report, &tree, true);
        assert_eq!(
            marks.worst_mark(Some(RowRef { level: 0, row: 1 })),
            StatusMark::Error
        );
        assert_eq!(
            marks.worst_mark(Some(RowRef { level: 1, row: 2 })),
            StatusMark::Warning
        );
        assert_eq!(
            marks.worst_mark(Some(RowRef { level: 0, row: 0 })),
            StatusMark::Ok
        );
        assert_eq!(
            marks.own_mark(RowRef { level: 0, row: 1 }),
            StatusMark::None
        );
        assert_eq!(marks.worst_mark(None), StatusMark::Error);
        assert_eq!((marks.errors, marks.warnings), (1, 1));
    }
}
