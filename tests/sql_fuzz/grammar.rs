//! Random statements over the levels. Most are well typed, so that both engines answer them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::levels::COLUMNS;
use super::templates::{
    AGGREGATES, FAULTY, Over, SCALARS, Template, UNNESTED, WINDOWS, order_options,
};
use super::tree::{Node, Part, Ty};

/// True once in `times`.
pub fn chance(random: &mut ChaCha8Rng, times: u64) -> bool {
    below(random, times) == 0
}

pub fn below(random: &mut ChaCha8Rng, limit: u64) -> u64 {
    random.next_u64() % limit.max(1)
}

pub fn pick<'a, T>(random: &mut ChaCha8Rng, values: &'a [T]) -> &'a T {
    &values[below(random, values.len() as u64) as usize]
}

/// Types of result columns, the usual ones several times.
const RESULTS: [Ty; 16] = [
    Ty::Int,
    Ty::Int,
    Ty::Int,
    Ty::Float,
    Ty::Float,
    Ty::Text,
    Ty::Text,
    Ty::Bool,
    Ty::Date,
    Ty::Time,
    Ty::Zoned,
    Ty::Ints,
    Ty::Floats,
    Ty::Texts,
    Ty::Bytes,
    Ty::Struct,
];

/// Types that rows can be grouped and joined by.
const KEYS: [Ty; 6] = [Ty::Int, Ty::Text, Ty::Int, Ty::Bool, Ty::Date, Ty::Float];

/// The columns that an expression can use.
#[derive(Clone, Default)]
struct Scope {
    columns: Vec<(String, Ty)>,
    /// Columns that no two rows share; none where that is unknown.
    unique: Vec<String>,
    /// The rows below GROUP BY, over which aggregates are computed.
    grouped: Option<Box<Scope>>,
    has_windows: bool,
    has_subqueries: bool,
}

/// A relation of FROM.
struct From {
    node: Node,
    columns: Vec<(String, Ty)>,
    unique: Vec<String>,
}

/// A common table expression.
#[derive(Clone)]
struct Cte {
    name: String,
    columns: Vec<(String, Ty)>,
}

/// Generates statements.
pub struct Grammar<'a> {
    random: &'a mut ChaCha8Rng,
    /// Names of productions that are not used.
    left_out: &'a [&'a str],
    aliases: usize,
    ctes: Vec<Cte>,
    used: RefCell<BTreeSet<&'static str>>,
    /// True when a result of the statement may be a list or a struct.
    has_nested_results: bool,
}

impl<'a> Grammar<'a> {
    pub fn new(random: &'a mut ChaCha8Rng, left_out: &'a [&'a str]) -> Self {
        Self {
            random,
            left_out,
            aliases: 0,
            ctes: Vec::new(),
            used: RefCell::default(),
            has_nested_results: false,
        }
    }

    /// A statement.
    pub fn statement(&mut self) -> Node {
        self.has_nested_results = false;
        let kind = self.choose(&[
            ("select", 60),
            ("set_operation", 8),
            ("with", 8),
            ("sample", 2),
            ("distinct_on", 2),
            ("faulty", 4),
            ("unnest", 1),
        ]);
        let body = match kind {
            "faulty" => {
                let text = *pick(self.random, FAULTY);
                return Node::text(Ty::Query, self.filled(text));
            }
            "unnest" => {
                let text = *pick(self.random, UNNESTED);
                return Node::text(Ty::Query, self.filled(text));
            }
            "sample" => {
                let text = "SELECT count(*) AS c1 FROM (SELECT k FROM <<data|level1>> USING SAMPLE \
                    <<0|5|7 ROWS|100 ROWS>>) AS q";
                return Node::text(Ty::Query, self.filled(text));
            }
            "with" => self.with(),
            "distinct_on" => self.distinct_on(),
            "set_operation" => self.set_operation(),
            _ => self.select(2, None).0,
        };
        self.finished(body)
    }

    /// Names of the productions of the statements so far.
    pub fn used(&self) -> BTreeSet<&'static str> {
        self.used.borrow().clone()
    }

    fn allows(&self, name: &'static str) -> bool {
        let is_allowed = !self.left_out.contains(&name);
        if is_allowed {
            self.used.borrow_mut().insert(name);
        }
        is_allowed
    }

    fn choose(&mut self, options: &[(&'static str, u64)]) -> &'static str {
        let options: Vec<_> = options
            .iter()
            .filter(|(name, _)| !self.left_out.contains(name))
            .collect();
        let mut at = below(self.random, options.iter().map(|(_, weight)| weight).sum());
        for (name, weight) in options {
            if at < *weight {
                self.used.borrow_mut().insert(name);
                return name;
            }
            at -= weight;
        }
        ""
    }

    /// True once in `times` for a production that is used.
    fn sometimes(&mut self, name: &'static str, times: u64) -> bool {
        chance(self.random, times) && self.allows(name)
    }

    /// The text with one of each `<<a|b>>`.
    fn filled(&mut self, text: &str) -> String {
        let mut found = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("<<") {
            // The end of the alternatives is the last of several `>`.
            let end = after.find(">>").expect("an end");
            let end = end
                + after[end..]
                    .bytes()
                    .take_while(|byte| *byte == b'>')
                    .count()
                - 2;
            let alternatives: Vec<&str> = after[..end].split('|').collect();
            found.push_str(before);
            let chosen: &str = alternatives[below(self.random, alternatives.len() as u64) as usize];
            found.push_str(chosen);
            rest = &after[end + 2..];
        }
        found + rest
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }

    // Queries

    /// With a total order and a limit, or without.
    fn finished(&mut self, body: Node) -> Node {
        if !chance(self.random, 4) && self.allows("order_by") && self.may_be_ordered() {
            let mut tail = Node {
                ty: Ty::Clause,
                parts: vec![Part::TotalOrder(self.directions())],
            };
            if self.sometimes("limit", 3) {
                let text =
                    self.filled(" LIMIT <<0|1|3|10|1000>><<|| OFFSET 1| OFFSET 5| OFFSET 1000>>");
                tail = tail.with(Part::Optional(Node::text(Ty::Clause, text)));
            }
            return Node {
                ty: Ty::Clause,
                parts: vec![Part::Child(body), Part::Optional(tail)],
            };
        }
        body
    }

    fn may_be_ordered(&self) -> bool {
        !self.has_nested_results || self.allows("order_by_nested")
    }

    /// The first rows of a query in a total order.
    fn first_rows(&mut self, query: Node) -> Node {
        let text = self.filled(" LIMIT <<1|3|10>><<|| OFFSET 2>>");
        let order = Node {
            ty: Ty::Clause,
            parts: vec![Part::TotalOrder(self.directions()), Part::Text(text)],
        };
        Node {
            ty: Ty::Query,
            parts: vec![Part::Child(query), Part::Optional(order)],
        }
    }

    fn directions(&mut self) -> Vec<&'static str> {
        const DIRECTIONS: [&str; 6] = [
            "",
            "",
            " DESC",
            " NULLS FIRST",
            " DESC NULLS FIRST",
            " DESC NULLS LAST",
        ];
        (0..4).map(|_| *pick(self.random, &DIRECTIONS)).collect()
    }

    fn with(&mut self) -> Node {
        let (first, types) = self.select(1, None);
        let name = format!("w{}", self.aliases);
        self.ctes.push(Cte {
            name: name.clone(),
            columns: named(&types),
        });
        let rest = self.select(2, None).0;
        self.ctes.clear();
        Node::of(
            Ty::Query,
            &format!("WITH {name} AS ({{}}) {{}}"),
            vec![first, rest],
        )
    }

    fn set_operation(&mut self) -> Node {
        let (first, types) = self.select(1, None);
        let second = self.select(1, Some(&types)).0;
        let operators = [
            ("union", "UNION"),
            ("union_all", "UNION ALL"),
            ("except", "EXCEPT"),
            ("intersect", "INTERSECT"),
            ("except_all", "EXCEPT ALL"),
            ("intersect_all", "INTERSECT ALL"),
        ];
        let name = self.choose(&operators.map(|(name, _)| (name, 1)));
        let operator = operators
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("UNION ALL", |(_, text)| text);
        Node::of(
            Ty::Query,
            &format!("{{}} {operator} {{}}"),
            vec![first, second],
        )
    }

    /// The first row of each key.
    fn distinct_on(&mut self) -> Node {
        let from = self.from(1);
        let rows = Scope {
            columns: from.columns,
            unique: from.unique,
            has_subqueries: true,
            ..Scope::default()
        };
        let ty = *pick(self.random, &KEYS);
        let key = if chance(self.random, 3) {
            self.expression(ty, 1, &rows)
        } else {
            self.column(ty, &rows)
        };
        let text = key.print().0;
        let is_key = rows
            .columns
            .iter()
            .any(|(name, _)| text.contains(name.as_str()))
            && !rows.unique.is_empty();
        let Some(order) = is_key.then(|| rows.unique.join(", ")) else {
            return self.select(1, None).0;
        };
        let types = [*pick(self.random, &RESULTS), *pick(self.random, &RESULTS)];
        self.note_results(&types);
        let items = types
            .iter()
            .map(|ty| self.expression(*ty, 1, &rows))
            .collect();
        let options = self.filled(order_options());
        let select = Node::of(
            Ty::Clause,
            &format!("SELECT DISTINCT ON ({text}) {{}} AS c1, {{}} AS c2 FROM "),
            items,
        );
        let mut select = select.with(Part::Child(from.node));
        if chance(self.random, 2) {
            let condition = self.expression(Ty::Bool, 1, &rows);
            select = select.with(Part::Optional(Node::of(
                Ty::Clause,
                " WHERE {}",
                vec![condition],
            )));
        }
        Node::text(Ty::Query, "SELECT c1, c2 FROM (")
            .with(Part::Child(select))
            .then(&format!(" ORDER BY {text}{options}, {order}) AS q"))
    }

    /// A SELECT with its result types; those of `wanted` if any.
    fn select(&mut self, depth: usize, wanted: Option<&[Ty]>) -> (Node, Vec<Ty>) {
        let from = self.from(depth);
        let rows = Scope {
            columns: from.columns,
            unique: from.unique,
            grouped: None,
            has_windows: false,
            has_subqueries: depth > 0,
        };
        let kind = self.choose(&[
            ("rows", 10),
            ("distinct", 2),
            ("aggregates", 3),
            ("group_by", 7),
            ("windows", 5),
        ]);
        let types: Vec<Ty> = match wanted {
            Some(types) => types.to_vec(),
            None => (0..1 + below(self.random, 3))
                .map(|_| *pick(self.random, &RESULTS))
                .collect(),
        };
        self.note_results(&types);
        let mut clauses: Vec<Part> = Vec::new();
        if !chance(self.random, 3) && self.allows("where") {
            let condition = self.expression(Ty::Bool, depth + 1, &rows);
            clauses.push(Part::Optional(Node::of(
                Ty::Clause,
                " WHERE {}",
                vec![condition],
            )));
        }
        let mut items: Vec<Node> = Vec::new();
        match kind {
            "group_by" | "aggregates" => {
                let mut keys: Vec<(Node, Ty)> = Vec::new();
                if kind == "group_by" {
                    for _ in 0..1 + below(self.random, 2) {
                        let ty = *pick(self.random, &KEYS);
                        let key = if self.sometimes("group_by_expression", 3) {
                            self.expression(ty, 1, &rows)
                        } else {
                            self.column(ty, &rows)
                        };
                        keys.push((key, ty));
                    }
                    // A constant is a position.
                    keys.retain(|(key, _)| {
                        let text = key.print().0;
                        rows.columns
                            .iter()
                            .any(|(name, _)| text.contains(name.as_str()))
                    });
                }
                let mut grouped = Scope {
                    grouped: Some(Box::new(rows.clone())),
                    has_windows: false,
                    has_subqueries: false,
                    ..Scope::default()
                };
                grouped.columns = keys.iter().map(|(key, ty)| (key.print().0, *ty)).collect();
                grouped.unique = grouped
                    .columns
                    .iter()
                    .map(|(text, _)| text.clone())
                    .collect();
                grouped.has_windows = kind == "group_by" && self.sometimes("windows_of_groups", 6);
                items = types
                    .iter()
                    .map(|ty| self.expression(*ty, depth, &grouped))
                    .collect();
                if !keys.is_empty() {
                    let children = keys.into_iter().map(|(key, _)| key).collect();
                    let list = Part::List {
                        children,
                        separator: ", ",
                        least: 1,
                        is_select: false,
                    };
                    let mut group = Node::text(Ty::Clause, " GROUP BY ").with(list);
                    if self.sometimes("having", 4) {
                        grouped.has_windows = false;
                        let condition = self.expression(Ty::Bool, 2, &grouped);
                        group = group.with(Part::Optional(Node::of(
                            Ty::Clause,
                            " HAVING {}",
                            vec![condition],
                        )));
                    }
                    clauses.push(Part::Child(group));
                }
            }
            _ => {
                let scope = Scope {
                    has_windows: kind == "windows",
                    ..rows.clone()
                };
                for ty in &types {
                    let item = if kind == "windows" && chance(self.random, 2) {
                        self.window(*ty, depth, &scope)
                    } else {
                        None
                    };
                    let item = match item {
                        Some(item) => item,
                        None => self.expression(*ty, depth + 1, &scope),
                    };
                    items.push(item);
                }
                if kind == "windows" && self.sometimes("qualify", 5) {
                    let window = self.window(Ty::Int, 1, &scope);
                    if let Some(window) = window {
                        let text = self.filled(" QUALIFY {} <<=|<=|>>> <<1|2>>");
                        clauses.push(Part::Optional(Node::of(Ty::Clause, &text, vec![window])));
                    }
                }
            }
        }
        let children = items
            .into_iter()
            .enumerate()
            .map(|(at, item)| Node::of(Ty::Clause, &format!("{{}} AS c{}", at + 1), vec![item]));
        let list = Part::List {
            children: children.collect(),
            separator: ", ",
            least: 1,
            is_select: true,
        };
        let start = if kind == "distinct" {
            "SELECT DISTINCT "
        } else {
            "SELECT "
        };
        let mut node = Node::text(Ty::Query, start)
            .with(list)
            .then(" FROM ")
            .with(Part::Child(from.node));
        node.parts.extend(clauses);
        (node, types)
    }

    fn note_results(&mut self, types: &[Ty]) {
        let is_nested = |ty: &Ty| {
            matches!(
                ty,
                Ty::Ints | Ty::Floats | Ty::Texts | Ty::Nested | Ty::Struct
            )
        };
        self.has_nested_results |= types.iter().any(is_nested);
    }

    fn from(&mut self, depth: usize) -> From {
        let kind = if depth == 0 {
            "table"
        } else {
            self.choose(&[
                ("table", 12),
                ("inner_join", 3),
                ("left_join", 2),
                ("right_join", 1),
                ("full_join", 1),
                ("semi_join", 1),
                ("anti_join", 1),
                ("cross_join", 1),
                ("using_join", 1),
                ("table_subquery", 3),
            ])
        };
        match kind {
            "table_subquery" => {
                let (query, types) = self.select(depth - 1, None);
                let is_first = self.sometimes("first_rows", 4) && self.may_be_ordered();
                let query = if is_first {
                    self.first_rows(query)
                } else {
                    query
                };
                let alias = self.alias();
                let columns = named(&types);
                From {
                    node: Node::of(Ty::Clause, &format!("({{}}) AS {alias}"), vec![query]),
                    columns: qualified(&alias, &columns),
                    unique: Vec::new(),
                }
            }
            "table" | "" => {
                if !self.ctes.is_empty() && !chance(self.random, 3) {
                    let cte = pick(self.random, &self.ctes).clone();
                    let alias = self.alias();
                    let node = Node::text(Ty::Clause, format!("{} AS {alias}", cte.name));
                    return From {
                        node,
                        columns: qualified(&alias, &cte.columns),
                        unique: Vec::new(),
                    };
                }
                let alias = self.alias();
                self.table(&alias)
            }
            _ => self.join(kind),
        }
    }

    fn table(&mut self, alias: &str) -> From {
        let name = *pick(self.random, &["data", "data", "level0", "level1"]);
        let columns: Vec<(String, Ty)> = COLUMNS
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), *ty))
            .collect();
        From {
            node: Node::text(Ty::Clause, format!("{name} AS {alias}")),
            columns: qualified(alias, &columns),
            unique: vec![format!("{alias}.k")],
        }
    }

    fn join(&mut self, kind: &'static str) -> From {
        let (left_alias, right_alias) = (self.alias(), self.alias());
        let (left, right) = (self.table(&left_alias), self.table(&right_alias));
        let both = || {
            left.columns
                .iter()
                .chain(&right.columns)
                .cloned()
                .collect::<Vec<_>>()
        };
        let all_unique = || vec![format!("{left_alias}.k"), format!("{right_alias}.k")];
        let (name, columns, unique) = match kind {
            "semi_join" => ("SEMI JOIN", left.columns.clone(), left.unique.clone()),
            "anti_join" => ("ANTI JOIN", left.columns.clone(), left.unique.clone()),
            "left_join" => ("LEFT JOIN", both(), all_unique()),
            "right_join" => ("RIGHT JOIN", both(), all_unique()),
            "full_join" => ("FULL JOIN", both(), all_unique()),
            "cross_join" => ("CROSS JOIN", both(), all_unique()),
            _ => ("JOIN", both(), all_unique()),
        };
        let mut parts = vec![
            Part::Child(left.node.clone()),
            Part::Text(format!(" {name} ")),
            Part::Child(right.node.clone()),
        ];
        match kind {
            "cross_join" => {}
            "using_join" => {
                let key = *pick(self.random, &["k", "g", "s", "d"]);
                parts.push(Part::Text(format!(" USING ({key})")));
            }
            _ => {
                let key = *pick(
                    self.random,
                    &["k", "k", "g", "s", "i64", "d", "b", "x", "id"],
                );
                let other = if key == "k" && chance(self.random, 3) {
                    "i64"
                } else {
                    key
                };
                let condition = format!("{left_alias}.{key} = {right_alias}.{other}");
                let mut on = Node::text(Ty::Clause, format!(" ON {condition}"));
                if self.sometimes("join_condition", 4) {
                    // Of the side whose rows are looked up, as the documented limits of outer joins
                    // ask.
                    let side = if kind == "right_join" { &left } else { &right };
                    let scope = Scope {
                        columns: side.columns.clone(),
                        ..Scope::default()
                    };
                    let more = self.expression(Ty::Bool, 1, &scope);
                    on = on.with(Part::Optional(Node::of(Ty::Clause, " AND {}", vec![more])));
                }
                parts.push(Part::Child(on));
            }
        }
        From {
            node: Node {
                ty: Ty::Clause,
                parts,
            },
            columns,
            unique,
        }
    }

    // Expressions

    fn expression(&mut self, ty: Ty, depth: usize, scope: &Scope) -> Node {
        if depth == 0 || chance(self.random, 4) {
            return self.leaf(ty, depth, scope);
        }
        if scope.has_subqueries
            && chance(self.random, 9)
            && let Some(node) = self.subquery(ty, scope)
        {
            return node;
        }
        if scope.has_windows
            && chance(self.random, 5)
            && let Some(node) = self.window(ty, depth, scope)
        {
            return node;
        }
        if scope.grouped.is_some() && chance(self.random, 2) {
            return self.leaf(ty, depth, scope);
        }
        let fitting: Vec<&Template> = SCALARS
            .iter()
            .filter(|(name, gives, ..)| *gives == ty && !self.left_out.contains(name))
            .collect();
        if fitting.is_empty() {
            return self.leaf(ty, depth, scope);
        }
        let (name, _, template, takes) = **pick(self.random, &fitting);
        self.allows(name);
        let text = self.filled(template);
        let children = takes
            .iter()
            .map(|ty| self.expression(*ty, depth - 1, scope))
            .collect();
        Node::of(ty, &text, children)
    }

    fn column(&mut self, ty: Ty, scope: &Scope) -> Node {
        let has_singles = ty != Ty::Float || self.allows("single_precision");
        let fits =
            |(name, own): &&(String, Ty)| *own == ty && (has_singles || !name.ends_with(".f32"));
        let fitting: Vec<&String> = scope
            .columns
            .iter()
            .filter(fits)
            .map(|(name, _)| name)
            .collect();
        if fitting.is_empty() {
            self.constant(ty)
        } else {
            Node::text(ty, (*pick(self.random, &fitting)).clone())
        }
    }

    fn leaf(&mut self, ty: Ty, depth: usize, scope: &Scope) -> Node {
        if let Some(rows) = &scope.grouped {
            let has_key = scope.columns.iter().any(|(_, own)| *own == ty);
            if (!has_key || chance(self.random, 2))
                && let Some(node) = self.aggregate(ty, depth.min(1), rows)
            {
                return node;
            }
        }
        if chance(self.random, 7) && self.allows("constant") {
            self.constant(ty)
        } else {
            self.column(ty, scope)
        }
    }

    fn constant(&mut self, ty: Ty) -> Node {
        let text = match ty {
            Ty::Int => "<<0|1|2|-3|7|100|NULL>>",
            Ty::Float => "<<1.5e0|0e0|-2.25e0|1e2|CAST('nan' AS DOUBLE)>>",
            Ty::Text => "<<'train'|''|'a''b'|'ñ'|'b'|'10'>>",
            Ty::Bool => "<<TRUE|FALSE>>",
            Ty::Date => "<<DATE '2020-02-29'|DATE '1970-01-01'>>",
            Ty::Time => {
                "<<TIMESTAMP '2020-02-29 12:34:56'|TIMESTAMP '1969-12-31 23:59:59'|TIMESTAMP \
                    '2021-12-31'>>"
            }
            Ty::Zoned => "CAST(TIMESTAMP '2020-02-29 12:34:56' AS TIMESTAMPTZ)",
            Ty::Ints => "<<[1, 2]|[3]|[1, NULL]>>",
            Ty::Floats => "<<[1.5e0]|[0.5e0, 2e0]>>",
            Ty::Texts => "<<['a', 'b']|['x']>>",
            Ty::Nested => "[[1], [2, 3]]",
            Ty::Bytes => "CAST('b' AS BLOB)",
            Ty::Struct | Ty::Query | Ty::Clause => "NULL",
        };
        let text = self.filled(text);
        Node::text(ty, text)
    }

    fn aggregate(&mut self, ty: Ty, depth: usize, rows: &Scope) -> Option<Node> {
        let fits = |(name, gives, template, _): &&Template| {
            *gives == ty
                && !self.left_out.contains(name)
                && (!template.contains("@K") || !rows.unique.is_empty())
        };
        let fitting: Vec<&Template> = AGGREGATES.iter().filter(fits).collect();
        if fitting.is_empty() {
            return None;
        }
        let (name, _, template, takes) = **pick(self.random, &fitting);
        self.allows(name);
        let text = self
            .filled(template)
            .replace("@K", &self.unique_key(&template.contains("ORDER BY"), rows));
        let inside = Scope {
            has_subqueries: false,
            has_windows: false,
            ..rows.clone()
        };
        let children = takes
            .iter()
            .map(|ty| self.expression(*ty, depth, &inside))
            .collect();
        let node = Node::of(ty, &text, children);
        if self.sometimes("filter", 5) {
            let condition = self.expression(Ty::Bool, 1, &inside);
            return Some(node.with(Part::Optional(Node::of(
                Ty::Clause,
                " FILTER (WHERE {})",
                vec![condition],
            ))));
        }
        Some(node)
    }

    /// All unique columns as keys of an order; as an argument, one that is unique with a single
    /// relation.
    fn unique_key(&mut self, is_order: &bool, rows: &Scope) -> String {
        if *is_order || rows.unique.len() < 2 {
            return rows.unique.join(", ");
        }
        let texts: Vec<String> = rows
            .unique
            .iter()
            .map(|key| format!("coalesce(CAST({key} AS VARCHAR), '')"))
            .collect();
        texts.join(" || '/' || ")
    }

    fn window(&mut self, ty: Ty, depth: usize, scope: &Scope) -> Option<Node> {
        let fits = |(over, (name, gives, ..)): &&(Over, Template)| {
            *gives == ty
                && !self.left_out.contains(name)
                && (*over != Over::TotalOrder || !scope.unique.is_empty())
        };
        let fitting: Vec<&(Over, Template)> = WINDOWS.iter().filter(fits).collect();
        if fitting.is_empty() {
            return None;
        }
        let (over, (name, _, template, takes)) = **pick(self.random, &fitting);
        self.allows(name);
        let text = self.filled(template);
        let inside = Scope {
            has_windows: false,
            has_subqueries: false,
            ..scope.clone()
        };
        let children = takes
            .iter()
            .map(|ty| self.expression(*ty, depth.min(1), &inside))
            .collect();
        let mut node = Node::of(ty, &text, children).then(" OVER (");
        if chance(self.random, 2) && self.allows("partition_by") {
            let key_type = *pick(self.random, &KEYS);
            let key = if self.sometimes("partition_by_expression", 4) {
                self.expression(key_type, 1, &inside)
            } else {
                self.column(key_type, &inside)
            };
            node = node.with(Part::Optional(Node::of(
                Ty::Clause,
                "PARTITION BY {} ",
                vec![key],
            )));
        }
        let key_type = *pick(self.random, &KEYS);
        let is_total = over == Over::TotalOrder
            || (over == Over::Frame && !scope.unique.is_empty() && chance(self.random, 2));
        if is_total {
            let mut keys: Vec<String> = Vec::new();
            if self.sometimes("window_order_by_column", 2) {
                let key = self.column(key_type, &inside).print().0;
                let options = self.filled(order_options());
                if scope.columns.iter().any(|(name, _)| *name == key) {
                    keys.push(key + &options);
                }
            }
            for key in &scope.unique {
                let options = self.filled("<<|| DESC>>");
                keys.push(format!("{key}{options}"));
            }
            let frame = if over == Over::Frame && self.sometimes("rows_frame", 2) {
                self.filled(
                    " ROWS BETWEEN <<UNBOUNDED PRECEDING|1 PRECEDING|2 PRECEDING|CURRENT ROW>> AND \
                        <<UNBOUNDED FOLLOWING|1 FOLLOWING|3 FOLLOWING|CURRENT ROW>>",
                )
            } else {
                String::new()
            };
            let order = Node::text(Ty::Clause, format!("ORDER BY {}{frame}", keys.join(", ")));
            // A frame without its order would be of any rows.
            node = node.with(if over == Over::Frame {
                Part::Optional(order)
            } else {
                Part::Child(order)
            });
        } else if over == Over::AnyOrder || chance(self.random, 2) {
            let key = self.column(key_type, &inside).print().0;
            if scope.columns.iter().any(|(name, _)| *name == key) {
                let options = self.filled(order_options());
                let frame = if over == Over::Frame
                    && key_type == Ty::Int
                    && self.sometimes("range_frame", 3)
                {
                    self.filled(
                        " RANGE BETWEEN <<UNBOUNDED PRECEDING|1 PRECEDING|CURRENT \
                        ROW>> AND <<UNBOUNDED FOLLOWING|2 FOLLOWING|CURRENT ROW>>",
                    )
                } else {
                    String::new()
                };
                node = node.with(Part::Optional(Node::text(
                    Ty::Clause,
                    format!("ORDER BY {key}{options}{frame}"),
                )));
            }
        }
        Some(node.then(")"))
    }

    /// A subquery that gives a value of this type.
    fn subquery(&mut self, ty: Ty, scope: &Scope) -> Option<Node> {
        let alias = self.alias();
        let table = self.table(&alias);
        let inside = Scope {
            columns: table.columns,
            unique: table.unique,
            ..Scope::default()
        };
        let outer: Vec<&String> = scope
            .columns
            .iter()
            .filter(|(name, _)| {
                [".g", ".k", ".s", ".i64", ".d"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .map(|(name, _)| name)
            .collect();
        let mut conditions: Vec<Node> = Vec::new();
        if !outer.is_empty() && chance(self.random, 2) && self.allows("correlated") {
            let around = (*pick(self.random, &outer)).clone();
            let column = around.rsplit('.').next().unwrap_or_default();
            conditions.push(Node::text(
                Ty::Clause,
                format!("{alias}.{column} = {around}"),
            ));
        }
        let is_correlated = !conditions.is_empty();
        if chance(self.random, 2) {
            conditions.push(self.expression(Ty::Bool, 1, &inside));
        }
        let ending = |conditions: Vec<Node>| {
            if conditions.is_empty() {
                Part::Text(String::new())
            } else {
                Part::Optional(Node::text(Ty::Clause, " WHERE ").with(Part::List {
                    children: conditions,
                    separator: " AND ",
                    least: 1,
                    is_select: false,
                }))
            }
        };
        let from = Part::Child(table.node);
        if ty == Ty::Bool && !chance(self.random, 4) {
            if self.sometimes("exists", 2) {
                let start = self.filled("(<<|NOT >>EXISTS (SELECT 1 FROM ");
                return Some(
                    Node::text(ty, start)
                        .with(from)
                        .with(ending(conditions))
                        .then("))"),
                );
            }
            if is_correlated || !self.allows("in_subquery") {
                return None;
            }
            let key = *pick(self.random, &[Ty::Int, Ty::Text, Ty::Date]);
            let (value, own) = (self.column(key, scope), self.column(key, &inside));
            let word = self.filled("<<|NOT >>IN");
            let node = Node::of(
                ty,
                &format!("({{}} {word} (SELECT {{}} FROM "),
                vec![value, own],
            );
            return Some(node.with(from).with(ending(conditions)).then("))"));
        }
        if !self.allows("scalar_subquery") {
            return None;
        }
        let value = self.aggregate(ty, 1, &inside)?;
        Some(
            Node::of(ty, "(SELECT {} FROM ", vec![value])
                .with(from)
                .with(ending(conditions))
                .then(")"),
        )
    }
}

/// Names of result columns.
fn named(types: &[Ty]) -> Vec<(String, Ty)> {
    types
        .iter()
        .enumerate()
        .map(|(at, ty)| (format!("c{}", at + 1), *ty))
        .collect()
}

fn qualified(alias: &str, columns: &[(String, Ty)]) -> Vec<(String, Ty)> {
    columns
        .iter()
        .map(|(name, ty)| (format!("{alias}.{name}"), *ty))
        .collect()
}
