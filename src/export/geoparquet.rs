//! GeoParquet 1.1: the samples of a level with footprint and bbox column, or the STAC Items of
//! level 0 in the layout of stac-geoparquet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int64Array, ListArray, ListBuilder,
    NullBufferBuilder, RecordBatch, StringArray, StringBuilder, StructArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use geo::Geometry;
use serde_json::{Value as Json, json};

use super::footprint::{self, ItemFootprint};
use super::item_assets::{AssetFields, AssetNames, ItemAsset};
use super::item_columns::{ItemColumns, name_beside_fields};
use super::stac::{COLLECTION_LINK, ITEM_TYPE, ItemTimes, PROJECTION, VERSION, is_of_projection};
use super::{CatalogueDocument, Described, stac};
use crate::error::{Error, Result};
use crate::footprint::{BoxOfDegrees, enclosing_box, states_point_or_shape};
use crate::jobs::JobContext;
use crate::model::{SkeletonLevel, is_padding};
use crate::table::{ParquetOptions, ParquetSink, write_wkb};

/// The samples of the requested level, or of the first with locations, as GeoParquet.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when no sample has a location.
pub fn footer(described: &Described<'_>, ctx: &JobContext) -> Result<CatalogueDocument> {
    let level = footprint::level_with_places(described.assembly, described.facts.level);
    let table = &described.assembly.levels[level].batch;
    let tree = &described.assembly.tree;
    let samples = &tree.levels[level];
    let keep: Vec<u32> = (0..samples.len() as u32)
        .filter(|&row| !is_padding(samples.id(row)))
        .collect();
    let schema = table.schema();
    warn_of_untyped(table, ctx);
    // Most readers cannot read columns of type null.
    let kept = |field: &FieldRef| {
        !states_point_or_shape(field.name()) && *field.data_type() != DataType::Null
    };
    let chosen: Vec<usize> = (0..schema.fields().len())
        .filter(|&column| kept(&schema.fields()[column]))
        .collect();
    let unchosen =
        |error: arrow::error::ArrowError| Error::internal("rows can't be chosen").because(error);
    let table = table.project(&chosen).map_err(unchosen)?;
    let mut file = PlacedRows::default();
    for rows in keep.chunks(described.batch_rows) {
        let places = footprint::places(described.assembly, level, rows, ctx)?;
        let batch = arrow::compute::take_record_batch(&table, &UInt32Array::from(rows.to_vec()))
            .map_err(unchosen)?;
        let mut columns = TableColumns::default();
        for (number, (field, column)) in batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .enumerate()
        {
            // The first two columns are id and type.
            let name = if number < 2 {
                field.name().clone()
            } else {
                name_beside_fields(field.name())
            };
            columns.put(&name, column.clone());
            if number == 0 && level > 0 {
                let path = |row: &u32| Some(tree.archive_path(level, *row));
                columns.put(
                    "path",
                    Arc::new(rows.iter().map(path).collect::<StringArray>()),
                );
            }
        }
        file.write(columns, &places)?;
    }
    if !file.has_places() {
        return Err(
            Error::usage("no sample has a location, so there is nothing to map")
                .hint("add locations with the STAC extension, or choose another format"),
        );
    }
    Ok(CatalogueDocument {
        name: "samples.parquet".into(),
        bytes: file.finish(&[])?,
    })
}

/// Names the columns of type null, which are left out: most readers cannot read them.
fn warn_of_untyped(batch: &RecordBatch, ctx: &JobContext) {
    let schema = batch.schema();
    for field in schema
        .fields()
        .iter()
        .filter(|field| *field.data_type() == DataType::Null)
    {
        let name = field.name();
        ctx.warn(format!(
            "the column {name} has no value and the type null, which few readers of \
            GeoParquet support: it is left out"
        ));
    }
}

/// The Items of level 0 as stac-geoparquet.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) when no sample has a time.
pub fn items(described: &Described<'_>, ctx: &JobContext) -> Result<CatalogueDocument> {
    let found = stac::item_rows(described, ctx)?;
    let (Some(level), Some(samples)) = (
        described.assembly.levels.first(),
        described.assembly.tree.levels.first(),
    ) else {
        return Err(Error::internal("a dataset without levels"));
    };
    stac::warn_of_timeless(described, &found, ctx);
    if found.rows.is_empty() {
        let error = Error::invalid("no sample has a time, so none can be an Item");
        return Err(error.hint("add times with the STAC extension, or state the extent in time"));
    }
    warn_of_untyped(&level.batch, ctx);
    let table = ItemTable {
        described,
        samples,
        batch: &level.batch,
        properties: ItemColumns::from_batch(&level.batch, described.batch_rows, ctx)?,
        assets: AssetNames::for_rows(described, &found.rows, ctx)?,
        has_interval: found.has_interval,
    };
    let asset_fields = table.assets.fields(described, &found.rows, ctx)?;
    let mut file = PlacedRows::default();
    for rows in found.rows.chunks(described.batch_rows) {
        let places = footprint::places_of_items(described.assembly, 0, rows, ctx)?;
        file.write(table.columns(rows, &places, &asset_fields)?, &places)?;
    }
    let collection = stac::collection(described);
    let id = described.id();
    let meta = json!({ "version": "1.1.0", "collections": { id: collection } }).to_string();
    Ok(CatalogueDocument {
        name: "items.parquet".into(),
        bytes: file.finish(&[("stac-geoparquet", meta)])?,
    })
}

/// What the columns of Items are made of.
struct ItemTable<'a> {
    described: &'a Described<'a>,
    /// Ids and types of level 0.
    samples: &'a SkeletonLevel,
    /// Table of level 0.
    batch: &'a RecordBatch,
    properties: ItemColumns,
    assets: AssetNames,
    /// True when an Item has an interval: all Items then have the columns of it.
    has_interval: bool,
}

impl ItemTable<'_> {
    /// The columns of some rows without geometry and bbox. Every call gives the same columns.
    fn columns(
        &self,
        rows: &[u32],
        places: &[ItemFootprint],
        asset_fields: &BTreeMap<String, AssetFields>,
    ) -> Result<TableColumns> {
        let mut times = Vec::with_capacity(rows.len());
        for place in places {
            let of_item = ItemTimes::from_sample_times(&place.times, self.described);
            times.push(of_item.ok_or_else(|| {
                Error::internal("the time of a sample changed while it was read")
            })?);
        }
        let same = |text: &str| {
            Arc::new(StringArray::from_iter_values(rows.iter().map(|_| text))) as ArrayRef
        };
        let properties = self.properties.values(self.batch, rows)?;
        let projected = properties
            .iter()
            .filter(|column| is_of_projection(&column.name))
            .map(|column| &column.values);
        let projected: Vec<&ArrayRef> = projected.collect();
        let extensions = (0..rows.len()).map(|row| {
            let is_projected = projected.iter().any(|values| values.is_valid(row));
            if is_projected { &[PROJECTION][..] } else { &[] }
        });
        let mut columns = TableColumns::default();
        columns.put("type", same(ITEM_TYPE));
        columns.put("stac_version", same(VERSION));
        columns.put("stac_extensions", Arc::new(text_lists(extensions)));
        columns.put(
            "id",
            Arc::new(StringArray::from_iter_values(
                rows.iter().map(|&row| self.samples.id(row)),
            )),
        );
        columns.put("collection", same(self.described.id()));
        columns.put("links", links(rows.len()));
        columns.put("assets", self.asset_column(rows, asset_fields));
        let datetimes = times.iter().map(|times| micros(times.datetime.as_deref()));
        columns.put("datetime", instants(datetimes));
        if self.has_interval {
            // A column exists for all Items, and null is not a valid time: an Item with a single
            // time gets an interval of length 0.
            for (end, name) in ["start_datetime", "end_datetime"].into_iter().enumerate() {
                columns.put(
                    name,
                    instants(times.iter().map(|times| pick_interval_end(times, end))),
                );
            }
        }
        for column in properties {
            columns.put(&column.name, column.values);
        }
        Ok(columns)
    }

    /// A struct with a field for each key of an asset, null where the Item has no such asset.
    fn asset_column(&self, rows: &[u32], keys: &BTreeMap<String, AssetFields>) -> ArrayRef {
        let mut by_key: BTreeMap<&str, Vec<Option<ItemAsset>>> = keys
            .keys()
            .map(|key| (key.as_str(), rows.iter().map(|_| None).collect()))
            .collect();
        for (number, &row) in rows.iter().enumerate() {
            for asset in self.assets.assets_of(self.described, row) {
                if let Some(place) = by_key
                    .get_mut(asset.key.as_str())
                    .and_then(|assets| assets.get_mut(number))
                {
                    *place = Some(asset);
                }
            }
        }
        let arrays: Vec<ArrayRef> = keys
            .iter()
            .map(|(key, fields)| assets_of_key(&by_key[key.as_str()], *fields))
            .collect();
        let fields: Fields = keys
            .keys()
            .zip(&arrays)
            .map(|(key, array)| Field::new(key, array.data_type().clone(), true))
            .collect();
        Arc::new(StructArray::new(fields, arrays, None))
    }
}

/// The start (0) or end (1) of the interval of an Item, or its single time.
fn pick_interval_end(times: &ItemTimes, end: usize) -> Option<i64> {
    let of_interval = times
        .interval
        .as_ref()
        .map(|interval| interval[end].as_str());
    micros(of_interval.or(times.datetime.as_deref()))
}

/// The assets of one key. A field that none has in the whole table is left out: a reader would make
/// null of it, which the schemas do not take.
fn assets_of_key(assets: &[Option<ItemAsset>], has: AssetFields) -> ArrayRef {
    let mut columns = TableColumns::default();
    columns.put(
        "href",
        collect_asset_texts(assets, |asset| Some(asset.href.clone())),
    );
    columns.put(
        "title",
        collect_asset_texts(assets, |asset| Some(asset.title.clone())),
    );
    columns.put(
        "type",
        collect_asset_texts(assets, |asset| Some(asset.media_type.to_owned())),
    );
    columns.put(
        "roles",
        Arc::new(text_lists(assets.iter().map(|asset| {
            asset.as_ref().map_or(&[][..], |_| &ItemAsset::ROLES[..])
        }))),
    );
    if has.range {
        columns.put(
            "taco:offset",
            collect_asset_numbers(assets, |asset| asset.range.as_ref().map(|range| range.0)),
        );
    }
    if has.size {
        columns.put(
            "taco:size",
            collect_asset_numbers(assets, |asset| asset.size),
        );
    }
    if has.range {
        columns.put(
            "taco:container",
            collect_asset_texts(assets, |asset| {
                asset.range.as_ref().map(|range| range.1.clone())
            }),
        );
    }
    let mut valid = NullBufferBuilder::new(assets.len());
    assets
        .iter()
        .for_each(|asset| valid.append(asset.is_some()));
    Arc::new(StructArray::new(
        columns.fields.into(),
        columns.arrays,
        valid.finish(),
    ))
}

fn collect_asset_texts(
    assets: &[Option<ItemAsset>],
    text_of: impl Fn(&ItemAsset) -> Option<String>,
) -> ArrayRef {
    let texts = assets.iter().map(|asset| text_of(asset.as_ref()?));
    Arc::new(texts.collect::<StringArray>())
}

fn collect_asset_numbers(
    assets: &[Option<ItemAsset>],
    number_of: impl Fn(&ItemAsset) -> Option<u64>,
) -> ArrayRef {
    let numbers = assets
        .iter()
        .map(|asset| i64::try_from(number_of(asset.as_ref()?)?).ok());
    Arc::new(numbers.collect::<Int64Array>())
}

/// Columns of a table, in order.
#[derive(Default)]
struct TableColumns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl TableColumns {
    fn put(&mut self, name: &str, array: ArrayRef) {
        self.fields
            .push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
    }
}

/// Microseconds since 1970 of a time in RFC 3339.
fn micros(time: Option<&str>) -> Option<i64> {
    Some(
        chrono::DateTime::parse_from_rfc3339(time?)
            .ok()?
            .timestamp_micros(),
    )
}

fn instants(micros: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(
        micros
            .collect::<TimestampMicrosecondArray>()
            .with_timezone("UTC"),
    )
}

fn text_lists<'a>(lists: impl Iterator<Item = &'a [&'a str]>) -> ListArray {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for texts in lists {
        texts
            .iter()
            .for_each(|text| builder.values().append_value(text));
        builder.append(true);
    }
    builder.finish()
}

/// For each Item a list of one struct: the link to the Collection.
fn links(items: usize) -> ArrayRef {
    let fields: Fields = ["href", "rel", "type"]
        .map(|key| Field::new(key, DataType::Utf8, true))
        .to_vec()
        .into();
    let structs = StructArray::new(
        fields.clone(),
        ["href", "rel", "type"]
            .map(|key| repeat_link_text(key, items))
            .to_vec(),
        None,
    );
    let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
    Arc::new(ListArray::new(
        item,
        OffsetBuffer::from_repeated_length(1, items),
        Arc::new(structs),
        None,
    ))
}

/// A text of [`COLLECTION_LINK`] for each Item.
fn repeat_link_text(key: &str, items: usize) -> ArrayRef {
    let text = COLLECTION_LINK
        .iter()
        .find(|(known, _)| *known == key)
        .map(|(_, text)| *text);
    Arc::new((0..items).map(|_| text).collect::<StringArray>())
}

/// A GeoParquet file that is written some rows at a time: what its metadata say of all rows is
/// gathered on the way.
#[derive(Default)]
struct PlacedRows {
    /// The file and its schema, from the first rows on.
    started: Option<(ParquetSink<Vec<u8>>, SchemaRef)>,
    /// Types of the geometries.
    kinds: BTreeSet<&'static str>,
    boxes: Vec<BoxOfDegrees>,
}

impl PlacedRows {
    /// Appends rows with the columns `geometry` (WKB) and `bbox` (struct) behind their own, which
    /// are the same in every call.
    fn write(&mut self, mut columns: TableColumns, places: &[ItemFootprint]) -> Result<()> {
        put_places(places, &mut columns);
        self.kinds.extend(
            places
                .iter()
                .filter_map(|place| place.geometry.as_ref())
                .map(kind_of),
        );
        self.boxes
            .extend(places.iter().filter_map(|place| place.bbox));
        let (sink, schema) = match &mut self.started {
            Some(started) => started,
            None => {
                let schema = Arc::new(Schema::new(columns.fields));
                let sink =
                    ParquetSink::annotated_at_end(Vec::new(), &schema, &ParquetOptions::default())?;
                self.started.insert((sink, schema))
            }
        };
        let batch = RecordBatch::try_new(schema.clone(), columns.arrays).map_err(|error| {
            Error::internal("the table does not fit its columns").because(error)
        })?;
        sink.write(&batch)
    }

    /// True when a row has a location.
    fn has_places(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Ends the file with these notes beside that of GeoParquet.
    fn finish(self, notes: &[(&str, String)]) -> Result<Vec<u8>> {
        let geo = geo_key(&self.kinds, &self.boxes);
        let Some((sink, _)) = self.started else {
            return Err(Error::internal("a table without rows"));
        };
        let notes = notes
            .iter()
            .map(|(key, text)| ((*key).to_owned(), text.clone()));
        sink.finish_annotated(
            std::iter::once(("geo".to_owned(), geo))
                .chain(notes)
                .collect(),
        )
    }
}

/// Appends the columns `geometry` (WKB) and `bbox` (struct).
fn put_places(places: &[ItemFootprint], columns: &mut TableColumns) {
    let wkb: BinaryArray = places
        .iter()
        .map(|place| place.geometry.as_ref().map(write_wkb))
        .collect();
    columns.put("geometry", Arc::new(wkb));
    let names = ["xmin", "ymin", "xmax", "ymax"];
    let mut valid = NullBufferBuilder::new(places.len());
    places
        .iter()
        .for_each(|place| valid.append(place.bbox.is_some()));
    let inner: Fields = names
        .map(|name| Field::new(name, DataType::Float64, true))
        .to_vec()
        .into();
    columns.put(
        "bbox",
        Arc::new(StructArray::new(
            inner,
            (0..4).map(|at| collect_box_sides(places, at)).collect(),
            valid.finish(),
        )),
    );
}

/// One number of the bounding box of each place.
fn collect_box_sides(places: &[ItemFootprint], at: usize) -> ArrayRef {
    let sides = places.iter().map(|place| Some(place.bbox?[at]));
    Arc::new(sides.collect::<Float64Array>())
}

/// The value of the metadata key `geo` (GeoParquet 1.1). Coordinates are longitude and latitude,
/// polygons counter-clockwise.
fn geo_key(kinds: &BTreeSet<&str>, boxes: &[BoxOfDegrees]) -> String {
    let mut column = json!({
        "encoding": "WKB",
        "geometry_types": kinds,
        "crs": lonlat_crs(),
        "edges": "planar",
        "orientation": "counterclockwise",
    });
    // As in RFC 7946, xmin > xmax across the antimeridian.
    if let Some(bbox) = enclosing_box(boxes.iter().copied()) {
        column["bbox"] = json!(bbox);
    }
    let covering =
        ["xmin", "ymin", "xmax", "ymax"].map(|side| (side.to_owned(), json!(["bbox", side])));
    column["covering"] = json!({ "bbox": serde_json::Map::from_iter(covering) });
    json!({ "version": "1.1.0", "primary_column": "geometry", "columns": { "geometry": column } })
        .to_string()
}

/// OGC:CRS84 as PROJJSON: longitude and latitude of WGS 84, in this order.
fn lonlat_crs() -> Json {
    json!({
        "$schema": "https://proj.org/schemas/v0.7/projjson.schema.json",
        "type": "GeographicCRS",
        "name": "WGS 84 (CRS84)",
        "datum_ensemble": {
            "name": "World Geodetic System 1984 ensemble",
            "members": [
                {
                    "name": "World Geodetic System 1984 (Transit)",
                    "id": { "authority": "EPSG", "code": 1166 },
                },
                {
                    "name": "World Geodetic System 1984 (G730)",
                    "id": { "authority": "EPSG", "code": 1152 },
                },
                {
                    "name": "World Geodetic System 1984 (G873)",
                    "id": { "authority": "EPSG", "code": 1153 },
                },
                {
                    "name": "World Geodetic System 1984 (G1150)",
                    "id": { "authority": "EPSG", "code": 1154 },
                },
                {
                    "name": "World Geodetic System 1984 (G1674)",
                    "id": { "authority": "EPSG", "code": 1155 },
                },
                {
                    "name": "World Geodetic System 1984 (G1762)",
                    "id": { "authority": "EPSG", "code": 1156 },
                },
                {
                    "name": "World Geodetic System 1984 (G2139)",
                    "id": { "authority": "EPSG", "code": 1309 },
                },
            ],
            "ellipsoid": {
                "name": "WGS 84",
                "semi_major_axis": 6_378_137,
                "inverse_flattening": 298.257_223_563,
            },
            "accuracy": "2.0",
            "id": { "authority": "EPSG", "code": 6326 },
        },
        "coordinate_system": {
            "subtype": "ellipsoidal",
            "axis": [
                encode_axis("Geodetic longitude", "Lon", "east"),
                encode_axis("Geodetic latitude", "Lat", "north"),
            ],
        },
        "scope": "Not known.",
        "area": "World.",
        "bbox": {
            "south_latitude": -90,
            "west_longitude": -180,
            "north_latitude": 90,
            "east_longitude": 180,
        },
        "id": { "authority": "OGC", "code": "CRS84" },
    })
}

fn encode_axis(name: &str, short: &str, direction: &str) -> Json {
    json!({
        "name": name,
        "abbreviation": short,
        "direction": direction,
        "unit": "degree",
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
