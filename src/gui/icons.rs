//! Phosphor's code points for the icons that the studio uses. Only names and numbers; the font is
//! `assets/fonts/Phosphor.ttf`.

/// `tree-structure`.
pub const TREE_STRUCTURE: &str = "\u{E67C}";
/// `stack`.
pub const STACK: &str = "\u{E466}";
/// `image`.
pub const IMAGE: &str = "\u{E2CA}";
/// `file`.
pub const FILE: &str = "\u{E230}";
/// `circle-dashed`.
pub const CIRCLE_DASHED: &str = "\u{E602}";
/// `package`.
pub const PACKAGE: &str = "\u{E390}";
/// `file-zip`.
pub const FILE_ZIP: &str = "\u{E958}";
/// `folder-simple`.
pub const FOLDER_SIMPLE: &str = "\u{E25A}";
/// `database`.
pub const DATABASE: &str = "\u{E1DE}";
/// `cloud`.
pub const CLOUD: &str = "\u{E1AA}";
/// `tray`.
pub const TRAY: &str = "\u{E4AA}";
/// `table`.
pub const TABLE: &str = "\u{E476}";
/// `map-trifold`.
pub const MAP_TRIFOLD: &str = "\u{E31A}";
/// `squares-four`.
pub const SQUARES_FOUR: &str = "\u{E464}";
/// `puzzle-piece`.
pub const PUZZLE_PIECE: &str = "\u{E596}";
/// `warning-octagon`.
pub const WARNING_OCTAGON: &str = "\u{E4E4}";
/// `queue`.
pub const QUEUE: &str = "\u{E6AC}";
/// `terminal-window`.
pub const TERMINAL_WINDOW: &str = "\u{EAE8}";
/// `check`.
pub const CHECK: &str = "\u{E182}";
/// `check-circle`.
pub const CHECK_CIRCLE: &str = "\u{E184}";
/// `warning`.
pub const WARNING: &str = "\u{E4E0}";
/// `info`.
pub const INFO: &str = "\u{E2CE}";
/// `circle-notch`.
pub const CIRCLE_NOTCH: &str = "\u{EB44}";
/// `clock`.
pub const CLOCK: &str = "\u{E19A}";
/// `lock-simple`.
pub const LOCK_SIMPLE: &str = "\u{E308}";
/// `plus`.
pub const PLUS: &str = "\u{E3D4}";
/// `folder-open`.
pub const FOLDER_OPEN: &str = "\u{E256}";
/// `floppy-disk`.
pub const FLOPPY_DISK: &str = "\u{E248}";
/// `export`.
pub const EXPORT: &str = "\u{EAF0}";
/// `arrow-u-up-left`.
pub const ARROW_U_UP_LEFT: &str = "\u{E08A}";
/// `arrow-u-up-right`.
pub const ARROW_U_UP_RIGHT: &str = "\u{E08C}";
/// `magnifying-glass`.
pub const MAGNIFYING_GLASS: &str = "\u{E30C}";
/// `funnel`.
pub const FUNNEL: &str = "\u{E266}";
/// `columns`.
pub const COLUMNS: &str = "\u{E546}";
/// `magic-wand`.
pub const MAGIC_WAND: &str = "\u{E6B6}";
/// `pencil-simple`.
pub const PENCIL_SIMPLE: &str = "\u{E3B4}";
/// `arrows-down-up`.
pub const ARROWS_DOWN_UP: &str = "\u{E098}";
/// `arrows-left-right`.
pub const ARROWS_LEFT_RIGHT: &str = "\u{E0A0}";
/// `trash`.
pub const TRASH: &str = "\u{E4A6}";
/// `x`.
pub const X: &str = "\u{E4F6}";
/// `play`.
pub const PLAY: &str = "\u{E3D0}";
/// `pause`.
pub const PAUSE: &str = "\u{E39E}";
/// `arrow-clockwise`.
pub const ARROW_CLOCKWISE: &str = "\u{E036}";
/// `copy`.
pub const COPY: &str = "\u{E1CA}";
/// `code`.
pub const CODE: &str = "\u{E1BC}";
/// `download-simple`.
pub const DOWNLOAD_SIMPLE: &str = "\u{E20C}";
/// `eye`.
pub const EYE: &str = "\u{E220}";
/// `push-pin`.
pub const PUSH_PIN: &str = "\u{E3E2}";
/// `crosshair`.
pub const CROSSHAIR: &str = "\u{E1D6}";
/// `corners-out`.
pub const CORNERS_OUT: &str = "\u{E1D0}";
/// `bounding-box`.
pub const BOUNDING_BOX: &str = "\u{E6CE}";
/// `hand`.
pub const HAND: &str = "\u{E298}";
/// `cursor`.
pub const CURSOR: &str = "\u{E1DC}";
/// `gear-six`.
pub const GEAR_SIX: &str = "\u{E272}";
/// `sun`.
pub const SUN: &str = "\u{E472}";
/// `moon`.
pub const MOON: &str = "\u{E330}";
/// `caret-down`.
pub const CARET_DOWN: &str = "\u{E136}";
/// `caret-right`.
pub const CARET_RIGHT: &str = "\u{E13A}";
/// `caret-up`.
pub const CARET_UP: &str = "\u{E13C}";
/// `caret-left`.
pub const CARET_LEFT: &str = "\u{E138}";
/// `list`.
pub const LIST: &str = "\u{E2F0}";
/// `link`.
pub const LINK: &str = "\u{E2E2}";
/// `flask`.
pub const FLASK: &str = "\u{E79E}";
/// `path`.
pub const PATH: &str = "\u{E39C}";
/// `tray-arrow-down`.
pub const TRAY_ARROW_DOWN: &str = "\u{E010}";
/// `file-csv`.
pub const FILE_CSV: &str = "\u{EB1C}";
/// `file-text`.
pub const FILE_TEXT: &str = "\u{E23A}";
/// `brackets-curly`.
pub const BRACKETS_CURLY: &str = "\u{E860}";
/// `hard-drives`.
pub const HARD_DRIVES: &str = "\u{E2A0}";
/// `memory`.
pub const MEMORY: &str = "\u{E9C4}";
/// `minus`.
pub const MINUS: &str = "\u{E32A}";
/// `dots-three`.
pub const DOTS_THREE: &str = "\u{E1FE}";
/// `arrow-elbow-down-right`.
pub const ARROW_ELBOW_DOWN_RIGHT: &str = "\u{E046}";
/// `keyboard`.
pub const KEYBOARD: &str = "\u{E2D8}";
/// `sidebar-simple`.
pub const SIDEBAR_SIMPLE: &str = "\u{EC24}";
/// `clipboard-text`.
pub const CLIPBOARD_TEXT: &str = "\u{E198}";
/// `command`.
pub const COMMAND: &str = "\u{E1C4}";
/// `palette`.
pub const PALETTE: &str = "\u{E6C8}";
/// `stop`.
pub const STOP: &str = "\u{E46C}";
/// `sign-out`.
pub const SIGN_OUT: &str = "\u{E42A}";
/// `folder-simple-plus`.
pub const FOLDER_SIMPLE_PLUS: &str = "\u{E25E}";
/// `text-t`.
pub const TEXT_T: &str = "\u{E48A}";
/// `polygon`.
pub const POLYGON: &str = "\u{E6D0}";
/// `clock-counter-clockwise`.
pub const CLOCK_COUNTER_CLOCKWISE: &str = "\u{E1A0}";
/// `arrow-square-out`.
pub const ARROW_SQUARE_OUT: &str = "\u{E5DE}";
/// `selection-plus`.
pub const SELECTION_PLUS: &str = "\u{E69C}";
/// `question`.
pub const QUESTION: &str = "\u{E3E8}";
/// `hash`.
pub const HASH: &str = "\u{E2A2}";
/// `chart-bar`.
pub const CHART_BAR: &str = "\u{E150}";
/// `monitor`.
pub const MONITOR: &str = "\u{E32E}";
/// `gauge`.
pub const GAUGE: &str = "\u{E628}";
/// `shield-check`.
pub const SHIELD_CHECK: &str = "\u{E40C}";
/// `first-aid-kit`.
pub const FIRST_AID_KIT: &str = "\u{E570}";
/// `percent`.
pub const PERCENT: &str = "\u{E3B6}";
/// `arrow-fat-line-up`.
pub const ARROW_FAT_LINE_UP: &str = "\u{E522}";
/// `wrench`.
pub const WRENCH: &str = "\u{E5D4}";
/// `book-open`.
pub const BOOK_OPEN: &str = "\u{E0E6}";
/// `translate`.
pub const TRANSLATE: &str = "\u{E4A2}";

/// Every icon above, for the test that each has a glyph.
pub const ALL: &[&str] = &[
    TREE_STRUCTURE,
    STACK,
    IMAGE,
    FILE,
    CIRCLE_DASHED,
    PACKAGE,
    FILE_ZIP,
    FOLDER_SIMPLE,
    DATABASE,
    CLOUD,
    TRAY,
    TABLE,
    MAP_TRIFOLD,
    SQUARES_FOUR,
    PUZZLE_PIECE,
    WARNING_OCTAGON,
    QUEUE,
    TERMINAL_WINDOW,
    CHECK,
    CHECK_CIRCLE,
    WARNING,
    INFO,
    CIRCLE_NOTCH,
    CLOCK,
    LOCK_SIMPLE,
    PLUS,
    FOLDER_OPEN,
    FLOPPY_DISK,
    EXPORT,
    ARROW_U_UP_LEFT,
    ARROW_U_UP_RIGHT,
    MAGNIFYING_GLASS,
    FUNNEL,
    COLUMNS,
    MAGIC_WAND,
    PENCIL_SIMPLE,
    ARROWS_DOWN_UP,
    ARROWS_LEFT_RIGHT,
    TRASH,
    X,
    PLAY,
    PAUSE,
    ARROW_CLOCKWISE,
    COPY,
    CODE,
    DOWNLOAD_SIMPLE,
    EYE,
    PUSH_PIN,
    CROSSHAIR,
    CORNERS_OUT,
    BOUNDING_BOX,
    HAND,
    CURSOR,
    GEAR_SIX,
    SUN,
    MOON,
    CARET_DOWN,
    CARET_RIGHT,
    CARET_UP,
    CARET_LEFT,
    LIST,
    LINK,
    FLASK,
    PATH,
    TRAY_ARROW_DOWN,
    FILE_CSV,
    FILE_TEXT,
    BRACKETS_CURLY,
    HARD_DRIVES,
    MEMORY,
    MINUS,
    DOTS_THREE,
    ARROW_ELBOW_DOWN_RIGHT,
    KEYBOARD,
    SIDEBAR_SIMPLE,
    CLIPBOARD_TEXT,
    COMMAND,
    PALETTE,
    STOP,
    SIGN_OUT,
    FOLDER_SIMPLE_PLUS,
    TEXT_T,
    POLYGON,
    CLOCK_COUNTER_CLOCKWISE,
    ARROW_SQUARE_OUT,
    SELECTION_PLUS,
    QUESTION,
    MONITOR,
    GAUGE,
    SHIELD_CHECK,
    FIRST_AID_KIT,
    PERCENT,
    ARROW_FAT_LINE_UP,
    WRENCH,
    BOOK_OPEN,
    TRANSLATE,
    HASH,
    CHART_BAR,
];

/// The icon for a file name by its extension. A name without extension counts as a raster.
pub fn of_file(name: &str) -> &'static str {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        None
        | Some(
            "tif" | "tiff" | "jp2" | "png" | "jpg" | "jpeg" | "nc" | "h5" | "vrt" | "webp" | "img"
            | "grib",
        ) => IMAGE,
        Some("csv" | "parquet") => FILE_CSV,
        Some("json" | "geojson") => BRACKETS_CURLY,
        Some("txt" | "md" | "pdf") => FILE_TEXT,
        Some("zip" | "tacozip") => FILE_ZIP,
        _ => FILE,
    }
}
