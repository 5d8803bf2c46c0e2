//! Autosave: a thread of its own writes the journal, so that nobody waits for the disk; only an edit that follows before the last
//! one is on the disk does. Must never lose more than that one edit.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::file::Project;
use super::journal::{Entry, Journal, Start, forget};
use crate::draft::{Edit, edit_weight};
use crate::error::Result;
use crate::extensions::ExtensionCall;
use crate::jobs::JobContext;

/// Edits with more samples than this are not written as lines: the draft is written anew, which is shorter.
const WEIGHT_MAX: u64 = 20_000;
/// How long to wait before looking whether the thread is still there.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where a draft comes from.
#[derive(Clone, Debug, Default)]
pub(in crate::studio) enum Origin {
    /// It began empty.
    #[default]
    Empty,
    /// It is what this project file says, while the file is still of this length and time.
    Project(PathBuf, FileMark),
    /// It was made of something else.
    Other,
}

/// Length and time of a file.
pub(in crate::studio) type FileMark = Option<(u64, std::time::SystemTime)>;

/// The present mark of a file.
pub(in crate::studio) fn mark_of(path: &Path) -> FileMark {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.len(), meta.modified().ok()?))
}

/// What happened to a draft.
pub(in crate::studio) enum Change {
    /// An edit was applied.
    Do(Edit),
    /// The last one was taken back, by this edit.
    Undo(Edit),
    /// The last one taken back was done again, by this edit.
    Redo(Edit),
    /// The recipe was replaced.
    Recipe(Vec<ExtensionCall>),
}

enum Message {
    /// Where to begin, if nothing was written yet, what happened, and what came of it.
    Note(Box<Note>),
    /// Throw everything away.
    Forget,
}

struct Note {
    entry: Entry,
    /// The draft before, while there is no journal.
    before: Option<Project>,
    after: Project,
    origin: Origin,
    project: Option<PathBuf>,
    large: bool,
}

#[derive(Default)]
struct Shared {
    /// Changes that are on the disk, or that failed to get there.
    written: u64,
    path: Option<PathBuf>,
    trouble: Option<String>,
}

/// Keeps one draft.
pub(in crate::studio) struct Keep {
    sender: Sender<Message>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
    sent: u64,
    /// Edits since the journal's beginning that can be taken back by a line that says so, and taken back ones.
    steps: (u64, u64),
    begun: bool,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Keep {
    /// A keeper that writes into `folder` once something changes.
    pub fn new(folder: PathBuf) -> Self {
        let (sender, receiver) = channel();
        let shared: Arc<(Mutex<Shared>, Condvar)> = Arc::default();
        let inner = shared.clone();
        let thread = std::thread::Builder::new().name("autosave".into()).spawn(move || work(&folder, &receiver, &inner)).ok();
        Self { sender, shared, sent: 0, steps: (0, 0), begun: false, thread }
    }

    /// True once there is a journal, or one is being made: then the draft as it was before a change is not needed.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Waits until everything that was noted is on the disk.
    pub fn settle(&self) {
        let (shared, told) = &*self.shared;
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits for a thread that is gone.
        while state.written < self.sent && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            state = told.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notes a change. `before` is the draft as it was; it may be absent once the journal has begun.
    pub fn note(&mut self, change: Change, before: Option<Project>, after: Project, origin: &Origin, project: Option<&Path>) {
        let (edit, entry) = match change {
            Change::Do(edit) => {
                self.steps = (self.steps.0 + 1, 0);
                (Some(edit), None)
            }
            Change::Undo(_) if self.steps.0 > 0 => {
                self.steps = (self.steps.0 - 1, self.steps.1 + 1);
                (None, Some(Entry::Undo))
            }
            Change::Redo(_) if self.steps.1 > 0 => {
                self.steps = (self.steps.0 + 1, self.steps.1 - 1);
                (None, Some(Entry::Redo))
            }
            // It goes back beyond the journal: a step as any other there, and none to go back over later.
            Change::Undo(edit) | Change::Redo(edit) => {
                self.steps = (0, 0);
                (Some(edit), None)
            }
            Change::Recipe(calls) => (None, Some(Entry::Recipe(calls))),
        };
        let large = edit.as_ref().is_some_and(|edit| edit_weight(edit, WEIGHT_MAX) > WEIGHT_MAX);
        let entry = match (edit, entry) {
            // Its content is in the draft that follows it.
            (Some(edit), _) if large => Entry::Do(Edit::Batch { label: edit.label(), edits: Vec::new() }),
            (Some(edit), _) => Entry::Do(edit),
            (None, Some(entry)) => entry,
            (None, None) => return,
        };
        if large {
            self.steps = (0, 0);
        }
        let project = project.map(Path::to_owned);
        let before = if self.begun { None } else { before };
        self.begun = true;
        let note = Note { entry, before, after, origin: origin.clone(), project, large };
        if self.sender.send(Message::Note(Box::new(note))).is_ok() {
            self.sent += 1;
        }
    }

    /// What went wrong since the last time that somebody asked.
    pub fn take_trouble(&self) -> Option<String> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).trouble.take()
    }

    /// The journal, once there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).path.clone()
    }

    /// The draft is saved, or not wanted any more: what was kept of it goes.
    pub fn forget(&mut self) {
        self.steps = (0, 0);
        self.begun = false;
        let _ = self.sender.send(Message::Forget);
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        // A panic is no decision to throw the draft away.
        if !std::thread::panicking() {
            self.forget();
        }
        let (closed, _) = channel();
        drop(std::mem::replace(&mut self.sender, closed));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(folder: &Path, receiver: &Receiver<Message>, shared: &(Mutex<Shared>, Condvar)) {
    let mut journal: Option<Journal> = None;
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Forget => {
                if let Some(journal) = journal.take() {
                    let path = journal.path().to_owned();
                    drop(journal);
                    forget(&path);
                }
                shared.0.lock().unwrap_or_else(PoisonError::into_inner).path = None;
            }
            Message::Note(note) => {
                let outcome = write(folder, &mut journal, *note);
                let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                state.written += 1;
                state.path = journal.as_ref().map(|journal| journal.path().to_owned());
                if let Err(error) = outcome {
                    state.trouble = Some(error.report());
                }
                shared.1.notify_all();
            }
        }
    }
}

fn write(folder: &Path, journal: &mut Option<Journal>, note: Note) -> Result<()> {
    let ctx = JobContext::default();
    let open = match journal {
        Some(open) => open,
        None => {
            let start = match (&note.origin, &note.before) {
                (Origin::Empty, _) => Start::Empty,
                (Origin::Project(file, mark), _) if mark.is_some() && mark_of(file) == *mark => Start::File(file),
                (_, Some(before)) => Start::Draft(before),
                // The draft after the change is as good a beginning.
                (_, None) => {
                    let mut begun = Journal::begin(folder, note.project, &Start::Draft(&note.after), &ctx)?;
                    begun.add(&Entry::Recipe(note.after.recipe))?;
                    *journal = Some(begun);
                    return Ok(());
                }
            };
            journal.insert(Journal::begin(folder, note.project, &start, &ctx)?)
        }
    };
    if note.large || !open.add(&note.entry)? || open.is_long() {
        open.compact(&note.after, &ctx)?;
        // Without an edit nobody would look for a draft here.
        open.add(&Entry::Recipe(note.after.recipe))?;
    }
    Ok(())
}
