//! Handles the requests of panels, menus, shortcuts, drops and pastes, and reacts to the studio's
//! events. The only module where the window runs commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::{Context, Id};

use super::App;
use super::action::Action;
use super::action_enabled::disabled_reason;
use super::counted_texts;
use super::dialogs::{
    About, ColumnDialog, ConfirmDialog, DialogEvent, Dialogs, Documentation, JoinDialog, OpenPath,
    PlanDialog, RecentDialog, Relocate, RepositoryDialog, SettingsDialog, ShortcutsDialog,
};
use super::dock::{Arrangement, Dock};
use super::documentation_page::Page;
use super::drawn_panels::DrawnPanels;
use super::dropped_paths;
use super::file_dialog::{FileDialog, FileDialogAnswer, FileRequest};
use super::open_paths::Arrival;
use super::pane::{DockSide, Pane};
use super::panel_context::Request;
use super::panels::End;
use super::settings::Settings;
use super::theme::{self, Theme};
use super::tour::Tour;
use super::view_state::{Recent, now_s};
use super::widgets::{Toast, paint};
use crate::container::Built;
use crate::draft::{Care, Draft, Edit, Fix, FixVerb, plan_of};
use crate::error::{Cause, Error};
use crate::jobs::{AsyncValue, JobId};
use crate::model::{Profile, portable_name};
use crate::ops::{AnyOutput, Imported, OperationOutput, SAMPLE_FOLDER, make_sample_dataset};
use crate::studio::{Command, Document, Event, LogLevel, Outcome, RowRef};

/// A message about an error, followed by what to do.
fn with_advice(text: String, error: &Error) -> String {
    match error.advice() {
        Some(hint) => format!("{text} {}", tr!("Next: {hint}.", hint)),
        None => text,
    }
}

impl App {
    /// Handles all requests, including those that handling adds.
    pub(super) fn handle_requests(&mut self, ctx: &Context) {
        while !self.requests.is_empty() {
            for request in std::mem::take(&mut self.requests) {
                let began = self.watchdog.begin();
                self.handle_request(ctx, request);
                self.watchdog.end(began, || "a request".to_owned());
            }
        }
    }

    fn handle_request(&mut self, ctx: &Context, request: Request) {
        match request {
            Request::Run(command) => self.run_command(command),
            Request::Do(action) => self.perform(ctx, action),
            Request::ChooseFiles(request) => self.pick(ctx, request),
            Request::Select(at) => self.select_now(at),
            Request::SelectNode(node) => {
                if let Some(at) = self
                    .studio
                    .document()
                    .and_then(|document| document.row_of(&node))
                {
                    self.select_now(Some(at));
                }
            }
            Request::Show(pane) => self.view.dock.show(pane),
            Request::OpenPaths(paths) => self.look_at_paths(paths, Arrival::Opened),
            Request::OpenLink(link) => self.open_link(link),
            Request::TakeDropped(paths) => self.take_dropped(paths),
            Request::Copy(text) => {
                ctx.copy_text(text);
                self.toast = Some(Toast::new(true, tr!("Copied")));
            }
            Request::CopyAs(engine) => {
                let filters = self.studio.filters();
                let opened = self
                    .studio
                    .document()
                    .and_then(|document| document.opened_dataset());
                match opened.map(|open| crate::ops::copy_as(open.reader.as_ref(), filters, engine))
                {
                    None => {}
                    Some(Ok(statement)) => {
                        ctx.copy_text(statement);
                        self.toast = Some(Toast::new(true, tr!("Copied")));
                    }
                    Some(Err(error)) => self.tell_error(&error),
                }
            }
            Request::ForgetDraft(path) => self.run_now(Command::Forget { path }),
            Request::Forget(path) => {
                self.view.recent.retain(|recent| recent.path != path);
                self.save();
            }
            Request::Queries(book) => {
                self.view.queries = book;
                self.save();
            }
            Request::AppendToQuery(text) => self.panels.query.editor.append(&text),
            Request::PatternExample(example, step) => self.panels.pattern.add(example, step),
            Request::CollectionField(field) => {
                self.panels.collection.focus(&field);
                self.view.dock.show(Pane::Collection);
            }
            Request::LeaveCollectionField => self.panels.collection.release(),
            Request::SaveRows(query) => {
                // The rows are read once the file is chosen.
                self.rows_to_save = Some(query);
                self.pick(ctx, FileRequest::SaveRows);
            }
            Request::ExportSubset(sql) => self.export_subset(sql),
            Request::Describe(form) => self.describe(form),
            Request::Publish(path) => self.publish(path),
            Request::ShowInFolder(path) => self.show_in_folder(path),
            Request::Document(page, line) => self.dialogs.open(Documentation::new(page, line)),
            Request::OpenForm(action, sample) => self.open_form(action, sample),
            Request::TryPrograms(programs) => {
                self.ask_for_programs(programs, Request::Show(Pane::Extensions))
            }
            Request::Extension(name) => {
                self.panels.extensions.select_extension(name);
                self.view.dock.show(Pane::Extensions);
            }
            Request::Language(language) => {
                let settings = Settings {
                    language,
                    ..self.view.settings.clone()
                };
                self.apply_settings(ctx, self.view.theme, settings);
            }
            Request::Column(level, field) => self.dialogs.open(ColumnDialog::new(level, field)),
            Request::Plan(plan) => {
                if let Some(draft) = self.studio.document().and_then(|document| document.draft()) {
                    self.dialogs.open(PlanDialog::new(plan, draft.revision()));
                }
            }
            Request::Fix(root, fix) => self.apply_fix(root, *fix),
            Request::JoinTable(table) => self.dialogs.open(JoinDialog::new(table, None)),
            Request::SampleDataset => self.make_sample(),
            Request::Agreed(agreement, request) => self.record_consent(agreement, *request),
            Request::Anyway(request) => self.anyway(ctx, *request),
            Request::SaveFirst(request) => {
                self.after_save = Some(*request);
                self.save_draft(ctx, false);
            }
            Request::RestoreAside(path) => self.restore_aside(path),
            Request::Add(command) => self.add_to_draft(command),
            Request::Repair(path) => self.repair_copy(path),
            Request::Replace(path, then) => {
                self.after_save = then.map(|then| *then);
                self.save_to(Some(path), Some(true));
            }
        }
    }

    /// Applies a fix: at once when it is safe; one that removes a root asks as Delete does; others
    /// show their changes first.
    fn apply_fix(&mut self, root: u32, fix: Fix) {
        let run = Request::Run(Command::Edit {
            edit: fix.edit.clone(),
        });
        let of = self.session.document_key(&self.studio);
        let Some(draft) = self.studio.document().and_then(Document::draft) else {
            return;
        };
        let sample = draft.dataset().root.samples.get(root as usize);
        match (fix.care, sample) {
            (Care::Safe, _) => self.requests.push(run),
            (Care::Removes, Some(sample))
                if fix.verb == FixVerb::Drop && matches!(fix.edit, Edit::Remove { .. }) =>
            {
                let children = sample
                    .children()
                    .map_or(0, |children| children.samples.len() as u64);
                self.dialogs
                    .open(ConfirmDialog::remove_folder(&sample.id, children, run, of));
            }
            _ => {
                if let Some(plan) = plan_of(draft.dataset(), root as usize, &fix) {
                    self.dialogs
                        .open(PlanDialog::new(plan.into(), draft.revision()));
                }
            }
        }
    }

    /// Runs a command; asks first when it would discard unsaved changes or start programs.
    fn run_command(&mut self, command: Command) {
        use Command::{Close, New, Open, OpenProject, OpenWith, Restore};
        let leaves = matches!(
            command,
            New | Open { .. } | OpenWith { .. } | OpenProject { .. } | Restore { .. } | Close
        );
        if leaves && self.has_changes() {
            self.ask_to_discard(Request::Run(command));
            return;
        }
        if !self.asks_for_programs(&command) {
            self.run_now(command);
        }
    }

    fn run_now(&mut self, command: Command) {
        let opening = if let Command::Open { path } = &command {
            Some(path.clone())
        } else {
            None
        };
        let saving = if let Command::SaveProject { path, .. } = &command {
            path.clone()
        } else {
            None
        };
        let query = matches!(command, Command::Query { path: None, .. });
        let writing = Dialogs::waits_for(&command);
        let calls = if let Command::Extend { calls, .. } = &command {
            Some(calls.clone())
        } else {
            None
        };
        match self.studio.run(command) {
            Ok(Outcome::Done(event)) => self.on_event(None, event),
            Ok(Outcome::Started(job)) => {
                if let Some(path) = opening {
                    self.opening = Some((job, path));
                }
                if let Some(path) = saving {
                    self.saving = Some((job, path));
                }
                if query {
                    self.panels.query.record_start(job);
                }
                if writing {
                    self.dialogs.send(&DialogEvent::Started(job));
                }
                if let Some(calls) = calls {
                    self.session.jobs.extending(job, calls);
                }
            }
            Err(error) => {
                if query {
                    self.panels.query.fail(None, &error);
                }
                let failed = DialogEvent::Failed(None, &error);
                if !(writing && self.dialogs.send(&failed).is_some()) {
                    self.tell_error(&error);
                }
            }
        }
    }

    /// Reacts to an event of the studio.
    pub(super) fn on_event(&mut self, job: Option<JobId>, event: Event) {
        // "Undo" in a toast applies to the newest edit only.
        if matches!(event, Event::Edited { .. } | Event::DocumentChanged) {
            self.toast = self.toast.take().filter(|toast| toast.action.is_none());
        }
        if let Some(built) = event.written_dataset() {
            self.remember_written(built);
        }
        // What did not finish is reported below.
        if !matches!(event, Event::Failed { .. } | Event::Cancelled { .. }) {
            let finished = DialogEvent::Finished(job, &event, &self.studio);
            if let Some(requests) = self.dialogs.send(&finished) {
                self.requests.extend(requests);
                return;
            }
        }
        match event {
            Event::None | Event::Offered(_) | Event::Filtered => {}
            Event::ProjectSaved(path) => self.handle_saved_draft(&path),
            Event::DraftForgotten(_) => self.session.autosaving.forgotten += 1,
            Event::DocumentChanged => self.document_changed(job),
            Event::ProjectAsks { path, servers } => self.ask_for_servers(path, &servers),
            Event::Edited { label, sets } => {
                self.session.autosaving.edited_s = Some(now_s());
                let draft = self.studio.document().and_then(|document| document.draft());
                let undone = draft.is_some_and(|draft| draft.redo_label().is_some());
                if let Some(steps) = draft.filter(|_| undone).map(|draft| draft.step_number()) {
                    self.panels.pattern.remove_undone(steps);
                    self.session.jobs.undone(steps);
                }
                // Edits typed in the form need no toast.
                if !sets && !undone {
                    self.toast = Some(Toast::new(true, label).action(tr!("Undo"), "Ctrl Z"));
                }
            }
            Event::Arrived { files } => {
                let text = counted_texts::format_new_tray_files(files as u64);
                self.toast = Some(Toast::new(true, text).action(tr!("Undo"), "Ctrl Z"));
            }
            Event::Imported(report) => {
                let text = describe_import(&report);
                for skipped in &report.skipped {
                    self.studio
                        .log(LogLevel::Warning, format!("Left out {skipped}"));
                }
                self.toast = Some(Toast::new(true, text).action(tr!("Undo"), "Ctrl Z"));
            }
            Event::Extended { label, failures } => {
                let failed = match failures.len() {
                    0 => String::new(),
                    n => format!(
                        "; {}",
                        tr_n!(
                            n,
                            "{n} sample failed, see Jobs",
                            "{n} samples failed, see Jobs",
                            n
                        )
                    ),
                };
                let kept = match crate::extensions::count_kept_failures(&failures) {
                    0 => String::new(),
                    n => format!(
                        "; {}",
                        tr_n!(
                            n,
                            "{n} keeps its earlier values",
                            "{n} keep their earlier values",
                            n
                        )
                    ),
                };
                for failure in &failures {
                    self.studio.log(
                        LogLevel::Error,
                        format!(
                            "{} at {}: {}",
                            failure.extension, failure.path, failure.error
                        ),
                    );
                }
                let sound = failures.is_empty();
                let steps = self
                    .studio
                    .document()
                    .and_then(|document| document.draft())
                    .map_or(0, |draft| draft.step_number());
                self.session.jobs.record_extension_failures(failures, steps);
                self.toast = Some(
                    Toast::new(sound, format!("{label}{failed}{kept}"))
                        .action(tr!("Undo"), "Ctrl Z"),
                );
            }
            Event::Validated => self.session.status.has_check_result = true,
            Event::Queried(result) => self.panels.query.take(job, result),
            Event::Written(built) => self.show_written_dataset(&built),
            Event::Finished(output) => self.show_operation_output(output),
            Event::Planned(folder) => {
                self.session.plan.show(&folder);
                self.toast = Some(Toast::new(
                    true,
                    tr!("Saved {path}", path = dropped_paths::display_path(&folder)),
                ));
            }
            Event::Saved(path) => {
                self.toast = Some(Toast::new(
                    true,
                    tr!("Saved {path}", path = dropped_paths::display_path(&path)),
                ));
            }
            Event::Failed { job, label, error } => {
                if self
                    .opening
                    .as_ref()
                    .is_some_and(|(opening, _)| *opening == job)
                {
                    self.linked_sample = None;
                }
                let asked = self.ask_to_replace(job, &error) || self.ask_for_dataset(job, &error);
                self.session.plan.read_again();
                self.after_save = None;
                self.session.jobs.note(job, End::Failed, error.to_string());
                let query = self.panels.query.fail(Some(job), &error);
                if !asked
                    && self
                        .dialogs
                        .send(&DialogEvent::Failed(Some(job), &error))
                        .is_none()
                    && !query
                {
                    let text = tr!("{label} failed: {error}", label, error = &error);
                    self.toast = Some(Toast::new(false, with_advice(format!("{text}."), &error)));
                    self.view.dock.show(Pane::Log);
                }
            }
            Event::Cancelled { job, .. } => {
                self.session.plan.read_again();
                self.panels.query.record_cancellation(job);
                self.session.jobs.note(job, End::Cancelled, "");
                self.dialogs.send(&DialogEvent::Cancelled(job));
            }
        }
    }

    /// Shows an error as a toast; the log has it already.
    pub(super) fn tell_error(&mut self, error: &Error) {
        self.toast = Some(Toast::new(false, with_advice(format!("{error}."), error)));
    }

    fn anyway(&mut self, ctx: &Context, request: Request) {
        match request {
            Request::Run(command) if self.asks_for_programs(&command) => {}
            Request::Run(command) => self.run_now(command),
            Request::Do(Action::Quit) => {
                self.quitting = true;
                ctx.send_viewport_cmd(egui::ViewportCommand::Close);
            }
            other => self.requests.push(other),
        }
    }

    /// True when the draft has unsaved edits.
    pub(super) fn has_changes(&self) -> bool {
        let draft = self.studio.document().and_then(|document| document.draft());
        draft.is_some_and(Draft::has_unsaved)
    }

    /// True while a job runs that began more than 2 s ago.
    pub(super) fn works(&self) -> bool {
        self.studio
            .jobs()
            .iter()
            .any(|job| job.elapsed > Duration::from_secs(2))
    }

    /// Shows a written dataset in its dialog, or as a toast.
    fn show_written_dataset(&mut self, built: &Built) {
        let drafted = self
            .studio
            .document()
            .is_some_and(|document| document.draft().is_some());
        if !self.dialogs.show_written_dataset(built, drafted) {
            self.toast = Some(Toast::new(
                true,
                tr!(
                    "Saved {path}",
                    path = dropped_paths::display_path(&built.path)
                ),
            ));
        }
    }

    /// Shows what an operation did, which no tool waits for.
    fn show_operation_output(&mut self, output: AnyOutput) {
        match output {
            AnyOutput::Convert(built)
            | AnyOutput::Create(built)
            | AnyOutput::Export(built)
            | AnyOutput::Compile(built)
            | AnyOutput::Histograms(built)
            | AnyOutput::Consolidate(built) => self.show_written_dataset(&built),
            AnyOutput::Migrate(migrated) => self.tell_migration(&migrated),
            AnyOutput::Publish(publication) => self.tell_output(&*publication),
            AnyOutput::Describe(described) => self.tell_output(&*described),
            AnyOutput::SubmitPlan(_) | AnyOutput::RunPlanPart(_) | AnyOutput::FinishPlan(_) => {
                self.session.plan.read_again();
                self.tell_output(&output);
            }
            AnyOutput::RemoteCache(state) => self.panels.source.set_cache(*state),
            AnyOutput::Percentiles(_)
            | AnyOutput::Inspect(_)
            | AnyOutput::Query(_)
            | AnyOutput::Stats(_)
            | AnyOutput::Extensions(_)
            | AnyOutput::Rules(_) => {}
            AnyOutput::Validate(_)
            | AnyOutput::Leakage(_)
            | AnyOutput::Extend(_)
            | AnyOutput::Repair(_)
            | AnyOutput::Optimise(_)
            | AnyOutput::EditTortilla(_)
            | AnyOutput::EditDataset(_)
            | AnyOutput::PrepareTaco3(_) => self.tell_output(&output),
        }
    }

    fn tell_output(&mut self, output: &dyn OperationOutput) {
        self.toast = Some(Toast::new(output.is_sound(), output.summary()));
    }

    /// Offers the datasets of a repository that was to be opened. True when it holds several.
    fn ask_for_dataset(&mut self, job: JobId, error: &Error) -> bool {
        let Some((_, path)) = self.opening.take_if(|(opening, _)| *opening == job) else {
            return false;
        };
        let is_asked = error.is_caused_by(Cause::SeveralDatasets);
        if is_asked {
            self.dialogs.open(RepositoryDialog::new(path));
        }
        is_asked
    }

    fn document_changed(&mut self, job: Option<JobId>) {
        self.session.next_document(self.studio.document_id());
        self.panels.reset_for_document();
        self.drawn_panels = DrawnPanels::default();
        self.watch_agreed.clear();
        (self.picked_for, self.rows_to_save) = (None, None);
        self.carried = AsyncValue::default();
        if let Some(document) = self.studio.document() {
            self.view
                .arrangements
                .follow_document(&mut self.view.dock, document.draft().is_some());
        }
        self.view.dock.next_document();
        self.forget_questions();
        // Keep the path of a job that still opens another dataset.
        let opened = self
            .opening
            .take_if(|(opening, _)| Some(*opening) == job)
            .map(|(_, path)| path);
        let Some(document) = self.studio.document() else {
            return;
        };
        let Some(open) = document.opened_dataset() else {
            if let Document::Draft(draft) = document
                && let Some(path) = draft.project().map(Path::to_owned)
            {
                self.remember_draft(&path);
            }
            self.show_saved_view();
            self.view.dock.show(Pane::Collection);
            return;
        };
        let info = open.reader.info();
        let recent = Recent {
            path: opened.unwrap_or_else(|| info.path.clone()),
            title: document.title().into_owned(),
            badge: info.format.badge().to_owned(),
            roots: document.rows(0) as u64,
            size_bytes: info.size_bytes,
            opened_s: now_s(),
        };
        let opened = recent.path.clone();
        self.view.remember(recent);
        self.save();
        self.select_linked_sample(&opened);
    }

    /// Puts a written dataset on top of the recent list, and its folder into the next proposals.
    fn remember_written(&mut self, built: &Built) {
        self.view.target = built.path.parent().map(Into::into);
        let title = built
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.view.remember(Recent {
            path: built.path.clone(),
            title,
            badge: built.format.badge().to_owned(),
            roots: built.roots,
            size_bytes: Some(built.bytes),
            opened_s: now_s(),
        });
        self.save();
    }

    fn make_sample(&mut self) {
        let Some(folder) = crate::folders::data_dir() else {
            self.toast = Some(Toast::new(
                false,
                tr!("There is no folder for the sample dataset on this system"),
            ));
            return;
        };
        self.sample_dataset
            .update(&self.jobs, (), tr!("Make the sample dataset"), move |ctx| {
                make_sample_dataset(&folder.join(SAMPLE_FOLDER), ctx)
            });
    }

    /// Handles the answers of the window's own jobs and of the file dialog.
    pub(super) fn take_answers(&mut self) {
        self.take_path_action();
        self.take_started_form();
        if let Some(Err(error)) = self.shown_in_folder.take() {
            self.studio.log(LogLevel::Error, error.report());
            self.tell_error(&error);
        }
        if let Some(outcome) = self.sample_dataset.take() {
            match outcome {
                Ok(path) => self.requests.push(Request::Run(Command::Open { path })),
                Err(error) => {
                    self.studio.log(LogLevel::Error, error.report());
                    self.tell_error(&error);
                }
            }
        }
        let Some(dialog) = &self.file_dialog else {
            return;
        };
        let request = dialog.request();
        match dialog.answer() {
            FileDialogAnswer::Waiting if dialog.is_slow() => self.dialogs.slow_file_dialog(request),
            FileDialogAnswer::Waiting => {}
            FileDialogAnswer::Nothing => {
                self.after_save = self.after_save.take().filter(|_| dialog.was_instant());
                let instant = dialog.was_instant();
                self.file_dialog = None;
                self.dialogs.send(&DialogEvent::PickerClosed);
                if instant && !self.dialogs.is_open() {
                    self.dialogs.open(OpenPath::new(request, false));
                }
            }
            FileDialogAnswer::Paths(paths) => {
                self.file_dialog = None;
                self.dialogs.send(&DialogEvent::PickerClosed);
                self.handle_picked_paths(request, paths, false);
            }
        }
    }

    /// Handles the paths that were chosen in a file dialog or typed.
    pub(super) fn handle_picked_paths(
        &mut self,
        request: FileRequest,
        paths: Vec<PathBuf>,
        typed: bool,
    ) {
        match request {
            FileRequest::Open | FileRequest::OpenFolder => {
                self.requests.push(Request::OpenPaths(paths))
            }
            FileRequest::AddFiles | FileRequest::AddFolder => {
                let into = self.folder_of(self.picked_sample());
                self.look_at_added(Command::Import {
                    paths,
                    into,
                    metadata: None,
                });
            }
            FileRequest::AddUnplaced | FileRequest::AddUnplacedFolder => self
                .requests
                .push(Request::Run(Command::AddToTray { paths })),
            FileRequest::Watch => self.watch_chosen(paths),
            FileRequest::JoinTable => {
                if let Some(table) = paths.into_iter().next() {
                    self.dialogs.open(JoinDialog::new(table, None));
                }
            }
            // The desktop's dialog has confirmed replacing the file.
            FileRequest::SaveProject => self.save_to(paths.into_iter().next(), Some(!typed)),
            FileRequest::SaveSample => {
                if let (Some(at), Some(target)) = (self.picked_sample(), paths.into_iter().next()) {
                    self.requests.push(Request::Run(Command::SaveAsset {
                        level: at.level,
                        row: at.row,
                        target,
                    }));
                }
            }
            FileRequest::SaveRows => self.rows_target(paths.into_iter().next()),
            FileRequest::ToolFile
            | FileRequest::ToolFiles
            | FileRequest::ToolFolder
            | FileRequest::ToolOutput
            | FileRequest::Target => {
                self.dialogs.send(&DialogEvent::Picked(&paths));
            }
            FileRequest::Plan => {
                if let Some(folder) = paths.into_iter().next() {
                    self.session.plan.show(&folder);
                }
            }
        }
    }

    pub(super) fn pick(&mut self, ctx: &Context, request: FileRequest) {
        let name = match (
            request,
            self.session
                .selection
                .sample
                .and_then(|at| self.studio.document()?.id(at)),
        ) {
            (FileRequest::SaveSample, Some(id)) => portable_name(id),
            (FileRequest::SaveRows, _) => "rows.csv".to_owned(),
            (FileRequest::SaveProject, _) => {
                let id = self
                    .studio
                    .document()
                    .map(|document| document.collection().id())
                    .filter(|id| !id.is_empty());
                format!(
                    "{}.{}",
                    id.map_or_else(|| "draft".into(), portable_name),
                    super::saving::ENDING
                )
            }
            _ => String::new(),
        };
        let (waker, document) = (ctx.clone(), self.studio.document());
        self.picked_for = document
            .zip(self.session.selection.sample)
            .and_then(|(document, at)| document.path(at));
        self.file_dialog = Some(FileDialog::open(request, &name, move || {
            waker.request_repaint()
        }));
    }

    /// Selects a sample in every panel.
    fn select_now(&mut self, at: Option<RowRef>) {
        self.session.selection.sample = at;
        let (Some(document), Some(at)) = (self.studio.document(), at) else {
            return;
        };
        self.panels.tree.show(document, at);
        self.panels.table.show(at);
        let cell = &mut self.session.selection.cell;
        self.panels.structure.show(cell, document, at);
    }

    fn perform(&mut self, ctx: &Context, action: Action) {
        let reason = self.with_cx(|cx| disabled_reason(action, cx));
        if let Some(reason) = reason {
            self.toast = Some(Toast::new(
                false,
                format!("{}: {reason}", action.info().text),
            ));
            return;
        }
        match action {
            Action::New => self.requests.push(Request::Run(Command::New)),
            Action::OpenFile => self.pick(ctx, FileRequest::Open),
            Action::OpenFolder => self.pick(ctx, FileRequest::OpenFolder),
            Action::OpenPath => self.dialogs.open(OpenPath::new(FileRequest::Open, false)),
            Action::OpenRecent => self.dialogs.open(RecentDialog),
            Action::Write => self.open_write(),
            Action::Save => self.save_draft(ctx, false),
            Action::SaveAs => self.save_draft(ctx, true),
            Action::Documentation => self.dialogs.open(Documentation::new(Page::CommandLine, 0)),
            Action::Close => self.requests.push(Request::Run(Command::Close)),
            Action::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            Action::Undo => self.requests.push(Request::Run(Command::Undo)),
            Action::Redo => self.requests.push(Request::Run(Command::Redo)),
            Action::AddFiles => self.pick(ctx, FileRequest::AddFiles),
            Action::AddFolder => self.pick(ctx, FileRequest::AddFolder),
            Action::AddUnplaced => self.pick(ctx, FileRequest::AddUnplaced),
            Action::AddUnplacedFolder => self.pick(ctx, FileRequest::AddUnplacedFolder),
            Action::Watch => self.pick(ctx, FileRequest::Watch),
            Action::JoinTable => self.pick(ctx, FileRequest::JoinTable),
            Action::Place => self.place(),
            Action::Unplace => self.unplace(),
            Action::Nest => self.nest(),
            Action::Unnest => self.unnest(),
            Action::Group => self.group(),
            Action::Dissolve => self.dissolve(),
            Action::Rename => {
                self.view.dock.show(Pane::Sample);
                self.panels.sample.rename = true;
            }
            Action::Remove => self.remove(),
            Action::MoveUp => self.shift(-1),
            Action::MoveDown => self.shift(1),
            Action::Relocate => {
                if let Some(draft) = self.studio.document().and_then(Document::draft) {
                    self.dialogs.open(Relocate::new(draft));
                }
            }
            Action::EditCopy => self.requests.push(Request::Run(Command::Fork)),
            Action::SaveSample => self.pick(ctx, FileRequest::SaveSample),
            Action::Validate => self.requests.push(Request::Run(Command::Validate {
                deep: false,
                profile: Profile::Tools,
            })),
            Action::ValidateDeep => self.requests.push(Request::Run(Command::Validate {
                deep: true,
                profile: Profile::Tools,
            })),
            Action::NextProblem | Action::PreviousProblem => {
                self.step_problem(action == Action::NextProblem)
            }
            Action::FixProblem => self.fix_problem(false),
            Action::FixAlike => self.fix_problem(true),
            Action::RunExtensions => {
                self.panels.extensions.run_when_ready = true;
                self.view.dock.show(Pane::Extensions);
            }
            Action::FixSafe => self.requests.push(Request::Run(Command::FixSafe)),
            Action::Palette => self.palette.open(),
            Action::GoToRow => {
                self.view.dock.show(Pane::Table);
                self.panels.table.start_go_to();
            }
            Action::NextRoot => self.step_root(true),
            Action::PreviousRoot => self.step_root(false),
            Action::NextBand => self.panels.preview.step_bands(true),
            Action::PreviousBand => self.panels.preview.step_bands(false),
            Action::Filter => {
                self.view.dock.show(Pane::Hierarchy);
                ctx.memory_mut(|memory| memory.request_focus(Id::unique("hierarchy-filter")));
            }
            Action::ToggleLeft => self.view.dock.toggle(DockSide::Left),
            Action::ToggleRight => self.view.dock.toggle(DockSide::Right),
            Action::ToggleBottom => self.view.dock.toggle(DockSide::Bottom),
            Action::ClearFilter => self.requests.push(Request::Run(Command::Filter {
                filters: Vec::new(),
            })),
            Action::CancelJobs => {
                let running = self.studio.jobs();
                self.requests.extend(
                    running
                        .into_iter()
                        .map(|job| Request::Run(Command::Cancel { job: job.id })),
                );
            }
            Action::ToggleTheme => {
                let dark = ctx.global_style().visuals.dark_mode;
                self.view.theme = if dark { Theme::Light } else { Theme::Dark };
                theme::set(ctx, self.view.theme);
                self.save();
            }
            Action::ResetLayout => {
                self.view.dock = Dock::arranged_for(self.view.arrangements.current())
            }
            Action::ArrangeForBuilding => self.arrange_for(Arrangement::Building),
            Action::ArrangeForExploring => self.arrange_for(Arrangement::Exploring),
            Action::ArrangeForChecking => self.arrange_for(Arrangement::Checking),
            Action::Settings => self.dialogs.open(SettingsDialog::new(
                self.view.theme,
                self.view.settings.clone(),
            )),
            Action::Tour => self.tour = Some(Tour::default()),
            Action::Shortcuts => self.dialogs.open(ShortcutsDialog),
            Action::About => self.dialogs.open(About::default()),
            other => {
                if let Some(pane) = other.pane() {
                    self.view.dock.show(pane)
                } else {
                    self.open_form(other, None)
                }
            }
        }
    }

    fn arrange_for(&mut self, arrangement: Arrangement) {
        let is_draft = self
            .studio
            .document()
            .is_some_and(|document| document.draft().is_some());
        self.view
            .arrangements
            .choose(&mut self.view.dock, arrangement, is_draft);
        self.save();
    }

    fn step_problem(&mut self, forward: bool) {
        let report = self.studio.report().clone();
        self.view.dock.show(Pane::Problems);
        let selected = self.panels.problems.step(&report, forward);
        if let Some(finding) = selected.and_then(|index| report.findings.get(index)) {
            self.with_cx(|cx| super::panels::problems::go_to(cx, finding));
        }
    }
}

fn describe_import(report: &Imported) -> String {
    let files = counted_texts::format_files(report.files);
    let folders = tr_n!(
        report.folders,
        "{n} folder",
        "{n} folders",
        n = paint::format_grouped_number(report.folders)
    );
    let mut text = tr!("Added {files} in {folders}", files, folders);
    if report.unplaced > 0 {
        let tray = counted_texts::format_new_tray_files(report.unplaced);
        text.push_str(&format!("; {tray}"));
    }
    if !report.skipped.is_empty() {
        let skipped = report.skipped.len() as u64;
        let left = tr_n!(
            skipped,
            "{n} left out, see Log",
            "{n} left out, see Log",
            n = paint::format_grouped_number(skipped)
        );
        text.push_str(&format!("; {left}"));
    }
    text
}
