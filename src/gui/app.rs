//! The window's application: polls the studio in `logic`, draws in `ui`, and handles the requests
//! of panels.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui::{CentralPanel, Context, KeyboardShortcut, Ui};

use super::action::Action;
use super::banner;
use super::chrome;
use super::dialogs::{CrashReport, Dialogs};
use super::displayed_texts;
use super::dock::{Dock, PaneContents};
use super::drag;
use super::drawn_panels::DrawnPanels;
use super::ending::Ending;
use super::file_dialog::FileDialog;
use super::frame_watchdog::{FrameWatchdog, SlowStep};
use super::glyph_warmup::GlyphWarmup;
use super::pane::Pane;
use super::panel_context::{PanelContext, Request};
use super::panels::{self, Panels};
use super::path_action::PathAction;
use super::renderer::Renderer;
use super::script_runner::ScriptRunner;
use super::session::Session;
use super::settings_writer::SettingsWriter;
use super::single_instance::SingleInstance;
use super::started_form::{FormRequest, StartedForm};
use super::theme;
use super::tour::Tour;
use super::view_state::ViewState;
use super::widgets::{Palette, Toast, ToastEvent, Tone};
use super::window_options::WindowOptions;
use crate::draft::Draft;
use crate::jobs::{AsyncValue, JobId, Jobs};
use crate::model::SamplePath;
use crate::query::Query;
use crate::raster::RasterInfo;
use crate::studio::{Command, DocumentId, LogLevel, RowRef, Studio};
use crate::text::displayed_line;

/// Time of a frame after which a panel that was not drawn before is left to the next frame.
const NEW_PANELS_UNTIL: Duration = Duration::from_millis(5);
/// Longest time that an edit waits for autosave.
const AUTOSAVE_PATIENCE: Duration = Duration::from_millis(50);

/// The application behind the window.
pub struct App {
    pub(super) studio: Studio,
    pub(super) jobs: Jobs,
    pub(super) view: ViewState,
    pub(super) session: Session,
    pub(super) panels: Panels,
    pub(super) dialogs: Dialogs,
    pub(super) file_dialog: Option<FileDialog>,
    pub(super) palette: Palette,
    pub(super) toast: Option<Toast>,
    pub(super) tour: Option<Tour>,
    /// Receives the paths of later starts.
    instance: Option<SingleInstance>,
    /// What to do with the paths that were opened last. The key is the open document and the time
    /// of the request.
    pub(super) path_action: AsyncValue<(DocumentId, Instant), PathAction>,
    /// Initial values of the form that was asked for.
    pub(super) started_form: AsyncValue<FormRequest, StartedForm>,
    /// The path that the desktop's file manager is to show.
    pub(super) shown_in_folder: AsyncValue<(PathBuf, Instant), ()>,
    /// Pasted paths that exist.
    pub(super) pasted_paths: AsyncValue<Instant, Vec<PathBuf>>,
    /// The sample that a link asked to select, with its dataset, until that is open.
    pub(super) linked_sample: Option<(PathBuf, SamplePath)>,
    /// The sample dataset being written.
    pub(super) sample_dataset: AsyncValue<(), PathBuf>,
    pub(super) requests: Vec<Request>,
    /// The shortcuts in the order in which they are looked for.
    pub(super) shortcuts: Arc<[(Action, KeyboardShortcut)]>,
    /// The job that opens a dataset, and its path, for the recent list.
    pub(super) opening: Option<(JobId, PathBuf)>,
    /// The job that saves the draft, and where.
    pub(super) saving: Option<(JobId, PathBuf)>,
    pub(super) quitting: bool,
    /// The text field that gets the focus back after it has committed its text.
    pub(super) refocus: Option<egui::Id>,
    /// The script that runs in this window.
    pub(super) driver: Option<Box<ScriptRunner>>,
    /// The request to handle once the draft is saved.
    pub(super) after_save: Option<Request>,
    /// The work left after the window is closed.
    pub(super) ending: Arc<Mutex<Option<Ending>>>,
    /// The rows of a query that are saved once a file is chosen.
    pub(super) rows_to_save: Option<Query>,
    /// The sample that was selected when the file dialog opened.
    pub(super) picked_for: Option<SamplePath>,
    /// Folders that the user chose or agreed to watch.
    pub(super) watch_agreed: HashSet<PathBuf>,
    /// Raster header of the single file being dragged.
    pub(super) carried: AsyncValue<PathBuf, Arc<RasterInfo>>,
    /// Records slow steps.
    pub(super) watchdog: FrameWatchdog,
    /// Panels drawn for the open document.
    pub(super) drawn_panels: DrawnPanels,
    /// Rasterizes the usual characters before they are needed; `None` when that is done.
    warmup: Option<GlyphWarmup>,
    /// True once the first frame was drawn.
    has_drawn: bool,
    /// True once the first frame was on the screen.
    has_shown: bool,
    /// True when settings are written; false in tests and in safe mode.
    remembers_state: bool,
    settings_writer: SettingsWriter,
    /// The title that the window has.
    title: String,
}

impl App {
    /// The application with the state remembered from the last start.
    pub fn new(ctx: &Context, view: ViewState) -> Self {
        let waker = ctx.clone();
        let jobs = Jobs::new(move || waker.request_repaint());
        let studio = Studio::new(jobs.clone());
        let mut app = Self {
            remembers_state: true,
            ..Self::build(ctx, studio, jobs, view)
        };
        app.studio.set_asks_for_servers(true);
        app.warm_up();
        app.session.environment.cache_dir = crate::folders::cache_dir();
        let waker = ctx.clone();
        let listening = crate::folders::data_dir()
            .map(|folder| SingleInstance::listen(&folder, move || waker.request_repaint()));
        if let Some(Err(error)) = &listening {
            tracing::info!("later starts will open windows of their own: {error}");
        }
        app.instance = listening.and_then(Result::ok);
        if let Some(folder) = crate::folders::data_dir() {
            app.keep_drafts_in(folder.join("autosave"));
            app.studio.set_autosave_patience(AUTOSAVE_PATIENCE);
        }
        app
    }

    /// The application on a given studio, without remembered state, for tests.
    pub fn for_test(ctx: &Context, studio: Studio) -> Self {
        let waker = ctx.clone();
        Self::build(
            ctx,
            studio,
            Jobs::new(move || waker.request_repaint()),
            ViewState::default(),
        )
    }

    fn build(ctx: &Context, studio: Studio, jobs: Jobs, mut view: ViewState) -> Self {
        theme::install(ctx);
        displayed_texts::install(ctx);
        theme::set(ctx, view.theme);
        view.dock.mend(view.arrangements.current());
        Self {
            studio,
            jobs,
            view,
            session: Session::default(),
            panels: Panels::default(),
            dialogs: Dialogs::default(),
            file_dialog: None,
            palette: Palette::default(),
            toast: None,
            tour: None,
            instance: None,
            path_action: AsyncValue::default(),
            started_form: AsyncValue::default(),
            shown_in_folder: AsyncValue::default(),
            pasted_paths: AsyncValue::default(),
            linked_sample: None,
            sample_dataset: AsyncValue::default(),
            requests: Vec::new(),
            shortcuts: Action::sort_shortcuts(),
            opening: None,
            saving: None,
            quitting: false,
            refocus: None,
            driver: None,
            after_save: None,
            ending: Arc::default(),
            rows_to_save: None,
            picked_for: None,
            watch_agreed: HashSet::new(),
            carried: AsyncValue::default(),
            watchdog: FrameWatchdog::default(),
            drawn_panels: DrawnPanels::default(),
            warmup: None,
            has_drawn: false,
            has_shown: false,
            remembers_state: false,
            settings_writer: SettingsWriter::default(),
            title: String::new(),
        }
    }

    /// Applies the options of this start. Safe mode changes no remembered state.
    pub(super) fn apply_start_options(
        &mut self,
        renderer: Renderer,
        options: &WindowOptions,
        drops_arrive: bool,
    ) {
        self.view.starting = Some(renderer);
        self.remembers_state &= !options.safe_mode;
        self.instance = self.instance.take().filter(|_| !options.safe_mode);
        self.session.environment.drops_blocked = !drops_arrive;
        if let Some(theme) = options.theme {
            self.view.theme = theme;
        }
    }

    /// Shows a crash report, if it can be read.
    pub(super) fn show_crash_report(&mut self, report: &std::path::Path) {
        if let Some(report) = CrashReport::read(report) {
            self.dialogs.open(report);
        }
    }

    /// Opens or imports these paths, as the dialog *Open* does.
    pub fn open_paths(&mut self, paths: Vec<PathBuf>) {
        if !paths.is_empty() {
            self.requests.push(Request::OpenPaths(paths));
        }
    }

    /// The studio, read-only.
    pub fn studio(&self) -> &Studio {
        &self.studio
    }

    /// Discards the autosaved draft, so that the next start does not offer it.
    pub fn forget_kept(&mut self) {
        self.studio.forget_kept();
    }

    /// Requests an action, as its menu entry does.
    pub fn act(&mut self, action: Action) {
        self.requests.push(Request::Do(action));
    }

    /// Requests a command of the studio, as panels do.
    pub fn command(&mut self, command: Command) {
        self.requests.push(Request::Run(command));
    }

    /// Selects a sample everywhere, as a click on its row does.
    pub fn select(&mut self, at: Option<RowRef>) {
        self.requests.push(Request::Select(at));
    }

    /// The selected sample.
    pub fn selected_sample(&self) -> Option<RowRef> {
        self.session.selection.sample
    }

    /// Brings a panel to the front.
    pub fn show_pane(&mut self, pane: Pane) {
        self.view.dock.show(pane);
    }

    /// True when the bottom panels show their tabs only.
    pub fn is_bottom_folded(&self) -> bool {
        self.view.dock.is_bottom_folded()
    }

    /// Records steps of the interface thread that take longer than `limit`.
    pub fn watch(&mut self, limit: Duration) {
        self.watchdog.start(limit);
    }

    /// Rasterizes the usual characters in the next frames, as the window does after its start.
    pub fn warm_up(&mut self) {
        self.warmup = Some(GlyphWarmup::default());
    }

    /// True while the first rows of a dataset that is being opened are there to be drawn.
    pub fn shows_first_rows(&self) -> bool {
        self.studio.opening().is_some() && self.panels.opening.has_rows()
    }

    /// The recorded steps that exceeded the limit.
    pub fn slow_steps(&self) -> &[SlowStep] {
        self.watchdog.slow()
    }

    /// True while work runs, requests wait, or typed text is not yet an edit.
    pub fn is_busy(&self) -> bool {
        let pending = !self.requests.is_empty() || self.drawn_panels.wait;
        self.studio.is_busy()
            || self.jobs.is_running()
            || pending
            || self.panels.collection.is_typing()
    }

    /// Writes the remembered state in the background; a failure is logged only.
    pub(super) fn save(&mut self) {
        let Some(path) = crate::folders::settings_file().filter(|_| self.remembers_state) else {
            return;
        };
        let state = self.view.to_json();
        let queued = state.and_then(|state| self.settings_writer.write(&path, state, &self.jobs));
        if let Err(error) = queued {
            self.log_unsaved_settings(&error.to_string());
        }
    }

    /// Logs why the remembered state could not be written, once that is known.
    fn report_unsaved_settings(&mut self) {
        if let Some(error) = self.settings_writer.take_failure() {
            self.log_unsaved_settings(&error);
        }
    }

    fn log_unsaved_settings(&mut self, error: &str) {
        self.studio.log(
            LogLevel::Warning,
            format!("The window's settings were not saved: {error}"),
        );
    }

    fn note_first_frames(&mut self, ctx: &Context) {
        if !std::mem::replace(&mut self.has_drawn, true) {
            theme::set(ctx, self.view.theme);
            self.view.settings.apply(ctx);
            if let Some(renderer) = self.view.starting.take() {
                self.view.renderer = Some(renderer);
                self.save();
            }
            // The second frame runs after the first was presented.
            ctx.request_repaint();
        } else if !std::mem::replace(&mut self.has_shown, true) {
            tracing::info!("the first frame is shown");
        }
    }

    /// Opens the paths of later starts and brings the window to the front.
    fn take_later_starts(&mut self, ctx: &Context) {
        while let Some(paths) = self.instance.as_ref().and_then(SingleInstance::take) {
            self.take_handed_over(paths);
            ctx.send_viewport_cmd(egui::ViewportCommand::Minimized(false));
            ctx.send_viewport_cmd(egui::ViewportCommand::Focus);
        }
    }

    fn update_window_title(&mut self, ctx: &Context) {
        let title = match self.studio.document() {
            Some(document) => {
                let mark = if document.draft().is_some_and(Draft::has_unsaved) {
                    "• "
                } else {
                    ""
                };
                format!("{mark}{} – Taco Studio", displayed_line(&document.title()))
            }
            None => "Taco Studio".to_owned(),
        };
        if title != self.title {
            self.title.clone_from(&title);
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title));
        }
    }

    /// Calls `draw` with a panel context.
    pub(super) fn with_cx<R>(&mut self, draw: impl FnOnce(&mut PanelContext<'_>) -> R) -> R {
        self.with_panels(|cx, _| draw(cx))
    }

    /// Calls `draw` with a panel context and, borrowed apart from it, the panels and their dock.
    fn with_panels<R>(
        &mut self,
        draw: impl FnOnce(&mut PanelContext<'_>, DockedPanels<'_>) -> R,
    ) -> R {
        let mut cx = PanelContext {
            studio: &self.studio,
            session: &mut self.session,
            facts: self.panels.collect_facts(),
            recent: &self.view.recent,
            queries: &self.view.queries,
            jobs: &self.jobs,
            requests: &mut self.requests,
        };
        let docked = DockedPanels {
            panels: &mut self.panels,
            dock: &mut self.view.dock,
            drawn: &mut self.drawn_panels,
            watchdog: &mut self.watchdog,
        };
        draw(&mut cx, docked)
    }

    fn main_ui(&mut self, ui: &mut Ui) {
        let began = self.watchdog.begin();
        self.with_cx(|cx| {
            chrome::top_ui(ui, cx);
            banner::ui(ui, cx);
        });
        self.watchdog.end(began, || "top bar and banner".to_owned());
        let began = self.watchdog.begin();
        self.with_cx(|cx| chrome::status_ui(ui, cx));
        self.watchdog.end(began, || "status bar".to_owned());
        let began = self.watchdog.begin();
        CentralPanel::no_frame().show(ui, |ui| {
            let t = theme::tokens(ui);
            ui.painter().rect_filled(ui.max_rect(), 0, t.bg0);
            self.with_panels(|cx, docked| docked.page_ui(ui, cx));
        });
        self.watchdog.end(began, || "panels".to_owned());
    }

    fn tour_ui(&mut self, ctx: &Context) {
        let Some(mut tour) = self.tour.take() else {
            return;
        };
        if self.with_cx(|cx| tour.show(ctx, cx, chrome::STATUS)) {
            self.tour = Some(tour);
        }
    }

    fn toast_ui(&mut self, ctx: &Context) {
        let Some(toast) = &mut self.toast else { return };
        match toast.show(ctx, chrome::STATUS) {
            ToastEvent::Shown => {}
            ToastEvent::Over => self.toast = None,
            ToastEvent::Acted => {
                self.toast = None;
                self.requests.push(Request::Run(Command::Undo));
            }
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.jobs.begin_frame();
        self.drawn_panels.begin_frame();
        self.note_first_frames(ctx);
        self.take_later_starts(ctx);
        let began = self.watchdog.begin();
        for (job, event) in self.studio.poll_jobs() {
            if let Some(driver) = &mut self.driver {
                driver.notice(&self.studio, &event);
            }
            self.on_event(job, event);
        }
        self.take_answers();
        self.tell_autosave(ctx);
        self.report_unsaved_settings();
        self.watchdog.end(began, || "events".to_owned());
        let began = self.watchdog.begin();
        self.session.jobs.refresh(self.studio.jobs());
        self.session.refresh(&self.studio, &self.jobs);
        self.watchdog.end(began, || "refresh".to_owned());
        // Requests that were made before the first frame, and those of answers.
        self.handle_requests(ctx);
        self.drive_on(ctx);
        if self.is_busy() || self.file_dialog.is_some() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.update_window_title(&ctx);
        self.take_input(&ctx);
        // Requests of shortcuts are put after those of panels: a text field that loses the focus to
        // a shortcut commits its text first.
        let requests = std::mem::take(&mut self.requests);
        self.main_ui(ui);
        self.requests.extend(requests);
        if let Some(field) = self.refocus.take() {
            ctx.memory_mut(|memory| memory.request_focus(field));
        }
        let began = self.watchdog.begin();
        self.dialogs_ui(&ctx);
        self.palette_ui(&ctx);
        self.toast_ui(&ctx);
        self.tour_ui(&ctx);
        drag::look(&ctx, &mut self.carried, &self.jobs);
        self.drop_overlay_ui(&ctx);
        self.watchdog
            .end(began, || "dialogs and overlays".to_owned());
        self.handle_requests(&ctx);
        if self.is_busy() {
            ctx.request_repaint_after(Duration::from_millis(100));
        }
        let began = self.drawn_panels.began;
        // A frame that draws new panels has no time left for the warm-up.
        let has_time = !self.drawn_panels.has_new();
        if has_time
            && self
                .warmup
                .as_mut()
                .is_some_and(|warmup| !warmup.step(&ctx, began))
        {
            self.warmup = None;
        } else if self.warmup.is_some() {
            ctx.request_repaint();
        }
        if let Some(rect) = ctx.input(|input| input.viewport().inner_rect) {
            self.view.window = Some([rect.width(), rect.height()]);
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.save();
        // The window closes now; the caller of `run` waits for the remaining work.
        let studio = std::mem::replace(&mut self.studio, Studio::new(Jobs::quiet()));
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Ending::for_studio(studio));
        self.settings_writer.finish();
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        theme::tokens_for_mode(visuals.dark_mode)
            .bg0
            .to_normalized_gamma_f32()
    }
}

/// The panels, and where they are drawn.
struct DockedPanels<'a> {
    panels: &'a mut Panels,
    dock: &'a mut Dock,
    drawn: &'a mut DrawnPanels,
    watchdog: &'a mut FrameWatchdog,
}

impl DockedPanels<'_> {
    /// Draws the panels, or the page that replaces them.
    fn page_ui(self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        match cx.document() {
            _ if panels::opening::shows(cx) => {
                panels::opening::ui(ui, &mut self.panels.opening, cx)
            }
            None => panels::welcome::ui(ui, &mut self.panels.welcome, cx),
            Some(_) => {
                panels::inspector::refresh(&mut self.panels.sample, cx);
                // Set again by the tray when it is drawn.
                cx.session.selection.files.focused = false;
                if !cx.studio.report().findings.is_empty() {
                    self.dock.show_findings();
                }
                let mut contents = DockContents {
                    cx,
                    panels: self.panels,
                    drawn: self.drawn,
                    watchdog: self.watchdog,
                };
                self.dock.ui(ui, &mut contents);
            }
        }
    }
}

struct DockContents<'a, 'b> {
    cx: &'a mut PanelContext<'b>,
    panels: &'a mut Panels,
    drawn: &'a mut DrawnPanels,
    watchdog: &'a mut FrameWatchdog,
}

impl PaneContents for DockContents<'_, '_> {
    fn pane_ui(&mut self, ui: &mut Ui, pane: Pane) {
        if !self.drawn.may_draw(pane, NEW_PANELS_UNTIL) {
            ui.ctx().request_repaint();
            return;
        }
        let began = self.watchdog.begin();
        self.panels.panel_of_mut(pane).contents_ui(ui, self.cx);
        self.watchdog.end(began, || format!("panel {pane:?}"));
    }

    fn count(&self, pane: Pane) -> Option<(u64, Tone)> {
        self.panels.panel_of(pane).tab_count(self.cx)
    }

    fn bar_right_ui(&mut self, ui: &mut Ui, pane: Pane) {
        self.panels.panel_of_mut(pane).bar_right_ui(ui, self.cx);
    }
}
