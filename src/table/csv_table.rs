//! Reads CSV tables of users: any usual separator, short rows, an index column without a name.
//! Types are those that come back when printed ([`super::text_types`]).

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use csv::{ReaderBuilder, StringRecord, Trim};

use super::LevelTable;
use super::metadata_columns::{
    CELLS_FREE, ColumnReading, INDEX_COLUMN, MetadataTable, check_width, name_column_by_place,
    number_repeated_names,
};
use super::text_types::{SpelledType, TextSummary, arrow_type, null_array, typed_array};
use super::title_rows::{
    CellKind, OUTLINED_ROWS, OutlinedCell, OutlinedRow, TitledHeader, header_below_titles,
    warning_of_titles,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::text::list_first;

/// Separators, in order of preference among equals.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Bytes of the table by which the separator is chosen.
const LOOKED_AT: usize = 1 << 20;
/// Rows by which the separator is chosen.
const COMPARED_ROWS: usize = 64;
/// Maximum number of columns in the warning of missing values.
const MARKED_SHOWN: usize = 8;
/// Rows per batch.
const BATCH_ROWS: usize = 1 << 16;
/// Bytes of text per batch: offsets of an array have 31 bits.
const BATCH_BYTES: usize = 1 << 29;

/// Reads a table whose first row has the names of the columns; rows of a title may be above it.
///
/// # Errors
/// [`crate::error::Kind::Format`] for rows that are longer than the header,
/// [`crate::error::Kind::TooLarge`] when a limit is exceeded.
pub(super) fn read_csv(
    content: &str,
    reading: &dyn Fn(&str) -> ColumnReading,
    ctx: &JobContext,
) -> Result<MetadataTable> {
    let wrong =
        |error: csv::Error| Error::format("the metadata table can't be read as CSV").because(error);
    let (stated, body) = stated_separator(content);
    let body = without_comments(body);
    let titled = TitledBody::find(body, stated, reading);
    let body = titled.as_ref().map_or(body, |titled| titled.body);
    let lines_before = content[..content.len() - body.len()].matches('\n').count() as u64;
    let separator = match &titled {
        Some(titled) => titled.separator,
        None => stated.unwrap_or_else(|| separator_of(body)),
    };
    check_quotes(body, separator, lines_before, ctx)?;
    let mut rows = csv_reader(body, separator);
    let mut record = StringRecord::new();
    rows.read_record(&mut record).map_err(wrong)?;
    check_width(record.len())?;
    let mut names: Vec<String> = record.iter().map(str::to_owned).collect();
    let mut more = rows.read_record(&mut record).map_err(wrong)?;
    if more && has_unnamed_index(body, separator, names.len()) {
        // The index column of R has no name at all.
        names.insert(0, String::new());
    }
    if let Some(first) = names.first_mut().filter(|name| name.is_empty()) {
        INDEX_COLUMN.clone_into(first);
    }
    let renamed = number_repeated_names(&mut names);
    let mut columns = CsvColumns::new(&names);
    while more {
        let line = lines_before + record.position().map_or(0, |at| line_of(body, at));
        columns.add(&record, line, content.len())?;
        if columns.rows_in_batch == 0 {
            ctx.check()?;
        }
        more = rows.read_record(&mut record).map_err(wrong)?;
    }
    let mut found = columns.finish(names, reading, ctx)?;
    found.warnings.extend(renamed);
    if let Some(titled) = titled {
        found.warnings.insert(0, warning_of_titles(&titled.titles));
    }
    Ok(found)
}

/// A table that has a title above its header.
struct TitledBody<'b> {
    /// The table from its header on.
    body: &'b str,
    separator: u8,
    titles: Vec<String>,
}

impl<'b> TitledBody<'b> {
    /// Finds the header below a title, with the stated separator or any usual one; `None` where the
    /// first row is the header, or may be.
    fn find(
        body: &'b str,
        stated: Option<u8>,
        reading: &dyn Fn(&str) -> ColumnReading,
    ) -> Option<Self> {
        let separators = stated.map_or(SEPARATORS.to_vec(), |separator| vec![separator]);
        let start = start_of(body);
        let may_begin_with_header = separators
            .iter()
            .any(|&separator| begins_with_header(start, separator));
        let found = separators.into_iter().rev().filter_map(|separator| {
            let (offset, titled) = split_titles(start, separator, reading)?;
            if may_begin_with_header && !titled.is_separate {
                return None;
            }
            let titles = titled.titles;
            let body = body.get(offset..)?;
            let score = score_separator(start_of(body), separator)?;
            Some((
                score,
                Self {
                    body,
                    separator,
                    titles,
                },
            ))
        });
        found
            .max_by_key(|(score, _)| *score)
            .map(|(_, titled)| titled)
    }
}

/// True when the first row has two or more values, and one of the next rows is as long.
fn begins_with_header(start: &str, separator: u8) -> bool {
    let mut rows = csv_reader(start, separator)
        .into_records()
        .map_while(Result::ok);
    let first = rows.next().unwrap_or_default();
    first.iter().filter(|value| !value.is_empty()).count() > 1
        && rows.take(COMPARED_ROWS).any(|row| row.len() == first.len())
}

/// The offset of the header below a title, and the header.
fn split_titles(
    start: &str,
    separator: u8,
    reading: &dyn Fn(&str) -> ColumnReading,
) -> Option<(usize, TitledHeader)> {
    let mut reader = csv_reader(start, separator);
    let mut record = StringRecord::new();
    let (mut offsets, mut rows) = (Vec::new(), Vec::new());
    let mut is_below_gap = false;
    while rows.len() < OUTLINED_ROWS && reader.read_record(&mut record).ok()? {
        let at = record.position()?;
        is_below_gap |= has_empty_lines_before(start, at);
        let cells = outline_record(&record);
        if cells.is_empty() {
            is_below_gap = true;
            continue;
        }
        offsets.push(at.byte());
        rows.push(OutlinedRow {
            cells,
            is_below_gap: std::mem::take(&mut is_below_gap),
        });
    }
    let titled = header_below_titles(&rows, reading)?;
    let offset = usize::try_from(*offsets.get(titled.at)?).ok()?;
    Some((offset, titled))
}

/// The line breaks where a record begins: its position is that of the end of the record before it,
/// which may be within the line break.
fn line_breaks_at<'b>(body: &'b str, at: &csv::Position) -> &'b [u8] {
    let byte = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let rest = body.as_bytes().get(byte..).unwrap_or_default();
    let length = rest
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    &rest[..length]
}

/// The line in which a record begins.
fn line_of(body: &str, at: &csv::Position) -> u64 {
    let breaks = line_breaks_at(body, at).iter();
    at.line() + breaks.filter(|byte| **byte == b'\n').count() as u64
}

fn has_empty_lines_before(body: &str, at: &csv::Position) -> bool {
    let breaks = line_breaks_at(body, at);
    let byte = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let before = byte.checked_sub(1).and_then(|at| body.as_bytes().get(at));
    let is_within = before == Some(&b'\r') && breaks.first() == Some(&b'\n');
    breaks.len() > usize::from(is_within)
}

/// The cells of a record that have a value.
fn outline_record(record: &StringRecord) -> Vec<OutlinedCell> {
    let filled = record
        .iter()
        .enumerate()
        .filter(|(_, text)| !text.is_empty());
    filled
        .map(|(column, text)| OutlinedCell {
            column,
            text: text.to_owned(),
            kind: CellKind::of_text(text),
        })
        .collect()
}

fn csv_reader(body: &str, separator: u8) -> csv::Reader<&[u8]> {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All);
    builder.from_reader(body.as_bytes())
}

/// The table without the lines before its header that begin with `#`. A header may do so as well:
/// then it is as long as the next line.
fn without_comments(body: &str) -> &str {
    let mut rest = body;
    while let Some(comment) = rest.strip_prefix('#') {
        let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
        let next = after.lines().next().unwrap_or_default();
        let is_header = |&separator: &u8| is_header_line(line, next, separator);
        if SEPARATORS.iter().any(is_header) {
            return comment;
        }
        rest = after;
    }
    rest
}

/// True when a line that begins with `#` has as many of a separator as the next line.
fn is_header_line(line: &str, next: &str, separator: u8) -> bool {
    let count = |line: &str| line.bytes().filter(|byte| *byte == separator).count();
    count(line) > 0 && count(line) == count(next) && !next.starts_with('#')
}

/// Refuses a quotation mark that is not closed, with which a value would go on to the end of the
/// table, and text behind one that closes a value of several lines, which is that of another value.
fn check_quotes(body: &str, separator: u8, lines_before: u64, ctx: &JobContext) -> Result<()> {
    let mut line = lines_before + 1;
    // Where a value is: its first byte is still to come, in quotation marks from a line on, behind
    // those that close it, or without any.
    let (mut begins, mut opened, mut closed) = (true, None, None);
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if at % LOOKED_AT == 0 {
            ctx.check()?;
        }
        at += 1;
        match (byte, opened) {
            (b'"', Some(_)) if bytes.get(at) == Some(&b'"') => at += 1,
            (b'"', Some(from)) => (opened, closed) = (None, Some(from)),
            (b'"', None) if begins => (opened, begins) = (Some(line), false),
            (_, Some(_)) => {}
            (b'\n' | b'\r', None) => (begins, closed) = (true, None),
            (byte, None) if byte == separator => (begins, closed) = (true, None),
            (b' ' | b'\t', None) => begins = false,
            (_, None) => {
                if let Some(from) = closed.filter(|from| *from < line) {
                    return Err(unclosed_quote_error(from));
                }
                begins = false;
            }
        }
        line += u64::from(byte == b'\n');
    }
    opened.map_or(Ok(()), |line| Err(unclosed_quote_error(line)))
}

fn unclosed_quote_error(line: u64) -> Error {
    Error::format(format!(
        "line {line} of the metadata table has a quotation mark that is not closed"
    ))
    .hint("write a quotation mark within a text twice, and the text between quotation marks")
}

/// True when the first rows all have one value more than the header, and the last is a value.
fn has_unnamed_index(body: &str, separator: u8, columns: usize) -> bool {
    let rows = csv_reader(body, separator)
        .into_records()
        .skip(1)
        .take(COMPARED_ROWS);
    let is_longer = |row: StringRecord| {
        row.len() == columns + 1 && row.iter().next_back().is_some_and(|last| !last.is_empty())
    };
    rows.map_while(Result::ok)
        .filter(|row| row.iter().any(|value| !value.is_empty()))
        .all(is_longer)
}

/// The separator that a first line such as `sep=;` states, and the text after that line.
fn stated_separator(content: &str) -> (Option<u8>, &str) {
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    let stated = first.trim_end_matches('\r').trim_matches('"');
    match stated.as_bytes() {
        [s, e, p, b'=', separator]
            if [*s, *e, *p].eq_ignore_ascii_case(b"sep") && separator.is_ascii() =>
        {
            (Some(*separator), rest)
        }
        _ => (None, content),
    }
}

/// The part of a table by which its separator is chosen.
fn start_of(body: &str) -> &str {
    body.get(..body.floor_char_boundary(LOOKED_AT))
        .unwrap_or_default()
}

/// The separator with which most of the first rows are as long as the header, among equals that
/// with most columns.
fn separator_of(body: &str) -> u8 {
    let start = start_of(body);
    let scored = SEPARATORS
        .into_iter()
        .rev()
        .filter_map(|separator| Some((score_separator(start, separator)?, separator)));
    scored
        .max_by_key(|(score, _)| *score)
        .map_or(b',', |(_, separator)| separator)
}

/// Number of rows as long as the header, and of columns; `None` for a single column.
fn score_separator(start: &str, separator: u8) -> Option<(usize, usize)> {
    let mut lengths = csv_reader(start, separator)
        .into_records()
        .map_while(|record| record.ok().map(|record| record.len()));
    let columns = lengths.next().filter(|columns| *columns > 1)?;
    let alike = lengths
        .take(COMPARED_ROWS)
        .filter(|length| *length == columns)
        .count();
    Some((alike, columns))
}

/// The texts of all columns in batches, and what they are.
struct CsvColumns {
    builders: Vec<StringBuilder>,
    summaries: Vec<TextSummary>,
    /// Texts of the finished batches.
    batches: Vec<Vec<StringArray>>,
    rows: u64,
    rows_in_batch: usize,
    bytes_in_batch: usize,
    /// Number of rows with fewer values than the header, and the line of the first.
    short: (u64, u64),
}

impl CsvColumns {
    fn new(names: &[String]) -> Self {
        Self {
            builders: names.iter().map(|_| StringBuilder::new()).collect(),
            summaries: vec![TextSummary::default(); names.len()],
            batches: Vec::new(),
            rows: 0,
            rows_in_batch: 0,
            bytes_in_batch: 0,
            short: (0, 0),
        }
    }

    /// Adds a row, unless all its values are empty; `size` is that of the table in bytes.
    fn add(&mut self, record: &StringRecord, line: u64, size: usize) -> Result<()> {
        if record.iter().all(str::is_empty) {
            return Ok(());
        }
        let columns = self.builders.len();
        if record.iter().skip(columns).any(|value| !value.is_empty()) {
            let found = record.len();
            let error = Error::format(format!(
                "line {line} of the metadata table has {found} values; the header has {columns}"
            ))
            .hint("put texts with separators in them between double quotes");
            return Err(if columns == 1 {
                error.hint("delete the lines above the names of the columns, such as a title")
            } else {
                error
            });
        }
        if record.as_slice().len() > BATCH_BYTES {
            return Err(Error::too_large(format!(
                "line {line} of the metadata table has {} bytes",
                record.as_slice().len()
            )));
        }
        if record.len() < columns {
            self.short = (
                self.short.0 + 1,
                if self.short.0 == 0 {
                    line
                } else {
                    self.short.1
                },
            );
            // What is missing takes memory as well.
            if self.rows.saturating_mul(columns as u64) > CELLS_FREE.max(2 * size as u64) {
                return Err(Error::too_large(format!(
                    "{columns} columns in {} rows are nearly all empty",
                    self.rows
                )));
            }
        }
        if self.bytes_in_batch + record.as_slice().len() > BATCH_BYTES {
            self.finish_batch();
        }
        let values = record.iter().map(Some).chain(std::iter::repeat(None));
        for ((builder, summary), value) in self
            .builders
            .iter_mut()
            .zip(&mut self.summaries)
            .zip(values)
        {
            let value = value.filter(|value| !value.is_empty());
            builder.append_option(value);
            summary.add(value.unwrap_or_default(), line);
        }
        self.rows += 1;
        self.rows_in_batch += 1;
        self.bytes_in_batch += record.as_slice().len();
        if self.rows_in_batch == BATCH_ROWS {
            self.finish_batch();
        }
        Ok(())
    }

    fn finish_batch(&mut self) {
        self.batches.push(
            self.builders
                .iter_mut()
                .map(StringBuilder::finish)
                .collect(),
        );
        (self.rows_in_batch, self.bytes_in_batch) = (0, 0);
    }

    /// The table with a type for each column.
    fn finish(
        mut self,
        names: Vec<String>,
        reading: &dyn Fn(&str) -> ColumnReading,
        ctx: &JobContext,
    ) -> Result<MetadataTable> {
        if self.rows_in_batch > 0 {
            self.finish_batch();
        }
        let mut warnings = Vec::new();
        if self.short.0 > 0 {
            let (rows, line) = self.short;
            let rows = if rows == 1 {
                "1 row has".to_owned()
            } else {
                format!("{rows} rows have")
            };
            warnings.push(format!(
                "{rows} fewer values than the header, from line {line} on; the \
                missing ones are null"
            ));
        }
        let mut names = names;
        let mut kept = Vec::new();
        for index in 0..names.len() {
            let summary = &self.summaries[index];
            if names[index].is_empty() {
                if summary.is_empty() {
                    continue;
                }
                let name = name_column_by_place(&names, index);
                warnings.push(format!(
                    "column {} has no name in the header: it is called {name}",
                    index + 1
                ));
                names[index] = name;
            }
            kept.push((index, ColumnType::choose(summary, reading(&names[index]))));
        }
        let mut missing = Vec::new();
        for (index, column) in &kept {
            let (name, summary) = (&names[*index], &self.summaries[*index]);
            if matches!(column, ColumnType::Texts) && reading(name) == ColumnReading::Inferred {
                warnings.extend(summary.warning(name));
            }
            if let ColumnType::Typed(SpelledType::Microseconds | SpelledType::Nanoseconds) = column
            {
                warnings.extend(summary.warning_of_zones(name));
            }
            let cells = match column {
                ColumnType::Nulls | ColumnType::ExactTexts => 0,
                ColumnType::Texts => summary.null_texts(),
                ColumnType::Typed(_) => summary.null_markers(),
            };
            if cells > 0 {
                missing.push((name.as_str(), cells));
            }
        }
        warnings.extend(warn_of_markers(&missing));
        let fields = kept
            .iter()
            .map(|(index, column)| Field::new(&names[*index], column.arrow_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut batches = Vec::with_capacity(self.batches.len());
        for texts in std::mem::take(&mut self.batches) {
            ctx.check()?;
            let rows = texts.first().map_or(0, arrow::array::Array::len);
            let arrays = kept
                .iter()
                .map(|(index, column)| column.array(&texts[*index], &self.summaries[*index]))
                .collect();
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options);
            batches.push(batch.map_err(|error| {
                Error::internal("columns of one length did not fit").because(error)
            })?);
        }
        Ok(MetadataTable {
            table: LevelTable::new(schema, batches),
            by_column: None,
            warnings,
        })
    }
}

/// A warning of cells whose texts say that a value is missing, by column.
fn warn_of_markers(columns: &[(&str, u64)]) -> Option<String> {
    let counts = columns
        .iter()
        .map(|(name, cells)| format!("{name} {cells}"));
    (!columns.is_empty()).then(|| {
        format!(
            "cells of the metadata table that say that a value is missing, such as NA, are null: \
                {}",
            list_first(counts, MARKED_SHOWN)
        )
    })
}

/// How the texts of a column become values.
#[derive(Clone, Copy)]
enum ColumnType {
    Nulls,
    /// Texts without null markers.
    Texts,
    /// Texts as they are.
    ExactTexts,
    /// Values of a type.
    Typed(SpelledType),
}

impl ColumnType {
    fn choose(summary: &TextSummary, reading: ColumnReading) -> Self {
        match reading {
            ColumnReading::ExactText => Self::ExactTexts,
            ColumnReading::Text => Self::Texts,
            ColumnReading::Inferred if summary.is_empty() => Self::Nulls,
            ColumnReading::Inferred => summary.shared_type().map_or(Self::Texts, Self::Typed),
        }
    }

    fn arrow_type(self) -> DataType {
        match self {
            Self::Nulls => DataType::Null,
            Self::Texts | Self::ExactTexts => DataType::Utf8,
            Self::Typed(kind) => arrow_type(kind),
        }
    }

    fn array(self, texts: &StringArray, summary: &TextSummary) -> ArrayRef {
        match self {
            Self::Nulls => null_array(arrow::array::Array::len(texts)),
            Self::Texts => Arc::new(summary.without_markers(texts)),
            Self::ExactTexts => Arc::new(texts.clone()),
            Self::Typed(kind) => typed_array(texts, kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;

    fn read(content: &str) -> Result<MetadataTable> {
        let reading = |name: &str| {
            if name == "path" {
                ColumnReading::ExactText
            } else {
                ColumnReading::Inferred
            }
        };
        read_csv(content, &reading, &JobContext::default())
    }

    /// `name: type: values`, one line for each column.
    fn shown(content: &str) -> String {
        let MetadataTable { table, .. } = read(content).expect("reads");
        let column = |(index, field): (usize, crate::model::FieldSpec)| {
            let values: Vec<String> = (0..table.rows())
                .map(|row| table.text(row, index))
                .collect();
            format!(
                "{}: {}: {}\n",
                field.name,
                dtype_name(&field.dtype),
                values.join(" ")
            )
        };
        table.fields().into_iter().enumerate().map(column).collect()
    }

    #[test]
    fn texts_that_look_like_numbers_stay_texts() {
        let found = shown("path,fips,tile\n007,06075,10E10\nNA,48201,31E5\n");
        assert_eq!(
            found,
            "path: string: 007 NA\nfips: string: 06075 48201\ntile: string: 10E10 31E5\n"
        );
    }

    #[test]
    fn separators_are_found_or_stated() {
        let wanted = "path: string: a b\nn: double: 1.5 2\n";
        for content in [
            "path,n\na,1.5\nb,2\n",
            "path;n\na;1,5\nb;2\n",
            "path\tn\r\na\t1.5\r\nb\t2\r\n",
            "path|n\na|1.5\nb|2",
            "sep=;\r\npath;n\r\na;1.5\r\nb;2\r\n",
            "\"sep=|\"\npath|n\na|1.5\nb|2\n",
            " path , n \n a , 1.5 \n\nb,2\n , \n",
        ] {
            assert_eq!(shown(content), wanted, "{content}");
        }
        assert_eq!(
            shown("path;n (a, b, c)\na;1\nb;2\n"),
            "path: string: a b\nn (a, b, c): int64: 1 2\n"
        );
        assert_eq!(shown("path\na\nb\n"), "path: string: a b\n");
    }

    #[test]
    fn missing_values_are_null_and_short_rows_are_filled() {
        let table = read(
            "path,cloud,ndvi,split\na,12.5,NA,train\nb,NA,0.5,N/A\nc,3,NaN\nd,7,0.25,test,,\n",
        )
        .expect("reads");
        let types: Vec<_> = table
            .table
            .fields()
            .iter()
            .map(|field| dtype_name(&field.dtype))
            .collect();
        assert_eq!(types, ["string", "double", "double", "string"]);
        let nulls = |column: usize| {
            (0..4)
                .filter(|row| table.table.value(*row, column).is_null())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (nulls(1), nulls(2), nulls(3)),
            (vec![1], vec![0, 2], vec![1, 2])
        );
        assert_eq!(table.warnings.len(), 2);
        assert!(table.warnings[0].contains("line 4"), "{:?}", table.warnings);
        assert!(
            table.warnings[1].ends_with("cloud 1, ndvi 2, split 1"),
            "{:?}",
            table.warnings
        );
    }

    #[test]
    fn a_column_without_its_type_is_named_with_line_and_value() {
        let table = read("sep=,\npath,day\na,2021-05-01\n\"b\nc\",2021-05-02\nd,0000-00-00\n")
            .expect("reads");
        assert_eq!(table.table.text(2, 1), "0000-00-00");
        let warning = table.warnings.join("\n");
        assert!(
            warning.contains("column day")
                && warning.contains("line 6")
                && warning.contains("0000-00-00"),
            "{warning}"
        );
    }

    #[test]
    fn index_columns_without_a_name_are_kept_and_other_columns_left_out() {
        let wanted = "__index_level_0__: string: a b\nn: int64: 1 2\n";
        assert_eq!(shown(",n\na,1\nb,2\n"), wanted);
        assert_eq!(shown("n\na,1\nb,2\n"), wanted);
        assert_eq!(
            shown("path,n,\na,1,\nb,2,\n"),
            "path: string: a b\nn: int64: 1 2\n"
        );
        let table = read("path,n,\na,1,x\n").expect("reads");
        assert!(
            table.warnings.join("\n").contains("column 3"),
            "{:?}",
            table.warnings
        );
        assert_eq!(table.table.text(0, 2), "x");
        assert_eq!(table.table.fields()[2].name, "column_3");
    }

    #[test]
    fn lines_before_the_header_may_be_comments() {
        let wanted = "path: string: a b\nn: int64: 1 2\n";
        for content in [
            "# made by hand\n#\npath,n\na,1\nb,2\n",
            "#path,n\na,1\nb,2\n",
            "# 1, 2\n#path;n\na;1\nb;2\n",
        ] {
            assert_eq!(shown(content), wanted, "{content}");
        }
        let said = read("# one\npath,n\na,1,3\nb,2\n")
            .expect_err("is refused")
            .report();
        assert!(said.contains("line 3"), "{said}");
    }

    #[test]
    fn a_title_above_the_header_is_left_out_and_reported() {
        let wanted = "path: string: a b\nn: double: 1.5 2\n";
        for content in [
            "Fields of Rwanda\n\npath,n\na,1.5\nb,2\n",
            "Fields of Rwanda,,\nVersion 2,,\n,,\npath,n,\na,1.5,\nb,2,\n",
            "Fields of Rwanda\r\n\r\npath;n\r\na;1,5\r\nb;2\r\n",
            "\"Fields of Rwanda, 2021\"\npath\tn\na\t1.5\nb\t2\n",
            "sep=;\nFields, all of them\npath;n\na;1,5\nb;2\n",
            "# made by hand\nFields of Rwanda\npath|n\na|1.5\nb|2\n",
            "Fields, of Rwanda\n\npath,n\na,1.5\nb,2\n",
            "Fields, of Rwanda\r\n;\r\npath;n\r\na;1,5\r\nb;2\r\n",
            "Fields of Rwanda\nBy: me\nDate: 2021-01-01\npath,n\na,1.5\nb,2\n",
        ] {
            assert_eq!(shown(content), wanted, "{content}");
            let warnings = read(content).expect("reads").warnings;
            assert!(
                warnings[0].contains("above the header") && warnings[0].contains("Fields"),
                "{warnings:?}"
            );
        }
        let long = format!("Fields\n\npath,n\n{}c,3,4\n", "a,1\n".repeat(70));
        let said = read(&long).expect_err("is refused").report();
        assert!(said.contains("line 74"), "{said}");
        let found = read("Fields\n\npath,crop\na,maize\n").expect("reads");
        assert_eq!(found.table.text(0, 1), "maize");
        let said = read("One\nTwo\nThree\nscene,n,m\na,1,2\nb,2,3\n").expect_err("is refused");
        assert!(said.report().contains("title"), "{}", said.report());
        // The first row is the header, or may be.
        for content in [
            "Fields, 2021\npath,n\na,1\nb,2\n",
            "site\na,x\nb,y\n",
            "path,n\na,1\nb,2\n",
            "path;note\na;x, 1\nb;y, 2\nc;z, 3\n",
        ] {
            if let Ok(found) = read(content) {
                let said = found.warnings.join("\n");
                assert!(!said.contains("above the header"), "{content}: {said}");
            }
        }
    }

    #[test]
    fn lines_of_wrong_rows_are_counted_with_empty_ones() {
        for (content, line) in [
            ("path,n\na,1\nb,2,3\n", 3),
            ("path,n\na,1\n\n\nb,2,3\n", 5),
            ("path,n\r\na,1\r\nb,2,3\r\n", 3),
            ("path,n\r\na,1\r\n\r\nb,2,3\r\n", 4),
            ("# one\r\npath,n\r\na,\"1\r\n1\"\r\nb,2,3\r\n", 5),
        ] {
            let said = read(content).expect_err("is refused").report();
            assert!(said.contains(&format!("line {line} ")), "{content}: {said}");
        }
    }

    #[test]
    fn quotation_marks_that_swallow_rows_are_refused() {
        for content in [
            "path,t\na,\"abc\nb,x\nc,y\n",
            "path,t\na,\"abc\nb,\"x\"\nc,y\n",
        ] {
            let said = read(content).expect_err("is refused").report();
            assert!(
                said.contains("line 2") && said.contains("quotation mark"),
                "{said}"
            );
        }
        for content in [
            "path,t\na,\"x\ny\"\nb,\"say \"\"a\"\" , b\" \n",
            "path,t\na,5\" long\nb,\"x\"y\n",
            "path,t\na, \"x\nb,y\n",
        ] {
            assert_eq!(read(content).expect("reads").table.rows(), 2, "{content}");
        }
    }

    #[test]
    fn numbers_whose_zeros_would_be_lost_are_texts() {
        for (texts, wanted) in [
            (["1.10", "1.9"], "string"),
            (["10.0", "10.10"], "string"),
            (["1,10", "2,5"], "string"),
            (["1.10", "2.50"], "double"),
            (["1.0", "2.25"], "double"),
            (["1", "2.50"], "double"),
        ] {
            let content = format!("path;v\na;{}\nb;{}\n", texts[0], texts[1]);
            let found = read(&content).expect("reads");
            assert_eq!(
                dtype_name(&found.table.fields()[1].dtype),
                wanted,
                "{texts:?}"
            );
            assert_eq!(
                found
                    .warnings
                    .iter()
                    .any(|warning| warning.contains("1.10 beside 1.9")),
                wanted == "string",
                "{texts:?}"
            );
        }
    }

    #[test]
    fn columns_of_one_name_get_numbers() {
        let found = read("path,a,a,a_2,a\ns,1,2,3,4\n").expect("reads");
        let names: Vec<String> = found
            .table
            .fields()
            .into_iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(names, ["path", "a", "a_3", "a_2", "a_4"]);
        assert!(
            found.warnings[0].ends_with("a_3, a_4"),
            "{:?}",
            found.warnings
        );
    }

    #[test]
    fn tables_that_would_lose_values_are_refused() {
        let said = |content: &str| read(content).expect_err("is refused").report();
        assert!(said("path,cloud\na,1\nb,2,3\n").contains("line 3"));
        assert!(
            said("path,cloud\na,1,9\nb,2\n").contains("line 2 "),
            "a longer first row is no index"
        );
        let rows = format!(
            "{}\n{}",
            vec!["c"; 5000]
                .iter()
                .enumerate()
                .map(|(n, c)| format!("{c}{n}"))
                .collect::<Vec<_>>()
                .join(","),
            "1\n".repeat(2000)
        );
        assert!(read(&rows).is_err_and(|error| error.is_too_large()));
    }
}
