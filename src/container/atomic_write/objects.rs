//! Outputs in object stores: a file is sent whole, and a folder object by object with the one that
//! readers open first as the last.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::names::{is_ours, refuse_name};
use crate::error::{Cause, Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::place_below;
use crate::remote::{
    NewObject, ObjectComparison, ObjectWriter, delete_object, expect_writable, object_exists,
    objects_below, objects_have, put_objects,
};

/// File that readers open first; without it a folder is no dataset.
const LAST: &str = "COLLECTION.json";
/// Bytes that are read ahead of an upload.
const READ_AHEAD: usize = 1 << 20;

/// Refuses an address that can't be written, and an object that exists unless `overwrite`.
pub(super) fn refuse_object(target: &Path, overwrite: bool) -> Result<()> {
    expect_writable(target)?;
    if !overwrite && object_exists(target)? {
        Err(Error::output_exists().at_path(target))
    } else {
        Ok(())
    }
}

/// Sends a file of this machine to `target`.
pub(super) fn send_file(file: &File, target: &Path, overwrite: bool) -> Result<()> {
    let mut file = file;
    let size = file.metadata().io_at("read what is sent", target)?.len();
    file.seek(SeekFrom::Start(0))
        .io_at("read what is sent", target)?;
    let mut writer = ObjectWriter::new(target, overwrite, size)?;
    std::io::copy(&mut BufReader::with_capacity(READ_AHEAD, file), &mut writer)
        .io_at("send the output", target)?;
    writer.finish().map(drop)
}

/// A folder of objects that is being written. Readers see a dataset once [`ObjectFolder::finish`]
/// has written its COLLECTION.json. One that is replaced stays whole while objects of new names are
/// sent ([`ObjectFolder::put_new`], [`ObjectFolder::stream_new`]); it is hidden
/// ([`ObjectFolder::hide`]) only while objects that both have are replaced. Dropped before the end,
/// the new objects are removed, unless the old dataset is hidden: then the next write completes it.
pub struct ObjectFolder {
    target: PathBuf,
    overwrite: bool,
    /// It is a dataset, all of which is replaced; otherwise arbitrary files, of which others stay.
    is_dataset: bool,
    /// Names of the objects below the folder when the write began.
    before: BTreeSet<String>,
    /// Names of the objects that the store has from this write, or may have: a request whose answer
    /// was lost may have written its object.
    written: Mutex<BTreeSet<String>>,
    is_hidden: AtomicBool,
    is_done: bool,
}

impl ObjectFolder {
    /// Starts a dataset at `target`. Objects of an interrupted write, or of the dataset that is
    /// replaced, are used again where they have the same bytes.
    ///
    /// # Errors
    /// When a dataset exists and `overwrite` is false; when the folder has other objects that would
    /// be mixed with the dataset; when the store refuses to list the folder.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        let folder = Self::begin(target, overwrite, true)?;
        match folder
            .before
            .iter()
            .find(|name| !is_ours(name.split('/').next().unwrap_or_default()))
        {
            Some(foreign) => Err(refuse_name(foreign, target)),
            None => Ok(folder),
        }
    }

    /// Starts a folder of arbitrary files at `target`. With `overwrite`, it may have objects, and
    /// those of the same names are replaced.
    ///
    /// # Errors
    /// As [`ObjectFolder::new`].
    pub fn of_files(target: &Path, overwrite: bool) -> Result<Self> {
        let folder = Self::begin(target, overwrite, false)?;
        if overwrite || folder.before.is_empty() {
            Ok(folder)
        } else {
            Err(Error::output_exists().at_path(target))
        }
    }

    fn begin(target: &Path, overwrite: bool, is_dataset: bool) -> Result<Self> {
        expect_writable(target)?;
        let mut before: BTreeSet<String> = objects_below(target)?.into_iter().collect();
        // The list of some stores lacks what was written last, which is this object.
        if is_dataset && !before.contains(LAST) && object_exists(&place_below(target, LAST))? {
            before.insert(LAST.to_owned());
        }
        if !overwrite && before.contains(LAST) {
            return Err(Error::output_exists().at_path(target));
        }
        Ok(Self {
            target: target.to_owned(),
            overwrite,
            is_dataset,
            before,
            written: Mutex::default(),
            is_hidden: AtomicBool::new(false),
            is_done: false,
        })
    }

    fn place(&self, name: &str) -> PathBuf {
        place_below(&self.target, name)
    }

    fn may_replace(&self, name: &str) -> bool {
        self.overwrite && self.before.contains(name)
    }

    /// Writes small objects, several at once.
    ///
    /// # Errors
    /// The first error: an object of another writer, or a store that refuses it.
    pub fn put_all(&self, objects: Vec<(String, Bytes)>) -> Result<()> {
        let new = objects.iter().map(|(name, bytes)| NewObject {
            path: self.place(name),
            bytes: bytes.clone(),
            overwrite: self.may_replace(name),
        });
        // When the job is cancelled, some may be there.
        let note_all = |_: &Error| objects.iter().for_each(|(name, _)| self.note(name));
        let outcomes = put_objects(new.collect()).inspect_err(note_all)?;
        let mut first_error = None;
        for ((name, bytes), outcome) in objects.iter().zip(outcomes) {
            let written = match outcome {
                Ok(_) => Ok(()),
                // Left by a write that was interrupted: the same bytes need no second request.
                Err(error)
                    if error.is_caused_by(Cause::OutputExists) && self.before.contains(name) =>
                {
                    match objects_have(vec![(self.place(name), bytes.clone())])?.pop() {
                        Some(Ok(true)) => Ok(()),
                        Some(Err(other)) => Err(other),
                        Some(Ok(false)) | None => Err(error),
                    }
                }
                Err(error) => Err(error),
            };
            self.note_sent(name, &written);
            if let Err(error) = written {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Writes small objects whose names the folder does not have, several at once, and returns the
    /// names of those that it has with other bytes.
    ///
    /// # Errors
    /// As [`ObjectFolder::put_all`].
    pub fn put_new(&self, objects: Vec<(String, Bytes)>) -> Result<Vec<String>> {
        let (present, new): (Vec<_>, Vec<_>) = objects
            .into_iter()
            .partition(|(name, _)| self.before.contains(name));
        self.put_all(new)?;
        self.differing(&present)
    }

    /// The names of those objects that the folder does not have with the same bytes; the others
    /// need not be written.
    ///
    /// # Errors
    /// When the store refuses to say.
    pub fn differing(&self, objects: &[(String, Bytes)]) -> Result<Vec<String>> {
        let asked = objects
            .iter()
            .filter(|(name, _)| self.before.contains(name));
        let asked: Vec<(PathBuf, Bytes)> = asked
            .map(|(name, bytes)| (self.place(name), bytes.clone()))
            .collect();
        let mut same = objects_have(asked)?.into_iter();
        let mut differing = Vec::new();
        for (name, _) in objects {
            if self.before.contains(name) && same.next().unwrap_or(Ok(false))? {
                self.note(name)
            } else {
                differing.push(name.clone())
            }
        }
        Ok(differing)
    }

    /// Writes a large object of `size` bytes with `write`.
    ///
    /// # Errors
    /// Those of `write`; an object of another writer, or a store that refuses it.
    pub fn stream(
        &self,
        name: &str,
        size: u64,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        // Of an interrupted write: it may be replaced, as the dataset never became visible.
        let mut writer = ObjectWriter::new(&self.place(name), self.before.contains(name), size)?;
        write(&mut writer)?;
        let sent = writer.finish().map(drop);
        self.note_sent(name, &sent);
        sent
    }

    /// Writes a large object whose name the folder does not have. False when it has one with other
    /// bytes: `write` is called to compare them.
    ///
    /// # Errors
    /// As [`ObjectFolder::stream`].
    pub fn stream_new(
        &self,
        name: &str,
        size: u64,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<bool> {
        if !self.before.contains(name) {
            return self.stream(name, size, write).map(|()| true);
        }
        let Some(mut comparison) = ObjectComparison::new(&self.place(name), size)? else {
            return Ok(false);
        };
        write(&mut comparison)?;
        let is_same = comparison.is_same();
        if is_same {
            self.note(name);
        }
        Ok(is_same)
    }

    /// Removes the COLLECTION.json of the dataset that is replaced, so that no reader sees a
    /// mixture while objects of the same names are replaced: until [`ObjectFolder::finish`] there
    /// is no dataset.
    ///
    /// # Errors
    /// When the store refuses it.
    pub fn hide(&self) -> Result<()> {
        if self.is_dataset
            && self.before.contains(LAST)
            && !self.is_hidden.swap(true, Ordering::Relaxed)
        {
            delete_object(&self.place(LAST))?;
        }
        Ok(())
    }

    /// Sends the files below a folder of this machine: of a dataset the samples first, then the
    /// tables, and COLLECTION.json after all others; of other files those at its top last.
    ///
    /// # Errors
    /// When a file can't be read or sent.
    pub fn send_tree(self, folder: &Path, ctx: &JobContext) -> Result<()> {
        let mut files = Vec::new();
        list_files(folder, "", &mut files)?;
        files.retain(|name| name != LAST || self.is_dataset);
        files.sort_by_cached_key(|name| (name == LAST, !name.contains('/'), name.clone()));
        let has_last = self.is_dataset && files.pop_if(|name| name == LAST).is_some();
        let mut replaced = Vec::new();
        for name in files {
            ctx.check()?;
            let path = folder.join(&name);
            let size = std::fs::metadata(&path)
                .io_at("read what is sent", &path)?
                .len();
            // A table of a new name is for the new dataset too.
            let is_sample = !self.is_dataset || name.starts_with("DATA/");
            let is_sent = if self.is_dataset && (is_sample || self.before.contains(&name)) {
                self.stream_new(&name, size, |writer| send_whole(&path, writer))?
            } else {
                false
            };
            if !is_sent {
                replaced.push((name, path, size));
            }
        }
        if !replaced.is_empty() {
            self.hide()?;
        }
        for (name, path, size) in replaced {
            ctx.check()?;
            self.stream(&name, size, |writer| send_whole(&path, writer))
                .map_err(|error| self.incomplete(error))?;
        }
        let last = if has_last {
            Some(std::fs::read(folder.join(LAST)).io_at("read what is sent", folder)?)
        } else {
            None
        };
        self.finish(last)
    }

    /// Says what to do about an error when the old dataset is hidden.
    pub fn incomplete(&self, error: Error) -> Error {
        if self.is_hidden.load(Ordering::Relaxed) {
            error.hint(
                "the old dataset is replaced in part and can't be opened: the same \
                command completes the new one",
            )
        } else {
            error
        }
    }

    /// Writes COLLECTION.json, if the folder has one, which makes the dataset visible; then removes
    /// objects of the dataset that it replaced.
    ///
    /// # Errors
    /// When another writer was faster, or the store refuses it.
    pub fn finish(mut self, collection: Option<Vec<u8>>) -> Result<()> {
        if let Some(bytes) = collection {
            // That of a hidden dataset was removed: an object is another writer's.
            let overwrite = !self.is_hidden.load(Ordering::Relaxed) && self.may_replace(LAST);
            self.send_last(bytes.into(), overwrite)?;
            self.note(LAST);
        }
        self.is_done = true;
        if !self.is_dataset {
            return Ok(());
        }
        let written = std::mem::take(
            self.written
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.before
            .difference(&written)
            .filter(|name| *name != LAST)
            .try_for_each(|name| delete_object(&self.place(name)))
    }

    /// Sends COLLECTION.json. When the store does not say whether it has it, it is asked once more:
    /// objects that a visible COLLECTION.json names may not be removed.
    fn send_last(&mut self, bytes: Bytes, overwrite: bool) -> Result<()> {
        let new = NewObject {
            path: self.place(LAST),
            bytes: bytes.clone(),
            overwrite,
        };
        let not_sent = || Err(Error::internal("an object was not sent"));
        let sent = put_objects(vec![new]).and_then(|mut sent| sent.pop().unwrap_or_else(not_sent));
        let Err(error) = sent else { return Ok(()) };
        if !error.is_caused_by(Cause::OutputExists) {
            let asked = objects_have(vec![(self.place(LAST), bytes)]).map(|mut found| found.pop());
            match asked {
                Ok(Some(Ok(true))) => return Ok(()),
                Ok(Some(Ok(false)) | None) => {}
                Ok(Some(Err(_))) | Err(_) => {
                    self.is_done = true;
                    return Err(error.hint(
                        "the store may have the whole dataset: look at it; if it can't be \
                        opened, the same command completes it",
                    ));
                }
            }
        }
        Err(self.incomplete(error))
    }

    /// Notes an object that the store has or may have: all but one of another writer.
    fn note_sent(&self, name: &str, sent: &Result<()>) {
        if !matches!(sent, Err(error) if error.is_caused_by(Cause::OutputExists)) {
            self.note(name);
        }
    }

    fn note(&self, name: &str) {
        self.written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned());
    }
}

impl Drop for ObjectFolder {
    fn drop(&mut self) {
        if self.is_done || self.is_hidden.load(Ordering::Relaxed) {
            return;
        }
        let written = std::mem::take(
            self.written
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for name in written.difference(&self.before) {
            if let Err(error) = delete_object(&self.place(name)) {
                tracing::warn!(
                    "{} is not needed any more, and could not be removed: {error}",
                    self.place(name).display()
                );
                return;
            }
        }
    }
}

/// Writes all bytes of a file.
fn send_whole(path: &Path, writer: &mut dyn Write) -> Result<()> {
    let file = File::open(path).io_at("read what is sent", path)?;
    std::io::copy(&mut BufReader::with_capacity(READ_AHEAD, file), writer)
        .io_at("send the output", path)?;
    Ok(())
}

/// Paths of the files below a folder, relative to it, with `/`.
fn list_files(folder: &Path, above: &str, files: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).io_at("read what is sent", folder)? {
        let entry = entry.io_at("read what is sent", folder)?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry
            .file_type()
            .io_at("read what is sent", folder)?
            .is_dir()
        {
            list_files(&entry.path(), &format!("{name}/"), files)?
        } else {
            files.push(name)
        }
    }
    Ok(())
}
