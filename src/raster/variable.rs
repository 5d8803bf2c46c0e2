//! Which raster of a file with several was read: the variable of a netCDF or HDF5 file, the image
//! of a TIFF. Decided where a file is opened; whoever reads the raster states it.

use std::sync::Arc;

use gdal::{Dataset, Metadata};

use super::RasterSource;
use crate::error::{Cause, Error};
use crate::model::Value;
use crate::text::{PrintableLine, list_first};

/// Names listed in a sentence.
const NAMES_LISTED: usize = 8;
const NAMES_KEPT: usize = 512;
/// Longest name in a sentence, in characters.
const NAME_LONGEST: usize = 60;
/// Start of the item of a band's metadata in which the netCDF driver names the variable.
pub(super) const NETCDF_NAME: &str = "NETCDF_VARNAME=";

/// Column of a level with the variable that is read of each file. Its prefix is that of STAC's
/// datacube extension, whose `cube:variables` describe the variables of a file.
pub const VARIABLE_COLUMN: &str = "cube:variable";

/// The variable that a value of [`VARIABLE_COLUMN`] names; `None` for the first with pixels.
pub fn variable_of_value(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Text(name) if !name.is_empty() => Some(name.clone()),
        _ => None,
    }
}

/// A raster inside a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Subdataset {
    /// Name that [`crate::model::AssetPath::parse`] and GDAL accept.
    pub name: String,
    /// The driver's description.
    pub description: String,
}

/// The raster that was read of a file that has several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct VariableRead {
    /// Its name; `None` for bands of the file itself, which belong to none of those listed.
    pub name: Option<String>,
    /// Its 0-based position among them.
    pub position: Option<usize>,
    /// The names of all, in the file's order; at most 512.
    pub names: Vec<String>,
    /// What the driver says of each of these: dimensions, name and data type.
    pub descriptions: Vec<String>,
    /// Number of all.
    pub count: usize,
    /// What the file has several of: `variables`, `images` or `subdatasets`.
    pub kind: &'static str,
    /// True when the raster was asked for by its name.
    pub is_chosen: bool,
}

impl VariableRead {
    /// What was read by `source` of a file at the GDAL path `path`: the subdataset at `shown`, or
    /// the file's own bands. `None` for a file with fewer than two subdatasets.
    pub(super) fn from_source(
        source: &RasterSource,
        subdatasets: &[Subdataset],
        shown: Option<usize>,
        path: &str,
    ) -> Option<Self> {
        if subdatasets.len() < 2 {
            return None;
        }
        let (kind, position) = match () {
            // The file itself is its first image.
            () if have_prefix(subdatasets, "GTIFF_DIR:") => ("images", shown.or(Some(0))),
            () if ["NETCDF:", "HDF5:", "HDF4", "ZARR:"]
                .into_iter()
                .any(|prefix| have_prefix(subdatasets, prefix)) =>
            {
                ("variables", shown)
            }
            () => ("subdatasets", shown),
        };
        let kept = || subdatasets.iter().take(NAMES_KEPT);
        let names: Vec<String> = kept().map(|one| name_of(one, path)).collect();
        let descriptions = kept()
            .map(|one| one.description.printable_line().into_owned())
            .collect();
        let name = position
            .and_then(|position| subdatasets.get(position))
            .map(|one| name_of(one, path));
        let is_chosen = source.variable().is_some();
        Some(Self {
            name,
            position,
            names,
            descriptions,
            count: subdatasets.len(),
            kind,
            is_chosen,
        })
    }

    /// `temp, the first of 2 variables: temp, wind`.
    pub fn sentence(&self) -> String {
        let (count, kind) = (self.count, self.kind);
        let names = list_names(&self.names);
        let Some((name, position)) = self.name.as_ref().zip(self.position) else {
            return format!("its own bands, none of its {count} {kind}: {names}");
        };
        let ordinal = match position {
            0 => "the first".to_owned(),
            1 => "the second".to_owned(),
            2 => "the third".to_owned(),
            _ => format!("number {}", position + 1),
        };
        format!(
            "{}, {ordinal} of {count} {kind}: {names}",
            truncate_name(name)
        )
    }
}

/// Positions in the order in which subdatasets are tried for pixels: coordinates, which files may
/// list before the variables that they are of, come last.
pub(super) fn order_tried(subdatasets: &[Subdataset], path: &str) -> Vec<usize> {
    let mut order: Vec<usize> = (0..subdatasets.len()).collect();
    order.sort_by_cached_key(|&at| is_coordinate_name(&name_of(&subdatasets[at], path)));
    order
}

/// True for names of longitudes, latitudes and times, and of the bounds of these.
fn is_coordinate_name(name: &str) -> bool {
    const COORDINATES: [&str; 11] = [
        "lat",
        "latitude",
        "latitudes",
        "lon",
        "longitude",
        "longitudes",
        "nav_lat",
        "nav_lon",
        "time",
        "xlat",
        "xlong",
    ];
    const BOUNDS: [&str; 3] = ["_bnds", "_bounds", "_vertices"];
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let bare = BOUNDS.iter().find_map(|end| name.strip_suffix(end));
    COORDINATES.contains(&bare.unwrap_or(&name))
}

fn have_prefix(subdatasets: &[Subdataset], prefix: &str) -> bool {
    subdatasets
        .iter()
        .all(|one| one.name.to_ascii_uppercase().starts_with(prefix))
}

/// Which of the subdatasets `source` names; `None` without a choice, or where the file is a
/// single raster of that name or of none.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) with [`Cause::NoVariable`] for a name that the file
/// does not have.
pub(super) fn position_of(
    source: &RasterSource,
    dataset: &Dataset,
    subdatasets: &[Subdataset],
    path: &str,
) -> Result<Option<usize>, Error> {
    let Some(wanted) = source.variable() else {
        return Ok(None);
    };
    if subdatasets.is_empty() {
        let items = dataset
            .rasterband(1)
            .ok()
            .and_then(|band| band.metadata_domain(""))
            .unwrap_or_default();
        let single = items
            .iter()
            .find_map(|item| item.strip_prefix(NETCDF_NAME))
            .map(PrintableLine::printable_line);
        return match single {
            Some(name) if *name != **wanted => {
                Err(missing_variable_error(wanted, &[name.into_owned()], source))
            }
            _ => Ok(None),
        };
    }
    let names = || subdatasets.iter().map(|one| name_of(one, path));
    let position = names().position(|name| name == **wanted);
    position.map(Some).ok_or_else(|| {
        missing_variable_error(
            wanted,
            &names().take(NAMES_KEPT).collect::<Vec<_>>(),
            source,
        )
    })
}

fn missing_variable_error(wanted: &str, names: &[String], source: &RasterSource) -> Error {
    Error::usage(format!(
        "the file has no variable {}",
        truncate_name(&wanted.printable_line())
    ))
    .at_place(source.asset())
    .hint(format!("it has {}", list_names(names)))
    .caused_by(Cause::NoVariable)
}

/// The name of a subdataset without driver and path: `temp` of `NETCDF:"a.nc":temp`.
pub(super) fn name_of(subdataset: &Subdataset, path: &str) -> String {
    let Subdataset { name, description } = subdataset;
    let after = |mark: String| name.find(&mark).and_then(|at| name.get(at + mark.len()..));
    let inside = after(format!("{path}\":"))
        .or_else(|| after(format!("{path}:")))
        .map(|rest| rest.trim_matches(['/', '"']));
    let image = name
        .get("GTIFF_DIR:".len()..)
        .filter(|_| name.starts_with("GTIFF_DIR:"))
        .and_then(|rest| rest.split(':').next());
    let found = match (inside.filter(|rest| !rest.is_empty()), image) {
        (_, Some(number)) => format!("image {number}"),
        (Some(inside), None) => inside.to_owned(),
        (None, None) => if description.is_empty() {
            name
        } else {
            description
        }
        .to_owned(),
    };
    found.printable_line().into_owned()
}

/// The first of these names.
fn list_names(names: &[String]) -> String {
    list_first(names.iter().map(|name| truncate_name(name)), NAMES_LISTED)
}

fn truncate_name(name: &str) -> String {
    if name.chars().count() > NAME_LONGEST {
        name.chars().take(NAME_LONGEST).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Subdataset> {
        names
            .iter()
            .map(|name| Subdataset {
                name: (*name).into(),
                description: String::new(),
            })
            .collect()
    }

    #[test]
    fn coordinates_are_tried_after_the_variables_that_they_are_of() {
        let list = |names: &[&str]| {
            let full: Vec<String> = names
                .iter()
                .map(|name| format!("NETCDF:\"/d/a.nc\":{name}"))
                .collect();
            named(&full.iter().map(String::as_str).collect::<Vec<_>>())
        };
        for (names, wanted) in [
            (&["lat", "lon", "z"][..], vec![2, 0, 1]),
            (
                &["/PRODUCT/latitude", "/PRODUCT/no2", "/PRODUCT/qa"],
                vec![1, 2, 0],
            ),
            (&["lat_bnds", "lon_bnds", "tas"], vec![2, 0, 1]),
            (&["temp", "wind"], vec![0, 1]),
            (&["lat", "lon"], vec![0, 1]),
        ] {
            assert_eq!(order_tried(&list(names), "/d/a.nc"), wanted, "{names:?}");
        }
    }

    #[test]
    fn the_variable_that_is_read_is_named_with_the_others() {
        let cube = named(&["NETCDF:\"/d/a:b.nc\":temp", "NETCDF:\"/d/a:b.nc\":wind"]);
        let source = RasterSource::member(crate::model::AssetPath::file("/d/a:b.nc"));
        let of = |list: &[Subdataset], shown| {
            VariableRead::from_source(&source, list, shown, "/d/a:b.nc").map(|read| read.sentence())
        };
        assert_eq!(
            of(&cube, Some(0)).as_deref(),
            Some("temp, the first of 2 variables: temp, wind")
        );
        assert_eq!(
            of(&cube, Some(1)).as_deref(),
            Some("wind, the second of 2 variables: temp, wind")
        );
        assert_eq!(of(&cube[..1], Some(0)), None, "there is no choice");
        let groups = named(&["HDF5:\"/d/a:b.nc\"://group/x", "HDF5:\"/d/a:b.nc\"://y"]);
        assert_eq!(
            of(&groups, Some(0)).as_deref(),
            Some("group/x, the first of 2 variables: group/x, y")
        );
        let pages = named(&["GTIFF_DIR:1:/d/a:b.nc", "GTIFF_DIR:2:/d/a:b.nc"]);
        assert_eq!(
            of(&pages, None).as_deref(),
            Some("image 1, the first of 2 images: image 1, image 2")
        );
        let tables = named(&["GPKG:/d/a:b.nc:one", "GPKG:/d/a:b.nc:two"]);
        assert_eq!(
            of(&tables, None).as_deref(),
            Some("its own bands, none of its 2 subdatasets: one, two")
        );
    }
}
