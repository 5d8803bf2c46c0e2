//! `describe`: a dataset of any generation in the forms of catalogues.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::migrate::assembly_of;
use super::operation::{Operation, PathUse, PathVisitor, WrittenFile, visit_read_dataset};
use super::training_facts::{training_facts, training_facts_if_readable};
use crate::container::{
    self, ContainerReader, DocumentFolder, Format, LocalFile, OpenOptions, Physical, write_document,
};
use crate::error::{Error, IoContext, Result};
use crate::export::{
    self, Catalogue, CatalogueDocument, DocumentSink, Facts, ModuleOpening, TrainingFacts,
    describe_into, training_code,
};
use crate::jobs::{JobContext, release};
use crate::model::{is_remote, place_below};

/// Writes all documents or none; returns the path of the main one. Plain data.
///
/// # Errors
/// Those of [`describe_dataset`], and when an output exists without `overwrite` or can't be
/// written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescribeRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it: several datasets are described as one.
    #[serde(default)]
    pub open: OpenOptions,
    /// The form.
    pub form: Catalogue,
    /// Output file; for a form with several documents, the folder.
    pub output: PathBuf,
    /// The dataset's address on the web.
    #[serde(default)]
    pub url: Option<String>,
    /// The level whose samples GeoParquet lists; the first one with locations when absent.
    #[serde(default)]
    pub level: Option<usize>,
    /// Replace an existing output.
    #[serde(default)]
    pub overwrite: bool,
}

/// The main document of a form.
///
/// # Errors
/// For a dataset that can't be opened, an unknown level, and a form that the dataset has no data
/// for.
pub fn describe_dataset(
    input: &Path,
    open: &OpenOptions,
    form: Catalogue,
    url: Option<String>,
    level: Option<usize>,
    ctx: &JobContext,
) -> Result<CatalogueDocument> {
    let mut main = None;
    let mut sink = |document| keep_first(&mut main, document);
    describe_opened((input, open), form, (url, level), &mut sink, ctx)?;
    main.ok_or_else(|| Error::internal("a description without documents"))
}

fn keep_first(main: &mut Option<CatalogueDocument>, document: CatalogueDocument) -> Result<()> {
    main.get_or_insert(document);
    Ok(())
}

/// The map of an opened dataset as an SVG image: outlines of its samples over the land; `None`
/// without locations.
///
/// # Errors
/// When the metadata can't be read, or the job is cancelled.
pub fn map_of_dataset(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Option<String>> {
    let assembly = assembly_of(reader, ctx)?;
    let map = export::map_image(&assembly, &facts_of_info(reader), ctx)?;
    reader.expect_unchanged()?;
    Ok(map)
}

/// Python code of a training loop over the opened dataset; `None` without rasters.
///
/// # Errors
/// When the metadata can't be read, or the job is cancelled.
pub fn training_code_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Option<String>> {
    let opening = ModuleOpening::from_options(&reader.info().path, &OpenOptions::default());
    let facts = training_facts(reader, ctx)?;
    reader.expect_unchanged()?;
    Ok(facts.map(|facts| training_code(&opening, &facts)))
}

/// Passes the documents of a form to a sink, the main one first.
fn describe_opened(
    (input, open): (&Path, &OpenOptions),
    form: Catalogue,
    (url, level): (Option<String>, Option<usize>),
    sink: &mut DocumentSink<'_>,
    ctx: &JobContext,
) -> Result<()> {
    let reader = container::open_with(input, open, ctx)?;
    let assembly = assembly_of(reader.as_ref(), ctx)?;
    if let Some(level) = level.filter(|level| *level >= assembly.levels.len()) {
        let count = assembly.levels.len();
        return Err(Error::usage(format!(
            "there is no level {level}; the dataset has {count}, counted from 0"
        )));
    }
    let training = match form {
        Catalogue::Training => training_facts(reader.as_ref(), ctx)?,
        form if form.has_training_code() => training_facts_if_readable(reader.as_ref(), ctx)?,
        _ => None,
    };
    // A script is run anywhere, a card stays beside its dataset.
    let opening = (form == Catalogue::Training).then(|| ModuleOpening::from_options(input, open));
    // Only Croissant states checksums: they take reading the whole dataset.
    let facts = Facts {
        url,
        level,
        training,
        opening,
        ..facts_of(reader.as_ref(), form == Catalogue::Croissant, ctx)?
    };
    // Its tables have a row for every sample.
    release(reader);
    describe_into(&assembly, &facts, form, sink, ctx)?;
    assembly.version.expect_unchanged()
}

impl Operation for DescribeRequest {
    type Output = WrittenFile;

    fn label(&self) -> String {
        tr!("Describe {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.output);
    }

    fn run(&self, ctx: &JobContext) -> Result<WrittenFile> {
        Ok(WrittenFile {
            path: describe_to(self, ctx)?,
        })
    }
}

fn describe_to(request: &DescribeRequest, ctx: &JobContext) -> Result<PathBuf> {
    let DescribeRequest {
        input,
        open,
        form,
        output,
        url,
        level,
        overwrite,
    } = request;
    let mut written = DescriptionWriter {
        output,
        overwrite: *overwrite,
        main: None,
        main_name: String::new(),
        folder: None,
    };
    let mut sink = |document| ctx.check().and_then(|()| written.add_document(document));
    describe_opened((input, open), *form, (url.clone(), *level), &mut sink, ctx)?;
    let DescriptionWriter {
        main,
        main_name,
        mut folder,
        ..
    } = written;
    // A form of one document is a file, unless the output is a folder.
    if let Some(main) = main {
        if output.extension().is_some() {
            write_document(output, &main.bytes, *overwrite)?;
            return Ok(output.clone());
        }
        folder
            .get_or_insert(DocumentFolder::new(output, *overwrite)?)
            .put(&main.name, &main.bytes)?;
    }
    let Some(folder) = folder else {
        return Err(Error::internal("a description without documents"));
    };
    // Items of samples that are gone must not stay beside those of a new description.
    let folders: &[&str] = if *form == Catalogue::Stac {
        &["items"]
    } else {
        &[]
    };
    folder.finish(folders)?;
    Ok(output.join(main_name))
}

/// Writes documents into a folder from the second on; the main one, which is the first, may be the
/// only one.
struct DescriptionWriter<'a> {
    output: &'a Path,
    overwrite: bool,
    /// The main document, as long as it is not written.
    main: Option<CatalogueDocument>,
    main_name: String,
    folder: Option<DocumentFolder>,
}

impl DescriptionWriter<'_> {
    fn add_document(&mut self, document: CatalogueDocument) -> Result<()> {
        if self.main.is_none() && self.folder.is_none() {
            self.main_name.clone_from(&document.name);
            self.main = Some(document);
            return Ok(());
        }
        let folder = match &mut self.folder {
            Some(folder) => folder,
            None => self
                .folder
                .insert(DocumentFolder::new(self.output, self.overwrite)?),
        };
        if let Some(main) = self.main.take() {
            folder.put(&main.name, &main.bytes)?;
        }
        folder.put(&document.name, &document.bytes)
    }
}

/// The documents beside a published dataset; `place` maps the path of a file to its link.
///
/// # Errors
/// When the dataset can't be read, or the job is cancelled.
pub(super) fn describe_beside(
    reader: &dyn ContainerReader,
    place: &dyn Fn(&Path) -> PathBuf,
    url: Option<String>,
    training: Option<TrainingFacts>,
    ctx: &JobContext,
) -> Result<Vec<CatalogueDocument>> {
    let assembly = assembly_of(reader, ctx)?;
    let mut facts = Facts {
        url,
        training,
        ..facts_of(reader, true, ctx)?
    };
    facts.path = place(&facts.path);
    for part in &mut facts.parts {
        part.path = place(&part.path);
    }
    let documents = export::describe_beside(&assembly, &facts, ctx)?;
    reader.expect_unchanged()?;
    Ok(documents)
}

/// Facts of the opened dataset, without separate tables and parts.
fn facts_of_info(reader: &dyn ContainerReader) -> Facts {
    let info = reader.info();
    let single = match (info.format, reader.physical()) {
        (Format::Zip | Format::Tortilla | Format::Taco | Format::TacocatFile, _) => true,
        (_, Physical::Early(dataset)) => !dataset.is_folder(),
        (_, Physical::Taco3(dataset)) => !dataset.is_folder() && dataset.parts_folder().is_none(),
        _ => info.path.is_file(),
    };
    Facts {
        path: info.path.clone(),
        opened: info.path.clone(),
        format: info.format,
        single,
        size_bytes: info.size_bytes,
        sha256: None,
        tables: Vec::new(),
        modified: None,
        url: None,
        level: None,
        roots: reader.levels().rows(0),
        parts: Vec::new(),
        training: None,
        opening: None,
    }
}

fn facts_of(reader: &dyn ContainerReader, with_sums: bool, ctx: &JobContext) -> Result<Facts> {
    let facts = facts_of_info(reader);
    let parts = match reader.physical() {
        Physical::Joined(joined) if joined.listed_parts().is_none() => (0..joined.datasets().len())
            .map(|part| facts_of(joined.dataset(part, ctx)?.as_ref(), with_sums, ctx))
            .collect::<Result<Vec<_>>>()?,
        Physical::Tortilla(tortilla) => {
            let mut parts = Vec::with_capacity(tortilla.files().len());
            for (file, root) in tortilla.files().iter().zip(tortilla.roots()) {
                let path = file.path().to_owned();
                let part = Facts {
                    opened: path.clone(),
                    path,
                    roots: root.table.rows(),
                    ..facts.clone()
                };
                parts.push(facts_of_file(part, file, with_sums, ctx)?);
            }
            parts
        }
        _ if facts.single => {
            return facts_of_file(
                facts.clone(),
                &LocalFile::open(&facts.path)?,
                with_sums,
                ctx,
            );
        }
        _ => return facts_of_folder(reader, facts, with_sums, ctx),
    };
    if let [part] = parts.as_slice() {
        return Ok(Facts {
            roots: facts.roots,
            ..part.clone()
        });
    }
    let size_bytes = parts.iter().map(|part| part.size_bytes).sum();
    // When one of them was changed is unknown where it is of any.
    let changes: Option<Vec<_>> = parts.iter().map(|part| part.modified).collect();
    Ok(Facts {
        size_bytes,
        modified: changes.and_then(|changes| changes.into_iter().max()),
        parts,
        ..facts
    })
}

/// A dataset, or a part of one, that is one file. All of a file on another machine is not read for
/// its checksum.
fn facts_of_file(
    facts: Facts,
    file: &LocalFile,
    with_sums: bool,
    ctx: &JobContext,
) -> Result<Facts> {
    let sha256 = if with_sums && !file.is_remote() {
        Some(sha256_of(file, ctx)?)
    } else {
        None
    };
    Ok(Facts {
        single: true,
        size_bytes: Some(file.size_bytes()),
        modified: modification_time(file),
        sha256,
        ..facts
    })
}

fn facts_of_folder(
    reader: &dyn ContainerReader,
    mut facts: Facts,
    with_sums: bool,
    ctx: &JobContext,
) -> Result<Facts> {
    let remote = is_remote(&facts.path);
    if !remote {
        facts.size_bytes = Some(size_below(&facts.path, 0, ctx)?);
    }
    let levels = if remote { reader.levels().count() } else { 8 };
    let names = ["COLLECTION.json".to_owned()]
        .into_iter()
        .chain((0..levels).flat_map(|level| {
            [
                format!("METADATA/level{level}.parquet"),
                format!("level{level}.parquet"),
            ]
        }));
    for name in names.chain([
        "METADATA/sample.parquet".to_owned(),
        "METADATA/children.parquet".to_owned(),
    ]) {
        ctx.check()?;
        let path = place_below(&facts.path, &name);
        if !remote && !crate::files::exists(&path).io_at("read the folder", &path)? {
            continue;
        }
        let file = match LocalFile::open(&path) {
            Ok(file) => file,
            // A remote folder can't be listed, so the known names are tried.
            Err(_) if remote => continue,
            Err(error) => return Err(error),
        };
        facts.modified = facts.modified.max(modification_time(&file));
        if with_sums {
            facts
                .tables
                .push((name, file.size_bytes(), sha256_of(&file, ctx)?));
        }
    }
    Ok(facts)
}

/// When a file was last changed, where that is known.
fn modification_time(file: &LocalFile) -> Option<DateTime<Utc>> {
    Some(file.identity().modified_ms)
        .filter(|ms| *ms > 0)
        .and_then(DateTime::from_timestamp_millis)
}

fn size_below(folder: &Path, depth: usize, ctx: &JobContext) -> Result<u64> {
    ctx.check()?;
    if depth > 64 {
        return Ok(0);
    }
    let mut size = 0;
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        // Links are not followed: a loop would have no end.
        let kind = entry.file_type().io_at("read the folder", folder)?;
        size += if kind.is_dir() {
            size_below(&entry.path(), depth + 1, ctx)?
        } else {
            entry.metadata().io_at("look at", entry.path())?.len()
        };
    }
    Ok(size)
}

fn sha256_of(file: &LocalFile, ctx: &JobContext) -> Result<String> {
    ctx.stage(tr!("Computing the checksum"), None);
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let (mut at, size) = (0, file.size_bytes());
    while at < size {
        ctx.check()?;
        let part = &mut buffer[..(size - at).min(1 << 20) as usize];
        file.read_into(at, part).io_at("read", file.path())?;
        sum.update(&*part);
        at += part.len() as u64;
        ctx.bytes(part.len() as u64);
    }
    Ok(hex::encode(sum.finalize()))
}
