//! Presets for the nine fields of responsible AI of TACO 0.2, and for fields of climate and soil
//! with the names of the official tools. A preset has the column name, the unit and the public
//! source of the data; the user gives the path of a copy of the data.

/// A field of responsible AI, climate or soil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaiPreset {
    /// Value of the option `preset`.
    pub name: &'static str,
    /// Name of the column.
    pub column: &'static str,
    /// Description with unit and source data.
    pub description: &'static str,
    /// The attribute of the polygons that has the value; `None` when the data is a raster.
    pub field: Option<&'static str>,
}

const fn raster_preset(
    name: &'static str,
    column: &'static str,
    description: &'static str,
) -> RaiPreset {
    RaiPreset {
        name,
        column,
        description,
        field: None,
    }
}

/// A preset for a polygon layer of geoBoundaries, which has the names in the attribute `shapeName`.
const fn boundary_preset(
    name: &'static str,
    column: &'static str,
    description: &'static str,
) -> RaiPreset {
    RaiPreset {
        name,
        column,
        description,
        field: Some("shapeName"),
    }
}

/// All presets: those of the specification, in its order, then climate and soil.
pub const RAI_PRESETS: [RaiPreset; 17] = [
    raster_preset(
        "elevation",
        "rai:elevation",
        "Elevation in metres (Copernicus DEM, doi:10.5069/G9028PQB)",
    ),
    raster_preset(
        "cisi",
        "rai:cisi",
        "Critical Infrastructure Spatial Index, 0 to 1 (doi:10.1038/s41597-022-01218-4)",
    ),
    raster_preset(
        "gdp",
        "rai:gdp",
        "Gross domestic product in USD per year (doi:10.1038/sdata.2018.4)",
    ),
    raster_preset(
        "hdi",
        "rai:hdi",
        "Human Development Index, 0 to 1 (doi:10.1038/sdata.2018.4)",
    ),
    raster_preset(
        "gmi",
        "rai:gmi",
        "Global human modification index, 0 to 1 (doi:10.5194/essd-12-1953-2020)",
    ),
    raster_preset(
        "pop",
        "rai:pop",
        "Population, persons per cell of 1 km (LandScan, doi:10.48690/1531770)",
    ),
    boundary_preset(
        "admin0",
        "rai:admin0",
        "Country (geoBoundaries ADM0, doi:10.1371/journal.pone.0231866)",
    ),
    boundary_preset(
        "admin1",
        "rai:admin1",
        "District (geoBoundaries ADM1, doi:10.1371/journal.pone.0231866)",
    ),
    boundary_preset(
        "admin2",
        "rai:admin2",
        "Municipality (geoBoundaries ADM2, doi:10.1371/journal.pone.0231866)",
    ),
    raster_preset(
        "precipitation",
        "geoenrich:precipitation",
        "Annual precipitation in mm (WorldClim 2.1 BIO12, doi:10.1002/joc.5086)",
    ),
    raster_preset(
        "temperature",
        "geoenrich:temperature",
        "Mean annual temperature in degrees Celsius (WorldClim 2.1 BIO1, doi:10.1002/joc.5086)",
    ),
    raster_preset(
        "soil_clay",
        "geoenrich:soil_clay",
        "Clay content at the surface in percent of mass (OpenLandMap, doi:10.5281/zenodo.2525663)",
    ),
    raster_preset(
        "soil_sand",
        "geoenrich:soil_sand",
        "Sand content at the surface in percent of mass (OpenLandMap, doi:10.5281/zenodo.2525662)",
    ),
    raster_preset(
        "soil_carbon",
        "geoenrich:soil_carbon",
        "Organic carbon at the surface in units of 5 g/kg (OpenLandMap, \
            doi:10.5281/zenodo.2525553)",
    ),
    raster_preset(
        "soil_water",
        "geoenrich:soil_water",
        "Water content at 33 kPa at the surface in percent of volume (OpenLandMap, \
            doi:10.5281/zenodo.2784001)",
    ),
    raster_preset(
        "soil_bulk_density",
        "geoenrich:soil_bulk_density",
        "Bulk density of fine earth at the surface in units of 10 kg/m3 (OpenLandMap, \
            doi:10.5281/zenodo.2525665)",
    ),
    raster_preset(
        "soil_ph",
        "geoenrich:soil_ph",
        "Soil pH in water at the surface, times 10 (OpenLandMap, doi:10.5281/zenodo.2525664)",
    ),
];

/// The preset with this name.
pub fn find_rai_preset(name: &str) -> Option<&'static RaiPreset> {
    RAI_PRESETS.iter().find(|preset| preset.name == name)
}
