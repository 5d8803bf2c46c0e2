//! Writes the folder of a plan.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::deferral::find_deferred_calls;
use super::{Estimate, Plan, PlanInput, PlanPart, VERSION, file_stem};
use crate::container::{
    Assembly, BuildOptions, OpenOptions, PartOptions, PartialFolder, RowSource, decode_assembly,
    encode_assembly, output_exists, outputs_of, stamp_at,
};
use crate::draft::Edit;
use crate::error::{Error, IoContext, Result};
use crate::extensions::{Extension, ExtensionCall, builtin};
use crate::jobs::{JobContext, release};
use crate::model::{AssetPath, Dataset, EXTENT_ORIGIN, ExtentOrigin, FieldSpec, is_remote};
use crate::ops::convert::converted_assembly;
use crate::ops::create::{CreateRequest, draft_of_folder};
use crate::ops::extend::extend_draft;
use crate::ops::write::checked_assembly;
use sha2::{Digest, Sha256};

/// Roots of a part that are written and read again at one time.
const COMPARED_ROOTS: usize = 8192;

/// Arguments of [`make_plan`]. Plain data.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The samples.
    pub source: PlanSource,
    /// Files, folders or datasets of the samples, as typed by the user.
    pub inputs: Vec<PathBuf>,
    /// Extensions to run over a draft, in order.
    pub calls: Vec<ExtensionCall>,
    /// The dataset, and how it is split.
    pub options: BuildOptions,
    /// Maximum number of parts, which get similar sizes; replaces the size limit.
    pub most_parts: Option<usize>,
    /// The folder for the plan; must not exist.
    pub folder: PathBuf,
}

/// Source of the samples of a plan.
#[derive(Clone, Debug)]
pub enum PlanSource {
    /// A draft, as `build` writes it.
    Draft(Dataset),
    /// A folder of files, as `create` writes it.
    Folder(Box<CreateRequest>),
    /// A dataset, as `convert` writes it.
    Dataset(PathBuf, OpenOptions),
}

/// Plans the parts of a dataset and writes the folder of the plan. Runs calls that need all
/// samples, and the calls that they depend on; their columns are stored in the files of the parts.
///
/// # Errors
/// When the folder or an output exists, the dataset breaks a rule, a source can't be read, or a
/// column to group by does not exist; for IO errors. On error nothing is written.
pub fn make_plan(request: &PlanRequest, ctx: &JobContext) -> Result<Plan> {
    let mut options = request.options.clone();
    let mut split = options.parts.take().unwrap_or_default();
    split.check(options.format)?;
    options.parquet.check()?;
    options.target = make_local_path_absolute(&options.target)?;
    let folder = make_local_path_absolute(&request.folder)?;
    // Created before the slow steps, so that an existing folder is refused early.
    let output = PartialFolder::of_files(&folder, false)?;
    let (mut assembly, calls) = arrange_assembly(
        request,
        &BuildOptions {
            parts: Some(split.clone()),
            ..options.clone()
        },
        ctx,
    )?;
    let version = assembly.version.clone();
    make_absolute(&mut assembly)?;
    if let Some(count) = request.most_parts {
        split.size_bytes = Some(split.find_part_size(&assembly, count, ctx)?);
    }
    let planned = split.plan(&assembly, &options.target, options.format, ctx)?;
    options.parts = Some(split.clone());
    for path in outputs_of(&assembly, &options, ctx)? {
        if !options.overwrite && output_exists(&path)? {
            return Err(Error::output_exists().at_path(&path));
        }
    }
    ctx.stage(tr!("Writing the plan"), Some(planned.len() as u64));
    let place = output.path().join("parts");
    std::fs::create_dir(&place).io_at("make a folder of the plan", &place)?;
    let mut parts = Vec::with_capacity(planned.len());
    let mut estimate = Estimate::default();
    for (at, part) in planned.into_iter().enumerate() {
        ctx.check()?;
        let number = at as u32 + 1;
        let piece = assembly.of_roots(&part.roots, ctx)?;
        let path = place.join(file_stem(number) + ".part");
        let bytes = if number == 1 {
            write_storable_part(&piece, &path, ctx)?
        } else {
            write_part(&piece, &path, ctx)?
        };
        let level = piece
            .tree
            .levels
            .first()
            .ok_or_else(|| Error::internal("a part without samples was planned"))?;
        let samples = piece.tree.total() as u64;
        estimate = estimate.or_more(estimate_of(
            part.data_bytes,
            samples,
            bytes.len() as u64,
            !calls.is_empty(),
        ));
        parts.push(PlanPart {
            number,
            name: part.name,
            roots: level.len() as u64,
            first: level.id(0).to_owned(),
            last: level.id(level.len() as u32 - 1).to_owned(),
            samples,
            data_bytes: part.data_bytes,
            sha256: hex::encode(Sha256::digest(&bytes)),
        });
        ctx.step(1);
    }
    let mut plan = Plan {
        taco_studio_plan: VERSION,
        id: String::new(),
        inputs: request
            .inputs
            .iter()
            .map(|path| input_of(path))
            .collect::<Result<_>>()?,
        dataset: options
            .target
            .strip_prefix(&folder)
            .map_or_else(|_| options.target.clone(), portable),
        format: options.format,
        parquet: options.parquet,
        text_columns: options.text_columns,
        align_blocks: options.align_blocks,
        on_damage: options.on_damage,
        overwrite: options.overwrite,
        split,
        samples: parts.iter().map(|part| part.samples).sum(),
        data_bytes: parts.iter().map(|part| part.data_bytes).sum(),
        pit: assembly.pit_schema()?,
        levels: assembly
            .batches()
            .into_iter()
            .map(list_batch_fields)
            .collect(),
        calls,
        estimate,
        parts,
    };
    plan.id = plan.digest()?;
    version.expect_unchanged()?;
    let path = output.path().join("plan.json");
    let bytes = serde_json::to_vec_pretty(&plan)
        .map_err(|error| Error::internal("the plan is not JSON").because(error))?;
    std::fs::write(&path, bytes).io_at("write the plan", &path)?;
    ctx.check()?;
    output.finish()?;
    Ok(plan)
}

fn list_batch_fields(batch: &arrow::array::RecordBatch) -> Vec<FieldSpec> {
    let schema = batch.schema();
    schema
        .fields()
        .iter()
        .map(|field| FieldSpec::new(field.name(), field.data_type().clone()))
        .collect()
}

impl Estimate {
    fn or_more(self, other: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            seconds: self.seconds.max(other.seconds),
        }
    }
}

/// Upper estimate of a part with `data` bytes, `samples` samples and `metadata` bytes in the plan.
/// Memory does not depend on `data`, which is streamed; the time assumes a disk with 20 MB/s and
/// 200 opened files per second, used twice.
fn estimate_of(data: u64, samples: u64, metadata: u64, computes: bool) -> Estimate {
    const BASE: u64 = 512 << 20;
    let pixels = if computes { 1 << 30 } else { 0 };
    let seconds = 2 * (data / 20_000_000 + samples / 200) * if computes { 2 } else { 1 };
    Estimate {
        memory_bytes: BASE + pixels + metadata * 16 + samples * 2048,
        seconds: seconds + 600,
    }
}

/// Assembly of the requested samples, and the calls that the parts run; the columns of these calls
/// are null.
fn arrange_assembly(
    request: &PlanRequest,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<(Assembly, Vec<ExtensionCall>)> {
    let mut dataset = match &request.source {
        PlanSource::Draft(dataset) => dataset.clone(),
        PlanSource::Folder(input) => draft_of_folder(input, ctx)?,
        PlanSource::Dataset(path, open) if request.calls.is_empty() => {
            return Ok((converted_assembly(path, open, ctx)?, Vec::new()));
        }
        PlanSource::Dataset(path, _) => {
            let error = Error::usage("extensions are planned for drafts only").at_path(path);
            return Err(error.hint("make a draft of the dataset, or run `extend` first"));
        }
    };
    let grouped = options
        .parts
        .as_ref()
        .map(|parts| parts.group_by.clone())
        .unwrap_or_default();
    let registry = builtin();
    let later = find_deferred_calls(&request.calls, &grouped, &registry)?;
    let (mut of_samples, mut of_collection) = (Vec::new(), Vec::new());
    for (call, &later) in request.calls.iter().zip(&later) {
        match registry.make(&call.extension, &call.options)? {
            Extension::Collection(_) => of_collection.push((call.clone(), later)),
            _ => of_samples.push(ExtensionCall {
                schema_only: call.schema_only || later,
                ..call.clone()
            }),
        }
    }
    run_now(&mut dataset, &of_samples, ctx)?;
    for (call, later) in of_collection {
        if later {
            dataset
                .collection
                .set("extent", Some(serde_json::Value::Null));
            dataset
                .collection
                .set(EXTENT_ORIGIN, Some(ExtentOrigin::Samples.as_str().into()));
        } else {
            run_now(&mut dataset, &[call], ctx)?;
        }
    }
    let calls: Vec<ExtensionCall> = request
        .calls
        .iter()
        .zip(&later)
        .filter(|(_, later)| **later)
        .map(|(call, _)| call.clone())
        .collect();
    let calls = calls
        .into_iter()
        .filter(|call| !call.schema_only && !is_of_collection(call))
        .collect();
    let assembly = checked_assembly(&dataset, options, None, ctx)?.0;
    release(dataset);
    Ok((assembly, calls))
}

fn is_of_collection(call: &ExtensionCall) -> bool {
    matches!(
        builtin().make(&call.extension, &call.options),
        Ok(Extension::Collection(_))
    )
}

fn run_now(dataset: &mut Dataset, calls: &[ExtensionCall], ctx: &JobContext) -> Result<()> {
    if calls.is_empty() {
        return Ok(());
    }
    let extended = extend_draft(dataset, calls, true, ctx)?;
    for failure in &extended.failures {
        ctx.warn(format!(
            "{} at {}: {}",
            failure.extension, failure.path, failure.error
        ));
    }
    extended
        .notes
        .iter()
        .flat_map(crate::extensions::RunNote::lines)
        .for_each(|line| ctx.warn(line));
    extended
        .outcome
        .into_iter()
        .try_for_each(|edit: Edit| edit.apply(dataset).map(drop))
}

/// Writes the file of a part; returns its bytes.
fn write_part(piece: &Assembly, path: &Path, ctx: &JobContext) -> Result<Vec<u8>> {
    let bytes = encode_assembly(piece, ctx)?;
    std::fs::write(path, &bytes).io_at("write the plan", path)?;
    Ok(bytes)
}

/// As [`write_part`]. Refuses column types and values that the file can't store without loss: what
/// is written is read again, some roots at a time, as a part may have all samples of a dataset.
fn write_storable_part(piece: &Assembly, path: &Path, ctx: &JobContext) -> Result<Vec<u8>> {
    let roots = piece.tree.levels.first().map_or(0, |level| level.len()) as u32;
    let roots: Vec<u32> = (0..roots).collect();
    if roots.len() <= COMPARED_ROOTS {
        let bytes = write_part(piece, path, ctx)?;
        expect_same(piece, &decode_assembly(path, ctx)?)?;
        return Ok(bytes);
    }
    for roots in roots.chunks(COMPARED_ROOTS) {
        let some = piece.of_roots(roots, ctx)?;
        write_part(&some, path, ctx)?;
        expect_same(&some, &decode_assembly(path, ctx)?)?;
    }
    write_part(piece, path, ctx)
}

/// # Errors
/// [`crate::error::Kind::Unsupported`] where they differ.
fn expect_same(piece: &Assembly, again: &Assembly) -> Result<()> {
    for (depth, (level, found)) in piece.levels.iter().zip(&again.levels).enumerate() {
        let same = level.batch == found.batch
            && level.sources == found.sources
            && level.meta_columns == found.meta_columns;
        if !same || piece.levels.len() != again.levels.len() {
            let error = Error::unsupported("a column has values of a type that a plan can't store")
                .at_place(format!("level{depth}"));
            return Err(
                error.hint("write the dataset with one process (`build`, `create`, `convert`)")
            );
        }
    }
    Ok(())
}

fn make_local_path_absolute(path: &Path) -> Result<PathBuf> {
    if is_remote(path) {
        return Ok(path.to_owned());
    }
    std::path::absolute(path).io_at("look at", path)
}

fn input_of(path: &Path) -> Result<PlanInput> {
    if is_remote(path) {
        return Ok(PlanInput {
            path: path.to_owned(),
            stamp: None,
        });
    }
    let is_file = std::fs::metadata(path).io_at("look at", path)?.is_file();
    let stamp = if is_file { stamp_at(path)? } else { None };
    Ok(PlanInput {
        path: make_local_path_absolute(path)?,
        stamp,
    })
}

/// Makes the paths of local sources absolute, as parts are built in another working directory.
fn make_absolute(assembly: &mut Assembly) -> Result<()> {
    map_sources(assembly, &|path| {
        if path.is_absolute() || is_remote(path) {
            Ok(None)
        } else {
            make_local_path_absolute(path).map(Some)
        }
    })
}

/// Replaces the paths of files and containers for which `with` returns another. Of the version of
/// the dataset, what another process can compare is kept.
pub(super) fn map_sources(
    assembly: &mut Assembly,
    with: &dyn Fn(&Path) -> Result<Option<PathBuf>>,
) -> Result<()> {
    assembly.version = assembly.version.with_relocated_files(with)?;
    let mut known: HashMap<Arc<Path>, Option<Arc<Path>>> = HashMap::new();
    for source in assembly
        .levels
        .iter_mut()
        .flat_map(|level| &mut level.sources)
    {
        let RowSource::Asset { path: asset, .. } = source else {
            continue;
        };
        let path = match asset {
            AssetPath::File(path)
            | AssetPath::Range {
                container: path, ..
            } => path,
            AssetPath::Packed(member) => &mut Arc::make_mut(member).archive,
            AssetPath::Vsi(_) => continue,
        };
        let new = match known.get(path) {
            Some(new) => new.clone(),
            None => {
                let new = with(path)?.map(Arc::from);
                known.insert(path.clone(), new.clone());
                new
            }
        };
        if let Some(new) = new {
            *path = new;
        }
    }
    Ok(())
}

/// The default name of the dataset of a plan, in the folder of the plan.
#[must_use]
pub fn default_dataset(folder: &Path, id: &str) -> PathBuf {
    let name = crate::container::file_name_of(id);
    folder.join("dataset").join(
        if name.is_empty() {
            "dataset".to_owned()
        } else {
            name
        } + ".tacozip",
    )
}

/// Default indexes of a plan: both kinds over ZIPs, none over FOLDERs.
#[must_use]
pub fn default_indexes(parts: &PartOptions, format: crate::container::Format) -> PartOptions {
    use crate::container::Format;
    match format {
        Format::Zip if parts.consolidate.is_empty() => PartOptions {
            consolidate: vec![Format::Tacocat, Format::Tacollection],
            ..parts.clone()
        },
        _ => parts.clone(),
    }
}

/// A relative path with the separator that every system reads, as the plan may run on another than
/// this.
fn portable(path: &Path) -> PathBuf {
    path.to_str().map_or_else(
        || path.to_owned(),
        |text| crate::files::with_slashes(text).into_owned().into(),
    )
}
