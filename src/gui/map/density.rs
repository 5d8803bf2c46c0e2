//! Sample density: cells of a fixed grid on the plane, coloured by the logarithm of their count.
//! The grid doubles with the scale and does not move with the view, so that cells are stable while
//! the map is dragged.

use std::collections::HashMap;

use egui::{Color32, Rect, vec2};

use super::scene::{HoverTarget, MARGIN, MapScene, PlacedRow, SceneRequest, visit_placed_rows};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::raster::ColourMap;

/// The smallest side of a cell, in points.
const MIN_CELL_SIDE: f64 = 9.0;
/// Colours of the legend.
pub const DENSITY_STEPS: u8 = 6;

/// The side of a cell on the plane: a power of two that is 9 to 18 points of the screen.
fn cell_side(scale: f64) -> f64 {
    (MIN_CELL_SIDE / scale).log2().ceil().exp2()
}

/// The colour of a count among counts up to `most`.
pub fn density_colour(count: u32, most: u32) -> Color32 {
    let part = if most > 1 {
        f64::from(count.max(1)).ln() / f64::from(most).ln()
    } else {
        1.0
    };
    // The darkest colours of the map are those of the sea at night.
    let [r, g, b] = ColourMap::Viridis.colour(0.15 + 0.85 * part as f32);
    Color32::from_rgba_unmultiplied(r, g, b, 215)
}

/// Computes the cells. Checks for cancellation every few thousand rows.
pub fn build_density_scene(request: &SceneRequest, ctx: &JobContext) -> Result<MapScene> {
    let mut scene = MapScene {
        view: Some(request.view),
        ..MapScene::default()
    };
    let side = cell_side(request.view.scale);
    let half = vec2(
        request.size.x * (0.5 + MARGIN),
        request.size.y * (0.5 + MARGIN),
    ) + vec2(1.0, 1.0) * (side * request.view.scale) as f32;
    let mut cells: HashMap<(i64, i64), (u32, u32)> = HashMap::new();
    visit_placed_rows(
        request,
        &mut scene,
        ctx,
        |PlacedRow {
             row,
             matches,
             plane: [x, y],
             at: [across, down],
             ..
         }| {
            if !matches || across.abs() > half.x || down.abs() > half.y {
                return;
            }
            let key = ((x / side).floor() as i64, (y / side).floor() as i64);
            cells
                .entry(key)
                .and_modify(|(_, count)| *count += 1)
                .or_insert((row, 1));
        },
    )?;
    scene.densest = cells.values().map(|(_, count)| *count).max().unwrap_or(0);
    let mut cells: Vec<((i64, i64), (u32, u32))> = cells.into_iter().collect();
    cells.sort_unstable_by_key(|(key, _)| *key);
    for ((column, line), (row, count)) in cells {
        let (x, y) = (column as f64 * side, line as f64 * side);
        let corners = [[x, y], [x + side, y + side]];
        let [min, max] = corners.map(|at| request.view.measure_offset_from_middle(at).to_pos2());
        let rect = Rect::from_min_max(min, max);
        scene
            .mesh
            .add_colored_rect(rect, density_colour(count, scene.densest));
        scene.targets.push(HoverTarget { row, count, rect });
    }
    Ok(scene)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::scene::SceneColours;
    use super::super::view::{MapView, ProjectedFootprints};
    use super::*;
    use crate::ops::Footprints;

    fn request(places: &[[f64; 2]], view: MapView) -> SceneRequest {
        let ring = |&[x, y]: &[f64; 2]| {
            vec![
                [x - 0.1, y + 0.1],
                [x + 0.1, y + 0.1],
                [x + 0.1, y - 0.1],
                [x - 0.1, y - 0.1],
            ]
        };
        let footprints = Arc::new(Footprints::from_outlines(0, "g", places.iter().map(ring)));
        let projected = Arc::new(ProjectedFootprints::new(&footprints));
        let colours = SceneColours {
            classes: Vec::new(),
            other: Color32::GRAY,
            hidden: Color32::BLUE,
        };
        SceneRequest {
            footprints,
            projected,
            kept: None,
            classes: None,
            density: true,
            view,
            size: vec2(800.0, 600.0),
            colours,
        }
    }

    #[test]
    fn every_sample_is_in_one_cell_and_cells_stay_when_the_map_moves() {
        let places: Vec<[f64; 2]> = (0..5000)
            .map(|n| [f64::from(n % 50), f64::from(n / 1000)])
            .chain([[120.0, -40.0]])
            .collect();
        let view = MapView {
            middle: [0.5, 0.5],
            scale: 700.0,
        };
        let scene =
            build_density_scene(&request(&places, view), &JobContext::default()).expect("is made");
        assert_eq!(
            scene.targets.iter().map(|target| target.count).sum::<u32>(),
            5001
        );
        assert_eq!(
            (scene.matching, scene.densest),
            (
                5001,
                scene
                    .targets
                    .iter()
                    .map(|target| target.count)
                    .max()
                    .expect("cells")
            )
        );
        assert!(
            scene
                .targets
                .iter()
                .all(|target| (9.0..=18.1).contains(&target.rect.width()))
        );
        let moved = MapView {
            middle: [0.51, 0.495],
            scale: 700.0,
        };
        let again =
            build_density_scene(&request(&places, moved), &JobContext::default()).expect("is made");
        let counts = |scene: &MapScene| {
            scene
                .targets
                .iter()
                .map(|target| (target.row, target.count))
                .collect::<Vec<_>>()
        };
        assert_eq!(counts(&scene), counts(&again));
    }

    #[test]
    fn colours_go_up_with_the_count() {
        assert_ne!(density_colour(1, 1000), density_colour(1000, 1000));
        assert_eq!(density_colour(1, 1), density_colour(1000, 1000));
    }
}
