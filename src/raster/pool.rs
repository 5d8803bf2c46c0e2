//! Opens GDAL datasets (members of a TACO dataset through [`super::fence`]) and caches the most
//! recently used ones. A GDAL dataset is `Send` but not `Sync`: a thread takes it out of the pool
//! and returns it. The pool's lock is never held during a GDAL call.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};

use super::fence::{self, Fence};
use super::hdf5_lock::{self, Turn};
use super::info::{self, RasterInfo};
use super::unread_text::{TEXT_HEAD, unread_text_error};
use super::variable::Subdataset;
use super::vsi_plugin::{self, Mounted, MountedRange};
use super::{RasterSource, VariableRead, codec, environment, gdal_errors, variable};
use crate::error::{Cause, Error, IoContext, Kind, Result};
use crate::model::{AssetPath, Stamp as Version};
use crate::remote::FileIdentity;

/// Maximum number of subdatasets tried when the parent has no bands.
const SUBDATASETS_TRIED: usize = 4;

/// Bytes that identify a file that no driver opens.
const PAGE_HEAD: u64 = 256;
const GZIP: &[u8] = b"\x1f\x8b";

/// Idle datasets kept open. Each may hold a file handle and a few blocks of pixels.
const IDLE_KEPT: usize = 12;

/// An open dataset with its description.
pub(super) struct PooledDataset {
    pub dataset: Dataset,
    pub info: Arc<RasterInfo>,
    /// The temporary file that GDAL reads instead of the sample, if any. Declared after `dataset`:
    /// fields drop in order.
    _copy: Option<fence::Copy>,
    /// The virtual file behind the dataset; dropped after it.
    mounted: Option<Mounted>,
}

impl PooledDataset {
    /// False when the remote file was reopened since this dataset was, for example with other
    /// credentials.
    fn reads(&self, place: Option<&MountedRange>) -> bool {
        match (&self.mounted, place) {
            (Some(mounted), Some(place)) => mounted.reads(&place.file),
            // Changes of local files are detected by their stamps.
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }
}

/// State of a file by which a later change is detected.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PooledStamp {
    /// Changes can't be detected: GDAL path or connection string.
    None,
    /// Length and time of the last change of a local file.
    Local(u64, Option<SystemTime>),
    /// Version of a remote file.
    Remote(FileIdentity),
}

struct Idle {
    source: RasterSource,
    stamp: PooledStamp,
    opened: PooledDataset,
}

/// Idle datasets, most recently used last.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// Exclusive use of a dataset; returns it to the pool on drop.
pub(super) struct Lease {
    source: RasterSource,
    stamp: PooledStamp,
    opened: Option<PooledDataset>,
    /// HDF5 lock, held until the dataset is closed.
    turn: Option<Turn>,
    /// Set for members: reading, like opening, can resolve coordinate systems.
    _fence: Option<Fence>,
}

impl Deref for Lease {
    type Target = PooledDataset;

    #[expect(
        clippy::expect_used,
        reason = "nothing but `drop` takes the dataset out"
    )]
    fn deref(&self) -> &PooledDataset {
        self.opened
            .as_ref()
            .expect("a lease holds its dataset until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(opened) = self.opened.take() else {
            return;
        };
        // A dataset that needs the HDF5 lock is closed while holding it and not returned to the
        // pool.
        if std::thread::panicking() || self.turn.is_some() {
            return;
        }
        let mut idle = idle();
        idle.push(Idle {
            source: self.source.clone(),
            stamp: self.stamp.clone(),
            opened,
        });
        let surplus = (idle.len() > IDLE_KEPT).then(|| idle.remove(0));
        drop(idle);
        drop(surplus);
    }
}

/// Closes every idle dataset, so that its file can be replaced or deleted.
pub fn close_idle() {
    let closed = std::mem::take(&mut *idle());
    drop(closed);
}

/// Forgets the datasets of the process that this one was forked from, with which they share the
/// positions in files. Nothing is closed.
pub fn forget_idle() {
    std::mem::forget(std::mem::take(&mut *idle()));
}

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open dataset for `source`, from the pool if the file has not changed.
///
/// # Errors
/// [`Kind::Io`], [`Kind::Changed`] or [`Kind::Format`] for a file that is missing, changed or
/// empty, or a range outside of its container; [`Kind::Unsupported`] for a member that refers to
/// other files or is a GDAL path; [`Kind::Format`] with GDAL's reason when GDAL can't open it.
pub(super) fn lease(source: &RasterSource) -> Result<Lease> {
    environment::init();
    vsi_plugin::take_fault();
    let asset = source.asset();
    let place = vsi_plugin::place_of(asset)?;
    let stamp = match &place {
        Some(place) => check_remote(asset, place)?,
        None => check(source)?,
    };
    let fence = source.is_fenced().then(Fence::up);
    let turn = hdf5_lock::turn_for(source);
    let known = {
        let mut idle = idle();
        let position = idle.iter().rposition(|entry| entry.source == *source);
        position.map(|position| idle.remove(position))
    };
    let (opened, turn) = match known {
        Some(entry) if entry.stamp == stamp && entry.opened.reads(place.as_ref()) => {
            (entry.opened, turn)
        }
        stale => {
            drop(stale);
            if place.is_none()
                && let Some(error) = unfetched_asset_error(asset, &stamp)
            {
                return Err(error);
            }
            let opened = if source.is_fenced() {
                open_member(source, &stamp, place).map(|opened| (opened, turn))
            } else {
                open_own(source, &stamp, place, turn)
            };
            opened.map_err(|error| explain_open_error(error, asset, &stamp))?
        }
    };
    Ok(Lease {
        source: source.clone(),
        stamp,
        opened: Some(opened),
        turn,
        _fence: fence,
    })
}

/// Reads the headers of `source`.
///
/// # Errors
/// [`Kind::Io`], [`Kind::Changed`] or [`Kind::Format`] for a file that is missing, changed or
/// damaged; [`Kind::Unsupported`] for a member that refers to other files.
pub fn describe(source: &RasterSource) -> Result<Arc<RasterInfo>> {
    Ok(lease(source)?.info.clone())
}

/// Reads the headers of this variable if the file of `source` has it, else those of `source`; with
/// the source of what was read.
///
/// # Errors
/// As [`describe`].
pub fn describe_variable(
    source: RasterSource,
    variable: Option<Arc<str>>,
) -> Result<(RasterSource, Arc<RasterInfo>)> {
    if variable.is_some() {
        let chosen = source.clone().with_variable(variable);
        match describe(&chosen) {
            Ok(info) => return Ok((chosen, info)),
            Err(error) if error.is_caused_by(Cause::NoVariable) => {}
            Err(error) => return Err(error),
        }
    }
    let info = describe(&source)?;
    Ok((source, info))
}

/// At most `most` bytes from the start of an asset; `None` for GDAL paths that are not plain bytes.
pub(super) fn head(asset: &AssetPath, most: u64) -> Result<Option<Vec<u8>>> {
    let place = vsi_plugin::place_of(asset)?;
    let stamp = match &place {
        Some(place) => check_remote(asset, place)?,
        None if matches!(asset, AssetPath::Vsi(_)) => return Ok(None),
        None => check(&RasterSource::member(asset.clone()))?,
    };
    Ok(Some(mount(asset, &stamp, place)?.read(0, most)?))
}

/// The bytes of a file of this machine, or of a range of one; `None` for other assets.
///
/// # Errors
/// Those of [`describe`] for a file that is missing, changed or empty.
pub(super) fn mount_local(asset: &AssetPath) -> Result<Option<Mounted>> {
    let is_file = matches!(asset, AssetPath::File(_) | AssetPath::Range { .. });
    if !is_file || asset.remote_file().is_some() {
        return Ok(None);
    }
    let stamp = check(&RasterSource::member(asset.clone()))?;
    mount(asset, &stamp, None).map(Some)
}

/// Checks for faults that GDAL reports only as "not recognized": missing file, folder, range
/// outside of its container.
fn check(source: &RasterSource) -> Result<PooledStamp> {
    let asset = source.asset();
    if let AssetPath::Packed(member) = asset {
        return match member.size {
            0 => Err(Error::format("the file is empty").at_place(asset)),
            size => crate::unpack::expect_archive(member).map(|()| PooledStamp::Local(size, None)),
        };
    }
    let Some(path) = asset.local_file() else {
        return if source.is_fenced() {
            Err(
                Error::unsupported("a path that only GDAL can open is no sample of a dataset")
                    .at_place(asset),
            )
        } else {
            Ok(PooledStamp::None)
        };
    };
    if !source.is_fenced() && is_connection(path) {
        return Ok(PooledStamp::None);
    }
    let metadata = crate::files::metadata(path).io_at("open the raster", path)?;
    if source.is_fenced() && !metadata.is_file() {
        return Err(Error::format("this is no file but a folder, pipe or device").at_place(asset));
    }
    let length = metadata.len();
    check_version(asset, &metadata)?;
    check_range(asset, length)?;
    if matches!(asset, AssetPath::File(_)) && metadata.is_file() && length == 0 {
        return Err(Error::format("the file is empty").at_place(asset));
    }
    Ok(PooledStamp::Local(length, metadata.modified().ok()))
}

fn check_remote(asset: &AssetPath, place: &MountedRange) -> Result<PooledStamp> {
    check_range(asset, place.file.size_bytes())?;
    Ok(PooledStamp::Remote(place.file.identity().clone()))
}

/// Refuses a range of a container that changed since the range was found: it would return another
/// sample's pixels. If the fingerprint of the archive's directory is known, only the length is
/// compared: a copy has another modification time.
fn check_version(asset: &AssetPath, metadata: &std::fs::Metadata) -> Result<()> {
    let Some(known) = asset.stamp() else {
        return Ok(());
    };
    let found = Version::of_file(metadata);
    if found.size == known.size && (known.directory.is_some() || found.agrees(known)) {
        return Ok(());
    }
    let error = Error::new(
        Kind::Changed,
        "the file was written to since this sample was found in it",
    )
    .at_place(asset);
    Err(error.hint("open the dataset again"))
}

fn check_range(asset: &AssetPath, length: u64) -> Result<()> {
    let AssetPath::Range { offset, size, .. } = asset else {
        return Ok(());
    };
    if *size == 0 {
        return Err(Error::format("this sample holds no bytes")
            .at_place(asset)
            .hint("it is padding, or its size was written as 0"));
    }
    if offset.checked_add(*size).is_none_or(|end| end > length) {
        let summary = format!(
            "bytes {offset} to {} are outside the file, which has {length}",
            offset.saturating_add(*size)
        );
        return Err(Error::format(summary).at_place(asset).hint(
            "check the dataset: the container was cut, or the offsets belong to another file",
        ));
    }
    Ok(())
}

/// True for connection strings such as `NETCDF:"file":variable`, which arrive as plain paths when
/// typed.
fn is_connection(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let prefix = text.split(':').next().unwrap_or_default();
    prefix.len() > 1
        && prefix.len() < text.len()
        && prefix
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !path.exists()
}

/// Size of the asset in bytes, where known without a request.
fn size_of(asset: &AssetPath, stamp: &PooledStamp) -> Option<u64> {
    match (asset, stamp) {
        (AssetPath::Range { size, .. }, _) => Some(*size),
        (AssetPath::Packed(member), _) => Some(member.size),
        (_, PooledStamp::Remote(identity)) => Some(identity.size),
        (_, PooledStamp::Local(length, _)) => {
            Some(*length).filter(|_| asset.local_file().is_some_and(Path::is_file))
        }
        (_, PooledStamp::None) => None,
    }
}

fn mount(asset: &AssetPath, stamp: &PooledStamp, place: Option<MountedRange>) -> Result<Mounted> {
    let name = fence::name_for(asset);
    match (place, asset) {
        (Some(place), _) => Mounted::remote(&place, &name),
        (
            None,
            AssetPath::Range {
                container,
                offset,
                size,
                ..
            },
        ) => Mounted::local(container, *offset, *size, &name),
        (None, AssetPath::File(path)) => {
            Mounted::local(path, 0, size_of(asset, stamp).unwrap_or_default(), &name)
        }
        (None, AssetPath::Packed(member)) => Mounted::from_packed_member(member, &name),
        (None, AssetPath::Vsi(_)) => {
            Err(Error::internal("a path of GDAL's has no bytes to mount").at_place(asset))
        }
    }
}

/// The error of opening a file, or its cause where the file itself states it: a codec that GDAL
/// lacks.
fn explain_open_error(error: Error, asset: &AssetPath, stamp: &PooledStamp) -> Error {
    if error.kind() != Kind::Format
        || (asset.local_file().is_none() && asset.remote_file().is_none())
    {
        return error;
    }
    if let Some(unfetched) = unfetched_asset_error(asset, stamp) {
        return unfetched;
    }
    let mounted = vsi_plugin::place_of(asset).and_then(|place| mount(asset, stamp, place));
    let cause = mounted.ok().and_then(|mounted| {
        let codec = codec::missing_codec(
            &|at, length| mounted.read(at, length),
            mounted.size(),
            asset,
        );
        codec
            .or_else(|| large_netcdf_error(&mounted, asset))
            .or_else(|| page_error(&mounted, asset))
            .or_else(|| text_error(&mounted, asset))
    });
    cause.unwrap_or(error)
}

/// The error for a web page that was saved in place of a raster, or one in gzip, which some servers
/// send; `None` for other files.
fn page_error(mounted: &Mounted, asset: &AssetPath) -> Option<Error> {
    let start = mounted.read(0, PAGE_HEAD).ok()?;
    let error = if start.starts_with(GZIP) {
        Some(Error::format("this is compressed with gzip").hint("unpack it: gunzip FILE.gz"))
    } else {
        crate::files::page_error(&start)
    };
    error.map(|error| error.at_place(asset))
}

/// The error for text that no driver reads; `None` for other files.
fn text_error(mounted: &Mounted, asset: &AssetPath) -> Option<Error> {
    let start = mounted.read(0, TEXT_HEAD).ok()?;
    unread_text_error(&start).map(|error| error.at_place(asset))
}

/// The error for classic netCDF with 64-bit data, of which GDAL has no driver; `None` for other
/// files.
fn large_netcdf_error(mounted: &Mounted, asset: &AssetPath) -> Option<Error> {
    let start = mounted.read(0, 4).ok()?;
    (start == b"CDF\x05").then(|| {
        Error::unsupported("this is netCDF with 64-bit data (CDF-5), which GDAL does not read")
            .at_place(asset)
            .hint("write it again as netCDF-4: nccopy -k nc4 IN OUT")
    })
}

/// The error for the pointer of a file that was not fetched, which some drivers would open as a
/// table.
fn unfetched_asset_error(asset: &AssetPath, stamp: &PooledStamp) -> Option<Error> {
    let size = size_of(asset, stamp).filter(|size| crate::files::may_be_pointer(*size))?;
    let place = vsi_plugin::place_of(asset).ok()?;
    let start = mount(asset, stamp, place).ok()?.read(0, size).ok()?;
    crate::files::unfetched_file_error(&start).map(|error| error.at_place(asset))
}

fn open_member(
    source: &RasterSource,
    stamp: &PooledStamp,
    place: Option<MountedRange>,
) -> Result<PooledDataset> {
    let asset = source.asset();
    let mounted = mount(asset, stamp, place)?;
    let fence::FencedMember {
        dataset,
        subdatasets,
        shown,
        variable,
        copy,
    } = fence::open(source, &mounted)?;
    let info = info::collect(
        &dataset,
        size_of(asset, stamp),
        subdatasets,
        shown,
        variable,
    );
    Ok(PooledDataset {
        dataset,
        info: Arc::new(info),
        _copy: copy,
        mounted: Some(mounted),
    })
}

/// Opens a file that the user named, with every driver and sidecar. Returns the HDF5 lock, which is
/// taken when the file turns out to refer to others.
fn open_own(
    source: &RasterSource,
    stamp: &PooledStamp,
    place: Option<MountedRange>,
    turn: Option<Turn>,
) -> Result<(PooledDataset, Option<Turn>)> {
    let asset = source.asset();
    let mounted = match &place {
        // Some drivers identify files by name.
        Some(place) => {
            let name = asset
                .remote_file()
                .and_then(Path::file_name)
                .map_or("sample".into(), |name| name.to_string_lossy());
            Some(Mounted::remote(place, &name)?)
        }
        None => None,
    };
    let vsi = mounted
        .as_ref()
        .map_or_else(|| asset.to_vsi(), Mounted::absolute_path);
    let mut turn = turn;
    let mut dataset = open_vsi(&vsi, asset)?;
    if turn.is_none()
        && (dataset
            .metadata_item("OVERVIEW_FILE", "OVERVIEWS")
            .is_some()
            || hdf5_lock::is_driver(&driver_of(&dataset)))
    {
        drop(dataset);
        turn = Some(hdf5_lock::turn());
        dataset = open_vsi(&vsi, asset)?;
    }
    let subdatasets = info::subdatasets(&dataset);
    let is_hdf5 = driver_of(&dataset) == "HDF5";
    let found = with_pixels(dataset, &subdatasets, &vsi, source);
    let has_bands = found
        .as_ref()
        .is_ok_and(|(dataset, _)| dataset.raster_count() > 0);
    // Arrays of more than three dimensions are read by the netCDF driver, as of members.
    if is_hdf5
        && !has_bands
        && let Ok(member) = open_member(source, stamp, vsi_plugin::place_of(asset)?)
        && member.dataset.raster_count() > 0
    {
        return Ok((member, turn));
    }
    let (dataset, shown) = found?;
    let variable = VariableRead::from_source(source, &subdatasets, shown, &vsi);
    let shown = shown
        .and_then(|at| subdatasets.get(at))
        .map(|shown| shown.name.clone());
    let info = info::collect(
        &dataset,
        size_of(asset, stamp),
        subdatasets,
        shown,
        variable,
    );
    Ok((
        PooledDataset {
            dataset,
            info: Arc::new(info),
            _copy: None,
            mounted,
        },
        turn,
    ))
}

fn driver_of(dataset: &Dataset) -> String {
    dataset.driver().short_name()
}

/// The subdataset that `source` names, with its position. Without a choice the dataset, or its
/// first subdataset with bands if it has none.
fn with_pixels(
    dataset: Dataset,
    subdatasets: &[Subdataset],
    vsi: &str,
    source: &RasterSource,
) -> Result<(Dataset, Option<usize>)> {
    if let Some(at) = variable::position_of(source, &dataset, subdatasets, vsi)? {
        return Ok((open_vsi(&subdatasets[at].name, source.asset())?, Some(at)));
    }
    if dataset.raster_count() == 0 {
        let order = variable::order_tried(subdatasets, vsi);
        for at in order.into_iter().take(SUBDATASETS_TRIED) {
            if let Ok(inner) = open_vsi(&subdatasets[at].name, source.asset())
                && inner.raster_count() > 0
            {
                return Ok((inner, Some(at)));
            }
        }
    }
    Ok((dataset, None))
}

fn open_vsi(vsi: &str, asset: &AssetPath) -> Result<Dataset> {
    let open_flags = GdalOpenFlags::GDAL_OF_READONLY
        | GdalOpenFlags::GDAL_OF_RASTER
        | GdalOpenFlags::GDAL_OF_VECTOR
        | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    let _cache = RemoteCache::on_for(vsi);
    gdal_errors::open(asset, vsi, || {
        Dataset::open_ex(
            vsi,
            DatasetOptions {
                open_flags,
                ..Default::default()
            },
        )
    })
}

/// Keeps GDAL's read cache on while a remote file is being opened. For local files it would only
/// cost memory.
struct RemoteCache(bool);

impl RemoteCache {
    fn on_for(vsi: &str) -> Self {
        let wanted = gdal_errors::is_remote(vsi) && std::env::var_os("VSI_CACHE").is_none();
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
