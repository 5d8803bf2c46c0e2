//! An open dataset, its samples and its tables.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatchIterator;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule};
use serde_json::Value as Json;
use taco_studio::binding::{DatasetHandle, PixelRequest, SampleRow};
use taco_studio::container::OpenOptions;
use taco_studio::jobs::JobContext;
use taco_studio::model::SampleKind;
use taco_studio::query::Query;
use taco_studio::raster::Resampling;
use taco_studio::table::{LevelTable, cell_json};

use crate::errors::{json_error, raised};
use crate::job;

/// A dataset that is open to be read: any generation, local or remote.
#[pyclass(module = "taco_studio", frozen)]
pub struct Dataset {
    open: DatasetHandle,
}

/// A sample: a FILE or a FOLDER of an open dataset.
#[pyclass(module = "taco_studio", frozen)]
pub struct Sample {
    open: DatasetHandle,
    row: SampleRow,
}

/// A table in Arrow's form, which pyarrow, polars, pandas and DuckDB take without a copy.
#[pyclass(module = "taco_studio", frozen)]
pub struct Table {
    table: Arc<LevelTable>,
}

/// What selects a sample: a position or an id.
#[derive(FromPyObject)]
enum SampleKey {
    Position(isize),
    Path(String),
}

/// The child at a position or with an id.
fn child(
    py: Python<'_>,
    open: &DatasetHandle,
    of: Option<SampleRow>,
    key: SampleKey,
) -> PyResult<Sample> {
    let made = |row| {
        Ok(Sample {
            open: open.clone(),
            row,
        })
    };
    let children = if of.is_some() {
        open.children(of)
    } else {
        Vec::new()
    };
    let count = if of.is_some() {
        children.len()
    } else {
        open.roots().len()
    };
    match key {
        SampleKey::Position(at) => {
            let position = usize::try_from(if at < 0 { at + count as isize } else { at })
                .ok()
                .filter(|position| *position < count);
            let Some(position) = position else {
                return Err(PyIndexError::new_err(format!(
                    "there are {count} samples, no sample {at}"
                )));
            };
            made(
                children
                    .get(position)
                    .copied()
                    .unwrap_or_else(|| SampleRow {
                        level: 0,
                        row: open.roots()[position],
                    }),
            )
        }
        SampleKey::Path(path) if of.is_none() && path.contains('/') => {
            made(open.find(&path).map_err(|error| raised(py, &error))?)
        }
        SampleKey::Path(id) => {
            let roots = open
                .roots()
                .iter()
                .map(|&row| SampleRow { level: 0, row })
                .filter(|_| of.is_none());
            let found = children
                .into_iter()
                .chain(roots)
                .find(|row| open.id(*row) == id);
            found.map_or_else(|| Err(PyKeyError::new_err(id)), made)
        }
    }
}

#[pymethods]
impl Dataset {
    /// Opens the dataset at a path or an address; `options` is a JSON object as in the requests of
    /// operations (`open`).
    #[new]
    #[pyo3(signature = (path, options=None, progress=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&str>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options: OpenOptions = options
            .map(serde_json::from_str)
            .transpose()
            .map_err(json_error)?
            .unwrap_or_default();
        let (open, _) = job::run(py, "open", progress.as_ref(), move |ctx| {
            DatasetHandle::open(&path, &options, ctx)
        })?;
        Ok(Self { open })
    }

    /// Number of levels.
    #[getter]
    fn levels(&self) -> usize {
        self.open.levels()
    }

    /// Path, format, levels, collection and notes, as JSON.
    fn description(&self) -> String {
        self.open.description().to_string()
    }

    /// The map of the dataset as an SVG image, or None without locations.
    fn map(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let open = self.open.clone();
        Ok(job::run(py, "map", None, move |ctx| open.map(ctx))?.0)
    }

    /// The table of a level, with the columns that the dataset stores.
    #[pyo3(signature = (level=0))]
    fn table(&self, py: Python<'_>, level: usize) -> PyResult<Table> {
        let open = self.open.clone();
        let (table, _) = job::run(py, "table", None, move |ctx| open.table(level, ctx))?;
        Ok(Table { table })
    }

    /// The rows of a query, a JSON object with `sql`, `filters`, `steps` and `limit`, over the
    /// tables data, level0, level1, …
    #[pyo3(signature = (query, progress=None))]
    fn query(
        &self,
        py: Python<'_>,
        query: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let query: Query = serde_json::from_str(query).map_err(json_error)?;
        let open = self.open.clone();
        let (table, _) = job::run(py, "query", progress.as_ref(), move |ctx| {
            open.query(&query, ctx)
        })?;
        Ok(Table { table })
    }

    /// Number of samples of level 0, without padding.
    fn __len__(&self) -> usize {
        self.open.roots().len()
    }

    /// Rows of the samples of level 0 in its table, in their order.
    fn rows(&self) -> Vec<u32> {
        self.open.roots().to_vec()
    }

    /// The sample at a position of level 0, with an id of level 0, or at a path such as
    /// `roi_0007/s2/t02`.
    fn __getitem__(&self, py: Python<'_>, key: SampleKey) -> PyResult<Sample> {
        child(py, &self.open, None, key)
    }

    /// The sample at a row of a level.
    fn sample(&self, level: usize, row: u32) -> PyResult<Sample> {
        let row = SampleRow { level, row };
        if self.open.has(row) {
            Ok(Sample {
                open: self.open.clone(),
                row,
            })
        } else {
            Err(PyIndexError::new_err(format!(
                "level {level} has no row {}",
                row.row
            )))
        }
    }

    /// Ids of level 0.
    fn ids(&self) -> Vec<String> {
        self.open
            .children(None)
            .into_iter()
            .map(|row| self.open.id(row).to_owned())
            .collect()
    }

    fn __repr__(&self) -> String {
        format!(
            "<taco_studio.Dataset of {} samples, {} levels>",
            self.__len__(),
            self.levels()
        )
    }
}

#[pymethods]
impl Sample {
    /// Its id.
    #[getter]
    fn id(&self) -> &str {
        self.open.id(self.row)
    }

    /// FILE or FOLDER.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.open.kind(self.row) {
            SampleKind::File => "FILE",
            SampleKind::Folder => "FOLDER",
        }
    }

    /// The level, from 0.
    #[getter]
    fn level(&self) -> usize {
        self.row.level
    }

    /// The row in the table of the level, from 0.
    #[getter]
    fn row(&self) -> u32 {
        self.row.row
    }

    /// The path by which GDAL, rasterio and others read it.
    #[getter]
    fn gdal_path(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.open.gdal_path(self.row))
            .map_err(|error| raised(py, &error))
    }

    /// The bytes of a FILE.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (open, row) = (self.open.clone(), self.row);
        let (bytes, _) = job::run(py, "read", None, move |ctx| open.read(row, ctx))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Driver, size, bands and place of the raster in a FILE, as JSON.
    fn raster_info(&self, py: Python<'_>) -> PyResult<String> {
        let info = py
            .detach(|| self.open.raster_info(self.row))
            .map_err(|error| raised(py, &error))?;
        serde_json::to_string(&*info).map_err(json_error)
    }

    /// A picture of the raster in a FILE as PNG, in at most `side` columns and rows.
    #[pyo3(signature = (side=256))]
    fn picture<'py>(&self, py: Python<'py>, side: usize) -> PyResult<Bound<'py, PyBytes>> {
        let picture = py
            .detach(|| self.open.picture(self.row, side, &JobContext::default()))
            .map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &picture))
    }

    /// Pixels of the raster in a FILE: the values, their shape (bands, rows, columns), NumPy's name
    /// of their type, and the validity of each value or None where all are valid.
    #[pyo3(signature = (bands=None, window=None, size=None, resampling="nearest"))]
    #[allow(clippy::type_complexity, reason = "a tuple is what Python takes apart")]
    fn pixels<'py>(
        &self,
        py: Python<'py>,
        bands: Option<Vec<u32>>,
        window: Option<[usize; 4]>,
        size: Option<[usize; 2]>,
        resampling: &str,
    ) -> PyResult<(
        Bound<'py, PyByteArray>,
        [usize; 3],
        String,
        Option<Bound<'py, PyByteArray>>,
    )> {
        let resampling: Resampling =
            serde_json::from_value(resampling.into()).map_err(json_error)?;
        let request = PixelRequest {
            bands,
            window,
            size,
            resampling,
        };
        let read = || self.open.pixels(self.row, &request, &JobContext::default());
        let array = py.detach(read).map_err(|error| raised(py, &error))?;
        let valid = array.valid.map(|valid| PyByteArray::new(py, &valid));
        Ok((
            PyByteArray::new(py, &array.bytes),
            array.shape,
            array.dtype.to_string_lossy().into_owned(),
            valid,
        ))
    }

    /// Number of children of a FOLDER, without padding; 0 for a FILE.
    fn __len__(&self) -> usize {
        self.open.children(Some(self.row)).len()
    }

    /// A FILE is true too, although it has no children.
    fn __bool__(&self) -> bool {
        true
    }

    /// The child at a position or with an id.
    fn __getitem__(&self, py: Python<'_>, key: SampleKey) -> PyResult<Self> {
        child(py, &self.open, Some(self.row), key)
    }

    /// Ids of the children.
    fn ids(&self) -> Vec<String> {
        self.open
            .children(Some(self.row))
            .into_iter()
            .map(|row| self.open.id(row).to_owned())
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<taco_studio.Sample {} {:?}>", self.kind(), self.id())
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.table
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }

    /// Arrow's PyCapsule interface. The requested schema is not regarded, which the interface
    /// allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<_> = self.table.batches().iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.table.schema().clone());
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(reader)),
            c"arrow_array_stream",
        )
    }

    /// The rows as dictionaries, with values as `taco-studio query --format json` prints them:
    /// times as texts, bytes in hexadecimal.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = self.column_names();
        let cell = |row: usize, column: usize| {
            self.table
                .locate(row, column)
                .map_or(Json::Null, |(array, at)| cell_json(array, at))
        };
        let dictionary = |row: usize| {
            names
                .iter()
                .enumerate()
                .map(|(column, name)| (name.clone(), cell(row, column)))
                .collect()
        };
        let rows: Vec<Json> = (0..self.table.rows())
            .map(|row| Json::Object(dictionary(row)))
            .collect();
        py.import("json")?
            .call_method1("loads", (Json::Array(rows).to_string(),))
    }

    /// As a table of pyarrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// As a frame of pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// As a frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    fn __repr__(&self) -> String {
        format!(
            "<taco_studio.Table of {} rows: {}>",
            self.table.rows(),
            self.column_names().join(", ")
        )
    }
}
