//! Functions of texts, some of lists too: parts, positions, patterns, single characters.

use polars::prelude::*;
use regex::Regex;

use super::arguments::{all_whole, number_of, text_of, whole_at};
use crate::query::engine_errors::refusal;
use crate::query::list_functions;
use crate::query::nested_values::{broadcast_row, row_count};
use crate::query::text_patterns::with_options;
use crate::text::PrintableLine;

/// Substring of a text, or element of a list.
pub(super) fn contains(columns: &[Column]) -> PolarsResult<Column> {
    if columns[0].dtype().is_list() {
        return list_functions::list_contains(columns);
    }
    let (whole, part) = (columns[0].str()?, columns[1].str()?);
    let found = (0..row_count(columns))
        .map(|row| Some(broadcast_text(whole, row)?.contains(broadcast_text(part, row)?)));
    Ok(found.collect::<BooleanChunked>().into_column())
}

fn broadcast_text(texts: &StringChunked, row: usize) -> Option<&str> {
    texts.get(broadcast_row(texts.len(), row))
}

/// Part of a text: first position from 1, or from the end if negative, and number of characters, to
/// the left if negative. Positions before the text count.
pub(super) fn text_slice(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns[0].str()?;
    let (bounds, _) = all_whole(&columns[1..])?;
    let (least, greatest) = (-i64::from(u32::MAX) - 1, i64::from(u32::MAX));
    let outside = |number: &i64| !(least..=greatest).contains(number);
    if let Some(number) = bounds
        .iter()
        .flat_map(|bounds| [bounds.min(), bounds.max()])
        .flatten()
        .find(outside)
    {
        return Err(refusal(format!(
            "a position or a length in a text is from {least} to {greatest}, not {number}"
        )));
    }
    let slices = (0..row_count(columns))
        .map(|row| slice_by_count(broadcast_text(texts, row)?, &bounds, row));
    Ok(slices.collect::<StringChunked>().into_column())
}

/// Part of a text; `bounds` are columns of the position and, if there are two, of the number of
/// characters.
fn slice_by_count(text: &str, bounds: &[Int64Chunked], row: usize) -> Option<String> {
    let length = text.chars().count() as i64;
    let first = match whole_at(&bounds[0], row)? {
        first if first < 0 => first.saturating_add(length),
        first => first - 1,
    };
    let (from, to) = match bounds.get(1) {
        None => (first, length),
        Some(counts) => {
            let end = first.saturating_add(whole_at(counts, row)?);
            (first.min(end), first.max(end))
        }
    };
    let (from, to) = (from.clamp(0, length), to.clamp(0, length));
    let letters = text.chars().skip(from as usize);
    Some(letters.take((to - from) as usize).collect())
}

/// 1-based position of a substring in characters; 0 if absent.
pub(super) fn text_position(columns: &[Column]) -> PolarsResult<Column> {
    let (whole, part) = (columns[0].str()?, columns[1].str()?);
    let places = (0..row_count(columns)).map(|row| {
        let (whole, part) = (broadcast_text(whole, row)?, broadcast_text(part, row)?);
        let before = whole.find(part).map(|byte| &whole[..byte]);
        Some(before.map_or(0, |before| before.chars().count() as i64 + 1))
    });
    Ok(places.collect::<Int64Chunked>().into_column())
}

fn pattern(columns: &[Column]) -> PolarsResult<Regex> {
    regex_of(&text_of(columns, 1)?)
}

fn regex_of(text: &str) -> PolarsResult<Regex> {
    Regex::new(text)
        .map_err(|error| refusal(format!("{} is no pattern: {error}", text.printable_line())))
}

pub(super) fn regexp_extract(columns: &[Column]) -> PolarsResult<Column> {
    let pattern = match columns.len() {
        4 => {
            let options = text_of(columns, 3)?;
            let pattern = with_options(&text_of(columns, 1)?, &options)
                .map_err(|option| refusal(format!("{option} is no option: i, s, l, c, m, n, p")))?;
            regex_of(&pattern)?
        }
        _ => pattern(columns)?,
    };
    let group = if columns.len() > 2 {
        number_of(columns, 2)?
    } else {
        0
    };
    Ok(columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| extract_group(text, &pattern, group)))
        .collect::<StringChunked>()
        .into_column())
}

/// What a group matches; empty where there is no match.
fn extract_group<'t>(text: &'t str, pattern: &Regex, group: usize) -> &'t str {
    let found = pattern.captures(text).and_then(|found| found.get(group));
    found.map_or("", |found| found.as_str())
}

pub(super) fn regexp_replace(columns: &[Column]) -> PolarsResult<Column> {
    let options = if columns.len() > 3 {
        text_of(columns, 3)?
    } else {
        String::new()
    };
    let all = options.contains('g');
    let pattern = with_options(&text_of(columns, 1)?, &options.replace('g', ""))
        .map_err(|option| refusal(format!("{option} is no option: g, i, s, l, c, m, n, p")))?;
    let pattern = regex_of(&pattern)?;
    let rewrite = RegexpReplacement::from_text(&text_of(columns, 2)?);
    if rewrite.greatest_group >= pattern.captures_len() || !all && !rewrite.is_complete {
        return Ok(columns[0].clone());
    }
    let most = usize::from(!all);
    let replaced = columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| pattern.replacen(text, most, rewrite.by.as_str())));
    Ok(replaced.collect::<StringChunked>().into_column())
}

/// The replacement of `regexp_replace` for the crate `regex`: DuckDB writes groups as `\\1`, the
/// crate as `${1}`.
struct RegexpReplacement {
    by: String,
    greatest_group: usize,
    /// False when an escape is neither a digit nor a backslash: the first match is then not
    /// replaced, of all matches each by what is before the escape.
    is_complete: bool,
}

impl RegexpReplacement {
    fn from_text(text: &str) -> Self {
        let mut rewrite = Self {
            by: String::new(),
            greatest_group: 0,
            is_complete: true,
        };
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '$' => rewrite.by.push_str("$$"),
                '\\' => match letters.next() {
                    Some('\\') => rewrite.by.push('\\'),
                    Some(digit @ '0'..='9') => {
                        rewrite.by.push_str(&format!("${{{digit}}}"));
                        rewrite.greatest_group =
                            rewrite.greatest_group.max(digit as usize - '0' as usize);
                    }
                    _ => {
                        rewrite.is_complete = false;
                        break;
                    }
                },
                other => rewrite.by.push(other),
            }
        }
        rewrite
    }
}

pub(super) fn repeat(columns: &[Column]) -> PolarsResult<Column> {
    /// Most bytes of all texts.
    const BYTES_MAX: usize = 1 << 28;
    let texts = columns[0].str()?;
    let counts = columns[1].cast(&DataType::Int64)?;
    let counts = counts.i64()?;
    let mut bytes = 0usize;
    let mut repeated = Vec::with_capacity(row_count(columns));
    for row in 0..row_count(columns) {
        let pair = broadcast_text(texts, row).zip(whole_at(counts, row));
        repeated.push(match pair {
            Some((text, count)) => {
                let count = usize::try_from(count).unwrap_or(0);
                let length = text.len().saturating_mul(count);
                bytes = bytes.saturating_add(length);
                if length > 1 << 20 {
                    return Err(refusal("the text would have more than 1 MiB"));
                }
                if bytes > BYTES_MAX {
                    return Err(refusal("the texts would have more than 256 MiB"));
                }
                Some(text.repeat(count))
            }
            None => None,
        });
    }
    Ok(repeated
        .into_iter()
        .collect::<StringChunked>()
        .into_column())
}

/// Slice of each text or list: 1-based positions, both included, negative ones counted from the
/// end.
pub(super) fn list_slice(columns: &[Column]) -> PolarsResult<Column> {
    if !columns[0].dtype().is_string() {
        return list_functions::list_part(columns);
    }
    let (bounds, _) = all_whole(&columns[1..])?;
    let texts = columns[0].str()?;
    let slices = (0..row_count(columns)).map(|row| {
        let (first, last) = (whole_at(&bounds[0], row)?, whole_at(&bounds[1], row)?);
        Some(slice_by_positions(broadcast_text(texts, row)?, first, last))
    });
    Ok(slices.collect::<StringChunked>().into_column())
}

/// The characters from position `first` to `last`, as of [`list_slice`].
fn slice_by_positions(text: &str, first: i64, last: i64) -> String {
    let length = text.chars().count() as i64;
    let from = list_functions::position_from_start(first, length).max(1);
    let to = list_functions::position_from_start(last, length).min(length);
    text.chars()
        .skip(usize::try_from(from - 1).unwrap_or(usize::MAX))
        .take(usize::try_from(to.saturating_sub(from).saturating_add(1)).unwrap_or(0))
        .collect()
}

/// Characters of a text, or elements of a list.
pub(super) fn length_of(columns: &[Column]) -> PolarsResult<Column> {
    if let DataType::List(_) = columns[0].dtype() {
        let lists = columns[0].list()?;
        let lengths =
            (0..lists.len()).map(|row| lists.get_as_series(row).map(|list| list.len() as i64));
        return Ok(lengths.collect::<Int64Chunked>().into_column());
    }
    let lengths = columns[0]
        .str()?
        .iter()
        .map(|text| text.map(|text| text.chars().count() as i64));
    Ok(lengths.collect::<Int64Chunked>().into_column())
}

/// A text for the values of a row, which is the same for equal values alone.
pub(super) fn row_text(columns: &[Column]) -> PolarsResult<Column> {
    let texts = columns
        .iter()
        .map(|column| column.cast(&DataType::String))
        .collect::<PolarsResult<Vec<_>>>()?;
    let texts = texts
        .iter()
        .map(|column| column.str())
        .collect::<PolarsResult<Vec<_>>>()?;
    let mut rows = StringChunkedBuilder::new(PlSmallStr::EMPTY, row_count(columns));
    let mut written = String::new();
    for row in 0..row_count(columns) {
        written.clear();
        for texts in &texts {
            match broadcast_text(texts, row) {
                Some(text) => written.push_str(&format!("{}:{text}", text.len())),
                None => written.push('-'),
            }
        }
        rows.append_value(&written);
    }
    Ok(rows.finish().into_column())
}

/// Replaces each character of the second text by the one at the same place of the third, or removes
/// it.
pub(super) fn translate(columns: &[Column]) -> PolarsResult<Column> {
    let (texts, from, to) = (columns[0].str()?, columns[1].str()?, columns[2].str()?);
    let translated = (0..row_count(columns)).map(|row| {
        let (from, to) = (broadcast_text(from, row)?, broadcast_text(to, row)?);
        Some(translate_letters(broadcast_text(texts, row)?, from, to))
    });
    Ok(translated.collect::<StringChunked>().into_column())
}

fn translate_letters(text: &str, from: &str, to: &str) -> String {
    text.chars()
        .filter_map(
            |letter| match from.chars().position(|known| known == letter) {
                Some(place) => to.chars().nth(place),
                None => Some(letter),
            },
        )
        .collect()
}

/// Number of the first character of each text, `empty` for an empty one.
pub(super) fn codes(columns: &[Column], empty: i32) -> PolarsResult<Column> {
    let codes = columns[0].str()?.iter().map(|text| {
        let first = text?.chars().next();
        Some(first.map_or(empty, |letter| u32::from(letter).cast_signed()))
    });
    Ok(codes.collect::<Int32Chunked>().into_column())
}

pub(super) fn characters(columns: &[Column]) -> PolarsResult<Column> {
    let (numbers, rows) = all_whole(columns)?;
    Ok((0..rows)
        .map(|row| whole_at(&numbers[0], row).map(character_text).transpose())
        .collect::<PolarsResult<StringChunked>>()?
        .into_column())
}

fn character_text(number: i64) -> PolarsResult<String> {
    let letter = u32::try_from(number).ok().and_then(char::from_u32);
    letter
        .map(|letter| letter.to_string())
        .ok_or_else(|| refusal(format!("{number} is no number of a character")))
}
