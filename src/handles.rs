//! Local files that stay in use while a dataset is open, with a bounded number of open handles
//! (least recently used are closed). A closed handle is reopened on demand, and fails when the file
//! was replaced.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::SystemTime;

use crate::error::{Error, Kind};
use crate::files;

/// Minimum and maximum of [`HandlePool::limit`].
const KEPT: std::ops::RangeInclusive<u64> = 16..=1024;

/// Maximum number of open handles of a process on this system.
pub fn handle_limit() -> u64 {
    #[cfg(unix)]
    {
        rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(u64::MAX)
    }
    #[cfg(not(unix))]
    {
        // The C runtime of Windows, through which GDAL reads, allows 512; system handles are far
        // more.
        512
    }
}

/// The open handles of this process.
struct HandlePool {
    /// Maximum number of handles kept open here: a quarter of the process limit. The rest is for
    /// GDAL, the window, the network and outputs.
    limit: usize,
    /// Logical clock of openings, for finding the least recently used.
    clock: AtomicU64,
    /// Files with an open handle; dropped files are removed when the list is full.
    files: Mutex<Vec<Weak<SharedFile>>>,
}

static HANDLES: LazyLock<HandlePool> = LazyLock::new(|| HandlePool {
    limit: (handle_limit() / 4).clamp(*KEPT.start(), *KEPT.end()) as usize,
    clock: AtomicU64::new(1),
    files: Mutex::default(),
});

/// Identity of a file's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HandleMark {
    /// Device (on Windows volume) and number of the file on it, where the file system has them.
    number: Option<(u64, u64)>,
    /// Length and modification time; `None` for files that are being written.
    content: Option<(u64, Option<SystemTime>)>,
}

impl HandleMark {
    fn from_file(file: &File, written: bool) -> io::Result<Self> {
        let data = file.metadata()?;
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            Some((data.dev(), data.ino()))
        };
        #[cfg(windows)]
        let number = crate::windows_api::file_number(file).ok();
        Ok(Self {
            number,
            content: (!written).then(|| (data.len(), data.modified().ok())),
        })
    }
}

/// An open file whose handle may be closed between two reads.
pub struct SharedFile {
    path: PathBuf,
    /// Options for reopening; `None` for a file without a name, which stays open.
    options: Option<OpenOptions>,
    mark: HandleMark,
    size: u64,
    handle: RwLock<Option<Arc<File>>>,
    /// [`HandlePool::clock`] at the last use.
    used: AtomicU64,
}

impl SharedFile {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// The system's error; [`io::ErrorKind::InvalidInput`] for pipes and devices.
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        Self::open_with_options(path, files::read_options(path)?, false)
    }

    /// Opens a file for writing: its length and modification time may change.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_to_write(path: &Path, options: OpenOptions) -> io::Result<Arc<Self>> {
        Self::open_with_options(path, options, true)
    }

    fn open_with_options(
        path: &Path,
        mut options: OpenOptions,
        written: bool,
    ) -> io::Result<Arc<Self>> {
        // Absolute, as the working directory may change.
        let path = std::path::absolute(path)?;
        let file = open_or_make_room(&options, &path)?;
        let (mark, size) = (
            HandleMark::from_file(&file, written)?,
            file.metadata()?.len(),
        );
        // Reopening must not create or truncate the file.
        options.create(false).create_new(false).truncate(false);
        let shared = Arc::new(Self::new(path, Some(options), mark, size, file));
        shared.enter();
        Ok(shared)
    }

    fn new(
        path: PathBuf,
        options: Option<OpenOptions>,
        mark: HandleMark,
        size: u64,
        file: File,
    ) -> Self {
        Self {
            path,
            options,
            mark,
            size,
            handle: RwLock::new(Some(Arc::new(file))),
            used: AtomicU64::new(0),
        }
    }

    /// Wraps an open temporary file without a name, which stays open.
    ///
    /// # Errors
    /// The system's error when its length cannot be read.
    pub fn of_nameless(file: File) -> io::Result<Arc<Self>> {
        let (mark, size) = (HandleMark::from_file(&file, true)?, file.metadata()?.len());
        Ok(Arc::new(Self::new(PathBuf::new(), None, mark, size, file)))
    }

    /// Length in bytes at opening.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// The open handle, reopened if it was closed. To be held for one read or write only.
    ///
    /// # Errors
    /// When reopening fails: the system's error, or [`Kind::Changed`] for another file of the same
    /// name.
    pub fn handle(self: &Arc<Self>) -> io::Result<Arc<File>> {
        let now = HANDLES.clock.load(Ordering::Relaxed);
        if self.used.load(Ordering::Relaxed) != now {
            self.used.store(now, Ordering::Relaxed);
        }
        if let Some(file) = self
            .handle
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
        {
            return Ok(file.clone());
        }
        let options = self.options.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let file = Arc::new(open_or_make_room(options, &self.path)?);
        let written = self.mark.content.is_none();
        if HandleMark::from_file(&file, written)? != self.mark {
            return Err(io::Error::other(
                Error::new(
                    Kind::Changed,
                    "the file was replaced or modified after it was opened",
                )
                .at_path(&self.path)
                .hint("open the dataset again, and do not write to its files while it is open"),
            ));
        }
        let mut place = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have opened it meanwhile.
        let known = place.get_or_insert(file).clone();
        drop(place);
        self.enter();
        Ok(known)
    }

    /// Fills `buffer` with the bytes from `offset`.
    ///
    /// # Errors
    /// As [`SharedFile::handle`], or the system's error of the read.
    pub fn read_exact_at(self: &Arc<Self>, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(&*self.handle()?, offset, buffer)
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// As [`SharedFile::handle`], or the system's error of the write.
    pub fn write_all_at(self: &Arc<Self>, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&*self.handle()?, offset, bytes)
    }

    /// Registers an open handle, and closes others above the limit.
    fn enter(self: &Arc<Self>) {
        self.used.store(
            HANDLES.clock.fetch_add(1, Ordering::Relaxed) + 1,
            Ordering::Relaxed,
        );
        let mut open = lock();
        let own = Arc::downgrade(self);
        if !open.iter().any(|other| Weak::ptr_eq(other, &own)) {
            open.push(own);
        }
        if open.len() > HANDLES.limit {
            // Closes a few more than necessary, so that not every opening searches the list.
            shrink(&mut open, HANDLES.limit - HANDLES.limit / 8);
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<Weak<SharedFile>>> {
    let files = &HANDLES.files;
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the least recently used handles until `keep` remain.
fn shrink(open: &mut Vec<Weak<SharedFile>>, keep: usize) {
    let mut files: Vec<(u64, Arc<SharedFile>)> = open
        .iter()
        .filter_map(Weak::upgrade)
        .map(|file| (file.used.load(Ordering::Relaxed), file))
        .collect();
    files.sort_by_key(|(used, _)| *used);
    let surplus = files.len().saturating_sub(keep);
    for (_, file) in files.drain(..surplus) {
        // A running read keeps its own reference, which closes the handle afterwards.
        file.handle
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
    *open = files.iter().map(|(_, file)| Arc::downgrade(file)).collect();
}

/// Opens a file. At the process limit, handles that can be reopened are closed first.
fn open_or_make_room(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let outcome = options.open(path);
    if !outcome.as_ref().is_err_and(is_out_of_handles) {
        return outcome;
    }
    let mut open = lock();
    let keep = open.len() / 4;
    shrink(&mut open, keep);
    drop(open);
    options.open(path)
}

fn is_out_of_handles(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        let codes = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
            .map(rustix::io::Errno::raw_os_error);
        error
            .raw_os_error()
            .is_some_and(|code| codes.contains(&code))
    }
    #[cfg(not(unix))]
    {
        /// Windows error `ERROR_TOO_MANY_OPEN_FILES`.
        const TOO_MANY: i32 = 4;
        error.raw_os_error() == Some(TOO_MANY)
    }
}

/// Fills `buffer` with the bytes at `offset`.
///
/// # Errors
/// An IO error, also at the end of the file.
#[cfg(unix)]
pub fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_all_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Fills `buffer` with the bytes at `offset`.
///
/// # Errors
/// An IO error, also at the end of the file.
#[cfg(windows)]
pub fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let read = std::os::windows::fs::FileExt::seek_read(
            file,
            &mut buffer[done..],
            offset + done as u64,
        )?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        done += read;
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let written =
            std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], offset + done as u64)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        done += written;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(file: &SharedFile) {
        file.handle.write().expect("is whole").take();
    }

    #[test]
    fn more_files_than_handles_can_be_read_in_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = HANDLES.limit * 2 + 10;
        let files: Vec<Arc<SharedFile>> = (0..count)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, (number as u32).to_le_bytes()).expect("writes");
                SharedFile::open(&path).expect("opens")
            })
            .collect();
        let with_handle = || {
            files
                .iter()
                .filter(|file| file.handle.read().expect("is whole").is_some())
                .count()
        };
        assert!(with_handle() <= HANDLES.limit, "{} handles", with_handle());
        for round in 0..2 {
            for (number, file) in files.iter().enumerate() {
                let mut bytes = [0; 4];
                file.read_exact_at(0, &mut bytes)
                    .unwrap_or_else(|error| panic!("file {number}, round {round}: {error}"));
                assert_eq!(u32::from_le_bytes(bytes), number as u32);
            }
            assert!(with_handle() <= HANDLES.limit, "{} handles", with_handle());
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_not_opened_again_as_the_old_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one").expect("writes");
        let file = SharedFile::open(&path).expect("opens");
        let mut bytes = [0; 3];
        closed(&file);
        file.read_exact_at(0, &mut bytes).expect("the same file");
        assert_eq!(&bytes, b"one");
        closed(&file);
        std::fs::write(folder.path().join("b"), "two").expect("writes");
        std::fs::rename(folder.path().join("b"), &path).expect("replaces");
        let error = file.read_exact_at(0, &mut bytes).expect_err("another file");
        assert!(
            error
                .to_string()
                .contains("replaced or modified after it was opened"),
            "{error}"
        );
        std::fs::remove_file(&path).expect("removes");
        assert_eq!(
            file.read_exact_at(0, &mut bytes)
                .expect_err("is gone")
                .kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn a_file_that_is_written_here_goes_on_after_it_was_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = SharedFile::open_to_write(&folder.path().join("a"), options).expect("opens");
        file.write_all_at(0, b"one").expect("writes");
        closed(&file);
        file.write_all_at(3, b"two").expect("writes");
        let mut bytes = [0; 6];
        file.read_exact_at(0, &mut bytes).expect("reads");
        assert_eq!(&bytes, b"onetwo");
    }
}
