//! STAC 1.1: the Collection, and an Item for each level-0 sample with a time.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use super::footprint::{self, Place};
use super::item_assets::assets_of_items;
use super::item_columns::{ItemColumn, item_columns, property_json};
use super::{Described, Document, Facts, json_document};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::is_padding;

const VERSION: &str = "1.1.0";
const SCIENTIFIC: &str = "https://stac-extensions.github.io/scientific/v1.0.0/schema.json";
const PROJECTION: &str = "https://stac-extensions.github.io/projection/v2.0.0/schema.json";

/// The Collection, then the Items in `items/`.
pub fn documents(described: &Described<'_>, ctx: &JobContext) -> Result<Vec<Document>> {
    let items = items(described, ctx)?.items;
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
pub fn data_asset(described: &Described<'_>, dataset: &Facts, to: &str) -> Json {
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
pub fn dataset_of<'a>(described: &'a Described<'_>, row: usize) -> Option<&'a Facts> {
    let mut first = row;
    described.datasets().iter().find(|dataset| {
        let inside = first < dataset.roots;
        first = first.saturating_sub(dataset.roots);
        inside
    })
}

/// The Items of level 0 with what they are made of: one entry of each list per Item.
pub struct ItemSet {
    /// Rows of level 0.
    pub rows: Vec<u32>,
    /// Their locations and times.
    pub places: Vec<Place>,
    /// Their properties without times, one value per row of level 0.
    pub columns: Vec<ItemColumn>,
    /// The Items as JSON.
    pub items: Vec<Json>,
}

/// Rows of level 0 with their locations and times: their own, or those of their descendants, without padding.
fn roots(described: &Described<'_>, ctx: &JobContext) -> Result<(Vec<u32>, Vec<Place>)> {
    let Some(level) = described.assembly.tree.levels.first() else { return Ok((Vec::new(), Vec::new())) };
    let rows: Vec<u32> = (0..level.len() as u32).filter(|&row| !is_padding(level.id(row))).collect();
    let places = footprint::places_of_items(described.assembly, 0, &rows, ctx)?;
    Ok((rows, places))
}

/// True when a sample has a time, or the dataset an interval, so that there are Items.
///
/// # Errors
/// When the job is cancelled.
pub fn has_items(described: &Described<'_>, ctx: &JobContext) -> Result<bool> {
    let (_, places) = roots(described, ctx)?;
    Ok(places.iter().any(|place| times_of(place, described).is_some()))
}

/// An Item for each sample of level 0. A sample without a time gets the dataset's interval; without either there is no Item, as
/// it would be invalid.
///
/// # Errors
/// When the footprints cannot be computed, or the job is cancelled.
pub fn items(described: &Described<'_>, ctx: &JobContext) -> Result<ItemSet> {
    let Some(level) = described.assembly.levels.first() else {
        return Ok(ItemSet { rows: Vec::new(), places: Vec::new(), columns: Vec::new(), items: Vec::new() });
    };
    let (all_rows, all_places) = roots(described, ctx)?;
    let all = all_rows.len();
    let timed = all_rows.into_iter().zip(all_places).filter_map(|(row, place)| {
        let times = times_of(&place, described)?;
        Some((row, place, times))
    });
    let (mut rows, mut places, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (row, place, of_item) in timed {
        rows.push(row);
        places.push(place);
        times.push(of_item);
    }
    let columns = item_columns(&level.batch);
    let assets = assets_of_items(described, &rows, ctx)?;
    let tree = &described.assembly.tree.levels;
    let mut items = Vec::with_capacity(rows.len());
    for (number, (((&row, place), mut properties), assets)) in rows.iter().zip(&places).zip(times).zip(assets).enumerate() {
        if number % 1024 == 0 {
            ctx.check()?;
        }
        for column in &columns {
            let value = property_json(column, row as usize);
            if !value.is_null() {
                properties.insert(column.name.clone(), value);
            }
        }
        let extensions: &[&str] = if properties.keys().any(|name| name.starts_with("proj:")) { &[PROJECTION] } else { &[] };
        let geometry = place.geometry.as_ref().map_or(Json::Null, footprint::geojson);
        let mut item = Map::new();
        item.insert("type".into(), json!("Feature"));
        item.insert("stac_version".into(), json!(VERSION));
        item.insert("stac_extensions".into(), json!(extensions));
        item.insert("id".into(), json!(tree.first().map_or("", |level| level.id(row))));
        item.insert("geometry".into(), geometry);
        if let Some(bbox) = place.bbox {
            item.insert("bbox".into(), json!(bbox.map(footprint::digits)));
        }
        item.insert("properties".into(), Json::Object(properties));
        item.insert("links".into(), json!([{ "rel": "collection", "href": "../collection.json", "type": "application/json" }]));
        item.insert("assets".into(), assets);
        item.insert("collection".into(), json!(described.id()));
        items.push(Json::Object(item));
    }
    let timeless = all - rows.len();
    if timeless > 0 {
        ctx.warn(tr_n!(
            timeless,
            "{n} sample has no time, and neither has the dataset: it has no Item",
            "{n} samples have no time, and neither has the dataset: they have no Items",
            n = timeless
        ));
    }
    Ok(ItemSet { rows, places, columns, items })
}

/// `datetime`, and `start_datetime` and `end_datetime` for an interval. `datetime` is null beside an interval without a nominal
/// time, such as that of the whole dataset.
fn times_of(place: &Place, described: &Described<'_>) -> Option<Map<String, Json>> {
    let iso = |micros: i64| super::utc(&chrono::DateTime::from_timestamp_micros(micros)?.to_rfc3339());
    let [nominal, start, end] = [place.times.nominal, place.times.start, place.times.end].map(|time| time.and_then(iso));
    let mut properties = Map::new();
    match (start, end) {
        (Some(start), Some(end)) if start != end => {
            properties.insert("datetime".into(), json!(nominal));
            properties.insert("start_datetime".into(), json!(start));
            properties.insert("end_datetime".into(), json!(end));
        }
        (Some(one), _) | (None, Some(one)) => drop(properties.insert("datetime".into(), json!(nominal.unwrap_or(one)))),
        (None, None) => {
            let [start, end] = described.interval.as_ref()?;
            properties.insert("datetime".into(), Json::Null);
            properties.insert("start_datetime".into(), json!(start));
            properties.insert("end_datetime".into(), json!(end));
        }
    }
    Some(properties)
}
