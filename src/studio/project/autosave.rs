//! Autosave: a thread writes the journal, so that edits do not wait for the disk, except when the
//! previous edit is not on disk yet. At most that one edit is lost in a crash.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::file::Project;
use super::file_mark::{FileMark, ProjectFile};
use super::journal::{Journal, JournalEntry, JournalStart};
use super::journal_files::delete_journal;
use crate::draft::{Edit, edit_weight};
use crate::error::Result;
use crate::extensions::ExtensionCall;
use crate::file_lock::FileLock;
use crate::jobs::{JobContext, Jobs};

/// Maximum number of samples of an edit that is written as a line of the journal. Instead of a
/// larger edit the whole draft is written, which is shorter.
const LINE_SAMPLES_MAX: u64 = 20_000;
/// Interval between checks whether the thread is alive.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum time that a change waits until the previous one is on disk, and that closing a draft
/// waits for the last one.
const WRITE_TIMEOUT: Duration = if cfg!(test) {
    Duration::from_secs(1)
} else {
    Duration::from_secs(5)
};
/// A write that takes longer than this is reported.
const SLOW_WRITE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub(in crate::studio) enum DraftOrigin {
    #[default]
    Empty,
    /// The contents of this project file, as long as its mark is unchanged.
    Project(ProjectFile),
    /// Anything else.
    Other,
}

pub(in crate::studio) enum DraftChange {
    /// An edit was applied.
    Do(Edit),
    /// The last edit was undone, by this edit.
    Undo(Edit),
    /// The last undone edit was redone, by this edit.
    Redo(Edit),
    /// The recipe was replaced.
    Recipe(Vec<ExtensionCall>),
}

enum AutosaveMessage {
    /// A change, with the draft before (if nothing was written yet) and after it.
    Note(Box<AutosaveNote>),
    /// Delete the journal.
    Forget,
    /// Delete this older journal, whose lock is held, once all earlier messages are on disk.
    Supersede(PathBuf, Option<FileLock>),
}

struct AutosaveNote {
    change: DraftChange,
    /// The draft before the change, until the journal exists.
    before: Option<Project>,
    after: Project,
    origin: DraftOrigin,
    project: Option<ProjectFile>,
}

#[derive(Default)]
struct SharedAutosave {
    /// Number of changes queued.
    sent: u64,
    /// Number of changes written, failed or discarded.
    written: u64,
    /// So many changes, counted from the first one, need not be written any more, because the draft
    /// was saved or discarded.
    discarded: u64,
    /// When the thread began to write the oldest pending change.
    since: Option<Instant>,
    path: Option<PathBuf>,
    trouble: Option<String>,
}

/// Autosave of one draft.
pub(in crate::studio) struct Autosave {
    sender: Sender<AutosaveMessage>,
    shared: Arc<(Mutex<SharedAutosave>, Condvar)>,
    has_begun: bool,
    patience: Duration,
    /// True once it was reported that writing is slow, until it no longer is.
    has_reported_slow: Cell<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Autosave {
    /// Starts the thread; it writes to `folder` after the first change, and wakes the window of
    /// `jobs` when that fails.
    pub fn new(folder: PathBuf, jobs: Jobs) -> Self {
        let (sender, receiver) = channel();
        let shared: Arc<(Mutex<SharedAutosave>, Condvar)> = Arc::default();
        let inner = shared.clone();
        let thread = std::thread::Builder::new()
            .name("autosave".into())
            .spawn(move || run_autosave(&folder, &receiver, &inner, &jobs))
            .ok();
        let has_reported_slow = Cell::new(false);
        Self {
            sender,
            shared,
            has_begun: false,
            patience: WRITE_TIMEOUT,
            has_reported_slow,
            thread,
        }
    }

    fn lock_shared(&self) -> MutexGuard<'_, SharedAutosave> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once a journal exists or is being created; [`Autosave::note`] then needs no `before`.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Sets the timeout of waiting for the previous change.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Waits until all changes are on disk, up to the timeout, since a disk may stop responding.
    /// Returns false on timeout.
    pub fn wait_until_written(&self) -> bool {
        let end = Instant::now() + self.patience;
        let mut state = self.lock_shared();
        // A finished thread writes nothing more.
        while state.written < state.sent
            && self
                .thread
                .as_ref()
                .is_some_and(|thread| !thread.is_finished())
        {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .shared
                .1
                .wait_timeout(state, left.min(POLL_INTERVAL))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    /// Closes the draft; pending changes are written in the background.
    pub fn leave(mut self) -> PendingWrites {
        PendingWrites(self.thread.take())
    }

    /// Deletes an older journal once all queued changes are on disk. Until then `lock` keeps other
    /// windows from restoring it, too.
    pub fn supersede(&self, journal: PathBuf, lock: Option<FileLock>) {
        let _ = self.sender.send(AutosaveMessage::Supersede(journal, lock));
    }

    /// Queues a change. `before` is the draft before it; optional once [`Autosave::has_begun`].
    pub fn note(
        &mut self,
        change: DraftChange,
        before: Option<Project>,
        after: Project,
        origin: &DraftOrigin,
        project: Option<ProjectFile>,
    ) {
        let before = if self.has_begun { None } else { before };
        self.has_begun = true;
        let note = AutosaveNote {
            change,
            before,
            after,
            origin: origin.clone(),
            project,
        };
        let note = AutosaveMessage::Note(Box::new(note));
        // Locked first: the thread may have written it before it is counted.
        let mut state = self.lock_shared();
        if self.sender.send(note).is_ok() {
            state.sent += 1;
            state.since.get_or_insert_with(Instant::now);
        }
    }

    /// Takes the most recent failure, or a message that writing is slow.
    pub fn take_trouble(&self) -> Option<String> {
        let mut state = self.lock_shared();
        let slow = state
            .since
            .is_some_and(|since| since.elapsed() > SLOW_WRITE);
        let is_reported = self.has_reported_slow.replace(slow);
        let pending = state.sent.saturating_sub(state.written);
        state
            .trouble
            .take()
            .or_else(|| (slow && !is_reported).then(|| slow_write_message(pending)))
    }

    /// Time after which [`Autosave::take_trouble`] reports that writing is slow; `None` when no
    /// change is pending, or that was reported.
    pub fn find_time_to_slow(&self) -> Option<Duration> {
        let since = self.lock_shared().since?;
        let left = (SLOW_WRITE + POLL_INTERVAL).saturating_sub(since.elapsed());
        (!self.has_reported_slow.get()).then_some(left)
    }

    /// Path of the journal, once it exists.
    pub fn path(&self) -> Option<PathBuf> {
        self.lock_shared().path.clone()
    }

    /// Deletes the journal: the draft was saved or discarded. Changes that are not written yet are
    /// not written first: a slow disk would leave a journal behind when the program ends meanwhile.
    pub fn forget(&mut self) {
        self.has_begun = false;
        let mut state = self.lock_shared();
        state.discarded = state.sent;
        drop(state);
        let _ = self.sender.send(AutosaveMessage::Forget);
    }
}

fn slow_write_message(pending: u64) -> String {
    let changes = if pending == 1 {
        "change is"
    } else {
        "changes are"
    };
    format!("the disk does not answer: {pending} {changes} not kept yet")
}

impl Drop for Autosave {
    fn drop(&mut self) {
        // The journal stays on exit: only saving or discarding deletes it.
        let (closed, _) = channel();
        drop(std::mem::replace(&mut self.sender, closed));
        drop(PendingWrites(self.thread.take()));
    }
}

/// Thread that writes the pending changes of a closed draft. Dropping waits for it, up to a
/// timeout.
pub(in crate::studio) struct PendingWrites(Option<std::thread::JoinHandle<()>>);

impl PendingWrites {
    /// True when everything is written.
    pub fn is_done(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(std::thread::JoinHandle::is_finished)
    }
}

impl Drop for PendingWrites {
    fn drop(&mut self) {
        let Some(thread) = self.0.take() else { return };
        let end = Instant::now() + WRITE_TIMEOUT;
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        } else {
            tracing::warn!("the last changes of a draft are not kept: the disk does not answer");
        }
    }
}

/// Writes changes as they come, until the draft is closed.
fn run_autosave(
    folder: &Path,
    receiver: &Receiver<AutosaveMessage>,
    shared: &(Mutex<SharedAutosave>, Condvar),
    jobs: &Jobs,
) {
    let mut journal: Option<Journal> = None;
    // True after a failed write: later lines would not apply, so the whole draft is written.
    let mut lacks_change = false;
    while let Ok(message) = receiver.recv() {
        match message {
            AutosaveMessage::Forget => {
                if let Some(journal) = journal.take() {
                    let path = journal.path().to_owned();
                    drop(journal);
                    delete_journal(&path);
                }
                lacks_change = false;
                shared.0.lock().unwrap_or_else(PoisonError::into_inner).path = None;
            }
            AutosaveMessage::Supersede(older, lock) => {
                if !lacks_change && journal.is_some() {
                    delete_journal(&older);
                }
                drop(lock);
            }
            AutosaveMessage::Note(note) => {
                let is_discarded = {
                    let state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                    state.written < state.discarded
                };
                let outcome = if is_discarded {
                    Ok(())
                } else if lacks_change {
                    write_whole(folder, &mut journal, *note)
                } else {
                    write_change(folder, &mut journal, *note)
                };
                lacks_change = outcome.is_err();
                let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                state.written += 1;
                state.since = (state.written < state.sent).then(Instant::now);
                state.path = journal.as_ref().map(|journal| journal.path().to_owned());
                if let Err(error) = outcome {
                    state.trouble = Some(error.report());
                }
                drop(state);
                shared.1.notify_all();
                if lacks_change {
                    // An idle window has to report it.
                    jobs.wake();
                }
            }
        }
    }
}

/// Restarts the journal from the draft after the change.
fn write_whole(folder: &Path, journal: &mut Option<Journal>, note: AutosaveNote) -> Result<()> {
    let ctx = JobContext::default();
    let open = match journal {
        Some(open) => {
            open.compact(&note.after, &ctx)?;
            open
        }
        None => journal.insert(Journal::begin(
            folder,
            note.project,
            &JournalStart::Draft(&note.after),
            &ctx,
        )?),
    };
    // Recovery lists only journals with an entry.
    open.add(&JournalEntry::Recipe(note.after.recipe))?;
    Ok(())
}

fn write_change(folder: &Path, journal: &mut Option<Journal>, note: AutosaveNote) -> Result<()> {
    let ctx = JobContext::default();
    let open = match journal {
        Some(open) => open,
        None => {
            let start = match (&note.origin, &note.before) {
                (DraftOrigin::Empty, _) => JournalStart::Empty,
                (DraftOrigin::Project(file), _)
                    if file.mark.is_some() && FileMark::from_path(&file.path) == file.mark =>
                {
                    JournalStart::File(&file.path)
                }
                (_, Some(before)) => JournalStart::Draft(before),
                // Without the draft before the change, the one after it becomes the base.
                (_, None) => return write_whole(folder, journal, note),
            };
            journal.insert(Journal::begin(folder, note.project, &start, &ctx)?)
        }
    };
    let (entry, is_beyond_base) = match note.change {
        DraftChange::Do(edit) => (JournalEntry::Do(edit), false),
        DraftChange::Undo(_) if open.has_undo() => (JournalEntry::Undo, false),
        DraftChange::Redo(_) if open.has_redo() => (JournalEntry::Redo, false),
        // A step that was applied before the journal's base was written is not in the journal: its
        // undo or redo is written as an edit, and no step before it can be undone by a line.
        DraftChange::Undo(edit) | DraftChange::Redo(edit) => (JournalEntry::Do(edit), true),
        DraftChange::Recipe(calls) => (JournalEntry::Recipe(calls), false),
    };
    let written = match &entry {
        JournalEntry::Do(edit) if edit_weight(edit, LINE_SAMPLES_MAX) > LINE_SAMPLES_MAX => {
            open.follow(&entry);
            false
        }
        entry => open.add(entry)?,
    };
    if is_beyond_base {
        open.forget_steps();
    }
    if !written || open.is_long() {
        open.compact(&note.after, &ctx)?;
        // Recovery lists only journals with an entry.
        open.add(&JournalEntry::Recipe(note.after.recipe))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::journal::BYTES_MAX;
    use super::super::journal_reader::restore;
    use super::super::recovery::recoverable;
    use super::*;
    use crate::draft::Draft;

    /// Long enough for a slow disk, where the test needs what is written.
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn changes_of_a_discarded_draft_are_not_written_first() {
        let place = tempfile::tempdir().expect("has a temporary folder");
        let note = || {
            let change = DraftChange::Recipe(Vec::new());
            AutosaveMessage::Note(Box::new(AutosaveNote {
                change,
                before: None,
                after: Project::default(),
                origin: DraftOrigin::Empty,
                project: None,
            }))
        };
        let ended = |discarded: u64| {
            let (sender, receiver) = channel();
            [note(), note(), AutosaveMessage::Forget]
                .into_iter()
                .for_each(|message| sender.send(message).expect("is queued"));
            drop(sender);
            let shared: (Mutex<SharedAutosave>, Condvar) = Default::default();
            shared.0.lock().expect("is free").discarded = discarded;
            // A file instead of a folder: every write fails.
            let file = place.path().join("file");
            std::fs::write(&file, "").expect("writes");
            run_autosave(&file, &receiver, &shared, &Jobs::quiet());
            let state = shared.0.into_inner().expect("is free");
            (state.written, state.trouble.is_some())
        };
        assert_eq!(ended(2), (2, false), "nothing was tried");
        assert_eq!(ended(0), (2, true), "each was tried");
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("has a temporary folder");
        let folder = place.path().join("drafts");
        std::fs::create_dir(&folder).expect("makes a folder");
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("sets");
        let ctx = JobContext::default();
        let project = Project::default();
        let mut journal =
            Journal::begin(&folder, None, &JournalStart::Draft(&project), &ctx).expect("begins");
        for again in [false, true] {
            if again {
                journal.compact(&project, &ctx).expect("compacts");
            }
            let files: Vec<PathBuf> = std::fs::read_dir(&folder)
                .expect("lists")
                .flatten()
                .map(|entry| entry.path())
                .collect();
            assert_eq!(files.len(), 3, "journal, base and lock");
            for path in files {
                let mode = path.metadata().expect("is there").permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
            }
        }
        assert_eq!(
            folder.metadata().expect("is there").permissions().mode() & 0o777,
            0o700
        );
    }

    #[test]
    fn undo_of_steps_before_the_base_of_a_compacted_journal_can_be_restored() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let mut draft = Draft::new();
        let mut autosave =
            Autosave::new(folder.path().to_owned(), Jobs::quiet()).with_patience(MINUTE);
        let project = |draft: &Draft| Project {
            content: draft.content().clone(),
            ..Project::default()
        };
        let mut note = |draft: &Draft, change| {
            autosave.note(change, None, project(draft), &DraftOrigin::Empty, None)
        };
        let set = |key: &str, text: String| Edit::SetCollection {
            key: key.into(),
            value: Some(text.into()),
        };
        let long = "x".repeat(BYTES_MAX as usize);
        for edit in [
            set("id", "one".into()),
            set("description", long),
            set("title", "kept".into()),
            set("title", "gone".into()),
        ] {
            draft.apply(edit.clone()).expect("applies");
            note(&draft, DraftChange::Do(edit));
        }
        // Two steps are in the journal, the step before them in its base.
        for _ in 0..3 {
            let edit = draft.undo_edit().expect("has steps").clone();
            draft.undo().expect("undoes");
            note(&draft, DraftChange::Undo(edit));
        }
        let edit = draft.redo_edit().expect("has steps").clone();
        draft.redo().expect("does again");
        note(&draft, DraftChange::Redo(edit));
        let edit = set("title", "last".into());
        draft.apply(edit.clone()).expect("applies");
        note(&draft, DraftChange::Do(edit));
        assert!(autosave.wait_until_written());
        let journal = autosave.path().expect("is there");
        let restored = restore(&journal, &JobContext::default()).expect("restores");
        assert_eq!(restored.trouble, None);
        assert!(
            restored.draft.content() == draft.content(),
            "what is restored is not what was kept"
        );
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).expect("makes a folder");
        std::fs::copy(&journal, copy.join("draft-1.journal")).expect("copies");
        assert_eq!(
            recoverable(&copy)
                .iter()
                .map(|draft| draft.id.as_str())
                .collect::<Vec<_>>(),
            ["one"]
        );
    }

    #[test]
    fn after_a_failed_write_the_next_change_writes_the_whole_draft() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let auto = folder.path().join("auto");
        // A file at the folder's path makes writes fail.
        std::fs::write(&auto, b"in the way").expect("writes");
        let mut draft = Draft::new();
        let (woken, wakes) = channel();
        let jobs = Jobs::new(move || {
            let _ = woken.send(());
        });
        let mut autosave = Autosave::new(auto.clone(), jobs).with_patience(MINUTE);
        let mut change = |autosave: &mut Autosave, text: &str| {
            let edit = Edit::SetCollection {
                key: text.into(),
                value: Some(text.into()),
            };
            let before = Project {
                content: draft.content().clone(),
                ..Project::default()
            };
            draft.apply(edit.clone()).expect("applies");
            let after = Project {
                content: draft.content().clone(),
                ..Project::default()
            };
            autosave.note(
                DraftChange::Do(edit),
                Some(before),
                after,
                &DraftOrigin::Empty,
                None,
            );
            assert!(autosave.wait_until_written());
        };
        change(&mut autosave, "one");
        assert!(autosave.path().is_none() && autosave.take_trouble().is_some());
        let woken = wakes.recv_timeout(MINUTE);
        assert!(woken.is_ok(), "an idle window is to report it");
        std::fs::remove_file(&auto).expect("removes");
        change(&mut autosave, "two");
        change(&mut autosave, "three");
        assert!(autosave.wait_until_written() && autosave.take_trouble().is_none());
        assert!(wakes.try_recv().is_err(), "nothing failed again");
        assert_eq!(autosave.find_time_to_slow(), None, "nothing is pending");
        let restored =
            restore(&autosave.path().expect("is there"), &JobContext::default()).expect("restores");
        assert!(
            restored.draft.content() == draft.content(),
            "what failed first is there too"
        );
        drop(autosave);
        assert_eq!(
            recoverable(&auto).len(),
            1,
            "the end of the program throws nothing away"
        );
    }

    #[test]
    fn a_disk_that_does_not_answer_holds_up_neither_an_edit_nor_the_end() {
        let (sender, receiver) = channel();
        let (answer, asked) = channel::<()>();
        // Receives messages and never writes.
        let thread = std::thread::spawn(move || drop((asked.recv(), receiver)));
        let shared = Arc::default();
        let autosave = Autosave {
            sender,
            shared,
            has_begun: false,
            patience: WRITE_TIMEOUT,
            has_reported_slow: Cell::new(false),
            thread: Some(thread),
        };
        let mut autosave = autosave.with_patience(Duration::from_millis(20));
        let edit = Edit::SetCollection {
            key: "id".into(),
            value: Some("one".into()),
        };
        autosave.note(
            DraftChange::Do(edit),
            None,
            Project::default(),
            &DraftOrigin::Empty,
            None,
        );
        let began = Instant::now();
        assert!(!autosave.wait_until_written(), "it is not there");
        let left = autosave.find_time_to_slow().expect("a change is pending");
        assert!(left <= SLOW_WRITE + POLL_INTERVAL);
        drop(autosave);
        assert!(began.elapsed() < Duration::from_secs(20), "it ended");
        drop(answer);
    }

    #[test]
    fn what_a_stopped_process_left_beside_its_journals_is_removed() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let mut autosave =
            Autosave::new(folder.path().to_owned(), Jobs::quiet()).with_patience(MINUTE);
        let edit = Edit::SetCollection {
            key: "id".into(),
            value: Some("kept".into()),
        };
        let project = Project::default();
        autosave.note(
            DraftChange::Do(edit),
            Some(project.clone()),
            project,
            &DraftOrigin::Other,
            None,
        );
        assert!(autosave.wait_until_written());
        drop(autosave);
        let names = || {
            let entries = std::fs::read_dir(folder.path()).expect("reads").flatten();
            let mut names: Vec<String> = entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let whole = names();
        assert_eq!(whole.len(), 3, "journal, base and lock: {whole:?}");
        let stem = whole[0]
            .split_once('.')
            .expect("has an ending")
            .0
            .trim_end_matches("-0")
            .to_owned();
        // Left by a process killed while compacting the journal, and before creating it.
        for name in [
            format!("{stem}-7.tacostudio"),
            format!(".{stem}.journal.aB3dE6.partial"),
            "draft-5-0.tacostudio".into(),
            "draft-6.lock".into(),
        ] {
            std::fs::write(folder.path().join(name), "half").expect("writes");
        }
        std::fs::write(folder.path().join("notes.txt"), "somebody's own").expect("writes");
        assert_eq!(recoverable(folder.path()).len(), 1);
        assert_eq!(names(), [whole, vec!["notes.txt".to_owned()]].concat());
    }
}
