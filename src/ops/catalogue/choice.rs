//! The choice of items and assets.

/// Which items and assets of a catalogue become samples.
#[derive(
    Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct CatalogueChoice {
    /// Keys of the assets, as patterns with `*` and `?`; empty for those that hold data: neither
    /// thumbnails nor metadata.
    #[serde(default)]
    pub assets: Vec<String>,
    /// Number of items; 100,000 without.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Items whose footprint touches this box: west, south, east and north in degrees; west greater
    /// than east crosses the antimeridian.
    #[serde(default)]
    pub bbox: Option<[f64; 4]>,
    /// Items of these days or times, as `2021-01-01/2021-12-31`, `2021-01-01/..` or one day.
    #[serde(default)]
    pub datetime: Option<String>,
    /// Ids of the collections whose items are taken; empty for all.
    #[serde(default)]
    pub collections: Vec<String>,
}
