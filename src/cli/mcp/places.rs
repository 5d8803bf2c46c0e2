//! The folders and addresses to which the paths of requests are limited.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, IoContext, Result};
use crate::model::Address;

/// Prefix of GDAL's virtual file systems. Those that are no address read archives, memory and
/// standard input.
const VSI: &str = "/vsi";

/// Folders and addresses. A path is admitted when it is one of them or below one.
#[derive(Clone, Debug)]
pub struct AllowedPlaces {
    /// Without links.
    folders: Vec<PathBuf>,
    addresses: Vec<Address>,
    /// Where relative paths start.
    base: PathBuf,
}

impl AllowedPlaces {
    /// Those that are named, or the current folder.
    ///
    /// # Errors
    /// For a folder that does not exist.
    pub fn new(named: &[PathBuf]) -> Result<Self> {
        let current = || std::env::current_dir().io_at("find the current folder", ".");
        let mut places = Self {
            folders: Vec::new(),
            addresses: Vec::new(),
            base: PathBuf::new(),
        };
        for place in named {
            match Address::from_path(place) {
                Some(address) => places.addresses.push(address),
                None => places
                    .folders
                    .push(place.canonicalize().io_at("open the folder", place)?),
            }
        }
        if named.is_empty() {
            places.folders.push(
                current()?
                    .canonicalize()
                    .io_at("open the current folder", ".")?,
            );
        }
        places.base = match places.folders.first() {
            Some(folder) => folder.clone(),
            None => current()?,
        };
        Ok(places)
    }

    /// The path of a request: a relative one starts at the first folder.
    pub fn resolve_path(&self, path: &Path) -> PathBuf {
        if Address::from_path(path).is_some() {
            path.to_owned()
        } else {
            self.base.join(path)
        }
    }

    /// Checks that a path is inside. Links are followed first, so that none leads out.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] with the folders and addresses that may be named.
    pub fn admit(&self, path: &Path) -> Result<()> {
        let is_inside = match Address::from_path(path) {
            Some(address) => self
                .addresses
                .iter()
                .any(|allowed| is_below(&address, allowed)),
            None if path.to_str().is_some_and(|text| text.starts_with(VSI)) => false,
            None => {
                let real = real_path(path)?;
                self.folders.iter().any(|folder| real.starts_with(folder))
            }
        };
        if is_inside {
            return Ok(());
        }
        let error =
            Error::usage("the path is outside the folders that requests may name").at_path(path);
        Err(error.hint(format!(
            "the folders are {}; the user names others when `taco-studio mcp` starts",
            self.format_places()
        )))
    }

    /// All of them, for messages.
    pub fn format_places(&self) -> String {
        let folders = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        folders
            .chain(self.addresses.iter().map(ToString::to_string))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// True for an address that is `allowed` or below it. Segments that lead upwards are below nothing.
fn is_below(address: &Address, allowed: &Address) -> bool {
    let folder = allowed.path.trim_end_matches('/');
    let rest = address.path.strip_prefix(folder);
    address.scheme == allowed.scheme
        && address.authority.eq_ignore_ascii_case(&allowed.authority)
        && rest.is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('/'))
        && !leads_upwards(&address.path)
}

fn leads_upwards(path: &str) -> bool {
    path.split('/').any(|segment| {
        matches!(
            segment.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    })
}

/// The path without links: what exists of it is resolved, the names of what does not are appended.
///
/// # Errors
/// For a link that leads nowhere, for `..` behind what exists, and for folders that can't be read.
fn real_path(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).io_at("resolve the path", path)?;
    let existing = absolute
        .ancestors()
        .find(|part| part.symlink_metadata().is_ok())
        .unwrap_or(Path::new("/"));
    let mut real = existing.canonicalize().io_at("resolve the path", path)?;
    for part in absolute.components().skip(existing.components().count()) {
        let Component::Normal(name) = part else {
            return Err(
                Error::usage("the path has .. behind a folder that does not exist").at_path(path),
            );
        };
        real.push(name);
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(places: &AllowedPlaces, path: impl AsRef<Path>) -> bool {
        places.admit(path.as_ref()).is_ok()
    }

    #[test]
    fn paths_below_a_named_folder_are_admitted_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).expect("is made");
        std::fs::write(folder.path().join("secret"), "x").expect("is written");
        let places = AllowedPlaces::new(std::slice::from_ref(&inside)).expect("exists");
        assert!(admits(&places, inside.join("new/set.tacozip")) && admits(&places, &inside));
        assert!(admits(
            &places,
            places.resolve_path(Path::new("set.tacozip"))
        ));
        for outside in [
            "../secret",
            "new/../../secret",
            "..",
            "../inside2/a",
            "/etc/passwd",
            "/vsistdin/",
            "/vsizip//etc/a.zip",
        ] {
            assert!(
                !admits(&places, places.resolve_path(Path::new(outside))),
                "{outside}"
            );
        }
        assert!(AllowedPlaces::new(&[folder.path().join("none")]).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).expect("is made");
        std::os::unix::fs::symlink(folder.path(), inside.join("up")).expect("is made");
        std::os::unix::fs::symlink(folder.path().join("later"), inside.join("dangling"))
            .expect("is made");
        let places = AllowedPlaces::new(std::slice::from_ref(&inside)).expect("exists");
        for outside in ["up/a", "up", "dangling", "dangling/a"] {
            assert!(
                !admits(&places, places.resolve_path(Path::new(outside))),
                "{outside}"
            );
        }
    }

    #[test]
    fn addresses_are_admitted_below_those_that_are_named() {
        let places = AllowedPlaces::new(&["https://host/data/".into(), "s3://bucket".into()])
            .expect("are addresses");
        for inside in [
            "https://host/data/a.tacozip",
            "https://HOST/data",
            "/vsicurl/https://host/data/b",
            "s3://bucket/any/a",
        ] {
            assert!(admits(&places, inside), "{inside}");
        }
        for outside in [
            "https://host/database/a",
            "https://other/data/a",
            "http://host/data/a",
            "https://host/data/%2E%2e/a",
            "s3://bucket2/a",
            "a",
        ] {
            assert!(!admits(&places, outside), "{outside}");
        }
    }
}
