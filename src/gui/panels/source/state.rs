//! State of the source panel. Imports no panel context, so that the list of panels can hold it.

use crate::gui::widgets::TableState;
use crate::remote::CacheState;

/// Which list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SourceList {
    /// One row for each action.
    #[default]
    Actions,
    /// One row for each request.
    Requests,
}

/// State of the panel. Outlives the document.
#[derive(Default)]
pub struct SourcePanel {
    pub(super) list: SourceList,
    pub(super) actions: TableState,
    pub(super) requests: TableState,
    pub(super) cache: Option<CacheState>,
    pub(super) asked: bool,
}

impl SourcePanel {
    /// State of the disk cache, computed by a job.
    pub fn set_cache(&mut self, cache: CacheState) {
        self.cache = Some(cache);
    }
}
