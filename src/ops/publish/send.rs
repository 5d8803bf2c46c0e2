//! Sends the files of a publication, the one that readers open first last.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::contents::SourceFile;
use super::documents::documents_of;
use super::opened::{OpenedPublication, open_published};
use super::prepared::{Preflight, PreparedPublication, index_name};
use super::request::PublishRequest;
use super::snippets::{Snippet, snippets};
use crate::container::{
    self, ByteSource, ConsolidateOptions, Format, ObjectSet, OpenOptions, PartialFolder, Scratch,
    Sent, check_space, consolidate,
};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{is_remote, place_below};
use crate::ops::operation::{Operation, OperationOutput, PathUse, PathVisitor, visit_read_dataset};
use crate::ops::training_facts::training_facts_if_readable;
use crate::table::ParquetOptions;

/// Size of a read in bytes.
const PIECE: usize = 1 << 20;

/// The checks, and the published files unless a check blocks the publication.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Publication {
    /// The checks.
    pub preflight: Preflight,
    /// Result of the upload; `None` when a check blocks the publication.
    pub published: Option<Published>,
}

/// Result of a publication.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Address or path by which the dataset is opened.
    pub address: String,
    /// Files that were sent.
    pub sent_files: u64,
    /// Their size in bytes.
    pub sent_bytes: u64,
    /// Files skipped, as the target has the same bytes.
    pub kept_files: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The published dataset as opened from `address`.
    pub opened: OpenedPublication,
    /// Code that opens it.
    pub snippets: Vec<Snippet>,
    /// Command lines of the layout's own client, which upload the files; empty where the studio has
    /// sent them.
    pub upload_commands: Vec<String>,
}

/// Source of the bytes of a published file.
enum FileSource {
    File(PathBuf, u64),
    Memory(Bytes),
}

impl FileSource {
    fn size_bytes(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

/// A file with its path below the target.
struct NewFile {
    name: String,
    source: FileSource,
}

impl NewFile {
    fn from_source(file: &SourceFile) -> Self {
        Self {
            name: file.name.clone(),
            source: FileSource::File(file.path.clone(), file.size_bytes),
        }
    }
}

impl OperationOutput for Publication {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        match &self.published {
            Some(published) => tr!("Published {address}", address = published.address),
            None => tr!("A check blocks publishing").into(),
        }
    }

    /// None: what was published may be at a store.
    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }

    fn is_sound(&self) -> bool {
        self.published.is_some()
    }
}

impl Operation for PublishRequest {
    type Output = Publication;

    fn label(&self) -> String {
        tr!("Publish to {path}", path = self.target.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Publication> {
        publish(self, ctx)
    }
}

fn publish(request: &PublishRequest, ctx: &JobContext) -> Result<Publication> {
    let started = Instant::now();
    let request = &request.to_validated()?;
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    let prepared = PreparedPublication::new(request, reader.as_ref(), ctx)?;
    let preflight = prepared.preflight(reader.as_ref(), ctx)?;
    if !preflight.may_publish() {
        return Ok(Publication {
            preflight,
            published: None,
        });
    }
    let made = Scratch::for_work()?;
    let indexes = indexes(&prepared, made.path(), ctx)?;
    // The documents describe the dataset as readers see it: through the published index.
    let described = match indexes
        .opened
        .as_deref()
        .filter(|index| !is_same_place(index, &reader.info().path))
    {
        Some(index) => {
            let options = OpenOptions {
                base_path: Some(prepared.contents.base.clone()),
                ..OpenOptions::default()
            };
            container::open_with(index, &options, ctx)?
        }
        None => reader.clone(),
    };
    let training = training_facts_if_readable(described.as_ref(), ctx)?;
    let documents = documents_of(
        request,
        described.as_ref(),
        &prepared.opened_as,
        training.clone(),
        ctx,
    )?;
    let documents: Vec<NewFile> = documents
        .into_iter()
        .map(|document| NewFile {
            name: document.name,
            source: FileSource::Memory(document.bytes.into()),
        })
        .collect();
    let data: Vec<NewFile> = prepared
        .contents
        .data
        .iter()
        .map(NewFile::from_source)
        .collect();
    let has_first = !prepared.contents.first_read.is_empty();
    let mut files = if has_first {
        [data, documents].into_iter().flatten().collect()
    } else {
        [documents, data].into_iter().flatten().collect::<Vec<_>>()
    };
    files.extend(indexes.files);
    if !prepared.contents.has_parts {
        files.extend(
            prepared
                .contents
                .first_read
                .iter()
                .map(NewFile::from_source),
        );
    }
    let total = files.iter().map(|file| file.source.size_bytes()).sum();
    ctx.stage(tr!("Publishing"), Some(total));
    let mut counts = SentCounts::default();
    let opened = if is_remote(&request.target) {
        let set = ObjectSet::new(&request.target, request.overwrite)?;
        // What is opened first refers to the data: it is sent last, and deleted before data that it
        // refers to is replaced. Data of new names is sent before that, so that the published
        // dataset stays whole for as long as possible.
        let refers = prepared.opened_first();
        let is_new = |file: &NewFile| !refers.is_empty() && !set.exists(&file.name);
        let data: HashSet<&str> = prepared
            .contents
            .data
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        let (new, others): (Vec<&NewFile>, Vec<&NewFile>) = files
            .iter()
            .partition(|file| data.contains(file.name.as_str()) && is_new(file));
        let mut references = PublishedReferences {
            set: &set,
            names: &refers,
            data: &data,
            overwrite: request.overwrite,
            is_removed: false,
        };
        let last = files.last().map(|file| file.name.as_str());
        for file in new.into_iter().chain(others) {
            ctx.check()?;
            if last == Some(file.name.as_str()) {
                prepared.version.expect_unchanged()?;
            }
            let size = file.source.size_bytes();
            let sent = send(&set, file, || references.remove_before(file), ctx)?;
            counts.add_file(sent, size);
        }
        prepared.version.expect_unchanged()?;
        open_published(
            &place_below(&request.target, &prepared.opened_as),
            described.as_ref(),
            ctx,
        )?
    } else {
        check_space(&request.target, total)?;
        let folder = PartialFolder::of_files(&request.target, request.overwrite)?;
        for file in &files {
            ctx.check()?;
            let copied = copy(file, &folder.path().join(&file.name), ctx);
            copied.map_err(|error| prepared.version.explain(error))?;
            counts.add_file(Sent::Written, file.source.size_bytes());
        }
        // Compared before it gets its name: a publication that fails leaves nothing, whatever
        // happens to the source meanwhile.
        let opened = open_published(
            &place_below(folder.path(), &prepared.opened_as),
            described.as_ref(),
            ctx,
        )
        .map_err(|error| prepared.version.explain(error.at_path(&request.target)))?;
        prepared.version.expect_unchanged()?;
        folder.finish()?;
        OpenedPublication {
            path: place_below(&request.target, &prepared.opened_as),
            ..opened
        }
    };
    let address = match request.public() {
        Some(public) => public.child(&prepared.opened_as).to_string(),
        None => request
            .target
            .join(&prepared.opened_as)
            .display()
            .to_string(),
    };
    let table = match described.info().format {
        Format::Tacocat => Some("level0.parquet"),
        Format::Folder => Some("METADATA/level0.parquet"),
        _ => None,
    };
    let table = table.map(|table| {
        place_below(Path::new(&address), table)
            .display()
            .to_string()
    });
    let published = Published {
        snippets: snippets(
            &address,
            table.as_deref(),
            described.as_ref(),
            training.as_ref(),
        ),
        address,
        sent_files: counts.sent_files,
        sent_bytes: counts.sent_bytes,
        kept_files: counts.kept_files,
        seconds: started.elapsed().as_secs_f64(),
        opened,
        upload_commands: request
            .layout
            .upload_commands(&request.target, request.repository.as_deref()),
    };
    Ok(Publication {
        preflight,
        published: Some(published),
    })
}

/// Files that were sent, and those that were at the target already.
#[derive(Default)]
struct SentCounts {
    sent_files: u64,
    sent_bytes: u64,
    kept_files: u64,
}

impl SentCounts {
    fn add_file(&mut self, sent: Sent, size: u64) {
        match sent {
            Sent::Written => {
                self.sent_files += 1;
                self.sent_bytes += size;
            }
            Sent::Kept => self.kept_files += 1,
        }
    }
}

/// Published files that refer to the data. They are taken away while data is replaced, so that no
/// reader follows them to the wrong bytes.
struct PublishedReferences<'a> {
    set: &'a ObjectSet,
    names: &'a [&'a str],
    /// Names of the data.
    data: &'a HashSet<&'a str>,
    overwrite: bool,
    is_removed: bool,
}

impl PublishedReferences<'_> {
    /// Removes them before the first file that replaces data.
    fn remove_before(&mut self, file: &NewFile) -> Result<()> {
        if !self.is_removed
            && self.data.contains(file.name.as_str())
            && self.set.exists(&file.name)
            && self.overwrite
        {
            // Whether or not the list of the store had them.
            self.names
                .iter()
                .try_for_each(|name| self.set.remove(name))?;
            self.is_removed = true;
        }
        Ok(())
    }
}

/// Indexes over the parts.
#[derive(Default)]
struct Indexes {
    files: Vec<NewFile>,
    /// Local path of the index at which readers open the dataset.
    opened: Option<PathBuf>,
}

/// Indexes of the layout: an existing one is reused, others are written to `folder`.
fn indexes(prepared: &PreparedPublication<'_>, folder: &Path, ctx: &JobContext) -> Result<Indexes> {
    let mut found = Indexes::default();
    for format in &prepared.indexes {
        let name = index_name(*format);
        let contents = &prepared.contents;
        if contents.opened_as == name {
            found
                .files
                .extend(contents.first_read.iter().map(NewFile::from_source));
            found.opened = contents.first_read.first().map(|file| match format {
                Format::Tacocat => file.path.parent().unwrap_or(Path::new("")).to_owned(),
                _ => file.path.clone(),
            });
            continue;
        }
        let target = if *format == Format::Tacollection {
            folder.join(name)
        } else {
            folder.to_owned()
        };
        let options = ConsolidateOptions {
            inputs: contents.data.iter().map(|file| file.path.clone()).collect(),
            target,
            format: *format,
            parquet: ParquetOptions::default(),
            overwrite: false,
            skip_schema_check: false,
        };
        let built = consolidate(&options, ctx)?;
        let mut names: Vec<String> = prepared
            .names
            .iter()
            .filter(|own| own.split('/').next() == Some(name))
            .cloned()
            .collect();
        names.retain(|own| folder.join(own).is_file());
        for own in names {
            let path = folder.join(&own);
            let size = crate::files::metadata(&path).io_at("read", &path)?.len();
            found.files.push(NewFile {
                name: own,
                source: FileSource::File(path, size),
            });
        }
        found.opened = Some(built.path);
    }
    Ok(found)
}

/// Sends one file to a store, after `before` unless the store has it.
fn send(
    set: &ObjectSet,
    file: &NewFile,
    before: impl FnOnce() -> Result<()>,
    ctx: &JobContext,
) -> Result<Sent> {
    let size = file.source.size_bytes();
    let sent = match &file.source {
        // Documents, which refer to nothing.
        FileSource::Memory(bytes) => set.put(&file.name, bytes.clone())?,
        FileSource::File(path, _) => {
            let source = open(path, size)?;
            if set.has(
                &file.name,
                size,
                &mut FilePieces {
                    source: &source,
                    at: 0,
                },
            )? {
                Sent::Kept
            } else {
                before()?;
                let identity = identity_of(path);
                set.stream(&file.name, size, |writer| {
                    identity
                        .iter()
                        .for_each(|identity| writer.made_from(identity));
                    read_all(&source, &mut |piece| writer.write_all(piece), ctx)
                })?;
                source.expect_unchanged()?;
                return Ok(Sent::Written);
            }
        }
    };
    ctx.step(size);
    ctx.bytes(if sent == Sent::Written { size } else { 0 });
    Ok(sent)
}

/// Copies one file into a folder of this machine.
fn copy(file: &NewFile, target: &Path, ctx: &JobContext) -> Result<()> {
    let parent = target.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(parent).io_at("make a folder", parent)?;
    let mut output = std::fs::File::create_new(target).io_at("write", target)?;
    match &file.source {
        FileSource::Memory(bytes) => {
            output.write_all(bytes).io_at("write", target)?;
            ctx.step(bytes.len() as u64);
            ctx.bytes(bytes.len() as u64);
        }
        FileSource::File(path, size) => {
            let source = open(path, *size)?;
            read_all(&source, &mut |piece| output.write_all(piece), ctx)?;
            source.expect_unchanged()?;
        }
    }
    output.sync_all().io_at("write", target)
}

/// What identifies a version of a file of this machine: path, size and
/// modification time.
fn identity_of(path: &Path) -> Option<[u8; 32]> {
    if is_remote(path) {
        return None;
    }
    let meta = crate::files::metadata(path).ok()?;
    Some(
        Sha256::digest(format!(
            "{path:?} {} {:?}",
            meta.len(),
            meta.modified().ok()?
        ))
        .into(),
    )
}

/// Opens a file that had `size` bytes when it was listed.
fn open(path: &Path, size: u64) -> Result<ByteSource> {
    let source = ByteSource::open(path)?;
    if source.size_bytes() == size {
        Ok(source)
    } else {
        Err(Error::new(
            crate::error::Kind::Changed,
            "the file was changed while the dataset was published",
        )
        .at_path(path))
    }
}

/// Passes all bytes of a file to `write`, at most [`PIECE`] at a time.
fn read_all(
    source: &ByteSource,
    write: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ctx: &JobContext,
) -> Result<()> {
    let size = source.size_bytes();
    let mut at = 0;
    while at < size {
        ctx.check()?;
        let piece = source.read(at, (size - at).min(PIECE as u64))?;
        write(&piece).io_at("send", source.path())?;
        at += piece.len() as u64;
        ctx.step(piece.len() as u64);
        ctx.bytes(piece.len() as u64);
    }
    Ok(())
}

/// A file as a stream.
struct FilePieces<'a> {
    source: &'a ByteSource,
    at: u64,
}

impl std::io::Read for FilePieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = (self.source.size_bytes() - self.at).min(buffer.len() as u64) as usize;
        self.source.read_into(self.at, &mut buffer[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

/// True when both paths resolve to the same file or folder.
fn is_same_place(one: &Path, other: &Path) -> bool {
    match (crate::files::canonical(one), crate::files::canonical(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
