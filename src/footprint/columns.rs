//! Names of the columns that state places, in every generation: `stac` and `istac` of TORTILLA 0.5
//! to TACO 3, and the namespaces `spatial` and `ispatial` of TACO 3, which its release 0.6.0 calls
//! `sac` and `isac`. The columns that a table has decide what is read, never its version.

use super::PlaceSource;

/// Columns of geometries, preferred first.
pub const GEOMETRY_COLUMNS: [&str; 5] = [
    "istac:geometry",
    "ispatial:geometry",
    "isac:geometry",
    "stac:geometry",
    "spatial:geometry",
];
/// Columns with the centre of a sample in longitude and latitude, preferred first.
pub const CENTROID_COLUMNS: [&str; 6] = [
    "stac:centroid",
    "istac:centroid",
    "spatial:centroid",
    "sac:centroid",
    "ispatial:centroid",
    "isac:centroid",
];
/// Columns of coordinate systems.
pub const CRS_COLUMNS: [&str; 8] = [
    "stac:crs",
    "istac:crs",
    "stac:proj_code",
    "spatial:crs",
    "spatial:proj_code",
    "ispatial:crs",
    "sac:crs",
    "isac:crs",
];
/// Columns with `[west, south, east, north]` in degrees, for rows without a geometry.
pub const BOX_COLUMNS: [&str; 2] = ["stac:bbox", "spatial:bbox"];

/// The order of the six numbers of an affine transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransformOrder {
    /// GDAL's: x, dx/dcolumn, dx/drow, y, dy/dcolumn, dy/drow.
    Gdal,
    /// That of STAC's `proj:transform` and of rasterio: dx/dcolumn, dx/drow, x, dy/dcolumn,
    /// dy/drow, y.
    Rasterio,
}

/// The columns of the grid of a raster.
#[derive(Clone, Copy, Debug)]
pub struct GridColumns {
    /// Six numbers of an affine transform, from columns and rows to the coordinate system.
    pub transform: &'static str,
    /// The coordinate system.
    pub crs: &'static str,
    /// Shapes, of which the last two numbers are rows and columns; the first that a table has.
    pub shapes: &'static [&'static str],
    pub(super) order: TransformOrder,
}

impl GridColumns {
    /// True when a table with the columns that `has` accepts has the whole grid.
    pub fn are_in(&self, has: impl Fn(&str) -> bool) -> bool {
        has(self.transform) && has(self.crs) && self.shapes.iter().any(|shape| has(shape))
    }
}

const fn grid(
    transform: &'static str,
    crs: &'static str,
    shapes: &'static [&'static str],
    order: TransformOrder,
) -> GridColumns {
    GridColumns {
        transform,
        crs,
        shapes,
        order,
    }
}

/// The grids of every generation, preferred first. `stac:raster_shape` is that of TORTILLA 0.5:
/// rows and columns.
pub const GRIDS: [GridColumns; 5] = [
    grid(
        "stac:geotransform",
        "stac:crs",
        &["stac:tensor_shape", "stac:raster_shape"],
        TransformOrder::Gdal,
    ),
    grid(
        "stac:proj_transform",
        "stac:proj_code",
        &["stac:proj_shape"],
        TransformOrder::Rasterio,
    ),
    grid(
        "spatial:geotransform",
        "spatial:crs",
        &["spatial:tensor_shape"],
        TransformOrder::Gdal,
    ),
    grid(
        "spatial:proj_transform",
        "spatial:proj_code",
        &["spatial:proj_shape"],
        TransformOrder::Rasterio,
    ),
    grid(
        "sac:geotransform",
        "sac:crs",
        &["sac:tensor_shape"],
        TransformOrder::Gdal,
    ),
];

/// Every column that states where a sample is.
pub const COLUMNS: [&str; 32] = [
    "istac:geometry",
    "ispatial:geometry",
    "isac:geometry",
    "stac:geometry",
    "spatial:geometry",
    "istac:crs",
    "ispatial:crs",
    "isac:crs",
    "stac:bbox",
    "spatial:bbox",
    "stac:crs",
    "stac:geotransform",
    "stac:tensor_shape",
    "stac:raster_shape",
    "stac:proj_code",
    "stac:proj_transform",
    "stac:proj_shape",
    "spatial:crs",
    "spatial:geotransform",
    "spatial:tensor_shape",
    "spatial:proj_code",
    "spatial:proj_transform",
    "spatial:proj_shape",
    "sac:crs",
    "sac:geotransform",
    "sac:tensor_shape",
    "stac:centroid",
    "istac:centroid",
    "spatial:centroid",
    "sac:centroid",
    "ispatial:centroid",
    "isac:centroid",
];

/// The kind of place that a column states by its name; `None` for other columns.
pub fn place_source(column: &str) -> Option<PlaceSource> {
    if GEOMETRY_COLUMNS.contains(&column) {
        Some(PlaceSource::Geometry)
    } else if GRIDS.iter().any(|grid| grid.transform == column) {
        Some(PlaceSource::Grid)
    } else {
        CENTROID_COLUMNS
            .contains(&column)
            .then_some(PlaceSource::Centroid)
    }
}

/// True for columns of geometries, boxes and centres, which catalogues write as places of their own
/// form.
pub fn states_point_or_shape(column: &str) -> bool {
    BOX_COLUMNS.contains(&column)
        || matches!(
            place_source(column),
            Some(PlaceSource::Geometry | PlaceSource::Centroid)
        )
}

/// The first grid of which a table has all columns.
pub fn grid_of(has: impl Fn(&str) -> bool) -> Option<&'static GridColumns> {
    GRIDS.iter().find(|grid| grid.are_in(&has))
}

/// The column with the coordinate system of a column of geometries; `None` for those in longitude
/// and latitude, as TACO 3 writes them from release 0.11.
pub(super) fn crs_of_geometry(column: &str) -> Option<&'static str> {
    Some(match column {
        "istac:geometry" => "istac:crs",
        "ispatial:geometry" => "ispatial:crs",
        "isac:geometry" => "isac:crs",
        _ => return None,
    })
}

/// Where a kind of place is stated: the columns, by name or by their number in a table.
#[derive(Clone, Debug)]
pub(super) struct PlaceRoles<C> {
    /// Geometries, and their coordinate systems.
    pub geometries: Vec<(C, Option<C>)>,
    /// Boxes in degrees.
    pub boxes: Vec<C>,
    pub grids: Vec<GridRoles<C>>,
    pub centroids: Vec<C>,
}

/// The columns of one grid.
#[derive(Clone, Debug)]
pub(super) struct GridRoles<C> {
    pub transform: C,
    pub crs: C,
    pub shapes: Vec<C>,
    pub order: TransformOrder,
}

impl<C: Copy> PlaceRoles<C> {
    /// The roles of the columns for which `find` has a value.
    pub fn from_lookup(find: impl Fn(&'static str) -> Option<C>) -> Self {
        let geometry =
            |name: &&'static str| Some((find(name)?, crs_of_geometry(name).and_then(&find)));
        Self {
            geometries: GEOMETRY_COLUMNS.iter().filter_map(geometry).collect(),
            boxes: BOX_COLUMNS.iter().filter_map(|name| find(name)).collect(),
            grids: GRIDS
                .iter()
                .filter_map(|grid| find_grid_roles(grid, &find))
                .filter(|grid| !grid.shapes.is_empty())
                .collect(),
            centroids: CENTROID_COLUMNS
                .iter()
                .filter_map(|name| find(name))
                .collect(),
        }
    }
}

fn find_grid_roles<C>(
    grid: &GridColumns,
    find: &impl Fn(&'static str) -> Option<C>,
) -> Option<GridRoles<C>> {
    let shapes: Vec<C> = grid.shapes.iter().filter_map(|name| find(name)).collect();
    Some(GridRoles {
        transform: find(grid.transform)?,
        crs: find(grid.crs)?,
        shapes,
        order: grid.order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_a_role_is_among_the_columns() {
        let roles = PlaceRoles::from_lookup(Some);
        let mut named: Vec<&str> = roles
            .geometries
            .iter()
            .flat_map(|(geometry, crs)| std::iter::once(*geometry).chain(*crs))
            .collect();
        named.extend(&roles.boxes);
        named.extend(&roles.centroids);
        assert!(
            CRS_COLUMNS.iter().all(
                |name| named.contains(name) || roles.grids.iter().any(|grid| grid.crs == *name)
            )
        );
        named.extend(roles.grids.iter().flat_map(|grid| {
            [grid.crs, grid.transform]
                .into_iter()
                .chain(grid.shapes.clone())
        }));
        assert!(
            named.iter().all(|name| COLUMNS.contains(name)) && named.len() == COLUMNS.len(),
            "{named:?}"
        );
    }
}
