//! Damage to an index of parts: to copies of the golden TACOCAT of both forms.

use std::path::Path;

use serde_json::{Value as Json, json};
use taco_studio::model::Rule;

use crate::support::{Workspace, fixtures};

/// What is done to the folder with the index and its parts, and what is found.
type Fault = (Rule, &'static str, &'static str, fn(&Path));

const FAULTS: [Fault; 6] = [
    (Rule::PartMissing, "parts_part0002.tacozip", "missing", |set| {
        std::fs::remove_file(set.join("parts_part0002.tacozip")).expect("removes");
    }),
    (Rule::PartMissing, "parts_part0001.tacozip", "can't be opened", |set| {
        std::fs::write(set.join("parts_part0001.tacozip"), b"PK\x03\x04 and no more").expect("writes");
    }),
    (Rule::PartStale, "parts_part0003.tacozip", "rows of level0", |set| {
        std::fs::copy(set.join("../other.tacozip"), set.join("parts_part0003.tacozip")).map(|_| ()).expect("copies");
    }),
    (Rule::PartStale, "scene_01", "another sample", |set| {
        let [first, second] = ["parts_part0001.tacozip", "parts_part0002.tacozip"].map(|name| set.join(name));
        let bytes = std::fs::read(&first).expect("reads");
        std::fs::copy(&second, &first).expect("copies");
        std::fs::write(&second, bytes).expect("writes");
    }),
    (Rule::PartList, "COLLECTION.json taco:sources/files", "no sample comes from it", |set| {
        change(set, |collection| {
            let files = collection["taco:sources"]["files"].as_array_mut().expect("a list");
            files.push(json!("parts_part0009.tacozip"));
        });
    }),
    (Rule::PartList, "COLLECTION.json taco:sources", "no taco:sources", |set| {
        change(set, |collection| {
            collection.as_object_mut().expect("an object").shift_remove("taco:sources");
        });
    }),
];

fn change(set: &Path, edit: impl FnOnce(&mut Json)) {
    let path = set.join(".tacocat/COLLECTION.json");
    let mut collection = serde_json::from_slice(&std::fs::read(&path).expect("reads")).expect("JSON");
    edit(&mut collection);
    std::fs::write(path, collection.to_string()).expect("writes");
}

/// The rules that these faults show.
pub fn rules() -> impl Iterator<Item = Rule> {
    FAULTS.iter().map(|fault| fault.0)
}

#[test]
fn an_index_is_held_against_its_parts() {
    let workspace = Workspace::new();
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let set = |name: &str| golden.iter().find(|folder| folder.ends_with(name)).unwrap_or_else(|| panic!("no {name}"));
    let other = std::fs::read_dir(set("01_flat_zip")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let other = other.into_iter().find(|path| path.extension().is_some_and(|end| end == "tacozip")).expect("a dataset");
    std::fs::copy(other, workspace.path("other.tacozip")).expect("copies");
    for (number, (rule, at, says, damage)) in FAULTS.into_iter().enumerate() {
        let folder = workspace.path(&format!("set{number}"));
        copy(set("09_split_tacocat"), &folder);
        let before = super::check_path(&folder);
        assert!(!before.has(rule), "{rule} before the damage: {}", super::listed(&before));
        damage(&folder);
        let report = super::check_path(&folder);
        let found = report.findings.iter().any(|f| f.rule == rule && f.at.to_string().contains(at) && f.message.contains(says));
        assert!(found, "{rule} at {at} saying {says:?}; found\n{}", super::listed(&report));
    }
}

/// The tools sort the index's columns by name but not its schema, keep the first part's shape, and the older one its extent.
#[test]
fn the_tools_indexes_have_their_known_defects_and_no_other() {
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    for (set, index, known) in [
        ("09_split_tacocat", ".tacocat", &["META-10", "PIT-8", "STAT-1"][..]),
        ("27_v018_parts_tacocat", "__TACOCAT__", &["COL-10", "META-10", "META-9", "PIT-9"]),
    ] {
        let folder = golden.iter().find(|folder| folder.ends_with(set)).unwrap_or_else(|| panic!("no {set}"));
        let report = super::check_path(&folder.join(index));
        let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.rule.code()).collect();
        codes.retain(|code| *code != "COL-9");
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, known, "{set}:\n{}", super::listed(&report));
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() { copy(&path, &target) } else { std::fs::copy(&path, &target).map(|_| ()).expect("copies") }
    }
}
