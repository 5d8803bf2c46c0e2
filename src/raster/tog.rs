//! TACO Optimized GeoTIFFs (TOG, also called TACOTIFF; TACO 0.2, "TACO Optimized GeoTIFF"):
//! converts any raster losslessly and lists why a file is no TOG. A partial file never appears
//! under the target's name.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use gdal::raster::RasterCreationOptions;
use gdal::{Dataset, DriverManager, Metadata};

use super::stored::{ordinal, stored_lines, value_width};
use super::tiles::{StoredFile, TiffStorage, tiff_storage};
use super::write::whole_file;
use super::{RasterInfo, RasterSource, budget, environment, gdal_errors, pool};
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;

/// The first GDAL version with `INTERLEAVE=TILE`.
const GDAL_NEEDED: (u32, u32) = (3, 11);
/// Tile width and height are multiples of this many pixels.
pub const TOG_BLOCK_STEP: u32 = 16;

/// Parameters that the specification leaves open.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct TogOptions {
    /// Columns and rows of a tile: a multiple of 16, up to 4096.
    #[serde(default = "usual_block")]
    pub block_size: u32,
    /// Zstandard compression level, 1 to 22. The specification uses 13; readers accept all levels.
    #[serde(default = "usual_level")]
    pub level: u8,
    /// Compress one file on all processors.
    #[serde(default)]
    pub parallel: bool,
}

fn usual_block() -> u32 {
    512
}

fn usual_level() -> u8 {
    13
}

impl Default for TogOptions {
    fn default() -> Self {
        Self {
            block_size: usual_block(),
            level: usual_level(),
            parallel: false,
        }
    }
}

impl TogOptions {
    /// Checks block size and level.
    ///
    /// # Errors
    /// [`Kind::Usage`] for a block size that is not a multiple of 16 up to 4096, or a level that
    /// zstd does not have.
    pub fn check(&self) -> Result<()> {
        let block = self.block_size;
        if !(TOG_BLOCK_STEP..=4096).contains(&block) || !block.is_multiple_of(TOG_BLOCK_STEP) {
            return Err(
                Error::usage(format!("a block size of {block} is not allowed"))
                    .hint("choose a multiple of 16 up to 4096"),
            );
        }
        if !(1..=22).contains(&self.level) {
            return Err(Error::usage(format!("zstd has no level {}", self.level))
                .hint("choose 1 to 22; the specification says 13"));
        }
        Ok(())
    }
}

/// Checks that this build of GDAL can write and recognise TOGs.
///
/// # Errors
/// [`Kind::Unsupported`] for GDAL before 3.11, or without the COG driver or zstd.
pub fn tog_support() -> Result<()> {
    let environment = environment::environment();
    supports(
        &environment.gdal_version,
        environment.has("COG")
            && environment
                .tiff_compressions
                .iter()
                .any(|name| name == "ZSTD"),
    )
}

fn supports(version: &str, drivers: bool) -> Result<()> {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0u32));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let hint = "use the build with GDAL inside, which is the default one";
    if found < GDAL_NEEDED {
        let (major, minor) = GDAL_NEEDED;
        let message = format!(
            "GDAL {version} can't interleave bands tile by tile, which needs {major}.{minor} or \
                newer"
        );
        return Err(Error::unsupported(message).hint(hint));
    }
    if !drivers {
        return Err(Error::unsupported("this GDAL has no COG driver with zstd").hint(hint));
    }
    Ok(())
}

/// Writes `source` as a TOG and verifies the values. Size, data type, values, masks, nodata,
/// georeferencing and colours are kept; overviews are dropped. `target` is replaced once the file
/// is complete.
///
/// # Errors
/// [`Kind::Unsupported`] for a file without bands or with several subdatasets of which none is
/// chosen, and as [`tog_support`]; [`Kind::Usage`] as [`TogOptions::check`]; [`Kind::Io`] when GDAL
/// can't write the file or the values differ; those of opening `source`, and cancellation.
pub fn write_tog(
    source: &RasterSource,
    target: &Path,
    options: &TogOptions,
    ctx: &JobContext,
) -> Result<()> {
    tog_support()?;
    options.check()?;
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = &lease.info;
    if info.band_count == 0 {
        return Err(info.without_bands(asset));
    }
    if source.variable().is_none()
        && (info.shown_subdataset.is_some() || info.subdatasets.len() > 1)
    {
        let count = info.subdatasets.len();
        let names = info
            .variable
            .as_ref()
            .map(|variable| format!(" ({})", variable.names.join(", ")))
            .unwrap_or_default();
        let error = Error::unsupported(format!(
            "this file holds {count} rasters{names}; a GeoTIFF holds one"
        ));
        return Err(error
            .at_place(asset)
            .hint("choose one with the option --variable"));
    }
    budget::check_blocks(info, info.bands.iter().map(|band| band.index), source)?;
    budget::check_whole(info, source)?;
    budget::check_padding(info, options.block_size, source)?;
    let creation = creation_options(info, &lease.dataset, options);
    whole_file(target, |file| {
        let (written, said) =
            gdal_errors::listen(|| create_copy(&lease.dataset, "COG", file, &creation, ctx));
        ctx.check()?;
        // PROJ reports a grid that it lacks as a failure, and GDAL then writes the coordinate
        // system without the grid.
        let said = if info.crs_file.is_some() && written.is_ok() {
            Vec::new()
        } else {
            said
        };
        gdal_errors::expect_written(written, &said, || {
            Error::new(
                Kind::Io,
                "GDAL could not write the raster as a TACO Optimized GeoTIFF",
            )
            .at_place(asset)
        })?;
        // GDAL can write wrong values without an error when NBITS is less than the type's width, so
        // the file is compared with its source.
        same_values(&lease.dataset, file, ctx).map_err(|error| {
            if error.is_cancelled() {
                error
            } else {
                error.at_place(asset)
            }
        })
    })
}

/// Bytes compared per read.
const COMPARED_AT_ONCE: usize = 16 << 20;

/// Fails unless `file` has the same size, bands and data types as `source`, and the same bytes in
/// every band.
fn same_values(source: &Dataset, file: &Path, ctx: &JobContext) -> Result<()> {
    let written = Dataset::open(file)
        .map_err(|error| Error::new(Kind::Io, "the raster can't be read back").because(error))?;
    let (columns, rows) = source.raster_size();
    if written.raster_size() != (columns, rows) || written.raster_count() != source.raster_count() {
        return Err(Error::new(Kind::Io, "GDAL wrote a raster of another size"));
    }
    for band in 1..=source.raster_count() {
        let bands = [source, &written].map(|dataset| dataset.rasterband(band));
        let [Ok(old), Ok(new)] = bands else {
            return Err(Error::new(Kind::Io, "a band can't be read back"));
        };
        if ordinal(&old) != ordinal(&new) {
            return Err(Error::new(
                Kind::Io,
                format!("GDAL wrote band {band} in another type"),
            ));
        }
        let line = columns * value_width(&old);
        if line == 0 {
            return Err(Error::new(
                Kind::Io,
                format!("the values of band {band} have no known width, so they can't be compared"),
            ));
        }
        let step = (COMPARED_AT_ONCE / line.max(1)).clamp(1, rows.max(1));
        for first in (0..rows).step_by(step) {
            ctx.check()?;
            let count = step.min(rows - first);
            if stored_lines(&old, first, columns, count, line)?
                != stored_lines(&new, first, columns, count, line)?
            {
                let lines = format!("rows {first} to {}", first + count - 1);
                return Err(Error::new(
                    Kind::Io,
                    format!("GDAL did not keep the values of band {band} in {lines}"),
                )
                .hint("leave this raster as it is"));
            }
        }
    }
    Ok(())
}

fn creation_options(
    info: &RasterInfo,
    dataset: &Dataset,
    options: &TogOptions,
) -> RasterCreationOptions {
    let mut pairs = vec![
        ("COMPRESS".to_owned(), "ZSTD".to_owned()),
        ("LEVEL".into(), options.level.to_string()),
        ("INTERLEAVE".into(), "TILE".into()),
        ("BLOCKSIZE".into(), options.block_size.to_string()),
        ("BIGTIFF".into(), "YES".into()),
        ("OVERVIEWS".into(), "NONE".into()),
        ("GEOTIFF_VERSION".into(), "1.1".into()),
        (
            "NUM_THREADS".into(),
            if options.parallel { "ALL_CPUS" } else { "1" }.into(),
        ),
    ];
    if let (Some(_), Ok(band)) = (bits_of(dataset), dataset.rasterband(1)) {
        // With INTERLEAVE=TILE, GDAL writes wrong values for NBITS below the type's width; set
        // NBITS to the full width.
        pairs.push(("NBITS".into(), (8 * value_width(&band)).to_string()));
    }
    if has_predictor(
        &info
            .bands
            .first()
            .map(|band| band.dtype.clone())
            .unwrap_or_default(),
        None,
    ) {
        pairs.push(("PREDICTOR".into(), "YES".into()));
    }
    RasterCreationOptions::from_iter(
        pairs
            .into_iter()
            .map(|(key, value)| format!("{key}={value}")),
    )
}

/// Predictors that GDAL writes: for integers of 8, 16, 32 or 64 bits, and for floats of 32 or 64.
fn has_predictor(dtype: &str, bits: Option<u32>) -> bool {
    !dtype.starts_with('C')
        && dtype != "Float16"
        && bits.is_none_or(|bits| matches!(bits, 8 | 16 | 32 | 64))
}

/// NBITS of the first band, where it is below the width of the data type.
fn bits_of(dataset: &Dataset) -> Option<u32> {
    dataset
        .rasterband(1)
        .ok()?
        .metadata_item("NBITS", "IMAGE_STRUCTURE")?
        .parse()
        .ok()
}

/// `GDALCreateCopy` with cancellation.
fn create_copy(
    source: &Dataset,
    driver: &str,
    path: &Path,
    options: &RasterCreationOptions,
    ctx: &JobContext,
) -> gdal::errors::Result<()> {
    let driver = DriverManager::get_driver_by_name(driver)?;
    let name = CString::new(path.to_string_lossy().as_bytes())?;
    let data = std::ptr::from_ref(ctx).cast_mut().cast::<c_void>();
    // Safety: handles and strings live during the call; the context is only read, possibly on other
    // threads.
    let copy = unsafe {
        gdal_sys::GDALCreateCopy(
            driver.c_driver(),
            name.as_ptr(),
            source.c_dataset(),
            0,
            options.as_ptr(),
            Some(on_progress),
            data,
        )
    };
    if copy.is_null() {
        return Err(gdal::errors::GdalError::NullPointer {
            method_name: "GDALCreateCopy",
            msg: String::new(),
        });
    }
    // Safety: not NULL, and owned by nobody else.
    unsafe { Dataset::from_c_dataset(copy) }.close()
}

/// Goes on until the job, which `data` points to, is cancelled.
pub(super) unsafe extern "C" fn on_progress(
    _done: f64,
    _message: *const c_char,
    data: *mut c_void,
) -> c_int {
    // Safety: the context outlives the call that it was given to.
    let ctx = unsafe { &*data.cast::<JobContext>() };
    // A panic must not cross into C.
    let goes_on = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ctx.check().is_ok()));
    c_int::from(goes_on.unwrap_or(false))
}

/// Reasons why a file is not a TOG, one sentence each; empty for a TOG.
///
/// # Errors
/// [`Kind::Unsupported`] for files without bands, and as [`tog_support`]; those of opening the
/// file, and cancellation.
pub fn tog_faults(source: &RasterSource, ctx: &JobContext) -> Result<Vec<String>> {
    tog_support()?;
    ctx.check()?;
    let lease = pool::lease(source)?;
    let asset = source.asset();
    let info = &lease.info;
    if info.band_count == 0 {
        return Err(info.without_bands(asset));
    }
    if info.driver != "GTiff" && info.driver != "COG" {
        return Ok(vec![tr!(
            "It is no GeoTIFF but {driver}.",
            driver = info.driver
        )]);
    }
    let storage = tiff_storage(&lease, asset)?;
    let mut faults = faults_of(&storage);
    // GDAL does not report whether a TIFF is classic or BigTIFF.
    let head = StoredFile::open(&lease.dataset).and_then(|file| file.read(0, 4).ok());
    if head.is_some_and(|head| matches!(head.as_slice(), b"II*\0" | b"MM\0*")) {
        faults.push(tr!("It is a classic TIFF, which ends at 4 GiB, and no BigTIFF.").into());
    }
    let name = info
        .bands
        .first()
        .map(|band| band.dtype.as_str())
        .unwrap_or_default();
    if storage.predictor == 1 && has_predictor(name, bits_of(&lease.dataset)) {
        faults.push(tr!("It has no predictor.").into());
    }
    Ok(faults)
}

fn faults_of(storage: &TiffStorage) -> Vec<String> {
    let mut faults = Vec::new();
    if storage.layout != "COG" {
        faults.push(tr!("It was not written as a Cloud Optimized GeoTIFF.").into());
    }
    if storage.compression != "ZSTD" {
        faults.push(match storage.compression.as_str() {
            "" => tr!("Its compression is none, not ZSTD.").to_owned(),
            found => tr!("Its compression is {found}, not ZSTD.", found),
        });
    }
    if storage.interleave != "TILE" {
        faults.push(match storage.interleave.to_lowercase().as_str() {
            "" => tr!("Its bands are interleaved by none, not by tile.").to_owned(),
            found => tr!("Its bands are interleaved by {found}, not by tile.", found),
        });
    }
    if !storage.block.0.is_multiple_of(16) || !storage.block.1.is_multiple_of(16) {
        let (columns, rows) = storage.block;
        faults.push(tr!(
            "Its blocks have {columns} × {rows} pixels; both have to be multiples of 16.",
            columns,
            rows
        ));
    }
    if storage.overviews > 0 {
        faults.push(tr_n!(
            storage.overviews,
            "It has an overview.",
            "It has {count} overviews.",
            count = storage.overviews
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AssetPath;
    use crate::raster::{
        ChunkLayout, NewRaster, ReadRequest, Resampling, Samples, Window, describe, lone_chunk,
        read_window, write_raster,
    };

    fn ctx() -> JobContext {
        JobContext::default()
    }

    fn own(path: impl Into<std::path::PathBuf>) -> RasterSource {
        RasterSource::from_user_path(AssetPath::file(path))
    }

    fn write(folder: &Path, name: &str, driver: &str, raster: &NewRaster) -> RasterSource {
        let path = folder.join(name);
        write_raster(&path, driver, raster).expect("writes");
        own(path)
    }

    fn pixels(asset: &RasterSource) -> (crate::raster::Pixels, crate::raster::RasterInfo) {
        let info = describe(asset).expect("describes").as_ref().clone();
        let request = ReadRequest {
            window: Window::full(info.width, info.height),
            out: (info.width, info.height),
            bands: info.bands.iter().map(|band| band.index).collect(),
            resampling: Resampling::Nearest,
        };
        (read_window(asset, &request, &ctx()).expect("reads"), info)
    }

    /// A TIFF of 16 × 16 values of `bits` bits: half floats, complex integers or complex floats.
    fn stored_as(sample_format: u64, bits: u64, data: &[u8]) -> Vec<u8> {
        let layout = ChunkLayout {
            little: true,
            size: [16, 16],
            bands: 1,
            chunk: [16, 16],
            stripped: true,
            chunk_bands: 1,
            bits,
            sample_format,
            compression: 1,
            predictor: 1,
            places: Vec::new(),
        };
        lone_chunk(&layout, data)
    }

    #[test]
    fn half_floats_and_complex_numbers_are_kept_bit_by_bit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (dtype, sample_format, bits) in [
            ("Float16", 3, 16),
            ("CInt16", 5, 32),
            ("CInt32", 5, 64),
            ("CFloat16", 6, 32),
            ("CFloat32", 6, 64),
            ("CFloat64", 6, 128),
        ] {
            // Small exponents in every type: no value is infinite or not a number.
            let data: Vec<u8> = (0..256 * bits / 8)
                .map(|at: u64| (at.wrapping_mul(37) % 60) as u8)
                .collect();
            let path = folder.path().join(format!("{dtype}.tif"));
            std::fs::write(&path, stored_as(sample_format, bits, &data)).expect("writes");
            let (source, target) = (own(&*path), folder.path().join(format!("{dtype}.tog.tif")));
            assert_eq!(describe(&source).expect("describes").bands[0].dtype, dtype);
            write_tog(
                &source,
                &target,
                &TogOptions {
                    block_size: 16,
                    ..TogOptions::default()
                },
                &ctx(),
            )
            .unwrap_or_else(|error| panic!("{dtype}: {}", error.report()));
            let made = own(&*target);
            assert_eq!(describe(&made).expect("describes").bands[0].dtype, dtype);
            assert_eq!(
                tog_faults(&made, &ctx()).expect("looks"),
                Vec::<String>::new(),
                "{dtype}"
            );
            let width = bits as usize / 8;
            assert_eq!(
                crate::raster::stored_values(&made, [1, 16, 16], width).expect("reads"),
                data,
                "{dtype}"
            );
            // What has no order is refused by name.
            let counted = crate::raster::tally(&source, &ctx());
            assert_eq!(counted.is_ok(), dtype == "Float16", "{dtype}");
            assert!(
                counted
                    .err()
                    .is_none_or(|error| error.summary().contains("complex")),
                "{dtype}"
            );
        }
    }

    #[test]
    fn a_comparison_sees_one_changed_half_float() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut data = vec![0u8; 512];
        let files = ["a.tif", "b.tif"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], stored_as(3, 16, &data)).expect("writes");
        data[300] = 60;
        std::fs::write(&files[1], stored_as(3, 16, &data)).expect("writes");
        let lease = pool::lease(&own(&*files[0])).expect("opens");
        assert!(same_values(&lease.dataset, &files[0], &ctx()).is_ok());
        assert!(same_values(&lease.dataset, &files[1], &ctx()).is_err());
    }

    fn all_types() -> Vec<Samples> {
        let at = |i: u32| i.wrapping_mul(2_654_435_761);
        let numbers = || (0..70 * 50u32).map(at);
        vec![
            Samples::U8(numbers().map(|n| (n >> 24) as u8).collect()),
            Samples::U16(numbers().map(|n| (n >> 16) as u16).collect()),
            Samples::I16(numbers().map(|n| (n >> 16) as i16).collect()),
            Samples::U32(numbers().collect()),
            Samples::I32(numbers().map(|n| n as i32).collect()),
            Samples::F32(numbers().map(|n| n as f32 / 7.0).collect()),
            Samples::F64(numbers().map(|n| f64::from(n) / 7.0).collect()),
        ]
    }

    #[test]
    fn every_type_keeps_its_values_place_and_missing_data() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (number, samples) in all_types().into_iter().enumerate() {
            for bands in [1, 3] {
                let raster = NewRaster {
                    width: 70,
                    height: 50,
                    bands: vec![samples.clone(); bands],
                    epsg: Some(32631),
                    geotransform: Some([500_000.0, 10.0, 0.0, 4_600_000.0, 0.0, -10.0]),
                    nodata: Some(3.0),
                    ..Default::default()
                };
                let source = write(
                    folder.path(),
                    &format!("{number}_{bands}.tif"),
                    "GTiff",
                    &raster,
                );
                let target = folder.path().join(format!("{number}_{bands}.tog.tif"));
                let options = TogOptions {
                    block_size: 32,
                    ..TogOptions::default()
                };
                write_tog(&source, &target, &options, &ctx()).expect("writes");
                let made = own(&*target);
                assert_eq!(
                    tog_faults(&made, &ctx()).expect("looks"),
                    Vec::<String>::new(),
                    "type {number}, {bands} bands"
                );
                assert!(!tog_faults(&source, &ctx()).expect("looks").is_empty());
                let ((old, before), (new, after)) = (pixels(&source), pixels(&made));
                assert_eq!(old, new, "type {number}, {bands} bands");
                let facts = |info: &crate::raster::RasterInfo| {
                    (
                        info.crs_code.clone(),
                        info.geotransform,
                        info.bands
                            .iter()
                            .map(|b| (b.dtype.clone(), b.nodata))
                            .collect::<Vec<_>>(),
                    )
                };
                assert_eq!(facts(&before), facts(&after));
                assert_eq!(after.bands.first().map(|band| band.block), Some((32, 32)));
            }
        }
        crate::raster::close_idle();
    }

    /// NBITS below the type's width: with INTERLEAVE=TILE, GDAL wrote other values.
    #[test]
    fn values_of_a_few_bits_stay_as_they_are() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let driver = DriverManager::get_driver_by_name("GTiff").expect("the driver");
        for (bits, most) in [(1u32, 1u32), (4, 15), (12, 4095)] {
            let path = folder.path().join(format!("bit{bits}.tif"));
            let options = RasterCreationOptions::from_iter([format!("NBITS={bits}")]);
            let values = |band: u32| {
                (0..60 * 50u32).map(move |i| (i + band).wrapping_mul(2_654_435_761) >> 16 & most)
            };
            for bands in [1, 2] {
                let write = |dataset: &mut Dataset| {
                    for band in 1..=bands {
                        let mut stored = dataset.rasterband(band).expect("the band");
                        let data: Vec<u16> =
                            values(band as u32).map(|value| value as u16).collect();
                        stored
                            .write(
                                (0, 0),
                                (60, 50),
                                &mut gdal::raster::Buffer::new((60, 50), data),
                            )
                            .expect("writes");
                    }
                };
                if bits > 8 {
                    let made = driver.create_with_band_type_with_options::<u16, _>(
                        &path, 60, 50, bands, &options,
                    );
                    write(&mut made.expect("a GeoTIFF"));
                } else {
                    let made = driver.create_with_band_type_with_options::<u8, _>(
                        &path, 60, 50, bands, &options,
                    );
                    write(&mut made.expect("a GeoTIFF"));
                }
                let (source, target) = (
                    own(&*path),
                    folder.path().join(format!("bit{bits}_{bands}.tog.tif")),
                );
                assert_eq!(bits_of(&Dataset::open(&path).expect("opens")), Some(bits));
                write_tog(&source, &target, &TogOptions::default(), &ctx()).expect("writes");
                let made = own(&*target);
                assert_eq!(
                    tog_faults(&made, &ctx()).expect("looks"),
                    Vec::<String>::new(),
                    "{bits} bits"
                );
                // GDAL extends the colour table to every value of the type.
                let samples = |asset: &RasterSource| {
                    pixels(asset)
                        .0
                        .bands
                        .into_iter()
                        .map(|band| band.samples)
                        .collect::<Vec<_>>()
                };
                assert!(
                    samples(&source) == samples(&made),
                    "{bits} bits, {bands} bands"
                );
                crate::raster::close_idle();
            }
        }
    }

    #[test]
    fn other_values_are_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let raster = |last: u8| {
            let mut values = vec![7u8; 70 * 50];
            values[70 * 50 - 1] = last;
            NewRaster {
                width: 70,
                height: 50,
                bands: vec![Samples::U8(vec![1; 70 * 50]), Samples::U8(values)],
                ..Default::default()
            }
        };
        let place = |name: &str, last: u8| {
            write(folder.path(), name, "GTiff", &raster(last));
            folder.path().join(name)
        };
        let (one, same, other) = (
            place("one.tif", 7),
            place("same.tif", 7),
            place("other.tif", 8),
        );
        let source = Dataset::open(one).expect("opens");
        same_values(&source, &same, &ctx()).expect("is the same");
        let error = same_values(&source, &other, &ctx())
            .expect_err("differs")
            .report();
        assert!(error.contains("band 2"), "{error}");
    }

    #[test]
    fn every_miss_has_its_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bands = vec![Samples::U16((0..600 * 600u32).map(|i| (i / 7) as u16).collect()); 2];
        const TOG: [(&str, &str); 6] = [
            ("COMPRESS", "ZSTD"),
            ("INTERLEAVE", "TILE"),
            ("OVERVIEWS", "NONE"),
            ("BIGTIFF", "YES"),
            ("BLOCKSIZE", "128"),
            ("PREDICTOR", "YES"),
        ];
        for (key, value, says) in [
            ("COMPRESS", "DEFLATE", "DEFLATE, not ZSTD"),
            ("INTERLEAVE", "PIXEL", "by pixel, not by tile"),
            ("OVERVIEWS", "AUTO", "overview"),
            ("BIGTIFF", "NO", "classic TIFF"),
            ("PREDICTOR", "NO", "no predictor"),
        ] {
            let options = TOG
                .iter()
                .map(|&(other, usual)| (other, if other == key { value } else { usual }))
                .collect();
            let raster = NewRaster {
                width: 600,
                height: 600,
                bands: bands.clone(),
                options,
                ..Default::default()
            };
            let asset = write(folder.path(), &format!("{key}.tif"), "COG", &raster);
            let faults = tog_faults(&asset, &ctx()).expect("looks");
            assert!(
                faults.len() == 1 && faults[0].contains(says),
                "{key}={value}: {faults:?}"
            );
        }
        let strips = NewRaster {
            width: 600,
            height: 600,
            bands,
            ..Default::default()
        };
        let faults = tog_faults(
            &write(folder.path(), "strips.tif", "GTiff", &strips),
            &ctx(),
        )
        .expect("looks")
        .join(" ");
        for says in [
            "Cloud Optimized",
            "none, not ZSTD",
            "multiples of 16",
            "classic",
            "predictor",
        ] {
            assert!(faults.contains(says), "{says}: {faults}");
        }
        let other = NewRaster {
            width: 4,
            height: 4,
            bands: vec![Samples::U8(vec![1; 16])],
            ..Default::default()
        };
        let faults =
            tog_faults(&write(folder.path(), "a.png", "PNG", &other), &ctx()).expect("looks");
        assert_eq!(faults, ["It is no GeoTIFF but PNG."]);
        crate::raster::close_idle();
    }

    #[test]
    fn other_versions_and_odd_options_are_refused_plainly() {
        let refused = supports("3.10.3", true).expect_err("too old").report();
        assert!(
            refused.contains("GDAL 3.10.3")
                && refused.contains("3.11 or newer")
                && refused.contains("build"),
            "{refused}"
        );
        assert!(
            supports("3.11.0", true).is_ok()
                && supports("3.12.1", true).is_ok()
                && supports("4.0.0dev", true).is_ok()
        );
        assert!(supports("3.12.1", false).is_err() && supports("", true).is_err());
        for (block_size, level) in [(0, 13), (8, 13), (100, 13), (8192, 13), (512, 0), (512, 23)] {
            assert!(
                TogOptions {
                    block_size,
                    level,
                    parallel: false
                }
                .check()
                .is_err(),
                "{block_size} {level}"
            );
        }
    }

    #[test]
    fn a_cancelled_copy_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let raster = NewRaster {
            width: 64,
            height: 64,
            bands: vec![Samples::U8(vec![1; 64 * 64])],
            ..Default::default()
        };
        let source = write(folder.path(), "a.tif", "GTiff", &raster);
        let ctx = ctx();
        ctx.cancel();
        let target = folder.path().join("b.tif");
        let error = write_tog(&source, &target, &TogOptions::default(), &ctx).expect_err("stops");
        assert!(
            error.is_cancelled() && std::fs::read_dir(folder.path()).expect("lists").count() == 1,
            "{error}"
        );
    }
}
