//! `Extend`: extensions run over a clone of the draft; when all are done their columns become one undoable edit. A run that is
//! stopped, or that ends after the draft was changed, leaves the draft as it was.

use super::{Command, Event, Finish, Outcome, Studio};
use crate::draft::Edit;
use crate::error::{Error, Result};
use crate::extensions::{self, ExtensionCall, Note, builtin};
use crate::model::NodePath;

impl Studio {
    pub(super) fn extend(&mut self, calls: Vec<ExtensionCall>, replace: bool) -> Result<Outcome> {
        let draft = self.need_draft()?;
        if calls.is_empty() {
            return Err(Error::usage("no extension was named"));
        }
        // Wrong names and options are told at once, not by the job.
        let registry = builtin();
        for call in &calls {
            registry.make(&call.extension, &call.options)?;
        }
        extensions::need_consent(&calls)?;
        let (dataset, revision, here) = (draft.dataset().clone(), draft.revision(), self.here());
        let label = label_of(&calls);
        let outcome = self.start(&label.clone(), move |ctx| {
            if !replace {
                let clashes = extensions::clashes(&dataset, &calls, &registry)?;
                if !clashes.is_empty() {
                    let error = Error::usage(format!("these columns are there already: {}", clashes.join(", ")));
                    return Err(error.hint("replace them (--replace), or remove them first"));
                }
            }
            // Threads of their own, so that a paused run holds nobody else up.
            ctx.allow_pause();
            let pool = rayon::ThreadPoolBuilder::new().build();
            let pool = pool.map_err(|error| Error::internal("could not start threads for the extensions").because(error))?;
            let run = pool.install(|| extensions::run(&dataset, &calls, &registry, ctx))?;
            let mut edits = Vec::new();
            if run.columns.iter().any(|columns| !columns.is_empty()) {
                edits.push(Edit::ReplaceTortilla { tortilla: NodePath::root(), with: run.apply(&dataset, replace)? });
            }
            let fields = run.collection.into_iter();
            edits.extend(fields.map(|(key, value)| Edit::SetCollection { key, value: Some(value) }));
            ctx.check()?;
            let (failures, computed, notes) = (run.failures, run.computed, run.notes);
            notes.iter().flat_map(Note::lines).for_each(|line| ctx.warn(line));
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_here(&here)?;
                if studio.need_draft()?.revision() != revision {
                    let error = Error::usage("the draft was changed meanwhile, so the new columns would not fit it");
                    return Err(error.hint("run the extensions again"));
                }
                let edit = Edit::Batch { label: label.clone(), edits };
                let outcome = studio.run(Command::Edit { edit })?;
                match outcome {
                    Outcome::Done(Event::Edited { label, revision, .. }) => {
                        Ok(Event::Extended { label, revision, computed, failures, notes })
                    }
                    _ => Err(Error::internal("the edit did not end at once")),
                }
            }) as Finish)
        });
        if let Outcome::Started(job) = outcome {
            self.extending.retain(|old| self.running.iter().any(|running| running.job.id() == *old));
            self.extending.push(job);
        }
        Ok(outcome)
    }

    /// True while extensions run.
    pub fn is_extending(&self) -> bool {
        self.running.iter().any(|running| self.extending.contains(&running.job.id()))
    }
}

fn label_of(calls: &[ExtensionCall]) -> String {
    let mut names: Vec<&str> = calls.iter().map(|call| call.extension.as_str()).collect();
    names.dedup();
    tr!("Add {name}", name = names.join(", "))
}
