//! Reads windows of pixels, resampled while reading, in the stored data type. The size of a read is
//! checked before allocation: headers are untrusted.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use gdal::raster::{GdalType, RasterBand, ResampleAlg};

use super::budget::{self, value_bytes};
use super::nodata_test::NoDataTest;
use super::pixel_number::{PixelNumber, StoredNumber};
use super::pool::{self, PooledDataset};
use super::{BandIndex, RasterInfo, RasterSource, Window, gdal_errors, vsi_plugin};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Maximum bytes of one read, values and masks.
const READ_LIMIT_BYTES: u64 = 1 << 30;

/// Maximum pixels of a window averaged by [`Resampling::Auto`] without overviews: averaging reads
/// every pixel.
const AVERAGE_LIMIT_PIXELS: u64 = 50_000_000;

/// Resampling of a window to fewer pixels.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Resampling {
    /// Average; nearest neighbour for paletted, complex and 64-bit integer bands, and for windows
    /// above 50 million pixels without overviews.
    #[default]
    Auto,
    /// Nearest neighbour.
    Nearest,
    /// Mean of the source pixels.
    Average,
}

/// Which pixels to read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ReadRequest {
    /// The window, clipped to the raster.
    pub window: Window,
    /// Columns and rows of the result.
    pub out: (usize, usize),
    /// Bands, in the order of the result.
    pub bands: Vec<BandIndex>,
    #[serde(default)]
    pub resampling: Resampling,
}

/// Pixels of several bands over one window, row by row from the top left.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The window that they cover, after clipping.
    pub window: Window,
    /// One entry per requested band, in order.
    pub bands: Vec<BandPixels>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BandPixels {
    /// The band's number.
    pub index: BandIndex,
    /// `width` × `height` values.
    pub samples: Samples,
    /// `width` × `height`, false for pixels without data; `None` when no pixel is masked. NaN
    /// counts as missing even where this is true.
    pub valid: Option<Arc<[bool]>>,
    /// Colour table: RGBA by pixel value.
    pub palette: Option<Arc<Vec<[u8; 4]>>>,
}

/// The part of a complex number that is shown.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ComplexPart {
    /// The distance from 0.
    #[default]
    Magnitude,
    /// The angle in radians, from -π to π.
    Phase,
    Real,
    Imaginary,
}

impl ComplexPart {
    /// All parts, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Magnitude, Self::Phase, Self::Real, Self::Imaginary];

    /// The part of a number with this real and imaginary part.
    pub fn value_of(self, [real, imaginary]: [f64; 2]) -> f64 {
        match self {
            Self::Magnitude => real.hypot(imaginary),
            Self::Phase => imaginary.atan2(real),
            Self::Real => real,
            Self::Imaginary => imaginary,
        }
    }
}

/// Values in their stored type. Types that are not listed use the next wider one; complex numbers
/// become one of their parts ([`ComplexPart`]) in `F32` or `F64`.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// `Byte`.
    U8(Vec<u8>),
    /// `UInt16`.
    U16(Vec<u16>),
    /// `Int16`, `Int8`.
    I16(Vec<i16>),
    /// `UInt32`.
    U32(Vec<u32>),
    /// `Int32`.
    I32(Vec<i32>),
    /// `UInt64`.
    U64(Vec<u64>),
    /// `Int64`.
    I64(Vec<i64>),
    /// `Float32`, `Float16`, small complex types.
    F32(Vec<f32>),
    /// `Float64`, large complex types.
    F64(Vec<f64>),
}

/// Evaluates one expression on the vector of any variant.
macro_rules! each_type {
    ($samples:expr, $values:ident => $body:expr) => {
        match $samples {
            $crate::raster::Samples::U8($values) => $body,
            $crate::raster::Samples::U16($values) => $body,
            $crate::raster::Samples::I16($values) => $body,
            $crate::raster::Samples::U32($values) => $body,
            $crate::raster::Samples::I32($values) => $body,
            $crate::raster::Samples::U64($values) => $body,
            $crate::raster::Samples::I64($values) => $body,
            $crate::raster::Samples::F32($values) => $body,
            $crate::raster::Samples::F64($values) => $body,
        }
    };
}
pub(super) use each_type;

/// Evaluates one expression on the vector of a type of at most 16 bits, and another one for the
/// others.
macro_rules! each_countable_type {
    ($samples:expr, $values:ident => $body:expr, _ => $other:expr) => {
        match $samples {
            $crate::raster::Samples::U8($values) => $body,
            $crate::raster::Samples::U16($values) => $body,
            $crate::raster::Samples::I16($values) => $body,
            _ => $other,
        }
    };
}
pub(super) use each_countable_type;

impl Samples {
    /// Number of values.
    pub fn len(&self) -> usize {
        each_type!(self, values => values.len())
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `position`, 64-bit integers rounded; NaN beyond the end.
    pub fn get(&self, position: usize) -> f64 {
        each_type!(self, values => values.get(position).map_or(f64::NAN, |value| value.to_f64()))
    }

    /// The value at `position` in full; NaN beyond the end.
    pub fn number(&self, position: usize) -> PixelNumber {
        let beyond = PixelNumber::Real(f64::NAN);
        each_type!(self, values => {
            values.get(position).map_or(beyond, |value| value.to_number())
        })
    }

    /// Appends the values in the byte order of this machine.
    pub fn append_bytes(&self, bytes: &mut Vec<u8>) {
        each_type!(self, values => {
            bytes.reserve(size_of_val(values.as_slice()));
            values.iter().for_each(|value| bytes.extend_from_slice(&value.to_ne_bytes()));
        });
    }

    /// True beyond the end, and for values that are not a number.
    fn is_nan(&self, position: usize) -> bool {
        match self {
            Samples::F32(values) => values.get(position).is_none_or(|value| value.is_nan()),
            Samples::F64(values) => values.get(position).is_none_or(|value| value.is_nan()),
            integers => position >= integers.len(),
        }
    }

    /// True for types of whole numbers.
    pub fn is_integer(&self) -> bool {
        !matches!(self, Samples::F32(_) | Samples::F64(_))
    }
}

impl BandPixels {
    /// True when the pixel at `position` is not masked.
    pub fn is_valid(&self, position: usize) -> bool {
        self.valid
            .as_ref()
            .is_none_or(|valid| valid.get(position).copied().unwrap_or(false))
            && !self.samples.is_nan(position)
    }

    /// True when no pixel can lack data: none is masked, and no value is NaN by its type.
    pub fn has_all_data(&self) -> bool {
        self.valid.is_none() && self.samples.is_integer()
    }
}

/// Reads a window of some bands, resampled to `request.out` (columns, rows).
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a window outside of the raster, a band that does
/// not exist, an empty request, or more than 1 GiB;
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for a file without bands, or blocks above
/// 256 MiB; those of opening and reading, and cancellation.
pub fn read_window(
    source: &RasterSource,
    request: &ReadRequest,
    ctx: &JobContext,
) -> Result<Pixels> {
    let lease = pool::lease(source)?;
    read(&lease, source, request, ComplexPart::Magnitude, ctx)
}

/// [`read_window`] of an opened raster; complex bands are read as `part`.
pub(super) fn read(
    opened: &PooledDataset,
    source: &RasterSource,
    request: &ReadRequest,
    part: ComplexPart,
    ctx: &JobContext,
) -> Result<Pixels> {
    let (info, asset) = (&opened.info, source.asset());
    if info.band_count == 0 {
        return Err(info.without_bands(asset));
    }
    let Some(window) = request.window.clip(info.width, info.height) else {
        return Err(Error::usage(format!(
            "the window is outside the raster of {} × {} pixels",
            info.width, info.height
        ))
        .at_place(asset));
    };
    let (width, height) = request.out;
    if width == 0 || height == 0 || request.bands.is_empty() {
        return Err(Error::usage("a read needs at least one pixel and one band").at_place(asset));
    }
    check_size(info, request, window, source)?;
    let mut masks: Vec<(usize, Arc<[bool]>)> = Vec::new();
    let mut bands = Vec::with_capacity(request.bands.len());
    for &index in &request.bands {
        ctx.check()?;
        let job = BandRead {
            opened,
            window,
            request,
            part,
            ctx,
        };
        bands.push(read_band(&job, asset, index, &mut masks)?);
    }
    Ok(Pixels {
        width,
        height,
        window,
        bands,
    })
}

fn check_size(
    info: &RasterInfo,
    request: &ReadRequest,
    window: Window,
    source: &RasterSource,
) -> Result<()> {
    let asset = source.asset();
    let pixels = (request.out.0 as u64).checked_mul(request.out.1 as u64);
    // Value and one mask byte per pixel; `value_bytes` includes the buffers of complex types.
    let bytes = request.bands.iter().try_fold(0u64, |sum, index| {
        let band = info.band(*index)?;
        sum.checked_add(pixels?.checked_mul(value_bytes(&band.dtype) + 1)?)
    });
    if let Some(missing) = request
        .bands
        .iter()
        .find(|index| info.band(**index).is_none())
    {
        let summary = format!(
            "there is no band {missing}; the raster has {}",
            info.band_count
        );
        return Err(Error::usage(summary).at_place(asset));
    }
    if bytes.is_none_or(|bytes| bytes > READ_LIMIT_BYTES) {
        let summary = format!(
            "reading {} bands of {} × {} pixels needs more than 1 GiB",
            request.bands.len(),
            request.out.0,
            request.out.1
        );
        return Err(Error::usage(summary)
            .at_place(asset)
            .hint("read fewer pixels or fewer bands at once"));
    }
    budget::check_blocks(info, request.bands.iter().copied(), source)?;
    let pixels = (window.width as u64).saturating_mul(window.height as u64);
    budget::check_look(info, &request.bands, pixels, request.out, source)
}

/// Common properties of all bands of a read.
struct BandRead<'a> {
    opened: &'a PooledDataset,
    window: Window,
    request: &'a ReadRequest,
    part: ComplexPart,
    ctx: &'a JobContext,
}

fn read_band(
    read: &BandRead<'_>,
    asset: &AssetPath,
    index: BandIndex,
    masks: &mut Vec<(usize, Arc<[bool]>)>,
) -> Result<BandPixels> {
    let &BandRead {
        opened,
        window,
        request,
        part,
        ctx,
    } = read;
    let Some(info) = opened.info.band(index) else {
        return Err(Error::internal(format!("band {index} is not described")).at_place(asset));
    };
    let (result, messages) = gdal_errors::listen(|| {
        let band = opened
            .dataset
            .rasterband(index.get())
            .map_err(ReadFault::Gdal)?;
        let job = PixelRead {
            band: &band,
            window,
            out: request.out,
            alg: choose_resampling(request, window, info),
            ctx,
        };
        let nodata = info.nodata_test();
        let (samples, with_data) = job.read_samples(&info.dtype, part, nodata)?;
        let valid = job.read_valid_mask(&samples, with_data, nodata, masks)?;
        Ok(BandPixels {
            index,
            samples,
            valid,
            palette: info.palette.clone(),
        })
    });
    result.map_err(|fault| match fault {
        _ if ctx.is_cancelled() => Error::cancelled(),
        ReadFault::Memory => Error::new(
            crate::error::Kind::Io,
            "there is not enough memory for these pixels",
        )
        .at_place(asset)
        .hint("read a smaller window, fewer bands, or a smaller picture of them"),
        ReadFault::Gdal(error) => {
            // The reason of a failed request comes with its own hints.
            let is_request = vsi_plugin::has_fault();
            let summary = Error::format(format!("band {index} could not be read")).at_place(asset);
            let error = gdal_errors::because(summary, &messages, Some(&error));
            if is_request {
                return error;
            }
            error.hint("the file may be damaged: check it with `taco-studio validate --deep`")
        }
    })
}

fn choose_resampling(request: &ReadRequest, window: Window, info: &super::BandInfo) -> ResampleAlg {
    let shrinks = window.width > request.out.0 || window.height > request.out.1;
    let (pixels, overview) = (
        (window.width as u64).saturating_mul(window.height as u64),
        !info.overviews.is_empty(),
    );
    let classes = info.palette.is_some()
        || info.is_complex()
        || matches!(info.dtype.as_str(), "Int64" | "UInt64");
    match request.resampling {
        _ if !shrinks => ResampleAlg::NearestNeighbour,
        Resampling::Average => ResampleAlg::Average,
        Resampling::Auto if !classes && (overview || pixels <= AVERAGE_LIMIT_PIXELS) => {
            ResampleAlg::Average
        }
        Resampling::Auto | Resampling::Nearest => ResampleAlg::NearestNeighbour,
    }
}

enum ReadFault {
    Gdal(gdal::errors::GdalError),
    Memory,
}

/// `width` × `height`, false for pixels without data; `None` when there is no such pixel, or it is
/// not known from the values.
type ValidMask = Option<Arc<[bool]>>;

struct PixelRead<'a> {
    band: &'a RasterBand<'a>,
    window: Window,
    out: (usize, usize),
    alg: ResampleAlg,
    ctx: &'a JobContext,
}

impl PixelRead<'_> {
    /// The values, and for complex types which of them are not nodata.
    fn read_samples(
        &self,
        dtype: &str,
        part: ComplexPart,
        nodata: Option<NoDataTest>,
    ) -> Result<(Samples, ValidMask), ReadFault> {
        let plain = match dtype {
            "Byte" | "UInt8" => Samples::U8(self.read_values()?),
            "UInt16" => Samples::U16(self.read_values()?),
            "Int16" | "Int8" => Samples::I16(self.read_values()?),
            "UInt32" => Samples::U32(self.read_values()?),
            "Int32" => Samples::I32(self.read_values()?),
            "UInt64" => Samples::U64(self.read_values()?),
            "Int64" => Samples::I64(self.read_values()?),
            "Float32" | "Float16" => Samples::F32(self.read_values()?),
            "CInt16" | "CInt32" | "CFloat16" | "CFloat32" => {
                let pairs: Vec<[f32; 2]> = self.read_raw(
                    self.band,
                    gdal_sys::GDALDataType::GDT_CFloat32,
                    self.alg,
                    [0.0; 2],
                )?;
                let wide = || pairs.iter().map(|pair| pair.map(f64::from));
                return Ok((
                    Samples::F32(wide().map(|pair| part.value_of(pair) as f32).collect()),
                    find_valid_complex_pixels(wide(), nodata),
                ));
            }
            "CFloat64" => {
                let pairs: Vec<[f64; 2]> = self.read_raw(
                    self.band,
                    gdal_sys::GDALDataType::GDT_CFloat64,
                    self.alg,
                    [0.0; 2],
                )?;
                let all = || pairs.iter().copied();
                return Ok((
                    Samples::F64(all().map(|pair| part.value_of(pair)).collect()),
                    find_valid_complex_pixels(all(), nodata),
                ));
            }
            _ => Samples::F64(self.read_values()?),
        };
        Ok((plain, None))
    }

    fn read_values<T: GdalType + Copy + Default>(&self) -> Result<Vec<T>, ReadFault> {
        self.read_raw(self.band, T::gdal_ordinal(), self.alg, T::default())
    }

    /// `T` must be as large as one value of the GDAL type `ordinal`.
    fn read_raw<T: Copy>(
        &self,
        band: &RasterBand,
        ordinal: gdal_sys::GDALDataType::Type,
        alg: ResampleAlg,
        zero: T,
    ) -> Result<Vec<T>, ReadFault> {
        let int =
            |number: usize| c_int::try_from(number).map_err(|error| ReadFault::Gdal(error.into()));
        let count = self.out.0 * self.out.1;
        let mut data: Vec<T> = Vec::new();
        data.try_reserve_exact(count)
            .map_err(|_| ReadFault::Memory)?;
        data.resize(count, zero);
        // Safety: a plain C structure of numbers and nullable pointers. Its fields differ by GDAL
        // version, so it starts as zeros.
        let mut extra: gdal_sys::GDALRasterIOExtraArg = unsafe { std::mem::zeroed() };
        extra.nVersion = 1;
        extra.eResampleAlg = alg.to_gdal();
        extra.pfnProgress = Some(keep_going);
        extra.pProgressData = std::ptr::from_ref(self.ctx).cast_mut().cast::<c_void>();
        // Safety: `data` has room for `out.0` × `out.1` values of the type; the context outlives
        // the call, and the callback only reads it.
        let status = unsafe {
            gdal_sys::GDALRasterIOEx(
                band.c_rasterband(),
                gdal_sys::GDALRWFlag::GF_Read,
                int(self.window.x)?,
                int(self.window.y)?,
                int(self.window.width)?,
                int(self.window.height)?,
                data.as_mut_ptr().cast::<c_void>(),
                int(self.out.0)?,
                int(self.out.1)?,
                ordinal,
                0,
                0,
                &mut extra,
            )
        };
        if status == gdal_sys::CPLErr::CE_None {
            Ok(data)
        } else {
            let msg = String::new();
            Err(ReadFault::Gdal(gdal::errors::GdalError::CplError {
                class: status,
                number: 0,
                msg,
            }))
        }
    }

    /// Valid pixels, from the nodata value or from the mask band. `shared` caches mask bands by
    /// their handle, since bands of a dataset can share one.
    fn read_valid_mask(
        &self,
        samples: &Samples,
        with_data: ValidMask,
        nodata: Option<NoDataTest>,
        shared: &mut Vec<(usize, Arc<[bool]>)>,
    ) -> Result<ValidMask, ReadFault> {
        let flags = self.band.mask_flags().map_err(ReadFault::Gdal)?;
        if flags.is_all_valid() {
            return Ok(None);
        }
        if flags.is_nodata() && !flags.is_per_dataset() {
            return Ok(
                with_data.or_else(|| nodata.and_then(|nodata| find_valid_pixels(samples, nodata)))
            );
        }
        let mask = self.band.open_mask_band().map_err(ReadFault::Gdal)?;
        // Safety: the pointer is only compared.
        let key = unsafe { mask.c_rasterband() } as usize;
        if let Some((_, known)) = shared.iter().find(|(other, _)| *other == key) {
            return Ok(Some(known.clone()));
        }
        let bytes: Vec<u8> =
            self.read_raw(&mask, u8::gdal_ordinal(), ResampleAlg::NearestNeighbour, 0)?;
        let valid: Arc<[bool]> = bytes.into_iter().map(|byte| byte != 0).collect();
        shared.push((key, valid.clone()));
        Ok(Some(valid))
    }
}

/// Complex pixels that are not nodata: those whose real part differs from it, or whose imaginary
/// part is neither 0 nor nodata.
fn find_valid_complex_pixels(
    pairs: impl Iterator<Item = [f64; 2]>,
    nodata: Option<NoDataTest>,
) -> ValidMask {
    let test = nodata?;
    let same = |value: f64| test.is_nodata(value);
    Some(
        pairs
            .map(|[real, imaginary]| !(same(real) && (imaginary == 0.0 || same(imaginary))))
            .collect(),
    )
}

/// Valid pixels by nodata value; `None` when no pixel has it.
fn find_valid_pixels(samples: &Samples, nodata: NoDataTest) -> ValidMask {
    let valid: Arc<[bool]> = match samples {
        Samples::F32(values) => values
            .iter()
            .map(|value| !nodata.is_nodata_single(*value))
            .collect(),
        Samples::U64(values) => values
            .iter()
            .map(|value| !nodata.is_nodata_long(i128::from(*value)))
            .collect(),
        Samples::I64(values) => values
            .iter()
            .map(|value| !nodata.is_nodata_long(i128::from(*value)))
            .collect(),
        other => {
            each_type!(other, values => {
                values.iter().map(|value| !nodata.is_nodata(value.to_f64())).collect()
            })
        }
    };
    (!valid.iter().all(|valid| *valid)).then_some(valid)
}

/// GDAL progress callback that stops a cancelled read.
unsafe extern "C" fn keep_going(
    _complete: f64,
    _message: *const c_char,
    ctx: *mut c_void,
) -> c_int {
    // Safety: `raw` passes its job context, which outlives the call.
    let ctx = unsafe { &*ctx.cast_const().cast::<JobContext>() };
    c_int::from(!ctx.is_cancelled())
}
