//! Statements as trees, so that a failing one can be made smaller: parts that are optional, lists,
//! and expressions with a type.

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Int,
    Float,
    Text,
    Bool,
    Date,
    Time,
    Zoned,
    Ints,
    Floats,
    Texts,
    Bytes,
    Nested,
    Struct,
    /// A query, which another query can replace.
    Query,
    /// A part that nothing else replaces.
    Clause,
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub ty: Ty,
    pub parts: Vec<Part>,
}

/// What a node is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Child(Node),
    /// What the statement is valid without.
    Optional(Node),
    /// Children with a separator, at least `least` of them; `is_select` for the columns of a
    /// result.
    List {
        children: Vec<Node>,
        separator: &'static str,
        least: usize,
        is_select: bool,
    },
    /// ORDER BY over all columns of the result, each with its direction.
    TotalOrder(Vec<&'static str>),
}

impl Node {
    pub fn text(ty: Ty, text: impl Into<String>) -> Self {
        Self {
            ty,
            parts: vec![Part::Text(text.into())],
        }
    }

    /// A node from a template, in which `{}` is the next child.
    pub fn of(ty: Ty, template: &str, children: Vec<Node>) -> Self {
        let mut parts = Vec::new();
        let mut children = children.into_iter();
        for (at, piece) in template.split("{}").enumerate() {
            if at > 0 {
                parts.push(Part::Child(
                    children.next().expect("a child for each place"),
                ));
            }
            if !piece.is_empty() {
                parts.push(Part::Text(piece.to_owned()));
            }
        }
        assert!(
            children.next().is_none(),
            "{template} has a place for each child"
        );
        Self { ty, parts }
    }

    pub fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub fn then(self, text: &str) -> Self {
        self.with(Part::Text(text.to_owned()))
    }

    /// The statement, and whether its rows have a total order.
    pub fn print(&self) -> (String, bool) {
        let mut printed = Printed::default();
        printed.node(self, 0);
        (printed.text, printed.is_ordered)
    }

    /// All trees that are this one with one part removed or made simpler, those that remove most
    /// first.
    pub fn smaller(&self) -> Vec<Node> {
        let mut found = Vec::new();
        self.collect_smaller(&mut found);
        found.sort_by_key(Node::size);
        found
    }

    fn size(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Child(node) | Part::Optional(node) => node.size(),
                Part::List { children, .. } => children.iter().map(Node::size).sum(),
                Part::TotalOrder(_) => 10,
            })
            .sum()
    }

    fn collect_smaller(&self, found: &mut Vec<Node>) {
        let size = self.size();
        let mut inside = Vec::new();
        self.collect_inside(&mut inside);
        found.extend(
            inside
                .into_iter()
                .filter(|node| node.ty == self.ty && self.ty != Ty::Clause)
                .cloned(),
        );
        found.extend(
            simplest(self.ty)
                .iter()
                .map(|text| Node::text(self.ty, *text))
                .filter(|node| node.size() < size),
        );
        for (at, part) in self.parts.iter().enumerate() {
            let with = |part: Option<Part>| {
                let mut node = self.clone();
                match part {
                    Some(part) => node.parts[at] = part,
                    None => drop(node.parts.remove(at)),
                }
                node
            };
            match part {
                // The rows of a LIMIT without its order are any.
                Part::Text(_) | Part::TotalOrder(_) => {}
                Part::Child(child) => {
                    let mut below = Vec::new();
                    child.collect_smaller(&mut below);
                    found.extend(
                        below
                            .into_iter()
                            .map(|child| with(Some(Part::Child(child)))),
                    );
                }
                Part::Optional(child) => {
                    found.push(with(None));
                    let mut below = Vec::new();
                    child.collect_smaller(&mut below);
                    found.extend(
                        below
                            .into_iter()
                            .map(|child| with(Some(Part::Optional(child)))),
                    );
                }
                Part::List {
                    children,
                    separator,
                    least,
                    is_select,
                } => {
                    let list = |children| Part::List {
                        children,
                        separator,
                        least: *least,
                        is_select: *is_select,
                    };
                    for place in 0..children.len() {
                        if children.len() > *least {
                            let mut fewer = children.clone();
                            fewer.remove(place);
                            found.push(with(Some(list(fewer))));
                        }
                        let mut below = Vec::new();
                        children[place].collect_smaller(&mut below);
                        for child in below {
                            let mut other = children.clone();
                            other[place] = child;
                            found.push(with(Some(list(other))));
                        }
                    }
                }
            }
        }
    }

    fn collect_inside<'a>(&'a self, found: &mut Vec<&'a Node>) {
        for part in &self.parts {
            let children: &[Node] = match part {
                Part::Child(node) | Part::Optional(node) => std::slice::from_ref(node),
                Part::List { children, .. } => children,
                Part::Text(_) | Part::TotalOrder(_) => &[],
            };
            for child in children {
                found.push(child);
                child.collect_inside(found);
            }
        }
    }
}

/// Expressions that can replace any of a type.
fn simplest(ty: Ty) -> &'static [&'static str] {
    match ty {
        Ty::Int => &["1", "k"],
        Ty::Float => &["1.5e0", "x"],
        Ty::Text => &["'a'", "id", "s"],
        Ty::Bool => &["TRUE", "b"],
        Ty::Date => &["d", "DATE '2020-02-29'"],
        Ty::Time => &["ts", "TIMESTAMP '2020-02-29 12:34:56'"],
        Ty::Zoned => &["tz"],
        Ty::Ints => &["li", "[1, 2]"],
        Ty::Floats => &["lf"],
        Ty::Texts => &["lt", "['a', 'b']"],
        Ty::Bytes => &["bin"],
        Ty::Nested => &["ll"],
        Ty::Struct => &["st"],
        Ty::Query | Ty::Clause => &[],
    }
}

#[derive(Default)]
struct Printed {
    text: String,
    /// Number of columns of the last query that ended.
    width: usize,
    is_ordered: bool,
}

impl Printed {
    fn node(&mut self, node: &Node, depth: usize) {
        let mut own_width = None;
        for part in &node.parts {
            match part {
                Part::Text(text) => self.text.push_str(text),
                Part::Child(child) | Part::Optional(child) => {
                    self.node(child, depth + usize::from(node.ty == Ty::Query))
                }
                Part::List {
                    children,
                    separator,
                    is_select,
                    ..
                } => {
                    for (at, child) in children.iter().enumerate() {
                        if at > 0 {
                            self.text.push_str(separator);
                        }
                        self.node(child, depth + 1);
                    }
                    if *is_select {
                        own_width = Some(children.len());
                    }
                }
                Part::TotalOrder(directions) => {
                    let keys: Vec<String> = (0..self.width)
                        .map(|at| format!("{}{}", at + 1, directions[at % directions.len()]))
                        .collect();
                    self.text
                        .push_str(&format!(" ORDER BY {}", keys.join(", ")));
                    self.is_ordered |= depth == 0;
                }
            }
        }
        // Not that of a query within.
        self.width = own_width.unwrap_or(self.width);
    }
}
