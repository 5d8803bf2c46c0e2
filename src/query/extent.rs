//! How large a statement may be: it is parsed, planned and run by functions that call themselves for each bracket, each operator of a
//! chain and each SELECT below another. Pure text.

use super::sql_dialect::{Kind, tokens};
use crate::error::{Error, Result};

/// Brackets within brackets.
const NESTING_MAX: usize = 48;
/// Operators, and conditions of CASE: a chain of them is as deep as it is long.
const OPERATORS_MAX: usize = 1_000;
/// SELECTs, those of UNION and WITH among them.
const SELECTS_MAX: usize = 100;
/// Words, numbers, texts and marks: a list of 20,000 values has 40,000.
const PIECES_MAX: usize = 50_000;

/// Words that make a condition, or a value, one deeper.
const OPERATORS: [&str; 7] = ["and", "or", "not", "when", "like", "ilike", "between"];

/// An error for a statement that is larger than any.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`], with what there is too much of.
pub(super) fn check(sql: &str) -> Result<()> {
    let (mut pieces, mut operators, mut selects, mut depth, mut deepest) = (0, 0, 0, 0usize, 0);
    for (kind, text) in tokens(sql) {
        pieces += usize::from(kind != Kind::Space);
        match (kind, text) {
            (Kind::Mark, "(" | "[" | "{") => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (Kind::Mark, ")" | "]" | "}") => depth = depth.saturating_sub(1),
            (Kind::Mark, "+" | "-" | "*" | "/" | "%" | "|" | "=" | "<" | ">" | ":") => operators += 1,
            (Kind::Word, word) if OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator)) => operators += 1,
            (Kind::Word, word) if word.eq_ignore_ascii_case("select") => selects += 1,
            _ => {}
        }
    }
    let found = [
        (deepest, NESTING_MAX, "brackets within one another", "write it flat, or in several steps"),
        (operators, OPERATORS_MAX, "operators", "ask for one of many values with IN (…)"),
        (selects, SELECTS_MAX, "SELECTs", "write it in several steps"),
        (pieces, PIECES_MAX, "words and marks", "join a table of the values instead"),
    ];
    match found.into_iter().find(|(count, most, ..)| count > most) {
        Some((count, most, what, hint)) => {
            Err(Error::too_large(format!("the query has {count} {what}; {most} is the most")).hint(hint))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_no_person_writes_are_refused() {
        let nested = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
        let chain = format!("SELECT id FROM data WHERE {}", vec!["n > 1"; 20_000].join(" AND "));
        let union = vec!["SELECT 1 AS n"; 20_000].join(" UNION ALL ");
        let with: Vec<String> = (1..20_000).map(|n| format!("t{n} AS (SELECT * FROM t{})", n - 1)).collect();
        let with = format!("WITH t0 AS (SELECT 1), {} SELECT * FROM t9", with.join(", "));
        let list = format!("SELECT id FROM data WHERE id IN ({})", vec!["1"; 60_000].join(","));
        for sql in [nested, chain, union, with, list] {
            let error = check(&sql).expect_err("is refused");
            assert!(error.is_too_large() && error.hints().len() == 1, "{error}");
        }
        let long = format!("SELECT id FROM data WHERE id IN ({})", vec!["'x'"; 20_000].join(","));
        assert!(check(&long).is_ok());
    }
}
