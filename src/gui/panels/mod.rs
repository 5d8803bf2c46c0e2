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
pub mod panel_states;
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

pub use jobs::state::End;

use egui::Ui;

use super::pane::Pane;
use super::panel_context::PanelContext;
use super::widgets::Tone;

/// What a panel does. Its title, icon and side are in [`Pane`], which the parts of the window below
/// the panels know.
pub struct Panel {
    pub show: fn(&mut Ui, &mut PanelContext<'_>),
    /// The number on its tab.
    pub count: fn(&PanelContext<'_>) -> Option<(u64, Tone)>,
    /// Fills the right end of the tab bar while its tab is in front, from right to left.
    pub bar_right: fn(&mut Ui, &mut PanelContext<'_>),
}

impl Panel {
    fn new(show: fn(&mut Ui, &mut PanelContext<'_>)) -> Self {
        Self {
            show,
            count: |_| None,
            bar_right: |_, _| {},
        }
    }
}

/// The panel behind a tab.
pub fn panel_of(pane: Pane) -> Panel {
    match pane {
        Pane::Hierarchy => Panel::new(tree::ui),
        Pane::Columns => Panel::new(columns::ui),
        Pane::Engine => Panel::new(plan::engine::ui),
        Pane::Table => Panel::new(table::ui),
        Pane::Map => Panel::new(map::ui),
        Pane::Preview => Panel::new(preview::ui),
        Pane::Gallery => Panel::new(gallery::ui),
        Pane::Query => Panel::new(query::ui),
        Pane::Structure => Panel::new(structure::ui),
        Pane::Extensions => Panel::new(extensions::ui),
        Pane::Pattern => Panel::new(pattern::ui),
        Pane::Plan => Panel::new(plan::ui),
        Pane::Sample => Panel::new(inspector::ui),
        Pane::Collection => Panel {
            count: collection::count,
            ..Panel::new(collection::ui)
        },
        Pane::Part => Panel::new(plan::part::ui),
        Pane::Problems => Panel {
            count: problems::count,
            bar_right: problems::bar_ui,
            ..Panel::new(problems::ui)
        },
        Pane::Jobs => Panel {
            count: jobs::count,
            bar_right: jobs::bar_ui,
            ..Panel::new(jobs::ui)
        },
        Pane::Log => Panel::new(log::ui),
        Pane::Source => Panel::new(source::ui),
        Pane::Statistics => Panel::new(statistics::ui),
        Pane::Bytes => Panel::new(byte_map::ui),
    }
}
