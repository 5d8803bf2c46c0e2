//! Traverses the tortillas of a file, including nested ones, level by level. An unreadable nested
//! footer or an invalid range is a finding with the sample's path; only the outermost footer must
//! be valid. Every range is inside its tortilla and no tortilla is visited twice, so the
//! traversal terminates. Rows and bytes of all footers are counted before any is decoded.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use rayon::prelude::*;

use super::header::{HEADER_SIZE, TortillaHeader, stated_format};
use super::join::{Widened, join};
use crate::container::LocalFile;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Finding, Location, MAX_LEVELS, Report, Rule, SamplePath};
use crate::table::{DecodeBudget, LevelTable, ParquetSlice, TableHead};

/// The Parquet metadata key of the link to the next table of a chain.
pub const POINTER: &str = "pointer";
/// Maximum number of levels that are read; the format does not limit nesting.
const LEVELS_READ_MAX: usize = MAX_LEVELS * 2;
/// Maximum rows per byte of file, and of any file.
const ROWS_PER_BYTE: u64 = 1;
const ROWS_FREE: u64 = 1 << 19;
/// A remote footer up to this size in bytes is fetched whole with one request.
const FOOTER_WHOLE: u64 = 32 << 20;
/// Value of `tortilla:file_format` for a nested tortilla.
pub const NESTED: &str = "TORTILLA";

/// One tortilla: a file or a byte range of one.
#[derive(Clone)]
pub struct TortillaFile {
    /// Index of its file among the parts.
    pub part: usize,
    /// Its offset in the file.
    pub base: u64,
    /// Its length in bytes.
    pub size: u64,
    pub header: TortillaHeader,
    /// Its footer.
    pub table: LevelTable,
    /// Row of its sample in the level above; `None` for an outermost tortilla.
    pub parent: Option<u32>,
    /// Its footer's metadata value `pointer`: the link to the next object of a streamable dataset.
    pub pointer: Option<String>,
    /// `(offset, length)` of the linked objects after the footer.
    pub chain: Vec<(u64, u64)>,
}

/// One level: the concatenated rows of all its tortillas.
#[derive(Default)]
pub struct ScannedLevel {
    /// The footers' columns, united.
    pub batch: Option<arrow::array::RecordBatch>,
    /// Columns whose types differ between tortillas.
    pub widened: Vec<Widened>,
    /// `tortilla:id`; an empty string for null.
    pub ids: Vec<String>,
    /// True where `tortilla:file_format` is TORTILLA.
    pub folder: Vec<bool>,
    /// Row of the parent in the level above; on level 0 the row itself.
    pub parents: Vec<u32>,
    /// Index of the part.
    pub parts: Vec<u32>,
    /// `(offset, length)` in the part's file; `None` where the footer's range is invalid.
    pub ranges: Vec<Option<(u64, u64)>>,
}

impl ScannedLevel {
    /// Adds the id of a row of a footer, and whether it is a FOLDER.
    pub(super) fn push_sample(&mut self, ids: &StringArray, formats: &StringArray, row: usize) {
        let id = ids.is_valid(row).then(|| ids.value(row).to_owned());
        self.ids.push(id.unwrap_or_default());
        self.folder
            .push(formats.is_valid(row) && formats.value(row) == NESTED);
    }
}

/// Result of a traversal.
#[derive(Default)]
pub struct TortillaScan {
    /// Level 0 first; never empty.
    pub levels: Vec<ScannedLevel>,
    /// Problems found, with their places.
    pub findings: Report,
}

/// Memory limits shared by all footers of a dataset.
pub struct Footers {
    /// Bytes that decoding may allocate.
    pub budget: DecodeBudget,
    rows: AtomicU64,
    rows_max: u64,
    /// Part and offset of the footers counted so far.
    counted: Mutex<HashSet<(usize, u64)>>,
}

impl Footers {
    /// Limits for files of this total size in bytes.
    pub fn of_bytes(bytes: u64) -> Self {
        let rows_max = ROWS_FREE
            .max(bytes.saturating_mul(ROWS_PER_BYTE))
            .min(u64::from(u32::MAX - 1));
        Self {
            budget: DecodeBudget::default(),
            rows: AtomicU64::new(0),
            rows_max,
            counted: Mutex::default(),
        }
    }

    /// Limits for these files.
    pub fn of_files(files: &[LocalFile]) -> Self {
        Self::of_bytes(files.iter().map(LocalFile::size_bytes).sum())
    }

    /// Decodes a footer after counting its rows and bytes. `place` is `(part, offset)`.
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::error::Kind::TooLarge) when a limit is exceeded,
    /// [`Kind::Format`](crate::error::Kind::Format) when the Parquet is invalid.
    pub fn decode(
        &self,
        head: &TableHead,
        place: (usize, u64),
        ctx: &JobContext,
    ) -> Result<LevelTable> {
        let rows = head.rows() as u64;
        if self
            .rows
            .fetch_add(rows, Ordering::Relaxed)
            .saturating_add(rows)
            > self.rows_max
        {
            let summary = format!(
                "the footers claim more rows than {}, which is the most for files of this size",
                self.rows_max
            );
            return Err(
                Error::too_large(summary).hint("the file is damaged or malicious: do not trust it")
            );
        }
        // Overlapping tortillas may share a footer, whose bytes count once.
        if self
            .counted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(place)
        {
            self.budget.add_stored(head.stored_bytes());
        }
        head.decode_within(None, &self.budget, ctx)
    }
}

/// A footer as a Parquet file: read on demand, or prefetched when remote.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when the range is outside the file, or a failed
/// request.
pub fn footer_slice(file: &LocalFile, offset: u64, length: u64) -> Result<ParquetSlice> {
    if file.is_remote() && length <= FOOTER_WHOLE {
        Ok(ParquetSlice::from_bytes(file.read(offset, length)?))
    } else {
        file.parquet(offset, length)
    }
}

/// Reads one tortilla: header and footer.
pub fn read_tortilla(
    file: &LocalFile,
    part: usize,
    (base, size): (u64, u64),
    footers: &Footers,
    ctx: &JobContext,
) -> Result<TortillaFile> {
    let bytes = file.read(base, HEADER_SIZE.min(size))?;
    let header = TortillaHeader::parse(&bytes)?;
    if let Some(fault) = header.fault(size) {
        return Err(Error::format(fault));
    }
    let (offset, length) = header.footer;
    let at = |error| unreadable_footer_error(error, "the footer can't be read");
    let (table, pointer) =
        if header.end != HEADER_SIZE && file.read(base + offset, 1)?.starts_with(b"{") {
            (
                footer_of_ranges(&file.read(base + offset, length)?).map_err(at)?,
                None,
            )
        } else {
            let head = footer_slice(file, base + offset, length)
                .and_then(TableHead::read)
                .map_err(at)?;
            (
                footers
                    .decode(&head, (part, base + offset), ctx)
                    .map_err(at)?,
                head.note(POINTER),
            )
        };
    let table = with_formats(table, &bytes)?;
    for name in [
        "tortilla:id",
        "tortilla:file_format",
        "tortilla:offset",
        "tortilla:length",
    ] {
        if table.column_index(name).is_none() {
            return Err(Error::format(format!("the footer has no column {name}")));
        }
    }
    Ok(TortillaFile {
        part,
        base,
        size,
        header,
        table,
        parent: None,
        pointer,
        chain: Vec::new(),
    })
}

/// Cancellation stays as it is.
pub(super) fn unreadable_footer_error(error: Error, message: &str) -> Error {
    if error.is_cancelled() {
        error
    } else {
        Error::format(message).because(error)
    }
}

/// The footer of pytortilla up to 0.0.3: a JSON object with offset and length of each sample by its
/// id.
fn footer_of_ranges(bytes: &[u8]) -> Result<LevelTable> {
    let ranges: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes)
        .map_err(|error| {
            Error::format("the footer is not readable as JSON").because(error.to_string())
        })?;
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values(ranges.keys()));
    let columns = [
        ("tortilla:id", ids),
        ("tortilla:offset", collect_range_numbers(&ranges, 0)),
        ("tortilla:length", collect_range_numbers(&ranges, 1)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, values)| (name, values, true)),
    )
    .map_err(|error| Error::internal("the footer does not fit its columns").because(error))?;
    Ok(LevelTable::new(batch.schema(), vec![batch]))
}

/// The numbers at one place of each range; null for what is none.
fn collect_range_numbers(
    ranges: &serde_json::Map<String, serde_json::Value>,
    place: usize,
) -> ArrayRef {
    Arc::new(Int64Array::from_iter(ranges.values().map(|range| {
        range.get(place).and_then(serde_json::Value::as_i64)
    })))
}

/// The footer with `tortilla:file_format`, which pytortilla before 0.3.1 did not write: 0.3.0
/// called it `file_format`, others wrote one format of all samples to the header.
fn with_formats(table: LevelTable, header: &[u8]) -> Result<LevelTable> {
    const FORMAT: &str = "tortilla:file_format";
    if table.column_index(FORMAT).is_some() {
        return Ok(table);
    }
    let known: Vec<ArrayRef> = match (table.strings("file_format")?, stated_format(header)) {
        (Some(_), _) => {
            let Some(index) = table.column_index("file_format") else {
                return Ok(table);
            };
            table
                .batches()
                .iter()
                .map(|batch| batch.column(index).clone())
                .collect()
        }
        (None, Some(format)) => {
            let texts = |rows: usize| Arc::new(StringArray::from(vec![format; rows])) as ArrayRef;
            table
                .batches()
                .iter()
                .map(|batch| texts(batch.num_rows()))
                .collect()
        }
        (None, None) => return Ok(table),
    };
    let dtype = known
        .first()
        .map_or(DataType::Utf8, |column| column.data_type().clone());
    let mut fields = table.schema().fields().to_vec();
    fields.push(Arc::new(Field::new(FORMAT, dtype, true)));
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        table.schema().metadata().clone(),
    ));
    let batches = table.batches().iter().zip(known).map(|(batch, column)| {
        let columns = batch.columns().iter().cloned().chain([column]).collect();
        RecordBatch::try_new(schema.clone(), columns)
    });
    let batches: std::result::Result<Vec<RecordBatch>, _> = batches.collect();
    let batches = batches
        .map_err(|error| Error::internal("a column does not fit the footer").because(error))?;
    Ok(LevelTable::new(schema, batches))
}

/// Traverses from the outermost tortillas, one per part, downwards.
///
/// # Errors
/// When an outermost tortilla is invalid, a limit is exceeded, or the job is cancelled.
pub fn scan(
    files: &[LocalFile],
    roots: Vec<TortillaFile>,
    footers: &Footers,
    ctx: &JobContext,
) -> Result<TortillaScan> {
    let mut scan = TortillaScan::default();
    let mut entered: HashSet<(usize, u64)> =
        roots.iter().map(|root| (root.part, root.base)).collect();
    let mut tortillas = roots;
    while !tortillas.is_empty() {
        ctx.check()?;
        let depth = scan.levels.len();
        let level = read_level(&tortillas, depth, footers, &mut scan)?;
        let nested: Vec<u32> = (0..level.folder.len() as u32)
            .filter(|&row| level.folder[row as usize])
            .collect();
        scan.levels.push(level);
        tortillas = Vec::new();
        if depth + 1 == LEVELS_READ_MAX && !nested.is_empty() {
            let message = tr!(
                "Tortillas are nested more than {levels} deep; what is below is not read.",
                levels = LEVELS_READ_MAX
            );
            scan.findings.push(Finding::new(
                Rule::TortillaNested,
                Location::Level(depth),
                message,
            ));
            break;
        }
        let Some(level) = scan.levels.last() else {
            break;
        };
        // Each range is read once, even when several rows refer to it. Invalid ranges were reported
        // before.
        let mut new: Vec<(u32, usize, (u64, u64))> = Vec::new();
        for &row in &nested {
            let (part, range) = (
                level.parts[row as usize] as usize,
                level.ranges[row as usize],
            );
            match range {
                None => {}
                Some(range) if entered.insert((part, range.0)) => new.push((row, part, range)),
                Some(_) => {
                    let message =
                        tr!("Another sample is the same nested tortilla; it is read once.");
                    scan.findings.push(Finding::new(
                        Rule::TortillaOverlap,
                        scan.place(depth, row),
                        message,
                    ));
                }
            }
        }
        let found: Vec<Option<Result<TortillaFile>>> = new
            .par_iter()
            .map(|&(row, part, range)| {
                let file = files.get(part)?;
                let tortilla = ctx
                    .check()
                    .and_then(|()| read_tortilla(file, part, range, footers, ctx));
                Some(tortilla.map(|tortilla| TortillaFile {
                    parent: Some(row),
                    ..tortilla
                }))
            })
            .collect();
        for ((row, ..), found) in new.into_iter().zip(found) {
            match found {
                None => {}
                Some(Ok(tortilla)) => tortillas.push(tortilla),
                Some(Err(error)) if error.is_passing() => return Err(error),
                // Later footers would exceed the limit as well.
                Some(Err(error)) if error.is_too_large() => {
                    let path = path_of(&scan.levels, depth, row);
                    return Err(Error::format("a nested tortilla can't be read")
                        .because(error)
                        .at_place(path));
                }
                Some(Err(error)) => {
                    let message = format!(
                        "{} {}",
                        tr!("The nested tortilla can't be read."),
                        error.sentence()
                    );
                    scan.findings.push(Finding::new(
                        Rule::TortillaNested,
                        scan.place(depth, row),
                        message,
                    ));
                }
            }
        }
    }
    Ok(scan)
}

impl TortillaScan {
    fn place(&self, depth: usize, row: u32) -> Location {
        Location::Sample {
            level: depth,
            row,
            path: path_of(&self.levels, depth, row),
        }
    }
}

/// A row of a tortilla.
pub struct NestedItem {
    /// True for a nested tortilla.
    pub nested: bool,
    /// Offset in the file and length, in bytes.
    pub range: (u64, u64),
}

/// The footer of the tortilla at this `(offset, length)` of a file, and the ranges of its items.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) when the footer is invalid or an item is outside
/// the tortilla.
pub fn nested_items(
    file: &LocalFile,
    (offset, length): (u64, u64),
    ctx: &JobContext,
) -> Result<(LevelTable, Vec<NestedItem>)> {
    let footers = Footers::of_bytes(file.size_bytes());
    let tortilla = read_tortilla(file, 0, (offset, length), &footers, ctx)?;
    let level = read_level(
        std::slice::from_ref(&tortilla),
        0,
        &footers,
        &mut TortillaScan::default(),
    )?;
    let items = level
        .folder
        .iter()
        .zip(level.ranges)
        .enumerate()
        .map(|(row, (&nested, range))| {
            let range = range.ok_or_else(|| {
                Error::format(format!(
                    "row {row} of the footer leads outside its tortilla"
                ))
            })?;
            Ok(NestedItem { nested, range })
        });
    Ok((tortilla.table, items.collect::<Result<_>>()?))
}

/// Names that occur more than once among a table's columns. Readers use the first.
pub fn duplicate_names(table: &LevelTable) -> Vec<String> {
    let mut seen = HashSet::new();
    let schema = table.schema();
    let mut found: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| field.name())
        .filter(|name| !seen.insert(name.as_str()))
        .cloned()
        .collect();
    found.dedup();
    found
}

pub(super) fn read_level(
    tortillas: &[TortillaFile],
    depth: usize,
    footers: &Footers,
    scan: &mut TortillaScan,
) -> Result<ScannedLevel> {
    let mut level = ScannedLevel::default();
    let mut bad: Vec<(u32, [Option<i64>; 2], u64)> = Vec::new();
    let mut twice: BTreeSet<String> = BTreeSet::new();
    for tortilla in tortillas {
        twice.extend(duplicate_names(&tortilla.table));
        let texts = |name| tortilla.table.require_strings(name, "the footer");
        let integers = |name| tortilla.table.require_integers(name, "the footer");
        let (ids, formats) = (texts("tortilla:id")?, texts("tortilla:file_format")?);
        let (offsets, lengths) = (integers("tortilla:offset")?, integers("tortilla:length")?);
        // The bytes of samples are between header and footer.
        let end = tortilla.header.footer.0;
        for row in 0..tortilla.table.rows() {
            let here = level.ids.len() as u32;
            level.push_sample(&ids, &formats, row);
            level.parents.push(tortilla.parent.unwrap_or(here));
            level.parts.push(tortilla.part as u32);
            let stated = |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
            let (offset, length) = (stated(&offsets), stated(&lengths));
            let range = offset
                .and_then(|n| u64::try_from(n).ok())
                .zip(length.and_then(|n| u64::try_from(n).ok()));
            match range.filter(|range| is_range_within(*range, &(tortilla.header.end..end))) {
                Some((offset, length)) => level.ranges.push(Some((tortilla.base + offset, length))),
                None => {
                    bad.push((here, [offset, length], end));
                    level.ranges.push(None);
                }
            }
        }
    }
    let tables: Vec<LevelTable> = tortillas
        .iter()
        .map(|tortilla| tortilla.table.clone())
        .collect();
    let (batch, widened) = join(&tables, &footers.budget)?;
    level.batch = Some(batch);
    level.widened = widened;
    twice
        .into_iter()
        .for_each(|name| scan.findings.push(duplicate_column(depth, name)));
    scan.levels.push(level);
    for (row, [offset, length], end) in bad {
        let shown = |n: Option<i64>| n.map_or("null".to_owned(), |n| n.to_string());
        let message = tr!(
            "tortilla:offset is {offset} and tortilla:length {length}; samples are between {start} \
                and the footer at {end}.",
            offset = shown(offset),
            length = shown(length),
            start = HEADER_SIZE,
            end
        );
        let at = scan.place(depth, row);
        scan.findings
            .push(Finding::new(Rule::TortillaRange, at, message));
    }
    scan.levels
        .pop()
        .ok_or_else(|| Error::internal("a level was lost"))
}

/// True for a range (offset, length) of bytes inside another.
pub(super) fn is_range_within((offset, length): (u64, u64), outer: &std::ops::Range<u64>) -> bool {
    let end = offset.checked_add(length);
    offset >= outer.start && end.is_some_and(|end| end <= outer.end)
}

/// The finding for a duplicate column name in a footer.
pub(super) fn duplicate_column(level: usize, name: String) -> Finding {
    let message = tr!(
        "Several columns are called {column}; the first of them is shown.",
        column = name
    );
    Finding::new(
        Rule::TortillaTypes,
        Location::Column { level, name },
        message,
    )
}

/// Ids from the root to a row.
pub fn path_of(levels: &[ScannedLevel], depth: usize, row: u32) -> SamplePath {
    let mut ids = Vec::with_capacity(depth + 1);
    let mut row = row as usize;
    for level in levels.iter().take(depth + 1).rev() {
        let Some(id) = level.ids.get(row) else { break };
        ids.push(id.as_str().into());
        row = level.parents[row] as usize;
    }
    ids.reverse();
    SamplePath(ids)
}
