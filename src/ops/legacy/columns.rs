//! Metadata fields of 2.0 → columns of TORTILLA 0.5 and TACO 0.2: the way back of what a migration
//! does. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Float64Builder, Int64Array, ListArray, ListBuilder,
    RecordBatch, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, TimeUnit};

use crate::error::{Error, Result};
use crate::extensions::pooled_statistics::looks_continuous;
use crate::jobs::JobContext;
use crate::model::Value;
use crate::table::{value_at, wkb_point};

/// Samples that a warning names.
const MAX_NAMES: usize = 8;

/// Values of a dataset that the older generations can't store, collected over its tortillas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Paths of the placeholders that are left out.
    placeholders: Vec<String>,
    /// Samples whose time has a fraction of a second, by column.
    fractions: BTreeMap<String, usize>,
    /// The same where the times are rounded to whole seconds.
    rounded: BTreeMap<String, usize>,
    /// Samples whose shape has fewer than two numbers.
    short_shapes: usize,
    /// Files with the header of a tortilla that can't be read as one: path and reason.
    unreadable: Vec<(String, String)>,
    /// GeoTIFFs of a TACO without statistics.
    without_statistics: usize,
    /// Samples of a TACO whose geotiff:stats has shares of classes, which stats:* can't hold.
    class_shares: usize,
    /// Samples without a value, by core column of a stac-tortilla.
    nulls: BTreeMap<String, usize>,
}

/// The generation of a footer, and whose form it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FooterForm {
    /// TACO 0.2; otherwise TORTILLA 0.5.
    pub taco: bool,
    /// The form of the specification, where that of the official tools differs.
    pub text: bool,
}

impl Losses {
    /// Placeholders that are left out, by their paths.
    pub fn of_placeholders(placeholders: Vec<String>) -> Self {
        Self {
            placeholders,
            ..Self::default()
        }
    }

    /// Adds what another tortilla loses.
    pub fn add(&mut self, other: Self) {
        self.placeholders.extend(other.placeholders);
        self.short_shapes += other.short_shapes;
        self.unreadable.extend(other.unreadable);
        other
            .rounded
            .into_iter()
            .for_each(|(name, count)| *self.rounded.entry(name).or_default() += count);
        self.without_statistics += other.without_statistics;
        self.class_shares += other.class_shares;
        other
            .nulls
            .into_iter()
            .for_each(|(name, count)| *self.nulls.entry(name).or_default() += count);
        other
            .fractions
            .into_iter()
            .for_each(|(name, count)| *self.fractions.entry(name).or_default() += count);
    }

    /// Adds a file that begins as a tortilla and can't be read as one.
    pub fn add_unreadable(&mut self, path: &str, reason: &Error) {
        self.unreadable.push((path.to_owned(), reason.sentence()));
    }

    /// Refuses samples without a value in a core column where the form of the specification is
    /// written.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid), with the columns.
    pub fn refuse_nulls(&self, form: FooterForm) -> Result<()> {
        if self.nulls.is_empty() || !form.text {
            return Ok(());
        }
        let columns: Vec<String> = self
            .nulls
            .iter()
            .map(|(name, count)| format!("{name} ({count} samples)"))
            .collect();
        Err(Error::invalid(format!(
            "TACO 0.2 requires a value for each sample in its core columns; there is none in {}",
            columns.join(", ")
        ))
        .hint("fill them, or write the form of the official tools: `--profile tools`"))
    }

    /// A warning for each kind.
    pub fn warn(&self, ctx: &JobContext) {
        if !self.placeholders.is_empty() {
            let named = self
                .placeholders
                .iter()
                .take(MAX_NAMES)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let more = match self.placeholders.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            ctx.warn(format!(
                "the older generations have no placeholders: {named}{more} left out"
            ));
        }
        for (name, count) in &self.fractions {
            ctx.warn(format!(
                "{count} values of {name} have fractions of a second: the column holds numbers \
                    with a fraction, where the \
                 specification has whole seconds"
            ));
        }
        for (path, reason) in self.unreadable.iter().take(MAX_NAMES) {
            ctx.warn(format!(
                "{path} has the header of a TORTILLA and can't be read as one, so its \
                format is BYTES: {reason}"
            ));
        }
        if let Some(more @ 1..) = self.unreadable.len().checked_sub(MAX_NAMES) {
            ctx.warn(format!(
                "{more} more files have the header of a TORTILLA and can't be read as one"
            ));
        }
        for (name, count) in &self.rounded {
            ctx.warn(format!(
                "{count} values of {name} have fractions of a second: they are \
                rounded to whole seconds"
            ));
        }
        for (name, count) in &self.nulls {
            let samples = if *count == 1 {
                "sample has"
            } else {
                "samples have"
            };
            ctx.warn(format!(
                "{count} {samples} no value in {name}, a core column of the \
                    specification"
            ));
        }
        if self.without_statistics > 0 {
            ctx.warn(format!(
                "{} GeoTIFFs are written without statistics: TACO 0.2 has stats:mean, stats:min, \
                    stats:max and stats:std for them; \
                 compute them first with `extend --with stats`",
                self.without_statistics
            ));
        }
        if self.class_shares > 0 {
            ctx.warn(format!(
                "{} samples have shares of classes in geotiff:stats, for which TACO 0.2 has no \
                    column: stats:* is null there, and \
                 geotiff:stats is kept",
                self.class_shares
            ));
        }
        if self.short_shapes > 0 {
            let count = self.short_shapes;
            ctx.warn(format!(
                "{count} shapes have fewer than two numbers and no rows and columns: \
                they are kept as they are"
            ));
        }
    }
}

/// What the footer of one tortilla is made from, a row for each sample.
pub struct FooterRows {
    /// Ids of the samples.
    pub ids: StringArray,
    /// `tortilla:file_format`.
    pub formats: StringArray,
    /// Metadata columns by their names in 2.0.
    pub columns: Vec<(String, ArrayRef)>,
}

/// The texts of a column; `None` without such a column, or where its values are no texts.
pub fn texts_of(name: &str, columns: &[(String, ArrayRef)]) -> Option<StringArray> {
    let (_, column) = columns.iter().find(|(known, _)| known == name)?;
    Some(
        cast(column, &DataType::Utf8)
            .ok()?
            .as_string::<i32>()
            .clone(),
    )
}

/// The footer of one tortilla, without byte ranges. In a TACO 0.2 file, the shape is
/// `stac:tensor_shape`; in a TORTILLA 0.5, `stac:raster_shape` with rows and columns.
pub fn footer_of(rows: FooterRows, form: FooterForm, losses: &mut Losses) -> Result<RecordBatch> {
    let taco = form.taco;
    let FooterRows {
        mut ids,
        formats,
        columns: fields,
    } = rows;
    // Values of the first generation that a migration kept are restored.
    if let Some(kept) = texts_of("tortilla:id", &fields) {
        ids = kept
            .iter()
            .zip(&ids)
            .map(|(kept, id)| kept.or(id))
            .collect();
    }
    let names = |name: &str| fields.iter().find(|(known, _)| known == name);
    let has_statistics = STATISTICS.into_iter().any(|name| names(name).is_some());
    let mut statistics = Vec::new();
    if taco && !has_statistics {
        match names("geotiff:stats") {
            Some((_, column)) => statistics = statistics_of(column, losses),
            None => {
                losses.without_statistics += formats
                    .iter()
                    .filter(|format| *format == Some("GTiff"))
                    .count()
            }
        }
    }
    let mut split: Option<ArrayRef> = None;
    let mut more: Vec<(String, ArrayRef)> = Vec::new();
    for (name, array) in fields {
        match name.as_str() {
            "tortilla:id" | "tortilla:file_format" => {}
            "split" => split = Some(array),
            "stac:tensor_shape" if !taco => {
                more.push(("stac:raster_shape".into(), rows_and_columns(&array, losses)))
            }
            "stac:time_start" | "stac:time_middle" | "stac:time_end" => {
                let seconds = seconds(&name, &array, form.text, losses);
                more.push((name, seconds));
            }
            "stac:centroid" => more.push((name, points(&array))),
            _ => more.push((name, array)),
        }
    }
    more.extend(statistics);
    let is_stac = more.iter().any(|(name, _)| name.starts_with("stac:"));
    for (name, array) in more
        .iter()
        .filter(|(name, _)| is_stac && CORE_COLUMNS.contains(&name.as_str()))
    {
        match array.logical_null_count() {
            0 => {}
            nulls => *losses.nulls.entry(name.clone()).or_default() += nulls,
        }
    }
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("tortilla:id".into(), Arc::new(ids)),
        ("tortilla:file_format".into(), Arc::new(formats)),
    ];
    columns.extend(split.map(|split| ("tortilla:data_split".into(), split)));
    columns.extend(more);
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .map_err(|error| Error::internal("a footer does not fit its columns").because(error))
}

/// Core columns of a stac-tortilla.
const CORE_COLUMNS: [&str; 5] = [
    "stac:crs",
    "stac:geotransform",
    "stac:raster_shape",
    "stac:tensor_shape",
    "stac:time_start",
];
/// The columns of the extension STATS of TACO 0.2, in the order in which `geotiff:stats` begins.
pub(super) const STATISTICS: [&str; 4] = ["stats:min", "stats:max", "stats:mean", "stats:std"];

/// Statistics of each band of a sample, in the order of [`STATISTICS`].
type BandStatistics = Vec<[Option<f64>; 4]>;

/// The first four statistics of each band in a value of `geotiff:stats`; `None` for a null value
/// and for shares of classes.
fn bands_of(value: &Value, losses: &mut Losses) -> Option<BandStatistics> {
    let Value::List(bands) = value else {
        return None;
    };
    let mut found = Vec::with_capacity(bands.len());
    for band in bands.iter() {
        let Value::List(values) = band else {
            return None;
        };
        let numbers: Vec<Option<f64>> = values.iter().map(read_statistic).collect();
        let known: Vec<f64> = numbers
            .iter()
            .map(|number| number.unwrap_or(f64::NAN))
            .collect();
        match numbers.as_slice() {
            [min, max, mean, std, ..] if looks_continuous(&known) => {
                found.push([*min, *max, *mean, *std])
            }
            _ => {
                losses.class_shares += 1;
                return None;
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

fn read_statistic(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    }
}

/// The columns of the extension STATS for values of `geotiff:stats`; none when no value has such
/// statistics.
fn statistics_of(column: &ArrayRef, losses: &mut Losses) -> Vec<(String, ArrayRef)> {
    let mut builders = STATISTICS.map(|_| ListBuilder::new(Float64Builder::new()));
    let mut is_empty = true;
    for row in 0..column.len() {
        let bands = bands_of(&value_at(column, row), losses);
        is_empty &= bands.is_none();
        for (at, builder) in builders.iter_mut().enumerate() {
            bands
                .iter()
                .flatten()
                .for_each(|band| builder.values().append_option(band[at]));
            builder.append(bands.is_some());
        }
    }
    if is_empty {
        return Vec::new();
    }
    let columns = STATISTICS.iter().zip(builders);
    columns
        .map(|(name, mut builder)| ((*name).to_owned(), Arc::new(builder.finish()) as ArrayRef))
        .collect()
}

/// Timestamps and dates as whole seconds since 1970, as the specification has them. Where a value
/// of the column has a fraction, all are numbers with a fraction, as the official writer makes
/// them. Other columns stay.
///
/// In the form of the specification they are whole: ends are rounded up, other times down.
fn seconds(name: &str, array: &ArrayRef, text: bool, losses: &mut Losses) -> ArrayRef {
    if !matches!(
        array.data_type(),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64
    ) {
        return array.clone();
    }
    let micros = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))
        .and_then(|time| cast(&time, &DataType::Int64));
    let Ok(micros) = micros else {
        return array.clone();
    };
    let micros = micros.as_primitive::<Int64Type>();
    match micros
        .iter()
        .flatten()
        .filter(|micros| micros % 1_000_000 != 0)
        .count()
    {
        0 => Arc::new(
            micros
                .iter()
                .map(|micros| micros.map(|micros| micros / 1_000_000))
                .collect::<Int64Array>(),
        ),
        fractions if text => {
            *losses.rounded.entry(name.to_owned()).or_default() += fractions;
            let round_up = if name == "stac:time_end" { 999_999 } else { 0 };
            let whole = |micros: i64| micros.saturating_add(round_up).div_euclid(1_000_000);
            Arc::new(
                micros
                    .iter()
                    .map(|micros| micros.map(whole))
                    .collect::<Int64Array>(),
            )
        }
        fractions => {
            *losses.fractions.entry(name.to_owned()).or_default() += fractions;
            Arc::new(
                micros
                    .iter()
                    .map(|micros| micros.map(|micros| micros as f64 / 1e6))
                    .collect::<Float64Array>(),
            )
        }
    }
}

/// The last two numbers of each shape: rows and columns. Columns that are no lists of whole numbers
/// stay, and so do shapes with fewer than two.
fn rows_and_columns(array: &ArrayRef, losses: &mut Losses) -> ArrayRef {
    let target = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let Some(lists) = array
        .data_type()
        .is_nested()
        .then(|| cast(array, &target).ok())
        .flatten()
    else {
        return array.clone();
    };
    let shapes = lists.as_list::<i32>().iter().map(|shape| {
        let shape: Vec<Option<i64>> = shape?.as_primitive::<Int64Type>().iter().collect();
        if shape.len() < 2 {
            losses.short_shapes += 1;
        }
        Some(shape[shape.len().saturating_sub(2)..].to_vec())
    });
    Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
        shapes.collect::<Vec<_>>(),
    ))
}

/// WKB points as `POINT (lon lat)` with six digits, which is a tenth of a metre; other columns
/// stay.
fn points(array: &ArrayRef) -> ArrayRef {
    let Ok(binary) = cast(array, &DataType::Binary) else {
        return array.clone();
    };
    let binary = binary.as_binary::<i32>();
    let known: Vec<Option<(f64, f64)>> = binary.iter().map(|wkb| wkb.and_then(wkb_point)).collect();
    // Something else than points would be lost.
    if known
        .iter()
        .zip(binary)
        .any(|(point, wkb)| point.is_none() && wkb.is_some())
    {
        return array.clone();
    }
    let round = |value: f64| (value * 1e6).round() / 1e6;
    let text = known
        .into_iter()
        .map(|point| point.map(|(x, y)| format!("POINT ({} {})", round(x), round(y))));
    Arc::new(text.collect::<StringArray>())
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Float64Type;

    use super::super::sample_rows::SampleRows;
    use super::*;
    use crate::model::{FieldSpec, Sample, Tortilla};

    /// GeoTIFFs with the columns of a tortilla.
    fn rows_of(tortilla: &Tortilla) -> FooterRows {
        let rows: Vec<usize> = (0..tortilla.samples.len()).collect();
        FooterRows {
            ids: rows.iter().map(|&row| Some(tortilla.id(row))).collect(),
            formats: StringArray::from(vec!["GTiff"; rows.len()]),
            columns: tortilla.columns(&rows).expect("has columns"),
        }
    }

    #[test]
    fn fields_get_their_old_form() {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let schema = [
            FieldSpec::new("split", DataType::Utf8),
            FieldSpec::new("stac:time_start", time),
            FieldSpec::new("stac:centroid", DataType::Binary),
            FieldSpec::new("tortilla:id", DataType::Utf8),
        ];
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend((-1.23456789f64).to_le_bytes());
        wkb.extend(2.0f64.to_le_bytes());
        let values = [
            Value::text("train"),
            Value::Int(1_500_000),
            Value::Bytes(wkb.into()),
            Value::text("old/id"),
        ];
        let sample = Sample {
            values: values.into(),
            ..Sample::new_file("id", "/x", 1)
        };
        let tortilla = Tortilla {
            schema: schema.into(),
            samples: vec![sample],
        };
        let footer = footer_of(
            rows_of(&tortilla),
            FooterForm::default(),
            &mut Losses::default(),
        )
        .expect("fits");
        let names: Vec<String> = footer
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        assert_eq!(
            names,
            [
                "tortilla:id",
                "tortilla:file_format",
                "tortilla:data_split",
                "stac:time_start",
                "stac:centroid"
            ]
        );
        assert_eq!(footer.column(0).as_string::<i32>().value(0), "old/id");
        assert_eq!(
            footer
                .column(3)
                .as_primitive::<arrow::datatypes::Float64Type>()
                .value(0),
            1.5
        );
        assert_eq!(
            footer.column(4).as_string::<i32>().value(0),
            "POINT (-1.234568 2)"
        );
    }

    fn footer(field: FieldSpec, values: Vec<Value>, taco: bool) -> (RecordBatch, Losses) {
        let samples = values.into_iter().enumerate().map(|(at, value)| Sample {
            values: vec![value].into(),
            ..Sample::new_file(&format!("s{at}"), "/x", 1)
        });
        let tortilla = Tortilla {
            schema: vec![field].into(),
            samples: samples.collect(),
        };
        let mut losses = Losses::default();
        let footer = footer_of(
            rows_of(&tortilla),
            FooterForm { taco, text: false },
            &mut losses,
        )
        .expect("fits");
        (footer, losses)
    }

    #[test]
    fn a_shape_is_rows_and_columns_in_a_tortilla_and_whole_in_a_taco() {
        let list = |numbers: &[i64]| {
            Value::List(numbers.iter().map(|number| Value::Int(*number)).collect())
        };
        let dtype = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
        let values = || {
            vec![
                list(&[12, 300, 500]),
                list(&[30, 50]),
                Value::Null,
                list(&[7]),
            ]
        };
        let read = |footer: &RecordBatch, name: &str| -> Vec<Option<Vec<i64>>> {
            let column = footer
                .column_by_name(name)
                .expect("the column")
                .as_list::<i32>()
                .clone();
            column
                .iter()
                .map(|shape| {
                    Some(
                        shape?
                            .as_primitive::<Int64Type>()
                            .iter()
                            .flatten()
                            .collect(),
                    )
                })
                .collect()
        };
        let (tortilla, losses) = footer(
            FieldSpec::new("stac:tensor_shape", dtype.clone()),
            values(),
            false,
        );
        let wanted = vec![
            Some(vec![300, 500]),
            Some(vec![30, 50]),
            None,
            Some(vec![7]),
        ];
        assert_eq!(read(&tortilla, "stac:raster_shape"), wanted);
        assert_eq!(
            (
                losses.short_shapes,
                tortilla.column_by_name("stac:tensor_shape")
            ),
            (1, None)
        );
        let (taco, losses) = footer(FieldSpec::new("stac:tensor_shape", dtype), values(), true);
        assert_eq!(
            read(&taco, "stac:tensor_shape")[0],
            Some(vec![12, 300, 500])
        );
        assert_eq!(
            (
                losses.short_shapes,
                taco.column_by_name("stac:raster_shape")
            ),
            (0, None)
        );
        assert_eq!(losses.nulls.get("stac:tensor_shape"), Some(&1));
    }

    #[test]
    fn times_are_whole_seconds_unless_one_has_a_fraction() {
        let time = FieldSpec::new(
            "stac:time_start",
            DataType::Timestamp(TimeUnit::Microsecond, None),
        );
        let (whole, losses) = footer(
            time.clone(),
            vec![
                Value::Int(-2_000_000),
                Value::Null,
                Value::Int(1_500_000_000_000_000),
            ],
            false,
        );
        let column = whole.column_by_name("stac:time_start").expect("the column");
        assert_eq!(
            column
                .as_primitive::<Int64Type>()
                .iter()
                .collect::<Vec<_>>(),
            [Some(-2), None, Some(1_500_000_000)]
        );
        assert!(losses.fractions.is_empty() && losses.nulls.get("stac:time_start") == Some(&1));
        let (fractions, losses) = footer(
            time,
            vec![Value::Int(1_500_000), Value::Int(2_000_000)],
            false,
        );
        let column = fractions
            .column_by_name("stac:time_start")
            .expect("the column");
        assert_eq!(
            column
                .as_primitive::<arrow::datatypes::Float64Type>()
                .values()
                .to_vec(),
            [1.5, 2.0]
        );
        assert_eq!(losses.fractions.get("stac:time_start"), Some(&1));
    }

    #[test]
    fn continuous_statistics_get_the_columns_of_the_specification() {
        let band = |numbers: &[f64]| {
            Value::List(numbers.iter().map(|number| Value::Float(*number)).collect())
        };
        let continuous =
            Value::List([band(&[1.0, 9.0, 4.0, 2.0, 100.0, 2.0, 4.0, 6.0, 8.0])].into());
        let shares = Value::List([band(&[0.25, 0.75])].into());
        let dtype = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
        let dtype = DataType::List(Arc::new(Field::new("item", dtype, true)));
        let values = vec![continuous.clone(), shares, Value::Null];
        let (taco, losses) = footer(FieldSpec::new("geotiff:stats", dtype.clone()), values, true);
        let mean = taco
            .column_by_name("stats:mean")
            .expect("the column")
            .as_list::<i32>();
        assert_eq!(
            mean.value(0)
                .as_primitive::<Float64Type>()
                .values()
                .to_vec(),
            [4.0]
        );
        assert!(
            mean.is_null(1) && mean.is_null(2) && taco.column_by_name("geotiff:stats").is_some()
        );
        assert_eq!((losses.class_shares, losses.without_statistics), (1, 0));
        let (tortilla, _) = footer(
            FieldSpec::new("geotiff:stats", dtype),
            vec![continuous],
            false,
        );
        assert!(
            tortilla.column_by_name("stats:mean").is_none(),
            "TORTILLA 0.5 has no statistics"
        );
        let (_, losses) = footer(
            FieldSpec::new("x", DataType::Int64),
            vec![Value::Int(1)],
            true,
        );
        assert_eq!(losses.without_statistics, 1);
    }
}
