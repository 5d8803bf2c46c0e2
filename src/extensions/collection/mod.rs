//! Collection extensions. Each converts its options to fields of COLLECTION.json with the names and order of the official tools
//! (labels, optical, publications, split strategy), computes them from the samples (extent), or fills in what datasets of one kind
//! share (template).

pub mod bibtex;
mod command;
mod entries;
pub mod extent;
pub mod labels;
pub mod optical;
pub mod publications;
pub mod templates;
pub mod texts;

pub use entries::ENTRIES;

use serde_json::Value as Json;

use crate::error::{Error, Result};

/// Keys and values in output order.
pub type CollectionFields = Vec<(String, Json)>;

/// Deserializes the options of `extension`.
fn options<T: serde::de::DeserializeOwned>(extension: &str, options: &Json) -> Result<T> {
    serde_json::from_value(options.clone())
        .map_err(|error| Error::usage(format!("the options of {extension} can't be read")).because(error))
}

/// The entry of `known` with the smallest edit distance to `typed`, if it is small.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let (distance, name) = known.map(|name| (edits(&typed, &name.to_lowercase()), name)).min()?;
    (distance <= typed.chars().count().max(3) / 2 + 1).then_some(name)
}

/// Edit distance of two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let cost = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(nearest("sentinel2", ["landsat8oli", "sentinel2msi"].into_iter()), Some("sentinel2msi"));
        assert_eq!(nearest("zzzzzzzzzzzz", ["aster"].into_iter()), None);
    }
}
