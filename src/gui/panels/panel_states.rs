//! The states of the panels, for the session. Imports no panel that draws.

pub use super::byte_map::state::ByteMapState;
pub use super::collection::state::FormState;
pub use super::columns::state::ColumnsState;
pub use super::extensions::state::ExtensionsState;
pub use super::gallery::state::GalleryState;
pub use super::inspector::state::SampleState;
pub use super::jobs::state::JobsState;
pub use super::map::state::MapState;
pub use super::opening_state::OpeningState;
pub use super::pattern::state::PatternState;
pub use super::plan::state::PlanState;
pub use super::preview::state::PreviewState;
pub use super::problems::state::ProblemsState;
pub use super::query::state::QueryState;
pub use super::source::state::SourceState;
pub use super::statistics::state::StatisticsState;
pub use super::structure::state::StructureState;
pub use super::table::state::TablePanelState;
pub use super::tray::state::TrayState;
pub use super::tree::state::TreePanelState;
