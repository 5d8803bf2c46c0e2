//! The one filter of an opened dataset: what every view of it shows. Filters are plain data; what they leave is computed as a job
//! and kept with them until the filter or the dataset changes.

use std::sync::Arc;

use super::{DocumentId, Event, Finish, JobKind, Outcome, Studio};
use crate::error::Result;
use crate::jobs::JobId;
use crate::ops::{Kept, kept};
use crate::query::Filter;

/// The filter of the studio: what was asked for, and what came of it.
#[derive(Default)]
pub(super) struct FilterState {
    /// The document that it belongs to: another one has no filter.
    of: Option<DocumentId>,
    wanted: Vec<Filter>,
    kept: Option<Arc<Kept>>,
    failed: Option<String>,
    job: Option<JobId>,
}

impl Studio {
    /// Filters the opened dataset; an empty list shows all of it.
    pub(super) fn filter(&mut self, filters: Vec<Filter>) -> Result<Outcome> {
        let reader = self.need_opened()?.reader.clone();
        if let Some(old) = self.filter.job.take().and_then(|id| self.running_job(id).ok()) {
            old.cancel();
        }
        self.filter.of = Some(self.document_id());
        self.filter.wanted.clone_from(&filters);
        self.filter.failed = None;
        if filters.is_empty() {
            self.filter.kept = None;
            return Ok(Outcome::Done(Event::Filtered));
        }
        let outcome = self.start(JobKind::Filter, move |ctx| {
            let outcome = kept(reader.as_ref(), &filters, ctx);
            ctx.check()?;
            Ok(Box::new(move |studio: &mut Studio| {
                // A newer filter may have been asked for meanwhile.
                if studio.filter.wanted == filters {
                    studio.filter.job = None;
                    match outcome {
                        Ok(kept) => studio.filter.kept = Some(Arc::new(kept)),
                        Err(error) => {
                            studio.filter.failed = Some(error.to_string());
                            return Err(error);
                        }
                    }
                }
                Ok(Event::Filtered)
            }) as Finish)
        });
        if let Outcome::Started(id) = &outcome {
            self.filter.job = Some(*id);
        }
        Ok(outcome)
    }

    /// The filters that were asked for last.
    pub fn filters(&self) -> &[Filter] {
        if self.filter_is_current() { &self.filter.wanted } else { &[] }
    }

    /// What the filter leaves, also that of the last one while a new one is applied; `None` without a filter.
    pub fn kept(&self) -> Option<&Arc<Kept>> {
        self.filter.kept.as_ref().filter(|_| self.filter_is_current())
    }

    /// Why the filter could not be applied.
    pub fn filter_failure(&self) -> Option<&str> {
        self.filter.failed.as_deref().filter(|_| self.filter_is_current())
    }

    /// True while the filter is applied. Its failure shows beside the filter chips.
    pub fn is_filtering(&self) -> bool {
        self.filter.job.is_some_and(|id| self.running_job(id).is_ok())
    }

    fn filter_is_current(&self) -> bool {
        self.filter.of == Some(self.document_id())
    }
}
