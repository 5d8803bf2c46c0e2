//! Ways to damage a dataset on disk: files by name, tables by column, JSON by key, archives by
//! byte.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Field, Schema};
use serde_json::Value as Json;
use taco_studio::container::LocalFile;
use taco_studio::jobs::JobContext;
use taco_studio::table::{ParquetOptions, ParquetSlice, TableHead, write_parquet};
use taco_studio::zip_format::{CentralDirectory, LocalHeader};

use crate::support::files_below;

/// Offset of TACO_HEADER's data.
pub const HEADER: usize = 41;

/// The files of a FOLDER, or the members of an archive in order, without TACO_HEADER.
pub struct Files(Vec<(String, Vec<u8>)>);

impl Files {
    pub fn of_folder(folder: &Path) -> Self {
        let read = |name: String| {
            let bytes = std::fs::read(folder.join(&name)).expect("a file of the dataset");
            (name, bytes)
        };
        Self(files_below(folder).into_iter().map(read).collect())
    }

    pub fn of_zip(path: &Path) -> Self {
        let file = LocalFile::open(path).expect("an archive");
        let entries = CentralDirectory::read(&file).expect("a directory").entries;
        let members = entries
            .into_iter()
            .filter(|entry| &*entry.name != "TACO_HEADER")
            .map(|entry| {
                let header = LocalHeader::read(&file, entry.local).expect("a local header");
                (
                    entry.name.into_string(),
                    file.read(header.data, entry.size)
                        .expect("a member")
                        .to_vec(),
                )
            });
        Self(members.collect())
    }

    fn bytes(&mut self, name: &str) -> &mut Vec<u8> {
        let found = self.0.iter_mut().find(|(known, _)| known == name);
        found
            .map(|(_, bytes)| bytes)
            .unwrap_or_else(|| panic!("the dataset has no {name}"))
    }

    pub fn put(&mut self, name: &str, bytes: impl AsRef<[u8]>) {
        if self.0.iter().any(|(known, _)| known == name) {
            *self.bytes(name) = bytes.as_ref().to_vec()
        } else {
            self.0.push((name.into(), bytes.as_ref().to_vec()))
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.bytes(name);
        self.0.retain(|(known, _)| known != name);
    }

    pub fn patch(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.bytes(name));
    }

    pub fn json(&mut self, change: impl FnOnce(&mut Json)) {
        let bytes = self.bytes("COLLECTION.json");
        let mut value = serde_json::from_slice(bytes).expect("COLLECTION.json");
        change(&mut value);
        *bytes = serde_json::to_vec_pretty(&value).expect("JSON");
    }

    /// Rewrites a table with its columns modified by `change`.
    pub fn table(&mut self, name: &str, change: impl FnOnce(&mut Vec<(String, ArrayRef)>)) {
        let bytes = self.bytes(name);
        let head =
            TableHead::read(ParquetSlice::from_bytes(bytes.clone().into())).expect("a footer");
        let batch = head
            .decode(&JobContext::default())
            .and_then(|table| table.to_batch())
            .expect("a table");
        let schema = batch.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let mut columns: Vec<(String, ArrayRef)> =
            names.zip(batch.columns().iter().cloned()).collect();
        change(&mut columns);
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let schema = Schema::new(fields);
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), arrays).expect("a batch");
        *bytes = write_parquet(&schema, &[batch], &ParquetOptions::default()).expect("Parquet");
    }

    /// Drops a column.
    pub fn drop_column(&mut self, table: &str, column: &str) {
        self.table(table, |columns| columns.retain(|(name, _)| name != column));
    }

    /// Changes one value of an integer column.
    pub fn set_integer(
        &mut self,
        table: &str,
        column: &str,
        row: usize,
        change: impl Fn(i64) -> i64,
    ) {
        self.table(table, |columns| {
            let (_, array) = columns
                .iter_mut()
                .find(|(name, _)| name == column)
                .expect("the column");
            let old = array
                .as_any()
                .downcast_ref::<Int64Array>()
                .expect("integers")
                .clone();
            let cells = old
                .iter()
                .enumerate()
                .map(|(at, cell)| if at == row { cell.map(&change) } else { cell });
            *array = Arc::new(cells.collect::<Int64Array>());
        });
    }

    /// Sets one value of a string column.
    pub fn set_text(&mut self, table: &str, column: &str, row: usize, text: &str) {
        self.table(table, |columns| {
            let (_, array) = columns
                .iter_mut()
                .find(|(name, _)| name == column)
                .expect("the column");
            let old = array
                .as_any()
                .downcast_ref::<StringArray>()
                .expect("texts")
                .clone();
            let cells = old
                .iter()
                .enumerate()
                .map(|(at, cell)| if at == row { Some(text) } else { cell });
            *array = Arc::new(cells.collect::<StringArray>());
        });
    }

    pub fn write_folder(&self, folder: &Path) {
        for (name, bytes) in &self.0 {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, bytes).expect("a file");
        }
    }

    /// Builds an archive of the members, with a matching TACO_HEADER.
    pub fn to_zip(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        let mut tables = Vec::new();
        let header = ("TACO_HEADER".to_owned(), vec![0; 116]);
        for (name, bytes) in std::iter::once(&header).chain(&self.0) {
            let local = out.len() as u32;
            let record = |crc: u32| {
                let mut record = vec![10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
                record.extend(crc.to_le_bytes());
                record.extend((bytes.len() as u32).to_le_bytes());
                record.extend((bytes.len() as u32).to_le_bytes());
                record.extend((name.len() as u16).to_le_bytes());
                record.extend([0, 0]);
                record
            };
            let record = record(crc32fast::hash(bytes));
            out.extend(b"PK\x03\x04");
            out.extend(&record);
            out.extend(name.as_bytes());
            if name.starts_with("METADATA/level") || name == "COLLECTION.json" {
                tables.push((out.len() as u64, bytes.len() as u64));
            }
            out.extend(bytes);
            directory.extend(b"PK\x01\x02\x3f\x03");
            directory.extend(&record);
            directory.extend([0; 10]);
            directory.extend(local.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        out[HEADER] = tables.len() as u8;
        for (number, (offset, size)) in tables.into_iter().enumerate() {
            let at = HEADER + 4 + 16 * number;
            out[at..at + 8].copy_from_slice(&offset.to_le_bytes());
            out[at + 8..at + 16].copy_from_slice(&size.to_le_bytes());
        }
        let crc = crc32fast::hash(&out[HEADER..HEADER + 116]).to_le_bytes();
        out[14..18].copy_from_slice(&crc);
        directory[16..20].copy_from_slice(&crc);
        let (start, count) = (out.len() as u32, (self.0.len() + 1) as u16);
        out.extend(&directory);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend([0, 0]);
        out
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Offsets of a member's local header and of its directory entry.
pub fn records(bytes: &[u8], name: &str) -> (usize, usize) {
    let mut at = u32_at(bytes, bytes.len() - 22 + 16);
    while bytes[at..].starts_with(b"PK\x01\x02") {
        let length = |place: usize| {
            usize::from(bytes[at + place]) + 256 * usize::from(bytes[at + place + 1])
        };
        if &bytes[at + 46..at + 46 + length(28)] == name.as_bytes() {
            return (u32_at(bytes, at + 42), at);
        }
        at += 46 + length(28) + length(30) + length(32);
    }
    panic!("the archive has no {name}");
}

/// Writes bytes at an offset of both records, counted from the field "version needed", from which
/// the two have the same layout.
pub fn patch_both(bytes: &mut [u8], name: &str, place: usize, number: &[u8]) {
    let (local, central) = records(bytes, name);
    bytes[local + 4 + place..][..number.len()].copy_from_slice(number);
    bytes[central + 6 + place..][..number.len()].copy_from_slice(number);
}

/// Renames a member to a name of the same length, in both records.
pub fn rename(bytes: &mut [u8], name: &str, other: &str) {
    assert_eq!(name.len(), other.len(), "names of one length");
    let (local, central) = records(bytes, name);
    bytes[local + 30..][..other.len()].copy_from_slice(other.as_bytes());
    bytes[central + 46..][..other.len()].copy_from_slice(other.as_bytes());
}
