//! Files and folders that appear under their name complete or not at all: temporary name beside the target, fsync, rename.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::{Error, IoContext, Result};

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
}

fn folder_of(target: &Path) -> Result<PathBuf> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).io_at("make the folder for the output", parent)?;
    Ok(parent.to_owned())
}

fn prefix(target: &Path) -> Result<String> {
    let name = target.file_name().ok_or_else(|| Error::usage("the output has no name").at_path(target))?;
    Ok(format!(".{}.", name.to_string_lossy()))
}

fn refuse_existing(target: &Path, overwrite: bool) -> Result<()> {
    if !overwrite && target.symlink_metadata().is_ok() {
        return Err(Error::usage("the output exists already").at_path(target).hint("choose another name, or allow overwriting"));
    }
    Ok(())
}

impl PartialFile {
    /// Begins `target`, which must not exist unless `overwrite`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        refuse_existing(target, overwrite)?;
        if target.is_dir() {
            return Err(Error::usage("the output is a folder; a ZIP needs a file name").at_path(target));
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
    /// Begins `target`, which must not exist unless `overwrite`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        refuse_existing(target, overwrite)?;
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
        Ok(Self { temporary, target: target.to_owned(), overwrite })
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
}

impl Staging {
    /// Begins outputs that will lie beside `target`.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        let parent = folder_of(target)?;
        let prefix = prefix(target)?;
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        let temporary = builder.tempdir_in(&parent).io_at("make a folder beside the output", &parent)?;
        Ok(Self { temporary, parent, names: Vec::new(), overwrite })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// An output of this name will be there at the end; it must not exist unless overwriting was allowed.
    pub fn claim(&mut self, name: &str) -> Result<()> {
        refuse_existing(&self.parent.join(name), self.overwrite)?;
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
            refuse_existing(&target, self.overwrite)?;
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
