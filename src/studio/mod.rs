//! The headless application: commands in, events out. The window, the command line and the tests all drive this, and nothing
//! else changes a dataset. Must never name a window type; work that takes longer than a moment is a job.

mod align;
mod chunk;
mod command;
mod command_paths;
mod consolidate;
pub mod crash;
mod describe;
pub mod doctor;
mod document;
mod edit;
mod export;
mod extend;
mod filtered;
mod fix;
mod footprints;
mod here;
mod histograms;
mod import;
mod layout;
mod leakage;
mod legacy;
mod migrate;
mod optimise;
mod own_sources;
mod percentiles;
mod project;
mod remote;
mod repair;
mod replay;
mod rows;
mod sample_data;
mod script;
mod select;
mod shared_ids;
mod stats;
mod summaries;
mod tables;
mod thumbnails;
mod tray;
mod verbs;
mod verify;
mod watch;

pub use align::align_schemas;
pub use chunk::{ChunkArray, ChunkPlace, ChunkRequest, chunks_of, is_streamable, read_chunk, save_chunk, split_chunk};
pub use command::{Command, Event, Imported, Outcome};
pub use describe::{DescribeRequest, describe_dataset, describe_to};
pub use document::{Document, DraftDocument, OpenDataset, RowRef, Server};
pub use export::{ExportRequest, RowChoice, export};
pub use filtered::{Kept, kept};
pub use footprints::{FootprintRequest, Footprints, footprint_sources, footprints, times_of};
pub use histograms::{HistogramRequest, Scale, histograms};
pub use import::{import_folder, import_paths, join_metadata};
pub use layout::{ByteLayout, Part as BytePart, Stretch as ByteStretch, byte_layout};
pub use leakage::{leakage_of_container, leakage_of_draft};
pub use legacy::{CompileRequest, EditRequest, Generation, Lacking, compile, edit_tortilla, is_taco_name, write_first_generation};
pub use migrate::{
    Action, CollectionMapping, Conversion, FieldChoice, FieldMapping, MigrateRequest, Migrated, RenamedSample, is_other_generation,
    migrate,
};
pub use optimise::{KeptFile, OptimiseRequest, Optimised, check_togs, optimise};
pub use own_sources::places_of;
pub use percentiles::{BandPercentiles, PercentileRequest, Percentiles, PositionPercentiles, percentiles};
pub use project::{Project, Recoverable, is_project, open_project, recoverable, save_project};
pub use repair::{Repaired, repair};
pub use replay::{Expect, ReplayLine, check_expectation, replay, run_line};
pub use rows::json_lines;
pub use sample_data::make_sample_dataset;
pub use script::{ScriptLine, Step, WAIT_SECONDS, read_script};
pub use stats::{StatsRequest, pooled_statistics, pooled_statistics_of_draft};
pub use summaries::{Bars, ColumnSummary, SummaryRequest, as_numbers, bar_text, level_summary, summary_of};
pub use tables::{lazy_tables, tables_of};
pub use thumbnails::{Thumbnail, ThumbnailRequest, thumbnail};
pub use verbs::{READ_RASTER, RUN_QUERY, checked_build, command_for, convert, export_asset};
pub use verify::{Depth, Verified, verify, written_paths};

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use here::Here;

use crate::container::OpenOptions;
use crate::error::{Error, Result};
use crate::jobs::{Job, JobId, Jobs, Latest, Progress};
use crate::model::Report;
use crate::validate::LiveCheck;

/// Lines of the log that are kept.
const LOG_KEPT: usize = 2000;

/// What a job hands over when it is done: applied to the studio on the thread that polls.
pub(crate) type Finish = Box<dyn FnOnce(&mut Studio) -> Result<Event> + Send>;

/// A job, and the document that its result says something of, if it does of one.
struct Running {
    job: Job<Finish>,
    of: Option<Here>,
}

/// One line of the log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// When.
    pub time: SystemTime,
    /// True when something failed.
    pub error: bool,
    /// What happened.
    pub text: String,
}

/// A running job, as panels show it.
#[derive(Clone, Debug)]
pub struct JobView {
    /// Its name for [`Command::Cancel`].
    pub id: JobId,
    /// What it does.
    pub label: String,
    /// How far it is.
    pub progress: Progress,
    /// Time since it began.
    pub elapsed: Duration,
}

/// The application's state: one document, its findings, the running jobs, the log.
pub struct Studio {
    jobs: Jobs,
    running: Vec<Running>,
    /// Those jobs of them, and of some that have ended, that run extensions.
    extending: Vec<JobId>,
    document: Option<Document>,
    report: Arc<Report>,
    live_check: Latest<Report>,
    /// What the last check of the draft knew, so that the next one looks only at what changed.
    live: Arc<Mutex<LiveCheck>>,
    checks_by_itself: bool,
    /// Where drafts are kept while they are changed.
    autosave: Option<PathBuf>,
    autosave_patience: Option<Duration>,
    /// What autosave still writes of drafts that are not open any more.
    left: Vec<project::Left>,
    log: VecDeque<LogLine>,
    pending: Vec<Event>,
    filter: filtered::FilterState,
    /// Projects with files on unknown servers are asked about before they are shown.
    asks_for_servers: bool,
    /// Folders whose new files come into the tray of the draft.
    watched: Vec<watch::Watched>,
}

impl Studio {
    /// An empty studio on these jobs. Drafts are checked after every edit.
    pub fn new(jobs: Jobs) -> Self {
        Self {
            jobs,
            running: Vec::new(),
            extending: Vec::new(),
            document: None,
            report: Arc::default(),
            live_check: Latest::new(),
            live: Arc::default(),
            checks_by_itself: true,
            autosave: None,
            autosave_patience: None,
            left: Vec::new(),
            log: VecDeque::new(),
            pending: Vec::new(),
            filter: filtered::FilterState::default(),
            asks_for_servers: false,
            watched: Vec::new(),
        }
    }

    /// Runs a command: at once, or as a job whose end is an [`Event`].
    pub fn run(&mut self, command: Command) -> Result<Outcome> {
        tracing::debug!(?command, "run");
        crash::note(&command);
        let about = here::is_about_document(&command);
        let outcome = self.dispatch(command);
        if about && let Ok(Outcome::Started(id)) = &outcome {
            let here = self.here();
            self.running.iter_mut().filter(|running| running.job.id() == *id).for_each(|running| running.of = Some(here.clone()));
        }
        if let Err(error) = &outcome {
            self.log(true, error.report());
        }
        outcome
    }

    fn dispatch(&mut self, command: Command) -> Result<Outcome> {
        match command {
            Command::New => self.new_draft(),
            Command::Open { path } => self.open(path, OpenOptions::default()),
            Command::OpenWith { path, options } => self.open(path, *options),
            Command::Connect { access } => self.connect(access),
            Command::RemoteCache { clear } => self.remote_cache(clear),
            Command::Close => self.close(),
            Command::Fork => self.fork(),
            Command::Import { paths, into, metadata } => self.import(paths, into, metadata),
            Command::ImportCollection { path } => self.import_collection(path),
            Command::Edit { edit } => self.edit(edit),
            Command::AddToTray { paths } => self.add_to_tray(paths),
            Command::Watch { folder } => self.watch(&folder),
            Command::Unwatch { folder } => self.unwatch(&folder),
            Command::RemoveFromTray { files } => self.remove_from_tray(files),
            Command::PlaceUnplaced { file, slot } => self.place_unplaced(&file, &slot),
            Command::FindPattern { examples } => self.find_pattern(examples),
            Command::PlaceByPattern { examples, alternative } => self.place_by_pattern(examples, alternative),
            Command::FindFixes { finding } => self.find_fixes(finding),
            Command::ApplyFix { finding, fix } => self.apply_fix(finding, fix),
            Command::SplitOff { root, path } => self.split_off(root, path),
            Command::SaveProject { path, view, overwrite } => self.save_project(path, view, overwrite),
            Command::OpenProject { path } => self.open_project(path),
            Command::Restore { path } => self.restore(path),
            Command::Forget { path } => self.forget(&path),
            Command::RunRecipe => self.run_recipe(),
            Command::SetRecipe { recipe } => self.set_recipe(recipe),
            Command::FixSafe => self.fix_safe(),
            Command::FixAlike { root } => self.fix_alike(root),
            Command::AlignSchema => self.align_schema(),
            Command::FillMissing => self.fill_missing(),
            Command::PadTo { multiple } => self.pad_to(multiple),
            Command::ChoosePattern { choice } => self.choose_pattern(choice),
            Command::Undo => self.undo(),
            Command::Redo => self.redo(),
            Command::Extend { calls, replace } => self.extend(calls, replace),
            Command::LoadLevel { level } => self.load_level(level),
            Command::Validate { deep, profile } => self.validate(deep, profile),
            Command::Query { sql, limit } => self.query(sql, limit),
            Command::Select { query, path } => self.select(query, path),
            Command::Filter { filters } => self.filter(filters),
            Command::Summarize { request } => self.summarize(request),
            Command::Footprints { request } => self.footprints(request),
            Command::Thumbnail { request } => self.make_thumbnail(request),
            Command::Bytes { part } => self.byte_layout(part),
            Command::SaveRows { query, target } => self.save_rows(query, target),
            Command::PoolStatistics { request } => self.pool_statistics(request),
            Command::Leakage { request } => self.leakage(request),
            Command::Preview { request } => self.preview(request),
            Command::Write { options } => self.write(options),
            Command::Verify { paths, depth } => self.verify(paths, depth),
            Command::Export { request } => self.export(*request),
            Command::Convert { input, open, options } => self.convert_job(input, *open, options),
            Command::WriteTortilla { options } => self.write_tortilla(options),
            Command::Compile { request } => self.compile(*request),
            Command::EditTortilla { request } => self.edit_tortilla(*request),
            Command::ReadChunk { request } => self.read_chunk(request),
            Command::Describe { request } => self.describe(*request),
            Command::Migrate { request } => self.migrate(*request),
            Command::Histograms { request } => self.histograms(request),
            Command::Percentiles { request } => self.percentiles(request),
            Command::Optimise { request } => self.optimise(*request),
            Command::CheckTogs { path } => self.check_togs(path),
            Command::Repair { input, open, options } => self.repair(input, *open, options),
            Command::Consolidate { options } => self.consolidate(options),
            Command::SaveAsset { level, row, target } => self.save_asset(level, row, target),
            Command::Pause { job, on } => self.pause(job, on),
            Command::Cancel { job } => self.cancel(job),
        }
    }

    /// Takes the results of jobs that have ended. Never blocks.
    pub fn poll(&mut self) -> Vec<Event> {
        self.poll_jobs().into_iter().map(|(_, event)| event).collect()
    }

    /// [`Studio::poll`] with the job that each result is of.
    pub fn poll_jobs(&mut self) -> Vec<(Option<JobId>, Event)> {
        self.poll_watched();
        let mut events: Vec<_> = std::mem::take(&mut self.pending).into_iter().map(|event| (None, event)).collect();
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
        if let Some(outcome) = self.live_check.try_take() {
            events.extend(self.finish_live_check(outcome).map(|event| (None, event)));
        }
        events
    }

    /// Waits for one job; other jobs' events come with the next [`Studio::poll`]. The job's failure is the error.
    pub fn wait(&mut self, id: JobId, on_progress: &mut dyn FnMut(&Progress)) -> Result<Event> {
        loop {
            let Some(index) = self.running.iter().position(|running| running.job.id() == id) else {
                return Err(Error::usage(format!("there is no {id}")));
            };
            match self.running[index].job.wait_for(Duration::from_millis(100)) {
                None => on_progress(&self.running[index].job.progress()),
                Some(outcome) => {
                    let Running { job, of } = self.running.remove(index);
                    on_progress(&job.progress());
                    for warning in job.progress().warnings {
                        self.log(false, warning);
                    }
                    of.map_or(Ok(()), |of| self.need_here(&of))?;
                    return outcome?(self);
                }
            }
        }
    }

    /// Programs that a command would start and that the user of this session has not agreed to.
    pub fn programs_of(&self, command: &Command) -> Vec<Vec<String>> {
        match command {
            Command::Extend { calls, .. } => crate::extensions::programs_in(calls),
            Command::RunRecipe => match &self.document {
                Some(Document::Draft(draft)) => crate::extensions::programs_in(&draft.recipe),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Runs a command and waits for its end: what the command line and the tests do.
    pub fn run_to_end(&mut self, command: Command, on_progress: &mut dyn FnMut(&Progress)) -> Result<Event> {
        match self.run(command)? {
            Outcome::Done(event) => Ok(event),
            Outcome::Started(id) => self.wait(id, on_progress),
        }
    }

    fn finish(&mut self, Running { job, of }: &Running, outcome: Result<Finish>) -> Event {
        if of.as_ref().is_some_and(|of| !self.is_here(of)) {
            // It says nothing of what is open now.
            return Event::Cancelled { job: job.id(), label: job.label().to_owned() };
        }
        for warning in job.progress().warnings {
            self.log(false, format!("{}: {warning}", job.label()));
        }
        let applied = outcome.and_then(|finish| {
            self.log(false, format!("{} took {:.1} s", job.label(), job.elapsed().as_secs_f32()));
            finish(self)
        });
        match applied {
            Ok(event) => event,
            Err(error) if error.is_cancelled() => {
                self.log(false, format!("{} was cancelled; nothing was changed", job.label()));
                Event::Cancelled { job: job.id(), label: job.label().to_owned() }
            }
            Err(error) => {
                self.log(true, error.report());
                Event::Failed { job: job.id(), label: job.label().to_owned(), error: Arc::new(error) }
            }
        }
    }

    fn finish_live_check(&mut self, outcome: Result<Report>) -> Option<Event> {
        match outcome {
            Ok(report) => {
                self.report = Arc::new(report);
                Some(Event::Validated)
            }
            Err(error) if error.is_cancelled() => None,
            Err(error) => {
                self.log(true, error.report());
                None
            }
        }
    }

    fn start(&mut self, label: &str, work: impl FnOnce(&crate::jobs::JobContext) -> Result<Finish> + Send + 'static) -> Outcome {
        let job = self.jobs.start(label, work);
        let id = job.id();
        self.running.push(Running { job, of: None });
        Outcome::Started(id)
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
        let found = self.running.iter().map(|running| &running.job).find(|job| job.id() == id);
        found.ok_or_else(|| Error::usage(format!("there is no {id}")))
    }

    /// What is open.
    pub fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// The findings of the last check.
    pub fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// True while the findings are older than the draft.
    pub fn is_checking(&self) -> bool {
        self.live_check.is_running()
    }

    /// The running jobs, oldest first.
    pub fn jobs(&self) -> Vec<JobView> {
        let view = |job: &Job<Finish>| JobView {
            id: job.id(),
            label: job.label().to_owned(),
            progress: job.progress(),
            elapsed: job.elapsed(),
        };
        self.running.iter().map(|running| view(&running.job)).collect()
    }

    /// True while any job runs, the live check among them.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty() || self.live_check.is_running()
    }

    /// The log, oldest first.
    pub fn log_lines(&self) -> &VecDeque<LogLine> {
        &self.log
    }

    /// Adds a line to the log.
    pub fn log(&mut self, error: bool, text: impl Into<String>) {
        if self.log.len() == LOG_KEPT {
            self.log.pop_front();
        }
        self.log.push_back(LogLine { time: SystemTime::now(), error, text: text.into() });
    }

    /// Whether documents are checked by themselves, when they open and after every edit; command files turn it off and check
    /// when they ask.
    pub fn set_live_check(&mut self, on: bool) {
        self.checks_by_itself = on;
    }
}
