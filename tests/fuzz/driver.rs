//! Calls libFuzzer as a library: it reads its options from the command line, and uses this
//! program's targets and mutations.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

// For linking the library only; the crate's Rust API is not used.
use libfuzzer_sys as _;

use crate::memory;
use crate::mutate::Random;
use crate::targets::Target;

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        count: *mut c_int,
        arguments: *mut *mut *mut c_char,
        read: extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
    fn LLVMFuzzerMutate(data: *mut u8, size: usize, longest: usize) -> usize;
}

static TARGET: OnceLock<Target> = OnceLock::new();

/// Runs libFuzzer with a target; returns its exit code.
pub fn run(target: Target) -> i32 {
    let _ = TARGET.set(target);
    let name = std::env::args().next().unwrap_or_default();
    let longest = format!("-max_len={}", target.longest);
    let words = [name, longest].into_iter().chain(std::env::args().skip(1));
    // libFuzzer keeps the pointers, so the strings are leaked.
    let words = words.map(|word| {
        CString::new(word)
            .expect("an argument without a zero")
            .into_raw()
    });
    let mut words: Vec<*mut c_char> = words.chain([std::ptr::null_mut()]).collect();
    let mut count = words.len() as c_int - 1;
    let mut arguments = words.as_mut_ptr();
    // SAFETY: `count` NUL-terminated strings followed by a null pointer, as for `main`; all outlive
    // the call.
    let code = unsafe { LLVMFuzzerRunDriver(&mut count, &mut arguments, read) };
    drop(words);
    code
}

extern "C" fn read(data: *const u8, size: usize) -> c_int {
    let bytes = if size == 0 {
        &[]
    } else {
        // SAFETY: libFuzzer passes `size` bytes that stay valid during the call; for size 0 the
        // pointer may be invalid.
        unsafe { std::slice::from_raw_parts(data, size) }
    };
    let Some(target) = TARGET.get() else {
        return -1;
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| memory::capped(|| (target.run)(bytes))));
    // The panic was printed already. libFuzzer stores the input when the process aborts.
    if outcome.is_err() {
        std::process::abort();
    }
    0
}

/// libFuzzer finds this function by its name.
#[unsafe(no_mangle)]
extern "C" fn LLVMFuzzerCustomMutator(
    data: *mut u8,
    size: usize,
    longest: usize,
    seed: c_uint,
) -> usize {
    let Some(target) = TARGET.get() else {
        return size;
    };
    // SAFETY: libFuzzer's buffer has `longest` bytes, of which `size` are the input.
    let buffer = unsafe { std::slice::from_raw_parts_mut(data, longest) };
    let mut bytes = buffer[..size].to_vec();
    (target.mutate)(
        &mut bytes,
        longest,
        &mut Random::new(u64::from(seed)),
        &mut engine,
    );
    bytes.truncate(longest);
    buffer[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

fn engine(bytes: &mut Vec<u8>, longest: usize) {
    let longest = longest.max(1);
    let size = bytes.len().min(longest);
    bytes.resize(longest, 0);
    // SAFETY: the vector has `longest` bytes, of which `size` are the input.
    let size = unsafe { LLVMFuzzerMutate(bytes.as_mut_ptr(), size, longest) };
    bytes.truncate(size);
}
