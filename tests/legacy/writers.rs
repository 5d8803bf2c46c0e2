//! Small datasets of old releases of the official writers, which `tests/interop/writers.py` wrote: they open with all files, and what
//! differs from today's layout is no error.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::support::{Workspace, sha256_of, tests_folder};

#[test]
fn datasets_of_old_releases_open_with_all_files() {
    let folder = tests_folder().join("fixtures/writers");
    let expected = fs::read_to_string(folder.join("expected.json")).expect("is there");
    let expected: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&expected).expect("is JSON");
    assert!(expected.len() >= 4);
    let workspace = Workspace::new();
    for (name, files) in &expected {
        let path = folder.join(name);
        let out = workspace.path("out");
        for (id, sha256) in files {
            workspace.read_into(&path, id, &out);
            assert_eq!(sha256_of(&out), *sha256, "{name}: {id}");
        }
        let report: Json = workspace.studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref(), "--json".as_ref()]).json();
        let findings = report["findings"].as_array().expect("a list");
        let errors: Vec<&Json> = findings.iter().filter(|finding| finding["severity"] == "error").collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}
