//! What processes that were stopped left beside the journals of drafts: found at the next start, and removed.

use std::path::Path;

use super::journal::{ENDING, base_of, lock, lock_of};

/// Removes what a process that was stopped left beside the journals: bases that none of them names, and locks of none.
pub(super) fn sweep(folder: &Path) {
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
        let used = match (journal.exists(), base_of(&journal)) {
            (false, _) => false,
            // What can't be read now may be read at another time.
            (true, Err(_)) => true,
            (true, Ok(base)) => name.ends_with(".lock") || base.as_ref() == Some(&name),
        };
        if !used {
            remove(folder.join(&name));
        }
        if !journal.exists() {
            remove(lock_of(&journal));
        }
    }
}

/// Removes a file. A single failure may pass, as that of a scanner that holds it open.
pub(super) fn remove(path: impl AsRef<Path>) {
    let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_file(&path));
}
