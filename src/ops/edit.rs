//! `edit`: columns of one level and fields of the collection of an existing dataset. A FOLDER has
//! the tables concerned replaced and its data left alone; a ZIP has the metadata behind its data
//! replaced where its layout allows that, and is else written anew; files of the first generation
//! get another footer. What will be done is announced first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, new_null_array,
};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::Field;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::EditRequest;
use super::legacy::{edit_locked, in_type_of, is_text};
use super::migrate::is_other_generation;
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor, visit_edited_dataset};
use super::write::{refuse_new_errors, warn_of_classes};
use crate::container::{
    self, Assembly, BuildOptions, ContainerReader, FixedTail, FolderEdit, Format, LevelEdit,
    LocalFile, OnDamage, Physical, TailEdit, cut_unfinished, extent_of_samples, has_zip_ending,
    put_extent,
};
use crate::error::{Error, Result};
use crate::footprint::{COLUMNS, TIME_COLUMNS};
use crate::jobs::JobContext;
use crate::model::{
    COMPUTED_KEYS, Collection, EXTENT_ORIGIN, ExtentOrigin, Report, Skeleton, check_field_name,
    is_remote,
};
use crate::table::{JoinRequest, KeyedTable, ParquetOptions};
use crate::text::PrintableLine;
use crate::validate::check_collection;

/// Changes of a dataset. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DatasetEdit {
    /// A FOLDER or ZIP, or a file of the first generation.
    pub input: PathBuf,
    /// Write a changed copy instead.
    pub output: Option<PathBuf>,
    /// Replace the output if it exists.
    pub overwrite: bool,
    /// The level whose columns change.
    pub level: usize,
    /// A CSV, JSON or Parquet table whose columns are added or replaced, by path or id. Samples
    /// without a row keep their values.
    pub metadata: Option<PathBuf>,
    /// Column of the table that names the samples; none chooses the one that names most.
    pub key: Option<String>,
    /// Columns that are left out.
    pub drop: Vec<String>,
    /// All fields of the collection.
    pub collection: Option<Map<String, Json>>,
    /// Fields of the collection; null takes one out.
    pub set: Map<String, Json>,
    /// Parquet settings of what is written.
    pub parquet: ParquetOptions,
}

/// How an edit is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "way")]
pub enum EditWay {
    /// Files of a FOLDER are replaced; its data is not touched.
    InPlace {
        /// At most these files, in the dataset's folder.
        files: Vec<String>,
    },
    /// Footer and collection of a file of the first generation are replaced; its data is not
    /// touched.
    Footer,
    /// The metadata of a ZIP is replaced behind its data, which is not touched.
    Tail {
        /// Bytes of the current metadata, about as many as are written.
        bytes: u64,
    },
    /// The whole dataset is written anew.
    Anew {
        /// Bytes of data that are copied.
        bytes: u64,
        /// Why it cannot be changed in place.
        reason: String,
    },
}

/// Files listed by name in [`EditWay::sentence`].
const MAX_LISTED: usize = 3;

impl EditWay {
    /// Description of the change, one sentence.
    pub fn sentence(&self) -> String {
        match self {
            EditWay::InPlace { files } if files.is_empty() => {
                "no file changes: the dataset has these values already".to_owned()
            }
            EditWay::InPlace { files } => {
                let more = files.len().saturating_sub(MAX_LISTED);
                let more = if more > 0 {
                    format!(" and up to {more} more")
                } else {
                    String::new()
                };
                let named = files
                    .iter()
                    .take(MAX_LISTED)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("replaces {named}{more}; data files are not touched")
            }
            EditWay::Tail { bytes } => {
                format!(
                    "replaces the metadata behind the data, about {bytes} bytes; the samples are \
                        not touched"
                )
            }
            EditWay::Footer => {
                "replaces footer and collection; the samples are not touched".to_owned()
            }
            EditWay::Anew { bytes, reason } => {
                format!("writes the whole dataset anew, with {bytes} bytes of data: {reason}")
            }
        }
    }
}

/// Result of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edited {
    /// The changed dataset.
    pub path: PathBuf,
    /// How it was changed.
    #[serde(flatten)]
    pub way: EditWay,
    /// Number of files that were replaced or written.
    pub replaced: usize,
    /// Number of bytes written; `None` for files of the first generation.
    pub written: Option<u64>,
}

impl OperationOutput for Edited {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        tr!("Saved {path}", path = self.path.display())
    }

    fn output_paths(&self) -> Vec<&Path> {
        vec![&self.path]
    }
}

impl Operation for DatasetEdit {
    type Output = Edited;

    fn label(&self) -> String {
        tr!("Edit {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_edited_dataset(&mut self.input, &mut self.output, visit);
        self.metadata
            .iter_mut()
            .for_each(|table| visit(PathUse::Read, table));
    }

    fn run(&self, ctx: &JobContext) -> Result<Edited> {
        edit_dataset(self, &|_| {}, ctx)
    }
}

/// An edit that was checked against its dataset.
struct PreparedEdit {
    reader: Arc<dyn ContainerReader>,
    columns: Option<LevelEdit>,
    collection: Option<Map<String, Json>>,
    way: EditWay,
    /// The changed dataset, where more than the tables concerned is written.
    assembly: Option<Assembly>,
    tail: Option<TailEdit>,
}

/// How an edit would be done. Checks the edit and changes nothing.
///
/// # Errors
/// As [`edit_dataset`], for all that can be known before writing.
pub fn plan_edit(request: &DatasetEdit, ctx: &JobContext) -> Result<EditWay> {
    prepare(request, ctx).map(|prepared| prepared.way)
}

/// Changes a dataset. `announce` is called with the way before anything is written. A FOLDER and a
/// file are afterwards as they were or changed completely, also when the process is killed; see
/// [`container::Replacement`] for several files of a FOLDER. Waits for another process that edits
/// the same dataset.
///
/// # Errors
/// For a table or collection that does not fit the dataset, a dataset that cannot be edited, and
/// files that cannot be read or written.
pub fn edit_dataset(
    request: &DatasetEdit,
    announce: &dyn Fn(&EditWay),
    ctx: &JobContext,
) -> Result<Edited> {
    // From before the dataset is read until it is changed: of two edits at once the second reads
    // what the first has written.
    let is_in_place = request.output.is_none() && !is_remote(&request.input);
    let _lock = if is_in_place {
        Some(container::lock_dataset(&request.input, ctx)?)
    } else {
        None
    };
    if request.output.is_none() && request.input.is_dir() {
        container::restore_interrupted(&request.input)?;
    }
    let mut prepared = prepare(request, ctx)?;
    if let (Physical::Zip(zip), EditWay::Anew { .. }, None) =
        (prepared.reader.physical(), &prepared.way, &request.output)
        && cut_unfinished(zip, ctx)?
    {
        prepared = prepare(request, ctx)?;
    }
    let PreparedEdit {
        reader,
        columns,
        collection,
        way,
        assembly,
        tail,
    } = prepared;
    announce(&way);
    let path = request
        .output
        .clone()
        .unwrap_or_else(|| request.input.clone());
    match (reader.physical(), &way) {
        (Physical::Tortilla(_), _) | (_, EditWay::Footer) => {
            let path = edit_locked(&first_generation(request), ctx)?;
            Ok(Edited {
                path,
                way,
                replaced: 1,
                written: None,
            })
        }
        (Physical::Folder(folder), EditWay::InPlace { .. }) => {
            let edit = FolderEdit {
                columns,
                collection,
                parquet: request.parquet.clone(),
            };
            let (replaced, written) = edit.apply(folder, ctx)?;
            Ok(Edited {
                path,
                way,
                replaced,
                written: Some(written),
            })
        }
        (_, EditWay::InPlace { .. }) => Ok(Edited {
            path,
            way,
            replaced: 0,
            written: Some(0),
        }),
        (_, EditWay::Tail { .. }) => {
            let (Some(tail), Some(assembly)) = (tail, &assembly) else {
                return Err(Error::internal("the edit was not prepared"));
            };
            let written = tail.write(
                &path,
                assembly,
                &build_options(reader.as_ref(), request),
                ctx,
            )?;
            Ok(Edited {
                path,
                way,
                replaced: 1,
                written: Some(written),
            })
        }
        (_, EditWay::Anew { .. }) => {
            let Some(assembly) = &assembly else {
                return Err(Error::internal("the edit was not prepared"));
            };
            let built = container::write(assembly, &build_options(reader.as_ref(), request), ctx)?;
            Ok(Edited {
                path: built.path,
                way,
                replaced: 1,
                written: Some(built.bytes),
            })
        }
    }
}

fn first_generation(request: &DatasetEdit) -> EditRequest {
    let DatasetEdit {
        input,
        output,
        overwrite,
        level,
        metadata,
        key,
        drop,
        collection,
        set,
        ..
    } = request.clone();
    EditRequest {
        input,
        output,
        overwrite,
        metadata,
        key,
        drop,
        level,
        collection,
        set,
        become_generation: None,
    }
}

fn prepare(request: &DatasetEdit, ctx: &JobContext) -> Result<PreparedEdit> {
    request.parquet.check()?;
    if request.output.is_none() && is_remote(&request.input) {
        let error = Error::usage("a dataset on another machine can't be changed where it is")
            .at_path(&request.input);
        return Err(error.hint("name an output for a changed copy"));
    }
    let reader = container::open(&request.input, ctx)?;
    if let Physical::Tortilla(tortilla) = reader.physical() {
        let columns = request.metadata.is_some() || !request.drop.is_empty();
        let linked = request.output.is_none() && any_has_other_names(tortilla.files())?;
        let way = match (request.level > 0 && columns, linked) {
            (true, _) => choose_writing_anew(
                reader.as_ref(),
                "the footers of nested tortillas are among its data",
                ctx,
            )?,
            (false, true) => {
                choose_writing_anew(reader.as_ref(), &FixedTail::OtherNames.to_string(), ctx)?
            }
            (false, false) => EditWay::Footer,
        };
        return Ok(PreparedEdit {
            reader,
            columns: None,
            collection: None,
            way,
            assembly: None,
            tail: None,
        });
    }
    let error = |what: &str| Error::usage(what).at_path(&request.input);
    if is_other_generation(reader.as_ref()) {
        return Err(error("a dataset of this generation can't be edited")
            .hint("`migrate` makes a dataset of 2.0 of it"));
    }
    if !matches!(reader.physical(), Physical::Folder(_) | Physical::Zip(_)) {
        return Err(error("an index over several datasets can't be edited")
            .hint("edit its parts, then write the index again"));
    }
    reader.expect_collection()?;
    let nothing = request.metadata.is_none()
        && request.drop.is_empty()
        && request.collection.is_none()
        && request.set.is_empty();
    if nothing {
        return Err(Error::usage("nothing is to be changed")
            .hint("name columns or fields, see `edit --help`"));
    }
    ctx.stage(tr!("Reading the table"), None);
    let columns = level_edit(reader.as_ref(), request, ctx)?.filter(|edit| !edit.is_empty());
    let collection = new_collection(reader.as_ref(), columns.as_ref(), request, ctx)?;
    let way = match (reader.physical(), &request.output) {
        (Physical::Folder(folder), None) => {
            let edit = FolderEdit {
                columns: columns.clone(),
                collection: collection.clone(),
                parquet: request.parquet.clone(),
            };
            EditWay::InPlace {
                files: edit.files(folder, ctx)?,
            }
        }
        (_, None) if columns.is_none() && collection.is_none() => {
            EditWay::InPlace { files: Vec::new() }
        }
        (physical, output) => {
            let assembly =
                edited_assembly(reader.as_ref(), columns.as_ref(), collection.as_ref(), ctx)?;
            let bytes = assembly.data_bytes();
            let (tail, reason) = match (physical, output) {
                (Physical::Zip(zip), None) => match TailEdit::for_archive(zip, &assembly)? {
                    Ok(tail) => (Some(tail), String::new()),
                    Err(why) => (None, why.to_string()),
                },
                _ => (None, "a copy was asked for".to_owned()),
            };
            let way = match &tail {
                Some(tail) => EditWay::Tail {
                    bytes: tail.estimate(),
                },
                None => EditWay::Anew { bytes, reason },
            };
            return Ok(PreparedEdit {
                reader: reader.clone(),
                columns,
                collection,
                way,
                assembly: Some(assembly),
                tail,
            });
        }
    };
    Ok(PreparedEdit {
        reader,
        columns,
        collection,
        way,
        assembly: None,
        tail: None,
    })
}

/// True when one of the files has another name (a hard link), under which an edit in place would
/// change it, too.
fn any_has_other_names(files: &[LocalFile]) -> Result<bool> {
    files
        .iter()
        .try_fold(false, |found, file| Ok(found || file.has_other_names()?))
}

/// Writing anew a dataset of the first generation.
fn choose_writing_anew(
    reader: &dyn ContainerReader,
    reason: &str,
    ctx: &JobContext,
) -> Result<EditWay> {
    let bytes = match reader.info().size_bytes {
        Some(bytes) => bytes,
        None => Assembly::of_reader(reader, ctx)?.data_bytes(),
    };
    Ok(EditWay::Anew {
        bytes,
        reason: reason.to_owned(),
    })
}

/// The changed columns of the level; `None` when no column was named.
fn level_edit(
    reader: &dyn ContainerReader,
    request: &DatasetEdit,
    ctx: &JobContext,
) -> Result<Option<LevelEdit>> {
    if request.metadata.is_none() && request.drop.is_empty() {
        return Ok(None);
    }
    let (levels, level) = (reader.levels(), request.level);
    let fields = levels.fields(level);
    if fields.is_empty() {
        return Err(Error::usage(format!(
            "there is no level {level}; the dataset has {}",
            levels.count()
        ))
        .at_path(&request.input));
    }
    let mut edit = LevelEdit {
        level,
        touched: vec![!request.drop.is_empty(); levels.rows(level)],
        ..LevelEdit::default()
    };
    for name in &request.drop {
        if matches!(name.as_str(), "id" | "type") || name.starts_with("internal:") {
            return Err(Error::usage(format!(
                "{name} can't be taken out: readers need it"
            )));
        }
        if !fields.iter().any(|field| field.name == *name) {
            return Err(
                Error::usage(format!("level {level} has no column {name}")).at_path(&request.input)
            );
        }
        edit.dropped.push(name.clone());
    }
    let Some(path) = &request.metadata else {
        return Ok(Some(edit));
    };
    let text: Vec<&str> = fields
        .iter()
        .filter(|field| is_text(&field.dtype))
        .map(|field| field.name.as_str())
        .collect();
    let samples = LevelSamples::read(reader, level, ctx)?;
    let join = JoinRequest {
        table: path.clone(),
        key: request.key.clone(),
        ..JoinRequest::default()
    };
    let table = KeyedTable::read_for_samples(
        &join,
        &|name| text.contains(&name),
        &|see| samples.show(see, ctx),
        ctx,
    )?;
    table.warnings.iter().for_each(|warning| ctx.warn(warning));
    let table = table.with_field_names(ctx)?;
    let places = samples.rows_in(&table, ctx)?;
    let named = BooleanArray::from_iter(places.iter().map(|place| Some(place.is_some())));
    let indices = UInt32Array::from(places);
    let whose = |row: usize| samples.ids.value(row).to_owned();
    let joined = table.columns();
    if joined.is_empty() {
        return Err(Error::usage("the table has no column to add or replace").at_path(path));
    }
    for index in joined {
        let field = &table.table.fields()[index];
        let name = field.name.as_str();
        check_field_name(name).map_err(|fault| {
            Error::usage(format!("the column \"{}\" {fault}", name.printable_line()))
        })?;
        let values = arrow::compute::take(&table.table.column(index)?, &indices, None)
            .map_err(|error| Error::internal("values can't be joined").because(error))?;
        let known = fields.iter().any(|field| field.name == name)
            && !edit.dropped.iter().any(|dropped| dropped == name);
        let old = if known {
            levels.columns(level, &[name], ctx)?.column(0)?
        } else {
            new_null_array(values.data_type(), values.len())
        };
        let values = merge_values(name, &old, &values, &named, &whose)?;
        if known && values.to_data() == old.to_data() {
            continue;
        }
        edit.columns
            .push((Field::new(name, values.data_type().clone(), true), values));
    }
    if !edit.columns.is_empty() {
        for (touched, named) in edit.touched.iter_mut().zip(named.values()) {
            *touched |= named;
        }
    }
    // A column that is dropped and added again keeps the position of the old one.
    let columns = &edit.columns;
    edit.dropped
        .retain(|name| !columns.iter().any(|(field, _)| field.name() == name));
    Ok(Some(edit))
}

/// The new values where `named`, in the type of the old ones, and the old values elsewhere.
fn merge_values(
    name: &str,
    old: &ArrayRef,
    new: &ArrayRef,
    named: &BooleanArray,
    whose: &dyn Fn(usize) -> String,
) -> Result<ArrayRef> {
    let new = in_type_of(name, old, new, whose)?;
    if named.false_count() == 0 {
        return Ok(new);
    }
    let old = if old.data_type() == new.data_type() {
        old.clone()
    } else {
        new_null_array(new.data_type(), old.len())
    };
    zip(named, &new, &old)
        .map_err(|error| Error::internal("old and new values can't be joined").because(error))
}

/// The samples of a level.
struct LevelSamples {
    level: usize,
    ids: StringArray,
    /// For the paths of levels below the first.
    tree: Option<Arc<Skeleton>>,
}

impl LevelSamples {
    fn read(reader: &dyn ContainerReader, level: usize, ctx: &JobContext) -> Result<Self> {
        let levels = reader.levels();
        let ids = levels.columns(level, &["id"], ctx)?.strings("id")?;
        let ids = ids.ok_or_else(|| Error::format(format!("level{level} has no column id")))?;
        let tree = if level > 0 {
            Some(levels.skeleton(ctx)?)
        } else {
            None
        };
        Ok(Self { level, ids, tree })
    }

    fn path_of(&self, row: usize, id: &str) -> String {
        match &self.tree {
            Some(tree) => tree.archive_path(self.level, row as u32),
            None => id.to_owned(),
        }
    }

    /// Calls `see` with path and id of every sample.
    fn show(&self, see: &mut dyn FnMut(&str, &str), ctx: &JobContext) -> Result<()> {
        for (row, id) in self.ids.iter().enumerate() {
            let Some(id) = id else { continue };
            see(&self.path_of(row, id), id);
        }
        ctx.check()
    }

    /// For each sample, its row in the table. Rows without a sample are warnings.
    fn rows_in(&self, table: &KeyedTable, ctx: &JobContext) -> Result<Vec<Option<u32>>> {
        let rows = table.rows_of_samples(|see| self.show(see, ctx))?;
        let mut used = vec![false; table.table.rows()];
        let mut places: Vec<Option<u32>> = Vec::with_capacity(self.ids.len());
        for (row, id) in self.ids.iter().enumerate() {
            let found = id.and_then(|id| rows.row_of(&self.path_of(row, id), id));
            if let Some(found) = found {
                used[found] = true;
            }
            places.push(found.map(|found| found as u32));
        }
        let what = format!("sample of level {}", self.level);
        table.check_matches(&|row| used[row], &what, ctx)?;
        Ok(places)
    }
}

/// The fields of the new COLLECTION.json without what the writers make of the columns; `None` when
/// they stay as they are.
fn new_collection(
    reader: &dyn ContainerReader,
    columns: Option<&LevelEdit>,
    request: &DatasetEdit,
    ctx: &JobContext,
) -> Result<Option<Map<String, Json>>> {
    let old = &reader.collection().fields;
    let given = request
        .collection
        .iter()
        .flatten()
        .chain(&request.set)
        .map(|(key, _)| key.as_str());
    if let Some(made) = given.into_iter().find(|key| {
        COMPUTED_KEYS.contains(key)
            && request.collection.as_ref().and_then(|c| c.get(*key)) != old.get(*key)
    }) {
        let error = Error::usage(format!("{made} can't be changed: it describes the tables"));
        return Err(error.hint("leave it out; it is kept up to date"));
    }
    let mut fields = match &request.collection {
        None => old.clone(),
        Some(given) => {
            let mut fields = given.clone();
            for (key, value) in old
                .iter()
                .filter(|(key, _)| COMPUTED_KEYS.contains(&key.as_str()))
            {
                fields.insert(key.clone(), value.clone());
            }
            fields
        }
    };
    for (key, value) in &request.set {
        match value {
            Json::Null => drop(fields.shift_remove(key)),
            value => drop(fields.insert(key.clone(), value.clone())),
        }
    }
    let stated = request.set.contains_key("extent")
        || request
            .collection
            .as_ref()
            .is_some_and(|given| given.contains_key("extent"));
    if stated {
        let noted = fields
            .get("extent")
            .filter(|extent| !extent.is_null())
            .map(|_| Json::from(ExtentOrigin::Stated.as_str()));
        match noted {
            Some(noted) => drop(fields.insert(EXTENT_ORIGIN.into(), noted)),
            None => drop(fields.shift_remove(EXTENT_ORIGIN)),
        }
    }
    if let Some(edit) = columns.filter(|edit| !stated && moves_samples(edit)) {
        let before = read_place_columns(reader, None, ctx)?;
        let mut changed = Collection { fields };
        // An extent that somebody else stated is kept.
        let computed = ExtentOrigin::from_collection(&changed) != Some(ExtentOrigin::Stated)
            || changed.get("extent")
                == extent_of_samples(&before.iter().collect::<Vec<_>>(), ctx)?.as_ref();
        if computed {
            let after = read_place_columns(reader, Some(edit), ctx)?;
            put_extent(
                &mut changed,
                extent_of_samples(&after.iter().collect::<Vec<_>>(), ctx)?,
            );
        }
        fields = changed.fields;
    }
    if &fields == old {
        return Ok(None);
    }
    let new = Collection { fields };
    let (mut before, mut after) = (Report::default(), Report::default());
    check_collection(reader.collection(), &mut before);
    check_collection(&new, &mut after);
    refuse_new_errors(&before, after)?;
    warn_of_classes(&new.fields, ctx);
    Ok(Some(new.fields))
}

/// True when a column with locations or times changes.
fn moves_samples(edit: &LevelEdit) -> bool {
    let names = edit
        .dropped
        .iter()
        .chain(edit.columns.iter().map(|(field, _)| field.name()));
    names
        .into_iter()
        .any(|name| COLUMNS.contains(&name.as_str()) || TIME_COLUMNS.contains(&name.as_str()))
}

/// Columns with locations or times of each level, before or after an edit.
fn read_place_columns(
    reader: &dyn ContainerReader,
    edit: Option<&LevelEdit>,
    ctx: &JobContext,
) -> Result<Vec<RecordBatch>> {
    let names: Vec<&str> = std::iter::once("id")
        .chain(COLUMNS)
        .chain(TIME_COLUMNS)
        .collect();
    let mut levels = Vec::with_capacity(reader.levels().count());
    for level in 0..reader.levels().count() {
        let batch = reader.levels().columns(level, &names, ctx)?.to_batch()?;
        levels.push(match edit.filter(|edit| edit.level == level) {
            None => batch,
            Some(edit) => edit.apply_to_table(&batch)?,
        });
    }
    Ok(levels)
}

/// The changed dataset for the writers.
fn edited_assembly(
    reader: &dyn ContainerReader,
    columns: Option<&LevelEdit>,
    collection: Option<&Map<String, Json>>,
    ctx: &JobContext,
) -> Result<Assembly> {
    let mut assembly = Assembly::of_reader(reader, ctx)?;
    if let Some(edit) = columns {
        assembly.edit(reader, edit, ctx)?;
    }
    if let Some(fields) = collection {
        assembly.collection.fields.clone_from(fields);
    }
    Ok(assembly)
}

/// How a changed dataset is written: it replaces the old one unless an output is named.
fn build_options(reader: &dyn ContainerReader, request: &DatasetEdit) -> BuildOptions {
    let own = request.output.is_none();
    let target = request
        .output
        .clone()
        .unwrap_or_else(|| request.input.clone());
    let format = match (own, reader.info().format) {
        (true, format) => format,
        (false, _) if has_zip_ending(&target) => Format::Zip,
        (false, _) => Format::Folder,
    };
    let (parquet, overwrite) = (request.parquet.clone(), request.overwrite || own);
    BuildOptions {
        text_columns: false,
        align_blocks: false,
        target,
        format,
        parquet,
        overwrite,
        parts: None,
        on_damage: OnDamage::Stop,
    }
}
