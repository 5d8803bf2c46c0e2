//! Progress and logs on stderr. Progress only where a person is looking.

use std::cell::Cell;
use std::io::{IsTerminal, Write};

use crate::jobs::Progress;

/// The line of progress at the bottom of a terminal.
pub struct Terminal {
    shown: bool,
    drawn: Cell<bool>,
}

impl Terminal {
    /// Silent when asked to be, or when stderr is no terminal.
    pub fn new(quiet: bool) -> Self {
        Self { shown: !quiet && std::io::stderr().is_terminal(), drawn: Cell::new(false) }
    }

    /// Draws the state of a job.
    pub fn progress(&self, progress: &Progress) {
        if !self.shown {
            return;
        }
        let mut line = progress.stage.name.clone();
        if let Some(total) = progress.total {
            line.push_str(&format!("  {} of {total}", progress.done));
        }
        if let Some(fraction) = progress.fraction() {
            line.push_str(&format!("  {:.0} %", fraction * 100.0));
        }
        if progress.bytes > 0 {
            line.push_str(&format!("  {:.1} MB", progress.bytes as f64 / 1e6));
        }
        eprint!("\r\x1b[2K{line}");
        let _ = std::io::stderr().flush();
        self.drawn.set(true);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.drawn.take() {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Logs go to stderr: warnings by default, `RUST_LOG` decides where it is set.
pub fn set_up_logging(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info,taco_studio=debug",
        _ => "debug,taco_studio=trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| default.into());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).try_init();
}

/// Prints to stdout; a reader that went away is the end of the output, not an error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
}
