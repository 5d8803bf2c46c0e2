//! Resource limits of a run: open files, and memory for server responses. Servers are hostile here:
//! they claim impossible sizes, or send endlessly or hardly at all.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{COLLECTION, Workspace, nightly_or, sha256_of};

/// Exit status, output and peak memory of a process.
struct Measured {
    code: Option<i32>,
    stderr: String,
    most_kb: u64,
    elapsed: Duration,
}

/// Runs the program, and kills it after `limit`.
fn measured(workspace: &Workspace, mut command: Command, limit: Duration) -> Measured {
    let said = workspace.path("stderr");
    workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&said).expect("a file"));
    let started = Instant::now();
    let mut child = command.spawn().expect("starts");
    let mut most_kb = 0;
    let status = loop {
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
            let peak = status.lines().find_map(|line| {
                line.strip_prefix("VmHWM:")?
                    .trim()
                    .strip_suffix(" kB")?
                    .parse()
                    .ok()
            });
            most_kb = most_kb.max(peak.unwrap_or(0));
        }
        if let Some(status) = child.try_wait().expect("the state of the program") {
            break status;
        }
        if started.elapsed() > limit {
            child.kill().expect("ends");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let stderr = std::fs::read_to_string(&said).unwrap_or_default();
    Measured {
        code: status.code(),
        stderr,
        most_kb,
        elapsed: started.elapsed(),
    }
}

fn studio() -> Command {
    Command::new(env!("CARGO_BIN_EXE_taco-studio"))
}

/// A server that responds with `answer`, which gets the path and range of the request.
fn serving<F>(answer: F) -> String
where
    F: Fn(&str, (u64, u64), &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let host = listener.local_addr().expect("has an address").to_string();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let lines = BufReader::new(stream.try_clone()?).lines();
                head.extend(
                    lines
                        .map_while(Result::ok)
                        .take_while(|line| !line.is_empty()),
                );
                let path = head
                    .first()
                    .and_then(|line| line.split(' ').nth(1))
                    .unwrap_or_default()
                    .to_owned();
                let range = head.iter().find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("range: bytes=")
                        .map(str::to_owned)
                });
                let range = range.and_then(|range| {
                    let (start, end) = range.split_once('-')?;
                    Some((start.parse().ok()?, end.parse().ok()?))
                });
                answer(&path, range.unwrap_or((0, 0)), &mut stream)
            });
        }
    });
    host
}

/// The header of a partial response for a file of `size` bytes.
fn part((start, end): (u64, u64), size: u64) -> String {
    let length = end - start + 1;
    format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"x\"\r\nContent-Range: bytes \
            {start}-{end}/{size}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )
}

/// Writes `length` zeros, or until the client closes the connection.
fn zeros(stream: &mut TcpStream, length: u64) -> std::io::Result<()> {
    let some = [b' '; 1 << 16];
    let mut left = length;
    while left > 0 {
        let now = left.min(some.len() as u64);
        stream.write_all(&some[..now as usize])?;
        left -= now;
    }
    Ok(())
}

type Answer = fn(&str, (u64, u64), &mut TcpStream) -> std::io::Result<()>;

/// Server behaviours, with the expected error message.
const HOSTILE: &[(&str, Answer, &str)] = &[
    (
        "claims 2^50 bytes",
        |_, range, stream| {
            stream.write_all(part(range, 1 << 50).as_bytes())?;
            zeros(stream, range.1 - range.0 + 1)
        },
        "an implausible file size",
    ),
    (
        "claims the most bytes that there are",
        |_, range, stream| {
            stream.write_all(part(range, u64::MAX).as_bytes())?;
            zeros(stream, range.1 - range.0 + 1)
        },
        "an implausible file size",
    ),
    (
        "claims a size that may be, and sends all that is asked for",
        |_, range, stream| {
            stream.write_all(part(range, 1 << 49).as_bytes())?;
            zeros(stream, range.1 - range.0 + 1)
        },
        "",
    ),
    (
        "sends a part without end",
        |_, range, stream| {
            let (stated, all) = (
                format!("Content-Length: {}", range.1 - range.0 + 1),
                format!("Content-Length: {}", u64::MAX >> 1),
            );
            stream.write_all(part(range, 1 << 30).replacen(&stated, &all, 1).as_bytes())?;
            zeros(stream, u64::MAX)
        },
        "more than the",
    ),
    (
        "sends an error without end",
        |_, _, stream| {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")?;
            zeros(stream, u64::MAX)
        },
        "404 Not Found",
    ),
    (
        "sends a byte now and then",
        |_, range, stream| {
            stream.write_all(part(range, 1 << 30).as_bytes())?;
            for _ in 0..1000 {
                stream.write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(200));
            }
            Ok(())
        },
        "bytes a second",
    ),
    (
        "sends on without end",
        |path, _, stream| {
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {path}x\r\nContent-Length: 0\r\nConnection: \
                    close\r\n\r\n"
            );
            stream.write_all(answer.as_bytes())
        },
        "redirects endlessly",
    ),
    (
        "compresses",
        |_, range, stream| {
            let head = part(range, 1 << 30).replacen("ETag", "Content-Encoding: gzip\r\nETag", 1);
            stream.write_all(head.as_bytes())?;
            zeros(stream, range.1 - range.0 + 1)
        },
        "compresses the file",
    ),
    (
        "sends headers without end",
        |_, _, stream| {
            stream.write_all(b"HTTP/1.1 206 Partial Content\r\n")?;
            loop {
                stream.write_all(b"X-Header: of no use at all, as are all the others\r\n")?;
            }
        },
        "",
    ),
    (
        "says that the part ends before it begins",
        |_, _, stream| {
            stream.write_all(
                b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 9-4/100\r\n\
                Content-Length: 5\r\n\r\nsorry",
            )
        },
        "invalid Content-Range",
    ),
    (
        "says that the part ends where numbers end",
        |_, _, stream| {
            let range = format!("bytes 0-{0}/{0}", u64::MAX);
            stream.write_all(
                format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: {range}\r\nContent-Length: \
                    5\r\n\r\nsorry"
                )
                .as_bytes(),
            )
        },
        "invalid Content-Range",
    ),
];

#[test]
fn hostile_servers_end_in_an_error_soon_and_without_filling_the_memory() {
    for (what, answer, said) in HOSTILE {
        let host = serving(answer);
        let places = [
            "set.tacozip",
            "folder/",
            "folder/.tacocat",
            "set/__TACOCAT__",
            "set.0000.part.tortilla",
        ];
        // A claimed size affects each container differently; network behaviour is the same for all.
        let few = if what.starts_with("claims") {
            places.len()
        } else {
            2
        };
        for place in &places[..few] {
            let workspace = Workspace::new();
            let mut command = studio();
            command
                .args(["inspect", &format!("http://{host}/{place}")])
                .env("TACO_STUDIO_HTTP_TIMEOUT", "1");
            let ran = measured(&workspace, command, Duration::from_secs(60));
            let about = format!(
                "{place} of a server that {what}: {:?} after {:?}, {} kB\n{}",
                ran.code, ran.elapsed, ran.most_kb, ran.stderr
            );
            assert_eq!(ran.code, Some(2), "{about}");
            assert!(ran.elapsed < Duration::from_secs(45), "{about}");
            assert!(ran.most_kb < 500_000, "{about}");
            assert!(
                ran.stderr.contains(said) && !ran.stderr.contains("panicked"),
                "no \"{said}\" in {about}"
            );
        }
    }
}

/// A dataset of `count` parts with an index, each part with one sample.
fn parts(workspace: &Workspace, count: usize) -> PathBuf {
    let mut table = String::from("path,part\n");
    for number in 0..count {
        workspace.write(
            &format!("scenes/{number:05}.bin"),
            format!("sample {number}"),
        );
        table += &format!("{number:05}.bin,{number:05}\n");
    }
    let (table, collection) = (
        workspace.write("metadata.csv", table),
        workspace.write("collection.json", COLLECTION),
    );
    let out = workspace.path("parts/p.tacozip");
    let scenes = workspace.path("scenes");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let made: [String; 12] = [
        "create".into(),
        text(&scenes),
        "--output".into(),
        text(&out),
        "--collection".into(),
        text(&collection),
        "--metadata".into(),
        text(&table),
        "--group-by".into(),
        "part".into(),
        "--consolidate".into(),
        "tacocat,tacollection".into(),
    ];
    with_few_handles(
        workspace,
        &made.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    workspace.path("parts")
}

/// Runs the program with a limit of 256 open files.
#[track_caller]
fn with_few_handles(workspace: &Workspace, arguments: &[&str]) {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "ulimit -n 256; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_taco-studio"),
        ])
        .args(arguments);
    let ran = measured(workspace, command, Duration::from_secs(300));
    assert_eq!(
        ran.code,
        Some(0),
        "{arguments:?} after {:?}: {}",
        ran.elapsed,
        ran.stderr
    );
}

#[test]
fn a_tacocat_of_more_parts_than_open_files_exports() {
    let workspace = Workspace::new();
    let count = nightly_or(600, 5000);
    let folder = parts(&workspace, count);
    let (index, list) = (folder.join(".tacocat"), folder.join("TACOLLECTION.json"));
    let (index, list) = (index.to_str().expect("text"), list.to_str().expect("text"));
    for (verb, name) in [
        ("convert", "whole.tacozip"),
        ("convert", "whole"),
        ("export", "exported.tacozip"),
    ] {
        let out = workspace.path(name);
        let out_text = out.to_str().expect("text");
        match verb {
            "convert" => with_few_handles(&workspace, &[verb, index, out_text]),
            _ => with_few_handles(&workspace, &[verb, index, "--output", out_text]),
        }
        for number in [0, count / 2, count - 1] {
            let sample = workspace.path("sample");
            workspace.read_into(&out, format!("#{number}"), &sample);
            assert_eq!(
                sha256_of(&sample),
                sha256_of(&workspace.path(&format!("scenes/{number:05}.bin"))),
                "{name}"
            );
        }
    }
    with_few_handles(&workspace, &["validate", index, "--deep"]);
    with_few_handles(
        &workspace,
        &["query", index, "--sql", "SELECT id FROM data"],
    );
    with_few_handles(&workspace, &["inspect", list]);
    let joined = workspace.path("joined.tacozip");
    with_few_handles(
        &workspace,
        &["convert", list, joined.to_str().expect("text")],
    );
}
