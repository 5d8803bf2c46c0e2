//! What the modules for other languages are made of: an open dataset with its samples, tables,
//! queries, bytes and pixels, and operations by name. Values cross as Arrow, bytes and JSON. Must
//! not know any of these languages.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value as Json, json};

use crate::container::{self, ContainerReader, OnDamage, OpenOptions, stream_asset};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{SampleKind, SamplePath, Skeleton, is_padding};
use crate::ops::{AnyOperation, Inspected, OperationOutput, lazy_tables, map_of_dataset};
use crate::query::{self, Query};
use crate::raster::{
    self, BandIndex, PreviewRequest, RasterInfo, ReadRequest, Resampling, Samples, Window,
    describe, preview, read_window,
};
use crate::remote;
use crate::table::LevelTable;

/// Runs the operation of this name with its request, a JSON object:
/// `{"summary", "sound", "output"}`.
///
/// # Errors
/// Those of [`AnyOperation::from_request`] and of the operation, and of programs and addresses
/// without the user's consent.
pub fn operate(name: &str, request: Json, ctx: &JobContext) -> Result<Json> {
    expect_engine()?;
    let mut operation = AnyOperation::from_request(name, request)?;
    operation.visit_paths(&mut |_, path| *path = detach_credentials(path));
    operation.need_consent()?;
    let output = operation.run(ctx)?;
    Ok(json!({
        "summary": output.summary(),
        "sound": output.is_sound(),
        "output": output.to_json(),
    }))
}

/// Threads of a forked process, which wait for requests as well as compute.
const FORKED_THREADS: usize = 16;

/// A process that may have been forked from one that used this library.
struct ForkState {
    is_forked: AtomicBool,
    /// The threads of a forked process, with its number.
    pool: Mutex<Option<(u32, Arc<ThreadPool>)>>,
}

static FORK_STATE: ForkState = ForkState {
    is_forked: AtomicBool::new(false),
    pool: Mutex::new(None),
};

/// Prepares a forked process to open datasets and to read samples, for which it starts threads of
/// its own. Datasets of the process that it was forked from are opened again. Queries and
/// operations are refused, as the query engine can't start its threads a second time.
pub fn after_fork() {
    FORK_STATE.is_forked.store(true, Ordering::SeqCst);
    remote::forget_after_fork();
    raster::forget_idle();
}

/// Refuses what needs the query engine in a forked process.
fn expect_engine() -> Result<()> {
    if !FORK_STATE.is_forked.load(Ordering::SeqCst) {
        return Ok(());
    }
    let error = Error::unsupported(
        "queries and operations don't work in a forked process, because threads are not forked",
    );
    Err(error.hint(
        "start processes with multiprocessing.get_context(\"spawn\"), or query before \
        the process is forked",
    ))
}

/// Runs `work` where parallel loops have threads, and GDAL and PROJ their state of a thread: in a
/// forked process in a pool of its own, as the state of its first thread is that of the process
/// above.
fn with_threads<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if !FORK_STATE.is_forked.load(Ordering::SeqCst) {
        return work();
    }
    let process = std::process::id();
    let pool = {
        let pool = &FORK_STATE.pool;
        let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
        match pool.as_ref() {
            Some((owner, pool)) if *owner == process => pool.clone(),
            _ => {
                let made = ThreadPoolBuilder::new().num_threads(FORKED_THREADS).build();
                let made =
                    Arc::new(made.map_err(|error| {
                        Error::internal("threads can't be started").because(error)
                    })?);
                // The pool of the process above is not freed, which would wait for its threads.
                std::mem::forget(pool.replace((process, made.clone())));
                made
            }
        }
    };
    pool.install(work)
}

/// A dataset that is open to be read.
#[derive(Clone)]
pub struct DatasetHandle {
    reader: Arc<dyn ContainerReader>,
    tree: Arc<Skeleton>,
    /// Rows of level 0, without padding.
    roots: Arc<[u32]>,
}

/// A sample of an open dataset: a row of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleRow {
    /// The level, from 0.
    pub level: usize,
    /// The row in the table of the level, from 0.
    pub row: u32,
}

/// Pixels of a window as one array of `bands × rows × columns`, in the byte order of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct PixelArray {
    /// Bands, rows, columns.
    pub shape: [usize; 3],
    /// NumPy's name of the type: `uint16`, `float32`, …. As a text of C, which is one of Rust, too.
    pub dtype: &'static CStr,
    /// The values, without gaps.
    pub bytes: Vec<u8>,
    /// For each value 1 where it is valid and 0 where the raster has no data; `None` when all are
    /// valid.
    pub valid: Option<Vec<u8>>,
}

/// Which pixels are read. Plain data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PixelRequest {
    /// Numbers of the bands, from 1, in the order of the result; none for all.
    pub bands: Option<Vec<u32>>,
    /// First column, first row, columns and rows, inside the raster; none for the whole raster.
    pub window: Option<[usize; 4]>,
    /// Columns and rows of the result; none for those of the window.
    pub size: Option<[usize; 2]>,
    /// Resampling where the size differs from the window's.
    pub resampling: Resampling,
}

impl std::fmt::Debug for DatasetHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatasetHandle")
            .field("path", &self.reader.info().path)
            .finish_non_exhaustive()
    }
}

impl DatasetHandle {
    /// Opens a dataset of any generation, local or remote.
    ///
    /// # Errors
    /// Those of opening, and of reading the tree of samples.
    pub fn open(path: &Path, options: &OpenOptions, ctx: &JobContext) -> Result<Self> {
        let mut options = options.clone();
        options
            .paths_mut()
            .for_each(|path| *path = detach_credentials(path));
        with_threads(|| {
            let reader = container::open_with(&detach_credentials(path), &options, ctx)?;
            let tree = reader.levels().skeleton(ctx)?;
            let top = tree.levels.first();
            let is_sample = |row: &u32| top.is_some_and(|level| !is_padding(level.id(*row)));
            let roots = (0..top.map_or(0, |level| level.len()) as u32)
                .filter(is_sample)
                .collect();
            Ok(Self {
                reader,
                tree,
                roots,
            })
        })
    }

    /// Path, format, levels with their columns, collection and notes, as `inspect` prints them with
    /// `--json`.
    pub fn description(&self) -> Json {
        Inspected {
            reader: self.reader.clone(),
        }
        .to_json()
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.reader.levels().count()
    }

    /// The table of a level, with the columns that the dataset stores.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a level that the dataset lacks, and those of reading it.
    pub fn table(&self, level: usize, ctx: &JobContext) -> Result<Arc<LevelTable>> {
        if level >= self.levels() {
            let error = Error::usage(format!("there is no level {level}"))
                .at_path(&self.reader.info().path);
            return Err(error.hint(format!(
                "the dataset has {} levels, counted from 0",
                self.levels()
            )));
        }
        with_threads(|| self.reader.levels().table(level, ctx))
    }

    /// The rows of a query over the tables `data`, `level0`, `level1`, …
    ///
    /// # Errors
    /// Those of [`query::run`].
    pub fn query(&self, query: &Query, ctx: &JobContext) -> Result<Arc<LevelTable>> {
        expect_engine()?;
        Ok(query::run(&lazy_tables(&self.reader), query, ctx)?.table)
    }

    /// Rows of level 0, without padding.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The samples of level 0, or of a FOLDER, without padding.
    pub fn children(&self, of: Option<SampleRow>) -> Vec<SampleRow> {
        let Some(folder) = of else {
            return self
                .roots
                .iter()
                .map(|&row| SampleRow { level: 0, row })
                .collect();
        };
        let level = folder.level + 1;
        let Some(table) = self.tree.levels.get(level) else {
            return Vec::new();
        };
        let rows = self.tree.levels[folder.level]
            .children(folder.row)
            .iter()
            .copied();
        rows.filter(|&row| !is_padding(table.id(row)))
            .map(|row| SampleRow { level, row })
            .collect()
    }

    /// The sample at ids or positions from level 0: `roi_0007/s2/t02`, `#7/#0`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] when there is none.
    pub fn find(&self, path: &str) -> Result<SampleRow> {
        let wanted = SamplePath::parse(path);
        match self.tree.find(&wanted) {
            Some((level, row)) => Ok(SampleRow { level, row }),
            None => Err(Error::usage("there is no such sample").at_place(wanted)),
        }
    }

    /// True for a row of a level of this dataset.
    pub fn has(&self, sample: SampleRow) -> bool {
        self.tree
            .levels
            .get(sample.level)
            .is_some_and(|level| (sample.row as usize) < level.len())
    }

    /// The id of a sample.
    pub fn id(&self, sample: SampleRow) -> &str {
        self.tree.levels[sample.level].id(sample.row)
    }

    /// FILE or FOLDER.
    pub fn kind(&self, sample: SampleRow) -> SampleKind {
        self.tree.levels[sample.level].kind(sample.row)
    }

    /// The path by which GDAL reads a sample: a range of the dataset's file, or a file.
    ///
    /// # Errors
    /// When the data can't be located.
    pub fn gdal_path(&self, sample: SampleRow) -> Result<String> {
        with_threads(|| Ok(self.reader.asset(sample.level, sample.row)?.0.to_vsi()))
    }

    /// The bytes of a FILE, whose checksum is compared where the container has one.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a FOLDER, and those of [`stream_asset`].
    pub fn read(&self, sample: SampleRow, ctx: &JobContext) -> Result<Vec<u8>> {
        self.expect_file(sample)?;
        with_threads(|| {
            let (asset, size) = self.reader.asset(sample.level, sample.row)?;
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            stream_asset(&asset, OnDamage::Stop, ctx, &mut |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            })?;
            Ok(bytes)
        })
    }

    /// Driver, size, bands and place of the raster in a FILE.
    ///
    /// # Errors
    /// For a FOLDER, and for a file that is no raster.
    pub fn raster_info(&self, sample: SampleRow) -> Result<Arc<RasterInfo>> {
        self.expect_file(sample)?;
        with_threads(|| describe(&self.reader.raster(sample.level, sample.row)?.0))
    }

    /// The map of the dataset as an SVG image; `None` without locations.
    ///
    /// # Errors
    /// When the metadata can't be read.
    pub fn map(&self, ctx: &JobContext) -> Result<Option<String>> {
        with_threads(|| map_of_dataset(self.reader.as_ref(), ctx))
    }

    /// A picture of the raster in a FILE as PNG: the bands, stretch and colours that the window
    /// chooses by itself, in at most `side` columns and rows.
    ///
    /// # Errors
    /// For a FOLDER, for a file that is no raster, and those of [`preview`].
    pub fn picture(&self, sample: SampleRow, side: usize, ctx: &JobContext) -> Result<Vec<u8>> {
        self.expect_file(sample)?;
        let image = with_threads(|| {
            let source = self.reader.raster(sample.level, sample.row)?.0;
            preview(
                &PreviewRequest::new(source, (side.max(1), side.max(1))),
                ctx,
            )
        });
        let image = image?.rgba;
        let failed = |error| Error::internal("the picture can't be written").because(error);
        let side_of = |side: usize| {
            u32::try_from(side)
                .map_err(|error| Error::too_large("the picture is too wide").because(error))
        };
        let mut bytes = Vec::new();
        PngEncoder::new(&mut bytes)
            .write_image(
                &image.data,
                side_of(image.width)?,
                side_of(image.height)?,
                ExtendedColorType::Rgba8,
            )
            .map_err(failed)?;
        Ok(bytes)
    }

    /// Pixels of the raster in a FILE.
    ///
    /// # Errors
    /// For a FOLDER, for bands of complex numbers, and those of [`read_window`].
    pub fn pixels(
        &self,
        sample: SampleRow,
        request: &PixelRequest,
        ctx: &JobContext,
    ) -> Result<PixelArray> {
        with_threads(|| self.read_pixels(sample, request, ctx))
    }

    fn read_pixels(
        &self,
        sample: SampleRow,
        request: &PixelRequest,
        ctx: &JobContext,
    ) -> Result<PixelArray> {
        self.expect_file(sample)?;
        let source = self.reader.raster(sample.level, sample.row)?.0;
        let info = describe(&source)?;
        let bands = match &request.bands {
            Some(numbers) => numbers
                .iter()
                .map(|&number| band_numbered(number))
                .collect::<Result<Vec<_>>>()?,
            None => (0..info.band_count).map(BandIndex::from_position).collect(),
        };
        if let Some(complex) = bands
            .iter()
            .filter_map(|index| info.band(*index))
            .find(|band| band.dtype.starts_with('C'))
        {
            let error = Error::unsupported(format!(
                "band {} has complex numbers ({})",
                complex.index, complex.dtype
            ));
            return Err(error
                .at_place(source.asset())
                .hint("read it with GDAL, by its GDAL path"));
        }
        let window = match request.window {
            Some([x, y, width, height]) => Window {
                x,
                y,
                width,
                height,
            },
            None => Window::full(info.width, info.height),
        };
        if window.clip(info.width, info.height) != Some(window) {
            let size = format!("{} × {} pixels", info.width, info.height);
            return Err(
                Error::usage(format!("the window is not inside the raster of {size}"))
                    .at_place(source.asset()),
            );
        }
        let [width, height] = request.size.unwrap_or([window.width, window.height]);
        let read = ReadRequest {
            window,
            out: (width, height),
            bands,
            resampling: request.resampling,
        };
        let pixels = read_window(&source, &read, ctx)?;
        let mut array = PixelArray {
            shape: [pixels.bands.len(), height, width],
            dtype: c"uint8",
            bytes: Vec::new(),
            valid: None,
        };
        let masked = pixels.bands.iter().any(|band| band.valid.is_some());
        let dtypes: Vec<&CStr> = pixels
            .bands
            .iter()
            .map(|band| dtype_of(&band.samples))
            .collect();
        if let Some((first, rest)) = dtypes.split_first() {
            if rest.iter().any(|other| other != first) {
                let names: Vec<_> = dtypes.iter().map(|dtype| dtype.to_string_lossy()).collect();
                let error = Error::usage(format!(
                    "the bands have several types: {}",
                    names.join(", ")
                ))
                .at_place(source.asset());
                return Err(error.hint("read those of one type at a time"));
            }
            array.dtype = first;
        }
        let mut valid = Vec::new();
        for band in &pixels.bands {
            band.samples.append_bytes(&mut array.bytes);
            if masked {
                valid.extend((0..band.samples.len()).map(|at| u8::from(band.is_valid(at))));
            }
        }
        array.valid = masked.then_some(valid);
        Ok(array)
    }

    fn expect_file(&self, sample: SampleRow) -> Result<()> {
        match self.kind(sample) {
            SampleKind::File => Ok(()),
            SampleKind::Folder => {
                let error = Error::usage("this is a FOLDER; only a FILE has bytes")
                    .at_place(self.id(sample));
                Err(error.hint("name one of its children"))
            }
        }
    }
}

/// The path as the program may know it: credentials in an address are taken off and kept apart.
pub fn detach_credentials(path: &Path) -> PathBuf {
    path.to_str()
        .map_or_else(|| path.to_owned(), |text| remote::admit(text).into())
}

fn band_numbered(number: u32) -> Result<BandIndex> {
    BandIndex::new(number).ok_or_else(|| Error::usage("bands are counted from 1"))
}

/// NumPy's name of the type.
fn dtype_of(samples: &Samples) -> &'static CStr {
    match samples {
        Samples::U8(_) => c"uint8",
        Samples::U16(_) => c"uint16",
        Samples::I16(_) => c"int16",
        Samples::U32(_) => c"uint32",
        Samples::I32(_) => c"int32",
        Samples::U64(_) => c"uint64",
        Samples::I64(_) => c"int64",
        Samples::F32(_) => c"float32",
        Samples::F64(_) => c"float64",
    }
}
