//! Padding: the padding that `create` adds is valid, hidden from readers of samples, accepted by the official reader, and
//! described by real ids; also the commands for fixes.

use serde_json::json;

use crate::support::Workspace;

#[test]
fn create_pads_what_is_missing_and_the_official_reader_opens_it() {
    let workspace = Workspace::new();
    for scene in 0..5 {
        for (name, skip) in [("before.txt", 9), ("label.txt", 2), ("s2/t0.txt", 3), ("s2/t1.txt", 1)] {
            if scene != skip && !(scene == 3 && name.starts_with("s2")) {
                workspace.write(&format!("scenes/scene_{scene}/{name}"), format!("{scene} {name}"));
            }
        }
    }
    let collection = json!({
        "id": "padded", "description": "Padded.", "dataset_version": "1.0.0", "licenses": ["CC-BY-4.0"],
        "providers": [{ "name": "N", "role": "producer" }], "tasks": ["classification"], "keywords": ["padding"]
    });
    workspace.write("collection.json", collection.to_string());
    let create = |out: &str, more: &[&str]| {
        let fixed = ["create", "scenes", "-o", out, "--collection", "collection.json"];
        workspace.studio(fixed.iter().chain(more))
    };
    assert_ne!(create("refused.tacozip", &[]).code(), 0, "an odd root is not written by itself");
    for out in ["padded.tacozip", "padded"] {
        create(out, &["--fill-missing", "--pad-to", "4"]).expect_code(0);
        let report = workspace.studio(["validate", out, "--deep", "--json"]).expect_code(0).json();
        assert_eq!(report["findings"], json!([]), "{out}: {report}");
        let listed = workspace.studio(["read", out, "scene_3"]).expect_code(0).stdout;
        assert!(listed.contains("before.txt") && !listed.contains("TACOPAD"), "{listed}");
        let ran = workspace.python("padding.py", [out]).expect_code(0);
        assert!(ran.stdout.starts_with("ok"), "{ran}");
    }
}
