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
    /// A dialog was open, which the form replaces.
    pub over_dialog: bool,
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
