//! Builds parts as tasks of Dask Distributed, which a small Python program submits.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::{DaskOptions, SubmitRequest};
use crate::error::{Error, IoContext, Kind, Result};
use crate::jobs::JobContext;

/// The Python program; needs only the package `distributed`.
const CLIENT: &str = include_str!("../../../../packaging/dask/taco_plan.py");
/// Poll interval of the Python program's output.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The process; killed on drop, which releases its tasks.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // Fails only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Builds the parts on the workers of the cluster and waits for them. Returns the parts.
pub(super) fn build(
    request: &SubmitRequest,
    parts: &[u32],
    options: &DaskOptions,
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    ctx.stage(tr!("Building the parts"), Some(parts.len() as u64));
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let script = request.folder.join("taco_plan.py");
    std::fs::write(&script, CLIENT).io_at("write the script", &script)?;
    let mut command = Command::new(&options.python);
    command
        .arg(&script)
        .arg("--scheduler")
        .arg(&options.scheduler)
        .arg("--tries")
        .arg(request.tries.max(1).to_string());
    command
        .arg("--parts")
        .arg(super::ranges(parts))
        .arg("--")
        .arg(request.program()?)
        .args(request.run_arguments());
    let log = request.folder.join("log").join("dask.log");
    let errors = std::fs::File::create(&log).io_at("write the log", &log)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors);
    let child = command.spawn().map_err(|error| {
        Error::new(Kind::Io, "Python could not be started")
            .because(error)
            .at_path(&options.python)
            .hint("name one with --python")
    })?;
    let mut client = Client(child);
    let out = client
        .0
        .stdout
        .take()
        .ok_or_else(|| Error::internal("the output of Python can't be read"))?;
    let (sender, lines) = channel();
    let reader = std::thread::Builder::new()
        .name("dask".into())
        .spawn(move || {
            for line in BufReader::new(out).lines().map_while(std::io::Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    reader.map_err(|error| Error::internal("could not start a thread for Dask").because(error))?;
    loop {
        ctx.check()?;
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(line) => note_ended_part(&line, ctx),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = client.0.wait().io_at("wait for Dask", &script)?;
    // Exit code 1 means that parts failed; the status of the plan lists them.
    if matches!(status.code(), Some(0 | 1)) {
        return Ok(parts.to_vec());
    }
    let mut said = String::new();
    if let Ok(mut file) = crate::files::open(&log) {
        // The exit status is the error; a missing log only leaves out its cause.
        let _ = file.read_to_string(&mut said);
    }
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .to_owned();
    let error = Error::new(
        Kind::Io,
        format!("the parts could not be given to Dask ({status})"),
    )
    .because(last)
    .at_path(&log);
    Err(error.hint(
        "check the address of the scheduler, and that this Python has the package \
        distributed (--python)",
    ))
}

/// One line of the program's output: a part that ended.
fn note_ended_part(line: &str, ctx: &JobContext) {
    let Ok(ended) = serde_json::from_str::<serde_json::Value>(line) else {
        return;
    };
    let Some(part) = ended.get("part") else {
        return;
    };
    ctx.step(1);
    if let Some(error) = ended.get("error").and_then(serde_json::Value::as_str) {
        ctx.warn(format!("part {part} failed: {error}"));
    }
}
