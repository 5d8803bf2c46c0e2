//! A dataset of 2.0 or of the first generation → what the official library needs to write it as
//! TACO 3: the contract (structure, fields, collection), tables of values, the files, and a short
//! Python program. TACO 3 is written by its own library alone; this module never writes it.

mod collection;
mod fields;
mod place;
mod structure;

pub use fields::FieldMove;
pub use structure::{LackingFiles, RenamedMember};

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use self::fields::{LevelFields, level_fields};
use self::place::level_profile;
use self::structure::{MemberLevel, MemberRow, SampleStructure};
use super::migrate::{CollectionMapping, MigrateRequest, Migrated, assembly_for_rewriting};
use super::missing_parts::need_all_parts;
use super::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use crate::container::{
    self, Assembly, CopySources, Format, OnDamage, PartialFolder, RowSource, check_space,
    dataset_around, is_same_file,
};
use crate::error::{Error, IoContext as _, Result};
use crate::extensions::Program;
use crate::jobs::JobContext;
use crate::model::{Finding, Report, Severity};
use crate::table::{ParquetOptions, ParquetSink, take_rows};
use crate::validate;

/// The program that calls the library.
const PROGRAM: &str = include_str!("rebuild.py");
/// Its name in the folder.
const PROGRAM_NAME: &str = "rebuild.py";
/// What takes the place of a file without bytes, which TACO 3 does not allow.
const PLACEHOLDER: &[u8] = &[0];
/// Longest run of the library, in seconds.
const LIBRARY_SECONDS: f64 = 86_400.0;

/// Prepares a dataset for the official library of TACO 3, and runs the library where the request
/// says so. A tree that TACO 3 cannot hold gives findings, and nothing is written. Plain data.
///
/// # Errors
/// For a dataset of TACO 3, missing parts, files that cannot be read or written, and a library that
/// is not installed or refuses the dataset; the folder stays then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taco3Request {
    /// The dataset: 2.0, TACO 0.2 or TORTILLA 0.5.
    pub input: PathBuf,
    /// The folder to write; absent to see what would be done.
    #[serde(default)]
    pub target: Option<PathBuf>,
    /// Replace the folder, and what the library writes.
    #[serde(default)]
    pub overwrite: bool,
    /// What becomes of samples that lack files which others have.
    #[serde(default)]
    pub lacking: LackingFiles,
    /// Fields of the collection that are set before the mapping.
    #[serde(default)]
    pub collection: Map<String, Json>,
    /// How damaged samples are handled.
    #[serde(default)]
    pub on_damage: OnDamage,
    /// Go on where parts of a dataset of the first generation are missing.
    #[serde(default)]
    pub allow_missing_parts: bool,
    /// Run the library at once.
    #[serde(default)]
    pub run: Option<LibraryRun>,
}

/// A run of the official library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LibraryRun {
    /// The dataset that it writes: a ZIP for a name that ends in .zip, else a folder.
    pub output: PathBuf,
    /// The Python with the library.
    pub python: String,
}

impl LibraryRun {
    /// The program and its arguments, for a folder that [`Taco3Request`] wrote.
    pub fn command(&self, folder: &Path, overwrite: bool) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut command = vec![
            self.python.clone(),
            text(&folder.join(PROGRAM_NAME)),
            text(&self.output),
        ];
        command.extend(overwrite.then(|| "--overwrite".to_owned()));
        command
    }
}

/// What was prepared, or would be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Taco3Prepared {
    /// The folder; `None` without a target, or when TACO 3 cannot hold the tree.
    pub folder: Option<PathBuf>,
    /// `taco:structure`: the files of every sample.
    pub structure: Vec<String>,
    /// Number of samples.
    pub samples: u64,
    /// Number of files.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Every column of every level.
    pub fields: Vec<FieldMove>,
    /// Every field of the collection.
    pub collection: Vec<CollectionMapping>,
    /// Files and folders with another name.
    pub renamed: Vec<RenamedMember>,
    /// Files of which a placeholder of one byte takes the place.
    pub placeholders: Vec<String>,
    /// Ids of samples that are left out: they lack files.
    pub left_out: Vec<String>,
    /// Samples whose bytes are damaged.
    pub damaged: Vec<String>,
    /// The mapping to 2.0 of a dataset of the first generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_2_0: Option<Json>,
    /// The dataset of TACO 3, where the library ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// What the library said, where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Errors that prevent it, and warnings.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

impl Taco3Prepared {
    /// True when no finding prevents it.
    pub fn is_possible(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Error)
    }
}

impl OperationOutput for Taco3Prepared {
    fn to_json(&self) -> Json {
        let mut report = json!(self);
        report["possible"] = json!(self.is_possible());
        report["findings"] = self.findings.iter().map(Finding::json).collect();
        report
    }

    fn summary(&self) -> String {
        match (
            self.output.as_ref().or(self.folder.as_ref()),
            self.is_possible(),
        ) {
            (Some(path), _) => tr!("Saved {path}", path = path.display()),
            (None, true) => tr!("TACO 3 can hold this dataset").into(),
            (None, false) => tr!("TACO 3 can't hold this dataset").into(),
        }
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.folder
            .iter()
            .chain(&self.output)
            .map(PathBuf::as_path)
            .collect()
    }

    fn is_sound(&self) -> bool {
        self.is_possible() && self.damaged.is_empty()
    }
}

impl Operation for Taco3Request {
    type Output = Taco3Prepared;

    fn label(&self) -> String {
        tr!("Prepare {path} for TACO 3", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.input);
        self.target
            .iter_mut()
            .for_each(|target| visit(PathUse::Write, target));
        self.run
            .iter_mut()
            .for_each(|run| visit(PathUse::Write, &mut run.output));
    }

    fn programs(&self) -> Vec<Vec<String>> {
        let run = self.run.as_ref().zip(self.target.as_ref());
        run.map(|(run, folder)| run.command(folder, self.overwrite))
            .into_iter()
            .collect()
    }

    fn run(&self, ctx: &JobContext) -> Result<Taco3Prepared> {
        prepare_taco3(self, ctx)
    }
}

fn prepare_taco3(request: &Taco3Request, ctx: &JobContext) -> Result<Taco3Prepared> {
    let reader = container::open(&request.input, ctx)?;
    if reader.info().format == Format::Taco3 {
        return Err(Error::usage("this dataset is of TACO 3 already").at_path(&request.input));
    }
    if let Some(run) = &request.run {
        if is_same_file(&request.input, &run.output) {
            let error = Error::usage("the library would replace the dataset that is read")
                .at_path(&run.output);
            return Err(error.hint("choose another name"));
        }
        container::refuse_existing(&run.output, request.overwrite)?;
    }
    let missing = need_all_parts(reader.as_ref(), request.allow_missing_parts, ctx)?;
    let asked = MigrateRequest {
        fill_missing: true,
        ..MigrateRequest::for_input(request.input.clone())
    };
    let (mut assembly, migrated) = assembly_for_rewriting(reader.as_ref(), &asked, ctx)?;
    for (key, value) in &request.collection {
        assembly.collection.set(key, Some(value.clone()));
    }
    let mut report = Report::default();
    validate::check_tree(&assembly.tree, None, &mut report);
    report.fold();
    let mut findings = missing;
    findings.extend(
        migrated
            .iter()
            .flat_map(|migrated| migrated.findings.iter().cloned()),
    );
    findings.extend(report.findings);
    if findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
    {
        return Ok(Taco3Prepared {
            findings,
            ..Taco3Prepared::default()
        });
    }
    let (mut prepared, contract) = plan(&assembly, request.lacking, ctx)?;
    prepared.findings = findings;
    prepared.to_2_0 = migrated.as_ref().map(Migrated::to_json);
    if prepared.samples == 0 || prepared.structure.is_empty() {
        let error = Error::invalid("no sample has the files of the others").at_path(&request.input);
        return Err(error
            .hint("choose placeholders for files that are missing, or remove the padding first"));
    }
    let Some(target) = &request.target else {
        return Ok(prepared);
    };
    if let Some(around) = dataset_around(target) {
        return Err(Error::usage("the folder would be inside a dataset")
            .at_path(&around)
            .hint("choose another folder"));
    }
    prepared.folder = Some(target.clone());
    prepared.damaged = write(&assembly, &contract, &prepared, request, target, ctx)?;
    if let Some(run) = &request.run {
        ctx.stage(tr!("Running the library of TACO 3"), None);
        let program = Program::new(
            "taco",
            run.command(target, request.overwrite),
            LIBRARY_SECONDS,
        )?;
        let said = program.call(String::new(), ctx).map_err(|error| {
            error.at_path(target).hint(
                "the library comes with: pip install 'taco-eo[writer]'; rebuild.py in this \
                    folder runs it again",
            )
        })?;
        prepared.library = Some(said);
        prepared.output = Some(run.output.clone());
    }
    Ok(prepared)
}

/// What is written.
struct WrittenContract {
    /// contract.json.
    json: Json,
    structure: SampleStructure,
    /// Name of each table, and its rows.
    tables: Vec<(String, RecordBatch)>,
}

/// The levels as contract.json lists them, their tables, and what became of the columns of 2.0.
#[derive(Default)]
struct ContractLevels {
    levels: Vec<Json>,
    tables: Vec<(String, RecordBatch)>,
    moves: Vec<FieldMove>,
}

impl ContractLevels {
    /// Adds a level with columns that TACO 3 demands, `own`, and those of its fields.
    fn add_level(
        &mut self,
        name: &str,
        own: Vec<(Field, ArrayRef)>,
        made: LevelFields,
    ) -> Result<()> {
        self.levels
            .push(json!({ "name": name, "groups": made.groups }));
        let (names, arrays): (Vec<Field>, Vec<ArrayRef>) =
            own.into_iter().chain(made.columns).unzip();
        let table = RecordBatch::try_new(Arc::new(Schema::new(names)), arrays)
            .map_err(|error| Error::internal("a level does not fit its columns").because(error))?;
        self.tables.push((name.to_owned(), table));
        self.moves.extend(made.moves);
        Ok(())
    }
}

fn plan(
    assembly: &Assembly,
    lacking: LackingFiles,
    ctx: &JobContext,
) -> Result<(Taco3Prepared, WrittenContract)> {
    ctx.stage(tr!("Laying out the samples"), None);
    let tree = &assembly.tree;
    let size = |depth: usize, row: u32| assembly.levels[depth].sources[row as usize].size_bytes();
    let structure = SampleStructure::from_skeleton(tree, &size, lacking);
    let ids: ArrayRef = Arc::new(tree.levels.first().map_or_else(
        || StringArray::from(Vec::<&str>::new()),
        |level| level.ids.clone(),
    ));
    let mut contents = ContractLevels::default();
    let samples = structure.samples.clone();
    let ids = take(&ids, &UInt32Array::from(samples.clone()), None).map_err(not_taken)?;
    ctx.check()?;
    contents.add_level(
        "sample",
        vec![(Field::new("id", DataType::Utf8, false), ids)],
        fields_of(assembly, "sample", 0, &samples, ctx)?,
    )?;
    for level in &structure.levels {
        ctx.check()?;
        let rows: Vec<u32> = level.rows.iter().map(|row| row.row).collect();
        let own: Vec<(Field, ArrayRef)> = vec![
            (
                Field::new("sample", DataType::UInt64, false),
                Arc::new(UInt64Array::from_iter_values(
                    level.rows.iter().map(|row| u64::from(row.sample)),
                )),
            ),
            (
                Field::new("name", DataType::Utf8, false),
                Arc::new(StringArray::from_iter_values(
                    level.rows.iter().map(|row| &row.name),
                )),
            ),
            (
                Field::new("is_folder", DataType::Boolean, false),
                Arc::new(BooleanArray::from_iter(
                    level.rows.iter().map(|row| Some(row.is_folder)),
                )),
            ),
        ];
        let made = if level.depth > 0 {
            fields_of(assembly, &level.name, level.depth, &rows, ctx)?
        } else {
            // The one file of a sample, whose columns the sample has.
            LevelFields::default()
        };
        contents.add_level(&level.name, own, made)?;
    }
    let (collection, collection_moves) = collection::library_collection(&assembly.collection);
    let files = structure.levels.iter().flat_map(|level| {
        level
            .rows
            .iter()
            .filter(|row| !row.is_folder)
            .map(move |row| (level, row))
    });
    let id_of = |row: u32| tree.levels[0].id(row).to_owned();
    let (mut count, mut bytes, mut placeholders) = (0, 0, Vec::new());
    for (level, row) in files {
        count += 1;
        bytes += size(level.depth, row.row);
        if row.is_placeholder {
            placeholders.push(format!(
                "{}/{}",
                id_of(structure.samples[row.sample as usize]),
                level.path(row)
            ));
        }
    }
    let prepared = Taco3Prepared {
        structure: structure.paths.clone(),
        samples: structure.samples.len() as u64,
        files: count,
        bytes,
        fields: contents.moves,
        collection: collection_moves,
        renamed: structure.renamed.clone(),
        placeholders,
        left_out: structure.left_out.iter().map(|&row| id_of(row)).collect(),
        ..Taco3Prepared::default()
    };
    let json = json!({
        "structure": structure.paths,
        "levels": contents.levels,
        "collection": collection,
    });
    Ok((
        prepared,
        WrittenContract {
            json,
            structure,
            tables: contents.tables,
        },
    ))
}

fn not_taken(error: arrow::error::ArrowError) -> Error {
    Error::internal("rows can't be selected").because(error)
}

/// The fields of these rows of a level of 2.0.
fn fields_of(
    assembly: &Assembly,
    name: &str,
    depth: usize,
    rows: &[u32],
    ctx: &JobContext,
) -> Result<LevelFields> {
    let level = &assembly.levels[depth];
    let batch = take_rows(&level.batch, rows)?;
    // Columns that the folders of this level do not have are those of other folders of the same
    // depth.
    let parents = &assembly.tree.levels[depth].parents;
    let mut kept = vec![level.meta_columns.is_empty() || depth == 0; batch.num_columns()];
    for &row in rows {
        match level.meta_columns.get(&parents[row as usize]) {
            Some(columns) => columns.iter().for_each(|&at| kept[at] = true),
            None => kept.fill(true),
        }
    }
    let columns: Vec<usize> = (0..kept.len()).filter(|&at| kept[at]).collect();
    let batch = batch.project(&columns).map_err(not_taken)?;
    let collection = &assembly.collection;
    let description = |column: &str| collection.column_description(depth, column);
    let described = |column: &str| description(column).unwrap_or_default().to_owned();
    level_fields(name, &batch, level_profile(&batch, ctx)?, &described)
}

/// Writes the folder; the damaged samples.
fn write(
    assembly: &Assembly,
    contract: &WrittenContract,
    prepared: &Taco3Prepared,
    request: &Taco3Request,
    target: &Path,
    ctx: &JobContext,
) -> Result<Vec<String>> {
    check_space(target, prepared.bytes)?;
    let folder = PartialFolder::of_files(target, request.overwrite)?;
    let place = folder.path();
    let put = |name: &str, bytes: &[u8]| {
        std::fs::write(place.join(name), bytes).io_at("write", place.join(name))
    };
    put("contract.json", &write_pretty_json(&contract.json)?)?;
    put("report.json", &write_pretty_json(&prepared.to_json())?)?;
    put(PROGRAM_NAME, PROGRAM.as_bytes())?;
    std::fs::create_dir(place.join("tables")).io_at("make a folder", place)?;
    for (name, table) in &contract.tables {
        ctx.check()?;
        let path = place
            .join("tables")
            .join(format!("{}.parquet", name.replace('/', "__")));
        let file = File::create(&path).io_at("write", &path)?;
        let mut sink = ParquetSink::new(
            BufWriter::new(file),
            table.schema().as_ref(),
            &ParquetOptions::default(),
        )?;
        sink.write(table)?;
        sink.finish()?.flush().io_at("write", &path)?;
    }
    ctx.stage(tr!("Writing the data"), Some(prepared.bytes));
    let sources = CopySources::of_version(&assembly.version, request.on_damage);
    let data = place.join("data");
    for level in &contract.structure.levels {
        let files: Vec<&MemberRow> = level.rows.iter().filter(|row| !row.is_folder).collect();
        files
            .par_iter()
            .try_for_each(|row| write_file(assembly, &sources, level, row, &data, ctx))?;
    }
    let damaged = sources.finish(ctx)?;
    folder.finish()?;
    Ok(damaged)
}

fn write_pretty_json(json: &Json) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(json)
        .map_err(|error| Error::internal("the contract can't be written as JSON").because(error))
}

fn write_file(
    assembly: &Assembly,
    sources: &CopySources,
    level: &MemberLevel,
    row: &MemberRow,
    data: &Path,
    ctx: &JobContext,
) -> Result<()> {
    ctx.check()?;
    let path = data.join(row.sample.to_string()).join(level.path(row));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).io_at("make a folder", parent)?;
    }
    if row.is_placeholder {
        return std::fs::write(&path, PLACEHOLDER).io_at("write a placeholder", &path);
    }
    let source: &RowSource = &assembly.levels[level.depth].sources[row.row as usize];
    let mut file = File::create(&path).io_at("write", &path)?;
    let name = || assembly.tree.path(level.depth, row.row).to_string();
    sources.stream(source, &name, ctx, &mut |bytes| {
        file.write_all(bytes).io_at("write", &path)
    })?;
    Ok(())
}
