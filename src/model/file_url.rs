//! Local paths as `file:` URLs (RFC 8089, with drives and shares of Windows as in its appendix E),
//! and back. Pure text, no IO.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Bytes of a path that are encoded: all but the unreserved ones (RFC 3986) and the separator.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The path as a percent-encoded file URL; a relative path as a relative URL.
pub fn file_url_of(path: &Path) -> String {
    encode_file_url(&path.to_string_lossy(), cfg!(windows))
}

/// The path that a file URL names; `None` for other text. A host other than `localhost` is the
/// server of a share on Windows; elsewhere it is taken for a name of this machine, as file managers
/// write it.
pub fn path_of_file_url(text: &str) -> Option<PathBuf> {
    let bytes = decode_file_url(text, cfg!(windows))?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Some(std::ffi::OsString::from_vec(bytes).into())
    }
    #[cfg(windows)]
    Some(String::from_utf8(bytes).ok()?.into())
}

/// [`file_url_of`] by the rules of Windows or of other systems.
fn encode_file_url(path: &str, windows: bool) -> String {
    let text = if windows {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    let mut url = String::with_capacity(text.len() + 8);
    let drive = windows && text.as_bytes().get(1) == Some(&b':');
    let text = match drive.then(|| text.split_at(2)) {
        Some((drive, rest)) => {
            url.push_str("file:///");
            url.push_str(drive);
            rest
        }
        None => {
            url.push_str(if windows && text.starts_with("//") {
                "file:"
            } else if text.starts_with('/') {
                "file://"
            } else {
                ""
            });
            &text
        }
    };
    url.extend(utf8_percent_encode(text, ENCODED));
    url
}

/// [`path_of_file_url`] by the rules of Windows or of other systems, as bytes: names of other
/// systems need not be UTF-8.
fn decode_file_url(text: &str, windows: bool) -> Option<Vec<u8>> {
    let rest = text.strip_prefix("file://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let path: Vec<u8> = percent_decode_str(path).collect();
    if !windows {
        return Some(path);
    }
    // "/C:/…" is a path with a drive.
    let of_drive = path.get(1).is_some_and(u8::is_ascii_alphabetic)
        && matches!(path.get(2), Some(b':' | b'|'));
    let mut native = match of_drive {
        true => [&path[1..2], b":", &path[3..]].concat(),
        false if matches!(host, "" | "localhost") => path,
        false => [b"//", host.as_bytes(), &path].concat(),
    };
    native
        .iter_mut()
        .filter(|byte| **byte == b'/')
        .for_each(|byte| *byte = b'\\');
    Some(native)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_urls_of_their_system() {
        assert_eq!(
            encode_file_url("/data/my set.tacozip", false),
            "file:///data/my%20set.tacozip"
        );
        assert_eq!(
            encode_file_url("parts\\a.tacozip", false),
            "parts%5Ca.tacozip"
        );
        assert_eq!(
            encode_file_url("C:\\data\\my set.tacozip", true),
            "file:///C:/data/my%20set.tacozip"
        );
        assert_eq!(
            encode_file_url("\\\\server\\share\\a.tacozip", true),
            "file://server/share/a.tacozip"
        );
        assert_eq!(encode_file_url("parts\\a.tacozip", true), "parts/a.tacozip");
    }

    #[test]
    fn urls_name_paths_of_their_system() {
        let read = |text: &str, windows: bool| {
            decode_file_url(text, windows).map(|path| String::from_utf8(path).expect("UTF-8"))
        };
        let linux = [
            ("file:///data/a%20b.tif", "/data/a b.tif"),
            ("file://localhost/data/%C3%B1.tif", "/data/ñ.tif"),
            ("file://desk/data/a#1?.tif", "/data/a#1?.tif"),
            ("file:///a%ZZ%2", "/a%ZZ%2"),
            ("file:///C:/a", "/C:/a"),
            ("file:///a%+1%-1", "/a%+1%-1"),
        ];
        for (url, path) in linux {
            assert_eq!(read(url, false).as_deref(), Some(path), "{url}");
        }
        let windows = [
            (
                "file:///C:/data/my%20set.tacozip",
                "C:\\data\\my set.tacozip",
            ),
            ("file:///c|/a", "c:\\a"),
            ("file://localhost/D:/a.tif", "D:\\a.tif"),
            ("file://server/share/a.tif", "\\\\server\\share\\a.tif"),
            ("file:///data/a", "\\data\\a"),
        ];
        for (url, path) in windows {
            assert_eq!(read(url, true).as_deref(), Some(path), "{url}");
        }
        for text in ["/data/a", "https://host/a", "file:a", "file://"] {
            assert_eq!(
                (read(text, false), read(text, true)),
                (None, None),
                "{text}"
            );
        }
        for path in ["C:\\data\\100% ñ#1.tif", "\\\\server\\share\\a b"] {
            assert_eq!(
                read(&encode_file_url(path, true), true).as_deref(),
                Some(path)
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_utf8_are_kept() {
        use std::os::unix::ffi::OsStrExt;
        let path = path_of_file_url("file:///data/%FF.tif").expect("a path");
        assert_eq!(path.as_os_str().as_bytes(), b"/data/\xff.tif");
    }
}
