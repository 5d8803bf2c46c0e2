//! Panics that become errors: damaged files and unusual queries reach code of libraries that
//! panics.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::Error;

/// Prefixes of the names of threads whose panics the query engine passes on to the thread that
/// waits for them.
const ENGINE_THREADS: [&str; 2] = ["polars", "async-executor"];

thread_local! {
    /// True while this thread is inside [`catch_quietly`].
    static IS_QUIET_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. The message of a panic, here or on a thread of the query engine, is logged
/// instead of written to standard error.
///
/// # Errors
/// What `work` panicked with.
pub fn catch_quietly<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(install_hook);
    let outer = IS_QUIET_THREAD.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET_THREAD.set(outer);
    outcome
}

fn install_hook() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if IS_QUIET_THREAD.try_with(Cell::get).unwrap_or(false) || is_engine_thread() {
            tracing::debug!("caught: {panic}");
        } else {
            print(panic);
        }
    }));
}

fn is_engine_thread() -> bool {
    std::thread::current()
        .name()
        .is_some_and(|name| ENGINE_THREADS.iter().any(|prefix| name.starts_with(prefix)))
}

/// The error for a panic caught during `what`.
pub fn panic_error(what: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown reason".to_owned());
    Error::internal(format!("{what} stopped unexpectedly: {text}")).hint("report this with the log")
}
