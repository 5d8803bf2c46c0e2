//! Streamable datasets of TACO 0.2: a linked list of tables instead of a footer per nested
//! tortilla, and chunks that are read separately.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::query;
use crate::support::{Server, Workspace, nested_scenes, sha256_of};

fn made(workspace: &Workspace, name: &str) -> PathBuf {
    let collection = super::write::collection(workspace);
    let output = workspace.path(name);
    let arguments: Vec<std::ffi::OsString> = vec![
        "create".into(),
        workspace.path("scenes").into_os_string(),
        "-o".into(),
        output.clone().into_os_string(),
        "--collection".into(),
        collection.into_os_string(),
        "--stream".into(),
        "--allow-non-tog".into(),
    ];
    workspace.studio(arguments).expect_code(0);
    output
}

fn scenes(workspace: &Workspace) -> Vec<(String, PathBuf)> {
    let files = crate::support::files_below(&workspace.path("scenes"));
    files
        .into_iter()
        .map(|name| (name.clone(), workspace.path("scenes").join(name)))
        .collect()
}

#[test]
fn a_streamable_dataset_reads_by_its_chain_and_by_the_official_reader() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 4);
    for name in ["scenes.tortilla", "scenes.taco"] {
        let dataset = made(&workspace, name);
        workspace
            .studio(["validate".as_ref(), dataset.as_os_str()])
            .expect_no_panic();
        for (id, source) in scenes(&workspace) {
            let out = workspace.path("bytes");
            workspace.read_into(&dataset, &id, &out);
            assert_eq!(sha256_of(&out), sha256_of(&source), "{id}");
        }
        let rows = query(
            &workspace,
            &dataset,
            "SELECT id, \"tortilla:root\" AS root FROM level1",
        );
        let per_root = scenes(&workspace).len() / 4;
        assert_eq!(rows[per_root]["root"], 1, "{rows}");
        // The footer that the header locates is one of the first generation.
        let seen: Json = workspace
            .old_python("first_generation.py", [&dataset])
            .expect_code(0)
            .json();
        assert_eq!(seen["samples"].as_array().map(Vec::len), Some(4));
        // Another collection keeps the linked list.
        if name.ends_with("taco") {
            for round in 0..3 {
                let title = format!("title=\"Round {round}\"");
                workspace
                    .studio([
                        "edit".as_ref(),
                        dataset.as_os_str(),
                        "--set".as_ref(),
                        title.as_ref(),
                    ])
                    .expect_code(0);
            }
            let after = query(
                &workspace,
                &dataset,
                "SELECT id, \"tortilla:root\" AS root FROM level1",
            );
            assert_eq!(after, rows);
        }
    }
}

#[test]
fn chunks_decode_to_the_pixels_of_the_whole() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let dataset = made(&workspace, "scenes.tortilla");
    let (id, source) = scenes(&workspace)
        .into_iter()
        .find(|(id, _)| id.ends_with(".tif"))
        .expect("a raster");
    let mut pieces: Vec<(PathBuf, String)> = Vec::new();
    for number in 0..100 {
        let chunk = format!("{id}::{number}");
        let told = workspace.studio(["read".as_ref(), dataset.as_os_str(), chunk.as_ref()]);
        if told.code() != 0 {
            assert!(number > 0 && told.stderr.contains("no chunk"), "{told}");
            break;
        }
        let out = workspace.path(&format!("chunk{number}"));
        for form in ["npy", "arrow"] {
            workspace.read_into(&dataset, &chunk, &out.with_extension(form));
        }
        let start = told
            .stdout
            .split("from (")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
            .expect("a start")
            .to_owned();
        pieces.push((out, start));
    }
    assert!(!pieces.is_empty());
    for form in ["npy", "arrow"] {
        let place = |path: &Path| path.with_extension(form).display().to_string();
        let list: Vec<Json> = pieces
            .iter()
            .map(|(path, start)| json!([place(path), start]))
            .collect();
        let list = workspace.write("chunks.json", Json::from(list).to_string());
        let paths: [&Path; 2] = [&source, &list];
        workspace.old_python("chunks.py", paths).expect_code(0);
    }
    let missing = format!("{id}::9999");
    workspace
        .studio(["read".as_ref(), dataset.as_os_str(), missing.as_ref()])
        .expect_code(2);
    fs::remove_file(workspace.path("collection.json")).expect("the collection");
}

#[test]
fn a_thousand_nested_samples_open_with_few_requests_and_a_chunk_is_one() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 1);
    let first = workspace.path("scenes/scene_8");
    for number in 0..999 {
        let scene = workspace.path(&format!("scenes/tile_{number:04}"));
        fs::create_dir(&scene).expect("a folder");
        for name in ["before.tif", "after.tif", "label.tif"] {
            fs::hard_link(first.join(name), scene.join(name)).expect("a link");
        }
    }
    let dataset = made(&workspace, "scenes.tortilla");
    let folder = workspace.path("served");
    fs::create_dir(&folder).expect("a folder");
    fs::rename(&dataset, folder.join("scenes.tortilla")).expect("moves");
    let server = Server::of(&folder);
    let url = server.url("scenes.tortilla");
    // One level of nesting: header, samples, children, chunks.
    let (nesting, mut counts) = (1, Vec::new());
    let seen = workspace
        .studio(["inspect", &url, "--json"])
        .expect_code(0)
        .json();
    assert_eq!(
        (&seen["levels"][0]["rows"], &seen["levels"][1]["rows"]),
        (&json!(1000), &json!(3000)),
        "{seen}"
    );
    let asked = server.asked();
    assert!(
        asked.len() <= nesting + 3,
        "opening took {} requests: {asked:#?}",
        asked.len()
    );
    // A chunk in the middle of the file, which no other request covers.
    let open = json!({ "command": "open", "path": url });
    let chunk = |sample: &str| {
        json!({
            "command": "read_chunk",
            "input": url,
            "chunk": format!("{sample}::0"),
        })
    };
    let (one, two) = (chunk("tile_0500/before.tif"), chunk("tile_0800/after.tif"));
    for commands in [
        vec![open.clone()],
        vec![open.clone(), one.clone()],
        vec![open, one, two],
    ] {
        // Each with an empty cache.
        let workspace = Workspace::new();
        let file = workspace.write("commands.json", Json::from(commands).to_string());
        server.forget();
        workspace
            .studio(["replay".as_ref(), file.as_os_str()])
            .expect_code(0);
        counts.push(server.asked().len());
    }
    assert!(
        counts[0] <= nesting + 3 && counts[1] == counts[0] + 1 && counts[2] == counts[1] + 1,
        "{counts:?}"
    );
    // The values equal those of the file.
    let out = workspace.path("there.npy");
    let remote = [
        "read".as_ref(),
        url.as_ref(),
        "tile_0500/before.tif::0".as_ref(),
        "--overwrite".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
    ];
    workspace.studio(remote).expect_code(0);
    let local = folder.join("scenes.tortilla");
    let here = workspace.path("here.npy");
    let arguments = [
        "read".as_ref(),
        local.as_os_str(),
        "tile_0500/before.tif::0".as_ref(),
        "--out".as_ref(),
        here.as_os_str(),
    ];
    workspace.studio(arguments).expect_code(0);
    assert_eq!(sha256_of(&out), sha256_of(&here));
}

#[test]
fn nested_tortillas_are_in_the_chain_of_a_compiled_file() {
    let workspace = Workspace::new();
    let names_of = |dataset: &Path, level: usize| -> Vec<String> {
        let seen = workspace
            .studio(["inspect".as_ref(), dataset.as_os_str(), "--json".as_ref()])
            .expect_code(0)
            .json();
        let columns = seen["levels"][level]["columns"]
            .as_array()
            .expect("columns")
            .clone();
        columns
            .iter()
            .map(|column| column["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    for (set, name, leaf_level) in [
        ("42_v1_nested", "nested.tortilla", 1),
        ("43_v1_nested3", "nested3.tortilla", 2),
    ] {
        let input = super::golden(set, name);
        let streamed = workspace.path(&format!("streamed_{name}"));
        let again = workspace.path(&format!("again_{name}"));
        let plain = workspace.path(&format!("plain_{name}"));
        for (from, to, stream) in [
            (&input, &streamed, true),
            (&streamed, &again, true),
            (&again, &plain, false),
        ] {
            let mut arguments = vec![
                "compile".as_ref(),
                from.as_os_str(),
                "-o".as_ref(),
                to.as_os_str(),
            ];
            arguments.extend(
                stream
                    .then_some(["--stream", "--allow-non-tog"])
                    .into_iter()
                    .flatten()
                    .map(std::ffi::OsStr::new),
            );
            workspace.studio(arguments).expect_code(0);
            workspace
                .studio(["validate".as_ref(), to.as_os_str()])
                .expect_code(0);
            // Columns of the linked list are not metadata of the samples: a new list has its own,
            // other footers have none.
            for level in [0, leaf_level] {
                let roots = names_of(to, level)
                    .iter()
                    .filter(|name| *name == "tortilla:root")
                    .count();
                assert_eq!(
                    roots,
                    usize::from(stream),
                    "level {level} of {}",
                    to.display()
                );
            }
        }
        let ids = |dataset: &Path| {
            query(
                &workspace,
                dataset,
                &format!("SELECT id FROM level{leaf_level}"),
            )
        };
        assert_eq!(ids(&again), ids(&input));
        let expected: Json =
            serde_json::from_slice(&fs::read(super::golden(set, "expected.json")).expect("reads"))
                .expect("JSON");
        for (path, wanted) in super::files_of(&expected[name]) {
            let out = workspace.path("bytes");
            for dataset in [&streamed, &again, &plain] {
                workspace.read_into(dataset, &path, &out);
                assert_eq!(sha256_of(&out), wanted["sha256"], "{path}");
            }
        }
    }
}

#[test]
fn a_streamable_dataset_of_other_rasters_is_refused_unless_allowed() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let (scenes, out) = (workspace.path("scenes"), workspace.path("out.tortilla"));
    let create = [
        "create".as_ref(),
        scenes.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--stream".as_ref(),
    ];
    let refused = workspace.studio(create).expect_code(2);
    for word in [
        "scene_8/after.tif",
        "and 1 more",
        "optimise --stream",
        "--allow-non-tog",
    ] {
        assert!(refused.stderr.contains(word), "{word}: {refused}");
    }
    assert!(!out.exists());
    workspace
        .studio(create.into_iter().chain(["--allow".as_ref()]))
        .expect_code(0);
    let again = workspace.path("again.tortilla");
    let compile = [
        "compile".as_ref(),
        out.as_os_str(),
        "-o".as_ref(),
        again.as_os_str(),
        "--stream".as_ref(),
    ];
    workspace.studio(compile).expect_code(2);
    // What optimise makes of it is streamable as it is.
    let togs = workspace.path("togs.tortilla");
    let optimise = ["optimise", "--stream", "--block-size", "16", "-o"].map(std::ffi::OsStr::new);
    workspace
        .studio(
            optimise
                .into_iter()
                .chain([togs.as_os_str(), out.as_os_str()]),
        )
        .expect_code(0);
    let compile = [
        "compile".as_ref(),
        togs.as_os_str(),
        "-o".as_ref(),
        again.as_os_str(),
        "--stream".as_ref(),
    ];
    workspace.studio(compile).expect_code(0);
}

#[test]
fn columns_of_streamable_files_and_of_nested_footers_are_edited() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let streamed = made(&workspace, "scenes.taco");
    let plain = workspace.path("nested.tortilla");
    fs::copy(super::golden("42_v1_nested", "nested.tortilla"), &plain).expect("copies");
    let bytes_of = |dataset: &Path, id: &str| {
        let out = workspace.path("bytes");
        workspace.read_into(dataset, id, &out);
        sha256_of(&out)
    };
    let edit = |dataset: &Path, table: &str, more: &[&str]| {
        let table = workspace.write("table.csv", table);
        let mut arguments = vec![
            "edit".as_ref(),
            dataset.as_os_str(),
            "--metadata".as_ref(),
            table.as_os_str(),
        ];
        arguments.extend(more.iter().map(std::ffi::OsStr::new));
        workspace.studio(arguments)
    };
    // Level 0 of a streamable file: the first object of the chain, several times.
    let before = bytes_of(&streamed, "scene_8/after.tif");
    for round in 1..=3 {
        edit(
            &streamed,
            &format!("id,rank\nscene_8,{round}\nscene_9,{}\n", round * 10),
            &[],
        )
        .expect_code(0);
        let rows = query(
            &workspace,
            &streamed,
            "SELECT id, rank FROM level0 ORDER BY rank",
        );
        assert_eq!(
            rows,
            json!([{ "id": "scene_8", "rank": round }, { "id": "scene_9", "rank": round * 10 }])
        );
        let chunk = workspace.studio([
            "read".as_ref(),
            streamed.as_os_str(),
            "scene_9/before.tif::0".as_ref(),
        ]);
        chunk.expect_code(0);
    }
    // A path names a sample of level 0, too, as in other datasets.
    edit(&streamed, "path,rank\nscene_8,6\nscene_9,7\n", &[]).expect_code(0);
    let rows = query(&workspace, &streamed, "SELECT * FROM level0 WHERE rank = 7");
    assert_eq!(
        (rows[0]["id"].as_str(), rows[0].get("path")),
        (Some("scene_9"), None)
    );
    assert_eq!(bytes_of(&streamed, "scene_8/after.tif"), before);
    let refused = workspace.studio([
        "edit".as_ref(),
        streamed.as_os_str(),
        "--drop".as_ref(),
        "tortilla:root".as_ref(),
    ]);
    refused.expect_code(2);
    // Nested footers: by path, as the ids below level 0 occur in every scene.
    let table = "path,cloud\nscene_8/after.tif,0.5\nscene_9/before.tif,0.25\n";
    let seen = |dataset: &Path| {
        query(
            &workspace,
            dataset,
            "SELECT id, cloud FROM level1 WHERE cloud IS NOT NULL ORDER BY cloud",
        )
    };
    edit(&streamed, table, &["--level", "1"]).expect_code(0);
    let wanted =
        json!([{ "id": "before.tif", "cloud": 0.25 }, { "id": "after.tif", "cloud": 0.5 }]);
    assert_eq!(seen(&streamed), wanted);
    assert_eq!(bytes_of(&streamed, "scene_8/after.tif"), before);
    workspace
        .studio([
            "read".as_ref(),
            streamed.as_os_str(),
            "scene_9/before.tif::0".as_ref(),
        ])
        .expect_code(0);
    let official = |dataset: &Path| {
        workspace
            .old_python("first_generation.py", [dataset])
            .expect_code(0)
            .json()
    };
    let collection = official(&streamed)["collection"].clone();
    assert_eq!(collection["id"], "scenes");
    let id = official(&plain)["samples"][1]["children"][0].clone();
    let path = format!("scene_2/{}", id["id"].as_str().expect("an id"));
    let table = format!("path,cloud\n{path},0.75\nscene_2/nowhere.tif,1\n");
    let ran = edit(&plain, &table, &["--level", "1"]).expect_code(0);
    assert!(
        ran.stderr
            .contains("1 row matches no sample of level 1 in the metadata table: scene_2/nowhere"),
        "{ran}"
    );
    let after = official(&plain)["samples"][1]["children"][0].clone();
    assert_eq!(
        (&after["columns"]["cloud"], &after["sha256"]),
        (&json!(0.75), &id["sha256"])
    );
    workspace
        .studio(["validate".as_ref(), plain.as_os_str()])
        .expect_code(0);
    // Ambiguous ids, unknown samples and levels are refused with the reason.
    for (table, level, says) in [
        ("id,cloud\nafter.tif,1\n", "1", "in a column path"),
        (
            "path,cloud\nscene_8/nowhere.tif,1\n",
            "1",
            "no row of the metadata table matches a sample of level 1",
        ),
        ("path,cloud\nscene_8/after.tif,1\n", "7", "no level 7"),
        ("path,cloud\nscene_8/after.tif,1\n", "1", "would be lost"),
    ] {
        let refused = edit(&streamed, table, &["--level", level]).expect_code(2);
        assert!(refused.stderr.contains(says), "{says}: {refused}");
    }
    assert_eq!(seen(&streamed), wanted);
}
