//! Fault injection: every single failure and every pair of failures of file system calls during
//! renaming, with and without atomic exchange.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::swap::faults::{self, Faults};
use super::*;

/// A temporary folder, in memory where available, as syncing a disk is slow.
fn home() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    folder.expect("a folder")
}

/// All files below a folder by path, except hidden folders next to the outputs.
fn visible_files(folder: &Path) -> BTreeMap<String, String> {
    tree(folder, &|name| !name.starts_with('.'))
}

fn tree(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)
        .expect("lists")
        .map(|entry| entry.expect("an entry"))
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !wanted(&name) {
            continue;
        }
        if entry.path().is_dir() {
            found.extend(
                tree(&entry.path(), wanted)
                    .into_iter()
                    .map(|(path, text)| (format!("{name}/{path}"), text)),
            );
        } else {
            found.insert(name, std::fs::read_to_string(entry.path()).expect("reads"));
        }
    }
    found
}

fn hidden_names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder)
        .expect("lists")
        .map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect()
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("is in a folder")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

/// A way to replace outputs, with the expected old and new files.
struct Case {
    old: &'static [&'static str],
    replace: fn(&Path) -> Result<()>,
    new: &'static [&'static str],
}

fn replace_folder(folder: &Path) -> Result<()> {
    let output = PartialFolder::new(&folder.join("set"), true)?;
    put(&output.path().join("COLLECTION.json"), "new");
    put(&output.path().join("DATA/b"), "new");
    output.finish()
}

fn make_folder(folder: &Path) -> Result<()> {
    let output = PartialFolder::new(&folder.join("set"), false)?;
    put(&output.path().join("COLLECTION.json"), "new");
    output.finish()
}

fn replace_several(folder: &Path) -> Result<()> {
    let mut staging = Staging::new(&folder.join("parts"), true)?;
    for name in ["one", "two", "three"] {
        staging.claim(name)?;
    }
    put(&staging.path().join("one"), "new");
    put(&staging.path().join("two"), "new");
    put(&staging.path().join("three/COLLECTION.json"), "new");
    staging.retire(OsStr::new("four"));
    staging.finish()
}

fn replace_file(folder: &Path) -> Result<()> {
    write_document(&folder.join("one"), b"new", true)
}

/// Replaces two files of a folder and leaves the others.
fn edit_folder(folder: &Path) -> Result<()> {
    restore_interrupted(&folder.join("set"))?;
    let edit = Replacement::new(&folder.join("set"))?;
    edit.put("METADATA/level0.parquet", b"new")?;
    edit.put("COLLECTION.json", b"new")?;
    edit.finish().map(drop)
}

fn edit_one_file(folder: &Path) -> Result<()> {
    restore_interrupted(&folder.join("set"))?;
    let edit = Replacement::new(&folder.join("set"))?;
    edit.put("METADATA/level0.parquet", b"new")?;
    edit.finish().map(drop)
}

const CASES: [Case; 6] = [
    Case {
        old: &["set/COLLECTION.json", "set/METADATA/level0.parquet"],
        replace: edit_folder,
        new: &["set/COLLECTION.json", "set/METADATA/level0.parquet"],
    },
    Case {
        old: &["set/METADATA/level0.parquet"],
        replace: edit_one_file,
        new: &["set/METADATA/level0.parquet"],
    },
    Case {
        old: &["set/COLLECTION.json", "set/DATA/a"],
        replace: replace_folder,
        new: &["set/COLLECTION.json", "set/DATA/b"],
    },
    Case {
        old: &[],
        replace: make_folder,
        new: &["set/COLLECTION.json"],
    },
    Case {
        old: &["one", "three/COLLECTION.json", "three/DATA/x", "four"],
        replace: replace_several,
        new: &["one", "two", "three/COLLECTION.json"],
    },
    Case {
        old: &["one"],
        replace: replace_file,
        new: &["one"],
    },
];

/// Runs a case with injected faults; returns whether the call succeeded.
fn run(case: &Case, home: &Path, faults: Faults) -> (bool, usize) {
    case.old
        .iter()
        .for_each(|path| put(&home.join(path), "old"));
    faults::set(faults);
    let outcome = (case.replace)(home);
    (outcome.is_ok(), faults::set(Faults::default()).steps)
}

fn files_with_text(paths: &[&str], text: &str) -> BTreeMap<String, String> {
    paths
        .iter()
        .map(|path| ((*path).to_owned(), text.to_owned()))
        .collect()
}

/// Whether every old file still exists, hidden or not.
fn holds_old(home: &Path, case: &Case) -> bool {
    let everything = tree(home, &|_| true);
    case.old.iter().all(|path| {
        everything
            .iter()
            .any(|(found, text)| text == "old" && found.ends_with(path))
    })
}

#[test]
fn one_failure_leaves_the_old_or_the_new_output_complete() {
    for (number, case) in CASES.iter().enumerate() {
        for no_exchange in [false, true] {
            for failing in 0.. {
                let home = home();
                let faults = Faults {
                    failing: vec![failing],
                    no_exchange,
                    ..Faults::default()
                };
                let (well, steps) = run(case, home.path(), faults);
                let (found, what) = (
                    visible_files(home.path()),
                    format!("case {number}, step {failing}, {no_exchange}"),
                );
                let (old, new) = (
                    files_with_text(case.old, "old"),
                    files_with_text(case.new, "new"),
                );
                assert!(
                    if well {
                        found == new
                    } else {
                        found == old || found == new
                    },
                    "{what}: {found:?}"
                );
                assert_eq!(hidden_names(home.path()), Vec::<String>::new(), "{what}");
                if failing >= steps {
                    assert!(well, "{what}: nothing failed");
                    break;
                }
            }
        }
    }
}

#[test]
fn the_only_copy_is_kept_and_restored_by_the_next_write() {
    for (number, case) in CASES.iter().enumerate() {
        for no_exchange in [false, true] {
            let probe = home();
            let (_, steps) = run(
                case,
                probe.path(),
                Faults {
                    no_exchange,
                    ..Faults::default()
                },
            );
            for (first, second) in (0..steps)
                .flat_map(|first| (first + 1..steps + 4).map(move |second| (first, second)))
            {
                for until_the_end in [false, true] {
                    let home = home();
                    let dead_from = until_the_end.then_some(second);
                    let failing = vec![first, second];
                    let (well, _) = run(
                        case,
                        home.path(),
                        Faults {
                            failing,
                            dead_from,
                            no_exchange,
                            ..Faults::default()
                        },
                    );
                    let what = format!(
                        "case {number}, steps {first} and {second}, {no_exchange}, {until_the_end}"
                    );
                    let new = files_with_text(case.new, "new");
                    let whole_new = visible_files(home.path()) == new;
                    assert!(
                        whole_new || holds_old(home.path(), case),
                        "{what}: {:?}",
                        tree(home.path(), &|_| true)
                    );
                    assert!(
                        !well || whole_new,
                        "{what}: {:?}",
                        visible_files(home.path())
                    );
                    // The next start repeats the clean-up on a working disk.
                    for path in ["set", "one", "two", "three", "four", "parts"] {
                        super::scratch::tidy_up(&home.path().join(path));
                    }
                    let found = visible_files(home.path());
                    assert!(
                        found == new || found == files_with_text(case.old, "old"),
                        "{what}: {found:?} {:?}",
                        hidden_names(home.path())
                    );
                    if case.old.is_empty() && found == new {
                        continue;
                    }
                    (case.replace)(home.path())
                        .unwrap_or_else(|error| panic!("{what}: {}", error.report()));
                    assert_eq!(visible_files(home.path()), new, "{what}");
                    assert_eq!(hidden_names(home.path()), Vec::<String>::new(), "{what}");
                }
            }
        }
    }
}

/// Leaves a temporary folder as a process killed between the two renames does, on a file system
/// without exchange.
fn killed_between(home: &Path) {
    put(&home.join("set/COLLECTION.json"), "old");
    let mut scratch = Scratch::for_target(&home.join("set")).expect("begins");
    put(&scratch.path().join("new/set/COLLECTION.json"), "new");
    let check = |_: &Path, _: &Path| Ok(());
    // The second rename and every attempt to undo fail.
    faults::set(Faults {
        failing: Vec::new(),
        dead_from: Some(3),
        no_exchange: true,
        ..Faults::default()
    });
    let outcome = placing::place(&mut scratch, home, (&["set".into()], &[]), &check);
    faults::set(Faults::default());
    outcome.expect_err("was stopped");
    drop(scratch);
    assert!(!home.join("set").exists(), "nothing has the name");
}

/// Places the folder `set` and the steps `failing` fail; returns the error's report.
fn place_with_failing(home: &Path, names: &[&str], failing: &[usize]) -> String {
    let mut scratch = Scratch::for_target(&home.join("set")).expect("begins");
    for name in names {
        let new = scratch.path().join("new").join(name);
        put(&new.join("COLLECTION.json"), "new");
    }
    let names: Vec<OsString> = names.iter().map(OsString::from).collect();
    faults::set(Faults {
        failing: failing.to_vec(),
        ..Faults::default()
    });
    let outcome = placing::place(&mut scratch, home, (&names, &[]), &|_, _| Ok(()));
    faults::set(Faults::default());
    outcome.expect_err("fails").report()
}

#[test]
fn a_first_output_that_cannot_be_moved_back_leaves_no_folder_and_no_previous_version() {
    let home = home();
    // The output is renamed, the sync of its folder and the rename back fail.
    let report = place_with_failing(home.path(), &["set"], &[1, 2]);
    assert!(!report.contains("previous version"), "{report}");
    assert!(report.contains("is the new output"), "{report}");
    assert_eq!(
        visible_files(home.path()),
        files_with_text(&["set/COLLECTION.json"], "new")
    );
    assert_eq!(hidden_names(home.path()), Vec::<String>::new());
}

#[test]
fn first_outputs_that_cannot_be_moved_back_are_removed_by_the_next_write() {
    for failing in 3..5 {
        let home = home();
        let report = place_with_failing(home.path(), &["set", "other"], &[failing, failing + 1]);
        assert!(!report.contains("previous version"), "{failing}: {report}");
        restore_aside(&home.path().join("set")).expect("is undone");
        super::scratch::tidy_up(&home.path().join("set"));
        let found = visible_files(home.path());
        assert!(found.is_empty() || found.len() == 2, "{failing}: {found:?}");
    }
}

#[test]
fn replaced_outputs_that_cannot_be_moved_back_are_named_where_they_are() {
    // Steps 0 and 1 write the record, 2 to 5 place both outputs, 6 is the sync, 7 to 10 move them
    // back, 11 is the sync after that.
    for failing in 7..12 {
        let home = home();
        for name in ["set", "other"] {
            put(&home.path().join(name).join("COLLECTION.json"), "old");
        }
        let report = place_with_failing(home.path(), &["set", "other"], &[6, failing]);
        let everything = tree(home.path(), &|_| true);
        let old = everything.values().filter(|text| *text == "old").count();
        assert_eq!(old, 2, "{failing}: {report}");
        let is_back = visible_files(home.path())
            .values()
            .all(|text| text == "old");
        let is_named = report.contains("the previous version is in");
        assert!(is_named || is_back, "{failing}: {report}");
        assert!(
            !report.contains("they are removed first"),
            "{failing}: {report}"
        );
        if failing == 11 {
            assert!(is_back && !is_named, "{report}");
            assert_eq!(hidden_names(home.path()), Vec::<String>::new());
        }
        if failing == 7 {
            assert!(report.contains("before the next write"), "{report}");
        }
    }
}

#[test]
fn the_copy_left_by_a_killed_process_is_restored() {
    let home = home();
    killed_between(home.path());
    let target = home.path().join("set");
    let copy = aside_of(&target).expect("is found");
    assert_eq!(
        std::fs::read_to_string(copy.join("COLLECTION.json")).expect("reads"),
        "old"
    );
    assert!(aside_of(&home.path().join("another")).is_none());
    restore_aside(&target).expect("brings it back");
    assert_eq!(
        visible_files(home.path()),
        files_with_text(&["set/COLLECTION.json"], "old")
    );
    assert_eq!(
        (hidden_names(home.path()), aside_of(&target)),
        (Vec::new(), None)
    );
}

#[test]
fn a_new_file_of_the_same_name_is_not_replaced_by_the_old_copy() {
    let home = home();
    killed_between(home.path());
    put(&home.path().join("set/COLLECTION.json"), "of somebody else");
    restore_aside(&home.path().join("set")).expect_err("the name is taken");
    super::scratch::tidy_up(&home.path().join("set"));
    assert_eq!(
        visible_files(home.path()),
        files_with_text(&["set/COLLECTION.json"], "of somebody else")
    );
    assert!(
        aside_of(&home.path().join("set")).is_some(),
        "the old copy is still there"
    );
}

#[test]
fn leftovers_of_dead_processes_are_removed_and_work_in_progress_kept() {
    let home = home();
    put(&home.path().join(".one.aB3dE6.partial"), "half");
    put(
        &home.path().join(".set.aB3dE6.partial/new/set/DATA/a"),
        "half",
    );
    // Files of other outputs, or no leftovers.
    let others = [
        ".one.tif.aB3dE6.partial",
        ".one.notes.partial",
        ".one.aB3dE6.old",
        ".two.aB3dE6.partial",
    ];
    others
        .iter()
        .for_each(|name| put(&home.path().join(name), "another's"));
    let (file, folder) = (home.path().join("one"), home.path().join("set"));
    let writing = PartialFile::new(&file, false).expect("begins");
    let making = PartialFolder::new(&folder, false).expect("begins");
    // A second process starts the same output.
    drop((
        PartialFile::new(&file, false).expect("begins"),
        PartialFolder::new(&folder, false).expect("begins"),
    ));
    writing.finish().expect("is still there");
    put(&making.path().join("COLLECTION.json"), "new");
    making.finish().expect("is still there");
    let mut left = hidden_names(home.path());
    left.sort();
    let mut expected = others.map(str::to_owned);
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn folders_made_for_an_output_go_when_it_fails() {
    let home = home();
    let target = home.path().join("a/b/one");
    drop(PartialFile::new(&target, false).expect("begins"));
    drop(PartialFolder::new(&target, false).expect("begins"));
    assert!(!home.path().join("a").exists());
    write_document(&target, b"new", false).expect("writes");
    drop(PartialFile::new(&home.path().join("a/b/two"), false).expect("begins"));
    assert_eq!(
        visible_files(home.path()),
        files_with_text(&["a/b/one"], "new")
    );
    check_space(&home.path().join("c/d"), 1).expect("has room");
    assert!(!home.path().join("c").exists());
}

/// Inode and modification time of a file or folder.
#[cfg(unix)]
fn identity(path: &Path) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let meta = path.metadata().expect("is there");
    (meta.ino(), meta.mtime(), meta.mtime_nsec())
}

#[cfg(unix)]
#[test]
fn an_interrupted_edit_of_a_folder_is_known_and_undone_and_leaves_other_files_alone() {
    let home = home();
    let files = ["set/COLLECTION.json", "set/METADATA/level0.parquet"];
    let data = home.path().join("set/DATA/a.tif");
    for dead_from in 0.. {
        files
            .iter()
            .for_each(|path| put(&home.path().join(path), "old"));
        put(&data, "pixels");
        let before = [identity(&data), identity(&home.path().join("set/DATA"))];
        faults::set(Faults {
            dead_from: Some(dead_from),
            ..Faults::default()
        });
        let outcome = edit_folder(home.path());
        let steps = faults::set(Faults::default()).steps;
        assert_eq!(
            [identity(&data), identity(&home.path().join("set/DATA"))],
            before
        );
        let set = home.path().join("set");
        let mut found = visible_files(&set);
        found.remove("DATA/a.tif");
        let texts: Vec<&str> = found.values().map(String::as_str).collect();
        // A mixture is announced, and the next write undoes it.
        assert!(
            has_interrupted_edit(&set) || texts == ["old"; 2] || texts == ["new"; 2],
            "step {dead_from}: {found:?}"
        );
        if has_interrupted_edit(&set) {
            restore_aside(&set).expect("is restored");
            assert_eq!(
                std::fs::read(set.join("COLLECTION.json")).expect("reads"),
                b"old"
            );
            assert_eq!(
                std::fs::read(set.join("METADATA/level0.parquet")).expect("reads"),
                b"old"
            );
        }
        assert!(!has_interrupted_edit(&set), "step {dead_from}");
        super::scratch::tidy_up(&set);
        assert_eq!(
            hidden_names(home.path()),
            Vec::<String>::new(),
            "step {dead_from}"
        );
        assert_eq!(
            [identity(&data), identity(&home.path().join("set/DATA"))],
            before
        );
        if steps <= dead_from {
            outcome.expect("nothing failed");
            break;
        }
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_not_replaced() {
    let home = home();
    put(&home.path().join("set/COLLECTION.json"), "old");
    let edit = Replacement::new(&home.path().join("set")).expect("begins");
    edit.put("COLLECTION.json", b"new").expect("writes");
    put(&home.path().join("set/COLLECTION.json"), "of somebody else");
    let error = edit.finish().expect_err("is refused");
    assert_eq!(
        error.kind(),
        crate::error::Kind::Changed,
        "{}",
        error.report()
    );
    assert_eq!(
        visible_files(home.path()),
        files_with_text(&["set/COLLECTION.json"], "of somebody else")
    );
    let edit = Replacement::new(&home.path().join("set")).expect("begins");
    assert!(
        edit.put("METADATA/level9.parquet", b"new").is_err(),
        "there is no such file to replace"
    );
}
