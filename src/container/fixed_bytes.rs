//! Fields of a fixed number of bytes in headers.

/// `N` bytes from `at`; `None` when there are fewer.
pub(super) fn read_fixed_bytes<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
