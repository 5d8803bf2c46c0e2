//! The data card: what a person wants to know first, as Markdown with the front matter that hubs read, and as a page.

use super::{Described, croissant};
use crate::model::{Value, dtype_name};

/// One block of the card.
enum Block {
    Heading(usize, String),
    Text(String),
    List(Vec<String>),
    Table(Vec<Vec<String>>),
    Code(String),
}

fn blocks(described: &Described<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, described.title().to_owned()), Block::Text(described.description().to_owned())];
    let mut facts = vec![
        format!("Identifier: {}", described.id()),
        format!("Version: {}", described.version()),
        format!("Licence: {}", or_dash(&described.texts("licenses").join(", "))),
        format!("Tasks: {}", or_dash(&described.texts("tasks").join(", "))),
        format!("Format: {}, {} bytes", described.facts.format.badge(), described.facts.size_bytes),
    ];
    if let Some([west, south, east, north]) = described.bbox {
        facts.push(format!("Extent: {west}, {south}, {east}, {north} (west, south, east, north in degrees)"));
    }
    if let Some([start, end]) = &described.interval {
        facts.push(format!("Time: {start} to {end}"));
    }
    let keywords = described.texts("keywords");
    if !keywords.is_empty() {
        facts.push(format!("Keywords: {}", keywords.join(", ")));
    }
    blocks.push(Block::List(facts));
    blocks.push(Block::Heading(2, "Structure".into()));
    let mut rows = vec![vec!["Level".into(), "Samples".into(), "First ids".into()]];
    for (level, table) in described.assembly.tree.levels.iter().enumerate() {
        let first: Vec<&str> = (0..table.len().min(4)).map(|row| table.ids.value(row)).collect();
        let more = if table.len() > first.len() { ", …" } else { "" };
        rows.push(vec![level.to_string(), table.len().to_string(), format!("{}{more}", first.join(", "))]);
    }
    blocks.push(Block::Table(rows));
    blocks.push(Block::Heading(2, "Fields".into()));
    let mut rows = vec![vec!["Level".into(), "Field".into(), "Type".into(), "What it means".into()]];
    for (level, table) in described.assembly.levels.iter().enumerate() {
        for field in table.batch.schema().fields() {
            let text = croissant::described_field(described, level, field.name());
            rows.push(vec![level.to_string(), field.name().clone(), dtype_name(field.data_type()), text]);
        }
    }
    blocks.push(Block::Table(rows));
    if let Some(rows) = splits(described) {
        blocks.push(Block::Heading(2, "Splits".into()));
        blocks.push(Block::Table(rows));
    }
    if let Some(classes) = described.fields.get("labels:classes").and_then(|classes| classes.as_array()) {
        let mut rows = vec![vec!["Class".into(), "Category".into(), "What it means".into()]];
        let text = |value: Option<&serde_json::Value>| match value {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        rows.extend(
            classes.iter().map(|class| vec![text(class.get("name")), text(class.get("category")), text(class.get("description"))]),
        );
        blocks.push(Block::Heading(2, "Classes".into()));
        blocks.push(Block::Table(rows));
    }
    let rai: Vec<String> = described
        .fields
        .iter()
        .filter(|(key, value)| key.starts_with("rai:") && !value.is_null())
        .map(|(key, value)| {
            format!("{}: {}", key.trim_start_matches("rai:"), value.as_str().map_or(value.to_string(), str::to_owned))
        })
        .collect();
    if !rai.is_empty() {
        blocks.push(Block::Heading(2, "Responsible use".into()));
        blocks.push(Block::List(rai));
    }
    for (key, title) in [("providers", "Providers"), ("curators", "Curators")] {
        let people: Vec<String> = described
            .contacts(key)
            .into_iter()
            .map(|contact| {
                let more = [contact.organization.filter(|o| *o != contact.name), contact.email, contact.url];
                let roles = if contact.roles.is_empty() { String::new() } else { format!(" ({})", contact.roles.join(", ")) };
                let more: Vec<String> = more.into_iter().flatten().collect();
                [vec![contact.name + &roles], more].concat().join(", ")
            })
            .collect();
        if !people.is_empty() {
            blocks.push(Block::Heading(2, title.into()));
            blocks.push(Block::List(people));
        }
    }
    blocks.push(Block::Heading(2, "How to read it".into()));
    blocks.push(Block::Code(format!(
        "import tacoreader\n\ndataset = tacoreader.load(\"{}\")\nprint(dataset.data)",
        described.file_name()
    )));
    blocks.push(Block::Heading(2, "How to cite it".into()));
    blocks.push(Block::Code(croissant::citation(described)));
    blocks
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// Samples of level 0 for each value of `split`.
fn splits(described: &Described<'_>) -> Option<Vec<Vec<String>>> {
    let level = described.assembly.levels.first()?;
    let column = level.batch.column_by_name("split")?;
    let mut counts: std::collections::BTreeMap<String, usize> = Default::default();
    for row in 0..column.len() {
        let name = match crate::table::value_at(column, row) {
            Value::Text(text) => text.to_string(),
            _ => "none".into(),
        };
        *counts.entry(name).or_default() += 1;
    }
    let mut rows = vec![vec!["Split".into(), "Samples".into()]];
    rows.extend(counts.into_iter().map(|(name, count)| vec![name, count.to_string()]));
    Some(rows)
}

/// Markdown; what comes from the dataset can't become markup.
pub fn markdown(described: &Described<'_>) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let list = |name: &str, items: &[&str]| -> String {
        let lines: String = items.iter().map(|item| format!("- {}\n", quoted(item))).collect();
        if items.is_empty() { String::new() } else { format!("{name}:\n{lines}") }
    };
    let lower: Vec<String> = described.texts("licenses").iter().map(|licence| licence.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let mut text = format!("---\npretty_name: {}\n{}", quoted(described.title()), list("license", &lower));
    text.push_str(&list("tags", &described.texts("keywords").into_iter().chain(described.texts("tasks")).collect::<Vec<_>>()));
    text.push_str("---\n");
    for block in blocks(described) {
        text.push('\n');
        match block {
            Block::Heading(depth, heading) => text.push_str(&format!("{} {}\n", "#".repeat(depth), plain(&heading))),
            Block::Text(body) => text.push_str(&format!("{}\n", body.lines().map(plain).collect::<Vec<_>>().join("\n"))),
            Block::List(items) => items.iter().for_each(|item| text.push_str(&format!("- {}\n", plain(item)))),
            Block::Code(code) => text.push_str(&format!("```\n{}\n```\n", code.replace("```", "'''"))),
            Block::Table(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    let cells: Vec<String> = row.iter().map(|cell| plain(cell).replace('|', "\\|")).collect();
                    text.push_str(&format!("| {} |\n", cells.join(" | ")));
                    if at == 0 {
                        text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
                    }
                }
            }
        }
    }
    text
}

/// One line without markup of its own.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '*' | '_' | '`' | '[' | ']' | '#' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
    }
    out
}

/// A page of its own, without anything from elsewhere.
pub fn html(described: &Described<'_>) -> String {
    let mut body = String::new();
    for block in blocks(described) {
        match block {
            Block::Heading(depth, heading) => body.push_str(&format!("<h{depth}>{}</h{depth}>\n", escaped(&heading))),
            Block::Text(text) => text.split("\n\n").for_each(|part| body.push_str(&format!("<p>{}</p>\n", escaped(part)))),
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
                body.push_str(&format!("<ul>\n{items}</ul>\n"));
            }
            Block::Code(code) => body.push_str(&format!("<pre>{}</pre>\n", escaped(&code))),
            Block::Table(rows) => {
                body.push_str("<table>\n");
                for (at, row) in rows.iter().enumerate() {
                    let tag = if at == 0 { "th" } else { "td" };
                    let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
                    body.push_str(&format!("<tr>{cells}</tr>\n"));
                }
                body.push_str("</table>\n");
            }
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(described.title())
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse}th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}\
pre{background:#f4f4f4;padding:1rem;overflow-x:auto;white-space:pre-wrap}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
