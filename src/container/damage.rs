//! Handling of damaged samples in copies, and errors that name the sample.

use crate::error::Error;

/// How a copy handles data whose CRC-32 differs from the container's.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OnDamage {
    /// Stops with an error; nothing is written.
    #[default]
    Stop,
    /// Copies the bytes unchanged and lists the samples.
    Keep,
}

/// Adds the sample at `path` to an error of its source; kind and hints are kept.
pub fn name_sample_in_error(error: Error, path: &str) -> Error {
    if error.is_cancelled() {
        return error;
    }
    wrap_error(error, format!("sample {path} can't be written"))
}

/// Wraps an error as the cause of another with the same kind and hints.
pub fn wrap_error(error: Error, summary: String) -> Error {
    let hints = error.hints().to_vec();
    hints.into_iter().fold(
        Error::new(error.kind(), summary).because(error),
        Error::hint,
    )
}
