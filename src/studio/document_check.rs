//! The check of the open document: started when a document opens and after every edit, received by
//! [`Studio::poll`], ended with the document. The report is that of the newest check, or of a whole
//! check on request.

use std::sync::{Arc, Mutex, PoisonError};

use super::consistency::replace_consistency;
use super::document::Document;
use super::document_state::DocumentState;
use super::{DocumentId, Event, Finish, LogLevel, Outcome, Studio};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, Latest, Progress, discard};
use crate::model::{Consistency, Dataset, Finding, Profile, Report, Rule, Tortilla};
use crate::ops;
use crate::validate::{self, CheckOptions, HeaderCache, LiveCheck};

/// The report of the open document, and the check that runs by itself.
pub(super) struct DocumentCheck {
    report: Arc<Report>,
    /// The state of the document that `report` is of.
    checked_state: Option<DocumentState>,
    /// The state of the document whose check failed, and why.
    failed: Option<(DocumentState, Error)>,
    running: Latest<(DocumentState, Report)>,
    /// State of the incremental check of a draft, which examines only changed roots.
    incremental: Arc<Mutex<LiveCheck>>,
    /// False when checks run on request only.
    runs_by_itself: bool,
}

/// Why the report is not of the document as it is now.
#[derive(Clone, Copy, Debug)]
pub enum OutdatedReport<'a> {
    /// The check runs.
    Checking,
    /// The check failed, so it does not run again before the next change.
    Failed(&'a Error),
    /// Nothing checked the document since it was opened or changed.
    NotChecked,
}

/// Checks a draft after an edit: the roots that changed, and the files of a small draft.
fn check_edited_draft(
    dataset: &Dataset,
    pattern: Option<&str>,
    incremental: &Mutex<LiveCheck>,
    headers: &HeaderCache,
    ctx: &JobContext,
) -> Result<Report> {
    // A cancelled check leaves a consistent state, which is updated first.
    let mut report = incremental
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .check(dataset, pattern, ctx)?;
    // Imported files are opened once, so that damaged files are listed as problems immediately.
    let mut left = FILES_OPENED;
    if has_few_files(&dataset.root, &mut left) {
        let sources = validate::sources(dataset, headers, ctx)?;
        sources
            .findings
            .into_iter()
            .filter(is_shown_during_editing)
            .for_each(|finding| report.push(finding));
    }
    Ok(report)
}

impl Studio {
    /// Report of the last check.
    pub fn report(&self) -> &Arc<Report> {
        &self.check.report
    }

    /// True when [`Studio::report`] is of the document and the pattern as they are now. Rows in the
    /// findings of an older revision are those of other samples.
    pub fn is_report_current(&self) -> bool {
        self.check.checked_state == Some(self.document_state()) && !self.is_checking()
    }

    /// Why [`Studio::report`] is not of the document as it is now; `None` when it is.
    pub fn find_report_delay(&self) -> Option<OutdatedReport<'_>> {
        let failed = self.check.failed.as_ref();
        if self.is_report_current() {
            None
        } else if self.is_checking() {
            Some(OutdatedReport::Checking)
        } else if let Some((_, error)) = failed.filter(|(of, _)| *of == self.document_state()) {
            Some(OutdatedReport::Failed(error))
        } else {
            Some(OutdatedReport::NotChecked)
        }
    }

    /// True while a check runs, so the report may be outdated.
    pub fn is_checking(&self) -> bool {
        self.check.running.is_running()
    }

    /// Progress of the check that runs by itself.
    pub fn check_progress(&self) -> Option<Progress> {
        self.check.running.progress()
    }

    /// Turns the live check on or off: it runs when a document opens and after every edit. Scripts
    /// turn it off and run checks explicitly.
    pub fn set_live_check(&mut self, on: bool) {
        self.check.runs_by_itself = on;
    }

    /// Starts a check of the document as it is now, and cancels a running one. Its report arrives
    /// in [`Studio::receive_check`].
    pub(super) fn start_check(&mut self) {
        if !self.check.runs_by_itself {
            // A check of an older state, from before that was switched off.
            self.check.running.cancel();
            return;
        }
        let state = self.document_state();
        match &self.document {
            Some(Document::Draft(document)) => {
                let (dataset, pattern) =
                    (document.draft.dataset().clone(), document.pattern_root());
                let (incremental, headers) =
                    (self.check.incremental.clone(), self.source_headers());
                let compare = self.consistency.make_draft_comparison();
                self.check
                    .running
                    .start(&self.jobs, tr!("Check the draft"), move |ctx| {
                        let mut report = check_edited_draft(
                            &dataset,
                            pattern.as_deref(),
                            &incremental,
                            &headers,
                            ctx,
                        )?;
                        if let Some(compare) = &compare {
                            compare(&dataset, &mut report, ctx)?;
                        }
                        Ok((state, report))
                    });
            }
            Some(Document::Opened(open)) => {
                let reader = open.reader.clone();
                self.check
                    .running
                    .start(&self.jobs, tr!("Check the dataset"), move |ctx| {
                        let options = CheckOptions::default();
                        let report = validate::container_with(reader.as_ref(), &options, ctx)?;
                        Ok((state, report))
                    });
            }
            None => {}
        }
    }

    /// Takes the report of the started check, once it has ended.
    pub(super) fn receive_check(&mut self) -> Option<Event> {
        let outcome = self.check.running.try_take()?;
        self.finish_check(outcome)
    }

    fn finish_check(&mut self, outcome: Result<(DocumentState, Report)>) -> Option<Event> {
        match outcome {
            Ok((state, report)) => {
                self.check.set_report(report, state);
                Some(Event::Validated)
            }
            Err(error) if error.is_cancelled() => None,
            Err(error) => {
                self.log(LogLevel::Error, error.report());
                self.check.failed = Some((self.document_state(), error));
                None
            }
        }
    }
}

impl DocumentCheck {
    /// Sets the report of this state of the document. A report without a comparison of headers gets
    /// the findings of the last comparison of the same state.
    fn set_report(&mut self, mut report: Report, state: DocumentState) {
        if let (None, Some(known)) = (&report.consistency, &self.report.consistency)
            && self.checked_state == Some(state)
        {
            replace_consistency(&mut report, (**known).clone());
        }
        self.report = Arc::new(report);
        self.checked_state = Some(state);
        self.failed = None;
    }

    /// Replaces the comparison of headers in the report.
    pub fn set_consistency(&mut self, consistency: Consistency) {
        let mut report = (*self.report).clone();
        replace_consistency(&mut report, consistency);
        self.report = Arc::new(report);
    }

    /// Reports what was noted when the document was opened, until its check has ended.
    pub fn set_notes(&mut self, findings: Vec<Finding>) {
        self.report = Arc::new(Report {
            findings,
            ..Report::default()
        });
    }

    pub fn cancel(&mut self) {
        self.running.cancel();
    }

    /// Cancels the check, and forgets the report: the document is closed.
    pub fn leave_document(&mut self) {
        self.cancel();
        discard((
            std::mem::take(&mut self.incremental),
            std::mem::take(&mut self.report),
        ));
        (self.checked_state, self.failed) = (None, None);
    }

    /// Without a document. It runs by itself.
    pub fn new() -> Self {
        Self {
            report: Arc::default(),
            checked_state: None,
            failed: None,
            running: Latest::new(),
            incremental: Arc::default(),
            runs_by_itself: true,
        }
    }

    pub fn runs_by_itself(&self) -> bool {
        self.runs_by_itself
    }
}

impl Studio {
    /// Checks the document on request, with all that the check while editing leaves out.
    pub(super) fn validate(&mut self, deep: bool, profile: Profile) -> Result<Outcome> {
        let id = self.document_id();
        let label = if deep {
            tr!("Check every byte")
        } else {
            tr!("Check the dataset")
        };
        let options = CheckOptions {
            profile,
            deep,
            ..CheckOptions::default()
        };
        match &self.document {
            None => Err(Error::usage("nothing is open").hint("open a dataset first")),
            Some(Document::Draft(document)) => {
                let (dataset, pattern) =
                    (document.draft.dataset().clone(), document.pattern_root());
                let headers = self.source_headers();
                Ok(self.start(label, move |ctx| {
                    let pattern_root = pattern.as_deref();
                    let report = ops::check_draft(&dataset, pattern_root, &options, &headers, ctx)?;
                    Ok(show_draft_report(report, id, dataset, pattern))
                }))
            }
            Some(Document::Opened(open)) => {
                let reader = open.reader.clone();
                Ok(self.start(label, move |ctx| {
                    let report = validate::container_with(reader.as_ref(), &options, ctx)?;
                    Ok(Box::new(move |studio: &mut Studio| {
                        if studio.document_id() == id {
                            let state = studio.document_state();
                            studio.check.set_report(report, state);
                        }
                        Ok(Event::Validated)
                    }) as Finish)
                }))
            }
        }
    }
}

/// True for faults of files, which a check of the draft alone does not find.
fn is_shown_during_editing(finding: &Finding) -> bool {
    matches!(
        finding.rule,
        Rule::RasterRead | Rule::SidecarLeft | Rule::FileNeedsOthers | Rule::PitTransposed
    )
}

/// Largest number of FILEs whose headers the check while editing reads; with more, the whole check
/// and the write do.
const FILES_OPENED: usize = 5_000;

/// True when the tortilla has at most `left` FILEs.
fn has_few_files(tortilla: &Tortilla, left: &mut usize) -> bool {
    tortilla
        .samples
        .iter()
        .all(|sample| match sample.children() {
            Some(children) => has_few_files(children, left),
            None => {
                *left = left.saturating_sub(1);
                *left > 0
            }
        })
}

/// Sets the report of a check of a draft, unless its samples, collection or pattern changed during
/// it: then its findings name other samples.
fn show_draft_report(
    report: Report,
    id: DocumentId,
    checked: Dataset,
    pattern: Option<Arc<str>>,
) -> Finish {
    Box::new(move |studio: &mut Studio| {
        if studio.document_id() != id {
            return Ok(Event::Validated);
        }
        let is_same = studio.draft_document().is_ok_and(|document| {
            let now = document.draft.dataset();
            Arc::ptr_eq(&now.root, &checked.root)
                && now.collection == checked.collection
                && document.pattern_root() == pattern
        });
        if !is_same {
            return Err(Error::usage("the draft changed during the check").hint("check it again"));
        }
        let state = studio.document_state();
        studio.check.set_report(report, state);
        Ok(Event::Validated)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Edit;
    use crate::jobs::Jobs;
    use crate::studio::Command;

    fn studio_without_live_check() -> Studio {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio
    }

    fn run(studio: &mut Studio, command: Command) {
        studio.run_to_end(command, &mut |_| {}).expect("does it");
    }

    fn set_title(title: &str) -> Command {
        let edit = Edit::SetCollection {
            key: "title".into(),
            value: Some(title.into()),
        };
        Command::Edit { edit }
    }

    #[test]
    fn a_failed_check_is_no_running_one_and_the_next_check_makes_the_report_current() {
        let mut studio = studio_without_live_check();
        run(&mut studio, Command::New);
        run(&mut studio, set_title("One"));
        let delay = studio.find_report_delay();
        assert!(
            matches!(delay, Some(OutdatedReport::NotChecked)),
            "{delay:?}"
        );
        studio.finish_check(Err(Error::internal("the check broke")));
        let delay = studio.find_report_delay();
        let Some(OutdatedReport::Failed(error)) = delay else {
            panic!("{delay:?}")
        };
        assert_eq!(error.kind(), crate::error::Kind::Internal, "{error:?}");
        // The failure is that of the draft before this change.
        run(&mut studio, set_title("Two"));
        let delay = studio.find_report_delay();
        assert!(
            matches!(delay, Some(OutdatedReport::NotChecked)),
            "{delay:?}"
        );
        studio.finish_check(Err(Error::internal("the check broke")));
        let check = Command::Validate {
            deep: false,
            profile: Profile::Tools,
        };
        run(&mut studio, check);
        assert!(studio.is_report_current() && studio.find_report_delay().is_none());
    }

    #[test]
    fn an_edit_starts_the_check_whose_report_is_of_the_edited_draft() {
        let mut studio = Studio::new(Jobs::quiet());
        run(&mut studio, Command::New);
        run(&mut studio, set_title("One"));
        assert!(studio.is_checking() && !studio.is_report_current());
        let mut events = Vec::new();
        while studio.is_checking() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            events.extend(studio.poll());
        }
        assert!(
            matches!(events[..], [Event::Validated]) && studio.is_report_current(),
            "the check of the draft before the edit gives no report: {events:?}"
        );
        assert!(
            !studio.report().findings.is_empty(),
            "there are no samples yet"
        );
        run(&mut studio, Command::Close);
        assert!(studio.report().findings.is_empty() && !studio.is_checking());
    }
}
