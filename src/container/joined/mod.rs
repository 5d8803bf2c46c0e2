//! Several datasets opened as one: given by the user, or listed by a TACOLLECTION.json. Rows are
//! concatenated in dataset order and renumbered; sample data is read from the original datasets.

mod columns;
mod reader;
mod rows;
mod sources;

pub use columns::{JoinMode, JoinedColumnChange};
pub use reader::{JoinedPart, JoinedReader};
pub use sources::DatasetOpener;
