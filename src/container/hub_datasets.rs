//! The datasets in a repository of a hub, found by one request for the names of its files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::ByteSource;
use super::magic_bytes::detect_bytes;
use super::versioned::VERSIONS_FILE;
use crate::error::Result;
use crate::model::Address;
use crate::remote::{FIRST_OF_DATASET, RemoteFile, hub_files};

/// Maximum number of ZIP archives whose first bytes are read: TACO 3 has no file extension of its
/// own.
const ARCHIVES_READ_MAX: usize = 32;
/// Number of first bytes of an archive that identify its format.
const HEAD_BYTES: u64 = 256;

/// The addresses of the datasets of all generations below an address of a hub, sorted; `None` on
/// other servers.
///
/// # Errors
/// When the hub refuses the list, or answers with something else.
pub fn datasets_of_hub(address: &Address) -> Result<Option<Vec<PathBuf>>> {
    let Some(files) = hub_files(address)? else {
        return Ok(None);
    };
    let Candidates {
        mut datasets,
        archives,
    } = Candidates::from_addresses(&files);
    let archives: Vec<&Path> = archives
        .iter()
        .take(ARCHIVES_READ_MAX)
        .map(Path::new)
        .collect();
    for (path, opened) in archives
        .iter()
        .zip(RemoteFile::open_all(&archives, FIRST_OF_DATASET)?)
    {
        let Ok(file) = opened else { continue };
        let head = file.read(0, HEAD_BYTES.min(file.size_bytes()))?;
        let source = || Ok(ByteSource::of_remote(file.clone(), path));
        if detect_bytes(path, file.size_bytes(), &head, source).is_ok() {
            datasets.insert(path.display().to_string());
        }
    }
    Ok(Some(datasets.into_iter().map(PathBuf::from).collect()))
}

/// The files that are or may be datasets by their names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Candidates {
    /// Addresses with a name that only datasets have.
    datasets: BTreeSet<String>,
    /// ZIP archives, which may be datasets.
    archives: Vec<String>,
}

impl Candidates {
    /// From the addresses of the files.
    fn from_addresses(files: &[String]) -> Self {
        let mut found = Self::default();
        for file in files {
            let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
            let ending = name
                .rsplit_once('.')
                .map_or("", |(_, ending)| ending)
                .to_ascii_lowercase();
            match name {
                "COLLECTION.json" => {
                    found.datasets.insert(folder.to_owned());
                }
                "__TACOCAT__" | "TACOLLECTION.json" | VERSIONS_FILE => {
                    found.datasets.insert(file.clone());
                }
                _ if matches!(ending.as_str(), "tacozip" | "taco" | "tortilla") => {
                    found.datasets.insert(
                        part_pattern(name)
                            .map_or_else(|| file.clone(), |parts| format!("{folder}/{parts}")),
                    );
                }
                _ if ending == "zip" => found.archives.push(file.clone()),
                _ => {}
            }
        }
        found
    }
}

/// The pattern of all parts of a dataset: `name.*.part.taco` for `name.0003.part.taco`.
fn part_pattern(name: &str) -> Option<String> {
    let (rest, ending) = name.rsplit_once(".part.")?;
    let (stem, number) = rest.rsplit_once('.')?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
        .then(|| format!("{stem}.*.part.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_of_all_generations_are_found_by_the_names_of_their_files() {
        let names = [
            "a/README.md",
            "a/COLLECTION.json",
            "a/DATA/s1/COLLECTION.txt",
            "b/.tacocat/COLLECTION.json",
            "c.tacozip",
            "d.0000.part.taco",
            "d.0001.part.taco",
            "e.TORTILLA",
            "f.zip",
            "g/__TACOCAT__",
            "h/taco.json",
        ];
        let files: Vec<String> = names
            .iter()
            .map(|name| format!("https://hub/r/{name}"))
            .collect();
        let found = Candidates::from_addresses(&files);
        let wanted = [
            "a",
            "b/.tacocat",
            "c.tacozip",
            "d.*.part.taco",
            "e.TORTILLA",
            "g/__TACOCAT__",
            "h/taco.json",
        ];
        assert_eq!(
            found.datasets,
            wanted
                .iter()
                .map(|name| format!("https://hub/r/{name}"))
                .collect()
        );
        assert_eq!(found.archives, ["https://hub/r/f.zip"]);
    }
}
