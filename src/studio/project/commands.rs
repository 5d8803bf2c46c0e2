//! Projects as commands: save, open, restore, split off.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value as Json;

use super::autosave::{Autosave, DraftChange, DraftOrigin};
use super::file::{Project, open_project, save_project, save_project_if};
use super::file_mark::{FileMark, ProjectFile};
use super::journal_files::{delete_journal, lock_existing, own_journal};
use super::journal_reader::restore;
use super::source_paths::real_path;
use crate::container::is_same_file;
use crate::draft::{Content, Draft, Structure, split_off};
use crate::error::{Error, Kind, Result};
use crate::extensions::ExtensionCall;
use crate::model::{Dataset, Payload, Tortilla};
use crate::studio::document::{Document, DraftDocument};
use crate::studio::{Event, Finish, LogLevel, Outcome, Server, Studio};

impl Studio {
    /// Sets the autosave folder for all drafts; `None` disables autosave.
    pub fn set_autosave(&mut self, folder: Option<PathBuf>) {
        self.autosave_folder = folder;
    }

    /// Sets how long a change waits for the previous one to be on disk; default 5 s. After that,
    /// writing continues in the background.
    pub fn set_autosave_patience(&mut self, patience: Duration) {
        self.autosave_patience = Some(patience);
    }

    /// The journal of the open draft; `None` before the first change.
    pub fn journal(&self) -> Option<PathBuf> {
        match &self.document {
            Some(Document::Draft(document)) => document.autosave.as_ref()?.path(),
            _ => None,
        }
    }

    /// Takes the most recent autosave failure.
    pub fn autosave_trouble(&self) -> Option<String> {
        match &self.document {
            Some(Document::Draft(document)) => document.autosave.as_ref()?.take_trouble(),
            _ => None,
        }
    }

    /// Time after which [`Self::autosave_trouble`] reports that writing is slow, if a change is
    /// still pending then.
    pub(crate) fn find_time_to_slow_autosave(&self) -> Option<Duration> {
        match &self.document {
            Some(Document::Draft(document)) => document.autosave.as_ref()?.find_time_to_slow(),
            _ => None,
        }
    }

    /// Takes why the draft that was restored last is not whole.
    pub fn take_restore_trouble(&mut self) -> Option<String> {
        self.restore_trouble.take()
    }

    pub(in crate::studio) fn new_autosave(&self) -> Option<Autosave> {
        let folder = self.autosave_folder.clone()?;
        let autosave = Autosave::new(folder, self.jobs.clone());
        Some(match self.autosave_patience {
            Some(patience) => autosave.with_patience(patience),
            None => autosave,
        })
    }

    pub(in crate::studio) fn save_project(
        &mut self,
        path: Option<PathBuf>,
        view: Option<Json>,
        overwrite: Option<bool>,
    ) -> Result<Outcome> {
        let Some(Document::Draft(document)) = &mut self.document else {
            return Err(no_draft());
        };
        if let Some(view) = view {
            document.view = view;
        }
        let path = path.or_else(|| document.project().map(Path::to_owned));
        let path =
            path.ok_or_else(|| Error::usage("the draft has no file yet").hint("give it a name"))?;
        let path = std::path::absolute(&path).unwrap_or(path);
        let (project, revision) = (document.as_project(), document.draft.revision());
        let (known, written) = (document.file.clone(), document.written.clone());
        let document_id = self.document_id();
        Ok(
            self.start(tr!("Save {path}", path = path.display()), move |ctx| {
                // `real_path`: a symbolic link is kept and its target replaced.
                let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                let known = written.clone().or(known);
                let mark = save_project_if(
                    &real_path(&path),
                    &project,
                    &|| may_replace(&path, known.as_ref(), overwrite),
                    ctx,
                )?;
                let file = ProjectFile {
                    mark,
                    path: path.clone(),
                };
                *written = Some(file.clone());
                drop(written);
                Ok(Box::new(move |studio: &mut Studio| {
                    let same = studio.document_id() == document_id;
                    if let Some(Document::Draft(document)) = &mut studio.document
                        && same
                    {
                        document.file = Some(file.clone());
                        // Changes made during saving are not in the file, so the journal is kept.
                        if document.draft.revision() == revision {
                            document.draft.mark_saved();
                            document.origin = DraftOrigin::Project(file);
                            document.autosave.iter_mut().for_each(Autosave::forget);
                        }
                    }
                    Ok(Event::ProjectSaved(path))
                }) as Finish)
            }),
        )
    }

    /// With `on`, a project with files on servers without the user's consent is not opened but
    /// gives [`Event::ProjectAsks`].
    pub fn set_asks_for_servers(&mut self, on: bool) {
        self.asks_for_servers = on;
    }

    pub(in crate::studio) fn open_project(&mut self, path: PathBuf) -> Result<Outcome> {
        let path = std::path::absolute(&path).unwrap_or(path);
        let state = self.document_state();
        Ok(
            self.start(tr!("Open {path}", path = path.display()), move |ctx| {
                let file = ProjectFile {
                    mark: FileMark::from_path(&path),
                    path,
                };
                let project = open_project(&file.path, ctx)?;
                let servers = servers_of(&project.content.dataset);
                let mut document =
                    DraftDocument::with_derived_data(Draft::with_content(project.content));
                document.recipe = project.recipe;
                document.view = project.view;
                Ok(Box::new(move |studio: &mut Studio| {
                    studio.may_leave(state)?;
                    let unknown = servers
                        .iter()
                        .any(|server| !crate::consent::allows_server(&server.host));
                    if studio.asks_for_servers && unknown {
                        return Ok(Event::ProjectAsks {
                            path: file.path,
                            servers,
                        });
                    }
                    document.servers = servers;
                    document.origin = DraftOrigin::Project(file.clone());
                    document.file = Some(file);
                    studio.show(Document::Draft(Box::new(document)));
                    Ok(Event::DocumentChanged)
                }) as Finish)
            }),
        )
    }

    pub(in crate::studio) fn restore(&mut self, path: PathBuf) -> Result<Outcome> {
        let state = self.document_state();
        let folder = self.autosave_folder.clone();
        Ok(self.start(tr!("Restore a draft"), move |ctx| {
            // A journal outside of the autosave folder belongs to the user and is kept.
            let own = own_journal(folder.as_deref(), &path).ok();
            // Another window that has the draft open, or restores it, keeps its journal.
            let lock = own.as_deref().map(lock_existing).transpose()?.flatten();
            let restored = restore(&path, ctx)?;
            let mut document = DraftDocument::with_derived_data(restored.draft);
            document.recipe = restored.recipe;
            document.view = restored.view;
            document.file = restored.project;
            Ok(Box::new(move |studio: &mut Studio| {
                studio.may_leave(state)?;
                let whole = restored.trouble.is_none();
                if let Some(trouble) = restored.trouble {
                    studio.log(
                        LogLevel::Error,
                        format!(
                            "some edits could not be restored, so the journal stays: {trouble}"
                        ),
                    );
                    studio.restore_trouble = Some(trouble);
                }
                studio.show(Document::Draft(Box::new(document)));
                // The new journal is written before the old one is deleted.
                if let Some(Document::Draft(document)) = &mut studio.document
                    && document.autosave.is_some()
                {
                    let (recipe, before) = (document.recipe.clone(), document.as_project());
                    document.note(DraftChange::Recipe(recipe), Some(before));
                    if whole && let (Some(journal), Some(autosave)) = (own, &document.autosave) {
                        autosave.supersede(journal, lock);
                    }
                }
                Ok(Event::DocumentChanged)
            }) as Finish)
        }))
    }

    pub(in crate::studio) fn forget(&mut self, path: PathBuf) -> Result<Outcome> {
        let folder = self.autosave_folder.clone();
        let label = tr!("Delete the autosaved draft");
        self.start_with_event(label, Event::DraftForgotten, move |_| {
            let journal = own_journal(folder.as_deref(), &path)?;
            let _lock = lock_existing(&journal)?;
            delete_journal(&journal);
            Ok(journal)
        })
    }

    pub(in crate::studio) fn set_recipe(&mut self, recipe: Vec<ExtensionCall>) -> Result<Outcome> {
        let Some(Document::Draft(document)) = &mut self.document else {
            return Err(no_draft());
        };
        let before = document.as_project();
        document.recipe = recipe.clone();
        document.note(DraftChange::Recipe(recipe), Some(before));
        Ok(Outcome::Done(Event::None))
    }

    pub(in crate::studio) fn run_recipe(&mut self) -> Result<Outcome> {
        let calls = self.draft_document()?.recipe.clone();
        if calls.is_empty() {
            return Err(Error::usage("the project keeps no extensions to run"));
        }
        self.extend(calls, true)
    }

    pub(in crate::studio) fn split_off(&mut self, root: usize, path: PathBuf) -> Result<Outcome> {
        let choice = self.draft_document()?.structure().choice().clone();
        self.edit_later(tr!("Split off roots"), move |content, ctx| {
            let mut structure = Structure::from_dataset(&content.dataset);
            structure.choose(choice);
            let found = split_off(&content.dataset, &structure, root);
            let (edit, samples) = found.ok_or_else(|| {
                Error::usage("all roots have this shape; there is nothing to split off")
            })?;
            let collection = content.dataset.collection.clone();
            let odd = Tortilla {
                schema: content.dataset.root.schema.clone(),
                samples,
            };
            let content = Content {
                dataset: Dataset {
                    collection,
                    root: odd.into(),
                },
                ..Content::default()
            };
            if path.exists() {
                return Err(Error::usage("there is a file of this name already")
                    .at_path(&path)
                    .hint("choose another name"));
            }
            save_project(
                &path,
                &Project {
                    content,
                    ..Project::default()
                },
                ctx,
            )?;
            Ok(edit)
        })
    }
}

/// Servers with files of a dataset, by descending number of files.
fn servers_of(dataset: &Dataset) -> Vec<Server> {
    fn count(tortilla: &Tortilla, found: &mut HashMap<String, u64>) {
        let mut last: Option<(&str, String)> = None;
        for sample in &tortilla.samples {
            match &sample.payload {
                Payload::Folder(children) => count(children, found),
                Payload::Asset { path, .. } => {
                    let Some(address) = path.remote_file().and_then(Path::to_str) else {
                        continue;
                    };
                    // Neighbours usually share a server, so the prefix is compared first.
                    let end = address
                        .match_indices('/')
                        .nth(2)
                        .map_or(address.len(), |(at, _)| at);
                    let start = &address[..end];
                    let host = match &last {
                        Some((known, host)) if *known == start => host.clone(),
                        _ => crate::consent::server_of(address),
                    };
                    *found.entry(host.clone()).or_default() += 1;
                    last = Some((start, host));
                }
                Payload::Bytes(_) => {}
            }
        }
    }
    let mut found = HashMap::new();
    count(&dataset.root, &mut found);
    let mut servers: Vec<Server> = found
        .into_iter()
        .map(|(host, files)| Server { host, files })
        .collect();
    servers.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.host.cmp(&b.host)));
    servers
}

/// Fails with [`Kind::Changed`] when saving would overwrite another program's changes.
fn may_replace(path: &Path, known: Option<&ProjectFile>, overwrite: Option<bool>) -> Result<()> {
    let own = known.filter(|file| file.path == path || is_same_file(&file.path, path));
    let now = FileMark::from_path(path);
    let may = match (overwrite, own) {
        (Some(true), _) => true,
        (_, Some(file)) => now.is_none() || now == file.mark,
        (Some(false), None) => now.is_none(),
        (None, None) => true,
    };
    if may {
        return Ok(());
    }
    let what = match own {
        Some(_) => "the project was changed by another program since it was opened or saved here",
        None => "there is a file of this name already",
    };
    Err(Error::new(Kind::Changed, what)
        .at_path(path)
        .hint("save it under another name, or replace the file (overwrite)"))
}

fn no_draft() -> Error {
    Error::usage("no draft is open").hint("begin a new dataset, or edit a copy of the opened one")
}
