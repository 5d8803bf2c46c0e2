//! `rules`: the table of rules, as text, JSON or Markdown.

use serde_json::{Value as Json, json};

use super::output::{print, print_json};
use crate::error::Result;
use crate::model::Rule;

/// Arguments of `rules`.
#[derive(Debug, clap::Args)]
pub struct RulesArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Print a Markdown table.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// Prints every rule.
///
/// # Errors
/// When standard output takes nothing.
pub fn rules(arguments: &RulesArguments) -> Result<u8> {
    match (arguments.json, arguments.markdown) {
        (true, _) => print_json(&Rule::ALL.iter().copied().map(rule_json).collect::<Json>())?,
        (_, true) => print(&markdown())?,
        _ => print(&Rule::ALL.iter().copied().map(rule_text).collect::<String>())?,
    }
    Ok(0)
}

fn rule_json(rule: Rule) -> Json {
    json!({
        "rule": rule.code(),
        "severity": rule.severity(),
        "section": rule.section(),
        "profiles": rule.profiles(),
        "what": rule.what(),
        "fix": rule.fix(),
    })
}

fn rule_text(rule: Rule) -> String {
    let only = match rule.profiles().as_slice() {
        [one] => format!(", profile {one} only"),
        _ => String::new(),
    };
    let (code, severity, section) = (rule.code(), rule.severity().as_str(), rule.section());
    format!("{code:8}{severity}, section {section}{only}\n        {}\n        {}\n", rule.what(), rule.fix())
}

fn markdown() -> String {
    let mut text = String::from("| rule | severity | section | profile | asks for | what to do |\n|---|---|---|---|---|---|\n");
    for rule in Rule::ALL {
        let (code, severity, section) = (rule.code(), rule.severity().as_str(), rule.section());
        let profiles = rule.profiles().join(", ");
        text.push_str(&format!("| {code} | {severity} | {section} | {profiles} | {} | {} |\n", rule.what(), rule.fix()));
    }
    text
}
