//! Writes ZIP records (APPNOTE 4.3): local headers, central directory, end records. ZIP64 only
//! where needed.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike, Timelike};

/// Value of a 32-bit field whose number is in the ZIP64 extra field.
const FULL32: u64 = 0xFFFF_FFFF;
/// Made by: UNIX, version 6.3.
const MADE_BY: u16 = 0x033F;
/// Version needed: 1.0, stored.
const NEED_PLAIN: u16 = 10;
/// Version needed: 4.5, ZIP64.
const NEED_ZIP64: u16 = 45;
/// Flag bit 11: the name is UTF-8.
const FLAG_UTF8: u16 = 0x0800;
/// Size in bytes of the disk blocks at which the data of aligned members begins. The file systems
/// that share blocks between files (Btrfs, XFS) have blocks of this size.
pub const BLOCK: u64 = 4096;
/// Least size in bytes of data that is aligned: the padding, half a block on average, is at most a
/// sixteenth of it.
pub const ALIGNED_MIN: u64 = 64 << 10;
/// Id of the extra field with the padding of an aligned member, which Android's zipalign writes:
/// the alignment in two bytes, then zeros.
const ALIGNMENT_ID: u16 = 0xD935;
/// Least size of that field in bytes.
const ALIGNMENT_MIN: u64 = 6;
/// Name of the member with the header of a TACO in ZIP (TACO 2.0, section 6.3).
pub const HEADER_NAME: &str = "TACO_HEADER";
/// External attributes: regular file, mode 0644.
const ATTRIBUTES: u32 = 0x81A4_0000;
/// External attributes of TACO_HEADER, as tacozip writes them: mode 0644 without a file type.
const HEADER_ATTRIBUTES: u32 = 0x01A4_0000;

/// A member, as its ZIP records describe it.
#[derive(Clone, Debug)]
pub struct ZipMember {
    /// Path in the archive.
    pub name: Box<str>,
    /// Offset of the local header.
    pub local: u64,
    /// Size of the data in bytes.
    pub size: u64,
    /// Bytes of padding before the data, as [`block_padding`] gives them.
    pub padding: u16,
    /// CRC-32 of the data.
    pub crc: u32,
    /// Modification time.
    pub time: DosTime,
}

/// DOS date (high half) and time (low half), with a resolution of two seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DosTime(pub u32);

impl DosTime {
    /// 1980-01-01, the time of generated members, so that equal input gives equal bytes.
    pub const EPOCH: DosTime = DosTime(0x0021_0000);

    /// A file's modification time in UTC; [`DosTime::EPOCH`] outside the years 1980 to 2107.
    pub fn from_system_time(time: SystemTime) -> Self {
        let seconds = time
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let Some(date) = i64::try_from(seconds)
            .ok()
            .and_then(|s| DateTime::from_timestamp(s, 0))
        else {
            return Self::EPOCH;
        };
        let year = date.year();
        if !(1980..=2107).contains(&year) {
            return Self::EPOCH;
        }
        let day = (((year - 1980) as u32) << 9) | (date.month() << 5) | date.day();
        let clock = (date.hour() << 11) | (date.minute() << 5) | (date.second() / 2);
        DosTime(day << 16 | clock)
    }
}

/// Size in bytes of a member's local header: 30, the name, and 20 for ZIP64 when the data exceeds 4
/// GiB.
pub fn local_header_len(name_len: usize, size: u64) -> u64 {
    30 + name_len as u64 + if size > FULL32 { 20 } else { 0 }
}

/// Bytes of padding between a local header that ends at `end` and data that begins at a multiple of
/// [`BLOCK`].
pub fn block_padding(end: u64) -> u16 {
    let missing = (BLOCK - end % BLOCK) % BLOCK;
    let padding = if missing > 0 && missing < ALIGNMENT_MIN {
        missing + BLOCK
    } else {
        missing
    };
    padding as u16
}

/// True for the lengths in bytes of the extra field of a local header as it is written here, whose
/// name ends at offset `end` and whose data has `size` bytes: none, ZIP64 for more than 4 GiB, and
/// the padding of aligned data.
pub fn is_written_extra(end: u64, extra: u64, size: u64) -> bool {
    [0, 20].into_iter().any(|zip64| {
        let padding = u64::from(block_padding(end.saturating_add(zip64)));
        extra == zip64 || (size >= ALIGNED_MIN && extra == zip64 + padding)
    })
}

impl ZipMember {
    /// Offset of the data.
    pub fn data(&self) -> u64 {
        self.local + local_header_len(self.name.len(), self.size) + u64::from(self.padding)
    }

    fn flags(&self) -> u16 {
        if self.name.is_ascii() { 0 } else { FLAG_UTF8 }
    }

    /// Appends the local header.
    pub fn put_local(&self, out: &mut Vec<u8>) {
        let large = self.size > FULL32;
        out.extend(b"PK\x03\x04");
        put16(out, if large { NEED_ZIP64 } else { NEED_PLAIN });
        put16(out, self.flags());
        put16(out, 0);
        put32(out, self.time.0);
        put32(out, self.crc);
        let size = self.size.min(FULL32) as u32;
        put32(out, size);
        put32(out, size);
        put16(out, self.name.len() as u16);
        put16(out, if large { 20 } else { 0 } + self.padding);
        out.extend(self.name.as_bytes());
        if large {
            put16(out, 1);
            put16(out, 16);
            put64(out, self.size);
            put64(out, self.size);
        }
        if let Some(zeros) = self.padding.checked_sub(ALIGNMENT_MIN as u16) {
            put16(out, ALIGNMENT_ID);
            put16(out, 2 + zeros);
            put16(out, BLOCK as u16);
            out.resize(out.len() + usize::from(zeros), 0);
        }
    }

    /// Appends the central directory entry.
    pub fn put_central(&self, out: &mut Vec<u8>) {
        let large = self.size > FULL32;
        let far = self.local > FULL32;
        let mut extra = Vec::new();
        if large {
            put64(&mut extra, self.size);
            put64(&mut extra, self.size);
        }
        if far {
            put64(&mut extra, self.local);
        }
        out.extend(b"PK\x01\x02");
        put16(out, MADE_BY);
        put16(out, if large || far { NEED_ZIP64 } else { NEED_PLAIN });
        put16(out, self.flags());
        put16(out, 0);
        put32(out, self.time.0);
        put32(out, self.crc);
        let size = self.size.min(FULL32) as u32;
        put32(out, size);
        put32(out, size);
        put16(out, self.name.len() as u16);
        put16(
            out,
            if extra.is_empty() {
                0
            } else {
                4 + extra.len() as u16
            },
        );
        put16(out, 0);
        put16(out, 0);
        put16(out, 0);
        put32(
            out,
            if &*self.name == HEADER_NAME {
                HEADER_ATTRIBUTES
            } else {
                ATTRIBUTES
            },
        );
        put32(out, self.local.min(FULL32) as u32);
        out.extend(self.name.as_bytes());
        if !extra.is_empty() {
            put16(out, 1);
            put16(out, extra.len() as u16);
            out.extend(extra);
        }
    }
}

/// Appends the end of central directory record, preceded by the ZIP64 records when there are more
/// than 65,535 members or the directory's offset exceeds 4 GiB.
pub fn put_end(out: &mut Vec<u8>, members: u64, directory: u64, directory_size: u64) {
    if members > 0xFFFF || directory > FULL32 || directory_size > FULL32 {
        let end64 = directory + directory_size;
        out.extend(b"PK\x06\x06");
        put64(out, 44);
        put16(out, MADE_BY);
        put16(out, NEED_ZIP64);
        put32(out, 0);
        put32(out, 0);
        put64(out, members);
        put64(out, members);
        put64(out, directory_size);
        put64(out, directory);
        out.extend(b"PK\x06\x07");
        put32(out, 0);
        put64(out, end64);
        put32(out, 1);
    }
    out.extend(b"PK\x05\x06");
    put16(out, 0);
    put16(out, 0);
    let count = members.min(0xFFFF) as u16;
    put16(out, count);
    put16(out, count);
    put32(out, directory_size.min(FULL32) as u32);
    put32(out, directory.min(FULL32) as u32);
    put16(out, 0);
}

fn put16(out: &mut Vec<u8>, number: u16) {
    out.extend(number.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn member(size: u64, local: u64) -> ZipMember {
        ZipMember {
            name: "DATA/a.tif".into(),
            local,
            size,
            padding: 0,
            crc: 7,
            time: DosTime::EPOCH,
        }
    }

    #[test]
    fn zip64_exactly_where_needed() {
        let records = |member: &ZipMember| {
            let (mut local, mut central) = (Vec::new(), Vec::new());
            member.put_local(&mut local);
            member.put_central(&mut central);
            (local, central)
        };
        let (local, central) = records(&member(FULL32, FULL32));
        assert_eq!((local.len(), central.len()), (40, 56));
        assert_eq!(local[4..6], [10, 0]);
        let (local, central) = records(&member(FULL32 + 1, 0));
        assert_eq!((local.len(), central.len()), (60, 76));
        assert_eq!(local[18..26], [0xFF; 8]);
        let (local, central) = records(&member(1, FULL32 + 1));
        assert_eq!((local.len(), central.len()), (40, 68));
        assert_eq!(local_header_len(10, FULL32 + 1), 60);
        let end = |members, directory| {
            let mut out = Vec::new();
            put_end(&mut out, members, directory, 100);
            out.len()
        };
        assert_eq!(
            (end(65_535, FULL32), end(65_536, 0), end(1, FULL32 + 1)),
            (22, 98, 98)
        );
    }

    #[test]
    fn the_data_of_an_aligned_member_begins_at_a_block() {
        for (size, local) in (0..2 * BLOCK).flat_map(|at| [(9, at), (FULL32 + 1, at)]) {
            let padding = block_padding(local + local_header_len(10, size));
            let member = ZipMember {
                padding,
                ..member(size, local)
            };
            assert_eq!(member.data() % BLOCK, 0, "{local}");
            let mut header = Vec::new();
            member.put_local(&mut header);
            assert_eq!(header.len() as u64, member.data() - local, "{local}");
            let name_end = local + 40;
            let extra = member.data() - name_end;
            let is_written = |extra, size| is_written_extra(name_end, extra, size);
            assert!(is_written(extra, ALIGNED_MIN), "{local}");
            let is_next_plain = [0, 20].contains(&(extra + 1));
            assert_eq!(is_written(extra + 1, ALIGNED_MIN), is_next_plain, "{local}");
            assert_eq!(is_written(extra, 9), [0, 20].contains(&extra), "{local}");
            // The fields of the extra field fill it.
            let mut rest = &header[40..];
            while let [_, _, low, high, data @ ..] = rest {
                let length = usize::from(u16::from_le_bytes([*low, *high]));
                rest = data.get(length..).expect("is inside");
            }
            assert!(rest.is_empty(), "{local}");
        }
    }

    #[test]
    fn names_outside_ascii_carry_the_flag() {
        let mut out = Vec::new();
        ZipMember {
            name: "DATA/γ.tif".into(),
            ..member(1, 0)
        }
        .put_local(&mut out);
        assert_eq!(out[6..8], [0, 8]);
    }

    #[test]
    fn times_are_in_utc_and_never_fail() {
        assert_eq!(DosTime::from_system_time(UNIX_EPOCH), DosTime::EPOCH);
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000); // 2023-11-14 22:13:20
        assert_eq!(
            DosTime::from_system_time(time).0 >> 16,
            43 << 9 | 11 << 5 | 14
        );
        assert_eq!(
            DosTime::from_system_time(time).0 & 0xFFFF,
            22 << 11 | 13 << 5 | 10
        );
    }
}
