//! Files and folders that appear under their name complete or not at all: made in a hidden place beside the target, brought to the
//! disk, then given their name. What they replace goes last.

#[cfg(test)]
mod interrupted;
mod scratch;
mod swap;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::is_remote;

use scratch::Made;
pub use scratch::{Scratch, aside_of, restore_aside};

/// A file being written.
pub struct PartialFile {
    temporary: NamedTempFile,
    target: PathBuf,
    overwrite: bool,
    made: Made,
}

/// A folder being written.
pub struct PartialFolder {
    scratch: Scratch,
    target: PathBuf,
    /// Where it is made.
    place: PathBuf,
    overwrite: bool,
    /// It may replace a folder of any files that it has as well.
    files: bool,
}

/// The parent folder of `target`; creates nothing.
fn parent_of(target: &Path) -> Result<PathBuf> {
    // As a path of this machine it would be a folder called https:.
    if is_remote(target) {
        return Err(Error::usage("outputs are written to this machine")
            .at_path(target)
            .hint("write to a file or folder here, and bring it there with the tool of that store"));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(parent.to_owned())
}

/// The name of `target` in its folder.
fn name_of(target: &Path) -> Result<&OsStr> {
    target.file_name().ok_or_else(|| Error::usage("the output has no name").at_path(target))
}

/// What every output begins with: what an interrupted one left goes, or is brought back; then nothing may be in the way.
fn begin(target: &Path, overwrite: bool) -> Result<()> {
    parent_of(target)?;
    name_of(target)?;
    scratch::tidy_up(target);
    refuse(target, overwrite)
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
        begin(target, overwrite)?;
        if target.is_dir() {
            return Err(Error::usage("the output is a folder; a file name is needed").at_path(target));
        }
        let (temporary, made) = scratch::file_beside(target)?;
        Ok(Self { temporary, target: target.to_owned(), overwrite, made })
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
    pub fn finish(mut self) -> Result<()> {
        self.temporary.as_file().sync_all().io_at("bring the output to the disk", &self.target)?;
        let outcome =
            if self.overwrite { self.temporary.persist(&self.target) } else { self.temporary.persist_noclobber(&self.target) };
        outcome.map_err(|error| Error::io("give the output its name", &self.target, error.error))?;
        swap::sync_folder(&parent_of(&self.target)?)?;
        self.made.settle()
    }
}

impl PartialFolder {
    /// Begins a dataset at `target`, which must not exist unless `overwrite`; then it has to be a dataset or empty.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        begin(target, overwrite)?;
        refuse_foreign(target)?;
        Self::make(target, overwrite, false)
    }

    /// Begins a folder of any files at `target`, which must not exist unless `overwrite`; then all that is in it has to be in the
    /// new one as well.
    pub fn of_files(target: &Path, overwrite: bool) -> Result<Self> {
        begin(target, overwrite)?;
        Self::make(target, overwrite, true)
    }

    fn make(target: &Path, overwrite: bool, files: bool) -> Result<Self> {
        if target.is_file() {
            return Err(Error::usage("the output is a file; a FOLDER needs a folder name").at_path(target));
        }
        let scratch = Scratch::beside(target)?;
        let place = scratch.path().join(swap::NEW).join(name_of(target)?);
        std::fs::create_dir_all(&place).io_at("make a folder beside the output", &place)?;
        Ok(Self { scratch, target: target.to_owned(), place, overwrite, files })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Brings everything to the disk and gives the folder its name. A folder that it replaces goes only after that.
    pub fn finish(mut self) -> Result<()> {
        sync_tree(self.scratch.path())?;
        let (overwrite, files) = (self.overwrite, self.files);
        // Writing may have taken hours: what came in the meantime counts too.
        let check = |new: &Path, target: &Path| {
            refuse(target, overwrite)?;
            if files { refuse_losing(target, new) } else { refuse_foreign(target) }
        };
        let names = [name_of(&self.target)?.to_owned()];
        swap::place(&mut self.scratch, &parent_of(&self.target)?, (&names, &[]), &check)
    }
}

/// Several files and folders that get their names together: written into a folder of their own beside them, which goes away.
pub struct Staging {
    scratch: Scratch,
    parent: PathBuf,
    /// Where they are made.
    place: PathBuf,
    names: Vec<OsString>,
    /// Existing entries with these names are removed together with the replaced outputs.
    gone: Vec<OsString>,
    overwrite: bool,
    /// Folders hold documents, not datasets.
    documents: bool,
}

impl Staging {
    /// Begins outputs that will lie beside `target`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        begin(target, true)?;
        let scratch = Scratch::beside(target)?;
        let place = scratch.path().join(swap::NEW);
        std::fs::create_dir(&place).io_at("make a folder beside the output", &place)?;
        let parent = parent_of(target)?;
        Ok(Self { scratch, parent, place, names: Vec::new(), gone: Vec::new(), overwrite, documents: false })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// An output of this name will be there at the end; it must not exist unless overwriting was allowed.
    pub fn claim(&mut self, name: &str) -> Result<()> {
        let target = self.parent.join(name);
        scratch::tidy_up(&target);
        check_output(&target, self.overwrite, self.documents)?;
        self.names.push(name.into());
        Ok(())
    }

    /// The file of this name goes together with those that are replaced.
    pub fn retire(&mut self, name: &OsStr) {
        self.gone.push(name.to_owned());
    }

    /// Gives every claimed output its name, replacing what may be replaced. When one can't have its name, the others are taken
    /// back and what they replaced returns.
    pub fn finish(mut self) -> Result<()> {
        sync_tree(self.scratch.path())?;
        let (overwrite, documents) = (self.overwrite, self.documents);
        let check = |_: &Path, target: &Path| check_output(target, overwrite, documents);
        swap::place(&mut self.scratch, &self.parent, (&self.names, &self.gone), &check)
    }
}

/// An error for what must not make way for one of several outputs.
fn check_output(target: &Path, overwrite: bool, documents: bool) -> Result<()> {
    refuse(target, overwrite)?;
    if documents { refuse_strangers(target) } else { refuse_foreign(target) }
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
        make_parent(&path)?;
        std::fs::write(&path, bytes).io_at("write the output", &path)?;
    }
    for name in folders {
        if folder.join(name).is_dir() && !staging.names.iter().any(|claimed| claimed == name) {
            staging.claim(name)?;
            make_parent(&staging.path().join(name).join("any"))?;
        }
    }
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

fn make_parent(path: &Path) -> Result<()> {
    let parent = parent_of(path)?;
    std::fs::create_dir_all(&parent).io_at("make a folder of the output", &parent)
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
        let named = |path: &&Path| !path.as_os_str().is_empty();
        let there = target.ancestors().filter(named).find(|path| path.is_dir()).unwrap_or(Path::new("."));
        let disk = rustix::fs::statvfs(there).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = target;
        None
    }
}

/// An error when the disk that will hold `target` has less than `bytes` free, as far as the system tells. Makes nothing.
pub fn check_space(target: &Path, bytes: u64) -> Result<()> {
    parent_of(target)?;
    match free_bytes(target) {
        Some(free) if free < bytes => {
            let text = format!("the output needs {bytes} bytes, the disk has {free} free");
            Err(Error::new(crate::error::Kind::Io, text).at_path(target).hint("free some space, or write to another disk"))
        }
        _ => Ok(()),
    }
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
