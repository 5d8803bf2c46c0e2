//! Name resolution within one SELECT: the tables of its FROM and their columns.

use std::collections::{HashMap, HashSet};

use polars::prelude::LazyFrame;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value,
};

/// A column of a table in FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    /// Name in the statement.
    pub name: String,
    /// Unique name in the frame.
    pub inner: String,
    /// True when only the qualified name finds it: USING merges the columns.
    pub qualified_only: bool,
}

impl ScopeColumn {
    /// A column that has the name of the statement in the frame too.
    fn from_name(name: String) -> Self {
        Self {
            inner: name.clone(),
            name,
            qualified_only: false,
        }
    }
}

/// A table in FROM.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// Qualifier of its columns.
    pub alias: String,
    pub columns: Vec<ScopeColumn>,
}

impl Relation {
    /// A relation whose columns have these names in the frame too.
    pub fn of_columns(alias: &str, names: impl IntoIterator<Item = impl ToString>) -> Self {
        Self {
            alias: alias.to_owned(),
            columns: names
                .into_iter()
                .map(|name| ScopeColumn::from_name(name.to_string()))
                .collect(),
        }
    }

    /// The column with this name: exactly, in any case, or without the level, as `bands` for
    /// `l1:bands`.
    fn find_column(&self, name: &str) -> Option<&ScopeColumn> {
        let columns = || self.columns.iter();
        columns()
            .find(|column| column.name == name)
            .or_else(|| columns().find(|column| column.name.eq_ignore_ascii_case(name)))
            .or_else(|| self.find_column_without_level(name))
    }

    /// The column with this name behind its level, if there is only one.
    fn find_column_without_level(&self, name: &str) -> Option<&ScopeColumn> {
        let mut found = self
            .columns
            .iter()
            .filter(|column| without_level(&column.name) == Some(name));
        found.next().filter(|_| found.next().is_none())
    }
}

/// Tables of a SELECT, and the scope of the enclosing SELECT.
#[derive(Clone)]
pub(super) struct SelectScope<'a> {
    pub relations: Vec<Relation>,
    pub outer: Option<&'a SelectScope<'a>>,
    /// The rows of FROM, for the subqueries that look at them.
    pub rows: Option<LazyFrame>,
    /// Columns of the enclosing SELECT that are joined to the frame: their name there, and here.
    pub around: Vec<(String, String)>,
    /// Index of columns by lower-case name: (relation, column).
    by_name: HashMap<String, Vec<(usize, usize)>>,
}

/// Result of a name lookup.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NameLookup {
    /// A column of the frame, and the number of parts of the name that it takes; further parts are
    /// struct fields.
    Column {
        inner: String,
        parts: usize,
    },
    /// Candidate columns of several tables, as they must be written.
    Ambiguous(Vec<String>),
    Nothing,
}

impl<'a> SelectScope<'a> {
    pub fn new(relations: Vec<Relation>, outer: Option<&'a SelectScope<'a>>) -> Self {
        let mut by_name: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (table, relation) in relations.iter().enumerate() {
            for (at, column) in relation
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.qualified_only)
            {
                by_name
                    .entry(column.name.to_lowercase())
                    .or_default()
                    .push((table, at));
                if let Some(short) = without_level(&column.name) {
                    by_name
                        .entry(format!("*:{}", short.to_lowercase()))
                        .or_default()
                        .push((table, at));
                }
            }
        }
        Self {
            relations,
            outer,
            rows: None,
            around: Vec::new(),
            by_name,
        }
    }

    /// The name in its table of the only column with this name, in any case.
    pub fn shown_name(&self, name: &str) -> Option<String> {
        match self.by_name.get(&name.to_lowercase())?.as_slice() {
            [(table, at)] => Some(self.relations[*table].columns[*at].name.clone()),
            _ => None,
        }
    }

    /// The column of FROM whose number, from 1, is the argument of a call.
    pub fn column_at(&self, call: &Function) -> Option<ScopeColumn> {
        let FunctionArguments::List(list) = &call.args else {
            return None;
        };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(number)))] =
            list.args.as_slice()
        else {
            return None;
        };
        let Value::Number(number, _) = &number.value else {
            return None;
        };
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.visible(None)?.into_iter().nth(at).cloned()
    }

    /// Resolves a name: `id`, `data.id`, `st.field`, `data.st.field`. Case-insensitive unless a
    /// column matches exactly; `bands` finds `l1:bands` if no other level has such a column.
    pub fn find(&self, parts: &[Ident]) -> NameLookup {
        let Some(first) = parts.first() else {
            return NameLookup::Nothing;
        };
        if let Some(second) = parts.get(1) {
            let table = self
                .relations
                .iter()
                .find(|relation| relation.alias.eq_ignore_ascii_case(&first.value));
            if let Some(column) = table.and_then(|relation| relation.find_column(&second.value)) {
                return NameLookup::Column {
                    inner: column.inner.clone(),
                    parts: 2,
                };
            }
        }
        let lower = first.value.to_lowercase();
        let places = self
            .by_name
            .get(&lower)
            .or_else(|| self.by_name.get(&format!("*:{lower}")));
        let Some(places) = places else {
            return NameLookup::Nothing;
        };
        let column = |(table, at): &(usize, usize)| &self.relations[*table].columns[*at];
        let exact: Vec<&(usize, usize)> = places
            .iter()
            .filter(|place| column(place).name == first.value)
            .collect();
        let candidates = if exact.is_empty() {
            places.iter().collect()
        } else {
            exact
        };
        match candidates.as_slice() {
            [only] => NameLookup::Column {
                inner: column(only).inner.clone(),
                parts: 1,
            },
            several => NameLookup::Ambiguous(
                several
                    .iter()
                    .map(|place| self.write_candidate(**place))
                    .collect(),
            ),
        }
    }

    /// A column of an ambiguous name, with its table if there are several.
    fn write_candidate(&self, (table, at): (usize, usize)) -> String {
        let relation = &self.relations[table];
        let (alias, name) = (&relation.alias, &relation.columns[at].name);
        if self.relations.len() > 1 {
            format!("{alias}.\"{name}\"")
        } else {
            format!("\"{name}\"")
        }
    }

    /// Columns of `*`, or of `alias.*`; `None` for an unknown alias.
    pub fn visible(&self, alias: Option<&str>) -> Option<Vec<&ScopeColumn>> {
        match alias {
            None => Some(
                self.relations
                    .iter()
                    .flat_map(|relation| &relation.columns)
                    .filter(|column| !column.qualified_only)
                    .collect(),
            ),
            Some(alias) => {
                let relation = self
                    .relations
                    .iter()
                    .find(|relation| relation.alias.eq_ignore_ascii_case(alias))?;
                Some(relation.columns.iter().collect())
            }
        }
    }
}

/// The column name without its level prefix: `bands` from `l1:bands`.
fn without_level(name: &str) -> Option<&str> {
    let (level, rest) = name.strip_prefix('l')?.split_once(':')?;
    (!level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

/// Makes names unique: `id`, then `id_1`.
#[derive(Default)]
pub(super) struct UniqueNames {
    taken: HashSet<String>,
    /// The next number of each name that was taken.
    numbers: HashMap<String, usize>,
}

impl UniqueNames {
    pub fn take(&mut self, name: &str) -> String {
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        let mut free = name.to_owned();
        while !self.taken.insert(free.clone()) {
            free = format!("{name}_{number}");
            *number += 1;
        }
        free
    }
}
