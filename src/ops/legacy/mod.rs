//! Writing and changing TORTILLA 0.5 and TACO 0.2: from drafts and datasets of 2.0, subsets of what there is, other footers and
//! collections in files that stay where they are.

mod columns;
mod edit;
mod values;

pub use edit::{EditRequest, Generation, edit_tortilla};
pub(super) use values::{in_type_of, is_text};

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use arrow::array::{RecordBatch, UInt32Array};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::draft_of_assembly::draft_of_assembly;
use super::export_subset::{Keeping, RowChoice, chosen};
use super::migrate::assembly_of;
use super::missing_parts::need_all_parts;
use super::own_sources::refuse_own_sources;
use super::tables::tables_of;
use crate::container::{
    self, Built, ContainerReader, Format, Item, LocalFile, Physical, RowSource, TortillaDraft, TortillaOptions, TortillaReader,
    tree_order, write_tortilla,
};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, try_map};
use crate::model::{AssetPath, Dataset, MAX_LEVELS, Payload, Sample, Tortilla};
use crate::table::{DecodeBudget, LevelTable};

/// A part of a dataset as a TORTILLA or TACO of its own. Plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompileRequest {
    /// The dataset, of any generation.
    pub input: PathBuf,
    /// Where and how to write. A target that ends in `.taco` gets the collection of the input, unless another is given here.
    pub options: TortillaOptions,
    /// Go on where parts of a dataset of the first generation are missing.
    #[serde(default)]
    pub allow_missing_parts: bool,
    /// The samples; nested tortillas stay whole.
    #[serde(flatten)]
    pub rows: RowChoice,
}

/// True for a name that ends in `.taco`.
pub fn is_taco_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("taco"))
}

/// Writes a draft as TORTILLA 0.5, or as TACO 0.2 when the target ends in `.taco`. Padding is left out: these generations have none.
///
/// # Errors
/// For values that these generations can't hold, a target that a sample is read from, and files that can't be read or written.
pub fn write_first_generation(dataset: &Dataset, options: &TortillaOptions, ctx: &JobContext) -> Result<Built> {
    let mut options = options.clone();
    if options.collection.is_none() && is_taco_name(&options.target) {
        options.collection = Some(old_collection(&dataset.collection.descriptive()));
    }
    ctx.stage(tr!("Laying out the samples"), None);
    container::expect_containers(dataset)?;
    let parts = if options.part_bytes.is_some() { container::parts_called(&options.target)? } else { Vec::new() };
    refuse_own_sources(dataset, &[parts, vec![options.target.clone()]].concat())?;
    write_tortilla(draft_of(&dataset.root, ctx)?, &options, ctx)
}

fn draft_of(tortilla: &Tortilla, ctx: &JobContext) -> Result<TortillaDraft> {
    ctx.check()?;
    let real = |sample: &Sample| match sample.children() {
        _ if sample.is_padding() => false,
        Some(children) => children.samples.iter().any(|child| !child.is_padding()),
        None => true,
    };
    let rows: Vec<usize> = (0..tortilla.samples.len()).filter(|&row| real(&tortilla.samples[row])).collect();
    let formats: Vec<&'static str> = try_map(&rows, |_, &row| format_of(&tortilla.samples[row]))?;
    let footer = columns::footer_of(tortilla, &rows, &formats)?;
    let items = rows.iter().map(|&row| {
        Ok(match &tortilla.samples[row].payload {
            Payload::Folder(children) => Item::Nested(Box::new(draft_of(children, ctx)?)),
            Payload::Bytes(bytes) => Item::Source(RowSource::Bytes(bytes.to_vec().into())),
            Payload::Asset { path, size, modified } => {
                Item::Source(RowSource::Asset { path: path.clone(), size: *size, modified: *modified })
            }
        })
    });
    Ok(TortillaDraft { items: items.collect::<Result<_>>()?, footer })
}

fn format_of(sample: &Sample) -> Result<&'static str> {
    const HEAD: u64 = 16;
    let head = match &sample.payload {
        Payload::Folder(_) => return Ok("TORTILLA"),
        Payload::Bytes(bytes) => bytes.iter().copied().take(HEAD as usize).collect(),
        Payload::Asset { path: path @ AssetPath::File(_), size, .. } => {
            LocalFile::open_for(path)?.read(0, HEAD.min(*size))?.to_vec()
        }
        Payload::Asset { path: path @ AssetPath::Range { offset, size, .. }, .. } => {
            LocalFile::open_for(path)?.read(*offset, HEAD.min(*size))?.to_vec()
        }
        Payload::Asset { path: AssetPath::Vsi(_), .. } => Vec::new(),
    };
    Ok(columns::format_of(&head, &sample.id))
}

/// The collection in the form of TACO 0.2: what has another name there gets it, the rest stays.
fn old_collection(fields: &Map<String, Json>) -> Map<String, Json> {
    let mut old = Map::new();
    let says = |value: &Json| !value.is_null() && *value != Json::Array(Vec::new());
    for (key, value) in fields.iter().filter(|(key, value)| !key.starts_with("taco:") && says(value)) {
        match key.as_str() {
            "tasks" => {
                let first = value.get(0).cloned().unwrap_or(value.clone());
                old.insert("task".into(), first);
            }
            "taco_version" => {
                old.insert(key.clone(), Json::from("0.2.0"));
            }
            "split:strategy" => {
                old.insert("split_strategy".into(), value.clone());
            }
            "providers" | "curators" => {
                old.insert(key.clone(), old_contacts(value));
            }
            "extent" => {
                old.insert(key.clone(), old_extent(value));
            }
            _ => {
                old.insert(key.clone(), value.clone());
            }
        }
    }
    old
}

/// Contacts with lists of addresses and roles.
fn old_contacts(value: &Json) -> Json {
    let Some(list) = value.as_array() else { return value.clone() };
    let contact = |contact: &Json| {
        let Some(fields) = contact.as_object() else { return contact.clone() };
        let mut old = Map::new();
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match key.as_str() {
                "email" => drop(old.insert("emails".into(), serde_json::json!([{ "value": value }]))),
                "role" => drop(old.insert("roles".into(), serde_json::json!([value]))),
                _ => drop(old.insert(key.clone(), value.clone())),
            }
        }
        Json::Object(old)
    };
    list.iter().map(contact).collect()
}

/// Lists of boxes and ranges, as the official tools of that time read them.
fn old_extent(value: &Json) -> Json {
    let listed = |key: &str| match value.get(key) {
        Some(Json::Array(list)) if !list.iter().any(Json::is_array) => serde_json::json!([list]),
        other => other.cloned().unwrap_or_default(),
    };
    serde_json::json!({ "spatial": listed("spatial"), "temporal": listed("temporal") })
}

/// Writes the selected samples. Of a TORTILLA or TACO every column and byte stays as it is; other generations are mapped.
///
/// # Errors
/// For a selection without samples, missing parts, and files that can't be read or written. Then nothing is written.
pub fn compile(request: &CompileRequest, ctx: &JobContext) -> Result<Built> {
    let reader = container::open(&request.input, ctx)?;
    if same_file(&request.input, &request.options.target) {
        return Err(Error::usage("the output is the input").at_path(&request.input).hint("choose another name"));
    }
    need_all_parts(reader.as_ref(), request.allow_missing_parts, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    ctx.stage(tr!("Choosing the samples"), None);
    let keeping = Keeping { padding: false, siblings: true };
    let keep = chosen(&request.rows, keeping, &tables_of(reader.as_ref(), ctx)?, &tree, ctx)?;
    let roots = keep.first().cloned().unwrap_or_default();
    if !roots.contains(&true) {
        return Err(Error::usage("no sample is left to compile").hint("try the same filters with `taco-studio query`"));
    }
    let mut options = request.options.clone();
    if let Physical::Tortilla(tortilla) = reader.physical() {
        if options.part_bytes.is_some() && tortilla.files().iter().any(|file| container::is_part_of(file.path(), &options.target)) {
            let error = Error::usage("the output would have the names of the parts that are read").at_path(&options.target);
            return Err(error.hint("choose another name"));
        }
        if options.collection.is_none() && is_taco_name(&options.target) {
            if reader.info().format != Format::Taco {
                let error = Error::usage("a .taco needs a collection, and this TORTILLA has none").at_path(&options.target);
                return Err(error.hint("give one, or call the output .tortilla"));
            }
            options.collection = Some(reader.collection().fields.clone());
        }
        return write_tortilla(part_of(tortilla, &roots, options.stream, ctx)?, &options, ctx);
    }
    let ordered: Vec<Vec<bool>> =
        tree_order(&tree).iter().zip(&keep).map(|(order, keep)| order.iter().map(|&row| keep[row as usize]).collect()).collect();
    let part = assembly_of(reader.as_ref(), ctx)?.subset(&ordered, ctx)?;
    write_first_generation(&draft_of_assembly(&part, ctx)?, &options, ctx)
}

/// Rows and bytes of level 0 as they are. To make a streamable file of them, nested tortillas are taken apart: their footers belong
/// to its chain.
fn part_of(tortilla: &TortillaReader, roots: &[bool], stream: bool, ctx: &JobContext) -> Result<TortillaDraft> {
    let rows: Vec<u32> = (0..roots.len() as u32).filter(|&row| roots[row as usize]).collect();
    // The footers themselves: the reader's table has columns and names of its own.
    let tables: Vec<LevelTable> = tortilla.roots().iter().map(|root| root.table.clone()).collect();
    let chosen = arrow::compute::take_record_batch(
        &container::join(&tables, &DecodeBudget::unlimited())?.0,
        &UInt32Array::from(rows.clone()),
    )
    .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
    let tree = tortilla.levels().skeleton(ctx)?;
    let mut entered = HashSet::new();
    let items = rows.iter().map(|&row| {
        let (path, size) = tortilla.asset(0, row)?;
        let AssetPath::Range { container, offset, .. } = &path else { return Ok(Item::Source(RowSource::asset(path, size))) };
        let file = tortilla.files().iter().find(|file| file.path() == container.as_ref());
        match file.filter(|_| stream && tree.levels[0].folder[row as usize]) {
            Some(file) => {
                let inner = taken_apart(file, (*offset, size), 1, &mut entered, ctx);
                Ok(Item::Nested(Box::new(inner.map_err(|error| error.at(tree.path(0, row)))?)))
            }
            None => Ok(Item::Source(RowSource::asset(path, size))),
        }
    });
    Ok(TortillaDraft { items: items.collect::<Result<_>>()?, footer: without_leftovers(&chosen)? })
}

/// The tortilla in a range of a file as its footer and items, down to the last level. `entered` holds where those before began.
fn taken_apart(
    file: &LocalFile,
    range: (u64, u64),
    depth: usize,
    entered: &mut HashSet<(PathBuf, u64)>,
    ctx: &JobContext,
) -> Result<TortillaDraft> {
    ctx.check()?;
    if depth > MAX_LEVELS * 2 {
        return Err(Error::format(format!("tortillas are nested more than {} deep", MAX_LEVELS * 2)));
    }
    if !entered.insert((file.path().to_owned(), range.0)) {
        return Err(Error::format("another sample is the same nested tortilla").hint("validate the dataset"));
    }
    let (footer, inside) = container::nested_items(file, range, ctx)?;
    let mut items = Vec::with_capacity(inside.len());
    for item in inside {
        let (offset, size) = item.range;
        items.push(match item.nested {
            true => Item::Nested(Box::new(taken_apart(file, item.range, depth + 1, entered, ctx)?)),
            false => Item::Source(RowSource::asset(file.range(offset, size), size)),
        });
    }
    Ok(TortillaDraft { footer: without_leftovers(&footer.to_batch()?)?, items })
}

/// A footer without what belongs to the file that it was in: the rows of its chain, and the row numbers that pandas left behind.
fn without_leftovers(footer: &RecordBatch) -> Result<RecordBatch> {
    let schema = footer.schema();
    let kept: Vec<usize> = (0..footer.num_columns())
        .filter(|&at| ![container::CHAIN_ROOT, "__index_level_0__"].contains(&schema.field(at).name().as_str()))
        .collect();
    footer.project(&kept).map_err(|error| Error::internal("columns can't be chosen").because(error))
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}
