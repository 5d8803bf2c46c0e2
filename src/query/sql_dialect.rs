//! Spellings: what people write for other engines becomes what polars understands, and what it can't do gets an answer with
//! the spelling that works. Pure text.

use super::duckdb_semantics;

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or keyword without quotes.
    Word,
    /// Anything in quotes, a comment, a number.
    Closed,
    /// Blanks.
    Space,
    /// One other character.
    Mark,
}

pub(super) type Token<'a> = (Kind, &'a str);

pub(super) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            '\'' | '"' | '`' => (Kind::Closed, quoted(rest, first)),
            '-' if rest.starts_with("--") => (Kind::Closed, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (Kind::Closed, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            c if c.is_whitespace() => (Kind::Space, until(rest, |c| !c.is_whitespace())),
            c if c.is_ascii_digit() => (Kind::Closed, until(rest, |c| !c.is_alphanumeric() && c != '.' && c != '_')),
            c if c.is_alphabetic() || c == '_' => (Kind::Word, until(rest, |c| !c.is_alphanumeric() && c != '_')),
            c => (Kind::Mark, c.len_utf8()),
        };
        let (token, after) = rest.split_at(length);
        found.push((kind, token));
        rest = after;
    }
    found
}

fn until(text: &str, stop: impl Fn(char) -> bool) -> usize {
    text.find(stop).unwrap_or(text.len())
}

/// Length of the quoted piece at the start; a doubled quote is part of it.
fn quoted(text: &str, quote: char) -> usize {
    let mut position = 1;
    while let Some(end) = text[position..].find(quote) {
        position += end + 1;
        if !text[position..].starts_with(quote) {
            return position;
        }
        position += 1;
    }
    text.len()
}

/// Functions under another name: what stands before the arguments.
const FUNCTIONS: &[(&str, &str)] = &[
    ("list_contains", "array_contains("),
    ("list_has", "array_contains("),
    ("list_avg", "array_mean("),
    ("list_min", "array_lower("),
    ("list_max", "array_upper("),
    ("list_extract", "array_get("),
    ("list_element", "array_get("),
    ("list_distinct", "array_unique("),
    ("list_reverse", "array_reverse("),
    ("len", "array_length("),
    ("list", "array_agg("),
    ("regexp_matches", "regexp_like("),
    ("approx_count_distinct", "count(DISTINCT "),
    ("string_split", "string_to_array("),
    ("str_split", "string_to_array("),
    ("strlen", "octet_length("),
    ("ucase", "upper("),
    ("lcase", "lower("),
    ("mean", "avg("),
    ("any_value", "first("),
    ("arbitrary", "first("),
    ("quantile", "quantile_cont("),
    ("prefix", "starts_with("),
    ("suffix", "ends_with("),
    ("year", "date_part('year', "),
    ("month", "date_part('month', "),
    ("day", "date_part('day', "),
    ("hour", "date_part('hour', "),
    ("dayofyear", "date_part('doy', "),
    ("dayofmonth", "date_part('day', "),
    ("dayofweek", "date_part('dow', "),
    ("isodow", "date_part('isodow', "),
    ("weekofyear", "date_part('week', "),
    ("week", "date_part('week', "),
    ("quarter", "date_part('quarter', "),
    ("minute", "date_part('minute', "),
    ("second", "date_part('second', "),
    ("datetrunc", "date_trunc("),
    ("strpos", "text_position("),
    ("instr", "text_position("),
    ("approx_quantile", "quantile_cont("),
    ("var_samp", "variance("),
    ("stddev_samp", "stddev("),
];

/// The statement in polars' spelling: other names of functions, `FROM` first, and column names with a colon that lack quotes.
/// `is_column` tells whether a name is one of some table's columns.
pub(super) fn rewrite(sql: &str, is_column: &dyn Fn(&str) -> bool) -> String {
    rewritten(sql, is_column).text
}

/// A statement in polars' spelling that knows what became of what.
pub(super) struct Rewritten {
    pub text: String,
    /// Byte in `text` and byte in the statement where the same piece begins, in order.
    pub pieces: Vec<(usize, usize)>,
}

impl Rewritten {
    /// The byte in the statement that a byte of the text came from.
    pub fn origin(&self, byte: usize) -> usize {
        let before = self.pieces.partition_point(|(out, _)| *out <= byte).checked_sub(1).and_then(|at| self.pieces.get(at));
        before.map_or(0, |(out, origin)| origin + byte - out)
    }
}

/// [`rewrite`] with the places.
pub(super) fn rewritten(sql: &str, is_column: &dyn Fn(&str) -> bool) -> Rewritten {
    let meant = duckdb_semantics::respelled(sql);
    let spelled = spelled(&meant.text, is_column);
    let pieces = spelled.pieces.iter().map(|(out, byte)| (*out, meant.origin(*byte))).collect();
    Rewritten { text: spelled.text, pieces }
}

fn spelled(sql: &str, is_column: &dyn Fn(&str) -> bool) -> Rewritten {
    let tokens = tokens(sql);
    let starts: Vec<usize> = tokens
        .iter()
        .scan(0, |end, (_, text)| {
            let start = *end;
            *end += text.len();
            Some(start)
        })
        .collect();
    let mut pieces = Vec::with_capacity(tokens.len());
    let mut out = String::with_capacity(sql.len() + 16);
    if first_word(&tokens).is_some_and(|word| word.eq_ignore_ascii_case("from")) && !has_word(&tokens, "select") {
        out.push_str("SELECT * ");
    }
    let mut position = 0;
    while let Some(&(kind, token)) = tokens.get(position) {
        pieces.push((out.len(), starts[position]));
        position += 1;
        if kind != Kind::Word {
            out.push_str(token);
            // A field of a struct after a quoted name, a bracket or another field.
            if token.starts_with('"') || token == ")" {
                position += fields(&tokens[position..], &mut out);
            }
            continue;
        }
        if let Some(count) = colon_name(&tokens[position - 1..], is_column) {
            let name: String = tokens[position - 1..position - 1 + count].iter().map(|(_, text)| *text).collect();
            out.push_str(&format!("\"{name}\""));
            position += count - 1;
            position += fields(&tokens[position..], &mut out);
            continue;
        }
        if let Some(count) = sample_clause(&tokens[position - 1..]) {
            position += count - 1;
            continue;
        }
        if let Some((text, count)) = respelled(&tokens[position - 1..]) {
            out.push_str(&text);
            position += count - 1;
            continue;
        }
        let opens = tokens.get(position) == Some(&(Kind::Mark, "("));
        let other = FUNCTIONS.iter().find(|(name, _)| opens && token.eq_ignore_ascii_case(name));
        match other {
            Some((_, spelled)) => {
                out.push_str(spelled);
                position += 1;
            }
            None => {
                out.push_str(token);
                position += fields(&tokens[position..], &mut out);
            }
        }
    }
    Rewritten { text: out, pieces }
}

/// Where a name stands in a statement: by itself, in quotes, or put together with colons.
pub(super) fn find_name(sql: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let tokens = tokens(sql);
    let mut start = 0;
    for (at, (kind, text)) in tokens.iter().enumerate() {
        let bare = match kind {
            Kind::Closed => text.trim_matches(|c| c == '"' || c == '`'),
            _ => text,
        };
        let spaced = matches!(kind, Kind::Space) || text.starts_with("--") || text.starts_with("/*") || text.starts_with('\'');
        if !spaced && bare.eq_ignore_ascii_case(name) {
            return Some(start..start + text.len());
        }
        if *kind == Kind::Word
            && name.contains(':')
            && sql[start..].starts_with(name)
            && tokens.get(at + 1) == Some(&(Kind::Mark, ":"))
        {
            return Some(start..start + name.len());
        }
        start += text.len();
    }
    None
}

/// What stands for `SIMILAR TO 'pattern'`, `NOT SIMILAR TO …`, `INTERVAL 3 DAY`, `now()` and `current_date` at the beginning, and for
/// how many tokens.
fn respelled(tokens: &[Token]) -> Option<(String, usize)> {
    let solid: Vec<(usize, Kind, &str)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, (kind, _))| *kind != Kind::Space)
        .map(|(at, (kind, text))| (at, *kind, *text))
        .take(4)
        .collect();
    let is = |at: usize, wanted: &str| solid.get(at).is_some_and(|(_, _, text)| text.eq_ignore_ascii_case(wanted));
    let after = |at: usize| solid.get(at).map_or(tokens.len(), |(at, _, _)| at + 1);
    let not = usize::from(is(0, "not"));
    if is(not, "similar") && is(not + 1, "to") {
        let pattern = solid.get(not + 2)?.2.strip_prefix('\'')?.strip_suffix('\'')?;
        // The whole text has to match; % and _ are those of LIKE.
        let pattern = pattern.replace('%', ".*").replace('_', ".");
        return Some((format!("{} '^({pattern})$'", if not == 1 { "!~" } else { "~" }), after(not + 2)));
    }
    if is(0, "interval") {
        let (number, unit) = (solid.get(1)?, solid.get(2)?);
        number.2.parse::<f64>().ok()?;
        return (unit.1 == Kind::Word).then(|| (format!("INTERVAL '{} {}'", number.2, unit.2), after(2)));
    }
    let called = is(1, "(") && is(2, ")");
    let time = chrono::Utc::now();
    if (is(0, "now") || is(0, "get_current_timestamp")) && called {
        return Some((format!("TIMESTAMP '{}'", time.format("%Y-%m-%d %H:%M:%S")), after(2)));
    }
    if is(0, "current_timestamp") && !called {
        return Some((format!("TIMESTAMP '{}'", time.format("%Y-%m-%d %H:%M:%S")), 1));
    }
    let day = || format!("DATE '{}'", time.format("%Y-%m-%d"));
    match (is(0, "today"), is(0, "current_date"), called) {
        (true, _, true) => Some((day(), after(2))),
        (_, true, false) => Some((day(), 1)),
        _ => None,
    }
}

/// `['key']…` directly after a struct becomes `."key"…`; how many tokens that were.
fn fields(tokens: &[Token], out: &mut String) -> usize {
    let mut count = 0;
    while let [(Kind::Mark, "["), (Kind::Closed, key), (Kind::Mark, "]"), ..] = &tokens[count..] {
        let Some(key) = key.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')) else { break };
        out.push_str(&format!(".\"{}\"", key.replace("''", "'").replace('"', "\"\"")));
        count += 3;
    }
    count
}

/// How much of the result to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sampling {
    /// So many rows.
    Rows(usize),
    /// So many of a hundred.
    Percent(f64),
}

/// The `USING SAMPLE` or `TABLESAMPLE` of a statement.
pub(super) fn sampling(sql: &str) -> Option<Sampling> {
    let tokens = tokens(sql);
    (0..tokens.len()).find_map(|start| {
        let count = sample_clause(&tokens[start..])?;
        let number: f64 = tokens[start..start + count].iter().find_map(|(_, text)| text.parse().ok())?;
        let percent = tokens[start..start + count].iter().any(|(_, text)| *text == "%" || text.eq_ignore_ascii_case("percent"));
        Some(if percent { Sampling::Percent(number.clamp(0.0, 100.0)) } else { Sampling::Rows(number.max(0.0) as usize) })
    })
}

/// How many tokens from the first make a `USING SAMPLE 10`, `USING SAMPLE 5%`, `TABLESAMPLE 5 PERCENT`, `… (10 ROWS)`.
fn sample_clause(tokens: &[Token]) -> Option<usize> {
    let solid: Vec<(usize, &str)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, (kind, _))| *kind != Kind::Space)
        .map(|(at, (_, text))| (at, *text))
        .take(8)
        .collect();
    let is = |at: usize, wanted: &str| solid.get(at).is_some_and(|(_, text)| text.eq_ignore_ascii_case(wanted));
    let mut at = if is(0, "tablesample") {
        1
    } else if is(0, "using") && is(1, "sample") {
        2
    } else {
        return None;
    };
    for method in ["reservoir", "system", "bernoulli"] {
        at += usize::from(is(at, method));
    }
    let bracket = is(at, "(");
    at += usize::from(bracket);
    solid.get(at)?.1.parse::<f64>().ok()?;
    at += 1;
    if ["%", "percent", "rows"].iter().any(|unit| is(at, unit)) {
        at += 1;
    }
    if bracket {
        is(at, ")").then_some(())?;
        at += 1;
    }
    solid.get(at - 1).map(|(last, _)| last + 1)
}

/// The table that `SUMMARIZE` names, or its SELECT.
pub(super) fn summarized(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    let start = tokens.iter().position(|(kind, _)| *kind != Kind::Space)?;
    if !tokens[start].1.eq_ignore_ascii_case("summarize") {
        return None;
    }
    let rest: String = tokens[start + 1..].iter().map(|(_, text)| *text).collect();
    let rest = rest.trim().trim_end_matches(';').trim();
    let statement = ["select", "with", "from", "("].iter().any(|word| rest.to_ascii_lowercase().starts_with(word));
    if rest.is_empty() {
        None
    } else if statement {
        Some(rest.to_owned())
    } else {
        Some(format!("SELECT * FROM {rest}"))
    }
}

/// How many tokens from the first make a column's name with colons, the longest such; `a::b` is a cast.
fn colon_name(tokens: &[Token], is_column: &dyn Fn(&str) -> bool) -> Option<usize> {
    let mut name = tokens.first()?.1.to_owned();
    let (mut count, mut best) = (1, None);
    while let (Some((Kind::Mark, ":")), Some((Kind::Word, part))) = (tokens.get(count), tokens.get(count + 1)) {
        name.push(':');
        name.push_str(part);
        count += 2;
        if is_column(&name) {
            best = Some(count);
        }
    }
    best
}

fn first_word<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    tokens.iter().find(|(kind, text)| *kind == Kind::Word || (*kind == Kind::Mark && *text != "(")).map(|(_, text)| *text)
}

fn has_word(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|(kind, text)| *kind == Kind::Word && text.eq_ignore_ascii_case(word))
}

/// True for `SHOW TABLES`.
pub(super) fn shows_tables(sql: &str) -> bool {
    let words: Vec<&str> = sql.trim().trim_end_matches(';').split_whitespace().collect();
    matches!(words.as_slice(), [show, tables] if show.eq_ignore_ascii_case("show") && tables.eq_ignore_ascii_case("tables"))
}

/// The table that `DESCRIBE` names.
pub(super) fn described_table(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    let mut words = tokens.iter().filter(|(kind, text)| *kind != Kind::Space && *text != ";");
    let (_, first) = words.next()?;
    if !first.eq_ignore_ascii_case("describe") && !first.eq_ignore_ascii_case("desc") {
        return None;
    }
    let (_, name) = words.next()?;
    words.next().is_none().then(|| name.trim_matches('"').to_owned())
}

/// Why the statement is none that only reads; `None` when it may run.
pub(super) fn refused(sql: &str) -> Option<(String, &'static str)> {
    let tokens = tokens(sql);
    let Some(word) = first_word(&tokens) else {
        return Some(("the query is empty".into(), "start with: SELECT * FROM data LIMIT 10"));
    };
    let reads = ["select", "with", "from", "values", "show", "explain", "table"];
    if reads.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return None;
    }
    let word = word.to_uppercase();
    Some(match word.as_str() {
        "INSERT" | "UPDATE" | "DELETE" | "CREATE" | "DROP" | "ALTER" | "TRUNCATE" | "COPY" | "MERGE" => {
            (format!("{word} changes tables; queries only read"), "edit the dataset as a draft instead")
        }
        "PRAGMA" => ("PRAGMA is not supported".into(), "DESCRIBE data lists the columns, SHOW TABLES the tables"),
        "SUMMARIZE" => {
            ("SUMMARIZE is not supported".into(), r#"name the statistics: SELECT min("x"), avg("x"), max("x") FROM data"#)
        }
        "PIVOT" | "UNPIVOT" => pivot(),
        _ => (
            format!("a query can't start with {}", word.escape_debug()),
            "start with SELECT, for example: SELECT * FROM data LIMIT 10",
        ),
    })
}

fn pivot() -> (String, &'static str) {
    (
        "PIVOT is not supported".into(),
        "one column for each value: SELECT count(*) FILTER (WHERE split = 'train') AS train FROM data",
    )
}

const SETS: &str = "several groupings are put together: SELECT a, b, count(*) AS n FROM data GROUP BY a, b UNION ALL SELECT a, NULL, count(*) FROM data GROUP BY a";

/// What to write instead of words, and of functions (with their bracket).
const ADVICE: [(&str, &str); 25] = [
    ("glob", "GLOB is not supported: write LIKE 's%', with % for *, or id ~ '^s'"),
    ("printf(", "printf() is not supported: write id || '-' || type, or concat(id, '-', type)"),
    ("format(", "format() is not supported: write id || '-' || type, or concat(id, '-', type)"),
    ("make_date(", "write the day itself: DATE '2020-01-31'"),
    ("make_timestamp(", "write the time itself: TIMESTAMP '2020-01-31 12:00:00'"),
    ("list_aggregate(", "use list_sum, list_avg, list_min or list_max"),
    ("list_sort(", "lists are not sorted: CROSS JOIN UNNEST(list) AS t(x), then ORDER BY x"),
    ("list_slice(", "a part of a list is not supported: take single elements, list[1], list[2]"),
    ("list_transform(", "there are no lambdas: SELECT id, x * 2 FROM data CROSS JOIN UNNEST(list) AS t(x)"),
    ("list_filter(", "there are no lambdas: SELECT id, x FROM data CROSS JOIN UNNEST(list) AS t(x) WHERE x > 2"),
    ("list_value(", "a list is written [1, 2, 3]"),
    ("struct_pack(", "a struct is not written out: name its fields as columns of their own"),
    ("ntile(", "ntile() is not supported: floor((row_number() OVER (ORDER BY x) - 1) * 4 / n) with n from a count"),
    ("rollup", SETS),
    ("cube", SETS),
    ("grouping", SETS),
    ("random(", "random rows are USING SAMPLE 10 at the end of the statement"),
    ("typeof(", "DESCRIBE data lists the types of the columns"),
    ("md5(", "there are no hashes of text; GROUP BY the column itself"),
    ("hash(", "there are no hashes of text; GROUP BY the column itself"),
    ("kurtosis(", "of moments there are avg, stddev, variance, corr, covar_samp"),
    ("skewness(", "of moments there are avg, stddev, variance, corr, covar_samp"),
    ("rowid", "rows are numbered by \"internal:current_id\""),
    ("json_extract(", "JSON in text is not read: use regexp_extract(column, '\"key\": *\"([^\"]*)', 1)"),
    ("generate_series(", "there are no made-up rows: take those of a table"),
];

/// Advice for constructs that polars has not. Asked only after a query failed.
pub(super) fn advice(sql: &str, is_column: &dyn Fn(&str) -> bool) -> Vec<String> {
    let tokens = tokens(sql);
    let calls = |name: &str| {
        tokens
            .windows(2)
            .any(|pair| pair[0].0 == Kind::Word && pair[0].1.eq_ignore_ascii_case(name) && pair[1] == (Kind::Mark, "("))
    };
    let mut found = Vec::new();
    let mut say = |applies: bool, text: &str| {
        if applies {
            found.push(text.to_owned());
        }
    };
    say(has_word(&tokens, "lateral"), "LATERAL is not supported: use a subquery, or CROSS JOIN UNNEST(column)");
    say(has_word(&tokens, "pivot") || has_word(&tokens, "unpivot"), pivot().1);
    say(
        has_word(&tokens, "asof"),
        "ASOF joins are not supported: join, then keep the nearest with QUALIFY row_number() OVER (…) = 1",
    );
    let samples = has_word(&tokens, "sample") || has_word(&tokens, "tablesample");
    say(
        samples,
        "a sample is written USING SAMPLE 10 or USING SAMPLE 5% at the end; or take every tenth row with WHERE \"internal:current_id\" % 10 = 0",
    );
    say(
        calls("histogram"),
        "histogram() is not supported: SELECT floor(x / 10) AS bin, count(*) FROM data GROUP BY bin ORDER BY bin",
    );
    for (name, text) in ADVICE {
        let (called, word) = (name.strip_suffix('('), name.trim_end_matches('('));
        say(called.map_or_else(|| has_word(&tokens, word), &calls), text);
    }
    let marks: Vec<(Kind, &str)> = tokens.iter().copied().filter(|(kind, _)| *kind != Kind::Space).collect();
    let compared = marks
        .windows(3)
        .any(|three| ["<", ">", "="].contains(&three[0].1) && three[1].1 == "(" && three[2].1.eq_ignore_ascii_case("select"));
    say(
        compared,
        "a value of a subquery is joined: WITH m AS (SELECT avg(x) AS a FROM data) SELECT data.id FROM data CROSS JOIN m WHERE data.x > m.a",
    );
    let sliced =
        marks.windows(3).any(|three| three[0].0 == Kind::Closed && three[1] == (Kind::Mark, ":") && three[2].0 == Kind::Closed);
    say(sliced, "a part of a list is not supported: take single elements, list[1], list[2], or CROSS JOIN UNNEST(list)");
    let percent = marks.windows(3).any(|three| three[0].1.eq_ignore_ascii_case("limit") && three[2].1 == "%");
    say(percent, "LIMIT takes a number of rows; a part of them is USING SAMPLE 50%");
    say(marks.iter().any(|(_, text)| *text == "{"), "a struct is not written out: name its fields as columns of their own");
    say(calls("unnest") || calls("flatten"), "UNNEST stands in FROM: SELECT * FROM data CROSS JOIN UNNEST(column) AS t(value)");
    let is_spatial = |name: &str| name.len() > 3 && name.is_char_boundary(3) && name[..3].eq_ignore_ascii_case("st_");
    let unknown = |name: &str| is_spatial(name) && !super::spatial_functions::is_known(&name.to_lowercase());
    let spatial = tokens.iter().any(|(kind, text)| *kind == Kind::Word && unknown(text));
    let there_are = r#"of the ST_ functions there are ST_X, ST_Y, ST_XMin, ST_YMin, ST_XMax, ST_YMax, ST_Within, ST_Intersects, ST_Contains, ST_Centroid, ST_Area, ST_AsText, ST_Point, ST_MakeEnvelope, ST_GeomFromText and ST_GeomFromWKB: WHERE ST_X("stac:centroid") BETWEEN -80 AND -70"#;
    say(spatial, there_are);
    say(calls("date"), "date() reads text; of a time take CAST(column AS DATE)");
    say(tokens.contains(&(Kind::Mark, "?")), "there are no placeholders: write the value itself");
    let key = tokens.windows(2).any(|pair| pair[0] == (Kind::Mark, "[") && pair[1].1.starts_with('\''));
    say(key, "write a field of a struct as (column).field or column.field instead of column['field']");
    let is_text = |text: &str| text.len() > 2 && text.starts_with('"') && !is_column(text.trim_matches('"'));
    let double_quoted = tokens.iter().find(|(kind, text)| *kind == Kind::Closed && is_text(text));
    if let Some((_, text)) = double_quoted {
        say(true, &format!("{text} is a name; a text stands in single quotes: '{}'", text.trim_matches('"')));
    }
    let colon =
        tokens.windows(3).any(|three| three[0].0 == Kind::Word && three[1] == (Kind::Mark, ":") && three[2].0 == Kind::Word);
    say(colon, r#"names with a colon stand in double quotes: "stac:crs""#);
    found
}

/// Names that could be meant by `name`, best first.
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

/// Letters to change, add or drop.
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

    fn rewritten(sql: &str) -> String {
        rewrite(sql, &|name| ["stac:crs", "l1:stac:crs", "split"].contains(&name))
    }

    #[test]
    fn names_with_colons_get_their_quotes() {
        assert_eq!(rewritten("SELECT stac:crs, l1:stac:crs FROM l1"), r#"SELECT "stac:crs", "l1:stac:crs" FROM l1"#);
        assert_eq!(rewritten("SELECT d.stac:crs, x::int, other:name"), r#"SELECT d."stac:crs", x::int, other:name"#);
        let closed = r#"SELECT 'stac:crs', "stac:crs" -- stac:crs"#;
        assert_eq!(rewritten(closed), closed);
    }

    #[test]
    fn functions_take_their_other_name_only_where_they_are_called() {
        assert_eq!(rewritten("SELECT list_contains(a, 1), 'len(x)', year"), "SELECT array_contains(a, 1), 'len(x)', year");
        assert_eq!(rewritten("SELECT Approx_Count_Distinct(id), YEAR(t)"), "SELECT count(DISTINCT id), date_part('year', t)");
        assert_eq!(rewritten("  FROM data WHERE split = 'a'"), "SELECT *   FROM data WHERE split = 'a'");
        assert_eq!(rewritten("SELECT 'it''s', \"a\"\"b\" /* len( */"), "SELECT 'it''s', \"a\"\"b\" /* len( */");
    }

    #[test]
    fn only_reading_statements_run() {
        for sql in ["SELECT 1", "  -- note\n with a as (select 1) select * from a", "(SELECT 1)", "from data"] {
            assert_eq!(refused(sql), None, "{sql}");
        }
        for sql in ["", "DROP TABLE data", "delete from data", "PIVOT data ON x", "hello"] {
            assert!(refused(sql).is_some(), "{sql}");
        }
        assert_eq!(described_table("DESCRIBE level1;").as_deref(), Some("level1"));
    }

    #[test]
    fn near_names_are_found() {
        let known = ["id", "stac:crs", "cloud_cover", "stac:time_start"];
        assert_eq!(near("cloudcover", known.into_iter()), ["cloud_cover"]);
        assert_eq!(near("crs", known.into_iter()), ["stac:crs"]);
        assert!(near("zebra", known.into_iter()).is_empty());
    }
}
