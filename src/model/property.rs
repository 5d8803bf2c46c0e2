//! Properties of rasters that are compared at each position of the tree.

use std::collections::BTreeSet;

use super::{Rule, RuleSettings};

/// A property of a raster that is compared at each position.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RasterProperty {
    /// GDAL's data types of the bands.
    DataType,
    /// Number of bands.
    Bands,
    /// Columns and rows.
    Size,
    /// Coordinate reference system, compared with that of the first raster of the root.
    Crs,
    /// Size of a pixel in units of the ground.
    PixelSize,
    /// Nodata values of the bands.
    Nodata,
    /// Share of the footprint of the root's first raster that the raster covers.
    Overlap,
    /// Start time, compared with that of the previous sibling.
    TimeOrder,
}

impl RasterProperty {
    /// All properties, in the order in which tables show them.
    pub const ALL: [RasterProperty; 8] = [
        RasterProperty::DataType,
        RasterProperty::Bands,
        RasterProperty::Size,
        RasterProperty::Crs,
        RasterProperty::PixelSize,
        RasterProperty::Nodata,
        RasterProperty::Overlap,
        RasterProperty::TimeOrder,
    ];

    /// The rule whose findings report that rasters differ in this property.
    pub fn rule(self) -> Rule {
        match self {
            RasterProperty::DataType => Rule::ConsistentType,
            RasterProperty::Bands => Rule::ConsistentBands,
            RasterProperty::Size => Rule::ConsistentSize,
            RasterProperty::Crs => Rule::ConsistentCrs,
            RasterProperty::PixelSize => Rule::ConsistentPixelSize,
            RasterProperty::Nodata => Rule::ConsistentNodata,
            RasterProperty::Overlap => Rule::ConsistentOverlap,
            RasterProperty::TimeOrder => Rule::ConsistentTimes,
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
            RasterProperty::DataType => "dtype",
            RasterProperty::Bands => "bands",
            RasterProperty::Size => "size",
            RasterProperty::Crs => "crs",
            RasterProperty::PixelSize => "pixel_size",
            RasterProperty::Nodata => "nodata",
            RasterProperty::Overlap => "overlap",
            RasterProperty::TimeOrder => "time_order",
        }
    }

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            RasterProperty::DataType => tr!("Data type"),
            RasterProperty::Bands => tr!("Bands"),
            RasterProperty::Size => tr!("Size"),
            RasterProperty::Crs => tr!("CRS"),
            RasterProperty::PixelSize => tr!("Pixel size"),
            RasterProperty::Nodata => tr!("Nodata"),
            RasterProperty::Overlap => tr!("Overlap with siblings"),
            RasterProperty::TimeOrder => tr!("Order in time"),
        }
    }

    /// Index in [`RasterProperty::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

impl RuleSettings {
    /// Properties whose rules are switched off.
    pub fn properties_off(&self) -> BTreeSet<RasterProperty> {
        RasterProperty::ALL
            .into_iter()
            .filter(|property| self.is_off(property.rule()))
            .collect()
    }
}
