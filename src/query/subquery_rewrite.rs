//! Clauses that look at what the engine does not let them see: aggregations in ORDER BY, names of SELECT in HAVING, columns that SELECT
//! does not name in QUALIFY. The statement is put into a subquery that has them as columns. Pure text; asked only after a query failed.

use std::ops::Range;

use super::clauses::{Clauses, Edits};
use super::duckdb_semantics::is_aggregate;

/// The clauses of one SELECT, from its keyword to the next one's.
struct Parts {
    list: Range<usize>,
    /// FROM, WHERE and GROUP BY, with their keywords.
    rows: Range<usize>,
    having: Option<Range<usize>>,
    qualify: Option<Range<usize>>,
    order: Option<Range<usize>>,
    /// LIMIT and all that follows.
    rest: Range<usize>,
}

/// The statement with these clauses outside of a subquery; `None` where it has none of them, or is no plain SELECT.
pub(super) fn lifted(sql: &str) -> Option<String> {
    let clauses = Clauses::new(sql);
    let select = (0..clauses.len()).find(|at| clauses.depth(*at) == 0 && clauses.is(*at, "select"))?;
    let parts = parts(&clauses, select)?;
    let before = if select == 0 { String::new() } else { clauses.typed(0..select) };
    let (list, rows, rest) =
        (clauses.typed(parts.list.clone()), clauses.typed(parts.rows.clone()), clauses.typed(parts.rest.clone()));
    if let Some(qualify) = parts.qualify {
        let condition = with_aliases(&clauses, &parts.list, qualify);
        let order = parts.order.map_or(String::new(), |order| format!("ORDER BY {}", clauses.typed(order)));
        return Some(format!(
            "{before} SELECT * EXCLUDE (\"__met\") FROM (SELECT {list}, ({condition}) AS \"__met\" {rows} {order}) AS \"__lifted\" WHERE \"__met\" {rest}"
        ));
    }
    let grouped = parts.rows.clone().any(|at| clauses.depth(at) == 0 && clauses.is(at, "group"));
    if !grouped || (parts.having.is_none() && parts.order.is_none()) {
        return None;
    }
    let mut hidden: Vec<String> = Vec::new();
    let mut outside = |clause: Range<usize>| {
        let mut edits = Edits::default();
        let mut at = clause.start;
        while at < clause.end {
            let end = if is_aggregate(&clauses, at) { clauses.closing(at + 1) } else { None };
            let Some(end) = end.filter(|end| *end < clause.end) else {
                at += 1;
                continue;
            };
            edits.replace(&clauses, at..end + 1, format!("\"__lifted{}\"", hidden.len()));
            hidden.push(clauses.typed(at..end + 1));
            at = end + 1;
        }
        let (first, last) = (clauses.pieces.get(clause.start)?.at, clauses.pieces.get(clause.end.wrapping_sub(1))?.at);
        edits.applied_to(&clauses.tokens, first..last + 1)
    };
    let having = parts.having.and_then(&mut outside).map_or(String::new(), |having| format!("WHERE {having}"));
    let order = parts.order.and_then(&mut outside).map_or(String::new(), |order| format!("ORDER BY {order}"));
    let names: Vec<String> = (0..hidden.len()).map(|at| format!("\"__lifted{at}\"")).collect();
    let columns: String = hidden.iter().zip(&names).map(|(text, name)| format!(", {text} AS {name}")).collect();
    let exclude = if names.is_empty() { String::new() } else { format!("EXCLUDE ({})", names.join(", ")) };
    Some(format!("{before} SELECT * {exclude} FROM (SELECT {list}{columns} {rows}) AS \"__lifted\" {having} {order} {rest}"))
}

fn parts(clauses: &Clauses, select: usize) -> Option<Parts> {
    let here = |at: &usize| clauses.depth(*at) == 0;
    let end = clauses.until(select, 0, |at| clauses.is_any(at, &["union", "intersect", "except"]) && !clauses.is(at + 1, "("));
    // What several SELECTs give together is not for here.
    let several = end < clauses.len() && !clauses.is(end, ";");
    if several || clauses.is_any(select + 1, &["distinct", "all"]) {
        return None;
    }
    let find = |word: &str| (select..end).filter(here).find(|at| clauses.is(*at, word));
    let from = (select..end).filter(here).find(|at| clauses.is_from(*at))?;
    if find("window").is_some() {
        return None;
    }
    let starts: Vec<(&str, usize)> = [("having", find("having")), ("qualify", find("qualify")), ("order", find("order"))]
        .into_iter()
        .chain([("rest", find("limit").or(find("offset")))])
        .filter_map(|(name, start)| start.map(|start| (name, start)))
        .collect();
    let next = |start: usize| starts.iter().map(|(_, at)| *at).filter(|at| *at > start).min().unwrap_or(end);
    let part =
        |name: &str, words: usize| starts.iter().find(|(found, _)| *found == name).map(|(_, start)| start + words..next(*start));
    Some(Parts {
        list: select + 1..from,
        rows: from..next(from),
        having: part("having", 1),
        qualify: part("qualify", 1),
        order: part("order", 2),
        rest: part("rest", 0).map_or(end..end, |rest| rest.start..end),
    })
}

/// A condition with what SELECT computes in the place of its name.
fn with_aliases(clauses: &Clauses, list: &Range<usize>, condition: Range<usize>) -> String {
    let mut aliases: Vec<(&str, String)> = Vec::new();
    let mut start = list.start;
    while start < list.end {
        let end = clauses.until(start, 0, |at| clauses.is(at, ",") || at >= list.end).min(list.end);
        let named = end.checked_sub(2).filter(|before| *before > start && clauses.is(*before, "as") && clauses.is_name(end - 1));
        if let Some(before) = named {
            aliases.push((clauses.text(end - 1).trim_matches('"'), clauses.typed(start..before)));
        }
        start = end + 1;
    }
    let mut edits = Edits::default();
    for at in condition.clone().filter(|at| clauses.is_name(*at) && !clauses.is(at + 1, "(") && !clauses.is(at + 1, ".")) {
        let found = aliases.iter().find(|(alias, _)| clauses.text(at).trim_matches('"').eq_ignore_ascii_case(alias));
        if let Some((_, text)) = found.filter(|_| !clauses.is(at.wrapping_sub(1), ".")) {
            edits.replace(clauses, at..at + 1, format!("({text})"));
        }
    }
    let ends = clauses.pieces.get(condition.start).zip(clauses.pieces.get(condition.end.wrapping_sub(1)));
    ends.and_then(|(first, last)| edits.applied_to(&clauses.tokens, first.at..last.at + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_statements_are_left() {
        for sql in
            ["SELECT id FROM data", "SELECT a FROM t GROUP BY a", "SELECT 1", "SELECT a FROM t UNION SELECT b FROM t ORDER BY 1"]
        {
            assert_eq!(lifted(sql), None, "{sql}");
        }
    }
}
