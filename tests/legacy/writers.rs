//! Small datasets of old releases of the official writers, which `tests/interop/writers.py` wrote:
//! they open with all files, and what differs from today's layout is no error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use taco_studio::model::Rule;

use crate::support::{Workspace, sha256, sha256_of, tests_folder};

/// The rule that early layouts break.
pub const RULE: Rule = Rule::EarlyLayout;

/// Releases in names of datasets whose layout is an early one.
const EARLY: [&str; 4] = ["0.7.", "0.9.", "0.10.", "0.15.7-folder"];

/// By dataset and sample: SHA-256 of the file.
fn expected_of(folder: &Path) -> BTreeMap<String, BTreeMap<String, String>> {
    let expected = fs::read_to_string(folder.join("expected.json")).expect("is there");
    serde_json::from_str(&expected).expect("is JSON")
}

#[test]
fn datasets_of_old_releases_open_with_all_files() {
    let folder = tests_folder().join("fixtures/writers");
    let expected = expected_of(&folder);
    assert!(expected.len() >= 15);
    let workspace = Workspace::new();
    for (name, files) in &expected {
        let path = folder.join(name);
        let out = workspace.path("out");
        for (id, sha256) in files {
            workspace.read_into(&path, id, &out);
            assert_eq!(sha256_of(&out), *sha256, "{name}: {id}");
        }
        let report: Json = workspace
            .studio([
                "validate".as_ref(),
                path.as_os_str(),
                "--deep".as_ref(),
                "--json".as_ref(),
            ])
            .json();
        let findings = report["findings"].as_array().expect("a list");
        let errors: Vec<&str> = findings
            .iter()
            .filter(|finding| finding["severity"] == "error")
            .filter_map(|finding| finding["rule"].as_str())
            .collect();
        let is_early = EARLY.iter().any(|early| name.contains(early));
        let wanted = Vec::from_iter(is_early.then_some(RULE.code()));
        assert_eq!(errors, wanted, "{name}: {findings:#?}");
    }
}

/// SHA-256 of the bytes at a path for GDAL: a file, or `/vsisubfile/OFFSET_SIZE,FILE`.
fn sha256_at(vsi: &str) -> String {
    let Some((range, file)) = vsi
        .strip_prefix("/vsisubfile/")
        .and_then(|rest| rest.split_once(','))
    else {
        return sha256_of(Path::new(vsi));
    };
    let (offset, size) = range.split_once('_').expect("a range");
    let (offset, size): (usize, usize) = (
        offset.parse().expect("a number"),
        size.parse().expect("a number"),
    );
    sha256(&fs::read(file).expect("is there")[offset..offset + size])
}

#[test]
fn early_datasets_become_datasets_of_today() {
    let folder = tests_folder().join("fixtures/writers");
    let expected = expected_of(&folder);
    let workspace = Workspace::new();
    let early: Vec<_> = expected
        .iter()
        .filter(|(name, _)| EARLY.iter().any(|early| name.contains(early)))
        .collect();
    assert!(early.len() >= 6);
    for (name, files) in early {
        let path = folder.join(name);
        let written = workspace.path(&format!("{name}.new.tacozip"));
        workspace
            .studio([
                "migrate".as_ref(),
                path.as_os_str(),
                "-o".as_ref(),
                written.as_os_str(),
            ])
            .expect_code(0);
        workspace
            .studio(["validate".as_ref(), written.as_os_str(), "--deep".as_ref()])
            .expect_code(0);
        let out = workspace.path("out");
        for (id, sha256) in files {
            workspace.read_into(&written, id, &out);
            assert_eq!(sha256_of(&out), *sha256, "{name}: {id}");
        }
        let rows = |dataset: &Path| {
            let ran = workspace
                .studio([
                    "query".as_ref(),
                    dataset.as_os_str(),
                    "--format".as_ref(),
                    "json".as_ref(),
                ])
                .expect_code(0);
            let rows = ran
                .stdout
                .lines()
                .map(|line| serde_json::from_str::<BTreeMap<String, Json>>(line).expect("a row"));
            let without_places = |mut row: BTreeMap<String, Json>| {
                // Times are seconds before, and timestamps after.
                row.retain(|column, _| {
                    !column.starts_with("internal:") && !column.starts_with("stac:time_")
                });
                row
            };
            rows.map(without_places).collect::<Vec<_>>()
        };
        assert_eq!(rows(&path), rows(&written), "{name}");
        let deepest = files
            .keys()
            .map(|id| id.matches('/').count())
            .max()
            .unwrap_or(0);
        let sql = format!("SELECT \"internal:gdal_vsi\" AS path FROM level{deepest}");
        let query = [
            "query".as_ref(),
            path.as_os_str(),
            "--sql".as_ref(),
            sql.as_ref(),
            "--format".as_ref(),
            "csv".as_ref(),
        ];
        let ran = workspace.studio(query).expect_code(0);
        let found: BTreeSet<String> = ran
            .stdout
            .lines()
            .skip(1)
            .map(|line| sha256_at(line.trim_matches('"')))
            .collect();
        assert_eq!(
            found,
            files.values().cloned().collect::<BTreeSet<_>>(),
            "{name}"
        );
        // Nothing writes into an early dataset.
        let edit = [
            "edit".as_ref(),
            path.as_os_str(),
            "--set".as_ref(),
            "id=\"other\"".as_ref(),
        ];
        workspace.studio(edit).expect_code(2);
    }
}

#[test]
fn headers_of_first_releases_are_not_changed_in_place() {
    let folder = tests_folder().join("fixtures/writers");
    let workspace = Workspace::new();
    for name in ["tacotoolbox-0.2.0.taco", "tacotoolbox-0.2.5.taco"] {
        let copy = workspace.path(name);
        fs::copy(folder.join(name), &copy).expect("copies");
        let before = sha256_of(&copy);
        workspace
            .studio([
                "edit".as_ref(),
                copy.as_os_str(),
                "--set".as_ref(),
                "id=\"other\"".as_ref(),
            ])
            .expect_code(2);
        assert_eq!(sha256_of(&copy), before);
    }
}
