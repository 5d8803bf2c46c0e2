//! Archives of folders, as other programs pack them.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::Path;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::files_below;

/// How a folder is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// A ZIP with stored members.
    StoredZip,
    /// A ZIP with compressed members.
    Zip,
    /// A tar.
    Tar,
    /// A tar in gzip.
    TarGzip,
    /// A tar in Zstandard.
    TarZstd,
}

impl Packing {
    pub const ALL: [Self; 5] = [
        Self::StoredZip,
        Self::Zip,
        Self::Tar,
        Self::TarGzip,
        Self::TarZstd,
    ];

    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::StoredZip | Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGzip => "tar.gz",
            Self::TarZstd => "tar.zst",
        }
    }
}

/// Packs the files below `folder`, under `prefix` (`""`, or a folder with a slash), into `archive`.
pub fn pack(folder: &Path, prefix: &str, archive: &Path, packing: Packing) {
    let files: Vec<(String, Vec<u8>)> = files_below(folder)
        .into_iter()
        .map(|name| {
            (
                format!("{prefix}{name}"),
                fs::read(folder.join(&name)).expect("reads"),
            )
        })
        .collect();
    let bytes = match packing {
        Packing::StoredZip => zip_of(&files, CompressionMethod::Stored),
        Packing::Zip => zip_of(&files, CompressionMethod::Deflated),
        Packing::Tar => tar_of(&files),
        Packing::TarGzip => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(&tar_of(&files)).expect("packs");
            gzip.finish().expect("packs")
        }
        Packing::TarZstd => zstd::encode_all(tar_of(&files).as_slice(), 1).expect("packs"),
    };
    File::create(archive)
        .expect("an archive")
        .write_all(&bytes)
        .expect("writes");
}

/// A ZIP with these members.
pub fn zip_of(files: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(
            name.as_str(),
            SimpleFileOptions::default().compression_method(method),
        )
        .expect("a member");
        zip.write_all(bytes).expect("packs");
    }
    zip.finish().expect("packs").into_inner()
}

/// A tar with these files.
pub fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes.as_slice())
            .expect("packs");
    }
    tar.into_inner().expect("packs")
}
