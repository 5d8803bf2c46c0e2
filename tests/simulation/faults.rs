//! The faults of one run: which calls fail, are cut short, end the process or exchange a source, by
//! the kind of call and its number. Everything is in memory that the process shares with the one
//! that started it, so that what happened is known after a kill.

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering,
};

use super::clock::ClockJump;
use super::system_calls::{Call, intercept};

/// Kind of a system call, by what its failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Kind {
    /// Asks what is at a path, or what a folder has.
    Look,
    /// Opens for reading.
    Open,
    Read,
    /// Creates a file, folder or link.
    Make,
    Write,
    /// Brings written data to the disk.
    Sync,
    Rename,
    Remove,
    Lock,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Look,
        Kind::Open,
        Kind::Read,
        Kind::Make,
        Kind::Write,
        Kind::Sync,
        Kind::Rename,
        Kind::Remove,
        Kind::Lock,
    ];

    /// Errors that a file system gives for such calls.
    pub const fn errors(self) -> &'static [i32] {
        match self {
            Kind::Look => &[libc::EIO, libc::EACCES, libc::ESTALE],
            Kind::Open => &[
                libc::EIO,
                libc::EACCES,
                libc::EMFILE,
                libc::ENFILE,
                libc::ESTALE,
                libc::EINTR,
            ],
            Kind::Read => &[libc::EIO, libc::ESTALE, libc::EINTR],
            Kind::Make => &[
                libc::ENOSPC,
                libc::EACCES,
                libc::EROFS,
                libc::EMFILE,
                libc::EDQUOT,
                libc::EIO,
            ],
            Kind::Write => &[
                libc::ENOSPC,
                libc::EIO,
                libc::EDQUOT,
                libc::EFBIG,
                libc::EINTR,
            ],
            Kind::Sync => &[libc::EIO, libc::ENOSPC, libc::EDQUOT],
            Kind::Rename => &[libc::EIO, libc::EACCES, libc::ENOSPC, libc::EINVAL],
            Kind::Remove => &[libc::EIO, libc::EACCES, libc::EBUSY],
            Kind::Lock => &[libc::ENOLCK, libc::EINTR],
        }
    }
}

/// The calls that are intercepted.
const CALLS: [(i64, Kind); 45] = [
    (libc::SYS_stat, Kind::Look),
    (libc::SYS_lstat, Kind::Look),
    (libc::SYS_fstat, Kind::Look),
    (libc::SYS_newfstatat, Kind::Look),
    (libc::SYS_statx, Kind::Look),
    (libc::SYS_access, Kind::Look),
    (libc::SYS_faccessat, Kind::Look),
    (libc::SYS_faccessat2, Kind::Look),
    (libc::SYS_readlink, Kind::Look),
    (libc::SYS_readlinkat, Kind::Look),
    (libc::SYS_getdents64, Kind::Look),
    (libc::SYS_open, Kind::Open),
    (libc::SYS_openat, Kind::Open),
    (libc::SYS_read, Kind::Read),
    (libc::SYS_pread64, Kind::Read),
    (libc::SYS_readv, Kind::Read),
    (libc::SYS_preadv, Kind::Read),
    (libc::SYS_creat, Kind::Make),
    (libc::SYS_mkdir, Kind::Make),
    (libc::SYS_mkdirat, Kind::Make),
    (libc::SYS_link, Kind::Make),
    (libc::SYS_linkat, Kind::Make),
    (libc::SYS_symlink, Kind::Make),
    (libc::SYS_symlinkat, Kind::Make),
    (libc::SYS_write, Kind::Write),
    (libc::SYS_pwrite64, Kind::Write),
    (libc::SYS_writev, Kind::Write),
    (libc::SYS_pwritev, Kind::Write),
    (libc::SYS_ftruncate, Kind::Write),
    (libc::SYS_truncate, Kind::Write),
    (libc::SYS_fallocate, Kind::Write),
    (libc::SYS_copy_file_range, Kind::Write),
    (libc::SYS_sendfile, Kind::Write),
    (libc::SYS_ioctl, Kind::Write),
    (libc::SYS_fsync, Kind::Sync),
    (libc::SYS_fdatasync, Kind::Sync),
    (libc::SYS_syncfs, Kind::Sync),
    (libc::SYS_sync_file_range, Kind::Sync),
    (libc::SYS_rename, Kind::Rename),
    (libc::SYS_renameat, Kind::Rename),
    (libc::SYS_renameat2, Kind::Rename),
    (libc::SYS_unlink, Kind::Remove),
    (libc::SYS_unlinkat, Kind::Remove),
    (libc::SYS_rmdir, Kind::Remove),
    (libc::SYS_flock, Kind::Lock),
];

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It fails once.
    Fail(i32),
    /// It and all later ones of its kind fail.
    FailFromNow(i32),
    /// It transfers half of what it was asked for, as the system may do at any time.
    Shorten,
    /// The process ends before it.
    Kill,
    /// The process ends before it, and what was written and not brought to the disk is lost.
    PowerLoss,
    /// Before it, a source and its other version exchange their names.
    Exchange,
}

impl Action {
    const fn code(self) -> (u32, i32) {
        match self {
            Action::Fail(error) => (1, error),
            Action::FailFromNow(error) => (2, error),
            Action::Shorten => (3, 0),
            Action::Kill => (4, 0),
            Action::PowerLoss => (5, 0),
            Action::Exchange => (6, 0),
        }
    }

    const fn of_code(code: u32, error: i32) -> Option<Self> {
        Some(match code {
            1 => Action::Fail(error),
            2 => Action::FailFromNow(error),
            3 => Action::Shorten,
            4 => Action::Kill,
            5 => Action::PowerLoss,
            6 => Action::Exchange,
            _ => return None,
        })
    }

    /// Name without the error, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Fail(_) => "error",
            Action::FailFromNow(_) => "errors from then on",
            Action::Shorten => "short",
            Action::Kill => "kill",
            Action::PowerLoss => "power loss",
            Action::Exchange => "exchange",
        }
    }
}

/// A fault at the call with this number among those of its kind, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    pub number: u64,
    pub action: Action,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} at {:?} number {}",
            self.action, self.kind, self.number
        )
    }
}

/// What a store does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAction {
    /// It answers with this status, and does nothing.
    Refuse(u16),
    /// It answers so to this request and all later ones.
    RefuseFromNow(u16),
    /// The connection ends before it does anything.
    CutBefore,
    /// It does what was asked; the connection ends before its answer.
    LoseAnswer,
    /// Half of the body of the answer is sent.
    CutAnswer,
    /// The process that asks ends before anything is done.
    KillBefore,
    /// The process that asks ends when it is done.
    KillAfter,
    /// It fails to join the parts of an upload: S3 says so in an answer with status 200.
    FailToJoin,
    /// From now on its lists lack the object that was written last.
    HideNewest,
    /// Before it, the sources at the store and their other versions exchange their names.
    Exchange,
}

impl StoreAction {
    pub const ALL: [StoreAction; 12] = [
        StoreAction::Refuse(403),
        StoreAction::Refuse(500),
        StoreAction::Refuse(503),
        StoreAction::RefuseFromNow(403),
        StoreAction::CutBefore,
        StoreAction::LoseAnswer,
        StoreAction::CutAnswer,
        StoreAction::KillBefore,
        StoreAction::KillAfter,
        StoreAction::FailToJoin,
        StoreAction::HideNewest,
        StoreAction::Exchange,
    ];

    /// Name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            StoreAction::Refuse(403) => "forbidden request",
            StoreAction::Refuse(503) => "request to come back later",
            StoreAction::Refuse(_) => "refused request",
            StoreAction::RefuseFromNow(_) => "refused requests from then on",
            StoreAction::CutBefore => "cut request",
            StoreAction::LoseAnswer => "lost answer",
            StoreAction::CutAnswer => "cut answer",
            StoreAction::KillBefore => "kill before a request",
            StoreAction::KillAfter => "kill after a request",
            StoreAction::FailToJoin => "failed completion",
            StoreAction::HideNewest => "stale lists",
            StoreAction::Exchange => "exchange at the store",
        }
    }
}

/// A fault of the request with this number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreFault {
    pub number: u64,
    pub action: StoreAction,
}

/// Maximum number of faults of a run.
pub const FAULTS: usize = 4;
/// Files whose writes are followed.
const FILES: usize = 4096;
/// Longest path, with its zero.
const PATH: usize = 512;

struct SharedFault {
    kind: AtomicU32,
    number: AtomicU64,
    code: AtomicU32,
    error: AtomicU32,
    /// The system call that it hit; -1 before.
    hit: AtomicI64,
    /// What that call was about.
    subject: [AtomicU8; PATH],
}

impl SharedFault {
    /// Keeps which call was hit.
    fn keep(&self, call: &Call, subject: Subject) {
        let mut buffer = [0; PATH];
        let text = match subject {
            Subject::Descriptor(descriptor) => path_of(descriptor, &mut buffer),
            Subject::Path { folder, path } if text_at(path).is_empty() => {
                path_of(folder, &mut buffer)
            }
            Subject::Path { path, .. } => text_at(path),
        };
        self.subject
            .iter()
            .zip(text)
            .for_each(|(into, byte)| into.store(*byte, Ordering::Relaxed));
        self.hit.store(call.number, Ordering::Release);
    }

    fn subject(&self) -> String {
        let bytes: Vec<u8> = self
            .subject
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .take_while(|byte| *byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// What a call is about.
#[derive(Clone, Copy)]
enum Subject {
    Descriptor(u64),
    /// A path, which may be relative to a folder.
    Path {
        folder: u64,
        path: u64,
    },
}

impl Subject {
    fn of(call: &Call) -> Self {
        let [first, second, third, ..] = call.arguments;
        let here = libc::AT_FDCWD as u64;
        match call.number {
            libc::SYS_openat
            | libc::SYS_statx
            | libc::SYS_newfstatat
            | libc::SYS_faccessat
            | libc::SYS_faccessat2 => Self::Path {
                folder: first,
                path: second,
            },
            libc::SYS_readlinkat | libc::SYS_mkdirat | libc::SYS_unlinkat | libc::SYS_linkat => {
                Self::Path {
                    folder: first,
                    path: second,
                }
            }
            libc::SYS_renameat | libc::SYS_renameat2 => Self::Path {
                folder: first,
                path: second,
            },
            libc::SYS_symlinkat => Self::Path {
                folder: second,
                path: third,
            },
            libc::SYS_open
            | libc::SYS_creat
            | libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_readlink => Self::Path {
                folder: here,
                path: first,
            },
            libc::SYS_mkdir
            | libc::SYS_link
            | libc::SYS_rename
            | libc::SYS_unlink
            | libc::SYS_rmdir
            | libc::SYS_truncate => Self::Path {
                folder: here,
                path: first,
            },
            libc::SYS_symlink => Self::Path {
                folder: here,
                path: second,
            },
            libc::SYS_copy_file_range => Self::Descriptor(third),
            _ => Self::Descriptor(first),
        }
    }
}

/// The text at an address; empty for none.
fn text_at<'a>(address: u64) -> &'a [u8] {
    if address == 0 {
        return &[];
    }
    // SAFETY: The code that makes the call passes a text that ends with a zero and lives as long as
    // the call.
    unsafe { std::ffi::CStr::from_ptr(address as *const libc::c_char) }.to_bytes()
}

/// The path of an open file.
fn path_of(descriptor: u64, buffer: &mut [u8; PATH]) -> &[u8] {
    let mut name = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let digits = (1..=10)
        .find(|digits| descriptor < 10_u64.pow(*digits))
        .unwrap_or(10) as usize;
    let mut number = descriptor;
    for at in (0..digits).rev() {
        name[14 + at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let arguments = [
        name.as_ptr() as u64,
        buffer.as_mut_ptr() as u64,
        PATH as u64,
    ];
    let length = Call::new(libc::SYS_readlink, &arguments).make();
    &buffer[..usize::try_from(length).unwrap_or_default()]
}

/// The run ended with success.
pub const DONE: u32 = 1;
/// With success, and a list of files that it kept as they were.
pub const DONE_UNSOUND: u32 = 2;
/// With an error.
pub const FAILED: u32 = 3;
/// With a panic, or it could not be prepared.
pub const STOPPED: u32 = 4;

/// State of a run that both processes see. Only atomics, as a handler of any thread may change it.
pub struct Shared {
    is_armed: AtomicBool,
    counts: [AtomicU64; Kind::ALL.len()],
    faults: [SharedFault; FAULTS],
    /// Whether the versions of the source have exchanged their names an odd number of times.
    is_exchanged: AtomicBool,
    /// Threads give way at calls by this number; 0: they do not.
    ways: AtomicU64,
    /// Inodes with data that is not on the disk; 0 for none.
    unsynced: [AtomicU64; FILES],
    root: [u8; PATH],
    root_length: usize,
    /// Requests to the store, and those that are broken: the number, and the place in
    /// [`StoreAction::ALL`].
    requests: AtomicU64,
    request_faults: [(AtomicU64, AtomicU64); FAULTS],
    requests_hit: AtomicU64,
    /// Readings of the wall clock, that of the jump (0: none), and its seconds.
    readings: AtomicU64,
    jump_at: AtomicU64,
    jump_s: AtomicI64,
    /// The process that runs.
    client: AtomicI64,
    /// The paths that `Exchange` exchanges.
    exchanged: [[u8; PATH]; 2],
    /// How the run ended by itself: one of the constants below; 0 not at all.
    pub ending: AtomicU32,
    message_length: AtomicU64,
    message: [u8; 4096],
}

/// Memory that this process and its children see.
pub struct SharedMemory(*mut Shared);

impl SharedMemory {
    /// # Errors
    /// When the system gives no memory.
    pub fn new() -> io::Result<Self> {
        let (access, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        // SAFETY: A new mapping of zeros, which are a valid `Shared`; it is never unmapped.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Shared>(),
                access,
                flags,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self(memory.cast()))
        }
    }

    /// The memory, which is there as long as a process that sees it.
    pub fn get(&self) -> &'static Shared {
        // SAFETY: It is never unmapped.
        unsafe { &*self.0 }
    }

    /// Prepares a run below `root`, which is this process's working directory in the run.
    pub fn prepare(
        &mut self,
        root: &Path,
        faults: &[Fault],
        store_faults: &[StoreFault],
        exchanged: Option<[&Path; 2]>,
        ways: u64,
        jump: Option<ClockJump>,
    ) {
        // SAFETY: No run is under way, so nothing else refers to the memory.
        let shared = unsafe { &mut *self.0 };
        // SAFETY: Zeros are a valid `Shared`.
        *shared = unsafe { std::mem::zeroed() };
        let put = |path: &Path, into: &mut [u8; PATH]| {
            let bytes = path.as_os_str().as_bytes();
            into[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        };
        shared.root_length = put(root, &mut shared.root);
        for (path, into) in exchanged.iter().flatten().zip(&mut shared.exchanged) {
            put(path, into);
        }
        for (fault, into) in faults.iter().zip(&shared.faults) {
            let (code, error) = fault.action.code();
            into.kind.store(fault.kind as u32, Ordering::Relaxed);
            into.number.store(fault.number, Ordering::Relaxed);
            into.error.store(error as u32, Ordering::Relaxed);
            into.code.store(code, Ordering::Relaxed);
            into.hit.store(-1, Ordering::Relaxed);
        }
        for (fault, (number, action)) in store_faults.iter().zip(&shared.request_faults) {
            let place = StoreAction::ALL
                .iter()
                .position(|known| *known == fault.action)
                .unwrap_or_default();
            action.store(place as u64, Ordering::Relaxed);
            number.store(fault.number, Ordering::Relaxed);
        }
        shared.ways.store(ways, Ordering::Relaxed);
        if let Some(ClockJump { number, seconds }) = jump {
            shared.jump_s.store(seconds, Ordering::Relaxed);
            shared.jump_at.store(number, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// Intercepts the calls of this process, which ends soon.
    ///
    /// # Errors
    /// When the system takes no filter.
    pub fn intercept(&'static self) -> io::Result<()> {
        CURRENT.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
        let numbers: Vec<i64> = CALLS.iter().map(|(number, _)| *number).collect();
        intercept(&numbers, decide)?;
        self.is_armed.store(true, Ordering::Release);
        Ok(())
    }

    /// From now on nothing fails.
    pub fn disarm(&self) {
        self.is_armed.store(false, Ordering::Release);
    }

    /// The calls of each kind below the root so far.
    pub fn counts(&self) -> [u64; Kind::ALL.len()] {
        self.counts
            .each_ref()
            .map(|count| count.load(Ordering::Relaxed))
    }

    /// Counts a request to the store; returns its fault.
    pub fn fault_of_request(&self) -> Option<StoreAction> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let action = |(_, action): &(AtomicU64, AtomicU64)| {
            StoreAction::ALL
                .get(action.load(Ordering::Relaxed) as usize)
                .copied()
        };
        let is_hit = |fault: &(AtomicU64, AtomicU64)| {
            let at = fault.0.load(Ordering::Relaxed);
            let lasts = matches!(action(fault), Some(StoreAction::RefuseFromNow(_)));
            at == number || at != 0 && lasts && at < number
        };
        let found = self.request_faults.iter().position(is_hit)?;
        self.requests_hit.fetch_or(1 << found, Ordering::Relaxed);
        action(&self.request_faults[found])
    }

    /// The requests to the store so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The faults of requests that happened.
    pub fn request_hits(&self) -> Vec<StoreAction> {
        let hits = self.requests_hit.load(Ordering::Relaxed);
        let faults = self
            .request_faults
            .iter()
            .enumerate()
            .filter(|(at, _)| hits & (1 << at) != 0);
        faults
            .filter_map(|(_, (_, action))| {
                StoreAction::ALL
                    .get(action.load(Ordering::Relaxed) as usize)
                    .copied()
            })
            .collect()
    }

    /// Counts a reading of the wall clock; returns the seconds by which it has jumped.
    pub fn read_clock(&self) -> i64 {
        let number = self.readings.fetch_add(1, Ordering::Relaxed) + 1;
        let at = self.jump_at.load(Ordering::Relaxed);
        if at != 0 && number >= at {
            self.jump_s.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// The readings of the wall clock so far.
    pub fn clock_readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }

    /// This process is the one that runs.
    pub fn become_client(&self) {
        self.client
            .store(i64::from(std::process::id()), Ordering::Release);
    }

    /// Ends the process that runs.
    pub fn kill_client(&self) {
        let client = self.client.load(Ordering::Acquire) as libc::pid_t;
        if client > 1 {
            // SAFETY: A process of this simulation, which waits for an answer.
            unsafe { libc::kill(client, libc::SIGKILL) };
        }
    }

    /// The faults that happened, and what the calls were about.
    pub fn hits(&self) -> Vec<(Fault, String)> {
        let known = |fault: &SharedFault| {
            let action = Action::of_code(
                fault.code.load(Ordering::Relaxed),
                fault.error.load(Ordering::Relaxed) as i32,
            )?;
            let kind = Kind::ALL[fault.kind.load(Ordering::Relaxed) as usize];
            let is_hit = fault.hit.load(Ordering::Relaxed) >= 0;
            is_hit.then(|| {
                (
                    Fault {
                        kind,
                        number: fault.number.load(Ordering::Relaxed),
                        action,
                    },
                    fault.subject(),
                )
            })
        };
        self.faults.iter().filter_map(known).collect()
    }

    pub fn is_exchanged(&self) -> bool {
        self.is_exchanged.load(Ordering::Relaxed)
    }

    /// Inodes with data that is not on the disk.
    pub fn unsynced(&self) -> Vec<u64> {
        self.unsynced
            .iter()
            .map(|inode| inode.load(Ordering::Relaxed))
            .filter(|inode| *inode != 0)
            .collect()
    }

    /// Stores what the run said at its end.
    pub fn say(&self, ending: u32, message: &str) {
        let bytes = &message.as_bytes()[..message.len().min(self.message.len())];
        // SAFETY: Only the thread that ends the run writes here, and the other process reads when
        // it has ended.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.message.as_ptr().cast_mut(),
                bytes.len(),
            )
        };
        self.message_length
            .store(bytes.len() as u64, Ordering::Relaxed);
        self.ending.store(ending, Ordering::Release);
    }

    pub fn message(&self) -> String {
        String::from_utf8_lossy(
            &self.message[..self.message_length.load(Ordering::Relaxed) as usize],
        )
        .into_owned()
    }

    fn is_below_root(&self, path: &[u8]) -> bool {
        path.starts_with(&self.root[..self.root_length])
    }

    /// Whether what a call is about is below the root.
    fn is_ours(&self, subject: Subject) -> bool {
        match subject {
            Subject::Descriptor(descriptor) => {
                let mut path = [0; PATH];
                self.is_below_root(path_of(descriptor, &mut path))
            }
            Subject::Path { folder, path } => match text_at(path) {
                // An empty path is the file of the descriptor.
                [] => folder as i32 != libc::AT_FDCWD && self.is_ours(Subject::Descriptor(folder)),
                text @ [b'/', ..] => self.is_below_root(text),
                // The working directory is the root.
                _ if folder as i32 == libc::AT_FDCWD => true,
                _ => self.is_ours(Subject::Descriptor(folder)),
            },
        }
    }

    /// Follows which files have data that is not on the disk.
    fn follow(&self, call: &Call) {
        if call.number == libc::SYS_syncfs {
            self.unsynced
                .iter()
                .for_each(|inode| inode.store(0, Ordering::Relaxed));
            return;
        }
        let descriptor = match call.number {
            libc::SYS_copy_file_range => call.arguments[2],
            _ => call.arguments[0],
        };
        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
        if Call::new(libc::SYS_fstat, &[descriptor, stat.as_mut_ptr() as u64]).make() != 0 {
            return;
        }
        // SAFETY: The call succeeded.
        let inode = unsafe { stat.assume_init() }.st_ino;
        let found = self
            .unsynced
            .iter()
            .find(|known| known.load(Ordering::Relaxed) == inode);
        match (found, call.number) {
            (Some(known), libc::SYS_fsync | libc::SYS_fdatasync) => {
                known.store(0, Ordering::Relaxed)
            }
            (None, libc::SYS_fsync | libc::SYS_fdatasync) | (Some(_), _) => {}
            (None, _) => {
                let take = |free: &&AtomicU64| {
                    free.compare_exchange(0, inode, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok()
                };
                let _ = self.unsynced.iter().find(take);
            }
        }
    }

    /// The versions of the source exchange their names.
    fn exchange(&self) {
        let [one, other] = self.exchanged.each_ref().map(|path| path.as_ptr() as u64);
        let folder = libc::AT_FDCWD as u64;
        let call = Call::new(
            libc::SYS_renameat2,
            &[folder, one, folder, other, u64::from(libc::RENAME_EXCHANGE)],
        );
        if call.make() == 0 {
            self.is_exchanged.fetch_xor(true, Ordering::Relaxed);
        }
    }

    fn decide(&self, call: Call) -> i64 {
        let Some(&(_, kind)) = CALLS.iter().find(|(number, _)| *number == call.number) else {
            return call.make();
        };
        let [_, second, third, ..] = call.arguments;
        let makes = |flags: u64| flags as i32 & (libc::O_CREAT | libc::O_TRUNC) != 0;
        let kind = match call.number {
            libc::SYS_open if makes(second) => Kind::Make,
            libc::SYS_openat if makes(third) => Kind::Make,
            // Clones of files alone.
            libc::SYS_ioctl if !matches!(second, 0x4004_9409 | 0x4020_940D) => return call.make(),
            _ => kind,
        };
        let subject = Subject::of(&call);
        let is_ours = self.is_ours(subject);
        if !is_ours {
            return call.make();
        }
        let number = self.counts[kind as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let ways = self.ways.load(Ordering::Relaxed);
        if ways != 0 && mixed(ways ^ number ^ ((kind as u64) << 32)).is_multiple_of(4) {
            Call::new(libc::SYS_sched_yield, &[]).make();
        }
        let mut call = call;
        for fault in &self.faults {
            if fault.kind.load(Ordering::Relaxed) != kind as u32 {
                continue;
            }
            let Some(action) = Action::of_code(
                fault.code.load(Ordering::Relaxed),
                fault.error.load(Ordering::Relaxed) as i32,
            ) else {
                continue;
            };
            let at = fault.number.load(Ordering::Relaxed);
            let is_met = if matches!(action, Action::FailFromNow(_)) {
                number >= at
            } else {
                number == at
            };
            if !is_met {
                continue;
            }
            fault.keep(&call, subject);
            match action {
                Action::Fail(error) | Action::FailFromNow(error) => return -i64::from(error),
                Action::Kill | Action::PowerLoss => {
                    let own = Call::new(libc::SYS_getpid, &[]).make() as u64;
                    Call::new(libc::SYS_kill, &[own, libc::SIGKILL as u64]).make();
                }
                Action::Exchange => self.exchange(),
                Action::Shorten => {
                    let length = match call.number {
                        libc::SYS_copy_file_range => Some(4),
                        libc::SYS_sendfile => Some(3),
                        libc::SYS_read
                        | libc::SYS_pread64
                        | libc::SYS_write
                        | libc::SYS_pwrite64 => Some(2),
                        _ => None,
                    };
                    if let Some(length) = length {
                        call.arguments[length] = call.arguments[length].div_ceil(2);
                    }
                }
            }
        }
        if matches!(kind, Kind::Write | Kind::Sync) {
            self.follow(&call);
        }
        call.make()
    }
}

/// A number in which each bit depends on all bits of another (the end of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Whether this system takes a filter; otherwise the reason.
///
/// # Errors
/// When it takes none.
pub fn can_intercept() -> Result<(), String> {
    let shared = SharedMemory::new()
        .map_err(|error| error.to_string())?
        .get();
    // SAFETY: The child makes calls of the system alone, then ends.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error().to_string()),
        0 => {
            let code = i32::from(shared.intercept().is_err());
            // SAFETY: Ends the child.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: Waits for the own child.
            while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {}
            if status == 0 {
                Ok(())
            } else {
                Err("system calls can't be intercepted here".into())
            }
        }
    }
}

static CURRENT: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

/// The state of the run of this process, while faults happen.
pub fn current() -> Option<&'static Shared> {
    // SAFETY: Null, or memory that is mapped as long as the process lives.
    let shared = unsafe { CURRENT.load(Ordering::Acquire).as_ref() }?;
    shared.is_armed.load(Ordering::Relaxed).then_some(shared)
}

fn decide(call: Call) -> i64 {
    match current() {
        Some(shared) => shared.decide(call),
        None => call.make(),
    }
}
