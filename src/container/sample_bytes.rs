//! Reading the samples' bytes, whole or streamed. Bytes of a container are compared with the checksum that it states, files and
//! containers with what they were when the dataset was planned; a difference is an error with the sample's path.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::SystemTime;

use super::source::changed;
use super::zip::{Checksums, HEADER_ROOM, is_archive, stated_before};
use super::{Assembly, BuildPlan, ByteSource, Directory, RowSource, TacoHeader};
use crate::error::{Error, IoContext, Kind, Result, settled};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Modified, Stamp, is_remote};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile};

/// Files up to this size are read whole; larger ones are streamed.
pub const WHOLE_MAX: u64 = 4 << 20;
/// Bytes read at a time from a large file.
const CHUNK: usize = 1 << 20;

/// Bytes and files of another machine that are brought ahead of the writer.
const AHEAD_BYTES: u64 = 16 << 20;
const AHEAD_FILES: usize = 32;
/// Containers that are kept open.
const HELD_MAX: usize = 64;

/// Fills a buffer from a place in a source; sources that are read in order ignore the place.
type ReadAt = dyn FnMut(u64, &mut [u8]) -> Result<()>;

/// What a copy does with bytes that do not have the checksum that their container states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDamage {
    /// It stops, and nothing is written.
    #[default]
    Stop,
    /// It copies the bytes as they are, and lists the samples.
    Keep,
}

/// What a sample's bytes were when they were copied.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// CRC-32 of the bytes.
    pub crc: u32,
    /// When a file of this machine was last changed.
    pub modified: Option<SystemTime>,
}

/// The sources of one copy: containers that are open, and what was found damaged.
#[derive(Default)]
pub struct Sources {
    containers: Mutex<HashMap<Arc<Path>, Arc<Held>>>,
    /// How far the plan's remote files were brought ahead of the writer.
    ahead: Mutex<usize>,
    on_damage: OnDamage,
    /// The samples.
    damaged: Mutex<BTreeSet<String>>,
}

/// An open container.
struct Held {
    file: ByteSource,
    stated: OnceLock<Stated>,
    /// The directory of an archive of another machine, where local headers do not state the checksums.
    far: OnceLock<Option<Checksums>>,
    /// Versions that were compared with it, and are it.
    accepted: RwLock<Vec<Arc<Stamp>>>,
}

/// How a container states the checksums of its members.
enum Stated {
    /// Not at all.
    Nowhere,
    /// In the central directory.
    Directory(Checksums),
    /// In the local header of each member: where the directory can't be read, or lies far away.
    Headers,
}

impl Held {
    fn new(file: ByteSource) -> Self {
        Self { file, stated: OnceLock::new(), far: OnceLock::new(), accepted: RwLock::default() }
    }

    /// How the container states checksums; what can't be found out now is asked again.
    fn stated(&self) -> Result<&Stated> {
        if let Some(known) = self.stated.get() {
            return Ok(known);
        }
        let found = match is_archive(&self.file)? {
            false => Stated::Nowhere,
            // A directory may be larger than what is copied, and a local header comes along with the data.
            true if self.file.is_remote() => Stated::Headers,
            true => match settled(Directory::read(&self.file))? {
                Ok(directory) => Stated::Directory(Checksums::of(&directory)),
                Err(_) => Stated::Headers,
            },
        };
        Ok(self.stated.get_or_init(|| found))
    }

    /// The checksums in the directory of an archive of another machine; `None` where it has none that can be read.
    fn far(&self) -> Result<Option<&Checksums>> {
        if let Some(known) = self.far.get() {
            return Ok(known.as_ref());
        }
        let found = match self.file.is_remote() {
            true => settled(Directory::read(&self.file))?.ok().map(|directory| Checksums::of(&directory)),
            false => None,
        };
        Ok(self.far.get_or_init(|| found).as_ref())
    }

    /// An error when ranges of this version are not those of the open container.
    fn expect(&self, stamp: &Arc<Stamp>) -> Result<()> {
        let known = |accepted: &[Arc<Stamp>]| accepted.iter().any(|known| Arc::ptr_eq(known, stamp) || known == stamp);
        if known(&self.accepted.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        self.file.expect(stamp)?;
        // Times have steps, and can be set: where the directory is known, it decides.
        if let (Some(directory), Stated::Directory(own)) = (stamp.directory, self.stated()?)
            && own.digest != directory
        {
            return Err(changed(self.file.path(), stamp, self.file.stamp()));
        }
        self.accepted.write().unwrap_or_else(PoisonError::into_inner).push(stamp.clone());
        Ok(())
    }

    /// The checksum that the container states for a range; `None` where it states none.
    fn crc(&self, offset: u64, size: u64, is_known: bool) -> Result<Option<u32>> {
        let way = self.stated()?;
        let stated = match way {
            Stated::Nowhere => return Ok(None),
            Stated::Directory(checksums) => checksums.stated(&self.file, offset, size)?,
            Stated::Headers => match (stated_before(&self.file, offset, size)?, self.file.is_remote()) {
                (None, true) => self.far()?.map(|far| far.stated(&self.file, offset, size)).transpose()?.flatten(),
                (stated, _) => stated,
            },
        };
        match (stated, way) {
            (Some(crc), _) => Ok(Some(crc)),
            (None, Stated::Headers) if !self.file.is_remote() => {
                let error = Error::new(
                    Kind::Damaged,
                    "the archive's directory can't be read, so nothing tells whether the bytes are whole",
                );
                Err(take_another(error).at_path(self.file.path()))
            }
            // Nobody knows in which version the range was found; in this one it is none.
            (None, _) if !is_known && self.is_taco()? => {
                let summary = format!(
                    "no member of the archive is {size} bytes at {offset}: it is not the one any more in which the sample was found"
                );
                let error = Error::new(Kind::Changed, summary).at_path(self.file.path());
                Err(error.hint("add the sample again, or bring back the archive as it was"))
            }
            (None, _) => Ok(None),
        }
    }

    fn is_taco(&self) -> Result<bool> {
        let start = self.file.read(0, super::zip::HEADER_END.min(self.file.size_bytes()));
        Ok(settled(start)?.is_ok_and(|start| TacoHeader::parse(&start).is_ok()))
    }
}

/// Looks at samples that are read by others than a copy: they are compared with the checksums that their containers state.
pub struct SourceCheck(Sources);

impl SourceCheck {
    /// A check that does this with damaged bytes.
    pub fn new(on_damage: OnDamage) -> Self {
        Self(Sources::new(on_damage))
    }

    /// Reads a sample, if its container states a checksum. `name` is the sample's path.
    ///
    /// # Errors
    ///
    /// [`Kind::Changed`] and [`Kind::Damaged`], as for every copy.
    pub fn check(&self, source: &RowSource, name: &dyn Fn() -> String, ctx: &JobContext) -> Result<()> {
        let RowSource::Asset { path: AssetPath::Range { container, offset, size, stamp }, .. } = source else { return Ok(()) };
        let checked = self.0.container(container, *offset, *size, stamp.as_ref()).and_then(|held| match held.stated()? {
            Stated::Nowhere => Ok(()),
            Stated::Directory(_) | Stated::Headers => self.0.stream(source, name, ctx, &mut |_| Ok(())).map(drop),
        });
        checked.map_err(|error| named(error, &name()))
    }

    /// Ends the check: every container is still what it was. Gives the samples that are damaged.
    ///
    /// # Errors
    ///
    /// [`Kind::Changed`] when somebody wrote to a container meanwhile.
    pub fn finish(self) -> Result<Vec<String>> {
        self.0.finish()
    }
}

impl Sources {
    /// Sources of a copy that does this with damaged bytes.
    pub fn new(on_damage: OnDamage) -> Self {
        Self { on_damage, ..Self::default() }
    }

    /// Ends the copy: every container is still what it was when it was opened. Gives the samples that are damaged, which are none
    /// unless damage may pass.
    pub fn finish(self) -> Result<Vec<String>> {
        let held = self.containers.into_inner().unwrap_or_else(PoisonError::into_inner);
        held.values().try_for_each(|held| held.file.expect_unchanged())?;
        Ok(self.damaged.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect())
    }

    fn container(&self, path: &Arc<Path>, offset: u64, size: u64, stamp: Option<&Arc<Stamp>>) -> Result<Arc<Held>> {
        let held = {
            let mut open = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
            match open.get(path) {
                Some(held) => held.clone(),
                None => {
                    if open.len() >= HELD_MAX {
                        let mut unchanged = Ok(());
                        open.retain(|_, held| {
                            let used = Arc::strong_count(held) > 1;
                            if !used && unchanged.is_ok() {
                                unchanged = held.file.expect_unchanged();
                            }
                            used
                        });
                        unchanged?;
                    }
                    let held = Arc::new(Held::new(ByteSource::open_for(&AssetPath::range(path.clone(), offset, size))?));
                    open.insert(path.clone(), held.clone());
                    held
                }
            }
        };
        if let Some(stamp) = stamp {
            held.expect(stamp)?;
        }
        Ok(held)
    }

    /// Files to write side by side before those behind them are brought: all of them when they lie on this machine.
    pub fn batch(&self, plan: &BuildPlan, assembly: &Assembly) -> usize {
        let remote = |source: &RowSource| matches!(source, RowSource::Asset { path, .. } if path.remote_file().is_some());
        match plan.files.iter().any(|file| remote(plan.source(assembly, file))) {
            true => AHEAD_FILES,
            false => plan.files.len().max(1),
        }
    }

    /// Has the remote files of this part of the plan at hand, and some behind it: in few requests, side by side. What can't be
    /// had is left to the read that needs it, which knows the sample's name.
    pub fn bring(&self, plan: &BuildPlan, assembly: &Assembly, next: &Range<usize>) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if next.end <= *ahead {
            return;
        }
        let mut ranges: Vec<(Arc<Path>, u64, u64)> = Vec::new();
        let mut files: Vec<Arc<Path>> = Vec::new();
        let (mut bytes, mut at) = (0, next.start.max(*ahead));
        while let Some(file) = plan.files.get(at).filter(|_| bytes < AHEAD_BYTES && files.len() < AHEAD_FILES) {
            at += 1;
            let RowSource::Asset { path, size, .. } = plan.source(assembly, file) else { continue };
            if *size > WHOLE_MAX {
                continue;
            }
            match path {
                AssetPath::Range { container, offset, size, .. } if is_remote(container) => {
                    bytes += size;
                    // The local header before the data has the checksum.
                    let room = HEADER_ROOM.min(*offset);
                    ranges.push((container.clone(), offset - room, size + room));
                }
                AssetPath::File(path) if is_remote(path) => files.push(path.clone()),
                _ => {}
            }
        }
        *ahead = at;
        drop(ahead);
        ranges.sort();
        for same in ranges.chunk_by(|a, b| a.0 == b.0) {
            let Some((container, offset, size)) = same.first() else { continue };
            let places: Vec<(u64, u64)> = same.iter().map(|(_, offset, size)| (*offset, *size)).collect();
            let _ = self.container(container, *offset, *size, None).and_then(|held| held.file.prefetch(&places));
        }
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let _ = RemoteFile::open_all(&files, FIRST_OF_SAMPLE);
    }

    /// Fills `buffer`, which has the source's size, with its bytes. `name` is the sample's path.
    pub fn read_into(&self, source: &RowSource, name: &dyn Fn() -> String, buffer: &mut [u8]) -> Result<Copied> {
        let mut modified = None;
        let mut held = None;
        match source {
            RowSource::Folder => return Err(Error::internal("a FOLDER has no bytes of its own")),
            RowSource::Bytes(bytes) => buffer.copy_from_slice(bytes),
            RowSource::Asset { path: AssetPath::File(path), size, .. } if is_remote(path) => {
                remote_planned(path, *size)?.read_into(0, buffer).io_at("read the sample", &**path)?;
            }
            RowSource::Asset { path: AssetPath::File(path), size, modified: planned } => {
                let mut file = PlannedFile::open(path, *size, *planned)?;
                file.file.read_exact(buffer).io_at("read the sample", &**path)?;
                modified = file.end(path)?;
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, size, stamp }, .. } => {
                let open = self.container(container, *offset, *size, stamp.as_ref())?;
                open.file.read_into(*offset, buffer).io_at("read the sample", &**container)?;
                held = Some((open, *offset, *size, stamp.is_some()));
            }
            RowSource::Asset { path: AssetPath::Vsi(text), .. } => return Err(not_local(text)),
        }
        let crc = crc32fast::hash(buffer);
        if let Some((held, offset, size, is_known)) = held {
            self.compare(&held, (offset, size, is_known), crc, name)?;
        }
        Ok(Copied { crc, modified })
    }

    /// Streams a source through `sink`. `name` is the sample's path.
    pub fn stream(
        &self,
        source: &RowSource,
        name: &dyn Fn() -> String,
        ctx: &JobContext,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Copied> {
        let mut held = None;
        let mut planned_file = None;
        let (mut read, size): (Box<ReadAt>, u64) = match source {
            RowSource::Asset { path: AssetPath::File(path), size, .. } if is_remote(path) => {
                let (file, path) = (remote_planned(path, *size)?, path.clone());
                (Box::new(move |at, buffer| file.read_into(at, buffer).io_at("read the sample", &*path)), *size)
            }
            RowSource::Asset { path: AssetPath::File(path), size, modified } => {
                let planned = PlannedFile::open(path, *size, *modified)?;
                let mut file = planned.file.try_clone().io_at("open the sample", &**path)?;
                planned_file = Some((planned, path.clone()));
                let path = path.clone();
                (Box::new(move |_, buffer| file.read_exact(buffer).io_at("read the sample", &*path)), *size)
            }
            RowSource::Asset { path: AssetPath::Range { container, offset, size: length, stamp }, size, .. } => {
                let open = self.container(container, *offset, *length, stamp.as_ref())?;
                let (file, offset, container) = (open.file.clone(), *offset, container.clone());
                held = Some((open, (offset, *size, stamp.is_some())));
                (Box::new(move |at, buffer| file.read_into(offset + at, buffer).io_at("read the sample", &*container)), *size)
            }
            RowSource::Asset { path: AssetPath::Vsi(text), .. } => return Err(not_local(text)),
            small => {
                let mut bytes = vec![0; small.size_bytes() as usize];
                let copied = self.read_into(small, name, &mut bytes)?;
                sink(&bytes)?;
                return Ok(copied);
            }
        };
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; CHUNK.min(usize::try_from(size).unwrap_or(CHUNK))];
        let mut at = 0;
        while at < size {
            ctx.check()?;
            let length = CHUNK.min((size - at) as usize);
            read(at, &mut buffer[..length])?;
            crc.update(&buffer[..length]);
            sink(&buffer[..length])?;
            ctx.bytes(length as u64);
            at += length as u64;
        }
        let crc = crc.finalize();
        if let Some((held, place)) = held {
            self.compare(&held, place, crc, name)?;
        }
        let modified = planned_file.map(|(planned, path)| planned.end(&path)).transpose()?.flatten();
        Ok(Copied { crc, modified })
    }

    /// Compares the checksum of bytes that were read with the one that their container states for the range.
    fn compare(&self, held: &Held, (offset, size, is_known): (u64, u64, bool), crc: u32, name: &dyn Fn() -> String) -> Result<()> {
        let damage = match held.crc(offset, size, is_known) {
            Ok(Some(stated)) if stated != crc => {
                // Bytes that somebody writes at this moment are another matter than broken ones.
                held.file.expect_unchanged()?;
                let summary = format!("the bytes are damaged: their CRC-32 is {crc:08x}, and the archive states {stated:08x}");
                take_another(Error::new(Kind::Damaged, summary)).at_path(held.file.path())
            }
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == Kind::Damaged => error,
            Err(error) => return Err(error),
        };
        match self.on_damage {
            OnDamage::Stop => Err(damage),
            OnDamage::Keep => {
                self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(name());
                Ok(())
            }
        }
    }
}

fn take_another(error: Error) -> Error {
    let error = error.hint("take the dataset from another copy, or fetch it again");
    error.hint("copy what is there all the same, with a list of what is damaged (--keep-damaged)")
}

fn not_local(text: &str) -> Error {
    Error::unsupported("the bytes behind this path are GDAL's alone").at(text)
}

fn remote_planned(path: &Path, size: u64) -> Result<ByteSource> {
    let file = ByteSource::open_for(&AssetPath::File(path.into()))?;
    if file.size_bytes() != size {
        return Err(resized(size, file.size_bytes()).at_path(path));
    }
    Ok(file)
}

fn resized(planned: u64, found: u64) -> Error {
    rewritten(format!("it had {planned} bytes and has {found}"))
}

fn rewritten(what: String) -> Error {
    let summary = format!("the file changed since it was added to the dataset: {what}");
    let error = Error::new(Kind::Changed, summary).hint("wait until nothing writes to it, then write the dataset again");
    error.hint("add it again, so that what its columns say is of the file as it is now")
}

/// A file of this machine that is read as a whole.
pub struct PlannedFile {
    /// The file.
    pub file: File,
    opened: std::fs::Metadata,
}

impl PlannedFile {
    /// Opens a source and compares its size with the plan's, on which the offsets of everything after it depend, and the time of
    /// its last change where that is known.
    pub fn open(path: &Path, size: u64, modified: Modified) -> Result<Self> {
        let file = crate::files::open(path).io_at("open the sample", path)?;
        let opened = file.metadata().io_at("read the sample", path)?;
        if opened.len() != size {
            return Err(resized(size, opened.len()).at_path(path));
        }
        if !modified.agrees(Modified::of_file(&opened)) {
            return Err(rewritten("somebody wrote to it".into()).at_path(path));
        }
        Ok(Self { file, opened })
    }

    /// After the last byte was read: the file is still what it was. Gives when it was last changed.
    pub fn end(self, path: &Path) -> Result<Option<SystemTime>> {
        let now = self.file.metadata().io_at("read the sample", path)?;
        if now.len() != self.opened.len() {
            return Err(resized(self.opened.len(), now.len()).at_path(path));
        }
        if Modified::of_file(&now) != Modified::of_file(&self.opened) {
            return Err(rewritten("somebody writes to it".into()).at_path(path));
        }
        Ok(now.modified().ok())
    }
}

/// Adds the sample to an error about its source.
pub fn name_sample(error: Error, assembly: &Assembly, plan: &BuildPlan, index: usize) -> Error {
    named(error, &plan.sample(assembly, index))
}

/// Adds the sample at `path` to an error about its source, which keeps its kind and its next steps.
pub fn named(error: Error, path: &str) -> Error {
    if error.is_cancelled() {
        return error;
    }
    wrapped(error, format!("sample {path} can't be written"))
}

/// The error as the reason of another one, which keeps its kind and its next steps.
pub fn wrapped(error: Error, summary: String) -> Error {
    let hints = error.hints().to_vec();
    hints.into_iter().fold(Error::new(error.kind(), summary).because(error), Error::hint)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::container::{ContainerReader, ZipReader};

    fn golden() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden/01_flat_zip/flat.tacozip")
    }

    fn name() -> String {
        "sample".into()
    }

    /// Writes into a file as another program would, later than it was looked at.
    fn overwrite(path: &Path, bytes: &[u8]) {
        let time = std::fs::metadata(path).and_then(|meta| meta.modified()).expect("has a time");
        std::fs::write(path, bytes).expect("writes");
        let file = File::options().write(true).open(path).expect("opens");
        file.set_modified(time + Duration::from_secs(1)).expect("sets the time");
    }

    #[test]
    fn an_archive_overwritten_between_two_reads_ends_the_copy_with_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tacozip");
        std::fs::copy(golden(), &path).expect("copies");
        let bytes = std::fs::read(&path).expect("reads");
        let reader = ZipReader::open(&path).expect("opens");
        let source = |row| reader.source(0, row).expect("is there");
        let read = |sources: &Sources, row| {
            let source = source(row);
            sources.read_into(&source, &name, &mut vec![0; source.size_bytes() as usize]).map(drop)
        };
        let sources = Sources::default();
        read(&sources, 0).expect("reads");
        // The same bytes: only the time tells, and only the end looks at it.
        overwrite(&path, &bytes);
        read(&sources, 1).expect("reads");
        assert_eq!(sources.finish().expect_err("was overwritten").kind(), Kind::Changed);
        // Other bytes: the first read that meets them.
        let sources = Sources::default();
        let reader = ZipReader::open(&path).expect("opens");
        let (first, second) = (reader.source(0, 0).expect("is there"), reader.source(0, 1).expect("is there"));
        sources.read_into(&first, &name, &mut vec![0; first.size_bytes() as usize]).expect("reads");
        let mut other = bytes.clone();
        let RowSource::Asset { path: AssetPath::Range { offset, .. }, .. } = &second else { panic!("is a range") };
        other[*offset as usize + 5] ^= 1;
        overwrite(&path, &other);
        let error = sources.read_into(&second, &name, &mut vec![0; second.size_bytes() as usize]).expect_err("was overwritten");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        // Damage is another matter, and may pass where it is asked for.
        let reader = ZipReader::open(&path).expect("opens");
        let second = reader.source(0, 1).expect("is there");
        for (on_damage, passes) in [(OnDamage::Stop, false), (OnDamage::Keep, true)] {
            let sources = Sources::new(on_damage);
            let read = sources.stream(&second, &name, &JobContext::default(), &mut |_| Ok(()));
            assert_eq!(read.as_ref().err().map(Error::kind), (!passes).then_some(Kind::Damaged), "{read:?}");
            assert_eq!(sources.finish().expect("nobody wrote"), if passes { vec![name()] } else { Vec::new() });
        }
    }

    #[test]
    fn a_file_written_to_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bin");
        std::fs::write(&path, [1; 100]).expect("writes");
        let meta = std::fs::metadata(&path).expect("is there");
        let source = RowSource::Asset { path: AssetPath::file(path.as_path()), size: 100, modified: Modified::of_file(&meta) };
        let sources = Sources::default();
        let read = |change: &dyn Fn()| {
            let sink = &mut |_: &[u8]| {
                change();
                Ok(())
            };
            sources.stream(&source, &name, &JobContext::default(), sink)
        };
        assert_eq!(read(&|| {}).expect("reads").crc, crc32fast::hash(&[1; 100]));
        let error = read(&|| overwrite(&path, &[2; 100])).expect_err("was written to");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        let error = read(&|| {}).expect_err("was written to since it was looked at");
        assert_eq!(error.kind(), Kind::Changed, "{error}");
        let unknown = RowSource::asset(AssetPath::file(path.as_path()), 100);
        sources.stream(&unknown, &name, &JobContext::default(), &mut |_| Ok(())).expect("is taken as it is");
    }
}
