//! Hints: alternatives to unsupported constructs, and similar names.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::function_registry;

/// Alternative to PIVOT.
pub(super) const PIVOT: &str = "one column for each value: SELECT count(*) FILTER (WHERE split = 'train') AS train FROM data";

/// Alternative to ROLLUP, CUBE and GROUPING SETS.
pub(super) const GROUPING_SETS: &str = "several groupings are put together: SELECT a, b, count(*) AS n FROM data GROUP BY a, b UNION ALL SELECT a, NULL, count(*) FROM data GROUP BY a";

/// Alternative to struct literals.
pub(super) const STRUCT: &str = "a struct is not written out: name its fields as columns of their own";

/// Alternatives to keywords, and to functions, which end with `(`.
const INSTEAD: [(&str, &str); 22] = [
    ("glob", "GLOB is not supported: write LIKE 's%', with % for *"),
    ("lateral", "LATERAL is not supported: use a subquery, or CROSS JOIN UNNEST(column)"),
    ("pivot", PIVOT),
    ("unpivot", PIVOT),
    ("asof", "ASOF joins are not supported: join, then keep the nearest with QUALIFY row_number() OVER (…) = 1"),
    ("rollup", GROUPING_SETS),
    ("cube", GROUPING_SETS),
    ("grouping", GROUPING_SETS),
    ("rowid", "rows are numbered by \"internal:current_id\""),
    ("age(", "there are no intervals in results: date_diff('day', start, end), or date_diff('month', start, end)"),
    ("format(", "format() is not supported: write id || '-' || type, or concat(id, '-', type)"),
    ("hash(", "hash() is not supported: sha256(x) of a text, or GROUP BY the column itself"),
    ("histogram(", "histogram() is not supported: SELECT floor(x / 10) AS bin, count(*) FROM data GROUP BY bin ORDER BY bin"),
    ("json_extract(", "JSON in text is not read: use regexp_extract(column, '\"key\": *\"([^\"]*)', 1)"),
    ("kurtosis(", "of moments there are avg, stddev, variance, corr, covar_samp"),
    ("md5(", "md5() is not supported: sha256(x) of a text, or GROUP BY the column itself"),
    ("printf(", "printf() is not supported: write id || '-' || type, or concat(id, '-', type)"),
    ("random(", "random rows are USING SAMPLE 10 at the end of the statement"),
    ("skewness(", "of moments there are avg, stddev, variance, corr, covar_samp"),
    ("struct_pack(", STRUCT),
    ("typeof(", "DESCRIBE data lists the types of the columns"),
    (
        "sample",
        "a sample is written USING SAMPLE 10 or USING SAMPLE 5% at the end; or take every tenth row with WHERE \"internal:current_id\" % 10 = 0",
    ),
];

const SPATIAL: &str = r#"of the ST_ functions there are ST_X, ST_Y, ST_XMin, ST_YMin, ST_XMax, ST_YMax, ST_Within, ST_Intersects, ST_Contains, ST_Centroid, ST_Area, ST_AsText, ST_Point, ST_MakeEnvelope, ST_GeomFromText and ST_GeomFromWKB: WHERE ST_X("stac:centroid") BETWEEN -80 AND -70"#;

/// Alternative to the function with this lower-case name.
pub(super) fn of_function(name: &str) -> Option<&'static str> {
    let called = |(word, _): &&(&str, &str)| word.strip_suffix('(') == Some(name);
    let spatial = || name.starts_with("st_").then_some(SPATIAL);
    INSTEAD.iter().find(called).map(|(_, text)| *text).or_else(spatial)
}

/// Hints for unsupported constructs in a statement.
pub(super) fn of_statement(tokens: &[TokenWithSpan], is_column: &dyn Fn(&str) -> bool) -> Vec<String> {
    let bare = |token: &TokenWithSpan| match &token.token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value.to_lowercase()),
        _ => None,
    };
    let words: Vec<(String, bool)> = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| {
            let called = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
            Some((bare(token)?, called))
        })
        .collect();
    let mut found: Vec<String> = Vec::new();
    for (name, text) in INSTEAD {
        let applies = match name.strip_suffix('(') {
            Some(function) => words.iter().any(|(word, called)| *called && word == function),
            None => words.iter().any(|(word, _)| word == name),
        };
        if applies && !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    let is_unknown = |word: &str| word.starts_with("st_") && !function_registry::is_known(word);
    if words.iter().any(|(word, called)| *called && is_unknown(word)) {
        found.push(SPATIAL.to_owned());
    }
    let pairs = || tokens.windows(2);
    let triples = || tokens.windows(3);
    let is_keyword = |token: &TokenWithSpan, wanted: Keyword| matches!(&token.token, Token::Word(word) if word.keyword == wanted);
    if triples().any(|three| is_keyword(&three[0], Keyword::LIMIT) && three[2].token == Token::Mod) {
        found.push("LIMIT takes a number of rows; a part of them is USING SAMPLE 50%".into());
    }
    if tokens.iter().any(|token| matches!(token.token, Token::Placeholder(_) | Token::Question)) {
        found.push("there are no placeholders: write the value itself".into());
    }
    if tokens.iter().any(|token| token.token == Token::LBrace) {
        found.push(STRUCT.into());
    }
    if pairs().any(|two| two[0].token == Token::Colon && matches!(two[1].token, Token::Word(_))) {
        found.push(r#"names with a colon stand in double quotes: "stac:crs""#.into());
    }
    let quoted = tokens.iter().find_map(|token| match &token.token {
        Token::Word(Word { value, quote_style: Some('"'), .. }) if !value.is_empty() && !is_column(value) => Some(value),
        _ => None,
    });
    if let Some(name) = quoted {
        found.push(format!("\"{name}\" is a name; texts are in single quotes: '{name}'"));
    }
    found
}

/// Known names similar to `name`, best first.
pub(super) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(usize, &str)> = known
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let tail = other.rsplit(':').next().unwrap_or(&other);
            let distance = distance(&wanted, &other).min(distance(&wanted, tail) + 1);
            let close = distance <= 1 + wanted.chars().count() / 3 || (wanted.len() > 2 && other.contains(&wanted));
            close.then_some((distance, candidate))
        })
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().map(|(_, candidate)| candidate).take(4).collect()
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = corner + usize::from(left != *right);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
