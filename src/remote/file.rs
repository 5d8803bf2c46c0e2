//! A remote file read by byte ranges: from memory, from the disk cache, otherwise by coalesced
//! parallel requests. The first response determines the version; responses of another version are
//! errors.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;

use super::cache::{BLOCK, Blocks};
use super::credentials::{access_for, admit_address, connections, store_for};
pub use super::fetch::FileIdentity;
use super::fetch::{FetchedRange, RemoteTarget, fetch, means_absent};
use super::memory::KeptPieces;
use super::purpose::Purpose;
use super::remote_access::remote_access;
use super::request_attempt::FetchPart;
use super::runtime;
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{Address, Scheme};

/// Size in bytes of the first request for a dataset: its header, or all of a small file.
pub const FIRST_OF_DATASET: u64 = 64 << 10;
/// Size in bytes of the first request for a sample stored as a separate file: small ones are
/// fetched whole.
pub const FIRST_OF_SAMPLE: u64 = 512 << 10;
/// Ranges with a smaller gap in bytes are merged into one request.
const GAP: u64 = 128 << 10;
/// Maximum bytes per request: a failure costs at most this, and parallel requests need little
/// memory.
const PIECE: u64 = 16 << 20;
/// Longer ranges fetched at once are not cached, as streamed data is not read again.
const KEEP_MAX: u64 = 40 << 20;
/// Maximum bytes per read; larger reads must be split.
const READ_MAX: u64 = 384 << 20;
/// Minimum and maximum read-ahead in bytes for sequential reads.
const AHEAD: Range<u64> = 128 << 10..4 << 20;
/// Maximum number of files opened in parallel; each first response is kept in memory until the last
/// one arrives.
const OPENED_AT_ONCE: usize = 128;
/// An open file is not revalidated within this time.
const FRESH: Duration = Duration::from_secs(2);
/// Maximum number of unused files kept open.
const IDLE: usize = 64;

/// An open remote file. Calls block, and may be made from several threads.
pub struct RemoteFile {
    target: RemoteTarget,
    identity: FileIdentity,
    state: Mutex<RemoteFileState>,
}

struct RemoteFileState {
    memory: KeptPieces,
    blocks: Option<Blocks>,
    /// End of the last read, and of the data read ahead.
    ahead: (u64, u64),
    checked: Option<Instant>,
}

impl Default for RemoteFileState {
    fn default() -> Self {
        Self {
            memory: KeptPieces::new(&remote_access().memory),
            blocks: None,
            ahead: (0, 0),
            checked: None,
        }
    }
}

/// Size limit of the memory cache for all remote files in bytes.
fn memory_cap() -> u64 {
    remote_access().limits.memory_cap()
}

#[derive(Default)]
struct Open {
    files: HashMap<Arc<str>, Weak<RemoteFile>>,
    idle: VecDeque<Arc<RemoteFile>>,
    /// Number of the files that were left when closed ones were last forgotten.
    kept: usize,
}

static OPEN_FILES: Mutex<Option<Open>> = Mutex::new(None);

/// Asks the servers, in parallel, whether files are still of the versions that were read. Each file
/// is a step of the context's stage.
///
/// # Errors
/// As [`RemoteFile::expect_unchanged`].
pub fn expect_versions(files: &[(Arc<Path>, FileIdentity)], ctx: &JobContext) -> Result<()> {
    for some in files.chunks(OPENED_AT_ONCE) {
        ctx.check()?;
        let read = some
            .iter()
            .map(|(path, identity)| Ok((target_of(path)?, identity.clone())));
        expect_identities(read.collect::<Result<_>>()?)?;
        ctx.step(some.len() as u64);
    }
    Ok(())
}

fn expect_identities(files: Vec<(RemoteTarget, FileIdentity)>) -> Result<()> {
    let (purpose, limit) = (Purpose::of_thread(), connections());
    let places: Vec<Arc<str>> = files
        .iter()
        .map(|(target, _)| target.text.clone())
        .collect();
    let requests = files.into_iter().map(move |(target, identity)| {
        fetch(
            target,
            FetchPart::Range(0..1),
            Some(identity),
            purpose.clone(),
        )
    });
    let answers = async move {
        futures::stream::iter(requests)
            .buffered(limit)
            .collect::<Vec<_>>()
            .await
    };
    for (place, answer) in places.iter().zip(runtime::wait(answers)?) {
        answer.map_err(|error| {
            if means_absent(&error) {
                Error::new(Kind::Changed, "the file is no longer on the server")
                    .at_place(place)
                    .because(error)
                    .hint("open the dataset again: it was replaced or removed meanwhile")
            } else {
                error
            }
        })?;
    }
    Ok(())
}

/// The open file for `target` if it uses the same client: new credentials mean a new client,
/// possibly of another server.
fn find_open_file(target: &RemoteTarget) -> Option<Arc<RemoteFile>> {
    let found = OPEN_FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()?
        .files
        .get(&*target.text)?
        .upgrade();
    found.filter(|file| Arc::ptr_eq(&file.target.store, &target.store))
}

fn remember(file: &Arc<RemoteFile>) {
    let mut open = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    // Once in a doubling: an index may keep a file open for each of its parts.
    if open.files.len() > 2 * open.kept + IDLE {
        open.files.retain(|_, file| file.strong_count() > 0);
        open.kept = open.files.len();
    }
    open.files
        .insert(file.target.text.clone(), Arc::downgrade(file));
    open.idle
        .retain(|other| other.target.text != file.target.text);
    open.idle.push_back(file.clone());
    let surplus = (open.idle.len() > IDLE).then(|| open.idle.pop_front());
    drop(surplus);
}

/// Forgets the files that the process opened from which this one was forked. Nothing is freed.
pub(super) fn forget_open() {
    std::mem::forget(
        OPEN_FILES
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
    );
}

/// Closes the files below a remote folder, so that they are revalidated on next use. Users of an
/// open file keep it. Does nothing for local folders.
pub fn forget_below(path: &Path) {
    let Some(address) = Address::from_path(path) else {
        return;
    };
    // The query follows the path, so it is removed for the comparison.
    let above = Address {
        query: None,
        ..address
    }
    .to_string();
    let above = format!("{}/", above.trim_end_matches('/'));
    let mut open = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(kept) = open.as_mut() else { return };
    kept.files
        .retain(|text, _| !text.starts_with(above.as_str()));
    let all = std::mem::take(&mut kept.idle);
    let (gone, stay): (VecDeque<_>, VecDeque<_>) = all
        .into_iter()
        .partition(|file| file.text().starts_with(above.as_str()));
    kept.idle = stay;
    // Dropped outside the lock, as closing files may take time.
    drop(open);
    drop(gone);
}

/// Closes a file that was written, so that it is opened in its new version.
pub(super) fn forget(path: &Path) {
    let Ok(target) = target_of(path) else { return };
    let mut open = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(kept) = open.as_mut() else { return };
    kept.files.remove(&target.text);
    let all = std::mem::take(&mut kept.idle);
    let (gone, stay): (VecDeque<_>, VecDeque<_>) = all
        .into_iter()
        .partition(|file| file.text() == &*target.text);
    kept.idle = stay;
    drop(open);
    drop(gone);
}

fn target_of(path: &Path) -> Result<RemoteTarget> {
    let address = Address::from_path(path)
        .ok_or_else(|| Error::usage("this is not the address of a remote file").at_path(path))?;
    // Secrets in the query are removed here, as the address may be shown.
    let address = admit_address(address);
    let (store, key) = store_for(&address)?;
    Ok(RemoteTarget {
        text: address.to_string().into(),
        address: Arc::new(address),
        store,
        key,
    })
}

impl RemoteFile {
    /// Opens the file by requesting its first `first` bytes, which returns its length and version.
    /// A file that is already open in the same version keeps its cache.
    ///
    /// # Errors
    /// When the request fails, or the server does not support range requests.
    pub fn open(path: &Path, first: u64) -> Result<Arc<Self>> {
        let mut opened = Self::open_parts(&[path], FetchPart::Range(0..first.max(1)))?;
        opened
            .pop()
            .unwrap_or_else(|| Err(Error::internal("a file was not opened")))
    }

    /// Opens several files in parallel by requesting the last `last` bytes of each, where Parquet
    /// has its footer.
    ///
    /// # Errors
    /// When the job is cancelled; other errors are in the results.
    pub fn open_tails(paths: &[&Path], last: u64) -> Result<Vec<Result<Arc<Self>>>> {
        // Azure does not support suffix ranges.
        let part = match paths.first().and_then(|path| Address::from_path(path)) {
            Some(address) if address.scheme == Scheme::Az => FetchPart::Range(0..last),
            _ => FetchPart::Tail(last),
        };
        Self::open_parts(paths, part)
    }

    /// As [`RemoteFile::open`] for several files in parallel.
    ///
    /// # Errors
    /// When the job is cancelled; other errors are in the results.
    pub fn open_all(paths: &[&Path], first: u64) -> Result<Vec<Result<Arc<Self>>>> {
        Self::open_parts(paths, FetchPart::Range(0..first.max(1)))
    }

    fn open_parts(paths: &[&Path], part: FetchPart) -> Result<Vec<Result<Arc<Self>>>> {
        let mut opened: Vec<Option<Result<Arc<Self>>>> = Vec::with_capacity(paths.len());
        let mut asked = Vec::new();
        for path in paths {
            let target = target_of(path)?;
            match find_open_file(&target)
                .filter(|file| file.lock().checked.is_some_and(|at| at.elapsed() < FRESH))
            {
                Some(file) => opened.push(Some(Ok(file))),
                None => {
                    opened.push(None);
                    asked.push(target);
                }
            }
        }
        let mut slots = opened.iter_mut().filter(|slot| slot.is_none());
        for some in asked.chunks(OPENED_AT_ONCE) {
            let (purpose, part, limit, targets) = (
                Purpose::of_thread(),
                part.clone(),
                connections(),
                some.to_vec(),
            );
            let requests = targets
                .into_iter()
                .map(move |target| fetch(target, part.clone(), None, purpose.clone()));
            let answers = async move {
                futures::stream::iter(requests)
                    .buffered(limit)
                    .collect::<Vec<_>>()
                    .await
            };
            for (target, answer) in some.iter().zip(runtime::wait(answers)?) {
                if let Some(slot) = slots.next() {
                    *slot = Some(answer.map(|fetched| Self::of_answer(target.clone(), fetched)));
                }
            }
        }
        Ok(opened.into_iter().flatten().collect())
    }

    /// Asks the servers whether these files are still of the versions that were opened.
    ///
    /// # Errors
    /// [`Kind::Changed`] for a file of another version, or that is gone; when a request fails, or
    /// the job is cancelled.
    pub fn expect_unchanged(files: &[Arc<Self>]) -> Result<()> {
        for some in files.chunks(OPENED_AT_ONCE) {
            let opened = some
                .iter()
                .map(|file| (file.target.clone(), file.identity.clone()));
            expect_identities(opened.collect())?;
        }
        Ok(())
    }

    /// The open file of the response's version: the existing one or a new one.
    fn of_answer(target: RemoteTarget, fetched: FetchedRange) -> Arc<Self> {
        let FetchedRange {
            identity,
            start,
            bytes,
        } = fetched;
        let file = find_open_file(&target)
            .filter(|file| file.identity == identity)
            .unwrap_or_else(|| {
                // The same bucket name at another endpoint is a different file.
                let endpoint = access_for(&target.address).endpoint.unwrap_or_default();
                let blocks = Blocks::open(&format!("{endpoint} {}", target.text), &identity);
                Arc::new(Self {
                    target,
                    identity,
                    state: Mutex::new(RemoteFileState {
                        blocks,
                        ..RemoteFileState::default()
                    }),
                })
            });
        let mut state = file.lock();
        state.checked = Some(Instant::now());
        state.keep(start, bytes);
        drop(state);
        remember(&file);
        file
    }

    /// The file in the version that was opened before, or opened now with the `first` bytes at
    /// `offset`. For samples, which must be of the version that their dataset was opened in.
    ///
    /// # Errors
    /// As [`RemoteFile::open`].
    pub fn open_shared(path: &Path, offset: u64, first: u64) -> Result<Arc<Self>> {
        if let Some(file) = find_open_file(&target_of(path)?) {
            return Ok(file);
        }
        let end = offset
            .checked_add(first.max(1))
            .ok_or_else(|| Error::format("the range is outside the file").at_path(path))?;
        let mut opened = Self::open_parts(&[path], FetchPart::Range(offset..end))?;
        opened
            .pop()
            .unwrap_or_else(|| Err(Error::internal("a file was not opened")))
    }

    /// As [`RemoteFile::open`]; `None` when the server reports that the file does not exist or must
    /// not be accessed.
    ///
    /// # Errors
    /// Any other failure.
    pub fn open_if_there(path: &Path, first: u64) -> Result<Option<Arc<Self>>> {
        match Self::open(path, first) {
            Ok(file) => Ok(Some(file)),
            Err(error) if means_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The address without secrets.
    pub fn text(&self) -> &str {
        &self.target.text
    }

    /// Length in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.identity.size
    }

    /// The version that was opened.
    pub fn identity(&self) -> &FileIdentity {
        &self.identity
    }

    /// Reads `size` bytes at `offset`; sequential reads read ahead.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the range is outside the file,
    /// [`Kind::Changed`](crate::error::Kind::Changed) when the file on the server changed, or a
    /// failed request.
    pub fn read(&self, offset: u64, size: u64) -> Result<Bytes> {
        let mut range = self.checked_range(offset, size)?;
        let mut state = self.lock();
        let (end, window) = state.ahead;
        let follows = offset >= end.saturating_sub(BLOCK) && offset <= end + BLOCK && end > 0;
        let window = if follows {
            (window * 2).clamp(AHEAD.start, AHEAD.end)
        } else {
            0
        };
        state.ahead = (range.end, window);
        drop(state);
        let wanted = range.clone();
        if window > 0 {
            range.end = (range.end + window).min(self.identity.size);
        }
        let mut pieces = self.fill(&[wanted], Some(range))?;
        pieces
            .pop()
            .ok_or_else(|| Error::internal("a read gave nothing"))
    }

    /// Reads several `(offset, length)` ranges, in their order, with as few requests as possible.
    ///
    /// # Errors
    /// As [`RemoteFile::read`].
    pub fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Bytes>> {
        let ranges: Vec<Range<u64>> = ranges
            .iter()
            .map(|&(offset, size)| self.checked_range(offset, size))
            .collect::<Result<_>>()?;
        self.fill(&ranges, None)
    }

    /// Fetches ranges for later reads: as many, in order, as fit into half of the memory for remote
    /// files.
    ///
    /// # Errors
    /// When a request fails.
    pub fn prefetch(&self, ranges: &[(u64, u64)]) -> Result<()> {
        let mut room = (memory_cap() / 2).min(READ_MAX);
        let fitting = ranges.iter().copied().take_while(|(_, size)| {
            let fits = *size <= room;
            room = room.saturating_sub(*size);
            fits
        });
        let ranges: Vec<(u64, u64)> = fitting.collect();
        self.read_ranges(&ranges).map(drop)
    }

    fn checked_range(&self, offset: u64, size: u64) -> Result<Range<u64>> {
        match offset
            .checked_add(size)
            .filter(|end| *end <= self.identity.size)
        {
            Some(end) => Ok(offset..end),
            None => Err(Error::format(format!(
                "{size} bytes at {offset} are outside the file, which has {} bytes",
                self.identity.size
            ))
            .at_place(&self.target.text)
            .hint("the file may be cut short: compare its size with the original")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RemoteFileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of every range. If any range is not cached, `with` is requested instead of the
    /// ranges.
    fn fill(&self, ranges: &[Range<u64>], with: Option<Range<u64>>) -> Result<Vec<Bytes>> {
        let purpose = Purpose::of_thread();
        let total = ranges
            .iter()
            .map(|range| range.end - range.start)
            .fold(0, u64::saturating_add);
        if total > READ_MAX {
            let summary =
                format!("a remote read of {total} bytes exceeds the limit of {READ_MAX} bytes");
            return Err(Error::format(summary)
                .at_place(&self.target.text)
                .hint("download the file and open it from this disk"));
        }
        let mut state = self.lock();
        let mut here = RemotePieces::default();
        let mut missing: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            state.gather(range, self.identity.size, &mut here, &mut missing);
        }
        if missing.is_empty() {
            purpose.count_cache_read(total);
        } else {
            if let Some(with) = with {
                missing.clear();
                state.gather(&with, self.identity.size, &mut here, &mut missing);
            }
            drop(state);
            let missing = merge_ranges(missing);
            let is_kept = missing
                .iter()
                .map(|range| range.end - range.start)
                .sum::<u64>()
                <= KEEP_MAX;
            let fetched = self.fetch_all(missing, &purpose)?;
            state = self.lock();
            for FetchedRange { start, bytes, .. } in fetched {
                here.add(start, bytes.clone());
                if is_kept {
                    state.keep(start, bytes);
                }
            }
        }
        let mut filled = Vec::with_capacity(ranges.len());
        for range in ranges {
            let (bytes, is_whole) = here.cut(range).ok_or_else(|| {
                Error::internal("a range is not among the bytes that were read for it")
                    .at_place(&self.target.text)
            })?;
            // Blocks from the disk cache become one piece in memory; slices of a piece share its
            // memory.
            if is_whole && bytes.len() as u64 <= KEEP_MAX {
                state
                    .memory
                    .keep_piece(range.start, bytes.clone(), memory_cap());
            }
            filled.push(bytes);
        }
        Ok(filled)
    }

    fn fetch_all(&self, ranges: Vec<Range<u64>>, purpose: &Purpose) -> Result<Vec<FetchedRange>> {
        let (target, identity, purpose) =
            (self.target.clone(), self.identity.clone(), purpose.clone());
        let requests = ranges.into_iter().map(move |range| {
            fetch(
                target.clone(),
                FetchPart::Range(range),
                Some(identity.clone()),
                purpose.clone(),
            )
        });
        let limit = connections();
        runtime::wait(async move {
            let mut answers = futures::stream::iter(requests).buffered(limit);
            let mut fetched = Vec::new();
            while let Some(answer) = answers.next().await {
                fetched.push(answer?);
            }
            Ok(fetched)
        })?
    }
}

impl RemoteFileState {
    /// Adds the cached parts of `range` to `here`, and the others, as whole blocks, to `missing`.
    fn gather(
        &mut self,
        range: &Range<u64>,
        size: u64,
        here: &mut RemotePieces,
        missing: &mut Vec<Range<u64>>,
    ) {
        if range.is_empty() {
            return;
        }
        if let Some((start, bytes)) = self.memory.find_piece(range) {
            here.add(start, bytes);
            return;
        }
        for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            let (from, to) = (block * BLOCK, ((block + 1) * BLOCK).min(size));
            if let Some((start, bytes)) = self
                .memory
                .find_piece(&(from.max(range.start)..to.min(range.end)))
            {
                here.add(start, bytes);
                continue;
            }
            let stored = u32::try_from(block)
                .ok()
                .and_then(|block| self.blocks.as_mut()?.get(block));
            match stored {
                Some(bytes) => here.add(from, bytes.into()),
                None => missing.push(from..to),
            }
        }
    }

    /// Stores the result of a request in memory and on disk.
    fn keep(&mut self, start: u64, bytes: Bytes) {
        if bytes.len() as u64 > KEEP_MAX {
            return;
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.put(start, &bytes);
        }
        self.memory.keep_piece(start, bytes, memory_cap());
    }
}

/// Pieces of a file, by offset.
#[derive(Default)]
struct RemotePieces {
    pieces: std::collections::BTreeMap<u64, Bytes>,
}

impl RemotePieces {
    fn add(&mut self, start: u64, bytes: Bytes) {
        let longer = self
            .pieces
            .get(&start)
            .is_none_or(|known| known.len() < bytes.len());
        if longer {
            self.pieces.insert(start, bytes);
        }
    }

    /// The bytes of a range, without copying if one piece contains it, and whether they are a whole
    /// piece.
    fn cut(&self, range: &Range<u64>) -> Option<(Bytes, bool)> {
        if range.is_empty() {
            return Some((Bytes::new(), true));
        }
        let mut position = range.start;
        let mut joined: Vec<u8> = Vec::new();
        while position < range.end {
            // Pieces may overlap: the one that extends furthest is used.
            let candidates = self.pieces.range(..=position);
            let (start, bytes) =
                candidates.max_by_key(|(start, bytes)| **start + bytes.len() as u64)?;
            let from = (position - start) as usize;
            let to = ((range.end - start) as usize).min(bytes.len());
            if from >= to {
                return None;
            }
            if position == range.start && start + to as u64 == range.end {
                return Some((bytes.slice(from..to), from == 0 && to == bytes.len()));
            }
            joined.extend_from_slice(bytes.get(from..to)?);
            position = start + to as u64;
        }
        Some((joined.into(), true))
    }
}

/// Sorts ranges, merges neighbouring ones and splits long ones.
fn merge_ranges(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end + GAP => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined.into_iter().flat_map(split_range).collect()
}

fn split_range(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    (0..(range.end - range.start).div_ceil(PIECE)).map(move |piece| {
        let start = range.start + piece * PIECE;
        start..(start + PIECE).min(range.end)
    })
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "requests are lists of ranges"
)]
mod tests {
    use super::*;
    use crate::remote::admit;

    /// A file as after a server's response.
    fn remember_test_file(target: &RemoteTarget) -> Arc<RemoteFile> {
        let identity = FileIdentity {
            etag: None,
            modified_ms: 0,
            size: 1,
        };
        let file = Arc::new(RemoteFile {
            target: target.clone(),
            identity,
            state: Mutex::default(),
        });
        remember(&file);
        file
    }

    #[test]
    fn a_new_sign_in_opens_a_file_anew() {
        let target = |link: &str| target_of(Path::new(&admit(link))).expect("is an address");
        let old = target("https://anew.example/set/a.tif?sig=OLD");
        let file = remember_test_file(&old);
        assert!(find_open_file(&old).is_some_and(|known| Arc::ptr_eq(&known, &file)));
        let new = target("https://anew.example/set/a.tif?sig=NEW");
        assert_eq!(new.text, old.text);
        assert!(find_open_file(&new).is_none(), "the old link is still used");
        let file = remember_test_file(&new);
        assert!(find_open_file(&new).is_some_and(|known| Arc::ptr_eq(&known, &file)));
    }

    #[test]
    fn a_cancelled_comparison_of_versions_asks_no_server() {
        let identity = FileIdentity {
            etag: None,
            modified_ms: 0,
            size: 1,
        };
        let file: Arc<Path> = Arc::from(Path::new("https://compared.example/a.tif"));
        let ctx = JobContext::default();
        ctx.cancel();
        let error = expect_versions(&[(file, identity)], &ctx).expect_err("was cancelled");
        assert!(error.is_cancelled(), "{error}");
        assert_eq!(ctx.progress().done, 0);
    }

    #[test]
    fn files_below_a_folder_are_closed() {
        let names = [
            "set/DATA/a.tif",
            "set/DATA/b/c.tif?version=2",
            "set/DATAS/a.tif",
            "set/COLLECTION.json",
        ];
        let targets = names.map(|name| {
            target_of(Path::new(&format!("https://forgotten.example/{name}")))
                .expect("is an address")
        });
        let held = targets.each_ref().map(remember_test_file);
        forget_below(Path::new("https://forgotten.example/set/DATA?version=2"));
        assert_eq!(
            targets
                .each_ref()
                .map(|target| find_open_file(target).is_some()),
            [false, false, true, true]
        );
        let open = OPEN_FILES.lock().expect("is whole");
        let idle = |file: &Arc<RemoteFile>| {
            open.iter()
                .flat_map(|open| &open.idle)
                .any(|other| Arc::ptr_eq(other, file))
        };
        assert!(!idle(&held[0]) && !idle(&held[1]));
        drop(open);
        forget_below(Path::new("/data/set"));
    }

    #[test]
    fn near_ranges_are_one_request_and_long_ones_several() {
        assert_eq!(
            merge_ranges(vec![500_000..600_000, 0..10, 100..200]),
            [0..200, 500_000..600_000]
        );
        assert_eq!(merge_ranges(vec![0..10, GAP..GAP + 5]), [0..GAP + 5]);
        let pieces = merge_ranges(vec![0..2 * PIECE + 1]);
        assert_eq!(
            (pieces.len(), pieces[2].clone()),
            (3, 2 * PIECE..2 * PIECE + 1)
        );
    }

    #[test]
    fn a_range_is_joined_from_overlapping_pieces() {
        let mut pieces = RemotePieces::default();
        pieces.add(0, Bytes::from_static(b"abcd"));
        pieces.add(2, Bytes::from_static(b"cdef"));
        pieces.add(9, Bytes::from_static(b"jk"));
        let cut = |range: Range<u64>| pieces.cut(&range);
        assert_eq!(cut(1..6), Some((Bytes::from_static(b"bcdef"), true)));
        assert_eq!(cut(2..3), Some((Bytes::from_static(b"c"), false)));
        assert_eq!(cut(5..10), None);
        assert_eq!(cut(7..7), Some((Bytes::new(), true)));
    }

    #[test]
    fn prefetching_is_limited_by_the_memory() {
        let target = target_of(Path::new("https://prefetched.example/a")).expect("is an address");
        let file = remember_test_file(&target);
        // More than the memory limit: nothing is requested, and this is not an error.
        file.prefetch(&[(0, 1 << 40)])
            .expect("is left to the reads");
    }

    #[test]
    fn reads_above_the_limit_are_refused_without_a_request() {
        let target = target_of(Path::new("https://large.example/a")).expect("is an address");
        let identity = FileIdentity {
            etag: None,
            modified_ms: 0,
            size: 1 << 49,
        };
        let file = RemoteFile {
            target,
            identity,
            state: Mutex::default(),
        };
        for error in [
            file.read(0, 1 << 49).expect_err("is refused"),
            file.read_ranges(&[(0, READ_MAX), (5, 1)]).expect_err("too"),
        ] {
            assert!(error.to_string().contains("exceeds the limit"), "{error}");
        }
    }
}
