//! The journal of a draft: one line per edit, synced to disk individually, on top of a project file
//! as base. After a crash at most the last edit is lost; an incomplete line is ignored.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value as Json;

use super::file::{Project, save_project};
use super::file_mark::{FileMark, ProjectFile};
use super::journal_files::{
    JOURNAL_EXTENSION, base_name, delete_journal, lock, make_base_private, remove_bases,
};
use super::source_paths::{ProjectFolder, real_path};
use crate::draft::Edit;
use crate::error::{Error, IoContext, Result};
use crate::extensions::ExtensionCall;
use crate::file_lock::FileLock;
use crate::folders::{make_file_private, make_private, open_private};
use crate::jobs::JobContext;

/// Journals above this size in bytes are compacted by writing the draft as a new base.
pub(super) const BYTES_MAX: u64 = 8 << 20;

/// First line of a journal.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalHead {
    pub tacostudio_journal: u32,
    /// The project that the draft was opened from or saved to.
    pub project: Option<PathBuf>,
    /// The mark of that file at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<FileMark>,
    /// Base file beside the journal; `None` for an empty draft.
    pub base: Option<String>,
    /// Folder to which source paths in the base are relative.
    pub folder: PathBuf,
    /// Collection id in the base, where known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Steps of the history that the base includes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "so serde asks")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One line of a journal.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalEntry {
    /// An edit.
    Do(Edit),
    /// Undo of the last edit.
    Undo,
    /// Redo of the last undone edit.
    Redo,
    /// New stored extension calls.
    Recipe(Vec<ExtensionCall>),
}

/// An unsaved draft that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recoverable {
    /// The journal, for [`crate::studio::Command::Restore`].
    pub journal: PathBuf,
    /// Project file of the draft, if any.
    pub project: Option<PathBuf>,
    /// Time of the last change.
    pub changed: Option<SystemTime>,
    /// Id of its collection; may be empty.
    pub id: String,
    /// Number of history steps, without undone edits.
    pub steps: usize,
    /// What is damaged: the draft can be restored up to there.
    pub damage: Option<String>,
}

/// Base of a new journal.
pub(super) enum JournalStart<'a> {
    /// Empty draft.
    Empty,
    /// Project file on disk.
    File(&'a Path),
    /// Draft in memory.
    Draft(&'a Project),
}

/// An open journal. Its lock marks it as in use for other processes.
pub(super) struct Journal {
    path: PathBuf,
    /// Open at its end; `None` from before it is replaced until the next entry.
    file: Option<File>,
    head: JournalHead,
    bytes: u64,
    generation: u32,
    followed: Followed,
    _lock: FileLock,
}

/// Summary of a draft after the entries so far, without the draft itself.
#[derive(Default)]
pub(super) struct Followed {
    pub id: String,
    pub steps: usize,
    pub entries: usize,
    /// Per applied step, the id before it if it changed the id; per undone step, the id after it.
    done: Vec<Option<String>>,
    undone: Vec<Option<String>>,
}

impl Followed {
    /// Initial state from `head`.
    pub fn from_head(head: &JournalHead) -> Self {
        Self {
            id: head.id.clone(),
            steps: head.steps,
            ..Self::default()
        }
    }

    pub fn follow(&mut self, entry: &JournalEntry) {
        self.entries += 1;
        match entry {
            JournalEntry::Do(edit) => {
                self.steps = self.steps.saturating_add(1);
                self.undone.clear();
                self.done
                    .push(id_of(edit).map(|id| std::mem::replace(&mut self.id, id.to_owned())));
            }
            JournalEntry::Undo => {
                self.steps = self.steps.saturating_sub(1);
                if let Some(step) = self.done.pop() {
                    self.undone
                        .push(step.map(|id| std::mem::replace(&mut self.id, id)));
                }
            }
            JournalEntry::Redo => {
                self.steps = self.steps.saturating_add(1);
                if let Some(step) = self.undone.pop() {
                    self.done
                        .push(step.map(|id| std::mem::replace(&mut self.id, id)));
                }
            }
            JournalEntry::Recipe(_) => {}
        }
    }
}

/// The collection id that an edit sets, if it does.
fn id_of(edit: &Edit) -> Option<&str> {
    match edit {
        Edit::SetCollection { key, value } if key == "id" => {
            Some(value.as_ref().and_then(Json::as_str).unwrap_or_default())
        }
        Edit::ReplaceCollection { collection } => Some(collection.id()),
        Edit::Batch { edits, .. } => edits.iter().rev().find_map(id_of),
        _ => None,
    }
}

impl Journal {
    /// Creates a journal in `folder`.
    pub fn begin(
        folder: &Path,
        project: Option<ProjectFile>,
        start: &JournalStart<'_>,
        ctx: &JobContext,
    ) -> Result<Self> {
        // Unsaved drafts are readable by the owner only.
        make_private(folder).io_at("make the folder for autosave", folder)?;
        let time = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let mut number = time.as_millis();
        let (path, lock) = loop {
            let path = folder.join(format!("draft-{number}.{JOURNAL_EXTENSION}"));
            if !path.exists()
                && let Some(lock) = lock(&path)?
            {
                break (path, lock);
            }
            number += 1;
        };
        // A journal that is not synced is on disk all the same; the next attempt begins another
        // one.
        Self::begin_at(folder, path.clone(), lock, project, start, ctx)
            .inspect_err(|_| delete_journal(&path))
    }

    fn begin_at(
        folder: &Path,
        path: PathBuf,
        lock: FileLock,
        project: Option<ProjectFile>,
        start: &JournalStart<'_>,
        ctx: &JobContext,
    ) -> Result<Self> {
        let (project, mark) = project.map_or((None, None), |file| (Some(file.path), file.mark));
        let (folder_of_base, id) = (folder.to_owned(), String::new());
        let mut head = JournalHead {
            tacostudio_journal: 1,
            project,
            mark,
            base: None,
            folder: folder_of_base,
            id,
            steps: 0,
        };
        let name = base_name(&path, 0);
        let base = folder.join(&name);
        match start {
            JournalStart::Empty => {}
            JournalStart::File(file) => {
                // A hard link to a symbolic link would not resolve from here.
                let file = &*real_path(file);
                // The file may be replaced; a hard link keeps this version at no cost.
                if std::fs::hard_link(file, &base).is_err() {
                    std::fs::copy(file, &base).io_at("copy the project for autosave", file)?;
                    make_base_private(&base)?;
                }
                head.base = Some(name);
                head.folder = ProjectFolder::from_project_file(file).folder().to_owned();
            }
            JournalStart::Draft(draft) => {
                save_project(&base, draft, ctx)?;
                make_base_private(&base)?;
                head.base = Some(name);
                head.id = draft.content.dataset.collection.id().to_owned();
            }
        }
        let bytes = begin_file(&path, &head)?;
        let followed = Followed {
            id: head.id.clone(),
            ..Followed::default()
        };
        Ok(Self {
            path,
            file: None,
            head,
            bytes,
            generation: 0,
            followed,
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line and syncs it. Returns false when the entry can't be serialized; then call
    /// [`Journal::compact`].
    ///
    /// # Errors
    /// [`crate::error::Kind::Io`].
    pub fn add(&mut self, entry: &JournalEntry) -> Result<bool> {
        self.follow(entry);
        let Ok(text) = serde_json::to_string(entry) else {
            return Ok(false);
        };
        let line = line_of(&text);
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                options.append(true);
                self.file.insert(
                    open_private(options, &self.path).io_at("open the journal", &self.path)?,
                )
            }
        };
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_data())
            .io_at("write the journal", &self.path)?;
        self.bytes += line.len() as u64;
        Ok(true)
    }

    /// Records an entry that the next base will include.
    pub fn follow(&mut self, entry: &JournalEntry) {
        self.followed.follow(entry);
    }

    /// True when the last step can be undone by an [`JournalEntry::Undo`].
    pub fn has_undo(&self) -> bool {
        !self.followed.done.is_empty()
    }

    /// True when the last undone step can be redone by an [`JournalEntry::Redo`].
    pub fn has_redo(&self) -> bool {
        !self.followed.undone.is_empty()
    }

    /// Steps up to now can't be undone or redone by line.
    pub fn forget_steps(&mut self) {
        self.followed.done.clear();
        self.followed.undone.clear();
    }

    /// True when the journal should be compacted.
    pub fn is_long(&self) -> bool {
        self.bytes > BYTES_MAX
    }

    /// Writes the current draft as the new base and empties the journal.
    ///
    /// # Errors
    /// As [`save_project`].
    pub fn compact(&mut self, now: &Project, ctx: &JobContext) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        self.generation += 1;
        let name = base_name(&self.path, self.generation);
        save_project(&folder.join(&name), now, ctx)?;
        make_base_private(&folder.join(&name))?;
        let id = now.content.dataset.collection.id().to_owned();
        let head = JournalHead {
            base: Some(name),
            folder: folder.clone(),
            id,
            steps: self.followed.steps,
            ..self.head.clone()
        };
        // Not every disk of Windows replaces a file that is open.
        self.file = None;
        self.bytes = begin_file(&self.path, &head)?;
        self.forget_steps();
        self.followed.id.clone_from(&head.id);
        remove_bases(&self.path, head.base.as_deref());
        self.head = head;
        Ok(())
    }
}

/// Writes a journal with only its head, replacing an older one. Returns its length in bytes.
fn begin_file(path: &Path, head: &JournalHead) -> Result<u64> {
    let text = serde_json::to_string(head)
        .map_err(|error| Error::internal("the journal can't be written").because(error))?;
    let line = line_of(&text);
    let partial = crate::container::PartialFile::new(path, true)?;
    make_file_private(partial.file()).io_at("write the journal", path)?;
    partial
        .file()
        .write_all(line.as_bytes())
        .io_at("write the journal", path)?;
    partial.finish()?;
    Ok(line.len() as u64)
}

/// A line with the checksum of its text before it.
fn line_of(text: &str) -> String {
    format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::recovery::recoverable;
    use super::*;
    use crate::draft::Draft;
    use crate::error::Kind;
    use crate::studio::project::journal_files::lock_existing;
    use crate::studio::project::journal_reader::restore;

    fn title(text: &str) -> JournalEntry {
        JournalEntry::Do(Edit::SetCollection {
            key: "title".into(),
            value: Some(text.into()),
        })
    }

    fn restored(path: &Path) -> (String, usize) {
        let restored = restore(path, &JobContext::default()).expect("restores");
        assert_eq!(restored.trouble, None);
        (
            restored.draft.dataset().collection.text("title").to_owned(),
            restored.draft.steps(),
        )
    }

    #[test]
    fn a_journal_leads_to_the_last_whole_line_wherever_it_ends() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let mut journal =
            Journal::begin(folder.path(), None, &JournalStart::Empty, &ctx).expect("begins");
        let mut ends = vec![(journal.bytes, String::new(), 0)];
        for (entry, after, steps) in [
            (title("one"), "one", 1),
            (title("two"), "two", 2),
            (JournalEntry::Undo, "one", 1),
            (JournalEntry::Redo, "two", 2),
            (JournalEntry::Recipe(Vec::new()), "two", 2),
            (title("a \"quoted\"\nline"), "a \"quoted\"\nline", 3),
        ] {
            assert!(journal.add(&entry).expect("writes"));
            ends.push((journal.bytes, after.to_owned(), steps));
        }
        let path = journal.path().to_owned();
        assert!(
            recoverable(folder.path()).is_empty(),
            "an open journal is not lost"
        );
        drop(journal);
        assert_eq!(
            recoverable(folder.path())
                .iter()
                .map(|found| found.steps)
                .collect::<Vec<_>>(),
            [3]
        );
        let whole = std::fs::read(&path).expect("reads");
        for cut in ends[0].0 as usize..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            // Without its newline, the line is still complete.
            let expected = ends
                .iter()
                .rev()
                .find(|end| end.0 <= cut as u64 + 1)
                .expect("there is one");
            assert_eq!(
                restored(&path),
                (expected.1.clone(), expected.2),
                "cut at {cut}"
            );
        }
        delete_journal(&path);
        assert_eq!(std::fs::read_dir(folder.path()).expect("reads").count(), 0);
    }

    #[test]
    fn a_journal_begins_again_with_the_draft_as_it_is() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let mut draft = Draft::new();
        let project = |draft: &Draft| Project {
            content: draft.content().clone(),
            ..Project::default()
        };
        let file = folder.path().join("p/x.tacostudio");
        save_project(&file, &project(&draft), &ctx).expect("saves");
        let auto = folder.path().join("auto");
        let mut journal = Journal::begin(
            &auto,
            Some(ProjectFile {
                path: file.clone(),
                mark: None,
            }),
            &JournalStart::File(&file),
            &ctx,
        )
        .expect("begins");
        // The file is replaced later by another draft.
        save_project(&file, &Project::default(), &ctx).expect("saves");
        for text in ["one", "two", "three"] {
            let JournalEntry::Do(edit) = title(text) else {
                panic!("is an edit")
            };
            draft.apply(edit.clone()).expect("applies");
            journal.add(&JournalEntry::Do(edit)).expect("writes");
            if text == "two" {
                journal.compact(&project(&draft), &ctx).expect("compacts");
            }
        }
        assert_eq!(restored(journal.path()), ("three".into(), 1));
        let path = journal.path().to_owned();
        drop(journal);
        let found = recoverable(&auto);
        assert_eq!(
            found
                .iter()
                .map(|draft| (&draft.journal, draft.steps))
                .collect::<Vec<_>>(),
            [(&path, 3)]
        );
        let files = std::fs::read_dir(&auto).expect("reads").count();
        assert_eq!(files, 3, "journal, base and lock");
    }

    /// The head is untrusted: an extreme value must not break the list of journals.
    #[test]
    fn a_head_with_the_greatest_number_of_steps_is_listed() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let mut journal = Journal::begin(
            folder.path(),
            None,
            &JournalStart::Empty,
            &JobContext::default(),
        )
        .expect("begins");
        assert!(journal.add(&title("x")).expect("writes"));
        let path = journal.path().to_owned();
        drop(journal);
        // As an earlier version wrote it: the head without a checksum.
        let text = std::fs::read_to_string(&path).expect("reads").replacen(
            '}',
            &format!(r#","steps":{}}}"#, usize::MAX),
            1,
        );
        std::fs::write(&path, &text["01234567 ".len()..]).expect("writes");
        assert_eq!(
            recoverable(folder.path())
                .iter()
                .map(|found| found.steps)
                .collect::<Vec<_>>(),
            [usize::MAX]
        );
    }

    #[test]
    fn what_can_be_restored_is_told_by_its_id_and_the_steps_that_are_left() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let id = |text: &str| {
            JournalEntry::Do(Edit::SetCollection {
                key: "id".into(),
                value: Some(text.into()),
            })
        };
        let batch = JournalEntry::Do(Edit::Batch {
            label: "Two".into(),
            edits: vec![Edit::SetCollection {
                key: "id".into(),
                value: Some("in-a-batch".into()),
            }],
        });
        for (entries, expected) in [
            (vec![title("x")], ("", 1)),
            (vec![id("one"), title("x"), id("two")], ("two", 3)),
            (
                vec![id("one"), title("x"), id("two"), JournalEntry::Undo],
                ("one", 2),
            ),
            (
                vec![
                    id("one"),
                    id("two"),
                    JournalEntry::Undo,
                    JournalEntry::Undo,
                    JournalEntry::Redo,
                ],
                ("one", 1),
            ),
            (
                vec![id("one"), JournalEntry::Undo, batch],
                ("in-a-batch", 1),
            ),
            (
                vec![
                    title("x"),
                    JournalEntry::Recipe(Vec::new()),
                    JournalEntry::Undo,
                ],
                ("", 0),
            ),
        ] {
            let folder = folder
                .path()
                .join(format!("{}-{}", expected.0, entries.len()));
            let mut journal =
                Journal::begin(&folder, None, &JournalStart::Empty, &JobContext::default())
                    .expect("begins");
            for entry in &entries {
                assert!(journal.add(entry).expect("writes"));
            }
            drop(journal);
            let found = recoverable(&folder);
            assert_eq!(
                found
                    .iter()
                    .map(|draft| (draft.id.as_str(), draft.steps))
                    .collect::<Vec<_>>(),
                [expected]
            );
        }
    }

    /// Titles that the journals of these tests go through.
    const TITLES: [&str; 5] = ["", "one", "two", "three", "four"];

    /// A journal of four edits, with a base if asked; the folder is its own.
    fn titled(with_base: bool) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let project = Project::default();
        let start = if with_base {
            JournalStart::Draft(&project)
        } else {
            JournalStart::Empty
        };
        let mut journal =
            Journal::begin(folder.path(), None, &start, &JobContext::default()).expect("begins");
        TITLES[1..]
            .iter()
            .for_each(|text| assert!(journal.add(&title(text)).expect("writes")));
        let path = journal.path().to_owned();
        drop(journal);
        (folder, path)
    }

    /// Whatever bit of a journal flips, it is restored up to there, and the loss is reported.
    #[test]
    fn a_journal_with_a_damaged_byte_is_restored_up_to_there_and_says_so() {
        let (folder, path) = titled(false);
        let whole = std::fs::read(&path).expect("reads");
        let head = whole
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("has lines");
        for at in 0..whole.len() {
            for bit in [0, 2, 5, 7] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                std::fs::write(&path, &bytes).expect("writes");
                let restored = restore(&path, &JobContext::default())
                    .unwrap_or_else(|error| panic!("{at}.{bit}: {}", error.report()));
                let text = restored.draft.dataset().collection.text("title").to_owned();
                assert!(TITLES.contains(&text.as_str()), "{at}.{bit}: {text}");
                if restored.trouble.is_none() {
                    // A digit of a checksum in upper case is the same number, and without its
                    // newline the last line is incomplete.
                    let is_same = bytes[at].eq_ignore_ascii_case(&whole[at]) && text == "four";
                    assert!(
                        is_same || at == whole.len() - 1,
                        "{at}.{bit} is not reported"
                    );
                }
                if at < head {
                    assert_eq!(text, "four", "{at}.{bit}: the changes after a damaged head");
                }
                let listed = recoverable(folder.path());
                assert_eq!(listed.len(), 1, "{at}.{bit}");
                assert_eq!(
                    listed[0].damage.is_some(),
                    restored.trouble.is_some(),
                    "{at}.{bit}"
                );
            }
        }
    }

    #[test]
    fn a_damaged_head_is_replaced_by_the_newest_base_and_a_newer_version_is_refused() {
        let (folder, path) = titled(true);
        let whole = std::fs::read(&path).expect("reads");
        let head = whole
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("has lines");
        for damaged in [
            b"x".to_vec(),
            Vec::new(),
            vec![0xff; 3 << 20],
            b"{\"tacostudio_journal\":99999999999999999999".to_vec(),
        ] {
            let long = damaged.len() > 1 << 20;
            std::fs::write(&path, [&damaged[..], &whole[head..]].concat()).expect("writes");
            let restored = restore(&path, &JobContext::default()).expect("is restored");
            assert!(
                restored
                    .trouble
                    .is_some_and(|trouble| trouble.contains("first line"))
            );
            // A line without an end is not searched for the next one.
            let expected = if long { "" } else { "four" };
            assert_eq!(restored.draft.dataset().collection.text("title"), expected);
            let found = recoverable(folder.path());
            assert!(found.len() == 1 && found[0].damage.is_some(), "{found:?}");
            assert_eq!(
                std::fs::read_dir(folder.path()).expect("lists").count(),
                3,
                "journal, base and lock stay"
            );
        }
        let newer = r#"{"tacostudio_journal":2,"project":null,"base":null,"folder":"/"}"#;
        std::fs::write(&path, [newer.as_bytes(), &whole[head..]].concat()).expect("writes");
        let error = restore(&path, &JobContext::default())
            .err()
            .expect("is refused");
        assert_eq!(error.kind(), Kind::Unsupported);
        let found = recoverable(folder.path());
        assert!(
            found.len() == 1
                && found[0]
                    .damage
                    .as_ref()
                    .is_some_and(|damage| damage.contains("newer version")),
            "{found:?}"
        );
        let other = folder.path().join("notes.txt");
        std::fs::write(&other, "no journal").expect("writes");
        assert_eq!(
            restore(&other, &JobContext::default())
                .err()
                .expect("is refused")
                .kind(),
            Kind::Format
        );
    }

    #[test]
    fn a_base_that_is_cut_anywhere_is_an_error_and_the_journal_stays() {
        let (folder, path) = titled(true);
        let base = folder.path().join(base_name(&path, 0));
        let whole = std::fs::read(&base).expect("reads");
        for cut in (0..whole.len() - 2).step_by(7) {
            std::fs::write(&base, &whole[..cut]).expect("writes");
            let error = restore(&path, &JobContext::default())
                .err()
                .unwrap_or_else(|| panic!("{cut} of {} is whole", whole.len()));
            assert!(
                matches!(error.kind(), Kind::Format | Kind::Io),
                "{}",
                error.report()
            );
        }
        assert!(path.exists());
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_not_held_twice() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let journal = folder.path().join("draft-1.journal");
        std::fs::write(&journal, "").expect("writes");
        let held = lock_existing(&journal).expect("is free").expect("exists");
        assert!(lock_existing(&journal).is_err(), "it is held");
        drop(held);
        assert!(lock_existing(&journal).expect("is free again").is_some());
        assert!(
            lock_existing(&folder.path().join("draft-2.journal"))
                .expect("is no error")
                .is_none()
        );
        assert!(!folder.path().join("draft-2.lock").exists());
    }
}
