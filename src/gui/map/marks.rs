//! Footprints as one mesh for a view: outlines where they are large enough, otherwise one mark for
//! all rows of a small cell.

use std::collections::HashMap;

use egui::{Color32, Mesh, Pos2, Rect, Vec2, pos2, vec2};

use geo::{LineString, Polygon, TriangulateEarcut};

use super::colours::OTHER_CLASS;
use super::density::build_density_scene;
use super::scene::{HoverTarget, MARGIN, MapScene, PlacedRow, SceneRequest, visit_placed_rows};
use super::view::{MapView, plane_x, plane_y};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::ops::OutlineKind;

/// Size in points from which an outline replaces the mark.
const OUTLINED_FROM: f32 = 5.0;
/// Maximum number of vertices of a filled area.
const MAX_FILLED_VERTICES: usize = 2_000;
/// Maximum number of outlines.
const MAX_OUTLINES: usize = 12_000;
/// Maximum number of marks.
const MAX_MARKS: usize = 24_000;
/// The smallest cell, in points.
const MIN_CELL: f32 = 5.0;

/// A small cell of the screen whose rows share a mark.
#[derive(Clone, Copy)]
struct MarkCell {
    /// The first row, which has the other fields.
    row: u32,
    /// Number of rows.
    count: u32,
    class: u8,
    /// Position in points from the centre of the view.
    at: [f32; 2],
}

/// Computes the mesh of the footprints or of their density. Checks for cancellation every few
/// thousand rows.
pub fn build_scene(request: &SceneRequest, ctx: &JobContext) -> Result<MapScene> {
    if request.density {
        return build_density_scene(request, ctx);
    }
    let mut scene = MapScene {
        view: Some(request.view),
        ..MapScene::default()
    };
    let half = vec2(
        request.size.x * (0.5 + MARGIN),
        request.size.y * (0.5 + MARGIN),
    );
    let mut cells: HashMap<(i32, i32), MarkCell> = HashMap::new();
    let mut hidden_marks: HashMap<(i32, i32), [f32; 2]> = HashMap::new();
    let mut outlined: Vec<(u32, f32)> = Vec::new();
    let mut cell = MIN_CELL;
    visit_placed_rows(
        request,
        &mut scene,
        ctx,
        |PlacedRow {
             row,
             matches,
             turn,
             at: [x, y],
             ..
         }| {
            let extent = request
                .projected
                .half_extents
                .get(row as usize)
                .copied()
                .unwrap_or_default();
            let reach = (f64::from(extent) * request.view.scale) as f32;
            if x.abs() > half.x + reach || y.abs() > half.y + reach {
                return;
            }
            if matches && 2.0 * reach >= OUTLINED_FROM && outlined.len() < MAX_OUTLINES {
                // Once on every turn of the map that shows a part of it, as the land.
                let period = request.view.scale as f32;
                let is_near = |more: &f32| (x + more * period).abs() <= half.x + reach;
                outlined.extend(
                    [0.0, 1.0, -1.0]
                        .into_iter()
                        .filter(is_near)
                        .map(|more| (row, turn as f32 + more)),
                );
                return;
            }
            let key = ((x / cell).floor() as i32, (y / cell).floor() as i32);
            if !matches {
                hidden_marks.entry(key).or_insert([x, y]);
                return;
            }
            let class = request.classes.as_ref().map_or(0, |classes| {
                classes
                    .by_row
                    .get(row as usize)
                    .copied()
                    .unwrap_or(OTHER_CLASS)
            });
            cells
                .entry(key)
                .and_modify(|cell| cell.count += 1)
                .or_insert(MarkCell {
                    row,
                    count: 1,
                    class,
                    at: [x, y],
                });
            if cells.len() > MAX_MARKS {
                // Too many cells: merge them into larger ones.
                cell *= 1.5;
                let mut larger: HashMap<(i32, i32), MarkCell> =
                    HashMap::with_capacity(cells.len() / 2);
                for one in std::mem::take(&mut cells).into_values() {
                    let key = (
                        (one.at[0] / cell).floor() as i32,
                        (one.at[1] / cell).floor() as i32,
                    );
                    larger
                        .entry(key)
                        .and_modify(|cell| cell.count += one.count)
                        .or_insert(one);
                }
                cells = larger;
                hidden_marks = std::mem::take(&mut hidden_marks)
                    .into_values()
                    .map(|at| {
                        (
                            ((at[0] / cell).floor() as i32, (at[1] / cell).floor() as i32),
                            at,
                        )
                    })
                    .collect();
            }
        },
    )?;
    hidden_marks.retain(|key, _| !cells.contains_key(key));
    for at in hidden_marks.values().take(MAX_MARKS) {
        add_square_frame(
            &mut scene.mesh,
            pos2(at[0], at[1]),
            2.5,
            request.colours.hidden,
        );
    }
    for &(row, turn) in &outlined {
        add_outline(&mut scene, request, row, turn);
    }
    let mut marks: Vec<MarkCell> = cells.into_values().collect();
    // A fixed order, so that marks do not flicker between scenes.
    marks.sort_unstable_by_key(|mark| mark.row);
    for mark in marks {
        let color = request.colours.colour_of_class(mark.class);
        let side = (3.0 + (mark.count as f32).log10() * 1.2).clamp(4.0, 9.0);
        let rect = Rect::from_center_size(pos2(mark.at[0], mark.at[1]), Vec2::splat(side));
        scene.mesh.add_colored_rect(rect, color);
        scene.targets.push(HoverTarget {
            row: mark.row,
            count: mark.count,
            rect,
        });
    }
    Ok(scene)
}

fn add_square_frame(mesh: &mut Mesh, at: Pos2, half: f32, color: Color32) {
    let outer = Rect::from_center_size(at, Vec2::splat(2.0 * half));
    for side in [
        outer.with_max_y(outer.top() + 1.0),
        outer.with_min_y(outer.bottom() - 1.0),
        outer.with_max_x(outer.left() + 1.0),
        outer.with_min_x(outer.right() - 1.0),
    ] {
        mesh.add_colored_rect(side, color);
    }
}

/// Draws a footprint: areas with a faint fill and a thin line, lines, and points as small squares.
fn add_outline(scene: &mut MapScene, request: &SceneRequest, row: u32, turn: f32) {
    let class = request.classes.as_ref().map_or(0, |classes| {
        classes
            .by_row
            .get(row as usize)
            .copied()
            .unwrap_or(OTHER_CLASS)
    });
    let color = request.colours.colour_of_class(class);
    let place = |degrees: &[f32; 2]| place_in_view(&request.view, *degrees, turn);
    let all: Vec<Pos2> = request
        .footprints
        .points_of_row(row)
        .iter()
        .map(place)
        .collect();
    if all.is_empty() {
        return;
    }
    scene.targets.push(HoverTarget {
        row,
        count: 1,
        rect: Rect::from_points(&all),
    });
    let mut parts = request.footprints.parts(row).peekable();
    while let Some((kind, outer)) = parts.next() {
        let points: Vec<Pos2> = outer.iter().map(place).collect();
        match kind {
            OutlineKind::Ring => {
                let mut rings = vec![points];
                while let Some((_, hole)) = parts.next_if(|(kind, _)| *kind == OutlineKind::Hole) {
                    rings.push(hole.iter().map(place).collect());
                }
                fill_area(&mut scene.mesh, &rings, color.gamma_multiply(0.22));
                match edge_around_pole(outer) {
                    Some(around) => add_line(
                        &mut scene.mesh,
                        &around.iter().map(place).collect::<Vec<_>>(),
                        color,
                    ),
                    None => add_closed_line(&mut scene.mesh, &rings[0], color),
                }
                rings[1..]
                    .iter()
                    .for_each(|ring| add_closed_line(&mut scene.mesh, ring, color));
            }
            OutlineKind::Hole => add_closed_line(&mut scene.mesh, &points, color),
            OutlineKind::Line => add_line(&mut scene.mesh, &points, color),
            OutlineKind::Point => {
                for at in points {
                    let square = Rect::from_center_size(at, Vec2::splat(4.0));
                    scene.mesh.add_colored_rect(square, color);
                }
            }
        }
    }
}

/// Position in points from the centre of the view; `turn` is in whole turns of the plane.
fn place_in_view(view: &MapView, [lon, lat]: [f32; 2], turn: f32) -> Pos2 {
    let x = plane_x(f64::from(lon)) + f64::from(turn);
    view.measure_offset_from_middle([x, plane_y(f64::from(lat))])
        .to_pos2()
}

/// The edge of an area that holds a pole, from one end of its turn around the Earth to the other:
/// its ring is closed along the pole and the antimeridian, where the area has no edge. `None` for
/// other rings.
pub fn edge_around_pole(ring: &[[f32; 2]]) -> Option<Vec<[f32; 2]>> {
    const POLE: f32 = 89.999;
    let (west, east) = ring
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(west, east), at| {
            (west.min(at[0]), east.max(at[0]))
        });
    let is_pole = |index: usize| ring[index % ring.len()][1].abs() >= POLE;
    if east - west < 359.99 {
        return None;
    }
    let first = (0..ring.len()).find(|&index| is_pole(index) && !is_pole(index + 1))? + 1;
    let edge: Vec<[f32; 2]> = (first..first + ring.len())
        .map(|index| ring[index % ring.len()])
        .take_while(|at| at[1].abs() < POLE)
        .collect();
    // Both poles, or the corners of a raster of the whole Earth: an outline as others.
    let turns = edge
        .first()
        .zip(edge.last())
        .is_some_and(|(from, to)| (to[0] - from[0]).abs() > 359.99);
    turns.then_some(edge)
}

/// Fills an area: the triangles of its outer ring without its holes.
fn fill_area(mesh: &mut Mesh, rings: &[Vec<Pos2>], color: Color32) {
    let count: usize = rings.iter().map(Vec::len).sum();
    if count > MAX_FILLED_VERTICES {
        return;
    }
    let mut lines = rings.iter().map(|ring| convert_ring(ring));
    let Some(outer) = lines.next().filter(|outer| outer.0.len() > 2) else {
        return;
    };
    let made = Polygon::new(outer, lines.collect()).earcut_triangles_raw();
    let first = mesh.vertices.len() as u32;
    for [x, y] in &made.vertices {
        mesh.colored_vertex(pos2(*x as f32, *y as f32), color);
    }
    let vertices = made.vertices.len() as u32;
    for corner in made.triangle_indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|index| corner[index] as u32);
        if a.max(b).max(c) < vertices {
            mesh.add_triangle(first + a, first + b, first + c);
        }
    }
}

fn convert_ring(ring: &[Pos2]) -> LineString<f64> {
    ring.iter()
        .map(|at| (f64::from(at.x), f64::from(at.y)))
        .collect()
}

/// A thin line with a rectangle for each of its edges.
fn add_line(mesh: &mut Mesh, line: &[Pos2], color: Color32) {
    for pair in line.windows(2) {
        let across = (pair[1] - pair[0]).normalized().rot90() * 0.7;
        let first = mesh.vertices.len() as u32;
        for at in [
            pair[0] + across,
            pair[0] - across,
            pair[1] + across,
            pair[1] - across,
        ] {
            mesh.colored_vertex(at, color);
        }
        mesh.add_triangle(first, first + 1, first + 2);
        mesh.add_triangle(first + 2, first + 1, first + 3);
    }
}

/// A thin closed line with two vertices per ring vertex, which keeps thousands of outlines small.
fn add_closed_line(mesh: &mut Mesh, ring: &[Pos2], color: Color32) {
    let count = ring.len();
    let first = mesh.vertices.len() as u32;
    let normal = |from: Pos2, to: Pos2| (to - from).normalized().rot90();
    for (index, &at) in ring.iter().enumerate() {
        let (before, after) = (ring[(index + count - 1) % count], ring[(index + 1) % count]);
        let (one, other) = (normal(before, at), normal(at, after));
        let both = one + other;
        // Limit the miter at sharp corners.
        let reach = 0.7 / (both.length_sq() / 4.0).max(0.25);
        let across = both / 2.0 * reach;
        mesh.colored_vertex(at + across, color);
        mesh.colored_vertex(at - across, color);
    }
    for index in 0..count as u32 {
        let (here, next) = (first + 2 * index, first + 2 * ((index + 1) % count as u32));
        mesh.add_triangle(here, here + 1, next);
        mesh.add_triangle(next, here + 1, next + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::scene::SceneColours;
    use super::super::view::{MapView, ProjectedFootprints};
    use super::*;
    use crate::ops::Footprints;

    fn request(places: &[[f64; 2]], half: f64, view: MapView) -> SceneRequest {
        let ring = |&[x, y]: &[f64; 2]| {
            vec![
                [x - half, y + half],
                [x + half, y + half],
                [x + half, y - half],
                [x - half, y - half],
            ]
        };
        let footprints = Arc::new(Footprints::from_outlines(0, "g", places.iter().map(ring)));
        let projected = Arc::new(ProjectedFootprints::new(&footprints));
        let colours = SceneColours {
            classes: vec![Color32::RED],
            other: Color32::GRAY,
            hidden: Color32::BLUE,
        };
        SceneRequest {
            footprints,
            projected,
            kept: None,
            classes: None,
            density: false,
            view,
            size: vec2(800.0, 600.0),
            colours,
        }
    }

    #[test]
    fn many_rows_are_few_marks_and_each_is_counted() {
        let places: Vec<[f64; 2]> = (0..200_000)
            .map(|n| {
                [
                    f64::from(n % 3600) / 10.0 - 180.0,
                    f64::from(n / 3600) - 28.0,
                ]
            })
            .collect();
        let view = MapView {
            middle: [0.5, 0.5],
            scale: 800.0,
        };
        let scene =
            build_scene(&request(&places, 0.01, view), &JobContext::default()).expect("is made");
        assert!(
            scene.targets.len() <= MAX_MARKS,
            "{} marks",
            scene.targets.len()
        );
        assert_eq!(
            scene
                .targets
                .iter()
                .map(|target| u64::from(target.count))
                .sum::<u64>(),
            200_000
        );
        assert_eq!((scene.matching, scene.hidden), (200_000, 0));
    }

    #[test]
    fn bent_areas_are_filled_inside_alone() {
        let mut mesh = Mesh::default();
        let ring = [
            (0.0, 0.0),
            (90.0, 0.0),
            (90.0, 90.0),
            (60.0, 90.0),
            (60.0, 30.0),
            (0.0, 30.0),
        ]
        .map(|(x, y)| pos2(x, y))
        .to_vec();
        let hole = [(10.0, 10.0), (20.0, 10.0), (20.0, 20.0), (10.0, 20.0)]
            .map(|(x, y)| pos2(x, y))
            .to_vec();
        fill_area(&mut mesh, &[ring, hole], Color32::RED);
        let corner = |index: u32| mesh.vertices[index as usize].pos;
        let area = |corners: &[u32]| {
            let [a, b, c] = [0, 1, 2].map(|at| corner(corners[at]));
            ((b - a).x * (c - a).y - (b - a).y * (c - a).x).abs() / 2.0
        };
        let filled: f32 = mesh.indices.chunks_exact(3).map(area).sum();
        assert!(
            (filled - (90.0 * 30.0 + 30.0 * 60.0 - 100.0)).abs() < 0.01,
            "{filled}"
        );
    }

    #[test]
    fn an_area_around_a_pole_has_no_edge_along_the_antimeridian() {
        let ring = [
            [-180.0, 70.0],
            [-90.0, 75.0],
            [0.0, 72.0],
            [90.0, 75.0],
            [180.0, 70.0],
            [180.0, 90.0],
            [-180.0, 90.0],
        ];
        assert_eq!(edge_around_pole(&ring).as_deref(), Some(&ring[..5]));
        let mut turned = ring;
        turned.rotate_left(2);
        assert_eq!(edge_around_pole(&turned).as_deref(), Some(&ring[..5]));
        assert_eq!(
            edge_around_pole(&[[0.0, 0.0], [1.0, 0.0], [1.0, 90.0]]),
            None
        );
        assert_eq!(
            edge_around_pole(&[
                [-180.0, -90.0],
                [180.0, -90.0],
                [180.0, 90.0],
                [-180.0, 90.0]
            ]),
            None,
            "the whole Earth"
        );
        assert_eq!(edge_around_pole(&[]), None);
    }

    #[test]
    fn outlines_repeat_with_the_land() {
        // A view of more than one turn: what crosses its edge shows on both sides.
        let view = MapView {
            middle: [0.5, 0.5],
            scale: 700.0,
        };
        let scene = build_scene(
            &request(&[[180.0, 0.0], [0.0, 0.0]], 9.0, view),
            &JobContext::default(),
        )
        .expect("is made");
        let mut found: Vec<(u32, i32)> = scene
            .targets
            .iter()
            .map(|target| (target.row, target.rect.center().x.round() as i32))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(0, -350), (0, 350), (1, 0)]);
        assert_eq!(scene.matching, 2);
    }

    #[test]
    fn near_ones_are_outlined_on_both_sides_of_the_antimeridian() {
        let view = MapView {
            middle: [1.0, 0.5],
            scale: 40_000.0,
        };
        let scene = build_scene(
            &request(&[[179.9, 0.0], [-179.9, 0.0], [0.0, 0.0]], 0.05, view),
            &JobContext::default(),
        )
        .expect("is made");
        assert_eq!(
            scene.targets.len(),
            2,
            "the one at Greenwich is out of sight"
        );
        let at = |row: u32| {
            scene
                .targets
                .iter()
                .find(|target| target.row == row)
                .expect("is there")
                .rect
        };
        assert!(at(0).center().x < 0.0 && at(1).center().x > 0.0);
        assert!((at(0).width() - (0.1 / 360.0 * 40_000.0) as f32).abs() < 0.1);
        assert_eq!(
            scene
                .target_at(at(1).center(), 2.0)
                .map(|target| target.row),
            Some(1)
        );
    }
}
