//! Iterates over values in Thrift's compact protocol, the encoding of Parquet footers and page headers, without building them:
//! lengths and counts are checked against the available bytes before a decoder allocates memory for them. Never panics.

/// Maximum nesting of structs; Parquet's own is five.
const NESTING: u8 = 24;

/// Type codes of the protocol.
pub(super) mod kind {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
}

/// A cursor in the bytes of a struct. Every step returns `None` at the end of the bytes or on invalid data.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of elements of lists, sets and maps so far, for which a decoder would reserve memory.
    pub elements: u64,
}

impl<'a> Walk<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, elements: 0 }
    }

    /// Offset of the cursor.
    pub fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads an integer of any width.
    pub fn integer(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn advance(&mut self, length: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= self.bytes.len())?;
        self.at = end;
        Some(())
    }

    /// Reads a list header: type code and number of elements, which must not exceed the remaining bytes.
    pub fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        self.elements = self.elements.saturating_add(count);
        (count <= (self.bytes.len() - self.at) as u64).then_some((head & 0x0F, count))
    }

    /// Iterates over the fields of a struct. `each` gets field number and type code, and returns true when it consumed the value,
    /// false to skip it, `None` to stop.
    pub fn fields(&mut self, each: &mut dyn FnMut(&mut Self, i64, u8) -> Option<bool>) -> Option<()> {
        self.struct_of(NESTING, each)
    }

    fn struct_of(&mut self, nesting: u8, each: &mut dyn FnMut(&mut Self, i64, u8) -> Option<bool>) -> Option<()> {
        let nesting = nesting.checked_sub(1)?;
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = if head >> 4 == 0 { self.integer()? } else { number + i64::from(head >> 4) };
            // The decoder keeps 16 bits of a number: with more it would be another field.
            if !(0..=i64::from(i16::MAX)).contains(&number) {
                return None;
            }
            let kind = head & 0x0F;
            if !each(self, number, kind)? {
                self.skip_within(kind, nesting)?;
            }
        }
    }

    /// Skips a value of this type.
    fn skip_within(&mut self, kind: u8, nesting: u8) -> Option<()> {
        match kind {
            // The value of a boolean field is its type code.
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.advance(1),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(|_| ()),
            kind::DOUBLE => self.advance(8),
            kind::BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            kind::LIST | kind::SET => {
                let nesting = nesting.checked_sub(1)?;
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.element(kind, nesting))
            }
            kind::MAP => {
                let nesting = nesting.checked_sub(1)?;
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                self.elements = self.elements.saturating_add(count);
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.element(kinds >> 4, nesting)?;
                    self.element(kinds & 0x0F, nesting)
                })
            }
            kind::STRUCT => self.struct_of(nesting, &mut |_, _, _| Some(false)),
            _ => None,
        }
    }

    /// In a list, a boolean takes one byte.
    fn element(&mut self, kind: u8, nesting: u8) -> Option<()> {
        if matches!(kind, kind::TRUE | kind::FALSE) { self.advance(1) } else { self.skip_within(kind, nesting) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_walked_and_lengths_are_held_against_the_bytes() {
        // 1: i32 = 5, 3: "ab", 4: list of two i64, stop.
        let bytes = [0x15, 10, 0x28, 2, b'a', b'b', 0x19, 0x26, 2, 4, 0];
        let mut walk = Walk::new(&bytes);
        let mut found = Vec::new();
        let walked = walk.fields(&mut |walk, number, kind| {
            found.push((number, kind));
            if number == 1 {
                found.push((walk.integer()?, 0));
                return Some(true);
            }
            Some(false)
        });
        assert_eq!((walked, walk.position(), walk.elements), (Some(()), bytes.len(), 2));
        assert_eq!(found, [(1, kind::I32), (5, 0), (3, kind::BINARY), (4, kind::LIST)]);
        for cut in 0..bytes.len() {
            assert_eq!(Walk::new(&bytes[..cut]).skip(kind::STRUCT), None, "cut at {cut}");
        }
    }

    #[test]
    fn claims_beyond_the_bytes_and_endless_nesting_are_damage() {
        // A list of 2^28 structs, and a string of as many bytes, claimed in a handful of bytes.
        let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(Walk::new(&[&[0x19, 0xFC], &huge[..], &[0]].concat()).skip(kind::STRUCT), None);
        assert_eq!(Walk::new(&[&[0x18], &huge[..], &[0]].concat()).skip(kind::STRUCT), None);
        assert_eq!(Walk::new(&[0x1C; 100_000]).skip(kind::STRUCT), None);
        assert_eq!(Walk::new(&[0x19; 100_000]).skip(kind::STRUCT), None);
    }
}
