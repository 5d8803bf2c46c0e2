//! Names binary files that are no tables for this program, from their first bytes.

use crate::error::Error;

/// What to do with tables of data frames.
const SAVE_TABLE: &str = "save it as Parquet, or as CSV in UTF-8";
/// What to do with packed files.
const UNPACK: &str = "unpack it first, or pack it with gzip";
/// What to do with vector files.
const CONVERT: &str = "write it as GeoJSON or CSV: ogr2ogr OUT.geojson IN";

/// First bytes, the name of the format, and what to do.
const FORMATS: [(&[u8], &str, &str); 15] = [
    (b"ARROW1\0\0", "an Arrow file (Feather)", SAVE_TABLE),
    (b"\xff\xff\xff\xff", "an Arrow stream", SAVE_TABLE),
    (b"FEA1\0\0", "a Feather file", SAVE_TABLE),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", SAVE_TABLE),
    (b"\x93NUMPY", "an array of NumPy", SAVE_TABLE),
    (b"\x80\x02", "a pickle of Python", SAVE_TABLE),
    (b"\x80\x03", "a pickle of Python", SAVE_TABLE),
    (b"\x80\x04", "a pickle of Python", SAVE_TABLE),
    (b"\x80\x05", "a pickle of Python", SAVE_TABLE),
    (
        b"SQLite format 3\0",
        "an SQLite database, such as a GeoPackage",
        CONVERT,
    ),
    (b"fgb\x03fgb", "a FlatGeobuf", CONVERT),
    (b"\xfd7zXZ\0", "packed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed with zstd", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)", UNPACK),
    (b"Rar!\x1a\x07", "an archive (rar)", UNPACK),
];
/// Follows `BZh` and a digit in files of bzip2.
const BZIP2_BLOCK: &[u8] = b"1AY&SY";

/// The error for a file that begins with `start`; `None` for other files.
pub(super) fn unread_table_error(start: &[u8]) -> Option<Error> {
    let found = FORMATS.iter().find(|(magic, ..)| start.starts_with(magic));
    let (name, hint) = match (found, start) {
        (Some((_, name, hint)), _) => (*name, *hint),
        (None, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]) if rest.starts_with(BZIP2_BLOCK) => {
            ("packed with bzip2", UNPACK)
        }
        // The version, the day of the last change and the number of rows, of which nobody has 2^24.
        (None, [0x03 | 0x30 | 0x83 | 0x8B, _, 1..=12, 1..=31, _, _, _, 0, ..]) => {
            ("a table of dBase (.dbf), as beside Shapefiles", CONVERT)
        }
        _ => return None,
    };
    Some(Error::format(format!("the metadata table is {name}, which is not read")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_files_are_named_and_texts_are_not() {
        for (start, wanted) in [
            (&b"ARROW1\0\0\xff\xff\xff\xff"[..], Some("Feather")),
            (b"\x80\x04\x95\x10\0\0", Some("pickle")),
            (b"BZh91AY&SY\x01", Some("bzip2")),
            (b"\x03\x78\x01\x01\x02\0\0\0\x61\0", Some("dBase")),
            (b"SQLite format 3\0", Some("GeoPackage")),
            (b"ARROW1,n\na,1\n", None),
            (b"BZh9,n\na,1\n", None),
            (b"007,n\na,1\n", None),
            (b"path,n\na,1\n", None),
            (b"\xff\xfep\0a\0", None),
            (b"PAR1", None),
            (b"", None),
        ] {
            let said = unread_table_error(start).map(|error| error.report());
            let shown = String::from_utf8_lossy(start);
            assert_eq!(said.is_some(), wanted.is_some(), "{shown}: {said:?}");
            assert!(
                said.unwrap_or_default()
                    .contains(wanted.unwrap_or_default())
            );
        }
    }
}
