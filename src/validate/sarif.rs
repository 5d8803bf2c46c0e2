//! Reports as SARIF 2.1.0, for code hosts and editors. Contains every finding.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::model::{Finding, Location, Report, Rule, file_url_of};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A SARIF log with one run: the table of rules and the findings of every report. `complete` is
/// false when a dataset could not be checked.
pub fn sarif(reports: &[(&Path, &Report)], complete: bool) -> Json {
    let rules: Vec<Json> = Rule::ALL.iter().copied().map(rule_json).collect();
    let results: Vec<Json> = reports
        .iter()
        .flat_map(|(path, report)| {
            report
                .findings
                .iter()
                .map(move |finding| result_json(path, finding))
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "taco-studio",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                },
            },
            "invocations": [{ "executionSuccessful": complete }],
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn rule_json(rule: Rule) -> Json {
    json!({
        "id": rule.code(),
        "name": format!("{rule:?}"),
        "shortDescription": { "text": rule.what() },
        "help": { "text": rule.fix() },
        "defaultConfiguration": { "level": rule.severity().as_str() },
        "properties": { "section": rule.section(), "profiles": rule.profiles() },
    })
}

fn result_json(path: &Path, finding: &Finding) -> Json {
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    json!({
        "ruleId": finding.rule.code(),
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": finding.message },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": file_url_of(path) } },
            "logicalLocations": [{
                "fullyQualifiedName": finding.at.to_string(),
                "kind": kind(&finding.at),
            }],
        }],
    })
}

fn kind(at: &Location) -> &'static str {
    match at {
        Location::Dataset => "module",
        Location::Collection(_) => "object",
        Location::Column { .. } => "member",
        Location::Level(_) => "type",
        Location::Sample { .. } | Location::Member(_) => "resource",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_name_their_rule_place_and_file() {
        let mut report = Report::default();
        report.add(Rule::IdUnique, Location::Member("a/b".into()), "Twice.");
        report.add(
            Rule::CollectionTask,
            Location::Collection("tasks/0".into()),
            "Odd.",
        );
        let log = sarif(&[(Path::new("/data/my set.tacozip"), &report)], true);
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
        let results = run["results"].as_array().expect("results");
        assert_eq!((rules.len(), results.len()), (Rule::ALL.len(), 2));
        for result in results {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(
                ["error", "warning", "note", "none"]
                    .contains(&result["level"].as_str().expect("a level"))
            );
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            assert_eq!(place, "file:///data/my%20set.tacozip");
        }
        assert_eq!(
            results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            "a/b"
        );
    }

    #[test]
    fn relative_paths_stay_relative() {
        assert_eq!(
            file_url_of(Path::new("sets/ñ.tacozip")),
            "sets/%C3%B1.tacozip"
        );
    }
}
