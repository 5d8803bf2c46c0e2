//! Builds parts in a job array of Slurm; a dependent job finishes the plan.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use super::{SlurmOptions, SubmitRequest, output_of, ranges, read_submitted_jobs};
use crate::error::{Error, IoContext, Result};
use crate::ops::join_for_posix;
use crate::ops::plan::{Plan, write_json};
use crate::text::PrintableLine;

/// Maximum number of parts in one array; Slurm's default `MaxArraySize` allows indices up to 1000.
const ARRAY: u32 = 1000;

/// `submitted.json`: the jobs of the last submission.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct SlurmJobs {
    /// Id of the plan.
    plan: String,
    /// Job arrays: id, and the number of the part before the one with index 1.
    arrays: Vec<(String, u32)>,
    /// The job that finishes the plan.
    finish: Option<String>,
}

/// Number of the part before the first one of the array that builds a part.
fn find_array_base(part: u32) -> u32 {
    (part - 1) / ARRAY * ARRAY
}

/// Submits the missing parts that are not queued yet. Returns their numbers, and the ids of the new
/// jobs.
pub(super) fn submit(
    request: &SubmitRequest,
    plan: &Plan,
    missing: Vec<u32>,
    options: &SlurmOptions,
) -> Result<(Vec<u32>, Vec<String>)> {
    let folder = &request.folder;
    let before = read_submitted_jobs::<SlurmJobs>(folder)?
        .filter(|jobs| jobs.plan == plan.id)
        .unwrap_or_default();
    let queued = find_queued_parts(&before)?;
    let missing: Vec<u32> = missing
        .into_iter()
        .filter(|part| !queued.contains(part))
        .collect();
    if missing.is_empty() && !queued.is_empty() {
        // All missing parts are queued, with the job that finishes the plan.
        return Ok((missing, Vec::new()));
    }
    let scripts = folder.join("slurm");
    std::fs::create_dir_all(&scripts).io_at("make the folder for the scripts", &scripts)?;
    let (part_script, finish_script) = (scripts.join("part.sbatch"), scripts.join("finish.sbatch"));
    std::fs::write(&part_script, part_text(request)?).io_at("write the script", &part_script)?;
    std::fs::write(&finish_script, finish_text(request)?)
        .io_at("write the script", &finish_script)?;
    let is_queued = |base: u32| queued.iter().any(|part| find_array_base(*part) == base);
    // The finishing job also depends on arrays that are still queued.
    let arrays = before.arrays.iter().filter(|(_, base)| is_queued(*base));
    let mut jobs = SlurmJobs {
        plan: plan.id.clone(),
        arrays: arrays.cloned().collect(),
        finish: None,
    };
    let mut new = Vec::new();
    for parts in missing.chunk_by(|a, b| find_array_base(*a) == find_array_base(*b)) {
        let base = find_array_base(parts[0]);
        let id = submit_array(folder, plan, options, (parts, base), &part_script)?;
        jobs.arrays.push((id.clone(), base));
        new.push(id);
    }
    if let Some(old) = &before.finish {
        // Fails if that job has ended; it may also wait for parts that failed.
        let _ = output_of(Command::new("scancel").arg(old), "Slurm");
    }
    if !request.parts_only {
        let id = submit_finish(folder, plan, options, &jobs.arrays, &finish_script)?;
        jobs.finish = Some(id.clone());
        new.push(id);
    }
    write_json(&folder.join("submitted.json"), &jobs)?;
    Ok((missing, new))
}

/// Submits an array that builds these parts, which are counted from the part behind `base`. Returns
/// the id of the job.
fn submit_array(
    folder: &Path,
    plan: &Plan,
    options: &SlurmOptions,
    (parts, base): (&[u32], u32),
    script: &Path,
) -> Result<String> {
    let indexes: Vec<u32> = parts.iter().map(|part| part - base).collect();
    let mut array = ranges(&indexes);
    if let Some(at_once) = options.at_once {
        array.push_str(&format!("%{at_once}"));
    }
    let mut command = build_sbatch(plan, options);
    command
        .arg(format!("--array={array}"))
        .arg("--requeue")
        .arg(format!("--output={}", log_pattern(folder, "slurm-%A_%a")))
        .arg(script)
        .arg(base.to_string());
    parse_job_id(&output_of(&mut command, "Slurm")?)
}

/// Submits the job that finishes the plan after these arrays. Returns its id.
fn submit_finish(
    folder: &Path,
    plan: &Plan,
    options: &SlurmOptions,
    arrays: &[(String, u32)],
    script: &Path,
) -> Result<String> {
    let mut command = build_sbatch(plan, options);
    if !arrays.is_empty() {
        let ids: Vec<&str> = arrays.iter().map(|(id, _)| id.as_str()).collect();
        command
            .arg(format!("--dependency=afterok:{}", ids.join(":")))
            .arg("--kill-on-invalid-dep=yes");
    }
    command
        .arg(format!("--output={}", log_pattern(folder, "finish")))
        .arg("--requeue")
        .arg(script);
    parse_job_id(&output_of(&mut command, "Slurm")?)
}

/// Parts of earlier jobs that are pending or running.
fn find_queued_parts(jobs: &SlurmJobs) -> Result<HashSet<u32>> {
    let mut found = HashSet::new();
    for (id, base) in &jobs.arrays {
        // A job that ended long ago is unknown, which is an error of `squeue`.
        let Ok(listed) = output_of(
            Command::new("squeue").args(["-h", "-r", "-o", "%K", "-j", id]),
            "Slurm",
        ) else {
            continue;
        };
        found.extend(
            listed
                .lines()
                .filter_map(|line| Some(base + line.trim().parse::<u32>().ok()?)),
        );
    }
    Ok(found)
}

/// `sbatch` with memory, time and partition.
fn build_sbatch(plan: &Plan, options: &SlurmOptions) -> Command {
    let memory = options
        .memory_bytes
        .unwrap_or(plan.estimate.memory_bytes)
        .div_ceil(1 << 20);
    let minutes = options
        .seconds
        .unwrap_or(plan.estimate.seconds)
        .div_ceil(60)
        .max(1);
    let name = plan
        .dataset
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut command = Command::new("sbatch");
    command
        .arg("--parsable")
        .arg(format!("--mem={memory}M"))
        .arg(format!("--time={minutes}"));
    command.arg(format!(
        "--job-name=taco-{}",
        crate::container::file_name_of(&name)
    ));
    if let Some(partition) = &options.partition {
        command.arg(format!("--partition={partition}"));
    }
    command.args(&options.more);
    command
}

/// The id in the output of `sbatch --parsable`: `ID` or `ID;CLUSTER`.
fn parse_job_id(printed: &str) -> Result<String> {
    let id = printed.trim().split(';').next().unwrap_or_default();
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(id.to_owned())
    } else {
        Err(Error::format("sbatch printed no job id").at_place(printed.trim().printable_line()))
    }
}

/// The path of a log, whose name may have Slurm's placeholders.
fn log_pattern(folder: &Path, name: &str) -> String {
    // Placeholders begin with a percent sign.
    let folder = folder.join("log").display().to_string();
    format!("{}/{name}.log", folder.replace('%', "%%"))
}

/// The batch script of a part. A failed attempt is repeated at once in the same task; after a node
/// failure Slurm requeues the task on another node.
fn part_text(request: &SubmitRequest) -> Result<String> {
    Ok(format!(
        "#!/bin/sh\n# Builds part $1 + the index of the array's task.\npart=$(($1 + \
            SLURM_ARRAY_TASK_ID))\ntry=1\nwhile :; do\n  \
         {} --part \"$part\"\n  code=$?\n  # 1 is for damaged samples that were copied.\n  [ $code \
            -le 1 ] && exit 0\n  \
         [ $try -ge {} ] && exit $code\n  try=$((try + 1))\ndone\n",
        script_line(request, request.run_arguments())?,
        request.tries.max(1)
    ))
}

fn finish_text(request: &SubmitRequest) -> Result<String> {
    let mut arguments: Vec<std::ffi::OsString> = vec![
        "--quiet".into(),
        "plan".into(),
        "finish".into(),
        request.folder.clone().into(),
        "--json".into(),
    ];
    if request.allow_commands {
        arguments.push("--allow-commands".into());
    }
    Ok(format!(
        "#!/bin/sh\nexec {}\n",
        script_line(request, arguments)?
    ))
}

fn script_line(request: &SubmitRequest, arguments: Vec<std::ffi::OsString>) -> Result<String> {
    let mut words = Vec::new();
    for word in std::iter::once(request.program()?.into_os_string()).chain(arguments) {
        let word = word.to_string_lossy().into_owned();
        if word.contains(['\0', '\n', '\u{fffd}']) {
            return Err(
                Error::usage("this path can't be in a script").at_place(word.printable_line())
            );
        }
        words.push(word);
    }
    Ok(join_for_posix(words.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::plan::submit::Engine;

    #[test]
    fn job_ids_are_read_with_and_without_a_cluster() {
        assert_eq!(parse_job_id("4711\n").expect("reads"), "4711");
        assert_eq!(parse_job_id("4711;far").expect("reads"), "4711");
        assert!(parse_job_id("sbatch: error").is_err());
    }

    #[test]
    fn percent_signs_of_a_folder_are_no_placeholders() {
        let folder = Path::new("/scratch/90%A");
        let finish = log_pattern(folder, "finish");
        assert!(
            finish.contains("/90%%A") && finish.ends_with("/finish.log"),
            "{finish}"
        );
        let part = log_pattern(folder, "slurm-%A_%a");
        assert!(
            part.contains("/90%%A") && part.ends_with("/slurm-%A_%a.log"),
            "{part}"
        );
    }

    #[test]
    fn a_part_is_tried_as_often_as_asked() {
        let request = SubmitRequest {
            folder: "/scratch/my plan".into(),
            engine: Engine::Slurm(SlurmOptions::default()),
            tries: 3,
            program: Some("/opt/taco-studio".into()),
            relocate: vec![("/a".into(), "/b".into())],
            allow_commands: true,
            parts_only: false,
        };
        let text = part_text(&request).expect("writes");
        let call = "/opt/taco-studio --quiet plan run '/scratch/my plan' --relocate /a /b \
            --allow-commands --part";
        assert!(text.contains(call) && text.contains("$try -ge 3"), "{text}");
    }
}
