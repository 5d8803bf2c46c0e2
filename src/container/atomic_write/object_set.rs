//! Files that are sent to a folder of a store in the order of the caller, where an interrupted call
//! is continued at the next one: what was sent stays, and is not sent again where the store has the
//! same bytes. The caller sends last what makes the others visible.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{Cause, Error, Result};
use crate::model::place_below;
use crate::remote::{
    NewObject, ObjectWriter, delete_object, expect_writable, object_is, objects_below, put_objects,
};

/// A folder of a store.
pub struct ObjectSet {
    target: PathBuf,
    overwrite: bool,
    /// Names of the objects below the folder at the beginning.
    before: BTreeSet<String>,
}

/// Whether a file had to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was sent.
    Written,
    /// The store had it with the same bytes.
    Kept,
}

impl ObjectSet {
    /// Lists the folder `target`. With `overwrite`, objects with other bytes are replaced;
    /// otherwise they are an error.
    ///
    /// # Errors
    /// When the address can't be written, or the store refuses to list it.
    pub fn new(target: &Path, overwrite: bool) -> Result<Self> {
        expect_writable(target)?;
        let before = objects_below(target)?.into_iter().collect();
        Ok(Self {
            target: target.to_owned(),
            overwrite,
            before,
        })
    }

    fn place(&self, name: &str) -> PathBuf {
        place_below(&self.target, name)
    }

    fn may_replace(&self, name: &str) -> bool {
        self.overwrite && self.before.contains(name)
    }

    /// True when the folder had an object of this name at the beginning.
    pub fn exists(&self, name: &str) -> bool {
        self.before.contains(name)
    }

    /// Removes an object; one that does not exist is no error.
    ///
    /// # Errors
    /// When the store refuses it.
    pub fn remove(&self, name: &str) -> Result<()> {
        delete_object(&self.place(name))
    }

    /// True when the store has an object of this name with the `size_bytes` bytes that `reader`
    /// gives.
    ///
    /// # Errors
    /// When the bytes can't be read, or the store refuses to say.
    pub fn has(&self, name: &str, size_bytes: u64, reader: &mut dyn Read) -> Result<bool> {
        if self.before.contains(name) {
            object_is(&self.place(name), size_bytes, reader)
        } else {
            Ok(false)
        }
    }

    /// Sends a small file.
    ///
    /// # Errors
    /// With [`Cause::OutputExists`] when an object of this name has other bytes and may not be
    /// replaced; when the store refuses it.
    pub fn put(&self, name: &str, bytes: Bytes) -> Result<Sent> {
        if self.has(name, bytes.len() as u64, &mut bytes.as_ref())? {
            return Ok(Sent::Kept);
        }
        let new = NewObject {
            path: self.place(name),
            bytes,
            overwrite: self.may_replace(name),
        };
        let outcome = put_objects(vec![new])?
            .pop()
            .unwrap_or_else(|| Err(Error::internal("an object was not sent")));
        outcome.map_err(explain_existing_object)?;
        Ok(Sent::Written)
    }

    /// Sends a large file of `size_bytes` bytes with `write`.
    ///
    /// # Errors
    /// As [`ObjectSet::put`], and those of `write`.
    pub fn stream(
        &self,
        name: &str,
        size_bytes: u64,
        write: impl FnOnce(&mut ObjectWriter) -> Result<()>,
    ) -> Result<()> {
        let mut writer = ObjectWriter::new(&self.place(name), self.may_replace(name), size_bytes)
            .map_err(explain_existing_object)?;
        write(&mut writer)?;
        writer.finish().map(drop).map_err(explain_existing_object)
    }
}

/// What to do about an object with other bytes, which an earlier call may have left.
fn explain_existing_object(error: Error) -> Error {
    if error.is_caused_by(Cause::OutputExists) {
        error.hint(
            "it has other bytes than the file that would be sent: the dataset was \
                changed since, or it is another's",
        )
    } else {
        error
    }
}
