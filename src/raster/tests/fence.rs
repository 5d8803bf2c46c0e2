//! Untrusted members of a dataset: reading them opens no other file and no address.

use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;

use super::*;

const SECRET: u8 = 200;

/// The file as a member of a FOLDER dataset, and the same bytes as a range of a container.
fn members(path: &Path) -> [RasterSource; 2] {
    let bytes = std::fs::read(path).expect("reads");
    let container = path.with_extension("container");
    std::fs::write(&container, [vec![7; 99], bytes.clone()].concat()).expect("writes");
    let range = AssetPath::range(container.as_path(), 99, bytes.len() as u64);
    [
        RasterSource::member(AssetPath::file(path)),
        RasterSource::member(range),
    ]
}

fn flat(width: usize, height: usize, value: u8) -> NewRaster<'static> {
    NewRaster {
        width,
        height,
        bands: vec![Samples::U8(vec![value; width * height])],
        ..Default::default()
    }
}

fn first_value(source: &RasterSource) -> crate::error::Result<f64> {
    let request = ReadRequest {
        window: Window {
            x: 0,
            y: 0,
            width: 1,
            height: 1,
        },
        out: (1, 1),
        bands: vec![BandIndex::FIRST],
        resampling: Resampling::Nearest,
    };
    Ok(read_window(source, &request, &ctx())?.bands[0]
        .samples
        .get(0))
}

/// Every way in which the studio reads the pixels of a raster fails.
fn is_read_by_nobody(source: &RasterSource, what: &str) {
    assert!(describe(source).is_err(), "{what}: described");
    assert!(
        preview(&PreviewRequest::new(source.clone(), (8, 8)), &ctx()).is_err(),
        "{what}: shown"
    );
    assert!(
        tally(source, &ctx()).is_err() && first_value(source).is_err(),
        "{what}: counted"
    );
    assert!(
        probe(source, 0, 0, &ctx()).is_err() && tile_layout(source, &ctx()).is_err(),
        "{what}: probed"
    );
    let folder = folder();
    let target = folder.path().join("a.tif");
    assert!(
        write_tog(source, &target, &TogOptions::default(), &ctx()).is_err() && !target.exists(),
        "{what}: written"
    );
}

fn vrt(source: &str) -> String {
    format!(
        "<VRTDataset rasterXSize=\"4\" rasterYSize=\"4\"><VRTRasterBand dataType=\"Byte\" \
            band=\"1\"><SimpleSource>\
         <SourceFilename>{source}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>\
            </VRTRasterBand></VRTDataset>"
    )
}

#[test]
fn a_virtual_raster_in_a_dataset_reads_no_other_file() {
    let folder = folder();
    let secret = written(folder.path(), "secret.tif", &flat(4, 4, SECRET));
    let path = folder.path().join("innocent");
    std::fs::write(&path, vrt(&secret.display().to_string())).expect("writes");
    assert_eq!(
        first_value(&own(&path)).expect("the person's own file is read"),
        f64::from(SECRET)
    );
    for member in members(&path) {
        is_read_by_nobody(&member, "a virtual raster");
        let told = describe(&member).expect_err("is refused");
        assert!(
            told.to_string().contains("(VRT)") && told.to_string().contains("secret.tif"),
            "{told}"
        );
        let named = references_of(member.asset())
            .expect("looks")
            .expect("is one");
        assert_eq!(named.names, [secret.display().to_string()]);
    }
}

#[test]
fn what_lies_beside_a_member_changes_nothing() {
    let folder = folder();
    let scene = NewRaster {
        epsg: None,
        geotransform: None,
        nodata: None,
        ..flat(64, 64, 9)
    };
    let path = written(folder.path(), "scene.tif", &scene);
    let alone = describe(&RasterSource::member(AssetPath::file(&path))).expect("describes");
    assert!(
        alone.geotransform.is_none()
            && alone.bands[0].overviews.is_empty()
            && alone.bands[0].nodata.is_none()
    );
    let beside = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let small = written(folder.path(), "small.tif", &flat(32, 32, SECRET));
    std::fs::copy(&small, beside(".ovr")).expect("copies");
    std::fs::copy(
        written(folder.path(), "mask.tif", &flat(64, 64, 0)),
        beside(".msk"),
    )
    .expect("copies");
    let metadata = "<PAMDataset><GeoTransform>1,2,0,3,0,-2</GeoTransform><PAMRasterBand \
        band=\"1\"><NoDataValue>9</NoDataValue>\
        <Description>beside</Description></PAMRasterBand></PAMDataset>";
    std::fs::write(beside(".aux.xml"), metadata).expect("writes");
    std::fs::write(path.with_extension("tfw"), "2\n0\n0\n-2\n1\n3\n").expect("writes");
    std::fs::write(
        path.with_extension("prj"),
        "GEOGCS[\"WGS 84\",DATUM[\"x\",SPHEROID[\"y\",6378137,298]]]",
    )
    .expect("writes");
    close_idle();
    let own_info = describe(&own(&path)).expect("describes");
    assert!(
        own_info.geotransform.is_some() && own_info.bands[0].nodata == Some(9.0),
        "the person's own file has its sidecars"
    );
    assert!(!own_info.bands[0].overviews.is_empty() && own_info.bands[0].description == "beside");
    let member = RasterSource::member(AssetPath::file(&path));
    let info = describe(&member).expect("describes");
    assert_eq!(
        serde_json::to_value(&*info).expect("json"),
        serde_json::to_value(&*alone).expect("json")
    );
    let image = preview(&PreviewRequest::new(member.clone(), (16, 16)), &ctx()).expect("shows");
    assert_eq!(
        image.prepared.pixels.bands[0].samples.get(0),
        9.0,
        "neither overview nor mask"
    );
    assert_eq!(
        tally(&member, &ctx())
            .expect("reads")
            .summary(0, &[], &ctx())
            .expect("sums")
            .expect("data")
            .count,
        64 * 64
    );
}

/// GDAL opens the overview file named in a GeoTIFF's OVERVIEWS metadata with any driver.
#[test]
fn overviews_that_a_file_names_are_not_opened() {
    let folder = folder();
    let other = written(folder.path(), "other.tif", &flat(8, 8, SECRET));
    let path = folder.path().join("scene.tif");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("is there");
    let mut dataset = driver
        .create_with_band_type::<u8, _>(&path, 64, 64, 1)
        .expect("creates");
    gdal::Metadata::set_metadata_item(
        &mut dataset,
        "OVERVIEW_FILE",
        &other.display().to_string(),
        "OVERVIEWS",
    )
    .expect("sets");
    drop(dataset);
    let _ = std::fs::remove_file(folder.path().join("scene.tif.aux.xml"));
    assert!(
        !describe(&own(&path)).expect("describes").bands[0]
            .overviews
            .is_empty(),
        "GDAL follows the name"
    );
    for member in members(&path) {
        is_read_by_nobody(&member, "a raster with overviews elsewhere");
    }
}

/// ERDAS Imagine files can keep pixels in a second file, whose name GDAL resolves, including `../`,
/// relative to the first.
#[test]
fn the_data_file_that_an_imagine_file_names_is_not_opened() {
    let folder = folder();
    let long = "s".repeat(80);
    let path = folder.path().join(format!("{long}.img"));
    let driver = gdal::DriverManager::get_driver_by_name("HFA").expect("is there");
    let options = gdal::raster::RasterCreationOptions::from_iter(["USE_SPILL=YES"]);
    let dataset = driver
        .create_with_band_type_with_options::<u8, _>(&path, 64, 64, 1, &options)
        .expect("creates");
    let mut band = dataset.rasterband(1).expect("a band");
    let mut pixels = gdal::raster::Buffer::new((64, 64), vec![SECRET; 64 * 64]);
    band.write((0, 0), (64, 64), &mut pixels).expect("writes");
    dataset.close().expect("closes");
    assert_eq!(first_value(&own(&path)).expect("reads"), f64::from(SECRET));
    let bytes = std::fs::read(&path).expect("reads");
    let data = folder.path().join("d.ige");
    std::fs::copy(folder.path().join(format!("{long}.ige")), &data).expect("copies");
    for depth in 0..8 {
        let name = format!(
            "{}{}",
            "../".repeat(depth),
            data.display().to_string().trim_start_matches('/')
        );
        let name = if depth == 0 { "d.ige".to_owned() } else { name };
        let hostile = folder.path().join(format!("hostile{depth}.img"));
        std::fs::write(&hostile, patched(&bytes, &format!("{long}.ige"), &name)).expect("writes");
        let reached = first_value(&own(&hostile)).is_ok_and(|value| value == f64::from(SECRET));
        assert!(reached || depth > 0, "GDAL follows the name");
        for member in members(&hostile) {
            assert!(
                first_value(&member).is_err() && tally(&member, &ctx()).is_err(),
                "{name}"
            );
        }
    }
}

/// The bytes with the name `old` of the data file replaced.
fn patched(bytes: &[u8], old: &str, name: &str) -> Vec<u8> {
    let at = bytes
        .windows(old.len())
        .position(|window| window == old.as_bytes())
        .expect("names it");
    let mut bytes = bytes.to_vec();
    bytes[at..at + old.len()].fill(0);
    bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
    bytes
}

/// A local server that records requests; none should arrive.
struct Trap {
    listener: TcpListener,
}

impl Trap {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        listener.set_nonblocking(true).expect("can");
        Self { listener }
    }

    fn address(&self) -> String {
        format!("http://{}", self.listener.local_addr().expect("has one"))
    }

    /// First line of a request that arrives within 300 ms, answered with an error.
    fn request(&self) -> Option<String> {
        self.request_within(Duration::from_millis(300))
    }

    fn request_within(&self, time: Duration) -> Option<String> {
        let end = std::time::Instant::now() + time;
        while std::time::Instant::now() < end {
            if let Ok((mut stream, _)) = self.listener.accept() {
                let mut bytes = [0; 512];
                stream.set_nonblocking(false).expect("can");
                stream
                    .set_read_timeout(Some(Duration::from_millis(500)))
                    .expect("can");
                let read = stream.read(&mut bytes).unwrap_or(0);
                let _ = std::io::Write::write_all(
                    &mut stream,
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                );
                return Some(String::from_utf8_lossy(&bytes[..read]).into_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

#[test]
fn a_dataset_makes_no_requests_when_it_is_shown() {
    let folder = folder();
    let trap = Trap::new();
    let address = trap.address();
    let wms = format!(
        "<GDAL_WMS><Service name=\"TMS\"><ServerUrl>{address}/wms</ServerUrl></Service></GDAL_WMS>"
    );
    let pipeline = format!(
        "{{\"type\": \"gdal_streamed_alg\", \"command_line\": \"gdal raster pipeline ! read \
            {address}\"}}"
    );
    let layer = format!(
        "<OGRVRTDataSource><OGRVRTLayer \
            name=\"x\"><SrcDataSource>{address}/a</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>"
    );
    let texts = [
        vrt(&format!("/vsicurl/{address}/a.tif")),
        vrt(&format!("{address}/b.tif")),
        wms,
        pipeline,
        layer,
        format!(
            "{{\"type\":\"Feature\",\"stac_version\":\"1.0.0\",\
                \"assets\":{{\"a\":{{\"href\":\"{address}/c.tif\"}}}}}}"
        ),
        format!(
            "{{\"type\":\"FeatureCollection\",\"crs\":{{\"type\":\"link\",\
                \"properties\":{{\"href\":\"{address}/d\"}}}},\"features\":[]}}"
        ),
        address.clone(),
        format!("/vsicurl/{address}/e.tif"),
    ];
    for (number, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("{number}"));
        std::fs::write(&path, text).expect("writes");
        for member in members(&path) {
            let _ = describe(&member);
            let _ = preview(&PreviewRequest::new(member.clone(), (8, 8)), &ctx());
            let _ = tally(&member, &ctx());
        }
    }
    // Member names that GDAL would take for connection strings.
    for name in [
        address.clone(),
        format!("/vsicurl/{address}/f.tif"),
        format!("vrt://{address}/g.tif"),
        format!("WMS:{address}/h"),
    ] {
        for asset in [AssetPath::file(&name), AssetPath::Vsi(name.as_str().into())] {
            if !matches!(&asset, AssetPath::File(path) if crate::model::is_remote(path)) {
                assert!(describe(&RasterSource::member(asset)).is_err());
            }
        }
    }
    assert_eq!(trap.request(), None);
}

/// Drivers pass coordinate systems from attributes to GDAL, which accepts a URL. A request of its
/// own proves that the trap records.
#[test]
fn a_coordinate_system_of_a_member_is_no_address() {
    let trap = Trap::new();
    let address = format!("{}/EPSG:4326", trap.address());
    assert!(to_lonlat_from(&address, &[[1.0, 2.0]]).is_err() && !is_geographic(&address));
    assert_eq!(trap.request(), None, "nor is one of a column");
    {
        let _fence = super::super::fence::Fence::up();
        assert!(gdal::spatial_ref::SpatialRef::from_definition(&address).is_err());
        assert_eq!(trap.request(), None);
    }
    let asker =
        std::thread::spawn(move || drop(gdal::spatial_ref::SpatialRef::from_definition(&address)));
    assert!(
        trap.request_within(Duration::from_secs(30))
            .is_some_and(|line| line.starts_with("GET /EPSG:4326"))
    );
    asker.join().expect("ends");
}

/// GDAL reads dictionaries of coordinate systems from paths relative to its data and to the working
/// directory.
#[cfg(unix)]
#[test]
fn no_dictionary_is_read_while_a_member_is_open() {
    use gdal::spatial_ref::SpatialRef;

    init();
    let folder = folder();
    let path = folder.path().join("systems.wkt");
    let wkt = "GEOGCS[\"x\",DATUM[\"d\",SPHEROID[\"s\",6378137,298.257223563]],\
        PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]]";
    std::fs::write(&path, format!("x,{wkt}\n")).expect("writes");
    let relative = format!(
        "{}{}",
        "../".repeat(32),
        path.display().to_string().trim_start_matches('/')
    );
    let definition = format!("DICT:{relative},x");
    let is_known = |definition: &str| {
        super::super::gdal_errors::listen(|| SpatialRef::from_definition(definition).is_ok()).0
    };
    assert!(is_known(&definition), "GDAL follows the name");
    let fence = super::super::fence::Fence::up();
    {
        let _inner = super::super::fence::Fence::up();
        assert!(!is_known(&definition));
    }
    assert!(
        !is_known(&definition) && is_known("EPSG:4326"),
        "the outer fence is still up"
    );
    drop(fence);
    assert!(
        is_known(&definition),
        "a person's own files are read as before"
    );
    assert!(
        !is_geographic(&definition),
        "a text of a column is no name of a dictionary at any time"
    );
}

#[test]
fn a_coordinate_system_of_a_column_is_no_file() {
    let folder = folder();
    let path = folder.path().join("system.wkt");
    std::fs::write(&path, "EPSG:32618").expect("writes");
    assert!(to_lonlat_from(&path.display().to_string(), &[[500_000.0, 0.0]]).is_err());
}

#[test]
fn names_that_gdal_takes_for_connections_are_plain_names() {
    let folder = folder();
    let scene = written(folder.path(), "scene.tif", &flat(8, 8, 7));
    let secret = written(folder.path(), "secret.tif", &flat(8, 8, SECRET));
    for name in [
        format!("GTIFF_DIR:1:{}", secret.display()),
        format!("NETCDF:\"{}\":Band1", secret.display()),
        format!("HDF5:\"{}\"://x", secret.display()),
        format!("vrt://{}", secret.display()),
        "MEM:::DATAPOINTER=1,PIXELS=8,LINES=8".to_owned(),
        vrt(&secret.display().to_string()),
    ] {
        assert!(
            describe(&RasterSource::member(AssetPath::file(&name))).is_err(),
            "{name}"
        );
        // Windows has no files of such names.
        if cfg!(windows) {
            continue;
        }
        let id: String = name.replace('/', "_").chars().take(200).collect();
        let member = folder.path().join(id);
        std::fs::copy(&scene, &member).expect("copies");
        let member = RasterSource::member(AssetPath::file(&member));
        assert_eq!(
            first_value(&member).expect("reads its own bytes"),
            7.0,
            "{name}"
        );
    }
}

/// Subdatasets are opened by name, and a file can state any name.
#[test]
fn a_stated_subdataset_of_another_file_is_not_opened() {
    let folder = folder();
    let secret = written(folder.path(), "secret.tif", &flat(8, 8, SECRET));
    let path = folder.path().join("scene.tif");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("is there");
    let mut dataset = driver
        .create_with_band_type::<u8, _>(&path, 8, 8, 1)
        .expect("creates");
    gdal::Metadata::set_metadata_item(
        &mut dataset,
        "SUBDATASET_1_NAME",
        &secret.display().to_string(),
        "SUBDATASETS",
    )
    .expect("sets");
    drop(dataset);
    let [member, _] = members(&path);
    let info = describe(&member).expect("describes");
    assert_eq!(
        (
            info.shown_subdataset.as_deref(),
            first_value(&member).expect("reads")
        ),
        (None, 0.0)
    );
}

#[test]
fn a_pipe_is_not_waited_for() {
    #[cfg(unix)]
    {
        let folder = folder();
        let path = folder.path().join("pipe");
        let status = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("runs");
        assert!(status.success());
        let told = describe(&RasterSource::member(AssetPath::file(&path))).expect_err("is no file");
        assert!(told.to_string().contains("a named pipe"), "{told}");
    }
}

#[test]
fn switches_that_run_code_are_off_whatever_was_inherited() {
    init();
    for key in [
        "GDAL_VRT_ENABLE_PYTHON",
        "OGR_SQLITE_LOAD_EXTENSIONS",
        "OGR_SQLITE_STATIC_VIRTUAL_OGR",
    ] {
        let value = gdal::config::get_config_option(key, "unset").expect("reads");
        assert!(value == "NO" || value.is_empty(), "{key}={value}");
    }
}
