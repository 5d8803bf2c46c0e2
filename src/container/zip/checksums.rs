//! Looks up the CRC-32 that an archive stores for a byte range. Reads no sample data.

use crate::container::ByteSource;
use crate::error::{Result, separate_transient_error};
use crate::zip_format::{CentralDirectory, LocalHeader, is_written_extra};

/// Size of a local header in bytes, without name and extra field.
const FIXED_HEADER_BYTES: u64 = 30;
/// Numbers of bytes before the data that are searched for the local header: first the smaller, then
/// the larger.
const SEARCHED_BYTES: [u64; 2] = [512, 16 << 10];

/// One stored (uncompressed) member.
struct StoredMember {
    /// Offset of the local header.
    header: u64,
    size: u64,
    /// Length of the name in bytes.
    name_length: u32,
    crc: u32,
}

/// Offset, size and CRC-32 of every stored member, from the central directory.
pub struct Checksums {
    /// Sorted by offset; members at one offset keep directory order.
    members: Vec<StoredMember>,
    /// As [`CentralDirectory::digest`].
    pub digest: u32,
}

impl Checksums {
    /// Those of the stored members of an archive.
    ///
    /// # Errors
    /// As [`CentralDirectory::for_each`].
    pub fn read(file: &ByteSource) -> Result<Self> {
        let mut members: Vec<StoredMember> = Vec::new();
        let version = CentralDirectory::for_each(file, &mut |entry| {
            if entry.method == 0 && entry.flags & 1 == 0 {
                members.push(StoredMember {
                    header: entry.local,
                    size: entry.size,
                    name_length: entry.name.len() as u32,
                    crc: entry.crc,
                });
            }
        })?;
        members.shrink_to_fit();
        if !members.is_sorted_by_key(|member| member.header) {
            members.sort_by_key(|member| member.header);
        }
        Ok(Self {
            members,
            digest: version.digest,
        })
    }

    /// Number of members.
    pub fn count_members(&self) -> usize {
        self.members.len()
    }

    /// The CRC-32 of the member whose data is exactly this byte range; `None` when there is none.
    ///
    /// # Errors
    /// When a needed local header cannot be read for now (a failed request or a cancelled job).
    pub fn stored_crc(&self, file: &ByteSource, offset: u64, size: u64) -> Result<Option<u32>> {
        let end = self
            .members
            .partition_point(|member| member.header < offset);
        let Some(header) = end
            .checked_sub(1)
            .and_then(|last| self.members.get(last))
            .map(|last| last.header)
        else {
            return Ok(None);
        };
        let first = self
            .members
            .partition_point(|member| member.header < header);
        for member in self.members[first..end]
            .iter()
            .filter(|member| member.size == size)
        {
            let name_end =
                header.saturating_add(FIXED_HEADER_BYTES + u64::from(member.name_length));
            let extra = offset.checked_sub(name_end);
            // With the extra fields of other tools only the local header gives the data's offset.
            if extra.is_some_and(|extra| is_written_extra(name_end, extra, size))
                || separate_transient_error(LocalHeader::read(file, header))?
                    .is_ok_and(|found| found.data == offset)
            {
                return Ok(Some(member.crc));
            }
        }
        Ok(None)
    }
}

/// The CRC-32 in the local header before the data; `None` when there is no such header, or it
/// defers the value to a data descriptor.
///
/// # Errors
/// When the header cannot be read for now (a failed request or a cancelled job).
pub fn crc_in_header_before(file: &ByteSource, offset: u64, size: u64) -> Result<Option<u32>> {
    for room in SEARCHED_BYTES {
        let start = offset.saturating_sub(room);
        let Ok(bytes) = separate_transient_error(file.read(start, offset - start))? else {
            continue;
        };
        let Some(last) = bytes.len().checked_sub(FIXED_HEADER_BYTES as usize) else {
            continue;
        };
        for at in (0..=last)
            .rev()
            .filter(|&at| bytes[at..].starts_with(b"PK\x03\x04"))
        {
            let Ok(header) = separate_transient_error(LocalHeader::read(file, start + at as u64))?
            else {
                continue;
            };
            let has_size = header.size == u32::MAX || u64::from(header.size) == size;
            if header.data == offset && has_size && header.flags & 8 == 0 {
                return Ok(Some(header.crc));
            }
        }
    }
    Ok(None)
}

/// Bytes before a member's data that contain its local header in most archives.
pub const HEADER_ROOM: u64 = SEARCHED_BYTES[0];

/// True when the file begins with a local header.
///
/// # Errors
/// When it cannot be read for now (a failed request or a cancelled job).
pub fn is_archive(file: &ByteSource) -> Result<bool> {
    Ok(file.size_bytes() >= FIXED_HEADER_BYTES
        && separate_transient_error(file.read(0, 4))?
            .is_ok_and(|start| start[..] == *b"PK\x03\x04"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn directory_and_local_headers_state_the_same_checksums() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden");
        for name in [
            "01_flat_zip/flat.tacozip",
            "60_v3_zip/change.zip",
            "05_nested3_zip/stack.tacozip",
        ] {
            let file = ByteSource::open(&golden.join(name)).expect("opens");
            assert!(is_archive(&file).expect("reads"));
            let directory = CentralDirectory::read(&file).expect("reads");
            let checksums = Checksums::read(&file).expect("reads");
            for entry in &directory.entries {
                let data = LocalHeader::read(&file, entry.local).expect("reads").data;
                let name = &entry.name;
                assert_eq!(
                    checksums
                        .stored_crc(&file, data, entry.size)
                        .expect("reads"),
                    Some(entry.crc),
                    "{name}"
                );
                assert_eq!(
                    crc_in_header_before(&file, data, entry.size).expect("reads"),
                    Some(entry.crc),
                    "{name}"
                );
                assert_eq!(
                    checksums
                        .stored_crc(&file, data + 1, entry.size)
                        .expect("reads"),
                    None,
                    "{name}"
                );
                assert_eq!(
                    checksums
                        .stored_crc(&file, data, entry.size + 1)
                        .expect("reads"),
                    None,
                    "{name}"
                );
                assert_eq!(
                    crc_in_header_before(&file, data, entry.size + 1).expect("reads"),
                    None,
                    "{name}"
                );
            }
        }
    }
}
