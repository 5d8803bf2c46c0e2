//! Builds one part of a plan.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::attempt::{AttemptRecord, peak_memory};
use super::make::map_sources;
use super::{
    PartResult, Plan, PlanPart, SampleFailure, digest_of, file_stem, now_ms, part_path,
    result_path, size_of, write_json,
};
use crate::container::{
    self, Assembly, BuildOptions, Built, check_space, decode_assembly, output_exists, put_extent,
    write_part,
};
use crate::error::{Error, Result};
use crate::extensions::{ExtensionRun, builtin, has_targets, need_consent};
use crate::jobs::JobContext;
use crate::model::{EXTENT_ORIGIN, ExtentOrigin, FieldSpec, Value};
use crate::ops::draft_of_assembly::draft_of_assembly;
use crate::ops::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use crate::ops::write::refuse_invalid;
use crate::table::{array_of, value_at};
use crate::validate;

/// Builds one part: runs the extensions of the plan over its samples, writes it under a temporary
/// name, renames it, reads it back and writes its result. A part whose output has the size and hash
/// of its result is skipped. Several processes may build one part at the same time; they write the
/// same bytes. Plain data.
///
/// # Errors
/// When the plan is damaged, a source has changed or can't be read, a sample breaks a rule, or the
/// output can't be written. The reason is recorded in the folder of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
pub struct RunRequest {
    /// The folder of the plan.
    pub folder: PathBuf,
    /// Number of the part, from 1.
    pub part: u32,
    /// Builds the part again if it is already written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Path prefixes to replace: (in the plan, on this machine).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relocate: Vec<(PathBuf, PathBuf)>,
}

impl OperationOutput for PartRun {
    fn to_json(&self) -> Json {
        json!({ "skipped": matches!(self, Self::Skipped(_)), "result": self.result() })
    }

    fn summary(&self) -> String {
        tr!("Part {part} is written", part = self.result().part)
    }

    /// None: the result has the name of the part alone, and the plan its folder.
    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }

    fn is_sound(&self) -> bool {
        self.result().damaged.is_empty() && self.result().failures.is_empty()
    }
}

impl Operation for RunRequest {
    type Output = PartRun;

    fn label(&self) -> String {
        tr!("Build part {part}", part = self.part)
    }

    /// The plan names the output.
    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit(PathUse::Read, &mut self.folder);
    }

    fn paths_in_files(&self) -> Result<Vec<(PathUse, PathBuf)>> {
        Plan::paths_with_relocated(&self.folder, &self.relocate)
    }

    fn run(&self, ctx: &JobContext) -> Result<PartRun> {
        run_part(self, ctx)
    }
}

/// Outcome of building a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartRun {
    /// The part existed with the size and hash of its result.
    Skipped(PartResult),
    /// The part was written.
    Written(PartResult),
}

impl PartRun {
    /// The result, of this run or an earlier one.
    pub fn result(&self) -> &PartResult {
        match self {
            PartRun::Skipped(result) | PartRun::Written(result) => result,
        }
    }
}

fn run_part(request: &RunRequest, ctx: &JobContext) -> Result<PartRun> {
    let folder = &request.folder;
    let plan = Plan::read(folder)?;
    let part = plan.part(request.part)?;
    if !request.again
        && let Some(result) = find_written_result(&plan, folder, part, ctx)?
    {
        tracing::info!("skips {}, which is written already", result.name);
        container::clear_interrupted(&plan.output_of(folder, part));
        return Ok(PartRun::Skipped(result));
    }
    need_consent(&plan.calls)?;
    refuse_stranger(&plan, folder, part)?;
    let record = AttemptRecord::start(folder, &plan.id, part.number, ctx)?;
    let outcome = build(&plan, part, request, &record, ctx);
    record.end(&outcome, ctx)?;
    outcome.map(PartRun::Written)
}

/// Refuses to replace an output that no process of this plan has started to write.
fn refuse_stranger(plan: &Plan, folder: &Path, part: &PlanPart) -> Result<()> {
    let output = plan.output_of(folder, part);
    if plan.overwrite || !output_exists(&output)? || plan.result(folder, part)?.is_some() {
        return Ok(());
    }
    let prefix = file_stem(part.number) + ".";
    let attempts = std::fs::read_dir(folder.join("attempts"))
        .into_iter()
        .flatten()
        .flatten();
    if attempts
        .into_iter()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
    {
        return Ok(());
    }
    Err(
        Error::usage("a file with the name of this part was created after the plan was written")
            .at_path(&output)
            .hint("move it away, or make the plan with --overwrite"),
    )
}

/// The result of a part whose output has the size and hash in it.
fn find_written_result(
    plan: &Plan,
    folder: &Path,
    part: &PlanPart,
    ctx: &JobContext,
) -> Result<Option<PartResult>> {
    let Some(result) = plan.result(folder, part)? else {
        return Ok(None);
    };
    let output = plan.output_of(folder, part);
    // The part has to contain the extent of the whole dataset and was written before that was
    // known.
    if let (Some(used), Some(whole)) = (&result.whole_extent, plan.whole(folder)?)
        && *used != whole.extent
    {
        return Ok(None);
    }
    if size_of(&output)? != Some(result.bytes) {
        return Ok(None);
    }
    ctx.stage(tr!("Comparing"), None);
    let (_, found) = digest_of(&output, ctx)?;
    Ok((found == result.sha256).then_some(result))
}

fn build(
    plan: &Plan,
    part: &PlanPart,
    request: &RunRequest,
    record: &AttemptRecord,
    ctx: &JobContext,
) -> Result<PartResult> {
    let folder = &request.folder;
    let file = part_path(folder, part.number);
    if digest_of(&file, ctx)?.1 != part.sha256 {
        let error =
            Error::format("the file of this part is not the one that was planned").at_path(&file);
        return Err(error.hint("make the plan again"));
    }
    let mut piece = decode_assembly(&file, ctx)?;
    map_sources(&mut piece, &|path| {
        Ok(relocate_path(path, &request.relocate))
    })?;
    // The writer compares it again: here before the extensions run.
    piece.version.expect_unchanged()?;
    let (computed, failures) = compute(plan, &mut piece, ctx)?;
    let whole_extent = set_part_extent(plan, folder, &mut piece, ctx)?;
    let options = BuildOptions {
        target: plan.output_of(folder, part),
        format: plan.format,
        parquet: plan.parquet.clone(),
        overwrite: true,
        parts: None,
        on_damage: plan.on_damage,
        text_columns: plan.text_columns,
        align_blocks: plan.align_blocks,
    };
    check_space(&options.target, part.data_bytes)?;
    let Built {
        samples,
        files,
        damaged,
        ..
    } = write_part(&piece, &options, ctx)?;
    drop(piece);
    ctx.stage(tr!("Comparing"), None);
    let (bytes, sha256) = digest_of(&options.target, ctx)?;
    let ended_ms = now_ms();
    let result = PartResult {
        plan: plan.id.clone(),
        part: part.number,
        name: part.name.clone(),
        bytes,
        sha256,
        samples,
        files,
        damaged,
        computed,
        failures,
        whole_extent,
        seconds: ended_ms.saturating_sub(record.started_ms()) as f64 / 1e3,
        ended_ms,
        host: record.host().to_owned(),
        memory_bytes: peak_memory(),
    };
    write_json(&result_path(folder, part.number), &result)?;
    Ok(result)
}

/// `path` with the prefix replaced by the first pair of `relocate` that matches.
fn relocate_path(path: &Path, pairs: &[(PathBuf, PathBuf)]) -> Option<PathBuf> {
    pairs
        .iter()
        .find_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)))
}

/// Runs the calls of the plan over the samples of a part, and stores the values in its columns.
/// Returns the number of computed samples, and the samples that failed.
fn compute(
    plan: &Plan,
    piece: &mut Assembly,
    ctx: &JobContext,
) -> Result<(u64, Vec<SampleFailure>)> {
    if plan.calls.is_empty() {
        return Ok((0, Vec::new()));
    }
    let registry = builtin();
    let dataset = draft_of_assembly(piece, ctx)?;
    let mut calls = Vec::with_capacity(plan.calls.len());
    for call in &plan.calls {
        // A part may have no target of a call.
        if call.target.level < piece.levels.len() && has_targets(&dataset, call, &registry)? {
            calls.push(call.clone());
        }
    }
    let run = crate::extensions::run(&dataset, &calls, &registry, ctx)?;
    run.notes
        .iter()
        .flat_map(crate::extensions::RunNote::lines)
        .for_each(|line| ctx.warn(line));
    fill_columns(piece, &run)?;
    refuse_invalid(&validate::dataset(&draft_of_assembly(piece, ctx)?, ctx)?)?;
    let failures = run.failures.iter().map(record_failure).collect();
    Ok((run.computed, failures))
}

fn record_failure(failure: &crate::extensions::Failure) -> SampleFailure {
    SampleFailure {
        extension: failure.extension.clone(),
        sample: failure.path.to_string(),
        error: failure.error.clone(),
    }
}

/// Stores computed values in the null columns of the plan.
fn fill_columns(piece: &mut Assembly, run: &ExtensionRun) -> Result<()> {
    for (level, columns) in piece.levels.iter_mut().zip(&run.columns) {
        let schema = level.batch.schema();
        let mut arrays = level.batch.columns().to_vec();
        for column in columns {
            let name = &column.field.name;
            let place = schema.index_of(name);
            let place = place.map_err(|error| {
                Error::internal(format!("the plan has no column {name}")).because(error)
            })?;
            let values: Vec<Value> = (0..level.batch.num_rows())
                .map(|row| match column.touched.get(row) {
                    Some(true) => column.values.get(row).cloned().unwrap_or_default(),
                    _ => value_at(&arrays[place], row),
                })
                .collect();
            let field = FieldSpec::new(name, schema.field(place).data_type().clone());
            arrays[place] = array_of(&field, values.iter())?;
        }
        level.batch = arrow::array::RecordBatch::try_new(schema, arrays).map_err(|error| {
            Error::internal("computed columns do not fit their level").because(error)
        })?;
    }
    Ok(())
}

/// Sets the extent of the part: that of its own samples, or without footprints that of the whole
/// dataset, which is returned. If the plan's calls may compute footprints, the latter is known only
/// after all other parts are written.
fn set_part_extent(
    plan: &Plan,
    folder: &Path,
    piece: &mut Assembly,
    ctx: &JobContext,
) -> Result<Option<serde_json::Value>> {
    let computes = !plan.calls.is_empty();
    if piece.narrow_extent(ctx)? || !computes {
        return Ok(None);
    }
    match plan.whole(folder)? {
        Some(whole) => {
            piece.collection.set("extent", Some(whole.extent.clone()));
            piece.collection.set(EXTENT_ORIGIN, Some(whole.origin));
            Ok(Some(whole.extent))
        }
        None => {
            if ExtentOrigin::from_collection(&piece.collection) != Some(ExtentOrigin::Stated) {
                put_extent(&mut piece.collection, None);
            }
            Ok(Some(
                piece.collection.get("extent").cloned().unwrap_or_default(),
            ))
        }
    }
}
