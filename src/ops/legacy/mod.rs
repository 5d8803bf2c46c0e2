//! Writing and changing TORTILLA 0.5 and TACO 0.2: from drafts and datasets of 2.0, subsets of what
//! there is, other footers and collections in files that stay where they are.

mod automatic_statistics;
mod collection;
mod columns;
mod edit;
mod sample_rows;
mod streamable;
mod values;

pub(super) use edit::edit_locked;
pub use edit::{EditRequest, Generation};
pub(super) use values::{in_type_of, is_text};

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch, StringArray, StringBuilder, UInt32Array};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::draft_of_assembly::draft_of_assembly;
use super::export_subset::{Keeping, RowChoice, choose_rows};
use super::migrate::{assembly_of, assembly_of_rows};
use super::missing_parts::need_all_parts;
use super::operation::{Operation, PathUse, PathVisitor};
use super::own_sources::{refuse_own_sources, refuse_sources_of};
use super::tables::tables_of;
use super::verify::verify_members_of_draft;
use super::write::{refuse_invalid, warn_of_classes, warn_of_findings};
use automatic_statistics::with_statistics;
use columns::{FooterForm, FooterRows, Losses};
use sample_rows::{AssemblyRows, SampleData, SampleRows};

use crate::container::{
    self, Assembly, Built, ContainerReader, DatasetVersion, Format, LocalFile, Physical, RowSource,
    TortillaDraft, TortillaHeader, TortillaItem, TortillaOptions, TortillaReader,
    extent_of_samples, is_same_file, tree_order, write_tortilla, write_tortilla_of,
};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, release, try_map};
use crate::model::{AssetPath, Collection, Dataset, ExtentOrigin, MAX_LEVELS, Profile, Report};
use crate::raster::{IDENTIFY_BYTES, identify};
use crate::table::{DecodeBudget, LevelTable};
use crate::validate;

/// Writes the selected samples. Columns and bytes of a TORTILLA or TACO are copied unchanged; other
/// generations are mapped. Plain data.
///
/// # Errors
/// For a selection without samples, missing parts, and files that can't be read or written. Then
/// nothing is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompileRequest {
    /// The dataset, of any generation.
    pub input: PathBuf,
    /// Where and how to write. A target that ends in `.taco` gets the collection of the input,
    /// unless another is given here.
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
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("taco"))
}

/// Writes a draft as TORTILLA 0.5, or as TACO 0.2 when the target ends in `.taco`. What these
/// generations can't hold is a warning each: placeholders, all tasks but the first, fractions of a
/// second. The extent of a TACO is computed where it is not given. `version` is that of the dataset
/// that the draft was read from.
///
/// # Errors
/// For a TACO without a core field, values that these generations can't hold, a target that a
/// sample is read from, and files that can't be read or written;
/// [`Kind::Changed`](crate::error::Kind::Changed) when the dataset of that version was replaced or
/// changed meanwhile.
pub fn write_first_generation(
    dataset: &Dataset,
    version: &DatasetVersion,
    options: &TortillaOptions,
    ctx: &JobContext,
) -> Result<Built> {
    options.refuse_existing_target()?;
    let whole = if options.text_form && is_taco_name(&options.target) {
        with_statistics(dataset, ctx)?
    } else {
        Cow::Borrowed(dataset)
    };
    let dataset = &*whole;
    let samples = || extent_of_samples(&Assembly::of_dataset(dataset, ctx)?.batches(), ctx);
    let options = with_collection(options, &dataset.collection, samples, ctx)?;
    ctx.stage(tr!("Laying out the samples"), None);
    container::expect_containers(dataset)?;
    refuse_own_sources(dataset, &replaced_files(&options)?)?;
    let (draft, options) = laid_out(&&*dataset.root, options, ctx)?;
    let built = write_tortilla_of(draft, version, &options, ctx)?;
    let unlike_source = verify_members_of_draft(dataset, &built, ctx)?;
    Ok(Built {
        unlike_source,
        ..built
    })
}

/// As [`write_first_generation`], for a dataset that is laid out for the writers.
///
/// # Errors
/// Those of [`write_first_generation`].
pub(super) fn write_assembly(
    assembly: Assembly,
    options: &TortillaOptions,
    ctx: &JobContext,
) -> Result<Built> {
    let options = with_collection(
        options,
        &assembly.collection,
        || extent_of_samples(&assembly.batches(), ctx),
        ctx,
    )?;
    ctx.stage(tr!("Laying out the samples"), None);
    assembly.expect_sources()?;
    refuse_sources_of(&assembly, &replaced_files(&options)?)?;
    let (draft, options) = laid_out(&AssemblyRows::roots(&assembly), options, ctx)?;
    // The draft has what is written of it.
    let version = assembly.version.clone();
    release(assembly);
    write_tortilla_of(draft, &version, &options, ctx)
}

/// The options with a collection where a `.taco` needs one.
fn with_collection(
    options: &TortillaOptions,
    collection: &Collection,
    samples: impl FnOnce() -> Result<Option<Json>>,
    ctx: &JobContext,
) -> Result<TortillaOptions> {
    let mut options = options.clone();
    if options.collection.is_none() && is_taco_name(&options.target) {
        options.collection = Some(whole_collection(
            &collection.descriptive_fields(),
            samples,
            options.text_form,
            ctx,
        )?);
    }
    Ok(options)
}

/// The files that a write replaces.
fn replaced_files(options: &TortillaOptions) -> Result<Vec<PathBuf>> {
    let parts = if options.part_bytes.is_some() {
        container::parts_called(&options.target)?
    } else {
        Vec::new()
    };
    Ok([parts, vec![options.target.clone()]].concat())
}

/// The samples as the writer takes them; warns of what is lost.
fn laid_out(
    samples: &impl SampleRows,
    options: TortillaOptions,
    ctx: &JobContext,
) -> Result<(TortillaDraft, TortillaOptions)> {
    let form = FooterForm {
        taco: is_taco_name(&options.target),
        text: options.text_form,
    };
    let (draft, losses) = draft_of(
        samples,
        "",
        DraftForm {
            footer: form,
            stream: options.stream,
        },
        ctx,
    )?;
    losses.refuse_nulls(form)?;
    losses.warn(ctx);
    if options.stream && !options.allow_non_tog {
        streamable::need_togs(&draft, ctx)?;
    }
    Ok((draft, options))
}

/// The collection in the form of TACO 0.2, with every core field. `samples` computes the extent of
/// 2.0 where it is not given.
fn whole_collection(
    given: &Map<String, Json>,
    samples: impl FnOnce() -> Result<Option<Json>>,
    text_form: bool,
    ctx: &JobContext,
) -> Result<Map<String, Json>> {
    let mut given = given.clone();
    // An unknown extent is the whole world in 2.0; TACO 0.2 demands a known one.
    if ExtentOrigin::from_collection(&Collection {
        fields: given.clone(),
    }) == Some(ExtentOrigin::Unknown)
    {
        given.shift_remove("extent");
    }
    let half_of = |half: &str| given.get("extent")?.get(half);
    let lacking: Vec<&str> = ["spatial", "temporal"]
        .into_iter()
        .filter(|half| half_of(half).is_none_or(Json::is_null))
        .collect();
    if !lacking.is_empty()
        && let Some(found) = samples()?
    {
        let extent = given.entry("extent").or_insert(Json::Null);
        if !extent.is_object() {
            *extent = Json::Object(Map::new());
        }
        for half in lacking {
            extent[half] = found.get(half).cloned().unwrap_or_default();
        }
    }
    let mut old = collection::of_2_0(&given);
    if text_form {
        old.put_text_form();
    }
    collection::need_core_fields(&old.fields)?;
    let report = check_collection_fields(
        &old.fields,
        if text_form {
            Profile::Spec
        } else {
            Profile::Tools
        },
    );
    refuse_invalid(&report)?;
    warn_of_findings(&report, ctx);
    old.notes.into_iter().for_each(|note| ctx.warn(note));
    warn_of_classes(&old.fields, ctx);
    Ok(old.fields)
}

/// The findings of a collection of TACO 0.2.
fn check_collection_fields(fields: &Map<String, Json>, profile: Profile) -> Report {
    let mut report = Report::default();
    validate::check_taco_0_2(fields, &mut report);
    report.keep(profile);
    report
}

/// The collection given for an opened dataset of any generation, as [`whole_collection`].
pub(super) fn collection_for(
    given: &Map<String, Json>,
    reader: &dyn ContainerReader,
    text_form: bool,
    ctx: &JobContext,
) -> Result<Map<String, Json>> {
    whole_collection(
        given,
        || extent_of_samples(&assembly_of(reader, ctx)?.batches(), ctx),
        text_form,
        ctx,
    )
}

/// The form of the tortillas of a draft.
#[derive(Clone, Copy)]
struct DraftForm {
    /// The generation, and whose form it has.
    footer: FooterForm,
    /// The levels of nested tortillas are joined in one chain, so nested files are taken apart.
    stream: bool,
}

/// Files whose format is found out at a time.
const FORMATS_AT_ONCE: usize = 1 << 13;

/// The samples of a tortilla as their footer and data, and what is lost. `above` is the path of the
/// tortilla, with a slash behind.
fn draft_of(
    samples: &impl SampleRows,
    above: &str,
    form: DraftForm,
    ctx: &JobContext,
) -> Result<(TortillaDraft, Losses)> {
    ctx.check()?;
    let (rows, padding): (Vec<usize>, Vec<usize>) =
        (0..samples.count()).partition(|&row| samples.is_real(row));
    let placeholders = padding
        .into_iter()
        .map(|row| format!("{above}{}", samples.id(row)))
        .collect();
    let mut losses = Losses::of_placeholders(placeholders);
    let columns = samples.columns(&rows)?;
    // A column of the samples may state another format.
    let stated = columns::texts_of("tortilla:file_format", &columns);
    let mut formats = StringBuilder::new();
    let mut items = Vec::with_capacity(rows.len());
    for some in rows.chunks(FORMATS_AT_ONCE) {
        let found: Vec<FoundFormat> = try_map(some, |_, &row| {
            format_of(samples.id(row), samples.data(row), ctx)
        })?;
        for (&row, found) in some.iter().zip(found) {
            let format = match (samples.data(row), &stated) {
                (SampleData::Folder, _) => NESTED_FORMAT,
                (_, Some(stated)) if stated.is_valid(items.len()) => stated.value(items.len()),
                _ => found.name.as_str(),
            };
            formats.append_value(format);
            let path = || format!("{above}{}", samples.id(row));
            if let Some(reason) = &found.unreadable {
                losses.add_unreadable(&path(), reason);
            }
            let is_nested = format == NESTED_FORMAT;
            items.push(
                match (samples.data(row).source(), samples.child_rows(row)) {
                    (None, below) => {
                        let below =
                            below.ok_or_else(|| Error::internal("a FOLDER without a tortilla"))?;
                        let (inner, lost) = draft_of(&below, &format!("{}/", path()), form, ctx)?;
                        losses.add(lost);
                        TortillaItem::Nested(Box::new(inner))
                    }
                    (Some(_), _) if is_nested && found.nested.is_none() => {
                        let error = Error::usage(
                            "tortilla:file_format is TORTILLA, and this file is \
                                not a readable TORTILLA",
                        );
                        return Err(error.at_place(path()).hint(
                            "write the name of GDAL's driver, or BYTES, or leave the value empty",
                        ));
                    }
                    (Some(source), _) => match found.nested.filter(|_| is_nested && form.stream) {
                        Some((file, range)) => {
                            let inner = taken_apart(&file, range, 1, &mut HashSet::new(), ctx);
                            TortillaItem::Nested(Box::new(
                                inner.map_err(|error| error.at_place(path()))?,
                            ))
                        }
                        None => TortillaItem::Source(source),
                    },
                },
            );
        }
    }
    let ids = rows.iter().map(|&row| samples.id(row));
    let rows = FooterRows {
        ids: StringArray::from_iter_values(ids),
        formats: formats.finish(),
        columns,
    };
    Ok((
        TortillaDraft {
            items,
            footer: columns::footer_of(rows, form.footer, &mut losses)?,
        },
        losses,
    ))
}

/// `tortilla:file_format` of a nested tortilla.
const NESTED_FORMAT: &str = "TORTILLA";

/// The format of a sample, by its bytes.
struct FoundFormat {
    /// Value for `tortilla:file_format`.
    name: String,
    /// The file and byte range of a FILE that is a readable TORTILLA or TACO of the first
    /// generation.
    nested: Option<(LocalFile, (u64, u64))>,
    /// Why a FILE with the header of a tortilla can't be read as one.
    unreadable: Option<Error>,
}

impl FoundFormat {
    fn from_name(name: String) -> Self {
        Self {
            name,
            nested: None,
            unreadable: None,
        }
    }
}

/// `tortilla:file_format`: TORTILLA for a folder and for a file that is a readable TORTILLA or TACO
/// of the first generation; else what GDAL calls the file, as far as its first bytes and its ending
/// show it.
fn format_of(id: &str, data: SampleData<'_>, ctx: &JobContext) -> Result<FoundFormat> {
    ctx.check()?;
    let of_head = |head: &[u8]| identify(head, id).unwrap_or_else(|| "BYTES".to_owned());
    let (asset, range) = match data {
        SampleData::Folder => return Ok(FoundFormat::from_name(NESTED_FORMAT.to_owned())),
        SampleData::Bytes(bytes) => {
            let head = &bytes[..bytes.len().min(IDENTIFY_BYTES as usize)];
            return Ok(FoundFormat::from_name(of_head(head)));
        }
        SampleData::Asset(AssetPath::Vsi(_), ..) => {
            return Ok(FoundFormat::from_name(of_head(&[])));
        }
        SampleData::Asset(path @ (AssetPath::File(_) | AssetPath::Packed(_)), size, _) => {
            (path, (0, size))
        }
        SampleData::Asset(path @ AssetPath::Range { offset, size, .. }, ..) => {
            (path, (*offset, *size))
        }
    };
    let file = LocalFile::open_for(asset)?;
    let head = file.read(range.0, IDENTIFY_BYTES.min(range.1))?;
    if TortillaHeader::parse(&head).is_err() {
        return Ok(FoundFormat::from_name(of_head(&head)));
    }
    match container::nested_items(&file, range, ctx) {
        Ok(_) => Ok(FoundFormat {
            name: NESTED_FORMAT.to_owned(),
            nested: Some((file, range)),
            unreadable: None,
        }),
        Err(error) if error.is_passing() => Err(error),
        Err(error) => Ok(FoundFormat {
            name: of_head(&head),
            nested: None,
            unreadable: Some(error),
        }),
    }
}

impl Operation for CompileRequest {
    type Output = Built;

    fn label(&self) -> String {
        tr!("Compile {path}", path = self.options.target.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.input);
        visit(PathUse::Write, &mut self.options.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        compile(self, ctx)
    }
}

fn compile(request: &CompileRequest, ctx: &JobContext) -> Result<Built> {
    let reader = container::open(&request.input, ctx)?;
    if is_same_file(&request.input, &request.options.target) {
        return Err(Error::usage("the output is the input")
            .at_path(&request.input)
            .hint("choose another name"));
    }
    request.options.refuse_existing_target()?;
    need_all_parts(reader.as_ref(), request.allow_missing_parts, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    ctx.stage(tr!("Choosing the samples"), None);
    let keeping = Keeping {
        padding: false,
        siblings: true,
    };
    let keep = choose_rows(
        &request.rows,
        keeping,
        &tables_of(reader.as_ref(), ctx)?,
        &tree,
        ctx,
    )?;
    let roots = keep.first().cloned().unwrap_or_default();
    if !roots.contains(&true) {
        return Err(Error::usage("no sample is left to compile")
            .hint("try the same filters with `taco-studio query`"));
    }
    let mut options = request.options.clone();
    if let Some(given) = &options.collection {
        options.collection = Some(collection_for(
            given,
            reader.as_ref(),
            options.text_form,
            ctx,
        )?);
    }
    if let Physical::Tortilla(tortilla) = reader.physical() {
        if options.part_bytes.is_some()
            && tortilla
                .files()
                .iter()
                .any(|file| container::is_part_of(file.path(), &options.target))
        {
            let error = Error::usage("the output would have the names of the parts that are read")
                .at_path(&options.target);
            return Err(error.hint("choose another name"));
        }
        if options.collection.is_none() && is_taco_name(&options.target) {
            if reader.info().format != Format::Taco {
                let error = Error::usage("a .taco needs a collection, and this TORTILLA has none")
                    .at_path(&options.target);
                return Err(error.hint("give one, or call the output .tortilla"));
            }
            options.collection = Some(if options.text_form {
                collection_for(
                    &reader.expect_collection()?.fields,
                    reader.as_ref(),
                    true,
                    ctx,
                )?
            } else {
                reader.expect_collection()?.fields.clone()
            });
        }
        let draft = part_of(tortilla, &roots, options.stream, ctx)?;
        if options.stream && !options.allow_non_tog {
            streamable::need_togs(&draft, ctx)?;
        }
        return write_tortilla(draft, &options, ctx);
    }
    let ordered: Vec<Vec<bool>> = tree_order(&tree)
        .iter()
        .zip(&keep)
        .map(|(order, keep)| order.iter().map(|&row| keep[row as usize]).collect())
        .collect();
    let part = assembly_of_rows(reader.as_ref(), Some(&roots), ctx)?.into_subset(&ordered, ctx)?;
    // Its tables have a row for every sample.
    release((tree, reader));
    if options.text_form && is_taco_name(&options.target) {
        let (dataset, version) = (draft_of_assembly(&part, ctx)?, part.version.clone());
        drop(part);
        return write_first_generation(&dataset, &version, &options, ctx);
    }
    write_assembly(part, &options, ctx)
}

/// Rows and bytes of level 0, unchanged. For a streamable file, nested tortillas are taken apart:
/// their footers belong to its chain.
pub(super) fn part_of(
    tortilla: &TortillaReader,
    roots: &[bool],
    stream: bool,
    ctx: &JobContext,
) -> Result<TortillaDraft> {
    let rows: Vec<u32> = (0..roots.len() as u32)
        .filter(|&row| roots[row as usize])
        .collect();
    // The footers themselves: the reader's table has columns and names of its own.
    let tables: Vec<LevelTable> = tortilla
        .roots()
        .iter()
        .map(|root| root.table.clone())
        .collect();
    let chosen = arrow::compute::take_record_batch(
        &container::join(&tables, &DecodeBudget::without_limit())?.0,
        &UInt32Array::from(rows.clone()),
    )
    .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
    let tree = tortilla.levels().skeleton(ctx)?;
    let mut entered = HashSet::new();
    let items = rows.iter().map(|&row| {
        let (path, size) = tortilla.asset(0, row)?;
        let AssetPath::Range {
            container, offset, ..
        } = &path
        else {
            return Ok(TortillaItem::Source(RowSource::asset(path, size)));
        };
        let file = tortilla
            .files()
            .iter()
            .find(|file| file.path() == container.as_ref());
        match file.filter(|_| stream && tree.levels[0].folder[row as usize]) {
            Some(file) => {
                let inner = taken_apart(file, (*offset, size), 1, &mut entered, ctx);
                Ok(TortillaItem::Nested(Box::new(
                    inner.map_err(|error| error.at_place(tree.path(0, row)))?,
                )))
            }
            None => Ok(TortillaItem::Source(RowSource::asset(path, size))),
        }
    });
    Ok(TortillaDraft {
        items: items.collect::<Result<_>>()?,
        footer: without_leftovers(&chosen)?,
    })
}

/// The tortilla in a range of a file as its footer and items, down to the last level. `entered`
/// holds where those before began.
fn taken_apart(
    file: &LocalFile,
    range: (u64, u64),
    depth: usize,
    entered: &mut HashSet<(PathBuf, u64)>,
    ctx: &JobContext,
) -> Result<TortillaDraft> {
    ctx.check()?;
    if depth > MAX_LEVELS * 2 {
        return Err(Error::format(format!(
            "tortillas are nested more than {} deep",
            MAX_LEVELS * 2
        )));
    }
    if !entered.insert((file.path().to_owned(), range.0)) {
        return Err(Error::format("another sample is the same nested tortilla")
            .hint("validate the dataset"));
    }
    let (footer, inside) = container::nested_items(file, range, ctx)?;
    let mut items = Vec::with_capacity(inside.len());
    for item in inside {
        let (offset, size) = item.range;
        items.push(if item.nested {
            TortillaItem::Nested(Box::new(taken_apart(
                file,
                item.range,
                depth + 1,
                entered,
                ctx,
            )?))
        } else {
            TortillaItem::Source(RowSource::asset(file.range(offset, size), size))
        });
    }
    Ok(TortillaDraft {
        footer: without_leftovers(&footer.to_batch()?)?,
        items,
    })
}

/// A footer without what belongs to the file that it was in: the rows of its chain, and the row
/// numbers that pandas left behind.
fn without_leftovers(footer: &RecordBatch) -> Result<RecordBatch> {
    let schema = footer.schema();
    let kept: Vec<usize> = (0..footer.num_columns())
        .filter(|&at| {
            ![container::CHAIN_ROOT, "__index_level_0__"]
                .contains(&schema.field(at).name().as_str())
        })
        .collect();
    footer
        .project(&kept)
        .map_err(|error| Error::internal("columns can't be chosen").because(error))
}
