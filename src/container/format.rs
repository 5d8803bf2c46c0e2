//! The container formats of every generation.

use std::path::{Path, PathBuf};

use crate::error::Result;

/// Every known container format of every generation.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// TACO 2.0 ZIP with TACO_HEADER (TACO 2.0, section 6.3).
    Zip,
    /// TACO 2.0 FOLDER (section 6.4).
    Folder,
    /// The `.tacocat` folder of current tools.
    Tacocat,
    /// The `__TACOCAT__` file (section 6.5).
    TacocatFile,
    /// TACOLLECTION.json (section 6.6).
    Tacollection,
    /// Several datasets opened as one; exists in memory only.
    Joined,
    /// A TORTILLA 0.5 file.
    Tortilla,
    /// A TACO 0.2 file.
    Taco,
    /// TACO 3: a ZIP that begins with `__cozip__`, or its folder form.
    Taco3,
    /// TACO 2.0 before its present layout, by tacotoolbox 0.7 to 0.15: a ZIP, or a FOLDER with Avro
    /// tables.
    Early,
}

impl Format {
    /// Identifier in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Format::Zip => "zip",
            Format::Folder => "folder",
            Format::Tacocat => "tacocat",
            Format::TacocatFile => "tacocat_file",
            Format::Tacollection => "tacollection",
            Format::Joined => "joined",
            Format::Tortilla => "tortilla",
            Format::Taco => "taco",
            Format::Taco3 => "taco3",
            Format::Early => "early",
        }
    }

    /// Label on badges of the window.
    pub fn badge(self) -> &'static str {
        match self {
            Format::Zip => "ZIP",
            Format::Folder => "FOLDER",
            Format::Tacocat | Format::TacocatFile => "TACOCAT",
            Format::Tacollection => "TACOLLECTION",
            Format::Joined => "JOINED",
            Format::Tortilla => "TORTILLA",
            Format::Taco => "TACO",
            Format::Taco3 => "TACO 3",
            Format::Early => "EARLY 2.0",
        }
    }

    /// Generation of the specification.
    pub fn generation(self) -> &'static str {
        match self {
            Format::Zip
            | Format::Folder
            | Format::Tacocat
            | Format::TacocatFile
            | Format::Tacollection
            | Format::Joined => "2.0",
            Format::Tortilla => "0.5",
            Format::Taco => "0.2",
            Format::Taco3 => "3.0",
            Format::Early => "early 2.0",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Format::Zip => "a TACO 2.0 ZIP",
            Format::Folder => "a TACO 2.0 FOLDER",
            Format::Tacocat => "a TACOCAT folder",
            Format::TacocatFile => "a __TACOCAT__ file",
            Format::Tacollection => "a TACOLLECTION.json",
            Format::Joined => "several datasets opened as one",
            Format::Tortilla => "a TORTILLA 0.5 file",
            Format::Taco => "a TACO 0.2 file",
            Format::Taco3 => "a TACO 3 dataset",
            Format::Early => "a dataset of TACO 2.0 before its present layout",
        }
    }
}

/// A detected container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The kind of container.
    pub format: Format,
    /// Path of the container itself: for the COLLECTION.json of a FOLDER, the folder.
    pub path: PathBuf,
}

impl Detected {
    pub(super) fn from_format(format: Format, path: &Path) -> Result<Self> {
        Ok(Self {
            format,
            path: path.to_owned(),
        })
    }
}
