//! Functions of constants as their values. The engine computes an expression that a query repeats
//! once, in a column of its own; where all that the expression reads is constant, this column has
//! one row, also beside a filter that leaves more or fewer.

use polars::prelude::*;

/// The expression with the functions of constants in it as their values. One that fails stays as it
/// is, and fails when the query is run.
pub(super) fn fold_constants(expression: Expr) -> Expr {
    expression.map_expr(replace_by_value)
}

fn replace_by_value(part: Expr) -> Expr {
    match is_of_constants(&part).then(|| value_of(part.clone())) {
        Some(Ok(Some(value))) => value,
        _ => part,
    }
}

/// True for a constant of one row.
fn is_single_constant(input: &Expr) -> bool {
    matches!(
        input,
        Expr::Literal(LiteralValue::Dyn(_) | LiteralValue::Scalar(_))
    )
}

/// True for functions of constants alone, whose values depend on nothing else.
fn is_of_constants(part: &Expr) -> bool {
    match part {
        Expr::AnonymousFunction { input, options, .. } => {
            options.is_elementwise() && !input.is_empty() && input.iter().all(is_single_constant)
        }
        Expr::Function { input, function } => {
            let has_one_row = !matches!(
                function,
                FunctionExpr::Range(_) | FunctionExpr::Random { .. }
            );
            has_one_row && !input.is_empty() && input.iter().all(is_single_constant)
        }
        _ => false,
    }
}

/// The value of an expression without columns; `None` for one with several rows.
///
/// # Errors
/// Those of the expression.
pub(super) fn value_of(part: Expr) -> PolarsResult<Option<Expr>> {
    let one = DataFrame::empty_with_height(1)
        .lazy()
        .select([part])
        .collect()?;
    let [column] = one.columns() else {
        return Ok(None);
    };
    if column.len() != 1 {
        return Ok(None);
    }
    Ok(Some(lit(Scalar::new(
        column.dtype().clone(),
        column.get(0)?.into_static(),
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_constants_are_their_values() {
        let of_constant = || lit("a-b").str().to_uppercase();
        assert_eq!(
            fold_constants(of_constant()),
            lit(Scalar::from(PlSmallStr::from("A-B")))
        );
        assert_eq!(
            fold_constants(concat_str([of_constant(), col("id")], "", false))
                .into_iter()
                .filter(|part| is_of_constants(part))
                .count(),
            0
        );
        let of_column = || col("id").str().to_uppercase();
        assert_eq!(fold_constants(of_column()), of_column());
        let fails = || {
            lit("x").str().to_date(StrptimeOptions {
                strict: true,
                ..Default::default()
            })
        };
        assert_eq!(fold_constants(fails()), fails());
        let three_rows = || int_range(lit(0), lit(3), 1, DataType::Int64);
        assert_eq!(fold_constants(three_rows()), three_rows());
    }
}
