//! An object being written, and the state of an object at a store.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::error::{Error, Result};
use crate::model::Address;
use crate::remote::bucket::{Bucket, Signer};
use crate::remote::credentials::{admit_address, bucket_for};
use crate::remote::purpose::Purpose;

/// MD5 of a part or an object.
pub(super) type Checksum = [u8; 16];
/// SHA-256 of a part.
pub(super) type Sha256Sum = [u8; 32];

/// Size and checksum of an object at a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Length in bytes.
    pub size_bytes: u64,
    /// The store's checksum of the object, where it has one that can be computed from the bytes.
    pub(super) checksum: Option<String>,
    /// Base64 of the SHA-256 of the parts' SHA-256, where the store compared those and was asked.
    pub(super) sha256: Option<String>,
}

/// An object that is written.
pub(super) struct Object {
    pub(super) bucket: Arc<Bucket>,
    pub(super) address: Address,
    pub(super) text: Arc<str>,
    /// Percent-encoded, with `/` kept.
    pub(super) key: String,
    pub(super) purpose: Purpose,
}

/// A part that the store has.
#[derive(Clone, Debug, Default)]
pub(super) struct PartTag {
    /// ETag (S3) or block id (Azure).
    pub(super) tag: String,
    /// MD5, where it was computed, or is the ETag.
    pub(super) md5: Option<Checksum>,
    /// SHA-256, where the store compared it.
    pub(super) sha256: Option<Sha256Sum>,
}

/// A part that an earlier process sent, as the store describes it.
#[derive(Clone, Debug)]
pub(super) struct FoundPart {
    pub(super) size_bytes: u64,
    /// ETag (S3) or block id (Azure).
    pub(super) tag: String,
    /// Base64, where the store says it.
    pub(super) sha256: Option<String>,
}

/// An upload in parts.
#[derive(Clone, Debug)]
pub(super) struct UploadId {
    /// As the store calls it; empty where it has no name.
    pub(super) id: Arc<str>,
    /// The store compares the SHA-256 of each part, so that no MD5 is needed.
    pub(super) sha256: bool,
}

impl UploadId {
    /// An upload whose parts are compared by MD5, or not at all.
    pub(super) fn plain(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            sha256: false,
        }
    }
}

impl Object {
    pub(super) fn from_path(path: &Path) -> Result<Self> {
        let address = Address::from_path(path).ok_or_else(|| {
            Error::usage("this is not the address of a remote file").at_path(path)
        })?;
        let address = admit_address(address);
        if address.name().is_empty() {
            return Err(Error::usage("the output has no name").at_place(&address));
        }
        let bucket = bucket_for(&address)?;
        let (key, text) = (
            percent_encode(&address.path, b"/"),
            address.to_string().into(),
        );
        Ok(Self {
            bucket,
            address,
            text,
            key,
            purpose: Purpose::of_thread(),
        })
    }

    pub(super) fn exists(&self) -> Error {
        Error::output_exists().at_place(&self.address)
    }
}

/// Percent-encodes everything but letters, digits, `-._~` and the bytes of `kept`, as all stores
/// accept and sign it.
pub(super) fn percent_encode(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte))
        } else {
            out.push_str(&format!("%{byte:02X}"))
        }
    }
    out
}

/// The store's checksum of an object that was sent at once.
pub fn whole_checksum(signer: &Signer, checksum: &Checksum) -> String {
    match signer {
        Signer::S3 { .. } => hex::encode(checksum),
        Signer::Google { .. } | Signer::Azure { .. } => BASE64_STANDARD.encode(checksum),
    }
}
