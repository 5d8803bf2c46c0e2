//! Shapes of a coordinate system in longitude and latitude. Edges that are straight there are
//! curves here: they get vertices in between until they are followed closely enough. Of areas that
//! reach beyond what their system maps, such as the corners of a full disk of a geostationary
//! satellite, the part that is on Earth is kept.

use geo::{BoundingRect, Centroid, Contains, Geometry, LineString, Polygon};

use super::unfold::{self, Vertex};
use super::{Detail, PlaceSource, Unfolded, cut};
use crate::raster::LonLatTransform;

/// Degrees that coordinates in degrees may be beyond ±90: half a pixel of a grid whose centres are
/// at the poles.
const BEYOND_POLE: f64 = 5.0;
/// Longitudes up to this are read; larger ones are no degrees.
const LONGITUDE_MAX: f64 = 540.0;
/// Edges that are longer than this many degrees are halved at least once.
const LONG_EDGE: f64 = 10.0;
/// Edges between longitudes further apart than this are halved.
const WIDE_EDGE: f64 = 60.0;
/// Vertices of an edge where an area reaches beyond what its system maps.
const LIMB_STEPS: usize = 32;
/// Halvings that find the limit of what a system maps.
const LIMB_HALVINGS: usize = 40;

/// A part of a shape: a closed ring or a line.
struct ProjectedPath {
    shape: usize,
    kind: GeometryKind,
    /// Vertices in the source system.
    nodes: Vec<ProjectedPoint>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GeometryKind {
    /// A ring of the area of this number; its first one is the outer ring.
    Ring(usize),
    Line,
    Point,
}

#[derive(Clone, Copy)]
struct ProjectedPoint {
    at: [f64; 2],
    lonlat: Option<[f64; 2]>,
    added: bool,
    /// The edge that begins here may need more vertices.
    open: bool,
}

/// Every shape in longitude and latitude; `None` for a shape without coordinates on Earth.
pub fn unfold_shapes(
    way: &LonLatTransform,
    shapes: &[Geometry<f64>],
    source: PlaceSource,
    detail: Detail,
) -> Vec<Option<Unfolded>> {
    let geographic = way.is_geographic();
    let mut paths: Vec<ProjectedPath> = Vec::with_capacity(shapes.len());
    for (shape, geometry) in shapes.iter().enumerate() {
        let mut areas = 0;
        collect(shape, geometry, &mut areas, &mut paths);
    }
    if geographic {
        paths
            .iter_mut()
            .for_each(|path| clamp_degrees(path, source));
    }
    let all: Vec<[f64; 2]> = paths
        .iter()
        .flat_map(|path| path.nodes.iter().map(|node| node.at))
        .collect();
    let mut placed = way.lonlat(&all).into_iter();
    for node in paths.iter_mut().flat_map(|path| &mut path.nodes) {
        node.lonlat = placed.next().flatten();
    }
    let mut broken: Vec<bool> = vec![false; paths.len()];
    if !geographic {
        refine(way, &mut paths, detail);
    }
    for (path, broken) in paths.iter().zip(&mut broken) {
        *broken = path.nodes.iter().any(|node| node.lonlat.is_none());
    }
    // A ring of a broken area is replaced by what can be seen of it.
    let mut unseen: Vec<bool> = vec![false; shapes.len()];
    for (path, broken) in paths.iter_mut().zip(broken).filter(|(_, broken)| *broken) {
        debug_assert!(broken);
        match path.kind {
            GeometryKind::Ring(_) if !geographic => match find_visible_ring(way, path) {
                Some(nodes) => path.nodes = nodes,
                None => unseen[path.shape] = true,
            },
            GeometryKind::Ring(_) => unseen[path.shape] = true,
            GeometryKind::Line | GeometryKind::Point => {
                path.nodes.retain(|node| node.lonlat.is_some())
            }
        }
    }
    let mut made: Vec<Option<Unfolded>> = Vec::with_capacity(shapes.len());
    let mut paths = paths.into_iter().peekable();
    for (shape, unseen) in unseen.into_iter().enumerate() {
        let mut out = Unfolded {
            areas: Vec::new(),
            lines: Vec::new(),
            points: Vec::new(),
            source,
        };
        let mut rings: Vec<(usize, Vec<Vertex>)> = Vec::new();
        while let Some(path) = paths.next_if(|path| path.shape == shape) {
            let vertices = vertices_of(&path, geographic, source);
            match path.kind {
                GeometryKind::Ring(area) => rings.push((area, vertices)),
                GeometryKind::Line => {
                    let line = if geographic {
                        plain(&vertices)
                    } else {
                        unfold::line(&vertices)
                    };
                    let line = in_turn(line);
                    if line.len() > 1 {
                        out.lines.push(line);
                    }
                }
                GeometryKind::Point => out.points.extend(
                    vertices
                        .iter()
                        .map(|([lon, lat], _)| [super::span::wrap_longitude(*lon), *lat]),
                ),
            }
        }
        let mut rings = rings.into_iter().peekable();
        while let Some((area, outer)) = rings.next() {
            let mut own = vec![outer];
            while let Some((_, hole)) = rings.next_if(|(other, _)| *other == area) {
                own.push(hole);
            }
            let flatten = if geographic { plain } else { unfold::ring };
            let area = cut::align_holes(own, flatten);
            if !area.is_empty() {
                out.areas.push(area);
            }
        }
        made.push(Some(out).filter(|out| !unseen && !out.is_empty()));
    }
    made
}

fn plain(vertices: &[Vertex]) -> Vec<[f64; 2]> {
    vertices.iter().map(|(at, _)| *at).collect()
}

/// A line moved so that it begins within ±180 degrees.
fn in_turn(line: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let first = line.first().map_or(0.0, |at| at[0]);
    let turns = if (-180.0..=180.0).contains(&first) {
        0.0
    } else {
        ((first + 180.0) / 360.0).floor()
    };
    line.into_iter()
        .map(|[x, y]| [x - 360.0 * turns, y])
        .collect()
}

/// The vertices of a path that have coordinates on Earth. In systems of degrees, longitudes go on
/// as they do in the source.
fn vertices_of(path: &ProjectedPath, geographic: bool, source: PlaceSource) -> Vec<Vertex> {
    let place = |node: &ProjectedPoint| Some((node.lonlat?, node.at, node.added));
    let mut vertices: Vec<Vertex> = path
        .nodes
        .iter()
        .filter_map(place)
        .map(|([lon, lat], from, added)| {
            let turns = if geographic {
                ((from[0] - lon) / 360.0).round()
            } else {
                0.0
            };
            ([lon + 360.0 * turns, lat], added)
        })
        .collect();
    // The corners of a grid are never apart by more than the grid is wide.
    if geographic && source == PlaceSource::Geometry && path.kind != GeometryKind::Point {
        shorten(&mut vertices, path.kind != GeometryKind::Line);
    }
    vertices
}

/// An edge over more than half of the Earth in coordinates within ±180 goes the short way over the
/// antimeridian, unless it goes from the antimeridian to the antimeridian.
fn shorten(vertices: &mut [Vertex], closed: bool) {
    let within = vertices.iter().all(|([lon, _], _)| lon.abs() <= 180.0);
    let pairs = vertices.iter().zip(
        vertices
            .iter()
            .skip(1)
            .chain(vertices.first().filter(|_| closed)),
    );
    let crosses = within
        && pairs.clone().any(|((a, _), (b, _))| {
            let both = (a[0].abs() - 180.0).abs() < 1e-9 && (b[0].abs() - 180.0).abs() < 1e-9;
            (a[0] - b[0]).abs() > 180.0 && !both
        });
    if crosses {
        vertices
            .iter_mut()
            .filter(|(at, _)| at[0] < 0.0)
            .for_each(|(at, _)| at[0] += 360.0);
    }
}

fn node([x, y]: [f64; 2]) -> ProjectedPoint {
    ProjectedPoint {
        at: [x, y],
        lonlat: None,
        added: false,
        open: true,
    }
}

/// Takes a geometry apart.
fn collect(
    shape: usize,
    geometry: &Geometry<f64>,
    areas: &mut usize,
    paths: &mut Vec<ProjectedPath>,
) {
    match geometry {
        Geometry::Point(point) => paths.push(ProjectedPath {
            shape,
            kind: GeometryKind::Point,
            nodes: vec![node([point.x(), point.y()])],
        }),
        Geometry::MultiPoint(many) => {
            let nodes = many
                .iter()
                .map(|point| node([point.x(), point.y()]))
                .collect();
            paths.push(ProjectedPath {
                shape,
                kind: GeometryKind::Point,
                nodes,
            });
        }
        Geometry::LineString(line) => paths.push(ProjectedPath {
            shape,
            kind: GeometryKind::Line,
            nodes: make_nodes(line),
        }),
        Geometry::Line(line) => collect(shape, &Geometry::LineString((*line).into()), areas, paths),
        Geometry::MultiLineString(many) => {
            many.iter().for_each(|line| {
                paths.push(ProjectedPath {
                    shape,
                    kind: GeometryKind::Line,
                    nodes: make_nodes(line),
                })
            });
        }
        Geometry::Polygon(polygon) => {
            *areas += 1;
            for line in std::iter::once(polygon.exterior()).chain(polygon.interiors()) {
                let mut ring = make_nodes(line);
                ring.dedup_by(|a, b| a.at == b.at);
                if ring.len() > 1
                    && ring.first().map(|node| node.at) == ring.last().map(|node| node.at)
                {
                    ring.pop();
                }
                let points: Vec<[f64; 2]> = ring.iter().map(|node| node.at).collect();
                // Poles are found by the direction of their ring.
                if cut::doubled_area(&points) < 0.0 {
                    ring.reverse();
                }
                if ring.len() > 2 {
                    paths.push(ProjectedPath {
                        shape,
                        kind: GeometryKind::Ring(*areas),
                        nodes: ring,
                    });
                }
            }
        }
        Geometry::MultiPolygon(many) => {
            many.iter()
                .for_each(|one| collect(shape, &Geometry::Polygon(one.clone()), areas, paths));
        }
        Geometry::GeometryCollection(many) => many
            .iter()
            .for_each(|one| collect(shape, one, areas, paths)),
        Geometry::Rect(rect) => collect(shape, &Geometry::Polygon(rect.to_polygon()), areas, paths),
        Geometry::Triangle(triangle) => collect(
            shape,
            &Geometry::Polygon(triangle.to_polygon()),
            areas,
            paths,
        ),
    }
}

fn make_nodes(line: &LineString<f64>) -> Vec<ProjectedPoint> {
    line.coords().map(|at| node([at.x, at.y])).collect()
}

/// Latitudes just beyond the poles are the poles; coordinates outside the range of degrees become
/// NaN.
fn clamp_degrees(path: &mut ProjectedPath, source: PlaceSource) {
    // The edges of the outermost pixels of a grid may be beyond the poles, those of a geometry may
    // not.
    let slack = if source == PlaceSource::Grid {
        BEYOND_POLE
    } else {
        1e-9
    };
    for node in &mut path.nodes {
        let [lon, lat] = node.at;
        node.at = if lon.abs() <= LONGITUDE_MAX && lat.abs() <= 90.0 + slack {
            [lon, lat.clamp(-90.0, 90.0)]
        } else {
            [f64::NAN; 2]
        };
    }
}

/// Adds vertices to edges that are curved in longitude and latitude.
fn refine(way: &LonLatTransform, paths: &mut [ProjectedPath], detail: Detail) {
    let (floor, share, rounds) = match detail {
        Detail::Exact => (1e-6, 1e-5, 8),
        Detail::Drawn => (1e-4, 2e-3, 5),
        Detail::Corners => (f64::INFINITY, 1.0, 0),
    };
    let tolerances: Vec<f64> = paths
        .iter()
        .map(|path| (size_of(path) * share).max(floor))
        .collect();
    for _ in 0..rounds {
        let mut middles: Vec<[f64; 2]> = Vec::new();
        for path in paths.iter() {
            each_open_edge(path, |a, b| {
                middles.push([(a.at[0] + b.at[0]) / 2.0, (a.at[1] + b.at[1]) / 2.0])
            });
        }
        if middles.is_empty() {
            return;
        }
        let placed = way.lonlat(&middles);
        let mut next = middles.iter().zip(placed);
        for (path, &tolerance) in paths.iter_mut().zip(&tolerances) {
            if path.nodes.iter().all(|node| !node.open) {
                continue;
            }
            let old = std::mem::take(&mut path.nodes);
            let count = old.len();
            let closed = path.kind != GeometryKind::Line;
            let mut nodes = Vec::with_capacity(count + 4);
            for (index, mut node) in old.iter().copied().enumerate() {
                let last = index + 1 == count && !closed;
                if !node.open || last || path.kind == GeometryKind::Point {
                    node.open = false;
                    nodes.push(node);
                    continue;
                }
                let to = old[(index + 1) % count];
                let Some((&at, lonlat)) = next.next() else {
                    nodes.push(node);
                    continue;
                };
                let curved = match (node.lonlat, lonlat, to.lonlat) {
                    (Some(a), Some(middle), Some(b)) => is_curved(a, middle, b, tolerance),
                    // The edge leaves what the system maps.
                    (Some(_), None, Some(_)) => true,
                    _ => false,
                };
                node.open = curved;
                nodes.push(node);
                if curved {
                    // The search ends at a vertex without coordinates.
                    nodes.push(ProjectedPoint {
                        at,
                        lonlat,
                        added: true,
                        open: lonlat.is_some(),
                    });
                }
            }
            path.nodes = nodes;
        }
    }
}

fn each_open_edge(path: &ProjectedPath, mut see: impl FnMut(&ProjectedPoint, &ProjectedPoint)) {
    let count = path.nodes.len();
    let edges = match path.kind {
        GeometryKind::Ring(_) => count,
        GeometryKind::Line => count.saturating_sub(1),
        GeometryKind::Point => 0,
    };
    for (index, node) in path
        .nodes
        .iter()
        .enumerate()
        .take(edges)
        .filter(|(_, node)| node.open)
    {
        see(node, &path.nodes[(index + 1) % count]);
    }
}

/// A difference of longitudes in ±180.
fn difference(a: f64, b: f64) -> f64 {
    (a - b + 180.0).rem_euclid(360.0) - 180.0
}

fn is_curved(a: [f64; 2], middle: [f64; 2], b: [f64; 2], tolerance: f64) -> bool {
    let wide = difference(b[0], a[0]);
    let narrow = middle[1].to_radians().cos();
    let across = difference(middle[0], a[0] + wide / 2.0) * narrow;
    let along = middle[1] - (a[1] + b[1]) / 2.0;
    let long = (wide * narrow).hypot(b[1] - a[1]) > LONG_EDGE;
    wide.abs() > WIDE_EDGE || long || across.hypot(along) > tolerance
}

/// The size of a path in degrees of latitude, about.
fn size_of(path: &ProjectedPath) -> f64 {
    let mut places = path.nodes.iter().filter_map(|node| node.lonlat);
    let Some([lon, lat]) = places.next() else {
        return 0.0;
    };
    let far = |[x, y]: [f64; 2]| (difference(x, lon) * y.to_radians().cos()).hypot(y - lat);
    places.map(far).fold(0.0, f64::max)
}

/// What can be seen of a ring that reaches beyond what its system maps: from a place inside that
/// has coordinates, as far as there are some in the direction of each vertex. `None` where nothing
/// inside has any.
fn find_visible_ring(way: &LonLatTransform, path: &ProjectedPath) -> Option<Vec<ProjectedPoint>> {
    let corners: Vec<[f64; 2]> = path
        .nodes
        .iter()
        .filter(|node| !node.added)
        .map(|node| node.at)
        .collect();
    if corners.iter().flatten().any(|number| !number.is_finite()) {
        return None;
    }
    let polygon = Polygon::new(corners.iter().map(|&[x, y]| (x, y)).collect(), Vec::new());
    let rect = polygon.bounding_rect()?;
    let lattice =
        (1..8).flat_map(|x| (1..8).map(move |y| (f64::from(x) / 8.0, f64::from(y) / 8.0)));
    let inside = lattice.map(|(x, y)| {
        geo::Point::new(
            rect.min().x + x * rect.width(),
            rect.min().y + y * rect.height(),
        )
    });
    let candidates: Vec<[f64; 2]> = polygon
        .centroid()
        .into_iter()
        .chain(inside)
        .filter(|at| polygon.contains(at))
        .map(|at| [at.x(), at.y()])
        .collect();
    let placed = way.lonlat(&candidates);
    let centre = candidates
        .iter()
        .zip(placed)
        .find_map(|(at, place)| place.map(|_| *at))?;
    let mut targets: Vec<[f64; 2]> = Vec::with_capacity(corners.len() * LIMB_STEPS);
    for (index, &[x, y]) in corners.iter().enumerate() {
        let [next_x, next_y] = corners[(index + 1) % corners.len()];
        for step in 0..LIMB_STEPS {
            let share = step as f64 / LIMB_STEPS as f64;
            targets.push([x + share * (next_x - x), y + share * (next_y - y)]);
        }
    }
    // As far as there is a place, and as near as there is none, as shares of the way.
    let whole = way.lonlat(&targets);
    let mut ranges: Vec<[f64; 2]> = whole
        .iter()
        .map(|place| {
            if place.is_some() {
                [1.0, 1.0]
            } else {
                [0.0, 1.0]
            }
        })
        .collect();
    for _ in 0..LIMB_HALVINGS {
        let middles: Vec<[f64; 2]> = targets
            .iter()
            .zip(&ranges)
            .map(|(&at, range)| find_point_toward(centre, at, (range[0] + range[1]) / 2.0))
            .collect();
        for (range, place) in ranges.iter_mut().zip(way.lonlat(&middles)) {
            let middle = (range[0] + range[1]) / 2.0;
            range[usize::from(place.is_none())] = middle;
        }
    }
    let ends: Vec<[f64; 2]> = targets
        .iter()
        .zip(&ranges)
        .map(|(&at, range)| find_point_toward(centre, at, range[0]))
        .collect();
    let placed = way.lonlat(&ends);
    let nodes: Vec<ProjectedPoint> = ends
        .into_iter()
        .zip(placed)
        .filter(|(_, lonlat)| lonlat.is_some())
        .map(|(at, lonlat)| ProjectedPoint {
            at,
            lonlat,
            added: false,
            open: false,
        })
        .collect();
    (nodes.len() > 2).then_some(nodes)
}

fn find_point_toward(centre: [f64; 2], [x, y]: [f64; 2], share: f64) -> [f64; 2] {
    [
        centre[0] + share * (x - centre[0]),
        centre[1] + share * (y - centre[1]),
    ]
}
