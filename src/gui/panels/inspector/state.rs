//! State of the inspector: storage and edited field of the selected sample. Imports no panel
//! context, so that the session can hold it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::gui::document_key::DocumentKey;
use crate::jobs::AsyncValue;
use crate::raster::{RasterInfo, RasterSource};
use crate::studio::RowRef;

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

/// State of the panel.
#[derive(Default)]
pub struct SampleState {
    pub(super) asset: AsyncValue<AssetKey, AssetFacts>,
    /// The variable that was chosen for viewing; of files that lack it, the one that the dataset
    /// names is read.
    pub variable: Option<Arc<str>>,
    pub(super) typed: HashMap<String, String>,
    pub(super) typed_for: Option<(DocumentKey, Option<RowRef>)>,
    /// The field being edited.
    pub(super) focused: Option<String>,
    /// Set to focus the id field.
    pub rename: bool,
}
