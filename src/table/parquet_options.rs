//! Compression and row group settings of level tables. Plain data.

use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};

use crate::error::{Error, Result};

/// Compression codec of the pages.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Zstandard, as the Python tools use.
    #[default]
    Zstd,
    /// Snappy: faster, larger.
    Snappy,
    /// Gzip: for old readers.
    Gzip,
    /// Uncompressed.
    None,
}

impl Compression {
    /// All codecs, the default first.
    pub const ALL: [Compression; 4] = [
        Compression::Zstd,
        Compression::Snappy,
        Compression::Gzip,
        Compression::None,
    ];

    /// Name in arguments and lists.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Zstd => "zstd",
            Compression::Snappy => "snappy",
            Compression::Gzip => "gzip",
            Compression::None => "none",
        }
    }

    /// Minimum, maximum and default level; `None` for codecs without levels.
    pub fn levels(self) -> Option<(i32, i32, i32)> {
        match self {
            // The Python tools write level tables with level 13.
            Compression::Zstd => Some((1, 22, 13)),
            Compression::Gzip => Some((1, 9, 6)),
            Compression::Snappy | Compression::None => None,
        }
    }
}

/// Parquet settings of level tables.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ParquetOptions {
    /// Codec.
    pub compression: Compression,
    /// Compression level within [`Compression::levels`]; `None`: the default.
    pub level: Option<i32>,
    /// Number of rows per row group.
    pub row_group_rows: usize,
    /// Content-defined chunking: page boundaries depend on the content, so versions of a table
    /// share most bytes (TACO 2.0, section 6.4).
    pub content_defined_chunking: bool,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            compression: Compression::Zstd,
            level: None,
            row_group_rows: 65_536,
            content_defined_chunking: true,
        }
    }
}

impl ParquetOptions {
    /// Settings for the `__meta__` of a FOLDER, which are small and numerous.
    pub fn local() -> Self {
        Self {
            level: Some(1),
            content_defined_chunking: false,
            ..Self::default()
        }
    }

    /// Settings for `__meta__` next to level tables with these settings: the same codec at its
    /// lowest level.
    pub fn for_local_meta(&self) -> Self {
        let level = self.compression.levels().map(|(fastest, _, _)| fastest);
        Self {
            compression: self.compression,
            level,
            ..Self::local()
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] when the codec does not have this level, or a row group has no
    /// rows.
    pub fn check(&self) -> Result<()> {
        if self.row_group_rows == 0 {
            return Err(Error::usage("a row group needs at least one row"));
        }
        self.codec().map(|_| ())
    }

    /// The codec in terms of the Parquet library.
    pub(super) fn codec(&self) -> Result<Codec> {
        let name = self.compression.name();
        let level = match (self.compression.levels(), self.level) {
            (None, None) => 0,
            (None, Some(level)) => {
                return Err(Error::usage(format!(
                    "{name} has no levels; {level} means nothing to it"
                ))
                .hint("leave the level out"));
            }
            (Some((least, most, _)), Some(level)) if !(least..=most).contains(&level) => {
                return Err(Error::usage(format!("{name} has no level {level}"))
                    .hint(format!("choose {least} to {most}")));
            }
            (Some((_, _, usual)), level) => level.unwrap_or(usual),
        };
        let failed = |error: parquet::errors::ParquetError| {
            Error::usage(format!("{name} has no level {level}")).because(error)
        };
        Ok(match self.compression {
            Compression::Zstd => Codec::ZSTD(ZstdLevel::try_new(level).map_err(failed)?),
            Compression::Gzip => {
                Codec::GZIP(GzipLevel::try_new(level.unsigned_abs()).map_err(failed)?)
            }
            Compression::Snappy => Codec::SNAPPY,
            Compression::None => Codec::UNCOMPRESSED,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_the_codec() {
        let with = |compression, level| ParquetOptions {
            compression,
            level,
            ..ParquetOptions::default()
        };
        assert!(with(Compression::Zstd, Some(22)).check().is_ok());
        assert!(with(Compression::Zstd, Some(23)).check().is_err());
        assert!(with(Compression::Gzip, Some(10)).check().is_err());
        assert!(with(Compression::Snappy, Some(1)).check().is_err());
        for compression in Compression::ALL {
            assert!(
                with(compression, None).check().is_ok(),
                "{}",
                compression.name()
            );
            assert!(
                with(compression, None).for_local_meta().check().is_ok(),
                "{}",
                compression.name()
            );
        }
        assert!(
            ParquetOptions {
                row_group_rows: 0,
                ..ParquetOptions::default()
            }
            .check()
            .is_err()
        );
    }
}
