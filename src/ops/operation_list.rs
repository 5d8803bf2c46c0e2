//! The list of all operations ([`AnyOperation`]). Scripts, sessions, reports and other languages go
//! through it, so a new operation is a request with its [`Operation`] in a file of its own, and a
//! line here.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::operation::{Operation, OperationOutput, PathUse, PathVisitor};
use super::operation_schema::{refuse_unknown_fields, request_schema};
use super::plan::{FinishRequest, RunRequest, SubmitRequest};
use super::publish::PublishRequest;
use super::{
    CompileRequest, ConsolidateRequest, ConvertRequest, CreateRequest, DatasetEdit,
    DatasetLeakageRequest, DatasetStatsRequest, DescribeRequest, EditRequest, ExportRequest,
    ExtendRequest, ExtensionsRequest, HistogramRequest, InspectRequest, MigrateRequest,
    OptimiseRequest, PercentileRequest, QueryRequest, RemoteCacheRequest, RepairRequest,
    RulesRequest, Taco3Request, ValidateRequest,
};
use crate::consent;
use crate::container::Built;
use crate::error::{Error, Result};
use crate::extensions::not_agreed;
use crate::jobs::JobContext;
use crate::model::is_remote;
use crate::text::PrintableLine;

/// Declares [`AnyOperation`] and [`AnyOutput`]: the name in scripts, the variant, the request.
macro_rules! operations {
    ($($(#[doc = $doc:literal])* $name:literal => $variant:ident($request:ty),)*) => {
        /// One of all operations.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "command")]
        pub enum AnyOperation {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant(Box<$request>),)*
        }

        /// The output of one of all operations.
        #[derive(Debug)]
        pub enum AnyOutput {
            $($(#[doc = $doc])* $variant(Box<<$request as Operation>::Output>),)*
        }

        impl AnyOperation {
            /// The names in scripts.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Name, purpose and request of each operation, in the order of the list.
            pub fn descriptions() -> Vec<OperationDescription> {
                vec![$(OperationDescription::for_operation::<$request>($name, concat!($($doc),*)),)*]
            }

            /// JSON Schema of the request of the operation of this name; `None` when there is none.
            fn schema_of(name: &str) -> Option<Json> {
                match name {
                    $($name => Some(request_schema::<$request>()),)*
                    _ => None,
                }
            }

            /// The name in scripts.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// [`Operation::label`].
            pub fn label(&self) -> String {
                match self {
                    $(Self::$variant(request) => request.label(),)*
                }
            }

            /// [`Operation::visit_paths`].
            pub fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
                match self {
                    $(Self::$variant(request) => request.visit_paths(visit),)*
                }
            }

            /// [`Operation::paths_in_files`].
            ///
            /// # Errors
            /// Those of the operation.
            pub fn paths_in_files(&self) -> Result<Vec<(PathUse, PathBuf)>> {
                match self {
                    $(Self::$variant(request) => request.paths_in_files(),)*
                }
            }

            /// [`Operation::is_read_only`].
            pub fn is_read_only(&self) -> bool {
                match self {
                    $(Self::$variant(request) => request.is_read_only(),)*
                }
            }

            /// [`Operation::programs`].
            pub fn programs(&self) -> Vec<Vec<String>> {
                match self {
                    $(Self::$variant(request) => request.programs(),)*
                }
            }

            /// [`Operation::run`].
            ///
            /// # Errors
            /// Those of the operation.
            pub fn run(&self, ctx: &JobContext) -> Result<AnyOutput> {
                Ok(match self {
                    $(Self::$variant(request) => AnyOutput::$variant(Box::new(request.run(ctx)?)),)*
                })
            }
        }

        impl AnyOutput {
            fn output(&self) -> &dyn OperationOutput {
                match self {
                    $(Self::$variant(output) => output.as_ref(),)*
                }
            }
        }

        $(
            impl From<$request> for AnyOperation {
                fn from(request: $request) -> Self {
                    Self::$variant(Box::new(request))
                }
            }
        )*
    };
}

operations! {
    /// Levels, columns and collection of a dataset.
    "inspect" => Inspect(InspectRequest),
    /// Rows of a query over a dataset.
    "query" => Query(QueryRequest),
    /// The findings of a dataset.
    "validate" => Validate(ValidateRequest),
    /// Statistics over many samples of a dataset.
    "stats" => Stats(DatasetStatsRequest),
    /// Samples that the parts of a dataset's split share.
    "leakage" => Leakage(DatasetLeakageRequest),
    /// A folder of files, an archive, a dataset or a catalogue as a dataset of its own.
    "create" => Create(CreateRequest),
    /// A dataset with the columns and fields of extensions.
    "extend" => Extend(ExtendRequest),
    /// A dataset in another container.
    "convert" => Convert(ConvertRequest),
    /// A copy of a dataset in which faults are corrected that need no decision.
    "repair" => Repair(RepairRequest),
    /// A subset of a dataset as a dataset of its own.
    "export" => Export(ExportRequest),
    /// Selected samples of a dataset as TORTILLA 0.5 or TACO 0.2.
    "compile" => Compile(CompileRequest),
    /// Footer and collection of a TORTILLA or TACO file, changed without writing its samples again.
    "edit_tortilla" => EditTortilla(EditRequest),
    /// Columns of a level and fields of the collection of a finished dataset, changed in place
    /// where its container allows it.
    "edit_dataset" => EditDataset(DatasetEdit),
    /// A dataset's description in the format of a catalogue.
    "describe" => Describe(DescribeRequest),
    /// A dataset of another TACO version as one of 2.0, or a report of what that would change.
    "migrate" => Migrate(MigrateRequest),
    /// A dataset prepared for the official library of TACO 3, which is run where the request says
    /// so.
    "prepare_taco3" => PrepareTaco3(Taco3Request),
    /// Rasters as TACO Optimized GeoTIFFs: one file, those of a folder, or those of a dataset.
    "optimise" => Optimise(OptimiseRequest),
    /// A tortilla of histograms of a dataset's rasters.
    "histograms" => Histograms(HistogramRequest),
    /// Percentiles from a tortilla of histograms.
    "percentiles" => Percentiles(PercentileRequest),
    /// A dataset checked, and published unless a check blocks that.
    "publish" => Publish(PublishRequest),
    /// An index over several ZIPs: TACOCAT or TACOLLECTION.
    "consolidate" => Consolidate(ConsolidateRequest),
    /// The missing parts of a plan, submitted to an engine. The job waits for local processes and
    /// Dask, then finishes the plan; Slurm gets a job that ends it.
    "submit_plan" => SubmitPlan(SubmitRequest),
    /// One part of a plan, built in this process.
    "run_plan_part" => RunPlanPart(RunRequest),
    /// The indexes over the parts of a plan, which are checked.
    "finish_plan" => FinishPlan(FinishRequest),
    /// The size of the remote cache, which is cleared where the request says so.
    "remote_cache" => RemoteCache(RemoteCacheRequest),
    /// The extensions with their options.
    "extensions" => Extensions(ExtensionsRequest),
    /// The rules that datasets are checked against.
    "rules" => Rules(RulesRequest),
}

/// An operation as other programs see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationDescription {
    /// The name in scripts.
    pub name: &'static str,
    /// What the operation makes or reports: one or two sentences.
    pub purpose: &'static str,
    /// True when no request changes a file.
    pub read_only: bool,
    /// JSON Schema (draft 2020-12) of the request.
    pub request: Json,
}

impl OperationDescription {
    fn for_operation<O: Operation>(name: &'static str, purpose: &'static str) -> Self {
        Self {
            name,
            purpose: purpose.trim(),
            read_only: O::READ_ONLY,
            request: request_schema::<O>(),
        }
    }
}

impl AnyOperation {
    /// The operation of this name with this request, a JSON object.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a name that no operation has, and for a request that is
    /// not one of the operation: fields that it does not have, lacks, or has with another type.
    pub fn from_request(name: &str, request: Json) -> Result<Self> {
        let Some(schema) = Self::schema_of(name) else {
            let error = Error::usage(format!("there is no operation {}", name.printable_line()));
            return Err(error.hint(format!("the operations are {}", Self::NAMES.join(", "))));
        };
        let Json::Object(mut fields) = request else {
            return Err(Error::usage(format!(
                "the request of {name} is a JSON object"
            )));
        };
        refuse_unknown_fields(name, &schema, &fields)?;
        fields.insert("command".into(), name.into());
        serde_json::from_value(Json::Object(fields)).map_err(|error| {
            Error::usage(format!("the request of {name} can't be read")).because(error)
        })
    }

    /// The programs that the user of this session has not agreed to, with their arguments.
    pub fn programs_without_consent(&self) -> Vec<Vec<String>> {
        self.programs()
            .into_iter()
            .filter(|program| !consent::allows_program(program))
            .collect()
    }

    /// Refuses to start programs, or to write to another machine, without the user's consent.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] with each program and its arguments, or the address.
    pub fn need_consent(&self) -> Result<()> {
        let programs = self.programs_without_consent();
        if !programs.is_empty() {
            return Err(not_agreed(&programs));
        }
        match self.targets().into_iter().find(|target| is_remote(target)) {
            Some(target) if !consent::allows_connect() => {
                let error =
                    Error::usage("this writes to another machine, which you have not agreed to")
                        .at_path(&target);
                Err(error.hint(consent::route().connect_hint()))
            }
            _ => Ok(()),
        }
    }

    /// The files and folders that it writes, as far as it names them.
    pub fn targets(&self) -> Vec<PathBuf> {
        let mut targets = Vec::new();
        self.clone().visit_paths(&mut |path_use, path| {
            if path_use == PathUse::Write {
                targets.push(path.clone());
            }
        });
        targets
    }

    /// True when it builds parts of a plan, of which only one runs at a time.
    pub fn builds_plan_parts(&self) -> bool {
        matches!(self, Self::SubmitPlan(_) | Self::RunPlanPart(_))
    }
}

impl OperationOutput for AnyOutput {
    fn to_json(&self) -> Json {
        self.output().to_json()
    }

    fn summary(&self) -> String {
        self.output().summary()
    }

    fn output_paths(&self) -> Vec<&Path> {
        self.output().output_paths()
    }

    fn built_dataset(&self) -> Option<&Built> {
        self.output().built_dataset()
    }

    fn is_sound(&self) -> bool {
        self.output().is_sound()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_selects_the_operation_of_this_name() {
        let mut names = AnyOperation::NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(
            names.len(),
            AnyOperation::NAMES.len(),
            "two operations of one name"
        );
        let request = json!({ "command": "remote_cache", "clear": true });
        let operation: AnyOperation =
            serde_json::from_value(request.clone()).expect("is an operation");
        assert_eq!(operation.name(), "remote_cache");
        assert_eq!(
            serde_json::to_value(&operation).expect("is plain data"),
            request
        );
    }

    #[test]
    fn what_is_changed_in_place_is_a_target() {
        let edit = DatasetEdit {
            input: "a.tacozip".into(),
            metadata: Some("b.csv".into()),
            ..DatasetEdit::default()
        };
        assert_eq!(
            AnyOperation::from(edit.clone()).targets(),
            [PathBuf::from("a.tacozip")]
        );
        let copy = DatasetEdit {
            output: Some("c.tacozip".into()),
            ..edit
        };
        assert_eq!(
            AnyOperation::from(copy).targets(),
            [PathBuf::from("c.tacozip")]
        );
    }
}
