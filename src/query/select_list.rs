//! SELECT lists: wildcards, `COLUMNS('pattern')` and aliases, expanded to named columns.

use std::ops::ControlFlow;
use std::rc::Rc;

use polars::prelude::{Column, DataFrame, DataType, IntoLazy, LazyFrame, Schema};
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, OneOrManyWithParens, Query, RenameSelectItem, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned, Value, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::duckdb_arithmetic::apply_duckdb_arithmetic;
use super::duckdb_semantics::{column, expression, literal, name_of, span_of, strip_parentheses};
use super::engine::SqlEngine;
use super::engine_errors::engine_error;
use super::scope::{NameLookup, SelectScope};
use super::source_span::StatementSource;
use super::syntax_walk::{walk_tree, walk_tree_mut};
use super::text_patterns::of_like;
use super::token_spellings::{OTHER_COLUMNS, POSITION, UNPACKED_COLUMNS};
use super::type_names::number_of_unnamed_field;
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
    engine: &SqlEngine,
    select: &Select,
    scope: &SelectScope,
    schema: &Schema,
) -> Result<Vec<ResultColumn>> {
    let source = engine.source;
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
            SelectItem::UnnamedExpr(expr) => match columns_of(engine, expr, scope)? {
                None => items.push(ResultColumn::new(
                    expr.clone(),
                    name_of_item(expr, scope),
                    false,
                )),
                Some(each) => items.extend(
                    each.into_iter()
                        .map(|one| ResultColumn::new(one.expr, one.name, false)),
                ),
            },
            SelectItem::ExprWithAlias { expr, alias } => match columns_of(engine, expr, scope)? {
                None => items.push(ResultColumn::new(expr.clone(), alias.value.clone(), true)),
                Some(each) => items.extend(each.into_iter().map(|one| {
                    let name = one.alias(&alias.value);
                    ResultColumn::new(one.expr, name, false)
                })),
            },
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

/// The name of a result without an alias: a column has that of its table.
fn name_of_item(expr: &Expr, scope: &SelectScope) -> String {
    let name = column_names::result_column_name(expr);
    match strip_parentheses(expr) {
        Expr::Identifier(ident) if let Some(known) = scope.shown_name(&ident.value) => known,
        Expr::CompoundIdentifier(parts)
            if let [table, own] = parts.as_slice()
                && let Some(columns) = scope.visible(Some(&table.value))
                && let Some(known) = columns
                    .iter()
                    .filter(|known| known.name.eq_ignore_ascii_case(&own.value))
                    .min_by_key(|known| known.name != own.value) =>
        {
            known.name.clone()
        }
        Expr::Function(function)
            if name_of(function) == POSITION
                && let Some(found) = scope.column_at(function) =>
        {
            found.name
        }
        _ => name,
    }
}

/// The columns that `COLUMNS(…)` means.
enum Chosen {
    /// Those that a pattern finds, and for which this is not false.
    Matching(regex::Regex, bool),
    /// These.
    Named(Vec<String>),
    /// All but these.
    Without(Vec<String>),
}

impl Chosen {
    /// The columns of the arguments of a call: a pattern, `*`, `* EXCLUDE (a)`, a list of names, or
    /// a lambda of names; `None` for other arguments.
    fn from_function(
        engine: &SqlEngine,
        function: &Function,
        scope: &SelectScope,
    ) -> Result<Option<Self>> {
        let FunctionArguments::List(list) = &function.args else {
            return Ok(None);
        };
        let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
            return Ok(None);
        };
        let finds = name_of(function) != OTHER_COLUMNS;
        Ok(match argument {
            FunctionArgExpr::Wildcard => Some(Chosen::Without(Vec::new())),
            FunctionArgExpr::WildcardWithOptions(options) => {
                Some(Chosen::Without(excluded_names(options)))
            }
            FunctionArgExpr::Expr(Expr::Array(array)) => {
                let names: Option<_> = array.elem.iter().map(text_literal).collect();
                names.map(Chosen::Named)
            }
            FunctionArgExpr::Expr(Expr::Lambda(lambda)) => match &lambda.params {
                OneOrManyWithParens::One(parameter) => {
                    let columns = scope.visible(None).unwrap_or_default();
                    let names = columns.iter().map(|column| column.name.as_str()).collect();
                    let chosen = choose_names(engine, &parameter.name, &lambda.body, names)?;
                    Some(Chosen::Named(chosen))
                }
                OneOrManyWithParens::Many(_) => None,
            },
            FunctionArgExpr::Expr(expr) => text_literal(expr)
                .and_then(|pattern| regex::Regex::new(&pattern).ok())
                .map(|pattern| Chosen::Matching(pattern, finds)),
            FunctionArgExpr::QualifiedWildcard(_) => None,
        })
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Chosen::Matching(pattern, finds) => pattern.is_match(name) == *finds,
            Chosen::Named(names) => names.iter().any(|known| known.eq_ignore_ascii_case(name)),
            Chosen::Without(names) => !names.iter().any(|known| known.eq_ignore_ascii_case(name)),
        }
    }

    /// The text of an alias with the groups of the pattern in place of `\1`.
    fn alias_with_groups(&self, alias: &str, name: &str) -> String {
        let mut text = alias.replace("\\0", name);
        if let Chosen::Matching(pattern, true) = self
            && let Some(groups) = pattern.captures(name)
        {
            for at in 1..groups.len() {
                let group = groups.get(at).map_or("", |group| group.as_str());
                text = text.replace(&format!("\\{at}"), group);
            }
        }
        text
    }
}

/// The names of columns for which a condition on the name is true.
fn choose_names(
    engine: &SqlEngine,
    parameter: &Ident,
    condition: &Expr,
    names: Vec<&str>,
) -> Result<Vec<String>> {
    let column_name = parameter.value.as_str();
    let frame = DataFrame::new(
        names.len(),
        vec![Column::new(column_name.into(), names.as_slice())],
    )
    .map_err(|error| engine_error(&error))?;
    let kept = engine.filter_rows(frame.lazy(), condition)?;
    let kept = apply_duckdb_arithmetic(kept)
        .and_then(LazyFrame::collect)
        .map_err(|error| engine_error(&error))?;
    let kept = kept
        .column(column_name)
        .map_err(|error| engine_error(&error))?
        .clone();
    let kept = kept.str().map_err(|error| engine_error(&error))?;
    Ok(kept.iter().flatten().map(str::to_owned).collect())
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

/// An expression with one of the columns of `COLUMNS(…)`.
struct ColumnExpression {
    expr: Expr,
    /// Name of the column.
    name: String,
    /// The name with the groups of the pattern, by the text of an alias.
    chosen: Rc<Chosen>,
}

impl ColumnExpression {
    fn alias(&self, alias: &str) -> String {
        self.chosen.alias_with_groups(alias, &self.name)
    }
}

/// Expands `COLUMNS(…)` to one expression per column; `None` without it.
fn columns_of(
    engine: &SqlEngine,
    expr: &Expr,
    scope: &SelectScope,
) -> Result<Option<Vec<ColumnExpression>>> {
    let unpacked = unpack_columns(engine, expr, scope)?;
    let expr = unpacked.as_ref().unwrap_or(expr);
    let Some(chosen) = find_columns_call(engine, expr, scope)? else {
        return Ok(unpacked.map(|expr| {
            vec![ColumnExpression {
                name: column_names::result_column_name(&expr),
                chosen: Rc::new(Chosen::Named(Vec::new())),
                expr,
            }]
        }));
    };
    let chosen = Rc::new(chosen);
    let columns = scope.visible(None).unwrap_or_default();
    Ok(Some(
        columns
            .into_iter()
            .filter(|found| chosen.has(&found.name))
            .map(|found| ColumnExpression {
                expr: replace_columns_call(expr, &found.name),
                name: found.name.clone(),
                chosen: chosen.clone(),
            })
            .collect(),
    ))
}

/// The names of the columns that `COLUMNS(…)` is.
///
/// # Errors
/// For COLUMNS of other arguments.
pub(super) fn list_chosen_columns(
    engine: &SqlEngine,
    call: &Expr,
    scope: &SelectScope,
) -> Result<Vec<String>> {
    let Some(chosen) = find_columns_call(engine, call, scope)? else {
        return Ok(Vec::new());
    };
    let columns = scope.visible(None).unwrap_or_default();
    Ok(columns
        .into_iter()
        .filter(|found| chosen.has(&found.name))
        .map(|found| found.name.clone())
        .collect())
}

/// A condition with `COLUMNS(…)`, which is met where it is for all of the columns.
///
/// # Errors
/// For COLUMNS of other arguments, and of no column.
pub(super) fn expand_condition(
    engine: &SqlEngine,
    condition: &Expr,
    scope: &SelectScope,
) -> Result<Vec<Expr>> {
    Ok(match columns_of(engine, condition, scope)? {
        Some(each) if each.is_empty() => {
            let span =
                find_first_columns_call(condition).map_or(condition.span(), |call| span_of(&call));
            let error = Error::usage("COLUMNS matches no column of this FROM");
            return Err(engine.source.locate(error, span));
        }
        Some(each) => each.into_iter().map(|one| one.expr).collect(),
        None => vec![condition.clone()],
    })
}

/// Visits expressions outside of subqueries, whose columns are those of their own FROM.
struct OuterExpressions<F> {
    visit: F,
    /// Number of queries around the visited part.
    depth: usize,
}

impl<F> OuterExpressions<F> {
    fn new(visit: F) -> Self {
        Self { visit, depth: 0 }
    }
}

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for OuterExpressions<F> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<B> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        (self.visit)(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for OuterExpressions<F> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        (self.visit)(expr)
    }
}

/// The first `COLUMNS(…)` of an expression.
fn find_first_columns_call(expr: &Expr) -> Option<Box<Function>> {
    // Boxed, so that the visit of a deep expression takes little of the stack.
    let mut visitor = OuterExpressions::new(|part: &Expr| match part {
        Expr::Function(function) if is_columns_call(part) => {
            ControlFlow::Break(Box::new(function.clone()))
        }
        _ => ControlFlow::Continue(()),
    });
    match walk_tree(expr, &mut visitor) {
        ControlFlow::Break(function) => Some(function),
        ControlFlow::Continue(()) => None,
    }
}

/// The columns of the first `COLUMNS(…)` of an expression.
fn find_columns_call(
    engine: &SqlEngine,
    expr: &Expr,
    scope: &SelectScope,
) -> Result<Option<Chosen>> {
    let Some(function) = find_first_columns_call(expr) else {
        return Ok(None);
    };
    match Chosen::from_function(engine, &function, scope)? {
        Some(chosen) => Ok(Some(chosen)),
        None => {
            let hint = "SELECT COLUMNS('^stac:') FROM data, COLUMNS(* EXCLUDE (id)), \
                COLUMNS(['id', 'split'])";
            Err(engine.source.locate(
                Error::usage("COLUMNS takes a pattern, *, or a list of names").hint(hint),
                span_of(&function),
            ))
        }
    }
}

/// The expression with the columns of `*COLUMNS(…)` as arguments; `None` without it.
fn unpack_columns(engine: &SqlEngine, expr: &Expr, scope: &SelectScope) -> Result<Option<Expr>> {
    let mut visitor = OuterExpressions::new(|part: &Expr| match part {
        Expr::Function(function) if name_of(function) == UNPACKED_COLUMNS => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    if walk_tree(expr, &mut visitor).is_continue() {
        return Ok(None);
    }
    let mut expr = expr.clone();
    let mut is_unpacked = false;
    let mut visitor = OuterExpressions::new(|part: &mut Expr| {
        let Expr::Function(function) = part else {
            return ControlFlow::Continue(());
        };
        match unpack_arguments(engine, function, scope) {
            Ok(unpacked) => {
                is_unpacked |= unpacked;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    });
    match walk_tree_mut(&mut expr, &mut visitor) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(is_unpacked.then_some(expr)),
    }
}

/// Replaces each `*COLUMNS(…)` among the arguments of a call; false without one.
fn unpack_arguments(
    engine: &SqlEngine,
    function: &mut Function,
    scope: &SelectScope,
) -> Result<bool> {
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(false);
    };
    let mut arguments = Vec::with_capacity(list.args.len());
    let mut is_unpacked = false;
    for argument in &list.args {
        let call = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call)))
                if name_of(call) == UNPACKED_COLUMNS =>
            {
                call
            }
            other => {
                arguments.push(other.clone());
                continue;
            }
        };
        is_unpacked = true;
        let each = columns_of(engine, &Expr::Function(call.clone()), scope)?.unwrap_or_default();
        let unnamed = |one: ColumnExpression| FunctionArg::Unnamed(FunctionArgExpr::Expr(one.expr));
        arguments.extend(each.into_iter().map(unnamed));
    }
    list.args = arguments;
    Ok(is_unpacked)
}

fn is_columns_call(part: &Expr) -> bool {
    const CALLS: [&str; 3] = ["columns", UNPACKED_COLUMNS, OTHER_COLUMNS];
    matches!(part, Expr::Function(function) if CALLS.contains(&name_of(function).as_str()))
}

/// The expression with this column in place of `COLUMNS(…)`.
fn replace_columns_call(expr: &Expr, name: &str) -> Expr {
    let mut expr = expr.clone();
    let mut visitor = OuterExpressions::new(|part: &mut Expr| {
        if is_columns_call(part) {
            *part = column(name);
        }
        ControlFlow::<()>::Continue(())
    });
    let _ = walk_tree_mut(&mut expr, &mut visitor);
    expr
}

/// A field of a struct.
fn field(of: &Expr, name: &str) -> Expr {
    expression("struct_extract(_0, _1)", vec![of.clone(), literal(name)])
}

/// The name of the column of a field of a struct.
fn column_of_field(name: &str) -> String {
    match number_of_unnamed_field(name) {
        Some(number) => format!("element{number}"),
        None => name.to_owned(),
    }
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
                        .map(|found| (field(expr, found.name()), column_of_field(found.name())))
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
