//! Relative paths in the commands of a script are resolved against the script's folder, not the working directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::Command;
use crate::container::OpenOptions;
use crate::draft::Edit;
use crate::extensions::{self, ExtensionCall, OptionKind};
use crate::model::{AssetPath, Payload, Sample, is_remote};
use crate::ops::LayoutChoice;
use crate::remote::admit;

impl Command {
    /// The files and folders that it writes, as far as it names them.
    pub fn targets(&self) -> Vec<&Path> {
        // Exhaustive, so that a new command does not compile before its targets are listed.
        match self {
            Self::SaveAsset { target, .. } | Self::SaveRows { target, .. } => vec![target],
            Self::SplitOff { path, .. } | Self::BurnInSidecars { copies: path } => vec![path],
            Self::SaveProject { path, .. } => path.iter().map(PathBuf::as_path).collect(),
            Self::Write { options } | Self::Convert { options, .. } | Self::Repair { options, .. } => vec![&options.target],
            Self::WriteTortilla { options } => vec![&options.target],
            Self::Optimise { request } => vec![&request.output],
            Self::Histograms { request } => vec![&request.output],
            Self::PlanDraft { request } => vec![&request.folder, &request.options.target],
            Self::Consolidate { options } => vec![&options.target],
            Self::Compile { request } => vec![&request.options.target],
            Self::EditTortilla { request } => vec![request.output.as_ref().unwrap_or(&request.input)],
            Self::EditDataset { request } => vec![request.output.as_ref().unwrap_or(&request.input)],
            Self::Describe { request } => vec![&request.output],
            Self::Publish { request } => vec![&request.target],
            Self::Export { request } => vec![&request.options.target],
            Self::PrepareTaco3 { request } => {
                request.target.iter().chain(request.run.as_ref().map(|run| &run.output)).map(PathBuf::as_path).collect()
            }
            Self::Migrate { request } => request.options.iter().map(|options| options.target.as_path()).collect(),
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
            // The plan names the dataset.
            | Self::SubmitPlan { .. }
            | Self::RunPlanPart { .. }
            | Self::Percentiles { .. }
            | Self::ReadChunk { .. }
            | Self::New
            | Self::Connect { .. }
            | Self::RemoteCache { .. }
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

    /// Joins every relative path in the command to `base`. Addresses of other machines stay as they are.
    pub(super) fn resolve(&mut self, base: &Path) {
        let base = &Base(base);
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
                base.open(options);
            }
            Self::ImportDataset { request } => base.join(&mut request.path),
            Self::ImportLayout { request } => {
                base.join(&mut request.source);
                if let LayoutChoice::Saved(file) = &mut request.choice {
                    base.join(file);
                }
            }
            Self::Import { paths, metadata, .. } => base.join_all(paths.iter_mut().chain(metadata)),
            Self::AddToTray { paths } | Self::RemoveFromTray { files: paths } | Self::Verify { paths, .. } => base.join_all(paths),
            Self::FindPattern { examples } | Self::PlaceByPattern { examples, .. } => {
                base.join_all(examples.iter_mut().map(|example| &mut example.file));
            }
            Self::Edit { edit } => base.edit(edit),
            Self::Extend { calls, .. } | Self::SetRecipe { recipe: calls } => calls.iter_mut().for_each(|call| base.call(call)),
            Self::Write { options } => base.join(&mut options.target),
            Self::WriteTortilla { options } => base.join(&mut options.target),
            Self::Convert { input, open, options } | Self::Repair { input, open, options } => {
                base.join_all([input, &mut options.target]);
                base.open(open);
            }
            Self::Optimise { request } => {
                base.join_all([&mut request.input, &mut request.output]);
                base.open(&mut request.open);
            }
            Self::Histograms { request } => {
                base.join_all([&mut request.input, &mut request.output]);
                base.open(&mut request.open);
            }
            Self::PlanDraft { request } => base.join_all([&mut request.folder, &mut request.options.target]),
            Self::SubmitPlan { request } => base.join(&mut request.folder),
            Self::RunPlanPart { folder, .. } => base.join(folder),
            Self::Percentiles { request } => base.join(&mut request.input),
            Self::Consolidate { options } => base.join_all(options.inputs.iter_mut().chain([&mut options.target])),
            Self::Compile { request } => base.join_all([&mut request.input, &mut request.options.target]),
            Self::EditTortilla { request } => {
                base.join(&mut request.input);
                base.join_all(request.output.iter_mut().chain(&mut request.metadata));
            }
            Self::EditDataset { request } => {
                base.join(&mut request.input);
                base.join_all(request.output.iter_mut().chain(&mut request.metadata));
            }
            Self::Publish { request } => {
                base.join_all([&mut request.input, &mut request.target]);
                base.open(&mut request.open);
            }
            Self::Describe { request } => {
                base.join_all([&mut request.input, &mut request.output]);
                base.open(&mut request.open);
            }
            Self::Export { request } => {
                base.join_all([&mut request.input, &mut request.options.target]);
                base.open(&mut request.open);
            }
            Self::Migrate { request } => {
                base.join(&mut request.input);
                base.join_all(request.options.iter_mut().map(|options| &mut options.target));
            }
            Self::PrepareTaco3 { request } => {
                base.join(&mut request.input);
                base.join_all(request.target.iter_mut().chain(request.run.as_mut().map(|run| &mut run.output)));
            }
            Self::ReadChunk { request } => base.join(&mut request.input),
            Self::New
            | Self::Connect { .. }
            | Self::RemoteCache { .. }
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
struct Base<'a>(&'a Path);

impl Base<'_> {
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

    fn open(&self, options: &mut OpenOptions) {
        self.join_all(options.base_path.iter_mut().chain(&mut options.with));
    }

    fn asset(&self, asset: &mut AssetPath) {
        match asset {
            AssetPath::File(path) | AssetPath::Range { container: path, .. } => {
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
            Payload::Folder(tortilla) => Arc::make_mut(tortilla).samples.iter_mut().for_each(|sample| self.sample(sample)),
            Payload::Bytes(_) => {}
        }
    }

    fn sample(&self, sample: &mut Sample) {
        self.payload(&mut sample.payload);
    }

    fn edit(&self, edit: &mut Edit) {
        match edit {
            Edit::Relocate { from, to } => self.join_all([from, to]),
            Edit::Insert { samples, .. } => samples.iter_mut().for_each(|sample| self.sample(sample)),
            Edit::SetPayload { payload, .. } => self.payload(payload),
            Edit::AddToTray { files } => self.join_all(files.iter_mut().map(|placed| &mut placed.file.path)),
            _ => {}
        }
    }

    /// Resolves the options that the extension declares as paths.
    fn call(&self, call: &mut ExtensionCall) {
        let registry = extensions::builtin();
        // An unknown extension is reported when it runs.
        let Ok(entry) = registry.get(&call.extension) else { return };
        let Json::Object(given) = &mut call.options else { return };
        for spec in (entry.options)().iter().filter(|spec| spec.kind == OptionKind::Path) {
            if let Some(Json::String(text)) = given.get_mut(spec.name) {
                let mut path = PathBuf::from(&*text);
                self.join(&mut path);
                *text = path.to_string_lossy().into_owned();
            }
        }
    }
}
