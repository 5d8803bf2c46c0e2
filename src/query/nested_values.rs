//! Lists and structs: the common type of several, their elements, and DuckDB's order of them.

use std::ops::Range;

use polars::prelude::*;

use super::decimal_widths::DecimalWidth;
use super::engine_errors::refusal;
use super::type_names::type_name;
use super::whole_numbers::{limits, too_large, type_of};

pub(super) fn is_nested(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::List(_) | DataType::Array(..) | DataType::Struct(_)
    )
}

/// Number of rows of the arguments of a function; columns of one row are broadcast.
pub(super) fn row_count(columns: &[Column]) -> usize {
    columns
        .iter()
        .map(Column::len)
        .find(|&length| length != 1)
        .unwrap_or(1)
}

/// The column with `rows` rows; one of one row is broadcast.
pub(super) fn broadcast_column(column: &Column, rows: usize) -> Column {
    if column.len() == rows {
        column.clone()
    } else {
        column.new_from_index(0, rows)
    }
}

/// The field of the result of an aggregate that is one of the values of its argument.
pub(super) fn keep_first_field(_: &Schema, fields: &[Field]) -> PolarsResult<Field> {
    Ok(fields
        .first()
        .cloned()
        .unwrap_or(Field::new(PlSmallStr::EMPTY, DataType::Null)))
}

/// The field of a result of the type `dtype`, which is named as the first argument.
pub(super) fn build_result_field(arguments: &[Field], dtype: &DataType) -> Field {
    let name = arguments
        .first()
        .map_or(PlSmallStr::EMPTY, |field| field.name().clone());
    Field::new(name, dtype.clone())
}

/// The row of a column that belongs to `row` of all arguments.
pub(super) fn broadcast_row(length: usize, row: usize) -> usize {
    if length == 1 { 0 } else { row }
}

/// The type that holds values of all `types`, as of the elements of a list or of the branches of
/// CASE. A written number takes the type of the others if it fits in it. Numbers of UBIGINT and
/// signed ones, which are HUGEINT in DuckDB, are BIGINT: [`cast_to`] refuses those that do not fit.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for types that have none.
pub(super) fn common_type(types: &[DataType]) -> PolarsResult<DataType> {
    let mut known: Option<DataType> = None;
    for dtype in types
        .iter()
        .filter(|dtype| !matches!(dtype, DataType::Unknown(_)))
    {
        known = Some(known.map_or_else(|| Ok(dtype.clone()), |known| unify_types(&known, dtype))?);
    }
    for written in types {
        let DataType::Unknown(kind) = written else {
            continue;
        };
        if known
            .as_ref()
            .is_some_and(|dtype| holds_written_value(dtype, kind))
        {
            continue;
        }
        let own = match kind {
            UnknownKind::Int(number) => type_of(*number),
            UnknownKind::Float => DataType::Float64,
            UnknownKind::Str => DataType::String,
            UnknownKind::Any => {
                return Err(refusal(
                    "the values of a list have types that are not known",
                ));
            }
        };
        known = Some(known.map_or_else(|| Ok(own.clone()), |known| unify_types(&known, &own))?);
    }
    Ok(known.unwrap_or(DataType::Null))
}

/// True for types that hold a written value of this kind without the type of the value.
fn holds_written_value(dtype: &DataType, kind: &UnknownKind) -> bool {
    match (kind, limits(dtype)) {
        (UnknownKind::Int(number), Some((least, most))) => (least..=most).contains(number),
        (UnknownKind::Int(_), None) => dtype.is_float(),
        // A written fraction is DOUBLE, also beside FLOAT.
        (UnknownKind::Float, _) => *dtype == DataType::Float64,
        (UnknownKind::Str, _) => dtype.is_string(),
        (UnknownKind::Any, _) => false,
    }
}

/// The type that holds the values of two known types.
fn unify_types(one: &DataType, other: &DataType) -> PolarsResult<DataType> {
    use DataType::{
        Boolean, Categorical, Date, Datetime, Decimal, Enum, Float32, Float64, List, Null, String,
        Struct,
    };
    Ok(match (one, other) {
        _ if one == other => one.clone(),
        (Null, dtype) | (dtype, Null) => dtype.clone(),
        (Float64, dtype) | (dtype, Float64) if dtype.is_numeric() => Float64,
        (Decimal(..), dtype) | (dtype, Decimal(..)) if dtype.is_numeric() => {
            let widths = DecimalWidth::of_type(one).zip(DecimalWidth::of_type(other));
            widths.map_or(Float64, |(one, other)| {
                let joined = one.common_width(other);
                Decimal(joined.width, joined.scale)
            })
        }
        (Float32, dtype) | (dtype, Float32) if dtype.is_integer() => Float32,
        (Boolean, dtype) | (dtype, Boolean) if dtype.is_integer() => dtype.clone(),
        (Date, Datetime(_, None)) | (Datetime(_, None), Date) => {
            Datetime(TimeUnit::Microseconds, None)
        }
        // A time without a zone is one in UTC, the zone of the session.
        (Datetime(_, Some(zone)), Date | Datetime(_, None))
        | (Date | Datetime(_, None), Datetime(_, Some(zone))) => {
            Datetime(TimeUnit::Microseconds, Some(zone.clone()))
        }
        (Datetime(_, one_zone), Datetime(_, other_zone)) if one_zone == other_zone => {
            Datetime(TimeUnit::Microseconds, one_zone.clone())
        }
        (String | Categorical(..) | Enum(..), String | Categorical(..) | Enum(..)) => String,
        (List(one), List(other)) => List(Box::new(unify_types(one, other)?)),
        (Struct(fields), Struct(others)) if are_named_alike(fields, others) => Struct(
            fields
                .iter()
                .zip(others)
                .map(|(one, other)| unify_fields(one, other))
                .collect::<PolarsResult<_>>()?,
        ),
        (one, other) => match (limits(one), limits(other)) {
            (Some(limit), Some(other_limit)) => {
                whole_type(limit.0.min(other_limit.0), limit.1.max(other_limit.1))
            }
            _ => {
                let (one, other) = (type_name(one), type_name(other));
                return Err(refusal(format!(
                    "values of the types {one} and {other} have no type in common"
                )));
            }
        },
    })
}

fn unify_fields(one: &Field, other: &Field) -> PolarsResult<Field> {
    Ok(Field::new(
        one.name().clone(),
        unify_types(one.dtype(), other.dtype())?,
    ))
}

fn are_named_alike(fields: &[Field], others: &[Field]) -> bool {
    fields.len() == others.len()
        && fields
            .iter()
            .zip(others)
            .all(|(one, other)| one.name() == other.name())
}

/// The smallest integer type with these limits, at most 64 bits.
fn whole_type(least: i128, most: i128) -> DataType {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let holds = |dtype: &DataType| {
        limits(dtype).is_some_and(|(own_least, own_most)| own_least <= least && most <= own_most)
    };
    [UInt8, Int8, UInt16, Int16, UInt32, Int32, UInt64, Int64]
        .into_iter()
        .find(holds)
        .unwrap_or(Int64)
}

/// The column with values of another type that [`common_type`] chose.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for numbers that do not fit.
pub(super) fn cast_to(column: &Column, dtype: &DataType) -> PolarsResult<Series> {
    let series = column.as_materialized_series();
    if series.dtype() == dtype {
        return Ok(series.clone());
    }
    if series.dtype().is_null() {
        return Ok(Series::full_null(
            series.name().clone(),
            series.len(),
            dtype,
        ));
    }
    series
        .strict_cast(dtype)
        .map_err(|_| too_large(format!("a number does not fit in {}", type_name(dtype))))
}

/// Columns behind one another, each with the row at which it begins.
///
/// # Errors
/// As [`cast_to`].
pub(super) fn stack_columns(
    columns: &[Column],
    dtype: &DataType,
) -> PolarsResult<(Series, Vec<usize>)> {
    let mut all = Series::new_empty(PlSmallStr::EMPTY, dtype);
    let mut starts = Vec::with_capacity(columns.len());
    for column in columns {
        starts.push(all.len());
        all.append(&cast_to(column, dtype)?)?;
    }
    Ok((all, starts))
}

/// The rows at these places, null for `None`.
pub(super) fn take_places(
    series: &Series,
    places: impl IntoIterator<Item = Option<usize>>,
) -> PolarsResult<Series> {
    let places: Vec<Option<IdxSize>> = places
        .into_iter()
        .map(|place| place.map(|place| place as IdxSize))
        .collect();
    series.take(&IdxCa::from_iter(places))
}

/// The lists of a column as ranges of one column of elements.
pub(super) struct ListRanges {
    pub elements: Series,
    rows: Vec<Option<(usize, usize)>>,
}

impl ListRanges {
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a column that has no lists.
    pub fn from_column(column: &Column) -> PolarsResult<Self> {
        let whole = column.as_materialized_series().rechunk();
        if whole.dtype().is_null() {
            return Ok(Self {
                elements: Series::new_empty(PlSmallStr::EMPTY, &DataType::Null),
                rows: vec![None; whole.len()],
            });
        }
        let Ok(lists) = whole.list() else {
            return Err(refusal(format!(
                "a list is needed, not a value of the type {}",
                type_name(whole.dtype())
            )));
        };
        let known = whole.is_not_null();
        let offsets = lists
            .downcast_iter()
            .flat_map(|chunk| chunk.offsets().as_slice().windows(2));
        let rows = offsets.zip(known.iter()).map(|(pair, known)| {
            // A null may have elements below it.
            known
                .unwrap_or(false)
                .then_some((pair[0] as usize, pair[1] as usize))
        });
        Ok(Self {
            rows: rows.collect(),
            elements: lists.get_inner(),
        })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Places of the elements of a row; `None` for null.
    pub fn row(&self, row: usize) -> Option<Range<usize>> {
        self.rows[broadcast_row(self.rows.len(), row)].map(|(start, end)| start..end)
    }
}

/// Lists under construction, of elements of another column.
#[derive(Default)]
pub(super) struct ListsBuilder {
    places: Vec<Option<usize>>,
    ends: Vec<i64>,
    known: Vec<bool>,
}

impl ListsBuilder {
    /// A list of the elements at these places, null for `None`.
    pub fn push(&mut self, places: impl IntoIterator<Item = Option<usize>>) {
        self.places.extend(places);
        self.ends.push(self.places.len() as i64);
        self.known.push(true);
    }

    pub fn push_null(&mut self) {
        self.ends.push(self.places.len() as i64);
        self.known.push(false);
    }

    /// # Errors
    /// Those of the engine.
    pub fn finish(self, elements: &Series) -> PolarsResult<Series> {
        let dtype = DataType::List(Box::new(elements.dtype().clone()));
        if self.known.iter().all(|known| !known) {
            return Ok(Series::full_null(
                PlSmallStr::EMPTY,
                self.known.len(),
                &dtype,
            ));
        }
        let values = take_places(elements, self.places)?
            .rechunk()
            .to_arrow(0, CompatLevel::newest());
        let offsets: Vec<i64> = std::iter::once(0).chain(self.ends).collect();
        let validity = self
            .known
            .iter()
            .any(|known| !known)
            .then(|| self.known.iter().copied().collect());
        let item = LargeListArray::default_datatype(values.dtype().clone());
        let lists = LargeListArray::try_new(item, offsets.try_into()?, values, validity)?;
        let lists = Series::from_arrow_chunks(PlSmallStr::EMPTY, vec![Box::new(lists)])?;
        if *lists.dtype() == dtype {
            Ok(lists)
        } else {
            lists.cast(&dtype)
        }
    }
}

/// Keys of values, in whose byte order the values have DuckDB's order: element by element, nulls
/// within a value greatest, NaN the greatest number, a list before its continuations. Null for
/// null.
///
/// Values of two columns compare by their keys if both are made for the type of
/// [`comparable_type`].
///
/// # Errors
/// [`crate::error::Kind::Usage`] for types without an order.
pub(super) fn order_keys(column: &Column, for_type: &DataType) -> PolarsResult<BinaryChunked> {
    let known = column.as_materialized_series().is_not_null();
    let values = KeyValues::from_column(column, for_type)?;
    let mut key = Vec::new();
    let mut keys = BinaryChunkedBuilder::new(column.name().clone(), column.len());
    for (row, known) in known.iter().enumerate() {
        if known.unwrap_or(false) {
            key.clear();
            values.write(row, &mut key);
            keys.append_value(&key);
        } else {
            keys.append_null();
        }
    }
    Ok(keys.finish())
}

/// The place of the least or of the greatest of several keys.
pub(super) fn extreme_of<'k>(
    keys: impl Iterator<Item = (&'k [u8], usize)>,
    greatest: bool,
) -> Option<usize> {
    let best = if greatest {
        keys.max_by_key(|(key, _)| *key)
    } else {
        keys.min_by_key(|(key, _)| *key)
    };
    best.map(|(_, place)| place)
}

/// The column, with [`order_keys`] instead of values whose order in the engine is another one.
///
/// # Errors
/// As [`order_keys`].
pub(super) fn sortable(column: &Column) -> PolarsResult<Column> {
    if is_nested(column.dtype()) {
        Ok(order_keys(column, column.dtype())?.into_column())
    } else {
        Ok(column.clone())
    }
}

/// The type for which [`order_keys`] of values of both types can be compared.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for types that are not compared.
pub(super) fn comparable_type(one: &DataType, other: &DataType) -> PolarsResult<DataType> {
    let found = find_comparison_type(one, other);
    found.ok_or_else(|| {
        let (one, other) = (type_name(one), type_name(other));
        refusal(format!(
            "values of the types {one} and {other} can't be compared"
        ))
    })
}

fn find_comparison_type(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{List, Struct};
    let is_whole = |dtype: &DataType| dtype.is_integer() || dtype.is_bool();
    Some(match (one, other) {
        (one, other) if one == other => one.clone(),
        (DataType::Null, dtype) | (dtype, DataType::Null) => dtype.clone(),
        (List(one), List(other)) => List(Box::new(find_comparison_type(one, other)?)),
        (Struct(fields), Struct(others)) if are_named_alike(fields, others) => Struct(
            fields
                .iter()
                .zip(others)
                .map(|(one, other)| find_comparison_field(one, other))
                .collect::<Option<_>>()?,
        ),
        // Keys of all integer types are alike.
        (one, other) if is_whole(one) && is_whole(other) => one.clone(),
        (one, other) if is_number_or_written(one) && is_number_or_written(other) => {
            DataType::Float64
        }
        (DataType::Date | DataType::Datetime(..), DataType::Date | DataType::Datetime(..)) => {
            one.clone()
        }
        (one, other) if is_text(one) && is_text(other) => DataType::String,
        _ => return None,
    })
}

fn is_number_or_written(dtype: &DataType) -> bool {
    dtype.is_numeric()
        || matches!(
            dtype,
            DataType::Unknown(UnknownKind::Int(_) | UnknownKind::Float)
        )
}

fn find_comparison_field(one: &Field, other: &Field) -> Option<Field> {
    Some(Field::new(
        one.name().clone(),
        find_comparison_type(one.dtype(), other.dtype())?,
    ))
}

fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::String
            | DataType::Categorical(..)
            | DataType::Enum(..)
            | DataType::Unknown(UnknownKind::Str)
    )
}

/// First byte of a value, of a null, and after the last element of a list, in their order.
const END: u8 = 0;
const VALUE: u8 = 1;
const NULL_VALUE: u8 = 2;

/// A column as its keys are written.
enum KeyValues {
    Nulls,
    /// Integers, truth values, and times in nanoseconds.
    Wholes(Vec<Option<i128>>),
    Fractions(Float64Chunked),
    Bytes(BinaryChunked),
    Lists(ListRanges, Box<KeyValues>),
    Structs {
        known: Vec<bool>,
        fields: Vec<KeyValues>,
    },
}

fn nanoseconds_per_unit(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Nanoseconds => 1,
        TimeUnit::Microseconds => 1_000,
        TimeUnit::Milliseconds => 1_000_000,
    }
}

impl KeyValues {
    fn from_column(column: &Column, for_type: &DataType) -> PolarsResult<Self> {
        let series = column.as_materialized_series().rechunk();
        let physical = || series.to_physical_repr().cast(&DataType::Int64);
        Ok(match series.dtype() {
            DataType::Null => Self::Nulls,
            dtype if dtype.is_numeric() && for_type.is_float() => {
                Self::Fractions(series.cast(&DataType::Float64)?.f64()?.clone())
            }
            dtype if dtype.is_float() => {
                Self::Fractions(series.cast(&DataType::Float64)?.f64()?.clone())
            }
            DataType::UInt64 => Self::Wholes(
                series
                    .u64()?
                    .iter()
                    .map(|number| number.map(i128::from))
                    .collect(),
            ),
            dtype if dtype.is_integer() || dtype.is_bool() => {
                Self::scale_wholes(series.cast(&DataType::Int64)?.i64()?, 1)
            }
            DataType::Decimal(..) => Self::Wholes(series.decimal()?.physical().iter().collect()),
            DataType::Date => Self::scale_wholes(physical()?.i64()?, 86_400_000_000_000),
            DataType::Time => Self::scale_wholes(physical()?.i64()?, 1),
            DataType::Datetime(unit, _) | DataType::Duration(unit) => {
                Self::scale_wholes(physical()?.i64()?, nanoseconds_per_unit(*unit))
            }
            DataType::Binary => Self::Bytes(series.binary()?.clone()),
            dtype if is_text(dtype) => Self::Bytes(
                series
                    .cast(&DataType::String)?
                    .cast(&DataType::Binary)?
                    .binary()?
                    .clone(),
            ),
            DataType::List(_) => {
                let lists = ListRanges::from_column(&series.clone().into_column())?;
                let DataType::List(item) = for_type else {
                    return Err(Self::unlike(series.dtype(), for_type));
                };
                let elements = Self::from_column(&lists.elements.clone().into_column(), item)?;
                Self::Lists(lists, Box::new(elements))
            }
            DataType::Struct(_) => {
                let known = series
                    .is_not_null()
                    .iter()
                    .map(|known| known.unwrap_or(false))
                    .collect();
                let DataType::Struct(wanted) = for_type else {
                    return Err(Self::unlike(series.dtype(), for_type));
                };
                let members = series.struct_()?.fields_as_series();
                let field = |(member, wanted): (Series, &Field)| {
                    Self::from_column(&member.into_column(), wanted.dtype())
                };
                let fields = members
                    .into_iter()
                    .zip(wanted)
                    .map(field)
                    .collect::<PolarsResult<_>>()?;
                Self::Structs { known, fields }
            }
            other => {
                return Err(refusal(format!(
                    "values of the type {} have no order",
                    type_name(other)
                )));
            }
        })
    }

    fn scale_wholes(numbers: &Int64Chunked, scale: i128) -> Self {
        Self::Wholes(
            numbers
                .iter()
                .map(|number| number.map(|number| i128::from(number) * scale))
                .collect(),
        )
    }

    fn unlike(one: &DataType, other: &DataType) -> PolarsError {
        refusal(format!(
            "values of the types {} and {} can't be compared",
            type_name(one),
            type_name(other)
        ))
    }

    fn write(&self, row: usize, key: &mut Vec<u8>) {
        match self {
            Self::Nulls => key.push(NULL_VALUE),
            Self::Wholes(numbers) => match numbers[row] {
                None => key.push(NULL_VALUE),
                Some(number) => {
                    key.push(VALUE);
                    // With the sign turned, negative numbers come first.
                    key.extend_from_slice(&((number as u128) ^ (1 << 127)).to_be_bytes());
                }
            },
            Self::Fractions(numbers) => match numbers.get(row) {
                None => key.push(NULL_VALUE),
                Some(number) => {
                    key.push(VALUE);
                    key.extend_from_slice(&fraction_key(number).to_be_bytes());
                }
            },
            Self::Bytes(values) => match values.get(row) {
                None => key.push(NULL_VALUE),
                Some(value) => {
                    key.push(VALUE);
                    for byte in value {
                        key.push(*byte);
                        // A value ends with two zeros: one within it is followed by another byte.
                        if *byte == 0 {
                            key.push(u8::MAX);
                        }
                    }
                    key.extend_from_slice(&[0, 0]);
                }
            },
            Self::Lists(lists, elements) => match lists.row(row) {
                None => key.push(NULL_VALUE),
                Some(range) => {
                    key.push(VALUE);
                    range.for_each(|place| elements.write(place, key));
                    key.push(END);
                }
            },
            Self::Structs { known, fields } => {
                if known[row] {
                    key.push(VALUE);
                    fields.iter().for_each(|field| field.write(row, key));
                } else {
                    key.push(NULL_VALUE);
                }
            }
        }
    }
}

/// A number in the order of DuckDB: zeros are equal, and NaN is the greatest.
fn fraction_key(number: f64) -> u64 {
    if number.is_nan() {
        return u64::MAX;
    }
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    if bits >> 63 == 1 {
        !bits
    } else {
        bits ^ (1 << 63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(rows: &[Option<&[Option<f64>]>]) -> Column {
        let lists: ListChunked = rows
            .iter()
            .map(|row| row.map(|row| Series::new(PlSmallStr::EMPTY, row)))
            .collect();
        lists
            .into_series()
            .cast(&DataType::List(Box::new(DataType::Float64)))
            .expect("lists")
            .into_column()
    }

    fn keys(column: &Column) -> Vec<Option<Vec<u8>>> {
        order_keys(column, column.dtype())
            .expect("keys")
            .iter()
            .map(|key| key.map(<[u8]>::to_vec))
            .collect()
    }

    #[test]
    fn lists_are_in_the_order_of_duckdb() {
        let ordered: [&[Option<f64>]; 9] = [
            &[],
            &[Some(f64::NEG_INFINITY)],
            &[Some(-1.5), None],
            &[Some(0.0)],
            &[Some(0.0), Some(2.0)],
            &[Some(1.0), Some(2.0)],
            &[Some(f64::INFINITY), None],
            &[Some(f64::NAN)],
            &[None],
        ];
        let keys = keys(&lists(&ordered.map(Some)));
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
        let zeros = self::keys(&lists(&[Some(&[Some(0.0)]), Some(&[Some(-0.0)]), None]));
        assert!(zeros[0] == zeros[1] && zeros[2].is_none());
    }

    #[test]
    fn texts_with_zeros_are_in_byte_order() {
        let texts = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\u{1}", "ab", "b"];
        let fields = [Series::new("t".into(), texts)];
        let structs = StructChunked::from_series("s".into(), texts.len(), fields.iter())
            .expect("structs")
            .into_column();
        assert!(keys(&structs).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn numbers_of_all_integer_types_have_the_same_keys() {
        let list = |series: Series| Column::from(series.implode().expect("a list").into_series());
        let signed = list(Series::new("n".into(), [3i32, -1]));
        let wide = list(Series::new("n".into(), [3i64, -1]));
        let unsigned = list(Series::new("n".into(), [3u64, u64::MAX]));
        assert_eq!(keys(&signed), keys(&wide));
        assert!(keys(&signed) < keys(&unsigned));
    }

    #[test]
    fn the_elements_of_a_list_have_one_type() {
        use DataType::{Boolean, Float32, Float64, Int16, Int32, Int64, UInt8, UInt64};
        let written = |number: i128| DataType::Unknown(UnknownKind::Int(number));
        for (types, wanted) in [
            (vec![UInt64, written(1)], UInt64),
            (vec![UInt64, written(-1)], Int64),
            (vec![UInt64, Int64], Int64),
            (vec![UInt8, written(1000)], Int32),
            (vec![UInt8, DataType::Int8], Int16),
            (vec![written(1), written(5_000_000_000)], Int64),
            (vec![written(1), DataType::Null], Int32),
            (vec![Float32, Int64, written(7)], Float32),
            (vec![Float32, Float64], Float64),
            (
                vec![Float32, DataType::Unknown(UnknownKind::Float)],
                Float64,
            ),
            (vec![Int64, DataType::Unknown(UnknownKind::Float)], Float64),
            (vec![Boolean, Int64], Int64),
            (vec![DataType::Null], DataType::Null),
        ] {
            assert_eq!(common_type(&types).expect("a type"), wanted, "{types:?}");
        }
        assert!(common_type(&[DataType::String, Int64]).is_err());
    }

    #[test]
    fn elements_are_taken_out_of_lists_and_put_into_them() {
        let column = lists(&[
            Some(&[Some(1.0), None]),
            None,
            Some(&[]),
            Some(&[Some(2.0)]),
        ]);
        let sliced = ListRanges::from_column(&column.slice(1, 3)).expect("lists");
        assert_eq!(
            (
                sliced.row(0),
                sliced.row(1).map(|row| row.len()),
                sliced.len()
            ),
            (None, Some(0), 3)
        );
        let all = ListRanges::from_column(&column).expect("lists");
        let mut builder = ListsBuilder::default();
        for row in 0..all.len() {
            match all.row(row) {
                Some(row) => builder.push(row.map(Some)),
                None => builder.push_null(),
            }
        }
        let again = builder.finish(&all.elements).expect("lists");
        assert!(
            again.equals_missing(column.as_materialized_series()),
            "{again:?}"
        );
    }
}
