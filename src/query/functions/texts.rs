//! Functions of texts and bytes: digests, encodings, distances, regular expressions, normal forms.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use polars::prelude::*;
use regex::Regex;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    ScalarFunction, TYPE_OF, bytes, bytes_column, double, doubles_column, list_of_texts, of_texts,
    of_wholes, scalar, text, text_lists_column, texts_column, truth, truths_column, whole,
    wholes_column,
};
use crate::query::engine_errors::refusal;
use crate::query::nested_values::{broadcast_row, cast_to, row_count};
use crate::query::text_patterns::with_options;
use crate::query::type_names::type_name;
use crate::text::PrintableLine;

/// Bytes that `url_encode` keeps: letters, digits, `-`, `_`, `.` and `~`.
const URL_ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("upper_text", (1, 1), text, |columns| {
        of_letters(columns, str::to_ascii_uppercase, upper_letter)
    }),
    scalar("lower_text", (1, 1), text, |columns| {
        of_letters(columns, str::to_ascii_lowercase, lower_letter)
    }),
    scalar("md5", (1, 1), text, |columns| {
        Ok(texts_column(of_bytes(&columns[0], |bytes| {
            hex::encode(Md5::digest(bytes))
        })?))
    }),
    scalar("sha1", (1, 1), text, |columns| {
        Ok(texts_column(of_bytes(&columns[0], |bytes| {
            hex::encode(Sha1::digest(bytes))
        })?))
    }),
    scalar("sha256", (1, 1), text, |columns| {
        Ok(texts_column(of_bytes(&columns[0], |bytes| {
            hex::encode(<Sha256 as sha2::Digest>::digest(bytes))
        })?))
    }),
    scalar("bytes_behind", (2, 2), bytes, |columns| {
        let bytes = columns
            .iter()
            .map(|column| column.cast(&DataType::Binary))
            .collect::<PolarsResult<Vec<_>>>()?;
        let (first, second) = (bytes[0].binary()?, bytes[1].binary()?);
        let both = |row: usize| concat_bytes(first, second, row);
        Ok(bytes_column((0..row_count(columns)).map(both).collect()))
    }),
    scalar(TYPE_OF, (1, 1), text, |columns| {
        let name = type_name(columns[0].dtype());
        Ok(Column::new_scalar(
            columns[0].name().clone(),
            Scalar::from(PlSmallStr::from(name)),
            columns[0].len(),
        ))
    }),
    scalar("hex", (1, 1), text, hex_text),
    scalar("to_hex", (1, 1), text, hex_text),
    scalar("to_base", (2, 3), text, |columns| match columns.len() {
        2 => Ok(texts_column(of_wholes(columns, |[number, base]| {
            to_base(number, base, 0).map(Some)
        })?)),
        _ => Ok(texts_column(of_wholes(
            columns,
            |[number, base, length]| to_base(number, base, length).map(Some),
        )?)),
    }),
    scalar("bin", (1, 1), text, binary_digits),
    scalar("to_binary", (1, 1), text, binary_digits),
    scalar("unbin", (1, 1), bytes, |columns| {
        Ok(bytes_column(of_texts(columns, |[digits]| {
            from_binary(digits).map(Some)
        })?))
    }),
    scalar("unhex", (1, 1), bytes, |columns| {
        Ok(bytes_column(of_texts(columns, |[digits]| {
            from_hex(digits).map(Some)
        })?))
    }),
    scalar("from_hex", (1, 1), bytes, |columns| {
        Ok(bytes_column(of_texts(columns, |[digits]| {
            from_hex(digits).map(Some)
        })?))
    }),
    scalar("base64", (1, 1), text, |columns| {
        Ok(texts_column(of_bytes(&columns[0], |bytes| {
            STANDARD.encode(bytes)
        })?))
    }),
    scalar("to_base64", (1, 1), text, |columns| {
        Ok(texts_column(of_bytes(&columns[0], |bytes| {
            STANDARD.encode(bytes)
        })?))
    }),
    scalar("from_base64", (1, 1), bytes, |columns| {
        Ok(bytes_column(of_texts(columns, |[code]| {
            from_base64(code).map(Some)
        })?))
    }),
    scalar("encode", (1, 1), bytes, |columns| {
        Ok(bytes_column(of_texts(columns, |[text]| {
            Ok(Some(text.as_bytes().to_vec()))
        })?))
    }),
    scalar("decode", (1, 1), text, decode_utf8),
    scalar("levenshtein", (2, 2), whole, |columns| {
        Ok(wholes_column(of_texts(columns, |[a, b]| {
            Ok(Some(edits(a, b)))
        })?))
    }),
    scalar("editdist3", (2, 2), whole, |columns| {
        Ok(wholes_column(of_texts(columns, |[a, b]| {
            Ok(Some(edits(a, b)))
        })?))
    }),
    scalar("damerau_levenshtein", (2, 2), whole, |columns| {
        Ok(wholes_column(of_texts(columns, count_edits_and_swaps)?))
    }),
    scalar("hamming", (2, 2), whole, |columns| {
        Ok(wholes_column(of_texts(columns, mismatches)?))
    }),
    scalar("mismatches", (2, 2), whole, |columns| {
        Ok(wholes_column(of_texts(columns, mismatches)?))
    }),
    scalar("jaccard", (2, 2), double, |columns| {
        Ok(doubles_column(of_texts(columns, jaccard)?))
    }),
    scalar("jaro_similarity", (2, 2), double, |columns| {
        Ok(doubles_column(of_texts(columns, |[a, b]| {
            Ok(Some(strsim::jaro(a, b)))
        })?))
    }),
    scalar("jaro_winkler_similarity", (2, 2), double, |columns| {
        Ok(doubles_column(of_texts(columns, |[a, b]| {
            Ok(Some(strsim::jaro_winkler(a, b)))
        })?))
    }),
    scalar("strip_accents", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, strip_accents)?))
    }),
    scalar("nfc_normalize", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text]| {
            Ok(Some(text.nfc().collect()))
        })?))
    }),
    scalar("left_grapheme", (2, 2), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text, count]| {
            let (of, count) = (Graphemes::new(text), grapheme_number(count)?);
            let end = if count < 0 {
                of.count().saturating_add(count)
            } else {
                count
            };
            Ok(Some(of.part(0, end)))
        })?))
    }),
    scalar("right_grapheme", (2, 2), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text, count]| {
            let (of, count) = (Graphemes::new(text), grapheme_number(count)?);
            let all = of.count();
            let start = if count < 0 {
                count.saturating_neg()
            } else {
                all.saturating_sub(count)
            };
            Ok(Some(of.part(start, all)))
        })?))
    }),
    scalar("length_grapheme", (1, 1), whole, |columns| {
        Ok(wholes_column(of_texts(columns, |[text]| {
            Ok(Some(Graphemes::new(text).count()))
        })?))
    }),
    scalar("substring_grapheme", (2, 3), text, |columns| {
        Ok(texts_column(match columns.len() {
            2 => of_texts(columns, |[text, first]| {
                Graphemes::new(text).substring(first, None).map(Some)
            })?,
            _ => of_texts(columns, |[text, first, count]| {
                Graphemes::new(text).substring(first, Some(count)).map(Some)
            })?,
        }))
    }),
    scalar("url_encode", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text]| {
            Ok(Some(utf8_percent_encode(text, URL_ENCODED).to_string()))
        })?))
    }),
    scalar("url_decode", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text]| {
            Ok(Some(
                percent_decode_str(text).decode_utf8_lossy().into_owned(),
            ))
        })?))
    }),
    scalar(
        "regexp_extract_all",
        (2, 3),
        list_of_texts,
        regexp_extract_all,
    ),
    scalar("regexp_split_to_array", (2, 3), list_of_texts, regexp_split),
    scalar("string_split_regex", (2, 3), list_of_texts, regexp_split),
    scalar("str_split_regex", (2, 3), list_of_texts, regexp_split),
    scalar("regexp_escape", (1, 1), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text]| {
            Ok(Some(escape_regex(text)))
        })?))
    }),
    scalar("glob_match", (2, 2), truth, |columns| {
        let cache = RegexCache::default();
        let matches = of_texts(columns, |arguments| matches_glob(arguments, &cache))?;
        Ok(truths_column(matches))
    }),
    scalar("padded_left", (3, 3), text, |columns| {
        pad_texts(columns, true)
    }),
    scalar("padded_right", (3, 3), text, |columns| {
        pad_texts(columns, false)
    }),
    scalar("trimmed", (2, 2), text, |columns| {
        Ok(texts_column(of_texts(columns, |[text, letters]| {
            Ok(Some(
                text.trim_matches(|letter| letters.contains(letter))
                    .to_owned(),
            ))
        })?))
    }),
];

/// The texts with each letter replaced; `of_ascii` does so for texts of ASCII.
fn of_letters(
    columns: &[Column],
    of_ascii: fn(&str) -> String,
    of: fn(char) -> char,
) -> PolarsResult<Column> {
    let texts = of_texts(columns, |[text]| {
        Ok(Some(if text.is_ascii() {
            of_ascii(text)
        } else {
            text.chars().map(of).collect()
        }))
    })?;
    Ok(texts_column(texts))
}

/// The capital of a letter if it is one letter, by the simple mapping of Unicode.
fn upper_letter(letter: char) -> char {
    let moved = |by: u32| char::from_u32(u32::from(letter) + by).unwrap_or(letter);
    let mut capitals = letter.to_uppercase();
    match (letter, capitals.next(), capitals.next()) {
        ('ß', ..) => 'ẞ',
        // Greek with iota subscript: the capitals of the full mapping are two letters.
        ('\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}', ..) => {
            moved(8)
        }
        ('\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}', ..) => moved(9),
        (_, Some(capital), None) => capital,
        _ => letter,
    }
}

fn lower_letter(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// The results of a function of the bytes of a text or blob.
fn of_bytes(column: &Column, of: impl Fn(&[u8]) -> String) -> PolarsResult<Vec<Option<String>>> {
    if *column.dtype() == DataType::Binary {
        return Ok(column
            .binary()?
            .iter()
            .map(|bytes| bytes.map(&of))
            .collect());
    }
    let texts = cast_to(column, &DataType::String)?;
    Ok(texts
        .str()?
        .iter()
        .map(|text| text.map(|text| of(text.as_bytes())))
        .collect())
}

fn hex_text(columns: &[Column]) -> PolarsResult<Column> {
    let column = &columns[0];
    if column.dtype().is_integer() {
        return Ok(texts_column(of_wholes(columns, |[number]| {
            Ok(Some(format!("{number:X}")))
        })?));
    }
    Ok(texts_column(of_bytes(column, |bytes| {
        hex::encode_upper(bytes)
    })?))
}

fn binary_digits(columns: &[Column]) -> PolarsResult<Column> {
    let column = &columns[0];
    if column.dtype().is_integer() {
        return Ok(texts_column(of_wholes(columns, |[number]| {
            Ok(Some(format!("{number:b}")))
        })?));
    }
    Ok(texts_column(of_bytes(column, write_bits)?))
}

fn write_bits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:08b}")).collect()
}

/// The bytes of a row of two columns behind one another; `None` where one is null.
fn concat_bytes(first: &BinaryChunked, second: &BinaryChunked, row: usize) -> Option<Vec<u8>> {
    let first = first.get(broadcast_row(first.len(), row))?;
    let second = second.get(broadcast_row(second.len(), row))?;
    Some([first, second].concat())
}

/// The letters that are changed between two texts, where two that are swapped are one change.
fn count_edits_and_swaps([a, b]: [&str; 2]) -> PolarsResult<Option<i64>> {
    let edits = strsim::generic_damerau_levenshtein(a.as_bytes(), b.as_bytes());
    Ok(Some(edits as i64))
}

fn strip_accents([text]: [&str; 1]) -> PolarsResult<Option<String>> {
    let letters = text.nfd().filter(|letter| !is_combining_mark(*letter));
    Ok(Some(letters.nfc().collect()))
}

fn from_hex(digits: &str) -> PolarsResult<Vec<u8>> {
    let even = if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_owned()
    };
    hex::decode(&even).map_err(|_| {
        refusal(format!(
            "'{}' has letters that are not hexadecimal digits",
            digits.printable_line()
        ))
    })
}

/// The bytes of binary digits, of which the first byte may have fewer than eight.
fn from_binary(digits: &str) -> PolarsResult<Vec<u8>> {
    if let Some(other) = digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
        return Err(refusal(format!("{other} is no binary digit")));
    }
    let (first, rest) = digits.as_bytes().split_at(digits.len() % 8);
    let first = (!first.is_empty()).then(|| read_bits(first));
    Ok(first
        .into_iter()
        .chain(rest.chunks(8).map(read_bits))
        .collect())
}

fn read_bits(digits: &[u8]) -> u8 {
    digits
        .iter()
        .fold(0, |byte, digit| byte << 1 | (digit - b'0'))
}

/// A text by what a reader sees as one letter (Unicode, Annex 29).
struct Graphemes<'a>(Vec<&'a str>);

impl<'a> Graphemes<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.graphemes(true).collect())
    }

    fn count(&self) -> i64 {
        self.0.len() as i64
    }

    /// The letters from `start` to before `end`, counted from 0.
    fn part(&self, start: i64, end: i64) -> String {
        let (start, end) = (start.clamp(0, self.count()), end.clamp(0, self.count()));
        self.0
            .get(start as usize..end as usize)
            .unwrap_or_default()
            .concat()
    }

    /// As `substring`: the first position from 1, or from the end if negative, and a number of
    /// letters, to the left if negative.
    fn substring(&self, first: &str, count: Option<&str>) -> PolarsResult<String> {
        let start = match grapheme_number(first)? {
            first if first < 0 => first.saturating_add(self.count()).max(0),
            first => first - 1,
        };
        let end = match count {
            Some(count) => start.saturating_add(grapheme_number(count)?),
            None => self.count(),
        };
        Ok(self.part(start.min(end), start.max(end)))
    }
}

fn grapheme_number(text: &str) -> PolarsResult<i64> {
    text.parse()
        .map_err(|_| refusal(format!("'{}' is no whole number", text.printable_line())))
}

fn from_base64(code: &str) -> PolarsResult<Vec<u8>> {
    STANDARD
        .decode(code)
        .map_err(|_| refusal(format!("'{}' is not base64", code.printable_line())))
}

/// The text of bytes in UTF-8.
fn decode_utf8(columns: &[Column]) -> PolarsResult<Column> {
    if *columns[0].dtype() != DataType::Binary {
        return Ok(cast_to(&columns[0], &DataType::String)?.into_column());
    }
    let texts = columns[0]
        .binary()?
        .iter()
        .map(|bytes| bytes.map(decode_utf8_bytes).transpose())
        .collect::<PolarsResult<Vec<_>>>()?;
    Ok(texts_column(texts))
}

fn decode_utf8_bytes(bytes: &[u8]) -> PolarsResult<String> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| refusal("decode: the bytes are not UTF-8"))?;
    Ok(text.to_owned())
}

/// Bytes that are inserted, removed or replaced.
fn edits(one: &str, other: &str) -> i64 {
    strsim::generic_levenshtein(&TextBytes(one.as_bytes()), &TextBytes(other.as_bytes())) as i64
}

/// Bytes as the distances of texts take them.
struct TextBytes<'a>(&'a [u8]);

impl<'b> IntoIterator for &TextBytes<'b> {
    type Item = &'b u8;
    type IntoIter = std::slice::Iter<'b, u8>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Number of bytes that differ.
fn mismatches([one, other]: [&str; 2]) -> PolarsResult<Option<i64>> {
    if one.len() != other.len() {
        return Err(refusal("hamming takes texts of the same length"));
    }
    Ok(Some(
        one.bytes()
            .zip(other.bytes())
            .filter(|(one, other)| one != other)
            .count() as i64,
    ))
}

/// Letters that both texts have, of those that one of them has.
fn jaccard([one, other]: [&str; 2]) -> PolarsResult<Option<f64>> {
    if one.is_empty() || other.is_empty() {
        return Err(refusal("jaccard takes texts that are not empty"));
    }
    let (one, other): (HashSet<u8>, HashSet<u8>) = (one.bytes().collect(), other.bytes().collect());
    Ok(Some(
        one.intersection(&other).count() as f64 / one.union(&other).count() as f64,
    ))
}

/// Matches a shell's pattern: `*`, `?` and `[a-z]`, with `\` before a letter that is meant itself.
fn matches_glob([text, pattern]: [&str; 2], cache: &RegexCache) -> PolarsResult<Option<bool>> {
    let mut regex = String::from("(?s)^");
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => {
                regex.push('[');
                if letters.next_if_eq(&'!').is_some() {
                    regex.push('^');
                }
                for letter in letters.by_ref() {
                    match letter {
                        ']' => break,
                        '\\' | '[' | '&' | '~' => regex.extend(['\\', letter]),
                        letter => regex.push(letter),
                    }
                }
                regex.push(']');
            }
            '\\' => regex.push_str(&regex::escape(&letters.next().unwrap_or('\\').to_string())),
            letter => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    Ok(Some(cache.compile(&regex)?.is_match(text)))
}

/// The compiled patterns of one call of a function: most columns of patterns have one value.
#[derive(Default)]
struct RegexCache(RefCell<HashMap<String, Regex>>);

impl RegexCache {
    /// Maximum number of patterns that are kept.
    const MAX_PATTERNS: usize = 64;

    fn compile(&self, pattern: &str) -> PolarsResult<Regex> {
        let mut patterns = self.0.borrow_mut();
        if let Some(regex) = patterns.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Regex::new(pattern).map_err(|_| {
            refusal(format!(
                "the pattern '{}' is not a regular expression",
                pattern.printable_line()
            ))
        })?;
        if patterns.len() >= Self::MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }
}

/// All matches of a pattern, or of one of its groups.
fn regexp_extract_all(columns: &[Column]) -> PolarsResult<Column> {
    let cache = RegexCache::default();
    let lists = match columns {
        [_, _] => of_texts(columns, |[text, pattern]| {
            find_all_matches(text, &cache.compile(pattern)?, 0)
        })?,
        _ => of_texts(columns, |[text, pattern, group]| {
            let group = group
                .parse()
                .map_err(|_| refusal("regexp_extract_all takes the number of a group"))?;
            find_all_matches(text, &cache.compile(pattern)?, group)
        })?,
    };
    text_lists_column(lists)
}

fn find_all_matches(text: &str, regex: &Regex, group: usize) -> PolarsResult<Option<Vec<String>>> {
    if group >= regex.captures_len() {
        return Err(refusal(format!(
            "regexp_extract_all: the pattern has no group {group}"
        )));
    }
    let found = regex
        .captures_iter(text)
        .map(|found| found.get(group).map_or("", |part| part.as_str()).to_owned());
    Ok(Some(found.collect::<Vec<String>>()))
}

/// The parts of a text between matches of a pattern; an empty match ends after each letter.
fn regexp_split(columns: &[Column]) -> PolarsResult<Column> {
    let cache = RegexCache::default();
    let lists = match columns {
        [_, _] => of_texts(columns, |[text, pattern]| {
            split_at_matches(text, pattern, "", &cache)
        })?,
        _ => of_texts(columns, |[text, pattern, options]| {
            split_at_matches(text, pattern, options, &cache)
        })?,
    };
    text_lists_column(lists)
}

fn split_at_matches(
    text: &str,
    pattern: &str,
    options: &str,
    cache: &RegexCache,
) -> PolarsResult<Option<Vec<String>>> {
    let pattern = with_options(pattern, options)
        .map_err(|option| refusal(format!("{option} is no option of a pattern")))?;
    let parts = cache
        .compile(&pattern)?
        .split(text)
        .map(str::to_owned)
        .collect::<Vec<String>>();
    Ok(Some(parts))
}

/// The pattern that matches a text only, as RE2 writes it: every letter but letters, digits and `_`
/// after a backslash.
fn escape_regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && letter != '_' {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// A text cut to a number of letters, or filled up to it.
fn pad_texts(columns: &[Column], left: bool) -> PolarsResult<Column> {
    Ok(texts_column(of_texts(columns, |arguments| {
        pad_text(arguments, left)
    })?))
}

fn pad_text([text, length, filling]: [&str; 3], left: bool) -> PolarsResult<Option<String>> {
    /// Longest result, so that a mistaken number takes no memory.
    const LENGTH_MAX: usize = 1 << 20;
    let length: f64 = length
        .parse()
        .map_err(|_| refusal("a length is a number"))?;
    let length = length.max(0.0) as usize;
    let letters: Vec<char> = text.chars().collect();
    if letters.len() >= length {
        return Ok(Some(letters[..length].iter().collect::<String>()));
    }
    if length > LENGTH_MAX {
        return Err(refusal(format!(
            "a text is filled up to {LENGTH_MAX} letters at most"
        )));
    }
    if filling.is_empty() {
        return Err(refusal("a text is filled up with a text that is not empty"));
    }
    let filling = filling.chars().cycle().take(length - letters.len());
    Ok(Some(if left {
        filling.chain(letters.iter().copied()).collect()
    } else {
        letters.iter().copied().chain(filling).collect()
    }))
}
/// A number in a base from 2 to 36, filled up with zeros to a length.
fn to_base(number: i64, base: i64, length: i64) -> PolarsResult<String> {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if number < 0 || !(2..=36).contains(&base) || !(0..=64).contains(&length) {
        return Err(refusal(
            "to_base takes a number that is not negative, a base from 2 to 36 and a length of at \
                most 64",
        ));
    }
    let (mut rest, mut digits) = (number, Vec::new());
    while rest > 0 || digits.is_empty() {
        digits.push(char::from(DIGITS[(rest % base) as usize]));
        rest /= base;
    }
    digits.resize(digits.len().max(length as usize), '0');
    Ok(digits.into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphemes_and_binary_digits_are_those_of_duckdb() {
        let two = Graphemes::new("🤦🏼‍♂️🤦🏽‍♀️");
        assert_eq!(two.count(), 2);
        assert_eq!(two.part(0, 1), "🤦🏼‍♂️");
        let text = Graphemes::new("abcd");
        for (first, count, wanted) in [
            ("-2", None, "cd"),
            ("0", Some("2"), "a"),
            ("-2", Some("1"), "c"),
            ("3", Some("-2"), "ab"),
            ("-10", Some("8"), "abcd"),
        ] {
            let found = text.substring(first, count).expect("a text");
            assert_eq!(found, wanted, "{first} {count:?}");
        }
        assert_eq!(from_binary("0110").expect("digits"), [6]);
        assert_eq!(from_binary("111100001").expect("digits"), [1, 0xE1]);
        assert!(from_binary("012").is_err());
    }
}
