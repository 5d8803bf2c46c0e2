//! The archive of a TACO 3 dataset. A local one is read by its central directory; of a remote one,
//! whose directory lists every file, only the index is read where it can be trusted, and the
//! directory when something needs it.

use std::path::Path;
use std::sync::OnceLock;

use super::index::{IndexedMember, checked_index};
use crate::container::LocalFile;
use crate::error::{Cause, Error, Result};
use crate::model::AssetPath;
use crate::zip_format::{CentralDirectory, LocalHeader};

/// An open archive.
pub struct CozipArchive {
    file: LocalFile,
    /// The metadata members of a remote archive that is as its writer left it.
    index: Option<Vec<IndexedMember>>,
    directory: OnceLock<CentralDirectory>,
}

impl CozipArchive {
    /// Opens the archive.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when it has no sound directory, or an IO error.
    pub fn open(path: &Path) -> Result<Self> {
        let file = LocalFile::open(path)?;
        let index = if file.is_remote() {
            checked_index(&file)?
        } else {
            None
        };
        let archive = Self {
            file,
            index,
            directory: OnceLock::new(),
        };
        if archive.index.is_none() {
            archive.directory()?;
        }
        Ok(archive)
    }

    /// The open file.
    pub fn file(&self) -> &LocalFile {
        &self.file
    }

    /// The central directory, read when it is first asked for.
    ///
    /// # Errors
    /// As [`CentralDirectory::read`].
    pub fn directory(&self) -> Result<&CentralDirectory> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let directory = CentralDirectory::read(&self.file)?;
        Ok(self.directory.get_or_init(|| directory))
    }

    /// True when positions in the tables are used as they are: the index can be trusted, and the
    /// directory was not asked for.
    pub fn trusts_tables(&self) -> bool {
        self.index.is_some() && self.directory.get().is_none()
    }

    /// Names of the metadata members at least.
    ///
    /// # Errors
    /// As [`CentralDirectory::read`].
    pub fn metadata_names(&self) -> Result<Vec<String>> {
        match &self.index {
            Some(members) => Ok(members.iter().map(|member| member.name.clone()).collect()),
            None => Ok(self
                .directory()?
                .entries
                .iter()
                .map(|entry| entry.name.to_string())
                .collect()),
        }
    }

    /// Position and size of a member.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when there is no such member, or it is
    /// compressed, encrypted or cut short.
    pub fn member(&self, name: &str) -> Result<(AssetPath, u64)> {
        let indexed = self
            .index
            .iter()
            .flatten()
            .find(|member| member.name == name);
        if let Some(member) = indexed {
            return Ok((self.file.range(member.offset, member.size), member.size));
        }
        let entry = self.directory()?.find(name).ok_or_else(|| {
            Error::format("the archive has no such member")
                .caused_by(Cause::MissingMember)
                .at_place(name)
        })?;
        if entry.method != 0 || entry.flags & 1 != 0 {
            let error =
                Error::format("the member is compressed or encrypted; TACO archives only store");
            return Err(error.caused_by(Cause::CompressedMember).at_place(name));
        }
        let header = LocalHeader::read(&self.file, entry.local)?;
        if !self.file.contains(header.data, entry.size) {
            return Err(Error::format("the member runs past the end of the file").at_place(name));
        }
        Ok((self.file.range(header.data, entry.size), entry.size))
    }
}
