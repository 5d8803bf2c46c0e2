//! The wall clock of the process: this program's own `clock_gettime`, which the whole program
//! calls instead of the C library's, so that the clock can jump while an operation runs.

use super::faults;

/// A jump of the wall clock at the reading with this number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockJump {
    pub number: u64,
    /// Seconds that the clock goes forward, or back.
    pub seconds: i64,
}

impl ClockJump {
    /// Jumps of a clock that is set: a second, an hour, a day, more than a year.
    pub const SECONDS: [i64; 8] = [
        1,
        3_600,
        86_400,
        40_000_000,
        -1,
        -3_600,
        -86_400,
        -40_000_000,
    ];
}

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: The caller's arguments go to the system as they are.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result == 0
        && clock == libc::CLOCK_REALTIME
        && let Some(shared) = faults::current()
    {
        // SAFETY: The system has written the time there.
        unsafe { (*time).tv_sec += shared.read_clock() };
    }
    result as libc::c_int
}

#[test]
fn the_program_reads_this_clock() {
    type Read = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;
    let called: Read = libc::clock_gettime;
    let own: Read = clock_gettime;
    assert_eq!(called as usize, own as usize);
}
