//! The panels. Each reads the studio through [`super::panel_context::PanelContext`], draws, and
//! puts requests into a list; none changes anything by itself.

pub mod byte_map;
pub mod collection;
pub mod columns;
pub mod extensions;
pub mod gallery;
pub mod inspector;
pub mod jobs;
pub mod log;
pub mod map;
pub mod opening;
mod opening_state;
pub mod pattern;
pub mod plan;
pub mod preview;
pub mod problems;
pub mod query;
pub mod source;
pub mod statistics;
pub mod structure;
pub mod table;
pub mod tray;
pub mod tree;
pub mod welcome;

pub use byte_map::state::ByteMapState;
pub use collection::state::FormState;
pub use columns::state::ColumnsState;
pub use extensions::state::ExtensionsState;
pub use gallery::state::GalleryState;
pub use inspector::state::SampleState;
pub use jobs::state::{End, JobsState};
pub use map::state::MapState;
pub use opening_state::OpeningState;
pub use pattern::state::PatternState;
pub use plan::state::PlanState;
pub use preview::state::PreviewState;
pub use problems::state::ProblemsState;
pub use query::state::QueryState;
pub use source::state::SourceState;
pub use statistics::state::StatisticsState;
pub use structure::state::StructureState;
pub use table::state::TablePanelState;
pub use tray::state::TrayState;
pub use tree::state::TreePanelState;
