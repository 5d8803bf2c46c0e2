//! An operation: a request, which is plain data, runs in a job and gives an output, which says what
//! was done. `operation_list` lists all operations.
//!
//! An operation opens what it reads by path and has no session. What needs the open document is a
//! command of [`crate::studio`].

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use crate::container::{Built, OpenOptions};
use crate::error::Result;
use crate::jobs::JobContext;

/// How an operation uses a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUse {
    /// The file or folder is only read.
    Read,
    /// The file or folder is written, or changed in place.
    Write,
}

/// A function that is called with each path of a request.
pub type PathVisitor<'a> = dyn FnMut(PathUse, &mut PathBuf) + 'a;

/// Visits the paths of a dataset that is read: its own, and those in the options for opening it.
pub fn visit_read_dataset(
    input: &mut PathBuf,
    open: &mut OpenOptions,
    visit: &mut PathVisitor<'_>,
) {
    visit(PathUse::Read, input);
    open.paths_mut().for_each(|path| visit(PathUse::Read, path));
}

/// Visits the paths of a dataset that is edited: in place without `output`, otherwise in a copy.
pub fn visit_edited_dataset(
    input: &mut PathBuf,
    output: &mut Option<PathBuf>,
    visit: &mut PathVisitor<'_>,
) {
    match output {
        Some(output) => {
            visit(PathUse::Read, input);
            visit(PathUse::Write, output);
        }
        None => visit(PathUse::Write, input),
    }
}

/// The request of an operation.
pub trait Operation:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + 'static
{
    /// What [`Operation::run`] gives.
    type Output: OperationOutput;

    /// True when no request of this type changes a file.
    const READ_ONLY: bool = false;

    /// Label of its job, in the interface language.
    fn label(&self) -> String;

    /// Visits every path that the request names, so that callers can resolve relative ones and list
    /// what is written.
    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>);

    /// The paths that are named in a file of the request, such as the inputs and the output in the
    /// file of a plan.
    ///
    /// # Errors
    /// When such a file can't be read.
    fn paths_in_files(&self) -> Result<Vec<(PathUse, PathBuf)>> {
        Ok(Vec::new())
    }

    /// True when this request changes no file.
    fn is_read_only(&self) -> bool {
        Self::READ_ONLY
    }

    /// The external programs that the operation starts, with their arguments. A session starts only
    /// those that the user has agreed to.
    fn programs(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// Runs the operation. Blocks; progress, warnings and cancel go through `ctx`.
    ///
    /// # Errors
    /// Those that the request's type documents. A failed or cancelled operation leaves outputs as
    /// they were.
    fn run(&self, ctx: &JobContext) -> Result<Self::Output>;
}

/// What an operation did.
pub trait OperationOutput: Debug + Send + 'static {
    /// The output as the command line prints it with `--json`.
    fn to_json(&self) -> Json;

    /// The output in one line, in the interface language.
    fn summary(&self) -> String;

    /// The files and folders that were written.
    fn output_paths(&self) -> Vec<&Path>;

    /// The dataset that was written, where the operation writes one.
    fn built_dataset(&self) -> Option<&Built> {
        None
    }

    /// False when the user should look at the details: damaged samples, remaining findings, rasters
    /// that failed.
    fn is_sound(&self) -> bool {
        true
    }
}

/// The output of an operation that writes one file and reports nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    /// The file.
    pub path: PathBuf,
}

impl OperationOutput for WrittenFile {
    fn to_json(&self) -> Json {
        json!({ "path": self.path.display().to_string() })
    }

    fn summary(&self) -> String {
        tr!("Saved {path}", path = self.path.display())
    }

    fn output_paths(&self) -> Vec<&Path> {
        vec![&self.path]
    }
}

impl OperationOutput for Built {
    fn to_json(&self) -> Json {
        let text = |path: &PathBuf| path.display().to_string();
        let mut json = json!({
            "path": text(&self.path), "format": self.format, "samples": self.samples,
            "files": self.files, "bytes": self.bytes
        });
        if !self.parts.is_empty() {
            json["parts"] = self.parts.iter().map(text).collect();
            json["indexes"] = self.indexes.iter().map(text).collect();
        }
        if !self.damaged.is_empty() {
            json["damaged"] = json!(self.damaged);
        }
        if !self.unlike_source.is_empty() {
            json["unlike_source"] = json!(self.unlike_source);
        }
        json
    }

    fn summary(&self) -> String {
        tr!("Saved {path}", path = self.path.display())
    }

    fn output_paths(&self) -> Vec<&Path> {
        match self.parts.as_slice() {
            [] => vec![&self.path],
            parts => parts
                .iter()
                .chain(&self.indexes)
                .map(PathBuf::as_path)
                .collect(),
        }
    }

    fn built_dataset(&self) -> Option<&Built> {
        Some(self)
    }

    fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.unlike_source.is_empty()
    }
}
