//! State of the gallery. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use super::pictures::Pictures;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::raster::Preset;

/// State of the panel.
pub struct GalleryPanel {
    pub(super) made_for: Option<DocumentKey>,
    /// The file shown of each sample, as positions below level 0.
    pub(super) file: Vec<u32>,
    pub(super) files: Vec<(Vec<u32>, String)>,
    pub(super) preset: Option<Preset>,
    /// One stretch for all pictures, or one for each; `None` decides by their values.
    pub(super) shared: Option<bool>,
    pub(super) size: f32,
    pub(super) sort: Option<String>,
    pub(super) order: AsyncValue<(DocumentKey, Option<ValueId>, String), Arc<Vec<u32>>>,
    pub(super) scroll: RowScroll,
    /// Columns shown on the thumbnail and below it.
    pub(super) captions: [Option<String>; 2],
    pub(super) pictures: Pictures,
}

impl GalleryPanel {
    /// True when all pictures share one stretch.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.unwrap_or_else(|| self.pictures.is_alike())
    }
}

impl Default for GalleryPanel {
    fn default() -> Self {
        Self {
            made_for: None,
            file: Vec::new(),
            files: Vec::new(),
            preset: None,
            shared: None,
            size: 158.0,
            sort: None,
            order: AsyncValue::default(),
            scroll: RowScroll::default(),
            captions: [None, None],
            pictures: Pictures::default(),
        }
    }
}
