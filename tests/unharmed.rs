//! Existing files survive signals during a write, and outputs of the same name.

#![cfg(unix)]

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Workspace;

const SIZE: usize = 24 << 20;
const FILES: usize = 16;

/// A dataset of a few hundred MB, hard links of one file: large enough to be interrupted.
fn sources(workspace: &Workspace) {
    let folder = workspace.path("scenes");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("0.bin"), vec![7u8; SIZE]).expect("a file");
    for number in 1..FILES {
        fs::hard_link(folder.join("0.bin"), folder.join(format!("{number}.bin")))
            .expect("a second name");
    }
    workspace.write("collection.json", crate::support::COLLECTION);
}

fn partials(workspace: &Workspace) -> Vec<String> {
    let names = fs::read_dir(workspace.path("out"))
        .into_iter()
        .flatten()
        .flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_signal_ends_a_write_and_leaves_nothing() {
    let workspace = Workspace::new();
    sources(&workspace);
    fs::create_dir(workspace.path("out")).expect("a folder");
    let mut stopped = 0;
    for (signal, target, format) in [
        ("INT", "a.tacozip", "zip"),
        ("TERM", "b", "folder"),
        ("HUP", "c.tacozip", "zip"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command.args([
            "create",
            "scenes",
            "--collection",
            "collection.json",
            "--format",
            format,
            "-o",
        ]);
        command.arg(workspace.path("out").join(target));
        let mut child = workspace
            .house(&mut command)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        // While it is writing.
        let began = Instant::now();
        while partials(&workspace).is_empty() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(sent.success());
        let ended = child.wait().expect("ends");
        // It may have finished before the signal.
        if ended.success() {
            continue;
        }
        stopped += 1;
        assert_eq!(ended.code(), Some(130), "{signal}");
        assert_eq!(
            partials(&workspace),
            Vec::<String>::new(),
            "{signal} left something behind"
        );
    }
    assert!(stopped > 0, "no write was stopped");
}

/// Sources are never replaced, and existing files only on request.
#[test]
fn rows_and_samples_do_not_overwrite_without_request() {
    let workspace = Workspace::new();
    crate::support::flat_scenes(&workspace, 3);
    let dataset = workspace.path("flat.tacozip");
    let create = [
        "create",
        "scenes",
        "--collection",
        "collection.json",
        "-o",
        "flat.tacozip",
    ];
    workspace.studio(create).expect_code(0);
    let bytes = fs::read(&dataset).expect("the dataset");
    for (name, arguments) in [
        (
            "rows.csv",
            &["query", "flat.tacozip", "--limit", "1", "-o"][..],
        ),
        (
            "tile.tif",
            &["read", "flat.tacozip", "tile_0.tif", "--out"][..],
        ),
    ] {
        workspace.write(name, "precious");
        let with = |last: &[&str]| {
            arguments
                .iter()
                .chain(last)
                .map(|text| (*text).to_owned())
                .collect::<Vec<String>>()
        };
        let refused = workspace.studio(with(&[name])).expect_code(2);
        assert!(refused.stderr.contains("exists already"), "{refused}");
        assert_eq!(
            fs::read(workspace.path(name)).expect("still there"),
            b"precious"
        );
        workspace
            .studio(with(&[name, "--overwrite"]))
            .expect_code(0);
        assert_ne!(
            fs::read(workspace.path(name)).expect("replaced"),
            b"precious"
        );
        let own = if name == "rows.csv" {
            with(&["flat.tacozip", "--format", "csv", "--overwrite"])
        } else {
            with(&["flat.tacozip", "--overwrite"])
        };
        let refused = workspace.studio(own).expect_code(2);
        assert!(refused.stderr.contains("the output is the"), "{refused}");
        assert_eq!(fs::read(&dataset).expect("the dataset"), bytes);
    }
}
