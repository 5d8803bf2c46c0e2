//! The module on files written by the test: data types, positions, ranges, formats, wrong headers
//! and damage.

use std::path::{Path, PathBuf};

use super::*;
use crate::error::Kind;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Stamp};

mod fence;
mod formats;
#[cfg(feature = "bundled-gdal")]
mod hdf5;

const UTM: [f64; 6] = [300_000.0, 10.0, 0.0, 8_700_000.0, 0.0, -10.0];

fn ctx() -> JobContext {
    JobContext::default()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A file that the user named.
fn own(path: impl Into<PathBuf>) -> RasterSource {
    RasterSource::from_user_path(AssetPath::file(path))
}

fn number(index: u32) -> BandIndex {
    BandIndex::new(index).expect("from 1")
}

/// A gradient of 16-bit values as a satellite would store them, three bands, in UTM 18 south.
fn scene(width: usize, height: usize) -> NewRaster<'static> {
    let band = |base: u16| {
        Samples::U16(
            (0..width * height)
                .map(|pixel| base + (pixel % width) as u16)
                .collect(),
        )
    };
    NewRaster {
        width,
        height,
        bands: vec![band(100), band(1000), band(2000)],
        names: vec!["B02", "B03", "B04"],
        epsg: Some(32718),
        geotransform: Some(UTM),
        nodata: Some(0.0),
        ..Default::default()
    }
}

fn written(folder: &Path, name: &str, raster: &NewRaster) -> PathBuf {
    let path = folder.join(name);
    write_geotiff(&path, raster).expect("writes");
    path
}

fn whole(info: &RasterInfo, bands: Vec<BandIndex>) -> ReadRequest {
    let window = Window::full(info.width, info.height);
    ReadRequest {
        window,
        out: (info.width, info.height),
        bands,
        resampling: Resampling::Nearest,
    }
}

#[test]
fn a_scene_is_described() {
    let folder = folder();
    let asset = own(written(
        folder.path(),
        "scene.tif",
        &NewRaster {
            options: vec![("COMPRESS", "ZSTD")],
            ..scene(40, 30)
        },
    ));
    let info = describe(&asset).expect("describes");
    assert_eq!(
        (
            info.driver.as_str(),
            info.width,
            info.height,
            info.band_count
        ),
        ("GTiff", 40, 30, 3)
    );
    assert_eq!(
        (info.crs_code.as_deref(), info.compression.as_deref()),
        (Some("EPSG:32718"), Some("ZSTD"))
    );
    assert_eq!(info.geotransform, Some(UTM));
    assert_eq!(
        (
            info.bands[1].dtype.as_str(),
            info.bands[1].description.as_str(),
            info.bands[1].nodata
        ),
        ("UInt16", "B03", Some(0.0))
    );
    assert!(info.size_bytes.is_some_and(|size| size > 100) && !info.is_vector());
    let [lon, lat] = info.corners_lonlat.expect("has corners")[0];
    assert!(
        (-77.0..-76.0).contains(&lon) && (-12.0..-11.0).contains(&lat),
        "{lon} {lat}"
    );
    let json = serde_json::to_value(&*info).expect("serialises");
    assert_eq!(json["bands"][2]["index"], 3);
}

#[test]
fn windows_are_clipped_and_decimated() {
    let folder = folder();
    let asset = own(written(folder.path(), "scene.tif", &scene(40, 30)));
    let window = Window {
        x: 30,
        y: 20,
        width: 100,
        height: 100,
    };
    let request = ReadRequest {
        window,
        out: (5, 5),
        bands: vec![number(3), number(1)],
        resampling: Resampling::Average,
    };
    let pixels = read_window(&asset, &request, &ctx()).expect("reads");
    assert_eq!(
        pixels.window,
        Window {
            x: 30,
            y: 20,
            width: 10,
            height: 10
        }
    );
    // Two columns and two rows make one pixel: 2030 and 2031 average to 2031 (rounded up).
    assert!(
        (pixels.bands[0].samples.get(0) - 2030.5).abs() <= 0.5,
        "{:?}",
        pixels.bands[0].samples
    );
    assert_eq!(pixels.bands[1].index, number(1));
    let outside = ReadRequest {
        window: Window {
            x: 40,
            y: 0,
            width: 1,
            height: 1,
        },
        ..request.clone()
    };
    assert!(
        read_window(&asset, &outside, &ctx())
            .expect_err("outside")
            .to_string()
            .contains("40 × 30")
    );
    let no_band = ReadRequest {
        bands: vec![number(4)],
        ..request
    };
    assert!(
        read_window(&asset, &no_band, &ctx())
            .expect_err("no band 4")
            .to_string()
            .contains("there is no band 4")
    );
}

#[test]
fn a_range_of_a_container_reads_like_the_file() {
    let folder = folder();
    let plain = written(folder.path(), "scene.tif", &scene(16, 16));
    let bytes = std::fs::read(&plain).expect("reads");
    let container = folder.path().join("set, one.tacozip");
    let mut all = vec![7u8; 1234];
    all.extend_from_slice(&bytes);
    all.extend_from_slice(&[9; 99]);
    std::fs::write(&container, all).expect("writes");
    let range =
        |offset, size| RasterSource::member(AssetPath::range(container.as_path(), offset, size));
    let inside = range(1234, bytes.len() as u64);
    let info = describe(&inside).expect("describes");
    assert_eq!(
        (info.size_bytes, info.band_count),
        (Some(bytes.len() as u64), 3)
    );
    let request = whole(&info, vec![number(2)]);
    assert_eq!(
        read_window(&inside, &request, &ctx()).expect("reads"),
        read_window(&own(&plain), &request, &ctx()).expect("reads")
    );
    let beyond = describe(&range(1234, 1 << 40)).expect_err("beyond the end");
    assert!(
        beyond.to_string().contains("are outside the file") && !beyond.hints().is_empty(),
        "{beyond}"
    );
    assert!(describe(&range(u64::MAX, 5)).is_err());
    assert!(
        describe(&range(1234, 0))
            .expect_err("padding")
            .to_string()
            .contains("holds no bytes")
    );
    assert!(
        describe(&range(0, 1000))
            .expect_err("not a raster")
            .to_string()
            .contains("not recognized")
    );
}

#[test]
fn a_range_of_a_container_that_was_rewritten_since_shows_nothing() {
    let folder = folder();
    let bytes = std::fs::read(written(folder.path(), "scene.tif", &scene(16, 16))).expect("reads");
    let container = folder.path().join("set.tacozip");
    std::fs::write(&container, &bytes).expect("writes");
    let meta = std::fs::metadata(&container).expect("is there");
    let stamp = Stamp::of_file(&meta);
    let AssetPath::Range {
        container: path,
        offset,
        size,
        ..
    } = AssetPath::range(container.as_path(), 0, meta.len())
    else {
        unreachable!("it is a range")
    };
    let range = RasterSource::member(AssetPath::Range {
        container: path,
        offset,
        size,
        stamp: Some(stamp.into()),
    });
    describe(&range).expect("is the version that was found");
    let later = std::fs::OpenOptions::new()
        .write(true)
        .open(&container)
        .expect("opens");
    later
        .set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5))
        .expect("is dated");
    assert_eq!(
        describe(&range).expect_err("is another version").kind(),
        Kind::Changed
    );
    std::fs::write(&container, [&bytes[..], b"more"].concat()).expect("writes");
    assert_eq!(
        describe(&range).expect_err("is another version").kind(),
        Kind::Changed
    );
}

#[test]
fn damaged_and_missing_files_give_a_reason() {
    let folder = folder();
    let good = written(folder.path(), "good.tif", &scene(200, 200));
    let bytes = std::fs::read(&good).expect("reads");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        own(path)
    };
    let noise: Vec<u8> = (0..5000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for asset in [
        file("noise.tif", &noise),
        file("text.tif", b"not a raster"),
        file("head.tif", &bytes[..6]),
    ] {
        let error = describe(&asset).expect_err("not a raster");
        assert!(
            std::error::Error::source(&error).is_some() && !error.hints().is_empty(),
            "{error}"
        );
    }
    assert!(
        describe(&file("empty.tif", b""))
            .expect_err("empty")
            .to_string()
            .contains("the file is empty")
    );
    let missing = describe(&own(folder.path().join("none.tif"))).expect_err("missing");
    assert!(missing.to_string().contains("none.tif"));
    assert!(
        describe(&RasterSource::from_user_path(
            AssetPath::parse("/vsimem/none.tif").expect("parses")
        ))
        .is_err()
    );
    assert!(describe(&own("a\0b.tif")).is_err());
    // Cut in the middle: the header opens, the pixels do not.
    let mut failures = 0;
    for cut in [bytes.len() / 4, bytes.len() / 2, bytes.len() - 10] {
        let asset = file(&format!("cut{cut}.tif"), &bytes[..cut]);
        let result = describe(&asset)
            .and_then(|info| read_window(&asset, &whole(&info, vec![number(3)]), &ctx()));
        failures += usize::from(result.is_err());
    }
    assert!(failures >= 2, "{failures}");
}

#[test]
fn a_file_of_git_lfs_that_was_not_fetched_is_named() {
    let folder = folder();
    let hash = "0".repeat(64);
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 12345\n");
    // GDAL opens texts named so as tables.
    for name in ["a.tif", "a.csv", "a.nc", "a"] {
        let path = folder.path().join(name);
        std::fs::write(&path, &pointer).expect("writes");
        let range = AssetPath::range(path.as_path(), 0, pointer.len() as u64);
        for source in [
            own(&path),
            RasterSource::member(AssetPath::file(&path)),
            RasterSource::member(range),
        ] {
            let error = describe(&source).expect_err("is no raster").report();
            assert!(error.contains("git lfs pull"), "{name}: {error}");
        }
    }
}

#[test]
fn what_is_saved_in_place_of_a_raster_is_told() {
    let folder = folder();
    for (name, bytes, wanted) in [
        ("page.tif", &b"<!DOCTYPE html><html></html>"[..], "web page"),
        ("packed.tif", b"\x1f\x8b\x08\0\0\0\0\0", "gzip"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        for source in [own(&path), RasterSource::member(AssetPath::file(&path))] {
            let error = describe(&source).expect_err("is no raster").report();
            assert!(error.contains(wanted), "{name}: {error}");
        }
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    let folder = folder();
    let good = written(
        folder.path(),
        "good.tif",
        &NewRaster {
            options: vec![("COMPRESS", "DEFLATE")],
            ..scene(20, 20)
        },
    );
    let bytes = std::fs::read(&good).expect("reads");
    for position in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0xFF;
        let path = folder.path().join("damaged.tif");
        std::fs::write(&path, damaged).expect("writes");
        let asset = own(&path);
        // Either outcome is fine; a crash or gigabytes are not.
        let _ = preview(&PreviewRequest::new(asset, (64, 64)), &ctx());
        close_idle();
    }
}

#[test]
fn headers_that_lie_about_their_size_cost_nothing() {
    let folder = folder();
    let path = folder.path().join("huge.vrt");
    let vrt = r#"<VRTDataset rasterXSize="2000000000" rasterYSize="2000000000">
        <VRTRasterBand dataType="Float64" band="1"/></VRTDataset>"#;
    std::fs::write(&path, vrt).expect("writes");
    let asset = own(&path);
    let info = describe(&asset).expect("describes");
    assert_eq!(info.width, 2_000_000_000);
    let error = read_window(&asset, &whole(&info, vec![number(1)]), &ctx()).expect_err("too large");
    assert!(error.to_string().contains("1 GiB"), "{error}");
    let image =
        preview(&PreviewRequest::new(asset.clone(), (64, 64)), &ctx()).expect("a look at nothing");
    assert_eq!((image.rgba.width, image.rgba.height), (64, 64));
}

#[test]
fn a_block_larger_than_memory_is_refused() {
    let folder = folder();
    let path = folder.path().join("strip.tif");
    // One strip of 100,000 × 100,000 values of 16 bits that claims to be compressed into 100 bytes.
    let entries: [(u16, u32); 10] = [
        (256, 100_000),
        (257, 100_000),
        (258, 16),
        (259, 5),
        (262, 1),
        (273, 200),
        (277, 1),
        (278, 100_000),
        (279, 100),
        (339, 1),
    ];
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(4u16.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.resize(300, 0);
    std::fs::write(&path, bytes).expect("writes");
    let error = preview(&PreviewRequest::new(own(&path), (64, 64)), &ctx()).expect_err("too large");
    assert!(
        error
            .to_string()
            .contains("one block of band 1 takes 19073 MiB")
            && !error.hints().is_empty(),
        "{error}"
    );
}

#[test]
fn systems_of_every_authority_keep_their_code() {
    let folder = folder();
    for code in [
        "ESRI:54009",
        "ESRI:102003",
        "ESRI:102001",
        "EPSG:6933",
        "EPSG:3035",
        "IAU_2015:49910",
    ] {
        let path = folder.path().join("a.tif");
        environment::init();
        let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("is built in");
        let mut dataset = driver
            .create_with_band_type::<u8, _>(&path, 4, 4, 1)
            .expect("creates");
        dataset
            .set_spatial_ref(
                &gdal::spatial_ref::SpatialRef::from_definition(code).expect("is known"),
            )
            .expect("sets");
        dataset
            .set_geo_transform(&[0.0, 100.0, 0.0, 0.0, 0.0, -100.0])
            .expect("sets");
        dataset.close().expect("writes");
        let info = describe(&own(&path)).expect("describes");
        assert_eq!(info.crs_code.as_deref(), Some(code), "{:?}", info.crs_wkt);
        std::fs::remove_file(&path).expect("removed");
    }
    // A system of one's own has none.
    let own_system = "+proj=laea +lat_0=12.5 +lon_0=3.25 +datum=WGS84 +units=m";
    let srs = gdal::spatial_ref::SpatialRef::from_definition(own_system).expect("is known");
    assert_eq!(crs_code::crs_code(&srs), None);
}

#[test]
fn floats_with_nan_and_nodata() {
    let folder = folder();
    let values = vec![1.5, f32::NAN, -9999.0, 2.5, 3.5, 4.5];
    let raster = NewRaster {
        width: 3,
        height: 2,
        bands: vec![Samples::F32(values)],
        nodata: Some(-9999.0),
        ..Default::default()
    };
    let asset = own(written(folder.path(), "dem.tif", &raster));
    let info = describe(&asset).expect("describes");
    assert_eq!((info.crs_code.as_deref(), info.geotransform), (None, None));
    let pixels = read_window(&asset, &whole(&info, vec![number(1)]), &ctx()).expect("reads");
    let valid: Vec<bool> = (0..6)
        .map(|position| pixels.bands[0].is_valid(position))
        .collect();
    assert_eq!(valid, [true, false, false, true, true, true]);
    assert_eq!(
        limits(&pixels.bands[0], Stretch::MinMax),
        Some(StretchLimits {
            low: 1.5,
            high: 4.5
        })
    );
    let image = preview(&PreviewRequest::new(asset.clone(), (100, 100)), &ctx()).expect("shows");
    assert_eq!((image.rgba.width, image.rgba.height), (3, 2));
    let alpha: Vec<u8> = image
        .rgba
        .data
        .chunks_exact(4)
        .map(|pixel| pixel[3])
        .collect();
    assert_eq!(alpha, [255, 0, 0, 255, 255, 255]);
    assert!(image.histograms[0].counts.iter().sum::<u64>() == 4);
    let probe = probe(&asset, 2, 0, &ctx()).expect("probes");
    assert_eq!(
        (probe.values[0].value, probe.values[0].missing, probe.xy),
        (PixelNumber::Real(-9999.0), true, None)
    );
}

#[test]
fn palettes_survive_and_are_shown() {
    let folder = folder();
    let palette = vec![[0, 0, 0, 255], [200, 30, 40, 255], [10, 120, 60, 255]];
    let raster = NewRaster {
        width: 2,
        height: 2,
        bands: vec![Samples::U8(vec![0, 1, 2, 1])],
        palette: Some(palette.clone()),
        ..Default::default()
    };
    let asset = own(written(folder.path(), "classes.tif", &raster));
    let image = preview(&PreviewRequest::new(asset, (10, 10)), &ctx()).expect("shows");
    assert_eq!(image.info.bands[0].colour, "Palette");
    let shown: Vec<[u8; 4]> = image
        .rgba
        .data
        .chunks_exact(4)
        .map(|pixel| [pixel[0], pixel[1], pixel[2], pixel[3]])
        .collect();
    assert_eq!(shown, [palette[0], palette[1], palette[2], palette[1]]);
    assert_eq!(image.limits, [None]);
}

#[test]
fn other_types_are_read_in_full() {
    let folder = folder();
    for (name, samples) in [
        ("i16.tif", Samples::I16(vec![-32768, -1, 0, 32767])),
        ("u32.tif", Samples::U32(vec![0, 1, 2, u32::MAX])),
        ("i32.tif", Samples::I32(vec![i32::MIN, 0, 1, i32::MAX])),
        ("f64.tif", Samples::F64(vec![-1e300, 0.0, 1.0, 1e300])),
        (
            "u64.tif",
            Samples::U64(vec![0, 9_007_199_254_740_993, u64::MAX - 1, u64::MAX]),
        ),
        (
            "i64.tif",
            Samples::I64(vec![i64::MIN, -9_007_199_254_740_993, 0, i64::MAX]),
        ),
    ] {
        let raster = NewRaster {
            width: 2,
            height: 2,
            bands: vec![samples.clone()],
            ..Default::default()
        };
        let asset = own(written(folder.path(), name, &raster));
        let info = describe(&asset).expect("describes");
        assert_eq!(
            read_window(&asset, &whole(&info, vec![number(1)]), &ctx())
                .expect("reads")
                .bands[0]
                .samples,
            samples
        );
        let image = preview(&PreviewRequest::new(asset.clone(), (2, 2)), &ctx()).expect("shows");
        assert!(
            image.rgba.data.chunks_exact(4).any(|pixel| pixel[0] > 0),
            "{name} is black"
        );
        for (at, (column, row)) in [(0, 0), (1, 0), (0, 1), (1, 1)].into_iter().enumerate() {
            assert_eq!(
                probe(&asset, column, row, &ctx()).expect("probes").values[0].value,
                samples.number(at),
                "{name}"
            );
        }
    }
}

#[test]
fn complex_numbers_show_their_magnitude() {
    let folder = folder();
    let real = NewRaster {
        width: 2,
        height: 1,
        bands: vec![Samples::F32(vec![3.0, -5.0])],
        ..Default::default()
    };
    written(folder.path(), "real.tif", &real);
    let vrt = r#"<VRTDataset rasterXSize="2" rasterYSize="1">
        <VRTRasterBand dataType="CFloat32" band="1"><SimpleSource>
        <SourceFilename relativeToVRT="1">real.tif</SourceFilename><SourceBand>1</SourceBand>
        </SimpleSource></VRTRasterBand></VRTDataset>"#;
    let path = folder.path().join("complex.vrt");
    std::fs::write(&path, vrt).expect("writes");
    let asset = own(&path);
    let info = describe(&asset).expect("describes");
    assert!(info.bands[0].is_complex());
    let pixels = read_window(&asset, &whole(&info, vec![number(1)]), &ctx()).expect("reads");
    assert_eq!(pixels.bands[0].samples, Samples::F32(vec![3.0, 5.0]));
    let value = probe(&asset, 1, 0, &ctx()).expect("probes").values[0];
    assert_eq!(
        (value.value, value.imaginary),
        (PixelNumber::Real(-5.0), Some(0.0))
    );
}

#[test]
fn complex_numbers_show_the_part_that_is_asked_for() {
    use crate::raster::ComplexPart;
    let folder = folder();
    let path = folder.path().join("complex.tif");
    let name = std::ffi::CString::new(path.display().to_string()).expect("a name");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let mut pairs = [3.0f64, 4.0, 0.0, -2.0, 0.0, 0.0, -1.0, 0.0];
    // Safety: the handles are checked, `pairs` has 4 complex values of two doubles, and the dataset
    // is closed once.
    unsafe {
        let no_options = std::ptr::null_mut();
        let dataset = gdal_sys::GDALCreate(
            driver.c_driver(),
            name.as_ptr(),
            4,
            1,
            1,
            gdal_sys::GDALDataType::GDT_CFloat32,
            no_options,
        );
        assert!(!dataset.is_null());
        let band = gdal_sys::GDALGetRasterBand(dataset, 1);
        assert_eq!(
            gdal_sys::GDALSetRasterNoDataValue(band, 0.0),
            gdal_sys::CPLErr::CE_None
        );
        let (write, kind) = (
            gdal_sys::GDALRWFlag::GF_Write,
            gdal_sys::GDALDataType::GDT_CFloat64,
        );
        let data = pairs.as_mut_ptr().cast();
        assert_eq!(
            gdal_sys::GDALRasterIO(band, write, 0, 0, 4, 1, data, 4, 1, kind, 0, 0),
            gdal_sys::CPLErr::CE_None
        );
        gdal_sys::GDALClose(dataset);
    }
    let values = |part: ComplexPart| {
        let mut request = PreviewRequest::new(own(&path), (4, 1));
        request.options.part = part;
        let band = preview(&request, &ctx())
            .expect("shows")
            .prepared
            .pixels
            .bands[0]
            .clone();
        assert_eq!(
            [0, 1, 2, 3].map(|at| band.is_valid(at)),
            [true, true, false, true],
            "only 0 + 0i is nodata"
        );
        [0, 1, 2, 3].map(|at| band.samples.get(at))
    };
    assert_eq!(values(ComplexPart::Magnitude), [5.0, 2.0, 0.0, 1.0]);
    assert_eq!(values(ComplexPart::Real), [3.0, 0.0, 0.0, -1.0]);
    assert_eq!(values(ComplexPart::Imaginary), [4.0, -2.0, 0.0, 0.0]);
    let phases = values(ComplexPart::Phase);
    // atan2 by hand: 3 + 4i is 0.927 rad, -2i is -π/2, -1 is π.
    for (phase, expected) in phases.into_iter().zip([
        0.927_295_2,
        -std::f64::consts::FRAC_PI_2,
        0.0,
        std::f64::consts::PI,
    ]) {
        assert!((phase - expected).abs() < 1e-6, "{phases:?}");
    }
}

#[test]
fn a_pixel_knows_its_place() {
    let folder = folder();
    let asset = own(written(folder.path(), "scene.tif", &scene(40, 30)));
    let probe_at = |column, row| probe(&asset, column, row, &ctx());
    let found = probe_at(12, 7).expect("probes");
    assert_eq!(
        found
            .values
            .iter()
            .map(|value| value.value)
            .collect::<Vec<_>>(),
        [112, 1012, 2012].map(PixelNumber::Integer)
    );
    assert_eq!(found.xy, Some([300_125.0, 8_699_925.0]));
    let [lon, lat] = found.lonlat.expect("has a place");
    // Krüger's series by hand, outside this program.
    assert!(
        (lon - -76.8341576).abs() < 1e-6 && (lat - -11.7546458).abs() < 1e-6,
        "{lon} {lat}"
    );
    assert!(probe_at(40, 0).is_err());
}

#[test]
fn bands_choose_themselves() {
    let folder = folder();
    let asset = own(written(folder.path(), "scene.tif", &scene(8, 8)));
    let info = describe(&asset).expect("describes");
    assert_eq!(
        BandChoice::Auto.resolve(&info),
        BandChoice::Rgb([number(3), number(2), number(1)])
    );
    let grey = NewRaster {
        names: vec![],
        bands: scene(8, 8).bands.into_iter().take(2).collect(),
        ..scene(8, 8)
    };
    let info = describe(&own(written(folder.path(), "two.tif", &grey))).expect("describes");
    assert_eq!(
        BandChoice::Auto.resolve(&info),
        BandChoice::Single {
            band: BandIndex::FIRST,
            map: ColourMap::Grey
        }
    );
}

#[test]
fn a_file_that_changed_is_read_again() {
    let folder = folder();
    let path = written(folder.path(), "scene.tif", &scene(8, 8));
    let asset = own(&path);
    assert_eq!(describe(&asset).expect("describes").width, 8);
    // In place, as another program does: the dataset is still open here, and Windows removes no
    // open file.
    let other = written(folder.path(), "other.tif", &scene(24, 8));
    std::fs::copy(other, &path).expect("writes over");
    assert_eq!(describe(&asset).expect("describes").width, 24);
}

#[test]
fn threads_share_a_file_without_sharing_a_dataset() {
    let folder = folder();
    let asset = own(written(
        folder.path(),
        "scene.tif",
        &NewRaster {
            options: vec![("TILED", "YES")],
            ..scene(300, 300)
        },
    ));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let image = preview(&PreviewRequest::new(asset.clone(), (50, 50)), &ctx())
                        .expect("shows");
                    assert_eq!(image.rgba.data.len(), 50 * 50 * 4);
                }
            });
        }
    });
}

#[test]
fn cancel_ends_a_preview() {
    let folder = folder();
    let asset = own(written(folder.path(), "scene.tif", &scene(8, 8)));
    let ctx = ctx();
    ctx.cancel();
    assert!(
        preview(&PreviewRequest::new(asset, (8, 8)), &ctx)
            .expect_err("cancelled")
            .is_cancelled()
    );
}

#[test]
fn requests_are_plain_data() {
    let mut request = PreviewRequest::new(own("/data/a.tif"), (640, 480));
    request.options.bands = BandChoice::Rgb([number(4), number(3), number(2)]);
    request.window = Some(Window {
        x: 1,
        y: 2,
        width: 3,
        height: 4,
    });
    let text = serde_json::to_string(&request).expect("serialises");
    assert_eq!(
        serde_json::from_str::<PreviewRequest>(&text).expect("reads back"),
        request
    );
    assert!(serde_json::from_str::<BandIndex>("0").is_err());
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let folder = folder();
    let path = folder.path().join("scene.tif");
    let wrong = NewRaster {
        width: 7,
        ..scene(8, 8)
    };
    assert!(write_geotiff(&path, &wrong).is_err());
    let options = NewRaster {
        epsg: Some(1),
        ..scene(8, 8)
    };
    assert!(write_geotiff(&path, &options).is_err());
    assert!(write_raster(&path, "NoSuchDriver", &scene(8, 8)).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 0);
}
