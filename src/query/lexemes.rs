//! Tokens of a statement, complete or not, with byte ranges, for the editor's highlighting.

use std::ops::Range;

use sqlparser::tokenizer::{Location, Token, Tokenizer, Whitespace};

use super::sql_dialect::DuckDb;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lexeme {
    /// Keyword or unquoted identifier.
    Word,
    /// Quoted identifier.
    Quoted,
    /// String literal.
    Text,
    /// Numeric literal.
    Number,
    /// Comment: `--` to the end of the line, or `/* … */`.
    Comment,
    /// Operator or punctuation.
    Mark,
}

/// Tokens of a statement in order, as the parser reads them, without whitespace. Ranges are in
/// bytes. An unterminated token extends to the end.
pub fn lexemes(sql: &str) -> Vec<(Range<usize>, Lexeme)> {
    let dialect = DuckDb::default();
    let mut tokens = Vec::new();
    // The only error is an unterminated quote or comment.
    let _ = Tokenizer::new(&dialect, sql).tokenize_with_location_into_buf(&mut tokens);
    let mut cursor = LocationCursor {
        sql,
        byte: 0,
        line: 1,
        column: 1,
    };
    let mut found = Vec::with_capacity(tokens.len());
    let mut end = 0;
    for token in &tokens {
        let start = cursor.advance(token.span.start);
        end = cursor.advance(token.span.end);
        let lexeme = match &token.token {
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => Lexeme::Comment,
            Token::Whitespace(_) => continue,
            Token::Word(word) if word.quote_style.is_some() => Lexeme::Quoted,
            Token::Word(_) => Lexeme::Word,
            Token::Number(..) => Lexeme::Number,
            _ if sql[start..end].contains('\'') => Lexeme::Text,
            _ => Lexeme::Mark,
        };
        let length = sql[start..end].trim_end_matches('\n').len();
        found.push((start..start + length, lexeme));
    }
    let rest = sql[end..].trim_start();
    if !rest.is_empty() {
        let lexeme = match rest.as_bytes() {
            [b'\'', ..] => Lexeme::Text,
            [b'"' | b'`', ..] => Lexeme::Quoted,
            [b'/', b'*', ..] => Lexeme::Comment,
            _ => Lexeme::Mark,
        };
        found.push((sql.len() - rest.len()..sql.len(), lexeme));
    }
    found
}

/// Converts ascending locations to byte offsets.
struct LocationCursor<'a> {
    sql: &'a str,
    byte: usize,
    line: u64,
    column: u64,
}

impl LocationCursor<'_> {
    fn advance(&mut self, to: Location) -> usize {
        while (self.line, self.column) < (to.line, to.column) {
            let Some(letter) = self
                .sql
                .get(self.byte..)
                .and_then(|rest| rest.chars().next())
            else {
                break;
            };
            self.byte += letter.len_utf8();
            (self.line, self.column) = if letter == '\n' {
                (self.line + 1, 1)
            } else {
                (self.line, self.column + 1)
            };
        }
        self.byte
    }
}
