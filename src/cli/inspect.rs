//! `inspect`: what a dataset is. Must not judge it; that is `validate`.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::output::print;
use crate::container::{self, OpenOptions};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::dtype_name;

pub fn inspect(path: &Path, options: &OpenOptions, as_json: bool) -> Result<u8> {
    let ctx = JobContext::default();
    let reader = container::open_with(path, options, &ctx)?;
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

pub(super) fn finding_json(finding: &crate::model::Finding) -> Json {
    json!({
        "rule": finding.rule.code(),
        "severity": finding.severity,
        "at": finding.at.to_string(),
        "message": finding.message,
    })
}
