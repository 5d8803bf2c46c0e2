//! Archives as sources: a ZIP, a tar, or a tar in gzip or Zstandard is read as the folder that was
//! packed. Files of a tar and stored members of a ZIP are byte ranges of the archive; others are
//! unpacked when they are read. Nothing is written beside the archive.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::found_file::{FoundFile, is_data, reason_left_out};
use crate::container::{ByteSource, detect};
use crate::error::{Cause, Error, Result};
use crate::folder_archive::{is_archive_name, is_store_file};
use crate::jobs::JobContext;
use crate::model::{Address, AssetPath, Modified, PackedCodec, PackedMember, in_nfc};
use crate::raster::{NamedAsset, NamesBeside, NamesByStem, claims_raster, contents_of, file_set};
use crate::remote::{ListedFile, RemoteFile, list_files};
use crate::unpack::{RATIO_MAX, Unpacked, is_implausible};
use crate::zip_format::{CentralDirectory, DirectoryEntry, LocalHeader};

/// Files of an archive that are read at most.
const FILES_MAX: usize = 5_000_000;
/// Length of a block of a tar in bytes.
const BLOCK: u64 = 512;
/// Remote files whose sizes are asked for at one time.
const SIZE_BATCH: usize = 256;
/// Maximum number of remote rasters that are looked at for files that they are read with.
const REMOTE_SETS_MAX: usize = 64;
/// Local headers of a remote ZIP that are fetched at one time.
const HEADER_BATCH: usize = 1_000;

/// An archive that is read as a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchiveFormat {
    Zip,
    Tar,
    PackedTar(PackedCodec),
}

/// A member of an archive.
struct ArchiveMember {
    /// Path in the archive, with `/`.
    name: String,
    data: std::result::Result<(AssetPath, u64), SkipReason>,
}

impl ArchiveMember {
    fn from_listed_file(file: ListedFile) -> Self {
        Self {
            name: file.below,
            data: Ok((AssetPath::file(file.place), file.size.unwrap_or(0))),
        }
    }
}

/// Why a member is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkipReason {
    Link,
    Special,
    Sparse,
    Encrypted,
    NotUnicode,
    Method(u16),
    TooLarge,
}

impl SkipReason {
    fn message(self, name: &str) -> String {
        match self {
            Self::Link => format!("{name}: it is a link"),
            Self::Special => format!("{name}: it is neither a file nor a folder"),
            Self::Sparse => format!("{name}: it is a sparse file, which has to be unpacked first"),
            Self::Encrypted => format!("{name}: it is encrypted, so it has to be unpacked first"),
            Self::NotUnicode => format!("{name}: its name is not Unicode"),
            Self::Method(method) => format!(
                "{name}: it is compressed by method {method}, so it has to be unpacked first"
            ),
            Self::TooLarge => {
                format!("{name}: it would unpack to more than {RATIO_MAX} times its size")
            }
        }
    }
}

/// Extensions of formats that are ZIP containers; such a file is one FILE.
const ZIP_BASED_EXTENSIONS: [&str; 12] = [
    "xlsx", "xlsm", "ods", "odt", "odp", "docx", "pptx", "npz", "kmz", "epub", "whl", "jar",
];

/// True for an archive that is not a dataset. A local file is judged by its first bytes, a remote
/// one by its name; formats that are ZIP containers, such as workbooks, do not count.
pub fn is_archive(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_zipped_store = |name: &std::ffi::OsStr| is_archive_name(&name.to_string_lossy());
    if ending.is_some_and(is_zip_based) || path.file_name().is_some_and(is_zipped_store) {
        return false;
    }
    if let Some(address) = Address::from_path(path) {
        let name = address.name().to_ascii_lowercase();
        return [".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"]
            .iter()
            .any(|ending| name.ends_with(ending));
    }
    let Ok(file) = ByteSource::open(path) else {
        return false;
    };
    if !matches!(detect_format(&file), Ok(Some(_))) {
        return false;
    }
    match detect(path) {
        Ok(_) => false,
        // A dataset that another program packed again is repaired.
        Err(error) => !error.is_caused_by(Cause::RepairableArchive),
    }
}

/// True for the ending of a format that uses ZIP.
fn is_zip_based(ending: &str) -> bool {
    ZIP_BASED_EXTENSIONS
        .iter()
        .any(|format| ending.eq_ignore_ascii_case(format))
}

fn detect_format(file: &ByteSource) -> Result<Option<ArchiveFormat>> {
    let head = file.read(0, BLOCK.min(file.size_bytes()))?;
    let packed = |codec: PackedCodec| {
        Ok(begins_with_tar(file, codec).then_some(ArchiveFormat::PackedTar(codec)))
    };
    match head.as_ref() {
        // One without members begins with the record at its end.
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Ok(Some(ArchiveFormat::Zip)),
        [0x1f, 0x8b, ..] => packed(PackedCodec::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => packed(PackedCodec::Zstd),
        head => Ok(is_tar_header(head).then_some(ArchiveFormat::Tar)),
    }
}

/// Name of an archive format that is not read.
pub(super) fn unsupported_format(path: &Path) -> Option<&'static str> {
    let file = ByteSource::open(path).ok()?;
    let head = file.read(0, BLOCK.min(file.size_bytes())).ok()?;
    match head.as_ref() {
        // The first part; a ZIP that was marked as one in parts, and has one.
        [b'P', b'K', 7, 8, ..] => Some("ZIP in several parts"),
        [b'P', b'K', b'0', b'0', b'P', b'K', ..] => Some("ZIP in several parts"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("7z"),
        [b'R', b'a', b'r', b'!', ..] => Some("RAR"),
        _ => end_of_zip(&file),
    }
}

/// The form of a ZIP that does not begin with a member, by the record at its end.
fn end_of_zip(file: &ByteSource) -> Option<&'static str> {
    /// Length of the record in bytes, without a comment.
    const RECORD: u64 = 22;
    let record = file
        .read(file.size_bytes().checked_sub(RECORD)?, RECORD)
        .ok()?;
    if !record.starts_with(b"PK\x05\x06") {
        return None;
    }
    // The number of the part that has the record.
    Some(if record[4..6] == [0, 0] {
        "ZIP behind other data"
    } else {
        "ZIP in several parts"
    })
}

/// True when compressed data begins with the header of a tar.
fn begins_with_tar(file: &ByteSource, codec: PackedCodec) -> bool {
    let mut cursor = PositionReader {
        size: file.size_bytes(),
        at: 0,
        read_into: |at, buffer: &mut [u8]| file.read_into(at, buffer),
    };
    let mut block = [0; BLOCK as usize];
    let read = match codec {
        PackedCodec::Gzip => flate2::read::MultiGzDecoder::new(&mut cursor).read_exact(&mut block),
        PackedCodec::Zstd => {
            zstd::Decoder::new(&mut cursor).and_then(|mut decoder| decoder.read_exact(&mut block))
        }
        PackedCodec::Deflate | PackedCodec::Folder => return false,
    };
    read.is_ok() && is_tar_header(&block)
}

/// True for a header of a tar: its checksum is right. Tars from before 1988 have no other mark.
fn is_tar_header(block: &[u8]) -> bool {
    let Some(field) = block
        .get(148..156)
        .filter(|_| block.len() as u64 == BLOCK && block[0] != 0)
    else {
        return false;
    };
    let digits: String = field
        .iter()
        .map(|&byte| char::from(byte))
        .filter(|c| c.is_digit(8))
        .collect();
    let sum: u64 = block
        .iter()
        .enumerate()
        .map(|(at, &byte)| u64::from(if (148..156).contains(&at) { b' ' } else { byte }))
        .sum();
    u64::from_str_radix(&digits, 8).is_ok_and(|stated| stated == sum)
}

/// The files of an archive as those of the folder that was packed, in order of their paths; and
/// what is left out, with the reason.
///
/// # Errors
/// For an archive that can't be read, a member that would be outside of the folder, or two with one
/// name in a ZIP; cancellation.
pub(super) fn files_of_archive(
    path: &Path,
    prefix: Prefix,
    exclude: &[String],
    ctx: &JobContext,
) -> Result<(Vec<FoundFile>, Vec<String>)> {
    let file = ByteSource::open(path)?;
    let no_archive =
        || Error::usage("the file is no archive that can be read as a folder").at_path(path);
    let archive = detect_format(&file)?.ok_or_else(no_archive)?;
    let members = match archive {
        ArchiveFormat::Zip => members_of_zip(&file, ctx)?,
        ArchiveFormat::Tar => {
            let cursor = PositionReader {
                size: file.size_bytes(),
                at: 0,
                read_into: |at, buffer: &mut [u8]| file.read_into(at, buffer),
            };
            members_of_tar(
                path,
                cursor,
                &|_, offset, size| file.range(offset, size),
                ctx,
            )?
        }
        ArchiveFormat::PackedTar(codec) => {
            ctx.stage(tr!("Unpacking the archive"), None);
            let (archive, stamp): (Arc<Path>, _) = (path.into(), file.stamp().clone());
            let data = Unpacked::of_file(&archive, codec, &stamp)?;
            let cursor = PositionReader {
                size: data.size_bytes(),
                at: 0,
                read_into: |at, buffer: &mut [u8]| data.read_into(at, buffer),
            };
            let whole = PackedMember {
                archive: archive.clone(),
                name: "".into(),
                codec,
                start: 0,
                length: file.size_bytes(),
                offset: 0,
                size: 0,
                crc: None,
                stamp: stamp.clone(),
            };
            let packed = |name: &str, offset, size| {
                AssetPath::Packed(packed_tar_member(&whole, name, offset, size).into())
            };
            members_of_tar(path, cursor, &packed, ctx)?
        }
    };
    files_of_members(members, prefix, path, exclude)
}

/// The member of a packed tar whose bytes begin at `offset` of the unpacked data.
fn packed_tar_member(whole: &PackedMember, name: &str, offset: u64, size: u64) -> PackedMember {
    PackedMember {
        name: name.into(),
        offset,
        size,
        ..whole.clone()
    }
}

/// The files below a folder of a server: objects of a store, files of a hub's repository, or what
/// the pages of a web server link to.
///
/// # Errors
/// When the server gives no list, or not the size of a file; cancellation.
pub(super) fn files_of_server(
    folder: &Path,
    exclude: &[String],
    ctx: &JobContext,
) -> Result<(Vec<FoundFile>, Vec<String>)> {
    ctx.stage(tr!("Listing the files"), None);
    let listed = list_files(folder, ctx)?;
    let sizes: HashMap<String, Option<u64>> = listed
        .iter()
        .map(|file| (file.below.clone(), file.size))
        .collect();
    let members = listed.into_iter().map(ArchiveMember::from_listed_file);
    let (mut files, left_out) = files_of_members(members.collect(), Prefix::Kept, folder, exclude)?;
    let mut asked: Vec<&mut FoundFile> = files
        .iter_mut()
        .filter(|file| sizes.get(&file.below).copied().flatten().is_none())
        .collect();
    ctx.stage(tr!("Reading sizes"), Some(asked.len() as u64));
    for files in asked.chunks_mut(SIZE_BATCH) {
        let places: Vec<PathBuf> = files
            .iter()
            .filter_map(|file| Some(file.asset.remote_file()?.to_owned()))
            .collect();
        let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
        for (file, opened) in files.iter_mut().zip(RemoteFile::open_all(&places, 1)?) {
            file.size = opened?.size_bytes();
            ctx.step(1);
        }
    }
    Ok((files, left_out))
}

/// What is done with one folder that all data is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Stripped,
    Kept,
}

/// A member that can be read.
struct ReadableMember {
    /// Path below the folder that was packed, with `/`.
    below: String,
    asset: AssetPath,
    size: u64,
}

/// Members as files: their names are checked, those that are no data are left out.
fn files_of_members(
    members: Vec<ArchiveMember>,
    prefix: Prefix,
    archive: &Path,
    exclude: &[String],
) -> Result<(Vec<FoundFile>, Vec<String>)> {
    let mut left_out = Vec::new();
    let mut found = Vec::with_capacity(members.len());
    for ArchiveMember { name, data } in members {
        match data {
            Ok((asset, size)) => found.push(ReadableMember {
                below: name_below(&name, archive)?,
                asset,
                size,
            }),
            Err(reason) => left_out.push(reason.message(&name)),
        }
    }
    if prefix == Prefix::Stripped {
        strip_common_folder(&mut found);
    }
    if found.iter().any(|member| is_store_file(&member.below)) {
        return Err(
            Error::unsupported("the source is a Zarr store itself, which is one FILE")
                .at_path(archive)
                .hint("copy its folder to this machine, and take that as the source"),
        );
    }
    sort_members(&mut found, archive)?;
    let is_data = mark_data(&found, exclude, &mut left_out);
    let files = found
        .into_iter()
        .zip(is_data)
        .filter(|(_, is_data)| *is_data)
        .map(|(member, _)| FoundFile {
            asset: member.asset,
            below: member.below,
            size: member.size,
            modified: Modified::default(),
        });
    Ok((files.collect(), left_out))
}

/// Removes the one folder that all data is in from the paths below it.
fn strip_common_folder(members: &mut [ReadableMember]) {
    let Some(folder) = common_folder(members) else {
        return;
    };
    for member in members {
        if let Some(below) = strip_folder(&member.below, &folder) {
            member.below = below;
        }
    }
}

/// Brings members into the order of their paths.
///
/// # Errors
/// For two files of one name, and a file with the name of a folder.
fn sort_members(members: &mut Vec<ReadableMember>, archive: &Path) -> Result<()> {
    members.sort_by(|a, b| a.below.split('/').cmp(b.below.split('/')));
    // File managers leave files of one name within the folder and beside it.
    members.dedup_by(|a, b| a.below == b.below && !is_data(split_path(&a.below).1));
    let twin = members
        .array_windows()
        .find(|[a, b]| a.below == b.below || is_folder_of(&a.below, &b.below));
    match twin {
        Some([member, _]) => Err(
            Error::format(format!("two files are called {}", member.below))
                .at_path(archive)
                .hint("copy them into a folder, and keep one"),
        ),
        None => Ok(()),
    }
}

/// For each member, in order of their paths, true for data; the reasons of the others are added to
/// `left_out`.
fn mark_data(
    members: &[ReadableMember],
    exclude: &[String],
    left_out: &mut Vec<String>,
) -> Vec<bool> {
    let names = || members.iter().map(|member| member.below.as_str());
    let (beside, stores) = (names_beside(names()), store_folders(names()));
    // A folder that is left out is named once.
    let mut left_out_folder: Option<String> = None;
    let mut marks = Vec::with_capacity(members.len());
    for name in names() {
        if left_out_folder
            .as_ref()
            .is_some_and(|folder| name.starts_with(folder))
        {
            marks.push(false);
            continue;
        }
        let reason = reason_member_left_out(name, &beside, &stores, exclude);
        marks.push(reason.is_none());
        if let Some((end, reason)) = reason {
            left_out.push(reason);
            left_out_folder = (end < name.len()).then(|| format!("{}/", &name[..end]));
        }
    }
    marks
}

/// Why a member, or the uppermost folder of its path, is left out, with the length of that path;
/// `None` for data.
fn reason_member_left_out(
    name: &str,
    beside: &HashMap<&str, NamesBeside>,
    stores: &HashSet<&str>,
    exclude: &[String],
) -> Option<(usize, String)> {
    let none = NamesBeside::default();
    let folders = name.match_indices('/').map(|(end, _)| end);
    folders.chain([name.len()]).find_map(|end| {
        let below = &name[..end];
        if stores.contains(below) {
            let reason = format!(
                "{below}: a Zarr store, which is packed from a folder of this machine alone: \
                    copy it to one first"
            );
            return Some((end, reason));
        }
        let (folder, own) = split_path(below);
        let names = beside.get(folder).filter(|_| end == name.len());
        let reason = reason_left_out(own, below, names.unwrap_or(&none), exclude)?;
        Some((end, reason))
    })
}

/// The names in each folder.
fn names_beside<'a>(paths: impl Iterator<Item = &'a str>) -> HashMap<&'a str, NamesBeside> {
    let mut names: HashMap<&str, NamesBeside> = HashMap::new();
    for path in paths {
        let (folder, name) = split_path(path);
        names.entry(folder).or_default().insert(name);
    }
    names
}

/// The path of a file below a folder; `None` for one outside of it.
fn strip_folder(path: &str, folder: &str) -> Option<String> {
    path.strip_prefix(folder)?
        .strip_prefix('/')
        .map(str::to_owned)
}

/// Folder and name of a path below the archive; the folder is empty for files that are in none.
fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folders among these paths of files that are Zarr stores.
fn store_folders<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    names
        .filter_map(|name| name.rsplit_once('/'))
        .filter(|(_, name)| is_store_file(name))
        .map(|(folder, _)| folder)
        .collect()
}

/// True when `name` is below `folder`.
fn is_folder_of(folder: &str, name: &str) -> bool {
    name.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The one folder that all data is in; what file managers leave beside it does not count.
fn common_folder(members: &[ReadableMember]) -> Option<String> {
    let mut data = members
        .iter()
        .map(|member| member.below.as_str())
        .filter(|name| name.split('/').next().is_some_and(is_data));
    let (folder, _) = data.next()?.split_once('/')?;
    data.all(|name| is_folder_of(folder, name))
        .then(|| folder.to_owned())
}

/// The path of a member below the folder, in Unicode's composed form.
fn name_below(name: &str, archive: &Path) -> Result<String> {
    let mut parts = Vec::new();
    if name.starts_with('/') {
        return Err(outside_folder_error(name, archive));
    }
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(outside_folder_error(name, archive)),
            // The drive of a Windows path.
            drive if parts.is_empty() && drive.len() == 2 && drive.ends_with(':') => {
                return Err(outside_folder_error(name, archive));
            }
            part if part.contains('\0') => return Err(outside_folder_error(name, archive)),
            part => parts.push(in_nfc(part)),
        }
    }
    Ok(parts.join("/"))
}

fn outside_folder_error(name: &str, archive: &Path) -> Error {
    Error::format(format!(
        "the archive names a file outside of its folder: {}",
        name.escape_debug()
    ))
    .at_path(archive)
    .hint(
        "it may be made to overwrite files of whoever unpacks it: look at it with \
            another program",
    )
}

/// Refuses files of an archive or a server that become samples, by their index in `files`, and that
/// GDAL reads only together with others: packed alone, they can't be read. Files of folders, unless
/// they are in archives, are checked with their draft. Of a server, [`REMOTE_SETS_MAX`] files are
/// checked at most.
///
/// # Errors
/// For the first such file; cancellation.
pub(super) fn refuse_partial_files(
    files: &[FoundFile],
    becomes_sample: &dyn Fn(usize) -> bool,
    archive: &Path,
    ctx: &JobContext,
) -> Result<()> {
    let most = if archive.is_dir() || is_archive(archive) {
        usize::MAX
    } else {
        REMOTE_SETS_MAX
    };
    let mut looked = 0;
    let mut folders: BTreeMap<&str, Vec<(usize, &FoundFile)>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        folders
            .entry(split_path(&file.below).0)
            .or_default()
            .push((index, file));
    }
    for files in folders.into_values() {
        let names: Vec<String> = files
            .iter()
            .map(|(_, file)| split_path(&file.below).1.to_owned())
            .collect();
        if names.iter().all(|name| claims_raster(name)) {
            continue;
        }
        let by_stem = NamesByStem::from_names(names.iter().map(String::as_str));
        let alone = files
            .iter()
            .zip(&names)
            .filter(|((index, _), name)| !claims_raster(name) && becomes_sample(*index));
        for ((_, file), name) in alone {
            ctx.check()?;
            let mut beside: Vec<NamedAsset> = Vec::new();
            for at in by_stem.of_stem(name) {
                beside.push(NamedAsset {
                    name: names[at].clone(),
                    asset: files[at].1.asset.clone(),
                });
            }
            if beside.is_empty() || looked >= most {
                continue;
            }
            looked += 1;
            let own = NamedAsset {
                name: name.clone(),
                asset: file.asset.clone(),
            };
            let set = match file_set(&own, &beside, ctx) {
                Ok(Some(set)) if set.needs_others => set,
                Err(error) if error.is_cancelled() => return Err(error),
                // What can't be read is reported when it is written.
                _ => continue,
            };
            let (contents, others) = (contents_of(&set.info), set.others.join(", "));
            return Err(Error::unsupported(format!(
                "{} is read only together with {others} ({contents})",
                file.below
            ))
            .at_path(archive)
            .hint(
                "copy the files into a folder, and burn such files into one: create … \
                    --sidecars burn-in, or optimise",
            ));
        }
    }
    Ok(())
}

fn members_of_zip(file: &ByteSource, ctx: &JobContext) -> Result<Vec<ArchiveMember>> {
    let directory = CentralDirectory::read(file)?;
    let mut members = Vec::with_capacity(directory.entries.len());
    expect_number(directory.entries.len(), file.path())?;
    for entries in directory.entries.chunks(HEADER_BATCH) {
        ctx.check()?;
        if file.is_remote() {
            // The header of the data is 30 bytes, the name again, and fields of few bytes.
            let header = |entry: &DirectoryEntry| (entry.local, 128 + entry.name.len() as u64);
            file.prefetch(&entries.iter().map(header).collect::<Vec<_>>())?;
        }
        for entry in entries {
            // Archives of Windows programs may separate folders by backslashes.
            let name = entry.name.replace('\\', "/");
            if !name.ends_with('/') {
                members.push(ArchiveMember {
                    data: data_of_entry(file, &directory, entry)?,
                    name,
                });
                ctx.step(1);
            }
        }
    }
    Ok(members)
}

fn data_of_entry(
    file: &ByteSource,
    directory: &CentralDirectory,
    entry: &DirectoryEntry,
) -> Result<std::result::Result<(AssetPath, u64), SkipReason>> {
    let DirectoryEntry {
        method,
        flags,
        crc,
        stored,
        size,
        ..
    } = *entry;
    let codec = match method {
        _ if entry.name.contains(char::REPLACEMENT_CHARACTER) => {
            return Ok(Err(SkipReason::NotUnicode));
        }
        _ if entry.is_link => return Ok(Err(SkipReason::Link)),
        _ if flags & 1 != 0 => return Ok(Err(SkipReason::Encrypted)),
        0 => None,
        8 => Some(PackedCodec::Deflate),
        20 | 93 => Some(PackedCodec::Zstd),
        method => return Ok(Err(SkipReason::Method(method))),
    };
    let start = LocalHeader::read(file, entry.local)?.data;
    let end = start.checked_add(stored);
    let Some(end) = end.filter(|end| *end <= directory.offset) else {
        return Err(Error::format(format!(
            "the data of {} are outside the archive",
            entry.name
        ))
        .at_path(file.path()));
    };
    let Some(codec) = codec else {
        return if stored == size {
            Ok(Ok((file.range(start, end - start), size)))
        } else {
            Err(Error::format(format!(
                "{} is stored with another size than the archive states",
                entry.name
            ))
            .at_path(file.path()))
        };
    };
    if is_implausible(stored, size) {
        return Ok(Err(SkipReason::TooLarge));
    }
    let member = PackedMember {
        archive: file.path().into(),
        name: entry.name.replace('\\', "/").into(),
        codec,
        start,
        length: stored,
        offset: 0,
        size,
        crc: Some(crc),
        stamp: file.stamp().clone(),
    };
    Ok(Ok((AssetPath::Packed(member.into()), size)))
}

fn expect_number(members: usize, archive: &Path) -> Result<()> {
    if members <= FILES_MAX {
        Ok(())
    } else {
        Err(
            Error::unsupported(format!("the archive has more than {FILES_MAX} files"))
                .at_path(archive),
        )
    }
}

/// The members of a tar; `asset` makes an asset of a name, an offset and a size. Of members with
/// one name the last counts, as for a program that unpacks them.
fn members_of_tar(
    path: &Path,
    mut cursor: impl Read + Seek,
    asset: &dyn Fn(&str, u64, u64) -> AssetPath,
    ctx: &JobContext,
) -> Result<Vec<ArchiveMember>> {
    let damaged = |error| damaged_tar_error(error, path);
    let length = cursor.seek(SeekFrom::End(0)).map_err(damaged)?;
    cursor.rewind().map_err(damaged)?;
    let mut archive = tar::Archive::new(cursor);
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut members: Vec<ArchiveMember> = Vec::new();
    for entry in archive.entries_with_seek().map_err(damaged)? {
        ctx.check()?;
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let name = match String::from_utf8(entry.path_bytes().into_owned()) {
            Ok(name) => name,
            Err(error) => {
                let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
                members.push(ArchiveMember {
                    name,
                    data: Err(SkipReason::NotUnicode),
                });
                continue;
            }
        };
        if kind.is_dir()
            || (kind.is_file() && name.ends_with('/'))
            || kind.is_pax_global_extensions()
        {
            continue;
        }
        let is_sparse = kind.is_gnu_sparse() || has_sparse_fields(&mut entry);
        let data = if is_sparse {
            Err(SkipReason::Sparse)
        } else if kind.is_symlink() || kind.is_hard_link() {
            Err(SkipReason::Link)
        } else if !kind.is_file() && !kind.is_contiguous() {
            Err(SkipReason::Special)
        } else {
            Ok((
                asset(&name, entry.raw_file_position(), entry.size()),
                entry.size(),
            ))
        };
        let start = entry.raw_file_position();
        if data.is_ok()
            && start
                .checked_add(entry.size())
                .is_none_or(|end| end > length)
        {
            return Err(damaged(std::io::ErrorKind::UnexpectedEof.into()));
        }
        expect_number(members.len(), path)?;
        ctx.step(1);
        let member = ArchiveMember {
            name: name.clone(),
            data,
        };
        match places.get(&name) {
            Some(&at) => members[at] = member,
            None => {
                places.insert(name, members.len());
                members.push(member);
            }
        }
    }
    Ok(members)
}

/// The error of an archive that can't be read as a tar; one of the studio stays as it is.
fn damaged_tar_error(error: std::io::Error, path: &Path) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(own) => return own,
        Err(error) => error,
    };
    Error::format("the tar is damaged or cut short")
        .because(error)
        .at_path(path)
        .hint("fetch it again")
}

/// True for a member that pax calls sparse: its data is a map and pieces.
fn has_sparse_fields(entry: &mut tar::Entry<'_, impl Read>) -> bool {
    let Ok(Some(fields)) = entry.pax_extensions() else {
        return false;
    };
    fields
        .flatten()
        .any(|field| field.key_bytes().starts_with(b"GNU.sparse."))
}

/// `Read` and `Seek` over a function that reads at an offset.
struct PositionReader<F> {
    size: u64,
    at: u64,
    read_into: F,
}

impl<F: Fn(u64, &mut [u8]) -> std::io::Result<()>> Read for PositionReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = (buffer.len() as u64).min(self.size.saturating_sub(self.at)) as usize;
        (self.read_into)(self.at, &mut buffer[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

impl<F> Seek for PositionReader<F> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
