//! Settings of the check by position, kept with the project.

use crate::model::{AcceptedValue, RasterProperty};
use crate::validate::ConsistencyOptions;

/// How rasters are compared, and what was accepted. Kept with the project.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ConsistencySettings {
    /// Largest difference of equal pixel sizes in thousandths of the common pixel size; 1 when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Properties that are not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<RasterProperty>,
    /// Values that are no outliers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedValue>,
}

impl ConsistencySettings {
    /// Tolerance as a fraction of the common pixel size.
    pub fn fraction(&self) -> f64 {
        self.tolerance
            .filter(|tolerance| tolerance.is_finite() && *tolerance >= 0.0)
            .unwrap_or(1.0)
            / 1000.0
    }

    pub(super) fn options(&self, cached_only: bool) -> ConsistencyOptions {
        ConsistencyOptions {
            tolerance: self.fraction(),
            skipped_properties: self.without.iter().copied().collect(),
            accepted: self.accepted.clone(),
            cached_only,
        }
    }
}
