//! `edit`: columns of the footer and fields of the collection of TORTILLA and TACO files, one into
//! the other. The samples are not touched; see `container/tortilla/edit.rs` for what a crash
//! leaves.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::values::{check_formats, in_type_of, is_text};
use crate::container::{
    self, OnDamage, Physical, TortillaChange, TortillaDraft, TortillaFile, TortillaItem,
    TortillaOptions, TortillaReader, change_tortilla, copy_changed, footer_bytes, write_tortilla,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Profile, is_remote};
use crate::ops::migrate::is_other_generation;
use crate::ops::operation::{Operation, PathUse, PathVisitor, WrittenFile, visit_edited_dataset};
use crate::ops::write::{refuse_new_errors, warn_of_classes};
use crate::table::{KeyedTable, LevelTable};
use crate::text::PrintableLine;

/// Columns that say where the bytes are, and whose.
const FIXED: [&str; 3] = ["tortilla:id", "tortilla:offset", "tortilla:length"];
const FORMAT: &str = "tortilla:file_format";

/// Generation to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// Without a collection.
    Tortilla,
    /// With one.
    Taco,
}

/// Changes footer and collection of a file, or of every part; returns the changed path. Plain data.
///
/// # Errors
/// For a dataset of another generation, a table or collection that does not fit, and files that
/// can't be read or written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditRequest {
    /// A TORTILLA or TACO, or all parts of one.
    pub input: PathBuf,
    /// Write a changed copy instead; only of a single file.
    #[serde(default)]
    pub output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[serde(default)]
    pub overwrite: bool,
    /// A CSV, JSON or Parquet table whose columns are added or replaced, by `tortilla:id`, `id` or
    /// `path`.
    #[serde(default)]
    pub metadata: Option<PathBuf>,
    /// Column of the table that names the samples; none takes the first of these.
    #[serde(default)]
    pub key: Option<String>,
    /// Columns that are taken out.
    #[serde(default)]
    pub drop: Vec<String>,
    /// The level of the table and of the columns that are taken out. A file whose nested tortillas
    /// change is written anew and takes the place of the old one when it is complete.
    #[serde(default)]
    pub level: usize,
    /// The whole collection.
    #[serde(default)]
    pub collection: Option<Map<String, Json>>,
    /// Fields of the collection; null takes one out.
    #[serde(default)]
    pub set: Map<String, Json>,
    /// Generation to write; unchanged when absent.
    #[serde(default)]
    pub become_generation: Option<Generation>,
}

impl EditRequest {
    /// The requested key column, else the usual ones.
    fn keys_or<'k>(&'k self, usual: &[&'k str]) -> Vec<&'k str> {
        self.key
            .as_deref()
            .map_or_else(|| usual.to_vec(), |key| vec![key])
    }
}

impl Operation for EditRequest {
    type Output = WrittenFile;

    fn label(&self) -> String {
        tr!("Edit {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_edited_dataset(&mut self.input, &mut self.output, visit);
        self.metadata
            .iter_mut()
            .for_each(|table| visit(PathUse::Read, table));
    }

    fn run(&self, ctx: &JobContext) -> Result<WrittenFile> {
        Ok(WrittenFile {
            path: edit_tortilla(self, ctx)?,
        })
    }
}

fn edit_tortilla(request: &EditRequest, ctx: &JobContext) -> Result<PathBuf> {
    let is_in_place = request.output.is_none() && !is_remote(&request.input);
    let _lock = if is_in_place {
        Some(container::lock_dataset(&request.input, ctx)?)
    } else {
        None
    };
    edit_locked(request, ctx)
}

/// [`edit_tortilla`] of a dataset that is locked.
pub(in crate::ops) fn edit_locked(request: &EditRequest, ctx: &JobContext) -> Result<PathBuf> {
    if request.output.is_none() && is_remote(&request.input) {
        let error = Error::usage("a file on another machine can't be changed where it is")
            .at_path(&request.input);
        return Err(error.hint("name an output for a changed copy"));
    }
    let reader = container::open(&request.input, ctx)?;
    let Physical::Tortilla(tortilla) = reader.physical() else {
        let error = Error::usage("only TORTILLA and TACO files are edited in place")
            .at_path(&request.input);
        return Err(error.hint(if is_other_generation(reader.as_ref()) {
            "`migrate` makes a dataset of 2.0 of it"
        } else {
            "change it as a draft in the window, or write another with `extend`, whose \
                extension columns adds a table's"
        }));
    };
    if request.level > 0 && (request.metadata.is_some() || !request.drop.is_empty()) {
        return edit_nested(request, tortilla, ctx);
    }
    let table = request
        .metadata
        .as_ref()
        .map(|path| {
            let usual = ["tortilla:id", "id", "path"];
            read_table(path, tortilla, &request.keys_or(&usual), ctx)
        })
        .transpose()?;
    let rows = table
        .as_ref()
        .map(|table| rows_by_id(table, tortilla, ctx))
        .transpose()?;
    let collection = new_collection(request, tortilla, ctx)?;
    let mut changes = Vec::with_capacity(tortilla.files().len());
    for (file, root) in tortilla.files().iter().zip(tortilla.roots()) {
        ctx.check()?;
        let footer = match (&table, &rows, request.drop.is_empty()) {
            (None, _, true) => None,
            _ => Some(new_footer(
                root,
                table.as_ref().zip(rows.as_ref()),
                &request.drop,
            )?),
        };
        let change = TortillaChange {
            footer,
            collection: collection.clone(),
        };
        if change.footer.is_none() && change.collection.is_none() {
            return Err(Error::usage("nothing is to be changed")
                .hint("name columns or fields, see `edit --help`"));
        }
        changes.push((file, data_end(root)?, change));
    }
    if let Some(output) = &request.output {
        let [(file, end, change)] = changes.as_slice() else {
            return Err(
                Error::usage("the parts of a dataset can only be edited where they are")
                    .hint("leave the output out"),
            );
        };
        copy_changed(file, output, request.overwrite, *end, change, ctx)?;
        return Ok(output.clone());
    }
    for (file, end, change) in &changes {
        ctx.check()?;
        // Another version has its samples elsewhere.
        file.expect_at_path()?;
        // Under another name the file stays as it is: the copy takes the name of the dataset alone.
        if file.has_other_names()? {
            copy_changed(file, file.path(), true, *end, change, ctx)?;
        } else {
            change_tortilla(file.path(), *end, change)?;
        }
    }
    Ok(request.input.clone())
}

/// The first byte behind the last sample.
fn data_end(root: &TortillaFile) -> Result<u64> {
    let (offsets, lengths) = (
        root.table
            .require_integers("tortilla:offset", "the footer")?,
        root.table
            .require_integers("tortilla:length", "the footer")?,
    );
    let ends = offsets.iter().zip(&lengths).map(|(offset, length)| {
        let end = u64::try_from(offset?)
            .ok()?
            .checked_add(u64::try_from(length?).ok()?)?;
        (end <= root.header.footer.0.max(root.size)).then_some(end)
    });
    let ends: Option<Vec<u64>> = ends.collect();
    let ends = ends.ok_or_else(|| {
        Error::format("the footer places a sample outside the file")
            .hint("validate the dataset first")
    })?;
    // The chain of a streamable dataset stays where it is.
    let chain = root.chain.iter().map(|(offset, length)| offset + length);
    Ok(ends
        .into_iter()
        .chain(chain)
        .max()
        .unwrap_or(container::HEADER_SIZE)
        .max(container::HEADER_SIZE))
}

/// The table, with text where the footer has text: 007 is no number there. Columns that a studio
/// generates are left out with a warning; a table of nothing else is an error.
fn read_table(
    path: &Path,
    tortilla: &TortillaReader,
    keys: &[&str],
    ctx: &JobContext,
) -> Result<KeyedTable> {
    let text: HashSet<String> = (tortilla.roots().iter())
        .flat_map(|root| root.table.fields())
        .filter(|field| is_text(&field.dtype))
        .map(|field| field.name)
        .collect();
    let mut table = KeyedTable::read(path, keys, &|name| text.contains(name), ctx)?;
    table.by_path = table.key().eq_ignore_ascii_case("path");
    let names: Vec<String> = table
        .table
        .fields()
        .into_iter()
        .map(|field| field.name)
        .collect();
    let made: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| is_made(name))
        .collect();
    if !made.is_empty() {
        ctx.warn(format!(
            "left out what is no column of a footer: {}",
            made.join(", ")
        ));
    }
    if names.iter().all(|name| {
        matches!(name.as_str(), "tortilla:id" | "id") || name == table.key() || is_made(name)
    }) {
        return Err(Error::usage("the table has no column to add or replace").at_path(path));
    }
    if !matches!(table.key(), "tortilla:id" | "id" | "path") {
        // A key of another name is no column of a footer either.
        let others: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| *name != table.key())
            .collect();
        table.table = table.table.project(&others)?;
    }
    Ok(table)
}

/// Columns that a reader or a writer makes of a footer, and a table has that was made from a
/// dataset.
fn is_made(name: &str) -> bool {
    name == "type" || name == container::CHAIN_ROOT || name.starts_with("internal:")
}

/// The rows of the table by id. Rows without a sample are warnings.
fn rows_by_id(
    table: &KeyedTable,
    tortilla: &TortillaReader,
    ctx: &JobContext,
) -> Result<HashMap<String, u32>> {
    let mut known = HashSet::new();
    for root in tortilla.roots() {
        known.extend(
            root.table
                .strings("tortilla:id")?
                .iter()
                .flat_map(|ids| ids.iter())
                .flatten()
                .map(str::to_owned),
        );
    }
    let rows = table.rows_of_samples(|see| {
        known.iter().for_each(|id| see(id, id));
        Ok(())
    })?;
    let mut used = vec![false; table.table.rows()];
    let mut found = HashMap::new();
    for id in known {
        let Some(row) = rows.row_of(&id, &id) else {
            continue;
        };
        used[row] = true;
        found.insert(id, row as u32);
    }
    table.check_matches(&|row| used[row], "sample of this dataset", ctx)?;
    Ok(found)
}

/// The footer of a file. That of a streamable dataset is the first object of a chain, and keeps its
/// pointer to the next.
fn new_footer(
    root: &TortillaFile,
    table: Option<(&KeyedTable, &HashMap<String, u32>)>,
    dropped: &[String],
) -> Result<Bytes> {
    let ids = root
        .table
        .strings("tortilla:id")?
        .ok_or_else(|| Error::internal("the footer has no ids"))?;
    let names: Vec<String> = ids
        .iter()
        .map(|id| id.unwrap_or_default().to_owned())
        .collect();
    let by_path = table.is_some_and(|(table, _)| table.by_path);
    let table = table.map(|(table, rows)| (&table.table, rows));
    let footer = changed_columns(&root.table.to_batch()?, &names, by_path, table, dropped)?;
    match &root.pointer {
        Some(pointer) => Ok(container::object_bytes(&footer, pointer.clone())?.into()),
        None => footer_bytes(&footer),
    }
}

/// Writes the file anew with other columns in the tortillas of one level.
fn edit_nested(
    request: &EditRequest,
    tortilla: &TortillaReader,
    ctx: &JobContext,
) -> Result<PathBuf> {
    let ([file], [root]) = (tortilla.files(), tortilla.roots()) else {
        let error = Error::usage("the nested tortillas of several parts can't be edited at once")
            .at_path(&request.input);
        return Err(error.hint("`compile` makes one file of the parts"));
    };
    let levels = crate::container::ContainerReader::levels(tortilla);
    if request.level >= levels.count() {
        let error = Error::usage(format!("there is no level {}", request.level));
        return Err(error.hint(format!(
            "the dataset has {} levels, counted from 0",
            levels.count()
        )));
    }
    let target = match &request.output {
        Some(output) => {
            container::refuse_existing(output, request.overwrite)?;
            output.clone()
        }
        None => file.path().to_owned(),
    };
    let keys = ["path", "tortilla:id", "id"];
    let table = request
        .metadata
        .as_ref()
        .map(|path| read_table(path, tortilla, &request.keys_or(&keys), ctx))
        .transpose()?;
    let rows = table
        .as_ref()
        .map(|table| rows_by_path(table, tortilla, request.level, ctx))
        .transpose()?;
    let collection = match new_collection(request, tortilla, ctx)? {
        Some(Some(bytes)) => Some(
            serde_json::from_slice(&bytes)
                .map_err(|e| Error::internal("the collection is not JSON").because(e))?,
        ),
        Some(None) => None,
        None => root.header.is_taco().then(|| {
            crate::container::ContainerReader::collection(tortilla)
                .fields
                .clone()
        }),
    };
    let all = vec![true; levels.rows(0)];
    let mut draft = super::part_of(tortilla, &all, true, ctx)?;
    change_level(
        &mut draft,
        "",
        request.level,
        table.as_ref().map(|table| &table.table).zip(rows.as_ref()),
        &request.drop,
        ctx,
    )?;
    let options = TortillaOptions {
        text_form: false,
        target: target.clone(),
        collection,
        part_bytes: None,
        stream: root.pointer.is_some(),
        allow_non_tog: true,
        overwrite: true,
        on_damage: OnDamage::Stop,
    };
    write_tortilla(draft, &options, ctx)?;
    Ok(target)
}

/// Changes the footers `below` levels below this one. `above` is the path of the tortilla, with a
/// slash behind.
fn change_level(
    draft: &mut TortillaDraft,
    above: &str,
    below: usize,
    table: Option<(&LevelTable, &HashMap<String, u32>)>,
    dropped: &[String],
    ctx: &JobContext,
) -> Result<()> {
    ctx.check()?;
    let ids = draft
        .footer
        .column_by_name("tortilla:id")
        .and_then(|ids| cast(ids, &DataType::Utf8).ok());
    let ids = ids.ok_or_else(|| Error::format("a nested footer has no column tortilla:id"))?;
    let names: Vec<String> = ids
        .as_string::<i32>()
        .iter()
        .map(|id| format!("{above}{}", id.unwrap_or_default()))
        .collect();
    if below == 0 {
        draft.footer = changed_columns(&draft.footer, &names, true, table, dropped)?;
        return Ok(());
    }
    for (item, name) in draft.items.iter_mut().zip(names) {
        if let TortillaItem::Nested(inner) = item {
            change_level(inner, &format!("{name}/"), below - 1, table, dropped, ctx)?;
        }
    }
    Ok(())
}

/// The rows of the table by the path of their sample: from a column `path`, or from ids that the
/// level has once.
fn rows_by_path(
    table: &KeyedTable,
    tortilla: &TortillaReader,
    level: usize,
    ctx: &JobContext,
) -> Result<HashMap<String, u32>> {
    let tree = crate::container::ContainerReader::levels(tortilla).skeleton(ctx)?;
    let paths: Vec<String> = (0..tree.levels[level].len() as u32)
        .map(|row| tree.path(level, row).0.join("/"))
        .collect();
    let id_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let rows = table.rows_of_samples(|see| {
        paths.iter().for_each(|path| see(path, &id_of(path)));
        ctx.check()
    })?;
    let mut used = vec![false; table.table.rows()];
    let mut found = HashMap::new();
    for path in paths {
        let Some(row) = rows.row_of(&path, &id_of(&path)) else {
            continue;
        };
        if used[row] {
            let id = id_of(&path);
            let error = Error::usage(format!(
                "several samples of level {level} have the id {}",
                id.printable_line()
            ));
            return Err(error.hint("name them in a column path, as scene_1/before.tif"));
        }
        used[row] = true;
        found.insert(path, row as u32);
    }
    table.check_matches(&|row| used[row], &format!("sample of level {level}"), ctx)?;
    Ok(found)
}

/// A footer without the dropped columns, and with those of the table. `names` are the keys of its
/// rows: ids, or paths.
fn changed_columns(
    old: &RecordBatch,
    names: &[String],
    by_path: bool,
    table: Option<(&LevelTable, &HashMap<String, u32>)>,
    dropped: &[String],
) -> Result<RecordBatch> {
    let mut columns: Vec<(Field, ArrayRef)> = old
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .zip(old.columns().iter().cloned())
        .collect();
    for name in dropped {
        if FIXED.contains(&name.as_str()) || name == FORMAT || name == container::CHAIN_ROOT {
            return Err(Error::usage(format!(
                "{name} can't be taken out: readers need it"
            )));
        }
        let before = columns.len();
        columns.retain(|(field, _)| field.name() != name);
        if columns.len() == before {
            return Err(Error::usage(format!("the footer has no column {name}")));
        }
    }
    if let Some((table, rows)) = table {
        let places: Vec<Option<u32>> = names.iter().map(|name| rows.get(name).copied()).collect();
        for (index, field) in table.fields().into_iter().enumerate() {
            let name = field.name.as_str();
            if matches!(name, "tortilla:id" | "id") || (by_path && name == "path") || is_made(name)
            {
                continue;
            }
            if FIXED.contains(&name) {
                return Err(Error::usage(format!(
                    "{name} can't be changed: it says where the bytes are"
                )));
            }
            let old = columns.iter_mut().find(|(field, _)| field.name() == name);
            let whose = |row: usize| names[row].clone();
            if old.is_some()
                && let Some(row) = places.iter().position(Option::is_none)
            {
                let id = &names[row];
                let error = Error::usage(format!(
                    "the table has no row for {id}, so its value of {name} would be lost"
                ));
                return Err(error.hint("name every sample, or give the column another name"));
            }
            let values = arrow::compute::take(
                &table.column(index)?,
                &UInt32Array::from(places.clone()),
                None,
            )
            .map_err(|error| Error::internal("values can't be joined").because(error))?;
            match old {
                Some((field, column)) => {
                    if name == FORMAT {
                        check_formats(column, &values, &whose)?;
                    }
                    let values = in_type_of(name, column, &values, &whose)?;
                    *field = Field::new(name, values.data_type().clone(), true);
                    *column = values;
                }
                None => columns.push((Field::new(name, values.data_type().clone(), true), values)),
            }
        }
    }
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::internal("a footer does not fit its columns").because(error))
}

/// `None`: unchanged; `Some(None)`: removed.
fn new_collection(
    request: &EditRequest,
    tortilla: &TortillaReader,
    ctx: &JobContext,
) -> Result<Option<Option<Bytes>>> {
    let taco = tortilla
        .roots()
        .first()
        .is_some_and(|root| root.header.is_taco());
    let given = request.collection.is_some() || !request.set.is_empty();
    match request.become_generation {
        Some(Generation::Tortilla) if given => {
            return Err(
                Error::usage("a TORTILLA has no collection").hint("leave the collection out")
            );
        }
        Some(Generation::Tortilla) if !taco => {
            return Err(Error::usage("this is a TORTILLA already").at_path(&request.input));
        }
        Some(Generation::Tortilla) => return Ok(Some(None)),
        Some(Generation::Taco) if taco => {
            return Err(Error::usage("this is a TACO already").at_path(&request.input));
        }
        Some(Generation::Taco) if request.collection.is_none() => {
            return Err(
                Error::usage("a TACO needs a collection").hint("give a JSON file with its fields")
            );
        }
        None if given && !taco => {
            let error =
                Error::usage("this is a TORTILLA: it has no collection").at_path(&request.input);
            return Err(error.hint("`tortilla2taco` gives it one"));
        }
        _ => {}
    }
    if !given {
        return Ok(None);
    }
    let mut fields = match &request.collection {
        Some(fields) => {
            let mut given = fields.clone();
            given.extend(
                request
                    .set
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
            super::collection_for(&given, tortilla, false, ctx)?
        }
        None => container::ContainerReader::collection(tortilla)
            .fields
            .clone(),
    };
    for (key, value) in &request.set {
        match value {
            Json::Null => drop(fields.shift_remove(key)),
            value => drop(fields.insert(key.clone(), value.clone())),
        }
    }
    // Existing faults do not prevent changes of other fields.
    let old = &container::ContainerReader::collection(tortilla).fields;
    let check = |fields| super::check_collection_fields(fields, Profile::Tools);
    refuse_new_errors(&check(old), check(&fields))?;
    warn_of_classes(&fields, ctx);
    let bytes = serde_json::to_vec(&fields)
        .map_err(|error| Error::internal("the collection is not JSON").because(error))?;
    Ok(Some(Some(bytes.into())))
}
