//! Spellings of DuckDB that the parser does not support, written with tokens that it supports.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use super::text_patterns::{of_like, of_whole_text};

/// Tokens of a statement, without whitespace and comments.
pub(super) type SqlTokens = Vec<TokenWithSpan>;

/// Function that is written for the number of `LIMIT 10%`.
pub(super) const PERCENT: &str = "__percent";
/// Condition, or name after USING, that marks an ASOF join.
pub(super) const ASOF: &str = "__asof";
/// Functions in FROM that are written for PIVOT and UNPIVOT statements; their clauses are their
/// arguments.
pub(super) const PIVOT: &str = "__pivot";
pub(super) const UNPIVOT: &str = "__unpivot";
/// Functions in FROM that are written for `(DESCRIBE …)` and `(SUMMARIZE …)`, of a subquery.
pub(super) const DESCRIBE: &str = "__describe";
pub(super) const SUMMARIZE: &str = "__summarize";

/// Function that the dialect writes for `#1`: the column of FROM that has this number.
pub(super) const POSITION: &str = "__position";
/// Functions that are written for `*COLUMNS(…)` as arguments of a call, and for the columns of
/// `* NOT LIKE 'pattern'`.
pub(super) const UNPACKED_COLUMNS: &str = "__unpacked_columns";
pub(super) const OTHER_COLUMNS: &str = "__other_columns";
/// Functions in PARTITION BY that are written for EXCLUDE of a frame.
pub(super) const EXCLUDE_ROW: &str = "__exclude_row";
pub(super) const EXCLUDE_GROUP: &str = "__exclude_group";
pub(super) const EXCLUDE_TIES: &str = "__exclude_ties";

/// True for a token behind which `#` is an operator.
fn ends_value(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.keyword == Keyword::NoKeyword,
        Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen | Token::RBracket => true,
        _ => false,
    }
}

/// The function, the regular expression with its place, and the number of tokens of
/// `[NOT] LIKE 'pattern'`, ILIKE and SIMILAR TO behind `*`; ILIKE alone is left to the parser.
fn read_star_pattern(tokens: &[TokenWithSpan]) -> Option<(&'static str, String, Span, usize)> {
    let negated = is_keyword(tokens.first(), Keyword::NOT);
    let start = usize::from(negated);
    let next = |ahead: usize| tokens.get(start + ahead);
    let (pattern, words) = if is_keyword(next(0), Keyword::SIMILAR) {
        (is_keyword(next(1), Keyword::TO).then(|| next(2))??, 3)
    } else {
        (next(1)?, 2)
    };
    let Token::SingleQuotedString(text) = &pattern.token else {
        return None;
    };
    let regex = match next(0) {
        token if is_keyword(token, Keyword::SIMILAR) => of_whole_text(text),
        token if is_keyword(token, Keyword::LIKE) => of_like(text, None, false)?,
        token if negated && is_keyword(token, Keyword::ILIKE) => of_like(text, None, true)?,
        _ => return None,
    };
    let function = if negated { OTHER_COLUMNS } else { "COLUMNS" };
    Some((function, regex, pattern.span, start + words))
}

/// The function and the number of tokens of what follows EXCLUDE at the end of a frame.
fn read_frame_exclusion(tokens: &[TokenWithSpan]) -> Option<(Option<&'static str>, usize)> {
    let next = |at: usize| tokens.get(at);
    let found = if is_word(next(0), "CURRENT") && is_word(next(1), "ROW") {
        (Some(EXCLUDE_ROW), 2)
    } else if is_word(next(0), "GROUP") {
        (Some(EXCLUDE_GROUP), 1)
    } else if is_word(next(0), "TIES") {
        (Some(EXCLUDE_TIES), 1)
    } else if is_word(next(0), "NO") && is_word(next(1), "OTHERS") {
        (None, 2)
    } else {
        return None;
    };
    is_token(next(found.1), &Token::RParen).then_some(found)
}

/// The place of the last bracket that is still open.
fn find_open_bracket(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return Some(at),
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    None
}

/// True for a bracket behind OVER, or behind AS of a WINDOW clause.
fn is_window_bracket(tokens: &[TokenWithSpan], open: usize) -> bool {
    let before = tokens.get(open.wrapping_sub(1));
    is_keyword(before, Keyword::OVER) || is_keyword(before, Keyword::AS)
}

/// True for tokens from the bracket of a window on that have ROWS, RANGE or GROUPS.
fn begins_frame(tokens: &[TokenWithSpan]) -> bool {
    let units = [Keyword::ROWS, Keyword::RANGE, Keyword::GROUPS];
    let is_unit = |token| units.iter().any(|unit| is_keyword(Some(token), *unit));
    tokens.iter().any(is_unit)
}

/// Adds a mark to PARTITION BY of the window behind the bracket `open`.
fn mark_partition(found: &mut SqlTokens, open: usize, mark: Option<&str>, span: Span) {
    let Some(mark) = mark else {
        return;
    };
    let of = |token: Token| TokenWithSpan::new(token, span);
    let call = [
        word(mark, Keyword::NoKeyword, span),
        of(Token::LParen),
        of(Token::RParen),
    ];
    let first = found.get(open + 1);
    let is_clause = |keyword: &Keyword| is_keyword(first, *keyword);
    let begins_clause = [
        Keyword::PARTITION,
        Keyword::ORDER,
        Keyword::ROWS,
        Keyword::RANGE,
        Keyword::GROUPS,
    ];
    // The name of another window comes first.
    let start = open
        + if begins_clause.iter().any(is_clause) {
            1
        } else {
            2
        };
    let has_partition = is_keyword(found.get(start), Keyword::PARTITION);
    let at = start + if has_partition { 2 } else { 0 };
    let tokens: Vec<TokenWithSpan> = if has_partition {
        call.into_iter().chain([of(Token::Comma)]).collect()
    } else {
        let words = [
            word("PARTITION", Keyword::PARTITION, span),
            word("BY", Keyword::BY, span),
        ];
        words.into_iter().chain(call).collect()
    };
    found.splice(at..at, tokens);
}

fn is_keyword(token: Option<&TokenWithSpan>, keyword: Keyword) -> bool {
    matches!(
        token.map(|token| &token.token),
        Some(Token::Word(word)) if word.keyword == keyword && word.quote_style.is_none()
    )
}

fn is_word(token: Option<&TokenWithSpan>, text: &str) -> bool {
    matches!(
        token.map(|token| &token.token),
        Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
    )
}

fn is_token(token: Option<&TokenWithSpan>, wanted: &Token) -> bool {
    token.is_some_and(|token| token.token == *wanted)
}

fn word(text: &str, keyword: Keyword, span: Span) -> TokenWithSpan {
    TokenWithSpan::new(
        Token::Word(Word {
            value: text.into(),
            quote_style: None,
            keyword,
        }),
        span,
    )
}

/// True for `JOIN`, `LEFT JOIN`, `LEFT OUTER JOIN` and so on.
fn joins(tokens: &[TokenWithSpan]) -> bool {
    is_keyword(
        tokens.iter().find(|token| !is_join_kind(token)),
        Keyword::JOIN,
    )
}

fn is_join_kind(token: &TokenWithSpan) -> bool {
    [Keyword::LEFT, Keyword::INNER, Keyword::OUTER]
        .iter()
        .any(|keyword| is_keyword(Some(token), *keyword))
}

/// `(DESCRIBE …)` or `(SUMMARIZE …)` of a table or a query.
struct DescribedSource {
    /// The function that replaces it.
    function: &'static str,
    /// The place of the closing bracket.
    end: usize,
    /// True for a table by its name, false for a query.
    is_table: bool,
}

fn find_described_source(tokens: &[TokenWithSpan]) -> Option<DescribedSource> {
    let [open, verb, subject, ..] = tokens else {
        return None;
    };
    let function = if is_word(Some(verb), "DESCRIBE") {
        DESCRIBE
    } else if is_word(Some(verb), "SUMMARIZE") {
        SUMMARIZE
    } else {
        return None;
    };
    let begins_query =
        is_keyword(Some(subject), Keyword::SELECT) || is_keyword(Some(subject), Keyword::WITH);
    let is_table =
        matches!(subject.token, Token::Word(_)) && is_token(tokens.get(3), &Token::RParen);
    let end = find_closing_bracket(tokens)?;
    let is_described = begins_query || is_table;
    (open.token == Token::LParen && is_described).then_some(DescribedSource {
        function,
        end,
        is_table,
    })
}

/// The place of the bracket that closes the first token.
fn find_closing_bracket(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Marks ASOF joins in their condition and EXCLUDE of frames in PARTITION BY, writes `#1` and
/// patterns behind `*` as calls, writes POSITIONAL JOIN as STRAIGHT_JOIN, rewrites
/// `LIMIT 10%` and `LIMIT 10 PERCENT` as a call, adds WHERE in `FILTER (condition)`, and drops
/// `[NOT] MATERIALIZED`, as every WITH is planned in one way. `(DESCRIBE …)` and `(SUMMARIZE …)`
/// become functions in FROM.
pub(super) fn rewrite_tokens(tokens: SqlTokens) -> SqlTokens {
    let mut found = SqlTokens::with_capacity(tokens.len());
    let mut waits_for_condition = false;
    let mut ends_of_described: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = |ahead: usize| tokens.get(at + ahead);
        let span = token.span;
        if ends_of_described.pop_if(|end| *end == at).is_some() {
            found.push(token.clone());
        }
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_source = is_keyword(before, Keyword::FROM) || is_keyword(before, Keyword::JOIN);
        if let Some(described) = find_described_source(&tokens[at..]).filter(|_| is_source) {
            let open = || TokenWithSpan::new(Token::LParen, span);
            let function = word(described.function, Keyword::NoKeyword, span);
            found.extend([function, open(), open()]);
            if described.is_table {
                let star = TokenWithSpan::new(Token::Mul, span);
                let select = word("SELECT", Keyword::SELECT, span);
                found.extend([select, star, word("FROM", Keyword::FROM, span)]);
            }
            ends_of_described.push(at + described.end);
            at += 2;
        } else if is_keyword(Some(token), Keyword::LIMIT)
            && let Some(
                number @ TokenWithSpan {
                    token: Token::Number(..),
                    ..
                },
            ) = next(1)
            && is_percent(next(2), next(3))
        {
            let place = |token: Token| TokenWithSpan::new(token, number.span);
            found.extend([
                token.clone(),
                word(PERCENT, Keyword::NoKeyword, number.span),
                place(Token::LParen),
                number.clone(),
                place(Token::RParen),
            ]);
            at += 3;
        } else if let Token::EscapedStringLiteral(text) = &token.token {
            found.push(TokenWithSpan::new(
                Token::SingleQuotedString(text.clone()),
                span,
            ));
            at += 1;
        } else if token.token == Token::Sharp
            && let Some(
                number @ TokenWithSpan {
                    token: Token::Number(..),
                    ..
                },
            ) = next(1)
            && !found.last().is_some_and(ends_value)
        {
            found.extend([
                word(POSITION, Keyword::NoKeyword, span),
                TokenWithSpan::new(Token::LParen, span),
                number.clone(),
                TokenWithSpan::new(Token::RParen, span),
            ]);
            at += 2;
        } else if token.token == Token::Mul
            && (is_token(found.last(), &Token::Comma) || is_token(found.last(), &Token::LParen))
            && is_word(next(1), "COLUMNS")
            && is_token(next(2), &Token::LParen)
        {
            found.push(word(UNPACKED_COLUMNS, Keyword::NoKeyword, span));
            at += 2;
        } else if token.token == Token::Mul
            && (is_token(found.last(), &Token::Comma) || is_keyword(found.last(), Keyword::SELECT))
            && let Some((name, pattern, at_pattern, words)) = read_star_pattern(&tokens[at + 1..])
        {
            let place = |token: Token| TokenWithSpan::new(token, at_pattern);
            found.push(word(name, Keyword::NoKeyword, span));
            found.extend([
                place(Token::LParen),
                place(Token::SingleQuotedString(pattern)),
                place(Token::RParen),
            ]);
            at += 1 + words;
        } else if is_word(Some(token), "EXCLUDE")
            && let Some((mark, words)) = read_frame_exclusion(&tokens[at + 1..])
            && let Some(open) = find_open_bracket(&found)
            && is_window_bracket(&found, open)
            && begins_frame(&found[open..])
        {
            mark_partition(&mut found, open, mark, span);
            at += 1 + words;
        } else if is_keyword(Some(token), Keyword::ASOF) && joins(&tokens[at + 1..]) {
            waits_for_condition = true;
            at += 1;
        } else if is_word(Some(token), "POSITIONAL") && is_keyword(next(1), Keyword::JOIN) {
            found.push(word("STRAIGHT_JOIN", Keyword::STRAIGHT_JOIN, span));
            at += 2;
        } else if is_keyword(Some(token), Keyword::STRAIGHT_JOIN) {
            // A name like others to DuckDB.
            found.push(word("straight_join", Keyword::NoKeyword, span));
            at += 1;
        } else if waits_for_condition && is_keyword(Some(token), Keyword::ON) {
            waits_for_condition = false;
            found.extend([
                token.clone(),
                word(ASOF, Keyword::NoKeyword, span),
                word("AND", Keyword::AND, span),
            ]);
            at += 1;
        } else if waits_for_condition
            && is_keyword(Some(token), Keyword::USING)
            && is_token(next(1), &Token::LParen)
        {
            waits_for_condition = false;
            let comma = TokenWithSpan::new(Token::Comma, span);
            found.extend([
                token.clone(),
                tokens[at + 1].clone(),
                word(ASOF, Keyword::NoKeyword, span),
                comma,
            ]);
            at += 2;
        } else if is_keyword(Some(token), Keyword::FILTER)
            && is_token(found.last(), &Token::RParen)
            && is_token(next(1), &Token::LParen)
            && !is_keyword(next(2), Keyword::WHERE)
        {
            found.extend([
                token.clone(),
                tokens[at + 1].clone(),
                word("WHERE", Keyword::WHERE, span),
            ]);
            at += 2;
        } else if is_keyword(Some(token), Keyword::AS)
            && is_keyword(next(1), Keyword::MATERIALIZED)
            && is_token(next(2), &Token::LParen)
        {
            found.push(token.clone());
            at += 2;
        } else if is_keyword(Some(token), Keyword::AS)
            && is_keyword(next(1), Keyword::NOT)
            && is_keyword(next(2), Keyword::MATERIALIZED)
            && is_token(next(3), &Token::LParen)
        {
            found.push(token.clone());
            at += 3;
        } else {
            found.push(token.clone());
            at += 1;
        }
    }
    found
}

/// Rewrites `PIVOT table ON columns USING aggregates GROUP BY keys` and
/// `UNPIVOT table ON columns INTO NAME n VALUE v` as SELECT from a function whose arguments are the
/// clauses. In FROM they are in brackets.
pub(super) fn with_turned_tables(tokens: SqlTokens) -> SqlTokens {
    let mut found = SqlTokens::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let begins = found.last().is_none_or(|before| {
            before.token == Token::LParen || is_keyword(Some(before), Keyword::AS)
        });
        let pivots = is_keyword(Some(token), Keyword::PIVOT);
        if !begins || !(pivots || is_keyword(Some(token), Keyword::UNPIVOT)) {
            found.push(token.clone());
            at += 1;
            continue;
        }
        let end = statement_end(&tokens, at + 1);
        // A source may be a statement of this kind too.
        match rewrite_pivot(&tokens[at + 1..end], pivots, token.span) {
            Some(turned) => found.extend(with_turned_tables(turned)),
            None => found.extend(tokens[at..end].iter().cloned()),
        }
        at = end;
    }
    found
}

/// The end of a statement: the bracket that closes the one around it, or the end of all.
fn statement_end(tokens: &[TokenWithSpan], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return at,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            Token::SemiColon if depth == 0 => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// The tokens of a statement behind PIVOT or UNPIVOT, rewritten; `None` when it has no ON.
fn rewrite_pivot(tokens: &[TokenWithSpan], pivots: bool, span: Span) -> Option<SqlTokens> {
    let mark = |token: Token| TokenWithSpan::new(token, span);
    // The clauses by the word that begins them.
    let mut clauses: Vec<(&str, Vec<TokenWithSpan>)> = vec![("source", Vec::new())];
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = tokens.get(at + 1);
        let last = clauses.last().map_or("", |(name, _)| *name);
        let begun = match depth {
            0 if last == "source" && is_keyword(Some(token), Keyword::ON) => Some(("__on", 1)),
            0 if last == "__on" && pivots && is_keyword(Some(token), Keyword::IN) => {
                Some(("__in", 1))
            }
            0 if pivots && is_word(Some(token), "using") => Some(("__using", 1)),
            0 if pivots
                && is_keyword(Some(token), Keyword::GROUP)
                && is_keyword(next, Keyword::BY) =>
            {
                Some(("__by", 2))
            }
            0 if !pivots && is_keyword(Some(token), Keyword::INTO) && is_word(next, "name") => {
                Some(("__name", 2))
            }
            0 if last == "__name" && is_word(Some(token), "value") => Some(("__value", 1)),
            0 if last != "source"
                && (is_keyword(Some(token), Keyword::ORDER)
                    || is_keyword(Some(token), Keyword::LIMIT)) =>
            {
                Some(("rest", 0))
            }
            _ => None,
        };
        match begun.filter(|_| last != "rest") {
            Some((name, words)) => {
                clauses.push((name, Vec::new()));
                at += words;
                if words == 0 {
                    clauses.last_mut()?.1.push(token.clone());
                    at += 1;
                }
            }
            None => {
                clauses.last_mut()?.1.push(token.clone());
                at += 1;
            }
        }
    }
    if !clauses.iter().any(|(name, _)| *name == "__on") {
        return None;
    }
    let select = [
        word("SELECT", Keyword::SELECT, span),
        mark(Token::Mul),
        word("FROM", Keyword::FROM, span),
    ];
    let mut found: SqlTokens = select.to_vec();
    found.extend([
        word(
            if pivots { PIVOT } else { UNPIVOT },
            Keyword::NoKeyword,
            span,
        ),
        mark(Token::LParen),
        mark(Token::LParen),
    ]);
    found.extend(select);
    let mut rest = Vec::new();
    for (name, body) in clauses {
        match name {
            "source" => {
                found.extend(body);
                found.push(mark(Token::RParen));
            }
            "rest" => rest = body,
            name => {
                found.extend([
                    mark(Token::Comma),
                    word(name, Keyword::NoKeyword, span),
                    mark(Token::LParen),
                ]);
                found.extend(match name {
                    "__in" => without_brackets(body),
                    "__using" => with_aliases(body, span),
                    _ => body,
                });
                found.push(mark(Token::RParen));
            }
        }
    }
    found.push(mark(Token::RParen));
    found.extend(rest);
    Some(found)
}

fn without_brackets(body: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    match body.as_slice() {
        [first, inner @ .., last]
            if first.token == Token::LParen && last.token == Token::RParen =>
        {
            inner.to_vec()
        }
        _ => body,
    }
}

/// Aggregates with their aliases as calls: `sum(n) AS s` is `__as(sum(n), 's')`.
fn with_aliases(body: Vec<TokenWithSpan>, span: Span) -> Vec<TokenWithSpan> {
    let mut depth = 0usize;
    let mut parts: Vec<Vec<TokenWithSpan>> = vec![Vec::new()];
    for token in body {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && token.token == Token::Comma {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    let mark = |token: Token| TokenWithSpan::new(token, span);
    let mut found = Vec::new();
    for mut part in parts {
        if !found.is_empty() {
            found.push(mark(Token::Comma));
        }
        let alias = match part.as_slice() {
            [
                ..,
                as_word,
                TokenWithSpan {
                    token: Token::Word(name),
                    ..
                },
            ] if is_keyword(Some(as_word), Keyword::AS) => Some((name.value.clone(), 2)),
            [
                ..,
                TokenWithSpan {
                    token: Token::RParen,
                    ..
                },
                TokenWithSpan {
                    token: Token::Word(name),
                    ..
                },
            ] => Some((name.value.clone(), 1)),
            _ => None,
        };
        match alias {
            Some((name, words)) => {
                part.truncate(part.len() - words);
                found.extend([word("__as", Keyword::NoKeyword, span), mark(Token::LParen)]);
                found.extend(part);
                found.extend([
                    mark(Token::Comma),
                    mark(Token::SingleQuotedString(name)),
                    mark(Token::RParen),
                ]);
            }
            None => found.extend(part),
        }
    }
    found
}

/// `%` or PERCENT behind a number; before another number `%` is a remainder.
fn is_percent(sign: Option<&TokenWithSpan>, behind: Option<&TokenWithSpan>) -> bool {
    let ends = !matches!(
        behind.map(|token| &token.token),
        Some(Token::Number(..) | Token::LParen)
    );
    is_word(sign, "percent") || (is_token(sign, &Token::Mod) && ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::source_span::StatementSource;
    use crate::query::statement_parser;

    fn respelled_text(sql: &str) -> String {
        let tokens = statement_parser::tokens(&StatementSource::alone(sql)).expect("tokens");
        rewrite_tokens(tokens)
            .iter()
            .map(|token| token.token.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn spellings_are_written_with_other_tokens() {
        assert_eq!(
            respelled_text("select a limit 10%"),
            "select a limit __percent ( 10 )"
        );
        assert_eq!(
            respelled_text("select a limit 2.5 percent offset 1"),
            "select a limit __percent ( 2.5 ) offset 1"
        );
        assert_eq!(
            respelled_text("select a limit 10 % 3"),
            "select a limit 10 % 3"
        );
        assert_eq!(
            respelled_text("select max(a) filter (a > 1)"),
            "select max ( a ) filter ( WHERE a > 1 )"
        );
        assert_eq!(
            respelled_text("with t as not materialized (select 1) from t"),
            "with t as ( select 1 ) from t"
        );
    }
}
