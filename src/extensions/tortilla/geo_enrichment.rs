//! Columns with values at the samples' centroids: from rasters and polygon layers given by the
//! user, and the country. Source file, band, sampling method and date are in the column's
//! description.

use std::sync::OnceLock;

use arrow::datatypes::DataType;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, TortillaExtension,
    TortillaView, parse_options,
};
use super::countries::{Country, country_at, read_countries};
use super::rai_presets::{RAI_PRESETS, find_rai_preset};
use super::spatial_grouping::z_order;
use super::{places_in, polygons};
use crate::error::{Error, Result};
use crate::footprint::{self, Detail, StatedLocation, StatedLocationReader};
use crate::jobs::JobContext;
use crate::model::{AssetPath, FieldSpec, Value, check_field_name};
use crate::raster::{
    AreaOfDegrees, AreaStatistic, BandIndex, PointSampling, RasterSource, attribute_at, raster_at,
    raster_in,
};

/// The extension `geo_enrichment`.
pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "geo_enrichment",
    title: mark!("Values at the location"),
    summary: mark!(
        "Samples given rasters and polygons at the centroid of each sample, and adds its country."
    ),
    scope: ExtensionScope::Tortilla,
    options,
    make,
};

/// The official tool's value for points outside all countries.
const AT_SEA: &str = "Ocean/Sea/Lakes";

/// Number of samples per parallel task: few enough for progress, enough to reuse a raster's cached
/// blocks.
const PLACES_A_TASK: usize = 512;

fn options() -> Vec<OptionSpec> {
    const COUNTRY: &[&str] = &["none", "name", "alpha2", "alpha3"];
    vec![
        OptionSpec::new(
            mark!("columns"),
            OptionKind::Json,
            mark!(
                "a list of {column, path, band, method: nearest, mean with radius_m, footprint \
                (the mean over it) or share with class (the share of pixels with that value in the \
             footprint), description, date} for rasters, or {column, path, \
             layer, field, description, date} for polygons; paths are files or GDAL's /vsi names; \
                preset, one of elevation, cisi, gdp, hdi, \
             gmi, pop, admin0, admin1 and admin2 of TACO 0.2, or precipitation, temperature, \
                soil_clay, soil_sand, soil_carbon, soil_water, \
             soil_bulk_density and soil_ph, gives column, unit and source"
            ),
        )
        .or(json!([])),
        OptionSpec::new(
            mark!("country"),
            OptionKind::Choice(COUNTRY),
            mark!("how to write the country, from the boundaries in this program"),
        )
        .or("none"),
        OptionSpec::new(
            mark!("country_column"),
            OptionKind::Text,
            mark!("the column for the country, for example rai:admin0"),
        )
        .or("geoenrich:admin_countries"),
    ]
}

#[derive(serde::Deserialize)]
struct GeoEnrichmentOptions {
    columns: Vec<EnrichmentSource>,
    country: String,
    country_column: String,
}

#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct EnrichmentSource {
    /// Column name; without a namespace it gets the prefix `geoenrich:`. A preset has one.
    #[serde(default)]
    column: String,
    /// A field of responsible AI, which gives column, unit and source of the data.
    #[serde(default)]
    preset: Option<String>,
    path: String,
    #[serde(default)]
    band: Option<BandIndex>,
    #[serde(default)]
    method: Option<EnrichmentMethod>,
    #[serde(default)]
    radius_m: Option<f64>,
    /// Value of the pixels whose share is computed.
    #[serde(default)]
    class: Option<f64>,
    #[serde(default)]
    layer: Option<String>,
    /// Attribute of a polygon layer; set when the file is a polygon layer.
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    date: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum EnrichmentMethod {
    Nearest,
    Mean,
    Footprint,
    Share,
}

struct GeoEnrichment {
    sources: Vec<(EnrichmentSource, RasterSource)>,
    /// The format of the country, and its column.
    country: Option<(String, String)>,
    /// Decoded for the first tortilla.
    countries: OnceLock<Vec<Country>>,
}

fn make(given: &Json) -> Result<Extension> {
    let options: GeoEnrichmentOptions = parse_options(ENTRY.name, &options(), given)?;
    let mut sources = Vec::with_capacity(options.columns.len());
    for mut source in options.columns {
        source.complete()?;
        if !source.column.contains(':') {
            source.column.insert_str(0, "geoenrich:");
        }
        let column = &source.column;
        let polygons = source.field.is_some();
        if polygons
            && (source.band.is_some()
                || source.method.is_some()
                || source.radius_m.is_some()
                || source.class.is_some())
        {
            return Err(Error::usage(format!(
                "{column} names a field of polygons and also how to read a raster"
            )));
        }
        if !polygons && source.layer.is_some() {
            return Err(Error::usage(format!(
                "{column} names a layer and no field of it"
            )));
        }
        let radius = source
            .radius_m
            .is_some_and(|radius| radius.is_finite() && radius > 0.0);
        if source.radius_m.is_some() != (source.method == Some(EnrichmentMethod::Mean))
            || (source.radius_m.is_some() && !radius)
        {
            let error = Error::usage(format!(
                "{column}: a mean needs radius_m above 0, and nothing else takes it"
            ));
            return Err(error.hint("give \"method\": \"mean\", \"radius_m\": 1000"));
        }
        if source.class.is_some() != (source.method == Some(EnrichmentMethod::Share))
            || source.class.is_some_and(|class| !class.is_finite())
        {
            let error = Error::usage(format!(
                "{column}: a share needs the class that is counted, and nothing else takes it"
            ));
            return Err(error.hint("give \"method\": \"share\", \"class\": 1"));
        }
        let path = RasterSource::from_user_path(AssetPath::parse(&source.path)?);
        sources.push((source, path));
    }
    let country = (options.country != "none").then_some((options.country, options.country_column));
    let made = GeoEnrichment {
        sources,
        country,
        countries: OnceLock::new(),
    };
    let fields = made.schema();
    if fields.is_empty() {
        return Err(Error::usage("nothing is to be sampled").hint("give columns, or country"));
    }
    for (at, field) in fields.iter().enumerate() {
        check_field_name(&field.name).map_err(|fault| {
            Error::usage(format!("{:?} can't be a column: {fault}", field.name))
        })?;
        if fields[..at].iter().any(|other| other.name == field.name) {
            return Err(Error::usage(format!(
                "the column {} is named twice",
                field.name
            )));
        }
    }
    Ok(Extension::Tortilla(Box::new(made)))
}

impl EnrichmentSource {
    /// Fills unset options from the preset.
    fn complete(&mut self) -> Result<()> {
        let Some(name) = &self.preset else {
            return if self.column.is_empty() {
                Err(Error::usage("a column has no name")
                    .hint("give \"column\", or a \"preset\" that has one"))
            } else {
                Ok(())
            };
        };
        let Some(preset) = find_rai_preset(name) else {
            let names: Vec<&str> = RAI_PRESETS.iter().map(|preset| preset.name).collect();
            return Err(Error::usage(format!("there is no preset {name:?}"))
                .hint(format!("use {}", names.join(", "))));
        };
        if self.column.is_empty() {
            preset.column.clone_into(&mut self.column);
        }
        self.description
            .get_or_insert_with(|| preset.description.to_owned());
        if self.field.is_none() {
            self.field = preset.field.map(str::to_owned);
        }
        Ok(())
    }

    /// Column types of the official tool: `float`, or an integer of metres for the elevation of
    /// responsible AI.
    fn dtype(&self) -> DataType {
        match (&self.field, self.column.as_str()) {
            (Some(_), _) => DataType::Utf8,
            (None, "rai:elevation") if self.class.is_none() => DataType::Int64,
            (None, _) => DataType::Float32,
        }
    }

    fn band(&self) -> BandIndex {
        self.band.unwrap_or(BandIndex::FIRST)
    }

    fn sampling(&self) -> PointSampling {
        match self.radius_m {
            Some(radius_m) => PointSampling::Mean { radius_m },
            None => PointSampling::Nearest,
        }
    }

    /// Statistic over the footprint; `None` for values at the centroid.
    fn statistic(&self) -> Option<AreaStatistic> {
        match (self.method?, self.class) {
            (EnrichmentMethod::Share, Some(class)) => Some(AreaStatistic::Share { class }),
            (EnrichmentMethod::Footprint, _) => Some(AreaStatistic::Mean),
            _ => None,
        }
    }

    /// The values at places, or those over areas where the source has a statistic; both are of the
    /// same samples.
    fn values(
        &self,
        asset: &RasterSource,
        places: &[Option<[f64; 2]>],
        areas: &[Option<AreaOfDegrees>],
        ctx: &JobContext,
    ) -> Result<Vec<Value>> {
        if let Some(field) = &self.field {
            let texts = attribute_at(
                asset,
                self.layer.as_deref(),
                field,
                places,
                &polygons::holds,
                ctx,
            )?;
            return Ok(texts
                .into_iter()
                .map(|text| text.map_or(Value::Null, Value::text))
                .collect());
        }
        let tasks: Vec<Vec<Option<f64>>> = match self.statistic() {
            Some(statistic) => areas
                .par_chunks(PLACES_A_TASK)
                .map(|areas| raster_in(asset, self.band(), statistic, areas, ctx))
                .collect::<Result<_>>()?,
            None => places
                .par_chunks(PLACES_A_TASK)
                .map(|places| raster_at(asset, self.band(), self.sampling(), places, ctx))
                .collect::<Result<_>>()?,
        };
        let whole = self.dtype() == DataType::Int64;
        let numbers = tasks.into_iter().flatten();
        Ok(numbers
            .map(|number| number.map_or(Value::Null, |number| make_number_value(number, whole)))
            .collect())
    }

    fn provenance(&self) -> String {
        let mut text = self.description.clone().unwrap_or_default();
        if !text.is_empty() {
            text = text.trim_end_matches('.').to_owned() + ". ";
        }
        let how = match (&self.field, self.statistic(), self.sampling()) {
            (Some(field), ..) => format!("field {field} of the polygon at the centroid"),
            (None, Some(AreaStatistic::Mean), _) => {
                format!("band {}, mean over the footprint", self.band())
            }
            (None, Some(AreaStatistic::Share { class }), _) => {
                format!(
                    "band {}, share of pixels with the value {class} in the footprint",
                    self.band()
                )
            }
            (None, None, PointSampling::Nearest) => {
                format!("band {}, pixel at the centroid", self.band())
            }
            (None, None, PointSampling::Mean { radius_m }) => {
                format!(
                    "band {}, mean within {radius_m} m of the centroid",
                    self.band()
                )
            }
        };
        text.push_str(&format!("From {}, {how}", self.path));
        if let Some(layer) = &self.layer {
            text.push_str(&format!(", layer {layer}"));
        }
        if let Some(date) = &self.date {
            text.push_str(&format!(", {date}"));
        }
        text + "."
    }
}

/// An integer, or a number in single precision.
fn make_number_value(number: f64, whole: bool) -> Value {
    if whole {
        Value::Int(number.round() as i64)
    } else {
        Value::Float(f64::from(number as f32))
    }
}

impl TortillaExtension for GeoEnrichment {
    fn schema(&self) -> Vec<FieldSpec> {
        let mut fields: Vec<FieldSpec> = self
            .sources
            .iter()
            .map(|(source, _)| FieldSpec {
                name: source.column.clone(),
                dtype: source.dtype(),
                description: source.provenance(),
            })
            .collect();
        if let Some((_, column)) = &self.country {
            let description =
                "Country at the centroid. From Natural Earth 1:50m admin 0 countries.".into();
            fields.push(FieldSpec {
                name: column.clone(),
                dtype: DataType::Utf8,
                description,
            });
        }
        fields
    }

    fn needs_level(&self) -> bool {
        false
    }

    fn reads(&self, column: &str) -> bool {
        footprint::COLUMNS.contains(&column)
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let places = places_in(tortilla, ctx)?;
        // In Z-order, so that each block of a raster is read once.
        let mut order: Vec<usize> = (0..places.len())
            .filter(|&at| places[at].is_some())
            .collect();
        order.sort_by_key(|&at| places[at].map(|[lon, lat]| z_order(lon, lat)));
        let sorted: Vec<Option<[f64; 2]>> = order.iter().map(|&at| places[at]).collect();
        let (mut columns, mut failed) = (Vec::new(), 0);
        let areas = if self
            .sources
            .iter()
            .any(|(source, _)| source.statistic().is_some())
        {
            areas_in(tortilla, &places, &order, ctx)?
        } else {
            Vec::new()
        };
        let mut first_error = None;
        for (source, asset) in &self.sources {
            ctx.stage(
                &tr!("Sampling {column}", column = source.column),
                Some(sorted.len() as u64),
            );
            let mut column = vec![Value::Null; places.len()];
            match source.values(asset, &sorted, &areas, ctx) {
                Ok(values) => order
                    .iter()
                    .zip(values)
                    .for_each(|(&at, value)| column[at] = value),
                Err(error) if error.is_cancelled() => return Err(error),
                // The other sources are worth their time.
                Err(error) => {
                    tortilla.fail_column(&source.column, &error);
                    failed += 1;
                    first_error.get_or_insert(error);
                }
            }
            columns.push(column);
        }
        if let Some(error) = first_error
            && failed == self.sources.len()
            && self.country.is_none()
        {
            return Err(error);
        }
        if let Some((spelling, _)) = &self.country {
            ctx.stage(tr!("Finding countries"), Some(places.len() as u64));
            let countries = self.countries.get_or_init(read_countries);
            let names = places.par_iter().map(|place| {
                ctx.step(1);
                place.map_or(Value::Null, |place| {
                    find_country_name(countries, place, spelling)
                })
            });
            columns.push(names.collect());
            ctx.check()?;
        }
        Ok(columns)
    }
}

/// The country at a place in this spelling: `alpha2`, `alpha3` or its name; null where it has no
/// such code.
fn find_country_name(countries: &[Country], [lon, lat]: [f64; 2], spelling: &str) -> Value {
    let Some(country) = country_at(countries, lon, lat) else {
        return Value::text(AT_SEA);
    };
    let name = match spelling {
        "alpha2" => &country.alpha2,
        "alpha3" => &country.alpha3,
        _ => &country.name,
    };
    if name.is_empty() {
        Value::Null
    } else {
        Value::text(name)
    }
}

/// Footprints of the samples of `order`, in that order; those without an area have the centroid
/// alone.
fn areas_in(
    tortilla: &TortillaView<'_>,
    places: &[Option<[f64; 2]>],
    order: &[usize],
    ctx: &JobContext,
) -> Result<Vec<Option<AreaOfDegrees>>> {
    let reader = StatedLocationReader::default();
    let rows: Vec<StatedLocation> = order
        .iter()
        .map(|&at| reader.read(&|name| tortilla.samples[at].value(name)))
        .collect();
    let rings = footprint::resolve(&rows, Detail::Exact, |shape| shape.areas.concat(), ctx)?;
    let rings = rings.into_iter().map(Option::unwrap_or_default);
    Ok(order
        .iter()
        .zip(rings)
        .map(|(&at, rings)| places[at].map(|middle| AreaOfDegrees { rings, middle }))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(columns: Json) -> Result<Vec<FieldSpec>> {
        match make(&json!({ "columns": columns }))? {
            Extension::Tortilla(extension) => Ok(extension.schema()),
            _ => Err(Error::internal("another scope")),
        }
    }

    #[test]
    fn methods_have_what_they_need_and_nothing_else() {
        let one = |source: Json| fields(json!([source]));
        let made = one(
            json!({ "column": "forest", "path": "/cover.tif", "method": "share", "class": 10 }),
        )
        .expect("a share");
        assert!(
            made[0]
                .description
                .contains("share of pixels with the value 10 in the footprint"),
            "{}",
            made[0].description
        );
        let made = one(json!({ "preset": "soil_ph", "path": "/ph.tif", "method": "footprint" }))
            .expect("a mean");
        assert_eq!(made[0].name, "geoenrich:soil_ph");
        assert!(
            made[0].description.contains("mean over the footprint"),
            "{}",
            made[0].description
        );
        for bad in [
            json!({ "column": "a", "path": "/x.tif", "method": "share" }),
            json!({ "column": "a", "path": "/x.tif", "class": 1 }),
            json!({ "column": "a", "path": "/x.tif", "method": "footprint", "radius_m": 5 }),
            json!({ "column": "a", "path": "/x.tif", "method": "mean" }),
            json!({ "column": "a", "path": "/x.gpkg", "field": "name", "method": "footprint" }),
        ] {
            assert!(one(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_nine_fields_of_rai_have_the_types_of_the_specification() {
        let wanted = [
            ("elevation", DataType::Int64),
            ("cisi", DataType::Float32),
            ("gdp", DataType::Float32),
            ("hdi", DataType::Float32),
            ("gmi", DataType::Float32),
            ("pop", DataType::Float32),
            ("admin0", DataType::Utf8),
            ("admin1", DataType::Utf8),
            ("admin2", DataType::Utf8),
        ];
        for (preset, dtype) in wanted {
            let path = if dtype == DataType::Utf8 {
                "/areas.gpkg"
            } else {
                "/grid.tif"
            };
            let made = fields(json!([{ "preset": preset, "path": path }]))
                .unwrap_or_else(|error| panic!("{}", error.report()));
            assert_eq!(
                (made[0].name.as_str(), &made[0].dtype),
                (format!("rai:{preset}").as_str(), &dtype)
            );
        }
    }

    #[test]
    fn presets_give_column_unit_and_source() {
        let made = fields(json!([
            {
                "preset": "elevation",
                "path": "/dem.tif",
                "method": "mean",
                "radius_m": 500,
                "date": "2021",
            },
            { "preset": "admin1", "path": "/adm1.gpkg" },
            { "preset": "pop", "column": "own:people", "path": "/pop.tif", "description": "Mine" },
        ]));
        let made = made.expect("presets are known");
        let about: Vec<_> = made
            .iter()
            .map(|field| (field.name.as_str(), &field.dtype))
            .collect();
        assert_eq!(
            about,
            [
                ("rai:elevation", &DataType::Int64),
                ("rai:admin1", &DataType::Utf8),
                ("own:people", &DataType::Float32)
            ]
        );
        assert!(
            made[0]
                .description
                .starts_with("Elevation in metres (Copernicus DEM"),
            "{}",
            made[0].description
        );
        assert!(
            made[0].description.contains("mean within 500 m")
                && made[0].description.ends_with("2021.")
        );
        assert!(
            made[1].description.contains("field shapeName")
                && made[2].description.starts_with("Mine. From")
        );
        for bad in [
            json!([{ "preset": "height", "path": "/x.tif" }]),
            json!([{ "path": "/x.tif" }]),
        ] {
            assert!(fields(bad.clone()).is_err(), "{bad}");
        }
    }
}
