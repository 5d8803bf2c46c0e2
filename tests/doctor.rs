//! `doctor` on deliberately broken environments: it names the problem and what to do.

use std::process::Command;

use serde_json::Value;

use crate::support::{Workspace, files_below};

/// Runs `doctor --json` with these environment variables; returns the exit code and the checks.
fn doctor(workspace: &Workspace, variables: &[(&str, &str)]) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    workspace.house(&mut command).args(["doctor", "--json"]);
    for name in [
        "GDAL_DATA",
        "PROJ_DATA",
        "PROJ_LIB",
        "DBUS_SESSION_BUS_ADDRESS",
    ] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let output = command.output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let code = output.status.code().unwrap_or_else(|| {
        panic!(
            "ended by a signal: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (
        code,
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}")),
    )
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("checks");
    checks
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no check {name} in {report:#}"))
}

#[test]
fn a_machine_in_order_is_healthy() {
    let workspace = Workspace::new();
    let (code, report) = doctor(&workspace, &[]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["healthy"], true);
    for name in ["gdal", "proj", "network", "settings", "cache", "data"] {
        assert_eq!(check(&report, name)["health"], "ok", "{report:#}");
    }
    assert!(
        check(&report, "graphics")["seen"]
            .as_str()
            .is_some_and(|seen| !seen.is_empty())
    );
    assert!(
        !workspace.path("home/.config").exists(),
        "looking leaves nothing behind"
    );
}

#[test]
fn proj_data_of_another_version_is_named_and_passed_over() {
    let workspace = Workspace::new();
    let foreign = workspace.path("conda/share/proj");
    std::fs::create_dir_all(&foreign).expect("a folder");
    // A PROJ database with an old layout, as an old Python environment sets in PROJ_DATA.
    let script = "import sqlite3, sys; base = sqlite3.connect(sys.argv[1]); \
        base.executescript(\"create table metadata(key text, value text); \
                  insert into metadata values('DATABASE.LAYOUT.VERSION.MAJOR', '1'), \
        ('DATABASE.LAYOUT.VERSION.MINOR', '0')\")";
    let made = Command::new("python3")
        .args(["-c", script])
        .arg(foreign.join("proj.db"))
        .status()
        .expect("python3 starts");
    assert!(made.success());
    let (code, report) = doctor(
        &workspace,
        &[("PROJ_DATA", foreign.to_str().expect("text"))],
    );
    assert_eq!(code, 0, "the data inside the program serves: {report:#}");
    let proj = check(&report, "proj");
    assert_eq!(proj["health"], "warning", "{proj:#}");
    assert!(
        proj["seen"]
            .as_str()
            .is_some_and(|seen| seen.contains("conda/share/proj")),
        "{proj:#}"
    );
    assert!(
        proj["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("PROJ_DATA")),
        "{proj:#}"
    );
}

#[test]
fn folders_that_refuse_are_errors_with_their_consequence() {
    let workspace = Workspace::new();
    // Not even root can make a folder in a file.
    let file = workspace.write("file", "").join("taco-studio");
    let file = file.to_str().expect("text");
    let (code, report) = doctor(
        &workspace,
        &[
            ("TACO_STUDIO_DATA_DIR", file),
            ("TACO_STUDIO_CONFIG_DIR", file),
        ],
    );
    assert_eq!(code, 1);
    assert_eq!(report["healthy"], false);
    for name in ["data", "settings"] {
        assert_eq!(check(&report, name)["health"], "error", "{report:#}");
    }
    assert!(
        check(&report, "data")["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("drafts"))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_desktop_without_bus_or_display_is_described() {
    let workspace = Workspace::new();
    let (_, report) = doctor(
        &workspace,
        &[
            ("DISPLAY", ""),
            ("WAYLAND_DISPLAY", ""),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus"),
            ("GDAL_DATA", "/nowhere"),
        ],
    );
    assert!(
        check(&report, "display")["seen"]
            .as_str()
            .is_some_and(|seen| seen.contains("no display"))
    );
    assert!(
        check(&report, "file dialogs")["seen"]
            .as_str()
            .is_some_and(|seen| seen.contains("/nowhere/bus"))
    );
    assert_eq!(check(&report, "gdal data")["health"], "warning");
    let (_, wayland) = doctor(
        &workspace,
        &[("DISPLAY", ""), ("WAYLAND_DISPLAY", "wayland-0")],
    );
    assert!(
        check(&wayland, "display")["seen"]
            .as_str()
            .is_some_and(|seen| seen.contains("dropped"))
    );
}

#[test]
fn reset_forgets_settings_and_cache_and_nothing_else() {
    let workspace = Workspace::new();
    workspace.write("home/.config/taco-studio/window.json", "{}");
    workspace.write("home/.cache/taco-studio/files/thumbnail", "x");
    workspace.write("home/.cache/taco-studio/target/debug/program", "x");
    workspace.write("home/.local/share/taco-studio/draft", "x");
    let ran = workspace.studio(["reset"]).expect_code(0);
    assert!(
        ran.stdout.contains("window") || ran.stdout.contains(".config"),
        "{ran}"
    );
    assert!(!workspace.path("home/.config/taco-studio").exists());
    assert!(!workspace.path("home/.cache/taco-studio/files").exists());
    assert!(
        workspace
            .path("home/.cache/taco-studio/target/debug/program")
            .exists()
    );
    assert!(
        workspace
            .path("home/.local/share/taco-studio/draft")
            .exists()
    );
    workspace.studio(["reset"]).expect_code(0);

    // Settings and drafts in one folder, as on macOS.
    for kept in [
        "window.json",
        "recipes/mine.json",
        "drafts/1/journal",
        "notes.txt",
    ] {
        workspace.write(&format!("one/{kept}"), "{}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command
        .arg("reset")
        .env("TACO_STUDIO_CONFIG_DIR", workspace.path("one"))
        .env("TACO_STUDIO_DATA_DIR", workspace.path("one"));
    workspace.run(command).expect_code(0);
    assert_eq!(
        files_below(&workspace.path("one")),
        ["drafts/1/journal", "notes.txt", "recipes/mine.json"]
    );
}
