//! What the engine reads otherwise than DuckDB does becomes what it reads alike; where there is no such spelling, the statement is
//! refused with one that works. Pure text.

use super::clauses::{Clauses, Edits, NO_NAMES};
use super::joins::{self, Refusal};
use super::sql_dialect::{Kind, Rewritten};

/// Functions of all rows of a group.
const AGGREGATES: [&str; 48] = [
    "count",
    "sum",
    "avg",
    "mean",
    "min",
    "max",
    "median",
    "mode",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "variance",
    "var_samp",
    "var_pop",
    "first",
    "last",
    "any_value",
    "arbitrary",
    "list",
    "array_agg",
    "string_agg",
    "group_concat",
    "listagg",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "approx_quantile",
    "approx_count_distinct",
    "count_if",
    "countif",
    "bool_and",
    "bool_or",
    "arg_max",
    "argmax",
    "max_by",
    "arg_min",
    "argmin",
    "min_by",
    "corr",
    "covar",
    "covar_samp",
    "covar_pop",
    "bit_and",
    "bit_or",
    "std",
    "stdev",
    "var",
    "bit_xor",
];

/// The statement in a spelling that the engine reads as DuckDB reads the statement; the statement itself where it is refused.
pub(super) fn respelled(sql: &str) -> Rewritten {
    checked(sql).unwrap_or_else(|_| Rewritten { text: sql.to_owned(), pieces: vec![(0, 0)] })
}

/// Why a statement can't be run as it is meant.
pub(super) fn refused(sql: &str) -> Option<Refusal> {
    checked(sql).err()
}

type Pass = fn(&Clauses, &mut Edits) -> Result<(), Refusal>;

fn checked(sql: &str) -> Result<Rewritten, Refusal> {
    let passes: [Pass; 5] = [aggregates, tables, joins::joins, truths, orders];
    let mut whole = Rewritten { text: sql.to_owned(), pieces: vec![(0, 0)] };
    for pass in passes {
        let text = std::mem::take(&mut whole.text);
        let clauses = Clauses::new(&text);
        let mut edits = Edits::default();
        pass(&clauses, &mut edits)?;
        if edits.is_empty() {
            whole.text = text;
            continue;
        }
        let changed = edits.applied(&clauses.tokens);
        let pieces = changed.pieces.iter().map(|(out, middle)| (*out, whole.origin(*middle))).collect();
        whole = Rewritten { text: changed.text, pieces };
    }
    Ok(whole)
}

/// True for the name of an aggregation that is called here.
pub(super) fn is_aggregate(clauses: &Clauses, at: usize) -> bool {
    clauses.is(at + 1, "(") && clauses.is_any(at, &AGGREGATES) && !clauses.is(at.wrapping_sub(1), ".")
}

/// True where OVER, or FILTER (…) and OVER, follow the call that closes here.
fn is_window(clauses: &Clauses, close: usize) -> bool {
    let after = if clauses.is(close + 1, "filter") { clauses.closing(close + 2).unwrap_or(close) } else { close };
    clauses.is(after + 1, "over")
}

/// Refuses aggregations inside of those over windows, and columns beside aggregations without GROUP BY.
fn aggregates(clauses: &Clauses, _: &mut Edits) -> Result<(), Refusal> {
    for at in (0..clauses.len()).filter(|at| is_aggregate(clauses, *at)) {
        let Some(close) = clauses.closing(at + 1) else { continue };
        let inner = (at + 2..close).find(|inner| is_aggregate(clauses, *inner));
        let subquery = (at + 2..close).any(|inner| clauses.is(inner, "select"));
        if let Some(inner) = inner.filter(|_| !subquery) {
            let summary = format!("{}() can't stand within {}()", clauses.text(inner), clauses.text(at));
            let hint = "compute the groups in a subquery: SELECT k, s, sum(s) OVER () FROM (SELECT k, sum(x) AS s FROM data GROUP BY k) AS g";
            return Err((summary, hint.into()));
        }
    }
    for select in (0..clauses.len()).filter(|at| clauses.is(*at, "select")) {
        ungrouped(clauses, select)?;
    }
    Ok(())
}

fn ungrouped(clauses: &Clauses, select: usize) -> Result<(), Refusal> {
    let depth = clauses.depth(select);
    let sets = |at: usize| clauses.is_any(at, &["union", "intersect", "except"]) && !clauses.is(at + 1, "(");
    let end = clauses.until(select + 1, depth, sets);
    let clause = |word: &str| (select..end).find(|at| clauses.depth(*at) == depth && clauses.is(*at, word));
    let Some(from) = (select..end).find(|at| clauses.depth(*at) == depth && clauses.is_from(*at)) else { return Ok(()) };
    let grouped = clause("group").is_some();
    let mut aggregate = None;
    let mut column = None;
    let mut window = false;
    let mut at = select + 1;
    while at < from {
        if is_aggregate(clauses, at) {
            let close = clauses.closing(at + 1).unwrap_or(from);
            if !is_window(clauses, close) {
                aggregate = aggregate.or(Some(at));
                at = close + 1;
                // A FILTER looks at rows, as the aggregation does.
                if clauses.is(at, "filter") {
                    at = clauses.closing(at + 1).unwrap_or(from) + 1;
                }
                continue;
            }
        }
        if clauses.is(at, "over") {
            let close = clauses.closing(at + 1).unwrap_or(from);
            window |= clauses.is(at + 1, "(") && (at..close).any(|at| is_aggregate(clauses, at));
            at = if clauses.is(at + 1, "(") { clauses.closing(at + 1).unwrap_or(from) + 1 } else { at + 2 };
            continue;
        }
        // A subquery has its own.
        if clauses.is(at, "(") && clauses.is(at + 1, "select") {
            at = clauses.closing(at).unwrap_or(from) + 1;
            continue;
        }
        // What follows AS is a name or a type.
        if clauses.is(at, "as") || clauses.is(at, ":") {
            at += 2;
            continue;
        }
        let plain = clauses.is_name(at)
            && !clauses.is_any(at, &NO_NAMES)
            && !clauses.is_any(at, &NO_COLUMNS)
            && !clauses.is_any(at + 1, &["(", "from"]);
        let follows = at.checked_sub(1).is_some_and(|before| {
            before == select
                || clauses.is_any(
                    before,
                    &[",", "(", "+", "-", "*", "/", "%", "|", "=", "<", ">", "distinct", "when", "then", "else", "case"],
                )
        });
        let star = clauses.is(at, "*") && clauses.is_any(at.wrapping_sub(1), &["select", ",", "distinct", "."]);
        if (plain && follows) || star {
            column = column.or(Some(at));
        }
        at += 1;
    }
    match (aggregate, column) {
        (Some(aggregate), Some(column)) if !grouped => {
            let (name, called) = (clauses.text(column), clauses.text(aggregate));
            let summary = format!("{name} has a value for every row and {called}() only one for all of them");
            Err((summary, format!("add GROUP BY {name}, or take any_value({name}), or {called}(…) OVER ()")))
        }
        // An aggregation in a window is that of a group, which the engine has not yet computed.
        _ if window && grouped => {
            let hint = "compute the groups in a subquery: SELECT *, rank() OVER (ORDER BY n DESC) FROM (SELECT k, count(*) AS n FROM data GROUP BY k) AS g";
            Err(("a window can't look at an aggregation of the same SELECT".into(), hint.into()))
        }
        _ => Ok(()),
    }
}

/// Words in a list of columns that are no columns, beside [`NO_NAMES`].
const NO_COLUMNS: [&str; 8] = ["all", "on", "try_cast", "filter", "over", "exclude", "current_date", "current_timestamp"];

/// A table of WITH goes before the dataset's table of the same name, but for its own text.
fn tables(clauses: &Clauses, edits: &mut Edits) -> Result<(), Refusal> {
    let is_ours = |name: &str| {
        let level = name.strip_prefix("level").or_else(|| name.strip_prefix('l'));
        name == "data" || level.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for with in (0..clauses.len()).filter(|at| clauses.is(*at, "with") && clauses.is_name(*at + 1)) {
        let depth = clauses.depth(with);
        let end = clauses.until(with + 1, depth, |_| false);
        let mut at = with + 1 + usize::from(clauses.is(with + 1, "recursive"));
        let mut named: Vec<(&str, usize)> = Vec::new();
        loop {
            let name = at;
            at += 1;
            if clauses.is(at, "(") {
                at = clauses.closing(at).unwrap_or(end) + 1;
            }
            let is_table = clauses.is(at, "as");
            while clauses.is_any(at, &["as", "not", "materialized"]) {
                at += 1;
            }
            let Some(close) = clauses.closing(at).filter(|_| is_table && clauses.is(at, "(")) else { break };
            let plain = clauses.text(name).trim_matches('"');
            if is_ours(plain) {
                edits.replace(clauses, name..name + 1, format!("with_{plain}"));
                named.push((plain, close + 1));
            }
            at = close + 1;
            if !clauses.is(at, ",") {
                break;
            }
            at += 1;
        }
        if let Some((name, _)) = named.first().filter(|_| depth > 0) {
            let hint = format!("put it at the beginning, under another name: WITH my_{name} AS (…) SELECT * FROM my_{name}");
            return Err((format!("WITH {name} can't stand in a subquery"), hint));
        }
        for (name, start) in named {
            renamed(clauses, name, start..end, edits)?;
        }
    }
    Ok(())
}

/// Has `name` mean the table of WITH in these pieces.
fn renamed(clauses: &Clauses, name: &str, within: std::ops::Range<usize>, edits: &mut Edits) -> Result<(), Refusal> {
    for at in within {
        let is_it = clauses.is_name(at) && clauses.text(at).trim_matches('"') == name;
        if !is_it || clauses.is(at.wrapping_sub(1), ".") {
            continue;
        }
        let after_from = clauses.is_from(at.wrapping_sub(1)) || clauses.is(at.wrapping_sub(1), "join");
        let depth = clauses.depth(at);
        let listed = clauses.is(at.wrapping_sub(1), ",") && {
            let clause = (0..at).rev().find(|before| {
                clauses.depth(*before) < depth
                    || (clauses.depth(*before) == depth
                        && (clauses.is_clause(*before) || clauses.is_any(*before, &["join", "by", "with"])))
            });
            clause.is_some_and(|clause| clauses.depth(clause) == depth && (clauses.is_from(clause) || clauses.is(clause, "join")))
        };
        let is_alias = clauses.is(at.wrapping_sub(1), "as")
            || (clauses.is(at + 1, "as") && clauses.is(at + 2, "("))
            || (clauses.is_name(at.wrapping_sub(1))
                && !clauses.is_clause(at.wrapping_sub(1))
                && !after_from
                && !clauses.is(at + 1, "."));
        if after_from || listed || clauses.is(at + 1, ".") {
            edits.replace(clauses, at..at + 1, format!("with_{name}"));
        } else if is_alias {
            return Err((
                format!("{name} is the name of a table of the dataset, of one of WITH, and of something else"),
                format!("give the table of WITH another name: WITH my_{name} AS (…) SELECT * FROM my_{name}"),
            ));
        }
    }
    Ok(())
}

/// IS [NOT] TRUE, FALSE, UNKNOWN and DISTINCT FROM, numbers that the engine does not read, days as times.
fn truths(clauses: &Clauses, edits: &mut Edits) -> Result<(), Refusal> {
    for at in 0..clauses.len() {
        if clauses.is(at, "is") {
            let not = usize::from(clauses.is(at + 1, "not"));
            let value = at + 1 + not;
            let denied = if not == 1 { " = FALSE" } else { "" };
            if clauses.is(value, "unknown") {
                edits.replace(clauses, value..value + 1, "NULL");
            } else if clauses.is_any(value, &["true", "false"]) {
                if clauses.is_any(at.wrapping_sub(2), &["like", "ilike"]) {
                    let hint = format!("write (… {} …) IS {}", clauses.text(at - 2), clauses.text(value));
                    return Err((format!("{} … IS {} needs brackets", clauses.text(at - 2), clauses.text(value)), hint));
                }
                edits.replace(clauses, at..value + 1, format!("<=> {}{denied}", clauses.text(value)));
            } else if clauses.is(value, "distinct") && clauses.is(value + 1, "from") {
                // The engine would take all that follows for what is compared.
                let depth = clauses.depth(at);
                let end = clauses.until(value + 2, depth, |at| {
                    clauses.is_any(at, &["and", "or", ",", "as", "asc", "desc", "nulls", "join", "is"]) || clauses.is_clause(at)
                });
                edits.replace(clauses, at..value + 2, "<=> (");
                if let Some(last) = clauses.pieces.get(end.wrapping_sub(1)) {
                    edits.after(last.at, if not == 1 { ")" } else { ") = FALSE" });
                }
            }
        }
        let text = clauses.text(at);
        if clauses.is(at, "timestamp") && clauses.text(at + 1).len() == 12 && clauses.text(at + 1).starts_with('\'') {
            let day = clauses.text(at + 1).trim_matches('\'');
            edits.replace(clauses, at + 1..at + 2, format!("'{day} 00:00:00'"));
        }
        let is_number =
            clauses.pieces.get(at).is_some_and(|piece| piece.kind == Kind::Closed && !piece.text.starts_with(['\'', '"', '`']));
        if is_number && let Some(spelled) = number(text, clauses.is(at.wrapping_sub(1), "-")) {
            edits.replace(clauses, at..at + 1, spelled);
        }
    }
    Ok(())
}

/// A number as the engine reads it; `None` where it does.
fn number(text: &str, negative: bool) -> Option<String> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((whole, power)) = text.split_once(['e', 'E']) {
        return (is_digits(whole) && (power.is_empty() || is_digits(power))).then(|| format!("{whole}.0e{power}"));
    }
    if !is_digits(text) || text.parse::<i64>().is_ok() || (negative && text == "9223372036854775808") {
        return None;
    }
    match text.parse::<u64>() {
        Ok(_) if !negative => Some(format!("CAST('{text}' AS UBIGINT)")),
        _ => Some(format!("{text}.0")),
    }
}

/// What has no value comes last in every order that does not say otherwise.
fn orders(clauses: &Clauses, edits: &mut Edits) -> Result<(), Refusal> {
    let ends =
        ["limit", "offset", "rows", "range", "groups", "qualify", "union", "except", "intersect", "fetch", "using", "tablesample"];
    for order in (0..clauses.len()).filter(|at| clauses.is(*at, "order") && clauses.is(*at + 1, "by")) {
        let depth = clauses.depth(order);
        let in_window = (0..order).rev().find(|at| clauses.depth(*at) < depth).is_some_and(|open| {
            clauses.is(open.wrapping_sub(1), "over")
                || (clauses.is(open.wrapping_sub(1), "as") && clauses.is_any(open + 1, &["partition", "order"]))
        });
        let mut item = order + 2;
        loop {
            let end = clauses.until(item, depth, |at| clauses.is(at, ",") || (at > item && clauses.is_any(at, &ends)));
            let nulls = (item..end).find(|at| clauses.depth(*at) == depth && clauses.is(*at, "nulls"));
            if let Some(nulls) = nulls.filter(|nulls| in_window && clauses.is(*nulls + 1, "first")) {
                let key = clauses.typed(item..nulls).trim_end_matches(|c: char| c.is_whitespace()).to_owned();
                let plain = key.to_lowercase().trim_end_matches(" desc").trim_end_matches(" asc").len();
                let key = key.get(..plain).unwrap_or(&key);
                let hint = format!("order by whether there is a value first: ORDER BY {key} IS NOT NULL, {key}");
                return Err(("OVER can't have NULLS FIRST".into(), hint));
            }
            if let Some(last) = clauses.pieces.get(end.wrapping_sub(1)).filter(|_| nulls.is_none() && end > item) {
                edits.after(last.at, " NULLS LAST");
            }
            if !clauses.is(end, ",") || end >= clauses.len() {
                break;
            }
            item = end + 1;
        }
    }
    Ok(())
}
