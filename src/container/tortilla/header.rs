//! The 200-byte header of a TORTILLA 0.5 or TACO 0.2 file, and those of the first releases: parsed
//! and serialized. Reads nothing beyond it.

use std::ops::Range;

use crate::container::fixed_bytes::read_fixed_bytes;
use crate::error::{Error, Result};

/// Length of the header in bytes, and the offset of the first sample.
pub const HEADER_SIZE: u64 = 200;
pub const TORTILLA_MAGIC: [u8; 2] = *b"#y";
pub const TACO_MAGIC: [u8; 2] = *b"WX";

/// Length of the header in bytes in files of pytortilla before 0.1.
const SHORT_SIZE: u64 = 50;
/// The format of all samples in headers of pytortilla before 0.3. From 0.1 the number of parts
/// follows.
const FORMAT: Range<usize> = 18..42;
/// The same before 0.1.
const FORMAT_OF_SHORT: Range<usize> = 18..50;
/// Offset and length of COLLECTION in files of tacotoolbox 0.2, whose magic was that of a TORTILLA
/// up to 0.2.2.
const EARLY_COLLECTION: [usize; 2] = [50, 58];

/// The format of all samples, which pytortilla before 0.3 wrote to the header of a TORTILLA: a name
/// of a driver filled up with blanks. Later headers have the number of parts in the first 8 of
/// these bytes; the others are zero.
pub fn stated_format(bytes: &[u8]) -> Option<&str> {
    text_in(bytes, FORMAT)
}

/// The text of a field that blanks fill up.
fn text_in(bytes: &[u8], field: Range<usize>) -> Option<&str> {
    let text = std::str::from_utf8(bytes.get(field)?).ok()?;
    let is_text = text
        .chars()
        .all(|letter| letter.is_ascii_graphic() || letter == ' ');
    let text = text.trim_end();
    (is_text && !text.is_empty()).then_some(text)
}

/// Header fields. Offsets are in bytes from the beginning of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TortillaHeader {
    /// Offset and length of the Parquet footer.
    pub footer: (u64, u64),
    /// Number of parts that the dataset is split into.
    pub partitions: u64,
    /// Offset and length of COLLECTION; only in a TACO.
    pub collection: Option<(u64, u64)>,
    /// The first byte behind the header: 200, or 50 in files of pytortilla before 0.1.
    pub end: u64,
}

impl TortillaHeader {
    /// Parses the header from the first bytes of a file.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the bytes are too short or the magic
    /// number is unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let number = |at: usize| read_header_number(bytes, at);
        let taco = match bytes.get(..2) {
            Some(magic) if magic == TORTILLA_MAGIC => false,
            Some(magic) if magic == TACO_MAGIC => true,
            _ => {
                return Err(Error::format(
                    "the header begins with neither #y (TORTILLA) nor WX (TACO)",
                ));
            }
        };
        if !taco && text_in(bytes, FORMAT_OF_SHORT).is_some() {
            return Ok(Self {
                footer: (number(2)?, number(10)?),
                partitions: 1,
                collection: None,
                end: SHORT_SIZE,
            });
        }
        if (bytes.len() as u64) < HEADER_SIZE {
            return Err(Error::format(format!(
                "the file ends within its header of {HEADER_SIZE} bytes"
            )));
        }
        let has_format = stated_format(bytes).is_some();
        let partitions = if has_format {
            number(FORMAT.end)?
        } else {
            number(FORMAT.start)?
        };
        let is_zero = |field: Range<usize>| bytes[field].iter().all(|&byte| byte == 0);
        let is_early = (has_format || is_zero(26..50))
            && is_zero(66..HEADER_SIZE as usize)
            && !is_zero(50..66);
        let collection = match (taco, is_early) {
            (_, true) => Some((number(EARLY_COLLECTION[0])?, number(EARLY_COLLECTION[1])?)),
            (true, false) => Some((number(26)?, number(34)?)),
            (false, false) => None,
        };
        Ok(Self {
            footer: (number(2)?, number(10)?),
            partitions,
            collection,
            end: HEADER_SIZE,
        })
    }

    /// True when today's writers don't lay the header `bytes` out like this, so that it can't be
    /// changed in place.
    pub fn is_early(&self, bytes: &[u8]) -> bool {
        stated_format(bytes).is_some()
            || bytes.get(..HEADER_SIZE as usize) != Some(&self.to_bytes())
    }

    /// True for a TACO.
    pub fn is_taco(&self) -> bool {
        self.collection.is_some()
    }

    /// Serializes the header; reserved bytes are zero.
    pub fn to_bytes(&self) -> [u8; HEADER_SIZE as usize] {
        let mut bytes = [0; HEADER_SIZE as usize];
        bytes[..2].copy_from_slice(if self.is_taco() {
            &TACO_MAGIC
        } else {
            &TORTILLA_MAGIC
        });
        let (offset, length) = self.collection.unwrap_or_default();
        for (field, at) in [
            self.footer.0,
            self.footer.1,
            self.partitions,
            offset,
            length,
        ]
        .into_iter()
        .zip([2, 10, 18, 26, 34])
        {
            bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// The first inconsistency of the header of a file of `size` bytes: footer and COLLECTION must
    /// are inside the file, after the header, without overlap.
    pub fn fault(&self, size: u64) -> Option<String> {
        let inside = |(offset, length): (u64, u64)| {
            offset.checked_add(length).is_some_and(|end| end <= size)
        };
        let place = |(offset, length): (u64, u64)| format!("{length} bytes at {offset}");
        if !inside(self.footer) || self.footer.0 < self.end || self.footer.1 == 0 {
            return Some(format!(
                "the header places the footer at {}, which is not inside the {size} bytes",
                place(self.footer)
            ));
        }
        if let Some(collection) = self.collection {
            if !inside(collection) || collection.0 < HEADER_SIZE {
                let place = place(collection);
                return Some(format!(
                    "the header places COLLECTION at {place}, which is not inside the {size} bytes"
                ));
            }
            let apart = collection.0 >= self.footer.0 + self.footer.1
                || collection.0 + collection.1 <= self.footer.0;
            if !apart {
                return Some(format!(
                    "footer ({}) and COLLECTION ({}) overlap",
                    place(self.footer),
                    place(collection)
                ));
            }
        }
        None
    }
}

fn read_header_number(bytes: &[u8], at: usize) -> Result<u64> {
    let field = read_fixed_bytes(bytes, at).map(u64::from_le_bytes);
    field.ok_or_else(|| {
        Error::format(format!(
            "the file ends within its header of {HEADER_SIZE} bytes"
        ))
    })
}

/// Extensions in names of parts. pytortilla 0.3.2 wrote two dots.
pub(super) const PART_ENDINGS: [&str; 4] = ["tortilla", "taco", ".tortilla", ".taco"];

/// Splits the name of a part, `name.0003.part.tortilla`, into stem, number and extension, which
/// begins with a second dot if there is one. `None` for any other name.
pub fn part_name(name: &str) -> Option<(&str, u32, &str)> {
    let (rest, ending) = name
        .rsplit_once(".part.")
        .filter(|(_, ending)| PART_ENDINGS.contains(ending))?;
    let (stem, digits) = rest.rsplit_once('.')?;
    let plain = digits.len() >= 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    Some((stem, digits.parse().ok().filter(|_| plain)?, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_read_back() {
        let header = TortillaHeader {
            footer: (5000, 700),
            partitions: 3,
            collection: Some((5700, 20)),
            end: HEADER_SIZE,
        };
        let bytes = header.to_bytes();
        assert_eq!(TortillaHeader::parse(&bytes).expect("reads"), header);
        assert_eq!(&bytes[..2], b"WX");
        assert!(bytes[42..].iter().all(|&byte| byte == 0));
        let plain = TortillaHeader {
            collection: None,
            ..header
        };
        assert_eq!(
            TortillaHeader::parse(&plain.to_bytes()).expect("reads"),
            plain
        );
        assert!(
            TortillaHeader::parse(&bytes[..150]).is_err() && TortillaHeader::parse(b"PK").is_err()
        );
    }

    #[test]
    fn the_format_of_old_headers_is_not_a_number_of_parts() {
        let header = TortillaHeader {
            footer: (5000, 700),
            partitions: 65,
            collection: None,
            end: HEADER_SIZE,
        };
        assert_eq!(stated_format(&header.to_bytes()), None);
        let letters = TortillaHeader {
            partitions: u64::from_le_bytes(*b"GTiff   "),
            ..header
        };
        assert_eq!(
            TortillaHeader::parse(&letters.to_bytes()).expect("reads"),
            letters
        );
        let mut bytes = header.to_bytes();
        bytes[18..42].fill(b' ');
        bytes[18..23].copy_from_slice(b"GTiff");
        bytes[42..50].copy_from_slice(&3u64.to_le_bytes());
        assert_eq!(stated_format(&bytes), Some("GTiff"));
        assert_eq!(TortillaHeader::parse(&bytes).expect("reads").partitions, 3);
        // The same with a collection, by tacotoolbox 0.2.0 (#y) and 0.2.5 (WX).
        bytes[50..58].copy_from_slice(&5700u64.to_le_bytes());
        bytes[58..66].copy_from_slice(&20u64.to_le_bytes());
        for magic in [TORTILLA_MAGIC, TACO_MAGIC] {
            bytes[..2].copy_from_slice(&magic);
            let read = TortillaHeader::parse(&bytes).expect("reads");
            assert!(
                read.collection == Some((5700, 20))
                    && read.partitions == 3
                    && read.is_early(&bytes),
                "{read:?}"
            );
        }
        assert!(!header.is_early(&header.to_bytes()));
    }

    #[test]
    fn headers_of_50_bytes_have_a_format_and_no_parts() {
        let mut bytes = TortillaHeader {
            footer: (100, 20),
            partitions: 0,
            collection: None,
            end: HEADER_SIZE,
        }
        .to_bytes()[..120]
            .to_vec();
        bytes[FORMAT_OF_SHORT].fill(b' ');
        bytes[18..23].copy_from_slice(b"GTiff");
        let header = TortillaHeader::parse(&bytes).expect("reads");
        assert_eq!(
            (header.end, header.partitions, header.fault(120)),
            (50, 1, None)
        );
        assert_eq!(stated_format(&bytes), Some("GTiff"));
    }

    #[test]
    fn places_outside_the_file_are_faults() {
        let good = TortillaHeader {
            footer: (300, 50),
            partitions: 1,
            collection: Some((350, 10)),
            end: HEADER_SIZE,
        };
        assert_eq!(good.fault(360), None);
        for (bad, size) in [
            (good, 359),
            (
                TortillaHeader {
                    footer: (100, 50),
                    ..good
                },
                360,
            ),
            (
                TortillaHeader {
                    footer: (u64::MAX, 50),
                    ..good
                },
                360,
            ),
            (
                TortillaHeader {
                    collection: Some((340, 10)),
                    ..good
                },
                360,
            ),
            (
                TortillaHeader {
                    collection: Some((350, u64::MAX)),
                    ..good
                },
                360,
            ),
        ] {
            assert!(bad.fault(size).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn parts_have_their_number_in_their_name() {
        assert_eq!(
            part_name("a.b.0003.part.tortilla"),
            Some(("a.b", 3, "tortilla"))
        );
        assert_eq!(part_name("x.0000.part.taco"), Some(("x", 0, "taco")));
        assert_eq!(
            part_name("x.0000.part..tortilla"),
            Some(("x", 0, ".tortilla"))
        );
        for other in [
            "x.tortilla",
            "x.03.part.taco",
            "x.0003.taco",
            "0003.part.taco",
            "x.000a.part.tortilla",
        ] {
            assert_eq!(part_name(other), None, "{other}");
        }
    }
}
