//! Targets for datasets: opened as the studio does, then read as by the inspector, the checks,
//! queries and migration. Rasters are not read: parsing them is up to GDAL.

use std::path::Path;

use taco_studio::container::{
    self, Assembly, ByteSource, HEADER_SIZE, Physical, TacoHeader, TacocatIndex, TortillaHeader,
    nested_items,
};
use taco_studio::jobs::JobContext;
use taco_studio::model::AssetPath;
use taco_studio::ops::{
    MigrateRequest, Operation, OperationOutput, is_other_generation, lazy_tables,
};
use taco_studio::query::{Tables, VsiBase, run_sql};
use taco_studio::table::{LevelTable, ParquetSlice, TableHead, cell_json, cell_text};
use taco_studio::validate::{self, CheckOptions};
use taco_studio::zip_format::{CentralDirectory, LocalHeader};

use crate::place;
use crate::targets::expected;

/// Maximum number of rows of a level, members and cells that are read.
const ROWS: usize = 24;

/// TACO_HEADER, the central directory, local headers, level tables and COLLECTION.json of an
/// archive.
pub fn zip(bytes: &[u8]) {
    let path = place::file("x.tacozip", bytes);
    if let Some(header) = expected(TacoHeader::parse(bytes)) {
        assert_eq!(
            header.levels().len() + 1,
            header.entries.len(),
            "the last entry is the collection's"
        );
    }
    if let Some(file) = expected(ByteSource::open(&path)) {
        members(&file);
    }
    dataset(&path);
}

fn members(file: &ByteSource) {
    let Some(directory) = expected(CentralDirectory::read(file)) else {
        return;
    };
    for entry in directory.entries.iter().take(ROWS) {
        assert!(
            directory.find(&entry.name).is_some(),
            "{} is found",
            entry.name
        );
        let _ = (
            directory.data_by_next(entry),
            directory.header_by_next(entry),
        );
        expected(LocalHeader::read(file, entry.local));
    }
}

/// TACO 3: the same directory, other tables.
pub fn taco3(bytes: &[u8]) {
    dataset(&place::file("x.zip", bytes));
}

/// Header and footer, nested tortillas.
pub fn tortilla(bytes: &[u8]) {
    if let Some(header) = expected(TortillaHeader::parse(bytes)) {
        let again = TortillaHeader::parse(&header.to_bytes()).expect("what is written reads back");
        assert_eq!(
            again,
            TortillaHeader {
                end: HEADER_SIZE,
                ..header
            }
        );
        let _ = header.fault(bytes.len() as u64);
    }
    let path = place::file("x.tortilla", bytes);
    if let Some(file) = expected(ByteSource::open(&path)) {
        expected(nested_items(
            &file,
            (0, file.size_bytes()),
            &JobContext::default(),
        ));
    }
    dataset(&path);
}

/// The linked list of tables in the footer of a streamable TACO 0.2, and its chunks.
pub fn chain(bytes: &[u8]) {
    dataset(&place::file("x.taco", bytes));
}

/// A FOLDER whose one table is Avro. Its files do not exist.
pub fn avro(bytes: &[u8]) {
    let folder = place::folder().join("avro");
    std::fs::create_dir_all(folder.join("METADATA")).expect("makes a folder");
    place::file("avro/METADATA/level0.avro", bytes);
    place::file("avro/COLLECTION.json", b"{}");
    dataset(&folder);
}

/// The single-file index. Its parts do not exist.
pub fn tacocat(bytes: &[u8]) {
    let path = place::file("__TACOCAT__", bytes);
    if let Some(file) = expected(ByteSource::open(&path))
        && let Some(index) = expected(TacocatIndex::read(&file))
    {
        assert!(
            index
                .levels
                .iter()
                .all(|level| file.contains(level.offset, level.size)),
            "levels are inside the file"
        );
    }
    dataset(&path);
}

/// A level table: footer, cells, and a query on it.
pub fn table(bytes: &[u8]) {
    let ctx = JobContext::default();
    let Some(head) = expected(TableHead::read(ParquetSlice::from_bytes(
        bytes.to_vec().into(),
    ))) else {
        return;
    };
    expected(head.ranges());
    let whole = expected(head.decode(&ctx));
    if let Some(table) = &whole {
        assert_eq!(table.rows(), head.rows(), "as many rows as the footer says");
        show(table);
        expected(table.to_batch());
    }
    expected(head.verify(&ctx));
    let mut tables = Tables::new(VsiBase::Zip("x".into()));
    tables.push_parquet(head);
    expected(run_sql(&tables, "SELECT * FROM level0", Some(ROWS), &ctx))
        .inspect(|result| drop(result.csv()));
    let Some(first) = whole
        .as_ref()
        .and_then(|table| table.schema().fields().first())
    else {
        return;
    };
    let quoted = first.name().replace('"', "\"\"");
    let statement =
        format!("SELECT count(*), max(\"{quoted}\") FROM level0 WHERE \"{quoted}\" IS NOT NULL");
    expected(run_sql(&tables, &statement, Some(ROWS), &ctx));
}

/// Opens the dataset and reads everything except rasters.
fn dataset(path: &Path) {
    let ctx = JobContext::default();
    let Some(reader) = expected(container::open(path, &ctx)) else {
        return;
    };
    let length = std::fs::metadata(path).map_or(0, |meta| meta.len());
    expected(reader.levels().skeleton(&ctx));
    for level in 0..reader.levels().count() {
        let _ = reader.levels().fields(level);
        if let Some(table) = expected(reader.levels().table(level, &ctx)) {
            show(&table);
        }
        for row in 0..reader.levels().rows(level).min(ROWS) as u32 {
            if let Some((asset, size)) = expected(reader.asset(level, row))
                && let AssetPath::Range {
                    container,
                    offset,
                    size: held,
                    ..
                } = asset
                && *container == *path
            {
                assert!(
                    offset.checked_add(held).is_some_and(|end| end <= length),
                    "{held} bytes at {offset} of {length}"
                );
                assert_eq!(held, size);
            }
            expected(reader.local_meta(level, row)).inspect(show);
            if let Physical::Tortilla(tortilla) = reader.physical() {
                expected(tortilla.chunk(level, row, 0)).inspect(|(chunk, _)| {
                    drop(taco_studio::raster::lone_chunk(&chunk.layout, &[0; 16]))
                });
            }
        }
    }
    expected(validate::container_with(
        reader.as_ref(),
        &CheckOptions::default(),
        &ctx,
    ));
    if is_other_generation(reader.as_ref()) {
        let request: MigrateRequest =
            serde_json::from_value(serde_json::json!({ "input": path })).expect("is a request");
        expected(request.run(&ctx)).inspect(|migrated| drop(migrated.to_json()));
    } else {
        expected(Assembly::of_reader(reader.as_ref(), &ctx));
    }
    let tables = lazy_tables(&reader);
    let deepest = reader.levels().count().saturating_sub(1);
    expected(run_sql(
        &tables,
        &format!("SELECT * FROM l{deepest}"),
        Some(ROWS),
        &ctx,
    ));
}

/// Formats cells as in the table and the inspector.
fn show(table: &LevelTable) {
    let _ = table.fields();
    for column in 0..table.schema().fields().len() {
        for row in 0..table.rows().min(ROWS) {
            let Some((array, place)) = table.locate(row, column) else {
                continue;
            };
            let _ = (
                cell_text(array, place),
                cell_json(array, place),
                table.value(row, column),
            );
        }
    }
}
