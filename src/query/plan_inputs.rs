//! The walk over a plan of the engine.

use std::sync::Arc;

use polars::prelude::DslPlan;

/// The plan with each of its inputs replaced by what `rewrite` returns for it; plans without inputs
/// are returned unchanged.
///
/// # Errors
/// The first of `rewrite`.
pub(super) fn map_inputs<E>(
    plan: DslPlan,
    mut rewrite: impl FnMut(DslPlan) -> Result<DslPlan, E>,
) -> Result<DslPlan, E> {
    let mut below = |input: Arc<DslPlan>| rewrite(Arc::unwrap_or_clone(input)).map(Arc::new);
    Ok(match plan {
        DslPlan::Select {
            expr,
            input,
            options,
        } => DslPlan::Select {
            expr,
            input: below(input)?,
            options,
        },
        DslPlan::HStack {
            exprs,
            input,
            options,
        } => DslPlan::HStack {
            exprs,
            input: below(input)?,
            options,
        },
        DslPlan::Filter { predicate, input } => DslPlan::Filter {
            predicate,
            input: below(input)?,
        },
        DslPlan::Sort {
            by_column,
            slice,
            sort_options,
            input,
        } => DslPlan::Sort {
            by_column,
            slice,
            sort_options,
            input: below(input)?,
        },
        DslPlan::GroupBy {
            input,
            keys,
            predicates,
            aggs,
            maintain_order,
            options,
            apply,
        } => DslPlan::GroupBy {
            input: below(input)?,
            keys,
            predicates,
            aggs,
            maintain_order,
            options,
            apply,
        },
        DslPlan::Join {
            input_left,
            input_right,
            left_on,
            right_on,
            predicates,
            options,
        } => {
            let (input_left, input_right) = (below(input_left)?, below(input_right)?);
            DslPlan::Join {
                input_left,
                input_right,
                left_on,
                right_on,
                predicates,
                options,
            }
        }
        DslPlan::Slice { offset, len, input } => DslPlan::Slice {
            offset,
            len,
            input: below(input)?,
        },
        DslPlan::Distinct { input, options } => DslPlan::Distinct {
            input: below(input)?,
            options,
        },
        DslPlan::MapFunction { input, function } => DslPlan::MapFunction {
            input: below(input)?,
            function,
        },
        DslPlan::Cache { input, id } => DslPlan::Cache {
            input: below(input)?,
            id,
        },
        DslPlan::Union { inputs, args } => DslPlan::Union {
            inputs: inputs
                .into_iter()
                .map(&mut rewrite)
                .collect::<Result<_, E>>()?,
            args,
        },
        DslPlan::HConcat { inputs, options } => DslPlan::HConcat {
            inputs: inputs
                .into_iter()
                .map(&mut rewrite)
                .collect::<Result<_, E>>()?,
            options,
        },
        // `collect_schema` wraps the plan in `IR`.
        DslPlan::IR { dsl, .. } => rewrite(Arc::unwrap_or_clone(dsl))?,
        other => other,
    })
}
