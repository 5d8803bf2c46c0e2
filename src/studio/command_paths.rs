//! Relative paths in the commands of a script are resolved against the script's folder, not the
//! working directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Command;
use crate::draft::Edit;
use crate::model::{AssetPath, Payload, Sample, is_remote};
use crate::ops::LayoutChoice;
use crate::remote::admit;

impl Command {
    /// The files and folders that it writes, as far as it names them.
    pub fn targets(&self) -> Vec<PathBuf> {
        // Exhaustive, so that a new command does not compile before its targets are listed.
        match self {
            Self::SaveAsset { target, .. } | Self::SaveRows { target, .. } => vec![target.clone()],
            Self::SplitOff { path, .. } | Self::BurnInSidecars { copies: path } => {
                vec![path.clone()]
            }
            Self::SaveProject { path, .. } => path.iter().cloned().collect(),
            Self::Write { options } => vec![options.target.clone()],
            Self::WriteTortilla { options } => vec![options.target.clone()],
            Self::PlanDraft { request } => {
                vec![request.folder.clone(), request.options.target.clone()]
            }
            Self::Operate(operation) => operation.targets(),
            Self::Open { .. }
            | Self::ImportCollection { .. }
            | Self::OpenProject { .. }
            | Self::Restore { .. }
            | Self::Watch { .. }
            | Self::Unwatch { .. }
            | Self::PlaceUnplaced { .. }
            | Self::Forget { .. }
            | Self::Query { .. }
            | Self::OpenWith { .. }
            | Self::Import { .. }
            | Self::ImportLayout { .. }
            | Self::ImportDataset { .. }
            | Self::AddToTray { .. }
            | Self::RemoveFromTray { .. }
            | Self::Verify { .. }
            | Self::FindPattern { .. }
            | Self::PlaceByPattern { .. }
            | Self::Edit { .. }
            | Self::Extend { .. }
            | Self::SetRecipe { .. }
            | Self::ReadChunk { .. }
            | Self::New
            | Self::Connect { .. }
            | Self::Close
            | Self::Fork
            | Self::FindFixes { .. }
            | Self::ApplyFix { .. }
            | Self::RunRecipe
            | Self::FixSafe
            | Self::PackSidecars
            | Self::ChoosePattern { .. }
            | Self::Undo
            | Self::Redo
            | Self::LoadLevel { .. }
            | Self::Validate { .. }
            | Self::CheckConsistency { .. }
            | Self::SetConsistency { .. }
            | Self::Filter { .. }
            | Self::Leakage { .. }
            | Self::Pause { .. }
            | Self::Cancel { .. } => Vec::new(),
        }
    }

    /// Joins every relative path in the command to `base`. Addresses of other machines stay as they
    /// are.
    pub(super) fn resolve(&mut self, base: &Path) {
        let base = &ScriptFolder(base);
        // Exhaustive, so that a new command does not compile before its paths are listed.
        match self {
            Self::Open { path }
            | Self::ImportCollection { path }
            | Self::OpenProject { path }
            | Self::Restore { path }
            | Self::SplitOff { path, .. }
            | Self::BurnInSidecars { copies: path }
            | Self::Watch { folder: path }
            | Self::Unwatch { folder: path }
            | Self::PlaceUnplaced { file: path, .. }
            | Self::SaveAsset { target: path, .. }
            | Self::SaveRows { target: path, .. } => base.join(path),
            // A bare name is a journal in the autosave folder.
            Self::Forget { path } => {
                if path.components().count() > 1 {
                    base.join(path);
                }
            }
            Self::SaveProject { path, .. } | Self::Query { path, .. } => base.join_all(path),
            Self::OpenWith { path, options } => {
                base.join(path);
                base.join_all(options.paths_mut());
            }
            Self::ImportDataset { request } => base.join(&mut request.path),
            Self::ImportLayout { request } => {
                base.join(&mut request.source);
                if let LayoutChoice::Saved(file) = &mut request.choice {
                    base.join(file);
                }
            }
            Self::Import {
                paths, metadata, ..
            } => base.join_all(paths.iter_mut().chain(metadata)),
            Self::AddToTray { paths }
            | Self::RemoveFromTray { files: paths }
            | Self::Verify { paths, .. } => base.join_all(paths),
            Self::FindPattern { examples } | Self::PlaceByPattern { examples, .. } => {
                base.join_all(examples.iter_mut().map(|example| &mut example.file));
            }
            Self::Edit { edit } => base.edit(edit),
            Self::Extend { calls, .. } | Self::SetRecipe { recipe: calls } => calls
                .iter_mut()
                .for_each(|call| call.visit_paths(&mut |path| base.join(path))),
            Self::Write { options } => base.join(&mut options.target),
            Self::WriteTortilla { options } => base.join(&mut options.target),
            Self::Operate(operation) => operation.visit_paths(&mut |_, path| base.join(path)),
            Self::PlanDraft { request } => {
                base.join_all([&mut request.folder, &mut request.options.target])
            }
            Self::ReadChunk { request } => base.join(&mut request.input),
            Self::New
            | Self::Connect { .. }
            | Self::Close
            | Self::Fork
            | Self::FindFixes { .. }
            | Self::ApplyFix { .. }
            | Self::RunRecipe
            | Self::FixSafe
            | Self::PackSidecars
            | Self::ChoosePattern { .. }
            | Self::Undo
            | Self::Redo
            | Self::LoadLevel { .. }
            | Self::Validate { .. }
            | Self::CheckConsistency { .. }
            | Self::SetConsistency { .. }
            | Self::Filter { .. }
            | Self::Leakage { .. }
            | Self::Pause { .. }
            | Self::Cancel { .. } => {}
        }
    }
}

/// The folder against which relative paths are resolved.
struct ScriptFolder<'a>(&'a Path);

impl ScriptFolder<'_> {
    fn join(&self, path: &mut PathBuf) {
        *path = match is_remote(path) {
            // `admit` removes the signature of a signed link and keeps it for requests.
            true => PathBuf::from(admit(&path.to_string_lossy())),
            false => self.0.join(&*path),
        };
    }

    fn join_all<'p>(&self, paths: impl IntoIterator<Item = &'p mut PathBuf>) {
        paths.into_iter().for_each(|path| self.join(path));
    }

    fn asset(&self, asset: &mut AssetPath) {
        match asset {
            AssetPath::File(path)
            | AssetPath::Range {
                container: path, ..
            } => {
                let mut whole = path.to_path_buf();
                self.join(&mut whole);
                *path = whole.into();
            }
            AssetPath::Packed(member) => {
                let mut whole = member.archive.to_path_buf();
                self.join(&mut whole);
                Arc::make_mut(member).archive = whole.into();
            }
            AssetPath::Vsi(_) => {}
        }
    }

    fn payload(&self, payload: &mut Payload) {
        match payload {
            Payload::Asset { path, .. } => self.asset(path),
            Payload::Folder(tortilla) => Arc::make_mut(tortilla)
                .samples
                .iter_mut()
                .for_each(|sample| self.sample(sample)),
            Payload::Bytes(_) => {}
        }
    }

    fn sample(&self, sample: &mut Sample) {
        self.payload(&mut sample.payload);
    }

    fn edit(&self, edit: &mut Edit) {
        match edit {
            Edit::Relocate { from, to } => self.join_all([from, to]),
            Edit::Insert { samples, .. } => {
                samples.iter_mut().for_each(|sample| self.sample(sample))
            }
            Edit::SetPayload { payload, .. } => self.payload(payload),
            Edit::AddToTray { files } => {
                self.join_all(files.iter_mut().map(|placed| &mut placed.file.path))
            }
            _ => {}
        }
    }
}
