//! The operations for fault injection: each writes below `out` and replaces an older output.

use std::ffi::OsString;
use std::fs;

use serde_json::json;

use crate::support::{Workspace, flat_scenes, nested_scenes, tests_folder};

/// One operation.
pub struct Operation {
    pub name: &'static str,
    /// Creates its sources, and the older output below `out`.
    pub prepare: fn(&Workspace),
    pub arguments: fn(&Workspace) -> Vec<OsString>,
    /// The output is a dataset, which can be validated.
    pub is_dataset: bool,
}

/// Arguments; a leading `@` is the path of the workspace.
fn with(workspace: &Workspace, arguments: &[&str]) -> Vec<OsString> {
    let whole = |text: &&str| {
        text.strip_prefix('@')
            .map_or_else(|| (*text).into(), |path| workspace.path(path).into())
    };
    arguments.iter().map(whole).collect()
}

fn done(workspace: &Workspace, arguments: &[&str]) {
    workspace.studio(with(workspace, arguments)).expect_code(0);
}

/// Three scenes and a dataset of them; `out` has the output of the same operation for an older,
/// smaller source.
fn scenes(workspace: &Workspace, older: &[&str]) {
    nested_scenes(workspace, 3);
    done(
        workspace,
        &[
            "create",
            "@scenes",
            "--collection",
            "@collection.json",
            "-o",
            "@in.tacozip",
        ],
    );
    fs::create_dir(workspace.path("out")).expect("a folder");
    if older.is_empty() {
        return;
    }
    let aside = workspace.path("scenes/scene_10");
    let (scene, input) = (workspace.path("scene_10"), workspace.path("in.tacozip"));
    fs::rename(&aside, &scene).expect("moved");
    fs::rename(&input, workspace.path("whole")).expect("moved");
    done(
        workspace,
        &[
            "create",
            "@scenes",
            "--collection",
            "@collection.json",
            "-o",
            "@in.tacozip",
        ],
    );
    done(workspace, older);
    fs::rename(&scene, &aside).expect("moved");
    fs::rename(workspace.path("whole"), &input).expect("moved");
}

/// Three ZIPs in `out`, and an index over two of them.
fn parts(workspace: &Workspace) {
    flat_scenes(workspace, 3);
    fs::create_dir(workspace.path("out")).expect("a folder");
    for number in 0..3 {
        let tile = format!("tile_{number}.tif");
        fs::create_dir(workspace.path("one")).expect("a folder");
        fs::copy(
            workspace.path("scenes").join(&tile),
            workspace.path("one").join(&tile),
        )
        .expect("a copy");
        let part = format!("@out/part{number}.tacozip");
        done(
            workspace,
            &[
                "create",
                "@one",
                "--collection",
                "@collection.json",
                "-o",
                &part,
            ],
        );
        fs::remove_dir_all(workspace.path("one")).expect("removed");
    }
    done(
        workspace,
        &[
            "tacocat",
            "@out/part0.tacozip",
            "@out/part1.tacozip",
            "-o",
            "@out",
        ],
    );
}

fn copied(workspace: &Workspace, fixture: &str, name: &str) {
    fs::copy(
        tests_folder().join("fixtures/golden").join(fixture),
        workspace.path(name),
    )
    .expect("a copy");
}

fn script(workspace: &Workspace, name: &str, lines: &serde_json::Value) {
    workspace.write(name, lines.to_string());
}

/// A project in `out` with fewer edits than the script `save.json` makes.
fn project(workspace: &Workspace) {
    nested_scenes(workspace, 3);
    let import = [
        json!({"command": "import", "paths": ["scenes"], "metadata": "metadata.csv"}),
        json!({"command": "import_collection", "path": "collection.json"}),
    ];
    let save = json!({"command": "save_project", "path": "out/a.tacostudio"});
    let first: Vec<_> = import.iter().cloned().chain([save.clone()]).collect();
    script(workspace, "first.json", &json!(first));
    done(workspace, &["replay", "@first.json"]);
    let open = json!({"command": "open_project", "path": "out/a.tacostudio"});
    let rename = json!({"command": "edit", "edit": "rename", "sample": [0], "id": "renamed"});
    script(workspace, "save.json", &json!([open, rename, save]));
}

/// A project, and the dataset built from it before later edits.
fn built(workspace: &Workspace) {
    nested_scenes(workspace, 3);
    fs::create_dir(workspace.path("out")).expect("a folder");
    let save = json!({"command": "save_project", "path": "a.tacostudio"});
    let import = [
        json!({"command": "import", "paths": ["scenes"], "metadata": "metadata.csv"}),
        json!({"command": "import_collection", "path": "collection.json"}),
        save.clone(),
    ];
    script(workspace, "first.json", &json!(import));
    done(workspace, &["replay", "@first.json"]);
    done(
        workspace,
        &["build", "@a.tacostudio", "-o", "@out/b.tacozip"],
    );
    let rename = json!({"command": "edit", "edit": "rename", "sample": [0], "id": "renamed"});
    script(
        workspace,
        "edit.json",
        &json!([{"command": "open_project", "path": "a.tacostudio"}, rename, save]),
    );
    done(workspace, &["replay", "@edit.json"]);
}

pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            name: "create a ZIP",
            prepare: |w| {
                scenes(
                    w,
                    &[
                        "create",
                        "@scenes",
                        "--collection",
                        "@collection.json",
                        "-o",
                        "@out/a.tacozip",
                    ],
                )
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "create",
                        "@scenes",
                        "--collection",
                        "@collection.json",
                        "-o",
                        "@out/a.tacozip",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "create a ZIP that is new",
            prepare: |w| scenes(w, &[]),
            arguments: |w| {
                with(
                    w,
                    &[
                        "create",
                        "@scenes",
                        "--collection",
                        "@collection.json",
                        "-o",
                        "@out/a.tacozip",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "create a FOLDER",
            prepare: |w| {
                scenes(
                    w,
                    &[
                        "create",
                        "@scenes",
                        "--collection",
                        "@collection.json",
                        "-o",
                        "@out/a",
                    ],
                )
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "create",
                        "@scenes",
                        "--collection",
                        "@collection.json",
                        "-o",
                        "@out/a",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "create parts and an index",
            prepare: |w| {
                let split = ["--split-size", "4kB", "--consolidate", "tacocat"];
                let create = [
                    "create",
                    "@scenes",
                    "--collection",
                    "@collection.json",
                    "-o",
                    "@out/a.tacozip",
                ];
                scenes(w, &[&create[..], &split[..]].concat());
            },
            arguments: |w| {
                let split = [
                    "--split-size",
                    "4kB",
                    "--consolidate",
                    "tacocat",
                    "--overwrite",
                ];
                let create = [
                    "create",
                    "@scenes",
                    "--collection",
                    "@collection.json",
                    "-o",
                    "@out/a.tacozip",
                ];
                with(w, &[&create[..], &split[..]].concat())
            },
            is_dataset: true,
        },
        Operation {
            name: "convert",
            prepare: |w| scenes(w, &["convert", "@in.tacozip", "@out/a"]),
            arguments: |w| with(w, &["convert", "@in.tacozip", "@out/a", "--overwrite"]),
            is_dataset: true,
        },
        Operation {
            name: "edit a FOLDER",
            prepare: |w| {
                scenes(w, &[]);
                done(w, &["convert", "@in.tacozip", "@out/a"]);
                w.write(
                    "new.csv",
                    "path,gain\nscene_8/before.tif,1.5\nscene_9/label.tif,2.5\n",
                );
            },
            arguments: |w| {
                with(
                    w,
                    &["edit", "@out/a", "--metadata", "@new.csv", "--level", "1"],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "edit one table of a FOLDER",
            prepare: |w| {
                scenes(w, &[]);
                w.write("old.csv", "path,gain\nscene_8,1.5\n");
                done(w, &["convert", "@in.tacozip", "@out/a"]);
                done(w, &["edit", "@out/a", "--metadata", "@old.csv"]);
                w.write("new.csv", "path,gain\nscene_8,2.5\n");
            },
            arguments: |w| with(w, &["edit", "@out/a", "--metadata", "@new.csv"]),
            is_dataset: true,
        },
        Operation {
            name: "export",
            prepare: |w| {
                scenes(
                    w,
                    &[
                        "export",
                        "@in.tacozip",
                        "-o",
                        "@out/a.tacozip",
                        "--limit",
                        "1",
                    ],
                )
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "export",
                        "@in.tacozip",
                        "-o",
                        "@out/a.tacozip",
                        "--limit",
                        "2",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "tacocat",
            prepare: parts,
            arguments: |w| {
                let parts = [
                    "@out/part0.tacozip",
                    "@out/part1.tacozip",
                    "@out/part2.tacozip",
                ];
                with(
                    w,
                    &[&["tacocat"], &parts[..], &["-o", "@out", "--overwrite"]].concat(),
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "migrate",
            prepare: |w| {
                copied(w, "42_v1_nested/nested.tortilla", "in.tortilla");
                fs::create_dir(w.path("out")).expect("a folder");
                scenes_into(w, "@out/a.tacozip");
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "migrate",
                        "@in.tortilla",
                        "-o",
                        "@out/a.tacozip",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "optimise a dataset",
            prepare: |w| scenes(w, &["optimise", "@in.tacozip", "-o", "@out/a.tacozip"]),
            arguments: |w| {
                with(
                    w,
                    &[
                        "optimise",
                        "@in.tacozip",
                        "-o",
                        "@out/a.tacozip",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "optimise a folder",
            prepare: |w| scenes(w, &["optimise", "@scenes", "-o", "@out/a"]),
            arguments: |w| with(w, &["optimise", "@scenes", "-o", "@out/a", "--overwrite"]),
            is_dataset: false,
        },
        Operation {
            name: "optimise a raster",
            prepare: |w| {
                flat_scenes(w, 2);
                fs::create_dir(w.path("out")).expect("a folder");
                done(w, &["optimise", "@scenes/tile_0.tif", "-o", "@out/a.tif"]);
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "optimise",
                        "@scenes/tile_1.tif",
                        "-o",
                        "@out/a.tif",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: false,
        },
        Operation {
            name: "build",
            prepare: built,
            arguments: |w| {
                with(
                    w,
                    &[
                        "build",
                        "@a.tacostudio",
                        "-o",
                        "@out/b.tacozip",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: true,
        },
        Operation {
            name: "describe",
            prepare: |w| {
                scenes(w, &[]);
                w.write("out/stac/collection.json", "{}");
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "describe",
                        "@in.tacozip",
                        "--as",
                        "stac",
                        "-o",
                        "@out/stac",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: false,
        },
        Operation {
            name: "query into a file",
            prepare: |w| scenes(w, &["query", "@in.tacozip", "-o", "@out/rows.csv"]),
            arguments: |w| {
                with(
                    w,
                    &["query", "@in.tacozip", "-o", "@out/rows.csv", "--overwrite"],
                )
            },
            is_dataset: false,
        },
        Operation {
            name: "read a sample into a file",
            prepare: |w| {
                scenes(
                    w,
                    &[
                        "read",
                        "@in.tacozip",
                        "scene_8/label.tif",
                        "--out",
                        "@out/x.tif",
                    ],
                )
            },
            arguments: |w| {
                with(
                    w,
                    &[
                        "read",
                        "@in.tacozip",
                        "scene_8/before.tif",
                        "--out",
                        "@out/x.tif",
                        "--overwrite",
                    ],
                )
            },
            is_dataset: false,
        },
        Operation {
            name: "save a project",
            prepare: project,
            arguments: |w| with(w, &["replay", "@save.json"]),
            is_dataset: false,
        },
    ]
}

/// A dataset of other scenes at the path that the operation replaces.
fn scenes_into(workspace: &Workspace, target: &str) {
    nested_scenes(workspace, 2);
    done(
        workspace,
        &[
            "create",
            "@scenes",
            "--collection",
            "@collection.json",
            "-o",
            target,
        ],
    );
}
