//! Fields of a whole level: PIT-2 keeps one schema for each level, so a field is added, filled or cast in all of its tortillas
//! at once. Pure: gives edits.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::{Care, Edit, Fix, FixVerb};
use crate::model::{Dataset, FieldSpec, NodePath, Sample, Schema, Tortilla, Value, dtype_name};
use crate::table::value_text;

/// Gives all tortillas of a level the same fields: the first tortilla's and then those that only others have, filled with
/// nulls; types that differ are cast to the first one, where a value would be lost to int64 or double, else to text. `None` when they are the same.
pub fn one_schema(dataset: &Dataset, level: usize) -> Option<Fix> {
    let mut tortillas = Vec::new();
    collect(&dataset.root, level, &mut NodePath::root(), &mut tortillas);
    let mut fields: Vec<FieldSpec> = Vec::new();
    for (_, tortilla) in &tortillas {
        for field in tortilla.schema.iter() {
            match fields.iter_mut().find(|known| known.name == field.name) {
                None => fields.push(field.clone()),
                Some(known) if known.dtype == DataType::Null => known.dtype = field.dtype.clone(),
                Some(_) => {}
            }
        }
    }
    for field in &mut fields {
        let lost = |dtype: &DataType| {
            let field = FieldSpec { dtype: dtype.clone(), ..field.clone() };
            tortillas.iter().any(|(_, tortilla)| loses(tortilla, &field))
        };
        if lost(&field.dtype) {
            let number = |dtype: &DataType| dtype.is_integer() || dtype.is_floating();
            let wider = [DataType::Int64, DataType::Float64].into_iter().filter(|_| number(&field.dtype));
            field.dtype = wider.into_iter().find(|dtype| !lost(dtype)).unwrap_or(DataType::Utf8);
        }
    }
    let schema: Schema = fields.into();
    let mut edits = Vec::new();
    let mut odd = None;
    for (path, tortilla) in &tortillas {
        if tortilla.schema != schema {
            odd.get_or_insert(&tortilla.schema);
            let with = Arc::new(with_schema(tortilla, &schema));
            edits.push(Edit::ReplaceTortilla { tortilla: path.clone(), with });
        }
    }
    let lines = |schema: &Schema| schema.iter().map(|field| format!("{} {}", field.name, dtype_name(&field.dtype))).collect();
    let (affects, preview) = (edits.len() as u64, (lines(odd?), lines(&schema)));
    let label = tr_n!(
        affects,
        "Give {n} tortilla of level {level} the same fields",
        "Give {n} tortillas of level {level} the same fields",
        n = affects,
        level
    );
    let edit = Edit::Batch { label: label.clone(), edits };
    Some(Fix { verb: FixVerb::Give, label, edit, care: Care::Safe, affects, preview })
}

fn collect<'a>(tortilla: &'a Tortilla, level: usize, path: &mut NodePath, found: &mut Vec<(NodePath, &'a Tortilla)>) {
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

/// True when a value of the field can't be cast without a loss.
fn loses(tortilla: &Tortilla, field: &FieldSpec) -> bool {
    let Some(index) = tortilla.field(&field.name) else { return false };
    let from = &tortilla.schema[index].dtype;
    *from != field.dtype && tortilla.samples.iter().any(|sample| cast(sample.value(index), from, &field.dtype).is_none())
}

fn with_schema(tortilla: &Tortilla, schema: &Schema) -> Tortilla {
    let sources: Vec<Option<usize>> = schema.iter().map(|field| tortilla.field(&field.name)).collect();
    let row = |sample: &Sample| -> Arc<[Value]> {
        let cell = |(field, source): (&FieldSpec, &Option<usize>)| match *source {
            Some(index) => cast(sample.value(index), &tortilla.schema[index].dtype, &field.dtype).unwrap_or_default(),
            None => Value::Null,
        };
        schema.iter().zip(&sources).map(cell).collect()
    };
    let samples = tortilla.samples.iter().map(|sample| Sample {
        id: sample.id.clone(),
        payload: sample.payload.clone(),
        values: row(sample),
    });
    Tortilla { schema: schema.clone(), samples: samples.collect() }
}

/// A value in another type; `None` where that would lose something.
pub fn cast(value: &Value, from: &DataType, to: &DataType) -> Option<Value> {
    if value.is_null() || from == to {
        return Some(value.clone());
    }
    let fits = |number: i64| match to {
        DataType::Int8 => i8::try_from(number).is_ok(),
        DataType::Int16 => i16::try_from(number).is_ok(),
        DataType::Int32 => i32::try_from(number).is_ok(),
        DataType::Int64 => true,
        _ => false,
    };
    let unsigned = |number: u64| match to {
        DataType::UInt8 => u8::try_from(number).is_ok(),
        DataType::UInt16 => u16::try_from(number).is_ok(),
        DataType::UInt32 => u32::try_from(number).is_ok(),
        DataType::UInt64 => true,
        _ => false,
    };
    // Numbers beyond 2^53 would be rounded.
    let exact = |number: i64| number.unsigned_abs() <= 1 << 53 && (*to == DataType::Float64 || number.unsigned_abs() <= 1 << 24);
    let plain = from.is_integer() || from.is_floating() || matches!(from, DataType::Utf8 | DataType::LargeUtf8 | DataType::Boolean);
    match (value, to) {
        (_, DataType::Utf8 | DataType::LargeUtf8) => Some(Value::text(value_text(value, from))),
        _ if !plain => None,
        (Value::Int(number), DataType::Float32 | DataType::Float64) => exact(*number).then_some(Value::Float(*number as f64)),
        (Value::UInt(number), DataType::Float32 | DataType::Float64) => {
            i64::try_from(*number).ok().filter(|number| exact(*number)).map(|number| Value::Float(number as f64))
        }
        (Value::Float(_), DataType::Float64) => Some(value.clone()),
        (Value::Float(number), DataType::Float32) => (f64::from(*number as f32) == *number).then(|| value.clone()),
        (Value::Float(number), _) if number.fract() == 0.0 && number.abs() <= 9e15 => {
            cast(&Value::Int(*number as i64), &DataType::Int64, to)
        }
        (Value::Int(number), _) if fits(*number) => Some(Value::Int(*number)),
        (Value::Int(number), _) => u64::try_from(*number).ok().filter(|&number| unsigned(number)).map(Value::UInt),
        (Value::UInt(number), _) if unsigned(*number) => Some(Value::UInt(*number)),
        (Value::UInt(number), _) => i64::try_from(*number).ok().filter(|&number| fits(number)).map(Value::Int),
        (Value::Text(text), _) => {
            let text = text.trim();
            let number = text.parse::<i64>().ok().map(Value::Int).or_else(|| text.parse::<f64>().ok().map(Value::Float));
            let from = |value: &Value| if matches!(value, Value::Int(_)) { DataType::Int64 } else { DataType::Float64 };
            number.and_then(|number| cast(&number, &from(&number), to))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tortilla(name: &str, dtype: DataType, value: Value) -> Tortilla {
        let mut sample = Sample::file("x", "/x", 1);
        sample.values = vec![value].into();
        Tortilla { schema: vec![FieldSpec::new(name, dtype)].into(), samples: vec![sample] }
    }

    #[test]
    fn a_level_gets_one_schema_without_losing_a_value() {
        let roots = vec![
            Sample::folder("a", tortilla("cloud", DataType::Float64, Value::Float(1.5))),
            Sample::folder("b", tortilla("cloud", DataType::Int64, Value::Int(3))),
            Sample::folder("c", tortilla("split", DataType::Utf8, Value::text("train"))),
        ];
        let mut dataset = Dataset { root: Tortilla::new(roots).into(), ..Dataset::default() };
        let fix = one_schema(&dataset, 1).expect("is needed");
        assert_eq!((fix.affects, fix.care), (3, Care::Safe));
        fix.edit.apply(&mut dataset).expect("applies");
        let below = |index: usize| dataset.root.samples[index].children().expect("is a FOLDER");
        assert_eq!(below(1).samples[0].value(0), &Value::Float(3.0));
        assert_eq!(below(2).samples[0].values.to_vec(), [Value::Null, Value::text("train")]);
        assert_eq!(one_schema(&dataset, 1), None);
    }

    #[test]
    fn whole_numbers_beside_others_become_doubles() {
        let roots = vec![
            Sample::folder("a", tortilla("cloud", DataType::Int64, Value::Int(3))),
            Sample::folder("b", tortilla("cloud", DataType::Float64, Value::Float(1.5))),
        ];
        let mut dataset = Dataset { root: Tortilla::new(roots).into(), ..Dataset::default() };
        one_schema(&dataset, 1).expect("is needed").edit.apply(&mut dataset).expect("applies");
        let below = |index: usize| dataset.root.samples[index].children().expect("is a FOLDER");
        assert_eq!((below(0).schema[0].dtype.clone(), below(0).samples[0].value(0)), (DataType::Float64, &Value::Float(3.0)));
    }

    #[test]
    fn casts_refuse_what_they_would_lose() {
        let int = DataType::Int64;
        assert_eq!(cast(&Value::Float(2.0), &DataType::Float64, &int), Some(Value::Int(2)));
        assert_eq!(cast(&Value::Float(2.5), &DataType::Float64, &int), None);
        assert_eq!(cast(&Value::Int(300), &int, &DataType::UInt8), None);
        assert_eq!(cast(&Value::text(" 7 "), &DataType::Utf8, &DataType::UInt8), Some(Value::UInt(7)));
        assert_eq!(cast(&Value::text("x"), &DataType::Utf8, &int), None);
        assert_eq!(cast(&Value::Int(i64::MAX), &int, &DataType::Float64), None);
    }
}
