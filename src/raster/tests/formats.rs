//! Every format that this build supports, and initialisation of GDAL and PROJ in unusual
//! environments.

use super::*;
use crate::error::Cause;
#[cfg(all(unix, feature = "bundled-gdal"))]
use std::process::Command;

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_drivers_are_there() {
    let environment = environment();
    for driver in [
        "GTiff",
        "COG",
        "VRT",
        "JPEG",
        "PNG",
        "WEBP",
        "JP2OpenJPEG",
        "netCDF",
        "HDF5",
        "GRIB",
        "HFA",
        "SENTINEL2",
        "GPKG",
        "GeoJSON",
    ] {
        assert!(
            environment.has(driver),
            "{driver} is missing; there are {:?}",
            environment.drivers
        );
    }
    for compression in ["DEFLATE", "LZW", "ZSTD", "JPEG", "WEBP"] {
        assert!(
            environment
                .tiff_compressions
                .iter()
                .any(|known| known == compression),
            "{:?}",
            environment.tiff_compressions
        );
    }
    assert!(
        environment.proj_ok && environment.curl && environment.gdal_version.starts_with("3."),
        "{environment:?}"
    );
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn every_format_reads_back() {
    let folder = folder();
    let (width, height) = (64, 48);
    let bytes = |bands: usize| -> Vec<Samples> {
        (0..bands)
            .map(|band| {
                Samples::U8(
                    (0..width * height)
                        .map(|pixel| (pixel % width + band * 60) as u8)
                        .collect(),
                )
            })
            .collect()
    };
    let lossless = [
        (
            "GTiff",
            "a.tif",
            vec![("COMPRESS", "ZSTD"), ("TILED", "YES")],
        ),
        (
            "GTiff",
            "w.tif",
            vec![
                ("COMPRESS", "WEBP"),
                ("WEBP_LOSSLESS", "YES"),
                ("INTERLEAVE", "PIXEL"),
            ],
        ),
        (
            "COG",
            "b.tif",
            vec![
                ("COMPRESS", "ZSTD"),
                ("INTERLEAVE", "TILE"),
                ("BLOCKSIZE", "128"),
            ],
        ),
        ("PNG", "c.png", vec![]),
        ("WEBP", "d.webp", vec![("LOSSLESS", "YES")]),
        (
            "JP2OpenJPEG",
            "e.jp2",
            vec![("QUALITY", "100"), ("REVERSIBLE", "YES")],
        ),
        ("HFA", "f.img", vec![]),
    ];
    for (driver, name, options) in lossless {
        let raster = NewRaster {
            width,
            height,
            bands: bytes(3),
            options,
            ..Default::default()
        };
        let path = folder.path().join(name);
        write_raster(&path, driver, &raster)
            .unwrap_or_else(|error| panic!("{driver}: {}", error.report()));
        let asset = own(&path);
        let info = describe(&asset).unwrap_or_else(|error| panic!("{driver}: {}", error.report()));
        assert_eq!(
            (info.width, info.height, info.band_count),
            (width, height, 3),
            "{driver}"
        );
        let pixels = read_window(&asset, &whole(&info, vec![number(2)]), &ctx()).expect("reads");
        assert_eq!(pixels.bands[0].samples, raster.bands[1], "{driver}");
        // The same bytes as a sample inside a container.
        let file = std::fs::read(&path).expect("reads");
        let container = folder.path().join(format!("{name}.tacozip"));
        std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
        let range = RasterSource::member(AssetPath::range(
            container.as_path(),
            157,
            file.len() as u64,
        ));
        let inside = describe(&range)
            .unwrap_or_else(|error| panic!("{driver} in a container: {}", error.report()));
        assert_eq!(inside.band_count, 3);
    }
    let raster = NewRaster {
        width,
        height,
        bands: bytes(3),
        ..Default::default()
    };
    let path = folder.path().join("g.jpg");
    write_raster(&path, "JPEG", &raster).expect("writes");
    assert_eq!(describe(&own(&path)).expect("describes").driver, "JPEG");
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn tiles_of_a_cog_are_interleaved() {
    let folder = folder();
    let path = folder.path().join("cog.tif");
    let raster = NewRaster {
        options: vec![
            ("INTERLEAVE", "TILE"),
            ("BLOCKSIZE", "128"),
            ("COMPRESS", "ZSTD"),
        ],
        ..scene(512, 512)
    };
    write_raster(&path, "COG", &raster).expect("writes");
    let info = describe(&own(&path)).expect("describes");
    assert_eq!(
        (info.interleave.as_deref(), info.bands[0].block),
        (Some("TILE"), (128, 128))
    );
    assert!(!info.bands[0].overviews.is_empty());
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn variables_of_a_netcdf_file_are_listed() {
    let folder = folder();
    let path = folder.path().join("cube.nc");
    let raster = NewRaster {
        epsg: Some(4326),
        geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
        ..scene(12, 9)
    };
    write_raster(
        &path,
        "netCDF",
        &NewRaster {
            options: vec![("FORMAT", "NC4")],
            ..raster
        },
    )
    .expect("writes");
    let asset = own(&path);
    let info = describe(&asset).expect("describes");
    assert_eq!(info.subdatasets.len(), 3, "{info:?}");
    assert!(info.shown_subdataset.is_some() && info.band_count == 1 && info.width == 12);
    let second =
        RasterSource::from_user_path(AssetPath::parse(&info.subdatasets[1].name).expect("parses"));
    let pixels = read_window(&second, &whole(&info, vec![number(1)]), &ctx()).expect("reads");
    assert_eq!(pixels.bands[0].samples.get(0), 1000.0);
    assert!(preview(&PreviewRequest::new(asset, (12, 9)), &ctx()).is_ok());
    let file = std::fs::read(&path).expect("reads");
    let container = folder.path().join("set.tacozip");
    std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
    let range = RasterSource::member(AssetPath::range(
        container.as_path(),
        157,
        file.len() as u64,
    ));
    let inside =
        describe(&range).unwrap_or_else(|error| panic!("in a container: {}", error.report()));
    assert_eq!(
        (inside.width, inside.subdatasets.len(), inside.geotransform),
        (12, 3, info.geotransform)
    );
    let second = RasterSource::from_user_path(
        AssetPath::parse(&inside.subdatasets[1].name).expect("parses"),
    );
    let pixels = read_window(&second, &whole(&inside, vec![number(1)]), &ctx()).expect("reads");
    assert_eq!(pixels.bands[0].samples.get(0), 1000.0);
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_variable_that_is_read_is_known_loose_and_in_a_container() {
    let folder = folder();
    for (name, format) in [("classic", "NC"), ("newer", "NC4")] {
        let path = folder.path().join(format!("{name}.nc"));
        let raster = NewRaster {
            epsg: Some(4326),
            geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
            ..scene(12, 9)
        };
        write_raster(
            &path,
            "netCDF",
            &NewRaster {
                options: vec![("FORMAT", format)],
                ..raster
            },
        )
        .expect("writes");
        let file = std::fs::read(&path).expect("reads");
        let container = folder.path().join(format!("{name}.tacozip"));
        std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
        let range = RasterSource::member(AssetPath::range(
            container.as_path(),
            157,
            file.len() as u64,
        ));
        for source in [
            own(&path),
            RasterSource::member(AssetPath::file(&*path)),
            range,
        ] {
            let info =
                describe(&source).unwrap_or_else(|error| panic!("{name}: {}", error.report()));
            let read = info.variable.as_ref().map(VariableRead::sentence);
            assert_eq!(
                read.as_deref(),
                Some("Band1, the first of 3 variables: Band1, Band2, Band3"),
                "{name}: {info:?}"
            );
            assert_eq!(info.subdatasets.len(), 3, "{name}");
        }
    }
    let plain = folder.path().join("plain.tif");
    write_raster(&plain, "GTiff", &scene(12, 9)).expect("writes");
    assert_eq!(describe(&own(&plain)).expect("describes").variable, None);
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn a_variable_is_read_by_its_name_loose_and_in_a_container() {
    let folder = folder();
    let placed = || NewRaster {
        epsg: Some(4326),
        geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
        ..scene(12, 9)
    };
    for (name, format) in [("classic", "NC"), ("newer", "NC4")] {
        let path = folder.path().join(format!("{name}.nc"));
        write_raster(
            &path,
            "netCDF",
            &NewRaster {
                options: vec![("FORMAT", format)],
                ..placed()
            },
        )
        .expect("writes");
        let file = std::fs::read(&path).expect("reads");
        let container = folder.path().join(format!("{name}.tacozip"));
        std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
        let range = RasterSource::member(AssetPath::range(
            container.as_path(),
            157,
            file.len() as u64,
        ));
        for source in [
            own(&path),
            RasterSource::member(AssetPath::file(&*path)),
            range,
        ] {
            let third = source.clone().with_variable(Some("Band3".into()));
            let info =
                describe(&third).unwrap_or_else(|error| panic!("{name}: {}", error.report()));
            let read = info.variable.as_ref().expect("several");
            assert_eq!(
                (read.name.as_deref(), read.position, read.is_chosen),
                (Some("Band3"), Some(2), true),
                "{name}"
            );
            assert_eq!(
                (info.width, info.geotransform),
                (12, placed().geotransform),
                "{name}"
            );
            let pixels =
                read_window(&third, &whole(&info, vec![number(1)]), &ctx()).expect("reads");
            // netCDF files begin with the southern row.
            assert_eq!(pixels.bands[0].samples.get(0), 2000.0, "{name}");
            let error = describe(&source.with_variable(Some("Band4".into()))).expect_err("refuses");
            assert!(
                error.is_caused_by(Cause::NoVariable)
                    && error.report().contains("Band1, Band2, Band3"),
                "{}",
                error.report()
            );
        }
    }
    let single = folder.path().join("single.nc");
    let one = NewRaster {
        bands: vec![placed().bands.remove(1)],
        names: Vec::new(),
        ..placed()
    };
    write_raster(&single, "netCDF", &one).expect("writes");
    for source in [
        own(&single),
        RasterSource::member(AssetPath::file(&*single)),
    ] {
        let of = |name: &str| describe(&source.clone().with_variable(Some(name.into())));
        assert!(of("Band1").is_ok_and(|info| info.width == 12 && info.variable.is_none()));
        assert!(of("temp").is_err_and(|error| error.is_caused_by(Cause::NoVariable)));
        let (kept, _) = describe_variable(source.clone(), Some("temp".into())).expect("reads");
        assert_eq!(kept, source);
    }
    let plain = folder.path().join("plain.tif");
    write_raster(&plain, "GTiff", &scene(12, 9)).expect("writes");
    assert_eq!(
        describe(&own(&plain).with_variable(Some("temp".into())))
            .expect("describes")
            .band_count,
        3
    );
}

#[test]
fn an_image_of_a_tiff_is_read_by_its_name() {
    let folder = folder();
    let path = folder.path().join("pages.tif");
    write_raster(&path, "GTiff", &scene(12, 9)).expect("writes");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let options = gdal::raster::RasterCreationOptions::from_iter(["APPEND_SUBDATASET=YES"]);
    driver
        .create_with_band_type_with_options::<u16, _>(&path, 7, 9, 1, &options)
        .expect("another page")
        .close()
        .expect("writes");
    for source in [own(&path), RasterSource::member(AssetPath::file(&*path))] {
        let of = |name: Option<&str>| {
            describe(&source.clone().with_variable(name.map(Into::into))).expect("describes")
        };
        assert_eq!(
            (
                of(None).width,
                of(Some("image 1")).width,
                of(Some("image 2")).width
            ),
            (12, 12, 7)
        );
    }
}

/// Both drivers use one HDF5 library that is not thread-safe; without the lock this crashes the
/// test program.
#[test]
#[cfg(feature = "bundled-gdal")]
fn hdf5_and_netcdf_are_read_from_many_threads() {
    let folder = folder();
    let places = NewRaster {
        epsg: Some(4326),
        geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
        ..scene(64, 48)
    };
    let cubes: Vec<RasterSource> = (0..4)
        .map(|number| {
            let path = folder.path().join(format!("cube{number}.nc"));
            write_raster(
                &path,
                "netCDF",
                &NewRaster {
                    options: vec![("FORMAT", "NC4")],
                    ..places.clone()
                },
            )
            .expect("writes");
            own(&path)
        })
        .collect();
    // In a container the HDF5 driver opens the bytes first; loose files are opened by the netCDF
    // driver.
    let inside: Vec<RasterSource> = cubes
        .iter()
        .map(|cube| {
            let AssetPath::File(path) = cube.asset() else {
                panic!("{cube:?}")
            };
            let file = std::fs::read(path).expect("reads");
            let container = path.with_extension("tacozip");
            std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
            RasterSource::member(AssetPath::range(
                container.as_path(),
                157,
                file.len() as u64,
            ))
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (cubes, inside) = (&cubes, &inside);
            scope.spawn(move || {
                for round in 0..12 {
                    let assets = if (thread + round) % 2 == 0 {
                        cubes
                    } else {
                        inside
                    };
                    let asset = &assets[(thread + round) % assets.len()];
                    let info = describe(asset).expect("describes");
                    let pixels =
                        read_window(asset, &whole(&info, vec![number(1)]), &ctx()).expect("reads");
                    assert_eq!((pixels.bands.len(), info.width, info.height), (1, 64, 48));
                }
            });
        }
    });
}

/// HDF5 would lock the files that it reads. The bundled one must not
/// (`packaging/gdal-toolchain.cmake`): a child process of another test inherits such a lock, and
/// GDAL could not open again the file that it has just written.
#[test]
#[cfg(all(unix, feature = "bundled-gdal"))]
fn netcdf_is_read_while_another_program_locks_the_file() {
    let folder = folder();
    let path = folder.path().join("cube.nc");
    let places = NewRaster {
        epsg: Some(4326),
        geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
        ..scene(12, 9)
    };
    write_raster(
        &path,
        "netCDF",
        &NewRaster {
            options: vec![("FORMAT", "NC4")],
            ..places
        },
    )
    .expect("writes");
    let writer = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("opens");
    writer.try_lock().expect("locks");
    let info = describe(&own(&path))
        .unwrap_or_else(|error| panic!("built with locks: {}", error.report()));
    let pixels = read_window(&own(&path), &whole(&info, vec![number(1)]), &ctx()).expect("reads");
    assert_eq!((info.width, pixels.bands.len()), (12, 1));
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn classic_netcdf_reads_inside_a_container() {
    let folder = folder();
    let path = folder.path().join("old.nc");
    let raster = NewRaster {
        epsg: Some(4326),
        geotransform: Some([10.0, 0.5, 0.0, 50.0, 0.0, -0.5]),
        names: vec![],
        ..scene(12, 9)
    };
    let one = NewRaster {
        bands: vec![Samples::F32(vec![1.5; 12 * 9])],
        options: vec![("FORMAT", "NC")],
        ..raster
    };
    write_raster(&path, "netCDF", &one).expect("writes");
    let file = std::fs::read(&path).expect("reads");
    assert!(file.starts_with(b"CDF"));
    let container = folder.path().join("set.tacozip");
    std::fs::write(&container, [vec![1; 157], file.clone()].concat()).expect("writes");
    let range = RasterSource::member(AssetPath::range(
        container.as_path(),
        157,
        file.len() as u64,
    ));
    let image = preview(&PreviewRequest::new(range, (12, 9)), &ctx())
        .unwrap_or_else(|error| panic!("{}", error.report()));
    assert_eq!(
        (image.info.driver.as_str(), image.info.geotransform),
        ("netCDF", one.geotransform)
    );
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn netcdf_with_64_bit_data_is_named() {
    let folder = folder();
    let path = folder.path().join("large.nc");
    // No records, dimensions, attributes and variables.
    let file = [b"CDF\x05".to_vec(), vec![0; 44]].concat();
    std::fs::write(&path, file).expect("writes");
    for source in [own(&path), RasterSource::member(AssetPath::file(&*path))] {
        let error = describe(&source).expect_err("is not read").report();
        assert!(error.contains("nccopy"), "{error}");
    }
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn sequences_of_features_are_vector_files_loose_and_in_a_container() {
    let folder = folder();
    let feature = |x: u8| {
        format!(
            "{{\"type\":\"Feature\",\"properties\":{{\"a\":{x}}},\"geometry\":{{\"type\":\"Point\",\
                \"coordinates\":[{x},2]}}}}\n"
        )
    };
    let lines = feature(1) + &feature(2);
    let separated = format!("\u{1e}{}\u{1e}{}", feature(1), feature(2));
    for (name, text) in [("a.geojsonl", lines), ("a.geojsonseq", separated)] {
        let path = folder.path().join(name);
        std::fs::write(&path, &text).expect("writes");
        let range = AssetPath::range(path.as_path(), 0, text.len() as u64);
        for source in [own(&path), RasterSource::member(range)] {
            let info = describe(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(info.is_vector(), "{name}: {info:?}");
        }
    }
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn topologies_and_features_of_esri_are_vector_files_loose_and_in_a_container() {
    let folder = folder();
    let topology = r#"{"type":"Topology","objects":{"fields":{"type":"GeometryCollection",
        "geometries":[{"type":"Polygon","arcs":[[0]],"properties":{"a":1}}]}},
        "arcs":[[[10,40],[11,40],[11,41],[10,40]]]}"#;
    let features = r#"{"geometryType":"esriGeometryPoint","spatialReference":{"wkid":4326},
        "fields":[{"name":"a","type":"esriFieldTypeInteger"}],
        "features":[{"attributes":{"a":1},"geometry":{"x":10,"y":40}}]}"#;
    for (name, text) in [("a.topojson", topology), ("a.json", features)] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("writes");
        let range = AssetPath::range(path.as_path(), 0, text.len() as u64);
        for source in [own(&path), RasterSource::member(range)] {
            let info = describe(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(info.is_vector(), "{name}: {info:?}");
        }
    }
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn text_that_no_driver_reads_is_named() {
    let folder = folder();
    let json: Vec<u8> = "\u{feff}{\"type\":\"FeatureCollection\",\"features\":[]}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let kml = b"<?xml version=\"1.0\"?><kml xmlns=\"http://www.opengis.net/kml/2.2\"></kml>";
    for (name, bytes, wanted) in [
        ("a.geojson", json, "UTF-16"),
        ("a.kml", kml.to_vec(), "KML"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).expect("writes");
        let range = AssetPath::range(path.as_path(), 0, bytes.len() as u64);
        for source in [own(&path), RasterSource::member(range)] {
            let error = describe(&source).expect_err("is not read").report();
            assert!(error.contains(wanted), "{name}: {error}");
        }
    }
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn vector_files_say_what_they_are() {
    let folder = folder();
    let path = folder.path().join("places.geojson");
    let text = r#"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},
        "geometry":{"type":"Point","coordinates":[1,2]}}]}"#;
    std::fs::write(&path, text).expect("writes");
    let asset = own(&path);
    let info = describe(&asset).expect("describes");
    assert!(
        info.is_vector() && info.layers[0].features == Some(1),
        "{info:?}"
    );
    let error = preview(&PreviewRequest::new(asset, (8, 8)), &ctx()).expect_err("no pixels");
    assert!(error.to_string().contains("vector layers"), "{error}");
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_mask_of_an_alpha_band_counts() {
    let folder = folder();
    let path = folder.path().join("alpha.png");
    let grey = |value: u8| Samples::U8(vec![value; 4]);
    let bands = vec![
        grey(10),
        grey(20),
        grey(30),
        Samples::U8(vec![255, 0, 255, 0]),
    ];
    write_raster(
        &path,
        "PNG",
        &NewRaster {
            width: 2,
            height: 2,
            bands,
            ..Default::default()
        },
    )
    .expect("writes");
    let image = preview(&PreviewRequest::new(own(&path), (2, 2)), &ctx()).expect("shows");
    let alpha: Vec<u8> = image
        .rgba
        .data
        .chunks_exact(4)
        .map(|pixel| pixel[3])
        .collect();
    assert_eq!(alpha, [255, 0, 255, 0]);
    let missing = |column, row| {
        probe(&own(&path), column, row, &ctx())
            .expect("probes")
            .values[0]
            .missing
    };
    assert_eq!(
        [missing(0, 0), missing(1, 0), missing(0, 1), missing(1, 1)],
        [false, true, false, true]
    );
}

/// Run by the next test in a separate process.
#[test]
#[ignore = "run by another test in its own process"]
fn child_resolves_codes() {
    let environment = environment();
    let folder = folder();
    let asset = own(written(folder.path(), "scene.tif", &scene(8, 8)));
    let place = probe(&asset, 0, 0, &ctx()).expect("probes").lonlat;
    println!(
        "proj_ok={} note={} place={}",
        environment.proj_ok,
        environment.proj_note.is_some(),
        place.is_some()
    );
}

#[test]
#[cfg(all(unix, feature = "bundled-gdal"))]
fn codes_resolve_in_a_moved_program_and_beside_a_foreign_database() {
    let folder = folder();
    let program = std::env::current_exe().expect("has a path");
    let moved = folder.path().join("moved");
    if std::fs::hard_link(&program, &moved).is_err() {
        std::fs::copy(&program, &moved).expect("copies");
    }
    let foreign = folder.path().join("proj");
    std::fs::create_dir(&foreign).expect("makes");
    std::fs::write(
        foreign.join("proj.db"),
        b"SQLite format 3\0 of another time",
    )
    .expect("writes");
    for (data, note) in [(None, false), (Some(&foreign), true)] {
        let mut command = Command::new(&moved);
        command.env_clear().current_dir(folder.path());
        command.args([
            "--exact",
            "raster::tests::formats::child_resolves_codes",
            "--ignored",
            "--nocapture",
        ]);
        if let Some(data) = data {
            command.env("PROJ_DATA", data).env("PROJ_LIB", data);
        }
        let output = command.output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(&format!("proj_ok=true note={note} place=true")),
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A variable of a file: its name, the positions of its dimensions, its units and its values.
#[cfg(feature = "bundled-gdal")]
type ClassicVariable<'a> = (&'a str, &'a [usize], &'a str, Vec<f64>);

/// A file of classic netCDF.
#[cfg(feature = "bundled-gdal")]
fn classic_netcdf(dimensions: &[(&str, usize)], variables: &[ClassicVariable<'_>]) -> Vec<u8> {
    fn put(out: &mut Vec<u8>, number: usize) {
        out.extend((number as u32).to_be_bytes());
    }
    fn put_text(out: &mut Vec<u8>, text: &str) {
        put(out, text.len());
        out.extend(text.as_bytes());
        out.resize(out.len().next_multiple_of(4), 0);
    }
    let header = |start: usize| {
        let mut out = b"CDF\x01".to_vec();
        for number in [0, 10, dimensions.len()] {
            put(&mut out, number);
        }
        for (name, length) in dimensions {
            put_text(&mut out, name);
            put(&mut out, *length);
        }
        for number in [0, 0, 11, variables.len()] {
            put(&mut out, number);
        }
        let mut begin = start;
        for (name, of, units, values) in variables {
            put_text(&mut out, name);
            put(&mut out, of.len());
            of.iter().for_each(|at| put(&mut out, *at));
            for number in [12, 1] {
                put(&mut out, number);
            }
            put_text(&mut out, "units");
            put(&mut out, 2);
            put_text(&mut out, units);
            for number in [6, values.len() * 8, begin] {
                put(&mut out, number);
            }
            begin += values.len() * 8;
        }
        out
    };
    let mut out = header(header(0).len());
    for (_, _, _, values) in variables {
        values
            .iter()
            .for_each(|value| out.extend(value.to_be_bytes()));
    }
    out
}

#[cfg(feature = "bundled-gdal")]
fn values_from(first: f64, step: f64, count: usize) -> Vec<f64> {
    (0..count).map(|at| first + step * at as f64).collect()
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn axes_in_degrees_are_on_wgs_84_where_no_system_is_named() {
    let folder = folder();
    let path = folder.path().join("axes.nc");
    const DEGREES: [&str; 2] = ["degrees_north", "degrees_east"];
    const ROWS_FIRST: [(&str, usize); 2] = [("lat", 6), ("lon", 8)];
    const COLUMNS_FIRST: [(&str, usize); 2] = [("lon", 8), ("lat", 6)];
    // The positions of the dimensions of the pixels, rows before columns.
    for (units, west, dimensions, of_pixels, wanted) in [
        (DEGREES, 100.0, ROWS_FIRST, [0, 1], Some("EPSG:4326")),
        (DEGREES, 10.0, ROWS_FIRST, [0, 1], Some("EPSG:4326")),
        (DEGREES, 10.0, COLUMNS_FIRST, [1, 0], Some("EPSG:4326")),
        (
            ["Degrees_North", "Degrees_East"],
            10.0,
            ROWS_FIRST,
            [0, 1],
            Some("EPSG:4326"),
        ),
        (["m", "m"], 100.0, ROWS_FIRST, [0, 1], None),
        (["degrees", "degrees"], 10.0, ROWS_FIRST, [0, 1], None),
        // Latitudes along the columns.
        (DEGREES, 100.0, ROWS_FIRST, [1, 0], None),
        (DEGREES, 10.0, ROWS_FIRST, [1, 0], None),
        (DEGREES, 10.0, COLUMNS_FIRST, [0, 1], None),
    ] {
        for variables in [&["tas"][..], &["tas", "pr"]] {
            let mut all: Vec<ClassicVariable<'_>> = vec![
                ("lat", &[0], units[0], values_from(45.0, -1.0, 6)),
                ("lon", &[1], units[1], values_from(west, 1.0, 8)),
            ];
            if dimensions == COLUMNS_FIRST {
                all[0].1 = &[1];
                all[1].1 = &[0];
            }
            all.extend(
                variables
                    .iter()
                    .map(|name| (*name, &of_pixels[..], "K", values_from(270.0, 0.5, 48))),
            );
            std::fs::write(&path, classic_netcdf(&dimensions, &all)).expect("writes");
            for source in [own(&path), RasterSource::member(AssetPath::file(&*path))] {
                let info = describe(&source).expect("describes");
                assert_eq!(info.crs_code.as_deref(), wanted, "{units:?}: {info:?}");
                assert_eq!(info.corners_lonlat.is_some(), wanted.is_some(), "{units:?}");
            }
        }
    }
}

#[test]
#[cfg(feature = "bundled-gdal")]
fn the_variable_that_is_read_is_none_of_the_coordinates_before_it() {
    let folder = folder();
    let path = folder.path().join("swath.nc");
    let bytes = classic_netcdf(
        &[("y", 6), ("x", 8)],
        &[
            ("lat", &[0, 1], "degrees_north", values_from(40.0, 0.1, 48)),
            ("lon", &[0, 1], "degrees_east", values_from(10.0, 0.1, 48)),
            ("no2", &[0, 1], "mol m-2", values_from(0.0, 1.0, 48)),
        ],
    );
    std::fs::write(&path, &bytes).expect("writes");
    for source in [own(&path), RasterSource::member(AssetPath::file(&*path))] {
        let info = describe(&source).expect("describes");
        assert_eq!(
            info.variable
                .as_ref()
                .map(VariableRead::sentence)
                .as_deref(),
            Some("no2, the third of 3 variables: lat, lon, no2"),
            "{source:?}"
        );
    }
}
