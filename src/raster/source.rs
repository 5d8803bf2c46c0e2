//! What a raster is read from: the bytes, the trust in them, and which raster of a file with
//! several.

use std::fmt;
use std::sync::Arc;

use crate::folder_archive::is_archive_name;
use crate::model::AssetPath;

/// A raster to open. Its trust decides which drivers, files and servers opening it may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(from = "StatedSource", into = "StatedSource")]
pub struct RasterSource {
    asset: AssetPath,
    trust: Trust,
    variable: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Trust {
    /// A member of a dataset: a range of a container, a file of a FOLDER dataset, local or remote.
    /// Opened only with drivers that read all pixels from these bytes: no sidecars, no referenced
    /// files, no network except through [`crate::remote`].
    Member,
    /// A file, address or GDAL connection string that the user typed, chose or dropped. Opened with
    /// every driver, including sidecars.
    Own,
}

/// A source in scripts and settings.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum StatedSource {
    Member(AssetPath),
    Own {
        own: AssetPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variable: Option<Arc<str>>,
    },
    Variable {
        member: AssetPath,
        variable: Arc<str>,
    },
}

impl From<StatedSource> for RasterSource {
    fn from(stated: StatedSource) -> Self {
        match stated {
            StatedSource::Member(asset) => Self::member(asset),
            StatedSource::Own { own, variable } => Self {
                asset: own,
                trust: Trust::Own,
                variable,
            },
            StatedSource::Variable { member, variable } => Self {
                asset: member,
                trust: Trust::Member,
                variable: Some(variable),
            },
        }
    }
}

impl From<RasterSource> for StatedSource {
    fn from(source: RasterSource) -> Self {
        match source {
            RasterSource {
                asset,
                trust: Trust::Own,
                variable,
            } => StatedSource::Own {
                own: asset,
                variable,
            },
            RasterSource {
                asset,
                trust: Trust::Member,
                variable: None,
            } => StatedSource::Member(asset),
            RasterSource {
                asset,
                trust: Trust::Member,
                variable: Some(variable),
            } => StatedSource::Variable {
                member: asset,
                variable,
            },
        }
    }
}

impl RasterSource {
    /// A member of a dataset.
    pub fn member(asset: AssetPath) -> Self {
        Self {
            asset,
            trust: Trust::Member,
            variable: None,
        }
    }

    /// A path that the user named. A byte range refers to a container and is therefore treated as a
    /// member, a file in an archive and a Zarr store in a ZIP too.
    pub fn from_user_path(asset: AssetPath) -> Self {
        match asset {
            AssetPath::Range { .. } | AssetPath::Packed(_) => Self::member(asset),
            AssetPath::File(_) if asset.file_name().is_some_and(|name| is_archive_name(&name)) => {
                Self::member(asset)
            }
            asset => Self {
                asset,
                trust: Trust::Own,
                variable: None,
            },
        }
    }

    /// This variable of the file, by a name of [`VariableRead::names`](super::VariableRead::names);
    /// `None` for the first with pixels.
    pub fn with_variable(self, variable: Option<Arc<str>>) -> Self {
        Self { variable, ..self }
    }

    /// Location of the bytes.
    pub fn asset(&self) -> &AssetPath {
        &self.asset
    }

    /// The variable that was chosen of a file with several.
    pub fn variable(&self) -> Option<&Arc<str>> {
        self.variable.as_ref()
    }

    /// True when opening must not read anything but the bytes of the asset.
    pub fn is_fenced(&self) -> bool {
        match self.trust {
            Trust::Member => true,
            Trust::Own => matches!(self.asset, AssetPath::Range { .. } | AssetPath::Packed(_)),
        }
    }
}

impl fmt::Display for RasterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asset.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_scripts_keep_trust_and_variable() {
        let asset = || AssetPath::file(std::path::Path::new("/d/a.nc"));
        for (source, text) in [
            (RasterSource::member(asset()), r#"{"File":"/d/a.nc"}"#),
            (
                RasterSource::from_user_path(asset()),
                r#"{"own":{"File":"/d/a.nc"}}"#,
            ),
            (
                RasterSource::from_user_path(asset()).with_variable(Some("wind".into())),
                r#"{"own":{"File":"/d/a.nc"},"variable":"wind"}"#,
            ),
            (
                RasterSource::member(asset()).with_variable(Some("wind".into())),
                r#"{"member":{"File":"/d/a.nc"},"variable":"wind"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&source).expect("is written"), text);
            assert_eq!(
                serde_json::from_str::<RasterSource>(text).expect("is read"),
                source
            );
        }
    }
}
