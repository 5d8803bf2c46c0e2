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
    #[serde(rename = "silence_s")]
    pub idle_timeout_s: f64,
    /// Size limit of the disk cache in MB of 2^20 bytes; 0 disables it. Overridden by
    /// `TACO_STUDIO_CACHE_MB`.
    pub cache_mb: u64,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connections: 8,
            idle_timeout_s: 20.0,
            cache_mb: 2048,
        }
    }
}

impl RemoteLimits {
    /// Clamps the values, as stored settings may have been edited by hand.
    fn clamp_to_valid(self) -> Self {
        Self {
            connections: self.connections.clamp(1, 64),
            idle_timeout_s: clamp_timeout(self.idle_timeout_s)
                .unwrap_or(Self::default().idle_timeout_s),
            ..self
        }
    }
}

/// Clamps a timeout in seconds; `None` for 0, negative numbers and NaN, which are not durations to
/// wait.
fn clamp_timeout(seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| seconds.clamp(0.1, 3600.0))
}

const BYTES_PER_MB: u64 = 1 << 20;

/// Default size limit of the memory cache for remote files in MB. Overridden by
/// `TACO_STUDIO_REMOTE_MEMORY_MB`.
const DEFAULT_MEMORY_MB: u64 = 256;
/// Maximum size limit of the memory cache in MB: 1 TB.
const MAX_MEMORY_MB: u64 = 1 << 20;

/// The limits in force: those of the environment, which is read once, before those of the user.
pub(super) struct EffectiveLimits {
    user: Mutex<RemoteLimits>,
    idle_timeout_s: Option<f64>,
    cache_mb: Option<u64>,
    memory_mb: Option<u64>,
    version_validator: Option<VersionValidator>,
}

impl EffectiveLimits {
    /// The limits that the environment sets, and the default ones of the user.
    pub fn from_environment() -> Self {
        Self {
            user: Mutex::default(),
            idle_timeout_s: parse_variable("TACO_STUDIO_HTTP_TIMEOUT"),
            cache_mb: parse_variable("TACO_STUDIO_CACHE_MB"),
            memory_mb: parse_variable("TACO_STUDIO_REMOTE_MEMORY_MB"),
            version_validator: parse_variable("TACO_STUDIO_REMOTE_VERSIONS"),
        }
    }

    pub fn set_user_limits(&self, limits: RemoteLimits) {
        *self.lock_user_limits() = limits.clamp_to_valid();
    }

    fn lock_user_limits(&self) -> MutexGuard<'_, RemoteLimits> {
        self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maximum number of parallel requests.
    pub fn connections(&self) -> usize {
        self.lock_user_limits().connections
    }

    /// Time without data after which a request is aborted.
    pub fn idle_timeout(&self) -> Duration {
        let seconds = self
            .idle_timeout_s
            .and_then(clamp_timeout)
            .unwrap_or_else(|| self.lock_user_limits().idle_timeout_s);
        Duration::from_secs_f64(seconds)
    }

    /// Size limit of the disk cache in bytes.
    pub fn cache_cap(&self) -> u64 {
        let megabytes = self
            .cache_mb
            .unwrap_or_else(|| self.lock_user_limits().cache_mb);
        megabytes.saturating_mul(BYTES_PER_MB)
    }

    /// Size limit of the memory cache for all remote files in bytes.
    pub fn memory_cap(&self) -> u64 {
        self.memory_mb
            .unwrap_or(DEFAULT_MEMORY_MB)
            .clamp(1, MAX_MEMORY_MB)
            .saturating_mul(BYTES_PER_MB)
    }

    /// What identifies a version of a remote file, by `TACO_STUDIO_REMOTE_VERSIONS`: for servers
    /// that state several ETags or dates for one version.
    pub fn version_validator(&self) -> VersionValidator {
        self.version_validator.unwrap_or(VersionValidator::Etag)
    }
}

/// What identifies a version of a remote file, besides its size: a validator of HTTP (RFC 9110,
/// section 8.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionValidator {
    /// ETag, and the modification time where a response has no ETag.
    Etag,
    /// Modification time.
    Modified,
    /// None: versions of one size are taken for the same.
    Size,
}

impl std::str::FromStr for VersionValidator {
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

/// The value of an environment variable. A value that cannot be read is reported in the log, as the
/// default takes its place.
fn parse_variable<T: std::str::FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    let text = text.trim();
    let value = text.parse().ok();
    if value.is_none() && !text.is_empty() {
        tracing::warn!("{variable} is ignored, as its value is not valid: {text}");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_clamped_to_valid_values() {
        let limits = |connections, idle_timeout_s| RemoteLimits {
            connections,
            idle_timeout_s,
            cache_mb: 0,
        };
        let default = RemoteLimits::default();
        assert_eq!(default.clamp_to_valid(), default);
        assert_eq!(limits(0, f64::NAN).clamp_to_valid(), limits(1, 20.0));
        assert_eq!(limits(1000, -3.0).clamp_to_valid(), limits(64, 20.0));
        assert_eq!(limits(8, 0.01).clamp_to_valid(), limits(8, 0.1));
    }

    #[test]
    fn a_timeout_of_the_environment_is_clamped_as_that_of_the_settings() {
        let idle_timeout_s = |variable: Option<f64>| {
            let limits = EffectiveLimits {
                user: Mutex::default(),
                idle_timeout_s: variable,
                cache_mb: None,
                memory_mb: None,
                version_validator: None,
            };
            limits.idle_timeout().as_secs_f64()
        };
        assert_eq!(idle_timeout_s(None), 20.0);
        assert_eq!(idle_timeout_s(Some(1.5)), 1.5);
        assert_eq!(idle_timeout_s(Some(7200.0)), 3600.0);
        assert_eq!(idle_timeout_s(Some(f64::INFINITY)), 3600.0);
        assert_eq!(idle_timeout_s(Some(0.0)), 20.0);
    }

    #[test]
    fn stored_limits_keep_their_names() {
        let stored = serde_json::json!({"connections": 4, "silence_s": 5.0, "cache_mb": 7});
        let limits: RemoteLimits = serde_json::from_value(stored.clone()).expect("limits");
        assert_eq!(limits.idle_timeout_s, 5.0);
        assert_eq!(serde_json::to_value(limits).expect("JSON"), stored);
    }
}
