//! GDAL's error handler. Messages are logged with `tracing` and collected by a listener on the same
//! thread, so that an [`Error`] carries GDAL's reason. No panic crosses into C, and no credentials
//! reach the log.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};

use gdal::Dataset;

use super::vsi_plugin;
use crate::error::{Error, Result};
use crate::model::AssetPath;

/// Maximum messages per listener: a damaged file can cause thousands.
const KEPT: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct GdalMessage {
    pub failure: bool,
    pub text: String,
}

thread_local! {
    static HEARD: RefCell<Option<Vec<GdalMessage>>> = const { RefCell::new(None) };
}

/// Replaces GDAL's handler, which writes to standard error, for all threads.
pub(super) fn install() {
    // Safety: the handler is a plain function without state, so it stays valid for the whole run.
    unsafe { gdal_sys::CPLSetErrorHandlerEx(Some(on_message), std::ptr::null_mut()) };
}

/// Runs `work` and returns GDAL's messages on this thread during it. Listeners nest; the innermost
/// one collects.
pub(super) fn listen<T>(work: impl FnOnce() -> T) -> (T, Vec<GdalMessage>) {
    let outer = HEARD.with(|heard| heard.replace(Some(Vec::new())));
    let result = work();
    let messages = HEARD.with(|heard| heard.replace(outer)).unwrap_or_default();
    (result, messages)
}

/// Adds GDAL's reason to `error` as its source: the failures, or the warnings when there is no
/// failure, or else `fallback`. A failed read of a file of this program's plugin
/// ([`vsi_plugin::take_fault`]) takes precedence, since the other messages follow from it.
pub(super) fn because(
    error: Error,
    messages: &[GdalMessage],
    fallback: Option<&gdal::errors::GdalError>,
) -> Error {
    if let Some(fault) = vsi_plugin::take_fault() {
        if fault.is_cancelled() {
            return fault;
        }
        let hints = fault.hints().to_vec();
        return hints.into_iter().fold(error.because(fault), Error::hint);
    }
    let failures = messages.iter().any(|message| message.failure);
    let mut reasons: Vec<&str> = Vec::new();
    for message in messages
        .iter()
        .filter(|message| message.failure == failures)
    {
        if !message.text.is_empty() && !reasons.contains(&message.text.as_str()) {
            reasons.push(&message.text);
        }
    }
    // The first messages give the cause, the last one the file.
    if reasons.len() > 3 {
        reasons.drain(2..reasons.len() - 1);
    }
    match fallback {
        _ if !reasons.is_empty() => error.because(reasons.join("; ")),
        Some(fallback) => error.because(describe_gdal_error(fallback)),
        None => error,
    }
}

/// Result of writing a file. GDAL continues after some failed writes and still returns a dataset,
/// so a CE_Failure reported while writing or closing fails the write as well.
///
/// # Errors
/// The error from `summary`, with GDAL's reason.
pub(super) fn expect_written(
    outcome: gdal::errors::Result<()>,
    messages: &[GdalMessage],
    summary: impl FnOnce() -> Error,
) -> Result<()> {
    match outcome {
        Err(error) => Err(because(summary(), messages, Some(&error))),
        Ok(()) if messages.iter().any(|message| message.failure) => {
            Err(because(summary(), messages, None))
        }
        Ok(()) => Ok(()),
    }
}

/// Opens a dataset with `work`; `vsi` is the GDAL path, for the hint.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) at `asset`, with GDAL's reason;
/// [`Kind::Cancelled`](crate::error::Kind::Cancelled) when a read was cancelled.
pub(super) fn open(
    asset: &AssetPath,
    vsi: &str,
    work: impl FnOnce() -> gdal::errors::Result<Dataset>,
) -> Result<Dataset> {
    let (opened, said) = listen(work);
    opened.map_err(|error| {
        let faulty = vsi_plugin::has_fault();
        let summary = Error::format("GDAL could not open the raster").at_place(asset);
        let told = because(summary, &said, Some(&error));
        if faulty {
            told
        } else {
            told.hint(hint_for(vsi))
        }
    })
}

fn hint_for(vsi: &str) -> &'static str {
    if is_remote(vsi) {
        "check the address and the credentials; the log has what the server said"
    } else {
        "the file may be damaged, not a raster, or of a format that `taco-studio --version` does \
            not list"
    }
}

pub(super) fn is_remote(vsi: &str) -> bool {
    [
        "/vsicurl",
        "/vsis3",
        "/vsigs",
        "/vsiaz",
        "/vsiadls",
        "/vsioss",
        "/vsiswift",
    ]
    .iter()
    .any(|prefix| vsi.contains(prefix))
}

fn describe_gdal_error(error: &gdal::errors::GdalError) -> String {
    use gdal::errors::GdalError;
    match error {
        GdalError::CplError { msg, .. } | GdalError::NullPointer { msg, .. } if !msg.is_empty() => {
            vsi_plugin::without_paths(&without_secrets(msg))
        }
        GdalError::NullPointer { method_name, .. } => {
            format!("GDAL gave no reason ({method_name})")
        }
        GdalError::FfiNulError(_) => "the path holds a NUL character".into(),
        other => without_secrets(&other.to_string()),
    }
}

/// Removes the query of every URL: signed URLs carry their key there.
fn without_secrets(text: &str) -> String {
    let words = text
        .split(' ')
        .map(|word| match (word.contains("://"), word.find('?')) {
            (true, Some(query)) => &word[..query],
            _ => word,
        });
    words.collect::<Vec<_>>().join(" ")
}

unsafe extern "C" fn on_message(class: gdal_sys::CPLErr::Type, number: c_int, text: *const c_char) {
    if text.is_null() {
        return;
    }
    // Safety: GDAL passes a NUL-terminated string that lives during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    // A panic must not cross into C; a failing log subscriber is ignored.
    let _ = std::panic::catch_unwind(|| record_message(class, number, &text));
}

fn record_message(class: gdal_sys::CPLErr::Type, number: c_int, text: &str) {
    use gdal_sys::CPLErr;
    let text = vsi_plugin::without_paths(&without_secrets(text.trim()));
    match class {
        CPLErr::CE_None | CPLErr::CE_Debug => {
            tracing::trace!(target: "gdal", "{text}");
            return;
        }
        CPLErr::CE_Warning => tracing::debug!(target: "gdal", number, "{text}"),
        CPLErr::CE_Failure => tracing::debug!(target: "gdal", number, "{text}"),
        _ => tracing::error!(target: "gdal", number, "{text}"),
    }
    let message = GdalMessage {
        failure: class >= CPLErr::CE_Failure,
        text,
    };
    let _ = HEARD.try_with(|heard| {
        if let Ok(mut heard) = heard.try_borrow_mut()
            && let Some(messages) = heard.as_mut()
            && messages.len() < KEPT
        {
            messages.push(message);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_links_lose_their_key() {
        assert_eq!(
            without_secrets("HTTP 403: https://host/a.tif?sig=abc&x=1 refused, why?"),
            "HTTP 403: https://host/a.tif refused, why?"
        );
    }

    #[test]
    fn the_first_and_last_reasons_are_kept() {
        let messages: Vec<_> = (0..9)
            .map(|i| GdalMessage {
                failure: i != 4,
                text: format!("reason {i}"),
            })
            .chain([GdalMessage {
                failure: true,
                text: "reason 8".into(),
            }])
            .collect();
        let error = because(Error::format("could not open"), &messages, None);
        assert_eq!(
            error.to_string(),
            "could not open: reason 0; reason 1; reason 8"
        );
    }
}
