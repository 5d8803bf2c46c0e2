//! Files and folders that appear under their name complete or not at all: temporary name beside the target, fsync, rename.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::is_remote;

/// A file being written.
pub struct PartialFile {
    temporary: NamedTempFile,
    target: PathBuf,
    overwrite: bool,
}

/// A folder being written.
pub struct PartialFolder {
    temporary: TempDir,
    target: PathBuf,
    overwrite: bool,
    /// It may replace a folder of any files that it has as well.
    files: bool,
}

fn folder_of(target: &Path) -> Result<PathBuf> {
    // As a path of this machine it would be a folder called https:.
    if is_remote(target) {
        return Err(Error::usage("outputs are written to this machine")
            .at_path(target)
            .hint("write to a file or folder here, and bring it there with the tool of that store"));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).io_at("make the folder for the output", parent)?;
    Ok(parent.to_owned())
}

fn prefix(target: &Path) -> Result<String> {
    let name = target.file_name().ok_or_else(|| Error::usage("the output has no name").at_path(target))?;
    Ok(format!(".{}.", name.to_string_lossy()))
}

/// An error for what nothing is to be written to: a device, and what exists unless `overwrite`.
fn refuse(target: &Path, overwrite: bool) -> Result<()> {
    // Renaming over a device would put a plain file in its place.
    if target.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Err(Error::usage("the output is neither a file nor a folder").at_path(target));
    }
    if !overwrite && target.symlink_metadata().is_ok() {
        return Err(Error::usage("the output exists already")
            .at_path(target)
            .hint("choose another name, or replace it (--overwrite)"));
    }
    Ok(())
}

/// What stands at the top of the folders that the studio writes. A folder with anything else in it is somebody's own.
const OURS: [&str; 4] = ["COLLECTION.json", "DATA", "METADATA", ".tacocat"];

/// The first thing in the folder `target` that is no part of a dataset, for which it can't be replaced. None when it is a dataset,
/// empty, or no folder.
pub fn foreign_in(target: &Path) -> Result<Option<String>> {
    if !target.is_dir() {
        return Ok(None);
    }
    let ours = |name: &str| OURS.contains(&name) || (name.starts_with("level") && name.ends_with(".parquet"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(target).io_at("look into the folder that is to be replaced", target)? {
        let entry = entry.io_at("look into the folder that is to be replaced", target)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let whole = names.is_empty() || names.iter().any(|name| name == "COLLECTION.json" || name == "METADATA");
    Ok(names.into_iter().find(|name| !whole || !ours(name)))
}

/// An error when `target` is a folder that holds something else than a dataset: replacing it would take that along.
fn refuse_foreign(target: &Path) -> Result<()> {
    match foreign_in(target)? {
        None => Ok(()),
        Some(foreign) => Err(Error::usage(format!("the folder holds {}, which is no part of a dataset", foreign.escape_debug()))
            .at_path(target)
            .hint("only a dataset or an empty folder is replaced: choose another name, or empty the folder yourself")),
    }
}

/// An error when `target` is a folder in which something would be lost: a file that is not in `new` as well.
fn refuse_losing(target: &Path, new: &Path) -> Result<()> {
    for entry in std::fs::read_dir(target).io_at("look into the folder that is to be replaced", target)? {
        let entry = entry.io_at("look into the folder that is to be replaced", target)?;
        let (old, new) = (entry.path(), new.join(entry.file_name()));
        if entry.file_type().io_at("look into the folder that is to be replaced", &old)?.is_dir() {
            refuse_losing(&old, &new)?;
        } else if new.symlink_metadata().is_err() {
            return Err(Error::usage("this file would be lost: the new folder has none of that name")
                .at_path(&old)
                .hint("choose another name for the output, or take the file away yourself"));
        }
    }
    Ok(())
}

impl PartialFile {
    /// Begins `target`, which must not exist unless `overwrite`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        refuse(target, overwrite)?;
        if target.is_dir() {
            return Err(Error::usage("the output is a folder; a file name is needed").at_path(target));
        }
        let parent = folder_of(target)?;
        let prefix = prefix(target)?;
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder.tempfile_in(&parent).io_at("make a file in the output's folder", &parent)?;
        Ok(Self { temporary, target: target.to_owned(), overwrite })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Where it lies until it has its name.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Brings the bytes to the disk and gives the file its name.
    pub fn finish(self) -> Result<()> {
        self.temporary.as_file().sync_all().io_at("bring the output to the disk", &self.target)?;
        let outcome =
            if self.overwrite { self.temporary.persist(&self.target) } else { self.temporary.persist_noclobber(&self.target) };
        outcome.map_err(|error| Error::io("give the output its name", &self.target, error.error))?;
        sync_folder(&self.target)
    }
}

impl PartialFolder {
    /// Begins a dataset at `target`, which must not exist unless `overwrite`; then it has to be a dataset or empty.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        refuse(target, overwrite)?;
        refuse_foreign(target)?;
        Self::begin(target, overwrite, false)
    }

    /// Begins a folder of any files at `target`, which must not exist unless `overwrite`; then all that is in it has to be in the
    /// new one as well.
    pub fn of_files(target: &Path, overwrite: bool) -> Result<Self> {
        refuse(target, overwrite)?;
        Self::begin(target, overwrite, true)
    }

    fn begin(target: &Path, overwrite: bool, files: bool) -> Result<Self> {
        if target.is_file() {
            return Err(Error::usage("the output is a file; a FOLDER needs a folder name").at_path(target));
        }
        let parent = folder_of(target)?;
        let prefix = prefix(target)?;
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let temporary = builder.tempdir_in(&parent).io_at("make a folder beside the output", &parent)?;
        Ok(Self { temporary, target: target.to_owned(), overwrite, files })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Brings everything to the disk and gives the folder its name. A folder that it replaces goes only after that.
    pub fn finish(self) -> Result<()> {
        sync_tree(self.temporary.path())?;
        let mut aside = None;
        if self.overwrite && self.target.symlink_metadata().is_ok() {
            // Writing may have taken hours: what came in the meantime counts too.
            if self.files {
                refuse_losing(&self.target, self.temporary.path())?
            } else {
                refuse_foreign(&self.target)?
            }
            let parent = folder_of(&self.target)?;
            let place = Builder::new().prefix(&prefix(&self.target)?).suffix(".old").tempdir_in(&parent);
            let place = place.io_at("make a folder beside the output", &parent)?;
            let old = place.path().join("old");
            std::fs::rename(&self.target, &old).io_at("move the old output aside", &self.target)?;
            aside = Some((place, old));
        }
        if let Err(error) = std::fs::rename(self.temporary.path(), &self.target) {
            if let Some((_, old)) = &aside {
                let _ = std::fs::rename(old, &self.target);
            }
            return Err(Error::io("give the output its name", &self.target, error));
        }
        // The folder has its name now: there is nothing left to remove.
        let _ = self.temporary.keep();
        sync_folder(&self.target)
    }
}

/// Several files and folders that get their names together: written into a folder of their own beside them, which goes away.
pub struct Staging {
    temporary: TempDir,
    parent: PathBuf,
    names: Vec<String>,
    overwrite: bool,
    /// Folders hold documents, not datasets.
    documents: bool,
}

impl Staging {
    /// Begins outputs that will lie beside `target`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        refuse(target, true)?;
        let parent = folder_of(target)?;
        let prefix = prefix(target)?;
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        let temporary = builder.tempdir_in(&parent).io_at("make a folder beside the output", &parent)?;
        Ok(Self { temporary, parent, names: Vec::new(), overwrite, documents: false })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// An error for what must not make way.
    fn check(&self, target: &Path) -> Result<()> {
        refuse(target, self.overwrite)?;
        if self.documents { refuse_strangers(target) } else { refuse_foreign(target) }
    }

    /// An output of this name will be there at the end; it must not exist unless overwriting was allowed.
    pub fn claim(&mut self, name: &str) -> Result<()> {
        let target = self.parent.join(name);
        self.check(&target)?;
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Gives every claimed output its name, replacing what may be replaced. When one can't have its name, the others are taken
    /// back and what they replaced returns.
    pub fn finish(self) -> Result<()> {
        let old = self.path().join("old");
        std::fs::create_dir(&old).io_at("make a folder beside the output", &old)?;
        let mut moved: Vec<(&str, bool)> = Vec::new();
        for name in &self.names {
            match self.place(name, &old) {
                Ok(replaced) => moved.push((name, replaced)),
                Err(error) => {
                    for (name, replaced) in moved.into_iter().rev() {
                        let _ = std::fs::rename(self.parent.join(name), self.path().join(name));
                        if replaced {
                            let _ = std::fs::rename(old.join(name), self.parent.join(name));
                        }
                    }
                    return Err(error);
                }
            }
        }
        sync_folder(&self.parent.join("any"))
    }

    /// Puts one output in its place; true when something made way.
    fn place(&self, name: &str, old: &Path) -> Result<bool> {
        let target = self.parent.join(name);
        let exists = target.symlink_metadata().is_ok();
        if exists {
            self.check(&target)?;
            std::fs::rename(&target, old.join(name)).io_at("move the old output aside", &target)?;
        }
        std::fs::rename(self.path().join(name), &target).map_err(|error| {
            if exists {
                let _ = std::fs::rename(old.join(name), &target);
            }
            Error::io("give the output its name", &target, error)
        })?;
        Ok(exists)
    }
}

/// Writes a small file, complete or not at all.
pub fn write_document(target: &Path, bytes: &[u8], overwrite: bool) -> Result<()> {
    let output = PartialFile::new(target, overwrite)?;
    output.file().write_all(bytes).io_at("write the output", target)?;
    output.finish()
}

/// Writes small files into a folder, all or none; a name may begin with a folder, which gets its name with all that is in it.
/// `folders` are ones of which nothing stays that another call wrote: with `overwrite` they make way, unless there is something in
/// them that is no JSON.
pub fn write_documents(
    folder: &Path,
    documents: &[(&str, &[u8])],
    folders: &[&str],
    overwrite: bool,
    ctx: &JobContext,
) -> Result<()> {
    let mut staging = Staging { documents: true, ..Staging::new(&folder.join("documents"), overwrite)? };
    for (name, bytes) in documents {
        ctx.check()?;
        let top = name.split('/').next().unwrap_or_default();
        if !staging.names.iter().any(|claimed| claimed == top) {
            staging.claim(top)?;
        }
        let path = staging.path().join(name);
        folder_of(&path)?;
        std::fs::write(&path, bytes).io_at("write the output", &path)?;
    }
    for name in folders {
        if folder.join(name).is_dir() && !staging.names.iter().any(|claimed| claimed == name) {
            staging.claim(name)?;
            folder_of(&staging.path().join(name).join("any"))?;
        }
    }
    sync_tree(staging.path())?;
    staging.finish()
}

/// A folder of documents may only be replaced where it holds nothing else.
fn refuse_strangers(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let path = entry.io_at("read the folder", folder)?.path();
        if path.is_dir() || path.extension().is_none_or(|ending| ending != "json") {
            let error = Error::usage("the folder for the documents holds something else, which would be lost").at_path(&path);
            return Err(error.hint("choose another folder"));
        }
    }
    Ok(())
}

fn sync_folder(target: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        let parent = folder_of(target)?;
        File::open(&parent).and_then(|folder| folder.sync_all()).io_at("bring the output's folder to the disk", &parent)?;
    }
    let _ = target;
    Ok(())
}

/// One call for the whole file system where there is one: a folder may hold a hundred thousand files.
#[cfg(target_os = "linux")]
fn sync_tree(folder: &Path) -> Result<()> {
    let handle = File::open(folder).io_at("open the output", folder)?;
    rustix::fs::syncfs(&handle).map_err(|error| Error::io("bring the output to the disk", folder, error.into()))
}

#[cfg(not(target_os = "linux"))]
fn sync_tree(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).io_at("read the output", folder)? {
        let path = entry.io_at("read the output", folder)?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::options().write(true).open(&path).and_then(|f| f.sync_all()).io_at("bring the output to the disk", &path)?;
        }
    }
    Ok(())
}

/// Bytes free on the disk that will hold `target`, as far as the system tells. Makes nothing.
pub fn free_bytes(target: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let there = target.ancestors().find(|path| path.is_dir())?;
        let disk = rustix::fs::statvfs(there).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = target;
        None
    }
}

/// An error when the disk that will hold `target` has less than `bytes` free, as far as the system tells.
pub fn check_space(target: &Path, bytes: u64) -> Result<()> {
    #[cfg(unix)]
    {
        let parent = folder_of(target)?;
        if let Ok(disk) = rustix::fs::statvfs(&parent) {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            if free < bytes {
                return Err(Error::new(
                    crate::error::Kind::Io,
                    format!("the output needs {bytes} bytes, the disk has {free} free"),
                )
                .at_path(target)
                .hint("free some space, or write to another disk"));
            }
        }
    }
    let _ = (target, bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) {
        std::fs::create_dir_all(path.parent().expect("lies in a folder")).expect("makes the folder");
        std::fs::write(path, b"precious").expect("writes");
    }

    #[test]
    fn only_datasets_and_empty_folders_are_replaced() {
        let place = tempfile::tempdir().expect("has a temporary folder");
        let at = |name: &str| place.path().join(name);
        for name in ["own/file.txt", "mixed/COLLECTION.json", "mixed/DATA/a", "mixed/notes.txt", "sources/DATA/a.tif"] {
            file(&at(name));
        }
        for name in ["own", "mixed", "sources"] {
            let error = PartialFolder::new(&at(name), true).err().expect("is refused").report();
            assert!(error.contains("no part of a dataset"), "{error}");
            assert!(Staging::new(&at("x"), true).expect("begins").claim(name).is_err(), "{name}");
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
            let new = PartialFolder::new(&at(name), true).unwrap_or_else(|error| panic!("{name}: {error}"));
            file(&new.path().join("COLLECTION.json"));
            new.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(std::fs::read_dir(at(name)).expect("is there").count(), 1, "{name}");
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
        assert!(error.contains("would be lost") && error.contains("one.tif") && target.join("a/one.tif").exists(), "{error}");
    }

    #[test]
    fn addresses_and_devices_are_no_outputs() {
        for target in ["s3://bucket/out.tacozip", "https://example.org/x.tacozip", "gs://b/x"] {
            let error = PartialFile::new(Path::new(target), true).err().expect("is refused").report();
            assert!(error.contains("written to this machine"), "{error}");
            assert!(PartialFolder::new(Path::new(target), true).is_err() && Staging::new(Path::new(target), true).is_err());
        }
        assert!(!Path::new("s3:").exists() && !Path::new("https:").exists());
        #[cfg(unix)]
        {
            let error = PartialFile::new(Path::new("/dev/null"), true).err().expect("is refused").report();
            assert!(error.contains("neither a file nor a folder"), "{error}");
        }
    }

    #[test]
    fn documents_appear_together_and_old_ones_go() {
        let home = tempfile::tempdir().expect("a folder");
        let write = |documents: &[(&str, &[u8])], overwrite| {
            write_documents(home.path(), documents, &["items"], overwrite, &JobContext::default())
        };
        let names = || {
            let mut names: Vec<String> = std::fs::read_dir(home.path())
                .expect("lists")
                .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
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
        assert!(!home.path().join("items/b.json").exists() && home.path().join("items/a.json").exists());
        write(&[("c.json", b"newer")], true).expect("replaces");
        assert!(!home.path().join("items/a.json").exists());
        // What is none of ours is not taken away.
        std::fs::write(home.path().join("items/a.tif"), "pixels").expect("written");
        assert!(write(&[("c.json", b"newest"), ("items/a.json", b"new")], true).is_err());
        assert_eq!(std::fs::read(home.path().join("c.json")).expect("reads"), b"newer");
        assert!(home.path().join("items/a.tif").exists() && names().len() == 2);
    }
}
