//! Columns of the other generations → metadata fields of 2.0: the table of names and forms, and the
//! values that don't survive. Pure: arrays in, arrays and a list out.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, RecordBatch, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, TimeUnit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::container::name_in_file;
use crate::error::{Error, Result};
use crate::model::{check_field_name, dtype_name, find_free_name};
use crate::table::{wkb_point, write_wkb_point};

/// How values change on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// Not at all.
    Same,
    /// Seconds since 1970 become timestamps in microseconds without a zone, which are UTC.
    Seconds,
    /// `POINT (x y)` becomes WKB, little endian.
    Point,
    /// A list of whole numbers of any size becomes one of int64.
    Integers,
    /// Long text becomes text.
    Text,
    /// A type that the readers of 2.0 can't load becomes the next one that they can.
    Loadable,
}

/// One column on its way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldMapping {
    /// The level.
    pub level: usize,
    /// The column's name in the old dataset.
    pub from: String,
    /// Its name in the new one; `None` when it is left out.
    pub to: Option<String>,
    /// Its type in the old dataset.
    pub from_type: String,
    /// Its type in the new one.
    pub to_type: Option<String>,
    /// Conversion of the values.
    pub conversion: Conversion,
    /// Values that are not null.
    pub values: usize,
    /// Rows whose value could not be converted and is null now.
    pub lost: Vec<u32>,
    /// Why, in a sentence; empty where nothing happens.
    pub note: String,
}

/// A person's choice for a column: another name, or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChoice {
    /// Only on this level; on all when absent.
    #[serde(default)]
    pub level: Option<usize>,
    /// The column's name in the old dataset.
    pub from: String,
    /// Its name in the new one; absent to leave it out.
    #[serde(default)]
    pub to: Option<String>,
}

/// A known column: its new name (none: it has no home), what becomes of the values, its description
/// or why it is left out.
type KnownColumn = (&'static str, Option<&'static str>, Conversion, &'static str);

const KNOWN: [KnownColumn; 15] = [
    ("tortilla:id", None, Conversion::Same, mark!("it is the id")),
    (
        "tortilla:offset",
        None,
        Conversion::Same,
        mark!("the writer makes internal:offset"),
    ),
    (
        "tortilla:length",
        None,
        Conversion::Same,
        mark!("the writer makes internal:size"),
    ),
    (
        "__index_level_0__",
        None,
        Conversion::Same,
        mark!("a row number that pandas left behind"),
    ),
    (
        "tortilla:root",
        None,
        Conversion::Same,
        mark!("the writer makes internal:parent_id"),
    ),
    (
        "tortilla:data_split",
        Some("split"),
        Conversion::Text,
        "Part of the dataset: train, validation or test.",
    ),
    (
        "tortilla:file_format",
        Some("tortilla:file_format"),
        Conversion::Text,
        "Format of the data, as GDAL names it.",
    ),
    (
        "stac:crs",
        Some("stac:crs"),
        Conversion::Text,
        "Coordinate reference system.",
    ),
    (
        "stac:geotransform",
        Some("stac:geotransform"),
        Conversion::Same,
        "Affine transformation from pixels to coordinates, as GDAL orders it.",
    ),
    (
        "stac:raster_shape",
        Some("stac:tensor_shape"),
        Conversion::Integers,
        "Shape of the data.",
    ),
    (
        "stac:tensor_shape",
        Some("stac:tensor_shape"),
        Conversion::Integers,
        "Shape of the data.",
    ),
    (
        "stac:time_start",
        Some("stac:time_start"),
        Conversion::Seconds,
        "Start of the acquisition, UTC.",
    ),
    (
        "stac:time_middle",
        Some("stac:time_middle"),
        Conversion::Seconds,
        "Middle of the acquisition, UTC.",
    ),
    (
        "stac:time_end",
        Some("stac:time_end"),
        Conversion::Seconds,
        "End of the acquisition, UTC.",
    ),
    (
        "stac:centroid",
        Some("stac:centroid"),
        Conversion::Point,
        "Centre in EPSG:4326, as WKB.",
    ),
];

/// The new columns of one level, each with its description.
pub type NewColumns = Vec<(Field, String, ArrayRef)>;

/// Maps the columns of a level. `batch` holds the file's own columns; `choices` come before the
/// table.
///
/// # Errors
/// When a column can't be converted.
pub fn map_level(
    level: usize,
    batch: &RecordBatch,
    choices: &[FieldChoice],
) -> Result<(NewColumns, Vec<FieldMapping>)> {
    let mut columns: NewColumns = Vec::new();
    let mut list = Vec::new();
    let mut taken: HashSet<String> = HashSet::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let name = field.name().as_str();
        if matches!(name, "id" | "type") || name.starts_with("internal:") {
            continue;
        }
        let values = array.len() - nulls_in(array);
        let mut mapping = FieldMapping {
            level,
            from: name_in_file(name).to_owned(),
            to: None,
            from_type: dtype_name(array.data_type()),
            to_type: None,
            conversion: Conversion::Same,
            values,
            lost: Vec::new(),
            note: String::new(),
        };
        let known = KNOWN.iter().find(|known| known.0 == name);
        let choice = choices.iter().find(|choice| {
            [name, mapping.from.as_str()].contains(&choice.from.as_str())
                && choice.level.is_none_or(|only| only == level)
        });
        let (wanted, note) = match (choice, known) {
            (Some(FieldChoice { to: None, .. }), _) => (None, tr!("left out by choice").to_owned()),
            (Some(FieldChoice { to: Some(to), .. }), _) => {
                (Some(to.clone()), tr!("named by choice").to_owned())
            }
            (None, Some(&(_, to, _, text))) => (
                to.map(str::to_owned),
                if to.is_none() {
                    crate::text::translate_text(text).to_owned()
                } else {
                    String::new()
                },
            ),
            (None, None) => (Some(name.to_owned()), String::new()),
        };
        mapping.note = note;
        let Some(wanted) = wanted else {
            list.push(mapping);
            continue;
        };
        // Without values nothing shows the type of a column: 2.0 readers join levels by type.
        if values == 0 && *array.data_type() == DataType::Null && choice.is_none() {
            mapping.note = tr!("it has no value in any row, and no type").into();
            list.push(mapping);
            continue;
        }
        if name == "tortilla:file_format" && choice.is_none() && all_are(array, "TORTILLA") {
            mapping.note = tr!("every row says TORTILLA, which is type FOLDER now").into();
            list.push(mapping);
            continue;
        }
        let conversion = known.map_or(Conversion::Same, |known| known.2);
        let (conversion, converted, lost) = convert(array, conversion)?;
        let to = take_field_name(&wanted, &mut taken);
        if to != wanted || (choice.is_none() && to != mapping.from) {
            let why = if to == wanted && wanted != name {
                tr!("the name that 2.0 gives it")
            } else {
                tr!("a name that 2.0 allows and that is free")
            };
            mapping.note = [mapping.note.as_str(), why]
                .iter()
                .filter(|text| !text.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join("; ");
        }
        if conversion == Conversion::Loadable {
            let why = tr!(
                "the readers of 2.0 can't load {dtype}",
                dtype = mapping.from_type
            );
            mapping.note = if mapping.note.is_empty() {
                why
            } else {
                format!("{}; {why}", mapping.note)
            };
        }
        let dtype = converted.data_type().clone();
        mapping.to_type = Some(dtype_name(&dtype));
        mapping.conversion = conversion;
        mapping.lost = lost;
        mapping.to = Some(to.clone());
        list.push(mapping);
        let description = known
            .filter(|known| known.1.is_some())
            .map_or(String::new(), |known| known.3.to_owned());
        columns.push((Field::new(to, dtype, true), description, converted));
    }
    Ok((columns, list))
}

/// Checks that every choice names a column that exists.
///
/// # Errors
/// For a choice without such a column, with the levels or columns that exist.
pub fn check_choices(choices: &[FieldChoice], list: &[FieldMapping], levels: usize) -> Result<()> {
    for choice in choices {
        if let Some(level) = choice.level.filter(|level| *level >= levels) {
            let error = Error::usage(format!(
                "there is no level {level} for the choice of {}",
                choice.from
            ));
            return Err(error.hint(format!("the dataset has {levels}, counted from 0")));
        }
        let there = |line: &&FieldMapping| choice.level.is_none_or(|level| level == line.level);
        if list
            .iter()
            .filter(there)
            .any(|line| line.from == choice.from)
        {
            continue;
        }
        let place = choice.level.map_or("no level has".to_owned(), |level| {
            format!("level {level} has no")
        });
        let mut names: Vec<&str> = Vec::new();
        for line in list.iter().filter(there) {
            if !names.contains(&line.from.as_str()) {
                names.push(&line.from);
            }
        }
        let error = Error::usage(format!(
            "{place} column {} that could get another name",
            choice.from
        ));
        return Err(error.hint(format!("the columns are {}", names.join(", "))));
    }
    Ok(())
}

fn nulls_in(array: &ArrayRef) -> usize {
    if *array.data_type() == DataType::Null {
        array.len()
    } else {
        array.null_count()
    }
}

fn all_are(array: &ArrayRef, word: &str) -> bool {
    let Ok(text) = cast(array, &DataType::Utf8) else {
        return false;
    };
    !text.is_empty()
        && text
            .as_string::<i32>()
            .iter()
            .all(|value| value == Some(word))
}

/// The name, with what 2.0 does not allow replaced, and a number where it is taken.
fn take_field_name(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut name = wanted.to_owned();
    if check_field_name(&name).is_err() {
        let colon = name.find(':').filter(|&at| at > 0 && at + 1 < name.len());
        name = name
            .char_indices()
            .map(|(at, c)| {
                if c.is_ascii_alphanumeric() || c == '_' || Some(at) == colon {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        if check_field_name(&name).is_err() {
            name = format!("field_{}", name.replace(':', "_"));
        }
    }
    find_free_name(&name, |name| taken.insert(name.to_owned()))
}

/// The values in their new form, and the rows that lost theirs. Values already in the new form are
/// kept.
fn convert(array: &ArrayRef, conversion: Conversion) -> Result<(Conversion, ArrayRef, Vec<u32>)> {
    let same = || Ok((Conversion::Same, array.clone(), Vec::new()));
    let dtype = array.data_type();
    match conversion {
        Conversion::Seconds if dtype.is_numeric() => {
            let seconds =
                cast(array, &DataType::Float64).map_err(|error| misfit_error(dtype, error))?;
            let seconds = seconds.as_primitive::<Float64Type>();
            let new: TimestampMicrosecondArray = seconds
                .iter()
                .map(|second| second.and_then(seconds_to_micros))
                .collect();
            let lost = lost_rows(seconds, &new);
            Ok((conversion, Arc::new(new), lost))
        }
        Conversion::Seconds if *dtype == DataType::Null => {
            let nulls = arrow::array::new_null_array(
                &DataType::Timestamp(TimeUnit::Microsecond, None),
                array.len(),
            );
            Ok((conversion, nulls, Vec::new()))
        }
        Conversion::Point if is_text(dtype) => {
            let text = cast(array, &DataType::Utf8).map_err(|error| misfit_error(dtype, error))?;
            let text = text.as_string::<i32>();
            let mut new = BinaryBuilder::new();
            for point in text {
                match point.and_then(|point| wkb_point(point.trim().as_bytes())) {
                    Some((x, y)) => new.append_value(write_wkb_point(x, y)),
                    None => new.append_null(),
                }
            }
            let new = new.finish();
            let lost = lost_rows(text, &new);
            Ok((conversion, Arc::new(new), lost))
        }
        Conversion::Integers if dtype.is_nested() => {
            let target = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
            if let DataType::List(item) = dtype
                && *item.data_type() == DataType::Int64
            {
                return same();
            }
            match cast(array, &target) {
                Ok(new) => {
                    let lost = lost_rows(array, &new);
                    Ok((conversion, new, lost))
                }
                Err(_) => same(),
            }
        }
        _ if matches!(dtype, DataType::LargeUtf8 | DataType::Utf8View) => {
            let new = cast(array, &DataType::Utf8).map_err(|error| misfit_error(dtype, error))?;
            Ok((Conversion::Text, new, Vec::new()))
        }
        _ => match find_loadable_type(dtype) {
            Some(target) => {
                let new = cast(array, &target).map_err(|error| misfit_error(dtype, error))?;
                let lost = lost_rows(array, &new);
                Ok((Conversion::Loadable, new, lost))
            }
            None => same(),
        },
    }
}

/// `None` beyond year 9999, which no reader of times accepts.
fn seconds_to_micros(seconds: f64) -> Option<i64> {
    let micros = (seconds * 1e6).round();
    (micros.is_finite() && micros.abs() < 2.6e17).then_some(micros as i64)
}

/// The next type for one that the readers of 2.0 can't load (rule META-12), also inside lists;
/// `None` where they can.
fn find_loadable_type(dtype: &DataType) -> Option<DataType> {
    match dtype {
        DataType::Float16 => Some(DataType::Float32),
        DataType::Decimal256(precision, scale) if (0..=38).contains(scale) => {
            Some(DataType::Decimal128((*precision).min(38), *scale))
        }
        DataType::Decimal256(..) => Some(DataType::Float64),
        DataType::List(field) => make_item_loadable(field).map(DataType::List),
        DataType::LargeList(field) => make_item_loadable(field).map(DataType::LargeList),
        DataType::FixedSizeList(field, size) => {
            make_item_loadable(field).map(|field| DataType::FixedSizeList(field, *size))
        }
        _ => None,
    }
}

fn make_item_loadable(field: &Arc<Field>) -> Option<Arc<Field>> {
    let dtype = find_loadable_type(field.data_type())?;
    Some(Arc::new(field.as_ref().clone().with_data_type(dtype)))
}

fn misfit_error(dtype: &DataType, error: arrow::error::ArrowError) -> Error {
    Error::format(format!(
        "a column of {} can't be converted",
        dtype_name(dtype)
    ))
    .because(error)
}

fn is_text(dtype: &DataType) -> bool {
    matches!(
        dtype,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn lost_rows(old: &dyn Array, new: &dyn Array) -> Vec<u32> {
    (0..old.len())
        .filter(|&row| old.is_valid(row) && new.is_null(row))
        .map(|row| row as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, Float64Array, LargeStringArray, StringArray};
    use arrow::datatypes::TimestampMicrosecondType;

    fn mapped(
        columns: Vec<(&str, ArrayRef)>,
        choices: &[FieldChoice],
    ) -> (NewColumns, Vec<FieldMapping>) {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        );
        map_level(0, &batch.expect("is a batch"), choices).expect("maps")
    }

    #[test]
    fn old_columns_get_their_new_form() {
        let (columns, list) = mapped(
            vec![
                ("tortilla:id", Arc::new(StringArray::from(vec!["a", "b"]))),
                (
                    "tortilla:data_split",
                    Arc::new(LargeStringArray::from(vec!["train", "test"])),
                ),
                (
                    "stac:time_start",
                    Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::INFINITY)])),
                ),
                (
                    "stac:centroid",
                    Arc::new(StringArray::from(vec![
                        Some("POINT (-1.5 2)"),
                        Some("nowhere"),
                    ])),
                ),
                ("a b:c:d", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
                ("a_b:c_d", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
                ("empty", arrow::array::new_null_array(&DataType::Null, 2)),
            ],
            &[],
        );
        let names: Vec<&str> = columns
            .iter()
            .map(|(field, ..)| field.name().as_str())
            .collect();
        assert_eq!(
            names,
            [
                "split",
                "stac:time_start",
                "stac:centroid",
                "a_b:c_d",
                "a_b:c_d_2"
            ]
        );
        assert_eq!(columns[0].0.data_type(), &DataType::Utf8);
        let times = columns[1].2.as_primitive::<TimestampMicrosecondType>();
        assert_eq!((times.value(0), times.is_null(1)), (1_500_000, true));
        let points: &BinaryArray = columns[2].2.as_binary();
        assert_eq!(
            (wkb_point(points.value(0)), points.is_null(1)),
            (Some((-1.5, 2.0)), true)
        );
        assert_eq!(list.len(), 7, "every column has a line");
        let lost: Vec<usize> = list.iter().map(|line| line.lost.len()).collect();
        assert_eq!(lost, [0, 0, 1, 1, 0, 0, 0]);
        assert!(list[6].to.is_none() && list[6].note.contains("no value"));
    }

    #[test]
    fn types_that_readers_of_2_0_refuse_become_others_with_a_line() {
        let floats = cast(
            &Float64Array::from(vec![Some(1.5), None]),
            &DataType::Float16,
        )
        .expect("halves");
        let whole = DataType::Decimal256(50, 2);
        let decimals = cast(&Float64Array::from(vec![Some(2.25), None]), &whole).expect("decimals");
        let (columns, list) = mapped(
            vec![
                ("f16", floats),
                ("d256", decimals),
                ("f64", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
            ],
            &[],
        );
        let types: Vec<&DataType> = columns
            .iter()
            .map(|(field, ..)| field.data_type())
            .collect();
        assert_eq!(
            types,
            [
                &DataType::Float32,
                &DataType::Decimal128(38, 2),
                &DataType::Float64
            ]
        );
        let halves = columns[0].2.as_primitive::<arrow::datatypes::Float32Type>();
        assert_eq!((halves.value(0), halves.is_null(1)), (1.5, true));
        assert_eq!(
            columns[1]
                .2
                .as_primitive::<arrow::datatypes::Decimal128Type>()
                .value(0),
            225
        );
        assert_eq!(
            (list[0].conversion, list[2].conversion),
            (Conversion::Loadable, Conversion::Same)
        );
        assert!(
            list[0].note.contains("halffloat")
                && list[0].lost.is_empty()
                && list[2].note.is_empty(),
            "{list:?}"
        );
        let inside = DataType::List(Arc::new(Field::new("item", DataType::Float16, true)));
        assert!(matches!(
            find_loadable_type(&inside),
            Some(DataType::List(item)) if *item.data_type() == DataType::Float32
        ));
    }

    #[test]
    fn choices_come_first() {
        let choices = [
            FieldChoice {
                level: None,
                from: "tortilla:data_split".into(),
                to: None,
            },
            FieldChoice {
                level: Some(1),
                from: "x".into(),
                to: None,
            },
            FieldChoice {
                level: Some(0),
                from: "y".into(),
                to: Some("my:y".into()),
            },
        ];
        let text = || Arc::new(StringArray::from(vec!["t"])) as ArrayRef;
        let (columns, _) = mapped(
            vec![
                ("tortilla:data_split", text()),
                ("x", text()),
                ("y", text()),
            ],
            &choices,
        );
        let names: Vec<&str> = columns
            .iter()
            .map(|(field, ..)| field.name().as_str())
            .collect();
        assert_eq!(names, ["x", "my:y"]);
    }

    #[test]
    fn columns_with_names_of_the_model_arrive_under_another() {
        let text = || Arc::new(StringArray::from(vec!["t"])) as ArrayRef;
        let old = || {
            vec![
                ("id", text()),
                ("type", text()),
                ("own:type", text()),
                ("own:internal:offset", text()),
            ]
        };
        let (columns, list) = mapped(old(), &[]);
        let names: Vec<&str> = columns
            .iter()
            .map(|(field, ..)| field.name().as_str())
            .collect();
        assert_eq!(names, ["own:type", "own:internal_offset"]);
        let from: Vec<&str> = list.iter().map(|line| line.from.as_str()).collect();
        assert_eq!(from, ["type", "internal:offset"]);
        assert!(
            list.iter()
                .all(|line| line.note.contains("a name that 2.0 allows")),
            "{list:?}"
        );
        let (columns, _) = mapped(
            old(),
            &[FieldChoice {
                level: None,
                from: "type".into(),
                to: Some("cover".into()),
            }],
        );
        assert_eq!(columns[0].0.name(), "cover");
    }

    #[test]
    fn choices_for_what_is_not_there_are_errors() {
        let text = || Arc::new(StringArray::from(vec!["t"])) as ArrayRef;
        let (_, list) = mapped(vec![("x", text()), ("y", text())], &[]);
        let choice = |level, from: &str| FieldChoice {
            level,
            from: from.into(),
            to: None,
        };
        assert!(check_choices(&[choice(None, "x"), choice(Some(0), "y")], &list, 2).is_ok());
        for (level, from, wanted) in [
            (None, "nope", "x, y"),
            (Some(0), "z", "x, y"),
            (Some(2), "x", "the dataset has 2"),
            (Some(1), "x", "level 1 has no column x"),
        ] {
            let error = check_choices(&[choice(level, from)], &list, 2)
                .expect_err("not there")
                .report();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
