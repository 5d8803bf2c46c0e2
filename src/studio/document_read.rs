//! Reads of the open document. They change nothing in it: the window computes the same values with
//! [`crate::jobs::AsyncValue`], so only scripts send them, but for [`DocumentRead::LoadLevel`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::document::Document;
use super::{Event, Outcome, Studio};
use crate::draft::{Example, find_pattern};
use crate::error::{Error, Result};
use crate::extensions::{Leakage, LeakageRequest};
use crate::jobs::JobContext;
use crate::ops;

/// A read of the open document, by its name in scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum DocumentRead {
    /// Decodes the table of a level of the opened dataset.
    LoadLevel { level: usize },
    /// Infers the file-name pattern from example placements; result:
    /// [`Event::Offered`](super::Event::Offered).
    FindPattern {
        /// Files with their positions.
        examples: Vec<Example>,
    },
    /// Computes the fixes of a finding of the last check; result:
    /// [`Event::Offered`](super::Event::Offered).
    FindFixes {
        /// Index of the finding in the report.
        finding: usize,
    },
    /// Searches for leakage between the parts of the document's split.
    Leakage {
        /// Column and thresholds.
        #[serde(default)]
        request: LeakageRequest,
    },
    /// Opens the written dataset and compares it with the draft.
    Verify {
        /// Datasets that together contain the draft: [`ops::written_paths`].
        paths: Vec<PathBuf>,
        /// Depth of the comparison.
        #[serde(default)]
        depth: ops::Depth,
    },
    /// Decodes one chunk of a streamable dataset.
    ReadChunk {
        /// Dataset, sample and chunk.
        #[serde(flatten)]
        request: ops::ChunkRequest,
    },
}

impl DocumentRead {
    /// Visits every path that is read.
    pub fn visit_paths(&mut self, visit: &mut dyn FnMut(&mut PathBuf)) {
        match self {
            Self::FindPattern { examples } => examples
                .iter_mut()
                .for_each(|example| visit(&mut example.file)),
            Self::Verify { paths, .. } => paths.iter_mut().for_each(visit),
            Self::ReadChunk { request } => visit(&mut request.input),
            Self::LoadLevel { .. } | Self::FindFixes { .. } | Self::Leakage { .. } => {}
        }
    }
}

/// A search for leakage, to be run in a job.
type LeakageSearch = Box<dyn FnOnce(&JobContext) -> Result<Leakage> + Send>;

impl Document {
    /// The search for leakage between the parts of the document's split.
    pub fn prepare_leakage_search(&self, request: LeakageRequest) -> LeakageSearch {
        match self {
            Self::Draft(draft) => {
                let dataset = draft.draft.dataset().clone();
                Box::new(move |ctx| ops::leakage_of_draft(&dataset, &request, ctx))
            }
            Self::Opened(opened) => {
                let reader = opened.reader.clone();
                Box::new(move |ctx| ops::leakage_of_container(reader.as_ref(), &request, ctx))
            }
        }
    }
}

impl Studio {
    pub(super) fn read_document(&mut self, read: DocumentRead) -> Result<Outcome> {
        match read {
            DocumentRead::LoadLevel { level } => {
                let reader = self.need_opened()?.reader.clone();
                self.start_read(tr!("Read level {level}", level), move |ctx| {
                    reader.levels().table(level, ctx)
                })
            }
            DocumentRead::FindPattern { examples } => {
                let content = self.need_draft()?.content().clone();
                self.start_with_event(tr!("Look for a pattern"), Event::Offered, move |ctx| {
                    let report = find_pattern(&content, &examples, ctx)?;
                    let labels = report.alternatives.into_iter().map(|way| way.label);
                    Ok(labels.collect())
                })
            }
            DocumentRead::FindFixes { finding } => {
                let (finder, found) = (self.require_fix_finder()?, self.finding(finding)?);
                self.start_with_event(tr!("Look for fixes"), Event::Offered, move |_| {
                    let fixes = finder.fixes(&found).into_iter();
                    Ok(fixes.map(|fix| fix.label).collect())
                })
            }
            DocumentRead::Leakage { request } => {
                let document = self.document().ok_or_else(|| {
                    Error::usage("nothing is open")
                        .hint("open a dataset with a split, or begin a draft")
                })?;
                let search = document.prepare_leakage_search(request);
                self.start_read(tr!("Look for leaks"), search)
            }
            DocumentRead::Verify { paths, depth } => {
                let dataset = self.need_draft()?.dataset().clone();
                self.start_read(tr!("Verify what was written"), move |ctx| {
                    ops::verify(&dataset, &paths, depth, ctx)
                })
            }
            DocumentRead::ReadChunk { request } => {
                let opened = self.document().and_then(Document::opened_dataset);
                let reader = opened.map(|open| open.reader.clone());
                let label = tr!("Read {chunk}", chunk = &request.chunk);
                self.start_read(label, move |ctx| {
                    ops::read_requested_chunk(reader, &request, ctx)
                })
            }
        }
    }

    /// Starts a job of which a script expects only that it succeeds.
    fn start_read<T: Send + 'static>(
        &mut self,
        label: impl Into<String>,
        work: impl FnOnce(&JobContext) -> Result<T> + Send + 'static,
    ) -> Result<Outcome> {
        self.start_with_event(label, |_| Event::None, work)
    }
}
