//! The one list of what a person can ask for: menu text, tooltip, shortcut, icon. Menus, shortcuts, buttons and the palette all read it.

use egui::{Key, KeyboardShortcut, Modifiers};

use super::icons;

/// Everything that can be asked for from a menu, a shortcut or the palette.
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
    /// Go to the recent list.
    OpenRecent,
    /// Save the draft.
    Save,
    /// Save the draft under another name.
    SaveAs,
    /// Write the dataset.
    Write,
    /// Write what a filter leaves.
    ExportSubset,
    /// Describe the dataset for catalogues.
    Describe,
    /// Move a dataset of another generation to 2.0.
    Migrate,
    /// Close what is open.
    Close,
    /// End the program.
    Quit,
    /// Take the last edit back.
    Undo,
    /// Do it again.
    Redo,
    /// Add files to the draft.
    AddFiles,
    /// Add a folder to the draft.
    AddFolder,
    /// Put files into the tray.
    AddUnplaced,
    /// Put the files of a folder into the tray.
    AddUnplacedFolder,
    /// Put the selected files of the tray where the selection is.
    Place,
    /// Find the places of all files of the tray by their names.
    MatchPattern,
    /// Give the selected sample another id.
    Rename,
    /// Take the selected sample out.
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
    /// Put what is in the selected FOLDER in its place.
    Dissolve,
    /// Say where the sources lie now.
    Relocate,
    /// Turn an opened dataset into a draft.
    EditCopy,
    /// Copy the selected sample's bytes into a file.
    SaveSample,
    /// Check the dataset.
    Validate,
    /// Check it and re-read every byte.
    ValidateDeep,
    /// Select the next problem's sample.
    NextProblem,
    /// Select the previous problem's sample.
    PreviousProblem,
    /// Take the best way out of the selected problem.
    FixProblem,
    /// Mend everything that can be mended without removing anything.
    FixSafe,
    /// Open the palette.
    Palette,
    /// Go to a row by its number.
    GoToRow,
    /// Put the focus in the filter.
    Filter,
    /// Show or hide the left dock.
    ToggleLeft,
    /// Show or hide the right dock.
    ToggleRight,
    /// Show or hide the bottom dock.
    ToggleBottom,
    /// Show the level table.
    ShowTable,
    /// Show the map.
    ShowMap,
    /// Show the preview.
    ShowPreview,
    /// Show the gallery.
    ShowGallery,
    /// Show the query.
    ShowQuery,
    /// Show the columns.
    ShowColumns,
    /// Show the statistics.
    ShowStatistics,
    /// Show the bytes.
    ShowBytes,
    /// Show all rows again.
    ClearFilter,
    /// Show the structure lens.
    ShowStructure,
    /// Show the extension runner.
    ShowExtensions,
    /// Show what the checks found.
    ShowProblems,
    /// Show the jobs.
    ShowJobs,
    /// Show the log.
    ShowLog,
    /// Show where the dataset comes from.
    ShowSource,
    /// Stop the running jobs.
    CancelJobs,
    /// Dark or light.
    ToggleTheme,
    /// Put every panel back to its place.
    ResetLayout,
    /// What the user sets.
    Settings,
    /// Lead a newcomer through the sample dataset.
    Tour,
    /// List the shortcuts.
    Shortcuts,
    /// What this is, and its licences.
    About,
}

/// The menu that holds an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// Datasets and drafts.
    File,
    /// The draft.
    Edit,
    /// Checks.
    Check,
    /// Panels and theme.
    View,
    /// About the program.
    Help,
}

impl Menu {
    /// In the order of the menu bar.
    pub const ALL: [Menu; 5] = [Menu::File, Menu::Edit, Menu::Check, Menu::View, Menu::Help];

    /// The menu's title.
    pub fn title(self) -> &'static str {
        match self {
            Menu::File => "File",
            Menu::Edit => "Edit",
            Menu::Check => "Check",
            Menu::View => "View",
            Menu::Help => "Help",
        }
    }
}

/// What is said about an action everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Where it is in the menus.
    pub menu: Menu,
    /// Menu and palette text; `…` where more is asked.
    pub text: &'static str,
    /// One sentence.
    pub tooltip: &'static str,
    /// Icon.
    pub icon: &'static str,
    /// Shortcut, where there is one.
    pub keys: Option<KeyboardShortcut>,
}

const fn keys(modifiers: Modifiers, key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(modifiers, key))
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { command: true, shift: true, ..Modifiers::NONE };
const CTRL_ALT: Modifiers = Modifiers { command: true, alt: true, ..Modifiers::NONE };

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
        Action::Migrate,
        Action::Close,
        Action::Quit,
        Action::Undo,
        Action::Redo,
        Action::AddFiles,
        Action::AddFolder,
        Action::AddUnplaced,
        Action::AddUnplacedFolder,
        Action::Place,
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
        Action::Validate,
        Action::ValidateDeep,
        Action::NextProblem,
        Action::PreviousProblem,
        Action::FixProblem,
        Action::FixSafe,
        Action::Palette,
        Action::GoToRow,
        Action::Filter,
        Action::ToggleLeft,
        Action::ToggleRight,
        Action::ToggleBottom,
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
        Action::ShowExtensions,
        Action::ShowProblems,
        Action::ShowJobs,
        Action::ShowLog,
        Action::ShowSource,
        Action::CancelJobs,
        Action::ToggleTheme,
        Action::ResetLayout,
        Action::Settings,
        Action::Tour,
        Action::Shortcuts,
        Action::About,
    ];

    /// Text, shortcut, icon.
    pub fn info(self) -> Info {
        use Menu::{Check, Edit, File, Help, View};
        let (menu, icon, keys, text, tooltip) = match self {
            Action::New => (File, icons::PLUS, keys(CTRL, Key::N), "New dataset", "Start an empty draft"),
            Action::OpenFile => {
                (File, icons::FOLDER_OPEN, keys(CTRL, Key::O), "Open file…", "Open a .tacozip, or begin a draft from rasters")
            }
            Action::OpenFolder => (
                File,
                icons::FOLDER_SIMPLE,
                keys(CTRL_ALT, Key::O),
                "Open folder…",
                "Open a dataset folder, or build from a folder of files",
            ),
            Action::OpenPath => (
                File,
                icons::LINK,
                keys(CTRL_SHIFT, Key::O),
                "Open path or address…",
                "Type or paste a path, or an address: https://, s3://, gs://, az://",
            ),
            Action::OpenRecent => {
                (File, icons::CLOCK_COUNTER_CLOCKWISE, keys(CTRL, Key::P), "Open recent", "Go to the list of recent datasets")
            }
            Action::Save => {
                (File, icons::FLOPPY_DISK, keys(CTRL, Key::S), "Save draft", "Save the draft, to go on with it another time")
            }
            Action::SaveAs => {
                (File, icons::FLOPPY_DISK, keys(CTRL_SHIFT, Key::S), "Save draft as…", "Save the draft under another name")
            }
            Action::Write => (File, icons::EXPORT, keys(CTRL, Key::E), "Write dataset…", "Write a ZIP or FOLDER dataset"),
            Action::ExportSubset => {
                (File, icons::FUNNEL, None, "Export subset…", "Write what the filter leaves as a dataset of its own")
            }
            Action::Describe => {
                (File, icons::FILE_TEXT, None, "Describe for catalogues…", "STAC, GeoParquet, Croissant, DataCite, data cards")
            }
            Action::Migrate => {
                (File, icons::ARROW_SQUARE_OUT, None, "Move to 2.0…", "Write a dataset of another generation as one of 2.0")
            }
            Action::Close => (File, icons::X, keys(CTRL, Key::W), "Close dataset", "Close what is open"),
            Action::Quit => (File, icons::SIGN_OUT, keys(CTRL, Key::Q), "Quit", "End the program"),
            Action::Undo => (Edit, icons::ARROW_U_UP_LEFT, keys(CTRL, Key::Z), "Undo", "Take the last edit back"),
            Action::Redo => (Edit, icons::ARROW_U_UP_RIGHT, keys(CTRL_SHIFT, Key::Z), "Redo", "Do the edit again"),
            Action::AddFiles => (Edit, icons::FILE, keys(CTRL_SHIFT, Key::A), "Add files…", "Add files to the selected folder"),
            Action::AddFolder => (Edit, icons::FOLDER_SIMPLE_PLUS, None, "Add folder…", "Add a folder and what it holds"),
            Action::AddUnplaced => (Edit, icons::TRAY, None, "Add unplaced files…", "Put files into the tray, to be placed later"),
            Action::AddUnplacedFolder => {
                (Edit, icons::TRAY_ARROW_DOWN, None, "Add unplaced folder…", "Put all files of a folder into the tray")
            }
            Action::Place => (
                Edit,
                icons::ARROW_ELBOW_DOWN_RIGHT,
                keys(CTRL_SHIFT, Key::P),
                "Place here",
                "Put the selected unplaced files into the selected slot or folder",
            ),
            Action::MatchPattern => (
                Edit,
                icons::MAGIC_WAND,
                keys(CTRL, Key::M),
                "Match by pattern",
                "Find the places of the unplaced files by their names",
            ),
            Action::Rename => {
                (Edit, icons::PENCIL_SIMPLE, keys(Modifiers::NONE, Key::F2), "Rename sample", "Give the sample another id")
            }
            Action::Remove => {
                (Edit, icons::TRASH, keys(Modifiers::NONE, Key::Delete), "Remove sample", "Take the sample out. Files on disk stay")
            }
            Action::MoveUp => (Edit, icons::CARET_UP, keys(Modifiers::ALT, Key::ArrowUp), "Move sample up", "One position earlier"),
            Action::MoveDown => {
                (Edit, icons::CARET_DOWN, keys(Modifiers::ALT, Key::ArrowDown), "Move sample down", "One position later")
            }
            Action::Nest => {
                (Edit, icons::CARET_RIGHT, keys(Modifiers::ALT, Key::ArrowRight), "Nest sample", "Move it into the folder above it")
            }
            Action::Unnest => (
                Edit,
                icons::CARET_LEFT,
                keys(Modifiers::ALT, Key::ArrowLeft),
                "Un-nest sample",
                "Move it out of its folder, behind it",
            ),
            Action::Group => {
                (Edit, icons::STACK, keys(CTRL_SHIFT, Key::G), "Group into a folder", "Make a folder of the selected samples")
            }
            Action::Dissolve => (Edit, icons::ARROWS_LEFT_RIGHT, None, "Dissolve folder", "Put what the folder holds in its place"),
            Action::Relocate => {
                (Edit, icons::FOLDER_SIMPLE, None, "Sources have moved…", "Look for the files of the draft in another folder")
            }
            Action::EditCopy => (
                Edit,
                icons::PENCIL_SIMPLE,
                keys(CTRL_SHIFT, Key::E),
                "Edit as a draft",
                "Begin a draft with these samples; the dataset stays as it is",
            ),
            Action::SaveSample => (Edit, icons::DOWNLOAD_SIMPLE, None, "Save sample as…", "Copy the sample's bytes into a file"),
            Action::Validate => (Check, icons::CHECK_CIRCLE, keys(Modifiers::NONE, Key::F7), "Check dataset", "Check every rule"),
            Action::ValidateDeep => {
                (Check, icons::CHECK, keys(Modifiers::SHIFT, Key::F7), "Check every byte", "Check every rule and re-read all data")
            }
            Action::NextProblem => {
                (Check, icons::CARET_RIGHT, keys(Modifiers::NONE, Key::F8), "Next problem", "Select the next problem")
            }
            Action::PreviousProblem => {
                (Check, icons::CARET_LEFT, keys(Modifiers::SHIFT, Key::F8), "Previous problem", "Select the problem before")
            }
            Action::FixProblem => {
                (Check, icons::MAGIC_WAND, keys(CTRL, Key::Period), "Fix problem", "Take the best way out of the selected problem")
            }
            Action::FixSafe => (
                Check,
                icons::MAGIC_WAND,
                keys(CTRL_SHIFT, Key::Period),
                "Fix everything safe",
                "Mend whatever can be mended without removing anything, in one step",
            ),
            Action::Palette => (View, icons::COMMAND, keys(CTRL, Key::K), "Command palette", "Search every command"),
            Action::GoToRow => (View, icons::ARROW_ELBOW_DOWN_RIGHT, keys(CTRL, Key::G), "Go to row…", "Type a row number"),
            Action::Filter => (View, icons::FUNNEL, keys(CTRL, Key::F), "Filter", "Filter the hierarchy by id"),
            Action::ToggleLeft => (View, icons::SIDEBAR_SIMPLE, keys(CTRL, Key::B), "Left panels", "Show or hide the hierarchy"),
            Action::ToggleRight => {
                (View, icons::SIDEBAR_SIMPLE, keys(CTRL_ALT, Key::B), "Right panels", "Show or hide sample and collection")
            }
            Action::ToggleBottom => {
                (View, icons::TERMINAL_WINDOW, keys(CTRL, Key::J), "Bottom panels", "Show or hide problems, jobs, log")
            }
            Action::ShowTable => (View, icons::TABLE, keys(CTRL, Key::Num1), "Table", "Show the level table"),
            Action::ShowMap => (View, icons::MAP_TRIFOLD, keys(CTRL, Key::Num2), "Map", "Show where the samples lie"),
            Action::ShowPreview => (View, icons::IMAGE, keys(CTRL, Key::Num3), "Preview", "Show the selected raster"),
            Action::ShowGallery => {
                (View, icons::SQUARES_FOUR, keys(CTRL, Key::Num4), "Gallery", "Show a small picture of every sample")
            }
            Action::ShowQuery => (View, icons::DATABASE, keys(CTRL, Key::Num5), "Query", "Select rows with SQL"),
            Action::ShowColumns => (View, icons::COLUMNS, None, "Columns", "Show every column and what it holds"),
            Action::ShowStatistics => (View, icons::CHART_BAR, None, "Statistics", "Show pooled statistics, classes and splits"),
            Action::ShowBytes => (View, icons::MEMORY, None, "Bytes", "Show what the bytes of the container hold"),
            Action::ClearFilter => (View, icons::FUNNEL, None, "Clear filter", "Show all rows again"),
            Action::ShowStructure => {
                (View, icons::TREE_STRUCTURE, keys(CTRL, Key::Num6), "Structure", "Show every root beside the pattern")
            }
            Action::ShowExtensions => {
                (View, icons::PUZZLE_PIECE, keys(CTRL, Key::Num7), "Extensions", "Compute columns from the samples")
            }
            Action::ShowProblems => (View, icons::WARNING_OCTAGON, None, "Problems", "Show what the checks found"),
            Action::ShowJobs => (View, icons::QUEUE, None, "Jobs", "Show what is running"),
            Action::ShowLog => (View, icons::TERMINAL_WINDOW, None, "Log", "Show what happened"),
            Action::ShowSource => (View, icons::CLOUD, None, "Source", "Show requests to other machines and the cache"),
            Action::CancelJobs => (View, icons::STOP, None, "Cancel running jobs", "Stop what is running"),
            Action::ToggleTheme => (View, icons::MOON, None, "Dark or light theme", "Switch between dark and light"),
            Action::ResetLayout => (View, icons::SQUARES_FOUR, None, "Reset layout", "Put every panel back to its place"),
            Action::Settings => {
                (View, icons::GEAR_SIX, keys(CTRL, Key::Comma), "Settings…", "Theme, size, threads, network and cache")
            }
            Action::Tour => (Help, icons::PATH, None, "Take the tour", "Eight steps through the sample dataset"),
            Action::Shortcuts => {
                (Help, icons::KEYBOARD, keys(Modifiers::NONE, Key::F1), "Keyboard shortcuts", "List the shortcuts")
            }
            Action::About => (Help, icons::INFO, None, "About Taco Studio", "Version and licences"),
        };
        Info { menu, text, tooltip, icon, keys }
    }

    /// The shortcut as people read it: `Ctrl Shift Z`. Empty where there is none.
    pub fn keys_text(self) -> String {
        let Some(shortcut) = self.info().keys else { return String::new() };
        let modifiers = shortcut.modifiers;
        let mut words = Vec::new();
        if modifiers.command || modifiers.ctrl {
            words.push(if cfg!(target_os = "macos") { "Cmd" } else { "Ctrl" });
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
            key => key.name(),
        };
        words.push(key);
        words.join(" ")
    }

    /// True for keys that a text field needs for itself while it has the focus.
    pub fn yields_to_text(self) -> bool {
        use Action::{MoveDown, MoveUp, Nest, Redo, Remove, Undo, Unnest};
        matches!(self, Remove | Undo | Redo | MoveUp | MoveDown | Nest | Unnest)
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
            assert!(!info.text.ends_with('.') && !info.tooltip.ends_with('.'), "{action:?} ends with a full stop");
        }
    }

    #[test]
    fn every_action_is_listed_once_and_in_menu_order() {
        let place = |action: &Action| Menu::ALL.iter().position(|menu| *menu == action.info().menu);
        assert!(Action::ALL.is_sorted_by_key(place));
        let unique: std::collections::HashSet<_> = Action::ALL.iter().collect();
        assert_eq!(unique.len(), Action::ALL.len());
        // The last variant's number tells how many there are.
        assert_eq!(Action::About as usize + 1, Action::ALL.len());
    }

    #[test]
    fn shortcuts_read_like_the_keyboard() {
        assert_eq!(Action::Redo.keys_text(), "Ctrl Shift Z");
        assert_eq!(Action::ShowTable.keys_text(), "Ctrl 1");
        assert_eq!(Action::ToggleTheme.keys_text(), "");
    }
}
