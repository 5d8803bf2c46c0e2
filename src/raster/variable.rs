//! Which raster of a file with several was read: the variable of a netCDF or HDF5 file, the image of a TIFF. Decided where a file is
//! opened; whoever reads the raster states it.

use super::{RasterInfo, Subdataset};
use crate::jobs::JobContext;
use crate::text::PrintableLine;

/// Names listed in a sentence.
const NAMES_LISTED: usize = 8;
/// Names kept.
const NAMES_KEPT: usize = 64;
/// Longest name shown, in characters.
const NAME_LONGEST: usize = 60;

/// The raster that was read of a file that has several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct VariableRead {
    /// Its name; `None` for bands of the file itself, which belong to none of those listed.
    pub name: Option<String>,
    /// Its 0-based position among them.
    pub position: Option<usize>,
    /// The names of all, in the file's order; at most 64.
    pub names: Vec<String>,
    /// Number of all.
    pub count: usize,
    /// What the file has several of: `variables`, `images` or `subdatasets`.
    pub kind: &'static str,
}

impl VariableRead {
    /// What was read of a file at the GDAL path `path`: the subdataset at `shown`, or the file's own bands. `None` for a file with
    /// fewer than two subdatasets.
    pub(super) fn of(subdatasets: &[Subdataset], shown: Option<usize>, path: &str) -> Option<Self> {
        if subdatasets.len() < 2 {
            return None;
        }
        let starts = |prefix: &str| subdatasets.iter().all(|one| one.name.to_ascii_uppercase().starts_with(prefix));
        let (kind, position) = match () {
            // The file itself is its first image.
            () if starts("GTIFF_DIR:") => ("images", shown.or(Some(0))),
            () if ["NETCDF:", "HDF5:", "HDF4", "ZARR:"].into_iter().any(starts) => ("variables", shown),
            () => ("subdatasets", shown),
        };
        let names: Vec<String> = subdatasets.iter().take(NAMES_KEPT).map(|one| short_name(one, path)).collect();
        let name = position.and_then(|position| subdatasets.get(position)).map(|one| short_name(one, path));
        Some(Self { name, position, names, count: subdatasets.len(), kind })
    }

    /// `temp, the first of 2 variables: temp, wind`.
    pub fn sentence(&self) -> String {
        let (count, kind) = (self.count, self.kind);
        let rest = if count > NAMES_LISTED { ", …" } else { "" };
        let names = self.names.iter().take(NAMES_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let Some((name, position)) = self.name.as_ref().zip(self.position) else {
            return format!("its own bands, none of its {count} {kind}: {names}{rest}");
        };
        let ordinal = match position {
            0 => "the first".to_owned(),
            1 => "the second".to_owned(),
            2 => "the third".to_owned(),
            _ => format!("number {}", position + 1),
        };
        format!("{name}, {ordinal} of {count} {kind}: {names}{rest}")
    }
}

impl RasterInfo {
    /// Warns which variable is read of the file named `place`, when it has several.
    pub fn warn_of_variable(&self, place: &str, ctx: &JobContext) {
        if let Some(variable) = &self.variable {
            ctx.warn_of(place, format!("read was {}", variable.sentence()));
        }
    }
}

/// The name of a subdataset without driver and path: `temp` of `NETCDF:"a.nc":temp`.
pub(super) fn short_name(subdataset: &Subdataset, path: &str) -> String {
    let Subdataset { name, description } = subdataset;
    let after = |mark: String| name.find(&mark).and_then(|at| name.get(at + mark.len()..));
    let inside = after(format!("{path}\":")).or_else(|| after(format!("{path}:"))).map(|rest| rest.trim_matches(['/', '"']));
    let image = name.get("GTIFF_DIR:".len()..).filter(|_| name.starts_with("GTIFF_DIR:")).and_then(|rest| rest.split(':').next());
    let found = match (inside.filter(|rest| !rest.is_empty()), image) {
        (_, Some(number)) => format!("image {number}"),
        (Some(inside), None) => inside.to_owned(),
        (None, None) => if description.is_empty() { name } else { description }.to_owned(),
    };
    let found = found.printable_line();
    match found.chars().count() > NAME_LONGEST {
        true => found.chars().take(NAME_LONGEST).chain(['…']).collect(),
        false => found.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Subdataset> {
        names.iter().map(|name| Subdataset { name: (*name).into(), description: String::new() }).collect()
    }

    #[test]
    fn the_variable_that_is_read_is_named_with_the_others() {
        let cube = named(&["NETCDF:\"/d/a:b.nc\":temp", "NETCDF:\"/d/a:b.nc\":wind"]);
        let of = |list: &[Subdataset], shown| VariableRead::of(list, shown, "/d/a:b.nc").map(|read| read.sentence());
        assert_eq!(of(&cube, Some(0)).as_deref(), Some("temp, the first of 2 variables: temp, wind"));
        assert_eq!(of(&cube, Some(1)).as_deref(), Some("wind, the second of 2 variables: temp, wind"));
        assert_eq!(of(&cube[..1], Some(0)), None, "there is no choice");
        let groups = named(&["HDF5:\"/d/a:b.nc\"://group/x", "HDF5:\"/d/a:b.nc\"://y"]);
        assert_eq!(of(&groups, Some(0)).as_deref(), Some("group/x, the first of 2 variables: group/x, y"));
        let pages = named(&["GTIFF_DIR:1:/d/a:b.nc", "GTIFF_DIR:2:/d/a:b.nc"]);
        assert_eq!(of(&pages, None).as_deref(), Some("image 1, the first of 2 images: image 1, image 2"));
        let tables = named(&["GPKG:/d/a:b.nc:one", "GPKG:/d/a:b.nc:two"]);
        assert_eq!(of(&tables, None).as_deref(), Some("its own bands, none of its 2 subdatasets: one, two"));
    }
}
