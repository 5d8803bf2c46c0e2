//! Mutations of SQL by tokens.

use super::{Engine, Random};

/// Tokens of statements on the levels of a dataset.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "DISTINCT",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "IS NULL",
    "IS NOT NULL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "JOIN",
    "LEFT JOIN",
    "ON",
    "USING",
    "UNION ALL",
    "EXCEPT",
    "INTERSECT",
    "WITH",
    "OVER",
    "PARTITION BY",
    "QUALIFY",
    "EXISTS",
    "ANY",
    "ALL",
    "CAST",
    "INTERVAL",
    "TIMESTAMP",
    "DATE",
    "EXTRACT",
    "SUMMARIZE",
    "DESCRIBE",
    "SHOW TABLES",
    "EXPLAIN",
    "USING SAMPLE",
    "EXCLUDE",
    "REPLACE",
    "FILTER",
    "VALUES",
    "DESC",
    "NULLS LAST",
    "(",
    ")",
    ",",
    ".",
    ";",
    "*",
    "+",
    "-",
    "/",
    "//",
    "%",
    "||",
    "::",
    "=",
    "<>",
    "<",
    ">=",
    "->",
    "[",
    "]",
    "'",
    "\"",
    "--",
    "/*",
    "*/",
    "1",
    "0",
    "-1",
    "1e308",
    "9223372036854775807",
    "'lima'",
    "''",
    "NULL",
    "TRUE",
    "data",
    "level0",
    "level1",
    "l0",
    "l1",
    "id",
    "type",
    "\"stac:centroid\"",
    "\"stac:time_start\"",
    "cloud_cover",
    "\"stac:geotransform\"",
    "\"internal:parent_id\"",
    "\"l1:id\"",
    "\"l0:id\"",
    "count(*)",
    "sum",
    "avg",
    "min",
    "max",
    "round",
    "abs",
    "concat",
    "substr",
    "length",
    "upper",
    "regexp_matches",
    "date_trunc",
    "year",
    "strftime",
    "coalesce",
    "nullif",
    "row_number()",
    "list_contains",
    "unnest",
    "quantile_cont",
    "median",
    "stddev",
    "ST_X",
    "ST_Y",
    "ST_Within",
    "ST_GeomFromText",
    "ST_Intersects",
    "ST_MakeEnvelope",
    "ST_AsText",
    "ST_Area",
    "ST_Distance",
    "ST_Buffer",
    "ST_Centroid",
    "'POINT(1 2)'",
    "'POLYGON((0 0,1 0,1 1,0 0))'",
    "%Y",
    "VARCHAR",
    "BIGINT",
    "DOUBLE",
    "x",
];

/// A statement, usually mutated by tokens.
pub fn sql(bytes: &mut Vec<u8>, longest: usize, random: &mut Random, engine: Engine<'_>) {
    if random.one_in(4) {
        return engine(bytes, longest);
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut words = words(&text);
    for _ in 0..=random.below(3) {
        let place = random.below(words.len());
        let word = WORDS[random.below(WORDS.len())];
        match random.below(6) {
            0 => words.insert(place, word),
            1 if place < words.len() => words[place] = word,
            2 if place < words.len() => drop(words.remove(place)),
            3 if place < words.len() => {
                let other = random.below(words.len());
                words.swap(place, other);
            }
            4 if place < words.len() => {
                let end = (place + 1 + random.below(6)).min(words.len());
                let part = words[place..end].to_vec();
                let at = random.below(words.len());
                words.splice(at..at, part);
            }
            _ if place < words.len() => {
                let end = (place + 1 + random.below(6)).min(words.len());
                words.splice(end..end, [")"]);
                words.splice(place..place, [word, "("]);
            }
            _ => words.push(word),
        }
    }
    *bytes = words.join(" ").into_bytes();
    bytes.truncate(longest);
}

/// Splits a statement: words, numbers and quoted strings as a whole, everything else by character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            letter if is_letter(letter) => rest
                .find(|other: char| !is_letter(other))
                .unwrap_or(rest.len()),
            other => other.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn is_letter(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
