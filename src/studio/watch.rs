//! Watched folders: new files are added to the tray once they are complete. The system reports
//! changes; where it can't, as on some network file systems, the folder is listed every 5 s.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use notify::{Config, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::tray::collect;
use super::{Event, Finish, Outcome, Studio};
use crate::draft::{Content, Edit, Unplaced};
use crate::error::{Error, IoContext, Result};
use crate::folder_archive::store_around;
use crate::jobs::{JobContext, Jobs};
use crate::model::{AssetPath, Payload, Tortilla};
use crate::ops::is_data;

/// A file counts as complete after this time without a change of size or modification time.
const QUIET: Duration = Duration::from_millis(1200);
/// Interval between checks of incomplete files.
const LOOK: Duration = Duration::from_millis(300);
/// Interval between listings of a folder whose changes the system does not report.
const POLL: Duration = Duration::from_secs(5);

/// One watched folder.
pub(super) struct Watched {
    /// Path as given by the user.
    given: PathBuf,
    /// Canonical path.
    folder: PathBuf,
    arrived: Arc<Mutex<Vec<PathBuf>>>,
    /// Stops watching, and thereby the thread, on drop.
    _watcher: Box<dyn Watcher + Send>,
}

impl Studio {
    pub(super) fn watch(&mut self, folder: &Path) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        let content = self.need_draft()?.content().clone();
        let given = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let (jobs, document) = (self.jobs.clone(), self.document_id());
        // A job: listing a folder recursively may be slow.
        Ok(self.start(
            tr!("Look through {path}", path = folder.display()),
            move |ctx| {
                ctx.stage(tr!("Looking at the files"), None);
                let folder = crate::files::canonical(&given).io_at("find the folder", &given)?;
                if !folder.is_dir() {
                    return Err(Error::usage("only folders are watched").at_path(&folder));
                }
                // Watching starts before the listing, so that no file is missed.
                let watched = begin_watch(given, &folder, jobs)?;
                let files = new_files(&content, &[folder], ctx)?;
                Ok(Box::new(move |studio: &mut Studio| {
                    if studio.document_id() != document {
                        return Ok(Event::None);
                    }
                    if studio
                        .watched
                        .iter()
                        .any(|known| known.folder == watched.folder)
                    {
                        return Err(
                            Error::usage("this folder is watched already").at_path(&watched.folder)
                        );
                    }
                    studio.watched.push(watched);
                    add_arrived_files(studio, files)
                }) as Finish)
            },
        ))
    }

    pub(super) fn unwatch(&mut self, folder: &Path) -> Result<Outcome> {
        let named = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let before = self.watched.len();
        self.watched
            .retain(|watched| watched.folder != named && watched.given != named);
        if self.watched.len() == before {
            return Err(Error::usage("this folder is not watched").at_path(folder));
        }
        Ok(Outcome::Done(Event::None))
    }

    /// The watched folders.
    pub fn watched_folders(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.watched.iter().map(|watched| watched.folder.as_path())
    }

    /// Starts a job that adds complete files to the tray.
    pub(super) fn poll_watched(&mut self) {
        let mut arrived: Vec<PathBuf> = Vec::new();
        for watched in &self.watched {
            arrived.append(
                &mut watched
                    .arrived
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
        let Ok(draft) = self.need_draft() else { return };
        if arrived.is_empty() {
            return;
        }
        arrived.sort();
        let (content, document) = (draft.content().clone(), self.document_id());
        self.start(tr!("Take files that arrived"), move |ctx| {
            ctx.stage(tr!("Looking at the files"), None);
            let files = new_files(&content, &arrived, ctx)?;
            Ok(Box::new(move |studio: &mut Studio| {
                if studio.document_id() == document {
                    add_arrived_files(studio, files)
                } else {
                    Ok(Event::None)
                }
            }) as Finish)
        });
    }
}

/// Files at or below these paths that are not samples of the draft.
fn new_files(content: &Content, paths: &[PathBuf], ctx: &JobContext) -> Result<Vec<Unplaced>> {
    let mut files = Vec::new();
    // Many files of a store arrive, and are one.
    let units: BTreeSet<&Path> = paths
        .iter()
        .filter(|path| path.exists())
        .map(|path| store_around(path).unwrap_or(path))
        .collect();
    for path in units {
        collect(path, 0, &mut files, ctx)?;
    }
    let mut placed = HashSet::new();
    sources(&content.dataset.root, &mut placed);
    files.retain(|file| !placed.contains(file.path.as_path()));
    Ok(files)
}

/// Adds files that are not in the tray; adding none is not an error.
fn add_arrived_files(studio: &mut Studio, files: Vec<Unplaced>) -> Result<Event> {
    // The draft and its watched folders may be gone.
    let Ok(draft) = studio.need_draft() else {
        return Ok(Event::None);
    };
    let Some(edit) = Edit::append_to_tray(&draft.tray().clone(), files) else {
        return Ok(Event::None);
    };
    let Edit::AddToTray { files } = &edit else {
        return Ok(Event::None);
    };
    let count = files.len();
    studio.edit(edit)?;
    Ok(Event::Arrived { files: count })
}

/// Collects the source files of samples.
fn sources<'a>(tortilla: &'a Tortilla, paths: &mut HashSet<&'a Path>) {
    for sample in &tortilla.samples {
        match &sample.payload {
            Payload::Folder(children) => sources(children, paths),
            Payload::Asset {
                path: AssetPath::File(path),
                ..
            } => drop(paths.insert(path)),
            Payload::Asset {
                path: AssetPath::Packed(member),
                ..
            } => drop(paths.insert(&member.archive)),
            _ => {}
        }
    }
}

fn begin_watch(given: PathBuf, folder: &Path, jobs: Jobs) -> Result<Watched> {
    let (sender, receiver) = channel();
    let mut watcher: Option<Box<dyn Watcher + Send>> = None;
    let first = sender.clone();
    let recommended = RecommendedWatcher::new(
        move |event| send_changed_paths(event, &first),
        Config::default(),
    );
    match recommended {
        Ok(mut told) => match told.watch(folder, RecursiveMode::Recursive) {
            Ok(()) => watcher = Some(Box::new(told)),
            Err(error) => tracing::warn!(
                "{} is looked at every few seconds: {error}",
                folder.display()
            ),
        },
        Err(error) => tracing::warn!("folders are looked at every few seconds: {error}"),
    }
    let failed = |error| unwatched_folder_error(folder, error);
    let watcher = match watcher {
        Some(watcher) => watcher,
        None => {
            let mut polled = PollWatcher::new(
                move |event| send_changed_paths(event, &sender),
                Config::default().with_poll_interval(POLL),
            )
            .map_err(failed)?;
            polled
                .watch(folder, RecursiveMode::Recursive)
                .map_err(failed)?;
            Box::new(polled)
        }
    };
    let arrived: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let inbox = arrived.clone();
    let spawned = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || deliver_complete_files(&receiver, &inbox, &jobs));
    spawned.map_err(|error| {
        Error::internal("could not start a thread to watch a folder").because(error)
    })?;
    Ok(Watched {
        given,
        folder: folder.to_owned(),
        arrived,
        _watcher: watcher,
    })
}

fn send_changed_paths(event: notify::Result<notify::Event>, sender: &Sender<PathBuf>) {
    let Ok(event) = event else { return };
    if !matches!(event.kind, EventKind::Access(_) | EventKind::Remove(_)) {
        // The receiver is gone once the folder is not watched.
        event
            .paths
            .into_iter()
            .for_each(|path| drop(sender.send(path)));
    }
}

fn unwatched_folder_error(folder: &Path, error: notify::Error) -> Error {
    Error::new(crate::error::Kind::Io, "the folder can't be watched")
        .because(error)
        .at_path(folder)
}

/// A file that may still be written.
struct Growing {
    mark: (u64, Option<SystemTime>),
    since: Instant,
}

/// Waits until files are complete, then delivers them together. Ends when watching stops.
fn deliver_complete_files(receiver: &Receiver<PathBuf>, inbox: &Mutex<Vec<PathBuf>>, jobs: &Jobs) {
    let mut growing: HashMap<PathBuf, Growing> = HashMap::new();
    let mut complete: Vec<PathBuf> = Vec::new();
    loop {
        let told = if growing.is_empty() {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(LOOK)
        };
        match told {
            Ok(path) => record_appeared_path(path, &mut growing),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(path) = receiver.try_recv() {
            record_appeared_path(path, &mut growing);
        }
        growing.retain(|path, file| {
            let Some(mark) = mark_of(path) else {
                return false;
            };
            if mark != file.mark {
                *file = Growing {
                    mark,
                    since: Instant::now(),
                };
            }
            let done = file.since.elapsed() >= QUIET;
            if done {
                complete.push(path.clone());
            }
            !done
        });
        // Files that arrive together become one edit; a continuous stream is split every 1000
        // files.
        if !complete.is_empty() && (growing.is_empty() || complete.len() >= 1000) {
            inbox
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut complete);
            jobs.wake();
        }
    }
}

/// Records a file, or all files of a folder that appeared.
fn record_appeared_path(path: PathBuf, growing: &mut HashMap<PathBuf, Growing>) {
    if !path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(is_data)
    {
        return;
    }
    if path.is_dir() {
        let mut files = Vec::new();
        // A folder removed during the listing is ignored.
        if collect(&path, 0, &mut files, &JobContext::default()).is_ok() {
            files
                .into_iter()
                .for_each(|file| record_growing_file(file.path, growing));
        }
    } else {
        record_growing_file(path, growing);
    }
}

fn record_growing_file(path: PathBuf, growing: &mut HashMap<PathBuf, Growing>) {
    let Some(mark) = mark_of(&path) else { return };
    growing.entry(path).or_insert(Growing {
        mark,
        since: Instant::now(),
    });
}

/// Size and modification time of a file; `None` where there is none.
pub(super) fn mark_of(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let meta = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    Some((meta.len(), meta.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::Command;
    use std::io::Write;

    fn wait(studio: &mut Studio, what: impl Fn(&Studio) -> bool) -> Vec<usize> {
        let begun = Instant::now();
        let mut arrived = Vec::new();
        while !what(studio) {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing came");
            for event in studio.poll() {
                if let Event::Arrived { files } = event {
                    arrived.push(files);
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        arrived
    }

    fn names(studio: &Studio) -> Vec<String> {
        let tray = studio
            .document()
            .and_then(|document| document.draft())
            .map(|draft| draft.tray().clone())
            .unwrap_or_default();
        let mut names: Vec<String> = tray
            .iter()
            .map(|file| {
                format!(
                    "{} {}",
                    file.path.file_name().unwrap().to_string_lossy(),
                    file.size
                )
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_come_into_the_tray_when_they_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("early.tif"), b"1").unwrap();
        std::fs::write(at("placed.tif"), b"1").unwrap();
        let mut studio = Studio::new(Jobs::quiet());
        let import = Command::Import {
            paths: vec![crate::files::canonical(&at("placed.tif")).unwrap()],
            into: Default::default(),
            metadata: None,
        };
        studio.run_to_end(import, &mut |_| {}).unwrap();
        studio
            .run_to_end(
                Command::Watch {
                    folder: folder.path().to_owned(),
                },
                &mut |_| {},
            )
            .unwrap();
        assert_eq!(
            names(&studio),
            ["early.tif 1"],
            "what is there already, but what is a sample already"
        );

        std::fs::create_dir(at("day")).unwrap();
        std::fs::write(at("day/one.tif"), b"12").unwrap();
        std::fs::write(at(".hidden"), b"12").unwrap();
        let mut slow = std::fs::File::create(at("slow.tif")).unwrap();
        for _ in 0..8 {
            slow.write_all(b"1234").unwrap();
            slow.flush().unwrap();
            std::thread::sleep(Duration::from_millis(250));
        }
        drop(slow);
        let arrived = wait(&mut studio, |studio| names(studio).len() == 3);
        assert_eq!(names(&studio), ["early.tif 1", "one.tif 2", "slow.tif 32"]);
        assert!(arrived.iter().sum::<usize>() <= 2, "each once");

        studio.run_to_end(Command::Undo, &mut |_| {}).unwrap();
        assert!(names(&studio).len() < 3, "taken back as any step");
        studio
            .run_to_end(
                Command::Unwatch {
                    folder: folder.path().to_owned(),
                },
                &mut |_| {},
            )
            .unwrap();
        assert_eq!(studio.watched_folders().len(), 0);
    }

    #[test]
    fn what_can_not_be_watched_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tif");
        std::fs::write(&file, b"1").unwrap();
        let mut studio = Studio::new(Jobs::quiet());
        let mut refused = |folder: PathBuf| {
            studio
                .run_to_end(Command::Watch { folder }, &mut |_| {})
                .is_err()
        };
        assert!(refused(file));
        assert!(refused(folder.path().join("nothing")));
        assert!(!refused(folder.path().to_owned()));
        assert!(refused(folder.path().to_owned()), "twice");
        let gone = tempfile::tempdir().unwrap();
        assert!(!refused(gone.path().to_owned()));
        let path = gone.path().to_owned();
        drop(gone);
        studio
            .run_to_end(Command::Unwatch { folder: path }, &mut |_| {})
            .unwrap();
        assert_eq!(
            studio.watched_folders().len(),
            1,
            "a folder that is gone takes no other along"
        );
        studio.run_to_end(Command::New, &mut |_| {}).unwrap();
        assert_eq!(
            studio.watched_folders().len(),
            0,
            "another draft has folders of its own"
        );
    }
}
