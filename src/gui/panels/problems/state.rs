//! State of the problems panel. Imports no panel context, so that the session can hold it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::draft::{Fix, Plan};
use crate::gui::document_key::Key;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::model::{Report, Rule, Severity};

/// State of the panel.
#[derive(Default)]
pub struct ProblemsState {
    pub(super) scroll: RowScroll,
    pub(super) folded: HashSet<Rule>,
    /// The selected finding.
    pub selected: Option<usize>,
    pub(super) rows: Vec<Line>,
    pub(super) made_for: Option<(Arc<Report>, usize)>,
    pub(super) changes: usize,
    /// The finding whose best fix was asked for, and whether for all roots with this problem.
    pub fix_asked: Option<(usize, bool)>,
    /// The plan of that fix for all roots with the problem.
    pub(super) alike: AsyncValue<(Key, usize), Option<Arc<Plan>>>,
    /// Fixes of findings that were visible, by index.
    pub(super) fixes: HashMap<usize, Vec<Fix>>,
    /// Plans of all roots that break the pattern, by kind of fix.
    pub(super) plans: AsyncValue<(Key, usize), Vec<Arc<Plan>>>,
    /// Fixes that are being found: by the state of the draft and by visible findings.
    pub(super) finding: AsyncValue<(Key, Vec<usize>), HashMap<usize, Vec<Fix>>>,
}

impl ProblemsState {
    pub(super) fn refresh(&mut self, report: &Arc<Report>) {
        let same = self.made_for.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, report));
        if same && self.made_for.as_ref().is_some_and(|(_, changes)| *changes == self.changes) {
            return;
        }
        if !same {
            self.selected = self.selected.filter(|&selected| selected < report.findings.len());
            self.fixes.clear();
            self.fix_asked = None;
            self.finding = AsyncValue::default();
        }
        self.made_for = Some((report.clone(), self.changes));
        let mut groups: BTreeMap<(Severity, Rule), Vec<usize>> = BTreeMap::new();
        for (index, finding) in report.findings.iter().enumerate() {
            groups.entry((finding.severity, finding.rule)).or_default().push(index);
        }
        self.rows.clear();
        for ((_, rule), findings) in groups {
            if let [only] = findings[..] {
                self.rows.push(Line::Single(only));
                continue;
            }
            let open = !self.folded.contains(&rule);
            self.rows.push(Line::Group(findings[0], findings.len(), open));
            if open {
                self.rows.extend(findings.into_iter().map(Line::Child));
            }
        }
    }

    /// The findings in the order shown.
    fn order(&self) -> Vec<usize> {
        let finding = |line: &Line| match line {
            Line::Child(index) | Line::Single(index) => Some(*index),
            Line::Group(..) => None,
        };
        self.rows.iter().filter_map(finding).collect()
    }

    /// The finding after (or before) the selected one, in the order shown.
    pub fn step(&mut self, report: &Arc<Report>, forward: bool) -> Option<usize> {
        self.refresh(report);
        let order = self.order();
        let now = self.selected.and_then(|selected| order.iter().position(|&index| index == selected));
        let next = match (now, forward) {
            (None, true) => 0,
            (None, false) => order.len().checked_sub(1)?,
            (Some(now), true) => (now + 1) % order.len().max(1),
            (Some(now), false) => (now + order.len() - 1) % order.len().max(1),
        };
        self.selected = order.get(next).copied();
        if let Some(selected) = self.selected
            && let Some(row) =
                self.rows.iter().position(|line| matches!(line, Line::Child(index) | Line::Single(index) if *index == selected))
        {
            self.scroll.reveal(row as u64);
        }
        self.selected
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Line {
    /// Header of a rule with several findings: index of the first, and their number.
    Group(usize, usize, bool),
    /// A finding below its rule.
    Child(usize),
    /// The only finding of its rule.
    Single(usize),
}
