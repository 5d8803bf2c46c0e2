//! `export`: a part of a dataset as a dataset of its own. Rows come from ids, filters, a statement
//! that selects ids, and a limit; with a statement the limit takes the first rows of its result.
//! The part keeps the order of the dataset, and the hierarchy below the rows comes along. Fields
//! derived from the tree and the extent are computed again; sample bytes are copied unchanged.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::duplicate_ids;
use super::migrate::assembly_of_rows;
use super::missing_parts::need_all_parts;
use super::operation::{Operation, PathUse, PathVisitor, visit_read_dataset};
use super::tables::tables_of;
use super::write::{warn_of_classes, write_verified};
use crate::container::{
    self, Assembly, BuildOptions, Built, OpenOptions, extent_of_samples, put_extent, tree_order,
};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, release};
use crate::model::{Collection, Report, Severity, Skeleton, SkeletonLevel, in_nfc, is_padding};
use crate::query::{self, Filter, Query, Tables};
use crate::validate;

/// Keys that describe the container that was read and not the subset that is written.
const STALE: [&str; 2] = ["taco:sources", "_tacocat"];

/// Which samples of level 0. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowChoice {
    /// Steps; each works on what the one before it left.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// A statement over what the filters left; the column `id` of its rows names the samples of
    /// level 0. Its order decides which samples `limit` keeps; the order of the samples stays that
    /// of the dataset.
    #[serde(default)]
    pub sql: Option<String>,
    /// Only these samples of level 0.
    #[serde(default)]
    pub ids: Option<Vec<String>>,
    /// Maximum number of samples of level 0: the first in the result of the statement, without one
    /// the first of the dataset.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Samples that are kept beside the chosen ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    /// Placeholders; without them a FOLDER that was filled up has fewer children again.
    pub padding: bool,
    /// After a filter below level 0: all children, not only those that met it.
    pub siblings: bool,
}

/// Writes the selected samples as a dataset of its own. Plain data.
///
/// # Errors
/// For a selection without samples, one that breaks the position-invariant tree (§4), duplicate
/// ids, missing parts, and files that can't be read or written. Then nothing is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it, and what to open along with it.
    #[serde(default)]
    pub open: OpenOptions,
    /// Where and how to write.
    pub options: BuildOptions,
    /// The samples.
    #[serde(flatten)]
    pub rows: RowChoice,
    /// Keep placeholders; without them a FOLDER that was filled up has fewer children again.
    #[serde(default)]
    pub keep_padding: bool,
    /// After a filter below level 0: keep all children of the samples that are left, not only those
    /// that met it.
    #[serde(default)]
    pub keep_siblings: bool,
    /// Put the name of their dataset in front of ids that several datasets share; without it they
    /// are an error.
    #[serde(default)]
    pub prefix_ids: bool,
    /// Go on where parts of a dataset of the first generation are missing.
    #[serde(default)]
    pub allow_missing_parts: bool,
}

impl Operation for ExportRequest {
    type Output = Built;

    fn label(&self) -> String {
        tr!("Export to {path}", path = self.options.target.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
        visit(PathUse::Write, &mut self.options.target);
    }

    fn run(&self, ctx: &JobContext) -> Result<Built> {
        export_subset(self, ctx)
    }
}

fn export_subset(request: &ExportRequest, ctx: &JobContext) -> Result<Built> {
    request.options.refuse_existing_target()?;
    let reader = container::open_with(&request.input, &request.open, ctx)?;
    need_all_parts(reader.as_ref(), request.allow_missing_parts, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    ctx.stage(tr!("Choosing the samples"), None);
    let keeping = Keeping {
        padding: request.keep_padding,
        siblings: request.keep_siblings,
    };
    let keep = choose_rows(
        &request.rows,
        keeping,
        &tables_of(reader.as_ref(), ctx)?,
        &tree,
        ctx,
    )?;
    let ordered: Vec<Vec<bool>> = tree_order(&tree)
        .iter()
        .zip(&keep)
        .map(|(order, keep)| order.iter().map(|&row| keep[row as usize]).collect())
        .collect();
    let mut part = assembly_of_rows(reader.as_ref(), keep.first().map(Vec::as_slice), ctx)?
        .into_subset(&ordered, ctx)?;
    if part.tree.total() == 0 {
        return Err(Error::usage("no sample is left to export")
            .hint("try the same filters with `taco-studio query`"));
    }
    let roots: Vec<u32> = (0u32..)
        .zip(keep.first().into_iter().flatten())
        .filter_map(|(row, keep)| keep.then_some(row))
        .collect();
    duplicate_ids::make_root_ids_unique(
        &mut part,
        &roots,
        reader.as_ref(),
        request.prefix_ids,
        ctx,
    )?;
    check_tree(&part.tree, request)?;
    describe(&mut part, ctx)?;
    check_collection(&part, ctx)?;
    // Its tables have a row for every sample.
    release((reader, tree, keep, ordered));
    write_verified(&part, &request.options, ctx)
}

/// For every level which rows stay, in the order of the tables.
pub(super) fn choose_rows(
    rows: &RowChoice,
    keeping: Keeping,
    tables: &Tables,
    tree: &Skeleton,
    ctx: &JobContext,
) -> Result<Vec<Vec<bool>>> {
    let Some(top) = tree.levels.first() else {
        return Ok(Vec::new());
    };
    let left = query::kept_rows(tables, &rows.filters, ctx)?;
    let mut roots: Vec<bool> = (0..top.len() as u32)
        .map(|row| !is_padding(top.id(row)))
        .collect();
    if let Some(Some(met)) = left.first() {
        let met: HashSet<u32> = met.iter().copied().collect();
        narrow_roots(&mut roots, top, |row, _| met.contains(&row));
    }
    if let Some(ids) = &rows.ids {
        let ids = ids_of_rows(ids, top)?;
        narrow_roots(&mut roots, top, |_, id| ids.contains(id));
    }
    let ranks = rows
        .sql
        .as_ref()
        .map(|sql| ranks_of_ids(rows, sql, tables, ctx))
        .transpose()?;
    if let Some(ranks) = &ranks {
        narrow_roots(&mut roots, top, |_, id| ranks.contains_key(id));
    }
    if let Some(limit) = rows.limit {
        let mut left: Vec<u32> = (0..top.len() as u32)
            .filter(|&row| roots[row as usize])
            .collect();
        if let Some(ranks) = &ranks {
            // Stable: samples of several datasets that share an id keep their order.
            left.sort_by_key(|&row| ranks.get(top.id(row)));
        }
        left.iter()
            .skip(limit)
            .for_each(|&row| roots[row as usize] = false);
    }
    if keeping.padding && roots.contains(&true) {
        (0..top.len())
            .filter(|&row| is_padding(top.id(row as u32)))
            .for_each(|row| roots[row] = true);
    }
    let mut keep = vec![roots];
    for depth in 1..tree.levels.len() {
        ctx.check()?;
        let level = &tree.levels[depth];
        let met: Option<HashSet<u32>> = match left.get(depth) {
            Some(Some(met)) if !keeping.siblings => Some(met.iter().copied().collect()),
            _ => None,
        };
        let above = &keep[depth - 1];
        let mut kept = Vec::with_capacity(level.len());
        for row in 0..level.len() as u32 {
            let parent = level.parents[row as usize] as usize;
            let wanted = if is_padding(level.id(row)) {
                keeping.padding
            } else {
                met.as_ref().is_none_or(|met| met.contains(&row))
            };
            kept.push(wanted && above.get(parent).copied().unwrap_or(false));
        }
        keep.push(kept);
    }
    Ok(keep)
}

/// Drops the rows of level 0 that do not stay, by their number and their id.
fn narrow_roots(roots: &mut [bool], top: &SkeletonLevel, stays: impl Fn(u32, &str) -> bool) {
    for (row, kept) in (0..).zip(roots) {
        *kept = *kept && stays(row, top.id(row));
    }
}

/// The ids of level 0 that `wanted` names: as they are, else in another Unicode form.
fn ids_of_rows<'a>(wanted: &[String], top: &'a SkeletonLevel) -> Result<HashSet<&'a str>> {
    let known: HashSet<&str> = (0..top.len() as u32).map(|row| top.id(row)).collect();
    let by_form = LazyCell::new(|| {
        // Of several ids of one form, the first row's.
        let rows = (0..top.len() as u32).rev().map(|row| top.id(row));
        rows.map(|id| (in_nfc(id), id)).collect::<HashMap<_, _>>()
    });
    let mut found = HashSet::with_capacity(wanted.len());
    for id in wanted {
        let row = known.get(id.as_str()).copied();
        match row.or_else(|| by_form.get(&in_nfc(id)).copied()) {
            Some(id) => found.insert(id),
            None => {
                let error = Error::usage(format!("there is no sample {id} on level 0"));
                return Err(error.hint("list them with `taco-studio read PATH`"));
            }
        };
    }
    Ok(found)
}

/// For every id in the result of the statement, the number of the first row that has it.
fn ranks_of_ids(
    rows: &RowChoice,
    sql: &str,
    tables: &Tables,
    ctx: &JobContext,
) -> Result<HashMap<String, usize>> {
    let query = Query {
        filters: rows.filters.clone(),
        sql: Some(sql.to_owned()),
        ..Query::default()
    };
    let result = query::run(tables, &query, ctx)?;
    let ids = result.table.strings("id")?;
    let ids = ids.ok_or_else(|| {
        Error::usage("the statement gives no column id")
            .hint("write it as SELECT id FROM data WHERE …")
    })?;
    let mut ranks = HashMap::with_capacity(result.table.rows());
    for (row, id) in ids.iter().enumerate() {
        if let Some(id) = id {
            ranks.entry(id.to_owned()).or_insert(row);
        }
    }
    Ok(ranks)
}

fn check_tree(tree: &Skeleton, request: &ExportRequest) -> Result<()> {
    let mut report = Report::default();
    validate::check_tree(tree, None, &mut report);
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let Some(first) = errors.first() else {
        return Ok(());
    };
    let mut error = Error::invalid(
        "the samples that are left do not have the same children any more, so no \
            reader would open them",
    )
    .because(format!("{} at {}: {}", first.rule, first.at, first.message));
    if !request.keep_siblings && request.rows.filters.iter().any(|filter| filter.level > 0) {
        error = error.hint(
            "keep all children of the samples that are left (--keep-siblings), or filter level 0",
        );
    }
    if !request.keep_padding {
        error = error.hint("keep the placeholders (--keep-padding)");
    }
    Err(error)
}

/// A part with a collection that `validate` refuses would be no dataset. Fields derived from the
/// tree are computed again and not checked.
fn check_collection(part: &Assembly, ctx: &JobContext) -> Result<()> {
    let mut report = Report::default();
    validate::check_collection(
        &Collection {
            fields: part.collection.descriptive_fields(),
        },
        &mut report,
    );
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    if errors.is_empty() {
        warn_of_classes(&part.collection.fields, ctx);
        return Ok(());
    }
    let summary = format!(
        "COLLECTION.json breaks {} rules, so readers would refuse the part",
        errors.len()
    );
    let error = Error::invalid(summary)
        .hint("mend the fields in a draft of the dataset, write that, and export from it");
    Err(errors.iter().take(5).fold(error, |error, finding| {
        error.hint(format!(
            "{} at {}: {}",
            finding.rule, finding.at, finding.message
        ))
    }))
}

/// The part says of what it is a part, and its own extent.
fn describe(part: &mut Assembly, ctx: &JobContext) -> Result<()> {
    // Without coordinates nothing better than the old extent is known.
    if let Some(extent) = extent_of_samples(&part.batches(), ctx)? {
        put_extent(&mut part.collection, Some(extent));
    }
    for key in STALE {
        part.collection.set(key, None);
    }
    let of = part.collection.id().to_owned();
    part.collection.set("taco:subset_of", Some(json!(of)));
    let now = stated_time()
        .unwrap_or_else(chrono::Utc::now)
        .to_rfc3339_opts(chrono::SecondsFormat::Micros, false);
    part.collection.set("taco:subset_date", Some(json!(now)));
    Ok(())
}

/// The time that `SOURCE_DATE_EPOCH` states in seconds since 1970, by the convention for outputs
/// that can be made again byte by byte.
fn stated_time() -> Option<chrono::DateTime<chrono::Utc>> {
    chrono::DateTime::from_timestamp(std::env::var("SOURCE_DATE_EPOCH").ok()?.parse().ok()?, 0)
}
