//! Renames complete outputs to their names: at once where the system can, else one after the other
//! by a record that can be taken back.

use std::ffi::OsString;
use std::path::Path;

use super::scratch::{DatasetLock, Scratch, lock_dataset};
use super::swap::{NEW, OLD, OutputPaths, SwapJournal, exchange, is_there, rename, sync_folder};
use crate::error::{Error, IoContext, Result};

/// Renames the outputs in `scratch` to their names in `parent`, and deletes the existing `gone`. On
/// error everything is rolled back. `check(new, target)` decides whether an existing target may be
/// replaced.
pub(super) fn place(
    scratch: &mut Scratch,
    parent: &Path,
    (names, gone): (&[OsString], &[OsString]),
    check: &dyn Fn(&Path, &Path) -> Result<()>,
) -> Result<()> {
    names
        .iter()
        .for_each(|name| tracing::info!("writes {}", parent.join(name).display()));
    gone.iter()
        .for_each(|name| tracing::info!("deletes {}", parent.join(name).display()));
    // An edit of a FOLDER that is replaced would put its files into the new one.
    let ctx = crate::jobs::current()
        .map(|job| job.context)
        .unwrap_or_default();
    let folders = names
        .iter()
        .map(|name| parent.join(name))
        .filter(|target| target.is_dir());
    let _locks: Vec<DatasetLock> = folders
        .map(|folder| lock_dataset(&folder, &ctx))
        .collect::<Result<_>>()?;
    if let ([name], []) = (names, gone)
        && place_at_once(
            scratch,
            &OutputPaths::for_output(name, scratch.path(), parent),
            check,
        )?
    {
        return scratch.sync_and_keep_folders();
    }
    let record = SwapJournal::from_names(names, gone, scratch.path());
    if let Some(missing) = names
        .iter()
        .find(|name| !is_there(&scratch.path().join(NEW).join(name)))
    {
        return Err(
            Error::internal("a reserved output was not written").at_path(&parent.join(missing))
        );
    }
    record.write(scratch.path())?;
    scratch.put_aside()?;
    let outcome = record
        .place_each(scratch.path(), parent, check)
        .and_then(|()| sync_folder(parent));
    if let Err(error) = outcome {
        let Err(trouble) = record.take_back(scratch.path(), parent) else {
            scratch.release();
            return Err(error);
        };
        return Err(describe_failed_rollback(
            &record, scratch, parent, error, &trouble,
        ));
    }
    scratch.release();
    scratch.sync_and_keep_folders()
}

/// Adds to `error` what is left of renames that could not all be taken back, and what to do.
/// Nothing is left when all were, and only their sync failed.
fn describe_failed_rollback(
    record: &SwapJournal,
    scratch: &mut Scratch,
    parent: &Path,
    error: Error,
    trouble: &Error,
) -> Error {
    let folder = scratch.path().to_owned();
    if record.has_old_copy(&folder, parent) {
        let error = error.hint(format!(
            "the previous version is in {}: {trouble}",
            folder.join(OLD).display()
        ));
        return error.hint(if record.is_done(&folder, parent) {
            "all new outputs have their names: copy the previous version before the next write, \
                which removes it"
        } else {
            "write the output again: the previous version is restored first"
        });
    }
    if record.has_placed(&folder, parent) {
        return error
            .hint(format!(
                "new outputs that have their names already could not be removed: {trouble}"
            ))
            .hint("write the output again: they are removed first");
    }
    scratch.release();
    error
}

/// Replaces a single output atomically. Returns false, without changes, where the system does not
/// support it.
fn place_at_once(
    scratch: &mut Scratch,
    places: &OutputPaths,
    check: &dyn Fn(&Path, &Path) -> Result<()>,
) -> Result<bool> {
    let OutputPaths { target, new, .. } = places;
    let parent = target.parent().unwrap_or(Path::new("."));
    let replaced = is_there(target);
    if replaced {
        check(new, target)?;
        if !exchange(new, target).io_at("rename the output", target)? {
            return Ok(false);
        }
    } else {
        rename(new, target).io_at("rename the output", target)?;
    }
    let Err(error) = sync_folder(parent) else {
        return Ok(true);
    };
    Err(if replaced {
        match exchange(new, target) {
            Ok(_) => error,
            Err(trouble) => {
                scratch.keep();
                error.hint(format!(
                    "the previous version is {}: {trouble}",
                    new.display()
                ))
            }
        }
    } else {
        match rename(target, new) {
            Ok(()) => error,
            Err(trouble) => error.hint(format!(
                "{} is the new output, which could not be removed: {trouble}",
                target.display()
            )),
        }
    })
}
