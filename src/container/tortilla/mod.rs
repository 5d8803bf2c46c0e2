//! TORTILLA 0.5 and TACO 0.2: header, data, Parquet footer, COLLECTION; nested tortillas and parts.

mod chain;
mod edit;
mod header;
mod join;
mod layout;
mod parts;
mod reader;
mod scan;
mod writing;

pub use chain::{ROOT as CHAIN_ROOT, SampleChunk, object_bytes};
pub use edit::{TortillaChange, change_tortilla, copy_changed};
pub use header::{HEADER_SIZE, TortillaHeader, part_name, stated_format};
pub use join::{Widened, join};
pub use layout::{
    TortillaDraft, TortillaItem, TortillaOptions, footer_bytes, is_part_of, parts_called,
    with_places,
};
pub use parts::{PartSet, pattern, patterns_in};
pub use reader::TortillaReader;
pub use scan::{NestedItem, TortillaFile, nested_items};
pub use writing::{write_tortilla, write_tortilla_of};
