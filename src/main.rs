//! The program: without a command the window, else the command line.

use std::process::ExitCode;

use clap::Parser;
use taco_studio::cli::{self, Arguments, Invocation};
use taco_studio::gui;

fn main() -> ExitCode {
    match cli::run(Arguments::parse()) {
        Invocation::Done(code) => code,
        Invocation::Window { paths, renderer, theme } => match gui::open(paths, renderer.as_deref(), theme.as_deref()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}", error.report());
                ExitCode::from(error.exit_code())
            }
        },
    }
}
