//! `describe`: a dataset of any generation in the forms of catalogues.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::migrate::assembly_of;
use super::{Event, Finish, Outcome, Studio};
use crate::container::{self, ContainerReader, OpenOptions, Physical, write_document};
use crate::error::{Error, IoContext, Result};
use crate::export::{Catalogue, Document, Facts, describe};
use crate::jobs::JobContext;

/// What to describe, and how. Plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescribeRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it: several datasets are described as one.
    #[serde(default)]
    pub open: OpenOptions,
    /// The form.
    pub form: Catalogue,
    /// The file to make; of a form with several documents the folder.
    pub output: PathBuf,
    /// The dataset's address on the web.
    #[serde(default)]
    pub url: Option<String>,
    /// The level whose samples GeoParquet lists; the first one that has places when absent.
    #[serde(default)]
    pub level: Option<usize>,
    /// Replace what is there.
    #[serde(default)]
    pub overwrite: bool,
}

impl Studio {
    pub(super) fn describe(&mut self, request: DescribeRequest) -> Result<Outcome> {
        Ok(self.start(&tr!("Describe {path}", path = request.input.display()), move |ctx| {
            let path = describe_to(&request, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Saved(path))) as Finish)
        }))
    }
}

/// The documents of a form, the main one first.
pub fn describe_dataset(
    input: &Path,
    open: &OpenOptions,
    form: Catalogue,
    url: Option<String>,
    level: Option<usize>,
    ctx: &JobContext,
) -> Result<Vec<Document>> {
    let reader = container::open_with(input, open, ctx)?;
    let assembly = assembly_of(reader.as_ref(), ctx)?;
    if let Some(level) = level.filter(|level| *level >= assembly.levels.len()) {
        let count = assembly.levels.len();
        return Err(Error::usage(format!("there is no level {level}; the dataset has {count}, counted from 0")));
    }
    // Only Croissant states checksums: they take reading the whole dataset.
    let facts = Facts { url, level, ..facts_of(reader.as_ref(), form == Catalogue::Croissant, ctx)? };
    describe(&assembly, &facts, form, ctx)
}

/// Writes the documents; gives the path of the main one.
pub fn describe_to(request: &DescribeRequest, ctx: &JobContext) -> Result<PathBuf> {
    let documents = describe_dataset(&request.input, &request.open, request.form, request.url.clone(), request.level, ctx)?;
    let Some((main, rest)) = documents.split_first() else { return Err(Error::internal("a description without documents")) };
    if rest.is_empty() && request.output.extension().is_some() {
        write_document(&request.output, &main.bytes, request.overwrite)?;
        return Ok(request.output.clone());
    }
    for document in &documents {
        ctx.check()?;
        write_document(&request.output.join(&document.name), &document.bytes, request.overwrite)?;
    }
    Ok(request.output.join(&main.name))
}

fn facts_of(reader: &dyn ContainerReader, with_sums: bool, ctx: &JobContext) -> Result<Facts> {
    let info = reader.info();
    let mut facts = Facts {
        path: info.path.clone(),
        format: info.format,
        size_bytes: info.size_bytes.unwrap_or_default(),
        sha256: None,
        tables: Vec::new(),
        modified: None,
        url: None,
        level: None,
        roots: reader.levels().rows(0),
        parts: Vec::new(),
    };
    if let Physical::Joined(joined) = reader.physical()
        && joined.listed().is_none()
    {
        for part in 0..joined.datasets().len() {
            facts.parts.push(facts_of(joined.dataset(part, ctx)?.as_ref(), with_sums, ctx)?);
        }
        facts.size_bytes = facts.parts.iter().map(|part| part.size_bytes).sum();
        facts.modified = facts.parts.iter().filter_map(|part| part.modified).max();
        return Ok(facts);
    }
    let modified = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok().map(DateTime::<Utc>::from);
    if info.path.is_file() {
        facts.modified = modified(&info.path);
        if with_sums {
            facts.sha256 = Some(sha256_of(&info.path, ctx)?);
        }
        return Ok(facts);
    }
    facts.size_bytes = size_below(&info.path, 0, ctx)?;
    let names = ["COLLECTION.json".to_owned()]
        .into_iter()
        .chain((0..8).flat_map(|level| [format!("METADATA/level{level}.parquet"), format!("level{level}.parquet")]));
    for name in names.chain(["METADATA/sample.parquet".to_owned(), "METADATA/children.parquet".to_owned()]) {
        let path = info.path.join(&name);
        if !path.is_file() {
            continue;
        }
        facts.modified = facts.modified.max(modified(&path));
        if with_sums {
            let size = std::fs::metadata(&path).io_at("read", &path)?.len();
            facts.tables.push((name, size, sha256_of(&path, ctx)?));
        }
    }
    Ok(facts)
}

fn size_below(folder: &Path, depth: usize, ctx: &JobContext) -> Result<u64> {
    ctx.check()?;
    if !folder.is_dir() || depth > 64 {
        return Ok(0);
    }
    let mut size = 0;
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        // Links are not followed: a loop would have no end.
        let kind = entry.file_type().io_at("read the folder", folder)?;
        size +=
            if kind.is_dir() { size_below(&entry.path(), depth + 1, ctx)? } else { entry.metadata().map_or(0, |meta| meta.len()) };
    }
    Ok(size)
}

fn sha256_of(path: &Path, ctx: &JobContext) -> Result<String> {
    use std::io::Read;
    ctx.stage(tr!("Computing the checksum"), None);
    let mut file = std::fs::File::open(path).io_at("open", path)?;
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        ctx.check()?;
        let read = file.read(&mut buffer).io_at("read", path)?;
        if read == 0 {
            return Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        sum.update(&buffer[..read]);
        ctx.bytes(read as u64);
    }
}
