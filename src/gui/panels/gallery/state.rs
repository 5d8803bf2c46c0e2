//! State of the gallery. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use super::pictures::Pictures;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::raster::Preset;

/// Initial size of a card, in points.
pub(super) const DEFAULT_CARD_SIZE: f32 = 158.0;

/// Rows of level 0 in the order of their cards.
#[derive(Debug, Default)]
pub struct SortedRoots {
    rows: Vec<u32>,
    /// The card of each row; `u32::MAX` for a row without one.
    cards: Vec<u32>,
}

impl SortedRoots {
    pub fn new(rows: Vec<u32>) -> Self {
        let length = rows.iter().max().map_or(0, |last| *last as usize + 1);
        let mut cards = vec![u32::MAX; length];
        for (card, row) in (0..).zip(&rows) {
            cards[*row as usize] = card;
        }
        Self { rows, cards }
    }

    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The card of a row, without a search: it is needed in each frame.
    pub fn find_card(&self, root: u32) -> Option<usize> {
        let card = *self.cards.get(root as usize)?;
        (card != u32::MAX).then_some(card as usize)
    }
}

/// State of the panel.
pub struct GalleryPanel {
    /// The state of the document that files, captions and thumbnails are of.
    pub(super) shown_document: Option<DocumentKey>,
    /// The file shown of each sample, as positions below level 0.
    pub(super) file: Vec<u32>,
    /// The FILEs to choose: positions below level 0, and name.
    pub(super) files: Vec<(Vec<u32>, String)>,
    /// Bands of the thumbnails; `None` for the best ones of each raster.
    pub(super) preset: Option<Preset>,
    /// One stretch for all pictures, or one for each; `None` decides by their values.
    pub(super) shared_stretch: Option<bool>,
    pub(super) size: f32,
    /// Column by which the cards are sorted; `None` for the order of the rows.
    pub(super) sort: Option<String>,
    pub(super) order: AsyncValue<(DocumentKey, Option<ValueId>, String), Arc<SortedRoots>>,
    pub(super) scroll: RowScroll,
    /// Columns shown on the thumbnail and below it.
    pub(super) captions: [Option<String>; 2],
    pub(super) pictures: Pictures,
}

impl GalleryPanel {
    /// True when all pictures share one stretch.
    pub(super) fn has_shared_stretch(&self) -> bool {
        self.shared_stretch
            .unwrap_or_else(|| self.pictures.is_alike())
    }
}

impl Default for GalleryPanel {
    fn default() -> Self {
        Self {
            shown_document: None,
            file: Vec::new(),
            files: Vec::new(),
            preset: None,
            shared_stretch: None,
            size: DEFAULT_CARD_SIZE,
            sort: None,
            order: AsyncValue::default(),
            scroll: RowScroll::default(),
            captions: [None, None],
            pictures: Pictures::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_knows_its_card() {
        let sorted = SortedRoots::new(vec![7, 0, 3]);
        assert_eq!(sorted.rows(), [7, 0, 3]);
        let cards: Vec<Option<usize>> = [7, 0, 3, 1, 8].map(|row| sorted.find_card(row)).into();
        assert_eq!(cards, [Some(0), Some(1), Some(2), None, None]);
        assert_eq!(SortedRoots::default().find_card(0), None);
    }
}
