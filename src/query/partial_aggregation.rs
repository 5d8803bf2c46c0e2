//! Two-phase GROUP BY over a level: partial aggregates per row group, then one merge. The level is
//! never in memory as a whole, and hash tables fit in the processor's cache. Plans of other shapes,
//! and keys of high cardinality, are returned unchanged.

use std::sync::Arc;

use polars::prelude::*;
use rayon::prelude::*;

use super::hash_aggregate::{GroupBy, MANY, Measure};
use super::plan_inputs::map_inputs;
use super::scan::{LevelScan, leaves};

/// Minimum number of row groups for which this pays.
const LEAST_GROUPS: usize = 4;

/// The plan with supported GROUP BYs replaced by their computed result. Call just before
/// collecting: this reads rows.
pub(super) fn replace_group_bys(frame: LazyFrame) -> PolarsResult<LazyFrame> {
    rewrite_plan(frame.logical_plan).map(LazyFrame::from)
}

fn rewrite_plan(plan: DslPlan) -> PolarsResult<DslPlan> {
    Ok(match plan {
        DslPlan::Select { .. }
        | DslPlan::HStack { .. }
        | DslPlan::Filter { .. }
        | DslPlan::Sort { .. }
        | DslPlan::Slice { .. }
        | DslPlan::IR { .. } => map_inputs(plan, rewrite_plan)?,
        DslPlan::GroupBy {
            ref input,
            ref keys,
            ref predicates,
            ref aggs,
            maintain_order: false,
            apply: None,
            ..
        } if predicates.is_empty() => match plan_partial_groups(input, keys, aggs)? {
            Some(done) => done.logical_plan,
            None => plan,
        },
        other => other,
    })
}

/// Partial aggregates per row group.
#[derive(Default)]
struct PartialAggregates {
    /// One expression over rows per partial aggregate.
    first: Vec<Expr>,
    /// The same as measures of a [`GroupBy`], where supported.
    measures: Vec<Option<Measure>>,
}

fn plan_partial_groups(
    input: &DslPlan,
    keys: &[Expr],
    aggs: &[Expr],
) -> PolarsResult<Option<LazyFrame>> {
    let Some(scan) = source(input).filter(|scan| scan.group_count() >= LEAST_GROUPS) else {
        return Ok(None);
    };
    if !keys.iter().all(is_by_row) || keys.is_empty() {
        return Ok(None);
    }
    let schema = LazyFrame::from(input.clone()).collect_schema()?;
    let mut parts = PartialAggregates::default();
    let mut last = Vec::with_capacity(aggs.len());
    for agg in aggs {
        let field = agg.to_field(&schema)?;
        let Some(merged) = parts.build_final_aggregate(agg, &schema) else {
            return Ok(None);
        };
        last.push(
            merged
                .cast(field.dtype().clone())
                .alias(field.name().clone()),
        );
    }
    let names = keys
        .iter()
        .map(|key| key.to_field(&schema).map(|field| field.name().clone()))
        .collect::<PolarsResult<Vec<_>>>()?;
    let PartialAggregates { first, measures } = parts;
    // A key without columns is a constant; [`GroupBy`] needs one value per row.
    let plain = keys.iter().all(|key| !leaves(key).is_empty());
    let measures = measures
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .filter(|_| plain);
    let tally = measures.map(|measures| GroupBy::new(keys, measures));
    let of_group =
        |group: usize| aggregate_row_group(scan, group, input, keys, &first, tally.as_ref());
    let trial = scan.group_count() / 2;
    let tried = of_group(trial)?;
    if tried.height() > scan.group_rows(trial) / MANY + 1 {
        return Ok(None);
    }
    let groups = (0..scan.group_count()).into_par_iter();
    let answers = groups.map(|group| {
        if group == trial {
            Ok(tried.clone())
        } else {
            of_group(group)
        }
    });
    let mut answers = answers.collect::<PolarsResult<Vec<_>>>()?.into_iter();
    let Some(mut all) = answers.next() else {
        return Ok(None);
    };
    for answer in answers {
        all.vstack_mut_owned(answer)?;
    }
    let keys: Vec<Expr> = names.into_iter().map(col).collect();
    Ok(Some(all.lazy().group_by(keys).agg(last)))
}

/// The groups of one row group: by hash aggregation where that is possible.
fn aggregate_row_group(
    scan: &LevelScan,
    group: usize,
    input: &DslPlan,
    keys: &[Expr],
    first: &[Expr],
    tally: Option<&GroupBy>,
) -> PolarsResult<DataFrame> {
    let rows = LazyFrame::from(replace_scan(input, &scan.one_group(group))?);
    if let Some(tally) = tally {
        let numbered = keys.iter().map(|key| match stored_column(input, key) {
            Some(name) => scan.read_dictionary_column(group, &name),
            None => Ok(None),
        });
        let numbered = numbered.collect::<PolarsResult<Vec<_>>>()?;
        if let Some(answer) =
            tally.aggregate_rows(rows.clone(), numbered, scan.group_rows(group), part_name)?
        {
            return Ok(answer);
        }
    }
    rows.group_by(keys).agg(first).collect()
}

/// The scan of a plan that consists of one scan and row-wise operations only.
pub(super) fn source(plan: &DslPlan) -> Option<&LevelScan> {
    match plan {
        DslPlan::Scan {
            scan_type,
            unified_scan_args,
            ..
        } => match scan_type.as_ref() {
            FileScanDsl::Anonymous { function, .. } if unified_scan_args.pre_slice.is_none() => {
                function.as_any().downcast_ref::<LevelScan>()
            }
            _ => None,
        },
        DslPlan::Select {
            expr: exprs, input, ..
        }
        | DslPlan::HStack { exprs, input, .. } => {
            source(input).filter(|_| exprs.iter().all(is_by_row))
        }
        DslPlan::Filter { predicate, input } => source(input).filter(|_| is_by_row(predicate)),
        DslPlan::IR { dsl, .. } => source(dsl),
        _ => None,
    }
}

/// The stored column that `key` is an unmodified copy of; `None` for computed keys and filtered
/// rows.
fn stored_column(plan: &DslPlan, key: &Expr) -> Option<PlSmallStr> {
    let name = match key {
        Expr::Column(name) => name,
        Expr::Alias(inner, _) => return stored_column(plan, inner),
        _ => return None,
    };
    match plan {
        DslPlan::Scan { .. } => Some(name.clone()),
        DslPlan::Select { expr, input, .. } => {
            stored_column(input, &find_expression_named(expr, name)?)
        }
        DslPlan::HStack { exprs, input, .. }
            if exprs
                .iter()
                .all(|expr| matches!(expr, Expr::Alias(_, other) if other != name)) =>
        {
            stored_column(input, key)
        }
        DslPlan::IR { dsl, .. } => stored_column(dsl, key),
        _ => None,
    }
}

fn find_expression_named(exprs: &[Expr], name: &PlSmallStr) -> Option<Expr> {
    exprs
        .iter()
        .find(|expr| match expr {
            Expr::Column(column) => column == name,
            Expr::Alias(_, alias) => alias == name,
            _ => false,
        })
        .cloned()
}

/// The same plan over another scan.
pub(super) fn replace_scan(plan: &DslPlan, scan: &LevelScan) -> PolarsResult<DslPlan> {
    Ok(match plan {
        DslPlan::Select {
            expr,
            input,
            options,
        } => DslPlan::Select {
            expr: expr.clone(),
            input: Arc::new(replace_scan(input, scan)?),
            options: *options,
        },
        DslPlan::HStack {
            exprs,
            input,
            options,
        } => DslPlan::HStack {
            exprs: exprs.clone(),
            input: Arc::new(replace_scan(input, scan)?),
            options: *options,
        },
        DslPlan::Filter { predicate, input } => DslPlan::Filter {
            predicate: predicate.clone(),
            input: Arc::new(replace_scan(input, scan)?),
        },
        DslPlan::IR { dsl, .. } => replace_scan(dsl, scan)?,
        _ => scan.clone().frame()?.logical_plan,
    })
}

/// True for elementwise expressions: each result depends on one row only.
pub(super) fn is_by_row(expression: &Expr) -> bool {
    expression.into_iter().all(|part| match part {
        Expr::Column(_) | Expr::Literal(_) | Expr::BinaryExpr { .. } | Expr::Cast { .. } => true,
        Expr::Alias(..) | Expr::Ternary { .. } => true,
        Expr::AnonymousFunction { options, .. } => options.is_elementwise(),
        Expr::Function { function, .. } => match function {
            FunctionExpr::TemporalExpr(_) | FunctionExpr::Negate | FunctionExpr::Abs => true,
            FunctionExpr::StringExpr(function) => {
                !matches!(function, StringFunction::ConcatVertical { .. })
            }
            FunctionExpr::Boolean(function) => {
                use BooleanFunction::{IsNan, IsNotNull, IsNull, Not};
                matches!(function, IsNull | IsNotNull | IsNan | Not)
            }
            _ => false,
        },
        _ => false,
    })
}

/// Column name of partial aggregate `at`.
fn part_name(at: usize) -> PlSmallStr {
    format!("__part{at}").into()
}

impl PartialAggregates {
    /// Adds a partial aggregate; returns its column.
    fn add(&mut self, expression: Expr, measure: Option<Measure>, schema: &Schema) -> Expr {
        let name = part_name(self.first.len());
        self.first.push(expression.alias(name.clone()));
        self.measures
            .push(measure.filter(|measure| measure.fits(schema)));
        col(name)
    }

    /// The final aggregate over partial aggregates that equals `expression` over rows; `None` if
    /// not supported.
    fn build_final_aggregate(&mut self, expression: &Expr, schema: &Schema) -> Option<Expr> {
        let by_row = |inner: &Arc<Expr>| is_by_row(inner).then(|| inner.as_ref().clone());
        Some(match expression {
            Expr::Alias(inner, name) => self
                .build_final_aggregate(inner, schema)?
                .alias(name.clone()),
            Expr::Cast {
                expr,
                dtype,
                options,
            } => Expr::Cast {
                expr: Arc::new(self.build_final_aggregate(expr, schema)?),
                dtype: dtype.clone(),
                options: *options,
            },
            Expr::BinaryExpr { left, op, right } => Expr::BinaryExpr {
                left: Arc::new(self.build_final_aggregate(left, schema)?),
                op: *op,
                right: Arc::new(self.build_final_aggregate(right, schema)?),
            },
            Expr::Literal(_) => expression.clone(),
            // Elementwise functions of aggregates, such as overflow checks.
            Expr::AnonymousFunction { options, .. } if options.is_elementwise() => {
                let mut checked = expression.clone();
                if let Expr::AnonymousFunction { input, .. } = &mut checked {
                    for part in input {
                        *part = self.build_final_aggregate(part, schema)?;
                    }
                }
                checked
            }
            Expr::Ternary {
                predicate,
                truthy,
                falsy,
            } => Expr::Ternary {
                predicate: Arc::new(self.build_final_aggregate(predicate, schema)?),
                truthy: Arc::new(self.build_final_aggregate(truthy, schema)?),
                falsy: Arc::new(self.build_final_aggregate(falsy, schema)?),
            },
            Expr::Len => self
                .add(len().cast(DataType::UInt64), Some(Measure::Rows), schema)
                .sum(),
            Expr::Agg(AggExpr::Count {
                input,
                include_nulls,
            }) => {
                let input = by_row(input)?;
                let measure = if *include_nulls {
                    Measure::Rows
                } else {
                    Measure::Known(input)
                };
                self.add(
                    expression.clone().cast(DataType::UInt64),
                    Some(measure),
                    schema,
                )
                .sum()
            }
            Expr::Agg(AggExpr::Min {
                input,
                propagate_nans,
            }) => {
                let measure = Some(Measure::Least(by_row(input)?)).filter(|_| !propagate_nans);
                self.add(expression.clone(), measure, schema).min()
            }
            Expr::Agg(AggExpr::Max {
                input,
                propagate_nans,
            }) => {
                let measure = Some(Measure::Most(by_row(input)?)).filter(|_| !propagate_nans);
                self.add(expression.clone(), measure, schema).max()
            }
            Expr::Agg(AggExpr::Sum(input)) if has_number_type(input, schema) => {
                let measure = Measure::Sum(by_row(input)?);
                self.add(expression.clone(), Some(measure), schema).sum()
            }
            Expr::Agg(AggExpr::Mean(input)) if has_number_type(input, schema) => {
                let input = by_row(input)?;
                let number = input.clone().cast(DataType::Float64);
                let sum = self
                    .add(number.clone().sum(), Some(Measure::Sum(number)), schema)
                    .sum();
                let count = input.clone().count().cast(DataType::UInt64);
                let known = self.add(count, Some(Measure::Known(input)), schema).sum();
                when(known.clone().gt(lit(0u64)))
                    .then(sum / known.cast(DataType::Float64))
                    .otherwise(lit(NULL))
            }
            _ => return None,
        })
    }
}

fn has_number_type(expression: &Expr, schema: &Schema) -> bool {
    expression
        .to_field(schema)
        .is_ok_and(|field| field.dtype().is_primitive_numeric())
}
