//! Text columns of tables that were made by hand, read as numbers, dates, times or yes and no: what
//! a column most likely is, and what would become null.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::NaiveDate;

use crate::footprint::parse_time;
use crate::model::Value;
use crate::table::is_null_marker;

/// Texts of missing values besides those of every table ([`is_null_marker`]), in lower case.
const MISSING: [&str; 4] = ["?", "missing", "unknown", "no data"];
/// Share of the cells with a value that have to fit a type for it to be offered.
const OFFERED_FROM: f64 = 0.6;
/// Number of cells that are listed.
const MAX_LISTED: usize = 5;

/// How the cells of one column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextWriting {
    /// A comma separates decimals, not thousands.
    decimal_comma: bool,
    /// In `03/04/2020` the month comes first.
    month_first: bool,
}

/// A type for a text column.
#[derive(Clone, Debug, PartialEq)]
pub struct TextType {
    /// The type.
    pub dtype: DataType,
    /// Number of cells with a value of this type.
    pub values: usize,
    /// Number of empty cells and of those that say that the value is missing, such as `n/a`.
    pub missing: usize,
    /// Number of other cells, which would become null as well.
    pub lost: usize,
    /// The first distinct cells that would become null and are not empty.
    pub examples: Vec<String>,
    /// True when dates such as `03/04/2020` are read day first without a cell that proves it.
    pub assumes_day_first: bool,
    /// True when zeros of the cells are lost: those before a number, as in the code `06075`, or
    /// those behind its decimals, as in the version 1.10 beside 1.9.
    pub loses_zeros: bool,
}

/// The type that most cells of a column have; `None` when the column is text.
pub fn text_type<'a>(cells: impl Iterator<Item = Option<&'a str>> + Clone) -> Option<TextType> {
    let writing = writing_of(cells.clone());
    let whole = DataType::Timestamp(TimeUnit::Microsecond, None);
    // Narrower types first: a wider one has to fit more cells.
    let candidates = [
        DataType::Boolean,
        DataType::Int64,
        DataType::Float64,
        DataType::Date32,
        whole,
    ];
    let filled = cells
        .clone()
        .flatten()
        .filter(|cell| !is_missing(cell))
        .count();
    let best = candidates
        .into_iter()
        .map(|dtype| (count_fitting_cells(cells.clone(), &dtype, writing), dtype))
        .rev()
        .max_by_key(|(count, _)| *count)?;
    let (values, dtype) = best;
    if values == 0 || (values as f64) < OFFERED_FROM * filled as f64 {
        return None;
    }
    let mut examples: Vec<String> = Vec::new();
    let mut missing = 0;
    for cell in cells.clone() {
        let text = cell.unwrap_or_default().trim();
        missing += usize::from(is_missing(text));
        if !text.is_empty()
            && value_of_text(text, &dtype, writing).is_none()
            && examples.len() < MAX_LISTED
            && !examples.iter().any(|e| e == text)
        {
            examples.push(text.to_owned());
        }
    }
    let dates = matches!(dtype, DataType::Date32 | DataType::Timestamp(..));
    let assumes_day_first = dates && has_ambiguous_dates(cells.clone());
    let is_number = matches!(dtype, DataType::Int64 | DataType::Float64);
    let loses_zeros = is_number && loses_zeros(cells.flatten(), writing);
    Some(TextType {
        dtype,
        values,
        missing,
        lost: filled - values,
        examples,
        assumes_day_first,
        loses_zeros,
    })
}

fn count_fitting_cells<'a>(
    cells: impl Iterator<Item = Option<&'a str>>,
    dtype: &DataType,
    writing: TextWriting,
) -> usize {
    cells
        .flatten()
        .filter(|cell| value_of_text(cell, dtype, writing).is_some())
        .count()
}

/// True for cells with dates such as `03/04/2020` of which none proves which number is the day.
fn has_ambiguous_dates<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> bool {
    let mut dates = cells.flatten().filter_map(day_and_month).peekable();
    dates.peek().is_some() && dates.all(|(first, second)| first <= 12 && second <= 12)
}

/// True when a number begins with a zero that is not its only digit before the decimals, or some
/// end in zeros and have other numbers of decimals.
fn loses_zeros<'a>(cells: impl Iterator<Item = &'a str>, writing: TextWriting) -> bool {
    let (mut is_padded, mut decimals_vary, mut decimals) = (false, false, None);
    for cell in cells {
        let Some(number) = plain_number(cell.trim(), writing) else {
            continue;
        };
        let digits = number.trim_start_matches(['-', '+']);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() > 1 && whole.starts_with('0') {
            return true;
        }
        if !fraction.is_empty() {
            decimals_vary |= *decimals.get_or_insert(fraction.len()) != fraction.len();
            is_padded |= fraction.len() > 1 && fraction.ends_with('0');
        }
    }
    is_padded && decimals_vary
}

/// How a column writes numbers and dates, from all its cells.
pub fn writing_of<'a>(cells: impl Iterator<Item = Option<&'a str>> + Clone) -> TextWriting {
    let decimal_comma = cells
        .clone()
        .flatten()
        .map(str::trim)
        .any(has_decimal_comma);
    let month_first = cells
        .flatten()
        .filter_map(day_and_month)
        .any(|(_, second)| second > 12);
    TextWriting {
        decimal_comma,
        month_first,
    }
}

/// True where a comma separates decimals: before other than three digits it can't separate
/// thousands.
fn has_decimal_comma(cell: &str) -> bool {
    match cell.rsplit_once(',') {
        Some((head, tail)) => {
            !head.contains(',')
                && (tail.len() != 3 || head.trim_start_matches(['-', '+']) == "0")
                && !tail.contains('.')
        }
        None => false,
    }
}

/// True for an empty cell and for the text of a missing value.
pub fn is_missing(cell: &str) -> bool {
    is_null_marker(cell.trim()) || MISSING.contains(&cell.trim().to_lowercase().as_str())
}

/// The value of a cell in a type; `None` when it has none, or another one.
pub fn value_of_text(cell: &str, dtype: &DataType, writing: TextWriting) -> Option<Value> {
    let cell = cell.trim();
    match dtype {
        DataType::Boolean => match cell.to_lowercase().as_str() {
            "yes" | "y" | "true" | "t" => Some(Value::Bool(true)),
            "no" | "n" | "false" | "f" => Some(Value::Bool(false)),
            _ => None,
        },
        DataType::Float64 | DataType::Float32 => {
            let number: f64 = plain_number(cell, writing)?.parse().ok()?;
            number.is_finite().then_some(Value::Float(number))
        }
        dtype if dtype.is_integer() => {
            let number: i64 = plain_number(cell, writing)?.parse().ok()?;
            Some(Value::Int(number))
        }
        DataType::Date32 => {
            let epoch = NaiveDate::default();
            Some(Value::Int(
                date_of(cell, writing)?
                    .signed_duration_since(epoch)
                    .num_days(),
            ))
        }
        DataType::Timestamp(..) => match date_of(cell, writing) {
            Some(date) => Some(Value::Int(
                date.signed_duration_since(NaiveDate::default()).num_days() * 86_400_000_000,
            )),
            None => parse_time(cell).map(Value::Int),
        },
        _ => None,
    }
}

/// A number without thousands separators and with a decimal point.
fn plain_number(cell: &str, writing: TextWriting) -> Option<String> {
    let compact: String = cell
        .chars()
        .filter(|c| !matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\''))
        .collect();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | 'e' | 'E');
    if compact.is_empty()
        || !compact.chars().all(is_number)
        || !compact.chars().any(|c| c.is_ascii_digit())
    {
        return None;
    }
    Some(match (compact.rfind('.'), compact.rfind(',')) {
        // The last of both separates the decimals.
        (Some(point), Some(comma)) if comma > point => compact.replace('.', "").replace(',', "."),
        (Some(_), Some(_)) => compact.replace(',', ""),
        (None, Some(_)) if writing.decimal_comma => compact.replacen(',', ".", 1),
        (None, Some(_)) => compact.replace(',', ""),
        _ => compact,
    })
}

/// `2020-02-29`, `20200229`, `29.02.2020`, `29/02/2020` or `02/29/2020`.
fn date_of(cell: &str, writing: TextWriting) -> Option<NaiveDate> {
    if cell.len() == 8 && cell.bytes().all(|byte| byte.is_ascii_digit()) {
        return NaiveDate::parse_from_str(cell, "%Y%m%d")
            .ok()
            .filter(|date| (1900..2100).contains(&chrono::Datelike::year(date)));
    }
    if let Some((first, second)) = day_and_month(cell) {
        let year: i32 = cell.rsplit(['/', '.', '-']).next()?.parse().ok()?;
        // Points are written day first everywhere.
        let month_first = writing.month_first && !cell.contains('.');
        let (day, month) = if month_first {
            (second, first)
        } else {
            (first, second)
        };
        return NaiveDate::from_ymd_opt(year, month, day);
    }
    // A year of two digits is not of the first century.
    let forms = ["%Y-%m-%d", "%Y/%m/%d", "%d %b %Y", "%d %B %Y"].iter();
    forms
        .filter_map(|form| NaiveDate::parse_from_str(cell, form).ok())
        .find(|date| (1000..10_000).contains(&chrono::Datelike::year(date)))
}

/// The two numbers before a year of four digits: `03` and `04` of `03/04/2020`.
fn day_and_month(cell: &str) -> Option<(u32, u32)> {
    let parts: Vec<&str> = cell.trim().split(['/', '.', '-']).collect();
    let [first, second, year] = parts.as_slice() else {
        return None;
    };
    let short = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !short(first)
        || !short(second)
        || year.len() != 4
        || !year.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    Some((first.parse().ok()?, second.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cells: &[&str]) -> Option<(DataType, usize, usize, usize)> {
        let offer = text_type(cells.iter().map(|cell| Some(*cell)))?;
        Some((offer.dtype, offer.values, offer.missing, offer.lost))
    }

    fn values(cells: &[&str], dtype: &DataType) -> Vec<Option<Value>> {
        let writing = writing_of(cells.iter().map(|cell| Some(*cell)));
        cells
            .iter()
            .map(|cell| value_of_text(cell, dtype, writing))
            .collect()
    }

    #[test]
    fn columns_made_by_hand_have_a_type() {
        assert_eq!(
            found(&["12,5", "3", "n/a", "0,25", ""]),
            Some((DataType::Float64, 3, 2, 0))
        );
        assert_eq!(
            found(&["1,234", "12,000", "7"]),
            Some((DataType::Int64, 3, 0, 0))
        );
        assert_eq!(
            found(&["yes", "No", "n/a", "y", "perhaps"]),
            Some((DataType::Boolean, 3, 1, 1))
        );
        assert_eq!(
            found(&["2020-02-29", "29.02.2020", "20200301", "01/03/2020", "-"]),
            Some((DataType::Date32, 4, 1, 0))
        );
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            found(&["2020-02-29T10:30:00Z", "2020-03-01"]),
            Some((time, 2, 0, 0))
        );
        assert_eq!(found(&["forest", "urban", "12"]), None);
        assert_eq!(found(&["24-1-1", "24-1-2"]), None, "no days of the year 24");
        assert_eq!(found(&["n/a", ""]), None);
    }

    #[test]
    fn commas_and_dates_are_read_as_the_whole_column_writes_them() {
        let floats = values(&["1.234,5", "1,5", "-0,125"], &DataType::Float64);
        assert_eq!(
            floats,
            [1234.5, 1.5, -0.125].map(|number| Some(Value::Float(number)))
        );
        assert_eq!(
            values(&["1,234,567.5", "12"], &DataType::Float64)[0],
            Some(Value::Float(1_234_567.5))
        );
        let day = |text: &str| {
            NaiveDate::parse_from_str(text, "%Y-%m-%d")
                .expect("a date")
                .signed_duration_since(NaiveDate::default())
                .num_days()
        };
        let dates = |cells: &[&str]| values(cells, &DataType::Date32);
        assert_eq!(
            dates(&["03/04/2020", "28/04/2020"])[0],
            Some(Value::Int(day("2020-04-03")))
        );
        assert_eq!(
            dates(&["03/04/2020", "04/28/2020"])[0],
            Some(Value::Int(day("2020-03-04")))
        );
        assert_eq!(
            dates(&["31.12.2019", "99/99/2020"]),
            [Some(Value::Int(day("2019-12-31"))), None]
        );
        let offer = text_type([Some("03/04/2020"), Some("05/06/2020")].into_iter()).expect("dates");
        assert!(offer.assumes_day_first && offer.lost == 0, "{offer:?}");
        for (cells, loses) in [
            (["06075", "48201"], true),
            (["1.9", "1.10"], true),
            (["1.10", "2.50"], false),
            (["0.5", "-0.25"], false),
            (["1,000", "12"], false),
        ] {
            let offer = text_type(cells.map(Some).into_iter()).expect("numbers");
            assert_eq!(offer.loses_zeros, loses, "{cells:?}");
        }
        let offer = text_type([Some("1"), Some("2,5"), Some("about 3"), Some("n/a")].into_iter())
            .expect("numbers");
        assert_eq!(
            (offer.lost, offer.missing, offer.examples),
            (1, 1, vec!["about 3".to_owned(), "n/a".into()])
        );
    }
}
