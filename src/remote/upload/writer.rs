//! Streams an object in parts: a few are sent at once while the next one is filled, so memory does not grow with the object.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use md5::{Digest, Md5};
use tokio::sync::Semaphore;

use super::object::{Checksum, Object, PartTag, Stored, UploadId};
use super::request::Refusal;
use super::{ABORT_WITHIN, azure, google, s3, whole_checksum};
use crate::error::{Error, Kind, Result};
use crate::remote::bucket::Signer;
use crate::remote::runtime::{self, Task};
use crate::remote::{credentials, file};

/// Least size of a part in bytes. A store takes no part below 5 MiB, except the last.
const PART_MIN: u64 = 8 << 20;
/// Most parts that are planned for; S3 takes 10,000.
const PARTS: u64 = 9_000;
/// Most parts that a store takes.
const PARTS_MAX: usize = 10_000;
/// Bytes of parts that are sent at once.
const SENT_AT_ONCE: u64 = 64 << 20;

/// Size of the parts of an object of `expected` bytes.
pub(super) fn part_bytes(expected: u64) -> u64 {
    expected.div_ceil(PARTS).max(PART_MIN).next_multiple_of(google::CHUNK_UNIT)
}

/// An object that is written from its first byte to its last. Dropped before [`ObjectWriter::finish`], the upload is given up, and
/// the store keeps what it had.
pub struct ObjectWriter {
    object: Arc<Object>,
    path: PathBuf,
    overwrite: bool,
    part_bytes: usize,
    buffer: Vec<u8>,
    upload: Option<UploadId>,
    /// Parts that were begun, in their order; their bytes are kept until they have arrived.
    sent: VecDeque<Task<Result<PartTag, Refusal>>>,
    /// One for each part that may be on its way.
    slots: Arc<Semaphore>,
    parts: Vec<PartTag>,
    /// Number of parts that were begun.
    begun: usize,
    /// Bytes in parts that were begun.
    position: u64,
    /// MD5 of all bytes, for stores that give it.
    whole: Option<Md5>,
    is_done: bool,
}

impl ObjectWriter {
    /// Begins an object of about `expected` bytes, from which the size of the parts follows. Nothing is sent yet, except the question
    /// whether the object exists.
    ///
    /// # Errors
    /// With [`Cause::OutputExists`](crate::error::Cause::OutputExists) when it exists and `overwrite` is false; when the address can't
    /// be written, or the store can't be reached.
    pub fn new(path: &Path, overwrite: bool, expected: u64) -> Result<Self> {
        let object = Arc::new(Object::of(path)?);
        if !overwrite {
            let asked = object.clone();
            match runtime::wait(async move { asked.stored().await })? {
                Ok(None) => {}
                Ok(Some(_)) => return Err(object.exists()),
                // Without permission to list, S3 says so of an object that does not exist; the last request is refused if it does.
                Err(refusal) if refusal.status() == Some(403) => {}
                Err(refusal) => return Err(object.error(refusal)),
            }
        }
        let part_bytes = part_bytes(expected) as usize;
        let whole = matches!(object.bucket.signer, Signer::Google { .. } | Signer::Azure { .. }).then(Md5::new);
        let slots = Arc::new(Semaphore::new(at_once(&object.bucket.signer, part_bytes)));
        Ok(Self {
            object,
            path: path.to_owned(),
            overwrite,
            part_bytes,
            buffer: Vec::new(),
            upload: None,
            sent: VecDeque::new(),
            slots,
            parts: Vec::new(),
            begun: 0,
            position: 0,
            whole,
            is_done: false,
        })
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.position + self.buffer.len() as u64
    }

    /// Sends what is left, makes the object visible, and compares what the store has by size and checksum.
    ///
    /// # Errors
    /// With [`Cause::OutputExists`](crate::error::Cause::OutputExists) when another writer was faster; when the store refuses it, can't
    /// be reached, or has other bytes.
    pub fn finish(mut self) -> Result<Stored> {
        let object = self.object.clone();
        let Some(upload) = self.upload.clone() else {
            let (bytes, overwrite) = (Bytes::from(std::mem::take(&mut self.buffer)), self.overwrite);
            self.is_done = true;
            let stored = runtime::wait(async move { object.put(bytes, overwrite).await })??;
            file::forget(&self.path);
            return Ok(stored);
        };
        if !self.buffer.is_empty() || self.is_ordered() {
            self.send_part(true)?;
        }
        // The outcome of the last chunk of a store that takes them in order is that of the object.
        while self.sent.len() > usize::from(self.is_ordered()) {
            self.take_one()?;
        }
        let last = self.sent.pop_front().map(Task::join).transpose()?;
        let whole = self.whole.take().map(|md5| md5.finalize().into());
        let checksum = match &whole {
            Some(whole) => whole_checksum(&object.bucket.signer, whole),
            None => s3::whole_tag(&self.parts),
        };
        let expected = Stored { size_bytes: self.position, checksum: Some(checksum) };
        let (parts, overwrite) = (std::mem::take(&mut self.parts), self.overwrite);
        let stored = runtime::wait(async move {
            let outcome = match (&object.bucket.signer, &whole) {
                (Signer::Azure { .. }, Some(whole)) => azure::complete(&object, &parts, whole, overwrite).await,
                (Signer::Google { .. }, _) => last.unwrap_or_else(|| Err(Refusal::other("nothing was sent"))).map(drop),
                (Signer::S3 { .. } | Signer::Azure { .. }, _) => s3::complete(&object, &upload, &parts, overwrite).await,
            };
            object.settled(outcome, &expected).await
        })??;
        self.is_done = true;
        file::forget(&self.path);
        Ok(stored)
    }

    /// True for a store that takes the parts in their order, one after another.
    fn is_ordered(&self) -> bool {
        matches!(self.object.bucket.signer, Signer::Google { .. })
    }

    fn begin(&mut self) -> Result<UploadId> {
        if let Some(upload) = &self.upload {
            return Ok(upload.clone());
        }
        let (object, overwrite) = (self.object.clone(), self.overwrite);
        let upload = runtime::wait(async move { object.begin(overwrite).await })??;
        self.upload = Some(upload.clone());
        Ok(upload)
    }

    /// Starts to send the filled buffer.
    fn send_part(&mut self, is_last: bool) -> Result<()> {
        let upload = self.begin()?;
        // Any part that arrives makes room for the next: one that is sent again does not hold up the others.
        let slots = self.slots.clone();
        let slot = runtime::wait(async move { slots.acquire_owned().await })?;
        let slot = slot.map_err(|error| Error::internal("a part can't be sent").because(error))?;
        while self.sent.front().is_some_and(Task::is_finished) {
            self.take_one()?;
        }
        if self.begun >= PARTS_MAX {
            let error = Error::new(Kind::TooLarge, "the output is longer than planned, and the store takes no more parts");
            return Err(error.at(&self.object.address));
        }
        let next = Vec::with_capacity(if is_last { 0 } else { self.part_bytes });
        let bytes = Bytes::from(std::mem::replace(&mut self.buffer, next));
        if let Some(whole) = &mut self.whole {
            whole.update(&bytes);
        }
        let (object, start) = (self.object.clone(), self.position);
        self.begun += 1;
        self.position += bytes.len() as u64;
        let (number, total) = (self.begun, is_last.then_some(self.position));
        self.sent.push_back(match &object.bucket.signer {
            Signer::Google { .. } => runtime::start(async move {
                let _slot = slot;
                let sent = google::chunk(&object, &upload, start, &bytes, total).await;
                sent.map(|()| PartTag { tag: String::new(), checksum: [0; 16] })
            })?,
            Signer::S3 { .. } => runtime::start(async move {
                let _slot = slot;
                let checksum = checksum_of(&bytes).await?;
                s3::part(&object, &upload, number, &bytes, &checksum).await
            })?,
            Signer::Azure { .. } => runtime::start(async move {
                let _slot = slot;
                let checksum = checksum_of(&bytes).await?;
                azure::part(&object, &upload, number, &bytes, &checksum).await
            })?,
        });
        Ok(())
    }

    /// Waits for the oldest part on its way.
    fn take_one(&mut self) -> Result<()> {
        let Some(task) = self.sent.pop_front() else { return Ok(()) };
        match task.join()? {
            Ok(part) => self.parts.push(part),
            Err(refusal) if refusal.means_other_writer() => return Err(self.object.exists()),
            Err(refusal) => return Err(self.object.error(refusal)),
        }
        Ok(())
    }
}

/// Number of parts that are sent at once.
fn at_once(signer: &Signer, part_bytes: usize) -> usize {
    match signer {
        // Takes the parts in their order, one after another.
        Signer::Google { .. } => 1,
        Signer::S3 { .. } | Signer::Azure { .. } => {
            ((SENT_AT_ONCE / part_bytes as u64) as usize).clamp(1, credentials::connections().max(1))
        }
    }
}

/// MD5 of a part, computed beside the requests: those of several parts at once.
async fn checksum_of(bytes: &Bytes) -> Result<Checksum, Refusal> {
    let bytes = bytes.clone();
    let computed = tokio::task::spawn_blocking(move || Md5::digest(&bytes).into()).await;
    computed.map_err(|_| Refusal::other("the checksum of a part was not computed"))
}

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.buffer.len() == self.part_bytes {
            self.send_part(false).map_err(std::io::Error::other)?;
        }
        let taken = bytes.len().min(self.part_bytes - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Does nothing: a part is sent when it is full.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take().filter(|_| !self.is_done) else { return };
        // A part that arrives after the upload was given up would stay.
        self.sent.clear();
        let object = self.object.clone();
        if let Ok(task) = runtime::start(async move { object.abort(&upload).await }) {
            task.join_within(ABORT_WITHIN);
        }
    }
}
