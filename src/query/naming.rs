//! Names for what a SELECT computes without naming it: the text that was typed, as DuckDB has it. The engine calls such a column
//! after the column that it is made from, so that two of them clash.

use super::sql_dialect::{Kind, Token, tokens};

/// Words that end a list of columns.
const ENDS: [&str; 12] =
    ["from", "where", "group", "having", "order", "limit", "union", "except", "intersect", "qualify", "window", "offset"];

/// Words after which a word is no alias, and that are none themselves.
const PARTS: [&str; 22] = [
    "and", "or", "not", "is", "null", "in", "like", "ilike", "between", "case", "when", "then", "else", "end", "over", "distinct",
    "true", "false", "as", "cast", "interval", "filter",
];

/// The statement with `AS "…"` behind every computed column that has no name, in all of its SELECTs.
pub(super) fn named(sql: &str) -> String {
    let tokens = tokens(sql);
    let mut added: Vec<(usize, String)> = Vec::new();
    for (at, (kind, text)) in tokens.iter().enumerate() {
        if *kind == Kind::Word && text.eq_ignore_ascii_case("select") {
            list(&tokens, at + 1, &mut added);
        }
    }
    let mut out = String::with_capacity(sql.len() + 32 * added.len());
    for (at, (_, text)) in tokens.iter().enumerate() {
        out.push_str(text);
        if let Some((_, name)) = added.iter().find(|(end, _)| *end == at) {
            out.push_str(&format!(" AS \"{name}\""));
        }
    }
    out
}

/// The columns of one list, from the token after SELECT.
fn list(tokens: &[Token], start: usize, added: &mut Vec<(usize, String)>) {
    let mut taken: Vec<String> = Vec::new();
    let (mut depth, mut item) = (0usize, start);
    for at in start..=tokens.len() {
        let (kind, text) = tokens.get(at).copied().unwrap_or((Kind::Mark, ")"));
        match text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth > 0 => depth -= 1,
            _ => {}
        }
        let closes = depth == 0 && at < tokens.len() && text == ")" && !opened_within(&tokens[item..at]);
        let ends = at == tokens.len()
            || text == ";"
            || closes
            || (depth == 0 && kind == Kind::Word && ENDS.iter().any(|end| text.eq_ignore_ascii_case(end)));
        if ends || (depth == 0 && text == ",") {
            if let Some((last, name)) = unnamed(&tokens[item..at]) {
                let mut free = name.clone();
                while taken.contains(&free) {
                    free.push('_');
                }
                taken.push(free.clone());
                added.push((item + last, free));
            } else if let Some((last, name)) = column(&tokens[item..at]) {
                let number = (1..).find(|number| !taken.contains(&format!("{name}_{number}"))).unwrap_or(1);
                if taken.contains(&name) {
                    let free = format!("{name}_{number}");
                    taken.push(free.clone());
                    added.push((item + last, free));
                } else {
                    taken.push(name);
                }
            }
            item = at + 1;
        }
        if ends {
            return;
        }
    }
}

/// True when the closing bracket behind these belongs to one among them.
fn opened_within(tokens: &[Token]) -> bool {
    let opened = tokens.iter().filter(|(_, text)| *text == "(").count();
    opened > tokens.iter().filter(|(_, text)| *text == ")").count()
}

/// The place of the last solid token of a computed column without a name, and the name to give it.
fn unnamed(item: &[Token]) -> Option<(usize, String)> {
    let solid: Vec<(usize, Kind, &str)> = item
        .iter()
        .enumerate()
        .filter(|(_, (kind, text))| *kind != Kind::Space && !text.starts_with("--") && !text.starts_with("/*"))
        .map(|(at, (kind, text))| (at, *kind, *text))
        .collect();
    let is = |at: usize, wanted: &str| solid.get(at).is_some_and(|(_, _, text)| text.eq_ignore_ascii_case(wanted));
    // DISTINCT and DISTINCT ON (…) stand before the first column.
    let mut first = usize::from(is(0, "distinct") || is(0, "all"));
    if first == 1 && is(1, "on") {
        first = solid.iter().position(|(_, _, text)| *text == ")")? + 1;
    }
    let solid = solid.get(first..)?;
    let is_name = |kind: Kind, text: &str| kind == Kind::Word || text.starts_with('"');
    let is_part = |text: &str| PARTS.iter().any(|part| text.eq_ignore_ascii_case(part));
    let plain = |(_, kind, text): &(usize, Kind, &str)| is_name(*kind, text) || [".", "*", ":"].contains(text);
    let (last, kind, text) = *solid.last()?;
    let star = solid.first().is_some_and(|(_, _, text)| *text == "*")
        || solid.get(2).is_some_and(|(_, _, text)| *text == "*" && solid.len() < 8 && solid[1].2 == ".");
    if star || solid.iter().any(|(_, _, text)| text.eq_ignore_ascii_case("as")) && !ends_in_bracket(solid) {
        return None;
    }
    if solid.len() == 1 || (solid.iter().all(plain) && !solid.iter().any(|(_, _, text)| is_part(text))) && !has_cast(solid) {
        return None;
    }
    let (_, before_kind, before) = *solid.get(solid.len() - 2)?;
    let ends_value =
        before == ")" || before == "]" || before_kind == Kind::Closed || (before_kind == Kind::Word && !is_part(before));
    if is_name(kind, text) && !is_part(text) && ends_value && !before.eq_ignore_ascii_case("timestamp") {
        return None;
    }
    let start = solid.first()?.0;
    let typed: String = item[start..=last].iter().map(|(_, text)| *text).collect();
    Some((last, typed.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "")))
}

/// The place of the last token of a column of a table, `a.id`, and its name.
fn column(item: &[Token]) -> Option<(usize, String)> {
    let solid: Vec<(usize, Kind, &str)> = item
        .iter()
        .enumerate()
        .filter(|(_, (kind, _))| *kind != Kind::Space)
        .map(|(at, (kind, text))| (at, *kind, *text))
        .collect();
    let is_name = |(_, kind, text): &(usize, Kind, &str)| *kind == Kind::Word || text.starts_with('"');
    let path = solid.iter().enumerate().all(|(at, piece)| if at % 2 == 0 { is_name(piece) } else { piece.2 == "." });
    let (last, _, name) = *solid.last()?;
    (path && solid.len() % 2 == 1).then(|| (last, name.trim_matches('"').replace("\"\"", "\"")))
}

/// True when the last word AS is one of a CAST, or of a subquery.
fn ends_in_bracket(solid: &[(usize, Kind, &str)]) -> bool {
    let mut depth = 0usize;
    let mut outside = false;
    for (_, _, text) in solid {
        match *text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            other if depth == 0 && other.eq_ignore_ascii_case("as") => outside = true,
            _ => {}
        }
    }
    !outside
}

fn has_cast(solid: &[(usize, Kind, &str)]) -> bool {
    solid.windows(2).any(|pair| pair[0].2 == ":" && pair[1].2 == ":" && pair[1].0 == pair[0].0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computed_columns_are_called_by_their_text() {
        for (sql, wanted) in [
            ("SELECT upper(id), lower(id) FROM data", r#"SELECT upper(id) AS "upper(id)", lower(id) AS "lower(id)" FROM data"#),
            ("SELECT id, t.n, \"a:b\", * FROM t", "SELECT id, t.n, \"a:b\", * FROM t"),
            ("SELECT a.id, b.id, c.\"id\" FROM t", r#"SELECT a.id, b.id AS "id_1", c."id" AS "id_2" FROM t"#),
            ("SELECT upper(id) u, lower(id) AS l FROM t", "SELECT upper(id) u, lower(id) AS l FROM t"),
            (
                "SELECT CAST(x AS INTEGER), x::TEXT FROM t",
                r#"SELECT CAST(x AS INTEGER) AS "CAST(x AS INTEGER)", x::TEXT AS "x::TEXT" FROM t"#,
            ),
            ("SELECT a + b, a % 2 c FROM t", r#"SELECT a + b AS "a + b", a % 2 c FROM t"#),
            ("SELECT * EXCLUDE (id), t.* FROM t", "SELECT * EXCLUDE (id), t.* FROM t"),
            ("SELECT DISTINCT ON (a) a, max(b) FROM t", r#"SELECT DISTINCT ON (a) a, max(b) AS "max(b)" FROM t"#),
            (
                "SELECT n FROM (SELECT count(*) n, sum(x) FROM t) u",
                r#"SELECT n FROM (SELECT count(*) n, sum(x) AS "sum(x)" FROM t) u"#,
            ),
            (
                "SELECT CASE WHEN a THEN 1 ELSE 2 END FROM t",
                r#"SELECT CASE WHEN a THEN 1 ELSE 2 END AS "CASE WHEN a THEN 1 ELSE 2 END" FROM t"#,
            ),
            ("SELECT max(a), max(a) FROM t", r#"SELECT max(a) AS "max(a)", max(a) AS "max(a)_" FROM t"#),
            ("SELECT rank() OVER (ORDER BY q) FROM t", r#"SELECT rank() OVER (ORDER BY q) AS "rank() OVER (ORDER BY q)" FROM t"#),
        ] {
            assert_eq!(named(sql), wanted);
        }
    }
}
