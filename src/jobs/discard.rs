//! Frees large values: on another thread, because to free a dataset of millions of rows takes
//! longer than a frame; or within a job, so that their memory goes back to the system.

/// Drops `value` on another thread, or on this one if none can be started. The end of the process
/// does not wait for that: not for values whose drop must happen, such as temporary files.
pub fn discard<T: Send + 'static>(value: T) {
    // Without a thread, the closure and the value with it are dropped by this call.
    let _ = std::thread::Builder::new()
        .name("discard".to_owned())
        .spawn(move || drop(value));
}

/// Drops a large value on this thread, and gives its memory back to the system. The allocator of
/// glibc would keep the memory of small values, such as those of a draft of a hundred thousand
/// samples, until the process ends.
pub fn release<T>(value: T) {
    drop(value);
    // SAFETY: the function takes a number and has no requirements; it locks the allocator itself.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Allocations of at least this many bytes go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK_BYTES: libc::c_int = 1 << 20;

/// Makes large blocks go back to the system as soon as they are freed, in all threads, from now on.
/// Otherwise the allocator of glibc raises the limit with each such block, up to 32 MiB, and keeps
/// smaller blocks, which adds a tenth to the peak memory of an operation over a million samples. It
/// is not called for queries, which would take up to 8 % more time.
pub fn return_large_blocks() {
    // SAFETY: the function takes two numbers and has no requirements.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
    use std::thread::ThreadId;
    use std::time::Duration;

    /// Reports the thread that drops it.
    struct DropReport(SyncSender<ThreadId>);

    impl Drop for DropReport {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().id());
        }
    }

    #[test]
    fn a_value_is_dropped_once_and_on_another_thread() {
        let (sender, receiver) = sync_channel(1);
        discard(DropReport(sender));
        let thread = receiver
            .recv_timeout(Duration::from_secs(20))
            .expect("is dropped");
        assert_ne!(thread, std::thread::current().id());
        assert_eq!(
            receiver.recv_timeout(Duration::from_secs(20)),
            Err(RecvTimeoutError::Disconnected)
        );
    }
}
