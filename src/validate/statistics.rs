//! Checks statistics (TACO 2.0, section 7.2) and locations (section 7.1.1) in the metadata for
//! consistency, and in a deep check against the rasters.

use super::columns::column_location;
use super::pixels::{StatisticsVerdict, are_shares, audit, compare_locations};
use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, Skeleton, Value};

const COLUMN: &str = "geotiff:stats";
/// Maximum number of rasters per level whose pixels are read by a deep check.
const AUDITED: usize = 200;
/// Maximum number of rasters per level whose headers are read by a deep check.
const PLACED: usize = 2000;

/// Finds class shares without the highest class, and in a deep check statistics and locations that
/// differ from the rasters.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    for level in 0..tree.levels.len() {
        ctx.check()?;
        if reader
            .levels()
            .fields(level)
            .iter()
            .any(|field| field.name == COLUMN)
        {
            let told = deep && check_pixels(reader, tree, level, report, ctx)?;
            if !told {
                check_shares(reader, level, report, ctx)?;
            }
        }
        if deep {
            check_places(reader, tree, level, report, ctx)?;
        }
    }
    Ok(())
}

/// Compares statistics with pixels. False when no comparison was possible.
fn check_pixels(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    level: usize,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<bool> {
    let audit = audit(reader, level, AUDITED, ctx)?;
    let known = audit
        .rows
        .iter()
        .filter(|(_, verdict)| *verdict != StatisticsVerdict::Unknown)
        .count();
    let seen = if known < audit.of {
        tr!(
            "{known} of {total} rasters were looked at",
            known,
            total = audit.of
        )
    } else {
        tr!("all {known} with statistics were looked at", known)
    };
    let at = || column_location(level, COLUMN);
    let mut lost = audit
        .rows
        .iter()
        .filter(|(_, verdict)| matches!(verdict, StatisticsVerdict::ClassLost(_)));
    if let Some((row, _)) = lost.next() {
        let count = lost.count() + 1;
        let message = tr_n!(
            count,
            "The highest class has the share 0 in {count} raster whose pixels have it, {path}; \
                {seen}.",
            "The highest class has the share 0 in {count} rasters whose pixels have it, the first \
                of them {path}; {seen}.",
            count,
            path = tree.path(level, *row),
            seen
        );
        report.add(Rule::StatisticsClass, at(), message);
    }
    let mut wrong = audit
        .rows
        .iter()
        .filter(|(_, verdict)| matches!(verdict, StatisticsVerdict::Wrong(_)));
    if let Some((row, _)) = wrong.next() {
        let count = wrong.count() + 1;
        let message = tr_n!(
            count,
            "The statistics of {count} raster are not those of its pixels, {path}; {seen}.",
            "The statistics of {count} rasters are not those of their pixels, the first of them \
                {path}; {seen}.",
            count,
            path = tree.path(level, *row),
            seen
        );
        report.add(Rule::StatisticsValues, at(), message);
    }
    // When no comparison was possible, only the shares are checked.
    Ok(known > 0)
}

fn check_shares(
    reader: &dyn ContainerReader,
    level: usize,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let table = reader.levels().columns(level, &[COLUMN], ctx)?;
    let Some(column) = table.column_index(COLUMN) else {
        return Ok(());
    };
    let (mut categorical, mut zeroed) = (0usize, 0usize);
    for row in 0..table.rows() {
        if row % 4096 == 0 {
            ctx.check()?;
        }
        let Value::List(bands) = table.value(row, column) else {
            continue;
        };
        for shares in bands
            .iter()
            .filter_map(numbers)
            .filter(|shares| are_shares(shares))
        {
            categorical += 1;
            zeroed += usize::from(shares.last() == Some(&0.0));
        }
    }
    if categorical > 0 && zeroed == categorical {
        let message = tr_n!(
            categorical,
            "The highest class has the share 0 in the {bands} band with class shares: most likely \
                it was left out. Compute the statistics again from the pixels.",
            "The highest class has the share 0 in all {bands} bands with class shares: most likely \
                it was left out. Compute the statistics again from the pixels.",
            bands = categorical
        );
        report.add(
            Rule::StatisticsClass,
            Location::Column {
                level,
                name: COLUMN.into(),
            },
            message,
        );
    }
    Ok(())
}

fn check_places(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    level: usize,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let found = compare_locations(reader, level, PLACED, ctx)?;
    let seen = found.seen;
    for (rule, wrong) in [
        (Rule::PlaceValues, found.values),
        (Rule::PlaceRaster, found.footprints),
    ] {
        let Some((row, what)) = wrong.first() else {
            continue;
        };
        let at = Location::Sample {
            level,
            row: *row,
            path: tree.path(level, *row),
        };
        let here = tr!("Here {what}.", what);
        let message = match wrong.len() - 1 {
            0 => here,
            others => {
                format!(
                    "{here} {}",
                    tr!(
                        "The same applies to {others} more of the {seen} examined rasters.",
                        others,
                        seen
                    )
                )
            }
        };
        report.add(rule, at, message);
    }
    Ok(())
}

fn numbers(band: &Value) -> Option<Vec<f64>> {
    let Value::List(items) = band else {
        return None;
    };
    items
        .iter()
        .map(|item| {
            if let Value::Float(number) = item {
                Some(*number)
            } else {
                None
            }
        })
        .collect()
}
