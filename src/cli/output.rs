//! Progress and logs on stderr. Progress only where a person is looking.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::{Error, Kind, Result};
use crate::folders::{make_private, open_private};
use crate::jobs::Progress;
use crate::text::{PrintableLine, printable};

/// The line of progress at the bottom of a terminal.
pub struct Terminal {
    shown: bool,
    drawn: Cell<bool>,
}

impl Terminal {
    /// Silent when asked to be, or when stderr is no terminal.
    pub fn new(quiet: bool) -> Self {
        Self {
            shown: !quiet && std::io::stderr().is_terminal(),
            drawn: Cell::new(false),
        }
    }

    /// Draws the state of a job.
    pub fn progress(&self, progress: &Progress) {
        if !self.shown {
            return;
        }
        let mut line = progress.stage.name.printable_line().into_owned();
        if let Some(total) = progress.total {
            line.push_str(&format!("  {} of {total}", progress.done));
        }
        if let Some(fraction) = progress.fraction() {
            line.push_str(&format!("  {:.0} %", fraction * 100.0));
        }
        if progress.bytes > 0 {
            line.push_str(&format!("  {:.1} MB", progress.bytes as f64 / 1e6));
        }
        let mut terminal = std::io::stderr().lock();
        let _ = write!(terminal, "\r\x1b[2K{line}").and_then(|()| terminal.flush());
        self.drawn.set(true);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.drawn.take() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// A log file is put aside when it has grown to this many bytes.
const LOG_BYTES: u64 = 1 << 20;
/// So many that were put aside are kept.
const LOGS_KEPT: usize = 3;

/// Set by `--quiet`: errors and failures alone go to standard error.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// What is written to standard error besides errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// `--quiet`: nothing.
    Quiet,
    /// Warnings and notes.
    Usual,
    /// `-v` once: also what is read, written, asked and skipped; more often: also each file, and
    /// messages of the libraries.
    Verbose(u8),
}

impl Verbosity {
    /// That of the arguments; `--quiet` outweighs `--verbose`.
    pub fn from_flags(quiet: bool, verbose: u8) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, 0) => Self::Usual,
            (false, times) => Self::Verbose(times),
        }
    }

    /// The filter of the log.
    fn log_filter(self) -> &'static str {
        match self {
            // The window library logs every oddity of a display server, and windows that were
            // closed already.
            Self::Quiet => "error,winit=off",
            Self::Usual => "warn,winit=off",
            Self::Verbose(1) => "warn,taco_studio=info,winit=off",
            Self::Verbose(2) => "info,taco_studio=debug,gdal=debug",
            Self::Verbose(_) => "debug,taco_studio=trace",
        }
    }
}

/// Logs to stderr, and to `taco-studio.log` in `folder` if set; the level is that of `RUST_LOG`
/// where it is set.
pub fn set_up_logging(verbosity: Verbosity, folder: Option<&Path>) {
    IS_QUIET.store(verbosity == Verbosity::Quiet, Ordering::Relaxed);
    let default = verbosity.log_filter();
    let filter =
        tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| default.into());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let terminal = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .fmt_fields(make_log_fields())
        .with_ansi(colours);
    let file = folder.and_then(|folder| open_log(folder).ok()).map(|file| {
        tracing_subscriber::fmt::layer()
            .with_writer(std::sync::Mutex::new(file))
            .fmt_fields(make_log_fields())
            .with_ansi(false)
    });
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(terminal)
        .with(file)
        .try_init();
}

/// The format of logged fields: they may quote files and servers of strangers.
fn make_log_fields() -> impl for<'writer> FormatFields<'writer> + 'static {
    tracing_subscriber::fmt::format::debug_fn(|writer, field, value| match field.name() {
        "message" => write!(writer, "{}", format!("{value:?}").printable_line()),
        name => write!(writer, "{name}={}", format!("{value:?}").printable_line()),
    })
    .delimited(" ")
}

/// Opens the log to add to it; a long one becomes `taco-studio.1.log`, the one before `.2.log`, and
/// so on.
fn open_log(folder: &Path) -> std::io::Result<std::fs::File> {
    // The names of people's files are in it.
    make_private(folder)?;
    let path = folder.join("taco-studio.log");
    if std::fs::metadata(&path).is_ok_and(|about| about.len() >= LOG_BYTES) {
        let aside = |number: usize| folder.join(format!("taco-studio.{number}.log"));
        for number in (1..LOGS_KEPT).rev() {
            // The first starts have fewer than are kept.
            let _ = std::fs::rename(aside(number), aside(number + 1));
        }
        std::fs::rename(&path, aside(1))?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    open_private(options, &path)
}

/// Writes to standard output and flushes. Returns false when the reader has closed the pipe
/// (`| head`), which is no error: what follows may be left out.
///
/// # Errors
/// [`crate::error::Kind::Io`] when the bytes did not arrive, for example on a full disk: a result
/// that was cut is no success.
pub fn write(bytes: &[u8]) -> Result<bool> {
    write_to(&mut std::io::stdout().lock(), bytes)
}

fn write_to(out: &mut dyn Write, bytes: &[u8]) -> Result<bool> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(
            Error::new(Kind::Io, "could not write the results to standard output")
                .because(error)
                .hint(
                    "what arrived there is cut short: make room or name another place, then run it \
                        again",
                ),
        ),
    }
}

/// Prints lines of text to standard output, the last one ended. Control characters, which files and
/// servers of strangers may bring, are escaped.
///
/// # Errors
/// Those of [`write`].
pub fn print(text: &str) -> Result<()> {
    let text = printable(text);
    match text.ends_with('\n') {
        true => write(text.as_bytes()),
        false => write(format!("{text}\n").as_bytes()),
    }
    .map(|_| ())
}

/// Prints rows for another program: as they are, but for a terminal, which would obey the control
/// characters in them.
///
/// # Errors
/// Those of [`write`].
pub fn print_data(bytes: &[u8]) -> Result<()> {
    if std::io::stdout().is_terminal() {
        print(&String::from_utf8_lossy(bytes))
    } else {
        write(bytes).map(|_| ())
    }
}

/// Prints a value as indented JSON to standard output.
///
/// # Errors
/// Those of [`write`]; [`crate::error::Kind::Internal`] for a value that JSON can't hold.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value).map_err(not_json)?)
}

/// Prints a value as JSON on one line to standard output.
///
/// # Errors
/// Those of [`print_json`].
pub fn print_json_line(value: &impl serde::Serialize) -> Result<()> {
    print(&serde_json::to_string(value).map_err(not_json)?)
}

fn not_json(error: serde_json::Error) -> Error {
    Error::internal("the result can't be written as JSON").because(error)
}

/// Prints one line to standard error, control characters escaped, unless `--quiet` asks for errors
/// alone. A line that can't be written is lost, as there is no other output to say so, and the
/// results count.
pub fn say(line: impl AsRef<str>) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        say_failure(line);
    }
}

/// [`say`] for what failed or is damaged, which `--quiet` leaves.
pub fn say_failure(line: impl AsRef<str>) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}",
        line.as_ref().printable_line()
    );
}

/// [`say_failure`], for several lines.
pub fn say_lines(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(text));
}

/// Prints an error with its reasons and next steps to standard error.
pub fn say_error(error: &Error) {
    say_lines(&format!("error: {}", error.report()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe or file whose every write fails in one way.
    struct Failing(std::io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_the_end_of_the_output_and_a_full_disk_an_error() {
        assert!(
            !write_to(&mut Failing(std::io::ErrorKind::BrokenPipe), b"rows").expect("is no error")
        );
        let error = write_to(&mut Failing(std::io::ErrorKind::StorageFull), b"rows")
            .expect_err("is an error");
        assert_eq!((error.kind(), error.exit_code()), (Kind::Io, 2));
    }

    #[test]
    fn a_long_log_is_put_aside_and_the_oldest_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("taco-studio.log");
        for round in 0..6 {
            std::fs::write(&path, format!("{round}").repeat(LOG_BYTES as usize)).expect("written");
            open_log(folder.path()).expect("opens");
            assert_eq!(
                std::fs::metadata(&path).expect("there").len(),
                0,
                "a new log begins"
            );
        }
        let newest = std::fs::read(folder.path().join("taco-studio.1.log")).expect("there");
        assert_eq!(newest[0], b'5');
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("lists").count(),
            1 + LOGS_KEPT
        );
    }
}
