//! Checksums of a part, computed beside the requests: those of several parts at once.

use bytes::Bytes;
use md5::{Digest, Md5};

use super::object::{Checksum, Sha256Sum};
use super::request::Refusal;

/// Below this many bytes a checksum takes less time than handing it to another thread.
const AT_ONCE_MAX: usize = 16 << 10;

/// The checksums of a part that its request needs. Computing one takes as long as a fast network
/// takes for the part, so none is computed that is not needed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartSums {
    pub(super) md5: Option<Checksum>,
    pub(super) sha256: Option<Sha256Sum>,
}

impl PartSums {
    /// Computes the checksums that are asked for.
    pub(super) async fn compute_sums(
        bytes: &Bytes,
        md5: bool,
        sha256: bool,
    ) -> Result<Self, Refusal> {
        if bytes.len() <= AT_ONCE_MAX {
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

    /// MD5 of the part, computed where it was not yet.
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
