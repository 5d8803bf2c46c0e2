//! Location of a sample's data as a value. [`AssetPath::parse`] reads text, and only
//! [`AssetPath::to_vsi`] writes GDAL's notation.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::address::{Address, is_remote};
use super::file_url::path_of_file_url;
use super::{PackedMember, Stamp};
use crate::error::{Error, Result};

/// A file, or a byte range of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AssetPath {
    /// A whole local or remote ([`Address`]) file.
    File(Arc<Path>),
    /// A byte range of a container.
    Range {
        /// The container file.
        container: Arc<Path>,
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        size: u64,
        /// [`Stamp`] of the container when the range was read; `None` when unknown, for example in
        /// a path typed by the user. Reads of a changed container are refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stamp: Option<Arc<Stamp>>,
    },
    /// A file in an archive that has to be unpacked.
    Packed(Arc<PackedMember>),
    /// Any other GDAL path: `/vsicurl/…`, `NETCDF:"…"`, a connection string.
    Vsi(Arc<str>),
}

impl AssetPath {
    /// A whole file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        AssetPath::File(Arc::from(path.into()))
    }

    /// A byte range without a [`Stamp`].
    pub fn range(container: impl Into<Arc<Path>>, offset: u64, size: u64) -> Self {
        AssetPath::Range {
            container: container.into(),
            offset,
            size,
            stamp: None,
        }
    }

    /// [`Stamp`] of the container or archive when the position of the data in it was read; `None`
    /// for whole files, and when unknown.
    pub fn stamp(&self) -> Option<&Arc<Stamp>> {
        match self {
            AssetPath::Range { stamp, .. } => stamp.as_ref(),
            AssetPath::Packed(member) => Some(&member.stamp),
            AssetPath::File(_) | AssetPath::Vsi(_) => None,
        }
    }

    /// Parses text entered by the user: a plain path, `file://…`, or
    /// `/vsisubfile/{offset}_{size},{path}`.
    ///
    /// # Errors
    /// When the text is empty, or a malformed `/vsisubfile/` path.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::usage("the path is empty"));
        }
        if let Some(rest) = text.strip_prefix("/vsisubfile/") {
            let range = rest.split_once(',').and_then(|(range, path)| {
                let (offset, size) = range.split_once('_')?;
                Some((offset.parse().ok()?, size.parse().ok()?, path))
            });
            let (offset, size, path) = range.ok_or_else(|| {
                Error::usage("the path has no valid byte range")
                    .at_place(text)
                    .hint("write /vsisubfile/OFFSET_SIZE,PATH")
            })?;
            if let Some(address) = Address::parse(path) {
                return Ok(AssetPath::range(
                    PathBuf::from(address.to_string()),
                    offset,
                    size,
                ));
            }
            if path.starts_with("/vsi") {
                return Ok(AssetPath::Vsi(Arc::from(text)));
            }
            return Ok(AssetPath::range(Path::new(path), offset, size));
        }
        if let Some(address) = Address::parse(text) {
            return Ok(AssetPath::file(address.to_string()));
        }
        if text.starts_with("/vsi") {
            return Ok(AssetPath::Vsi(Arc::from(text)));
        }
        Ok(AssetPath::file(
            path_of_file_url(text).unwrap_or_else(|| text.into()),
        ))
    }

    /// The path in GDAL's notation. For a file in an archive: the path of the archive, followed by
    /// the path within it.
    pub fn to_vsi(&self) -> String {
        match self {
            AssetPath::File(path) => path_to_vsi(path),
            AssetPath::Range {
                container,
                offset,
                size,
                ..
            } => format!("/vsisubfile/{offset}_{size},{}", path_to_vsi(container)),
            AssetPath::Packed(member) => member.to_string(),
            AssetPath::Vsi(text) => text.to_string(),
        }
    }

    /// The local file that contains the data; `None` for other locations.
    pub fn local_file(&self) -> Option<&Path> {
        self.path_of_data_file().filter(|path| !is_remote(path))
    }

    /// The remote file that contains the data; `None` for other locations.
    pub fn remote_file(&self) -> Option<&Path> {
        self.path_of_data_file().filter(|path| is_remote(path))
    }

    /// Name of the file that has the data: of a range, that of its container. `None` for other GDAL
    /// paths.
    pub fn file_name(&self) -> Option<Cow<'_, str>> {
        match self {
            AssetPath::Packed(member) => Some(member.file_name().into()),
            asset => Some(asset.path_of_data_file()?.file_name()?.to_string_lossy()),
        }
    }

    /// The local or remote file that contains the data; `None` for other GDAL paths.
    fn path_of_data_file(&self) -> Option<&Path> {
        match self {
            AssetPath::File(path)
            | AssetPath::Range {
                container: path, ..
            } => Some(path),
            AssetPath::Packed(member) => Some(&member.archive),
            AssetPath::Vsi(_) => None,
        }
    }
}

fn path_to_vsi(path: &Path) -> String {
    Address::from_path(path).map_or_else(|| path.display().to_string(), |address| address.to_vsi())
}

impl fmt::Display for AssetPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_vsi())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed_and_written_in_gdal_notation() {
        let text = "/vsisubfile/210_24909,/data/change, new.tacozip";
        let asset = AssetPath::parse(text).expect("parses");
        assert_eq!(
            asset,
            AssetPath::range(Path::new("/data/change, new.tacozip"), 210, 24909)
        );
        assert_eq!(asset.to_vsi(), text);
        assert!(AssetPath::parse("/vsisubfile/210,/a").is_err());
        let remote = "/vsisubfile/1_2,/vsis3/bucket/a.tacozip";
        let asset = AssetPath::parse(remote).expect("parses");
        assert_eq!(
            (asset.remote_file(), asset.local_file()),
            (Some(Path::new("s3://bucket/a.tacozip")), None)
        );
        assert_eq!(asset.to_vsi(), remote);
        let local = AssetPath::parse("file:///data/a%20b.tif").expect("parses");
        assert_eq!(
            local.local_file(),
            path_of_file_url("file:///data/a%20b.tif").as_deref()
        );
        assert_eq!(
            AssetPath::parse("https://h/a.tif")
                .expect("parses")
                .to_vsi(),
            "/vsicurl/https://h/a.tif"
        );
    }
}
