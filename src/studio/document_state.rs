//! What identifies the open document and its state.

/// Id of a document in this session. Opening and closing a document gives a new id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(u64);

impl DocumentId {
    /// The id of the document that is opened next.
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A document and its revision; none for an opened dataset, which does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DocumentState {
    pub document: DocumentId,
    pub revision: Option<u64>,
}
