//! How much of the network and of the disk reading from other machines may take: what the environment says, else what the user set.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// What reading from other machines may take.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests at one time, 1 to 64. `--connections` and the dialog of an address go before it.
    pub connections: usize,
    /// Seconds without a byte after which a request is given up, 0.1 to 3600. `TACO_STUDIO_HTTP_TIMEOUT` goes before it.
    pub silence_s: f64,
    /// Size of the cache on the disk in MB; 0 for none. `TACO_STUDIO_CACHE_MB` goes before it.
    pub cache_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 8, silence_s: 20.0, cache_mb: 2048 }
    }
}

impl Limits {
    /// The same, brought back to what can work: a remembered number may have been edited by hand.
    fn sane(self) -> Self {
        let silence_s = if self.silence_s.is_finite() { self.silence_s.clamp(0.1, 3600.0) } else { Self::default().silence_s };
        Self { connections: self.connections.clamp(1, 64), silence_s, ..self }
    }
}

/// Size of the memory for remote files in MB. `TACO_STUDIO_REMOTE_MEMORY_MB` goes before it.
const MEMORY_MB: u64 = 256;

static SET: Mutex<Option<Limits>> = Mutex::new(None);

/// Uses these from now on, where the environment says nothing else.
pub fn set_limits(limits: Limits) {
    *SET.lock().unwrap_or_else(PoisonError::into_inner) = Some(limits.sane());
}

fn set() -> Limits {
    SET.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
}

/// Requests at one time.
pub(super) fn connections() -> usize {
    set().connections
}

/// Time without a byte after which a request is given up.
pub(super) fn patience() -> Duration {
    static STATED: LazyLock<Option<f64>> = LazyLock::new(|| stated("TACO_STUDIO_HTTP_TIMEOUT"));
    Duration::from_secs_f64(STATED.filter(|seconds| (0.1..=3600.0).contains(seconds)).unwrap_or(set().silence_s))
}

/// Bytes that the cache may have.
pub(super) fn cache_cap() -> u64 {
    static STATED: LazyLock<Option<u64>> = LazyLock::new(|| stated("TACO_STUDIO_CACHE_MB"));
    STATED.unwrap_or(set().cache_mb).saturating_mul(1 << 20)
}

/// Bytes of all remote files together that are kept in memory.
pub(super) fn memory_cap() -> u64 {
    static STATED: LazyLock<Option<u64>> = LazyLock::new(|| stated("TACO_STUDIO_REMOTE_MEMORY_MB"));
    STATED.unwrap_or(MEMORY_MB).clamp(1, 1 << 20).saturating_mul(1 << 20)
}

fn stated<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_can_not_work_are_brought_back_to_what_can() {
        let limits = |connections, silence_s| Limits { connections, silence_s, cache_mb: 0 };
        assert_eq!(Limits::default().sane(), Limits::default());
        assert_eq!(limits(0, f64::NAN).sane(), limits(1, 20.0));
        assert_eq!(limits(1000, -3.0).sane(), limits(64, 0.1));
    }
}
