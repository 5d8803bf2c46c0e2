//! Identifies the version of a file, so that byte ranges are not applied to another version.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of a file that contains samples. Byte ranges are only valid in the version in which they
/// were found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// File size in bytes.
    pub size: u64,
    /// Modification time.
    #[serde(default, skip_serializing_if = "Modified::is_unknown")]
    pub modified: Modified,
    /// ETag of the server; `None` for local files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<Arc<str>>,
    /// CRC-32 of an archive's central directory, which contains the name, offset, size and CRC-32
    /// of every member. It identifies a copy of the archive independent of its modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<u32>,
}

impl Stamp {
    /// The version of a file of this machine.
    pub fn of_file(meta: &std::fs::Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: Modified::of_file(meta),
            etag: None,
            directory: None,
        }
    }

    /// True when both may be the same version: no property known for both differs. If both have a
    /// directory digest, it alone decides.
    pub fn agrees(&self, other: &Stamp) -> bool {
        if self.size != other.size {
            return false;
        }
        if let (Some(own), Some(other)) = (self.directory, other.directory) {
            return own == other;
        }
        match (&self.etag, &other.etag) {
            // A weak ETag only promises equivalent content; the tags are compared without the
            // prefix.
            (Some(own), Some(other)) => {
                own.trim_start_matches("W/") == other.trim_start_matches("W/")
            }
            _ => self.modified.agrees(other.modified),
        }
    }
}

/// Modification time in nanoseconds since 1970; 0 when unknown.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Modified(pub i64);

impl Modified {
    /// Modification time reported by the system, if any.
    pub fn from_system_time(time: Option<SystemTime>) -> Self {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self(
            since
                .and_then(|since| i64::try_from(since.as_nanos()).ok())
                .unwrap_or(0),
        )
    }

    /// Modification time in a file's metadata, if any.
    pub fn of_file(meta: &std::fs::Metadata) -> Self {
        Self::from_system_time(meta.modified().ok())
    }

    /// True when the time is unknown.
    pub fn is_unknown(&self) -> bool {
        self.0 == 0
    }

    /// True when the times are equal or one is unknown.
    pub fn agrees(self, other: Self) -> bool {
        self == other || self.is_unknown() || other.is_unknown()
    }

    /// Milliseconds since 1970; 0 when unknown.
    pub fn milliseconds(self) -> i64 {
        self.0 / 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_by_properties_known_for_both() {
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
        assert!(
            archive.agrees(&stamp(9, 6, None, Some(1))),
            "a copy has another time"
        );
        assert!(
            !archive.agrees(&stamp(9, 5, None, Some(2))),
            "another archive may have the same time"
        );
        assert!(stamp(9, 5, Some("W/a"), None).agrees(&stamp(9, 6, Some("a"), None)));
        assert!(!stamp(9, 5, Some("a"), None).agrees(&stamp(9, 5, Some("b"), None)));
    }

    #[test]
    fn a_stamp_reads_back_and_old_texts_are_read() {
        let stamp = Stamp {
            size: 9,
            modified: Modified(1_700_000_000_123_456_789),
            etag: None,
            directory: Some(7),
        };
        let text = serde_json::to_string(&stamp).expect("writes");
        assert_eq!(serde_json::from_str::<Stamp>(&text).expect("reads"), stamp);
        assert_eq!(
            serde_json::from_str::<Stamp>(r#"{"size":9}"#)
                .expect("reads")
                .modified,
            Modified::default()
        );
    }
}
