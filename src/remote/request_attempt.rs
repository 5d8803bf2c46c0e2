//! The state of one request: which part of a file it requests, and what its answer says or lacks.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use object_store::GetRange;

use super::purpose::Purpose;

/// Maximum pause before a retry that a server may request.
const PAUSE_ASKED_MAX: Duration = Duration::from_secs(30);

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchPart {
    /// A byte range.
    Range(Range<u64>),
    /// The last bytes, at most this many.
    Tail(u64),
}

impl FetchPart {
    pub(super) fn get_range(&self) -> GetRange {
        match self {
            FetchPart::Range(range) => GetRange::Bounded(range.clone()),
            FetchPart::Tail(length) => GetRange::Suffix(*length),
        }
    }

    /// The bytes in words.
    pub(super) fn text(&self) -> String {
        match self {
            FetchPart::Range(range) => format!("bytes {} to {}", range.start, range.end),
            FetchPart::Tail(length) => format!("its last {length} bytes"),
        }
    }

    /// The byte range in a file of this size.
    pub(super) fn byte_range(&self, size: u64) -> Range<u64> {
        match self {
            FetchPart::Range(range) => range.start..range.end.min(size).max(range.start),
            FetchPart::Tail(length) => size.saturating_sub(*length)..size,
        }
    }
}

/// What is asked for with a `Range` header.
#[derive(Clone, Debug)]
pub(super) struct RangeRequest {
    pub part: FetchPart,
    /// Size of the file in bytes, for servers that leave it out.
    pub known_size: Option<u64>,
    /// The file is a web page itself.
    pub is_page: bool,
}

/// What an answer lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// An HTML page instead of the file.
    WebPage,
    /// A range without the size of the file.
    SizeUnstated,
    /// Status 206 without a Content-Range, so that nothing says which bytes were sent.
    RangeUnstated,
    /// The connection ended within a body.
    BodyCut,
}

impl RangeRequest {
    /// Maximum number of bytes of the answer.
    pub fn most(&self) -> u64 {
        match &self.part {
            FetchPart::Range(range) => range.end.saturating_sub(range.start),
            FetchPart::Tail(length) => *length,
        }
    }

    /// True when the range is all of a file of this size.
    pub fn covers(&self, size: u64) -> bool {
        size > 0 && self.part.byte_range(size) == (0..size)
    }

    /// Size of the file when a range ends with the byte `last` and the server leaves the size out.
    pub fn size_behind(&self, last: u64) -> Option<u64> {
        let end = last.saturating_add(1);
        match self.part {
            FetchPart::Tail(_) => Some(end),
            // A larger end means another version, which the comparison of versions finds.
            FetchPart::Range(_) => self.known_size.map(|size| size.max(end)),
        }
    }
}

/// State of one request, shared by its sender and the waiting thread.
pub struct RequestAttempt {
    pub purpose: Purpose,
    pub(super) status: AtomicU16,
    pub(super) retry_after_s: AtomicU64,
    pub(super) sent_on: AtomicBool,
    pub(super) sent_inside: OnceLock<String>,
    html: AtomicBool,
    pub(super) code: OnceLock<String>,
    range: Option<RangeRequest>,
    size: OnceLock<u64>,
    fault: OnceLock<AnswerFault>,
}

impl RequestAttempt {
    pub fn new(purpose: Purpose) -> Self {
        let (status, retry_after_s, sent_on, html) = Default::default();
        let (sent_inside, code, size, fault) = Default::default();
        Self {
            purpose,
            status,
            retry_after_s,
            sent_on,
            sent_inside,
            html,
            code,
            range: None,
            size,
            fault,
        }
    }

    /// The state of a request for a part of a file, whose answer is brought into the form that the
    /// library reads.
    pub fn of_range(purpose: Purpose, range: RangeRequest) -> Self {
        Self {
            range: Some(range),
            ..Self::new(purpose)
        }
    }

    /// The requested part of a file.
    pub fn range(&self) -> Option<&RangeRequest> {
        self.range.as_ref()
    }

    /// Size of the file in bytes, where an answer without the requested bytes states it.
    pub fn stated_size(&self) -> Option<u64> {
        self.size.get().copied()
    }

    pub fn state_size(&self, size: u64) {
        let _ = self.size.set(size);
    }

    /// Why the answer has not the requested bytes.
    pub fn answer_fault(&self) -> Option<AnswerFault> {
        self.fault.get().copied()
    }

    pub fn note_fault(&self, fault: AnswerFault) {
        let _ = self.fault.set(fault);
    }

    /// True when the server declares the bytes as HTML.
    pub fn is_html(&self) -> bool {
        self.html.load(Ordering::Relaxed)
    }

    pub fn note_html(&self) {
        self.html.store(true, Ordering::Relaxed);
    }

    /// The error code in the body of an S3-style response, such as `InvalidAccessKeyId`.
    pub fn code(&self) -> Option<String> {
        self.code.get().cloned()
    }

    /// The status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    /// The pause before a retry that the server requests, at most 30 s: a header cannot make a job
    /// wait for an hour.
    pub fn pause_asked(&self) -> Duration {
        Duration::from_secs(self.retry_after_s.load(Ordering::Relaxed)).min(PAUSE_ASKED_MAX)
    }

    /// Seconds to wait before a retry that the server requests, where that is longer than the
    /// program waits.
    pub fn long_pause_asked_s(&self) -> Option<u64> {
        Some(self.retry_after_s.load(Ordering::Relaxed))
            .filter(|seconds| *seconds > PAUSE_ASKED_MAX.as_secs())
    }

    /// The host inside a private network to which a redirect leads that was not followed.
    pub fn sent_inside(&self) -> Option<&str> {
        self.sent_inside.get().map(String::as_str)
    }

    /// True when there were too many redirects.
    pub fn was_sent_on_too_often(&self) -> bool {
        self.sent_on.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_can_not_make_anyone_wait_for_an_hour() {
        let asked = |seconds: u64| {
            let attempt = RequestAttempt::new(Purpose::of_thread());
            attempt.retry_after_s.store(seconds, Ordering::Relaxed);
            (
                attempt.pause_asked().as_secs(),
                attempt.long_pause_asked_s(),
            )
        };
        assert_eq!(asked(7), (7, None));
        assert_eq!(asked(3600), (30, Some(3600)));
        assert_eq!(asked(u64::MAX), (30, Some(u64::MAX)));
    }
}
