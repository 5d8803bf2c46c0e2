//! Pattern by example: from files that somebody put into places to the pattern in the names, and from there to the places of all
//! other files of the tray. What the names leave open is asked, never guessed.

mod cohort;
mod grouping;
mod name;
mod placing;
mod reading;
#[cfg(test)]
mod tests;

pub use name::TokenKind;
pub use placing::place_by_pattern;
pub use reading::find_pattern;

use std::path::PathBuf;
use std::sync::Arc;

/// A file of the tray with the place that somebody gave it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The file.
    pub file: PathBuf,
    /// Id of the root; made when there is none.
    pub root: Arc<str>,
    /// Ids below the root, the sample's own last. Empty when the root itself is the FILE.
    #[serde(default)]
    pub position: Vec<Arc<str>>,
}

/// What a token of the names decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRole {
    /// The same in all names that fit.
    Fixed,
    /// To which root a file belongs.
    Root,
    /// Which position it takes there.
    Position,
    /// Nothing.
    Free,
}

/// One token of the pattern, for chips: `T32TQM` tile → root.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PatternToken {
    /// What stands there in the first example.
    pub text: String,
    /// What stands before it.
    pub before: String,
    /// What it looks like.
    pub kind: TokenKind,
    /// What it decides.
    pub role: TokenRole,
}

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Placement {
    /// Id of the root.
    pub root: Arc<str>,
    /// Ids below the root.
    pub position: Vec<Arc<str>>,
    /// Place of the file in the tray.
    pub file: u32,
}

/// A file that does not fit, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Nearly {
    /// Place of the file in the tray.
    pub file: u32,
    /// What keeps it out.
    pub why: String,
}

/// One way to read the names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Alternative {
    /// "root by tile, date · position by band".
    pub label: String,
    /// The tokens of the first example.
    pub tokens: Vec<PatternToken>,
    /// Where files go, by root and position.
    pub placed: Vec<Placement>,
    /// Number of roots that get files.
    pub roots: usize,
    /// Roots that are made.
    pub new_roots: usize,
    /// Positions with the number of files for each, in order.
    pub positions: Vec<(Vec<Arc<str>>, usize)>,
    /// Files whose names are close to the pattern.
    pub nearly: Vec<Nearly>,
    /// Files that have nothing to do with it, by place in the tray.
    pub left_over: Vec<u32>,
}

/// What the examples lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PatternReport {
    /// One when the names leave nothing open; several are to be asked about, best first; none with a reason in `trouble`.
    pub alternatives: Vec<Alternative>,
    /// Why there is no pattern.
    pub trouble: Option<String>,
}
