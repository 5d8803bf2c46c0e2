//! The assets of STAC Items: where the bytes of a sample, or of each file below a FOLDER, are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::{Described, Facts, stac};
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

/// A file below a sample of level 0: its level, its row and its path below the sample, empty for the sample itself.
struct MemberFile {
    level: usize,
    row: u32,
    path: String,
}

/// The assets of rows of level 0, in order, each an object from keys to assets. A file is the asset `data`; the files below a FOLDER
/// have their paths as keys, or numbers where paths differ from sample to sample.
pub fn assets_of_items(described: &Described<'_>, rows: &[u32], ctx: &JobContext) -> Result<Vec<Json>> {
    let mut files: Vec<Option<Vec<MemberFile>>> = Vec::with_capacity(rows.len());
    for (number, &row) in rows.iter().enumerate() {
        if number % 1024 == 0 {
            ctx.check()?;
        }
        let mut members = Vec::new();
        gather(described, 0, row, String::new(), &mut members);
        files.push(Some(members).filter(|members| !members.is_empty() && members.len() <= FILES_MAX));
    }
    let longest = files.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let names: BTreeSet<&str> = files.iter().flatten().flatten().map(|file| file.path.as_str()).collect();
    let numbered = names.len() > NAMES_MAX && names.len() > 2 * longest;
    let mut found = Vec::with_capacity(rows.len());
    for (members, &row) in files.iter().zip(rows) {
        let dataset = stac::dataset_of(described, row as usize).unwrap_or(described.facts);
        let mut assets = Map::new();
        for (number, file) in members.iter().flatten().enumerate() {
            let key = match (file.path.is_empty(), numbered) {
                (true, _) => DATA.to_owned(),
                (false, true) => format!("file{}", number + 1),
                (false, false) => file.path.clone(),
            };
            if let Some(asset) = asset_of_file(described, dataset, file) {
                assets.insert(key, asset);
            }
        }
        if assets.is_empty() {
            assets.insert(DATA.into(), stac::data_asset(described, dataset, "../"));
        }
        found.push(Json::Object(assets));
    }
    Ok(found)
}

/// The files of a row, without padding, at most one more than [`FILES_MAX`].
fn gather(described: &Described<'_>, level: usize, row: u32, path: String, members: &mut Vec<MemberFile>) {
    let levels = &described.assembly.tree.levels;
    let Some(here) = levels.get(level).filter(|_| members.len() <= FILES_MAX) else { return };
    if !here.folder.get(row as usize).is_some_and(|folder| *folder) {
        return members.push(MemberFile { level, row, path });
    }
    let Some(below) = levels.get(level + 1) else { return };
    for &child in here.children(row).iter().filter(|child| !is_padding(below.id(**child))) {
        let id = below.id(child);
        let path = if path.is_empty() { id.to_owned() } else { format!("{path}/{id}") };
        gather(described, level + 1, child, path, members);
    }
}

/// A file as an asset: a byte range as the path that GDAL opens, with offset, size and the file that contains it; a whole file as its
/// address. `None` for bytes that no file has yet.
fn asset_of_file(described: &Described<'_>, dataset: &Facts, file: &MemberFile) -> Option<Json> {
    let RowSource::Asset { path, size, .. } = described.assembly.levels.get(file.level)?.sources.get(file.row as usize)? else {
        return None;
    };
    let title = described.assembly.tree.path(file.level, file.row).to_archive();
    let mut asset = Map::new();
    match path {
        AssetPath::Range { container, offset, size, .. } => {
            let place = link_of(dataset, container);
            asset.insert("href".into(), json!(AssetPath::range(absolute(dataset, &place), *offset, *size).to_vsi()));
            asset.insert("taco:offset".into(), json!(offset));
            asset.insert("taco:container".into(), json!(href_of(described, dataset, &place)));
        }
        AssetPath::File(path) => {
            asset.insert("href".into(), json!(href_of(described, dataset, &link_of(dataset, path))));
        }
        AssetPath::Vsi(path) => drop(asset.insert("href".into(), json!(path))),
    }
    asset.insert("taco:size".into(), json!(size));
    asset.insert("type".into(), json!(media_type(&title)));
    asset.insert("title".into(), json!(title));
    asset.insert("roles".into(), json!(["data"]));
    Some(Json::Object(asset))
}

/// Where readers of the document find a file of a dataset: as it is read, or below the place at which the dataset is published.
fn link_of(dataset: &Facts, file: &Path) -> PathBuf {
    if dataset.opened == dataset.path {
        return file.to_owned();
    }
    if file == dataset.opened {
        return dataset.path.clone();
    }
    let below = |folder: &Path, to: &Path| {
        let rest = file.strip_prefix(folder).ok()?;
        Some(place_below(to, &rest.to_string_lossy().replace('\\', "/")))
    };
    // Files of an index are beside its folder.
    let beside = || below(dataset.opened.parent()?, dataset.path.parent()?);
    below(&dataset.opened, &dataset.path).or_else(beside).unwrap_or_else(|| file.to_owned())
}

/// The path that GDAL opens from any folder; that of a published file stays relative to its folder, and no address has a secret.
fn absolute(dataset: &Facts, place: &Path) -> PathBuf {
    match Address::of(place) {
        Some(address) => address.without_secret().0.to_string().into(),
        None if dataset.opened == dataset.path => std::path::absolute(place).unwrap_or_else(|_| place.to_owned()),
        None => place.to_owned(),
    }
}

/// An address, or a path relative to the Item, whose folder is beside the dataset.
fn href_of(described: &Described<'_>, dataset: &Facts, place: &Path) -> String {
    if let Some(address) = Address::of(place) {
        return address.without_secret().0.to_string();
    }
    match place.strip_prefix(&dataset.path) {
        Ok(rest) if rest.as_os_str().is_empty() => described.address(dataset, "../"),
        Ok(rest) => {
            let rest = rest.to_string_lossy().replace('\\', "/");
            format!("{}/{rest}", described.address(dataset, "../").trim_end_matches('/'))
        }
        Err(_) => format!("../{}", place.file_name().map_or_else(|| place.to_string_lossy(), |name| name.to_string_lossy())),
    }
}

/// The media type that the ending of a name states.
fn media_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
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
        }
    }

    #[test]
    fn files_of_a_published_dataset_are_found_where_it_is_published() {
        let link = |opened: &str, path: &str, file: &str| link_of(&dataset(opened, path), Path::new(file)).display().to_string();
        assert_eq!(link("/a/x.tacozip", "/a/x.tacozip", "/a/x.tacozip"), "/a/x.tacozip");
        assert_eq!(link("/a/x.tacozip", "x.tacozip", "/a/x.tacozip"), "x.tacozip");
        assert_eq!(link("/a/set", "https://h.org/d/set", "/a/set/DATA/s 1/b.tif"), "https://h.org/d/set/DATA/s%201/b.tif");
        assert_eq!(link("/a/.tacocat", "out/.tacocat", "/a/part1.tacozip"), "out/part1.tacozip");
    }

    #[test]
    fn media_types_are_those_of_stac() {
        assert_eq!(media_type("roi/s2/B04.TIF"), "image/tiff; application=geotiff");
        assert_eq!(media_type("roi/s2.v1/B04"), "application/octet-stream");
    }
}
