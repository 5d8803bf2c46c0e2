//! The panels. Each owns the state that it keeps between frames, reads the studio and what all
//! panels share through [`super::panel_context::PanelContext`], draws, and puts requests into a
//! list; none changes another panel or the studio by itself.

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
pub mod panel;
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

use super::pane::Pane;
use super::panel_context::PanelFacts;
use crate::jobs::discard;
use panel::Panel;

/// Defines [`Panels`]: a line for each panel, with its state.
macro_rules! panels {
    ($($pane:ident, $field:ident: $state:ty;)+) => {
        /// The panels of the window with their states, and the pages that replace them.
        #[derive(Default)]
        pub struct Panels {
            $(pub $field: $state,)+
            /// The page that shows while a dataset is opened.
            pub opening: opening_state::OpeningPage,
            /// The screen that shows while nothing is open.
            pub welcome: welcome::state::WelcomePage,
        }

        impl Panels {
            /// The panel behind a tab.
            pub fn panel_of(&self, pane: Pane) -> &dyn Panel {
                match pane {
                    $(Pane::$pane => &self.$field,)+
                }
            }

            /// The panel behind a tab, to be drawn.
            pub fn panel_of_mut(&mut self, pane: Pane) -> &mut dyn Panel {
                match pane {
                    $(Pane::$pane => &mut self.$field,)+
                }
            }
        }
    };
}

panels! {
    Hierarchy, tree: tree::state::TreePanel;
    Columns, columns: columns::state::ColumnsPanel;
    Engine, engine: plan::engine::EnginePanel;
    Table, table: table::state::TablePanel;
    Map, map: map::state::MapPanel;
    Preview, preview: preview::state::PreviewPanel;
    Gallery, gallery: gallery::state::GalleryPanel;
    Query, query: query::state::QueryPanel;
    Structure, structure: structure::state::StructurePanel;
    Extensions, extensions: extensions::state::ExtensionsPanel;
    Pattern, pattern: pattern::state::PatternPanel;
    Plan, plan: plan::PlanPanel;
    Sample, sample: inspector::state::SamplePanel;
    Collection, collection: collection::state::CollectionPanel;
    Part, part: plan::part::PartPanel;
    Problems, problems: problems::state::ProblemsPanel;
    Jobs, jobs: jobs::JobsPanel;
    Log, log: log::LogPanel;
    Source, source: source::state::SourcePanel;
    Statistics, statistics: statistics::state::StatisticsPanel;
    Bytes, bytes: byte_map::state::ByteMapPanel;
}

impl Panels {
    /// Resets the states for another document; keeps what belongs to the window.
    pub fn reset_for_document(&mut self) {
        let next = Self {
            extensions: self.extensions.for_next_document(),
            source: std::mem::take(&mut self.source),
            ..Self::default()
        };
        discard(std::mem::replace(self, next));
    }

    /// What menus and other panels read of the states.
    pub fn collect_facts(&self) -> PanelFacts {
        let choices = &self.extensions.choices;
        PanelFacts {
            shown_band_count: self.preview.image().map(|image| image.info.band_count),
            is_extension_chosen: choices.values().any(|choice| choice.on),
            selected_finding: self.problems.selected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_document_resets_the_panels_but_keeps_the_options_of_extensions() {
        let mut panels = Panels::default();
        panels.extensions.select_extension("stac");
        panels.problems.selected = Some(3);
        panels.query.editor.append("WHERE split = 'test'");
        let facts = PanelFacts {
            shown_band_count: None,
            is_extension_chosen: true,
            selected_finding: Some(3),
        };
        assert_eq!(panels.collect_facts(), facts);
        panels.reset_for_document();
        assert!(panels.extensions.choices.contains_key("stac"));
        assert_eq!(panels.collect_facts(), PanelFacts::default());
        assert_eq!(panels.query.editor.sql, "SELECT *\nFROM data");
    }
}
