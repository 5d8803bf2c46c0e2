//! Window functions with DuckDB's frames and peers, computed here: the engine supports running
//! frames only and ignores peers.

use std::ops::Range;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::{FunctionOptions, SQLContext};
use sqlparser::ast::WindowFrameUnits;

use super::decimal_widths::DIGITS;
use super::duckdb_arithmetic::apply_duckdb_arithmetic;
use super::engine_errors::refusal;
use super::function_registry;
use super::functions::add_interval;
use super::list_functions::DecimalSum;
use super::nested_values::{broadcast_column, sortable};
use super::scan::fault;
use super::time_range::MICROS_OF_DAY;
use super::time_texts::IntervalParts;
use super::whole_numbers::too_large;
use crate::error::Error;

/// Maximum sum of frame sizes that an aggregate visits: some seconds of work.
const FRAME_ROWS_MAX: usize = 1 << 28;
/// Maximum sum of frame sizes copied for an aggregate of the engine: 512 MiB of numbers.
const COPIED_ROWS_MAX: usize = 1 << 26;
/// Column with the number of a frame.
const RANGE: &str = "__range";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FrameBound {
    /// UNBOUNDED: the partition's boundary.
    Unbounded,
    /// Rows (ROWS), units of the order key (RANGE) or rows of one key (GROUPS) after the current
    /// row; negative is PRECEDING, 0 CURRENT ROW. With RANGE and GROUPS, peers are included.
    Offset(f64),
    /// Months, days and a time after the current row (RANGE).
    Interval(IntervalParts),
}

/// Rows that a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FrameExclusion {
    CurrentRow,
    /// The current row and those with its order key.
    Peers,
    /// The other rows with its order key.
    OtherPeers,
}

/// Frame of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    /// What its distances count: rows, units of the order key, or rows with the same order key.
    pub units: WindowFrameUnits,
    pub start: FrameBound,
    pub end: FrameBound,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Engine(EngineAggregate),
}

/// Any other aggregate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineAggregate {
    /// Engine SQL over the columns `a0`, `a1`, ….
    pub sql: String,
    /// What it is of a frame without rows: 0, or null.
    pub is_zero_of_no_rows: bool,
}

/// A call with OVER. Its input columns are the partition keys, the order keys, the arguments, and
/// any column of the frame, which gives the row count.
#[derive(Clone, Debug)]
pub(super) struct WindowDefinition {
    pub function: WindowFunction,
    pub partition: usize,
    /// `(descending, nulls last)` per order key.
    pub order: Vec<(bool, bool)>,
    pub frame: Frame,
    pub exclusion: Option<FrameExclusion>,
    pub ignores_nulls: bool,
}

/// Positions of the rows of a frame, of which others may be left out.
type FrameParts = [Range<usize>; 3];

/// Rows in partition and window order. A position is an index into that order.
struct PartitionedRows {
    /// Row number at each position.
    order: Vec<IdxSize>,
    /// Start and end position of the partition, per position.
    parts: Vec<(u32, u32)>,
    /// Start and end position of the peers, per position.
    peers: Vec<(u32, u32)>,
    /// Numeric order key, ascending within each partition; NaN for null.
    keys: Vec<f64>,
    /// What a distance of 1 between keys is: of dates, whose keys are microseconds, a day.
    key_unit: f64,
    /// First position of each group of peers.
    group_starts: Vec<u32>,
}

impl WindowDefinition {
    /// The window as a user-defined function of the engine.
    pub fn into_function(self, name: &str) -> UserDefinedFunction {
        let window = self.clone();
        let values = move |columns: &mut [Column]| window.column(columns);
        let field = move |_: &Schema, fields: &[Field]| self.build_field(fields);
        let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
        function.options = FunctionOptions::groupwise();
        function
    }

    fn build_field(&self, fields: &[Field]) -> PolarsResult<Field> {
        let arguments = fields
            .get(self.partition + self.order.len()..fields.len().saturating_sub(1))
            .unwrap_or_default();
        // The engine stops for a type that is not known, as that of a written number.
        Ok(Field::new(
            "window".into(),
            self.dtype(arguments)?.materialize_unknown(false)?,
        ))
    }

    fn dtype(&self, arguments: &[Field]) -> PolarsResult<DataType> {
        let first = || find_first_type(arguments);
        Ok(match &self.function {
            WindowFunction::PercentRank | WindowFunction::CumeDist | WindowFunction::Avg => {
                DataType::Float64
            }
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::Ntile
            | WindowFunction::Count => DataType::Int64,
            WindowFunction::Sum if is_whole(&first()) => DataType::Int64,
            WindowFunction::Sum if let DataType::Decimal(_, scale) = first() => {
                DataType::Decimal(DIGITS, scale)
            }
            WindowFunction::Sum => DataType::Float64,
            WindowFunction::Engine(aggregate) => {
                let columns = arguments
                    .iter()
                    .enumerate()
                    .map(|(at, field)| Column::new_empty(format!("a{at}").into(), field.dtype()));
                let frame = DataFrame::new(0, columns.collect())?;
                let mut frame = apply_duckdb_arithmetic(aggregate_ranges(frame, &aggregate.sql)?)?;
                let schema = frame.collect_schema()?;
                schema.try_get("value")?.clone()
            }
            _ => first(),
        })
    }

    fn column(&self, columns: &[Column]) -> PolarsResult<Column> {
        let Some((any, columns)) = columns.split_last() else {
            return Err(refusal("a window has rows"));
        };
        let count = any.len();
        let all: Vec<Column> = columns
            .iter()
            .map(|column| broadcast_column(column, count))
            .collect();
        let (keys, arguments) = all.split_at(self.partition + self.order.len());
        let rows = self.rows(keys, count)?;
        let column = match &self.function {
            WindowFunction::Lag
            | WindowFunction::Lead
            | WindowFunction::FirstValue
            | WindowFunction::LastValue
            | WindowFunction::NthValue => self.pick_row_values(&rows, arguments)?,
            WindowFunction::PercentRank | WindowFunction::CumeDist => {
                let value = |at: usize| self.compute_rank_share(&rows, at);
                restore_row_order(&rows, (0..count).map(|at| Some(value(at))))
                    .collect::<Float64Chunked>()
                    .into_column()
            }
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::Ntile => self.ranks(&rows, arguments)?,
            WindowFunction::Engine(aggregate) => self.by_engine(&rows, arguments, aggregate)?,
            _ => self.aggregate_frames(&rows, arguments)?,
        };
        Ok(column.with_name("window".into()))
    }

    /// PERCENT_RANK or CUME_DIST of the row at position `at`.
    fn compute_rank_share(&self, rows: &PartitionedRows, at: usize) -> f64 {
        let ((start, end), (first, last)) = (rows.parts[at], rows.peers[at]);
        match self.function {
            WindowFunction::CumeDist => f64::from(last - start) / f64::from(end - start),
            _ if end - start == 1 => 0.0,
            _ => f64::from(first - start) / f64::from(end - start - 1),
        }
    }

    fn rows(&self, keys: &[Column], count: usize) -> PolarsResult<PartitionedRows> {
        if keys.is_empty() || count == 0 {
            let whole = vec![(0, count as u32); count];
            return Ok(PartitionedRows {
                order: (0..count as IdxSize).collect(),
                parts: whole.clone(),
                peers: whole,
                keys: Vec::new(),
                key_unit: 1.0,
                group_starts: vec![0],
            });
        }
        let names: Vec<PlSmallStr> = (0..keys.len()).map(|at| format!("k{at}").into()).collect();
        let named = |(key, name): (&Column, &PlSmallStr)| {
            sortable(key).map(|key| key.with_name(name.clone()))
        };
        let mut columns = keys
            .iter()
            .zip(&names)
            .map(named)
            .collect::<PolarsResult<Vec<Column>>>()?;
        columns.push(IdxCa::from_vec("row".into(), (0..count as IdxSize).collect()).into_column());
        let options = SortMultipleOptions::default()
            .with_order_descending_multi(
                self.list_key_options(|(descending, _)| *descending, false),
            )
            .with_nulls_last_multi(self.list_key_options(|(_, last)| *last, true))
            .with_maintain_order(true);
        let sorted = DataFrame::new(count, columns)?.sort(names.clone(), options)?;
        let part_begins = find_changes(&sorted, &names[..self.partition])?;
        let mut peer_begins = find_changes(&sorted, &names[self.partition..])?;
        peer_begins
            .iter_mut()
            .zip(&part_begins)
            .for_each(|(peer, part)| *peer |= part);
        let order = sorted.column("row")?.idx()?.iter().flatten().collect();
        let mut key_unit = 1.0;
        let keys = match self.order.as_slice() {
            [(descending, _)]
                if self.frame.units == WindowFrameUnits::Range && self.has_offsets() =>
            {
                let key = sorted.column(&names[self.partition])?;
                let key = match key.dtype() {
                    dtype if dtype.is_temporal() => {
                        if *dtype == DataType::Date && self.has_distances(|one| one.fract() == 0.0)
                        {
                            key_unit = MICROS_OF_DAY as f64;
                        } else if !self.has_distances(|one| one == 0.0) {
                            return Err(refusal(
                                "a distance between times is an interval: RANGE BETWEEN INTERVAL \
                                    7 DAYS PRECEDING AND CURRENT ROW",
                            ));
                        }
                        key.cast(&DataType::Datetime(TimeUnit::Microseconds, None))?
                            .cast(&DataType::Int64)?
                    }
                    _ if self.has_interval() => {
                        return Err(refusal("a frame of intervals is over times in ORDER BY"));
                    }
                    _ => key.clone(),
                };
                let key = key.cast(&DataType::Float64)?;
                let sign = if *descending { -1.0 } else { 1.0 };
                key.f64()?
                    .iter()
                    .map(|key| key.map_or(f64::NAN, |key| sign * key))
                    .collect()
            }
            _ => Vec::new(),
        };
        let starts = (0u32..).zip(&peer_begins).filter(|(_, begins)| **begins);
        let group_starts = starts.map(|(at, _)| at).collect();
        Ok(PartitionedRows {
            order,
            parts: spans(&part_begins),
            peers: spans(&peer_begins),
            keys,
            key_unit,
            group_starts,
        })
    }

    /// An option of each sort key: `otherwise` for keys of the partition.
    fn list_key_options(&self, of: fn(&(bool, bool)) -> bool, otherwise: bool) -> Vec<bool> {
        std::iter::repeat_n(otherwise, self.partition)
            .chain(self.order.iter().map(of))
            .collect()
    }

    fn has_interval(&self) -> bool {
        [self.frame.start, self.frame.end]
            .iter()
            .any(|bound| matches!(bound, FrameBound::Interval(_)))
    }

    /// True when the distances of the frame that are numbers are all such.
    fn has_distances(&self, is_such: fn(f64) -> bool) -> bool {
        [self.frame.start, self.frame.end]
            .iter()
            .all(|bound| match bound {
                FrameBound::Offset(offset) => is_such(*offset),
                FrameBound::Interval(_) | FrameBound::Unbounded => true,
            })
    }

    fn has_offsets(&self) -> bool {
        [self.frame.start, self.frame.end]
            .iter()
            .any(|bound| match bound {
                FrameBound::Offset(offset) => *offset != 0.0,
                FrameBound::Interval(_) => true,
                FrameBound::Unbounded => false,
            })
    }

    /// Start and end position of the frame of the row at position `at`.
    fn frame(&self, rows: &PartitionedRows, at: usize) -> (usize, usize) {
        let from = self.find_bound(rows, at, self.frame.start, true);
        let to = self.find_bound(rows, at, self.frame.end, false);
        (from, to.max(from))
    }

    /// The frame of the row at position `at` without the rows that it leaves out.
    fn frame_parts(&self, rows: &PartitionedRows, at: usize) -> FrameParts {
        let (start, end) = self.frame(rows, at);
        let peers = rows.peers[at].0 as usize..rows.peers[at].1 as usize;
        let within = |part: Range<usize>| part.start.max(start)..part.end.min(end).max(start);
        let parts = match self.exclusion {
            None => [start..end, 0..0, 0..0],
            Some(FrameExclusion::CurrentRow) => [within(0..at), 0..0, within(at + 1..end)],
            Some(FrameExclusion::Peers) => [within(0..peers.start), 0..0, within(peers.end..end)],
            Some(FrameExclusion::OtherPeers) => [
                within(0..peers.start),
                within(at..at + 1),
                within(peers.end..end),
            ],
        };
        parts.map(|part| if part.start < part.end { part } else { 0..0 })
    }

    fn find_bound(
        &self,
        rows: &PartitionedRows,
        at: usize,
        bound: FrameBound,
        is_start: bool,
    ) -> usize {
        let (start, end) = (rows.parts[at].0 as usize, rows.parts[at].1 as usize);
        match bound {
            FrameBound::Unbounded => {
                if is_start {
                    start
                } else {
                    end
                }
            }
            FrameBound::Offset(offset) if self.frame.units == WindowFrameUnits::Range => {
                find_range_place(rows, at, offset, is_start)
            }
            FrameBound::Interval(parts) => {
                let is_descending = self
                    .order
                    .first()
                    .is_some_and(|(descending, _)| *descending);
                find_interval_place(rows, at, parts, is_descending, is_start)
            }
            FrameBound::Offset(offset) if self.frame.units == WindowFrameUnits::Groups => {
                find_group_place(rows, at, offset as i64, is_start)
            }
            FrameBound::Offset(offset) => {
                let place = (at as i64)
                    .saturating_add(offset as i64)
                    .saturating_add(i64::from(!is_start));
                usize::try_from(place).unwrap_or(0).clamp(start, end)
            }
        }
    }

    fn ranks(&self, rows: &PartitionedRows, arguments: &[Column]) -> PolarsResult<Column> {
        let buckets = match (&self.function, arguments.first()) {
            (WindowFunction::Ntile, Some(buckets)) => {
                Some(buckets.cast(&DataType::Int64)?.i64()?.clone())
            }
            (WindowFunction::Ntile, None) => {
                return Err(refusal("ntile takes the number of buckets: ntile(4)"));
            }
            _ => None,
        };
        let mut dense = 0i64;
        let mut ranks = Vec::with_capacity(rows.order.len());
        for (at, row) in rows.order.iter().enumerate() {
            let ((start, end), (first, _)) = (rows.parts[at], rows.peers[at]);
            let (start, end) = (start as usize, end as usize);
            dense = if at == start {
                1
            } else {
                dense + i64::from(first as usize == at)
            };
            ranks.push(Some(match &buckets {
                Some(buckets) => {
                    let Some(buckets) = buckets.get(*row as usize) else {
                        ranks.push(None);
                        continue;
                    };
                    if buckets <= 0 {
                        return Err(refusal("ntile takes a number above 0"));
                    }
                    // The first buckets are one row larger if the rows do not divide evenly.
                    let (count, place, buckets) = (
                        (end - start) as i64,
                        (at - start) as i64,
                        buckets.min((end - start) as i64),
                    );
                    let (size, larger) = (count / buckets, count % buckets);
                    let in_larger = larger * (size + 1);
                    1 + if place < in_larger {
                        place / (size + 1)
                    } else {
                        larger + (place - in_larger) / size
                    }
                }
                None => match self.function {
                    WindowFunction::RowNumber => (at - start) as i64 + 1,
                    WindowFunction::Rank => i64::from(first) - start as i64 + 1,
                    _ => dense,
                },
            }));
        }
        Ok(restore_row_order(rows, ranks.into_iter())
            .collect::<Int64Chunked>()
            .into_column())
    }

    /// `lag`, `lead`, `first_value`, `last_value`, `nth_value`: values of other rows.
    fn pick_row_values(
        &self,
        rows: &PartitionedRows,
        arguments: &[Column],
    ) -> PolarsResult<Column> {
        let Some(values) = arguments.first() else {
            return Err(refusal("a column is missing"));
        };
        let known = values.is_not_null();
        let known: Vec<bool> = known.iter().map(|known| known.unwrap_or(false)).collect();
        let counts = arguments
            .get(1)
            .map(|count| count.cast(&DataType::Int64))
            .transpose()?;
        let counts = counts.as_ref().map(|counts| counts.i64()).transpose()?;
        let counted = |at: usize| rows.order[at] as usize;
        let usable = |at: &usize| !self.ignores_nulls || known[counted(*at)];
        let mut missed = vec![false; rows.order.len()];
        let mut looked = 0usize;
        let mut found: Vec<Option<IdxSize>> = vec![None; rows.order.len()];
        for at in 0..rows.order.len() {
            let count = counts.map_or(Some(1), |counts| counts.get(counted(at)));
            let place = match self.function {
                WindowFunction::Lag | WindowFunction::Lead => {
                    let (start, end) = rows.parts[at];
                    let (start, end) = (start as usize, end as usize);
                    let count = count.map(|count| {
                        if self.function == WindowFunction::Lag {
                            -count
                        } else {
                            count
                        }
                    });
                    let place = count.and_then(|count| match (self.ignores_nulls, count) {
                        (_, 0) => Some(at),
                        (false, _) => usize::try_from(at as i64 + count).ok(),
                        (true, 1..) => (at + 1..end).filter(usable).nth(count as usize - 1),
                        (true, _) => (start..at)
                            .rev()
                            .filter(usable)
                            .nth(count.unsigned_abs() as usize - 1),
                    });
                    let place = place.filter(|place| (start..end).contains(place));
                    missed[counted(at)] = place.is_none();
                    place
                }
                _ => {
                    let frame = self.frame_parts(rows, at);
                    let size: usize = frame.iter().map(Range::len).sum();
                    looked += if self.ignores_nulls { size } else { 1 };
                    let mut places = frame.into_iter().flatten();
                    match self.function {
                        WindowFunction::FirstValue => places.find(usable),
                        WindowFunction::LastValue => places.rfind(usable),
                        _ => count
                            .and_then(|count| usize::try_from(count - 1).ok())
                            .and_then(|count| places.filter(usable).nth(count)),
                    }
                }
            };
            if looked > FRAME_ROWS_MAX {
                return Err(too_many());
            }
            found[counted(at)] = place.map(|place| rows.order[place]);
        }
        let taken = values
            .as_materialized_series()
            .take(&IdxCa::from_iter(found))?;
        match arguments.get(2) {
            Some(otherwise) if missed.iter().any(|missed| *missed) => {
                let found: BooleanChunked = missed.iter().map(|missed| Some(!missed)).collect();
                Ok(taken
                    .zip_with(
                        &found,
                        &otherwise
                            .cast(values.dtype())?
                            .as_materialized_series()
                            .clone(),
                    )?
                    .into_column())
            }
            _ => Ok(taken.into_column()),
        }
    }

    /// `count`, `sum`, `avg`, `min`, `max` over frames.
    fn aggregate_frames(
        &self,
        rows: &PartitionedRows,
        arguments: &[Column],
    ) -> PolarsResult<Column> {
        let values = arguments.first();
        let known: Vec<bool> = match values {
            Some(values) => {
                let known = values.is_not_null();
                let known: Vec<bool> = known.iter().map(|known| known.unwrap_or(false)).collect();
                rows.order.iter().map(|row| known[*row as usize]).collect()
            }
            None => vec![true; rows.order.len()],
        };
        let mut before = vec![0u32; known.len() + 1];
        for (at, known) in known.iter().enumerate() {
            before[at + 1] = before[at] + u32::from(*known);
        }
        let frames: Vec<FrameParts> = (0..rows.order.len())
            .map(|at| self.frame_parts(rows, at))
            .collect();
        let of_part = |part: &Range<usize>| before[part.end] - before[part.start];
        let count = |frame: &FrameParts| frame.iter().map(of_part).sum::<u32>();
        let Some(values) = values.filter(|_| self.function != WindowFunction::Count) else {
            let counts = frames.iter().map(|frame| Some(i64::from(count(frame))));
            return Ok(restore_row_order(rows, counts)
                .collect::<Int64Chunked>()
                .into_column());
        };
        if matches!(self.function, WindowFunction::Min | WindowFunction::Max) {
            // Text, times and lists are compared by their rank.
            let greatest = self.function == WindowFunction::Max;
            let order = sortable(values)?
                .as_materialized_series()
                .arg_sort(SortOptions::default().with_maintain_order(true));
            let mut ranks = vec![0u32; rows.order.len()];
            order
                .iter()
                .flatten()
                .enumerate()
                .for_each(|(rank, row)| ranks[row as usize] = rank as u32);
            let rank = |at: usize| ranks[rows.order[at] as usize];
            let place = |at: usize| known[at].then_some(at);
            let better = |one, other| pick_better_rank(one, other, rank, greatest);
            let best = self.fold_parts(&frames, None, place, better)?;
            let mut found: Vec<Option<IdxSize>> = vec![None; best.len()];
            best.into_iter().enumerate().for_each(|(at, best)| {
                found[rows.order[at] as usize] = best.map(|best| rows.order[best])
            });
            return Ok(values
                .as_materialized_series()
                .take(&IdxCa::from_iter(found))?
                .into_column());
        }
        if is_whole(values.dtype()) {
            let numbers: Vec<i128> = match values.dtype() {
                DataType::UInt64 => values
                    .u64()?
                    .iter()
                    .map(|number| i128::from(number.unwrap_or(0)))
                    .collect(),
                _ => values
                    .cast(&DataType::Int64)?
                    .i64()?
                    .iter()
                    .map(|number| i128::from(number.unwrap_or(0)))
                    .collect(),
            };
            let mut sums = vec![0i128; rows.order.len() + 1];
            for (at, row) in rows.order.iter().enumerate() {
                sums[at + 1] = sums[at] + numbers[*row as usize];
            }
            let of_part = |part: &Range<usize>| sums[part.end] - sums[part.start];
            let sum = |frame: &FrameParts| frame.iter().map(of_part).sum::<i128>();
            if self.function == WindowFunction::Avg {
                let mean = |frame: &FrameParts| {
                    (count(frame) > 0).then(|| sum(frame) as f64 / f64::from(count(frame)))
                };
                return Ok(restore_row_order(rows, frames.iter().map(mean))
                    .collect::<Float64Chunked>()
                    .into_column());
            }
            let whole = |frame: &FrameParts| fit_sum(sum(frame), count(frame));
            let sums = frames.iter().map(whole).collect::<PolarsResult<Vec<_>>>()?;
            return Ok(restore_row_order(rows, sums.into_iter())
                .collect::<Int64Chunked>()
                .into_column());
        }
        if let (WindowFunction::Sum, DataType::Decimal(_, scale)) = (&self.function, values.dtype())
        {
            let counts: Vec<u32> = frames.iter().map(&count).collect();
            return sum_decimals(rows, &frames, &counts, values, *scale);
        }
        let values = values.cast(&DataType::Float64)?;
        let values = values.f64()?;
        let number = |at: usize| values.get(rows.order[at] as usize).unwrap_or(0.0);
        let sums = self.fold_parts(&frames, 0.0, number, |one, other| one + other)?;
        let value = |(frame, sum): (&FrameParts, f64)| self.compute_mean_or_sum(sum, count(frame));
        Ok(restore_row_order(rows, frames.iter().zip(sums).map(value))
            .collect::<Float64Chunked>()
            .into_column())
    }

    /// Joins the values of the rows of each frame, beginning with `start`.
    fn fold_parts<T: Copy>(
        &self,
        frames: &[FrameParts],
        start: T,
        value: impl Fn(usize) -> T,
        join: impl Fn(T, T) -> T,
    ) -> PolarsResult<Vec<T>> {
        if self.exclusion.is_none() {
            let whole: Vec<(usize, usize)> = frames
                .iter()
                .map(|[frame, ..]| (frame.start, frame.end))
                .collect();
            return fold_frames(&whole, start, |joined, at| join(joined, value(at)));
        }
        let tree = RangeTree::build((0..frames.len()).map(value).collect(), start, &join);
        let of_part = |part: &Range<usize>| tree.fold(part, &join);
        let fold = |frame: &FrameParts| frame.iter().map(of_part).fold(start, &join);
        Ok(frames.iter().map(fold).collect())
    }

    /// The aggregate of `count` numbers with this sum; `None` of no numbers.
    fn compute_mean_or_sum(&self, sum: f64, count: u32) -> Option<f64> {
        (count > 0).then(|| {
            if self.function == WindowFunction::Avg {
                sum / f64::from(count)
            } else {
                sum
            }
        })
    }

    /// An aggregate of the engine over each frame; adjacent rows with equal frames share the
    /// result.
    fn by_engine(
        &self,
        rows: &PartitionedRows,
        arguments: &[Column],
        aggregate: &EngineAggregate,
    ) -> PolarsResult<Column> {
        let mut distinct: Vec<FrameParts> = Vec::new();
        let mut of: Vec<usize> = Vec::with_capacity(rows.order.len());
        for at in 0..rows.order.len() {
            let frame = self.frame_parts(rows, at);
            if distinct.last() != Some(&frame) {
                distinct.push(frame);
            }
            of.push(distinct.len() - 1);
        }
        let total = distinct
            .iter()
            .flatten()
            .fold(0usize, |sum, part| sum.saturating_add(part.len()));
        if total > COPIED_ROWS_MAX {
            return Err(too_many());
        }
        let (mut places, mut ranges) = (Vec::with_capacity(total), Vec::with_capacity(total));
        for (range, frame) in distinct.iter().enumerate() {
            for part in frame {
                places.extend_from_slice(&rows.order[part.clone()]);
                ranges.extend(std::iter::repeat_n(range as IdxSize, part.len()));
            }
        }
        let mut columns: Vec<Column> = Vec::with_capacity(arguments.len() + 1);
        for (at, argument) in arguments.iter().enumerate() {
            columns.push(
                argument
                    .take_slice(&places)?
                    .with_name(format!("a{at}").into()),
            );
        }
        columns.push(IdxCa::from_vec(RANGE.into(), ranges).into_column());
        let frame = DataFrame::new(total, columns)?;
        let answers =
            apply_duckdb_arithmetic(aggregate_ranges(frame, &aggregate.sql)?)?.collect()?;
        let mut answer_of: Vec<Option<IdxSize>> = vec![None; distinct.len()];
        for (row, range) in answers.column(RANGE)?.idx()?.iter().enumerate() {
            if let Some(slot) = range.and_then(|range| answer_of.get_mut(range as usize)) {
                *slot = Some(row as IdxSize);
            }
        }
        let mut found: Vec<Option<IdxSize>> = vec![None; of.len()];
        of.iter()
            .enumerate()
            .for_each(|(at, range)| found[rows.order[at] as usize] = answer_of[*range]);
        let values = answers
            .column("value")?
            .as_materialized_series()
            .take(&IdxCa::from_iter(found))?;
        Ok(if aggregate.is_zero_of_no_rows {
            values.fill_null(FillNullStrategy::Zero)?.into_column()
        } else {
            values.into_column()
        })
    }
}

fn is_whole(dtype: &DataType) -> bool {
    dtype.is_integer() || dtype.is_bool()
}

fn too_many() -> PolarsError {
    let error = Error::too_large("the windows of the query have more rows than can be looked at");
    fault(&error.hint("use a smaller frame: ROWS BETWEEN 10 PRECEDING AND CURRENT ROW"))
}

/// The aggregate per range; on a frame without ranges, an empty result of the same type.
fn aggregate_ranges(mut frame: DataFrame, sql: &str) -> PolarsResult<LazyFrame> {
    if frame.column(RANGE).is_err() {
        frame.with_column(IdxCa::from_vec(RANGE.into(), vec![0; frame.height()]).into_column())?;
    }
    let mut context =
        SQLContext::new().with_function_registry(function_registry::registry(Vec::new()));
    context.register("t", frame.lazy());
    context.execute(&format!(
        "SELECT \"{RANGE}\", {sql} AS \"value\" FROM t GROUP BY \"{RANGE}\""
    ))
}

fn find_first_type(arguments: &[Field]) -> DataType {
    arguments
        .first()
        .map_or(DataType::Null, |field| field.dtype().clone())
}

/// The position where RANGE starts or ends, `offset` of the key away from the row at `at`.
fn find_range_place(rows: &PartitionedRows, at: usize, offset: f64, is_start: bool) -> usize {
    let key = rows.keys.get(at).copied().unwrap_or(f64::NAN);
    let wanted = (offset != 0.0 && !key.is_nan()).then_some(key + offset * rows.key_unit);
    find_key_place(rows, at, wanted, is_start)
}

/// The position where RANGE starts or ends, an interval of the calendar away from the row at `at`.
fn find_interval_place(
    rows: &PartitionedRows,
    at: usize,
    parts: IntervalParts,
    is_descending: bool,
    is_start: bool,
) -> usize {
    let key = rows.keys.get(at).copied().filter(|key| !key.is_nan());
    // A key that no time has is beyond all of them.
    let beyond = if parts.is_forward() {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    };
    let wanted = key.map(|key| move_key(key, parts, is_descending).unwrap_or(beyond));
    find_key_place(rows, at, wanted, is_start)
}

/// A key that is a time, moved by an interval; descending keys have the other sign.
fn move_key(key: f64, parts: IntervalParts, is_descending: bool) -> Option<f64> {
    if is_descending {
        Some(-(add_interval(-key as i64, &parts.checked_neg()?)? as f64))
    } else {
        Some(add_interval(key as i64, &parts)? as f64)
    }
}

/// The position of the first key in the partition that is not before the wanted one, or behind it;
/// of none the boundary of the peers of the row at `at`.
fn find_key_place(rows: &PartitionedRows, at: usize, wanted: Option<f64>, is_start: bool) -> usize {
    let Some(wanted) = wanted else {
        let (first, last) = rows.peers[at];
        let place = if is_start { first } else { last };
        return place as usize;
    };
    let (start, end) = (rows.parts[at].0 as usize, rows.parts[at].1 as usize);
    // Null keys are at one end of the partition.
    let part = &rows.keys[start..end];
    let first = start + part.iter().take_while(|key| key.is_nan()).count();
    let last = end - part.iter().rev().take_while(|key| key.is_nan()).count();
    let last = last.max(first);
    let found = rows.keys[first..last].partition_point(|other| {
        if is_start {
            *other < wanted
        } else {
            *other <= wanted
        }
    });
    first + found
}

/// The position where GROUPS starts or ends, `groups` of peers away from the row at `at`.
fn find_group_place(rows: &PartitionedRows, at: usize, groups: i64, is_start: bool) -> usize {
    let (start, end) = (rows.parts[at].0 as usize, rows.parts[at].1 as usize);
    let starts = &rows.group_starts;
    let group_of = |at| starts.partition_point(|start| *start as usize <= at) as i64 - 1;
    let wanted = group_of(at).saturating_add(groups);
    // Beyond the partition a frame is empty on that side.
    if wanted < group_of(start) {
        return start;
    }
    if wanted > group_of(end - 1) {
        return end;
    }
    let place = if is_start { wanted } else { wanted + 1 };
    rows.group_starts
        .get(place as usize)
        .map_or(end, |start| *start as usize)
}

/// Marks the rows whose values in these columns differ from those of the row before.
fn find_changes(sorted: &DataFrame, names: &[PlSmallStr]) -> PolarsResult<Vec<bool>> {
    let mut begins = vec![false; sorted.height()];
    for name in names {
        let values = sorted.column(name)?.as_materialized_series();
        let changed = values.not_equal_missing(&values.shift(1))?;
        begins
            .iter_mut()
            .zip(changed.iter())
            .for_each(|(begins, changed)| *begins |= changed.unwrap_or(true));
    }
    begins[0] = true;
    Ok(begins)
}

fn pick_better_rank(
    one: Option<usize>,
    other: Option<usize>,
    rank: impl Fn(usize) -> u32,
    greatest: bool,
) -> Option<usize> {
    match (one, other) {
        (Some(best), Some(at)) if (rank(best) > rank(at)) == greatest => Some(best),
        (best, None) => best,
        (_, at) => at,
    }
}

/// Joined values of runs of rows, of which any range takes a few: the nodes of a binary tree, with
/// the children of node `n` at `2n` and `2n + 1`, and the values of the rows in the second half.
struct RangeTree<T> {
    nodes: Vec<T>,
    start: T,
}

impl<T: Copy> RangeTree<T> {
    fn build(values: Vec<T>, start: T, join: impl Fn(T, T) -> T) -> Self {
        let count = values.len();
        let mut nodes = vec![start; count];
        nodes.extend(values);
        for at in (1..count).rev() {
            nodes[at] = join(nodes[2 * at], nodes[2 * at + 1]);
        }
        Self { nodes, start }
    }

    fn fold(&self, range: &Range<usize>, join: impl Fn(T, T) -> T) -> T {
        let count = self.nodes.len() / 2;
        let (mut from, mut to) = (range.start + count, range.end + count);
        let mut joined = self.start;
        while from < to {
            if from % 2 == 1 {
                joined = join(joined, self.nodes[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                joined = join(joined, self.nodes[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        joined
    }
}

/// The sums of decimal numbers in frames with `counts` known values, null where there are none.
fn sum_decimals(
    rows: &PartitionedRows,
    frames: &[FrameParts],
    counts: &[u32],
    values: &Column,
    scale: usize,
) -> PolarsResult<Column> {
    let physical = values.as_materialized_series().to_physical_repr();
    // Rows are looked up one by one.
    let digits = physical.i128()?.rechunk();
    let mut sums = vec![DecimalSum::default(); rows.order.len() + 1];
    for (at, row) in rows.order.iter().enumerate() {
        sums[at + 1] = sums[at].with_number(digits.get(*row as usize).unwrap_or(0));
    }
    let add_part = |sum: DecimalSum, part: &Range<usize>| {
        sum.with_difference(sums[part.start], sums[part.end])
    };
    let of_frames = frames.iter().zip(counts).map(|(frame, count)| {
        let sum = || frame.iter().fold(DecimalSum::default(), add_part);
        (*count > 0).then(|| sum().fit()).transpose()
    });
    let of_frames = of_frames.collect::<PolarsResult<Vec<Option<i128>>>>()?;
    Ok(restore_row_order(rows, of_frames.into_iter())
        .collect::<Int128Chunked>()
        .into_decimal_unchecked(DIGITS, scale)
        .into_column())
}

/// A sum of `count` whole numbers as BIGINT; `None` of no numbers.
fn fit_sum(sum: i128, count: u32) -> PolarsResult<Option<i64>> {
    if count == 0 {
        return Ok(None);
    }
    i64::try_from(sum)
        .map(Some)
        .map_err(|_| too_large(format!("{sum} does not fit in BIGINT")))
}

/// Start and end position of the run that contains each position; `begins` marks the starts.
fn spans(begins: &[bool]) -> Vec<(u32, u32)> {
    let mut spans = Vec::with_capacity(begins.len());
    let mut start = 0;
    for at in 1..=begins.len() {
        if at == begins.len() || begins[at] {
            spans.extend(std::iter::repeat_n((start as u32, at as u32), at - start));
            start = at;
        }
    }
    spans
}

/// Values in window order, moved back to row order.
fn restore_row_order<T: Clone>(
    rows: &PartitionedRows,
    values: impl Iterator<Item = Option<T>>,
) -> impl Iterator<Item = Option<T>> {
    let mut found: Vec<Option<T>> = vec![None; rows.order.len()];
    rows.order
        .iter()
        .zip(values)
        .for_each(|(row, value)| found[*row as usize] = value);
    found.into_iter()
}

/// Folds the rows of each frame with `join`, starting with `start`. A frame that extends the
/// previous one at its end continues from its result.
fn fold_frames<T: Copy>(
    frames: &[(usize, usize)],
    start: T,
    join: impl Fn(T, usize) -> T,
) -> PolarsResult<Vec<T>> {
    let mut found = Vec::with_capacity(frames.len());
    let (mut last, mut value, mut looked) = ((0, 0), start, 0usize);
    for (from, to) in frames.iter().copied() {
        if from != last.0 || to < last.1 {
            (last, value) = ((from, from), start);
        }
        looked = looked.saturating_add(to - last.1);
        if looked > FRAME_ROWS_MAX {
            return Err(too_many());
        }
        value = (last.1..to).fold(value, &join);
        last = (from, to);
        found.push(value);
    }
    Ok(found)
}
