//! The coordinate system of netCDF files and Zarr stores that name none, where their axes are
//! stated as longitude and latitude.

use gdal::cpl::CslStringList;
use gdal::raster::{Group, MDArray};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};

use super::crs_text::spatial_ref_of;
use super::gdal_errors;
use super::variable::NETCDF_NAME;

/// Names of drivers, and the beginnings of the names of their variables.
const NETCDF: &str = "netCDF";
const NETCDF_PREFIX: &str = "NETCDF:\"";
const ZARR: &str = "Zarr";
const ZARR_PREFIX: &str = "ZARR:\"";
/// Units of longitudes and latitudes (CF conventions 4.1, 4.2), in upper or lower case.
const UNITS_OF_LONGITUDE: [&str; 6] = [
    "degrees_east",
    "degree_east",
    "degree_E",
    "degrees_E",
    "degreeE",
    "degreesE",
];
const UNITS_OF_LATITUDE: [&str; 6] = [
    "degrees_north",
    "degree_north",
    "degree_N",
    "degrees_N",
    "degreeN",
    "degreesN",
];
/// Units of an axis that its standard name makes one of longitudes or latitudes.
const UNITS_OF_ANGLES: [&str; 2] = ["degrees", "degree"];
/// Names of a third dimension that the netCDF driver reads as bands, behind rows and columns.
const BAND_DIMENSIONS: [&str; 2] = ["bands", "band"];
/// Maximum number of arrays of a store among which the only one with rows and columns is found.
const ARRAYS_COMPARED: usize = 64;

/// What an axis is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisQuantity {
    Longitude,
    Latitude,
    Other,
}

/// The system of a netCDF file or a Zarr store that names none, where its columns are stated as
/// longitudes and its rows as latitudes in degrees (CF conventions 4.1, 4.2): WGS 84, as other
/// programs assume. Files with the two exchanged exist.
pub(super) fn system_of_degree_axes(
    dataset: &Dataset,
    geotransform: [f64; 6],
) -> Option<SpatialRef> {
    let (width, height) = dataset.raster_size();
    if !is_grid_of_degrees(geotransform, width as f64, height as f64) {
        return None;
    }
    let is_found = match dataset.driver().short_name().as_str() {
        NETCDF => is_netcdf_in_degrees(dataset, geotransform, width),
        ZARR => is_store_in_degrees(dataset),
        _ => false,
    };
    is_found.then(|| spatial_ref_of("EPSG:4326").ok()).flatten()
}

/// Where the dimensions of the variable are not found, only grids whose columns go beyond 90°,
/// which no latitude does, are taken for ones in degrees.
fn is_netcdf_in_degrees(dataset: &Dataset, geotransform: [f64; 6], width: usize) -> bool {
    let items = dataset.metadata_domain("").unwrap_or_default();
    let is_stated = [AxisQuantity::Longitude, AxisQuantity::Latitude]
        .into_iter()
        .all(|quantity| axis_names(&items).any(|name| quantity_of_axis(&items, name) == quantity));
    is_stated
        && match dimensions_of_variable(dataset, &items) {
            Some(names) => are_rows_of_latitudes(&items, &names),
            None => goes_beyond_latitudes(geotransform, width as f64),
        }
}

fn is_store_in_degrees(dataset: &Dataset) -> bool {
    let (found, _said) = gdal_errors::listen(|| axes_of_store(dataset));
    found.is_some_and(|(items, names)| match names.as_slice() {
        [.., rows, columns] => are_latitudes_and_longitudes(&items, rows, columns),
        _ => false,
    })
}

/// Units of the dimensions of the array that is open, as the netCDF driver states them, and the
/// names of the dimensions in order.
fn axes_of_store(dataset: &Dataset) -> Option<(Vec<String>, Vec<String>)> {
    let description = dataset.description().ok()?;
    let (path, named) = split_description(&description, ZARR_PREFIX)?;
    let arrays = open_arrays(path, ZARR)?;
    let root = arrays.root_group().ok()?;
    let variable = match named {
        // Numbers of layers may follow.
        Some(name) => name.split(':').next().unwrap_or(name).to_owned(),
        None => name_of_only_raster(&root)?,
    };
    let (groups, name) = variable.rsplit_once('/').unwrap_or(("", &variable));
    let group = open_group(root, groups)?;
    let array = group.open_md_array(name, CslStringList::new()).ok()?;
    units_of_dimensions(&array)
}

fn units_of_dimensions(array: &MDArray<'_>) -> Option<(Vec<String>, Vec<String>)> {
    let (mut items, mut names) = (Vec::new(), Vec::new());
    for dimension in array.dimensions().ok()? {
        let name = dimension.name();
        // Empty without a variable as well.
        let unit = dimension.indexing_variable().unit();
        items.push(format!("{name}#units={unit}"));
        names.push(name);
    }
    Some((items, names))
}

/// The name of the only array that has rows and columns.
fn name_of_only_raster(root: &Group<'_>) -> Option<String> {
    let names = root.array_names(CslStringList::new());
    if names.len() > ARRAYS_COMPARED {
        return None;
    }
    let mut rasters = names
        .into_iter()
        .filter(|name| has_rows_and_columns(root, name));
    let only = rasters.next()?;
    rasters.next().is_none().then_some(only)
}

fn has_rows_and_columns(root: &Group<'_>, name: &str) -> bool {
    root.open_md_array(name, CslStringList::new())
        .is_ok_and(|array| array.num_dimensions() >= 2)
}

/// Names of the variables of which the driver states units.
fn axis_names(items: &[String]) -> impl Iterator<Item = &str> {
    items
        .iter()
        .filter_map(|item| Some(local_name(item.split_once("#units=")?.0)))
}

/// The name of a variable without its groups: `lat` of `/PRODUCT/lat`.
fn local_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// What the variable of this name is of, by its units, or by units of angles and its standard
/// name. Variables of several groups may have the name: they have to agree.
fn quantity_of_axis(items: &[String], name: &str) -> AxisQuantity {
    let states = |attribute: &str, values: &[&str]| all_state(items, name, attribute, values);
    let is_angle = states("units", &UNITS_OF_ANGLES);
    let is_named = |standard: &str| is_angle && states("standard_name", &[standard]);
    if states("units", &UNITS_OF_LONGITUDE) || is_named("longitude") {
        AxisQuantity::Longitude
    } else if states("units", &UNITS_OF_LATITUDE) || is_named("latitude") {
        AxisQuantity::Latitude
    } else {
        AxisQuantity::Other
    }
}

/// True where variables of this name have the attribute, and all of them with one of these values.
fn all_state(items: &[String], name: &str, attribute: &str, values: &[&str]) -> bool {
    let mut found = attributes(items, name, attribute).peekable();
    let is_one = |value: &str| values.iter().any(|known| known.eq_ignore_ascii_case(value));
    found.peek().is_some() && found.all(is_one)
}

/// The values of an attribute of all variables of this name.
fn attributes<'a>(
    items: &'a [String],
    name: &'a str,
    attribute: &'a str,
) -> impl Iterator<Item = &'a str> {
    items.iter().filter_map(move |item| {
        let (key, value) = item.split_once('=')?;
        let (variable, known) = key.rsplit_once('#')?;
        (known == attribute && local_name(variable) == name).then(|| value.trim())
    })
}

/// True where the columns of a variable with these dimensions are longitudes, and its rows
/// latitudes: the driver takes the last two dimensions, or the first two before bands.
fn are_rows_of_latitudes(items: &[String], dimensions: &[String]) -> bool {
    let plane = match dimensions {
        [rows, columns, bands] if BAND_DIMENSIONS.contains(&bands.as_str()) => {
            Some((rows, columns))
        }
        [.., rows, columns] => Some((rows, columns)),
        _ => None,
    };
    plane.is_some_and(|(rows, columns)| are_latitudes_and_longitudes(items, rows, columns))
}

fn are_latitudes_and_longitudes(items: &[String], rows: &str, columns: &str) -> bool {
    quantity_of_axis(items, rows) == AxisQuantity::Latitude
        && quantity_of_axis(items, columns) == AxisQuantity::Longitude
}

/// Names of the dimensions of the variable that is open, in order; `None` where the file does not
/// open as arrays. The caller holds the HDF5 lock.
fn dimensions_of_variable(dataset: &Dataset, items: &[String]) -> Option<Vec<String>> {
    let description = dataset.description().ok()?;
    let (path, named) = split_description(&description, NETCDF_PREFIX)?;
    let variable = match named {
        Some(name) => name.to_owned(),
        None => name_of_open_variable(dataset, items)?,
    };
    let (found, _said) = gdal_errors::listen(|| {
        let arrays = open_arrays(path, NETCDF)?;
        let root = arrays.root_group().ok()?;
        let (groups, name) = variable.rsplit_once('/').unwrap_or(("", &variable));
        let group = open_group(root, groups)?;
        let array = group.open_md_array(name, CslStringList::new()).ok()?;
        names_of_dimensions(&array)
    });
    found
}

/// The path of an open file, and the variable that its name states: `NETCDF:"path":variable`.
fn split_description<'d>(description: &'d str, prefix: &str) -> Option<(&'d str, Option<&'d str>)> {
    match description.strip_prefix(prefix) {
        Some(rest) => {
            let (path, variable) = rest.rsplit_once("\":")?;
            Some((path, Some(variable)))
        }
        None => Some((description, None)),
    }
}

fn open_arrays(path: &str, driver: &str) -> Option<Dataset> {
    let options = DatasetOptions {
        open_flags: GdalOpenFlags::GDAL_OF_READONLY | GdalOpenFlags::GDAL_OF_MULTIDIM_RASTER,
        allowed_drivers: Some(&[driver]),
        sibling_files: Some(&[]),
        ..Default::default()
    };
    Dataset::open_ex(path, options).ok()
}

/// The name of the only variable of a file, with its groups where the file's metadata has them.
fn name_of_open_variable(dataset: &Dataset, items: &[String]) -> Option<String> {
    let band = dataset.rasterband(1).ok()?;
    let items_of_band = band.metadata_domain("").unwrap_or_default();
    let name = items_of_band
        .iter()
        .find_map(|item| item.strip_prefix(NETCDF_NAME))?;
    let in_group = items
        .iter()
        .filter_map(|item| Some(item.split_once('#')?.0))
        .find(|variable| variable.contains('/') && local_name(variable) == name);
    Some(in_group.unwrap_or(name).to_owned())
}

/// The group at `path` below `root`; the root itself for an empty path.
fn open_group<'a>(root: Group<'a>, path: &str) -> Option<Group<'a>> {
    path.split('/')
        .filter(|name| !name.is_empty())
        .try_fold(root, |group, name| {
            group.open_group(name, CslStringList::new()).ok()
        })
}

fn names_of_dimensions(array: &MDArray<'_>) -> Option<Vec<String>> {
    let dimensions = array.dimensions().ok()?;
    Some(
        dimensions
            .iter()
            .map(|dimension| dimension.name())
            .collect(),
    )
}

/// True for a grid along the axes whose cells have their centres within the degrees of the globe:
/// longitudes to 180 or to 360, and latitudes.
fn is_grid_of_degrees(geotransform: [f64; 6], width: f64, height: f64) -> bool {
    let [_, column, x_turn, north, y_turn, row] = geotransform;
    let rows = [north + row / 2.0, north + row * (height - 0.5)];
    x_turn == 0.0
        && y_turn == 0.0
        && column_centres(geotransform, width)
            .iter()
            .all(|lon| (-360.0..=540.0).contains(lon))
        && rows.iter().all(|lat| lat.abs() <= 90.0 + 1e-6)
        && (column * width).abs() <= 360.0 + column.abs() + 1e-6
}

/// True for columns one of which is further from zero than a latitude can be.
fn goes_beyond_latitudes(geotransform: [f64; 6], width: f64) -> bool {
    let columns = column_centres(geotransform, width);
    columns.iter().any(|lon| lon.abs() > 90.0)
}

/// The centres of the first and the last column.
fn column_centres(geotransform: [f64; 6], width: f64) -> [f64; 2] {
    let [west, column, ..] = geotransform;
    [west + column / 2.0, west + column * (width - 0.5)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn grids_of_degrees_are_within_the_globe() {
        for (geotransform, width, height, wanted, beyond) in [
            ([99.5, 1.0, 0.0, 45.5, 0.0, -1.0], 8.0, 6.0, true, true),
            // Latitudes may be in the columns.
            ([9.5, 1.0, 0.0, 45.5, 0.0, -1.0], 8.0, 6.0, true, false),
            // From 0 to 360, and upwards.
            ([-5.0, 10.0, 0.0, -95.0, 0.0, 10.0], 36.0, 19.0, true, true),
            (
                [-180.5, 1.0, 0.0, 90.5, 0.0, -1.0],
                361.0,
                181.0,
                true,
                true,
            ),
            (
                [499_995.0, 10.0, 0.0, 5e6, 0.0, -10.0],
                8.0,
                6.0,
                false,
                true,
            ),
            ([0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 300.0, 300.0, false, true),
            ([99.5, 1.0, 0.5, 45.5, 0.0, -1.0], 8.0, 6.0, false, true),
        ] {
            let found = is_grid_of_degrees(geotransform, width, height);
            assert_eq!(found, wanted, "{geotransform:?}");
            let found = goes_beyond_latitudes(geotransform, width);
            assert_eq!(found, beyond, "{geotransform:?}");
        }
    }

    #[test]
    fn an_axis_is_of_what_its_units_say_or_its_standard_name_with_units_of_angles() {
        let items = strings(&[
            "lat#units=degrees_north",
            "lon#units=degrees_east ",
            "/GRID/y#units=degree_N",
            "south#standard_name=latitude",
            "south#units=degrees",
            "rlon#standard_name=grid_longitude",
            "rlon#units=degrees",
            "x#standard_name=longitude",
            "x#units=radian",
            "both#units=degrees_north",
            "/G/both#units=m",
            "named#standard_name=longitude",
            "north#units=Degrees_North",
        ]);
        for (name, wanted) in [
            ("lat", AxisQuantity::Latitude),
            ("lon", AxisQuantity::Longitude),
            ("y", AxisQuantity::Latitude),
            ("south", AxisQuantity::Latitude),
            ("rlon", AxisQuantity::Other),
            ("x", AxisQuantity::Other),
            ("both", AxisQuantity::Other),
            ("named", AxisQuantity::Other),
            ("time", AxisQuantity::Other),
            ("north", AxisQuantity::Latitude),
        ] {
            assert_eq!(quantity_of_axis(&items, name), wanted, "{name}");
        }
    }

    #[test]
    fn rows_are_of_latitudes_where_their_dimension_is_before_that_of_longitudes() {
        let items = strings(&["lat#units=degrees_north", "lon#units=degrees_east"]);
        for (dimensions, wanted) in [
            (&["lat", "lon"][..], true),
            (&["time", "lat", "lon"], true),
            (&["lat", "lon", "band"], true),
            (&["lat", "lon", "time"], false),
            (&["lon", "lat"], false),
            (&["lon"], false),
            (&[], false),
        ] {
            let found = are_rows_of_latitudes(&items, &strings(dimensions));
            assert_eq!(found, wanted, "{dimensions:?}");
        }
    }
    #[test]
    fn names_of_open_files_are_split_into_path_and_variable() {
        for (name, prefix, wanted) in [
            (
                "NETCDF:\"/d/a:b.nc\":/PRODUCT/no2",
                NETCDF_PREFIX,
                Some(("/d/a:b.nc", Some("/PRODUCT/no2"))),
            ),
            (
                "ZARR:\"/d/a.zarr\":/tas:3",
                ZARR_PREFIX,
                Some(("/d/a.zarr", Some("/tas:3"))),
            ),
            ("/d/a.nc", NETCDF_PREFIX, Some(("/d/a.nc", None))),
            ("NETCDF:\"/d/a.nc\"", NETCDF_PREFIX, None),
        ] {
            assert_eq!(split_description(name, prefix), wanted, "{name}");
        }
    }
}
