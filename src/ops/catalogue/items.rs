//! STAC Items and their assets (STAC 1.0, Item specification).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use geo::Geometry;
use serde_json::Value as Json;

use super::item_metadata::{ItemMetadata, NamePool};
use super::links::place_of_link;
use super::properties::{PropertyColumn, PropertyColumns};
use super::search::ItemSearch;
use crate::error::{Error, Result};
use crate::footprint::box_polygon;
use crate::jobs::JobContext;
use crate::model::{id_matches, is_remote};
use crate::remote::FILE_SIZE_MAX;
use crate::table::geojson_geometry;

/// Roles of assets that hold no data.
const OTHER_ROLES: [&str; 6] = [
    "thumbnail",
    "overview",
    "metadata",
    "index",
    "tilejson",
    "documentation",
];
/// Media types of assets that hold no data.
const OTHER_TYPES: [&str; 7] = [
    "text/html",
    "text/xml",
    "application/xml",
    "application/json",
    "application/pdf",
    "image/png",
    "image/jpeg",
];

/// An Item with its assets.
#[derive(Debug)]
pub(super) struct StacItem {
    pub id: Box<str>,
    pub assets: Vec<StacAsset>,
    /// The document that it was read from.
    pub document: Arc<Path>,
}

/// An asset of an Item.
#[derive(Debug)]
pub(super) struct StacAsset {
    pub key: Arc<str>,
    /// A file, or an address.
    pub place: Arc<Path>,
    /// False for thumbnails, overviews and metadata.
    pub holds_data: bool,
    /// As the extension `file` states it, in bytes. `None` also for a size that no file has, so
    /// that the server is asked.
    pub size: Option<u64>,
}

/// The Items that are taken of a catalogue, with their chosen assets.
pub(super) struct ItemCollector<'a> {
    search: &'a ItemSearch,
    /// Patterns of the keys of assets; empty for those that hold data.
    chosen: &'a [String],
    limit: usize,
    names: NamePool,
    /// Keys of all assets.
    keys: BTreeSet<Arc<str>>,
    items: Vec<StacItem>,
    columns: PropertyColumns,
}

impl<'a> ItemCollector<'a> {
    /// Takes at most `limit` Items.
    pub fn new(search: &'a ItemSearch, chosen: &'a [String], limit: usize) -> Self {
        Self {
            search,
            chosen,
            limit,
            names: NamePool::default(),
            keys: BTreeSet::new(),
            items: Vec::new(),
            columns: PropertyColumns::default(),
        }
    }

    /// True when no further Item is taken.
    pub fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    /// Takes the Item of a document at `place`, if the search does. Its geometry, where the
    /// document has none that can be read, is `geometry`, else that of its box.
    ///
    /// # Errors
    /// Those of [`StacItem::read`] and [`PropertyColumns::add`].
    pub fn add(
        &mut self,
        place: &Arc<Path>,
        feature: Json,
        geometry: Option<Geometry>,
    ) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let (mut item, mut metadata) = StacItem::read(place, feature, &mut self.names)?;
        let geometry = metadata.geometry.take().or(geometry);
        metadata.geometry = geometry.or_else(|| metadata.bbox.map(box_polygon));
        if !self.search.takes(&metadata) {
            return Ok(());
        }
        let keys = item.assets.iter().map(|asset| asset.key.clone());
        self.keys.extend(keys);
        item.assets.retain(|asset| match self.chosen {
            [] => asset.holds_data,
            patterns => patterns
                .iter()
                .any(|pattern| id_matches(pattern, &asset.key)),
        });
        item.assets.shrink_to_fit();
        self.items.push(item);
        let added = self.columns.add(metadata);
        added.map_err(|error| error.at_path(place))
    }

    /// The Items.
    pub fn items(&self) -> &[StacItem] {
        &self.items
    }

    /// Keys of all assets of the Items, also of those that are not chosen.
    pub fn keys(&self) -> &BTreeSet<Arc<str>> {
        &self.keys
    }

    /// The Items, and the columns of their metadata.
    ///
    /// # Errors
    /// Those of [`PropertyColumns::finish`].
    pub fn finish(self, ctx: &JobContext) -> Result<(Vec<StacItem>, Vec<PropertyColumn>)> {
        Ok((self.items, self.columns.finish(ctx)?))
    }
}

impl StacItem {
    /// The Item of a document at `place`.
    ///
    /// # Errors
    /// For a feature without id or assets, and an asset whose link is not allowed.
    pub fn read(
        place: &Arc<Path>,
        mut feature: Json,
        names: &mut NamePool,
    ) -> Result<(Self, ItemMetadata)> {
        let wrong = |what: &str| Error::format(format!("an item {what}")).at_path(place);
        let id = match feature.get("id") {
            Some(Json::String(id)) if !id.is_empty() => id.as_str().into(),
            Some(Json::Number(number)) => number.to_string().into(),
            _ => return Err(wrong("has no id")),
        };
        let assets = feature.get("assets").and_then(Json::as_object);
        let assets = assets.ok_or_else(|| {
            wrong("has no assets")
                .hint("features without assets are no STAC: they can be joined as a table")
        })?;
        let own = self_place(place, &feature);
        let mut read = |(key, asset): (&String, &Json)| {
            StacAsset::read(place, own.as_deref(), names.get(key), asset).transpose()
        };
        let assets = assets.iter().filter_map(&mut read).collect::<Result<_>>()?;
        let bbox = feature.get("bbox").and_then(read_bbox);
        let properties = match feature.get_mut("properties").map(Json::take) {
            Some(Json::Object(properties)) => properties,
            _ => serde_json::Map::new(),
        };
        let collection = feature.get("collection").and_then(Json::as_str);
        let collection = collection.map(|name| names.get(name));
        let metadata = ItemMetadata {
            collection,
            properties,
            geometry: feature.get("geometry").and_then(geojson_geometry),
            bbox,
        };
        let item = Self {
            id,
            assets,
            document: place.clone(),
        };
        Ok((item, metadata))
    }
}

/// The place of an Item by its link `self`, where that is an address.
fn self_place(place: &Path, feature: &Json) -> Option<PathBuf> {
    let links = feature.get("links")?.as_array()?;
    let own = links
        .iter()
        .find(|link| link.get("rel").and_then(Json::as_str) == Some("self"))?;
    let href = own.get("href")?.as_str()?;
    href.contains("://")
        .then(|| place_of_link(place, href).ok())
        .flatten()
}

/// West, south, east and north of a box with or without heights.
fn read_bbox(value: &Json) -> Option<[f64; 4]> {
    let sides: Vec<f64> = value.as_array()?.iter().filter_map(Json::as_f64).collect();
    match sides[..] {
        [west, south, east, north] | [west, south, _, east, north, _] => {
            Some([west, south, east, north])
        }
        _ => None,
    }
}

impl StacAsset {
    /// `None` for an asset without a link. A relative link is that of a file beside the document,
    /// where there is one: a collection of items that was saved with its files keeps the addresses
    /// of the items. Else it is relative to the address of the item, `own`.
    fn read(
        document: &Path,
        own: Option<&Path>,
        key: Arc<str>,
        asset: &Json,
    ) -> Result<Option<Self>> {
        let Some(href) = asset
            .get("href")
            .and_then(Json::as_str)
            .filter(|href| !href.is_empty())
        else {
            return Ok(None);
        };
        let beside = place_of_link(document, href);
        let is_here =
            |place: &PathBuf| !is_remote(document) && (is_remote(place) || place.exists());
        let place = match (beside, own) {
            (Ok(place), Some(own)) if !is_here(&place) => place_of_link(own, href)?,
            (beside, _) => beside?,
        };
        Ok(Some(Self {
            key,
            place: place.into(),
            holds_data: holds_data(asset),
            size: asset
                .get("file:size")
                .and_then(Json::as_u64)
                .filter(|&size| size < FILE_SIZE_MAX),
        }))
    }

    /// The ending of the file in lower case; empty for none.
    pub fn ending(&self) -> String {
        let text = self.place.to_string_lossy();
        let name = text
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_plain = (1..=8).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_plain {
            ending.to_ascii_lowercase()
        } else {
            String::new()
        }
    }
}

/// False for thumbnails, overviews and metadata, by roles and media type.
fn holds_data(asset: &Json) -> bool {
    let roles = asset.get("roles").and_then(Json::as_array);
    let roles = roles.into_iter().flatten().filter_map(Json::as_str);
    let roles: Vec<String> = roles.map(str::to_ascii_lowercase).collect();
    let has = |names: &[&str]| roles.iter().any(|role| names.contains(&role.as_str()));
    if has(&["data"]) {
        return true;
    }
    let stated = asset.get("type").and_then(Json::as_str).unwrap_or_default();
    let media_type = stated.split(';').next().unwrap_or_default().trim();
    !has(&OTHER_ROLES) && !OTHER_TYPES.contains(&media_type.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assets_that_hold_data_are_told_from_the_others() {
        let asset = |more: Json| {
            let mut asset = json!({ "href": "https://host/a/b.TIF?sig=1" });
            asset
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            StacAsset::read(Path::new("/d/i.json"), None, "a".into(), &asset)
                .expect("reads")
                .expect("has a link")
        };
        assert!(asset(json!({})).holds_data);
        assert!(asset(json!({ "roles": ["data"], "type": "application/json" })).holds_data);
        assert!(asset(json!({ "type": "image/tiff; application=geotiff" })).holds_data);
        assert!(!asset(json!({ "roles": ["thumbnail"], "type": "image/tiff" })).holds_data);
        assert!(!asset(json!({ "type": "application/xml" })).holds_data);
        assert_eq!(asset(json!({})).ending(), "tif");
    }

    #[test]
    fn a_stated_size_that_no_file_has_is_not_believed() {
        for (stated, wanted) in [
            (json!(1024), Some(1024)),
            (json!(FILE_SIZE_MAX), None),
            (json!(u64::MAX), None),
            (json!("1024"), None),
        ] {
            let asset = json!({ "href": "https://host/a.tif", "file:size": stated });
            let asset = StacAsset::read(Path::new("/d/i.json"), None, "a".into(), &asset);
            assert_eq!(asset.expect("reads").expect("has a link").size, wanted);
        }
    }
}
