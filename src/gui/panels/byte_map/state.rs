//! State of the byte map. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::jobs::AsyncValue;
use crate::ops::{ByteLayout, BytePart};
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct ByteMapPanel {
    pub(super) made_for: Option<DocumentKey>,
    pub(super) layout: AsyncValue<(DocumentKey, Option<String>), Arc<ByteLayout>>,
    pub(super) parts: AsyncValue<DocumentKey, Vec<String>>,
    pub(super) part: Option<String>,
    pub(super) cells: Option<(ValueId, usize, usize, Arc<Vec<BytePart>>)>,
    pub(super) marked: AsyncValue<(ValueId, RowRef), Option<(u64, u64)>>,
}
