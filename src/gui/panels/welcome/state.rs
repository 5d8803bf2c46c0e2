//! State of the welcome screen. Imports no panel context, so that the list of panels can hold it.

use std::path::PathBuf;

use crate::jobs::AsyncValue;
use crate::studio::Recoverable;

#[derive(Default)]
pub struct WelcomePage {
    /// Which of the recent datasets exist, checked once each time the screen opens.
    pub(super) recent_there: AsyncValue<Vec<PathBuf>, Vec<bool>>,
    /// Drafts found by autosave, searched each time the screen opens.
    pub(super) recoverable: AsyncValue<u64, Vec<Recoverable>>,
}
