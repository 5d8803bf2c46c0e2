//! Finishes a plan: computes values that need the whole dataset, writes the indexes over the parts,
//! and compares the result with the plan.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    Finished, IndexResult, PartResult, Plan, PlanPart, RunRequest, WholeDataset, digest_of, now_ms,
    plan_status, size_of, write_json,
};
use crate::container::{
    self, ContainerReader, Format, Staging, decode_assembly, update_extent, write_indexes,
};
use crate::error::{Error, Result};
use crate::footprint::{self, TIME_COLUMNS};
use crate::jobs::JobContext;
use crate::model::{EXTENT_ORIGIN, PitSchema, is_remote, place_above};
use crate::ops::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use crate::ops::stats::{StatsRequest, pooled_statistics};
use crate::text::list_first;

/// Checks that all parts are there, computes what needs the whole dataset, writes the indexes,
/// opens the result and compares it with the plan. May be run again; the result is the same.
///
/// # Errors
/// When parts are missing or changed, with the reason why they failed; those of [`write_indexes`];
/// and a dataset that differs from the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
pub struct FinishRequest {
    /// The folder of the plan.
    pub folder: PathBuf,
    /// Reads every part and compares its SHA-256. Otherwise only sizes are compared, as each part
    /// was verified when it was written.
    #[serde(default)]
    pub hashes: bool,
}

impl Operation for FinishRequest {
    type Output = Finished;

    fn label(&self) -> String {
        tr!("Join the parts").into()
    }

    /// The plan names the dataset.
    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.folder);
    }

    fn paths_in_files(&self) -> Result<Vec<(PathUse, PathBuf)>> {
        Plan::paths_in(&self.folder)
    }

    fn run(&self, ctx: &JobContext) -> Result<Finished> {
        finish_plan(self, ctx)
    }
}

impl OperationOutput for Finished {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        tr_n!(
            self.parts.len(),
            "{n} part, {samples} samples",
            "{n} parts, {samples} samples",
            n = self.parts.len(),
            samples = self.samples
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.parts
            .iter()
            .chain(self.indexes.iter().map(|index| &index.path))
            .map(PathBuf::as_path)
            .collect()
    }

    fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.failures == 0
    }
}

fn finish_plan(request: &FinishRequest, ctx: &JobContext) -> Result<Finished> {
    let folder = &request.folder;
    let plan = Plan::read(folder)?;
    let mut results = expect_all_parts(&plan, request, ctx)?;
    let rewritten = update_extents(&plan, folder, &mut results, ctx)?;
    let paths: Vec<PathBuf> = plan
        .parts
        .iter()
        .map(|part| plan.output_of(folder, part))
        .collect();
    let target = plan.dataset_in(folder);
    let indexes = write_plan_indexes(&plan, &target, &paths, ctx)?;
    ctx.stage(tr!("Comparing"), None);
    let statistics = compare_with_plan(&plan, &paths, &indexes, ctx)?;
    let part_bytes = results.iter().map(|result| result.bytes);
    let finished = Finished {
        plan: plan.id.clone(),
        roots: plan.roots(),
        samples: sum_saturating(results.iter().map(|result| result.samples)),
        bytes: sum_saturating(part_bytes.chain(indexes.iter().map(|index| index.bytes))),
        indexes,
        parts: paths,
        damaged: results
            .iter()
            .flat_map(|result| result.damaged.clone())
            .collect(),
        failures: results
            .iter()
            .map(|result| result.failures.len() as u64)
            .sum(),
        rewritten,
        statistics,
        ended_ms: now_ms(),
    };
    write_json(&folder.join("finished.json"), &finished)?;
    Ok(finished)
}

fn sum_saturating(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Writes the indexes over the parts beside `target`. A folder of this machine gets all of them at
/// once.
fn write_plan_indexes(
    plan: &Plan,
    target: &Path,
    parts: &[PathBuf],
    ctx: &JobContext,
) -> Result<Vec<IndexResult>> {
    match place_above(target).filter(|_| is_remote(target)) {
        Some(above) => {
            write_indexes(&plan.split, parts, &above, (&plan.parquet, true), ctx)?;
        }
        None => {
            let mut staging = Staging::new(target, true)?;
            for name in plan.split.index_names() {
                staging.claim(name)?;
            }
            let parquet = (&plan.parquet, false);
            write_indexes(&plan.split, parts, staging.path(), parquet, ctx)?;
            ctx.check()?;
            staging.finish()?;
        }
    }
    let mut indexes = Vec::new();
    for name in plan.split.index_names() {
        let path = target.with_file_name(name);
        let (bytes, sha256) = digest_of(&path, ctx)?;
        indexes.push(IndexResult {
            path,
            bytes,
            sha256,
        });
    }
    Ok(indexes)
}

/// The results of all parts; an error if a part has none, or if its output differs from it.
fn expect_all_parts(
    plan: &Plan,
    request: &FinishRequest,
    ctx: &JobContext,
) -> Result<Vec<PartResult>> {
    ctx.stage(tr!("Looking at the parts"), Some(plan.parts.len() as u64));
    let mut results = Vec::with_capacity(plan.parts.len());
    let mut missing = Vec::new();
    for part in &plan.parts {
        ctx.check()?;
        ctx.step(1);
        match find_present_result(plan, part, request, ctx)? {
            Some(result) => results.push(result),
            None => missing.push(part.number),
        }
    }
    if missing.is_empty() {
        return Ok(results);
    }
    let summary = format!(
        "{} of {} parts are missing: {}",
        missing.len(),
        plan.parts.len(),
        list_first(missing.iter().map(u32::to_string), 20)
    );
    let mut error = Error::invalid(summary).at_path(&request.folder);
    for status in plan_status(&request.folder)?
        .parts
        .iter()
        .filter(|status| missing.contains(&status.number))
        .take(5)
    {
        if let Some(reason) = &status.error {
            let place = reason
                .place
                .as_ref()
                .map(|place| format!(" ({place})"))
                .unwrap_or_default();
            error = error.hint(format!(
                "part {} failed: {}{place}",
                status.number, reason.message
            ));
        }
    }
    Err(error.hint("`plan submit` builds what is missing, `plan run --part` one part"))
}

/// The result of a part; `None` without one, and if the output differs from it.
fn find_present_result(
    plan: &Plan,
    part: &PlanPart,
    request: &FinishRequest,
    ctx: &JobContext,
) -> Result<Option<PartResult>> {
    let Some(result) = plan.result(&request.folder, part)? else {
        return Ok(None);
    };
    let output = plan.output_of(&request.folder, part);
    if size_of(&output)? != Some(result.bytes) {
        return Ok(None);
    }
    if request.hashes && digest_of(&output, ctx)?.1 != result.sha256 {
        return Ok(None);
    }
    Ok(Some(result))
}

/// Computes the extent of the whole dataset if parts without footprints need it, and rewrites these
/// parts if they have another one. Returns the numbers of the parts that were rewritten.
fn update_extents(
    plan: &Plan,
    folder: &Path,
    results: &mut [PartResult],
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    let without_footprints: Vec<u32> = results
        .iter()
        .filter(|result| result.whole_extent.is_some())
        .map(|result| result.part)
        .collect();
    if without_footprints.is_empty() {
        return Ok(without_footprints);
    }
    let whole = compute_whole_extent(plan, folder, ctx)?;
    if results.iter().all(|result| {
        result
            .whole_extent
            .as_ref()
            .is_none_or(|written| *written == whole.extent)
    }) {
        return Ok(Vec::new());
    }
    write_json(&folder.join("whole.json"), &whole)?;
    for &number in &without_footprints {
        let request = RunRequest {
            folder: folder.to_owned(),
            part: number,
            ..RunRequest::default()
        };
        let run = request.run(ctx)?;
        if let Some(result) = results.iter_mut().find(|result| result.part == number) {
            *result = run.result().clone();
        }
    }
    Ok(without_footprints)
}

/// The extent of the whole dataset, from the level tables of all parts and the collection of the
/// plan.
fn compute_whole_extent(plan: &Plan, folder: &Path, ctx: &JobContext) -> Result<WholeDataset> {
    ctx.stage(tr!("Reading the metadata"), Some(plan.parts.len() as u64));
    let mut levels: Vec<Vec<RecordBatch>> = vec![Vec::new(); plan.levels.len()];
    for part in &plan.parts {
        ctx.check()?;
        let reader = container::open(&plan.output_of(folder, part), ctx)?;
        for (level, batches) in levels.iter_mut().enumerate().take(reader.levels().count()) {
            // Only the columns of footprints and times are read.
            let fields = reader.levels().fields(level);
            let is_field = |name: &&str| fields.iter().any(|field| *field.name == **name);
            let names: Vec<&str> = footprint::COLUMNS
                .into_iter()
                .chain(TIME_COLUMNS)
                .filter(is_field)
                .collect();
            if !names.is_empty() {
                batches.push(reader.levels().columns(level, &names, ctx)?.to_batch()?);
            }
        }
        ctx.step(1);
    }
    let levels: Vec<RecordBatch> = levels
        .iter()
        .filter(|batches| !batches.is_empty())
        .map(|batches| join_batches(batches))
        .collect::<Result<_>>()?;
    // Starts from the planned collection: a stated extent is kept unless samples are outside it.
    let mut collection = decode_assembly(&super::part_path(folder, 1), ctx)?.collection;
    update_extent(&mut collection, &levels.iter().collect::<Vec<_>>(), ctx)?;
    let value = |key: &str| collection.get(key).cloned().unwrap_or_default();
    Ok(WholeDataset {
        plan: plan.id.clone(),
        extent: value("extent"),
        origin: value(EXTENT_ORIGIN),
    })
}

/// The rows of one level of all parts, in one batch.
fn join_batches(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let first = batches
        .first()
        .ok_or_else(|| Error::internal("a level has no rows in any part"))?;
    // Every part has the types of the plan, but the metadata of its fields may name the part: it is
    // left out, as the schemas have to be equal.
    let schema = Arc::new(arrow::datatypes::Schema::new(
        first
            .schema()
            .fields()
            .iter()
            .map(|field| {
                arrow::datatypes::Field::new(field.name(), field.data_type().clone(), true)
            })
            .collect::<Vec<_>>(),
    ));
    let without_metadata =
        |batch: &RecordBatch| RecordBatch::try_new(schema.clone(), batch.columns().to_vec());
    batches
        .iter()
        .map(without_metadata)
        .collect::<std::result::Result<Vec<_>, _>>()
        .and_then(|batches| concat_batches(&schema, &batches))
        .map_err(|error| Error::format("the parts have different columns").because(error))
}

/// Opens the written dataset and compares it with the plan. Returns the pooled statistics if the
/// samples have statistics.
fn compare_with_plan(
    plan: &Plan,
    paths: &[PathBuf],
    indexes: &[IndexResult],
    ctx: &JobContext,
) -> Result<Option<serde_json::Value>> {
    let index = plan
        .split
        .consolidate
        .iter()
        .position(|format| *format != Format::Tacollection)
        .and_then(|at| indexes.get(at));
    let reader = match (index, paths) {
        (Some(index), _) => container::open(&index.path, ctx)?,
        (None, [one]) => container::open(one, ctx)?,
        (None, paths) => {
            let mut found = 0;
            for path in paths {
                found += container::open(path, ctx)?.levels().rows(0) as u64;
            }
            expect_number(found, plan.roots(), "samples of level 0")?;
            return Ok(None);
        }
    };
    let levels = reader.levels();
    expect_number(levels.rows(0) as u64, plan.roots(), "samples of level 0")?;
    expect_number(
        (0..levels.count())
            .map(|level| levels.rows(level) as u64)
            .sum(),
        plan.samples,
        "samples",
    )?;
    let tree = levels.skeleton(ctx)?;
    let pit = PitSchema::from_skeleton(&tree).ok_or_else(different_tree_error)?;
    // Padding may be left out when grouping by columns, so the numbers are compared above.
    if pit.root.kind != plan.pit.root.kind || pit.shape.get(1..) != plan.pit.shape.get(1..) {
        return Err(different_tree_error());
    }
    pool_statistics(plan, reader.as_ref(), ctx)
}

fn different_tree_error() -> Error {
    Error::invalid("the tree of the written dataset differs from that of the plan")
        .hint("make the plan again")
}

/// Refuses a dataset that has `found` of `what`, where the plan has `planned`.
fn expect_number(found: u64, planned: u64, what: &str) -> Result<()> {
    if found == planned {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the written dataset has {found} {what}, the plan {planned}"
    ))
    .hint("run `plan finish` with --hashes"))
}

/// Statistics pooled over all samples; `None` when the samples have no statistics, or when they
/// can't be pooled (logged as a warning).
fn pool_statistics(
    plan: &Plan,
    reader: &dyn ContainerReader,
    ctx: &JobContext,
) -> Result<Option<serde_json::Value>> {
    if !plan
        .levels
        .iter()
        .flatten()
        .any(|field| field.name == "geotiff:stats")
    {
        return Ok(None);
    }
    match pooled_statistics(reader, &StatsRequest::default(), None, ctx) {
        Ok(pooled) => Ok(serde_json::to_value(pooled).ok()),
        Err(error) if error.is_cancelled() => Err(error),
        Err(error) => {
            ctx.warn(format!(
                "the statistics of all samples could not be pooled: {}",
                error.sentence()
            ));
            Ok(None)
        }
    }
}
