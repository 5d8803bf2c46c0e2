//! Datasets that are replaced while they are read: a FOLDER by renames, an index with its parts,
//! the input of a plan, a remote folder; and datasets that two processes edit at once. A run ends
//! with the old dataset, the new one or an error, never with bytes of one under metadata of the
//! other. By default a few moments of each operation are tried; `TACO_STUDIO_SWAPS=N` tries N and
//! prints a table.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{COLLECTION, Server, Workspace, entries};

/// Moments of each operation that are tried by default.
const FEW: usize = 6;
/// Samples of level 0.
const SAMPLES: usize = 60;
/// Bytes of a FILE.
const SIZE: usize = 20_000;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Old,
    New,
    Error,
    Mixture,
}

fn moments() -> usize {
    std::env::var("TACO_STUDIO_SWAPS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(FEW)
}

/// Prints the number of runs by outcome, and fails when one was a mixture.
fn expect_no_mixture(table: &BTreeMap<String, BTreeMap<Outcome, usize>>) {
    let count = |found: &BTreeMap<Outcome, usize>, outcome| {
        found.get(&outcome).copied().unwrap_or_default()
    };
    let mut text =
        String::from("| operation | old | new | error | mixture |\n|---|---|---|---|---|\n");
    for (name, found) in table {
        let [old, new, error, mixture] =
            [Outcome::Old, Outcome::New, Outcome::Error, Outcome::Mixture]
                .map(|outcome| count(found, outcome));
        text += &format!("| {name} | {old} | {new} | {error} | {mixture} |\n");
    }
    if std::env::var_os("TACO_STUDIO_SWAPS").is_some() {
        eprintln!("{text}");
    }
    assert!(
        table
            .values()
            .all(|found| count(found, Outcome::Mixture) == 0),
        "\n{text}"
    );
}

/// A FOLDER `name` whose samples have bytes of one letter, and the letter in their column `who`.
fn folder_of(workspace: &Workspace, name: &str, letter: char) {
    let mut table = String::from("path,who\n");
    for row in 0..SAMPLES {
        for file in ["a.bin", "b.bin"] {
            workspace.write(
                &format!("s{name}/r{row:03}/{file}"),
                vec![letter as u8; SIZE],
            );
        }
        table += &format!("r{row:03},{letter}\n");
    }
    workspace.write("metadata.csv", table);
    workspace.write("collection.json", COLLECTION);
    let source = format!("s{name}");
    let create = [
        "create",
        &source,
        "-o",
        name,
        "--format",
        "folder",
        "--collection",
        "collection.json",
    ];
    workspace
        .studio(create.iter().chain(&["--metadata", "metadata.csv"]))
        .expect_code(0);
}

/// A copy of a folder by hard links, as `cp -al` makes it.
fn link_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for path in entries(from) {
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            link_tree(&path, &target)
        } else {
            fs::hard_link(&path, &target).expect("a second name")
        }
    }
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).expect("removed")
    } else {
        drop(fs::remove_file(path))
    }
}

/// `o` becomes the version `n`; without `keep`, the old one is deleted, as `--overwrite` does it.
fn swap(workspace: &Workspace, keep: bool) {
    let [o, n, old] = ["o", "n", "old"].map(|name| workspace.path(name));
    fs::rename(&o, &old)
        .and_then(|()| fs::rename(&n, &o))
        .expect("renamed");
    if !keep {
        remove(&old);
    }
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    workspace
        .house(command.arg("-q").args(arguments))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("starts")
}

/// The letter of each sample in the metadata of a FOLDER, and those in the bytes of its files.
fn letters_of(workspace: &Workspace, dataset: &str) -> Vec<(String, Vec<u8>)> {
    let sql = "SELECT id, who FROM data ORDER BY id";
    let rows = workspace
        .studio(["query", dataset, "--format", "csv", "--sql", sql])
        .expect_code(0)
        .stdout;
    let row = |line: &str| {
        let (id, who) = line.split_once(',').expect("two columns");
        let sample = workspace.path(dataset).join("DATA").join(id);
        let files: Vec<_> = if sample.is_dir() {
            entries(&sample)
        } else {
            vec![sample]
        };
        let data = files
            .iter()
            .filter(|path| !path.ends_with("__meta__"))
            .map(|path| fs::read(path).expect("a file"));
        let mut found: Vec<u8> = data.flatten().collect();
        found.dedup();
        found.sort_unstable();
        found.dedup();
        (who.to_owned(), found)
    };
    rows.lines().skip(1).map(row).collect()
}

/// Classifies the output of a run: the letters of its metadata and of its bytes are those of one
/// version, and the same.
fn outcome_of(workspace: &Workspace, output: &str, old: char) -> Outcome {
    let found = letters_of(workspace, output);
    assert!(!found.is_empty(), "{output} has no samples");
    let first = found[0].0.clone();
    match found
        .iter()
        .all(|(who, bytes)| *who == first && bytes.as_slice() == first.as_bytes())
    {
        true if first == old.to_string() => Outcome::Old,
        true => Outcome::New,
        false => Outcome::Mixture,
    }
}

/// An operation that reads `o` and writes `output`, and what makes a FOLDER `result` of that where
/// it is none.
struct Operation {
    name: &'static str,
    arguments: &'static [&'static str],
    output: &'static str,
    result: &'static str,
    unpack: &'static [&'static str],
}

const OPERATIONS: [Operation; 8] = [
    Operation {
        name: "convert",
        arguments: &["convert", "o", "out"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "convert to a ZIP",
        arguments: &["convert", "o", "out.tacozip"],
        output: "out.tacozip",
        result: "unpacked",
        unpack: &["convert", "out.tacozip", "unpacked", "--overwrite"],
    },
    Operation {
        name: "export",
        arguments: &["export", "o", "-o", "out", "--limit", "50"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "repair",
        arguments: &["repair", "o", "-o", "out"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "edit into a copy",
        arguments: &["edit", "o", "--set", "title=Another", "-o", "out"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "extend",
        arguments: &["extend", "o", "--with", "content_hash", "-o", "out"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "optimise",
        arguments: &["optimise", "o", "-o", "out"],
        output: "out",
        result: "out",
        unpack: &[],
    },
    Operation {
        name: "publish",
        arguments: &[
            "publish",
            "o",
            "out",
            "--accept",
            "description",
            "--accept",
            "paths",
        ],
        output: "out",
        result: "out/o",
        unpack: &[],
    },
];

impl Operation {
    fn clear(&self, workspace: &Workspace) {
        [self.output, self.result]
            .iter()
            .for_each(|name| remove(&workspace.path(name)));
    }

    /// How the run of `child` ended.
    fn outcome(&self, workspace: &Workspace, child: &mut Child, old: char) -> Outcome {
        let status = child.wait().expect("ends");
        let code = status
            .code()
            .unwrap_or_else(|| panic!("{} was ended by a signal", self.name));
        assert_ne!(code, 101, "{} panicked", self.name);
        if code != 0 {
            assert!(
                !workspace.path(self.output).exists(),
                "{} failed and left an output",
                self.name
            );
            return Outcome::Error;
        }
        if !self.unpack.is_empty() {
            workspace.studio(self.unpack).expect_code(0);
        }
        outcome_of(workspace, self.result, old)
    }
}

/// Puts the old version at `o` and the new one at `n`.
fn lay_out(workspace: &Workspace, versions: [&str; 2]) {
    ["o", "n", "old"]
        .iter()
        .for_each(|name| remove(&workspace.path(name)));
    link_tree(&workspace.path(versions[0]), &workspace.path("o"));
    link_tree(&workspace.path(versions[1]), &workspace.path("n"));
}

#[test]
fn a_folder_that_is_replaced_while_it_is_read_is_old_or_new_or_an_error() {
    let workspace = Workspace::new();
    folder_of(&workspace, "A", 'A');
    folder_of(&workspace, "B", 'B');
    let mut table: BTreeMap<String, BTreeMap<Outcome, usize>> = BTreeMap::new();
    for operation in OPERATIONS {
        operation.clear(&workspace);
        lay_out(&workspace, ["A", "B"]);
        let clock = Instant::now();
        let mut child = start(&workspace, operation.arguments);
        assert_eq!(
            operation.outcome(&workspace, &mut child, 'A'),
            Outcome::Old,
            "{} of what nobody replaces",
            operation.name
        );
        let whole = clock.elapsed();
        let moments = moments();
        for moment in 0..moments {
            operation.clear(&workspace);
            lay_out(&workspace, ["A", "B"]);
            let mut child = start(&workspace, operation.arguments);
            std::thread::sleep(whole.mul_f64((moment as f64 + 0.5) / moments as f64));
            swap(&workspace, moment % 2 == 0);
            let outcome = operation.outcome(&workspace, &mut child, 'A');
            *table
                .entry(operation.name.to_owned())
                .or_default()
                .entry(outcome)
                .or_default() += 1;
        }
        // Two versions that take turns: what is at the path in the end may be the one of the
        // beginning.
        operation.clear(&workspace);
        lay_out(&workspace, ["A", "B"]);
        let ended = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            let [o, n, old] = ["o", "n", "old"].map(|name| workspace.path(name));
            let ended = &ended;
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let turn = || {
                        fs::rename(&o, &old)
                            .and_then(|()| fs::rename(&n, &o))
                            .and_then(|()| fs::rename(&old, &n))
                    };
                    turn().expect("renamed");
                    std::thread::sleep(Duration::from_millis(7));
                }
            });
            let outcome =
                operation.outcome(&workspace, &mut start(&workspace, operation.arguments), 'A');
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        *table
            .entry(operation.name.to_owned())
            .or_default()
            .entry(outcome)
            .or_default() += 1;
    }
    expect_no_mixture(&table);
}

/// Two ZIPs of flat samples in the folder `name`, and an index over them.
fn parts_of(workspace: &Workspace, name: &str, letter: char) {
    workspace.write("collection.json", COLLECTION);
    fs::create_dir(workspace.path(name)).expect("a folder");
    for part in 0..2 {
        let source = format!("s{name}{part}");
        let mut table = String::from("path,who\n");
        for row in 0..SAMPLES {
            workspace.write(
                &format!("{source}/p{part}_{row:03}.bin"),
                vec![letter as u8; SIZE],
            );
            table += &format!("p{part}_{row:03}.bin,{letter}\n");
        }
        workspace.write("metadata.csv", table);
        let target = format!("{name}/part{part}.tacozip");
        let create = [
            "create",
            &source,
            "-o",
            &target,
            "--collection",
            "collection.json",
            "--metadata",
            "metadata.csv",
        ];
        workspace.studio(create).expect_code(0);
    }
    let parts = [
        format!("{name}/part0.tacozip"),
        format!("{name}/part1.tacozip"),
    ];
    workspace
        .studio(["tacocat", &parts[0], &parts[1], "-o", name])
        .expect_code(0);
}

#[test]
fn an_index_whose_parts_are_replaced_while_it_is_read_is_old_or_new_or_an_error() {
    let workspace = Workspace::new();
    parts_of(&workspace, "A", 'A');
    parts_of(&workspace, "B", 'B');
    // The whole folder, a single part, and the index alone.
    let replaced: [(&str, &[&str]); 3] = [
        ("everything", &[]),
        ("one part", &["part1.tacozip"]),
        ("the index", &[".tacocat/level0.parquet"]),
    ];
    let operations: [(&str, &[&str]); 3] = [
        ("convert", &["convert", "o/.tacocat", "out"]),
        (
            "export",
            &["export", "o/.tacocat", "-o", "out", "--limit", "100"],
        ),
        (
            "extend",
            &[
                "extend",
                "o/.tacocat",
                "--with",
                "content_hash",
                "-o",
                "out",
            ],
        ),
    ];
    let mut table: BTreeMap<String, BTreeMap<Outcome, usize>> = BTreeMap::new();
    for (name, arguments) in operations {
        for (what, files) in replaced {
            let operation = Operation {
                name,
                arguments: &[],
                output: "out",
                result: "out",
                unpack: &[],
            };
            let moments = moments();
            let mut whole = Duration::ZERO;
            for moment in 0..=moments {
                operation.clear(&workspace);
                lay_out(&workspace, ["A", "B"]);
                let clock = Instant::now();
                let mut child = start(&workspace, arguments);
                if moment > 0 {
                    std::thread::sleep(whole.mul_f64((moment as f64 - 0.5) / moments as f64));
                    match files {
                        [] => swap(&workspace, moment % 2 == 0),
                        files => files.iter().for_each(|file| {
                            fs::rename(
                                workspace.path("n").join(file),
                                workspace.path("o").join(file),
                            )
                            .expect("renamed");
                        }),
                    }
                }
                let outcome = operation.outcome(&workspace, &mut child, 'A');
                if moment == 0 {
                    assert_eq!(outcome, Outcome::Old, "{name} of what nobody replaces");
                    whole = clock.elapsed();
                    continue;
                }
                *table
                    .entry(format!("{name}: {what}"))
                    .or_default()
                    .entry(outcome)
                    .or_default() += 1;
            }
        }
    }
    expect_no_mixture(&table);
}

#[test]
fn an_index_over_a_part_that_was_replaced_before_is_refused_and_found() {
    let workspace = Workspace::new();
    parts_of(&workspace, "A", 'A');
    parts_of(&workspace, "B", 'B');
    workspace
        .studio(["validate", "A/.tacocat", "--deep"])
        .expect_code(0);
    fs::copy(
        workspace.path("B/part1.tacozip"),
        workspace.path("A/part1.tacozip"),
    )
    .expect("replaced");
    let found = workspace
        .studio(["validate", "A/.tacocat", "--deep"])
        .expect_code(1);
    assert!(
        found.stdout.contains("part1.tacozip") && found.stdout.contains("who"),
        "{found}"
    );
    let verbs: [&[&str]; 4] = [
        &["convert", "A/.tacocat", "out"],
        &["export", "A/.tacocat", "-o", "out", "--limit", "100"],
        &["repair", "A/.tacocat", "-o", "out"],
        &["plan", "A/.tacocat", "-o", "out"],
    ];
    for arguments in verbs {
        let ran = workspace.studio(arguments).expect_code(2);
        let said = ran.stderr.contains("part1.tacozip")
            && ran.stderr.contains("who")
            && ran.stderr.contains("tacocat");
        assert!(said && !workspace.path("out").exists(), "{ran}");
    }
    // Samples of the other part alone agree with it.
    workspace
        .studio(["export", "A/.tacocat", "-o", "out", "--limit", "10"])
        .expect_code(0);
    assert_eq!(outcome_of(&workspace, "out", 'A'), Outcome::Old);
}

#[test]
fn a_part_of_a_plan_is_not_built_from_a_folder_that_was_replaced() {
    let workspace = Workspace::new();
    folder_of(&workspace, "A", 'A');
    folder_of(&workspace, "B", 'B');
    // The files of both versions have the same times: the tables tell them apart.
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for name in ["A", "B"] {
        for row in 0..SAMPLES {
            for file in ["a.bin", "b.bin"] {
                let path = workspace.path(name).join(format!("DATA/r{row:03}/{file}"));
                fs::File::options()
                    .write(true)
                    .open(path)
                    .and_then(|file| file.set_modified(time))
                    .expect("dated");
            }
        }
    }
    lay_out(&workspace, ["A", "B"]);
    let split = ["--split-size", "1MB", "--format", "folder"];
    workspace
        .studio(
            ["plan", "o", "-o", "plan", "--dataset", "many/d"]
                .iter()
                .chain(&split),
        )
        .expect_code(0);
    workspace
        .studio(["plan", "run", "plan", "--part", "1"])
        .expect_code(0);
    swap(&workspace, true);
    let ran = workspace
        .studio(["plan", "run", "plan", "--part", "2"])
        .expect_code(2);
    assert!(ran.stderr.contains("changed"), "{ran}");
    let written: Vec<_> = entries(&workspace.path("many"));
    assert_eq!(written.len(), 1, "{written:?}");
    fs::rename(workspace.path("o"), workspace.path("n")).expect("renamed");
    fs::rename(workspace.path("old"), workspace.path("o")).expect("renamed");
    workspace
        .studio(["plan", "run", "plan", "--part", "2"])
        .expect_code(0);
}

#[test]
fn a_remote_folder_that_is_replaced_while_it_is_read_is_old_or_new_or_an_error() {
    let workspace = Workspace::new();
    folder_of(&workspace, "A", 'A');
    folder_of(&workspace, "B", 'B');
    lay_out(&workspace, ["A", "B"]);
    let server = Server::of(&workspace.path(""));
    server.slow(Duration::from_millis(2));
    let url = server.url("o");
    let operation = Operation {
        name: "convert",
        arguments: &[],
        output: "out",
        result: "out",
        unpack: &[],
    };
    let mut table: BTreeMap<String, BTreeMap<Outcome, usize>> = BTreeMap::new();
    for (name, arguments) in [
        ("convert", vec!["convert", &url, "out"]),
        ("export", vec!["export", &url, "-o", "out", "--limit", "50"]),
    ] {
        let moments = moments();
        let mut whole = Duration::ZERO;
        for moment in 0..=moments {
            operation.clear(&workspace);
            remove(&workspace.path("home/.cache"));
            lay_out(&workspace, ["A", "B"]);
            let clock = Instant::now();
            let mut child = start(&workspace, &arguments);
            if moment > 0 {
                std::thread::sleep(whole.mul_f64((moment as f64 - 0.5) / moments as f64));
                swap(&workspace, true);
            }
            let outcome = operation.outcome(&workspace, &mut child, 'A');
            if moment == 0 {
                assert_eq!(outcome, Outcome::Old, "{name} of what nobody replaces");
                whole = clock.elapsed();
                continue;
            }
            *table
                .entry(name.to_owned())
                .or_default()
                .entry(outcome)
                .or_default() += 1;
        }
    }
    expect_no_mixture(&table);
}

/// Columns of level 0 that the edits of a test add.
fn added_columns(workspace: &Workspace, dataset: &str) -> Vec<String> {
    let found = workspace
        .studio(["inspect", dataset, "--json"])
        .expect_code(0)
        .json();
    let columns = found["levels"][0]["columns"].as_array().expect("columns");
    let names = columns
        .iter()
        .filter_map(|column| column["name"].as_str().or_else(|| column[0].as_str()));
    names
        .filter(|name| ["ca", "cb"].contains(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn of_two_edits_at_once_none_is_lost() {
    let workspace = Workspace::new();
    workspace.write("s/r1/a.bin", "1");
    workspace.write("s/r2/a.bin", "2");
    workspace.write("collection.json", COLLECTION);
    workspace.write("a.csv", "id,ca\nr1,1\nr2,1\n");
    workspace.write("b.csv", "id,cb\nr1,1\nr2,1\n");
    for (name, format) in [("f", "folder"), ("z.tacozip", "zip")] {
        workspace
            .studio([
                "create",
                "s",
                "-o",
                name,
                "--format",
                format,
                "--collection",
                "collection.json",
            ])
            .expect_code(0);
        for round in 0..moments().max(8) {
            let target = format!("g{name}");
            remove(&workspace.path(&target));
            if workspace.path(name).is_dir() {
                crate::support::copy_folder(&workspace.path(name), &workspace.path(&target))
            } else {
                fs::copy(workspace.path(name), workspace.path(&target)).expect("a copy");
            }
            let mut first = start(&workspace, &["edit", &target, "--metadata", "a.csv"]);
            std::thread::sleep(Duration::from_millis(round as u64 % 8 * 5));
            let mut second = start(&workspace, &["edit", &target, "--metadata", "b.csv"]);
            let codes = [&mut first, &mut second].map(|child| child.wait().expect("ends").code());
            assert_eq!(
                codes,
                [Some(0); 2],
                "{name}, round {round}: the second waits for the first"
            );
            assert_eq!(
                added_columns(&workspace, &target).len(),
                2,
                "{name}, round {round}: an edit is lost"
            );
            workspace
                .studio(["validate", &target, "--deep"])
                .expect_code(0);
        }
    }
}

#[test]
fn an_edit_of_a_folder_that_is_overwritten_meanwhile_mixes_nothing() {
    let workspace = Workspace::new();
    folder_of(&workspace, "A", 'A');
    folder_of(&workspace, "B", 'B');
    workspace.write(
        "new.csv",
        (0..SAMPLES).fold("id,ca\n".to_owned(), |text, row| {
            text + &format!("r{row:03},1\n")
        }),
    );
    let mut table: BTreeMap<String, BTreeMap<Outcome, usize>> = BTreeMap::new();
    for moment in 0..moments() {
        lay_out(&workspace, ["A", "B"]);
        let mut edit = start(&workspace, &["edit", "o", "--metadata", "new.csv"]);
        let mut write = start(&workspace, &["convert", "B", "o", "--overwrite"]);
        std::thread::sleep(Duration::from_millis(moment as u64));
        let edited = edit.wait().expect("ends").success();
        assert!(
            write.wait().expect("ends").success(),
            "the output is replaced, before or after the edit"
        );
        let outcome = outcome_of(&workspace, "o", 'A');
        assert_ne!(outcome, Outcome::Old);
        workspace.studio(["validate", "o", "--deep"]).expect_code(0);
        let outcome = if edited { outcome } else { Outcome::Error };
        *table
            .entry("edit".to_owned())
            .or_default()
            .entry(outcome)
            .or_default() += 1;
    }
    expect_no_mixture(&table);
}
