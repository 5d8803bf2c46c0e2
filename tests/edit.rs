//! `edit` of finished datasets: a FOLDER has its tables replaced and a ZIP the metadata behind its
//! data; the data is left alone, and both stay datasets that the official reader opens.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::support::{Workspace, flat_scenes, nested_scenes, sha256_of};

fn made(workspace: &Workspace, name: &str) -> PathBuf {
    let output = workspace.path(name);
    let arguments = [
        "create",
        "scenes",
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
        "-o",
        name,
    ];
    workspace.studio(arguments).expect_code(0);
    output
}

/// Size, inode and modification time of every file and folder below `folder`.
#[cfg(unix)]
fn identities(folder: &Path) -> BTreeMap<PathBuf, (u64, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let meta = path.symlink_metadata().expect("is there");
        found.insert(
            path.clone(),
            (meta.len(), meta.ino(), meta.mtime(), meta.mtime_nsec()),
        );
        if meta.is_dir() {
            waiting.extend(crate::support::entries(&path));
        }
    }
    found
}

fn rows(workspace: &Workspace, dataset: &Path, sql: &str) -> Vec<Json> {
    let ran = workspace.studio([
        "query".as_ref(),
        dataset.as_os_str(),
        "--json".as_ref(),
        "--sql".as_ref(),
        sql.as_ref(),
    ]);
    ran.expect_code(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn is_valid(workspace: &Workspace, dataset: &Path) {
    workspace
        .studio(["validate".as_ref(), dataset.as_os_str(), "--deep".as_ref()])
        .expect_code(0);
    let sources = workspace.path("scenes");
    let ran = workspace.python(
        "check.py",
        ["reader".as_ref(), dataset.as_os_str(), sources.as_os_str()],
    );
    assert!(ran.code() == 0 && ran.stdout.starts_with("ok"), "{ran}");
}

#[cfg(unix)]
#[test]
fn a_column_of_a_folder_changes_while_its_data_is_not_touched() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 5);
    let dataset = made(&workspace, "set");
    let before = identities(&dataset.join("DATA"));
    let old = rows(&workspace, &dataset, "SELECT * FROM data");
    // One value changes, one column is new, and the other samples keep what they have.
    workspace.write("new.csv", "path,cloud_cover,season\ntile_3.tif,77,winter\n");
    let plan = workspace
        .studio([
            "edit",
            "set",
            "--metadata",
            "new.csv",
            "--dry-run",
            "--json",
        ])
        .expect_code(0)
        .json();
    assert_eq!(
        plan,
        json!({"way": "in_place", "files": ["METADATA/level0.parquet", "COLLECTION.json"]})
    );
    let ran = workspace
        .studio(["edit", "set", "--metadata", "new.csv", "--json"])
        .expect_code(0);
    assert_eq!(
        (&ran.json()["way"], &ran.json()["replaced"]),
        (&json!("in_place"), &json!(2)),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("METADATA/level0.parquet")
            && ran.stderr.contains("data files are not touched"),
        "{ran}"
    );
    assert_eq!(identities(&dataset.join("DATA")), before);
    let mut wanted = old;
    for row in &mut wanted {
        let fields = row.as_object_mut().expect("a row");
        let changed = fields["id"] == "tile_3.tif";
        fields.insert(
            "season".into(),
            if changed { json!("winter") } else { Json::Null },
        );
        if changed {
            fields.insert("cloud_cover".into(), json!(77));
        }
    }
    assert_eq!(rows(&workspace, &dataset, "SELECT * FROM data"), wanted);
    is_valid(&workspace, &dataset);
    // The same edit again changes no file.
    let all = identities(&dataset);
    let again = workspace
        .studio(["edit", "set", "--metadata", "new.csv", "--json"])
        .expect_code(0);
    assert_eq!(
        (&again.json()["files"], identities(&dataset)),
        (&json!([]), all),
        "{again}"
    );
    workspace
        .studio(["edit", "set", "--drop", "season"])
        .expect_code(0);
    assert_eq!(identities(&dataset.join("DATA")), before);
    assert!(
        rows(&workspace, &dataset, "SELECT * FROM data")
            .iter()
            .all(|row| row.get("season").is_none())
    );
    is_valid(&workspace, &dataset);
}

/// With `TACO_STUDIO_EDIT_ROWS=1000000` and `--nocapture` the figure of a large dataset: 10 GB of
/// sparse files.
#[cfg(unix)]
#[test]
fn a_killed_edit_of_a_folder_leaves_the_old_or_the_new_values_and_its_data_untouched() {
    let count = std::env::var("TACO_STUDIO_EDIT_ROWS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000usize);
    let workspace = Workspace::new();
    let table = |round: usize| {
        let lines = (0..count).map(|row| format!("{row:07}.bin,{}\n", row + round * count));
        workspace.write(
            "new.csv",
            "path,rank\n".to_owned() + &lines.collect::<String>(),
        );
    };
    table(0);
    std::fs::rename(workspace.path("new.csv"), workspace.path("metadata.csv")).expect("renames");
    workspace.write("collection.json", crate::support::COLLECTION);
    (0..count).for_each(|row| drop(workspace.write(&format!("scenes/{row:07}.bin"), "x")));
    let dataset = made(&workspace, "set");
    for path in crate::support::entries(&dataset.join("DATA")) {
        std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(10_000))
            .expect("grows");
    }
    let before = identities(&dataset.join("DATA"));
    let arguments = ["edit", "set", "--metadata", "new.csv"].map(std::ffi::OsStr::new);
    table(1);
    let clock = std::time::Instant::now();
    workspace.studio(arguments).expect_code(0);
    let mut whole = clock.elapsed();
    println!("{count} values changed in {:.2} s", whole.as_secs_f64());
    let (mut current, mut stopped) = (1, 0);
    for round in 2..14 {
        table(round);
        // Spread over the duration of a run, and beyond. Other programs may have slowed the run
        // that was measured.
        match workspace.killed(&arguments, whole.mul_f64((round - 1) as f64 / 10.0)) {
            Some(duration) => whole = whole.min(duration),
            None => stopped += 1,
        }
        let sql = r#"SELECT min(rank - "internal:current_id") AS low,
            max(rank - "internal:current_id") AS high, count(rank) AS n FROM data"#;
        let found = rows(&workspace, &dataset, sql);
        let values =
            |round: usize| vec![json!({ "low": round * count, "high": round * count, "n": count })];
        assert!(
            found == values(current) || found == values(round),
            "round {round}: {found:?}"
        );
        if found == values(round) {
            current = round;
        }
        workspace
            .studio(["validate".as_ref(), dataset.as_os_str()])
            .expect_code(0);
    }
    assert!(
        stopped > 2,
        "the program was stopped in its work {stopped} times"
    );
    assert!(
        identities(&dataset.join("DATA")) == before,
        "inodes and times of the data are as they were"
    );
}

#[cfg(unix)]
#[test]
fn a_column_below_level_0_changes_in_the_folders_concerned_alone() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let dataset = made(&workspace, "set");
    let before = identities(&dataset.join("DATA"));
    workspace.write(
        "new.csv",
        "path,gain\nscene_9/before.tif,1.5\nscene_9/label.tif,2.5\n",
    );
    let ran = workspace
        .studio(["edit", "set", "--metadata", "new.csv", "--level", "1"])
        .expect_code(0);
    assert!(
        ran.stderr.contains("DATA/scene_9/__meta__") && !ran.stderr.contains("scene_8"),
        "{ran}"
    );
    let after = identities(&dataset.join("DATA"));
    let changed: Vec<&Path> = after
        .iter()
        .filter(|(path, now)| before.get(*path) != Some(now))
        .map(|(path, _)| path.as_path())
        .collect();
    let scene = dataset.join("DATA/scene_9");
    assert_eq!(
        changed,
        [scene.as_path(), &scene.join("__meta__")],
        "the folder's own time and its table"
    );
    let gains = rows(
        &workspace,
        &dataset,
        "SELECT id, gain FROM level1 WHERE gain IS NOT NULL ORDER BY gain",
    );
    assert_eq!(
        gains,
        [
            json!({"id": "before.tif", "gain": 1.5}),
            json!({"id": "label.tif", "gain": 2.5})
        ]
    );
    is_valid(&workspace, &dataset);
    workspace
        .studio(["edit", "set", "--drop", "gain", "--level", "1"])
        .expect_code(0);
    is_valid(&workspace, &dataset);
}

#[test]
fn an_edited_zip_and_an_edited_folder_have_the_same_metadata() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let (zip, folder) = (made(&workspace, "set.tacozip"), made(&workspace, "set"));
    workspace.write(
        "new.csv",
        "path,gain\nscene_9/before.tif,1.5\nscene_8/after.tif,2.5\n",
    );
    for name in ["set.tacozip", "set"] {
        workspace
            .studio([
                "edit",
                name,
                "--metadata",
                "new.csv",
                "--level",
                "1",
                "--set",
                "title=Another",
            ])
            .expect_code(0);
    }
    is_valid(&workspace, &zip);
    let arguments = [
        "same".as_ref(),
        "--values".as_ref(),
        zip.as_os_str(),
        folder.as_os_str(),
    ];
    let ran = workspace.python("check.py", arguments);
    assert!(ran.code() == 0 && ran.stdout.starts_with("ok"), "{ran}");
    assert_eq!(
        rows(&workspace, &zip, "SELECT count(gain) AS n FROM level1"),
        [json!({"n": 2})]
    );
}

#[test]
fn an_edit_of_a_zip_overwrites_the_beginning_of_an_interrupted_one() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let clean = made(&workspace, "clean.tacozip");
    let rest = workspace.path("rest.tacozip");
    std::fs::copy(&clean, &rest).expect("copies");
    // No directory is in it, so the archive is read as it was.
    let bytes = std::fs::read(&clean).expect("reads");
    let mut longer = std::fs::OpenOptions::new()
        .append(true)
        .open(&rest)
        .expect("opens");
    std::io::Write::write_all(&mut longer, &bytes[bytes.len() / 2..bytes.len() / 2 + 1000])
        .expect("appends");
    let description = "d".repeat(400);
    for path in [&clean, &rest] {
        workspace
            .studio([
                "edit".as_ref(),
                path.as_os_str(),
                "--set".as_ref(),
                format!("description=\"{description}\"").as_ref(),
            ])
            .expect_code(0);
        is_valid(&workspace, path);
    }
    let read = |path: &Path| std::fs::read(path).expect("reads");
    assert!(
        read(&clean).len() > bytes.len(),
        "the new metadata is behind the old one"
    );
    assert!(read(&clean) == read(&rest), "nothing is left between them");
}

#[test]
fn a_changed_copy_leaves_the_dataset_alone() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let dataset = made(&workspace, "set.tacozip");
    let sum = sha256_of(&dataset);
    workspace.write("new.csv", "id,season\ntile_0.tif,winter\n");
    workspace
        .studio(["edit", "set.tacozip", "--metadata", "new.csv", "-o", "copy"])
        .expect_code(0);
    assert_eq!(sha256_of(&dataset), sum);
    is_valid(&workspace, &workspace.path("copy"));
    let winter = rows(
        &workspace,
        &workspace.path("copy"),
        "SELECT id FROM data WHERE season = 'winter'",
    );
    assert_eq!(winter, [json!({"id": "tile_0.tif"})]);
}

#[test]
fn edits_that_do_not_fit_are_refused_and_change_nothing() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let dataset = made(&workspace, "set");
    workspace.write("unknown.csv", "path,season\ntile_9.tif,winter\n");
    workspace.write("type.csv", "path,cloud_cover\ntile_0.tif,much\n");
    workspace.write("twice.csv", "path,season\ntile_0.tif,a\ntile_0.tif,b\n");
    let sum = || {
        [
            sha256_of(&dataset.join("METADATA/level0.parquet")),
            sha256_of(&dataset.join("COLLECTION.json")),
        ]
    };
    let before = sum();
    let refused: [(&[&str], &str); 8] = [
        (&["--metadata", "unknown.csv"], "tile_9.tif"),
        (&["--metadata", "type.csv"], "cloud_cover"),
        (&["--metadata", "twice.csv"], "twice"),
        (&["--drop", "id"], "readers need it"),
        (&["--drop", "nothing"], "no column nothing"),
        (&["--set", "taco:pit_schema=null"], "describes the tables"),
        (&["--set", "licenses=[]"], "would break the rule"),
        (&["--metadata", "unknown.csv", "--level", "3"], "no level 3"),
    ];
    for (arguments, said) in refused {
        let ran = workspace.studio([&["edit", "set"], arguments].concat());
        assert!(ran.code() == 2 && ran.stderr.contains(said), "{ran}");
        assert_eq!(sum(), before, "{said}");
    }
    workspace.studio(["edit", "set"]).expect_code(2);
}

#[test]
fn rows_and_names_that_do_not_fit_are_warnings_as_in_create() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let dataset = made(&workspace, "set");
    workspace.write(
        "new.csv",
        "haze (%),tile,other\n1.5,tile_0.tif,tile_1.tif\n2.5,tile_9.tif,tile_0.tif\n",
    );
    let ran = workspace
        .studio(["edit", "set", "--metadata", "new.csv", "--key", "tile"])
        .expect_code(0);
    assert!(
        ran.stderr.contains("1 row matches no sample of level 0") && ran.stderr.contains("tile_9"),
        "{ran}"
    );
    let values = rows(
        &workspace,
        &dataset,
        "SELECT id, haze FROM data ORDER BY id",
    );
    assert_eq!(values[0]["haze"], json!(1.5));
    assert_eq!(values[1]["haze"], json!(null));
    // The column `other` names more samples.
    let ran = workspace
        .studio(["edit", "set", "--metadata", "new.csv"])
        .expect_code(0);
    assert!(!ran.stderr.contains("no sample"), "{ran}");
    workspace
        .studio(["compile", "set", "-o", "set.tortilla"])
        .expect_code(0);
    workspace.write(
        "old.csv",
        "tile,season\ntile_1.tif,summer\ntile_0.tif,winter\ntile_2.tif,winter\n",
    );
    for name in ["set", "set.tortilla"] {
        let edit = ["edit", name, "--metadata", "new.csv", "--key", "nothing"];
        let ran = workspace.studio(edit).expect_code(2);
        assert!(ran.stderr.contains("no column nothing"), "{ran}");
        let edit = ["edit", name, "--metadata", "old.csv", "--key", "tile"];
        workspace.studio(edit).expect_code(0);
    }
}

#[test]
fn an_extent_that_was_computed_follows_the_places_and_one_that_was_stated_stays() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    made(&workspace, "plain");
    let extend = ["extend", "plain", "--with", "stac", "-o", "set"];
    workspace.studio(extend).expect_code(0);
    let extent = || -> Json {
        let text = std::fs::read_to_string(workspace.path("set/COLLECTION.json")).expect("reads");
        serde_json::from_str::<Json>(&text).expect("JSON")["extent"].clone()
    };
    let stated = json!({"spatial": [-20.0, -10.0, 60.0, 70.0], "temporal": null});
    workspace
        .studio(["edit", "set", "--set", &format!("extent={stated}")])
        .expect_code(0);
    assert_eq!(extent(), stated);
    workspace
        .studio(["edit", "set", "--drop", "stac:centroid"])
        .expect_code(0);
    assert_eq!(extent(), stated, "somebody stated it");
}

/// Offset and size of each sample's data in an archive.
fn positions(workspace: &Workspace, dataset: &Path, level: usize) -> Vec<Json> {
    let sql = format!(
        r#"SELECT id, "internal:offset" AS o, "internal:size" AS s FROM level{level}
            WHERE type = 'FILE'"#
    );
    rows(workspace, dataset, &sql)
}

#[test]
fn a_zip_gets_new_metadata_behind_its_data() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let zip = made(&workspace, "set.tacozip");
    let original = std::fs::read(&zip).expect("reads");
    let places = positions(&workspace, &zip, 1);
    let end = places
        .iter()
        .map(|row| row["o"].as_u64().expect("a number") + row["s"].as_u64().expect("a number"))
        .max();
    let end = end.expect("samples") as usize;
    workspace.write(
        "new.csv",
        "path,gain\nscene_9/before.tif,1.5\nscene_8/after.tif,2.5\n",
    );
    let edit = [
        "edit",
        "set.tacozip",
        "--metadata",
        "new.csv",
        "--level",
        "1",
        "--json",
    ];
    let plan = workspace
        .studio(edit.iter().chain(&["--dry-run"]))
        .expect_code(0)
        .json();
    assert_eq!(
        (
            &plan["way"],
            std::fs::read(&zip).expect("reads") == original
        ),
        (&json!("tail"), true)
    );
    // The first edit appends, the second finds room before it, so the file does not grow without
    // end.
    let mut sizes = Vec::new();
    for round in 0..4 {
        let table = format!("path,gain\nscene_9/before.tif,{round}.5\nscene_8/after.tif,2.5\n");
        workspace.write("new.csv", table);
        let ran = workspace.studio(edit).expect_code(0);
        assert!(
            ran.json()["way"] == "tail" && ran.stderr.contains("the samples are not touched"),
            "{ran}"
        );
        let now = std::fs::read(&zip).expect("reads");
        assert_eq!(now[157..end], original[157..end], "the data is as it was");
        assert_eq!(positions(&workspace, &zip, 1), places);
        let gain = rows(
            &workspace,
            &zip,
            "SELECT gain FROM level1 WHERE gain IS NOT NULL ORDER BY gain",
        );
        assert!(
            gain.contains(&json!({"gain": f64::from(round) + 0.5})),
            "{gain:?}"
        );
        is_valid(&workspace, &zip);
        sizes.push(now.len());
    }
    assert!(
        sizes[2] <= sizes[0] && sizes[3] <= sizes[1].max(original.len() * 2),
        "{sizes:?}"
    );
    let anew = made(&workspace, "anew");
    workspace
        .studio(["edit", "anew", "--metadata", "new.csv", "--level", "1"])
        .expect_code(0);
    let ran = workspace.python(
        "check.py",
        [
            "same".as_ref(),
            "--values".as_ref(),
            zip.as_os_str(),
            anew.as_os_str(),
        ],
    );
    assert!(ran.code() == 0 && ran.stdout.starts_with("ok"), "{ran}");
}

#[test]
fn the_rest_of_an_interrupted_edit_of_a_zip_is_cut_off() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let zip = made(&workspace, "set.tacozip");
    let mut bytes = std::fs::read(&zip).expect("reads");
    // A process that was killed while it appended: more bytes than a program for ZIP searches for
    // the directory.
    bytes.resize(bytes.len() + 100_000, 7);
    std::fs::write(&zip, bytes).expect("writes");
    assert_eq!(
        rows(&workspace, &zip, "SELECT id FROM data").len(),
        3,
        "readers of TACO_HEADER find all"
    );
    let ran = workspace
        .studio(["edit", "set.tacozip", "--set", "title=Another", "--json"])
        .expect_code(0);
    assert!(
        ran.stderr.contains("cut off") && ran.json()["way"] == "tail",
        "{ran}"
    );
    is_valid(&workspace, &zip);
}

#[test]
fn a_zip_of_another_layout_is_written_anew_and_that_is_said_before() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    let zip = made(&workspace, "set.tacozip");
    // Another program added a member behind the tables.
    std::fs::copy(&zip, workspace.path("odd.tacozip")).expect("a copy");
    let script = "import zipfile; zipfile.ZipFile('odd.tacozip', 'a', \
        zipfile.ZIP_STORED).writestr('NOTES', 'mine')";
    let mut python = std::process::Command::new(crate::support::python());
    python.args(["-c", script]);
    workspace.run(python).expect_code(0);
    let ran = workspace
        .studio(["edit", "odd.tacozip", "--set", "title=Another", "--json"])
        .expect_code(0);
    let said =
        ran.stderr.contains("writes the whole dataset anew") && ran.stderr.contains("its members");
    assert!(said && ran.json()["way"] == "anew", "{ran}");
    is_valid(&workspace, &workspace.path("odd.tacozip"));
    assert!(zip.exists());
}

/// Bytes of a process that was killed after it appended the new metadata and before it replaced
/// TACO_HEADER, and of one that was killed after that and before it cut off the old metadata.
fn interrupted(workspace: &Workspace) -> [Vec<u8>; 2] {
    let zip = made(workspace, "set.tacozip");
    let mut versions = vec![std::fs::read(&zip).expect("reads")];
    for title in ["First", "Second", "Third"] {
        workspace
            .studio(["edit", "set.tacozip", "--set", &format!("title={title}")])
            .expect_code(0);
        versions.push(std::fs::read(&zip).expect("reads"));
    }
    let [original, appended, longest, short] = versions.try_into().expect("four versions");
    let lengths = [original.len(), appended.len(), longest.len(), short.len()];
    assert!(
        lengths[1] > lengths[0] && lengths[3] < lengths[2],
        "the first edit appends, a later one finds room: {lengths:?}"
    );
    let mut unswitched = appended.clone();
    unswitched[..157].copy_from_slice(&original[..157]);
    let uncut = [short.as_slice(), &longest[short.len()..]].concat();
    [unswitched, uncut]
}

#[test]
fn an_interrupted_edit_of_a_zip_is_announced_and_mended() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    for (bytes, title) in interrupted(&workspace)
        .into_iter()
        .zip(["Test scenes", "Third"])
    {
        let zip = workspace.write("killed.tacozip", &bytes);
        let shown = workspace
            .studio(["inspect", "killed.tacozip"])
            .expect_code(0);
        assert!(shown.stdout.contains(title), "{shown}");
        assert!(
            shown.stderr.contains("interrupted") && shown.stderr.contains("`repair`"),
            "{shown}"
        );
        let found = workspace
            .studio(["validate", "killed.tacozip"])
            .expect_code(1);
        assert!(
            found.stdout.contains("interrupted edit")
                && found.stdout.contains("`edit` cuts it off"),
            "{found}"
        );
        workspace
            .studio([
                "repair",
                "killed.tacozip",
                "-o",
                "mended.tacozip",
                "--overwrite",
            ])
            .expect_code(0);
        is_valid(&workspace, &workspace.path("mended.tacozip"));
        let mended = workspace
            .studio(["inspect", "mended.tacozip"])
            .expect_code(0);
        assert!(
            mended.stdout.contains(title) && mended.stderr.is_empty(),
            "{mended}"
        );
        workspace
            .studio(["edit", "killed.tacozip", "--set", "keywords=null"])
            .expect_code(0);
        is_valid(&workspace, &zip);
        let edited = workspace
            .studio(["inspect", "killed.tacozip"])
            .expect_code(0);
        assert!(
            edited.stdout.contains(title) && edited.stderr.is_empty(),
            "{edited}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_dataset_with_a_second_name_is_changed_under_one_of_them_alone() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    made(&workspace, "set.tacozip");
    workspace
        .studio(["compile", "set.tacozip", "-o", "set.tortilla"])
        .expect_code(0);
    workspace.write(
        "new.csv",
        "id,season\ntile_0.tif,summer\ntile_1.tif,winter\ntile_2.tif,summer\n",
    );
    for name in ["set.tacozip", "set.tortilla"] {
        let (path, other) = (workspace.path(name), workspace.path("other"));
        let before = sha256_of(&path);
        std::fs::hard_link(&path, &other).expect("a second name");
        let ran = workspace
            .studio(["edit", name, "--metadata", "new.csv", "--json"])
            .expect_code(0);
        assert!(
            ran.json()["way"] == "anew" && ran.stderr.contains("hard link"),
            "{ran}"
        );
        assert!(
            sha256_of(&other) == before && sha256_of(&path) != before,
            "{name}"
        );
        std::fs::remove_file(&other).expect("removed");
        let again = workspace
            .studio([
                "edit",
                name,
                "--metadata",
                "new.csv",
                "--drop",
                "region",
                "--json",
            ])
            .expect_code(0);
        assert!(again.json()["way"] != "anew", "{again}");
    }
    is_valid(&workspace, &workspace.path("set.tacozip"));
    // A FOLDER gets new files for the tables that change.
    let folder = made(&workspace, "set");
    let table = folder.join("METADATA/level0.parquet");
    std::fs::hard_link(&table, workspace.path("other")).expect("a second name");
    let before = sha256_of(&table);
    workspace
        .studio(["edit", "set", "--metadata", "new.csv"])
        .expect_code(0);
    assert!(sha256_of(&workspace.path("other")) == before && sha256_of(&table) != before);
}
