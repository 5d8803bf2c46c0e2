//! The base map: land as triangles with outlines, from the embedded country polygons, simplified
//! for a scale. Computed in jobs, once for each doubling of the scale.

use geo::{Coord, LineString, MultiPolygon, Polygon, TriangulateEarcut};

use super::view::{plane_x, plane_y};
use crate::error::Result;
use crate::extensions::tortilla::countries::read_countries;
use crate::jobs::JobContext;

/// Tolerance of the simplification, in points.
const TOLERANCE: f64 = 0.8;
/// Scale from which the asset is not simplified.
const FINEST: u32 = 17;

/// Land in pieces for culling.
#[derive(Clone, Debug, Default)]
pub struct BaseMap {
    pub pieces: Vec<LandPiece>,
}

/// One polygon.
#[derive(Clone, Debug)]
pub struct LandPiece {
    /// Left, top, right, bottom on the plane.
    pub bounds: [f64; 4],
    /// Corners of the triangles, on the plane relative to the left top of `bounds`.
    pub vertices: Vec<[f32; 2]>,
    /// Indices, three a triangle.
    pub indices: Vec<u32>,
    /// Outlines in the same coordinates, closed.
    pub rings: Vec<Vec<[f32; 2]>>,
}

/// The scale step of a base map.
pub fn scale_step(scale: f64) -> u32 {
    (scale.max(1.0).log2().ceil() as u32).clamp(8, FINEST)
}

/// The base map for a step of scale.
pub fn build_base_map(step: u32, ctx: &JobContext) -> Result<BaseMap> {
    let scale = f64::from(1u32 << step.min(FINEST));
    let tolerance = if step >= FINEST {
        0.0
    } else {
        TOLERANCE / scale
    };
    let mut base = BaseMap::default();
    for country in &read_countries() {
        ctx.check()?;
        let MultiPolygon(polygons) = &country.land;
        base.pieces.extend(
            polygons
                .iter()
                .filter_map(|polygon| piece(polygon, tolerance)),
        );
    }
    Ok(base)
}

fn piece(polygon: &Polygon<f64>, tolerance: f64) -> Option<LandPiece> {
    let outer = thin_ring(polygon.exterior(), tolerance)?;
    let mut bounds = [
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    ];
    for at in &outer.0 {
        bounds = [
            bounds[0].min(at.x),
            bounds[1].min(at.y),
            bounds[2].max(at.x),
            bounds[3].max(at.y),
        ];
    }
    // Islands smaller than a point are not drawn.
    if (bounds[2] - bounds[0]).max(bounds[3] - bounds[1]) < tolerance {
        return None;
    }
    let holes: Vec<LineString<f64>> = polygon
        .interiors()
        .iter()
        .filter_map(|hole| thin_ring(hole, tolerance))
        .collect();
    let relative = |x: f64, y: f64| [(x - bounds[0]) as f32, (y - bounds[1]) as f32];
    let rings = std::iter::once(&outer).chain(&holes);
    let rings = rings
        .map(|ring| ring.0.iter().map(|at| relative(at.x, at.y)).collect())
        .collect();
    let raw = Polygon::new(outer, holes).earcut_triangles_raw();
    let vertices = raw
        .vertices
        .iter()
        .map(|at| relative(at[0], at[1]))
        .collect();
    let indices = raw
        .triangle_indices
        .iter()
        .map(|&index| index as u32)
        .collect();
    Some(LandPiece {
        bounds,
        vertices,
        indices,
        rings,
    })
}

/// A ring without points closer to the previous one than the tolerance; `None` when less than a
/// triangle remains.
fn thin_ring(ring: &LineString<f64>, tolerance: f64) -> Option<LineString<f64>> {
    let mut points: Vec<Coord<f64>> = Vec::with_capacity(ring.0.len());
    for at in &ring.0 {
        let at = Coord {
            x: plane_x(at.x),
            y: plane_y(at.y),
        };
        let far = points
            .last()
            .is_none_or(|last| (last.x - at.x).abs().max((last.y - at.y).abs()) > tolerance);
        if far {
            points.push(at);
        }
    }
    if points.first() != points.last() {
        points.extend(points.first().copied());
    }
    // Three corners and the way back.
    (points.len() >= 4).then_some(LineString(points))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_small_from_afar_and_whole_from_near() {
        let ctx = JobContext::default();
        let far = build_base_map(scale_step(800.0), &ctx).expect("is made");
        let near = build_base_map(scale_step(1e7), &ctx).expect("is made");
        let count = |base: &BaseMap| {
            base.pieces
                .iter()
                .map(|piece| piece.vertices.len())
                .sum::<usize>()
        };
        assert!(
            count(&far) * 3 < count(&near) && count(&near) > 40_000,
            "{} and {} corners",
            count(&far),
            count(&near)
        );
        for piece in far.pieces.iter().chain(&near.pieces) {
            assert!(
                piece
                    .indices
                    .iter()
                    .all(|&index| (index as usize) < piece.vertices.len())
            );
            assert!(piece.indices.len().is_multiple_of(3));
        }
        // The triangles cover what the outlines hold: Brazil's piece, by area.
        let largest = near
            .pieces
            .iter()
            .max_by_key(|piece| piece.vertices.len())
            .expect("has pieces");
        let triangles: f32 = largest
            .indices
            .chunks_exact(3)
            .map(|t| {
                let [a, b, c] = [t[0], t[1], t[2]].map(|index| largest.vertices[index as usize]);
                ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])).abs() / 2.0
            })
            .sum();
        let area = |ring: &Vec<[f32; 2]>| {
            ring.windows(2)
                .map(|p| p[0][0] * p[1][1] - p[1][0] * p[0][1])
                .sum::<f32>()
                .abs()
                / 2.0
        };
        let outlined = area(&largest.rings[0]) - largest.rings[1..].iter().map(area).sum::<f32>();
        assert!(
            (triangles / outlined - 1.0).abs() < 0.01,
            "{triangles} of {outlined}"
        );
    }
}
