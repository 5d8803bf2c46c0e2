//! Names of unnamed result columns: DuckDB's text of the expression.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, Ident, OrderByExpr, Subscript, UnaryOperator, Value,
    WindowType,
};

use super::duckdb_semantics::name_of;
use super::token_spellings::{EXCLUDE_GROUP, EXCLUDE_ROW, EXCLUDE_TIES};

/// Maximum characters of a name; longer ones are cut.
const LONGEST: usize = 300;

/// Name of a result column.
pub(super) fn result_column_name(expr: &Expr) -> String {
    let name = match expr {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .map(|ident| ident.value.clone())
            .unwrap_or_default(),
        Expr::Nested(inner) => return result_column_name(inner),
        Expr::CompoundFieldAccess { access_chain, .. } => match access_chain.last() {
            Some(AccessExpr::Dot(Expr::Identifier(ident))) => ident.value.clone(),
            _ => text(expr),
        },
        other => text(other),
    };
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn ident(ident: &Ident) -> String {
    let plain = ident
        .value
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !ident
            .value
            .starts_with(|first: char| first.is_ascii_digit());
    if plain {
        ident.value.clone()
    } else {
        format!("\"{}\"", ident.value)
    }
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn text(expr: &Expr) -> String {
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match expr {
        Expr::Identifier(name) => ident(name),
        Expr::CompoundIdentifier(parts) => parts.iter().map(ident).collect::<Vec<_>>().join("."),
        Expr::Nested(inner) => text(inner),
        Expr::Value(value) => match &value.value {
            Value::Boolean(true) => "CAST('t' AS BOOLEAN)".into(),
            Value::Boolean(false) => "CAST('f' AS BOOLEAN)".into(),
            other => other.to_string(),
        },
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            right,
        } => {
            let mut parts = vec![text(right)];
            let mut below = left.as_ref();
            while let Expr::BinaryOp {
                left,
                op: other,
                right,
            } = below
                && other == op
            {
                parts.push(text(right));
                below = left;
            }
            parts.push(text(below));
            parts.reverse();
            format!("({})", parts.join(&format!(" {op} ")))
        }
        Expr::BinaryOp { left, op, right } => {
            let op = if *op == BinaryOperator::NotEq {
                "!=".to_owned()
            } else {
                op.to_string()
            };
            format!("({} {op} {})", text(left), text(right))
        }
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match expr.as_ref() {
            Expr::Value(value) => format!("-{value}"),
            other => format!("-({})", text(other)),
        },
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => format!("(NOT {})", text(expr)),
        Expr::IsNull(inner) => format!("({} IS NULL)", text(inner)),
        Expr::IsNotNull(inner) => format!("({} IS NOT NULL)", text(inner)),
        Expr::IsDistinctFrom(left, right) => {
            format!("({} IS DISTINCT FROM {})", text(left), text(right))
        }
        Expr::IsNotDistinctFrom(left, right) => {
            format!("({} IS NOT DISTINCT FROM {})", text(left), text(right))
        }
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            format!(
                "({} {}BETWEEN {} AND {})",
                text(expr),
                not(negated),
                text(low),
                text(high)
            )
        }
        Expr::InList {
            expr,
            list: values,
            negated,
        } => format!("({} {}IN ({}))", text(expr), not(negated), list(values)),
        Expr::Like {
            negated,
            expr,
            pattern,
            ..
        } => {
            format!(
                "({} {} {})",
                text(expr),
                if *negated { "!~~" } else { "~~" },
                text(pattern)
            )
        }
        Expr::ILike {
            negated,
            expr,
            pattern,
            ..
        } => {
            format!(
                "({} {} {})",
                text(expr),
                if *negated { "!~~*" } else { "~~*" },
                text(pattern)
            )
        }
        Expr::Cast {
            kind,
            expr,
            data_type,
            ..
        } => {
            let cast = if *kind == CastKind::TryCast {
                "TRY_CAST"
            } else {
                "CAST"
            };
            format!(
                "{cast}({} AS {})",
                text(expr),
                type_name(&data_type.to_string())
            )
        }
        Expr::TypedString(typed) => format!(
            "CAST({} AS {})",
            typed.value,
            type_name(&typed.data_type.to_string())
        ),
        Expr::Extract { field, expr, .. } => format!(
            "date_part('{}', {})",
            field.to_string().to_lowercase(),
            text(expr)
        ),
        Expr::Ceil { expr, .. } => format!("ceil({})", text(expr)),
        Expr::Floor { expr, .. } => format!("floor({})", text(expr)),
        Expr::Position { expr, r#in } => format!("\"position\"({}, {})", text(r#in), text(expr)),
        Expr::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            let parts = [Some(expr), substring_from.as_ref(), substring_for.as_ref()];
            let parts: Vec<String> = parts.into_iter().flatten().map(|part| text(part)).collect();
            format!("\"substring\"({})", parts.join(", "))
        }
        Expr::Trim { expr, .. } => format!("\"trim\"({})", text(expr)),
        Expr::Array(array) => format!("list_value({})", list(&array.elem)),
        Expr::Lambda(lambda) => format!("({} -> {})", lambda.params, text(&lambda.body)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let accesses: String = access_chain.iter().map(access_text).collect();
            format!("{}{accesses}", text(root))
        }
        Expr::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            let mut name = "CASE ".to_owned();
            for one in conditions {
                let condition = match operand {
                    Some(operand) => format!("({} = {})", text(operand), text(&one.condition)),
                    None => text(&one.condition),
                };
                name.push_str(&format!(" WHEN ({condition}) THEN ({})", text(&one.result)));
            }
            let otherwise = else_result
                .as_ref()
                .map_or("NULL".to_owned(), |otherwise| text(otherwise));
            format!("{name} ELSE {otherwise} END")
        }
        Expr::Exists { subquery, negated } => format!("{}EXISTS({subquery})", not(negated)),
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => format!("({} {}IN ({subquery}))", text(expr), not(negated)),
        Expr::Function(function) => function_text(function),
        other => other.to_string(),
    }
}

fn access_text(access: &AccessExpr) -> String {
    match access {
        AccessExpr::Dot(field) => format!(".{}", text(field)),
        AccessExpr::Subscript(Subscript::Index { index }) => format!("[{}]", text(index)),
        AccessExpr::Subscript(slice) => format!("[{slice}]"),
    }
}

/// Canonical name of a type.
fn type_name(name: &str) -> String {
    let name = name.to_uppercase();
    match name.as_str() {
        "TEXT" | "STRING" => "VARCHAR".into(),
        "INT" | "INT4" => "INTEGER".into(),
        "INT8" | "LONG" => "BIGINT".into(),
        "FLOAT8" | "DOUBLE PRECISION" => "DOUBLE".into(),
        "BOOL" => "BOOLEAN".into(),
        "DATETIME" => "TIMESTAMP".into(),
        _ => name,
    }
}

fn order(keys: &[OrderByExpr]) -> String {
    let key = |key: &OrderByExpr| format!("{}{}", text(&key.expr), key.options);
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn argument_text(argument: &FunctionArg) -> String {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => text(expr),
        other => other.to_string(),
    }
}

fn function_text(function: &Function) -> String {
    let mut name = function.name.to_string().to_lowercase();
    if ["coalesce", "ifnull"].contains(&name.as_str()) {
        name = "COALESCE".into();
    } else if [
        "year", "quarter", "month", "week", "day", "hour", "minute", "second", "first", "last",
        "mode", "left", "right", "replace",
    ]
    .contains(&name.as_str())
    {
        name = format!("\"{name}\"");
    }
    let mut called = match &function.args {
        FunctionArguments::None => name,
        FunctionArguments::Subquery(query) => format!("{name}({query})"),
        FunctionArguments::List(arguments) => {
            let star = matches!(
                arguments.args.as_slice(),
                [] | [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
            );
            if name == "count" && star {
                "count_star()".into()
            } else {
                let mut inside = arguments
                    .args
                    .iter()
                    .map(argument_text)
                    .collect::<Vec<_>>()
                    .join(", ");
                if let Some(distinct) = &arguments.duplicate_treatment {
                    inside = format!("{distinct} {inside}");
                }
                for clause in &arguments.clauses {
                    match clause {
                        FunctionArgumentClause::OrderBy(keys) => {
                            inside.push_str(&format!(" ORDER BY {}", order(keys)))
                        }
                        other => inside.push_str(&format!(" {other}")),
                    }
                }
                format!("{name}({inside})")
            }
        }
    };
    if !function.within_group.is_empty() {
        called.push_str(&format!(
            " WITHIN GROUP (ORDER BY {})",
            order(&function.within_group)
        ));
    }
    if let Some(filter) = &function.filter {
        called.push_str(&format!(" FILTER (WHERE {})", text(filter)));
    }
    match &function.over {
        Some(WindowType::WindowSpec(spec)) => {
            let mut parts = Vec::new();
            parts.extend(spec.window_name.as_ref().map(ident));
            let (excluded, keys): (Vec<Expr>, Vec<Expr>) = spec
                .partition_by
                .iter()
                .cloned()
                .partition(|key| exclusion_text(key).is_some());
            if !keys.is_empty() {
                parts.push(format!("PARTITION BY {}", list(&keys)));
            }
            if !spec.order_by.is_empty() {
                parts.push(format!("ORDER BY {}", order(&spec.order_by)));
            }
            if let Some(frame) = &spec.window_frame {
                parts.push(match &frame.end_bound {
                    Some(end) => format!("{} BETWEEN {} AND {end}", frame.units, frame.start_bound),
                    None => format!("{} {}", frame.units, frame.start_bound),
                });
            }
            parts.extend(excluded.first().and_then(exclusion_text).map(str::to_owned));
            called.push_str(&format!(" OVER ({})", parts.join(" ")));
        }
        Some(WindowType::NamedWindow(name)) => called.push_str(&format!(" OVER {}", ident(name))),
        None => {}
    }
    called
}

/// EXCLUDE of a frame, of its mark in PARTITION BY.
fn exclusion_text(key: &Expr) -> Option<&'static str> {
    let Expr::Function(function) = key else {
        return None;
    };
    match name_of(function).as_str() {
        EXCLUDE_ROW => Some("EXCLUDE CURRENT ROW"),
        EXCLUDE_GROUP => Some("EXCLUDE GROUP"),
        EXCLUDE_TIES => Some("EXCLUDE TIES"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::source_span::StatementSource;
    use super::super::statement_parser;
    use super::*;

    #[test]
    fn computed_columns_have_the_names_that_duckdb_gives_them() {
        for (sql, wanted) in [
            ("count(*)", "count_star()"),
            ("ST_Area(g)", "st_area(g)"),
            ("n + 1*2", "(n + (1 * 2))"),
            ("n::TEXT", "CAST(n AS VARCHAR)"),
            ("avg(\"stac:x\")", "avg(\"stac:x\")"),
            (
                "CASE WHEN n>1 THEN 'x' ELSE id END",
                "CASE  WHEN ((n > 1)) THEN ('x') ELSE id END",
            ),
            (
                "CASE n WHEN 1 THEN 2 END",
                "CASE  WHEN ((n = 1)) THEN (2) ELSE NULL END",
            ),
            ("n>1 AND n<3 AND n<>2", "((n > 1) AND (n < 3) AND (n != 2))"),
            ("id LIKE 'a%'", "(id ~~ 'a%')"),
            ("-n", "-(n)"),
            ("data.n", "n"),
            ("l[1:2]", "l[1:2]"),
            (
                "count(*) FILTER (WHERE n>1)",
                "count_star() FILTER (WHERE (n > 1))",
            ),
            (
                "string_agg(id, ',' ORDER BY n)",
                "string_agg(id, ',' ORDER BY n)",
            ),
            (
                "sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
                "sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            ),
            ("year(t)", "\"year\"(t)"),
            ("n**2", "(n ** 2)"),
        ] {
            let source = StatementSource::alone(sql);
            let tokens = statement_parser::tokens(&source).expect("tokens");
            assert_eq!(
                result_column_name(
                    &statement_parser::condition(&source, &tokens, &|_| false)
                        .expect("an expression")
                ),
                wanted
            );
        }
    }
}
