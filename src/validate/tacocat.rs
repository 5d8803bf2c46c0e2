//! Checks a TACOCAT against its parts (TACO 2.0, section 6.5): every part exists, and the index has
//! its rows and byte ranges. A deep check reads every part completely.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::container::{ContainerReader, IndexRows, TacocatReader, ZipReader};
use crate::error::{Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{Collection, Finding, Location, Report, Rule, is_remote};
use crate::text::PrintableLine;

/// Checks the list of parts, rows and byte ranges; with `deep` the parts too.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check(
    index: &TacocatReader,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let parts = index.part_names(ctx)?;
    ctx.stage(tr!("Checking the parts"), Some(parts.len() as u64));
    check_part_list(index.collection(), &parts, report);
    let rows = group_rows_by_part(index, &parts, report, ctx)?;
    // Opening remote parts takes requests, so only a deep check does it. Otherwise the ranges are
    // checked for tiling the data.
    if is_remote(index.parts_folder()) && !deep {
        if !index.all_ranges_tile(ctx)? {
            let message = tr!(
                "internal:offset and internal:size leave gaps or overlap, so some are not those of \
                    their samples."
            );
            report.add(Rule::ZipOffset, Location::Dataset, message);
        }
        return Ok(());
    }
    let indexed_values = if deep {
        Some(IndexRows::read(index, ctx)?)
    } else {
        None
    };
    for (number, part) in parts.iter().enumerate() {
        ctx.check()?;
        ctx.step(1);
        let part_rows: Vec<&[u32]> = rows.iter().map(|level| level[number].as_slice()).collect();
        let stale_before = report.count(Rule::PartStale);
        check_part(index, part, &part_rows, deep, report, ctx)?;
        // Rows of other samples have other values, which would be reported once more.
        if let Some(indexed_values) = indexed_values
            .as_ref()
            .filter(|_| report.count(Rule::PartStale) == stale_before)
        {
            check_values(index, indexed_values, part, report, ctx)?;
        }
    }
    Ok(())
}

/// Compares the values of the index with those of a part that can be read.
fn check_values(
    index: &TacocatReader,
    indexed_values: &IndexRows<'_>,
    name: &str,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Ok(part) = separate_transient_error(index.part(name))? else {
        return Ok(());
    };
    // A table that can't be read is reported by the check of the part.
    let Ok(found) = separate_transient_error(indexed_values.find_stale_value(name, &part, ctx))?
    else {
        return Ok(());
    };
    let Some(stale) = found else { return Ok(()) };
    let message = tr!(
        "{field} is {here} in the index and {there} in {part}: the index is older or newer.",
        field = stale.column.printable_line(),
        here = format!("{:?}", stale.indexed),
        there = format!("{:?}", stale.stored),
        part = name.printable_line()
    );
    report.add(
        Rule::PartStale,
        Location::Sample {
            level: stale.level,
            row: stale.row,
            path: stale.path,
        },
        message,
    );
    Ok(())
}

fn part_location(part: &str) -> Location {
    Location::Member(part.printable_line().to_string())
}

/// Compares the list in the collection, in either tool's form, with the parts that rows refer to.
fn check_part_list(collection: &Collection, parts: &[Arc<str>], report: &mut Report) {
    check_source_counts(collection.get("taco:sources"), report);
    let Some((key, listed)) = find_part_list(collection, "taco:sources", "files")
        .or_else(|| find_part_list(collection, "_tacocat", "dataset_sources"))
    else {
        let message = tr!("COLLECTION.json has no taco:sources with the list of parts.");
        return report.add(
            Rule::PartList,
            Location::Collection("taco:sources".into()),
            message,
        );
    };
    let listed: Vec<&str> = listed.iter().filter_map(|name| name.as_str()).collect();
    let listed_names: HashSet<&str> = listed.iter().copied().collect();
    let unlisted = parts.iter();
    for part in unlisted.filter(|part| !listed_names.contains(&***part)) {
        let message = tr!(
            "{part} is not listed, but samples come from it.",
            part = part.printable_line()
        );
        report.add(Rule::PartList, Location::Collection(key.clone()), message);
    }
    let used_names: HashSet<&str> = parts.iter().map(|part| &**part).collect();
    let mut reported = HashSet::new();
    let unused = listed.into_iter();
    for name in unused.filter(|name| !used_names.contains(name) && reported.insert(*name)) {
        let message = tr!(
            "{part} is listed, but no sample comes from it.",
            part = name.printable_line()
        );
        report.add(Rule::PartList, Location::Collection(key.clone()), message);
    }
}

fn find_part_list<'a>(
    collection: &'a Collection,
    key: &str,
    list: &str,
) -> Option<(String, &'a Vec<Json>)> {
    Some((
        format!("{key}/{list}"),
        collection.get(key)?.get(list)?.as_array()?,
    ))
}

/// Checks that `taco:sources` counts the files that it lists, and has as many ids and extents.
pub fn check_source_counts(sources: Option<&Json>, report: &mut Report) {
    let Some((sources, files)) =
        sources.and_then(|sources| Some((sources, sources.get("files")?.as_array()?.len())))
    else {
        return;
    };
    if let Some(count) = sources
        .get("count")
        .filter(|count| !count.is_null() && count.as_u64() != Some(files as u64))
    {
        add_count_fault(report, files, "count", count.to_string());
    }
    for key in ["ids", "extents"] {
        if let Some(list) = sources
            .get(key)
            .and_then(Json::as_array)
            .filter(|list| list.len() != files)
        {
            add_count_fault(report, files, key, format!("{} {key}", list.len()));
        }
    }
}

fn add_count_fault(report: &mut Report, files: usize, key: &str, stated: String) {
    let message = tr_n!(
        files,
        "taco:sources counts {said}; it lists {files} file.",
        "taco:sources counts {said}; it lists {files} files.",
        said = stated,
        files
    );
    report.add(
        Rule::PartCount,
        Location::Collection(format!("taco:sources/{key}")),
        message,
    );
}

/// The rows of each part on each level, as `[level][part][row]`. Reports rows without a part.
fn group_rows_by_part(
    index: &TacocatReader,
    parts: &[Arc<str>],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<Vec<Vec<Vec<u32>>>> {
    let levels = index.levels().count();
    let mut rows_by_level = Vec::with_capacity(levels);
    let part_numbers: BTreeMap<&str, usize> = parts
        .iter()
        .enumerate()
        .map(|(number, part)| (&**part, number))
        .collect();
    for level in 0..levels {
        ctx.check()?;
        let sources = index.levels().row_parts(level, ctx)?;
        let mut by_part = vec![Vec::new(); parts.len()];
        for row in 0..sources.rows.len() as u32 {
            match sources
                .part_name(row)
                .and_then(|name| part_numbers.get(&*name).copied())
            {
                Some(part) => by_part[part].push(row),
                None => {
                    let message = tr!(
                        "Row {row} of level{level} names no part of level 0 in \
                            internal:source_file.",
                        row,
                        level
                    );
                    report.add(Rule::PartStale, Location::Level(level), message);
                }
            }
        }
        rows_by_level.push(by_part);
    }
    Ok(rows_by_level)
}

/// Compares the rows and byte ranges of an index with one part; `rows` are those of the part on
/// each level. With `deep`, checks the part itself too.
fn check_part(
    index: &TacocatReader,
    name: &str,
    rows: &[&[u32]],
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if let Some(target) = index.link_target_outside(name) {
        let target = target.display().to_string();
        let message = tr!(
            "{part} is a link that leads out of the folder of the parts, to {target}.",
            part = name.printable_line(),
            target = target.printable_line()
        );
        report.add(Rule::FolderLink, part_location(name), message);
        return Ok(());
    }
    let part = match separate_transient_error(index.part(name))? {
        Ok(part) => part,
        Err(error) => {
            report.add(Rule::PartMissing, part_location(name), error.sentence());
            return Ok(());
        }
    };
    if deep {
        let mut part_report = Report::default();
        super::zip::check(&part, true, &mut part_report, ctx)?;
        merge_part_findings(name, part_report, report);
    }
    let index_tree = index.levels().skeleton(ctx)?;
    // The reason for an unreadable part is reported by the deep check.
    let Ok(part_tree) = separate_transient_error(part.levels().skeleton(ctx))? else {
        let message =
            tr!("The levels of the part can't be read, so the index can't be compared with it.");
        report.add(Rule::PartStale, part_location(name), message);
        return Ok(());
    };
    for (level, rows) in rows.iter().enumerate() {
        let count = part_tree.levels.get(level).map_or(0, |level| level.len());
        if rows.len() != count {
            let message = tr_n!(
                rows.len(),
                "The index has {rows} row of level{level} from this part; the part has {count}.",
                "The index has {rows} rows of level{level} from this part; the part has {count}.",
                rows = rows.len(),
                level,
                count
            );
            report.add(Rule::PartStale, part_location(name), message);
            continue;
        }
        let positions = index.levels().positions(level, ctx)?;
        let mut wrong_ranges = Vec::new();
        for (part_row, &row) in rows.iter().enumerate() {
            if part_row % 4096 == 0 {
                ctx.check()?;
            }
            let path = index_tree.path(level, row);
            if part_tree.path(level, part_row as u32) != path {
                let location = Location::Sample { level, row, path };
                let message = tr!(
                    "Row {row} of level{level} in {part} is another sample: the index is older or \
                        newer.",
                    row = part_row,
                    level,
                    part = name
                );
                report.add(Rule::PartStale, location, message);
                break;
            }
            let Ok(member) = part.member_name(level, part_row as u32) else {
                continue;
            };
            let is_range_right = match positions.range(row) {
                Some((offset, size)) => part.is_data_of(&member, offset, size)?,
                None => false,
            };
            if !is_range_right {
                wrong_ranges.push(WrongRange { row, member });
            }
        }
        if let Some(finding) = build_range_finding(index, &part, name, level, &wrong_ranges, ctx)? {
            report.push(finding);
        }
    }
    Ok(())
}

/// A row of an index whose range is not that of its sample in the part.
struct WrongRange {
    /// Row in the index.
    row: u32,
    /// Name of the sample's member in the part.
    member: String,
}

/// A single finding for all rows of a level with wrong ranges, as an index over a part with wrong
/// ranges has them in every row.
fn build_range_finding(
    index: &TacocatReader,
    part: &ZipReader,
    name: &str,
    level: usize,
    wrong_ranges: &[WrongRange],
    ctx: &JobContext,
) -> Result<Option<Finding>> {
    let Some(first) = wrong_ranges.first() else {
        return Ok(None);
    };
    let positions = index.levels().positions(level, ctx)?;
    let member_ranges: HashSet<(u64, u64)> = wrong_ranges
        .iter()
        .filter_map(|wrong| part.member_range(&wrong.member).ok())
        .collect();
    // The ranges belong to other samples of the part.
    let swapped = level > 0
        && wrong_ranges.iter().all(|wrong| {
            positions
                .range(wrong.row)
                .is_some_and(|range| member_ranges.contains(&range))
        });
    let rule = if swapped {
        Rule::ZipOffsetOther
    } else {
        Rule::ZipOffset
    };
    let path = index.levels().skeleton(ctx)?.path(level, first.row);
    let message = tr_n!(
        wrong_ranges.len(),
        "internal:offset and internal:size of level{level} of {path} are not those of the samples' \
            bytes in {part}.",
        "internal:offset and internal:size of level{level} of {n} samples, {path} the first, are \
            not those of the samples' bytes in {part}.",
        level,
        n = wrong_ranges.len(),
        path,
        part = name
    );
    Ok(Some(Finding::new(rule, part_location(name), message)))
}

/// Adds the findings of a part to the report, with one finding for each rule about ranges.
/// `part_report` is not folded, so that its counts are added too.
pub fn merge_part_findings(part: &str, mut part_report: Report, report: &mut Report) {
    // The number of findings of a rule, and the first of them.
    let mut range_findings: BTreeMap<Rule, (usize, Finding)> = BTreeMap::new();
    for finding in part_report.findings {
        if matches!(finding.rule, Rule::ZipOffset | Rule::ZipOffsetOther) {
            range_findings
                .entry(finding.rule)
                .or_insert_with(|| (0, finding))
                .0 += 1;
        } else {
            report.push(convert_part_finding(part, finding));
        }
    }
    for (rule, (stored, mut finding)) in range_findings {
        let count = stored + part_report.more.remove(&rule).unwrap_or_default();
        if count > 1 {
            finding.message.push(' ');
            finding
                .message
                .push_str(&tr!("This applies to {count} samples of this part.", count));
        }
        report.push(convert_part_finding(part, finding));
    }
    report.absorb(Report {
        more: part_report.more,
        ..Report::default()
    });
}

/// Converts a finding of a part to one of the index.
fn convert_part_finding(part: &str, finding: Finding) -> Finding {
    Finding {
        at: Location::Member(format!("{} / {}", part.printable_line(), finding.at)),
        ..finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FINDINGS_KEPT;

    #[test]
    fn counts_of_findings_of_a_part_are_merged() {
        let mut part_report = Report::default();
        for row in 0..FINDINGS_KEPT + 500 {
            part_report.add(Rule::ZipOffset, Location::Level(row % 3), "Wrong.");
            part_report.add(Rule::ZipCrc, Location::Level(row % 3), "Damaged.");
        }
        let mut report = Report::default();
        merge_part_findings("a.tacozip", part_report, &mut report);
        assert_eq!(report.findings.len(), FINDINGS_KEPT + 1);
        let last = report.findings.last().expect("that of the ranges");
        assert_eq!(
            last.message,
            "Wrong. This applies to 1500 samples of this part."
        );
        assert_eq!(report.count(Rule::ZipCrc), FINDINGS_KEPT + 500);
        assert_eq!(report.more.get(&Rule::ZipCrc), Some(&500));
        assert_eq!(report.more.get(&Rule::ZipOffset), None);
    }

    #[test]
    fn stray_parts_are_reported_once_in_the_order_of_the_list() {
        let names: Vec<String> = (0..20)
            .rev()
            .map(|at| format!("part{at}.tacozip"))
            .collect();
        let files = [&names[..], &names[..2], &["own.tacozip".to_owned()]].concat();
        let mut collection = Collection::default();
        let sources = serde_json::json!({ "count": files.len(), "files": files });
        collection.set("taco:sources", Some(sources));
        let mut report = Report::default();
        check_part_list(&collection, &[Arc::from("own.tacozip")], &mut report);
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter_map(|finding| finding.message.split(' ').next())
            .collect();
        assert_eq!(found, names);
    }
}
