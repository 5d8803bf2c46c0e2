//! The beginning of a file that is not a picture, as lines: JSON, text, or bytes in hexadecimal.

use crate::container::read_asset_start;
use crate::error::Result;
use crate::model::AssetPath;

/// Maximum number of bytes that are read.
const SHOWN_BYTES_MAX: u64 = 256 << 10;
/// Number of bytes in a line in hexadecimal.
const BYTES_PER_LINE: usize = 16;

/// Displayed contents of a file.
pub struct FileView {
    pub(in crate::gui::panels) kind: &'static str,
    pub(in crate::gui::panels) lines: Vec<String>,
    /// True when the file has more bytes than were read.
    pub(super) is_cut: bool,
}

/// The first bytes of a file with `size` bytes.
///
/// # Errors
/// When they can't be read.
pub fn first_bytes(asset: &AssetPath, size: u64) -> Result<Vec<u8>> {
    Ok(read_asset_start(asset, size.min(SHOWN_BYTES_MAX))?.to_vec())
}

/// The lines that show the beginning `bytes` of a file with `size` bytes.
pub fn view_of(bytes: &[u8], size: u64) -> FileView {
    let is_cut = size > bytes.len() as u64;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The last character may be truncated.
        Err(error) if is_cut && bytes.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let plain = text.filter(|text| {
        !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    });
    if let Some(text) = plain {
        if let Ok(json) = serde_json::from_str::<serde_json::Value>(text)
            && (json.is_object() || json.is_array())
        {
            let indented = serde_json::to_string_pretty(&json).unwrap_or_else(|_| text.to_owned());
            return FileView {
                kind: "JSON",
                lines: indented.lines().map(str::to_owned).collect(),
                is_cut,
            };
        }
        let lines = text
            .lines()
            .map(|line| line.replace('\t', "    "))
            .collect();
        return FileView {
            kind: mark!("Text"),
            lines,
            is_cut,
        };
    }
    FileView {
        kind: mark!("Bytes"),
        lines: bytes
            .chunks(BYTES_PER_LINE)
            .enumerate()
            .map(|(index, chunk)| format_hex_line(index, chunk))
            .collect(),
        is_cut,
    }
}

/// A line of a hex dump: offset, bytes and letters.
fn format_hex_line(index: usize, chunk: &[u8]) -> String {
    let hex: String = chunk.iter().map(|byte| format!("{byte:02x} ")).collect();
    let letters: String = chunk
        .iter()
        .map(|&byte| {
            if byte.is_ascii_graphic() || byte == b' ' {
                byte as char
            } else {
                '.'
            }
        })
        .collect();
    format!("{:08x}  {hex:<48} {letters}", index * BYTES_PER_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_file_or_of_a_range_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.bin");
        std::fs::write(&path, "abcdef").expect("writes");
        let file = AssetPath::file(path.clone());
        assert_eq!(first_bytes(&file, 2).expect("reads"), b"ab");
        assert_eq!(first_bytes(&file, 6).expect("reads"), b"abcdef");
        let range = AssetPath::range(path, 1, 3);
        assert_eq!(first_bytes(&range, 3).expect("reads"), b"bcd");
        assert_eq!(first_bytes(&range, 2).expect("reads"), b"bc");
    }

    #[test]
    fn json_text_and_bytes_are_shown_as_lines() {
        let json = view_of(br#"{"a":[1,2]}"#, 11);
        assert_eq!((json.kind, json.lines.len()), ("JSON", 6));
        let text = view_of("one\ntwö".as_bytes(), 100);
        assert_eq!(
            (text.kind, text.lines.len(), text.is_cut),
            ("Text", 2, true)
        );
        let bytes = view_of(&[0, 1, b'A', 255], 4);
        assert_eq!(
            bytes.lines,
            [format!("00000000  {:<48} ..A.", "00 01 41 ff ")]
        );
        assert_eq!(view_of(b"", 0).lines.len(), 0);
        // A truncated last character does not make the text binary.
        assert_eq!(view_of(&"abcö".as_bytes()[..4], 5).kind, "Text");
    }
}
