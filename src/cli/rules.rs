//! `rules`: the table of rules, as text, JSON or Markdown.

use super::output::{Terminal, print, print_json};
use super::runner::operate;
use crate::error::Result;
use crate::model::{Profile, Rule};
use crate::ops::{OperationOutput, RulesRequest};

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
pub fn rules(arguments: &RulesArguments, terminal: &Terminal) -> Result<u8> {
    match (arguments.json, arguments.markdown) {
        (true, _) => print_json(&operate(terminal, RulesRequest {})?.to_json())?,
        (_, true) => print(&markdown())?,
        _ => print(&Rule::ALL.iter().copied().map(rule_text).collect::<String>())?,
    }
    Ok(0)
}

/// The severity, and that of the profile of the specification where it is another one.
fn severity_text(rule: Rule) -> String {
    let (plain, text) = (rule.severity(), rule.severity_in(Profile::Spec));
    if rule.applies_to(Profile::Spec) && text != plain {
        return format!("{} ({} with spec)", plain.as_str(), text.as_str());
    }
    plain.as_str().to_owned()
}

fn rule_text(rule: Rule) -> String {
    let only = match rule.profiles().as_slice() {
        [one] => format!(", profile {one} only"),
        _ => String::new(),
    };
    let (code, severity, section) = (rule.code(), severity_text(rule), rule.section());
    format!(
        "{code:8}{severity}, section {section}{only}\n        {}\n        {}\n",
        rule.what(),
        rule.fix()
    )
}

fn markdown() -> String {
    let mut text = String::from(
        "| rule | severity | section | profile | requires | what to do |\n\
            |---|---|---|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let (code, severity, section) = (rule.code(), severity_text(*rule), rule.section());
        let profiles = rule.profiles().join(", ");
        text.push_str(&format!(
            "| {code} | {severity} | {section} | {profiles} | {} | {} |\n",
            rule.what(),
            rule.fix()
        ));
    }
    text
}
