//! `optical:*`: the sensor and its spectral bands, from a built-in table of fourteen sensors or
//! from the options.

use serde_json::{Value as Json, json};

use super::{CollectionFields, options};
use crate::error::{Error, Result};
use crate::text::nearest;

/// CSV columns: sensor, name, index, common_name, description, unit, center_wavelength_nm,
/// full_width_half_max_nm. The unit is that of calibrated values: reflectance (a ratio) of bands
/// that see sunlight, kelvin (brightness temperature) of thermal bands.
const TABLE: &str = include_str!("../../../assets/sensor_bands.csv");

/// One spectral band.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Band name, such as `B04`.
    pub name: String,
    /// Index of the band in the sensor, from 0.
    #[serde(default)]
    pub index: Option<i32>,
    /// Common name, such as `Red`.
    #[serde(default)]
    pub common_name: Option<String>,
    /// Description.
    #[serde(default)]
    pub description: Option<String>,
    /// Unit of the pixel values.
    #[serde(default)]
    pub unit: Option<String>,
    /// Center wavelength in nanometres.
    #[serde(default)]
    pub center_wavelength: Option<f64>,
    /// Full width at half maximum in nanometres.
    #[serde(default)]
    pub full_width_half_max: Option<f64>,
}

/// The names of the built-in sensors, in the order of the table.
pub fn sensor_names() -> Vec<&'static str> {
    let cells = TABLE
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(','));
    let mut names: Vec<&str> = cells.map(|(sensor, _)| sensor.trim()).collect();
    names.dedup();
    names
}

/// The bands of a built-in sensor, in the order of the table; none of another one.
fn bands_of_sensor(sensor: &str) -> Vec<Band> {
    TABLE
        .lines()
        .skip(1)
        .filter_map(|line| read_band(sensor, line))
        .collect()
}

/// The band in a line of the table, if it is one of this sensor.
fn read_band(sensor: &str, line: &str) -> Option<Band> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [
        _,
        name,
        index,
        common_name,
        description,
        unit,
        wavelength,
        width,
    ] = cells.as_slice()
    else {
        return None;
    };
    let text = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    (cells[0] == sensor).then(|| Band {
        name: (*name).to_owned(),
        index: index.parse().ok(),
        common_name: text(common_name),
        description: text(description),
        unit: text(unit),
        center_wavelength: wavelength.parse().ok(),
        full_width_half_max: width.parse().ok(),
    })
}

/// The sensor's name and bands for `landsat8oli`, or `landsat8oli[B02, B03]` for a selection of
/// bands.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the nearest spelling, for an unknown sensor or
/// band.
pub fn bands_of(notation: &str) -> Result<(String, Vec<Band>)> {
    let (name, subset) = split(notation)?;
    let sensor = name.to_lowercase();
    let bands = bands_of_sensor(&sensor);
    if bands.is_empty() {
        let names = sensor_names();
        let error = Error::usage(format!("there are no bands for the sensor {name:?}"));
        return Err(match nearest(&name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint(format!(
                "known are {}; for others give the bands",
                names.join(", ")
            )),
        });
    }
    let Some(subset) = subset else {
        return Ok((sensor, bands));
    };
    let mut chosen: Vec<Band> = Vec::with_capacity(subset.len());
    for wanted in subset {
        let Some(band) = bands
            .iter()
            .find(|band| band.name.eq_ignore_ascii_case(&wanted))
        else {
            let names = || bands.iter().map(|band| band.name.as_str());
            let near = nearest(&wanted, names()).map(|near| format!("did you mean {near}?"));
            let hint = near
                .unwrap_or_else(|| format!("it has {}", names().collect::<Vec<_>>().join(", ")));
            return Err(Error::usage(format!("{sensor} has no band {wanted:?}")).hint(hint));
        };
        if chosen.iter().any(|other| other.name == band.name) {
            return Err(Error::usage(format!(
                "the band {} is named twice",
                band.name
            )));
        }
        chosen.push(band.clone());
    }
    Ok((sensor, chosen))
}

fn split(notation: &str) -> Result<(String, Option<Vec<String>>)> {
    let text: String = notation.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((name, rest)) = text.split_once('[') else {
        return if text.is_empty() || text.contains(']') {
            Err(invalid_sensor_error(notation))
        } else {
            Ok((text, None))
        };
    };
    let inside = rest
        .strip_suffix(']')
        .filter(|inside| !inside.contains(['[', ']']))
        .ok_or_else(|| invalid_sensor_error(notation))?;
    let bands: Vec<String> = inside.split(',').map(str::to_owned).collect();
    if name.is_empty() || bands.iter().any(String::is_empty) {
        return Err(invalid_sensor_error(notation));
    }
    Ok((name.to_owned(), Some(bands)))
}

fn invalid_sensor_error(notation: &str) -> Error {
    Error::usage(format!("{notation:?} is not a sensor"))
        .hint("write landsat8oli, or landsat8oli[B02,B03]")
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct OpticalOptions {
    sensor: String,
    #[serde(default)]
    bands: Option<Vec<Band>>,
    #[serde(default)]
    unit: Option<String>,
}

/// `optical:sensor`, `optical:bands` and `optical:num_bands` from `{sensor, bands?, unit?}`;
/// without `bands` they come from the built-in table, whose units are those of calibrated values.
/// Where pixels are counts or radiances, `unit` replaces the units of the table; of bands that are
/// given it is that of every band without one.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the sensor is missing, or unknown and without
/// bands.
pub fn optical(given: &Json) -> Result<CollectionFields> {
    let given: OpticalOptions = options("optical", given)?;
    let unit = given.unit.filter(|unit| !unit.trim().is_empty());
    let by_table = given.bands.is_none();
    let (sensor, mut bands) = match given.bands {
        Some(_) if given.sensor.trim().is_empty() => {
            return Err(Error::usage("bands need the name of their sensor"));
        }
        Some(bands) => (given.sensor, bands),
        None => bands_of(&given.sensor)?,
    };
    if unit.is_some() {
        bands
            .iter_mut()
            .filter(|band| by_table || band.unit.is_none())
            .for_each(|band| band.unit.clone_from(&unit));
    }
    Ok(vec![
        ("optical:sensor".into(), json!(sensor)),
        ("optical:bands".into(), json!(bands)),
        ("optical:num_bands".into(), json!(bands.len())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sensors_are_there() {
        let sensors = sensor_names();
        assert_eq!(sensors.len(), 14);
        let bands: Vec<Band> = sensors.into_iter().flat_map(bands_of_sensor).collect();
        assert_eq!(bands.len(), 138);
        assert!(bands.iter().all(|b| b.index.is_some()
            && b.center_wavelength.is_some()
            && b.full_width_half_max.is_some()));
        // Between 3 and 3.5 micrometres no sensor has a band: below sunlight prevails, above the
        // warmth of the Earth.
        for band in bands {
            let expected = if band.center_wavelength > Some(3250.0) {
                "K"
            } else {
                "reflectance"
            };
            assert_eq!(band.unit.as_deref(), Some(expected), "{}", band.name);
        }
    }

    #[test]
    fn a_subset_keeps_its_order() {
        let (sensor, bands) = bands_of("Landsat8OLI[B03, b02]").expect("known");
        assert_eq!(sensor, "landsat8oli");
        assert_eq!(
            bands
                .iter()
                .map(|band| (band.name.as_str(), band.index))
                .collect::<Vec<_>>(),
            [("B03", Some(2)), ("B02", Some(1))]
        );
    }

    #[test]
    fn unknown_names_get_the_nearest_spelling() {
        let hint = |text: &str| bands_of(text).expect_err("unknown").report();
        assert!(hint("sentinel2").contains("did you mean sentinel2msi?"));
        assert!(
            hint("landsat8oli[B2]").contains("did you mean B02?"),
            "{}",
            hint("landsat8oli[B2]")
        );
        for bad in [
            "",
            "[B02]",
            "aster[",
            "aster[]",
            "aster[B01,,B02]",
            "aster]",
            "landsat8oli[B02,B02]",
        ] {
            assert!(bands_of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bands_by_hand() {
        let fields = optical(
            &json!({ "sensor": "mine", "bands": [{ "name": "X", "center_wavelength": 665.0 }] }),
        )
        .expect("works");
        assert_eq!(fields[1].1[0]["unit"], Json::Null);
        assert_eq!(fields[2].1, json!(1));
    }

    #[test]
    fn a_unit_is_that_of_every_band_without_one() {
        let units = |given: Json| -> Vec<Json> {
            let fields = optical(&given).expect("works");
            fields[1]
                .1
                .as_array()
                .expect("bands")
                .iter()
                .map(|band| band["unit"].clone())
                .collect()
        };
        assert_eq!(
            units(json!({ "sensor": "landsat8oli[B04,B10]", "unit": "W m-2 sr-1 um-1" })),
            [json!("W m-2 sr-1 um-1"), json!("W m-2 sr-1 um-1")]
        );
        assert_eq!(
            units(json!({ "sensor": "landsat8oli[B04,B10]" })),
            [json!("reflectance"), json!("K")]
        );
        let bands = json!([{ "name": "a", "unit": "K" }, { "name": "b" }]);
        assert_eq!(
            units(json!({ "sensor": "mine", "bands": bands, "unit": "reflectance" })),
            [json!("K"), json!("reflectance")]
        );
        assert_eq!(
            units(json!({ "sensor": "mine", "bands": [{ "name": "a" }] })),
            [Json::Null]
        );
    }
}
