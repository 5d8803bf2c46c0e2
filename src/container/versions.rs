//! The versions of containers in which samples were found: compared before anything is written, and remembered by drafts so that
//! a copy of an archive is known again.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::sample_bytes::named;
use super::source::stamp_at;
use super::zip::is_archive;
use super::{Assembly, ByteSource, Directory, RowSource};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Dataset, Payload, SamplePath, Stamp, Tortilla};

/// Containers that were looked at: one look at each, however many samples it holds.
#[derive(Default)]
pub struct Versions<'a> {
    seen: HashSet<(&'a Path, &'a Stamp)>,
    last: Option<(&'a Arc<Path>, &'a Arc<Stamp>)>,
}

impl<'a> Versions<'a> {
    /// Compares the container of a range with the version in which the range was found, where that is known.
    ///
    /// # Errors
    ///
    /// [`crate::error::Kind::Changed`] when it is another version.
    pub fn expect(&mut self, asset: &'a AssetPath) -> Result<()> {
        let AssetPath::Range { container, stamp: Some(stamp), .. } = asset else { return Ok(()) };
        let again = self.last.is_some_and(|(path, known)| Arc::ptr_eq(path, container) && Arc::ptr_eq(known, stamp));
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

/// Compares every container that a draft reads from with the version in which its samples were found.
///
/// # Errors
///
/// [`crate::error::Kind::Changed`] with the first sample of a container that is another version.
pub fn expect_containers(dataset: &Dataset) -> Result<()> {
    fn walk<'a>(tortilla: &'a Tortilla, path: &mut SamplePath, versions: &mut Versions<'a>) -> Result<()> {
        for sample in &tortilla.samples {
            path.0.push(sample.id.clone());
            match &sample.payload {
                Payload::Asset { path: asset, .. } => {
                    versions.expect(asset).map_err(|error| named(error, &path.to_string()))?;
                }
                Payload::Folder(children) => walk(children, path, versions)?,
                Payload::Bytes(_) => {}
            }
            path.0.pop();
        }
        Ok(())
    }
    walk(&dataset.root, &mut SamplePath::default(), &mut Versions::default())
}

impl Assembly {
    /// Has the ranges remember the central directories of their archives, for a draft, which may outlive them. What can't be
    /// read is left to the copy, which needs it.
    ///
    /// # Errors
    ///
    /// When the job is cancelled.
    pub fn remember_directories(&mut self, ctx: &JobContext) -> Result<()> {
        let mut known: HashMap<(Arc<Path>, Arc<Stamp>), Arc<Stamp>> = HashMap::new();
        let mut last: Option<(Arc<Stamp>, Arc<Stamp>)> = None;
        for source in self.levels.iter_mut().flat_map(|level| &mut level.sources) {
            let RowSource::Asset { path, .. } = source else { continue };
            let asset = path.clone();
            let AssetPath::Range { container, stamp: Some(stamp), .. } = path else { continue };
            if let Some((_, now)) = last.as_ref().filter(|(before, _)| Arc::ptr_eq(before, stamp)) {
                *stamp = now.clone();
                continue;
            }
            let before = stamp.clone();
            let now = match known.get(&(container.clone(), before.clone())) {
                Some(now) => now.clone(),
                None => {
                    ctx.check()?;
                    let now = with_directory(&asset, &before).map_or_else(|| before.clone(), Arc::new);
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

/// The version of an archive of this machine with its directory. One of another machine has a mark of its server.
fn with_directory(asset: &AssetPath, stamp: &Stamp) -> Option<Stamp> {
    let file = ByteSource::open_for(asset).ok().filter(|file| !file.is_remote() && is_archive(file).unwrap_or(false))?;
    let directory = Directory::read(&file).ok()?;
    Some(Stamp { directory: Some(directory.digest), ..stamp.clone() })
}
