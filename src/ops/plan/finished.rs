//! The result of a plan.

use std::path::PathBuf;

/// An index over the parts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IndexResult {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal; of a folder, that of the list of its files with theirs.
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
    /// Samples of level 0.
    pub roots: u64,
    /// Samples on all levels.
    pub samples: u64,
    /// Bytes of parts and indexes.
    pub bytes: u64,
    /// Paths of samples that were damaged in the source and copied unchanged.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// Samples that an extension could not compute, in all parts.
    #[serde(default)]
    pub failures: u64,
    /// Parts that were written again, as their extent is that of the whole dataset.
    #[serde(default)]
    pub rewritten: Vec<u32>,
    /// Statistics pooled over all samples, where the dataset has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<serde_json::Value>,
    /// Milliseconds since 1970 when it ended.
    pub ended_ms: u64,
}
