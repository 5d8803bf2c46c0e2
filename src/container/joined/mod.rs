//! Several datasets opened as one: those that were named together, or those that a TACOLLECTION.json lists. Rows keep the order
//! of their dataset and are numbered anew; bytes come from the datasets where they lie.

mod columns;
mod reader;
mod rows;
mod sources;

pub use columns::{ColumnChange, JoinMode};
pub use reader::{JoinedPart, JoinedReader};
