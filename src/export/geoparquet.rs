//! GeoParquet 1.1: the samples of a level with footprint and bbox column, or the STAC Items of level 0 in the layout of
//! stac-geoparquet.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int64Array, ListBuilder, NullBufferBuilder, RecordBatch, StringArray,
    StringBuilder, StructArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use geo::Geometry;
use serde_json::{Value as Json, json};

use super::footprint::{self, Place};
use super::item_columns::name_beside_fields;
use super::stac::ItemSet;
use super::{Described, Document, stac};
use crate::error::{Error, Result};
use crate::footprint::enclosing_box;
use crate::jobs::JobContext;
use crate::model::is_padding;
use crate::table::{ParquetOptions, ParquetSink, write_wkb};

/// Columns replaced by the geometry column.
const PLACES: [&str; 3] = ["stac:centroid", "istac:centroid", "istac:geometry"];

/// The samples of the requested level, or of the first with locations, as GeoParquet.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when no sample has a location.
pub fn footer(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Document>> {
    let level = footprint::level_with_places(described.assembly, described.facts.level);
    let batch = &described.assembly.levels[level].batch;
    let ids = &described.assembly.tree.levels[level].ids;
    let keep: Vec<u32> = (0..ids.len() as u32).filter(|&row| !is_padding(ids.value(row as usize))).collect();
    let places = footprint::places(described.assembly, level, &keep, ctx)?;
    if places.iter().all(|place| place.geometry.is_none()) {
        return Err(Error::usage("no sample has a location, so there is nothing to map")
            .hint("add locations with the STAC extension, or choose another format"));
    }
    let batch = arrow::compute::take_record_batch(batch, &UInt32Array::from(keep.clone()))
        .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    warn_of_untyped(&batch, ctx);
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if !PLACES.contains(&field.name().as_str()) && *field.data_type() != DataType::Null {
            // The first two columns are id and type.
            let name = if fields.len() < 2 { field.name().clone() } else { name_beside_fields(field.name()) };
            fields.push(Field::new(name, field.data_type().clone(), true));
            columns.push(column.clone());
        }
    }
    if level > 0 {
        let path = |row: &u32| Some(described.assembly.tree.path(level, *row).to_archive());
        fields.insert(1, Field::new("path", DataType::Utf8, true));
        columns.insert(1, Arc::new(keep.iter().map(path).collect::<StringArray>()));
    }
    put_places(&places, &mut fields, &mut columns);
    let bytes = written(fields, columns, &[("geo", geo_key(&places))])?;
    Ok(vec![Document { name: "samples.parquet".into(), bytes }])
}

/// Names the columns of type null, which are left out: most readers cannot read them.
fn warn_of_untyped(batch: &RecordBatch, ctx: &JobContext) {
    let schema = batch.schema();
    for field in schema.fields().iter().filter(|field| *field.data_type() == DataType::Null) {
        let name = field.name();
        ctx.warn(format!("the column {name} has no value and the type null, which few readers of GeoParquet know: it is left out"));
    }
}

/// The Items of level 0 as stac-geoparquet.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) when no sample has a time.
pub fn items(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Document>> {
    let ItemSet { rows, places, columns: properties, items } = stac::items(described, ctx)?;
    if items.is_empty() {
        let error = Error::invalid("no sample has a time, so none can be an Item");
        return Err(error.hint("add times with the STAC extension, or state the extent in time"));
    }
    if let Some(level) = described.assembly.levels.first() {
        warn_of_untyped(&level.batch, ctx);
    }
    let text = |of: &dyn Fn(&Json) -> Option<String>| Arc::new(items.iter().map(of).collect::<StringArray>()) as ArrayRef;
    let mut fields: Vec<Field> = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut put = |name: &str, array: ArrayRef| {
        fields.push(Field::new(name, array.data_type().clone(), true));
        columns.push(array);
    };
    let own = |key: &'static str| move |item: &Json| item[key].as_str().map(str::to_owned);
    put("type", text(&own("type")));
    put("stac_version", text(&own("stac_version")));
    put("stac_extensions", Arc::new(text_lists(items.iter().map(|item| &item["stac_extensions"]))));
    put("id", text(&own("id")));
    put("collection", text(&own("collection")));
    put("links", links(&items));
    put("assets", assets(&items));
    let time = |keys: &[&str]| {
        let micros = |item: &Json| {
            let text = keys.iter().find_map(|key| item["properties"][*key].as_str())?;
            Some(chrono::DateTime::parse_from_rfc3339(text).ok()?.timestamp_micros())
        };
        let array: TimestampMicrosecondArray = items.iter().map(micros).collect();
        Arc::new(array.with_timezone("UTC")) as ArrayRef
    };
    put("datetime", time(&["datetime"]));
    let interval = ["start_datetime", "end_datetime"];
    if interval.iter().any(|key| items.iter().any(|item| item["properties"][*key].is_string())) {
        // A column exists for all Items, and null is not a valid time: an Item with a single time gets an interval of length 0.
        interval.iter().for_each(|key| put(key, time(&[key, "datetime"])));
    }
    let rows = UInt32Array::from(rows);
    for column in &properties {
        let values = arrow::compute::take(&column.values, &rows, None)
            .map_err(|error| Error::internal("rows can't be chosen").because(error))?;
        put(&column.name, values);
    }
    put_places(&places, &mut fields, &mut columns);
    let collection = stac::collection(described, &[]);
    let id = described.id();
    let meta = json!({ "version": "1.1.0", "collections": { id: collection } }).to_string();
    let bytes = written(fields, columns, &[("geo", geo_key(&places)), ("stac-geoparquet", meta)])?;
    Ok(vec![Document { name: "items.parquet".into(), bytes }])
}

fn text_lists<'a>(values: impl Iterator<Item = &'a Json>) -> arrow::array::ListArray {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for value in values {
        for text in value.as_array().into_iter().flatten().filter_map(Json::as_str) {
            builder.values().append_value(text);
        }
        builder.append(true);
    }
    builder.finish()
}

/// A list of structs, one per link.
fn links(items: &[Json]) -> ArrayRef {
    let all: Vec<&Json> = items.iter().flat_map(|item| item["links"].as_array().into_iter().flatten()).collect();
    let column = |key: &str| Arc::new(all.iter().map(|link| link[key].as_str()).collect::<StringArray>()) as ArrayRef;
    let fields: Fields = ["href", "rel", "type"].map(|key| Field::new(key, DataType::Utf8, true)).to_vec().into();
    let structs = StructArray::new(fields.clone(), ["href", "rel", "type"].map(column).to_vec(), None);
    let lengths = items.iter().map(|item| item["links"].as_array().map_or(0, Vec::len));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
    let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
    Arc::new(arrow::array::ListArray::new(item, offsets, Arc::new(structs), None))
}

/// A struct with a field for each key of an asset, null where the Item has no such asset.
fn assets(items: &[Json]) -> ArrayRef {
    let keys: BTreeSet<&String> = items.iter().filter_map(|item| item["assets"].as_object()).flat_map(|all| all.keys()).collect();
    let arrays: Vec<ArrayRef> = keys.iter().map(|key| assets_of_key(items, key)).collect();
    let fields: Fields = keys.iter().zip(&arrays).map(|(key, array)| Field::new(*key, array.data_type().clone(), true)).collect();
    Arc::new(StructArray::new(fields, arrays, None))
}

/// The asset of one key of every Item.
fn assets_of_key(items: &[Json], key: &str) -> ArrayRef {
    let found: Vec<Option<&Json>> = items.iter().map(|item| item["assets"].get(key)).collect();
    let mut fields: Vec<Field> = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut put = |name: &str, array: ArrayRef| {
        // Null in every asset: a reader would make null of it, which the schemas do not take.
        if array.null_count() < array.len() {
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
    };
    for name in ["href", "title", "type"] {
        let text = found.iter().map(|asset| asset.and_then(|asset| asset[name].as_str())).collect::<StringArray>();
        put(name, Arc::new(text));
    }
    put("roles", Arc::new(text_lists(found.iter().map(|asset| asset.map_or(&Json::Null, |asset| &asset["roles"])))));
    for name in ["taco:offset", "taco:size"] {
        let number = |asset: &Option<&Json>| asset.and_then(|asset| asset[name].as_i64());
        put(name, Arc::new(found.iter().map(number).collect::<Int64Array>()));
    }
    let container = found.iter().map(|asset| asset.and_then(|asset| asset["taco:container"].as_str())).collect::<StringArray>();
    put("taco:container", Arc::new(container));
    let mut valid = NullBufferBuilder::new(items.len());
    found.iter().for_each(|asset| valid.append(asset.is_some()));
    Arc::new(StructArray::new(fields.into(), arrays, valid.finish()))
}

/// Appends the columns `geometry` (WKB) and `bbox` (struct).
fn put_places(places: &[Place], fields: &mut Vec<Field>, columns: &mut Vec<ArrayRef>) {
    let wkb: BinaryArray = places.iter().map(|place| place.geometry.as_ref().map(write_wkb)).collect();
    fields.push(Field::new("geometry", DataType::Binary, true));
    columns.push(Arc::new(wkb));
    let names = ["xmin", "ymin", "xmax", "ymax"];
    let side =
        |at: usize| Arc::new(places.iter().map(|place| place.bbox.map(|bbox| bbox[at])).collect::<Float64Array>()) as ArrayRef;
    let mut valid = NullBufferBuilder::new(places.len());
    places.iter().for_each(|place| valid.append(place.bbox.is_some()));
    let inner: Fields = names.map(|name| Field::new(name, DataType::Float64, true)).to_vec().into();
    let bbox = StructArray::new(inner.clone(), (0..4).map(side).collect(), valid.finish());
    fields.push(Field::new("bbox", DataType::Struct(inner), true));
    columns.push(Arc::new(bbox));
}

/// The value of the metadata key `geo` (GeoParquet 1.1). Coordinates are longitude and latitude, polygons counter-clockwise.
fn geo_key(places: &[Place]) -> String {
    let kinds: BTreeSet<&str> = places.iter().filter_map(|place| place.geometry.as_ref()).map(kind_of).collect();
    let mut column = json!({ "encoding": "WKB", "geometry_types": kinds, "crs": lonlat_crs(), "edges": "planar", "orientation": "counterclockwise" });
    // As in RFC 7946, xmin > xmax across the antimeridian.
    if let Some(bbox) = enclosing_box(places.iter().filter_map(|place| place.bbox)) {
        column["bbox"] = json!(bbox);
    }
    let covering = ["xmin", "ymin", "xmax", "ymax"].map(|side| (side.to_owned(), json!(["bbox", side])));
    column["covering"] = json!({ "bbox": serde_json::Map::from_iter(covering) });
    json!({ "version": "1.1.0", "primary_column": "geometry", "columns": { "geometry": column } }).to_string()
}

/// OGC:CRS84 as PROJJSON: longitude and latitude of WGS 84, in this order.
fn lonlat_crs() -> Json {
    let axis = |name: &str, short: &str, direction: &str| json!({ "name": name, "abbreviation": short, "direction": direction, "unit": "degree" });
    json!({
        "$schema": "https://proj.org/schemas/v0.7/projjson.schema.json",
        "type": "GeographicCRS",
        "name": "WGS 84 (CRS84)",
        "datum_ensemble": {
            "name": "World Geodetic System 1984 ensemble",
            "members": [
                { "name": "World Geodetic System 1984 (Transit)", "id": { "authority": "EPSG", "code": 1166 } },
                { "name": "World Geodetic System 1984 (G730)", "id": { "authority": "EPSG", "code": 1152 } },
                { "name": "World Geodetic System 1984 (G873)", "id": { "authority": "EPSG", "code": 1153 } },
                { "name": "World Geodetic System 1984 (G1150)", "id": { "authority": "EPSG", "code": 1154 } },
                { "name": "World Geodetic System 1984 (G1674)", "id": { "authority": "EPSG", "code": 1155 } },
                { "name": "World Geodetic System 1984 (G1762)", "id": { "authority": "EPSG", "code": 1156 } },
                { "name": "World Geodetic System 1984 (G2139)", "id": { "authority": "EPSG", "code": 1309 } },
            ],
            "ellipsoid": { "name": "WGS 84", "semi_major_axis": 6_378_137, "inverse_flattening": 298.257_223_563 },
            "accuracy": "2.0",
            "id": { "authority": "EPSG", "code": 6326 },
        },
        "coordinate_system": {
            "subtype": "ellipsoidal",
            "axis": [axis("Geodetic longitude", "Lon", "east"), axis("Geodetic latitude", "Lat", "north")],
        },
        "scope": "Not known.",
        "area": "World.",
        "bbox": { "south_latitude": -90, "west_longitude": -180, "north_latitude": 90, "east_longitude": 180 },
        "id": { "authority": "OGC", "code": "CRS84" },
    })
}

fn kind_of(geometry: &Geometry<f64>) -> &'static str {
    match geometry {
        Geometry::Point(_) => "Point",
        Geometry::LineString(_) | Geometry::Line(_) => "LineString",
        Geometry::MultiPoint(_) => "MultiPoint",
        Geometry::MultiLineString(_) => "MultiLineString",
        Geometry::MultiPolygon(_) => "MultiPolygon",
        Geometry::GeometryCollection(_) => "GeometryCollection",
        Geometry::Polygon(_) | Geometry::Rect(_) | Geometry::Triangle(_) => "Polygon",
    }
}

fn written(fields: Vec<Field>, columns: Vec<ArrayRef>, notes: &[(&str, String)]) -> Result<Vec<u8>> {
    // In the Arrow schema as well as in the footer, as readers use either.
    let notes_of_schema: std::collections::HashMap<String, String> =
        notes.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect();
    let schema = Schema::new(fields).with_metadata(notes_of_schema);
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), columns)
        .map_err(|error| Error::internal("the table does not fit its columns").because(error))?;
    let mut sink = ParquetSink::annotated(Vec::new(), &schema, &ParquetOptions::default())?;
    sink.write(&batch)?;
    for (key, text) in notes {
        sink.note(key, text.clone());
    }
    sink.finish()
}
