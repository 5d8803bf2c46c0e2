//! `Extend`: runs extensions on a clone of the draft; the columns become one undoable edit. A
//! cancelled run, or one during which the draft changed, changes nothing.

use super::{Event, Finish, JobTopic, Outcome, Studio};
use crate::draft::Edit;
use crate::error::{Error, Result};
use crate::extensions::{self, ExtensionCall, RunNote, builtin};
use crate::ops::{Extended, extend_draft};

impl Studio {
    pub(super) fn extend(&mut self, calls: Vec<ExtensionCall>, replace: bool) -> Result<Outcome> {
        let draft = self.need_draft()?;
        if calls.is_empty() {
            return Err(Error::usage("no extension was named"));
        }
        // Unknown names and invalid options fail immediately, not in the job.
        let registry = builtin();
        for call in &calls {
            registry.make(&call.extension, &call.options)?;
        }
        extensions::need_consent(&calls)?;
        let (dataset, revision, document) = (
            draft.dataset().clone(),
            draft.revision(),
            self.document_id(),
        );
        let label = tr!("Add {name}", name = names_of(&calls));
        let outcome = self.start(label.clone(), move |ctx| {
            let Extended {
                outcome: edits,
                failures,
                notes,
                ..
            } = extend_draft(&dataset, &calls, replace, ctx)?;
            notes
                .iter()
                .flat_map(RunNote::lines)
                .for_each(|line| ctx.warn(line));
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                if studio.need_draft()?.revision() != revision {
                    let error = Error::usage(
                        "the draft was changed meanwhile, so the new columns would not fit it",
                    );
                    return Err(error.hint("run the extensions again"));
                }
                studio.apply_edit(Edit::Batch {
                    label: label.clone(),
                    edits,
                })?;
                Ok(Event::Extended { label, failures })
            }) as Finish)
        });
        Ok(self.about(JobTopic::Extensions, outcome))
    }

    /// True while an extension job runs.
    pub fn is_extending(&self) -> bool {
        self.running
            .iter()
            .any(|running| running.topic == Some(JobTopic::Extensions))
    }
}

fn names_of(calls: &[ExtensionCall]) -> String {
    let mut names: Vec<&str> = calls.iter().map(|call| call.extension.as_str()).collect();
    names.dedup();
    names.join(", ")
}
