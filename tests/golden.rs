//! Datasets written by the official tools: the studio must report what an independent reader
//! recorded in `expected.json`, and return the same bytes. `TACO_STUDIO_GOLDEN` selects another
//! folder of such datasets.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Workspace, fixtures, sha256_of};

/// Calls `check(dataset, expected, fixture name)` for every ZIP and FOLDER dataset that has an
/// expectation.
pub fn each_dataset(check: impl FnMut(&Path, &Value, &str)) {
    let seen = each_of_kind(&["zip", "folder"], check);
    assert!(seen >= 10, "only {seen} datasets with an expectation");
}

/// The same for containers of these kinds; returns their number.
fn each_of_kind(kinds: &[&str], mut check: impl FnMut(&Path, &Value, &str)) -> usize {
    let mut seen = 0;
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("expected.json")) else {
            continue;
        };
        let expected: Value = serde_json::from_str(&text).expect("expected.json");
        for (name, expected) in expected.as_object().expect("an object of datasets") {
            if expected["kind"]
                .as_str()
                .is_some_and(|kind| kinds.contains(&kind))
            {
                let fixture = format!(
                    "{}/{name}",
                    folder.file_name().expect("a name").to_string_lossy()
                );
                check(&folder.join(name), expected, &fixture);
                seen += 1;
            }
        }
    }
    seen
}

#[test]
fn inspect_equals_an_independent_reader() {
    let workspace = Workspace::new();
    each_of_kind(
        &["zip", "folder", "tacocat", "tacocat_file"],
        |dataset, expected, fixture| {
            let seen = workspace
                .studio(["inspect".as_ref(), dataset.as_os_str(), "--json".as_ref()])
                .expect_code(0)
                .json();
            assert_eq!(seen["format"], expected["kind"], "{fixture}: format");
            let id = expected.get("id").unwrap_or(&expected["collection"]["id"]);
            assert_eq!(&seen["id"], id, "{fixture}: id");
            let levels = seen["levels"].as_array().expect("levels");
            let wanted = expected["levels"].as_array().expect("levels");
            assert_eq!(levels.len(), wanted.len(), "{fixture}: number of levels");
            for (depth, (level, wanted)) in levels.iter().zip(wanted).enumerate() {
                assert_eq!(level["level"], depth, "{fixture}: level number");
                assert_eq!(
                    level["rows"], wanted["rows"],
                    "{fixture}: rows of level {depth}"
                );
                let columns = level["columns"].as_array().expect("columns");
                let columns: Vec<Value> = columns
                    .iter()
                    .map(|column| {
                        Value::Array(vec![column["name"].clone(), column["type"].clone()])
                    })
                    .collect();
                assert_eq!(
                    Value::Array(columns),
                    wanted["columns"],
                    "{fixture}: columns of level {depth}"
                );
            }
        },
    );
}

#[test]
fn every_file_reads_to_its_bytes() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    each_dataset(|dataset, expected, fixture| {
        for (member, wanted) in expected["files"].as_object().expect("files") {
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            let arguments = [
                "read".as_ref(),
                dataset.as_os_str(),
                id.as_ref(),
                "--out".as_ref(),
                out.as_os_str(),
            ];
            workspace.studio(arguments).expect_code(0);
            assert_eq!(
                sha256_of(&out),
                wanted["sha256"],
                "{fixture}: bytes of {id}"
            );
            fs::remove_file(&out).expect("the file just written");
        }
    });
}

#[test]
fn validate_names_wrong_offsets_and_only_those() {
    let workspace = Workspace::new();
    each_dataset(|dataset, expected, fixture| {
        let ran = workspace
            .studio(["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_no_panic();
        let report = ran.json();
        let findings = report["findings"]
            .as_array()
            .unwrap_or_else(|| panic!("no findings: {ran}"));
        let wrong: Vec<&Value> = findings
            .iter()
            .filter(|finding| is_about_offsets(finding))
            .collect();
        let faults = expected["stored_offset_errors"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(
            faults > 0,
            !wrong.is_empty(),
            "{fixture}: {faults} rows point at other bytes, found {wrong:?}\n{ran}"
        );
        let has_error = findings
            .iter()
            .any(|finding| finding["severity"] == "error");
        assert_eq!(
            report["valid"],
            Value::Bool(!has_error),
            "{fixture}: `valid` against the findings\n{ran}"
        );
        assert_eq!(
            ran.code(),
            i32::from(has_error),
            "{fixture}: exit code\n{ran}"
        );
    });
}

fn is_about_offsets(finding: &Value) -> bool {
    let rule = finding["rule"].as_str().expect("a rule");
    let message = finding["message"].as_str().expect("a message");
    rule.starts_with("ZIP") && (message.contains("offset") || message.contains("point"))
}

/// Known defects of the golden datasets, by folder; datasets that are not listed have none.
const KNOWN_DEFECTS: [(&str, &[&str]); 24] = [
    ("01_flat_zip", &["COL-11", "STAT-2"]),
    ("02_flat_folder", &["COL-11", "STAT-2"]),
    ("03_nested2_zip", &["STAT-1", "STAT-2"]),
    ("04_nested2_folder", &["STAT-1", "STAT-2"]),
    ("05_nested3_zip", &["ID-5"]),
    ("06_nested3_folder", &["ID-5"]),
    ("07_istac_zip", &["COL-11"]),
    ("08_istac_folder", &["COL-11"]),
    ("09_split_tacocat", &["STAT-1", "STAT-2"]),
    (
        "10_group_by_tacocat/grp_sg0002.tacozip",
        &["COL-11", "STAT-2"],
    ),
    ("10_group_by_tacocat", &["STAT-2"]),
    ("13_refbug_unsorted_ids", &["STAT-1", "STAT-2", "ZIP-11"]),
    ("15_bridge_export_zip", &["PIT-8", "STAT-1", "STAT-2"]),
    ("16_bridge_export_folder", &["PIT-8", "STAT-1", "STAT-2"]),
    (
        "19_bridge_export_tacocat",
        &["META-10", "PIT-8", "STAT-1", "STAT-2"],
    ),
    ("20_v018_flat_zip", &["STAT-2"]),
    ("21_v018_flat_folder", &["STAT-2"]),
    ("22_v018_flat_pad_zip", &["STAT-2"]),
    ("23_v018_nested2_pad_zip", &["META-9", "PIT-9"]),
    ("24_v018_nested2_pad_folder", &["META-9", "PIT-9"]),
    ("25_v018_nested3_zip", &["META-9", "PIT-9"]),
    ("26_v018_nested3_folder", &["META-9", "PIT-9"]),
    ("27_v018_parts_tacocat", &["META-9", "PIT-9"]),
    ("31_refbug_upstream_zip_nested", &["ZIP-11"]),
];

/// Fixtures whose roots are single rasters of several sensors.
fn is_of_several_sensors(fixture: &str) -> bool {
    ["flat", "v1_", "columns", "v018_flat"]
        .iter()
        .any(|kind| fixture.contains(kind))
}

#[test]
fn a_deep_check_finds_the_known_defects_and_nothing_else() {
    let workspace = Workspace::new();
    each_dataset(|dataset, _, fixture| {
        let arguments = [
            "validate".as_ref(),
            dataset.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ];
        let report = workspace.studio(arguments).expect_no_panic().json();
        let codes = report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|f| f["rule"].as_str().expect("a rule").to_owned());
        // Most of these datasets have no keywords, and the flat ones have scenes of several
        // sensors: no defects of a tool.
        let codes: std::collections::BTreeSet<String> = codes
            .filter(|code| {
                code != "COL-9" && !(code.starts_with("CON-") && is_of_several_sensors(fixture))
            })
            .collect();
        let known = KNOWN_DEFECTS
            .iter()
            .find(|(name, _)| fixture == *name || fixture.split('/').next() == Some(*name));
        let known: &[&str] = known.map_or(&[], |(_, codes)| codes);
        assert!(
            codes.iter().eq(known.iter()),
            "{fixture}: found {codes:?}, known are {known:?}"
        );
    });
}

#[test]
fn a_repair_leaves_no_error_and_every_byte() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    each_dataset(|dataset, expected, fixture| {
        // Windows makes no folder with the name of a device.
        let device = cfg!(windows)
            && expected["files"]
                .as_object()
                .expect("files")
                .keys()
                .any(|member| member.contains("/aux/"));
        let name = if dataset.is_dir() && !device {
            "mended"
        } else {
            "mended.tacozip"
        };
        let mended = workspace.path(name);
        let arguments = [
            "repair".as_ref(),
            dataset.as_os_str(),
            "-o".as_ref(),
            mended.as_os_str(),
            "--overwrite".as_ref(),
        ];
        workspace.studio(arguments).expect_code(0);
        for (member, wanted) in expected["files"].as_object().expect("files") {
            let id = member.strip_prefix("DATA/").expect("a file under DATA");
            workspace
                .studio([
                    "read".as_ref(),
                    mended.as_os_str(),
                    id.as_ref(),
                    "--out".as_ref(),
                    out.as_os_str(),
                ])
                .expect_code(0);
            assert_eq!(
                sha256_of(&out),
                wanted["sha256"],
                "{fixture}: bytes of {id} after the repair"
            );
            fs::remove_file(&out).expect("the file just written");
        }
    });
}
