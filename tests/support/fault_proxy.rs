//! A proxy between the program and an emulator that breaks requests which carry data: cuts the
//! connection after some bytes, loses an answer, answers with a status of its own, or passes the
//! bytes on slowly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::listener::Listener;

/// Fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentFault {
    /// The connection ends after this many bytes of the body were passed on.
    CutAfter(usize),
    /// The store gets the whole request; the connection ends before its answer.
    AnswerLost,
    /// This status, with the error code of an S3-style body.
    Status(u16, &'static str),
    /// A pause before each 64 KiB.
    Slow(Duration),
}

struct Rule {
    method: &'static str,
    part: String,
    fault: SentFault,
    good: usize,
    times: usize,
}

struct Shared {
    to: u16,
    rules: Mutex<Vec<Rule>>,
    asked: Mutex<Vec<String>>,
    /// Method and target of each request that was answered, with the length of its body.
    answered: Mutex<Vec<(String, u64)>>,
    cuts: AtomicUsize,
    /// Number of times that the faults were ended.
    healed: AtomicUsize,
}

/// The running proxy; stopped on drop.
pub struct FaultProxy {
    shared: Arc<Shared>,
    listener: Listener,
}

impl FaultProxy {
    /// A proxy to a server on 127.0.0.1.
    pub fn to(port: u16) -> Self {
        let shared = Arc::new(Shared {
            to: port,
            rules: Mutex::default(),
            asked: Mutex::default(),
            answered: Mutex::default(),
            cuts: AtomicUsize::new(0),
            healed: AtomicUsize::new(0),
        });
        let own = shared.clone();
        let listener = Listener::start(move |stream| drop(own.pass(stream)));
        Self { shared, listener }
    }

    pub fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Breaks requests of a method whose target contains `part`: after `good` that pass, `times`
    /// times.
    pub fn fail(
        &self,
        method: &'static str,
        part: &str,
        fault: SentFault,
        good: usize,
        times: usize,
    ) {
        self.shared.rules.lock().expect("a lock").push(Rule {
            method,
            part: part.to_owned(),
            fault,
            good,
            times,
        });
    }

    /// Ends all faults, with the connections that are slow, and forgets the requests so far.
    pub fn heal(&self) {
        self.shared.healed.fetch_add(1, Ordering::Relaxed);
        self.shared.rules.lock().expect("a lock").clear();
        self.shared.asked.lock().expect("a lock").clear();
        self.shared.answered.lock().expect("a lock").clear();
    }

    /// Number of requests of a method that the store answered and whose target contains `part`, and
    /// the bytes of their bodies.
    pub fn answered(&self, method: &str, part: &str) -> (usize, u64) {
        let answered = self.shared.answered.lock().expect("a lock");
        let found = answered
            .iter()
            .filter(|(line, _)| line.starts_with(&format!("{method} ")) && line.contains(part));
        found.fold((0, 0), |(count, bytes), (_, more)| {
            (count + 1, bytes + more)
        })
    }

    /// Method and target of every request.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("a lock").clone()
    }
}

#[cfg(target_os = "linux")]
impl FaultProxy {
    /// Number of connections that were cut while data was sent.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn fault_for(&self, method: &str, target: &str) -> Option<SentFault> {
        let mut rules = self.rules.lock().expect("a lock");
        let rule = rules
            .iter_mut()
            .find(|rule| rule.method == method && target.contains(&rule.part) && rule.times > 0)?;
        if rule.good > 0 {
            rule.good -= 1;
            return None;
        }
        rule.times -= 1;
        Some(rule.fault)
    }

    /// Passes one request on and its answer back, then ends the connection.
    fn pass(&self, client: TcpStream) -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut input = BufReader::with_capacity(64 << 10, client.try_clone()?);
        let mut first = String::new();
        if input.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let (mut head, mut length) = (first.clone(), 0usize);
        loop {
            let mut line = String::new();
            if input.read_line(&mut line)? <= 2 {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or_default(),
                // Each connection carries one request.
                "connection" => continue,
                "expect" => {
                    (&client).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                    continue;
                }
                _ => {}
            }
            head += &line;
        }
        head += "Connection: close\r\n\r\n";
        let mut words = first.split_whitespace();
        let (method, target) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        self.asked
            .lock()
            .expect("a lock")
            .push(format!("{method} {target}"));
        let healed = self.healed.load(Ordering::Relaxed);
        let fault = self.fault_for(method, target);
        let mut out = &client;
        if let Some(SentFault::Status(status, code)) = fault {
            // The body is taken in first: a client may not read an answer while it sends.
            std::io::copy(&mut (&mut input).take(length as u64), &mut std::io::sink())?;
            let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
            return write!(
                out,
                "HTTP/1.1 {status} Said\r\nx-ms-error-code: {code}\r\nContent-Length: {}\r\n\
                    Connection: close\r\n\r\n{}",
                body.len(),
                if method == "HEAD" { "" } else { &body }
            );
        }
        let mut server = TcpStream::connect(("127.0.0.1", self.to))?;
        server.write_all(head.as_bytes())?;
        let (mut passed, mut buffer) = (0, vec![0; 64 << 10]);
        while passed < length {
            let wanted = buffer.len().min(length - passed);
            let most = match fault {
                Some(SentFault::CutAfter(bytes)) if passed >= bytes => {
                    self.cuts.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                Some(SentFault::CutAfter(bytes)) => wanted.min(bytes - passed),
                _ => wanted,
            };
            let read = input.read(&mut buffer[..most])?;
            if read == 0 {
                return Ok(());
            }
            if let Some(SentFault::Slow(pause)) = fault {
                let end = Instant::now() + pause;
                while let Some(left) = end.checked_duration_since(Instant::now()) {
                    // What a killed client sent would keep a server busy that takes one request at
                    // a time.
                    if self.healed.load(Ordering::Relaxed) != healed {
                        return Ok(());
                    }
                    std::thread::sleep(left.min(Duration::from_millis(20)));
                }
            }
            server.write_all(&buffer[..read])?;
            passed += read;
        }
        if matches!(fault, Some(SentFault::CutAfter(_))) {
            return Ok(());
        }
        if fault == Some(SentFault::AnswerLost) {
            // Until the store has answered, so that it has done what was asked.
            return std::io::copy(&mut server, &mut std::io::sink()).map(drop);
        }
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        self.answered
            .lock()
            .expect("a lock")
            .push((format!("{method} {target}"), length as u64));
        out.write_all(&answer)
    }
}
