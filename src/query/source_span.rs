//! Positions in a statement: line and column for messages, byte ranges for the editor.

use sqlparser::tokenizer::{Location, Span};

use crate::error::{Cause, Error, SqlSpan};

/// One statement of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementSource<'a> {
    pub text: &'a str,
    /// 0-based number of the statement in the query.
    pub statement: usize,
    /// Number of statements in the query.
    pub statements: usize,
}

impl<'a> StatementSource<'a> {
    /// A single statement or condition.
    pub fn alone(text: &'a str) -> Self {
        Self {
            text,
            statement: 0,
            statements: 1,
        }
    }

    /// Adds the position of `span` to the error, as `line 2, column 5`, preceded by `statement 1: `
    /// if there are several. Generated nodes have empty spans; their errors get the position of the
    /// statement.
    pub fn locate(&self, error: Error, span: Span) -> Error {
        if span == Span::empty() {
            return self.locate_statement(error);
        }
        let Location { line, column } = span.start;
        let start = self.byte(span.start);
        let end = self.byte(span.end).max(start);
        let cause = Cause::Sql(SqlSpan {
            statement: self.statement,
            start,
            end,
        });
        error
            .at_place(format!("{}line {line}, column {column}", self.prefix()))
            .caused_by(cause)
    }

    /// Adds the statement number to the error, if there are several statements and it has no
    /// position yet.
    pub fn locate_statement(&self, error: Error) -> Error {
        if self.statements < 2 || error.place().is_some() {
            return error;
        }
        error.at_place(format!("{}line 1, column 1", self.prefix()))
    }

    /// The text from the start of `span`.
    pub fn text_from(&self, span: Span) -> &'a str {
        self.text.get(self.byte(span.start)..).unwrap_or_default()
    }

    fn prefix(&self) -> String {
        if self.statements > 1 {
            format!("statement {}: ", self.statement + 1)
        } else {
            String::new()
        }
    }

    /// Byte offset of a location; its line and column are 1-based, columns in characters.
    pub fn byte(&self, location: Location) -> usize {
        let line = usize::try_from(location.line)
            .unwrap_or(1)
            .saturating_sub(1);
        let column = usize::try_from(location.column)
            .unwrap_or(1)
            .saturating_sub(1);
        let start: usize = self
            .text
            .split_inclusive('\n')
            .take(line)
            .map(str::len)
            .sum();
        let rest = self.text.get(start..).unwrap_or_default();
        start
            + rest
                .char_indices()
                .nth(column)
                .map_or(rest.len(), |(byte, _)| byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_lines_and_columns_for_people_and_bytes_for_the_editor() {
        let source = StatementSource {
            text: "SELECT id\nFROM data WHERE clüd > 1",
            statement: 1,
            statements: 3,
        };
        let span = Span::new(Location::new(2, 17), Location::new(2, 21));
        let error = source.locate(Error::usage("no"), span);
        assert_eq!(error.place(), Some("statement 2: line 2, column 17"));
        let Some(Cause::Sql(found)) = error.causes().next() else {
            panic!("{error:?}")
        };
        assert_eq!(
            (found.statement, &source.text[found.start..found.end]),
            (1, "clüd")
        );
        assert_eq!(
            StatementSource::alone("SELECT")
                .locate(Error::usage("no"), Span::empty())
                .place(),
            None
        );
    }
}
