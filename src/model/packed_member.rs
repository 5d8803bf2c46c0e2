//! Compressed members of archives that are no datasets.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::Stamp;

/// How bytes of an archive are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackedCodec {
    /// DEFLATE without a header: method 8 of ZIP.
    Deflate,
    /// gzip, with one or several streams.
    Gzip,
    /// Zstandard, with one or several frames: method 93 of ZIP.
    Zstd,
    /// None: a folder that is one unit, read as a ZIP of stored members.
    Folder,
}

/// A file in a ZIP whose member is compressed, or in a tar that is compressed as a whole; or the
/// archive that a folder is read as. It has no bytes of its own that could be read without
/// unpacking.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PackedMember {
    /// The archive: a local or remote file, or the local folder.
    pub archive: Arc<Path>,
    /// Path in the archive, with `/`.
    pub name: Arc<str>,
    /// How it is compressed.
    pub codec: PackedCodec,
    /// Offset of the first compressed byte: of the member in a ZIP, 0 in a compressed tar.
    pub start: u64,
    /// Number of compressed bytes: of the member in a ZIP, of the whole file in a compressed tar;
    /// the size of the archive of a folder.
    pub length: u64,
    /// Offset of the data in what the compressed bytes unpack to: 0 in a ZIP, the place of the file
    /// in a compressed tar.
    pub offset: u64,
    /// Size of the data in bytes.
    pub size: u64,
    /// CRC-32 of the data, as a ZIP states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc: Option<u32>,
    /// Version of the archive in which the member was found.
    pub stamp: Arc<Stamp>,
}

impl PackedMember {
    /// The member as JSON without the path of its archive, which is stored beside it.
    ///
    /// # Errors
    /// An error of serde_json.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Self {
            archive: Path::new("").into(),
            ..self.clone()
        })
    }

    /// The member that [`PackedMember::to_json`] gave, in this archive.
    ///
    /// # Errors
    /// For text that is not the JSON of a member.
    pub fn of_json(json: &[u8], archive: Arc<Path>) -> serde_json::Result<Self> {
        Ok(Self {
            archive,
            ..serde_json::from_slice(json)?
        })
    }

    /// The last part of its path in the archive.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl fmt::Display for PackedMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.codec {
            PackedCodec::Folder => self.archive.display().fmt(f),
            PackedCodec::Deflate | PackedCodec::Gzip | PackedCodec::Zstd => {
                write!(f, "{}/{}", self.archive.display(), self.name)
            }
        }
    }
}
