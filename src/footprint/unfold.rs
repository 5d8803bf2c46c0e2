//! Rings and lines of longitudes within ±180 as shapes on a plane of continuous longitudes. A ring
//! around a pole goes on for 360 degrees and is closed along ±90.

/// A vertex in longitude and latitude; true for one that only serves to follow a curve.
pub type Vertex = ([f64; 2], bool);

/// Latitudes from which a vertex is a pole, which has every longitude.
const POLE: f64 = 90.0 - 1e-9;
/// From this difference of longitudes an edge goes over a pole.
const OPPOSITE: f64 = 179.999_999;
/// Vertices that serve a curve and are off the straight line by less than this many degrees are
/// left out.
const STRAIGHT: f64 = 1e-10;

/// A difference of longitudes in (-180, 180].
fn wrap_longitude(difference: f64) -> f64 {
    let turned = (difference + 180.0).rem_euclid(360.0) - 180.0;
    if turned == -180.0 { 180.0 } else { turned }
}

/// A line with continuous longitudes. Poles are left out: they have no longitude.
pub fn line(vertices: &[Vertex]) -> Vec<[f64; 2]> {
    let mut out: Vec<Vertex> = Vec::with_capacity(vertices.len());
    for &([lon, lat], added) in vertices.iter().filter(|(at, _)| at[1].abs() < POLE) {
        let lon = out.last().map_or(lon, |([before, _], _)| {
            before + wrap_longitude(lon - before)
        });
        out.push(([lon, lat], added));
    }
    drop_straight_vertices(&out, false)
}

/// A ring with continuous longitudes, without its closing point. Its vertices go counter-clockwise
/// in a coordinate system that does not mirror the Earth, so that they hold the north pole when
/// they go eastwards around it, and the south pole when they go westwards. Empty for a ring without
/// an area.
pub fn ring(vertices: &[Vertex]) -> Vec<[f64; 2]> {
    let Some(first) = vertices.iter().position(|(at, _)| at[1].abs() < POLE) else {
        return Vec::new();
    };
    let mut out: Vec<Vertex> = vec![vertices[first]];
    let ([start, start_lat], _) = vertices[first];
    let mut lon = start;
    let mut pole: Option<f64> = None;
    // Where the ring went through a pole: the vertex after it.
    let mut through: Option<usize> = None;
    for step in 1..=vertices.len() {
        let ([next, lat], added) = vertices[(first + step) % vertices.len()];
        let closes = step == vertices.len();
        if lat.abs() >= POLE {
            pole = Some(lat.signum() * 90.0);
            continue;
        }
        let mut sweep = wrap_longitude(next - lon);
        if sweep.abs() >= OPPOSITE {
            let before = out.last().map_or(lat, |(at, _)| at[1]);
            let over = *pole.get_or_insert(if lat + before >= 0.0 { 90.0 } else { -90.0 });
            // The inside is to the left.
            sweep = if over > 0.0 {
                -sweep.abs()
            } else {
                sweep.abs()
            };
        }
        if let Some(pole) = pole.take() {
            out.push(([lon, pole], false));
            through = Some(out.len());
            out.push(([lon + sweep, pole], false));
        }
        lon += sweep;
        if !closes {
            out.push(([lon, lat], added));
        }
    }
    let mut around = ((lon - start) / 360.0).round();
    if around != 0.0
        && let Some(at) = through
    {
        // The angle inside at the pole is more than half a turn: the ring goes the other way around
        // it.
        out[at..]
            .iter_mut()
            .for_each(|(place, _)| place[0] -= 360.0 * around);
        around = 0.0;
    }
    if around != 0.0 {
        out = around_pole(out, start + 360.0 * around, start_lat);
    }
    drop_straight_vertices(&out, true)
}

/// Closes a ring around a pole along the pole's latitude, with its seam at the antimeridian. `end`
/// is the longitude at which it comes back to its first vertex.
fn around_pole(mut ring: Vec<Vertex>, end: f64, lat: f64) -> Vec<Vertex> {
    let start = ring.first().map_or(0.0, |(at, _)| at[0]);
    let (pole, step) = if end > start {
        (90.0, 360.0)
    } else {
        (-90.0, -360.0)
    };
    ring.push(([end, lat], false));
    let seam = |lon: f64| ((lon + 180.0) / 360.0).floor();
    let crossing = ring
        .windows(2)
        .position(|pair| seam(pair[0].0[0]) != seam(pair[1].0[0]));
    let mut out: Vec<Vertex> = Vec::with_capacity(ring.len() + 4);
    match crossing {
        Some(at) => {
            let ([x, y], [next_x, next_y]) = (ring[at].0, ring[at + 1].0);
            let line = seam(x.max(next_x)) * 360.0 - 180.0;
            let share = (line - x) / (next_x - x);
            let cut = y + share * (next_y - y);
            out.push(([line, cut], false));
            out.extend(&ring[at + 1..]);
            // The last vertex is the first one, a turn later.
            out.extend(
                ring[1..=at]
                    .iter()
                    .map(|&([x, y], added)| ([x + step, y], added)),
            );
            out.push(([line + step, cut], false));
        }
        None => out = ring,
    }
    let (first, last) = (
        out.first().map_or(0.0, |(at, _)| at[0]),
        out.last().map_or(0.0, |(at, _)| at[0]),
    );
    out.extend([([last, pole], false), ([first, pole], false)]);
    out
}

/// Without vertices that only serve a curve where there is none.
fn drop_straight_vertices(vertices: &[Vertex], closed: bool) -> Vec<[f64; 2]> {
    let mut out: Vec<[f64; 2]> = Vec::with_capacity(vertices.len());
    for (index, &(at, added)) in vertices.iter().enumerate() {
        let next = match vertices.get(index + 1) {
            Some((next, _)) => Some(*next),
            None => vertices.first().map(|(first, _)| *first).filter(|_| closed),
        };
        if added
            && let (Some(&[x, y]), Some([next_x, next_y])) = (out.last(), next)
            && (next_x - x).abs() < 180.0
        {
            let length = (next_x - x).hypot(next_y - y);
            let off = ((next_x - x) * (at[1] - y) - (next_y - y) * (at[0] - x)).abs();
            if length > 0.0 && off <= STRAIGHT * length {
                continue;
            }
        }
        if out.last() != Some(&at) {
            out.push(at);
        }
    }
    if closed && out.len() > 1 && out.first() == out.last() {
        out.pop();
    }
    out
}
