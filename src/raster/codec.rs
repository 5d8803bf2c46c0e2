//! Names the codec of a TIFF that GDAL can't open because this build lacks it, and RUMI, whose
//! codec no build has.

use super::{environment, tiff};
use crate::error::{Cause, Error, Result};
use crate::model::AssetPath;

/// TIFF compression codes with the name by which GDAL lists the codec; those with `None` are in
/// every build, or in none.
const CODECS: [(u64, &str, Option<&str>); 20] = [
    (2, "CCITT RLE", Some("CCITTRLE")),
    (3, "CCITT Group 3", Some("CCITTFAX3")),
    (4, "CCITT Group 4", Some("CCITTFAX4")),
    (5, "LZW", Some("LZW")),
    (6, "old JPEG", Some("JPEG")),
    (7, "JPEG", Some("JPEG")),
    (8, "DEFLATE", Some("DEFLATE")),
    (32773, "PackBits", Some("PACKBITS")),
    (32946, "DEFLATE", Some("DEFLATE")),
    (33003, "JPEG 2000", None),
    (33005, "JPEG 2000", None),
    (34661, "JBIG", None),
    (34712, "JPEG 2000", None),
    (34887, "LERC", Some("LERC")),
    (34892, "lossy JPEG", None),
    (34925, "LZMA", Some("LZMA")),
    (50000, "ZSTD", Some("ZSTD")),
    (50001, "WebP", Some("WEBP")),
    (50002, "JPEG XL", Some("JXL")),
    (52546, "JPEG XL", Some("JXL")),
];

/// Signature of RUMI, the compressed raster of TACO 3, whose header is laid out as that of a
/// BigTIFF.
const RUMI: [u8; 4] = *b"RUMI";
/// Maximum number of entries of its header that are looked at.
const RUMI_ENTRIES_MAX: u64 = 64;

/// Width, height and number of bands that the header of a RUMI states; `None` for other files.
fn rumi_size(read: &dyn Fn(u64, u64) -> Result<Vec<u8>>, size: u64) -> Option<[Option<u64>; 3]> {
    let head = read(0, 24.min(size))
        .ok()
        .filter(|head| head.starts_with(&RUMI))?;
    let mut found = [None; 3];
    let entries = read_u64_at(&head, 8)
        .zip(read_u64_at(&head, 16))
        .and_then(|(offset, count)| {
            let length = count.min(RUMI_ENTRIES_MAX) * 20;
            let start = offset
                .checked_add(8)
                .filter(|start| start.checked_add(length).is_some_and(|end| end <= size))?;
            read(start, length).ok()
        });
    for entry in entries.unwrap_or_default().chunks_exact(20) {
        let place = [256, 257, 277]
            .iter()
            .position(|tag| *tag == u16::from_le_bytes([entry[0], entry[1]]));
        if let Some(place) = place {
            found[place] = read_u64_at(entry, 12);
        }
    }
    Some(found)
}

fn read_u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..at + 8)?
        .try_into()
        .ok()
        .map(u64::from_le_bytes)
}

/// An error that names the codec of the TIFF of `size` bytes behind `read(offset, length)`; `None`
/// for other files, and for a codec that this build has.
pub(super) fn missing_codec(
    read: &dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
    asset: &AssetPath,
) -> Option<Error> {
    if let Some([width, height, bands]) = rumi_size(read, size) {
        let of = match (width, height) {
            (Some(width), Some(height)) => format!(
                " of {width} × {height} pixels and {} bands",
                bands.unwrap_or(1)
            ),
            _ => String::new(),
        };
        let summary = format!(
            "this is RUMI, a compressed raster{of}, whose codec this program is not built with"
        );
        let hint = "its bytes are read and copied whole; the columns rumi:minimum to rumi:p98 have \
            its statistics";
        return Some(
            Error::unsupported(summary)
                .at_place(asset)
                .hint(hint)
                .caused_by(Cause::MissingCodec),
        );
    }
    let code = tiff::compression_of(read, size).ok()??;
    let &(_, name, listed) = CODECS.iter().find(|(known, ..)| *known == code)?;
    let has = listed.is_some_and(|listed| {
        environment::tiff_compressions()
            .iter()
            .any(|known| known == listed)
    });
    if has {
        return None;
    }
    let summary = format!(
        "the pixels are compressed with {name}, a codec that this program is not built with"
    );
    let hint = "write the file with another codec by a program that has this one: gdal_translate \
        -co COMPRESS=DEFLATE IN.tif OUT.tif, \
                or rio convert IN.tif OUT.tif --co compress=deflate";
    Some(
        Error::unsupported(summary)
            .at_place(asset)
            .hint(hint)
            .caused_by(Cause::MissingCodec),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rumi_is_named_with_its_size() {
        let mut bytes = RUMI.to_vec();
        bytes.extend([1, 0, 0, 0]);
        bytes.extend(16u64.to_le_bytes());
        bytes.extend(2u64.to_le_bytes());
        for (tag, value) in [(256u16, 40u64), (257, 30)] {
            bytes.extend(tag.to_le_bytes());
            bytes.extend([4, 0]);
            bytes.extend(1u64.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        let of = |bytes: &[u8]| {
            let own = bytes.to_vec();
            let read =
                move |at: u64, length: u64| Ok(own[at as usize..(at + length) as usize].to_vec());
            missing_codec(&read, bytes.len() as u64, &AssetPath::file("cube.rumi"))
        };
        let error = of(&bytes).expect("is named");
        assert!(
            error.is_caused_by(Cause::MissingCodec) && error.to_string().contains("40 × 30 pixels"),
            "{error}"
        );
        // A header that leads out of the file is named without a size.
        bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(of(&bytes).expect("is named").to_string().contains("RUMI"));
        assert!(of(b"RUM").is_none() && of(b"").is_none());
    }
}
