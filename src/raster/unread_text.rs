//! Names text that no driver of this program reads, from the first bytes of a file that could not
//! be opened: vector formats in XML, packed or not, and GeoJSON in UTF-16.

use std::borrow::Cow;

use super::references::has_root;
use crate::error::Error;
use crate::files::utf16_units;

/// Bytes by which the format is known.
pub(super) const TEXT_HEAD: u64 = 4 << 10;

/// Root elements of vector formats in XML, for which GDAL needs a library that this build lacks.
const XML_VECTORS: [(&str, &str); 8] = [
    ("<kml", "KML"),
    ("<kml:kml", "KML"),
    ("<gpx", "GPX"),
    ("<FeatureCollection", "GML"),
    ("<gml:FeatureCollection", "GML"),
    ("<ogr:FeatureCollection", "GML"),
    ("<wfs:FeatureCollection", "GML"),
    ("<osm", "OpenStreetMap data"),
];

/// The error for a file that begins with `start`; `None` for other formats.
pub(super) fn unread_text_error(start: &[u8]) -> Option<Error> {
    let utf16 = decode_utf16_start(start);
    let is_utf16 = utf16.is_some();
    let text = utf16.map_or_else(|| String::from_utf8_lossy(start), Cow::Owned);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let xml = XML_VECTORS.iter().find(|(root, _)| has_root(text, root));
    let named = xml.map(|(_, name)| *name);
    if let Some(name) = named.or_else(|| is_kmz(start).then_some("KMZ")) {
        let error = Error::format(format!("this is {name}, for which there is no driver here"));
        return Some(error.hint("write it as GeoJSON or FlatGeobuf: ogr2ogr OUT.geojson IN"));
    }
    (is_utf16 && text.starts_with(['{', '['])).then(|| {
        Error::format("this is JSON in UTF-16, and readers take GeoJSON in UTF-8 alone")
            .hint("save it in UTF-8: iconv -f UTF-16 -t UTF-8 IN > OUT")
    })
}

/// True for a ZIP whose first member is KML.
fn is_kmz(start: &[u8]) -> bool {
    const ENDING: &[u8] = b".kml";
    let ending = name_of_first_member(start).and_then(|name| name.last_chunk::<4>());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// The name in the local header at the beginning of a ZIP (APPNOTE 4.3.7).
fn name_of_first_member(start: &[u8]) -> Option<&[u8]> {
    let header = start.strip_prefix(b"PK\x03\x04")?;
    let length = u16::from_le_bytes(*header.get(22..)?.first_chunk::<2>()?);
    header.get(26..)?.get(..usize::from(length))
}

/// The text of bytes in UTF-16, which may end within a character.
fn decode_utf16_start(start: &[u8]) -> Option<String> {
    let (is_little, units) = utf16_units(start)?;
    let decode = if is_little {
        u16::from_le_bytes
    } else {
        u16::from_be_bytes
    };
    let decoded = char::decode_utf16(units.iter().map(|pair| decode(*pair)));
    Some(
        decoded
            .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn text_formats_without_a_driver_are_named() {
        let kml = "<?xml version=\"1.0\"?>\n<!-- fields -->\n<kml xmlns=\"x\"><Document/></kml>";
        let marked = [
            &b"\xff\xfe"[..],
            &utf16("{\"type\": \"FeatureCollection\"}"),
        ]
        .concat();
        // Local headers of a ZIP: the name has seven bytes.
        let packed = |name: &str| {
            let header = [&b"PK\x03\x04"[..], &[0; 22], &[7, 0, 0, 0]].concat();
            [header.as_slice(), name.as_bytes(), b"data"].concat()
        };
        for (start, wanted) in [
            (packed("doc.kml"), Some("KMZ")),
            (packed("DOC.KML"), Some("KMZ")),
            (packed("doc.tif"), None),
            (packed("d.kml"), None),
            (b"PK\x03\x04".to_vec(), None),
            (
                b"<osm version=\"0.6\"></osm>".to_vec(),
                Some("OpenStreetMap"),
            ),
            (kml.as_bytes().to_vec(), Some("KML")),
            (utf16(kml), Some("KML")),
            (b"<gpx version=\"1.1\"></gpx>".to_vec(), Some("GPX")),
            (b"<gml:FeatureCollection />".to_vec(), Some("GML")),
            (marked, Some("UTF-16")),
            (utf16("[1, 2]"), Some("UTF-16")),
            (utf16("path,crop"), None),
            (b"{\"type\": \"FeatureCollection\"}".to_vec(), None),
            (b"<annotation></annotation>".to_vec(), None),
            (b"II*\0\x08\0\0\0".to_vec(), None),
            (Vec::new(), None),
        ] {
            let error = unread_text_error(&start).map(|error| error.report());
            let shown = String::from_utf8_lossy(&start);
            assert_eq!(error.is_some(), wanted.is_some(), "{shown}");
            let said = error.unwrap_or_default();
            assert!(said.contains(wanted.unwrap_or_default()), "{shown}: {said}");
        }
    }
}
