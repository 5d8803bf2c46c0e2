//! `tacotiff`: the compact header of a TACOTIFF, which locates the tiles without parsing the IFD:
//! 35 bytes, little-endian, then four bytes (tile size) per tile in file order.
//!
//! The header contains no tile offsets: readers sum up the sizes, plus the eight bytes between
//! consecutive tiles of a Cloud Optimized GeoTIFF. It is therefore only generated for files with
//! this layout.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::field;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::raster::{TileLayout, tile_layout};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "tacotiff",
    title: mark!("TACOTIFF header"),
    summary: mark!("Adds the compact header of a TACOTIFF, which locates its tiles."),
    scope: ExtensionScope::Sample,
    options,
    make,
};

/// `LOVE` in ASCII.
const MAGIC: u32 = 0x4556_4F4C;
const VERSION: u16 = 1;
/// Each tile is preceded by its size and followed by a copy of its last bytes, four bytes each.
const BETWEEN_TILES: u64 = 8;

fn options() -> Vec<OptionSpec> {
    let help = mark!("refuse files that are not TACOTIFFs: zstd, one band per tile, no overviews");
    vec![OptionSpec::new(mark!("strict"), OptionKind::Bool, help).or(true)]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Tacotiff {
    strict: bool,
}

fn make(given: &Json) -> Result<Extension> {
    let tacotiff: Tacotiff = parse_options("tacotiff", &options(), given)?;
    Ok(Extension::Sample(Box::new(tacotiff)))
}

impl SampleExtension for Tacotiff {
    fn schema(&self) -> Vec<FieldSpec> {
        let description =
            "Binary TACOTIFF header (35 bytes + tile counts) for fast reading without IFD parsing";
        vec![field("taco:header", DataType::Binary, description)]
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let layout = tile_layout(&sample.raster_source()?, ctx)?;
        if self.strict {
            check_tacotiff(&layout)?;
        }
        Ok(vec![Value::Bytes(build_header(&layout)?.into())])
    }
}

/// Checks that a GeoTIFF is a TACOTIFF.
fn check_tacotiff(TileLayout { storage, chunks }: &TileLayout) -> Result<()> {
    let fault = if storage.compression != "ZSTD" {
        Some(format!(
            "its compression is {}",
            if storage.compression.is_empty() {
                "none"
            } else {
                &storage.compression
            }
        ))
    } else if storage.interleave != "TILE" && chunks.bands > 1 {
        Some(format!(
            "its bands are interleaved by {}",
            storage.interleave.to_lowercase()
        ))
    } else if storage.overviews > 0 {
        Some(format!("it has {} overviews", storage.overviews))
    } else {
        None
    };
    fault.map_or(Ok(()), |fault| Err(not_tacotiff_error(&fault)))
}

fn not_tacotiff_error(fault: &str) -> Error {
    let how = "write it with: gdal_translate -of COG -co COMPRESS=ZSTD -co INTERLEAVE=TILE -co \
        OVERVIEWS=NONE -co BIGTIFF=YES IN OUT";
    Error::unsupported(format!("the file is not a TACOTIFF: {fault}")).hint(how)
}

/// The offset of the tile after one with this offset and size; `None` if no file is that long.
fn offset_after((offset, size): (u64, u64)) -> Option<u64> {
    offset.checked_add(size)?.checked_add(BETWEEN_TILES)
}

/// The header's bytes.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) when the tiles' layout or a value cannot
/// be represented.
fn build_header(layout: &TileLayout) -> Result<Vec<u8>> {
    fn narrow<T: TryFrom<u64>>(number: u64, what: &str) -> Result<T> {
        T::try_from(number).map_err(|_| {
            Error::unsupported(format!("the TACOTIFF header can't hold {number} {what}"))
        })
    }
    let chunks = &layout.chunks;
    if chunks.stripped {
        return Err(not_tacotiff_error("it is made of strips, not of tiles"));
    }
    // Offset and size of each tile, in the order of the file.
    let mut tiles = chunks.places.clone();
    tiles.sort_unstable();
    let Some(&(first, _)) = tiles.first() else {
        return Err(not_tacotiff_error("it has no tiles"));
    };
    if tiles.iter().any(|(_, size)| *size == 0) {
        return Err(not_tacotiff_error("it has tiles without bytes"));
    }
    let mut neighbours = tiles.iter().zip(&tiles[1..]);
    if neighbours.any(|(tile, (next, _))| offset_after(*tile) != Some(*next)) {
        return Err(not_tacotiff_error(
            "its tiles are not consecutive with eight bytes between them",
        ));
    }
    let mut bytes = Vec::with_capacity(35 + 4 * tiles.len());
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(narrow::<u32>(chunks.size[0], "columns")?.to_le_bytes());
    bytes.extend(narrow::<u32>(chunks.size[1], "rows")?.to_le_bytes());
    bytes.extend(narrow::<u16>(chunks.chunk[0], "columns of a tile")?.to_le_bytes());
    bytes.extend(narrow::<u16>(chunks.chunk[1], "rows of a tile")?.to_le_bytes());
    bytes.extend(narrow::<u16>(chunks.bands, "bands")?.to_le_bytes());
    for (number, what) in [
        (chunks.bits, "bits per value"),
        (chunks.sample_format, "as the sample format"),
        (chunks.predictor, "as the predictor"),
    ] {
        bytes.push(narrow::<u8>(number, what)?);
    }
    bytes.extend(first.to_le_bytes());
    bytes.extend(narrow::<u32>(tiles.len() as u64, "tiles")?.to_le_bytes());
    for (_, size) in &tiles {
        let size =
            u32::try_from(*size).map_err(|_| Error::unsupported("a tile has more than 4 GiB"))?;
        bytes.extend(size.to_le_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AssetPath;
    use crate::raster::{NewRaster, RasterSource, Samples, write_raster};

    fn cog(options: Vec<(&'static str, &'static str)>) -> (tempfile::TempDir, RasterSource) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.tif");
        let noise = |band: u32| {
            Samples::U16(
                (0..300 * 200u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761 + band) >> 20) as u16)
                    .collect(),
            )
        };
        let bands = (0..3).map(noise).collect();
        let raster = NewRaster {
            width: 300,
            height: 200,
            bands,
            options,
            ..Default::default()
        };
        write_raster(&path, "COG", &raster).expect("writes");
        (folder, RasterSource::from_user_path(AssetPath::file(path)))
    }

    const TACOTIFF: [(&str, &str); 5] = [
        ("COMPRESS", "ZSTD"),
        ("INTERLEAVE", "TILE"),
        ("OVERVIEWS", "NONE"),
        ("BIGTIFF", "YES"),
        ("BLOCKSIZE", "128"),
    ];

    #[test]
    fn the_header_leads_to_every_tile() {
        let (_folder, asset) = cog(TACOTIFF.to_vec());
        let layout = tile_layout(&asset, &JobContext::default()).expect("a layout");
        check_tacotiff(&layout).expect("is a TACOTIFF");
        let header = build_header(&layout).expect("a header");
        assert_eq!(header.len(), 35 + 4 * (3 * 3 * 2));
        assert_eq!(&header[..4], b"LOVE");
        let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four"));
        assert_eq!((u16_at(4), u32_at(6), u32_at(10)), (1, 300, 200));
        assert_eq!((u16_at(14), u16_at(16), u16_at(18)), (128, 128, 3));
        assert_eq!(
            (header[20], header[21], header[22], u32_at(31)),
            (16, 1, 1, 18)
        );
        let mut at = u64::from_le_bytes(header[23..31].try_into().expect("eight")) as usize;
        let bytes = std::fs::read(asset.asset().local_file().expect("a file")).expect("reads");
        for tile in 0..18 {
            let size = u32_at(35 + tile * 4);
            // The zstd frame starts at the offset derived from the header, after the tile's size.
            assert_eq!(&bytes[at..at + 4], &[0x28, 0xB5, 0x2F, 0xFD], "tile {tile}");
            assert_eq!(
                u32::from_le_bytes(bytes[at - 4..at].try_into().expect("four")),
                size,
                "tile {tile}"
            );
            at += size as usize + 8;
        }
        assert!(at <= bytes.len() + 8);
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for (key, value, says) in [
            ("COMPRESS", "DEFLATE", "compression is DEFLATE"),
            ("INTERLEAVE", "PIXEL", "by pixel"),
            ("OVERVIEWS", "AUTO", "overviews"),
        ] {
            let mut options = TACOTIFF.to_vec();
            options.retain(|(other, _)| *other != key);
            options.push((key, value));
            let (_folder, asset) = cog(options);
            let layout = tile_layout(&asset, &JobContext::default()).expect("a layout");
            let error = check_tacotiff(&layout).expect_err("refuses").report();
            assert!(
                error.contains(says) && error.contains("gdal_translate"),
                "{error}"
            );
        }
    }

    #[test]
    fn offsets_beyond_every_file_are_refused() {
        assert_eq!(offset_after((8, 100)), Some(116));
        assert_eq!(offset_after((u64::MAX - 4, 2)), None);
    }

    #[test]
    fn strips_have_no_header() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.tif");
        let bands = vec![Samples::U8(vec![3; 50 * 40])];
        let raster = NewRaster {
            width: 50,
            height: 40,
            bands,
            options: vec![("COMPRESS", "ZSTD")],
            ..Default::default()
        };
        crate::raster::write_geotiff(&path, &raster).expect("writes");
        let layout = tile_layout(
            &RasterSource::from_user_path(AssetPath::file(path)),
            &JobContext::default(),
        )
        .expect("a layout");
        assert!(build_header(&layout).is_err());
    }
}
