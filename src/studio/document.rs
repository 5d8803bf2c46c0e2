//! The open document: a draft, or a dataset opened for reading. One interface to both for panels:
//! levels, rows, cells, tree.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::Server;
use super::fix::FixFinder;
use super::project::{Autosave, DraftChange, DraftOrigin, Project, ProjectFile};
use crate::container::{ContainerReader, Format, OpenOptions, packed_source};
use crate::draft::{Draft, PatternChoice, Structure, TrayIndex};
use crate::error::{Error, Result};
use crate::extensions::ExtensionCall;
use crate::model::{
    AssetPath, Collection, Dataset, FieldSpec, NodePath, Payload, RowRef, Sample, SampleKind,
    SamplePath, Skeleton, Tortilla, UnitedFields, Value,
};
use crate::ops::{MissingParts, lazy_tables};
use crate::query::Tables;
use crate::raster::{RasterSource, VARIABLE_COLUMN, variable_of_value};
use crate::table::{infer_type, value_text};

/// A dataset opened for reading.
pub struct OpenDataset {
    pub reader: Arc<dyn ContainerReader>,
    /// The tree: ids, types and parents.
    pub tree: Arc<Skeleton>,
    /// Options with which it was opened, including joined datasets.
    pub options: OpenOptions,
    /// Missing parts of a dataset of the first TACO generation.
    pub lacking: Option<MissingParts>,
    tables: OnceLock<Tables>,
}

impl OpenDataset {
    /// Creates the document; checks the disk for the dataset's parts.
    pub fn new(
        reader: Arc<dyn ContainerReader>,
        tree: Arc<Skeleton>,
        options: OpenOptions,
    ) -> Self {
        let lacking = MissingParts::from_reader(reader.as_ref());
        Self {
            reader,
            tree,
            options,
            lacking,
            tables: OnceLock::new(),
        }
    }

    /// Tables for queries, cached with what earlier queries computed.
    pub fn tables(&self) -> Tables {
        self.tables
            .get_or_init(|| lazy_tables(&self.reader))
            .clone()
    }
}

pub enum Document {
    /// A dataset being built.
    Draft(Box<DraftDocument>),
    /// A dataset opened for reading.
    Opened(OpenDataset),
}

/// A draft with derived data for panels, computed once per revision.
pub struct DraftDocument {
    pub draft: Draft,
    derived: OnceLock<Derived>,
    structure: Mutex<DraftViews>,
    /// Word index of the tray, as of the last call.
    tray: Mutex<Arc<TrayIndex>>,
    /// The most recent fix finder.
    pub(super) fix_finder: Mutex<Option<Arc<FixFinder>>>,
    /// The project file that it was opened from or saved to.
    pub(super) file: Option<ProjectFile>,
    /// The last saved file. Locked while a project is written, so that saves run one after another.
    pub(super) written: Arc<Mutex<Option<ProjectFile>>>,
    /// Extension calls stored in the project.
    pub recipe: Vec<ExtensionCall>,
    /// Window state stored in the project; null for none.
    pub view: Json,
    pub(super) servers: Vec<Server>,
    pub(super) origin: DraftOrigin,
    pub(super) autosave: Option<Autosave>,
}

/// Structure and tree of the draft; the tree is updated only when ids or types change.
#[derive(Default)]
struct DraftViews {
    structure: Structure,
    tree: Option<Arc<Skeleton>>,
}

impl DraftViews {
    fn update(&mut self, dataset: &Dataset) {
        let changes = self.structure.follow(dataset);
        if changes.has_new_shapes {
            self.tree = self
                .tree
                .take()
                .and_then(|tree| tree.apply_root_changes(dataset, &changes))
                .map(Arc::new);
        }
    }
}

/// Locked access to the structure.
pub struct StructureGuard<'a>(MutexGuard<'a, DraftViews>);

impl std::ops::Deref for StructureGuard<'_> {
    type Target = Structure;

    fn deref(&self) -> &Structure {
        &self.0.structure
    }
}

impl std::ops::DerefMut for StructureGuard<'_> {
    fn deref_mut(&mut self) -> &mut Structure {
        &mut self.0.structure
    }
}

struct Derived {
    tree: Arc<Skeleton>,
    /// The fields of each level: the union over its tortillas.
    fields: Vec<Vec<FieldSpec>>,
}

impl DraftDocument {
    pub fn new(draft: Draft) -> Self {
        Self {
            draft,
            derived: OnceLock::new(),
            structure: Mutex::default(),
            tray: Mutex::default(),
            fix_finder: Mutex::default(),
            file: None,
            written: Arc::default(),
            recipe: Vec::new(),
            servers: Vec::new(),
            view: Json::Null,
            origin: DraftOrigin::Other,
            autosave: None,
        }
    }

    /// As [`DraftDocument::new`], with what panels derive from the whole draft computed; for jobs,
    /// as it takes long for large drafts.
    pub fn with_derived_data(draft: Draft) -> Self {
        let document = Self::new(draft);
        document.derived_data();
        document.tray_index();
        document
    }

    /// Servers of the project's files at the time it was opened.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The project file that it was opened from or saved to.
    pub fn project(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// The contents of a project file. Cheap: samples are shared.
    pub fn as_project(&self) -> Project {
        Project {
            content: self.draft.content().clone(),
            recipe: self.recipe.clone(),
            view: self.view.clone(),
        }
    }

    /// Waits while the previous change is not on disk, up to autosave's timeout. Returns the
    /// project as it is when autosave has not begun, for [`DraftDocument::note`].
    pub(super) fn wait_for_autosave(&self) -> Option<Project> {
        let autosave = self.autosave.as_ref()?;
        autosave.wait_until_written();
        (!autosave.has_begun()).then(|| self.as_project())
    }

    /// Queues a change for autosave.
    pub(super) fn note(&mut self, change: DraftChange, before: Option<Project>) {
        let after = self.as_project();
        if let Some(autosave) = &mut self.autosave {
            autosave.note(change, before, after, &self.origin, self.file.clone());
        }
    }

    /// Mutable access to the draft; invalidates derived data.
    pub(super) fn draft_mut(&mut self) -> &mut Draft {
        self.derived = OnceLock::new();
        &mut self.draft
    }

    /// The structure, updated to the draft; only changed roots are examined.
    pub fn structure(&self) -> StructureGuard<'_> {
        let mut views = self
            .structure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        views.update(self.draft.dataset());
        StructureGuard(views)
    }

    /// Id of the root chosen as pattern, if any.
    pub(super) fn pattern_root(&self) -> Option<Arc<str>> {
        match self
            .structure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .structure
            .choice()
        {
            PatternChoice::MostCommon => None,
            PatternChoice::Root(id) => Some(id.clone()),
        }
    }

    /// The tray, indexed by the words in file names.
    pub fn tray_index(&self) -> Arc<TrayIndex> {
        let mut index = self.tray.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(index.files(), self.draft.tray()) {
            *index = Arc::new(TrayIndex::from_files(self.draft.tray().clone()));
        }
        index.clone()
    }

    fn derived_data(&self) -> &Derived {
        self.derived.get_or_init(|| {
            let dataset = self.draft.dataset();
            let mut views = self
                .structure
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            views.update(dataset);
            let tree = views
                .tree
                .get_or_insert_with(|| Arc::new(Skeleton::from_dataset(dataset)))
                .clone();
            let fields = level_fields(dataset, &views.structure, tree.levels.len());
            Derived { tree, fields }
        })
    }
}

/// The fields of each level. They are read after each edit: no sample is visited, as the
/// structure has the schemas.
fn level_fields(dataset: &Dataset, structure: &Structure, levels: usize) -> Vec<Vec<FieldSpec>> {
    let below = structure.level_schemas();
    let schemas = std::iter::once(vec![&dataset.root.schema]).chain(below);
    let mut all: Vec<Vec<FieldSpec>> = schemas
        .take(levels)
        .map(|schemas| UnitedFields::of_schemas(schemas).fields)
        .collect();
    all.resize_with(levels, Vec::new);
    all
}

impl Document {
    /// COLLECTION.json.
    pub fn collection(&self) -> &Collection {
        match self {
            Document::Draft(document) => &document.draft.dataset().collection,
            Document::Opened(open) => open.reader.collection(),
        }
    }

    /// The dataset's id; without one the file name, or a placeholder text.
    pub fn title(&self) -> Cow<'_, str> {
        let id = self.collection().id();
        match self {
            _ if !id.is_empty() => id.into(),
            Document::Draft(_) => tr!("Untitled dataset").into(),
            Document::Opened(open) => open
                .reader
                .info()
                .path
                .file_name()
                .map_or(tr!("dataset").into(), |name| name.to_string_lossy()),
        }
    }

    /// The draft; `None` for an opened dataset.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Document::Draft(document) => Some(&document.draft),
            Document::Opened(_) => None,
        }
    }

    /// The structure of a draft, updated. Locks it: release it soon.
    pub fn structure(&self) -> Option<StructureGuard<'_>> {
        match self {
            Document::Draft(document) => Some(document.structure()),
            Document::Opened(_) => None,
        }
    }

    /// The opened dataset; `None` for a draft.
    pub fn opened_dataset(&self) -> Option<&OpenDataset> {
        match self {
            Document::Opened(open) => Some(open),
            Document::Draft(_) => None,
        }
    }

    /// The container format; `None` for a draft.
    pub fn format(&self) -> Option<Format> {
        self.opened_dataset().map(|open| open.reader.info().format)
    }

    /// The tree: ids, types and parents.
    pub fn tree(&self) -> &Arc<Skeleton> {
        match self {
            Document::Draft(document) => &document.derived_data().tree,
            Document::Opened(open) => &open.tree,
        }
    }

    /// Number of samples of a level.
    pub fn rows(&self, level: usize) -> usize {
        self.tree().levels.get(level).map_or(0, |level| level.len())
    }

    /// The metadata fields of a level, without `id`, `type` and `internal:*`.
    pub fn fields(&self, level: usize) -> Vec<FieldSpec> {
        match self {
            Document::Draft(document) => document
                .derived_data()
                .fields
                .get(level)
                .cloned()
                .unwrap_or_default(),
            Document::Opened(open) => {
                let fields = open.reader.levels().fields(level).into_iter();
                fields
                    .filter(|field| {
                        !matches!(field.name.as_str(), "id" | "type")
                            && !field.name.starts_with("internal:")
                    })
                    .collect()
            }
        }
    }

    /// True when the level's table is decoded; otherwise
    /// [`super::DocumentRead::LoadLevel`] decodes it.
    pub fn level_ready(&self, level: usize) -> bool {
        match self {
            Document::Draft(_) => true,
            Document::Opened(open) => open.reader.levels().decoded_table(level).is_some(),
        }
    }

    /// One metadata value and its type. Null if the level is not decoded or has no such field.
    pub fn value(&self, at: RowRef, field: &str) -> (Value, DataType) {
        let none = (Value::Null, DataType::Null);
        match self {
            Document::Draft(_) => {
                let Some((tortilla, sample)) = self.sample_with_tortilla(at) else {
                    return none;
                };
                match tortilla.field(field) {
                    Some(index) => (
                        sample.value(index).clone(),
                        tortilla.schema[index].dtype.clone(),
                    ),
                    None => none,
                }
            }
            Document::Opened(open) => {
                let Some(table) = open.reader.levels().decoded_table(at.level) else {
                    return none;
                };
                match table.column_index(field) {
                    Some(column) => (
                        table.value(at.row as usize, column),
                        table.schema().field(column).data_type().clone(),
                    ),
                    None => none,
                }
            }
        }
    }

    /// One cell as text for the user; empty for null.
    pub fn text(&self, at: RowRef, field: &str) -> String {
        let (value, dtype) = self.value(at, field);
        let dtype = if dtype == DataType::Null {
            infer_type(&value)
        } else {
            dtype
        };
        value_text(&value, &dtype)
    }

    /// The id of a sample.
    pub fn id(&self, at: RowRef) -> Option<&str> {
        let level = self.tree().levels.get(at.level)?;
        ((at.row as usize) < level.len()).then(|| level.id(at.row))
    }

    /// FILE or FOLDER.
    pub fn kind(&self, at: RowRef) -> Option<SampleKind> {
        let level = self.tree().levels.get(at.level)?;
        ((at.row as usize) < level.len()).then(|| level.kind(at.row))
    }

    /// The ids from the root.
    pub fn path(&self, at: RowRef) -> Option<SamplePath> {
        self.id(at).map(|_| self.tree().path(at.level, at.row))
    }

    /// Size of a sample's data in bytes, where known without reading.
    pub fn size_bytes(&self, at: RowRef) -> Option<u64> {
        match self {
            Document::Draft(_) => self
                .sample_with_tortilla(at)
                .map(|(_, sample)| sample.size_bytes()),
            Document::Opened(open) => {
                let table = open.reader.levels().decoded_table(at.level)?;
                match table.value(at.row as usize, table.column_index("internal:size")?) {
                    Value::Int(size) if self.kind(at) == Some(SampleKind::File) => {
                        u64::try_from(size).ok()
                    }
                    _ => None,
                }
            }
        }
    }

    /// The sample's path of positions, as used by edits.
    pub fn node(&self, at: RowRef) -> Option<NodePath> {
        let tree = self.tree();
        let mut positions = Vec::with_capacity(at.level + 1);
        let mut row = at.row;
        for depth in (0..=at.level).rev() {
            let level = tree
                .levels
                .get(depth)
                .filter(|level| (row as usize) < level.len())?;
            if depth == 0 {
                positions.push(row);
                break;
            }
            let parent = level.parents[row as usize];
            let position = tree.levels[depth - 1]
                .children(parent)
                .binary_search(&row)
                .ok()?;
            positions.push(position as u32);
            row = parent;
        }
        positions.reverse();
        Some(NodePath(positions))
    }

    /// Level and row of the sample at a path of positions.
    pub fn row_of(&self, node: &NodePath) -> Option<RowRef> {
        let (&first, rest) = node.0.split_first()?;
        let root = RowRef {
            level: 0,
            row: first,
        };
        self.id(root)?;
        self.find_descendant(root, rest)
    }

    /// The sample at these positions below another one.
    pub fn find_descendant(&self, above: RowRef, positions: &[u32]) -> Option<RowRef> {
        let tree = self.tree();
        positions.iter().try_fold(above, |at, &position| {
            let children = tree.levels.get(at.level)?.children(at.row);
            Some(RowRef {
                level: at.level + 1,
                row: *children.get(position as usize)?,
            })
        })
    }

    /// [`Document::asset`] as a function for a job: a container may read its directory first; a
    /// draft has the result immediately.
    pub fn asset_later(&self, at: RowRef) -> Box<dyn FnOnce() -> Result<(AssetPath, u64)> + Send> {
        match self {
            Document::Opened(open) => {
                let reader = open.reader.clone();
                Box::new(move || reader.asset(at.level, at.row))
            }
            Document::Draft(_) => {
                let place = self.asset(at);
                Box::new(move || place)
            }
        }
    }

    /// [`Document::asset`] as a raster source; its trust depends on the location of the bytes, and
    /// of a file with several variables it is the one that the column `cube:variable` names.
    pub fn raster_later(
        &self,
        at: RowRef,
    ) -> Box<dyn FnOnce() -> Result<(RasterSource, u64)> + Send> {
        match self {
            Document::Opened(open) => {
                let reader = open.reader.clone();
                Box::new(move || reader.raster(at.level, at.row))
            }
            Document::Draft(_) => {
                let (place, variable) = (
                    self.asset(at),
                    variable_of_value(&self.value(at, VARIABLE_COLUMN).0),
                );
                Box::new(move || {
                    let (asset, size) = place?;
                    Ok((packed_source(&asset).with_variable(variable), size))
                })
            }
        }
    }

    /// Location and size in bytes of a FILE's data. May read the container, so not for the
    /// interface thread: see [`Document::asset_later`].
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a FOLDER, a sample in memory, or a row that does not
    /// exist; those of reading the container.
    pub fn asset(&self, at: RowRef) -> Result<(AssetPath, u64)> {
        match self {
            Document::Opened(open) => open.reader.asset(at.level, at.row),
            Document::Draft(_) => match self
                .sample_with_tortilla(at)
                .map(|(_, sample)| &sample.payload)
            {
                Some(Payload::Asset { path, size, .. }) => Ok((path.clone(), *size)),
                Some(Payload::Bytes(_)) => Err(Error::usage(
                    "this sample holds bytes in memory, not a file",
                )),
                Some(Payload::Folder(_)) => Err(Error::usage("a FOLDER has no bytes of its own")),
                None => Err(Error::usage("there is no such sample")),
            },
        }
    }

    fn sample_with_tortilla(&self, at: RowRef) -> Option<(&Tortilla, &Sample)> {
        let dataset = self.draft()?.dataset();
        let (parent, position) = self.node(at)?.parent()?;
        let tortilla = dataset.tortilla(&parent)?;
        Some((tortilla, tortilla.samples.get(position as usize)?))
    }
}
