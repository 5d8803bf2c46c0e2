//! `extensions` and `rules`: what this version computes and checks.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor};
use crate::error::Result;
use crate::extensions::{ExtensionEntry, builtin};
use crate::jobs::JobContext;
use crate::model::{Profile, Rule};

/// Lists the extensions with their options. Plain data.
///
/// # Errors
/// None.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionsRequest {}

/// The extensions, in the order of the registry.
#[derive(Clone)]
pub struct ExtensionList(pub Vec<ExtensionEntry>);

impl std::fmt::Debug for ExtensionList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|entry| entry.name))
            .finish()
    }
}

impl Operation for ExtensionsRequest {
    type Output = ExtensionList;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("List the extensions").into()
    }

    fn visit_paths(&mut self, _visit: &mut PathVisitor<'_>) {}

    fn run(&self, _ctx: &JobContext) -> Result<ExtensionList> {
        Ok(ExtensionList(builtin().entries().to_vec()))
    }
}

fn write_entry_json(entry: &ExtensionEntry) -> Json {
    let options = (entry.options)();
    json!({
        "name": entry.name,
        "title": entry.title,
        "summary": entry.summary,
        "scope": entry.scope,
        "options": options,
    })
}

impl OperationOutput for ExtensionList {
    fn to_json(&self) -> Json {
        self.0.iter().map(write_entry_json).collect()
    }

    fn summary(&self) -> String {
        tr_n!(
            self.0.len(),
            "{n} extension",
            "{n} extensions",
            n = self.0.len()
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}

/// Lists the rules that datasets are checked against. Plain data.
///
/// # Errors
/// None.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulesRequest {}

/// The rules, in the order of the table.
#[derive(Clone, Debug)]
pub struct RuleList(pub &'static [Rule]);

impl Operation for RulesRequest {
    type Output = RuleList;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("List the rules").into()
    }

    fn visit_paths(&mut self, _visit: &mut PathVisitor<'_>) {}

    fn run(&self, _ctx: &JobContext) -> Result<RuleList> {
        Ok(RuleList(Rule::ALL))
    }
}

impl OperationOutput for RuleList {
    fn to_json(&self) -> Json {
        self.0.iter().map(|rule| rule_json(*rule)).collect()
    }

    fn summary(&self) -> String {
        tr_n!(self.0.len(), "{n} rule", "{n} rules", n = self.0.len())
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}

fn rule_json(rule: Rule) -> Json {
    json!({
        "rule": rule.code(),
        "severity": rule.severity(),
        "severities": severities(rule),
        "section": rule.section(),
        "profiles": rule.profiles(),
        "what": rule.what(),
        "fix": rule.fix(),
    })
}

/// The severity in each profile that contains the rule.
fn severities(rule: Rule) -> Json {
    let profiles = [Profile::Spec, Profile::Tools]
        .into_iter()
        .filter(|profile| rule.applies_to(*profile));
    profiles
        .map(|profile| {
            (
                profile.as_str().to_owned(),
                json!(rule.severity_in(profile)),
            )
        })
        .collect()
}
