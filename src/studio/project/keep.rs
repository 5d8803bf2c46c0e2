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
    change: Change,
    /// The draft before, while there is no journal.
    before: Option<Project>,
    after: Project,
    origin: Origin,
    project: Option<PathBuf>,
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
        Self { sender, shared, sent: 0, begun: false, thread }
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
        let project = project.map(Path::to_owned);
        let before = if self.begun { None } else { before };
        self.begun = true;
        let note = Note { change, before, after, origin: origin.clone(), project };
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

    /// True when everything that was noted is on the disk.
    pub fn is_kept(&self) -> bool {
        let shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.path.is_some() && shared.trouble.is_none() && shared.written == self.sent
    }

    /// The draft is saved, or not wanted any more: what was kept of it goes.
    pub fn forget(&mut self) {
        self.begun = false;
        let _ = self.sender.send(Message::Forget);
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        // The end of the program is no decision to throw the draft away.
        let (closed, _) = channel();
        drop(std::mem::replace(&mut self.sender, closed));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(folder: &Path, receiver: &Receiver<Message>, shared: &(Mutex<Shared>, Condvar)) {
    let mut journal: Option<Journal> = None;
    // Something is not in the journal, so that further lines would lead elsewhere.
    let mut broken = false;
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Forget => {
                if let Some(journal) = journal.take() {
                    let path = journal.path().to_owned();
                    drop(journal);
                    forget(&path);
                }
                broken = false;
                shared.0.lock().unwrap_or_else(PoisonError::into_inner).path = None;
            }
            Message::Note(note) => {
                let outcome = match broken {
                    true => write_whole(folder, &mut journal, *note),
                    false => write(folder, &mut journal, *note),
                };
                broken = outcome.is_err();
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

/// Begins with the draft as it is after the change.
fn write_whole(folder: &Path, journal: &mut Option<Journal>, note: Note) -> Result<()> {
    let ctx = JobContext::default();
    let open = match journal {
        Some(open) => {
            open.compact(&note.after, &ctx)?;
            open
        }
        None => journal.insert(Journal::begin(folder, note.project, &Start::Draft(&note.after), &ctx)?),
    };
    // Without an entry nobody would look for a draft here.
    open.add(&Entry::Recipe(note.after.recipe))?;
    Ok(())
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
                (_, None) => return write_whole(folder, journal, note),
            };
            journal.insert(Journal::begin(folder, note.project, &start, &ctx)?)
        }
    };
    let large = |edit: &Edit| edit_weight(edit, WEIGHT_MAX) > WEIGHT_MAX;
    let (entry, beyond) = match note.change {
        Change::Do(edit) => (Entry::Do(edit), false),
        Change::Undo(_) if open.has_undo() => (Entry::Undo, false),
        Change::Redo(_) if open.has_redo() => (Entry::Redo, false),
        // It goes back beyond the journal: a step as any other there, and none to go back over later.
        Change::Undo(edit) | Change::Redo(edit) => (Entry::Do(edit), true),
        Change::Recipe(calls) => (Entry::Recipe(calls), false),
    };
    let written = match &entry {
        Entry::Do(edit) if large(edit) => {
            open.tell(&entry);
            false
        }
        entry => open.add(entry)?,
    };
    if beyond {
        open.draw_line();
    }
    if !written || open.is_long() {
        open.compact(&note.after, &ctx)?;
        // Without an edit nobody would look for a draft here.
        open.add(&Entry::Recipe(note.after.recipe))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::journal::{BYTES_MAX, recoverable, restore};
    use super::*;
    use crate::draft::Draft;

    #[test]
    fn what_is_taken_back_after_the_journal_was_made_short_can_be_restored() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let mut draft = Draft::new();
        let mut keep = Keep::new(folder.path().to_owned());
        let project = |draft: &Draft| Project { content: draft.content().clone(), ..Project::default() };
        let mut note = |draft: &Draft, change| keep.note(change, None, project(draft), &Origin::Empty, None);
        let set = |key: &str, text: String| Edit::SetCollection { key: key.into(), value: Some(text.into()) };
        let long = "x".repeat(BYTES_MAX as usize);
        for edit in [set("id", "one".into()), set("description", long), set("title", "kept".into()), set("title", "gone".into())] {
            draft.apply(edit.clone()).expect("applies");
            note(&draft, Change::Do(edit));
        }
        // Two steps lie in the journal, the one before them in its base.
        for _ in 0..3 {
            let edit = draft.undo_edit().expect("has steps").clone();
            draft.undo().expect("undoes");
            note(&draft, Change::Undo(edit));
        }
        let edit = draft.redo_edit().expect("has steps").clone();
        draft.redo().expect("does again");
        note(&draft, Change::Redo(edit));
        let edit = set("title", "last".into());
        draft.apply(edit.clone()).expect("applies");
        note(&draft, Change::Do(edit));
        keep.settle();
        let journal = keep.path().expect("is there");
        let restored = restore(&journal, &JobContext::default()).expect("restores");
        assert_eq!(restored.trouble, None);
        assert!(restored.draft.content() == draft.content(), "what is restored is not what was kept");
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).expect("makes a folder");
        std::fs::copy(&journal, copy.join("draft-1.journal")).expect("copies");
        assert_eq!(recoverable(&copy).iter().map(|draft| draft.id.as_str()).collect::<Vec<_>>(), ["one"]);
    }

    #[test]
    fn a_failure_to_write_is_made_good_by_the_next_change() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let auto = folder.path().join("auto");
        // Nothing can be written below a file.
        std::fs::write(&auto, b"in the way").expect("writes");
        let mut draft = Draft::new();
        let mut keep = Keep::new(auto.clone());
        let mut change = |keep: &mut Keep, text: &str| {
            let edit = Edit::SetCollection { key: text.into(), value: Some(text.into()) };
            let before = Project { content: draft.content().clone(), ..Project::default() };
            draft.apply(edit.clone()).expect("applies");
            let after = Project { content: draft.content().clone(), ..Project::default() };
            keep.note(Change::Do(edit), Some(before), after, &Origin::Empty, None);
            keep.settle();
        };
        change(&mut keep, "one");
        assert!(!keep.is_kept() && keep.path().is_none() && keep.take_trouble().is_some());
        std::fs::remove_file(&auto).expect("removes");
        change(&mut keep, "two");
        change(&mut keep, "three");
        assert!(keep.is_kept());
        let restored = restore(&keep.path().expect("is there"), &JobContext::default()).expect("restores");
        assert!(restored.draft.content() == draft.content(), "what failed first is there too");
        drop(keep);
        assert_eq!(recoverable(&auto).len(), 1, "the end of the program throws nothing away");
    }
}
