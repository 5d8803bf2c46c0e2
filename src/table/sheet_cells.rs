//! The cells of a sheet of a workbook in any format, and the table that they make: a column has the
//! type of its cells. Only cells with values are kept, because a dense range, as calamine keeps it,
//! takes memory for the size that a file claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

use super::LevelTable;
use super::metadata_columns::{
    CELLS_FREE, ColumnReading, INDEX_COLUMN, MetadataTable, check_width, number_repeated_names,
};
use super::text_types::{TextSummary, is_null_marker};
use super::title_rows::{
    CellKind, OUTLINED_ROWS, OutlinedCell, OutlinedRow, TitledHeader, header_below_titles,
    warning_of_titles,
};
use super::widening::EXACT_IN_DOUBLE;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::text::PrintableLine;

/// Rows between two checks for cancellation.
pub(super) const ROWS_BETWEEN_CHECKS: usize = 4096;
/// Number of milliseconds of a day.
pub(super) const DAY_MS: f64 = 86_400_000.0;
/// Format of a date with time of day, `2021-05-31T10:20:30`.
const INSTANT_FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.f";

/// Value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SheetCell {
    Number(f64),
    Boolean(bool),
    /// Milliseconds since 1970.
    Instant(i64),
    Text(String),
}

/// The cells with values of a sheet by row and column, both from 0.
#[derive(Default)]
pub(super) struct SheetCells {
    rows: BTreeMap<usize, Vec<(usize, SheetCell)>>,
    /// Formulas without a stored value, and the first of them.
    formulas: (u64, String),
    /// Cells with an error such as `#DIV/0!`, and the first of them.
    errors: (u64, String),
}

impl SheetCells {
    /// Adds a cell with a value.
    pub fn add_cell(&mut self, row: usize, column: usize, value: SheetCell) {
        self.rows.entry(row).or_default().push((column, value));
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sets the cells of a row, with their columns.
    pub fn add_row(&mut self, row: usize, cells: Vec<(usize, SheetCell)>) {
        self.rows.insert(row, cells);
    }

    /// Counts a formula without a stored value.
    pub fn note_formula(&mut self, row: usize, column: usize) {
        if self.formulas.0 == 0 {
            self.formulas.1 = cell_name(row, column);
        }
        self.formulas.0 += 1;
    }

    /// Counts a cell that shows the error `text`.
    pub fn note_error(&mut self, row: usize, column: usize, text: &str) {
        if self.errors.0 == 0 {
            self.errors.1 = format!("{} {}", cell_name(row, column), text.printable_line());
        }
        self.errors.0 += 1;
    }

    /// Row, column and value of each cell.
    #[cfg(test)]
    pub fn list_cells(&self) -> impl Iterator<Item = (usize, usize, &SheetCell)> {
        self.rows
            .iter()
            .flat_map(|(row, cells)| cells.iter().map(|(column, cell)| (*row, *column, cell)))
    }

    /// True when a column of the header is a key of samples.
    pub fn names_samples(&self, reading: &dyn Fn(&str) -> ColumnReading) -> bool {
        let titled = self.header_below_titles(reading);
        let at = titled.map_or(0, |titled| titled.at);
        let header = self.rows.values().nth(at).into_iter().flatten();
        header
            .map(|(_, cell)| cell.text())
            .any(|name| reading(&name) == ColumnReading::ExactText)
    }

    /// The header below a title; `None` where the first row is the header.
    fn header_below_titles(&self, reading: &dyn Fn(&str) -> ColumnReading) -> Option<TitledHeader> {
        let mut above: Option<usize> = None;
        let mut rows = Vec::new();
        for (row, cells) in self.rows.iter().take(OUTLINED_ROWS) {
            rows.push(OutlinedRow {
                cells: outline_cells(cells),
                is_below_gap: above.is_some_and(|above| *row > above + 1),
            });
            above = Some(*row);
        }
        header_below_titles(&rows, reading)
    }

    /// The table. Its columns are named in the first row, or in the first row below titles; `size`
    /// is the number of bytes of the sheet.
    pub fn table(
        self,
        size: usize,
        reading: &dyn Fn(&str) -> ColumnReading,
        ctx: &JobContext,
    ) -> Result<MetadataTable> {
        let titled = self.header_below_titles(reading);
        let mut warnings = Vec::new();
        if self.formulas.0 > 0 {
            let (count, first) = self.formulas;
            let (formulas, are) = if count == 1 {
                ("formula has", "is")
            } else {
                ("formulas have", "are")
            };
            warnings.push(format!(
                "{count} {formulas} no stored value and {are} null, from {first} on: save the \
                    workbook in a spreadsheet program"
            ));
        }
        if self.errors.0 > 0 {
            let (count, first) = self.errors;
            let (cells, are) = if count == 1 {
                ("cell has", "is")
            } else {
                ("cells have", "are")
            };
            warnings.push(format!(
                "{count} {cells} the error of a formula and {are} null, from {first} on"
            ));
        }
        let mut rows = self.rows.into_iter();
        if let Some(titled) = titled {
            warnings.insert(0, warning_of_titles(&titled.titles));
            rows.by_ref().take(titled.at).for_each(drop);
        }
        let Some((_, header)) = rows.next() else {
            return Err(damaged_workbook_error("there is no row"));
        };
        let width = header
            .iter()
            .map(|(column, _)| column + 1)
            .max()
            .unwrap_or_default();
        check_width(width)?;
        let mut names = vec![String::new(); width];
        for (column, cell) in header {
            if let Some(name) = names.get_mut(column) {
                *name = cell.text();
            }
        }
        if let Some(first) = names.first_mut().filter(|name| name.is_empty()) {
            INDEX_COLUMN.clone_into(first);
        }
        warnings.extend(number_repeated_names(&mut names));
        let count = rows.len();
        if (count as u64).saturating_mul(width as u64) > CELLS_FREE.max(size as u64) {
            return Err(Error::too_large(format!(
                "{width} columns in {count} rows are nearly all empty"
            )));
        }
        let mut columns: Vec<Vec<Option<SheetCell>>> = vec![vec![None; count]; width];
        let mut lines = Vec::with_capacity(count);
        for (at, (row, cells)) in rows.enumerate() {
            lines.push(row);
            for (column, cell) in cells {
                match columns
                    .get_mut(column)
                    .and_then(|column| column.get_mut(at))
                {
                    Some(slot) => *slot = Some(cell),
                    None => {
                        let place = cell_name(row, column);
                        return Err(Error::format(format!(
                            "cell {place} of the metadata table has a value, but its column has no \
                                name"
                        ))
                        .hint("name the column in the first row, or clear the cell")
                        .hint("delete the rows above the names of the columns, such as a title"));
                    }
                }
            }
        }
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (column, (name, cells)) in names.iter().zip(columns).enumerate() {
            ctx.check()?;
            if name.is_empty() {
                if cells.iter().any(Option::is_some) {
                    warnings.push(format!(
                        "column {} has no name in the header and is left out",
                        column + 1
                    ));
                }
                continue;
            }
            let (array, misfit) = column_of(&cells, reading(name));
            if let Some(row) = misfit.and_then(|at| lines.get(at)) {
                let place = cell_name(*row, column);
                warnings.push(format!(
                    "the column {} is text: its cells have several types, as {place}",
                    name.printable_line()
                ));
            }
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays);
        let batch = batch
            .map_err(|error| Error::internal("columns of one length did not fit").because(error))?;
        Ok(MetadataTable {
            by_column: None,
            table: LevelTable::new(schema, vec![batch]),
            warnings,
        })
    }
}

impl SheetCell {
    /// The cell as text: whole numbers without decimals, dates as ISO 8601.
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::Instant(millis) => {
                let form = if is_day(*millis) {
                    "%Y-%m-%d"
                } else {
                    INSTANT_FORMAT
                };
                DateTime::from_timestamp_millis(*millis)
                    .map(|time| time.format(form).to_string())
                    .unwrap_or_default()
            }
            Self::Text(text) => text.clone(),
        }
    }

    /// Index of the variant.
    fn kind_index(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Boolean(_) => 1,
            Self::Instant(_) => 2,
            Self::Text(_) => 3,
        }
    }

    fn kind(&self) -> CellKind {
        match self {
            Self::Text(_) if self.is_marker() => CellKind::Marker,
            Self::Text(_) => CellKind::Text,
            Self::Number(_) | Self::Boolean(_) | Self::Instant(_) => CellKind::Typed,
        }
    }

    fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Milliseconds since 1970.
    fn as_instant(&self) -> Option<i64> {
        match self {
            Self::Instant(millis) => Some(*millis),
            _ => None,
        }
    }

    /// True for a marker of a missing value, which has no type of its own.
    fn is_marker(&self) -> bool {
        matches!(self, Self::Text(text) if is_null_marker(text))
    }
}

fn is_day(millis: i64) -> bool {
    millis.rem_euclid(DAY_MS as i64) == 0
}

/// What the search for a header reads of the cells of a row.
fn outline_cells(cells: &[(usize, SheetCell)]) -> Vec<OutlinedCell> {
    let outlined = cells.iter().map(|(column, cell)| OutlinedCell {
        column: *column,
        text: cell.text(),
        kind: cell.kind(),
    });
    outlined.collect()
}

/// The array of a column. When the column is text although most cells have one other type, also
/// the index of the first cell that does not have it.
fn column_of(cells: &[Option<SheetCell>], reading: ColumnReading) -> (ArrayRef, Option<usize>) {
    if reading == ColumnReading::ExactText {
        return (Arc::new(format_cells(cells)), None);
    }
    let unmarked = || mask_marker_cells(cells);
    let mut counts = [0u64; 4];
    unmarked()
        .flatten()
        .for_each(|cell| counts[cell.kind_index()] += 1);
    let values: u64 = counts.iter().sum();
    let shared_kind = counts
        .iter()
        .position(|count| *count == values)
        .filter(|_| reading == ColumnReading::Inferred);
    let array: ArrayRef = match shared_kind {
        Some(_) if values == 0 => arrow::array::new_null_array(&DataType::Null, cells.len()),
        Some(0)
            if unmarked()
                .flatten()
                .filter_map(SheetCell::as_number)
                .all(is_exact_integer) =>
        {
            Arc::new(
                unmarked()
                    .map(|cell| cell?.as_number().map(|number| number as i64))
                    .collect::<Int64Array>(),
            )
        }
        Some(0) => Arc::new(
            unmarked()
                .map(|cell| cell?.as_number())
                .collect::<Float64Array>(),
        ),
        Some(1) => Arc::new(
            unmarked()
                .map(|cell| Some(*cell? == SheetCell::Boolean(true)))
                .collect::<BooleanArray>(),
        ),
        Some(2)
            if unmarked()
                .flatten()
                .filter_map(SheetCell::as_instant)
                .all(is_day) =>
        {
            let day = |millis: i64| i32::try_from(millis.div_euclid(DAY_MS as i64)).ok();
            Arc::new(
                unmarked()
                    .map(|cell| cell?.as_instant().and_then(day))
                    .collect::<Date32Array>(),
            )
        }
        Some(2) => {
            let array: TimestampMicrosecondArray = unmarked()
                .map(|cell| cell?.as_instant()?.checked_mul(1000))
                .collect();
            debug_assert_eq!(
                arrow::array::Array::data_type(&array),
                &DataType::Timestamp(TimeUnit::Microsecond, None)
            );
            Arc::new(array)
        }
        _ => {
            let texts = format_cells(cells);
            let mut summary = TextSummary::default();
            texts.iter().flatten().for_each(|text| summary.add(text, 0));
            Arc::new(summary.without_markers(&texts))
        }
    };
    let most = counts
        .iter()
        .position(|count| count.saturating_mul(2) > values)
        .filter(|_| shared_kind.is_none() && values > 0);
    let misfit = most
        .filter(|_| reading == ColumnReading::Inferred)
        .and_then(|most| {
            unmarked().position(|cell| cell.is_some_and(|cell| cell.kind_index() != most))
        });
    (array, misfit)
}

fn format_cells(cells: &[Option<SheetCell>]) -> StringArray {
    cells
        .iter()
        .map(|cell| Some(cell.as_ref()?.text()))
        .collect()
}

/// The cells; `None` for markers of missing values.
fn mask_marker_cells(cells: &[Option<SheetCell>]) -> impl Iterator<Item = Option<&SheetCell>> {
    cells
        .iter()
        .map(|cell| cell.as_ref().filter(|cell| !cell.is_marker()))
}

/// True for a whole number that a double distinguishes from its neighbours.
fn is_exact_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= EXACT_IN_DOUBLE as f64
}

/// Milliseconds since 1970 of a date or a date with a time of day (ISO 8601).
pub(super) fn parse_instant(text: &str) -> Option<i64> {
    let text = text.trim_end_matches('Z');
    let time = NaiveDateTime::parse_from_str(text, INSTANT_FORMAT).ok();
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let time = time.or_else(|| Some(day()?.and_time(NaiveTime::MIN)))?;
    Some(time.and_utc().timestamp_millis())
}

pub(super) fn cell_name(row: usize, column: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect::<String>() + &(row + 1).to_string()
}

pub(super) fn damaged_workbook_error(reason: impl Into<String>) -> Error {
    Error::format("the workbook can't be read")
        .because(reason.into())
        .hint("save it anew as .xlsx or as CSV in UTF-8")
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;

    #[test]
    fn an_instant_that_microseconds_cannot_hold_is_null() {
        let cells = [1, i64::MAX].map(|millis| Some(SheetCell::Instant(millis)));
        let (array, misfit) = column_of(&cells, ColumnReading::Inferred);
        assert_eq!((array.is_null(0), array.is_null(1)), (false, true));
        assert_eq!(misfit, None);
    }
}
