//! Hostile input: links out of a dataset, pipes and devices as files, projects and scripts that
//! start programs, names that terminals or other systems interpret. None of it has the intended
//! effect.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use taco_studio::container::{OpenOptions, open};
use taco_studio::draft::Content;
use taco_studio::jobs::{JobContext, Jobs};
use taco_studio::model::{Dataset, Rule, Sample, Tortilla};
use taco_studio::studio::{Command, Event, Project, Studio, save_project};
use taco_studio::validate::{self, CheckOptions};

use crate::support::{COLLECTION, Workspace, files_below, nested_scenes};

const SECRET: &str = "-----BEGIN PRIVATE KEY----- not for you";

/// A FOLDER of nested scenes, `set`, with a private key beside it.
fn workspace() -> (Workspace, PathBuf) {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "set",
            "--collection",
            "collection.json",
            "--metadata",
            "metadata.csv",
        ])
        .expect_code(0);
    let secret = workspace.write("private/key", SECRET);
    (workspace, secret)
}

/// Replaces a file by a symbolic link to `target`.
fn replace(path: &Path, target: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).expect("removes");
    } else {
        std::fs::remove_file(path).expect("removes");
    }
    symlink(target, path).expect("links");
}

fn holds_secret(path: &Path) -> bool {
    let has = |path: &Path| {
        let bytes = std::fs::read(path).expect("reads");
        bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes())
    };
    if path.is_dir() {
        files_below(path).iter().any(|name| has(&path.join(name)))
    } else {
        path.exists() && has(path)
    }
}

#[test]
fn a_label_that_is_a_link_to_a_secret_file_is_never_packed_nor_shown() {
    let (workspace, secret) = workspace();
    replace(&workspace.path("set/DATA/scene_9/after.tif"), &secret);
    for target in ["out.tacozip", "out"] {
        let ran = workspace.studio(["convert", "set", target]).expect_code(2);
        assert!(
            ran.stderr.contains("leads out of the dataset") && ran.stderr.contains("scene_9"),
            "{ran}"
        );
        let ran = workspace
            .studio(["export", "set", "--ids", "scene_9", "-o", target])
            .expect_code(2);
        assert!(ran.stderr.contains("scene_9"), "{ran}");
        let ran = workspace.studio(["extend", "set", "--with", "tacotiff", "-o", target]);
        assert!(
            ran.code() != 0 || !holds_secret(&workspace.path(target)),
            "{ran}"
        );
        assert!(
            !holds_secret(&workspace.path(target)),
            "{target} holds the key"
        );
    }
    let ran = workspace
        .studio(["read", "set", "scene_9/after.tif", "--out", "-"])
        .expect_code(2);
    assert!(!ran.stdout.contains("PRIVATE"), "{ran}");
    workspace
        .studio(["read", "set", "scene_9/after.tif", "--out", "copy"])
        .expect_code(2);
    assert!(!workspace.path("copy").exists());
    // The preview reads the reader's asset.
    let reader = open(&workspace.path("set"), &JobContext::default()).expect("opens");
    let tree = reader
        .levels()
        .skeleton(&JobContext::default())
        .expect("a tree");
    let (level, row) = tree
        .find(&taco_studio::model::SamplePath::parse("scene_9/after.tif"))
        .expect("is there");
    let error = reader.asset(level, row).expect_err("is refused").report();
    assert!(error.contains("leads out of the dataset"), "{error}");
    let report = validate::path_with(
        &workspace.path("set"),
        &OpenOptions::default(),
        &CheckOptions::default(),
        &JobContext::default(),
    )
    .expect("a report");
    assert!(report.has(Rule::FolderLink) && !report.is_valid());
}

#[test]
fn links_of_folders_and_tables_that_lead_out_are_refused_and_links_within_are_followed() {
    let (workspace, secret) = workspace();
    // Links inside the dataset: a file of another scene, a whole scene, and the dataset itself
    // behind a link.
    replace(
        &workspace.path("set/DATA/scene_9/after.tif"),
        Path::new("before.tif"),
    );
    std::fs::rename(
        workspace.path("set/DATA/scene_10"),
        workspace.path("set/DATA/kept"),
    )
    .expect("moves");
    symlink("kept", workspace.path("set/DATA/scene_10")).expect("links");
    symlink(workspace.path("set"), workspace.path("named")).expect("links");
    workspace
        .studio(["convert", "named", "within.tacozip"])
        .expect_code(0);
    workspace
        .studio(["validate", "within.tacozip", "--deep"])
        .expect_code(0);
    // Links to outside: via a parent folder, and via another link.
    std::fs::rename(
        workspace.path("set/DATA/kept"),
        workspace.path("private/scene"),
    )
    .expect("moves");
    symlink(
        workspace.path("private/scene"),
        workspace.path("set/DATA/kept"),
    )
    .expect("links");
    let ran = workspace
        .studio(["convert", "set", "out.tacozip"])
        .expect_code(2);
    assert!(ran.stderr.contains("leads out of the dataset"), "{ran}");
    let ran = workspace.studio(["validate", "set"]).expect_code(1);
    assert!(ran.stdout.contains("DIR-4"), "{ran}");
    std::fs::remove_file(workspace.path("set/COLLECTION.json")).expect("removes");
    symlink(&secret, workspace.path("set/COLLECTION.json")).expect("links");
    let ran = workspace.studio(["inspect", "set", "--json"]);
    assert!(
        !ran.stdout.contains("PRIVATE") && !ran.stderr.contains("BEGIN"),
        "{ran}"
    );
    replace(&workspace.path("set/METADATA/level1.parquet"), &secret);
    let ran = workspace.studio(["inspect", "set"]).expect_code(2);
    assert!(ran.stderr.contains("leads out of the dataset"), "{ran}");
}

#[test]
fn a_part_that_is_a_link_out_of_the_folder_of_the_parts_is_not_opened() {
    let (workspace, _) = workspace();
    std::fs::create_dir_all(workspace.path("index")).expect("a folder");
    workspace
        .studio(["convert", "set", "index/part.tacozip"])
        .expect_code(0);
    workspace
        .studio(["tacocat", "index/part.tacozip", "-o", "index"])
        .expect_code(0);
    workspace
        .studio(["validate", "index/.tacocat"])
        .expect_code(0);
    std::fs::rename(
        workspace.path("index/part.tacozip"),
        workspace.path("private/part.tacozip"),
    )
    .expect("moves");
    symlink(
        workspace.path("private/part.tacozip"),
        workspace.path("index/part.tacozip"),
    )
    .expect("links");
    let ran = workspace
        .studio(["validate", "index/.tacocat"])
        .expect_code(1);
    assert!(ran.stdout.contains("DIR-4"), "{ran}");
    let ran = workspace
        .studio(["convert", "index/.tacocat", "out.tacozip"])
        .expect_code(2);
    assert!(ran.stderr.contains("leads out of the dataset"), "{ran}");
}

#[test]
fn links_out_of_a_source_folder_are_followed_and_counted() {
    let (workspace, _) = workspace();
    let elsewhere = workspace.write(
        "elsewhere/after.tif",
        std::fs::read(workspace.path("scenes/scene_9/after.tif")).expect("reads"),
    );
    replace(&workspace.path("scenes/scene_9/after.tif"), &elsewhere);
    let args = [
        "create",
        "scenes",
        "-o",
        "new.tacozip",
        "--collection",
        "collection.json",
    ];
    let ran = workspace.studio(args).expect_code(0);
    assert!(
        ran.stderr.contains("1 link leads out of scenes")
            && ran.stderr.contains("scene_9/after.tif"),
        "{ran}"
    );
}

/// Makes a named pipe by the system's program: rustix makes none on macOS.
fn make_pipe(path: &Path) {
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo runs")
            .success()
    );
}

#[test]
fn pipes_and_devices_are_named_at_once_by_every_verb() {
    let (workspace, _) = workspace();
    workspace
        .studio(["convert", "set", "set.tacozip"])
        .expect_code(0);
    let pipe = workspace.path("pipe.tacozip");
    make_pipe(&pipe);
    let pipe = "pipe.tacozip";
    let runs: &[&[&str]] = &[
        &["inspect", pipe],
        &["validate", pipe],
        &["validate", pipe, "--tog"],
        &["fields", pipe],
        &["read", pipe],
        &["convert", pipe, "x.tacozip"],
        &["export", pipe, "-o", "x.tacozip", "--limit", "1"],
        &["query", pipe],
        &["stats", pipe],
        &["describe", pipe, "--as", "markdown", "-o", "x.md"],
        &["extend", pipe, "--with", "tacotiff", "-o", "x.tacozip"],
        &["extend", "set.tacozip", "--calls", pipe, "-o", "x.tacozip"],
        &["concat", pipe, "set.tacozip", "-o", "x.tacozip"],
        &["migrate", pipe, "-o", "x.tacozip"],
        &["optimise", pipe, "-o", "x.tif"],
        &["tacollection", pipe, "-o", "x.json"],
        &["migrate", "set.tacozip", "-o", "x", "--mapping", pipe],
        &["histograms", pipe, "-o", "x.tortilla"],
        &["percentiles", pipe],
        &["repair", pipe, "-o", "x.tacozip"],
        &["compile", pipe, "-o", "x.tortilla"],
        &["edit", pipe, "-o", "x.tortilla"],
        &["leakage", pipe],
        &["tacocat", pipe, "-o", "."],
        &["build", pipe, "-o", "x.tacozip"],
        &["replay", pipe],
        &["create", "scenes", "-o", "x.tacozip", "--collection", pipe],
        &[
            "create",
            "scenes",
            "-o",
            "x.tacozip",
            "--collection",
            "collection.json",
            "--metadata",
            pipe,
        ],
        &[
            "create",
            pipe,
            "-o",
            "x.tacozip",
            "--collection",
            "collection.json",
        ],
    ];
    for run in runs {
        let began = Instant::now();
        let ran = workspace.studio(run.iter().copied());
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{run:?} waited: {ran}"
        );
        assert!(ran.code() == 2, "{run:?}: {ran}");
        assert!(ran.stderr.contains("pipe"), "{run:?}: {ran}");
    }
    let ran = workspace.studio(["inspect", "/dev/zero"]).expect_code(2);
    assert!(ran.stderr.contains("device"), "{ran}");
    // As a member of a FOLDER.
    let member = workspace.path("set/DATA/scene_9/after.tif");
    std::fs::remove_file(&member).expect("removes");
    make_pipe(&member);
    let ran = workspace
        .studio(["convert", "set", "x.tacozip"])
        .expect_code(2);
    assert!(ran.stderr.contains("named pipe"), "{ran}");
    let ran = workspace
        .studio(["validate", "set", "--deep"])
        .expect_code(1);
    assert!(ran.stdout.contains("named pipe"), "{ran}");
}

/// A project whose recipe writes a file, and the calls of that recipe.
fn project_with_program(workspace: &Workspace) -> PathBuf {
    let calls = calls(&workspace.path("started"));
    let mut studio = Studio::new(Jobs::quiet());
    let mut run = |command| studio.run_to_end(command, &mut |_| {}).expect("works");
    run(Command::Import {
        paths: vec![workspace.path("scenes")],
        into: Default::default(),
        metadata: None,
    });
    run(Command::ImportCollection {
        path: workspace.path("collection.json"),
    });
    run(Command::SetRecipe {
        recipe: serde_json::from_value(calls).expect("calls"),
    });
    let project = workspace.path("theirs.tacostudio");
    run(Command::SaveProject {
        path: Some(project.clone()),
        view: None,
        overwrite: None,
    });
    project
}

fn calls(started: &Path) -> serde_json::Value {
    let program = format!(
        "touch '{}'; while read -r line; do echo '{{\"own:n\": 1}}'; done",
        started.display()
    );
    json!([{ "extension": "command", "target": { "level": 1 },
        "options": { "command": ["sh", "-c", program], "fields": { "own:n": "int64" },
            "batch": 100 } }])
}

#[test]
fn a_project_builds_without_starting_a_program_that_was_not_allowed() {
    let (workspace, _) = workspace();
    let project = project_with_program(&workspace);
    let project = project.to_str().expect("text");
    let ran = workspace
        .studio(["build", project, "-o", "no.tacozip", "--recipe"])
        .expect_code(2);
    assert!(
        ran.stderr.contains("--allow-commands") && ran.stderr.contains("\"sh\" \"-c\" \"touch"),
        "{ran}"
    );
    assert!(!workspace.path("started").exists() && !workspace.path("no.tacozip").exists());
    workspace
        .studio(["build", project, "-o", "plain.tacozip"])
        .expect_code(0);
    assert!(!workspace.path("started").exists());
    workspace
        .studio([
            "build",
            project,
            "-o",
            "yes.tacozip",
            "--recipe",
            "--allow-commands",
        ])
        .expect_code(0);
    assert!(workspace.path("started").exists());
}

#[test]
fn a_script_starts_no_program_and_chooses_no_server_that_was_not_allowed() {
    let (workspace, _) = workspace();
    let project = project_with_program(&workspace);
    let open = json!({ "command": "open_project", "path": project });
    let scripts = [
        (
            "extend",
            json!([
                { "command": "import", "paths": ["scenes"] },
                { "command": "extend", "calls": calls(&workspace.path("started")) },
            ]),
        ),
        ("recipe", json!([open, { "command": "run_recipe" }])),
        (
            "both",
            json!([
                open,
                { "command": "set_recipe", "recipe": calls(&workspace.path("started")) },
                { "command": "run_recipe" },
            ]),
        ),
    ];
    for (name, script) in scripts {
        let file = workspace.write(&format!("{name}.json"), script.to_string());
        let file = file.to_str().expect("text");
        for mode in [&["replay", file][..], &["replay", file, "--headless"]] {
            let ran = workspace.studio(mode.iter().copied()).expect_code(2);
            assert!(
                ran.stderr.contains("--allow-commands") && ran.stderr.contains("touch"),
                "{ran}"
            );
            assert!(!workspace.path("started").exists(), "{name}");
        }
        workspace
            .studio(["replay", file, "--allow-commands"])
            .expect_code(0);
        assert!(workspace.path("started").exists(), "{name}");
        std::fs::remove_file(workspace.path("started")).expect("removes");
    }
    // So do engines of plans: the program of the workers, Python and its scheduler, and Slurm.
    workspace.write("files/a.txt", "a");
    workspace.write("collection.json", COLLECTION);
    workspace
        .studio([
            "plan",
            "files",
            "-o",
            "plan",
            "--parts",
            "1",
            "--collection",
            "collection.json",
        ])
        .expect_code(0);
    let program = workspace.write("started.sh", "#!/bin/sh\ntouch started\n");
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("permissions");
    let program = program.to_str().expect("text");
    let engines = [
        json!({ "engine": { "name": "local", "workers": 1 }, "program": program }),
        json!({
            "engine": { "name": "dask", "python": program, "scheduler": "tcp://127.0.0.1:9" },
        }),
        json!({ "engine": { "name": "slurm", "more": [format!("--wrap={program}")] } }),
    ];
    for engine in engines {
        let mut line =
            json!({ "command": "submit_plan", "folder": workspace.path("plan"), "tries": 1 });
        line.as_object_mut()
            .expect("an object")
            .extend(engine.as_object().expect("an object").clone());
        let file = workspace.write("submit.json", json!([line]).to_string());
        for mode in [
            &["replay", file.to_str().expect("text")][..],
            &["replay", file.to_str().expect("text"), "--headless"],
        ] {
            let ran = workspace.studio(mode.iter().copied()).expect_code(2);
            assert!(ran.stderr.contains("--allow-commands"), "{ran}");
            assert!(!workspace.path("started").exists(), "{line}");
        }
    }
    // Nor does it send anything to another machine.
    let targets = [
        json!({
            "command": "write",
            "options": { "target": "s3://bucket/set.tacozip", "format": "zip" },
        }),
        json!({
            "command": "convert",
            "input": "set",
            "options": { "target": "az://account/container/set", "format": "folder" },
        }),
    ];
    for line in targets {
        let file = workspace.write("send.json", json!([line]).to_string());
        let ran = workspace
            .studio(["replay", file.to_str().expect("text")])
            .expect_code(2);
        assert!(ran.stderr.contains("--allow-connect"), "{ran}");
    }
    // A file with calls is untrusted too; command-line arguments are the user's.
    let file = workspace.write("calls.json", calls(&workspace.path("started")).to_string());
    let args = ["extend", "set", "-o", "ext.tacozip", "--calls"];
    workspace
        .studio(args.into_iter().chain([file.to_str().expect("text")]))
        .expect_code(2);
    assert!(!workspace.path("started").exists());
    workspace
        .studio(
            args.into_iter()
                .chain([calls(&workspace.path("started")).to_string().as_str()]),
        )
        .expect_code(0);
    assert!(workspace.path("started").exists());

    let script = json!([{ "command": "connect", "access": { "endpoint": "http://127.0.0.1:9" } }]);
    let file = workspace.write("connect.json", script.to_string());
    let file = file.to_str().expect("text");
    for mode in [&["replay", file][..], &["replay", file, "--headless"]] {
        let ran = workspace.studio(mode.iter().copied()).expect_code(2);
        assert!(ran.stderr.contains("--allow-connect"), "{ran}");
    }
    workspace
        .studio(["replay", file, "--allow-connect"])
        .expect_code(0);
    let script = workspace.write(
        "picture.json",
        json!([{ "step": "screenshot", "name": "../escaped" }]).to_string(),
    );
    workspace
        .studio([
            "replay",
            script.to_str().expect("text"),
            "--headless",
            "--screenshots",
            "pictures",
        ])
        .expect_code(2);
}

#[test]
fn a_project_with_files_on_another_server_is_shown_only_after_a_question() {
    let workspace = Workspace::new();
    let mut studio = Studio::new(Jobs::quiet());
    let sample = |id: &str, place: &str| Sample::new_file(id, place, 3);
    let samples = vec![
        sample("a", "https://Elsewhere.invalid/a.tif"),
        sample("b", "https://elsewhere.invalid/b.tif"),
    ];
    let project = workspace.path("theirs.tacostudio");
    let dataset = Dataset {
        root: Tortilla::new(samples).into(),
        ..Dataset::default()
    };
    let content = Content {
        dataset,
        ..Content::default()
    };
    save_project(
        &project,
        &Project {
            content,
            ..Project::default()
        },
        &JobContext::default(),
    )
    .expect("saves");
    studio.set_asks_for_servers(true);
    let mut open = || {
        studio
            .run_to_end(
                Command::OpenProject {
                    path: project.clone(),
                },
                &mut |_| {},
            )
            .expect("opens")
    };
    let Event::ProjectAsks { servers, .. } = open() else {
        panic!("nobody was asked")
    };
    assert_eq!(
        servers
            .iter()
            .map(|server| (&*server.host, server.files))
            .collect::<Vec<_>>(),
        [("https://elsewhere.invalid", 2)]
    );
    taco_studio::consent::allow_server("https://elsewhere.invalid");
    assert!(matches!(open(), Event::DocumentChanged));
}

#[test]
fn forgetting_removes_drafts_of_autosave_and_nothing_else() {
    let workspace = Workspace::new();
    let precious = workspace.write("thesis.txt", "years of work");
    let journal = workspace.write("elsewhere/draft-1.journal", "{}");
    let kept = workspace.write("autosave/notes.journal", "mine");
    symlink(&precious, workspace.path("autosave/draft-2.journal")).expect("links");
    for path in [
        &*precious,
        &*journal,
        &*kept,
        &*workspace.path("autosave/../thesis.txt"),
        &*workspace.path("autosave/draft-2.journal"),
    ] {
        let script = workspace.write(
            "forget.json",
            json!([{ "command": "forget", "path": path }]).to_string(),
        );
        let args = [
            "replay",
            script.to_str().expect("text"),
            "--autosave",
            "autosave",
        ];
        let ran = workspace.studio(args).expect_code(2);
        assert!(ran.stderr.contains("autosave"), "{ran}");
        workspace.studio(args[..2].iter().copied()).expect_code(2);
    }
    for path in [precious, journal, kept] {
        assert!(path.exists(), "{} is gone", path.display());
    }
    workspace.write("autosave/draft-3.journal", "{}");
    let script = workspace.write(
        "forget.json",
        json!([{ "command": "forget", "path": "draft-3.journal" }]).to_string(),
    );
    workspace
        .studio([
            "replay",
            script.to_str().expect("text"),
            "--autosave",
            "autosave",
        ])
        .expect_code(0);
    assert!(!workspace.path("autosave/draft-3.journal").exists());
}

#[test]
fn control_characters_are_escaped_in_all_output() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let hostile = "\u{1b}[2J\u{9b}31m\u{202e}gnp.\r\u{7}title\nerror: forged";
    let mut collection: serde_json::Value = serde_json::from_str(COLLECTION).expect("JSON");
    collection["title"] = json!(hostile);
    collection["description"] = json!(hostile);
    workspace.write("collection.json", collection.to_string());
    let metadata = "path,note\nscene_9,\"\u{1b}]0;owned\u{7}\u{202e}x\"\nscene_10,b\nscene_8,c\n";
    workspace.write("notes.csv", metadata);
    workspace
        .studio([
            "create",
            "scenes",
            "-o",
            "set.tacozip",
            "--collection",
            "collection.json",
            "--metadata",
            "notes.csv",
        ])
        .expect_code(0);
    let name = "a\u{1b}[31m\u{202e}.tacozip";
    std::fs::copy(workspace.path("set.tacozip"), workspace.path(name)).expect("copies");
    let runs: &[&[&str]] = &[
        &["inspect", name],
        &["inspect", name, "--json"],
        &["validate", name],
        &["fields", name],
        &["read", name],
        &["query", name],
        &["query", name, "--json"],
        &["query", name, "--sql", "SELECT \u{1b}[2J FROM data"],
        &["read", name, "no\u{1b}[2Jsuch\u{202e}"],
        &["inspect", "gone\u{1b}[2J\nerror: forged"],
        &["-vv", "inspect", name],
    ];
    for run in runs {
        let ran = workspace.studio(run.iter().copied());
        for text in [&ran.stdout, &ran.stderr] {
            // A query's rows as JSON are data: without a terminal they are printed unescaped.
            let data = run.contains(&"query") && run.contains(&"--json");
            let bad =
                |c: char| (c.is_control() && c != '\n' && c != '\t') || (c == '\u{202e}' && !data);
            assert!(
                !text.contains(bad),
                "{run:?}: {:?}",
                text.chars().filter(|c| bad(*c)).collect::<String>()
            );
            assert!(
                !text.lines().any(|line| line.starts_with("error: forged")),
                "{run:?}: {ran}"
            );
        }
    }
    let ran = workspace.studio(["inspect", name, "--json"]).expect_code(0);
    let read: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON still");
    assert_eq!(
        read["collection"]["title"],
        json!(hostile),
        "and the same text"
    );
}

#[test]
fn names_that_are_not_portable_are_not_written_as_files() {
    for (name, other) in [("CON", "b"), ("x.", "b"), ("what?", "b"), ("Same", "same")] {
        let workspace = Workspace::new();
        nested_scenes(&workspace, 3);
        std::fs::rename(
            workspace.path("scenes/scene_9"),
            workspace.path(&format!("scenes/{name}")),
        )
        .expect("renames");
        std::fs::rename(
            workspace.path("scenes/scene_10"),
            workspace.path(&format!("scenes/{other}")),
        )
        .expect("renames");
        let create = |target: &str| {
            workspace.studio([
                "create",
                "scenes",
                "-o",
                target,
                "--collection",
                "collection.json",
            ])
        };
        create("set.tacozip").expect_code(0);
        let ran = workspace.studio(["validate", "set.tacozip"]).expect_code(0);
        assert!(ran.stdout.contains("ID-5"), "{name}: {ran}");
        for ran in [
            create("set"),
            workspace.studio(["convert", "set.tacozip", "folder"]),
        ] {
            // Official datasets contain FOLDERs called aux: except on Windows they are written,
            // with a warning.
            let device = name == "CON";
            assert_eq!(ran.code(), if device { 0 } else { 2 }, "{name}: {ran}");
            assert!(
                device || ran.stderr.contains("not every system"),
                "{name}: {ran}"
            );
        }
        if name != "CON" {
            assert!(!workspace.path("set").exists() && !workspace.path("folder").exists());
        }
    }
}
