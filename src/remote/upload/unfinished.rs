//! Records of uploads in parts that are not finished, in the user's data folder: by its record a
//! later process finds the upload of one that was killed, and sends the parts that are missing. A
//! record is locked while its upload is running.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::object::Object;
use crate::file_lock::FileLock;
use crate::folders::{data_dir, make_private, open_private};

/// Folder of the records below the data folder.
const FOLDER: &str = "uploads";
/// Version of the format of records; others are ignored.
const VERSION: u32 = 1;
/// Maximum bytes of a record: 10,000 parts with their checksums.
const SIZE_MAX: u64 = 4 << 20;
/// Seconds after which an upload that no process has continued is aborted.
const STALE_AFTER_S: u64 = 7 * 24 * 3600;

/// An unfinished upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unfinished {
    version: u32,
    /// Address of the object, for people who look at the record.
    pub(super) address: String,
    /// URL of the bucket.
    pub(super) bucket: String,
    /// Percent-encoded key of the object.
    pub(super) key: String,
    /// The store's name of the upload.
    pub(super) upload: String,
    /// The store compares the SHA-256 of each part.
    pub(super) sha256: bool,
    /// Size of all parts but the last.
    pub(super) part_bytes: u64,
    /// What the bytes are made from, where the store does not say which bytes it has.
    pub(super) made_from: Option<String>,
    /// Seconds since 1970.
    pub(super) begun_s: u64,
}

/// Bytes that were sent in order, up to this offset, and the MD5 of all bytes before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentUpTo {
    pub(super) end: u64,
    pub(super) md5: String,
}

/// The record of an object's upload, locked for this process.
pub(super) struct UploadRecord {
    file: FileLock,
    path: PathBuf,
}

impl Unfinished {
    pub(super) fn new(
        object: &Object,
        upload: &str,
        sha256: bool,
        part_bytes: u64,
        made_from: Option<String>,
    ) -> Self {
        Self {
            version: VERSION,
            address: object.text.to_string(),
            bucket: object.bucket.url.clone(),
            key: object.key.clone(),
            upload: upload.to_owned(),
            sha256,
            part_bytes,
            made_from,
            begun_s: now_s(),
        }
    }
}

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

fn folder() -> Option<PathBuf> {
    data_dir().map(|data| data.join(FOLDER))
}

impl UploadRecord {
    /// The record of an object; `None` while another process writes the object, or where this
    /// machine has no place for records: then the upload can't be continued.
    pub(super) fn claim(object: &Object) -> Option<Self> {
        let name = Sha256::new()
            .chain_update(&object.bucket.url)
            .chain_update(b"\n")
            .chain_update(&object.key)
            .finalize();
        Self::claim_at(&folder()?, &hex::encode(&name[..16]))
    }

    fn claim_at(folder: &Path, name: &str) -> Option<Self> {
        let claimed = make_private(folder).and_then(|()| {
            let path = folder.join(format!("{name}.json"));
            // A process that ends removes its record between the opening and the locking of
            // another.
            for _ in 0..3 {
                match Self::lock(&path, true)? {
                    Some(record) if path.exists() => return Ok(Some(record)),
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
            Ok(None)
        });
        claimed.unwrap_or_else(|error| {
            tracing::debug!(
                "an upload can't be recorded, so another process can't continue it: {error}"
            );
            None
        })
    }

    fn lock(path: &Path, create: bool) -> std::io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options
            .create(create)
            .truncate(false)
            .read(true)
            .write(true);
        let file = open_private(options, path)?;
        // Without locks, the upload of another process could be taken for an unfinished one.
        let record = FileLock::try_lock(file)?.map(|file| Self {
            file,
            path: path.to_owned(),
        });
        Ok(record)
    }

    /// The upload that an earlier process left, and what it sent where the order counts.
    pub(super) fn read(&mut self) -> Option<(Unfinished, Vec<SentUpTo>)> {
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0)).ok()?;
        (&mut *self.file)
            .take(SIZE_MAX)
            .read_to_string(&mut text)
            .ok()?;
        let mut lines = text.lines();
        let found: Unfinished = serde_json::from_str(lines.next()?).ok()?;
        // A line that was cut when the process was killed belongs to bytes that were not sent.
        let sent = lines
            .map_while(|line| serde_json::from_str(line).ok())
            .collect();
        (found.version == VERSION).then_some((found, sent))
    }

    /// Replaces what the record has.
    pub(super) fn write(&mut self, upload: &Unfinished) {
        let written = line(upload).and_then(|line| {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&line)?;
            self.file.sync_data()
        });
        self.note(written);
    }

    /// Adds what is about to be sent.
    pub(super) fn add(&mut self, sent: &SentUpTo) {
        let written = line(sent).and_then(|line| {
            self.file.seek(SeekFrom::End(0))?;
            self.file.write_all(&line)
        });
        self.note(written);
    }

    fn note(&self, written: std::io::Result<()>) {
        if let Err(error) = written {
            tracing::debug!(
                "{}: another process can't continue this upload: {error}",
                self.path.display()
            );
        }
    }

    /// Removes the record of an upload that is finished or given up.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!("{}: can't be removed: {error}", self.path.display());
        }
    }
}

fn line(value: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Records of uploads to this bucket that no process has continued for a week.
pub(super) fn stale(bucket_url: &str) -> Vec<(UploadRecord, Unfinished)> {
    folder()
        .map(|folder| stale_in(&folder, bucket_url, now_s()))
        .unwrap_or_default()
}

fn stale_in(folder: &Path, bucket_url: &str, now_s: u64) -> Vec<(UploadRecord, Unfinished)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let records = entries.filter_map(|entry| {
        let mut record = UploadRecord::lock(&entry.path(), false).ok().flatten()?;
        let (upload, _) = record.read()?;
        Some((record, upload))
    });
    records
        .filter(|(_, upload)| {
            upload.bucket == bucket_url && upload.begun_s.saturating_add(STALE_AFTER_S) < now_s
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(begun_s: u64) -> Unfinished {
        Unfinished {
            version: VERSION,
            address: "s3://b/k".into(),
            bucket: "https://s3/b".into(),
            key: "k".into(),
            upload: "id".into(),
            sha256: true,
            part_bytes: 8 << 20,
            made_from: None,
            begun_s,
        }
    }

    #[test]
    fn a_record_is_read_by_the_next_process_and_locked_while_one_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut record = UploadRecord::claim_at(folder.path(), "one").expect("is free");
        assert_eq!(record.read(), None);
        record.write(&upload(5));
        let sent = SentUpTo {
            end: 8,
            md5: "ab".into(),
        };
        record.add(&sent);
        assert!(
            UploadRecord::claim_at(folder.path(), "one").is_none(),
            "is locked"
        );
        drop(record);
        let mut record = UploadRecord::claim_at(folder.path(), "one").expect("is free again");
        assert_eq!(record.read(), Some((upload(5), vec![sent.clone()])));
        // A line that was cut.
        record.file.seek(SeekFrom::End(0)).expect("seeks");
        record.file.write_all(b"{\"end\": 1").expect("writes");
        assert_eq!(record.read(), Some((upload(5), vec![sent])));
        record.write(&upload(6));
        assert_eq!(record.read(), Some((upload(6), Vec::new())));
        record.remove();
        assert_eq!(
            UploadRecord::claim_at(folder.path(), "one")
                .expect("is new")
                .read(),
            None
        );
    }

    #[test]
    fn records_that_are_no_json_or_of_another_version_are_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        for text in ["", "{", "[1]", "{\"version\": 1}"] {
            std::fs::write(folder.path().join("one.json"), text).expect("writes");
            assert_eq!(
                UploadRecord::claim_at(folder.path(), "one")
                    .expect("is free")
                    .read(),
                None,
                "{text}"
            );
        }
        let mut record = UploadRecord::claim_at(folder.path(), "one").expect("is free");
        record.write(&Unfinished {
            version: 2,
            ..upload(5)
        });
        assert_eq!(record.read(), None);
    }

    #[test]
    fn uploads_to_the_same_bucket_are_stale_after_a_week() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bucket, begun_s) in [
            ("old", "b", 0),
            ("new", "b", 2),
            ("other", "c", 0),
            ("held", "b", 0),
        ] {
            let mut record = UploadRecord::claim_at(folder.path(), name).expect("is free");
            record.write(&Unfinished {
                bucket: bucket.into(),
                key: name.into(),
                ..upload(begun_s)
            });
        }
        let held = UploadRecord::claim_at(folder.path(), "held").expect("is free");
        let found = stale_in(folder.path(), "b", STALE_AFTER_S + 1);
        assert_eq!(
            found
                .iter()
                .map(|(_, upload)| upload.key.as_str())
                .collect::<Vec<_>>(),
            ["old"]
        );
        drop(held);
    }
}
