//! Sidecars: files that GDAL reads together with the raster beside them. A sample is one file, so a
//! sidecar is not part of it; whatever is computed from a sample is computed without them.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use super::names::{RASTER_EXTENSIONS, claims_raster};

/// Kind of a sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sidecar {
    /// `.msk`: which pixels are valid.
    Mask,
    /// `.ovr`: smaller versions.
    Overviews,
    /// `.aux.xml`: GDAL's statistics, nodata, coordinate system and descriptions.
    Metadata,
    /// `.tfw` and others: the geotransform.
    WorldFile,
    /// `.prj`: the coordinate system.
    Projection,
    /// A file without which the raster can't be read: the `.hdr` of ENVI, the `.ige` of ERDAS
    /// ([`super::file_set`]).
    Part,
}

/// Endings behind the raster's whole name, as in `before.tif.msk`.
const BEHIND: [(&str, Sidecar); 3] = [
    (".msk", Sidecar::Mask),
    (".ovr", Sidecar::Overviews),
    (".aux.xml", Sidecar::Metadata),
];
/// Extensions instead of the raster's, as in `before.tfw`.
const INSTEAD: [(&str, Sidecar); 9] = [
    ("tfw", Sidecar::WorldFile),
    ("tifw", Sidecar::WorldFile),
    ("tiffw", Sidecar::WorldFile),
    ("wld", Sidecar::WorldFile),
    ("jgw", Sidecar::WorldFile),
    ("pgw", Sidecar::WorldFile),
    ("j2w", Sidecar::WorldFile),
    ("prj", Sidecar::Projection),
    ("aux", Sidecar::Metadata),
];

impl Sidecar {
    /// Name of the contribution, in the interface language.
    pub fn text(self) -> &'static str {
        match self {
            Sidecar::Mask => tr!("its mask of valid pixels"),
            Sidecar::Overviews => tr!("its overviews"),
            Sidecar::Metadata => tr!("GDAL's metadata of it"),
            Sidecar::WorldFile => tr!("its geotransform"),
            Sidecar::Projection => tr!("its coordinate system"),
            Sidecar::Part => tr!("a part without which it can't be read"),
        }
    }
}

/// The names of the files of a folder that decide what another file is: those of rasters and
/// shapefiles, without regard to case. Only hashes are kept, as a folder may have a million files.
#[derive(Default)]
pub struct NamesBeside {
    hashing: RandomState,
    hashes: HashSet<u64>,
}

impl NamesBeside {
    /// Adds a name.
    pub fn insert(&mut self, name: &str) {
        let lower = name.to_lowercase();
        let ending = lower.rsplit_once('.').map(|(_, ending)| ending);
        if claims_raster(&lower)
            || ending.is_some_and(|ending| ending == "shp" || RASTER_EXTENSIONS.contains(&ending))
        {
            self.hashes.insert(self.hashing.hash_one(lower));
        }
    }

    /// True for a name in lower case that was added.
    fn contains(&self, lower: &str) -> bool {
        self.hashes.contains(&self.hashing.hash_one(lower))
    }
}

impl<S: AsRef<str>> FromIterator<S> for NamesBeside {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut beside = Self::default();
        names
            .into_iter()
            .for_each(|name| beside.insert(name.as_ref()));
        beside
    }
}

/// What the file `name` is to a raster among the files `beside` it: `None` for a file of its own,
/// such as the `.prj` of a shapefile.
pub fn sidecar_of(name: &str, beside: &NamesBeside) -> Option<Sidecar> {
    let lower = name.to_lowercase();
    let is_raster = |name: &str| claims_raster(name) && beside.contains(name);
    for (ending, kind) in BEHIND {
        if let Some(raster) = lower.strip_suffix(ending)
            && (is_raster(raster)
                || BEHIND
                    .iter()
                    .any(|(other, _)| raster.strip_suffix(other).is_some_and(is_raster)))
        {
            return Some(kind);
        }
    }
    let (stem, ending) = lower.rsplit_once('.')?;
    let (_, kind) = INSTEAD.iter().find(|(own, _)| *own == ending)?;
    // Another file of this stem, such as a shapefile, may own it.
    let raster = RASTER_EXTENSIONS
        .iter()
        .any(|raster| beside.contains(&format!("{stem}.{raster}")));
    (raster && !beside.contains(&format!("{stem}.shp"))).then_some(*kind)
}

/// The sidecars of the raster `name` among the files of its folder, given by names: name and kind,
/// in the order of [`Sidecar`].
pub fn sidecars_among<'a>(
    name: &str,
    files: impl Iterator<Item = &'a str>,
) -> Vec<(&'a str, Sidecar)> {
    let lower = name.to_lowercase();
    if !claims_raster(&lower) {
        return Vec::new();
    }
    let stem = lower
        .rsplit_once('.')
        .map_or(lower.as_str(), |(stem, _)| stem);
    let mut found: Vec<(&str, Sidecar)> = files
        .filter_map(|file| Some((file, find_sidecar_kind(file, &lower, stem)?)))
        .collect();
    found.sort_by_key(|(name, kind)| (*kind, *name));
    found
}

/// What `file` is to the raster by its name; `raster` and its `stem` are in lower case.
fn find_sidecar_kind(file: &str, raster: &str, stem: &str) -> Option<Sidecar> {
    let file = file.to_lowercase();
    let behind = file.strip_prefix(raster).and_then(|rest| {
        // Also the overviews of a mask, behind both names.
        let second =
            |rest: &str| rest.is_empty() || BEHIND.iter().any(|(ending, _)| *ending == rest);
        BEHIND
            .iter()
            .find(|(ending, _)| rest.strip_suffix(ending).is_some_and(second))
    });
    if let Some((_, kind)) = behind {
        return Some(*kind);
    }
    let ending = file.strip_prefix(stem)?.strip_prefix('.')?;
    let (_, kind) = INSTEAD.iter().find(|(own, _)| *own == ending)?;
    Some(*kind)
}

/// Names of the sidecars in a folder of this machine; none where it can't be listed.
pub fn sidecars_in(folder: &Path) -> Vec<String> {
    // Listed twice: the names of all files would take more than the list.
    let all: NamesBeside = list_entry_names(folder).collect();
    list_entry_names(folder)
        .filter(|name| sidecar_of(name, &all).is_some())
        .collect()
}

fn list_entry_names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// True when GDAL reads this file of this machine together with others beside it. Looks for the
/// usual names only, without listing the folder.
pub fn has_sidecar(path: &Path) -> bool {
    let behind = BEHIND
        .iter()
        .flat_map(|(ending, _)| [(*ending).to_owned(), ending.to_uppercase()])
        .map(|ending| {
            let mut beside = path.as_os_str().to_owned();
            beside.push(ending);
            PathBuf::from(beside)
        });
    let instead = INSTEAD
        .iter()
        .flat_map(|(ending, _)| [(*ending).to_owned(), ending.to_uppercase()]);
    behind
        .chain(instead.map(|ending| path.with_extension(ending)))
        .any(|path| !matches!(crate::files::exists(&path), Ok(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_one_named_rule() {
        let names = [
            "a.tif",
            "a.tif.msk",
            "a.tif.msk.ovr",
            "a.tfw",
            "a.prj",
            "b.shp",
            "b.prj",
            "c.msk",
            "a.TIF.aux.xml",
            "d.tif",
            "d.shp",
        ];
        let beside: NamesBeside = names.iter().collect();
        let of = |name: &str| sidecar_of(name, &beside);
        assert_eq!(of("a.tif.msk"), Some(Sidecar::Mask));
        assert_eq!(of("a.tif.msk.ovr"), Some(Sidecar::Overviews));
        assert_eq!(
            (of("a.tfw"), of("a.prj")),
            (Some(Sidecar::WorldFile), Some(Sidecar::Projection))
        );
        assert_eq!(of("a.TIF.aux.xml"), Some(Sidecar::Metadata));
        assert_eq!(
            [
                of("a.tif"),
                of("b.prj"),
                of("c.msk"),
                of("b.shp"),
                of("d.prj")
            ],
            [None; 5]
        );
        let found = sidecars_among("a.tif", names.into_iter());
        let kinds: Vec<Sidecar> = found.iter().map(|(_, kind)| *kind).collect();
        let [mask, overviews, metadata] = [Sidecar::Mask, Sidecar::Overviews, Sidecar::Metadata];
        assert_eq!(
            kinds,
            [
                mask,
                overviews,
                metadata,
                Sidecar::WorldFile,
                Sidecar::Projection
            ],
            "{found:?}"
        );
    }
}
