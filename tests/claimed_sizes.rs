//! Rasters that claim far more pixels than they contain, or that unpack to a gigabyte, in an
//! untrusted dataset, with every command that reads pixels: memory is not allocated for the claimed
//! size. Linux counts the memory of a program.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fence::dataset_with;
use crate::support::Workspace;

/// Maximum memory of a command in MiB.
const LIMIT_MIB: u64 = 500;
/// A program that runs longer is scanning missing data.
const PATIENCE: Duration = Duration::from_secs(60);

/// The beginning of a TIFF with these 32-bit IFD entries, followed by `more` bytes.
fn tiff(entries: &[(u16, u32)], more: usize) -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(4u16.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes.resize(bytes.len() + more, 0);
    bytes
}

/// Files that claim far more pixels than they contain.
pub fn hostile(workspace: &Workspace) -> Vec<(&'static str, Vec<u8>)> {
    let strips = |width: u32, height: u32, bits: u32, compression: u32, rows: u32| {
        let entries = [
            (256, width),
            (257, height),
            (258, bits),
            (259, compression),
            (262, 1),
            (273, 200),
            (277, 1),
            (278, rows),
            (279, 64),
            (339, 1),
        ];
        tiff(&entries, 256)
    };
    let tiles = |side: u32, tile: u32, bits: u32| {
        let entries = [
            (256, side),
            (257, side),
            (258, bits),
            (259, 8),
            (262, 1),
            (277, 1),
            (322, tile),
            (323, tile),
            (324, 200),
            (325, 64),
        ];
        tiff(&entries, 256)
    };
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    let header = [
        &1_000_000_000u32.to_be_bytes()[..],
        &1_000_000_000u32.to_be_bytes()[..],
        &[8, 2, 0, 0, 0],
    ]
    .concat();
    png.extend(&header);
    png.extend(crc32fast::hash(&[&b"IHDR"[..], &header].concat()).to_be_bytes());
    png.extend(b"\0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82");
    let mut bmp = b"BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bmp.extend(
        [
            1_000_000_000u32.to_le_bytes(),
            1_000_000_000u32.to_le_bytes(),
        ]
        .concat(),
    );
    bmp.extend(b"\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let grid = "ncols 1000000000\nnrows 1000000000\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n";
    let vrt = "<VRTDataset rasterXSize=\"1000000000\" rasterYSize=\"1000000000\"><VRTRasterBand \
        dataType=\"Float64\" band=\"1\"/></VRTDataset>";
    // A sparse TIFF: every tile is listed with length 0.
    let sparse = workspace.path("sparse.tif");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("is there");
    let options = gdal::raster::RasterCreationOptions::from_iter([
        "SPARSE_OK=YES",
        "TILED=YES",
        "BLOCKXSIZE=16384",
        "BLOCKYSIZE=16384",
    ]);
    driver
        .create_with_band_type_with_options::<u8, _>(&sparse, 600_000, 600_000, 1, &options)
        .expect("creates")
        .close()
        .expect("closes");
    vec![
        ("sparse tiles", std::fs::read(&sparse).expect("reads")),
        (
            "lines of a gigabyte",
            strips(1_000_000_000, 1_000_000_000, 8, 1, 1),
        ),
        (
            "lines of eight gigabytes",
            strips(1_000_000_000, 1_000_000_000, 64, 8, 1),
        ),
        (
            "one strip",
            strips(2_000_000_000, 2_000_000_000, 16, 5, 2_000_000_000),
        ),
        (
            "tiles of a quarter gigabyte",
            tiles(1_000_000_000, 16384, 8),
        ),
        ("small tiles", tiles(1_000_000_000, 256, 16)),
        ("a PNG", png),
        ("a BMP", bmp),
        ("a grid of numbers", grid.as_bytes().to_vec()),
        ("a virtual raster", vrt.as_bytes().to_vec()),
        // GDAL takes 4 bytes for each value when it opens the file, which is below the limit, and 8
        // more when it decodes the field.
        ("a field of GRIB without differences", grib(9_600)),
        // One tile each, which unpacks to all that the file claims.
        (
            "588 bytes of LERC for a gigabyte",
            include_bytes!("fixtures/blocks/lerc_16000.tif").to_vec(),
        ),
        (
            "ten kilobytes of WebP for 732 MiB",
            include_bytes!("fixtures/blocks/webp_16000.tif").to_vec(),
        ),
    ]
}

/// A GRIB2 message of `side` × `side` equal values, which take no bytes.
fn grib(side: u32) -> Vec<u8> {
    let points = side * side;
    let section = |number: u8, contents: Vec<u8>| {
        let length = (contents.len() as u32 + 5).to_be_bytes();
        [&length[..], &[number], &contents].concat()
    };
    let degrees = |degrees: u32| (degrees * 1_000_000).to_be_bytes();
    let grid = [
        &[0][..],
        &points.to_be_bytes(),
        &[0, 0, 0, 0, 6],
        &[0; 15],
        &side.to_be_bytes(),
        &side.to_be_bytes(),
        &[0; 8],
        &degrees(80),
        &degrees(0),
        &[48],
        // A negative number is its sign and its size.
        &(80_000_000u32 | 1 << 31).to_be_bytes(),
        &degrees(350),
        &(350_000_000 / (side - 1)).to_be_bytes(),
        &(160_000_000 / (side - 1)).to_be_bytes(),
        &[0],
    ]
    .concat();
    let product = [
        0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0,
    ];
    let values = [
        &points.to_be_bytes()[..],
        &[0, 0],
        &1.5f32.to_be_bytes(),
        &[0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let body = [
        section(
            1,
            vec![0, 7, 0, 0, 2, 0, 1, 0x07, 0xe9, 1, 1, 0, 0, 0, 0, 1],
        ),
        section(3, grid),
        section(4, product.to_vec()),
        section(5, values),
        section(6, vec![255]),
        section(7, Vec::new()),
        b"7777".to_vec(),
    ]
    .concat();
    [
        &b"GRIB\0\0\0\x02"[..],
        &(body.len() as u64 + 16).to_be_bytes(),
        &body,
    ]
    .concat()
}

/// Runs the program; returns exit code, standard error, and peak memory in MiB.
fn measured(workspace: &Workspace, arguments: &[&std::ffi::OsStr]) -> (Option<i32>, String, u64) {
    let said = workspace.path("stderr");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command.args(arguments);
    let error = std::fs::File::create(&said).expect("creates");
    let started = Instant::now();
    let mut child = workspace
        .house(&mut command)
        .stdout(Stdio::null())
        .stderr(error)
        .spawn()
        .expect("starts");
    let mut peak_kib = 0u64;
    let status = loop {
        let told =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak_kib = peak_kib.max(
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
                .unwrap_or(0),
        );
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        if started.elapsed() > PATIENCE || peak_kib / 1024 > 4 * LIMIT_MIB {
            child.kill().expect("ends");
            panic!(
                "{arguments:?} took {:?} and {} MiB",
                started.elapsed(),
                peak_kib / 1024
            );
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    println!(
        "{arguments:?}: {:?}, {} MiB, {status}",
        started.elapsed(),
        peak_kib / 1024
    );
    (
        status.code(),
        std::fs::read_to_string(&said).expect("reads"),
        peak_kib / 1024,
    )
}

#[test]
fn rasters_that_claim_a_billion_by_a_billion_pixels_cost_nothing() {
    let workspace = Workspace::new();
    for (what, bytes) in hostile(&workspace) {
        let path = dataset_with(&workspace, &bytes);
        let out = |name: &str| {
            let path = workspace.path(name);
            let _ = std::fs::remove_dir_all(&path);
            let _ = std::fs::remove_file(&path);
            path
        };
        let os = |text: &'static str| std::ffi::OsStr::new(text);
        let (histograms, copied, part, extended, smaller) = (
            out("h.tortilla"),
            out("copy"),
            out("part.tacozip"),
            out("extended.tacozip"),
            out("smaller.tacozip"),
        );
        let verbs: [Vec<&std::ffi::OsStr>; 7] = [
            vec![os("validate"), path.as_os_str(), os("--deep")],
            vec![os("stats"), path.as_os_str(), os("--exact")],
            vec![
                os("histograms"),
                path.as_os_str(),
                os("-o"),
                histograms.as_os_str(),
            ],
            vec![os("convert"), path.as_os_str(), copied.as_os_str()],
            vec![
                os("export"),
                path.as_os_str(),
                os("-o"),
                part.as_os_str(),
                os("--limit"),
                os("1"),
            ],
            vec![
                os("extend"),
                path.as_os_str(),
                os("-o"),
                extended.as_os_str(),
                os("--with"),
                os("stac,stats"),
            ],
            vec![
                os("optimise"),
                path.as_os_str(),
                os("-o"),
                smaller.as_os_str(),
            ],
        ];
        for arguments in verbs {
            let (code, said, peak) = measured(&workspace, &arguments);
            assert!(
                code.is_some_and(|code| code != 101),
                "{what}, {arguments:?}: {code:?}\n{said}"
            );
            assert!(!said.contains("Usage:"), "{arguments:?}: {said}");
            assert!(!said.contains("panicked"), "{what}, {arguments:?}: {said}");
            assert!(peak < LIMIT_MIB, "{what}, {arguments:?}: {peak} MiB");
        }
    }
}

/// 400 bytes with 65,535 bands, of which the first has pixels.
#[test]
fn rasters_of_very_many_bands_end_soon() {
    /// Time for one command, on a machine with other work too.
    const SOON: Duration = Duration::from_secs(30);
    let workspace = Workspace::new();
    let entries = [
        (256, 16),
        (257, 16),
        (258, 8),
        (259, 1),
        (262, 1),
        (273, 146),
        (277, 65_535),
        (278, 16),
        (279, 256),
        (284, 2),
        (339, 1),
    ];
    let bytes = tiff(&entries, 256);
    let path = dataset_with(&workspace, &bytes);
    let own = workspace.write("own.tif", &bytes);
    let os = |text: &'static str| std::ffi::OsStr::new(text);
    let outs: Vec<std::path::PathBuf> = (0..5)
        .map(|number| workspace.path(&format!("out_{number}")))
        .collect();
    let archive = workspace.path("extended.tacozip");
    let verbs: [Vec<&std::ffi::OsStr>; 8] = [
        vec![os("validate"), path.as_os_str(), os("--deep")],
        vec![os("stats"), path.as_os_str(), os("--exact")],
        vec![
            os("histograms"),
            path.as_os_str(),
            os("-o"),
            outs[0].as_os_str(),
        ],
        vec![os("convert"), path.as_os_str(), outs[1].as_os_str()],
        vec![
            os("extend"),
            path.as_os_str(),
            os("-o"),
            archive.as_os_str(),
            os("--with"),
            os("stac,stats"),
        ],
        vec![
            os("optimise"),
            path.as_os_str(),
            os("-o"),
            outs[2].as_os_str(),
        ],
        vec![
            os("optimise"),
            own.as_os_str(),
            os("-o"),
            outs[3].as_os_str(),
        ],
        vec![
            os("optimise"),
            own.as_os_str(),
            os("-o"),
            outs[4].as_os_str(),
            os("--block-size"),
            os("16"),
        ],
    ];
    for arguments in verbs {
        let started = Instant::now();
        let (code, said, peak) = measured(&workspace, &arguments);
        assert!(
            code.is_some_and(|code| code != 101) && !said.contains("panicked"),
            "{arguments:?}: {code:?}\n{said}"
        );
        assert!(!said.contains("Usage:"), "{arguments:?}: {said}");
        assert!(
            peak < LIMIT_MIB && started.elapsed() < SOON,
            "{arguments:?}: {peak} MiB, {:?}\n{said}",
            started.elapsed()
        );
    }
    assert!(
        !outs[3].exists(),
        "what would be padding for the most part is not written"
    );
}
