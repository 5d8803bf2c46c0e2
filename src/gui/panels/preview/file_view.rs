//! The beginning of a file that is no picture, as lines: JSON, text, or bytes in hexadecimal.

use std::io::Read;

use crate::container::{ByteSource, read_asset};
use crate::error::{IoContext, Result};
use crate::model::AssetPath;

/// Bytes that are read.
const SHOWN: u64 = 256 << 10;
/// Bytes of a line in hexadecimal.
const PER_LINE: usize = 16;

/// Displayed contents of a file.
pub struct FileView {
    pub(in crate::gui::panels) kind: &'static str,
    pub(in crate::gui::panels) lines: Vec<String>,
    pub(super) cut: bool,
}

/// The first bytes of a file.
///
/// # Errors
/// When they can't be read.
pub fn first_bytes(asset: &AssetPath, size: u64) -> Result<Vec<u8>> {
    let most = size.min(SHOWN);
    match asset {
        AssetPath::File(path) => {
            let mut bytes = Vec::new();
            let file = crate::files::open(path).io_at("read the sample", &**path)?;
            file.take(most)
                .read_to_end(&mut bytes)
                .io_at("read the sample", &**path)?;
            Ok(bytes)
        }
        AssetPath::Range {
            container,
            offset,
            stamp,
            ..
        } => {
            let part = AssetPath::Range {
                container: container.clone(),
                offset: *offset,
                size: most,
                stamp: stamp.clone(),
            };
            Ok(read_asset(&part)?.to_vec())
        }
        AssetPath::Packed(_) => Ok(ByteSource::open_for(asset)?.read(0, most)?.to_vec()),
        AssetPath::Vsi(_) => Ok(read_asset(asset)?.to_vec()),
    }
}

/// The lines that show the beginning `bytes` of a file with `size` bytes.
pub fn view_of(bytes: &[u8], size: u64) -> FileView {
    let cut = size > bytes.len() as u64;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // The last character may be truncated.
        Err(error) if cut && bytes.len() - error.valid_up_to() < 4 => {
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
            let set_out = serde_json::to_string_pretty(&json).unwrap_or_else(|_| text.to_owned());
            return FileView {
                kind: "JSON",
                lines: set_out.lines().map(str::to_owned).collect(),
                cut,
            };
        }
        let lines = text
            .lines()
            .map(|line| line.replace('\t', "    "))
            .collect();
        return FileView {
            kind: mark!("Text"),
            lines,
            cut,
        };
    }
    FileView {
        kind: mark!("Bytes"),
        lines: bytes
            .chunks(PER_LINE)
            .enumerate()
            .map(|(index, chunk)| format_hex_line(index, chunk))
            .collect(),
        cut,
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
    format!("{:08x}  {hex:<48} {letters}", index * PER_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_show_as_what_they_are() {
        let json = view_of(br#"{"a":[1,2]}"#, 11);
        assert_eq!((json.kind, json.lines.len()), ("JSON", 6));
        let text = view_of("one\ntwö".as_bytes(), 100);
        assert_eq!((text.kind, text.lines.len(), text.cut), ("Text", 2, true));
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
