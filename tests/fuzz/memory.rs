//! The memory that the program holds, counted in its allocator: an input whose reading takes more than the cap ends the program
//! with a message, before the machine suffers from it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes that an input may have the program hold at once, beyond what it held before.
pub const CAP_BYTES: usize = 500 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// What may be held; none outside an input.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static OVER: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with a count.
pub struct Counted;

fn take(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    MOST.fetch_max(held, Ordering::Relaxed);
    let limit = LIMIT.load(Ordering::Relaxed);
    // The message takes memory itself, and is given once.
    if held > limit && !OVER.swap(true, Ordering::Relaxed) {
        let trace = std::backtrace::Backtrace::force_capture();
        eprintln!("over the memory cap: {bytes} more bytes make {held}, {limit} may be held\n{trace}");
        std::process::abort();
    }
}

// SAFETY: every call goes to the system's allocator as it came; the counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is this one's.
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

/// Runs `work` under the cap; gives the most bytes that were held beyond those before it.
pub fn capped(work: impl FnOnce()) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    LIMIT.store(before.saturating_add(CAP_BYTES), Ordering::Relaxed);
    work();
    LIMIT.store(usize::MAX, Ordering::Relaxed);
    MOST.load(Ordering::Relaxed).saturating_sub(before)
}
