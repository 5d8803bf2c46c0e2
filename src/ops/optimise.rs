//! `optimise`: rasters as TACO Optimized GeoTIFFs: one file, all below a folder, or those of a
//! whole dataset, whose ids and metadata stay. Values never change. Must not touch the input; files
//! that are no raster, or have several, are copied unchanged.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::draft_of_assembly::draft_of_assembly;
use super::legacy::{is_taco_name, write_assembly};
use super::migrate::{assembly_of, is_other_generation};
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor, visit_read_dataset};
use crate::container::{
    self, Assembly, AssemblyLevel, BuildOptions, DatasetVersion, Format, OnDamage, OpenOptions,
    PartialFolder, RowSource, Scratch, SourceCheck, Staging, TortillaOptions, asset_size,
    copy_asset,
};
use crate::error::{Cause, Error, IoContext, Result};
use crate::extensions::{self, CallTarget, ExtensionCall, HASH_COLUMN, builtin};
use crate::files::free_bytes;
use crate::jobs::{JobContext, try_map};
use crate::model::{AssetPath, FieldSpec, Value, is_padding, is_remote};
use crate::raster::{self, RasterSource, TogOptions};
use crate::table::{ParquetOptions, array_of, value_at};
use crate::validate::files_below;

/// Formats whose files hold more than the pixels of one image, which a GeoTIFF would lose; a file
/// of them that is named is written all the same.
const MORE_THAN_PIXELS: [&str; 12] = [
    "netCDF",
    "HDF5",
    "HDF5Image",
    "GRIB",
    "BAG",
    "S102",
    "SENTINEL2",
    "SAFE",
    "VRT",
    "DERIVED",
    "GPKG",
    "SQLite",
];
/// Sidecar files of a raster that become part of its TOG, or are dropped with its overviews.
const BESIDE: [&str; 2] = [".ovr", ".msk"];
/// Columns of a level that depend on the bytes, and the extension that computes them.
const OF_BYTES: [(&str, &str); 2] = [("taco:header", "tacotiff"), (HASH_COLUMN, "content_hash")];

/// Optimises a raster, a folder or a dataset. Of several rasters one that can't be read or written
/// is copied as it is and listed. Plain data.
///
/// # Errors
/// When GDAL lacks what TOGs need, when the only raster fails, and for outputs that exist or can't
/// be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptimiseRequest {
    /// A raster, a folder, or a dataset of any generation.
    pub input: PathBuf,
    /// Output file or folder. For a dataset, `.tortilla` and `.taco` select the first generation.
    pub output: PathBuf,
    /// How to open a dataset.
    #[serde(default)]
    pub open: OpenOptions,
    /// Tiles and compression.
    #[serde(default)]
    pub tog: TogOptions,
    /// The container of a dataset of 2.0; that of the input when absent.
    #[serde(default)]
    pub format: Option<Format>,
    /// How the level tables of a dataset are written.
    #[serde(default)]
    pub parquet: ParquetOptions,
    /// Make a dataset of the first generation streamable.
    #[serde(default)]
    pub stream: bool,
    /// Write rasters anew that are TOGs already.
    #[serde(default)]
    pub again: bool,
    /// The variable that is written of files with several, such as netCDF; of a raster or a folder
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<Arc<str>>,
    /// Replace an existing output.
    #[serde(default)]
    pub overwrite: bool,
    /// How bytes of a dataset with a wrong checksum are handled.
    #[serde(default)]
    pub on_damage: OnDamage,
    /// As in [`BuildOptions`].
    #[serde(default)]
    pub text_columns: bool,
    /// As in [`BuildOptions`].
    #[serde(default)]
    pub align_blocks: bool,
}

/// A file that was copied unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptFile {
    /// The sample's path, or that of the file below the folder.
    pub path: String,
    /// Why.
    pub reason: String,
    /// True when it is a raster that should have been written and could not be.
    pub failed: bool,
}

/// Result of [`OptimiseRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Optimised {
    /// The written file, folder or dataset.
    pub path: PathBuf,
    /// True for a dataset, false for a raster or a folder of files.
    #[serde(skip)]
    pub is_dataset: bool,
    /// Rasters that are TOGs now.
    pub written: u64,
    /// Rasters that were TOGs before, byte for byte.
    pub already: u64,
    /// Rasters and other files that were copied, with the reason; files that are no rasters are
    /// counted in `others` only.
    pub kept: Vec<KeptFile>,
    /// Files that are no rasters, byte for byte.
    pub others: u64,
    /// Bytes of the rasters that were written: before and after.
    pub bytes: (u64, u64),
    /// Samples that were damaged before and are written all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<String>,
}

impl Optimised {
    /// Rasters that could not be written.
    pub fn failures(&self) -> usize {
        self.kept.iter().filter(|kept| kept.failed).count()
    }

    fn count(&mut self, path: impl FnOnce() -> String, before: u64, done: &Done) {
        match done {
            Done::Written { size, .. } => {
                self.written += 1;
                self.bytes.0 += before;
                self.bytes.1 += size;
            }
            Done::Already => self.already += 1,
            Done::Other => self.others += 1,
            Done::Kept { reason, failed } => self.kept.push(KeptFile {
                path: path(),
                reason: reason.clone(),
                failed: *failed,
            }),
        }
    }
}

/// Outcome for one file.
enum Done {
    Written { place: PathBuf, size: u64 },
    Already,
    Other,
    Kept { reason: String, failed: bool },
}

impl OperationOutput for Optimised {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        let Self {
            path,
            written,
            bytes: (before, after),
            ..
        } = self;
        let done = tr_n!(
            *written,
            "{path}: {n} raster optimised ({before} bytes, now {after})",
            "{path}: {n} rasters optimised ({before} bytes, now {after})",
            path = path.display(),
            n = written,
            before,
            after
        );
        match self.failures() {
            0 => done,
            failed => {
                tr_n!(
                    failed,
                    "{done}, {n} could not be written",
                    "{done}, {n} could not be written",
                    done,
                    n = failed
                )
            }
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        vec![&self.path]
    }

    fn is_sound(&self) -> bool {
        self.failures() == 0 && self.damaged.is_empty()
    }
}

impl Operation for OptimiseRequest {
    type Output = Optimised;

    fn label(&self) -> String {
        tr!("Optimise {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.output);
    }

    fn run(&self, ctx: &JobContext) -> Result<Optimised> {
        optimise(self, ctx)
    }
}

fn optimise(request: &OptimiseRequest, ctx: &JobContext) -> Result<Optimised> {
    raster::tog_support()?;
    request.tog.check()?;
    let OptimiseRequest { input, output, .. } = request;
    let real = |path: &Path| path.canonicalize().ok();
    if real(input).is_some_and(|input| real(output) == Some(input)) {
        return Err(Error::usage("the output is the input")
            .at_path(output)
            .hint("choose another name"));
    }
    container::refuse_existing(output, request.overwrite)?;
    let is_folder = !is_remote(input) && input.is_dir();
    match container::detect(input) {
        Ok(_) if request.variable.is_some() => {
            let error = Error::usage(
                "a variable is written of a raster or of a folder of rasters, not of a dataset",
            )
            .at_path(input);
            Err(error.hint(
                "`extend --with cube` chooses the variable that is read of a dataset's files",
            ))
        }
        Ok(_) => Ok(Optimised {
            is_dataset: true,
            ..dataset(request, ctx)?
        }),
        // Other faults are reported when it is opened as a raster.
        Err(_) if is_folder => folder(request, ctx),
        Err(_) => optimise_one_raster(request, ctx),
    }
}

fn optimise_one_raster(request: &OptimiseRequest, ctx: &JobContext) -> Result<Optimised> {
    let asset = AssetPath::file(&*request.input);
    if request.output.is_dir() {
        return Err(
            Error::usage("the output is a folder; one raster needs a file name")
                .at_path(&request.output),
        );
    }
    let name = request
        .output
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut staging = Staging::new(&request.output, request.overwrite)?;
    staging.claim(&name)?;
    ctx.stage(tr!("Writing the raster"), None);
    let tog = TogOptions {
        parallel: true,
        ..request.tog
    };
    let source =
        RasterSource::from_user_path(asset.clone()).with_variable(request.variable.clone());
    let version = DatasetVersion::of_files([request.input.as_path()])?;
    let written = raster::write_tog(&source, &staging.path().join(&*name), &tog, ctx);
    written.map_err(
        |error| match (free_bytes(&request.output), asset_size(&asset)) {
            // GDAL does not say why it could not write.
            (Some(free), Ok(size)) if free < size && !error.is_cancelled() => error.hint(format!(
                "the disk has {free} bytes free: free some space, or write to another disk"
            )),
            _ => error,
        },
    )?;
    raster::close_idle();
    version.expect_unchanged()?;
    staging.finish()?;
    let mut optimised = Optimised {
        path: request.output.clone(),
        ..Optimised::default()
    };
    let size = asset_size(&AssetPath::file(&*request.output))?;
    optimised.count(
        String::new,
        asset_size(&asset)?,
        &Done::Written {
            place: PathBuf::new(),
            size,
        },
    );
    Ok(optimised)
}

fn folder(request: &OptimiseRequest, ctx: &JobContext) -> Result<Optimised> {
    let files = files_below(&request.input, ctx)?;
    let known: HashSet<&str> = files.iter().map(String::as_str).collect();
    let files: Vec<&String> = files
        .iter()
        .filter(|name| !belongs_to_raster(name, &known))
        .collect();
    let paths: Vec<PathBuf> = known.iter().map(|name| request.input.join(name)).collect();
    let version = DatasetVersion::of_files(paths.iter().map(PathBuf::as_path))?;
    let output = PartialFolder::of_files(&request.output, request.overwrite)?;
    // What GDAL needs while it writes a raster does not get into the output.
    let scratch = Scratch::for_target(&request.output)?;
    ctx.stage(tr!("Writing the rasters"), Some(files.len() as u64));
    let done: Vec<(u64, Done)> = try_map(&files, |number, name| {
        let source = AssetPath::file(request.input.join(name));
        let place = scratch.path().join(format!("{number}.tif"));
        let size = asset_size(&source)?;
        let raster =
            RasterSource::from_user_path(source.clone()).with_variable(request.variable.clone());
        let done = write_one(&raster, &place, request, ctx)?;
        if matches!(done, Done::Written { .. }) {
            let target = output.path().join(tiff_name(name, &known));
            make_parent(&target)?;
            std::fs::rename(&place, &target).io_at("give the raster its name", &target)?;
        } else {
            let target = output.path().join(name);
            make_parent(&target)?;
            copy_asset(&source, &target, false, OnDamage::Stop, ctx)?;
        }
        ctx.step(1);
        Ok((size, done))
    })?;
    let mut optimised = Optimised {
        path: request.output.clone(),
        ..Optimised::default()
    };
    for (name, (size, done)) in files.iter().zip(&done) {
        optimised.count(|| (*name).clone(), *size, done);
    }
    // Handles into the folder would keep it from getting its name on some systems.
    raster::close_idle();
    version.expect_unchanged()?;
    output.finish()?;
    Ok(optimised)
}

/// True for overviews or a mask beside one of the files.
fn belongs_to_raster(name: &str, files: &HashSet<&str>) -> bool {
    BESIDE.iter().any(|ending| {
        name.strip_suffix(ending)
            .is_some_and(|whole| files.contains(whole))
    })
}

/// The name with the ending of a TIFF. Two names never become one.
fn tiff_name(name: &str, known: &HashSet<&str>) -> String {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("tif") || ending.eq_ignore_ascii_case("tiff")
    }) {
        return name.to_owned();
    }
    let plain = path.with_extension("tif").to_string_lossy().into_owned();
    let alike = known
        .iter()
        .filter(|other| Path::new(other).with_extension("tif").to_string_lossy() == *plain)
        .count();
    if alike > 1 {
        format!("{name}.tif")
    } else {
        plain
    }
}

/// Treatment of a file, decided by its header.
pub(super) enum RasterLook {
    /// No raster.
    Other,
    /// A raster that is copied, for this reason.
    Keep(String),
    /// A TOG already.
    Already,
    /// A raster that this program can't read, for this reason.
    Fail(String),
    /// To be written.
    Write,
}

/// Reads the header of one of many files.
pub(super) fn look_at(
    source: &RasterSource,
    request: &OptimiseRequest,
    ctx: &JobContext,
) -> Result<RasterLook> {
    ctx.check()?;
    // GDAL does not report a failed read of the header: it says that the file is no raster. So it
    // is asked twice, and once more when the first bytes are those of one.
    let described = raster::describe(source).or_else(|error| {
        if is_cancelled_or_passing(&error) {
            Err(error)
        } else {
            raster::describe(source)
        }
    });
    let info = match described {
        Err(error) if !is_final_error(&error) && raster::begins_like_raster(source)? => {
            raster::describe(source)
        }
        described => described,
    };
    let info = match info {
        Ok(info) => info,
        Err(error) if is_cancelled_or_passing(&error) => return Err(error),
        Err(error) if error.is_caused_by(Cause::MissingCodec) => {
            return Ok(RasterLook::Fail(error.to_string()));
        }
        Err(error) if error.is_caused_by(Cause::NoVariable) => {
            return Ok(RasterLook::Keep(error.sentence()));
        }
        Err(_) => return Ok(RasterLook::Other),
    };
    if info.band_count == 0 {
        return Ok(RasterLook::Other);
    }
    if source.variable().is_none() && MORE_THAN_PIXELS.contains(&info.driver.as_str()) {
        let several = info
            .variable
            .as_ref()
            .map(|variable| format!(": {}", variable.names.join(", ")))
            .unwrap_or_default();
        return Ok(RasterLook::Keep(format!(
            "{} holds more than the pixels of one image{several}",
            info.driver
        )));
    }
    let block = request.tog.block_size as usize;
    let blocked = info
        .bands
        .first()
        .is_some_and(|band| band.block == (block, block));
    let already = !request.again
        && blocked
        && raster::tog_faults(source, ctx).is_ok_and(|faults| faults.is_empty());
    Ok(if already {
        RasterLook::Already
    } else {
        RasterLook::Write
    })
}

fn is_cancelled_or_passing(error: &Error) -> bool {
    error.is_cancelled() || error.is_passing()
}

/// True for an error after which the header is not read again.
fn is_final_error(error: &Error) -> bool {
    is_cancelled_or_passing(error)
        || [Cause::MissingCodec, Cause::NoVariable]
            .iter()
            .any(|&cause| error.is_caused_by(cause))
}

/// Writes one of many rasters, if it is one.
fn write_one(
    source: &RasterSource,
    target: &Path,
    request: &OptimiseRequest,
    ctx: &JobContext,
) -> Result<Done> {
    match look_at(source, request, ctx)? {
        RasterLook::Other => return Ok(Done::Other),
        RasterLook::Keep(reason) => {
            return Ok(Done::Kept {
                reason,
                failed: false,
            });
        }
        RasterLook::Fail(reason) => {
            return Ok(Done::Kept {
                reason,
                failed: true,
            });
        }
        RasterLook::Already => return Ok(Done::Already),
        RasterLook::Write => {}
    }
    match raster::write_tog(source, target, &request.tog, ctx) {
        Ok(()) => Ok(Done::Written {
            place: target.to_owned(),
            size: asset_size(&AssetPath::file(target))?,
        }),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => Ok(Done::Kept {
            reason: error.to_string(),
            failed: true,
        }),
    }
}

/// Gives a TOG the modification time of the file that it was made of, or the one of members that
/// the writer makes: an archive keeps the time, and the same input gives the same bytes.
fn date_like_source(asset: &AssetPath, target: &Path) -> Result<()> {
    let source = match asset {
        AssetPath::File(path) if !is_remote(path) => std::fs::metadata(path)
            .and_then(|meta| meta.modified())
            .ok(),
        _ => None,
    };
    let tog = std::fs::OpenOptions::new()
        .write(true)
        .open(target)
        .io_at("open the raster", target)?;
    tog.set_modified(source.unwrap_or(std::time::UNIX_EPOCH))
        .io_at("date the raster", target)
}

fn dataset(request: &OptimiseRequest, ctx: &JobContext) -> Result<Optimised> {
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    let first_generation = request.output.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("tortilla") || ending.eq_ignore_ascii_case("taco")
    });
    if is_other_generation(reader.as_ref()) && !first_generation {
        let message = format!(
            "this dataset is of generation {}",
            reader.info().format.generation()
        );
        let error = Error::usage(message).at_path(&request.input);
        return Err(
            error.hint("name an output that ends in .tortilla or .taco, or use `migrate` first")
        );
    }
    if request.stream && !first_generation {
        return Err(Error::usage(
            "only .tortilla and .taco files are made streamable: 2.0 streams as it is",
        ));
    }
    let mut assembly = assembly_of(reader.as_ref(), ctx)?;
    // Everything is written twice, because offsets and sizes are planned before data is written.
    let staging = Scratch::for_target(&request.output)?;
    let version = assembly.version.clone();
    let rewritten = rewrite(&mut assembly, staging.path(), request, ctx);
    let mut optimised = rewritten
        .and_then(|done| refresh(&mut assembly, ctx).map(|()| done))
        .map_err(|e| version.explain(e))?;
    assembly.correct_extent(ctx)?;
    let built = if first_generation {
        let collection = match reader.info().format {
            Format::Taco if is_taco_name(&request.output) => {
                Some(reader.collection().fields.clone())
            }
            _ => None,
        };
        let options = TortillaOptions {
            text_form: false,
            target: request.output.clone(),
            collection,
            part_bytes: None,
            stream: request.stream,
            // Rasters that could not be converted are listed in the result.
            allow_non_tog: true,
            overwrite: request.overwrite,
            on_damage: request.on_damage,
        };
        write_assembly(assembly, &options, ctx)?
    } else {
        let options = BuildOptions {
            text_columns: request.text_columns,
            align_blocks: request.align_blocks,
            target: request.output.clone(),
            format: request
                .format
                .unwrap_or(if reader.info().format == Format::Folder {
                    Format::Folder
                } else {
                    Format::Zip
                }),
            parquet: request.parquet.clone(),
            overwrite: request.overwrite,
            parts: None,
            on_damage: request.on_damage,
        };
        container::write(&assembly, &options, ctx)?
    };
    raster::close_idle();
    optimised.path = built.path;
    optimised.damaged.extend(built.damaged);
    optimised.damaged.sort();
    Ok(optimised)
}

/// Replaces rasters by TOGs, and updates columns that name the format.
fn rewrite(
    assembly: &mut Assembly,
    staging: &Path,
    request: &OptimiseRequest,
    ctx: &JobContext,
) -> Result<Optimised> {
    let files: Vec<(usize, usize)> = (assembly.levels.iter().enumerate())
        .flat_map(|(depth, level)| (0..level.sources.len()).map(move |row| (depth, row)))
        .filter(|&(depth, row)| !is_padding(assembly.tree.levels[depth].id(row as u32)))
        .collect();
    ctx.stage(tr!("Writing the rasters"), Some(files.len() as u64));
    let sources = SourceCheck::new(request.on_damage);
    let done: Vec<Option<(u64, Done)>> = try_map(&files, |_, &(depth, row)| {
        let source = &assembly.levels[depth].sources[row];
        let RowSource::Asset { path, size, .. } = source else {
            return Ok(None);
        };
        // A rewritten raster gets a new checksum, which would hide damage.
        sources.check(
            source,
            &|| assembly.tree.path(depth, row as u32).to_string(),
            ctx,
        )?;
        let target = staging.join(format!("{depth}_{row}.tif"));
        let done = write_one(&RasterSource::member(path.clone()), &target, request, ctx)?;
        if let Done::Written { place, .. } = &done {
            date_like_source(path, place)?;
        }
        ctx.step(1);
        Ok(Some((*size, done)))
    })?;
    let damaged: HashSet<String> = sources.finish(ctx)?.into_iter().collect();
    let mut optimised = Optimised::default();
    let mut tiffs: Vec<HashSet<usize>> = vec![HashSet::new(); assembly.levels.len()];
    for (&(depth, row), done) in files.iter().zip(&done) {
        let Some((before, done)) = done else { continue };
        optimised.count(
            || assembly.tree.archive_path(depth, row as u32),
            *before,
            done,
        );
        if let Done::Written { place, size } = done {
            assembly.levels[depth].sources[row] =
                RowSource::asset(AssetPath::file(&**place), *size);
            tiffs[depth].insert(row);
            // Other failures are reported by the copy.
            let path = assembly.tree.path(depth, row as u32).to_string();
            optimised
                .damaged
                .extend(Some(path).filter(|path| damaged.contains(path)));
        }
    }
    for (level, rows) in assembly.levels.iter_mut().zip(tiffs) {
        name_format(level, &rows)?;
    }
    Ok(optimised)
}

/// `tortilla:file_format` of the rows that are GeoTIFFs now.
fn name_format(level: &mut AssemblyLevel, rows: &HashSet<usize>) -> Result<()> {
    let Some(column) = level
        .batch
        .schema()
        .index_of("tortilla:file_format")
        .ok()
        .filter(|_| !rows.is_empty())
    else {
        return Ok(());
    };
    let old = level.batch.column(column);
    let values: Vec<Value> = (0..old.len())
        .map(|row| {
            if rows.contains(&row) {
                Value::text("GTiff")
            } else {
                value_at(old, row)
            }
        })
        .collect();
    let field = FieldSpec::new("tortilla:file_format", old.data_type().clone());
    let mut columns: Vec<ArrayRef> = level.batch.columns().to_vec();
    columns[column] = array_of(&field, values.iter())?;
    level.batch = RecordBatch::try_new(level.batch.schema(), columns)
        .map_err(|error| Error::internal("a level does not fit its columns").because(error))?;
    Ok(())
}

/// Computes anew what columns say about bytes.
fn refresh(assembly: &mut Assembly, ctx: &JobContext) -> Result<()> {
    let has = |level: &AssemblyLevel, name: &str| level.batch.schema().index_of(name).is_ok();
    let calls: Vec<ExtensionCall> = OF_BYTES
        .iter()
        .flat_map(|(column, extension)| {
            let levels = assembly
                .levels
                .iter()
                .enumerate()
                .filter(|(_, level)| has(level, column));
            levels.map(|(level, _)| ExtensionCall {
                extension: (*extension).into(),
                // A FOLDER's hash is that of its children.
                target: CallTarget {
                    level,
                    positions: if *column == HASH_COLUMN {
                        vec!["*".into()]
                    } else {
                        Vec::new()
                    },
                },
                ..ExtensionCall::default()
            })
        })
        .collect();
    if calls.is_empty() {
        return Ok(());
    }
    let mut dataset = draft_of_assembly(assembly, ctx)?;
    let run = extensions::run(&dataset, &calls, &builtin(), ctx)?;
    for failure in &run.failures {
        ctx.warn(format!(
            "{} at {}: {}",
            failure.extension, failure.path, failure.error
        ));
    }
    dataset.root = run.apply(dataset.root, true)?;
    let descriptions = assembly.collection.fields.get("taco:field_schema").cloned();
    let version = std::mem::take(&mut assembly.version);
    *assembly = Assembly {
        version,
        ..Assembly::of_dataset(&dataset, ctx)?
    };
    assembly.collection.set("taco:field_schema", descriptions);
    Ok(())
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).io_at("make the folder for the output", parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_tiffs_and_stay_apart() {
        let known: HashSet<&str> = [
            "a/b.jp2", "a/b.png", "c.jp2", "d.TIF", "e", "f.jp2", "f.tif",
        ]
        .into();
        let named = |name| tiff_name(name, &known);
        assert_eq!(named("a/b.jp2"), "a/b.jp2.tif");
        assert_eq!(named("a/b.png"), "a/b.png.tif");
        assert_eq!(named("c.jp2"), "c.tif");
        assert_eq!(named("d.TIF"), "d.TIF");
        assert_eq!(named("e"), "e.tif");
        assert_eq!(
            (named("f.jp2").as_str(), named("f.tif").as_str()),
            ("f.jp2.tif", "f.tif")
        );
    }
}
