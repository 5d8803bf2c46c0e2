//! Text columns of tables that people typed, read as numbers, dates, times or truth values: the
//! type that a column most likely has, and the cells that would become null.

use arrow::datatypes::{DataType, TimeUnit};
use chrono::NaiveDate;

use crate::footprint::parse_time;
use crate::model::Value;
use crate::table::is_null_marker;

/// Texts of missing values besides those of every table ([`is_null_marker`]), in lower case.
const MISSING_TEXTS: [&str; 4] = ["?", "missing", "unknown", "no data"];
/// Share of the cells with a value that have to fit a type for it to be proposed.
const MIN_FITTING_SHARE: f64 = 0.6;
const MAX_EXAMPLES: usize = 5;
/// Characters that separate thousands, besides comma and point.
const GROUP_SEPARATORS: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\''];

/// How one column writes numbers and dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellNotation {
    /// A comma separates decimals, not thousands.
    decimal_comma: bool,
    /// In `03/04/2020` the month comes first.
    month_first: bool,
}

/// The type of the values that a text column most likely has.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectedType {
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
    /// True when numbers lose zeros that may have a meaning: leading ones, as in the code `06075`,
    /// or trailing ones, as in the version 1.10 beside 1.9.
    pub loses_zeros: bool,
}

/// The type that most cells of a column have; `None` when the column is text.
pub fn detect_type<'a>(
    cells: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Option<DetectedType> {
    let notation = detect_notation(cells.clone());
    // Narrower types first: a wider one is chosen only when it fits more cells.
    let candidates = [
        DataType::Boolean,
        DataType::Int64,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
    ];
    let filled = cells
        .clone()
        .flatten()
        .filter(|cell| !is_missing(cell))
        .count();
    let best = candidates
        .into_iter()
        .map(|dtype| (count_fitting_cells(cells.clone(), &dtype, notation), dtype))
        // `max_by_key` takes the last of equal counts, which is to be the narrowest type.
        .rev()
        .max_by_key(|(count, _)| *count)?;
    let (values, dtype) = best;
    if values == 0 || (values as f64) < MIN_FITTING_SHARE * filled as f64 {
        return None;
    }
    let mut examples: Vec<String> = Vec::new();
    let mut missing = 0;
    for cell in cells.clone() {
        let text = cell.unwrap_or_default().trim();
        missing += usize::from(is_missing(text));
        if !text.is_empty()
            && parse_cell(text, &dtype, notation).is_none()
            && examples.len() < MAX_EXAMPLES
            && !examples.iter().any(|example| example == text)
        {
            examples.push(text.to_owned());
        }
    }
    let is_date = matches!(dtype, DataType::Date32 | DataType::Timestamp(..));
    let assumes_day_first = is_date && has_ambiguous_dates(cells.clone());
    let is_number = matches!(dtype, DataType::Int64 | DataType::Float64);
    let loses_zeros = is_number && may_lose_zeros(cells.flatten(), notation);
    Some(DetectedType {
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
    notation: CellNotation,
) -> usize {
    cells
        .flatten()
        .filter(|cell| parse_cell(cell, dtype, notation).is_some())
        .count()
}

/// True for cells with dates such as `03/04/2020` of which none proves which number is the day. A
/// date with points, as `29.02.2020`, proves that its author writes the day first.
fn has_ambiguous_dates<'a>(cells: impl Iterator<Item = Option<&'a str>> + Clone) -> bool {
    let is_open = |cell| day_and_month_in_any_order(cell).is_some();
    cells.clone().flatten().any(is_open)
        && cells
            .flatten()
            .filter_map(day_and_month)
            .all(|(first, second)| first <= 12 && second <= 12)
}

/// True when a number has a leading zero, or when one has a trailing zero and the numbers of
/// decimals differ: where all numbers have the same number of decimals, trailing zeros are mere
/// formatting.
fn may_lose_zeros<'a>(cells: impl Iterator<Item = &'a str>, notation: CellNotation) -> bool {
    let (mut has_trailing_zero, mut decimals_vary, mut decimals) = (false, false, None);
    for cell in cells {
        let Some(number) = normalise_number(cell.trim(), notation) else {
            continue;
        };
        let digits = number.trim_start_matches(['-', '+']);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() > 1 && whole.starts_with('0') {
            return true;
        }
        if !fraction.is_empty() {
            decimals_vary |= *decimals.get_or_insert(fraction.len()) != fraction.len();
            has_trailing_zero |= fraction.len() > 1 && fraction.ends_with('0');
        }
    }
    has_trailing_zero && decimals_vary
}

/// How a column writes numbers and dates, from all its cells.
pub fn detect_notation<'a>(cells: impl Iterator<Item = Option<&'a str>> + Clone) -> CellNotation {
    let decimal_comma = cells
        .clone()
        .flatten()
        .map(str::trim)
        .any(has_decimal_comma);
    let month_first = cells
        .flatten()
        .filter_map(day_and_month_in_any_order)
        .any(|(_, second)| second > 12);
    CellNotation {
        decimal_comma,
        month_first,
    }
}

/// True for a number that proves that a comma separates decimals: it can't separate thousands,
/// which has one to three digits before it, not 0 alone, and three behind it.
fn has_decimal_comma(cell: &str) -> bool {
    if !is_number_text(cell) {
        return false;
    }
    let Some((before, after)) = cell.rsplit_once(',') else {
        return false;
    };
    if before.contains(',') || after.contains('.') {
        return false;
    }
    let whole = before.trim_start_matches(['-', '+']);
    let digits_before = whole.bytes().filter(u8::is_ascii_digit).count();
    let decimals = after.find(['e', 'E']).unwrap_or(after.len());
    decimals != 3 || !(1..=3).contains(&digits_before) || whole == "0"
}

/// True for an empty cell and for the text of a missing value.
fn is_missing(cell: &str) -> bool {
    is_null_marker(cell.trim()) || MISSING_TEXTS.contains(&cell.trim().to_lowercase().as_str())
}

/// The value of a cell in a type; `None` for a cell without a value of this type.
pub fn parse_cell(cell: &str, dtype: &DataType, notation: CellNotation) -> Option<Value> {
    let cell = cell.trim();
    match dtype {
        DataType::Boolean => match cell.to_lowercase().as_str() {
            "yes" | "y" | "true" | "t" => Some(Value::Bool(true)),
            "no" | "n" | "false" | "f" => Some(Value::Bool(false)),
            _ => None,
        },
        DataType::Float64 | DataType::Float32 => {
            let number: f64 = normalise_number(cell, notation)?.parse().ok()?;
            number.is_finite().then_some(Value::Float(number))
        }
        dtype if dtype.is_integer() => {
            let number: i64 = normalise_number(cell, notation)?.parse().ok()?;
            Some(Value::Int(number))
        }
        DataType::Date32 => {
            let epoch = NaiveDate::default();
            Some(Value::Int(
                parse_date(cell, notation)?
                    .signed_duration_since(epoch)
                    .num_days(),
            ))
        }
        DataType::Timestamp(..) => match parse_date(cell, notation) {
            Some(date) => Some(Value::Int(
                date.signed_duration_since(NaiveDate::default()).num_days() * 86_400_000_000,
            )),
            None => parse_time(cell).map(Value::Int),
        },
        _ => None,
    }
}

fn is_number_text(cell: &str) -> bool {
    cell.chars().all(is_part_of_number) && cell.contains(|letter: char| letter.is_ascii_digit())
}

fn is_part_of_number(letter: char) -> bool {
    letter.is_ascii_digit()
        || matches!(letter, '.' | ',' | '-' | '+' | 'e' | 'E')
        || GROUP_SEPARATORS.contains(&letter)
}

/// The number of a cell without thousands separators and with a decimal point; `None` for other
/// texts, such as the lists `1,2,3` and `10 20`.
fn normalise_number(cell: &str, notation: CellNotation) -> Option<String> {
    if !is_number_text(cell) {
        return None;
    }
    let decimal_separator = match (cell.rfind('.'), cell.rfind(',')) {
        // The last of both separates the decimals.
        (Some(point), Some(comma)) if comma > point => Some(','),
        (Some(_), _) => Some('.'),
        (None, Some(_)) => notation.decimal_comma.then_some(','),
        (None, None) => None,
    };
    let (whole, fraction) = decimal_separator
        .and_then(|separator| cell.rsplit_once(separator))
        .map_or((cell, None), |(whole, fraction)| (whole, Some(fraction)));
    let digits = whole.trim_start_matches(['-', '+']);
    let sign = &whole[..whole.len() - digits.len()];
    let mut number = sign.to_owned() + &join_thousands(digits.trim_start(), decimal_separator)?;
    if let Some(fraction) = fraction {
        if fraction.starts_with(GROUP_SEPARATORS) {
            return None;
        }
        number.push('.');
        number.extend(fraction.chars().filter(|c| !GROUP_SEPARATORS.contains(c)));
    }
    number.parse::<f64>().is_ok().then_some(number)
}

/// Joins the groups of digits of a whole number; `None` where they are not groups of thousands: one
/// to three digits, then two (as in India) or three, and three at the end.
fn join_thousands(whole: &str, decimal_separator: Option<char>) -> Option<String> {
    let is_mark = |c: char| matches!(c, '.' | ',') && decimal_separator != Some(c);
    let groups: Vec<&str> = whole
        .split(|letter: char| GROUP_SEPARATORS.contains(&letter) || is_mark(letter))
        .collect();
    if let [first, middle @ .., last] = groups.as_slice() {
        let is_grouped = (1..=3).contains(&first.len())
            && middle.iter().all(|group| (2..=3).contains(&group.len()))
            && last.len() == 3;
        if !is_grouped {
            return None;
        }
    }
    Some(groups.concat())
}

/// `2020-02-29`, `20200229`, `29.02.2020`, `29/02/2020` or `02/29/2020`.
fn parse_date(cell: &str, notation: CellNotation) -> Option<NaiveDate> {
    if cell.len() == 8 && cell.bytes().all(|byte| byte.is_ascii_digit()) {
        return NaiveDate::parse_from_str(cell, "%Y%m%d")
            .ok()
            .filter(|date| (1900..2100).contains(&chrono::Datelike::year(date)));
    }
    if let Some((first, second)) = day_and_month(cell) {
        let year: i32 = cell.rsplit(['/', '.', '-']).next()?.parse().ok()?;
        // With points the day comes first everywhere.
        let month_first = notation.month_first && !cell.contains('.');
        let (day, month) = if month_first {
            (second, first)
        } else {
            (first, second)
        };
        return NaiveDate::from_ymd_opt(year, month, day);
    }
    // `%Y` reads years of fewer digits too, and 24 is not the year 24.
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
    let is_day_or_month = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_day_or_month(first)
        || !is_day_or_month(second)
        || year.len() != 4
        || !year.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    Some((first.parse().ok()?, second.parse().ok()?))
}

/// As [`day_and_month`], for dates whose separator does not tell which of the two is the day.
fn day_and_month_in_any_order(cell: &str) -> Option<(u32, u32)> {
    day_and_month(cell).filter(|_| !cell.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The detected type, and the numbers of values, missing and lost cells.
    fn detect(cells: &[&str]) -> Option<(DataType, usize, usize, usize)> {
        let detected = detect_type(cells.iter().map(|cell| Some(*cell)))?;
        Some((
            detected.dtype,
            detected.values,
            detected.missing,
            detected.lost,
        ))
    }

    fn values(cells: &[&str], dtype: &DataType) -> Vec<Option<Value>> {
        let notation = detect_notation(cells.iter().map(|cell| Some(*cell)));
        cells
            .iter()
            .map(|cell| parse_cell(cell, dtype, notation))
            .collect()
    }

    #[test]
    fn columns_made_by_hand_have_a_type() {
        assert_eq!(
            detect(&["12,5", "3", "n/a", "0,25", ""]),
            Some((DataType::Float64, 3, 2, 0))
        );
        assert_eq!(
            detect(&["1,234", "12,000", "7"]),
            Some((DataType::Int64, 3, 0, 0))
        );
        assert_eq!(
            detect(&["yes", "No", "n/a", "y", "perhaps"]),
            Some((DataType::Boolean, 3, 1, 1))
        );
        assert_eq!(
            detect(&["2020-02-29", "29.02.2020", "20200301", "01/03/2020", "-"]),
            Some((DataType::Date32, 4, 1, 0))
        );
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            detect(&["2020-02-29T10:30:00Z", "2020-03-01"]),
            Some((time, 2, 0, 0))
        );
        assert_eq!(detect(&["forest", "urban", "12"]), None);
        assert_eq!(
            detect(&["24-1-1", "24-1-2"]),
            None,
            "no days of the year 24"
        );
        assert_eq!(detect(&["n/a", ""]), None);
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
        let detected =
            detect_type([Some("03/04/2020"), Some("05/06/2020")].into_iter()).expect("dates");
        assert!(
            detected.assumes_day_first && detected.lost == 0,
            "{detected:?}"
        );
        for (cells, loses) in [
            (["06075", "48201"], true),
            (["1.9", "1.10"], true),
            (["1.10", "2.50"], false),
            (["0.5", "-0.25"], false),
            (["1,000", "12"], false),
        ] {
            let detected = detect_type(cells.map(Some).into_iter()).expect("numbers");
            assert_eq!(detected.loses_zeros, loses, "{cells:?}");
        }
        let detected =
            detect_type([Some("1"), Some("2,5"), Some("about 3"), Some("n/a")].into_iter())
                .expect("numbers");
        assert_eq!(
            (detected.lost, detected.missing, detected.examples),
            (1, 1, vec!["about 3".to_owned(), "n/a".into()])
        );
    }

    #[test]
    fn a_comma_in_a_sentence_is_not_a_decimal_comma() {
        let cells = ["1,234", "12,000", "700", "gone, see notes"];
        assert_eq!(
            values(&cells, &DataType::Int64),
            [Some(1234), Some(12_000), Some(700), None].map(|number| number.map(Value::Int))
        );
        for cell in ["1,5", "-0,125", "1.234,567", "1234,567", "1,25e3", ",125"] {
            assert!(has_decimal_comma(cell), "{cell}");
        }
        for cell in ["1,234", "1,234e3", "1,234.5", "1,2,3", "a,5", "10,125"] {
            assert!(!has_decimal_comma(cell), "{cell}");
        }
        assert_eq!(
            values(&["1,5", "45, 10"], &DataType::Float64),
            [Some(Value::Float(1.5)), None]
        );
    }

    #[test]
    fn digits_that_are_not_groups_of_thousands_are_not_one_number() {
        let cells = [
            "1 234 567.5",
            "1'234",
            "12,34,567",
            "- 5",
            "1,2,3",
            "10 20",
            "2020 2021",
            "1,234,5",
            "--5",
        ];
        assert_eq!(
            values(&cells, &DataType::Float64),
            [
                Some(1_234_567.5),
                Some(1234.0),
                Some(1_234_567.0),
                Some(-5.0),
                None,
                None,
                None,
                None,
                None
            ]
            .map(|number| number.map(Value::Float))
        );
        assert_eq!(detect(&["1,2,3", "4,5,6"]), None, "lists");
    }

    #[test]
    fn dates_with_points_are_day_first_without_an_assumption() {
        let detected = detect_type([Some("03.04.2020"), Some("05.06.2020")].into_iter());
        assert!(!detected.expect("dates").assumes_day_first);
        let proved = detect_type(["29.02.2020", "01/03/2020"].iter().map(|cell| Some(*cell)));
        assert!(!proved.expect("dates").assumes_day_first);
        let open = detect_type(["01.02.2020", "01/03/2020"].iter().map(|cell| Some(*cell)));
        assert!(open.expect("dates").assumes_day_first);
    }
}
