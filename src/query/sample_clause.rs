//! The SAMPLE clauses of a statement, which the parser does not read.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

use super::operation_names::SAMPLES_MAX;
use super::sampling::{RowSampling, SampleSize, Samplings};
use super::source_span::StatementSource;
use super::token_spellings::SqlTokens;
use crate::error::{Error, Result};

pub(super) fn keyword_of(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

pub(super) fn word_at(value: &str, keyword: Keyword, span: Span) -> TokenWithSpan {
    TokenWithSpan::new(
        Token::Word(Word {
            value: value.into(),
            quote_style: None,
            keyword,
        }),
        span,
    )
}

/// Removes each USING SAMPLE and returns it with the position of its SELECT; spells each
/// TABLESAMPLE as the parser reads it.
pub(super) fn without_samples(
    source: &StatementSource,
    tokens: SqlTokens,
) -> Result<(SqlTokens, Samplings)> {
    /// The SELECT of one level of brackets, and whether its ORDER BY or LIMIT was read.
    #[derive(Default)]
    struct Level {
        select: Option<Location>,
        is_ordered: bool,
    }
    let refused = |summary: &str, hint: &str, span: Span| {
        Err(source.locate(Error::usage(summary).hint(hint), span))
    };
    let mut found = SqlTokens::with_capacity(tokens.len());
    let mut samplings = Samplings::new();
    let mut count = 0;
    let mut levels = vec![Level::default()];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        let of_table = is_word(&tokens, at, "tablesample");
        if of_table || (is_word(&tokens, at, "using") && is_word(&tokens, at + 1, "sample")) {
            let (sampling, end) = sampling(
                source,
                &tokens,
                at + if of_table { 1 } else { 2 },
                token.span,
            )?;
            count += 1;
            if count > SAMPLES_MAX {
                return Err(Error::too_large(format!(
                    "the query takes more than {SAMPLES_MAX} samples"
                )));
            }
            match level.select {
                _ if of_table => found.extend(spelled_sample(sampling, token.span)),
                Some(select)
                    if !level.is_ordered
                        && !samplings.iter().any(|(known, _)| *known == select) =>
                {
                    samplings.push((select, sampling));
                }
                _ => {
                    let hint = "SELECT id FROM data WHERE x > 1 USING SAMPLE 10 ORDER BY id";
                    return refused(
                        "USING SAMPLE comes after WHERE and GROUP BY, before ORDER BY and LIMIT",
                        hint,
                        token.span,
                    );
                }
            }
            at = end;
            continue;
        }
        match (&token.token, keyword_of(token)) {
            (Token::LParen, _) => levels.push(Level::default()),
            (Token::RParen, _) if nested => {
                levels.pop();
            }
            (_, Keyword::SELECT) => level.select = Some(token.span.start),
            (_, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT) => *level = Level::default(),
            (_, Keyword::ORDER | Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH) => {
                level.is_ordered = true
            }
            _ => {}
        }
        found.push(token.clone());
        at += 1;
    }
    Ok((found, samplings))
}

/// True for an unquoted word, in any case, or a mark.
fn is_word(tokens: &[TokenWithSpan], at: usize, wanted: &str) -> bool {
    tokens
        .get(at)
        .is_some_and(|token| token.token.to_string().eq_ignore_ascii_case(wanted))
}

/// The sample whose size or method is the token `at`, and the place of the token behind it: `10`,
/// `5%`, `10 ROWS (reservoir, 42)`, `reservoir(5 PERCENT) REPEATABLE (42)`.
fn sampling(
    source: &StatementSource,
    tokens: &[TokenWithSpan],
    mut at: usize,
    span: Span,
) -> Result<(RowSampling, usize)> {
    const METHODS: [&str; 3] = ["reservoir", "system", "bernoulli"];
    let refused =
        |at: usize| refuse_sample(source, tokens.get(at).map_or(span, |token| token.span));
    let is_method = |at: usize| METHODS.iter().any(|method| is_word(tokens, at, method));
    let whole = |at: usize| find_whole_number(tokens, at);
    let named = is_method(at);
    at += usize::from(named);
    let bracket = is_word(tokens, at, "(");
    if named && !bracket {
        return Err(refused(at));
    }
    at += usize::from(bracket);
    let number = match tokens.get(at).map(|token| &token.token) {
        Some(Token::Number(number, _)) => number.parse::<f64>().ok(),
        _ => None,
    };
    let Some(number) = number.filter(|number| number.is_finite()) else {
        return Err(refused(at));
    };
    at += 1;
    let percent = is_word(tokens, at, "%") || is_word(tokens, at, "percent");
    if percent && !(0.0..=100.0).contains(&number) {
        return Err(refused(at - 1));
    }
    at += usize::from(percent || is_word(tokens, at, "rows"));
    if bracket {
        if !is_word(tokens, at, ")") {
            return Err(refused(at));
        }
        at += 1;
    }
    let mut seed = None;
    if !named && is_word(tokens, at, "(") && is_method(at + 1) {
        at += 2;
        if is_word(tokens, at, ",") {
            seed = Some(whole(at + 1).ok_or_else(|| refused(at + 1))?);
            at += 2;
        }
        if !is_word(tokens, at, ")") {
            return Err(refused(at));
        }
        at += 1;
    }
    if is_word(tokens, at, "repeatable") {
        seed = Some(
            whole(at + 2)
                .filter(|_| is_word(tokens, at + 1, "(") && is_word(tokens, at + 3, ")"))
                .ok_or_else(|| refused(at + 1))?,
        );
        at += 4;
    }
    let size = if percent {
        SampleSize::Percent(number)
    } else {
        SampleSize::Rows(number as usize)
    };
    Ok((RowSampling { size, seed }, at))
}

fn refuse_sample(source: &StatementSource, span: Span) -> Error {
    let error = Error::usage("a sample has a number of rows, or a percentage from 0 to 100");
    let hint = "USING SAMPLE 10, USING SAMPLE 5%, USING SAMPLE reservoir(10 ROWS) REPEATABLE (42)";
    source.locate(error.hint(hint), span)
}

fn find_whole_number(tokens: &[TokenWithSpan], at: usize) -> Option<u64> {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Number(number, _)) => number.parse::<u64>().ok(),
        _ => None,
    }
}

/// `TABLESAMPLE (10 ROWS) REPEATABLE (42)`.
fn spelled_sample(sampling: RowSampling, span: Span) -> SqlTokens {
    let mark = |token: Token| TokenWithSpan::new(token, span);
    let number = |number: String| mark(Token::Number(number, false));
    let (size, unit, keyword) = match sampling.size {
        SampleSize::Rows(rows) => (rows.to_string(), "ROWS", Keyword::ROWS),
        SampleSize::Percent(percent) => (percent.to_string(), "PERCENT", Keyword::PERCENT),
    };
    let mut tokens = vec![
        word_at("TABLESAMPLE", Keyword::TABLESAMPLE, span),
        mark(Token::LParen),
        number(size),
    ];
    tokens.extend([word_at(unit, keyword, span), mark(Token::RParen)]);
    if let Some(seed) = sampling.seed {
        let repeatable = word_at("REPEATABLE", Keyword::REPEATABLE, span);
        tokens.extend([
            repeatable,
            mark(Token::LParen),
            number(seed.to_string()),
            mark(Token::RParen),
        ]);
    }
    tokens
}
