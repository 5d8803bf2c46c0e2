//! Colour maps for single bands, interpolated linearly between anchor colours. No pixels, no IO.

/// Colour map of a single band.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ColourMap {
    /// Black to white.
    #[default]
    Grey,
    /// Perceptually uniform, readable with colour-vision deficiency.
    Viridis,
    /// Dark to bright, for radar and thermal images.
    Magma,
    /// Red over yellow to green, for indices.
    RedYellowGreen,
    /// Blue over green and brown to white, for elevation.
    Terrain,
    /// Blue over white to red: a diverging map, for values below and above a middle.
    BlueWhiteRed,
}

impl ColourMap {
    /// All maps, in menu order.
    pub const ALL: [ColourMap; 6] = [
        ColourMap::Grey,
        ColourMap::Viridis,
        ColourMap::Magma,
        ColourMap::RedYellowGreen,
        ColourMap::Terrain,
        ColourMap::BlueWhiteRed,
    ];

    /// Untranslated menu label.
    pub fn label(self) -> &'static str {
        match self {
            ColourMap::Grey => mark!("Grey"),
            ColourMap::Viridis => mark!("Viridis"),
            ColourMap::Magma => mark!("Magma"),
            ColourMap::RedYellowGreen => mark!("Red, yellow, green"),
            ColourMap::Terrain => mark!("Terrain"),
            ColourMap::BlueWhiteRed => mark!("Blue, white, red"),
        }
    }

    /// RGB of a value from 0 (low) to 1 (high), clamped; black for NaN.
    pub fn colour(self, value: f32) -> [u8; 3] {
        let anchors = self.anchors();
        let position = value.clamp(0.0, 1.0) * (anchors.len() - 1) as f32;
        let index = (position as usize).min(anchors.len() - 2);
        let fraction = position - index as f32;
        let (low, high) = (anchors[index], anchors[index + 1]);
        std::array::from_fn(|i| {
            (f32::from(low[i]) + (f32::from(high[i]) - f32::from(low[i])) * fraction).round() as u8
        })
    }

    /// 256 RGB entries from low to high.
    pub fn table(self) -> Vec<[u8; 3]> {
        (0..256u16)
            .map(|step| self.colour(f32::from(step) / 255.0))
            .collect()
    }

    /// Anchor colours at equal distances from low to high; at least two.
    fn anchors(self) -> &'static [[u8; 3]] {
        match self {
            ColourMap::Grey => &[[0, 0, 0], [255, 255, 255]],
            ColourMap::Viridis => &[
                [68, 1, 84],
                [71, 44, 122],
                [59, 81, 139],
                [44, 113, 142],
                [33, 144, 141],
                [39, 173, 129],
                [92, 200, 99],
                [170, 220, 50],
                [253, 231, 37],
            ],
            ColourMap::Magma => &[
                [0, 0, 4],
                [28, 16, 68],
                [79, 18, 123],
                [129, 37, 129],
                [181, 54, 122],
                [229, 80, 100],
                [251, 135, 97],
                [254, 194, 135],
                [252, 253, 191],
            ],
            ColourMap::RedYellowGreen => &[
                [165, 0, 38],
                [244, 109, 67],
                [254, 224, 139],
                [166, 217, 106],
                [0, 104, 55],
            ],
            ColourMap::Terrain => &[
                [38, 84, 138],
                [70, 140, 110],
                [180, 200, 120],
                [190, 150, 100],
                [130, 100, 80],
                [250, 250, 250],
            ],
            ColourMap::BlueWhiteRed => &[
                [33, 102, 172],
                [103, 169, 207],
                [209, 229, 240],
                [247, 247, 247],
                [253, 219, 199],
                [239, 138, 98],
                [178, 24, 43],
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_anchors_at_both_ends_and_linear_between() {
        assert_eq!(ColourMap::Grey.colour(0.5), [128, 128, 128]);
        assert_eq!(ColourMap::BlueWhiteRed.colour(0.5), [247, 247, 247]);
        for map in ColourMap::ALL {
            let table = map.table();
            assert_eq!(table.len(), 256);
            assert_eq!(
                (table[0], table[255]),
                (map.anchors()[0], map.anchors()[map.anchors().len() - 1])
            );
        }
        for (value, same_as) in [(-1.0, 0.0), (2.0, 1.0)] {
            let map = ColourMap::Viridis;
            assert_eq!(map.colour(value), map.colour(same_as), "{value} is clamped");
        }
        assert_eq!(ColourMap::Viridis.colour(f32::NAN), [0, 0, 0]);
    }
}
