//! Simulation: chains of operations under faults of the disk and of stores, kills, losses of power,
//! jumps of the clock and sources that are exchanged, all from one seed. After each step the
//! outputs are the old or the new ones, whole, and nothing else is left. `./packaging/simulate`
//! tries many seeds, or one again.
//!
//! Each step runs in a process of its own, forked from one in which nothing has run, so that a step
//! takes some milliseconds. What the new outputs are is computed by the same step without faults,
//! once for the same outputs before it.

#[cfg(target_arch = "x86_64")]
mod clock;
#[cfg(target_arch = "x86_64")]
mod faults;
#[cfg(target_arch = "x86_64")]
mod runs;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(target_arch = "x86_64")]
mod store;
#[cfg(target_arch = "x86_64")]
mod store_azure;
#[cfg(target_arch = "x86_64")]
mod store_google;
#[cfg(target_arch = "x86_64")]
mod store_s3;
#[cfg(target_arch = "x86_64")]
mod sweep;
#[cfg(target_arch = "x86_64")]
mod system_calls;
#[cfg(target_arch = "x86_64")]
mod world;
