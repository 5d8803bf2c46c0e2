//! Names of bands and classes, and numbers as texts.

use std::sync::Arc;

use crate::gui::widgets::paint;
use crate::raster::{BandIndex, BandInfo};
use crate::studio::Document;

/// The classes of a labelled collection.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Names by value.
    pub names: Vec<(i64, String)>,
    /// Colours by value; `None` when the collection has no colours.
    pub colours: Option<Arc<Vec<[u8; 4]>>>,
}

/// The classes of the collection.
pub fn classes_of(document: &Document) -> Classes {
    let Some(list) = document.collection().get("labels:classes").and_then(|list| list.as_array()) else {
        return Classes::default();
    };
    let mut classes = Classes::default();
    let mut colours = vec![[128u8, 128, 128, 255]; 256];
    let mut coloured = false;
    for class in list {
        let text = |key: &str| class.get(key).and_then(|value| value.as_str());
        let number = class.get("category").and_then(|value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok()));
        let Some(number) = number else { continue };
        classes.names.push((number, text("name").unwrap_or_default().to_owned()));
        let colour = text("colour").or(text("color")).and_then(|hex| u32::from_str_radix(hex.trim_start_matches('#'), 16).ok());
        if let (Some(rgb), Some(entry)) = (colour, usize::try_from(number).ok().and_then(|at| colours.get_mut(at))) {
            *entry = [(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8, 255];
            coloured = true;
        }
    }
    classes.colours = coloured.then(|| Arc::new(colours));
    classes
}

/// Band names of the collection, for files without band names.
pub fn band_names(document: Option<&Document>) -> Vec<String> {
    let list = document.and_then(|document| document.collection().get("optical:bands").and_then(|list| list.as_array()).cloned());
    let name = |band: &serde_json::Value| {
        let text = |key: &str| band.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        [text("name"), text("common_name")].join(" ").trim().to_owned()
    };
    list.unwrap_or_default().iter().map(name).collect()
}

/// A band's name: its description, its name in the collection, or its number.
pub fn band_name(band: &BandInfo, known: &[String]) -> String {
    match (band.description.trim(), known.get(band.index.position())) {
        ("", Some(name)) if !name.is_empty() => name.clone(),
        ("", _) => numbered(band.index),
        (text, _) => text.to_owned(),
    }
}

/// The name of a band without one.
pub fn numbered(band: BandIndex) -> String {
    tr!("Band {number}", number = band)
}

/// Formats a value: integers grouped, others with four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value.fract() == 0.0 && value.abs() < 1e9 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", paint::grouped(value.abs() as u64));
    }
    match value.abs() {
        size if !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    }
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
        assert_eq!((number(1e15), number(999_999_999.0)), ("1.000e15".into(), "999\u{2009}999\u{2009}999".into()));
        assert_eq!(number(f64::NAN), "NaN");
    }
}
