//! `command`: a program of the user, started per sample or per batch. It receives one JSON line per sample on standard input and
//! writes one JSON line per sample; the columns are declared in the options. It is started without a shell, and only when the
//! user of this session has agreed to it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::super::declared::{need_type, value_of};
use super::super::{
    BatchExtension, Entry, Made, OptionKind, OptionSpec, SampleExtension, SampleView, Scope, not_agreed, parse_options,
    split_command_line,
};
use super::field;
use crate::error::{Cause, Error, Kind, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value, check_field_name};
use crate::table::value_json;

pub const ENTRY: Entry = Entry {
    name: "command",
    title: mark!("Own program"),
    summary: mark!("Runs a program of your own for each sample, with JSON lines in and out."),
    scope: Scope::Sample,
    options,
    make,
};

/// Maximum bytes read from standard output.
const ANSWER_LIMIT: u64 = 256 << 20;
/// Maximum characters of standard error quoted in a failure.
const SAID_LIMIT: usize = 2000;
/// Maximum wait for the remaining output after the program has ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(mark!("command"), OptionKind::CommandLine, mark!("one line, such as python3 prog.py")).required(),
        OptionSpec::new(
            mark!("fields"),
            OptionKind::Json,
            mark!("the columns: {\"name\": \"type\"}, with bool, int8 to uint64, double, float, string, timestamp[us], list<double>, …"),
        )
        .required(),
        OptionSpec::new(mark!("batch"), OptionKind::Integer, mark!("samples for one start of the program")).or(1),
        OptionSpec::new(mark!("timeout"), OptionKind::Number, mark!("seconds that one start may take")).or(60),
        OptionSpec::new(mark!("columns"), OptionKind::List(&OptionKind::Column), mark!("columns whose values the program gets")),
        OptionSpec::new(mark!("needs_file"), OptionKind::Bool, mark!("false to run for FOLDERs as well")).or(true),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    command: Vec<String>,
    fields: serde_json::Map<String, Json>,
    batch: u32,
    timeout: f64,
    columns: Option<Vec<String>>,
    needs_file: bool,
}

struct Program {
    command: Vec<String>,
    fields: Vec<FieldSpec>,
    batch: usize,
    timeout: Duration,
    columns: Vec<String>,
    needs_file: bool,
}

fn make(given: &Json) -> Result<Made> {
    let mut given = given.clone();
    if let Some(Json::String(line)) = given.get("command") {
        given["command"] = split_command_line(line)?.into();
    }
    let options: Options = parse_options("command", &options(), &given)?;
    if options.command.first().is_none_or(String::is_empty) {
        return Err(Error::usage("option command of command has to name a program"));
    }
    if options.batch == 0 || !(options.timeout > 0.0 && options.timeout <= 86_400.0) {
        return Err(Error::usage("options batch and timeout of command have to be above 0, and a timeout at most a day"));
    }
    let mut fields = Vec::new();
    for (name, word) in &options.fields {
        check_field_name(name).map_err(|fault| Error::usage(format!("column {name} of command {fault}")))?;
        fields.push(field(name, need_type(name, word)?, ""));
    }
    if fields.is_empty() {
        return Err(Error::usage("option fields of command names no column"));
    }
    Ok(Made::Sample(Box::new(Program {
        command: options.command,
        fields,
        batch: options.batch as usize,
        timeout: Duration::from_secs_f64(options.timeout),
        columns: options.columns.unwrap_or_default(),
        needs_file: options.needs_file,
    })))
}

impl Program {
    /// The JSON line that describes a sample.
    fn question(&self, sample: &SampleView<'_>) -> Result<String> {
        let mut line = json!({ "id": sample.id(), "path": sample.path().to_archive(), "size": sample.size_bytes() });
        if self.needs_file {
            line["file"] = json!(sample.asset()?.to_vsi());
        }
        if !self.columns.is_empty() {
            let value = |name: &String| {
                let (field, value) = sample.need(name)?;
                Ok((name.clone(), value_json(&value, &field.dtype)))
            };
            line["values"] = Json::Object(self.columns.iter().map(value).collect::<Result<_>>()?);
        }
        Ok(line.to_string() + "\n")
    }

    /// Starts the program with `input` on standard input and returns its standard output. A failure quotes its standard error.
    fn call(&self, input: String, ctx: &JobContext) -> Result<String> {
        // Callers ask for consent beforehand; this check cannot be bypassed.
        if !crate::consent::allows_program(&self.command) {
            return Err(not_agreed(std::slice::from_ref(&self.command)));
        }
        let name = self.command.first().map_or("", String::as_str);
        let failed = |summary: String| Error::new(Kind::Io, summary);
        let mut command = Command::new(name);
        command.args(self.command.iter().skip(1)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a process group of its own, so that its child processes are ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| {
            failed(format!("the program {name} could not be started")).because(error).caused_by(Cause::NotStarted)
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // In separate threads: a process that left the group could keep the pipes open indefinitely.
        std::thread::spawn(move || {
            // A program that does not read its input is no error.
            stdin.map(|mut pipe| pipe.write_all(input.as_bytes()))
        });
        let (answer, said) = (drained(stdout), drained(stderr));
        let ended = self.ended(&mut child, ctx);
        if ended.is_err() {
            end_group(&mut child);
        }
        let patience = if ended.is_ok() { DRAIN_PATIENCE } else { Duration::from_millis(500) };
        let answered = answer.recv_timeout(patience);
        let said = said.recv_timeout(Duration::from_millis(500)).unwrap_or_default();
        let said = said.trim();
        let said: String = said.chars().skip(said.chars().count().saturating_sub(SAID_LIMIT)).collect();
        let with_reason = |error: Error| if said.is_empty() { error } else { error.because(said.clone()) };
        let status = ended.map_err(|error| if error.is_cancelled() { error } else { with_reason(error) })?;
        if !status.success() {
            return Err(with_reason(failed(format!("the program {name} ended with {status}"))));
        }
        answered.map_err(|_| failed(format!("the program {name} ended, but something that it started still holds its output")))
    }

    fn ended(&self, child: &mut Child, ctx: &JobContext) -> Result<std::process::ExitStatus> {
        let started = Instant::now();
        loop {
            ctx.check()?;
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if started.elapsed() > self.timeout => {
                    let summary = format!("the program was still running after {:.0} s and was ended", self.timeout.as_secs_f64());
                    return Err(Error::new(Kind::Io, summary).hint("allow more with the option timeout, or less with batch"));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(Error::new(Kind::Io, "the program's end could not be waited for").because(error)),
            }
        }
    }

    /// The column values in one line of output.
    fn read(&self, line: &Json) -> Result<Vec<Value>> {
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            return Err(Error::new(
                Kind::Io,
                format!("the program says {}", error.as_str().map_or(error.to_string(), str::to_owned)),
            ));
        }
        let one = |field: &FieldSpec| {
            let json = line.get(&field.name).unwrap_or(&Json::Null);
            value_of(json, &field.dtype).map_err(|why| Error::format(format!("the program's answer for {}: {why}", field.name)))
        };
        self.fields.iter().map(one).collect()
    }
}

/// Ends the process group.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        let quiet = Command::new("kill").args(["-KILL", "--", &group]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if quiet.is_err() {
            tracing::debug!("there is no program `kill`; only the program itself is ended");
        }
    }
    #[cfg(windows)]
    {
        let number = child.id().to_string();
        let _ = Command::new("taskkill").args(["/T", "/F", "/PID", &number]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Receives the contents of a pipe once it is closed.
fn drained(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
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

impl SampleExtension for Program {
    fn schema(&self) -> Vec<FieldSpec> {
        self.fields.clone()
    }

    fn needs_file(&self) -> bool {
        self.needs_file
    }

    fn program(&self) -> Option<&[String]> {
        Some(&self.command)
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let mut results = BatchExtension::compute(self, &[sample], ctx)?;
        results.pop().unwrap_or_else(|| Err(Error::format("the program gave no answer")))
    }

    fn batch(&self) -> Option<&dyn BatchExtension> {
        Some(self)
    }
}

impl BatchExtension for Program {
    fn size(&self) -> usize {
        self.batch
    }

    fn compute(&self, samples: &[&SampleView<'_>], ctx: &JobContext) -> Result<Vec<Result<Vec<Value>>>> {
        let questions: Vec<Result<String>> = samples.iter().map(|sample| self.question(sample)).collect();
        let input: String = questions.iter().filter_map(|question| question.as_deref().ok()).collect();
        let answer = if input.is_empty() { String::new() } else { self.call(input, ctx)? };
        let mut lines = Vec::new();
        for line in answer.lines().filter(|line| !line.trim().is_empty()) {
            let wrong = |error: serde_json::Error| {
                let start: String = line.chars().take(80).collect();
                Error::format(format!("the program's answer is not a line of JSON: {start}")).because(error)
            };
            lines.push(serde_json::from_str::<Json>(line).map_err(wrong)?);
        }
        // Answers may name their sample by `path`, in any order; otherwise they are in input order.
        let path_of = |line: &Json| line.get("path").and_then(Json::as_str).map(str::to_owned);
        let by_path: HashMap<String, usize> =
            lines.iter().enumerate().filter_map(|(index, line)| Some((path_of(line)?, index))).collect();
        let mut next = 0;
        let mut results = Vec::with_capacity(samples.len());
        for (sample, question) in samples.iter().zip(questions) {
            if let Err(error) = question {
                results.push(Err(error));
                continue;
            }
            let index = if by_path.is_empty() { Some(next) } else { by_path.get(&sample.path().to_archive()).copied() };
            next += 1;
            let line = index.and_then(|index| lines.get(index));
            results.push(
                line.map_or_else(|| Err(Error::format("the program gave no answer for this sample")), |line| self.read(line)),
            );
        }
        Ok(results)
    }
}
