//! The assets of STAC Items: where the bytes of a sample, or of each file below a FOLDER, are.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::{Described, Facts};
use crate::container::RowSource;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Address, AssetPath, is_padding, place_below};

/// Key of the asset of a sample that is one file.
const DATA: &str = "data";
/// Up to this many names of files are keys of assets, which are columns of stac-geoparquet.
const NAMES_MAX: usize = 64;
/// A FOLDER with more files has the whole dataset as its asset.
const FILES_MAX: usize = 1000;

/// A file below a sample of level 0: its level, its row and its path below the sample, empty for
/// the sample itself.
struct MemberFile {
    level: usize,
    row: u32,
    path: String,
}

pub struct ItemAsset {
    /// Its key in the Item.
    pub key: String,
    /// Its address: a byte range as the path that GDAL opens, a whole file as its address.
    pub href: String,
    /// Path of the sample, or title of the dataset.
    pub title: String,
    pub media_type: &'static str,
    /// Size in bytes, where it is one sample.
    pub size: Option<u64>,
    /// For a byte range, its offset in bytes and the address of the file that contains it.
    pub range: Option<(u64, String)>,
}

impl ItemAsset {
    /// `roles` of every asset.
    pub const ROLES: [&str; 1] = ["data"];

    /// The asset as it is in an Item.
    pub fn json(self) -> Json {
        let mut asset = Map::new();
        asset.insert("href".into(), json!(self.href));
        if let Some((offset, container)) = self.range {
            asset.insert("taco:offset".into(), json!(offset));
            asset.insert("taco:container".into(), json!(container));
        }
        if let Some(size) = self.size {
            asset.insert("taco:size".into(), json!(size));
        }
        asset.insert("type".into(), json!(self.media_type));
        asset.insert("title".into(), json!(self.title));
        asset.insert("roles".into(), json!(Self::ROLES));
        Json::Object(asset)
    }
}

/// The fields beside address, title, type and roles that assets of one key have in some Item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AssetFields {
    /// `taco:size`.
    pub size: bool,
    /// `taco:offset` and `taco:container`.
    pub range: bool,
}

/// How the assets of Items are called. A file is the asset `data`; the files below a FOLDER have
/// their paths as keys, or numbers where paths differ from sample to sample.
pub struct AssetNames {
    numbered: bool,
}

impl AssetNames {
    /// The names for these rows of level 0.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn for_rows(described: &Described<'_>, rows: &[u32], ctx: &JobContext) -> Result<Self> {
        let mut longest = 0;
        let mut names: HashSet<String> = HashSet::new();
        for (number, &row) in rows.iter().enumerate() {
            if number % 1024 == 0 {
                ctx.check()?;
            }
            let members = members_of(described, row);
            longest = longest.max(members.len());
            for file in members {
                if !names.contains(&file.path) {
                    names.insert(file.path);
                }
            }
            // No FOLDER is so long that its names could still be the keys.
            if names.len() > NAMES_MAX.max(2 * FILES_MAX) {
                return Ok(Self { numbered: true });
            }
        }
        Ok(Self {
            numbered: names.len() > NAMES_MAX && names.len() > 2 * longest,
        })
    }

    /// The keys of the assets of these rows of level 0, and the fields that assets of each key
    /// have.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn fields(
        &self,
        described: &Described<'_>,
        rows: &[u32],
        ctx: &JobContext,
    ) -> Result<BTreeMap<String, AssetFields>> {
        let mut found: BTreeMap<String, AssetFields> = BTreeMap::new();
        for (number, &row) in rows.iter().enumerate() {
            if number % 1024 == 0 {
                ctx.check()?;
            }
            let mut is_bare = true;
            for (number, file) in members_of(described, row).into_iter().enumerate() {
                let Some((path, _)) = place_of_file(described, &file) else {
                    continue;
                };
                let key = self.key(number, file);
                let fields = match found.get_mut(&key) {
                    Some(fields) => fields,
                    None => found.entry(key).or_default(),
                };
                fields.size = true;
                fields.range |= matches!(path, AssetPath::Range { .. });
                is_bare = false;
            }
            if is_bare {
                found.entry(DATA.to_owned()).or_default();
            }
        }
        Ok(found)
    }

    /// The assets of a row of level 0.
    pub fn assets_of(&self, described: &Described<'_>, row: u32) -> Vec<ItemAsset> {
        let dataset = described
            .dataset_of(row as usize)
            .unwrap_or(described.facts);
        let members = members_of(described, row).into_iter().enumerate();
        let mut assets: Vec<ItemAsset> = members
            .filter_map(|(number, file)| self.asset_of_file(described, dataset, number, file))
            .collect();
        if assets.is_empty() {
            let (href, media_type) = data_link(described, dataset, "../");
            let (key, title) = (DATA.to_owned(), described.title().to_owned());
            assets.push(ItemAsset {
                key,
                href,
                title,
                media_type,
                size: None,
                range: None,
            });
        }
        assets
    }

    fn key(&self, number: usize, file: MemberFile) -> String {
        match (file.path.is_empty(), self.numbered) {
            (true, _) => DATA.to_owned(),
            (false, true) => format!("file{}", number + 1),
            (false, false) => file.path,
        }
    }

    /// A file as an asset: a byte range as the path that GDAL opens, with offset, size and the file
    /// that contains it; a whole file as its address. `None` for bytes that no file has yet.
    fn asset_of_file(
        &self,
        described: &Described<'_>,
        dataset: &Facts,
        number: usize,
        file: MemberFile,
    ) -> Option<ItemAsset> {
        let (path, size) = place_of_file(described, &file)?;
        let title = described.assembly.tree.archive_path(file.level, file.row);
        let (href, range) = match path {
            AssetPath::Range {
                container,
                offset,
                size,
                ..
            } => {
                let place = link_of(dataset, container);
                let href =
                    AssetPath::range(make_place_absolute(dataset, &place), *offset, *size).to_vsi();
                (href, Some((*offset, href_of(described, dataset, &place))))
            }
            AssetPath::File(path) => (href_of(described, dataset, &link_of(dataset, path)), None),
            AssetPath::Packed(_) | AssetPath::Vsi(_) => (path.to_vsi(), None),
        };
        let media_type = media_type(&title);
        Some(ItemAsset {
            key: self.key(number, file),
            href,
            title,
            media_type,
            size: Some(size),
            range,
        })
    }
}

/// Address and media type of the file that contains everything; for a folder, of its
/// COLLECTION.json.
pub fn data_link(described: &Described<'_>, dataset: &Facts, to: &str) -> (String, &'static str) {
    let place = described.address(dataset, to);
    if dataset.single {
        (place, dataset.media_type())
    } else {
        (
            format!("{}/COLLECTION.json", place.trim_end_matches('/')),
            "application/json",
        )
    }
}

/// Where the bytes of a file are, and their number; `None` for bytes that no file has yet.
fn place_of_file<'a>(described: &Described<'a>, file: &MemberFile) -> Option<(&'a AssetPath, u64)> {
    match described
        .assembly
        .levels
        .get(file.level)?
        .sources
        .get(file.row as usize)?
    {
        RowSource::Asset { path, size, .. } => Some((path, *size)),
        RowSource::Folder | RowSource::Bytes(_) => None,
    }
}

/// The files below a row of level 0, or the row itself; none where there are too many to list.
fn members_of(described: &Described<'_>, row: u32) -> Vec<MemberFile> {
    let mut members = Vec::new();
    gather(described, 0, row, String::new(), &mut members);
    if members.len() > FILES_MAX {
        members.clear();
    }
    members
}

/// The files of a row, without padding, at most one more than [`FILES_MAX`].
fn gather(
    described: &Described<'_>,
    level: usize,
    row: u32,
    path: String,
    members: &mut Vec<MemberFile>,
) {
    let levels = &described.assembly.tree.levels;
    let Some(here) = levels.get(level).filter(|_| members.len() <= FILES_MAX) else {
        return;
    };
    if !here.folder.get(row as usize).is_some_and(|folder| *folder) {
        return members.push(MemberFile { level, row, path });
    }
    let Some(below) = levels.get(level + 1) else {
        return;
    };
    for &child in here
        .children(row)
        .iter()
        .filter(|child| !is_padding(below.id(**child)))
    {
        let id = below.id(child);
        let path = if path.is_empty() {
            id.to_owned()
        } else {
            format!("{path}/{id}")
        };
        gather(described, level + 1, child, path, members);
    }
}

/// Where readers of the document find a file of a dataset: as it is read, or below the place at
/// which the dataset is published.
fn link_of(dataset: &Facts, file: &Path) -> PathBuf {
    if dataset.opened == dataset.path {
        return file.to_owned();
    }
    if file == dataset.opened {
        return dataset.path.clone();
    }
    // Files of an index are beside its folder.
    let beside = || relocate_file(file, dataset.opened.parent()?, dataset.path.parent()?);
    relocate_file(file, &dataset.opened, &dataset.path)
        .or_else(beside)
        .unwrap_or_else(|| file.to_owned())
}

/// The place of a file of `folder` when the folder is at `to`.
fn relocate_file(file: &Path, folder: &Path, to: &Path) -> Option<PathBuf> {
    let rest = file.strip_prefix(folder).ok()?;
    Some(place_below(to, &rest.to_string_lossy().replace('\\', "/")))
}

/// The path that GDAL opens from any folder; that of a published file stays relative to its folder,
/// and no address has a secret.
fn make_place_absolute(dataset: &Facts, place: &Path) -> PathBuf {
    match Address::from_path(place) {
        Some(address) => address.without_secret().0.to_string().into(),
        None if dataset.opened == dataset.path => {
            std::path::absolute(place).unwrap_or_else(|_| place.to_owned())
        }
        None => place.to_owned(),
    }
}

/// An address, or a path relative to the Item, whose folder is beside the dataset.
fn href_of(described: &Described<'_>, dataset: &Facts, place: &Path) -> String {
    if let Some(address) = Address::from_path(place) {
        return address.without_secret().0.to_string();
    }
    match place.strip_prefix(&dataset.path) {
        Ok(rest) if rest.as_os_str().is_empty() => described.address(dataset, "../"),
        Ok(rest) => {
            let rest = rest.to_string_lossy().replace('\\', "/");
            format!(
                "{}/{rest}",
                described.address(dataset, "../").trim_end_matches('/')
            )
        }
        Err(_) => format!(
            "../{}",
            place
                .file_name()
                .map_or_else(|| place.to_string_lossy(), |name| name.to_string_lossy())
        ),
    }
}

/// The media type that the ending of a name states.
fn media_type(name: &str) -> &'static str {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("tif" | "tiff" | "gtiff" | "geotiff") => "image/tiff; application=geotiff",
        Some("jp2" | "j2k") => "image/jp2",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("nc" | "nc4" | "cdf") => "application/netcdf",
        Some("h5" | "hdf5" | "he5") => "application/x-hdf5",
        Some("hdf" | "hdf4") => "application/x-hdf",
        Some("grib" | "grib2" | "grb" | "grb2") => "application/wmo-GRIB2",
        Some("geojson") => "application/geo+json",
        Some("json") => "application/json",
        Some("xml") => "application/xml",
        Some("txt") => "text/plain",
        Some("csv") => "text/csv",
        Some("parquet") => "application/vnd.apache.parquet",
        Some("zip") => "application/zip",
        Some("laz" | "las") => "application/vnd.laszip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Format;

    fn dataset(opened: &str, path: &str) -> Facts {
        Facts {
            path: path.into(),
            opened: opened.into(),
            format: Format::Zip,
            single: true,
            size_bytes: None,
            sha256: None,
            tables: Vec::new(),
            modified: None,
            url: None,
            level: None,
            roots: 0,
            parts: Vec::new(),
            training: None,
            opening: None,
        }
    }

    #[test]
    fn files_of_a_published_dataset_are_found_where_it_is_published() {
        let link = |opened: &str, path: &str, file: &str| {
            link_of(&dataset(opened, path), Path::new(file))
                .display()
                .to_string()
        };
        assert_eq!(
            link("/a/x.tacozip", "/a/x.tacozip", "/a/x.tacozip"),
            "/a/x.tacozip"
        );
        assert_eq!(
            link("/a/x.tacozip", "x.tacozip", "/a/x.tacozip"),
            "x.tacozip"
        );
        assert_eq!(
            link("/a/set", "https://h.org/d/set", "/a/set/DATA/s 1/b.tif"),
            "https://h.org/d/set/DATA/s%201/b.tif"
        );
        assert_eq!(
            link("/a/.tacocat", "out/.tacocat", "/a/part1.tacozip"),
            "out/part1.tacozip"
        );
    }

    #[test]
    fn media_types_are_those_of_stac() {
        assert_eq!(
            media_type("roi/s2/B04.TIF"),
            "image/tiff; application=geotiff"
        );
        assert_eq!(media_type("roi/s2.v1/B04"), "application/octet-stream");
    }
}
