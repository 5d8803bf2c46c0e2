//! The list of user actions, with menu text, tooltip, shortcut and icon. Menus, shortcuts, buttons
//! and the palette read it.

use std::cmp::Reverse;
use std::sync::Arc;

use egui::{Key, KeyboardShortcut};

use super::pane::Pane;

/// An action offered by menus, shortcuts and the palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Start an empty draft.
    New,
    /// Choose a dataset or rasters to open.
    OpenFile,
    /// Choose a folder to open or to build from.
    OpenFolder,
    /// Type a path or address.
    OpenPath,
    /// Show the recent list.
    OpenRecent,
    /// Save the draft.
    Save,
    /// Save the draft under another name.
    SaveAs,
    /// Write the dataset.
    Write,
    /// Export the rows that match the filter.
    ExportSubset,
    /// Describe the dataset for catalogues.
    Describe,
    /// Publish the dataset.
    Publish,
    /// Close what is open.
    Close,
    /// End the program.
    Quit,
    /// Undo the last edit.
    Undo,
    /// Redo the edit undone last.
    Redo,
    /// Add files to the draft.
    AddFiles,
    /// Add a folder to the draft.
    AddFolder,
    /// Add unplaced files to the tray.
    AddUnplaced,
    /// Add the files of a folder to the tray.
    AddUnplacedFolder,
    /// Place the selected tray files at the selection.
    Place,
    /// Take the files of the selected samples out and put them into the tray.
    Unplace,
    /// Watch a folder and add its new files to the tray.
    Watch,
    /// Join the columns of a table to the samples.
    JoinTable,
    /// Place all tray files by the pattern in their names.
    MatchPattern,
    /// Rename the selected sample.
    Rename,
    /// Remove the selected samples.
    Remove,
    /// Move the selected sample up.
    MoveUp,
    /// Move the selected sample down.
    MoveDown,
    /// Move the selected samples into the FOLDER above them.
    Nest,
    /// Move the selected samples out of their FOLDER.
    Unnest,
    /// Make a FOLDER of the selected samples.
    Group,
    /// Replace the selected FOLDER by its children.
    Dissolve,
    /// Relocate the sources of the draft.
    Relocate,
    /// Turn an opened dataset into a draft.
    EditCopy,
    /// Copy the selected sample's bytes into a file.
    SaveSample,
    /// Check the dataset.
    Validate,
    /// Check the dataset and read every byte.
    ValidateDeep,
    /// Select the next problem's sample.
    NextProblem,
    /// Select the previous problem's sample.
    PreviousProblem,
    /// Apply the best fix of the selected problem.
    FixProblem,
    /// Apply the best fix of the selected problem to all roots with this problem.
    FixAlike,
    /// Apply all fixes that remove nothing.
    FixSafe,
    /// Compute what is ticked among the extensions.
    RunExtensions,
    /// Write rasters as optimised GeoTIFFs.
    Optimise,
    /// Write a tortilla of histograms.
    Histograms,
    /// Compute percentiles from histograms.
    Percentiles,
    /// Write a copy without faults.
    Repair,
    /// Write a dataset in another container, or in parts.
    Convert,
    /// Write an index over ZIPs.
    IndexZips,
    /// Move a dataset of another generation to 2.0.
    Migrate,
    /// Prepare a dataset for the official library of TACO 3.
    PrepareTaco3,
    /// Write a TORTILLA or TACO of the first generation.
    WriteOlder,
    /// Change footer and collection of a TORTILLA or TACO.
    EditFooter,
    /// Open several datasets as one.
    OpenSeveral,
    /// Append placeholders up to a multiple of a number.
    PadTo,
    /// Pack, burn in or leave the sidecars of the draft's rasters.
    Sidecars,
    /// Open the palette.
    Palette,
    /// Go to a row by its number.
    GoToRow,
    /// Select the same position in the next root.
    NextRoot,
    /// Select the same position in the previous root.
    PreviousRoot,
    /// Show the next band, or the next position of a cube.
    NextBand,
    /// Show the previous band, or the previous position of a cube.
    PreviousBand,
    /// Put the focus in the filter.
    Filter,
    /// Show or hide the left dock.
    ToggleLeft,
    /// Show or hide the right dock.
    ToggleRight,
    /// Show or hide the bottom dock.
    ToggleBottom,
    /// Show the tree of samples.
    ShowHierarchy,
    /// Show the level table.
    ShowTable,
    ShowMap,
    ShowPreview,
    ShowGallery,
    ShowQuery,
    ShowColumns,
    ShowStatistics,
    ShowBytes,
    ClearFilter,
    /// Show the structure panel.
    ShowStructure,
    /// Show the pattern that places unplaced files by name.
    ShowPattern,
    /// Show the extension runner.
    ShowExtensions,
    /// Show the plan of parts.
    ShowPlan,
    /// Show what builds the parts of a plan.
    ShowEngine,
    /// Show the selected part of a plan.
    ShowPart,
    /// Show the fields of the selected sample.
    ShowSample,
    /// Show the form of the collection.
    ShowCollection,
    ShowProblems,
    ShowJobs,
    ShowLog,
    /// Show the source of the dataset.
    ShowSource,
    /// Stop the running jobs.
    CancelJobs,
    /// Dark or light.
    ToggleTheme,
    /// Arrange the panels for building a dataset.
    ArrangeForBuilding,
    /// Arrange the panels for exploring a dataset.
    ArrangeForExploring,
    /// Arrange the panels for checking a dataset.
    ArrangeForChecking,
    /// Reset the layout of the panels.
    ResetLayout,
    /// Settings of the user.
    Settings,
    /// Start the tour of the sample dataset.
    Tour,
    /// Show the documentation.
    Documentation,
    /// List the shortcuts.
    Shortcuts,
    /// Show version and licences.
    About,
}

/// The menu that holds an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// Datasets and drafts.
    File,
    /// The draft.
    Edit,
    Check,
    /// Whole datasets: other containers, other generations, repair.
    Tools,
    /// Panels and theme.
    View,
    /// About the program.
    Help,
}

impl Menu {
    /// In the order of the menu bar.
    pub const ALL: [Menu; 6] = [
        Menu::File,
        Menu::Edit,
        Menu::Check,
        Menu::Tools,
        Menu::View,
        Menu::Help,
    ];

    /// The menu's title.
    pub fn title(self) -> &'static str {
        match self {
            Menu::File => tr!("File"),
            Menu::Edit => tr!("Edit"),
            Menu::Check => tr!("Check"),
            Menu::Tools => tr!("Tools"),
            Menu::View => tr!("View"),
            Menu::Help => tr!("Help"),
        }
    }
}

/// Texts, icon and shortcut of an action.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The menu that lists it.
    pub menu: Menu,
    /// Text in menus and the palette; ends in `…` when a dialog follows.
    pub text: &'static str,
    /// Tooltip: one sentence.
    pub tooltip: &'static str,
    pub icon: &'static str,
    /// Shortcut, where there is one.
    pub keys: Option<KeyboardShortcut>,
}

impl Action {
    /// In the order of the menus.
    pub const ALL: &[Action] = &[
        Action::New,
        Action::OpenFile,
        Action::OpenFolder,
        Action::OpenPath,
        Action::OpenRecent,
        Action::Save,
        Action::SaveAs,
        Action::Write,
        Action::ExportSubset,
        Action::Describe,
        Action::Publish,
        Action::Close,
        Action::Quit,
        Action::Undo,
        Action::Redo,
        Action::AddFiles,
        Action::AddFolder,
        Action::AddUnplaced,
        Action::AddUnplacedFolder,
        Action::Watch,
        Action::JoinTable,
        Action::Place,
        Action::Unplace,
        Action::MatchPattern,
        Action::Rename,
        Action::Remove,
        Action::MoveUp,
        Action::MoveDown,
        Action::Nest,
        Action::Unnest,
        Action::Group,
        Action::Dissolve,
        Action::Relocate,
        Action::EditCopy,
        Action::SaveSample,
        Action::RunExtensions,
        Action::Validate,
        Action::ValidateDeep,
        Action::NextProblem,
        Action::PreviousProblem,
        Action::FixProblem,
        Action::FixAlike,
        Action::FixSafe,
        Action::Optimise,
        Action::Histograms,
        Action::Percentiles,
        Action::Repair,
        Action::Convert,
        Action::IndexZips,
        Action::Migrate,
        Action::PrepareTaco3,
        Action::WriteOlder,
        Action::EditFooter,
        Action::OpenSeveral,
        Action::PadTo,
        Action::Sidecars,
        Action::Palette,
        Action::GoToRow,
        Action::NextRoot,
        Action::PreviousRoot,
        Action::NextBand,
        Action::PreviousBand,
        Action::Filter,
        Action::ToggleLeft,
        Action::ToggleRight,
        Action::ToggleBottom,
        Action::ShowHierarchy,
        Action::ShowTable,
        Action::ShowMap,
        Action::ShowPreview,
        Action::ShowGallery,
        Action::ShowQuery,
        Action::ShowColumns,
        Action::ShowStatistics,
        Action::ShowBytes,
        Action::ClearFilter,
        Action::ShowStructure,
        Action::ShowPattern,
        Action::ShowExtensions,
        Action::ShowPlan,
        Action::ShowEngine,
        Action::ShowPart,
        Action::ShowSample,
        Action::ShowCollection,
        Action::ShowProblems,
        Action::ShowJobs,
        Action::ShowLog,
        Action::ShowSource,
        Action::CancelJobs,
        Action::ToggleTheme,
        Action::ArrangeForBuilding,
        Action::ArrangeForExploring,
        Action::ArrangeForChecking,
        Action::ResetLayout,
        Action::Settings,
        Action::Tour,
        Action::Documentation,
        Action::Shortcuts,
        Action::About,
    ];

    /// The shortcuts of all actions, longer ones first: Ctrl Shift Z also matches Ctrl Z.
    pub fn sort_shortcuts() -> Arc<[(Self, KeyboardShortcut)]> {
        let mut actions = Self::ALL.to_vec();
        actions.sort_by_key(|action| Reverse(action.keys_text().len()));
        let with_keys = |action: Self| Some((action, action.info().keys?));
        actions.into_iter().filter_map(with_keys).collect()
    }

    /// The shortcut as people read it: `Ctrl Shift Z`. Empty where there is none.
    pub fn keys_text(self) -> String {
        let Some(shortcut) = self.info().keys else {
            return String::new();
        };
        let modifiers = shortcut.modifiers;
        let mut words = Vec::new();
        if modifiers.command || modifiers.ctrl {
            words.push(if cfg!(target_os = "macos") {
                "Cmd"
            } else {
                "Ctrl"
            });
        }
        if modifiers.alt {
            words.push("Alt");
        }
        if modifiers.shift {
            words.push("Shift");
        }
        let key = match shortcut.logical_key {
            Key::ArrowUp => "Up",
            Key::ArrowDown => "Down",
            Key::ArrowLeft => "Left",
            Key::ArrowRight => "Right",
            Key::Delete => "Del",
            Key::Period => ".",
            Key::Comma => ",",
            key => key.name(),
        };
        words.push(key);
        words.join(" ")
    }

    /// The panel that it brings to the front.
    pub fn pane(self) -> Option<Pane> {
        Some(match self {
            Action::ShowHierarchy => Pane::Hierarchy,
            Action::ShowTable => Pane::Table,
            Action::ShowMap => Pane::Map,
            Action::ShowPreview => Pane::Preview,
            Action::ShowGallery => Pane::Gallery,
            Action::ShowQuery => Pane::Query,
            Action::ShowColumns => Pane::Columns,
            Action::ShowStatistics => Pane::Statistics,
            Action::ShowBytes => Pane::Bytes,
            Action::ShowStructure => Pane::Structure,
            Action::ShowPattern | Action::MatchPattern => Pane::Pattern,
            Action::ShowExtensions => Pane::Extensions,
            Action::ShowPlan => Pane::Plan,
            Action::ShowEngine => Pane::Engine,
            Action::ShowPart => Pane::Part,
            Action::ShowSample => Pane::Sample,
            Action::ShowCollection => Pane::Collection,
            Action::ShowProblems => Pane::Problems,
            Action::ShowJobs => Pane::Jobs,
            Action::ShowLog => Pane::Log,
            Action::ShowSource => Pane::Source,
            _ => return None,
        })
    }

    /// True for keys that a text field needs for itself while it has the focus.
    pub fn yields_to_text(self) -> bool {
        use Action::{
            MoveDown, MoveUp, Nest, NextBand, NextRoot, PreviousBand, PreviousRoot, Redo, Remove,
            Undo, Unnest,
        };
        matches!(
            self,
            Remove
                | Undo
                | Redo
                | MoveUp
                | MoveDown
                | Nest
                | Unnest
                | NextRoot
                | PreviousRoot
                | NextBand
                | PreviousBand
        )
    }

    /// True for actions that save, close or navigate: the focused text field commits its text
    /// first.
    pub fn takes_what_is_typed(self) -> bool {
        use Action::{
            Close, New, NextProblem, OpenFile, OpenFolder, PreviousProblem, Quit, Save, SaveAs,
            Write,
        };
        matches!(
            self,
            Save | SaveAs
                | New
                | OpenFile
                | OpenFolder
                | Close
                | Quit
                | Write
                | NextProblem
                | PreviousProblem
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn no_two_actions_share_a_shortcut_or_a_text() {
        let mut seen: HashMap<String, Action> = HashMap::new();
        for &action in Action::ALL {
            let info = action.info();
            for word in [action.keys_text(), format!("text {}", info.text)] {
                if word.is_empty() {
                    continue;
                }
                if let Some(other) = seen.insert(word.clone(), action) {
                    panic!("{other:?} and {action:?} both have {word}");
                }
            }
            assert!(
                !info.text.ends_with('.') && !info.tooltip.ends_with('.'),
                "{action:?} ends with a full stop"
            );
        }
    }

    #[test]
    fn every_action_is_listed_once_and_in_menu_order() {
        let place = |action: &Action| {
            Menu::ALL
                .iter()
                .position(|menu| *menu == action.info().menu)
        };
        assert!(Action::ALL.is_sorted_by_key(place));
        let unique: std::collections::HashSet<_> = Action::ALL.iter().collect();
        assert_eq!(unique.len(), Action::ALL.len());
        // The discriminant of the last variant gives the number of variants.
        assert_eq!(Action::About as usize + 1, Action::ALL.len());
    }

    #[test]
    fn every_panel_can_be_asked_for() {
        for pane in Pane::ALL {
            assert!(
                Action::ALL.iter().any(|action| action.pane() == Some(pane)),
                "{pane:?}"
            );
        }
    }

    #[test]
    fn shortcuts_read_like_the_keyboard() {
        assert_eq!(Action::Redo.keys_text(), "Ctrl Shift Z");
        assert_eq!(Action::ShowTable.keys_text(), "Ctrl 1");
        assert_eq!(Action::Settings.keys_text(), "Ctrl ,");
        assert_eq!(Action::ToggleTheme.keys_text(), "");
    }

    #[test]
    fn longer_shortcuts_are_looked_for_first() {
        let shortcuts = Action::sort_shortcuts();
        let place = |action: Action| shortcuts.iter().position(|(other, _)| *other == action);
        let (redo, undo) = (place(Action::Redo), place(Action::Undo));
        assert!(redo.is_some() && redo < undo);
        let with_keys = |action: &&Action| action.info().keys.is_some();
        let all = Action::ALL.iter().filter(with_keys);
        assert_eq!(shortcuts.len(), all.count());
        assert_eq!(place(Action::ToggleTheme), None, "has no keys");
    }
}
