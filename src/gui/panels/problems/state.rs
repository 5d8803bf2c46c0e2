//! State of the problems panel. Imports no panel context, so that the list of panels can hold it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::draft::{Fix, FixPlan};
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::{Finding, Location, Report, Rule, SamplePath, Severity};

/// State of the panel.
#[derive(Default)]
pub struct ProblemsPanel {
    pub(super) scroll: RowScroll,
    pub(super) folded: HashSet<Rule>,
    /// The selected finding.
    pub selected: Option<usize>,
    /// When the selected finding is no longer reported: the finding before it and the one after it,
    /// in the order shown.
    left: Option<[Option<usize>; 2]>,
    pub(super) rows: Vec<ProblemLine>,
    /// By finding: its row; `u32::MAX` for one in a folded group.
    rows_of_findings: Vec<u32>,
    /// True when a root differs from the pattern, or a FOLDER is empty.
    pub(super) has_shape_faults: bool,
    pub(super) made_for: Option<(Arc<Report>, usize)>,
    pub(super) changes: usize,
    /// The finding whose best fix was asked for, and whether for all roots with this problem.
    pub fix_asked: Option<(usize, bool)>,
    /// The plan of that fix for all roots with the problem.
    pub(super) alike: AsyncValue<(DocumentKey, usize), Option<Arc<FixPlan>>>,
    /// Fixes of findings that were visible, by index.
    pub(super) fixes: HashMap<usize, Vec<Fix>>,
    /// Plans of all roots that break the pattern, by kind of fix.
    pub(super) plans: AsyncValue<(DocumentKey, ValueId), Vec<Arc<FixPlan>>>,
    /// Fixes that are being found: by the state of the draft and by visible findings.
    pub(super) finding: AsyncValue<(DocumentKey, Vec<usize>), HashMap<usize, Vec<Fix>>>,
}

impl ProblemsPanel {
    /// Takes a new report: the selection follows its finding, and so do the rows.
    pub fn refresh(&mut self, report: &Arc<Report>) {
        let same = self
            .made_for
            .as_ref()
            .is_some_and(|(known, _)| Arc::ptr_eq(known, report));
        if same
            && self
                .made_for
                .as_ref()
                .is_some_and(|(_, changes)| *changes == self.changes)
        {
            return;
        }
        if !same {
            if let Some((old, _)) = self.made_for.take() {
                self.follow(&old, report);
            }
            self.fixes.clear();
            self.fix_asked = None;
            self.finding = AsyncValue::default();
        }
        self.made_for = Some((report.clone(), self.changes));
        let mut groups: BTreeMap<(Severity, Rule), Vec<usize>> = BTreeMap::new();
        for (index, finding) in report.findings.iter().enumerate() {
            groups
                .entry((finding.severity, finding.rule))
                .or_default()
                .push(index);
        }
        self.rows.clear();
        for ((_, rule), findings) in groups {
            if let [only] = findings[..] {
                self.rows.push(ProblemLine::Single(only));
                continue;
            }
            let open = !self.folded.contains(&rule);
            self.rows
                .push(ProblemLine::Group(findings[0], findings.len(), open));
            if open {
                self.rows
                    .extend(findings.into_iter().map(ProblemLine::Child));
            }
        }
        self.rows_of_findings = vec![u32::MAX; report.findings.len()];
        for (row, line) in (0..).zip(&self.rows) {
            if let ProblemLine::Child(index) | ProblemLine::Single(index) = line {
                self.rows_of_findings[*index] = row;
            }
        }
        let mut rules = report.findings.iter().map(|finding| finding.rule);
        self.has_shape_faults =
            rules.any(|rule| matches!(rule, Rule::PitRoots | Rule::PitEmptyFolder));
    }

    /// The row of the selected finding, if it shows.
    pub(super) fn find_selected_row(&self) -> Option<usize> {
        let row = *self.rows_of_findings.get(self.selected?)?;
        (row != u32::MAX).then_some(row as usize)
    }

    /// Moves the selection from the findings of one report to those of the next. A finding is the
    /// same when rule and location are: its index changes with every finding before it that is
    /// mended.
    fn follow(&mut self, old: &Report, new: &Report) {
        if self.selected.is_none() && self.left.is_none() {
            return;
        }
        let order = self.order();
        let known: HashMap<FindingIdentity<'_>, usize> = new
            .findings
            .iter()
            .enumerate()
            .rev()
            .map(|(index, finding)| (identity(finding), index))
            .collect();
        let same = |&index: &usize| known.get(&identity(old.findings.get(index)?)).copied();
        let at = |index: usize| order.iter().position(|&shown| shown == index);
        let (before, after) = match (self.selected, self.left) {
            (Some(selected), _) => {
                self.selected = same(&selected);
                if self.selected.is_some() {
                    return;
                }
                at(selected).map_or((0, order.len()), |place| (place, place + 1))
            }
            (None, Some([before, after])) => {
                let before = before.and_then(at).map_or(0, |place| place + 1);
                (before, after.and_then(at).unwrap_or(order.len()))
            }
            (None, None) => return,
        };
        let before = order.iter().take(before).rev().find_map(same);
        self.left = Some([before, order.iter().skip(after).find_map(same)]);
    }

    /// The findings in the order shown.
    fn order(&self) -> Vec<usize> {
        self.rows
            .iter()
            .filter_map(ProblemLine::find_own_finding)
            .collect()
    }

    /// The finding after (or before) the selected one, in the order shown.
    pub fn step(&mut self, report: &Arc<Report>, forward: bool) -> Option<usize> {
        self.refresh(report);
        let order = self.order();
        let now = self
            .selected
            .and_then(|selected| order.iter().position(|&index| index == selected));
        let left = self.left.take().and_then(|[before, after]| {
            let wanted = if forward { after } else { before };
            order.iter().position(|&index| Some(index) == wanted)
        });
        let next = match (now, left, forward) {
            (None, Some(left), _) => left,
            (None, None, true) => 0,
            (None, None, false) => order.len().checked_sub(1)?,
            (Some(now), _, true) => (now + 1) % order.len().max(1),
            (Some(now), _, false) => (now + order.len() - 1) % order.len().max(1),
        };
        self.selected = order.get(next).copied();
        if let Some(selected) = self.selected
            && let Some(row) = self.rows.iter().position(|line| {
                matches!(line,
                    ProblemLine::Child(index) | ProblemLine::Single(index) if *index == selected)
            })
        {
            self.scroll.reveal(row as u64);
        }
        self.selected
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProblemLine {
    /// Header of a rule with several findings: index of the first, and their number.
    Group(usize, usize, bool),
    /// A finding below its rule.
    Child(usize),
    /// The only finding of its rule.
    Single(usize),
}

impl ProblemLine {
    /// Index of the finding; `None` for the header of several.
    fn find_own_finding(&self) -> Option<usize> {
        match self {
            Self::Child(index) | Self::Single(index) => Some(*index),
            Self::Group(..) => None,
        }
    }
}

/// Rule and location of a finding, without the row of a sample, which changes when samples before
/// it do.
type FindingIdentity<'a> = (Rule, FindingPlace<'a>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FindingPlace<'a> {
    Dataset,
    Collection(&'a str),
    Column(usize, &'a str),
    Level(usize),
    Sample(&'a SamplePath),
    Member(&'a str),
}

fn identity(finding: &Finding) -> FindingIdentity<'_> {
    let place = match &finding.at {
        Location::Dataset => FindingPlace::Dataset,
        Location::Collection(field) => FindingPlace::Collection(field),
        Location::Column { level, name } => FindingPlace::Column(*level, name),
        Location::Level(level) => FindingPlace::Level(*level),
        Location::Sample { path, .. } => FindingPlace::Sample(path),
        Location::Member(name) => FindingPlace::Member(name),
    };
    (finding.rule, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(fields: &[&str]) -> Arc<Report> {
        let mut report = Report::default();
        for field in fields {
            report.add(
                Rule::CollectionRequired,
                Location::Collection((*field).to_owned()),
                "is missing",
            );
        }
        Arc::new(report)
    }

    fn steps(state: &mut ProblemsPanel, report: &Arc<Report>, forward: bool) -> String {
        let index = state.step(report, forward).expect("there is a problem");
        report.findings[index]
            .at
            .to_string()
            .replace("COLLECTION.json ", "")
    }

    #[test]
    fn no_problem_is_skipped_when_the_selected_one_is_mended() {
        let mut state = ProblemsPanel::default();
        let all = report(&["id", "description", "licenses", "tasks"]);
        assert_eq!(steps(&mut state, &all, true), "id");
        assert_eq!(state.find_selected_row(), Some(1), "below its rule");
        let without_id = report(&["description", "licenses", "tasks"]);
        assert_eq!(steps(&mut state, &without_id, true), "description");
        // Two reports come before the next step, and each has lost a finding.
        state.refresh(&report(&["licenses", "tasks"]));
        assert_eq!(
            state.selected, None,
            "a fix must not apply to a problem that was never selected"
        );
        let last = report(&["tasks"]);
        state.refresh(&last);
        assert_eq!(steps(&mut state, &last, true), "tasks");
    }

    #[test]
    fn the_selection_stays_with_its_problem_and_goes_back_past_a_mended_one() {
        let mut state = ProblemsPanel::default();
        let all = report(&["id", "description", "licenses", "tasks"]);
        assert_eq!(
            [(); 3].map(|()| steps(&mut state, &all, true)),
            ["id", "description", "licenses"]
        );
        let fewer = report(&["description", "licenses", "tasks"]);
        state.refresh(&fewer);
        assert_eq!(state.selected, Some(1));
        let without = report(&["description", "tasks"]);
        assert_eq!(steps(&mut state, &without, false), "description");
        assert_eq!(steps(&mut state, &without, false), "tasks", "wraps around");
        // The last one is mended: the next is the first.
        assert_eq!(
            steps(&mut state, &report(&["description"]), true),
            "description"
        );
    }
}
