//! Which version of a file bytes were found in, so that another one is not read in its place.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A version of a file that holds samples. Places in the file are only true of the version in which they were found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// Bytes of the whole file.
    pub size: u64,
    /// Time of the last change.
    #[serde(default, skip_serializing_if = "Modified::is_unknown")]
    pub modified: Modified,
    /// The server's mark of the version; absent for files of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<Arc<str>>,
    /// CRC-32 of an archive's central directory, which has the name, place, size and CRC of every member. With it a copy of the
    /// archive is known again, whatever its time is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<u32>,
}

impl Stamp {
    /// True when both may be the same version: nothing that both know differs. Two directories decide alone.
    pub fn agrees(&self, other: &Stamp) -> bool {
        if self.size != other.size {
            return false;
        }
        if let (Some(own), Some(other)) = (self.directory, other.directory) {
            return own == other;
        }
        match (&self.etag, &other.etag) {
            // A weak mark says that the content is the same in meaning; for bytes its text still has to be the same.
            (Some(own), Some(other)) => own.trim_start_matches("W/") == other.trim_start_matches("W/"),
            _ => self.modified.agrees(other.modified),
        }
    }
}

/// When a file was last changed, in nanoseconds since 1970; 0 where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Modified(pub i64);

impl Modified {
    /// The time that the system states, if it states one.
    pub fn of(time: Option<SystemTime>) -> Self {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self(since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0))
    }

    /// The time that the system states for a file, if it states one.
    pub fn of_file(meta: &std::fs::Metadata) -> Self {
        Self::of(meta.modified().ok())
    }

    /// True when nobody knows.
    pub fn is_unknown(&self) -> bool {
        self.0 == 0
    }

    /// True when both may be the same time.
    pub fn agrees(self, other: Self) -> bool {
        self == other || self.is_unknown() || other.is_unknown()
    }

    /// Milliseconds since 1970; 0 where nobody knows.
    pub fn milliseconds(self) -> i64 {
        self.0 / 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_by_what_both_know() {
        let stamp = |size, modified, etag: Option<&str>, directory| Stamp {
            size,
            modified: Modified(modified),
            etag: etag.map(Into::into),
            directory,
        };
        let known = stamp(9, 5, None, None);
        assert!(known.agrees(&known) && known.agrees(&stamp(9, 0, None, Some(1))));
        assert!(!known.agrees(&stamp(8, 5, None, None)) && !known.agrees(&stamp(9, 6, None, None)));
        let archive = stamp(9, 5, None, Some(1));
        assert!(archive.agrees(&stamp(9, 6, None, Some(1))), "a copy has another time");
        assert!(!archive.agrees(&stamp(9, 5, None, Some(2))), "another archive may have the same time");
        assert!(stamp(9, 5, Some("W/a"), None).agrees(&stamp(9, 6, Some("a"), None)));
        assert!(!stamp(9, 5, Some("a"), None).agrees(&stamp(9, 5, Some("b"), None)));
    }

    #[test]
    fn a_stamp_reads_back_and_old_texts_are_read() {
        let stamp = Stamp { size: 9, modified: Modified(1_700_000_000_123_456_789), etag: None, directory: Some(7) };
        let text = serde_json::to_string(&stamp).expect("writes");
        assert_eq!(serde_json::from_str::<Stamp>(&text).expect("reads"), stamp);
        assert_eq!(serde_json::from_str::<Stamp>(r#"{"size":9}"#).expect("reads").modified, Modified::default());
    }
}
