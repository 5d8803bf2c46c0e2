//! What the window does with paths, once they have been looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{NodePath, is_remote};
use crate::ops::{DatasetImport, FoundLayout, layout_to_show};
use crate::studio::Command;

pub(super) enum PathAction {
    /// Run this command.
    Run(Command),
    /// Offer to restore this path: it does not exist, but an interrupted write left its old
    /// contents aside.
    RestoreAside(PathBuf),
    /// Offer to open these datasets as one, or to run the command instead.
    Several(Vec<PathBuf>, Option<Command>),
    /// Offer to repair this archive, which another program wrote again.
    Repair(PathBuf),
    /// Ask what this dataset becomes in the draft; the command adds it as a file, where it is one.
    Dataset(DatasetImport, Option<Command>),
    /// Ask what this archive becomes in the draft; the command adds it as a file, where it is one.
    Archive(DatasetImport, Option<Command>),
    /// Ask what is taken of this STAC catalogue; the command adds its file, where it is one.
    Catalogue(DatasetImport, Option<Command>),
    /// Show what the files of this folder become by their names, or run the command instead.
    Layout(PathBuf, Arc<FoundLayout>, Command),
}

impl PathAction {
    /// Adds what was dropped. On an empty draft a single folder may have a layout that has to be
    /// looked at first.
    pub(super) fn add(command: Command, empty: bool, ctx: &JobContext) -> Result<Self> {
        if let Command::Import {
            paths,
            into,
            metadata: None,
        } = &command
            && let [folder] = paths.as_slice()
            && empty
            && into.0.is_empty()
            && folder.is_dir()
            && let Some(found) = layout_to_show(folder, ctx)?
        {
            return Ok(Self::Layout(folder.clone(), Arc::new(found), command));
        }
        Ok(Self::Run(command))
    }

    /// Adds the files of an archive as those of a folder. To a draft with samples it may be added
    /// as a file, too.
    pub(super) fn of_archive(
        path: &Path,
        into: NodePath,
        empty: bool,
        ctx: &JobContext,
    ) -> Result<Self> {
        let as_file = (!is_remote(path)).then(|| Command::Import {
            paths: vec![path.to_owned()],
            into: into.clone(),
            metadata: None,
        });
        let request = DatasetImport {
            path: path.to_owned(),
            into,
            ..DatasetImport::default()
        };
        if !empty {
            return Ok(Self::Archive(request, as_file));
        }
        let import = Command::ImportDataset { request };
        Ok(match layout_to_show(path, ctx)? {
            Some(found) => Self::Layout(path.to_owned(), Arc::new(found), import),
            None => Self::Run(import),
        })
    }
}
