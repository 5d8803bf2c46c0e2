//! Columns that extensions compute.

use crate::model::{FieldSpec, Value};

/// A computed column of a whole level.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputedColumn {
    /// Name, type and description.
    pub field: FieldSpec,
    /// One value per row of the level, in tree order.
    pub values: Vec<Value>,
    /// False for rows that the call did not target; they keep an existing value of the same type.
    pub touched: Vec<bool>,
}
