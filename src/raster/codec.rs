//! Names the codec of a TIFF that GDAL can't open because this build lacks it.

use super::{environment, tiff};
use crate::error::{Cause, Error, Result};
use crate::model::AssetPath;

/// TIFF compression codes with the name by which GDAL lists the codec; those with `None` are in every build, or in none.
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

/// An error that names the codec of the TIFF of `size` bytes behind `read(offset, length)`; `None` for other files, and for a codec that
/// this build has.
pub(super) fn missing_codec(read: &dyn Fn(u64, u64) -> Result<Vec<u8>>, size: u64, asset: &AssetPath) -> Option<Error> {
    let code = tiff::compression_of(read, size).ok()??;
    let &(_, name, listed) = CODECS.iter().find(|(known, ..)| *known == code)?;
    let has = listed.is_some_and(|listed| environment::tiff_compressions().iter().any(|known| known == listed));
    if has {
        return None;
    }
    let summary = format!("the pixels are compressed with {name}, a codec that this program is not built with");
    let hint = "write the file with another codec by a program that has this one: gdal_translate -co COMPRESS=DEFLATE IN.tif OUT.tif, \
                or rio convert IN.tif OUT.tif --co compress=deflate";
    Some(Error::unsupported(summary).at(asset).hint(hint).caused_by(Cause::MissingCodec))
}
