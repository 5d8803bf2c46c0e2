//! What a check says about a dataset: a rule, a place, a sentence. The rules themselves are in `rule.rs`.

use std::collections::BTreeMap;
use std::fmt;

use super::{Profile, Rule, SamplePath, Severity};

/// Where a finding is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// The dataset as a whole.
    #[default]
    Dataset,
    /// A field of the collection, as a JSON pointer without the leading slash: `providers/0/email`.
    Collection(String),
    /// A column of a level.
    Column {
        /// The level.
        level: usize,
        /// The column's name.
        name: String,
    },
    /// A whole level.
    Level(usize),
    /// A sample. The row stands for the sample in tables, the path is for people.
    Sample {
        /// Its level.
        level: usize,
        /// Its row in the level table.
        row: u32,
        /// Its ids from the root.
        path: SamplePath,
    },
    /// A member of the archive, or a file of the folder.
    Member(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Dataset => f.write_str(tr!("dataset")),
            Location::Collection(field) if field.is_empty() => f.write_str("COLLECTION.json"),
            Location::Collection(field) => write!(f, "COLLECTION.json {field}"),
            Location::Column { level, name } => write!(f, "level{level} {name}"),
            Location::Level(level) => write!(f, "level{level}"),
            Location::Sample { path, .. } => path.fmt(f),
            Location::Member(name) => f.write_str(name),
        }
    }
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// How bad it is here; mostly the rule's own.
    pub severity: Severity,
    /// Where.
    pub at: Location,
    /// What is wrong, where it helps with found and expected values, and what to do.
    pub message: String,
}

impl Finding {
    /// A finding with the rule's own severity.
    pub fn new(rule: Rule, at: Location, message: impl Into<String>) -> Self {
        Self { rule, severity: rule.severity(), at, message: message.into() }
    }

    /// The form that reports have everywhere: `rule`, `severity`, `at`, `message`.
    pub fn json(&self) -> serde_json::Value {
        let (rule, at) = (self.rule.code(), self.at.to_string());
        serde_json::json!({ "rule": rule, "severity": self.severity, "at": at, "message": self.message })
    }
}

/// Findings of one rule that are kept one by one; the rest is only counted.
pub const FINDINGS_KEPT: usize = 1000;

/// Everything that a check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In the order found: container, levels, tree, collection. At most [`FINDINGS_KEPT`] of each rule, once folded.
    pub findings: Vec<Finding>,
    /// Of each rule, how many more findings there are than those kept.
    pub more: BTreeMap<Rule, usize>,
    /// Of each rule, how many were added.
    pub(crate) added: BTreeMap<Rule, usize>,
}

impl Report {
    /// Adds a finding with the rule's own severity.
    pub fn add(&mut self, rule: Rule, at: Location, message: impl Into<String>) {
        self.push(Finding::new(rule, at, message));
    }

    /// Adds a finding; beyond [`FINDINGS_KEPT`] of one rule it is only counted, so that a million faults take no memory.
    pub fn push(&mut self, finding: Finding) {
        let added = self.added.entry(finding.rule).or_default();
        *added += 1;
        if *added > FINDINGS_KEPT {
            *self.more.entry(finding.rule).or_default() += 1;
        } else {
            self.findings.push(finding);
        }
    }

    /// Takes over another report's findings and counts.
    pub fn absorb(&mut self, other: Report) {
        for finding in other.findings {
            self.push(finding);
        }
        for (rule, count) in other.more {
            *self.more.entry(rule).or_default() += count;
        }
    }

    /// Drops what only the other profile asks for.
    pub fn keep(&mut self, profile: Profile) {
        self.findings.retain(|finding| finding.rule.applies_to(profile));
        self.more.retain(|rule, _| rule.applies_to(profile));
        self.added.retain(|rule, _| rule.applies_to(profile));
    }

    /// Ends the report: of each rule with more findings than are kept, a last one says how many more there are.
    pub fn fold(&mut self) {
        for (rule, count) in std::mem::take(&mut self.more) {
            let message = tr!("And {count} more of {rule}.", count = grouped(count), rule);
            self.findings.push(Finding::new(rule, Location::Dataset, message));
        }
    }

    /// True without errors; warnings do not count.
    pub fn is_valid(&self) -> bool {
        self.errors() == 0
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// Number of warnings.
    pub fn warnings(&self) -> usize {
        self.findings.len() - self.errors()
    }

    /// True when some finding has this rule.
    pub fn has(&self, rule: Rule) -> bool {
        self.findings.iter().any(|finding| finding.rule == rule)
    }
}

/// A number with a comma after every three digits: 12,345.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_kind_are_folded() {
        let mut report = Report::default();
        for row in 0..13_345 {
            report.add(Rule::IdUnique, Location::Level(row % 3), "Twice.");
        }
        report.add(Rule::TypeWord, Location::Dataset, "Odd.");
        report.fold();
        assert_eq!(report.findings.len(), FINDINGS_KEPT + 2);
        assert_eq!(report.findings.last().map(|last| last.message.as_str()), Some("And 12,345 more of ID-2."));
        assert_eq!([grouped(7), grouped(999), grouped(1000), grouped(1_234_567)], ["7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_profile_drops_what_only_the_other_asks_for() {
        let mut report = Report::default();
        for rule in [Rule::NoCurrentId, Rule::TacoVersion, Rule::IdUnique] {
            report.add(rule, Location::Dataset, "Found.");
        }
        let codes = |profile| {
            let mut report = report.clone();
            report.keep(profile);
            report.findings.iter().map(|finding| finding.rule).collect::<Vec<_>>()
        };
        assert_eq!(codes(Profile::Tools), [Rule::NoCurrentId, Rule::IdUnique]);
        assert_eq!(codes(Profile::Spec), [Rule::TacoVersion, Rule::IdUnique]);
    }
}
