//! SELECT lists: wildcards, `COLUMNS('pattern')` and aliases, expanded to named columns.

use std::ops::ControlFlow;

use polars::prelude::{DataType, Schema};
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, RenameSelectItem, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned, Value, WildcardAdditionalOptions, visit_expressions,
};
use sqlparser::tokenizer::Span;

use super::duckdb_semantics::{column, expression, literal, name_of, span_of, strip_parentheses};
use super::scope::{NameLookup, SelectScope};
use super::source_span::StatementSource;
use super::text_patterns::of_like;
use super::{advice, column_names};
use crate::error::{Error, Result};

pub(super) struct ResultColumn {
    pub expr: Expr,
    pub name: String,
    /// True when named by AS.
    pub is_alias: bool,
    /// True for `unnest(list)`.
    pub unnests: bool,
}

impl ResultColumn {
    fn new(expr: Expr, name: String, is_alias: bool) -> Self {
        Self {
            expr,
            name,
            is_alias,
            unnests: false,
        }
    }
}

/// Expands a SELECT list to named columns. `schema` is that of the frame of FROM.
///
/// # Errors
/// For tables and columns that don't exist, with their position.
pub(super) fn select_list(
    source: StatementSource,
    select: &Select,
    scope: &SelectScope,
    schema: &Schema,
) -> Result<Vec<ResultColumn>> {
    let mut items = Vec::new();
    if select.projection.is_empty() && select.flavor == SelectFlavor::FromFirstNoSelect {
        let columns = scope.visible(None).unwrap_or_default();
        items.extend(
            columns
                .into_iter()
                .map(|found| ResultColumn::new(column(&found.inner), found.name.clone(), false)),
        );
    }
    for item in &select.projection {
        match &with_subscripts(item) {
            SelectItem::UnnamedExpr(expr)
                if let Some(fields) =
                    unnest_argument(expr).and_then(|of| fields_of(of, scope, schema)) =>
            {
                items.extend(
                    fields
                        .into_iter()
                        .map(|(expr, name)| ResultColumn::new(expr, name, false)),
                );
            }
            SelectItem::UnnamedExpr(expr) => match columns_of(source, expr, scope)? {
                None => items.push(ResultColumn::new(
                    expr.clone(),
                    column_names::result_column_name(expr),
                    false,
                )),
                Some(each) => items.extend(each.into_iter().map(|expr| {
                    let name = column_names::result_column_name(&expr);
                    ResultColumn::new(expr, name, false)
                })),
            },
            SelectItem::ExprWithAlias { expr, alias } => {
                items.push(ResultColumn::new(expr.clone(), alias.value.clone(), true))
            }
            SelectItem::ExprWithAliases { expr, .. } => {
                let error =
                    Error::usage("an expression has one name").hint("SELECT a AS x, b AS y");
                return Err(source.locate(error, expr.span()));
            }
            SelectItem::Wildcard(options) => wildcard(source, &mut items, scope, None, options)?,
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                let ident = name
                    .0
                    .last()
                    .and_then(|part| part.as_ident())
                    .cloned()
                    .unwrap_or_else(|| Ident::new(""));
                let of_struct = match scope.visible(Some(&ident.value)) {
                    None => fields_of(&Expr::Identifier(ident.clone()), scope, schema),
                    Some(_) => None,
                };
                if let Some(fields) = of_struct {
                    items.extend(
                        fields
                            .into_iter()
                            .map(|(expr, name)| ResultColumn::new(expr, name, false)),
                    );
                    continue;
                }
                wildcard(source, &mut items, scope, Some(&ident), options)?;
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(expr), _) => {
                let error = Error::usage("the fields of a struct are named one by one")
                    .hint("SELECT (st).a, (st).b");
                return Err(source.locate(error, expr.span()));
            }
        }
    }
    Ok(items)
}

/// Adds the columns of `*` or `table.*`.
fn wildcard(
    source: StatementSource,
    items: &mut Vec<ResultColumn>,
    scope: &SelectScope,
    table: Option<&Ident>,
    options: &WildcardAdditionalOptions,
) -> Result<()> {
    let Some(columns) = scope.visible(table.map(|table| table.value.as_str())) else {
        let (name, span) = table.map_or(("", Span::empty()), |table| {
            (table.value.as_str(), table.span)
        });
        let tables: Vec<&str> = scope
            .relations
            .iter()
            .map(|relation| relation.alias.as_str())
            .collect();
        let error = Error::usage(format!("there is no table {name} in this FROM"));
        return Err(source.locate(error.hint(format!("there are {}", tables.join(", "))), span));
    };
    let span = options.wildcard_token.0.span;
    let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let mut without = excluded_names(options);
    if let Some(except) = &options.opt_except {
        without.extend(
            std::iter::once(&except.first_element)
                .chain(&except.additional_elements)
                .map(|ident| ident.value.clone()),
        );
    }
    if let Some(unknown) = without
        .iter()
        .find(|name| !columns.iter().any(|column| same(&column.name, name)))
    {
        let error = Error::usage(format!("there is no column {unknown} to leave out"));
        let near = advice::near(unknown, columns.iter().map(|column| column.name.as_str()));
        let error = if near.is_empty() {
            error
        } else {
            error.hint(format!("did you mean {}?", near.join(" or ")))
        };
        return Err(source.locate(error, span));
    }
    let renamed: Vec<(&Ident, &Ident)> = match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => vec![(&one.ident, &one.alias)],
        Some(RenameSelectItem::Multiple(all)) => {
            all.iter().map(|one| (&one.ident, &one.alias)).collect()
        }
        None => Vec::new(),
    };
    let like = options
        .opt_ilike
        .as_ref()
        .and_then(|like| of_like(&like.pattern, None, true))
        .and_then(|like| regex::Regex::new(&like).ok());
    for found in columns
        .into_iter()
        .filter(|found| !without.iter().any(|name| same(name, &found.name)))
    {
        if like
            .as_ref()
            .is_some_and(|like| !like.is_match(&found.name))
        {
            continue;
        }
        let replaced = options
            .opt_replace
            .iter()
            .flat_map(|replace| &replace.items)
            .find(|one| same(&one.column_name.value, &found.name));
        let expr = replaced.map_or_else(|| column(&found.inner), |one| one.expr.clone());
        let name = renamed
            .iter()
            .find(|(old, _)| same(&old.value, &found.name))
            .map_or(&found.name, |(_, new)| &new.value);
        items.push(ResultColumn::new(expr, name.clone(), false));
    }
    Ok(())
}

/// The columns that `COLUMNS(…)` means.
enum Chosen {
    /// Those that a pattern finds.
    Matching(regex::Regex),
    /// These.
    Named(Vec<String>),
    /// All but these.
    Without(Vec<String>),
}

impl Chosen {
    /// The columns of the arguments of a call: a pattern, `*`, `* EXCLUDE (a)`, or a list of names;
    /// `None` for other arguments.
    fn from_function(function: &Function) -> Option<Self> {
        let FunctionArguments::List(list) = &function.args else {
            return None;
        };
        let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
            return None;
        };
        Some(match argument {
            FunctionArgExpr::Wildcard => Chosen::Without(Vec::new()),
            FunctionArgExpr::WildcardWithOptions(options) => {
                Chosen::Without(excluded_names(options))
            }
            FunctionArgExpr::Expr(Expr::Array(array)) => {
                Chosen::Named(array.elem.iter().map(text_literal).collect::<Option<_>>()?)
            }
            FunctionArgExpr::Expr(expr) => {
                Chosen::Matching(regex::Regex::new(&text_literal(expr)?).ok()?)
            }
            FunctionArgExpr::QualifiedWildcard(_) => return None,
        })
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Chosen::Matching(pattern) => pattern.is_match(name),
            Chosen::Named(names) => names.iter().any(|known| known.eq_ignore_ascii_case(name)),
            Chosen::Without(names) => !names.iter().any(|known| known.eq_ignore_ascii_case(name)),
        }
    }
}

/// A text as it is written.
fn text_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Names behind EXCLUDE.
fn excluded_names(options: &WildcardAdditionalOptions) -> Vec<String> {
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => last_ident(name).into_iter().collect(),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(last_ident).collect(),
        None => Vec::new(),
    }
}

fn last_ident(name: &ObjectName) -> Option<String> {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .map(|ident| ident.value.clone())
}

/// Expands `COLUMNS(…)` to one expression per column; `None` without it.
fn columns_of(
    source: StatementSource,
    expr: &Expr,
    scope: &SelectScope,
) -> Result<Option<Vec<Expr>>> {
    let found = visit_expressions(expr, |part| match part {
        Expr::Function(function) if is_columns_call(part) => {
            ControlFlow::Break((Chosen::from_function(function), span_of(function)))
        }
        _ => ControlFlow::Continue(()),
    });
    let ControlFlow::Break((chosen, span)) = found else {
        return Ok(None);
    };
    let Some(chosen) = chosen else {
        let hint =
            "SELECT COLUMNS('^stac:') FROM data, COLUMNS(* EXCLUDE (id)), COLUMNS(['id', 'split'])";
        return Err(source.locate(
            Error::usage("COLUMNS takes a pattern, *, or a list of names").hint(hint),
            span,
        ));
    };
    let columns = scope.visible(None).unwrap_or_default();
    Ok(Some(
        columns
            .into_iter()
            .filter(|found| chosen.has(&found.name))
            .map(|found| replace_columns_call(expr, &found.name))
            .collect(),
    ))
}

fn is_columns_call(part: &Expr) -> bool {
    matches!(part, Expr::Function(function) if name_of(function) == "columns")
}

/// The expression with this column in place of `COLUMNS(…)`.
fn replace_columns_call(expr: &Expr, name: &str) -> Expr {
    let mut expr = expr.clone();
    let _ = sqlparser::ast::visit_expressions_mut(&mut expr, |part| {
        if is_columns_call(part) {
            *part = column(name);
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}

/// A field of a struct.
fn field(of: &Expr, name: &str) -> Expr {
    expression("struct_extract(_0, _1)", vec![of.clone(), literal(name)])
}

/// The fields of a struct as columns: `st.*`, and `unnest(st)`. `None` for a value that is no
/// struct.
fn fields_of(expr: &Expr, scope: &SelectScope, schema: &Schema) -> Option<Vec<(Expr, String)>> {
    match strip_parentheses(expr) {
        Expr::Dictionary(fields) => Some(
            fields
                .iter()
                .map(|field| (*field.value.clone(), field.key.value.clone()))
                .collect(),
        ),
        Expr::Identifier(ident) => {
            let NameLookup::Column { inner, parts: 1 } = scope.find(std::slice::from_ref(ident))
            else {
                return None;
            };
            match schema.get(&inner) {
                Some(DataType::Struct(fields)) => Some(
                    fields
                        .iter()
                        .map(|found| (field(expr, found.name()), found.name().to_string()))
                        .collect(),
                ),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `generate_subscripts(list, 1)` as the unnested numbers of the elements.
fn with_subscripts(item: &SelectItem) -> SelectItem {
    let mut item = item.clone();
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &mut item else {
        return item;
    };
    let Expr::Function(function) = &*expr else {
        return item;
    };
    let FunctionArguments::List(list) = &function.args else {
        return item;
    };
    if let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(of)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(dimension))),
    ] = list.args.as_slice()
        && name_of(function) == "generate_subscripts"
        && matches!(&dimension.value, Value::Number(number, _) if number == "1")
    {
        *expr = expression("unnest(generate_series(1, len(_0)))", vec![of.clone()]);
    }
    item
}

/// The argument of `unnest(x)`.
fn unnest_argument(expr: &Expr) -> Option<&Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]
            if name_of(function) == "unnest" =>
        {
            Some(argument)
        }
        _ => None,
    }
}
