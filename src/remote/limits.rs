//! Limits for remote access: from the environment, otherwise from the user's settings.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Limits for remote access.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct RemoteLimits {
    /// Maximum number of parallel requests, 1 to 64. Overridden by `--connections` and the dialog
    /// for addresses.
    pub connections: usize,
    /// Seconds without data after which a request is aborted, 0.1 to 3600. Overridden by
    /// `TACO_STUDIO_HTTP_TIMEOUT`.
    pub silence_s: f64,
    /// Size of the disk cache in MB; 0 disables it. Overridden by `TACO_STUDIO_CACHE_MB`.
    pub cache_mb: u64,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connections: 8,
            silence_s: 20.0,
            cache_mb: 2048,
        }
    }
}

impl RemoteLimits {
    /// Clamps the values, as stored settings may have been edited by hand.
    fn sane(self) -> Self {
        let silence_s = if self.silence_s.is_finite() {
            self.silence_s.clamp(0.1, 3600.0)
        } else {
            Self::default().silence_s
        };
        Self {
            connections: self.connections.clamp(1, 64),
            silence_s,
            ..self
        }
    }
}

/// Default size of the memory cache for remote files in MB. Overridden by
/// `TACO_STUDIO_REMOTE_MEMORY_MB`.
const MEMORY_MB: u64 = 256;

/// The user's limits, and what the environment sets, which is read once.
struct StatedLimits {
    user: Mutex<RemoteLimits>,
    silence_s: Option<f64>,
    cache_mb: Option<u64>,
    memory_mb: Option<u64>,
    version_mark: Option<VersionMark>,
}

static LIMITS: LazyLock<StatedLimits> = LazyLock::new(|| StatedLimits {
    user: Mutex::default(),
    silence_s: parse_variable("TACO_STUDIO_HTTP_TIMEOUT"),
    cache_mb: parse_variable("TACO_STUDIO_CACHE_MB"),
    memory_mb: parse_variable("TACO_STUDIO_REMOTE_MEMORY_MB"),
    version_mark: parse_variable("TACO_STUDIO_REMOTE_VERSIONS"),
});

/// Sets the user's limits.
pub fn set_limits(limits: RemoteLimits) {
    *lock_user_limits() = limits.sane();
}

fn lock_user_limits() -> MutexGuard<'static, RemoteLimits> {
    LIMITS.user.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maximum number of parallel requests.
pub(super) fn connections() -> usize {
    lock_user_limits().connections
}

/// Time without data after which a request is aborted.
pub(super) fn patience() -> Duration {
    Duration::from_secs_f64(
        LIMITS
            .silence_s
            .filter(|seconds| (0.1..=3600.0).contains(seconds))
            .unwrap_or(lock_user_limits().silence_s),
    )
}

/// Size limit of the disk cache in bytes.
pub(super) fn cache_cap() -> u64 {
    let megabytes = LIMITS.cache_mb.unwrap_or(lock_user_limits().cache_mb);
    megabytes.saturating_mul(1 << 20)
}

/// Size limit of the memory cache for all remote files in bytes.
pub(super) fn memory_cap() -> u64 {
    LIMITS
        .memory_mb
        .unwrap_or(MEMORY_MB)
        .clamp(1, 1 << 20)
        .saturating_mul(1 << 20)
}

/// What identifies a version of a remote file, besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionMark {
    /// ETag, and the modification time where a response has no ETag.
    Etag,
    /// Modification time.
    Modified,
    /// Nothing.
    Size,
}

impl std::str::FromStr for VersionMark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.to_ascii_lowercase().as_str() {
            "etag" => Ok(Self::Etag),
            "modified" => Ok(Self::Modified),
            "size" => Ok(Self::Size),
            _ => Err(()),
        }
    }
}

/// What identifies a version of a remote file, by `TACO_STUDIO_REMOTE_VERSIONS`: for servers that
/// state several ETags or dates for one version.
pub(super) fn version_mark() -> VersionMark {
    LIMITS.version_mark.unwrap_or(VersionMark::Etag)
}

fn parse_variable<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_clamped_to_valid_values() {
        let limits = |connections, silence_s| RemoteLimits {
            connections,
            silence_s,
            cache_mb: 0,
        };
        assert_eq!(RemoteLimits::default().sane(), RemoteLimits::default());
        assert_eq!(limits(0, f64::NAN).sane(), limits(1, 20.0));
        assert_eq!(limits(1000, -3.0).sane(), limits(64, 0.1));
    }
}
