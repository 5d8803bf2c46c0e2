//! Programs of the user that extensions start: JSON lines go to standard input and come from
//! standard output. They are started without a shell, and only when the user of this session has
//! agreed to them.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::not_agreed;
use crate::error::{Cause, Error, Kind, Result};
use crate::jobs::JobContext;

/// Maximum bytes read from standard output.
const ANSWER_LIMIT: u64 = 256 << 20;
/// Maximum characters of standard error quoted in a failure.
const SAID_LIMIT: usize = 2000;
/// Maximum wait for the remaining output after the program has ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

/// A program with its arguments.
pub struct Program {
    command: Vec<String>,
    timeout: Duration,
}

impl Program {
    /// A program that extension `name` starts, with the time in seconds that one start may take.
    ///
    /// # Errors
    /// [`Kind::Usage`] when no program is named, or the time is not within a day.
    pub fn new(name: &str, command: Vec<String>, timeout_s: f64) -> Result<Self> {
        if command.first().is_none_or(String::is_empty) {
            return Err(Error::usage(format!(
                "option command of {name} has to name a program"
            )));
        }
        if !(timeout_s > 0.0 && timeout_s <= 86_400.0) {
            return Err(Error::usage(format!(
                "option timeout of {name} has to be above 0 and at most a day"
            )));
        }
        Ok(Self {
            command,
            timeout: Duration::from_secs_f64(timeout_s),
        })
    }

    /// The program and its arguments.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Starts the program with `input` on standard input and returns its standard output. A failure
    /// quotes its standard error.
    ///
    /// # Errors
    /// When the user has not agreed to the program, it can't be started, fails or takes too long,
    /// or the job is cancelled.
    pub fn call(&self, input: String, ctx: &JobContext) -> Result<String> {
        // Callers ask for consent beforehand; this check cannot be bypassed.
        if !crate::consent::allows_program(&self.command) {
            return Err(not_agreed(std::slice::from_ref(&self.command)));
        }
        let name = self.command.first().map_or("", String::as_str);
        let failed = |summary: String| Error::new(Kind::Io, summary);
        let mut command = Command::new(name);
        command
            .args(self.command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // In a process group of its own, so that its child processes are ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| {
            failed(format!("the program {name} could not be started"))
                .because(error)
                .caused_by(Cause::NotStarted)
        })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // In separate threads: a process that left the group could keep the pipes open
        // indefinitely.
        std::thread::spawn(move || {
            // A program that does not read its input is no error.
            stdin.map(|mut pipe| pipe.write_all(input.as_bytes()))
        });
        let (answer, said) = (drain_pipe(stdout), drain_pipe(stderr));
        let ended = self.wait_for_end(&mut child, ctx);
        if ended.is_err() {
            end_group(&mut child);
        }
        let patience = if ended.is_ok() {
            DRAIN_PATIENCE
        } else {
            Duration::from_millis(500)
        };
        let answered = answer.recv_timeout(patience);
        let said = said
            .recv_timeout(Duration::from_millis(500))
            .unwrap_or_default();
        let said = said.trim();
        let said: String = said
            .chars()
            .skip(said.chars().count().saturating_sub(SAID_LIMIT))
            .collect();
        let status = ended.map_err(|error| {
            if error.is_cancelled() {
                error
            } else {
                add_program_output(error, &said)
            }
        })?;
        if !status.success() {
            let error = failed(format!("the program {name} ended with {status}"));
            return Err(add_program_output(error, &said));
        }
        answered.map_err(|_| {
            failed(format!(
                "the program {name} ended, but something that it started still holds its output"
            ))
        })
    }

    fn wait_for_end(
        &self,
        child: &mut Child,
        ctx: &JobContext,
    ) -> Result<std::process::ExitStatus> {
        let started = Instant::now();
        loop {
            ctx.check()?;
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if started.elapsed() > self.timeout => {
                    let summary = format!(
                        "the program was still running after {:.0} s and was ended",
                        self.timeout.as_secs_f64()
                    );
                    return Err(Error::new(Kind::Io, summary)
                        .hint("allow more with the option timeout, or less with batch"));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => {
                    return Err(
                        Error::new(Kind::Io, "the program's end could not be waited for")
                            .because(error),
                    );
                }
            }
        }
    }
}

/// Adds what the program wrote to its standard error as the reason.
fn add_program_output(error: Error, said: &str) -> Error {
    if said.is_empty() {
        error
    } else {
        error.because(said.to_owned())
    }
}

/// The non-empty lines of a program's output as JSON.
///
/// # Errors
/// [`Kind::Format`] for a line that is no JSON.
pub fn json_lines(answer: &str) -> Result<Vec<Json>> {
    answer
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(parse_json_line)
        .collect()
}

fn parse_json_line(line: &str) -> Result<Json> {
    serde_json::from_str(line).map_err(|error| {
        let start: String = line.chars().take(80).collect();
        let summary = format!("the program's answer is not a line of JSON: {start}");
        Error::format(summary).because(error)
    })
}

/// Ends the process group.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        let quiet = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if quiet.is_err() {
            tracing::debug!("there is no program `kill`; only the program itself is ended");
        }
    }
    #[cfg(windows)]
    {
        let number = child.id().to_string();
        let _ = Command::new("taskkill")
            .args(["/T", "/F", "/PID", &number])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Receives the contents of a pipe once it is closed.
fn drain_pipe(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(ANSWER_LIMIT).read_to_end(&mut bytes);
        }
        // The receiver is gone when the program was ended.
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}
