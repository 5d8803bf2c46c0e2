//! Errors of the studio as an exception of Python.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use taco_studio::error::Error;

create_exception!(
    taco_studio,
    TacoError,
    PyException,
    "What went wrong. Attributes: kind (usage, io, format, unsupported, invalid, changed, damaged, \
        too_large, cancelled, internal), \
     place (a path, an address or a sample; may be None) and hints (what to do, best first)."
);

/// The exception for an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let exception = TacoError::new_err(error.report());
    let json = error.to_json();
    let value = exception.value(py);
    let hints: Vec<String> = json["hints"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hint| Some(hint.as_str()?.into()))
        .collect();
    let set = value
        .setattr("kind", json["kind"].as_str())
        .and_then(|()| value.setattr("place", error.place()))
        .and_then(|()| value.setattr("hints", hints));
    match set {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// The exception for a text that is not JSON.
pub fn json_error(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
