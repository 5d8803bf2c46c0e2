//! SHA-256 of the samples' data, streamed and in parallel, for finding duplicates.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::container::{CopySources, OnDamage, RowSource, asset_size};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Payload, Sample};

/// SHA-256 of every sample in lower-case hexadecimal, or the error of reading it; `None` for
/// padding. The hash of a FOLDER is that of the lines `id NUL hash LF` of its children, in order.
///
/// # Errors
/// When the job is cancelled; [`Kind::Changed`](crate::error::Kind::Changed) when a container was
/// replaced meanwhile.
pub fn hashes(samples: &[&Sample], ctx: &JobContext) -> Result<Vec<Result<Option<String>>>> {
    ctx.stage(tr!("Hashing samples"), Some(samples.len() as u64));
    // Shared, as each reads the directory of a container with its checksums.
    let sources = CopySources::new(OnDamage::Keep);
    let all: Vec<Result<Option<String>>> = samples
        .par_iter()
        .map(|sample| {
            let hash = if sample.is_padding() {
                Ok(None)
            } else {
                hash_sample(sample, &sources, ctx).map(Some)
            };
            ctx.step(1);
            hash
        })
        .collect();
    ctx.check()?;
    sources.finish(ctx)?;
    Ok(all)
}

/// SHA-256 of one sample.
///
/// # Errors
/// When its data cannot be read, or is not on this machine.
fn hash_sample(sample: &Sample, sources: &CopySources, ctx: &JobContext) -> Result<String> {
    let mut hasher = Sha256::new();
    match &sample.payload {
        Payload::Bytes(bytes) => hasher.update(bytes),
        Payload::Asset {
            path: AssetPath::Vsi(text),
            ..
        } => {
            return Err(
                Error::unsupported("only samples on this machine can be hashed").at_place(text),
            );
        }
        Payload::Asset { path, .. } => {
            let source = RowSource::asset(path.clone(), asset_size(path)?);
            sources.stream(&source, &|| path.to_string(), ctx, &mut |piece| {
                hasher.update(piece);
                Ok(())
            })?;
        }
        Payload::Folder(children) => {
            for child in &children.samples {
                hasher.update(child.id.as_bytes());
                hasher.update(b"\0");
                hasher.update(hash_sample(child, sources, ctx)?.as_bytes());
                hasher.update(b"\n");
            }
        }
    }
    Ok(hex::encode(hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tortilla;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn equal_bytes_have_equal_hashes_in_any_location() {
        let folder = tempfile::tempdir().expect("a folder");
        let (whole, part) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&whole, "abc").expect("written");
        std::fs::write(&part, "xxabcyy").expect("written");
        let range =
            |offset, size| Payload::asset(AssetPath::range(part.as_path(), offset, size), size);
        let sample = |id: &str, payload| Sample {
            id: id.into(),
            payload,
            values: [].into(),
        };
        let samples = [
            Sample::new_file("file", &whole, 3),
            sample("range", range(2, 3)),
            sample("bytes", Payload::Bytes(Vec::from("abc").into())),
            sample("cut", range(5, 30)),
            sample("__TACOPAD__0", Payload::Bytes([].into())),
            Sample::new_folder(
                "folder",
                Tortilla::new(vec![Sample::new_file("file", &whole, 3)]),
            ),
            Sample::new_folder(
                "other",
                Tortilla::new(vec![Sample::new_file("renamed", &whole, 3)]),
            ),
        ];
        let hashes = hashes(&samples.iter().collect::<Vec<_>>(), &JobContext::default())
            .expect("not cancelled");
        let text = |index: usize| hashes[index].as_ref().expect("hashed").clone();
        for index in 0..3 {
            assert_eq!(text(index).as_deref(), Some(ABC));
        }
        let cut = hashes[3].as_ref().expect_err("cut").kind();
        assert!(
            matches!(cut, crate::error::Kind::Io | crate::error::Kind::Format),
            "{cut:?}"
        );
        assert_eq!(text(4), None);
        assert_ne!(text(5), text(6));
    }

    #[test]
    fn a_cancelled_run_gives_nothing() {
        let ctx = JobContext::default();
        ctx.cancel();
        assert!(hashes(&[], &ctx).expect_err("cancelled").is_cancelled());
    }
}
