//! The form of an operation between the request for it and its opening.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use super::action::Action;
use super::dialogs::{OperationDialog, OperationStart, WriteForm, form_of};
use crate::studio::DocumentId;

/// A form that was asked for: when, and over what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormRequest {
    pub document: DocumentId,
    pub asked: Instant,
    /// Number of the dialog that was open, which the form replaces.
    pub over_dialog: Option<u64>,
}

impl FormRequest {
    /// True while the form may open: over this document, and over no dialog but the one that was
    /// open when it was asked for.
    pub fn may_open(&self, document: DocumentId, dialog: Option<u64>) -> bool {
        document == self.document && (dialog.is_none() || dialog == self.over_dialog)
    }
}

/// A form with its initial values.
#[derive(Debug)]
pub enum StartedForm {
    Operation(Action, Box<OperationStart>),
    Write {
        folder: PathBuf,
        id: String,
        /// Places that the draft reads from.
        own: HashSet<PathBuf>,
    },
}

impl StartedForm {
    /// Its dialog; `None` for an action without a form.
    pub fn dialog(self) -> Option<OperationDialog> {
        Some(match self {
            Self::Operation(action, start) => OperationDialog::new(form_of(action, &start)?),
            Self::Write { folder, id, own } => {
                OperationDialog::new(Box::new(WriteForm::new(&folder, &id, own)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Jobs;
    use crate::studio::Studio;

    #[test]
    fn a_form_replaces_no_dialog_that_opened_since() {
        let document = Studio::new(Jobs::quiet()).document_id();
        let request = |over_dialog: Option<u64>| FormRequest {
            document,
            asked: Instant::now(),
            over_dialog,
        };
        assert!(request(None).may_open(document, None));
        assert!(!request(None).may_open(document, Some(1)), "one opened");
        assert!(request(Some(1)).may_open(document, Some(1)));
        assert!(request(Some(1)).may_open(document, None), "it closed");
        assert!(!request(Some(1)).may_open(document, Some(2)), "another");
    }
}
