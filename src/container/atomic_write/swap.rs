//! Renames finished outputs to their targets, all or none. An existing output is exchanged for the
//! new one atomically where the system supports it. Otherwise, and for several outputs, a journal
//! beside the old copies records the renames, so an interrupted process can be rolled back. An old
//! copy is never removed before the new one is synced under its name.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, IoContext, Result};

/// Subfolder of the temporary folder for new outputs.
pub(super) const NEW: &str = "new";
/// Subfolder of the temporary folder for replaced outputs.
pub(super) const OLD: &str = "old";
/// Number of folders that are synced one by one; for more, their file system is synced.
const FOLDERS_SYNCED: usize = 16;
/// The journal in a temporary folder.
const RECORD: &str = "names.json";

/// Journal entry of one output.
#[derive(serde::Serialize, serde::Deserialize)]
struct SwapEntry {
    name: OsString,
    /// Number of the new output on its disk, where available.
    new: Option<u64>,
    /// The existing output is deleted without replacement.
    #[serde(rename = "goes")]
    is_deletion: bool,
}

/// Journal: the outputs renamed together.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct SwapJournal(Vec<SwapEntry>);

/// Number of a file or folder on its disk (the inode on Unix), which a rename does not change.
fn number_of(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::MetadataExt::ino(
        &path.symlink_metadata().ok()?,
    ));
    #[cfg(windows)]
    return crate::windows_api::number_of(path)
        .ok()
        .map(|(_, number)| number);
}

pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The three paths of one output.
pub(super) struct OutputPaths {
    pub(super) target: PathBuf,
    pub(super) new: PathBuf,
    pub(super) old: PathBuf,
}

impl OutputPaths {
    pub(super) fn for_output(name: &OsStr, scratch: &Path, parent: &Path) -> Self {
        Self {
            target: parent.join(name),
            new: scratch.join(NEW).join(name),
            old: scratch.join(OLD).join(name),
        }
    }
}

impl SwapEntry {
    /// True when the new output has its name.
    fn is_placed(&self, places: &OutputPaths) -> bool {
        match self.new {
            _ if self.is_deletion => !is_there(&places.target),
            Some(number) => number_of(&places.target) == Some(number),
            None => !is_there(&places.new) && is_there(&places.target),
        }
    }

    /// Undoes the renames of this output, if any.
    fn take_back(&self, places: &OutputPaths) -> Result<()> {
        let OutputPaths { target, old, .. } = places;
        // An interrupted rollback may have left the new output here.
        let kept = is_there(old) && (self.new.is_none() || number_of(old) != self.new);
        let placed = !self.is_deletion && self.is_placed(places);
        if kept && !placed && is_there(target) {
            let error = Error::usage("another file or folder has this name by now").at_path(target);
            return Err(error.hint(format!("the previous version is {}", old.display())));
        }
        let has_old = kept || (placed && is_there(&places.new));
        let step = if has_old {
            "restore the previous version"
        } else {
            "remove the new output"
        };
        restore_output(places, placed, kept).io_at(step, target)
    }
}

/// Moves the old output back to its path. `placed`: the new output is there. `kept`: the old one is
/// aside.
fn restore_output(places: &OutputPaths, placed: bool, kept: bool) -> io::Result<()> {
    let OutputPaths { target, new, old } = places;
    match (placed, kept) {
        (true, true) if exchange(old, target)? => rename(old, new),
        (true, true) => rename(target, new).and_then(|()| rename(old, target)),
        // The old output was exchanged to the path of the new one.
        (true, false) if is_there(new) => exchange(new, target).map(drop),
        (true, false) => rename(target, new),
        (false, true) => rename(old, target),
        (false, false) => Ok(()),
    }
}

impl SwapJournal {
    /// Renames every output to its name in `parent`, and what is there to the old copies.
    pub(super) fn place_each(
        &self,
        scratch: &Path,
        parent: &Path,
        check: &dyn Fn(&Path, &Path) -> Result<()>,
    ) -> Result<()> {
        for name in &self.0 {
            let OutputPaths { target, new, old } =
                OutputPaths::for_output(&name.name, scratch, parent);
            let failed = |result: io::Result<()>| result.io_at("rename the output", &target);
            if !is_there(&target) {
                if !name.is_deletion {
                    failed(rename(&new, &target))?;
                }
                continue;
            }
            check(&new, &target)?;
            if name.is_deletion {
                rename(&target, &old).io_at("move the old output aside", &target)?;
            } else if exchange(&new, &target).io_at("rename the output", &target)? {
                rename(&new, &old).io_at("move the old output aside", &target)?;
            } else {
                rename(&target, &old).io_at("move the old output aside", &target)?;
                failed(rename(&new, &target))?;
            }
        }
        Ok(())
    }

    pub(super) fn from_names(names: &[OsString], gone: &[OsString], scratch: &Path) -> Self {
        let new = names.iter().map(|name| SwapEntry {
            name: name.clone(),
            new: number_of(&scratch.join(NEW).join(name)),
            is_deletion: false,
        });
        let deleted = gone.iter().map(|name| SwapEntry {
            name: name.clone(),
            new: None,
            is_deletion: true,
        });
        Self(new.chain(deleted).collect())
    }

    pub(super) fn write(&self, scratch: &Path) -> Result<()> {
        let folders: BTreeSet<&Path> = self
            .0
            .iter()
            .filter_map(|name| Path::new(&name.name).parent())
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect();
        let bytes = serde_json::to_vec(&self.0)
            .map_err(|error| Error::internal("names can't be written").because(error))?;
        write_record(scratch, &folders, &bytes).io_at(
            "write the journal of replaced outputs",
            scratch.join(RECORD),
        )
    }

    /// Reads the journal of a temporary folder, if there is one.
    pub fn read(scratch: &Path) -> Option<Self> {
        let bytes = std::fs::read(scratch.join(RECORD)).ok()?;
        serde_json::from_slice(&bytes).ok().map(Self)
    }

    /// True when `name` is one of the outputs, or the folder that has one of them.
    pub fn names(&self, name: &OsStr) -> bool {
        self.0
            .iter()
            .any(|known| Path::new(&known.name).iter().next() == Some(name))
    }

    /// True when the outputs are files in the folder `name`, which stays.
    pub fn is_within(&self, name: &OsStr) -> bool {
        self.names(name) && !self.0.iter().any(|known| known.name == name)
    }

    /// The names, separated by commas, for messages.
    pub fn list(&self) -> String {
        self.0
            .iter()
            .map(|name| name.name.to_string_lossy())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// True when every new output has its name.
    pub fn is_done(&self, scratch: &Path, parent: &Path) -> bool {
        self.0.iter().all(|name| {
            let places = OutputPaths::for_output(&name.name, scratch, parent);
            name.is_placed(&places)
                && (name.is_deletion || !is_there(&places.new) || is_there(&places.old))
        })
    }

    /// True when every output to be replaced still has its name.
    pub fn is_untouched(&self, scratch: &Path, parent: &Path) -> bool {
        self.0.iter().all(|name| {
            let places = OutputPaths::for_output(&name.name, scratch, parent);
            is_there(&places.target) && !name.is_placed(&places)
        })
    }

    /// Rolls back all renames, last first.
    pub fn take_back(&self, scratch: &Path, parent: &Path) -> Result<()> {
        for name in self.0.iter().rev() {
            name.take_back(&OutputPaths::for_output(&name.name, scratch, parent))?;
        }
        self.sync_targets(parent)
    }

    /// Syncs the directory entries of all outputs.
    fn sync_targets(&self, parent: &Path) -> Result<()> {
        let folder_of = |name: &SwapEntry| parent.join(&name.name).parent().map(Path::to_owned);
        let folders: BTreeSet<PathBuf> = self.0.iter().filter_map(folder_of).collect();
        if folders.len() > FOLDERS_SYNCED {
            return sync_tree(parent);
        }
        folders.iter().try_for_each(|folder| {
            sync_folder(if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            })
        })
    }

    /// True when a replaced output is in the temporary folder.
    pub fn has_old_copy(&self, scratch: &Path, parent: &Path) -> bool {
        self.0.iter().any(|entry| {
            let places = OutputPaths::for_output(&entry.name, scratch, parent);
            let is_exchanged =
                !entry.is_deletion && entry.is_placed(&places) && is_there(&places.new);
            is_there(&places.old) || is_exchanged
        })
    }

    /// True when a new output has its name.
    pub fn has_placed(&self, scratch: &Path, parent: &Path) -> bool {
        self.0.iter().any(|entry| {
            !entry.is_deletion
                && entry.is_placed(&OutputPaths::for_output(&entry.name, scratch, parent))
        })
    }

    /// Path of the old copy of an output; `None` when all new outputs are in place, or the old one
    /// was never moved.
    pub fn copy_of(&self, name: &OsStr, scratch: &Path, parent: &Path) -> Option<PathBuf> {
        let known = self.0.iter().find(|known| known.name == name)?;
        let places = OutputPaths::for_output(name, scratch, parent);
        if self.is_done(scratch, parent) {
            return None;
        }
        let exchanged = !known.is_deletion && known.is_placed(&places) && is_there(&places.new);
        if is_there(&places.old) {
            Some(places.old)
        } else {
            exchanged.then_some(places.new)
        }
    }
}

/// Writes the record of a journal and syncs it to disk. `folders` are those of replaced files,
/// below the folder of the old outputs.
fn write_record(scratch: &Path, folders: &BTreeSet<&Path>, bytes: &[u8]) -> io::Result<()> {
    let old = scratch.join(OLD);
    std::fs::create_dir(&old)?;
    // Only replaced files of a folder have one.
    for folder in folders {
        std::fs::create_dir_all(old.join(folder))?;
    }
    let mut file = File::create_new(scratch.join(RECORD))?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    sync(scratch)
}

/// A single `syncfs` call where available, as a folder may hold 100,000 files.
#[cfg(target_os = "linux")]
pub(super) fn sync_tree(folder: &Path) -> Result<()> {
    let handle = File::open(folder).io_at("open the output", folder)?;
    rustix::fs::syncfs(&handle)
        .map_err(|error| Error::io("sync the output to disk", folder, error.into()))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sync_tree(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).io_at("read the output", folder)? {
        let path = entry.io_at("read the output", folder)?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::options()
                .write(true)
                .open(&path)
                .and_then(|f| f.sync_all())
                .io_at("sync the output to disk", &path)?;
        }
    }
    Ok(())
}

/// Syncs the directory entries of a folder.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    sync(folder).io_at("sync the output's folder to disk", folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    faults::step(faults::Step::Sync)?;
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    let _ = folder;
    Ok(())
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    faults::step(faults::Step::Rename)?;
    std::fs::rename(from, to)
}

/// Exchanges two names atomically. Returns false, without changes, where the system or file system
/// does not support it.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    #[cfg(test)]
    if !faults::can_exchange()? {
        return Ok(false);
    }
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            // `OPNOTSUPP` differs from `NOTSUP` on some systems.
            Err(error)
                if [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP]
                    .contains(&error) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (one, other);
        Ok(false)
    }
}

/// Injected file system failures for tests.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::RefCell;
    use std::io;

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Step {
        Rename,
        Exchange,
        Sync,
    }

    /// Faults on this thread.
    #[derive(Clone, Default)]
    pub struct Faults {
        /// Numbers of the failing steps, from 0.
        pub failing: Vec<usize>,
        /// From this step on all calls fail, as after the process was killed.
        pub dead_from: Option<usize>,
        /// Atomic exchange is not supported.
        pub no_exchange: bool,
        /// Number of steps so far.
        pub steps: usize,
    }

    thread_local! {
        static FAULTS: RefCell<Faults> = RefCell::default();
    }

    /// Sets the faults; returns the previous ones with their step count.
    pub fn set(faults: Faults) -> Faults {
        FAULTS.replace(faults)
    }

    pub fn step(_: Step) -> io::Result<()> {
        FAULTS.with_borrow_mut(|faults| {
            let number = faults.steps;
            faults.steps += 1;
            let fails = faults.failing.contains(&number)
                || faults.dead_from.is_some_and(|from| number >= from);
            if fails {
                Err(io::Error::other("a fault that was asked for"))
            } else {
                Ok(())
            }
        })
    }

    pub fn can_exchange() -> io::Result<bool> {
        if FAULTS.with_borrow(|faults| faults.no_exchange) {
            return Ok(false);
        }
        step(Step::Exchange).map(|()| true)
    }
}
