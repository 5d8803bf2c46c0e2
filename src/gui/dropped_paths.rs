//! Parses dropped, pasted and typed text into paths, and formats paths for display.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Address, is_remote, path_of_file_url};

/// Parses pasted or typed text: a `text/uri-list`, one path a line, or `file://` addresses.
pub fn parse_paths(text: &str) -> Vec<PathBuf> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        // GNOME's file manager puts "copy" or "cut" on the first line.
        .filter(|line| !matches!(*line, "copy" | "cut" | "x-special/nautilus-clipboard"))
        .map(parse_path)
        .collect()
}

/// The lines of pasted text that may name something: addresses and whole paths. Ordinary text has
/// none; [`keep_existing_paths`] removes what names no file of this machine.
pub fn parse_pasted_paths(text: &str) -> Vec<PathBuf> {
    let mut paths = parse_paths(text);
    paths.retain(|path| is_remote(path) || path.is_absolute());
    paths
}

/// Keeps addresses, and paths that exist. Looks at the disk, which may not respond.
pub fn keep_existing_paths(mut paths: Vec<PathBuf>, ctx: &JobContext) -> Result<Vec<PathBuf>> {
    paths.retain(|path| is_remote(path) || (!ctx.is_cancelled() && path.exists()));
    ctx.check()?;
    Ok(paths)
}

/// Parses one typed path: strips quotes and `file://`, expands `~`.
pub fn parse_path(text: &str) -> PathBuf {
    let text = text.trim();
    let text = strip(text, '"')
        .or_else(|| strip(text, '\''))
        .unwrap_or(text);
    if let Some(address) = Address::parse(text) {
        return PathBuf::from(address.to_string());
    }
    if let Some(path) = path_of_file_url(text) {
        return path;
    }
    if let Some(rest) = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with(std::path::is_separator))
        && let Some(home) = directories::BaseDirs::new()
    {
        return home
            .home_dir()
            .join(rest.trim_start_matches(std::path::is_separator));
    }
    PathBuf::from(text)
}

fn strip(text: &str, quote: char) -> Option<&str> {
    text.strip_prefix(quote)?.strip_suffix(quote)
}

/// A path for display, with the home folder as `~` where systems write it so.
pub fn display_path(path: &Path) -> String {
    if cfg!(unix)
        && let Some(home) = directories::BaseDirs::new()
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
        let list = "# copied\r\nfile:///C:/data/a%20b.tif\r\nfile:///%C3%B1.tif\r\n\"/x y/z\"\n";
        let drive = if cfg!(windows) {
            "C:\\data\\a b.tif"
        } else {
            "/C:/data/a b.tif"
        };
        assert_eq!(
            parse_paths(list),
            [drive, "/ñ.tif", "/x y/z"].map(PathBuf::from)
        );
    }

    #[test]
    fn the_home_folder_is_written_short_and_read_back() {
        let home = directories::BaseDirs::new()
            .expect("a home folder")
            .home_dir()
            .to_owned();
        for path in [home.join("a/b.tif"), home.clone(), PathBuf::from("/~/x")] {
            assert_eq!(parse_path(&display_path(&path)), path);
        }
        assert_eq!(
            (parse_path("~"), parse_path("~/x"), parse_path("~x")),
            (home.clone(), home.join("x"), PathBuf::from("~x"))
        );
    }

    #[test]
    fn ordinary_text_is_no_path() {
        let find = |text: &str| {
            let paths = parse_pasted_paths(text);
            keep_existing_paths(paths, &JobContext::default()).expect("is not cancelled")
        };
        assert!(parse_pasted_paths("a sentence\nsrc").is_empty());
        assert_eq!(
            find("/vsis3/b/a.tacozip"),
            [PathBuf::from("s3://b/a.tacozip")]
        );
        assert!(find("a sentence\nsrc\n/no/such/file").is_empty());
        let root = if cfg!(windows) { "C:\\" } else { "/" };
        assert_eq!(
            find(&format!("{root}\n/no/such/file")),
            [PathBuf::from(root)]
        );
    }
}
