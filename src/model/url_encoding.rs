//! Percent-encoding of web addresses (RFC 3986). Pure text, no IO.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Bytes that are encoded below a web address: all but those that the path of a URL may have as
/// they are (RFC 3986, `pchar`), and `/`.
pub(super) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// As [`ENCODED`] in a query, which may also have `?`.
pub(super) const ENCODED_IN_QUERY: &AsciiSet = &ENCODED.remove(b'?');

/// Percent-encodes what a person typed: everything in `set` but a `%` with two hexadecimal digits
/// behind it.
pub(super) fn encode_typed(text: &str, set: &'static AsciiSet) -> String {
    let mut encoded = String::with_capacity(text.len());
    for (number, part) in text.split('%').enumerate() {
        if number > 0 {
            let is_code = part
                .as_bytes()
                .get(..2)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            encoded.push_str(if is_code { "%" } else { "%25" });
        }
        encoded.extend(utf8_percent_encode(part, set));
    }
    encoded
}
