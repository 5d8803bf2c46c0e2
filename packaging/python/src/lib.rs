//! The Python module `taco_studio._taco_studio`: an open dataset, its samples and tables,
//! operations by name, and the program. The package `taco_studio` beside it makes functions of the
//! operations. Threads of Python run while this code works.

mod dataset;
mod errors;
mod job;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use taco_studio::consent::{self, ConsentRoute};
use taco_studio::ops::AnyOperation;
use taco_studio::{binding, folders};

use errors::{TacoError, json_error};

/// Name, purpose and request of each operation, as JSON.
#[pyfunction]
fn operations() -> PyResult<String> {
    serde_json::to_string(&AnyOperation::descriptions()).map_err(json_error)
}

/// Runs an operation by name with its request, a JSON object, and returns
/// `{"summary", "sound", "output", "warnings"}` as JSON.
///
/// `progress` is called with the stage, the steps done, their number or None, and bytes. Ctrl-C
/// cancels.
#[pyfunction]
#[pyo3(signature = (name, request, progress=None))]
fn run_operation(
    py: Python<'_>,
    name: &str,
    request: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let request = serde_json::from_str(request).map_err(json_error)?;
    let owned = name.to_owned();
    let work = move |ctx: &_| binding::operate(&owned, request, ctx);
    let (mut answer, warnings) = job::run(py, name, progress.as_ref(), work)?;
    answer["warnings"] = warnings.into();
    Ok(answer.to_string())
}

/// Lets operations start the programs that their requests name.
#[pyfunction]
fn allow_programs() {
    consent::allow_all_programs();
}

/// Lets operations write to other machines.
#[pyfunction]
fn allow_connect() {
    consent::allow_connect();
}

/// Prepares a forked process to open datasets and to read samples.
#[pyfunction]
fn after_fork() {
    binding::after_fork();
}

/// Runs the program, the window or a command, with these arguments; returns the exit code. The
/// first argument is the file that starts it.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<PathBuf>) -> u8 {
    if let Some(program) = arguments
        .first()
        .and_then(|program| std::path::absolute(program).ok())
    {
        folders::set_own_program(program);
    }
    consent::set_route(ConsentRoute::Command);
    let arguments: Vec<OsString> = arguments.into_iter().map(PathBuf::into_os_string).collect();
    py.detach(|| taco_studio::program::run(arguments))
}

#[pymodule]
fn _taco_studio(module: &Bound<'_, PyModule>) -> PyResult<()> {
    consent::set_route(ConsentRoute::Library);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TacoError", module.py().get_type::<TacoError>())?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<dataset::Sample>()?;
    module.add_class::<dataset::Table>()?;
    module.add_function(wrap_pyfunction!(operations, module)?)?;
    module.add_function(wrap_pyfunction!(run_operation, module)?)?;
    module.add_function(wrap_pyfunction!(allow_programs, module)?)?;
    module.add_function(wrap_pyfunction!(allow_connect, module)?)?;
    module.add_function(wrap_pyfunction!(after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(run_program, module)?)?;
    Ok(())
}
