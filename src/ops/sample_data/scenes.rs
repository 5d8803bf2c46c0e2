//! The places of the sample dataset: where they are, and what is there.

use super::noise::{PIXEL, SIZE, noise};

/// Scenes in the sample.
pub const SCENES: usize = 24;

/// What covers a scene. Each has an event of its own between the two dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landscape {
    Delta,
    Fields,
    Coast,
    City,
    Mountains,
    Lake,
    Forest,
}

impl Landscape {
    /// The word in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Fields => "fields",
            Self::Coast => "coast",
            Self::City => "city",
            Self::Mountains => "mountains",
            Self::Lake => "lake",
            Self::Forest => "forest",
        }
    }

    /// What happened between the two dates.
    pub fn event(self) -> &'static str {
        match self {
            Self::Delta | Self::Fields | Self::City => "flood",
            Self::Coast => "storm surge",
            Self::Mountains => "snowfall",
            Self::Lake => "thaw",
            Self::Forest => "fire",
        }
    }

    /// First month in which the event is likely, and how many there are.
    fn months(self) -> [usize; 2] {
        match self {
            Self::Delta => [4, 3],
            Self::Fields => [2, 8],
            Self::Coast => [1, 3],
            Self::City => [5, 5],
            Self::Mountains => [8, 2],
            Self::Lake => [3, 1],
            Self::Forest => [7, 3],
        }
    }
}

/// A river: UTM zone as EPSG code, coordinates of its first place, and what its places show.
struct River {
    name: &'static str,
    epsg: u32,
    corner: [f64; 2],
    landscapes: [Landscape; 4],
}

const RIVERS: [River; 6] = {
    use Landscape::{City, Coast, Delta, Fields, Forest, Lake, Mountains};
    [
        River {
            name: "ebro",
            epsg: 32631,
            corner: [303_792.0, 4_508_089.0],
            landscapes: [Delta, Fields, Coast, City],
        },
        River {
            name: "po",
            epsg: 32633,
            corner: [270_310.0, 4_980_120.0],
            landscapes: [Fields, City, Delta, Fields],
        },
        River {
            name: "danube",
            epsg: 32635,
            corner: [640_400.0, 5_010_500.0],
            landscapes: [City, Delta, Fields, Delta],
        },
        River {
            name: "rhone",
            epsg: 32632,
            corner: [384_100.0, 5_117_300.0],
            landscapes: [Mountains, Fields, Mountains, City],
        },
        River {
            name: "minho",
            epsg: 32629,
            corner: [530_100.0, 4_650_900.0],
            landscapes: [Forest, Coast, Fields, Forest],
        },
        River {
            name: "vistula",
            epsg: 32634,
            corner: [350_800.0, 6_010_300.0],
            landscapes: [Lake, City, City, Lake],
        },
    ]
};

/// The scene that shows most of the place of [`OVERLAPPED`], in another part of the split: a leak
/// to find.
const OVERLAPPING: usize = 17;
/// See [`OVERLAPPING`].
const OVERLAPPED: usize = 11;
/// How far the overlapping scene is to the east, as part of a scene.
const OVERLAP_SHIFT: f64 = 0.25;
/// One scene of this many has a deck of clouds.
const CLOUDED: usize = 5;
/// The scene whose radar picture ends at the edge of the swath: an empty region to find.
const CUT_BY_SWATH: usize = 14;

/// A scene: a place and the date of an event there.
pub struct SampleScene {
    /// Name of its folder.
    pub id: String,
    /// Name of the river.
    pub river: &'static str,
    /// What covers it.
    pub landscape: Landscape,
    /// EPSG code of the coordinate system.
    pub epsg: u32,
    /// East and north of its upper left corner, in metres.
    pub corner: [f64; 2],
    /// Start of its random numbers.
    pub seed: u32,
    /// Part of the split.
    pub split: &'static str,
    /// Month and day of the event, in 2023.
    pub date: [usize; 2],
    /// Its origin in the unit square of the drawing.
    shift: f64,
    /// How much of the sky the clouds of the second date cover: 0..1.
    pub clouds: f64,
    /// True when the edge of the radar swath crosses it.
    pub is_cut: bool,
}

impl SampleScene {
    /// One of the scenes.
    pub fn from_index(index: usize) -> Self {
        let drawn = if index == OVERLAPPING {
            OVERLAPPED
        } else {
            index
        };
        let shift = if index == OVERLAPPING {
            OVERLAP_SHIFT
        } else {
            0.0
        };
        let river = &RIVERS[index % RIVERS.len()];
        let landscape = river.landscapes[drawn / RIVERS.len()];
        let place = (drawn / RIVERS.len()) as f64;
        let east = river.corner[0] + place * 4_000.0 + shift * PIXEL * SIZE as f64;
        let [first, months] = landscape.months();
        Self {
            id: format!("{}_{:04}", river.name, index / RIVERS.len() + 1),
            river: river.name,
            landscape,
            epsg: river.epsg,
            corner: [east, river.corner[1] - place * 3_000.0],
            seed: drawn as u32 * 101 + 7,
            split: if index == OVERLAPPING {
                "train"
            } else {
                ["train", "train", "train", "validation", "train", "test"][index % 6]
            },
            date: [first + index / RIVERS.len() % months, 10 + index % 10],
            shift,
            clouds: noise(index as u32 * 31 + 3, 3.3, 1.7)
                * if index % CLOUDED == CLOUDED - 1 {
                    0.9
                } else {
                    0.2
                },
            is_cut: index == CUT_BY_SWATH,
        }
    }

    /// Where a pixel is in the unit square of the drawing.
    pub fn place(&self, column: usize, row: usize) -> [f64; 2] {
        [
            self.shift + column as f64 / SIZE as f64,
            row as f64 / SIZE as f64,
        ]
    }

    /// True for a place of the drawing that the scene shows.
    pub fn holds(&self, [x, y]: [f64; 2]) -> bool {
        (0.0..=1.0).contains(&(x - self.shift)) && (0.0..=1.0).contains(&y)
    }

    /// Coordinates in metres of a place of the drawing.
    pub fn coordinates(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let side = PIXEL * SIZE as f64;
        [
            self.corner[0] + (x - self.shift) * side,
            self.corner[1] - y * side,
        ]
    }

    /// How green plants are: 0 in winter, 1 in summer.
    pub fn green(&self) -> f64 {
        0.5 + 0.5 * ((self.date[0] as f64 - 6.5) / 12.0 * std::f64::consts::TAU).cos()
    }

    /// The column of the river at a row, from its middle.
    pub fn river_at(&self, y: f64) -> f64 {
        0.5 + 0.22 * (noise(self.seed, 0.5, y * 2.4) - 0.5)
            + 0.16 * (y * 5.0 + f64::from(self.seed % 7)).sin()
    }

    /// Distance from the middle of the river along a row.
    pub fn river_distance(&self, [x, y]: [f64; 2]) -> f64 {
        (x - self.river_at(y)).abs()
    }

    /// The column where the sea ends.
    pub fn shore(&self, y: f64) -> f64 {
        0.16 + 0.42 * noise(self.seed.wrapping_add(3), 0.5, y * 1.7)
            + 0.02 * noise(self.seed.wrapping_add(4), 0.5, y * 14.0)
    }

    /// How far a place is outside of the lake or of the burnt area, as part of a scene; negative
    /// inside.
    pub fn outline_distance(&self, [x, y]: [f64; 2]) -> f64 {
        let (east, south) = (x - 0.5, y - 0.5);
        east.hypot(south) - self.outline_radius(south.atan2(east))
    }

    /// Distance of the outline from the middle in a direction, in radians.
    pub fn outline_radius(&self, direction: f64) -> f64 {
        let (sine, cosine) = direction.sin_cos();
        0.14 + 0.36
            * noise(
                self.seed.wrapping_add(71),
                4.0 + 1.1 * cosine,
                4.0 + 1.1 * sine,
            )
    }

    /// The columns of the channels of a delta at a row, and half of their width.
    pub fn channels(&self, y: f64) -> [[f64; 2]; 3] {
        let middle = 0.5 + 0.6 * self.bend_channel(1, y);
        let arm = |channel, way, fork| self.locate_channel((middle, y), channel, way, fork);
        [
            [arm(2, -0.7, 0.2), 0.011],
            [arm(3, 0.05, 0.2), 0.017],
            [arm(4, 0.6, 0.34), 0.012],
        ]
    }

    fn bend_channel(&self, channel: u32, y: f64) -> f64 {
        0.5 * (noise(self.seed.wrapping_add(channel), 0.5, y * 2.0) - 0.5)
    }

    /// The column of a channel that leaves the middle of the delta at the row `fork`.
    fn locate_channel(&self, (middle, y): (f64, f64), channel: u32, way: f64, fork: f64) -> f64 {
        let chance = |channel: u32| noise(self.seed.wrapping_add(channel), 7.5, 7.5) - 0.5;
        let spread = (y - fork - 0.3 * chance(channel)).max(0.0);
        middle
            + (way + 0.5 * chance(channel + 30)) * spread
            + self.bend_channel(channel, y) * (spread * 3.0).min(1.0)
    }

    /// The row where the sea begins below a delta.
    pub fn sea(&self, x: f64) -> f64 {
        0.8 + 0.16 * noise(self.seed.wrapping_add(6), x * 3.0, 0.5)
    }
}
