//! Names of operations in plans, one for each: the engine treats two operations of one name over
//! the same input as equal.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of joins in a query.
pub(super) const JOINS_MAX: usize = 500;
/// Maximum number of samples in a statement.
pub(super) const SAMPLES_MAX: usize = 500;

struct OperationNames {
    /// Names of the checks of joins.
    bounds: Vec<&'static str>,
    samples: Vec<&'static str>,
    /// Number of samples that were planned.
    planned: AtomicUsize,
}

static NAMES: LazyLock<OperationNames> = LazyLock::new(|| OperationNames {
    bounds: number_names("BOUND", 2 * JOINS_MAX),
    samples: number_names("SAMPLE", 2 * SAMPLES_MAX),
    planned: AtomicUsize::new(0),
});

fn number_names(word: &str, count: usize) -> Vec<&'static str> {
    (0..count)
        .map(|number| &*Box::leak(format!("{word} {number}").into_boxed_str()))
        .collect()
}

/// Names for the checks of the joins of one plan.
pub(super) fn list_bound_names() -> impl Iterator<Item = &'static str> {
    NAMES.bounds.iter().copied()
}

/// A name for a sample, which no other one of its statement has.
pub(super) fn next_sample_name() -> Option<&'static str> {
    let number = NAMES.planned.fetch_add(1, Ordering::Relaxed);
    NAMES.samples.get(number % NAMES.samples.len()).copied()
}
