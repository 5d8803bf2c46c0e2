//! Patterns of DuckDB as regular expressions, and its formats of times as those of the engine.

use sqlparser::ast::{Expr, Value, ValueWithSpan};

/// The regular expression of a LIKE pattern, for the whole text: `%` is any text and `_` any
/// character, except after `escape`. `None` if the pattern ends with `escape`.
pub(super) fn of_like(pattern: &str, escape: Option<char>, any_case: bool) -> Option<String> {
    let mut regex = String::from(if any_case { r"(?is)\A" } else { r"(?s)\A" });
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                regex.push_str(&regex::escape(letters.next()?.encode_utf8(&mut [0; 4])))
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            letter => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    Some(regex + r"\z")
}

/// [`of_like`] with the character of ESCAPE as a statement has it.
///
/// # Errors
/// What is wrong with it.
pub(super) fn like_regex(
    pattern: &str,
    escape: Option<&ValueWithSpan>,
    any_case: bool,
) -> Result<String, &'static str> {
    let escape = match escape.map(|escape| &escape.value) {
        None => None,
        Some(Value::SingleQuotedString(text)) if text.chars().nth(1).is_none() => {
            text.chars().next()
        }
        Some(_) => return Err("ESCAPE with more than one character"),
    };
    of_like(pattern, escape, any_case).ok_or("a pattern that ends with the character of ESCAPE")
}

/// The regular expression that matches only whole texts.
pub(super) fn of_whole_text(pattern: &str) -> String {
    format!(r"\A(?:{pattern})\z")
}

/// The regular expression with the options of DuckDB's functions: `i` (any case), `s` (`.` matches
/// line ends too), `l` (no pattern but a text), `c`, `m`, `n` and `p` (the defaults). `Err` with
/// the first letter that is no option.
pub(super) fn with_options(pattern: &str, options: &str) -> Result<String, char> {
    let (mut flags, mut pattern) = (String::new(), pattern.to_owned());
    for option in options.chars() {
        match option {
            'i' | 's' => flags.push(option),
            'l' => pattern = regex::escape(&pattern),
            'c' | 'm' | 'n' | 'p' => {}
            other => return Err(other),
        }
    }
    Ok(if flags.is_empty() {
        pattern
    } else {
        format!("(?{flags}:{pattern})")
    })
}

/// A format of `strftime` in the engine's letters. Of DuckDB's letters `%f` are microseconds, `%g`
/// milliseconds, `%n` nanoseconds, `%c`, `%x` and `%X` have the form of ISO 8601, and `%z` is that
/// of UTC, in which all times are written; `zone` is its name, empty for times without one.
pub(super) fn written_time(format: &str, zone: &'static str) -> String {
    spelled_format(format, |letter| match letter {
        'f' => Some("%6f"),
        'g' => Some("%3f"),
        'n' => Some("%9f"),
        'z' => Some("+00"),
        'Z' => Some(zone),
        other => iso(other),
    })
}

/// A format of `strptime` in the engine's letters, which read a fraction of a second with its
/// point.
pub(super) fn read_time(format: &str) -> String {
    let fractions = ["%f", "%g", "%n"]
        .iter()
        .fold(format.to_owned(), |format, letter| {
            format.replace(&format!(".{letter}"), "%.f")
        });
    spelled_format(&fractions, iso)
}

fn iso(letter: char) -> Option<&'static str> {
    Some(match letter {
        'c' => "%Y-%m-%d %H:%M:%S",
        'x' => "%Y-%m-%d",
        'X' => "%H:%M:%S",
        _ => return None,
    })
}

/// The format with letters after `%` replaced; `%%` stays.
fn spelled_format(format: &str, spelled: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(format.len());
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.as_str().chars().next()) {
            ('%', Some(next)) => {
                letters.next();
                match spelled(next) {
                    Some(instead) => out.push_str(instead),
                    None => out.extend(['%', next]),
                }
            }
            _ => out.push(letter),
        }
    }
    out
}

/// The text of a string literal.
pub(super) fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_patterns_match_whole_texts() {
        for (pattern, escape, any_case, text, wanted) in [
            ("a%", None, false, "abc", true),
            ("a_c", None, false, "a\nc", true),
            ("a#_c", Some('#'), false, "abc", false),
            ("a#_c", Some('#'), false, "a_c", true),
            ("a##%", Some('#'), false, "a#b", true),
            ("A.C", None, true, "a.c", true),
            ("a.c", None, false, "abc", false),
            ("b", None, false, "abc", false),
        ] {
            let regex = of_like(pattern, escape, any_case).expect("a pattern");
            assert_eq!(
                regex::Regex::new(&regex).expect("a regex").is_match(text),
                wanted,
                "{pattern} {text}"
            );
        }
        assert_eq!(of_like("a#", Some('#'), false), None);
    }

    #[test]
    fn options_and_formats_are_spelled_for_the_engine() {
        assert_eq!(with_options("a.c", "").as_deref(), Ok("a.c"));
        assert_eq!(with_options("a.c", "is").as_deref(), Ok("(?is:a.c)"));
        assert_eq!(with_options("a.c", "l").as_deref(), Ok(r"a\.c"));
        assert_eq!(with_options("a", "q"), Err('q'));
        assert_eq!(
            written_time("%Y.%f %% %-d %c%z%Z %%Z", "UTC"),
            "%Y.%6f %% %-d %Y-%m-%d %H:%M:%S+00UTC %%Z"
        );
        assert_eq!(read_time("%S.%f"), "%S%.f");
    }
}
