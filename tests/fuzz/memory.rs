//! Counts allocated memory in the global allocator: an input that needs more than the limit ends
//! the process with a message.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Maximum bytes that an input may allocate at a time, in addition to those allocated before.
pub const CAP_BYTES: usize = 500 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// Current limit; unlimited outside of an input.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static OVER: AtomicBool = AtomicBool::new(false);

/// The system's allocator with a counter.
pub struct Counted;

fn take(bytes: usize) {
    let held = HELD
        .fetch_add(bytes, Ordering::Relaxed)
        .saturating_add(bytes);
    MOST.fetch_max(held, Ordering::Relaxed);
    let limit = LIMIT.load(Ordering::Relaxed);
    // Printing allocates too, so the message is printed once.
    if held > limit && !OVER.swap(true, Ordering::Relaxed) {
        let trace = std::backtrace::Backtrace::force_capture();
        eprintln!(
            "over the memory cap: {bytes} more bytes make {held}, {limit} may be held\n{trace}"
        );
        std::process::abort();
    }
}

// SAFETY: every call is forwarded unchanged to the system's allocator; the counter touches no
// memory of the caller.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `System`, through this allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(more) => take(more),
            None => {
                HELD.fetch_sub(layout.size() - size, Ordering::Relaxed);
            }
        }
        // SAFETY: as in `dealloc`; the new size is the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` with the limit; returns the peak of bytes allocated in addition to those before.
pub fn capped(work: impl FnOnce()) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    LIMIT.store(before.saturating_add(CAP_BYTES), Ordering::Relaxed);
    work();
    LIMIT.store(usize::MAX, Ordering::Relaxed);
    MOST.load(Ordering::Relaxed).saturating_sub(before)
}
