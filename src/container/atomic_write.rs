//! Atomic output of files and folders: written under a temporary name beside the target, synced to
//! disk, then renamed. Replaced outputs are deleted last. Where the target is an object of a store,
//! what is small is written in the temporary folder of this machine and sent when it is whole;
//! datasets are streamed ([`ObjectFolder`], [`crate::remote::ObjectWriter`]).

#[cfg(test)]
mod interrupted;
mod names;
mod object_set;
mod objects;
mod placing;
mod replacement;
mod scratch;
mod swap;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, IoContext, Result};
use crate::file_lock::FileLock;
use crate::files::free_bytes;
use crate::model::is_remote;

use names::{is_ours, make_parent, name_of, parent_of, refuse_name};
pub use object_set::{ObjectSet, Sent};
pub use objects::ObjectFolder;
use objects::{refuse_object, send_file};
pub use replacement::{Replacement, clear_interrupted, restore_interrupted};
use scratch::CreatedFolders;
pub(super) use scratch::is_being_edited;
pub use scratch::{
    DatasetLock, Scratch, aside_of, has_interrupted_edit, lock_dataset, restore_aside,
};

/// A file being written.
pub struct PartialFile {
    temporary: NamedTempFile,
    target: PathBuf,
    overwrite: bool,
    /// Shows other processes that the file is being written. Dropped before `created_folders`: on
    /// Windows the lock is a file in those folders.
    _lock: Option<FileLock>,
    created_folders: CreatedFolders,
    /// Folder of the file when the target is an address. Dropped after `temporary`.
    _scratch: Option<Scratch>,
}

/// Where a folder is written until it is whole.
enum Place {
    /// Beside the target.
    Beside(Scratch),
    /// In the temporary folder of this machine: the target is an address.
    Elsewhere(Scratch, ObjectFolder),
}

/// A folder being written.
pub struct PartialFolder {
    scratch: Place,
    target: PathBuf,
    /// The temporary folder.
    place: PathBuf,
    overwrite: bool,
    /// Whether arbitrary files may be replaced (all of which must exist in the new folder), instead
    /// of a dataset.
    files: bool,
}

/// Prepares an output: cleans up or restores what an interrupted write left, then checks that the
/// target may be written.
fn begin(target: &Path, overwrite: bool) -> Result<()> {
    parent_of(target)?;
    name_of(target)?;
    scratch::tidy_up(target);
    refuse_existing(target, overwrite)
}

/// Refuses devices, and existing targets unless `overwrite`.
///
/// # Errors
/// [`crate::error::Kind::Usage`].
pub fn refuse_existing(target: &Path, overwrite: bool) -> Result<()> {
    // Renaming over a device would replace it by a regular file.
    if target
        .metadata()
        .is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
    {
        return Err(Error::usage("the output is neither a file nor a folder").at_path(target));
    }
    if !overwrite && target.symlink_metadata().is_ok() {
        return Err(Error::output_exists().at_path(target));
    }
    Ok(())
}

/// The first entry of the folder `target` that does not belong to a dataset, and so prevents
/// replacing it. `None` for a dataset, an empty folder, or a path that is no folder.
///
/// # Errors
/// When the folder cannot be listed.
pub fn foreign_in(target: &Path) -> Result<Option<String>> {
    if !target.is_dir() {
        return Ok(None);
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(target).io_at("list the folder to be replaced", target)? {
        let entry = entry.io_at("list the folder to be replaced", target)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let whole = names.is_empty()
        || names
            .iter()
            .any(|name| name == "COLLECTION.json" || name == "METADATA");
    Ok(names.into_iter().find(|name| !whole || !is_ours(name)))
}

/// Refuses to replace a folder that contains anything but a dataset.
fn refuse_foreign(target: &Path) -> Result<()> {
    match foreign_in(target)? {
        None => Ok(()),
        Some(foreign) => Err(refuse_name(&foreign, target)),
    }
}

/// Refuses to replace the folder `target` when it has a file that `new` lacks.
fn refuse_losing(target: &Path, new: &Path) -> Result<()> {
    for entry in std::fs::read_dir(target).io_at("list the folder to be replaced", target)? {
        let entry = entry.io_at("list the folder to be replaced", target)?;
        let (old, new) = (entry.path(), new.join(entry.file_name()));
        if entry
            .file_type()
            .io_at("list the folder to be replaced", &old)?
            .is_dir()
        {
            refuse_losing(&old, &new)?;
        } else if new.symlink_metadata().is_err() {
            return Err(Error::usage(
                "this file would be lost: the new folder has no file of this name",
            )
            .at_path(&old)
            .hint("choose another name for the output, or move the file away"));
        }
    }
    Ok(())
}

/// Refuses a folder that is not to be replaced by `new`. `files`: it holds files of the user.
fn refuse_folder(target: &Path, new: &Path, overwrite: bool, files: bool) -> Result<()> {
    refuse_existing(target, overwrite)?;
    if files {
        refuse_losing(target, new)
    } else {
        refuse_foreign(target)
    }
}

impl PartialFile {
    /// Starts writing `target`.
    ///
    /// # Errors
    /// When `target` exists and `overwrite` is false, is a folder, or its folder cannot be created.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        if is_remote(target) {
            refuse_object(target, overwrite)?;
            let scratch = Scratch::for_target(target)?;
            let temporary = NamedTempFile::new_in(scratch.path())
                .io_at("make a file in the temporary folder", scratch.path())?;
            return Ok(Self {
                temporary,
                target: target.to_owned(),
                overwrite,
                created_folders: CreatedFolders::default(),
                _lock: None,
                _scratch: Some(scratch),
            });
        }
        begin(target, overwrite)?;
        if target.is_dir() {
            return Err(
                Error::usage("the output is a folder; a file name is needed").at_path(target),
            );
        }
        let (temporary, lock, created_folders) = scratch::file_beside(target)?;
        Ok(Self {
            temporary,
            target: target.to_owned(),
            overwrite,
            created_folders,
            _lock: lock,
            _scratch: None,
        })
    }

    /// The open temporary file.
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Path of the temporary file.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Syncs the file to disk and renames it to the target, or sends it there.
    ///
    /// # Errors
    /// When syncing, renaming or sending fails; the target is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        let size = self
            .temporary
            .as_file()
            .metadata()
            .map_or(0, |about| about.len());
        tracing::info!("writes {} ({size} bytes)", self.target.display());
        if is_remote(&self.target) {
            return send_file(self.temporary.as_file(), &self.target, self.overwrite);
        }
        self.temporary
            .as_file()
            .sync_all()
            .io_at("sync the output to disk", &self.target)?;
        let outcome = if self.overwrite {
            self.temporary.persist(&self.target)
        } else {
            self.temporary.persist_noclobber(&self.target)
        };
        match outcome {
            Ok(_) => {}
            #[cfg(windows)]
            Err(error) if self.overwrite => replace_open(error.file, &self.target)?,
            Err(error) => return Err(Error::io("rename the output", &self.target, error.error)),
        }
        swap::sync_folder(&parent_of(&self.target)?)?;
        self.created_folders.sync_and_keep()
    }
}

/// Replaces a file that this program has open. A plain rename of Windows refuses that; the standard
/// library's renames as on other systems: open handles keep the old file.
#[cfg(windows)]
fn replace_open(temporary: tempfile::NamedTempFile, target: &Path) -> Result<()> {
    let (file, path) = temporary
        .keep()
        .map_err(|error| Error::io("rename the output", target, error.error))?;
    drop(file);
    swap::rename(&path, target).map_err(|error| {
        let _ = std::fs::remove_file(&path);
        Error::io("rename the output", target, error).hint(
            "another program may have the file open: close it there, then write again, or \
                write under another name",
        )
    })
}

impl PartialFolder {
    /// Starts writing a dataset at `target`, which with `overwrite` may be an existing dataset or
    /// empty folder.
    ///
    /// # Errors
    /// When `target` may not be replaced, or the temporary folder cannot be created.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        if is_remote(target) {
            return Self::for_address(target, overwrite, ObjectFolder::new(target, overwrite)?);
        }
        begin(target, overwrite)?;
        refuse_foreign(target)?;
        Self::make(target, overwrite, false)
    }

    /// For an address: a folder of this machine, which is sent when it is whole.
    fn for_address(target: &Path, overwrite: bool, objects: ObjectFolder) -> Result<Self> {
        let folder = Scratch::for_target(target)?;
        let place = folder.path().to_owned();
        Ok(Self {
            scratch: Place::Elsewhere(folder, objects),
            target: target.to_owned(),
            place,
            overwrite,
            files: false,
        })
    }

    /// Starts writing a folder of arbitrary files at `target`. With `overwrite`, every file of an
    /// existing folder must also be in the new one.
    ///
    /// # Errors
    /// When `target` may not be replaced, or the temporary folder cannot be created.
    pub fn of_files(target: &Path, overwrite: bool) -> Result<Self> {
        if is_remote(target) {
            return Self::for_address(
                target,
                overwrite,
                ObjectFolder::of_files(target, overwrite)?,
            );
        }
        begin(target, overwrite)?;
        Self::make(target, overwrite, true)
    }

    fn make(target: &Path, overwrite: bool, files: bool) -> Result<Self> {
        if target.is_file() {
            return Err(
                Error::usage("the output is a file; a FOLDER needs a folder name").at_path(target),
            );
        }
        let scratch = Scratch::for_target(target)?;
        let place = scratch.path().join(swap::NEW).join(name_of(target)?);
        std::fs::create_dir_all(&place).io_at("make a folder beside the output", &place)?;
        Ok(Self {
            scratch: Place::Beside(scratch),
            target: target.to_owned(),
            place,
            overwrite,
            files,
        })
    }

    /// Path of the temporary folder.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Syncs everything to disk and renames the folder to the target. A replaced folder is deleted
    /// afterwards. A folder for an address is sent there, COLLECTION.json last.
    ///
    /// # Errors
    /// When syncing or renaming fails, or the target received foreign files meanwhile; it is then
    /// unchanged. When sending fails.
    pub fn finish(self) -> Result<()> {
        let mut scratch = match self.scratch {
            Place::Beside(scratch) => scratch,
            Place::Elsewhere(folder, objects) => {
                let context = crate::jobs::current()
                    .map(|job| job.context)
                    .unwrap_or_default();
                return objects.send_tree(folder.path(), &context);
            }
        };
        swap::sync_tree(scratch.path())?;
        let (overwrite, files) = (self.overwrite, self.files);
        // Writing may take hours: the target is checked again.
        let check = |new: &Path, target: &Path| refuse_folder(target, new, overwrite, files);
        let names = [name_of(&self.target)?.to_owned()];
        placing::place(
            &mut scratch,
            &parent_of(&self.target)?,
            (&names, &[]),
            &check,
        )
    }
}

/// Several outputs that are renamed together, written into one temporary folder beside them.
pub struct Staging {
    scratch: Scratch,
    parent: PathBuf,
    /// The temporary folder.
    place: PathBuf,
    names: Vec<OsString>,
    /// Existing entries with these names are deleted together with the replaced outputs.
    gone: Vec<OsString>,
    overwrite: bool,
    /// Folders contain documents instead of datasets.
    documents: bool,
}

impl Staging {
    /// Starts outputs in the folder of `target`.
    ///
    /// # Errors
    /// When the temporary folder cannot be created.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        begin(target, true)?;
        let scratch = Scratch::for_target(target)?;
        let place = scratch.path().join(swap::NEW);
        std::fs::create_dir(&place).io_at("make a folder beside the output", &place)?;
        let parent = parent_of(target)?;
        Ok(Self {
            scratch,
            parent,
            place,
            names: Vec::new(),
            gone: Vec::new(),
            overwrite,
            documents: false,
        })
    }

    /// Path of the temporary folder.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Reserves an output name.
    ///
    /// # Errors
    /// When the output exists and may not be replaced.
    pub fn claim(&mut self, name: &str) -> Result<()> {
        let target = self.parent.join(name);
        scratch::tidy_up(&target);
        check_output(&target, self.overwrite, self.documents)?;
        self.names.push(name.into());
        Ok(())
    }

    /// Deletes the existing file `name` together with the replaced outputs.
    pub fn retire(&mut self, name: &OsStr) {
        self.gone.push(name.to_owned());
    }

    /// Renames every reserved output, replacing existing ones where allowed. When one rename fails,
    /// the others are rolled back and the replaced outputs restored.
    ///
    /// # Errors
    /// When syncing or renaming fails.
    pub fn finish(mut self) -> Result<()> {
        swap::sync_tree(self.scratch.path())?;
        let (overwrite, documents) = (self.overwrite, self.documents);
        let check = |_: &Path, target: &Path| check_output(target, overwrite, documents);
        placing::place(
            &mut self.scratch,
            &self.parent,
            (&self.names, &self.gone),
            &check,
        )
    }
}

/// Refuses targets that one of several outputs may not replace.
fn check_output(target: &Path, overwrite: bool, documents: bool) -> Result<()> {
    refuse_existing(target, overwrite)?;
    if documents {
        refuse_strangers(target)
    } else {
        refuse_foreign(target)
    }
}

/// Writes a small file atomically.
///
/// # Errors
/// When `target` exists and `overwrite` is false, or an IO error.
pub fn write_document(target: &Path, bytes: &[u8], overwrite: bool) -> Result<()> {
    let output = PartialFile::new(target, overwrite)?;
    output
        .file()
        .write_all(bytes)
        .io_at("write the output", target)?;
    output.finish()
}

/// Small files that are written into a folder one after the other, and appear all or none. A name
/// may have a leading folder, which is replaced as a whole.
pub struct DocumentFolder {
    folder: PathBuf,
    staging: Staging,
}

impl DocumentFolder {
    /// Begins; nothing is in `folder` before [`DocumentFolder::finish`].
    ///
    /// # Errors
    /// An IO error.
    pub fn new(folder: &Path, overwrite: bool) -> Result<Self> {
        let staging = Staging {
            documents: true,
            ..Staging::new(&folder.join("documents"), overwrite)?
        };
        Ok(Self {
            folder: folder.to_owned(),
            staging,
        })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// When an output exists and may not be replaced, or an IO error.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let top = name.split('/').next().unwrap_or_default();
        if !self.has_claimed(top) {
            self.staging.claim(top)?;
        }
        let path = self.staging.path().join(name);
        make_parent(&path)?;
        std::fs::write(&path, bytes).io_at("write the output", &path)
    }

    /// Moves the files into the folder. Files of earlier calls in `folders` are deleted; unless
    /// these contain anything but JSON.
    ///
    /// # Errors
    /// When an output exists and may not be replaced, or an IO error; nothing is then written.
    pub fn finish(mut self, folders: &[&str]) -> Result<()> {
        for name in folders {
            if self.folder.join(name).is_dir() && !self.has_claimed(name) {
                self.staging.claim(name)?;
                make_parent(&self.staging.path().join(name).join("any"))?;
            }
        }
        self.staging.finish()
    }

    fn has_claimed(&self, name: &str) -> bool {
        self.staging.names.iter().any(|claimed| claimed == name)
    }
}

/// Refuses to replace a folder of documents that contains anything else.
fn refuse_strangers(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let path = entry.io_at("read the folder", folder)?.path();
        if path.is_dir() || path.extension().is_none_or(|ending| ending != "json") {
            let error = Error::usage(
                "the folder for the documents contains other files, which would be lost",
            )
            .at_path(&path);
            return Err(error.hint("choose another folder"));
        }
    }
    Ok(())
}

/// Writes all bytes at an offset.
#[cfg(unix)]
pub fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// Writes all bytes at an offset.
#[cfg(windows)]
pub fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let written =
            std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], at + done as u64)?;
        if written == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        done += written;
    }
    Ok(())
}

/// Checks that the disk that will hold `target` has `bytes` free; passes when the system does not
/// report it. Creates nothing.
pub fn check_space(target: &Path, bytes: u64) -> Result<()> {
    // Stores report no limit.
    if is_remote(target) {
        return Ok(());
    }
    parent_of(target)?;
    match free_bytes(target) {
        Some(free) if free < bytes => {
            let text = format!("the output needs {bytes} bytes, the disk has {free} free");
            Err(Error::new(crate::error::Kind::Io, text)
                .at_path(target)
                .hint("free some space, or write to another disk"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("is in a folder")).expect("makes the folder");
        std::fs::write(path, b"precious").expect("writes");
    }

    #[test]
    fn only_datasets_and_empty_folders_are_replaced() {
        let place = tempfile::tempdir().expect("has a temporary folder");
        let at = |name: &str| place.path().join(name);
        for name in [
            "own/file.txt",
            "mixed/COLLECTION.json",
            "mixed/DATA/a",
            "mixed/notes.txt",
            "sources/DATA/a.tif",
        ] {
            file(&at(name));
        }
        for name in ["own", "mixed", "sources"] {
            let error = PartialFolder::new(&at(name), true)
                .err()
                .expect("is refused")
                .report();
            assert!(error.contains("no part of a dataset"), "{error}");
            assert!(
                Staging::new(&at("x"), true)
                    .expect("begins")
                    .claim(name)
                    .is_err(),
                "{name}"
            );
        }
        for name in [
            "old/COLLECTION.json",
            "old/METADATA/level0.parquet",
            "old/DATA/a",
            ".tacocat/COLLECTION.json",
            ".tacocat/level0.parquet",
        ] {
            file(&at(name));
        }
        std::fs::create_dir(at("empty")).expect("makes a folder");
        for name in ["old", ".tacocat", "empty"] {
            let new = PartialFolder::new(&at(name), true)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            file(&new.path().join("COLLECTION.json"));
            new.finish()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                std::fs::read_dir(at(name)).expect("is there").count(),
                1,
                "{name}"
            );
        }
        let late = PartialFolder::new(&at("old"), true).expect("begins");
        file(&at("old/put here in the meantime.txt"));
        assert!(late.finish().is_err() && at("old/put here in the meantime.txt").exists());
    }

    #[test]
    fn a_folder_of_files_is_replaced_when_nothing_in_it_is_lost() {
        let place = tempfile::tempdir().expect("has a temporary folder");
        let target = place.path().join("rasters");
        file(&target.join("a/one.tif"));
        let again = |names: &[&str]| {
            let new = PartialFolder::of_files(&target, true).expect("begins");
            names.iter().for_each(|name| file(&new.path().join(name)));
            new.finish()
        };
        again(&["a/one.tif", "b.tif"]).expect("has all that was there");
        let error = again(&["b.tif"]).expect_err("would lose a file").report();
        assert!(
            error.contains("would be lost")
                && error.contains("one.tif")
                && target.join("a/one.tif").exists(),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_open_here_is_replaced() {
        use std::io::Read;
        let place = tempfile::tempdir().expect("has a temporary folder");
        let target = place.path().join("out.tacozip");
        file(&target);
        let mut open = File::open(&target).expect("opens");
        write_document(&target, b"new", true).expect("replaces it");
        let mut old = String::new();
        open.read_to_string(&mut old).expect("reads the old file");
        assert_eq!(
            (
                old.as_str(),
                std::fs::read(&target).expect("reads").as_slice()
            ),
            ("precious", b"new".as_slice())
        );
        assert_eq!(std::fs::read_dir(place.path()).expect("lists").count(), 1);
    }

    #[test]
    fn addresses_without_a_store_and_devices_are_no_outputs() {
        for target in ["https://example.org/x.tacozip", "http://localhost/x"] {
            let error = PartialFile::new(Path::new(target), true)
                .err()
                .expect("is refused");
            assert_eq!(error.kind(), crate::error::Kind::Unsupported, "{error}");
            assert!(PartialFolder::new(Path::new(target), true).is_err());
            assert!(Staging::new(Path::new(target), true).is_err());
        }
        assert!(!Path::new("s3:").exists() && !Path::new("https:").exists());
        #[cfg(unix)]
        {
            let error = PartialFile::new(Path::new("/dev/null"), true)
                .err()
                .expect("is refused")
                .report();
            assert!(error.contains("neither a file nor a folder"), "{error}");
        }
    }

    #[test]
    fn documents_are_replaced_together() {
        let home = tempfile::tempdir().expect("a folder");
        let write = |documents: &[(&str, &[u8])], overwrite| {
            let mut folder = DocumentFolder::new(home.path(), overwrite)?;
            documents
                .iter()
                .try_for_each(|(name, bytes)| folder.put(name, bytes))?;
            folder.finish(&["items"])
        };
        let names = || {
            let mut names: Vec<String> = std::fs::read_dir(home.path())
                .expect("lists")
                .map(|e| {
                    e.expect("an entry")
                        .file_name()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect();
            names.sort();
            names
        };
        std::fs::create_dir(home.path().join("items")).expect("a folder");
        std::fs::write(home.path().join("items/b.json"), "old").expect("written");
        // Something is in the way: nothing is written.
        assert!(write(&[("c.json", b"new"), ("items/a.json", b"new")], false).is_err());
        assert_eq!(names(), ["items"]);
        write(&[("c.json", b"new"), ("items/a.json", b"new")], true).expect("replaces");
        assert_eq!(names(), ["c.json", "items"]);
        assert!(
            !home.path().join("items/b.json").exists() && home.path().join("items/a.json").exists()
        );
        write(&[("c.json", b"newer")], true).expect("replaces");
        assert!(!home.path().join("items/a.json").exists());
        // A folder with other files is not deleted.
        std::fs::write(home.path().join("items/a.tif"), "pixels").expect("written");
        assert!(write(&[("c.json", b"newest"), ("items/a.json", b"new")], true).is_err());
        assert_eq!(
            std::fs::read(home.path().join("c.json")).expect("reads"),
            b"newer"
        );
        assert!(home.path().join("items/a.tif").exists() && names().len() == 2);
    }
}
