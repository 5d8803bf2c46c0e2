//! STAC 1.1: the Collection, and an Item for each level-0 sample with a time.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json};

use super::footprint;
use super::item_assets::{AssetNames, data_link};
use super::item_columns::{ItemColumns, property_json};
use super::{Described, DocumentSink, Facts, json_document};
use crate::error::Result;
use crate::footprint::SampleTimes;
use crate::jobs::JobContext;
use crate::model::{NameNumbers, is_padding};

/// `stac_version` of Collection and Items.
pub const VERSION: &str = "1.1.0";
/// `type` of Items.
pub const ITEM_TYPE: &str = "Feature";
/// The link of an Item to its Collection.
pub const COLLECTION_LINK: [(&str, &str); 3] = [
    ("rel", "collection"),
    ("href", "../collection.json"),
    ("type", "application/json"),
];
pub const PROJECTION: &str = "https://stac-extensions.github.io/projection/v2.0.0/schema.json";
const SCIENTIFIC: &str = "https://stac-extensions.github.io/scientific/v1.0.0/schema.json";

/// The Collection, then the Items in `items/`.
pub fn documents(
    described: &Described<'_>,
    sink: &mut DocumentSink<'_>,
    ctx: &JobContext,
) -> Result<()> {
    let found = item_rows(described, ctx)?;
    warn_of_timeless(described, &found, ctx);
    let (Some(level), Some(tree)) = (
        described.assembly.levels.first(),
        described.assembly.tree.levels.first(),
    ) else {
        return sink(json_document("collection.json", &collection(described)));
    };
    let file_names = file_names(found.rows.iter().map(|&row| tree.id(row)));
    sink(json_document(
        "collection.json",
        &CollectionDocument {
            fields: &collection(described),
            item_names: &file_names,
        },
    ))?;
    let columns = ItemColumns::from_batch(&level.batch, described.batch_rows, ctx)?;
    let assets = AssetNames::for_rows(described, &found.rows, ctx)?;
    for (rows, names) in found
        .rows
        .chunks(described.batch_rows)
        .zip(file_names.chunks(described.batch_rows))
    {
        let items = items(described, rows, &columns, &assets, ctx)?;
        for (item, name) in items.iter().zip(names) {
            sink(json_document(&format!("items/{name}.json"), item))?;
        }
    }
    Ok(())
}

/// A file name for an id, which may contain characters that file names must not.
fn file_name(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// File names of the Items with these ids, unique even on case-insensitive file systems.
fn file_names<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut taken, mut numbers) = (HashSet::new(), NameNumbers::default());
    let names = ids.map(|id| {
        let plain = file_name(id);
        numbers.find_free(
            plain.to_lowercase(),
            plain.clone(),
            |number| format!("{plain}_{number}"),
            |name| taken.insert(name.to_lowercase()),
        )
    });
    names.collect()
}

/// The Collection with links to the Items in these files, of which each is made when it is written:
/// there is one for each sample.
struct CollectionDocument<'a> {
    fields: &'a Json,
    item_names: &'a [String],
}

impl Serialize for CollectionDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let fields = self.fields.as_object().into_iter().flatten();
        serializer.collect_map(fields.map(|(name, value)| {
            let links = if name == "links" {
                self.item_names
            } else {
                &[]
            };
            (name, LinkedValue { links, value })
        }))
    }
}

/// A field of a Collection: the links to Items, then its own value.
struct LinkedValue<'a> {
    links: &'a [String],
    value: &'a Json,
}

impl Serialize for LinkedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let others = match self.value.as_array() {
            Some(others) if !self.links.is_empty() => others,
            _ => return self.value.serialize(serializer),
        };
        let items = self.links.iter().map(|name| {
            Cow::Owned(
                json!({ "rel": "item", "href": format!("./items/{name}.json"),
            "type": "application/geo+json" }),
            )
        });
        serializer.collect_seq(items.chain(others.iter().map(Cow::Borrowed)))
    }
}

/// The Collection, without links to Items.
pub fn collection(described: &Described<'_>) -> Json {
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
    let providers: Vec<Json> = described
        .contacts("providers")
        .iter()
        .map(provider)
        .collect();
    if !providers.is_empty() {
        out.insert("providers".into(), json!(providers));
    }
    out.insert(
        "extent".into(),
        json!({ "spatial": { "bbox": [bbox] }, "temporal": { "interval": [interval] } }),
    );
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
            Json::Object(
                parts
                    .into_iter()
                    .filter_map(|(key, text)| Some((key.to_owned(), json!(text.as_ref()?))))
                    .collect(),
            )
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
    let mut links: Vec<Json> = Vec::new();
    if one.is_none() {
        let known = licences
            .iter()
            .filter(|licence| spdx::license_id(licence).is_some());
        links.extend(known.map(|licence| {
            json!({ "rel": "license",
            "href": format!("https://spdx.org/licenses/{licence}.html") })
        }));
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
    let roles: Vec<&String> = contact
        .roles
        .iter()
        .filter(|role| known.contains(&role.as_str()))
        .collect();
    let mut out = Map::new();
    out.insert("name".into(), json!(contact.name));
    if let Some(organization) = contact
        .organization
        .as_ref()
        .filter(|organization| **organization != contact.name)
    {
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

/// The file that contains everything as an asset of the Collection.
fn data_asset(described: &Described<'_>, dataset: &Facts, to: &str) -> Json {
    let (href, kind) = data_link(described, dataset, to);
    json!({ "href": href, "title": described.title(), "type": kind, "roles": ["data"] })
}

/// The dataset as asset `data`; several datasets as one asset each, named after their files.
fn data_assets(described: &Described<'_>) -> Json {
    let mut assets = Map::new();
    match described.datasets() {
        [one] => drop(assets.insert("data".into(), data_asset(described, one, "./"))),
        several => assets.extend(
            several
                .iter()
                .map(|one| (described.file_name(one), data_asset(described, one, "./"))),
        ),
    }
    Json::Object(assets)
}

/// The rows of level 0 that are Items.
pub struct ItemRows {
    /// Their row numbers.
    pub rows: Vec<u32>,
    /// True when the times of one of them are an interval.
    pub has_interval: bool,
}

/// The rows of level 0 that are Items. A sample without a time gets the dataset's interval; without
/// either there is no Item, as it would be invalid. Padding is no Item either.
///
/// # Errors
/// When the times can't be read, or the job is cancelled.
pub fn item_rows(described: &Described<'_>, ctx: &JobContext) -> Result<ItemRows> {
    let mut found = ItemRows {
        rows: Vec::new(),
        has_interval: false,
    };
    let Some(level) = described.assembly.tree.levels.first() else {
        return Ok(found);
    };
    let all: Vec<u32> = (0..level.len() as u32)
        .filter(|&row| !is_padding(level.id(row)))
        .collect();
    for rows in all.chunks(described.batch_rows) {
        for (&row, times) in rows
            .iter()
            .zip(footprint::times(described.assembly, 0, rows, ctx)?)
        {
            if let Some(times) = ItemTimes::from_sample_times(&times, described) {
                found.rows.push(row);
                found.has_interval |= times.interval.is_some();
            }
        }
    }
    Ok(found)
}

/// Warns about the samples of level 0 that are no Items.
pub fn warn_of_timeless(described: &Described<'_>, items: &ItemRows, ctx: &JobContext) {
    let Some(level) = described.assembly.tree.levels.first() else {
        return;
    };
    let samples = (0..level.len() as u32)
        .filter(|&row| !is_padding(level.id(row)))
        .count();
    let timeless = samples - items.rows.len();
    if timeless > 0 {
        ctx.warn(tr_n!(
            timeless,
            "{n} sample has no time, and neither has the dataset: it has no Item",
            "{n} samples have no time, and neither has the dataset: they have no Items",
            n = timeless
        ));
    }
}

/// The Items of some rows of level 0 as JSON.
fn items(
    described: &Described<'_>,
    rows: &[u32],
    columns: &ItemColumns,
    names: &AssetNames,
    ctx: &JobContext,
) -> Result<Vec<Json>> {
    let (Some(level), Some(tree)) = (
        described.assembly.levels.first(),
        described.assembly.tree.levels.first(),
    ) else {
        return Ok(Vec::new());
    };
    let places = footprint::places_of_items(described.assembly, 0, rows, ctx)?;
    let columns = columns.values(&level.batch, rows)?;
    let mut items = Vec::with_capacity(rows.len());
    for (number, (&row, place)) in rows.iter().zip(&places).enumerate() {
        let Some(times) = ItemTimes::from_sample_times(&place.times, described) else {
            continue;
        };
        let mut properties = times.json();
        for column in &columns {
            let value = property_json(column, number);
            if !value.is_null() {
                properties.insert(column.name.clone(), value);
            }
        }
        let extensions: &[&str] = if properties.keys().any(|name| is_of_projection(name)) {
            &[PROJECTION]
        } else {
            &[]
        };
        let geometry = place
            .geometry
            .as_ref()
            .map_or(Json::Null, footprint::geojson);
        let assets = names
            .assets_of(described, row)
            .into_iter()
            .map(|asset| (asset.key.clone(), asset.json()));
        let mut item = Map::new();
        item.insert("type".into(), json!(ITEM_TYPE));
        item.insert("stac_version".into(), json!(VERSION));
        item.insert("stac_extensions".into(), json!(extensions));
        item.insert("id".into(), json!(tree.id(row)));
        item.insert("geometry".into(), geometry);
        if let Some(bbox) = place.bbox {
            item.insert("bbox".into(), json!(bbox.map(footprint::digits)));
        }
        item.insert("properties".into(), Json::Object(properties));
        item.insert(
            "links".into(),
            json!([Map::from_iter(
                COLLECTION_LINK.map(|(key, text)| (key.to_owned(), json!(text)))
            )]),
        );
        item.insert("assets".into(), Json::Object(assets.collect()));
        item.insert("collection".into(), json!(described.id()));
        items.push(Json::Object(item));
    }
    Ok(items)
}

/// True for a property of the projection extension.
pub fn is_of_projection(name: &str) -> bool {
    name.starts_with("proj:")
}

/// The times of an Item as RFC 3339 in UTC.
pub struct ItemTimes {
    /// `datetime`; `None` beside an interval without a nominal time, such as that of the whole
    /// dataset.
    pub datetime: Option<String>,
    /// `start_datetime` and `end_datetime`; `None` for an instant.
    pub interval: Option<[String; 2]>,
}

impl ItemTimes {
    /// The times of a sample, or the interval of the dataset; `None` without either.
    pub fn from_sample_times(times: &SampleTimes, described: &Described<'_>) -> Option<Self> {
        let iso = |micros: i64| {
            super::utc(&chrono::DateTime::from_timestamp_micros(micros)?.to_rfc3339())
        };
        let [nominal, start, end] =
            [times.nominal, times.start, times.end].map(|time| time.and_then(iso));
        Some(match (start, end) {
            (Some(start), Some(end)) if start != end => Self {
                datetime: nominal,
                interval: Some([start, end]),
            },
            (Some(one), _) | (None, Some(one)) => Self {
                datetime: Some(nominal.unwrap_or(one)),
                interval: None,
            },
            (None, None) => Self {
                datetime: None,
                interval: Some(described.interval.clone()?),
            },
        })
    }

    fn json(self) -> Map<String, Json> {
        let mut properties = Map::new();
        properties.insert("datetime".into(), json!(self.datetime));
        if let Some([start, end]) = self.interval {
            properties.insert("start_datetime".into(), json!(start));
            properties.insert("end_datetime".into(), json!(end));
        }
        properties
    }
}
