//! The local files of a dataset that are published, with their paths below the target. Reads names
//! and sizes only.

use std::path::{Path, PathBuf};

use crate::container::{ContainerReader, Format, Physical};
use crate::error::{Error, IoContext, Result};
use crate::files::{self, Root};
use crate::jobs::JobContext;
use crate::model::is_remote;

/// A file of the dataset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourceFile {
    /// Path below the target, with `/`.
    pub name: String,
    /// Local path.
    pub path: PathBuf,
    /// Length in bytes.
    pub size_bytes: u64,
}

/// Files of a dataset that are published.
#[derive(Clone, Debug, Default)]
pub(super) struct PublishedContents {
    /// Data, in the order in which they are sent: an archive, members of a FOLDER, or parts.
    pub data: Vec<SourceFile>,
    /// Files that readers open first, and that are sent last: the existing index over parts, or the
    /// COLLECTION.json of a FOLDER.
    pub first_read: Vec<SourceFile>,
    /// True for a dataset of parts, which needs an index.
    pub has_parts: bool,
    /// Path below the target at which the dataset is opened; for parts, the path of the existing
    /// index.
    pub opened_as: String,
    /// Folder of the parts.
    pub base: PathBuf,
    /// Entries of a FOLDER that do not belong to the dataset and are not published.
    pub left_out: Vec<String>,
}

/// Lists the files of a dataset.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a remote dataset and for several datasets without
/// an index, [`Kind::Unsupported`](crate::error::Kind::Unsupported) for another generation; when a
/// link leads out of the dataset, or a file is missing.
pub(super) fn contents_of(
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<PublishedContents> {
    let path = &reader.info().path;
    if is_remote(path) {
        return Err(Error::usage("a dataset is published from this machine")
            .at_path(path)
            .hint("`convert` copies it here, or from one store to another"));
    }
    let path = std::path::absolute(path).io_at("find", path)?;
    let name = name_of(&path)?;
    match reader.physical() {
        Physical::Zip(_) => Ok(PublishedContents {
            data: vec![file(&path, name.clone())?],
            opened_as: name,
            ..PublishedContents::default()
        }),
        Physical::Folder(_) => members(&path, name, ctx),
        Physical::Tacocat(index) => {
            let parts = index.part_names(ctx)?;
            let data = parts
                .iter()
                .map(|part| file(&index.part_path(part)?, part.to_string()))
                .collect::<Result<_>>()?;
            let first_read = match reader.info().format {
                Format::Tacocat => tables(&path, &name)?,
                _ => vec![file(&path, name.clone())?],
            };
            Ok(PublishedContents {
                data,
                first_read,
                has_parts: true,
                opened_as: name,
                base: index.parts_folder().to_owned(),
                ..PublishedContents::default()
            })
        }
        Physical::Joined(joined) if joined.listed_parts().is_some() => {
            let mut data = Vec::new();
            for (_, part) in joined.datasets() {
                if !part.is_file() {
                    return Err(Error::unsupported("only parts that are ZIPs are published")
                        .at_path(part)
                        .hint(
                            "`convert` makes a ZIP of a FOLDER; then write the TACOLLECTION again",
                        ));
                }
                data.push(file(part, name_of(part)?)?);
            }
            let base = joined
                .datasets()
                .next()
                .and_then(|(_, part)| part.parent())
                .unwrap_or(Path::new(""))
                .to_owned();
            let first_read = vec![file(&path, name.clone())?];
            Ok(PublishedContents {
                data,
                first_read,
                has_parts: true,
                opened_as: name,
                base,
                ..PublishedContents::default()
            })
        }
        Physical::Joined(_) => Err(Error::usage("several datasets have no index")
            .hint("`tacocat` writes one over them; publish that")),
        Physical::Tortilla(_) | Physical::Taco3(_) | Physical::Early(_) => {
            let message = format!(
                "this dataset is of generation {}, and TACO 2.0 is published",
                reader.info().format.generation()
            );
            Err(Error::unsupported(message)
                .at_path(&path)
                .hint("`migrate` moves it to 2.0"))
        }
    }
}

fn name_of(path: &Path) -> Result<String> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .filter(|name| !name.is_empty());
    name.map(str::to_owned)
        .ok_or_else(|| Error::usage("the name of this file is no Unicode text").at_path(path))
}

fn file(path: &Path, name: String) -> Result<SourceFile> {
    let size_bytes = files::metadata(path).io_at("read", path)?.len();
    Ok(SourceFile {
        name,
        path: path.to_owned(),
        size_bytes,
    })
}

/// The files at the top of a `.tacocat`, COLLECTION.json last.
fn tables(folder: &Path, name: &str) -> Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let path = entry.io_at("list", folder)?.path();
        let own = name_of(&path)?;
        if own == COLLECTION || own.ends_with(".parquet") {
            found.push(file(&path, format!("{name}/{own}"))?);
        }
    }
    found.sort_by_cached_key(|file| (file.name.ends_with(COLLECTION), file.name.clone()));
    Ok(found)
}

const COLLECTION: &str = "COLLECTION.json";

/// The members of a FOLDER.
fn members(folder: &Path, name: String, ctx: &JobContext) -> Result<PublishedContents> {
    let root = Root::new(folder);
    let mut contents = PublishedContents {
        opened_as: name.clone(),
        ..PublishedContents::default()
    };
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let own = name_of(&entry.io_at("list", folder)?.path())?;
        match own.as_str() {
            COLLECTION => contents.first_read.push(member(&root, COLLECTION, &name)?),
            "DATA" | "METADATA" => {
                collect_files_below(&root, &own, &name, &mut contents.data, ctx)?
            }
            _ => contents.left_out.push(own),
        }
    }
    contents
        .data
        .sort_by(|one, other| one.name.cmp(&other.name));
    contents.left_out.sort();
    Ok(contents)
}

fn member(root: &Root, below: &str, dataset: &str) -> Result<SourceFile> {
    let path = root.path(below);
    let meta = root
        .file(below)
        .map_err(|why| why.into_error("publish", &path))?;
    Ok(SourceFile {
        name: format!("{dataset}/{below}"),
        path,
        size_bytes: meta.len(),
    })
}

/// Adds the files below a folder of the dataset.
fn collect_files_below(
    root: &Root,
    folder: &str,
    dataset: &str,
    found: &mut Vec<SourceFile>,
    ctx: &JobContext,
) -> Result<()> {
    ctx.check()?;
    let path = root.path(folder);
    for entry in std::fs::read_dir(&path).io_at("list", &path)? {
        let inner = format!("{folder}/{}", name_of(&entry.io_at("list", &path)?.path())?);
        // Symbolic links are resolved; a link that leads out of the dataset is an error.
        let meta = root
            .entry(&inner)
            .map_err(|why| why.into_error("publish", &root.path(&inner)))?;
        if meta.is_dir() {
            collect_files_below(root, &inner, dataset, found, ctx)?
        } else {
            found.push(member(root, &inner, dataset)?)
        }
    }
    Ok(())
}
