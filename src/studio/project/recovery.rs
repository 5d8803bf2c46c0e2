//! Drafts of processes that were stopped: listed at the next start. Files that no journal needs any more are removed.

use std::path::Path;

use super::journal::{ENDING, Followed, Recoverable, entries, lock, lock_of, read_head, remove};

/// Removes bases that no journal names, and locks without a journal.
fn sweep(folder: &Path) {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    for name in names.map(|name| name.to_string_lossy().into_owned()) {
        // `draft-1.lock`, `draft-1-2.tacostudio`, `.draft-1.journal.aB3dE6.partial`: all of them are of draft 1.
        let Some(rest) = name.trim_start_matches('.').strip_prefix("draft-") else { continue };
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let journal = folder.join(format!("draft-{number}.{ENDING}"));
        if name == format!("draft-{number}.{ENDING}") {
            continue;
        }
        // Whoever writes the journal has it locked, and may be about to name the base.
        let Ok(Some(_lock)) = lock(&journal) else { continue };
        let used = match (journal.exists(), read_head(&journal)) {
            (false, _) => false,
            // What can't be read now may be read at another time.
            (true, Err(_)) => true,
            (true, Ok((head, _))) => name.ends_with(".lock") || head.base.as_ref() == Some(&name),
        };
        if !used {
            remove(folder.join(&name));
        }
        if !journal.exists() {
            remove(lock_of(&journal));
        }
    }
}

/// Drafts in the folder of autosave that no process has open, newest first.
pub fn recoverable(folder: &Path) -> Vec<Recoverable> {
    let Ok(found) = std::fs::read_dir(folder) else { return Vec::new() };
    sweep(folder);
    let mut drafts = Vec::new();
    for journal in found.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == ENDING)) {
        let Ok(Some(_lock)) = lock(&journal) else { continue };
        let Ok((head, reader)) = read_head(&journal) else { continue };
        let changed = std::fs::metadata(&journal).and_then(|meta| meta.modified()).ok();
        let mut followed = Followed::of(&head);
        entries(reader).for_each(|entry| followed.follow(&entry));
        // Nothing was changed: nothing is lost.
        if followed.entries > 0 || head.steps > 0 || head.project.is_none() {
            drafts.push(Recoverable { journal, project: head.project, changed, id: followed.id, steps: followed.steps });
        }
    }
    drafts.sort_by(|a, b| b.changed.cmp(&a.changed).then(b.journal.cmp(&a.journal)));
    drafts
}
