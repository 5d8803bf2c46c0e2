//! What each command does. Quick ones at once, the rest as jobs on cheap clones; a job's result is applied when it is polled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{Content, Document, DraftDocument, OpenDataset, RowRef};
use super::here::Here;
use super::import::{import_paths, import_scenes, is_folder_of_folders, join_metadata};
use super::migrate::{assembly_of, is_other_generation};
use super::own_sources::refuse_own_sources;
use super::project::{Origin, is_project};
use super::{Command, Event, Finish, Outcome, Studio};
use crate::container::{
    self, Assembly, BuildOptions, Built, ContainerReader, OnDamage, OpenOptions, outputs_of, read_collection_file,
};
use crate::draft::{Draft, Edit, Unplaced};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Dataset, NodePath, Payload, Profile, Report, Sample, Severity, Tortilla, is_remote};
use crate::query;
use crate::raster::{self, PreviewRequest};
use crate::table::{read_sidecar, value_at};
use crate::validate;

/// The name of the job of a query.
pub const RUN_QUERY: &str = mark!("Run the query");
/// The name of the job of a picture.
pub const READ_RASTER: &str = mark!("Read the raster");

impl Studio {
    pub(super) fn new_draft(&mut self) -> Result<Outcome> {
        let mut document = DraftDocument::new(Draft::new());
        document.origin = Origin::Empty;
        self.show(Document::Draft(Box::new(document)));
        Ok(Outcome::Done(Event::DocumentChanged))
    }

    pub(super) fn close(&mut self) -> Result<Outcome> {
        self.forget_kept();
        self.leave();
        self.watched.clear();
        self.report = Arc::default();
        self.live_check.cancel();
        Ok(Outcome::Done(Event::DocumentChanged))
    }

    pub(super) fn open(&mut self, path: PathBuf, options: OpenOptions) -> Result<Outcome> {
        if is_project(&path) {
            return self.open_project(path);
        }
        let label = match options.with.len() {
            0 => tr!("Open {path}", path = path.display()),
            more => tr!("Open {path} and {more} more", path = path.display(), more),
        };
        let leaving = self.leaving();
        Ok(self.start(&label, move |ctx| {
            let open = open_dataset(&path, &options, ctx)?;
            let notes = Report { findings: open.reader.notes().to_vec(), ..Report::default() };
            Ok(Box::new(move |studio: &mut Studio| {
                studio.may_leave(&leaving)?;
                studio.show(Document::Opened(open));
                studio.report = Arc::new(notes);
                Ok(Event::DocumentChanged)
            }) as Finish)
        }))
    }

    pub(super) fn fork(&mut self) -> Result<Outcome> {
        let (reader, here) = (self.need_opened()?.reader.clone(), self.here());
        Ok(self.start(tr!("Make a draft of the dataset"), move |ctx| {
            let dataset = dataset_of(reader.as_ref(), ctx)?;
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_here(&here)?;
                studio.show(Document::Draft(Box::new(DraftDocument::new(Draft::of(dataset)))));
                studio.check_live();
                Ok(Event::DocumentChanged)
            }) as Finish)
        }))
    }

    pub(super) fn import(&mut self, paths: Vec<PathBuf>, into: NodePath, metadata: Option<PathBuf>) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        let dataset = self.need_draft()?.dataset();
        let empty = dataset.root.samples.is_empty() && into.0.is_empty();
        let folder = dataset.ids(&into).ok_or_else(|| Error::usage("there is no such FOLDER to add to"))?;
        let here = self.here();
        Ok(self.start(&tr_n!(paths.len(), "Add {n} path", "Add {n} paths", n = paths.len()), move |ctx| {
            let (samples, unplaced, report) = match paths.as_slice() {
                [folder] if empty && is_folder_of_folders(folder) => import_scenes(folder, ctx)?,
                paths => import_paths(paths, ctx).map(|(samples, report)| (samples, Vec::new(), report))?,
            };
            let table = metadata.map(|path| read_sidecar(&path, ctx)).transpose()?;
            let mut incoming = Dataset { root: Tortilla::new(samples).into(), ..Dataset::default() };
            if let Some(table) = table {
                join_metadata(&mut incoming, &table, ctx)?;
            }
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_here(&here)?;
                // It may stand elsewhere by now, or another in its place.
                let dataset = studio.need_draft()?.dataset();
                let stays = dataset.ids(&into).is_some_and(|ids| ids == folder);
                let found = if stays { Some(into) } else { dataset.find(&folder) };
                let into = found.ok_or_else(|| Error::usage(format!("the FOLDER {folder} to add to is gone")))?;
                studio.insert_imported(incoming, into, unplaced)?;
                Ok(Event::Imported(report))
            }) as Finish)
        }))
    }

    fn insert_imported(&mut self, incoming: Dataset, into: NodePath, unplaced: Vec<Unplaced>) -> Result<()> {
        let draft = self.need_draft()?;
        let tortilla = draft.dataset().tortilla(&into).ok_or_else(|| Error::usage("the FOLDER to add to is gone"))?;
        let mut merged = tortilla.as_ref().clone();
        let label = match incoming.root.samples.as_slice() {
            [one] => tr!("Add {name}", name = one.id),
            many => tr_n!(many.len(), "Add {n} sample", "Add {n} samples", n = many.len()),
        };
        let old_width = merged.schema.len();
        let mut schema = merged.schema.to_vec();
        schema.extend(incoming.root.schema.iter().filter(|field| merged.field(&field.name).is_none()).cloned());
        merged.schema = schema.into();
        for sample in &incoming.root.samples {
            let mut values = vec![crate::model::Value::Null; merged.schema.len()];
            for (field, value) in incoming.root.schema.iter().zip(sample.values.iter()) {
                if let Some(index) = merged.field(&field.name) {
                    values[index] = value.clone();
                }
            }
            let values = if merged.schema.is_empty() || (old_width == 0 && incoming.root.schema.is_empty()) {
                sample.values.clone()
            } else {
                values.into()
            };
            merged.samples.push(Sample { id: sample.id.clone(), payload: sample.payload.clone(), values });
        }
        let edit = Edit::ReplaceTortilla { tortilla: into, with: merged.into() };
        let edits = std::iter::once(edit).chain(Edit::append_to_tray(self.need_draft()?.tray(), unplaced)).collect();
        self.edit(Edit::Batch { label, edits }).map(|_| ())
    }

    pub(super) fn import_collection(&mut self, path: PathBuf) -> Result<Outcome> {
        if self.document.is_none() {
            self.new_draft()?;
        }
        self.need_draft()?;
        let here = self.here();
        Ok(self.start(&tr!("Read {path}", path = path.display()), move |_| {
            let given = read_collection_file(&path)?;
            // What every dataset needs and the file does not say, as in a new draft.
            let mut collection = Collection::template();
            for (key, value) in given.descriptive() {
                collection.set(&key, Some(value));
            }
            let edit = Edit::ReplaceCollection { collection };
            Ok(Box::new(move |studio: &mut Studio| {
                studio.need_here(&here)?;
                match studio.edit(edit)? {
                    Outcome::Done(event) => Ok(event),
                    Outcome::Started(_) => Ok(Event::None),
                }
            }) as Finish)
        }))
    }

    /// Starts the check of what is open as it is now; an older one that still runs is stopped.
    pub(super) fn check_live(&mut self) {
        if !self.checks_by_itself {
            return;
        }
        match &self.document {
            Some(Document::Draft(document)) => {
                let (dataset, pattern) = (document.draft.dataset().clone(), document.pattern_root());
                let live = self.live.clone();
                self.live_check.start(&self.jobs, tr!("Check the draft"), move |ctx| {
                    // A check that was stopped half-way leaves nothing wrong behind: what it knows is brought up to date first.
                    let mut live = live.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    live.check_beside(&dataset, pattern.as_deref(), ctx)
                });
            }
            Some(Document::Opened(open)) => {
                let reader = open.reader.clone();
                let label = tr!("Check the dataset");
                self.live_check.start(&self.jobs, label, move |ctx| validate::container(reader.as_ref(), false, ctx));
            }
            None => {}
        }
    }

    pub(super) fn load_level(&mut self, level: usize) -> Result<Outcome> {
        let reader = self.need_opened()?.reader.clone();
        Ok(self.start(&tr!("Read level {level}", level), move |ctx| {
            reader.levels().table(level, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::LevelReady(level))) as Finish)
        }))
    }

    pub(super) fn validate(&mut self, deep: bool, profile: Profile) -> Result<Outcome> {
        let here = self.here();
        let label = if deep { tr!("Check every byte") } else { tr!("Check the dataset") };
        match &self.document {
            None => Err(Error::usage("nothing is open").hint("open a dataset first")),
            Some(Document::Draft(document)) => {
                let (dataset, pattern) = (document.draft.dataset().clone(), document.pattern_root());
                Ok(self.start(label, move |ctx| {
                    let mut report = validate::dataset_beside(&dataset, pattern.as_deref(), profile, ctx)?;
                    report.findings.extend(validate::sources(&dataset, ctx)?.findings);
                    Ok(show_report(report, here))
                }))
            }
            Some(Document::Opened(open)) => {
                let reader = open.reader.clone();
                Ok(self
                    .start(label, move |ctx| Ok(show_report(validate::container_as(reader.as_ref(), profile, deep, ctx)?, here))))
            }
        }
    }

    pub(super) fn query(&mut self, sql: String, limit: Option<usize>) -> Result<Outcome> {
        let tables = self.need_opened()?.tables();
        Ok(self.start(crate::text::of(RUN_QUERY), move |ctx| {
            let result = Arc::new(query::run_sql(&tables, &sql, limit, ctx)?);
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Queried(result))) as Finish)
        }))
    }

    pub(super) fn preview(&mut self, request: PreviewRequest) -> Result<Outcome> {
        Ok(self.start(crate::text::of(READ_RASTER), move |ctx| {
            let image = raster::preview(&request, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Previewed(Arc::new((request, image))))) as Finish)
        }))
    }

    /// What is open, for a job; an error with `hint` when nothing is.
    pub(super) fn content(&self, hint: &str) -> Result<Content> {
        match self.document() {
            Some(Document::Draft(draft)) => Ok(Content::Draft(draft.draft.dataset().clone())),
            Some(Document::Opened(opened)) => Ok(Content::Opened(opened.reader.clone())),
            None => Err(Error::usage("nothing is open").hint(hint)),
        }
    }

    pub(super) fn write(&mut self, options: BuildOptions) -> Result<Outcome> {
        let draft = self.need_draft()?;
        let (dataset, revision, here) = (draft.dataset().clone(), draft.revision(), self.here());
        Ok(self.start(&tr!("Write {path}", path = options.target.display()), move |ctx| {
            let built = checked_build(&dataset, &options, ctx)?;
            Ok(Box::new(move |studio: &mut Studio| {
                let same = studio.is_here(&here);
                if let Some(Document::Draft(document)) = &mut studio.document
                    && same
                    && document.draft.revision() == revision
                {
                    document.draft.mark_saved();
                }
                Ok(Event::Written(built))
            }) as Finish)
        }))
    }

    pub(super) fn convert_job(&mut self, input: PathBuf, open: OpenOptions, options: BuildOptions) -> Result<Outcome> {
        Ok(self.start(&tr!("Convert {path}", path = input.display()), move |ctx| {
            let built = convert(&input, &open, &options, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Written(built))) as Finish)
        }))
    }

    pub(super) fn save_asset(&mut self, level: usize, row: u32, target: PathBuf) -> Result<Outcome> {
        let document = self.document.as_ref().ok_or_else(|| Error::usage("nothing is open"))?;
        let place = document.asset_later(RowRef { level, row });
        Ok(self.start(&tr!("Save {path}", path = target.display()), move |ctx| {
            let (asset, _) = place()?;
            export_asset(&asset, &target, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Saved(target))) as Finish)
        }))
    }

    pub(super) fn show(&mut self, mut document: Document) {
        if let Document::Draft(draft) = &mut document {
            draft.keep = self.keeper();
        }
        self.forget_kept();
        self.live_check.cancel();
        self.watched.clear();
        self.leave();
        self.document = Some(document);
        self.report = Arc::default();
        self.check_live();
    }

    pub(super) fn need_draft(&self) -> Result<&Draft> {
        self.document.as_ref().and_then(Document::draft).ok_or_else(not_a_draft)
    }

    pub(super) fn need_opened(&self) -> Result<&OpenDataset> {
        let opened = self.document.as_ref().and_then(Document::opened);
        opened.ok_or_else(|| Error::usage("no dataset is open for reading").hint("open a .tacozip or a FOLDER"))
    }
}

pub(super) fn not_a_draft() -> Error {
    Error::usage("no draft is open").hint("begin a new dataset, or edit a copy of the opened one")
}

fn show_report(report: Report, here: Here) -> Finish {
    Box::new(move |studio: &mut Studio| {
        if studio.is_here(&here) {
            studio.report = Arc::new(report);
        }
        Ok(Event::Validated)
    })
}

fn open_dataset(path: &Path, options: &OpenOptions, ctx: &JobContext) -> Result<OpenDataset> {
    let reader = container::open_with(path, options, ctx)?;
    // The first level is what everybody looks at first; the tree needs some of its columns, which are decoded once.
    reader.levels().table(0, ctx)?;
    let tree = reader.levels().skeleton(ctx)?;
    Ok(OpenDataset::new(reader, tree, options.clone()))
}

/// Checks a draft and writes it. Errors of the check stop it, with the first of them in the message.
pub fn checked_build(dataset: &Dataset, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    ctx.stage(tr!("Checking"), None);
    container::expect_containers(dataset)?;
    let mut report = validate::dataset(dataset, ctx)?;
    report.findings.extend(validate::sources(dataset, ctx)?.findings);
    if !report.is_valid() {
        let errors: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        let mut error = Error::invalid(format!("the dataset breaks {} rules, so readers would refuse it", errors.len()));
        for finding in errors.iter().take(5) {
            error = error.hint(format!("{} at {}: {}", finding.rule, finding.at, finding.message));
        }
        return Err(error);
    }
    let mut assembly = Assembly::of_dataset(dataset, ctx)?;
    refuse_own_sources(dataset, &outputs_of(&assembly, options, ctx)?)?;
    assembly.mend_extent(ctx);
    container::write(&assembly, options, ctx)
}

/// Writes an opened dataset in another container: every byte of data and every metadata value as it is.
pub fn convert(input: &Path, open: &OpenOptions, options: &BuildOptions, ctx: &JobContext) -> Result<Built> {
    let reader = container::open_with(input, open, ctx)?;
    if is_other_generation(reader.as_ref()) {
        let message = format!("this dataset is of generation {}", reader.info().format.generation());
        return Err(Error::usage(message).at_path(input).hint("use `migrate`, which tells what becomes of its fields"));
    }
    let mut assembly = Assembly::of_reader(reader.as_ref(), ctx)?;
    assembly.mend_extent(ctx);
    container::write(&assembly, options, ctx)
}

/// Copies a sample's bytes into a new file.
pub fn export_asset(asset: &AssetPath, target: &Path, ctx: &JobContext) -> Result<()> {
    container::copy_asset(asset, target, true, OnDamage::Stop, ctx).map(drop)
}

/// The draft of an opened dataset: samples point at the ranges where they are.
fn dataset_of(reader: &dyn ContainerReader, ctx: &JobContext) -> Result<Dataset> {
    let mut assembly = assembly_of(reader, ctx)?;
    assembly.remember_directories(ctx)?;
    dataset_of_assembly(&assembly, ctx)
}

/// The draft of a layout.
pub(super) fn dataset_of_assembly(assembly: &Assembly, ctx: &JobContext) -> Result<Dataset> {
    let mut below: Vec<Vec<Sample>> = Vec::new();
    let mut schema_below: crate::model::Schema = Arc::from([]);
    for depth in (0..assembly.levels.len()).rev() {
        ctx.check()?;
        let level = &assembly.levels[depth];
        let tree = &assembly.tree.levels[depth];
        let schema = level.batch.schema();
        let fields: crate::model::Schema =
            schema.fields().iter().skip(2).map(|f| crate::model::FieldSpec::new(f.name(), f.data_type().clone())).collect();
        let mut groups: Vec<Vec<Sample>> = Vec::new();
        let mut children = std::mem::take(&mut below).into_iter();
        let mut last = None;
        for row in 0..tree.len() {
            let payload = match &level.sources[row] {
                container::RowSource::Folder => {
                    // An empty FOLDER has no group: the next one is another FOLDER's.
                    let full = !tree.children(row as u32).is_empty();
                    let samples = if full { children.next().unwrap_or_default() } else { Vec::new() };
                    Payload::Folder(Arc::new(Tortilla { schema: schema_below.clone(), samples }))
                }
                container::RowSource::Bytes(bytes) => Payload::Bytes(bytes.to_vec().into()),
                container::RowSource::Asset { path, size, modified } => {
                    Payload::Asset { path: path.clone(), size: *size, modified: *modified }
                }
            };
            let values = level.batch.columns().iter().skip(2).map(|column| value_at(column, row)).collect();
            let parent = if depth == 0 { 0 } else { tree.parents[row] };
            if last != Some(parent) {
                groups.push(Vec::new());
                last = Some(parent);
            }
            if let Some(group) = groups.last_mut() {
                group.push(Sample { id: tree.id(row as u32).into(), payload, values });
            }
        }
        below = groups;
        schema_below = fields;
    }
    let samples = below.into_iter().next().unwrap_or_default();
    let collection = Collection { fields: assembly.collection.descriptive() };
    Ok(Dataset { collection, root: Arc::new(Tortilla { schema: schema_below, samples }) })
}

/// The command that pasted or dropped paths mean: a dataset alone opens, a COLLECTION.json fills the form, the rest is added.
pub fn command_for(paths: Vec<PathBuf>, into: NodePath) -> Command {
    if let [path] = paths.as_slice() {
        if is_project(path) {
            return Command::OpenProject { path: path.clone() };
        }
        // What an address is shows when it is opened: asking takes requests.
        if is_remote(path) {
            return Command::Open { path: path.clone() };
        }
        if container::detect(path).is_ok() {
            return Command::Open { path: path.clone() };
        }
        if path.file_name().is_some_and(|name| name == "COLLECTION.json") {
            return Command::ImportCollection { path: path.clone() };
        }
    }
    Command::Import { paths, into, metadata: None }
}
