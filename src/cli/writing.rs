//! How datasets are written: the arguments that every writing verb shares.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::output::say_failure;
use super::values::OutputFormat;
use crate::container::{BuildOptions, Built, Format, OnDamage, PartOptions, parse_size};
use crate::model::Profile;
use crate::table::{Compression, ParquetOptions};

/// Common arguments of the verbs that write a dataset: container, tables, and replacing an existing
/// output.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WriteArguments {
    /// The container; taken from the output's name when absent.
    #[arg(long)]
    pub format: Option<OutputFormat>,
    #[command(flatten)]
    pub parquet: ParquetArguments,
    /// Which form to write: as the official tools do, or with the columns that the specification
    /// lists besides: `path` on every level and `internal:relative_path` on level 0. A .tortilla or
    /// .taco has the form of its specification: extent in numbers, tasks as it spells them, whole
    /// seconds, parts from 0001.
    #[arg(long, value_name = "PROFILE", default_value = "tools")]
    pub profile: Profile,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// In a ZIP, begin data of 64 KiB and more at disk blocks of 4096 bytes: on Btrfs and XFS it
    /// then shares the blocks of files of the same disk that it is copied from, and takes no space
    /// of its own.
    #[arg(long)]
    pub align_blocks: bool,
}

impl WriteArguments {
    /// As the writers take them, for a dataset at `target`; damaged samples stop them.
    pub fn options(&self, target: PathBuf, parts: Option<PartOptions>) -> BuildOptions {
        let format = self
            .format
            .unwrap_or_else(|| OutputFormat::of_name(&target))
            .format();
        let (parquet, overwrite) = (self.parquet.options(), self.overwrite);
        BuildOptions {
            text_columns: self.profile == Profile::Spec,
            align_blocks: self.align_blocks,
            target,
            format,
            parquet,
            overwrite,
            parts,
            on_damage: OnDamage::Stop,
        }
    }
}

/// How verbs that copy samples handle damaged ones.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct DamageArguments {
    /// Go on where bytes do not have the checksum that their archive states: copy them as they are,
    /// list the samples, and end with 1.
    #[arg(long)]
    pub keep_damaged: bool,
}

impl DamageArguments {
    /// As the writers take it.
    pub fn on_damage(self) -> OnDamage {
        if self.keep_damaged {
            OnDamage::Keep
        } else {
            OnDamage::Stop
        }
    }
}

/// Options of streamable .tortilla and .taco files.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct StreamArguments {
    /// Make a .tortilla or .taco streamable: one chain of tables for all levels and chunks. Its
    /// rasters have to be TACO Optimized GeoTIFFs, which `optimise` writes.
    #[arg(long)]
    pub stream: bool,
    /// With --stream, write rasters that are no TACO Optimized GeoTIFFs as they are.
    #[arg(long, alias = "allow", requires = "stream")]
    pub allow_non_tog: bool,
}

/// Lists samples that are damaged; the exit code of a verb that copied them all the same, else 0.
pub fn tell_damaged(damaged: &[String]) -> u8 {
    for path in damaged {
        say_failure(format!("damaged: {path}"));
    }
    u8::from(!damaged.is_empty())
}

/// Lists samples that are damaged, and those that the output does not give as their sources are;
/// the exit code.
pub fn tell_samples(built: &Built) -> u8 {
    for difference in &built.unlike_source {
        say_failure(format!("not as its source: {difference}"));
    }
    tell_damaged(&built.damaged).max(u8::from(!built.unlike_source.is_empty()))
}

/// How the level tables are written.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ParquetArguments {
    /// Compression of the level tables.
    #[arg(long, value_name = "CODEC", default_value = "zstd")]
    pub compression: Compression,
    /// Its level: 1 to 22 for zstd (13 when absent, 3 in an index), 1 to 9 for gzip (6).
    #[arg(
        long,
        value_name = "N",
        alias = "zstd-level",
        allow_hyphen_values = true
    )]
    pub compression_level: Option<i32>,
    /// Rows in a row group of the level tables.
    #[arg(long, value_name = "ROWS", default_value_t = 65_536)]
    pub row_group: usize,
}

impl ParquetArguments {
    /// As the writers take them.
    pub fn options(&self) -> ParquetOptions {
        ParquetOptions {
            compression: self.compression,
            level: self.compression_level,
            row_group_rows: self.row_group,
            ..ParquetOptions::default()
        }
    }
}

/// The codecs, as arguments name them.
impl ValueEnum for Compression {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Zstd, Self::Snappy, Self::Gzip, Self::None]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Zstd => PossibleValue::new("zstd").help("Small and fast"),
            Self::Snappy => PossibleValue::new("snappy").help("Larger and faster still"),
            Self::Gzip => PossibleValue::new("gzip").help("For old readers"),
            Self::None => PossibleValue::new("none").help("Not at all"),
        })
    }
}

/// One dataset or several.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PartsArguments {
    /// Write parts with this much data at the most: NAME_part0001.tacozip, …; 4GB, 512MB, ….
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub split_size: Option<u64>,
    /// Write a part for each value of these columns of level 0: NAME_VALUE.tacozip.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub group_by: Vec<String>,
    /// Join the parts by an index beside them.
    #[arg(long, value_name = "INDEX", value_delimiter = ',')]
    pub consolidate: Vec<IndexName>,
}

impl PartsArguments {
    /// As the writers take them; nothing when one dataset was asked for.
    pub fn parts(self) -> Option<PartOptions> {
        let Self {
            split_size: size_bytes,
            group_by,
            consolidate,
        } = self;
        let consolidate = consolidate.into_iter().map(IndexName::format).collect();
        let parts = PartOptions {
            size_bytes,
            group_by,
            consolidate,
        };
        (parts != PartOptions::default()).then_some(parts)
    }
}

/// The indexes over parts, as arguments name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IndexName {
    /// The folder .tacocat.
    Tacocat,
    /// The single file __TACOCAT__.
    SingleFile,
    /// The description TACOLLECTION.json.
    Tacollection,
}

impl IndexName {
    fn format(self) -> Format {
        match self {
            IndexName::Tacocat => Format::Tacocat,
            IndexName::SingleFile => Format::TacocatFile,
            IndexName::Tacollection => Format::Tacollection,
        }
    }
}

pub(super) fn size(text: &str) -> std::result::Result<u64, String> {
    parse_size(text).map_err(|error| error.report())
}
