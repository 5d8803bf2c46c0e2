//! Menu, icon, shortcut and texts of every action.

use egui::{Key, KeyboardShortcut, Modifiers};

use super::action::{Action, Info, Menu};
use super::icons;

const fn keys(modifiers: Modifiers, key: Key) -> Option<KeyboardShortcut> {
    Some(KeyboardShortcut::new(modifiers, key))
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers {
    command: true,
    shift: true,
    ..Modifiers::NONE
};
const CTRL_ALT: Modifiers = Modifiers {
    command: true,
    alt: true,
    ..Modifiers::NONE
};

impl Action {
    /// Text, shortcut, icon.
    pub fn info(self) -> Info {
        use Menu::{Check, Edit, File, Help, Tools, View};
        let (menu, icon, keys, text, tooltip) = match self {
            Action::New => (
                File,
                icons::PLUS,
                keys(CTRL, Key::N),
                tr!("New dataset"),
                tr!("Start an empty draft"),
            ),
            Action::OpenFile => (
                File,
                icons::FOLDER_OPEN,
                keys(CTRL, Key::O),
                tr!("Open file…"),
                tr!("Open a .tacozip, or begin a draft from rasters"),
            ),
            Action::OpenFolder => (
                File,
                icons::FOLDER_SIMPLE,
                keys(CTRL_ALT, Key::O),
                tr!("Open folder…"),
                tr!("Open a dataset folder, or build from a folder of files"),
            ),
            Action::OpenPath => (
                File,
                icons::LINK,
                keys(CTRL_SHIFT, Key::O),
                tr!("Open path or address…"),
                tr!("Type or paste a path, or an address: https://, s3://, gs://, az://"),
            ),
            Action::OpenRecent => (
                File,
                icons::CLOCK_COUNTER_CLOCKWISE,
                keys(CTRL, Key::P),
                tr!("Open recent"),
                tr!("Go to the list of recent datasets"),
            ),
            Action::Save => (
                File,
                icons::FLOPPY_DISK,
                keys(CTRL, Key::S),
                tr!("Save draft"),
                tr!("Save the draft to continue later"),
            ),
            Action::SaveAs => (
                File,
                icons::FLOPPY_DISK,
                keys(CTRL_SHIFT, Key::S),
                tr!("Save draft as…"),
                tr!("Save the draft under another name"),
            ),
            Action::Write => (
                File,
                icons::EXPORT,
                keys(CTRL, Key::E),
                tr!("Write dataset…"),
                tr!("Write a ZIP or FOLDER dataset"),
            ),
            Action::ExportSubset => (
                File,
                icons::FUNNEL,
                None,
                tr!("Export subset…"),
                tr!("Write the filtered samples as a new dataset"),
            ),
            Action::Describe => (
                File,
                icons::FILE_TEXT,
                None,
                tr!("Describe for catalogues…"),
                tr!("STAC, GeoParquet, Croissant, DataCite, data cards"),
            ),
            Action::Publish => (
                File,
                icons::CLOUD,
                None,
                tr!("Publish…"),
                tr!("Check the dataset, send it to a store, and open it from there"),
            ),
            Action::Close => (
                File,
                icons::X,
                keys(CTRL, Key::W),
                tr!("Close dataset"),
                tr!("Close the open dataset or draft"),
            ),
            Action::Quit => (
                File,
                icons::SIGN_OUT,
                keys(CTRL, Key::Q),
                tr!("Quit"),
                tr!("End the program"),
            ),
            Action::Undo => (
                Edit,
                icons::ARROW_U_UP_LEFT,
                keys(CTRL, Key::Z),
                tr!("Undo"),
                tr!("Take the last edit back"),
            ),
            Action::Redo => (
                Edit,
                icons::ARROW_U_UP_RIGHT,
                keys(CTRL_SHIFT, Key::Z),
                tr!("Redo"),
                tr!("Do the edit again"),
            ),
            Action::AddFiles => (
                Edit,
                icons::FILE,
                keys(CTRL_SHIFT, Key::A),
                tr!("Add files…"),
                tr!("Add files to the selected folder"),
            ),
            Action::AddFolder => (
                Edit,
                icons::FOLDER_SIMPLE_PLUS,
                None,
                tr!("Add folder…"),
                tr!("Add a folder and its contents"),
            ),
            Action::AddUnplaced => (
                Edit,
                icons::TRAY,
                None,
                tr!("Add unplaced files…"),
                tr!("Put files into the tray, to be placed later"),
            ),
            Action::AddUnplacedFolder => (
                Edit,
                icons::TRAY_ARROW_DOWN,
                None,
                tr!("Add unplaced folder…"),
                tr!("Put all files of a folder into the tray"),
            ),
            Action::Watch => (
                Edit,
                icons::EYE,
                None,
                tr!("Watch a folder…"),
                tr!("Add new files of a folder to the tray as they appear"),
            ),
            Action::JoinTable => (
                Edit,
                icons::TABLE,
                None,
                tr!("Join a table…"),
                tr!("Add the columns of a CSV, JSON or Parquet file to the samples"),
            ),
            Action::Place => (
                Edit,
                icons::ARROW_ELBOW_DOWN_RIGHT,
                keys(CTRL_SHIFT, Key::P),
                tr!("Place here"),
                tr!("Put the selected unplaced files into the selected slot or folder"),
            ),
            Action::Unplace => (
                Edit,
                icons::TRAY_ARROW_DOWN,
                None,
                tr!("Back to the unplaced files"),
                tr!("Take the selected samples out, and put their files among the unplaced ones"),
            ),
            Action::MatchPattern => (
                Edit,
                icons::MAGIC_WAND,
                keys(CTRL, Key::M),
                tr!("Match by pattern"),
                tr!("Find the places of the unplaced files by their names"),
            ),
            Action::Rename => (
                Edit,
                icons::PENCIL_SIMPLE,
                keys(Modifiers::NONE, Key::F2),
                tr!("Rename sample"),
                tr!("Change the id of the sample"),
            ),
            Action::Remove => (
                Edit,
                icons::TRASH,
                keys(Modifiers::NONE, Key::Delete),
                tr!("Remove sample"),
                tr!("Take the sample out. Files on disk stay"),
            ),
            Action::MoveUp => (
                Edit,
                icons::CARET_UP,
                keys(Modifiers::ALT, Key::ArrowUp),
                tr!("Move sample up"),
                tr!("One position earlier"),
            ),
            Action::MoveDown => (
                Edit,
                icons::CARET_DOWN,
                keys(Modifiers::ALT, Key::ArrowDown),
                tr!("Move sample down"),
                tr!("One position later"),
            ),
            Action::Nest => (
                Edit,
                icons::CARET_RIGHT,
                keys(Modifiers::ALT, Key::ArrowRight),
                tr!("Nest sample"),
                tr!("Move it into the folder above it"),
            ),
            Action::Unnest => (
                Edit,
                icons::CARET_LEFT,
                keys(Modifiers::ALT, Key::ArrowLeft),
                tr!("Un-nest sample"),
                tr!("Move it out of its folder, behind it"),
            ),
            Action::Group => (
                Edit,
                icons::STACK,
                keys(CTRL_SHIFT, Key::G),
                tr!("Group into a folder"),
                tr!("Make a folder of the selected samples"),
            ),
            Action::Dissolve => (
                Edit,
                icons::ARROWS_LEFT_RIGHT,
                None,
                tr!("Dissolve folder"),
                tr!("Replace the folder by its contents"),
            ),
            Action::Relocate => (
                Edit,
                icons::FOLDER_SIMPLE,
                None,
                tr!("Sources have moved…"),
                tr!("Look for the files of the draft in another folder"),
            ),
            Action::EditCopy => (
                Edit,
                icons::PENCIL_SIMPLE,
                keys(CTRL_SHIFT, Key::E),
                tr!("Edit as a draft"),
                tr!("Begin a draft with these samples; the dataset is not changed"),
            ),
            Action::SaveSample => (
                Edit,
                icons::DOWNLOAD_SIMPLE,
                None,
                tr!("Save sample as…"),
                tr!("Copy the sample's bytes into a file"),
            ),
            Action::Validate => (
                Check,
                icons::CHECK_CIRCLE,
                keys(Modifiers::NONE, Key::F7),
                tr!("Check dataset"),
                tr!("Check every rule"),
            ),
            Action::ValidateDeep => (
                Check,
                icons::SHIELD_CHECK,
                keys(Modifiers::SHIFT, Key::F7),
                tr!("Check every byte"),
                tr!("Check every rule and re-read all data"),
            ),
            Action::NextProblem => (
                Check,
                icons::CARET_RIGHT,
                keys(Modifiers::NONE, Key::F8),
                tr!("Next problem"),
                tr!("Select the next problem"),
            ),
            Action::PreviousProblem => (
                Check,
                icons::CARET_LEFT,
                keys(Modifiers::SHIFT, Key::F8),
                tr!("Previous problem"),
                tr!("Select the problem before"),
            ),
            Action::FixProblem => (
                Check,
                icons::MAGIC_WAND,
                keys(CTRL, Key::Period),
                tr!("Fix problem"),
                tr!("Apply the best fix of the selected problem"),
            ),
            Action::FixAlike => (
                Check,
                icons::MAGIC_WAND,
                keys(CTRL_ALT, Key::Period),
                tr!("Fix all like this…"),
                tr!(
                    "Apply the best fix of the selected problem to every root with the same \
                        problem, after a preview"
                ),
            ),
            Action::RunExtensions => (
                Edit,
                icons::PLAY,
                keys(Modifiers::NONE, Key::F5),
                tr!("Run extensions"),
                tr!("Compute the columns and fields of the ticked extensions"),
            ),
            Action::FixSafe => (
                Check,
                icons::MAGIC_WAND,
                keys(CTRL_SHIFT, Key::Period),
                tr!("Fix everything safe"),
                tr!("Apply every fix that removes nothing, in one step"),
            ),
            Action::Optimise => (
                Tools,
                icons::GAUGE,
                None,
                tr!("Optimise rasters…"),
                tr!(
                    "Write rasters as GeoTIFFs that are read with few requests; values never change"
                ),
            ),
            Action::Histograms => (
                Tools,
                icons::CHART_BAR,
                None,
                tr!("Histograms…"),
                tr!("Count the values of every raster in 100 bins, into a .tortilla"),
            ),
            Action::Percentiles => (
                Tools,
                icons::PERCENT,
                None,
                tr!("Percentiles…"),
                tr!("Compute percentiles of any selection from a .tortilla of histograms"),
            ),
            Action::Repair => (
                Tools,
                icons::FIRST_AID_KIT,
                None,
                tr!("Repair a copy…"),
                tr!(
                    "Write a copy in which faults with exactly one correction are corrected; \
                        sample bytes are copied unchanged"
                ),
            ),
            Action::Convert => (
                Tools,
                icons::ARROWS_LEFT_RIGHT,
                None,
                tr!("Convert ZIP or FOLDER…"),
                tr!("Write the dataset in another container, in parts, or join its parts"),
            ),
            Action::IndexZips => (
                Tools,
                icons::DATABASE,
                None,
                tr!("Index existing ZIPs…"),
                tr!("Write a TACOCAT or TACOLLECTION over ZIPs, which then open as one dataset"),
            ),
            Action::Migrate => (
                Tools,
                icons::ARROW_FAT_LINE_UP,
                None,
                tr!("Move to 2.0…"),
                tr!("Write a dataset of another generation as one of 2.0"),
            ),
            Action::PrepareTaco3 => (
                Tools,
                icons::ARROW_FAT_LINE_UP,
                None,
                tr!("Prepare for TACO 3…"),
                tr!(
                    "Write a folder from which the official library writes the dataset as TACO 3, \
                        and run it"
                ),
            ),
            Action::WriteOlder => (
                Tools,
                icons::CLOCK_COUNTER_CLOCKWISE,
                None,
                tr!("Write older generation…"),
                tr!("Write all or chosen samples as .tortilla (0.5) or .taco (0.2)"),
            ),
            Action::EditFooter => (
                Tools,
                icons::PENCIL_SIMPLE,
                None,
                tr!("Edit in place…"),
                tr!(
                    "Change columns and collection of a finished dataset, or turn a .tortilla into \
                        a .taco and back; samples stay"
                ),
            ),
            Action::OpenSeveral => (
                Tools,
                icons::STACK,
                None,
                tr!("Add dataset…"),
                tr!("Open several datasets as one, or name the folder of an index's parts"),
            ),
            Action::PadTo => (
                Tools,
                icons::CIRCLE_DASHED,
                None,
                tr!("Pad to a multiple…"),
                tr!(
                    "Append placeholders until the number of samples is a multiple of a batch size"
                ),
            ),
            Action::Sidecars => (
                Tools,
                icons::STACK,
                None,
                tr!("Sidecars of rasters…"),
                tr!(
                    "Pack masks, metadata and coordinates beside rasters, burn them in, or leave \
                        them"
                ),
            ),
            Action::Palette => (
                View,
                icons::COMMAND,
                keys(CTRL, Key::K),
                tr!("Command palette"),
                tr!("Search every command"),
            ),
            Action::GoToRow => (
                View,
                icons::ARROW_ELBOW_DOWN_RIGHT,
                keys(CTRL, Key::G),
                tr!("Go to row…"),
                tr!("Type a row number"),
            ),
            Action::NextRoot => (
                View,
                icons::CARET_DOWN,
                keys(CTRL, Key::ArrowDown),
                tr!("Same position, next root"),
                tr!("Select the sample at this position in the next root"),
            ),
            Action::PreviousRoot => (
                View,
                icons::CARET_UP,
                keys(CTRL, Key::ArrowUp),
                tr!("Same position, previous root"),
                tr!("Select the sample at this position in the previous root"),
            ),
            Action::NextBand => (
                View,
                icons::CARET_RIGHT,
                keys(CTRL, Key::ArrowRight),
                tr!("Next band"),
                tr!("Show the next band, or the next time or level of a cube"),
            ),
            Action::PreviousBand => (
                View,
                icons::CARET_LEFT,
                keys(CTRL, Key::ArrowLeft),
                tr!("Previous band"),
                tr!("Show the previous band, or the previous time or level of a cube"),
            ),
            Action::Filter => (
                View,
                icons::FUNNEL,
                keys(CTRL, Key::F),
                tr!("Filter" in "command"),
                tr!("Filter the hierarchy by id"),
            ),
            Action::ToggleLeft => (
                View,
                icons::SIDEBAR_SIMPLE,
                keys(CTRL, Key::B),
                tr!("Left panels"),
                tr!("Show or hide the hierarchy"),
            ),
            Action::ToggleRight => (
                View,
                icons::SIDEBAR_SIMPLE,
                keys(CTRL_ALT, Key::B),
                tr!("Right panels"),
                tr!("Show or hide sample and collection"),
            ),
            Action::ToggleBottom => (
                View,
                icons::TERMINAL_WINDOW,
                keys(CTRL, Key::J),
                tr!("Bottom panels"),
                tr!("Fold or unfold problems, jobs, log"),
            ),
            Action::ShowHierarchy => (
                View,
                icons::TREE_STRUCTURE,
                None,
                tr!("Hierarchy"),
                tr!("Show the tree of samples"),
            ),
            Action::ShowTable => (
                View,
                icons::TABLE,
                keys(CTRL, Key::Num1),
                tr!("Table"),
                tr!("Show the level table"),
            ),
            Action::ShowMap => (
                View,
                icons::MAP_TRIFOLD,
                keys(CTRL, Key::Num2),
                tr!("Map"),
                tr!("Show the samples on a map"),
            ),
            Action::ShowPreview => (
                View,
                icons::IMAGE,
                keys(CTRL, Key::Num3),
                tr!("Preview"),
                tr!("Show the selected raster"),
            ),
            Action::ShowGallery => (
                View,
                icons::SQUARES_FOUR,
                keys(CTRL, Key::Num4),
                tr!("Gallery"),
                tr!("Show a small picture of every sample"),
            ),
            Action::ShowQuery => (
                View,
                icons::DATABASE,
                keys(CTRL, Key::Num5),
                tr!("Query"),
                tr!("Select rows with SQL"),
            ),
            Action::ShowColumns => (
                View,
                icons::COLUMNS,
                None,
                tr!("Columns"),
                tr!("Show every column with a summary of its values"),
            ),
            Action::ShowStatistics => (
                View,
                icons::CHART_BAR,
                None,
                tr!("Statistics"),
                tr!("Show pooled statistics, classes and splits"),
            ),
            Action::ShowBytes => (
                View,
                icons::MEMORY,
                None,
                tr!("Bytes"),
                tr!("Show the layout of the container's bytes"),
            ),
            Action::ClearFilter => (
                View,
                icons::FUNNEL,
                None,
                tr!("Clear filter"),
                tr!("Show all rows again"),
            ),
            Action::ShowStructure => (
                View,
                icons::TREE_STRUCTURE,
                keys(CTRL, Key::Num6),
                tr!("Structure"),
                tr!("Compare every root with the pattern"),
            ),
            Action::ShowPattern => (
                View,
                icons::MAGIC_WAND,
                None,
                tr!("Pattern"),
                tr!("Show how the names of unplaced files give their places"),
            ),
            Action::ShowSample => (
                View,
                icons::FILE,
                None,
                tr!("Sample"),
                tr!("Show the fields of the selected sample"),
            ),
            Action::ShowCollection => (
                View,
                icons::BRACKETS_CURLY,
                None,
                tr!("Collection"),
                tr!("Show the form of the collection"),
            ),
            Action::ShowExtensions => (
                View,
                icons::PUZZLE_PIECE,
                keys(CTRL, Key::Num7),
                tr!("Extensions"),
                tr!("Compute columns from the samples"),
            ),
            Action::ShowPlan => (
                View,
                icons::STACK,
                None,
                tr!("Plan"),
                tr!("Show a plan of parts that several machines build, and its progress"),
            ),
            Action::ShowEngine => (
                View,
                icons::GAUGE,
                None,
                tr!("Engine"),
                tr!("Choose the engine that builds the parts of a plan, and write a plan"),
            ),
            Action::ShowPart => (
                View,
                icons::FILE_ZIP,
                None,
                tr!("Part"),
                tr!("Show attempts, log and failure of a part of the plan"),
            ),
            Action::ShowProblems => (
                View,
                icons::WARNING_OCTAGON,
                None,
                tr!("Problems"),
                tr!("Show the findings of the checks"),
            ),
            Action::ShowJobs => (
                View,
                icons::QUEUE,
                None,
                tr!("Jobs"),
                tr!("Show running jobs"),
            ),
            Action::ShowLog => (
                View,
                icons::TERMINAL_WINDOW,
                None,
                tr!("Log"),
                tr!("Show what happened"),
            ),
            Action::ShowSource => (
                View,
                icons::CLOUD,
                None,
                tr!("Source"),
                tr!("Show network requests and the cache"),
            ),
            Action::CancelJobs => (
                View,
                icons::STOP,
                None,
                tr!("Cancel running jobs"),
                tr!("Stop running jobs"),
            ),
            Action::ToggleTheme => (
                View,
                icons::MOON,
                None,
                tr!("Dark or light theme"),
                tr!("Switch between dark and light"),
            ),
            Action::ArrangeForBuilding => (
                View,
                icons::TABLE,
                None,
                tr!("Arrange for building"),
                tr!(
                    "The table over the width, with the fields beside it; also for the next \
                        documents of this kind"
                ),
            ),
            Action::ArrangeForExploring => (
                View,
                icons::IMAGE,
                None,
                tr!("Arrange for exploring"),
                tr!(
                    "The table beside the picture of the selected sample; also for the next \
                        documents of this kind"
                ),
            ),
            Action::ArrangeForChecking => (
                View,
                icons::CHECK,
                None,
                tr!("Arrange for checking"),
                tr!("The structure above the problems; also for the next documents of this kind"),
            ),
            Action::ResetLayout => (
                View,
                icons::SQUARES_FOUR,
                None,
                tr!("Reset layout"),
                tr!("Move every panel back to its default position"),
            ),
            Action::Settings => (
                View,
                icons::GEAR_SIX,
                keys(CTRL, Key::Comma),
                tr!("Settings…"),
                tr!("Theme, size, threads, network and cache"),
            ),
            Action::Tour => (
                Help,
                icons::PATH,
                None,
                tr!("Take the tour"),
                tr!("Eight steps through the sample dataset"),
            ),
            Action::Documentation => (
                Help,
                icons::BOOK_OPEN,
                None,
                tr!("Documentation"),
                tr!("Commands, rules and formats, without a network"),
            ),
            Action::Shortcuts => (
                Help,
                icons::KEYBOARD,
                keys(Modifiers::NONE, Key::F1),
                tr!("Keyboard shortcuts"),
                tr!("List the shortcuts"),
            ),
            Action::About => (
                Help,
                icons::INFO,
                None,
                tr!("About Taco Studio"),
                tr!("Version and licences"),
            ),
        };
        Info {
            menu,
            text,
            tooltip,
            icon,
            keys,
        }
    }
}
