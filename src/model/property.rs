//! Properties of rasters that are compared at each position of the tree.

use std::collections::BTreeSet;

use super::{Rule, RuleSettings};

/// A property of a raster that is compared at each position.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// GDAL's data types of the bands.
    DataType,
    /// Number of bands.
    Bands,
    /// Columns and rows.
    Size,
    /// Coordinate reference system, compared with the first raster of the root.
    Crs,
    /// Size of a pixel on the ground.
    PixelSize,
    /// Nodata values of the bands.
    Nodata,
    /// Share of the first raster's ground that the raster covers.
    Overlap,
    /// Start time, compared with that of the sibling before it.
    TimeOrder,
}

impl Property {
    /// All properties, in the order of columns.
    pub const ALL: [Property; 8] = [
        Property::DataType,
        Property::Bands,
        Property::Size,
        Property::Crs,
        Property::PixelSize,
        Property::Nodata,
        Property::Overlap,
        Property::TimeOrder,
    ];

    /// Rule of its findings.
    pub fn rule(self) -> Rule {
        match self {
            Property::DataType => Rule::ConsistentType,
            Property::Bands => Rule::ConsistentBands,
            Property::Size => Rule::ConsistentSize,
            Property::Crs => Rule::ConsistentCrs,
            Property::PixelSize => Rule::ConsistentPixelSize,
            Property::Nodata => Rule::ConsistentNodata,
            Property::Overlap => Rule::ConsistentOverlap,
            Property::TimeOrder => Rule::ConsistentTimes,
        }
    }

    /// The property of this rule's findings, if it is a rule of consistency.
    pub fn of_rule(rule: Rule) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|property| property.rule() == rule)
    }

    /// Name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Property::DataType => "dtype",
            Property::Bands => "bands",
            Property::Size => "size",
            Property::Crs => "crs",
            Property::PixelSize => "pixel_size",
            Property::Nodata => "nodata",
            Property::Overlap => "overlap",
            Property::TimeOrder => "time_order",
        }
    }

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Property::DataType => tr!("Data type"),
            Property::Bands => tr!("Bands"),
            Property::Size => tr!("Size"),
            Property::Crs => tr!("CRS"),
            Property::PixelSize => tr!("Pixel size"),
            Property::Nodata => tr!("Nodata"),
            Property::Overlap => tr!("Overlap with siblings"),
            Property::TimeOrder => tr!("Order in time"),
        }
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

impl RuleSettings {
    /// Properties whose rules are switched off.
    pub fn properties_off(&self) -> BTreeSet<Property> {
        Property::ALL
            .into_iter()
            .filter(|property| self.is_off(property.rule()))
            .collect()
    }
}
