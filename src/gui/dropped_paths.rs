//! Parses dropped, pasted and typed text into paths, and formats paths for display.

use std::path::{Path, PathBuf};

use crate::model::{Address, is_remote};

/// Parses pasted or typed text: a `text/uri-list`, one path a line, or `file://` addresses. With `existing`, lines that name no file
/// of this machine are skipped, so that pasting ordinary text does nothing.
pub fn parse_paths(text: &str, existing: bool) -> Vec<PathBuf> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        // GNOME's file manager puts "copy" or "cut" on the first line.
        .filter(|line| !matches!(*line, "copy" | "cut" | "x-special/nautilus-clipboard"))
        .map(parse_path)
        .filter(|path| !existing || is_remote(path) || (path.is_absolute() && path.exists()))
        .collect()
}

/// Parses one typed path: strips quotes and `file://`, expands `~`.
pub fn parse_path(text: &str) -> PathBuf {
    let text = text.trim();
    let text = strip(text, '"').or_else(|| strip(text, '\'')).unwrap_or(text);
    if let Some(address) = Address::parse(text) {
        return PathBuf::from(address.to_string());
    }
    if let Some(address) = text.strip_prefix("file://") {
        let path = address.find('/').map_or(address, |slash| &address[slash..]);
        return PathBuf::from(percent_decoded(path));
    }
    if let Some(rest) = text.strip_prefix("~/").or((text == "~").then_some(""))
        && let Some(home) = directories::BaseDirs::new()
    {
        return home.home_dir().join(rest);
    }
    PathBuf::from(text)
}

fn strip(text: &str, quote: char) -> Option<&str> {
    text.strip_prefix(quote)?.strip_suffix(quote)
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = text.get(index + 1..index + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[index], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                index += 3;
            }
            (byte, _) => {
                out.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A path for display, with the home folder as `~`.
pub fn display_path(path: &Path) -> String {
    if let Some(home) = directories::BaseDirs::new()
        && let Ok(rest) = path.strip_prefix(home.home_dir())
        && rest != Path::new("")
    {
        return format!("~/{}", rest.display());
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_addresses_and_plain_lines_are_paths() {
        let list = "# copied\r\nfile:///data/a%20b.tif\r\nfile://host/data/%C3%B1.tif\r\n\"/x y/z\"\n";
        let paths: Vec<PathBuf> = ["/data/a b.tif", "/data/ñ.tif", "/x y/z"].map(PathBuf::from).into();
        assert_eq!(parse_paths(list, false), paths);
        assert_eq!(parse_paths("copy\nfile:///a%ZZ%", false), [PathBuf::from("/a%ZZ%")]);
    }

    #[test]
    fn ordinary_text_is_no_path() {
        assert_eq!(parse_paths("/vsis3/b/a.tacozip", true), [PathBuf::from("s3://b/a.tacozip")]);
        assert!(parse_paths("a sentence\nsrc\n/no/such/file", true).is_empty());
        assert_eq!(parse_paths("/\n", true), [PathBuf::from("/")]);
    }
}
