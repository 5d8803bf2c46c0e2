//! Scripts run by the program: `tests/replays/*.json` contain commands and expected results. Each
//! runs next to newly created scenes, in its own folder. New files are picked up automatically.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use taco_studio::jobs::Jobs;
use taco_studio::ops::AnyOperation;
use taco_studio::studio::{self as core, Studio};

use crate::interop::expect_ok;
use crate::support::{
    Workspace, copy_script, core_fields_of_taco_0_2, entries, files_below, nested_scenes,
    nightly_or, tests_folder,
};

#[test]
fn every_script_gives_the_expected_results() {
    let mut files = entries(&tests_folder().join("replays"));
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(files.len() >= 4, "only {files:?}");
    for file in files {
        let workspace = Workspace::new();
        nested_scenes(&workspace, 3);
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&file).expect("a command file");
        let commands: Vec<serde_json::Value> =
            serde_json::from_str(&text).expect("a list of commands");
        // In a subfolder: paths are relative to the script, not to the working directory.
        let scenes = workspace.path("scenes");
        let place = workspace.path("work");
        fs::create_dir(&place).expect("a folder");
        for name in ["scenes", "metadata.csv", "collection.json"] {
            fs::rename(workspace.path(name), place.join(name)).expect("moved");
        }
        assert!(!scenes.exists());
        fs::copy(&file, place.join(&name)).expect("a copy");
        let before = files_below(&place.join("scenes"));
        let ran = workspace
            .studio(["replay".as_ref(), place.join(&name).as_os_str()])
            .expect_code(0);
        assert!(
            ran.stdout
                .contains(&format!("{} commands did what they should", commands.len())),
            "{name}: {ran}"
        );
        assert_eq!(
            files_below(&place.join("scenes")),
            before,
            "{name}: the sources changed"
        );
        let left = files_below(&place);
        let left: Vec<_> = left
            .iter()
            .filter(|path| path.contains(".partial") || path.contains(".old"))
            .collect();
        assert!(left.is_empty(), "{name} left {left:?} behind");
        for refused in ["none.tacozip", "early.tacozip", "bad.tacozip"] {
            assert!(
                !place.join(refused).exists(),
                "{name}: {refused} was written"
            );
        }
    }
}

#[test]
fn the_formats_name_every_operation() {
    let formats = fs::read_to_string(tests_folder().with_file_name("docs").join("FORMATS.md"))
        .expect("the formats");
    let unnamed: Vec<_> = AnyOperation::NAMES
        .iter()
        .filter(|name| !formats.contains(&format!("`{name}`")))
        .collect();
    assert!(unnamed.is_empty(), "docs/FORMATS.md lacks {unnamed:?}");
}

/// Six scenes for `tests/scripts/build.json`: one file missing, one in another folder, one
/// misnamed.
pub fn faulty_scenes(workspace: &Workspace) -> std::path::PathBuf {
    nested_scenes(workspace, 6);
    let place = workspace.path("work");
    fs::create_dir(&place).expect("a folder");
    fs::rename(workspace.path("scenes"), place.join("scenes")).expect("moved");
    fs::create_dir(place.join("late")).expect("a folder");
    fs::remove_file(place.join("scenes/scene_9/after.tif")).expect("lost");
    fs::rename(
        place.join("scenes/scene_11/before.tif"),
        place.join("late/scene_11_before.tif"),
    )
    .expect("moved");
    fs::rename(
        place.join("scenes/scene_12/label.tif"),
        place.join("scenes/scene_12/label_v2.tif"),
    )
    .expect("renamed");
    let script = place.join("build.json");
    copy_script("build.json", &script);
    script
}

#[test]
fn the_application_builds_a_dataset_from_end_to_end() {
    let workspace = Workspace::new();
    let script = faulty_scenes(&workspace);
    let pictures = workspace.path("pictures");
    let shots = std::env::var_os("TACO_STUDIO_SHEETS")
        .map(|folder| std::path::PathBuf::from(folder).join("script"));
    let mut arguments = vec![
        "replay".into(),
        script.clone().into_os_string(),
        "--headless".into(),
    ];
    arguments.extend([
        "--autosave".into(),
        workspace.path("autosave").into_os_string(),
    ]);
    if let Some(shots) = &shots {
        arguments.extend(["--screenshots".into(), shots.clone().into_os_string()]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
    assert!(!pictures.exists(), "without a folder nothing is painted");
    let out = workspace.path("work/out");
    let written = files_below(&out);
    assert!(
        written
            .iter()
            .filter(|name| name.ends_with(".tacozip"))
            .count()
            > 1,
        "{written:?}"
    );
    assert!(
        written.iter().all(|name| !name.contains(".partial")),
        "{written:?}"
    );
    let report = workspace
        .studio([
            "validate".as_ref(),
            out.join(".tacocat").as_os_str(),
            "--json".as_ref(),
        ])
        .expect_code(0)
        .json();
    assert_eq!(report["valid"], true, "{report}");
    expect_ok(workspace.python("check_index.py", [out.join(".tacocat").as_os_str()]));
}

#[test]
fn saved_bytes_equal_the_sample() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let file = workspace.path("build.json");
    fs::copy(tests_folder().join("replays/build.json"), &file).expect("a copy");
    workspace
        .studio(["replay".as_ref(), file.as_os_str()])
        .expect_code(0);
    let read = |path: &str| fs::read(workspace.path(path)).expect("a file");
    assert_eq!(read("out/after.tif"), read("scenes/scene_10/after.tif"));
}

#[test]
fn an_expectation_that_does_not_hold_fails_with_its_line() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let cases = [
        (
            "[{\"command\": \"new\"},\n\n {\"command\": \"new\", \"expect\": {\"rows\": [4]}}]",
            "line 3 (item 2)",
            "rows",
        ),
        (
            r#"[{"command": "new", "expect": {"error": "trouble"}}]"#,
            "line 1",
            "it worked",
        ),
        (r#"[{"command": "undo"}]"#, "line 1", "no draft is open"),
        (
            r#"[{"command": "undo", "expect": {"error": "something else"}}]"#,
            "line 1",
            "something else",
        ),
        (
            r#"[{"command": "new"}, {"command": "validate", "expect": {"rules": []}}]"#,
            "line 1 (item 2)",
            "COL-2",
        ),
        (
            r#"[{"command": "new", "expect": {"collection": {"id": "x"}}}]"#,
            "line 1",
            "id",
        ),
        (
            r#"[{"command": "new", "expect": {"result": []}}]"#,
            "line 1",
            "no rows",
        ),
        (r#"[{"command": "dance"}]"#, "commands.json", "dance"),
        (
            r#"[{"command": "new", "expect": {"row": [1]}}]"#,
            "commands.json",
            "row",
        ),
        ("{", "commands.json", "not a list of commands"),
    ];
    for (commands, place, says) in cases {
        let file = workspace.write("commands.json", commands);
        let ran = workspace
            .studio(["replay".as_ref(), file.as_os_str()])
            .expect_code(2);
        assert!(
            ran.stderr.contains(place) && ran.stderr.contains(says),
            "{commands} gave {ran}"
        );
    }
}

#[test]
fn every_panel_comes_in_both_themes() {
    let workspace = Workspace::new();
    let script = workspace.path("explore.json");
    copy_script("explore.json", &script);
    let dataset = tests_folder().join("fixtures/golden/05_nested3_zip/stack.tacozip");
    fs::copy(dataset, workspace.path("stack.tacozip")).expect("a copy");
    let mut arguments = vec![
        "replay".into(),
        script.into_os_string(),
        "--headless".into(),
    ];
    if let Some(shots) = std::env::var_os("TACO_STUDIO_SHEETS") {
        arguments.extend([
            "--screenshots".into(),
            std::path::PathBuf::from(shots)
                .join("panels")
                .into_os_string(),
        ]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
}

/// A script for the window that uses each tool, twice: in both themes and in a large and a small
/// window.
#[test]
fn every_tool_writes_its_file_by_script() {
    let workspace = Workspace::new();
    let script = workspace.path("tools.json");
    copy_script("tools.json", &script);
    fs::copy(
        tests_folder().join("fixtures/golden/05_nested3_zip/stack.tacozip"),
        workspace.path("stack.tacozip"),
    )
    .expect("a copy");
    workspace.write("collection.json", core_fields_of_taco_0_2("A stack"));
    let mut arguments = vec![
        "replay".into(),
        script.into_os_string(),
        "--headless".into(),
    ];
    if let Some(shots) = std::env::var_os("TACO_STUDIO_SHEETS") {
        arguments.extend([
            "--screenshots".into(),
            std::path::PathBuf::from(shots)
                .join("tools")
                .into_os_string(),
        ]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
    for theme in ["dark", "light"] {
        let datasets = [
            "togs.tacozip",
            "counts.tortilla",
            "repaired.tacozip",
            "folder",
            "again.tacozip",
            "compiled.taco",
            "old.tortilla",
            "bare.tortilla",
            "draft.tortilla",
        ];
        let inspected = datasets.map(|made| {
            let path = workspace.path(&format!("{theme}-{made}"));
            workspace
                .studio(["inspect".as_ref(), path.as_os_str(), "--json".as_ref()])
                .expect_code(0)
                .stdout
        });
        // The titles say where metadata were edited in place; a TORTILLA with a collection is a
        // TACO.
        let titles = [
            (3, "Edited in the folder"),
            (4, "Edited in the ZIP"),
            (5, "A stack"),
            (6, "Edited in the TACO"),
        ];
        for (at, title) in titles {
            assert!(
                inspected[at].contains(title),
                "{theme}-{}: {}",
                datasets[at],
                inspected[at]
            );
        }
        assert!(!inspected[7].contains("A stack"), "{}", inspected[7]);
        assert!(workspace.path(&format!("{theme}-rasters")).is_dir());
        assert!(workspace.path(&format!("{theme}-index/.tacocat")).is_dir());
    }
}

/// Runs a script for the window in both themes, with pictures where they are asked for.
fn run_in_both_themes(workspace: &Workspace, name: &str) {
    let script = workspace.path(&format!("{name}.json"));
    copy_script(&format!("{name}.json"), &script);
    let mut arguments = vec![
        "replay".into(),
        script.into_os_string(),
        "--headless".into(),
    ];
    if let Some(shots) = std::env::var_os("TACO_STUDIO_SHEETS") {
        arguments.extend([
            "--screenshots".into(),
            std::path::PathBuf::from(shots).join(name).into_os_string(),
        ]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
}

#[test]
fn a_dataset_is_published_by_script_in_both_themes() {
    let workspace = Workspace::new();
    let golden = tests_folder().join("fixtures/golden/01_flat_zip/flat.tacozip");
    let private = workspace.path("private.tacozip");
    let source = "rai:source=copied from /home/u017/acquired";
    let arguments = [
        "edit".as_ref(),
        golden.as_os_str(),
        "-o".as_ref(),
        private.as_os_str(),
        "--set".as_ref(),
        source.as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    run_in_both_themes(&workspace, "publish");
    for theme in ["dark", "light"] {
        let public = workspace.path(&format!("public-{theme}/1.0.0"));
        for name in [
            "private.tacozip",
            "README.md",
            "croissant.json",
            "stac-collection.json",
        ] {
            assert!(public.join(name).is_file(), "{theme}: {name}");
        }
        assert_eq!(
            crate::support::sha256_of(&public.join("private.tacozip")),
            crate::support::sha256_of(&private)
        );
    }
}

#[test]
fn a_plan_is_written_and_built_by_script_in_both_themes() {
    let workspace = Workspace::new();
    fs::copy(
        tests_folder().join("fixtures/golden/05_nested3_zip/stack.tacozip"),
        workspace.path("stack.tacozip"),
    )
    .expect("a copy");
    run_in_both_themes(&workspace, "plan");
    let parts = |theme: &str| -> Vec<String> {
        let plan = workspace.path(&format!("plan-{theme}"));
        assert!(plan.join("finished.json").is_file(), "{theme}");
        let status = workspace
            .studio([
                "plan".as_ref(),
                "status".as_ref(),
                plan.as_os_str(),
                "--json".as_ref(),
            ])
            .expect_code(0)
            .json();
        let hashes = status["parts"]
            .as_array()
            .expect("parts")
            .iter()
            .map(|part| part["sha256"].to_string());
        hashes.collect()
    };
    let dark = parts("dark");
    assert!(dark.len() == 3 && dark == parts("light"), "{dark:?}");
}

/// What the application reported before it was killed: completed commands, and draft steps.
type Told = Arc<Mutex<(usize, usize)>>;

/// The application running the script of [`faulty_scenes`], reporting each command.
fn started(workspace: &Workspace) -> (Child, Told, JoinHandle<()>) {
    let script = faulty_scenes(workspace);
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command.args([
        "replay".as_ref(),
        script.as_os_str(),
        "--headless".as_ref(),
        "--tell".as_ref(),
        "--autosave".as_ref(),
    ]);
    command.arg(workspace.path("autosave"));
    workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let told = Told::default();
    let heard = told.clone();
    let listener = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let numbers = line
                .strip_prefix("line ")
                .and_then(|text| text.strip_suffix(" steps")?.split_once(": "));
            if let Some((line, steps)) = numbers {
                *heard.lock().expect("heard") = (
                    line.parse().expect("a number"),
                    steps.parse().expect("a number"),
                );
            }
        }
    });
    (child, told, listener)
}

#[test]
fn an_application_killed_at_any_moment_gives_its_draft_back() {
    let workspace = Workspace::new();
    let (mut child, told, listener) = started(&workspace);
    let began = Instant::now();
    assert!(child.wait().expect("ends").success(), "the script runs");
    listener.join().expect("listens");
    let whole = began.elapsed();
    let lines = told.lock().expect("told").0;
    // The last commands open the written datasets, without a draft.
    let reopening = lines - 5;
    let mut moments = BTreeSet::new();
    let (mut restored_drafts, mut outputs) = (0, 0);
    let rounds = nightly_or(8, 20) as u32;
    for round in 0..rounds {
        let workspace = Workspace::new();
        let (mut child, told, listener) = started(&workspace);
        // Spread over the run in a scattered order.
        std::thread::sleep(
            whole.mul_f64(f64::from(round * 13 % rounds) / f64::from(rounds) + 0.02),
        );
        let _ = child.kill();
        child.wait().expect("has ended");
        listener.join().expect("listens");
        let (done, steps) = *told.lock().expect("told");
        moments.insert(done);
        // Files with a final name are complete.
        let out = workspace.path("work/out");
        let written = if out.exists() {
            entries(&out)
        } else {
            Vec::new()
        };
        let hidden = |path: &&std::path::PathBuf| {
            [".partial", ".old"]
                .iter()
                .any(|end| path.to_string_lossy().ends_with(end))
        };
        for path in written.iter().filter(|path| !hidden(path)) {
            workspace
                .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
                .expect_code(0);
            outputs += 1;
        }
        let found = core::recoverable(&workspace.path("autosave"));
        if done >= reopening || (steps < 2 && found.is_empty()) {
            continue;
        }
        assert_eq!(
            found.len(),
            1,
            "round {round} after line {done}: {steps} steps"
        );
        let mut studio = Studio::new(Jobs::quiet());
        let restore = serde_json::from_value(
            serde_json::json!({"command": "restore", "path": found[0].journal}),
        );
        studio
            .run_to_end(restore.expect("a command"), &mut |_| {})
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        let kept = studio
            .document()
            .and_then(core::Document::draft)
            .expect("a draft")
            .steps();
        assert!(
            kept + 1 >= steps,
            "round {round} after line {done}: {steps} steps were done, {kept} are left"
        );
        restored_drafts += 1;
    }
    assert!(
        moments.len() > rounds as usize / 3 && restored_drafts > rounds / 3,
        "{moments:?}, {restored_drafts} drafts, {outputs} outputs"
    );
}
