//! A dataset written by several processes or machines: [`make_plan`] writes a folder with
//! `plan.json` and one small file for each part, [`RunRequest`] builds one part on any machine,
//! [`FinishRequest`] writes the indexes, and [`plan_status`] reads the progress. The bytes are
//! those of one process ([`crate::container::write`] with the same parts) for any number of
//! workers, in any order. This module does not schedule: [`SubmitRequest`] submits `plan run` to an
//! engine.
//!
//! | in the folder | has |
//! |---|---|
//! | `plan.json` | [`Plan`]: inputs with versions, column types, tree pattern, parts, output |
//! | `parts/part0001.part` | samples of a part ([`crate::container::decode_assembly`]) |
//! | `results/part0001.json` | [`PartResult`] of a part that is written |
//! | `attempts/*.json` | [`PartAttempt`] of each process, written by it alone |
//! | `whole.json` | [`WholeDataset`], once [`FinishRequest`] needs it |
//! | `finished.json` | [`Finished`] |

mod attempt;
mod deferral;
mod finish;
mod finished;
mod make;
mod output_digest;
mod run;
mod status;
mod submit;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

pub use attempt::{AttemptError, AttemptState, PartAttempt};
pub use finish::FinishRequest;
pub use finished::{Finished, IndexResult};
pub use make::{PlanRequest, PlanSource, default_dataset, default_indexes, make_plan};
pub use run::{PartRun, RunRequest};
pub use status::{PartState, PartStatus, PlanStatus, plan_status};
pub use submit::{
    DaskOptions, Engine, SlurmOptions, SubmitRequest, Submitted, log_tail, slurm_version,
};

use output_digest::{digest_of, size_of};

use crate::container::{Format, OnDamage, PartOptions, read_json_document, write_document};
use crate::error::{Error, IoContext, Result};
use crate::extensions::ExtensionCall;
use crate::model::{FieldSpec, PitSchema, Stamp, is_remote};
use crate::ops::operation::PathUse;
use crate::table::ParquetOptions;

/// Version of the plan's format; newer plans are refused.
const VERSION: u32 = 1;

/// `plan.json`: the dataset to write and its parts. Never changes after it is written.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct Plan {
    /// Version of the format.
    pub taco_studio_plan: u32,
    /// SHA-256 of all other fields, in hexadecimal. Results with another id belong to another plan
    /// and are ignored.
    #[serde(default)]
    pub id: String,
    /// Sources of the plan.
    pub inputs: Vec<PlanInput>,
    /// Path of the dataset, from which the names of the parts are derived; relative to the plan's
    /// folder if it is below it.
    pub dataset: PathBuf,
    /// ZIP or FOLDER.
    pub format: Format,
    /// Parquet settings of the level tables.
    pub parquet: ParquetOptions,
    /// As in [`BuildOptions`](crate::container::BuildOptions).
    #[serde(default)]
    pub text_columns: bool,
    /// As in [`BuildOptions`](crate::container::BuildOptions).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub align_blocks: bool,
    /// How sample data with a wrong CRC-32 is handled.
    pub on_damage: OnDamage,
    /// Parts and indexes replace files that existed when the plan was written.
    pub overwrite: bool,
    /// How the dataset is split, and the indexes over the parts.
    pub split: PartOptions,
    /// Number of samples on all levels.
    pub samples: u64,
    /// Bytes of sample data.
    pub data_bytes: u64,
    /// `taco:pit_schema` of the whole dataset.
    pub pit: PitSchema,
    /// Columns of every level with their types, in the order of the level tables, without
    /// `internal:*`.
    pub levels: Vec<Vec<FieldSpec>>,
    /// Sample extensions that each part runs over its own samples; their columns are null in the
    /// files of the parts. Calls that need all samples, and the calls that they depend on, ran when
    /// the plan was written.
    pub calls: Vec<ExtensionCall>,
    /// Upper estimate of the resources of a part.
    pub estimate: Estimate,
    /// The parts, by number from 1.
    pub parts: Vec<PlanPart>,
}

/// A source of a plan: file, folder or dataset.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct PlanInput {
    /// Path or address.
    pub path: PathBuf,
    /// Its version; `None` for folders and addresses. The files of the parts have the version of
    /// each single source, and of the tables of a FOLDER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
}

/// Resources of the largest part, for the limits of a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, serde::Deserialize)]
pub struct Estimate {
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Time in seconds on a slow disk.
    pub seconds: u64,
}

/// One part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct PlanPart {
    /// Number, from 1.
    pub number: u32,
    /// File name of the part.
    pub name: String,
    /// Samples of level 0.
    pub roots: u64,
    /// Id of the first sample of level 0.
    pub first: String,
    /// Id of the last sample of level 0.
    pub last: String,
    /// Samples on all levels.
    pub samples: u64,
    /// Bytes of sample data.
    pub data_bytes: u64,
    /// SHA-256 of the file with its samples, in hexadecimal.
    pub sha256: String,
}

/// `results/part0001.json`: a part that is written.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct PartResult {
    /// [`Plan::id`].
    pub plan: String,
    /// Number of the part.
    pub part: u32,
    /// Its file name.
    pub name: String,
    /// Size in bytes of the file, or of all files of the FOLDER.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal; of a FOLDER, that of the list of its files with theirs.
    pub sha256: String,
    /// Samples on all levels.
    pub samples: u64,
    /// FILEs written.
    pub files: u64,
    /// Paths of samples that were damaged in the source and copied unchanged.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// Number of samples computed by extensions, counted once for each call.
    #[serde(default)]
    pub computed: u64,
    /// Samples whose values are null, as an extension failed.
    #[serde(default)]
    pub failures: Vec<SampleFailure>,
    /// Set when no sample of the part has a footprint, so that the extent of the whole dataset is
    /// used: the used value of [`WholeDataset::extent`], null if it was not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_extent: Option<Json>,
    /// Seconds from start to end.
    pub seconds: f64,
    /// Milliseconds since 1970 when it ended.
    pub ended_ms: u64,
    /// Name of the machine.
    pub host: String,
    /// Greatest memory of the process in bytes; `None` where the system does not report it.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// A sample for which an extension failed.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct SampleFailure {
    /// Name of the extension.
    pub extension: String,
    /// Path of the sample.
    pub sample: String,
    /// Reason.
    pub error: String,
}

/// `whole.json`: values of the whole dataset that parts have to contain.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct WholeDataset {
    /// [`Plan::id`].
    pub plan: String,
    /// `extent` of the whole dataset.
    pub extent: Json,
    /// Origin of that extent, as in the collection.
    pub origin: Json,
}

impl Plan {
    /// Reads the plan in `folder`.
    ///
    /// # Errors
    /// When the folder has no plan, or the plan is damaged or of a newer version.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("plan.json");
        let bytes = read_json_document(&path, "read the plan")
            .map_err(|error| error.hint("name the folder that `plan` wrote"))?;
        let damaged = |error| unreadable_plan_error(&path, error);
        let json: Json = serde_json::from_slice(&bytes).map_err(damaged)?;
        match json.get("taco_studio_plan").and_then(Json::as_u64) {
            None => return Err(Error::format("this is no plan of the studio").at_path(&path)),
            Some(version) if version > u64::from(VERSION) => {
                return Err(Error::unsupported(
                    "this plan was written by a newer version of the studio",
                )
                .at_path(&path));
            }
            Some(_) => {}
        }
        let plan: Self = serde_json::from_value(json).map_err(damaged)?;
        if plan.id != plan.digest()?
            || plan
                .parts
                .iter()
                .enumerate()
                .any(|(at, part)| part.number as usize != at + 1)
        {
            let error = Error::format("the plan was changed after it was written").at_path(&path);
            return Err(error.hint("make the plan again with other arguments instead"));
        }
        Ok(plan)
    }

    /// SHA-256 of the plan without its id.
    fn digest(&self) -> Result<String> {
        let bare = Self {
            id: String::new(),
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&bare)
            .map_err(|error| Error::internal("the plan is not JSON").because(error))?;
        Ok(hex::encode(Sha256::digest(bytes)))
    }

    /// The part with this number.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] when it does not exist.
    pub fn part(&self, number: u32) -> Result<&PlanPart> {
        let part = (number as usize)
            .checked_sub(1)
            .and_then(|at| self.parts.get(at));
        part.ok_or_else(|| {
            Error::usage(format!(
                "the plan has no part {number}; its parts are 1 to {}",
                self.parts.len()
            ))
        })
    }

    /// Path of the whole dataset; parts and indexes are written to its folder.
    pub fn dataset_in(&self, folder: &Path) -> PathBuf {
        if is_remote(&self.dataset) {
            self.dataset.clone()
        } else {
            folder.join(&self.dataset)
        }
    }

    /// The inputs and the dataset of the plan in `folder`, and its folder, in which results are
    /// written.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn paths_in(folder: &Path) -> Result<Vec<(PathUse, PathBuf)>> {
        let plan = Self::read(folder)?;
        let written =
            [plan.dataset_in(folder), folder.to_owned()].map(|path| (PathUse::Write, path));
        Ok(plan
            .inputs
            .into_iter()
            .map(|input| (PathUse::Read, input.path))
            .chain(written)
            .collect())
    }

    /// As [`Self::paths_in`], with the folders that are read in place of others.
    ///
    /// # Errors
    /// As [`Self::paths_in`].
    fn paths_with_relocated(
        folder: &Path,
        relocated: &[(PathBuf, PathBuf)],
    ) -> Result<Vec<(PathUse, PathBuf)>> {
        let mut paths = Self::paths_in(folder)?;
        paths.extend(
            relocated
                .iter()
                .map(|(_, here)| (PathUse::Read, here.clone())),
        );
        Ok(paths)
    }

    /// Path of a part.
    pub fn output_of(&self, folder: &Path, part: &PlanPart) -> PathBuf {
        self.dataset_in(folder).with_file_name(&part.name)
    }

    /// Samples of level 0.
    pub fn roots(&self) -> u64 {
        self.parts.iter().map(|part| part.roots).sum()
    }

    /// Result of a part; `None` before it is written, and for results of another plan.
    ///
    /// # Errors
    /// When the file exists and can't be read.
    pub fn result(&self, folder: &Path, part: &PlanPart) -> Result<Option<PartResult>> {
        let found: Option<PartResult> = read_json(&result_path(folder, part.number))?;
        Ok(found.filter(|result| {
            result.plan == self.id && result.part == part.number && result.name == part.name
        }))
    }

    /// Values of the whole dataset; `None` before they are computed.
    fn whole(&self, folder: &Path) -> Result<Option<WholeDataset>> {
        Ok(read_json::<WholeDataset>(&folder.join("whole.json"))?
            .filter(|whole| whole.plan == self.id))
    }
}

/// Stem of the names of a part's files.
fn file_stem(number: u32) -> String {
    format!("part{number:04}")
}

fn part_path(folder: &Path, number: u32) -> PathBuf {
    folder.join("parts").join(file_stem(number) + ".part")
}

fn result_path(folder: &Path, number: u32) -> PathBuf {
    folder.join("results").join(file_stem(number) + ".json")
}

/// A JSON file of the plan; `None` when it does not exist.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !crate::files::exists(path).io_at("read the state of the plan", path)? {
        return Ok(None);
    }
    let bytes = read_json_document(path, "read the state of the plan")?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| damaged_plan_file_error(path, error))
}

fn damaged_plan_file_error(path: &Path, error: serde_json::Error) -> Error {
    Error::format("a file of the plan is damaged")
        .because(error)
        .at_path(path)
        .hint("delete this file")
}

fn unreadable_plan_error(path: &Path, error: serde_json::Error) -> Error {
    Error::format("the plan can't be read")
        .because(error)
        .at_path(path)
}

/// Writes a JSON file of the plan atomically; replaces an earlier one.
fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::internal("the state of a plan is not JSON").because(error))?;
    write_document(path, &bytes, true)
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}
