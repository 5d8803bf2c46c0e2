//! Datasets of the other generations → 2.0: columns and collection mapped, the tree checked, every
//! byte of data as it is. What changed, what was made up and what has no home is report field by
//! field. A tree that 2.0 can't hold is findings, and nothing is written.

mod align_ids;
mod collection;
mod collection_mapping;
mod extension_fields;
mod extent;
mod fields;
mod joined_extent;

pub use collection_mapping::{CollectionMapping, FieldAction};
pub use fields::{Conversion, FieldChoice, FieldMapping};

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::draft_of_assembly::draft_of_assembly;
use super::missing_parts::{MissingParts, need_all_parts};
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use super::write::write_verified;
use crate::container::{
    self, Assembly, AssemblyLevel, BuildOptions, Built, ContainerReader, Format, Physical,
    RowSource, extent_of_samples, tree_order,
};
use crate::draft::{Structure, fill_missing};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    Finding, NameNumbers, Report, Rule, SampleKind, Severity, Skeleton, check_sample_id,
};
use crate::table::take_rows;
use crate::validate;

/// Maps a dataset of another generation to 2.0, checks it, and writes it where the request says so.
/// A tree that 2.0 can't hold gives findings, and nothing is written. Plain data.
///
/// # Errors
/// For a dataset of 2.0, wrong choices, missing parts, and files that can't be read or written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrateRequest {
    /// The dataset: TORTILLA 0.5, TACO 0.2, parts of one, an early 2.0, or TACO 3.
    pub input: PathBuf,
    /// Where and how to write; absent to see what would be done.
    #[serde(default)]
    pub options: Option<BuildOptions>,
    /// Names for columns, before those of the table.
    #[serde(default)]
    pub fields: Vec<FieldChoice>,
    /// Fields of the collection that are set after the mapping.
    #[serde(default)]
    pub collection: Map<String, Json>,
    /// Put padding where roots lack what most of them have.
    #[serde(default)]
    pub fill_missing: bool,
    /// Leave ids as they are, also where only they keep the roots from having one shape.
    #[serde(default)]
    pub keep_ids: bool,
    /// Go on where parts of a dataset of the first generation are missing.
    #[serde(default)]
    pub allow_missing_parts: bool,
}

impl MigrateRequest {
    /// A request that only says what would be done.
    pub fn for_input(input: PathBuf) -> Self {
        Self {
            input,
            options: None,
            fields: Vec::new(),
            collection: Map::new(),
            fill_missing: false,
            keep_ids: false,
            allow_missing_parts: false,
        }
    }
}

/// A sample whose id could not stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RenamedSample {
    /// Its level.
    pub level: usize,
    /// Its path of old ids.
    pub path: String,
    /// Its new id.
    pub id: String,
}

/// Result of a migration, or of its preview.
#[derive(Clone, Debug, Serialize)]
pub struct Migrated {
    /// The generation that was read.
    pub generation: &'static str,
    /// The written dataset; `None` without a target, or when 2.0 can't represent the tree.
    pub built: Option<Built>,
    /// Every column of every level.
    pub fields: Vec<FieldMapping>,
    /// Every field of the collection.
    pub collection: Vec<CollectionMapping>,
    /// Samples with another id.
    pub renamed: Vec<RenamedSample>,
    /// Roots that were padded.
    pub padded: u64,
    /// Errors that prevent the migration, and warnings.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Parts of the source that are not there.
    #[serde(skip)]
    pub lacking: Option<MissingParts>,
}

impl Migrated {
    /// True when no finding prevents the migration.
    pub fn is_possible(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Error)
    }
}

/// True for generations that have to be migrated before 2.0 tools can read them.
pub fn is_other_generation(reader: &dyn ContainerReader) -> bool {
    matches!(
        reader.physical(),
        Physical::Tortilla(_) | Physical::Taco3(_) | Physical::Early(_)
    )
}

/// The assembly of an opened dataset of any generation, as one of 2.0.
pub(super) fn assembly_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Assembly> {
    assembly_of_rows(reader, None, ctx)
}

/// As [`assembly_of`], for a copy of which only the rows `wanted` of level 0 are written.
pub(super) fn assembly_of_rows(
    reader: &dyn ContainerReader,
    wanted: Option<&[bool]>,
    ctx: &JobContext,
) -> Result<Assembly> {
    if is_other_generation(reader) {
        Ok(lay_out(reader, &[], ctx)?.0)
    } else {
        Assembly::of_rows(reader, wanted, ctx)
    }
}

impl OperationOutput for Migrated {
    /// The report as one object: every column, every field of the collection, every value that
    /// changed, every finding.
    fn to_json(&self) -> Json {
        let mut report = json!(self);
        report["possible"] = json!(self.is_possible());
        report["findings"] = self.findings.iter().map(Finding::json).collect();
        if let Some(built) = &self.built {
            report["built"]["path"] = json!(built.path.display().to_string());
        }
        report
    }

    fn summary(&self) -> String {
        match (&self.built, self.is_possible()) {
            (Some(built), _) => built.summary(),
            (None, true) => tr!("The dataset can be moved to 2.0").into(),
            (None, false) => tr!("2.0 can't hold this dataset").into(),
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.built.iter().flat_map(Built::output_paths).collect()
    }

    fn built_dataset(&self) -> Option<&Built> {
        self.built.as_ref()
    }

    fn is_sound(&self) -> bool {
        self.is_possible() && self.built.as_ref().is_none_or(Built::is_sound)
    }
}

impl Operation for MigrateRequest {
    type Output = Migrated;

    fn label(&self) -> String {
        tr!("Move {path} to 2.0", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.input);
        self.options
            .iter_mut()
            .for_each(|options| visit(PathUse::Write, &mut options.target));
    }

    fn is_read_only(&self) -> bool {
        self.options.is_none()
    }

    fn run(&self, ctx: &JobContext) -> Result<Migrated> {
        migrate(self, ctx)
    }
}

fn migrate(request: &MigrateRequest, ctx: &JobContext) -> Result<Migrated> {
    if let Some(options) = &request.options {
        options.refuse_existing_target()?;
    }
    let reader = container::open(&request.input, ctx)?;
    if !is_other_generation(reader.as_ref()) {
        let error = Error::usage("this dataset is of 2.0 already").at_path(&request.input);
        return Err(error.hint("use `convert` to write it in another container"));
    }
    let missing = need_all_parts(reader.as_ref(), request.allow_missing_parts, ctx)?;
    let (assembly, mut migrated) = laid_out(reader.as_ref(), request, ctx)?;
    // The assembly has all that is written of its tables.
    drop(reader);
    migrated.findings.extend(missing);
    let mut report = Report {
        findings: std::mem::take(&mut migrated.findings),
        ..Report::default()
    };
    validate::check_tree(&assembly.tree, None, &mut report);
    validate::check_collection(&assembly.collection, &mut report);
    report.fold();
    migrated.findings = report.findings;
    if let Some(options) = request.options.as_ref().filter(|_| migrated.is_possible()) {
        migrated.built = Some(write_verified(&assembly, options, ctx)?);
    }
    Ok(migrated)
}

/// The dataset as 2.0 arranges it, with everything that the request changes.
fn laid_out(
    reader: &dyn ContainerReader,
    request: &MigrateRequest,
    ctx: &JobContext,
) -> Result<(Assembly, Migrated)> {
    let (mut assembly, mut migrated) = lay_out(reader, &request.fields, ctx)?;
    let samples = extent_of_samples(&assembly.batches(), ctx)?;
    extent::cover_samples(
        &mut assembly.collection,
        samples.as_ref(),
        &mut migrated.collection,
    );
    for (key, value) in &request.collection {
        let old = assembly
            .collection
            .set(key, Some(value.clone()))
            .unwrap_or_default();
        migrated
            .collection
            .retain(|line| line.to.as_deref() != Some(key) || line.action != FieldAction::Filled);
        migrated.collection.push(CollectionMapping {
            from: String::new(),
            to: Some(key.clone()),
            action: FieldAction::Filled,
            old,
            new: value.clone(),
            note: tr!("given" in "why a field has its value").into(),
        });
    }
    if !request.keep_ids {
        migrated
            .renamed
            .extend(align_ids::align_ids(&mut assembly)?);
    }
    if request.fill_missing {
        let mut dataset = draft_of_assembly(&assembly, ctx)?;
        if let Some((edit, roots)) = fill_missing(&dataset, &Structure::from_dataset(&dataset)) {
            edit.apply(&mut dataset)?;
            let descriptions = assembly.collection.fields.get("taco:field_schema").cloned();
            let version = std::mem::take(&mut assembly.version);
            assembly = Assembly {
                version,
                ..Assembly::of_dataset(&dataset, ctx)?
            };
            assembly.collection.set("taco:field_schema", descriptions);
            migrated.padded = roots;
        }
    }
    Ok((assembly, migrated))
}

/// A dataset that is written in another form: of 2.0 as it is, of the first generation as `request`
/// migrates it, with what was done.
pub(super) fn assembly_for_rewriting(
    reader: &dyn ContainerReader,
    request: &MigrateRequest,
    ctx: &JobContext,
) -> Result<(Assembly, Option<Migrated>)> {
    if !is_other_generation(reader) {
        return Ok((Assembly::of_reader(reader, ctx)?, None));
    }
    let (assembly, migrated) = laid_out(reader, request, ctx)?;
    Ok((assembly, Some(migrated)))
}

/// The dataset as 2.0 lays it out, and what was done to get there.
fn lay_out(
    reader: &dyn ContainerReader,
    choices: &[FieldChoice],
    ctx: &JobContext,
) -> Result<(Assembly, Migrated)> {
    ctx.stage(tr!("Reading the metadata"), None);
    let format = reader.info().format;
    let path = reader.info().path.clone();
    let (mut collection, lines) = match format {
        Format::Taco3 | Format::Early => {
            collection::of_next_generation(reader.expect_collection()?, &path)
        }
        _ => collection::of_first_generation(reader.expect_collection()?, &path),
    };
    let tree = reader.levels().skeleton(ctx)?;
    let orders = tree_order(&tree);
    let mut migrated = Migrated {
        generation: format.generation(),
        built: None,
        fields: Vec::new(),
        collection: lines,
        renamed: Vec::new(),
        padded: 0,
        // The layout is what a migration changes.
        findings: reader
            .notes()
            .iter()
            .filter(|note| note.rule != Rule::EarlyLayout)
            .cloned()
            .collect(),
        lacking: MissingParts::from_reader(reader),
    };
    let mut columns = Vec::with_capacity(orders.len());
    let mut levels = Vec::with_capacity(orders.len());
    let mut descriptions = Map::new();
    // The new row of each old row in its level.
    let mut above: Vec<u32> = Vec::new();
    for (depth, order) in orders
        .iter()
        .enumerate()
        .take_while(|(_, order)| !order.is_empty())
    {
        ctx.check()?;
        let old = &tree.levels[depth];
        let mut places = vec![u32::MAX; old.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(at, &row)| places[row as usize] = at as u32);
        let parents: Vec<u32> = match depth {
            0 => (0..order.len() as u32).collect(),
            _ => order
                .iter()
                .map(|&row| above[old.parents[row as usize] as usize])
                .collect(),
        };
        let ids = new_ids(&tree, depth, order, &parents, &mut migrated.renamed);
        let folder: Vec<bool> = order.iter().map(|&row| old.folder[row as usize]).collect();
        let table = reader.levels().table(depth, ctx)?.to_batch()?;
        let rows = take_rows(&table, order)?;
        drop(table);
        let (new, lines) = fields::map_level(depth, &rows, choices)?;
        for line in &lines {
            ctx.check()?;
            let lost = line.lost.len();
            if lost > 0 {
                ctx.warn(format!(
                    "level {depth}: {lost} values of {} could not be converted and are null",
                    line.from
                ));
            }
        }
        migrated.fields.extend(lines);
        descriptions.insert(format!("level{depth}"), column_descriptions(&new));
        let batch = level_batch(&ids, &folder, new)?;
        let mut sources = Vec::with_capacity(order.len());
        for &row in order {
            sources.push(if old.folder[row as usize] {
                RowSource::Folder
            } else {
                reader
                    .source(depth, row)
                    .map_err(|error| error.at_place(tree.path(depth, row)))?
            });
        }
        columns.push((ids, folder, parents));
        levels.push(AssemblyLevel {
            batch,
            sources,
            meta_columns: Default::default(),
        });
        above = places;
    }
    fields::check_choices(choices, &migrated.fields, levels.len())
        .map_err(|error| error.at_path(&path))?;
    // Descriptions travel the way on which those of an opened dataset are kept.
    collection.set("taco:field_schema", Some(Json::Object(descriptions)));
    let version = reader.opening().version.clone();
    Ok((
        Assembly {
            collection,
            tree: Arc::new(Skeleton::from_columns(columns)),
            levels,
            version,
        },
        migrated,
    ))
}

fn column_descriptions(columns: &fields::NewColumns) -> Json {
    let line = |(field, text, _): &(Field, String, ArrayRef)| json!([field.name(), "", text]);
    columns
        .iter()
        .filter(|(_, text, _)| !text.is_empty())
        .map(line)
        .collect()
}

fn level_batch(
    ids: &StringArray,
    folder: &[bool],
    columns: fields::NewColumns,
) -> Result<RecordBatch> {
    let kinds: StringArray = folder
        .iter()
        .map(|&folder| Some(choose_sample_kind(folder).as_str()))
        .collect();
    let mut fields = vec![
        Field::new("id", DataType::Utf8, true),
        Field::new("type", DataType::Utf8, true),
    ];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(ids.clone()), Arc::new(kinds)];
    for (field, _, array) in columns {
        fields.push(field);
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::internal("a level does not fit its columns").because(error))
}

fn choose_sample_kind(is_folder: bool) -> SampleKind {
    if is_folder {
        SampleKind::Folder
    } else {
        SampleKind::File
    }
}

/// Ids that 2.0 allows and that are unique among siblings; those that had to change are listed.
fn new_ids(
    tree: &Skeleton,
    depth: usize,
    order: &[u32],
    parents: &[u32],
    renamed: &mut Vec<RenamedSample>,
) -> StringArray {
    let level = &tree.levels[depth];
    let mut taken: HashSet<(u32, String)> = HashSet::with_capacity(order.len());
    // Ids that may stay are taken before any other is made.
    let parent = |at: usize| if depth == 0 { 0 } else { parents[at] };
    let stays: Vec<bool> = order
        .iter()
        .enumerate()
        .map(|(at, &row)| {
            check_sample_id(level.id(row)).is_ok()
                && taken.insert((parent(at), level.id(row).to_owned()))
        })
        .collect();
    let mut numbers = NameNumbers::default();
    let ids = order.iter().enumerate().map(|(at, &row)| {
        let old = level.id(row);
        if stays[at] {
            return Some(old.to_owned());
        }
        let plain = plain_id(old);
        let id = numbers.find_free(
            (parent(at), plain.clone()),
            plain.clone(),
            |number| format!("{plain}_{number}"),
            |id| taken.insert((parent(at), id.to_owned())),
        );
        renamed.push(RenamedSample {
            level: depth,
            path: tree.path(depth, row).to_string(),
            id: id.clone(),
        });
        Some(id)
    });
    ids.collect()
}

fn plain_id(old: &str) -> String {
    let plain: String = old
        .chars()
        .map(|c| {
            if matches!(c, '/' | '\\' | ':') || c.is_control() {
                '_'
            } else {
                c
            }
        })
        .collect();
    let plain = plain.trim_start_matches('_');
    // Room for a number behind it.
    let mut end = plain.len().min(200);
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    match &plain[..end] {
        "" | "." | ".." => "sample".to_owned(),
        id => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_what_2_0_allows() {
        let ids = StringArray::from(vec!["a/b", "a_b", "ok", "__x", "..", "", "ok"]);
        let tree = Skeleton::from_columns(vec![(ids, vec![false; 7], (0..7).collect())]);
        let mut renamed = Vec::new();
        let order: Vec<u32> = (0..7).collect();
        let new = new_ids(&tree, 0, &order, &order, &mut renamed);
        let new: Vec<&str> = new.iter().flatten().collect();
        assert_eq!(
            new,
            ["a_b_2", "a_b", "ok", "x", "sample", "sample_2", "ok_2"]
        );
        assert_eq!(
            renamed
                .iter()
                .map(|sample| sample.path.as_str())
                .collect::<Vec<_>>(),
            ["a/b", "__x", "..", "", "ok"]
        );
        assert!(new.iter().all(|id| check_sample_id(id).is_ok()));
    }
}
