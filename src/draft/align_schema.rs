//! Aligns the fields of all tortillas of a level, as PIT-2 requires one schema per level (TACO 2.0,
//! section 5.4). Pure: returns edits.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

use super::{Care, Edit, Fix, FixVerb};
use crate::error::{Error, Result};
use crate::model::{Dataset, FieldSpec, NodePath, Sample, Schema, Tortilla, Value, dtype_name};
use crate::table::{infer_type, value_text};

/// The edit that sets the same fields for all tortillas of a level: those of the first tortilla,
/// then those of the others, filled with nulls. A field with several types is cast to the first
/// tortilla's type, or where that loses a value to int64, float64 or string. `None` when the fields
/// are equal, or even a cast to string would lose a value.
pub fn one_schema(dataset: &Dataset, level: usize) -> Option<Fix> {
    let mut tortillas = Vec::new();
    collect(&dataset.root, level, &mut NodePath::root(), &mut tortillas);
    let below: Vec<&Tortilla> = tortillas.iter().map(|(_, tortilla)| *tortilla).collect();
    let schema = common_schema(&below).ok()?;
    let mut edits = Vec::new();
    let mut odd = None;
    for (path, tortilla) in &tortillas {
        if tortilla.schema != schema {
            odd.get_or_insert(&tortilla.schema);
            let with = Arc::new(with_schema(tortilla, &schema));
            edits.push(Edit::ReplaceTortilla {
                tortilla: path.clone(),
                with,
            });
        }
    }
    let preview = (describe_fields(odd?), describe_fields(&schema));
    let affects = edits.len() as u64;
    let label = tr_n!(
        affects,
        "Give {n} tortilla of level {level} the same fields",
        "Give {n} tortillas of level {level} the same fields",
        n = affects,
        level
    );
    let edit = Edit::Batch {
        label: label.clone(),
        edits,
    };
    Some(Fix {
        verb: FixVerb::Align,
        label,
        edit,
        care: Care::Safe,
        affects,
        preview,
        renames: Vec::new(),
        drops: Vec::new(),
    })
}

fn describe_fields(schema: &Schema) -> Vec<String> {
    schema
        .iter()
        .map(|field| format!("{} {}", field.name, dtype_name(&field.dtype)))
        .collect()
}

/// Both tortillas as one: the samples of `first`, then those of `second`. Fields are chosen as in
/// [`one_schema`].
///
/// # Errors
/// Names the field whose values no type holds.
pub fn join_tortillas(first: &Tortilla, second: &Tortilla) -> Result<Tortilla> {
    let schema = common_schema(&[first, second]).map_err(|field| {
        Error::usage(format!(
            "the field {field} has values of two types, and a text of one of them \
            would not be complete"
        ))
        .hint("rename the field on one side first")
    })?;
    let mut joined = fit_to_schema(first, &schema);
    joined
        .samples
        .extend(fit_to_schema(second, &schema).samples);
    Ok(joined)
}

fn fit_to_schema(tortilla: &Tortilla, schema: &Schema) -> Tortilla {
    if tortilla.schema == *schema {
        tortilla.clone()
    } else {
        with_schema(tortilla, schema)
    }
}

/// The fields of all tortillas in order of their first appearance, each with the type of its first
/// tortilla, or where that loses a value int64, float64 or string. Fails with the name of a field
/// of which even a string would lose a value.
fn common_schema(tortillas: &[&Tortilla]) -> std::result::Result<Schema, String> {
    let mut fields: Vec<FieldSpec> = Vec::new();
    for field in tortillas.iter().flat_map(|tortilla| tortilla.schema.iter()) {
        match fields.iter_mut().find(|known| known.name == field.name) {
            None => fields.push(field.clone()),
            Some(known) if known.dtype == DataType::Null => known.dtype = field.dtype.clone(),
            Some(_) => {}
        }
    }
    for field in &mut fields {
        let lost = |dtype: &DataType| loses_value_as(tortillas, field, dtype);
        if lost(&field.dtype) {
            let number = |dtype: &DataType| dtype.is_integer() || dtype.is_floating();
            let wider = [DataType::Int64, DataType::Float64]
                .into_iter()
                .filter(|_| number(&field.dtype));
            let found = wider.chain([DataType::Utf8]).find(|dtype| !lost(dtype));
            field.dtype = found.ok_or_else(|| field.name.clone())?;
        }
    }
    Ok(fields.into())
}

/// True when a tortilla loses a value of the field as another type.
fn loses_value_as(tortillas: &[&Tortilla], field: &FieldSpec, dtype: &DataType) -> bool {
    let field = FieldSpec {
        dtype: dtype.clone(),
        ..field.clone()
    };
    tortillas
        .iter()
        .any(|tortilla| loses_values(tortilla, &field))
}

fn collect<'a>(
    tortilla: &'a Tortilla,
    level: usize,
    path: &mut NodePath,
    found: &mut Vec<(NodePath, &'a Tortilla)>,
) {
    if level == 0 {
        found.push((path.clone(), tortilla));
        return;
    }
    for (sample, position) in tortilla.samples.iter().zip(0..) {
        if let Some(children) = sample.children() {
            path.0.push(position);
            collect(children, level - 1, path, found);
            path.0.pop();
        }
    }
}

/// True when the cast would lose a value of the field.
fn loses_values(tortilla: &Tortilla, field: &FieldSpec) -> bool {
    let Some(index) = tortilla.field(&field.name) else {
        return false;
    };
    let from = &tortilla.schema[index].dtype;
    let mut values = tortilla.samples.iter().map(|sample| sample.value(index));
    *from != field.dtype && values.any(|value| is_lost_in_cast(value, from, &field.dtype))
}

/// A string that does not survive the round trip through a number, like `007`, stays a string.
fn is_lost_in_cast(value: &Value, from: &DataType, to: &DataType) -> bool {
    match (cast(value, from, to), value) {
        (None, _) => true,
        (Some(new), Value::Text(text)) => value_text(&new, to) != **text,
        (Some(_), _) => false,
    }
}

fn with_schema(tortilla: &Tortilla, schema: &Schema) -> Tortilla {
    let sources: Vec<Option<usize>> = schema
        .iter()
        .map(|field| tortilla.field(&field.name))
        .collect();
    let samples = tortilla.samples.iter().map(|sample| Sample {
        id: sample.id.clone(),
        payload: sample.payload.clone(),
        values: cast_values(sample, tortilla, schema, &sources),
    });
    Tortilla {
        schema: schema.clone(),
        samples: samples.collect(),
    }
}

/// The values of a sample in the fields of `schema`; `sources` has the index of each in
/// `tortilla`.
fn cast_values(
    sample: &Sample,
    tortilla: &Tortilla,
    schema: &Schema,
    sources: &[Option<usize>],
) -> Arc<[Value]> {
    let values = schema.iter().zip(sources).map(|(field, source)| {
        let index = (*source)?;
        let from = &tortilla.schema[index].dtype;
        cast(sample.value(index), from, &field.dtype)
    });
    values.map(Option::unwrap_or_default).collect()
}

/// Converts a value to another type; `None` when that would lose information.
pub fn cast(value: &Value, from: &DataType, to: &DataType) -> Option<Value> {
    if value.is_null() || from == to {
        return Some(value.clone());
    }
    if is_text(to) {
        return as_text(value, from);
    }
    if is_binary(from) && is_binary(to) {
        return bytes_of(value).map(Value::Bytes);
    }
    let exact = |number: i64| is_exact_in_float(number, to);
    let plain =
        from.is_integer() || from.is_floating() || is_text(from) || *from == DataType::Boolean;
    match (value, to) {
        _ if !plain => None,
        (Value::Int(number), DataType::Float32 | DataType::Float64) => {
            exact(*number).then_some(Value::Float(*number as f64))
        }
        (Value::UInt(number), DataType::Float32 | DataType::Float64) => i64::try_from(*number)
            .ok()
            .filter(|number| exact(*number))
            .map(|number| Value::Float(number as f64)),
        (Value::Float(_), DataType::Float64) => Some(value.clone()),
        (Value::Float(number), DataType::Float32) => {
            (f64::from(*number as f32) == *number).then(|| value.clone())
        }
        (Value::Float(number), _) if number.fract() == 0.0 && number.abs() <= 9e15 => {
            cast(&Value::Int(*number as i64), &DataType::Int64, to)
        }
        (Value::Int(number), _) => fit_integer_type((*number).into(), to),
        (Value::UInt(number), _) => fit_integer_type((*number).into(), to),
        (Value::Text(text), _) => {
            let number = number_of(text.trim())?;
            cast(&number, &infer_type(&number), to)
        }
        _ => None,
    }
}

/// The number as a value of an integer type; `None` for other types and out of range.
fn fit_integer_type(number: i128, dtype: &DataType) -> Option<Value> {
    let (min, max) = match dtype {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    };
    if !(min..=max).contains(&number) {
        None
    } else if dtype.is_unsigned_integer() {
        u64::try_from(number).ok().map(Value::UInt)
    } else {
        i64::try_from(number).ok().map(Value::Int)
    }
}

/// Integers beyond 2^53, or 2^24 in single precision, would be rounded.
fn is_exact_in_float(number: i64, dtype: &DataType) -> bool {
    number.unsigned_abs() <= 1 << 53
        && (*dtype == DataType::Float64 || number.unsigned_abs() <= 1 << 24)
}

fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_binary(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// The number that a text represents. `None` for integers that do not fit 64 bits, as a float would
/// round them.
fn number_of(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return text
            .parse::<i64>()
            .ok()
            .map(Value::Int)
            .or_else(|| text.parse::<u64>().ok().map(Value::UInt));
    }
    text.parse::<f64>().ok().map(Value::Float)
}

/// The complete value as text: bytes as hexadecimal digits; `None` for nested values that contain
/// bytes, whose display text is truncated.
fn as_text(value: &Value, from: &DataType) -> Option<Value> {
    if let Some(bytes) = bytes_of(value) {
        return Some(Value::text(hex::encode(bytes)));
    }
    match value {
        Value::Text(_) => Some(value.clone()),
        _ if holds_bytes(value) => None,
        _ => Some(Value::text(value_text(value, from))),
    }
}

/// The bytes of a binary value of any Arrow binary type.
fn bytes_of(value: &Value) -> Option<Arc<[u8]>> {
    match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::Other(array) => {
            let view = array.as_binary_view_opt().map(|view| view.value(0));
            view.or_else(|| array.as_fixed_size_binary_opt().map(|fixed| fixed.value(0)))
                .map(Arc::from)
        }
        _ => None,
    }
}

fn holds_bytes(value: &Value) -> bool {
    fn contains_binary_type(dtype: &DataType) -> bool {
        match dtype {
            DataType::FixedSizeBinary(_) => true,
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                contains_binary_type(item.data_type())
            }
            DataType::ListView(item) | DataType::LargeListView(item) | DataType::Map(item, _) => {
                contains_binary_type(item.data_type())
            }
            DataType::Struct(fields) => fields
                .iter()
                .any(|field| contains_binary_type(field.data_type())),
            DataType::Dictionary(_, values) => contains_binary_type(values),
            DataType::RunEndEncoded(_, values) => contains_binary_type(values.data_type()),
            DataType::Union(fields, _) => fields
                .iter()
                .any(|(_, field)| contains_binary_type(field.data_type())),
            other => is_binary(other),
        }
    }
    match value {
        Value::Bytes(_) => true,
        Value::List(items) => items.iter().any(holds_bytes),
        Value::Other(array) => contains_binary_type(array.data_type()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BinaryArray, BinaryViewArray, StructArray};
    use arrow::datatypes::Field;

    use super::*;

    fn tortilla(name: &str, dtype: DataType, value: Value) -> Tortilla {
        let mut sample = Sample::new_file("x", "/x", 1);
        sample.values = vec![value].into();
        Tortilla {
            schema: vec![FieldSpec::new(name, dtype)].into(),
            samples: vec![sample],
        }
    }

    #[test]
    fn a_level_gets_one_schema_without_losing_a_value() {
        let roots = vec![
            Sample::new_folder("a", tortilla("cloud", DataType::Float64, Value::Float(1.5))),
            Sample::new_folder("b", tortilla("cloud", DataType::Int64, Value::Int(3))),
            Sample::new_folder("c", tortilla("split", DataType::Utf8, Value::text("train"))),
        ];
        let mut dataset = Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        };
        let fix = one_schema(&dataset, 1).expect("is needed");
        assert_eq!((fix.affects, fix.care), (3, Care::Safe));
        fix.edit.apply(&mut dataset).expect("applies");
        let below = |index: usize| dataset.root.samples[index].children().expect("is a FOLDER");
        assert_eq!(below(1).samples[0].value(0), &Value::Float(3.0));
        assert_eq!(
            below(2).samples[0].values.to_vec(),
            [Value::Null, Value::text("train")]
        );
        assert_eq!(one_schema(&dataset, 1), None);
    }

    #[test]
    fn joined_tortillas_have_the_fields_of_both() {
        let first = tortilla("cloud", DataType::Int64, Value::Int(3));
        let mut second = tortilla("cloud", DataType::Float64, Value::Float(1.5));
        second.schema = vec![
            second.schema[0].clone(),
            FieldSpec::new("split", DataType::Utf8),
        ]
        .into();
        second.samples[0].values = vec![Value::Float(1.5), Value::text("train")].into();
        let both = join_tortillas(&first, &second).expect("one schema");
        let types: Vec<_> = both
            .schema
            .iter()
            .map(|field| (field.name.as_str(), field.dtype.clone()))
            .collect();
        assert_eq!(
            types,
            [("cloud", DataType::Float64), ("split", DataType::Utf8)]
        );
        let values: Vec<_> = both
            .samples
            .iter()
            .map(|sample| sample.values.to_vec())
            .collect();
        assert_eq!(
            values,
            [
                [Value::Float(3.0), Value::Null],
                [Value::Float(1.5), Value::text("train")]
            ]
        );
        let list = DataType::List(Arc::new(Field::new("item", DataType::Binary, true)));
        let bytes = tortilla(
            "cloud",
            list,
            Value::List(vec![Value::Bytes([1].as_slice().into())].into()),
        );
        assert_eq!(
            common_schema(&[&first, &bytes]).expect_err("no type holds both"),
            "cloud"
        );
        assert!(join_tortillas(&first, &bytes).is_err());
    }

    #[test]
    fn whole_numbers_beside_others_become_doubles() {
        let roots = vec![
            Sample::new_folder("a", tortilla("cloud", DataType::Int64, Value::Int(3))),
            Sample::new_folder("b", tortilla("cloud", DataType::Float64, Value::Float(1.5))),
        ];
        let mut dataset = Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        };
        one_schema(&dataset, 1)
            .expect("is needed")
            .edit
            .apply(&mut dataset)
            .expect("applies");
        let below = |index: usize| dataset.root.samples[index].children().expect("is a FOLDER");
        assert_eq!(
            (
                below(0).schema[0].dtype.clone(),
                below(0).samples[0].value(0)
            ),
            (DataType::Float64, &Value::Float(3.0))
        );
    }

    #[test]
    fn casts_that_lose_values_are_refused() {
        let int = DataType::Int64;
        assert_eq!(
            cast(&Value::Float(2.0), &DataType::Float64, &int),
            Some(Value::Int(2))
        );
        assert_eq!(cast(&Value::Float(2.5), &DataType::Float64, &int), None);
        assert_eq!(cast(&Value::Int(300), &int, &DataType::UInt8), None);
        assert_eq!(
            cast(&Value::text(" 7 "), &DataType::Utf8, &DataType::UInt8),
            Some(Value::UInt(7))
        );
        assert_eq!(cast(&Value::text("x"), &DataType::Utf8, &int), None);
        assert_eq!(cast(&Value::Int(i64::MAX), &int, &DataType::Float64), None);
    }

    #[test]
    fn kinds_of_text_and_of_bytes_keep_the_value() {
        let bytes = Value::Bytes((0..40).collect());
        let binaries = [
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
        ];
        let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
        for (kinds, value) in [(&binaries, bytes), (&texts, Value::text(" 7 "))] {
            for from in kinds {
                for to in kinds {
                    assert_eq!(
                        cast(&value, from, to),
                        Some(value.clone()),
                        "{from} to {to}"
                    );
                }
            }
        }
        // A view is stored in an array; plain binary stores its bytes directly.
        let view: ArrayRef = Arc::new(BinaryViewArray::from(vec![b"some".as_slice()]));
        let plain = Value::Bytes(b"some".as_slice().into());
        assert_eq!(
            cast(
                &Value::Other(view),
                &DataType::BinaryView,
                &DataType::Binary
            ),
            Some(plain)
        );
    }

    #[test]
    fn bytes_become_text_whole_or_not_at_all() {
        let bytes = Value::Bytes((0..40).collect());
        let Some(Value::Text(text)) = cast(&bytes, &DataType::Binary, &DataType::Utf8) else {
            panic!("is text")
        };
        assert!(
            text.len() == 80 && text.starts_with("000102") && text.ends_with("252627"),
            "{text}"
        );
        let mut point = vec![1u8, 1, 0, 0, 0];
        point.extend([0u8; 16]);
        let hexed = cast(
            &Value::Bytes(point.into()),
            &DataType::LargeBinary,
            &DataType::LargeUtf8,
        );
        assert_eq!(hexed, Some(Value::text(format!("0101{}", "0".repeat(38)))));
        let view: ArrayRef = Arc::new(BinaryViewArray::from(vec![[0xABu8; 30].as_slice()]));
        assert_eq!(
            cast(&Value::Other(view), &DataType::BinaryView, &DataType::Utf8),
            Some(Value::text("ab".repeat(30)))
        );

        let list = |item: DataType| DataType::List(Arc::new(Field::new("item", item, true)));
        let inner = Value::List(vec![Value::List(vec![Value::Null, bytes].into())].into());
        assert_eq!(
            cast(&inner, &list(list(DataType::Binary)), &DataType::Utf8),
            None
        );
        let numbers = Value::List(vec![Value::Int(1), Value::Int(2)].into());
        assert_eq!(
            cast(&numbers, &list(DataType::Int64), &DataType::Utf8),
            Some(Value::text("[1, 2]"))
        );
        let array: ArrayRef = Arc::new(BinaryArray::from(vec![b"x".as_slice()]));
        let pair = StructArray::from(vec![(
            Arc::new(Field::new("b", DataType::Binary, true)),
            array,
        )]);
        let dtype = pair.data_type().clone();
        assert_eq!(
            cast(&Value::Other(Arc::new(pair)), &dtype, &DataType::Utf8),
            None
        );

        // Where text would lose bytes, there is no fix.
        let roots = vec![
            Sample::new_folder("a", tortilla("x", DataType::Utf8, Value::text("t"))),
            Sample::new_folder("b", tortilla("x", list(list(DataType::Binary)), inner)),
        ];
        assert_eq!(
            one_schema(
                &Dataset {
                    root: Tortilla::new(roots).into(),
                    ..Dataset::default()
                },
                1
            ),
            None
        );
    }

    #[test]
    fn whole_numbers_in_text_are_not_rounded() {
        let read = |text: &str, to: DataType| cast(&Value::text(text), &DataType::Utf8, &to);
        assert_eq!(
            read("18446744073709551615", DataType::UInt64),
            Some(Value::UInt(u64::MAX))
        );
        for text in [
            "18446744073709551615",
            "+9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(
                (read(text, DataType::Float64), read(text, DataType::Int64)),
                (None, None),
                "{text}"
            );
        }
        assert_eq!(read("007", DataType::Int64), Some(Value::Int(7)));
        assert_eq!(read("+7", DataType::Float64), Some(Value::Float(7.0)));
        assert_eq!(read("1.5", DataType::Float64), Some(Value::Float(1.5)));
    }

    #[test]
    fn text_becomes_numbers_by_itself_only_when_they_read_the_same() {
        let given = |dtype: DataType, number: Value, text: &str| {
            let roots = vec![
                Sample::new_folder("a", tortilla("code", dtype, number)),
                Sample::new_folder("b", tortilla("code", DataType::Utf8, Value::text(text))),
            ];
            let mut dataset = Dataset {
                root: Tortilla::new(roots).into(),
                ..Dataset::default()
            };
            one_schema(&dataset, 1)
                .expect("is needed")
                .edit
                .apply(&mut dataset)
                .expect("applies");
            [0, 1].map(|root: usize| {
                dataset.root.samples[root]
                    .children()
                    .expect("is a FOLDER")
                    .samples[0]
                    .value(0)
                    .clone()
            })
        };
        for text in ["007", "+7", " 7", "7.0", "7e0"] {
            assert_eq!(
                given(DataType::Int64, Value::Int(3), text),
                [Value::text("3"), Value::text(text)]
            );
        }
        assert_eq!(
            given(DataType::Int64, Value::Int(3), "7"),
            [Value::Int(3), Value::Int(7)]
        );
        assert_eq!(
            given(DataType::Float64, Value::Float(0.5), "1.50"),
            [Value::text("0.5"), Value::text("1.50")]
        );
        assert_eq!(
            given(DataType::Float64, Value::Float(0.5), "1.5"),
            [Value::Float(0.5), Value::Float(1.5)]
        );
    }
}
