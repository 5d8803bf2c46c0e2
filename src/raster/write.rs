//! Writes small rasters from memory: the sample dataset, histograms, tests. Needs memory for two
//! copies. No partial file appears under the target's name.

use std::ffi::{CString, c_int, c_void};
use std::path::Path;

use gdal::raster::{
    ColorEntry, ColorInterpretation, ColorTable, GdalType, PaletteInterpretation,
    RasterCreationOptions,
};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, DriverManager, Metadata};

use super::{Samples, environment, gdal_errors, hdf5_lock};
use crate::error::{Error, IoContext, Result};

/// A raster to write. Every band has `width` × `height` values of one data type, row-major from the
/// top left.
#[derive(Clone, Debug, Default)]
pub struct NewRaster<'a> {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    pub bands: Vec<Samples>,
    /// Band descriptions; may be shorter than `bands`.
    pub names: Vec<&'a str>,
    /// EPSG code of the coordinate system.
    pub epsg: Option<u32>,
    /// GDAL order, see [`super::RasterInfo::geotransform`].
    pub geotransform: Option<[f64; 6]>,
    /// Nodata value of every band.
    pub nodata: Option<f64>,
    /// Colour table of the first band: RGBA by pixel value.
    pub palette: Option<Vec<[u8; 4]>>,
    /// Creation options of the driver, for example `("COMPRESS", "ZSTD")`.
    pub options: Vec<(&'a str, &'a str)>,
}

/// Writes a GeoTIFF.
///
/// # Errors
/// As [`write_raster`].
pub fn write_geotiff(path: &Path, raster: &NewRaster) -> Result<()> {
    write_raster(path, "GTiff", raster)
}

/// Writes with any GDAL driver that supports CreateCopy: `GTiff`, `COG`, `PNG`, `JP2OpenJPEG`,
/// `netCDF`, …. The file appears under its name when complete.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) without bands, or for bands of another size;
/// [`Kind::Io`](crate::error::Kind::Io) when GDAL or the file system fails.
pub fn write_raster(path: &Path, driver: &str, raster: &NewRaster) -> Result<()> {
    environment::init();
    let pixels = raster
        .width
        .checked_mul(raster.height)
        .filter(|pixels| *pixels > 0);
    if raster.bands.is_empty() || raster.bands.iter().any(|band| Some(band.len()) != pixels) {
        let summary = format!(
            "every band needs {} × {} values, and there has to be one",
            raster.width, raster.height
        );
        return Err(Error::usage(summary).at_path(path));
    }
    let turn = hdf5_lock::turn_for_driver(driver);
    let outcome = whole_file(path, |file| {
        let (written, said) = gdal_errors::listen(|| write_to(file, driver, raster));
        gdal_errors::expect_written(written, &said, || {
            Error::new(
                crate::error::Kind::Io,
                format!("GDAL could not write the raster as {driver}"),
            )
            .at_path(path)
        })
    });
    drop(turn);
    outcome
}

/// Calls `write` with a path in a temporary folder beside `path`, then syncs and renames the file.
/// Sidecar files of the driver are removed with the folder.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a path without a file name;
/// [`Kind::Io`](crate::error::Kind::Io); those of `write`.
pub(super) fn whole_file(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Some(name) = path.file_name() else {
        return Err(Error::usage("the raster needs a file name").at_path(path));
    };
    let temporary = tempfile::Builder::new()
        .prefix(".taco-studio-")
        .tempdir_in(folder)
        .io_at("write the raster", folder)?;
    let file = temporary.path().join(name);
    write(&file)?;
    // Opened for writing: Windows brings nothing to the disk through a handle that only reads.
    std::fs::File::options()
        .write(true)
        .open(&file)
        .and_then(|file| file.sync_all())
        .io_at("bring the raster to the disk", path)?;
    std::fs::rename(&file, path).io_at("write the raster", path)
}

fn write_to(path: &Path, driver: &str, raster: &NewRaster) -> gdal::errors::Result<()> {
    let source = in_memory(raster)?;
    let driver = DriverManager::get_driver_by_name(driver)?;
    let options = RasterCreationOptions::from_iter(
        raster
            .options
            .iter()
            .map(|(key, value)| format!("{key}={value}")),
    );
    source.create_copy(&driver, path, &options)?.close()
}

fn in_memory(raster: &NewRaster) -> gdal::errors::Result<Dataset> {
    let ordinal = ordinal(&raster.bands[0]);
    let mut dataset = create(raster, ordinal)?;
    if let Some(transform) = raster.geotransform {
        dataset.set_geo_transform(&transform)?;
    }
    if let Some(code) = raster.epsg {
        dataset.set_spatial_ref(&SpatialRef::from_epsg(code)?)?;
    }
    for (position, samples) in raster.bands.iter().enumerate() {
        let mut band = dataset.rasterband(position + 1)?;
        if raster.nodata.is_some() {
            band.set_no_data_value(raster.nodata)?;
        }
        if let Some(name) = raster.names.get(position) {
            band.set_description(name)?;
        }
        if let (Some(palette), 0) = (&raster.palette, position) {
            let mut table = ColorTable::new(PaletteInterpretation::Rgba);
            for (index, [r, g, b, a]) in (0u16..).zip(palette) {
                table.set_color_entry(
                    index,
                    &ColorEntry::rgba((*r).into(), (*g).into(), (*b).into(), (*a).into()),
                );
            }
            band.set_color_interpretation(ColorInterpretation::PaletteIndex)?;
            band.set_color_table(&table);
        }
        let (width, height) = (int(raster.width)?, int(raster.height)?);
        let (data, ordinal) = (samples_pointer(samples), self::ordinal(samples));
        // Safety: the length was checked by `write_raster`; GDAL only reads the values.
        let status = unsafe {
            let band = band.c_rasterband();
            gdal_sys::GDALRasterIO(
                band,
                gdal_sys::GDALRWFlag::GF_Write,
                0,
                0,
                width,
                height,
                data,
                width,
                height,
                ordinal,
                0,
                0,
            )
        };
        if status != gdal_sys::CPLErr::CE_None {
            return Err(gdal::errors::GdalError::CplError {
                class: status,
                number: 0,
                msg: String::new(),
            });
        }
    }
    Ok(dataset)
}

/// The `gdal` crate creates datasets by static type only.
fn create(
    raster: &NewRaster,
    ordinal: gdal_sys::GDALDataType::Type,
) -> gdal::errors::Result<Dataset> {
    let driver = DriverManager::get_driver_by_name("MEM")?;
    let name = CString::default();
    let (width, height, bands) = (
        int(raster.width)?,
        int(raster.height)?,
        int(raster.bands.len())?,
    );
    // Safety: a registered driver, a C string and no options; the result is checked and then owned
    // by `Dataset`.
    unsafe {
        let handle = gdal_sys::GDALCreate(
            driver.c_driver(),
            name.as_ptr(),
            width,
            height,
            bands,
            ordinal,
            std::ptr::null_mut(),
        );
        if handle.is_null() {
            return Err(gdal::errors::GdalError::NullPointer {
                method_name: "GDALCreate",
                msg: String::new(),
            });
        }
        Ok(Dataset::from_c_dataset(handle))
    }
}

fn int(number: usize) -> gdal::errors::Result<c_int> {
    Ok(c_int::try_from(number)?)
}

fn ordinal(samples: &Samples) -> gdal_sys::GDALDataType::Type {
    match samples {
        Samples::U8(_) => u8::gdal_ordinal(),
        Samples::U16(_) => u16::gdal_ordinal(),
        Samples::I16(_) => i16::gdal_ordinal(),
        Samples::U32(_) => u32::gdal_ordinal(),
        Samples::I32(_) => i32::gdal_ordinal(),
        Samples::U64(_) => u64::gdal_ordinal(),
        Samples::I64(_) => i64::gdal_ordinal(),
        Samples::F32(_) => f32::gdal_ordinal(),
        Samples::F64(_) => f64::gdal_ordinal(),
    }
}

fn samples_pointer(samples: &Samples) -> *mut c_void {
    super::pixels::each_type!(samples, values => values.as_ptr().cast_mut().cast::<c_void>())
}
