//! Implementation of the commands: quick ones immediately, others as jobs on cheap clones whose
//! results are applied when polled.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::document::{Document, DraftDocument, OpenDataset};
use super::project::{DraftOrigin, is_project};
use super::{Command, Event, Finish, Opening, Outcome, SharedReader, Studio};
use crate::container::{
    self, BuildOptions, DatasetVersion, OnDamage, OpenOptions, TortillaOptions,
    read_collection_file,
};
use crate::draft::{Draft, Edit, Unplaced, join_tortillas};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Collection, Dataset, NodePath, RowRef, Tortilla, is_remote};
use crate::ops::{
    self, DatasetImport, LayoutRequest, Operation, QueryRequest, draft_of, import_paths,
    import_scenes, is_folder_of_folders, join_metadata,
};
use crate::query::{self, Query, Tables};
use crate::table::JoinRequest;

/// Makes the query tables, in a job.
type MakeTables = Box<dyn FnOnce(&JobContext) -> Result<Tables> + Send>;

impl Studio {
    pub(super) fn new_draft(&mut self) -> Result<Outcome> {
        let mut document = DraftDocument::new(Draft::new());
        document.origin = DraftOrigin::Empty;
        self.show(Document::Draft(Box::new(document)));
        Ok(Outcome::Done(Event::DocumentChanged))
    }

    pub(super) fn close(&mut self) -> Result<Outcome> {
        self.forget_kept();
        self.leave();
        self.watched.clear();
        self.forget_headers();
        Ok(Outcome::Done(Event::DocumentChanged))
    }

    pub(super) fn open(&mut self, path: PathBuf, options: OpenOptions) -> Result<Outcome> {
        if is_project(&path) {
            return self.open_project(path);
        }
        let state = self.document_state();
        let reader = SharedReader::default();
        let (shared, of) = (reader.clone(), path.clone());
        let label = match options.with.len() {
            0 => tr!("Open {path}", path = path.display()),
            more => tr!("Open {path} and {more} more", path = path.display(), more),
        };
        let outcome = self.start(label, move |ctx| {
            let open = open_dataset(&path, &options, &shared, ctx)?;
            let notes = open.reader.notes().to_vec();
            Ok(Box::new(move |studio: &mut Studio| {
                studio.may_leave(state)?;
                studio.show(Document::Opened(open));
                studio.check.set_notes(notes);
                Ok(Event::DocumentChanged)
            }) as Finish)
        });
        if let Outcome::Started(job) = &outcome {
            self.opening = Some(Opening {
                job: *job,
                path: of,
                reader,
            });
        }
        Ok(outcome)
    }

    pub(super) fn fork(&mut self) -> Result<Outcome> {
        let (reader, document) = (self.need_opened()?.reader.clone(), self.document_id());
        Ok(self.start(tr!("Make a draft of the dataset"), move |ctx| {
            let draft = DraftDocument::with_derived_data(Draft::from_dataset(draft_of(
                reader.as_ref(),
                ctx,
            )?));
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                studio.show(Document::Draft(Box::new(draft)));
                Ok(Event::DocumentChanged)
            }) as Finish)
        }))
    }

    pub(super) fn import(
        &mut self,
        paths: Vec<PathBuf>,
        into: NodePath,
        metadata: Option<PathBuf>,
    ) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        let dataset = self.need_draft()?.dataset();
        let empty = dataset.root.samples.is_empty() && into.0.is_empty();
        let folder = dataset
            .ids(&into)
            .ok_or_else(|| Error::usage("there is no such FOLDER to add to"))?;
        let document = self.document_id();
        Ok(self.start(import_label(paths.len()), move |ctx| {
            let (samples, unplaced, report) = match paths.as_slice() {
                [folder] if empty && is_folder_of_folders(folder) => import_scenes(folder, ctx)?,
                paths => import_paths(paths, ctx)
                    .map(|(samples, report)| (samples, Vec::new(), report))?,
            };
            let mut incoming = Dataset {
                root: Tortilla::new(samples).into(),
                ..Dataset::default()
            };
            if let Some(table) = metadata {
                let join = JoinRequest {
                    table,
                    ..JoinRequest::default()
                };
                join_metadata(&mut incoming, &join, ctx)?;
            }
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                // The FOLDER may have moved, or another may be at its position.
                let dataset = studio.need_draft()?.dataset();
                let stays = dataset.ids(&into).is_some_and(|ids| ids == folder);
                let found = if stays {
                    Some(into)
                } else {
                    dataset.find_node(&folder)
                };
                let into = found.ok_or_else(|| {
                    Error::usage(format!("the FOLDER {folder} to add to is gone"))
                })?;
                studio.insert_imported(incoming, into, unplaced)?;
                Ok(Event::Imported(report))
            }) as Finish)
        }))
    }

    pub(super) fn import_layout(&mut self, request: LayoutRequest) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        self.need_draft()?;
        let document = self.document_id();
        Ok(self.start(import_label(1), move |ctx| {
            let proposal = ops::propose_layout(&request, ctx)?;
            ops::warn_of_mended_names(&proposal, ctx);
            let (root, unplaced, report) = proposal.into_import();
            let incoming = Dataset {
                root: root.into(),
                ..Dataset::default()
            };
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_document(document)?;
                studio.insert_imported(incoming, NodePath::root(), unplaced)?;
                Ok(Event::Imported(report))
            }) as Finish)
        }))
    }

    pub(super) fn import_dataset(&mut self, request: DatasetImport) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        let name = request
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        self.edit_later(&tr!("Add {name}", name), move |content, ctx| {
            let imported = ops::import_dataset(&content.dataset, &request, ctx)?;
            imported.changes.into_iter().for_each(|line| ctx.warn(line));
            Ok(imported.edit)
        })
    }

    fn insert_imported(
        &mut self,
        incoming: Dataset,
        into: NodePath,
        unplaced: Vec<Unplaced>,
    ) -> Result<()> {
        let draft = self.need_draft()?;
        let tortilla = draft
            .dataset()
            .tortilla(&into)
            .ok_or_else(|| Error::usage("the FOLDER to add to is gone"))?;
        let merged = join_tortillas(tortilla, &incoming.root)?;
        let label = match incoming.root.samples.as_slice() {
            [one] => tr!("Add {name}", name = one.id),
            many => tr_n!(
                many.len(),
                "Add {n} sample",
                "Add {n} samples",
                n = many.len()
            ),
        };
        let edit = Edit::ReplaceTortilla {
            tortilla: into,
            with: merged.into(),
        };
        let edits = std::iter::once(edit)
            .chain(Edit::append_to_tray(self.need_draft()?.tray(), unplaced))
            .collect();
        self.edit(Edit::Batch { label, edits }).map(|_| ())
    }

    pub(super) fn import_collection(&mut self, path: PathBuf) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        self.need_draft()?;
        let document = self.document_id();
        Ok(
            self.start(tr!("Read {path}", path = path.display()), move |_| {
                let given = read_collection_file(&path)?;
                // Fields that the file lacks come from the template of a new draft.
                let mut collection = Collection::template();
                for (key, value) in given.descriptive_fields() {
                    collection.set(&key, Some(value));
                }
                let edit = Edit::ReplaceCollection { collection };
                Ok(Box::new(move |studio: &mut Studio| {
                    studio.need_document(document)?;
                    match studio.edit(edit)? {
                        Outcome::Done(event) => Ok(event),
                        Outcome::Started(_) => Ok(Event::None),
                    }
                }) as Finish)
            }),
        )
    }

    pub(super) fn query(&mut self, query: Query, path: Option<PathBuf>) -> Result<Outcome> {
        let tables = if path.is_none() {
            Some(self.tables_of_document()?)
        } else {
            None
        };
        self.start_with_event(tr!("Run the query"), Event::Queried, move |ctx| {
            let result = match (tables, path) {
                (Some(tables), _) => query::run(&tables(ctx)?, &query, ctx),
                (None, Some(path)) => QueryRequest::new(path, query).run(ctx),
                (None, None) => Err(Error::usage("no dataset is open")),
            };
            result.map(Arc::new)
        })
    }

    /// The query tables of the document; those of a draft are made when they are asked for.
    fn tables_of_document(&mut self) -> Result<MakeTables> {
        if let Some(Document::Draft(draft)) = self.document() {
            let dataset = draft.draft.dataset().clone();
            return Ok(Box::new(move |ctx| ops::draft_tables(&dataset, ctx)));
        }
        let tables = self.need_opened()?.tables();
        Ok(Box::new(move |_| Ok(tables)))
    }

    pub(super) fn save_rows(&mut self, query: Query, target: PathBuf) -> Result<Outcome> {
        let tables = self.tables_of_document()?;
        ops::row_format(&target)?;
        let label = tr!("Save rows to {path}", path = target.display());
        self.start_with_event(label, Event::Saved, move |ctx| {
            ops::save_rows(&tables(ctx)?, &query, &target, ctx).map(|()| target)
        })
    }

    pub(super) fn write_tortilla(&mut self, options: TortillaOptions) -> Result<Outcome> {
        let dataset = self.need_draft()?.dataset().clone();
        self.start_with_event(write_label(&options.target), Event::Written, move |ctx| {
            ops::write_first_generation(&dataset, &DatasetVersion::default(), &options, ctx)
        })
    }

    pub(super) fn write(&mut self, options: BuildOptions) -> Result<Outcome> {
        let draft = self.need_draft()?;
        let (dataset, revision, id) = (
            draft.dataset().clone(),
            draft.revision(),
            self.document_id(),
        );
        let headers = self.source_headers();
        Ok(self.start(write_label(&options.target), move |ctx| {
            let built = ops::checked_build_with(&dataset, &options, &headers, ctx)?;
            Ok(Box::new(move |studio: &mut Studio| {
                let same = studio.document_id() == id;
                if let Some(Document::Draft(document)) = &mut studio.document
                    && same
                    && document.draft.revision() == revision
                {
                    document.draft.mark_written();
                }
                Ok(Event::Written(built))
            }) as Finish)
        }))
    }

    pub(super) fn save_asset(
        &mut self,
        level: usize,
        row: u32,
        target: PathBuf,
    ) -> Result<Outcome> {
        let document = self
            .document
            .as_ref()
            .ok_or_else(|| Error::usage("nothing is open"))?;
        let place = document.asset_later(RowRef { level, row });
        self.start_with_event(
            tr!("Save {path}", path = target.display()),
            Event::Saved,
            move |ctx| {
                let (asset, _) = place()?;
                container::copy_asset(&asset, &target, true, OnDamage::Stop, ctx).map(|_| target)
            },
        )
    }

    pub(super) fn show(&mut self, mut document: Document) {
        if let Document::Draft(draft) = &mut document {
            draft.autosave = self.new_autosave();
        }
        self.forget_kept();
        self.watched.clear();
        self.leave();
        self.document = Some(document);
        self.forget_headers();
        self.start_check();
    }

    pub(super) fn need_draft(&self) -> Result<&Draft> {
        self.document
            .as_ref()
            .and_then(Document::draft)
            .ok_or_else(not_a_draft)
    }

    pub(super) fn need_opened(&self) -> Result<&OpenDataset> {
        let opened = self.document.as_ref().and_then(Document::opened_dataset);
        opened.ok_or_else(|| {
            Error::usage("no dataset is open for reading").hint("open a .tacozip or a FOLDER")
        })
    }
}

fn import_label(paths: usize) -> String {
    tr_n!(paths, "Add {n} path", "Add {n} paths", n = paths)
}

fn write_label(target: &Path) -> String {
    tr!("Write {path}", path = target.display())
}

pub(super) fn not_a_draft() -> Error {
    Error::usage("no draft is open").hint("begin a new dataset, or edit a copy of the opened one")
}

fn open_dataset(
    path: &Path,
    options: &OpenOptions,
    shared: &SharedReader,
    ctx: &JobContext,
) -> Result<OpenDataset> {
    let reader = container::open_with(path, options, ctx)?;
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader.clone());
    ctx.stage(tr!("Reading the samples"), None);
    // Level 0 is shown first, and the tree needs some of its columns, so it is decoded once.
    reader.levels().table(0, ctx)?;
    ctx.stage(tr!("Building the tree"), None);
    let tree = reader.levels().skeleton(ctx)?;
    Ok(OpenDataset::new(reader, tree, options.clone()))
}

/// The command for pasted or dropped paths: a single dataset opens, a COLLECTION.json is imported,
/// other paths are added.
pub fn command_for(paths: Vec<PathBuf>, into: NodePath) -> Command {
    if let [path] = paths.as_slice() {
        if is_project(path) {
            return Command::OpenProject { path: path.clone() };
        }
        // The type of a remote address is known only after requests, so it is opened.
        if is_remote(path) {
            return Command::Open { path: path.clone() };
        }
        if container::detect(path).is_ok() {
            return Command::Open { path: path.clone() };
        }
        if path
            .file_name()
            .is_some_and(|name| name == "COLLECTION.json")
        {
            return Command::ImportCollection { path: path.clone() };
        }
    }
    Command::Import {
        paths,
        into,
        metadata: None,
    }
}
