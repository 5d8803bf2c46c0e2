//! Level tables and COLLECTION.json stored as separate files: of a FOLDER and of a `.tacocat`
//! folder. Remote ones are requested in parallel.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::atomic_write::is_being_edited;
use super::change_errors::dataset_changed_error;
use super::{ByteSource, DatasetVersion, read_collection};
use crate::error::{Error, IoContext, Result, separate_transient_error};
use crate::files::Root;
use crate::model::{Collection, MAX_LEVELS, is_remote, place_below};
use crate::remote::RemoteFile;
use crate::table::TableHead;

/// Number of attempts to read the files of one version, and the pause after the first failed one;
/// each later one is longer by as much.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes at the end of a remote table fetched by the first request: all of a small table, the
/// footer of a large one.
const TAIL: u64 = 1 << 20;

/// Result of [`read_tables`].
pub struct TableFiles {
    /// Footers of the levels, up to the first missing level.
    pub heads: Vec<TableHead>,
    /// COLLECTION.json, or the error of reading it.
    pub collection: Result<Collection>,
    /// The version of which all files are; of remote ones, each as it was opened.
    pub version: DatasetVersion,
}

/// Reads the footers of the tables `{folder}/{prefix}level*.parquet`, and COLLECTION.json. Local
/// ones are read again when they were replaced or edited meanwhile, until all are of one version.
///
/// # Errors
/// When level 0 is missing, or a level table cannot be read; [`crate::error::Kind::Changed`] when
/// the files don't stop changing.
pub fn read_tables(folder: &Path, prefix: &str) -> Result<TableFiles> {
    if is_remote(folder) {
        return read_remote(folder, prefix);
    }
    for attempt in 1..=TRIES {
        let version = DatasetVersion::of_folder(folder, prefix);
        let read = read_local(folder, prefix);
        // In this order: an edit that ends after the question has changed a file since it was
        // looked at.
        let is_edited = is_being_edited(folder);
        if !is_edited && version.expect_unchanged().is_ok() {
            return read.map(|(heads, collection)| TableFiles {
                heads,
                collection,
                version,
            });
        }
        std::thread::sleep(PAUSE * attempt);
    }
    Err(dataset_changed_error(folder).hint("wait until no other program writes to it"))
}

type LevelTables = (Vec<TableHead>, Result<Collection>);

fn read_local(folder: &Path, prefix: &str) -> Result<LevelTables> {
    let root = Root::new(folder);
    let source = check_table_inside(&root, COLLECTION)
        .and_then(|_| ByteSource::open(&place_below(folder, COLLECTION)));
    let (_, collection) = collection_in(source)?;
    let heads = heads_of(&local_tables(&root, prefix)?, folder)?;
    if heads.is_empty() {
        Err(without_levels(folder, prefix))
    } else {
        Ok((heads, collection))
    }
}

fn read_remote(folder: &Path, prefix: &str) -> Result<TableFiles> {
    let (file, collection) = collection_in(ByteSource::open(&place_below(folder, COLLECTION)))?;
    let sources = remote_tables(folder, prefix, collection.as_ref().ok())?;
    let heads = heads_of(&sources, folder)?;
    if heads.is_empty() {
        let missing = without_levels(folder, prefix);
        // The response to the request for COLLECTION.json says why a server has none of the files.
        return Err(match collection {
            Err(reason) => missing.because(reason),
            Ok(_) => missing,
        });
    }
    Ok(TableFiles {
        heads,
        collection,
        version: DatasetVersion::of_remote(file.into_iter().chain(sources).collect()),
    })
}

const COLLECTION: &str = "COLLECTION.json";

/// The open file of the collection, and what it contains.
fn collection_in(source: Result<ByteSource>) -> Result<(Option<ByteSource>, Result<Collection>)> {
    let source = source
        .map_err(|error| Error::new(error.kind(), "could not read COLLECTION.json").because(error));
    let file = source.as_ref().ok().cloned();
    Ok((
        file,
        separate_transient_error(
            source.and_then(|source| read_collection(&source, 0, source.size_bytes())),
        )?,
    ))
}

fn heads_of(sources: &[ByteSource], folder: &Path) -> Result<Vec<TableHead>> {
    sources
        .iter()
        .enumerate()
        .map(|(level, source)| {
            let head = source.parquet(0, source.size_bytes());
            head.and_then(TableHead::read)
                .map_err(|error| unreadable(level, error).at_path(folder))
        })
        .collect()
}

fn without_levels(folder: &Path, prefix: &str) -> Error {
    Error::format(format!("the folder has no {prefix}level0.parquet")).at_path(folder)
}

/// The error for an unreadable level table, with the file name that the checks use.
pub fn unreadable(level: usize, error: Error) -> Error {
    if error.is_cancelled() {
        return error;
    }
    Error::format(format!("METADATA/level{level}.parquet can't be read"))
        .because(error)
        .of_level(level)
}

fn table_at(folder: &Path, prefix: &str, level: usize) -> PathBuf {
    place_below(folder, &format!("{prefix}level{level}.parquet"))
}

fn local_tables(root: &Root, prefix: &str) -> Result<Vec<ByteSource>> {
    let mut tables = Vec::new();
    for level in 0..=MAX_LEVELS {
        let table = table_at(root.folder(), prefix, level);
        if !crate::files::exists(&table).io_at("open", &table)? {
            break;
        }
        check_table_inside(root, &format!("{prefix}level{level}.parquet"))?;
        tables.push(ByteSource::open(&table)?);
    }
    Ok(tables)
}

/// Refuses a table that is a symbolic link out of its dataset.
fn check_table_inside(root: &Root, name: &str) -> Result<()> {
    root.file(name)
        .map(drop)
        .map_err(|why| why.into_error("open", &root.folder().join(name)))
}

/// Opens the remote tables: as many as the collection states, or one after the other until one is
/// missing.
fn remote_tables(
    folder: &Path,
    prefix: &str,
    collection: Option<&Collection>,
) -> Result<Vec<ByteSource>> {
    let stated = collection
        .and_then(levels_of)
        .map_or(0, |deepest| deepest + 1);
    let paths: Vec<PathBuf> = (0..stated.min(MAX_LEVELS + 1))
        .map(|level| table_at(folder, prefix, level))
        .collect();
    let borrowed: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let mut found = Vec::new();
    for (path, opened) in paths.iter().zip(RemoteFile::open_tails(&borrowed, TAIL)?) {
        found.push(ByteSource::of_remote(opened?, path));
    }
    while collection.is_none() && found.len() <= MAX_LEVELS {
        let path = table_at(folder, prefix, found.len());
        match RemoteFile::open_if_there(&path, TAIL) {
            Ok(Some(file)) => found.push(ByteSource::of_remote(file, &path)),
            Ok(None) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The deepest level in `taco:pit_schema`.
fn levels_of(collection: &Collection) -> Option<usize> {
    let hierarchy = collection
        .get("taco:pit_schema")?
        .get("hierarchy")?
        .as_object()?;
    Some(
        hierarchy
            .keys()
            .filter_map(|key| key.parse().ok())
            .max()
            .unwrap_or(0),
    )
}
