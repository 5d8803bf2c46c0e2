//! Coverage-guided fuzzing of everything that parses untrusted bytes: containers, tables,
//! geometries, collections, projects, journals, scripts and SQL. As a plain test it replays the
//! inputs in `tests/fuzz/corpus`; `packaging/fuzz` builds it with instrumentation and searches for
//! new inputs with libFuzzer.
//!
//! For every input, a target must end quickly within [`memory::CAP_BYTES`], without an uncaught
//! panic and without an error of [`taco_studio::error::Kind::Internal`].

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test says what went wrong by ending"
)]

mod containers;
#[cfg(target_os = "linux")]
mod driver;
mod memory;
#[cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        reason = "libFuzzer, which mutates inputs, is built for Linux alone"
    )
)]
mod mutate;
mod place;
mod replay;
#[cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        reason = "libFuzzer, which mutates inputs, is built for Linux alone"
    )
)]
mod targets;
mod texts;

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

/// Environment variable with the target for libFuzzer, whose options are then the arguments.
#[cfg(target_os = "linux")]
const TARGET: &str = "TACO_STUDIO_FUZZ";

fn main() {
    #[cfg(target_os = "linux")]
    if let Ok(name) = std::env::var(TARGET) {
        let Some(target) = targets::all()
            .into_iter()
            .find(|target| target.name == name)
        else {
            let known: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
            eprintln!("there is no target {name}; there are: {}", known.join(" "));
            std::process::exit(2);
        };
        std::process::exit(driver::run(target));
    }
    std::process::exit(replay::run(std::env::args().skip(1)));
}
