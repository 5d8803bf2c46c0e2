//! Consistency of the rasters by position: the headers are read once, on request; from then on
//! every check of a draft compares them again.

use std::sync::Arc;

use super::document::Document;
use super::{ConsistencySettings, Event, Finish, JobTopic, Outcome, Studio};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, discard};
use crate::model::{RasterProperty, Report};
use crate::validate::{self, HeaderCache};

/// Headers of the open document, as read in this session.
#[derive(Default)]
pub(super) struct ConsistencyState {
    /// The headers read on request; `None` before the first request.
    headers: Option<Arc<HeaderCache>>,
    /// Headers of the files that the draft refers to, as its checks read them.
    source_headers: Arc<HeaderCache>,
    settings: ConsistencySettings,
}

impl ConsistencyState {
    /// A function that compares the known headers of a draft and puts the findings into its report;
    /// `None` before headers were read.
    pub fn make_draft_comparison(
        &self,
    ) -> Option<impl Fn(&crate::model::Dataset, &mut Report, &JobContext) -> Result<()> + use<>>
    {
        let (headers, options) = (self.headers.clone()?, self.settings.options(true));
        Some(
            move |dataset: &crate::model::Dataset, report: &mut Report, ctx: &JobContext| {
                let consistency = validate::consistency_of_draft(dataset, &options, &headers, ctx)?;
                replace_consistency(report, consistency);
                Ok(())
            },
        )
    }
}

/// Replaces the findings of consistency in `report` by those of `consistency`.
pub(super) fn replace_consistency(report: &mut Report, consistency: crate::model::Consistency) {
    report
        .findings
        .retain(|finding| RasterProperty::of_rule(finding.rule).is_none());
    report
        .more
        .retain(|rule, _| RasterProperty::of_rule(*rule).is_none());
    report
        .added
        .retain(|rule, _| RasterProperty::of_rule(*rule).is_none());
    validate::report_consistency(consistency, report);
    report.fold();
}

impl Studio {
    /// How the rasters of the open document are compared.
    pub fn consistency_settings(&self) -> &ConsistencySettings {
        &self.consistency.settings
    }

    /// The headers of the files that the open draft refers to; its checks share them.
    pub fn source_headers(&self) -> Arc<HeaderCache> {
        self.consistency.source_headers.clone()
    }

    pub(super) fn forget_headers(&mut self) {
        discard(std::mem::take(&mut self.consistency));
    }

    /// Reads the headers of the open document and compares them by position. Known headers are read
    /// again only with `again`.
    pub(super) fn check_consistency(&mut self, again: bool) -> Result<Outcome> {
        // Not the cache of the other checks, so that `again` reads these headers alone.
        let headers = self.consistency.headers.clone().unwrap_or_default();
        if again {
            headers.clear();
        }
        let state = self.document_state();
        let options = self.consistency.settings.options(false);
        let cache = headers.clone();
        let compare: Box<dyn FnOnce(&JobContext) -> Result<_> + Send> = match &self.document {
            None => return Err(Error::usage("nothing is open").hint("open a dataset first")),
            Some(Document::Draft(document)) => {
                let dataset = document.draft.dataset().clone();
                Box::new(move |ctx| validate::consistency_of_draft(&dataset, &options, &cache, ctx))
            }
            Some(Document::Opened(open)) => {
                let reader = open.reader.clone();
                Box::new(move |ctx| {
                    validate::consistency_of_container(reader.as_ref(), &options, &cache, ctx)
                })
            }
        };
        let outcome = self.start(tr!("Compare rasters by position"), move |ctx| {
            let consistency = compare(ctx)?;
            Ok(Box::new(move |studio: &mut Studio| {
                if studio.document_id() != state.document {
                    return Ok(Event::None);
                }
                studio.consistency.headers = Some(headers);
                // A check that runs began without these headers, and of a draft that was edited the
                // comparison is of an older revision: both are done again with the headers.
                let has_changed = studio.document_state() != state;
                if (studio.is_checking() || has_changed)
                    && matches!(studio.document, Some(Document::Draft(_)))
                {
                    studio.start_check();
                }
                if has_changed {
                    return Ok(Event::None);
                }
                studio.check.set_consistency(consistency);
                Ok(Event::Validated)
            }) as Finish)
        });
        Ok(self.about(JobTopic::Consistency, outcome))
    }

    /// Changes the comparison settings and compares the known headers again.
    pub(super) fn set_consistency_settings(
        &mut self,
        settings: ConsistencySettings,
    ) -> Result<Outcome> {
        self.consistency.settings = settings;
        if self.consistency.headers.is_some() {
            self.check_consistency(false)
        } else {
            Ok(Outcome::Done(Event::None))
        }
    }
}
