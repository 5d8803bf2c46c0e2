//! Reading a journal, and the draft to which it leads.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value as Json;

use super::file::{Project, open_project_of};
use super::file_mark::ProjectFile;
use super::journal::{JournalEntry, JournalHead};
use super::journal_files::is_numbered;
use super::source_paths::ProjectFolder;
use crate::draft::Draft;
use crate::error::{Error, IoContext, Kind, Result};
use crate::extensions::ExtensionCall;
use crate::jobs::JobContext;
use crate::model::{Collection, Dataset};

/// Maximum bytes of a line: an edit of a column of millions of rows.
const LINE_MAX: u64 = 256 << 20;
/// Maximum bytes of the first line.
const FIRST_LINE_MAX: u64 = 1 << 20;
/// History limit while replaying a journal: none.
const BUDGET: u64 = u64::MAX;

/// The text of a line whose checksum agrees.
fn text_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let (sum, text) = line.split_at_checked(8)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    let text = text.strip_prefix(b" ")?;
    (crc32fast::hash(text) == sum).then_some(text)
}

/// A journal opened for reading.
pub(super) struct OpenedJournal {
    pub head: JournalHead,
    pub entries: JournalEntries,
    /// Why the head is not the journal's own but made from the files beside it.
    pub damage: Option<Error>,
}

/// Opens a journal. One whose head is damaged begins with the newest base beside it.
///
/// # Errors
/// [`crate::error::Kind::Io`]; [`crate::error::Kind::Unsupported`] for one of a newer version;
/// [`crate::error::Kind::Format`] for a file that is no journal.
pub(super) fn open_journal(path: &Path) -> Result<OpenedJournal> {
    let mut reader = BufReader::new(crate::files::open(path).io_at("open the journal", path)?);
    let mut line = Vec::new();
    (&mut reader)
        .take(FIRST_LINE_MAX)
        .read_until(b'\n', &mut line)
        .io_at("read the journal", path)?;
    let entries = JournalEntries {
        reader,
        line: 1,
        damage: None,
        ended: false,
    };
    match read_head(&line, path) {
        Ok(head) => Ok(OpenedJournal {
            head,
            entries,
            damage: None,
        }),
        Err(error) if error.kind() == Kind::Format && is_numbered(path) => Ok(OpenedJournal {
            head: head_by_neighbours(path),
            entries,
            damage: Some(error),
        }),
        Err(error) => Err(error),
    }
}

fn read_head(line: &[u8], path: &Path) -> Result<JournalHead> {
    // Journals of earlier versions have no checksum there.
    let text = if line.starts_with(b"{") {
        line
    } else {
        text_of(line).ok_or_else(|| damaged_head_error(path))?
    };
    let head: JournalHead =
        serde_json::from_slice(text).map_err(|error| damaged_head_error(path).because(error))?;
    if head.tacostudio_journal > 1 {
        return Err(Error::unsupported(
            "this journal was written by a newer version of the studio",
        )
        .at_path(path));
    }
    Ok(head)
}

fn damaged_head_error(path: &Path) -> Error {
    Error::format("the first line of the journal is damaged, or this is no journal of the studio")
        .at_path(path)
}

/// A head with the newest base beside the journal, of the draft that it belongs to.
fn head_by_neighbours(path: &Path) -> JournalHead {
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let stem = format!(
        "{}-",
        path.file_stem().unwrap_or_default().to_string_lossy()
    );
    let names = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let bases = names.filter_map(|name| {
        let name = name.into_string().ok()?;
        let generation: u32 = name
            .strip_prefix(&stem)?
            .strip_suffix(".tacostudio")?
            .parse()
            .ok()?;
        Some((generation, name))
    });
    let base = bases.max().map(|(_, name)| name);
    JournalHead {
        tacostudio_journal: 1,
        project: None,
        mark: None,
        base,
        folder,
        id: String::new(),
        steps: 0,
    }
}

/// The entries of a journal, up to the first damaged or incomplete line.
pub(super) struct JournalEntries {
    reader: BufReader<File>,
    /// Lines read, with the head.
    line: u64,
    damage: Option<String>,
    ended: bool,
}

impl JournalEntries {
    /// What is damaged, after all entries were read. An incomplete last line is none: a crash
    /// leaves one.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Why the entries end at this line; the lines after it are counted.
    fn end(&mut self, is_whole: bool) {
        self.ended = true;
        let after = lines_after(&mut self.reader);
        if is_whole || after > 0 {
            let line = self.line;
            self.damage = Some(match after {
                0 => format!("line {line} of the journal is damaged, so the last change is lost"),
                after => format!(
                    "line {line} of the journal is damaged, so the last {} changes are lost",
                    after + 1
                ),
            });
        }
    }
}

impl Iterator for JournalEntries {
    type Item = JournalEntry;

    fn next(&mut self) -> Option<JournalEntry> {
        if self.ended {
            return None;
        }
        let mut line = Vec::new();
        if let Err(error) = (&mut self.reader)
            .take(LINE_MAX)
            .read_until(b'\n', &mut line)
        {
            self.ended = true;
            self.damage = Some(format!("the journal can't be read further: {error}"));
            return None;
        }
        if line.is_empty() {
            self.ended = true;
            return None;
        }
        self.line += 1;
        // The last line may lack its newline; a truncated line has a wrong checksum.
        let entry = text_of(&line).and_then(|text| serde_json::from_slice(text).ok());
        if entry.is_none() {
            self.end(line.ends_with(b"\n"));
        }
        entry
    }
}

/// Number of lines that are left, without keeping them.
fn lines_after(reader: &mut impl BufRead) -> u64 {
    let (mut lines, mut is_open) = (0, false);
    while let Ok(bytes) = reader.fill_buf() {
        if bytes.is_empty() {
            break;
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        is_open = !bytes.ends_with(b"\n");
        let length = bytes.len();
        reader.consume(length);
    }
    lines + u64::from(is_open)
}

/// A draft restored from its journal.
pub(super) struct Restored {
    pub draft: Draft,
    pub recipe: Vec<ExtensionCall>,
    pub view: Json,
    pub project: Option<ProjectFile>,
    /// Why the remaining entries could not be applied.
    pub trouble: Option<String>,
}

/// Replays a journal. The undo history starts at the journal's base.
///
/// # Errors
/// [`crate::error::Kind::Io`] or [`crate::error::Kind::Format`] for a base that can't be read or a
/// file that is no journal; cancellation. A damaged line or an entry that fails ends the replay and
/// is reported in `trouble`.
pub(super) fn restore(path: &Path, ctx: &JobContext) -> Result<Restored> {
    let OpenedJournal {
        head,
        mut entries,
        damage,
    } = open_journal(path)?;
    let project = match &head.base {
        None => {
            let dataset = Dataset {
                collection: Collection::template(),
                ..Dataset::default()
            };
            let content = crate::draft::Content {
                dataset,
                ..crate::draft::Content::default()
            };
            Project {
                content,
                ..Project::default()
            }
        }
        Some(base) if base.contains(['/', '\\']) => {
            return Err(Error::format("the journal names a base elsewhere").at_path(path));
        }
        Some(base) => {
            let file = path.parent().unwrap_or(Path::new(".")).join(base);
            open_project_of(
                &file,
                &ProjectFolder::from_project_file(&head.folder.join("project")),
                ctx,
            )?
        }
    };
    let mut draft = Draft::with_content(project.content);
    draft.set_budget(BUDGET);
    let (mut recipe, mut trouble) = (project.recipe, None);
    for entry in entries.by_ref() {
        ctx.check()?;
        let done = match entry {
            JournalEntry::Do(edit) => draft.apply(edit),
            JournalEntry::Undo => draft.undo(),
            JournalEntry::Redo => draft.redo(),
            JournalEntry::Recipe(calls) => {
                recipe = calls;
                continue;
            }
        };
        if let Err(error) = done {
            trouble = Some(error.to_string());
            break;
        }
    }
    let damage = damage.map(|error| error.to_string());
    let trouble = [damage, trouble, entries.damage().map(str::to_owned)]
        .into_iter()
        .flatten()
        .reduce(|all, one| format!("{all}; {one}"));
    draft.set_budget(Draft::BUDGET_BYTES);
    draft.mark_unsaved();
    let file = head.project.map(|path| ProjectFile {
        path,
        mark: head.mark,
    });
    Ok(Restored {
        draft,
        recipe,
        view: project.view,
        project: file,
        trouble,
    })
}
