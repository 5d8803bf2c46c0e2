//! Writing to a full disk and to a read-only one: a small file system mounted in a separate mount
//! namespace. Where mounting is not permitted, the tests say so and end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

use crate::faults::operations::{Operation, operations};
use crate::faults::{copy_tree, state};
use crate::support::{Ran, Workspace, entries, files_below};

/// Mounts a file system of `$1` bytes on `$2`, copies `$3` to it, remounts it with the mode `$4`
/// (`rw` or `ro`), runs the command, and copies the resulting files to `$5`.
const ON_A_DISK: &str = r#"
size=$1 disk=$2 before=$3 mode=$4 after=$5
shift 5
mount -t tmpfs -o size="$size" none "$disk" && cp -a "$before"/. "$disk"/ && mount -o remount,"$mode" "$disk" || exit 99
code=0
"$@" || code=$?
cp -a "$disk"/. "$after"/ || exit 98
exit $code
"#;

/// Whether a file system can be mounted here, and otherwise the reason.
fn can_mount() -> Result<(), String> {
    let script = "mount -t tmpfs -o size=1m none /mnt && mount -o remount,ro /mnt";
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "a disk can't be mounted here: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("unshare can't be started ({error})")),
    }
}

/// Size of a folder's files on a file system with whole pages, in bytes.
fn pages(folder: &std::path::Path) -> u64 {
    let size = |name: String| {
        fs::metadata(folder.join(name))
            .expect("a file")
            .len()
            .div_ceil(4096)
            * 4096
    };
    files_below(folder).into_iter().map(size).sum()
}

struct Disk<'a> {
    workspace: &'a Workspace,
    arguments: Vec<OsString>,
}

impl Disk<'_> {
    /// Runs the operation on a separate file system; returns its output and the resulting files.
    fn run(&self, bytes: u64, mode: &str) -> (Ran, BTreeMap<String, String>, Vec<String>) {
        let place = |name: &str| self.workspace.path(name);
        let after = place("after");
        let _ = fs::remove_dir_all(&after);
        fs::create_dir(&after).expect("a folder");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", ON_A_DISK, "sh", &bytes.to_string()]);
        command
            .args([place("out"), place("before")])
            .arg(mode)
            .arg(&after)
            .arg(env!("CARGO_BIN_EXE_taco-studio"));
        let ran = self.workspace.run({
            command.args(&self.arguments);
            command
        });
        assert!(
            !matches!(ran.ended(), None | Some(98 | 99)),
            "the disk could not be made: {ran}"
        );
        let (found, hidden) = state(&after);
        (ran, found, hidden)
    }
}

fn try_on_full_disks(operation: &Operation) {
    let workspace = Workspace::new();
    (operation.prepare)(&workspace);
    let (out, before) = (workspace.path("out"), workspace.path("before"));
    copy_tree(&out, &before);
    let old = state(&before).0;
    let disk = Disk {
        workspace: &workspace,
        arguments: (operation.arguments)(&workspace),
    };
    let (ran, new, hidden) = disk.run(64 << 20, "rw");
    assert!(
        ran.ended() == Some(0) && hidden.is_empty() && new != old,
        "{}: {hidden:?} {ran}",
        operation.name
    );
    let (used, wanted) = (pages(&before), pages(&workspace.path("after")));
    let mut refused = 0;
    for share in [0, 10, 35, 60, 85, 98] {
        let (ran, found, hidden) = disk.run(used + wanted * share / 100, "rw");
        let what = format!("{} with room for {share} %: {ran}", operation.name);
        assert!(!ran.stderr.contains("panicked at"), "{what}");
        assert_eq!(hidden, Vec::<String>::new(), "{what}");
        if ran.ended() == Some(0) {
            assert!(found.keys().eq(new.keys()) && found != old, "{what}");
            continue;
        }
        refused += 1;
        assert_eq!(found, old, "{what}");
        assert!(
            ran.stderr.contains("free some space"),
            "the reason is missing: {what}"
        );
    }
    assert!(refused > 0, "{} never met a full disk", operation.name);
    let (ran, found, hidden) = disk.run(64 << 20, "ro");
    assert!(
        ran.ended() == Some(2) && ran.stderr.contains("write to another folder"),
        "{}: {ran}",
        operation.name
    );
    assert!(
        found == old && hidden.is_empty(),
        "{}: {hidden:?} {ran}",
        operation.name
    );
}

#[test]
fn full_and_read_only_disks_keep_the_old_output_and_give_a_reason() {
    if let Err(reason) = can_mount() {
        eprintln!("skipped: {reason}");
        return;
    }
    let only = std::env::var("TACO_STUDIO_ALL_FAULTS").unwrap_or_default();
    for operation in operations()
        .iter()
        .filter(|operation| only.len() < 2 || operation.name.contains(&only))
    {
        try_on_full_disks(operation);
    }
}

/// The sources of an operation, without the output that it replaces.
fn sources(workspace: &Workspace) -> Vec<std::path::PathBuf> {
    let known = ["out", "before", "home", "after"];
    let is_source = |path: &std::path::PathBuf| {
        known
            .iter()
            .all(|name| path.file_name().is_some_and(|found| found != *name))
    };
    entries(&workspace.path(""))
        .into_iter()
        .filter(is_source)
        .collect()
}

#[test]
fn sources_that_are_gone_leave_the_old_whole() {
    for operation in operations() {
        let workspace = Workspace::new();
        (operation.prepare)(&workspace);
        let old = state(&workspace.path("out"));
        let gone = workspace.path("home/gone");
        fs::create_dir(&gone).expect("a folder");
        for source in sources(&workspace)
            .into_iter()
            .filter(|path| path.extension().is_none_or(|end| end != "json"))
        {
            fs::rename(&source, gone.join(source.file_name().expect("a name"))).expect("moved");
        }
        // An index, or a saved project, needs only the files beside it.
        if ["tacocat", "save a project"].contains(&operation.name) {
            continue;
        }
        let ran = workspace
            .studio((operation.arguments)(&workspace))
            .expect_code(2);
        assert!(ran.stderr.contains("error: "), "{}: {ran}", operation.name);
        assert_eq!(
            state(&workspace.path("out")),
            old,
            "{}: {ran}",
            operation.name
        );
    }
}
