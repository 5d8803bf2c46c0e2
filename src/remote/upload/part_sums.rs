//! Checksums of a part, computed on threads beside those of the requests, so that those of several
//! parts are computed at the same time.

use bytes::Bytes;
use md5::{Digest, Md5};

use super::object::{Checksum, Sha256Sum};
use super::request::Refusal;

/// Maximum bytes of a part whose checksum is computed on the same thread: the change to another
/// thread would take longer.
const SAME_THREAD_MAX: usize = 16 << 10;

/// The checksums of a part that its request needs; others are not computed, as each takes as long
/// as a fast network takes to send the part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartSums {
    pub(super) md5: Option<Checksum>,
    pub(super) sha256: Option<Sha256Sum>,
}

impl PartSums {
    /// Computes MD5 and SHA-256 as far as they are requested.
    pub(super) async fn compute_sums(
        bytes: &Bytes,
        md5: bool,
        sha256: bool,
    ) -> Result<Self, Refusal> {
        if bytes.len() <= SAME_THREAD_MAX {
            return Ok(Self::of_bytes(bytes, md5, sha256));
        }
        let bytes = bytes.clone();
        let computed =
            tokio::task::spawn_blocking(move || Self::of_bytes(&bytes, md5, sha256)).await;
        computed.map_err(|_| Refusal::other("the checksum of a part was not computed"))
    }

    fn of_bytes(bytes: &[u8], md5: bool, sha256: bool) -> Self {
        Self {
            md5: md5.then(|| Md5::digest(bytes).into()),
            sha256: sha256.then(|| sha256_of(bytes)),
        }
    }

    /// MD5 of the part; computes it if it is not known.
    pub(super) async fn md5(&self, bytes: &Bytes) -> Result<Checksum, Refusal> {
        match self.md5 {
            Some(md5) => Ok(md5),
            None => md5_of(bytes).await,
        }
    }
}

/// MD5 of a part or a small object.
pub(super) async fn md5_of(bytes: &Bytes) -> Result<Checksum, Refusal> {
    let sums = PartSums::compute_sums(bytes, true, false).await?;
    sums.md5
        .ok_or_else(|| Refusal::other("the checksum of a part was not computed"))
}

fn sha256_of(bytes: &[u8]) -> Sha256Sum {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}
