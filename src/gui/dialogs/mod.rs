//! The modal dialogs: writing, typed paths, confirmation, shortcuts, about. One at a time; Esc
//! closes.

mod about;
mod add_dataset;
mod column;
mod confirm;
mod consent;
mod crash;
mod describe;
mod dialog_job;
mod documentation;
mod export_subset;
mod frame;
mod join;
mod layout;
mod migrate;
mod open_path;
mod plan;
mod publish;
mod relocate;
mod repository;
mod settings;
mod tools;
mod write;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Context, Frame, Id, Modal};

use super::App;
use super::documentation_page::Page;
use super::file_dialog::FileRequest;
use super::panel_context::{DIM, Request};
use super::settings::Settings;
use super::theme::{self, Theme};
use super::tool::Tool;
use super::widgets;
use crate::container::{Built, OpenOptions};
use crate::draft::FixPlan;
use crate::error::Error;
use crate::export::Catalogue;
use crate::jobs::JobId;
use crate::ops::publish::Publication;
use crate::ops::{AnyOperation, DatasetImport, FoundLayout, Migrated, Verified};
use crate::studio::{Command, Event, LogLevel, Studio};
use about::About;
use add_dataset::AddDataset;
use column::ColumnDialog;
use confirm::Confirm;
use consent::Consent;
use describe::Describe;
use documentation::Documentation;
use export_subset::ExportSubset;
use frame::{Next, wants_focus};
use join::JoinDialog;
use layout::LayoutDialog;
use migrate::Migrate;
use open_path::OpenPath;
use plan::PlanDialog;
use publish::PublishDialog;
use relocate::Relocate;
use repository::RepositoryDialog;
use settings::SettingsDialog;
use tools::ToolDialog;
use write::WriteDialog;

pub use crash::CrashReport;
pub use tools::{ToolStart, start_of};

/// Least distance of a dialog from the upper and lower edge of the window, in points.
const DIALOG_MARGIN: f32 = 16.0;

pub enum Dialog {
    /// Writing the draft.
    Write(Box<WriteDialog>),
    /// Export of a subset.
    Subset(Box<ExportSubset>),
    /// Catalogue description.
    Describe(Box<Describe>),
    /// Publication.
    Publish(Box<PublishDialog>),
    /// Migration to 2.0.
    Migrate(Box<Migrate>),
    Tool(Box<ToolDialog>),
    /// A typed path.
    Path(OpenPath),
    /// Confirmation.
    Confirm(Box<Confirm>),
    /// Consent to what a file requests.
    Consent(Box<Consent>),
    /// Relocation of sources.
    Relocate(Relocate),
    /// What a dataset becomes in the draft.
    Dataset(Box<AddDataset>),
    /// Join of a table.
    Join(Box<JoinDialog>),
    /// How the files of a folder belong together.
    Layout(Box<LayoutDialog>),
    /// One field of a level.
    Column(Box<ColumnDialog>),
    /// Changes of a fix of many roots.
    Plan(PlanDialog),
    /// A page of the documentation.
    Documentation(Documentation),
    /// The datasets of a repository.
    Repository(RepositoryDialog),
    /// Recent datasets.
    Recent,
    Shortcuts,
    /// Settings of the user.
    Settings(Box<SettingsDialog>),
    /// Version, licences and checks of this machine.
    About(Box<About>),
    /// The report of a crash.
    Crash(CrashReport),
}

impl Dialog {
    /// Asks before unsaved changes are discarded; `changes` is their number, if it is known.
    /// `written` is true when the dataset was written as it is.
    pub fn discard(changes: Option<u64>, written: bool, then: Request) -> Self {
        let what = match changes {
            _ if written => tr!(
                "The dataset was written and stays. The draft is not saved: its sources, unplaced \
                    files and history would be lost."
            )
            .into(),
            Some(n) => tr_n!(
                n,
                "{n} change since the last save would be lost. Files on disk stay.",
                "{n} changes since the last save would be lost. Files on disk stay.",
                n = widgets::paint::format_grouped_number(n)
            ),
            None => {
                tr!("The changes since the last save would be lost. Files on disk stay.").into()
            }
        };
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("The draft has changes that are not saved").into(),
            what,
            button: tr!("Discard changes").into(),
            then: Some(Request::Anyway(Box::new(then.clone()))),
            instead: Some((tr!("Save first").into(), Request::SaveFirst(Box::new(then)))),
            stay: tr!("Cancel"),
        }))
    }

    /// Asks before replacing a project file that another program has changed.
    pub fn replace(path: &str, then: Request) -> Self {
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("Another program wrote this project").into(),
            what: tr!(
                "{path} changed after it was opened or saved here. Replacing it loses the changes \
                    of the other program.",
                path
            ),
            button: tr!("Replace").into(),
            then: Some(then),
            instead: Some((
                tr!("Save as…").into(),
                Request::Do(super::action::Action::SaveAs),
            )),
            stay: tr!("Cancel"),
        }))
    }

    /// Offers to restore the old contents that an interrupted write left aside.
    pub fn aside(path: PathBuf) -> Self {
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("A write was interrupted").into(),
            what: tr!(
                "{path} does not exist now. Its earlier contents, complete, are beside it under \
                    another name.",
                path = crate::gui::dropped_paths::display_path(&path)
            ),
            button: String::new(),
            then: None,
            instead: Some((
                tr!("Bring back and open").into(),
                Request::RestoreAside(path),
            )),
            stay: tr!("Cancel"),
        }))
    }

    /// Offers to repair an archive that another program wrote again.
    pub fn for_rezipped_archive(path: PathBuf) -> Self {
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("Another program wrote this ZIP again").into(),
            what: tr!(
                "{path} holds a dataset, but not in the way that TACO archives are written: unpack \
                    it and open the folder, or write a repaired copy with all of its metadata.",
                path = crate::gui::dropped_paths::display_path(&path)
            ),
            button: String::new(),
            then: None,
            instead: Some((tr!("Repair a copy…").into(), Request::Repair(path))),
            stay: tr!("Cancel"),
        }))
    }

    /// Asks before quitting cancels running jobs.
    pub fn stop(jobs: &str, then: Request) -> Self {
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("Work is still running").into(),
            what: tr!(
                "Closing cancels {jobs}. Partial output is removed; earlier files stay.",
                jobs
            ),
            button: tr!("Stop and close").into(),
            then: Some(Request::Anyway(Box::new(then))),
            instead: None,
            stay: tr!("Cancel"),
        }))
    }

    /// Asks before removing a FOLDER with contents.
    pub fn remove(path: &str, children: u64, then: Request) -> Self {
        let n = widgets::paint::format_grouped_number(children);
        Dialog::Confirm(Box::new(Confirm {
            title: tr!("Remove {path}", path),
            what: tr_n!(
                children,
                "Removes this FOLDER and its {n} child from the dataset. Files on disk stay, and \
                    undo brings it back.",
                "Removes this FOLDER and its {n} children from the dataset. Files on disk stay, \
                    and undo brings it back.",
                n
            ),
            button: tr!("Remove folder").into(),
            then: Some(then),
            instead: None,
            stay: tr!("Cancel"),
        }))
    }

    /// Asks before removing several samples.
    pub fn remove_many(count: u64, then: Request) -> Self {
        let n = widgets::paint::format_grouped_number(count);
        Dialog::Confirm(Box::new(Confirm {
            title: tr_n!(count, "Remove {n} sample", "Remove {n} samples", n),
            what: tr!(
                "Removes them and what they hold from the dataset. Files on disk stay, and \
                undo brings them back."
            )
            .into(),
            button: tr!("Remove {n}", n),
            then: Some(then),
            instead: None,
            stay: tr!("Cancel"),
        }))
    }

    pub fn about() -> Self {
        Dialog::About(Box::default())
    }

    /// Settings of the user.
    pub fn settings(theme: Theme, settings: Settings) -> Self {
        Dialog::Settings(Box::new(SettingsDialog::new(theme, settings)))
    }

    /// Asks for a path.
    pub fn path(request: FileRequest) -> Self {
        Dialog::Path(OpenPath::new(request, false))
    }

    pub fn export_subset(
        input: PathBuf,
        open: OpenOptions,
        folder: &std::path::Path,
        id: &str,
        sql: Option<String>,
    ) -> Self {
        Dialog::Subset(Box::new(ExportSubset::new(input, open, folder, id, sql)))
    }

    /// The description dialog.
    pub fn describe(
        input: PathBuf,
        open: OpenOptions,
        folder: &std::path::Path,
        id: &str,
        form: Catalogue,
    ) -> Self {
        Dialog::Describe(Box::new(Describe::new(input, open, folder, id, form)))
    }

    /// The publication dialog.
    pub fn publish(input: PathBuf, open: OpenOptions, prices: crate::ops::publish::Prices) -> Self {
        Dialog::Publish(Box::new(PublishDialog::new(input, open, prices)))
    }

    /// The migration dialog.
    pub fn migrate(input: PathBuf, folder: &std::path::Path) -> Self {
        Dialog::Migrate(Box::new(Migrate::new(input, folder)))
    }

    /// A page of the documentation, from a line.
    pub fn documentation(page: Page, line: usize) -> Self {
        Dialog::Documentation(Documentation::new(page, line))
    }

    pub fn tool(tool: Tool, start: &ToolStart) -> Self {
        Dialog::Tool(Box::new(ToolDialog::new(tool, start)))
    }

    /// Opens several datasets as one; `otherwise` imports dropped paths instead.
    pub fn several(paths: &[PathBuf], otherwise: Option<Command>) -> Self {
        Dialog::Tool(Box::new(ToolDialog::several(paths, otherwise)))
    }

    /// The plan of a fix over many roots, for this revision of the draft.
    pub fn plan(plan: Arc<FixPlan>, revision: u64) -> Self {
        Dialog::Plan(PlanDialog::new(plan, revision))
    }

    /// The relocation dialog.
    pub fn relocate(draft: &crate::draft::Draft) -> Self {
        Dialog::Relocate(Relocate::new(draft))
    }

    /// The datasets of the repository at this address.
    pub fn repository(folder: PathBuf) -> Self {
        Dialog::Repository(RepositoryDialog::new(folder))
    }

    /// The join dialog; `otherwise` imports a dropped table as a file instead.
    pub fn join(table: PathBuf, otherwise: Option<Command>) -> Self {
        Dialog::Join(Box::new(JoinDialog::new(table, otherwise)))
    }

    /// What a dataset becomes in the draft; `as_file` adds its file, where it is one.
    pub fn dataset(request: DatasetImport, as_file: Option<Command>) -> Self {
        Dialog::Dataset(Box::new(AddDataset::new(request, as_file)))
    }

    /// What an archive becomes in the draft; `as_file` adds its file, where it is one.
    pub fn archive(request: DatasetImport, as_file: Option<Command>) -> Self {
        Dialog::Dataset(Box::new(AddDataset::of_archive(request, as_file)))
    }

    /// What is taken of a STAC catalogue; `as_file` adds its file, where it is one.
    pub fn catalogue(request: DatasetImport, as_file: Option<Command>) -> Self {
        Dialog::Dataset(Box::new(AddDataset::of_catalogue(request, as_file)))
    }

    /// The layout that was found in a folder; `otherwise` adds the folder as it is.
    pub fn layout(folder: PathBuf, found: Arc<FoundLayout>, otherwise: Command) -> Self {
        Dialog::Layout(Box::new(LayoutDialog::new(folder, found, otherwise)))
    }

    /// Changes a field of a level, or adds one.
    pub fn column(level: usize, field: Option<crate::model::FieldSpec>) -> Self {
        Dialog::Column(Box::new(ColumnDialog::new(level, field)))
    }

    /// The write dialog; `own` are the paths that the draft reads from.
    pub fn write(folder: PathBuf, id: &str, own: HashSet<PathBuf>) -> Self {
        Dialog::Write(Box::new(WriteDialog::new(folder, id, own)))
    }
}

/// The dialog that is open, if one is.
#[derive(Default)]
pub struct Dialogs {
    current: Option<Dialog>,
    /// Set when a dialog opens or its job ends: the focus moves to the next control.
    fresh: bool,
    was_running: bool,
}

impl Dialogs {
    /// Opens a dialog in place of the present one.
    pub fn open(&mut self, dialog: Dialog) {
        self.current = Some(dialog);
        self.fresh = true;
    }

    /// True while one is open.
    pub fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// True for a command whose job a dialog shows.
    pub fn waits_for(command: &Command) -> bool {
        match command {
            Command::Write { .. } | Command::WriteTortilla { .. } | Command::Verify { .. } => true,
            // Panels run these.
            Command::Operate(
                AnyOperation::SubmitPlan(_)
                | AnyOperation::RunPlanPart(_)
                | AnyOperation::RemoteCache(_),
            ) => false,
            Command::Operate(_) => true,
            _ => false,
        }
    }

    /// Passes the job to the dialog.
    pub fn writing(&mut self, job: JobId) {
        match &mut self.current {
            Some(Dialog::Write(dialog)) => dialog.record_start(job),
            Some(Dialog::Migrate(dialog)) => dialog.record_start(job),
            Some(Dialog::Subset(dialog)) => dialog.record_start(job),
            Some(Dialog::Describe(dialog)) => dialog.record_start(job),
            Some(Dialog::Publish(dialog)) => dialog.record_start(job),
            Some(Dialog::Tool(dialog)) => dialog.record_start(job),
            _ => {}
        }
    }

    /// Passes a publication to its dialog; returned when no dialog waits for it.
    pub fn pass_publication(&mut self, publication: Publication) -> Option<Publication> {
        match &mut self.current {
            Some(Dialog::Publish(dialog)) if dialog.is_running() => {
                dialog.done(publication);
                None
            }
            _ => Some(publication),
        }
    }

    /// Passes a finished migration to its dialog; returned when no dialog waits for it.
    pub fn pass_migration(&mut self, migrated: Migrated) -> Option<Migrated> {
        match &mut self.current {
            Some(Dialog::Migrate(dialog)) => {
                dialog.done(migrated);
                None
            }
            _ => Some(migrated),
        }
    }

    /// Passes a written dataset to its dialog; returned when another dialog is open. Only a dataset
    /// written from a draft can be compared.
    pub fn pass_written_dataset(&mut self, built: Built, drafted: bool) -> Option<Built> {
        match &mut self.current {
            Some(Dialog::Write(dialog)) => dialog.done(built),
            Some(Dialog::Subset(dialog)) if dialog.is_running() => dialog.done(built),
            Some(_) => return Some(built),
            None => {
                let mut dialog = WriteDialog::new(PathBuf::new(), "", HashSet::new());
                dialog.choices.verify = drafted;
                dialog.done(built);
                self.open(Dialog::Write(Box::new(dialog)));
            }
        }
        None
    }

    /// Closes the dialog that waits for this file.
    pub fn close_after_saving(&mut self, path: &Path) {
        if matches!(&self.current, Some(Dialog::Describe(dialog)) if dialog.is_done(path)) {
            self.current = None;
        }
    }

    /// Passes the failure of a job to the dialog, or of one that did not start. True when it shows
    /// it.
    pub fn pass_failure(&mut self, job: Option<JobId>, error: &Error) -> bool {
        match &mut self.current {
            Some(Dialog::Write(dialog)) => dialog.record_failure(job, error),
            Some(Dialog::Migrate(dialog)) => dialog.record_failure(job, error),
            Some(Dialog::Subset(dialog)) => dialog.record_failure(job, error),
            Some(Dialog::Describe(dialog)) => dialog.record_failure(job, error),
            Some(Dialog::Publish(dialog)) => dialog.record_failure(job, error),
            Some(Dialog::Tool(dialog)) => dialog.record_failure(job, error),
            _ => false,
        }
    }

    /// Passes a cancelled job to the dialog.
    pub fn pass_cancellation(&mut self, job: JobId) {
        match &mut self.current {
            Some(Dialog::Write(dialog)) => dialog.record_cancellation(job),
            Some(Dialog::Migrate(dialog)) => dialog.record_cancellation(job),
            Some(Dialog::Subset(dialog)) => dialog.record_cancellation(job),
            Some(Dialog::Describe(dialog)) => dialog.record_cancellation(job),
            Some(Dialog::Publish(dialog)) => dialog.record_cancellation(job),
            Some(Dialog::Tool(dialog)) => dialog.record_cancellation(job),
            _ => {}
        }
    }

    /// Passes the result of a comparison to the write dialog.
    pub fn pass_verification(&mut self, job: Option<JobId>, found: Arc<Verified>) {
        if let Some(Dialog::Write(dialog)) = &mut self.current {
            dialog.record_verification(job, found);
        }
    }

    /// Passes the end of a job to the tool that runs it; returns what is to be done afterwards.
    /// `None` for other jobs.
    pub fn tool_ended(
        &mut self,
        job: Option<JobId>,
        event: &Event,
        studio: &Studio,
    ) -> Option<Vec<Request>> {
        match &mut self.current {
            Some(Dialog::Tool(dialog)) => dialog.show_job_report(job, event, studio),
            _ => None,
        }
    }

    /// Passes chosen paths to the tool that asked for them.
    pub fn tool_picked(&mut self, paths: Vec<PathBuf>) {
        if let Some(Dialog::Tool(dialog)) = &mut self.current {
            dialog.receive_picked_paths(paths);
        }
    }

    /// Passes the chosen folder to the write dialog.
    pub fn target_picked(&mut self, folder: PathBuf) {
        if let Some(Dialog::Write(dialog)) = &mut self.current {
            dialog.set_folder(folder);
        }
    }

    /// Offers to type the path, as the desktop's file dialog does not appear.
    pub fn slow_file_dialog(&mut self, request: FileRequest) {
        if self.current.is_none() {
            self.open(Dialog::Path(OpenPath::new(request, true)));
        }
    }

    /// Closes the typed-path dialog that stood in for the desktop's, unless text was typed.
    pub fn picker_closed(&mut self) {
        if let Some(Dialog::Path(dialog)) = &self.current
            && dialog.is_stand_in()
        {
            self.current = None;
        }
    }
}

impl Dialogs {
    /// Closes dialogs about a document that is no longer open.
    pub fn forget_document(&mut self) {
        let gone = match &mut self.current {
            Some(
                Dialog::Confirm(_)
                | Dialog::Column(_)
                | Dialog::Dataset(_)
                | Dialog::Join(_)
                | Dialog::Layout(_)
                | Dialog::Relocate(_)
                | Dialog::Plan(_),
            ) => true,
            Some(Dialog::Write(write)) => {
                // The result can't be compared with another draft.
                write.choices.verify = false;
                !write.is_running()
            }
            Some(Dialog::Subset(subset)) => !subset.is_running(),
            Some(Dialog::Describe(describe)) => !describe.is_running(),
            Some(Dialog::Publish(publish)) => !publish.is_running(),
            _ => false,
        };
        if gone {
            self.current = None;
        }
    }
}

impl App {
    /// Applies and stores settings.
    pub(super) fn apply_settings(&mut self, ctx: &Context, theme: Theme, settings: Settings) {
        // The check runs again.
        if settings.language != self.view.settings.language && self.studio.document().is_some() {
            self.requests.push(Request::Run(Command::Validate {
                deep: false,
                profile: crate::model::Profile::Tools,
            }));
        }
        (self.view.theme, self.view.settings) = (theme, settings);
        theme::set(ctx, self.view.theme);
        self.view.settings.apply(ctx);
        self.save();
    }

    /// Draws the open dialog.
    pub(super) fn dialogs_ui(&mut self, ctx: &Context) {
        let Some(mut dialog) = self.dialogs.current.take() else {
            return;
        };
        let t = theme::tokens_for_mode(ctx.global_style().visuals.dark_mode);
        let frame = Frame::NONE
            .fill(t.bg1)
            .stroke(egui::Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .shadow(ctx.global_style().visuals.window_shadow);
        let busy = match &dialog {
            Dialog::Write(write) => write.is_running(),
            Dialog::Migrate(migrate) => migrate.is_running(),
            Dialog::Subset(subset) => subset.is_running(),
            Dialog::Describe(describe) => describe.is_running(),
            Dialog::Publish(publish) => publish.is_running(),
            Dialog::Tool(tool) => tool.is_running(),
            _ => false,
        };
        let ended = std::mem::replace(&mut self.dialogs.was_running, busy) && !busy;
        if std::mem::take(&mut self.dialogs.fresh) | ended {
            ctx.memory_mut(|memory| {
                memory
                    .focused()
                    .into_iter()
                    .for_each(|id| memory.surrender_focus(id))
            });
            ctx.data_mut(|data| data.insert_temp(wants_focus(), true));
        }
        let modal = Modal::new(Id::unique("dialog"))
            .frame(frame)
            .backdrop_color(DIM);
        let response = modal.show(ctx, |ui| {
            // An area offers the size of its last frame, which may be that of a lower dialog, or of
            // this one before it grew.
            ui.set_max_height(ctx.content_rect().height() - 2.0 * DIALOG_MARGIN);
            self.with_cx(|cx, _| match &mut dialog {
                Dialog::Write(dialog) => dialog.ui(ui, cx),
                Dialog::Subset(dialog) => dialog.ui(ui, cx),
                Dialog::Describe(dialog) => dialog.ui(ui, cx),
                Dialog::Publish(dialog) => dialog.ui(ui, cx),
                Dialog::Migrate(dialog) => dialog.ui(ui, cx),
                Dialog::Tool(dialog) => dialog.ui(ui, cx),
                Dialog::Path(dialog) => dialog.ui(ui),
                Dialog::Column(dialog) => dialog.ui(ui, cx),
                Dialog::Join(dialog) => dialog.ui(ui, cx),
                Dialog::Dataset(dialog) => dialog.ui(ui, cx),
                Dialog::Layout(dialog) => dialog.ui(ui, cx),
                Dialog::Relocate(dialog) => dialog.ui(ui),
                Dialog::Confirm(dialog) => dialog.ui(ui),
                Dialog::Consent(dialog) => dialog.ui(ui),
                Dialog::Plan(dialog) => dialog.ui(ui, cx),
                Dialog::Documentation(dialog) => dialog.ui(ui),
                Dialog::Repository(dialog) => dialog.ui(ui, cx),
                Dialog::Recent => open_path::recent_ui(ui, cx),
                Dialog::Settings(dialog) => dialog.ui(ui, cx),
                Dialog::Shortcuts => about::shortcuts_ui(ui),
                Dialog::About(about) => about.ui(ui, cx),
                Dialog::Crash(report) => report.ui(ui),
            })
        });
        let mut keep = busy || !response.should_close();
        match response.inner {
            Next::Stay => {}
            Next::Close => keep = false,
            Next::Do(ask) => {
                self.requests.push(ask);
                keep = false;
            }
            Next::Also(ask) => self.requests.push(ask),
            Next::Settings(theme, settings) => self.apply_settings(ctx, theme, settings),
            Next::Addresses(access, paths) => {
                self.file_dialog = None;
                keep = false;
                let known = access == crate::remote::access();
                // Scripts can use the dialog, but only the user can grant access to servers.
                if !known && self.driver.is_some() && !crate::consent::allows_connect() {
                    self.studio.log(
                        LogLevel::Error,
                        "a script may not say how to reach other machines without --allow-connect",
                    );
                } else {
                    let servers = paths.iter().filter(|path| crate::model::is_remote(path));
                    servers.for_each(|path| {
                        crate::consent::allow_server(&crate::consent::server_of(
                            &path.to_string_lossy(),
                        ))
                    });
                    self.requests
                        .push(Request::Run(Command::Connect { access }));
                    self.requests.push(Request::OpenPaths(paths));
                }
            }
            Next::Paths(request, paths) => {
                self.file_dialog = None;
                self.handle_picked_paths(request, paths, true);
                keep = false;
            }
        }
        if keep && self.dialogs.current.is_none() {
            self.dialogs.current = Some(dialog);
        }
    }
}
