//! The real program in a real window: needs a display, which `packaging/test` provides. What a drop sends is sent as a command, because
//! a display server can't be made to drop.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::scenes;

/// Longer than a window takes to come on a busy machine without a graphics card.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the program with a script; gives its exit code and what it said.
fn run(folder: &Path, script: &serde_json::Value, picture: &Path) -> (Option<i32>, String) {
    let file = folder.join("script.json");
    std::fs::write(&file, script.to_string()).expect("a script");
    let said = folder.join("said.txt");
    let mut child = Command::new(env!("CARGO_BIN_EXE_taco-studio"))
        .env("TACO_STUDIO_CONFIG_DIR", folder.join("config"))
        .env("TACO_STUDIO_WINDOW_SCRIPT", &file)
        .env("TACO_STUDIO_WINDOW_PICTURE", picture)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).expect("a file"))
        .spawn()
        .expect("the program starts");
    let end = Instant::now() + PATIENCE;
    let code = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status.code(),
            None if Instant::now() > end => {
                let _ = child.kill();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    (code, std::fs::read_to_string(said).unwrap_or_default())
}

/// Without a display there is no window to test; `packaging/test` always has one.
fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value: std::ffi::OsString| !value.is_empty());
    set("DISPLAY") || set("WAYLAND_DISPLAY")
}

#[test]
fn a_window_builds_writes_and_opens_a_dataset() {
    if !has_display() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (target, picture) = (folder.path().join("rivers.tacozip"), folder.path().join("window.png"));
    let set =
        |key: &str, value: serde_json::Value| json!({"command": "edit", "edit": "set_collection", "key": key, "value": value});
    let paths: Vec<PathBuf> = scenes().into_iter().take(3).collect();
    let script = json!([
        {"command": "import", "paths": paths},
        set("id", json!("rivers")),
        set("description", json!("Scenes of rivers")),
        set("licenses", json!(["CC0-1.0"])),
        set("tasks", json!(["semantic-segmentation"])),
        set("providers", json!([{"name": "A mapping group", "roles": ["producer"]}])),
        {"command": "write", "options": {"target": target, "format": "zip"}},
        {"command": "open", "path": target},
    ]);
    let (code, said) = run(folder.path(), &script, &picture);
    assert_eq!(code, Some(0), "{said}");
    assert!(target.is_file());
    let window = std::fs::read(&picture).expect("a picture of the window");
    assert!(window.len() > 20_000, "a picture with something in it, not {} bytes", window.len());
    let remembered = std::fs::read_to_string(folder.path().join("config/window.json")).expect("settings");
    let remembered: serde_json::Value = serde_json::from_str(&remembered).expect("JSON");
    assert_eq!(remembered["recent"][0]["title"], "rivers", "the dataset that was opened is in the recent list");
    assert_eq!(remembered["starting"], serde_json::Value::Null, "the renderer that worked is remembered");
    assert!(remembered["renderer"].is_string());
}

#[test]
fn a_command_that_fails_in_the_window_is_told() {
    if !has_display() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = json!([{"command": "open", "path": folder.path().join("nothing.tacozip")}]);
    let (code, said) = run(folder.path(), &script, &folder.path().join("window.png"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nothing.tacozip"), "{said}");
}
