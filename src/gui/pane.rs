//! The panels' tabs: what the window needs of a panel before it is drawn.

use super::icons;

/// A side of the window that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DockSide {
    /// The hierarchy.
    Left,
    /// Sample and collection.
    Right,
    /// Problems, jobs, log.
    Bottom,
}

/// Defines [`Pane`]: a line for each panel, by side and in the order of their tabs. A side of
/// `None` is the middle, which cannot be hidden.
macro_rules! panes {
    ($($(#[$doc:meta])* $pane:ident, $title:expr, $icon:expr, $side:expr;)+) => {
        /// One panel.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize,
            serde::Deserialize,
        )]
        pub enum Pane {
            $($(#[$doc])* $pane,)+
        }

        impl Pane {
            /// Every panel.
            pub const ALL: [Pane; [$(Pane::$pane),+].len()] = [$(Pane::$pane),+];

            /// Title of the tab.
            pub fn title(self) -> &'static str {
                match self {
                    $(Pane::$pane => $title,)+
                }
            }

            pub(super) fn icon(self) -> Option<&'static str> {
                match self {
                    $(Pane::$pane => $icon,)+
                }
            }

            /// The side on which the panel is at first.
            pub(super) fn initial_side(self) -> Option<DockSide> {
                match self {
                    $(Pane::$pane => $side,)+
                }
            }
        }
    };
}

panes! {
    /// The tree of samples.
    Hierarchy, tr!("Hierarchy"), Some(icons::TREE_STRUCTURE), Some(DockSide::Left);
    /// Column explorer.
    Columns, tr!("Columns"), Some(icons::COLUMNS), Some(DockSide::Left);
    /// Engine that builds the parts of a plan.
    Engine, tr!("Engine"), Some(icons::GAUGE), Some(DockSide::Left);

    /// One level as a table.
    Table, tr!("Table"), Some(icons::TABLE), None;
    /// Map of the samples.
    Map, tr!("Map"), Some(icons::MAP_TRIFOLD), None;
    /// The selected raster.
    Preview, tr!("Preview"), Some(icons::IMAGE), None;
    /// Thumbnails of the samples.
    Gallery, tr!("Gallery"), Some(icons::SQUARES_FOUR), None;
    /// SQL queries.
    Query, tr!("Query"), Some(icons::DATABASE), None;
    /// Matrix of roots and pattern positions.
    Structure, tr!("Structure"), Some(icons::TREE_STRUCTURE), None;
    /// Extension runner.
    Extensions, tr!("Extensions"), Some(icons::PUZZLE_PIECE), None;
    /// Placement of unplaced files by name.
    Pattern, tr!("Pattern"), Some(icons::MAGIC_WAND), None;
    /// A plan of parts, and what was done of it.
    Plan, tr!("Plan"), Some(icons::STACK), None;

    /// The selected sample's fields.
    Sample, tr!("Sample"), None, Some(DockSide::Right);
    /// COLLECTION.json.
    Collection, tr!("Collection"), None, Some(DockSide::Right);
    /// The selected part of a plan.
    Part, tr!("Part"), Some(icons::FILE_ZIP), Some(DockSide::Right);

    Problems, tr!("Problems"), Some(icons::WARNING_OCTAGON), Some(DockSide::Bottom);
    Jobs, tr!("Jobs"), Some(icons::QUEUE), Some(DockSide::Bottom);
    /// Log of the session.
    Log, tr!("Log"), Some(icons::TERMINAL_WINDOW), Some(DockSide::Bottom);
    /// Source of the dataset and remote requests.
    Source, tr!("Source"), Some(icons::CLOUD), Some(DockSide::Bottom);
    /// Pooled statistics, classes and splits.
    Statistics, tr!("Statistics"), Some(icons::CHART_BAR), Some(DockSide::Bottom);
    /// Byte map of the container.
    Bytes, tr!("Bytes"), Some(icons::MEMORY), Some(DockSide::Bottom);
}
