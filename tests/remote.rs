//! Remote datasets, served from this machine: they open, read, filter and export as from disk, with
//! few requests.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Fault, Habit, Server, Workspace, first_file, fixtures, sha256, sha256_of};

/// Golden datasets by container: folder and dataset.
const ZIPS: [(&str, &str); 6] = [
    ("01_flat_zip", "flat.tacozip"),
    ("05_nested3_zip", "stack.tacozip"),
    ("11_columns_zip", "cols.tacozip"),
    ("13_refbug_unsorted_ids", "unsorted.tacozip"),
    ("23_v018_nested2_pad_zip", "change.tacozip"),
    ("31_refbug_upstream_zip_nested", ""),
];
const FOLDERS: [(&str, &str); 2] = [
    ("04_nested2_folder", "change"),
    ("06_nested3_folder", "stack"),
];
const INDEXES: [(&str, &str); 2] = [
    ("09_split_tacocat", ".tacocat"),
    ("27_v018_parts_tacocat", "__TACOCAT__"),
];

fn golden(set: &str) -> PathBuf {
    let all = fixtures("golden", "TACO_STUDIO_GOLDEN");
    all.into_iter()
        .find(|folder| folder.ends_with(set))
        .unwrap_or_else(|| panic!("no golden set {set}"))
}

/// Path of the dataset below the folder of all golden sets; without a name, its only archive.
fn below(set: &str, name: &str) -> String {
    if !name.is_empty() {
        return format!("{set}/{name}");
    }
    let mut files = fs::read_dir(golden(set))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name());
    let archive = files.find(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|e| e == "tacozip" || e == "zip")
    });
    format!("{set}/{}", archive.expect("an archive").to_string_lossy())
}

fn server() -> Server {
    Server::of(golden("01_flat_zip").parent().expect("a folder"))
}

fn local(path: &str) -> PathBuf {
    golden("01_flat_zip").parent().expect("a folder").join(path)
}

fn run<S: AsRef<OsStr>>(workspace: &Workspace, arguments: impl IntoIterator<Item = S>) -> String {
    workspace.studio(arguments).expect_code(0).stdout
}

fn inspect(workspace: &Workspace, place: impl AsRef<OsStr>) -> Value {
    let text = run(
        workspace,
        ["inspect".as_ref(), place.as_ref(), "--json".as_ref()],
    );
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value.as_object_mut().expect("an object").remove("path");
    value
}

#[test]
fn every_container_opens_as_from_the_disk_with_few_requests() {
    let (workspace, server) = (Workspace::new(), server());
    for (kind, sets, most) in [
        ("ZIP", &ZIPS[..], 3),
        ("TACOCAT", &INDEXES[..], 3),
        ("FOLDER", &FOLDERS[..], 8),
    ] {
        for (set, name) in sets {
            let path = below(set, name);
            server.forget();
            assert_eq!(
                inspect(&workspace, server.url(&path)),
                inspect(&workspace, local(&path)),
                "{path}"
            );
            let asked = server.asked();
            assert!(
                asked.len() <= most,
                "{kind} {path} took {} requests: {asked:#?}",
                asked.len()
            );
            assert!(
                asked
                    .iter()
                    .all(|asked| asked.method == "GET" && asked.range.is_some()),
                "{asked:#?}"
            );
        }
    }
}

#[test]
fn the_second_time_only_the_version_is_asked_for() {
    let (workspace, server) = (Workspace::new(), server());
    let path = below("01_flat_zip", "flat.tacozip");
    let first = inspect(&workspace, server.url(&path));
    server.forget();
    assert_eq!(inspect(&workspace, server.url(&path)), first);
    assert_eq!(server.asked().len(), 1, "{:#?}", server.asked());
}

#[test]
fn filters_give_the_rows_that_they_give_on_the_disk() {
    let (workspace, server) = (Workspace::new(), server());
    for (set, name) in ZIPS.iter().chain(&INDEXES).chain(&FOLDERS) {
        let path = below(set, name);
        for sql in [
            "SELECT * FROM data",
            "SELECT * FROM level1",
            "SELECT id FROM level0 ORDER BY id DESC LIMIT 3",
        ] {
            let rows = |place: &OsStr| {
                let ran = workspace.studio([
                    "query".as_ref(),
                    place,
                    "--csv".as_ref(),
                    "--sql".as_ref(),
                    sql.as_ref(),
                ]);
                (ran.code(), ran.stdout)
            };
            let (here, there) = (
                rows(local(&path).as_os_str()),
                rows(server.url(&path).as_ref()),
            );
            assert_eq!(here.0, there.0, "{path}: {sql}");
            // Only the samples' location differs.
            let slashes = |text: &str| {
                if cfg!(windows) {
                    text.replace('\\', "/")
                } else {
                    text.to_owned()
                }
            };
            let prefix = taco_studio::files::canonical(&local("")).expect("a folder");
            let remote = there
                .1
                .replace(&format!("/vsicurl/{}", server.url("")), "@");
            let below_folder = |folder: &Path| slashes(&format!("{}/", folder.display()));
            let on_disk = slashes(&here.1)
                .replace(&below_folder(&prefix), "@")
                .replace(&below_folder(&local("")), "@");
            assert_eq!(
                remote.replace("@/", "@"),
                on_disk.replace("@/", "@"),
                "{path}: {sql}"
            );
        }
    }
}

#[test]
fn samples_have_their_bytes() {
    let (workspace, server) = (Workspace::new(), server());
    let out = workspace.path("bytes");
    let mut seen = 0;
    for (set, name) in ZIPS.iter().chain(&FOLDERS).chain(&INDEXES) {
        let path = below(set, name);
        let expected: Value = serde_json::from_slice(
            &fs::read(golden(set).join("expected.json")).expect("expected.json"),
        )
        .expect("JSON");
        let key = Path::new(&path)
            .file_name()
            .expect("a name")
            .to_str()
            .expect("text");
        let own = expected[key]["files"].as_object();
        let parts = expected
            .as_object()
            .expect("an object")
            .values()
            .filter_map(|part| part["files"].as_object());
        let files: Vec<(&String, &Value)> = match own.filter(|files| !files.is_empty()) {
            Some(files) => files.iter().collect(),
            None => parts.flatten().collect(),
        };
        for (member, wanted) in files
            .into_iter()
            .filter(|(member, _)| member.starts_with("DATA/") && !member.ends_with("__meta__"))
            .take(5)
        {
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            run(
                &workspace,
                [
                    "read",
                    &server.url(&path),
                    id,
                    "--out",
                    out.to_str().expect("text"),
                ],
            );
            assert_eq!(wanted["sha256"], sha256_of(&out), "{path}: {id}");
            fs::remove_file(&out).expect("the file just written");
            seen += 1;
        }
    }
    assert!(seen >= 30, "only {seen} samples");
}

#[test]
fn servers_that_answer_ranges_in_their_own_way_are_read() {
    let sets = [
        below("05_nested3_zip", "stack.tacozip"),
        below("06_nested3_folder", "stack"),
    ];
    let wanted = sets
        .each_ref()
        .map(|path| inspect(&Workspace::new(), local(path)));
    for habit in [
        Habit::WholeIs200,
        Habit::IgnoresSuffixes,
        Habit::RefusesLongSuffixes,
        Habit::RefusesLongRanges,
        Habit::OmitsSize,
        Habit::Chunked,
        Habit::NoVersion,
        Habit::WeakEtag,
        Habit::AlternatesEtags,
        Habit::AlternatesDates,
        Habit::Gzips,
        Habit::PageForMissing,
        Habit::ForbidsMissing,
        Habit::Throttles,
    ] {
        let server = server();
        server.behave(habit);
        for (path, wanted) in sets.iter().zip(&wanted) {
            let workspace = Workspace::new();
            assert_eq!(
                inspect(&workspace, server.url(path)),
                *wanted,
                "{habit:?}: {path}"
            );
            let id = first_file(&workspace, local(path).to_str().expect("text"));
            let bytes = |dataset: &str| {
                let out = workspace.path("bytes");
                run(
                    &workspace,
                    [
                        "read",
                        dataset,
                        &id,
                        "--overwrite",
                        "--out",
                        out.to_str().expect("text"),
                    ],
                );
                fs::read(out).expect("reads")
            };
            let local = bytes(local(path).to_str().expect("text"));
            assert!(bytes(&server.url(path)) == local, "{habit:?}: {path}: {id}");
        }
    }
}

#[test]
fn a_page_instead_of_a_dataset_is_named() {
    let (workspace, server) = (Workspace::new(), server());
    server.behave(Habit::PageForMissing);
    for path in ["no/such.tacozip", "no/such/folder/", "no/such/.tacocat"] {
        let ran = workspace
            .studio(["inspect", &server.url(path)])
            .expect_code(2);
        assert!(
            ran.stderr.contains("answered with a web page") && ran.stderr.contains("sign-in"),
            "{ran}"
        );
    }
    server.behave(Habit::ForbidsMissing);
    let ran = workspace
        .studio(["inspect", &server.url("no/such.tacozip")])
        .expect_code(2);
    assert!(
        ran.stderr.contains("403 Forbidden") && ran.stderr.contains("letter by letter"),
        "{ran}"
    );
}

#[test]
fn a_server_without_ranges_is_named_as_such() {
    let (workspace, server) = (Workspace::new(), server());
    let path = below("01_flat_zip", "flat.tacozip");
    server.fail("flat.tacozip", Fault::Whole, 0, 1000);
    let ran = workspace
        .studio(["inspect", &server.url(&path)])
        .expect_code(2);
    // The number of the port may have the digits of a status.
    let said = ran.stderr.replace(
        server
            .url("")
            .trim_start_matches("http://")
            .trim_end_matches('/'),
        "the server",
    );
    assert!(
        said.contains("does not support range requests") && !said.contains("404"),
        "{ran}"
    );
}

#[test]
fn a_server_that_does_not_say_which_bytes_it_sends_is_named_as_such() {
    let (workspace, server) = (Workspace::new(), server());
    server.behave(Habit::OmitsRange);
    let ran = workspace
        .studio([
            "inspect",
            &server.url(&below("01_flat_zip", "flat.tacozip")),
        ])
        .expect_code(2);
    assert!(
        ran.stderr.contains("does not state which bytes it sent")
            && ran.stderr.contains("download the file"),
        "{ran}"
    );
    assert!(
        !ran.stderr.contains("Generic") && !ran.stderr.contains("header"),
        "no words of the library: {ran}"
    );
}

#[test]
fn a_server_that_states_a_new_version_each_time_has_a_way_out() {
    let (workspace, server) = (Workspace::new(), server());
    server.behave(Habit::NewEtags);
    let path = below("01_flat_zip", "flat.tacozip");
    let url = server.url(&path);
    let id = first_file(&workspace, local(&path).to_str().expect("text"));
    let ran = workspace
        .studio([
            "read",
            &url,
            &id,
            "--out",
            workspace.path("no").to_str().expect("text"),
        ])
        .expect_code(2);
    assert!(ran.stderr.contains("changed since it was opened"), "{ran}");
    assert!(
        ran.stderr.contains("TACO_STUDIO_REMOTE_VERSIONS=modified"),
        "{ran}"
    );
    for mark in ["modified", "size"] {
        let out = workspace.path(mark);
        let read = ["read", &url, &id, "--out", out.to_str().expect("text")];
        workspace
            .studio_with(&[("TACO_STUDIO_REMOTE_VERSIONS", mark)], read)
            .expect_code(0);
        let wanted = workspace.path("wanted");
        run(
            &workspace,
            [
                "read",
                local(&path).to_str().expect("text"),
                &id,
                "--overwrite",
                "--out",
                wanted.to_str().expect("text"),
            ],
        );
        assert_eq!(sha256_of(&out), sha256_of(&wanted), "{mark}");
    }
}

#[test]
fn a_check_finds_what_it_finds_on_the_disk() {
    let (workspace, server) = (Workspace::new(), server());
    for (set, name) in ZIPS.iter().chain(&FOLDERS).chain(&INDEXES) {
        let path = below(set, name);
        let report = |place: &OsStr| {
            let ran = workspace.studio([
                "validate".as_ref(),
                place,
                "--deep".as_ref(),
                "--json".as_ref(),
            ]);
            let mut report = ran.expect_no_panic().json();
            report.as_object_mut().expect("an object").remove("path");
            report
        };
        assert_eq!(
            report(server.url(&path).as_ref()),
            report(local(&path).as_os_str()),
            "{path}"
        );
        server.forget();
        workspace
            .studio(["validate", &server.url(&path)])
            .expect_no_panic();
        assert!(
            server.asked().len() <= 8,
            "{path}: a quick check took {} requests",
            server.asked().len()
        );
    }
}

#[test]
fn a_part_of_a_remote_dataset_is_written_with_the_same_bytes() {
    let (workspace, server) = (Workspace::new(), server());
    for (set, name) in [
        ("05_nested3_zip", "stack.tacozip"),
        ("06_nested3_folder", "stack"),
        ("09_split_tacocat", ".tacocat"),
    ] {
        let path = below(set, name);
        for target in ["part.tacozip", "part"] {
            let export = |place: &OsStr, out: &Path| {
                let fixed = [
                    "export".as_ref(),
                    place,
                    "-o".as_ref(),
                    out.as_os_str(),
                    "--limit".as_ref(),
                    "2".as_ref(),
                ];
                run(
                    &workspace,
                    fixed.into_iter().chain([
                        "--keep-padding".as_ref(),
                        "--connections".as_ref(),
                        "2".as_ref(),
                    ]),
                );
            };
            let (here, there) = (
                workspace.path(&format!("here-{target}")),
                workspace.path(&format!("there-{target}")),
            );
            export(local(&path).as_os_str(), &here);
            server.forget();
            export(server.url(&path).as_ref(), &there);
            let data = |place: &Path| {
                let sql = r#"SELECT id FROM data"#;
                run(
                    &workspace,
                    [
                        "query".as_ref(),
                        place.as_os_str(),
                        "--csv".as_ref(),
                        "--sql".as_ref(),
                        sql.as_ref(),
                    ],
                )
            };
            assert_eq!(data(&here), data(&there), "{path} to {target}");
            assert_eq!(payload(&here), payload(&there), "{path} to {target}");
            for made in [&here, &there] {
                if made.is_dir() {
                    fs::remove_dir_all(made)
                } else {
                    fs::remove_file(made)
                }
                .expect("removes");
            }
        }
    }
}

/// Files of a remote folder are requested in parallel, up to the limit, and each once for size and
/// data.
#[test]
fn the_files_of_a_remote_folder_are_asked_for_side_by_side() {
    let server = server();
    for (set, name) in FOLDERS {
        let path = below(set, name);
        let files = crate::support::files_below(&local(&path)).len();
        // Responses are delayed so that others can be requested meanwhile, even on a busy machine.
        for (limit, least, answer_ms) in [("1", 1, 15), ("6", 4, 250)] {
            server.forget();
            server.slow(std::time::Duration::from_millis(answer_ms));
            // Each time with an empty cache.
            let workspace = Workspace::new();
            let out = workspace.path("out.tacozip");
            let url = server.url(&path);
            let fixed = [
                "export".as_ref(),
                url.as_ref(),
                "-o".as_ref(),
                out.as_os_str(),
                "--connections".as_ref(),
                limit.as_ref(),
            ];
            run(&workspace, fixed);
            let at_once = server.most_at_once();
            assert!(
                at_once >= least && at_once <= limit.parse().expect("a number"),
                "{path}: {at_once} at once of {limit}"
            );
            // Finding the tables and the collection takes a few requests.
            assert!(
                server.asked().len() <= 2 * files + 8,
                "{path}: {} requests for {files} files",
                server.asked().len()
            );
        }
        server.slow(std::time::Duration::ZERO);
    }
}

/// Datasets of the first generation, whole and in parts, and several addresses at once.
#[test]
fn older_generations_and_several_addresses_open_with_few_requests() {
    let (workspace, server) = (Workspace::new(), server());
    for (path, most) in [
        ("41_v1_bytes/bytes.tortilla", 3),
        ("42_v1_nested/nested.tortilla", 12),
        ("46_v1_taco_nested/nested.taco", 12),
    ] {
        server.forget();
        assert_eq!(
            inspect(&workspace, server.url(path)),
            inspect(&workspace, local(path)),
            "{path}"
        );
        let asked = server.asked();
        assert!(
            asked.len() <= most,
            "{path} took {} requests: {asked:#?}",
            asked.len()
        );
        let sql = "SELECT id FROM data";
        let rows = |place: &OsStr| {
            run(
                &workspace,
                [
                    "query".as_ref(),
                    place,
                    "--csv".as_ref(),
                    "--sql".as_ref(),
                    sql.as_ref(),
                ],
            )
        };
        assert_eq!(
            rows(server.url(path).as_ref()),
            rows(local(path).as_os_str()),
            "{path}"
        );
    }
    let sql = "SELECT id FROM data";
    // Datasets that refer to files elsewhere, or that would be found on disk by listing a folder.
    for (path, most) in [
        ("44_v1_parts/parts.*.part.tortilla", 6),
        ("61_v3_folder/change", 12),
        ("27_v018_parts_tacocat/TACOLLECTION.json", 12),
    ] {
        server.forget();
        let here = local(path);
        assert_eq!(
            inspect(&workspace, server.url(path)),
            inspect(&workspace, &here),
            "{path}"
        );
        let asked = server.asked();
        assert!(
            asked.len() <= most,
            "{path} took {} requests: {asked:#?}",
            asked.len()
        );
        let rows = |place: &OsStr| {
            run(
                &workspace,
                [
                    "query".as_ref(),
                    place,
                    "--csv".as_ref(),
                    "--sql".as_ref(),
                    sql.as_ref(),
                ],
            )
        };
        assert_eq!(
            rows(server.url(path).as_ref()),
            rows(here.as_os_str()),
            "{path}"
        );
        let codes = |place: &OsStr| {
            run(
                &workspace,
                [OsStr::new("validate"), place, OsStr::new("--json")],
            )
        };
        let rules = |text: String| -> Vec<Value> {
            let report: Value = serde_json::from_str(&text).expect("a report");
            report["findings"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|finding| finding["rule"].clone())
                .collect()
        };
        assert_eq!(
            rules(codes(server.url(path).as_ref())),
            rules(codes(here.as_os_str())),
            "{path}"
        );
    }
    let parts: Vec<String> = [
        "parts_part0001.tacozip",
        "parts_part0002.tacozip",
        "parts_part0003.tacozip",
    ]
    .map(|name| format!("27_v018_parts_tacocat/{name}"))
    .to_vec();
    let both = |places: Vec<std::ffi::OsString>| {
        let sql = "SELECT id FROM data";
        let fixed = ["--csv", "--sql", sql].map(std::ffi::OsString::from);
        run(
            &workspace,
            std::iter::once("query".into()).chain(places).chain(fixed),
        )
    };
    server.forget();
    let there = both(parts.iter().map(|part| server.url(part).into()).collect());
    let asked = server.asked().len();
    assert_eq!(
        there,
        both(
            parts
                .iter()
                .map(|part| local(part).into_os_string())
                .collect()
        )
    );
    assert!(
        there.lines().count() > 3 && asked <= 3 * parts.len(),
        "{asked} requests for {} datasets",
        parts.len()
    );
}

/// SHA-256 of every sample's data, by name.
fn payload(dataset: &Path) -> Vec<(String, String)> {
    if dataset.is_dir() {
        let files = crate::support::files_below(&dataset.join("DATA"));
        return files
            .into_iter()
            .map(|name| (name.clone(), sha256_of(&dataset.join("DATA").join(name))))
            .collect();
    }
    let mut archive =
        zip::ZipArchive::new(fs::File::open(dataset).expect("a file")).expect("an archive");
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).expect("a member");
        let name = member.name().expect("a name").into_owned();
        if let Some(name) = name
            .strip_prefix("DATA/")
            .map(str::to_owned)
            .filter(|name| !name.ends_with("__meta__"))
        {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut member, &mut bytes).expect("reads");
            found.push((name, sha256(&bytes)));
        }
    }
    found.sort();
    found
}

#[test]
fn names_with_spaces_and_other_letters_are_found() {
    let workspace = Workspace::new();
    let source = local(&below("04_nested2_folder", "change"));
    let folder = workspace.path("served");
    for name in crate::support::files_below(&source) {
        workspace.write(
            &format!("served/a b/ñ#1/{name}"),
            fs::read(source.join(&name)).expect("reads"),
        );
    }
    let server = Server::of(&folder);
    let there = inspect(&workspace, server.url("a%20b/%C3%B1%231"));
    assert_eq!(there, inspect(&workspace, source));
}

#[test]
fn a_signed_link_is_used_and_shown_nowhere() {
    let (workspace, server) = (Workspace::new(), server());
    let url = format!(
        "{}?sv=1&sig=hunter2",
        server.url(&below("01_flat_zip", "flat.tacozip"))
    );
    let ran = workspace
        .studio(["-vv", "--traffic", "inspect", &url, "--json"])
        .expect_code(0);
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.path.ends_with("?sv=1&sig=hunter2")),
        "{:?}",
        server.asked()
    );
    assert!(
        !ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2"),
        "{ran}"
    );
    server.fail("flat", crate::support::Fault::Status(403), 0, 99);
    let ran = workspace.studio(["-vv", "inspect", &url]).expect_code(2);
    assert!(
        !ran.stderr.contains("hunter2") && ran.stderr.contains("403"),
        "{ran}"
    );
}
