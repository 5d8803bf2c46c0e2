//! Trust level of a raster: an untrusted member of a dataset, or a file that the user named.

use std::fmt;

use crate::model::AssetPath;

/// A raster to open; the variant decides which drivers, files and servers opening it may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum RasterSource {
    /// A member of a dataset: a range of a container, a file of a FOLDER dataset, local or remote. Opened only with drivers that
    /// read all pixels from these bytes: no sidecars, no referenced files, no network except through [`crate::remote`].
    Member(AssetPath),
    /// A file, address or GDAL connection string that the user typed, chose or dropped. Opened with every driver, including
    /// sidecars.
    Own {
        /// Path or address.
        own: AssetPath,
    },
}

impl RasterSource {
    /// A member of a dataset.
    pub fn member(asset: AssetPath) -> Self {
        RasterSource::Member(asset)
    }

    /// A path that the user named. A byte range refers to a container and is therefore treated as a member.
    pub fn typed(asset: AssetPath) -> Self {
        match asset {
            AssetPath::Range { .. } => RasterSource::Member(asset),
            asset => RasterSource::Own { own: asset },
        }
    }

    /// Location of the bytes.
    pub fn asset(&self) -> &AssetPath {
        match self {
            RasterSource::Member(asset) | RasterSource::Own { own: asset } => asset,
        }
    }

    /// Location of the bytes, mutable.
    pub fn asset_mut(&mut self) -> &mut AssetPath {
        match self {
            RasterSource::Member(asset) | RasterSource::Own { own: asset } => asset,
        }
    }

    /// True when opening must not read anything but the bytes of the asset.
    pub fn is_fenced(&self) -> bool {
        match self {
            RasterSource::Member(_) => true,
            RasterSource::Own { own } => matches!(own, AssetPath::Range { .. }),
        }
    }
}

impl fmt::Display for RasterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asset().fmt(f)
    }
}
