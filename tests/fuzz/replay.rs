//! Replays the corpus: every input of every target once, without libFuzzer. Prints a summary like
//! other test runners.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::targets::{self, Target};
use crate::{memory, place};

/// Maximum time for one input on a busy machine, in a debug build.
const LIMIT: Duration = Duration::from_secs(60);

/// The current input and its start, for the watchdog.
static NOW: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);

/// Arguments are parts of names, as for other test runners: of targets, or of files for single
/// inputs.
pub fn run(arguments: impl Iterator<Item = String>) -> i32 {
    let arguments: Vec<String> = arguments.collect();
    let listing = arguments.iter().any(|argument| argument == "--list");
    let wanted = names(&arguments);
    std::thread::spawn(watch);
    let (mut passed, mut failed, mut left_out) = (0, Vec::new(), 0);
    for target in targets::all() {
        for path in inputs(target) {
            let name = name_of(&path);
            if listing {
                println!("{name}: test");
            } else if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str()))
            {
                left_out += 1;
            } else if is_read(target, &path) {
                passed += 1;
            } else {
                failed.push(name);
            }
        }
    }
    place::clear();
    if listing {
        return 0;
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    failed.iter().for_each(|name| println!("failed: {name}"));
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; {left_out} \
            filtered out",
        failed.len()
    );
    i32::from(!failed.is_empty())
}

/// The arguments other than options and their values; options are ignored.
fn names(arguments: &[String]) -> Vec<&String> {
    const WITH_VALUE: [&str; 7] = [
        "--test-threads",
        "--skip",
        "--format",
        "--color",
        "--logfile",
        "--shuffle-seed",
        "-Z",
    ];
    let before = [None]
        .into_iter()
        .chain(arguments.iter().map(|argument| Some(argument.as_str())));
    let is_value = |before: Option<&str>| before.is_some_and(|before| WITH_VALUE.contains(&before));
    arguments
        .iter()
        .zip(before)
        .filter(|(own, before)| !own.starts_with('-') && !is_value(*before))
        .map(|(own, _)| own)
        .collect()
}

/// The stored inputs of a target, sorted by name.
fn inputs(target: Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target.name);
    let listed =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = listed
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(!paths.is_empty(), "{} has no inputs", target.name);
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    let mut parts: Vec<String> = path
        .iter()
        .rev()
        .take(2)
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    parts.reverse();
    format!("fuzz::{}", parts.join("::"))
}

fn is_read(target: Target, path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("an input");
    *NOW.lock().expect("nobody panics with it") = Some((path.to_owned(), Instant::now()));
    let mut held = 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        held = memory::capped(|| (target.run)(&bytes))
    }));
    let (_, started) = NOW
        .lock()
        .expect("nobody panics with it")
        .take()
        .expect("is read");
    if std::env::var_os("TACO_STUDIO_FUZZ_TIMES").is_some() {
        println!(
            "{} {} ms {} kB",
            name_of(path),
            started.elapsed().as_millis(),
            held >> 10
        );
    }
    outcome.is_ok()
}

/// Ends the process when an input takes too long, as it cannot be stopped from inside.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        if let Some((path, since)) = &*NOW.lock().expect("nobody panics with it")
            && since.elapsed() > LIMIT
        {
            println!(
                "\n{} takes longer than {LIMIT:?}\ntest result: FAILED. 0 passed; 1 failed",
                name_of(path)
            );
            let _ = std::io::stdout().flush();
            std::process::abort();
        }
    }
}
