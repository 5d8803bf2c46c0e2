//! The input of an extension: ids, values and data of a sample or level, and properties of the
//! raster that are read once and shared.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{ComputedColumn, RunNote};
use crate::container;
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, FieldSpec, Payload, Sample, SamplePath, Tortilla, Value};
use crate::raster::{self, RasterCount, RasterInfo, RasterSource, VariableRead, VectorPlace};
use crate::work_files::WorkFile;

/// One sample of a run.
pub struct SampleView<'a> {
    pub(super) sample: &'a Sample,
    pub(super) tortilla: &'a Tortilla,
    /// Ids from the root to the sample.
    pub(super) ids: Arc<[&'a str]>,
    /// Row in the level.
    pub(super) row: usize,
    /// Columns of the level computed earlier in this run.
    pub(super) earlier: &'a [ComputedColumn],
    /// Values computed by earlier calls of the same group.
    pub(super) fresh: Vec<(FieldSpec, Value)>,
    /// Made when something is asked of the data: a level may have a million views.
    facts: OnceLock<Box<ViewFacts>>,
}

#[derive(Default)]
struct ViewFacts {
    info: OnceLock<Arc<RasterInfo>>,
    tally: Mutex<Option<Arc<RasterCount>>>,
    /// Temporary file with in-memory data, for programs that need a file.
    copy: OnceLock<WorkFile>,
    remarks: Mutex<Remarks>,
}

/// What a computation says about a sample besides its values.
#[derive(Default)]
pub(super) struct Remarks {
    /// Columns whose values failed while the others are there.
    pub failed: Vec<(&'static str, Arc<Error>)>,
    /// Columns that have no value by nature, with the reason.
    pub absent: Vec<(Vec<String>, String)>,
    /// The variable that was read of a file with several.
    pub variable: Option<VariableRead>,
}

impl Remarks {
    fn is_empty(&self) -> bool {
        self.failed.is_empty() && self.absent.is_empty() && self.variable.is_none()
    }
}

impl<'a> SampleView<'a> {
    pub(super) fn new(
        sample: &'a Sample,
        tortilla: &'a Tortilla,
        ids: Arc<[&'a str]>,
        row: usize,
        earlier: &'a [ComputedColumn],
    ) -> Self {
        Self {
            sample,
            tortilla,
            ids,
            row,
            earlier,
            fresh: Vec::new(),
            facts: OnceLock::new(),
        }
    }

    fn facts(&self) -> &ViewFacts {
        self.facts.get_or_init(Box::default)
    }

    fn remarks(&self) -> MutexGuard<'_, Remarks> {
        self.facts()
            .remarks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was said since the last call; `None` for nothing.
    pub(super) fn take_remarks(&self) -> Option<Box<Remarks>> {
        self.facts.get()?;
        let remarks = std::mem::take(&mut *self.remarks());
        (!remarks.is_empty()).then(|| Box::new(remarks))
    }

    /// Notes that these columns have no value for this sample, which is no failure; `reason` is a
    /// sentence.
    pub fn note_absent(&self, columns: &[&str], reason: String) {
        self.remarks().absent.push((
            columns.iter().map(|column| (*column).to_owned()).collect(),
            reason,
        ));
    }

    /// The values of these columns failed; those of the others count. The columns keep what they
    /// had before the run.
    pub fn fail_part(&self, columns: &[&'static str], error: Error) {
        let error = Arc::new(error);
        self.remarks()
            .failed
            .extend(columns.iter().map(|column| (*column, error.clone())));
    }

    /// Id of the sample.
    pub fn id(&self) -> &str {
        &self.sample.id
    }

    /// Ids from the root.
    pub fn path(&self) -> SamplePath {
        SamplePath(self.ids.iter().map(|id| Arc::from(*id)).collect())
    }

    /// Row in the level, in tree order.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The sample.
    pub fn sample(&self) -> &Sample {
        self.sample
    }

    /// Size of its data in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.sample.size_bytes()
    }

    /// The value of a column, computed in this run or existing; null when there is no such column.
    pub fn value(&self, column: &str) -> Value {
        self.field(column).map_or(Value::Null, |(_, value)| value)
    }

    /// A column's specification and value; `None` when the level has no such column.
    pub fn field(&self, column: &str) -> Option<(FieldSpec, Value)> {
        if let Some((field, value)) = self
            .fresh
            .iter()
            .rev()
            .find(|(field, _)| field.name == column)
        {
            return Some((field.clone(), value.clone()));
        }
        if let Some(made) = self.earlier.iter().find(|made| made.field.name == column)
            && made.touched.get(self.row).copied().unwrap_or(false)
        {
            return Some((
                made.field.clone(),
                made.values.get(self.row).cloned().unwrap_or_default(),
            ));
        }
        let index = self.tortilla.field(column)?;
        Some((
            self.tortilla.schema.get(index)?.clone(),
            self.sample.value(index).clone(),
        ))
    }

    /// As [`SampleView::field`] for a required column.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when the level has no such column.
    pub fn need(&self, column: &str) -> Result<(FieldSpec, Value)> {
        self.field(column)
            .ok_or_else(|| Error::usage(format!("there is no column {column} at this level")))
    }

    /// All columns with their values: existing ones, then those computed in this run.
    pub fn values(&self) -> Vec<(String, Value)> {
        let mut names: Vec<&str> = self
            .tortilla
            .schema
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let made = self
            .earlier
            .iter()
            .map(|made| &made.field)
            .chain(self.fresh.iter().map(|(field, _)| field));
        for field in made {
            if !names.contains(&field.name.as_str()) {
                names.push(&field.name);
            }
        }
        names
            .into_iter()
            .map(|name| (name.to_owned(), self.value(name)))
            .collect()
    }

    /// Location of the sample's data. In-memory data is written to a temporary file that exists as
    /// long as this view.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a FOLDER and for padding, or an IO error.
    pub fn asset(&self) -> Result<AssetPath> {
        match &self.sample.payload {
            Payload::Asset { path, .. } => Ok(path.clone()),
            Payload::Folder(_) => Err(Error::usage(
                "this is a FOLDER, which has no data of its own",
            )
            .hint("target the level below")),
            Payload::Bytes(bytes) if bytes.is_empty() => {
                Err(Error::usage("this sample holds no bytes"))
            }
            Payload::Bytes(bytes) => {
                if let Some(copy) = self.facts().copy.get() {
                    return Ok(AssetPath::file(copy.path().to_owned()));
                }
                let written = WorkFile::create("", |file| {
                    file.write_all(bytes)
                        .io_at("write into the temporary folder", std::env::temp_dir())
                })?;
                let copy = self.facts().copy.get_or_init(|| written);
                Ok(AssetPath::file(copy.path().to_owned()))
            }
        }
    }

    /// The data as a raster, with the GDAL drivers that may read it: of a file with several
    /// variables the one that the column `cube:variable` names.
    ///
    /// # Errors
    /// As [`SampleView::asset`].
    pub fn raster_source(&self) -> Result<RasterSource> {
        let variable = raster::variable_of_value(&self.value(raster::VARIABLE_COLUMN));
        let source = match &self.sample.payload {
            Payload::Asset { path, .. } => container::packed_source(path),
            _ => RasterSource::member(self.asset()?),
        };
        Ok(source.with_variable(variable))
    }

    /// Takes the values of a call, which later calls of the group see. Another variable of the file
    /// is another raster.
    pub(super) fn take_fresh(&mut self, fields: &[FieldSpec], values: &[Value]) {
        if fields
            .iter()
            .any(|field| field.name == raster::VARIABLE_COLUMN)
            && let Some(facts) = self.facts.get_mut()
        {
            facts.info = OnceLock::new();
            facts.tally = Mutex::default();
        }
        self.fresh
            .extend(fields.iter().cloned().zip(values.iter().cloned()));
    }

    /// Properties of the raster from its header; read once.
    ///
    /// # Errors
    /// When GDAL cannot open the data, or it has no bands.
    pub fn raster(&self) -> Result<Arc<RasterInfo>> {
        let info = self.header()?;
        if info.band_count == 0 {
            return Err(info.without_bands(self.raster_source()?.asset()));
        }
        Ok(info)
    }

    /// Coordinate system and extent of a vector file; `None` for a raster.
    ///
    /// # Errors
    /// When GDAL can't open the data, or it has neither bands nor shapes.
    pub fn vector_place(&self) -> Result<Option<VectorPlace>> {
        if self.header()?.is_vector() {
            raster::vector_place(&self.raster_source()?).map(Some)
        } else {
            Ok(None)
        }
    }

    fn header(&self) -> Result<Arc<RasterInfo>> {
        if let Some(info) = self.facts().info.get() {
            return Ok(info.clone());
        }
        let info = raster::describe(&self.raster_source()?)?;
        self.note_variable(&info);
        Ok(self.facts().info.get_or_init(|| info).clone())
    }

    fn note_variable(&self, info: &RasterInfo) {
        if info
            .variable
            .as_ref()
            .is_some_and(|variable| !variable.is_chosen)
        {
            self.remarks().variable.clone_from(&info.variable);
        }
    }

    /// The value counts of every band, from a single read of all pixels shared by all extensions.
    ///
    /// # Errors
    /// As [`SampleView::raster`], when a block cannot be read, or the job is cancelled.
    pub fn tally(&self, ctx: &JobContext) -> Result<Arc<RasterCount>> {
        let mut known = self
            .facts()
            .tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(tally) = known.as_ref() {
            return Ok(tally.clone());
        }
        let tally = Arc::new(raster::tally(&self.raster_source()?, ctx)?);
        self.note_variable(tally.info());
        *known = Some(tally.clone());
        Ok(tally)
    }
}

/// The targeted samples of one level, in tree order.
pub struct TortillaView<'a> {
    /// The level, from 0.
    pub level: usize,
    /// The samples.
    pub samples: Vec<SampleView<'a>>,
    pub(super) notes: Mutex<Vec<RunNote>>,
    /// Indices of samples that keep their values.
    pub(super) left: Mutex<std::collections::HashSet<usize>>,
    /// Columns that could not be computed, with the reason.
    pub(super) failed: Mutex<Vec<(String, String)>>,
    pub(super) failed_samples: Mutex<Vec<(usize, Error)>>,
}

impl TortillaView<'_> {
    /// Adds a note to the run's report.
    pub fn note(&self, note: RunNote) {
        self.notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(note);
    }

    /// A column could not be computed, while others could: it keeps what it had before the run.
    pub fn fail_column(&self, column: &str, error: &Error) {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((column.to_owned(), error.to_string()));
    }

    /// The sample at this index of [`TortillaView::samples`] could not be computed: it keeps what
    /// it had before the run.
    pub fn fail_sample(&self, index: usize, error: Error) {
        self.leave(index);
        self.failed_samples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((index, error));
    }

    /// Leaves the values of the sample at this index of [`TortillaView::samples`] as they were
    /// before the run.
    pub fn leave(&self, index: usize) {
        self.left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(index);
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// True when no sample is targeted.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The values of a column, one per sample.
    pub fn column(&self, name: &str) -> Vec<Value> {
        self.samples
            .iter()
            .map(|sample| sample.value(name))
            .collect()
    }

    /// Specification of a column, when at least one sample has it.
    pub fn field(&self, name: &str) -> Option<FieldSpec> {
        self.samples
            .iter()
            .find_map(|sample| sample.field(name))
            .map(|(field, _)| field)
    }
}
