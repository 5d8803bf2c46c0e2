//! Statistics compared with direct computation on sorted values, for every data type and kind of
//! missing data.

use super::*;
use crate::raster::{NewRaster, Samples, write_geotiff};

fn write_raster_file(raster: &NewRaster) -> (tempfile::TempDir, RasterSource) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tif");
    write_geotiff(&path, raster).expect("writes");
    (
        folder,
        RasterSource::from_user_path(crate::model::AssetPath::file(path)),
    )
}

fn ctx() -> JobContext {
    JobContext::default()
}

/// Deterministic pseudo-random values.
fn noise(count: usize) -> impl Iterator<Item = u32> {
    (0..count as u32).map(|i| {
        i.wrapping_mul(2_654_435_761)
            .rotate_left(13)
            .wrapping_mul(0x85EB_CA6B)
            >> 8
    })
}

/// The statistics of values, computed from all of them, sorted.
fn summarize_directly(mut values: Vec<f64>, percents: &[f64]) -> BandSummary {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let std = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let at = |percent: &f64| {
        let place = percent / 100.0 * (n - 1.0);
        let (low, high) = (
            values[place as usize],
            values[(place as usize + 1).min(values.len() - 1)],
        );
        low + (high - low) * place.fract()
    };
    let (min, max) = (values[0], values[values.len() - 1]);
    BandSummary {
        min,
        max,
        range: [min, max].map(PixelNumber::Real),
        mean,
        std,
        count: values.len() as u64,
        valid_percent: 100.0,
        percentiles: percents.iter().map(at).collect(),
    }
}

/// Expects the same numbers, but for rounding.
fn expect_like(found: &BandSummary, expected: &BandSummary) {
    let numbers = |s: &BandSummary| {
        [
            &[s.min, s.max, s.mean, s.std, s.valid_percent],
            s.percentiles.as_slice(),
        ]
        .concat()
    };
    for (a, b) in numbers(found).iter().zip(numbers(expected)) {
        assert!(
            (a - b).abs() <= 1e-9 * b.abs().max(1e-3),
            "{found:?} is not {expected:?}"
        );
    }
}

const PERCENTS: [f64; 5] = [0.0, 25.0, 50.0, 99.5, 100.0];

#[test]
fn every_type_is_exact() {
    let (width, height) = (61, 47);
    let n = width * height;
    for samples in [
        Samples::U8(noise(n).map(|v| v as u8).collect()),
        Samples::U16(noise(n).map(|v| v as u16).collect()),
        Samples::I16(noise(n).map(|v| v as u16 as i16).collect()),
        Samples::U32(noise(n).map(|v| v << 7).collect()),
        Samples::I32(noise(n).map(|v| (v as i32) - (1 << 23)).collect()),
        Samples::F32(noise(n).map(|v| v as f32 / 1e3 - 5e3).collect()),
        Samples::F64(noise(n).map(|v| f64::from(v) * 1e-9 + 1e6).collect()),
    ] {
        let expected = summarize_directly((0..n).map(|i| samples.get(i)).collect(), &PERCENTS);
        let (_folder, asset) = write_raster_file(&NewRaster {
            width,
            height,
            bands: vec![samples.clone(), samples],
            ..Default::default()
        });
        let tally = tally(&asset, &ctx()).expect("reads");
        assert_eq!(tally.band_count(), 2);
        for band in 0..2 {
            expect_like(
                &tally
                    .summary(band, &PERCENTS, &ctx())
                    .expect("works")
                    .expect("has data"),
                &expected,
            );
        }
    }
}

#[test]
fn extremes_of_long_integers_are_exact() {
    let nodata = 9_007_199_254_740_995;
    let longs = Samples::I64(vec![
        nodata,
        -9_007_199_254_740_993,
        9_007_199_254_740_993,
        7,
    ]);
    for (samples, range) in [
        (
            longs.clone(),
            [-9_007_199_254_740_993, 9_007_199_254_740_995],
        ),
        (
            Samples::U64(vec![
                9_007_199_254_740_993,
                u64::MAX,
                u64::MAX - 1,
                u64::MAX,
            ]),
            [9_007_199_254_740_993, u64::MAX.into()],
        ),
        (
            Samples::U32(vec![4_000_000_001, 3, 4, u32::MAX]),
            [3, u32::MAX.into()],
        ),
        (Samples::U16(vec![9, 3, 4, 65_535]), [3, 65_535]),
    ] {
        let (_folder, asset) = write_raster_file(&NewRaster {
            width: 4,
            height: 1,
            bands: vec![samples],
            ..Default::default()
        });
        let summary = tally(&asset, &ctx())
            .expect("reads")
            .summary(0, &[], &ctx())
            .expect("works")
            .expect("has data");
        assert_eq!(summary.range, range.map(PixelNumber::Integer));
    }
    // A nodata value that no double can be does not exclude the values beside it.
    let (_folder, asset) = write_raster_file(&NewRaster {
        width: 4,
        height: 1,
        bands: vec![longs],
        ..Default::default()
    });
    let update = gdal::DatasetOptions {
        open_flags: gdal::GdalOpenFlags::GDAL_OF_UPDATE,
        ..Default::default()
    };
    let path = asset.asset().local_file().expect("a file").to_owned();
    let dataset = gdal::Dataset::open_ex(path, update).expect("opens");
    dataset
        .rasterband(1)
        .and_then(|mut band| band.set_no_data_value_i64(Some(nodata)))
        .expect("sets");
    dataset.close().expect("closes");
    let summary = tally(&asset, &ctx())
        .expect("reads")
        .summary(0, &[], &ctx())
        .expect("works")
        .expect("has data");
    assert_eq!(
        (summary.count, summary.range[1]),
        (3, PixelNumber::Integer(9_007_199_254_740_993))
    );
}

#[test]
fn missing_data_does_not_count() {
    let values: Vec<f32> = vec![f32::NAN, -9999.0, 1.0, 2.0, 3.0, f32::INFINITY];
    let bands = vec![Samples::F32(values)];
    let (_folder, asset) = write_raster_file(&NewRaster {
        width: 6,
        height: 1,
        bands,
        nodata: Some(-9999.0),
        ..Default::default()
    });
    let tally_of = tally(&asset, &ctx()).expect("reads");
    let summary = tally_of
        .summary(0, &[50.0], &ctx())
        .expect("works")
        .expect("has data");
    assert_eq!(
        (
            summary.min,
            summary.max,
            summary.mean,
            summary.percentiles[0]
        ),
        (1.0, 3.0, 2.0, 2.0)
    );
    assert_eq!(summary.valid_percent, 50.0);
    let bands = vec![Samples::U16(vec![7, 7, 7, 7])];
    let (_folder, asset) = write_raster_file(&NewRaster {
        width: 4,
        height: 1,
        bands,
        nodata: Some(7.0),
        ..Default::default()
    });
    assert_eq!(
        tally(&asset, &ctx())
            .expect("reads")
            .summary(0, &[], &ctx())
            .expect("works"),
        None
    );
}

#[test]
fn percentiles_of_values_that_do_not_fit_in_memory_are_found_by_reading_again() {
    let (width, height) = (120, 90);
    let values: Vec<f64> = noise(width * height)
        .map(|v| (f64::from(v) - 8e6) * 1.5e-3)
        .collect();
    let bands = vec![Samples::F64(values.clone())];
    let (_folder, asset) = write_raster_file(&NewRaster {
        width,
        height,
        bands,
        ..Default::default()
    });
    let mut moments = RasterMoments::default();
    for part in values.chunks(1000) {
        moments.join(RasterMoments::from_values(|with| {
            part.iter().for_each(|value| with(*value))
        }));
    }
    let info = pool::lease(&asset).expect("opens").info.clone();
    let large = RasterCount {
        source: asset,
        info,
        bands: vec![BandTally {
            total: (width * height) as u64,
            is_integer: false,
            long_range: None,
            data: Data::Large(moments),
        }],
    };
    let found = large
        .summary(0, &PERCENTS, &ctx())
        .expect("works")
        .expect("has data");
    expect_like(&found, &summarize_directly(values, &PERCENTS));
}

#[test]
fn bins_and_classes_count_the_largest_value() {
    let bands = vec![Samples::U8(vec![0, 0, 1, 2, 2, 2, 4, 9])];
    let (_folder, asset) = write_raster_file(&NewRaster {
        width: 8,
        height: 1,
        bands,
        ..Default::default()
    });
    let tally = tally(&asset, &ctx()).expect("reads");
    assert_eq!(
        tally.histogram(0, 0.0, 4.0, 4, &ctx()).expect("works"),
        [2, 1, 3, 1]
    );
    assert_eq!(
        tally.classes(0, &[2, 1, 0, 7], &ctx()).expect("works"),
        [3, 1, 2, 0]
    );
    assert!(tally.summary(1, &[], &ctx()).is_err());
}

#[test]
fn no_file_appears_beside_the_input() {
    let bands = vec![Samples::U8(vec![1; 64])];
    let (folder, asset) = write_raster_file(&NewRaster {
        width: 8,
        height: 8,
        bands,
        ..Default::default()
    });
    tally(&asset, &ctx()).expect("reads");
    crate::raster::close_idle();
    assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1);
}
