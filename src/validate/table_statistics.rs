//! Compares the statistics that the level tables state of their values with the values (Parquet:
//! Statistics and ColumnIndex).

use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule};
use crate::table::{StatisticsFault, StatisticsPlace, WrongStatistics};

/// Compares every level table, and reports each column with wrong statistics once.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub(super) fn check(
    reader: &dyn ContainerReader,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    for level in 0..reader.levels().count() {
        let Some(head) = reader.levels().head(level) else {
            continue;
        };
        for wrong in head
            .wrong_statistics(ctx)
            .map_err(|error| error.of_level(level))?
        {
            let at = Location::Column {
                level,
                name: wrong.column.clone(),
            };
            report.add(Rule::TableStatistics, at, message(&wrong));
        }
    }
    Ok(())
}

fn message(wrong: &WrongStatistics) -> String {
    let group = wrong.group;
    let place = match wrong.place {
        StatisticsPlace::Footer => tr!("row group {group}", group),
        StatisticsPlace::Page(page) => tr!("page {page} of row group {group}", page, group),
    };
    let fault = match &wrong.fault {
        StatisticsFault::Below { minimum, value } => {
            tr!(
                "The Parquet statistics of {place} have the minimum {minimum}, but {value} is one \
                    of its values.",
                place,
                minimum,
                value
            )
        }
        StatisticsFault::Above { maximum, value } => {
            tr!(
                "The Parquet statistics of {place} have the maximum {maximum}, but {value} is one \
                    of its values.",
                place,
                maximum,
                value
            )
        }
        StatisticsFault::NotLeast { minimum, least } => {
            tr!(
                "The Parquet statistics of {place} have the minimum {minimum}, but its least value \
                    is {least}.",
                place,
                minimum,
                least
            )
        }
        StatisticsFault::NotGreatest { maximum, greatest } => tr!(
            "The Parquet statistics of {place} have the maximum {maximum}, but its greatest value \
                is {greatest}.",
            place,
            maximum,
            greatest
        ),
        StatisticsFault::Nulls { stated, found } => {
            tr!(
                "The Parquet statistics of {place} count {stated} nulls, but it has {found}.",
                place,
                stated,
                found
            )
        }
        StatisticsFault::PageRows => tr!(
            "The Parquet page index of {place} has another number of rows than the row group.",
            place
        ),
    };
    let reach = tr_n!(
        wrong.groups,
        "Readers skip rows by such statistics; they are wrong in {count} row group.",
        "Readers skip rows by such statistics; they are wrong in {count} row groups.",
        count = wrong.groups
    );
    format!("{fault} {reach}")
}
