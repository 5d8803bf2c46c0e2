//! `remote_cache`: size of the cache of remote files.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::remote::{self, CacheState};

/// Measures the cache of remote files, or clears it. Plain data. Files in use stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteCacheRequest {
    /// True clears the cache.
    pub clear: bool,
}

impl Operation for RemoteCacheRequest {
    type Output = CacheState;

    fn label(&self) -> String {
        if self.clear {
            tr!("Empty the cache of remote files").into()
        } else {
            tr!("Measure the cache of remote files").into()
        }
    }

    fn is_read_only(&self) -> bool {
        !self.clear
    }

    fn visit_paths(&mut self, _visit: &mut PathVisitor<'_>) {}

    fn run(&self, _ctx: &JobContext) -> Result<CacheState> {
        Ok(if self.clear {
            remote::clear_cache()
        } else {
            remote::cache_state()
        })
    }
}

impl OperationOutput for CacheState {
    fn to_json(&self) -> Json {
        json!(self)
    }

    fn summary(&self) -> String {
        tr_n!(
            self.files,
            "{n} cached file, {bytes} bytes",
            "{n} cached files, {bytes} bytes",
            n = self.files,
            bytes = self.bytes
        )
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}
