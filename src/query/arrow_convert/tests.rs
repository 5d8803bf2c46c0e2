//! Round trips of columns in every Arrow layout, compared cell by cell through the checked
//! accessors of both sides: slices at any bit, undefined bytes under nulls, lists with gaps, empty
//! chunks.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, Decimal32Array,
    Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, GenericListArray, GenericStringArray, IntervalYearMonthArray,
    LargeBinaryArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray, RunArray,
    StringViewArray, StructArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, concat};
use arrow::datatypes::{
    self as files, ArrowPrimitiveType, DataType as FileType, Field, Fields, TimeUnit as Unit, i256,
};
use polars::prelude::{AnyValue, Column, DataFrame, DataType as EngineType, Series};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{batches, series};

/// A cell value common to both sides.
#[derive(Clone, Debug)]
enum SharedCell {
    Null,
    Bool(bool),
    Number(i128),
    Float(f64),
    Bytes(Vec<u8>),
    Many(Vec<SharedCell>),
}

impl PartialEq for SharedCell {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (SharedCell::Null, SharedCell::Null) => true,
            (SharedCell::Bool(a), SharedCell::Bool(b)) => a == b,
            (SharedCell::Number(a), SharedCell::Number(b)) => a == b,
            // Decimals converted to floating point are rounded.
            (SharedCell::Float(a), SharedCell::Float(b)) => {
                a.to_bits() == b.to_bits() || (a - b).abs() <= a.abs() * 1e-12
            }
            (SharedCell::Bytes(a), SharedCell::Bytes(b)) => a == b,
            (SharedCell::Many(a), SharedCell::Many(b)) => a == b,
            _ => false,
        }
    }
}

/// Generator of random arrays.
struct ArrayGenerator(ChaCha8Rng);

impl ArrayGenerator {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound.max(1) as u64) as usize
    }

    /// Validity bitmap, a slice of a longer one; none in a third of the calls.
    fn nulls(&mut self, length: usize) -> Option<NullBuffer> {
        if self.below(3) == 0 {
            return None;
        }
        let (before, after, share) = (self.below(70), self.below(10), 1 + self.below(4));
        let bits: BooleanBuffer = (0..before + length + after)
            .map(|_| self.below(share + 1) > 0)
            .collect();
        Some(NullBuffer::new(bits.slice(before, length)))
    }

    fn numbers<T: ArrowPrimitiveType>(
        &mut self,
        length: usize,
        number: impl Fn(u64) -> T::Native,
    ) -> PrimitiveArray<T> {
        let values: Vec<T::Native> = (0..length).map(|_| number(self.0.next_u64())).collect();
        // Values under nulls are random.
        PrimitiveArray::new(ScalarBuffer::from(values), self.nulls(length))
    }

    fn text(&mut self) -> String {
        const LETTERS: [char; 7] = ['a', 'Z', '\0', 'é', '漢', '🦀', '"'];
        // Views inline up to twelve bytes.
        let length = [0, 1, 3, 4, 11, 12, 13, 40][self.below(8)];
        let mut text = String::new();
        while text.len() < length {
            text.push(LETTERS[self.below(LETTERS.len())]);
        }
        text
    }

    /// Offsets with gaps at both ends, and the required length of the values.
    fn offsets<O: OffsetSizeTrait>(&mut self, lengths: &[usize]) -> (OffsetBuffer<O>, usize) {
        let mut at = self.below(4);
        let mut offsets = vec![O::usize_as(at)];
        for length in lengths {
            at += length;
            offsets.push(O::usize_as(at));
        }
        (OffsetBuffer::new(offsets.into()), at + self.below(3))
    }

    fn texts<O: OffsetSizeTrait>(&mut self, length: usize) -> GenericStringArray<O> {
        let texts: Vec<String> = (0..length).map(|_| self.text()).collect();
        let (offsets, end) = self.offsets::<O>(&texts.iter().map(String::len).collect::<Vec<_>>());
        let mut bytes = "x".repeat(offsets[0].as_usize()) + &texts.concat();
        bytes += &"y".repeat(end - bytes.len());
        GenericStringArray::new(
            offsets,
            Buffer::from(bytes.into_bytes()),
            self.nulls(length),
        )
    }

    fn list<O: OffsetSizeTrait>(&mut self, length: usize, depth: usize) -> GenericListArray<O> {
        let lengths: Vec<usize> = (0..length).map(|_| self.below(4)).collect();
        let (offsets, end) = self.offsets::<O>(&lengths);
        let values = self.array(end, depth);
        let field = Arc::new(Field::new("element", values.data_type().clone(), true));
        GenericListArray::new(field, offsets, values, self.nulls(length))
    }

    /// A slice of a longer array.
    fn array(&mut self, length: usize, depth: usize) -> ArrayRef {
        let (before, after) = (self.below(9), self.below(9));
        let kind = self.below(if depth == 0 { KINDS } else { KINDS + NESTED });
        self.of_kind(kind, before + length + after, depth)
            .slice(before, length)
    }

    fn of_kind(&mut self, kind: usize, length: usize, depth: usize) -> ArrayRef {
        let float = |bits: u64| f64::from_bits(bits);
        let near = |bits: u64| bits as i64 >> 24;
        let zone: Option<Arc<str>> = [
            None,
            Some("UTC".into()),
            Some("+00:00".into()),
            Some("Europe/Madrid".into()),
        ][self.below(4)]
        .clone();
        match kind {
            0 => Arc::new(BooleanArray::new(
                (0..length).map(|_| self.below(2) > 0).collect(),
                self.nulls(length),
            )),
            1 => Arc::new(self.numbers::<files::Int8Type>(length, |n| n as i8)),
            2 => Arc::new(self.numbers::<files::Int16Type>(length, |n| n as i16)),
            3 => Arc::new(self.numbers::<files::Int32Type>(length, |n| n as i32)),
            4 => Arc::new(self.numbers::<files::Int64Type>(length, |n| n as i64)),
            5 => Arc::new(self.numbers::<files::UInt8Type>(length, |n| n as u8)),
            6 => Arc::new(self.numbers::<files::UInt16Type>(length, |n| n as u16)),
            7 => Arc::new(self.numbers::<files::UInt32Type>(length, |n| n as u32)),
            8 => Arc::new(self.numbers::<files::UInt64Type>(length, |n| n)),
            9 => cast(
                &self.numbers::<files::Float32Type>(length, |n| (n as i16) as f32 / 8.0),
                &FileType::Float16,
            )
            .expect("casts"),
            10 => {
                Arc::new(self.numbers::<files::Float32Type>(length, |n| f32::from_bits(n as u32)))
            }
            11 => Arc::new(self.numbers::<files::Float64Type>(length, float)),
            12 => Arc::new(self.numbers::<files::Date32Type>(length, |n| n as i32 >> 8)),
            13 => Arc::new(self.numbers::<files::Date64Type>(length, near)),
            14 => {
                Arc::new(self.numbers::<files::Time32SecondType>(length, |n| (n % 86_400) as i32))
            }
            15 => Arc::new(
                self.numbers::<files::Time32MillisecondType>(length, |n| (n % 86_400_000) as i32),
            ),
            16 => {
                Arc::new(self.numbers::<files::Time64MicrosecondType>(length, |n| {
                    (n % 86_400_000_000) as i64
                }))
            }
            17 => Arc::new(self.numbers::<files::Time64NanosecondType>(length, |n| {
                (n % 86_400_000_000_000) as i64
            })),
            18 => Arc::new(
                self.numbers::<files::TimestampSecondType>(length, near)
                    .with_timezone_opt(zone),
            ),
            19 => Arc::new(
                self.numbers::<files::TimestampMillisecondType>(length, near)
                    .with_timezone_opt(zone),
            ),
            20 => Arc::new(
                self.numbers::<files::TimestampMicrosecondType>(length, near)
                    .with_timezone_opt(zone),
            ),
            21 => Arc::new(
                self.numbers::<files::TimestampNanosecondType>(length, |n| n as i64)
                    .with_timezone_opt(zone),
            ),
            22 => Arc::new(self.numbers::<files::DurationSecondType>(length, near)),
            23 => Arc::new(self.numbers::<files::DurationMicrosecondType>(length, |n| n as i64)),
            24 => {
                let array: Decimal128Array =
                    self.numbers(length, |n| i128::from(n as i64) * 1_000_003);
                Arc::new(array.with_precision_and_scale(30, 4).expect("fits"))
            }
            25 => {
                let array: Decimal32Array = self.numbers(length, |n| n as i32 % 1_000_000);
                Arc::new(array.with_precision_and_scale(9, 2).expect("fits"))
            }
            26 => {
                let array: Decimal64Array = self.numbers(length, near);
                Arc::new(array.with_precision_and_scale(18, 3).expect("fits"))
            }
            27 => {
                let array: Decimal256Array =
                    self.numbers(length, |n| i256::from_i128(i128::from(n as i64)));
                Arc::new(array.with_precision_and_scale(60, 2).expect("fits"))
            }
            28 => Arc::new(self.texts::<i32>(length)),
            29 => Arc::new(self.texts::<i64>(length)),
            30 => Arc::new(StringViewArray::from(&self.texts::<i32>(length))),
            31 => {
                // Few rows of many, so that unused buffers are dropped.
                let many = StringViewArray::from(&self.texts::<i32>(length + 400));
                Arc::new(many.slice(self.below(400), length))
            }
            32 => {
                // Views into several buffers.
                let (one, other) = (
                    self.texts::<i32>(length / 2),
                    self.texts::<i32>(length - length / 2),
                );
                concat(&[&StringViewArray::from(&one), &StringViewArray::from(&other)])
                    .expect("joins")
            }
            33 => Arc::new(BinaryArray::from(self.texts::<i32>(length))),
            34 => Arc::new(LargeBinaryArray::from(self.texts::<i64>(length))),
            35 => Arc::new(BinaryViewArray::from(&BinaryArray::from(
                self.texts::<i32>(length),
            ))),
            36 => {
                let bytes: Vec<u8> = (0..length * 5).map(|_| self.below(256) as u8).collect();
                Arc::new(FixedSizeBinaryArray::new(
                    5,
                    bytes.into(),
                    self.nulls(length),
                ))
            }
            37 => {
                let values = self.texts::<i32>(6);
                let keys = self.numbers::<files::Int8Type>(length, |n| (n % 6) as i8);
                Arc::new(DictionaryArray::new(keys, Arc::new(values)))
            }
            38 => {
                let values = self.numbers::<files::Int64Type>(6, |n| n as i64);
                let keys = self.numbers::<files::UInt16Type>(length, |n| (n % 6) as u16);
                Arc::new(DictionaryArray::new(keys, Arc::new(values)))
            }
            39 if length > 0 => {
                let runs = length.div_ceil(3);
                let ends: Vec<i32> = (1..=runs).map(|run| (run * 3).min(length) as i32).collect();
                let values = self.texts::<i32>(runs);
                Arc::new(
                    RunArray::<files::Int32Type>::try_new(&ends.into(), &values).expect("runs"),
                )
            }
            39 | 40 => Arc::new(NullArray::new(length)),
            41 => {
                Arc::new(self.numbers::<files::IntervalYearMonthType>(length, |n| n as i32 % 100))
            }
            42 => Arc::new(self.list::<i32>(length, depth - 1)),
            43 => Arc::new(self.list::<i64>(length, depth - 1)),
            44 => {
                let size = self.below(4);
                let values = self.array(length * size, depth - 1);
                let field = Arc::new(Field::new("element", values.data_type().clone(), true));
                let nulls = self.nulls(length);
                Arc::new(
                    FixedSizeListArray::try_new_with_length(
                        field,
                        size as i32,
                        values,
                        nulls,
                        length,
                    )
                    .expect("fits"),
                )
            }
            45 => {
                let members: Vec<ArrayRef> = (0..=self.below(3))
                    .map(|_| self.array(length, depth - 1))
                    .collect();
                let fields: Fields = members
                    .iter()
                    .enumerate()
                    .map(|(n, member)| {
                        Field::new(format!("m{n}"), member.data_type().clone(), true)
                    })
                    .collect();
                Arc::new(StructArray::new(fields, members, self.nulls(length)))
            }
            _ => {
                let lengths: Vec<usize> = (0..length).map(|_| self.below(3)).collect();
                let (offsets, end) = self.offsets::<i32>(&lengths);
                let keys: ArrayRef = Arc::new(UInt32Array::from_iter_values((0..end as u32).rev()));
                let values = self.array(end, depth - 1);
                let fields: Fields = vec![
                    Field::new("keys", FileType::UInt32, false),
                    Field::new("values", values.data_type().clone(), true),
                ]
                .into();
                let entries = StructArray::new(fields.clone(), vec![keys, values], None);
                let field = Arc::new(Field::new("entries", FileType::Struct(fields), false));
                Arc::new(MapArray::new(
                    field,
                    offsets,
                    entries,
                    self.nulls(length),
                    false,
                ))
            }
        }
    }
}

/// Number of non-nested kinds, and of nested ones.
const KINDS: usize = 42;
const NESTED: usize = 5;

/// Cells of an Arrow array, as the engine should return them.
fn cells(array: &dyn Array) -> Vec<SharedCell> {
    (0..array.len()).map(|row| cell(array, row)).collect()
}

fn cell(array: &dyn Array, row: usize) -> SharedCell {
    fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> i128
    where
        T::Native: TryInto<i128>,
    {
        array
            .as_primitive::<T>()
            .value(row)
            .try_into()
            .unwrap_or_else(|_| panic!("a number"))
    }
    if array.is_null(row) {
        return SharedCell::Null;
    }
    let plain = |scale: i8, digits: f64| SharedCell::Float(digits / 10f64.powi(i32::from(scale)));
    SharedCell::Number(match array.data_type() {
        FileType::Null => return SharedCell::Null,
        FileType::Boolean => return SharedCell::Bool(array.as_boolean().value(row)),
        FileType::Int8 => number::<files::Int8Type>(array, row),
        FileType::Int16 => number::<files::Int16Type>(array, row),
        FileType::Int32 => number::<files::Int32Type>(array, row),
        FileType::Int64 => number::<files::Int64Type>(array, row),
        FileType::UInt8 => number::<files::UInt8Type>(array, row),
        FileType::UInt16 => number::<files::UInt16Type>(array, row),
        FileType::UInt32 => number::<files::UInt32Type>(array, row),
        FileType::UInt64 => number::<files::UInt64Type>(array, row),
        FileType::Float16 => {
            return SharedCell::Float(f64::from(
                array.as_primitive::<files::Float16Type>().value(row),
            ));
        }
        FileType::Float32 => {
            return SharedCell::Float(f64::from(
                array.as_primitive::<files::Float32Type>().value(row),
            ));
        }
        FileType::Float64 => {
            return SharedCell::Float(array.as_primitive::<files::Float64Type>().value(row));
        }
        FileType::Date32 => number::<files::Date32Type>(array, row),
        // Days; a file of Parquet has no time of day here.
        FileType::Date64 => number::<files::Date64Type>(array, row) / 86_400_000,
        FileType::Time32(Unit::Second) => {
            number::<files::Time32SecondType>(array, row) * 1_000_000_000
        }
        FileType::Time32(_) => number::<files::Time32MillisecondType>(array, row) * 1_000_000,
        FileType::Time64(Unit::Microsecond) => {
            number::<files::Time64MicrosecondType>(array, row) * 1000
        }
        FileType::Time64(_) => number::<files::Time64NanosecondType>(array, row),
        FileType::Timestamp(Unit::Second, _) => {
            number::<files::TimestampSecondType>(array, row) * 1000
        }
        FileType::Timestamp(Unit::Millisecond, _) => {
            number::<files::TimestampMillisecondType>(array, row)
        }
        FileType::Timestamp(Unit::Microsecond, _) => {
            number::<files::TimestampMicrosecondType>(array, row)
        }
        FileType::Timestamp(Unit::Nanosecond, _) => {
            number::<files::TimestampNanosecondType>(array, row)
        }
        FileType::Duration(Unit::Second) => number::<files::DurationSecondType>(array, row) * 1000,
        FileType::Duration(Unit::Millisecond) => {
            number::<files::DurationMillisecondType>(array, row)
        }
        FileType::Duration(_) => number::<files::DurationMicrosecondType>(array, row),
        FileType::Decimal128(..) => array.as_primitive::<files::Decimal128Type>().value(row),
        FileType::Decimal32(_, scale) => {
            return plain(
                *scale,
                f64::from(array.as_primitive::<files::Decimal32Type>().value(row)),
            );
        }
        FileType::Decimal64(_, scale) => {
            return plain(
                *scale,
                array.as_primitive::<files::Decimal64Type>().value(row) as f64,
            );
        }
        FileType::Decimal256(_, scale) => {
            let digits = array
                .as_primitive::<files::Decimal256Type>()
                .value(row)
                .to_i128()
                .expect("is small");
            return plain(*scale, digits as f64);
        }
        FileType::Utf8 => return SharedCell::Bytes(array.as_string::<i32>().value(row).into()),
        FileType::LargeUtf8 => {
            return SharedCell::Bytes(array.as_string::<i64>().value(row).into());
        }
        FileType::Utf8View => return SharedCell::Bytes(array.as_string_view().value(row).into()),
        FileType::Binary => return SharedCell::Bytes(array.as_binary::<i32>().value(row).into()),
        FileType::LargeBinary => {
            return SharedCell::Bytes(array.as_binary::<i64>().value(row).into());
        }
        FileType::BinaryView => return SharedCell::Bytes(array.as_binary_view().value(row).into()),
        FileType::FixedSizeBinary(_) => {
            return SharedCell::Bytes(array.as_fixed_size_binary().value(row).into());
        }
        FileType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            return cell(dictionary.values(), dictionary.normalized_keys()[row]);
        }
        FileType::RunEndEncoded(_, _) => {
            let runs = array.as_run::<files::Int32Type>();
            return cell(runs.values(), runs.get_physical_index(row));
        }
        FileType::Interval(_) => {
            let months = array
                .as_any()
                .downcast_ref::<IntervalYearMonthArray>()
                .expect("months");
            let text = cast(&months.slice(row, 1), &FileType::Utf8).expect("casts");
            return SharedCell::Bytes(text.as_string::<i32>().value(0).into());
        }
        FileType::List(_) => return SharedCell::Many(cells(&array.as_list::<i32>().value(row))),
        FileType::LargeList(_) => {
            return SharedCell::Many(cells(&array.as_list::<i64>().value(row)));
        }
        FileType::FixedSizeList(_, _) => {
            return SharedCell::Many(cells(&array.as_fixed_size_list().value(row)));
        }
        FileType::Map(_, _) => return SharedCell::Many(cells(&array.as_map().value(row))),
        FileType::Struct(_) => {
            return SharedCell::Many(
                array
                    .as_struct()
                    .columns()
                    .iter()
                    .map(|member| cell(member, row))
                    .collect(),
            );
        }
        other => panic!("{other} is not made here"),
    })
}

/// Cells of an engine column.
fn engine_cells(series: &Series) -> Vec<SharedCell> {
    (0..series.len())
        .map(|row| engine_cell(series.get(row).expect("is a row")))
        .collect()
}

fn engine_cell(value: AnyValue<'_>) -> SharedCell {
    SharedCell::Number(match value {
        AnyValue::Null => return SharedCell::Null,
        AnyValue::Boolean(value) => return SharedCell::Bool(value),
        AnyValue::Int8(number) => number.into(),
        AnyValue::Int16(number) => number.into(),
        AnyValue::Int32(number) | AnyValue::Date(number) => number.into(),
        AnyValue::Int64(number)
        | AnyValue::Time(number)
        | AnyValue::Duration(number, _)
        | AnyValue::Datetime(number, _, _)
        | AnyValue::DatetimeOwned(number, _, _) => number.into(),
        AnyValue::UInt8(number) => number.into(),
        AnyValue::UInt16(number) => number.into(),
        AnyValue::UInt32(number) => number.into(),
        AnyValue::UInt64(number) => number.into(),
        AnyValue::Decimal(digits, _, _) => digits,
        AnyValue::Float32(number) => return SharedCell::Float(number.into()),
        AnyValue::Float64(number) => return SharedCell::Float(number),
        AnyValue::String(text) => return SharedCell::Bytes(text.into()),
        AnyValue::Binary(bytes) => return SharedCell::Bytes(bytes.into()),
        AnyValue::List(items) => return SharedCell::Many(engine_cells(&items)),
        value @ AnyValue::Struct(..) => {
            return SharedCell::Many(value._iter_struct_av().map(engine_cell).collect());
        }
        other => panic!("{other:?} is not expected"),
    })
}

/// Round trip of a column in several chunks, some empty.
fn goes_there_and_back(chunks: &[ArrayRef], what: &str) {
    let expected: Vec<SharedCell> = chunks.iter().flat_map(|chunk| cells(chunk)).collect();
    let dtype = chunks.first().expect("a chunk").data_type();
    let there = series("x", dtype, chunks.to_vec())
        .unwrap_or_else(|error| panic!("{what}, {dtype}: {error}"));
    assert_eq!(engine_cells(&there), expected, "{what}, {dtype}");
    let frame = DataFrame::new_infer_height(vec![Column::from(there)]).expect("is a frame");
    let (_, back) = batches(&frame).unwrap_or_else(|error| panic!("{what}, {dtype} back: {error}"));
    let found: Vec<SharedCell> = back
        .iter()
        .flat_map(|batch| cells(batch.column(0)))
        .collect();
    assert_eq!(found, expected, "{what}, {dtype} back");
}

#[test]
fn every_kind_of_column_comes_through_with_its_cells() {
    for kind in 0..KINDS + NESTED {
        for round in 0..12 {
            let mut make = ArrayGenerator(ChaCha8Rng::seed_from_u64((kind * 100 + round) as u64));
            let length = [0, 1, 7, 8, 9, 63, 65, 130][make.below(8)];
            // All chunks are slices of one array, hence of one type.
            let whole = make.of_kind(kind, length + 20, 2);
            let mut chunks = Vec::new();
            let mut at = make.below(20);
            for _ in 0..=make.below(3) {
                let count = make.below(whole.len() - at + 1);
                chunks.push(whole.slice(at, count));
                at += count;
            }
            goes_there_and_back(&chunks, &format!("kind {kind}, round {round}"));
        }
    }
}

#[test]
fn a_column_without_chunks_has_the_type_of_its_file() {
    let mut make = ArrayGenerator(ChaCha8Rng::seed_from_u64(7));
    for kind in 0..KINDS + NESTED {
        let array = make.of_kind(kind, 3, 1);
        let none = series("x", array.data_type(), Vec::new()).expect("is a column");
        let some = series("x", array.data_type(), vec![array.clone()]).expect("is a column");
        assert_eq!(
            (none.len(), none.dtype()),
            (0, some.dtype()),
            "{}",
            array.data_type()
        );
    }
}

/// Invalid UTF-8 in text columns is refused when the file is read; binary stays binary.
#[test]
fn bytes_that_are_no_text_stay_bytes() {
    let bytes =
        BinaryViewArray::from_iter_values([&b"\xff\xfe"[..], b"\xf0\x9f too long for a view \xff"]);
    goes_there_and_back(&[Arc::new(bytes)], "bytes");
}

/// Offsets and other zones that the database of time zones does not name: the instants are the same
/// in UTC.
#[test]
fn times_of_every_offset_are_instants_in_utc() {
    for (zone, wanted) in [
        ("+05:30", "UTC"),
        ("-03:30", "UTC"),
        ("+02", "UTC"),
        ("-0230", "UTC"),
        ("Z", "UTC"),
        ("UTC+1", "UTC"),
        ("utc", "UTC"),
        ("Europe/Madrid", "Europe/Madrid"),
    ] {
        let times = PrimitiveArray::<files::TimestampMicrosecondType>::from(vec![
            Some(86_400_000_000),
            None,
        ])
        .with_timezone(zone);
        let times: ArrayRef = Arc::new(times);
        let made = series("t", times.data_type(), vec![times.clone()]).expect("is converted");
        let EngineType::Datetime(_, Some(found)) = made.dtype() else {
            panic!("{zone}: {}", made.dtype())
        };
        assert_eq!(found.as_str(), wanted, "{zone}");
        assert_eq!(
            made.to_physical_repr().i64().expect("numbers").to_vec(),
            [Some(86_400_000_000), None],
            "{zone}"
        );
        let empty = series("t", times.data_type(), Vec::new()).expect("is converted");
        assert_eq!(empty.dtype(), made.dtype(), "{zone}");
    }
}

#[test]
fn views_of_lists_are_read_as_lists() {
    let lists = GenericListArray::<i32>::from_iter_primitive::<files::Int8Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(Vec::new()),
    ]);
    let FileType::List(item) = lists.data_type().clone() else {
        panic!("a list")
    };
    for dtype in [
        FileType::ListView(item.clone()),
        FileType::LargeListView(item),
    ] {
        let views = cast(&lists, &dtype).expect("casts");
        let wanted = series("a", lists.data_type(), vec![Arc::new(lists.clone())]).expect("reads");
        let found = series("a", &dtype, vec![views]).expect("reads");
        assert!(found.equals_missing(&wanted), "{dtype}");
    }
}
