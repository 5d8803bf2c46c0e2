//! `inspect` and `validate`: what a dataset is, and what is wrong with it.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::Terminal;
use super::output::print;
use crate::container;
use crate::error::Result;
use crate::jobs::{JobContext, Jobs};
use crate::model::{Report, dtype_name};
use crate::validate;

pub fn inspect(path: &Path, as_json: bool) -> Result<u8> {
    let ctx = JobContext::default();
    let reader = container::open(path, &ctx)?;
    let levels = reader.levels();
    let info = reader.info();
    let collection = reader.collection();
    if as_json {
        let levels: Vec<Json> = (0..levels.count())
            .map(|level| {
                let fields = levels.fields(level);
                let columns: Vec<Json> = fields.iter().map(|f| json!({ "name": f.name, "type": dtype_name(&f.dtype) })).collect();
                json!({ "level": level, "rows": levels.rows(level), "columns": columns })
            })
            .collect();
        let notes: Vec<Json> = reader.notes().iter().map(finding_json).collect();
        let out = json!({
            "path": info.path.display().to_string(),
            "format": info.format.name(),
            "generation": info.format.generation(),
            "size_bytes": info.size_bytes,
            "id": collection.fields.get("id"),
            "levels": levels,
            "collection": collection.fields,
            "notes": notes,
        });
        print(&serde_json::to_string_pretty(&out).unwrap_or_default());
        return Ok(0);
    }
    let mut text = format!("{}  {} (TACO {})\n", info.path.display(), info.format.badge(), info.format.generation());
    let title = collection.text("title");
    text.push_str(&format!("id       {}\n", collection.id()));
    if !title.is_empty() {
        text.push_str(&format!("title    {title}\n"));
    }
    for level in 0..levels.count() {
        text.push_str(&format!("\nlevel{level}   {} rows\n", levels.rows(level)));
        let fields = levels.fields(level);
        let width = fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0);
        for field in fields {
            text.push_str(&format!("  {:width$}  {}\n", field.name, dtype_name(&field.dtype)));
        }
    }
    for note in reader.notes() {
        text.push_str(&format!("\n{} {}: {}\n", note.rule, note.at, note.message));
    }
    print(&text);
    Ok(0)
}

pub fn validate(paths: &[PathBuf], deep: bool, as_json: bool, terminal: &Terminal) -> Result<u8> {
    let mut reports = Vec::new();
    let mut failed = None;
    for path in paths {
        let target = path.clone();
        let mut job = Jobs::quiet().start("Check", move |ctx| validate::path(&target, deep, ctx));
        let outcome = loop {
            match job.wait_for(std::time::Duration::from_millis(100)) {
                Some(outcome) => break outcome,
                None => terminal.progress(&job.progress()),
            }
        };
        terminal.clear();
        match outcome {
            Ok(report) => reports.push((path, report)),
            // Several parts given together: the others are still checked.
            Err(error) => {
                eprintln!("error: {}", error.report());
                failed = Some(error.exit_code());
            }
        }
    }
    if as_json {
        let all: Vec<Json> = reports.iter().map(|(path, report)| report_json(path, report)).collect();
        let out = match all.as_slice() {
            [one] if paths.len() == 1 => one.clone(),
            _ => Json::Array(all),
        };
        if failed.is_none() || !reports.is_empty() {
            print(&serde_json::to_string_pretty(&out).unwrap_or_default());
        }
    } else {
        for (path, report) in &reports {
            print(&report_text(path, report));
        }
    }
    let valid = reports.iter().all(|(_, report)| report.is_valid());
    Ok(failed.unwrap_or(if valid { 0 } else { 1 }))
}

fn finding_json(finding: &crate::model::Finding) -> Json {
    json!({
        "rule": finding.rule.code(),
        "severity": finding.severity,
        "at": finding.at.to_string(),
        "message": finding.message,
    })
}

fn report_json(path: &Path, report: &Report) -> Json {
    let findings: Vec<Json> = report.findings.iter().map(finding_json).collect();
    json!({ "path": path.display().to_string(), "valid": report.is_valid(), "findings": findings })
}

fn report_text(path: &Path, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let severity = finding.severity.as_str();
        text.push_str(&format!("{severity:8}{:8}{}\n        {}\n", finding.rule.code(), finding.at, finding.message));
    }
    let verdict = match (report.errors(), report.warnings()) {
        (0, 0) => "valid".to_owned(),
        (0, warnings) => format!("valid, {warnings} warnings"),
        (errors, warnings) => format!("{errors} errors, {warnings} warnings"),
    };
    text.push_str(&format!("{}: {verdict}\n", path.display()));
    text
}
