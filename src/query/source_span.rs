//! Where in a statement something is wrong: by line and column for people.

use std::fmt;

use super::sql_dialect::{self, Rewritten};

/// A place in one of the statements of a query. Written as `line 2, column 5`, with `statement 1: ` before it where there are
/// several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The statement, from 0; `None` when there is only one.
    pub statement: Option<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(statement) = self.statement {
            write!(f, "statement {}: ", statement + 1)?;
        }
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl Place {
    /// The beginning of a statement.
    pub(super) fn start(step: usize, statements: usize) -> Self {
        Self { statement: None, line: 1, column: 1 }.in_step(step, statements)
    }

    pub(super) fn in_step(mut self, step: usize, statements: usize) -> Self {
        self.statement = (statements > 1).then_some(step);
        self
    }

    /// Where a name stands.
    pub(super) fn of_word(sql: &str, word: &str) -> Option<Self> {
        sql_dialect::find_name(sql, word).map(|range| Self::at(sql, range.start))
    }

    /// The place that the parser tells at the end of its message.
    pub(super) fn reported(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once("Line: ")?;
        let (line, column) = rest.split_once(", Column: ")?;
        let digits: String = column.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { statement: None, line: line.parse().ok()?, column: digits.parse().ok()? })
    }

    /// A message without the place at its end.
    pub(super) fn cut_from(text: &str) -> String {
        let cut = if Self::reported(text).is_some() { text.rfind(" at Line: ") } else { None };
        text[..cut.unwrap_or(text.len())].to_owned()
    }

    /// The first name of the statement that the engine's message has in quotes.
    pub(super) fn named(sql: &str, text: &str) -> Option<Self> {
        let quoted = |mark: char| text.split(mark).skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let mut names = quoted('`');
        names.extend(quoted('\''));
        names.extend(quoted('"'));
        names
            .iter()
            .filter(|name| !name.is_empty() && name.len() < 100)
            .find_map(|name| Self::of_word(sql, name.trim_end_matches("()")))
    }

    /// A place in the respelled statement as one in the statement as it was typed.
    pub(super) fn before_respelling(self, sql: &str, rewritten: &Rewritten) -> Option<Self> {
        let byte = self.byte(&rewritten.text);
        let (_, original) = rewritten.pieces.iter().rev().find(|(out, _)| *out <= byte)?;
        Some(Self::at(sql, *original))
    }

    fn at(sql: &str, byte: usize) -> Self {
        let before = sql.get(..byte).unwrap_or(sql);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { statement: None, line, column }
    }

    fn byte(&self, sql: &str) -> usize {
        let mut start = 0;
        for line in sql.split_inclusive('\n').take(self.line.saturating_sub(1)) {
            start += line.len();
        }
        let rest = sql.get(start..).unwrap_or_default();
        start + rest.char_indices().nth(self.column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns_of_a_statement() {
        let place = Place::of_word("SELECT id\nFROM data WHERE clüd > 1", "clüd").expect("is there");
        assert_eq!(place.to_string(), "line 2, column 17");
        assert_eq!(place.in_step(1, 3).to_string(), "statement 2: line 2, column 17");
    }

    #[test]
    fn words_in_texts_and_comments_are_no_place() {
        let sql = "SELECT 'sea' -- sea\n, stac:crs, \"sea\"";
        assert_eq!(Place::of_word(sql, "sea"), Some(Place { statement: None, line: 2, column: 13 }));
        assert_eq!(Place::of_word(sql, "stac:crs"), Some(Place { statement: None, line: 2, column: 3 }));
    }

    #[test]
    fn the_parsers_place_is_one_of_the_typed_statement() {
        let sql = "SELECT year(t) FROM data WHERE WHERE";
        let rewritten = sql_dialect::rewritten(sql, &|_| false);
        let byte = rewritten.text.rfind("WHERE").expect("is there");
        let reported = Place::reported(&format!("oops at Line: 1, Column: {}", byte + 1)).expect("is a place");
        let place = reported.before_respelling(sql, &rewritten).expect("leads back");
        assert_eq!(place.column, sql.rfind("WHERE").expect("is there") + 1);
        assert_eq!(Place::cut_from("oops at Line: 1, Column: 3"), "oops");
    }
}
