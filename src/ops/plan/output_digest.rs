//! Size and SHA-256 of the parts and indexes of a plan, on this machine or in a store.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{is_remote, place_below};
use crate::remote::{RemoteFile, object_exists, objects_below};

/// Bytes per request when an object is read back: more than are kept in the caches.
const READ_BYTES: u64 = 48 << 20;

/// Size in bytes and SHA-256 of a file. For a folder the size of all its files, and the SHA-256 of
/// the sorted list of their paths and digests.
pub(super) fn digest_of(path: &Path, ctx: &JobContext) -> Result<(u64, String)> {
    if is_remote(path) {
        return digest_of_objects(path, ctx);
    }
    if path.is_dir() {
        let mut files = Vec::new();
        files_below(path, &mut files)?;
        files.sort();
        let (mut total, mut list) = (0, Sha256::new());
        for file in files {
            let (bytes, digest) = digest_of_file(&file, ctx)?;
            let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy();
            let name = crate::files::with_slashes(&name);
            total += bytes;
            list.update(format!("{digest}  {name}\n"));
        }
        return Ok((total, hex::encode(list.finalize())));
    }
    digest_of_file(path, ctx)
}

fn digest_of_file(path: &Path, ctx: &JobContext) -> Result<(u64, String)> {
    use std::io::Read;
    let mut file = crate::files::open(path).io_at("read back what was written", path)?;
    let (mut hash, mut total, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        ctx.check()?;
        match file
            .read(&mut buffer)
            .io_at("read back what was written", path)?
        {
            0 => return Ok((total, hex::encode(hash.finalize()))),
            read => {
                hash.update(&buffer[..read]);
                total += read as u64;
            }
        }
    }
}

/// Size in bytes of a file, or of all files of a folder; `None` when it does not exist.
pub(super) fn size_of(path: &Path) -> Result<Option<u64>> {
    if is_remote(path) {
        return size_of_objects(path);
    }
    if path.is_dir() {
        let mut files = Vec::new();
        files_below(path, &mut files)?;
        return files
            .iter()
            .map(|file| {
                Ok(std::fs::metadata(file)
                    .io_at("look at the part", file)?
                    .len())
            })
            .sum::<Result<u64>>()
            .map(Some);
    }
    match std::fs::metadata(path) {
        Ok(meta) => Ok(Some(meta.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("look at the part", path, error)),
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).io_at("list the part", folder)? {
        let path = entry.io_at("list the part", folder)?.path();
        if path.is_dir() {
            files_below(&path, files)?
        } else {
            files.push(path)
        }
    }
    Ok(())
}

/// [`digest_of`] of an object, or of the objects of a folder.
fn digest_of_objects(path: &Path, ctx: &JobContext) -> Result<(u64, String)> {
    if object_exists(path)? {
        return digest_of_object(path, ctx);
    }
    let mut names = objects_below(path)?;
    names.sort_by_key(|name| place_below(path, name));
    let (mut total, mut list) = (0, Sha256::new());
    for name in names {
        let (bytes, digest) = digest_of_object(&place_below(path, &name), ctx)?;
        total += bytes;
        list.update(format!("{digest}  {name}\n"));
    }
    Ok((total, hex::encode(list.finalize())))
}

fn digest_of_object(path: &Path, ctx: &JobContext) -> Result<(u64, String)> {
    let file = RemoteFile::open(path, 1)?;
    let (size, mut hash, mut at) = (file.size_bytes(), Sha256::new(), 0);
    while at < size {
        ctx.check()?;
        let length = READ_BYTES.min(size - at);
        for piece in file.read_ranges(&[(at, length)])? {
            hash.update(&piece);
        }
        at += length;
    }
    Ok((size, hex::encode(hash.finalize())))
}

/// [`size_of`] of an object, or of the objects of a folder.
fn size_of_objects(path: &Path) -> Result<Option<u64>> {
    if let Some(file) = RemoteFile::open_if_there(path, 1)? {
        return Ok(Some(file.size_bytes()));
    }
    let names = objects_below(path)?;
    let paths: Vec<PathBuf> = names.iter().map(|name| place_below(path, name)).collect();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let mut total = None;
    for file in RemoteFile::open_all(&paths, 1)? {
        total = Some(total.unwrap_or(0) + file?.size_bytes());
    }
    Ok(total)
}
