//! Disk cache for blocks of remote files, one folder per version of a file. Every block has a
//! checksum, so a crash or tampering leads to a new request, never to wrong bytes. The size is
//! limited; least recently used files are removed first.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::fetch::FileIdentity;
use super::remote_access::remote_access;
use crate::folders::{make_file_private, make_private, private};
use crate::handles::SharedFile;

/// Block size in bytes.
pub const BLOCK: u64 = 32 << 10;
/// Bytes written between two checks of the size limit.
const BYTES_BETWEEN_CHECKS: u64 = 64 << 20;

fn lock_folders_in_use() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    remote_access().cache_use.lock_folders()
}

/// Size limit in bytes.
fn cache_cap() -> u64 {
    remote_access().limits.cache_cap()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheState {
    /// Folder; `None` when there is no cache.
    pub folder: Option<PathBuf>,
    /// Size on disk in bytes.
    pub bytes: u64,
    /// Size limit in bytes.
    pub cap_bytes: u64,
    /// Number of cached file versions.
    pub files: u64,
}

/// Cached blocks of one version of a file.
pub struct Blocks {
    folder: PathBuf,
    data: Arc<SharedFile>,
    index: Arc<SharedFile>,
    /// CRC-32 of the existing blocks, by block number.
    known: HashMap<u32, u32>,
    size: u64,
    full: bool,
}

impl Blocks {
    /// The cached blocks of this version of the file at `address`; `None` without a cache, or when
    /// the server gives nothing to identify versions by.
    pub fn open(address: &str, identity: &FileIdentity) -> Option<Self> {
        if !identity.is_known() || identity.size / BLOCK >= u64::from(u32::MAX) {
            return None;
        }
        let root = root().filter(|_| cache_cap() > 0)?;
        let opened = Self::open_in(&root, address, identity);
        if let Err(error) = &opened {
            tracing::debug!("the cache in {} can't be used: {error}", root.display());
        }
        let blocks = opened.ok()?;
        remote_access().cache_use.first_check.call_once(|| {
            trim(&root, cache_cap());
        });
        Some(blocks)
    }

    fn open_in(root: &Path, address: &str, identity: &FileIdentity) -> std::io::Result<Self> {
        make_private(root)?;
        let tag = root.join("CACHEDIR.TAG");
        if !tag.exists() {
            std::fs::write(
                tag,
                "Signature: 8a477f597d28d172789f06886806bc55\n# Bytes of remote files, made by \
                    Taco Studio.\n",
            )?;
        }
        let mut name = Sha256::new();
        for part in [
            address,
            identity.etag.as_deref().unwrap_or(""),
            &identity.modified_ms.to_string(),
            &identity.size.to_string(),
        ] {
            name.update((part.len() as u64).to_le_bytes());
            name.update(part);
        }
        let name = hex::encode(&name.finalize()[..16]);
        let folder = root.join(name);
        make_private(&folder)?;
        lock_folders_in_use().insert(folder.clone());
        let data = open_cache_file(
            &folder.join("data"),
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false),
        )?;
        let index = open_cache_file(
            &folder.join("index"),
            OpenOptions::new().read(true).append(true).create(true),
        )?;
        let mut records = Vec::new();
        (&*index.handle()?).read_to_end(&mut records)?;
        // An incomplete record at the end, left by a crash, is ignored.
        let known = records
            .chunks_exact(8)
            .filter_map(|record| {
                Some((
                    u32::from_le_bytes(record[..4].try_into().ok()?),
                    u32::from_le_bytes(record[4..].try_into().ok()?),
                ))
            })
            .collect();
        if records.len() % 8 != 0 {
            index.handle()?.set_len((records.len() / 8 * 8) as u64)?;
        }
        // The modification time records the last use.
        let _ = data.handle()?.set_modified(SystemTime::now());
        Ok(Self {
            folder,
            data,
            index,
            known,
            size: identity.size,
            full: false,
        })
    }

    /// The block, if it exists and its checksum matches.
    pub fn get(&mut self, block: u32) -> Option<Vec<u8>> {
        let checksum = *self.known.get(&block)?;
        let start = u64::from(block) * BLOCK;
        let mut bytes = vec![0; self.size.checked_sub(start)?.min(BLOCK) as usize];
        if self.data.read_exact_at(start, &mut bytes).is_err()
            || crc32fast::hash(&bytes) != checksum
        {
            self.known.remove(&block);
            return None;
        }
        tracing::debug!(
            "reads {} bytes from the cache in {}",
            bytes.len(),
            self.folder.display()
        );
        Some(bytes)
    }

    /// True when the block exists; its checksum may be wrong.
    #[cfg(test)]
    pub fn has(&self, block: u32) -> bool {
        self.known.contains_key(&block)
    }

    /// Stores the whole blocks contained in `bytes`, which begin at offset `start`. A failed write
    /// is not an error: the blocks are not stored.
    pub fn put(&mut self, start: u64, bytes: &[u8]) {
        if self.full {
            return;
        }
        let mut records = Vec::new();
        let mut block = start.div_ceil(BLOCK);
        loop {
            let first = block * BLOCK;
            let length = self.size.saturating_sub(first).min(BLOCK);
            let at = (first - start) as usize;
            let Some(part) = bytes
                .get(at..at + length as usize)
                .filter(|part| !part.is_empty())
            else {
                break;
            };
            if let Ok(number) = u32::try_from(block)
                && !self.known.contains_key(&number)
            {
                if let Err(error) = self.data.write_all_at(first, part) {
                    tracing::debug!(
                        "the cache in {} takes nothing more: {error}",
                        self.folder.display()
                    );
                    self.full = true;
                    break;
                }
                let checksum = crc32fast::hash(part);
                self.known.insert(number, checksum);
                records.extend(number.to_le_bytes());
                records.extend(checksum.to_le_bytes());
            }
            block += 1;
        }
        // The index is written after the data, so an indexed block was written.
        if self
            .index
            .handle()
            .and_then(|index| (&*index).write_all(&records))
            .is_err()
        {
            self.full = true;
        }
        let written = records.len() as u64 / 8 * BLOCK;
        let unchecked = &remote_access().cache_use.bytes_unchecked;
        if unchecked.fetch_add(written, Ordering::Relaxed) + written > BYTES_BETWEEN_CHECKS
            && let Some(root) = self.folder.parent()
        {
            unchecked.store(0, Ordering::Relaxed);
            // Files in use are not removed: when they alone reach the limit, no more blocks of this
            // file are stored.
            self.full = trim(root, cache_cap()) > cache_cap();
        }
    }
}

/// Opens a file for its owner only, as the remote files may need credentials on the server.
fn open_cache_file(path: &Path, options: &OpenOptions) -> std::io::Result<Arc<SharedFile>> {
    let file = SharedFile::open_to_write(path, private(options.clone()))?;
    make_file_private(&*file.handle()?)?;
    Ok(file)
}

impl Drop for Blocks {
    fn drop(&mut self) {
        lock_folders_in_use().remove(&self.folder);
    }
}

fn root() -> Option<PathBuf> {
    Some(crate::folders::cache_dir()?.join("remote"))
}

/// Folder of each version, its size on disk in bytes, and the time of its last use.
fn contents(root: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| measure_version(entry.path()))
        .collect()
}

/// Size and time of one version, as in [`contents`].
fn measure_version(folder: PathBuf) -> Option<(PathBuf, u64, SystemTime)> {
    let data = folder.join("data").metadata().ok()?;
    let index = folder.join("index").metadata().ok()?;
    // The data file is sparse: the index gives the number of blocks.
    Some((
        folder,
        (index.len() / 8).saturating_mul(BLOCK).min(data.len()) + index.len(),
        data.modified().ok()?,
    ))
}

/// Removes the least recently used files until the limit holds; returns the remaining size in
/// bytes.
fn trim(root: &Path, cap: u64) -> u64 {
    let mut versions = contents(root);
    let mut total: u64 = versions.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= cap {
        return total;
    }
    versions.sort_by_key(|(.., used)| *used);
    let used = lock_folders_in_use().clone();
    for (folder, bytes, _) in versions {
        if total <= cap {
            break;
        }
        if !used.contains(&folder) && std::fs::remove_dir_all(&folder).is_ok() {
            total = total.saturating_sub(bytes);
        }
    }
    total
}

/// State of the cache. Reads folders, so not for the interface thread.
pub fn cache_state() -> CacheState {
    let Some(folder) = root() else {
        return CacheState::default();
    };
    let versions = contents(&folder);
    CacheState {
        bytes: versions.iter().map(|(_, bytes, _)| bytes).sum(),
        files: versions.len() as u64,
        cap_bytes: cache_cap(),
        folder: Some(folder),
    }
}

/// Clears the cache, except for files in use by this process.
pub fn clear_cache() -> CacheState {
    if let Some(root) = root() {
        let used = lock_folders_in_use().clone();
        for (folder, ..) in contents(&root)
            .into_iter()
            .filter(|(folder, ..)| !used.contains(folder))
        {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    cache_state()
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::*;

    fn identity(etag: &str) -> FileIdentity {
        FileIdentity {
            etag: Some(etag.into()),
            modified_ms: 0,
            size: 3 * BLOCK - 100,
        }
    }

    #[test]
    fn blocks_read_back_and_damaged_ones_are_ignored() {
        let root = tempfile::tempdir().expect("a folder");
        let bytes: Vec<u8> = (0..identity("a").size).map(|i| (i % 251) as u8).collect();
        let mut blocks =
            Blocks::open_in(root.path(), "https://h/a", &identity("a")).expect("opens");
        // The incomplete first block is not stored; the short last block of the file is.
        blocks.put(100, &bytes[100..]);
        assert!(!blocks.has(0));
        let folder = blocks.folder.clone();
        drop(blocks);
        let mut again = Blocks::open_in(root.path(), "https://h/a", &identity("a")).expect("opens");
        assert_eq!(
            again.get(1).as_deref(),
            Some(&bytes[BLOCK as usize..2 * BLOCK as usize])
        );
        assert_eq!(again.get(2).expect("is there").len() as u64, BLOCK - 100);
        let mut data = OpenOptions::new()
            .write(true)
            .open(folder.join("data"))
            .expect("opens");
        data.seek(SeekFrom::Start(BLOCK + 5))
            .and_then(|_| data.write_all(b"damage"))
            .expect("writes");
        assert_eq!(again.get(1), None);
        let mut other = Blocks::open_in(root.path(), "https://h/a", &identity("b")).expect("opens");
        assert_eq!(other.get(2), None);
    }

    #[test]
    fn the_size_limit_holds_and_files_in_use_stay() {
        let root = tempfile::tempdir().expect("a folder");
        let fill = |etag: &str| {
            let mut blocks =
                Blocks::open_in(root.path(), "https://h/a", &identity(etag)).expect("opens");
            blocks.put(0, &vec![7; 2 * BLOCK as usize]);
            blocks
        };
        let day = std::time::Duration::from_secs(86_400);
        for (etag, age) in [("oldest", 3), ("older", 2)] {
            let blocks = fill(etag);
            blocks
                .data
                .handle()
                .expect("is open")
                .set_modified(SystemTime::now() - day * age)
                .expect("sets the time");
        }
        let used = fill("used");
        used.data
            .handle()
            .expect("is open")
            .set_modified(SystemTime::now() - day * 9)
            .expect("sets the time");
        assert_eq!(contents(root.path()).len(), 3);
        let left = trim(root.path(), 5 * BLOCK);
        assert!(left <= 5 * BLOCK && left > 4 * BLOCK, "{left}");
        drop(used);
        let mut older =
            Blocks::open_in(root.path(), "https://h/a", &identity("older")).expect("opens");
        assert!(
            older.get(0).is_some(),
            "the oldest that nobody uses is removed first"
        );
        assert_eq!(
            trim(root.path(), 0),
            contents(root.path())
                .iter()
                .map(|(_, bytes, _)| bytes)
                .sum::<u64>()
        );
        assert_eq!(contents(root.path()).len(), 1, "the one in use");
    }

    #[cfg(unix)]
    #[test]
    fn the_cache_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("remote");
        std::fs::create_dir(&root).expect("makes");
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).expect("sets");
        let blocks = Blocks::open_in(&root, "https://h/a", &identity("a")).expect("opens");
        let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
        assert_eq!((mode(&root), mode(&blocks.folder)), (0o700, 0o700));
        assert_eq!(
            (
                mode(&blocks.folder.join("data")),
                mode(&blocks.folder.join("index"))
            ),
            (0o600, 0o600)
        );
    }

    #[test]
    fn a_torn_index_loses_its_last_block_only() {
        let root = tempfile::tempdir().expect("a folder");
        let mut blocks =
            Blocks::open_in(root.path(), "https://h/a", &identity("a")).expect("opens");
        blocks.put(0, &vec![7; 2 * BLOCK as usize]);
        let index = blocks.folder.join("index");
        drop(blocks);
        let length = index.metadata().expect("is there").len();
        OpenOptions::new()
            .write(true)
            .open(&index)
            .and_then(|file| file.set_len(length - 3))
            .expect("cuts");
        let mut again = Blocks::open_in(root.path(), "https://h/a", &identity("a")).expect("opens");
        assert!(again.get(0).is_some() && again.get(1).is_none());
        again.put(BLOCK, &vec![7; BLOCK as usize]);
        drop(again);
        assert!(
            Blocks::open_in(root.path(), "https://h/a", &identity("a"))
                .expect("opens")
                .get(1)
                .is_some()
        );
    }
}
