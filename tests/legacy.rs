//! Other generations: TORTILLA 0.5, TACO 0.2 and TACO 3 are read as recorded by an independent
//! reader, single files and parts; damaged files give reasons. Migration, editing and writing are
//! in the submodules.

mod damage;
mod incomplete;
mod migrate;
mod stream;
mod write;
mod writers;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use taco_studio::model::Rule;

use crate::support::{Workspace, fixtures, sha256_of};

pub use write::collection as taco_collection;

/// The rules that a test of this module sees broken.
pub fn rules() -> impl Iterator<Item = Rule> {
    damage::rules().chain([writers::RULE])
}

/// Path of `name` in the golden set `set`.
pub fn golden(set: &str, name: &str) -> PathBuf {
    let folders = fixtures("golden", "TACO_STUDIO_GOLDEN");
    folders
        .iter()
        .find(|folder| folder.ends_with(set))
        .unwrap_or_else(|| panic!("no golden set {set}"))
        .join(name)
}

/// Calls `check(dataset, expected, fixture name)` for every golden dataset of these kinds.
pub fn each(kind: &str, mut check: impl FnMut(&Path, &Json, &str)) {
    let mut seen = 0;
    for folder in fixtures("golden", "TACO_STUDIO_GOLDEN") {
        let Ok(text) = fs::read_to_string(folder.join("expected.json")) else {
            continue;
        };
        let expected: Json = serde_json::from_str(&text).expect("expected.json");
        for (name, expected) in expected.as_object().expect("an object of datasets") {
            if expected["kind"] == kind {
                check(
                    &folder.join(name),
                    expected,
                    &format!(
                        "{}/{name}",
                        folder.file_name().expect("a name").to_string_lossy()
                    ),
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 2, "only {seen} datasets of kind {kind}");
}

/// (ids from the root, entry) of every FILE of an expectation.
pub fn files_of(expected: &Json) -> Vec<(String, Json)> {
    fn walk(tortilla: &Json, prefix: &str, found: &mut Vec<(String, Json)>) {
        for item in tortilla["items"].as_array().expect("items") {
            let path = format!("{prefix}{}", item["id"].as_str().expect("an id"));
            match item.get("children") {
                Some(children) => walk(children, &format!("{path}/"), found),
                None => found.push((path, item.clone())),
            }
        }
    }
    let mut found = Vec::new();
    walk(expected, "", &mut found);
    found
}

fn inspect(workspace: &Workspace, dataset: &Path) -> Json {
    workspace
        .studio(["inspect".as_ref(), dataset.as_os_str(), "--json".as_ref()])
        .expect_code(0)
        .json()
}

/// The rows returned by a statement.
pub fn query(workspace: &Workspace, dataset: &Path, sql: &str) -> Json {
    rows_of(workspace.studio([
        "query".as_ref(),
        dataset.as_os_str(),
        "--sql".as_ref(),
        sql.as_ref(),
        "--json".as_ref(),
    ]))
}

fn rows_of(ran: crate::support::Ran) -> Json {
    let ran = ran.expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).expect("a row"))
        .collect()
}

#[test]
fn headers_and_columns_are_those_that_an_independent_reader_saw() {
    let workspace = Workspace::new();
    each("v1", |dataset, expected, fixture| {
        let seen = inspect(&workspace, dataset);
        let taco = expected["magic"] == "WX";
        assert_eq!(
            seen["format"],
            if taco { "taco" } else { "tortilla" },
            "{fixture}"
        );
        let file = &seen["tortilla"]["files"][0];
        for (ours, theirs) in [
            ("magic", "magic"),
            ("footer_offset", "footer_offset"),
            ("footer_length", "footer_length"),
            ("partitions", "data_partitions"),
            ("collection_offset", "collection_offset"),
            ("collection_length", "collection_length"),
        ] {
            assert_eq!(
                &file[ours],
                expected.get(theirs).unwrap_or(&Json::Null),
                "{fixture}: {ours}"
            );
        }
        if taco {
            assert_eq!(
                seen["collection"], expected["collection"],
                "{fixture}: collection"
            );
        }
        assert_eq!(
            seen["levels"][0]["rows"], expected["footer"]["rows"],
            "{fixture}: rows"
        );
        let columns = seen["levels"][0]["columns"]
            .as_array()
            .expect("columns")
            .iter();
        let own = columns.filter(|column| {
            let name = column["name"].as_str().expect("a name");
            !matches!(name, "id" | "type") && !name.starts_with("internal:")
        });
        // These files contain both Arrow string types, which are treated as equal.
        let plain = |dtype: &Json| {
            dtype
                .as_str()
                .expect("a type")
                .replace("large_string", "string")
        };
        let own: Vec<(String, String)> = own
            .map(|column| {
                (
                    column["name"].as_str().expect("a name").into(),
                    plain(&column["type"]),
                )
            })
            .collect();
        let wanted: Vec<(String, String)> = expected["footer"]["columns"]
            .as_array()
            .expect("columns")
            .iter()
            .map(|column| {
                (
                    column[0].as_str().expect("a name").into(),
                    plain(&column[1]),
                )
            })
            .collect();
        assert_eq!(own, wanted, "{fixture}: columns");
    });
}

#[test]
fn rows_have_the_values_of_the_footer() {
    let workspace = Workspace::new();
    each("v1", |dataset, expected, fixture| {
        let rows = query(&workspace, dataset, "SELECT * FROM level0");
        let rows = rows.as_array().expect("rows");
        let wanted = expected["footer"]["data"].as_array().expect("rows");
        assert_eq!(rows.len(), wanted.len(), "{fixture}");
        for (row, wanted) in rows.iter().zip(wanted) {
            assert_eq!(
                row["id"], wanted["tortilla:id"],
                "{fixture}: the id of the common model"
            );
            for (name, value) in wanted.as_object().expect("a row") {
                let same = match (row[name].as_f64(), value.as_f64()) {
                    (Some(ours), Some(theirs)) => ours == theirs,
                    _ => row[name] == *value,
                };
                assert!(same, "{fixture}: {name} is {}, not {value}", row[name]);
            }
        }
    });
}

#[test]
fn every_file_of_the_older_generations_reads_to_its_bytes() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    each("v1", |dataset, expected, fixture| {
        for (path, wanted) in files_of(expected) {
            workspace.read_into(dataset, &path, &out);
            assert_eq!(sha256_of(&out), wanted["sha256"], "{fixture}: {path}");
            let place = workspace
                .studio(["read".as_ref(), dataset.as_os_str(), path.as_ref()])
                .expect_code(0);
            let range = format!("/vsisubfile/{}_{},", wanted["offset"], wanted["length"]);
            assert!(
                place.stdout.starts_with(&range),
                "{fixture}: {path} should be at {range}: {place}"
            );
            fs::remove_file(&out).expect("the file just written");
        }
    });
}

#[test]
fn outputs_of_the_official_tools_are_valid() {
    let workspace = Workspace::new();
    each("v1", |dataset, _, fixture| {
        let report = workspace
            .studio(["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        let codes: Vec<&Json> = report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|finding| &finding["rule"])
            .collect();
        // The tool of TACO 0.2 leaves curators empty; that of TORTILLA 0.5 writes columns of type
        // null.
        assert!(
            codes.iter().all(|code| **code == "TOR-15"),
            "{fixture}: {report}"
        );
    });
}

/// The profile of the specification refuses what the official writer of 0.2 makes of a COLLECTION:
/// no curators, lists of boxes, ISO 8601, and words in its own spelling.
#[test]
fn the_profile_of_the_specification_refuses_the_forms_of_the_official_tools() {
    let workspace = Workspace::new();
    let taco = golden("46_v1_taco_nested", "nested.taco");
    let checked = |path: &Path, profile: &str, code: i32| {
        let report = workspace
            .studio([
                "validate".as_ref(),
                path.as_os_str(),
                "--json".as_ref(),
                "--profile".as_ref(),
                profile.as_ref(),
            ])
            .expect_code(code)
            .json();
        let findings = report["findings"].as_array().expect("findings").iter();
        let text = |value: &Json| value.as_str().expect("text").to_owned();
        findings
            .map(|one| [text(&one["rule"]), text(&one["severity"]), text(&one["at"])])
            .collect::<Vec<_>>()
    };
    let finding = |rule: &str, severity: &str, at: &str| {
        [
            rule.to_owned(),
            severity.to_owned(),
            format!("COLLECTION.json {at}"),
        ]
    };
    assert_eq!(
        checked(&taco, "tools", 0),
        [finding("TOR-15", "warning", "curators")]
    );
    let at = [
        "extent/spatial",
        "extent/temporal",
        "task",
        "split_strategy",
    ];
    // The official writer also leaves the core column `stac:time_end` empty.
    let empty = ["level0", "level1"].map(|level| {
        [
            "TOR-17".to_owned(),
            "warning".to_owned(),
            format!("{level} stac:time_end"),
        ]
    });
    let mut wanted = empty.to_vec();
    wanted.push(finding("TOR-15", "error", "curators"));
    wanted.extend(at.map(|at| finding("TOR-14", "error", at)));
    assert_eq!(checked(&taco, "spec", 1), wanted);
    // In the form of the specification the same file has no other finding in both.
    let copy = workspace.path("text.taco");
    fs::copy(&taco, &copy).expect("copies");
    let set = [
        r#"curators=[{"name": "A. Curator"}]"#,
        r#"extent={"spatial": [-80.5, -8.0, 6.2, 50.0], "temporal": [999993600000, 1000425600000]}"#,
        "task=Classification",
        "split_strategy=other",
    ];
    let mut call = vec!["edit".into(), copy.clone().into_os_string()];
    call.extend(set.iter().flat_map(|set| ["--set".into(), set.into()]));
    workspace.studio(call).expect_code(0);
    assert_eq!(checked(&copy, "spec", 0), empty);
    assert_eq!(checked(&copy, "tools", 0), Vec::<[String; 3]>::new());
    // What violates the specification in both profiles is refused before anything is written.
    let before = fs::read(&copy).expect("reads");
    for (set, rule) in [
        ("task=farming", "TOR-13"),
        ("licenses=null", "TOR-10"),
        ("title=7", "TOR-12"),
        ("extent=null", "TOR-10"),
    ] {
        let said = workspace
            .studio([
                "edit".as_ref(),
                copy.as_os_str(),
                "--set".as_ref(),
                set.as_ref(),
            ])
            .expect_code(2);
        assert!(said.stderr.contains(rule), "{set}: {said}");
        assert_eq!(fs::read(&copy).expect("reads"), before, "{set}");
    }
    // A rule that the user sets has that severity in any profile.
    let strict = [
        "validate".as_ref(),
        taco.as_os_str(),
        "--rule".as_ref(),
        "TOR-15=error".as_ref(),
    ];
    workspace.studio(strict).expect_code(1);
    let lenient = [
        "validate".as_ref(),
        copy.as_os_str(),
        "--profile".as_ref(),
        "spec".as_ref(),
    ];
    workspace.studio(lenient).expect_code(0);
}

#[test]
fn parts_open_alone_and_together() {
    let workspace = Workspace::new();
    let part = golden("44_v1_parts", "parts.0000.part.tortilla");
    let folder = part.parent().expect("a folder");
    let alone = inspect(&workspace, &part);
    assert_eq!(
        (
            &alone["levels"][0]["rows"],
            &alone["tortilla"]["missing_parts"]
        ),
        (&Json::from(3), &Json::Array(Vec::new()))
    );
    for whole in [folder.to_path_buf(), folder.join("parts.*.part.tortilla")] {
        let seen = inspect(&workspace, &whole);
        assert_eq!(seen["levels"][0]["rows"], 5, "{seen}");
        let rows = query(
            &workspace,
            &whole,
            "SELECT id, \"internal:source_file\" AS part, \"internal:gdal_vsi\" AS vsi FROM data",
        );
        let last = &rows[4];
        assert_eq!(last["part"], "parts.0001.part.tortilla");
        let wanted: Json =
            serde_json::from_str(&fs::read_to_string(folder.join("expected.json")).expect("reads"))
                .expect("JSON");
        let item = wanted["parts.0001.part.tortilla"]["items"]
            .as_array()
            .expect("items")
            .last()
            .expect("an item")
            .clone();
        let vsi = last["vsi"].as_str().expect("a path");
        assert!(
            vsi.starts_with(&format!(
                "/vsisubfile/{}_{},",
                item["offset"], item["length"]
            )),
            "{vsi}"
        );
        assert!(vsi.ends_with("/parts.0001.part.tortilla"), "{vsi}");
        let id = item["id"].as_str().expect("an id");
        let out = workspace.path("bytes");
        workspace.read_into(&whole, id, &out);
        assert_eq!(sha256_of(&out), item["sha256"]);
        workspace
            .studio(["validate".as_ref(), whole.as_os_str()])
            .expect_code(0);
    }
    // A single part is readable but incomplete.
    let lone = workspace.path("parts.0001.part.tortilla");
    fs::copy(folder.join("parts.0001.part.tortilla"), &lone).expect("copies");
    assert_eq!(inspect(&workspace, &lone)["levels"][0]["rows"], 2);
    let report = workspace
        .studio(["validate".as_ref(), lone.as_os_str(), "--json".as_ref()])
        .expect_code(1)
        .json();
    assert_eq!(
        (&report["findings"][0]["rule"], &report["findings"][0]["at"]),
        (&"TOR-5".into(), &"parts.0000.part.tortilla".into())
    );
}

#[test]
fn boxes_and_times_filter_the_old_columns() {
    let workspace = Workspace::new();
    let flat = golden("44_v1_parts", "");
    let found = |arguments: &[&str]| {
        let mut all = vec!["query".into(), flat.clone().into_os_string()];
        all.extend(arguments.iter().map(std::ffi::OsString::from));
        all.push("--json".into());
        rows_of(workspace.studio(all))
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["id"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    // Points as text, POINT (-77.852045 24.600445), and times in seconds.
    assert_eq!(found(&["--bbox=-78,24,-77,25"]), ["bahamas_rgb"]);
    assert_eq!(
        found(&["--datetime", "2001-09-10/2001-09-11"]),
        ["florida_nir", "michigan_tmax"]
    );
}

/// What the map draws: places from text and two-dimensional shapes, times in seconds.
#[test]
fn the_map_reads_the_old_columns_as_the_command_line_does() {
    use taco_studio::ops::{FootprintRequest, footprints, times_of};
    let ctx = taco_studio::jobs::JobContext::default();
    let reader = taco_studio::container::open(&golden("44_v1_parts", ""), &ctx).expect("opens");
    let rows = reader.levels().rows(0);
    for source in [None, Some("stac:centroid".to_owned())] {
        let found = footprints(
            reader.levels(),
            &FootprintRequest { level: 0, source },
            &ctx,
        )
        .expect("has places");
        assert_eq!(
            (found.rows(), found.placed_row_count()),
            (rows, rows),
            "{}",
            found.source
        );
    }
    let times = times_of(reader.levels(), 0, "stac:time_start", &ctx).expect("has times");
    const YEAR: i64 = 31_557_600_000_000;
    assert!(
        times
            .iter()
            .all(|time| time.is_some_and(|time| (20 * YEAR..80 * YEAR).contains(&time))),
        "{times:?}"
    );
}

#[test]
fn the_next_generation_reads_as_it_is() {
    let workspace = Workspace::new();
    let out = workspace.path("bytes");
    each("v3", |dataset, expected, fixture| {
        let seen = inspect(&workspace, dataset);
        assert_eq!(
            (&seen["format"], &seen["id"]),
            (&"taco3".into(), &expected["collection"]["id"]),
            "{fixture}"
        );
        assert_eq!(
            seen["collection"], expected["collection"],
            "{fixture}: its contract"
        );
        for (level, name) in ["sample", "children"].iter().enumerate() {
            assert_eq!(
                seen["levels"][level]["rows"], expected["levels"][name]["rows"],
                "{fixture}: rows of {name}"
            );
        }
        let ids: Vec<Json> = expected["levels"]["sample"]["data"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["id"].clone())
            .collect();
        for (member, wanted) in expected["files"].as_object().expect("files") {
            let (number, file) = member
                .strip_prefix("DATA/")
                .and_then(|path| path.split_once('/'))
                .expect("a path");
            let id = ids[number.parse::<usize>().expect("a number")]
                .as_str()
                .expect("an id");
            let sample = format!("{id}/{file}");
            workspace.read_into(dataset, &sample, &out);
            assert_eq!(sha256_of(&out), wanted["sha256"], "{fixture}: {sample}");
            fs::remove_file(&out).expect("the file just written");
        }
        let rows = query(
            &workspace,
            dataset,
            "SELECT \"l0:id\" AS sample, \"l1:id\" AS file, \"l1:internal:gdal_vsi\" AS vsi FROM \
                l1",
        );
        let rows = rows.as_array().expect("rows");
        assert_eq!(
            rows.len(),
            expected["files"].as_object().expect("files").len(),
            "{fixture}"
        );
        let vsi = rows[4]["vsi"].as_str().expect("a path");
        let same = if dataset.is_dir() {
            vsi.ends_with("DATA/1/after.tif")
        } else {
            vsi.starts_with("/vsisubfile/")
        };
        assert!(same, "{fixture}: {vsi}");
        workspace
            .studio(["validate".as_ref(), dataset.as_os_str()])
            .expect_code(0);
    });
}
