//! Streams an object in parts: a few are sent at once while the next one is filled, so memory does
//! not grow with the object.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use md5::{Digest, Md5};
use tokio::sync::Semaphore;

use super::object::{FoundPart, Object, PartTag, StoredObject, UploadId, whole_checksum};
use super::part_sums::{PartSums, md5_of};
use super::request::Refusal;
use super::unfinished::{SentUpTo, Unfinished, UploadRecord, stale};
use super::{azure, google, s3};
use crate::error::{Error, Kind, Result};
use crate::remote::bucket::Signer;
use crate::remote::purpose::Purpose;
use crate::remote::runtime::{self, Task};
use crate::remote::{credentials, file};

/// Maximum time in which an upload that failed is given up at the store.
const ABORT_WITHIN: Duration = Duration::from_secs(10);
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
    expected
        .div_ceil(PARTS)
        .max(PART_MIN)
        .next_multiple_of(google::CHUNK_UNIT)
}

/// What an earlier process sent of the object.
enum Earlier {
    Nothing,
    /// S3: parts by number.
    Parts(HashMap<usize, FoundPart>),
    /// Azure.
    Blocks(Vec<FoundPart>),
    /// Google Cloud Storage: the number of bytes that it has, and by the end of each chunk the MD5
    /// of all bytes before it.
    Bytes(u64, HashMap<u64, String>),
}

/// An object that is written from its first byte to its last. Dropped before
/// [`ObjectWriter::finish`], the upload is given up, and the store keeps what it had. When the
/// store could not be reached, or the process was killed, the next writer of the object continues
/// the upload.
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
    /// What the bytes are made from.
    made_from: Option<String>,
    /// By which a later process finds the upload.
    record: Option<UploadRecord>,
    earlier: Arc<Earlier>,
    /// A later process continues the upload.
    is_kept: bool,
    is_done: bool,
}

impl ObjectWriter {
    /// Begins an object of about `expected` bytes, from which the size of the parts follows.
    /// Nothing is sent yet, except the question whether the object exists.
    ///
    /// # Errors
    /// With [`Cause::OutputExists`](crate::error::Cause::OutputExists) when it exists and
    /// `overwrite` is false; when the address can't be written, or the store can't be reached.
    pub fn new(path: &Path, overwrite: bool, expected: u64) -> Result<Self> {
        let object = Arc::new(Object::from_path(path)?);
        if !overwrite {
            let asked = object.clone();
            match runtime::wait(async move { asked.fetch_stored_object().await })? {
                Ok(None) => {}
                Ok(Some(_)) => return Err(object.exists()),
                // Without permission to list, S3 says so of an object that does not exist; the last
                // request is refused if it does.
                Err(refusal) if refusal.status() == Some(403) => {}
                Err(refusal) => return Err(object.error(refusal)),
            }
        }
        let part_bytes = part_bytes(expected) as usize;
        let whole = matches!(
            object.bucket.signer,
            Signer::Google { .. } | Signer::Azure { .. }
        )
        .then(Md5::new);
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
            made_from: None,
            record: None,
            earlier: Arc::new(Earlier::Nothing),
            is_kept: false,
            is_done: false,
        })
    }

    /// Names what the bytes are made from: an upload to Google Cloud Storage, which does not say
    /// which bytes it has, is continued where that is the same.
    pub fn made_from(&mut self, identity: &[u8]) {
        // An upload has the condition under which it began.
        let condition = if self.overwrite { "replaces" } else { "new" };
        self.made_from = Some(format!("{} {condition}", hex::encode(identity)));
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.position + self.buffer.len() as u64
    }

    /// Sends what is left, makes the object visible, and compares what the store has by size and
    /// checksum.
    ///
    /// # Errors
    /// With [`Cause::OutputExists`](crate::error::Cause::OutputExists) when another writer was
    /// faster; when the store refuses it, can't be reached, or has other bytes.
    pub fn finish(mut self) -> Result<StoredObject> {
        let object = self.object.clone();
        tracing::info!("writes {}", object.text);
        let Some(upload) = self.upload.clone() else {
            let (bytes, overwrite) = (
                Bytes::from(std::mem::take(&mut self.buffer)),
                self.overwrite,
            );
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
        let expected = match &whole {
            Some(whole) => StoredObject::with_checksum(
                self.position,
                Some(whole_checksum(&object.bucket.signer, whole)),
            ),
            None => {
                let sha256 = s3::whole_sha256(&self.parts);
                StoredObject {
                    sha256,
                    ..StoredObject::with_checksum(self.position, s3::whole_tag(&self.parts))
                }
            }
        };
        let (parts, overwrite) = (std::mem::take(&mut self.parts), self.overwrite);
        let stored = runtime::wait(async move {
            let outcome = match (&object.bucket.signer, &whole) {
                (Signer::Azure { .. }, Some(whole)) => {
                    azure::complete_upload(&object, &parts, whole, overwrite).await
                }
                (Signer::Google { .. }, _) => last
                    .unwrap_or_else(|| Err(Refusal::other("nothing was sent")))
                    .map(drop),
                (Signer::S3 { .. } | Signer::Azure { .. }, _) => {
                    s3::complete_upload(&object, &upload, &parts, overwrite).await
                }
            };
            object.confirm_stored_object(outcome, &expected).await
        })?;
        let stored = match stored {
            Err(error) if error.kind() != Kind::Damaged && error.is_passing() => {
                return Err(self.keep_upload_for_retry(error));
            }
            outcome => outcome?,
        };
        self.is_done = true;
        if let Some(record) = self.record.take() {
            record.remove();
        }
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
        let object = self.object.clone();
        let upload = if let Signer::Azure { .. } = &object.bucket.signer {
            let asked = object.clone();
            // A token that may write need not be allowed to list.
            let blocks =
                runtime::wait(async move { azure::fetch_uncommitted_blocks(&asked).await })?
                    .unwrap_or_default();
            self.earlier = Arc::new(Earlier::Blocks(blocks));
            UploadId::plain("")
        } else {
            self.give_up_stale();
            self.record = UploadRecord::claim(&object);
            match self.resume_upload()? {
                Some(upload) => upload,
                None => {
                    let (begun, overwrite) = (object.clone(), self.overwrite);
                    let upload = runtime::wait(async move { begun.begin(overwrite).await })??;
                    let made_from = self.made_from.clone();
                    let new = Unfinished::new(
                        &object,
                        &upload.id,
                        upload.sha256,
                        self.part_bytes as u64,
                        made_from,
                    );
                    self.record.iter_mut().for_each(|record| record.write(&new));
                    upload
                }
            }
        };
        self.upload = Some(upload.clone());
        Ok(upload)
    }

    /// The upload of an earlier process that did not end, with what the store has of it. One with
    /// parts of another size, or made from something else where that counts, is given up.
    fn resume_upload(&mut self) -> Result<Option<UploadId>> {
        let Some((found, sent)) = self.record.as_mut().and_then(UploadRecord::read) else {
            return Ok(None);
        };
        let (bucket, key) = (&self.object.bucket, &self.object.key);
        if found.bucket != bucket.url || found.key != *key {
            return Ok(None);
        }
        let upload = UploadId {
            id: found.upload.as_str().into(),
            sha256: found.sha256,
        };
        let fits = found.part_bytes == self.part_bytes as u64;
        let (object, asked) = (self.object.clone(), upload.clone());
        let earlier = match &bucket.signer {
            Signer::S3 { .. } if fits => {
                let parts = runtime::wait(async move { s3::parts_of(&object, &asked).await })?;
                parts.map(|parts| parts.map(Earlier::Parts))
            }
            Signer::Google { .. }
                if fits && self.made_from.is_some() && found.made_from == self.made_from =>
            {
                let size =
                    runtime::wait(async move { google::received_of(&object, &asked).await })?;
                let sent = sent.into_iter().map(|sent| (sent.end, sent.md5)).collect();
                size.map(|size| size.map(|size| Earlier::Bytes(size, sent)))
            }
            _ => Err(Refusal::other("the upload is another")),
        };
        match earlier {
            Ok(Some(earlier)) => {
                let size_bytes = match &earlier {
                    Earlier::Parts(parts) => parts.values().map(|part| part.size_bytes).sum(),
                    Earlier::Bytes(size, _) => *size,
                    Earlier::Blocks(_) | Earlier::Nothing => 0,
                };
                tracing::info!(
                    "{}: an unfinished upload is continued, of which the store has {size_bytes} \
                        bytes",
                    self.object.text
                );
                self.earlier = Arc::new(earlier);
                Ok(Some(upload))
            }
            Ok(None) => Ok(None),
            Err(refusal) if refusal.may_pass() => Err(self.object.error(refusal)),
            Err(_) => {
                if !self.give_up(self.object.clone(), upload) {
                    tracing::warn!(
                        "{}: the unfinished upload {} could not be removed",
                        self.object.text,
                        found.upload
                    );
                }
                Ok(None)
            }
        }
    }

    /// Aborts uploads to this bucket that no process has continued for a week.
    fn give_up_stale(&self) {
        for (record, found) in stale(&self.object.bucket.url) {
            let object = Object {
                bucket: self.object.bucket.clone(),
                address: self.object.address.clone(),
                text: found.address.as_str().into(),
                key: found.key,
                purpose: Purpose::of_thread(),
            };
            if !self.give_up(Arc::new(object), UploadId::plain(found.upload)) {
                return;
            }
            record.remove();
        }
    }

    /// Gives an upload up; false when the store may still have it.
    fn give_up(&self, object: Arc<Object>, upload: UploadId) -> bool {
        let is_here = match &object.bucket.signer {
            // Its name is an address, to which the token is sent.
            Signer::Google { .. } => upload.id.starts_with(&format!("{}/", object.bucket.url)),
            Signer::S3 { .. } | Signer::Azure { .. } => true,
        };
        let task = runtime::start(async move { is_here && object.abort(&upload).await });
        task.is_ok_and(|task| task.join_within(ABORT_WITHIN) == Some(true))
    }

    /// Keeps the upload for a later process, and says so.
    fn keep_upload_for_retry(&mut self, error: Error) -> Error {
        self.is_kept = match &self.object.bucket.signer {
            Signer::S3 { .. } => self.record.is_some(),
            Signer::Google { .. } => self.record.is_some() && self.made_from.is_some(),
            Signer::Azure { .. } => true,
        };
        if self.is_kept && self.upload.is_some() && error.kind() != Kind::Cancelled {
            error.hint("the store keeps the parts that it has: the same command sends the others")
        } else {
            self.is_kept = false;
            error
        }
    }

    /// Starts to send the filled buffer.
    fn send_part(&mut self, is_last: bool) -> Result<()> {
        let upload = self.begin()?;
        // Any part that arrives makes room for the next: one that is sent again does not hold up
        // the others.
        let slots = self.slots.clone();
        let slot = runtime::wait(async move { slots.acquire_owned().await })?;
        let slot = slot.map_err(|error| Error::internal("a part can't be sent").because(error))?;
        while self.sent.front().is_some_and(Task::is_finished) {
            self.take_one()?;
        }
        if self.begun >= PARTS_MAX {
            let error = Error::new(
                Kind::TooLarge,
                "the output is longer than planned, and the store takes no more parts",
            );
            return Err(error.at_place(&self.object.address));
        }
        let next = Vec::with_capacity(if is_last { 0 } else { self.part_bytes });
        let bytes = Bytes::from(std::mem::replace(&mut self.buffer, next));
        if let Some(whole) = &mut self.whole {
            whole.update(&bytes);
        }
        let (object, start, earlier) = (self.object.clone(), self.position, self.earlier.clone());
        self.begun += 1;
        self.position += bytes.len() as u64;
        let (number, end) = (self.begun, self.position);
        let total = is_last.then_some(end);
        let sent = if self.is_ordered() {
            self.expect_same_before(start, end)?
        } else {
            0
        };
        self.sent.push_back(match &object.bucket.signer {
            Signer::Google { .. } => runtime::start(async move {
                let _slot = slot;
                if sent < end || total.is_some() {
                    google::chunk(&object, &upload, (start, sent), &bytes, total).await?;
                }
                Ok(PartTag::default())
            })?,
            Signer::S3 { .. } => runtime::start(async move {
                let _slot = slot;
                let sums = PartSums::compute_sums(
                    &bytes,
                    !upload.sha256,
                    upload.sha256 || object.signs_body(),
                )
                .await?;
                if let Earlier::Parts(parts) = &*earlier
                    && let Some(found) = parts.get(&number)
                    && s3::is_same(found, &bytes, &sums).await?
                {
                    return Ok(s3::tag_of(found, &upload, &sums));
                }
                s3::send_part(&object, &upload, number, &bytes, &sums).await
            })?,
            Signer::Azure { .. } => runtime::start(async move {
                let _slot = slot;
                let checksum = md5_of(&bytes).await?;
                let found = if let Earlier::Blocks(found) = &*earlier {
                    found.as_slice()
                } else {
                    &[]
                };
                azure::send_block(&object, found, number, &bytes, &checksum).await
            })?,
        });
        Ok(())
    }

    /// The number of bytes that a store that takes them in order has, when those from `start` to
    /// `end` are next. What an earlier process sent of them has to have been the same, and what is
    /// sent now is recorded before.
    fn expect_same_before(&mut self, start: u64, end: u64) -> Result<u64> {
        let md5 = self
            .whole
            .as_ref()
            .map(|md5| hex::encode(md5.clone().finalize()))
            .unwrap_or_default();
        let has = if let Earlier::Bytes(has, _) = &*self.earlier {
            *has
        } else {
            0
        };
        if start < has {
            if matches!(&*self.earlier, Earlier::Bytes(_, sent) if sent.get(&end) == Some(&md5)) {
                return Ok(has);
            }
            // Whether or not the store drops that upload, the next call begins another one.
            if let Some(record) = self.record.take() {
                record.remove();
            }
            let error = Error::new(
                Kind::Changed,
                "the bytes differ from those of an unfinished upload of this object",
            );
            return Err(error
                .at_place(&self.object.address)
                .hint("that upload is given up now: write again"));
        }
        self.record.iter_mut().for_each(|record| {
            record.add(&SentUpTo {
                end,
                md5: md5.clone(),
            })
        });
        Ok(has)
    }

    /// Waits for the oldest part on its way.
    fn take_one(&mut self) -> Result<()> {
        let Some(task) = self.sent.pop_front() else {
            return Ok(());
        };
        match task.join()? {
            Ok(part) => self.parts.push(part),
            Err(refusal) if refusal.means_other_writer() => return Err(self.object.exists()),
            Err(refusal) => {
                let may_pass = refusal.may_pass();
                let error = self.object.error(refusal);
                return Err(if may_pass {
                    self.keep_upload_for_retry(error)
                } else {
                    error
                });
            }
        }
        Ok(())
    }
}

/// Number of parts that are sent at once.
fn at_once(signer: &Signer, part_bytes: usize) -> usize {
    match signer {
        // Takes the parts in their order, one after another.
        Signer::Google { .. } => 1,
        Signer::S3 { .. } | Signer::Azure { .. } => ((SENT_AT_ONCE / part_bytes as u64) as usize)
            .clamp(1, credentials::connections().max(1)),
    }
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
        let Some(upload) = self.upload.take().filter(|_| !self.is_done) else {
            return;
        };
        // A part that arrives after the upload was given up would stay.
        self.sent.clear();
        if self.is_kept {
            return;
        }
        if self.give_up(self.object.clone(), upload)
            && let Some(record) = self.record.take()
        {
            record.remove();
        }
    }
}
