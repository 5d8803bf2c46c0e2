//! STAC 1.1: the Collection, and an Item for each level-0 sample with a time.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use super::footprint::{self, Place};
use super::{Described, Document, Facts, json_document};
use crate::error::Result;
use crate::footprint::{box_polygon, enclosing_box};
use crate::jobs::JobContext;
use crate::model::is_padding;
use crate::table::cell_json;

const VERSION: &str = "1.1.0";
const SCIENTIFIC: &str = "https://stac-extensions.github.io/scientific/v1.0.0/schema.json";
const PROJECTION: &str = "https://stac-extensions.github.io/projection/v2.0.0/schema.json";

/// The Collection, then the Items in `items/`.
pub fn documents(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Document>> {
    let items = items(described, ctx)?;
    let mut documents = vec![json_document("collection.json", &collection(described, &items))];
    documents.extend(items.iter().zip(file_names(&items)).map(|(item, name)| json_document(&format!("items/{name}.json"), item)));
    Ok(documents)
}

/// A file name for an id, which may contain characters that file names must not.
fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// File names of the Items, unique even on case-insensitive file systems.
fn file_names(items: &[Json]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(items.len());
    let name = |item: &Json| {
        let plain = file_name(item["id"].as_str().unwrap_or_default());
        let mut name = plain.clone();
        let mut number = 2;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        name
    };
    items.iter().map(name).collect()
}

pub fn collection(described: &Described<'_>, items: &[Json]) -> Json {
    let bbox = described.bbox.unwrap_or([-180.0, -90.0, 180.0, 90.0]);
    let interval: Json = match &described.interval {
        Some(interval) => json!(interval),
        None => json!([null, null]),
    };
    let mut out = Map::new();
    let publications = described.publications();
    let own_doi = described.text("sci:doi").is_some();
    out.insert("type".into(), json!("Collection"));
    out.insert("stac_version".into(), json!(VERSION));
    if !publications.is_empty() {
        out.insert("stac_extensions".into(), json!([SCIENTIFIC]));
    }
    out.insert("id".into(), json!(described.id()));
    if let Some(title) = described.text("title") {
        out.insert("title".into(), json!(title));
    }
    out.insert("description".into(), json!(described.description()));
    let keywords = described.texts("keywords");
    if !keywords.is_empty() {
        out.insert("keywords".into(), json!(keywords));
    }
    let licences = described.texts("licenses");
    let one = match licences.as_slice() {
        [one] if spdx::license_id(one).is_some() => Some(*one),
        _ => None,
    };
    out.insert("license".into(), json!(one.unwrap_or("other")));
    out.insert("version".into(), json!(described.version()));
    let providers: Vec<Json> = described.contacts("providers").iter().map(provider).collect();
    if !providers.is_empty() {
        out.insert("providers".into(), json!(providers));
    }
    out.insert("extent".into(), json!({ "spatial": { "bbox": [bbox] }, "temporal": { "interval": [interval] } }));
    if own_doi && let Some(first) = publications.first() {
        if let Some(doi) = &first.doi {
            out.insert("sci:doi".into(), json!(doi));
        }
        if let Some(citation) = &first.citation {
            out.insert("sci:citation".into(), json!(citation));
        }
    }
    let others: Vec<Json> = publications
        .iter()
        .skip(usize::from(own_doi))
        .map(|one| {
            let parts = [("doi", &one.doi), ("citation", &one.citation)];
            Json::Object(parts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text.as_ref()?)))).collect())
        })
        .collect();
    if !others.is_empty() {
        out.insert("sci:publications".into(), json!(others));
    }
    let tasks = described.texts("tasks");
    if !tasks.is_empty() {
        out.insert("summaries".into(), json!({ "taco:tasks": tasks }));
    }
    out.insert("assets".into(), data_assets(described));
    let mut links: Vec<Json> = file_names(items)
        .into_iter()
        .map(|name| json!({ "rel": "item", "href": format!("./items/{name}.json"), "type": "application/geo+json" }))
        .collect();
    if one.is_none() {
        let known = licences.iter().filter(|licence| spdx::license_id(licence).is_some());
        links.extend(known.map(|licence| json!({ "rel": "license", "href": format!("https://spdx.org/licenses/{licence}.html") })));
    }
    if let Some(url) = described.url() {
        links.push(json!({ "rel": "about", "href": url }));
    }
    if own_doi && let Some(doi) = publications.first().and_then(|one| one.doi.as_ref()) {
        links.push(json!({ "rel": "cite-as", "href": format!("https://doi.org/{doi}") }));
    }
    out.insert("links".into(), json!(links));
    Json::Object(out)
}

fn provider(contact: &super::Contact) -> Json {
    // The four roles that STAC defines.
    let known = ["licensor", "producer", "processor", "host"];
    let roles: Vec<&String> = contact.roles.iter().filter(|role| known.contains(&role.as_str())).collect();
    let mut out = Map::new();
    out.insert("name".into(), json!(contact.name));
    if let Some(organization) = contact.organization.as_ref().filter(|organization| **organization != contact.name) {
        out.insert("description".into(), json!(organization));
    }
    if !roles.is_empty() {
        out.insert("roles".into(), json!(roles));
    }
    if let Some(url) = &contact.url {
        out.insert("url".into(), json!(url));
    }
    Json::Object(out)
}

/// Asset for the file that contains everything; for a folder, its COLLECTION.json.
fn data_asset(described: &Described<'_>, dataset: &Facts, to: &str) -> Json {
    let place = described.address(dataset, to);
    let (href, kind) = match dataset.single {
        false => (format!("{}/COLLECTION.json", place.trim_end_matches('/')), "application/json"),
        true => (place, dataset.media_type()),
    };
    json!({ "href": href, "title": described.title(), "type": kind, "roles": ["data"] })
}

/// The dataset as asset `data`; several datasets as one asset each, named after their files.
fn data_assets(described: &Described<'_>) -> Json {
    let mut assets = Map::new();
    match described.datasets() {
        [one] => drop(assets.insert("data".into(), data_asset(described, one, "./"))),
        several => assets.extend(several.iter().map(|one| (described.file_name(one), data_asset(described, one, "./")))),
    }
    Json::Object(assets)
}

/// The dataset that contains a row of level 0.
fn dataset_of<'a>(described: &'a Described<'_>, row: usize) -> Option<&'a Facts> {
    let mut first = row;
    described.datasets().iter().find(|dataset| {
        let inside = first < dataset.roots;
        first = first.saturating_sub(dataset.roots);
        inside
    })
}

/// An Item for each sample of level 0. A sample without a time gets the dataset's interval; without either there is no Item, as
/// it would be invalid.
///
/// # Errors
/// When the footprints cannot be computed, or the job is cancelled.
pub fn items(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Json>> {
    let rows = roots(described, ctx)?;
    let level = &described.assembly.levels[0];
    let ids = &described.assembly.tree.levels[0].ids;
    let schema = level.batch.schema();
    let mut items = Vec::with_capacity(rows.len());
    let mut timeless = 0;
    for (row, place) in rows.iter().enumerate() {
        if row % 1024 == 0 {
            ctx.check()?;
        }
        let id = ids.value(row);
        if is_padding(id) {
            continue;
        }
        let mut properties = Map::new();
        let Some(()) = put_times(place, described, &mut properties) else {
            timeless += 1;
            continue;
        };
        let mut extensions: Vec<&str> = Vec::new();
        for (field, column) in schema.fields().iter().zip(level.batch.columns()).skip(2) {
            let value = cell_json(column, row);
            // STAC cannot represent NaN and infinities.
            let is_number = column.data_type().is_floating();
            if value.is_null() || (is_number && value.is_string()) {
                continue;
            }
            let name = match field.name().as_str() {
                "stac:time_start" | "stac:time_end" | "stac:time_middle" | "istac:time_start" | "istac:time_end"
                | "istac:time_middle" => continue,
                "stac:centroid" | "istac:centroid" | "istac:geometry" => continue,
                // The Item has these in the form required by STAC.
                "datetime" | "start_datetime" | "end_datetime" => continue,
                "stac:crs" | "istac:crs" => match value.as_str().filter(|crs| is_code(crs)) {
                    Some(_) => "proj:code",
                    None => field.name(),
                },
                "stac:geotransform" => "proj:transform",
                "stac:tensor_shape" | "stac:raster_shape" => "proj:shape",
                other => other,
            };
            let value = match name {
                "proj:transform" => match affine(&value) {
                    Some(affine) => affine,
                    None => continue,
                },
                "proj:shape" => match value.as_array().filter(|shape| shape.len() >= 2) {
                    Some(shape) => json!(shape[shape.len() - 2..]),
                    None => continue,
                },
                _ => value,
            };
            if name.starts_with("proj:") && !extensions.contains(&PROJECTION) {
                extensions.push(PROJECTION);
            }
            properties.insert(name.to_owned(), value);
        }
        let geometry = place.geometry.as_ref().map_or(Json::Null, footprint::geojson);
        let mut item = Map::new();
        item.insert("type".into(), json!("Feature"));
        item.insert("stac_version".into(), json!(VERSION));
        item.insert("stac_extensions".into(), json!(extensions));
        item.insert("id".into(), json!(id));
        item.insert("geometry".into(), geometry);
        if let Some(bbox) = place.bbox {
            item.insert("bbox".into(), json!(bbox.map(footprint::digits)));
        }
        item.insert("properties".into(), Json::Object(properties));
        item.insert("links".into(), json!([{ "rel": "collection", "href": "../collection.json", "type": "application/json" }]));
        let dataset = dataset_of(described, row).unwrap_or(described.facts);
        item.insert("assets".into(), json!({ "data": data_asset(described, dataset, "../") }));
        item.insert("collection".into(), json!(described.id()));
        items.push(Json::Object(item));
    }
    if timeless > 0 {
        ctx.warn(tr_n!(
            timeless,
            "{n} sample has no time, and neither has the dataset: it has no Item",
            "{n} samples have no time, and neither has the dataset: they have no Items",
            n = timeless
        ));
    }
    Ok(items)
}

/// Locations of the level-0 samples: their own, or the union of their descendants'.
pub fn roots(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Place>> {
    let level = footprint::level_with_places(described.assembly, None);
    let found = footprint::places_of_items(&described.assembly.levels[level].batch, ctx)?;
    if level == 0 {
        return Ok(found);
    }
    let tree = &described.assembly.tree;
    let mut gathered: Vec<Vec<Place>> = vec![Vec::new(); tree.levels[0].len()];
    for (row, place) in found.into_iter().enumerate() {
        let root = (1..=level).rev().fold(row as u32, |row, depth| tree.levels[depth].parents[row as usize]);
        if let Some(list) = gathered.get_mut(root as usize) {
            list.push(place);
        }
    }
    let own = footprint::places_of_items(&described.assembly.levels[0].batch, ctx)?;
    let joined = gathered.into_iter().zip(own).map(|(list, own)| {
        let bbox = own.bbox.or_else(|| enclosing_box(list.iter().filter_map(|place| place.bbox)));
        Place {
            geometry: own.geometry.or(bbox.map(box_polygon)),
            bbox,
            start: own.start.or_else(|| list.iter().filter_map(|place| place.start).min()),
            end: own.end.or_else(|| list.iter().filter_map(|place| place.end.or(place.start)).max()),
        }
    });
    Ok(joined.collect())
}

/// `datetime`, or `start_datetime` and `end_datetime` for an interval.
fn put_times(place: &Place, described: &Described<'_>, properties: &mut Map<String, Json>) -> Option<()> {
    let iso = |micros: i64| super::utc(&chrono::DateTime::from_timestamp_micros(micros)?.to_rfc3339());
    let start = place.start.and_then(iso);
    let end = place.end.and_then(iso);
    match (start, end) {
        (Some(start), Some(end)) if start != end => {
            properties.insert("datetime".into(), json!(start));
            properties.insert("start_datetime".into(), json!(start));
            properties.insert("end_datetime".into(), json!(end));
        }
        (Some(one), _) | (None, Some(one)) => drop(properties.insert("datetime".into(), json!(one))),
        (None, None) => {
            let [start, end] = described.interval.as_ref()?;
            properties.insert("datetime".into(), Json::Null);
            properties.insert("start_datetime".into(), json!(start));
            properties.insert("end_datetime".into(), json!(end));
        }
    }
    Some(())
}

/// True for `AUTHORITY:CODE`.
fn is_code(crs: &str) -> bool {
    crs.split_once(':').is_some_and(|(authority, code)| {
        let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        plain(authority) && plain(code)
    })
}

/// Converts a GDAL geotransform to the order of the projection extension.
fn affine(value: &Json) -> Option<Json> {
    let numbers: Vec<f64> = value.as_array()?.iter().map(Json::as_f64).collect::<Option<_>>()?;
    let &[x, dx, rx, y, ry, dy] = numbers.as_slice() else { return None };
    Some(json!([dx, rx, x, ry, dy, y]))
}
