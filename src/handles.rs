//! Files of this machine that are read for as long as a dataset is open: a bounded number of handles, the ones used last. A handle
//! that was closed is opened again when it is wanted, as the same file or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::SystemTime;

use crate::error::{Error, Kind};
use crate::files;

/// Fewest and most handles that are kept open.
const KEPT: std::ops::RangeInclusive<u64> = 16..=1024;

/// Handles that a process of this system may have open at one time.
pub fn handle_limit() -> u64 {
    #[cfg(unix)]
    {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
    }
    #[cfg(not(unix))]
    {
        // The C library of Windows, through which GDAL reads, has 512; handles of the system itself are many more.
        512
    }
}

/// Handles that are kept open here: a quarter of what the process may have. The rest is for GDAL, the window, the network and what
/// is being written.
static CAP: LazyLock<usize> = LazyLock::new(|| (handle_limit() / 4).clamp(*KEPT.start(), *KEPT.end()) as usize);

/// Counts openings: what was used since the last one is used now.
static CLOCK: AtomicU64 = AtomicU64::new(1);
/// The files that have a handle. Those that are gone are taken out when there is no room.
static OPEN: Mutex<Vec<Weak<SharedFile>>> = Mutex::new(Vec::new());

/// What tells one version of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// Device and number of the file, where the system has them.
    number: Option<(u64, u64)>,
    /// Length and time of the last change; not compared for files that are written here.
    content: Option<(u64, Option<SystemTime>)>,
}

impl Mark {
    fn of(data: &Metadata, written: bool) -> Self {
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            Some((data.dev(), data.ino()))
        };
        #[cfg(not(unix))]
        let number = None;
        Self { number, content: (!written).then(|| (data.len(), data.modified().ok())) }
    }
}

/// An open file whose handle may be closed between two reads.
pub struct SharedFile {
    path: PathBuf,
    /// How to open it again; none for a file without a name, which stays open.
    options: Option<OpenOptions>,
    mark: Mark,
    size: u64,
    handle: RwLock<Option<Arc<File>>>,
    /// [`CLOCK`] at the last use.
    used: AtomicU64,
}

impl SharedFile {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidInput`] for pipes and devices.
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        Self::with(path, files::reading(path)?, false)
    }

    /// Opens a file that is written here: its length and time may change.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_to_write(path: &Path, options: OpenOptions) -> io::Result<Arc<Self>> {
        Self::with(path, options, true)
    }

    fn with(path: &Path, mut options: OpenOptions, written: bool) -> io::Result<Arc<Self>> {
        // A relative path means another file once somebody changes the folder.
        let path = std::path::absolute(path)?;
        let file = open_or_make_room(&options, &path)?;
        let data = file.metadata()?;
        // What is opened again is there: a file that was removed must not come back empty.
        options.create(false).create_new(false).truncate(false);
        let shared = Arc::new(Self::new(path, Some(options), Mark::of(&data, written), data.len(), file));
        shared.enter();
        Ok(shared)
    }

    fn new(path: PathBuf, options: Option<OpenOptions>, mark: Mark, size: u64, file: File) -> Self {
        Self { path, options, mark, size, handle: RwLock::new(Some(Arc::new(file))), used: AtomicU64::new(0) }
    }

    /// A file that is open and has no name. It stays open.
    ///
    /// # Errors
    /// What the system says when it is asked for the length.
    pub fn of_nameless(file: File) -> io::Result<Arc<Self>> {
        let data = file.metadata()?;
        Ok(Arc::new(Self::new(PathBuf::new(), None, Mark::of(&data, true), data.len(), file)))
    }

    /// Length in bytes when it was opened.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// The open file, opened again where it was closed. Hold it no longer than for one read or write.
    ///
    /// # Errors
    /// When it has to be opened again: what the system says, and an error of [`Kind::Changed`] for another file under the same name.
    pub fn handle(self: &Arc<Self>) -> io::Result<Arc<File>> {
        let now = CLOCK.load(Ordering::Relaxed);
        if self.used.load(Ordering::Relaxed) != now {
            self.used.store(now, Ordering::Relaxed);
        }
        if let Some(file) = self.handle.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(file.clone());
        }
        let options = self.options.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let file = Arc::new(open_or_make_room(options, &self.path)?);
        let written = self.mark.content.is_none();
        if Mark::of(&file.metadata()?, written) != self.mark {
            return Err(io::Error::other(
                Error::new(Kind::Changed, "the file is another one than when it was opened, or was changed since")
                    .at_path(&self.path)
                    .hint("open the dataset again, and let nothing write to its files meanwhile"),
            ));
        }
        let mut place = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        let known = place.get_or_insert(file).clone();
        drop(place);
        self.enter();
        Ok(known)
    }

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// As [`SharedFile::handle`], and what the system says of the read.
    pub fn read_exact_at(self: &Arc<Self>, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(&*self.handle()?, offset, buffer)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// As [`SharedFile::handle`], and what the system says of the write.
    pub fn write_all_at(self: &Arc<Self>, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&*self.handle()?, offset, bytes)
    }

    /// Notes that there is a handle, and closes others where there are too many.
    fn enter(self: &Arc<Self>) {
        self.used.store(CLOCK.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let mut open = lock();
        let own = Arc::as_ptr(self);
        if !open.iter().any(|other| other.as_ptr() == own) {
            open.push(Arc::downgrade(self));
        }
        if open.len() > *CAP {
            // A few more than needed, so that not every opening looks through all.
            shrink(&mut open, *CAP - *CAP / 8);
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<Weak<SharedFile>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the handles that were used longest ago until `keep` are left.
fn shrink(open: &mut Vec<Weak<SharedFile>>, keep: usize) {
    let mut files: Vec<(u64, Arc<SharedFile>)> =
        open.iter().filter_map(Weak::upgrade).map(|file| (file.used.load(Ordering::Relaxed), file)).collect();
    files.sort_by_key(|(used, _)| *used);
    let surplus = files.len().saturating_sub(keep);
    for (_, file) in files.drain(..surplus) {
        // Who reads at this moment has a share of the handle, and closes it after the read.
        file.handle.write().unwrap_or_else(PoisonError::into_inner).take();
    }
    *open = files.iter().map(|(_, file)| Arc::downgrade(file)).collect();
}

/// Opens a file. Where the process may open no more, handles that can be opened again are closed first.
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
        let codes = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(rustix::io::Errno::raw_os_error);
        error.raw_os_error().is_some_and(|code| codes.contains(&code))
    }
    #[cfg(not(unix))]
    {
        /// `ERROR_TOO_MANY_OPEN_FILES`.
        const TOO_MANY: i32 = 4;
        error.raw_os_error() == Some(TOO_MANY)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_all_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let read = std::os::windows::fs::FileExt::seek_read(file, &mut buffer[done..], offset + done as u64)?;
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
        let written = std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], offset + done as u64)?;
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
        let count = *CAP * 2 + 10;
        let files: Vec<Arc<SharedFile>> = (0..count)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, (number as u32).to_le_bytes()).expect("writes");
                SharedFile::open(&path).expect("opens")
            })
            .collect();
        let with_handle = || files.iter().filter(|file| file.handle.read().expect("is whole").is_some()).count();
        assert!(with_handle() <= *CAP, "{} handles", with_handle());
        for round in 0..2 {
            for (number, file) in files.iter().enumerate() {
                let mut bytes = [0; 4];
                file.read_exact_at(0, &mut bytes).unwrap_or_else(|error| panic!("file {number}, round {round}: {error}"));
                assert_eq!(u32::from_le_bytes(bytes), number as u32);
            }
            assert!(with_handle() <= *CAP, "{} handles", with_handle());
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
        assert!(error.to_string().contains("another one than when it was opened"), "{error}");
        std::fs::remove_file(&path).expect("removes");
        assert_eq!(file.read_exact_at(0, &mut bytes).expect_err("is gone").kind(), io::ErrorKind::NotFound);
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
