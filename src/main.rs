//! The program: without a command the window, else the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use taco_studio::cli::{self, Invocation, ReplayArguments};
use taco_studio::error::{Error, Result};
use taco_studio::gui::theme::Theme;
use taco_studio::gui::{self, WindowOptions};

fn main() -> ExitCode {
    let arguments = match cli::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match cli::run(arguments) {
        Invocation::Done(code) => code,
        Invocation::Doctor { json } => {
            let mut checks = taco_studio::ops::doctor::examine();
            checks.push(gui::graphics());
            checks.push(gui::fonts());
            cli::report_doctor(&checks, json).map_or_else(|error| cli::report_error(&error), ExitCode::from)
        }
        Invocation::Replay(script) => done(replay(&script)),
        Invocation::Window { paths, renderer, theme, safe_mode, new_window } => {
            done(window(paths, renderer, theme, safe_mode, new_window))
        }
    }
}

fn done(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => cli::report_error(&error),
    }
}

fn replay(script: &ReplayArguments) -> Result<()> {
    script.agree();
    let (pictures, autosave) = (script.screenshots.clone(), script.autosave.clone());
    let lines = match script.window {
        true => gui::replay(&script.file, pictures, autosave, WindowOptions::default())?,
        false => gui::replay_headless(&script.file, pictures, autosave, &mut |line, steps| script.tell_line(line, Some(steps)))?,
    };
    script.report(lines)
}

fn window(paths: Vec<PathBuf>, renderer: Option<String>, theme: Option<String>, safe_mode: bool, new_window: bool) -> Result<()> {
    let renderer = renderer.map(|name| name.parse()).transpose()?;
    let theme = match theme.as_deref() {
        None => None,
        Some("dark") => Some(Theme::Dark),
        Some("light") => Some(Theme::Light),
        Some(other) => return Err(Error::usage(format!("there is no theme {other}")).hint("use dark or light")),
    };
    #[cfg(windows)]
    taco_studio::windows_api::leave_own_console();
    gui::run(paths, WindowOptions { renderer, theme, safe_mode, new_window })
}
