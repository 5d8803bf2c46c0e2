//! Band combinations and normalized-difference indices, chosen by band name. Names come from the
//! file, or from the caller where the file has none.

use super::{BandChoice, BandIndex, BandInfo, ColourMap, RasterInfo};

/// Spectral region of a band. Wavelengths are those of Sentinel-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// About 490 nm.
    Blue,
    /// About 560 nm.
    Green,
    /// About 665 nm.
    Red,
    /// About 840 nm.
    NearInfrared,
    /// About 1610 nm.
    ShortWave,
}

/// A named band combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Red, green and blue bands.
    Natural,
    /// Near infrared, red and green; vegetation is red.
    FalseColour,
    /// Short-wave infrared, near infrared and red; separates water, bare soil and burnt areas.
    ShortWave,
    /// The first band alone.
    First,
}

/// A normalized-difference index: (high − low) / (high + low).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpectralIndex {
    /// Usual abbreviation, such as `NDVI`.
    pub name: &'static str,
    /// The band with the positive sign in the numerator.
    pub high: BandIndex,
    /// The band with the negative sign in the numerator.
    pub low: BandIndex,
}

impl Preset {
    /// All presets, in menu order.
    pub const ALL: [Preset; 4] = [
        Preset::Natural,
        Preset::FalseColour,
        Preset::ShortWave,
        Preset::First,
    ];

    /// Untranslated menu label.
    pub fn label(self) -> &'static str {
        match self {
            Preset::Natural => mark!("Natural colour"),
            Preset::FalseColour => mark!("False colour"),
            Preset::ShortWave => mark!("Short-wave infrared"),
            Preset::First => mark!("First band"),
        }
    }

    /// The bands of a raster; `None` when one is missing, and for [`Preset::First`] of a
    /// single-band raster. `names`, in band order, apply to bands without a description.
    pub fn bands(self, info: &RasterInfo, names: &[String]) -> Option<BandChoice> {
        let roles = match self {
            Preset::Natural => [Role::Red, Role::Green, Role::Blue],
            Preset::FalseColour => [Role::NearInfrared, Role::Red, Role::Green],
            Preset::ShortWave => [Role::ShortWave, Role::NearInfrared, Role::Red],
            Preset::First => {
                return (info.band_count > 1).then_some(BandChoice::Single {
                    band: BandIndex::FIRST,
                    map: ColourMap::Grey,
                });
            }
        };
        let [r, g, b] = roles.map(|role| band_of(role, info, names));
        Some(BandChoice::Rgb([r?, g?, b?]))
    }
}

/// The first band whose name gives this role, else the first with the matching GDAL colour
/// interpretation, else that with the nearest wavelength. `names`, in band order, apply to bands
/// without a description.
pub fn band_of(role: Role, info: &RasterInfo, names: &[String]) -> Option<BandIndex> {
    let named = info.bands.iter().find(|band| {
        let own = band.description.trim();
        let name = if own.is_empty() {
            names.get(band.index.position()).map_or("", String::as_str)
        } else {
            own
        };
        role_of(name) == Some(role)
    });
    named
        .or_else(|| find_band_by_interpretation(role, info))
        .or_else(|| nearest(role, info))
        .map(|band| band.index)
}

fn find_band_by_interpretation(role: Role, info: &RasterInfo) -> Option<&BandInfo> {
    let colour = match role {
        Role::Blue => "Blue",
        Role::Green => "Green",
        Role::Red => "Red",
        Role::NearInfrared => "NIR",
        Role::ShortWave => "SWIR",
    };
    info.bands
        .iter()
        .find(|band| band.colour.eq_ignore_ascii_case(colour))
}

/// The band whose wavelength is nearest to that of a role, if it is near enough.
fn nearest(role: Role, info: &RasterInfo) -> Option<&BandInfo> {
    /// Greatest distance, in nanometres.
    const FAR: f64 = 30.0;
    let wanted = match role {
        Role::Blue => 490.0,
        Role::Green => 560.0,
        Role::Red => 665.0,
        Role::NearInfrared => 840.0,
        Role::ShortWave => 1610.0,
    };
    let near = info.bands.iter().filter_map(|band| {
        let distance = (band.wavelength_nm? - wanted).abs();
        (distance <= FAR).then_some((distance, band))
    });
    near.min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, band)| band)
}

/// Role from a band name: `B4 red`, `nir`, `Near infrared`, or a Sentinel-2 number (`B02`, `B03`,
/// `B04`, `B08`, `B11`).
fn role_of(name: &str) -> Option<Role> {
    let lower = name.trim().to_ascii_lowercase();
    let first = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | ',' | ':'))
        .next()
        .unwrap_or_default();
    let code = first
        .strip_prefix('b')
        .and_then(|digits| digits.parse::<u32>().ok());
    // Words take precedence over Sentinel-2 band numbers.
    if has_word(&lower, "swir")
        || has_word(&lower, "swir1")
        || has_word(&lower, "swir16")
        || lower.contains("short-wave")
        || lower.contains("shortwave")
    {
        return Some(Role::ShortWave);
    }
    if has_word(&lower, "nir")
        || has_word(&lower, "nir08")
        || lower.contains("near infrared")
        || lower.contains("near-infrared")
    {
        return Some(Role::NearInfrared);
    }
    for (text, role) in [
        ("red", Role::Red),
        ("green", Role::Green),
        ("blue", Role::Blue),
    ] {
        if has_word(&lower, text) && !lower.contains("edge") {
            return Some(role);
        }
    }
    match code {
        Some(2) => Some(Role::Blue),
        Some(3) => Some(Role::Green),
        Some(4) => Some(Role::Red),
        Some(8) => Some(Role::NearInfrared),
        Some(11) => Some(Role::ShortWave),
        _ => None,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| part == word)
}

/// The indices for which the raster has both bands: NDVI, NDWI (McFeeters), NBR.
pub fn indices_of(info: &RasterInfo, names: &[String]) -> Vec<SpectralIndex> {
    let band = |role| band_of(role, info, names);
    [
        pair_bands("NDVI", band(Role::NearInfrared), band(Role::Red)),
        pair_bands("NDWI", band(Role::Green), band(Role::NearInfrared)),
        pair_bands("NBR", band(Role::NearInfrared), band(Role::ShortWave)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pair_bands(
    name: &'static str,
    high: Option<BandIndex>,
    low: Option<BandIndex>,
) -> Option<SpectralIndex> {
    Some(SpectralIndex {
        name,
        high: high?,
        low: low?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_part_of_the_spectrum() {
        for (name, role) in [
            ("B04", Some(Role::Red)),
            ("B4 red", Some(Role::Red)),
            ("nir", Some(Role::NearInfrared)),
            ("Near Infrared", Some(Role::NearInfrared)),
            ("B11", Some(Role::ShortWave)),
            ("B05 red edge", None),
            ("blue", Some(Role::Blue)),
            ("water_mask", None),
            ("", None),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
