//! Parallel map over items, with an error that does not depend on thread scheduling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Maps items in parallel with rayon's pool; `work` takes the item's index and the item. Results
/// are in item order.
///
/// # Errors
/// The error of the first failing item, as in a sequential loop. Later items may be skipped.
pub fn try_map<I, U>(items: I, work: impl Fn(usize, I::Item) -> Result<U> + Sync) -> Result<Vec<U>>
where
    I: IntoParallelIterator<Iter: IndexedParallelIterator>,
    U: Send,
{
    let failed_at = AtomicUsize::new(usize::MAX);
    let first: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let done: Vec<Option<U>> = items
        .into_par_iter()
        .enumerate()
        .map(|(index, item)| {
            if index > failed_at.load(Ordering::Relaxed) {
                return None;
            }
            match work(index, item) {
                Ok(value) => Some(value),
                Err(error) => {
                    failed_at.fetch_min(index, Ordering::Relaxed);
                    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(known, _)| index < *known) {
                        *first = Some((index, error));
                    }
                    None
                }
            }
        })
        .collect();
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order_and_the_first_error_wins() {
        assert_eq!(
            try_map(0..1000usize, |_, item| Ok(item * 2)).expect("maps")[999],
            1998
        );
        for _ in 0..50 {
            let failing = |index: usize, _| {
                // Later items fail sooner.
                std::thread::sleep(std::time::Duration::from_micros(if index == 40 {
                    500
                } else {
                    5
                }));
                if index >= 40 {
                    Err(Error::internal(format!("item {index}")))
                } else {
                    Ok(())
                }
            };
            assert_eq!(
                try_map(vec![(); 200], failing)
                    .expect_err("fails")
                    .summary(),
                "item 40"
            );
        }
    }
}
