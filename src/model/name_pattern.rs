//! Patterns of ids with parts in braces: `S2A_{tile}_{date}_{n}`. One language for renaming by
//! pattern and for columns from names.

use regex::Regex;

use crate::error::{Error, Result};

/// What a part matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// At least one character, as few as possible.
    Text,
    /// Digits, with or without a sign where the type is written: `{n}`, `{tile:int}`.
    Integer,
    /// A number with or without decimals: `{cover:float}`.
    Float,
    /// A day as eight digits, with or without `-` or `_` between year, month and day: `{date}`,
    /// `{start:date}`.
    Date,
}

impl PartKind {
    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "text" => Self::Text,
            "int" => Self::Integer,
            "float" => Self::Float,
            "date" => Self::Date,
            _ => return None,
        })
    }
}

/// A part in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePart {
    /// Its name.
    pub name: String,
    /// What it matches.
    pub kind: PartKind,
}

/// A pattern that whole ids match.
#[derive(Clone, Debug)]
pub struct NamePattern {
    expression: Regex,
    parts: Vec<NamePart>,
}

impl NamePattern {
    /// Reads a pattern. `{n}` is an integer and `{date}` a date; other parts are text unless their
    /// type follows a colon.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a brace that is not closed, a part without a name, and a
    /// name that is there twice.
    pub fn new(pattern: &str) -> Result<Self> {
        let (mut expression, mut parts) = (String::from("^"), Vec::<NamePart>::new());
        let mut rest = pattern;
        while let Some(start) = rest.find('{') {
            expression += &regex::escape(&rest[..start]);
            let Some((inside, after)) = rest[start + 1..].split_once('}') else {
                return Err(Error::usage(format!(
                    "the pattern {pattern} has a {{ without its }}"
                )));
            };
            // A name may have a colon itself: only a known type behind the last one is a type.
            let typed = inside
                .rsplit_once(':')
                .and_then(|(name, word)| Some((name, PartKind::of_word(word)?)));
            let (name, kind) = typed.unwrap_or((
                inside,
                if inside == "date" {
                    PartKind::Date
                } else {
                    PartKind::Text
                },
            ));
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
            if name.is_empty()
                || !name.chars().all(is_name)
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                return Err(
                    Error::usage(format!("{{{inside}}} is no name of a part")).hint(
                        "write {n} for digits, {date} for a date, {name} for text; {name:int}, \
                        {name:float} and {name:date} have types",
                    ),
                );
            }
            if parts.iter().any(|known| known.name == name) {
                return Err(Error::usage(format!("the pattern has {{{name}}} twice"))
                    .hint("give the parts different names"));
            }
            let digits_alone = typed.is_none() && name == "n";
            expression += match kind {
                _ if digits_alone => "([0-9]+)",
                PartKind::Text => "(.+?)",
                PartKind::Integer => "([+-]?[0-9]+)",
                PartKind::Float => r"([+-]?[0-9]+(?:\.[0-9]+)?)",
                PartKind::Date => "([0-9]{4}[-_]?[0-9]{2}[-_]?[0-9]{2})",
            };
            parts.push(NamePart {
                name: name.to_owned(),
                kind: if digits_alone {
                    PartKind::Integer
                } else {
                    kind
                },
            });
            rest = after;
        }
        expression += &regex::escape(rest);
        expression.push('$');
        let expression = Regex::new(&expression)
            .map_err(|error| Error::usage("the pattern can't be used").because(error))?;
        Ok(Self { expression, parts })
    }

    /// The parts, in the order in which they are written.
    pub fn parts(&self) -> &[NamePart] {
        &self.parts
    }

    /// The texts of the parts in an id, in their order; `None` where it does not match.
    pub fn texts<'i>(&self, id: &'i str) -> Option<Vec<&'i str>> {
        let found = self.expression.captures(id)?;
        found
            .iter()
            .skip(1)
            .map(|text| text.map(|text| text.as_str()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_and_kinds() {
        let pattern = NamePattern::new("S2{sat}_{tile}_{date}_v{n}_{stac:band}_{cover:float}")
            .expect("a pattern");
        let kinds: Vec<(&str, PartKind)> = pattern
            .parts()
            .iter()
            .map(|part| (part.name.as_str(), part.kind))
            .collect();
        let expected = [
            ("sat", PartKind::Text),
            ("tile", PartKind::Text),
            ("date", PartKind::Date),
            ("n", PartKind::Integer),
            ("stac:band", PartKind::Text),
            ("cover", PartKind::Float),
        ];
        assert_eq!(kinds, expected);
        let texts = pattern
            .texts("S2A_T30_TXQ_2020-02-29_v007_B02_12.5")
            .expect("matches");
        assert_eq!(texts, ["A", "T30_TXQ", "2020-02-29", "007", "B02", "12.5"]);
        assert_eq!(pattern.texts("S2A_T30_20200229_v1_B02"), None);
        let plain = NamePattern::new("({x}).tif").expect("parentheses are text");
        assert_eq!(plain.texts("(a).tif"), Some(vec!["a"]));
    }

    #[test]
    fn patterns_that_are_none_are_refused() {
        for wrong in ["{open", "{}", "{a}_{a}", "{1}", "{a b}"] {
            assert!(NamePattern::new(wrong).is_err(), "{wrong}");
        }
    }
}
