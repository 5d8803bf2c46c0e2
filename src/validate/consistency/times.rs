//! Start times of samples: from metadata columns, or from a date in the name of a draft's file.

use arrow::datatypes::DataType;
use chrono::NaiveDate;

use crate::container::ContainerReader;
use crate::error::Result;
use crate::footprint::{TIME_START, micros_of_value};
use crate::jobs::JobContext;
use crate::model::{AssetPath, FieldSpec, Payload, Tortilla};

/// The column with start times: a known one, or else the first of a time type.
fn column_of(fields: &[FieldSpec]) -> Option<&FieldSpec> {
    let names = TIME_START.iter().chain(&["time_start"]);
    let known = names
        .into_iter()
        .find_map(|name| fields.iter().find(|field| field.name == *name));
    known.or_else(|| {
        fields.iter().find(|field| {
            matches!(
                field.dtype,
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64
            )
        })
    })
}

/// The start time of each row of a level; empty when the level has no column with times.
///
/// # Errors
/// When the column can't be read, or the job is cancelled.
pub fn of_level(
    reader: &dyn ContainerReader,
    level: usize,
    ctx: &JobContext,
) -> Result<Vec<Option<i64>>> {
    let fields = reader.levels().fields(level);
    let Some(field) = column_of(&fields) else {
        return Ok(Vec::new());
    };
    let table = reader.levels().columns(level, &[&field.name], ctx)?;
    let Some(column) = table.column_index(&field.name) else {
        return Ok(Vec::new());
    };
    Ok((0..table.rows())
        .map(|row| micros_of_value(&table.value(row, column), &field.dtype))
        .collect())
}

/// The start time of each sample of a tortilla.
pub fn of_tortilla(tortilla: &Tortilla) -> impl Iterator<Item = Option<i64>> + '_ {
    let column = column_of(&tortilla.schema)
        .and_then(|field| Some((tortilla.field(&field.name)?, &field.dtype)));
    tortilla.samples.iter().map(move |sample| {
        let stated = column.and_then(|(index, dtype)| micros_of_value(sample.value(index), dtype));
        stated.or_else(|| match &sample.payload {
            Payload::Asset {
                path: path @ (AssetPath::File(_) | AssetPath::Packed(_)),
                ..
            } => date_in(&path.file_name()?),
            _ => None,
        })
    })
}

/// The only date in a name, as `20240131`, `2024-01-31` or `2024_01_31`.
fn date_in(name: &str) -> Option<i64> {
    let bytes = name.as_bytes();
    let mut found = None;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() || (at > 0 && bytes[at - 1].is_ascii_digit()) {
            at += 1;
            continue;
        }
        match date_at(&name[at..]) {
            // Two dates may be a time span, or include a processing date: ambiguous.
            Some((date, _)) if found.is_some_and(|known| known != date) => return None,
            Some((date, length)) => {
                found = Some(date);
                at += length;
            }
            None => at += 1,
        }
    }
    found.and_then(|date: NaiveDate| Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros()))
}

/// A date at the beginning of a text, and its length.
fn date_at(text: &str) -> Option<(NaiveDate, usize)> {
    for (form, length) in [("%Y%m%d", 8), ("%Y-%m-%d", 10), ("%Y_%m_%d", 10)] {
        let Some(part) = text.get(..length) else {
            continue;
        };
        let ends = !text.as_bytes().get(length).is_some_and(u8::is_ascii_digit);
        if let Ok(date) = NaiveDate::parse_from_str(part, form)
            && ends
            && (1950..2100).contains(&chrono::Datelike::year(&date))
        {
            return Some((date, length));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_date_of_a_name_is_its_time() {
        let day = crate::footprint::parse_time;
        for name in [
            "S2_20240131_T32",
            "scene-2024-01-31",
            "2024_01_31_after",
            "S2A_20240131T101010_20240131",
        ] {
            assert_eq!(date_in(name), day("2024-01-31T00:00:00Z"), "{name}");
        }
        for name in [
            "before",
            "20241331",
            "120240131",
            "20240131_20240205",
            "label_0041",
            "ü2024",
            "99990101",
        ] {
            assert_eq!(date_in(name), None, "{name}");
        }
    }
}
