//! The only place that opens datasets. A dataset is used by one thread at a time (it is `Send`, not `Sync`), so a thread takes
//! it out of the pool and gives it back; the pool keeps the ones used last. Must never hold its lock while GDAL works.

use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};
use tempfile::TempPath;

use super::info::{self, RasterInfo, Subdataset};
use super::mount::{self, Mounted, Place};
use super::scientific::{self, Turn};
use super::{environment, messages};
use crate::error::{Error, IoContext, Result};
use crate::model::AssetPath;
use crate::remote::Identity;

/// Datasets kept open while nobody uses them. Each may hold a file handle and a few blocks of pixels.
const IDLE_KEPT: usize = 12;

/// A subdataset is opened when its parent has no pixels of its own; deeper nesting is somebody's loop.
const SUBDATASETS_TRIED: usize = 4;

/// Samples above this are not copied to be opened.
const COPY_LIMIT_BYTES: u64 = 512 << 20;

/// Copied at a time.
const COPY_CHUNK: u64 = 8 << 20;

/// An open dataset with its description.
pub(super) struct Opened {
    pub dataset: Dataset,
    pub info: Arc<RasterInfo>,
    /// The file behind the dataset, where that is a copy. Fields are dropped in order, so it goes after the dataset.
    _copy: Option<TempPath>,
    /// The remote file behind it, likewise.
    mounted: Option<Mounted>,
}

impl Opened {
    /// False when the file was opened anew since, with other credentials for example.
    fn reads(&self, place: Option<&Place>) -> bool {
        match (&self.mounted, place) {
            (Some(mounted), Some(place)) => mounted.reads(&place.file),
            (mounted, place) => mounted.is_none() && place.is_none(),
        }
    }
}

/// What tells whether a file changed since it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    /// Nothing to tell by.
    None,
    /// Length and time of the last change of a local file.
    Local(u64, Option<SystemTime>),
    /// The version of a remote one.
    Remote(Identity),
}

struct Idle {
    asset: AssetPath,
    stamp: Stamp,
    opened: Opened,
}

/// Last used at the end.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A dataset for this thread alone; goes back to the pool when dropped.
pub(super) struct Lease {
    asset: AssetPath,
    stamp: Stamp,
    opened: Option<Opened>,
    /// For HDF5 and netCDF. Dropped last: closing is using, too.
    turn: Option<Turn>,
}

impl Deref for Lease {
    type Target = Opened;

    fn deref(&self) -> &Opened {
        self.opened.as_ref().expect("a lease holds its dataset until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(opened) = self.opened.take() else { return };
        // What needs a turn is closed within it, never kept for a later moment.
        if std::thread::panicking() || self.turn.is_some() {
            return;
        }
        let mut idle = idle();
        idle.push(Idle { asset: self.asset.clone(), stamp: self.stamp.clone(), opened });
        let surplus = (idle.len() > IDLE_KEPT).then(|| idle.remove(0));
        drop(idle);
        drop(surplus);
    }
}

/// Closes every dataset that nobody uses, so that its file can be replaced or deleted.
pub fn close_idle() {
    let closed = std::mem::take(&mut *idle());
    drop(closed);
}

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open dataset for `asset`: from the pool when the file has not changed meanwhile.
pub(super) fn lease(asset: &AssetPath) -> Result<Lease> {
    environment::init();
    mount::take_fault();
    let place = mount::place_of(asset)?;
    let stamp = match &place {
        Some(place) => check_remote(asset, place)?,
        None => check(asset)?,
    };
    let turn = scientific::turn_for(asset);
    let known = {
        let mut idle = idle();
        let position = idle.iter().rposition(|entry| entry.asset == *asset);
        position.map(|position| idle.remove(position))
    };
    let opened = match known {
        Some(entry) if entry.stamp == stamp && entry.opened.reads(place.as_ref()) => entry.opened,
        stale => {
            drop(stale);
            open(asset, &stamp, place)?
        }
    };
    Ok(Lease { asset: asset.clone(), stamp, opened: Some(opened), turn })
}

/// Refuses early what GDAL would only call "not recognized": a missing file, a folder without a format, a range outside its file.
fn check(asset: &AssetPath) -> Result<Stamp> {
    let Some(path) = asset.local_file() else { return Ok(Stamp::None) };
    if matches!(asset, AssetPath::File(_)) && is_connection(path) {
        return Ok(Stamp::None);
    }
    let metadata = crate::files::metadata(path).io_at("open the raster", path)?;
    let length = metadata.len();
    check_range(asset, length)?;
    if matches!(asset, AssetPath::File(_)) && metadata.is_file() && length == 0 {
        return Err(Error::format("the file is empty").at(asset));
    }
    Ok(Stamp::Local(length, metadata.modified().ok()))
}

fn check_remote(asset: &AssetPath, place: &Place) -> Result<Stamp> {
    check_range(asset, place.file.size_bytes())?;
    Ok(Stamp::Remote(place.file.identity().clone()))
}

fn check_range(asset: &AssetPath, length: u64) -> Result<()> {
    let AssetPath::Range { offset, size, .. } = asset else { return Ok(()) };
    if *size == 0 {
        return Err(Error::format("this sample holds no bytes").at(asset).hint("it is padding, or its size was written as 0"));
    }
    if offset.checked_add(*size).is_none_or(|end| end > length) {
        let summary = format!("bytes {offset} to {} lie outside the file, which has {length}", offset.saturating_add(*size));
        return Err(Error::format(summary)
            .at(asset)
            .hint("check the dataset: the container was cut, or the offsets belong to another file"));
    }
    Ok(())
}

/// `NETCDF:"file":variable` and the like arrive as plain paths when somebody types them.
fn is_connection(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let prefix = text.split(':').next().unwrap_or_default();
    prefix.len() > 1 && prefix.len() < text.len() && prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !path.exists()
}

fn open(asset: &AssetPath, stamp: &Stamp, place: Option<Place>) -> Result<Opened> {
    let size_bytes = match (asset, stamp) {
        (AssetPath::Range { size, .. }, _) => Some(*size),
        (_, Stamp::Remote(identity)) => Some(identity.size),
        (_, Stamp::Local(length, _)) => Some(*length).filter(|_| asset.local_file().is_some_and(Path::is_file)),
        (_, Stamp::None) => None,
    };
    let mounted = place.as_ref().map(|place| Mounted::new(place, asset)).transpose()?;
    let vsi = mounted.as_ref().map_or_else(|| asset.to_vsi(), |mounted| mounted.path().to_owned());
    let direct = open_vsi(&vsi, None, asset);
    if let Some((dataset, copy)) = as_netcdf(asset, place.as_ref(), &direct) {
        // Names inside the copy end with it; those inside the container last.
        let subdatasets = direct.as_ref().map(subdatasets).unwrap_or_default();
        let shown = subdatasets.first().map(|first| first.name.clone());
        let info = info::collect(&dataset, size_bytes, subdatasets, shown);
        return Ok(Opened { dataset, info: Arc::new(info), _copy: Some(copy), mounted });
    }
    let dataset = direct?;
    let subdatasets = subdatasets(&dataset);
    let (dataset, shown) = with_pixels(dataset, &subdatasets, asset);
    let info = info::collect(&dataset, size_bytes, subdatasets, shown);
    Ok(Opened { dataset, info: Arc::new(info), _copy: None, mounted })
}

/// The dataset itself, or its first subdataset with bands when it has none of its own.
fn with_pixels(dataset: Dataset, subdatasets: &[Subdataset], asset: &AssetPath) -> (Dataset, Option<String>) {
    if dataset.raster_count() == 0 {
        for candidate in subdatasets.iter().take(SUBDATASETS_TRIED) {
            if let Ok(inner) = open_vsi(&candidate.name, None, asset)
                && inner.raster_count() > 0
            {
                return (inner, Some(candidate.name.clone()));
            }
        }
    }
    (dataset, None)
}

/// The netCDF library reads only whole files. Inside a container GDAL's HDF5 driver steps in, which knows no coordinates, or
/// nothing does: then a copy of the sample is opened, if that brings something.
fn as_netcdf(asset: &AssetPath, place: Option<&Place>, direct: &Result<Dataset>) -> Option<(Dataset, TempPath)> {
    let (start, size) = match (asset, place) {
        (AssetPath::Range { offset, size, .. }, _) => (*offset, *size),
        (_, Some(place)) => (place.start, place.size),
        _ => return None,
    };
    let by_hdf5 = direct.as_ref().is_ok_and(|dataset| dataset.driver().short_name().starts_with("HDF5"));
    if !(4..=COPY_LIMIT_BYTES).contains(&size) || !(by_hdf5 || direct.is_err()) {
        return None;
    }
    let mut read: Box<dyn FnMut(u64, u64) -> Option<Vec<u8>>> = match (place, asset.local_file()) {
        (Some(place), _) => Box::new(|at, length| Some(place.file.read(at, length).ok()?.to_vec())),
        (None, path) => {
            let mut file = crate::files::open(path?).ok()?;
            Box::new(move |at, length| {
                let mut bytes = vec![0; length as usize];
                file.seek(SeekFrom::Start(at)).ok()?;
                file.read_exact(&mut bytes).ok()?;
                Some(bytes)
            })
        }
    };
    let magic = read(start, 4)?;
    if !magic.starts_with(b"CDF") && magic != *b"\x89HDF" {
        return None;
    }
    let mut copy = tempfile::Builder::new().prefix("taco-studio-").suffix(".nc").tempfile().ok()?;
    let mut done = 0;
    while done < size {
        let bytes = read(start + done, COPY_CHUNK.min(size - done))?;
        copy.write_all(&bytes).ok()?;
        done += bytes.len() as u64;
    }
    let copy = copy.into_temp_path();
    let dataset = open_vsi(&copy.to_string_lossy(), Some(&["netCDF"]), asset).ok()?;
    let inner = subdatasets(&dataset);
    let (dataset, _) = with_pixels(dataset, &inner, asset);
    let placed = dataset.geo_transform().is_ok() || dataset.spatial_ref().is_ok();
    (dataset.raster_count() > 0 && (placed || direct.is_err())).then_some((dataset, copy))
}

fn open_vsi(vsi: &str, drivers: Option<&[&str]>, asset: &AssetPath) -> Result<Dataset> {
    let flags = GdalOpenFlags::GDAL_OF_READONLY
        | GdalOpenFlags::GDAL_OF_RASTER
        | GdalOpenFlags::GDAL_OF_VECTOR
        | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    let options = DatasetOptions { open_flags: flags, allowed_drivers: drivers, ..Default::default() };
    let _cache = RemoteCache::on_for(vsi);
    let (opened, said) = messages::listen(|| Dataset::open_ex(vsi, options));
    opened.map_err(|error| {
        let faulty = mount::has_fault();
        let summary = Error::format("GDAL could not open the raster").at(asset);
        let told = messages::because(summary, &said, Some(&error));
        if faulty { told } else { told.hint(hint_for(vsi)) }
    })
}

fn hint_for(vsi: &str) -> &'static str {
    if is_remote(vsi) {
        "check the address and the credentials; the log has what the server said"
    } else {
        "the file may be damaged, not a raster, or of a format that `taco-studio --version` does not list"
    }
}

fn is_remote(vsi: &str) -> bool {
    ["/vsicurl", "/vsis3", "/vsigs", "/vsiaz", "/vsiadls", "/vsioss", "/vsiswift"].iter().any(|prefix| vsi.contains(prefix))
}

/// Keeps GDAL's read cache on while a remote file is being opened. For local files it would only cost memory.
struct RemoteCache(bool);

impl RemoteCache {
    fn on_for(vsi: &str) -> Self {
        let wanted = is_remote(vsi) && std::env::var_os("VSI_CACHE").is_none();
        Self(wanted && gdal::config::set_thread_local_config_option("VSI_CACHE", "TRUE").is_ok())
    }
}

impl Drop for RemoteCache {
    fn drop(&mut self) {
        if self.0 {
            let _ = gdal::config::clear_thread_local_config_option("VSI_CACHE");
        }
    }
}

fn subdatasets(dataset: &Dataset) -> Vec<Subdataset> {
    let entries = dataset.metadata_domain("SUBDATASETS").unwrap_or_default();
    let value = |key: String| entries.iter().find_map(|entry| entry.strip_prefix(&key)?.strip_prefix('=').map(str::to_owned));
    (1..)
        .map_while(|number| {
            let name = value(format!("SUBDATASET_{number}_NAME"))?;
            Some(Subdataset { name, description: value(format!("SUBDATASET_{number}_DESC")).unwrap_or_default() })
        })
        .collect()
}
