//! Hints: alternatives to unsupported constructs, and similar names.

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use strsim::levenshtein;

use super::function_registry;

/// Alternatives to keywords, and to functions, which end with `(`.
const INSTEAD: [(&str, &str); 5] = [
    (
        "pivot(",
        "PIVOT with its own GROUP BY is a statement: FROM (PIVOT data ON split \
            IN ('train', 'test') USING avg(cloud_cover) GROUP BY river)",
    ),
    (
        "regexp_split_to_table(",
        "the parts as rows: SELECT unnest(regexp_split_to_array(id, '_')) FROM data",
    ),
    ("rowid", "rows are numbered by \"internal:current_id\""),
    (
        "approx_top_k(",
        "the most frequent values: SELECT x, count(*) AS n FROM data GROUP BY x ORDER BY n DESC \
            LIMIT 3",
    ),
    (
        "sample",
        "a sample is written USING SAMPLE 10 or USING SAMPLE 5% at the end; or take every tenth \
            row with WHERE \"internal:current_id\" % 10 = 0",
    ),
];

const SPATIAL: &str = "of the ST_ functions there are ST_X, ST_Y, ST_XMin, ST_YMin, ST_XMax, \
    ST_YMax, ST_Within, ST_Intersects, ST_Contains, ST_Centroid, ST_Area, ST_AsText, ST_AsGeoJSON, \
    ST_Length, ST_Distance, ST_Distance_Sphere, ST_DWithin, ST_Buffer, ST_Transform, ST_Envelope, \
    ST_Point, ST_MakeEnvelope, ST_GeomFromText and ST_GeomFromWKB: WHERE ST_X(\"stac:centroid\") \
    BETWEEN -80 AND -70";

/// Alternative to the function with this lower-case name.
pub(super) fn of_function(name: &str) -> Option<&'static str> {
    let called = |(word, _): &&(&str, &str)| word.strip_suffix('(') == Some(name);
    let spatial = || name.starts_with("st_").then_some(SPATIAL);
    INSTEAD
        .iter()
        .find(called)
        .map(|(_, text)| *text)
        .or_else(spatial)
}

/// Hints for unsupported constructs in a statement.
pub(super) fn of_statement(
    tokens: &[TokenWithSpan],
    is_column: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let words: Vec<(String, bool)> = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| {
            let called = tokens
                .get(at + 1)
                .is_some_and(|next| next.token == Token::LParen);
            Some((read_unquoted_word(token)?, called))
        })
        .collect();
    let mut found: Vec<String> = Vec::new();
    for (name, text) in INSTEAD {
        let applies = match name.strip_suffix('(') {
            Some(function) => words
                .iter()
                .any(|(word, called)| *called && word == function),
            None => words.iter().any(|(word, _)| word == name),
        };
        if applies && !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    let is_unknown = |word: &str| word.starts_with("st_") && !function_registry::is_known(word);
    if words
        .iter()
        .any(|(word, called)| *called && is_unknown(word))
    {
        found.push(SPATIAL.to_owned());
    }
    let pairs = || tokens.windows(2);
    if tokens
        .iter()
        .any(|token| matches!(token.token, Token::Placeholder(_) | Token::Question))
    {
        found.push("there are no placeholders: write the value itself".into());
    }
    if pairs().any(|two| two[0].token == Token::Colon && matches!(two[1].token, Token::Word(_))) {
        found.push(r#"write names with a colon in double quotes: "stac:crs""#.into());
    }
    let quoted = tokens.iter().find_map(|token| match &token.token {
        Token::Word(Word {
            value,
            quote_style: Some('"'),
            ..
        }) if !value.is_empty() && !is_column(value) => Some(value),
        _ => None,
    });
    if let Some(name) = quoted {
        found.push(format!(
            "\"{name}\" is a name; texts are in single quotes: '{name}'"
        ));
    }
    found
}

/// The lower-case word of a token without quotes.
fn read_unquoted_word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(Word {
            value,
            quote_style: None,
            ..
        }) => Some(value.to_lowercase()),
        _ => None,
    }
}

/// Known names similar to `name`, best first.
pub(super) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(usize, &str)> = known
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let tail = other.rsplit(':').next().unwrap_or(&other);
            let distance = levenshtein(&wanted, &other).min(levenshtein(&wanted, tail) + 1);
            let close = distance <= 1 + wanted.chars().count() / 3
                || (wanted.len() > 2 && other.contains(&wanted));
            close.then_some((distance, candidate))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored
        .into_iter()
        .map(|(_, candidate)| candidate)
        .take(4)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let known = ["id", "stac:crs", "cloud_cover", "stac:time_start"];
        assert_eq!(near("cloudcover", known.into_iter()), ["cloud_cover"]);
        assert_eq!(near("crs", known.into_iter()), ["stac:crs"]);
        assert!(near("zebra", known.into_iter()).is_empty());
    }
}
