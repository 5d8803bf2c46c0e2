//! Heights and light of an invented scene.

use super::noise::{PIXEL, SIZE, noise};
use super::scenes::{Landscape, SampleScene};

/// Sine and cosine of the elevation of the sun, 38 degrees.
const SUN_ELEVATION: [f64; 2] = [0.6157, 0.788];
/// Direction to the sun in columns and rows: from the south-east, as in the morning when satellites
/// pass.
const SUN_DIRECTION: [f64; 2] = [0.5, 0.866];

/// What is the same on all dates, except for clouds: heights, light, and the noise that more than
/// one surface needs.
pub struct Terrain {
    /// Metres above the sea, row by row.
    pub heights: Vec<f64>,
    /// Light on the slope: 1 on flat ground.
    pub light: Vec<f64>,
    /// Smooth noise in 0..1.
    pub relief: Vec<f64>,
    /// Noise of a few pixels in 0..1.
    pub grain: Vec<f64>,
    /// Noise of a slope in 0..1.
    pub slope: Vec<f64>,
    /// How much of the sky over a pixel is cloud on the second date: 0..1.
    pub clouds: Vec<f64>,
    /// The rivers and shores of each row.
    pub rows: Vec<RowWaters>,
    /// For each column the y in the drawing, 0 to 1, where the sea begins below a delta.
    pub sea: Vec<f64>,
}

/// Rivers and shores of a row, as x in the drawing, 0 to 1.
pub struct RowWaters {
    /// The middle of the river.
    pub river: f64,
    /// Where the sea ends and the land begins.
    pub shore: f64,
    /// Middle and half of the width of each channel of a delta.
    pub channels: [[f64; 2]; 3],
}

impl RowWaters {
    fn at_row(scene: &SampleScene, row: usize) -> Self {
        let [_, y] = scene.place(0, row);
        Self {
            river: scene.river_at(y),
            shore: scene.shore(y),
            channels: scene.channels(y),
        }
    }
}

/// The places in the drawing of all pixels, row by row.
fn list_places(scene: &SampleScene) -> impl Iterator<Item = [f64; 2]> {
    (0..SIZE * SIZE).map(|at| scene.place(at % SIZE, at / SIZE))
}

/// Noise of a layer at every pixel.
fn draw_noise(scene: &SampleScene, layer: u32, scale: f64) -> Vec<f64> {
    list_places(scene)
        .map(|[x, y]| noise(scene.seed.wrapping_add(layer), x * scale, y * scale))
        .collect()
}

impl Terrain {
    /// The terrain of a scene.
    pub fn for_scene(scene: &SampleScene) -> Self {
        let smooth = |layer, scale| draw_noise(scene, layer, scale);
        let rows: Vec<RowWaters> = (0..SIZE).map(|row| RowWaters::at_row(scene, row)).collect();
        let relief = smooth(11, 5.0);
        let heights: Vec<f64> = list_places(scene)
            .enumerate()
            .map(|(at, place)| height(scene, place, &rows[at / SIZE], relief[at]))
            .collect();
        let light = (0..SIZE * SIZE)
            .map(|at| light(&heights, at % SIZE, at / SIZE))
            .collect();
        let clouds = list_places(scene)
            .map(|place| cloud(scene, place))
            .collect();
        let sea = (0..SIZE)
            .map(|column| scene.sea(scene.place(column, 0)[0]))
            .collect();
        Self {
            heights,
            light,
            relief,
            grain: smooth(23, 48.0),
            slope: smooth(51, 9.0),
            clouds,
            rows,
            sea,
        }
    }
}

/// How much of the sky over a place is cloud.
fn cloud(scene: &SampleScene, [x, y]: [f64; 2]) -> f64 {
    let seed = (scene.date[1] as u32)
        .wrapping_mul(911)
        .wrapping_add(scene.seed.wrapping_add(401));
    let density = noise(seed, x * 3.4 + 0.6 * y, y * 4.6);
    ((density - 0.8 + 0.62 * scene.clouds) * 9.0).clamp(0.0, 1.0)
}

/// Metres above the sea at a place of the unit square.
fn height(scene: &SampleScene, [x, y]: [f64; 2], row: &RowWaters, relief: f64) -> f64 {
    let ridge = |scale| draw_ridge(scene, [x, y], scale);
    match scene.landscape {
        Landscape::Mountains => 900.0 + 1_150.0 * ridge(2.1).powi(3) + 90.0 * relief,
        Landscape::Forest => 180.0 + 330.0 * ridge(1.6).powi(2) + 40.0 * relief,
        Landscape::Lake => {
            95.0 + 60.0 * (scene.outline_distance([x, y]) * 2.0).clamp(0.0, 1.0) + 12.0 * relief
        }
        Landscape::Coast => (90.0 * (x - row.shore)).max(0.0) * (0.5 + relief),
        Landscape::Delta => 3.0 * relief * (1.0 - y).max(0.0),
        Landscape::Fields | Landscape::City => {
            12.0 + 14.0 * relief + 30.0 * (x - row.river).powi(2)
        }
    }
}

/// Noise with sharp crests, from 0 to 1.
fn draw_ridge(scene: &SampleScene, [x, y]: [f64; 2], scale: f64) -> f64 {
    // Turned and bent, because the noise has a grid along rows and columns.
    let (sine, cosine) = (0.4 + f64::from(scene.seed % 9) * 0.3).sin_cos();
    let bend = 0.22 * noise(scene.seed.wrapping_add(8), x * 3.0, y * 3.0);
    let [along, across] = [x * cosine - y * sine + bend, x * sine + y * cosine - bend];
    1.0 - (2.0 * noise(scene.seed.wrapping_add(5), along * scale, across * scale) - 1.0).abs()
}

/// Light on the slope of a pixel, 1 on flat ground.
fn light(heights: &[f64], column: usize, row: usize) -> f64 {
    let at = |column: usize, row: usize| heights[row.min(SIZE - 1) * SIZE + column.min(SIZE - 1)];
    let east = (at(column + 1, row) - at(column.saturating_sub(1), row)) / (2.0 * PIXEL);
    let south = (at(column, row + 1) - at(column, row.saturating_sub(1))) / (2.0 * PIXEL);
    let [sine, cosine] = SUN_ELEVATION;
    let facing = sine - cosine * (east * SUN_DIRECTION[0] + south * SUN_DIRECTION[1]);
    (facing / (1.0 + east * east + south * south).sqrt() / sine).max(0.06)
}
