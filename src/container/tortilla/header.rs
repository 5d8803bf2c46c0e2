//! The 200-byte header of a TORTILLA 0.5 or TACO 0.2 file: parsed and serialized. Reads nothing beyond it.

use crate::error::{Error, Result};

/// Length of the header in bytes, and the offset of the first sample.
pub const HEADER_SIZE: u64 = 200;
/// Magic of a TORTILLA.
pub const TORTILLA_MAGIC: [u8; 2] = *b"#y";
/// Magic of a TACO.
pub const TACO_MAGIC: [u8; 2] = *b"WX";

/// End of the format in headers of pytortilla 0.1 and 0.2; the number of parts follows.
const FORMAT_END: usize = 42;

/// The format of all samples, which pytortilla 0.1 and 0.2 wrote to the bytes 18 to 42 of the header of a TORTILLA: a name of a driver
/// filled up with blanks. Later headers have the number of parts in the first 8 of these bytes; the others are zero.
pub fn stated_format(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes.get(18..FORMAT_END)?).ok()?;
    let is_text = text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
    let name = text.trim_end();
    (bytes.starts_with(&TORTILLA_MAGIC) && is_text && !name.is_empty()).then_some(name)
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
}

impl TortillaHeader {
    /// Parses the header from the first bytes of a file.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when the bytes are too short or the magic number is unknown.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let number = |at: usize| {
            let field = bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map(u64::from_le_bytes);
            field.ok_or_else(|| Error::format(format!("the file ends within its header of {HEADER_SIZE} bytes")))
        };
        let taco = match bytes.get(..2) {
            Some(magic) if magic == TORTILLA_MAGIC => false,
            Some(magic) if magic == TACO_MAGIC => true,
            _ => return Err(Error::format("the header begins with neither #y (TORTILLA) nor WX (TACO)")),
        };
        if (bytes.len() as u64) < HEADER_SIZE {
            return Err(Error::format(format!("the file ends within its header of {HEADER_SIZE} bytes")));
        }
        let collection = if taco { Some((number(26)?, number(34)?)) } else { None };
        let partitions = if stated_format(bytes).is_some() { number(FORMAT_END)? } else { number(18)? };
        Ok(Self { footer: (number(2)?, number(10)?), partitions, collection })
    }

    /// True for a TACO.
    pub fn is_taco(&self) -> bool {
        self.collection.is_some()
    }

    /// Serializes the header; reserved bytes are zero.
    pub fn to_bytes(&self) -> [u8; HEADER_SIZE as usize] {
        let mut bytes = [0; HEADER_SIZE as usize];
        bytes[..2].copy_from_slice(if self.is_taco() { &TACO_MAGIC } else { &TORTILLA_MAGIC });
        let (offset, length) = self.collection.unwrap_or_default();
        for (field, at) in [self.footer.0, self.footer.1, self.partitions, offset, length].into_iter().zip([2, 10, 18, 26, 34]) {
            bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// The first inconsistency of the header of a file of `size` bytes: footer and COLLECTION must lie inside the file, after the
    /// header, without overlap.
    pub fn fault(&self, size: u64) -> Option<String> {
        let inside = |(offset, length): (u64, u64)| offset.checked_add(length).is_some_and(|end| end <= size);
        let place = |(offset, length): (u64, u64)| format!("{length} bytes at {offset}");
        if !inside(self.footer) || self.footer.0 < HEADER_SIZE || self.footer.1 == 0 {
            return Some(format!("the header places the footer at {}, which is not inside the {size} bytes", place(self.footer)));
        }
        if let Some(collection) = self.collection {
            if !inside(collection) || collection.0 < HEADER_SIZE {
                let place = place(collection);
                return Some(format!("the header places COLLECTION at {place}, which is not inside the {size} bytes"));
            }
            let apart = collection.0 >= self.footer.0 + self.footer.1 || collection.0 + collection.1 <= self.footer.0;
            if !apart {
                return Some(format!("footer ({}) and COLLECTION ({}) overlap", place(self.footer), place(collection)));
            }
        }
        None
    }
}

/// Splits the name of a part, `name.0003.part.tortilla`, into stem, number and extension. `None` for any other name.
pub fn part_name(name: &str) -> Option<(&str, u32, &str)> {
    let (rest, ending) = name.rsplit_once('.').filter(|(_, ending)| matches!(*ending, "tortilla" | "taco"))?;
    let (stem, digits) = rest.strip_suffix(".part")?.rsplit_once('.')?;
    let plain = digits.len() >= 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    Some((stem, digits.parse().ok().filter(|_| plain)?, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_read_back() {
        let header = TortillaHeader { footer: (5000, 700), partitions: 3, collection: Some((5700, 20)) };
        let bytes = header.to_bytes();
        assert_eq!(TortillaHeader::parse(&bytes).expect("reads"), header);
        assert_eq!(&bytes[..2], b"WX");
        assert!(bytes[42..].iter().all(|&byte| byte == 0));
        let plain = TortillaHeader { collection: None, ..header };
        assert_eq!(TortillaHeader::parse(&plain.to_bytes()).expect("reads"), plain);
        assert!(TortillaHeader::parse(&bytes[..150]).is_err() && TortillaHeader::parse(b"PK").is_err());
    }

    #[test]
    fn the_format_of_old_headers_is_not_a_number_of_parts() {
        let header = TortillaHeader { footer: (5000, 700), partitions: 65, collection: None };
        assert_eq!(stated_format(&header.to_bytes()), None);
        let letters = TortillaHeader { partitions: u64::from_le_bytes(*b"GTiff   "), ..header };
        assert_eq!(TortillaHeader::parse(&letters.to_bytes()).expect("reads"), letters);
        let mut bytes = header.to_bytes();
        bytes[18..42].fill(b' ');
        bytes[18..23].copy_from_slice(b"GTiff");
        bytes[42..50].copy_from_slice(&3u64.to_le_bytes());
        assert_eq!(stated_format(&bytes), Some("GTiff"));
        assert_eq!(TortillaHeader::parse(&bytes).expect("reads").partitions, 3);
    }

    #[test]
    fn places_outside_the_file_are_faults() {
        let good = TortillaHeader { footer: (300, 50), partitions: 1, collection: Some((350, 10)) };
        assert_eq!(good.fault(360), None);
        for (bad, size) in [
            (good, 359),
            (TortillaHeader { footer: (100, 50), ..good }, 360),
            (TortillaHeader { footer: (u64::MAX, 50), ..good }, 360),
            (TortillaHeader { collection: Some((340, 10)), ..good }, 360),
            (TortillaHeader { collection: Some((350, u64::MAX)), ..good }, 360),
        ] {
            assert!(bad.fault(size).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn parts_have_their_number_in_their_name() {
        assert_eq!(part_name("a.b.0003.part.tortilla"), Some(("a.b", 3, "tortilla")));
        assert_eq!(part_name("x.0000.part.taco"), Some(("x", 0, "taco")));
        for other in ["x.tortilla", "x.03.part.taco", "x.0003.taco", "0003.part.taco", "x.000a.part.tortilla"] {
            assert_eq!(part_name(other), None, "{other}");
        }
    }
}
