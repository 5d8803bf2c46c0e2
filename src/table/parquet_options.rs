//! How level tables are compressed and cut. Plain data: it travels from the command line and the window to every writer.

use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};

use crate::error::{Error, Result};

/// What the pages of a table are compressed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Small and fast; what the Python tools write.
    #[default]
    Zstd,
    /// Larger and faster still.
    Snappy,
    /// For readers that know nothing newer.
    Gzip,
    /// Not at all.
    None,
}

impl Compression {
    /// Every one, the usual one first.
    pub const ALL: [Compression; 4] = [Compression::Zstd, Compression::Snappy, Compression::Gzip, Compression::None];

    /// The word in arguments and lists.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Zstd => "zstd",
            Compression::Snappy => "snappy",
            Compression::Gzip => "gzip",
            Compression::None => "none",
        }
    }

    /// Smallest, largest and usual level; none where there are no levels.
    pub fn levels(self) -> Option<(i32, i32, i32)> {
        match self {
            // The Python tools write level tables with 13.
            Compression::Zstd => Some((1, 22, 13)),
            Compression::Gzip => Some((1, 9, 6)),
            Compression::Snappy | Compression::None => None,
        }
    }
}

/// How level tables are written.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ParquetOptions {
    /// What pages are compressed with.
    pub compression: Compression,
    /// Its level, inside [`Compression::levels`]; the usual one when absent.
    pub level: Option<i32>,
    /// Rows in a row group.
    pub row_group_rows: usize,
    /// Cut pages at content-defined borders, so that a changed table shares most of its bytes with the one before (§6.4).
    pub content_defined_chunking: bool,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self { compression: Compression::Zstd, level: None, row_group_rows: 65_536, content_defined_chunking: true }
    }
}

impl ParquetOptions {
    /// For the `__meta__` of a FOLDER: small, many, written once.
    pub fn local() -> Self {
        Self { level: Some(1), content_defined_chunking: false, ..Self::default() }
    }

    /// For the `__meta__` beside level tables that are written so: the same codec, at its fastest.
    pub fn beside(&self) -> Self {
        let level = self.compression.levels().map(|(fastest, _, _)| fastest);
        Self { compression: self.compression, level, ..Self::local() }
    }

    /// An error when the level is none of the codec's, or a row group has no rows.
    pub fn check(&self) -> Result<()> {
        if self.row_group_rows == 0 {
            return Err(Error::usage("a row group needs at least one row"));
        }
        self.codec().map(|_| ())
    }

    /// As the Parquet library names it.
    pub(super) fn codec(&self) -> Result<Codec> {
        let name = self.compression.name();
        let level = match (self.compression.levels(), self.level) {
            (None, None) => 0,
            (None, Some(level)) => {
                return Err(Error::usage(format!("{name} has no levels; {level} means nothing to it")).hint("leave the level out"));
            }
            (Some((least, most, _)), Some(level)) if !(least..=most).contains(&level) => {
                return Err(Error::usage(format!("{name} has no level {level}")).hint(format!("choose {least} to {most}")));
            }
            (Some((_, _, usual)), level) => level.unwrap_or(usual),
        };
        let failed = |error: parquet::errors::ParquetError| Error::usage(format!("{name} has no level {level}")).because(error);
        Ok(match self.compression {
            Compression::Zstd => Codec::ZSTD(ZstdLevel::try_new(level).map_err(failed)?),
            Compression::Gzip => Codec::GZIP(GzipLevel::try_new(level.unsigned_abs()).map_err(failed)?),
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
        let with = |compression, level| ParquetOptions { compression, level, ..ParquetOptions::default() };
        assert!(with(Compression::Zstd, Some(22)).check().is_ok());
        assert!(with(Compression::Zstd, Some(23)).check().is_err());
        assert!(with(Compression::Gzip, Some(10)).check().is_err());
        assert!(with(Compression::Snappy, Some(1)).check().is_err());
        for compression in Compression::ALL {
            assert!(with(compression, None).check().is_ok(), "{}", compression.name());
            assert!(with(compression, None).beside().check().is_ok(), "{}", compression.name());
        }
        assert!(ParquetOptions { row_group_rows: 0, ..ParquetOptions::default() }.check().is_err());
    }
}
