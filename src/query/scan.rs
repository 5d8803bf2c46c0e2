//! Scan of a level for the query engine, with projection, predicate and row-limit pushdown. Row
//! groups are read in parallel; the columns of predicates are decoded first, cheap ones before
//! others, and the remaining columns only for rows that match. Row groups of large levels that
//! Parquet statistics exclude are not read. Decoding is our own, so that damaged files give errors,
//! not panics.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use polars::prelude::*;
use rayon::prelude::*;

use super::arrow_convert;
use super::tables::{RowPositions, TruePositions};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::PAD_PREFIX;
use crate::table::{LevelTable, RowGroups};

/// Storage of the rows.
#[derive(Clone)]
pub(super) enum ScanRows {
    /// Row groups of a Parquet file.
    Parquet(RowGroups),
    /// Record batches in memory.
    Decoded(Arc<LevelTable>),
}

impl ScanRows {
    fn fields(&self) -> &arrow::datatypes::Fields {
        match self {
            ScanRows::Parquet(groups) => groups.schema().fields(),
            ScanRows::Decoded(table) => table.schema().fields(),
        }
    }

    fn count(&self) -> usize {
        match self {
            ScanRows::Parquet(groups) => groups.count(),
            ScanRows::Decoded(table) => table.batches().len(),
        }
    }

    fn rows(&self, group: usize) -> usize {
        match self {
            ScanRows::Parquet(groups) => groups.rows(group),
            ScanRows::Decoded(table) => table
                .batches()
                .get(group)
                .map_or(0, |batch| batch.num_rows()),
        }
    }

    fn column(
        &self,
        group: usize,
        column: usize,
        keep: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        match self {
            ScanRows::Parquet(groups) => groups.column(group, column, keep),
            ScanRows::Decoded(table) => {
                let array = table
                    .batches()
                    .get(group)
                    .and_then(|batch| batch.columns().get(column));
                let array = array.ok_or_else(|| Error::internal("there is no such column"))?;
                Ok(vec![match keep {
                    Some(keep) => arrow::compute::filter(array, keep)
                        .map_err(|error| Error::internal("rows can't be chosen").because(error))?,
                    None => array.clone(),
                }])
            }
        }
    }
}

/// Minimum and maximum of a column per row group; `None` without statistics.
type ColumnBounds = Option<(ArrayRef, ArrayRef)>;

/// Scan of one level, or of one of its row groups. Cheap to clone.
#[derive(Clone)]
pub(super) struct LevelScan {
    rows: ScanRows,
    /// The only row group to read; all when `None`.
    only: Option<usize>,
    /// Replacement offset and size columns, used when the file's are wrong.
    positions: Option<Arc<TruePositions>>,
    /// First row of each row group.
    starts: Arc<[usize]>,
    schema: SchemaRef,
    /// Name of a computed column with the 0-based row number in the level.
    counter: &'static str,
    /// Index of the id column, when padding rows are skipped.
    padded: Option<usize>,
    /// Row groups that may contain padding, from statistics; computed once for all clones.
    padding: Arc<OnceLock<Vec<bool>>>,
    /// Minimum and maximum per column and row group; computed once for all clones.
    bounds: Arc<[OnceLock<ColumnBounds>]>,
    ctx: JobContext,
}

/// Columns and filters to read from every row group.
struct ScanPlan {
    /// Predicates to apply in order, cheap ones first, each with its columns.
    steps: Vec<(Expr, Vec<PlSmallStr>)>,
    /// Output columns.
    wanted: Vec<PlSmallStr>,
    /// Row groups not excluded by statistics.
    possible: Vec<bool>,
    /// Replacement offset and size columns.
    positions: Option<Arc<RowPositions>>,
}

/// Stored bytes of a level from which row groups are excluded by statistics. Smaller ones are read
/// at once: the answer then does not depend on what the file states of itself. A deep check
/// compares the statistics of all tables.
const EXCLUDED_FROM_BYTES: u64 = 1 << 20;

/// Columns replaced by [`TruePositions`].
const POSITIONS: [&str; 2] = ["internal:offset", "internal:size"];

impl LevelScan {
    /// Scan of a level. `counter` is the name of the row-number column, which no column of the
    /// level has. With `hide_padding`, padding rows are skipped.
    pub fn new(
        rows: ScanRows,
        positions: Option<Arc<TruePositions>>,
        counter: &'static str,
        hide_padding: bool,
        ctx: &JobContext,
    ) -> PolarsResult<Self> {
        let mut schema = Schema::default();
        // The counter comes first: a row count selects the first column only, and this one is free.
        schema.insert(counter.into(), IDX_DTYPE);
        for field in rows.fields() {
            let dtype = arrow_convert::series(field.name(), field.data_type(), Vec::new())?
                .dtype()
                .clone();
            if schema.insert(field.name().as_str().into(), dtype).is_some() {
                polars_bail!(Duplicate: "two columns are called {}", field.name());
            }
        }
        let is_text = |name: &str| schema.get(name) == Some(&DataType::String);
        let padded = if hide_padding && is_text("id") {
            rows.fields().find("id").map(|(at, _)| at)
        } else {
            None
        };
        let mut starts = Vec::with_capacity(rows.count());
        let mut next = 0usize;
        for group in 0..rows.count() {
            starts.push(next);
            next += rows.rows(group);
        }
        let bounds = std::iter::repeat_with(OnceLock::new)
            .take(rows.fields().len())
            .collect();
        Ok(Self {
            rows,
            only: None,
            positions,
            starts: starts.into(),
            schema: Arc::new(schema),
            counter,
            padded,
            padding: Arc::default(),
            bounds,
            ctx: ctx.clone(),
        })
    }

    /// Number of row groups.
    pub fn group_count(&self) -> usize {
        self.starts.len()
    }

    /// Number of rows of a row group.
    pub fn group_rows(&self, group: usize) -> usize {
        self.rows.rows(group)
    }

    /// The same scan restricted to one row group.
    pub fn one_group(&self, group: usize) -> Self {
        Self {
            only: Some(group),
            ..self.clone()
        }
    }

    /// True when a row group may contain padding rows to skip.
    fn may_be_padded(&self, group: usize) -> bool {
        let Some(column) = self.padded else {
            return false;
        };
        let padding = self.padding.get_or_init(|| match &self.rows {
            ScanRows::Parquet(groups) => padding_possible(groups, column),
            ScanRows::Decoded(_) => vec![true; self.rows.count()],
        });
        padding.get(group).copied().unwrap_or(true)
    }

    /// A dictionary-encoded text column of one row group, all rows. `None` when it is stored
    /// otherwise or rows may be skipped as padding.
    pub fn read_dictionary_column(
        &self,
        group: usize,
        name: &str,
    ) -> PolarsResult<Option<Numbered>> {
        let ScanRows::Parquet(groups) = &self.rows else {
            return Ok(None);
        };
        let Some((column, _)) = self
            .rows
            .fields()
            .find(name)
            .filter(|_| !self.may_be_padded(group))
        else {
            return Ok(None);
        };
        self.ctx.check().map_err(|error| fault(&error))?;
        let Some(read) = groups
            .read_dictionary_column(group, column)
            .transpose()
            .map_err(|error| fault(&error))?
        else {
            return Ok(None);
        };
        let Some(texts) = read.values().as_string_opt::<i32>() else {
            return Ok(None);
        };
        let mut texts: Vec<Option<String>> =
            texts.iter().map(|text| text.map(str::to_owned)).collect();
        let none = texts.len() as u32;
        texts.push(None);
        let numbers = read.keys().iter().map(|number| {
            number
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(none)
        });
        Ok(Some(Numbered {
            numbers: numbers.collect(),
            texts,
        }))
    }

    pub fn frame(self) -> PolarsResult<LazyFrame> {
        let arguments = ScanArgsAnonymous {
            schema: Some(self.schema.clone()),
            name: "LEVEL",
            ..Default::default()
        };
        LazyFrame::anonymous_scan(Arc::new(self), arguments)
    }

    fn plan(&self, asked: &AnonymousScanArgs) -> PolarsResult<ScanPlan> {
        let wanted: Vec<PlSmallStr> = match &asked.with_columns {
            Some(names) => names.to_vec(),
            None => self.schema.iter_names().cloned().collect(),
        };
        let mut conditions = Vec::new();
        if let Some(predicate) = &asked.predicate {
            conjuncts(predicate, &mut conditions);
        }
        let mut possible: Vec<bool> = (0..self.rows.count())
            .map(|group| self.only.is_none_or(|only| only == group))
            .collect();
        for condition in &conditions {
            self.exclude(condition, &mut possible);
        }
        let mut steps: Vec<(Expr, Vec<PlSmallStr>)> = Vec::new();
        for cheap in [true, false] {
            let chosen = conditions
                .iter()
                .filter(|condition| self.is_cheap(condition) == cheap)
                .cloned();
            if let Some(condition) = chosen.reduce(|a, b| a.and(b)) {
                let names = leaves(&condition);
                steps.push((condition, names));
            }
        }
        // Done once, before the parallel part: it may read the whole level.
        let looked_at = wanted
            .iter()
            .chain(steps.iter().flat_map(|(_, names)| names));
        let positions = match &self.positions {
            Some(positions)
                if looked_at
                    .into_iter()
                    .any(|name| POSITIONS.contains(&name.as_str())) =>
            {
                positions.get(&self.ctx).map_err(|error| fault(&error))?
            }
            _ => None,
        };
        Ok(ScanPlan {
            steps,
            wanted,
            possible,
            positions,
        })
    }

    /// True for predicates over numeric, temporal and Boolean columns without user-defined
    /// functions.
    fn is_cheap(&self, condition: &Expr) -> bool {
        condition.into_iter().all(|part| match part {
            Expr::AnonymousFunction { .. } => false,
            Expr::Column(name) => self.schema.get(name).is_some_and(|dtype| {
                dtype.is_primitive_numeric() || dtype.is_temporal() || dtype.is_bool()
            }),
            _ => true,
        })
    }

    /// Marks row groups that can't satisfy `condition` by their statistics. With `only` set, just
    /// that group is checked, since a level with thousands of groups is scanned one at a time.
    fn exclude(&self, condition: &Expr, possible: &mut [bool]) {
        let ScanRows::Parquet(groups) = &self.rows else {
            return;
        };
        if groups.stored_bytes() < EXCLUDED_FROM_BYTES {
            return;
        }
        let Expr::BinaryExpr { left, op, right } = condition else {
            return;
        };
        let (name, op, value) = match (left.as_ref(), right.as_ref()) {
            (Expr::Column(name), value) if leaves(value).is_empty() => (name, *op, value),
            (value, Expr::Column(name)) if leaves(value).is_empty() => {
                (name, mirror_operator(*op), value)
            }
            _ => return,
        };
        if self.positions.is_some() && POSITIONS.contains(&name.as_str()) {
            return;
        }
        let Some((column, field)) = groups.schema().fields().find(name) else {
            return;
        };
        // NaN sorts above every number but is not part of Parquet statistics.
        let floating = field.data_type().is_floating();
        let Some(known) = self.bounds.get(column) else {
            return;
        };
        let Some((mins, maxes)) = known.get_or_init(|| groups.bounds(column)) else {
            return;
        };
        let (first, count) = self.only.map_or((0, possible.len()), |only| (only, 1));
        let (mins, maxes) = (mins.slice(first, count), maxes.slice(first, count));
        let test = |bounds: &ArrayRef, op: Operator| test_bounds(name, bounds, op, value);
        let mut narrow = |met: Option<Vec<bool>>| narrow_possible(possible, first, met);
        if matches!(op, Operator::Lt | Operator::LtEq) {
            narrow(test(&mins, op));
        }
        if matches!(op, Operator::Gt | Operator::GtEq) && !floating {
            narrow(test(&maxes, op));
        }
        if op == Operator::Eq && !floating {
            narrow(test(&mins, Operator::LtEq));
            narrow(test(&maxes, Operator::GtEq));
        }
    }

    /// One column of one row group, filtered by `keep`.
    fn column(
        &self,
        group: usize,
        name: &str,
        plan: &ScanPlan,
        keep: Option<&BooleanArray>,
    ) -> PolarsResult<Column> {
        let start = self.starts.get(group).copied().unwrap_or_default();
        if name == self.counter {
            let rows = (start..start + self.rows.rows(group)).map(|row| row as IdxSize);
            let kept: Vec<IdxSize> = match keep {
                Some(keep) => rows
                    .zip(keep.values())
                    .filter_map(|(row, keep)| keep.then_some(row))
                    .collect(),
                None => rows.collect(),
            };
            return Ok(IdxCa::from_vec(name.into(), kept).into_column());
        }
        // The counter is schema field 0 and not stored.
        let place = self
            .schema
            .index_of(name)
            .and_then(|place| place.checked_sub(1));
        let Some((index, field)) =
            place.and_then(|place| Some((place, self.rows.fields().get(place)?)))
        else {
            polars_bail!(ColumnNotFound: "{name}");
        };
        if let (Some(positions), Some(at)) = (
            &plan.positions,
            POSITIONS.iter().position(|known| *known == name),
        ) {
            let all = if at == 0 { &positions.0 } else { &positions.1 };
            let here: ArrayRef = Arc::new(all.slice(start, self.rows.rows(group)));
            let here = arrow::compute::cast(&here, field.data_type()).and_then(|here| match keep {
                Some(keep) => arrow::compute::filter(&here, keep),
                None => Ok(here),
            });
            let here = here.map_err(
                |error| polars_err!(ComputeError: "positions don't fit their column: {error}"),
            )?;
            return arrow_convert::series(name, field.data_type(), vec![here])
                .map(|series| series.into_column());
        }
        let arrays = self
            .rows
            .column(group, index, keep)
            .map_err(|error| fault(&error))?;
        arrow_convert::series(name, field.data_type(), arrays).map(|series| series.into_column())
    }

    /// Columns of one row group, read in parallel.
    fn columns(
        &self,
        group: usize,
        names: &[PlSmallStr],
        plan: &ScanPlan,
        keep: Option<&BooleanArray>,
    ) -> PolarsResult<DataFrame> {
        let height = keep.map_or(self.rows.rows(group), BooleanArray::true_count);
        let columns = names
            .par_iter()
            .map(|name| self.column(group, name, plan, keep))
            .collect::<PolarsResult<Vec<_>>>()?;
        DataFrame::new(height, columns)
    }

    /// Rows of one row group that satisfy the predicates, from its first `most` rows; `None` when
    /// there are none.
    fn group(&self, group: usize, plan: &ScanPlan, most: usize) -> PolarsResult<Option<DataFrame>> {
        self.ctx.check().map_err(|error| fault(&error))?;
        let rows = self.rows.rows(group);
        let mut keep: Option<BooleanArray> = None;
        if most < rows {
            keep = Some((0..rows).map(|row| Some(row < most)).collect());
        }
        let mut known: Vec<Column> = Vec::new();
        for (condition, names) in &plan.steps {
            let lacking: Vec<PlSmallStr> = names
                .iter()
                .filter(|name| known.iter().all(|column| column.name() != *name))
                .cloned()
                .collect();
            let read = self.columns(group, &lacking, plan, keep.as_ref())?;
            let height = read.height();
            known.extend(read.into_columns());
            let used: Vec<Column> = known
                .iter()
                .filter(|column| names.contains(column.name()))
                .cloned()
                .collect();
            let mask = mask_rows(&DataFrame::new(height, used)?, condition)?;
            let met: BooleanArray = mask.iter().map(|met| Some(met.unwrap_or(false))).collect();
            self.narrow(rows, &mut keep, &mut known, met)?;
            if keep.as_ref().is_some_and(|keep| keep.true_count() == 0) {
                return Ok(None);
            }
        }
        if self.may_be_padded(group) {
            let ids = self.column(group, "id", plan, keep.as_ref())?;
            let met: BooleanArray = ids
                .str()?
                .iter()
                .map(|id| Some(!id.is_some_and(|id| id.starts_with(PAD_PREFIX))))
                .collect();
            known.push(ids);
            self.narrow(rows, &mut keep, &mut known, met)?;
        }
        let left = keep.as_ref().map_or(rows, BooleanArray::true_count);
        if left == 0 {
            return Ok(None);
        }
        let lacking: Vec<PlSmallStr> = plan
            .wanted
            .iter()
            .filter(|name| known.iter().all(|column| column.name() != *name))
            .cloned()
            .collect();
        let read = self.columns(group, &lacking, plan, keep.as_ref())?;
        known.extend(read.into_columns());
        // A map, since a level can have ten thousand columns.
        let mut places: HashMap<PlSmallStr, usize> = HashMap::with_capacity(known.len());
        for (place, column) in known.iter().enumerate() {
            places.entry(column.name().clone()).or_insert(place);
        }
        let wanted = plan
            .wanted
            .iter()
            .filter_map(|name| known.get(*places.get(name)?).cloned());
        DataFrame::new(left, wanted.collect()).map(Some)
    }

    /// Combines `met` (one flag per remaining row) into `keep` (one flag per row of the group) and
    /// filters `known`.
    fn narrow(
        &self,
        rows: usize,
        keep: &mut Option<BooleanArray>,
        known: &mut [Column],
        met: BooleanArray,
    ) -> PolarsResult<()> {
        if met.true_count() == met.len() {
            return Ok(());
        }
        if met.true_count() > 0 {
            let mask: BooleanChunked = met.values().iter().collect();
            for column in known.iter_mut() {
                *column = column.filter(&mask)?;
            }
        }
        *keep = Some(match keep.take() {
            None => met,
            Some(before) => {
                let mut next = met.values().iter();
                (0..rows)
                    .map(|row| Some(before.value(row) && next.next().unwrap_or(false)))
                    .collect()
            }
        });
        Ok(())
    }
}

impl AnonymousScan for LevelScan {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn allows_predicate_pushdown(&self) -> bool {
        true
    }

    fn allows_projection_pushdown(&self) -> bool {
        true
    }

    fn schema(&self, _: Option<usize>) -> PolarsResult<SchemaRef> {
        Ok(self.schema.clone())
    }

    fn scan(&self, asked: AnonymousScanArgs) -> PolarsResult<DataFrame> {
        let plan = self.plan(&asked)?;
        let groups: Vec<usize> = (0..self.rows.count())
            .filter(|group| plan.possible[*group])
            .collect();
        let parts: Vec<Option<DataFrame>> = match asked.n_rows {
            None => groups
                .par_iter()
                .map(|group| self.group(*group, &plan, usize::MAX))
                .collect::<PolarsResult<_>>()?,
            Some(most) => {
                let mut parts = Vec::new();
                let mut left = most;
                for group in groups {
                    if left == 0 {
                        break;
                    }
                    // Padding rows do not count towards the limit.
                    let most = if self.may_be_padded(group) {
                        usize::MAX
                    } else {
                        left
                    };
                    let part = self
                        .group(group, &plan, most)?
                        .map(|part| part.head(Some(left)));
                    left -= part.as_ref().map_or(0, DataFrame::height);
                    parts.push(part);
                }
                parts
            }
        };
        let mut parts = parts.into_iter().flatten();
        let Some(mut all) = parts.next() else {
            let fields = plan
                .wanted
                .iter()
                .filter_map(|name| Some(Field::new(name.clone(), self.schema.get(name)?.clone())));
            return Ok(DataFrame::empty_with_schema(&fields.collect()));
        };
        for part in parts {
            all.vstack_mut_owned(part)?;
        }
        Ok(all)
    }
}

/// Wraps an error as the engine's; [`Error::found_in`] returns it.
pub(super) fn fault(error: &Error) -> PolarsError {
    match Error::found_in(error) {
        Some(own) => PolarsError::IO {
            error: Arc::new(std::io::Error::other(own)),
            msg: None,
        },
        None => polars_err!(ComputeError: "{error:#}"),
    }
}

/// A dictionary-encoded text column.
pub(super) struct Numbered {
    /// Dictionary key per row.
    pub numbers: Vec<u32>,
    /// Text per key; `None` is null. Two keys may have the same text.
    pub texts: Vec<Option<String>>,
}

/// Splits a condition at AND.
fn conjuncts(condition: &Expr, found: &mut Vec<Expr>) {
    match condition {
        Expr::BinaryExpr {
            left,
            op: Operator::And | Operator::LogicalAnd,
            right,
        } => {
            conjuncts(left, found);
            conjuncts(right, found);
        }
        // A dynamic predicate of the engine's own top-k; an optimisation only.
        Expr::Display { fmt_str, .. } if fmt_str.starts_with("dynamic_pred") => {}
        other => found.push(other.clone()),
    }
}

/// Distinct columns of an expression.
pub(super) fn leaves(expression: &Expr) -> Vec<PlSmallStr> {
    let mut names: Vec<PlSmallStr> = Vec::new();
    for part in expression {
        if let Expr::Column(name) = part
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    names
}

/// Mask of the rows that satisfy a condition.
fn mask_rows(frame: &DataFrame, condition: &Expr) -> PolarsResult<BooleanChunked> {
    const MET: &str = "__met";
    let met = frame
        .clone()
        .lazy()
        .select([condition.clone().alias(MET)])
        .collect()?;
    let met = met.column(MET)?.as_materialized_series().bool()?.clone();
    // A condition without columns gives one value.
    Ok(if met.len() == 1 && frame.height() != 1 {
        met.new_from_index(0, frame.height())
    } else {
        met
    })
}

fn mirror_operator(op: Operator) -> Operator {
    match op {
        Operator::Lt => Operator::Gt,
        Operator::LtEq => Operator::GtEq,
        Operator::Gt => Operator::Lt,
        Operator::GtEq => Operator::LtEq,
        other => other,
    }
}

/// Row groups that may contain an id with the padding prefix, by statistics.
fn padding_possible(groups: &RowGroups, column: usize) -> Vec<bool> {
    let Some((mins, maxes)) = groups.text_bounds(column) else {
        return vec![true; groups.count()];
    };
    read_bound_texts(&mins)
        .into_iter()
        .zip(read_bound_texts(&maxes))
        .map(|(min, max)| !excludes_padding(min.as_deref(), max.as_deref()))
        .collect()
}

/// The rows of `bounds` for which the value of column `name` may meet the comparison; `None` when
/// they can't be compared.
fn test_bounds(
    name: &PlSmallStr,
    bounds: &ArrayRef,
    op: Operator,
    value: &Expr,
) -> Option<Vec<bool>> {
    let bounds = arrow_convert::series(name, bounds.data_type(), vec![bounds.clone()]).ok()?;
    let frame = DataFrame::new(bounds.len(), vec![bounds.into_column()]).ok()?;
    let test = Expr::BinaryExpr {
        left: Arc::new(col(name.clone())),
        op,
        right: Arc::new(value.clone()),
    };
    let mask = mask_rows(&frame, &test).ok()?;
    Some(mask.iter().map(|met| met.unwrap_or(true)).collect())
}

/// Marks the groups from `first` on that do not meet a condition.
fn narrow_possible(possible: &mut [bool], first: usize, met: Option<Vec<bool>>) {
    possible
        .iter_mut()
        .skip(first)
        .zip(met.into_iter().flatten())
        .for_each(|(possible, met)| *possible &= met);
}

fn read_bound_texts(bounds: &ArrayRef) -> Vec<Option<String>> {
    match bounds.as_string_view_opt() {
        Some(texts) => texts.iter().map(|text| text.map(str::to_owned)).collect(),
        None => vec![None; bounds.len()],
    }
}

/// True if no id from `min` to `max` has the padding prefix.
fn excludes_padding(min: Option<&str>, max: Option<&str>) -> bool {
    match (min, max) {
        // Strings with the prefix sort from the prefix itself up to the next string without it.
        (Some(min), Some(max)) => {
            max < PAD_PREFIX || (min > PAD_PREFIX && !min.starts_with(PAD_PREFIX))
        }
        _ => false,
    }
}
