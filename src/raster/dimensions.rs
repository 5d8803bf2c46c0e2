//! What the bands of a multidimensional file stand for: each has a position on the dimensions
//! besides rows and columns, such as a time, and bands of spectrometers have a wavelength. Read
//! from the metadata of GDAL's drivers.

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use gdal::Metadata;
use gdal::raster::RasterBand;

use crate::text::PrintableLine;

/// Items of a band's metadata with its position on a dimension, as the netCDF driver writes them.
const DIMENSION: &str = "NETCDF_DIM_";
/// The same of GDAL's multidimensional arrays, in which Zarr is read: `DIM_time_VALUE`, with
/// `DIM_time_UNIT`; `DIM_time_INDEX` where the dimension has no values.
const ARRAY_DIMENSION: &str = "DIM_";
/// Longest text of a position, in characters.
const LONGEST: usize = 80;

/// Metadata of a file that bands refer to: units and calendars of its dimensions.
pub(super) struct Dimensions {
    items: Vec<String>,
    /// True for a file whose bands state positions by themselves.
    is_array: bool,
}

impl Dimensions {
    /// The metadata of an open file.
    pub(super) fn from_dataset(dataset: &gdal::Dataset) -> Self {
        Self {
            items: dataset.metadata_domain("").unwrap_or_default(),
            is_array: dataset.driver().short_name() == "Zarr",
        }
    }

    fn attribute(&self, dimension: &str, name: &str) -> Option<&str> {
        let key = format!("{dimension}#{name}=");
        let entry = self.items.iter().find(|entry| entry.starts_with(&key))?;
        entry.split_once('=').map(|(_, value)| value.trim())
    }

    /// The position of a band: `time 2020-01-02, level 500 hPa`; empty for a file without such
    /// dimensions.
    pub(super) fn position(&self, band: &RasterBand<'_>) -> String {
        let of_netcdf = self.items.iter().any(|entry| entry.starts_with(DIMENSION));
        if !of_netcdf && !self.is_array {
            return String::new();
        }
        let items = band.metadata_domain("").unwrap_or_default();
        let parts: Vec<String> = if of_netcdf {
            items
                .iter()
                .filter_map(|item| self.read_position(item))
                .collect()
        } else {
            positions_on_arrays(&items)
        };
        let text = parts.join(", ");
        text.chars()
            .take(LONGEST)
            .collect::<String>()
            .printable_line()
            .into_owned()
    }

    fn read_position(&self, item: &str) -> Option<String> {
        let (dimension, value) = item.strip_prefix(DIMENSION)?.split_once('=')?;
        Some(self.format_value(dimension, value.trim()))
    }

    fn format_value(&self, dimension: &str, value: &str) -> String {
        let units = self.attribute(dimension, "units").unwrap_or_default();
        let calendar = self.attribute(dimension, "calendar").unwrap_or("standard");
        format_position(dimension, value, units, calendar)
    }
}

/// The positions of a band of an array: those of dimensions with values, and the numbers of others.
fn positions_on_arrays(items: &[String]) -> Vec<String> {
    let dimensions = items.iter().filter_map(|item| {
        let (name, number) = item.strip_prefix(ARRAY_DIMENSION)?.split_once('=')?;
        Some((name.strip_suffix("_INDEX")?, number))
    });
    dimensions
        .map(
            |(dimension, number)| match find_array_item(items, dimension, "VALUE") {
                Some(value) => {
                    let units = find_array_item(items, dimension, "UNIT").unwrap_or_default();
                    format_position(dimension, value.trim(), units.trim(), "standard")
                }
                None => format!("{dimension} {number}"),
            },
        )
        .collect()
}

fn find_array_item<'a>(items: &'a [String], dimension: &str, kind: &str) -> Option<&'a str> {
    items.iter().find_map(|item| {
        let rest = item
            .strip_prefix(ARRAY_DIMENSION)?
            .strip_prefix(dimension)?;
        rest.strip_prefix('_')?
            .strip_prefix(kind)?
            .strip_prefix('=')
    })
}

fn format_position(dimension: &str, value: &str, units: &str, calendar: &str) -> String {
    match units.split_once(" since ") {
        Some((unit, start)) => match time_of(value, unit, start, calendar) {
            Some(time) => format!("{dimension} {time}"),
            None => format!("{dimension} {value} {units}"),
        },
        None if units.is_empty() || units == "1" => format!("{dimension} {value}"),
        None => format!("{dimension} {value} {units}"),
    }
}

/// The time of a number of `unit`s since `start` (CF conventions, section 4.4), without a time of
/// day at midnight. `None` in another calendar than that of the world.
fn time_of(value: &str, unit: &str, start: &str, calendar: &str) -> Option<String> {
    if !["standard", "gregorian", "proleptic_gregorian"]
        .iter()
        .any(|known| calendar.eq_ignore_ascii_case(known))
    {
        return None;
    }
    let seconds = match unit.trim().to_ascii_lowercase().as_str() {
        "days" | "day" | "d" => 86_400.0,
        "hours" | "hour" | "hr" | "h" => 3600.0,
        "minutes" | "minute" | "min" => 60.0,
        "seconds" | "second" | "sec" | "s" => 1.0,
        "milliseconds" | "millisecond" | "msec" | "ms" => 0.001,
        _ => return None,
    };
    let micros = (value.parse::<f64>().ok()? * seconds * 1e6).round();
    // Beyond whole numbers of 64 bits there is no time.
    let delta = (micros.abs() < i64::MAX as f64).then(|| TimeDelta::microseconds(micros as i64))?;
    let time = start_of(start)?.checked_add_signed(delta)?;
    let text = time.format("%Y-%m-%d %H:%M:%S%.f").to_string();
    Some(
        text.strip_suffix(" 00:00:00")
            .map_or(text.clone(), str::to_owned),
    )
}

/// The start of a time axis; a zone is taken for UTC alone.
fn start_of(text: &str) -> Option<NaiveDateTime> {
    let text = text.trim();
    let text = ["UTC", "Z", "+00:00", "+0:00", "-0:00"]
        .iter()
        .find_map(|zone| text.strip_suffix(zone))
        .unwrap_or(text)
        .trim();
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let mut seconds = 0.0;
    if !time.trim().is_empty() {
        let mut parts = time.trim().split(':');
        for unit in [3600.0, 60.0, 1.0] {
            let part = parts
                .next()
                .map_or(Ok(0.0), |part| part.trim().parse::<f64>());
            seconds += unit * part.ok().filter(|part| (0.0..61.0).contains(part))?;
        }
    }
    day.and_hms_opt(0, 0, 0)?
        .checked_add_signed(TimeDelta::microseconds((seconds * 1e6).round() as i64))
}

/// Centre wavelength of a band in nanometres, where its header has it: GDAL's domain `IMAGERY` in
/// micrometres, or the items of ENVI.
pub(super) fn wavelength_nm(band: &RasterBand<'_>) -> Option<f64> {
    if let Some(micrometres) = band
        .metadata_item("CENTRAL_WAVELENGTH_UM", "IMAGERY")
        .and_then(|text| parse_positive_number(&text))
    {
        return Some(micrometres * 1000.0);
    }
    let wavelength = band
        .metadata_item("wavelength", "")
        .and_then(|text| parse_positive_number(&text))?;
    let unit = band
        .metadata_item("wavelength_units", "")
        .unwrap_or_default()
        .to_ascii_lowercase();
    match unit.as_str() {
        "nanometers" | "nanometer" | "nanometres" | "nm" => Some(wavelength),
        "micrometers" | "micrometer" | "micrometres" | "microns" | "um" | "µm" => {
            Some(wavelength * 1000.0)
        }
        _ => None,
    }
}

fn parse_positive_number(text: &str) -> Option<f64> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_on_arrays_have_values_units_and_numbers() {
        let items: Vec<String> = [
            "DIM_time_INDEX=1",
            "DIM_time_VALUE=31",
            "DIM_time_UNIT=days since 2020-01-01",
            "DIM_level_INDEX=4",
            "DIM_band_INDEX=0",
            "DIM_band_VALUE=B02",
        ]
        .map(str::to_owned)
        .into();
        assert_eq!(
            positions_on_arrays(&items),
            ["time 2020-02-01", "level 4", "band B02"]
        );
    }

    #[test]
    fn positions_on_dimensions_are_written_with_units_and_times() {
        let items = |items: &[&str]| Dimensions {
            items: items.iter().map(|item| (*item).to_owned()).collect(),
            is_array: false,
        };
        let of = items(&[
            "time#units=days since 2020-01-01",
            "level#units=hPa",
            "member#long_name=member",
            "t#units=hours since 1900-01-01 00:00:0.0",
        ]);
        assert_eq!(of.format_value("time", "31"), "time 2020-02-01");
        assert_eq!(of.format_value("time", "0.5"), "time 2020-01-01 12:00:00");
        assert_eq!(of.format_value("level", "500"), "level 500 hPa");
        assert_eq!(of.format_value("member", "3"), "member 3");
        assert_eq!(of.format_value("t", "1051896"), "t 2020-01-01");
        let other = items(&[
            "time#units=days since 2020-01-01",
            "time#calendar=360_day",
            "x#units=months since 2020-01-01",
        ]);
        assert_eq!(
            other.format_value("time", "31"),
            "time 31 days since 2020-01-01"
        );
        assert_eq!(other.format_value("x", "2"), "x 2 months since 2020-01-01");
        assert_eq!(time_of("1e300", "days", "2020-01-01", "standard"), None);
        assert_eq!(time_of("nan", "days", "2020-01-01", "standard"), None);
        assert_eq!(
            time_of("60", "seconds", "1970-01-01T00:00:00Z", "gregorian").as_deref(),
            Some("1970-01-01 00:01:00")
        );
    }
}
