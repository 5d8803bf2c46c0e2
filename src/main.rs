//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(taco_studio::program::run(std::env::args_os()))
}
