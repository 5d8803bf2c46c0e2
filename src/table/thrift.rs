//! Iterates over values in Thrift's compact protocol, the encoding of Parquet footers and page
//! headers, without building them: types, lengths and counts are checked against the available
//! bytes before a decoder allocates memory for them. Never panics.

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

/// The type of a value as a format states it.
pub(super) enum ThriftType {
    /// A number or a string with this type code.
    Scalar(u8),
    Boolean,
    List(&'static ThriftType),
    /// Field numbers and types. Fields with other numbers may have any type.
    Struct(&'static [(i64, ThriftType)]),
}

impl ThriftType {
    /// True when a value with this type code may have this shape.
    fn has_code(&self, code: u8) -> bool {
        match self {
            Self::Scalar(own) => code == *own,
            Self::Boolean => matches!(code, kind::TRUE | kind::FALSE),
            Self::List(_) => code == kind::LIST,
            Self::Struct(_) => code == kind::STRUCT,
        }
    }
}

/// A cursor in the bytes of a struct. Every step returns `None` at the end of the bytes or on
/// invalid data.
pub(super) struct ThriftCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of elements of lists, sets and maps so far, for which a decoder would reserve memory.
    pub elements: u64,
}

impl<'a> ThriftCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            elements: 0,
        }
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
        let end = self
            .at
            .checked_add(usize::try_from(length).ok()?)
            .filter(|end| *end <= self.bytes.len())?;
        self.at = end;
        Some(())
    }

    /// Reads a list header: type code and number of elements, which must not exceed the remaining
    /// bytes.
    pub fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 {
            self.varint()?
        } else {
            u64::from(head >> 4)
        };
        self.elements = self.elements.saturating_add(count);
        (count <= (self.bytes.len() - self.at) as u64).then_some((head & 0x0F, count))
    }

    /// Iterates over the fields of a struct. `each` gets field number and type code, and returns
    /// true when it consumed the value, false to skip it, `None` to stop.
    pub fn fields(
        &mut self,
        each: &mut dyn FnMut(&mut Self, i64, u8) -> Option<bool>,
    ) -> Option<()> {
        self.struct_of(NESTING, each)
    }

    /// Skips the value of a field or of a list's element with this type code, which must have this
    /// shape in all its parts.
    fn skip_shaped(&mut self, code: u8, shape: &ThriftType, nesting: u8) -> Option<()> {
        if !shape.has_code(code) {
            return None;
        }
        match shape {
            ThriftType::Scalar(_) | ThriftType::Boolean => self.skip_within(code, nesting),
            ThriftType::List(of) => {
                let nesting = nesting.checked_sub(1)?;
                let (code, count) = self.list()?;
                (0..count).try_for_each(|_| match of {
                    ThriftType::Boolean if of.has_code(code) => self.element(code, nesting),
                    _ => self.skip_shaped(code, of, nesting),
                })
            }
            ThriftType::Struct(fields) => {
                self.struct_of(nesting, &mut |walk, number, code| match fields
                    .iter()
                    .find(|(own, _)| *own == number)
                {
                    Some((_, shape)) => walk
                        .skip_shaped(code, shape, nesting.checked_sub(1)?)
                        .map(|()| true),
                    None => Some(false),
                })
            }
        }
    }

    /// Skips a struct with this shape.
    pub fn skip(&mut self, shape: &ThriftType) -> Option<()> {
        self.skip_shaped(kind::STRUCT, shape, NESTING)
    }

    /// Copies a struct to `out` without the fields that `known` lacks or states with another type.
    fn copy_struct(
        &mut self,
        known: &[(i64, ThriftType)],
        nesting: u8,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mut written = 0i64;
        let nesting_inside = nesting.checked_sub(1)?;
        self.struct_of(nesting, &mut |walk, number, code| {
            let Some((_, shape)) = known
                .iter()
                .find(|(own, shape)| *own == number && shape.has_code(code))
            else {
                return Some(false);
            };
            match u8::try_from(number - written) {
                Ok(step @ 1..=15) => out.push(step << 4 | code),
                _ => {
                    out.push(code);
                    push_integer(number, out);
                }
            }
            written = number;
            walk.copy(code, shape, nesting_inside, out)?;
            Some(true)
        })?;
        out.push(0);
        Some(())
    }

    /// Copies the value of a field or of a list's element, which has the code of this shape.
    fn copy(&mut self, code: u8, shape: &ThriftType, nesting: u8, out: &mut Vec<u8>) -> Option<()> {
        let start = self.at;
        match shape {
            ThriftType::Scalar(_) | ThriftType::Boolean => self.skip_within(code, nesting)?,
            ThriftType::Struct(known) => return self.copy_struct(known, nesting, out),
            ThriftType::List(of) => {
                let nesting = nesting.checked_sub(1)?;
                let (code, count) = self.list()?;
                out.extend_from_slice(self.bytes.get(start..self.at)?);
                return (0..count).try_for_each(|_| {
                    let start = self.at;
                    match of {
                        _ if !of.has_code(code) => return None,
                        ThriftType::Boolean => self.element(code, nesting)?,
                        _ => return self.copy(code, of, nesting, out),
                    }
                    out.extend_from_slice(self.bytes.get(start..self.at)?);
                    Some(())
                });
            }
        }
        out.extend_from_slice(self.bytes.get(start..self.at)?);
        Some(())
    }

    fn struct_of(
        &mut self,
        nesting: u8,
        each: &mut dyn FnMut(&mut Self, i64, u8) -> Option<bool>,
    ) -> Option<()> {
        let nesting = nesting.checked_sub(1)?;
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = if head >> 4 == 0 {
                self.integer()?
            } else {
                number + i64::from(head >> 4)
            };
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
        if matches!(kind, kind::TRUE | kind::FALSE) {
            self.advance(1)
        } else {
            self.skip_within(kind, nesting)
        }
    }
}

/// The struct with the fields of this shape alone: fields of other types are left out, as the
/// readers that Thrift generates skip them. `None` for damaged bytes, and for lists with elements
/// of another type.
pub(super) fn with_stated_types(bytes: &[u8], shape: &ThriftType) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(bytes.len());
    ThriftCursor::new(bytes).copy(kind::STRUCT, shape, NESTING, &mut kept)?;
    Some(kept)
}

/// Appends a number in zigzag encoding.
fn push_integer(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct without known fields.
    const ANY: ThriftType = ThriftType::Struct(&[]);

    #[test]
    fn known_fields_have_the_type_of_their_shape_at_every_depth() {
        const BINARY: ThriftType = ThriftType::Scalar(kind::BINARY);
        const FLAGS: ThriftType = ThriftType::Struct(&[(1, ThriftType::Boolean), (2, BINARY)]);
        const SHAPE: ThriftType = ThriftType::Struct(&[
            (1, ThriftType::List(&FLAGS)),
            (2, ThriftType::List(&ThriftType::Boolean)),
            (4, BINARY),
        ]);
        let skips = |bytes: &[u8]| {
            let mut walk = ThriftCursor::new(bytes);
            walk.skip(&SHAPE)
                .is_some_and(|()| walk.position() == bytes.len())
        };
        // 1: two structs, [{1: true}, {1: false, 2: "a"}]; 2: two booleans; 3, unknown: i32; 4:
        // "b".
        assert!(skips(&[
            0x19, 0x2C, 0x11, 0, 0x12, 0x18, 1, b'a', 0, 0x19, 0x21, 1, 0, 0x15, 2, 0x18, 1, b'b',
            0
        ]));
        // Empty lists, one with the element type 0 that some writers store.
        assert!(skips(&[0x19, 0x0C, 0x19, 0x00, 0]));
        // Another type in a struct of a list, of a list's elements, of a list and of a string.
        for wrong in [
            &[0x19, 0x1C, 0x15, 2, 0, 0][..],
            &[0x19, 0x1C, 0x11, 0x19, 0x05, 0, 0],
            &[0x19, 0x15, 2, 0],
            &[0x29, 0x15, 2, 0],
            &[0x15, 2, 0],
            &[0x45, 2, 0],
        ] {
            assert!(!skips(wrong), "{wrong:02x?}");
        }
    }

    #[test]
    fn fields_of_another_type_are_left_out_and_the_others_keep_number_and_value() {
        const BINARY: ThriftType = ThriftType::Scalar(kind::BINARY);
        const INNER: ThriftType = ThriftType::Struct(&[(1, ThriftType::Boolean), (2, BINARY)]);
        const SHAPE: ThriftType = ThriftType::Struct(&[
            (1, ThriftType::List(&INNER)),
            (15, ThriftType::Scalar(kind::I32)),
            (16, BINARY),
            (40, BINARY),
        ]);
        // In the structure of the list, field 2 is a number where a text is stated; field 15 is a
        // list where a number is stated; field 17 is unknown.
        let bytes = [
            &[0x19, 0x1C, 0x11, 0x15, 4, 0][..],
            &[0xE9, 0x1C, 0x15, 2, 0x1C, 0x15, 2, 0, 0],
            &[0x18, 1, b'b', 0x15, 2, 0x08, 80, 1, b'c', 0],
        ]
        .concat();
        assert!(ThriftCursor::new(&bytes).skip(&SHAPE).is_none());
        let kept = with_stated_types(&bytes, &SHAPE).expect("can be read");
        assert_eq!(
            kept,
            [0x19, 0x1C, 0x11, 0, 0xF8, 1, b'b', 0x08, 80, 1, b'c', 0]
        );
        assert!(ThriftCursor::new(&kept).skip(&SHAPE).is_some());
        assert_eq!(
            with_stated_types(&bytes[..bytes.len() - 2], &SHAPE),
            None,
            "cut"
        );
        assert_eq!(
            with_stated_types(&[0x19, 0x15, 2, 0], &SHAPE),
            None,
            "a list of numbers for one of structs"
        );
    }

    #[test]
    fn fields_are_walked_and_lengths_are_held_against_the_bytes() {
        // 1: i32 = 5, 3: "ab", 4: list of two i64, stop.
        let bytes = [0x15, 10, 0x28, 2, b'a', b'b', 0x19, 0x26, 2, 4, 0];
        let mut walk = ThriftCursor::new(&bytes);
        let mut found = Vec::new();
        let walked = walk.fields(&mut |walk, number, kind| {
            found.push((number, kind));
            if number == 1 {
                found.push((walk.integer()?, 0));
                return Some(true);
            }
            Some(false)
        });
        assert_eq!(
            (walked, walk.position(), walk.elements),
            (Some(()), bytes.len(), 2)
        );
        assert_eq!(
            found,
            [(1, kind::I32), (5, 0), (3, kind::BINARY), (4, kind::LIST)]
        );
        for cut in 0..bytes.len() {
            assert_eq!(
                ThriftCursor::new(&bytes[..cut]).skip(&ANY),
                None,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn claims_beyond_the_bytes_and_endless_nesting_are_damage() {
        // A list of 2^28 structs, and a string of as many bytes, claimed in a handful of bytes.
        let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(
            ThriftCursor::new(&[&[0x19, 0xFC], &huge[..], &[0]].concat()).skip(&ANY),
            None
        );
        assert_eq!(
            ThriftCursor::new(&[&[0x18], &huge[..], &[0]].concat()).skip(&ANY),
            None
        );
        assert_eq!(ThriftCursor::new(&[0x1C; 100_000]).skip(&ANY), None);
        assert_eq!(ThriftCursor::new(&[0x19; 100_000]).skip(&ANY), None);
    }
}
