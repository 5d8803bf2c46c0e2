//! The session without a window: commands in, events out. The window, the command line and the
//! tests run the same commands; nothing else changes a dataset. It uses no window types; longer
//! work runs as a job.

mod command;
mod consistency;
mod consistency_settings;
pub mod crash;
mod disk_watch;
mod document;
mod document_check;
mod document_id;
mod document_read;
mod document_state;
mod edit;
mod event;
mod extend;
mod filter;
mod fix;
mod plan;
mod project;
mod replay;
mod script;
mod server;
mod tray;
mod verbs;
mod watch;

pub use crate::model::RowRef;
pub use command::Command;
pub use consistency_settings::ConsistencySettings;
pub use disk_watch::{DiskChange, DiskWatch};
pub use document::{Document, DraftDocument, OpenDataset};
pub use document_check::OutdatedReport;
pub use document_read::DocumentRead;
pub use document_state::DocumentId;
pub use event::{Event, Outcome};
pub use fix::FixFinder;
pub use plan::PlanDraft;
pub use project::{Project, Recoverable, is_project, open_project, recoverable, save_project};
pub use replay::{check_expectation, replay, run_line};
pub use script::{
    Expect, PlacedScriptLine, ReplayLine, ScriptLine, Step, WAIT_SECONDS, read_script,
};
pub use server::Server;
pub use verbs::command_for;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::container::{ContainerReader, OpenOptions};
use crate::error::{Error, Result};
use crate::extensions::not_agreed;
use crate::jobs::{Job, JobContext, JobId, Jobs, Progress};
use crate::ops::AnyOperation;
use crate::remote;

/// Maximum number of log lines.
const LOG_KEPT: usize = 2000;

/// Result of a job: a function applied to the studio on the thread that polls.
pub(crate) type Finish = Box<dyn FnOnce(&mut Studio) -> Result<Event> + Send>;

/// A running job, and the document that its result applies to, if any.
struct RunningJob {
    job: Job<Finish>,
    document: Option<DocumentId>,
    topic: Option<JobTopic>,
}

impl RunningJob {
    fn build_view(&self) -> JobView {
        JobView {
            id: self.job.id(),
            topic: self.topic,
            label: self.job.label().to_owned(),
            progress: self.job.progress(),
            elapsed: self.job.elapsed_time(),
        }
    }
}

/// What a job works on, where other code looks for such a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTopic {
    /// Extensions over the draft.
    Extensions,
    /// The comparison of rasters by position.
    Consistency,
    /// A plan that is written, or whose parts are built.
    Plan,
}

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// A finished action and its duration.
    Info,
    /// A problem that did not stop the action.
    Warning,
    /// A failure.
    Error,
}

#[derive(Clone, Debug)]
pub struct LogLine {
    /// Time of the entry.
    pub time: SystemTime,
    /// Severity.
    pub level: LogLevel,
    /// Message for the user.
    pub text: String,
}

/// A running job, for display.
#[derive(Clone, Debug)]
pub struct JobView {
    /// Id, for [`Command::Cancel`].
    pub id: JobId,
    /// What it works on, where other code looks for that.
    pub topic: Option<JobTopic>,
    /// Label for the user, in the interface language.
    pub label: String,
    pub progress: Progress,
    /// Time since the start.
    pub elapsed: Duration,
}

/// A dataset that is being opened: its reader is there before its tables are decoded.
pub struct Opening {
    pub job: JobId,
    /// The dataset.
    pub path: PathBuf,
    reader: SharedReader,
}

/// The reader of a dataset that is being opened, once it is known.
type SharedReader = Arc<Mutex<Option<Arc<dyn ContainerReader>>>>;

impl Opening {
    /// Reader of the dataset, once its container is open.
    pub fn reader(&self) -> Option<Arc<dyn ContainerReader>> {
        self.reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// State of the session: one document, its findings, running jobs, the log.
pub struct Studio {
    jobs: Jobs,
    running: Vec<RunningJob>,
    document: Option<Document>,
    document_id: DocumentId,
    check: document_check::DocumentCheck,
    opening: Option<Opening>,
    /// Folder of autosave journals; `None` disables autosave.
    autosave_folder: Option<PathBuf>,
    autosave_patience: Option<Duration>,
    /// Why the draft that was restored last is not whole.
    restore_trouble: Option<String>,
    /// Pending autosave writes of closed drafts.
    pending_writes: Vec<project::PendingWrites>,
    log: VecDeque<LogLine>,
    pending: Vec<Event>,
    filter: filter::FilterState,
    consistency: consistency::ConsistencyState,
    /// True when projects with files on servers without consent need a confirmation.
    asks_for_servers: bool,
    /// Watched folders; their new files are added to the tray.
    watched: Vec<watch::Watched>,
    /// The step of the history with which changes of watched files are merged.
    watch_step: Option<watch::WatchStep>,
}

impl Studio {
    /// An empty session that runs its jobs on `jobs`. Documents are checked after opening and after
    /// every edit.
    pub fn new(jobs: Jobs) -> Self {
        Self {
            jobs,
            running: Vec::new(),
            document: None,
            document_id: DocumentId::default(),
            check: document_check::DocumentCheck::new(),
            opening: None,
            autosave_folder: None,
            autosave_patience: None,
            restore_trouble: None,
            pending_writes: Vec::new(),
            log: VecDeque::new(),
            pending: Vec::new(),
            filter: filter::FilterState::default(),
            consistency: consistency::ConsistencyState::default(),
            asks_for_servers: false,
            watched: Vec::new(),
            watch_step: None,
        }
    }

    /// Runs a command: immediately, or as a job that ends with an [`Event`].
    ///
    /// # Errors
    /// Those of the command; an error of a job is reported by [`Studio::poll`].
    pub fn run(&mut self, command: Command) -> Result<Outcome> {
        tracing::debug!(?command, "run");
        crash::note(&command);
        let about = document_id::is_about_document(&command);
        let outcome = self.dispatch(command);
        if about && let Ok(Outcome::Started(id)) = &outcome {
            let document = Some(self.document_id);
            self.running
                .iter_mut()
                .filter(|running| running.job.id() == *id)
                .for_each(|running| running.document = document);
        }
        if let Err(error) = &outcome {
            self.log(LogLevel::Error, error.report());
        }
        outcome
    }

    fn dispatch(&mut self, command: Command) -> Result<Outcome> {
        match command {
            Command::New => self.new_draft(),
            Command::Open { path } => self.open(path, OpenOptions::default()),
            Command::OpenWith { path, options } => self.open(path, *options),
            Command::Connect { access } => {
                remote::set_access(access)?;
                Ok(Outcome::Done(Event::None))
            }
            Command::Close => self.close(),
            Command::Fork => self.fork(),
            Command::Import {
                paths,
                into,
                metadata,
            } => self.import(paths, into, metadata),
            Command::ImportLayout { request } => self.import_layout(request),
            Command::ImportDataset { request } => self.import_dataset(request),
            Command::ImportCollection { path } => self.import_collection(path),
            Command::Edit { edit } => self.edit(edit),
            Command::AddToTray { paths } => self.add_to_tray(paths),
            Command::Watch { folder } => self.watch(&folder),
            Command::Unwatch { folder } => self.unwatch(&folder),
            Command::RemoveFromTray { files } => self.remove_from_tray(files),
            Command::PlaceUnplaced { file, slot } => self.place_unplaced(&file, &slot),
            Command::PlaceByPattern {
                examples,
                alternative,
            } => self.place_by_pattern(examples, alternative),
            Command::ApplyFix { finding, fix } => self.apply_fix(finding, fix),
            Command::PackSidecars => self.pack_sidecars(),
            Command::BurnInSidecars { copies } => self.burn_in_sidecars(copies),
            Command::SplitOff { root, path } => self.split_off(root, path),
            Command::SaveProject {
                path,
                view,
                overwrite,
            } => self.save_project(path, view, overwrite),
            Command::OpenProject { path } => self.open_project(path),
            Command::Restore { path } => self.restore(path),
            Command::Forget { path } => self.forget(path),
            Command::RunRecipe => self.run_recipe(),
            Command::SetRecipe { recipe } => self.set_recipe(recipe),
            Command::FixSafe => self.fix_safe(),
            Command::ChoosePattern { choice } => self.choose_pattern(choice),
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            Command::Extend { calls, replace } => self.extend(calls, replace),
            Command::Validate { deep, profile } => self.validate(deep, profile),
            Command::CheckConsistency { again } => self.check_consistency(again),
            Command::SetConsistency { settings } => self.set_consistency_settings(settings),
            Command::Query { query, path } => self.query(query, path),
            Command::Filter { filters } => self.filter(filters),
            Command::SaveRows { query, target } => self.save_rows(query, target),
            Command::Write { options } => self.write(options),
            Command::WriteTortilla { options } => self.write_tortilla(options),
            Command::SaveAsset { level, row, target } => self.save_asset(level, row, target),
            Command::Read(read) => self.read_document(read),
            Command::Operate(operation) => self.operate(operation),
            Command::PlanDraft { request } => self.plan_draft(*request),
            Command::Pause { job, on } => self.pause(job, on),
            Command::Cancel { job } => self.cancel(job),
        }
    }

    /// Returns the events of finished jobs. Never blocks.
    pub fn poll(&mut self) -> Vec<Event> {
        self.poll_jobs()
            .into_iter()
            .map(|(_, event)| event)
            .collect()
    }

    /// As [`Studio::poll`], with the job of each event, if any.
    pub fn poll_jobs(&mut self) -> Vec<(Option<JobId>, Event)> {
        self.poll_watched();
        let mut events: Vec<_> = std::mem::take(&mut self.pending)
            .into_iter()
            .map(|event| (None, event))
            .collect();
        let mut index = 0;
        while index < self.running.len() {
            match self.running[index].job.try_take() {
                None => index += 1,
                Some(outcome) => {
                    let running = self.running.remove(index);
                    events.push((Some(running.job.id()), self.finish(&running, outcome)));
                }
            }
        }
        events.extend(self.receive_check().map(|event| (None, event)));
        events
    }

    /// Waits for one job. Events of other jobs are returned by the next [`Studio::poll`].
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for an unknown job or when its document was closed; the error
    /// of the job.
    pub fn wait(&mut self, id: JobId, on_progress: &mut dyn FnMut(&Progress)) -> Result<Event> {
        loop {
            let Some(index) = self
                .running
                .iter()
                .position(|running| running.job.id() == id)
            else {
                return Err(Error::usage(format!("there is no {id}")));
            };
            match self.running[index].job.wait_for(Duration::from_millis(100)) {
                None => on_progress(&self.running[index].job.progress()),
                Some(outcome) => {
                    let RunningJob { job, document, .. } = self.running.remove(index);
                    on_progress(&job.progress());
                    for warning in job.warnings() {
                        self.log(LogLevel::Warning, warning);
                    }
                    document.map_or(Ok(()), |id| self.need_document(id))?;
                    return outcome?(self);
                }
            }
        }
    }

    /// Programs, with arguments, that a command would start and the user of this session has not
    /// agreed to.
    pub fn programs_of(&self, command: &Command) -> Vec<Vec<String>> {
        match command {
            Command::Extend { calls, .. } => crate::extensions::programs_in(calls),
            Command::PlanDraft { request } if request.recipe => {
                self.programs_of(&Command::RunRecipe)
            }
            Command::Operate(operation) => operation.programs_without_consent(),
            Command::RunRecipe => match &self.document {
                Some(Document::Draft(draft)) => crate::extensions::programs_in(&draft.recipe),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Runs a command and waits for its job, as the command line and the tests do.
    ///
    /// # Errors
    /// As [`Studio::run`] and [`Studio::wait`].
    pub fn run_to_end(
        &mut self,
        command: Command,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Event> {
        match self.run(command)? {
            Outcome::Done(event) => Ok(event),
            Outcome::Started(id) => self.wait(id, on_progress),
        }
    }

    fn finish(
        &mut self,
        RunningJob { job, document, .. }: &RunningJob,
        outcome: Result<Finish>,
    ) -> Event {
        let label = job.label().to_owned();
        if document.is_some_and(|id| id != self.document_id) {
            // Its document was closed.
            return Event::Cancelled {
                job: job.id(),
                label,
            };
        }
        for warning in job.warnings() {
            self.log(LogLevel::Warning, format!("{label}: {warning}"));
        }
        let applied = outcome.and_then(|finish| {
            self.log(
                LogLevel::Info,
                format!("{label} took {:.1} s", job.elapsed_time().as_secs_f32()),
            );
            finish(self)
        });
        match applied {
            Ok(event) => event,
            Err(error) if error.is_cancelled() => {
                self.log(
                    LogLevel::Info,
                    format!("{label} was cancelled; nothing was changed"),
                );
                Event::Cancelled {
                    job: job.id(),
                    label,
                }
            }
            Err(error) => {
                self.log(LogLevel::Error, error.report());
                Event::Failed {
                    job: job.id(),
                    label,
                    error: Arc::new(error),
                }
            }
        }
    }

    /// Starts a job with this label for the user.
    fn start(
        &mut self,
        label: impl Into<String>,
        work: impl FnOnce(&JobContext) -> Result<Finish> + Send + 'static,
    ) -> Outcome {
        let job = self.jobs.start(label, work);
        let id = job.id();
        self.running.push(RunningJob {
            job,
            document: None,
            topic: None,
        });
        Outcome::Started(id)
    }

    /// Sets what the started job works on.
    fn about(&mut self, topic: JobTopic, outcome: Outcome) -> Outcome {
        if let Outcome::Started(id) = &outcome {
            let started = self
                .running
                .iter_mut()
                .filter(|running| running.job.id() == *id);
            started.for_each(|running| running.topic = Some(topic));
        }
        outcome
    }

    fn operate(&mut self, operation: AnyOperation) -> Result<Outcome> {
        let programs = operation.programs_without_consent();
        if !programs.is_empty() {
            return Err(not_agreed(&programs));
        }
        let builds_plan_parts = operation.builds_plan_parts();
        if builds_plan_parts {
            self.one_plan_at_a_time()?;
        }
        let outcome = self.start_with_event(operation.label(), Event::Finished, move |ctx| {
            operation.run(ctx)
        })?;
        Ok(if builds_plan_parts {
            self.about(JobTopic::Plan, outcome)
        } else {
            outcome
        })
    }

    /// Starts a job whose result becomes an event; the document is not changed.
    fn start_with_event<T: Send + 'static>(
        &mut self,
        label: impl Into<String>,
        event: fn(T) -> Event,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
    ) -> Result<Outcome> {
        Ok(self.start(label, move |ctx| {
            let result = work(ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(event(result))) as Finish)
        }))
    }

    fn pause(&mut self, id: JobId, on: bool) -> Result<Outcome> {
        self.running_job(id)?.pause(on);
        Ok(Outcome::Done(Event::None))
    }

    fn cancel(&mut self, id: JobId) -> Result<Outcome> {
        self.running_job(id)?.cancel();
        Ok(Outcome::Done(Event::None))
    }

    fn running_job(&self, id: JobId) -> Result<&Job<Finish>> {
        let found = self
            .running
            .iter()
            .map(|running| &running.job)
            .find(|job| job.id() == id);
        found.ok_or_else(|| Error::usage(format!("there is no {id}")))
    }

    /// The open document.
    pub fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// The dataset that is being opened.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening
            .as_ref()
            .filter(|opening| self.running_job(opening.job).is_ok())
    }

    /// The running jobs, oldest first.
    pub fn jobs(&self) -> Vec<JobView> {
        self.running.iter().map(RunningJob::build_view).collect()
    }

    /// True while any job or the live check runs.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty() || self.is_checking()
    }

    /// The log, oldest first.
    pub fn log_lines(&self) -> &VecDeque<LogLine> {
        &self.log
    }

    /// Adds a line to the log.
    pub fn log(&mut self, level: LogLevel, text: impl Into<String>) {
        let text = text.into();
        if self.log.len() == LOG_KEPT {
            self.log.pop_front();
        }
        self.log.push_back(LogLine {
            time: SystemTime::now(),
            level,
            text,
        });
    }
}
