//! A folder of files, or an archive of one, becomes a dataset.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::align_schemas;
use super::archive::{is_archive, unsupported_format};
use super::catalogue::{CatalogueChoice, read_catalogue};
use super::fork::draft_of;
use super::import::{import_folder, join_metadata};
use super::import_files::import_files;
use super::is_other_generation;
use super::layout::{LayoutChoice, LayoutProposal, LayoutRequest, exclude_samples, propose_layout};
use super::legacy::{Generation, is_taco_name, write_first_generation};
use super::operation::{Operation, PathUse, PathVisitor};
use super::shards::shards_among;
use super::sidecars::{SidecarHandling, pack_sidecars, write_burned_in_copies};
use super::source_files::has_files;
use super::write::{build_with_warnings, refuse_multi_file_formats};
use crate::container::{
    BuildOptions, Built, DatasetVersion, Scratch, TortillaOptions, detect, open,
    read_collection_file,
};
use crate::draft::{PadTo, Structure, fill_missing, pad_all};
use crate::error::{Cause, Error, Result};
use crate::jobs::JobContext;
use crate::model::{Collection, Dataset, EXTENT_ORIGIN, ExtentOrigin, Sample, Tortilla};
use crate::table::JoinRequest;

/// Paths left out that are named in warnings; the rest are counted.
const MAX_NAMES: usize = 20;

/// Builds a dataset from a folder. Left out paths and padded roots are warnings. Plain data.
///
/// # Errors
/// For a collection or table that can't be read, a source that is no folder, a target whose name
/// contradicts its generation, a dataset that breaks a rule, and files that can't be read or
/// written. Then nothing is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreateRequest {
    /// The folder, or an archive of one: folders in it become tortillas, files samples. Or a
    /// dataset, or a STAC catalogue, by file or address.
    pub source: PathBuf,
    /// JSON file with the collection's fields. Only a TORTILLA does without.
    #[serde(default)]
    pub collection: Option<PathBuf>,
    /// CSV, JSON or Parquet table, joined by relative path.
    #[serde(default)]
    pub metadata: Option<PathBuf>,
    /// Column of the table that names the samples; none chooses the one that names most.
    #[serde(default)]
    pub key: Option<String>,
    /// Pads roots that lack what most of them have.
    #[serde(default)]
    pub fill_missing: bool,
    /// Appends padding to tortillas, up to a number of samples that this divides. The order makes
    /// no difference.
    #[serde(default)]
    pub pad_to: Vec<PadTo>,
    /// Sets the same fields for all tortillas of a level; otherwise differences are findings.
    #[serde(default)]
    pub align_schema: bool,
    /// How sidecars of rasters are handled.
    #[serde(default)]
    pub sidecars: SidecarHandling,
    /// How files are arranged; none keeps the folders as they are.
    #[serde(default)]
    pub layout: Option<LayoutChoice>,
    /// Files that are left out, as patterns of paths or names.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// What is taken of a source that is a STAC catalogue.
    #[serde(default)]
    pub catalogue: CatalogueChoice,
    /// Output options.
    #[serde(flatten)]
    pub output: CreateOutput,
}

/// The generation to write, with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreateOutput {
    /// TACO 2.0.
    #[serde(rename = "options")]
    Dataset(BuildOptions),
    /// TORTILLA 0.5 or TACO 0.2; the target ends in `.tortilla` or `.taco`.
    FirstGeneration(Generation, TortillaOptions),
}

impl CreateOutput {
    fn target(&self) -> &Path {
        match self {
            CreateOutput::Dataset(options) => &options.target,
            CreateOutput::FirstGeneration(_, options) => &options.target,
        }
    }

    fn target_mut(&mut self) -> &mut PathBuf {
        match self {
            CreateOutput::Dataset(options) => &mut options.target,
            CreateOutput::FirstGeneration(_, options) => &mut options.target,
        }
    }
}

impl Operation for CreateRequest {
    type Output = Built;

    fn label(&self) -> String {
        tr!("Create {path}", path = self.output.target().display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.source);
        self.collection
            .iter_mut()
            .chain(&mut self.metadata)
            .for_each(|file| visit(PathUse::Read, file));
        if let Some(LayoutChoice::Saved(file)) = &mut self.layout {
            visit(PathUse::Read, file);
        }
        visit(PathUse::Write, self.output.target_mut());
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        create(self, ctx)
    }
}

fn create(input: &CreateRequest, ctx: &JobContext) -> Result<Built> {
    if let CreateOutput::Dataset(options) = &input.output {
        options.refuse_existing_target()?;
    }
    create_plainly(input, ctx).map_err(|error| {
        if error.is_caused_by(Cause::StructuresDiffer) && input.layout.is_none() {
            error.hint(
                "where scenes are spread over folders or named in the files, `--layout auto` finds \
                    what belongs together; `--layout auto \
                    --dry-run` shows it",
            )
        } else {
            error
        }
    })
}

fn create_plainly(input: &CreateRequest, ctx: &JobContext) -> Result<Built> {
    let mut dataset = draft_of_folder(input, ctx)?;
    // Copies with what sidecars say; removed after the write.
    let copies = match input.sidecars {
        SidecarHandling::BurnIn => Some(Scratch::for_target(input.output.target())?),
        SidecarHandling::Leave | SidecarHandling::Pack => None,
    };
    if let Some(copies) = &copies
        && let Some(edit) = write_burned_in_copies(&dataset, copies.path(), copies.path(), ctx)?
    {
        edit.apply(&mut dataset)?;
    }
    let built = match &input.output {
        CreateOutput::Dataset(options) => build_with_warnings(dataset, options, ctx),
        CreateOutput::FirstGeneration(_, options) => refuse_multi_file_formats(&dataset, ctx)
            .and_then(|()| {
                write_first_generation(&dataset, &DatasetVersion::default(), options, ctx)
            }),
    };
    drop(copies);
    built
}

/// The draft that [`CreateRequest`] writes, before sidecars are burned in.
///
/// # Errors
/// Those of [`CreateRequest`] that are known before the draft is checked.
pub(super) fn draft_of_folder(input: &CreateRequest, ctx: &JobContext) -> Result<Dataset> {
    let written = written_dataset(input, ctx)?;
    let collection = match &written {
        Some(dataset)
            if input.collection.is_none() && dataset.collection != Collection::default() =>
        {
            dataset.collection.clone()
        }
        _ => collection_of(input, ctx)?,
    };
    if written.is_none() && !has_files(&input.source) {
        return Err(no_source(&input.source));
    }
    if input.sidecars != SidecarHandling::Leave && written.is_none() && !input.source.is_dir() {
        let error = Error::usage(
            "--sidecars: for folders of this machine, not for an archive or an address",
        );
        return Err(error.at_path(&input.source).hint("unpack or copy it first"));
    }
    check_name(&input.output)?;
    let root = match (written, &input.layout) {
        (Some(dataset), None) => dataset.root,
        (Some(_), Some(_)) => {
            return Err(
                Error::usage("--layout: for folders of files, not for a dataset")
                    .at_path(&input.source),
            );
        }
        (None, None) => samples_of_folder(input, ctx)?.into(),
        (None, Some(choice)) => samples_of_layout(input, choice, ctx)?.into(),
    };
    let mut dataset = Dataset { collection, root };
    if input.layout.is_none() {
        warn_of_names(&exclude_samples(&mut dataset, &input.exclude), ctx);
    }
    if input.sidecars == SidecarHandling::Pack
        && let Some(edit) = pack_sidecars(&dataset, ctx)?
    {
        edit.apply(&mut dataset)?;
    }
    if let Some(table) = &input.metadata {
        let join = JoinRequest {
            table: table.clone(),
            key: input.key.clone(),
            ..JoinRequest::default()
        };
        join_metadata(&mut dataset, &join, ctx)?;
    }
    if input.fill_missing {
        let structure = Structure::from_dataset(&dataset);
        if structure.nothing_common() {
            ctx.warn(
                "no root was padded: no shape is common to the roots, so it is not known what \
                they lack",
            );
        } else if let Some((edit, roots)) = fill_missing(&dataset, &structure) {
            edit.apply(&mut dataset)?;
            ctx.warn(format!(
                "{roots} roots were padded where something is missing"
            ));
        }
    }
    pad_all(&mut dataset, &input.pad_to)?;
    if input.align_schema
        && let Some((edit, lines)) = align_schemas(&dataset)
    {
        edit.apply(&mut dataset)?;
        lines.into_iter().for_each(|line| ctx.warn(line));
    }
    Ok(dataset)
}

/// The samples of a source that is a dataset itself, of any generation, or a catalogue. The
/// collection of another generation lacks fields that 2.0 requires: it is empty here, so that they
/// are asked for instead of being made up.
fn written_dataset(input: &CreateRequest, ctx: &JobContext) -> Result<Option<Dataset>> {
    if input.catalogue.reads(&input.source) {
        return read_catalogue(&input.source, &input.catalogue, ctx).map(Some);
    }
    if is_archive(&input.source) {
        return Ok(None);
    }
    if detect(&input.source).is_err() {
        return Ok(None);
    }
    let reader = open(&input.source, ctx)?;
    let dataset = draft_of(reader.as_ref(), ctx)?;
    let collection = if is_other_generation(reader.as_ref()) {
        Collection::default()
    } else {
        dataset.collection
    };
    Ok(Some(Dataset {
        collection,
        root: dataset.root,
    }))
}

fn no_source(source: &Path) -> Error {
    let size = std::fs::metadata(source).map_or(0, |metadata| metadata.len());
    if let Some(error) = crate::files::find_unfetched_file(source, size) {
        return error;
    }
    match unsupported_format(source) {
        Some(form) => Error::unsupported(format!("archives in the form of {form} are not read"))
            .at_path(source)
            .hint(
                "unpack it, and take the folder; or pack it again as .zip, .tar, .tar.gz or \
                .tar.zst",
            ),
        None => Error::usage(
            "the source is neither a folder, an archive, a dataset nor a STAC catalogue",
        )
        .at_path(source)
        .hint(
            "a JSON file is a STAC catalogue when it states stac_version, or has features with \
                assets",
        ),
    }
}

/// Folders and files as they are.
fn samples_of_folder(input: &CreateRequest, ctx: &JobContext) -> Result<Tortilla> {
    let (samples, imported) = if input.source.is_dir() {
        import_folder(&input.source, input.sidecars, ctx)?
    } else {
        import_files(&input.source, &input.exclude, ctx)?
    };
    if samples.is_empty()
        && let Some(first) = imported.skipped.first()
    {
        return Err(Error::usage("no file of the source can be a sample")
            .at_path(&input.source)
            .because(format!("left out {first}")));
    }
    warn_of_names(&imported.skipped, ctx);
    if has_shards(&samples) {
        ctx.warn(
            "the source has shards of WebDataset, which are packed as they are; with --layout auto \
                their files become samples",
        );
    }
    Ok(Tortilla::new(samples))
}

/// True for the samples of a folder with shards, or of one below it.
fn has_shards(samples: &[Sample]) -> bool {
    let ids = samples.iter().map(|sample| &*sample.id);
    let mut below = samples.iter().filter_map(Sample::children);
    !shards_among(ids).is_empty() || below.any(|tortilla| has_shards(&tortilla.samples))
}

/// Files arranged by a layout.
fn samples_of_layout(
    input: &CreateRequest,
    choice: &LayoutChoice,
    ctx: &JobContext,
) -> Result<Tortilla> {
    if input.sidecars == SidecarHandling::Pack {
        return Err(Error::usage(
            "--sidecars pack: for folders as they are, not for a layout",
        ));
    }
    let request = LayoutRequest {
        source: input.source.clone(),
        choice: choice.clone(),
        exclude: input.exclude.clone(),
    };
    let proposal = propose_layout(&request, ctx)?;
    warn_of_names(&proposal.left_out, ctx);
    let without: Vec<String> = proposal
        .left_over
        .iter()
        .map(|path| format!("{path}: it has no place in the layout"))
        .collect();
    warn_of_names(&without, ctx);
    warn_of_mended_names(&proposal, ctx);
    Ok(proposal.into_root())
}

/// Warns of lists that contradict each other, and of ids that differ from the names of the files.
pub fn warn_of_mended_names(proposal: &LayoutProposal, ctx: &JobContext) {
    proposal
        .contradictions
        .iter()
        .for_each(|found| ctx.warn(found.to_text()));
    for renamed in proposal.renamed.iter().take(MAX_NAMES) {
        ctx.warn(format!(
            "the id {:?} is written as {}",
            renamed.from, renamed.to
        ));
    }
    if proposal.renamed.len() > MAX_NAMES {
        ctx.warn(format!(
            "{} more ids are mended",
            proposal.renamed.len() - MAX_NAMES
        ));
    }
}

/// Warns of the first paths that are left out, and of the number of the others.
fn warn_of_names(skipped: &[String], ctx: &JobContext) {
    skipped
        .iter()
        .for_each(|skipped| tracing::info!("skips {skipped}"));
    for skipped in skipped.iter().take(MAX_NAMES) {
        ctx.warn(format!("left out {skipped}"));
    }
    if skipped.len() > MAX_NAMES {
        ctx.warn(format!("left out {} more paths", skipped.len() - MAX_NAMES));
    }
}

fn collection_of(input: &CreateRequest, ctx: &JobContext) -> Result<Collection> {
    let mut collection = Collection::template();
    let Some(file) = &input.collection else {
        return match &input.output {
            CreateOutput::FirstGeneration(Generation::Tortilla, _) => Ok(collection),
            output => Err(Error::usage("a dataset needs the fields of its collection")
                .at_path(output.target())
                .hint(
                    "name a JSON file with them: --collection collection.json; only a .tortilla \
                    has none",
                )),
        };
    };
    let given = read_collection_file(file)?;
    if given.get("dataset_version").is_none()
        && !matches!(
            &input.output,
            CreateOutput::FirstGeneration(Generation::Tortilla, _)
        )
    {
        let version = collection.text("dataset_version").to_owned();
        let file = file.display();
        ctx.warn(format!(
            "{file} has no dataset_version: {version} is written; add the field to \
            write another version"
        ));
    }
    for (key, value) in given.descriptive_fields() {
        // An extent in the collection file counts as stated, even if it is the whole world.
        if key == "extent" && !value.is_null() && collection.get(EXTENT_ORIGIN).is_none() {
            collection.set(EXTENT_ORIGIN, Some(ExtentOrigin::Stated.as_str().into()));
        }
        collection.set(&key, Some(value));
    }
    Ok(collection)
}

/// Readers recognise the generation by the extension of the target.
fn check_name(output: &CreateOutput) -> Result<()> {
    let CreateOutput::FirstGeneration(generation, TortillaOptions { target, .. }) = output else {
        return Ok(());
    };
    let (ending, fits) = match generation {
        Generation::Taco => (".taco", is_taco_name(target)),
        Generation::Tortilla => (
            ".tortilla",
            target
                .extension()
                .is_some_and(|found| found.eq_ignore_ascii_case("tortilla")),
        ),
    };
    if fits {
        Ok(())
    } else {
        Err(Error::usage(format!("the name of this output has to end in {ending}")).at_path(target))
    }
}
