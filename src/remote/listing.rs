//! The files below a folder of a server: objects of a store, files of a hub's repository, or the
//! pages that web servers make of folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::file::RemoteFile;
use super::upload::sized_objects_below;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Address, HubListing};

/// Longest list of a repository, and longest page of a folder, in bytes.
const LIST_MAX: u64 = 64 << 20;
/// Maximum number of files that are listed and of pages that are requested, and depth of folders.
const FILES_MAX: usize = 2_000_000;
const PAGES_MAX: usize = 10_000;
const SERVER_FOLDER_DEPTH_MAX: usize = 32;

/// A file of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its address.
    pub place: PathBuf,
    /// Its path below the folder, with `/`.
    pub below: String,
    /// Its size in bytes, where the list states it.
    pub size: Option<u64>,
}

impl ListedFile {
    /// A file of unknown size; `None` when its address does not begin with that of the folder.
    fn of_unknown_size(place: String, folder: &str) -> Option<Self> {
        let below = percent_decode_str(place.strip_prefix(folder)?)
            .decode_utf8_lossy()
            .into_owned();
        Some(Self {
            place: PathBuf::from(place),
            below,
            size: None,
        })
    }
}

/// The files below a remote folder, sorted by their paths.
///
/// # Errors
/// When the server refuses a list, answers with something else, or can't be reached; for more files
/// than are listed; cancellation.
pub fn list_files(folder: &Path, ctx: &JobContext) -> Result<Vec<ListedFile>> {
    let address = Address::from_path(folder).ok_or_else(|| {
        Error::usage("this is not the address of a remote folder").at_path(folder)
    })?;
    let mut found = match HubListing::from_address(&address) {
        Some(_) => files_of_repository(&address)?,
        None if address.is_web() => files_of_pages(&address, ctx)?,
        None => {
            let objects = sized_objects_below(folder)?.into_iter();
            let files = objects.map(|(below, size)| ListedFile {
                place: PathBuf::from(address.child(&below).to_string()),
                below,
                size,
            });
            files.collect()
        }
    };
    // Consoles of stores make empty objects of folders.
    found.retain(|file| !file.below.is_empty() && !file.below.ends_with('/'));
    if found.len() > FILES_MAX {
        return Err(too_many(&address));
    }
    found.sort_by(|a, b| a.below.cmp(&b.below));
    Ok(found)
}

fn too_many(address: &Address) -> Error {
    Error::unsupported("the folder has more files than are listed")
        .at_place(address)
        .hint("name a folder in it")
}

/// The addresses of the files of a hub's repository, by one request; `None` on other servers.
///
/// # Errors
/// When the hub refuses the list, or answers with something else.
pub fn hub_files(address: &Address) -> Result<Option<Vec<String>>> {
    let Some(listing) = HubListing::from_address(address) else {
        return Ok(None);
    };
    // Hubs answer without ranges.
    let file = RemoteFile::open(Path::new(&listing.request), LIST_MAX)?;
    if file.size_bytes() > LIST_MAX {
        return Err(
            Error::too_large("the list of the repository is too long").at_place(&listing.request)
        );
    }
    let files = listing.files(&file.read(0, file.size_bytes())?);
    files
        .ok_or_else(|| {
            Error::format("the hub answered with no list of files").at_place(&listing.request)
        })
        .map(Some)
}

fn files_of_repository(folder: &Address) -> Result<Vec<ListedFile>> {
    let above = format!("{}/", folder.to_string().trim_end_matches('/'));
    Ok(hub_files(folder)?
        .unwrap_or_default()
        .into_iter()
        .filter_map(|place| ListedFile::of_unknown_size(place, &above))
        .collect())
}

/// The files that the pages of a folder and the folders in it link to.
fn files_of_pages(folder: &Address, ctx: &JobContext) -> Result<Vec<ListedFile>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(String::new(), 0)];
    let mut pages = 0;
    while let Some((below, depth)) = folders.pop() {
        ctx.check()?;
        pages += 1;
        if pages > PAGES_MAX || depth > SERVER_FOLDER_DEPTH_MAX || files.len() > FILES_MAX {
            return Err(too_many(folder));
        }
        // With a slash: the page of the folder.
        let page = if below.is_empty() {
            folder.child("")
        } else {
            folder.child(&below)
        };
        let file = RemoteFile::open(Path::new(&page.to_string()), LIST_MAX)?;
        if file.size_bytes() > LIST_MAX {
            return Err(Error::too_large("the page of the folder is too long").at_place(&page));
        }
        let text = file.read(0, file.size_bytes())?;
        let text = String::from_utf8_lossy(&text);
        if !text.trim_start().starts_with('<') {
            return Err(
                Error::format("the server has no page with the files of this folder")
                    .at_place(&page),
            );
        }
        for name in links_below(&text, &page) {
            let path = format!("{below}{name}");
            if path.ends_with('/') {
                folders.push((path, depth + 1))
            } else {
                let place = PathBuf::from(folder.child(&path).to_string());
                files.insert(
                    path.clone(),
                    ListedFile {
                        place,
                        below: path,
                        size: None,
                    },
                );
            }
        }
        ctx.step(1);
    }
    Ok(files.into_values().collect())
}

/// The names of files and, with a slash, of folders directly below `page` that it links to.
fn links_below(html: &str, page: &Address) -> Vec<String> {
    let own = page.to_string();
    let path = own.strip_prefix(&page.origin()).unwrap_or_default();
    let mut names: Vec<String> = hrefs(html)
        .filter_map(|href| {
            let href = href.split(['?', '#']).next()?;
            let rest = href
                .strip_prefix(&own)
                .or_else(|| href.strip_prefix(path).filter(|_| href.starts_with('/')));
            let name = rest.unwrap_or(href).trim_start_matches("./");
            let name = percent_decode_str(&unescape_xml(name))
                .decode_utf8()
                .ok()?
                .into_owned();
            let plain = name.strip_suffix('/').unwrap_or(&name);
            let is_child = !plain.is_empty()
                && plain != ".."
                && !plain.contains(['/', '\\', '\0'])
                && !plain.contains("://");
            (is_child && !plain.starts_with("mailto:") && !plain.starts_with("javascript:"))
                .then_some(name)
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The values of the attributes `href` of anchors.
fn hrefs(html: &str) -> impl Iterator<Item = &str> {
    let lower = html.to_ascii_lowercase();
    let anchors: Vec<usize> = lower.match_indices("<a").map(|(at, _)| at).collect();
    anchors.into_iter().filter_map(move |at| {
        let end = at + html[at..].find('>')?;
        let begin = at + lower[at..end].find("href")? + 4;
        let value = html[begin..end]
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split(quote).next(),
            _ => value.split_whitespace().next(),
        }
    })
}

/// A text with the five entities of XML replaced.
fn unescape_xml(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_web_servers_name_files_and_folders() {
        let page = Address::parse("https://host/data/set/").expect("an address");
        // Apache, nginx, Python, Caddy and S3-like pages.
        let html = r##"<html><a href="?C=N;O=D">Name</a> <a href="/data/">Parent</a> <A HREF='../'>..</A>
            <a href="a%20b.tif">a b.tif</a>
            <a class=x href=sub/>sub</a> <a href="./c&amp;d.tif">c</a>
            <a href="/data/set/e.tif">e</a> <a href="https://host/data/set/f.tif?x=1">f</a> <a href="https://other/g.tif">g</a>
            <a href="mailto:x@y">m</a> <a href="#top">t</a> <a href="/etc/passwd">p</a> <a href="h/../../x">u</a><a href="a%2Fb">v</a>"##;
        assert_eq!(
            links_below(html, &page),
            ["a b.tif", "c&d.tif", "e.tif", "f.tif", "sub/"]
        );
    }
}
