//! State of the target before a publication: its files, and the version that is published there.
//! Changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::container;
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{is_remote, place_below};
use crate::remote::{expect_writable, objects_below};

/// Files and published version at a target.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetState {
    /// Paths of the objects or files below it, with `/`.
    pub names: BTreeSet<String>,
    /// The dataset published there.
    pub published: Option<PublishedVersion>,
}

/// A published dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PublishedVersion {
    /// Its id; empty when it can't be read.
    pub id: String,
    /// Its `dataset_version`; empty when it can't be read.
    pub version: String,
}

/// Lists the target. A dataset is published there if `last`, the file that is sent last, exists; it
/// is opened at the path `opened_as`.
///
/// # Errors
/// When writing to the address is not supported, the store can't be listed, or the folder can't be
/// read.
pub(super) fn look_at(
    target: &Path,
    last: &str,
    opened_as: &str,
    ctx: &JobContext,
) -> Result<TargetState> {
    expect_writable(target)?;
    let mut names = BTreeSet::new();
    match is_remote(target) {
        true => names.extend(objects_below(target)?),
        false if target.is_dir() => list(target, "", &mut names, ctx)?,
        false if target.symlink_metadata().is_ok() => {
            return Err(crate::error::Error::usage(
                "the target is a file; a publication needs a folder",
            )
            .at_path(target));
        }
        false => {}
    }
    let published =
        names.contains(last).then(
            || match container::open(&place_below(target, opened_as), ctx) {
                Ok(reader) => PublishedVersion {
                    id: reader.collection().id().to_owned(),
                    version: reader.collection().text("dataset_version").to_owned(),
                },
                // An unreadable file of that name still counts as a publication, so that it is not
                // replaced without `overwrite`.
                Err(_) => PublishedVersion::default(),
            },
        );
    ctx.check()?;
    Ok(TargetState { names, published })
}

/// Adds the names of the files below a folder.
fn list(folder: &Path, above: &str, names: &mut BTreeSet<String>, ctx: &JobContext) -> Result<()> {
    ctx.check()?;
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let entry = entry.io_at("list", folder)?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        // Links are not followed, as they may form a loop.
        if entry.file_type().io_at("list", folder)?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names, ctx)?
        } else {
            _ = names.insert(name)
        }
    }
    Ok(())
}
