//! Builds parts in processes on this machine.

use std::collections::VecDeque;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{SubmitRequest, log_path};
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;

/// Poll interval of the processes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A process that builds a part.
struct Worker {
    part: u32,
    tries: u32,
    child: Child,
}

/// The processes; killed on drop.
#[derive(Default)]
struct Workers(Vec<Worker>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            stop(&mut worker.child);
        }
    }
}

/// Stops a process, which then removes its partial output.
fn stop(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        // Fails only if the process has already ended.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = child.kill();
    let _ = child.wait();
}

/// Builds the parts with up to `workers` concurrent processes; a part whose process fails or is
/// killed is tried again in a new process. Returns the parts.
pub(super) fn build(
    request: &SubmitRequest,
    parts: &[u32],
    workers: usize,
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    ctx.stage(tr!("Building the parts"), Some(parts.len() as u64));
    let mut waiting: VecDeque<(u32, u32)> = parts
        .iter()
        .map(|&part| (part, request.tries.max(1)))
        .collect();
    let mut running = Workers::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (cores / workers.max(1)).max(1);
    while !waiting.is_empty() || !running.0.is_empty() {
        ctx.check()?;
        while running.0.len() < workers.max(1)
            && let Some((part, tries)) = waiting.pop_front()
        {
            running.0.push(Worker {
                part,
                tries,
                child: start(request, part, threads)?,
            });
        }
        let mut at = 0;
        let mut ended = false;
        while let Some(worker) = running.0.get_mut(at) {
            let Some(status) = worker
                .child
                .try_wait()
                .io_at("wait for a worker", &request.folder)?
            else {
                at += 1;
                continue;
            };
            ended = true;
            let Worker { part, tries, .. } = running.0.swap_remove(at);
            // Exit code 1 means that damaged samples were copied.
            if matches!(status.code(), Some(0 | 1)) {
                ctx.step(1);
            } else if tries > 1 {
                waiting.push_back((part, tries - 1));
            } else {
                ctx.warn(format!(
                    "part {part} failed {} times: see {}",
                    request.tries,
                    log_path(&request.folder, part).display()
                ));
                ctx.step(1);
            }
        }
        if !ended {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    Ok(parts.to_vec())
}

fn start(request: &SubmitRequest, part: u32, threads: usize) -> Result<Child> {
    let path = log_path(&request.folder, part);
    let log = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .io_at("write the log of a part", &path)?;
    let out = log.try_clone().io_at("write the log of a part", &path)?;
    let program = request.program()?;
    let mut command = Command::new(&program);
    command
        .args(request.run_arguments())
        .arg("--part")
        .arg(part.to_string());
    command.stdin(Stdio::null()).stdout(out).stderr(log);
    // The cores are divided between the processes; otherwise each would start one thread per core.
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", threads.to_string());
    }
    command.spawn().io_at("start a worker", &program)
}
