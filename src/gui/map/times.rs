//! Histogram of the times of rows: all rows, and those that match the filter.

use chrono::{DateTime, Datelike, NaiveDate};

use crate::jobs::JobContext;
use crate::ops::KeptRows;

/// Maximum number of bars.
const MAX_BARS: usize = 120;
/// A day in microseconds.
const DAY_MICROS: i64 = 86_400_000_000;

/// Histogram of rows by day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeBars {
    /// First day, in days since 1970-01-01.
    pub first: i64,
    /// Width of a bar in days.
    pub step: i64,
    /// Number of rows in each bar.
    pub all: Vec<u64>,
    /// Number of rows in each bar that match the filter without its time range.
    pub matching: Vec<u64>,
}

impl TimeBars {
    /// The day after the last bar.
    pub fn end(&self) -> i64 {
        self.first + self.step * self.all.len() as i64
    }
}

/// Days since 1970-01-01 of a time in microseconds since then.
pub fn day_of(micros: i64) -> i64 {
    micros.div_euclid(DAY_MICROS)
}

/// Formats a day as `YYYY-MM-DD`.
pub fn day_text(day: i64) -> String {
    date(day).map_or_else(
        || day.to_string(),
        |date| date.format("%Y-%m-%d").to_string(),
    )
}

/// Parses the first ten characters as `YYYY-MM-DD`; `None` for other text.
pub fn parse_day(text: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(text.trim().get(..10)?, "%Y-%m-%d").ok()?;
    Some(
        date.and_hms_opt(0, 0, 0)?
            .and_utc()
            .timestamp()
            .div_euclid(86_400),
    )
}

fn date(day: i64) -> Option<NaiveDate> {
    DateTime::from_timestamp(day.checked_mul(86_400)?, 0).map(|time| time.date_naive())
}

/// Axis labels from `first` to `end`: first days of months or years, about `most` of them.
pub fn axis_labels(first: i64, end: i64, most: usize) -> Vec<(i64, String)> {
    let Some((from, to)) = date(first).zip(date(end)) else {
        return Vec::new();
    };
    let months = (to.year() - from.year()) * 12 + to.month() as i32 - from.month() as i32 + 1;
    let step = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200]
        .into_iter()
        .find(|step| months / step <= most.max(1) as i32)
        .unwrap_or(2400);
    let start = from.year() * 12 + from.month0() as i32;
    let mut labels = Vec::new();
    let mut month = start.div_euclid(step) * step;
    while labels.len() <= most + 1 {
        let (year, number) = (month.div_euclid(12), month.rem_euclid(12) as u32 + 1);
        let Some(date) = NaiveDate::from_ymd_opt(year, number, 1) else {
            break;
        };
        let Some(day) = parse_day(&date.format("%Y-%m-%d").to_string()) else {
            break;
        };
        if day > end {
            break;
        }
        if day >= first {
            let label = if step >= 12 {
                date.format("%Y").to_string()
            } else if number == 1 {
                format!("{} {}", month_name(number), date.format("%Y"))
            } else {
                month_name(number).to_owned()
            };
            labels.push((day, label));
        }
        month += step;
    }
    labels
}

/// Abbreviated name of a month, 1 to 12.
fn month_name(number: u32) -> &'static str {
    match number {
        1 => tr!("Jan" in "month"),
        2 => tr!("Feb" in "month"),
        3 => tr!("Mar" in "month"),
        4 => tr!("Apr" in "month"),
        5 => tr!("May" in "month"),
        6 => tr!("Jun" in "month"),
        7 => tr!("Jul" in "month"),
        8 => tr!("Aug" in "month"),
        9 => tr!("Sep" in "month"),
        10 => tr!("Oct" in "month"),
        11 => tr!("Nov" in "month"),
        _ => tr!("Dec" in "month"),
    }
}

/// Counts rows in at most 120 bars of whole days; `None` when no row has a time.
///
/// # Errors
/// On cancellation.
pub fn count_by_day(
    level: usize,
    times: &[Option<i64>],
    kept: Option<&KeptRows>,
    ctx: &JobContext,
) -> crate::error::Result<Option<TimeBars>> {
    let days = || times.iter().flatten().map(|&micros| day_of(micros));
    let Some((first, last)) = days().fold(None, |range: Option<(i64, i64)>, day| {
        Some(range.map_or((day, day), |(low, high)| (low.min(day), high.max(day))))
    }) else {
        return Ok(None);
    };
    ctx.check()?;
    let step = ((last - first) / MAX_BARS as i64 + 1).max(1);
    let count = ((last - first) / step + 1) as usize;
    let mut bars = TimeBars {
        first,
        step,
        all: vec![0; count],
        matching: vec![0; count],
    };
    let rows = kept.and_then(|kept| kept.rows(level));
    let bar_of = |micros: i64| ((day_of(micros) - first) / step) as usize;
    for &micros in times.iter().flatten() {
        bars.all[bar_of(micros)] += 1;
    }
    ctx.check()?;
    match rows {
        None => bars.matching.clone_from(&bars.all),
        Some(rows) => {
            for micros in rows
                .iter()
                .filter_map(|&row| times.get(row as usize).copied().flatten())
            {
                bars.matching[bar_of(micros)] += 1;
            }
        }
    }
    Ok(Some(bars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_day() {
        let times = [
            Some(0),
            Some(DAY_MICROS - 1),
            Some(3 * DAY_MICROS),
            None,
            Some(-1),
        ];
        let bars = count_by_day(0, &times, None, &JobContext::default())
            .expect("is made")
            .expect("has times");
        assert_eq!(
            (bars.first, bars.step, bars.all.clone()),
            (-1, 1, vec![1, 2, 0, 0, 1])
        );
        assert_eq!((bars.end(), bars.matching), (4, bars.all));
        assert_eq!(
            count_by_day(0, &[None], None, &JobContext::default()).expect("is made"),
            None
        );
    }

    #[test]
    fn labels_are_first_days_of_months_and_years() {
        let day = |text: &str| parse_day(text).expect("a day");
        let words = |from: &str, to: &str| {
            axis_labels(day(from), day(to), 12)
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            words("2023-01-01", "2023-04-10"),
            ["Jan 2023", "Feb", "Mar", "Apr"]
        );
        assert_eq!(
            words("2015-06-01", "2024-01-01"),
            [
                "2016", "2017", "2018", "2019", "2020", "2021", "2022", "2023", "2024"
            ]
        );
        assert_eq!(day_text(day("1969-12-31")), "1969-12-31");
    }
}
