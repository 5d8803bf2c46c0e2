//! The meaning of the bands of a multidimensional file: each has a position on the dimensions
//! besides rows and columns, such as a time, and bands of spectrometers have a wavelength. Read
//! from the metadata of GDAL's drivers.

use chrono::{NaiveDate, NaiveTime, TimeDelta};
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

/// A calendar of climate models (CF conventions, section 4.4.1), whose years differ from those of
/// the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelCalendar {
    NoLeap,
    AllLeap,
    Days360,
    Julian,
}

impl ModelCalendar {
    /// `None` for the calendar of the world and unknown ones.
    fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "noleap" | "365_day" => Some(Self::NoLeap),
            "all_leap" | "366_day" => Some(Self::AllLeap),
            "360_day" => Some(Self::Days360),
            "julian" => Some(Self::Julian),
            _ => None,
        }
    }

    fn days_of_month(self, year: i64, month: u32) -> i64 {
        let is_leap = match self {
            Self::NoLeap => false,
            Self::AllLeap => true,
            Self::Julian => year.rem_euclid(4) == 0,
            Self::Days360 => return 30,
        };
        match month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    fn days_of_year(self, year: i64) -> i64 {
        (1..=12).map(|month| self.days_of_month(year, month)).sum()
    }

    /// Years after which the calendar repeats itself.
    fn cycle_years(self) -> i64 {
        if self == Self::Julian { 4 } else { 1 }
    }

    /// Year, month and day `days` after `start`; `None` for a start that the calendar lacks, and
    /// years that are not written with four digits.
    fn add_days(self, start: AxisStart, days: i64) -> Option<(i64, u32, i64)> {
        let AxisStart {
            year, month, day, ..
        } = start;
        let is_day = (1..=12).contains(&month)
            && (1..=self.days_of_month(year, month)).contains(&i64::from(day));
        if !is_day {
            return None;
        }
        let cycle = self.cycle_years();
        let first = year.div_euclid(cycle) * cycle;
        let before: i64 = (first..year)
            .map(|year| self.days_of_year(year))
            .sum::<i64>()
            + (1..month)
                .map(|month| self.days_of_month(year, month))
                .sum::<i64>();
        let total = days.checked_add(before + i64::from(day) - 1)?;
        let cycle_days: i64 = (0..cycle).map(|year| self.days_of_year(year)).sum();
        let mut year = first + total.div_euclid(cycle_days) * cycle;
        let mut rest = total.rem_euclid(cycle_days);
        while rest >= self.days_of_year(year) {
            rest -= self.days_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while rest >= self.days_of_month(year, month) {
            rest -= self.days_of_month(year, month);
            month += 1;
        }
        (0..=9999)
            .contains(&year)
            .then_some((year, month, rest + 1))
    }
}

/// The time of a number of `unit`s since `start` (CF conventions, section 4.4), without a time of
/// day at midnight; of a calendar of models with its name. `None` in unknown calendars.
fn time_of(value: &str, unit: &str, start: &str, calendar: &str) -> Option<String> {
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
    let micros = (micros.abs() < i64::MAX as f64).then_some(micros as i64)?;
    let start = AxisStart::parse(start)?;
    let micros = micros.checked_add(start.micros)?;
    if let Some(model) = ModelCalendar::of_name(calendar) {
        let (year, month, day) = model.add_days(start, micros.div_euclid(DAY_MICROS))?;
        let time = day_time_text(micros.rem_euclid(DAY_MICROS))?;
        return Some(format!("{year:04}-{month:02}-{day:02}{time} ({calendar})"));
    }
    if !["standard", "gregorian", "proleptic_gregorian"]
        .iter()
        .any(|known| calendar.eq_ignore_ascii_case(known))
    {
        return None;
    }
    let year = i32::try_from(start.year).ok()?;
    let day = NaiveDate::from_ymd_opt(year, start.month, start.day)?.and_hms_opt(0, 0, 0)?;
    let time = day.checked_add_signed(TimeDelta::microseconds(micros))?;
    let text = time.format("%Y-%m-%d %H:%M:%S%.f").to_string();
    Some(
        text.strip_suffix(" 00:00:00")
            .map_or(text.clone(), str::to_owned),
    )
}

const DAY_MICROS: i64 = 86_400_000_000;

/// A time of day as ` 12:30:00`; empty at midnight.
fn day_time_text(micros: i64) -> Option<String> {
    if micros == 0 {
        return Some(String::new());
    }
    let time = NaiveTime::from_hms_opt(0, 0, 0)?
        .overflowing_add_signed(TimeDelta::microseconds(micros))
        .0;
    Some(time.format(" %H:%M:%S%.f").to_string())
}

/// The start of a time axis, in its calendar.
#[derive(Clone, Copy, Debug)]
struct AxisStart {
    year: i64,
    month: u32,
    day: u32,
    /// Microseconds since midnight.
    micros: i64,
}

impl AxisStart {
    /// A zone is taken for UTC alone.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = ["UTC", "Z", "+00:00", "+0:00", "-0:00"]
            .iter()
            .find_map(|zone| text.strip_suffix(zone))
            .unwrap_or(text)
            .trim();
        let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
        // Axes of Julian days begin in the year -4713.
        let (sign, day) = day.strip_prefix('-').map_or((1, day), |rest| (-1, rest));
        let mut numbers = day.split('-').map(|number| number.parse::<u32>().ok());
        let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
        if numbers.next().is_some() || year > 9999 {
            return None;
        }
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
        Some(Self {
            year: sign * i64::from(year),
            month,
            day,
            micros: (seconds * 1e6).round() as i64,
        })
    }
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
            "time 2020-02-02 (360_day)"
        );
        assert_eq!(other.format_value("x", "2"), "x 2 months since 2020-01-01");
        for (calendar, days, wanted) in [
            ("360_day", "59", "2000-02-30 (360_day)"),
            ("360_day", "359.5", "2000-12-30 12:00:00 (360_day)"),
            ("noleap", "59", "2000-03-01 (noleap)"),
            ("365_day", "-1", "1999-12-31 (365_day)"),
            ("noleap", "3650", "2010-01-01 (noleap)"),
            ("all_leap", "425", "2001-02-29 (all_leap)"),
            ("julian", "1461", "2004-01-01 (julian)"),
            ("julian", "-366", "1998-12-31 (julian)"),
            ("standard", "59", "2000-02-29"),
        ] {
            let time = time_of(days, "days", "2000-01-01", calendar);
            assert_eq!(time.as_deref(), Some(wanted), "{calendar}");
        }
        let since = |start: &str| time_of("1", "days", start, "360_day");
        assert_eq!(since("2000-02-30").as_deref(), Some("2000-03-01 (360_day)"));
        assert_eq!(since("2000-02-31"), None);
        assert_eq!(since("2000-13-01"), None);
        assert_eq!(since("2000-01"), None);
        assert_eq!(time_of("1", "days", "2000-01-01", "none"), None);
        assert_eq!(time_of("9e7", "days", "2000-01-01", "noleap"), None);
        assert_eq!(time_of("1e300", "days", "2020-01-01", "standard"), None);
        assert_eq!(time_of("nan", "days", "2020-01-01", "standard"), None);
        assert_eq!(
            time_of("60", "seconds", "1970-01-01T00:00:00Z", "gregorian").as_deref(),
            Some("1970-01-01 00:01:00")
        );
    }
}
