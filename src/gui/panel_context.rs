//! The context of panels: the studio to read, what the parts of the window share, and a list for
//! requests. Panels change nothing else but their own state.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Color32;

use super::action::Action;
use super::document_key::DocumentKey;
use super::documentation_page::Page;
use super::file_dialog::FileRequest;
use super::session::Session;
use super::view_state::{QueryBook, Recent};
use crate::draft::{Example, Fix, FixPlan};
use crate::jobs::Jobs;
use crate::model::{NodePath, StudioLink};
use crate::studio::{Command, Document, DocumentRead, RowRef, Studio};
use crate::text::Language;

/// A request of a panel, handled after the frame is drawn.
#[derive(Clone)]
pub enum Request {
    /// Run a command of the studio.
    Run(Command),
    /// Perform an action, as its menu entry does.
    Do(Action),
    /// Open a file dialog.
    ChooseFiles(FileRequest),
    /// Select a sample, or the root, and show it everywhere.
    Select(Option<RowRef>),
    /// Select the sample at this address after the requests before it are handled.
    SelectNode(NodePath),
    /// Open or import these paths.
    OpenPaths(Vec<PathBuf>),
    /// Open the dataset of a link that the user agreed to, and select its sample.
    OpenLink(StudioLink),
    /// Open or import these paths, which were dropped or pasted: a dataset may be meant for the
    /// draft.
    TakeDropped(Vec<PathBuf>),
    /// Open the dialog that repairs a copy of this dataset.
    Repair(PathBuf),
    /// Add files by this command; a dataset that is open for reading is closed for a new draft.
    Add(Command),
    /// Put text on the clipboard.
    Copy(String),
    /// Copy the filters as a statement of this engine.
    CopyAs(crate::query::copy_as::ParquetEngine),
    /// Remove a path from the recent list.
    Forget(PathBuf),
    /// Delete the autosaved draft at this path.
    ForgetDraft(PathBuf),
    /// Remember these queries.
    Queries(QueryBook),
    /// Append text to the statement of the query panel.
    AppendToQuery(String),
    /// Add an example to the pattern, with the number of the step of the history that places the
    /// file, if one does.
    PatternExample(Example, Option<usize>),
    /// Show the collection with the focus in this field, named as in findings.
    CollectionField(String),
    /// Take the focus out of the field of the collection that has it.
    LeaveCollectionField,
    /// Choose a file for the rows of a query, then save them.
    SaveRows(crate::query::Query),
    /// Open the export dialog for the rows of the filter and of this statement.
    ExportSubset(Option<String>),
    /// Open the dialog for a catalogue description.
    Describe(crate::export::Catalogue),
    /// Open the dialog that publishes the dataset at this path.
    Publish(PathBuf),
    /// Show a file or folder in the desktop's file manager.
    ShowInFolder(PathBuf),
    /// Open a page of the documentation at a line.
    Document(Page, usize),
    /// Open the form of an action that has one; for this sample of level 0 alone, if one is given.
    OpenForm(Action, Option<String>),
    /// Ask whether these programs may start, so that the extension runner tries them.
    TryPrograms(Vec<Vec<String>>),
    /// Show an extension in the extension runner.
    Extension(&'static str),
    /// Choose the language; `None` for the system's.
    Language(Option<Language>),
    /// Bring a panel to the front.
    Show(super::pane::Pane),
    /// Open the dialog that changes a field of a level, or adds one.
    Column(usize, Option<crate::model::FieldSpec>),
    /// Show the plan of a fix over many roots.
    Plan(Arc<FixPlan>),
    /// Apply a fix of the root in this row of level 0: at once when it is safe, else after showing
    /// what it changes.
    Fix(u32, Box<Fix>),
    /// Open the dialog that joins this table.
    JoinTable(PathBuf),
    /// Create and open the sample dataset.
    SampleDataset,
    /// Handle this although unsaved changes are discarded.
    Anyway(Box<Request>),
    /// Record the user's agreement for the session, then handle the request.
    Agreed(Confirmation, Box<Request>),
    /// Save the draft, then handle this.
    SaveFirst(Box<Request>),
    /// Restore the old contents that an interrupted write left aside, and open them.
    RestoreAside(PathBuf),
    /// Replace this project file by the draft, then handle the request.
    Replace(PathBuf, Option<Box<Request>>),
}

/// Action that the user confirms.
#[derive(Clone)]
pub enum Confirmation {
    /// Start these programs with exactly these arguments.
    Programs(Vec<Vec<String>>),
    /// Read files of projects from these servers.
    Servers(Vec<String>),
    /// Watch these folders.
    Watching(Vec<PathBuf>),
}

pub struct PanelContext<'a> {
    /// The studio, read-only.
    pub studio: &'a Studio,
    /// What the parts of the window share.
    pub session: &'a mut Session,
    /// What menus and other panels read of the panels' states.
    pub facts: PanelFacts,
    /// Recent datasets, newest first.
    pub recent: &'a [Recent],
    /// Recent and named queries.
    pub queries: &'a QueryBook,
    /// Starts read-only work off the interface thread.
    pub jobs: &'a Jobs,
    /// Requests to handle after the frame.
    pub requests: &'a mut Vec<Request>,
}

/// What menus and other panels read of the panels' states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PanelFacts {
    /// Number of bands of the raster shown; `None` without a picture.
    pub shown_band_count: Option<usize>,
    /// True when an extension is chosen to be run.
    pub is_extension_chosen: bool,
    /// Index of the selected finding in the report.
    pub selected_finding: Option<usize>,
}

impl<'a> PanelContext<'a> {
    /// The open document.
    pub fn document(&self) -> Option<&'a Document> {
        self.studio.document()
    }

    /// Identifies the state of the open document.
    pub fn document_key(&self) -> DocumentKey {
        self.session.document_key(self.studio)
    }

    /// Adds a request.
    pub fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Requests the table of a level, once a document.
    pub fn want_level(&mut self, level: usize) {
        let ready = self
            .document()
            .is_none_or(|document| document.level_ready(level));
        if !ready && self.session.levels_asked.insert(level) {
            self.run(Command::Read(DocumentRead::LoadLevel { level }));
        }
    }

    /// Requests a command, which `command_handling` runs after the frame.
    pub fn run(&mut self, command: Command) {
        self.requests.push(Request::Run(command));
    }
}

/// 42 % black over the window behind a dialog.
pub const DIM: Color32 = Color32::from_black_alpha(107);
