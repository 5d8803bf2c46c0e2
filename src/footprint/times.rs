//! Times of samples in microseconds since 1970, in the forms of every generation: timestamps of
//! every unit and zone, dates, text in ISO 8601, and numbers that count from 1970 in the columns of
//! the extensions (seconds in TORTILLA 0.5 and TACO 0.2, microseconds in the Python tools).
//! [`sample_times`] decides what the time of a sample is; nothing else does.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};

use crate::model::{Value, parse_utc_time};
use crate::table::value_at;

/// Columns with the start of a sample, best first. `datetime`, `start_datetime` and `end_datetime`
/// are STAC's own names; TACO 3 has them in the namespaces `stac` and `temporal` from release 0.11,
/// and before it those of `time_start`.
pub const TIME_START: [&str; 10] = [
    "stac:time_start",
    "istac:time_start",
    "temporal:time_start",
    "tac:time_start",
    "stac:start_datetime",
    "temporal:start_datetime",
    "start_datetime",
    "stac:datetime",
    "temporal:datetime",
    "datetime",
];
/// Columns with the end of a sample, best first.
const TIME_END: [&str; 7] = [
    "stac:time_end",
    "istac:time_end",
    "temporal:time_end",
    "tac:time_end",
    "stac:end_datetime",
    "temporal:end_datetime",
    "end_datetime",
];
/// Columns with the nominal time of a sample, best first.
const TIME_NOMINAL: [&str; 7] = [
    "datetime",
    "stac:datetime",
    "temporal:datetime",
    "stac:time_start",
    "istac:time_start",
    "temporal:time_start",
    "tac:time_start",
];
/// Every column of starts and of ends.
pub const TIME_COLUMNS: [&str; 17] = [
    "stac:time_start",
    "stac:time_end",
    "istac:time_start",
    "istac:time_end",
    "temporal:time_start",
    "temporal:time_end",
    "tac:time_start",
    "tac:time_end",
    "stac:start_datetime",
    "stac:end_datetime",
    "stac:datetime",
    "temporal:start_datetime",
    "temporal:end_datetime",
    "temporal:datetime",
    "start_datetime",
    "end_datetime",
    "datetime",
];
/// Columns of the extensions, in which a number counts from 1970.
const COUNTED: [&str; 6] = [
    "stac:time_start",
    "stac:time_end",
    "stac:time_middle",
    "istac:time_start",
    "istac:time_end",
    "istac:time_middle",
];

/// The columns of an instant, a start and an end, of which a row has the first, the other two, or
/// all three; both ends are of the time (STAC's common metadata; TACO 3 from release 0.11).
#[derive(Clone, Copy, Debug)]
pub struct IntervalColumns {
    /// The nominal time.
    pub instant: &'static str,
    pub start: &'static str,
    pub end: &'static str,
}

/// The columns of intervals in a namespace.
pub const INTERVALS: [IntervalColumns; 2] = [
    IntervalColumns {
        instant: "stac:datetime",
        start: "stac:start_datetime",
        end: "stac:end_datetime",
    },
    IntervalColumns {
        instant: "temporal:datetime",
        start: "temporal:start_datetime",
        end: "temporal:end_datetime",
    },
];

/// The last second of the year 9999: a greater number does not count seconds.
const LAST_SECOND: u64 = 253_402_300_799;
/// The years 0000 to 9999 in microseconds since 1970: other years have no text in ISO 8601 with
/// four digits.
const YEARS: std::ops::RangeInclusive<i64> = -62_167_219_200_000_000..=253_402_300_799_999_999;

/// The times of a row in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTimes {
    /// The nominal time: that of `datetime`, or else the start that the extensions state.
    pub nominal: Option<i64>,
    /// The start; for a sample with a nominal time alone, that time.
    pub start: Option<i64>,
    pub end: Option<i64>,
}

/// Parses a time as [`parse_utc_time`] does, with blanks around it, into microseconds since 1970.
pub fn parse_time(text: &str) -> Option<i64> {
    Some(parse_utc_time(text.trim())?.and_utc().timestamp_micros())
}

/// A value of a column of type `dtype` in microseconds since 1970, rounded down; `None` for what is
/// no time, and outside of the years 0000 to 9999. A number without a unit counts seconds, or the
/// finer unit in which it is of those years.
pub fn micros_of_value(value: &Value, dtype: &DataType) -> Option<i64> {
    let micros = match (value, dtype) {
        (Value::Int(count), DataType::Timestamp(TimeUnit::Second, _)) => {
            count.checked_mul(1_000_000)
        }
        (Value::Int(count), DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64) => {
            count.checked_mul(1000)
        }
        (Value::Int(count), DataType::Timestamp(TimeUnit::Microsecond, _)) => Some(*count),
        (Value::Int(count), DataType::Timestamp(TimeUnit::Nanosecond, _)) => {
            Some(count.div_euclid(1000))
        }
        (Value::Int(days), DataType::Date32) => days.checked_mul(86_400_000_000),
        (Value::Int(count), dtype) if dtype.is_integer() => micros_of_count(*count),
        (Value::UInt(count), _) => micros_of_count(i64::try_from(*count).ok()?),
        (Value::Float(count), _) if count.abs() <= LAST_SECOND as f64 => {
            Some((count * 1e6).round() as i64)
        }
        (Value::Float(count), _) if count.abs() < 9.2e18 => micros_of_count(count.round() as i64),
        // Of other spellings of a time, the day is read.
        (Value::Text(text), _) => parse_time(text).or_else(|| parse_time(text.trim().get(..10)?)),
        _ => None,
    };
    micros.filter(|micros| YEARS.contains(micros))
}

/// A count of seconds since 1970, or of the first finer unit in which it is before the year 10000.
fn micros_of_count(count: i64) -> Option<i64> {
    let size = count.unsigned_abs();
    if size <= LAST_SECOND {
        count.checked_mul(1_000_000)
    } else if size <= LAST_SECOND * 1000 {
        count.checked_mul(1000)
    } else if size <= LAST_SECOND * 1_000_000 {
        Some(count)
    } else {
        Some(count.div_euclid(1000))
    }
}

fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_typed(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64
    )
}

/// The type of the values: that of a dictionary's.
fn value_type(dtype: &DataType) -> &DataType {
    match dtype {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The times of a column in microseconds since 1970, by [`micros_of_value`]; `None` for columns of
/// types that state no time.
pub fn micros_of(column: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let dtype = value_type(column.data_type()).clone();
    if !(is_typed(&dtype) || is_text(&dtype) || dtype.is_integer() || dtype.is_floating()) {
        return None;
    }
    let wanted = if dtype == DataType::Float16 {
        DataType::Float64
    } else {
        dtype
    };
    let column = if *column.data_type() == wanted {
        column.clone()
    } else {
        cast(column, &wanted).ok()?
    };
    Some(
        (0..column.len())
            .map(|row| micros_of_value(&value_at(&column, row), &wanted))
            .collect(),
    )
}

/// True for a column that holds times: of a type of time, or called like one of [`TIME_COLUMNS`].
/// Numbers are times in the columns of the extensions alone, which say what they count.
pub fn is_time_column(name: &str, dtype: &DataType) -> bool {
    let dtype = value_type(dtype);
    let counted = COUNTED.contains(&name);
    is_typed(dtype)
        || (is_text(dtype) && (counted || TIME_COLUMNS.contains(&name)))
        || (dtype.is_numeric() && counted)
}

/// The times of every row of a level, from the first columns of starts and ends that have them.
pub fn sample_times(batch: &RecordBatch) -> Vec<SampleTimes> {
    let mut found = vec![SampleTimes::default(); batch.num_rows()];
    for times in TIME_NOMINAL
        .into_iter()
        .filter_map(|name| list_micros(batch, name))
    {
        found
            .iter_mut()
            .zip(times)
            .for_each(|(slot, time)| slot.nominal = slot.nominal.or(time));
    }
    for times in TIME_START
        .into_iter()
        .filter_map(|name| list_micros(batch, name))
    {
        found
            .iter_mut()
            .zip(times)
            .for_each(|(slot, time)| slot.start = slot.start.or(time));
    }
    for times in TIME_END
        .into_iter()
        .filter_map(|name| list_micros(batch, name))
    {
        found
            .iter_mut()
            .zip(times)
            .for_each(|(slot, time)| slot.end = slot.end.or(time));
    }
    found
}

fn list_micros(batch: &RecordBatch, name: &str) -> Option<Vec<Option<i64>>> {
    let column = batch
        .column_by_name(name)
        .filter(|column| is_time_column(name, column.data_type()))?;
    micros_of(column)
}

/// As [`sample_times`] of one row, whose columns `value` reads.
pub fn times_of_row(value: &dyn Fn(&str) -> (Value, DataType)) -> SampleTimes {
    SampleTimes {
        nominal: TIME_NOMINAL
            .into_iter()
            .find_map(|name| read_micros(value, name)),
        start: TIME_START
            .into_iter()
            .find_map(|name| read_micros(value, name)),
        end: TIME_END
            .into_iter()
            .find_map(|name| read_micros(value, name)),
    }
}

fn read_micros(value: &dyn Fn(&str) -> (Value, DataType), name: &str) -> Option<i64> {
    let (value, dtype) = value(name);
    is_time_column(name, &dtype).then(|| micros_of_value(&value, &dtype))?
}

/// Start and end of every row of a level, in microseconds since 1970.
pub fn interval_of(batch: &RecordBatch) -> Vec<[Option<i64>; 2]> {
    sample_times(batch)
        .into_iter()
        .map(|times| [times.start, times.end])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Date32Array, Date64Array, DictionaryArray, Float64Array, Int64Array, StringArray,
        TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::Int32Type;

    use super::*;

    const DAY: i64 = 86_400_000_000;

    fn start(name: &str, column: ArrayRef) -> Vec<Option<i64>> {
        let batch = RecordBatch::try_from_iter([(name, column)]).expect("a batch");
        interval_of(&batch)
            .into_iter()
            .map(|[start, _]| start)
            .collect()
    }

    #[test]
    fn columns_named_as_stac_names_them_are_times_of_every_type() {
        let day = 18_748;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(TimestampSecondArray::from(vec![day * 86_400])),
            Arc::new(
                TimestampMillisecondArray::from(vec![day * 86_400_000]).with_timezone("+05:30"),
            ),
            Arc::new(TimestampMicrosecondArray::from(vec![day * DAY])),
            Arc::new(
                TimestampNanosecondArray::from(vec![day * DAY * 1000 + 7])
                    .with_timezone("Europe/Madrid"),
            ),
            Arc::new(Date32Array::from(vec![day as i32])),
            Arc::new(Date64Array::from(vec![day * 86_400_000])),
            Arc::new(StringArray::from(vec!["2021-05-01"])),
            Arc::new(StringArray::from(vec!["2021-05-01T02:00:00+02:00"])),
            Arc::new(StringArray::from(vec!["2021-05-01 00:00:00 UTC"])),
            Arc::new(DictionaryArray::<Int32Type>::from_iter([
                "2021-05-01T00:00:00Z",
            ])),
        ];
        for column in columns {
            for name in ["datetime", "start_datetime", "stac:time_start"] {
                assert_eq!(
                    start(name, column.clone()),
                    [Some(day * DAY)],
                    "{name}: {:?}",
                    column.data_type()
                );
            }
        }
    }

    #[test]
    fn numbers_are_times_where_an_extension_says_so() {
        let (seconds, day) = (1_619_827_200, 18_748);
        for count in [
            seconds,
            seconds * 1000,
            seconds * 1_000_000,
            seconds * 1_000_000_000,
        ] {
            assert_eq!(
                start("stac:time_start", Arc::new(Int64Array::from(vec![count]))),
                [Some(day * DAY)],
                "{count}"
            );
            assert_eq!(
                start(
                    "istac:time_start",
                    Arc::new(UInt64Array::from(vec![count as u64]))
                ),
                [Some(day * DAY)]
            );
            assert_eq!(
                start("datetime", Arc::new(Int64Array::from(vec![count]))),
                [None],
                "a number of unknown unit"
            );
        }
        assert_eq!(
            start(
                "stac:time_start",
                Arc::new(Float64Array::from(vec![0.5, f64::NAN]))
            ),
            [Some(500_000), None]
        );
    }

    #[test]
    fn times_before_1970_round_down_and_those_of_no_calendar_are_none() {
        assert_eq!(
            start(
                "datetime",
                Arc::new(TimestampNanosecondArray::from(vec![
                    -1,
                    -86_400_000_000_000
                ]))
            ),
            [Some(-1), Some(-DAY)]
        );
        assert_eq!(
            start(
                "datetime",
                Arc::new(Date32Array::from(vec![-25_567, i32::MAX]))
            ),
            [Some(-25_567 * DAY), None]
        );
        let sentinel = TimestampMicrosecondArray::from(vec![i64::MIN, i64::MAX, 0]);
        assert_eq!(start("datetime", Arc::new(sentinel)), [None, None, Some(0)]);
    }

    #[test]
    fn the_nominal_time_is_kept_beside_an_interval() {
        let time = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([
            ("datetime", time("1970-01-03")),
            ("start_datetime", time("1970-01-02")),
            ("end_datetime", time("1970-01-05")),
        ])
        .expect("a batch");
        let known = SampleTimes {
            nominal: Some(2 * DAY),
            start: Some(DAY),
            end: Some(4 * DAY),
        };
        assert_eq!(sample_times(&batch), [known]);
        let value = |name: &str| {
            let column = batch.column_by_name(name);
            column.map_or((Value::Null, DataType::Null), |column| {
                (value_at(column, 0), column.data_type().clone())
            })
        };
        assert_eq!(
            times_of_row(&value),
            known,
            "one row says the same as the table"
        );
    }

    #[test]
    fn times_are_read_in_iso_8601() {
        assert_eq!(parse_time("1970-01-02"), Some(DAY));
        assert_eq!(parse_time("1970-01-01T00:00:01.5Z"), Some(1_500_000));
        assert_eq!(parse_time("1970-01-01T02:00:00+02:00"), Some(0));
        assert_eq!(parse_time("1970-01-01 00:01"), Some(60_000_000));
        assert_eq!(parse_time("1970-01-01 02:01+0200"), Some(60_000_000));
        assert_eq!(parse_time("19700102"), Some(DAY));
        assert_eq!(parse_time("19700102T000000"), Some(DAY));
        assert_eq!(parse_time(" 1970-01-02\n"), Some(DAY));
        assert_eq!(parse_time("yesterday"), None);
    }
}
