//! TACOCAT (TACO 2.0, section 6.5): one index over many ZIPs, as the `.tacocat` folder of current
//! tools or as the single file `__TACOCAT__`.

mod index;
mod reader;

pub(super) use index::INDEX_SIZE;
pub use index::TacocatIndex;
pub use reader::TacocatReader;
