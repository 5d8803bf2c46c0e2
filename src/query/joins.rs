//! Conditions of joins that the engine would take for those of an inner join: what looks at one table alone goes into a subquery
//! where that means the same, all else is refused. Pure text.

use std::ops::Range;

use super::clauses::{Clauses, Edits, NO_NAMES};
use super::sql_dialect::Kind;

/// Words that stand before JOIN.
const KINDS: [&str; 10] = ["natural", "inner", "cross", "left", "right", "full", "outer", "semi", "anti", "asof"];

/// Words in a condition that are no names, beside [`NO_NAMES`].
const WORDS: [&str; 2] = ["from", "similar"];

/// What is wrong, and what to write instead.
pub(super) type Refusal = (String, String);

/// One table of a FROM.
struct Relation<'a> {
    /// Its pieces, with its alias.
    pieces: Range<usize>,
    alias: &'a str,
    /// Its columns have other names.
    renamed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Join {
    Inner,
    Left,
    Right,
    Full,
    /// SEMI and ANTI: only rows of the left come out.
    Half,
}

/// What a condition compares.
#[derive(PartialEq)]
enum Compares {
    /// An equality between both sides, as the engine joins by.
    BothEqual,
    RightOnly,
    LeftOnly,
    Other,
}

/// Edits by which every join means what it says.
pub(super) fn joins(clauses: &Clauses, edits: &mut Edits) -> Result<(), Refusal> {
    for from in (0..clauses.len()).filter(|at| clauses.is_from(*at)) {
        let (relations, all_inner) = tables(clauses, from, edits)?;
        let depth = clauses.depth(from);
        let select =
            (0..from).rev().find(|at| clauses.depth(*at) < depth || (clauses.depth(*at) == depth && clauses.is(*at, "select")));
        let list = select.filter(|at| clauses.is(*at, "select")).map_or(from..from, |select| select..from);
        for unnest in list.filter(|at| clauses.is(*at, "unnest") && clauses.is(at + 1, "(")) {
            unnested(clauses, &relations, all_inner, unnest, edits)?;
        }
    }
    Ok(())
}

/// The tables of one FROM, and whether all joins of them are inner ones.
fn tables<'a>(clauses: &Clauses<'a>, from: usize, edits: &mut Edits) -> Result<(Vec<Relation<'a>>, bool), Refusal> {
    let (end, depth) = (clauses.end_of_from(from), clauses.depth(from));
    let starts = |at: usize| clauses.depth(at) == depth && at < end;
    let is_kind = |at: usize| clauses.is_any(at, &KINDS) && !clauses.is(at + 1, "(");
    let stops = |at: usize| clauses.is_any(at, &["join", ",", "on", "using"]) || is_kind(at);
    let mut before: Vec<Relation> = Vec::new();
    let mut all_inner = true;
    let mut at = from + 1;
    while at < end {
        let mut words = Vec::new();
        while at < end && starts(at) && (is_kind(at) || clauses.is(at, "join") || clauses.is(at, ",")) {
            words.push(clauses.text(at).to_ascii_lowercase());
            at += 1;
        }
        let has = |word: &str| words.iter().any(|found| found == word);
        let join = match () {
            () if has("semi") || has("anti") => Join::Half,
            () if has("left") => Join::Left,
            () if has("right") => Join::Right,
            () if has("full") => Join::Full,
            () => Join::Inner,
        };
        let last = clauses.until(at, depth, |at| stops(at) || at >= end).min(end);
        let Some(relation) = relation(clauses, at..last) else { break };
        at = last;
        if clauses.is(relation.pieces.start, "unnest") {
            unnested(clauses, &before, all_inner, relation.pieces.start, edits)?;
        }
        if clauses.is(at, "on") {
            let stop = clauses.until(at + 1, depth, |at| at >= end || clauses.is(at, "join") || clauses.is(at, ",") || is_kind(at));
            let condition = at + 1..stop.min(end);
            if join != Join::Inner {
                let swapped = has("right") && join == Join::Half;
                if swapped {
                    return Err(unequal("RIGHT SEMI and RIGHT ANTI joins are not supported".into()));
                }
                narrowed(clauses, join, condition.clone(), &before, &relation, edits)?;
            }
            at = condition.end;
        } else if clauses.is(at, "using") {
            at = clauses.closing(at + 1).unwrap_or(end) + 1;
        }
        all_inner &= join == Join::Inner;
        before.push(relation);
        if at < end && !stops(at) {
            break;
        }
    }
    Ok((before, all_inner))
}

fn relation<'a>(clauses: &Clauses<'a>, pieces: Range<usize>) -> Option<Relation<'a>> {
    let start = pieces.start;
    let mut at = if clauses.is(start, "(") || (clauses.is(start, "unnest") && clauses.is(start + 1, "(")) {
        clauses.closing(if clauses.is(start, "(") { start } else { start + 1 })? + 1
    } else {
        let mut at = start + 1;
        while clauses.is(at, ".") && at < pieces.end {
            at += 2;
        }
        at
    };
    let mut alias = if at == start + 1 { clauses.text(start) } else { clauses.text(at.wrapping_sub(1)) };
    at += usize::from(clauses.is(at, "as"));
    if at < pieces.end && clauses.is_name(at) {
        alias = clauses.text(at);
        at += 1;
    }
    // USING (…) is a kind of condition, column names behind an alias are not.
    let renamed = at < pieces.end && clauses.is(at, "(");
    (start < pieces.end).then(|| Relation { pieces: start..at.min(pieces.end), alias: alias.trim_matches('"'), renamed })
}

/// Takes what looks at one side alone out of a condition.
fn narrowed(
    clauses: &Clauses,
    join: Join,
    condition: Range<usize>,
    left: &[Relation],
    right: &Relation,
    edits: &mut Edits,
) -> Result<(), Refusal> {
    let conditions = clauses.conditions(condition.clone());
    let (mut kept, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
    for one in conditions {
        let typed = clauses.typed(one.clone());
        match compares(clauses, one, left, right) {
            Compares::BothEqual => kept.push(typed),
            Compares::RightOnly if matches!(join, Join::Left | Join::Half) && !right.renamed => of_right.push(typed),
            Compares::LeftOnly if join == Join::Right && left.len() == 1 && !left[0].renamed => of_left.push(typed),
            _ => return Err(unequal(format!("a join of this kind can't have the condition {}", typed.trim()))),
        }
    }
    if kept.is_empty() {
        return Err(unequal("a join of this kind needs a condition that has a column of each table be equal".into()));
    }
    if of_left.is_empty() && of_right.is_empty() {
        return Ok(());
    }
    edits.replace(clauses, condition, kept.join(" AND "));
    for (relation, conditions) in [(left.first(), of_left), (Some(right), of_right)] {
        if let Some(relation) = relation.filter(|_| !conditions.is_empty()) {
            wrapped(clauses, relation, &conditions.join(" AND "), edits);
        }
    }
    Ok(())
}

fn wrapped(clauses: &Clauses, relation: &Relation, condition: &str, edits: &mut Edits) {
    let pieces = |at: usize| clauses.pieces.get(at).map(|piece| piece.at);
    if let (Some(first), Some(last)) = (pieces(relation.pieces.start), pieces(relation.pieces.end.wrapping_sub(1))) {
        edits.before(first, "(SELECT * FROM ");
        edits.after(last, &format!(" WHERE {condition}) AS \"{}\"", relation.alias));
    }
}

fn unequal(summary: String) -> Refusal {
    let hint = "the engine only joins so by columns that are equal; find the pairs in a subquery, and join that: FROM data AS a \
                LEFT JOIN (SELECT a.id AS key, b.n FROM data AS a JOIN data AS b ON a.k = b.k AND a.n < b.n) AS m ON a.id = m.key \
                (in conditions, name the table of every column: b.n > 100)";
    (summary, hint.into())
}

fn compares(clauses: &Clauses, one: Range<usize>, left: &[Relation], right: &Relation) -> Compares {
    let mut one = one;
    while clauses.is(one.start, "(") && clauses.closing(one.start) == Some(one.end.wrapping_sub(1)) {
        one = one.start + 1..one.end - 1;
    }
    let depth = clauses.depth(one.start);
    if one.clone().any(|at| clauses.is(at, "select")) {
        return Compares::Other;
    }
    let sides = |part: Range<usize>| {
        let (mut of_left, mut of_right, mut of_any) = (false, false, false);
        for at in part {
            let text = clauses.text(at);
            let is_call = clauses.is(at + 1, "(");
            let is_word = clauses.pieces.get(at).is_some_and(|piece| piece.kind == Kind::Word);
            let is_keyword = is_word && NO_NAMES.iter().chain(&WORDS).any(|word| text.eq_ignore_ascii_case(word));
            if !clauses.is_name(at)
                || is_call
                || is_keyword
                || clauses.is(at.wrapping_sub(1), ".")
                || clauses.is(at.wrapping_sub(1), ":")
            {
                continue;
            }
            let name = text.trim_matches('"');
            if !clauses.is(at + 1, ".") {
                of_any = true;
            } else if name.eq_ignore_ascii_case(right.alias) {
                of_right = true;
            } else if left.iter().any(|relation| name.eq_ignore_ascii_case(relation.alias)) {
                of_left = true;
            } else {
                of_any = true;
            }
        }
        (of_left, of_right, of_any)
    };
    let is_equal = |at: usize| {
        clauses.is(at, "=") && !clauses.is_any(at.wrapping_sub(1), &["<", ">", "!", "="]) && !clauses.is_any(at + 1, &[">", "="])
    };
    let mixed = |at: usize| {
        clauses.depth(at) == depth
            && (clauses.is_any(at, &["<", ">", "!", "or", "not", "is", "in", "between", "like", "ilike", "similar", "~"]))
    };
    if let Some(equal) = one.clone().find(|at| clauses.depth(*at) == depth && is_equal(*at)) {
        let others = one.clone().any(mixed) || (equal + 1..one.end).any(|at| clauses.depth(at) == depth && is_equal(at));
        match (sides(one.start..equal), sides(equal + 1..one.end)) {
            _ if others => {}
            ((true, false, false), (false, true, false)) | ((false, true, false), (true, false, false)) => {
                return Compares::BothEqual;
            }
            // Which table a bare name is of, the engine finds out.
            ((false, false, true), (false, false, true)) if one.len() == 3 => return Compares::BothEqual,
            ((false, false, true), (of_left, of_right, false)) | ((of_left, of_right, false), (false, false, true))
                if one.len() == 5 && of_left != of_right =>
            {
                return Compares::BothEqual;
            }
            _ => {}
        }
    }
    match sides(one) {
        (false, true, false) => Compares::RightOnly,
        (true, false, false) => Compares::LeftOnly,
        _ => Compares::Other,
    }
}

/// Rows whose list is empty or missing have nothing to give, and go away before the list is taken apart.
fn unnested(clauses: &Clauses, before: &[Relation], all_inner: bool, unnest: usize, edits: &mut Edits) -> Result<(), Refusal> {
    let Some(close) = clauses.closing(unnest + 1) else { return Ok(()) };
    let argument = unnest + 2..close;
    if clauses.is(argument.start, "[") || argument.is_empty() {
        return Ok(());
    }
    let list = clauses.typed(argument.clone());
    let of = clauses.text(argument.start).trim_matches('"');
    let named = clauses.is(argument.start + 1, ".").then(|| before.iter().find(|relation| relation.alias.eq_ignore_ascii_case(of)));
    let relation = match (named.flatten(), before) {
        (Some(relation), _) => relation,
        (None, [relation]) => relation,
        // A struct's field is no table's.
        _ => {
            let hint =
                "take the lists apart in a subquery: FROM (SELECT id, x FROM data CROSS JOIN UNNEST(list) AS t(x)) AS u JOIN …";
            return Err((format!("which table has {list} can't be told here"), hint.into()));
        }
    };
    if relation.renamed
        || !all_inner
        || (argument.clone()).any(|at| clauses.depth(at) == clauses.depth(unnest) + 1 && clauses.is(at, ","))
    {
        let hint = "take the lists apart in a subquery: FROM (SELECT id, x FROM data CROSS JOIN UNNEST(list) AS t(x)) AS u";
        return Err((format!("UNNEST({list}) can't stand here"), hint.into()));
    }
    wrapped(clauses, relation, &format!("array_length({list}) > 0"), edits);
    Ok(())
}
