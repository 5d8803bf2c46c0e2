//! Gigabytes written to a store whose connection breaks: whole, in bounded memory, about as fast as
//! the store's own transfer manager in the same run. Ignored, as it takes minutes: `cargo test
//! --test integration store_throughput -- --ignored --nocapture`, with `TACO_STUDIO_STORE_MB` for
//! another size than 5,000 MB. The size is needed once as free space in the folder for temporary
//! files.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Emulator, FaultProxy, SentFault, Workspace, flat_scenes};

/// Bytes of one sample; the file is sparse.
const SAMPLE: u64 = 256 << 20;
/// Times that the connection is cut.
const CUTS: usize = 10;
/// Peak memory in bytes that is allowed.
const MEMORY: u64 = 300_000_000;

/// Peak memory of a running process in bytes; `None` once it has ended.
fn peak_memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes << 10)
}

#[test]
#[ignore = "writes gigabytes"]
fn gigabytes_arrive_whole_through_ten_cuts_in_bounded_memory() {
    let Some(store) = Emulator::on_disk() else {
        return;
    };
    let megabytes: u64 = std::env::var("TACO_STUDIO_STORE_MB")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5000);
    let total = megabytes * 1_000_000;
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    for number in 0..total.div_ceil(SAMPLE) {
        let file = fs::File::create(workspace.path(&format!("scenes/large_{number:03}.bin")))
            .expect("a file");
        file.set_len(SAMPLE.min(total - number * SAMPLE))
            .expect("a length");
    }
    let proxy = FaultProxy::to(store.port());
    // The same number of bytes by the transfer manager of boto3, through the proxy too, without a
    // cut.
    let same = workspace.path("same.bin");
    fs::File::create(&same)
        .and_then(|file| file.set_len(total))
        .expect("a file");
    let theirs = store.transfer_seconds(proxy.port(), &same);
    let parts = (total >> 23) as usize;
    for cut in 0..CUTS {
        let bytes = [0, 1, 70_000, 1 << 20, 5 << 20][cut % 5];
        proxy.fail(
            "PUT",
            "partNumber=",
            SentFault::CutAfter(bytes),
            parts / (CUTS + 1),
            1,
        );
    }
    let address = store.address("set.tacozip");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command.args([
        "create",
        "scenes",
        "-o",
        &address,
        "--collection",
        "collection.json",
    ]);
    command.envs(store.variables(proxy.port()));
    let log = fs::File::create(workspace.path("stderr.log")).expect("a log");
    let begun = Instant::now();
    let mut child = workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("starts");
    let mut memory = 0;
    let status = loop {
        memory = peak_memory(child.id()).unwrap_or_default().max(memory);
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let ours = begun.elapsed().as_secs_f64();
    assert!(
        status.success(),
        "{}",
        fs::read_to_string(workspace.path("stderr.log")).unwrap_or_default()
    );
    let rate = |seconds: f64| total as f64 / 1e6 / seconds;
    println!(
        "{megabytes} MB: {ours:.1} s ({:.0} MB/s) with {CUTS} cuts; boto3 {theirs:.1} s ({:.0} \
            MB/s) without; ratio {:.2}; peak {:.0} MB",
        rate(ours),
        rate(theirs),
        theirs / ours,
        memory as f64 / 1e6
    );
    assert_eq!(proxy.cuts(), CUTS, "each cut hit a part");
    assert_eq!(store.open_uploads(), 0);
    let members = store.members_of_archive("set.tacozip");
    assert!(members > total.div_ceil(SAMPLE), "{members} members");
    assert!(memory < MEMORY, "{memory} bytes");
}
