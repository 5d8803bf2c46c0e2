//! Compares the files of an opened local dataset with the disk, so that the window reports when
//! another program replaces, truncates or deletes them. Reads of samples compare the version of the
//! file themselves, and fail; tables in memory stay those of the opened version.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::OpenDataset;
use super::watch::mark_of;
use crate::jobs::Jobs;
use crate::model::is_remote;

/// Interval between two comparisons of the files with those on the disk.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of files of a folder that are compared: its collection and tables are fewer.
const FILES_MAX: usize = 64;

/// How a file of the dataset differs from the opened version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChange {
    /// Another size or modification time.
    Changed(PathBuf),
    /// Deleted, moved, or on a disk that is not attached.
    Gone(PathBuf),
}

/// A file or folder of this machine that was opened.
#[derive(Debug, PartialEq)]
struct WatchedPlace {
    path: PathBuf,
    /// Size of the file when it was opened, if it is known.
    size: Option<u64>,
}

/// Compares the files of one dataset until it is dropped.
pub struct DiskWatch {
    change: Arc<Mutex<Option<DiskChange>>>,
    /// Ends the thread on drop.
    _running: Sender<()>,
}

impl DiskWatch {
    /// Starts looking at the files of `open`, and wakes the window when they change; `None` where
    /// all are on servers, whose answers are compared with the opened version, or when no thread
    /// can be started.
    pub fn start_for_dataset(open: &OpenDataset, jobs: &Jobs) -> Option<Self> {
        let info = open.reader.info();
        let places = list_watched_places(&info.path, info.size_bytes, &open.options.with);
        if places.is_empty() {
            return None;
        }
        let change: Arc<Mutex<Option<DiskChange>>> = Arc::default();
        let (running, ended) = channel();
        let (shared_change, jobs) = (change.clone(), jobs.clone());
        std::thread::Builder::new()
            .name("dataset on disk".into())
            .spawn(move || watch_places(&places, &shared_change, &ended, &jobs))
            .ok()?;
        Some(Self {
            change,
            _running: running,
        })
    }

    /// How the files differ from the opened version now.
    pub fn change(&self) -> Option<DiskChange> {
        self.change
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The places of a dataset that are on this machine: its container, which had `size` bytes when it
/// was opened, and the datasets `with` that were joined with it.
fn list_watched_places(container: &Path, size: Option<u64>, with: &[PathBuf]) -> Vec<WatchedPlace> {
    let container = WatchedPlace {
        path: container.to_owned(),
        size,
    };
    let others = with.iter().map(|path| WatchedPlace {
        path: path.clone(),
        size: None,
    });
    std::iter::once(container)
        .chain(others)
        .filter(|place| !is_remote(&place.path))
        .collect()
}

/// Compares the files of the places with their opened version until the watch ends.
fn watch_places(
    places: &[WatchedPlace],
    change: &Mutex<Option<DiskChange>>,
    ended: &Receiver<()>,
    jobs: &Jobs,
) {
    let files: Vec<OpenedFile> = places.iter().flat_map(list_opened_files).collect();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(POLL_INTERVAL) {
        let found = files.iter().find_map(OpenedFile::change);
        let mut known = change.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != found {
            *known = found;
            drop(known);
            jobs.wake();
        }
    }
}

/// A file in its opened version.
struct OpenedFile {
    path: PathBuf,
    /// Size and time of the opened version; `None` when they are not known.
    mark: Option<(u64, Option<SystemTime>)>,
}

impl OpenedFile {
    fn new(path: PathBuf) -> Self {
        Self {
            mark: mark_of(&path),
            path,
        }
    }

    fn change(&self) -> Option<DiskChange> {
        match mark_of(&self.path) {
            None => Some(DiskChange::Gone(self.path.clone())),
            now if now == self.mark => None,
            Some(_) => Some(DiskChange::Changed(self.path.clone())),
        }
    }
}

/// The files of a place as they are now; a file that has changed since it was opened has no mark.
fn list_opened_files(place: &WatchedPlace) -> Vec<OpenedFile> {
    let mut files: Vec<OpenedFile> = files_of(&place.path)
        .into_iter()
        .map(OpenedFile::new)
        .collect();
    if let (Some(first), Some(size)) = (files.first_mut(), place.size) {
        first.mark = first.mark.filter(|(length, _)| *length == size);
    }
    files
}

/// The container file, or the collection and tables of a folder.
fn files_of(place: &Path) -> Vec<PathBuf> {
    if !place.is_dir() {
        return vec![place.to_owned()];
    }
    let mut files = list_watched_files(place);
    files.extend(list_watched_files(&place.join("METADATA")));
    files
}

fn list_watched_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.is_file())
        .take(FILES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_remote_container_is_not_expected_of_the_datasets_joined_with_it() {
        let remote = Path::new("s3://bucket/a.tacozip");
        let with = [PathBuf::from("/data/b.tacozip")];
        let places = list_watched_places(remote, Some(9), &with);
        let [path, container] = ["/data/b.tacozip", "/data/a.tacozip"].map(PathBuf::from);
        let other = WatchedPlace { path, size: None };
        assert_eq!(places, [other]);
        let places = list_watched_places(&container, Some(9), &with);
        assert_eq!(places.len(), 2);
        assert_eq!((places[0].size, places[1].size), (Some(9), None));
    }

    #[test]
    fn a_file_that_is_written_replaced_truncated_or_deleted_differs_from_the_opened_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = folder.path().join("set");
        std::fs::create_dir_all(set.join("METADATA")).expect("makes");
        for name in ["COLLECTION.json", "METADATA/level0.parquet"] {
            std::fs::write(set.join(name), "whole").expect("writes");
        }
        let files = files_of(&set);
        assert_eq!(
            files,
            [
                set.join("COLLECTION.json"),
                set.join("METADATA/level0.parquet")
            ]
        );
        for file in files {
            let opened = OpenedFile::new(file.clone());
            assert_eq!(opened.change(), None);
            let later = SystemTime::now() + Duration::from_secs(7);
            let set_time = |time| {
                std::fs::File::options()
                    .write(true)
                    .open(&file)
                    .and_then(|file| file.set_modified(time))
            };
            let before = file
                .metadata()
                .and_then(|about| about.modified())
                .expect("has a time");
            set_time(later).expect("sets");
            assert_eq!(
                opened.change(),
                Some(DiskChange::Changed(file.clone())),
                "written again"
            );
            std::fs::write(&file, "who").expect("cuts");
            set_time(before).expect("sets");
            assert_eq!(
                opened.change(),
                Some(DiskChange::Changed(file.clone())),
                "cut"
            );
            std::fs::remove_file(&file).expect("removes");
            assert_eq!(opened.change(), Some(DiskChange::Gone(file.clone())));
        }
    }
}
