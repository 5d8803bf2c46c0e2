//! The program: without a command the window, else the command line. A library's function, so that
//! a module of another language can be the program too.

use std::ffi::OsString;

use crate::cli::{self, Invocation, ReplayArguments, WindowArguments};
use crate::error::{Error, Result};
use crate::gui::theme::Theme;
use crate::gui::{self, WindowOptions};

/// Runs the program with its arguments, of which the first is its own name, and returns the exit
/// code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match cli::arguments(arguments) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match cli::run(arguments) {
        Invocation::Done(code) => code,
        Invocation::Doctor { json } => {
            let mut checks = crate::ops::doctor::examine();
            checks.push(gui::graphics());
            checks.push(gui::fonts());
            cli::report_doctor(&checks, json).unwrap_or_else(|error| cli::report_error(&error))
        }
        Invocation::Replay(script) => report_outcome(replay(&script)),
        Invocation::Window(arguments) => report_outcome(open_window(arguments)),
    }
}

fn report_outcome(outcome: Result<()>) -> u8 {
    outcome.map_or_else(|error| cli::report_error(&error), |()| 0)
}

fn replay(script: &ReplayArguments) -> Result<()> {
    script.agree();
    let (pictures, autosave) = (script.screenshots.clone(), script.autosave.clone());
    let lines = if script.window {
        gui::replay(&script.file, pictures, autosave)?
    } else {
        gui::replay_headless(&script.file, pictures, autosave, &mut |line, steps| {
            script.tell_line(line, Some(steps))
        })?
    };
    script.report(lines)
}

fn open_window(arguments: WindowArguments) -> Result<()> {
    let renderer = arguments.renderer.map(|name| name.parse()).transpose()?;
    let theme = match arguments.theme.as_deref() {
        None => None,
        Some("dark") => Some(Theme::Dark),
        Some("light") => Some(Theme::Light),
        Some(other) => {
            return Err(
                Error::usage(format!("there is no theme {other}")).hint("use dark or light")
            );
        }
    };
    #[cfg(windows)]
    crate::windows_api::leave_own_console();
    gui::run(WindowOptions {
        paths: arguments.paths,
        renderer,
        theme,
        safe_mode: arguments.safe_mode,
        new_window: arguments.new_window,
    })
}
