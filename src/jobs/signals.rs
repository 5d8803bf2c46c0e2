//! Being told to stop from outside: what is being written goes away before the program does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// Set by the first signal, once somebody listens.
static STOPPED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// From now on Ctrl-C, and being asked to end or losing the terminal, cancel every job of this process: its next check is an error.
/// A second signal ends the process at once. For the command line; a window has its own ways.
pub fn stop_on_signals() -> Result<()> {
    let stopped = STOPPED.get_or_init(Arc::default);
    #[cfg(unix)]
    let signals = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
    #[cfg(not(unix))]
    let signals = [SIGINT, SIGTERM];
    for signal in signals {
        // In this order: the first signal finds nothing set, and sets it.
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, stopped.clone())
            .and_then(|_| signal_hook::flag::register(signal, stopped.clone()))
            .map_err(|error| Error::internal("Ctrl-C can't be listened to").because(error))?;
    }
    Ok(())
}

/// True once a signal asked the process to stop.
pub(super) fn is_stopped() -> bool {
    STOPPED.get().is_some_and(|stopped| stopped.load(Ordering::Relaxed))
}
