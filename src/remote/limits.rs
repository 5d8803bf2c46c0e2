//! Limits for remote access: from the environment, otherwise from the user's settings.

use std::sync::{Mutex, MutexGuard, PoisonError};
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
pub(super) struct StatedLimits {
    user: Mutex<RemoteLimits>,
    silence_s: Option<f64>,
    cache_mb: Option<u64>,
    memory_mb: Option<u64>,
    version_mark: Option<VersionMark>,
}

impl StatedLimits {
    /// The limits that the environment sets, and the default ones of the user.
    pub fn from_environment() -> Self {
        Self {
            user: Mutex::default(),
            silence_s: parse_variable("TACO_STUDIO_HTTP_TIMEOUT"),
            cache_mb: parse_variable("TACO_STUDIO_CACHE_MB"),
            memory_mb: parse_variable("TACO_STUDIO_REMOTE_MEMORY_MB"),
            version_mark: parse_variable("TACO_STUDIO_REMOTE_VERSIONS"),
        }
    }

    /// Sets the user's limits.
    pub fn set_user(&self, limits: RemoteLimits) {
        *self.lock_user() = limits.sane();
    }

    fn lock_user(&self) -> MutexGuard<'_, RemoteLimits> {
        self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maximum number of parallel requests.
    pub fn connections(&self) -> usize {
        self.lock_user().connections
    }

    /// Time without data after which a request is aborted.
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64(
            self.silence_s
                .filter(|seconds| (0.1..=3600.0).contains(seconds))
                .unwrap_or(self.lock_user().silence_s),
        )
    }

    /// Size limit of the disk cache in bytes.
    pub fn cache_cap(&self) -> u64 {
        let megabytes = self.cache_mb.unwrap_or(self.lock_user().cache_mb);
        megabytes.saturating_mul(1 << 20)
    }

    /// Size limit of the memory cache for all remote files in bytes.
    pub fn memory_cap(&self) -> u64 {
        self.memory_mb
            .unwrap_or(MEMORY_MB)
            .clamp(1, 1 << 20)
            .saturating_mul(1 << 20)
    }

    /// What identifies a version of a remote file, by `TACO_STUDIO_REMOTE_VERSIONS`: for servers
    /// that state several ETags or dates for one version.
    pub fn version_mark(&self) -> VersionMark {
        self.version_mark.unwrap_or(VersionMark::Etag)
    }
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
