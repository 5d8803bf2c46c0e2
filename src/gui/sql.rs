//! SQL in the editor: tokens with their kinds for highlighting, the name before the cursor, and the
//! position at which a condition is inserted. Whether a statement is valid is decided by the engine
//! alone.

use std::ops::Range;

use crate::error::{Cause, Error};
use crate::query::copy_as::quoted_name;
use crate::query::{Lexeme, lexemes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlTokenKind {
    /// SELECT, FROM, …
    Keyword,
    /// A name before a bracket.
    Function,
    /// A bare name.
    Name,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes.
    Text,
    Number,
    /// From `--` to the end of the line, or between `/*` and `*/`.
    Comment,
    /// Anything else.
    Mark,
}

/// The words that are highlighted as keywords.
pub const KEYWORDS: [&str; 58] = [
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CROSS",
    "DATE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXCLUDE",
    "EXISTS",
    "FALSE",
    "FILTER",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "QUALIFY",
    "REPLACE",
    "RIGHT",
    "SAMPLE",
    "SELECT",
    "SHOW",
    "SUMMARIZE",
    "TABLES",
    "THEN",
    "TRUE",
    "UNION",
    "UNNEST",
    "USING",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Words of the clauses that leave rows out.
const ROW_CHOICE_WORDS: [&str; 13] = [
    "EXCEPT",
    "FETCH",
    "HAVING",
    "INTERSECT",
    "JOIN",
    "LIMIT",
    "OFFSET",
    "ON",
    "QUALIFY",
    "SAMPLE",
    "TABLESAMPLE",
    "TOP",
    "WHERE",
];

/// True for a statement with a clause that leaves rows out, such as WHERE or LIMIT.
pub fn chooses_rows(sql: &str) -> bool {
    lexemes(sql)
        .into_iter()
        .any(|(range, kind)| kind == Lexeme::Word && sql.get(range).is_some_and(is_row_choice))
}

fn is_row_choice(text: &str) -> bool {
    ROW_CHOICE_WORDS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(text))
}

/// Functions that are offered while typing.
pub const FUNCTIONS: [&str; 44] = [
    "abs",
    "approx_count_distinct",
    "avg",
    "ceil",
    "coalesce",
    "concat",
    "corr",
    "count",
    "date_part",
    "ends_with",
    "first",
    "floor",
    "greatest",
    "last",
    "least",
    "length",
    "list_contains",
    "lower",
    "max",
    "median",
    "min",
    "mode",
    "month",
    "quantile_cont",
    "regexp_matches",
    "replace",
    "round",
    "row_number",
    "split_part",
    "st_area",
    "st_astext",
    "st_centroid",
    "st_contains",
    "st_geomfromtext",
    "st_intersects",
    "st_makeenvelope",
    "st_within",
    "st_x",
    "st_y",
    "starts_with",
    "stddev",
    "sum",
    "upper",
    "year",
];

/// Words that begin what comes after WHERE. In front of FROM some are functions and columns, or
/// leave columns out: `* EXCEPT (a)`.
const CLAUSES_AFTER_WHERE: [&str; 12] = [
    "GROUP",
    "HAVING",
    "QUALIFY",
    "WINDOW",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "SAMPLE",
];

/// The tokens of a statement in order, with their ranges in bytes; white space is left out.
pub fn classify_tokens(sql: &str) -> Vec<(Range<usize>, SqlTokenKind)> {
    let lexemes = lexemes(sql).into_iter();
    lexemes
        .map(|(range, lexeme)| {
            let kind = classify_lexeme(sql, &range, lexeme);
            (range, kind)
        })
        .collect()
}

fn classify_lexeme(sql: &str, range: &Range<usize>, lexeme: Lexeme) -> SqlTokenKind {
    let word = &sql[range.clone()];
    match lexeme {
        Lexeme::Word
            if KEYWORDS
                .iter()
                .any(|keyword| keyword.eq_ignore_ascii_case(word)) =>
        {
            SqlTokenKind::Keyword
        }
        Lexeme::Word if sql[range.end..].trim_start().starts_with('(') => SqlTokenKind::Function,
        Lexeme::Word => SqlTokenKind::Name,
        Lexeme::Quoted => SqlTokenKind::Quoted,
        Lexeme::Text => SqlTokenKind::Text,
        Lexeme::Number => SqlTokenKind::Number,
        Lexeme::Comment => SqlTokenKind::Comment,
        Lexeme::Mark => SqlTokenKind::Mark,
    }
}

/// The part of a name before `cursor` (in bytes): its range and its text without a quote; `None`
/// inside texts, numbers and comments.
pub fn find_typed_name(sql: &str, cursor: usize) -> Option<(Range<usize>, String)> {
    let (range, kind) = classify_tokens(sql)
        .into_iter()
        .find(|(range, _)| range.start < cursor && cursor <= range.end)?;
    match kind {
        SqlTokenKind::Name | SqlTokenKind::Keyword | SqlTokenKind::Function => Some((
            range.start..cursor,
            sql.get(range.start..cursor)?.to_owned(),
        )),
        // An open quote: the name so far.
        SqlTokenKind::Quoted
            if range.end == cursor && sql.get(range.clone())?.matches('"').count() % 2 == 1 =>
        {
            Some((
                range.start..cursor,
                sql.get(range.start + 1..cursor)?.to_owned(),
            ))
        }
        _ => None,
    }
}

/// A name in a statement: in quotes where it is not a plain word, or is a keyword.
pub fn quote_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !KEYWORDS
            .iter()
            .any(|keyword| keyword.eq_ignore_ascii_case(name));
    if plain {
        name.to_owned()
    } else {
        quoted_name(name)
    }
}

/// True for a condition whose first word is the name of this column.
pub fn begins_with_name(condition: &str, column: &str) -> bool {
    condition
        .strip_prefix(&quote_name(column))
        .is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '"'))
        })
}

/// The statement with one more condition: added to its WHERE, or in a new WHERE.
pub fn with_condition(sql: &str, condition: &str) -> String {
    let mut depth = 0;
    let mut has_from = false;
    // Where USING begins, if it is the last word: `USING SAMPLE 3` is one clause.
    let mut using = None;
    let mut after_where = None;
    let mut end = sql.trim_end().trim_end_matches(';').len();
    for (range, kind) in classify_tokens(sql) {
        let word = &sql[range.clone()];
        match (kind, word) {
            (SqlTokenKind::Mark, "(") => depth += 1,
            (SqlTokenKind::Mark, ")") => depth -= 1,
            (SqlTokenKind::Mark, ";") if depth == 0 => end = end.min(range.start),
            (SqlTokenKind::Keyword, _) if depth == 0 && word.eq_ignore_ascii_case("FROM") => {
                has_from = true;
            }
            (SqlTokenKind::Keyword, _) if depth == 0 && word.eq_ignore_ascii_case("WHERE") => {
                after_where = Some(range.end)
            }
            (SqlTokenKind::Keyword | SqlTokenKind::Name, _)
                if depth == 0
                    && has_from
                    && CLAUSES_AFTER_WHERE
                        .iter()
                        .any(|after| after.eq_ignore_ascii_case(word)) =>
            {
                end = end.min(using.unwrap_or(range.start));
                break;
            }
            _ => {}
        }
        using = word.eq_ignore_ascii_case("USING").then_some(range.start);
    }
    let (head, tail) = sql.split_at(end);
    let (head, tail) = (head.trim_end(), tail.trim_start());
    // The condition is on a new line, because the line before may end in a comment.
    let head = match after_where {
        Some(at) => format!(
            "{} ({}\n) AND {condition}",
            &head[..at.min(head.len())],
            head.get(at..).unwrap_or_default().trim()
        ),
        None => format!("{head}\nWHERE {condition}"),
    };
    if tail.is_empty() {
        head
    } else {
        format!("{head}\n{tail}")
    }
}

/// The statement with its clauses on lines of their own.
pub fn format_statement(sql: &str) -> String {
    const BREAKS: [&str; 12] = [
        "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION", "LEFT",
        "INNER", "CROSS",
    ];
    let mut out = String::with_capacity(sql.len() + 16);
    let mut depth = 0;
    let mut last_end = 0;
    let mut is_between = false;
    for (range, kind) in classify_tokens(sql) {
        let word = &sql[range.clone()];
        let follows_space = sql[last_end..range.start].contains(char::is_whitespace);
        let is_keyword = kind == SqlTokenKind::Keyword;
        let upper = if is_keyword {
            word.to_ascii_uppercase()
        } else {
            word.to_owned()
        };
        // The AND of BETWEEN stays on its line.
        let joins_conditions =
            is_keyword && (upper == "AND" || upper == "OR") && !std::mem::take(&mut is_between);
        is_between |= is_keyword && upper == "BETWEEN";
        let begins_clause = depth == 0 && is_keyword && BREAKS.contains(&upper.as_str());
        let begins_line = out.is_empty() || out.ends_with('\n');
        if begins_clause && !begins_line {
            out.push('\n');
        } else if joins_conditions && depth == 0 && !begins_line {
            out.push_str("\n  ");
        } else if follows_space && !begins_line {
            out.push(' ');
        }
        out.push_str(&upper);
        if kind == SqlTokenKind::Comment && word.starts_with("--") {
            out.push('\n');
        }
        match word {
            "(" if kind == SqlTokenKind::Mark => depth += 1,
            ")" if kind == SqlTokenKind::Mark => depth -= 1,
            _ => {}
        }
        last_end = range.end;
    }
    out
}

/// The range in bytes that an error is about; for an empty one, that of the token at it.
pub fn find_error_range(error: &Error, sql: &str) -> Option<Range<usize>> {
    let span = error.causes().find_map(|cause| match cause {
        Cause::Sql(span) => Some(span),
        _ => None,
    })?;
    if span.start < span.end && sql.get(span.start..span.end).is_some() {
        return Some(span.start..span.end);
    }
    let start = span.start.min(sql.len());
    classify_tokens(sql)
        .into_iter()
        .map(|(range, _)| range)
        .find(|range| range.end > start)
        .or(Some(sql.len()..sql.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SqlSpan;

    #[test]
    fn tokens_have_their_kinds() {
        let sql = "SELECT \"stac:crs\", avg(x1) -- note\nFROM data WHERE a = 'it''s' AND b < 1.5e3";
        let kinds: Vec<(&str, SqlTokenKind)> = classify_tokens(sql)
            .into_iter()
            .map(|(range, kind)| (&sql[range], kind))
            .collect();
        for expected in [
            ("SELECT", SqlTokenKind::Keyword),
            ("\"stac:crs\"", SqlTokenKind::Quoted),
            ("avg", SqlTokenKind::Function),
            ("x1", SqlTokenKind::Name),
            ("-- note", SqlTokenKind::Comment),
            ("'it''s'", SqlTokenKind::Text),
            ("1.5e3", SqlTokenKind::Number),
        ] {
            assert!(kinds.contains(&expected), "{expected:?} in {kinds:?}");
        }
        for odd in ["'", "\"", "/*", "--", "é'ü", ""] {
            let end = classify_tokens(odd)
                .last()
                .map_or(0, |(range, _)| range.end);
            assert_eq!(end, odd.len());
        }
    }

    #[test]
    fn what_is_typed_is_found() {
        assert_eq!(
            find_typed_name("SELECT clo", 10),
            Some((7..10, "clo".into()))
        );
        assert_eq!(
            find_typed_name("SELECT \"stac:", 13),
            Some((7..13, "stac:".into()))
        );
        assert_eq!(find_typed_name("SELECT 'clo", 11), None);
        assert_eq!(find_typed_name("SELECT ", 7), None);
    }

    #[test]
    fn conditions_go_where_they_belong() {
        assert_eq!(
            with_condition("SELECT * FROM data", "a < 1"),
            "SELECT * FROM data\nWHERE a < 1"
        );
        assert_eq!(
            with_condition(
                "SELECT * FROM data WHERE x = 1 OR y = 2 ORDER BY id LIMIT 3;",
                "a < 1"
            ),
            "SELECT * FROM data WHERE (x = 1 OR y = 2\n) AND a < 1\nORDER BY id LIMIT 3;"
        );
        assert_eq!(
            with_condition(
                "SELECT (SELECT max(a) FROM l0 WHERE b) FROM data GROUP BY ALL",
                "c"
            ),
            "SELECT (SELECT max(a) FROM l0 WHERE b) FROM data\nWHERE c\nGROUP BY ALL"
        );
    }

    #[test]
    fn conditions_precede_samples_and_set_operations() {
        for (sql, expected) in [
            (
                "SELECT * FROM data USING SAMPLE 3",
                "SELECT * FROM data\nWHERE c\nUSING SAMPLE 3",
            ),
            (
                "SELECT a FROM data EXCEPT SELECT a FROM l1",
                "SELECT a FROM data\nWHERE c\nEXCEPT SELECT a FROM l1",
            ),
            (
                "SELECT * EXCEPT (a), sample FROM data",
                "SELECT * EXCEPT (a), sample FROM data\nWHERE c",
            ),
            (
                "SELECT * FROM data JOIN l1 USING (id) LIMIT 3",
                "SELECT * FROM data JOIN l1 USING (id)\nWHERE c\nLIMIT 3",
            ),
        ] {
            assert_eq!(with_condition(sql, "c"), expected);
        }
    }

    #[test]
    fn a_limit_chooses_rows_as_a_condition_does() {
        assert!(chooses_rows(
            "SELECT id FROM data ORDER BY cloud_cover LIMIT 5"
        ));
        assert!(
            chooses_rows("select id from data where x < 1")
                && chooses_rows("SELECT id FROM data USING SAMPLE 3")
        );
        assert!(
            !chooses_rows("SELECT *\nFROM data")
                && !chooses_rows("SELECT \"where\", 'limit' FROM data -- offset")
        );
    }

    #[test]
    fn clauses_stand_on_their_own_lines() {
        assert_eq!(
            format_statement(
                "select id, avg(x) from data where a between 1 and 2 and b in (select c from l0) \
                    order by id"
            ),
            "SELECT id, avg(x)\nFROM data\nWHERE a BETWEEN 1 AND 2\n  AND b IN (SELECT c FROM l0)\n\
                ORDER BY id"
        );
        let twice = format_statement("SELECT 1 -- one\nFROM data");
        assert_eq!(format_statement(&twice), twice);
    }

    #[test]
    fn faults_are_the_part_of_the_statement_that_the_cause_names() {
        let of = |start, end| {
            Error::usage("no").caused_by(Cause::Sql(SqlSpan {
                statement: 0,
                start,
                end,
            }))
        };
        let sql = "SELECT cloudy\nFROM data";
        assert_eq!(find_error_range(&of(7, 13), sql), Some(7..13));
        assert_eq!(find_error_range(&of(19, 19), sql), Some(19..23));
        assert_eq!(find_error_range(&of(30, 40), sql), Some(23..23));
        assert_eq!(
            find_error_range(&Error::usage("there is no column cloudy"), sql),
            None
        );
    }

    #[test]
    fn a_name_is_not_the_beginning_of_a_longer_one() {
        assert!(begins_with_name("cloud < 5", "cloud"));
        assert!(begins_with_name("\"stac:crs\" = 'a'", "stac:crs"));
        assert!(!begins_with_name("cloud_cover < 5", "cloud"));
        assert!(!begins_with_name("cloud2 < 5", "cloud"));
        assert!(!begins_with_name("\"a:b\"\"c\" = 1", "a:b"));
    }

    #[test]
    fn names_get_quotes_where_they_need_them() {
        assert_eq!(
            (
                quote_name("cloud_cover").as_str(),
                quote_name("stac:crs").as_str(),
                quote_name("order").as_str()
            ),
            ("cloud_cover", "\"stac:crs\"", "\"order\"")
        );
    }
}
