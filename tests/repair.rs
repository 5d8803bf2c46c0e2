//! `repair` fixes what needs no judgement, keeps every byte of data, reports its changes, and
//! refuses what it must not touch.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::rules::{FILES, Files, Good, ROOTS};
use crate::support::{Ran, sha256_of};

fn repair(good: &Good, from: &Path, to: &Path) -> Ran {
    good.workspace.studio([
        OsStr::new("repair"),
        from.as_os_str(),
        OsStr::new("-o"),
        to.as_os_str(),
        OsStr::new("--json"),
    ])
}

/// SHA-256 of every FILE, read through the program.
fn hashes(good: &Good, path: &Path) -> BTreeMap<String, String> {
    let out = good.workspace.path("payload.bin");
    let mut hashes = BTreeMap::new();
    for id in ROOTS
        .iter()
        .flat_map(|root| FILES.iter().map(move |file| format!("{root}/{file}")))
    {
        let arguments = [
            "read".as_ref(),
            path.as_os_str(),
            id.as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ];
        good.workspace.studio(arguments).expect_code(0);
        hashes.insert(id, sha256_of(&out));
        std::fs::remove_file(&out).expect("the file just written");
    }
    hashes
}

fn codes(list: &Json) -> Vec<String> {
    let code = |finding: &Json| finding["rule"].as_str().expect("a rule").to_owned();
    let mut codes: Vec<String> = list.as_array().expect("a list").iter().map(code).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// Defects of tools that occur in ZIP and FOLDER alike.
fn spoil(files: &mut Files) {
    files.drop_column("METADATA/level0.parquet", "internal:current_id");
    files.json(|collection| {
        collection["taco:pit_schema"]["hierarchy"]["1"] = json!([]);
        collection["taco:pit_schema"]["shape"] = json!([9, 9]);
        collection["extent"] = json!({
            "spatial": [-70, 43, -60, 45],
            "temporal": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
        });
    });
}

#[test]
fn repair_fixes_what_needs_no_judgement_and_keeps_every_byte() {
    let good = Good::new();
    let mut archive = Files::of_zip(&good.zip);
    spoil(&mut archive);
    archive.set_integer("METADATA/level1.parquet", "internal:offset", 1, |at| at + 1);
    archive.put("README.md", "hello");
    let zip = good.workspace.write("spoilt.tacozip", archive.to_zip());
    let mut loose = Files::of_folder(&good.folder);
    spoil(&mut loose);
    let folder = good.workspace.path("spoilt");
    loose.write_folder(&folder);
    let cases = [
        (
            &zip,
            "mended.tacozip",
            vec![
                "COL-11", "META-1", "META-9", "PIT-7", "PIT-8", "ZIP-7", "ZIP-9",
            ],
        ),
        (
            &folder,
            "mended",
            vec!["COL-11", "META-1", "META-9", "PIT-7", "PIT-8"],
        ),
    ];
    for (from, to, mended) in cases {
        let (before, to) = (sha_of_all(from), good.workspace.path(to));
        let said = repair(&good, from, &to).expect_code(0).json();
        assert_eq!(codes(&said["repaired"]), mended, "{said}");
        assert_eq!(
            (&said["left"], &said["valid"]),
            (&json!([]), &json!(true)),
            "{said}"
        );
        assert_eq!(hashes(&good, &to), hashes(&good, &good.zip));
        assert_eq!(sha_of_all(from), before, "the input was changed");
        let shown = good
            .workspace
            .studio(["inspect".as_ref(), to.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        assert_eq!(
            shown["collection"]["extent"]["spatial"],
            json!([10.0, 43.0, 12.0, 45.0])
        );
        assert_eq!(
            shown["collection"]["extent"]["temporal"][0],
            "2020-01-01T00:00:00Z"
        );
    }
}

fn sha_of_all(path: &Path) -> Vec<String> {
    if path.is_dir() {
        crate::support::files_below(path)
            .iter()
            .map(|name| sha256_of(&path.join(name)))
            .collect()
    } else {
        vec![sha256_of(path)]
    }
}

#[test]
fn findings_that_need_a_decision_are_listed_as_left() {
    let good = Good::new();
    let mut files = Files::of_folder(&good.folder);
    files.json(|collection| collection["licenses"] = json!([]));
    let broken = good.workspace.path("broken");
    files.write_folder(&broken);
    let said = repair(&good, &broken, &good.workspace.path("out"))
        .expect_code(1)
        .json();
    assert_eq!(
        (codes(&said["left"]), &said["repaired"]),
        (vec!["COL-2".to_owned()], &json!([]))
    );
}

#[test]
fn damaged_data_is_refused_and_nothing_written() {
    let good = Good::new();
    let mut bytes = std::fs::read(&good.zip).expect("the archive");
    let at = bytes
        .windows(10)
        .position(|window| window == b"before.bin")
        .expect("a member")
        + 12;
    bytes[at] ^= 1;
    let broken = good.workspace.write("broken.tacozip", bytes);
    let out = good.workspace.path("out.tacozip");
    let ran = repair(&good, &broken, &out).expect_code(2);
    assert!(ran.stderr.contains("damaged"), "{ran}");
    assert!(!out.exists());
}

#[test]
fn the_dataset_itself_is_never_the_output() {
    let good = Good::new();
    let before = sha256_of(&good.zip);
    let arguments = [
        "repair".as_ref(),
        good.zip.as_os_str(),
        "-o".as_ref(),
        good.zip.as_os_str(),
        "--overwrite".as_ref(),
    ];
    good.workspace.studio(arguments).expect_code(2);
    assert_eq!(sha256_of(&good.zip), before);
}

#[test]
fn the_lost_class_comes_back_from_the_pixels() {
    let folder = crate::support::tests_folder().join("fixtures");
    let vectors =
        std::fs::read_to_string(folder.join("vectors/geotiff_stats_exact.json")).expect("vectors");
    let vectors: Json = serde_json::from_str(&vectors).expect("JSON");
    let good = Good::new();
    let mended = good.workspace.path("mended");
    let said = repair(
        &good,
        &folder.join("golden/04_nested2_folder/change"),
        &mended,
    )
    .expect_code(0)
    .json();
    assert!(
        codes(&said["repaired"]).contains(&"STAT-1".to_owned()),
        "{said}"
    );
    assert!(
        !codes(&said["left"])
            .iter()
            .any(|code| code.starts_with("STAT")),
        "{said}"
    );
    let sql = r#"SELECT l0.id AS scene, l1."geotiff:stats" AS stats FROM level1 l1 JOIN level0 l0
        ON l1."internal:parent_id" = l0."internal:current_id" WHERE l1.id LIKE 'label%'"#;
    let ran = good.workspace.studio([
        "query".as_ref(),
        mended.as_os_str(),
        "--sql".as_ref(),
        sql.as_ref(),
        "--json".as_ref(),
    ]);
    let mut compared = 0;
    for line in ran.expect_code(0).stdout.lines() {
        let row: Json = serde_json::from_str(line).expect("a row");
        let number: String = row["scene"]
            .as_str()
            .expect("an id")
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let Some(band) = vectors[format!("cd_{}_label.tif", number.trim_start_matches('0'))].get(0)
        else {
            continue;
        };
        for class in 0..3 {
            let expected = band["class_probabilities"][class.to_string()]
                .as_f64()
                .unwrap_or(0.0);
            let found = row["stats"][0][class].as_f64().expect("a share");
            assert!(
                (found - expected).abs() < 1e-7,
                "{row} {class}: {found} is not {expected}"
            );
        }
        compared += 1;
    }
    assert!(compared >= 3, "only {compared} labels compared");
}
