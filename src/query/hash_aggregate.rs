//! Hash aggregation of one row group in one pass: key values map to dense group numbers, which
//! index arrays of counts, sums, minima and maxima. Repeated strings are recognised by their Arrow
//! view before they are compared. For unsupported types and high cardinality the caller uses the
//! engine's GROUP BY. No plans, no IO.

use std::collections::HashMap;
use std::hash::Hash;

use polars::prelude::*;

use super::scan::{Numbered, leaves};

/// Aggregation per row group pays only while groups are fewer than 1/4 of the rows.
pub(super) const MANY: usize = 4;

/// Maximum size of the table that maps combinations of two keys' groups to a group.
const MOST_COMBINATIONS: usize = 1 << 20;

/// Entries of the cache from value to group; a power of two.
const REMEMBERED: usize = 256;

/// Cache slot of a value.
fn cache_slot(bits: u64) -> usize {
    (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % REMEMBERED
}

/// An aggregate per group.
pub(super) enum Measure {
    /// `count(*)`.
    Rows,
    /// `count(x)`: non-null values.
    Known(Expr),
    /// `sum(x)`.
    Sum(Expr),
    /// `min(x)`; NaN only if all values are NaN.
    Least(Expr),
    /// `max(x)`; NaN only if all values are NaN.
    Most(Expr),
}

/// Keys and aggregates of one GROUP BY.
pub(super) struct GroupBy {
    /// The keys, then one input column per measure that has one.
    columns: Vec<Expr>,
    keys: usize,
    measures: Vec<Measure>,
}

impl GroupBy {
    /// Output columns are the keys, under their own names, then the measures, named by
    /// [`GroupBy::aggregate_rows`].
    pub fn new(keys: &[Expr], measures: Vec<Measure>) -> Self {
        let mut columns = keys.to_vec();
        for (at, measure) in measures.iter().enumerate() {
            if let Some(input) = measure.input() {
                columns.push(input.clone().alias(input_name(at)));
            }
        }
        Self {
            columns,
            keys: keys.len(),
            measures,
        }
    }

    /// Aggregates `rows` to one row per group. `numbered` has, per key, its dictionary-encoded
    /// column of `height` rows, if it has one; `name(i)` is the output name of measure `i`.
    /// Dictionary keys are not decoded; two groups may share a string. `None` when there are too
    /// many groups or a type is not supported.
    pub fn aggregate_rows(
        &self,
        rows: LazyFrame,
        numbered: Vec<Option<Numbered>>,
        height: usize,
        name: impl Fn(usize) -> PlSmallStr,
    ) -> PolarsResult<Option<DataFrame>> {
        let is_numbered = |at: usize| numbered.get(at).is_some_and(Option::is_some);
        let read: Vec<Expr> = self
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| !is_numbered(*at))
            .map(|(_, column)| column.clone())
            .collect();
        let frame = if read.is_empty() {
            DataFrame::empty_with_height(height)
        } else {
            rows.select(read).collect()?
        };
        if (0..self.keys).any(is_numbered) && frame.height() != height {
            return Ok(None);
        }
        let most = frame.height() / MANY + 1;
        let mut groups: Option<GroupNumbers> = None;
        let mut read = frame.columns().iter();
        // Key columns of the output: decoded ones, and dictionaries.
        let mut keys: Vec<GroupKey> = Vec::with_capacity(self.keys);
        for (at, key) in self.columns.iter().take(self.keys).enumerate() {
            let (found, key) = match numbered.get(at).and_then(Option::as_ref) {
                Some(numbered) => {
                    let Some(found) = GroupNumbers::of_numbered(numbered, most) else {
                        return Ok(None);
                    };
                    (
                        found,
                        GroupKey::Texts(key.clone().meta().output_name()?, numbered),
                    )
                }
                None => {
                    let Some(column) = read.next() else {
                        return Ok(None);
                    };
                    let Some(found) = GroupNumbers::from_key(column, most)? else {
                        return Ok(None);
                    };
                    (found, GroupKey::Read(column))
                }
            };
            keys.push(key);
            groups = match groups {
                None => Some(found),
                Some(before) => before.combine_with(&found, most),
            };
            if groups.is_none() {
                return Ok(None);
            }
        }
        let Some(groups) = groups else {
            return Ok(None);
        };
        let mut answer = keys
            .iter()
            .map(|key| key.take_rows(&groups.firsts))
            .collect::<PolarsResult<Vec<_>>>()?;
        let sizes = count_occurrences(groups.firsts.len(), groups.of.iter());
        for (at, measure) in self.measures.iter().enumerate() {
            let input = match measure.input() {
                Some(_) => Some(frame.column(&input_name(at))?.as_materialized_series()),
                None => None,
            };
            let Some(told) = groups.aggregate_measure(measure, input, &sizes)? else {
                return Ok(None);
            };
            answer.push(told.with_name(name(at)).into_column());
        }
        DataFrame::new(groups.firsts.len(), answer).map(Some)
    }
}

fn input_name(at: usize) -> PlSmallStr {
    format!("__input{at}").into()
}

impl Measure {
    /// True when the input is an expression over a column of `schema` with a supported type, or
    /// there is no input.
    pub fn fits(&self, schema: &Schema) -> bool {
        let Some(input) = self.input() else {
            return true;
        };
        let Ok(field) = input.to_field(schema) else {
            return false;
        };
        let dtype = field.dtype();
        let by_type = match self {
            Measure::Rows | Measure::Known(_) => true,
            Measure::Sum(_) => matches!(dtype, DataType::Float64 | DataType::Int64),
            Measure::Least(_) | Measure::Most(_) => {
                dtype.is_temporal()
                    || matches!(
                        dtype,
                        DataType::Float64 | DataType::Float32 | DataType::Int64 | DataType::Int32
                    )
            }
        };
        by_type && !leaves(input).is_empty()
    }

    fn input(&self) -> Option<&Expr> {
        match self {
            Measure::Rows => None,
            Measure::Known(input)
            | Measure::Sum(input)
            | Measure::Least(input)
            | Measure::Most(input) => Some(input),
        }
    }
}

/// Source of the values of a key.
enum GroupKey<'a> {
    Read(&'a Column),
    Texts(PlSmallStr, &'a Numbered),
}

impl GroupKey<'_> {
    fn take_rows(&self, rows: &[IdxSize]) -> PolarsResult<Column> {
        Ok(match self {
            GroupKey::Read(column) => column.take_slice(rows)?,
            GroupKey::Texts(name, numbered) => rows
                .iter()
                .map(|row| find_numbered_text(numbered, *row))
                .collect::<StringChunked>()
                .with_name(name.clone())
                .into_column(),
        })
    }
}

/// The text of a row of a numbered column; `None` for null.
fn find_numbered_text(numbered: &Numbered, row: IdxSize) -> Option<&str> {
    numbered
        .texts
        .get(*numbered.numbers.get(row as usize)? as usize)?
        .as_deref()
}

/// Group number of each row, numbered from 0 in order of first appearance.
struct GroupNumbers {
    of: Vec<u32>,
    /// First row of each group.
    firsts: Vec<IdxSize>,
}

impl GroupNumbers {
    /// Groups of equal values of a key; `None` for more than `most` groups or an unsupported type.
    fn from_key(key: &Column, most: usize) -> PolarsResult<Option<Self>> {
        let key = key.as_materialized_series();
        Ok(match key.dtype() {
            DataType::String => Self::of_texts(key.str()?, most),
            DataType::Boolean => Self::of_numbers(key.cast(&DataType::Int64)?.i64()?.iter(), most),
            dtype if dtype.is_temporal() || (dtype.is_integer() && *dtype != DataType::UInt64) => {
                let plain = key.to_physical_repr().cast(&DataType::Int64)?;
                Self::of_numbers(plain.i64()?.iter(), most)
            }
            _ => None,
        })
    }

    fn of_numbered(numbered: &Numbered, most: usize) -> Option<Self> {
        let mut groups = Self {
            of: Vec::with_capacity(numbered.numbers.len()),
            firsts: Vec::new(),
        };
        let mut known: Vec<Option<u32>> = vec![None; numbered.texts.len()];
        for (row, number) in numbered.numbers.iter().enumerate() {
            let group = match known.get_mut(*number as usize)? {
                Some(group) => *group,
                new => {
                    groups.firsts.push(row as IdxSize);
                    *new.insert(groups.firsts.len() as u32 - 1)
                }
            };
            groups.of.push(group);
        }
        (groups.firsts.len() <= most).then_some(groups)
    }

    fn of_texts(texts: &StringChunked, most: usize) -> Option<Self> {
        let mut groups = Self {
            of: Vec::with_capacity(texts.len()),
            firsts: Vec::new(),
        };
        let mut known: HashMap<Option<&str>, u32> = HashMap::new();
        let is_known = (texts.null_count() > 0).then(|| texts.is_not_null());
        let mut is_known = is_known.as_ref().map(|known| known.iter());
        for chunk in texts.downcast_iter() {
            // Views refer to buffers of their own chunk.
            let mut remembered = [(0u128, None::<u32>); REMEMBERED];
            for (row, view) in chunk.views().iter().enumerate() {
                if is_known
                    .as_mut()
                    .is_some_and(|known| known.next() == Some(Some(false)))
                {
                    let group = groups.number(&mut known, None, most)?;
                    groups.of.push(group);
                    continue;
                }
                let bits = view.as_u128();
                let slot = &mut remembered[cache_slot((bits as u64) ^ ((bits >> 64) as u64))];
                let group = match *slot {
                    (seen, Some(group)) if seen == bits => group,
                    _ => {
                        let group = groups.number(&mut known, Some(chunk.value(row)), most)?;
                        *slot = (bits, Some(group));
                        group
                    }
                };
                groups.of.push(group);
            }
        }
        Some(groups)
    }

    fn of_numbers(values: impl Iterator<Item = Option<i64>>, most: usize) -> Option<Self> {
        let mut groups = Self {
            of: Vec::with_capacity(values.size_hint().0),
            firsts: Vec::new(),
        };
        let mut known = HashMap::new();
        let mut remembered = [(0i64, None::<u32>); REMEMBERED];
        for value in values {
            let slot = value.map(|value| cache_slot(value as u64));
            let group = match (value, slot.map(|slot| remembered[slot])) {
                (Some(value), Some((seen, Some(group)))) if seen == value => group,
                _ => groups.number(&mut known, value, most)?,
            };
            if let (Some(value), Some(slot)) = (value, slot) {
                remembered[slot] = (value, Some(group));
            }
            groups.of.push(group);
        }
        Some(groups)
    }

    /// Group number of the next row, whose key is `value`; `None` when there are more than `most`
    /// groups.
    fn number<T: Eq + Hash>(
        &mut self,
        known: &mut HashMap<T, u32>,
        value: T,
        most: usize,
    ) -> Option<u32> {
        let next = self.firsts.len() as u32;
        let row = self.of.len() as IdxSize;
        let group = *known.entry(value).or_insert(next);
        if group == next {
            self.firsts.push(row);
        }
        (self.firsts.len() <= most).then_some(group)
    }

    /// Groups of rows that are in one group in both; `None` for more than `most`.
    fn combine_with(self, other: &Self, most: usize) -> Option<Self> {
        let width = other.firsts.len();
        let combinations = self
            .firsts
            .len()
            .checked_mul(width)
            .filter(|count| *count <= MOST_COMBINATIONS)?;
        let mut numbers: Vec<Option<u32>> = vec![None; combinations];
        let mut groups = Self {
            of: Vec::with_capacity(self.of.len()),
            firsts: Vec::new(),
        };
        for (row, (one, two)) in self.of.iter().zip(&other.of).enumerate() {
            let number = numbers.get_mut(*one as usize * width + *two as usize)?;
            let group = match number {
                Some(group) => *group,
                None => {
                    let next = groups.firsts.len() as u32;
                    groups.firsts.push(row as IdxSize);
                    *number.insert(next)
                }
            };
            groups.of.push(group);
        }
        (groups.firsts.len() <= most).then_some(groups)
    }

    /// The measure's value per group; `None` for an unsupported type.
    fn aggregate_measure(
        &self,
        measure: &Measure,
        input: Option<&Series>,
        sizes: &[u64],
    ) -> PolarsResult<Option<Series>> {
        let counts = |counts: Vec<u64>| {
            Some(UInt64Chunked::from_vec(PlSmallStr::EMPTY, counts).into_series())
        };
        let Some(input) = input else {
            return Ok(counts(sizes.to_vec()));
        };
        Ok(match measure {
            Measure::Rows => None,
            Measure::Known(_) if input.null_count() == 0 => counts(sizes.to_vec()),
            Measure::Known(_) => {
                let known = input.is_not_null();
                counts(count_occurrences(
                    self.firsts.len(),
                    self.of
                        .iter()
                        .zip(known.iter())
                        .filter_map(|(of, known)| known?.then_some(of)),
                ))
            }
            Measure::Sum(_) => match input.dtype() {
                DataType::Float64 => {
                    Some(self.fold_groups(input.f64()?, Some(0.0), |sum, value| sum + value))
                }
                DataType::Int64 => Some(self.fold_groups(input.i64()?, Some(0), i64::wrapping_add)),
                _ => None,
            },
            Measure::Least(_) => self.extreme(input, std::cmp::Ordering::Less)?,
            Measure::Most(_) => self.extreme(input, std::cmp::Ordering::Greater)?,
        })
    }

    /// Minimum or maximum per group; `None` for an unsupported type.
    fn extreme(&self, input: &Series, wanted: std::cmp::Ordering) -> PolarsResult<Option<Series>> {
        fn better<T: PartialOrd + Copy>(wanted: std::cmp::Ordering) -> impl Fn(T, T) -> T {
            // `old != old` for NaN, which any value replaces.
            move |old, new| {
                if new.partial_cmp(&old) == Some(wanted) || old.partial_cmp(&old).is_none() {
                    new
                } else {
                    old
                }
            }
        }
        let dtype = input.dtype();
        let physical = input.to_physical_repr();
        let found = match physical.dtype() {
            DataType::Float64 => self.fold_groups(physical.f64()?, None, better(wanted)),
            DataType::Float32 => self.fold_groups(physical.f32()?, None, better(wanted)),
            DataType::Int64 => self.fold_groups(physical.i64()?, None, better(wanted)),
            DataType::Int32 => self.fold_groups(physical.i32()?, None, better(wanted)),
            _ => return Ok(None),
        };
        found.cast(dtype).map(Some)
    }

    /// Folds the values of each group, starting with `start` or with the first value.
    fn fold_groups<T: PolarsNumericType>(
        &self,
        values: &ChunkedArray<T>,
        start: Option<T::Native>,
        join: impl Fn(T::Native, T::Native) -> T::Native,
    ) -> Series
    where
        ChunkedArray<T>: IntoSeries,
    {
        if values.null_count() == 0 {
            let first = |row: &IdxSize| values.get(*row as usize).unwrap_or_default();
            let mut found: Vec<T::Native> = self
                .firsts
                .iter()
                .map(|row| start.unwrap_or_else(|| first(row)))
                .collect();
            let mut groups = self.of.iter();
            for chunk in values.downcast_iter() {
                for (value, group) in chunk.values().iter().zip(groups.by_ref()) {
                    if let Some(place) = found.get_mut(*group as usize) {
                        *place = join(*place, *value);
                    }
                }
            }
            return ChunkedArray::<T>::from_vec(PlSmallStr::EMPTY, found).into_series();
        }
        let mut found: Vec<Option<T::Native>> = vec![start; self.firsts.len()];
        values.iter().zip(&self.of).for_each(|(value, group)| {
            if let (Some(value), Some(place)) = (value, found.get_mut(*group as usize)) {
                *place = Some(place.map_or(value, |before| join(before, value)));
            }
        });
        ChunkedArray::<T>::from_iter_options(PlSmallStr::EMPTY, found.into_iter()).into_series()
    }
}

/// Occurrences of each group number.
fn count_occurrences<'a>(groups: usize, of: impl Iterator<Item = &'a u32>) -> Vec<u64> {
    let mut found = vec![0u64; groups];
    for group in of {
        if let Some(count) = found.get_mut(*group as usize) {
            *count += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> DataFrame {
        let long = "a text that is longer than a view can hold";
        let texts = [
            Some("x"),
            None,
            Some(long),
            Some("x"),
            Some("y"),
            None,
            Some(long),
            Some("x"),
        ];
        let mut frame = df!(
            "t" => texts,
            "n" => [Some(1i64), Some(1), Some(2), Some(1), None, Some(1), Some(2), Some(2)],
            "f" => [
                Some(f64::NAN),
                Some(4.0),
                Some(2.0),
                Some(-1.0),
                None,
                None,
                Some(f64::NAN),
                Some(0.5),
            ],
            "i" => [Some(5i32), Some(6), Some(7), Some(-8), None, None, Some(1), Some(2)],
        )
        .expect("a frame");
        // Several chunks with buffers of their own; few groups per row.
        for _ in 0..6 {
            frame = frame.vstack(&frame).expect("stacks");
        }
        frame
    }

    #[test]
    fn groups_are_the_engines() {
        for keys in [
            vec![col("t")],
            vec![col("n")],
            vec![col("t"), col("n")],
            vec![col("n").gt(lit(1)).alias("b"), col("t")],
        ] {
            let measures = vec![
                Measure::Rows,
                Measure::Known(col("i")),
                Measure::Sum(col("f").fill_nan(lit(100.0))),
                Measure::Least(col("f")),
                Measure::Most(col("f")),
                Measure::Least(col("i")),
                Measure::Most(col("n")),
            ];
            let name = |at: usize| PlSmallStr::from(format!("m{at}"));
            let ours = GroupBy::new(&keys, measures)
                .aggregate_rows(frame().lazy(), Vec::new(), 0, name)
                .expect("runs")
                .expect("is for here");
            let asked = [
                len().cast(DataType::UInt64).alias("m0"),
                col("i").count().cast(DataType::UInt64).alias("m1"),
                col("f").fill_nan(lit(100.0)).sum().alias("m2"),
                col("f").min().alias("m3"),
                col("f").max().alias("m4"),
                col("i").min().alias("m5"),
                col("n").max().alias("m6"),
            ];
            let theirs = frame()
                .lazy()
                .group_by(&keys)
                .agg(asked)
                .collect()
                .expect("runs");
            let names: Vec<PlSmallStr> = theirs.get_column_names_owned();
            let sorted = |frame: DataFrame| {
                frame
                    .sort(names.clone(), SortMultipleOptions::default())
                    .expect("sorts")
            };
            assert!(
                sorted(ours.clone()).equals_missing(&sorted(theirs.clone())),
                "{ours}\n{theirs}"
            );
        }
    }

    #[test]
    fn what_is_not_for_here_is_left() {
        let name = |_: usize| PlSmallStr::from("m");
        let tally = |key: Expr, measure: Measure| {
            GroupBy::new(&[key], vec![measure])
                .aggregate_rows(frame().lazy(), Vec::new(), 0, name)
                .expect("runs")
        };
        assert!(tally(col("f"), Measure::Rows).is_none(), "a key of floats");
        assert!(
            tally(col("t"), Measure::Least(col("t"))).is_none(),
            "the least text"
        );
        let many = df!("t" => (0..100).map(|n| format!("sample {n}")).collect::<Vec<_>>())
            .expect("a frame");
        assert!(
            GroupBy::new(&[col("t")], vec![Measure::Rows])
                .aggregate_rows(many.lazy(), Vec::new(), 0, name)
                .expect("runs")
                .is_none(),
            "each row a group"
        );
    }
}
