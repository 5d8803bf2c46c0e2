//! Names of members (TACO 2.0, section 6.3).

use crate::model::META_NAME;

/// Member name of the sample at `path` below `DATA/`; for a FOLDER, of its `__meta__`.
pub fn member_of(path: &str, folder: bool) -> String {
    if folder {
        format!("DATA/{path}/{META_NAME}")
    } else {
        format!("DATA/{path}")
    }
}
