//! The only place that opens datasets. A dataset is used by one thread at a time (it is `Send`, not `Sync`), so a thread takes
//! it out of the pool and gives it back; the pool keeps the ones used last. Must never hold its lock while GDAL works.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};

use super::info::{self, RasterInfo, Subdataset};
use super::{environment, messages};
use crate::error::{Error, IoContext, Result};
use crate::model::AssetPath;

/// Datasets kept open while nobody uses them. Each may hold a file handle and a few blocks of pixels.
const IDLE_KEPT: usize = 12;

/// A subdataset is opened when its parent has no pixels of its own; deeper nesting is somebody's loop.
const SUBDATASETS_TRIED: usize = 4;

/// An open dataset with its description.
pub(super) struct Opened {
    pub dataset: Dataset,
    pub info: Arc<RasterInfo>,
}

/// What tells whether a local file changed since it was opened: length and time of the last change.
type Stamp = Option<(u64, Option<SystemTime>)>;

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
        if std::thread::panicking() {
            return;
        }
        let mut idle = idle();
        idle.push(Idle { asset: self.asset.clone(), stamp: self.stamp, opened });
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
    let stamp = check(asset)?;
    let known = {
        let mut idle = idle();
        let position = idle.iter().rposition(|entry| entry.asset == *asset);
        position.map(|position| idle.remove(position))
    };
    let opened = match known {
        Some(entry) if entry.stamp == stamp => entry.opened,
        stale => {
            drop(stale);
            open(asset, stamp.map(|(length, _)| length))?
        }
    };
    Ok(Lease { asset: asset.clone(), stamp, opened: Some(opened) })
}

/// Refuses early what GDAL would only call "not recognized": a missing file, a folder without a format, a range outside its file.
fn check(asset: &AssetPath) -> Result<Stamp> {
    let Some(path) = asset.local_file() else { return Ok(None) };
    if matches!(asset, AssetPath::File(_)) && is_connection(path) {
        return Ok(None);
    }
    let metadata = std::fs::metadata(path).io_at("open the raster", path)?;
    let length = metadata.len();
    if let AssetPath::Range { offset, size, .. } = asset {
        if *size == 0 {
            return Err(Error::format("this sample holds no bytes").at(asset).hint("it is padding, or its size was written as 0"));
        }
        if offset.checked_add(*size).is_none_or(|end| end > length) {
            let summary = format!("bytes {offset} to {} lie outside the file, which has {length}", offset.saturating_add(*size));
            return Err(Error::format(summary)
                .at(asset)
                .hint("check the dataset: the container was cut, or the offsets belong to another file"));
        }
    } else if metadata.is_file() && length == 0 {
        return Err(Error::format("the file is empty").at(asset));
    }
    Ok(Some((length, metadata.modified().ok())))
}

/// `NETCDF:"file":variable` and the like arrive as plain paths when somebody types them.
fn is_connection(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let prefix = text.split(':').next().unwrap_or_default();
    prefix.len() > 1 && prefix.len() < text.len() && prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !path.exists()
}

fn open(asset: &AssetPath, length: Option<u64>) -> Result<Opened> {
    let size_bytes = match asset {
        AssetPath::Range { size, .. } => Some(*size),
        _ => length.filter(|_| asset.local_file().is_some_and(Path::is_file)),
    };
    let dataset = open_vsi(&asset.to_vsi(), asset)?;
    let subdatasets = subdatasets(&dataset);
    if dataset.raster_count() == 0 {
        for candidate in subdatasets.iter().take(SUBDATASETS_TRIED) {
            let Ok(inner) = open_vsi(&candidate.name, asset) else { continue };
            if inner.raster_count() > 0 {
                let info = info::collect(&inner, size_bytes, subdatasets.clone(), Some(candidate.name.clone()));
                return Ok(Opened { dataset: inner, info: Arc::new(info) });
            }
        }
    }
    let info = info::collect(&dataset, size_bytes, subdatasets, None);
    Ok(Opened { dataset, info: Arc::new(info) })
}

fn open_vsi(vsi: &str, asset: &AssetPath) -> Result<Dataset> {
    let flags = GdalOpenFlags::GDAL_OF_READONLY
        | GdalOpenFlags::GDAL_OF_RASTER
        | GdalOpenFlags::GDAL_OF_VECTOR
        | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    let options = DatasetOptions { open_flags: flags, ..Default::default() };
    let _cache = RemoteCache::on_for(vsi);
    let (opened, said) = messages::listen(|| Dataset::open_ex(vsi, options));
    opened.map_err(|error| {
        let summary = Error::format("GDAL could not open the raster").at(asset);
        messages::because(summary, &said, Some(&error)).hint(hint_for(vsi))
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
