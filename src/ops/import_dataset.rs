//! Datasets as sources: the samples of a TACO or TORTILLA of any generation, or the items of a STAC
//! catalogue, become samples of a draft, with their metadata; the files of an archive become
//! samples, too.

use std::collections::HashSet;
use std::path::PathBuf;

use super::align_schema::align_schemas;
use super::archive::is_archive;
use super::catalogue::{CatalogueChoice, read_catalogue};
use super::fork::draft_of;
use super::import::Imported;
use super::import_files::import_files;
use crate::container::{OpenOptions, open_with};
use crate::draft::{Edit, join_tortillas};
use crate::error::{Cause, Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, MAX_LEVELS, NodePath, Payload, Sample, Tortilla, dtype_name};

/// What a dataset becomes in a draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatasetForm {
    /// Its roots are added beside the samples of the draft.
    #[default]
    Samples,
    /// One FOLDER has its roots as children.
    Folder,
}

/// A dataset that is added to a draft.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DatasetImport {
    /// File, folder or address of the dataset, of a STAC document, or of an archive.
    pub path: PathBuf,
    /// The FOLDER to add to; empty for the root.
    #[serde(default)]
    pub into: NodePath,
    /// What it becomes.
    #[serde(default)]
    pub form: DatasetForm,
    /// What is taken of a STAC catalogue.
    #[serde(default)]
    pub catalogue: CatalogueChoice,
}

/// The edit that adds a dataset, and what it does.
#[derive(Clone, Debug)]
pub struct ImportedDataset {
    /// Adds the samples and aligns the fields of all levels, in one step.
    pub edit: Edit,
    /// Number of samples that are added to the FOLDER.
    pub samples: usize,
    /// FILEs, FOLDERs and bytes that are added.
    pub added: Imported,
    /// How fields change, a line each.
    pub changes: Vec<String>,
}

/// The edit that adds a dataset to a draft. Fields of the two are reconciled: what one lacks is
/// null, and a field of two types gets one that loses no value.
///
/// # Errors
/// For a dataset that can't be opened, a FOLDER that is not there, a field whose values no type
/// holds, and more levels than a dataset has.
pub fn import_dataset(
    draft: &Dataset,
    request: &DatasetImport,
    ctx: &JobContext,
) -> Result<ImportedDataset> {
    let mut added = Imported::default();
    let dataset = if request.catalogue.reads(&request.path) {
        read_catalogue(&request.path, &request.catalogue, ctx)?
    } else if is_archive(&request.path) {
        let (samples, report) = import_files(&request.path, &[], ctx)?;
        added.skipped = report.skipped;
        Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        }
    } else {
        let reader = open_with(&request.path, &OpenOptions::default(), ctx)?;
        ctx.stage(tr!("Reading the samples"), None);
        draft_of(reader.as_ref(), ctx)?
    };
    let incoming = match request.form {
        DatasetForm::Samples => dataset.root.as_ref().clone(),
        DatasetForm::Folder => {
            let id = folder_id(&dataset, request);
            Tortilla::new(vec![Sample::new_folder(&id, dataset.root.as_ref().clone())])
        }
    };
    let place = draft
        .tortilla(&request.into)
        .ok_or_else(|| Error::usage("there is no such FOLDER to add to"))?;
    let with = join_tortillas(place, &incoming)?;
    let mut changes = field_changes(place, &incoming, &with);
    let here: HashSet<&str> = place.samples.iter().map(|sample| &*sample.id).collect();
    let shared = incoming
        .samples
        .iter()
        .filter(|sample| here.contains(&*sample.id))
        .count();
    if shared > 0 {
        changes.insert(
            0,
            tr_n!(
                shared,
                "{n} id is here already, and is to be renamed afterwards",
                "{n} ids are here already, and are to be renamed afterwards",
                n = shared
            ),
        );
    }
    let mut edits = vec![Edit::ReplaceTortilla {
        tortilla: request.into.clone(),
        with: with.into(),
    }];
    let mut whole = draft.clone();
    edits[0].clone().apply(&mut whole)?;
    if whole.depth() > MAX_LEVELS {
        return Err(Error::usage(format!(
            "the dataset would have {} levels; at most {MAX_LEVELS} are possible",
            whole.depth()
        ))
        .at_path(&request.path)
        .caused_by(Cause::StructuresDiffer));
    }
    if let Some((edit, lines)) = align_schemas(&whole) {
        edits.push(edit);
        changes.extend(lines);
    }
    if let Some(first) = added.skipped.first() {
        let n = added.skipped.len();
        changes.push(tr_n!(
            n,
            "{n} file is left out: {first}",
            "{n} files are left out, the first: {first}",
            n,
            first
        ));
    }
    count(&incoming, &mut added);
    let name = request
        .path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let label = tr!("Add {name}", name);
    Ok(ImportedDataset {
        edit: Edit::Batch { label, edits },
        samples: incoming.samples.len(),
        added,
        changes,
    })
}

/// The id of the collection, or the name of the file without its ending.
fn folder_id(dataset: &Dataset, request: &DatasetImport) -> String {
    match dataset.collection.text("id") {
        "" => request.path.file_stem().map_or_else(
            || "dataset".to_owned(),
            |stem| stem.to_string_lossy().into_owned(),
        ),
        id => id.to_owned(),
    }
}

/// What [`join_tortillas`] changes in the fields of the two.
fn field_changes(place: &Tortilla, incoming: &Tortilla, with: &Tortilla) -> Vec<String> {
    let mut lines = Vec::new();
    let both = !place.samples.is_empty() && !incoming.samples.is_empty();
    for field in with.schema.iter().filter(|_| both) {
        let dtype =
            |tortilla: &Tortilla| Some(tortilla.schema[tortilla.field(&field.name)?].dtype.clone());
        match (dtype(place), dtype(incoming)) {
            (None, Some(_)) => lines.push(tr!(
                "{name} is new; the samples that are here get null",
                name = field.name
            )),
            (Some(_), None) => {
                lines.push(tr!("{name} is null in what is added", name = field.name))
            }
            (Some(here), Some(there)) if here != there => lines.push(tr!(
                "{name} is {here} here and {there} there; it becomes {dtype}",
                name = field.name,
                here = dtype_name(&here),
                there = dtype_name(&there),
                dtype = dtype_name(&field.dtype)
            )),
            _ => {}
        }
    }
    lines
}

fn count(tortilla: &Tortilla, report: &mut Imported) {
    for sample in &tortilla.samples {
        match &sample.payload {
            Payload::Folder(children) => {
                report.folders += 1;
                count(children, report);
            }
            Payload::Asset { size, .. } => {
                report.files += 1;
                report.bytes += size;
            }
            Payload::Bytes(bytes) => {
                report.files += 1;
                report.bytes += bytes.len() as u64;
            }
        }
    }
}
