//! A curator's whole task by script, from a messy folder to a dataset that passes every check, with
//! counted clicks.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Workspace, copy_script, geotiff, tests_folder};

/// Clicks and keys that the task may take, whatever the number of scenes.
pub const MOST: usize = 30;

/// Scenes with three files each, of which every thirteenth has a misnamed label, a missing file, a
/// file beside the folder, or a sidecar; and a table whose numbers, dates and flags are written in
/// several ways.
pub fn messy(workspace: &Workspace, scenes: usize) {
    let mut table = String::from("scene;clouds;when;usable\n");
    for scene in 1..=scenes {
        let id = format!("bahamas_{scene:02}");
        let file = |name: &str| workspace.path(&format!("messy/{id}/{name}"));
        for (name, bands) in [("before.tif", 3), ("after.tif", 3), ("label.tif", 1)] {
            geotiff(&file(name), bands, 16, (scene % 250) as u8);
        }
        let clouds = format!("{},5", scene % 90);
        match scene % 13 {
            3 => fs::rename(file("label.tif"), file("Label_FINAL.TIF")).expect("renamed"),
            5 => fs::remove_file(file("after.tif")).expect("removed"),
            7 => fs::rename(
                file("before.tif"),
                workspace.path(&format!("messy/{id}_before.tif")),
            )
            .expect("moved"),
            9 => {
                fs::write(file("before.tif.aux.xml"), "<PAMDataset></PAMDataset>").expect("written")
            }
            _ => {}
        }
        let clouds = if scene % 13 == 11 { "n/a" } else { &clouds };
        let when = ["29.02.2020", "2020-03-01", "01/03/2020", "2020/03/01"][scene % 4];
        table += &format!("{id};{clouds};{when};{}\n", ["no", "yes"][scene % 2]);
    }
    workspace.write("messy/scenes.csv", table);
}

/// The steps of a script of `tests/scripts`.
pub fn steps_of(name: &str) -> Vec<Value> {
    serde_json::from_str(
        &fs::read_to_string(tests_folder().join("scripts").join(name)).expect("reads"),
    )
    .expect("a list")
}

/// Runs a script of `tests/scripts` beside the messy folder; returns its steps.
fn run(workspace: &Workspace, name: &str) -> Vec<Value> {
    let script = workspace.path(name);
    copy_script(name, &script);
    let mut arguments = vec![
        "replay".into(),
        script.clone().into_os_string(),
        "--headless".into(),
    ];
    if let Some(shots) = std::env::var_os("TACO_STUDIO_SHEETS") {
        let shots = Path::new(&shots).join(name.trim_end_matches(".json"));
        arguments.extend(["--screenshots".into(), shots.into_os_string()]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
    steps_of(name)
}

/// Steps that a person takes: clicks, drags, fields and panels that are chosen, keys. Text alone is
/// typed where the caret is.
pub fn actions(steps: &[Value]) -> usize {
    let acts = |step: &&Value| match step["step"].as_str() {
        Some("click" | "drag" | "drop" | "open_panel" | "key" | "select") => true,
        Some("type") => step.get("label").is_some(),
        _ => false,
    };
    steps.iter().filter(acts).count()
}

/// The rows of a query.
fn rows(workspace: &Workspace, out: &Path, sql: &str) -> Vec<Value> {
    let arguments = [
        "query".as_ref(),
        out.as_os_str(),
        "--sql".as_ref(),
        sql.as_ref(),
        "--json".as_ref(),
    ];
    let ran = workspace.studio(arguments).expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

/// Checks the dataset that the task writes.
pub fn check(workspace: &Workspace, scenes: usize) {
    let out = workspace.path("bahamas.tacozip");
    let ran = workspace
        .studio([
            "validate".as_ref(),
            out.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ])
        .expect_code(0);
    assert_eq!(ran.json()["findings"], serde_json::json!([]), "{ran}");
    let sql = "SELECT count(*) AS n, sum(CASE WHEN clouds IS NULL THEN 1 ELSE 0 END) AS without, \
        count(DISTINCT \"when\") AS days, \
               sum(CASE WHEN usable THEN 1 ELSE 0 END) AS usable FROM level0";
    let row = rows(workspace, &out, sql).remove(0);
    let count = |name: &str| row[name].as_f64().map_or(0, |number| number as usize);
    assert_eq!(
        (count("n"), count("without"), count("days")),
        (scenes, scenes / 13, 2),
        "{row}"
    );
    assert_eq!(count("usable"), scenes.div_ceil(2), "{row}");
    // Labels have one band and images three at their positions; a slot is padding where the file
    // was missing.
    let sql = "SELECT \"stac:tensor_shape\"[1] AS bands, id, count(*) AS n FROM level1 WHERE NOT \
        starts_with(id, '__TACOPAD') \
               GROUP BY 1, 2 ORDER BY 2";
    let found: Vec<(String, i64, usize)> = rows(workspace, &out, sql)
        .iter()
        .map(|row| {
            let n = row["n"].as_f64().expect("a count") as usize;
            (
                row["id"].as_str().expect("an id").to_owned(),
                row["bands"].as_i64().expect("bands"),
                n,
            )
        })
        .collect();
    let expected = [
        ("after.tif", 3, scenes - scenes / 13),
        ("before.tif", 3, scenes),
        ("label.tif", 1, scenes),
    ];
    assert_eq!(
        found,
        expected.map(|(id, bands, n)| (id.to_owned(), bands, n))
    );
}

#[test]
fn thirteen_messy_scenes_become_a_sound_dataset_in_few_clicks() {
    let workspace = Workspace::new();
    messy(&workspace, 13);
    let steps = run(&workspace, "curator.json");
    let clicks = actions(&steps);
    println!("{clicks} clicks and keys");
    assert!(clicks < MOST, "{clicks} clicks");
    check(&workspace, 13);
}

#[test]
#[ignore = "takes minutes: a hundred times as many scenes"]
fn thirteen_hundred_messy_scenes_take_no_more_clicks() {
    let workspace = Workspace::new();
    messy(&workspace, 1300);
    assert!(actions(&run(&workspace, "curator.json")) < MOST);
    check(&workspace, 1300);
}
