//! A sample addressed by its level and row.

/// A sample by level and row in tree order.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct RowRef {
    /// Level, from 0.
    pub level: usize,
    /// Row in the level, in tree order.
    pub row: u32,
}
