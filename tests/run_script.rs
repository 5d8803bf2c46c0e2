//! `packaging/run --released`: a released program is taken when its checksum is the one of the
//! list, and nothing of it otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, Server, Workspace, entries, sha256_of};

/// An archive as `packaging/artefacts tar` makes it, with a program that prints its arguments.
/// Returns its checksum.
fn archive(workspace: &Workspace) -> String {
    let program = workspace.write(
        "made/taco-studio-linux/bin/taco-studio",
        "#!/bin/sh\n[ \"$1\" != sample ] || mkdir -p \"$2\"\necho \"released: $*\"\n",
    );
    let mut mode = std::fs::metadata(&program).expect("is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&program, mode).expect("can be started");
    let mut tar = Command::new("tar");
    tar.args(["-czf", "served.tar.gz", "-C", "made", "taco-studio-linux"]);
    workspace.run(tar).expect_code(0);
    std::fs::create_dir(workspace.path("served")).expect("a folder");
    std::fs::rename(
        workspace.path("served.tar.gz"),
        workspace.path("served/a.tar.gz"),
    )
    .expect("is moved");
    sha256_of(&workspace.path("served/a.tar.gz"))
}

fn list(workspace: &Workspace, version: &str, sum: &str, address: &str) -> PathBuf {
    let system = format!("linux-{}", std::env::consts::ARCH);
    workspace.write(
        "released",
        format!(
            "# version system sum address\n9.9.9 {system} 00 {address}\n{version} {system} \
            {sum} {address}\n"
        ),
    )
}

fn run_released(workspace: &Workspace, releases: &Path) -> Ran {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/run"));
    command
        .args(["--released", "validate", "a b.tacozip"])
        .env("TACO_STUDIO_RELEASES", releases);
    workspace.run(command)
}

#[test]
fn a_released_program_is_downloaded_once_and_started() {
    let workspace = Workspace::new();
    let sum = archive(&workspace);
    let server = Server::of(&workspace.path("served"));
    let releases = list(
        &workspace,
        env!("CARGO_PKG_VERSION"),
        &sum,
        &server.url("a.tar.gz"),
    );
    for _ in 0..2 {
        let ran = run_released(&workspace, &releases).expect_code(0);
        assert!(
            ran.stdout.ends_with("released: validate a b.tacozip\n"),
            "{}",
            ran.stdout
        );
    }
    assert_eq!(server.asked().len(), 1, "the second start takes the copy");
    let kept = entries(&workspace.path("home/.cache/taco-studio/released"));
    assert_eq!(
        kept,
        [workspace
            .path("home/.cache/taco-studio/released")
            .join(&sum)]
    );
}

#[test]
fn another_file_than_the_released_one_is_refused() {
    let workspace = Workspace::new();
    let sum = archive(&workspace);
    let server = Server::of(&workspace.path("served"));
    let other = format!(
        "{}{}",
        if sum.starts_with('0') { '1' } else { '0' },
        &sum[1..]
    );
    let faults = [
        (
            env!("CARGO_PKG_VERSION"),
            other.as_str(),
            server.url("a.tar.gz"),
            "its SHA-256 is",
        ),
        (
            env!("CARGO_PKG_VERSION"),
            sum.as_str(),
            server.url("none.tar.gz"),
            "could not be downloaded",
        ),
        (
            "0.0.1",
            sum.as_str(),
            server.url("a.tar.gz"),
            "no released program of this version",
        ),
    ];
    for (version, sum, address, message) in faults {
        let releases = list(&workspace, version, sum, &address);
        let ran = run_released(&workspace, &releases).expect_code(1);
        assert!(
            ran.stderr.contains(message) && ran.stdout.is_empty(),
            "{}",
            ran.stderr
        );
        let kept = workspace.path("home/.cache/taco-studio/released");
        assert!(
            !kept.exists() || entries(&kept).is_empty(),
            "nothing is kept"
        );
    }
}
