//! Datasets planned in parts and built by several processes: the bytes are those of one process,
//! whatever the order, the number of workers and what befalls them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::support::{
    Ran, Server, Workspace, entries, files_below, fixtures, flat_scenes, nested_scenes, sha256_of,
};

fn golden(fixture: &str, name: &str) -> PathBuf {
    let mut folders = fixtures("golden", "TACO_STUDIO_GOLDEN").into_iter();
    folders
        .find(|folder| folder.ends_with(fixture))
        .unwrap_or_else(|| panic!("no {fixture}"))
        .join(name)
}

fn studio(workspace: &Workspace, words: &[&str]) -> Ran {
    workspace.studio(words)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("is Unicode")
}

/// SHA-256 of every file below a folder, by relative path.
fn hashes(folder: &Path) -> BTreeMap<String, String> {
    files_below(folder)
        .into_iter()
        .map(|name| (name.clone(), sha256_of(&folder.join(&name))))
        .collect()
}

fn plan_of(workspace: &Workspace, plan: &str) -> Json {
    serde_json::from_slice(&fs::read(workspace.path(plan).join("plan.json")).expect("a plan"))
        .expect("JSON")
}

fn parts_of(workspace: &Workspace, plan: &str) -> usize {
    plan_of(workspace, plan)["parts"]
        .as_array()
        .expect("a list")
        .len()
}

fn run(workspace: &Workspace, plan: &str, part: usize) -> Ran {
    studio(
        workspace,
        &["plan", "run", plan, "--part", &part.to_string(), "--json"],
    )
}

/// Runs the parts in this order, ends the plan, and compares every file with those of one process.
fn expect_same(workspace: &Workspace, plan: &str, order: &[usize], alone: &str, together: &str) {
    for &part in order {
        run(workspace, plan, part).expect_code(0);
    }
    let finished = studio(workspace, &["plan", "finish", plan, "--hashes", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        finished["parts"].as_array().map(Vec::len),
        Some(order.len())
    );
    let (one, many) = (
        hashes(&workspace.path(alone)),
        hashes(&workspace.path(together)),
    );
    assert!(one.len() > 1, "{one:?}");
    assert_eq!(one, many);
    let status = studio(workspace, &["plan", "status", plan, "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&status["done"], &status["failed"]),
        (&json!(order.len()), &json!(0))
    );
    assert_eq!(status["finished"]["indexes"], finished["indexes"]);
}

#[test]
fn a_dataset_is_split_by_a_plan_as_by_one_process() {
    let workspace = Workspace::new();
    let source = golden("04_nested2_folder", "change");
    let split = [
        "--split-size",
        "40KB",
        "--consolidate",
        "tacocat,single-file,tacollection",
        "--compression",
        "gzip",
    ];
    studio(
        &workspace,
        &[&["convert", text(&source), "one/c.tacozip"], &split[..]].concat(),
    )
    .expect_code(0);
    studio(
        &workspace,
        &[
            &[
                "plan",
                text(&source),
                "-o",
                "plan",
                "--dataset",
                "many/c.tacozip",
            ],
            &split[..],
        ]
        .concat(),
    )
    .expect_code(0);
    let count = parts_of(&workspace, "plan");
    assert!(count > 1);
    let order: Vec<usize> = (1..=count).rev().collect();
    expect_same(&workspace, "plan", &order, "one", "many");
    super::interop::expect_ok(workspace.python(
        "check_index.py",
        [workspace.path("many/.tacocat").as_os_str()],
    ));
    // The same draft gives the same plan.
    studio(
        &workspace,
        &[
            &[
                "plan",
                text(&source),
                "-o",
                "again",
                "--dataset",
                "many/c.tacozip",
                "--overwrite",
            ],
            &split[..],
        ]
        .concat(),
    )
    .expect_code(0);
    let (first, again) = (plan_of(&workspace, "plan"), plan_of(&workspace, "again"));
    for key in ["parts", "levels", "pit", "split"] {
        assert_eq!(first[key], again[key], "{key}");
    }
}

#[test]
fn a_folder_of_files_is_planned_by_groups_and_into_folders() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 5);
    let given = [
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
        "--group-by",
        "region",
    ];
    studio(
        &workspace,
        &[
            &[
                "create",
                "scenes",
                "-o",
                "one/s.tacozip",
                "--consolidate",
                "tacocat,tacollection",
            ],
            &given[..],
        ]
        .concat(),
    )
    .expect_code(0);
    // Both indexes are written when none is named.
    studio(
        &workspace,
        &[
            &[
                "plan",
                "scenes",
                "-o",
                "plan",
                "--dataset",
                "many/s.tacozip",
            ],
            &given[..],
        ]
        .concat(),
    )
    .expect_code(0);
    expect_same(&workspace, "plan", &[2, 1], "one", "many");
    studio(
        &workspace,
        &[
            &["create", "scenes", "-o", "dirs/s", "--format", "folder"],
            &given[..],
        ]
        .concat(),
    )
    .expect_code(0);
    studio(
        &workspace,
        &[
            &[
                "plan",
                "scenes",
                "-o",
                "p2",
                "--dataset",
                "dirs2/s",
                "--format",
                "folder",
            ],
            &given[..],
        ]
        .concat(),
    )
    .expect_code(0);
    expect_same(&workspace, "p2", &[1, 2], "dirs", "dirs2");
    // Without a name, the dataset is below the plan, and both can be moved together.
    studio(
        &workspace,
        &[&["plan", "scenes", "-o", "p3"], &given[..]].concat(),
    )
    .expect_code(0);
    assert_eq!(
        plan_of(&workspace, "p3")["dataset"],
        "dataset/scenes.tacozip"
    );
    fs::rename(workspace.path("p3"), workspace.path("moved")).expect("moved");
    run(&workspace, "moved", 1).expect_code(0);
    run(&workspace, "moved", 2).expect_code(0);
    studio(&workspace, &["plan", "finish", "moved"]).expect_code(0);
    studio(
        &workspace,
        &["validate", "moved/dataset/.tacocat", "--deep"],
    )
    .expect_code(0);
}

/// A project of flat scenes with this recipe; the scenes in `bad` contain no raster.
fn project(workspace: &Workspace, count: u8, bad: &[u8], recipe: Json) {
    flat_scenes(workspace, count);
    for scene in bad {
        workspace.write(&format!("scenes/tile_{scene}.tif"), "no raster at all");
    }
    let paths: Vec<String> = (0..count)
        .map(|scene| format!("scenes/tile_{scene}.tif"))
        .collect();
    let script = workspace.write(
        "script.json",
        json!([
            {"command": "import", "paths": paths, "metadata": "metadata.csv"},
            {"command": "import_collection", "path": "collection.json"},
            {"command": "set_recipe", "recipe": recipe},
            {"command": "save_project", "path": "scenes.tacostudio"},
        ])
        .to_string(),
    );
    studio(workspace, &["replay", text(&script)]).expect_code(0);
}

fn planned_and_alone(workspace: &Workspace, split: &[&str]) -> Json {
    let both = ["--recipe", "--consolidate", "tacocat,tacollection"];
    studio(
        workspace,
        &[
            &[
                "plan",
                "scenes.tacostudio",
                "-o",
                "plan",
                "--dataset",
                "many/s.tacozip",
            ],
            &both[..],
            split,
        ]
        .concat(),
    )
    .expect_code(0);
    studio(
        workspace,
        &[
            &["build", "scenes.tacostudio", "-o", "one/s.tacozip"],
            &both[..],
            split,
        ]
        .concat(),
    )
    .expect_code(0);
    plan_of(workspace, "plan")
}

#[test]
fn parts_run_the_extensions_of_their_samples_and_the_plan_those_of_all() {
    let workspace = Workspace::new();

    let recipe = json!([
        {"extension": "stac"}, {"extension": "stats"}, {"extension": "extent"}, {
            "extension": "content_hash",
        },
        {
            "extension": "split_assignment",
            "options": {"seed": 7, "ratios": {"train": 0.5, "test": 0.5}},
        },
        {
            "extension": "labels",
            "options": {"classes": [{"name": "a", "category": 0, "description": "A class."}]},
        },
    ]);

    project(&workspace, 6, &[], recipe);
    let plan = planned_and_alone(&workspace, &["--split-size", "7KB"]);
    let names: Vec<&str> = plan["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|call| call["extension"].as_str().expect("a name"))
        .collect();
    // The split and what its report reads were computed when the plan was made.
    assert_eq!(names, ["stats"]);
    let count = parts_of(&workspace, "plan");
    assert!(count > 2, "{plan}");
    let order: Vec<usize> = (2..=count).chain([1]).collect();
    expect_same(&workspace, "plan", &order, "one", "many");
}

#[test]
fn parts_without_places_get_the_extent_of_the_whole() {
    let workspace = Workspace::new();
    project(
        &workspace,
        4,
        &[1],
        json!([{"extension": "stac"}, {"extension": "extent"}]),
    );
    let plan = planned_and_alone(&workspace, &["--split-size", "1B"]);
    assert_eq!(plan["calls"].as_array().map(Vec::len), Some(1));
    let ran = run(&workspace, "plan", 2).expect_code(0);
    assert!(
        ran.stderr.contains("tile_1.tif"),
        "the sample without a raster is named: {ran}"
    );
    assert_eq!(ran.json()["result"]["failures"][0]["sample"], "tile_1.tif");
    expect_same(&workspace, "plan", &[1, 2, 3, 4], "one", "many");
    // Ending a plan again changes nothing, and writes no part again.
    let before = hashes(&workspace.path("many"));
    let again = studio(&workspace, &["plan", "finish", "plan", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (hashes(&workspace.path("many")), &again["rewritten"]),
        (before, &json!([]))
    );
}

#[test]
fn a_written_part_is_skipped_and_a_changed_one_written_again() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let plan = [
        "plan",
        "scenes",
        "-o",
        "plan",
        "--collection",
        "collection.json",
        "--parts",
        "3",
    ];
    studio(&workspace, &plan).expect_code(0);
    let part = |number: usize| run(&workspace, "plan", number).expect_code(0).json();
    let first = part(2);
    assert_eq!(first["skipped"], false);
    let file = workspace
        .path("plan/dataset")
        .join(first["result"]["name"].as_str().expect("a name"));
    let (hash, modified) = (
        sha256_of(&file),
        fs::metadata(&file)
            .and_then(|meta| meta.modified())
            .expect("a time"),
    );
    assert_eq!(first["result"]["sha256"], hash);
    assert_eq!(part(2)["skipped"], true);
    assert_eq!(
        fs::metadata(&file)
            .and_then(|meta| meta.modified())
            .expect("a time"),
        modified,
        "left as it is"
    );
    let mut bytes = fs::read(&file).expect("reads");
    bytes[300] ^= 1;
    fs::write(&file, &bytes).expect("writes");
    assert_eq!(
        part(2)["skipped"],
        false,
        "of the same length with another byte"
    );
    assert_eq!(sha256_of(&file), hash);
    fs::remove_file(&file).expect("removed");
    assert_eq!(
        (part(2)["skipped"].clone(), sha256_of(&file)),
        (json!(false), hash)
    );
    assert!(
        run(&workspace, "plan", 9)
            .expect_code(2)
            .stderr
            .contains("no part 9")
    );
    // A file that another program wrote under the name of a part stays.
    let other = workspace.path("plan/dataset/scenes_part0001.tacozip");
    fs::write(&other, "mine").expect("writes");
    assert!(
        run(&workspace, "plan", 1)
            .expect_code(2)
            .stderr
            .contains("after the plan was written")
    );
    assert_eq!(fs::read(&other).expect("reads"), b"mine");
    fs::remove_file(&other).expect("removed");
    // The folder of a plan is not written over, and a changed plan is refused.
    assert!(
        studio(&workspace, &plan)
            .expect_code(2)
            .stderr
            .contains("exists already")
    );
    let path = workspace.path("plan/plan.json");
    let changed =
        fs::read_to_string(&path)
            .expect("reads")
            .replacen("\"roots\": 1", "\"roots\": 2", 1);
    fs::write(&path, changed).expect("writes");
    assert!(
        run(&workspace, "plan", 1)
            .expect_code(2)
            .stderr
            .contains("was changed")
    );
}

#[test]
fn a_part_that_fails_is_named_with_its_sample_and_reason() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    studio(
        &workspace,
        &[
            "plan",
            "scenes",
            "-o",
            "plan",
            "--collection",
            "collection.json",
            "--parts",
            "3",
        ],
    )
    .expect_code(0);
    let (missing, kept) = (
        workspace.path("scenes/scene_8/label.tif"),
        workspace.path("kept.tif"),
    );
    fs::rename(&missing, &kept).expect("moved");
    let number = plan_of(&workspace, "plan")["parts"]
        .as_array()
        .expect("a list")
        .iter()
        .position(|part| part["first"] == "scene_8");
    let number = number.expect("is in a part") + 1;
    run(&workspace, "plan", number).expect_code(2);
    let others: Vec<usize> = (1..=3).filter(|part| *part != number).collect();
    others
        .iter()
        .for_each(|&part| drop(run(&workspace, "plan", part).expect_code(0)));
    let status = studio(&workspace, &["plan", "status", "plan", "--json"])
        .expect_code(1)
        .json();
    assert_eq!((&status["done"], &status["failed"]), (&json!(2), &json!(1)));
    let failed = &status["parts"][number - 1];
    assert_eq!(
        (
            &failed["state"],
            failed["attempts"].as_array().map(Vec::len)
        ),
        (&json!("failed"), Some(1))
    );
    assert!(
        failed["error"]["report"]
            .as_str()
            .is_some_and(|report| report.contains("label.tif")),
        "{failed}"
    );
    let shown = studio(&workspace, &["plan", "status", "plan"])
        .expect_code(1)
        .stdout;
    assert!(
        shown.contains(&format!("part {number} failed")) && shown.contains("label.tif"),
        "{shown}"
    );
    let ended = studio(&workspace, &["plan", "finish", "plan"])
        .expect_code(2)
        .stderr;
    assert!(
        ended.contains(&format!("1 of 3 parts are missing: {number}"))
            && ended.contains("label.tif"),
        "{ended}"
    );
    assert!(!workspace.path("plan/dataset/.tacocat").exists());
    // A source that changed is not taken for the one that was planned.
    fs::write(&missing, fs::read(&kept).expect("reads")).expect("writes");
    assert!(
        run(&workspace, "plan", number)
            .expect_code(2)
            .stderr
            .contains("changed")
    );
    fs::remove_file(&missing).expect("removed");
    fs::rename(&kept, &missing).expect("moved back");
    run(&workspace, "plan", number).expect_code(0);
    studio(&workspace, &["plan", "finish", "plan"]).expect_code(0);
    studio(&workspace, &["validate", "plan/dataset/.tacocat", "--deep"]).expect_code(0);
}

#[test]
fn a_killed_worker_leaves_nothing_and_another_builds_its_part_from_a_server() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 4);
    studio(
        &workspace,
        &[
            "create",
            "scenes",
            "-o",
            "served/s.tacozip",
            "--collection",
            "collection.json",
        ],
    )
    .expect_code(0);
    let server = Server::of(&workspace.path("served"));
    let source = server.url("s.tacozip");
    let split = ["--split-size", "1B", "--consolidate", "tacocat"];
    studio(
        &workspace,
        &[
            &["convert", "served/s.tacozip", "one/s.tacozip"],
            &split[..],
        ]
        .concat(),
    )
    .expect_code(0);
    studio(
        &workspace,
        &[
            &[
                "plan",
                source.as_str(),
                "-o",
                "plan",
                "--dataset",
                "many/s.tacozip",
            ],
            &split[..],
        ]
        .concat(),
    )
    .expect_code(0);
    server.slow(Duration::from_secs(20));
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command
        .args(["plan", "run", "plan", "--part", "3"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A cache of its own, so that the source has to be asked for.
    let mut child = workspace
        .house(&mut command)
        .env("XDG_CACHE_HOME", workspace.path("other"))
        .spawn()
        .expect("starts");
    let (attempts, started) = (workspace.path("plan/attempts"), Instant::now());
    let begun = || {
        attempts.is_dir()
            && entries(&attempts)
                .iter()
                .any(|path| path.extension().is_some_and(|end| end == "json"))
    };
    while !begun() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the worker never began"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = studio(&workspace, &["plan", "status", "plan", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&status["running"], &status["parts"][2]["state"]),
        (&json!(1), &json!("running"))
    );
    child.kill().expect("ends it");
    child.wait().expect("its state");
    assert!(!workspace.path("plan/results/part0003.json").exists());
    let left = if workspace.path("many").exists() {
        entries(&workspace.path("many"))
    } else {
        Vec::new()
    };
    assert!(
        left.iter()
            .all(|path| path.extension().is_some_and(|end| end == "partial")),
        "{left:?}"
    );
    let status = studio(&workspace, &["plan", "status", "plan", "--json"])
        .expect_code(1)
        .json();
    assert_eq!(status["parts"][2]["state"], "lost");
    server.slow(Duration::ZERO);
    expect_same(&workspace, "plan", &[3, 1, 4, 2], "one", "many");
    let status = studio(&workspace, &["plan", "status", "plan", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        status["parts"][2]["attempts"].as_array().map(Vec::len),
        Some(2),
        "the killed one is listed"
    );
}

/// A program that is run instead of the studio: part 2 fails in it twice, as `how` says.
#[cfg(unix)]
fn flaky(workspace: &Workspace, how: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let count = workspace.path("count");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *'plan run'*'--part 2')\n  n=$(cat '{0}' 2>/dev/null || echo \
            0)\n  if [ \"$n\" -lt 2 ]; then\n    \
         echo $((n + 1)) >'{0}'\n    {how}\n  fi ;;\nesac\nexec '{1}' \"$@\"\n",
        count.display(),
        env!("CARGO_BIN_EXE_taco-studio")
    );
    let path = workspace.write("flaky.sh", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Six scenes in six parts, planned and by one process.
#[cfg(unix)]
fn six(workspace: &Workspace) {
    flat_scenes(workspace, 6);
    let given = [
        "--collection",
        "collection.json",
        "--split-size",
        "1B",
        "--consolidate",
        "tacocat,tacollection",
    ];
    studio(
        workspace,
        &[&["create", "scenes", "-o", "one/s.tacozip"], &given[..]].concat(),
    )
    .expect_code(0);
    studio(
        workspace,
        &[
            &[
                "plan",
                "scenes",
                "-o",
                "plan",
                "--dataset",
                "many/s.tacozip",
            ],
            &given[..],
        ]
        .concat(),
    )
    .expect_code(0);
}

#[test]
#[cfg(unix)]
fn processes_here_build_what_is_missing_and_try_again_what_fails_or_is_killed() {
    let workspace = Workspace::new();
    six(&workspace);
    let program = flaky(&workspace, "echo 'no luck' >&2; exit 2");
    let submit = |tries: &str| {
        let words = [
            "plan",
            "submit",
            "plan",
            "--workers",
            "2",
            "--tries",
            tries,
            "--program",
            text(&program),
            "--json",
        ];
        studio(&workspace, &words)
    };
    let first = submit("1").expect_code(1);
    assert!(first.stderr.contains("part 2 failed"), "{first}");
    let told = first.json();
    assert_eq!(
        (&told["status"]["done"], &told["finished"]),
        (&json!(5), &Json::Null)
    );
    assert!(
        fs::read_to_string(workspace.path("plan/log/part0002.log"))
            .expect("a log")
            .contains("no luck")
    );
    let second = submit("3").expect_code(0).json();
    assert_eq!(
        (&second["parts"], &second["status"]["done"]),
        (&json!([2]), &json!(6)),
        "what is missing alone"
    );
    expect_same(&workspace, "plan", &[1, 2, 3, 4, 5, 6], "one", "many");
    assert_eq!(submit("1").expect_code(0).json()["parts"], json!([]));
    // Killed in the middle of its work, twice.
    let workspace = Workspace::new();
    six(&workspace);
    let program = flaky(&workspace, "kill -9 $$");
    let words = [
        "plan",
        "submit",
        "plan",
        "--workers",
        "2",
        "--program",
        text(&program),
        "--json",
    ];
    let told = studio(&workspace, &words).expect_code(0).json();
    assert_eq!(told["finished"]["roots"], 6);
    expect_same(&workspace, "plan", &[1, 2, 3, 4, 5, 6], "one", "many");
}

/// Ends a process that the test started when it is dropped.
#[cfg(unix)]
struct Ended(std::process::Child);

#[cfg(unix)]
impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line with `start` that a program prints to its standard error, from the word behind
/// it.
#[cfg(unix)]
fn told_address(path: &Path, start: &str) -> String {
    let began = Instant::now();
    loop {
        let said = fs::read_to_string(path).unwrap_or_default();
        if let Some(line) = said.lines().find_map(|line| line.split_once(start)) {
            return line
                .1
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned();
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "no {start:?} in: {said}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[cfg(unix)]
fn dask_builds_the_parts_although_its_workers_are_killed() {
    let workspace = Workspace::new();
    six(&workspace);
    let python = crate::support::engines_python();
    let start = |name: &str, words: &[&str]| {
        let log = fs::File::create(workspace.path(name)).expect("a log");
        let mut command = Command::new(&python);
        command.args(
            ["-m", "distributed.cli.dask_scheduler"]
                .iter()
                .filter(|_| name == "scheduler"),
        );
        command.args(
            ["-m", "distributed.cli.dask_worker"]
                .iter()
                .filter(|_| name != "scheduler"),
        );
        workspace
            .house(&mut command)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Ended(command.spawn().expect("starts"))
    };
    let _scheduler = start(
        "scheduler",
        &[
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--no-show",
        ],
    );
    let address = told_address(&workspace.path("scheduler"), "Scheduler at:");
    let mut workers: Vec<Ended> = (0..3)
        .map(|number| {
            start(
                &format!("worker{number}"),
                &[&address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
            )
        })
        .collect();
    // The first two that work on part 2 are killed with their task, by the program that they
    // started.
    let program = flaky(&workspace, "kill -9 $PPID; exit 2");
    let words = [
        "plan",
        "submit",
        "plan",
        "--engine",
        "dask",
        "--scheduler",
        &address,
        "--tries",
        "4",
        "--json",
    ];
    let more = ["--python", text(&python), "--program", text(&program)];
    let told = studio(&workspace, &[&words[..], &more[..]].concat())
        .expect_code(0)
        .json();
    assert_eq!(told["finished"]["roots"], 6);
    let gone = workers
        .iter_mut()
        .filter_map(|worker| worker.0.try_wait().expect("its state"))
        .count();
    assert_eq!(gone, 2, "two workers were killed");
    expect_same(&workspace, "plan", &[1, 2, 3, 4, 5, 6], "one", "many");
    let wrong = studio(
        &workspace,
        &[
            &[
                "plan",
                "submit",
                "plan",
                "--engine",
                "dask",
                "--scheduler",
                "x",
                "--python",
            ],
            &["/nowhere"][..],
        ]
        .concat(),
    );
    assert_eq!(
        wrong.code(),
        0,
        "nothing is missing, so nothing is asked of it"
    );
}

/// A Slurm of two nodes on the loopback interface; `None`, said plainly, where its programs are not
/// installed or the user is not root.
#[cfg(target_os = "linux")]
struct Slurm {
    folder: tempfile::TempDir,
}

#[cfg(target_os = "linux")]
impl Slurm {
    fn start() -> Option<Self> {
        // The path of its socket is limited to 107 bytes.
        let folder = tempfile::Builder::new()
            .prefix("slurm-")
            .tempdir_in("/tmp")
            .expect("a folder");
        let ran = Self::script("start", folder.path());
        match ran.status.code() {
            Some(0) => Some(Self { folder }),
            Some(3) => {
                println!(
                    "skipped: Slurm is not installed here: {}",
                    String::from_utf8_lossy(&ran.stderr)
                );
                None
            }
            _ => panic!(
                "Slurm did not start: {}",
                String::from_utf8_lossy(&ran.stderr)
            ),
        }
    }

    fn script(action: &str, folder: &Path) -> std::process::Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/slurm-loopback");
        // Into files: the daemons keep the standard output open.
        let errors = folder.join("script.log");
        let log = fs::File::create(&errors).expect("a log");
        let mut command = Command::new(script);
        command
            .arg(action)
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let status = command.status().expect("starts");
        std::process::Output {
            status,
            stdout: Vec::new(),
            stderr: fs::read(errors).unwrap_or_default(),
        }
    }

    fn queue_is_empty(&self) -> bool {
        let conf = self.folder.path().join("slurm.conf");
        let ran = Command::new("squeue")
            .arg("-h")
            .env("SLURM_CONF", conf)
            .output()
            .expect("squeue");
        ran.status.success() && ran.stdout.is_empty()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Slurm {
    fn drop(&mut self) {
        Self::script("stop", self.folder.path());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn slurm_builds_the_parts_as_an_array_and_ends_the_plan_after_them() {
    let Some(slurm) = Slurm::start() else { return };
    let workspace = Workspace::new();
    six(&workspace);
    let program = flaky(&workspace, "exit 2");
    let conf = slurm.folder.path().join("slurm.conf");
    let submit = |tries: &str| {
        let words = [
            "plan",
            "submit",
            "plan",
            "--engine",
            "slurm",
            "--at-once",
            "2",
            "--memory",
            "500MB",
            "--tries",
            tries,
        ];
        let more = [
            "--program",
            text(&program),
            "--sbatch=--partition=main",
            "--json",
        ];
        let told = workspace
            .studio_with(
                &[("SLURM_CONF", text(&conf))],
                [&words[..], &more[..]].concat(),
            )
            .expect_code(0)
            .json();
        let began = Instant::now();
        while !slurm.queue_is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "the jobs do not end"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        told
    };
    let first = submit("1");
    assert_eq!(
        (first["jobs"].as_array().map(Vec::len), &first["parts"]),
        (Some(2), &json!([1, 2, 3, 4, 5, 6]))
    );
    let status = || studio(&workspace, &["plan", "status", "plan", "--json"]).json();
    let after = status();
    assert_eq!(
        (&after["done"], &after["finished"]),
        (&json!(5), &Json::Null),
        "the end waits for all parts"
    );
    let hosts: Vec<&str> = after["parts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|part| part["host"].as_str())
        .collect();
    assert!(hosts.contains(&"n1") && hosts.contains(&"n2"), "{hosts:?}");
    // Part 2 fails once more and is tried again in its task.
    let second = submit("3");
    assert_eq!(second["parts"], json!([2]));
    let after = status();
    assert_eq!(
        (&after["done"], &after["finished"]["roots"]),
        (&json!(6), &json!(6))
    );
    assert!(
        after["parts"][0]["attempts"][0]["job"]
            .as_str()
            .is_some_and(|job| job.ends_with("_1")),
        "{after}"
    );
    expect_same(&workspace, "plan", &[1, 2, 3, 4, 5, 6], "one", "many");
}
