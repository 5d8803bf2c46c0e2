//! Footprints of the samples of a level, for drawing.

use arrow::array::{Array, ArrayRef};

use crate::container::LevelSet;
use crate::error::{Error, Result};
use crate::footprint::{
    self, CENTROID_COLUMNS, Detail, GEOMETRY_COLUMNS, GRIDS, PlaceColumns, StatedLocation,
    Unfolded, micros_of, place_source, resolve,
};
use crate::jobs::JobContext;
use crate::model::Skeleton;
use crate::table::value_at;

/// Above this many rows the edges of outlines are straight between their corners.
const EXACT_MOST: usize = 300_000;
/// Rows that are resolved at a time.
const STRIDE: usize = 1 << 17;

/// Arguments of the computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct FootprintRequest {
    /// The level.
    pub level: usize,
    /// A column of geometries, or of transforms such as `stac:geotransform` for the corners of
    /// rasters; the best one of each row when absent.
    #[serde(default)]
    pub source: Option<String>,
}

/// Footprints of the rows of a level, longitude and latitude in degrees. Rows without a location
/// have an empty outline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprints {
    /// The level.
    pub level: usize,
    /// The column that they come from.
    pub source: String,
    /// True when edges are drawn straight between corners.
    pub approximate: bool,
    /// The first part of each row in `parts`, and the end.
    rows: Vec<u32>,
    /// Kind of each part, and its first point in `points`.
    parts: Vec<(OutlineKind, u32)>,
    points: Vec<[f32; 2]>,
}

/// Kind of a part of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineKind {
    /// The outer ring of an area, without its closing point.
    Ring,
    /// A hole of the area before it.
    Hole,
    /// An open line.
    Line,
    /// A single point.
    Point,
}

impl Footprints {
    fn empty(level: usize, source: String, approximate: bool) -> Self {
        Self {
            level,
            source,
            approximate,
            rows: vec![0],
            parts: Vec::new(),
            points: Vec::new(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    fn range(&self, row: u32) -> std::ops::Range<usize> {
        match (self.rows.get(row as usize), self.rows.get(row as usize + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    fn points_of(&self, part: usize) -> &[[f32; 2]] {
        let from = self
            .parts
            .get(part)
            .map_or(self.points.len(), |(_, first)| *first as usize);
        let to = self
            .parts
            .get(part + 1)
            .map_or(self.points.len(), |(_, first)| *first as usize);
        self.points.get(from..to).unwrap_or_default()
    }

    /// The parts of a row's outline. Longitudes go on beyond 180 degrees across the antimeridian,
    /// and around poles.
    pub fn parts(&self, row: u32) -> impl Iterator<Item = (OutlineKind, &[[f32; 2]])> {
        self.range(row)
            .filter_map(|part| Some((self.parts.get(part)?.0, self.points_of(part))))
    }

    /// Every point of a row's outline. Empty for a row without a location.
    pub fn points_of_row(&self, row: u32) -> &[[f32; 2]] {
        let parts = self.range(row);
        if parts.is_empty() {
            return &[];
        }
        let from = self
            .parts
            .get(parts.start)
            .map_or(0, |(_, first)| *first as usize);
        let to = self
            .parts
            .get(parts.end)
            .map_or(self.points.len(), |(_, first)| *first as usize);
        self.points.get(from..to).unwrap_or_default()
    }

    /// Number of rows with a location.
    pub fn placed_row_count(&self) -> usize {
        self.rows
            .windows(2)
            .filter(|pair| pair[0] < pair[1])
            .count()
    }

    /// From outlines in row order.
    #[cfg(test)]
    pub fn from_outlines(
        level: usize,
        source: &str,
        outlines: impl Iterator<Item = Vec<[f64; 2]>>,
    ) -> Self {
        let mut made = Self::empty(level, source.to_owned(), false);
        for ring in outlines {
            let shape = Unfolded {
                areas: if ring.len() > 1 {
                    vec![vec![ring.clone()]]
                } else {
                    Vec::new()
                },
                lines: Vec::new(),
                points: if ring.len() == 1 { ring } else { Vec::new() },
                source: footprint::PlaceSource::Geometry,
            };
            made.push(Some(&shape));
        }
        made
    }

    fn push(&mut self, shape: Option<&Unfolded>) {
        if let Some(shape) = shape {
            for rings in &shape.areas {
                for (index, ring) in rings.iter().enumerate() {
                    self.part(
                        if index == 0 {
                            OutlineKind::Ring
                        } else {
                            OutlineKind::Hole
                        },
                        ring,
                    );
                }
            }
            shape
                .lines
                .iter()
                .for_each(|line| self.part(OutlineKind::Line, line));
            shape
                .points
                .iter()
                .for_each(|point| self.part(OutlineKind::Point, std::slice::from_ref(point)));
        }
        self.rows.push(self.parts.len() as u32);
    }

    /// The same with the shapes of `others` for rows without a location.
    fn with_filled_rows(&self, others: &[Option<Unfolded>]) -> Self {
        let mut filled = Self::empty(self.level, self.source.clone(), self.approximate);
        for (row, other) in (0u32..).zip(others) {
            if self.range(row).is_empty() {
                filled.push(other.as_ref());
                continue;
            }
            for part in self.range(row) {
                let kind = self
                    .parts
                    .get(part)
                    .map_or(OutlineKind::Point, |(kind, _)| *kind);
                filled.parts.push((kind, filled.points.len() as u32));
                filled.points.extend_from_slice(self.points_of(part));
            }
            filled.rows.push(filled.parts.len() as u32);
        }
        filled
    }

    fn part(&mut self, kind: OutlineKind, points: &[[f64; 2]]) {
        self.parts.push((kind, self.points.len() as u32));
        self.points
            .extend(points.iter().map(|&[x, y]| [x as f32, y as f32]));
    }
}

/// Location sources of a level, preferred first.
pub fn footprint_sources(columns: &[String]) -> Vec<String> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let grids = GRIDS
        .iter()
        .filter(|grid| grid.are_in(has))
        .map(|grid| grid.transform);
    let geometries = GEOMETRY_COLUMNS.into_iter().filter(|name| has(name));
    let centroids = CENTROID_COLUMNS.into_iter().filter(|name| has(name));
    let others = columns.iter().filter(|name| {
        let lower = name.to_ascii_lowercase();
        (lower.ends_with("geometry") || lower.ends_with("geom") || lower.ends_with("centroid"))
            && place_source(name).is_none()
    });
    geometries
        .chain(grids)
        .chain(centroids)
        .map(str::to_owned)
        .chain(others.cloned())
        .collect()
}

/// Footprints of the rows of a level. Where the level has no column of locations, its FOLDERs are
/// where their descendants are.
///
/// # Errors
/// When neither the level nor one below has a column of locations, or a table can't be read.
pub fn footprints(
    levels: &LevelSet,
    request: &FootprintRequest,
    ctx: &JobContext,
) -> Result<Footprints> {
    let level = request.level;
    let (from, source) = match &request.source {
        Some(source) => (level, source.clone()),
        None => {
            let found = (level..levels.count())
                .find_map(|level| Some((level, choose_source(levels, level)?)));
            found.ok_or_else(|| {
                Error::usage(format!("level {level} has no places")).hint(
                    "places come from a geometry such as istac:geometry, from stac:geotransform \
                        with stac:crs and stac:tensor_shape, or from a centroid",
                )
            })?
        }
    };
    if request.source.is_some() && !column_names(levels, level).contains(&source) {
        return Err(Error::usage(format!(
            "level {level} has no column {source}"
        )));
    }
    let rows = levels.rows(from);
    let mut made = Footprints::empty(level, source.clone(), rows > EXACT_MOST);
    let asked = request.source.as_deref();
    if from == level {
        let is_approximate = made.approximate;
        read(
            levels,
            (from, &source),
            asked,
            is_approximate,
            &mut |shape| made.push(shape.as_ref()),
            ctx,
        )?;
        return if asked.is_some() {
            Ok(made)
        } else {
            with_descendants(made, levels, ctx)
        };
    }
    let rows = levels.rows(level);
    (0..rows).for_each(|_| made.push(None));
    with_descendants(made, levels, ctx)
}

/// The best column of locations of a level.
fn choose_source(levels: &LevelSet, level: usize) -> Option<String> {
    footprint_sources(&column_names(levels, level))
        .into_iter()
        .next()
}

/// Gives FOLDERs without a location those of their descendants on the first level below that has
/// them.
fn with_descendants(
    mut made: Footprints,
    levels: &LevelSet,
    ctx: &JobContext,
) -> Result<Footprints> {
    let level = made.level;
    for from in level + 1..levels.count() {
        if made.placed_row_count() == made.rows() {
            break;
        }
        let Some(source) = choose_source(levels, from) else {
            continue;
        };
        let tree = levels.skeleton(ctx)?;
        let mut shapes = DescendantShapes {
            tree: &tree,
            above: &made,
            from,
            next: 0,
            gathered: vec![None; made.rows()],
        };
        read(
            levels,
            (from, &source),
            None,
            made.approximate,
            &mut |shape| shapes.add_shape(shape),
            ctx,
        )?;
        let gathered = shapes.gathered;
        made = made.with_filled_rows(&gathered);
    }
    Ok(made)
}

/// The shapes of the rows of a level, put together for the FOLDERs above that have none.
struct DescendantShapes<'a> {
    tree: &'a Skeleton,
    above: &'a Footprints,
    /// The level of the shapes.
    from: usize,
    /// The row of the next shape.
    next: u32,
    /// By row of `above`.
    gathered: Vec<Option<Unfolded>>,
}

impl DescendantShapes<'_> {
    /// Adds the shape of the next row.
    fn add_shape(&mut self, shape: Option<Unfolded>) {
        let levels = &self.tree.levels;
        let parent = |row: u32, depth: usize| levels.get(depth)?.parents.get(row as usize).copied();
        let above = (self.above.level + 1..=self.from)
            .rev()
            .try_fold(self.next, parent)
            .filter(|above| self.above.points_of_row(*above).is_empty());
        self.next += 1;
        let slot = above.and_then(|above| self.gathered.get_mut(above as usize));
        if let (Some(shape), Some(slot)) = (shape, slot) {
            match slot {
                Some(known) => unite(known, shape),
                None => *slot = Some(shape),
            }
        }
    }
}

fn column_names(levels: &LevelSet, level: usize) -> Vec<String> {
    levels
        .fields(level)
        .into_iter()
        .map(|field| field.name)
        .collect()
}

/// Adds the parts of a shape that differ from the last ones: files of one sample mostly cover the
/// same ground.
fn unite(known: &mut Unfolded, shape: Unfolded) {
    let is_new = |area: &Vec<Vec<[f64; 2]>>, known: &[Vec<Vec<[f64; 2]>>]| {
        !known.iter().rev().take(16).any(|other| other == area)
    };
    for area in shape.areas {
        if is_new(&area, &known.areas) {
            known.areas.push(area);
        }
    }
    known.lines.extend(shape.lines);
    for point in shape.points {
        if known.points.last() != Some(&point) {
            known.points.push(point);
        }
    }
}

/// Passes the shape of each row of a level to `push`, in order. `asked` is the only source that
/// counts, where the user names one.
fn read(
    levels: &LevelSet,
    (level, source): (usize, &str),
    asked: Option<&str>,
    is_approximate: bool,
    push: &mut dyn FnMut(Option<Unfolded>),
    ctx: &JobContext,
) -> Result<()> {
    let columns = column_names(levels, level);
    let mut names: Vec<&str> = footprint::COLUMNS
        .into_iter()
        .filter(|name| columns.iter().any(|column| column == name))
        .collect();
    if !names.contains(&source) {
        names.push(source);
    }
    let table = match levels.decoded_table(level) {
        Some(table) => table.as_ref().clone(),
        None => levels.columns(level, &names, ctx)?,
    };
    ctx.stage(tr!("Places"), Some(table.rows() as u64));
    let detail = if is_approximate {
        Detail::Corners
    } else {
        Detail::Drawn
    };
    for batch in table.batches() {
        let columns = PlaceColumns::from_batch(batch);
        let own = asked.and_then(|name| batch.column_by_name(name));
        let stated = |row| locate_row(&columns, row, asked, own);
        for first in (0..batch.num_rows()).step_by(STRIDE) {
            ctx.check()?;
            let rows: Vec<StatedLocation> = (first..(first + STRIDE).min(batch.num_rows()))
                .map(stated)
                .collect();
            for shape in resolve(&rows, detail, Clone::clone, ctx)? {
                push(shape);
            }
            ctx.step(rows.len() as u64);
        }
    }
    Ok(())
}

/// Where a row states to be; by `asked`, whose values are `own`, alone where the user names one.
fn locate_row(
    columns: &PlaceColumns,
    row: usize,
    asked: Option<&str>,
    own: Option<&ArrayRef>,
) -> StatedLocation {
    match asked.map(place_source) {
        None => columns.stated_location(row),
        Some(Some(source)) => columns.stated_location(row).restrict_to_source(source),
        Some(None) => own.map_or_else(StatedLocation::default, |column| {
            StatedLocation::degrees(&value_at(column, row))
        }),
    }
}

/// The times of a level's rows in microseconds since 1970, `None` for rows without one.
pub fn times_of(
    levels: &LevelSet,
    level: usize,
    column: &str,
    ctx: &JobContext,
) -> Result<Vec<Option<i64>>> {
    let array = levels.column(level, column, ctx)?;
    Ok(micros_of(&array).unwrap_or_else(|| vec![None; array.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::PlaceSource;

    #[test]
    fn parts_of_outlines_stay_apart() {
        let area = vec![
            vec![[0.0, 0.0], [4.0, 0.0], [4.0, 4.0]],
            vec![[1.0, 0.5], [2.0, 1.0], [2.0, 0.5]],
        ];
        let shape = Unfolded {
            areas: vec![area],
            lines: Vec::new(),
            points: vec![[9.0, 9.0]],
            source: PlaceSource::Geometry,
        };
        let mut made = Footprints::empty(0, "g".into(), false);
        made.push(None);
        made.push(Some(&shape));
        made.push(Some(&shape));
        let kinds = |row: u32| {
            made.parts(row)
                .map(|(kind, points)| (kind, points.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(1),
            [
                (OutlineKind::Ring, 3),
                (OutlineKind::Hole, 3),
                (OutlineKind::Point, 1)
            ]
        );
        assert_eq!(kinds(2), kinds(1));
        assert!(
            made.points_of_row(0).is_empty()
                && made.points_of_row(9).is_empty()
                && made.points_of_row(2).len() == 7
        );
        assert_eq!((made.rows(), made.placed_row_count()), (3, 2));
    }

    #[test]
    fn the_best_source_comes_first() {
        let columns = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let all = columns(&[
            "stac:crs",
            "stac:geotransform",
            "stac:tensor_shape",
            "stac:centroid",
            "istac:geometry",
            "geom",
        ]);
        assert_eq!(
            footprint_sources(&all),
            [
                "istac:geometry",
                "stac:geotransform",
                "stac:centroid",
                "geom"
            ]
        );
        let old = columns(&["stac:crs", "stac:geotransform", "stac:raster_shape"]);
        assert_eq!(footprint_sources(&old), ["stac:geotransform"]);
        assert_eq!(
            footprint_sources(&columns(&["stac:crs", "id"])),
            Vec::<String>::new()
        );
    }
}
