//! Storage and raster header of the selected sample, for every panel that shows it.

use std::sync::Arc;

use super::document_key::DocumentKey;
use crate::error::{Error, Result};
use crate::jobs::{AsyncValue, Jobs};
use crate::raster::{RasterInfo, RasterSource, describe_variable};
use crate::studio::{Document, RowRef};

/// Storage and raster header of a sample.
pub struct AssetFacts {
    /// Location of the bytes.
    pub source: RasterSource,
    /// Size in bytes.
    pub size: u64,
    /// Raster header, or the error of reading it.
    pub raster: Result<Arc<RasterInfo>>,
}

/// A sample of a document, and the variable that was chosen for viewing.
type AssetKey = (DocumentKey, RowRef, Option<Arc<str>>);

#[derive(Default)]
pub struct SelectedAsset {
    facts: AsyncValue<AssetKey, AssetFacts>,
    /// The variable that was chosen for viewing; of files that lack it, the one that the dataset
    /// names is read.
    pub variable: Option<Arc<str>>,
}

impl SelectedAsset {
    /// Storage of a sample, once known.
    pub fn find_facts(&self, key: DocumentKey, at: RowRef) -> Option<&Result<AssetFacts>> {
        self.facts.get(&(key, at, self.variable.clone()))
    }

    /// Starts reading the header of a FILE: the selected one, or the first below a selected FOLDER.
    pub fn read_header(&mut self, jobs: &Jobs, key: DocumentKey, document: &Document, at: RowRef) {
        let place = document.raster_later(at);
        let variable = self.variable.clone();
        self.facts.update(
            jobs,
            (key, at, variable.clone()),
            tr!("Preview headers"),
            move |_| {
                let (named, size) = place()?;
                if size == 0 {
                    return Ok(AssetFacts {
                        source: named,
                        size,
                        raster: Err(Error::usage("this sample is empty")),
                    });
                }
                Ok(match describe_variable(named.clone(), variable) {
                    Ok((source, info)) => AssetFacts {
                        source,
                        size,
                        raster: Ok(info),
                    },
                    Err(error) => AssetFacts {
                        source: named,
                        size,
                        raster: Err(error),
                    },
                })
            },
        );
    }
}
