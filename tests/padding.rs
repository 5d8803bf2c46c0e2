//! Padding: the padding that `create` adds is valid, hidden from readers of samples, accepted by
//! the official reader, and described by real ids; also the commands for fixes.

use serde_json::json;

use crate::support::Workspace;

#[test]
fn create_pads_what_is_missing_and_the_official_reader_opens_it() {
    let workspace = Workspace::new();
    for scene in 0..5 {
        for (name, skip) in [
            ("before.txt", 9),
            ("label.txt", 2),
            ("s2/t0.txt", 3),
            ("s2/t1.txt", 1),
        ] {
            if scene != skip && !(scene == 3 && name.starts_with("s2")) {
                workspace.write(
                    &format!("scenes/scene_{scene}/{name}"),
                    format!("{scene} {name}"),
                );
            }
        }
    }
    let collection = json!({
        "id": "padded", "description": "Padded.", "dataset_version": "1.0.0", "licenses": [
            "CC-BY-4.0",
        ],
        "providers": [{
            "name": "N",
            "role": "producer",
        }], "tasks": ["classification"], "keywords": ["padding"]
    });
    workspace.write("collection.json", collection.to_string());
    let create = |out: &str, more: &[&str]| {
        let fixed = [
            "create",
            "scenes",
            "-o",
            out,
            "--collection",
            "collection.json",
        ];
        workspace.studio(fixed.iter().chain(more))
    };
    assert_ne!(
        create("refused.tacozip", &[]).code(),
        0,
        "an odd root is not written by itself"
    );
    for out in ["padded.tacozip", "padded"] {
        create(out, &["--fill-missing", "--pad-to", "4"]).expect_code(0);
        let report = workspace
            .studio(["validate", out, "--deep", "--json"])
            .expect_code(0)
            .json();
        assert_eq!(report["findings"], json!([]), "{out}: {report}");
        let listed = workspace
            .studio(["read", out, "scene_3"])
            .expect_code(0)
            .stdout;
        assert!(
            listed.contains("before.txt") && !listed.contains("TACOPAD"),
            "{listed}"
        );
        let ran = workspace.python("padding.py", [out]).expect_code(0);
        assert!(ran.stdout.starts_with("ok"), "{ran}");
    }
}

#[test]
fn tortillas_below_the_root_are_padded_and_schemas_aligned_when_asked() {
    let workspace = Workspace::new();
    for scene in 0..3 {
        for part in 0..2 {
            workspace.write(&format!("scenes/scene_{scene}/t{part}.txt"), "x");
        }
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    let create = |out: &str, more: &[&str]| {
        let fixed = [
            "create",
            "scenes",
            "-o",
            out,
            "--collection",
            "collection.json",
        ];
        workspace.studio(fixed.iter().chain(more))
    };
    create("padded", &["--pad-to", "1:4", "--pad-to", "5"]).expect_code(0);
    workspace
        .studio(["validate", "padded", "--deep"])
        .expect_code(0);
    let levels = workspace
        .studio(["inspect", "padded", "--json"])
        .expect_code(0)
        .json()["levels"]
        .clone();
    assert_eq!(
        (&levels[0]["rows"], &levels[1]["rows"]),
        (&json!(5), &json!(20)),
        "padded FOLDERs are padded alike"
    );
    let refused = create("no", &["--pad-to", "scene_9:4"]).expect_code(2);
    assert!(
        refused.stderr.contains("no such FOLDER") && refused.stderr.contains("scene_9"),
        "{refused}"
    );
    assert!(
        create("no", &["--pad-to", "4:2"])
            .expect_code(2)
            .stderr
            .contains("no level 4")
    );
    create("no", &["--pad-to", "0"]).expect_code(2);
    workspace.write(
        "table.csv",
        "path,gain\nscene_0/t0.txt,1.5\nscene_0/t1.txt,2.5\n",
    );
    create("aligned", &["--metadata", "table.csv", "--schema", "align"]).expect_code(0);
    let table = workspace
        .studio(["read", "aligned", "scene_1", "--format", "csv"])
        .expect_code(0)
        .stdout;
    assert!(table.starts_with("id,type,gain"), "{table}");
}

#[test]
fn the_order_of_paddings_makes_no_difference() {
    let workspace = Workspace::new();
    for scene in 0..3 {
        for step in ["before", "after"] {
            for part in 0..3 {
                workspace.write(&format!("scenes/scene_{scene}/{step}/t{part}.txt"), "x");
            }
        }
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    let places = ["4", "2:4", "1:3", "6"];
    let mut trees = Vec::new();
    for (number, order) in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]]
        .into_iter()
        .enumerate()
    {
        let out = format!("padded_{number}");
        let mut arguments = vec![
            "create",
            "scenes",
            "-o",
            &out,
            "--collection",
            "collection.json",
        ];
        order
            .iter()
            .for_each(|&place| arguments.extend(["--pad-to", places[place]]));
        workspace.studio(arguments).expect_code(0);
        let report = workspace
            .studio(["validate", &out, "--deep", "--json"])
            .expect_code(0)
            .json();
        // A position that is padded in every tortilla has no real id, so taco:pit_schema names the
        // placeholder: PIT-9, a warning.
        let findings = report["findings"].as_array().expect("findings");
        assert!(
            findings.iter().all(|finding| finding["rule"] == "PIT-9"),
            "{order:?}: {report}"
        );
        let seen = workspace
            .studio(["inspect", &out, "--json"])
            .expect_code(0)
            .json();
        let rows: Vec<u64> = seen["levels"]
            .as_array()
            .expect("levels")
            .iter()
            .filter_map(|level| level["rows"].as_u64())
            .collect();
        assert_eq!(
            rows,
            [12, 36, 144],
            "{order:?}: the least common multiple of 4 and 6, and full placeholders"
        );
        trees.push(
            workspace
                .studio(["query", &out, "--sql", "SELECT id FROM level2", "--json"])
                .expect_code(0)
                .stdout,
        );
    }
    assert!(trees.iter().all(|tree| *tree == trees[0]));
    let refused = workspace.studio([
        "create",
        "scenes",
        "-o",
        "no",
        "--collection",
        "collection.json",
        "--pad-to",
        "999983",
        "--pad-to",
        "999979",
    ]);
    assert!(refused.expect_code(2).stderr.contains("multiple of"));
}

#[test]
fn a_folder_is_read_as_a_table() {
    let workspace = Workspace::new();
    crate::support::nested_scenes(&workspace, 2);
    let create = [
        "create",
        "scenes",
        "-o",
        "set.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
        "--pad-to",
        "3",
    ];
    workspace.studio(create).expect_code(0);
    let read = |arguments: &[&str]| {
        workspace
            .studio(["read", "set.tacozip"].iter().chain(arguments))
            .expect_code(0)
            .stdout
    };
    let rows: Vec<serde_json::Value> = read(&["--format", "json"])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(rows.len(), 2, "padding is hidden");
    assert_eq!(
        (&rows[1]["id"], &rows[1]["cloud_cover"]),
        (&json!("scene_9"), &json!(10))
    );
    assert!(
        rows[1]["internal:gdal_vsi"]
            .as_str()
            .is_some_and(|vsi| vsi.starts_with("/vsisubfile/")),
        "{rows:?}"
    );
    let csv = read(&["scene_9", "--format", "csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("id,type")
            && lines.len() == 4
            && lines[1].starts_with("after.tif,FILE"),
        "{csv}"
    );
    assert!(read(&["scene_9", "--format", "table"]).contains("label.tif"));
    let text = read(&["scene_9"]);
    assert!(
        text.contains("FILE\tlabel.tif"),
        "the list is as it was: {text}"
    );
    read(&["scene_9", "--format", "parquet", "--out", "scene.parquet"]);
    assert!(workspace.path("scene.parquet").exists());
}

/// `create` says what it fills in by itself, what it leaves out, and once each what `validate`
/// warns of.
#[test]
fn create_says_what_it_assumes_and_what_validate_warns_of() {
    let workspace = Workspace::new();
    for scene in 0..3 {
        workspace.write(&format!("scenes/s{scene}.txt"), "x");
    }
    let collection = |version: Option<&str>| {
        let mut fields = json!({
            "id": "scenes", "description": "Scenes.", "licenses": ["mine", "yours"], "providers": [{
                "name": "N",
                "role": "producer",
            }],
            "tasks": ["farming"], "keywords": ["scenes"]
        });
        if let Some(version) = version {
            fields["dataset_version"] = json!(version);
        }
        workspace.write("collection.json", fields.to_string());
    };
    let create = |out: &str, more: &[&str]| {
        let fixed = [
            "create",
            "scenes",
            "-o",
            out,
            "--collection",
            "collection.json",
        ];
        workspace
            .studio(fixed.iter().chain(more))
            .expect_code(0)
            .stderr
    };
    collection(None);
    let said = create("a.tacozip", &[]);
    assert!(
        said.contains("no dataset_version") && said.contains("0.1.0"),
        "{said}"
    );
    assert_eq!(said.matches("COL-7 at").count(), 1, "{said}");
    assert_eq!(said.matches("COL-6 at").count(), 1, "{said}");
    assert!(said.contains("1 more of COL-6"), "{said}");
    assert!(
        said.contains("no sample has a place") && said.contains("whole world"),
        "{said}"
    );
    let written = workspace
        .studio(["inspect", "a.tacozip", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        written["collection"]["taco_version"], "2.0.0",
        "the default"
    );
    assert_eq!(
        written["collection"]["extent"]["spatial"],
        json!([-180.0, -90.0, 180.0, 90.0]),
        "the default"
    );
    collection(Some("2.0.0"));
    workspace.write(
        "table.csv",
        "path,internal:offset,internal:size,cloud\ns0.txt,1,2,3\ns1.txt,1,2,3\ns2.txt,1,2,3\n",
    );
    let said = create("b.tacozip", &["--metadata", "table.csv"]);
    assert!(
        !said.contains("dataset_version") && said.contains("internal:offset, internal:size"),
        "{said}"
    );
}
