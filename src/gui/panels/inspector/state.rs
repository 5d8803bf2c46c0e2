//! State of the inspector: the edited field of the selected sample, and its fault. Imports no panel
//! context, so that the list of panels can hold it.

use std::collections::HashMap;

use crate::gui::document_key::DocumentKey;
use crate::gui::panels::structure::state::FixState;
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct SamplePanel {
    pub(super) typed: HashMap<String, String>,
    pub(super) typed_for: Option<(DocumentKey, Option<RowRef>)>,
    /// The field being edited.
    pub(super) focused: Option<String>,
    /// Set to focus the id field.
    pub rename: bool,
    pub(super) fix: FixState,
}
