//! Compares an object of a store with bytes of this machine, by size and checksum.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use md5::{Digest, Md5};

use super::object::{Object, PartTag, StoredObject, whole_checksum};
use super::s3;
use super::writer::part_bytes;
use crate::error::Result;
use crate::remote::bucket::Signer;
use crate::remote::runtime;

/// An object and the bytes that are written here for the comparison. Nothing is sent, and nothing
/// is read from the store.
pub struct ObjectComparison {
    object: Arc<Object>,
    found: StoredObject,
    /// Size of the parts of which the store's checksum is made.
    part_bytes: u64,
    /// Bytes that were written.
    position: u64,
    part: Md5,
    parts: Vec<PartTag>,
}

impl ObjectComparison {
    /// Starts the comparison with an object of `size_bytes` bytes; `None` when the store has none
    /// of this size.
    ///
    /// # Errors
    /// When the address can't be written; when the store refuses to say, or can't be reached.
    pub fn new(path: &Path, size_bytes: u64) -> Result<Option<Self>> {
        let object = Arc::new(Object::from_path(path)?);
        let asked = object.clone();
        let found = runtime::wait(async move {
            asked
                .fetch_stored_object()
                .await
                .map_err(|refusal| asked.error(refusal))
        })??;
        let Some(found) = found.filter(|found| found.size_bytes == size_bytes) else {
            return Ok(None);
        };
        let in_parts = matches!(object.bucket.signer, Signer::S3 { .. })
            && size_bytes > part_bytes(size_bytes);
        let part_bytes = if in_parts {
            part_bytes(size_bytes)
        } else {
            u64::MAX
        };
        Ok(Some(Self {
            object,
            found,
            part_bytes,
            position: 0,
            part: Md5::new(),
            parts: Vec::new(),
        }))
    }

    /// True when the bytes written are those of the object; false when they differ, or the store
    /// has no checksum to compare.
    pub fn is_same(mut self) -> bool {
        let checksum = if self.part_bytes == u64::MAX {
            Some(whole_checksum(
                &self.object.bucket.signer,
                &self.part.finalize().into(),
            ))
        } else {
            if self.position > self.parts.len() as u64 * self.part_bytes {
                self.end_part();
            }
            s3::whole_tag(&self.parts)
        };
        self.found
            .is_surely(&StoredObject::with_checksum(self.position, checksum))
    }

    fn end_part(&mut self) {
        let md5 = Some(std::mem::take(&mut self.part).finalize().into());
        self.parts.push(PartTag {
            md5,
            ..PartTag::default()
        });
    }
}

impl Write for ObjectComparison {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = match self.part_bytes {
            u64::MAX => u64::MAX,
            part_bytes => part_bytes - self.position % part_bytes,
        };
        let taken = left.min(bytes.len() as u64) as usize;
        self.part.update(&bytes[..taken]);
        self.position += taken as u64;
        if taken as u64 == left {
            self.end_part();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
