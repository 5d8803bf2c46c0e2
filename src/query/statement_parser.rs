//! Statements of SQL: their tokens within limits, their verbs, their syntax trees.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, NullTreatment, Query, VisitMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer, Word};

use super::advice;
use super::name_forms::match_every_form;
use super::sample_clause::{keyword_of, without_samples, word_at};
use super::sampling::Samplings;
use super::source_span::StatementSource;
use super::sql_dialect::{DuckDb, POWER};
use super::syntax_walk::visit_expressions_mut;
use super::token_spellings::{SqlTokens, rewrite_tokens, with_turned_tables};
use crate::error::{Error, Result};

/// Maximum nesting of brackets.
const NESTING_MAX: usize = 48;

/// Maximum number of operators and CASE conditions: a chain of n makes a tree of depth n.
const OPERATORS_MAX: usize = 1_000;

/// Maximum number of SELECTs, including those in UNION and WITH.
const SELECTS_MAX: usize = 100;

/// Maximum number of tokens: a list of 20,000 values has 40,000.
const PIECES_MAX: usize = 50_000;

/// Recursion limit of the parser: a bracket takes up to four calls.
const RECURSION_MAX: usize = 250;

/// Maximum number of statements in one text.
const STATEMENTS_MAX: usize = 100;

/// Maximum number of times that an expression is begun, for each token and in all. The parser tries
/// some expressions as something else first: nested in one another, each level doubles what is
/// tried.
const BEGUN_MAX: (usize, usize) = (50, 20_000);

/// Tokenizes a statement and checks its size.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for unterminated strings and comments;
/// [`crate::error::Kind::TooLarge`] for statements above the limits, which bound the recursion of
/// parsing, planning and execution.
pub(super) fn tokens(source: &StatementSource) -> Result<SqlTokens> {
    let dialect = DuckDb::default();
    let found = Tokenizer::new(&dialect, source.text)
        .tokenize_with_location()
        .map_err(|error| {
            let span = Span::new(error.location, error.location);
            source.locate(
                Error::usage("the query could not be understood").because(error.message),
                span,
            )
        })?;
    let tokens: SqlTokens = found
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    check_size(&tokens)?;
    Ok(tokens)
}

fn check_size(tokens: &[TokenWithSpan]) -> Result<()> {
    let (mut operators, mut selects, mut depth, mut deepest) = (0, 0, 0usize, 0);
    let mut begins = true;
    for token in tokens {
        let mut next_begins = false;
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                depth += 1;
                deepest = deepest.max(depth);
                next_begins = true;
            }
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            Token::Comma | Token::SemiColon | Token::Period => {}
            Token::Number(..) | Token::SingleQuotedString(_) => {}
            Token::Word(word) => match word.keyword {
                Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::WHEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::BETWEEN
                | Keyword::IS => operators += 1,
                Keyword::SELECT => selects += 1,
                // DuckDB allows FROM without SELECT.
                Keyword::FROM if begins => selects += 1,
                Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::ALL
                | Keyword::NAME => next_begins = true,
                _ => {}
            },
            _ => operators += 1,
        }
        begins = next_begins;
    }
    let found = [
        (
            deepest,
            NESTING_MAX,
            "brackets within one another",
            "write it flat, or in several steps",
        ),
        (
            operators,
            OPERATORS_MAX,
            "operators",
            "ask for one of many values with IN (…)",
        ),
        (selects, SELECTS_MAX, "SELECTs", "write it in several steps"),
        (
            tokens.len(),
            PIECES_MAX,
            "words and marks",
            "join a table of the values instead",
        ),
    ];
    match found.into_iter().find(|(count, most, ..)| count > most) {
        Some((count, most, what, hint)) => Err(Error::too_large(format!(
            "the query has {count} {what}; {most} is the most"
        ))
        .hint(hint)),
        None => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// A query.
    Rows,
    /// EXPLAIN: the plan of a query.
    Explain,
    /// SHOW TABLES: all table names.
    ShowTables,
    /// DESCRIBE: columns of a table or query.
    Describe,
    /// PRAGMA table_info: columns of a table, as DuckDB's storage has them.
    TableInfo,
    /// SUMMARIZE: column statistics of a table or query.
    Summarize,
}

/// Kind of a statement by its first words, and the number of tokens before its query.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for an empty statement, and for statements that are not read-only.
pub(super) fn find_statement_kind(
    source: &StatementSource,
    tokens: &[TokenWithSpan],
) -> Result<(StatementKind, usize)> {
    let word = |at: usize| read_upper_word(tokens, at);
    let start = tokens
        .iter()
        .position(|token| token.token != Token::LParen)
        .unwrap_or(tokens.len());
    let Some(first) = tokens.get(start) else {
        return Err(
            Error::usage("the query is empty").hint("start with: SELECT * FROM data LIMIT 10")
        );
    };
    let refused = |summary: String, hint: &str| {
        Err(source.locate(Error::usage(summary).hint(hint), first.span))
    };
    let word_at_start = word(start);
    match word_at_start.as_str() {
        "SELECT" | "WITH" | "FROM" | "VALUES" | "TABLE" | "PIVOT" | "UNPIVOT" => {
            Ok((StatementKind::Rows, 0))
        }
        "EXPLAIN" => Ok((
            StatementKind::Explain,
            start + 1 + usize::from(word(start + 1) == "ANALYZE"),
        )),
        "SHOW" if word(start + 1) == "TABLES" => Ok((StatementKind::ShowTables, tokens.len())),
        "SHOW" if tokens.len() == start + 2 => Ok((StatementKind::Describe, start + 1)),
        "SHOW" => refused(
            "SHOW lists TABLES only".into(),
            "SHOW TABLES, or DESCRIBE data for the columns of a table",
        ),
        "DESCRIBE" | "DESC" => Ok((StatementKind::Describe, start + 1)),
        "SUMMARIZE" => Ok((StatementKind::Summarize, start + 1)),
        "CREATE" => refused(
            format!("{word_at_start} changes tables; queries only read"),
            "name the rows in the query: WITH t AS (SELECT …) SELECT * FROM t",
        ),
        "COPY" | "EXPORT" => refused(
            format!("{word_at_start} writes files; queries only read"),
            "run the SELECT itself and save its result",
        ),
        "SET" | "RESET" | "INSTALL" | "LOAD" | "ATTACH" | "DETACH" | "USE" | "CALL" => refused(
            format!("a query can't start with {word_at_start}"),
            "nothing has to be set or loaded: start with SELECT; the tables are listed by SHOW \
                TABLES",
        ),
        "INSERT" | "UPDATE" | "DELETE" | "DROP" | "ALTER" | "TRUNCATE" | "MERGE" => refused(
            format!("{word_at_start} changes tables; queries only read"),
            "edit the dataset as a draft instead",
        ),
        "PRAGMA" if word(start + 1) == "TABLE_INFO" && word(start + 2) == "(" => {
            Ok((StatementKind::TableInfo, start + 3))
        }
        "PRAGMA" if word(start + 1) == "SHOW_TABLES" => {
            Ok((StatementKind::ShowTables, tokens.len()))
        }
        "PRAGMA" => refused(
            "PRAGMA is not supported".into(),
            "DESCRIBE data lists the columns, SHOW TABLES the tables",
        ),
        other => refused(
            format!("a query can't start with {}", other.escape_debug()),
            "start with SELECT, for example: SELECT * FROM data LIMIT 10",
        ),
    }
}

/// The token `at` in capitals; empty behind the last.
fn read_upper_word(tokens: &[TokenWithSpan], at: usize) -> String {
    tokens.get(at).map_or(String::new(), |token| {
        token.token.to_string().to_uppercase()
    })
}

/// The statements of a text with semicolons between them, each behind blanks in the place of the
/// others; none for a text with fewer than two.
///
/// # Errors
/// As [`tokens`].
pub(super) fn statements(text: &str) -> Result<Vec<String>> {
    if !text.contains(';') {
        return Ok(Vec::new());
    }
    let source = StatementSource::alone(text);
    let tokens = tokens(&source)?;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for part in tokens.split(|token| token.token == Token::SemiColon) {
        if let (Some(first), Some(last)) = (part.first(), part.last()) {
            found.push((source.byte(first.span.start), source.byte(last.span.end)));
        }
    }
    if found.len() < 2 {
        return Ok(Vec::new());
    }
    if found.len() > STATEMENTS_MAX {
        return Err(Error::too_large(format!(
            "the text has {} statements; {STATEMENTS_MAX} is the most",
            found.len()
        )));
    }
    let alone = found.into_iter();
    Ok(alone
        .map(|(start, end)| isolate_statement(text, start, end))
        .collect())
}

/// The bytes from `start` to `end` of a text behind blanks in the place of what is before them.
fn isolate_statement(text: &str, start: usize, end: usize) -> String {
    let blank = |letter: char| if letter == '\n' { '\n' } else { ' ' };
    text[..start]
        .chars()
        .map(blank)
        .chain(text[start..end].chars())
        .collect()
}

/// The table or query of DESCRIBE and SUMMARIZE, as a query.
pub(super) fn subject(source: &StatementSource, tokens: &[TokenWithSpan], start: usize) -> String {
    let Some(first) = tokens.get(start) else {
        return String::new();
    };
    if let Token::SingleQuotedString(name) = &first.token {
        return format!("SELECT * FROM \"{}\"", name.replace('"', "\"\""));
    }
    let rest = source
        .text_from(first.span)
        .trim_end()
        .trim_end_matches(';')
        .trim_end()
        .to_owned();
    let is_query = match &first.token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::SELECT
                | Keyword::WITH
                | Keyword::FROM
                | Keyword::VALUES
                | Keyword::PIVOT
                | Keyword::UNPIVOT
        ),
        token => *token == Token::LParen,
    };
    if is_query {
        rest
    } else {
        format!("SELECT * FROM {rest}")
    }
}

/// Parses a query, with the samples that its SELECTs take of their FROM.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for invalid syntax, with its position.
pub(super) fn query(
    source: &StatementSource,
    tokens: &[TokenWithSpan],
    is_column: &dyn Fn(&str) -> bool,
) -> Result<(Box<Query>, Samplings)> {
    let (tokens, samplings) = without_samples(
        source,
        with_select(with_turned_tables(rewrite_tokens(join_tokens(
            tokens, is_column,
        )))),
    )?;
    let mut query = parse_tokens(source, tokens, is_column, |parser| {
        let query = parser.parse_query()?;
        let mut another = false;
        while parser.consume_token(&Token::SemiColon) {
            another = parser.peek_token_ref().token != Token::EOF;
        }
        if another {
            return Err(ParserError::ParserError(
                "one (and only one) statement can be run at a time".into(),
            ));
        }
        Ok(query)
    })?;
    take_null_treatments(&mut query);
    match_every_form(&mut query);
    Ok((query, samplings))
}

/// Parses a condition, as after WHERE.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for invalid syntax.
pub(super) fn condition(
    source: &StatementSource,
    tokens: &[TokenWithSpan],
    is_column: &dyn Fn(&str) -> bool,
) -> Result<Expr> {
    let mut condition = parse_tokens(
        source,
        rewrite_tokens(join_tokens(tokens, is_column)),
        is_column,
        |parser| parser.parse_expr(),
    )?;
    take_null_treatments(&mut condition);
    match_every_form(&mut condition);
    Ok(condition)
}

/// Gives IGNORE NULLS to the function in whose parentheses it is written: in
/// `last(replace(a, b, c) IGNORE NULLS)` the parser gives it to the inner one.
fn take_null_treatments(tree: &mut impl VisitMut) {
    let _ = visit_expressions_mut(tree, |expr| {
        if let Expr::Function(function) = expr
            && let FunctionArguments::List(list) = &mut function.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(last))) = list.args.last_mut()
            && let Some(treatment) = trailing_null_treatment(last)
        {
            function.null_treatment.get_or_insert(treatment);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Takes the null treatment at the end of an expression.
fn trailing_null_treatment(expr: &mut Expr) -> Option<NullTreatment> {
    match expr {
        Expr::Function(function) if function.over.is_none() => function.null_treatment.take(),
        Expr::BinaryOp { right, .. } => trailing_null_treatment(right),
        Expr::UnaryOp { expr, .. } => trailing_null_treatment(expr),
        _ => None,
    }
}

fn parse_tokens<T>(
    source: &StatementSource,
    tokens: SqlTokens,
    is_column: &dyn Fn(&str) -> bool,
    parse: impl FnOnce(&mut Parser) -> Result<T, ParserError>,
) -> Result<T> {
    let dialect = DuckDb::default();
    dialect
        .left
        .set(Some(tokens.len() * BEGUN_MAX.0 + BEGUN_MAX.1));
    let end = tokens.last().map_or(Span::empty(), |last| {
        Span::new(last.span.end, last.span.end)
    });
    let kept = tokens.clone();
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(RECURSION_MAX)
        .with_tokens_with_locations(tokens);
    let outcome = parse(&mut parser).and_then(|found| match &parser.peek_token_ref().token {
        Token::EOF => Ok(found),
        other => Err(ParserError::ParserError(format!(
            "{other} does not belong here"
        ))),
    });
    outcome.map_err(|error| {
        let text = match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
            ParserError::RecursionLimitExceeded => {
                return Error::too_large("the query is nested too deeply")
                    .hint("write it flat, or in several steps");
            }
        };
        // The parser reports a missing expression at the following token.
        let span = match dialect.missing.get() {
            Some(missing) if missing == parser.peek_token_ref().span => missing,
            _ => parser.peek_token_ref().span,
        };
        let span = if span == Span::empty() { end } else { span };
        // The parser appends the position to its message.
        let text = text.split(" at Line: ").next().unwrap_or_default();
        let error = source.locate(
            Error::usage("the query could not be understood").because(text),
            span,
        );
        advice::of_statement(&kept, is_column)
            .into_iter()
            .fold(error, Error::hint)
    })
}

/// Joins tokens of column names with colons (`stac:crs`), and `**` to one operator.
fn join_tokens(tokens: &[TokenWithSpan], is_column: &dyn Fn(&str) -> bool) -> SqlTokens {
    let touches = |at: usize| tokens[at].span.end == tokens[at + 1].span.start;
    let mut found = SqlTokens::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let (
            Token::Mul,
            Some(TokenWithSpan {
                token: Token::Mul,
                span,
            }),
        ) = (&token.token, tokens.get(at + 1))
            && touches(at)
        {
            let span = Span::new(token.span.start, span.end);
            found.push(TokenWithSpan::new(
                Token::CustomBinaryOperator(POWER.into()),
                span,
            ));
            at += 2;
            continue;
        }
        if let Token::Word(Word {
            value,
            quote_style: None,
            ..
        }) = &token.token
        {
            let (mut name, mut end, mut best) = (value.clone(), at, None);
            while let (
                Some(Token::Colon),
                Some(Token::Word(Word {
                    value,
                    quote_style: None,
                    ..
                })),
            ) = (
                tokens.get(end + 1).map(|next| &next.token),
                tokens.get(end + 2).map(|next| &next.token),
            ) {
                if !touches(end) || !touches(end + 1) {
                    break;
                }
                name = format!("{name}:{value}");
                end += 2;
                if is_column(&name) {
                    best = Some((name.clone(), end));
                }
            }
            if let Some((value, end)) = best {
                let word = Word {
                    value,
                    quote_style: Some('"'),
                    keyword: Keyword::NoKeyword,
                };
                found.push(TokenWithSpan::new(
                    Token::Word(word),
                    Span::new(token.span.start, tokens[end].span.end),
                ));
                at = end + 1;
                continue;
            }
        }
        found.push(token.clone());
        at += 1;
    }
    found
}

/// Inserts `SELECT *` before each FROM without SELECT, and writes `TABLE data` as
/// `SELECT * FROM data`: of the latter the parser drops the two words behind the name.
fn with_select(tokens: SqlTokens) -> SqlTokens {
    /// State within one level of brackets.
    #[derive(Default)]
    struct Level {
        with: bool,
        select: bool,
    }
    let mut found = SqlTokens::with_capacity(tokens.len());
    let mut levels = vec![Level::default()];
    let mut begins = true;
    for (at, token) in tokens.iter().enumerate() {
        let nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            return found;
        };
        let mut next_begins = false;
        match (&token.token, keyword_of(token)) {
            (Token::LParen, _) => {
                levels.push(Level::default());
                next_begins = true;
            }
            (Token::RParen, _) if nested => {
                levels.pop();
            }
            (_, Keyword::WITH) => level.with |= begins,
            (_, Keyword::SELECT) => level.select = true,
            (_, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => {
                *level = Level::default();
                next_begins = true;
            }
            (_, Keyword::ALL | Keyword::BY | Keyword::NAME | Keyword::DISTINCT) => {
                next_begins = begins
            }
            (_, keyword @ (Keyword::FROM | Keyword::TABLE))
                if (begins || level.with) && !level.select =>
            {
                level.select = true;
                if keyword == Keyword::TABLE || !has_select(&tokens[at..]) {
                    found.push(word_at("SELECT", Keyword::SELECT, token.span));
                    found.push(TokenWithSpan::new(Token::Mul, token.span));
                }
                if keyword == Keyword::TABLE {
                    found.push(word_at("FROM", Keyword::FROM, token.span));
                    begins = false;
                    continue;
                }
            }
            _ => {}
        }
        begins = next_begins;
        found.push(token.clone());
    }
    found
}

/// True if a SELECT is before the end of the brackets and of the part of a set operation.
fn has_select(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0usize;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 => match word.keyword {
                Keyword::SELECT => return true,
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::BinaryOperator;

    use super::*;

    #[test]
    fn what_the_parser_tries_twice_at_each_level_is_refused_in_time() {
        let begun = std::time::Instant::now();
        let text = format!(
            "SELECT {}1",
            "INTERVAL quantile_cont ( INTERVAL ( ".repeat(20)
        );
        let refused = |text: &str| {
            let source = StatementSource::alone(text);
            let tokens = tokens(&source)?;
            query(&source, &tokens, &|_| false).map(|_| ())
        };
        assert!(refused(&text).is_err());
        let found = include_str!("../../tests/fuzz/corpus/sql/found-words-that-are-tried-twice");
        assert!(refused(found).is_err());
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
        // Many expressions in a row are fine.
        assert!(refused(&format!("SELECT {}1", "1, ".repeat(20_000))).is_ok());
    }

    fn printed(sql: &str) -> String {
        let source = StatementSource::alone(sql);
        let tokens = tokens(&source).expect("tokens");
        let (query, _) = query(&source, &tokens, &|name| {
            ["stac:crs", "l1:stac:crs"].contains(&name)
        })
        .expect("a query");
        query.to_string()
    }

    #[test]
    fn names_with_colons_are_columns() {
        assert_eq!(
            printed("SELECT stac:crs, l1:stac:crs FROM l1"),
            r#"SELECT "stac:crs", "l1:stac:crs" FROM l1"#
        );
        assert_eq!(
            printed("FROM data WHERE a = 'x'"),
            "SELECT * FROM data WHERE a = 'x'"
        );
        assert_eq!(
            printed("WITH t AS (FROM data) FROM t UNION ALL FROM t"),
            "WITH t AS (SELECT * FROM data) SELECT * FROM t UNION ALL SELECT * FROM t"
        );
        assert_eq!(
            printed("SELECT d.stac:crs, x::int FROM d"),
            r#"SELECT d."stac:crs", x::INT FROM d"#
        );
    }

    #[test]
    fn operators_bind_as_in_duckdb() {
        let source = StatementSource::alone("-a ** 2 * b");
        let Expr::BinaryOp {
            left,
            op: BinaryOperator::Multiply,
            ..
        } = condition(&source, &tokens(&source).expect("tokens"), &|_| false)
            .expect("an expression")
        else {
            panic!("a product of a power");
        };
        assert!(
            matches!(
                *left,
                Expr::BinaryOp { ref left, .. } if matches!(**left, Expr::UnaryOp { .. })
            ),
            "{left:?}"
        );
        let source = StatementSource::alone("s IS DISTINCT FROM 'train' AND k < 4");
        let found =
            condition(&source, &tokens(&source).expect("tokens"), &|_| false).expect("a condition");
        assert!(
            matches!(
                found,
                Expr::BinaryOp {
                    op: BinaryOperator::And,
                    ..
                }
            ),
            "{found:?}"
        );
        let source = StatementSource::alone("NOT EXISTS (SELECT 1) IS NULL");
        let found =
            condition(&source, &tokens(&source).expect("tokens"), &|_| false).expect("a condition");
        assert!(
            matches!(
                &found,
                Expr::UnaryOp { expr, .. } if matches!(expr.as_ref(), Expr::IsNull(_))
            ),
            "{found:?}"
        );
    }

    #[test]
    fn statements_that_no_person_writes_are_refused() {
        let nested = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
        let chain = format!(
            "SELECT id FROM data WHERE {}",
            vec!["n > 1"; 20_000].join(" AND ")
        );
        let union = vec!["SELECT 1 AS n"; 20_000].join(" UNION ALL ");
        let from_first = vec!["FROM data"; 20_000].join(" UNION ALL ");
        let with: Vec<String> = (1..20_000)
            .map(|n| format!("t{n} AS (SELECT * FROM t{})", n - 1))
            .collect();
        let with = format!(
            "WITH t0 AS (SELECT 1), {} SELECT * FROM t9",
            with.join(", ")
        );
        let list = format!(
            "SELECT id FROM data WHERE id IN ({})",
            vec!["1"; 60_000].join(",")
        );
        for sql in [nested, chain, union, from_first, with, list] {
            let error = tokens(&StatementSource::alone(&sql)).expect_err("is refused");
            assert!(error.is_too_large() && error.hints().len() == 1, "{error}");
        }
        let long = format!(
            "SELECT id FROM data WHERE id IN ({})",
            vec!["'x'"; 20_000].join(",")
        );
        assert!(tokens(&StatementSource::alone(&long)).is_ok());
        let denied = format!("SELECT {}TRUE", "NOT ".repeat(900));
        let source = StatementSource::alone(&denied);
        assert!(query(&source, &tokens(&source).expect("tokens"), &|_| false).is_err());
    }

    #[test]
    fn only_reading_statements_run() {
        let found = |sql: &str| {
            let source = StatementSource::alone(sql);
            find_statement_kind(&source, &tokens(&source).expect("tokens")).map(|(kind, _)| kind)
        };
        for sql in [
            "SELECT 1",
            "  -- note\n with a as (select 1) select * from a",
            "(SELECT 1)",
            "from data",
        ] {
            assert_eq!(found(sql).expect("reads"), StatementKind::Rows, "{sql}");
        }
        for sql in ["", "DROP TABLE data", "delete from data", "hello"] {
            assert!(found(sql).is_err(), "{sql}");
        }
        assert_eq!(
            found("DESCRIBE level1;").expect("reads"),
            StatementKind::Describe
        );
    }
}
