//! `repair`: writes a copy of a finished dataset in which faults with exactly one correction are
//! corrected. Sample bytes are copied unchanged; the input is never overwritten, and damaged bytes
//! never get a new checksum.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathUse, PathVisitor, visit_read_dataset};
use crate::container::{
    self, Assembly, BuildOptions, Built, ByteSource, ContainerReader, OnDamage, OpenOptions,
    Scratch, extent_of_samples, rezipped_dataset,
};
use crate::error::{Error, Result, separate_transient_error};
use crate::jobs::{JobContext, release};
use crate::model::{FieldSpec, Finding, Location, Report, Rule, Severity, Value, is_remote};
use crate::table::{array_of, value_at};
use crate::validate::pixels::{STATS, StatisticsVerdict, audit};
use crate::validate::{self, CheckOptions};

/// Result of a repair.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The written copy.
    pub built: Built,
    /// Findings of the input that the output has no more.
    pub mended: Vec<Finding>,
    /// Findings of the output: those that need a person.
    pub left: Vec<Finding>,
}

impl Repaired {
    /// True when no error is left.
    pub fn is_valid(&self) -> bool {
        self.left
            .iter()
            .all(|finding| finding.severity != Severity::Error)
    }
}

impl OperationOutput for Repaired {
    fn to_json(&self) -> Json {
        json!({
            "path": self.built.path.display().to_string(),
            "valid": self.is_valid(),
            "repaired": self.mended.iter().map(Finding::json).collect::<Json>(),
            "left": self.left.iter().map(Finding::json).collect::<Json>(),
        })
    }

    fn summary(&self) -> String {
        let (mended, left) = (self.mended.len(), self.left.len());
        tr!(
            "Repaired {mended}, {left} left: {path}",
            mended,
            left,
            path = self.built.path.display()
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.built.output_paths()
    }

    fn built_dataset(&self) -> Option<&Built> {
        Some(&self.built)
    }

    fn is_sound(&self) -> bool {
        self.is_valid() && self.built.is_sound()
    }
}

/// Repairs the dataset at `input` into `options.target`. Levels, `__meta__`, positions,
/// `taco:pit_schema` and `taco:field_schema` are made from the tree; the extent from the samples
/// where it missed some; `geotiff:stats` from the pixels where it is not theirs. A ZIP that another
/// program wrote again, below a folder, in another order or compressed, is unpacked first. A
/// dataset whose data is damaged, or whose tree can't be laid out, is an error and nothing is
/// written.
///
/// # Errors
/// For damaged data, a tree that can't be laid out, other generations, and files that can't be
/// written. Then nothing is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepairRequest {
    /// The dataset.
    pub input: PathBuf,
    /// Options for opening it.
    #[serde(default)]
    pub open: OpenOptions,
    /// Target and options.
    pub options: BuildOptions,
}

impl Operation for RepairRequest {
    type Output = Repaired;

    fn label(&self) -> String {
        tr!("Repair {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.options.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Repaired> {
        repair(&self.input, &self.open, &self.options, ctx)
    }
}

fn repair(
    input: &Path,
    open: &OpenOptions,
    options: &BuildOptions,
    ctx: &JobContext,
) -> Result<Repaired> {
    refuse_same(input, &options.target)?;
    options.refuse_existing_target()?;
    let unpacked = unpacked_archive(input, &options.target, ctx)?;
    let input = unpacked.as_ref().map_or(input, |(folder, _)| folder.path());
    let reader = container::open_with(input, open, ctx)?;
    let deep = CheckOptions {
        deep: true,
        ..CheckOptions::default()
    };
    let mut before = validate::container_with(reader.as_ref(), &deep, ctx)?;
    refuse_damaged(&before)?;
    if super::is_other_generation(reader.as_ref()) {
        let error = Error::usage("only datasets of 2.0 can be repaired").at_path(input);
        return Err(error.hint("`migrate` makes one of them"));
    }
    let mut assembly = Assembly::of_damaged(reader.as_ref(), ctx)?;
    let faults = [
        (
            "spatial",
            [
                Rule::ExtentCovers,
                Rule::ExtentHemisphere,
                Rule::ExtentGlobal,
            ]
            .as_slice(),
        ),
        (
            "temporal",
            [Rule::ExtentTimes, Rule::ExtentMiddles].as_slice(),
        ),
    ];
    if faults
        .iter()
        .any(|(_, rules)| rules.iter().any(|rule| before.has(*rule)))
    {
        let found = extent_of_samples(&assembly.batches(), ctx)?;
        let extent = assembly
            .collection
            .fields
            .get_mut("extent")
            .and_then(serde_json::Value::as_object_mut);
        if let (Some(extent), Some(found)) = (extent, found) {
            // Fields without a finding are kept.
            for (key, _) in faults
                .iter()
                .filter(|(_, rules)| rules.iter().any(|rule| before.has(*rule)))
            {
                extent.insert(
                    (*key).to_owned(),
                    found.get(*key).cloned().unwrap_or_default(),
                );
            }
        }
    }
    if before.has(Rule::StatisticsClass) || before.has(Rule::StatisticsValues) {
        for level in 0..assembly.levels.len() {
            mend_statistics(reader.as_ref(), &mut assembly, level, ctx)?;
        }
    }
    // Its directory and tables have an entry for every sample.
    release(reader);
    // Every member was compared above. What is left are archives that state no checksums any more:
    // those are listed.
    let options = &BuildOptions {
        on_damage: OnDamage::Keep,
        ..options.clone()
    };
    let built = container::write(&assembly, options, ctx)?;
    release(assembly);
    let written = container::open(&built.path, ctx)?;
    let after = validate::copied_container(written.as_ref(), &before, ctx)?;
    before
        .findings
        .extend(unpacked.map(|(_, why)| validate::unreadable(&why)));
    let left: HashSet<(Rule, &Location)> = after
        .findings
        .iter()
        .map(|finding| (finding.rule, &finding.at))
        .collect();
    let mended = before
        .findings
        .into_iter()
        .filter(|old| !left.contains(&(old.rule, &old.at)))
        .collect();
    Ok(Repaired {
        built,
        mended,
        left: after.findings,
    })
}

/// The dataset of a ZIP that another program wrote again, unpacked beside `target`, with what
/// readers of the ZIP say; `None` for all else.
fn unpacked_archive(
    input: &Path,
    target: &Path,
    ctx: &JobContext,
) -> Result<Option<(Scratch, Error)>> {
    /// The first bytes of a ZIP with members.
    const ZIP: &[u8] = b"PK\x03\x04";
    if !is_remote(input) && !input.is_file() {
        return Ok(None);
    }
    // Other errors are those of opening the dataset, which follows.
    let Ok(file) = separate_transient_error(ByteSource::open(input))? else {
        return Ok(None);
    };
    if !separate_transient_error(file.read(0, (ZIP.len() as u64).min(file.size_bytes())))?
        .is_ok_and(|head| &*head == ZIP)
    {
        return Ok(None);
    }
    let Some(dataset) = rezipped_dataset(&file)? else {
        return Ok(None);
    };
    let why = dataset.error(input);
    ctx.warn(format!(
        "{}; it is unpacked and written again",
        why.summary()
    ));
    dataset
        .unpack(&file, target, ctx)
        .map(|folder| Some((folder, why)))
}

/// Puts the statistics of the pixels where the stored ones are not those. The column keeps its
/// type.
fn mend_statistics(
    reader: &dyn ContainerReader,
    assembly: &mut Assembly,
    level: usize,
    ctx: &JobContext,
) -> Result<()> {
    let audit = audit(reader, level, usize::MAX, ctx)?;
    let mended: HashMap<u32, Vec<Vec<f64>>> = audit
        .rows
        .into_iter()
        .filter_map(|(row, verdict)| match verdict {
            StatisticsVerdict::ClassLost(bands) | StatisticsVerdict::Wrong(bands) => {
                Some((row, bands))
            }
            StatisticsVerdict::Right | StatisticsVerdict::Unknown => None,
        })
        .collect();
    let Some(laid_out) = assembly
        .levels
        .get_mut(level)
        .filter(|_| !mended.is_empty())
    else {
        return Ok(());
    };
    let schema = laid_out.batch.schema();
    let Ok(index) = schema.index_of(STATS) else {
        return Ok(());
    };
    let column = laid_out.batch.column(index);
    let order = rows_in_tree_order(reader, level, ctx)?;
    let found = |at: usize| mended.get(order.get(at)?);
    let value =
        |at: usize| found(at).map_or_else(|| value_at(column, at), |bands| write_statistics(bands));
    let values: Vec<Value> = (0..column.len()).map(value).collect();
    let field = FieldSpec::new(STATS, column.data_type().clone());
    let mut columns = laid_out.batch.columns().to_vec();
    if let Some(place) = columns.get_mut(index) {
        *place = array_of(&field, values.iter())?;
    }
    laid_out.batch = RecordBatch::try_new(schema, columns).map_err(|error| {
        Error::internal("the new statistics don't fit their table").because(error)
    })?;
    Ok(())
}

/// A list of the statistics of each band.
fn write_statistics(bands: &[Vec<f64>]) -> Value {
    let mut lists = Vec::with_capacity(bands.len());
    for numbers in bands {
        let numbers = numbers.iter().map(|number| Value::Float(*number));
        lists.push(Value::List(numbers.collect()));
    }
    Value::List(lists.into())
}

/// The rows of a level's table in the order in which an assembly lays them out.
fn rows_in_tree_order(
    reader: &dyn ContainerReader,
    level: usize,
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    let tree = reader.levels().skeleton(ctx)?;
    let mut order: Vec<u32> = (0..reader.levels().rows(0) as u32).collect();
    for above in tree.levels.iter().take(level) {
        order = order
            .iter()
            .flat_map(|&row| above.children(row).iter().copied())
            .collect();
    }
    Ok(order)
}

fn refuse_same(input: &Path, target: &Path) -> Result<()> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let (Some(from), Some(to)) = (real(input), real(target)) else {
        return Ok(());
    };
    if from == to || to.starts_with(&from) || from.starts_with(&to) {
        return Err(
            Error::usage("the output is the dataset itself, is inside it, or contains it")
                .at_path(target)
                .hint("write to another place, then replace the old one by it"),
        );
    }
    Ok(())
}

/// A new checksum over damaged bytes would hide the damage for ever. Only the header and every
/// `__meta__` are made anew.
fn refuse_damaged(report: &Report) -> Result<()> {
    let made = |name: &str| name == "TACO_HEADER" || name.ends_with("/__meta__");
    let damaged =
        |finding: &&Finding| finding.rule == Rule::ZipCrc && !made(&finding.at.to_string());
    match report.findings.iter().find(damaged) {
        Some(finding) => Err(Error::invalid(
            "the bytes of a member are damaged, and a repair would hide it",
        )
        .at_place(&finding.at)
        .hint("take the dataset from another copy")),
        None => Ok(()),
    }
}
