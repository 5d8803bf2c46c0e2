//! Pattern by example: derives the pattern of file names from a few placed files, and from it the
//! positions of all other files of the tray. Ambiguities are returned to the user, never guessed.

mod cohort;
mod grouping;
mod name;
mod placing;
mod reader;
mod reading;
#[cfg(test)]
mod tests;

pub use name::TokenKind;
pub(super) use name::{TokenizedPath, natural_key};
pub use placing::place_by_pattern;
pub use reading::find_pattern;

use std::path::PathBuf;
use std::sync::Arc;

/// A file of the tray and the position that the user gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub file: PathBuf,
    /// Id of the root, which is created when it does not exist.
    pub root: Arc<str>,
    /// Ids below the root, ending with the sample's own. Empty when the root itself is the FILE.
    #[serde(default)]
    pub position: Vec<Arc<str>>,
}

/// Part of the structure that a token of the names determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRole {
    /// Constant: the same in all matching names.
    Fixed,
    /// The root of a file.
    Root,
    /// The position within the root.
    Position,
    /// Nothing.
    Free,
}

/// One token of the pattern, shown as a chip: `T32TQM` tile → root.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PatternToken {
    /// Its text in the first example.
    pub text: String,
    /// The text before it.
    pub before: String,
    pub kind: TokenKind,
    /// Part of the structure that it determines.
    pub role: TokenRole,
}

/// Position of one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Placement {
    /// Id of the root.
    pub root: Arc<str>,
    /// Ids below the root.
    pub position: Vec<Arc<str>>,
    /// Index of the file in the tray.
    pub file: u32,
}

/// A file that almost matches, and the reason why it does not.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Nearly {
    /// Index of the file in the tray.
    pub file: u32,
    /// The reason, for the user.
    pub why: String,
}

/// One reading of the names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Alternative {
    /// "root by tile, date · position by band".
    pub label: String,
    /// Tokens of the first example.
    pub tokens: Vec<PatternToken>,
    /// Positions of the files, sorted by root and position.
    pub placed: Vec<Placement>,
    /// Number of roots that receive files.
    pub roots: usize,
    /// Number of roots that are created.
    pub new_roots: usize,
    /// Positions in order, each with its number of files.
    pub positions: Vec<(Vec<Arc<str>>, usize)>,
    /// Files that almost match.
    pub nearly: Vec<Nearly>,
    /// Files that do not match, by index in the tray.
    pub left_over: Vec<u32>,
}

/// Result of [`find_pattern`].
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PatternReport {
    /// One when the names are unambiguous; several, best first, to choose from; none when `trouble`
    /// has the reason.
    pub alternatives: Vec<Alternative>,
    /// Why there is no pattern, for the user.
    pub trouble: Option<String>,
}
