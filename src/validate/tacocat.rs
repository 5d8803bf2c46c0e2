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
    check_list(index.collection(), &parts, report);
    let rows = rows_by_part(index, &parts, report, ctx)?;
    // Opening remote parts takes requests, so only a deep check does it. Otherwise the ranges are
    // checked for tiling the data.
    if is_remote(index.parts_folder()) && !deep {
        if !index.all_tile(ctx)? {
            let message = tr!(
                "internal:offset and internal:size leave gaps or overlap, so some are not those of \
                    their samples."
            );
            report.add(Rule::ZipOffset, Location::Dataset, message);
        }
        return Ok(());
    }
    let values = if deep {
        Some(IndexRows::read(index, ctx)?)
    } else {
        None
    };
    for (place, part) in parts.iter().enumerate() {
        ctx.check()?;
        ctx.step(1);
        let rows: Vec<&[u32]> = rows.iter().map(|level| level[place].as_slice()).collect();
        let known = report.count(Rule::PartStale);
        check_part(index, part, &rows, deep, report, ctx)?;
        // Rows that are those of other samples have other values.
        if let Some(values) = values
            .as_ref()
            .filter(|_| report.count(Rule::PartStale) == known)
        {
            check_values(index, values, part, report, ctx)?;
        }
    }
    Ok(())
}

/// Compares the values of the index with those of a part that can be read.
fn check_values(
    index: &TacocatReader,
    values: &IndexRows<'_>,
    name: &str,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Ok(part) = separate_transient_error(index.part(name))? else {
        return Ok(());
    };
    // A table that can't be read is reported by the check of the part.
    let Ok(found) = separate_transient_error(values.first_stale(name, &part, ctx))? else {
        return Ok(());
    };
    let Some(stale) = found else { return Ok(()) };
    let message = tr!(
        "{field} is {here} in the index and {there} in {part}: the index is older or newer.",
        field = stale.column.printable_line(),
        here = format!("{:?}", stale.indexed),
        there = format!("{:?}", stale.own),
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
fn check_list(collection: &Collection, parts: &[Arc<str>], report: &mut Report) {
    check_count(collection.get("taco:sources"), report);
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
    let known: HashSet<&str> = listed.iter().copied().collect();
    for part in parts.iter().filter(|part| !known.contains(&***part)) {
        let message = tr!(
            "{part} is not listed, but samples come from it.",
            part = part.printable_line()
        );
        report.add(Rule::PartList, Location::Collection(key.clone()), message);
    }
    let named: HashSet<&str> = parts.iter().map(|part| &**part).collect();
    let mut seen = HashSet::new();
    let names = listed.into_iter();
    for name in names.filter(|name| !named.contains(name) && seen.insert(*name)) {
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
pub fn check_count(sources: Option<&Json>, report: &mut Report) {
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

fn add_count_fault(report: &mut Report, files: usize, key: &str, said: String) {
    let message = tr_n!(
        files,
        "taco:sources counts {said}; it lists {files} file.",
        "taco:sources counts {said}; it lists {files} files.",
        said,
        files
    );
    report.add(
        Rule::PartCount,
        Location::Collection(format!("taco:sources/{key}")),
        message,
    );
}

/// By level and part, the rows of the part.
fn rows_by_part(
    index: &TacocatReader,
    parts: &[Arc<str>],
    report: &mut Report,
    ctx: &JobContext,
) -> Result<Vec<Vec<Vec<u32>>>> {
    let levels = index.levels().count();
    let mut rows = Vec::with_capacity(levels);
    let place: BTreeMap<&str, usize> = parts
        .iter()
        .enumerate()
        .map(|(place, part)| (&**part, place))
        .collect();
    for level in 0..levels {
        ctx.check()?;
        let sources = index.levels().sources(level, ctx)?;
        let mut by_part = vec![Vec::new(); parts.len()];
        for row in 0..sources.rows.len() as u32 {
            match sources
                .part_name(row)
                .and_then(|name| place.get(&*name).copied())
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
        rows.push(by_part);
    }
    Ok(rows)
}

fn check_part(
    index: &TacocatReader,
    name: &str,
    rows: &[&[u32]],
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if let Some(target) = index.part_leads_out(name) {
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
        let mut inner = Report::default();
        super::zip::check(&part, true, &mut inner, ctx)?;
        take_over(name, inner, report);
    }
    let tree = index.levels().skeleton(ctx)?;
    // The reason for an unreadable part is reported by the deep check.
    let Ok(own) = separate_transient_error(part.levels().skeleton(ctx))? else {
        let message =
            tr!("The levels of the part can't be read, so the index can't be compared with it.");
        report.add(Rule::PartStale, part_location(name), message);
        return Ok(());
    };
    for (level, rows) in rows.iter().enumerate() {
        let count = own.levels.get(level).map_or(0, |level| level.len());
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
        let mut wrong = Vec::new();
        for (place, &row) in rows.iter().enumerate() {
            if place % 4096 == 0 {
                ctx.check()?;
            }
            let path = tree.path(level, row);
            if own.path(level, place as u32) != path {
                let here = Location::Sample { level, row, path };
                let message = tr!(
                    "Row {row} of level{level} in {part} is another sample: the index is older or \
                        newer.",
                    row = place,
                    level,
                    part = name
                );
                report.add(Rule::PartStale, here, message);
                break;
            }
            let Ok(member) = part.member_name(level, place as u32) else {
                continue;
            };
            let right = match positions.range(row) {
                Some((offset, size)) => part.is_data_of(&member, offset, size)?,
                None => false,
            };
            if !right {
                wrong.push((place as u32, row, member));
            }
        }
        if let Some(finding) = wrong_positions(index, &part, name, level, &wrong, ctx)? {
            report.push(finding);
        }
    }
    Ok(())
}

/// A single finding for all rows of a level with wrong ranges, as an index over a part with wrong
/// ranges has them in every row.
fn wrong_positions(
    index: &TacocatReader,
    part: &ZipReader,
    name: &str,
    level: usize,
    wrong: &[(u32, u32, String)],
    ctx: &JobContext,
) -> Result<Option<Finding>> {
    let Some((_, first, _)) = wrong.first() else {
        return Ok(None);
    };
    let positions = index.levels().positions(level, ctx)?;
    let own: HashSet<(u64, u64)> = wrong
        .iter()
        .filter_map(|(_, _, member)| part.member_range(member).ok())
        .collect();
    // The ranges belong to other samples of the part.
    let swapped = level > 0
        && wrong.iter().all(|(_, row, _)| {
            positions
                .range(*row)
                .is_some_and(|range| own.contains(&range))
        });
    let rule = if swapped {
        Rule::ZipOffsetOther
    } else {
        Rule::ZipOffset
    };
    let path = index.levels().skeleton(ctx)?.path(level, *first);
    let message = tr_n!(
        wrong.len(),
        "internal:offset and internal:size of level{level} of {path} are not those of the samples' \
            bytes in {part}.",
        "internal:offset and internal:size of level{level} of {n} samples, {path} the first, are \
            not those of the samples' bytes in {part}.",
        level,
        n = wrong.len(),
        path,
        part = name
    );
    Ok(Some(Finding::new(rule, part_location(name), message)))
}

/// Adds the findings of a part to the report, with one finding for each rule about ranges. `inner`
/// is not folded, so that its counts are added too.
pub fn take_over(part: &str, mut inner: Report, report: &mut Report) {
    let mut positions: BTreeMap<Rule, (usize, Finding)> = BTreeMap::new();
    for finding in inner.findings {
        if matches!(finding.rule, Rule::ZipOffset | Rule::ZipOffsetOther) {
            positions
                .entry(finding.rule)
                .or_insert_with(|| (0, finding))
                .0 += 1;
        } else {
            report.push(convert_part_finding(part, finding));
        }
    }
    for (rule, (stored, mut finding)) in positions {
        let count = stored + inner.more.remove(&rule).unwrap_or_default();
        if count > 1 {
            finding.message.push(' ');
            finding
                .message
                .push_str(&tr!("This applies to {count} samples of this part.", count));
        }
        report.push(convert_part_finding(part, finding));
    }
    report.absorb(Report {
        more: inner.more,
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
    fn findings_of_a_part_that_were_only_counted_are_taken_over() {
        let mut inner = Report::default();
        for row in 0..FINDINGS_KEPT + 500 {
            inner.add(Rule::ZipOffset, Location::Level(row % 3), "Wrong.");
            inner.add(Rule::ZipCrc, Location::Level(row % 3), "Damaged.");
        }
        let mut report = Report::default();
        take_over("a.tacozip", inner, &mut report);
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
        check_list(&collection, &[Arc::from("own.tacozip")], &mut report);
        let found: Vec<&str> = report
            .findings
            .iter()
            .filter_map(|finding| finding.message.split(' ').next())
            .collect();
        assert_eq!(found, names);
    }
}
