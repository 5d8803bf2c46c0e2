//! What optical and radar sensors see of an invented scene.

use super::noise::{SIZE, hash_place, noise};
use super::scenes::{Landscape, SampleScene};
use super::terrain::{RowWaters, Terrain};

/// Reflectance × 10 000 of blue, green, red and near infrared.
type Reflectance = [f64; 4];

const CLEAR_WATER: Reflectance = [420.0, 460.0, 330.0, 160.0];
const SILT: Reflectance = [900.0, 1_230.0, 1_420.0, 420.0];
const SEA: Reflectance = [520.0, 430.0, 250.0, 90.0];
const SHALLOWS: Reflectance = [900.0, 1_250.0, 760.0, 210.0];
const LEAF: Reflectance = [470.0, 860.0, 560.0, 4_100.0];
const STRAW: Reflectance = [1_050.0, 1_480.0, 1_820.0, 2_500.0];
const SOIL: Reflectance = [880.0, 1_130.0, 1_480.0, 2_050.0];
const TRACK: Reflectance = [900.0, 1_150.0, 1_250.0, 2_300.0];
const WOOD: Reflectance = [380.0, 640.0, 430.0, 2_900.0];
const BARE_WOOD: Reflectance = [560.0, 720.0, 820.0, 1_650.0];
const MARSH: Reflectance = [430.0, 720.0, 560.0, 2_450.0];
const SAND: Reflectance = [1_900.0, 2_500.0, 3_000.0, 3_600.0];
const MEADOW: Reflectance = [520.0, 900.0, 740.0, 3_300.0];
const ROCK: Reflectance = [1_350.0, 1_500.0, 1_650.0, 1_950.0];
const SNOW: Reflectance = [8_000.0, 8_100.0, 8_000.0, 7_300.0];
const ICE: Reflectance = [5_300.0, 5_600.0, 5_300.0, 3_900.0];
const ROOF: Reflectance = [1_950.0, 2_100.0, 2_300.0, 2_700.0];
const ROAD: Reflectance = [1_050.0, 1_150.0, 1_220.0, 1_420.0];
const ASH: Reflectance = [430.0, 470.0, 560.0, 920.0];
const CLOUD: Reflectance = [7_300.0, 7_400.0, 7_500.0, 7_700.0];

/// Columns and rows from a shadow to its cloud: it falls to the north-west.
const SHADOW: [usize; 2] = [9, 15];

/// What covers a pixel, as far as the label distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    Land,
    Water,
    Ice,
    Snow,
    Burnt,
}

/// A pixel on one date.
#[derive(Clone, Copy)]
pub struct Surface {
    pub cover: Cover,
    pub bands: Reflectance,
    /// Backscatter VV in decibels, without speckle.
    backscatter: f64,
}

/// A scene on one date: before or after its event.
pub struct SceneView<'a> {
    pub scene: &'a SampleScene,
    pub terrain: &'a Terrain,
    pub is_after: bool,
}

/// A pixel of a view: its place in the drawing, and the noise of the terrain there.
struct Pixel<'a> {
    x: f64,
    y: f64,
    relief: f64,
    grain: f64,
    slope: f64,
    height: f64,
    row: &'a RowWaters,
    /// The row where the sea begins below a delta.
    sea: f64,
}

impl SceneView<'_> {
    /// The ground at a pixel, without clouds.
    pub fn surface(&self, column: usize, row: usize) -> Surface {
        let at = row * SIZE + column;
        let [x, y] = self.scene.place(column, row);
        let Terrain {
            heights,
            light,
            relief,
            grain,
            slope,
            rows,
            sea,
            ..
        } = self.terrain;
        let pixel = Pixel {
            x,
            y,
            relief: relief[at],
            grain: grain[at],
            slope: slope[at],
            height: heights[at],
            row: &rows[row],
            sea: sea[column],
        };
        let surface = match self.scene.landscape {
            Landscape::Delta => self.delta(&pixel),
            Landscape::Fields => self.river_valley(&pixel),
            Landscape::Coast => self.coast(&pixel),
            Landscape::City => self.city(&pixel),
            Landscape::Mountains => self.mountains(&pixel),
            Landscape::Lake => self.lake(&pixel),
            Landscape::Forest => self.forest(&pixel),
        };
        let light = if surface.cover == Cover::Water {
            1.0
        } else {
            light[at] * (0.9 + 0.2 * pixel.grain)
        };
        Surface {
            bands: surface.bands.map(|band| band * light),
            ..surface
        }
    }

    fn seed(&self, layer: u32) -> u32 {
        self.scene.seed.wrapping_add(layer)
    }

    /// Water between banks: a flood carries silt, most of it at the banks. `depth` is 1 in the
    /// middle.
    fn river(&self, depth: f64, grain: f64) -> Surface {
        let muddy = if self.is_after {
            0.95 - 0.5 * depth
        } else {
            0.3 - 0.25 * depth
        };
        let bands =
            mix_reflectances(CLEAR_WATER, SILT, muddy).map(|band| band * (0.93 + 0.14 * grain));
        Surface {
            cover: Cover::Water,
            bands,
            backscatter: -19.5 + 1.5 * grain,
        }
    }

    /// Half of the width of the river.
    fn river_width(&self, relief: f64) -> f64 {
        if self.is_after {
            0.045 + 0.13 * (0.72 - relief).max(0.0)
        } else {
            0.026 + 0.012 * relief
        }
    }

    fn river_valley(&self, pixel: &Pixel<'_>) -> Surface {
        let distance = (pixel.x - pixel.row.river).abs();
        let width = self.river_width(pixel.relief);
        if distance < width {
            return self.river(1.0 - distance / width, pixel.grain);
        }
        let fields = self.fields(pixel);
        // Woods on the hills beside the valley, a village on either bank.
        let slope = pixel.slope;
        let hill = ((distance - 0.22) * 4.0).clamp(0.0, 1.0) * (0.35 + pixel.relief);
        let wooded = blend(
            fields,
            self.wood(slope),
            ((hill - 0.42) * 7.0).clamp(0.0, 1.0),
        );
        let middle = 0.2 + 0.6 * noise(self.seed(67), 0.5, 0.5);
        let village = ((distance - 0.24) / 0.075).powi(2) + ((pixel.y - middle) / 0.12).powi(2)
            < 0.1 + 1.9 * slope * slope.sqrt();
        if village && pixel.grain > 0.4 {
            blend(wooded, roofs(self.seed(79), pixel), 0.8)
        } else {
            wooded
        }
    }

    /// A grid of fields, each with a crop of its own, from dark green to dry straw and ploughed
    /// soil.
    fn fields(&self, pixel: &Pixel<'_>) -> Surface {
        let [u, v] = field_grid([pixel.x, pixel.y]);
        let crop = noise(self.seed(37), u.floor() * 3.7 + 0.5, v.floor() * 5.3 + 0.5);
        let dry = ((crop - 0.5) * 2.6 + 0.42).clamp(0.0, 1.0);
        let ripe = mix_reflectances(LEAF, STRAW, dry);
        let bands = mix_reflectances(ripe, SOIL, (0.9 - self.scene.green()).max(0.0) * dry);
        let edge = u
            .fract()
            .min(1.0 - u.fract())
            .min(v.fract().min(1.0 - v.fract()));
        let bands = if edge < 0.05 {
            mix_reflectances(bands, TRACK, 0.5)
        } else {
            bands
        };
        land(bands, -12.5 + 3.0 * (1.0 - dry))
    }

    fn wood(&self, density: f64) -> Surface {
        let leaves = mix_reflectances(BARE_WOOD, WOOD, 0.35 + 0.65 * self.scene.green());
        land(leaves.map(|band| band * (0.55 + 0.9 * density)), -8.5)
    }

    fn delta(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            x,
            y,
            relief,
            grain,
            row,
            sea,
            ..
        } = *pixel;
        let out = y - sea;
        if out > 0.0 {
            // Silt is carried out before the mouths of the channels.
            let plume = row
                .channels
                .map(|[middle, _]| (1.0 - (x - middle).abs() * 6.0).max(0.0));
            let plume =
                plume.into_iter().fold(0.0, f64::max) * if self.is_after { 1.0 } else { 0.45 };
            let bands = mix_reflectances(
                mix_reflectances(SHALLOWS, SEA, (out * 6.0).min(1.0)),
                SILT,
                plume,
            );
            return Surface {
                cover: Cover::Water,
                bands,
                backscatter: -17.0 + 2.0 * grain,
            };
        }
        let banks = row.channels.map(|[middle, half]| (x - middle).abs() / half);
        let bank = banks.into_iter().fold(f64::INFINITY, f64::min);
        let rise = if self.is_after {
            1.0 + 7.0 * (0.62 - relief).max(0.0)
        } else {
            1.0
        };
        if bank < rise {
            return self.river(1.0 - bank / rise, grain);
        }
        let pools = noise(self.seed(83), x * 13.0, y * 13.0);
        if pools < 0.3 {
            return self.river(0.8, grain);
        }
        let marsh = land(
            mix_reflectances(MARSH, STRAW, (0.8 - 0.6 * self.scene.green()) * relief),
            -10.5,
        );
        // Higher ground along the upper course is farmed; sand builds up at the shore.
        let farmed = blend(
            marsh,
            self.fields(pixel),
            ((0.42 - y) * 6.0).clamp(0.0, 1.0),
        );
        blend(
            farmed,
            land(SAND, -14.0),
            (1.0 + out * 28.0).clamp(0.0, 1.0),
        )
    }

    fn coast(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            x,
            y,
            relief,
            grain,
            height,
            ..
        } = *pixel;
        let out = pixel.row.shore - x;
        if out > 0.0 {
            // Rows of waves run to the shore; a storm breaks them into foam.
            let wave = (0.5 + 0.5 * (out * 420.0 + 9.0 * relief + 40.0 * y).sin())
                * (1.0 - out * 3.0).max(0.0);
            let foam = if self.is_after {
                wave.powi(3) * 0.75
            } else {
                wave.powi(6) * 0.3
            };
            let bands = mix_reflectances(
                mix_reflectances(SHALLOWS, SEA, (out * 9.0).min(1.0)),
                CLOUD,
                foam * (1.0 - out * 5.0).max(0.0),
            );
            let wind = if self.is_after { 5.0 } else { 0.0 };
            return Surface {
                cover: Cover::Water,
                bands,
                backscatter: -18.0 + wind + 2.0 * grain,
            };
        }
        if self.is_after && height < 2.6 + 3.0 * (relief - 0.5) {
            return self.river(0.3, grain);
        }
        let inland = blend(
            self.fields(pixel),
            self.wood(relief),
            ((relief - 0.62) * 9.0).clamp(0.0, 1.0),
        );
        let dunes = blend(
            land(MEADOW, -11.5),
            land(SAND, -14.5),
            (1.0 + out * 34.0).clamp(0.0, 1.0),
        );
        let village = noise(self.seed(61), x * 6.0, y * 6.0) > 0.68 && grain > 0.42;
        let inland = if village {
            blend(inland, roofs(self.seed(79), pixel), 0.8)
        } else {
            inland
        };
        blend(inland, dunes, (1.5 + out * 17.0).clamp(0.0, 1.0))
    }

    fn city(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            x,
            y,
            relief,
            grain,
            ..
        } = *pixel;
        let distance = (x - pixel.row.river).abs();
        let width = self.river_width(relief);
        if distance < width {
            return self.river(1.0 - distance / width, grain);
        }
        let [u, v] = street_grid(self.scene, [x, y]);
        let block = hash_place(self.seed(89), u.floor() as i64, v.floor() as i64, 0);
        let street = u
            .fract()
            .min(1.0 - u.fract())
            .min(v.fract().min(1.0 - v.fract()));
        let avenue = (u / 6.0).fract() * 6.0 < 0.34 || (v / 6.0).fract() * 6.0 < 0.34;
        if street < 0.09 || avenue {
            return land(ROAD.map(|band| band * (0.9 + 0.2 * grain)), -13.0);
        }
        if block > BUILT_BLOCKS {
            let trees = noise(self.seed(51), x * 30.0, y * 30.0);
            return blend(
                land(
                    mix_reflectances(MEADOW, STRAW, 0.5 * (1.0 - self.scene.green())),
                    -11.5,
                ),
                self.wood(trees),
                trees,
            );
        }
        // Gardens between the roofs of the outer quarters.
        let outer = ((distance - 0.2) * 3.0).clamp(0.0, 0.75);
        let built = roofs(self.seed(79), pixel);
        let built = land(
            built.bands.map(|band| band * (0.65 + 0.75 * block)),
            -3.5 - 3.0 * outer,
        );
        if grain < outer {
            blend(built, self.wood(grain), 0.7)
        } else {
            built
        }
    }

    fn mountains(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            relief,
            grain,
            height,
            slope,
            ..
        } = *pixel;
        let line = if self.is_after { 1_240.0 } else { 1_680.0 }
            + 260.0 * (relief - 0.5)
            + 90.0 * (grain - 0.5);
        if height > line {
            let deep = ((height - line) / 60.0).min(1.0);
            let rock = land(ROCK, -9.5);
            let snow = Surface {
                cover: Cover::Snow,
                bands: SNOW,
                backscatter: -14.0,
            };
            return Surface {
                cover: Cover::Snow,
                ..blend(rock, snow, 0.55 + 0.45 * deep)
            };
        }
        let above_trees = ((height - 1_330.0 - 200.0 * (slope - 0.5)) / 90.0).clamp(0.0, 1.0);
        let open = blend(
            land(MEADOW, -11.0),
            land(ROCK, -9.0),
            ((height - 1_480.0 + 240.0 * (relief - 0.5)) / 160.0).clamp(0.0, 1.0),
        );
        let below = blend(
            self.wood(slope),
            land(MEADOW, -11.5),
            ((1_010.0 - height) / 50.0).clamp(0.0, 0.9),
        );
        blend(below, open, above_trees)
    }

    fn lake(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            x,
            y,
            relief,
            grain,
            ..
        } = *pixel;
        let out = self.scene.outline_distance([x, y]);
        let cracks = (2.0 * noise(self.seed(97), x * 7.0, y * 7.0) - 1.0).abs();
        if out < 0.0 {
            // The thaw begins in the south, where the sun reaches; ice remains along the northern
            // shore.
            let melted = self.is_after && y > 0.42 + 0.25 * (relief - 0.5);
            if melted || cracks < 0.012 {
                return Surface {
                    cover: Cover::Water,
                    bands: CLEAR_WATER.map(|band| band * (0.9 + 0.2 * grain)),
                    backscatter: -20.5,
                };
            }
            let bands = mix_reflectances(ICE, SNOW, (relief * 1.6 - 0.4).clamp(0.0, 1.0))
                .map(|band| band * (0.8 + 0.4 * cracks.min(0.5)));
            let bands = if self.is_after {
                mix_reflectances(bands, CLEAR_WATER, 0.45)
            } else {
                bands
            };
            return Surface {
                cover: Cover::Ice,
                bands,
                backscatter: -15.0 + 6.0 * cracks,
            };
        }
        let slope = pixel.slope;
        let open = if self.is_after {
            land(mix_reflectances(STRAW, MEADOW, 0.3), -11.5)
        } else {
            land(mix_reflectances(STRAW, SNOW, 0.75), -12.5)
        };
        let wooded = blend(
            open,
            self.wood(slope),
            ((slope - 0.42) * 9.0).clamp(0.0, 0.92),
        );
        let village = noise(self.seed(61), x * 6.0, y * 6.0) > 0.66 && grain > 0.45;
        if village {
            blend(wooded, roofs(self.seed(79), pixel), 0.7)
        } else {
            wooded
        }
    }

    fn forest(&self, pixel: &Pixel<'_>) -> Surface {
        let Pixel {
            x,
            y,
            relief,
            grain,
            ..
        } = *pixel;
        let slope = pixel.slope;
        // Clearings and forest roads.
        let [u, v] = field_grid([x * 0.5, y * 0.5]);
        let cleared = hash_place(self.seed(101), u.floor() as i64, v.floor() as i64, 0) > 0.88;
        let stands = if cleared {
            land(mix_reflectances(MEADOW, WOOD, 0.4 * relief), -11.0)
        } else {
            self.wood(slope)
        };
        let road = (2.0 * noise(self.seed(103), x * 2.3, y * 2.3) - 1.0).abs() < 0.012;
        let stands = if road { land(SOIL, -12.0) } else { stands };
        if !self.is_after || self.scene.outline_distance([x, y]) > 0.0 {
            return stands;
        }
        // Islands that the fire left out, and patches that it burnt less.
        let heat = noise(self.seed(107), x * 8.0, y * 8.0);
        if heat > 0.66 {
            return stands;
        }
        let burnt = land(ASH.map(|band| band * (0.75 + 0.5 * grain)), -11.5);
        Surface {
            cover: Cover::Burnt,
            ..blend(burnt, stands, ((heat - 0.52) * 4.0).clamp(0.0, 0.45))
        }
    }

    /// How much of the sky over a pixel is cloud: 0..1. Clouds are on the second date alone.
    pub fn cloud(&self, column: usize, row: usize) -> f64 {
        if self.is_after && column < SIZE && row < SIZE {
            self.terrain.clouds[row * SIZE + column]
        } else {
            0.0
        }
    }

    /// What the optical sensor sees at a pixel: the ground, the shadows of clouds, the clouds.
    pub fn observed_reflectance(
        &self,
        surface: &Surface,
        column: usize,
        row: usize,
    ) -> Reflectance {
        let [east, south] = SHADOW;
        let shadow = self.cloud(column + east, row + south);
        let shaded = surface.bands.map(|band| band * (1.0 - 0.55 * shadow));
        mix_reflectances(shaded, CLOUD, self.cloud(column, row))
    }

    /// Backscatter of VV and VH in decibels, with the speckle of four looks.
    pub fn backscatter(&self, surface: &Surface, column: usize, row: usize) -> [f64; 2] {
        let light = self.terrain.light[row * SIZE + column];
        let tilt = if surface.cover == Cover::Water {
            0.0
        } else {
            4.0 * (light - 1.0)
        };
        let cross = match surface.cover {
            Cover::Water => -7.0,
            Cover::Land if surface.backscatter > -9.5 && surface.backscatter < -7.0 => -5.0,
            _ => -6.5,
        };
        [0, 1].map(|band| {
            surface.backscatter
                + tilt
                + self.draw_speckle(band, column, row)
                + if band == 0 { 0.0 } else { cross }
        })
    }

    /// The noise of four looks in decibels.
    fn draw_speckle(&self, band: u32, column: usize, row: usize) -> f64 {
        let looks = (0..4).map(|look| {
            -(1.0 - hash_place(self.seed(500 + band), column as i64, row as i64, look))
                .max(1e-6)
                .ln()
        });
        10.0 * (looks.sum::<f64>() / 4.0).log10()
    }
}

/// Blocks of a city whose number is smaller are built up; others are parks.
pub const BUILT_BLOCKS: f64 = 0.86;

/// Field coordinates of a place: each field is a unit square of them.
pub fn field_grid([x, y]: [f64; 2]) -> [f64; 2] {
    [(x + 0.35 * y) * 19.0, (y - 0.22 * x) * 26.0]
}

/// The place of field coordinates, the inverse of [`field_grid`].
pub fn place_of_field([u, v]: [f64; 2]) -> [f64; 2] {
    let (along, across) = (u / 19.0, v / 26.0);
    let x = (along - 0.35 * across) / (1.0 + 0.35 * 0.22);
    [x, across + 0.22 * x]
}

/// Street coordinates of a place: each block is a unit square of them.
pub fn street_grid(scene: &SampleScene, [x, y]: [f64; 2]) -> [f64; 2] {
    let (sine, cosine) = (0.2 + f64::from(scene.seed % 5) * 0.12).sin_cos();
    [
        (x * cosine + y * sine) * 30.0 + 40.0,
        (y * cosine - x * sine) * 24.0 + 40.0,
    ]
}

/// The place of street coordinates, the inverse of [`street_grid`].
pub fn place_of_block(scene: &SampleScene, [u, v]: [f64; 2]) -> [f64; 2] {
    let (sine, cosine) = (0.2 + f64::from(scene.seed % 5) * 0.12).sin_cos();
    let (along, across) = ((u - 40.0) / 30.0, (v - 40.0) / 24.0);
    [
        along * cosine - across * sine,
        along * sine + across * cosine,
    ]
}

/// The number of a block that says whether it is built up.
pub fn block_number(scene: &SampleScene, [u, v]: [i64; 2]) -> f64 {
    hash_place(scene.seed.wrapping_add(89), u, v, 0)
}

fn roofs(seed: u32, pixel: &Pixel<'_>) -> Surface {
    let roof = noise(seed, pixel.x * 90.0, pixel.y * 90.0);
    land(ROOF.map(|band| band * (0.55 + 0.9 * roof)), -5.0)
}

fn land(bands: Reflectance, backscatter: f64) -> Surface {
    Surface {
        cover: Cover::Land,
        bands,
        backscatter,
    }
}

/// The part `share` of the second surface over the first; the cover is that of the first.
fn blend(first: Surface, second: Surface, share: f64) -> Surface {
    let backscatter = first.backscatter + (second.backscatter - first.backscatter) * share;
    Surface {
        cover: first.cover,
        bands: mix_reflectances(first.bands, second.bands, share),
        backscatter,
    }
}

fn mix_reflectances(first: Reflectance, second: Reflectance, share: f64) -> Reflectance {
    std::array::from_fn(|band| first[band] + (second[band] - first[band]) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_of_fields_and_blocks_lead_back_to_their_places() {
        let scene = SampleScene::from_index(11);
        let is_at = |found: [f64; 2], wanted: [f64; 2]| {
            (0..2).all(|axis| (found[axis] - wanted[axis]).abs() < 1e-12)
        };
        for place in [[0.0, 0.0], [0.3, 0.9], [1.25, 0.5]] {
            assert!(is_at(place_of_field(field_grid(place)), place), "{place:?}");
            assert!(
                is_at(place_of_block(&scene, street_grid(&scene, place)), place),
                "{place:?}"
            );
        }
    }

    /// The scene in another part of the split shows the ground of its neighbour.
    #[test]
    fn overlapping_scenes_show_one_ground() {
        let [first, second] = [11, 17].map(SampleScene::from_index);
        let moved =
            ((second.corner[0] - first.corner[0]) / crate::ops::sample_data::noise::PIXEL) as usize;
        assert_eq!(moved, SIZE / 4);
        let [old, new] = [&first, &second].map(Terrain::for_scene);
        let view = |scene, terrain| SceneView {
            scene,
            terrain,
            is_after: false,
        };
        let [one, other] =
            [(&first, &old), (&second, &new)].map(|(scene, terrain)| view(scene, terrain));
        // Not at the edges, where the light of a slope is measured with fewer neighbours.
        for (column, row) in [(moved + 1, 1), (200, 100), (254, 254)] {
            let [one, other] = [one.surface(column, row), other.surface(column - moved, row)];
            assert_eq!(one.cover, other.cover);
            assert!(
                one.bands
                    .iter()
                    .zip(other.bands)
                    .all(|(one, other)| (one - other).abs() < 1.0),
                "{column} {row}"
            );
        }
    }
}
