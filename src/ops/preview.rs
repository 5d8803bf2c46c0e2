//! Previews of operations, computed without writing: outline of a dataset, number of rasters that
//! optimise would write, columns that joining datasets leaves out, entries of an index. For
//! previews; each reads tables and headers only.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::missing_parts::MissingParts;
use super::optimise::{OptimiseRequest, RasterLook, look_at};
use crate::container::{
    self, ConsolidateOptions, ContainerReader, Format, JoinedColumnChange, LevelSet, OpenOptions,
    Physical, list_zips,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, FieldSpec, is_padding, is_remote, place_below};
use crate::raster::RasterSource;
use crate::validate::files_below;

/// Rasters whose headers a preview of optimise reads.
const LOOKED_AT: usize = 64;

/// Outline of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetOutline {
    /// Its container.
    pub format: Format,
    /// Samples of each level.
    pub rows: Vec<usize>,
    /// Columns of each level, without generated ones.
    pub columns: Vec<Vec<FieldSpec>>,
    /// Size of the file in bytes; `None` for folders.
    pub size_bytes: Option<u64>,
    /// Parts of a dataset of the first generation that are missing.
    pub lacking: Option<MissingParts>,
    /// Columns that joining several datasets leaves out or fills with nulls.
    pub changes: Vec<JoinedColumnChange>,
}

/// Opens a dataset, or several as one, and returns its outline.
///
/// # Errors
/// As [`container::open_with`].
pub fn dataset_outline(
    path: &Path,
    open: &OpenOptions,
    ctx: &JobContext,
) -> Result<DatasetOutline> {
    Ok(outline_of(container::open_with(path, open, ctx)?.as_ref()))
}

/// [`dataset_outline`] of an opened dataset.
pub fn outline_of(reader: &dyn ContainerReader) -> DatasetOutline {
    let levels = reader.levels();
    let changes = match reader.physical() {
        Physical::Joined(joined) => joined.changes().to_vec(),
        _ => Vec::new(),
    };
    DatasetOutline {
        format: reader.info().format,
        rows: (0..levels.count())
            .map(|level| levels.rows(level))
            .collect(),
        columns: (0..levels.count())
            .map(|level| list_data_fields(levels, level))
            .collect(),
        size_bytes: reader.info().size_bytes,
        lacking: MissingParts::from_reader(reader),
        changes,
    }
}

/// The fields of a level that are not internal.
fn list_data_fields(levels: &LevelSet, level: usize) -> Vec<FieldSpec> {
    levels
        .fields(level)
        .into_iter()
        .filter(|field| !field.name.starts_with("internal:"))
        .collect()
}

/// Editable contents of a finished dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct EditableContents {
    /// Its container.
    pub format: Format,
    /// Columns of each level; of a file of the first generation those of its footer.
    pub columns: Vec<Vec<FieldSpec>>,
    /// The collection; `None` of a TORTILLA.
    pub collection: Option<Map<String, Json>>,
    /// Files that together are the dataset.
    pub files: usize,
    /// Samples of level 0.
    pub samples: usize,
}

/// Reads what can be edited of a dataset.
///
/// # Errors
/// As [`container::open`].
pub fn editable_contents(path: &Path, ctx: &JobContext) -> Result<EditableContents> {
    let reader = container::open(path, ctx)?;
    let outline = outline_of(reader.as_ref());
    let (format, samples) = (
        outline.format,
        outline.rows.first().copied().unwrap_or_default(),
    );
    let fields = reader.collection().fields.clone();
    Ok(match reader.physical() {
        Physical::Tortilla(tortilla) => {
            // The footers themselves: the reader's table of level 0 has columns of its own.
            let footers = tortilla
                .roots()
                .first()
                .map(|root| root.table.fields())
                .into_iter();
            EditableContents {
                format,
                columns: footers.chain(outline.columns.into_iter().skip(1)).collect(),
                collection: (format == Format::Taco).then_some(fields),
                files: tortilla.files().len(),
                samples,
            }
        }
        _ => EditableContents {
            format,
            columns: outline.columns,
            collection: Some(fields),
            files: 1,
            samples,
        },
    })
}

/// Preview of optimise for the first files of its input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptimisePreview {
    /// Files of the input.
    pub files: u64,
    /// Files whose headers were read.
    pub looked_at: u64,
    /// Rasters that would be written anew.
    pub to_write: u64,
    /// Rasters that are TOGs already.
    pub already: u64,
    /// Number of files that would be copied unchanged.
    pub copied: u64,
    /// True for a dataset, whose ids and metadata stay.
    pub is_dataset: bool,
}

/// Reads the headers of the first files.
///
/// # Errors
/// For an input that is neither a raster, a folder nor a dataset, and one that can't be read.
pub fn optimise_preview(request: &OptimiseRequest, ctx: &JobContext) -> Result<OptimisePreview> {
    let input = &request.input;
    let is_folder = !is_remote(input) && input.is_dir();
    let detected = container::detect(input).is_ok();
    let (files, sources): (u64, Vec<AssetPath>) = match (detected, is_folder) {
        (true, _) => {
            let reader = container::open_with(input, &request.open, ctx)?;
            let tree = reader.levels().skeleton(ctx)?;
            let files = tree.levels.iter().enumerate().flat_map(|(depth, level)| {
                let rows = (0..level.len() as u32)
                    .filter(|&row| !level.folder[row as usize] && !is_padding(level.id(row)));
                rows.map(move |row| (depth, row))
            });
            let count = files.clone().count() as u64;
            let sources = files
                .take(LOOKED_AT)
                .map(|(depth, row)| Ok(reader.asset(depth, row)?.0));
            (count, sources.collect::<Result<_>>()?)
        }
        (false, true) => {
            let names = files_below(input, ctx)?;
            (
                names.len() as u64,
                names
                    .iter()
                    .take(LOOKED_AT)
                    .map(|name| AssetPath::file(input.join(name)))
                    .collect(),
            )
        }
        (false, false) => {
            if !is_remote(input) && !input.is_file() {
                return Err(Error::usage("there is nothing here")
                    .at_path(input)
                    .hint("name a raster, a folder or a dataset"));
            }
            (1, vec![AssetPath::file(&**input)])
        }
    };
    let mut preview = OptimisePreview {
        files,
        is_dataset: detected,
        ..OptimisePreview::default()
    };
    ctx.stage(tr!("Reading headers"), Some(sources.len() as u64));
    for source in sources {
        let source = if detected {
            RasterSource::member(source)
        } else {
            RasterSource::from_user_path(source).with_variable(request.variable.clone())
        };
        let count = match look_at(&source, request, ctx)? {
            RasterLook::Write => &mut preview.to_write,
            RasterLook::Already => &mut preview.already,
            RasterLook::Other | RasterLook::Keep(_) | RasterLook::Fail(_) => &mut preview.copied,
        };
        *count += 1;
        preview.looked_at += 1;
        ctx.step(1);
    }
    Ok(preview)
}

/// Preview of an index over ZIPs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPreview {
    /// Each ZIP with its samples of level 0.
    pub zips: Vec<(PathBuf, usize)>,
    /// ZIPs that are not in the folder where readers of the index look for them.
    pub elsewhere: usize,
}

/// Opens the ZIPs that an index would list.
///
/// # Errors
/// For an input that is no ZIP of 2.0 or can't be read.
pub fn index_preview(options: &ConsolidateOptions, ctx: &JobContext) -> Result<IndexPreview> {
    let options = &ConsolidateOptions {
        inputs: list_zips(&options.inputs)?,
        ..options.clone()
    };
    ctx.stage(tr!("Reading the ZIPs"), Some(options.inputs.len() as u64));
    let mut zips = Vec::with_capacity(options.inputs.len());
    for path in &options.inputs {
        ctx.check()?;
        let reader = container::open(path, ctx)?;
        if reader.info().format != Format::Zip {
            let message = format!(
                "an index lists ZIPs of 2.0; this is {}",
                reader.info().format.badge()
            );
            return Err(Error::usage(message).at_path(path));
        }
        zips.push((path.clone(), reader.levels().rows(0)));
        ctx.step(1);
    }
    Ok(IndexPreview {
        zips,
        elsewhere: zips_elsewhere(options),
    })
}

/// The folder where readers of the index look for its ZIPs.
pub fn folder_of_index(options: &ConsolidateOptions) -> &Path {
    match options.format {
        Format::Tacollection => options
            .target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
        _ => &options.target,
    }
}

/// How many of the ZIPs are not in [`folder_of_index`]. Asks the disk.
pub fn zips_elsewhere(options: &ConsolidateOptions) -> usize {
    let folder = folder_of_index(options);
    options
        .inputs
        .iter()
        .filter(|path| !folder_has_name(path, folder))
        .count()
}

/// True when a folder has a file with the name of this path. A store is not asked: readers find a
/// ZIP whose address is in the folder.
fn folder_has_name(path: &Path, folder: &Path) -> bool {
    match (is_remote(folder), path.file_name()) {
        (true, Some(name)) => *path == place_below(folder, &name.to_string_lossy()),
        (false, Some(name)) => folder.join(name).is_file(),
        (_, None) => false,
    }
}
