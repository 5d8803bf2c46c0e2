//! Streamable TACO 0.2 datasets ("Facilitating dataset streaming with TOGs"): the footer is a
//! linked list ("chain") of Parquet objects. The header locates the first one, the samples of level
//! 0; the metadata key `pointer` of each object locates the next as `OFFSETLENGTH(offset, length)`,
//! and is NULL in the last, which lists the chunks. In every object `tortilla:root` is the parent's
//! row in the previous object. Offsets are relative to the beginning of the file. A list that
//! leaves the file or overlaps itself is an error with the offset.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use bytes::Bytes;

use super::header::HEADER_SIZE;
use super::join::join;
use super::scan::{
    Footers, POINTER, ScannedLevel, footer_slice, is_range_within, unreadable_footer_error,
};
use crate::container::LocalFile;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::MAX_LEVELS;
use crate::raster::ChunkLayout;
use crate::table::{DecodeBudget, LevelTable, ParquetOptions, ParquetSink, TableHead};
use crate::text::PrintableLine;

/// Names the table of chunks in errors.
const CHUNKS: &str = "the table of chunks";

/// The column with the parent's row.
pub const ROOT: &str = "tortilla:root";
/// Maximum number of objects in the list.
const OBJECTS_MAX: usize = MAX_LEVELS * 2 + 1;
/// Maximum number of bands in a TIFF.
const BANDS_MAX: u64 = 65_535;

/// Parses a link into `(offset, length)`, or `None` for NULL.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) for any other text.
pub fn parse_pointer(text: &str) -> Result<Option<(u64, u64)>> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("null") {
        return Ok(None);
    }
    let inside = text
        .strip_prefix("OFFSETLENGTH(")
        .and_then(|rest| rest.strip_suffix(')'));
    let numbers = inside
        .and_then(|inside| inside.split_once(','))
        .map(|(a, b)| (a.trim().parse(), b.trim().parse()));
    match numbers {
        Some((Ok(offset), Ok(length))) => Ok(Some((offset, length))),
        _ => Err(Error::format(format!(
            "the pointer {} is neither OFFSETLENGTH(A, B) nor NULL",
            text.printable_line()
        ))),
    }
}

fn pointer_text(next: Option<(u64, u64)>) -> String {
    next.map_or("NULL".to_owned(), |(offset, length)| {
        format!("OFFSETLENGTH({offset}, {length})")
    })
}

/// The objects after the first, each with its `(offset, length)`. One read per object.
pub fn read_chain(
    file: &LocalFile,
    first: (u64, u64),
    pointer: &str,
    footers: &Footers,
    ctx: &JobContext,
) -> Result<Vec<((u64, u64), LevelTable)>> {
    let mut places = vec![first];
    let mut found = Vec::new();
    let mut next = parse_pointer(pointer)?;
    while let Some((offset, length)) = next {
        ctx.check()?;
        let number = places.len();
        let message = format!("object {number} of the footer can't be read");
        let at = |error| unreadable_footer_error(error, &message);
        if number > OBJECTS_MAX {
            return Err(Error::format(format!(
                "the footer is a chain of more than {OBJECTS_MAX} objects"
            )));
        }
        let place = format!("{length} bytes at {offset}");
        if offset < HEADER_SIZE || length == 0 || !file.contains(offset, length) {
            return Err(Error::format(format!(
                "the chain of the footer leads to {place}, which are not inside the file"
            )));
        }
        // A list that overlaps none of its own objects cannot be circular.
        if let Some(other) = places
            .iter()
            .position(|&(start, size)| offset < start + size && start < offset + length)
        {
            return Err(Error::format(format!(
                "the chain of the footer leads to {place}, which is inside object {other}"
            )));
        }
        let head = footer_slice(file, offset, length)
            .and_then(TableHead::read)
            .map_err(at)?;
        let table = footers.decode(&head, (0, offset), ctx).map_err(at)?;
        if table.column_index(ROOT).is_none() {
            return Err(at(Error::format(format!("it has no column {ROOT}"))));
        }
        places.push((offset, length));
        found.push(((offset, length), table));
        let text = head
            .note(POINTER)
            .ok_or_else(|| at(Error::format("it has no pointer to the next")))?;
        next = parse_pointer(&text).map_err(at)?;
    }
    if found.is_empty() {
        return Err(Error::format(
            "the chain of the footer has no object with the chunks",
        ));
    }
    Ok(found)
}

/// Builds one level from an object of the list. `rows_above` is the number of rows of the previous
/// object, `data` the byte range of the samples.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) for a missing column, a parent that does not exist,
/// or unsorted parents.
pub fn chained_level(
    table: &LevelTable,
    rows_above: usize,
    data: std::ops::Range<u64>,
) -> Result<ScannedLevel> {
    let owner = "an object of the footer";
    let number = |name| table.require_integers(name, owner);
    let ids = table.require_strings("tortilla:id", owner)?;
    let formats = table.require_strings("tortilla:file_format", owner)?;
    let (offsets, lengths, parents) = (
        number("tortilla:offset")?,
        number("tortilla:length")?,
        number(ROOT)?,
    );
    let mut level = ScannedLevel {
        batch: Some(table.to_batch()?),
        ..ScannedLevel::default()
    };
    for row in 0..table.rows() {
        level.push_sample(&ids, &formats, row);
        let parent = parents
            .is_valid(row)
            .then(|| u32::try_from(parents.value(row)).ok())
            .flatten();
        let parent = parent.filter(|parent| (*parent as usize) < rows_above);
        level.parents.push(parent.ok_or_else(|| {
            Error::format(format!(
                "{ROOT} of row {row} leads to no row of the object before"
            ))
        })?);
        level.parts.push(0);
        let range = u64::try_from(offsets.value(row))
            .ok()
            .zip(u64::try_from(lengths.value(row)).ok());
        let valid = offsets.is_valid(row) && lengths.is_valid(row);
        level
            .ranges
            .push(range.filter(|range| valid && is_range_within(*range, &data)));
    }
    if level.parents.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(Error::format(format!(
            "the rows of an object of the footer are not in the order of {ROOT}"
        )));
    }
    Ok(level)
}

/// One chunk of a sample, read from the last object of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleChunk {
    /// How the chunk is stored; `places` has one entry, the chunk's range in the file.
    pub layout: ChunkLayout,
    /// First band, row and column.
    pub start: [u64; 3],
    /// Number of bands, rows and columns inside the raster.
    pub count: [u64; 3],
}

/// The chunks of one sample, as input of [`chunk_table`].
pub struct SampleChunks {
    /// The sample's level and row.
    pub sample: (usize, u32),
    pub id: String,
    /// Offset of the sample's data in the file.
    pub base: u64,
    /// Its chunks; offsets are relative to `base`.
    pub layout: ChunkLayout,
}

/// The last object: one row per chunk, with the id `{sample id}::{chunk number}`.
///
/// # Errors
/// [`Kind::Internal`](crate::error::Kind::Internal) when the columns differ in length.
pub fn chunk_table(samples: &[SampleChunks]) -> Result<RecordBatch> {
    let mut columns: [Vec<i64>; 13] = Default::default();
    let (mut ids, mut dtypes) = (Vec::new(), Vec::new());
    let (mut starts, mut shapes) = (Vec::new(), Vec::new());
    for sample in samples {
        let layout = &sample.layout;
        for (index, &(offset, length)) in layout.places.iter().enumerate() {
            let Some((start, count)) = layout.place(index as u64) else {
                break;
            };
            let values = [
                u64::from(sample.sample.1),
                sample.sample.0 as u64,
                index as u64,
                sample.base + offset,
                length,
                layout.compression,
                layout.predictor,
                layout.bits,
                layout.sample_format,
                u64::from(layout.little),
                layout.chunk[0],
                if layout.stripped {
                    count[1]
                } else {
                    layout.chunk[1]
                },
                layout.chunk_bands,
            ];
            columns
                .iter_mut()
                .zip(values)
                .for_each(|(column, value)| column.push(value as i64));
            ids.push(format!("{}::{index}", sample.id));
            dtypes.push(layout.dtype());
            starts.push(Some(start.map(|n| Some(n as i64)).to_vec()));
            shapes.push(Some(count.map(|n| Some(n as i64)).to_vec()));
        }
    }
    let names = [
        ROOT,
        "chunk:level",
        "chunk:index",
        "tortilla:offset",
        "tortilla:length",
        "chunk:compression",
        "chunk:predictor",
        "chunk:bits",
        "chunk:sample_format",
        "chunk:little_endian",
        "chunk:columns",
        "chunk:rows",
        "chunk:bands",
    ];
    let lists = |values: Vec<Option<Vec<Option<i64>>>>| {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(values)) as ArrayRef
    };
    let mut all: Vec<(String, ArrayRef)> = vec![(
        "tortilla:id".into(),
        Arc::new(StringArray::from_iter_values(ids)),
    )];
    all.extend(
        names.into_iter().map(str::to_owned).zip(
            columns
                .into_iter()
                .map(|column| Arc::new(Int64Array::from(column)) as ArrayRef),
        ),
    );
    all.push((
        "chunk:dtype".into(),
        Arc::new(dtypes.into_iter().collect::<StringArray>()),
    ));
    all.push(("chunk:start".into(), lists(starts)));
    all.push(("chunk:shape".into(), lists(shapes)));
    table_of(all)
}

fn table_of(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch> {
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .map_err(|error| Error::internal("the chunks don't make a table").because(error))
}

/// Chunk `index` of the sample at `row` of `level`.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the number of chunks, when the sample has no
/// such chunk; [`Kind::Format`](crate::error::Kind::Format) when a column is missing or a value is
/// invalid.
pub fn find_chunk(table: &LevelTable, level: usize, row: u32, index: u64) -> Result<SampleChunk> {
    let (levels, rows, indices) = (
        table.require_integers("chunk:level", CHUNKS)?,
        table.require_integers(ROOT, CHUNKS)?,
        table.require_integers("chunk:index", CHUNKS)?,
    );
    let of_sample: Vec<usize> = (0..table.rows())
        .filter(|&at| levels.value(at) == level as i64 && rows.value(at) == i64::from(row))
        .collect();
    let Some(&at) = of_sample
        .iter()
        .find(|&&at| u64::try_from(indices.value(at)) == Ok(index))
    else {
        let error = match of_sample.len() {
            0 => Error::usage("this sample has no chunks")
                .hint("only TIFF files that decode chunk by chunk have some"),
            count => Error::usage(format!("this sample has no chunk {index}"))
                .hint(format!("it has {count}, counted from 0")),
        };
        return Err(error);
    };
    let row = ChunkTableRow {
        table,
        row: at,
        index,
    };
    let (start, count) = (
        row.read_triple("chunk:start")?,
        row.read_triple("chunk:shape")?,
    );
    let chunk = [
        row.read_number("chunk:columns")?,
        row.read_number("chunk:rows")?,
    ];
    let bands = row.read_number("chunk:bands")?;
    let bits = row.read_number("chunk:bits")?;
    // Bounds the chunk's size in memory before anything is allocated.
    let bytes = chunk[0]
        .checked_mul(chunk[1])
        .and_then(|n| n.checked_mul(bands))
        .and_then(|n| n.checked_mul(bits / 8));
    if bytes.is_none_or(|bytes| bytes == 0 || bytes > 1 << 30)
        || bands > BANDS_MAX
        || count[0] > bands
        || count[1] > chunk[1]
        || count[2] > chunk[0]
    {
        return Err(Error::format(format!(
            "chunk {index} claims {} × {} × {bands} values",
            chunk[0], chunk[1]
        )));
    }
    // The last strip of a raster contains only the remaining rows, but files of older versions
    // state the full strip height. A tile as wide as the raster is indistinguishable and loses
    // nothing: its rows are in order.
    let chunk = if start[2] == 0 && count[2] == chunk[0] {
        [chunk[0], count[1]]
    } else {
        chunk
    };
    let layout = ChunkLayout {
        little: row.read_number("chunk:little_endian")? == 1,
        size: chunk,
        bands,
        chunk,
        stripped: false,
        chunk_bands: bands,
        bits,
        sample_format: row.read_number("chunk:sample_format")?,
        compression: row.read_number("chunk:compression")?,
        predictor: row.read_number("chunk:predictor")?,
        places: vec![(
            row.read_number("tortilla:offset")?,
            row.read_number("tortilla:length")?,
        )],
    };
    Ok(SampleChunk {
        layout,
        start,
        count,
    })
}

/// A row of the table of chunks.
struct ChunkTableRow<'a> {
    table: &'a LevelTable,
    row: usize,
    /// The chunk's number in its sample.
    index: u64,
}

impl ChunkTableRow<'_> {
    fn read_number(&self, name: &str) -> Result<u64> {
        let value = self.table.require_integers(name, CHUNKS)?.value(self.row);
        u64::try_from(value)
            .map_err(|_| Error::format(format!("{name} of chunk {} is {value}", self.index)))
    }

    fn read_triple(&self, name: &str) -> Result<[u64; 3]> {
        let index = self.index;
        let place = self
            .table
            .column_index(name)
            .ok_or_else(|| Error::format(format!("{CHUNKS} has no column {name}")))?;
        let crate::model::Value::List(items) = self.table.value(self.row, place) else {
            return Err(Error::format(format!("{name} of chunk {index} is no list")));
        };
        let numbers: Option<Vec<u64>> = items
            .iter()
            .map(|item| match item {
                crate::model::Value::Int(number) => u64::try_from(*number).ok(),
                _ => None,
            })
            .collect();
        numbers
            .and_then(|n| n.try_into().ok())
            .ok_or_else(|| Error::format(format!("{name} of chunk {index} is not three numbers")))
    }
}

/// The object of one level: the footers of its tortillas concatenated, with offsets in the file and
/// the parent's row. `tortillas` has the footer, the offset and the parent's row of each.
pub fn level_object(tortillas: &[(RecordBatch, u64, u32)]) -> Result<RecordBatch> {
    let mut tables = Vec::with_capacity(tortillas.len());
    for (footer, base, parent) in tortillas {
        let fields: Vec<Field> = footer
            .schema()
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let mut all: Vec<(Field, ArrayRef)> = Vec::with_capacity(fields.len() + 1);
        for (field, column) in fields.into_iter().zip(footer.columns()) {
            let column = match (
                field.name().as_str(),
                arrow::array::AsArray::as_primitive_opt::<Int64Type>(column),
            ) {
                ("tortilla:offset", Some(offsets)) => {
                    Arc::new(offsets.unary::<_, Int64Type>(|offset| offset + *base as i64))
                        as ArrayRef
                }
                _ => column.clone(),
            };
            all.push((field, column));
        }
        let roots = Int64Array::from(vec![i64::from(*parent); footer.num_rows()]);
        all.push((Field::new(ROOT, DataType::Int64, true), Arc::new(roots)));
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = all.into_iter().unzip();
        let batch =
            RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| {
                Error::internal("an object of the footer does not fit its columns").because(error)
            })?;
        tables.push(LevelTable::new(batch.schema(), vec![batch]));
    }
    Ok(join(&tables, &DecodeBudget::without_limit())?.0)
}

/// One object with its `pointer`.
///
/// # Errors
/// When a column cannot be encoded.
pub fn object_bytes(object: &RecordBatch, pointer: String) -> Result<Vec<u8>> {
    let options = ParquetOptions {
        level: Some(19),
        content_defined_chunking: false,
        ..ParquetOptions::default()
    };
    let mut sink = ParquetSink::new(Vec::new(), &object.schema(), &options)?;
    sink.write(object)?;
    sink.note(POINTER, pointer);
    sink.finish()
}

/// Serializes the objects, in file order from offset `at`: the last object of the list comes first,
/// so that each can state the offset of its successor. Returns the bytes and the `(offset, length)`
/// of the first object.
pub fn chain_bytes(objects: &[RecordBatch], at: u64) -> Result<(Bytes, (u64, u64))> {
    let mut out = Vec::new();
    let mut next = None;
    for object in objects.iter().rev() {
        let bytes = object_bytes(object, pointer_text(next))?;
        next = Some((at + out.len() as u64, bytes.len() as u64));
        out.extend_from_slice(&bytes);
    }
    let first = next.ok_or_else(|| Error::internal("a chain without objects"))?;
    Ok((out.into(), first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_read_as_they_are_written() {
        assert_eq!(
            parse_pointer(&pointer_text(Some((12, 34)))).expect("reads"),
            Some((12, 34))
        );
        assert_eq!(parse_pointer("NULL").expect("reads"), None);
        for bad in [
            "",
            "OFFSETLENGTH(1)",
            "OFFSETLENGTH(-1, 2)",
            "OFFSETLENGTH(1, 2",
            "12, 34",
        ] {
            assert!(parse_pointer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn chunks_that_claim_too_much_are_errors() {
        let claims = |bands: u64, chunk: [u64; 2], bits: u64| {
            let layout = ChunkLayout {
                little: true,
                size: chunk,
                bands,
                chunk,
                stripped: false,
                chunk_bands: bands,
                bits,
                sample_format: 1,
                compression: 1,
                predictor: 1,
                places: vec![(0, 8)],
            };
            let samples = [SampleChunks {
                sample: (1, 2),
                id: "a".into(),
                base: 200,
                layout,
            }];
            let batch = chunk_table(&samples).expect("is a table");
            find_chunk(&LevelTable::new(batch.schema(), vec![batch]), 1, 2, 0)
        };
        assert!(claims(3, [16, 16], 16).is_ok());
        // Each value is small by itself, but a header for that many bands would take gigabytes.
        for (bands, chunk, bits) in [
            (1 << 29, [1, 1], 8),
            (65_536, [1, 1], 8),
            (1, [1 << 16, 1 << 16], 8),
            (1, [4, 4], 4),
        ] {
            assert!(
                claims(bands, chunk, bits).is_err(),
                "{bands} {chunk:?} {bits}"
            );
        }
    }

    #[test]
    fn the_last_strip_has_the_rows_that_are_left() {
        let found = |stripped: bool, index: u64| {
            let layout = ChunkLayout {
                little: true,
                size: [32, 20],
                bands: 1,
                chunk: [32, 16],
                stripped,
                chunk_bands: 1,
                bits: 8,
                sample_format: 1,
                compression: 1,
                predictor: 1,
                places: vec![(200, 512), (712, 128)],
            };
            let batch = chunk_table(&[SampleChunks {
                sample: (0, 0),
                id: "a".into(),
                base: 0,
                layout,
            }])
            .expect("is a table");
            let table = LevelTable::new(batch.schema(), vec![batch]);
            let stored = table
                .integers("chunk:rows")
                .expect("reads")
                .expect("is there")
                .value(index as usize);
            (
                stored,
                find_chunk(&table, 0, 0, index)
                    .expect("is there")
                    .layout
                    .chunk,
            )
        };
        assert_eq!(
            (found(true, 0), found(true, 1)),
            ((16, [32, 16]), (4, [32, 4]))
        );
        // Files of older versions state the full height for the last strip, as for tiles.
        assert_eq!(
            (found(false, 0), found(false, 1)),
            ((16, [32, 16]), (16, [32, 4]))
        );
    }

    #[test]
    fn invalid_links_between_objects_are_errors() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let object = table_of(vec![(
            ROOT.into(),
            Arc::new(Int64Array::from(vec![0])) as ArrayRef,
        )])
        .expect("is a table");
        let (chain, first) =
            chain_bytes(&[object.clone(), object.clone(), object], 200).expect("writes");
        let path = folder.path().join("x");
        std::fs::write(&path, [vec![0; 200], chain.to_vec()].concat()).expect("writes");
        let file = LocalFile::open(&path).expect("opens");
        let ctx = JobContext::default();
        let head =
            TableHead::read(file.parquet(first.0, first.1).expect("is inside")).expect("reads");
        let pointer = head.note(POINTER).expect("has a pointer");
        assert_eq!(
            read_chain(&file, first, &pointer, &Footers::of_bytes(0), &ctx)
                .expect("reads")
                .len(),
            2
        );
        for (pointer, says) in [
            (pointer_text(Some(first)), "inside object 0"),
            (pointer_text(Some((first.0 + 4, 8))), "inside object 0"),
            ("OFFSETLENGTH(100, 8)".into(), "not inside the file"),
            ("OFFSETLENGTH(200, 99999999)".into(), "not inside the file"),
            (
                format!("OFFSETLENGTH({}, 9)", u64::MAX),
                "not inside the file",
            ),
            ("OFFSETLENGTH(-200, 9)".into(), "neither"),
            (
                "OFFSETLENGTH(200, 9)".into(),
                "object 1 of the footer can't be read",
            ),
            ("NULL".into(), "no object with the chunks"),
        ] {
            let error = read_chain(&file, first, &pointer, &Footers::of_bytes(0), &ctx).map(|_| ());
            let error = error.expect_err("leads astray").to_string();
            assert!(error.contains(says), "{pointer}: {error}");
        }
    }
}
