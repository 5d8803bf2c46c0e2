//! Termination by signals: partial output is removed before the process ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};

/// Set by the first signal, once [`stop_on_signals`] was called.
static STOPPED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Exit code of a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Makes SIGINT, SIGTERM and SIGHUP (on Windows Ctrl-C, Ctrl-Break and the end of the console)
/// cancel every job of this process, whose next check then fails. A second signal ends the process
/// immediately. For the command line; a window has other ways to stop.
///
/// # Errors
/// When a signal handler cannot be installed.
pub fn stop_on_signals() -> Result<()> {
    let stopped = STOPPED.get_or_init(Arc::default);
    listen(stopped).map_err(|error| Error::internal("Ctrl-C can't be listened to").because(error))
}

#[cfg(unix)]
fn listen(stopped: &Arc<AtomicBool>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first signal finds the flag unset, and sets it.
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, stopped.clone())?;
        signal_hook::flag::register(signal, stopped.clone())?;
    }
    Ok(())
}

/// Signals of the C library are Ctrl-C alone there, and not the end of the console.
#[cfg(windows)]
fn listen(_: &Arc<AtomicBool>) -> std::io::Result<()> {
    struct StopJobs;
    impl crate::windows_api::ConsoleStop for StopJobs {
        fn stop() {
            if STOPPED
                .get()
                .is_some_and(|stopped| stopped.swap(true, Ordering::SeqCst))
            {
                std::process::exit(INTERRUPTED);
            }
        }
    }
    crate::windows_api::on_console_stop::<StopJobs>()
}

/// True once a signal was received.
pub(super) fn is_stopped() -> bool {
    STOPPED
        .get()
        .is_some_and(|stopped| stopped.load(Ordering::Relaxed))
}
