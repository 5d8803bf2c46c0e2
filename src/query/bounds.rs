//! Limits on joins: a cancelled join does not start, and one whose result would exceed the memory
//! limit is refused before it starts. The engine checks neither.

use std::sync::{Arc, Mutex, PoisonError};

use polars::prelude::*;

use super::operation_names::{JOINS_MAX, list_bound_names};
use super::plan_inputs::map_inputs;
use super::scan::fault;
use crate::error::Error;
use crate::jobs::JobContext;

/// Maximum cells (rows × columns of both sides) of a join's result: 1 to 2 s of work, 1 GiB of
/// numbers.
const CELLS_MAX: u64 = 1 << 27;
/// A join may always return this many rows per row of its larger side.
const GROWTH_FREE: u64 = 2;
/// Joins with fewer pairs of rows are not counted.
const PAIRS_FREE: u64 = 1 << 24;
/// Column with the number of rows per key.
const COUNT: &str = "__rows";

/// The plan with a check before every join. Call just before collecting.
pub(super) fn add_join_checks(frame: LazyFrame, ctx: &JobContext) -> PolarsResult<LazyFrame> {
    let mut names = list_bound_names();
    let guarded = plan(frame.logical_plan, &mut names, ctx);
    guarded.map(LazyFrame::from).ok_or_else(|| {
        fault(&Error::too_large(format!(
            "the query has more than {JOINS_MAX} joins"
        )))
    })
}

type Names<'a> = dyn Iterator<Item = &'static str> + 'a;

/// `None` when there are more than `JOINS_MAX` joins.
fn plan(from: DslPlan, names: &mut Names, ctx: &JobContext) -> Option<DslPlan> {
    let mut below =
        |input: Arc<DslPlan>| plan(Arc::unwrap_or_clone(input), names, ctx).map(Arc::new);
    Some(match from {
        DslPlan::Join {
            input_left,
            input_right,
            left_on,
            right_on,
            predicates,
            options,
        } => {
            let join = Arc::new(Join {
                left: Mutex::default(),
                right: Mutex::default(),
                ctx: ctx.clone(),
            });
            // Semi and anti joins do not add rows.
            let grows = !matches!(options.args.how, JoinType::Semi | JoinType::Anti);
            let ours = left_on.iter().chain(&right_on).any(is_ours);
            let counted = grows && !ours;
            let (input_left, input_right) = (below(input_left)?, below(input_right)?);
            let input_left =
                Arc::new(join.watch(input_left, names.next()?, &left_on, counted, true));
            let input_right =
                Arc::new(join.watch(input_right, names.next()?, &right_on, counted, false));
            DslPlan::Join {
                input_left,
                input_right,
                left_on,
                right_on,
                predicates,
                options,
            }
        }
        other => map_inputs(other, |input| plan(input, names, ctx).ok_or(())).ok()?,
    })
}

/// True for the keys by which levels are joined; they are unique on one side.
fn is_ours(key: &Expr) -> bool {
    key.into_iter().any(|part| {
        matches!(part, Expr::Column(name) if name.starts_with("__key")
        || name.starts_with("__parent"))
    })
}

/// Input of a join when it starts.
struct JoinInput {
    rows: u64,
    columns: u64,
    frame: DataFrame,
    keys: Vec<Expr>,
}

struct Join {
    left: Mutex<Option<JoinInput>>,
    right: Mutex<Option<JoinInput>>,
    ctx: JobContext,
}

impl Join {
    /// Adds a check of the input's rows before the join.
    fn watch(
        self: &Arc<Self>,
        input: Arc<DslPlan>,
        name: &'static str,
        keys: &[Expr],
        counted: bool,
        is_left: bool,
    ) -> DslPlan {
        let join = self.clone();
        let counted_keys = counted.then(|| keys.to_vec());
        let optimizations =
            AllowedOptimizations::PROJECTION_PUSHDOWN | AllowedOptimizations::PREDICATE_PUSHDOWN;
        LazyFrame::from(Arc::unwrap_or_clone(input))
            .map(
                move |frame| join.check_input(frame, counted_keys.as_deref(), is_left),
                optimizations,
                None,
                Some(name),
            )
            .logical_plan
    }

    /// Passes on the rows of an input; with `counted_keys`, when the result is not too large.
    fn check_input(
        &self,
        frame: DataFrame,
        counted_keys: Option<&[Expr]>,
        is_left: bool,
    ) -> PolarsResult<DataFrame> {
        self.ctx.check().map_err(|error| fault(&error))?;
        if let Some(keys) = counted_keys {
            self.record_input(&frame, keys, is_left)?;
        }
        Ok(frame)
    }

    /// Records one input; with the second, checks the size of the result.
    fn record_input(&self, frame: &DataFrame, keys: &[Expr], is_left: bool) -> PolarsResult<()> {
        let side = JoinInput {
            rows: frame.height() as u64,
            columns: frame.width() as u64,
            frame: frame.clone(),
            keys: keys.to_vec(),
        };
        let (own, other) = if is_left {
            (&self.left, &self.right)
        } else {
            (&self.right, &self.left)
        };
        *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(side);
        if other
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
        {
            return Ok(());
        }
        let take = |side: &Mutex<Option<JoinInput>>| {
            side.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        // Both may arrive concurrently; one of them performs the check.
        match (take(&self.left), take(&self.right)) {
            (Some(left), Some(right)) => check_join_size(&left, &right),
            _ => Ok(()),
        }
    }
}

/// Fails when the result exceeds the limit.
fn check_join_size(left: &JoinInput, right: &JoinInput) -> PolarsResult<()> {
    let columns = left.columns + right.columns;
    let pairs = left.rows.saturating_mul(right.rows);
    if pairs <= PAIRS_FREE {
        return Ok(());
    }
    let rows = if left.keys.is_empty() {
        pairs
    } else {
        matches(left, right)?
    };
    let free = left.rows.max(right.rows).saturating_mul(GROWTH_FREE);
    if rows <= free || rows.saturating_mul(columns.max(1)) <= CELLS_MAX {
        return Ok(());
    }
    let summary = format!(
        "the query joins {} rows with {} and gets {rows}, more than the memory holds",
        left.rows, right.rows
    );
    Err(fault(&Error::too_large(summary).hint(
        "join on columns that are equal in few rows, or group the rows before",
    )))
}

/// The frame with a check before the list column `column` is exploded: one list for all rows, which
/// takes no memory before, may become more rows than the memory holds. Without `keeps_empty`, rows
/// with an empty list or none are left out.
pub(super) fn exploding(frame: LazyFrame, column: &str, keeps_empty: bool) -> LazyFrame {
    let name = PlSmallStr::from(column);
    frame.map(
        move |frame| check_exploded_size(frame, &name, keeps_empty),
        AllowedOptimizations::PROJECTION_PUSHDOWN | AllowedOptimizations::PREDICATE_PUSHDOWN,
        None,
        Some("EXPLODING"),
    )
}

/// The rows to explode by the list column `column`.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] for one list for all rows that become too many.
fn check_exploded_size(
    frame: DataFrame,
    column: &str,
    keeps_empty: bool,
) -> PolarsResult<DataFrame> {
    let column = frame.column(column)?;
    let Some(list) = column.as_scalar_column() else {
        if keeps_empty {
            return Ok(frame);
        }
        let lengths = column.list()?.lst_lengths();
        return frame.filter(
            &lengths
                .iter()
                .map(|length| length.is_some_and(|length| length > 0))
                .collect::<BooleanChunked>(),
        );
    };
    let values = match list.scalar().value() {
        AnyValue::List(values) => values.len() as u64,
        _ => 0,
    };
    if values == 0 && !keeps_empty {
        return Ok(frame.clear());
    }
    let rows = values.saturating_mul(frame.height() as u64);
    if rows <= (frame.height() as u64).saturating_mul(GROWTH_FREE)
        || rows.saturating_mul(frame.width() as u64) <= CELLS_MAX
    {
        return Ok(frame);
    }
    let summary = format!(
        "each of {} rows becomes {values}, more than the memory holds",
        frame.height()
    );
    Err(fault(
        &Error::too_large(summary).hint("take a shorter list, or fewer rows before"),
    ))
}

fn counted_key_name(at: usize) -> String {
    format!("__key{at}")
}

/// The keys of an input with the number of its rows for each, in a column whose name ends in
/// `suffix`.
fn count_rows_per_key(side: &JoinInput, suffix: &str) -> LazyFrame {
    let keys = side
        .keys
        .iter()
        .enumerate()
        .map(|(at, key)| key.clone().alias(counted_key_name(at)));
    let names: Vec<Expr> = (0..side.keys.len())
        .map(|at| col(counted_key_name(at)))
        .collect();
    side.frame
        .clone()
        .lazy()
        .select(keys.collect::<Vec<_>>())
        .group_by(names)
        .agg([len()
            .cast(DataType::UInt64)
            .alias(format!("{COUNT}{suffix}"))])
}

/// Number of row pairs with equal keys.
fn matches(left: &JoinInput, right: &JoinInput) -> PolarsResult<u64> {
    let keys: Vec<Expr> = (0..left.keys.len())
        .map(|at| col(counted_key_name(at)))
        .collect();
    let (left, right) = (
        count_rows_per_key(left, "l"),
        count_rows_per_key(right, "r"),
    );
    let both = left.join(right, keys.clone(), keys, JoinArgs::new(JoinType::Inner));
    let product = col(format!("{COUNT}l")).cast(DataType::Float64)
        * col(format!("{COUNT}r")).cast(DataType::Float64);
    let total = both.select([product.sum().alias(COUNT)]).collect()?;
    let total = total.column(COUNT)?.f64()?.get(0).unwrap_or_default();
    Ok(total as u64)
}
