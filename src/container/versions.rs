//! Versions of the containers in which samples were found: verified before writing, and stored in
//! drafts so that a copy of an archive is recognized.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::damage::name_sample_in_error;
use super::source::stamp_at;
use super::zip::is_archive;
use super::{Assembly, ByteSource, RowSource};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Dataset, Payload, SamplePath, Stamp, Tortilla};
use crate::zip_format::CentralDirectory;

/// Containers already examined; each is examined once, independent of its number of samples.
#[derive(Default)]
pub struct Versions<'a> {
    seen: HashSet<(&'a Path, &'a Stamp)>,
    last: Option<(&'a Arc<Path>, &'a Arc<Stamp>)>,
}

impl<'a> Versions<'a> {
    /// Compares the container of a range with the version in which the range was found, when that
    /// is known.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`] when it is another version.
    pub fn expect(&mut self, asset: &'a AssetPath) -> Result<()> {
        let AssetPath::Range {
            container,
            stamp: Some(stamp),
            ..
        } = asset
        else {
            return Ok(());
        };
        let again = self
            .last
            .is_some_and(|(path, known)| Arc::ptr_eq(path, container) && Arc::ptr_eq(known, stamp));
        self.last = Some((container, stamp));
        if again || !self.seen.insert((&**container, &**stamp)) {
            return Ok(());
        }
        match stamp_at(container)? {
            Some(now) if now.agrees(stamp) => Ok(()),
            _ => ByteSource::open_for(asset).map(drop),
        }
    }
}

/// Checks that every container a draft reads from is the version in which its samples were found.
///
/// # Errors
/// [`crate::error::Kind::Changed`], with the first sample of a container whose version differs.
pub fn expect_containers(dataset: &Dataset) -> Result<()> {
    fn walk<'a>(
        tortilla: &'a Tortilla,
        path: &mut SamplePath,
        versions: &mut Versions<'a>,
    ) -> Result<()> {
        for sample in &tortilla.samples {
            path.0.push(sample.id.clone());
            match &sample.payload {
                Payload::Asset { path: asset, .. } => {
                    versions
                        .expect(asset)
                        .map_err(|error| name_sample_in_error(error, &path.to_string()))?;
                }
                Payload::Folder(children) => walk(children, path, versions)?,
                Payload::Bytes(_) => {}
            }
            path.0.pop();
        }
        Ok(())
    }
    walk(
        &dataset.root,
        &mut SamplePath::default(),
        &mut Versions::default(),
    )
}

impl Assembly {
    /// Checks that every container that rows are read from is the version in which they were found.
    ///
    /// # Errors
    /// [`crate::error::Kind::Changed`], with the first sample of a container whose version differs.
    pub fn expect_sources(&self) -> Result<()> {
        let mut versions = Versions::default();
        for (depth, level) in self.levels.iter().enumerate() {
            for (row, source) in (0u32..).zip(&level.sources) {
                if let RowSource::Asset { path, .. } = source {
                    versions.expect(path).map_err(|error| {
                        name_sample_in_error(error, &self.tree.path(depth, row).to_string())
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Stores the digest of the central directories of local archives in their ranges, for a draft
    /// that may outlive the session. Unreadable archives are skipped; the copy reports them.
    ///
    ///
    /// When the job is cancelled.
    pub fn remember_directories(&mut self, ctx: &JobContext) -> Result<()> {
        let mut known: HashMap<(Arc<Path>, Arc<Stamp>), Arc<Stamp>> = HashMap::new();
        let mut last: Option<(Arc<Stamp>, Arc<Stamp>)> = None;
        for source in self.levels.iter_mut().flat_map(|level| &mut level.sources) {
            let RowSource::Asset { path, .. } = source else {
                continue;
            };
            let asset = path.clone();
            let AssetPath::Range {
                container,
                stamp: Some(stamp),
                ..
            } = path
            else {
                continue;
            };
            if let Some((_, now)) = last
                .as_ref()
                .filter(|(before, _)| Arc::ptr_eq(before, stamp))
            {
                *stamp = now.clone();
                continue;
            }
            let before = stamp.clone();
            let now = match known.get(&(container.clone(), before.clone())) {
                Some(now) => now.clone(),
                None => {
                    ctx.check()?;
                    let now =
                        with_directory(&asset, &before).map_or_else(|| before.clone(), Arc::new);
                    known.insert((container.clone(), before.clone()), now.clone());
                    now
                }
            };
            *stamp = now.clone();
            last = Some((before, now));
        }
        Ok(())
    }
}

/// The version of a local archive including its directory digest. A remote one is identified by its
/// ETag.
fn with_directory(asset: &AssetPath, stamp: &Stamp) -> Option<Stamp> {
    let file = ByteSource::open_for(asset)
        .ok()
        .filter(|file| !file.is_remote() && is_archive(file).unwrap_or(false))?;
    let version = CentralDirectory::for_each(&file, &mut drop).ok()?;
    Some(Stamp {
        directory: Some(version.digest),
        ..stamp.clone()
    })
}
