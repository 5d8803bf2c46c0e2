//! Samples of the files of an archive or of a server.

use std::path::Path;

use super::archive::refuse_partial_files;
use super::found_file::FoundFile;
use super::import::Imported;
use super::source_files::find_files;
use crate::error::{Cause, Error, Result};
use crate::jobs::JobContext;
use crate::model::{MAX_LEVELS, Sample, Tortilla};

/// The samples of an archive or a folder of a server: folders become FOLDERs, files FILEs.
///
/// # Errors
/// Those of [`find_files`] and [`refuse_partial_files`]; folders that are nested too deep.
pub(super) fn import_files(
    path: &Path,
    exclude: &[String],
    ctx: &JobContext,
) -> Result<(Vec<Sample>, Imported)> {
    let (files, left_out) = find_files(path, exclude, ctx)?;
    refuse_partial_files(&files, &|_| true, path, ctx)?;
    let mut report = Imported {
        skipped: left_out,
        ..Imported::default()
    };
    let samples = samples_of_files(&files, 0, path, &mut report)?;
    Ok((samples, report))
}

/// The samples of sorted files whose paths are equal up to byte `start`.
fn samples_of_files(
    files: &[FoundFile],
    start: usize,
    archive: &Path,
    report: &mut Imported,
) -> Result<Vec<Sample>> {
    let name = |file: &FoundFile| file.below[start..].split('/').next().map_or(0, str::len);
    let mut samples = Vec::new();
    for same in
        files.chunk_by(|a, b| a.below[start..start + name(a)] == b.below[start..start + name(b)])
    {
        let Some(first) = same.first() else { continue };
        let (id, end) = (
            &first.below[start..start + name(first)],
            start + name(first),
        );
        if first.below.len() == end {
            report.files += 1;
            report.bytes += first.size;
            samples.push(first.sample(id));
            continue;
        }
        if first.below[..end].matches('/').count() + 1 >= MAX_LEVELS {
            return Err(Error::usage(format!(
                "folders are nested more than {MAX_LEVELS} deep; a dataset has at most \
                    {MAX_LEVELS} levels"
            ))
            .at_path(archive)
            .caused_by(Cause::StructuresDiffer));
        }
        report.folders += 1;
        samples.push(Sample::new_folder(
            id,
            Tortilla::new(samples_of_files(same, end + 1, archive, report)?),
        ));
    }
    Ok(samples)
}
