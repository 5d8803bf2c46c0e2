//! Two levels with columns of every type, as Parquet files of several row groups.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, ListBuilder, RecordBatch, StringArray,
    StringBuilder, StructArray, TimestampMicrosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{Field, Fields, Float64Type, Int64Type};
use rand_chacha::ChaCha8Rng;
use taco_studio::query::{Tables, VsiBase};
use taco_studio::table::{ParquetOptions, ParquetSlice, TableHead, write_parquet};

use super::grammar::{chance, pick};
use super::tree::Ty;
use crate::support::Workspace;

/// Columns of both levels that statements use, with the type of each; those named twice are used
/// twice as often.
pub const COLUMNS: [(&str, Ty); 36] = [
    ("k", Ty::Int),
    ("k", Ty::Int),
    ("g", Ty::Int),
    ("g", Ty::Int),
    ("i8", Ty::Int),
    ("i16", Ty::Int),
    ("i32", Ty::Int),
    ("i64", Ty::Int),
    ("i64", Ty::Int),
    ("u8", Ty::Int),
    ("u16", Ty::Int),
    ("u32", Ty::Int),
    ("u64", Ty::Int),
    ("big", Ty::Int),
    ("one", Ty::Int),
    ("void", Ty::Int),
    ("x", Ty::Float),
    ("x", Ty::Float),
    ("f64", Ty::Float),
    ("f32", Ty::Float),
    ("id", Ty::Text),
    ("s", Ty::Text),
    ("s", Ty::Text),
    ("t", Ty::Text),
    ("digits", Ty::Text),
    ("b", Ty::Bool),
    ("d", Ty::Date),
    ("ts", Ty::Time),
    ("tz", Ty::Zoned),
    ("li", Ty::Ints),
    ("lf", Ty::Floats),
    ("lt", Ty::Texts),
    ("bin", Ty::Bytes),
    ("ll", Ty::Nested),
    ("st", Ty::Struct),
    ("st", Ty::Struct),
];

const ROWS: [usize; 2] = [17, 26];
const ROW_GROUP_ROWS: usize = 8;

/// The levels for the studio, and the tables of DuckDB with the same rows: name and statement.
pub fn write_levels(
    workspace: &Workspace,
    random: &mut ChaCha8Rng,
) -> (Tables, Vec<(String, String)>) {
    let mut tables = Tables::new(VsiBase::None);
    let mut statements = Vec::new();
    for (level, rows) in ROWS.into_iter().enumerate() {
        let batch = batch(level, rows, random);
        let options = ParquetOptions {
            row_group_rows: ROW_GROUP_ROWS,
            ..ParquetOptions::default()
        };
        let bytes = write_parquet(&batch.schema(), &[batch], &options).expect("writes");
        let path = workspace.write(&format!("level{level}.parquet"), &bytes);
        statements.push((
            format!("level{level}"),
            format!("SELECT * FROM read_parquet('{}')", path.display()),
        ));
        tables
            .push_parquet(TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("reads"));
    }
    statements.push((
        "data".to_owned(),
        "SELECT * FROM level0 WHERE NOT starts_with(id, '__TACOPAD')".to_owned(),
    ));
    (tables, statements)
}

/// Values of which about a seventh is null.
fn some<T: Copy>(values: &[T], rows: usize, random: &mut ChaCha8Rng) -> Vec<Option<T>> {
    (0..rows)
        .map(|_| {
            if chance(random, 14) {
                None
            } else {
                Some(*pick(random, values))
            }
        })
        .collect()
}

fn batch(level: usize, rows: usize, random: &mut ChaCha8Rng) -> RecordBatch {
    let is_padding = |row: usize| level == 0 && row + 1 == rows;
    let ids: Vec<String> = (0..rows)
        .map(|row| {
            if is_padding(row) {
                "__TACOPAD__0".to_owned()
            } else {
                format!("{}{row:02}", ["tile_", "scene-"][level])
            }
        })
        .collect();
    let k: Vec<i64> = (0..rows as i64)
        .map(|row| row * 7 % rows as i64 - 3)
        .collect();
    let texts = [
        "", "train", "test", "val", "Train", "a'b", "x,y", "50%", "a_b", "  pad ",
    ];
    let unicode = [
        "ñandú", "Ünï", "日本", "a\"q\"", "\\", "e\u{301}", "z", "", "🌍 x", "STRASSE",
    ];
    let digits = ["0", "12", "-7", "3.5", "abc", "", " 4", "1e2", "true"];
    let floats = [
        0.0,
        -0.0,
        1.5,
        -2.25,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.5,
        2.5,
        1024.125,
        3.0,
    ];
    let finite = [0.0, 0.5, 1.5, 2.5, -2.5, 3.0, -7.75, 100.0, 0.125, 12.5];
    let days = [0, 18_321, -1, 18_993, 11_016, 19_919, 18_261];
    let micros = [
        0,
        1_582_979_696_000_000,
        -1,
        1_640_995_199_500_000,
        951_825_600_000_000,
        1_583_020_800_000_000,
        1_720_000_000_123_456,
    ];
    let micros: Vec<i64> = micros.to_vec();
    let text = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let struct_of = |random: &mut ChaCha8Rng| -> ArrayRef {
        let a: ArrayRef = Arc::new(Int64Array::from(some(&[1, 2, 3, -4], rows, random)));
        let b = text(some(&["p", "q", ""], rows, random));
        let fields = Fields::from(vec![
            Field::new("a", a.data_type().clone(), true),
            Field::new("b", b.data_type().clone(), true),
        ]);
        let valid: Vec<bool> = (0..rows).map(|_| !chance(random, 10)).collect();
        Arc::new(StructArray::new(
            fields,
            vec![a, b],
            Some(NullBuffer::from(valid)),
        ))
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(StringArray::from(ids))),
        ("k", Arc::new(Int64Array::from(k.clone()))),
        (
            "g",
            Arc::new(Int32Array::from(some(&[1, 2, 3], rows, random))),
        ),
        (
            "i8",
            Arc::new(Int8Array::from(some(&[-128, 127, 0, 5, -3], rows, random))),
        ),
        (
            "i16",
            Arc::new(Int16Array::from(some(&[-300, 300, 0, 7, 2], rows, random))),
        ),
        (
            "i32",
            Arc::new(Int32Array::from(some(
                &[-70_000, 70_000, 0, 1, 4],
                rows,
                random,
            ))),
        ),
        (
            "i64",
            Arc::new(Int64Array::from(some(
                &[-5, 0, 3, 7, 12, 1_000_000],
                rows,
                random,
            ))),
        ),
        (
            "u8",
            Arc::new(UInt8Array::from(some(&[0, 255, 3, 10], rows, random))),
        ),
        (
            "u16",
            Arc::new(UInt16Array::from(some(&[0, 65_535, 3, 400], rows, random))),
        ),
        (
            "u32",
            Arc::new(UInt32Array::from(some(
                &[0, 4_000_000_000, 3, 9],
                rows,
                random,
            ))),
        ),
        (
            "u64",
            Arc::new(UInt64Array::from(some(
                &[0, u64::MAX, 3, 1 << 40],
                rows,
                random,
            ))),
        ),
        (
            "big",
            Arc::new(Int64Array::from(some(
                &[1 << 62, -(1 << 62), 9_007_199_254_740_993, 0],
                rows,
                random,
            ))),
        ),
        ("one", Arc::new(Int64Array::from(vec![1; rows]))),
        ("void", Arc::new(Int64Array::from(vec![None; rows]))),
        (
            "x",
            Arc::new(Float64Array::from(some(&finite, rows, random))),
        ),
        (
            "f64",
            Arc::new(Float64Array::from(some(&floats, rows, random))),
        ),
        (
            "f32",
            Arc::new(Float32Array::from(some(
                &[0.0, 1.5, -2.25, f32::NAN, 0.5, 8.0, 0.1],
                rows,
                random,
            ))),
        ),
        ("s", text(some(&texts, rows, random))),
        ("t", text(some(&unicode, rows, random))),
        ("digits", text(some(&digits, rows, random))),
        (
            "b",
            Arc::new(BooleanArray::from(some(&[true, false], rows, random))),
        ),
        ("d", Arc::new(Date32Array::from(some(&days, rows, random)))),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(some(&micros, rows, random))),
        ),
        (
            "tz",
            Arc::new(
                TimestampMicrosecondArray::from(some(&micros, rows, random)).with_timezone("UTC"),
            ),
        ),
        (
            "li",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists(
                &[1, 2, 3, -4],
                rows,
                random,
            ))),
        ),
        (
            "lf",
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists(
                &[0.5, 1.5, -2.0],
                rows,
                random,
            ))),
        ),
        ("lt", text_lists(rows, random)),
        (
            "bin",
            Arc::new(BinaryArray::from(some(
                &[b"".as_slice(), b"\x00\xff", b"abc"],
                rows,
                random,
            ))),
        ),
        ("ll", nested(rows, random)),
        ("st", struct_of(random)),
        (
            "internal:current_id",
            Arc::new(Int64Array::from_iter_values(0..rows as i64)),
        ),
        (
            "internal:parent_id",
            Arc::new(Int64Array::from_iter_values(
                (0..rows).map(|row| (row % (ROWS[0] - 1)) as i64),
            )),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("a batch")
}

/// Lists of which some are null, some empty, and some have a null.
fn lists<T: Copy>(
    values: &[T],
    rows: usize,
    random: &mut ChaCha8Rng,
) -> Vec<Option<Vec<Option<T>>>> {
    let list = |random: &mut ChaCha8Rng| {
        let length = *pick(random, &[0, 1, 2, 3, 3]);
        Some(some(values, length, random)).filter(|_| !chance(random, 14))
    };
    (0..rows).map(|_| list(random)).collect()
}

fn text_lists(rows: usize, random: &mut ChaCha8Rng) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for list in lists(&["a", "b", "", "ñ"], rows, random) {
        match list {
            Some(list) => builder.append_value(list),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

fn nested(rows: usize, random: &mut ChaCha8Rng) -> ArrayRef {
    let lengths: Vec<usize> = (0..rows).map(|_| *pick(random, &[0, 1, 2, 2])).collect();
    let inner = ListArray::from_iter_primitive::<Int64Type, _, _>(lists(
        &[1, 2],
        lengths.iter().sum(),
        random,
    ));
    let field = Arc::new(Field::new(
        "item",
        arrow::array::Array::data_type(&inner).clone(),
        true,
    ));
    Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths(lengths),
        Arc::new(inner),
        None,
    ))
}
