//! Why a reading of paths gives no arrangement.

use std::fmt;

/// Two files that a reading gives one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutConflict {
    /// Indices of the files.
    pub files: [usize; 2],
}

impl fmt::Display for LayoutConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "files {} and {} have one place",
            self.files[0], self.files[1]
        )
    }
}

/// Cells that an arrangement may have per file with a place; all have memory, and become samples.
const CELLS_PER_FILE: usize = 8;
/// As [`CELLS_PER_FILE`], of series: most places have fewer dates than the longest series.
const CELLS_PER_DATED_FILE: usize = 32;
/// Cells that an arrangement of any number of files may have.
const CELLS_ALLOWED: usize = 1_000_000;

/// An arrangement of which nearly all cells would be padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseArrangement {
    /// Number of roots.
    pub roots: usize,
    /// Number of positions of each.
    pub positions: usize,
    /// Number of files with a place.
    pub placed: usize,
    /// True when positions are in order of dates.
    pub by_date: bool,
}

impl SparseArrangement {
    /// True when the cells are too many for the files that fill them.
    pub(super) fn is_refused(&self) -> bool {
        let per_file = if self.by_date {
            CELLS_PER_DATED_FILE
        } else {
            CELLS_PER_FILE
        };
        let allowed = self.placed.saturating_mul(per_file);
        self.roots.saturating_mul(self.positions) > allowed.max(CELLS_ALLOWED)
    }
}

impl fmt::Display for SparseArrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.roots.saturating_mul(self.positions).max(1);
        write!(f, "{} roots of {} positions", self.roots, self.positions)?;
        match self.placed.saturating_mul(100) / cells {
            0 => f.write_str(", of which less than 1 % have a file"),
            percent => write!(f, ", of which {percent} % have a file"),
        }
    }
}

/// Why a reading gives no arrangement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutRefusal {
    /// Two files have one place.
    SamePlace(LayoutConflict),
    /// The files have little in common.
    TooSparse(SparseArrangement),
}

impl From<LayoutConflict> for LayoutRefusal {
    fn from(conflict: LayoutConflict) -> Self {
        Self::SamePlace(conflict)
    }
}
