//! The data card: a summary of the dataset in blocks, and its Markdown form with the front matter
//! that hubs read.

use serde_json::Value as Json;

use super::map::{Map, map_of};
use super::{Described, ModuleOpening, croissant, module_code, python_code};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{PitSchema, SampleKind, Value, dtype_name, is_padding};
use crate::table::{value_at, value_text};

/// Maximum number of ids of a pattern that are listed.
const TREE_IDS: usize = 12;

/// A block of the card.
pub(super) enum Block {
    Heading(usize, String),
    /// Text of the dataset, possibly Markdown.
    Text(String),
    List(Vec<String>),
    Table(Vec<Vec<String>>),
    Code(String),
    Map(Map),
}

pub(super) fn blocks(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Block>> {
    let mut blocks = vec![
        Block::Heading(1, described.title().to_owned()),
        Block::Text(described.description().to_owned()),
    ];
    let mut facts = vec![
        format!("Identifier: {}", described.id()),
        format!("Version: {}", described.version()),
        format!(
            "Licence: {}",
            or_dash(&described.texts("licenses").join(", "))
        ),
        format!("Tasks: {}", or_dash(&described.texts("tasks").join(", "))),
        match described.facts.size_bytes {
            Some(size) => format!("Format: {}, {size} bytes", described.facts.format.badge()),
            None => format!("Format: {}", described.facts.format.badge()),
        },
    ];
    if let Some([west, south, east, north]) = described.bbox {
        facts.push(format!(
            "Extent: {west}, {south}, {east}, {north} (west, south, east, north in degrees)"
        ));
    }
    if let Some([start, end]) = &described.interval {
        facts.push(format!("Time: {start} to {end}"));
    }
    let files = files(described);
    if !files.is_empty() {
        facts.push(format!("Files: {}", files.len()));
    }
    let keywords = described.texts("keywords");
    if !keywords.is_empty() {
        facts.push(format!("Keywords: {}", keywords.join(", ")));
    }
    blocks.push(Block::List(facts));
    if let Some(map) = map_of(described, ctx)? {
        blocks.push(Block::Heading(2, "Location".into()));
        blocks.push(Block::Map(map));
    }
    if files.len() > 1 {
        blocks.push(Block::Heading(2, "Files".into()));
        let head = ["File", "West, south, east, north", "Time"]
            .map(str::to_owned)
            .to_vec();
        blocks.push(Block::Table(std::iter::once(head).chain(files).collect()));
    }
    structure(described, &mut blocks);
    blocks.push(Block::Heading(2, "Fields".into()));
    for level in 0..described.assembly.levels.len() {
        let fields = fields_of(described, level);
        blocks.push(Block::Heading(
            3,
            format!("Level {level} ({} fields)", fields.len()),
        ));
        let head = ["Field", "Type", "What it means"]
            .map(str::to_owned)
            .to_vec();
        blocks.push(Block::Table(
            std::iter::once(head)
                .chain(fields.into_iter().map(Vec::from))
                .collect(),
        ));
    }
    if let Some(rows) = splits(described) {
        blocks.push(Block::Heading(2, "Splits".into()));
        blocks.push(Block::Table(rows));
    }
    if let Some(classes) = described
        .fields
        .get("labels:classes")
        .and_then(|classes| classes.as_array())
    {
        let mut rows = vec![vec![
            "Class".into(),
            "Category".into(),
            "What it means".into(),
        ]];
        rows.extend(classes.iter().map(|class| {
            vec![
                format_class_value(class.get("name")),
                format_class_value(class.get("category")),
                format_class_value(class.get("description")),
            ]
        }));
        blocks.push(Block::Heading(2, "Classes".into()));
        blocks.push(Block::Table(rows));
    }
    let rai: Vec<String> = described
        .fields
        .iter()
        .filter(|(key, value)| key.starts_with("rai:") && !value.is_null())
        .map(|(key, value)| {
            format!(
                "{}: {}",
                key.trim_start_matches("rai:"),
                value.as_str().map_or(value.to_string(), str::to_owned)
            )
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
                let more = [
                    contact.organization.filter(|o| *o != contact.name),
                    contact.email,
                    contact.url,
                ];
                let roles = if contact.roles.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", contact.roles.join(", "))
                };
                let more: Vec<String> = more.into_iter().flatten().collect();
                [vec![contact.name + &roles], more].concat().join(", ")
            })
            .collect();
        if !people.is_empty() {
            blocks.push(Block::Heading(2, title.into()));
            blocks.push(Block::List(people));
        }
    }
    let publications: Vec<String> = described
        .publications()
        .into_iter()
        .map(|one| {
            let doi = one.doi.map(|doi| format!("https://doi.org/{doi}"));
            one.citation
                .into_iter()
                .chain(doi)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    if !publications.is_empty() {
        blocks.push(Block::Heading(2, "Publications".into()));
        blocks.push(Block::List(publications));
    }
    blocks.push(Block::Heading(2, "How to read it".into()));
    let addresses = described.addresses();
    for code in [
        python_code(&addresses, described.facts.format, None),
        module_code(&ModuleOpening::from_addresses(&addresses), None, &[]),
    ] {
        blocks.push(Block::Code(code.trim_end().to_owned()));
    }
    if described.facts.training.is_some() {
        blocks.push(Block::Heading(2, "How to train on it".into()));
        blocks.push(Block::Code(
            described.training_code()?.trim_end().to_owned(),
        ));
    }
    blocks.push(Block::Heading(2, "How to cite it".into()));
    blocks.push(Block::Code(croissant::citation(described)));
    Ok(blocks)
}

fn format_class_value(value: Option<&Json>) -> String {
    match value {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The parts of a dataset: name, bounding box, time.
fn files(described: &Described<'_>) -> Vec<Vec<String>> {
    described.source_extents().map(list_extent_cells).collect()
}

/// File, bounding box and time of one of `taco:sources` → `extents`.
fn list_extent_cells(extent: &Json) -> Vec<String> {
    let numbers = extent
        .get("spatial")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .map(Json::to_string);
    let times = extent
        .get("temporal")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str);
    let file = extent
        .get("file")
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    vec![
        file,
        numbers.collect::<Vec<_>>().join(", "),
        times.collect::<Vec<_>>().join(" to "),
    ]
}

/// The tree pattern: a table of counts, and the pattern itself.
fn structure(described: &Described<'_>, blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading(2, "Structure".into()));
    let Some(pit) = PitSchema::from_skeleton(&described.assembly.tree) else {
        return;
    };
    let top = &described.assembly.tree.levels[0];
    let first: Vec<&str> = (0..top.len().min(3))
        .map(|row| top.ids.value(row))
        .collect();
    let more = |shown: usize, all: usize| if all > shown { ", …" } else { "" };
    let mut rows = vec![
        ["Level", "Type", "Samples", "Ids"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.push(vec![
        "Level 0".into(),
        format!("All {}", pit.root.kind.as_str()),
        pit.root.n.to_string(),
        format!("{}{}", first.join(", "), more(first.len(), top.len())),
    ]);
    for (level, patterns) in &pit.hierarchy {
        for pattern in patterns {
            let kinds: Vec<&str> = pattern.kinds.iter().map(|kind| kind.as_str()).collect();
            let alike = kinds.iter().all(|kind| *kind == kinds[0]);
            let kinds = match kinds.len() {
                1 => format!("All {}", kinds[0]),
                count if alike && count > TREE_IDS => format!("{count} × {}", kinds[0]),
                _ => kinds.join(" + "),
            };
            let ids: Vec<&str> = pattern
                .ids
                .iter()
                .take(TREE_IDS)
                .map(String::as_str)
                .collect();
            rows.push(vec![
                format!("Level {level}"),
                kinds,
                pattern.n.to_string(),
                format!("{}{}", ids.join(", "), more(ids.len(), pattern.ids.len())),
            ]);
        }
    }
    blocks.push(Block::Table(rows));
    blocks.push(Block::Code(tree_text(&pit)));
}

/// By position, whether the tree leaves it out: those beyond [`TREE_IDS`] except the last, and
/// except FOLDERs until there are as many of these.
fn list_hidden(kinds: &[SampleKind]) -> Vec<bool> {
    let mut folders = 0;
    let mut hidden = Vec::with_capacity(kinds.len());
    for (position, kind) in kinds.iter().enumerate() {
        let is_shown_folder = *kind == SampleKind::Folder && folders < TREE_IDS;
        folders += usize::from(*kind == SampleKind::Folder);
        hidden.push(position >= TREE_IDS && position + 1 < kinds.len() && !is_shown_folder);
    }
    hidden
}

/// The pattern as an indented tree.
fn tree_text(pit: &PitSchema) -> String {
    /// Appends the children of the next FOLDER of a level; patterns are in tree order.
    fn push_folder_tree(
        pit: &PitSchema,
        level: usize,
        taken: &mut Vec<usize>,
        indent: &str,
        text: &mut String,
    ) {
        let Some(patterns) = pit.hierarchy.get(&level.to_string()) else {
            return;
        };
        if taken.len() < level {
            taken.resize(level, 0);
        }
        let Some(pattern) = patterns.get(taken[level - 1]) else {
            return;
        };
        taken[level - 1] += 1;
        let count = pattern.ids.len();
        let hidden = list_hidden(&pattern.kinds);
        let hidden_count = hidden.iter().filter(|hidden| **hidden).count();
        let first_hidden = hidden.iter().position(|hidden| *hidden);
        for (position, (id, kind)) in pattern.ids.iter().zip(&pattern.kinds).enumerate() {
            let last = position + 1 == count;
            let folder = *kind == SampleKind::Folder;
            if !hidden[position] {
                let (branch, mark) = (
                    if last { "└── " } else { "├── " },
                    if folder { "/" } else { "" },
                );
                text.push_str(&format!("{indent}{branch}{id}{mark}\n"));
            } else if first_hidden == Some(position) {
                text.push_str(&format!("{indent}├── … {hidden_count} more\n"));
            }
            if folder {
                let indent = format!("{indent}{}", if last { "    " } else { "│   " });
                // The patterns below a hidden FOLDER are passed over.
                let mut unseen = String::new();
                let text = if hidden[position] {
                    &mut unseen
                } else {
                    &mut *text
                };
                push_folder_tree(pit, level + 1, taken, &indent, text);
            }
        }
    }
    let mut text = format!(
        "{} samples, each a {}\n",
        pit.root.n,
        pit.root.kind.as_str()
    );
    push_folder_tree(pit, 1, &mut Vec::new(), "", &mut text);
    text.trim_end().to_owned()
}

/// Fields of a level with their descriptions, in table order; `internal:*` fields last.
fn fields_of(described: &Described<'_>, level: usize) -> Vec<[String; 3]> {
    let said = described
        .fields
        .get("taco:field_schema")
        .and_then(|schema| schema.get(format!("level{level}"))?.as_array());
    let said: Vec<[String; 3]> = said
        .into_iter()
        .flatten()
        .map(|entry| [0, 1, 2].map(|at| read_schema_text(entry, at)))
        .collect();
    let mut fields = Vec::new();
    for field in described
        .assembly
        .levels
        .iter()
        .skip(level)
        .take(1)
        .flat_map(|table| {
            table
                .batch
                .schema()
                .fields()
                .clone()
                .iter()
                .cloned()
                .collect::<Vec<_>>()
        })
    {
        let known = said.iter().find(|entry| entry[0] == *field.name());
        let dtype = known
            .map(|entry| entry[1].clone())
            .filter(|dtype| !dtype.is_empty())
            .unwrap_or_else(|| dtype_name(field.data_type()));
        fields.push([
            field.name().clone(),
            dtype,
            croissant::described_field(described, level, field.name()),
        ]);
    }
    let rest = said.into_iter().filter(|entry| {
        !fields
            .iter()
            .any(|field: &[String; 3]| field[0] == entry[0])
    });
    let rest: Vec<[String; 3]> = rest.filter(|entry| !entry[0].is_empty()).collect();
    fields.extend(rest);
    fields
}

/// A text of an entry of `taco:field_schema`: `[name, type, description]`.
fn read_schema_text(entry: &Json, at: usize) -> String {
    entry
        .get(at)
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// Number of level-0 samples by value of `split`, without padding.
fn splits(described: &Described<'_>) -> Option<Vec<Vec<String>>> {
    let level = described.assembly.levels.first()?;
    let column = level.batch.column_by_name("split")?;
    let mut counts: std::collections::BTreeMap<String, usize> = Default::default();
    let ids = described.assembly.tree.levels.first()?;
    for row in (0..column.len()).filter(|&row| !is_padding(ids.id(row as u32))) {
        let name = match value_at(column, row) {
            Value::Null => "none".into(),
            value => value_text(&value, column.data_type()),
        };
        *counts.entry(name).or_default() += 1;
    }
    let mut rows = vec![vec!["Split".into(), "Samples".into()]];
    rows.extend(
        counts
            .into_iter()
            .map(|(name, count)| vec![name, count.to_string()]),
    );
    Some(rows)
}

/// The card as Markdown. Text of the dataset is escaped.
///
/// # Errors
/// When the map cannot be drawn, or the job is cancelled.
pub fn markdown(described: &Described<'_>, ctx: &JobContext) -> Result<String> {
    let lower: Vec<String> = described
        .texts("licenses")
        .iter()
        .map(|licence| licence.to_lowercase())
        .collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let mut text = format!(
        "---\npretty_name: {}\n{}",
        quote_yaml(described.title()),
        format_yaml_list("license", &lower)
    );
    text.push_str(&format_yaml_list(
        "tags",
        &described
            .texts("keywords")
            .into_iter()
            .chain(described.texts("tasks"))
            .collect::<Vec<_>>(),
    ));
    text.push_str("---\n");
    for block in blocks(described, ctx)? {
        text.push('\n');
        match block {
            Block::Heading(depth, heading) => text.push_str(&format!(
                "{} {}\n",
                "#".repeat(depth),
                escape_markup(&heading)
            )),
            Block::Text(body) => text.push_str(&format!(
                "{}\n",
                body.lines()
                    .map(escape_text_line)
                    .collect::<Vec<_>>()
                    .join("\n")
            )),
            Block::List(items) => items
                .iter()
                .for_each(|item| text.push_str(&format!("- {}\n", escape_markup(item)))),
            Block::Code(code) => {
                text.push_str(&format!("```\n{}\n```\n", code.replace("```", "'''")))
            }
            // Hubs render this as a map.
            Block::Map(map) => text.push_str(&format!(
                "{}\n\n```geojson\n{}\n```\n",
                escape_markup(&map.caption),
                map.geojson
            )),
            Block::Table(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    let cells: Vec<String> = row
                        .iter()
                        .map(|cell| escape_markup(cell).replace('|', "\\|"))
                        .collect();
                    text.push_str(&format!("| {} |\n", cells.join(" | ")));
                    if at == 0 {
                        text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
                    }
                }
            }
        }
    }
    Ok(text)
}

/// A text as a JSON string, which YAML takes.
pub fn quote_yaml(text: &str) -> String {
    Json::from(text).to_string()
}

/// A list of the front matter; empty without items.
pub fn format_yaml_list<T: AsRef<str>>(name: &str, items: &[T]) -> String {
    let lines: String = items
        .iter()
        .map(|item| format!("- {}\n", quote_yaml(item.as_ref())))
        .collect();
    if items.is_empty() {
        String::new()
    } else {
        format!("{name}:\n{lines}")
    }
}

/// The URLs of a text, each behind the text before it; the last text has an empty URL.
pub(super) fn split_urls(text: &str) -> Vec<(&str, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = ["https://", "http://"]
        .iter()
        .filter_map(|scheme| rest.find(scheme))
        .min()
    {
        let end = at + find_url_end(&rest[at..]);
        let address = rest[at..end].trim_end_matches(['.', ',', ';', ':', '*', '`']);
        pieces.push((&rest[..at], address));
        rest = &rest[at + address.len()..];
    }
    pieces.push((rest, ""));
    pieces
}

/// Length of the URL at the begin of a text: to a blank, a quote, an angle bracket, or a
/// parenthesis that closes none of the URL.
fn find_url_end(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            '<' | '>' | '"' => return at,
            c if c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// A line of a text that may be Markdown, so that it begins no code block and does not turn the
/// line before it into a heading.
fn escape_text_line(line: &str) -> String {
    let line = line.trim_start();
    let marks = line.trim_end();
    let is_underline = |mark: char| !marks.is_empty() && marks.trim_matches(mark).is_empty();
    let escaped = escape_markup(line);
    if is_underline('=') || is_underline('-') {
        format!("\\{escaped}")
    } else {
        escaped
    }
}

/// Text on one line, with markup escaped and URLs as links.
fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (text, address) in split_urls(text) {
        text.chars()
            .for_each(|letter| push_escaped(letter, &mut out));
        // Backslashes and entities mean nothing in these brackets.
        if !address.is_empty() {
            out.push_str(&format!("<{address}>"));
        }
    }
    out
}

fn push_escaped(letter: char, out: &mut String) {
    match letter {
        '\n' | '\r' => out.push(' '),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '~' => out.push_str("&#126;"),
        '*' | '_' | '`' | '[' | ']' | '#' | '\\' => out.extend(['\\', letter]),
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{PitPattern, PitRoot};

    /// A pattern whose ids are `a0`, `a1`, … with the prefix of the kind.
    fn build_pattern(kinds: &[SampleKind]) -> PitPattern {
        let name = |(at, kind): (usize, &SampleKind)| match kind {
            SampleKind::Folder => format!("d{at}"),
            SampleKind::File => format!("f{at}"),
        };
        PitPattern {
            n: kinds.len() as u64,
            kinds: kinds.to_vec(),
            ids: kinds.iter().enumerate().map(name).collect(),
        }
    }

    fn draw_tree(levels: &[Vec<PitPattern>]) -> Vec<String> {
        let levels = (1..).zip(levels);
        let hierarchy: BTreeMap<String, Vec<PitPattern>> = levels
            .map(|(level, patterns)| (level.to_string(), patterns.clone()))
            .collect();
        let pit = PitSchema {
            root: PitRoot {
                n: 1,
                kind: SampleKind::Folder,
            },
            shape: Vec::new(),
            hierarchy,
        };
        tree_text(&pit).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_tree_shows_or_counts_every_id() {
        let (file, folder) = (SampleKind::File, SampleKind::Folder);
        // 12 FILEs, a FOLDER, 6 FILEs.
        let kinds = [vec![file; 12], vec![folder], vec![file; 6]].concat();
        let below = build_pattern(&[file]);
        let drawn = draw_tree(&[vec![build_pattern(&kinds)], vec![below.clone()]]);
        assert_eq!(
            drawn[12..],
            [
                "├── f11",
                "├── d12/",
                "│   └── f0",
                "├── … 5 more",
                "└── f18"
            ]
        );
        // A FOLDER among the hidden ones.
        let kinds = [vec![file; 14], vec![folder], vec![file; 2]].concat();
        let drawn = draw_tree(&[vec![build_pattern(&kinds)], vec![below.clone()]]);
        assert_eq!(
            drawn[12..],
            [
                "├── f11",
                "├── … 3 more",
                "├── d14/",
                "│   └── f0",
                "└── f16"
            ]
        );
        // FOLDERs alone; the last has its own pattern.
        let mut patterns = vec![below; 364];
        patterns.push(build_pattern(&[file, file]));
        let drawn = draw_tree(&[vec![build_pattern(&[folder; 365])], patterns]);
        assert_eq!(
            drawn[23..],
            [
                "├── d11/",
                "│   └── f0",
                "├── … 352 more",
                "└── d364/",
                "    ├── f0",
                "    └── f1"
            ]
        );
    }

    #[test]
    fn markup_of_the_dataset_is_text_and_addresses_are_links() {
        let texts = [
            (
                "See https://doi.org/10.1007/978-3-319-46493-0_1.",
                "See <https://doi.org/10.1007/978-3-319-46493-0_1>.",
            ),
            (
                "(https://a.example/x?a=1&copy=2)",
                "(<https://a.example/x?a=1&copy=2>)",
            ),
            ("`https://a.example`", "\\`<https://a.example>\\`"),
            (
                "&copy; a_b <b> ~~c~~",
                "&amp;copy; a\\_b &lt;b&gt; &#126;&#126;c&#126;&#126;",
            ),
        ];
        for (text, escaped) in texts {
            assert_eq!(escape_markup(text), escaped);
        }
        let lines = [
            ("~~~", "&#126;&#126;&#126;"),
            ("=== ", "\\=== "),
            ("---", "\\---"),
            ("    a_b", "a\\_b"),
            ("- one", "- one"),
            ("> quoted", "&gt; quoted"),
            ("", ""),
        ];
        for (line, escaped) in lines {
            assert_eq!(escape_text_line(line), escaped);
        }
    }
}
