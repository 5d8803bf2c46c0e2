//! The nine fields of responsible AI of TACO 0.2: their columns, units and the public data that the text names for each. The data is the
//! user's own copy; a preset fills in what describes it.

/// A field of responsible AI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaiPreset {
    /// Name in the option `preset`.
    pub name: &'static str,
    /// Column.
    pub column: &'static str,
    /// What it is, with its unit and the data that it comes from.
    pub description: &'static str,
    /// Attribute with the names, where the data is a layer of polygons.
    pub field: Option<&'static str>,
}

const fn raster(name: &'static str, column: &'static str, description: &'static str) -> RaiPreset {
    RaiPreset { name, column, description, field: None }
}

/// Boundaries of geoBoundaries have the name in the attribute `shapeName`.
const fn boundary(name: &'static str, column: &'static str, description: &'static str) -> RaiPreset {
    RaiPreset { name, column, description, field: Some("shapeName") }
}

/// All presets, in the order of the text.
pub const RAI_PRESETS: [RaiPreset; 9] = [
    raster("elevation", "rai:elevation", "Elevation in metres (Copernicus DEM, doi:10.5069/G9028PQB)"),
    raster("cisi", "rai:cisi", "Critical Infrastructure Spatial Index, 0 to 1 (doi:10.1038/s41597-022-01218-4)"),
    raster("gdp", "rai:gdp", "Gross domestic product in USD per year (doi:10.1038/sdata.2018.4)"),
    raster("hdi", "rai:hdi", "Human Development Index, 0 to 1 (doi:10.1038/sdata.2018.4)"),
    raster("gmi", "rai:gmi", "Global human modification index, 0 to 1 (doi:10.5194/essd-12-1953-2020)"),
    raster("pop", "rai:pop", "Population, persons per cell of 1 km (LandScan, doi:10.48690/1531770)"),
    boundary("admin0", "rai:admin0", "Country (geoBoundaries ADM0, doi:10.1371/journal.pone.0231866)"),
    boundary("admin1", "rai:admin1", "District (geoBoundaries ADM1, doi:10.1371/journal.pone.0231866)"),
    boundary("admin2", "rai:admin2", "Municipality (geoBoundaries ADM2, doi:10.1371/journal.pone.0231866)"),
];

/// The preset called `name`.
pub fn rai_preset(name: &str) -> Option<&'static RaiPreset> {
    RAI_PRESETS.iter().find(|preset| preset.name == name)
}
