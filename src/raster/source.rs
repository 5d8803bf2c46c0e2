//! Trust of a raster: a member of a dataset, which is untrusted, or a file that the user named. The two are variants of one type, so
//! every caller states which it opens.

use std::fmt;

use crate::model::AssetPath;

/// A raster to be opened, and what its opening may reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum RasterSource {
    /// Bytes of a dataset: a member of a container of any generation, a file of a FOLDER, a draft's range of an opened dataset, a
    /// member of another machine. Only drivers that find all pixels in these bytes open it; nothing beside it is read, nothing that
    /// it names, and no network but through [`crate::remote`].
    Member(AssetPath),
    /// A file, address or connection string that the person typed, chose or dropped. Every driver opens it, with its sidecars.
    Own {
        /// Where it is.
        own: AssetPath,
    },
}

impl RasterSource {
    /// Bytes of a dataset.
    pub fn member(asset: AssetPath) -> Self {
        RasterSource::Member(asset)
    }

    /// What the person named. A range lies in a container, so that it is a member even then.
    pub fn typed(asset: AssetPath) -> Self {
        match asset {
            AssetPath::Range { .. } => RasterSource::Member(asset),
            asset => RasterSource::Own { own: asset },
        }
    }

    /// Where the bytes are.
    pub fn asset(&self) -> &AssetPath {
        match self {
            RasterSource::Member(asset) | RasterSource::Own { own: asset } => asset,
        }
    }

    /// The same, to be changed in place.
    pub fn asset_mut(&mut self) -> &mut AssetPath {
        match self {
            RasterSource::Member(asset) | RasterSource::Own { own: asset } => asset,
        }
    }

    /// True when only the bytes themselves may be read.
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
