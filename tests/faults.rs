//! Fault injection into commands that write: every system call fails once, and the process is
//! killed at each. The target is then either the old or the new output, complete; an error leaves
//! nothing beside it; after a kill the next start cleans up. `strace` injects the faults, so the
//! product needs no test hooks. By default a few points of each operation are tried;
//! `TACO_STUDIO_ALL_FAULTS=1` tries all and prints a table.

pub mod operations;
mod trace;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use operations::{Operation, operations};
use serde_json::json;
use taco_studio::jobs::Jobs;
use taco_studio::studio::{self as core, Studio};
pub use trace::works as strace_works;
use trace::{Fault, Point, points};

use crate::support::{Workspace, entries, nested_scenes, sha256_of};

/// Number of points of each kind tried by default for an operation.
const FEW: usize = 3;

/// The files below a folder with their checksums, and the names of hidden entries, which belong to
/// no output.
pub fn state(folder: &Path) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut shown, mut hidden) = (BTreeMap::new(), Vec::new());
    if !folder.is_dir() {
        return (shown, hidden);
    }
    for path in entries(folder) {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name.starts_with('.') && name != ".tacocat" {
            hidden.push(name);
        } else if path.is_dir() {
            let (inner, more) = state(&path);
            shown.insert(format!("{name}/"), String::new());
            shown.extend(
                inner
                    .into_iter()
                    .map(|(below, sum)| (format!("{name}/{below}"), sum)),
            );
            hidden.extend(more);
        } else {
            shown.insert(name, sha256_of(&path));
        }
    }
    (shown, hidden)
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for path in entries(from) {
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// A prepared operation, with the states before and after it.
struct Ready {
    workspace: Workspace,
    operation: Operation,
    old: BTreeMap<String, String>,
    new: BTreeMap<String, String>,
    /// Equal input gives equal bytes. Otherwise the new output is identified by its file names and
    /// its validity.
    stable: bool,
}

impl Ready {
    fn of(operation: Operation) -> Self {
        let workspace = Workspace::new();
        (operation.prepare)(&workspace);
        let out = workspace.path("out");
        fs::create_dir_all(&out).expect("a folder");
        copy_tree(&out, &workspace.path("before"));
        let old = state(&out).0;
        let ready = Self {
            workspace,
            operation,
            old,
            new: BTreeMap::new(),
            stable: true,
        };
        ready.run().expect_code(0);
        let (new, hidden) = state(&out);
        assert!(hidden.is_empty(), "{}: {hidden:?}", ready.operation.name);
        assert_ne!(ready.old, new, "{} changes nothing", ready.operation.name);
        ready.restore();
        ready.run().expect_code(0);
        let stable = state(&out).0 == new;
        Self {
            new,
            stable,
            ..ready
        }
    }

    /// True when the state is the complete new output.
    fn is_new(&self, found: &BTreeMap<String, String>) -> bool {
        if self.stable || *found == self.old || !found.keys().eq(self.new.keys()) {
            return *found == self.new;
        }
        self.is_valid(found)
    }

    /// True when every output is a valid dataset; for other operations, when the file names match.
    fn is_valid(&self, found: &BTreeMap<String, String>) -> bool {
        if !self.operation.is_dataset {
            return found.keys().eq(self.new.keys());
        }
        let tops = found
            .keys()
            .filter(|name| !name.trim_end_matches('/').contains('/'));
        tops.into_iter().all(|name| {
            let path = self.workspace.path("out").join(name.trim_end_matches('/'));
            self.workspace
                .studio(["validate".as_ref(), path.as_os_str(), "--deep".as_ref()])
                .ended()
                == Some(0)
        })
    }

    fn restore(&self) {
        let out = self.workspace.path("out");
        fs::remove_dir_all(&out).expect("removed");
        copy_tree(&self.workspace.path("before"), &out);
    }

    fn run(&self) -> crate::support::Ran {
        self.workspace.studio_with(
            &[("RAYON_NUM_THREADS", "1")],
            (self.operation.arguments)(&self.workspace),
        )
    }

    /// Runs the operation with a fault and checks the result; returns its classification.
    fn try_point(&self, point: &Point) -> &'static str {
        self.restore();
        let out = self.workspace.path("out");
        let ran = trace::run(
            &self.workspace,
            (self.operation.arguments)(&self.workspace),
            Some(point),
        );
        let (found, hidden) = state(&out);
        let what = || {
            format!(
                "{}, {point}: {ran}\nbeside it: {hidden:?}",
                self.operation.name
            )
        };
        let killed = ran.ended().is_none();
        assert!(
            !ran.stderr.contains("panicked at"),
            "it panicked: {}",
            what()
        );
        // PROJ ends the process when its database can't be read: as a kill, it leaves the old or
        // the new.
        let by_proj = point.fault == Fault::ReadError
            && ran.stderr.contains("osgeo::proj::io::FactoryException");
        assert!(
            point.fault == Fault::Kill || by_proj || !killed,
            "ended by a signal: {}",
            what()
        );
        if point.fault == Fault::Kill && !killed {
            assert!(self.is_new(&found) && hidden.is_empty(), "{}", what());
            return "missed";
        }
        if !killed {
            let new = self.is_new(&found);
            // Rasters that cannot be written are kept unchanged and listed; the same fault may then
            // hit standard output (exit code 2).
            let says =
                ran.stderr.contains("failed: ") || ran.stdout.contains(" could not be written; ");
            let listed = ran.ended() != Some(0) && says;
            // The fault meets every thread: a raster that can't be brought to the disk is kept,
            // then the command itself fails.
            let many = ["optimise a dataset", "optimise a folder"].contains(&self.operation.name);
            let listed = listed || (many && point.call == "fsync" && ran.ended() == Some(2));
            if listed && found != self.old {
                assert!(
                    self.is_valid(&found) && hidden.is_empty(),
                    "{}\n{found:#?}",
                    what()
                );
                return "listed";
            }
            assert!(
                found == self.old || new,
                "neither the old nor the new: {}\n{found:#?}",
                what()
            );
            assert!(
                ran.ended() != Some(0) || new,
                "reported success without the new: {}",
                what()
            );
            assert!(hidden.is_empty(), "something is left behind: {}", what());
            return if new { "new" } else { "old" };
        }
        // Without atomic exchange, the old output may have been moved aside.
        let new = self.is_new(&found);
        let exchanged = found == self.old || new;
        assert!(
            exchanged || hidden.iter().any(|name| name.ends_with(".old")),
            "{}\n{found:#?}",
            what()
        );
        let again = self.run();
        assert!(
            again.ended() == Some(0),
            "the next start fails after {}: {again}",
            what()
        );
        let (mended, left) = state(&out);
        assert!(
            self.is_new(&mended) && left.is_empty(),
            "the next start leaves {left:?} and {mended:#?} after {}",
            what()
        );
        if new {
            "new"
        } else if found == self.old {
            "old"
        } else {
            "aside"
        }
    }
}

/// Tries the points of an operation, all or a few; returns the number of results by kind of fault.
fn try_operation(operation: Operation, all: bool) -> BTreeMap<(Fault, &'static str), usize> {
    let ready = Ready::of(operation);
    ready.restore();
    let found = points(
        &ready.workspace,
        (ready.operation.arguments)(&ready.workspace),
        "out",
    );
    let mut outcomes = BTreeMap::new();
    for fault in Fault::ALL {
        let of_kind: Vec<&Point> = found.iter().filter(|point| point.fault == fault).collect();
        assert!(
            fault == Fault::ReadError || !of_kind.is_empty(),
            "{} has no point for {fault:?}",
            ready.operation.name
        );
        let step = if all {
            1
        } else {
            of_kind.len().div_ceil(FEW).max(1)
        };
        // Renames are among the last points.
        for point in of_kind.iter().rev().step_by(step) {
            *outcomes.entry((fault, ready.try_point(point))).or_default() += 1;
        }
        let missed = outcomes
            .get(&(fault, "missed"))
            .copied()
            .unwrap_or_default();
        assert!(
            missed * 4 <= of_kind.len().div_ceil(step),
            "{}: {missed} kills did not arrive",
            ready.operation.name
        );
    }
    outcomes
}

#[test]
fn every_failing_call_and_every_kill_leaves_the_old_or_the_new_whole() {
    if let Err(reason) = trace::works() {
        eprintln!("skipped: {reason}");
        return;
    }
    let all = std::env::var_os("TACO_STUDIO_ALL_FAULTS").is_some();
    let only = std::env::var("TACO_STUDIO_ALL_FAULTS").unwrap_or_default();
    let mut table = String::from(
        "| operation | errors: old / new | read errors: old / new | kills: old / new / aside | \
            some rasters kept |\n|---|---|---|---|---|\n",
    );
    for operation in operations() {
        // A name instead of 1 selects an operation.
        if only.len() > 1 && !operation.name.contains(&only) {
            continue;
        }
        let name = operation.name;
        let outcomes = try_operation(operation, all);
        let count = |fault, outcome| outcomes.get(&(fault, outcome)).copied().unwrap_or_default();
        let listed = outcomes
            .iter()
            .filter(|((_, outcome), _)| *outcome == "listed")
            .map(|(_, count)| count)
            .sum::<usize>();
        table += &format!("| {name} |");
        for fault in Fault::ALL {
            table += &format!(" {} / {}", count(fault, "old"), count(fault, "new"));
            table += &if fault == Fault::Kill {
                format!(" / {} |", count(fault, "aside"))
            } else {
                " |".to_owned()
            };
        }
        table += &format!(" {listed} |");
        table.push('\n');
        if all {
            eprintln!("{}", table.lines().last().unwrap_or_default());
        }
    }
    if all {
        eprintln!("{table}");
    }
}

/// Number of draft steps reported by a script before it ended.
fn told(stdout: &str) -> usize {
    let steps = |line: &str| {
        line.rsplit_once(": ")?
            .1
            .strip_suffix(" steps")?
            .parse()
            .ok()
    };
    stdout.lines().rev().find_map(steps).unwrap_or_default()
}

/// Runs edits with autosave and a fault; returns what happened to the draft.
fn try_autosave(
    workspace: &Workspace,
    lines: usize,
    arguments: &[std::ffi::OsString],
    point: &Point,
) -> &'static str {
    let auto = workspace.path("auto");
    let _ = fs::remove_dir_all(&auto);
    let (ran, hit) = trace::run_and_look(workspace, arguments.to_vec(), point, "auto");
    assert!(
        !ran.stderr.contains("panicked at"),
        "it panicked: {point}: {ran}"
    );
    if point.fault == Fault::Error && !hit {
        return "missed";
    }
    let found = core::recoverable(&auto);
    assert!(
        point.fault == Fault::Kill || ran.ended().is_some(),
        "ended by a signal: {point}: {ran}"
    );
    if ran.ended().is_some() {
        // The edits succeed independent of autosave, and the draft is discarded at the end of the
        // script.
        assert_eq!(ran.ended(), Some(0), "{point}: {ran}");
        assert!(found.is_empty(), "{point}: {found:?} {ran}");
        let left = if auto.is_dir() {
            entries(&auto)
        } else {
            Vec::new()
        };
        assert!(left.is_empty(), "{point}: {left:?} is left behind: {ran}");
        return "old";
    }
    let steps = told(&ran.stdout);
    // The draft is discarded at the end of the script.
    let over = ran.stdout.lines().count() == lines;
    assert!(
        found.len() == 1 || steps < 2 || over,
        "{point}: {steps} steps were done, {found:?} can be restored: {ran}"
    );
    let Some(draft) = found.first() else {
        return "old";
    };
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    let restore = serde_json::from_value(json!({"command": "restore", "path": draft.journal}))
        .expect("a command");
    studio
        .run_to_end(restore, &mut |_| {})
        .unwrap_or_else(|error| panic!("{point}: {}", error.report()));
    let restored = studio
        .document()
        .and_then(core::Document::draft)
        .expect("a draft")
        .steps();
    // A journal that was made short begins with the draft as it was then; only the steps after it
    // can be undone one by one.
    assert!(
        restored <= draft.steps,
        "{point}: {restored} steps were restored, {} are listed",
        draft.steps
    );
    assert!(
        draft.steps + 1 >= steps,
        "{point}: {steps} steps were done, {} are left",
        draft.steps
    );
    "new"
}

#[test]
fn a_draft_survives_every_failing_call_and_every_kill_of_autosave() {
    if let Err(reason) = trace::works() {
        eprintln!("skipped: {reason}");
        return;
    }
    let all = std::env::var_os("TACO_STUDIO_ALL_FAULTS").is_some();
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let title = |text: String| {
        json!({
            "command": "edit",
            "edit": "set_collection",
            "key": "title",
            "value": text,
        })
    };
    let mut lines = vec![json!({"command": "import", "paths": ["scenes"]})];
    lines.extend((0..5).map(|number| title(format!("title {number}"))));
    // Long enough to make the journal start over.
    lines.push(title("x".repeat(9 << 20)));
    lines.extend([json!({"command": "undo"}), title("last".into())]);
    let script = workspace.write("script.json", json!(lines).to_string());
    let arguments = [
        "replay".into(),
        script.into(),
        "--headless".into(),
        "--tell".into(),
        "--autosave".into(),
    ];
    let arguments: Vec<std::ffi::OsString> = arguments
        .into_iter()
        .chain([workspace.path("auto").into()])
        .collect();
    let found = points(&workspace, arguments.clone(), "auto");
    for fault in [Fault::Error, Fault::Kill] {
        let of_kind: Vec<&Point> = found.iter().filter(|point| point.fault == fault).collect();
        assert!(of_kind.len() > 20, "{found:?}");
        let step = if all { 1 } else { of_kind.len().div_ceil(FEW) };
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        // The first syncs: of the journal that is begun, and of its folder, after which the journal
        // is on disk all the same.
        let first = of_kind.iter().filter(|point| {
            !all && point.fault == Fault::Error && point.call == "fsync" && point.number <= 2
        });
        for point in of_kind.iter().rev().step_by(step).chain(first) {
            *outcomes
                .entry(try_autosave(&workspace, lines.len(), &arguments, point))
                .or_default() += 1;
        }
        let missed = outcomes.get("missed").copied().unwrap_or_default();
        assert!(
            missed < outcomes.values().sum(),
            "no {fault:?} reached the journal: {found:?}"
        );
        if all {
            eprintln!(
                "autosave, {fault:?}: {outcomes:?} (new: the draft was restored; old: nothing was \
                    there to restore)"
            );
        }
    }
}
