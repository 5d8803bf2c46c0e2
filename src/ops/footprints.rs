//! Footprints of the samples of a level, for drawing: outlines from geometries or STAC geotransforms, or centres alone.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use crate::container::ContainerReader;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::Value;
use crate::query::outline;
use crate::raster::{is_geographic, to_lonlat_from};
use crate::table::{LevelTable, value_at, wkb_point};

/// The column group of STAC's outlines, as menus name it.
pub const STAC: &str = "stac:geotransform";
/// What STAC's outlines are made of.
const STAC_COLUMNS: [&str; 3] = ["stac:crs", "stac:geotransform", "stac:tensor_shape"];
/// Above this many rows STAC's outlines are measured off from the centroid instead of transformed corner by corner.
const EXACT_MOST: usize = 300_000;
const STRIDE: usize = 4096;
/// Metres of a degree of latitude.
const DEGREE_M: f64 = 111_320.0;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct FootprintRequest {
    /// The level.
    pub level: usize,
    /// A column of WKB geometries, or `stac:geotransform`; the best one there is when absent.
    #[serde(default)]
    pub source: Option<String>,
}

/// Footprints of the rows of a level, longitude and latitude in degrees. Rows without a location have an empty outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprints {
    /// The level.
    pub level: usize,
    /// The column that they come from.
    pub source: String,
    /// True when the outlines are measured off from centres.
    pub approximate: bool,
    /// The first point of each row in `points`, and the end.
    starts: Vec<u32>,
    points: Vec<[f32; 2]>,
}

impl Footprints {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The outline of a row: one point, or a ring without its closing point. Empty for a row without a place.
    pub fn of(&self, row: u32) -> &[[f32; 2]] {
        let (Some(&from), Some(&to)) = (self.starts.get(row as usize), self.starts.get(row as usize + 1)) else { return &[] };
        self.points.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Rows that have a place.
    pub fn placed(&self) -> usize {
        self.starts.windows(2).filter(|pair| pair[0] < pair[1]).count()
    }

    /// From outlines in row order.
    #[cfg(test)]
    pub fn from_outlines(level: usize, source: &str, outlines: impl Iterator<Item = Vec<[f64; 2]>>) -> Self {
        let mut made = Self { level, source: source.to_owned(), approximate: false, starts: vec![0], points: Vec::new() };
        outlines.for_each(|ring| made.push(&ring));
        made
    }

    fn push(&mut self, ring: &[[f64; 2]]) {
        if ring.iter().all(|[x, y]| x.is_finite() && (-90.0..=90.0).contains(y)) {
            // A ring over the antimeridian goes on beyond 180 degrees instead of reaching round the Earth.
            let first = ring.first().map_or(0.0, |at| at[0]);
            let near = |x: f64| x - 360.0 * ((x - first) / 360.0).round();
            self.points.extend(ring.iter().map(|&[x, y]| [near(x) as f32, y as f32]));
        }
        self.starts.push(self.points.len() as u32);
    }
}

/// The sources of places that a level has, best first.
pub fn footprint_sources(columns: &[String]) -> Vec<String> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let stac = STAC_COLUMNS.iter().all(|name| has(name)).then(|| STAC.to_owned());
    let usual = ["istac:geometry"].into_iter().filter(|name| has(name)).map(str::to_owned);
    let centres = ["stac:centroid", "istac:centroid"].into_iter().filter(|name| has(name)).map(str::to_owned);
    let others = columns.iter().filter(|name| {
        let lower = name.to_ascii_lowercase();
        (lower.ends_with("geometry") || lower.ends_with("geom") || lower.ends_with("centroid"))
            && !matches!(name.as_str(), "istac:geometry" | "stac:centroid" | "istac:centroid")
    });
    usual.chain(stac).chain(centres).chain(others.cloned()).collect()
}

/// Footprints of the rows of a level.
///
/// # Errors
/// When the level has no column of locations, or its table can't be read.
pub fn footprints(reader: &dyn ContainerReader, request: &FootprintRequest, ctx: &JobContext) -> Result<Footprints> {
    let level = request.level;
    let columns: Vec<String> = reader.levels().fields(level).into_iter().map(|field| field.name).collect();
    let source = match &request.source {
        Some(source) => source.clone(),
        None => footprint_sources(&columns).into_iter().next().ok_or_else(|| {
            Error::usage(format!("level {level} has no places")).hint(
                "places come from istac:geometry, from stac:geotransform with stac:crs and stac:tensor_shape, or from a centroid",
            )
        })?,
    };
    let mut names: Vec<&str> = if source == STAC { STAC_COLUMNS.to_vec() } else { vec![source.as_str()] };
    let rows = reader.levels().rows(level);
    let approximate = source == STAC && rows > EXACT_MOST && columns.iter().any(|name| name == "stac:centroid");
    if approximate {
        names.push("stac:centroid");
    }
    let table = match reader.levels().decoded(level) {
        Some(table) => table.as_ref().clone(),
        None => reader.levels().columns(level, &names, ctx)?,
    };
    ctx.stage(tr!("Places"), Some(rows as u64));
    let mut made =
        Footprints { level, source: source.clone(), approximate, starts: Vec::with_capacity(rows + 1), points: Vec::new() };
    made.starts.push(0);
    if source == STAC {
        stac(&table, &mut made, ctx)?;
    } else {
        let index = table.column_index(&source).ok_or_else(|| Error::usage(format!("level {level} has no column {source}")))?;
        geometries(&table, index, &mut made, ctx)?;
    }
    Ok(made)
}

fn geometries(table: &LevelTable, column: usize, made: &mut Footprints, ctx: &JobContext) -> Result<()> {
    for row in 0..table.rows() {
        if row % STRIDE == 0 {
            ctx.check()?;
            ctx.step(STRIDE as u64);
        }
        let ring = match table.value(row, column) {
            Value::Bytes(wkb) => match wkb_point(&wkb) {
                Some((x, y)) => vec![[x, y]],
                None => outline(&wkb).unwrap_or_default(),
            },
            _ => Vec::new(),
        };
        made.push(&ring);
    }
    Ok(())
}

/// Geotransform, columns and rows of a raster.
fn grid_of(transform: &Value, shape: &Value) -> Option<([f64; 6], f64, f64)> {
    let numbers = |value: &Value| -> Option<Vec<f64>> {
        let Value::List(items) = value else { return None };
        items
            .iter()
            .map(|item| match item {
                Value::Float(number) => Some(*number),
                Value::Int(number) => Some(*number as f64),
                _ => None,
            })
            .collect()
    };
    let transform: [f64; 6] = numbers(transform)?.try_into().ok()?;
    let shape = numbers(shape)?;
    let [.., height, width] = shape.as_slice() else { return None };
    (*height > 0.0 && *width > 0.0).then_some((transform, *width, *height))
}

fn corners((t, width, height): ([f64; 6], f64, f64)) -> [[f64; 2]; 4] {
    let at = |column: f64, row: f64| [t[0] + column * t[1] + row * t[2], t[3] + column * t[4] + row * t[5]];
    [at(0.0, 0.0), at(width, 0.0), at(width, height), at(0.0, height)]
}

fn stac(table: &LevelTable, made: &mut Footprints, ctx: &JobContext) -> Result<()> {
    let column = |name: &str| table.column_index(name);
    let [Some(crs), Some(transform), Some(shape)] = STAC_COLUMNS.map(column) else {
        return Err(Error::usage("the level lacks stac:crs, stac:geotransform or stac:tensor_shape"));
    };
    let centre = column("stac:centroid").filter(|_| made.approximate);
    // Rows of one system are transformed together.
    let mut systems: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
    let mut rings: Vec<Option<[[f64; 2]; 4]>> = vec![None; table.rows()];
    // Each system is looked up once: there are as many rows as samples, and few systems.
    let mut in_degrees: HashMap<Arc<str>, bool> = HashMap::new();
    for (row, ring) in rings.iter_mut().enumerate() {
        if row % STRIDE == 0 {
            ctx.check()?;
            ctx.step(STRIDE as u64);
        }
        let Some(grid) = grid_of(&table.value(row, transform), &table.value(row, shape)) else { continue };
        let Value::Text(code) = table.value(row, crs) else { continue };
        let around = centre.and_then(|centre| {
            let degrees = match in_degrees.get(&*code) {
                Some(&known) => known,
                None => *in_degrees.entry(code.clone()).or_insert_with(|| is_geographic(&code)),
            };
            measured(&table.value(row, centre), degrees, grid)
        });
        if around.is_some() {
            *ring = around;
            continue;
        }
        *ring = Some(corners(grid));
        match systems.get_mut(&*code) {
            Some(rows) => rows.push(row as u32),
            None => drop(systems.insert(code, vec![row as u32])),
        }
    }
    for (code, rows) in systems {
        for rows in rows.chunks(STRIDE) {
            ctx.check()?;
            let points: Vec<[f64; 2]> = rows.iter().flat_map(|&row| rings[row as usize].unwrap_or_default()).collect();
            // Rows of an unknown coordinate system stay without a location.
            let places = to_lonlat_from(&code, &points).unwrap_or_else(|_| vec![None; points.len()]);
            for (&row, ring) in rows.iter().zip(places.chunks_exact(4)) {
                rings[row as usize] = match ring {
                    [Some(a), Some(b), Some(c), Some(d)] => Some([*a, *b, *c, *d]),
                    _ => None,
                };
            }
        }
    }
    for ring in rings {
        made.push(ring.as_ref().map_or(&[][..], |ring| &ring[..]));
    }
    Ok(())
}

/// An outline about a centroid, by the size of the raster in metres; degrees are taken as they are.
fn measured(centre: &Value, degrees: bool, (t, width, height): ([f64; 6], f64, f64)) -> Option<[[f64; 2]; 4]> {
    let Value::Bytes(wkb) = centre else { return None };
    let (x, y) = wkb_point(wkb)?;
    let (mut across, mut down) = (width * t[1].hypot(t[4]) / 2.0, height * t[5].hypot(t[2]) / 2.0);
    if !degrees {
        across /= DEGREE_M * y.to_radians().cos().abs().max(0.01);
        down /= DEGREE_M;
    }
    Some([[x - across, y + down], [x + across, y + down], [x + across, y - down], [x - across, y - down]])
}

/// The times of a level's rows in microseconds since 1970, `None` for rows without one.
pub fn times_of(reader: &dyn ContainerReader, level: usize, column: &str, ctx: &JobContext) -> Result<Vec<Option<i64>>> {
    let table = match reader.levels().decoded(level) {
        Some(table) => table.as_ref().clone(),
        None => reader.levels().columns(level, &[column], ctx)?,
    };
    let index = table.column_index(column).ok_or_else(|| Error::usage(format!("level {level} has no column {column}")))?;
    let array = table.column(index)?;
    ctx.check()?;
    if let Some(numbers) = super::as_numbers(&array)? {
        return Ok(numbers.iter().map(|number| number.map(|number| number as i64)).collect());
    }
    Ok((0..array.len()).map(|row| text_time(&array, row)).collect())
}

/// The day that a text begins with.
fn text_time(array: &ArrayRef, row: usize) -> Option<i64> {
    let Value::Text(text) = value_at(array, row) else { return None };
    let day = chrono::NaiveDate::parse_from_str(text.trim().get(..10)?, "%Y-%m-%d").ok()?;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_go_on_beyond_the_antimeridian() {
        let ring = vec![[179.5, 1.0], [-179.5, 1.0], [-179.5, -1.0], [179.5, -1.0]];
        let made = Footprints::from_outlines(0, "g", [ring, Vec::new(), vec![[1.0, 95.0]]].into_iter());
        assert_eq!(made.of(0)[1], [180.5, 1.0]);
        assert!(made.of(1).is_empty() && made.of(2).is_empty() && made.of(9).is_empty());
        assert_eq!((made.rows(), made.placed()), (3, 1));
    }

    #[test]
    fn the_best_source_comes_first() {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = columns(&["stac:crs", "stac:geotransform", "stac:tensor_shape", "stac:centroid", "istac:geometry", "geom"]);
        assert_eq!(footprint_sources(&all), ["istac:geometry", "stac:geotransform", "stac:centroid", "geom"]);
        assert_eq!(footprint_sources(&columns(&["stac:crs", "id"])), Vec::<String>::new());
    }

    #[test]
    fn a_measured_outline_has_the_size_of_its_raster() {
        let mut wkb = vec![1, 1, 0, 0, 0];
        wkb.extend(10.0f64.to_le_bytes());
        wkb.extend(60.0f64.to_le_bytes());
        let centre = Value::Bytes(wkb.into());
        let size = |code: &str, step: f64| {
            let grid = ([0.0, step, 0.0, 0.0, 0.0, -step], 1000.0, 1000.0);
            let ring = measured(&centre, is_geographic(code), grid).expect("has a place");
            (ring[1][0] - ring[0][0], ring[0][1] - ring[2][1])
        };
        for code in ["EPSG:4326", "OGC:CRS84", "EPSG:4258"] {
            let (across, down) = size(code, 0.001);
            assert!((across - 1.0).abs() < 1e-9 && (down - 1.0).abs() < 1e-9, "{code}: {across} {down}");
        }
        let (across, down) = size("EPSG:32632", 10.0);
        assert!((down - 10_000.0 / DEGREE_M).abs() < 1e-9 && (across / down - 2.0).abs() < 1e-6, "{across} {down}");
    }
}
