//! Findings of checks: rule, location, message. The rules are in `rule.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Consistency, Location, Profile, Rule, RuleSettings, Severity};

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The violated rule.
    pub rule: Rule,
    /// Severity; in most cases that of the rule.
    pub severity: Severity,
    /// Location.
    pub at: Location,
    /// The fault, with actual and expected values where useful, and its correction.
    pub message: String,
}

impl Finding {
    /// A finding with the rule's own severity.
    pub fn new(rule: Rule, at: Location, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            at,
            message: message.into(),
        }
    }

    /// The JSON form used by all reports: `rule`, `severity`, `at`, `message`.
    pub fn json(&self) -> serde_json::Value {
        let (rule, at) = (self.rule.code(), self.at.to_string());
        serde_json::json!({
            "rule": rule,
            "severity": self.severity,
            "at": at,
            "message": self.message,
        })
    }
}

/// Maximum number of findings of one rule that are stored; further ones are only counted.
pub const FINDINGS_KEPT: usize = 1000;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In order of detection: container, levels, tree, collection. At most [`FINDINGS_KEPT`] per
    /// rule, plus a summary after [`Report::fold`].
    pub findings: Vec<Finding>,
    /// By rule, the number of findings that were not stored.
    pub more: BTreeMap<Rule, usize>,
    /// Comparison of the rasters at each position; `None` if headers were not compared.
    pub consistency: Option<Arc<Consistency>>,
    /// By rule, the number of findings added.
    pub(crate) added: BTreeMap<Rule, usize>,
}

impl Report {
    /// Adds a finding with the rule's own severity.
    pub fn add(&mut self, rule: Rule, at: Location, message: impl Into<String>) {
        self.push(Finding::new(rule, at, message));
    }

    /// Adds a finding; beyond [`FINDINGS_KEPT`] of one rule it is only counted, which bounds the
    /// memory.
    pub fn push(&mut self, finding: Finding) {
        let added = self.added.entry(finding.rule).or_default();
        *added += 1;
        if *added > FINDINGS_KEPT {
            *self.more.entry(finding.rule).or_default() += 1;
        } else {
            self.findings.push(finding);
        }
    }

    /// Appends another report's findings and counts.
    pub fn absorb(&mut self, other: Report) {
        for finding in other.findings {
            self.push(finding);
        }
        for (rule, count) in other.more {
            *self.more.entry(rule).or_default() += count;
            *self.added.entry(rule).or_default() += count;
        }
    }

    /// Removes findings of rules that `profile` does not contain; the others get their severity in
    /// it.
    pub fn keep(&mut self, profile: Profile) {
        for finding in self
            .findings
            .iter_mut()
            .filter(|finding| finding.severity == finding.rule.severity())
        {
            finding.severity = finding.rule.severity_in(profile);
        }
        self.findings
            .retain(|finding| finding.rule.applies_to(profile));
        self.more.retain(|rule, _| rule.applies_to(profile));
        self.added.retain(|rule, _| rule.applies_to(profile));
    }

    /// Removes findings of rules that are switched off, and changes severities.
    pub fn apply(&mut self, settings: &RuleSettings) {
        self.findings
            .retain(|finding| !settings.is_off(finding.rule));
        self.more.retain(|rule, _| !settings.is_off(*rule));
        self.added.retain(|rule, _| !settings.is_off(*rule));
        for finding in &mut self.findings {
            if let Some(severity) = settings.severity(finding.rule) {
                finding.severity = severity;
            }
        }
    }

    /// Finishes the report: for each rule with findings that were not stored, appends one with
    /// their number.
    pub fn fold(&mut self) {
        for (rule, count) in std::mem::take(&mut self.more) {
            let message = tr!(
                "And {count} more of {rule}.",
                count = group_thousands(count),
                rule
            );
            self.findings
                .push(Finding::new(rule, Location::Dataset, message));
        }
    }

    /// Number of findings of a rule, including those that were not stored.
    pub fn count(&self, rule: Rule) -> usize {
        if let Some(added) = self.added.get(&rule) {
            return *added;
        }
        self.findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .count()
    }

    /// True without errors; warnings are allowed.
    pub fn is_valid(&self) -> bool {
        self.errors() == 0
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count()
    }

    /// Number of warnings.
    pub fn warnings(&self) -> usize {
        self.findings.len() - self.errors()
    }

    /// True when there is a finding of this rule.
    pub fn has(&self, rule: Rule) -> bool {
        self.findings.iter().any(|finding| finding.rule == rule)
    }
}

/// Formats a number with thousands separators: 12,345.
fn group_thousands(number: usize) -> String {
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
    fn findings_of_one_rule_are_summarized() {
        let mut report = Report::default();
        for row in 0..13_345 {
            report.add(Rule::IdUnique, Location::Level(row % 3), "Twice.");
        }
        report.add(Rule::TypeWord, Location::Dataset, "Odd.");
        report.fold();
        assert_eq!(report.findings.len(), FINDINGS_KEPT + 2);
        assert_eq!(
            report.findings.last().map(|last| last.message.as_str()),
            Some("And 12,345 more of ID-2.")
        );
        assert_eq!(
            [
                group_thousands(7),
                group_thousands(999),
                group_thousands(1000),
                group_thousands(1_234_567)
            ],
            ["7", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn findings_that_were_only_counted_count_in_the_report_that_takes_them() {
        let mut inner = Report::default();
        for row in 0..FINDINGS_KEPT + 500 {
            inner.add(Rule::IdUnique, Location::Level(row % 3), "Twice.");
        }
        let mut report = Report::default();
        report.absorb(inner);
        assert_eq!(report.count(Rule::IdUnique), FINDINGS_KEPT + 500);
        assert_eq!(report.more.get(&Rule::IdUnique), Some(&500));
    }

    #[test]
    fn a_profile_drops_rules_of_the_other_profile() {
        let mut report = Report::default();
        for rule in [Rule::NoCurrentId, Rule::TacoVersion, Rule::IdUnique] {
            report.add(rule, Location::Dataset, "Found.");
        }
        let codes = |profile| {
            let mut report = report.clone();
            report.keep(profile);
            report
                .findings
                .iter()
                .map(|finding| finding.rule)
                .collect::<Vec<_>>()
        };
        let severity = |profile| {
            let mut report = Report::default();
            report.add(Rule::TortillaCurators, Location::Dataset, "Missing.");
            report.keep(profile);
            report.findings[0].severity
        };
        assert_eq!(
            [severity(Profile::Tools), severity(Profile::Spec)],
            [Severity::Warning, Severity::Error]
        );
        assert_eq!(codes(Profile::Tools), [Rule::NoCurrentId, Rule::IdUnique]);
        assert_eq!(codes(Profile::Spec), [Rule::TacoVersion, Rule::IdUnique]);
    }
}
