//! Finds the header of a table that has a title above it: rows with one filled cell, then the names
//! of the columns. Only what is certain is found; of other tables the first row is the header.

use super::metadata_columns::ColumnReading;
use super::text_types::{TextSummary, is_null_marker};
use crate::text::list_first;

/// Maximum number of rows with a title.
const TITLE_ROWS: usize = 2;
/// Rows behind the header that it is compared with.
const DATA_ROWS: usize = 64;
/// Least number of these.
const DATA_LEAST: usize = 2;
/// Rows by which the header is found.
pub(super) const OUTLINED_ROWS: usize = TITLE_ROWS + 1 + DATA_ROWS;
/// Longest title in a warning, in characters.
const TITLE_SHOWN: usize = 60;

/// What a cell with a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    Text,
    /// A number, a date or another type that is not text.
    Typed,
    /// A text that says that a value is missing.
    Marker,
}

impl CellKind {
    /// What the text of a cell is, without whitespace around it.
    pub fn of_text(text: &str) -> Self {
        if is_null_marker(text) {
            return Self::Marker;
        }
        let mut summary = TextSummary::default();
        summary.add(text, 0);
        match summary.shared_type() {
            Some(_) => Self::Typed,
            None => Self::Text,
        }
    }
}

/// A cell with a value: its column, its text and what it is.
pub(super) struct OutlinedCell {
    pub column: usize,
    pub text: String,
    pub kind: CellKind,
}

/// The index of the header among the first rows that have values, and the titles above it; `None`
/// where the first of them is the header, or may be.
///
/// Certain is a header of two or more different texts below one or two rows with one cell, behind
/// which two or more rows are no wider; that has the name of a key, or is as long as the longest of
/// these rows and has values other than texts below one of its names.
pub(super) fn header_below_titles(
    rows: &[Vec<OutlinedCell>],
    reading: &dyn Fn(&str) -> ColumnReading,
) -> Option<(usize, Vec<String>)> {
    let at = rows.iter().position(|row| row.len() > 1)?;
    let titles: Vec<String> = rows
        .get(..at)?
        .iter()
        .flatten()
        .map(|cell| cell.text.clone())
        .collect();
    let is_key = |name: &String| reading(name) == ColumnReading::ExactText;
    if !(1..=TITLE_ROWS).contains(&titles.len()) || titles.iter().any(is_key) {
        return None;
    }
    let (header, data) = (rows.get(at)?, rows.get(at + 1..)?);
    let data: Vec<&[OutlinedCell]> = data.iter().take(DATA_ROWS).map(Vec::as_slice).collect();
    let is_header = are_different_texts(header)
        && data.len() >= DATA_LEAST
        && data
            .iter()
            .all(|row| row.iter().all(|cell| has_column(header, cell.column)));
    let longest = data.iter().map(|row| row.len()).max().unwrap_or_default();
    let is_certain = header.iter().any(|cell| is_key(&cell.text))
        || longest == header.len() && header.iter().any(|cell| names_values(cell.column, &data));
    (is_header && is_certain).then_some((at, titles))
}

fn are_different_texts(header: &[OutlinedCell]) -> bool {
    let mut names: Vec<&str> = header.iter().map(|cell| cell.text.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == header.len() && header.iter().all(|cell| cell.kind == CellKind::Text)
}

fn has_column(header: &[OutlinedCell], column: usize) -> bool {
    header.iter().any(|cell| cell.column == column)
}

/// True for a column with values other than texts, and no text.
fn names_values(column: usize, data: &[&[OutlinedCell]]) -> bool {
    let mut is_typed = false;
    for cell in data
        .iter()
        .flat_map(|row| row.iter())
        .filter(|cell| cell.column == column)
    {
        if cell.kind == CellKind::Text {
            return false;
        }
        is_typed |= cell.kind == CellKind::Typed;
    }
    is_typed
}

/// A warning of the rows above the header.
pub(super) fn warning_of_titles(titles: &[String]) -> String {
    let rows = if titles.len() == 1 { "row" } else { "rows" };
    let shown = titles
        .iter()
        .map(|title| title.chars().take(TITLE_SHOWN).collect::<String>());
    format!(
        "the {rows} above the header of the metadata table, with one value each, are left out: {}",
        list_first(shown, TITLE_ROWS)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from lines, columns by `|`; empty cells have no value.
    fn rows(lines: &str) -> Vec<Vec<OutlinedCell>> {
        let row = |line: &str| {
            let cells = line.split('|').enumerate();
            let filled = cells.filter(|(_, text)| !text.is_empty());
            filled.map(outlined).collect()
        };
        lines.split('/').map(row).collect()
    }

    fn outlined((column, text): (usize, &str)) -> OutlinedCell {
        OutlinedCell {
            column,
            text: text.to_owned(),
            kind: CellKind::of_text(text),
        }
    }

    fn reading(name: &str) -> ColumnReading {
        match name {
            "path" => ColumnReading::ExactText,
            _ => ColumnReading::Inferred,
        }
    }

    #[test]
    fn a_header_below_a_title_is_found_where_it_is_certain() {
        for (lines, wanted) in [
            ("Fields/path|crop/a|maize/b|rice", Some(1)),
            ("Fields/Version 2/path|crop/a|maize/b|rice", Some(2)),
            ("|Fields/scene|cloud/a|1/b|2", Some(1)),
            ("Fields/scene|cloud|note/a|NA|x/b|2", Some(1)),
            // No name of a key, and nothing but texts.
            ("Fields/scene|crop/a|maize/b|rice", None),
            // The header is the first row.
            ("path|crop/a|maize/b|rice", None),
            ("path/scene|cloud/a|1/b|2", None),
            ("scene/a/b/c|x/d|1/e|2", None),
            // Rows are wider than what would be the header, or it is no list of names.
            ("Fields/path|crop/a|maize|1/b|rice", None),
            ("Fields/path|7/a|1/b|2", None),
            ("Fields/path|crop|crop/a|1|2/b|3|4", None),
            ("Fields/scene|cloud|note/a|1/b|2", None),
            ("Fields/scene|cloud/a|1", None),
            ("Fields/path|crop", None),
            ("Fields", None),
        ] {
            let found = header_below_titles(&rows(lines), &reading);
            assert_eq!(found.map(|(at, _)| at), wanted, "{lines}");
        }
    }

    #[test]
    fn titles_are_named_in_the_warning() {
        let warning = warning_of_titles(&["Fields".to_owned(), "x".repeat(100)]);
        assert!(warning.contains("rows above the header"), "{warning}");
        assert!(warning.contains("Fields, xxx"), "{warning}");
        assert!(warning.len() < 200, "{warning}");
    }
}
