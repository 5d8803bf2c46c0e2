//! How datasets are opened: the arguments that every reading verb shares.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::container::{JoinMode, OpenOptions};

/// Folder with the parts of an index.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OpenArguments {
    /// The folder that holds the parts of a TACOCAT or TACOLLECTION; beside it when absent.
    #[arg(long, value_name = "FOLDER")]
    pub base_path: Option<PathBuf>,
}

impl OpenArguments {
    /// As the containers take them.
    pub fn options(self) -> OpenOptions {
        OpenOptions {
            base_path: self.base_path,
            ..OpenOptions::default()
        }
    }
}

/// [`OpenArguments`], for one dataset or several as one.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct JoinArguments {
    /// More datasets, opened with the first as one.
    pub more: Vec<PathBuf>,
    /// How to handle columns that not all of several datasets have.
    #[arg(long, value_name = "MODE", default_value = "intersection")]
    pub mode: JoinMode,
    #[command(flatten)]
    pub open: OpenArguments,
}

impl JoinArguments {
    /// As the containers take them.
    pub fn options(self) -> OpenOptions {
        OpenOptions {
            with: self.more,
            mode: self.mode,
            ..self.open.options()
        }
    }
}

/// The ways to join columns, as arguments name them.
impl ValueEnum for JoinMode {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Intersection, Self::FillMissing, Self::Strict]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Intersection => PossibleValue::new("intersection").help("Leave them out"),
            Self::FillMissing => PossibleValue::new("fill-missing")
                .alias("fill_missing")
                .help("Fill them with nulls"),
            Self::Strict => PossibleValue::new("strict").help("Refuse"),
        })
    }
}
