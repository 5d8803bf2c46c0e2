//! JSON of other programs as JSON: `null` for the numbers that Python writes and JSON lacks, and no
//! record separators.

use std::io::{BufRead, Read, Result};

/// Words in place of numbers.
const NOT_NUMBERS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
/// Longest of [`NOT_NUMBERS`], in bytes.
const LONGEST: usize = 9;
/// Bytes that are taken at once.
const PIECE: usize = 1 << 16;
/// Begins each document of a sequence (RFC 8142).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Reads JSON with `null` for NaN and infinities, and spaces for record separators.
pub(super) struct JsonReader<R> {
    inner: R,
    /// Bytes that are read and not yet taken, from `taken`.
    ready: Vec<u8>,
    taken: usize,
    /// The word that is being read, outside of strings.
    word: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
}

impl<R: BufRead> JsonReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            ready: Vec::new(),
            taken: 0,
            word: Vec::new(),
            in_string: false,
            is_escaped: false,
        }
    }
}

impl<R> JsonReader<R> {
    fn add_byte(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = byte != b'"' || self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.ready.push(byte);
            return;
        }
        if byte == b'-' {
            self.end_word();
        }
        if (byte == b'-' || byte.is_ascii_alphabetic()) && self.word.len() < LONGEST {
            self.word.push(byte);
            return;
        }
        self.end_word();
        self.in_string = byte == b'"';
        let byte = if byte == RECORD_SEPARATOR { b' ' } else { byte };
        self.ready.push(byte);
    }

    fn end_word(&mut self) {
        if NOT_NUMBERS.contains(&self.word.as_slice()) {
            self.ready.extend_from_slice(b"null");
            self.word.clear();
        } else {
            self.ready.append(&mut self.word);
        }
    }
}

impl<R: BufRead> Read for JsonReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
            let available = self.inner.fill_buf()?;
            let bytes = available[..available.len().min(PIECE)].to_vec();
            if bytes.is_empty() {
                self.end_word();
                if self.ready.is_empty() {
                    return Ok(0);
                }
            }
            self.inner.consume(bytes.len());
            bytes.into_iter().for_each(|byte| self.add_byte(byte));
        }
        let mut left = self.ready.get(self.taken..).unwrap_or_default();
        let count = left.read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// What is read, by pieces of this many bytes.
    fn read_by(text: &str, piece: usize) -> String {
        let mut reader = JsonReader::new(BufReader::with_capacity(piece, text.as_bytes()));
        let mut found = String::new();
        reader.read_to_string(&mut found).expect("reads");
        found
    }

    #[test]
    fn numbers_that_json_lacks_are_null_outside_of_texts() {
        for (text, wanted) in [
            (
                r#"{"a": NaN, "b": [-Infinity,Infinity], "NaN": "NaN, \" NaN"}"#,
                r#"{"a": null, "b": [null,null], "NaN": "NaN, \" NaN"}"#,
            ),
            (
                r#"[1e-5, -1.5E+3, true, null, "\\", NaN]"#,
                r#"[1e-5, -1.5E+3, true, null, "\\", null]"#,
            ),
            ("\u{1e}{}\n\u{1e}\"\u{1e}ñ\"\n", " {}\n \"\u{1e}ñ\"\n"),
            ("NaN", "null"),
            ("NaNs Infinityy -nan --NaN", "NaNs Infinityy -nan --NaN"),
            ("", ""),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(read_by(text, piece), wanted, "by {piece}");
            }
        }
    }
}
