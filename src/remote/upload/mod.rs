//! Writes objects of S3, Google Cloud Storage and Azure: [`ObjectWriter`] streams an object of any
//! size in parts, [`put_objects`] sends small ones at once. An object becomes visible when all its
//! bytes have arrived, by one request that the store refuses when another object has the name
//! (unless it may be replaced). Each part carries its checksum, which the store verifies: SHA-256
//! where it can, otherwise MD5; the whole object is compared afterwards by size and checksum. An
//! upload that a process left unfinished is continued by the next one: parts whose bytes the store
//! has are not sent again. Requests are signed with the credentials and the code that reading uses.

mod azure;
mod comparison;
mod google;
mod object;
mod part_sums;
mod request;
mod s3;
mod unfinished;
mod writer;
mod xml;

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::StreamExt;

use super::bucket::Signer;
use super::credentials::{admit_address, connections, store_for};
use super::fetch::{self, RequestFault};
use super::{file, runtime};
use crate::error::{Cause, Error, IoContext, Kind, Result};
use crate::model::{Address, Scheme, is_remote};

pub use comparison::ObjectComparison;
pub use object::StoredObject;
use object::{Object, UploadId, whole_checksum};
use request::Refusal;
pub use writer::ObjectWriter;
use writer::part_bytes;

impl Object {
    fn error(&self, refusal: Refusal) -> Error {
        fetch::error(&self.address, &refusal.fault, refusal.tries)
    }

    /// What the store has at this key; `None` without an object.
    async fn fetch_stored_object(&self) -> Result<Option<StoredObject>, Refusal> {
        self.stored_with(false).await
    }

    /// The same, with the SHA-256 of an object in parts if `composite`.
    async fn stored_with(&self, composite: bool) -> Result<Option<StoredObject>, Refusal> {
        match &self.bucket.signer {
            Signer::S3 { .. } => s3::fetch_stored_object(self, composite).await,
            Signer::Google { .. } => google::fetch_stored_object(self).await,
            Signer::Azure { .. } => azure::fetch_stored_object(self).await,
        }
    }

    /// Sends the whole object in one request.
    async fn put(&self, bytes: Bytes, overwrite: bool) -> Result<StoredObject> {
        let checksum = part_sums::md5_of(&bytes)
            .await
            .map_err(|refusal| self.error(refusal))?;
        let sent = match &self.bucket.signer {
            Signer::S3 { .. } => s3::put_object(self, &bytes, &checksum, overwrite).await,
            Signer::Google { .. } => google::put_object(self, &bytes, overwrite).await,
            Signer::Azure { .. } => azure::put_object(self, &bytes, &checksum, overwrite).await,
        };
        let expected = StoredObject::with_checksum(
            bytes.len() as u64,
            Some(whole_checksum(&self.bucket.signer, &checksum)),
        );
        self.confirm_stored_object(sent.map(drop), &expected).await
    }

    /// The outcome of the request that makes the object visible. When the response to an earlier
    /// try was lost, the store may refuse the next one because the object exists: then it is ours
    /// if its size and checksum are.
    async fn confirm_stored_object(
        &self,
        sent: Result<(), Refusal>,
        expected: &StoredObject,
    ) -> Result<StoredObject> {
        let refused = match sent {
            Ok(()) => None,
            Err(refusal) if refusal.tries > 1 || refusal.means_other_writer() => Some(refusal),
            Err(refusal) => return Err(self.error(refusal)),
        };
        let found = self
            .stored_with(expected.sha256.is_some())
            .await
            .map_err(|refusal| self.error(refusal))?;
        match (found, refused) {
            (Some(found), None) => {
                if found.agrees(expected) {
                    Ok(found)
                } else {
                    Err(Error::new(
                    Kind::Damaged,
                    format!(
                        "the store has {} bytes with the checksum {}, {} bytes with {} were sent",
                        found.size_bytes,
                        found.checksum.as_deref().unwrap_or("unknown"),
                        expected.size_bytes,
                        expected.checksum.as_deref().unwrap_or("unknown")
                    ),
                )
                .at_place(&self.address)
                .hint(
                    "another program may have written it at the same time: look at it, then \
                    write again (--overwrite)",
                ))
                }
            }
            (None, None) => Err(Error::new(
                Kind::Io,
                "the store accepted the object, and does not have it",
            )
            .at_place(&self.address)),
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
            Signer::S3 { .. } => s3::begin_upload(self).await,
            Signer::Google { .. } => google::begin_upload(self, overwrite).await,
            // Blocks belong to the blob.
            Signer::Azure { .. } => Ok(UploadId::plain("")),
        };
        match begun {
            Ok(id) => Ok(id),
            Err(refusal) if refusal.means_other_writer() => Err(self.exists()),
            Err(refusal) => Err(self.error(refusal)),
        }
    }

    /// Gives an upload up, so that the store drops its parts; false when it may still have it.
    /// Stores drop unfinished uploads by themselves after days, by their own or the owner's rule.
    async fn abort(&self, upload: &UploadId) -> bool {
        let ended = match &self.bucket.signer {
            Signer::S3 { .. } => s3::abort(self, upload).await,
            Signer::Google { .. } => google::abort(self, upload).await,
            // Blocks that no list names are dropped by the store.
            Signer::Azure { .. } => Ok(()),
        };
        match ended {
            Ok(()) => true,
            Err(refusal) if matches!(refusal.status(), Some(404 | 410)) => true,
            Err(refusal) => {
                let reason = fetch::sentence(&self.address, &refusal.fault);
                tracing::debug!(
                    "{}: the upload {} could not be given up: {reason}",
                    self.text,
                    upload.id
                );
                false
            }
        }
    }

    async fn delete(&self) -> Result<()> {
        let gone = match &self.bucket.signer {
            Signer::S3 { .. } => s3::delete_object(self).await,
            Signer::Google { .. } => google::delete_object(self).await,
            Signer::Azure { .. } => azure::delete_object(self).await,
        };
        match gone {
            Ok(()) => Ok(()),
            Err(Refusal {
                fault: RequestFault::Status(404, _),
                ..
            }) => Ok(()),
            Err(refusal) => Err(self.error(refusal)),
        }
    }
}

impl StoredObject {
    fn with_checksum(size_bytes: u64, checksum: Option<String>) -> Self {
        Self {
            size_bytes,
            checksum,
            sha256: None,
        }
    }

    /// Whether each checksum that both have is equal.
    fn checksums<'a>(&'a self, other: &'a StoredObject) -> impl Iterator<Item = bool> + 'a {
        let pairs = [
            (&self.checksum, &other.checksum),
            (&self.sha256, &other.sha256),
        ];
        pairs
            .into_iter()
            .filter_map(|(own, other)| Some(own.as_ref()? == other.as_ref()?))
    }

    /// True unless size or a checksum differ.
    fn agrees(&self, other: &StoredObject) -> bool {
        self.size_bytes == other.size_bytes && self.checksums(other).all(|equal| equal)
    }

    /// True when size and a checksum are known and equal, and no checksum differs.
    fn is_surely(&self, other: &StoredObject) -> bool {
        self.agrees(other) && self.checksums(other).next().is_some()
    }
}

/// A small object to be written.
#[derive(Clone, Debug)]
pub struct NewObject {
    /// Its address.
    pub path: PathBuf,
    pub bytes: Bytes,
    /// Replace an object of this name.
    pub overwrite: bool,
}

/// Writes small objects, each in one request, several at once. An object of this name that may not
/// be replaced is an error with [`Cause::OutputExists`].
///
/// # Errors
/// When the job is cancelled, or an address can't be written; other errors are in the results.
pub fn put_objects(new: Vec<NewObject>) -> Result<Vec<Result<StoredObject>>> {
    let objects: Vec<Object> = new
        .iter()
        .map(|one| Object::from_path(&one.path))
        .collect::<Result<_>>()?;
    let limit = connections();
    let mut requests = Vec::with_capacity(new.len());
    for (object, one) in objects.into_iter().zip(&new) {
        let (bytes, overwrite) = (one.bytes.clone(), one.overwrite);
        requests.push(async move { object.put(bytes, overwrite).await });
    }
    let stored = runtime::wait(async move {
        futures::stream::iter(requests)
            .buffered(limit)
            .collect::<Vec<_>>()
            .await
    })?;
    new.iter().for_each(|one| file::forget(&one.path));
    Ok(stored)
}

/// True when the store has an object at this address.
///
/// # Errors
/// When the store refuses to say, or can't be reached.
pub fn object_exists(path: &Path) -> Result<bool> {
    let object = Object::from_path(path)?;
    runtime::wait(async move {
        object
            .fetch_stored_object()
            .await
            .map(|found| found.is_some())
            .map_err(|refusal| object.error(refusal))
    })?
}

/// Whether the store has each of these objects with these bytes: by size and checksum. Several are
/// asked for at once.
///
/// # Errors
/// When the job is cancelled, or an address can't be written; in the results, when the store
/// refuses to say, or can't be reached.
pub fn objects_have(objects: Vec<(PathBuf, Bytes)>) -> Result<Vec<Result<bool>>> {
    let limit = connections();
    let mut requests = Vec::with_capacity(objects.len());
    for (path, bytes) in objects {
        let object = Object::from_path(&path)?;
        requests.push(async move {
            let refused = |refusal| object.error(refusal);
            let Some(found) = object.fetch_stored_object().await.map_err(refused)? else {
                return Ok(false);
            };
            if found.size_bytes != bytes.len() as u64 {
                return Ok(false);
            }
            let checksum = part_sums::md5_of(&bytes).await.map_err(refused)?;
            let expected = StoredObject::with_checksum(
                found.size_bytes,
                Some(whole_checksum(&object.bucket.signer, &checksum)),
            );
            Ok(found.is_surely(&expected))
        });
    }
    runtime::wait(async move {
        futures::stream::iter(requests)
            .buffered(limit)
            .collect()
            .await
    })
}

/// True when the store has this object with the `size_bytes` bytes of `reader`, which
/// [`ObjectWriter`] would send: by size and checksum. The bytes are read only where the size
/// agrees.
///
/// # Errors
/// When the bytes can't be read; when the store refuses to say, or can't be reached.
pub fn object_is(path: &Path, size_bytes: u64, reader: &mut dyn Read) -> Result<bool> {
    let Some(mut comparison) = ObjectComparison::new(path, size_bytes)? else {
        return Ok(false);
    };
    std::io::copy(&mut reader.take(size_bytes), &mut comparison)
        .io_at("read what is compared with", path)?;
    Ok(comparison.is_same())
}

/// Requests that writing an object of this size takes.
pub fn object_requests(size_bytes: u64) -> u64 {
    let part_bytes = part_bytes(size_bytes);
    // An object in parts is begun and completed.
    if size_bytes <= part_bytes {
        1
    } else {
        size_bytes.div_ceil(part_bytes) + 2
    }
}

/// Removes an object; one that does not exist is no error.
///
/// # Errors
/// When the store refuses it or can't be reached.
pub fn delete_object(path: &Path) -> Result<()> {
    let object = Object::from_path(path)?;
    runtime::wait(async move { object.delete().await })??;
    file::forget(path);
    Ok(())
}

/// Names of the objects below a remote folder, relative to it, sorted.
///
/// # Errors
/// When the store refuses to list them, or can't be reached.
pub fn objects_below(folder: &Path) -> Result<Vec<String>> {
    Ok(sized_objects_below(folder)?
        .into_iter()
        .map(|(name, _)| name)
        .collect())
}

/// As [`objects_below`], with sizes in bytes where the store states them.
///
/// # Errors
/// As [`objects_below`].
pub(super) fn sized_objects_below(folder: &Path) -> Result<Vec<(String, Option<u64>)>> {
    use futures::TryStreamExt;
    let address = Address::from_path(folder).ok_or_else(|| {
        Error::usage("this is not the address of a remote folder").at_path(folder)
    })?;
    let address = admit_address(address);
    let (store, key) = store_for(&address)?;
    let prefix = format!("{}/", key.as_ref());
    if address.scheme == Scheme::Gs {
        let object = Object {
            key: String::new(),
            ..Object::from_path(folder)?
        };
        let named = runtime::wait(async move {
            google::list(&object, &prefix)
                .await
                .map_err(|refusal| object.error(refusal))
        })??;
        return Ok(named.into_iter().map(|name| (name, None)).collect());
    }
    let found = runtime::wait(async move {
        let listed = store.list(Some(&key)).try_collect::<Vec<_>>().await;
        listed.map_err(|error| {
            Error::new(Kind::Io, "the objects of this folder can't be listed")
                .at_place(&address)
                .because(super::credentials::root_cause(&error))
                .hint("listing needs a permission of its own in some stores")
                .caused_by(Cause::Passing)
        })
    })??;
    let named = found.iter().filter_map(|meta| {
        let below = meta.location.as_ref().strip_prefix(&prefix)?;
        Some((below.to_owned(), Some(meta.size)))
    });
    let mut names: Vec<(String, Option<u64>)> = named.collect();
    names.sort();
    Ok(names)
}

/// Refuses addresses that objects can't be written to.
///
/// # Errors
/// As [`put_objects`], before anything is sent.
pub fn expect_writable(path: &Path) -> Result<()> {
    if is_remote(path) {
        Object::from_path(path).map(drop)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::object::percent_encode;
    use super::*;

    #[test]
    fn keys_are_encoded_as_stores_sign_them() {
        assert_eq!(
            percent_encode("a b/ñ+c~.tif", b"/"),
            "a%20b/%C3%B1%2Bc~.tif"
        );
        assert_eq!(percent_encode("a/b", b""), "a%2Fb");
    }

    #[test]
    fn addresses_without_a_protocol_for_writing_are_refused() {
        for address in [
            "https://example.org/x.tacozip",
            "http://localhost/x",
            "swift://c/x",
        ] {
            let error = expect_writable(Path::new(address)).expect_err("is refused");
            assert_eq!(error.kind(), Kind::Unsupported, "{error}");
        }
        let error = expect_writable(Path::new("s3://bucket")).expect_err("has no name");
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        assert!(expect_writable(Path::new("/tmp/x")).is_ok());
    }

    #[test]
    fn an_unknown_checksum_contradicts_nothing_and_proves_nothing() {
        let stored = |size_bytes, checksum: Option<&str>| {
            StoredObject::with_checksum(size_bytes, checksum.map(str::to_owned))
        };
        assert!(
            stored(3, None).agrees(&stored(3, Some("a")))
                && !stored(3, None).is_surely(&stored(3, None))
        );
        assert!(
            !stored(3, Some("b")).agrees(&stored(3, Some("a")))
                && !stored(2, None).agrees(&stored(3, None))
        );
        assert!(stored(3, Some("a")).is_surely(&stored(3, Some("a"))));
        // One checksum may do for the other, and none may differ.
        let with = |checksum, sha256: &str| StoredObject {
            sha256: Some(sha256.to_owned()),
            ..stored(3, checksum)
        };
        assert!(
            with(None, "x").is_surely(&with(Some("a"), "x"))
                && !with(None, "x").agrees(&with(None, "y"))
        );
        assert!(
            !with(Some("a"), "x").is_surely(&with(Some("a"), "y"))
                && !with(None, "x").is_surely(&stored(3, Some("a")))
        );
    }
}
