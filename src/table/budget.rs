//! Limits the memory for decoding in proportion to the stored bytes: a few bytes can claim, or
//! expand to, any number of values. Tables of real datasets, whose ids differ between rows, stay
//! far below the limit.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Bytes that any table may expand to.
const FREE: u64 = 128 << 20;
/// Decoded bytes per stored byte. A level of ten million samples with twenty columns has ratios of
/// 10 to 60.
const RATIO: u64 = 256;

/// Remaining bytes that may be decoded; shared by all threads of one operation.
#[derive(Debug, Default)]
pub struct DecodeBudget {
    stored: AtomicU64,
    used: AtomicU64,
}

impl DecodeBudget {
    /// The budget for tables of `stored` bytes.
    pub fn of_stored(stored: u64) -> Self {
        Self {
            stored: AtomicU64::new(stored),
            used: AtomicU64::new(0),
        }
    }

    /// No limit, for tables in memory.
    pub fn without_limit() -> Self {
        Self::of_stored(u64::MAX)
    }

    /// Increases the budget for further tables of `stored` bytes.
    pub fn add_stored(&self, stored: u64) {
        self.stored.fetch_add(stored, Ordering::Relaxed);
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        FREE.max(self.stored.load(Ordering::Relaxed).saturating_mul(RATIO))
    }

    /// Reserves `bytes` that will be decoded.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] when the budget is exceeded; `what` begins the message:
    /// "column big unfolds".
    pub fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        self.check(before.saturating_add(bytes), what)
    }

    /// Reserves `bytes` if they are within the budget; returns whether they were.
    pub fn reserve(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit());
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
    }

    /// Checks that `bytes` do not exceed the limit.
    ///
    /// # Errors
    /// As [`DecodeBudget::take`].
    pub fn check(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let limit = self.limit();
        if bytes <= limit {
            return Ok(());
        }
        let stored = self.stored.load(Ordering::Relaxed);
        let summary = format!("{} to {} or more", what(), size_text(bytes));
        let most = format!(
            "{} of tables may unfold to {} at the most",
            size_text(stored),
            size_text(limit)
        );
        Err(Error::too_large(summary)
            .because(most)
            .hint("the file is damaged or malicious: do not trust it"))
    }
}

/// A size in bytes, formatted for users.
pub(super) fn size_text(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_grows_with_the_stored_bytes() {
        let small = DecodeBudget::of_stored(100);
        assert!(small.take(FREE, || "it unfolds".into()).is_ok());
        let error = small
            .take(1, || "it unfolds".into())
            .expect_err("is too much");
        assert!(
            error.is_too_large() && error.to_string().contains("it unfolds to 134 MB"),
            "{error}"
        );
        let large = DecodeBudget::of_stored(10 << 30);
        assert!(
            large.take(1 << 40, String::new).is_ok() && large.check(u64::MAX, String::new).is_err()
        );
    }
}
