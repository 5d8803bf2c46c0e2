//! Commands on the tray of unplaced files: add, remove, place one file or all files that match a
//! pattern.

use std::path::{Path, PathBuf};

use super::{Finish, Outcome, Studio};
use crate::draft::{
    Edit, Example, PatternReport, Slot, Unplaced, find_pattern, place_by_pattern, place_file,
};
use crate::error::{Error, IoContext, Result};
use crate::folder_archive::{FolderArchive, is_store};
use crate::jobs::JobContext;
use crate::ops::{check_folder_depth, is_data};

/// The edit that removes files from a tray.
fn find_removal(tray: &[Unplaced], files: &[PathBuf]) -> Result<Edit> {
    Edit::remove_paths_from_tray(tray, files)
        .ok_or_else(|| Error::usage("none of these files is in the tray"))
}

impl Studio {
    pub(super) fn add_to_tray(&mut self, paths: Vec<PathBuf>) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        let draft = self.need_draft()?;
        let (mut content, revision) = (draft.content().clone(), draft.revision());
        let document = self.document_id();
        Ok(self.start(tr!("Look for files"), move |ctx| {
            ctx.stage(tr!("Looking at the files"), None);
            let mut files = Vec::new();
            for path in &paths {
                collect(path, 0, &mut files, &mut Err, ctx)?;
            }
            let edit = append_to_tray(&content.tray, files.clone());
            // Here, as a long tray takes a while; again below for a draft that was changed
            // meanwhile.
            let applied = match &edit {
                Ok(edit) => Some(edit.clone().apply_to(&mut content)?),
                Err(_) => None,
            };
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                let draft = studio.need_draft()?;
                if draft.revision() != revision {
                    let edit = append_to_tray(draft.tray(), files)?;
                    return studio.apply_edit(edit);
                }
                let edit = edit?;
                match applied {
                    Some(inverse) => studio.install_edit(revision, edit, content, inverse),
                    None => studio.apply_edit(edit),
                }
            }) as Finish)
        }))
    }

    pub(super) fn remove_from_tray(&mut self, files: Vec<PathBuf>) -> Result<Outcome> {
        let edit = find_removal(self.need_draft()?.tray(), &files)?;
        self.edit_long_tray(edit, move |tray| find_removal(tray, &files))
    }

    pub(super) fn place_unplaced(&mut self, file: &Path, slot: &Slot) -> Result<Outcome> {
        let document = self.draft_document()?;
        let tray = document.draft.tray();
        let at = tray.iter().position(|unplaced| unplaced.path == file);
        let at = at.ok_or_else(|| Error::usage("this file is not in the tray").at_path(file))?;
        let place = place_file(
            document.draft.dataset(),
            document.structure().pattern(),
            &tray[at],
            slot,
        )?;
        let label = tr!(
            "Place {name}",
            name = file.file_name().unwrap_or_default().to_string_lossy()
        );
        self.edit(Edit::Batch {
            label,
            edits: vec![
                place,
                Edit::RemoveFromTray {
                    places: vec![at as u32],
                },
            ],
        })
    }

    pub(super) fn place_by_pattern(
        &mut self,
        examples: Vec<Example>,
        alternative: Option<usize>,
    ) -> Result<Outcome> {
        self.edit_later(tr!("Place files by pattern"), move |content, ctx| {
            let report = find_pattern(content, &examples, ctx)?;
            let chosen = match (alternative, report.alternatives.as_slice()) {
                (None, [only]) => only,
                (None, [_, _, ..]) => return Err(ambiguous_pattern_error(&report)),
                (Some(chosen), alternatives) if chosen < alternatives.len() => {
                    &alternatives[chosen]
                }
                (Some(chosen), [_, ..]) => {
                    return Err(Error::usage(format!("there is no alternative {chosen}")));
                }
                (_, []) => {
                    return Err(Error::usage(
                        report
                            .trouble
                            .unwrap_or_else(|| "no pattern was found".into()),
                    ));
                }
            };
            place_by_pattern(content, chosen)
        })
    }
}

fn append_to_tray(tray: &[Unplaced], files: Vec<Unplaced>) -> Result<Edit> {
    Edit::append_to_tray(tray, files)
        .ok_or_else(|| Error::usage("there is no file that is not in the tray already"))
}

fn ambiguous_pattern_error(report: &PatternReport) -> Error {
    let ways = report.alternatives.iter().map(|way| {
        format!(
            "{}: {} files, {} roots",
            way.label,
            way.placed.len(),
            way.roots
        )
    });
    let error = Error::usage(format!(
        "the names can be read in {} ways",
        report.alternatives.len()
    ));
    ways.fold(error, Error::hint)
}

/// Collects a file, or all files below a folder in name order, without hidden files and sidecars.
/// `on_error` decides whether what can't be read in a folder ends the listing or is left out.
///
/// # Errors
/// Cancellation, those of `on_error`, and that of `path` itself.
pub(super) fn collect(
    path: &Path,
    depth: usize,
    files: &mut Vec<Unplaced>,
    on_error: &mut dyn FnMut(Error) -> Result<()>,
    ctx: &JobContext,
) -> Result<()> {
    ctx.check()?;
    let meta = std::fs::metadata(path).io_at("read", path)?;
    if meta.is_file() {
        ctx.step(1);
        files.push(Unplaced::file(path, meta.len()));
        return Ok(());
    }
    if is_store(path) {
        ctx.step(1);
        let stamp = FolderArchive::list(path)?.stamp();
        files.push(Unplaced {
            path: path.to_owned(),
            size: stamp.size,
            folder: Some(stamp.into()),
        });
        return Ok(());
    }
    check_folder_depth(path, depth)?;
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).io_at("read the folder", path)? {
        entries.push(entry.io_at("read the folder", path)?);
    }
    entries.sort_by_cached_key(std::fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_name().to_str() {
            Some(name) if is_data(name) => {
                match collect(&entry.path(), depth + 1, files, on_error, ctx) {
                    Err(error) if !error.is_cancelled() => on_error(error)?,
                    outcome => outcome?,
                }
            }
            Some(_) => {}
            None => ctx.warn(format!(
                "{}: its name is not Unicode",
                entry.path().display()
            )),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Jobs;
    use crate::studio::Command;

    #[test]
    fn files_are_added_to_a_draft_that_was_changed_meanwhile() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.tif");
        std::fs::write(&file, b"1").expect("is written");
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio
            .run_to_end(Command::New, &mut |_| {})
            .expect("a draft");
        let add = || Command::AddToTray {
            paths: vec![file.clone()],
        };
        let Outcome::Started(job) = studio.run(add()).expect("starts") else {
            panic!("it is a job");
        };
        let title = Edit::SetCollection {
            key: "title".into(),
            value: Some("Title".into()),
        };
        drop(studio.apply_edit(title).expect("applies"));
        drop(studio.wait(job, &mut |_| {}).expect("adds"));
        let content = studio.need_draft().expect("a draft").content();
        assert_eq!(content.dataset.collection.text("title"), "Title");
        assert_eq!(content.tray[..], [Unplaced::file(&file, 1)]);
        assert!(studio.run_to_end(add(), &mut |_| {}).is_err(), "twice");
    }
}
