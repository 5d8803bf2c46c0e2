//! Recovery at the next start: lists unsaved drafts of stopped processes, and removes files that no
//! journal needs.

use std::path::Path;

use super::journal::{Followed, Recoverable};
use super::journal_files::{JOURNAL_EXTENSION, lock, lock_path, remove_file};
use super::journal_reader::{OpenedJournal, open_journal};
use crate::error::Kind;

/// Removes bases that no journal names, and locks without a journal.
fn sweep(folder: &Path) {
    let names = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    for name in names.map(|name| name.to_string_lossy().into_owned()) {
        // `draft-1.lock`, `draft-1-2.tacostudio`, `.draft-1.journal.aB3dE6.partial` all belong to
        // draft 1.
        let Some(rest) = name.trim_start_matches('.').strip_prefix("draft-") else {
            continue;
        };
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let journal = folder.join(format!("draft-{number}.{JOURNAL_EXTENSION}"));
        if name == format!("draft-{number}.{JOURNAL_EXTENSION}") {
            continue;
        }
        // A running writer holds the lock and may be about to refer to the base.
        let Ok(Some(_lock)) = lock(&journal) else {
            continue;
        };
        let used = match (journal.exists(), open_journal(&journal)) {
            (false, _) => false,
            // An unreadable journal may be readable later, and the head of a damaged one is not
            // known.
            (
                true,
                Err(_)
                | Ok(OpenedJournal {
                    damage: Some(_), ..
                }),
            ) => true,
            (true, Ok(OpenedJournal { head, .. })) => {
                name.ends_with(".lock") || head.base.as_ref() == Some(&name)
            }
        };
        if !used {
            remove_file(folder.join(&name));
        }
        if !journal.exists() {
            remove_file(lock_path(&journal));
        }
    }
}

/// Unsaved drafts in the autosave folder that no process has open, newest first.
pub fn recoverable(folder: &Path) -> Vec<Recoverable> {
    let Ok(found) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    sweep(folder);
    let mut drafts = Vec::new();
    for journal in found
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == JOURNAL_EXTENSION))
    {
        let Ok(Some(_lock)) = lock(&journal) else {
            continue;
        };
        let changed = std::fs::metadata(&journal)
            .and_then(|meta| meta.modified())
            .ok();
        let OpenedJournal {
            head,
            mut entries,
            damage,
        } = match open_journal(&journal) {
            Ok(opened) => opened,
            Err(error) => {
                // What a person can act on is listed; a file that can't be read now may be readable
                // later.
                if error.kind() == Kind::Unsupported {
                    let damage = Some(error.to_string());
                    drafts.push(Recoverable {
                        journal,
                        project: None,
                        changed,
                        id: String::new(),
                        steps: 0,
                        damage,
                    });
                }
                continue;
            }
        };
        let mut followed = Followed::from_head(&head);
        entries.by_ref().for_each(|entry| followed.follow(&entry));
        let damage = damage
            .map(|error| error.to_string())
            .or_else(|| entries.damage().map(str::to_owned));
        // Without changes nothing would be lost.
        if followed.entries > 0 || head.steps > 0 || head.project.is_none() {
            let (id, steps) = (followed.id, followed.steps);
            drafts.push(Recoverable {
                journal,
                project: head.project,
                changed,
                id,
                steps,
                damage,
            });
        }
    }
    drafts.sort_by(|a, b| b.changed.cmp(&a.changed).then(b.journal.cmp(&a.journal)));
    drafts
}
