//! Watched folders: new files are added to the tray once they are complete. The system reports
//! changes; where that can't be started, the folder is listed every 5 s. A folder on a network file
//! system is also listed, as the system does not report what other machines change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use notify::{Config, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::document_state::DocumentState;
use super::tray::collect;
use super::{Document, Event, Finish, LogLevel, Outcome, Studio};
use crate::draft::{Content, Edit, Unplaced};
use crate::error::{Error, IoContext, Result};
use crate::files::is_on_network;
use crate::folder_archive::store_around;
use crate::jobs::{JobContext, Jobs};
use crate::model::{AssetPath, Payload, Tortilla};
use crate::ops::is_data;

/// A file counts as complete after this time without a change of size or modification time.
const QUIET: Duration = Duration::from_millis(1200);
/// Interval between checks of incomplete files.
const CHECK_INTERVAL: Duration = Duration::from_millis(300);
/// Interval between listings of a folder whose changes the system does not report; and the time
/// after which complete files no longer wait for those that are still written.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between listings of a folder on a network file system, which may answer slowly.
const NETWORK_INTERVAL: Duration = Duration::from_secs(30);

/// One watched folder.
pub(super) struct Watched {
    /// Path as given by the user.
    given: PathBuf,
    /// Canonical path.
    folder: PathBuf,
    arrived: Arc<Mutex<Vec<PathBuf>>>,
    /// How often it is listed; `None` where the system reports all changes.
    listed: Option<Duration>,
    /// Stop watching, and thereby the thread, on drop.
    _watchers: Vec<Box<dyn Watcher + Send>>,
}

/// A watched folder that was named by a symbolic link: its canonical path, and the path as given.
/// Samples may have either.
type FolderAlias = (PathBuf, PathBuf);

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
                    return Err(Error::usage("this is not a folder")
                        .at_path(&folder)
                        .hint("choose the folder that contains the file"));
                }
                // Watching starts before the listing, so that no file is missed.
                let interval = is_on_network(&folder).then_some(NETWORK_INTERVAL);
                let watched = begin_watch(given, &folder, interval, jobs)?;
                let aliases: Vec<FolderAlias> = watched.alias().into_iter().collect();
                let files = new_files(&content, &[folder], &aliases, ctx)?;
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
                    if let Some(interval) = watched.listed {
                        let text = describe_listing(&watched.folder, interval);
                        studio.log(LogLevel::Info, text);
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

    /// How often a watched folder is listed, as the system does not report all of its changes;
    /// `None` where it does.
    pub fn find_listing_interval(&self, folder: &Path) -> Option<Duration> {
        let mut watched = self.watched.iter();
        watched.find(|watched| watched.folder == folder)?.listed
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
        let aliases: Vec<FolderAlias> = self.watched.iter().filter_map(Watched::alias).collect();
        self.start(tr!("Take files that arrived"), move |ctx| {
            ctx.stage(tr!("Looking at the files"), None);
            let files = new_files(&content, &arrived, &aliases, ctx)?;
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

impl Watched {
    fn alias(&self) -> Option<FolderAlias> {
        (self.given != self.folder).then(|| (self.folder.clone(), self.given.clone()))
    }
}

fn describe_listing(folder: &Path, interval: Duration) -> String {
    format!(
        "{} is listed every {} s, as the system does not report all of its changes",
        folder.display(),
        interval.as_secs()
    )
}

/// A path below a watched folder, as it is below the path by which the folder was named.
fn list_other_names(path: &Path, aliases: &[FolderAlias]) -> Vec<PathBuf> {
    let names = aliases.iter().filter_map(|(folder, given)| {
        let below = path.strip_prefix(folder).ok()?;
        Some(given.join(below))
    });
    names.collect()
}

/// Files at or below these paths that are not samples of the draft. A file that the tray has by the
/// other name of its folder keeps that name.
fn new_files(
    content: &Content,
    paths: &[PathBuf],
    aliases: &[FolderAlias],
    ctx: &JobContext,
) -> Result<Vec<Unplaced>> {
    let mut files = Vec::new();
    // The files of a Zarr store arrive one by one, but the store is one entry of the tray.
    let units: BTreeSet<&Path> = paths
        .iter()
        .filter(|path| path.exists())
        .map(|path| store_around(path).unwrap_or(path))
        .collect();
    for path in units {
        // The others are added.
        let mut warn = |error: Error| warn_of_unread_entry(&error, ctx);
        match collect(path, 0, &mut files, &mut warn, ctx) {
            Err(error) if !error.is_cancelled() => warn(error)?,
            outcome => outcome?,
        }
    }
    let mut placed = HashSet::new();
    sources(&content.dataset.root, &mut placed);
    files.retain(|file| !placed.contains(file.path.as_path()));
    if aliases.is_empty() {
        return Ok(files);
    }
    let tray: HashSet<&Path> = content.tray.iter().map(|file| &*file.path).collect();
    let mut found = Vec::with_capacity(files.len());
    for mut file in files {
        let names = list_other_names(&file.path, aliases);
        if names.iter().any(|name| placed.contains(&**name)) {
            continue;
        }
        if let Some(name) = names.into_iter().find(|name| tray.contains(&**name)) {
            file.path = name;
        }
        found.push(file);
    }
    Ok(found)
}

/// The last step of the history that the watch made, if it only changed files of the tray: further
/// changes become one step with it, while it is the newest. A file that grows for hours would
/// otherwise make a step after each pause.
pub(super) struct WatchStep {
    state: DocumentState,
    /// The files that the step changed.
    changed: HashSet<PathBuf>,
}

/// An edit that brings the tray up to date with the files of watched folders.
struct TrayUpdate {
    edit: Edit,
    /// Number of files that it adds or changes.
    count: usize,
    /// Files that were in the tray with another size.
    changed: HashSet<PathBuf>,
}

impl TrayUpdate {
    /// Adds files that are not in the tray, and those again that are larger or smaller than when
    /// they arrived. `None` when there are none.
    fn find(tray: &[Unplaced], files: Vec<Unplaced>) -> Option<Self> {
        let (outdated, add) = Edit::renew_in_tray(tray, files)?;
        let changed = outdated
            .iter()
            .map(|&place| tray[place as usize].path.clone())
            .collect();
        let update = Self::new(add, changed);
        Some(if outdated.is_empty() {
            update
        } else {
            update.with_removed_places(outdated)
        })
    }

    fn new(add: Edit, changed: HashSet<PathBuf>) -> Self {
        let count = match &add {
            Edit::AddToTray { files } => files.len(),
            _ => 0,
        };
        Self {
            edit: add,
            count,
            changed,
        }
    }

    /// The same, after these places of the tray were removed.
    fn with_removed_places(self, places: Vec<u32>) -> Self {
        let label = self.edit.label();
        let edits = vec![Edit::RemoveFromTray { places }, self.edit];
        Self {
            edit: Edit::Batch { label, edits },
            ..self
        }
    }

    /// True when it adds no file that the tray did not have.
    fn only_changes(&self) -> bool {
        self.count == self.changed.len()
    }
}

/// Brings the tray up to date with files of watched folders; adding none is not an error.
fn add_arrived_files(studio: &mut Studio, files: Vec<Unplaced>) -> Result<Event> {
    // The draft and its watched folders may be gone.
    let Ok(draft) = studio.need_draft() else {
        return Ok(Event::None);
    };
    let tray = draft.tray().clone();
    // What was saved or written, or is at this moment, stays a step to return to.
    let may_merge = draft.is_dirty() && studio.running.is_empty();
    let Some(update) = TrayUpdate::find(&tray, files) else {
        return Ok(Event::None);
    };
    let (count, only_changes) = (update.count, update.only_changes());
    let state = studio.document_state();
    let before = studio.watch_step.take();
    let before = before.filter(|step| step.state == state && may_merge && only_changes);
    let changed = match before {
        Some(step) => match merge_into_step(studio, &update, step)? {
            Some(changed) => changed,
            // No step is left that Undo could take back.
            None => return Ok(Event::None),
        },
        None => {
            studio.apply_edit(update.edit)?;
            update.changed
        }
    };
    let state = studio.document_state();
    studio.watch_step = only_changes.then_some(WatchStep { state, changed });
    Ok(Event::Arrived { files: count })
}

/// Undoes the last step and makes it again with the changes of `update`. Returns the files that it
/// changes now; `None` when all are as they were before it, so that there is no such step any more,
/// and none to redo.
fn merge_into_step(
    studio: &mut Studio,
    update: &TrayUpdate,
    step: WatchStep,
) -> Result<Option<HashSet<PathBuf>>> {
    let added = list_added_files(&update.edit);
    let tray = studio.need_draft()?.tray().clone();
    let others = tray
        .iter()
        .filter(|file| step.changed.contains(&file.path) && !update.changed.contains(&file.path));
    let files: Vec<Unplaced> = added.into_iter().chain(others).cloned().collect();
    studio.undo()?;
    let tray = studio.need_draft()?.tray().clone();
    let Some(both) = TrayUpdate::find(&tray, files) else {
        if let Some(Document::Draft(document)) = &mut studio.document {
            document.draft.forget_redo();
        }
        return Ok(None);
    };
    studio.apply_edit(both.edit)?;
    Ok(Some(both.changed))
}

/// The files that an edit puts into the tray.
fn list_added_files(edit: &Edit) -> Vec<&Unplaced> {
    match edit {
        Edit::AddToTray { files } => files.iter().map(|place| &place.file).collect(),
        Edit::Batch { edits, .. } => edits.iter().flat_map(list_added_files).collect(),
        _ => Vec::new(),
    }
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

/// Starts watching; with an interval, the folder is listed, too.
fn begin_watch(
    given: PathBuf,
    folder: &Path,
    interval: Option<Duration>,
    jobs: Jobs,
) -> Result<Watched> {
    let (sender, receiver) = channel();
    let mut watchers: Vec<Box<dyn Watcher + Send>> = Vec::new();
    // Before watching begins: what comes after this is in an event, or in the listing of the job.
    let seen = list_folder(folder).into_iter();
    let seen = seen.filter_map(|path| mark_of(&path).map(|mark| (path, mark)));
    let mut appeared = Appeared {
        root: folder.to_owned(),
        seen: seen.collect(),
        files: HashMap::new(),
        folders: HashMap::new(),
    };
    let (first, root) = (sender.clone(), folder.to_owned());
    let recommended = RecommendedWatcher::new(
        move |event| send_changed_paths(event, &root, &first),
        Config::default(),
    );
    match recommended {
        Ok(mut reporting) => match reporting.watch(folder, RecursiveMode::Recursive) {
            Ok(()) => watchers.push(Box::new(reporting)),
            Err(error) => tracing::warn!(
                "{} is listed every 5 s, as the system can't report its changes: {error}",
                folder.display()
            ),
        },
        Err(error) => tracing::warn!(
            "folders are listed every 5 s, as the system can't report their changes: {error}"
        ),
    }
    let failed = |error| unwatched_folder_error(folder, error);
    let unreported = watchers.is_empty().then_some(POLL_INTERVAL);
    let listed = unreported.or(interval);
    if let Some(interval) = listed {
        let root = folder.to_owned();
        let mut polled = PollWatcher::new(
            move |event| send_changed_paths(without_folders(event), &root, &sender),
            Config::default().with_poll_interval(interval),
        )
        .map_err(failed)?;
        polled
            .watch(folder, RecursiveMode::Recursive)
            .map_err(failed)?;
        watchers.push(Box::new(polled));
    }
    let arrived: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let inbox = arrived.clone();
    let spawned = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || deliver_complete_files(&mut appeared, &receiver, &inbox, &jobs));
    spawned.map_err(|error| {
        Error::internal("could not start a thread to watch a folder").because(error)
    })?;
    Ok(Watched {
        given,
        folder: folder.to_owned(),
        arrived,
        listed,
        _watchers: watchers,
    })
}

/// Sends the paths of an event; the whole folder where events were lost. A folder that is listed
/// gives the errors of its entries again with each listing: they are only logged.
fn send_changed_paths(
    event: notify::Result<notify::Event>,
    folder: &Path,
    sender: &Sender<PathBuf>,
) {
    let event = match event {
        Ok(event) if !event.need_rescan() => event,
        Ok(_) => return drop(sender.send(folder.to_owned())),
        Err(error) => {
            tracing::warn!("changes of {} may be missed: {error}", folder.display());
            if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) {
                drop(sender.send(folder.to_owned()));
            }
            return;
        }
    };
    if !matches!(event.kind, EventKind::Access(_) | EventKind::Remove(_)) {
        // The receiver is gone once the folder is not watched.
        event
            .paths
            .into_iter()
            .for_each(|path| drop(sender.send(path)));
    }
}

/// An event of a listing without its folders: a listing reports each of their files on its own. A
/// new file changes the time of its folder, which would be listed twice more.
fn without_folders(event: notify::Result<notify::Event>) -> notify::Result<notify::Event> {
    event.map(|mut event| {
        event.paths.retain(|path| !path.is_dir());
        event
    })
}

fn unwatched_folder_error(folder: &Path, error: notify::Error) -> Error {
    Error::new(crate::error::Kind::Io, "the folder can't be watched")
        .because(error)
        .at_path(folder)
}

/// A file that may still be written.
struct IncompleteFile {
    mark: SizeAndTime,
    since: Instant,
}

/// What appeared below a watched folder, until it is complete.
struct Appeared {
    root: PathBuf,
    /// Files that were there when watching began, or were delivered, as they were then: a listing
    /// brings none of them again that the user took out of the tray.
    seen: HashMap<PathBuf, SizeAndTime>,
    files: HashMap<PathBuf, IncompleteFile>,
    /// Folders, and when they are listed again: files that came into one before the system
    /// reported its changes are in no event.
    folders: HashMap<PathBuf, Instant>,
}

/// Size and modification time of a file.
type SizeAndTime = (u64, Option<SystemTime>);

/// Waits until files are complete, then delivers them together. Ends when watching stops.
fn deliver_complete_files(
    appeared: &mut Appeared,
    receiver: &Receiver<PathBuf>,
    inbox: &Mutex<Vec<PathBuf>>,
    jobs: &Jobs,
) {
    let mut complete: Vec<PathBuf> = Vec::new();
    // When the first of them was complete.
    let mut waiting_since = Instant::now();
    loop {
        let received = if appeared.is_empty() && complete.is_empty() {
            receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            receiver.recv_timeout(CHECK_INTERVAL)
        };
        match received {
            Ok(path) => appeared.record(path),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(path) = receiver.try_recv() {
            appeared.record(path);
        }
        if complete.is_empty() {
            waiting_since = Instant::now();
        }
        appeared.take_complete(&mut complete);
        // Files that arrive together become one edit, without waiting long for one that is still
        // written; a continuous stream is split every 1000 files.
        let is_due = appeared.is_empty()
            || complete.len() >= 1000
            || waiting_since.elapsed() >= POLL_INTERVAL;
        if !complete.is_empty() && is_due {
            inbox
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut complete);
            jobs.wake();
        }
    }
}

impl Appeared {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Records a file, or all files of a folder. What is below a hidden folder is no data.
    fn record(&mut self, path: PathBuf) {
        let below = path.strip_prefix(&self.root).unwrap_or(&path);
        let mut names = below.components();
        if !names.all(|name| name.as_os_str().to_str().is_some_and(is_data)) {
            return;
        }
        if path.is_dir() {
            let files = list_folder(&path).into_iter();
            files.for_each(|file| self.record_file(file));
            self.folders.insert(path, Instant::now() + QUIET);
        } else {
            self.record_file(path);
        }
    }

    fn record_file(&mut self, path: PathBuf) {
        let Some(mark) = mark_of(&path) else { return };
        if self.seen.get(&path) == Some(&mark) {
            return;
        }
        self.files.entry(path).or_insert(IncompleteFile {
            mark,
            since: Instant::now(),
        });
    }

    /// Moves the files that have not changed for a while to `complete`.
    fn take_complete(&mut self, complete: &mut Vec<PathBuf>) {
        let now = Instant::now();
        let due: Vec<_> = self.folders.extract_if(|_, at| *at <= now).collect();
        for (folder, _) in due {
            let files = list_folder(&folder).into_iter();
            files.for_each(|file| self.record_file(file));
        }
        self.files.retain(|path, file| {
            let Some(mark) = mark_of(path) else {
                return false;
            };
            if mark != file.mark {
                *file = IncompleteFile { mark, since: now };
            }
            let is_complete = file.since.elapsed() >= QUIET;
            if is_complete {
                self.seen.insert(path.clone(), mark);
                complete.push(path.clone());
            }
            !is_complete
        });
    }
}

fn warn_of_unread_entry(error: &Error, ctx: &JobContext) -> Result<()> {
    ctx.warn(error.sentence());
    Ok(())
}

fn log_unread_entry(error: Error) -> Result<()> {
    tracing::warn!("{}", error.sentence());
    Ok(())
}

/// The files below a folder, as far as it can be listed: it may be removed meanwhile.
fn list_folder(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut warn = log_unread_entry;
    let listed = collect(folder, 0, &mut files, &mut warn, &JobContext::default());
    let _ = listed.or_else(warn);
    files.into_iter().map(|file| file.path).collect()
}

/// Size and modification time of a file; `None` where there is none.
pub(super) fn mark_of(path: &Path) -> Option<SizeAndTime> {
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
        std::fs::create_dir(at(".ipynb_checkpoints")).unwrap();
        std::fs::write(at(".ipynb_checkpoints/copy.tif"), b"12").unwrap();
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

        // A file that grows after a pause has its new size.
        std::fs::write(at("slow.tif"), [0; 40]).unwrap();
        wait(&mut studio, |studio| {
            names(studio).contains(&"slow.tif 40".to_owned())
        });
        assert_eq!(names(&studio), ["early.tif 1", "one.tif 2", "slow.tif 40"]);
        studio.run_to_end(Command::Undo, &mut |_| {}).unwrap();
        assert_eq!(names(&studio), ["early.tif 1", "one.tif 2", "slow.tif 32"]);

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
    fn a_listed_folder_gives_each_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let real = crate::files::canonical(folder.path()).unwrap();
        let often = Duration::from_millis(200);
        let watched = begin_watch(real.clone(), &real, Some(often), Jobs::quiet()).unwrap();
        assert_eq!(watched.listed, Some(often));
        std::fs::write(real.join("new.tif"), b"12").unwrap();
        let begun = Instant::now();
        let mut arrived = Vec::new();
        while begun.elapsed() < Duration::from_secs(60) && arrived.is_empty() {
            std::thread::sleep(Duration::from_millis(50));
            arrived.append(&mut watched.arrived.lock().unwrap());
        }
        // Further listings, and what the system reports.
        std::thread::sleep(QUIET + 3 * often);
        arrived.append(&mut watched.arrived.lock().unwrap());
        assert_eq!(arrived, [real.join("new.tif")]);
    }

    #[test]
    fn a_listing_reports_files_without_their_folders() {
        use notify::event::{CreateKind, MetadataKind, ModifyKind};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.tif");
        std::fs::write(&file, b"12").unwrap();
        let (sender, receiver) = channel();
        let send = |kind: EventKind, path: &Path| {
            let event = Ok(notify::Event::new(kind).add_path(path.to_owned()));
            send_changed_paths(without_folders(event), folder.path(), &sender);
        };
        let later = EventKind::Modify(ModifyKind::Metadata(MetadataKind::WriteTime));
        send(later, folder.path());
        send(EventKind::Create(CreateKind::Any), &file);
        send(EventKind::Create(CreateKind::Any), folder.path());
        send(later, &file);
        let sent: Vec<PathBuf> = receiver.try_iter().collect();
        assert_eq!(sent, [file.clone(), file]);
    }

    #[test]
    fn a_new_folder_that_is_listed_gives_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let real = crate::files::canonical(folder.path()).unwrap();
        let (sender, receiver) = channel();
        let root = real.clone();
        let mut polled = PollWatcher::new(
            move |event| send_changed_paths(without_folders(event), &root, &sender),
            Config::default().with_poll_interval(Duration::from_millis(50)),
        )
        .unwrap();
        polled.watch(&real, RecursiveMode::Recursive).unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::fs::write(real.join("a/b/new.tif"), b"12").unwrap();
        let first = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(first, real.join("a/b/new.tif"));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_can_be_watched_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        for name in ["placed.tif", "unplaced.tif", "early.tif"] {
            std::fs::write(real.join(name), b"1").unwrap();
        }
        let mut studio = Studio::new(Jobs::quiet());
        let mut run = |command: Command| {
            studio.run_to_end(command, &mut |_| {}).unwrap();
            names(&studio)
        };
        run(Command::Import {
            paths: vec![link.join("placed.tif")],
            into: Default::default(),
            metadata: None,
        });
        run(Command::AddToTray {
            paths: vec![link.join("unplaced.tif")],
        });
        std::fs::write(real.join("unplaced.tif"), b"123").unwrap();
        let found = run(Command::Watch {
            folder: link.clone(),
        });
        assert_eq!(found, ["early.tif 1", "unplaced.tif 3"], "each once");
        std::fs::write(link.join("late.tif"), b"12").unwrap();
        wait(&mut studio, |studio| {
            names(studio).contains(&"late.tif 2".to_owned())
        });
        assert_eq!(names(&studio).len(), 3);
        studio
            .run_to_end(Command::Unwatch { folder: link }, &mut |_| {})
            .unwrap();
        assert_eq!(studio.watched_folders().len(), 0);
    }

    #[test]
    fn a_file_that_grows_for_hours_makes_one_step() {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio.run_to_end(Command::New, &mut |_| {}).unwrap();
        let arrive = |studio: &mut Studio, files: &[(&str, u64)]| {
            let files = files
                .iter()
                .map(|(name, size)| Unplaced::file(*name, *size));
            drop(add_arrived_files(studio, files.collect()).unwrap());
            studio.need_draft().unwrap().step_number()
        };
        assert_eq!(arrive(&mut studio, &[("/w/a", 1), ("/w/b", 1)]), 1);
        assert_eq!(arrive(&mut studio, &[("/w/a", 2)]), 2, "is not its arrival");
        assert_eq!(arrive(&mut studio, &[("/w/a", 3)]), 2);
        assert_eq!(arrive(&mut studio, &[("/w/b", 5), ("/w/a", 3)]), 2);
        assert_eq!(arrive(&mut studio, &[("/w/a", 4)]), 2);
        assert_eq!(names(&studio), ["a 4", "b 5"]);
        studio.run_to_end(Command::Undo, &mut |_| {}).unwrap();
        assert_eq!(names(&studio), ["a 1", "b 1"]);
        studio.run_to_end(Command::Redo, &mut |_| {}).unwrap();
        assert_eq!(names(&studio), ["a 4", "b 5"]);
        // What was undone and redone is a step of the user.
        assert_eq!(arrive(&mut studio, &[("/w/a", 6)]), 3);
        assert_eq!(arrive(&mut studio, &[("/w/c", 1)]), 4, "a new file");
        assert_eq!(arrive(&mut studio, &[("/w/a", 7)]), 5, "not the newest");
        if let Some(Document::Draft(document)) = &mut studio.document {
            document.draft.mark_saved();
        }
        assert_eq!(arrive(&mut studio, &[("/w/a", 8)]), 6, "that was saved");
        assert_eq!(arrive(&mut studio, &[("/w/a", 9)]), 6);
        assert_eq!(names(&studio), ["a 9", "b 5", "c 1"]);
        studio.run_to_end(Command::Undo, &mut |_| {}).unwrap();
        assert_eq!(names(&studio), ["a 7", "b 5", "c 1"]);
        // A file that is as before needs no step.
        assert_eq!(arrive(&mut studio, &[("/w/a", 8)]), 6);
        assert_eq!(arrive(&mut studio, &[("/w/a", 7)]), 5);
        let redone = studio.run_to_end(Command::Redo, &mut |_| {});
        assert!(redone.is_err(), "a size that the file no longer has");
        assert_eq!(arrive(&mut studio, &[("/w/a", 8)]), 6);
        let back = vec![Unplaced::file("/w/a", 7)];
        let event = add_arrived_files(&mut studio, back).unwrap();
        assert!(matches!(event, Event::None), "nothing to undo: {event:?}");
        assert_eq!(arrive(&mut studio, &[("/w/a", 8)]), 6);
        assert_eq!(names(&studio), ["a 8", "b 5", "c 1"]);
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
