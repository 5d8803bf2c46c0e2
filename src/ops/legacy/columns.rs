//! Metadata fields of 2.0 → columns of TORTILLA 0.5: the way back of what a migration does. Pure.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, TimeUnit};

use crate::error::{Error, Result};
use crate::model::Tortilla;
use crate::table::{array_of, wkb_point};

/// The footer of one tortilla, without the places. `formats` gives `tortilla:file_format` where no column says it.
pub fn footer_of(tortilla: &Tortilla, rows: &[usize], formats: &[&'static str]) -> Result<RecordBatch> {
    let samples: Vec<_> = rows.iter().map(|&row| &tortilla.samples[row]).collect();
    let mut ids: Vec<String> = samples.iter().map(|sample| sample.id.to_string()).collect();
    let mut words: Vec<String> = formats.iter().map(|word| (*word).to_owned()).collect();
    let mut split: Option<ArrayRef> = None;
    let mut more: Vec<(String, ArrayRef)> = Vec::new();
    for (index, field) in tortilla.schema.iter().enumerate() {
        let array = array_of(field, samples.iter().map(|sample| sample.value(index)))?;
        match field.name.as_str() {
            // What a migration kept of the first generation comes back.
            "tortilla:id" => keep_texts(&array, &mut ids),
            "tortilla:file_format" => keep_texts(&array, &mut words),
            "split" => split = Some(array),
            "stac:tensor_shape" => more.push(("stac:raster_shape".into(), array)),
            name @ ("stac:time_start" | "stac:time_end") => more.push((name.into(), seconds(&array))),
            name @ "stac:centroid" => more.push((name.into(), points(&array))),
            name => more.push((name.into(), array)),
        }
    }
    // A nested tortilla has this format, whatever the column states.
    for (word, sample) in words.iter_mut().zip(&samples) {
        if sample.children().is_some() {
            *word = "TORTILLA".into();
        }
    }
    let text = |values: &[String]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("tortilla:id".into(), text(&ids)), ("tortilla:file_format".into(), text(&words))];
    columns.extend(split.map(|split| ("tortilla:data_split".into(), split)));
    columns.extend(more);
    let fields: Vec<Field> = columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect())
        .map_err(|error| Error::internal("a footer does not fit its columns").because(error))
}

/// Takes the texts of a column where it has some.
fn keep_texts(array: &ArrayRef, into: &mut [String]) {
    let Ok(text) = cast(array, &DataType::Utf8) else { return };
    for (slot, text) in into.iter_mut().zip(text.as_string::<i32>()) {
        if let Some(text) = text {
            *slot = text.to_owned();
        }
    }
}

/// Timestamps and dates as seconds since 1970; other columns stay.
fn seconds(array: &ArrayRef) -> ArrayRef {
    if !matches!(array.data_type(), DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) {
        return array.clone();
    }
    let micros = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None)).and_then(|time| cast(&time, &DataType::Int64));
    let Ok(micros) = micros else { return array.clone() };
    let seconds = micros.as_primitive::<Int64Type>().iter().map(|micros| micros.map(|micros| micros as f64 / 1e6));
    Arc::new(seconds.collect::<Float64Array>())
}

/// WKB points as `POINT (lon lat)` with six digits, which is a tenth of a metre; other columns stay.
fn points(array: &ArrayRef) -> ArrayRef {
    let Ok(binary) = cast(array, &DataType::Binary) else { return array.clone() };
    let binary = binary.as_binary::<i32>();
    let known: Vec<Option<(f64, f64)>> = binary.iter().map(|wkb| wkb.and_then(wkb_point)).collect();
    // Something else than points would be lost.
    if known.iter().zip(binary).any(|(point, wkb)| point.is_none() && wkb.is_some()) {
        return array.clone();
    }
    let round = |value: f64| (value * 1e6).round() / 1e6;
    let text = known.into_iter().map(|point| point.map(|(x, y)| format!("POINT ({} {})", round(x), round(y))));
    Arc::new(text.collect::<StringArray>())
}

/// What GDAL calls a file that begins like this, as far as its first bytes tell; BYTES for everything else.
pub fn format_of(head: &[u8], id: &str) -> &'static str {
    let ends = |ending: &str| id.to_ascii_lowercase().ends_with(ending);
    let known: [(&[u8], &'static str); 14] = [
        (b"II*\0", "GTiff"),
        (b"MM\0*", "GTiff"),
        (b"II+\0", "GTiff"),
        (b"MM\0+", "GTiff"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff", "JPEG"),
        (b"\0\0\0\x0cjP  ", "JP2OpenJPEG"),
        (b"\xff\x4f\xff\x51", "JP2OpenJPEG"),
        (b"CDF\x01", "netCDF"),
        (b"CDF\x02", "netCDF"),
        (b"CDF\x05", "netCDF"),
        (b"GIF8", "GIF"),
        (b"fgb\x03", "FlatGeobuf"),
        (b"SQLite format 3\0", "GPKG"),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return name;
    }
    match head {
        head if head.starts_with(b"\x89HDF\r\n\x1a\n") => {
            if ends(".nc") {
                "netCDF"
            } else {
                "HDF5"
            }
        }
        head if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") => "WEBP",
        head if head.starts_with(b"{") && (ends(".geojson") || ends(".json")) => "GeoJSON",
        _ => "BYTES",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FieldSpec, Sample, Value};

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
        let values = [Value::text("train"), Value::Int(1_500_000), Value::Bytes(wkb.into()), Value::text("old/id")];
        let sample = Sample { values: values.into(), ..Sample::file("id", "/x", 1) };
        let tortilla = Tortilla { schema: schema.into(), samples: vec![sample] };
        let footer = footer_of(&tortilla, &[0], &["GTiff"]).expect("fits");
        let names: Vec<String> = footer.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["tortilla:id", "tortilla:file_format", "tortilla:data_split", "stac:time_start", "stac:centroid"]);
        assert_eq!(footer.column(0).as_string::<i32>().value(0), "old/id");
        assert_eq!(footer.column(3).as_primitive::<arrow::datatypes::Float64Type>().value(0), 1.5);
        assert_eq!(footer.column(4).as_string::<i32>().value(0), "POINT (-1.234568 2)");
    }

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        assert_eq!(format_of(b"II*\0\x08\0\0\0", "a"), "GTiff");
        assert_eq!(format_of(b"\x89HDF\r\n\x1a\n", "a.NC"), "netCDF");
        assert_eq!(format_of(b"{\"type\"", "a.geojson"), "GeoJSON");
        assert_eq!(format_of(b"hello", "a.tif"), "BYTES");
    }
}
