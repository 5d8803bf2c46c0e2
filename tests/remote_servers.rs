//! Real servers on this machine: nginx with range requests and an S3-compatible server. Datasets
//! open, filter, preview and export; requests are counted from the servers' logs or the program's
//! statistics.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taco_studio::jobs::JobContext;
use taco_studio::model::AssetPath;
use taco_studio::raster::{PreviewRequest, RasterSource, preview};

use crate::support::{
    Ran, Workspace, files_below, first_file, fixtures, python, sha256_of, tests_folder,
};

fn golden() -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.first()
        .and_then(|folder| folder.parent())
        .expect("a folder of sets")
        .to_owned()
}

/// nginx serving the files below a folder; stopped on drop.
struct Nginx {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Nginx {
    fn of(workspace: &Workspace, folder: &Path) -> Self {
        let places = [
            "/usr/sbin/nginx",
            "/usr/bin/nginx",
            "/usr/local/bin/nginx",
            "/opt/homebrew/bin/nginx",
            "/usr/local/sbin/nginx",
        ];
        let program = places.iter().map(Path::new).find(|path| path.exists());
        let program = program.expect("nginx is not here: run ./packaging/test, which installs it");
        let place = workspace.path("nginx");
        fs::create_dir_all(&place).expect("a folder");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let id = Command::new("id").arg("-u").output().expect("id runs");
        // A worker of another user could not read the workspace.
        let user = if id.stdout.starts_with(b"0") {
            "user root;"
        } else {
            ""
        };
        let at = place.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|name| format!("{name}_temp_path {at}/{name};\n"))
            .collect();
        let configuration = format!(
            "daemon off; {user} worker_processes 1; pid {at}/pid; error_log {at}/error.log;\n\
             events {{ }}\n\
             http {{ {temporary} log_format own '$request_method $uri $http_range $status'; \
                access_log {at}/access.log own;\n\
             server {{ listen 127.0.0.1:{port}; root {}; autoindex on; }} }}\n",
            folder.display()
        );
        let file = workspace.write("nginx/nginx.conf", configuration);
        let child = Command::new(program)
            .arg("-p")
            .arg(&place)
            .arg("-e")
            .arg(place.join("error.log"))
            .arg("-c")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let nginx = Self {
            child,
            port,
            log: place.join("access.log"),
        };
        let end = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < end,
                "nginx does not answer: {:?}",
                fs::read_to_string(place.join("error.log"))
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Log lines since the last call.
    fn asked(&self) -> Vec<String> {
        std::thread::sleep(Duration::from_millis(100));
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        fs::write(&self.log, "").expect("empties the log");
        text.lines()
            .map(|line| line.trim_start_matches('\0').to_owned())
            .collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM also ends its worker, which SIGKILL would leave running.
        let told = Command::new("kill")
            .arg(self.child.id().to_string())
            .stderr(Stdio::null())
            .status();
        if !told.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The S3 server with the files below a folder in the bucket `data`; stopped on drop.
struct S3 {
    child: Child,
    endpoint: String,
}

impl S3 {
    fn of(folder: &Path) -> Self {
        let mut child = Command::new(python())
            .arg(tests_folder().join("interop/s3_server.py"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let mut endpoint = String::new();
        let lines = child.stdout.take().expect("standard output");
        BufReader::new(lines)
            .read_line(&mut endpoint)
            .expect("an address");
        let endpoint = endpoint.trim().to_owned();
        assert!(endpoint.starts_with("http"), "the S3 server did not start");
        Self { child, endpoint }
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            let _ = input.flush();
        }
        std::thread::sleep(Duration::from_millis(50));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The statistics that a program printed with `--traffic`.
fn traffic(ran: &Ran) -> Value {
    let start = ran
        .stderr
        .find('{')
        .unwrap_or_else(|| panic!("no meter: {ran}"));
    serde_json::from_str(&ran.stderr[start..])
        .unwrap_or_else(|error| panic!("the meter is not JSON ({error}): {ran}"))
}

#[test]
fn nginx_serves_every_container() {
    let workspace = Workspace::new();
    let nginx = Nginx::of(&workspace, &golden());
    for (path, most) in [
        ("01_flat_zip/flat.tacozip", 3),
        ("05_nested3_zip/stack.tacozip", 3),
        ("09_split_tacocat/.tacocat", 3),
        ("27_v018_parts_tacocat/__TACOCAT__", 3),
        ("06_nested3_folder/stack", 8),
        ("06_nested3_folder/stack/", 8),
    ] {
        nginx.asked();
        let found = workspace
            .studio(["inspect", &nginx.url(path), "--json"])
            .expect_code(0)
            .json();
        let asked = nginx.asked();
        assert!(
            asked.len() <= most,
            "{path}: {} requests: {asked:#?}",
            asked.len()
        );
        let local = golden().join(path);
        let wanted = workspace
            .studio(["inspect".as_ref(), local.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        assert_eq!(found["levels"], wanted["levels"], "{path}");
        assert_eq!(found["collection"], wanted["collection"], "{path}");
        let id = first_file(&workspace, &nginx.url(path));
        let (here, there) = (workspace.path("here"), workspace.path("there"));
        let read = |dataset: &std::ffi::OsStr, out: &Path| {
            workspace
                .studio([
                    "read".as_ref(),
                    dataset,
                    id.as_ref(),
                    "--overwrite".as_ref(),
                    "--out".as_ref(),
                    out.as_os_str(),
                ])
                .expect_code(0);
        };
        read(local.as_os_str(), &here);
        read(nginx.url(path).as_ref(), &there);
        assert_eq!(sha256_of(&here), sha256_of(&there), "{path}: {id}");
    }
}

#[test]
fn a_preview_of_a_large_image_takes_few_requests() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("scenes/large")).expect("a folder");
    let image = workspace.path("scenes/large/image.tif");
    workspace
        .python("cog.py", [image.as_os_str()])
        .expect_code(0);
    let collection = json!({ "id": "large", "dataset_version": "1.0.0", "description": "One large \
        image.", "licenses": ["CC0-1.0"],
        "providers": [{ "name": "Tests", "roles": ["producer"] }], "tasks": ["other"] });
    let collection = workspace.write("collection.json", collection.to_string());
    fs::create_dir_all(workspace.path("served")).expect("a folder");
    let dataset = workspace.path("served/large.tacozip");
    let arguments = [
        "create".into(),
        workspace.path("scenes").into_os_string(),
        "-o".into(),
        dataset.clone().into_os_string(),
    ];
    let rest = ["--collection".into(), collection.into_os_string()];
    workspace
        .studio(arguments.into_iter().chain(rest))
        .expect_code(0);
    fs::rename(&image, workspace.path("served/image.tif")).expect("moves");
    let nginx = Nginx::of(&workspace, &workspace.path("served"));
    // As a separate file, and inside the archive that was opened before.
    let inside = workspace
        .studio(["read", &nginx.url("large.tacozip"), "large/image.tif"])
        .expect_code(0)
        .stdout;
    let (range, _) = inside
        .trim()
        .strip_prefix("/vsisubfile/")
        .and_then(|rest| rest.split_once(','))
        .expect("a range");
    let (offset, size) = range.split_once('_').expect("offset and size");
    let (offset, size): (u64, u64) = (
        offset.parse().expect("a number"),
        size.parse().expect("a number"),
    );
    let ctx = JobContext::default();
    for (name, is_archive, most) in [("image.tif", false, 6), ("large.tacozip", true, 9)] {
        for fit in [256, 1200] {
            // A name of its own, so that nothing of it is cached.
            let own = format!("{fit}-{name}");
            fs::copy(
                workspace.path("served").join(name),
                workspace.path("served").join(&own),
            )
            .expect("a copy");
            let address = PathBuf::from(nginx.url(&own));
            nginx.asked();
            let asset = if is_archive {
                drop(taco_studio::container::open(&address, &ctx).expect("opens"));
                AssetPath::range(address, offset, size)
            } else {
                AssetPath::file(&address)
            };
            preview(
                &PreviewRequest::new(RasterSource::member(asset), (fit, fit)),
                &ctx,
            )
            .expect("shows");
            let asked = nginx.asked();
            assert!(
                !asked.is_empty() && asked.len() <= most,
                "{own}: {} requests: {asked:#?}",
                asked.len()
            );
            assert!(
                asked
                    .iter()
                    .all(|line| line.starts_with("GET") && line.ends_with("206")),
                "{asked:#?}"
            );
        }
    }
}

#[test]
fn an_s3_server_serves_every_container_with_and_without_credentials() {
    let workspace = Workspace::new();
    let s3 = S3::of(&golden());
    let variables = [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_ENDPOINT_URL", s3.endpoint.as_str()),
    ];
    for (path, most) in [
        ("01_flat_zip/flat.tacozip", 3),
        ("13_refbug_unsorted_ids/unsorted.tacozip", 3),
        ("09_split_tacocat/.tacocat", 3),
        ("27_v018_parts_tacocat/__TACOCAT__", 3),
        ("06_nested3_folder/stack", 8),
    ] {
        let address = format!("s3://data/{path}");
        let local = golden().join(path);
        let wanted = workspace
            .studio(["inspect".as_ref(), local.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        let signed = workspace
            .studio_with(
                &variables,
                ["-vv", "--traffic", "inspect", &address, "--json"],
            )
            .expect_code(0);
        assert_eq!(signed.json()["levels"], wanted["levels"], "{path}");
        assert!(
            !signed.stderr.contains("hunter2") && !signed.stdout.contains("hunter2"),
            "{signed}"
        );
        let ran = workspace.studio([
            "--endpoint",
            &s3.endpoint,
            "--anonymous",
            "--traffic",
            "inspect",
            &address,
            "--json",
        ]);
        let ran = ran.expect_code(0);
        assert_eq!(ran.json()["levels"], wanted["levels"], "{path}");
        let requests = traffic(&ran)["total"]["requests"]
            .as_u64()
            .expect("a number");
        assert!(
            requests <= most,
            "{path}: {requests} requests: {:#}",
            traffic(&ran)
        );
    }
    let address = "s3://data/09_split_tacocat/.tacocat";
    let query = [
        "query",
        address,
        "--csv",
        "--sql",
        "SELECT id, \"internal:gdal_vsi\" AS v FROM data ORDER BY id LIMIT 2",
    ];
    let rows = workspace
        .studio_with(&variables, query)
        .expect_code(0)
        .stdout;
    assert!(
        rows.contains(",/vsis3/data/09_split_tacocat/parts_part0001.tacozip"),
        "{rows}"
    );
    let out = workspace.path("part.tacozip");
    let export = [
        "export",
        address,
        "-o",
        out.to_str().expect("text"),
        "--limit",
        "3",
        "--keep-padding",
    ];
    workspace.studio_with(&variables, export).expect_code(0);
    let report = workspace
        .studio([
            "validate".as_ref(),
            out.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ])
        .json();
    assert_eq!(report["valid"], true, "{report}");
    let profile = workspace.write(
        "home/.aws/config",
        format!(
            "[profile there]\nregion = us-east-1\nendpoint_url = {}\naws_access_key_id = a\n\
                aws_secret_access_key = b\n",
            s3.endpoint
        ),
    );
    assert!(profile.exists());
    workspace
        .studio(["--aws-profile", "there", "inspect", address])
        .expect_code(0);
    let ran = workspace
        .studio(["--aws-profile", "nowhere", "inspect", address])
        .expect_code(2);
    assert!(
        ran.stderr.contains("no AWS profile called nowhere"),
        "{ran}"
    );
    let ran = workspace
        .studio_with(&variables, ["inspect", "s3://data/no/such.tacozip"])
        .expect_code(2);
    assert!(
        ran.stderr.contains("404") && ran.stderr.contains("NoSuchKey"),
        "{ran}"
    );
    let kept: Vec<String> = files_below(&workspace.path("home"));
    for name in kept {
        let bytes = fs::read(workspace.path("home").join(&name)).expect("reads");
        assert!(
            !bytes.windows(7).any(|window| window == b"hunter2"),
            "{name} holds the secret"
        );
    }
}

#[test]
fn other_object_stores_are_read_with_the_variables_of_gdal() {
    let workspace = Workspace::new();
    let local = golden().join("01_flat_zip/flat.tacozip");
    let wanted = workspace
        .studio(["inspect".as_ref(), local.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json();
    let s3 = S3::of(&golden());
    let oss = [
        ("OSS_ENDPOINT", s3.endpoint.as_str()),
        ("OSS_ACCESS_KEY_ID", "test"),
        ("OSS_SECRET_ACCESS_KEY", "hunter2"),
    ];
    for address in [
        "oss://data/01_flat_zip/flat.tacozip",
        "/vsioss/data/01_flat_zip/flat.tacozip",
    ] {
        let ran = workspace
            .studio_with(&oss, ["-vv", "inspect", address, "--json"])
            .expect_code(0);
        assert_eq!(ran.json()["levels"], wanted["levels"], "{address}");
        assert!(!ran.stderr.contains("hunter2"), "{ran}");
        let read = workspace
            .studio_with(&oss, ["read", address, "#0"])
            .expect_code(0)
            .stdout;
        assert!(
            read.contains(",/vsioss/data/01_flat_zip/flat.tacozip"),
            "{read}"
        );
    }
    // A Swift account is a server with containers as folders; the token goes in a header.
    let nginx = Nginx::of(&workspace, &golden());
    let storage = nginx.url("");
    let swift = [
        ("SWIFT_STORAGE_URL", storage.as_str()),
        ("SWIFT_AUTH_TOKEN", "hunter2"),
    ];
    let address = "swift://01_flat_zip/flat.tacozip";
    let ran = workspace
        .studio_with(&swift, ["-vv", "inspect", address, "--json"])
        .expect_code(0);
    assert_eq!(ran.json()["levels"], wanted["levels"]);
    assert!(
        !ran.stderr.contains("hunter2")
            && nginx
                .asked()
                .iter()
                .any(|line| line.contains("/01_flat_zip/flat.tacozip")),
        "{ran}"
    );
    let (host, heard) = crate::support::answering(
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into(),
    );
    let storage = format!("http://{host}/v1/AUTH_me");
    let swift = [
        ("SWIFT_STORAGE_URL", storage.as_str()),
        ("SWIFT_AUTH_TOKEN", "hunter2"),
    ];
    workspace
        .studio_with(&swift, ["inspect", address])
        .expect_code(2);
    let head = heard.lock().expect("is whole").to_lowercase();
    assert!(
        head.contains("/v1/auth_me/01_flat_zip/flat.tacozip")
            && head.contains("x-auth-token: hunter2"),
        "{head}"
    );
    let ran = workspace.studio(["inspect", address]).expect_code(2);
    assert!(ran.stderr.contains("SWIFT_STORAGE_URL"), "{ran}");
}
