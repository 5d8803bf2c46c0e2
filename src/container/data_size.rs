//! Sums of sizes in bytes, as the level tables store them.

use crate::error::Error;

/// The sum of sizes or offsets in bytes; `None` where it exceeds the integers of the level tables.
/// Sizes may be stated by catalogues and plans, and not be those of files.
pub(super) fn add_size(total: u64, size: u64) -> Option<u64> {
    let sum = total.checked_add(size);
    sum.filter(|&sum| i64::try_from(sum).is_ok())
}

pub(super) fn too_much_data_error() -> Error {
    Error::too_large("the files have more bytes together than a dataset can have")
        .hint("a size that the source states is wrong: read the source again")
}
