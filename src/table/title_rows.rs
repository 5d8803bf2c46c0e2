//! Finds the header of a table that has a title above it: rows with one filled cell, or any rows
//! before an empty one, then the names of the columns. Only what is certain is found; of other
//! tables the first row is the header.

use super::metadata_columns::ColumnReading;
use super::text_types::{TextSummary, is_null_marker};
use crate::text::list_first;

/// Maximum number of rows above a header that names no key.
const TITLE_ROWS: usize = 2;
/// Maximum number of rows above a header that names a key.
const TITLE_ROWS_OF_KEY: usize = 16;
/// Titles in a warning.
const TITLES_SHOWN: usize = 2;
/// Rows behind the header that it is compared with.
const DATA_ROWS: usize = 64;
/// Least number of these behind a header that names no key.
const DATA_LEAST: usize = 2;
/// Rows by which the header is found.
pub(super) const OUTLINED_ROWS: usize = TITLE_ROWS_OF_KEY + 1 + DATA_ROWS;
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

/// A row with values.
pub(super) struct OutlinedRow {
    pub cells: Vec<OutlinedCell>,
    /// True where an empty row is above it.
    pub is_below_gap: bool,
}

impl OutlinedRow {
    fn names_key(&self, reading: &dyn Fn(&str) -> ColumnReading) -> bool {
        let is_key = |cell: &OutlinedCell| reading(&cell.text) == ColumnReading::ExactText;
        self.cells.iter().any(is_key)
    }

    fn title(&self) -> String {
        let texts: Vec<&str> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        texts.join(", ")
    }
}

/// The header of a table, and what is above it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TitledHeader {
    /// Index among the rows with values.
    pub at: usize,
    pub titles: Vec<String>,
    /// True for the first row that names a key, below an empty row: whatever is above it is no part
    /// of the table.
    pub is_separate: bool,
}

/// The header below a title; `None` where the first of the rows is the header, or may be.
///
/// Certain is a header of two or more different texts, behind which no row is wider. Either it has
/// the name of a key, and is below rows with one cell or below an empty row; or it is below one or
/// two rows with one cell, two or more rows are behind it, and it is as long as the longest of
/// these and has values other than texts below one of its names.
pub(super) fn header_below_titles(
    rows: &[OutlinedRow],
    reading: &dyn Fn(&str) -> ColumnReading,
) -> Option<TitledHeader> {
    let first_wide = rows.iter().position(|row| row.cells.len() > 1)?;
    let of_key = rows
        .iter()
        .position(|row| row.names_key(reading))
        .filter(|&at| at <= first_wide || rows[at].is_below_gap);
    let at = of_key.unwrap_or(first_wide);
    let (header, above) = (rows.get(at)?, rows.get(..at)?);
    let data: Vec<&[OutlinedCell]> = rows
        .iter()
        .skip(at + 1)
        .take(DATA_ROWS)
        .map(|row| row.cells.as_slice())
        .collect();
    let are_single = above.iter().all(|row| row.cells.len() == 1);
    let (is_certain, most) = if of_key.is_some() {
        let is_below = are_single || header.is_below_gap;
        (is_below && !data.is_empty(), TITLE_ROWS_OF_KEY)
    } else {
        (are_single && names_values(&header.cells, &data), TITLE_ROWS)
    };
    let is_found = is_certain
        && (1..=most).contains(&above.len())
        && header.cells.len() > 1
        && are_different_texts(&header.cells)
        && data.iter().all(|row| {
            row.iter()
                .all(|cell| has_column(&header.cells, cell.column))
        });
    is_found.then(|| TitledHeader {
        at,
        titles: above.iter().map(OutlinedRow::title).collect(),
        is_separate: of_key.is_some() && header.is_below_gap,
    })
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

/// True for a header as long as the longest of the rows behind it, with values other than texts
/// below one of its names.
fn names_values(header: &[OutlinedCell], data: &[&[OutlinedCell]]) -> bool {
    let longest = data.iter().map(|row| row.len()).max().unwrap_or_default();
    data.len() >= DATA_LEAST
        && longest == header.len()
        && header.iter().any(|cell| has_values(cell.column, data))
}

/// True for a column with values other than texts, and no text.
fn has_values(column: usize, data: &[&[OutlinedCell]]) -> bool {
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
    let rows = match titles {
        [_] => "the row above the header of the metadata table is".to_owned(),
        titles => format!(
            "the {} rows above the header of the metadata table are",
            titles.len()
        ),
    };
    let shown = titles
        .iter()
        .map(|title| title.chars().take(TITLE_SHOWN).collect::<String>());
    format!("{rows} left out: {}", list_first(shown, TITLES_SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from lines, columns by `|`; empty cells have no value, and a line that begins with `~`
    /// is below an empty row.
    fn rows(lines: &str) -> Vec<OutlinedRow> {
        let row = |line: &str| {
            let cells = line.trim_start_matches('~').split('|').enumerate();
            let filled = cells.filter(|(_, text)| !text.is_empty());
            OutlinedRow {
                cells: filled.map(outlined).collect(),
                is_below_gap: line.starts_with('~'),
            }
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
            ("Fields/path|crop/a|maize", Some(1)),
            ("By me/On land/At noon/~path|crop/a|maize/b|rice", Some(3)),
            // Rows before an empty one may have several cells.
            ("Fields|2021/~path|crop/a|maize/b|rice", Some(1)),
            ("By|me/On|land|now/~path|crop/a|maize", Some(2)),
            ("Fields|2021/path|crop/a|maize/b|rice", None),
            ("Fields|2021/~scene|cloud/a|1/b|2", None),
            ("path|crop/~path|maize/b|rice", None),
            // A value may be the name of a key.
            ("Fields/scene|cloud|kind/a|1|path/b|2|file", Some(1)),
            ("By me/On land/At noon/~scene|cloud/a|1/b|2", None),
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
            assert_eq!(found.map(|found| found.at), wanted, "{lines}");
        }
    }

    #[test]
    fn titles_are_named_in_the_warning() {
        let warning = warning_of_titles(&["Fields".to_owned(), "x".repeat(100)]);
        assert!(
            warning.starts_with("the 2 rows above the header"),
            "{warning}"
        );
        assert!(warning.contains("Fields, xxx"), "{warning}");
        assert!(warning.len() < 200, "{warning}");
        let warning = warning_of_titles(&["Fields".to_owned()]);
        assert!(warning.ends_with("table is left out: Fields"), "{warning}");
    }
}
