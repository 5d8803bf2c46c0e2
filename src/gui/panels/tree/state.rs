//! State of the hierarchy. Imports no panel context, so that the session can hold it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::gui::document_key::Key;
use crate::gui::outline::Outline;
use crate::gui::widgets::RowScroll;
use crate::jobs::AsyncValue;
use crate::studio::RowRef;

/// Which samples are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// All of them.
    #[default]
    All,
    /// Those with findings.
    Problems,
    /// Number of padding samples.
    Padded,
}

/// Key of a filtered outline: document, typed filter, choice, marks, the dataset's filter, and the folding where it matters.
pub(super) type Wanted = (Key, String, Show, usize, usize, u64);

/// State of the panel.
pub struct TreePanelState {
    pub(super) scroll: RowScroll,
    pub(super) root_open: bool,
    pub(super) open: BTreeSet<RowRef>,
    /// Samples selected in addition to the session's selection.
    pub(super) marked: BTreeSet<RowRef>,
    pub(super) marked_for: Key,
    /// Anchor of a range selection.
    pub(super) anchor: Option<u64>,
    /// Typed filter.
    pub filter: String,
    pub(super) show: Show,
    pub(super) outline: Arc<Outline>,
    pub(super) made_for: Option<(Key, u64, usize)>,
    pub(super) changes: u64,
    pub(super) filtered: AsyncValue<Wanted, Arc<Outline>>,
    pub(super) reveal: Option<RowRef>,
}

impl Default for TreePanelState {
    fn default() -> Self {
        Self {
            scroll: RowScroll::default(),
            root_open: true,
            open: BTreeSet::new(),
            marked: BTreeSet::new(),
            marked_for: Key::default(),
            anchor: None,
            filter: String::new(),
            show: Show::All,
            outline: Arc::default(),
            made_for: None,
            changes: 0,
            filtered: AsyncValue::default(),
            reveal: None,
        }
    }
}
