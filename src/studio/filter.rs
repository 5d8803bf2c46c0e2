//! The filter of an opened dataset, shared by all views. Filters are plain data; the rows that they
//! keep are computed by a job and cached until filter or dataset change.

use std::sync::Arc;

use super::{DocumentId, Event, Finish, Outcome, Studio};
use crate::error::Result;
use crate::jobs::JobId;
use crate::ops::{KeptRows, find_matching_rows};
use crate::query::Filter;

/// State of the filter: request, job and result.
#[derive(Default)]
pub(super) struct FilterState {
    /// The document that it applies to.
    of: Option<DocumentId>,
    wanted: Vec<Filter>,
    kept: Option<Arc<KeptRows>>,
    failed: Option<String>,
    job: Option<JobId>,
}

impl Studio {
    /// Filters the opened dataset; an empty list removes the filter.
    pub(super) fn filter(&mut self, filters: Vec<Filter>) -> Result<Outcome> {
        let reader = self.need_opened()?.reader.clone();
        if let Some(old) = self
            .filter
            .job
            .take()
            .and_then(|id| self.running_job(id).ok())
        {
            old.cancel();
        }
        self.filter.of = Some(self.document_id());
        self.filter.wanted.clone_from(&filters);
        self.filter.failed = None;
        if filters.is_empty() {
            self.filter.kept = None;
            return Ok(Outcome::Done(Event::Filtered));
        }
        let outcome = self.start(tr!("Filter"), move |ctx| {
            let outcome = find_matching_rows(reader.as_ref(), &filters, ctx);
            ctx.check()?;
            Ok(Box::new(move |studio: &mut Studio| {
                // A newer filter may have replaced this one.
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

    /// The most recent filters.
    pub fn filters(&self) -> &[Filter] {
        if self.filter_is_current() {
            &self.filter.wanted
        } else {
            &[]
        }
    }

    /// The rows that the filter keeps; while a new filter is computed, those of the previous one.
    /// `None` without a filter.
    pub fn filtered_rows(&self) -> Option<&Arc<KeptRows>> {
        self.filter
            .kept
            .as_ref()
            .filter(|_| self.filter_is_current())
    }

    /// Error message of the failed filter, if any.
    pub fn filter_failure(&self) -> Option<&str> {
        self.filter
            .failed
            .as_deref()
            .filter(|_| self.filter_is_current())
    }

    /// True while the filter is computed. A failure is shown beside the filter chips.
    pub fn is_filtering(&self) -> bool {
        self.filter
            .job
            .is_some_and(|id| self.running_job(id).is_ok())
    }

    fn filter_is_current(&self) -> bool {
        self.filter.of == Some(self.document_id())
    }
}
