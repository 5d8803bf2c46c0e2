//! Opens regular files, and members of a dataset only inside its folder. Independent of file
//! contents.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::SystemTime;

use crate::error::{Error, Kind};

/// Maximum number of folders of a dataset that are cached as checked: they are inside it.
const CHECKED_FOLDERS_MAX: usize = 1 << 16;
/// Sizes in bytes that a pointer of [`POINTERS`] may have.
const POINTER_SIZES: std::ops::RangeInclusive<u64> = 32..=1024;
/// Number of bytes that are read to recognise one of [`POINTERS`].
const POINTER_START_BYTES: usize = 64;
/// Number of bytes in which the start of a web page is looked for.
const PAGE_HEAD_BYTES: usize = 256;
/// Pointers: texts that a clone has in place of files that were not fetched. How the text begins,
/// the program that wrote it, and the command that fetches the file.
const POINTERS: [(&[u8], &str, &str); 2] = [
    (
        b"version https://git-lfs.github.com/spec/",
        "Git LFS",
        "git lfs pull",
    ),
    (b"/annex/objects/", "git-annex", "git annex get"),
];

/// The error for a file that begins with `start` when it is the pointer of a file that was not
/// fetched; `None` for any other file.
pub fn unfetched_file_error(start: &[u8]) -> Option<Error> {
    let (_, program, command) = POINTERS
        .iter()
        .find(|(begin, _, _)| start.starts_with(begin))?;
    let summary = format!("this is a pointer of {program}, not the file itself");
    Some(Error::format(summary).hint(format!(
        "run `{command}` in the clone that has it, or take the file from another copy"
    )))
}

/// The error for data that begins with `start` when that is a web page, or the XML in which an
/// object store says why it sends no file; `None` for any other data.
pub fn page_error(start: &[u8]) -> Option<Error> {
    let start = start.get(..PAGE_HEAD_BYTES).unwrap_or(start);
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let is_page = ["<!doctype html", "<html"]
        .iter()
        .any(|begin| text.starts_with(begin));
    let is_refusal =
        text.starts_with("<error>") || (text.starts_with("<?xml") && text.contains("<error>"));
    (is_page || is_refusal).then(|| {
        Error::format("this is a web page or the refusal of a server, not the data")
            .hint("download the file again: the server may ask to sign in, or not have the file")
    })
}

/// For JSON in UTF-16: true for little-endian, and the code units after the byte order mark; `None`
/// for another encoding. Without that mark the encoding is recognised by the first two characters,
/// which are ASCII in JSON.
pub fn utf16_units(bytes: &[u8]) -> Option<(bool, &[[u8; 2]])> {
    let (is_little, units) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (true, rest),
        [0xFE, 0xFF, rest @ ..] => (false, rest),
        [1..=0x7F, 0, 1..=0x7F, 0, ..] => (true, bytes),
        [0, 1..=0x7F, 0, 1..=0x7F, ..] => (false, bytes),
        _ => return None,
    };
    Some((is_little, units.as_chunks::<2>().0))
}

/// As [`unfetched_file_error`], for a local file of `size` bytes; `None` also for one that can't be
/// read.
pub fn find_unfetched_file(path: &Path, size: u64) -> Option<Error> {
    if !may_be_pointer(size) {
        return None;
    }
    let mut start = [0; POINTER_START_BYTES];
    let length = open(path).ok()?.read(&mut start).ok()?;
    unfetched_file_error(start.get(..length)?).map(|error| error.at_path(path))
}

/// True for the size in bytes of a file that may be a pointer, whose start is worth reading.
pub fn may_be_pointer(size: u64) -> bool {
    POINTER_SIZES.contains(&size)
}

/// Opens a file for reading. Pipes (which may block), devices (which may never end), folders and
/// sockets are refused before opening.
///
/// # Errors
/// [`ErrorKind::IsADirectory`] or [`ErrorKind::InvalidInput`] unless it is a regular file, or the
/// system's error.
pub fn open(path: &Path) -> io::Result<File> {
    Ok(open_with_metadata(path)?.0)
}

/// As [`open`], with the metadata of the open file.
///
/// # Errors
/// As [`open`].
pub fn open_with_metadata(path: &Path) -> io::Result<(File, Metadata)> {
    let file = read_options(path)?.open(path)?;
    tracing::debug!("reads {}", path.display());
    let metadata = file.metadata()?;
    need_file(metadata.file_type())?;
    Ok((file, metadata))
}

/// Options for opening the regular file at `path` for reading.
///
/// # Errors
/// As [`open`].
pub fn read_options(path: &Path) -> io::Result<OpenOptions> {
    if cfg!(windows)
        && !is_verbatim(path)
        && path
            .file_name()
            .is_some_and(|name| is_device_name(&name.to_string_lossy()))
    {
        return Err(not_a_file("a device"));
    }
    need_file(std::fs::metadata(path)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Non-blocking, in case a pipe has replaced the file since the check.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    Ok(options)
}

/// The path of something that exists, absolute and without links, as it is shown and stored. On
/// Windows without the prefix `\\?\` where the path means the same without it: other programs do
/// not take such paths, and none is below the same path as people write it.
///
/// # Errors
/// The system's error.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    Ok(if cfg!(windows) {
        real.to_str()
            .and_then(without_verbatim_prefix)
            .map_or(real, PathBuf::from)
    } else {
        real
    })
}

/// The same path without the prefix `\\?\` of Windows; `None` when it has none, or needs it for its
/// length or its names.
fn without_verbatim_prefix(path: &str) -> Option<String> {
    /// `MAX_PATH` of Windows, which includes the zero at the end.
    const LONGEST: usize = 260;
    let rest = path.strip_prefix(r"\\?\")?;
    let plain = match rest.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if rest.as_bytes().get(1) == Some(&b':') => rest.to_owned(),
        None => return None,
    };
    (plain.encode_utf16().count() < LONGEST && plain.split('\\').all(means_itself)).then_some(plain)
}

/// False for a name that Windows reads as another: it drops dots and spaces at the end, and some
/// names are devices.
fn means_itself(name: &str) -> bool {
    !name.ends_with(['.', ' ']) && !is_device_name(name)
}

/// True for a path with the prefix `\\?\`, which Windows takes as it is written, whatever its
/// names.
fn is_verbatim(path: &Path) -> bool {
    matches!(
        path.components().next(),
        Some(Component::Prefix(prefix)) if prefix.kind().is_verbatim()
    )
}

/// Reads a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, metadata) = open_with_metadata(path)?;
    let mut bytes = Vec::with_capacity(metadata.len().min(1 << 20) as usize);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a UTF-8 file.
///
/// # Errors
/// As [`open`], and [`ErrorKind::InvalidData`] for invalid UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Metadata of a path that a library will open by name; folders are allowed, as some formats are
/// folders.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for pipes, devices and sockets.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    let meta = std::fs::metadata(path)?;
    match special_file_type(meta.file_type()) {
        Some(what) => Err(not_a_file(what)),
        None => Ok(meta),
    }
}

/// True when there is something at this path; false also for a name that the file system can't
/// have, such as one that is too long.
///
/// # Errors
/// What the system reports when it can't tell, such as for a path in a folder that may not be
/// searched.
pub fn exists(path: &Path) -> io::Result<bool> {
    match path.try_exists() {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotADirectory | ErrorKind::InvalidFilename | ErrorKind::InvalidInput
            ) =>
        {
            Ok(false)
        }
        outcome => outcome,
    }
}

/// Free bytes on the disk that will hold `target`; `None` when the system does not report them.
/// Creates nothing.
pub fn free_bytes(target: &Path) -> Option<u64> {
    let has_name = |path: &&Path| !path.as_os_str().is_empty();
    let existing = target
        .ancestors()
        .filter(has_name)
        .find(|path| path.is_dir())
        .unwrap_or(Path::new("."));
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(existing).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(windows)]
    crate::windows_api::free_bytes(existing)
}

/// File systems whose files other machines change, by their numbers in statfs(2): the system
/// reports such changes to no program. FUSE is among them: most of its disks are on servers.
#[cfg(target_os = "linux")]
const NETWORK_FILE_SYSTEMS: [u32; 13] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFE53_4D42, // SMB 2
    0xFF53_4D42, // CIFS
    0x6573_5546, // FUSE
    0x5346_414F, // AFS
    0x00C3_6400, // Ceph
    0x0BD0_0BD0, // Lustre
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
    0x0102_1997, // 9P
    0x7375_7245, // Coda
    0x786F_4256, // VirtualBox
];

/// True for a path on a file system that other machines may change without a notice to this one.
/// Known on Linux only.
pub fn is_on_network(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let disk = rustix::fs::statfs(path);
        disk.is_ok_and(|disk| NETWORK_FILE_SYSTEMS.contains(&(disk.f_type as u32)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

/// The type in words of a special file, such as a pipe; `None` for a regular file, a folder or a
/// symbolic link.
pub fn special_file_type(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    (!kind.is_file() && !kind.is_dir() && !kind.is_symlink()).then_some("a special file")
}

/// True for a Windows device name: `CON`, `nul.txt`, `COM1`.
pub fn is_device_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let device = |known: &str| stem.eq_ignore_ascii_case(known);
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"]
        .into_iter()
        .any(device)
        || is_port_name(stem)
}

/// `COM` or `LPT` with a digit; Windows treats COM¹ as COM1.
fn is_port_name(stem: &str) -> bool {
    let mut letters = stem.chars();
    let number = letters
        .next_back()
        .is_some_and(|last| matches!(last, '0'..='9' | '¹' | '²' | '³'));
    let port = letters.as_str();
    number && (port.eq_ignore_ascii_case("COM") || port.eq_ignore_ascii_case("LPT"))
}

/// The text of a relative path with the separator that every system reads.
pub fn with_slashes(path: &str) -> Cow<'_, str> {
    if MAIN_SEPARATOR == '/' {
        path.into()
    } else {
        path.replace(MAIN_SEPARATOR, "/").into()
    }
}

fn need_file(kind: FileType) -> io::Result<()> {
    match special_file_type(kind) {
        Some(what) => Err(not_a_file(what)),
        None if kind.is_dir() => Err(io::Error::new(
            ErrorKind::IsADirectory,
            "it is a folder, not a file",
        )),
        None => Ok(()),
    }
}

fn not_a_file(what: &str) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidInput,
        format!("it is {what}, and only regular files and folders are read"),
    )
}

/// Version of a local file or folder: its identity on the disk, length and times, as far as the
/// file system has them. Valid on this machine and while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVersion {
    /// Device (on Windows volume) and number of the file on it, which a rename does not change.
    number: Option<(u64, u64)>,
    /// Length in bytes.
    size: u64,
    /// Time of the last change of the contents; for a folder, of its entries.
    modified: Option<SystemTime>,
    /// Time of the last change of contents, attributes or name, in seconds and nanoseconds; Windows
    /// has none. No program can set it.
    changed: Option<(i64, i64)>,
    /// Number of names (hard links); `None` where the system does not say it.
    links: Option<u64>,
}

impl LocalVersion {
    /// Version of what `path` names; of a symbolic link, that of its target.
    ///
    /// # Errors
    /// The system's error.
    pub fn from_path(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        #[cfg(windows)]
        let (number, links) = (crate::windows_api::number_of(path).ok(), None);
        #[cfg(not(windows))]
        let (number, links) = identity(&meta);
        Ok(Self::new(&meta, number, links))
    }

    /// Version of `path` itself where it is a symbolic link.
    ///
    /// # Errors
    /// The system's error.
    pub fn of_link(path: &Path) -> io::Result<Self> {
        let meta = std::fs::symlink_metadata(path)?;
        #[cfg(windows)]
        let (number, links) = (None, None);
        #[cfg(not(windows))]
        let (number, links) = identity(&meta);
        Ok(Self::new(&meta, number, links))
    }

    /// Length in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size
    }

    /// Time of the last change of the contents, where the system has it.
    pub fn modification_time(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Version of an open file.
    ///
    /// # Errors
    /// The system's error.
    pub fn from_file(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        #[cfg(windows)]
        let (number, links) = (
            crate::windows_api::file_number(file).ok(),
            crate::windows_api::file_links(file).ok(),
        );
        #[cfg(not(windows))]
        let (number, links) = identity(&meta);
        Ok(Self::new(&meta, number, links))
    }

    fn new(meta: &Metadata, number: Option<(u64, u64)>, links: Option<u64>) -> Self {
        #[cfg(unix)]
        let changed = Some((
            std::os::unix::fs::MetadataExt::ctime(meta),
            std::os::unix::fs::MetadataExt::ctime_nsec(meta),
        ));
        #[cfg(not(unix))]
        let changed = None;
        Self {
            number,
            size: meta.len(),
            modified: meta.modified().ok(),
            changed,
            links,
        }
    }

    /// True when other names refer to the same file, which a change in place would change with it.
    pub fn has_other_names(&self) -> bool {
        self.links.is_some_and(|links| links > 1)
    }

    /// True when both are the same file or folder on the disk, whatever its contents; also when the
    /// system has no numbers of files.
    pub fn is_same_entry(&self, now: &Self) -> bool {
        self.number.is_none() || now.number.is_none() || self.number == now.number
    }

    /// True when a file is unchanged, and no other one took its place. A hard link that is added or
    /// removed is not a change.
    pub fn is_same_file(&self, now: &Self) -> bool {
        let is_untouched = match (self.changed, now.changed) {
            (Some(before), Some(after)) if before == after => true,
            (Some(_), Some(_)) => self.links != now.links && self.is_same_entry(now),
            _ => self.is_same_entry(now),
        };
        is_untouched && self.size == now.size && self.modified == now.modified
    }

    /// True when no other folder took the place of a folder, not even for a time, which the time of
    /// its rename shows. Entries of the folder may have been added or removed.
    pub fn is_same_folder(&self, now: &Self) -> bool {
        match (self.changed, now.changed) {
            (Some(before), Some(after)) if before == after => true,
            (Some(_), Some(_)) => self.modified != now.modified && self.is_same_entry(now),
            _ => self.is_same_entry(now),
        }
    }
}

/// Device and number of a file, and its number of names.
#[cfg(not(windows))]
fn identity(meta: &Metadata) -> (Option<(u64, u64)>, Option<u64>) {
    use std::os::unix::fs::MetadataExt;
    (Some((meta.dev(), meta.ino())), Some(meta.nlink()))
}

/// The folder of a dataset, which its members must not leave. The folder and its members may be
/// symbolic links as long as their targets are inside the folder. Each subfolder is checked once.
#[derive(Debug)]
pub struct Root {
    folder: PathBuf,
    real: OnceLock<PathBuf>,
    /// The subfolders that were found to be inside the folder.
    checked: RwLock<HashSet<Box<str>>>,
}

/// Why a member of a dataset is refused.
#[derive(Debug)]
pub enum Outside {
    /// It, or a parent folder, is a symbolic link to this path outside the dataset.
    LeadsOut(PathBuf),
    /// Not a regular file, but the named type.
    NotFile(&'static str),
    /// Its metadata cannot be read.
    Io(io::Error),
}

impl From<io::Error> for Outside {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Outside {
    /// True when the member does not exist, or is a dangling link.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Io(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        )
    }

    /// The error for the member at `path`; `doing` completes "could not …".
    pub fn into_error(self, doing: &str, path: &Path) -> Error {
        match self {
            Self::LeadsOut(target) => {
                let summary = format!(
                    "{} is a link that leads out of the dataset, to {}",
                    path.display(),
                    target.display()
                );
                let error = Error::new(Kind::Format, summary).at_path(path);
                error.hint(
                    "replace the link by the file itself if it belongs to the dataset; links \
                        that stay within the dataset are followed",
                )
            }
            Self::NotFile(what) => {
                Error::new(Kind::Format, format!("this is {what}, not a file")).at_path(path)
            }
            Self::Io(error) => Error::io(doing, path, error),
        }
    }
}

impl Root {
    /// The root of a dataset at `folder`.
    pub fn new(folder: &Path) -> Self {
        // The parent of a bare file name is the empty path.
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        Self {
            folder: folder.to_owned(),
            real: OnceLock::new(),
            checked: RwLock::default(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the member at the relative path `below`, with `/` separators, as the system and
    /// GDAL open it. Windows reads some names as others: `aux` is a device, `scene.` is `scene`. A
    /// path with one of them has the prefix `\\?\`, which keeps every name as it is, where the
    /// folder exists.
    pub fn path(&self, below: &str) -> PathBuf {
        if cfg!(windows)
            && !below.split('/').all(means_itself)
            && let Ok(real) = self.real()
        {
            return real.join(below);
        }
        self.folder.join(below)
    }

    /// The canonical path of the folder, on Windows with the prefix `\\?\`.
    fn real(&self) -> io::Result<&Path> {
        if let Some(real) = self.real.get() {
            return Ok(real);
        }
        let real = self.folder.canonicalize()?;
        Ok(self.real.get_or_init(|| real))
    }

    /// Metadata of the regular file at the relative path `below`, with `/` separators.
    ///
    /// # Errors
    /// [`Outside`] when it is not a regular file or is outside the folder.
    pub fn file(&self, below: &str) -> Result<Metadata, Outside> {
        let meta = self.entry(below)?;
        match special_file_type(meta.file_type()) {
            Some(what) => Err(Outside::NotFile(what)),
            None if meta.is_dir() => Err(Outside::NotFile("a folder")),
            None => Ok(meta),
        }
    }

    /// Metadata of the file or folder at `below`.
    ///
    /// # Errors
    /// [`Outside`] when it is outside the folder, or its metadata cannot be read.
    pub fn entry(&self, below: &str) -> Result<Metadata, Outside> {
        // On Windows `C:a` and `..\a` would leave the folder too, and `a:b` is a stream of the file
        // `a`.
        let foreign = cfg!(windows) && below.contains(['\\', ':']);
        if foreign
            || below.split('/').any(|step| matches!(step, "" | "." | ".."))
            || Path::new(below).is_absolute()
        {
            return Err(Outside::LeadsOut(self.folder.join(below)));
        }
        if let Some((above, _)) = below.rsplit_once('/') {
            self.check_folders(above)?;
        }
        self.check_entry(below)
    }

    /// Checks the folder `below` and those above it, as far as they are not known to be inside.
    fn check_folders(&self, below: &str) -> Result<(), Outside> {
        if self.knows_folder(below) {
            return Ok(());
        }
        for end in below
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([below.len()])
        {
            let part = &below[..end];
            if self.knows_folder(part) {
                continue;
            }
            self.check_entry(part)?;
            let mut checked = self.checked.write().unwrap_or_else(PoisonError::into_inner);
            if checked.len() >= CHECKED_FOLDERS_MAX {
                checked.clear();
            }
            checked.insert(part.into());
        }
        Ok(())
    }

    fn knows_folder(&self, folder: &str) -> bool {
        self.checked
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(folder)
    }

    /// Checks an entry of a folder that is known to be inside: only a symbolic link can lead out.
    fn check_entry(&self, below: &str) -> Result<Metadata, Outside> {
        let path = self.path(below);
        let meta = std::fs::symlink_metadata(&path)?;
        if !meta.is_symlink() {
            return Ok(meta);
        }
        let target = path.canonicalize()?;
        if target.starts_with(self.real()?) {
            Ok(std::fs::metadata(&path)?)
        } else {
            Err(Outside::LeadsOut(target))
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_the_kernel_are_on_no_network() {
        assert!(!is_on_network(Path::new("/proc")));
        assert!(!is_on_network(Path::new("/there/is/nothing")));
    }

    #[test]
    fn pointers_of_files_that_were_not_fetched_are_named() {
        let hash = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let lfs =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 9\n");
        let annex = format!("/annex/objects/SHA256E-s9--{hash}.tif\n");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tif");
        for (text, command) in [(&lfs, "git lfs pull"), (&annex, "git annex get")] {
            std::fs::write(&path, text).expect("writes");
            let error = find_unfetched_file(&path, text.len() as u64).expect("is a pointer");
            assert!(error.report().contains(command), "{error:?}");
            assert!(error.report().contains("a.tif"), "{error:?}");
        }
        std::fs::write(&path, format!("about: {lfs}")).expect("writes");
        assert!(find_unfetched_file(&path, 200).is_none());
        assert!(find_unfetched_file(&folder.path().join("none"), 200).is_none());
        assert!(unfetched_file_error(b"version").is_none());
    }

    #[test]
    fn web_pages_in_place_of_data_are_recognised() {
        for (text, is_page) in [
            ("<!DOCTYPE html>\n<html lang=\"en\">", true),
            ("\u{feff}\n<HTML><body>404</body>", true),
            (
                "<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>",
                true,
            ),
            ("<?xml version=\"1.0\"?><VRTDataset/>", false),
            ("path,a\n<html>,1\n", false),
            ("", false),
        ] {
            assert_eq!(page_error(text.as_bytes()).is_some(), is_page, "{text}");
        }
    }

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, bytes) in [
            ("set/DATA/a/x.bin", "x"),
            ("secret/key", "key"),
            ("secret/d/y", "y"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("a folder");
            std::fs::write(path, bytes).expect("writes");
        }
        folder
    }

    #[test]
    fn a_file_is_another_once_it_was_changed_or_replaced_but_not_by_a_hard_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&path, "one").expect("writes");
        let before = LocalVersion::from_path(&path).expect("is there");
        let is_same = || before.is_same_file(&LocalVersion::from_path(&path).expect("is there"));
        assert!(
            is_same()
                && before
                    == LocalVersion::from_file(&open(&path).expect("opens")).expect("is open")
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::hard_link(&path, &other).expect("a second name");
        assert!(
            is_same()
                && LocalVersion::from_path(&path)
                    .expect("is there")
                    .has_other_names()
                && !before.has_other_names()
        );
        // Of equal length and time.
        let time = std::fs::metadata(&path)
            .and_then(|meta| meta.modified())
            .expect("has a time");
        let dated = |path: &Path| {
            File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_modified(time))
                .expect("dated")
        };
        std::fs::write(folder.path().join("c"), "two").expect("writes");
        dated(&folder.path().join("c"));
        std::fs::rename(folder.path().join("c"), &path).expect("replaces");
        assert!(!is_same(), "another file");
        std::fs::rename(&other, &path).expect("replaces");
        let before = LocalVersion::from_path(&path).expect("is there");
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, "two").expect("writes");
        dated(&path);
        assert!(
            !before.is_same_file(&LocalVersion::from_path(&path).expect("is there")),
            "other contents"
        );
    }

    #[test]
    fn a_folder_is_another_once_it_was_renamed_but_not_by_a_new_entry() {
        let place = tempfile::tempdir().expect("a folder");
        let [one, two, aside] = ["one", "two", "aside"].map(|name| place.path().join(name));
        [&one, &two]
            .iter()
            .for_each(|folder| std::fs::create_dir(folder).expect("a folder"));
        let wait = || std::thread::sleep(std::time::Duration::from_millis(20));
        let before = LocalVersion::from_path(&one).expect("is there");
        let is_same = |before: &LocalVersion| {
            before.is_same_folder(&LocalVersion::from_path(&one).expect("is there"))
        };
        wait();
        std::fs::write(one.join("entry"), "x").expect("writes");
        assert!(is_same(&before));
        let before = LocalVersion::from_path(&one).expect("is there");
        wait();
        std::fs::rename(&one, &aside)
            .and_then(|()| std::fs::rename(&two, &one))
            .expect("renames");
        assert!(!is_same(&before), "another folder");
        std::fs::rename(&one, &two)
            .and_then(|()| std::fs::rename(&aside, &one))
            .expect("renames");
        assert!(!is_same(&before), "another folder was there meanwhile");
    }

    #[test]
    fn a_verbatim_path_is_written_plainly_where_it_means_the_same() {
        let plain = |path: &str| without_verbatim_prefix(path);
        assert_eq!(
            plain(r"\\?\C:\data\x.tif").as_deref(),
            Some(r"C:\data\x.tif")
        );
        assert_eq!(
            plain(r"\\?\UNC\server\share\x.tif").as_deref(),
            Some(r"\\server\share\x.tif")
        );
        let long = format!(r"\\?\C:\{}", "a".repeat(300));
        for needed in [
            r"C:\data",
            r"\\?\C:\data\con.txt",
            r"\\?\C:\data.",
            r"\\?\Volume{0}\x",
            &long,
        ] {
            assert_eq!(plain(needed), None, "{needed}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let real = canonical(folder.path()).expect("is there");
        assert!(
            real.is_absolute() && !real.to_string_lossy().starts_with(r"\\?\"),
            "{}",
            real.display()
        );
        assert!(canonical(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn slashes_replace_the_separator_of_this_system_alone() {
        let path = Path::new("parts").join("a.tacozip");
        assert_eq!(
            with_slashes(path.to_str().expect("UTF-8")),
            "parts/a.tacozip"
        );
        // A name of Linux and macOS may have a backslash.
        assert_eq!(
            with_slashes("a\\b"),
            if cfg!(windows) { "a/b" } else { "a\\b" }
        );
    }

    #[cfg(windows)]
    #[test]
    fn members_cannot_leave_the_folder_by_the_ways_of_windows() {
        let place = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(place.path().join("dataset")).expect("makes a folder");
        std::fs::write(place.path().join("secret"), "x").expect("writes");
        std::fs::write(place.path().join("dataset/inside"), "x").expect("writes");
        let root = Root::new(&place.path().join("dataset"));
        assert!(root.file("inside").is_ok());
        for member in ["..\\secret", "C:secret", "inside:stream", "\\secret"] {
            assert!(
                matches!(root.file(member), Err(Outside::LeadsOut(_))),
                "{member}"
            );
        }
    }

    #[cfg(windows)]
    #[test]
    fn members_whose_names_windows_reads_as_others_are_themselves() {
        let place = tempfile::tempdir().expect("a folder");
        let real = place.path().canonicalize().expect("is there");
        let (names, other) = (
            ["aux/inner.tif", "con", "nul.txt", "scene.", "scene "],
            ["scene", "plain.tif"],
        );
        std::fs::create_dir(real.join("aux")).expect("makes a folder");
        for name in names.into_iter().chain(other) {
            std::fs::write(real.join(name), name).expect("writes");
        }
        let root = Root::new(place.path());
        for name in names.into_iter().chain(other) {
            assert_eq!(
                root.file(name).expect(name).len(),
                name.len() as u64,
                "{name}"
            );
            assert_eq!(read_to_string(&root.path(name)).expect(name), name);
        }
        assert_eq!(root.path("plain.tif"), place.path().join("plain.tif"));
        assert!(read(&place.path().join("con")).is_err());
    }

    #[test]
    fn links_out_of_the_folder_are_distinguished_from_links_inside() {
        let folder = tree();
        let at = |path: &str| folder.path().join(path);
        symlink(at("secret/key"), at("set/DATA/a/out")).expect("links");
        symlink("../a/x.bin", at("set/DATA/a/in")).expect("links");
        symlink(at("set/DATA/a/out"), at("set/DATA/a/twice")).expect("links");
        symlink(at("secret/d"), at("set/DATA/d")).expect("links");
        symlink("a", at("set/DATA/same")).expect("links");
        symlink("gone", at("set/DATA/a/dangling")).expect("links");
        symlink("loop", at("set/DATA/a/loop")).expect("links");
        symlink(at("set"), at("named")).expect("links");
        for root in [Root::new(&at("set")), Root::new(&at("named"))] {
            for good in [
                "DATA/a/x.bin",
                "DATA/a/in",
                "DATA/same/x.bin",
                "DATA/same/in",
            ] {
                assert_eq!(root.file(good).expect(good).len(), 1);
            }
            for bad in [
                "DATA/a/out",
                "DATA/a/twice",
                "DATA/d/y",
                "DATA/same/out",
                "DATA/../../secret/key",
                "DATA//x",
                "/etc/passwd",
            ] {
                assert!(matches!(root.file(bad), Err(Outside::LeadsOut(_))), "{bad}");
            }
            assert!(
                root.file("DATA/a/dangling")
                    .is_err_and(|why| why.is_missing())
            );
            assert!(
                root.file("DATA/a/x.bin/below")
                    .is_err_and(|why| why.is_missing())
            );
            assert!(matches!(root.file("DATA/a/loop"), Err(Outside::Io(_))));
            assert!(matches!(
                root.file("DATA/a"),
                Err(Outside::NotFile("a folder"))
            ));
        }
    }

    #[test]
    fn pipes_devices_and_folders_are_named_and_not_waited_for() {
        let folder = tree();
        let pipe = folder.path().join("pipe");
        // By its program: rustix makes no pipes on macOS.
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .expect("mkfifo runs")
                .success()
        );
        for (path, what) in [
            (&*pipe, "named pipe"),
            (Path::new("/dev/zero"), "device"),
            (folder.path(), "folder"),
        ] {
            for error in [
                open(path).expect_err("is refused"),
                read_to_string(path).expect_err("is refused"),
            ] {
                assert!(error.to_string().contains(what), "{error}");
            }
        }
        assert!(metadata(&pipe).is_err() && metadata(folder.path()).is_ok());
        assert_eq!(
            read(&folder.path().join("secret/key")).expect("reads"),
            b"key"
        );
    }
}
