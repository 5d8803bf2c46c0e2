//! What panels get: the studio to read, the window's own state to change, and a list to put their requests in. Panels change nothing else.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Color32;

use super::action::Action;
use super::file_dialog::FileRequest;
use super::session::Session;
use super::view_state::{QueryBook, ViewState};
use crate::draft::Plan;
use crate::jobs::Jobs;
use crate::model::NodePath;
use crate::studio::{Command, Document, RowRef, Studio};

/// What a panel wants to happen after the frame is drawn.
#[derive(Clone)]
pub enum Request {
    /// Run a command of the studio.
    Run(Command),
    /// Do what a menu entry does.
    Do(Action),
    /// Open a file dialog.
    ChooseFiles(FileRequest),
    /// Select a sample, or the root, and show it everywhere.
    Select(Option<RowRef>),
    /// Select the sample that stands at this address once everything before is done.
    SelectNode(NodePath),
    /// Open or import these paths.
    OpenPaths(Vec<PathBuf>),
    /// Put text on the clipboard.
    Copy(String),
    /// Take a path off the recent list.
    Forget(PathBuf),
    /// Throw away what autosave kept of a draft.
    ForgetDraft(PathBuf),
    /// Remember these queries.
    Queries(QueryBook),
    /// Choose a file for the rows of a query, then save them.
    SaveRows(crate::query::Query),
    /// Ask where to export what the filter and the statement leave.
    ExportSubset(Option<String>),
    /// Ask where to put a description for catalogues.
    Describe(crate::export::Catalogue),
    /// Bring a panel to the front.
    Show(super::dock::Pane),
    /// Change a field of a level, or add one.
    Column(usize, Option<crate::model::FieldSpec>),
    /// Show what a fix of many roots changes.
    Plan(Arc<Plan>),
    /// Make and open the sample dataset.
    SampleDataset,
    /// Do this even though unsaved changes are lost.
    Anyway(Box<Request>),
    /// The user agrees to this for the session; then do that.
    Agreed(super::consent::Agreement, Box<Request>),
    /// Save the draft, then do this.
    SaveFirst(Box<Request>),
    /// Bring back what an interrupted write left aside, and open it.
    RestoreAside(PathBuf),
    /// Replace this project file by the draft, then do this.
    Replace(PathBuf, Option<Box<Request>>),
}

/// The context of a panel.
pub struct PanelContext<'a> {
    /// The studio, to read.
    pub studio: &'a Studio,
    /// The window's own state.
    pub session: &'a mut Session,
    /// What is remembered between starts, to read.
    pub remembered: &'a Remembered,
    /// For work that changes nothing, off the interface thread.
    pub jobs: &'a Jobs,
    /// What shall happen.
    pub requests: &'a mut Vec<Request>,
}

/// The part of the remembered state that panels read.
#[derive(Clone, Default)]
pub struct Remembered {
    /// Recent datasets.
    pub recent: Vec<super::view_state::Recent>,
    /// Queries.
    pub queries: QueryBook,
}

impl Remembered {
    /// The part of `state` that panels read.
    pub fn of(state: &ViewState) -> Self {
        Self { recent: state.recent.clone(), queries: state.queries.clone() }
    }
}

impl<'a> PanelContext<'a> {
    /// What is open.
    pub fn document(&self) -> Option<&'a Document> {
        self.studio.document()
    }

    /// Adds a request.
    pub fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Wishes for the table of a level, once.
    pub fn want_level(&mut self, level: usize) {
        let ready = self.document().is_none_or(|document| document.level_ready(level));
        if !ready && self.session.levels_asked.insert(level) {
            self.run(Command::LoadLevel { level });
        }
    }

    /// Wishes for a command.
    pub fn run(&mut self, command: Command) {
        self.requests.push(Request::Run(command));
    }
}

/// 42 % black over what a dialog covers.
pub const DIM: Color32 = Color32::from_black_alpha(107);
