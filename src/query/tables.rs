//! Tables of a query and their data sources. Nothing is read before a query uses a table.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, Int64Array};
use arrow::datatypes::Field;

use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Collection, FieldSpec};
use crate::table::{LevelTable, RowGroups, TableHead};

/// Computed column with the GDAL path.
pub(super) const VSI: &str = "internal:gdal_vsi";

/// Prefix of the GDAL paths of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VsiBase {
    /// A draft, or a dataset without paths: no `internal:gdal_vsi`.
    #[default]
    None,
    /// Byte ranges of this container, given as a GDAL path.
    Zip(Arc<str>),
    /// Files below `DATA` in this folder.
    Folder(Arc<str>),
    /// Byte ranges of the parts in this folder; `internal:source_file` names the part.
    Parts(Arc<str>),
}

impl VsiBase {
    /// A local ZIP container.
    pub fn zip(path: &Path) -> Self {
        VsiBase::Zip(path.to_string_lossy().into())
    }

    /// A local FOLDER container.
    pub fn folder(path: &Path) -> Self {
        VsiBase::Folder(path.to_string_lossy().trim_end_matches('/').into())
    }

    /// The folder with the parts of a `.tacocat`.
    pub fn parts(path: &Path) -> Self {
        VsiBase::Parts(path.to_string_lossy().trim_end_matches('/').into())
    }
}

/// Offset and size in bytes, one value per row of a level.
pub type RowPositions = (Int64Array, Int64Array);

/// Verifies a level's offset and size columns the first time that a query uses them, which may read
/// the whole level.
pub struct TruePositions {
    find: Box<Find>,
    found: OnceLock<Option<Arc<RowPositions>>>,
}

type Find = dyn Fn(&JobContext) -> Result<Option<RowPositions>> + Send + Sync;

impl TruePositions {
    /// `find` returns the correct offsets and sizes, one per row, when those of the file are wrong,
    /// and `None` when they are right.
    pub fn new(
        find: impl Fn(&JobContext) -> Result<Option<RowPositions>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            find: Box::new(find),
            found: OnceLock::new(),
        })
    }

    pub(super) fn get(&self, ctx: &JobContext) -> Result<Option<Arc<RowPositions>>> {
        if let Some(found) = self.found.get() {
            return Ok(found.clone());
        }
        let found = (self.find)(ctx)?.map(Arc::new);
        Ok(self.found.get_or_init(|| found).clone())
    }
}

/// Data source of one level.
#[derive(Clone)]
pub(super) enum LevelData {
    /// Parquet file, read by column and row group.
    Parquet {
        head: TableHead,
        groups: RowGroups,
        positions: Option<Arc<TruePositions>>,
    },
    /// Decoded rows: of a draft, or of a level with corrected offsets.
    Decoded(Arc<LevelTable>),
}

/// The levels of one dataset, from level 0 down. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tables {
    pub(super) levels: Vec<LevelData>,
    pub(super) base: VsiBase,
    /// Describes columns by level and name: `taco:field_schema` has descriptions.
    collection: Arc<Collection>,
}

impl Tables {
    /// Creates tables without levels.
    pub fn new(base: VsiBase) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// The same tables with the descriptions of columns that `collection` has.
    pub fn described_by(self, collection: &Collection) -> Self {
        let mut described = Collection::default();
        described.set(
            "taco:field_schema",
            collection.get("taco:field_schema").cloned(),
        );
        Self {
            collection: Arc::new(described),
            ..self
        }
    }

    /// Adds the next level as a Parquet file without verifying its offsets. Where they may be wrong
    /// (levels below 0 of some published files), use [`Tables::push_checked`], or
    /// [`Tables::push_table`] with corrected rows.
    pub fn push_parquet(&mut self, head: TableHead) {
        let groups = RowGroups::new(&head);
        self.levels.push(LevelData::Parquet {
            head,
            groups,
            positions: None,
        });
    }

    /// Adds the next level as a Parquet file whose offsets and sizes are verified before use.
    pub fn push_checked(&mut self, head: TableHead, positions: Arc<TruePositions>) {
        let groups = RowGroups::new(&head);
        self.levels.push(LevelData::Parquet {
            head,
            groups,
            positions: Some(positions),
        });
    }

    /// Adds the next level as decoded rows.
    pub fn push_table(&mut self, table: Arc<LevelTable>) {
        self.levels.push(LevelData::Decoded(table));
    }

    /// Table names for queries.
    pub fn names(&self) -> Vec<String> {
        let count = self.levels.len();
        let data = (count > 0).then(|| "data".to_owned());
        data.into_iter()
            .chain((0..count).map(|n| format!("level{n}")))
            .chain((0..count).map(|n| format!("l{n}")))
            .collect()
    }

    /// Columns of a table, in order; `None` for names not in [`Tables::names`].
    pub fn columns(&self, name: &str) -> Option<Vec<FieldSpec>> {
        match TableName::parse(name, self.levels.len())? {
            TableName::Level(level) => Some(self.level_columns(level)),
            TableName::Data => Some(self.level_columns(0)),
            TableName::Flat(level) => Some(
                (0..=level)
                    .rev()
                    .flat_map(|level| self.flat_columns(level))
                    .collect(),
            ),
        }
    }

    /// The columns of a level in a flat view.
    fn flat_columns(&self, level: usize) -> impl Iterator<Item = FieldSpec> {
        let columns = self
            .level_columns(level)
            .into_iter()
            .filter(|field| !is_key(&field.name));
        columns.map(move |field| FieldSpec::new(format!("l{level}:{}", field.name), field.dtype))
    }

    fn level_columns(&self, level: usize) -> Vec<FieldSpec> {
        let mut columns = self.stored_columns(level);
        if self.has_vsi(level) {
            columns.retain(|field| field.name != VSI);
            columns.push(FieldSpec::new(VSI, arrow::datatypes::DataType::Utf8));
        }
        columns
    }

    /// Columns stored in the level's file.
    pub(super) fn stored_columns(&self, level: usize) -> Vec<FieldSpec> {
        let schema = match self.levels.get(level) {
            Some(LevelData::Parquet { head, .. }) => head.schema(),
            Some(LevelData::Decoded(table)) => table.schema(),
            None => return Vec::new(),
        };
        schema
            .fields()
            .iter()
            .map(|field| self.describe_field(level, field))
            .collect()
    }

    fn describe_field(&self, level: usize, field: &Field) -> FieldSpec {
        FieldSpec {
            description: self
                .collection
                .column_description(level, field.name())
                .unwrap_or_default()
                .to_owned(),
            ..FieldSpec::new(field.name(), field.data_type().clone())
        }
    }

    /// True when no row of a level lacks a value in a column, as far as is known without reading
    /// rows.
    pub(super) fn has_no_null(&self, level: usize, name: &str) -> bool {
        match self.levels.get(level) {
            Some(LevelData::Parquet { head, .. }) => head.null_count(name) == Some(0),
            Some(LevelData::Decoded(table)) => table.batches().iter().all(|batch| {
                batch
                    .column_by_name(name)
                    .is_none_or(|column| column.logical_null_count() == 0)
            }),
            None => true,
        }
    }

    /// True when the level has the columns from which GDAL paths are built.
    pub(super) fn has_vsi(&self, level: usize) -> bool {
        let columns = self.stored_columns(level);
        let has = |name: &str| columns.iter().any(|field| field.name == name);
        match self.base {
            VsiBase::None => false,
            VsiBase::Zip(_) => has("internal:offset") && has("internal:size"),
            VsiBase::Parts(_) => {
                has("internal:offset") && has("internal:size") && has("internal:source_file")
            }
            VsiBase::Folder(_) => {
                has("id") && has("type") && (level == 0 || has("internal:relative_path"))
            }
        }
    }
}

/// Join keys of flat views, which the views omit.
pub(super) fn is_key(name: &str) -> bool {
    name == "internal:current_id" || name == "internal:parent_id"
}

/// A parsed table name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableName {
    Level(usize),
    Data,
    Flat(usize),
}

impl TableName {
    pub fn parse(name: &str, levels: usize) -> Option<Self> {
        let number = |digits: &str| parse_level_number(digits, levels);
        match name {
            "data" if levels > 0 => Some(TableName::Data),
            _ => match (
                name.strip_prefix("level").and_then(number),
                name.strip_prefix('l').and_then(number),
            ) {
                (Some(level), _) => Some(TableName::Level(level)),
                (None, Some(level)) => Some(TableName::Flat(level)),
                (None, None) => None,
            },
        }
    }
}

/// The number of a level in the name of a table; `None` for other texts and for levels that are
/// not there.
fn parse_level_number(digits: &str, levels: usize) -> Option<usize> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|level| *level < levels)
}
