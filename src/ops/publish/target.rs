//! The target of a publication, before anything is sent: what it has, and which version was published there. Changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::container;
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{is_remote, place_below};
use crate::remote::{expect_writable, objects_below};

/// What a target has.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetState {
    /// Names of the objects or files below it, with `/`.
    pub names: BTreeSet<String>,
    /// The dataset that was published there.
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

/// Looks at the target. A dataset was published there when the file exists that is sent last; it is opened by the name `opened_as`.
///
/// # Errors
/// When the address can't be written, the store refuses to list it or can't be reached, or the folder can't be read.
pub(super) fn look_at(target: &Path, last: &str, opened_as: &str, ctx: &JobContext) -> Result<TargetState> {
    expect_writable(target)?;
    let mut names = BTreeSet::new();
    match is_remote(target) {
        true => names.extend(objects_below(target)?),
        false if target.is_dir() => list(target, "", &mut names, ctx)?,
        false if target.symlink_metadata().is_ok() => {
            return Err(crate::error::Error::usage("the target is a file; a publication needs a folder").at_path(target));
        }
        false => {}
    }
    let published = names.contains(last).then(|| match container::open(&place_below(target, opened_as), ctx) {
        Ok(reader) => PublishedVersion {
            id: reader.collection().id().to_owned(),
            version: reader.collection().text("dataset_version").to_owned(),
        },
        // Whatever has its name is not replaced unasked.
        Err(_) => PublishedVersion::default(),
    });
    ctx.check()?;
    Ok(TargetState { names, published })
}

/// Adds the names of the files below a folder.
fn list(folder: &Path, above: &str, names: &mut BTreeSet<String>, ctx: &JobContext) -> Result<()> {
    ctx.check()?;
    for entry in std::fs::read_dir(folder).io_at("list", folder)? {
        let entry = entry.io_at("list", folder)?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        // Links are not followed: a loop would have no end.
        match entry.file_type().io_at("list", folder)?.is_dir() {
            true => list(&entry.path(), &format!("{name}/"), names, ctx)?,
            false => _ = names.insert(name),
        }
    }
    Ok(())
}
