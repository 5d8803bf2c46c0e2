//! The panels. Each reads the studio through [`super::cx::Cx`], draws, and puts wishes into a list; none changes anything by itself.

pub mod collection;
pub mod inspector;
pub mod jobs;
pub mod log;
mod pointers;
pub mod preview;
mod preview_side;
pub mod problems;
pub mod query;
mod siblings;
pub mod table;
pub mod tree;
pub mod welcome;

pub use collection::FormState;
pub use inspector::SampleState;
pub use jobs::{End, JobsState};
pub use preview::PreviewState;
pub use problems::ProblemsState;
pub use query::QueryState;
pub use table::TablePanelState;
pub use tree::TreePanelState;
