//! How much memory decoding may take, by the bytes that are there: a few bytes can claim, or unfold to, any number of values. Tables
//! of real datasets, whose ids differ from row to row, stay far below. Knows numbers only, no format.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Bytes that any table may unfold to.
const FREE: u64 = 128 << 20;
/// Bytes that a table may unfold to for each of its own. A level of ten million samples with twenty columns has ratios of 10 to 60.
const RATIO: u64 = 256;

/// Bytes that may still be decoded; shared by everything that is decoded for one purpose, on any thread.
#[derive(Debug, Default)]
pub struct DecodeBudget {
    stored: AtomicU64,
    used: AtomicU64,
}

impl DecodeBudget {
    /// What `stored` bytes of tables may unfold to.
    pub fn of_stored(stored: u64) -> Self {
        Self { stored: AtomicU64::new(stored), used: AtomicU64::new(0) }
    }

    /// No limit: for tables that are in memory already.
    pub fn unlimited() -> Self {
        Self::of_stored(u64::MAX)
    }

    /// Adds what further tables may unfold to, of which `stored` bytes were not known before.
    pub fn add_stored(&self, stored: u64) {
        self.stored.fetch_add(stored, Ordering::Relaxed);
    }

    /// Bytes that may be decoded in all.
    pub fn limit(&self) -> u64 {
        FREE.max(self.stored.load(Ordering::Relaxed).saturating_mul(RATIO))
    }

    /// Counts `bytes` that are about to be decoded.
    ///
    /// # Errors
    /// [`crate::error::Kind::TooLarge`] when that is more than there may be; `what` begins the sentence: "column big unfolds".
    pub fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        self.check(before.saturating_add(bytes), what)
    }

    /// Counts `bytes` if they fit, and tells whether they did.
    pub fn reserve(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit());
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// An error when `bytes` are more than may be decoded in all.
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
        let most = format!("{} of tables may unfold to {} at the most", size_text(stored), size_text(limit));
        Err(Error::too_large(summary).because(most).hint("the file is damaged, or made to fill the memory: do not trust it"))
    }
}

/// Bytes for people.
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
    fn what_may_be_decoded_grows_with_what_is_stored() {
        let small = DecodeBudget::of_stored(100);
        assert!(small.take(FREE, || "it unfolds".into()).is_ok());
        let error = small.take(1, || "it unfolds".into()).expect_err("is too much");
        assert!(error.is_too_large() && error.to_string().contains("it unfolds to 134 MB"), "{error}");
        let large = DecodeBudget::of_stored(10 << 30);
        assert!(large.take(1 << 40, String::new).is_ok() && large.check(u64::MAX, String::new).is_err());
    }
}
