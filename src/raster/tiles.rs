//! Storage layout of a GeoTIFF as GDAL describes it, and tile offsets from its first IFD. Reads no
//! pixels.

use std::ffi::{CString, c_int};

use gdal::{Dataset, Metadata};

use super::pool::Lease;
use super::tiff::{ChunkLayout, chunk_layout};
use super::{RasterSource, pool, vsi_plugin};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// The storage of a GeoTIFF as GDAL describes it (domain `IMAGE_STRUCTURE`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiffStorage {
    /// Columns and rows of a block: a tile, or a strip, which is as wide as the image.
    pub block: (usize, usize),
    /// TIFF's predictor: 1 none, 2 horizontal differences, 3 floating-point differences.
    pub predictor: u8,
    /// Name of the compression: `ZSTD`, `DEFLATE`, …; empty without one.
    pub compression: String,
    /// `TILE`, `BAND` or `PIXEL`.
    pub interleave: String,
    /// `COG` if the file declares it.
    pub layout: String,
    /// Number of overviews of the first band.
    pub overviews: usize,
}

/// The storage and the tiles of the full-resolution image of a GeoTIFF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileLayout {
    /// GDAL's description.
    pub storage: TiffStorage,
    /// Chunks of the first IFD.
    pub chunks: ChunkLayout,
}

/// Reads GDAL's metadata and the first IFD.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for anything but a GeoTIFF, and for TIFFs
/// whose chunks can't be located; [`Kind::Format`](crate::error::Kind::Format) for a damaged IFD;
/// those of opening.
pub fn tile_layout(source: &RasterSource, ctx: &JobContext) -> Result<TileLayout> {
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let storage = tiff_storage(&lease, asset)?;
    ctx.check()?;
    let file = StoredFile::open(&lease.dataset)
        .ok_or_else(|| Error::format("the raster can't be read as a file").at_place(asset))?;
    let chunks = chunk_layout(&|at, length| file.read(at, length), file.size()?)
        .map_err(|error| error.at_place(asset))?;
    let chunks = chunks
        .ok_or_else(|| Error::unsupported("this TIFF has no regular tiles").at_place(asset))?;
    Ok(TileLayout { storage, chunks })
}

/// The storage of an open GeoTIFF.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for anything but a GeoTIFF, and without
/// bands.
pub(super) fn tiff_storage(lease: &Lease, asset: &AssetPath) -> Result<TiffStorage> {
    let info = &lease.info;
    let first = info
        .bands
        .first()
        .ok_or_else(|| info.without_bands(asset))?;
    if info.driver != "GTiff" && info.driver != "COG" {
        return Err(
            Error::unsupported(format!("this is no GeoTIFF but {}", info.driver)).at_place(asset),
        );
    }
    Ok(TiffStorage {
        block: first.block,
        predictor: read_storage_item(&lease.dataset, "PREDICTOR")
            .parse()
            .unwrap_or(1),
        compression: read_storage_item(&lease.dataset, "COMPRESSION"),
        interleave: read_storage_item(&lease.dataset, "INTERLEAVE"),
        layout: read_storage_item(&lease.dataset, "LAYOUT"),
        overviews: first.overviews.len(),
    })
}

fn read_storage_item(dataset: &Dataset, key: &str) -> String {
    dataset
        .metadata_item(key, "IMAGE_STRUCTURE")
        .unwrap_or_default()
}

/// The file of a dataset, read through GDAL's virtual file system.
pub(super) struct StoredFile(*mut gdal_sys::VSILFILE);

impl StoredFile {
    /// Opens the file of a dataset; `None` when the dataset is not a single file.
    pub fn open(dataset: &Dataset) -> Option<Self> {
        let name = CString::new(dataset.description().ok()?).ok()?;
        // Safety: C strings that live during the call.
        let file = unsafe { gdal_sys::VSIFOpenL(name.as_ptr(), c"rb".as_ptr()) };
        (!file.is_null()).then_some(Self(file))
    }

    /// Seeks to `at` bytes from the start (`SEEK_SET`, 0) or the end (`SEEK_END`, 2); returns the
    /// position.
    fn seek(&self, at: u64, whence: c_int) -> Result<u64> {
        // Safety: the handle is open.
        let found = unsafe {
            (gdal_sys::VSIFSeekL(self.0, at, whence) == 0).then(|| gdal_sys::VSIFTellL(self.0))
        };
        found.ok_or_else(unreadable_tiles_error)
    }

    /// Size in bytes.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the end can't be found.
    pub fn size(&self) -> Result<u64> {
        self.seek(0, 2)
    }

    /// Reads `length` bytes at offset `at`.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) for a file that ends before; the error of a
    /// failed remote read.
    pub fn read(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        self.seek(at, 0)?;
        let mut bytes = vec![0u8; usize::try_from(length).unwrap_or(usize::MAX)];
        // Safety: the handle is open and the buffer has the length given.
        let read =
            unsafe { gdal_sys::VSIFReadL(bytes.as_mut_ptr().cast(), 1, bytes.len() as _, self.0) };
        if read as usize == bytes.len() {
            Ok(bytes)
        } else {
            Err(unreadable_tiles_error())
        }
    }
}

impl Drop for StoredFile {
    fn drop(&mut self) {
        // Safety: opened by `open`, closed once.
        unsafe { gdal_sys::VSIFCloseL(self.0) };
    }
}

fn unreadable_tiles_error() -> Error {
    vsi_plugin::take_fault()
        .unwrap_or_else(|| Error::format("the file ends early or could not be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{NewRaster, Samples, write_raster};

    #[test]
    fn the_directory_gives_the_tiles_that_gdal_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let noise = |band: u32| {
            Samples::I16(
                (0..300 * 200u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761 + band) >> 20) as i16)
                    .collect(),
            )
        };
        for (name, driver, options) in [
            ("strips.tif", "GTiff", vec![]),
            (
                "planes.tif",
                "GTiff",
                vec![
                    ("INTERLEAVE", "BAND"),
                    ("TILED", "YES"),
                    ("BLOCKXSIZE", "64"),
                    ("BLOCKYSIZE", "32"),
                ],
            ),
            (
                "pixels.tif",
                "GTiff",
                vec![
                    ("TILED", "YES"),
                    ("COMPRESS", "DEFLATE"),
                    ("PREDICTOR", "2"),
                    ("ENDIANNESS", "BIG"),
                ],
            ),
            (
                "cog.tif",
                "COG",
                vec![
                    ("COMPRESS", "ZSTD"),
                    ("INTERLEAVE", "TILE"),
                    ("BIGTIFF", "YES"),
                    ("BLOCKSIZE", "128"),
                ],
            ),
        ] {
            let path = folder.path().join(name);
            let bands = (0..3).map(noise).collect();
            let raster = NewRaster {
                width: 300,
                height: 200,
                bands,
                options,
                ..Default::default()
            };
            write_raster(&path, driver, &raster).expect("is written");
            let source = RasterSource::from_user_path(AssetPath::file(path));
            let TileLayout { storage, chunks } =
                tile_layout(&source, &JobContext::default()).expect("a layout");
            assert_eq!(
                (chunks.size, chunks.bands, chunks.bits, chunks.sample_format),
                ([300, 200], 3, 16, 2),
                "{name}"
            );
            assert_eq!(
                (chunks.chunk.map(|n| n as usize), chunks.predictor),
                (storage.block.into(), storage.predictor.into()),
                "{name}"
            );
            let lease = pool::lease(&source).expect("opens");
            let [across, down] = [
                300usize.div_ceil(storage.block.0),
                200usize.div_ceil(storage.block.1),
            ];
            let mut told = Vec::new();
            for plane in 1..=3 / chunks.chunk_bands as usize {
                let band = lease.dataset.rasterband(plane).expect("a band");
                let number = |key: String| {
                    band.metadata_item(&key, "TIFF")
                        .and_then(|text| text.parse().ok())
                        .expect("a number")
                };
                for (row, column) in
                    (0..down).flat_map(|row| (0..across).map(move |column| (row, column)))
                {
                    told.push((
                        number(format!("BLOCK_OFFSET_{column}_{row}")),
                        number(format!("BLOCK_SIZE_{column}_{row}")),
                    ));
                }
            }
            assert_eq!(chunks.places, told, "{name}");
        }
    }
}
