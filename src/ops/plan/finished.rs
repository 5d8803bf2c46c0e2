//! The result of a plan.

use std::path::PathBuf;

/// An index over the parts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IndexResult {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Size in bytes; of a folder, the sum of its files.
    pub bytes: u64,
    /// SHA-256 in hexadecimal; of a folder, the SHA-256 of its list of paths and digests.
    pub sha256: String,
}

/// `finished.json`: the whole dataset.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Finished {
    /// [`super::Plan::id`].
    pub plan: String,
    /// The indexes, in writing order.
    pub indexes: Vec<IndexResult>,
    /// The parts.
    pub parts: Vec<PathBuf>,
    /// Number of samples of level 0.
    pub roots: u64,
    /// Number of samples on all levels.
    pub samples: u64,
    /// Size of parts and indexes in bytes.
    pub bytes: u64,
    /// Paths of samples that were damaged in the source and copied unchanged.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// Number of samples in all parts for which an extension failed.
    #[serde(default)]
    pub failures: u64,
    /// Numbers of the parts that were rewritten with the extent of the whole dataset.
    #[serde(default)]
    pub rewritten: Vec<u32>,
    /// Statistics pooled over all samples; `None` for a dataset without statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<serde_json::Value>,
    /// Milliseconds since 1970 when it ended.
    pub ended_ms: u64,
}
