//! Coordinate systems from texts. Texts of datasets and of raster files are untrusted: PROJ and
//! GDAL would open the grids, init files and dictionaries that they name. [`spatial_ref_of`] is the
//! only function that makes a system from a text, and refuses such texts; `proj_files` keeps PROJ
//! from opening files besides.

use std::ffi::{CString, c_char};
use std::sync::LazyLock;

use gdal::spatial_ref::SpatialRef;
use regex::Regex;

use super::crs_code::crs_code;
use super::{environment, gdal_errors};
use crate::error::{Cause, Error, Result};
use crate::text::PrintableLine;

/// Maximum length of a text in bytes. The longest systems of the EPSG database have some thousands
/// as WKT.
const LENGTH_MAX: usize = 1 << 18;
/// Characters of a text that messages quote.
const QUOTED_MAX: usize = 60;

struct CrsTextPatterns {
    /// Parameters of PROJ whose values are names of files, in strings and in WKT that contains
    /// strings.
    file_parameters: Regex,
    /// Grids in WKT 1: `EXTENSION["PROJ4_GRIDS","egm96_15.gtx"]`.
    grid_extension: Regex,
    /// Files in WKT 2: `PARAMETERFILE["Geoid model file","egm96.gtx"]`.
    parameter_file: Regex,
    /// WKT: a keyword and a bracket.
    wkt: Regex,
    /// Init "files" that PROJ takes from its database.
    database_code: Regex,
}

impl CrsTextPatterns {
    fn compile() -> Result<Self, regex::Error> {
        let names = "nadgrids|geoidgrids|hgrids|vgrids|grids|xy_grids|z_grids|t_grids|catalog|init\
            |file|model";
        Ok(Self {
            file_parameters: Regex::new(&format!(
                r#"(?i)(?:^|[^a-z0-9_])({names})\s*=[\s"]*([^\s"\[\]]*)"#
            ))?,
            grid_extension: Regex::new(r#"(?i)PROJ4_GRIDS[\s"]*,?[\s"]*([^\s"\[\]()]*)"#)?,
            parameter_file: Regex::new(
                r#"(?i)PARAMETERFILE\s*[\[(](?:\s*"[^"]*"\s*,\s*"?([^"\[\]()]*))?"#,
            )?,
            wkt: Regex::new(r"^\s*[A-Za-z_0-9]+\s*[\[(]")?,
            database_code: Regex::new(r"^(?i:epsg|ignf):\w+$")?,
        })
    }
}

/// Compiled at the first use. A test checks that all patterns compile.
static PATTERNS: LazyLock<Option<CrsTextPatterns>> =
    LazyLock::new(|| CrsTextPatterns::compile().ok());

/// The file, address or dictionary that the text of a coordinate system names; `None` for a text
/// that names none. Grids called `null` are none.
pub fn file_named_by_crs(text: &str) -> Option<String> {
    let quoted = text.replace(['\u{201c}', '\u{201d}'], "\"");
    let text = quoted.trim_start();
    let found = if text.starts_with('{') {
        // Escaped characters of JSON are decoded; what is not JSON is looked at as it is.
        match serde_json::from_str(text) {
            Ok(json) => file_in_json(&json),
            Err(_) => file_in_text(text),
        }
    } else {
        path_of(text).or_else(|| file_in_text(text))
    };
    found.map(|name| truncate_text(&name).printable_line().to_string())
}

/// A text that is a path or an address itself, which GDAL would read.
fn path_of(text: &str) -> Option<String> {
    let lower = text
        .get(..LENGTH_MAX.min(text.len()))
        .unwrap_or(text)
        .trim_end()
        .to_ascii_lowercase();
    let is_path = ["/", "\\", "./", ".\\", "../", "..\\", "~", "file:", "dict:"]
        .iter()
        .any(|start| lower.starts_with(start))
        || matches!(lower.as_bytes(), [b'a'..=b'z', b':', b'/' | b'\\', ..]);
    let known = [
        "http://opengis.net/def/crs",
        "http://www.opengis.net/def/crs",
        "https://www.opengis.net/def/crs",
    ];
    let is_address = ["http:", "https:", "ftp:"]
        .iter()
        .any(|start| lower.starts_with(start))
        && !known.iter().any(|start| lower.starts_with(start));
    (is_path || is_address).then(|| text.trim_end().to_owned())
}

/// Returns the whole text when the patterns are missing, so that nothing is let through unchecked.
fn file_in_text(text: &str) -> Option<String> {
    let Some(patterns) = PATTERNS.as_ref() else {
        return Some(text.to_owned());
    };
    for found in patterns.file_parameters.captures_iter(text) {
        let (Some(name), Some(value)) = (found.get(1), found.get(2)) else {
            continue;
        };
        let (name, value) = (name.as_str().to_ascii_lowercase(), value.as_str());
        let is_harmless = match name.as_str() {
            "init" => patterns.database_code.is_match(value),
            _ => is_null_grid(value),
        };
        if !is_harmless {
            return Some(format!("{name}={value}"));
        }
    }
    if let Some(found) = patterns.parameter_file.captures(text) {
        return Some(
            found
                .get(1)
                .map_or("PARAMETERFILE", |name| name.as_str())
                .to_owned(),
        );
    }
    let grids = patterns.grid_extension.captures_iter(text);
    grids
        .filter_map(|found| found.get(1))
        .map(|grids| grids.as_str())
        .find(|grids| !is_null_grid(grids))
        .map(str::to_owned)
}

/// True for a list of grids that are all `null`: no shift, and no file.
fn is_null_grid(grids: &str) -> bool {
    grids
        .split(',')
        .all(|grid| grid.strip_prefix('@').unwrap_or(grid) == "null")
}

/// A file in PROJJSON: a parameter whose value is a text, or a PROJ string in a name.
fn file_in_json(json: &serde_json::Value) -> Option<String> {
    match json {
        serde_json::Value::String(text) => file_in_text(text),
        serde_json::Value::Array(items) => items.iter().find_map(file_in_json),
        serde_json::Value::Object(fields) => {
            let stated = fields.get("value").and_then(serde_json::Value::as_str);
            stated
                .map(str::to_owned)
                .or_else(|| fields.values().find_map(file_in_json))
        }
        _ => None,
    }
}

/// The coordinate system of a text: a code, WKT, PROJ string or PROJJSON. Opens no file and makes
/// no request.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown coordinate system, or with
/// [`Cause::CrsNamesFile`] for one that names a file.
pub(super) fn spatial_ref_of(text: &str) -> Result<SpatialRef> {
    environment::init();
    if text.len() > LENGTH_MAX {
        let summary = format!(
            "the coordinate system {} has {} bytes",
            truncate_text(text),
            text.len()
        );
        return Err(Error::too_large(summary).hint("write it as EPSG:4326, WKT or PROJ"));
    }
    if let Some(file) = file_named_by_crs(text) {
        return Err(names_file(text, &file));
    }
    let (known, said) = gdal_errors::listen(|| parse_crs_text(text));
    let known = known.map_err(|error| unknown_crs(text, &said, &error))?;
    // What was read may name files in a form that the text hid.
    let (forms, _said) = gdal_errors::listen(|| [known.to_wkt().ok(), wkt2_of(&known)]);
    match forms.iter().flatten().find_map(|form| file_in_text(form)) {
        Some(file) => Err(names_file(text, &file)),
        None => Ok(known),
    }
}

/// `AUTHORITY:CODE` of the coordinate system of a text; `None` for one without a code, and for a
/// text that names none.
pub fn code_of_crs(text: &str) -> Option<String> {
    crs_code(&spatial_ref_of(text).ok()?)
}

/// The error of GDAL or of PROJ as that of an unknown system.
pub(super) fn unknown_crs(
    text: &str,
    said: &[gdal_errors::GdalMessage],
    error: &gdal::errors::GdalError,
) -> Error {
    let summary = Error::usage(format!(
        "the coordinate system {} is not known",
        truncate_text(text)
    ));
    gdal_errors::because(summary, said, Some(error)).hint("write it as EPSG:4326, WKT or PROJ")
}

fn names_file(text: &str, file: &str) -> Error {
    let quoted = truncate_text(text);
    let (text, file) = (quoted.printable_line(), file.printable_line());
    Error::usage(format!(
        "the coordinate system {text} names a file ({file}), which is not opened"
    ))
    .hint("write the code of the system, such as EPSG:32718, or WKT without grids")
    .caused_by(Cause::CrsNamesFile)
}

/// The first characters of a text.
pub(super) fn truncate_text(text: &str) -> String {
    if text.chars().count() <= QUOTED_MAX {
        text.to_owned()
    } else {
        text.chars().take(QUOTED_MAX).chain(['…']).collect()
    }
}

/// Network and file access are off: GDAL would also accept a URL or file name.
fn parse_crs_text(text: &str) -> gdal::errors::Result<SpatialRef> {
    if PATTERNS
        .as_ref()
        .is_some_and(|patterns| patterns.wkt.is_match(text))
        && let Ok(known) = SpatialRef::from_wkt(text)
    {
        return Ok(known);
    }
    let definition = CString::new(text)?;
    let known = SpatialRef::new()?;
    let options = [
        c"ALLOW_NETWORK_ACCESS=NO".as_ptr(),
        c"ALLOW_FILE_ACCESS=NO".as_ptr(),
        std::ptr::null(),
    ];
    // Safety: a handle that lives during the call, a C string, and a list of C strings that ends
    // with NULL.
    let code = unsafe {
        gdal_sys::OSRSetFromUserInputEx(
            known.to_c_hsrs(),
            definition.as_ptr(),
            options.as_ptr().cast_mut().cast(),
        )
    };
    match code {
        gdal_sys::OGRErr::OGRERR_NONE => Ok(known),
        err => Err(gdal::errors::GdalError::OgrError {
            err,
            method_name: "OSRSetFromUserInputEx",
        }),
    }
}

/// The system as WKT 2, which has parameters that WKT 1 leaves out.
fn wkt2_of(known: &SpatialRef) -> Option<String> {
    let options = [c"FORMAT=WKT2_2019".as_ptr(), std::ptr::null()];
    let mut text: *mut c_char = std::ptr::null_mut();
    // Safety: a handle that lives during the call, a pointer to a pointer, and a list of C strings
    // that ends with NULL. The text belongs to the caller and is freed with GDAL's function.
    unsafe {
        let code = gdal_sys::OSRExportToWktEx(known.to_c_hsrs(), &mut text, options.as_ptr());
        let wkt = (code == gdal_sys::OGRErr::OGRERR_NONE && !text.is_null()).then(|| {
            std::ffi::CStr::from_ptr(text)
                .to_string_lossy()
                .into_owned()
        });
        gdal_sys::VSIFree(text.cast());
        wkt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_name_files_are_told_by_the_name() {
        let wkt = |datum: &str, more: &str| {
            format!(
                "GEOGCS[\"x\",DATUM[\"d\",SPHEROID[\"s\",6378137,298.257223563]{datum}],\
                    PRIMEM[\"Greenwich\",0],\
                 UNIT[\"degree\",0.0174532925199433]{more}]"
            )
        };
        let json = r#"{"type":"BoundCRS","transformation":{"parameters":[{"name":"file",
            "value":"\u002fetc/passwd"}]}}"#;
        let method = r#"{"type":"ProjectedCRS",
            "method":{"name":"PROJ-based operation method: +proj=hgridshift \u002bgrids=a.gsb"}}"#;
        for (text, name) in [
            (
                "+proj=longlat +nadgrids=/etc/passwd".to_owned(),
                "nadgrids=/etc/passwd",
            ),
            (
                "+proj=longlat +nadgrids=@null,/etc/passwd".into(),
                "nadgrids=@null,/etc/passwd",
            ),
            (
                "+proj=longlat +NadGrids = \"../a b.gsb\"".into(),
                "nadgrids=../a",
            ),
            (
                "+proj=longlat +nadgrids=a.gsb +type=crs".into(),
                "nadgrids=a.gsb",
            ),
            (
                "proj=longlat\ngeoidgrids=/dev/stdin".into(),
                "geoidgrids=/dev/stdin",
            ),
            ("+init=/etc/passwd:root".into(), "init=/etc/passwd:root"),
            (
                "+init=epsg:4326 +init=/etc/passwd:root".into(),
                "init=/etc/passwd:root",
            ),
            (
                "+proj=pipeline +step +proj=tinshift +file=a.json".into(),
                "file=a.json",
            ),
            (
                "+proj=pipeline +step +proj=defmodel +model=a.json".into(),
                "model=a.json",
            ),
            (
                "+proj=pipeline +step +proj=vgridshift +grids=a.gtx".into(),
                "grids=a.gtx",
            ),
            (
                wkt(",EXTENSION[\"PROJ4_GRIDS\",\"/etc/passwd\"]", ""),
                "/etc/passwd",
            ),
            (
                wkt(
                    ",EXTENSION[\u{201c}PROJ4_GRIDS\u{201d},\u{201c}/etc/passwd\u{201d}]",
                    "",
                ),
                "/etc/passwd",
            ),
            (
                wkt(
                    "",
                    ",EXTENSION[\"PROJ4\",\"+proj=longlat +nadgrids=/etc/passwd\"]",
                ),
                "nadgrids=/etc/passwd",
            ),
            (
                "BOUNDCRS[SOURCECRS[x],PARAMETERFILE[\"Geoid file\",\"/etc/passwd\"]]".into(),
                "/etc/passwd",
            ),
            (json.into(), "/etc/passwd"),
            (method.into(), "grids=a.gsb"),
            ("/etc/passwd".into(), "/etc/passwd"),
            (" ../system.wkt".into(), "../system.wkt"),
            ("C:\\system.wkt".into(), "C:\\system.wkt"),
            ("file:///etc/passwd".into(), "file:///etc/passwd"),
            (
                "DICT:../../etc/passwd,root".into(),
                "DICT:../../etc/passwd,root",
            ),
            (
                "/vsicurl/http://127.0.0.1/x".into(),
                "/vsicurl/http://127.0.0.1/x",
            ),
            (
                "http://127.0.0.1/EPSG:4326".into(),
                "http://127.0.0.1/EPSG:4326",
            ),
        ] {
            assert_eq!(file_named_by_crs(&text).as_deref(), Some(name), "{text}");
            let error = spatial_ref_of(&text).expect_err(&text);
            assert!(
                error.is_caused_by(Cause::CrsNamesFile) && error.summary().contains(name),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn usual_texts_name_no_file() {
        environment::init();
        for text in [
            "EPSG:4326",
            "epsg:3857",
            "OGC:CRS84",
            "IAU_2015:49900",
            "ESRI:54009",
            "WGS84",
            "urn:ogc:def:crs:EPSG::32718",
            "http://www.opengis.net/def/crs/EPSG/0/4326",
            "+init=epsg:32718",
            "+proj=utm +zone=18 +datum=WGS84",
            "+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m \
                +nadgrids=@null +wktext +no_defs",
            "+proj=longlat +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7",
        ] {
            assert_eq!(file_named_by_crs(text), None, "{text}");
            let known =
                spatial_ref_of(text).unwrap_or_else(|error| panic!("{text}: {}", error.report()));
            // And as each form of WKT.
            for wkt in [known.to_wkt().ok(), wkt2_of(&known)].into_iter().flatten() {
                assert!(spatial_ref_of(&wkt).is_ok(), "{text}: {wkt}");
            }
        }
        let error = spatial_ref_of("EPSG:999999").expect_err("is not known");
        assert!(!error.is_caused_by(Cause::CrsNamesFile), "{error}");
        let long = format!("+proj=longlat +title={}", "x".repeat(LENGTH_MAX));
        assert!(spatial_ref_of(&long).is_err_and(|error| error.is_too_large()));
    }
}
