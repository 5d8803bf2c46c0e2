//! Misbehaving servers: a clear message with host, status and suggestion, retries where useful, no
//! hang, and never stale, mixed or misplaced bytes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Fault, Ran, Server, Workspace, answering, fixtures};

/// Maximum run time: long enough to notice hanging, as the program is configured with a timeout of
/// one second.
const PATIENCE: Duration = Duration::from_secs(30);

fn flat() -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter()
        .find(|folder| folder.ends_with("01_flat_zip"))
        .expect("a golden set")
}

fn sample_id(workspace: &Workspace) -> String {
    let dataset = flat().join("flat.tacozip");
    let listing = workspace
        .studio(["read".as_ref(), dataset.as_os_str()])
        .expect_code(0)
        .stdout;
    listing
        .lines()
        .next()
        .and_then(|line| line.split('\t').nth(1))
        .expect("a sample")
        .to_owned()
}

fn inspect(workspace: &Workspace, server: &Server) -> Ran {
    workspace.studio_with(
        &[("TACO_STUDIO_HTTP_TIMEOUT", "1")],
        ["inspect", &server.url("flat.tacozip")],
    )
}

/// Expects exit code 2, quickly, and all texts of `said`.
fn expect_message(ran: Ran, said: &[&str]) {
    let ran = ran.expect_code(2);
    assert!(ran.elapsed < PATIENCE, "{ran}");
    for part in said.iter().chain(&["127.0.0.1", "try:"]) {
        assert!(ran.stderr.contains(part), "no \"{part}\" in {ran}");
    }
}

#[test]
fn a_server_that_always_fails_is_named_with_its_reason() {
    let server = Server::of(&flat());
    for (fault, said, most) in [
        (Fault::Status(401), ["401 Unauthorized", "token"], 6),
        (Fault::Status(403), ["403 Forbidden", "token"], 6),
        (Fault::Status(404), ["404 Not Found", "letter by letter"], 6),
        (
            Fault::Status(416),
            ["416 Range Not Satisfiable", "shorter"],
            6,
        ),
        (
            Fault::Status(500),
            ["500 Internal Server Error", "after 4 tries"],
            20,
        ),
        (
            Fault::Silent,
            ["sent nothing for 1 s", "TACO_STUDIO_HTTP_TIMEOUT"],
            10,
        ),
        (Fault::Stalls, ["sent nothing for 1 s", "after 2 tries"], 10),
        (
            Fault::Cut,
            ["the connection ended after", "after 4 tries"],
            20,
        ),
        (Fault::Short, ["ended after", "after 4 tries"], 20),
        (Fault::Elsewhere, ["127.0.0.1", "try"], 20),
        (
            Fault::Whole,
            ["does not support range requests", "download the file"],
            6,
        ),
    ] {
        let workspace = Workspace::new();
        server.forget();
        server.fail("flat.tacozip", fault, 0, 1000);
        expect_message(inspect(&workspace, &server), &said);
        assert!(
            server.asked().len() <= most,
            "{fault:?}: {} requests",
            server.asked().len()
        );
    }
}

#[test]
fn one_bad_answer_is_made_good_by_the_next() {
    let server = Server::of(&flat());
    let workspace = Workspace::new();
    let good = inspect(&workspace, &server).expect_code(0).stdout;
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::Silent,
        Fault::Stalls,
        Fault::Cut,
        Fault::Short,
    ] {
        for after in 0..2 {
            let workspace = Workspace::new();
            server.forget();
            server.fail("flat.tacozip", fault, after, 1);
            let ran = inspect(&workspace, &server).expect_code(0);
            assert_eq!(ran.stdout, good, "{fault:?} after {after}");
        }
    }
}

#[test]
fn bytes_of_a_replaced_remote_file_are_never_mixed() {
    let server = Server::of(&flat());
    for good in 1..3 {
        let workspace = Workspace::new();
        let id = sample_id(&workspace);
        server.forget();
        server.fail("flat.tacozip", Fault::Replaced, good, 1000);
        let out = workspace.path("out");
        let ran = workspace.studio([
            "read",
            &server.url("flat.tacozip"),
            &id,
            "--out",
            out.to_str().expect("text"),
        ]);
        if server.asked().len() <= good {
            continue;
        }
        let ran = ran.expect_code(2);
        assert!(
            ran.stderr.contains("changed since it was opened")
                && ran.stderr.contains("open the dataset again"),
            "{ran}"
        );
        assert!(!out.exists(), "bytes of the other version were written");
    }
}

#[test]
fn the_cache_gives_nothing_of_an_older_version() {
    let workspace = Workspace::new();
    let folder = workspace.path("served");
    let zip = flat().join("flat.tacozip");
    workspace.write("served/flat.tacozip", fs::read(&zip).expect("reads"));
    let server = Server::of(&folder);
    let id = sample_id(&workspace);
    let out = workspace.path("out");
    let read = || {
        workspace
            .studio([
                "read",
                &server.url("flat.tacozip"),
                &id,
                "--out",
                out.to_str().expect("text"),
            ])
            .expect_code(0);
        let bytes = fs::read(&out).expect("reads");
        fs::remove_file(&out).expect("removes");
        bytes
    };
    let first = read();
    // The same offset and length, other bytes.
    let mut bytes = fs::read(&zip).expect("reads");
    let at = bytes
        .windows(first.len())
        .position(|window| window == first)
        .expect("the sample is in the archive");
    bytes[at + 100] ^= 0xFF;
    let crc = crc32fast::hash(&bytes[at..at + first.len()]);
    crate::rules::patch_both(&mut bytes, &format!("DATA/{id}"), 10, &crc.to_le_bytes());
    workspace.write("served/flat.tacozip", &bytes);
    assert_eq!(read(), bytes[at..at + first.len()], "the new version");
    // A damaged cache entry is fetched again.
    for data in crate::support::files_below(&workspace.path("home/.cache"))
        .iter()
        .filter(|name| name.ends_with("/data"))
    {
        let path = workspace.path("home/.cache").join(data);
        let length = fs::metadata(&path).expect("is there").len() as usize;
        fs::write(&path, vec![7; length]).expect("writes");
    }
    assert_eq!(read(), bytes[at..at + first.len()], "after the damage");
}

#[test]
fn an_unreachable_server_is_reported() {
    let workspace = Workspace::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    let ran = workspace.studio(["inspect", &format!("http://127.0.0.1:{port}/a.tacozip")]);
    expect_message(ran, &["can't be reached", "proxy"]);
}

#[test]
fn exporting_from_a_server_that_fails_leaves_nothing_behind() {
    let server = Server::of(&flat());
    let workspace = Workspace::new();
    server.fail("flat.tacozip", Fault::Status(404), 2, 1000);
    for target in ["out.tacozip", "out"] {
        let out = workspace.path(target);
        let ran = workspace
            .studio([
                "convert",
                &server.url("flat.tacozip"),
                out.to_str().expect("text"),
            ])
            .expect_code(2);
        assert!(
            ran.stderr.contains("404") || ran.stderr.contains("can't be written"),
            "{ran}"
        );
        assert!(!out.exists(), "{target} was left behind");
        server.forget();
        server.fail("flat.tacozip", Fault::Status(404), 0, 1000);
    }
}

#[test]
fn the_key_of_a_link_does_not_go_where_a_server_sends_us_on_to() {
    let workspace = Workspace::new();
    let (elsewhere, asked) = answering(
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into(),
    );
    let on = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{elsewhere}/x.tacozip\r\nContent-Length: 0\r\n\
            Connection: close\r\n\r\n"
    );
    let (portal, first) = answering(on);
    let link = format!("http://{portal}/x.tacozip?sig=SECRET");
    workspace.studio(["inspect", link.as_str()]).expect_code(2);
    assert!(
        first.lock().expect("is whole").contains("sig=SECRET"),
        "the link is asked as it is"
    );
    let asked = asked.lock().expect("is whole").clone();
    assert!(
        asked.contains("/x.tacozip") && !asked.contains("SECRET"),
        "{asked}"
    );
}

/// A server with all files of a golden set.
fn served(workspace: &Workspace, set: &str) -> Server {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let source = all
        .into_iter()
        .find(|folder| folder.ends_with(set))
        .expect("a golden set");
    for name in crate::support::files_below(&source) {
        workspace.write(
            &format!("served/{name}"),
            fs::read(source.join(&name)).expect("reads"),
        );
    }
    Server::of(&workspace.path("served"))
}

/// Number of attempts on a failing server.
const TRIES: usize = 4;

/// Output of `inspect --json` for an address.
fn seen(workspace: &Workspace, url: &str) -> serde_json::Value {
    workspace
        .studio(["inspect", url, "--json"])
        .expect_code(0)
        .json()
}

#[test]
fn a_fault_while_a_folder_is_first_looked_at_does_not_make_it_another_dataset() {
    let workspace = Workspace::new();
    let server = served(&workspace, "09_split_tacocat");
    let url = server.url("");
    let good = seen(&workspace, &url);
    // Next to the index there is what would be a dataset of its own.
    workspace.write("served/COLLECTION.json", "{}");
    for part in [".tacocat/COLLECTION.json", ".tacocat/level0.parquet"] {
        server.forget();
        server.fail(part, Fault::Status(500), 0, TRIES);
        workspace.studio(["inspect", &url]).expect_code(2);
        let again = seen(&workspace, &url);
        assert_eq!(again["format"], good["format"], "{part}");
    }
}

#[test]
fn a_fault_while_the_collection_is_first_read_is_not_kept_as_its_answer() {
    for (set, place, part) in [
        ("04_nested2_folder", "change", "change/COLLECTION.json"),
        ("27_v018_parts_tacocat", "__TACOCAT__", "__TACOCAT__"),
        (
            "27_v018_parts_tacocat",
            "TACOLLECTION.json",
            "parts_part0002.tacozip",
        ),
        ("61_v3_folder", "", "METADATA/sample.parquet"),
    ] {
        let workspace = Workspace::new();
        let server = served(&workspace, set);
        let place = match place {
            "" => crate::support::entries(&workspace.path("served"))
                .into_iter()
                .find(|path| path.is_dir())
                .expect("a folder"),
            name => workspace.path("served").join(name),
        };
        let url = server.url(
            place
                .strip_prefix(workspace.path("served"))
                .expect("is below")
                .to_str()
                .expect("text"),
        );
        let good = seen(&workspace, &url);
        server.forget();
        // The cache of the workspace would answer instead.
        let fresh = Workspace::new();
        server.fail(part, Fault::Status(500), 0, TRIES);
        fresh.studio(["inspect", &url, "--json"]).expect_code(2);
        assert_eq!(seen(&fresh, &url), good, "{set}: {part}");
    }
}

#[test]
fn a_fault_of_the_server_is_no_finding_about_a_part() {
    let workspace = Workspace::new();
    let server = served(&workspace, "09_split_tacocat");
    let url = server.url(".tacocat");
    server.fail("parts_part0002.tacozip", Fault::Status(503), 0, 1000);
    let ran = workspace
        .studio(["validate", &url, "--deep"])
        .expect_code(2);
    assert!(
        ran.stderr.contains("503") && !ran.stdout.contains("CAT-1"),
        "{ran}"
    );
}

#[test]
fn a_fault_while_a_directory_is_first_read_is_asked_again() {
    use taco_studio::container::{self, Physical};
    use taco_studio::jobs::JobContext;
    let workspace = Workspace::new();
    // The directory takes a separate request: it is far from the tables and too long to be
    // prefetched.
    let mut rows = String::from("path\n");
    for number in 0..2500 {
        let name = format!("{number:05}-a-long-name-so-that-the-directory-is-long-as-well.bin");
        workspace.write(&format!("scenes/{name}"), [7]);
        rows += &format!("{name}\n");
    }
    let (scenes, out) = (
        workspace.path("scenes"),
        workspace.path("served/long.tacozip"),
    );
    let collection = workspace.write("collection.json", crate::support::COLLECTION);
    let arguments = [
        "create".as_ref(),
        scenes.as_os_str(),
        "--output".as_ref(),
        out.as_os_str(),
        "--collection".as_ref(),
        collection.as_os_str(),
    ];
    workspace.studio(arguments).expect_code(0);
    let server = Server::of(&workspace.path("served"));
    let reader = container::open(server.url("long.tacozip").as_ref(), &JobContext::default())
        .expect("opens");
    let Physical::Zip(zip) = reader.physical() else {
        panic!("is a ZIP")
    };
    server.forget();
    server.fail("long.tacozip", Fault::Elsewhere, 0, 1);
    zip.directory()
        .map(drop)
        .expect_err("the fault is reported");
    let directory = zip.directory().expect("the next read brings it");
    assert!(
        directory.entries.len() > 2500 && server.asked().len() >= 2,
        "{} requests",
        server.asked().len()
    );
}

#[test]
fn a_fault_while_an_image_is_read_leaves_nothing_of_it_out_afterwards() {
    use taco_studio::jobs::JobContext;
    use taco_studio::model::AssetPath;
    use taco_studio::raster::{PreviewRequest, preview};
    let workspace = Workspace::new();
    let image = workspace.path("image.tif");
    let side = 2048;
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
    let mut dataset = driver
        .create_with_band_type::<u8, _>(&image, side, side, 1)
        .expect("a GeoTIFF");
    let pixels = (0..side * side)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut pixels = gdal::raster::Buffer::new((side, side), pixels);
    dataset
        .rasterband(1)
        .and_then(|mut band| band.write((0, 0), (side, side), &mut pixels))
        .expect("pixels");
    dataset
        .build_overviews("AVERAGE", &[2, 4, 8], &[])
        .expect("overviews, which are after the pixels");
    dataset.close().expect("a closed file");
    fs::create_dir_all(workspace.path("served")).expect("a folder");
    let server = Server::of(&workspace.path("served"));
    let shown = |url: &str| {
        let request = PreviewRequest::new(
            taco_studio::raster::RasterSource::from_user_path(AssetPath::file(url)),
            (300, 300),
        );
        preview(&request, &JobContext::default()).map(|shown| shown.rgba)
    };
    let mut failed = 0;
    for good in 0..5 {
        // A new name each time, so nothing is cached.
        let name = format!("image-{good}.tif");
        fs::copy(&image, workspace.path("served").join(&name)).expect("copies");
        let url = server.url(&name);
        server.forget();
        server.fail(&name, Fault::Elsewhere, good, 1);
        failed += usize::from(shown(&url).is_err());
        let here = shown(image.to_str().expect("text")).expect("shows");
        assert!(
            shown(&url).expect("shows").data == here.data,
            "after {good} good answers"
        );
    }
    assert!(failed > 0, "no fault was met");
}
