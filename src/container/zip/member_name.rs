//! Names of members (TACO 2.0, section 6.3).

use crate::model::{META_NAME, SamplePath};

/// Member name of the sample at `path`; for a FOLDER, of its `__meta__`.
pub fn member_of(path: &SamplePath, folder: bool) -> String {
    let path = path.to_archive();
    if folder { format!("DATA/{path}/{META_NAME}") } else { format!("DATA/{path}") }
}
