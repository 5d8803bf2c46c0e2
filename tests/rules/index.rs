//! Damage to an index over parts: copies of the golden TACOCAT in both forms.

use std::path::Path;

use serde_json::{Value as Json, json};
use taco_studio::model::Rule;

use crate::support::{Workspace, fixtures, zips_in};

/// Rule, location, text of the message, and the damage to the folder with index and parts.
type Fault = (Rule, &'static str, &'static str, fn(&Path));

const FAULTS: [Fault; 7] = [
    (
        Rule::PartMissing,
        "parts_part0002.tacozip",
        "missing",
        |set| {
            std::fs::remove_file(set.join("parts_part0002.tacozip")).expect("removes");
        },
    ),
    (
        Rule::PartMissing,
        "parts_part0001.tacozip",
        "can't be opened",
        |set| {
            std::fs::write(
                set.join("parts_part0001.tacozip"),
                b"PK\x03\x04 and no more",
            )
            .expect("writes");
        },
    ),
    (
        Rule::PartStale,
        "parts_part0003.tacozip",
        "rows of level0",
        |set| {
            std::fs::copy(
                set.join("../other.tacozip"),
                set.join("parts_part0003.tacozip"),
            )
            .map(|_| ())
            .expect("copies");
        },
    ),
    (Rule::PartStale, "scene_01", "another sample", |set| {
        let [first, second] =
            ["parts_part0001.tacozip", "parts_part0002.tacozip"].map(|name| set.join(name));
        let bytes = std::fs::read(&first).expect("reads");
        std::fs::copy(&second, &first).expect("copies");
        std::fs::write(&second, bytes).expect("writes");
    }),
    (
        Rule::PartList,
        "COLLECTION.json taco:sources/files",
        "no sample comes from it",
        |set| {
            change(set, |collection| {
                let files = collection["taco:sources"]["files"]
                    .as_array_mut()
                    .expect("a list");
                files.push(json!("parts_part0009.tacozip"));
            });
        },
    ),
    (
        Rule::PartCount,
        "COLLECTION.json taco:sources/count",
        "counts 3; it lists 2 files",
        |set| {
            change(set, |collection| {
                collection["taco:sources"]["files"]
                    .as_array_mut()
                    .expect("a list")
                    .pop();
            });
        },
    ),
    (
        Rule::PartList,
        "COLLECTION.json taco:sources",
        "no taco:sources",
        |set| {
            change(set, |collection| {
                collection
                    .as_object_mut()
                    .expect("an object")
                    .shift_remove("taco:sources");
            });
        },
    ),
];

fn change(set: &Path, edit: impl FnOnce(&mut Json)) {
    let path = set.join(".tacocat/COLLECTION.json");
    let mut collection =
        serde_json::from_slice(&std::fs::read(&path).expect("reads")).expect("JSON");
    edit(&mut collection);
    std::fs::write(path, collection.to_string()).expect("writes");
}

/// Rule, location, text of the message, and the damage to a TACOLLECTION.json.
type ListFault = (Rule, &'static str, &'static str, fn(&mut Json));

const LIST_FAULTS: [ListFault; 7] = [
    (
        Rule::PartCount,
        "taco:sources/count",
        "counts 7; it lists 3 files",
        |sources| sources["count"] = json!(7),
    ),
    (
        Rule::PartCount,
        "taco:sources/ids",
        "counts 2 ids; it lists 3 files",
        |sources| {
            sources["ids"].as_array_mut().expect("a list").pop();
        },
    ),
    (
        Rule::PartFacts,
        "taco:sources/count",
        "counts nothing",
        |sources| sources["count"] = json!(null),
    ),
    (
        Rule::PartFacts,
        "taco:sources/ids/1",
        "is not the id of parts_part0002.tacozip",
        |sources| sources["ids"][1] = json!("other"),
    ),
    (
        Rule::PartFacts,
        "taco:sources/extents/2/spatial",
        "extent of parts_part0003.tacozip",
        |sources| {
            sources["extents"][2]["spatial"] = json!([0, 0, 1, 1]);
        },
    ),
    (
        Rule::PartMissing,
        "parts_part0009.tacozip",
        "ould not open",
        |sources| {
            let files = sources["files"].as_array_mut().expect("a list");
            files.push(json!("parts_part0009.tacozip"));
        },
    ),
    (
        Rule::PitDeclared,
        "taco:pit_schema",
        "counts 6 roots; level0 holds 4",
        |sources| {
            sources["files"].as_array_mut().expect("a list").pop();
        },
    ),
];

/// The rules covered by these cases.
pub fn rules() -> impl Iterator<Item = Rule> {
    FAULTS
        .iter()
        .map(|fault| fault.0)
        .chain(LIST_FAULTS.iter().map(|fault| fault.0))
}

#[test]
fn a_tacollection_is_held_against_its_parts() {
    let workspace = Workspace::new();
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let set = golden
        .iter()
        .find(|folder| folder.ends_with("27_v018_parts_tacocat"))
        .expect("the set");
    let folder = workspace.path("set");
    copy(set, &folder);
    let file = folder.join("TACOLLECTION.json");
    let whole = std::fs::read(&file).expect("reads");
    for (rule, at, says, damage) in LIST_FAULTS {
        let before = super::check_path(&file);
        assert!(
            !before.has(rule),
            "{rule} before the damage: {}",
            super::listed(&before)
        );
        let mut collection: Json = serde_json::from_slice(&whole).expect("JSON");
        damage(&mut collection["taco:sources"]);
        std::fs::write(&file, collection.to_string()).expect("writes");
        let report = super::check_path(&file);
        let found = report
            .findings
            .iter()
            .any(|f| f.rule == rule && f.at.to_string().contains(at) && f.message.contains(says));
        assert!(
            found,
            "{rule} at {at} saying {says:?}; found\n{}",
            super::listed(&report)
        );
        std::fs::write(&file, &whole).expect("writes");
    }
}

/// Wrong ranges in a part give one finding, not one per sample; and two parts may use equal ids.
#[test]
fn wrong_ranges_are_reported_once_per_part() {
    let workspace = Workspace::new();
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let set = golden
        .iter()
        .find(|folder| folder.ends_with("13_refbug_unsorted_ids"))
        .expect("the set");
    let zip = &zips_in(set)[0];
    let folder = workspace.path("set");
    std::fs::create_dir(&folder).expect("a folder");
    let parts = ["a.tacozip", "b.tacozip"].map(|name| folder.join(name));
    parts
        .iter()
        .for_each(|part| std::fs::copy(zip, part).map(|_| ()).expect("copies"));
    let arguments = [
        "tacocat".as_ref(),
        parts[0].as_os_str(),
        parts[1].as_os_str(),
        "-o".as_ref(),
        folder.as_os_str(),
    ];
    workspace.studio(arguments).expect_code(0);
    let report = super::check_path(&folder.join(".tacocat"));
    let other = report
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::ZipOffsetOther);
    let places: Vec<String> = other.map(|finding| finding.at.to_string()).collect();
    assert!(
        places.len() == 2 && places[0].contains("a.tacozip") && places[1].contains("b.tacozip"),
        "{}",
        super::listed(&report)
    );
    assert!(!report.has(Rule::IdUnique), "{}", super::listed(&report));
}

#[test]
fn an_index_is_held_against_its_parts() {
    let workspace = Workspace::new();
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    let set = |name: &str| {
        golden
            .iter()
            .find(|folder| folder.ends_with(name))
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let other = &zips_in(set("01_flat_zip"))[0];
    std::fs::copy(other, workspace.path("other.tacozip")).expect("copies");
    for (number, (rule, at, says, damage)) in FAULTS.into_iter().enumerate() {
        let folder = workspace.path(&format!("set{number}"));
        copy(set("09_split_tacocat"), &folder);
        let before = super::check_path(&folder);
        assert!(
            !before.has(rule),
            "{rule} before the damage: {}",
            super::listed(&before)
        );
        damage(&folder);
        let report = super::check_path(&folder);
        let found = report
            .findings
            .iter()
            .any(|f| f.rule == rule && f.at.to_string().contains(at) && f.message.contains(says));
        assert!(
            found,
            "{rule} at {at} saying {says:?}; found\n{}",
            super::listed(&report)
        );
    }
}

/// The tools copy the first part's shape, and the older one its extent. Sorted columns with an
/// unsorted schema are expected.
#[test]
fn the_tools_indexes_have_their_known_defects_and_no_other() {
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN");
    for (set, index, known) in [
        (
            "09_split_tacocat",
            ".tacocat",
            &["PIT-8", "STAT-1", "STAT-2"][..],
        ),
        (
            "27_v018_parts_tacocat",
            "__TACOCAT__",
            &["COL-10", "EXT-1", "META-9", "PIT-9"],
        ),
    ] {
        let folder = golden
            .iter()
            .find(|folder| folder.ends_with(set))
            .unwrap_or_else(|| panic!("no {set}"));
        let report = super::check_path(&folder.join(index));
        let mut codes: Vec<&str> = report
            .findings
            .iter()
            .map(|finding| finding.rule.code())
            .collect();
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
        if path.is_dir() {
            copy(&path, &target)
        } else {
            std::fs::copy(&path, &target).map(|_| ()).expect("copies")
        }
    }
}
