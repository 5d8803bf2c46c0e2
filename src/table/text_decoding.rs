//! Text of files of users: UTF-8, UTF-16 or Windows-1252 (latin-1), with or without a byte order
//! mark.

use crate::error::{Error, Result};

/// Characters of the bytes 0x80 to 0x9F in Windows-1252; the five undefined ones are control
/// characters, as browsers read them.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Byte order of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn decode_unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// Messages about a table that cannot be decoded.
const UNREADABLE_TEXT: &str = "the metadata table can't be read as text";
const UNREADABLE_UTF16: &str = "the metadata table can't be read as UTF-16";

#[derive(Debug)]
pub(super) struct DecodedText {
    /// The text, without byte order mark.
    pub text: String,
    /// What was assumed about its encoding.
    pub warning: Option<String>,
}

/// The byte order of a UTF-16 text from its first bytes: by its mark, or by the zero in its first
/// character.
pub(super) fn utf16_order(start: &[u8]) -> Option<ByteOrder> {
    match start {
        [0xFF, 0xFE, ..] => Some(ByteOrder::Little),
        [0xFE, 0xFF, ..] => Some(ByteOrder::Big),
        [first, 0, second, 0, ..] if *first > 0 && *second > 0 => Some(ByteOrder::Little),
        [0, first, 0, second, ..] if *first > 0 && *second > 0 => Some(ByteOrder::Big),
        _ => None,
    }
}

/// Decodes a text.
///
/// # Errors
/// [`crate::error::Kind::Format`] for binary data, damaged UTF-16, and UTF-8 with other bytes in
/// it.
pub(super) fn decode_text(bytes: Vec<u8>) -> Result<DecodedText> {
    if let Some(order) = utf16_order(&bytes) {
        return decode_utf16(&bytes, order);
    }
    let error = match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            return Ok(DecodedText {
                text,
                warning: None,
            });
        }
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let bytes = error.into_bytes();
    let line = 1 + bytes
        .iter()
        .take(valid)
        .filter(|byte| **byte == b'\n')
        .count();
    if bytes
        .iter()
        .any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1A))
    {
        return Err(undecodable_text_error(
            UNREADABLE_TEXT,
            format!("line {line} is not UTF-8, and there are control characters in it"),
        ));
    }
    if bytes.get(..valid).is_some_and(|before| !before.is_ascii()) {
        return Err(undecodable_text_error(
            UNREADABLE_TEXT,
            format!("line {line} is not UTF-8, but letters before it are"),
        ));
    }
    let text: String = bytes.into_iter().map(decode_windows_1252).collect();
    let warning = format!(
        "the metadata table is not UTF-8: line {line} and others are read as Windows-1252 (latin-1)"
    );
    Ok(DecodedText {
        text,
        warning: Some(warning),
    })
}

fn decode_utf16(bytes: &[u8], order: ByteOrder) -> Result<DecodedText> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(undecodable_text_error(
            UNREADABLE_UTF16,
            "its last character is cut",
        ));
    }
    let mut text = String::with_capacity(bytes.len() / 2);
    for character in char::decode_utf16(units.iter().map(|pair| order.decode_unit(*pair))) {
        match character {
            Ok('\0') => {
                return Err(undecodable_text_error(
                    UNREADABLE_UTF16,
                    "there are zeros in it",
                ));
            }
            Ok('\u{feff}') if text.is_empty() => {}
            Ok(character) => text.push(character),
            Err(_) => {
                return Err(undecodable_text_error(
                    UNREADABLE_UTF16,
                    "a character is damaged",
                ));
            }
        }
    }
    Ok(DecodedText {
        text,
        warning: None,
    })
}

fn decode_windows_1252(byte: u8) -> char {
    match byte {
        0x80..0xA0 => WINDOWS_1252
            .get(usize::from(byte - 0x80))
            .copied()
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from(byte),
    }
}

fn undecodable_text_error(message: &str, reason: impl Into<String>) -> Error {
    Error::format(message)
        .because(reason.into())
        .hint("save it as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, bool) {
        let decoded = decode_text(bytes.to_vec()).expect("decodes");
        (decoded.text, decoded.warning.is_some())
    }

    #[test]
    fn usual_encodings_are_decoded() {
        assert_eq!(decoded("path,ñ\n".as_bytes()), ("path,ñ\n".into(), false));
        assert_eq!(
            decoded("\u{feff}path,ñ\n".as_bytes()),
            ("path,ñ\n".into(), false)
        );
        assert_eq!(
            decoded(b"path,n\nCa\xF1on,\x80\n"),
            ("path,n\nCañon,€\n".into(), true)
        );
        for mark in [true, false] {
            let units: Vec<u16> = if mark { vec![0xFEFF] } else { vec![] }
                .into_iter()
                .chain("path,ñ\n".encode_utf16())
                .collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(decoded(&little), ("path,ñ\n".into(), false));
            assert_eq!(decoded(&big), ("path,ñ\n".into(), false));
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [
            &b"path\n\x01\x02\xFF"[..],
            &b"\xFF\xFEa\0b"[..],
            &b"\xFF\xFE\0\xD8a\0"[..],
            b"\xFF\xFEa\0\0\0",
            b"\xC3\xB1\n\xF1\n",
        ] {
            assert!(decode_text(bytes.to_vec()).is_err(), "{bytes:?}");
        }
    }
}
