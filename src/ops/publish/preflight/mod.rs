//! The checks before a publication, each of which returns one [`PublishCheck`]. Writes nothing, and
//! only reads from the target.

mod collection_checks;
mod name_order;
mod private_texts;

use std::collections::BTreeSet;
use std::path::Path;

use arrow::datatypes::DataType;
use collection_checks::{description, extent, licence, providers};
use private_texts::{PrivateTexts, has_text, look_at_collection, look_at_text, texts_of};
use serde_json::Value as Json;

use super::check::{CheckKind, CheckLevel, Mend, PublishCheck};
use super::contents::PublishedContents;
use super::cost::Cost;
use super::layout::PublishLayout;
use super::private_text::{KINDS, PrivateText};
use super::request::{PublishRequest, is_plain_in_address};
use super::target::TargetState;
use crate::container::{ContainerReader, Physical};
use crate::error::{Kind, Result};
use crate::extensions::{Leakage, LeakageRequest};
use crate::jobs::JobContext;
use crate::model::{
    Collection, Profile, Report, SampleKind, Severity, SkeletonLevel, Value, is_remote,
};
use crate::ops::table_layout::{Advice, table_layouts};
use crate::ops::{ColumnSummary, SummaryRequest, leakage_of_container, level_summary};
use crate::text::PrintableLine;
use crate::validate::{self, CheckOptions};
use name_order::find_unsorted_pair;

/// Size in bytes above which a file is reported, as an interrupted transfer is expensive to repeat.
const LARGE: u64 = 5 << 30;
/// Mean size in bytes below which many parts are reported, as each costs readers requests.
const SMALL: u64 = 8 << 20;
/// Number of parts up to which small parts are not reported.
const FEW: usize = 100;
/// Share of the most frequent class below which a class is reported as rare.
const RARE: f64 = 0.01;
/// Names of class columns, compared with the part of a name after its last colon.
const CLASS_COLUMNS: [&str; 8] = [
    "class",
    "classes",
    "label",
    "labels",
    "category",
    "class_name",
    "label_name",
    "land_cover",
];
/// Columns with statistics of rasters.
const STATISTICS: [&str; 2] = ["geotiff:stats", "stats:mean"];
/// Columns that the reader of several files generates; no file contains them.
const MADE: [&str; 2] = ["internal:source_path", "internal:gdal_vsi"];
/// Maximum number of names that a check lists.
const MAX_LISTED: usize = 5;

/// Input of the checks.
pub(super) struct Subject<'a> {
    pub request: &'a PublishRequest,
    pub reader: &'a dyn ContainerReader,
    pub contents: &'a PublishedContents,
    /// Names of all files below the target, in the order in which they are sent.
    pub names: &'a [String],
    /// State of the target, or the reason why it can't be used.
    pub target: &'a Result<TargetState>,
    pub cost: &'a Cost,
}

impl Subject<'_> {
    /// All checks, in the order of [`CheckKind::ALL`].
    ///
    /// # Errors
    /// When the dataset can't be read, or the job is cancelled.
    pub fn checks(&self, ctx: &JobContext) -> Result<Vec<PublishCheck>> {
        let collection = self.reader.collection();
        let mut checks = Vec::new();
        ctx.stage(tr!("Checking the rules"), None);
        for (kind, profile) in [
            (CheckKind::ToolsRules, Profile::Tools),
            (CheckKind::SpecRules, Profile::Spec),
        ] {
            let options = CheckOptions {
                profile,
                ..CheckOptions::default()
            };
            checks.push(rules(
                kind,
                &validate::container_with(self.reader, &options, ctx)?,
            ));
        }
        checks.extend([
            licence(collection),
            providers(collection),
            description(collection),
            extent(collection),
        ]);
        ctx.stage(tr!("Looking at the columns"), None);
        let columns = self.columns();
        checks.extend([
            self.check_descriptions(&columns),
            self.statistics(&columns),
            self.classes(&columns, ctx)?,
        ]);
        ctx.stage(tr!("Looking for private texts"), None);
        checks.extend(self.private(ctx)?);
        ctx.stage(tr!("Looking for leaks"), None);
        checks.push(self.leakage(&columns, ctx)?);
        checks.extend([
            self.file_names(),
            self.sizes(),
            self.tables(),
            self.target_check(),
            self.version(),
        ]);
        checks.push(self.costs());
        for check in &mut checks {
            if check.level == CheckLevel::Blocks
                && check.kind.may_be_accepted()
                && self.request.accept.contains(&check.kind)
            {
                (check.level, check.accepted) = (CheckLevel::Warning, true);
            }
        }
        Ok(checks)
    }

    /// Row groups and order of the level tables, from their footers.
    fn tables(&self) -> PublishCheck {
        let kind = CheckKind::Tables;
        let layouts = table_layouts(self.reader);
        let rows = layouts.iter().map(|layout| layout.rows).max().unwrap_or(0);
        let advice: Vec<(usize, Vec<Advice>)> = layouts
            .iter()
            .map(|layout| (layout.level, layout.advice()))
            .filter(|(_, advice)| !advice.is_empty())
            .collect();
        if advice.is_empty() {
            let groups: usize = layouts.iter().map(|layout| layout.groups).sum();
            return PublishCheck::pass(kind, tr!("Row groups of the level tables suit readers"))
                .figure(groups.to_string());
        }
        let places = advice
            .iter()
            .flat_map(|(level, list)| list.iter().map(move |one| write_level_advice(*level, one)));
        PublishCheck::warning(
            kind,
            tr!("Large level tables are slow to filter as they are"),
            Mend::Tables,
        )
        .figure(rows.to_string())
        .at_places(places)
    }

    /// Columns of the levels that are not internal, as (level, name, type).
    fn columns(&self) -> Vec<(usize, String, DataType)> {
        let levels = self.reader.levels();
        let mut columns = Vec::new();
        for level in 0..levels.count() {
            for field in levels.fields(level) {
                if !field.name.starts_with("internal:") {
                    columns.push((level, field.name, field.dtype));
                }
            }
        }
        columns
    }

    fn check_descriptions(&self, columns: &[(usize, String, DataType)]) -> PublishCheck {
        let kind = CheckKind::Columns;
        let own: Vec<_> = columns
            .iter()
            .filter(|(_, name, _)| !["id", "type", "path"].contains(&name.as_str()))
            .collect();
        let collection = self.reader.collection();
        let without: Vec<_> = own
            .iter()
            .filter(|(level, name, _)| collection.column_description(*level, name).is_none())
            .collect();
        let (n, all) = (without.len(), own.len());
        match without.first() {
            None => PublishCheck::pass(kind, tr!("Every column has a description"))
                .figure(all.to_string()),
            Some((level, name, _)) => {
                let message = tr_n!(
                    n,
                    "{n} of {all} columns has no description",
                    "{n} of {all} columns have no description",
                    n,
                    all
                );
                let places = without
                    .iter()
                    .map(|(level, name, _)| format!("level{level} {name}"));
                PublishCheck::warning(
                    kind,
                    message,
                    Mend::Column {
                        level: *level,
                        name: name.clone(),
                    },
                )
                .at_places(places)
            }
        }
    }

    fn statistics(&self, columns: &[(usize, String, DataType)]) -> PublishCheck {
        let kind = CheckKind::Statistics;
        let found = columns
            .iter()
            .find(|(_, name, _)| STATISTICS.contains(&name.as_str()));
        match found {
            Some((level, name, _)) => {
                PublishCheck::pass(kind, tr!("Statistics of the rasters are present"))
                    .figure(format!("level{level} {name}"))
            }
            None => {
                let message = tr!(
                    "No level has statistics of the rasters: readers have to read all pixels to \
                        normalise them"
                );
                PublishCheck::warning(kind, message, Mend::Extension("stats".into()))
            }
        }
    }

    fn classes(
        &self,
        columns: &[(usize, String, DataType)],
        ctx: &JobContext,
    ) -> Result<PublishCheck> {
        let kind = CheckKind::Classes;
        let found = columns.iter().find(|(_, name, dtype)| {
            is_class_column(name) && !dtype.is_nested() && !dtype.is_floating()
        });
        if let Some((level, name, _)) = found {
            let request = SummaryRequest {
                level: *level,
                column: name.clone(),
            };
            return Ok(balance(
                &level_summary(self.reader, &request, None, ctx)?,
                *level,
            ));
        }
        let collection = self.reader.collection();
        let tasks = collection
            .get("tasks")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str);
        let needs = tasks
            .into_iter()
            .find(|task| task.contains("classification") || task.contains("segmentation"));
        let has_shares = columns.iter().any(|(_, name, _)| name == STATISTICS[0]);
        Ok(match needs {
            None => PublishCheck::pass(kind, tr!("No task with classes")),
            Some(_) if has_shares => {
                PublishCheck::pass(kind, tr!("Shares of the classes are in the statistics"))
                    .figure(STATISTICS[0])
            }
            Some(task) => {
                let message = tr!(
                    "The task is {task}, and no column states classes or their shares",
                    task
                );
                PublishCheck::warning(kind, message, Mend::Extension("stats".into()))
            }
        })
    }

    /// Checks every text of the collection and the levels for private content.
    fn private(&self, ctx: &JobContext) -> Result<Vec<PublishCheck>> {
        let recogniser = PrivateText::of_environment();
        let mut found = PrivateTexts::default();
        self.collections(
            &mut |collection| look_at_collection(collection, &recogniser, &mut found),
            ctx,
        )?;
        let is_made = |name: &str| {
            matches!(self.reader.physical(), Physical::Joined(_)) && MADE.contains(&name)
        };
        let levels = self.reader.levels();
        for level in 0..levels.count() {
            for field in levels
                .fields(level)
                .into_iter()
                .filter(|field| has_text(&field.dtype) && !is_made(&field.name))
            {
                let table = levels.columns(level, &[&field.name], ctx)?;
                let Some(column) = table.column_index(&field.name) else {
                    continue;
                };
                for row in 0..table.rows() {
                    if row % 4096 == 0 {
                        ctx.check()?;
                    }
                    let mut look = |text: &str| {
                        look_at_text(text, (level, &field.name), &recogniser, &mut found)
                    };
                    match table.value(row, column) {
                        Value::Null => {}
                        Value::Text(text) => look(&text),
                        _ => {
                            if let Some((array, row)) = table.locate(row, column) {
                                texts_of(&crate::table::cell_json(array, row), &mut look);
                            }
                        }
                    }
                }
            }
        }
        Ok(KINDS.into_iter().map(|kind| found.check(kind)).collect())
    }

    /// Calls `look` with the collection of the dataset and of each part.
    fn collections(&self, look: &mut dyn FnMut(&Collection), ctx: &JobContext) -> Result<()> {
        look(self.reader.collection());
        match self.reader.physical() {
            Physical::Tacocat(index) => {
                for name in &*index.part_names(ctx)? {
                    ctx.check()?;
                    look(index.part(name)?.collection());
                }
            }
            Physical::Joined(joined) => {
                for part in 0..joined.datasets().len() {
                    ctx.check()?;
                    look(joined.dataset(part, ctx)?.collection());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn leakage(
        &self,
        columns: &[(usize, String, DataType)],
        ctx: &JobContext,
    ) -> Result<PublishCheck> {
        let kind = CheckKind::Leakage;
        let request = LeakageRequest::default();
        if !columns.iter().any(|(_, name, _)| *name == request.column) {
            return Ok(PublishCheck::pass(kind, tr!("The dataset has no split")));
        }
        let found = match leakage_of_container(self.reader, &request, ctx) {
            // The column names no part.
            Err(error) if error.kind() == Kind::Usage => Leakage {
                unknown: vec![error.sentence()],
                complete: true,
                ..Leakage::default()
            },
            found => found?,
        };
        let parts = found
            .parts
            .iter()
            .map(|part| format!("{} {}", part.name, part.samples))
            .collect::<Vec<_>>()
            .join(", ");
        let check = if !found.content.is_empty() {
            PublishCheck::blocks(
                kind,
                tr!("Parts of the split have samples with the same bytes"),
                Mend::Split,
            )
        } else if found.leaks() {
            PublishCheck::warning(
                kind,
                tr!("Parts of the split cover the same ground"),
                Mend::Split,
            )
        } else if found.unknown.is_empty() && found.complete {
            PublishCheck::pass(kind, tr!("Parts of the split share no ground and no bytes"))
        } else {
            PublishCheck::pass(kind, tr!("No leak was found in what could be compared"))
                .at_places(found.unknown.iter().cloned())
        };
        Ok(check.figure(parts).at_places(found.lines()))
    }

    fn file_names(&self) -> PublishCheck {
        let kind = CheckKind::Names;
        let data: Vec<&str> = self
            .contents
            .data
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        if self.contents.has_parts
            && let Some((one, other)) = find_unsorted_pair(&data)
        {
            let message = tr!(
                "Names of parts sort as {one}, {other}: write their numbers with leading zeros",
                one,
                other
            );
            return PublishCheck::warning(kind, message, Mend::Parts);
        }
        // Only the first component is chosen by the user; names below it follow from the format.
        let folder = |name: &&str| name.split('/').next().unwrap_or_default().to_owned();
        let tops: BTreeSet<String> = data.iter().map(folder).collect();
        if let Some(odd) = tops.iter().find(|name| !is_plain_in_address(name)) {
            let message = tr!(
                "The name {odd} has letters that addresses have to encode: use a-z, 0-9, . _ and -",
                odd = odd.printable_line()
            );
            return PublishCheck::warning(kind, message, Mend::Parts);
        }
        if !self.contents.left_out.is_empty() {
            let left = self
                .contents
                .left_out
                .iter()
                .take(MAX_LISTED)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            return PublishCheck::warning(
                kind,
                tr!(
                    "Files that are no part of the dataset stay behind: {left}",
                    left
                ),
                Mend::Parts,
            );
        }
        PublishCheck::pass(kind, tr!("Names of files sort, and need no encoding"))
    }

    fn sizes(&self) -> PublishCheck {
        let kind = CheckKind::Sizes;
        let data = &self.contents.data;
        let total: u64 = data.iter().map(|file| file.size_bytes).sum();
        let largest = data.iter().max_by_key(|file| file.size_bytes);
        let (largest, name) = largest.map_or((0, ""), |file| (file.size_bytes, file.name.as_str()));
        let figure = tr!("largest {size}", size = size_text(largest));
        let limits = self.request.layout.limits(&self.request.target);
        let (count, limit) = (self.names.len() as u64, size_text(limits.file_bytes));
        if largest > limits.file_bytes {
            let message = tr!(
                "{name} is larger than {limit}, the most that the target takes",
                name,
                limit
            );
            return PublishCheck::blocks(kind, message, Mend::Parts).figure(figure);
        }
        if let Some(most) = limits.files.filter(|most| count > *most) {
            let message = tr!("{count} files, and the target takes {most}", count, most);
            return PublishCheck::blocks(kind, message, Mend::Parts).figure(figure);
        }
        if let Some(most) = limits.total_bytes.filter(|most| total > *most) {
            let message = tr!(
                "{size} in all, and the target takes {most}",
                size = size_text(total),
                most = size_text(most)
            );
            return PublishCheck::blocks(kind, message, Mend::Parts).figure(figure);
        }
        if largest > LARGE.min(limits.recommended_bytes) {
            let limit = size_text(LARGE.min(limits.recommended_bytes));
            let message = tr!(
                "{name} is larger than {limit}: a transfer that breaks is long, and stores copy it \
                    in parts",
                name,
                limit
            );
            return PublishCheck::warning(kind, message, Mend::Parts).figure(figure);
        }
        let parts = data.len();
        if self.contents.has_parts && parts > FEW && total / (parts as u64) < SMALL {
            let message = tr!(
                "{parts} parts of {size} on average: each costs readers requests",
                parts,
                size = size_text(total / parts as u64)
            );
            return PublishCheck::warning(kind, message, Mend::Parts).figure(figure);
        }
        PublishCheck::pass(
            kind,
            tr!("Files have sizes that stores and readers handle well"),
        )
        .figure(figure)
    }

    fn target_check(&self) -> PublishCheck {
        let kind = CheckKind::Target;
        let place = self.request.target.display().to_string();
        if self.request.layout != PublishLayout::Store && is_remote(&self.request.target) {
            let message = tr!(
                "The files of {layout} are written to a local folder",
                layout = self.request.layout.title()
            );
            return PublishCheck::blocks(kind, message, Mend::Target).figure(place);
        }
        let state = match self.target {
            Ok(state) => state,
            Err(error) => {
                return PublishCheck::blocks(kind, error.report().replace('\n', " "), Mend::Target)
                    .figure(place);
            }
        };
        if let Some(inside) = self.source_in_target() {
            let message = tr!("The dataset itself is in the target: {path}", path = inside);
            return PublishCheck::blocks(kind, message, Mend::Target).figure(place);
        }
        let own: BTreeSet<&str> = self.names.iter().map(String::as_str).collect();
        let others: Vec<&String> = state
            .names
            .iter()
            .filter(|name| !own.contains(name.as_str()))
            .collect();
        let (n, left) = (others.len(), state.names.len() - others.len());
        if n > 0 {
            let message = tr_n!(
                n,
                "The target has {n} other file",
                "The target has {n} other files",
                n
            );
            return PublishCheck::warning(kind, message, Mend::Target)
                .figure(place)
                .at_places(others.into_iter().take(MAX_LISTED).cloned());
        }
        if left > 0 && state.published.is_none() {
            let message = tr_n!(
                left,
                "{left} file of a publication that did not finish is kept where its bytes are the \
                    same",
                "{left} files of a publication that did not finish are kept where their bytes are \
                    the same",
                left
            );
            return PublishCheck::pass(kind, message).figure(place);
        }
        match left {
            0 => PublishCheck::pass(kind, tr!("The target is empty")).figure(place),
            _ => PublishCheck::pass(kind, tr!("The target has a publication of this dataset"))
                .figure(place),
        }
    }

    /// A file of the dataset that is inside the target.
    fn source_in_target(&self) -> Option<String> {
        if is_remote(&self.request.target) {
            return None;
        }
        let target = crate::files::canonical(&self.request.target).ok()?;
        let inside =
            |path: &Path| crate::files::canonical(path).is_ok_and(|path| path.starts_with(&target));
        let all = self.contents.data.iter().chain(&self.contents.first_read);
        all.into_iter()
            .find(|file| inside(&file.path))
            .map(|file| file.path.display().to_string())
    }

    fn version(&self) -> PublishCheck {
        let kind = CheckKind::Version;
        let (id, version) = (
            self.reader.collection().id(),
            self.reader.collection().text("dataset_version"),
        );
        let Some(published) = self
            .target
            .as_ref()
            .ok()
            .and_then(|state| state.published.as_ref())
        else {
            return PublishCheck::pass(kind, tr!("The version was not published there before"))
                .figure(version);
        };
        let mend = Mend::Field("dataset_version".into());
        let (check, message) = match (published.id == id, published.version == version) {
            (true, true) => (
                mend,
                tr!(
                    "Version {version} was published there before: raise dataset_version",
                    version
                ),
            ),
            (true, false) => {
                let message = tr!(
                    "Version {old} is published there: give each version a folder of its own",
                    old = published.version
                );
                (Mend::Target, message)
            }
            (false, _) => (
                Mend::Target,
                tr!(
                    "Another dataset is published there: {id} {version}",
                    id = published.id,
                    version = published.version
                ),
            ),
        };
        let made = if self.request.overwrite {
            PublishCheck::warning(kind, message, check)
        } else {
            PublishCheck::blocks(kind, message, check)
        };
        made.figure(version)
    }

    fn costs(&self) -> PublishCheck {
        let kind = CheckKind::Cost;
        let figure = format!("${:.2}", self.cost.month);
        match self.cost.rates.limit_month {
            Some(limit) if self.cost.is_above_limit() => {
                let message = tr!(
                    "A month costs more than your limit of ${limit}",
                    limit = format!("{limit:.2}")
                );
                PublishCheck::warning(kind, message, Mend::Prices).figure(figure)
            }
            Some(limit) => PublishCheck::pass(
                kind,
                tr!(
                    "A month costs less than your limit of ${limit}",
                    limit = format!("{limit:.2}")
                ),
            )
            .figure(figure),
            None => PublishCheck::pass(kind, tr!("Estimated cost of a month")).figure(figure),
        }
    }
}

fn rules(kind: CheckKind, report: &Report) -> PublishCheck {
    let (errors, warnings) = (report.errors(), report.warnings());
    let spec = kind == CheckKind::SpecRules;
    if errors > 0 {
        let n = errors;
        let message = if spec {
            tr_n!(
                n,
                "{n} rule of the specification is broken",
                "{n} rules of the specification are broken",
                n
            )
        } else {
            tr_n!(
                n,
                "{n} rule of the official tools is broken",
                "{n} rules of the official tools are broken",
                n
            )
        };
        return PublishCheck::blocks(kind, message, Mend::Findings)
            .at_places(list_findings(report, Severity::Error));
    }
    if warnings > 0 {
        let n = warnings;
        let message = if spec {
            tr_n!(
                n,
                "{n} warning by the specification",
                "{n} warnings by the specification",
                n
            )
        } else {
            tr_n!(
                n,
                "{n} warning by the official tools",
                "{n} warnings by the official tools",
                n
            )
        };
        return PublishCheck::warning(kind, message, Mend::Findings)
            .at_places(list_findings(report, Severity::Warning));
    }
    PublishCheck::pass(
        kind,
        if spec {
            tr!("Rules of the specification hold")
        } else {
            tr!("Rules of the official tools hold")
        },
    )
}

/// The first findings of a severity.
fn list_findings(report: &Report, severity: Severity) -> impl Iterator<Item = String> {
    let findings = report.findings.iter();
    findings
        .filter(move |finding| finding.severity == severity)
        .take(MAX_LISTED)
        .map(|finding| format!("{} at {}: {}", finding.rule, finding.at, finding.message))
}

fn write_level_advice(level: usize, advice: &Advice) -> String {
    let advice = advice.sentence();
    tr!("level {level}: {advice}", level, advice)
}

fn is_class_column(name: &str) -> bool {
    let own = name.rsplit(':').next().unwrap_or(name);
    CLASS_COLUMNS.contains(&own.to_lowercase().as_str())
}

/// The balance of a column of classes.
fn balance(summary: &ColumnSummary, level: usize) -> PublishCheck {
    let kind = CheckKind::Classes;
    let place = format!("level{level} {}", summary.name);
    let rows = summary.rows.saturating_sub(summary.nulls).max(1);
    let shares: Vec<String> = summary
        .top
        .iter()
        .map(|(class, count)| {
            format!(
                "{class}: {count} ({:.1} %)",
                *count as f64 * 100.0 / rows as f64
            )
        })
        .collect();
    let n = summary.distinct.unwrap_or(summary.top.len() as u64);
    let check = match (summary.top.first(), summary.top.last()) {
        (Some((common, most)), Some((rare, least))) if (*least as f64) < *most as f64 * RARE => {
            let message = tr!(
                "Class {rare} has {least} samples, class {common} has {most}",
                rare,
                least,
                common,
                most
            );
            PublishCheck::warning(
                kind,
                message,
                Mend::Column {
                    level,
                    name: summary.name.clone(),
                },
            )
        }
        _ => PublishCheck::pass(
            kind,
            tr_n!(
                n,
                "{n} class, with its share",
                "{n} classes, with their shares",
                n
            ),
        ),
    };
    check.figure(place).at_places(shares)
}

/// A size as text, in decimal units (kB, MB, GB).
pub(super) fn size_text(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 1000.0 {
            return if unit == "B" {
                format!("{size:.0} {unit}")
            } else {
                format!("{size:.1} {unit}")
            };
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// Number of FILEs, each of which a full read requests.
pub(super) fn files_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<u64> {
    let tree = reader.levels().skeleton(ctx)?;
    Ok(tree.levels.iter().map(count_files).sum())
}

fn count_files(level: &SkeletonLevel) -> u64 {
    (0..level.len() as u32)
        .filter(|&row| level.kind(row) == SampleKind::File)
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_class_is_told() {
        let summary = |top: &[(&str, u64)]| ColumnSummary {
            name: "label".into(),
            type_name: "string".into(),
            rows: top.iter().map(|(_, count)| count).sum(),
            nulls: 0,
            distinct: Some(top.len() as u64),
            range: None,
            histogram: None,
            top: top
                .iter()
                .map(|(class, count)| ((*class).to_owned(), *count))
                .collect(),
        };
        let even = balance(&summary(&[("water", 60), ("land", 40)]), 0);
        assert_eq!(
            (even.level, even.places[0].as_str()),
            (CheckLevel::Pass, "water: 60 (60.0 %)")
        );
        assert_eq!(
            balance(&summary(&[("water", 9999), ("land", 1)]), 0).level,
            CheckLevel::Warning
        );
    }
}
