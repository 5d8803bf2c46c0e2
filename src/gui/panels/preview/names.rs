//! Names of bands and classes, and numbers as texts.

use std::sync::Arc;

use crate::digits::{decimal_exponent, significant_digits};
use crate::gui::widgets::paint;
use crate::raster::{BandIndex, BandInfo, PixelNumber, RasterInfo};
use crate::studio::Document;

/// The classes of a labelled collection.
#[derive(Clone, Debug, Default)]
pub struct LabelClasses {
    /// Names by value.
    pub names: Vec<(i64, String)>,
    /// Colours by value; `None` when the collection has no colours.
    pub colours: Option<Arc<Vec<[u8; 4]>>>,
}

/// The classes of the collection.
pub fn classes_of(document: &Document) -> LabelClasses {
    let Some(list) = document
        .collection()
        .get("labels:classes")
        .and_then(|list| list.as_array())
    else {
        return LabelClasses::default();
    };
    let mut classes = LabelClasses::default();
    let mut colours = vec![[128u8, 128, 128, 255]; 256];
    let mut coloured = false;
    for class in list {
        let text = |key: &str| class.get(key).and_then(|value| value.as_str());
        let number = class.get("category").and_then(|value| {
            value
                .as_i64()
                .or_else(|| value.as_str()?.trim().parse().ok())
        });
        let Some(number) = number else { continue };
        classes
            .names
            .push((number, text("name").unwrap_or_default().to_owned()));
        let colour = text("colour")
            .or(text("color"))
            .and_then(|hex| u32::from_str_radix(hex.trim_start_matches('#'), 16).ok());
        if let (Some(rgb), Some(entry)) = (
            colour,
            usize::try_from(number)
                .ok()
                .and_then(|at| colours.get_mut(at)),
        ) {
            *entry = [(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8, 255];
            coloured = true;
        }
    }
    classes.colours = coloured.then(|| Arc::new(colours));
    classes
}

/// Band names of the collection, for files without band names.
pub fn band_names(document: Option<&Document>) -> Vec<String> {
    let list = document.and_then(|document| {
        document
            .collection()
            .get("optical:bands")
            .and_then(|list| list.as_array())
            .cloned()
    });
    list.unwrap_or_default()
        .iter()
        .map(join_listed_names)
        .collect()
}

/// The names of a band in `optical:bands`.
fn join_listed_names(band: &serde_json::Value) -> String {
    let names = ["name", "common_name"].map(|key| {
        let name = band.get(key).and_then(|value| value.as_str());
        name.unwrap_or_default()
    });
    names.join(" ").trim().to_owned()
}

/// A band's name: its description, its name in the collection, its position in a multidimensional
/// file, or its number.
pub fn band_name(band: &BandInfo, known: &[String]) -> String {
    match (band.description.trim(), known.get(band.index.position())) {
        ("", Some(name)) if !name.is_empty() => name.clone(),
        ("", _) => match (band.position.as_str(), band.wavelength_nm) {
            ("", Some(wavelength)) => tr!("{wavelength} nm", wavelength = number(wavelength)),
            ("", None) => numbered_band_name(band.index),
            (position, _) => position.to_owned(),
        },
        (text, _) => text.to_owned(),
    }
}

/// As [`band_name`]; the number of a band that the raster does not have.
pub fn name_band_at(info: &RasterInfo, band: BandIndex, known: &[String]) -> String {
    info.band(band)
        .map_or(band.to_string(), |band| band_name(band, known))
}

/// The first word of a band's name: "B04" of "B04 red"; of a position the value on its first
/// dimension: "2020-01-02" of "time 2020-01-02, level 500 hPa".
pub fn short_name(band: &BandInfo, name: &str) -> String {
    if !band.position.is_empty() && name == band.position {
        let first = name.split(", ").next().unwrap_or(name);
        return first
            .split_once(' ')
            .map_or(first, |(_, value)| value)
            .to_owned();
    }
    let is_long = name.chars().count() > 5 && band.wavelength_nm.is_none();
    if is_long && !name.starts_with("Band ") && *name != numbered_band_name(band.index) {
        name.split_whitespace().next().unwrap_or(name).to_owned()
    } else {
        name.to_owned()
    }
}

/// A band's name where little room is: of a position its value on the first dimension.
pub fn narrow_name(band: &BandInfo, known: &[String]) -> String {
    let name = band_name(band, known);
    if band.position.is_empty() {
        name
    } else {
        short_name(band, &name)
    }
}

/// The name of a band without one.
pub fn numbered_band_name(band: BandIndex) -> String {
    tr!("Band {number}", number = band)
}

/// Whole numbers of floating point are written in full below this.
const WHOLE: f64 = 1e12;

/// Formats a value: whole numbers grouped, others with four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if is_written_whole(value) {
        return format_whole(value as i128);
    }
    match value.abs() {
        size if !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    }
}

fn is_written_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < WHOLE
}

/// Formats a value of a band: integers with all digits, others as [`number`].
pub fn number_of(value: PixelNumber) -> String {
    match value {
        PixelNumber::Integer(value) => format_whole(value),
        PixelNumber::Real(value) => number(value),
    }
}

/// Formats a difference: [`number_of`] with the sign of positive ones.
pub fn format_signed(value: PixelNumber) -> String {
    let sign = if value.to_f64() > 0.0 { "+" } else { "" };
    format!("{sign}{}", number_of(value))
}

/// Formats a complex number: `1.5 - 2 i`.
pub fn complex(real: PixelNumber, imaginary: f64) -> String {
    let sign = if imaginary.is_sign_negative() {
        "-"
    } else {
        "+"
    };
    format!("{} {sign} {} i", number_of(real), number(imaginary.abs()))
}

fn format_whole(value: i128) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!(
        "{sign}{}",
        paint::grouped_digits(&value.unsigned_abs().to_string())
    )
}

/// [`number`] with as many digits as a change of `least` needs, for marks of an axis and ends of a
/// range.
pub fn number_apart(value: f64, least: f64) -> String {
    if !value.is_finite() || !least.is_finite() || least <= 0.0 || is_written_whole(value) {
        return number(value);
    }
    let (wanted, magnitude) = (-decimal_exponent(least), decimal_exponent(value));
    let shown = match value.abs() {
        size if !(1e-3..1e6).contains(&size) => 3 - magnitude,
        size if size < 1.0 => 4,
        size if size < 100.0 => 3,
        _ => 1,
    };
    if wanted <= shown {
        number(value)
    } else {
        significant_digits(value, usize::try_from(magnitude + wanted + 1).unwrap_or(1))
    }
}

/// The text of a mark of an axis with steps of `step`: short, because marks are round.
pub fn mark_text(value: f64, step: f64) -> String {
    if value.abs() < WHOLE {
        number_apart(value, step)
    } else {
        significant_digits(value, 6)
    }
}

/// The ends of a range, with enough digits that they differ; integers with all digits.
pub fn numbers_apart([low, high]: [PixelNumber; 2]) -> [String; 2] {
    let least = (high.to_f64() - low.to_f64()).abs() / 10.0;
    [low, high].map(|value| match value {
        PixelNumber::Integer(value) => format_whole(value),
        PixelNumber::Real(value) => number_apart(value, least),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        assert_eq!(number(3680.0), "3\u{2009}680");
        assert_eq!(number(-2.0), "-2");
        assert_eq!(number(0.0312), "0.0312");
        assert_eq!(number(811.73), "811.7");
        assert_eq!(number(1.5e-9), "1.500e-9");
        assert_eq!(
            (number(1e15), number(999_999_999.0)),
            ("1.000e15".into(), "999\u{2009}999\u{2009}999".into())
        );
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(4e9), "4\u{2009}000\u{2009}000\u{2009}000");
    }

    #[test]
    fn integers_have_all_their_digits() {
        let text = |value: i128| number_of(PixelNumber::Integer(value)).replace('\u{2009}', "");
        assert_eq!(text(4_000_000_001), "4000000001");
        assert_eq!(text(9_007_199_254_740_993), "9007199254740993");
        assert_eq!(
            (text(u64::MAX.into()), text(i64::MIN.into())),
            (u64::MAX.to_string(), i64::MIN.to_string())
        );
        assert_eq!(number_of(PixelNumber::Real(811.73)), "811.7");
        let signs = [150, -190, 0].map(|value| format_signed(PixelNumber::Integer(value)));
        assert_eq!(signs, ["+150", "-190", "0"]);
    }

    #[test]
    fn ends_of_a_range_differ() {
        let text = |low: f64, high: f64| numbers_apart([low, high].map(PixelNumber::Real));
        assert_eq!(text(100_000.01, 100_000.02), ["100000.01", "100000.02"]);
        assert_eq!(text(0.0, 1.0), ["0", "1"]);
        assert_eq!(text(811.73, 2811.73), ["811.7", "2811.7"]);
        assert_eq!(
            text(1.000_000_1e15 + 0.5, 1.000_000_2e15 + 0.5),
            ["1.0000001e15", "1.0000002e15"]
        );
        assert_eq!(text(1.234_51e-7, 1.234_52e-7), ["1.23451e-7", "1.23452e-7"]);
        for low in [0.1, 123.456, 3.5e-9, 1.5e13, -5.5e200, 0.999_999] {
            let [one, other] = text(low, low.next_up());
            assert_ne!(one, other, "{low}");
        }
        // Marks of an axis with steps of 0.02.
        assert_eq!(
            [811.92, 811.94, 812.0].map(|value| number_apart(value, 0.02)),
            ["811.92", "811.94", "812"]
        );
        assert_eq!(
            (mark_text(5e18, 5e18), mark_text(500.0, 500.0)),
            ("5e18".into(), "500".into())
        );
    }

    #[test]
    fn complex_numbers_have_both_parts() {
        assert_eq!(complex(PixelNumber::Real(1.5), -2.0), "1.500 - 2 i");
        assert_eq!(complex(PixelNumber::Real(-3.0), 0.25), "-3 + 0.2500 i");
    }
}
