//! Integration tests as one binary: the command line, files read and written, rules of the source
//! code. Unit tests are in `src`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test says what went wrong by ending"
)]

mod aligned;
mod archive_sources;
#[cfg(target_os = "linux")]
mod bench_history;
mod broken;
#[cfg(target_os = "linux")]
mod budgets;
#[cfg(target_os = "linux")]
mod c_library;
#[cfg(target_os = "linux")]
mod catalogue_sources;
mod claimed_sizes;
mod concat;
mod conformance;
mod consistency;
mod containers;
mod curator;
mod describe;
mod doctor;
mod drafts;
mod edit;
mod engines;
mod export;
mod extend;
#[cfg(target_os = "linux")]
mod faults;
mod fence;
mod file_sets;
#[cfg(target_os = "linux")]
mod full_disk;
mod golden;
mod grouping;
mod gui;
mod histograms;
mod hubs;
mod imagery;
mod interop;
mod layouts;
mod legacy;
mod licences;
#[cfg(target_os = "linux")]
mod limits;
mod mcp;
#[cfg(target_os = "linux")]
mod memory;
pub mod metadata_tables;
mod mutants;
#[cfg(target_os = "linux")]
mod opened_files;
mod padding;
mod parts;
mod places;
mod plan;
mod publish;
#[cfg(target_os = "linux")]
mod python_module;
mod queries;
mod reader;
mod reference;
mod remote;
mod remote_faults;
mod remote_servers;
mod remote_swaps;
mod repair;
mod replays;
mod results;
mod rezipped;
mod roundtrip;
mod rules;
#[cfg(target_os = "linux")]
mod run_script;
mod sample_data;
mod secrets;
mod security;
#[cfg(target_os = "linux")]
mod simulation;
mod snippets;
mod sources;
mod sql_fuzz;
mod stats;
#[cfg(target_os = "linux")]
mod store_throughput;
mod stores;
mod stores_faults;
mod stores_overwritten;
mod stores_resumed;
mod strangers;
#[cfg(target_os = "linux")]
mod stubs;
mod support;
mod swaps;
mod taco3;
mod taco3_rebuild;
mod tacocat;
mod texts;
mod tidy;
mod togs;
mod unharmed;
mod vectors;
mod verbosity;
#[cfg(target_os = "linux")]
mod window;
mod zarr;
