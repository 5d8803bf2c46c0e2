//! STAC Items and their assets (STAC 1.0, Item specification).

use std::path::{Path, PathBuf};

use geo::Geometry;
use serde_json::{Map, Value as Json};

use super::place_of_link;
use crate::error::{Error, Result};
use crate::model::is_remote;
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

/// An Item.
#[derive(Debug)]
pub(super) struct StacItem {
    pub id: String,
    pub collection: Option<String>,
    pub properties: Map<String, Json>,
    pub geometry: Option<Geometry>,
    pub bbox: Option<[f64; 4]>,
    pub assets: Vec<StacAsset>,
    /// The document that it was read from.
    pub document: PathBuf,
}

/// An asset of an Item.
#[derive(Debug)]
pub(super) struct StacAsset {
    pub key: String,
    /// A file, or an address.
    pub place: PathBuf,
    media_type: String,
    roles: Vec<String>,
    /// As the extension `file` states it, in bytes.
    pub size: Option<u64>,
}

impl StacItem {
    /// The Item of a document at `place`.
    ///
    /// # Errors
    /// For a feature without id or assets, and an asset whose link is not allowed.
    pub fn read(place: &Path, feature: &Json) -> Result<Self> {
        let wrong = |what: &str| Error::format(format!("an item {what}")).at_path(place);
        let id = match feature.get("id") {
            Some(Json::String(id)) if !id.is_empty() => id.clone(),
            Some(Json::Number(number)) => number.to_string(),
            _ => return Err(wrong("has no id")),
        };
        let assets = feature.get("assets").and_then(Json::as_object);
        let assets = assets.ok_or_else(|| {
            wrong("has no assets")
                .hint("features without assets are no STAC: they can be joined as a table")
        })?;
        let own = self_place(place, feature);
        let read = |(key, asset): (&String, &Json)| {
            StacAsset::read(place, own.as_deref(), key, asset).transpose()
        };
        let assets = assets.iter().filter_map(read).collect::<Result<_>>()?;
        let numbers = |value: &Json| {
            value
                .as_array()
                .map(|list| list.iter().filter_map(Json::as_f64).collect::<Vec<f64>>())
        };
        let bbox =
            feature
                .get("bbox")
                .and_then(numbers)
                .and_then(|numbers| match numbers.as_slice() {
                    [west, south, east, north] | [west, south, _, east, north, _] => {
                        Some([*west, *south, *east, *north])
                    }
                    _ => None,
                });
        Ok(Self {
            id,
            collection: feature
                .get("collection")
                .and_then(Json::as_str)
                .map(str::to_owned),
            properties: feature
                .get("properties")
                .and_then(Json::as_object)
                .cloned()
                .unwrap_or_default(),
            geometry: feature.get("geometry").and_then(geojson_geometry),
            bbox,
            assets,
            document: place.to_owned(),
        })
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

impl StacAsset {
    /// `None` for an asset without a link. A relative link is that of a file beside the document,
    /// where there is one: a collection of items that was saved with its files keeps the addresses
    /// of the items. Else it is relative to the address of the item, `own`.
    fn read(document: &Path, own: Option<&Path>, key: &str, asset: &Json) -> Result<Option<Self>> {
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
        let text = |name: &str| {
            asset
                .get(name)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let roles = asset
            .get("roles")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        Ok(Some(Self {
            key: key.to_owned(),
            place,
            media_type: text("type").to_ascii_lowercase(),
            roles: roles
                .filter_map(Json::as_str)
                .map(str::to_ascii_lowercase)
                .collect(),
            size: asset.get("file:size").and_then(Json::as_u64),
        }))
    }

    /// False for thumbnails, overviews and metadata.
    pub fn holds_data(&self) -> bool {
        let has = |roles: &[&str]| self.roles.iter().any(|role| roles.contains(&role.as_str()));
        if has(&["data"]) {
            return true;
        }
        let media_type = self.media_type.split(';').next().unwrap_or_default().trim();
        !has(&OTHER_ROLES) && !OTHER_TYPES.contains(&media_type)
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
            StacAsset::read(Path::new("/d/i.json"), None, "a", &asset)
                .expect("reads")
                .expect("has a link")
        };
        assert!(asset(json!({})).holds_data());
        assert!(asset(json!({ "roles": ["data"], "type": "application/json" })).holds_data());
        assert!(asset(json!({ "type": "image/tiff; application=geotiff" })).holds_data());
        assert!(!asset(json!({ "roles": ["thumbnail"], "type": "image/tiff" })).holds_data());
        assert!(!asset(json!({ "type": "application/xml" })).holds_data());
        assert_eq!(asset(json!({})).ending(), "tif");
    }
}
