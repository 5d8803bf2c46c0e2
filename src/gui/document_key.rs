//! Identifies a state of the open document: which document, and which revision of it.

use crate::studio::{Document, DocumentId, Studio};

/// Identifies a state of the document: (document id, revision).
pub type DocumentKey = (DocumentId, u64);

/// The draft's revision; 0 for a dataset opened for reading.
pub fn revision(studio: &Studio) -> u64 {
    studio
        .document()
        .and_then(Document::draft)
        .map_or(0, |draft| draft.revision())
}
