//! Remote datasets that a server exchanges for others while an operation reads them, at each of its
//! requests, for good or for some requests: the output is that of the old dataset, that of the new
//! one, or there is an error.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::support::{COLLECTION, Server, Workspace, files_below, nightly_or, sha256_of};

/// The other dataset stays for good.
const FOR_GOOD: usize = usize::MAX;
/// Samples of a part.
const SAMPLES: usize = 6;
/// Bytes of a FILE: more than the first request for an archive brings, so that samples are asked
/// for.
const SIZE: usize = 40_000;

/// Two ZIPs with samples of `letter` in the folder `name`, indexes over them, one of both as a
/// FOLDER, and a TORTILLA. All files have the same sizes for each letter.
fn datasets_of(workspace: &Workspace, name: &str, letter: char) {
    let run = |arguments: &[&str]| drop(workspace.studio(arguments).expect_code(0));
    let described = COLLECTION.replace("Test scenes", &format!("Scenes {letter}"));
    workspace.write("collection.json", described);
    for part in 0..2 {
        let source = format!("s{name}{part}");
        let mut table = String::from("path,who\n");
        for row in 0..SAMPLES {
            for file in ["a.bin", "b.bin"] {
                let file = format!("{source}/p{part}_{row}/{file}");
                workspace.write(&file, vec![letter as u8; SIZE]);
            }
            table += &format!("p{part}_{row},{letter}\n");
        }
        workspace.write("metadata.csv", table);
        let (target, collection) = (format!("{name}/part{part}.tacozip"), "collection.json");
        let from = ["create", &source, "-o", &target, "--collection", collection];
        run(&[&from[..], &["--metadata", "metadata.csv"]].concat());
    }
    let [one, two] = [0, 1].map(|part| format!("{name}/part{part}.tacozip"));
    run(&["tacocat", &one, &two, "-o", name]);
    run(&["tacocat", &one, &two, "-o", name, "--single-file"]);
    run(&["convert", &one, &format!("{name}/folder")]);
    run(&["compile", &one, "-o", &format!("{name}/old.tortilla")]);
}

/// What an operation leaves: the SHA-256 of each file of its output, and what it prints where it
/// has none; `None` after an error.
type Left = Option<(BTreeMap<String, String>, String)>;

struct Scene {
    workspace: Workspace,
    server: Server,
}

impl Scene {
    fn new() -> Self {
        let workspace = Workspace::new();
        datasets_of(&workspace, "one", 'A');
        datasets_of(&workspace, "two", 'B');
        let server = Server::of(&workspace.path(""));
        Self { workspace, server }
    }

    /// Runs an operation on the datasets below `one`, which are those below `two` for some
    /// requests.
    fn run(&self, arguments: &[&str], exchanged: Range<usize>) -> Left {
        for name in ["out", "out.tacozip", "out.json"] {
            let path = self.workspace.path(name);
            if path.is_dir() {
                std::fs::remove_dir_all(path).expect("removed");
            } else if path.exists() {
                std::fs::remove_file(path).expect("removed");
            }
        }
        self.server.forget();
        self.server.exchange("one", "two", exchanged);
        let folder = self.server.url("one");
        let arguments = arguments.iter().map(|text| text.replace("URL", &folder));
        // What was read before is asked for again.
        let fixed = [
            ("SOURCE_DATE_EPOCH", "1700000000"),
            ("TACO_STUDIO_CACHE_MB", "0"),
        ];
        let ran = self.workspace.studio_with(&fixed, arguments);
        let mut files = BTreeMap::new();
        for name in ["out", "out.tacozip", "out.json"] {
            let path = self.workspace.path(name);
            if path.is_dir() {
                let below = files_below(&path).into_iter();
                files.extend(below.map(|file| (file.clone(), sha256_of(&path.join(file)))));
            } else if path.exists() {
                files.insert(name.to_owned(), sha256_of(&path));
            }
        }
        let code = ran.code();
        assert!([0, 1, 2].contains(&code), "{ran}");
        if code == 2 {
            assert!(files.is_empty(), "it failed and left {files:?}: {ran}");
            return None;
        }
        let printed = if files.is_empty() {
            ran.stdout
        } else {
            String::new()
        };
        Some((files, printed))
    }

    /// Exchanges the datasets at each request of an operation, for so many requests.
    #[track_caller]
    fn expect_old_or_new(&self, name: &str, arguments: &[&str], lengths: &[usize]) {
        let old = self.run(arguments, 0..0);
        let requests = self.server.asked().len();
        let new = self.run(arguments, 0..FOR_GOOD);
        assert!(
            old.is_some() && new.is_some() && old != new,
            "{name}: {old:?} {new:?}"
        );
        let mut counts = [0_usize; 3];
        for from in 0..=requests {
            for &length in lengths {
                let found = self.run(arguments, from..from.saturating_add(length));
                let is = if found.is_none() {
                    2
                } else if found == old {
                    0
                } else if found == new {
                    1
                } else {
                    panic!("{name}: a mixture after an exchange at {from} for {length}: {found:?}");
                };
                counts[is] += 1;
            }
        }
        let [old, new, errors] = counts;
        println!("| {name} | {requests} requests | {old} old | {new} new | {errors} errors |");
    }
}

#[test]
fn an_index_is_of_the_old_parts_or_the_new_ones_or_there_is_an_error() {
    let scene = Scene::new();
    let lengths = &[FOR_GOOD, 1, 3][..nightly_or(2, 3)];
    let parts = ["URL/part0.tacozip", "URL/part1.tacozip"];
    let join = |verb: &[&'static str], more: &[&'static str]| [verb, &parts[..], more].concat();
    for (name, arguments) in [
        ("tacocat", join(&["tacocat"], &["-o", "out"])),
        (
            "one file",
            join(&["tacocat"], &["-o", "out", "--single-file"]),
        ),
        ("tacollection", join(&["tacollection"], &["-o", "out.json"])),
        ("concat", join(&["concat"], &["-o", "out.tacozip"])),
    ] {
        scene.expect_old_or_new(name, &arguments, lengths);
    }
}

#[test]
fn what_is_made_of_a_remote_archive_is_of_one_version() {
    let scene = Scene::new();
    let lengths = &[FOR_GOOD, 1, 3][..nightly_or(2, 3)];
    let zip = "URL/part0.tacozip";
    for (name, arguments) in [
        ("convert a ZIP", vec!["convert", zip, "out"]),
        (
            "export of a ZIP",
            vec!["export", zip, "-o", "out.tacozip", "--limit", "3"],
        ),
        (
            "edit a copy of a ZIP",
            vec!["edit", zip, "--set", "id=other", "-o", "out"],
        ),
        ("repair a ZIP", vec!["repair", zip, "-o", "out"]),
        (
            "describe a ZIP",
            vec!["describe", zip, "--as", "croissant", "-o", "out.json"],
        ),
        (
            "hashes of a ZIP",
            vec!["extend", zip, "--with", "content_hash", "-o", "out"],
        ),
        (
            "query of a ZIP",
            vec!["query", zip, "--format", "csv", "--level", "0"],
        ),
        (
            "migrate a TORTILLA",
            vec![
                "migrate",
                "URL/old.tortilla",
                "-o",
                "out.tacozip",
                "--collection",
                "collection.json",
            ],
        ),
    ] {
        scene.expect_old_or_new(name, &arguments, lengths);
    }
}

#[test]
fn what_is_made_of_a_remote_index_or_folder_is_of_one_version() {
    let scene = Scene::new();
    let all = &[FOR_GOOD, 1, 3][..nightly_or(2, 3)];
    let hashes = [
        "extend",
        "URL/folder",
        "--with",
        "content_hash",
        "-o",
        "out",
    ];
    let describe = [
        "describe",
        "URL/folder",
        "--as",
        "croissant",
        "-o",
        "out.json",
    ];
    let operations: [(&str, &[&str], &[usize]); 6] = [
        ("convert an index", &["convert", "URL/.tacocat", "out"], all),
        (
            "convert an index of one file",
            &["convert", "URL/__TACOCAT__", "out"],
            all,
        ),
        (
            "export of an index",
            &["export", "URL/.tacocat", "-o", "out", "--limit", "9"],
            all,
        ),
        (
            "convert a FOLDER",
            &["convert", "URL/folder", "out.tacozip"],
            all,
        ),
        ("hashes of a FOLDER", &hashes, all),
        ("describe a FOLDER", &describe, all),
    ];
    for (name, arguments, lengths) in operations {
        scene.expect_old_or_new(name, arguments, lengths);
    }
}
