//! Values that arguments of several commands take, as clap reads them.

use std::path::Path;

use clap::ValueEnum;

use crate::container::{Format, has_zip_ending};

/// The containers that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// One file, stored without compression.
    Zip,
    /// A folder of loose files.
    Folder,
}

/// The generations that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WrittenGeneration {
    /// TACO 2.0.
    #[value(name = "2.0")]
    Two,
    /// TORTILLA 0.5.
    Tortilla,
    /// TACO 0.2.
    Taco,
}

impl WrittenGeneration {
    /// The generation that the ending of `path` names: `.tortilla`, `.taco`, else 2.0.
    pub fn of_name(path: &Path) -> Self {
        match (has_ending(path, "tortilla"), has_ending(path, "taco")) {
            (true, _) => WrittenGeneration::Tortilla,
            (_, true) => WrittenGeneration::Taco,
            _ => WrittenGeneration::Two,
        }
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

impl OutputFormat {
    /// The container format.
    pub fn format(self) -> Format {
        match self {
            OutputFormat::Zip => Format::Zip,
            OutputFormat::Folder => Format::Folder,
        }
    }

    /// The format that the ending of `path` names, as in the Python tools: `.zip` and `.tacozip`
    /// are a ZIP, the rest a FOLDER.
    pub fn of_name(path: &Path) -> Self {
        if has_zip_ending(path) {
            OutputFormat::Zip
        } else {
            OutputFormat::Folder
        }
    }
}

/// How fields that differ within a level are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// They are findings, and nothing is written.
    Strict,
    /// Missing ones become nulls, types the one that holds all values.
    Align,
}
