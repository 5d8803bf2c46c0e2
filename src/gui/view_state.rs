//! State remembered between starts: layout, theme, recent datasets, window size, renderer. One JSON
//! file in the configuration folder; an unreadable file resets the state and is not an error.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::arrangements::Arrangements;
use super::dock::Dock;
use super::renderer::Renderer;
use super::settings::Settings;
use super::theme::Theme;
use crate::folders::settings_file;

/// Most recent datasets kept.
const RECENT: usize = 12;
/// Most recent and most named queries kept.
const HISTORY: usize = 50;

/// One dataset or draft that was open before.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Recent {
    /// Path or address.
    pub path: PathBuf,
    /// Its id, or the file name without one.
    pub title: String,
    /// `Draft`, `ZIP`, `FOLDER`.
    pub badge: String,
    /// Samples of level 0.
    pub roots: u64,
    /// Bytes, where known.
    pub size_bytes: Option<u64>,
    /// Last opened, in seconds since 1970.
    pub opened_s: u64,
}

/// A named query.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SavedQuery {
    pub name: String,
    /// The statement.
    pub sql: String,
}

/// Recent and named queries.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QueryBook {
    /// Newest first.
    pub history: Vec<String>,
    /// Keyed by name.
    pub saved: Vec<SavedQuery>,
}

impl QueryBook {
    /// Adds a statement to the recent queries.
    pub fn ran(&mut self, sql: &str) {
        self.history.retain(|other| other != sql);
        self.history.insert(0, sql.to_owned());
        self.history.truncate(HISTORY);
    }

    /// Saves a statement under a name, replacing one of that name.
    pub fn save(&mut self, name: &str, sql: &str) {
        self.saved.retain(|other| other.name != name);
        self.saved.push(SavedQuery {
            name: name.to_owned(),
            sql: sql.to_owned(),
        });
        self.saved.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

/// The remembered state.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ViewState {
    pub theme: Theme,
    /// Settings besides the theme.
    pub settings: Settings,
    /// The panels as they are shown.
    pub dock: Dock,
    /// The arrangements of the panels.
    pub arrangements: Arrangements,
    /// Newest first.
    pub recent: Vec<Recent>,
    /// The renderer that worked last.
    pub renderer: Option<Renderer>,
    /// The renderer of a start without a first frame yet; still set at the next start if it
    /// crashed.
    pub starting: Option<Renderer>,
    /// Width and height of the window, in points.
    pub window: Option<[f32; 2]>,
    /// Folder of the dataset written last.
    pub target: Option<PathBuf>,
    /// Queries of every dataset.
    pub queries: QueryBook,
}

impl ViewState {
    /// Reads the remembered state.
    pub fn load() -> Self {
        let Some(path) = settings_file() else {
            return Self::default();
        };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(
                    "{} is not what was written there, starting afresh: {error}",
                    path.display()
                );
                Self::default()
            }),
            Err(_) => Self::default(),
        }
    }

    /// Writes the state at once, before there is a window.
    pub fn save(&self) -> std::io::Result<()> {
        let Some(path) = settings_file() else {
            return Ok(());
        };
        write_state(&path, &self.to_json()?)
    }

    /// The contents of the file.
    pub fn to_json(&self) -> std::io::Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }

    /// Adds a dataset to the top of the recent list.
    pub fn remember(&mut self, recent: Recent) {
        self.recent.retain(|other| other.path != recent.path);
        self.recent.insert(0, recent);
        self.recent.truncate(RECENT);
    }
}

/// Writes a state atomically: a temporary file, then a rename.
pub fn write_state(path: &Path, state: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    crate::folders::make_private(folder)?;
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(state)?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recent(name: &str, opened_s: u64) -> Recent {
        Recent {
            path: name.into(),
            title: name.into(),
            badge: "ZIP".into(),
            roots: 1,
            size_bytes: None,
            opened_s,
        }
    }

    #[test]
    fn the_recent_list_has_no_doubles_and_an_end() {
        let mut state = ViewState::default();
        for number in 0..30 {
            state.remember(recent(&format!("/{number}"), number));
        }
        state.remember(recent("/25", 99));
        assert_eq!(state.recent.len(), RECENT);
        assert_eq!(state.recent[0].opened_s, 99);
        assert_eq!(
            state
                .recent
                .iter()
                .filter(|recent| recent.path == Path::new("/25"))
                .count(),
            1
        );
    }

    #[test]
    fn queries_are_kept_once() {
        let mut book = QueryBook::default();
        for sql in ["a", "b", "a"] {
            book.ran(sql);
            book.save("one", sql);
        }
        assert_eq!(book.history, ["a", "b"]);
        assert_eq!(
            book.saved,
            [SavedQuery {
                name: "one".into(),
                sql: "a".into()
            }]
        );
    }

    #[test]
    fn what_an_older_version_wrote_still_reads() {
        let state: ViewState = serde_json::from_str(r#"{"theme":"light","gone":1}"#)
            .expect("unknown keys are left out");
        assert_eq!(state.theme, Theme::Light);
        let text = serde_json::to_string(&ViewState::default()).expect("writes");
        let back: ViewState = serde_json::from_str(&text).expect("reads back");
        assert_eq!(
            back.dock.panes().len(),
            ViewState::default().dock.panes().len()
        );
    }
}
