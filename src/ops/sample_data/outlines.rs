//! The vector label of an invented scene: shores, fields, parks, summits, a lake or a burnt area.

use serde_json::{Value as Json, json};

use super::noise::{PIXEL, SIZE, hash_place};
use super::scenes::{Landscape, SampleScene};
use super::surfaces::{
    BUILT_BLOCKS, block_number, field_grid, place_of_block, place_of_field, street_grid,
};
use super::terrain::Terrain;
use crate::error::Result;
use crate::raster::CrsTransform;

/// Places along a line or around an area.
const STEPS: usize = 72;
/// Pixels around a summit that are all lower.
const SUMMIT: usize = 14;
/// Square metres of a hectare.
const HECTARE: f64 = 10_000.0;

/// A shape in the unit square of the drawing.
enum UnitShape {
    Point([f64; 2]),
    Line(Vec<[f64; 2]>),
    Area(Vec<[f64; 2]>),
}

/// A feature of a scene.
struct SceneOutline {
    kind: &'static str,
    name: String,
    height: Option<f64>,
    shape: UnitShape,
}

/// The features of a scene as GeoJSON, in degrees (RFC 7946).
///
/// # Errors
/// When the coordinate system of the scene is not known to PROJ.
pub fn geojson(scene: &SampleScene, terrain: &Terrain) -> Result<Json> {
    let to_degrees =
        CrsTransform::between_systems(&format!("EPSG:{}", scene.epsg), "EPSG:4326", true)?;
    let features: Vec<Json> = outlines(scene, terrain)
        .iter()
        .map(|outline| write_feature(outline, scene, &to_degrees))
        .collect();
    Ok(json!({"type": "FeatureCollection", "features": features}))
}

/// Places of the unit square in degrees.
fn project_places(
    scene: &SampleScene,
    to_degrees: &CrsTransform,
    places: &[[f64; 2]],
) -> Vec<[f64; 2]> {
    let metres: Vec<[f64; 2]> = places
        .iter()
        .map(|place| scene.coordinates(*place))
        .collect();
    let rounded = |number: f64| (number * 1e7).round() / 1e7;
    to_degrees
        .points(&metres)
        .into_iter()
        .flatten()
        .map(|point| point.map(rounded))
        .collect()
}

fn write_feature(outline: &SceneOutline, scene: &SampleScene, to_degrees: &CrsTransform) -> Json {
    let degrees = |places: &[[f64; 2]]| project_places(scene, to_degrees, places);
    let (geometry, area) = match &outline.shape {
        UnitShape::Point(place) => (
            json!({"type": "Point", "coordinates": degrees(&[*place]).first()}),
            None,
        ),
        UnitShape::Line(places) => (
            json!({"type": "LineString", "coordinates": degrees(places)}),
            None,
        ),
        UnitShape::Area(places) => {
            let hectares = area(places).abs() * (PIXEL * SIZE as f64).powi(2) / HECTARE;
            let mut ring = places.clone();
            // Rows run south: what turns to the right in the drawing turns to the left on the
            // map.
            if area(places) > 0.0 {
                ring.reverse();
            }
            ring.extend(ring.first().copied());
            (
                json!({"type": "Polygon", "coordinates": [degrees(&ring)]}),
                Some((hectares * 100.0).round() / 100.0),
            )
        }
    };
    let height = outline.height.map(f64::round);
    json!({
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "kind": outline.kind,
            "name": outline.name,
            "area_ha": area,
            "height_m": height,
        },
    })
}

fn outlines(scene: &SampleScene, terrain: &Terrain) -> Vec<SceneOutline> {
    match scene.landscape {
        Landscape::Delta => channels(scene),
        Landscape::Fields => fields(scene),
        Landscape::Coast => {
            let shore = steps().map(|y| [scene.shore(y), y]).collect();
            vec![SceneOutline {
                kind: "shore",
                name: String::new(),
                height: None,
                shape: UnitShape::Line(shore),
            }]
        }
        Landscape::City => parks(scene),
        Landscape::Mountains => summits(scene, terrain),
        Landscape::Lake => vec![outline_of_scene(scene, "lake")],
        Landscape::Forest => vec![outline_of_scene(scene, "burnt area")],
    }
}

/// From 0 to 1.
fn steps() -> impl Iterator<Item = f64> {
    (0..=STEPS).map(|step| step as f64 / STEPS as f64)
}

/// The area inside the outline of the scene.
fn outline_of_scene(scene: &SampleScene, kind: &'static str) -> SceneOutline {
    let places = steps()
        .take(STEPS)
        .map(|turn| locate_on_outline(scene, turn))
        .collect();
    SceneOutline {
        kind,
        name: String::new(),
        height: None,
        shape: UnitShape::Area(places),
    }
}

/// The place on the outline at a part of a full turn.
fn locate_on_outline(scene: &SampleScene, turn: f64) -> [f64; 2] {
    let direction = turn * std::f64::consts::TAU;
    let radius = scene.outline_radius(direction);
    [
        0.5 + radius * direction.cos(),
        0.5 + radius * direction.sin(),
    ]
}

fn channels(scene: &SampleScene) -> Vec<SceneOutline> {
    (0..3).map(|at| outline_channel(scene, at)).collect()
}

fn outline_channel(scene: &SampleScene, at: usize) -> SceneOutline {
    let places = steps().map(|y| [scene.channels(y)[at][0], y]);
    let on_land = places.take_while(|[x, y]| (0.0..=1.0).contains(x) && *y <= scene.sea(*x));
    SceneOutline {
        kind: "channel",
        name: format!("arm {}", at + 1),
        height: None,
        shape: UnitShape::Line(on_land.collect()),
    }
}

/// The fields beside the river of which the crop was surveyed.
fn fields(scene: &SampleScene) -> Vec<SceneOutline> {
    let cells = cells_of(scene, field_grid);
    let surveyed = cells.filter(|[u, v]| hash_place(scene.seed, *u, *v, 9) < 0.3);
    let outlined = surveyed.filter_map(|[u, v]| {
        let corners = corners([u, v], 0.06).map(place_of_field);
        let is_dry = corners.iter().all(|place| {
            scene.river_distance(*place) > 0.15 && scene.river_distance(*place) < 0.36
        });
        let crop =
            ["barley", "maize", "rice", "wheat"][(hash_place(scene.seed, u, v, 8) * 3.99) as usize];
        if !is_dry || !corners.iter().all(|corner| scene.holds(*corner)) {
            return None;
        }
        Some(SceneOutline {
            kind: "field",
            name: crop.to_owned(),
            height: None,
            shape: UnitShape::Area(corners.to_vec()),
        })
    });
    outlined.collect()
}

/// The blocks of the city that are not built up.
fn parks(scene: &SampleScene) -> Vec<SceneOutline> {
    let cells = cells_of(scene, |place| street_grid(scene, place));
    let open = cells.filter(|block| block_number(scene, *block) > BUILT_BLOCKS);
    let outlined = open.filter_map(|block| {
        let corners = corners(block, 0.09).map(|corner| place_of_block(scene, corner));
        let is_dry = corners
            .iter()
            .all(|place| scene.river_distance(*place) > 0.06);
        if !is_dry || !corners.iter().all(|corner| scene.holds(*corner)) {
            return None;
        }
        Some(SceneOutline {
            kind: "park",
            name: format!("block {} {}", block[0], block[1]),
            height: None,
            shape: UnitShape::Area(corners.to_vec()),
        })
    });
    outlined.collect()
}

fn summits(scene: &SampleScene, terrain: &Terrain) -> Vec<SceneOutline> {
    let inner = SUMMIT..SIZE - SUMMIT;
    let places = inner
        .clone()
        .flat_map(|row| inner.clone().map(move |column| [column, row]));
    let tops = places.filter(|&[column, row]| {
        read_height(terrain, column, row) > 1_300.0 && is_summit(terrain, column, row)
    });
    tops.enumerate()
        .map(|(at, [column, row])| SceneOutline {
            kind: "summit",
            name: format!("summit {}", at + 1),
            height: Some(read_height(terrain, column, row)),
            shape: UnitShape::Point(scene.place(column, row)),
        })
        .collect()
}

fn read_height(terrain: &Terrain, column: usize, row: usize) -> f64 {
    terrain.heights[row * SIZE + column]
}

fn is_summit(terrain: &Terrain, column: usize, row: usize) -> bool {
    let own = read_height(terrain, column, row);
    let mut around = (row - SUMMIT..=row + SUMMIT)
        .flat_map(|row| (column - SUMMIT..=column + SUMMIT).map(move |column| [column, row]));
    around.all(|[column, row]| read_height(terrain, column, row) <= own)
}

/// The cells of a grid that the scene may reach.
fn cells_of(
    scene: &SampleScene,
    grid: impl Fn([f64; 2]) -> [f64; 2],
) -> impl Iterator<Item = [i64; 2]> {
    let corners = [[0, 0], [SIZE, 0], [0, SIZE], [SIZE, SIZE]]
        .map(|[column, row]| grid(scene.place(column, row)));
    let across = find_cell_range(&corners, 1);
    find_cell_range(&corners, 0).flat_map(move |u| across.clone().map(move |v| [u, v]))
}

/// The numbers of the cells between corners.
fn find_cell_range(corners: &[[f64; 2]; 4], axis: usize) -> std::ops::RangeInclusive<i64> {
    let numbers = corners.map(|corner| corner[axis]);
    let [low, high] = [
        numbers.iter().copied().fold(f64::INFINITY, f64::min),
        numbers.iter().copied().fold(-f64::INFINITY, f64::max),
    ];
    low.floor() as i64..=high.floor() as i64
}

/// The corners of a cell, a margin inside of it.
fn corners([u, v]: [i64; 2], margin: f64) -> [[f64; 2]; 4] {
    let [u, v] = [u as f64, v as f64];
    let [low, high] = [margin, 1.0 - margin];
    [
        [u + low, v + low],
        [u + high, v + low],
        [u + high, v + high],
        [u + low, v + high],
    ]
}

/// Area of a polygon; positive where its corners turn right in the drawing, whose rows run down.
fn area(corners: &[[f64; 2]]) -> f64 {
    let next = corners.iter().cycle().skip(1);
    corners
        .iter()
        .zip(next)
        .map(|(one, other)| one[0] * other[1] - other[0] * one[1])
        .sum::<f64>()
        / 2.0
}
