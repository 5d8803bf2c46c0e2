//! `validate`: findings of datasets as text, JSON or SARIF. Never changes a dataset.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Value as Json, json};

use super::output::{Terminal, print, print_json, say, say_error};
use super::runner::run_with_warnings;
use crate::error::Result;
use crate::model::{
    Consistency, Profile, RasterProperty, Report, Rule, RuleSettings, Severity, parse_rule_level,
};
use crate::ops::{Operation, OperationOutput, ValidateRequest};
use crate::text::PrintableLine;
use crate::validate;

/// Arguments of `validate`.
#[derive(Debug, clap::Args)]
pub struct ValidateArguments {
    /// The datasets.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub open: super::opening::OpenArguments,
    /// Read every byte: CRC of every member, every value of every __meta__; compare the headers of
    /// all rasters by position.
    #[arg(long)]
    pub deep: bool,
    /// Say of every raster why it is no TACO Optimized GeoTIFF; then rasters and folders of them
    /// may be named as well.
    #[arg(long)]
    pub tog: bool,
    /// Where the specification and the tools differ: what the official reader of today opens, or
    /// what the specification says.
    #[arg(long, value_name = "NAME", default_value = "tools")]
    pub profile: Profile,
    /// Switch a rule off, or change how bad its findings are: CODE=off, CODE=warning or CODE=error,
    /// like CON-3=off.
    #[arg(
        long = "rule",
        value_name = "CODE=LEVEL",
        value_delimiter = ',',
        value_parser = parse_rule_level,
    )]
    pub rules: Vec<(Rule, Option<Severity>)>,
    /// How to print the findings.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json"
    )]
    pub format: ReportFormat,
    /// Print JSON; the same as --format json.
    #[arg(long)]
    pub json: bool,
}

/// The profiles, as arguments name them.
impl ValueEnum for Profile {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Spec, Self::Tools]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Spec => PossibleValue::new("spec").help("The specification"),
            Self::Tools => PossibleValue::new("tools").help("The official tools of today"),
        })
    }
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Lines for people.
    Text,
    /// One object for one dataset, a list of them for several.
    Json,
    /// SARIF 2.1.0, one log for all datasets.
    Sarif,
}

/// Checks every dataset; exit code 1 when one breaks a rule, 2 when one can't be checked.
pub fn validate(arguments: ValidateArguments, terminal: &Terminal) -> Result<u8> {
    let ValidateArguments {
        paths,
        open,
        deep,
        tog,
        profile,
        rules,
        format,
        json,
    } = arguments;
    let format = if json { ReportFormat::Json } else { format };
    let mut settings = RuleSettings::default();
    rules
        .into_iter()
        .for_each(|(rule, level)| settings.set(rule, level));
    let open = open.options();
    let mut reports: Vec<(&Path, Report)> = Vec::new();
    let mut told: Vec<Vec<String>> = Vec::new();
    let mut failed = None;
    for path in &paths {
        let request = ValidateRequest {
            input: path.clone(),
            open: open.clone(),
            deep,
            tog,
            profile,
            rules: settings.clone(),
        };
        match run_with_warnings(terminal, &request.label(), move |ctx| request.run(ctx)) {
            Ok((report, warnings)) => {
                warnings
                    .iter()
                    .for_each(|warning| say(format!("warning: {warning}")));
                reports.push((path, report));
                told.push(warnings);
            }
            // Several parts given together: the others are still checked.
            Err(error) => {
                say_error(&error);
                failed = Some(error.exit_code());
            }
        }
    }
    match format {
        ReportFormat::Text => print(
            &reports
                .iter()
                .map(|(path, report)| report_text(path, report))
                .collect::<String>(),
        )?,
        ReportFormat::Json => print_reports(&reports, &told, paths.len(), failed.is_some())?,
        ReportFormat::Sarif => {
            let borrowed: Vec<(&Path, &Report)> = reports
                .iter()
                .map(|(path, report)| (*path, report))
                .collect();
            print_json(&validate::sarif(&borrowed, failed.is_none()))?;
        }
    }
    let valid = reports.iter().all(|(_, report)| report.is_valid());
    Ok(failed.unwrap_or(if valid { 0 } else { 1 }))
}

fn print_reports(
    reports: &[(&Path, Report)],
    told: &[Vec<String>],
    asked: usize,
    failed: bool,
) -> Result<()> {
    let all: Vec<Json> = reports
        .iter()
        .zip(told)
        .map(|((path, report), told)| report_json(path, report, told))
        .collect();
    let out = match all.as_slice() {
        [one] if asked == 1 => one.clone(),
        _ => Json::Array(all),
    };
    if failed && reports.is_empty() {
        Ok(())
    } else {
        print_json(&out)
    }
}

fn report_json(path: &Path, report: &Report, warnings: &[String]) -> Json {
    let mut json = json!({ "path": path.display().to_string() });
    if let (Json::Object(json), Json::Object(report)) = (&mut json, report.to_json()) {
        json.extend(report);
    }
    if !warnings.is_empty() {
        json["warnings"] = json!(warnings);
    }
    json
}

/// Positions where no type or number of bands has a majority, so that no root is said to differ.
fn ties_text(consistency: &Consistency) -> String {
    let mut ties = consistency.ties();
    let Some(first) = ties.next() else {
        return String::new();
    };
    let kinds = [RasterProperty::DataType, RasterProperty::Bands]
        .into_iter()
        .map(|property| first.agreement(property).distinct_values)
        .max()
        .unwrap_or(0);
    let (count, name) = (1 + ties.count(), first.title().to_owned());
    let positions = if count == 1 {
        "1 position".to_owned()
    } else {
        format!("{count} positions")
    };
    format!(
        "; no majority of types and bands at {positions}, first {} ({kinds} kinds)",
        name.printable_line()
    )
}

fn report_text(path: &Path, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let severity = finding.severity.as_str();
        let (at, message) = (finding.at.to_string(), finding.message.printable_line());
        text.push_str(&format!(
            "{severity:8}{:8}{}\n        {message}\n",
            finding.rule.code(),
            at.printable_line()
        ));
    }
    if let Some(consistency) = &report.consistency {
        let (headers, roots, differ) = (
            consistency.headers,
            consistency.roots,
            consistency.roots_that_differ().len(),
        );
        if headers > 0 {
            text.push_str(&format!(
                "{headers} headers compared by position: {differ} of {roots} roots differ{}\n",
                ties_text(consistency)
            ));
        }
    }
    let verdict = match (report.errors(), report.warnings()) {
        (0, 0) => "valid".to_owned(),
        (0, warnings) => format!("valid, {warnings} warnings"),
        (errors, warnings) => format!("{errors} errors, {warnings} warnings"),
    };
    text.push_str(&format!(
        "{}: {verdict}\n",
        path.display().to_string().printable_line()
    ));
    text
}
