//! Temporary files and folders of the studio: hidden names that tell them from other files, a lock
//! that the process holds while it needs them, and the removal of those that stopped processes
//! left. Outputs have theirs beside them; whatever else needs a file with a name, such as a sample
//! for a library that reads regular files only, has it in one folder of the process within the
//! temporary folder of this machine.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::{Builder, TempDir, TempPath};

use crate::error::{Error, IoContext, Kind, Result};
use crate::file_lock::FileLock;

/// Suffix of files being written, and of files no longer needed.
pub const PARTIAL: &str = ".partial";
/// Suffix of a folder that may contain the only copy of a replaced output.
pub const ASIDE: &str = ".old";
/// Suffix of the locks of files and folders on Windows.
#[cfg(windows)]
const LOCK: &str = ".lock";
/// Name of the folders within the temporary folder of this machine: one for all kinds of work, so
/// that any work finds what others left.
const WORK: &str = "taco-studio-work";
/// Number of random letters and digits between the output's name and the suffix.
const RANDOM: usize = 6;
/// Number of attempts when another process removes the folder as a leftover between creating and
/// locking it.
pub const TRIES: usize = 10;

/// What hidden names of the output `target` begin with.
///
/// # Errors
/// [`Kind::Usage`] for a path without a name.
pub fn prefix_of(target: &Path) -> Result<OsString> {
    let name = target
        .file_name()
        .ok_or_else(|| Error::usage("the output has no name").at_path(target))?;
    Ok(hidden_prefix(name))
}

fn hidden_prefix(name: &OsStr) -> OsString {
    [OsStr::new("."), name, OsStr::new(".")]
        .into_iter()
        .collect()
}

/// The stem of a hidden name: between the leading dot and the random part.
pub fn stem<'a>(name: &'a str, ending: &str) -> Option<&'a str> {
    let (stem, random) = name
        .strip_prefix('.')?
        .strip_suffix(ending)?
        .rsplit_once('.')?;
    (random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(stem)
}

/// True for a name of temporary files and folders.
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    stem(&name, PARTIAL).is_some()
}

pub enum Locked {
    /// Locked by this process.
    Here(FileLock),
    /// Locked by another process.
    ByOther,
    /// Locks are not supported on this disk.
    Never,
}

/// Locks the temporary file or folder at `path` against other processes.
#[cfg(unix)]
pub fn lock(path: &Path) -> Locked {
    match File::open(path).and_then(FileLock::try_lock) {
        Ok(Some(lock)) => Locked::Here(lock),
        Ok(None) => Locked::ByOther,
        Err(_) => Locked::Never,
    }
}

/// Locks the temporary file or folder at `path` against other processes.
///
/// Windows locks no folders, and renames none with an open file in it: the lock is an empty file
/// beside it that only one process can open, and that the system removes when it is closed.
#[cfg(windows)]
pub fn lock(path: &Path) -> Locked {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = [PARTIAL, ASIDE, LOCK]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let mut options = std::fs::OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .share_mode(0)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    match options.open(path.with_file_name(format!("{stem}{LOCK}"))) {
        Ok(file) => FileLock::try_lock_where_supported(file).map_or(Locked::ByOther, Locked::Here),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Locked::ByOther,
        Err(_) => Locked::Never,
    }
}

/// Locks a leftover; `None` while another process holds its lock, or on disks without locks.
pub fn lock_of_leftover(path: &Path) -> Option<FileLock> {
    if !path
        .symlink_metadata()
        .is_ok_and(|meta| meta.is_dir() || meta.is_file())
    {
        return None;
    }
    match lock(path) {
        Locked::Here(lock) => Some(lock),
        Locked::ByOther | Locked::Never => None,
    }
}

/// Creates and locks a folder in `parent`; the lock is `None` on disks without locks, where nothing
/// is treated as a leftover.
///
/// # Errors
/// When `parent` cannot be written.
pub fn make_locked_folder(
    builder: &mut Builder<'_, '_>,
    parent: &Path,
) -> Result<(PathBuf, Option<FileLock>)> {
    builder.suffix(PARTIAL);
    for _ in 0..TRIES {
        let folder = builder
            .tempdir_in(parent)
            .io_at("make a temporary folder", parent)?;
        let lock = match lock(folder.path()) {
            Locked::ByOther => continue,
            Locked::Here(lock) => Some(lock),
            Locked::Never => None,
        };
        if folder.path().is_dir() {
            return Ok((folder.keep(), lock));
        }
    }
    Err(removed_file_error(parent))
}

/// Creates and locks a folder for work within `parent`, the temporary folder of this machine; only
/// this user reads it.
///
/// # Errors
/// When `parent` cannot be written.
pub fn make_work_folder(parent: &Path) -> Result<(PathBuf, Option<FileLock>)> {
    let prefix = hidden_prefix(OsStr::new(WORK));
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    make_locked_folder(builder.prefix(&prefix), parent)
}

pub fn removed_file_error(target: &Path) -> Error {
    Error::new(Kind::Io, "another process removed the temporary file").at_path(target)
}

/// Deletes a file or folder with its contents; a failure is logged.
pub fn discard(path: &Path) {
    // Retried once: a virus scanner may hold a file open for a moment.
    if let Err(error) = remove_path(path).or_else(|_| remove_path(path)) {
        tracing::warn!(
            "{} is not needed any more, and could not be removed: {error}",
            path.display()
        );
    }
}

/// Removes a file or folder; does nothing when it is not there.
fn remove_path(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Removes the temporary files and folders of the output `name` in the folder `parent` that no
/// process uses any more.
pub fn remove_leftovers(parent: &Path, name: &OsStr) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if stem(&entry.file_name().to_string_lossy(), PARTIAL).is_some_and(|stem| name == stem)
            && let Some(_lock) = lock_of_leftover(&entry.path())
        {
            tracing::info!(
                "removing {}, left by an interrupted process",
                entry.path().display()
            );
            discard(&entry.path());
        }
        // Left when the power failed: closing it removes it.
        #[cfg(windows)]
        if stem(&entry.file_name().to_string_lossy(), LOCK).is_some_and(|stem| name == stem) {
            drop(lock(&entry.path()));
        }
    }
}

/// Removes the folders of [`make_work_folder`] in `parent` that no process uses any more.
pub fn remove_abandoned_work_in(parent: &Path) {
    remove_leftovers(parent, OsStr::new(WORK));
}

/// Removes the folders of [`make_work_folder`] that no process uses any more, in the background.
pub fn remove_abandoned_work() {
    let temporary = std::env::temp_dir();
    // Without a thread they stay until the next start.
    let _ = std::thread::Builder::new()
        .name("leftovers".into())
        .spawn(move || remove_abandoned_work_in(&temporary));
}

/// The folder of a process for its temporary files: removed with the last of them.
struct WorkFolder {
    path: PathBuf,
    /// The temporary folder of this machine when it was made.
    parent: PathBuf,
    /// The process that made it: one that was forked from it has another folder.
    process: u32,
    _lock: Option<FileLock>,
}

impl WorkFolder {
    /// False when another temporary folder is used by now, or somebody removed this one.
    fn is_usable(&self, parent: &Path) -> bool {
        self.process == std::process::id() && self.parent == parent && self.path.is_dir()
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            discard(&self.path);
        }
    }
}

/// The folder that the temporary files of this process share while there are any.
struct SharedWorkFolder {
    folder: Weak<WorkFolder>,
    /// The temporary folder that was searched for leftovers: once, since it may have thousands of
    /// files.
    searched: Option<PathBuf>,
}

static WORK_FOLDER: Mutex<SharedWorkFolder> = Mutex::new(SharedWorkFolder::new());

impl SharedWorkFolder {
    const fn new() -> Self {
        Self {
            folder: Weak::new(),
            searched: None,
        }
    }

    fn folder_in(&mut self, parent: &Path) -> Result<Arc<WorkFolder>> {
        if let Some(folder) = self.folder.upgrade()
            && folder.is_usable(parent)
        {
            return Ok(folder);
        }
        if self.searched.as_deref() != Some(parent) {
            remove_abandoned_work_in(parent);
            self.searched = Some(parent.to_owned());
        }
        let (path, lock) = make_work_folder(parent)?;
        let folder = Arc::new(WorkFolder {
            path,
            parent: parent.to_owned(),
            process: std::process::id(),
            _lock: lock,
        });
        self.folder = Arc::downgrade(&folder);
        Ok(folder)
    }
}

fn work_folder() -> Result<Arc<WorkFolder>> {
    WORK_FOLDER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .folder_in(&std::env::temp_dir())
}

/// A temporary file, for libraries that need one with a name; deleted on drop.
pub struct WorkFile {
    /// Dropped before its folder.
    file: TempPath,
    _folder: Arc<WorkFolder>,
}

impl WorkFile {
    /// Creates a file whose name ends with `ending`, and closes it when `fill` has written it.
    ///
    /// # Errors
    /// When the temporary folder cannot be written; those of `fill`.
    pub fn create(ending: &str, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<Self> {
        Self::create_in(work_folder()?, ending, fill)
    }

    fn create_in(
        folder: Arc<WorkFolder>,
        ending: &str,
        fill: impl FnOnce(&mut File) -> Result<()>,
    ) -> Result<Self> {
        let mut file = Builder::new()
            .prefix("copy-")
            .suffix(ending)
            .tempfile_in(&folder.path)
            .io_at("make a file in the temporary folder", &folder.path)?;
        fill(file.as_file_mut())?;
        Ok(Self {
            file: file.into_temp_path(),
            _folder: folder,
        })
    }

    pub fn path(&self) -> &Path {
        &self.file
    }
}

/// A temporary folder with nothing else in it; deleted with its contents on drop.
pub struct WorkSubfolder {
    /// Dropped before the folder that it is in.
    inner: TempDir,
    _folder: Arc<WorkFolder>,
}

impl WorkSubfolder {
    /// Creates an empty folder.
    ///
    /// # Errors
    /// When the temporary folder cannot be written.
    pub fn create() -> Result<Self> {
        let folder = work_folder()?;
        let inner = tempfile::tempdir_in(&folder.path)
            .io_at("make a folder in the temporary folder", &folder.path)?;
        Ok(Self {
            inner,
            _folder: folder,
        })
    }

    pub fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names_in(folder: &Path) -> Vec<OsString> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn create_file(shared: &mut SharedWorkFolder, parent: &Path) -> WorkFile {
        let folder = shared.folder_in(parent).expect("makes a folder");
        let fill = |file: &mut File| file.write_all(b"x").io_at("write", parent);
        WorkFile::create_in(folder, ".tif", fill).expect("makes a file")
    }

    #[test]
    fn files_of_a_process_share_a_folder_that_is_removed_with_the_last_one() {
        let home = tempfile::tempdir().expect("a folder");
        let mut shared = SharedWorkFolder::new();
        let first = create_file(&mut shared, home.path());
        let second = create_file(&mut shared, home.path());
        assert_eq!(first.path().parent(), second.path().parent());
        assert_eq!(names_in(home.path()).len(), 1);
        assert!(second.path().extension().is_some_and(|end| end == "tif"));
        drop(first);
        assert_eq!(std::fs::read(second.path()).expect("reads"), b"x");
        drop(second);
        assert!(names_in(home.path()).is_empty());
    }

    #[test]
    fn files_of_a_stopped_process_are_removed_and_those_of_a_running_one_kept() {
        let home = tempfile::tempdir().expect("a folder");
        let left = home.path().join(".taco-studio-work.aB3dE6.partial");
        std::fs::create_dir(&left).expect("is made");
        std::fs::write(left.join("copy.nc"), b"x").expect("is written");
        // Another process differs from this one by its open file, which has the lock.
        let running = create_file(&mut SharedWorkFolder::new(), home.path());
        assert!(!left.exists(), "no process has it");
        let second = create_file(&mut SharedWorkFolder::new(), home.path());
        remove_abandoned_work_in(home.path());
        assert!(running.path().exists() && second.path().exists());
        assert_ne!(running.path().parent(), second.path().parent());
    }

    #[test]
    fn a_folder_that_somebody_removed_is_replaced() {
        let home = tempfile::tempdir().expect("a folder");
        let mut shared = SharedWorkFolder::new();
        let first = create_file(&mut shared, home.path());
        let folder = first.path().parent().expect("has a folder").to_owned();
        std::fs::remove_dir_all(folder).expect("is removed");
        let second = create_file(&mut shared, home.path());
        assert!(second.path().exists());
    }
}
