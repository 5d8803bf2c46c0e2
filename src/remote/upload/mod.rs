//! Writes objects of S3, Google Cloud Storage and Azure: [`ObjectWriter`] streams an object of any size in parts, [`put_objects`]
//! sends small ones at once. An object becomes visible when all its bytes have arrived, by one request that the store refuses when
//! another object has the name (unless it may be replaced). Each part carries its MD5, which the store verifies; the whole object is
//! compared afterwards by size and checksum. Requests are signed with the credentials and the code that reading uses.

mod azure;
mod google;
mod object;
mod request;
mod s3;
mod writer;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::StreamExt;
use md5::{Digest, Md5};

use super::bucket::Signer;
use super::credentials::{cleaned, connections, store_for};
use super::fetch::{self, Fault};
use super::{file, runtime};
use crate::error::{Cause, Error, IoContext, Kind, Result};
use crate::model::{Address, Scheme, is_remote};

pub use object::Stored;
use object::{Checksum, Object, PartTag, UploadId};
use request::Refusal;
pub use writer::ObjectWriter;
use writer::part_bytes;

/// Maximum time in which an upload that failed is given up at the store.
const ABORT_WITHIN: Duration = Duration::from_secs(10);

impl Object {
    fn error(&self, refusal: Refusal) -> Error {
        fetch::error(&self.address, &refusal.fault, refusal.tries)
    }

    /// What the store has at this key; `None` without an object.
    async fn stored(&self) -> Result<Option<Stored>, Refusal> {
        match &self.bucket.signer {
            Signer::S3 { .. } => s3::stored(self).await,
            Signer::Google { .. } => google::stored(self).await,
            Signer::Azure { .. } => azure::stored(self).await,
        }
    }

    /// Sends the whole object in one request.
    async fn put(&self, bytes: Bytes, overwrite: bool) -> Result<Stored> {
        let checksum: Checksum = Md5::digest(&bytes).into();
        let sent = match &self.bucket.signer {
            Signer::S3 { .. } => s3::put(self, &bytes, &checksum, overwrite).await,
            Signer::Google { .. } => google::put(self, &bytes, overwrite).await,
            Signer::Azure { .. } => azure::put(self, &bytes, &checksum, overwrite).await,
        };
        let expected = Stored { size_bytes: bytes.len() as u64, checksum: Some(whole_checksum(&self.bucket.signer, &checksum)) };
        self.settled(sent.map(drop), &expected).await
    }

    /// The outcome of the request that makes the object visible. When the response to an earlier try was lost, the store may refuse
    /// the next one because the object exists: then it is ours if its size and checksum are.
    async fn settled(&self, sent: Result<(), Refusal>, expected: &Stored) -> Result<Stored> {
        let refused = match sent {
            Ok(()) => None,
            Err(refusal) if refusal.tries > 1 || refusal.means_other_writer() => Some(refusal),
            Err(refusal) => return Err(self.error(refusal)),
        };
        let found = self.stored().await.map_err(|refusal| self.error(refusal))?;
        match (found, refused) {
            (Some(found), None) => match found.agrees(expected) {
                true => Ok(found),
                false => Err(Error::new(
                    Kind::Damaged,
                    format!(
                        "the store has {} bytes with the checksum {}, {} bytes with {} were sent",
                        found.size_bytes,
                        found.checksum.as_deref().unwrap_or("unknown"),
                        expected.size_bytes,
                        expected.checksum.as_deref().unwrap_or("unknown")
                    ),
                )
                .at(&self.address)
                .hint("another program may have written it at the same time: look at it, then write again (--overwrite)")),
            },
            (None, None) => Err(Error::new(Kind::Io, "the store accepted the object, and does not have it").at(&self.address)),
            (Some(found), Some(refusal)) => match refusal.tries > 1 && found.is_surely(expected) {
                true => Ok(found),
                false if refusal.means_other_writer() => Err(self.exists()),
                false => Err(self.error(refusal)),
            },
            (None, Some(refusal)) => Err(self.error(refusal)),
        }
    }

    async fn begin(&self, overwrite: bool) -> Result<UploadId> {
        let begun = match &self.bucket.signer {
            Signer::S3 { .. } => s3::begin(self).await,
            Signer::Google { .. } => google::begin(self, overwrite).await,
            Signer::Azure { .. } => Ok(azure::begin()),
        };
        match begun {
            Ok(id) => Ok(id),
            Err(refusal) if refusal.means_other_writer() => Err(self.exists()),
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    /// Gives an upload up, so that the store drops its parts. Failures are ignored: stores drop unfinished uploads by themselves after
    /// days, by their own or the owner's rule.
    async fn abort(&self, upload: &UploadId) {
        let ended = match &self.bucket.signer {
            Signer::S3 { .. } => s3::abort(self, upload).await,
            Signer::Google { .. } => google::abort(self, upload).await,
            // Blocks that no list names are dropped by the store.
            Signer::Azure { .. } => Ok(()),
        };
        if let Err(refusal) = ended {
            tracing::debug!("{}: the upload could not be given up: {}", self.text, fetch::sentence(&self.address, &refusal.fault));
        }
    }

    async fn delete(&self) -> Result<()> {
        let gone = match &self.bucket.signer {
            Signer::S3 { .. } => s3::delete(self).await,
            Signer::Google { .. } => google::delete(self).await,
            Signer::Azure { .. } => azure::delete(self).await,
        };
        match gone {
            Ok(()) => Ok(()),
            Err(Refusal { fault: Fault::Status(404, _), .. }) => Ok(()),
            Err(refusal) => Err(self.error(refusal)),
        }
    }
}

impl Stored {
    /// True unless size or checksum differ.
    fn agrees(&self, other: &Stored) -> bool {
        let checksums = match (&self.checksum, &other.checksum) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        checksums && self.size_bytes == other.size_bytes
    }

    /// True when size and checksum are known and equal.
    fn is_surely(&self, other: &Stored) -> bool {
        self.checksum.is_some() && self == other
    }
}

/// The store's checksum of an object that was sent at once.
fn whole_checksum(signer: &Signer, checksum: &Checksum) -> String {
    match signer {
        Signer::S3 { .. } => hex::encode(checksum),
        Signer::Google { .. } | Signer::Azure { .. } => BASE64_STANDARD.encode(checksum),
    }
}

/// A small object to be written.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// Its address.
    pub path: PathBuf,
    /// All its bytes.
    pub bytes: Bytes,
    /// Replace an object of this name.
    pub overwrite: bool,
}

/// Writes small objects, each in one request, several at once. An object of this name that may not be replaced is an error with
/// [`Cause::OutputExists`].
///
/// # Errors
/// When the job is cancelled, or an address can't be written; other errors are in the results.
pub fn put_objects(new: Vec<NewObject>) -> Result<Vec<Result<Stored>>> {
    let objects: Vec<Object> = new.iter().map(|one| Object::of(&one.path)).collect::<Result<_>>()?;
    let limit = connections();
    let mut requests = Vec::with_capacity(new.len());
    for (object, one) in objects.into_iter().zip(&new) {
        let (bytes, overwrite) = (one.bytes.clone(), one.overwrite);
        requests.push(async move { object.put(bytes, overwrite).await });
    }
    let stored = runtime::wait(async move { futures::stream::iter(requests).buffered(limit).collect::<Vec<_>>().await })?;
    new.iter().for_each(|one| file::forget(&one.path));
    Ok(stored)
}

/// True when the store has an object at this address.
///
/// # Errors
/// When the store refuses to say, or can't be reached.
pub fn object_exists(path: &Path) -> Result<bool> {
    let object = Object::of(path)?;
    runtime::wait(async move { object.stored().await.map(|found| found.is_some()).map_err(|refusal| object.error(refusal)) })?
}

/// True when the store has this object with these bytes.
///
/// # Errors
/// When the store refuses to say, or can't be reached.
pub fn object_has(path: &Path, bytes: &[u8]) -> Result<bool> {
    let object = Object::of(path)?;
    let checksum: Checksum = Md5::digest(bytes).into();
    let expected = Stored { size_bytes: bytes.len() as u64, checksum: Some(whole_checksum(&object.bucket.signer, &checksum)) };
    let found = runtime::wait(async move { object.stored().await.map_err(|refusal| object.error(refusal)) })??;
    Ok(found.is_some_and(|found| found.is_surely(&expected)))
}

/// True when the store has this object with the `size_bytes` bytes of `reader`, which [`ObjectWriter`] would send: by size and checksum.
/// The bytes are read only where the size agrees.
///
/// # Errors
/// When the bytes can't be read; when the store refuses to say, or can't be reached.
pub fn object_is(path: &Path, size_bytes: u64, reader: &mut dyn Read) -> Result<bool> {
    let object = Arc::new(Object::of(path)?);
    let asked = object.clone();
    let found = runtime::wait(async move { asked.stored().await.map_err(|refusal| asked.error(refusal)) })??;
    let Some(found) = found.filter(|found| found.size_bytes == size_bytes) else { return Ok(false) };
    let part_bytes = part_bytes(size_bytes);
    let in_parts = matches!(object.bucket.signer, Signer::S3 { .. }) && size_bytes > part_bytes;
    let mut parts = Vec::new();
    let mut left = size_bytes;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let mut sum = Md5::new();
        let mut wanted = if in_parts { left.min(part_bytes) } else { left };
        left -= wanted;
        while wanted > 0 {
            let length = wanted.min(buffer.len() as u64) as usize;
            reader.read_exact(&mut buffer[..length]).io_at("read what is compared with", path)?;
            sum.update(&buffer[..length]);
            wanted -= length as u64;
        }
        parts.push(PartTag { tag: String::new(), checksum: sum.finalize().into() });
        if left == 0 {
            break;
        }
    }
    let checksum = match parts.as_slice() {
        [whole] if !in_parts => whole_checksum(&object.bucket.signer, &whole.checksum),
        parts => s3::whole_tag(parts),
    };
    Ok(found.is_surely(&Stored { size_bytes, checksum: Some(checksum) }))
}

/// Requests that writing an object of this size takes.
pub fn object_requests(size_bytes: u64) -> u64 {
    let part_bytes = part_bytes(size_bytes);
    // An object in parts is begun and completed.
    if size_bytes <= part_bytes { 1 } else { size_bytes.div_ceil(part_bytes) + 2 }
}

/// Removes an object; one that does not exist is no error.
///
/// # Errors
/// When the store refuses it or can't be reached.
pub fn delete_object(path: &Path) -> Result<()> {
    let object = Object::of(path)?;
    runtime::wait(async move { object.delete().await })??;
    file::forget(path);
    Ok(())
}

/// Names of the objects below a remote folder, relative to it, sorted.
///
/// # Errors
/// When the store refuses to list them, or can't be reached.
pub fn objects_below(folder: &Path) -> Result<Vec<String>> {
    use futures::TryStreamExt;
    let address = Address::of(folder).ok_or_else(|| Error::usage("this is not the address of a remote folder").at_path(folder))?;
    let address = cleaned(address);
    let (store, key) = store_for(&address)?;
    let prefix = format!("{}/", key.as_ref());
    if address.scheme == Scheme::Gs {
        let object = Object { key: String::new(), ..Object::of(folder)? };
        let named = runtime::wait(async move { google::list(&object, &prefix).await.map_err(|refusal| object.error(refusal)) })??;
        return Ok(named);
    }
    let found = runtime::wait(async move {
        let listed = store.list(Some(&key)).try_collect::<Vec<_>>().await;
        listed.map_err(|error| {
            Error::new(Kind::Io, "the objects of this folder can't be listed")
                .at(&address)
                .because(super::credentials::root_cause(&error))
                .hint("listing needs a permission of its own in some stores")
                .caused_by(Cause::Passing)
        })
    })??;
    let mut names: Vec<String> =
        found.iter().filter_map(|meta| meta.location.as_ref().strip_prefix(&prefix).map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// Refuses addresses that objects can't be written to.
///
/// # Errors
/// As [`put_objects`], before anything is sent.
pub fn expect_writable(path: &Path) -> Result<()> {
    if is_remote(path) { Object::of(path).map(drop) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::object::encoded;
    use super::*;

    #[test]
    fn keys_are_encoded_as_stores_sign_them() {
        assert_eq!(encoded("a b/ñ+c~.tif", b"/"), "a%20b/%C3%B1%2Bc~.tif");
        assert_eq!(encoded("a/b", b""), "a%2Fb");
    }

    #[test]
    fn addresses_without_a_protocol_for_writing_are_refused() {
        for address in ["https://example.org/x.tacozip", "http://localhost/x", "swift://c/x"] {
            let error = expect_writable(Path::new(address)).expect_err("is refused");
            assert_eq!(error.kind(), Kind::Unsupported, "{error}");
        }
        let error = expect_writable(Path::new("s3://bucket")).expect_err("has no name");
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        assert!(expect_writable(Path::new("/tmp/x")).is_ok());
    }

    #[test]
    fn an_unknown_checksum_contradicts_nothing_and_proves_nothing() {
        let stored = |size_bytes, checksum: Option<&str>| Stored { size_bytes, checksum: checksum.map(str::to_owned) };
        assert!(stored(3, None).agrees(&stored(3, Some("a"))) && !stored(3, None).is_surely(&stored(3, None)));
        assert!(!stored(3, Some("b")).agrees(&stored(3, Some("a"))) && !stored(2, None).agrees(&stored(3, None)));
        assert!(stored(3, Some("a")).is_surely(&stored(3, Some("a"))));
    }
}
