//! Runs extension calls over a dataset and collects columns, collection fields and failures. Does
//! not change the dataset; [`ExtensionRun::apply`] returns the new root. The failure of one sample
//! results in nulls and a [`Failure`]; only cancellation, invalid calls and a program that can't be
//! started end the run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::Value as Json;

use super::view::Remarks;
use super::{
    CallTarget, ComputedColumn, Extension, ExtensionCall, ExtensionRegistry, RunNote,
    SampleExtension, SampleView, TortillaExtension, TortillaView,
};
use crate::error::{Cause, Error, Kind, Result};
use crate::jobs::{JobContext, panic_error};
use crate::model::{
    AssetPath, Dataset, FieldSpec, Payload, Sample, SampleKind, SamplePath, Schema, Tortilla,
    Value, same_values,
};

/// A sample that could not be computed, or of which some columns could not. Their values are those
/// of before the run where it had some of the same type, else null.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Failure {
    /// Name of the extension.
    pub extension: String,
    /// Path of the sample.
    pub path: SamplePath,
    /// Reason and hints.
    pub error: String,
    /// True when the sample had values in the columns that failed, which stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// Number of failures after which earlier values stay.
pub fn count_kept_failures(failures: &[Failure]) -> usize {
    failures.iter().filter(|failure| failure.kept).count()
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionRun {
    /// New columns by level, in output order.
    pub columns: Vec<Vec<ComputedColumn>>,
    /// Fields of the collection.
    pub collection: Vec<(String, Json)>,
    /// Failed samples, in the order of calls and rows.
    pub failures: Vec<Failure>,
    /// Number of samples computed without a failure, summed over calls.
    pub computed: u64,
    /// Notes of the extensions.
    pub notes: Vec<RunNote>,
}

/// One row of a level.
struct TargetRow<'a> {
    sample: &'a Sample,
    tortilla: &'a Tortilla,
    ids: Arc<[&'a str]>,
}

/// A column that a run would compute and the dataset already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnClash {
    /// The level of both columns.
    pub level: usize,
    /// Their name.
    pub column: String,
}

impl std::fmt::Display for ColumnClash {
    /// As `level0 split`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "level{} {}", self.level, self.column)
    }
}

/// Columns that the calls would compute and the dataset already has, each once.
///
/// # Errors
/// When a call has an unknown extension or invalid options.
pub fn find_column_clashes(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    registry: &ExtensionRegistry,
) -> Result<Vec<ColumnClash>> {
    let mut found = Vec::new();
    for call in calls {
        let schema = match registry.make(&call.extension, &call.options)? {
            Extension::Sample(extension) => extension.schema(),
            Extension::Tortilla(extension) => extension.schema(),
            Extension::Collection(_) => continue,
        };
        let level = call.target.level;
        for field in schema {
            let clash = ColumnClash {
                level,
                column: field.name,
            };
            if !found.contains(&clash) && has_column_below(&dataset.root, level, &clash.column) {
                found.push(clash);
            }
        }
    }
    Ok(found)
}

/// True when one of the samples `depth` levels below those of a tortilla has this column.
fn has_column_below(tortilla: &Tortilla, depth: usize, name: &str) -> bool {
    if depth == 0 {
        return !tortilla.samples.is_empty() && tortilla.field(name).is_some();
    }
    tortilla
        .samples
        .iter()
        .filter_map(Sample::children)
        .any(|children| has_column_below(children, depth - 1, name))
}

/// The extensions of calls, with their options.
///
/// # Errors
/// [`crate::error::Kind::Usage`] when a call has an unknown extension or invalid options, or starts
/// a program without the user's consent.
pub fn make_extensions(
    calls: &[ExtensionCall],
    registry: &ExtensionRegistry,
) -> Result<Vec<Extension>> {
    super::need_consent(calls)?;
    calls
        .iter()
        .map(|call| registry.make(&call.extension, &call.options))
        .collect()
}

/// Runs the calls in order. Consecutive sample extensions on one level run together.
///
/// # Errors
/// When a call is invalid, a tortilla or collection extension fails, or the job is cancelled.
pub fn run(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    registry: &ExtensionRegistry,
    ctx: &JobContext,
) -> Result<ExtensionRun> {
    let made = make_extensions(calls, registry)?;
    let depth = dataset.depth();
    check(calls, &made, depth)?;
    let notes = calls
        .iter()
        .zip(&made)
        .filter_map(|(call, made)| note_of(call, made));
    let mut run = ExtensionRun {
        columns: vec![Vec::new(); depth],
        notes: notes.collect(),
        ..ExtensionRun::default()
    };
    let mut index = 0;
    while let (Some(call), Some(extension)) = (calls.get(index), made.get(index)) {
        ctx.check()?;
        let level = call.target.level;
        match extension {
            Extension::Sample(extension) if extension.batch().is_some() => {
                run_batches(dataset, call, extension.as_ref(), &mut run, ctx)?;
                index += 1;
            }
            Extension::Sample(_) => {
                let mut group: Vec<(&ExtensionCall, &dyn SampleExtension)> = Vec::new();
                while let (Some(call), Some(Extension::Sample(extension))) =
                    (calls.get(index), made.get(index))
                    && call.target.level == level
                    && extension.batch().is_none()
                {
                    group.push((call, extension.as_ref()));
                    index += 1;
                }
                run_samples(dataset, level, &group, &mut run, ctx)?;
            }
            Extension::Tortilla(extension) => {
                run_tortilla(dataset, call, extension.as_ref(), &mut run, ctx)?;
                index += 1;
            }
            Extension::Collection(extension) => {
                if !call.schema_only {
                    ctx.stage(&call.extension, None);
                    // The dataset including the new columns: the extent, for example, may depend on
                    // them.
                    let mut so_far = dataset.clone();
                    so_far.root = run.apply(so_far.root, true)?;
                    for (key, value) in &run.collection {
                        so_far.collection.set(key, Some(value.clone()));
                    }
                    let fields = extension
                        .compute(&so_far, ctx)
                        .map_err(|error| name_extension_in_error(error, &call.extension))?;
                    run.collection.extend(fields);
                }
                index += 1;
            }
        }
    }
    Ok(run)
}

/// What is known of a call before it runs.
fn note_of(call: &ExtensionCall, made: &Extension) -> Option<RunNote> {
    match made {
        Extension::Sample(extension) if !call.schema_only && extension.lacks_times() => {
            Some(RunNote::NoTimes {
                extension: call.extension.clone(),
                level: call.target.level,
            })
        }
        _ => None,
    }
}

/// True unless the first FILE that a target names can be read and is no raster.
pub fn may_be_raster(dataset: &Dataset, target: &CallTarget) -> bool {
    let call = ExtensionCall {
        extension: String::new(),
        options: Json::Null,
        target: target.clone(),
        schema_only: false,
    };
    let views = views_of(dataset, &call);
    let refused = |error: Error| matches!(error.kind(), Kind::Format | Kind::Unsupported);
    !views
        .first()
        .is_some_and(|view| view.raster().is_err_and(refused))
}

/// True when a call targets a sample of the dataset: of a part of a dataset it may target none.
///
/// # Errors
/// When the call has an unknown extension or invalid options.
pub fn has_targets(
    dataset: &Dataset,
    call: &ExtensionCall,
    registry: &ExtensionRegistry,
) -> Result<bool> {
    let files_only = match registry.make(&call.extension, &call.options)? {
        Extension::Sample(extension) => extension.needs_file(),
        Extension::Tortilla(_) => false,
        Extension::Collection(_) => return Ok(true),
    };
    let rows = rows_of(dataset, call.target.level);
    Ok(find_targeted_rows(&rows, call, files_only).contains(&true))
}

/// The samples with data that a call targets.
pub(super) fn views_of<'a>(dataset: &'a Dataset, call: &ExtensionCall) -> Vec<SampleView<'a>> {
    let rows = rows_of(dataset, call.target.level);
    let target = find_targeted_rows(&rows, call, true);
    let chosen = rows
        .into_iter()
        .enumerate()
        .zip(target)
        .filter(|((_, row), on)| *on && row.sample.kind() == SampleKind::File);
    chosen
        .map(|((index, row), _)| SampleView::new(row.sample, row.tortilla, row.ids, index, &[]))
        .collect()
}

/// Checks that the levels exist, and that calls computing the same column agree on its type.
fn check(calls: &[ExtensionCall], made: &[Extension], depth: usize) -> Result<()> {
    let mut fields: Vec<(usize, FieldSpec, &str)> = Vec::new();
    for (call, made) in calls.iter().zip(made) {
        let schema = match made {
            Extension::Sample(extension) => extension.schema(),
            Extension::Tortilla(extension) => extension.schema(),
            Extension::Collection(_) => continue,
        };
        let level = call.target.level;
        if level >= depth {
            let summary = format!(
                "{} is for level {level}, but the dataset has {depth} levels",
                call.extension
            );
            return Err(Error::usage(summary).hint("levels count from 0"));
        }
        for field in schema {
            match fields
                .iter()
                .find(|(other, known, _)| *other == level && known.name == field.name)
            {
                Some((_, known, by)) if !same_values(&known.dtype, &field.dtype) => {
                    let summary = format!(
                        "{by} and {} both make {}, with different types",
                        call.extension, field.name
                    );
                    return Err(Error::usage(summary).hint("run one of them"));
                }
                Some(_) => {}
                None => fields.push((level, field, &call.extension)),
            }
        }
    }
    Ok(())
}

fn rows_of(dataset: &Dataset, level: usize) -> Vec<TargetRow<'_>> {
    fn collect_target_rows<'a>(
        tortilla: &'a Tortilla,
        left: usize,
        ids: &mut Vec<&'a str>,
        rows: &mut Vec<TargetRow<'a>>,
    ) {
        for sample in &tortilla.samples {
            ids.push(&sample.id);
            if left == 0 {
                rows.push(TargetRow {
                    sample,
                    tortilla,
                    ids: ids.as_slice().into(),
                });
            } else if let Some(children) = sample.children() {
                collect_target_rows(children, left - 1, ids, rows);
            }
            ids.pop();
        }
    }
    let mut rows = Vec::new();
    collect_target_rows(&dataset.root, level, &mut Vec::new(), &mut rows);
    rows
}

/// Whether a call targets each row; never padding.
fn find_targeted_rows(rows: &[TargetRow], call: &ExtensionCall, files_only: bool) -> Vec<bool> {
    rows.iter()
        .map(|row| is_targeted_row(row, call, files_only))
        .collect()
}

fn is_targeted_row(row: &TargetRow, call: &ExtensionCall, files_only: bool) -> bool {
    let by_name = !call.target.positions.is_empty();
    let right_kind = by_name || !files_only || row.sample.kind() == SampleKind::File;
    right_kind && !row.sample.is_padding() && call.target.names(&row.ids)
}

/// The rows that a call targets, of which there has to be one.
fn require_targeted_rows(
    dataset: &Dataset,
    rows: &[TargetRow],
    call: &ExtensionCall,
    files_only: bool,
) -> Result<Vec<bool>> {
    let by_name = !call.target.positions.is_empty();
    let chosen = find_targeted_rows(rows, call, files_only);
    if !chosen.contains(&true) {
        let what = if by_name {
            call.target.positions.join(", ")
        } else {
            "a FILE".to_owned()
        };
        if let Some(level) =
            (0..dataset.depth()).find(|&level| !by_name && has_file(&dataset.root, level))
        {
            let summary = format!(
                "{}: level {} has FOLDERs alone",
                call.extension, call.target.level
            );
            return Err(
                Error::usage(summary).hint(format!("FILEs are on level {level}: --level {level}"))
            );
        }
        let mut ids: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.ids.last().copied())
            .take(1000)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(8);
        let summary = format!(
            "{}: no sample of level {} is {what}",
            call.extension, call.target.level
        );
        return Err(
            Error::usage(summary).hint(format!("ids at this level are {}, …", ids.join(", ")))
        );
    }
    Ok(chosen)
}

/// True when `level`, counted from this tortilla, has a FILE other than padding.
fn has_file(tortilla: &Tortilla, level: usize) -> bool {
    let mut real = tortilla
        .samples
        .iter()
        .filter(|sample| !sample.is_padding());
    match level.checked_sub(1) {
        None => real.any(|sample| sample.kind() == SampleKind::File),
        Some(below) => real.any(|sample| {
            sample
                .children()
                .is_some_and(|children| has_file(children, below))
        }),
    }
}

/// The values of one row from one call, and what was said about them.
struct Computed {
    values: Result<Vec<Value>>,
    remarks: Option<Box<Remarks>>,
}

/// `None` when the row was not targeted.
type ComputedCell = Option<Computed>;

fn run_samples(
    dataset: &Dataset,
    level: usize,
    group: &[(&ExtensionCall, &dyn SampleExtension)],
    run: &mut ExtensionRun,
    ctx: &JobContext,
) -> Result<()> {
    let rows = rows_of(dataset, level);
    let targets = group
        .iter()
        .map(|(call, extension)| {
            require_targeted_rows(dataset, &rows, call, extension.needs_file())
        })
        .collect::<Result<Vec<Vec<bool>>>>()?;
    let schemas: Vec<Vec<FieldSpec>> = group
        .iter()
        .map(|(_, extension)| extension.schema())
        .collect();
    let names: Vec<&str> = group
        .iter()
        .map(|(call, _)| call.extension.as_str())
        .collect();
    ctx.stage(&names.join(", "), Some(rows.len() as u64));
    let earlier = run.columns.get(level).cloned().unwrap_or_default();
    let cells: Vec<Vec<ComputedCell>> = rows
        .par_iter()
        .enumerate()
        .map(|(index, row)| {
            ctx.check()?;
            let mut view =
                SampleView::new(row.sample, row.tortilla, row.ids.clone(), index, &earlier);
            let mut cells = Vec::with_capacity(group.len());
            for (((call, extension), target), schema) in group.iter().zip(&targets).zip(&schemas) {
                if !target[index] || call.schema_only {
                    cells.push(None);
                    continue;
                }
                let computed = catch_panic(&call.extension, || extension.compute(&view, ctx));
                let computed = stop_if_replaced(computed, row.sample)?;
                let computed = computed.or_else(|error| without_pixels(error, schema, &view));
                let computed = computed.and_then(|values| fitting(values, schema, &call.extension));
                match &computed {
                    Err(error) if error.is_cancelled() => return Err(Error::cancelled()),
                    Err(_) => {}
                    Ok(values) => view.take_fresh(schema, values),
                }
                cells.push(Some(Computed {
                    values: computed,
                    remarks: view.take_remarks(),
                }));
            }
            if cells.iter().any(Option::is_some) {
                ctx.bytes(row.sample.size_bytes());
            }
            ctx.step(1);
            Ok(cells)
        })
        .collect::<Result<_>>()?;
    let mut columns: Vec<Vec<ComputedCell>> = group
        .iter()
        .map(|_| Vec::with_capacity(rows.len()))
        .collect();
    for row in cells {
        for (column, cell) in columns.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    for ((call, extension), cells) in group.iter().zip(columns) {
        merge_cells(call, *extension, &rows, cells, run);
    }
    Ok(())
}

/// A vector file has no value of what is computed from pixels, which is no failure.
fn without_pixels(error: Error, schema: &[FieldSpec], view: &SampleView<'_>) -> Result<Vec<Value>> {
    if !error.is_caused_by(Cause::VectorFile) {
        return Err(error);
    }
    let columns: Vec<&str> = schema.iter().map(|field| &*field.name).collect();
    view.note_absent(&columns, error.sentence());
    Ok(vec![Value::Null; schema.len()])
}

fn run_batches(
    dataset: &Dataset,
    call: &ExtensionCall,
    extension: &dyn SampleExtension,
    run: &mut ExtensionRun,
    ctx: &JobContext,
) -> Result<()> {
    let Some(batch) = extension.batch() else {
        return Ok(());
    };
    let level = call.target.level;
    let rows = rows_of(dataset, level);
    let target = require_targeted_rows(dataset, &rows, call, extension.needs_file())?;
    let mut cells: Vec<ComputedCell> = rows.iter().map(|_| None).collect();
    if !call.schema_only {
        let schema = extension.schema();
        let earlier = run.columns.get(level).cloned().unwrap_or_default();
        let views: Vec<SampleView> = (0..rows.len())
            .filter(|&index| target[index])
            .map(|index| view_row(&rows[index], index, &earlier))
            .collect();
        ctx.stage(&call.extension, Some(views.len() as u64));
        let size = batch.size().max(1);
        let results: Vec<Vec<Result<Vec<Value>>>> = views
            .par_chunks(size)
            .map(|views| {
                ctx.check()?;
                let refs: Vec<&SampleView> = views.iter().collect();
                let results = match catch_panic(&call.extension, || batch.compute(&refs, ctx)) {
                    Err(error) if error.is_cancelled() || error.is_caused_by(Cause::NotStarted) => {
                        return Err(error);
                    }
                    Err(error) => {
                        let text = error.report();
                        views
                            .iter()
                            .map(|_| Err(Error::new(error.kind(), text.clone())))
                            .collect()
                    }
                    Ok(mut results) => {
                        results.truncate(views.len());
                        while results.len() < views.len() {
                            results.push(Err(Error::format("nothing came back for this sample")));
                        }
                        results
                    }
                };
                ctx.step(views.len() as u64);
                Ok(results
                    .into_iter()
                    .map(|row| row.and_then(|row| fitting(row, &schema, &call.extension)))
                    .collect())
            })
            .collect::<Result<_>>()?;
        for (view, result) in views.iter().zip(results.into_iter().flatten()) {
            let result = stop_if_replaced(result, rows[view.row].sample)?;
            cells[view.row] = Some(Computed {
                values: result,
                remarks: view.take_remarks(),
            });
        }
    }
    merge_cells(call, extension, &rows, cells, run);
    Ok(())
}

fn run_tortilla(
    dataset: &Dataset,
    call: &ExtensionCall,
    extension: &dyn TortillaExtension,
    run: &mut ExtensionRun,
    ctx: &JobContext,
) -> Result<()> {
    let level = call.target.level;
    let rows = rows_of(dataset, level);
    let schema = extension.schema();
    let target = require_targeted_rows(dataset, &rows, call, false)?;
    let earlier = run.columns.get(level).cloned().unwrap_or_default();
    let picked: Vec<usize> = (0..rows.len()).filter(|&index| target[index]).collect();
    let mut made: Vec<Vec<Value>> = Vec::new();
    let mut left = std::collections::HashSet::new();
    let mut failed = std::collections::HashSet::new();
    if !call.schema_only {
        ctx.stage(&call.extension, Some(picked.len() as u64));
        let samples = picked
            .iter()
            .map(|&index| view_row(&rows[index], index, &earlier))
            .collect();
        let view = TortillaView {
            level,
            samples,
            notes: Mutex::default(),
            left: Mutex::default(),
            failed: Mutex::default(),
            failed_samples: Mutex::default(),
        };
        made = catch_panic(&call.extension, || extension.compute(&view, ctx))
            .map_err(|error| name_extension_in_error(error, &call.extension))?;
        left = view
            .left
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        run.notes.extend(
            view.notes
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for (column, reason) in view
            .failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            run.notes.push(RunNote::Failed {
                extension: call.extension.clone(),
                column: column.clone(),
                reason,
            });
            failed.insert(column);
        }
        if made.len() != schema.len() || made.iter().any(|column| column.len() != picked.len()) {
            return Err(Error::internal(format!(
                "{} made columns of another shape than it declares",
                call.extension
            )));
        }
        let failures = view
            .failed_samples
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        run.computed += (picked.len() - failures.len()) as u64;
        for (place, error) in failures {
            let row = &rows[picked[place]];
            let error = match stop_if_replaced::<()>(Err(error), row.sample)? {
                Err(error) => error,
                Ok(()) => continue,
            };
            let path = SamplePath(row.ids.iter().map(|id| Arc::from(*id)).collect());
            let kept = had_values(row, &schema, &|_| true);
            run.failures.push(Failure {
                extension: call.extension.clone(),
                path,
                error: in_one_line(&error),
                kept,
            });
        }
    }
    let mut made = made.into_iter();
    for field in schema {
        let is_failed = failed.contains(&field.name);
        let column = column_of(run, level, field, rows.len());
        for (place, (&index, value)) in picked
            .iter()
            .zip(made.next().unwrap_or_default())
            .enumerate()
        {
            if is_failed || left.contains(&place) {
                continue;
            }
            column.values[index] = value;
            column.touched[index] = true;
        }
    }
    Ok(())
}

/// The sample of the row with this index; `earlier` are the columns computed in this run.
fn view_row<'a>(
    row: &TargetRow<'a>,
    index: usize,
    earlier: &'a [ComputedColumn],
) -> SampleView<'a> {
    SampleView::new(row.sample, row.tortilla, row.ids.clone(), index, earlier)
}

/// Converts a panic into a failure of this sample.
fn catch_panic<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(panic_error(name, panic.as_ref())))
}

fn fitting(values: Vec<Value>, schema: &[FieldSpec], name: &str) -> Result<Vec<Value>> {
    if values.len() == schema.len() {
        return Ok(values);
    }
    Err(Error::internal(format!(
        "{name} gave {} values for {} columns",
        values.len(),
        schema.len()
    )))
}

/// Stops the run when the container of a sample was replaced while it was read: values that were
/// computed before are of the old one. A file of its own that changed concerns its sample alone.
///
/// # Errors
/// The error of a sample that is a part of a container, where it is [`Kind::Changed`].
fn stop_if_replaced<T>(computed: Result<T>, sample: &Sample) -> Result<Result<T>> {
    let is_in_container = matches!(
        &sample.payload,
        Payload::Asset {
            path: AssetPath::Range { .. },
            ..
        }
    );
    match computed {
        Err(error) if is_in_container && error.kind() == Kind::Changed => Err(error),
        computed => Ok(computed),
    }
}

fn name_extension_in_error(error: Error, extension: &str) -> Error {
    if error.is_cancelled() || error.place().is_some() {
        error
    } else {
        error.at_place(extension)
    }
}

/// An error with its hints in one line.
fn in_one_line(error: &Error) -> String {
    error.report().replace("\n  try: ", "; try: ")
}

/// True for a row that has values in columns of `schema` that `failed` names.
fn had_values(row: &TargetRow, schema: &[FieldSpec], failed: &dyn Fn(&str) -> bool) -> bool {
    let known = row
        .tortilla
        .schema
        .iter()
        .enumerate()
        .filter(|(_, field)| failed(&field.name));
    let mut same = known.filter(|(_, field)| {
        schema
            .iter()
            .any(|new| new.name == field.name && same_values(&new.dtype, &field.dtype))
    });
    same.any(|(place, _)| !row.sample.value(place).is_null())
}

fn merge_cells(
    call: &ExtensionCall,
    extension: &dyn SampleExtension,
    rows: &[TargetRow],
    cells: Vec<ComputedCell>,
    run: &mut ExtensionRun,
) {
    let mut found: Vec<(usize, Vec<Value>)> = Vec::new();
    let schema = extension.schema();
    // Columns of rows that failed are not touched, so they keep their values.
    let mut parts: HashMap<usize, Vec<&'static str>> = HashMap::new();
    for (index, cell) in cells.into_iter().enumerate() {
        let (Some(Computed { values, remarks }), Some(row)) = (cell, rows.get(index)) else {
            continue;
        };
        let path = SamplePath(row.ids.iter().map(|id| Arc::from(*id)).collect());
        let remarks = remarks.map(|remarks| *remarks).unwrap_or_default();
        add_notes(&remarks, call, &path, run);
        let failure = match &values {
            Err(error) => Some((in_one_line(error), had_values(row, &schema, &|_| true))),
            Ok(_) if remarks.failed.is_empty() => None,
            Ok(_) => {
                let mut reasons: Vec<String> = remarks
                    .failed
                    .iter()
                    .map(|(_, error)| in_one_line(error))
                    .collect();
                reasons.dedup();
                let columns: Vec<&'static str> =
                    remarks.failed.iter().map(|(column, _)| *column).collect();
                let kept = had_values(row, &schema, &|name| columns.contains(&name));
                parts.insert(index, columns);
                Some((reasons.join("; "), kept))
            }
        };
        match failure {
            Some((error, kept)) => run.failures.push(Failure {
                extension: call.extension.clone(),
                path,
                error,
                kept,
            }),
            None => run.computed += 1,
        }
        found.extend(values.ok().map(|values| (index, values)));
    }
    for (place, field) in schema.into_iter().enumerate() {
        let name = field.name.clone();
        let column = column_of(run, call.target.level, field, rows.len());
        for (index, values) in &mut found {
            if parts
                .get(index)
                .is_some_and(|failed| failed.contains(&name.as_str()))
            {
                continue;
            }
            column.values[*index] = values
                .get_mut(place)
                .map(std::mem::take)
                .unwrap_or_default();
            column.touched[*index] = true;
        }
    }
}

/// Adds what a computation said about a sample to the notes of the run.
fn add_notes(remarks: &Remarks, call: &ExtensionCall, path: &SamplePath, run: &mut ExtensionRun) {
    let sample_paths = || vec![path.to_archive()];
    for (columns, reason) in &remarks.absent {
        let (extension, reason) = (call.extension.clone(), reason.clone());
        RunNote::Absent {
            extension,
            columns: columns.clone(),
            reason,
            samples: 1,
            sample_paths: sample_paths(),
        }
        .add_to(&mut run.notes);
    }
    if let Some(variable) = &remarks.variable {
        RunNote::Variable {
            read: variable.sentence(),
            samples: 1,
            sample_paths: sample_paths(),
        }
        .add_to(&mut run.notes);
    }
}

/// The column `field`, created with nulls when new.
fn column_of(
    run: &mut ExtensionRun,
    level: usize,
    field: FieldSpec,
    rows: usize,
) -> &mut ComputedColumn {
    if run.columns.len() <= level {
        run.columns.resize_with(level + 1, Vec::new);
    }
    let columns = &mut run.columns[level];
    let index = columns
        .iter()
        .position(|column| column.field.name == field.name)
        .unwrap_or_else(|| {
            columns.push(ComputedColumn {
                field,
                values: vec![Value::Null; rows],
                touched: vec![false; rows],
            });
            columns.len() - 1
        });
    &mut columns[index]
}

impl ExtensionRun {
    /// True when there is no new column or field.
    pub fn is_empty(&self) -> bool {
        self.collection.is_empty() && self.columns.iter().all(Vec::is_empty)
    }

    /// The root with the new columns. Tortillas that the caller alone has are changed in place;
    /// others are copied, and unchanged branches stay shared. With `replace`, existing columns are
    /// overwritten, and rows that were not targeted keep their value if the type is the same.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when a column exists and `replace` is false.
    pub fn apply(&self, root: Arc<Tortilla>, replace: bool) -> Result<Arc<Tortilla>> {
        let mut next = vec![0; self.columns.len()];
        let mut schemas: Vec<Option<(Schema, Schema)>> = vec![None; self.columns.len()];
        self.rebuild(root, 0, replace, &mut next, &mut schemas)
    }

    fn rebuild(
        &self,
        mut tortilla: Arc<Tortilla>,
        level: usize,
        replace: bool,
        next: &mut [usize],
        schemas: &mut [Option<(Schema, Schema)>],
    ) -> Result<Arc<Tortilla>> {
        if self.columns.iter().skip(level).all(Vec::is_empty) {
            return Ok(tortilla);
        }
        let columns = self
            .columns
            .get(level)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let first = next[level];
        next[level] += tortilla.samples.len();
        let Tortilla {
            schema: old_schema,
            samples,
        } = Arc::make_mut(&mut tortilla);
        // Siblings that share a schema share the new one too.
        let schema = match &schemas[level] {
            Some((old, new)) if Arc::ptr_eq(old, old_schema) => new.clone(),
            _ => {
                let new = extend_schema(old_schema, columns, replace, level)?;
                schemas[level] = Some((old_schema.clone(), new.clone()));
                new
            }
        };
        let places: Vec<(usize, bool)> = columns
            .iter()
            .map(|column| {
                let place = schema
                    .iter()
                    .position(|field| field.name == column.field.name)
                    .unwrap_or(usize::MAX);
                let same = old_schema
                    .get(place)
                    .is_some_and(|old| same_values(&old.dtype, &column.field.dtype));
                (place, same)
            })
            .collect();
        for (index, sample) in samples.iter_mut().enumerate() {
            let mut values = Vec::with_capacity(schema.len());
            values.extend_from_slice(&sample.values);
            values.resize(schema.len(), Value::Null);
            for (column, &(place, same)) in columns.iter().zip(&places) {
                let touched = column.touched.get(first + index).copied().unwrap_or(false);
                if (touched || !same)
                    && let Some(value) = values.get_mut(place)
                {
                    *value = column
                        .values
                        .get(first + index)
                        .cloned()
                        .unwrap_or_default();
                }
            }
            sample.values = values.into();
            if let Payload::Folder(children) = &mut sample.payload {
                let below = std::mem::take(children);
                *children = self.rebuild(below, level + 1, replace, next, schemas)?;
            }
        }
        *old_schema = schema;
        Ok(tortilla)
    }
}

fn extend_schema(
    old: &Schema,
    columns: &[ComputedColumn],
    replace: bool,
    level: usize,
) -> Result<Schema> {
    let mut fields = old.to_vec();
    for column in columns {
        match fields
            .iter_mut()
            .find(|field| field.name == column.field.name)
        {
            None => fields.push(column.field.clone()),
            Some(field) if replace => *field = column.field.clone(),
            Some(field) => {
                let error =
                    Error::usage(format!("level {level} has a column {} already", field.name));
                return Err(error.hint("replace it (--replace), or remove it first"));
            }
        }
    }
    Ok(fields.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_replaced_dataset_stops_the_run_and_a_changed_file_is_a_failure() {
        let outcome = |path: AssetPath, kind: Kind| {
            let sample = Sample {
                id: "a".into(),
                payload: Payload::asset(path, 1),
                values: Arc::from([]),
            };
            stop_if_replaced::<()>(Err(Error::new(kind, "not read")), &sample).is_err()
        };
        let range = || AssetPath::Range {
            container: Path::new("/a.tacozip").into(),
            offset: 0,
            size: 1,
            stamp: None,
        };
        let file = |path: &str| AssetPath::File(Path::new(path).into());
        assert!(outcome(range(), Kind::Changed) && !outcome(range(), Kind::Format));
        assert!(!outcome(file("https://host/a.tif"), Kind::Changed));
        assert!(!outcome(file("/a.tif"), Kind::Changed));
    }
}
