//! Shapes of continuous longitudes as shapes within ±180 degrees: cut at the antimeridian, and
//! joined where they go all around.

use geo::{BooleanOps, LineString, MapCoords, MultiPolygon, Polygon};

use super::unfold;

/// Parts smaller than this many square degrees come of touching the antimeridian, and are left out.
const NOTHING: f64 = 1e-14;
/// Coordinates of combined polygons are as exact as this many degrees; they take those of the
/// parts.
const COMBINED: f64 = 1e-6;

type Ring = Vec<[f64; 2]>;

/// Twice the signed area of a ring: positive counter-clockwise.
pub(super) fn doubled_area(ring: &[[f64; 2]]) -> f64 {
    // About the first vertex, so that large coordinates cost no digits.
    let Some(&[x0, y0]) = ring.first() else {
        return 0.0;
    };
    let pairs = ring.iter().zip(ring.iter().cycle().skip(1));
    pairs
        .map(|(a, b)| (a[0] - x0) * (b[1] - y0) - (b[0] - x0) * (a[1] - y0))
        .sum()
}

/// Polygons within ±180 degrees of one area: its outer ring, then its holes.
pub(super) fn polygons(rings: &[Ring]) -> Vec<Polygon<f64>> {
    let Some((outer, holes)) = rings.split_first() else {
        return Vec::new();
    };
    let parts = parts_of(outer);
    let holes: Vec<Vec<Ring>> = holes
        .iter()
        .map(|hole| parts_of(hole))
        .filter(|parts| !parts.is_empty())
        .collect();
    let wide = parts.len() > 1 && width(outer) >= 360.0 - 1e-9;
    if !wide && (holes.is_empty() || parts.len() == 1 && holes.iter().all(|hole| hole.len() == 1)) {
        let inner: Vec<LineString<f64>> = holes
            .into_iter()
            .flatten()
            .map(|hole| close_ring(hole, false))
            .collect();
        return match parts.len() {
            1 => parts
                .into_iter()
                .map(|part| Polygon::new(close_ring(part, true), inner.clone()))
                .collect(),
            _ => parts
                .into_iter()
                .map(|part| Polygon::new(close_ring(part, true), Vec::new()))
                .collect(),
        };
    }
    let known: Vec<[f64; 2]> = parts
        .iter()
        .chain(holes.iter().flatten())
        .flatten()
        .copied()
        .collect();
    // Parts of one that goes all around touch or overlap each other.
    let nothing = MultiPolygon(Vec::new());
    let mut whole = if wide {
        parts.into_iter().fold(nothing, |whole, part| {
            whole.union(&make_polygons(vec![part]))
        })
    } else {
        make_polygons(parts)
    };
    for hole in holes {
        whole = whole.difference(&make_polygons(hole));
    }
    let exact = whole.map_coords(|at| geo::Coord {
        x: snap_to_known(at.x, 0, &known),
        y: snap_to_known(at.y, 1, &known),
    });
    exact.iter().map(reclose_polygon).collect()
}

fn make_polygons(parts: Vec<Ring>) -> MultiPolygon<f64> {
    let polygons = parts
        .into_iter()
        .map(|part| Polygon::new(close_ring(part, true), Vec::new()));
    MultiPolygon(polygons.collect())
}

/// The nearest coordinate of the parts or of the edges of the Earth, where one is near enough.
fn snap_to_known(own: f64, axis: usize, known: &[[f64; 2]]) -> f64 {
    let edges = [-180.0, 180.0, -90.0, 90.0];
    let all = known.iter().map(|place| place[axis]).chain(edges);
    let near = all
        .map(|value| ((value - own).abs(), value))
        .filter(|(off, _)| *off <= COMBINED)
        .min_by(|a, b| a.0.total_cmp(&b.0));
    near.map_or(own, |(_, value)| value)
}

fn reclose_ring(line: &LineString<f64>, outer: bool) -> LineString<f64> {
    let mut points: Ring = line.coords().map(|at| [at.x, at.y]).collect();
    points.pop();
    close_ring(points, outer)
}

/// The polygon with rings in the direction that [`close_ring`] gives them.
fn reclose_polygon(polygon: &Polygon<f64>) -> Polygon<f64> {
    Polygon::new(
        reclose_ring(polygon.exterior(), true),
        polygon
            .interiors()
            .iter()
            .map(|hole| reclose_ring(hole, false))
            .collect(),
    )
}

/// Lines within ±180 degrees.
pub(super) fn lines(line: &[[f64; 2]]) -> Vec<LineString<f64>> {
    let window = |lon: f64| ((lon + 180.0) / 360.0).floor();
    let mut found: Vec<Ring> = Vec::new();
    let mut current: Ring = Vec::new();
    let shifted = |[x, y]: [f64; 2], turns: f64| [x - 360.0 * turns, y];
    for (index, &at) in line.iter().enumerate() {
        let Some(&before) = index.checked_sub(1).and_then(|index| line.get(index)) else {
            current.push(shifted(at, window(at[0])));
            continue;
        };
        let (from, to) = (window(before[0]), window(at[0]));
        if from != to {
            let edge = from.max(to) * 360.0 - 180.0;
            let share = (edge - before[0]) / (at[0] - before[0]);
            let cut = [edge, before[1] + share * (at[1] - before[1])];
            current.push(shifted(cut, from));
            found.push(std::mem::take(&mut current));
            current.push(shifted(cut, to));
        }
        current.push(shifted(at, to));
    }
    found.push(current);
    for part in &mut found {
        part.dedup();
    }
    found.retain(|part| part.len() > 1);
    found
        .into_iter()
        .map(|part| part.into_iter().map(|[x, y]| (x, y)).collect())
        .collect()
}

fn width(ring: &[[f64; 2]]) -> f64 {
    let (west, east) = reach(ring);
    east - west
}

fn reach(ring: &[[f64; 2]]) -> (f64, f64) {
    ring.iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(west, east), at| {
            (west.min(at[0]), east.max(at[0]))
        })
}

/// A ring as closed line in its direction: counter-clockwise for outer rings, clockwise for holes.
fn close_ring(mut ring: Ring, outer: bool) -> LineString<f64> {
    if (doubled_area(&ring) < 0.0) == outer {
        ring.reverse();
    }
    let first = ring.first().copied();
    ring.extend(first);
    ring.into_iter().map(|[x, y]| (x, y)).collect()
}

/// The parts of a ring in each turn of 360 degrees, moved into ±180.
fn parts_of(ring: &[[f64; 2]]) -> Vec<Ring> {
    let (west, east) = reach(ring);
    if !(west.is_finite() && east.is_finite()) || east - west > 1080.0 {
        return Vec::new();
    }
    let mut rest = vec![ring.to_vec()];
    let mut found = Vec::new();
    let mut turn = ((west + 180.0) / 360.0).floor();
    loop {
        let edge = turn * 360.0 + 180.0;
        let (mut here, mut beyond) = (Vec::new(), Vec::new());
        for ring in rest {
            let (left, right) = split(&ring, edge);
            here.extend(left);
            beyond.extend(right);
        }
        found.extend(
            here.iter()
                .map(|ring| shift_ring_clamped(ring, turn))
                .filter(|ring| doubled_area(ring).abs() > NOTHING),
        );
        if beyond.is_empty() || edge >= east {
            break;
        }
        (rest, turn) = (beyond, turn + 1.0);
    }
    // A ring without an area stays: it is a line or a point that somebody wrote as a polygon.
    if found.is_empty() && ring.len() > 2 {
        let turn = ((west + 180.0) / 360.0).floor();
        found.push(shift_ring_clamped(ring, turn));
    }
    found
}

/// As [`shift_ring_by_turns`] with longitudes of at most 180 degrees, which rounding can exceed at
/// a cut.
fn shift_ring_clamped(ring: &[[f64; 2]], turn: f64) -> Ring {
    ring.iter()
        .map(|&[x, y]| [(x - turn * 360.0).clamp(-180.0, 180.0), y])
        .collect()
}

/// The parts of a ring west and east of a meridian.
fn split(ring: &[[f64; 2]], edge: f64) -> (Vec<Ring>, Vec<Ring>) {
    let (west, east) = reach(ring);
    if east <= edge {
        return (vec![ring.to_vec()], Vec::new());
    }
    if west >= edge {
        return (Vec::new(), vec![ring.to_vec()]);
    }
    let right = |at: [f64; 2]| at[0] >= edge;
    let next = |index: usize| ring[(index + 1) % ring.len()];
    let Some(start) = (0..ring.len()).find(|&index| right(ring[index]) != right(next(index)))
    else {
        return (vec![ring.to_vec()], Vec::new());
    };
    // Chains between crossings: each begins and ends on the meridian, and is on one side of it.
    let mut chains: Vec<Ring> = Vec::new();
    let mut latitudes: Vec<f64> = Vec::new();
    for step in 0..ring.len() {
        let index = (start + step) % ring.len();
        let (at, after) = (ring[index], next(index));
        if right(at) != right(after) {
            let share = (edge - at[0]) / (after[0] - at[0]);
            let cut = [
                edge,
                if after[0] == edge {
                    after[1]
                } else {
                    at[1] + share * (after[1] - at[1])
                },
            ];
            if let Some(chain) = chains.last_mut() {
                chain.push(cut);
            }
            latitudes.push(cut[1]);
            chains.push(vec![cut]);
        }
        if let Some(chain) = chains.last_mut() {
            chain.push(after);
        }
    }
    let count = chains.len();
    if let (Some(last), Some(&first)) = (chains.last_mut(), latitudes.first()) {
        // The last chain ends at the first crossing, and has the vertex before it.
        last.push([edge, first]);
    }
    let starts_right = right(next(start));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| latitudes[a].total_cmp(&latitudes[b]));
    let mut partner = vec![0; count];
    for pair in order.chunks_exact(2) {
        (partner[pair[0]], partner[pair[1]]) = (pair[1], pair[0]);
    }
    let mut used = vec![false; count];
    let (mut west, mut east) = (Vec::new(), Vec::new());
    for first in 0..count {
        if used[first] {
            continue;
        }
        let mut ring: Ring = Vec::new();
        let mut chain = first;
        while !used[chain] {
            used[chain] = true;
            ring.extend(&chains[chain]);
            let after = partner[(chain + 1) % count];
            // Rings that cross themselves have crossings of the same direction side by side: such a
            // chain is closed by itself.
            if after % 2 != chain % 2 {
                break;
            }
            chain = after;
        }
        ring.dedup();
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        let on_right = starts_right == (first % 2 == 0);
        if ring.len() > 2 {
            if on_right { &mut east } else { &mut west }.push(ring);
        }
    }
    (west, east)
}

/// Moves holes to the turn in which their outer ring is.
pub(super) fn align_holes(
    rings: Vec<Vec<unfold::Vertex>>,
    unfold: impl Fn(&[unfold::Vertex]) -> Ring,
) -> Vec<Ring> {
    let mut rings = rings.into_iter().map(|ring| unfold(&ring));
    let Some(mut outer) = rings.next().filter(|outer| outer.len() > 2) else {
        return Vec::new();
    };
    if doubled_area(&outer) < 0.0 {
        outer.reverse();
    }
    let (west, east) = reach(&outer);
    let turns = if (-180.0..=180.0).contains(&west) {
        0.0
    } else {
        ((west + 180.0) / 360.0).floor()
    };
    let middle = (west + east) / 2.0 - 360.0 * turns;
    let mut out = vec![shift_ring_by_turns(outer, turns)];
    for hole in rings.filter(|hole| hole.len() > 2) {
        let (west, east) = reach(&hole);
        let turns = (((west + east) / 2.0 - middle) / 360.0).round();
        let mut hole = shift_ring_by_turns(hole, turns);
        if doubled_area(&hole) > 0.0 {
            hole.reverse();
        }
        out.push(hole);
    }
    out
}

fn shift_ring_by_turns(ring: Ring, turns: f64) -> Ring {
    ring.into_iter()
        .map(|[x, y]| [x - 360.0 * turns, y])
        .collect()
}
