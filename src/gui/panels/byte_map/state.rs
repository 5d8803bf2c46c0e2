//! State of the byte map. Imports no panel context, so that the session can hold it.

use std::sync::Arc;

use crate::gui::document_key::Key;
use crate::jobs::AsyncValue;
use crate::ops::{ByteLayout, BytePart};
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct ByteMapState {
    pub(super) made_for: Option<Key>,
    pub(super) layout: AsyncValue<(Key, Option<String>), Arc<ByteLayout>>,
    pub(super) parts: AsyncValue<Key, Vec<String>>,
    pub(super) part: Option<String>,
    pub(super) cells: Option<(usize, usize, usize, Arc<Vec<BytePart>>)>,
    pub(super) marked: AsyncValue<(usize, RowRef), Option<(u64, u64)>>,
}
