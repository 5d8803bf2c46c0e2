//! Walks the tortillas of a file, the nested ones among them, level by level. A footer that can't be read, or a place that leads
//! elsewhere, is a finding with the sample's path; only the outermost footer must be right. Every range lies inside its tortilla
//! and no tortilla is entered twice, so the walk ends.

use std::collections::{BTreeSet, HashSet};

use arrow::array::{Array, Int64Array, StringArray};
use rayon::prelude::*;

use super::chain::POINTER;
use super::header::{HEADER_SIZE, TortillaHeader};
use super::join::{Widened, join};
use crate::container::LocalFile;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Finding, Location, MAX_LEVELS, Rule, SamplePath};
use crate::table::{LevelTable, ParquetSlice, TableHead};

/// Levels below which nothing is entered: a file may nest as deep as it likes.
const DEEPEST: usize = MAX_LEVELS * 2;
/// Rows that a file may have for each of its bytes, and that any file may have.
const ROWS_PER_BYTE: u64 = 1;
const ROWS_FREE: u64 = 1 << 21;
/// The word in `tortilla:file_format` that says: a tortilla in the tortilla.
pub const NESTED: &str = "TORTILLA";

/// One tortilla: a file, or a range of one.
#[derive(Clone)]
pub struct Tortilla {
    /// The number of its file among the parts.
    pub part: usize,
    /// Its first byte in the file.
    pub base: u64,
    /// Its length in bytes.
    pub size: u64,
    /// What its first bytes say.
    pub header: TortillaHeader,
    /// Its footer.
    pub table: LevelTable,
    /// Its sample's row in the level above.
    pub parent: Option<u32>,
    /// What its footer says under the key `pointer`: where a chain goes on.
    pub pointer: Option<String>,
    /// Places of the objects of the chain behind the footer.
    pub chain: Vec<(u64, u64)>,
}

/// One level: the rows of all its tortillas, below one another.
#[derive(Default)]
pub struct ScannedLevel {
    /// The footers' columns, joined.
    pub batch: Option<arrow::array::RecordBatch>,
    /// Columns whose types differ between tortillas.
    pub widened: Vec<Widened>,
    /// `tortilla:id`; empty text where it is null.
    pub ids: Vec<String>,
    /// True where `tortilla:file_format` is TORTILLA.
    pub folder: Vec<bool>,
    /// Row in the level above; on level 0 the own one.
    pub parents: Vec<u32>,
    /// The number of the part.
    pub parts: Vec<u32>,
    /// First byte in the part's file, and length; `None` where the footer says something impossible.
    pub ranges: Vec<Option<(u64, u64)>>,
}

/// What was found in a file or in several parts.
#[derive(Default)]
pub struct Scan {
    /// Level 0 first; at least one.
    pub levels: Vec<ScannedLevel>,
    /// What is wrong, with its place.
    pub findings: Vec<Finding>,
}

/// Reads one tortilla: header and footer.
pub fn read_tortilla(file: &LocalFile, part: usize, base: u64, size: u64, ctx: &JobContext) -> Result<Tortilla> {
    let header = TortillaHeader::parse(&file.read(base, HEADER_SIZE.min(size))?)?;
    if let Some(fault) = header.fault(size) {
        return Err(Error::format(fault));
    }
    let (offset, length) = header.footer;
    let at = |error: Error| if error.is_cancelled() { error } else { Error::format("the footer can't be read").because(error) };
    // In one piece, which over a network is one request.
    let head = TableHead::read(ParquetSlice::from_bytes(file.read(base + offset, length)?)).map_err(at)?;
    let table = head.decode(ctx).map_err(at)?;
    for name in ["tortilla:id", "tortilla:file_format", "tortilla:offset", "tortilla:length"] {
        if table.column_index(name).is_none() {
            return Err(Error::format(format!("the footer has no column {name}")));
        }
    }
    Ok(Tortilla { part, base, size, header, table, parent: None, pointer: head.note(POINTER), chain: Vec::new() })
}

/// Walks down from the outermost tortillas, one for each part.
pub fn scan(files: &[LocalFile], roots: Vec<Tortilla>, ctx: &JobContext) -> Result<Scan> {
    let mut scan = Scan::default();
    let bytes: u64 = files.iter().map(LocalFile::size_bytes).sum();
    let rows_max = ROWS_FREE.max(bytes.saturating_mul(ROWS_PER_BYTE)).min(u64::from(u32::MAX - 1));
    let mut entered: HashSet<(usize, u64)> = roots.iter().map(|root| (root.part, root.base)).collect();
    let mut rows = 0;
    let mut tortillas = roots;
    while !tortillas.is_empty() {
        ctx.check()?;
        rows += tortillas.iter().map(|tortilla| tortilla.table.rows() as u64).sum::<u64>();
        if rows > rows_max {
            return Err(Error::format(format!("the footers claim more than {rows_max} rows in {bytes} bytes")));
        }
        let depth = scan.levels.len();
        let level = read_level(&tortillas, depth, &mut scan)?;
        let nested: Vec<u32> = (0..level.folder.len() as u32).filter(|&row| level.folder[row as usize]).collect();
        scan.levels.push(level);
        tortillas = Vec::new();
        if depth + 1 == DEEPEST && !nested.is_empty() {
            let message = tr!("Tortillas are nested more than {levels} deep; what is below is not read.", levels = DEEPEST);
            scan.findings.push(Finding::new(Rule::TortillaNested, Location::Level(depth), message));
            break;
        }
        let Some(level) = scan.levels.last() else { break };
        let found: Vec<Option<Result<Tortilla>>> = nested
            .par_iter()
            .map(|&row| {
                let (offset, length) = level.ranges[row as usize]?;
                let part = level.parts[row as usize] as usize;
                let file = files.get(part)?;
                let tortilla = ctx.check().and_then(|()| read_tortilla(file, part, offset, length, ctx));
                Some(tortilla.map(|tortilla| Tortilla { parent: Some(row), ..tortilla }))
            })
            .collect();
        for (&row, found) in nested.iter().zip(found) {
            let at = |scan: &Scan| Location::Sample { level: depth, row, path: path_of(&scan.levels, depth, row) };
            match found {
                // Its range is wrong, which was said before.
                None => {}
                Some(Ok(tortilla)) if entered.insert((tortilla.part, tortilla.base)) => tortillas.push(tortilla),
                Some(Ok(_)) => {
                    let message = tr!("Another sample is the same nested tortilla; it is read once.");
                    scan.findings.push(Finding::new(Rule::TortillaOverlap, at(&scan), message));
                }
                Some(Err(error)) if error.is_passing() => return Err(error),
                Some(Err(error)) => {
                    let message = format!("{} {}", tr!("The nested tortilla can't be read."), error.sentence());
                    scan.findings.push(Finding::new(Rule::TortillaNested, at(&scan), message));
                }
            }
        }
    }
    Ok(scan)
}

/// A row of a tortilla: its place in the file, and whether it is a tortilla itself.
pub struct NestedItem {
    /// A tortilla in the tortilla.
    pub nested: bool,
    /// First byte in the file, and length.
    pub range: (u64, u64),
}

/// The footer of the tortilla in this range of a file, and where its items are. A row that leads outside is an error.
pub fn nested_items(file: &LocalFile, (offset, length): (u64, u64), ctx: &JobContext) -> Result<(LevelTable, Vec<NestedItem>)> {
    let tortilla = read_tortilla(file, 0, offset, length, ctx)?;
    let level = read_level(std::slice::from_ref(&tortilla), 0, &mut Scan::default())?;
    let items = level.folder.iter().zip(level.ranges).enumerate().map(|(row, (&nested, range))| {
        let range = range.ok_or_else(|| Error::format(format!("row {row} of the footer leads outside its tortilla")))?;
        Ok(NestedItem { nested, range })
    });
    Ok((tortilla.table, items.collect::<Result<_>>()?))
}

/// Names that several columns of a table have. Readers take the first of them.
pub fn twice_named(table: &LevelTable) -> Vec<String> {
    let mut seen = HashSet::new();
    let schema = table.schema();
    let mut found: Vec<String> =
        schema.fields().iter().map(|field| field.name()).filter(|name| !seen.insert(name.as_str())).cloned().collect();
    found.dedup();
    found
}

pub(super) fn read_level(tortillas: &[Tortilla], depth: usize, scan: &mut Scan) -> Result<ScannedLevel> {
    let mut level = ScannedLevel::default();
    let mut bad: Vec<(u32, String)> = Vec::new();
    let mut twice: BTreeSet<String> = BTreeSet::new();
    for tortilla in tortillas {
        twice.extend(twice_named(&tortilla.table));
        let text = |name: &str| -> Result<StringArray> {
            tortilla.table.strings(name)?.ok_or_else(|| Error::format(format!("the footer has no column {name}")))
        };
        let number = |name: &str| -> Result<Int64Array> {
            tortilla.table.integers(name)?.ok_or_else(|| Error::format(format!("the footer has no column {name}")))
        };
        let (ids, formats) = (text("tortilla:id")?, text("tortilla:file_format")?);
        let (offsets, lengths) = (number("tortilla:offset")?, number("tortilla:length")?);
        // Samples lie between header and footer; whoever writes the footer first can't place samples behind the file either.
        let end = tortilla.header.footer.0;
        for row in 0..tortilla.table.rows() {
            let here = level.ids.len() as u32;
            level.ids.push(if ids.is_valid(row) { ids.value(row).to_owned() } else { String::new() });
            level.folder.push(formats.is_valid(row) && formats.value(row) == NESTED);
            level.parents.push(tortilla.parent.unwrap_or(here));
            level.parts.push(tortilla.part as u32);
            let stated = |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
            let (offset, length) = (stated(&offsets), stated(&lengths));
            let range = offset.and_then(|n| u64::try_from(n).ok()).zip(length.and_then(|n| u64::try_from(n).ok()));
            let inside = |(offset, length): &(u64, u64)| {
                *offset >= HEADER_SIZE && offset.checked_add(*length).is_some_and(|last| last <= end)
            };
            match range.filter(inside) {
                Some((offset, length)) => level.ranges.push(Some((tortilla.base + offset, length))),
                None => {
                    let shown = |n: Option<i64>| n.map_or("null".to_owned(), |n| n.to_string());
                    let message = tr!(
                        "tortilla:offset is {offset} and tortilla:length {length}; samples lie between {start} and the footer at {end}.",
                        offset = shown(offset),
                        length = shown(length),
                        start = HEADER_SIZE,
                        end
                    );
                    bad.push((here, message));
                    level.ranges.push(None);
                }
            }
        }
    }
    let tables: Vec<LevelTable> = tortillas.iter().map(|tortilla| tortilla.table.clone()).collect();
    let (batch, widened) = join(&tables)?;
    level.batch = Some(batch);
    level.widened = widened;
    scan.findings.extend(twice.into_iter().map(|name| said_twice(depth, name)));
    scan.levels.push(level);
    for (row, message) in bad {
        let at = Location::Sample { level: depth, row, path: path_of(&scan.levels, depth, row) };
        scan.findings.push(Finding::new(Rule::TortillaRange, at, message));
    }
    scan.levels.pop().ok_or_else(|| Error::internal("a level was lost"))
}

/// The finding for a name that several columns of a footer have.
pub(super) fn said_twice(level: usize, name: String) -> Finding {
    let message = tr!("Several columns are called {column}; the first of them is shown.", column = name);
    Finding::new(Rule::TortillaTypes, Location::Column { level, name }, message)
}

/// The ids from the root to a row.
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
