//! Collection extensions. Each converts its options to fields of COLLECTION.json with the names and
//! order of the official tools (labels, optical, publications, split strategy), computes them from
//! the samples (extent), or fills in what datasets of one kind share (template).

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
    serde_json::from_value(options.clone()).map_err(|error| {
        Error::usage(format!("the options of {extension} can't be read")).because(error)
    })
}
