//! The tools that have a dialog of their own. Imports nothing, so that actions can name them.

/// A tool with this dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Rasters as TACO Optimized GeoTIFFs.
    Optimise,
    /// A tortilla of histograms.
    Histograms,
    /// Percentiles from histograms.
    Percentiles,
    /// A copy without faults.
    Repair,
    /// Another container.
    Convert,
    /// An index over ZIPs.
    Index,
    /// A TORTILLA or TACO of the first generation.
    Older,
    /// A folder from which the official library writes TACO 3.
    PrepareTaco3,
    /// Columns and collection of a finished dataset.
    Footer,
    /// Several datasets opened as one.
    Several,
    /// Placeholders up to a multiple of a number.
    PadTo,
    /// What is done with the sidecars of a draft's rasters.
    Sidecars,
}
