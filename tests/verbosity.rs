//! What verbs say on standard error: warnings as a rule, errors alone with `-q`, what is read,
//! written, asked and skipped with `-v`.

use crate::support::{Server, Workspace, flat_scenes};

/// Arguments of a call with warnings: the collection has no keywords, and a hidden file is left
/// out.
const CREATE: [&str; 7] = [
    "create",
    "scenes",
    "-o",
    "d.tacozip",
    "--overwrite",
    "--collection",
    "collection.json",
];

fn prepared() -> Workspace {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 2);
    workspace.write("scenes/.hidden", "x");
    workspace
}

#[test]
fn quiet_calls_say_errors_alone() {
    let workspace = prepared();
    let usual = workspace.studio(CREATE).expect_code(0);
    assert!(usual.stderr.contains("warning: "), "{usual}");
    let quiet = workspace
        .studio(["-q"].iter().chain(&CREATE))
        .expect_code(0);
    assert_eq!(
        (quiet.stderr.as_str(), quiet.stdout.as_str()),
        ("", usual.stdout.as_str())
    );
    let quiet = workspace
        .studio(CREATE.iter().chain(&["-q", "-v"]))
        .expect_code(0);
    assert_eq!(quiet.stderr, "", "quiet outweighs verbose");
    let error = workspace
        .studio(["inspect", "nothing.tacozip", "-q"])
        .expect_code(2);
    assert!(error.stderr.starts_with("error: "), "{error}");
    let failed = workspace.studio([
        "extend",
        "d.tacozip",
        "-o",
        "e.tacozip",
        "--with",
        "command",
        "--options",
        OPTIONS,
        "-q",
    ]);
    let failed = failed.expect_code(1);
    assert!(
        failed.stderr.contains("tile_0.tif"),
        "what failed is an error: {failed}"
    );
}

/// A program that fails for every sample.
const OPTIONS: &str = r#"{"command": ["false"], "fields": {"own:x": "double"}}"#;

#[test]
fn verbose_calls_say_what_is_read_written_and_skipped() {
    let workspace = prepared();
    let with_table = ["--metadata", "metadata.csv", "-v"];
    let created = workspace
        .studio(CREATE.iter().chain(&with_table))
        .expect_code(0);
    for said in [
        "reads the table metadata.csv",
        "writes ",
        "d.tacozip",
        "skips ",
        ".hidden",
    ] {
        assert!(created.stderr.contains(said), "{said}: {created}");
    }
    assert!(
        !created.stderr.contains("reads scenes/tile_0.tif"),
        "{created}"
    );
    let read = workspace
        .studio(["-vv", "validate", "d.tacozip", "--deep"])
        .ended();
    assert!(read.is_some());
    let opened = workspace
        .studio(["inspect", "d.tacozip", "-v"])
        .expect_code(0);
    assert!(opened.stderr.contains("reads d.tacozip (zip)"), "{opened}");
    let more = workspace
        .studio(CREATE.iter().chain(&["-vv"]))
        .expect_code(0);
    assert!(
        more.stderr.contains("tile_0.tif"),
        "each file is named: {more}"
    );
}

#[test]
fn verbose_calls_say_what_is_asked_over_the_network() {
    let workspace = prepared();
    workspace.studio(CREATE).expect_code(0);
    let server = Server::of(&workspace.path(""));
    let url = server.url("d.tacozip");
    let asked = workspace.studio(["query", &url, "-v"]).expect_code(0);
    assert!(
        asked.stderr.contains(&format!("asks {url} for ")) && asked.stderr.contains("status 206"),
        "{asked}"
    );
    assert!(
        !workspace
            .studio(["query", &url])
            .expect_code(0)
            .stderr
            .contains("asks ")
    );
}

#[cfg(unix)]
#[test]
fn temporary_files_are_in_the_folder_that_is_named() {
    let workspace = prepared();
    workspace.studio(CREATE).expect_code(0);
    std::fs::create_dir(workspace.path("scratch")).expect("a folder");
    // The program answers with the folder that it was given.
    let script = r#"while read -r line; do echo "{\"own:folder\": \"$TMPDIR\"}"; done"#;
    let options = serde_json::json!({
        "command": ["sh", "-c", script],
        "fields": { "own:folder": "string" },
    })
    .to_string();
    let call = [
        "extend",
        "d.tacozip",
        "-o",
        "e.tacozip",
        "--with",
        "command",
        "--options",
        &options,
        "--temp-dir",
    ];
    let refused = workspace
        .studio(call.iter().chain(&["missing"]))
        .expect_code(2);
    assert!(
        refused
            .stderr
            .contains("no such folder for temporary files"),
        "{refused}"
    );
    workspace
        .studio(call.iter().chain(&["scratch"]))
        .expect_code(0);
    let sql = r#"SELECT DISTINCT "own:folder" AS f FROM data"#;
    let rows = workspace
        .studio(["query", "e.tacozip", "--sql", sql, "--json"])
        .expect_code(0);
    assert!(
        rows.stdout
            .contains(&*workspace.path("scratch").to_string_lossy()),
        "{rows}"
    );
}
