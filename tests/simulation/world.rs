//! The world of a simulation: sources in two versions that tell their letter in every column and
//! byte, and the outputs of steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{COLLECTION, Workspace, copy_folder, entries, geotiff, sha256, sha256_of};

/// Bytes of a FILE.
const SIZE: usize = 700;

/// What a run may change, below the workspace.
pub const CHANGED: [&str; 3] = ["out", "plan", "temporary"];

/// Files and folders below a folder: their paths, and the SHA-256 of files.
pub type State = BTreeMap<String, String>;

/// The name of the other version of a source.
pub fn other(source: &str) -> String {
    match source.rsplit_once('.') {
        Some((name, ending)) => format!("{name}_b.{ending}"),
        None => format!("{source}_b"),
    }
}

fn scenes(workspace: &Workspace, folder: &str, letter: char, names: std::ops::Range<usize>) {
    let mut table = String::from("path,who,number\n");
    for row in names {
        for file in ["a.bin", "b.bin"] {
            workspace.write(&format!("{folder}/r{row}/{file}"), vec![letter as u8; SIZE]);
        }
        table += &format!("r{row},{letter},{row}\n");
    }
    workspace.write(&format!("{folder}.csv"), table);
}

/// Makes the sources of both versions, a plan, and empty outputs.
pub fn build(workspace: &Workspace) {
    workspace.write("collection.json", COLLECTION);
    let run = |arguments: &[&str]| drop(workspace.studio(arguments).expect_code(0));
    for (ending, letter) in [("", 'A'), ("_b", 'B')] {
        let named = |name: &str| {
            if ending.is_empty() {
                name.to_owned()
            } else {
                other(name)
            }
        };
        scenes(workspace, &named("scenes"), letter, 0..4);
        // The table is beside the folder, so that both are of one version.
        let (source, table) = (named("scenes"), format!("{}.csv", named("scenes")));
        let from = [
            source.as_str(),
            "--collection",
            "collection.json",
            "--metadata",
            &table,
        ];
        run(&[&["create"], &from[..], &["-o", &named("in.tacozip")]].concat());
        run(&["convert", &named("in.tacozip"), &named("folder")]);
        run(&[
            "compile",
            &named("in.tacozip"),
            "-o",
            &named("old.tortilla"),
        ]);
        for part in 0..2 {
            let source = format!("part_source{ending}{part}");
            scenes(workspace, &source, letter, part * 2..part * 2 + 2);
            let target = format!("{}/part{part}.tacozip", named("parts"));
            let table = format!("{source}.csv");
            let from = [
                source.as_str(),
                "--collection",
                "collection.json",
                "--metadata",
                &table,
            ];
            run(&[&["create"], &from[..], &["-o", &target]].concat());
        }
        let [one, two] = [0, 1].map(|part| format!("{}/part{part}.tacozip", named("parts")));
        run(&["tacocat", &one, &two, "-o", &named("parts")]);
        for (number, name) in ["one.tif", "two.tif"].into_iter().enumerate() {
            geotiff(
                &workspace.path(&format!("{}/{name}", named("rasters"))),
                1,
                16,
                number as u8 + letter as u8,
            );
        }
        let rows = (0..4).fold("id,gain\n".to_owned(), |text, row| {
            text + &format!("r{row},{}\n", if letter == 'A' { 1.5 } else { 2.5 })
        });
        workspace.write(&named("new.csv"), rows);
    }
    fs::create_dir(workspace.path("out")).expect("a folder");
    fs::create_dir(workspace.path("temporary")).expect("a folder");
    run(&[
        "plan",
        "folder",
        "-o",
        "plan",
        "--dataset",
        "out/many/d",
        "--split-size",
        "3kB",
        "--format",
        "folder",
    ]);
    copy_folder(&workspace.path("plan"), &workspace.path("plan_before"));
}

/// Puts everything that runs change as it was at first.
pub fn restore(workspace: &Workspace) {
    for name in CHANGED {
        let path = workspace.path(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("removed");
        }
        fs::create_dir(&path).expect("a folder");
    }
    copy_folder(&workspace.path("plan_before"), &workspace.path("plan"));
}

/// Dates every file that runs may change alike: members of archives have the dates of files, and
/// equal outputs have to be equal bytes.
pub fn date_alike(workspace: &Workspace) {
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for name in CHANGED {
        for_each_file(&workspace.path(name), &mut |path, _| {
            fs::File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_modified(time))
                .expect("dated");
        });
    }
}

/// The outputs, and the names of hidden entries and temporary files, which belong to no output.
pub fn state(workspace: &Workspace) -> (State, Vec<String>) {
    let (mut shown, mut hidden) = (State::new(), Vec::new());
    look(&workspace.path("out"), "", &mut shown, &mut hidden);
    hidden.extend(
        crate::support::files_below(&workspace.path("temporary"))
            .into_iter()
            .map(|name| format!("temporary/{name}")),
    );
    (shown, hidden)
}

fn look(folder: &Path, before: &str, shown: &mut State, hidden: &mut Vec<String>) {
    for path in entries(folder) {
        let name = format!(
            "{before}{}",
            path.file_name().expect("a name").to_string_lossy()
        );
        if path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b".") && name != ".tacocat")
        {
            hidden.push(name);
        } else if path.is_dir() {
            look(&path, &format!("{name}/"), shown, hidden);
            shown.insert(format!("{name}/"), String::new());
        } else {
            shown.insert(name, sha256_of(&path));
        }
    }
}

/// The SHA-256 of a state.
pub fn key_of(state: &State) -> String {
    sha256(format!("{state:?}").as_bytes())
}

/// Cuts off what was not brought to the disk: files that are new since `before` and whose inode is
/// in `unsynced` become empty.
pub fn lose(workspace: &Workspace, unsynced: &[u64], before: &[u64]) {
    for name in CHANGED {
        for_each_file(&workspace.path(name), &mut |path, inode| {
            if unsynced.contains(&inode) && !before.contains(&inode) {
                fs::File::options()
                    .write(true)
                    .open(path)
                    .and_then(|file| file.set_len(0))
                    .expect("cut off");
            }
        });
    }
}

/// The inodes of the files that runs may change.
pub fn inodes(workspace: &Workspace) -> Vec<u64> {
    let mut found = Vec::new();
    for name in CHANGED {
        for_each_file(&workspace.path(name), &mut |_, inode| found.push(inode));
    }
    found
}

fn for_each_file(folder: &Path, visit: &mut dyn FnMut(&Path, u64)) {
    for path in entries(folder) {
        let Ok(meta) = path.symlink_metadata() else {
            continue;
        };
        if meta.is_dir() {
            for_each_file(&path, visit)
        } else {
            visit(&path, std::os::unix::fs::MetadataExt::ino(&meta))
        }
    }
}
