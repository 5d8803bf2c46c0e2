//! Recognises files that refer to other data and contain no pixels: VRT, tile indexes, descriptions
//! of web services, GDALG pipelines. They are parsed as text; nothing that they refer to is opened.

use crate::error::Error;
use crate::model::AssetPath;
use crate::text::PrintableLine;

/// Maximum number of names listed.
const LISTED_NAMES_MAX: usize = 8;
/// Maximum characters per name; longer names are cut.
const LISTED_NAME_CHARACTERS: usize = 200;

/// The files and addresses to which a file without pixels refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    /// GDAL's driver name for the file: `VRT`, `WMS`, ….
    pub kind: &'static str,
    /// Distinct file names and addresses, grouped by element name; at most 8, control characters
    /// escaped, cut at 200 characters.
    pub names: Vec<String>,
    /// Number of further names in the first 64 KiB of the file.
    pub more: usize,
}

const PIPELINE: &str = "GDALG";
/// Its data and its index are files of the same stem, which can't be read without it.
const MRF: &str = "MRF";

/// Root element and driver name.
const KINDS: &[(&str, &str)] = &[
    ("<VRTDataset", "VRT"),
    ("<OGRVRTDataSource", "OGR VRT"),
    ("<OGRVRTLayer", "OGR VRT"),
    ("<OGRVRTWarpedLayer", "OGR VRT"),
    ("<OGRVRTUnionLayer", "OGR VRT"),
    ("<GDALTileIndexDataset", "GTI"),
    ("<GDAL_WMS", "WMS"),
    ("<GDAL_WMTS", "WMTS"),
    ("<WCS_GDAL", "WCS"),
    ("<MRF_META", MRF),
    ("<Dimap_Document", "DIMAP"),
    ("<xfdu:XFDU", "SAFE"),
    ("<OGRWFSDataSource", "WFS"),
];

/// Elements whose text is a file name or address.
const PATH_ELEMENTS: &[&str] = &[
    "SourceFilename",
    "SourceDataset",
    "SrcDataSource",
    "ServerUrl",
    "ServiceURL",
    "GetCapabilitiesUrl",
    "IndexDataset",
    "IndexFile",
    "DataFile",
    "Source",
    "KeywordList",
    "URL",
];

/// References in the file that starts with `head`; `None` for a file of any other type. Parses only
/// `head`.
pub fn find_references(head: &[u8]) -> Option<References> {
    let text = String::from_utf8_lossy(head);
    let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let kind = match start.as_bytes().first()? {
        b'<' => KINDS
            .iter()
            .find_map(|(begin, kind)| has_root(start, begin).then_some(*kind))?,
        b'{' if start.contains("\"gdal_streamed_alg\"") => PIPELINE,
        _ => return None,
    };
    let mut names: Vec<String> = Vec::new();
    match kind {
        PIPELINE => {
            let line = serde_json::from_str::<serde_json::Value>(start)
                .ok()
                .and_then(|json| json.get("command_line").cloned());
            add_reference_name(
                &mut names,
                line.and_then(|line| line.as_str().map(str::to_owned))
                    .unwrap_or_default(),
            );
        }
        _ => {
            for name in PATH_ELEMENTS {
                elements(start, name).for_each(|name| add_reference_name(&mut names, name));
            }
        }
    }
    let more = names.len().saturating_sub(LISTED_NAMES_MAX);
    names.truncate(LISTED_NAMES_MAX);
    Some(References {
        kind,
        names: names.into_iter().map(truncate_name).collect(),
        more,
    })
}

fn add_reference_name(names: &mut Vec<String>, name: String) {
    if !name.is_empty() && !names.contains(&name) {
        names.push(name);
    }
}

/// True when the root element starts with `begin`, case-insensitively; XML declarations, comments
/// and `<!…>` may precede it.
pub(super) fn has_root(text: &str, begin: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let skipped = if rest.starts_with("<?") {
            text_after(rest, "?>")
        } else if rest.starts_with("<!--") {
            text_after(rest, "-->")
        } else if rest.starts_with("<!") {
            text_after(rest, ">")
        } else {
            let named = rest
                .get(..begin.len())
                .is_some_and(|own| own.eq_ignore_ascii_case(begin));
            return named
                && rest[begin.len()..]
                    .starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
        };
        match skipped {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

fn text_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// Text content of every element `name`, with entities decoded.
fn elements<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let open = format!("<{name}");
    let places: Vec<usize> = text
        .match_indices(&open)
        .map(|(at, _)| at + open.len())
        .collect();
    places.into_iter().filter_map(move |at| {
        let rest = &text[at..];
        if !rest.starts_with(|c: char| c.is_whitespace() || c == '>') {
            return None;
        }
        let body = text_after(rest, ">")?;
        let body = body.split('<').next()?.trim();
        Some(unescape_xml(body))
    })
}

fn unescape_xml(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (escaped, plain)| {
        text.replace(escaped, plain)
    })
}

fn truncate_name(name: String) -> String {
    let name = name.printable_line();
    if name.chars().count() <= LISTED_NAME_CHARACTERS {
        name.into_owned()
    } else {
        name.chars()
            .take(LISTED_NAME_CHARACTERS)
            .chain(['…'])
            .collect()
    }
}

impl References {
    /// True for the header of a raster whose other files can't be read without it, as those of a
    /// virtual raster can.
    pub fn is_header(&self) -> bool {
        self.kind == MRF
    }

    /// The names on one line, separated by commas; empty when there are none.
    pub fn list(&self) -> String {
        let more = if self.more > 0 {
            format!(" and {} more", self.more)
        } else {
            String::new()
        };
        format!("{}{more}", self.names.join(", "))
    }

    /// The error for opening such a file as a member of a dataset.
    pub(super) fn refusal(&self, asset: &AssetPath) -> Error {
        let names = if self.names.is_empty() {
            String::new()
        } else {
            format!(": {}", self.list())
        };
        Error::unsupported(format!(
            "this file describes other data ({}): it holds no pixels and names where they \
                are{names}",
            self.kind
        ))
        .at_place(asset)
        .hint(
            "nothing that a dataset names is read; put the pixels themselves into the dataset, \
            for example as GeoTIFF",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_virtual_raster_names_is_told() {
        let text = "<?xml version=\"1.0\"?>\n<!-- mine -->\n<VRTDataset \
            rasterXSize=\"2\"><VRTRasterBand><SimpleSource>\
            <SourceFilename relativeToVRT=\"0\">/etc/a&amp;b.tif</SourceFilename></SimpleSource>\
            <SourceFilename>/vsicurl/http://h/x.tif</SourceFilename><SourceFilename>/etc/a&amp;\
            b.tif</SourceFilename>";
        let found = find_references(text.as_bytes()).expect("is one");
        assert_eq!(
            (found.kind, found.list().as_str()),
            ("VRT", "/etc/a&b.tif, /vsicurl/http://h/x.tif")
        );
        assert_eq!(
            find_references(
                b"\xef\xbb\xbf  <GDAL_WMS>\n<Service \
                name=\"TMS\"><ServerUrl>http://h/${z}</ServerUrl>"
            )
            .expect("one")
            .names,
            ["http://h/${z}"]
        );
        assert!(
            find_references(b"<MRF_META>\n<Raster></Raster></MRF_META>")
                .expect("is one")
                .is_header()
        );
        assert_eq!(
            find_references(b"<?xml version=\"1.0\"?><Dimap_Document name=\"x\"/>")
                .expect("is one")
                .kind,
            "DIMAP"
        );
        let pipeline = br#"{"type": "gdal_streamed_alg",
            "command_line": "gdal raster pipeline ! read /etc/x ! reproject"}"#;
        assert_eq!(
            find_references(pipeline).expect("is one").names,
            ["gdal raster pipeline ! read /etc/x ! reproject"]
        );
        for other in [
            &b"<VRTDatasetX/>"[..],
            b"<html>",
            b"{\"type\": \"Feature\"}",
            b"",
            b"II*\0",
            b"<?xml",
            b"<!-- <VRTDataset>",
        ] {
            assert_eq!(
                find_references(other),
                None,
                "{:?}",
                String::from_utf8_lossy(other)
            );
        }
    }

    #[test]
    fn many_and_long_names_are_counted_and_cut() {
        let text: String = (0..20)
            .map(|i| format!("<SourceFilename>{i}{}</SourceFilename>", "x".repeat(999)))
            .collect();
        let found = find_references(format!("<VRTDataset>{text}").as_bytes()).expect("is one");
        assert_eq!((found.names.len(), found.more), (LISTED_NAMES_MAX, 12));
        assert!(
            found
                .names
                .iter()
                .all(|name| name.chars().count() == LISTED_NAME_CHARACTERS + 1)
        );
    }
}
