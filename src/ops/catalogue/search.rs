//! Searches: which items of a catalogue are taken, and the address at which a STAC API (1.0, Item
//! Search) is asked for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value as Json};

use super::choice::CatalogueChoice;
use super::item_metadata::ItemMetadata;
use super::links::{check_link_allowed, place_of_link};
use crate::error::{Error, Result};
use crate::footprint::{Boxes, box_polygon, parse_time};
use crate::model::Address;
use crate::query::{TimeRange, check_box};

/// Items of one answer that are asked for; servers have a maximum of their own.
const PAGE: usize = 200;
/// Bytes of a parameter that are encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b',')
    .remove(b':')
    .remove(b'/');

/// The items that a search takes.
pub(super) struct ItemSearch {
    boxes: Option<([f64; 4], Boxes)>,
    times: Option<TimeRange>,
    collections: Vec<String>,
    /// Number of items that are taken.
    limit: usize,
}

impl ItemSearch {
    /// # Errors
    /// For a box that is none, and a text that is no range of time.
    pub fn from_choice(choice: &CatalogueChoice, limit: usize) -> Result<Self> {
        let boxes = match choice.bbox {
            Some(bbox) => {
                check_box(bbox)?;
                Some((bbox, Boxes::new(bbox)))
            }
            None => None,
        };
        let times = choice
            .datetime
            .as_deref()
            .map(TimeRange::parse)
            .transpose()?;
        Ok(Self {
            boxes,
            times,
            collections: choice.collections.clone(),
            limit,
        })
    }

    /// True for an item that touches the box, has a time in the range and is of a collection. What
    /// an item does not state is in none.
    pub fn takes(&self, item: &ItemMetadata) -> bool {
        let is_wanted = |own: &Arc<str>| self.collections.iter().any(|one| **one == **own);
        let boxes = self.boxes.as_ref().map(|(_, boxes)| boxes);
        boxes.is_none_or(|boxes| is_in_boxes(item, boxes))
            && self.times.is_none_or(|times| is_in_times(item, times))
            && (self.collections.is_empty() || item.collection.as_ref().is_some_and(is_wanted))
    }

    fn is_empty(&self) -> bool {
        self.boxes.is_none() && self.times.is_none() && self.collections.is_empty()
    }

    /// The parameters of the search, and how many items an answer has.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        if !self.collections.is_empty() {
            parameters.push(("collections", self.collections.join(",")));
        }
        if let Some((bbox, _)) = &self.boxes {
            parameters.push(("bbox", bbox.map(|side| side.to_string()).join(",")));
        }
        if let Some(times) = &self.times {
            parameters.push(("datetime", times.in_utc()));
        }
        parameters
    }

    /// The address of the search by its name, `…/search` or `…/items`; `None` for other places,
    /// whose document has to be read.
    pub fn address(&self, place: &Path) -> Option<PathBuf> {
        let address = Address::from_path(place).filter(Address::is_web)?;
        match address.name() {
            _ if self.is_empty() => None,
            "search" => Some(self.asked_at(place, true)),
            "items" => Some(self.asked_at(place, false)),
            _ => None,
        }
    }

    /// The address of the search that a document links to: an API's, or the items of a collection
    /// of one. `None` for a catalogue of files.
    ///
    /// # Errors
    /// For a link to another network.
    pub fn linked_address(&self, place: &Path, document: &Json) -> Result<Option<PathBuf>> {
        if self.is_empty() || Address::from_path(place).filter(Address::is_web).is_none() {
            return Ok(None);
        }
        let (link, with_collections) = match (
            find_get_link(document, "items"),
            find_get_link(document, "search"),
        ) {
            (Some(items), _) => (items, false),
            (None, Some(search)) => (search, true),
            (None, None) => return Ok(None),
        };
        let Some(href) = link.get("href").and_then(Json::as_str) else {
            return Ok(None);
        };
        let linked = place_of_link(place, href)?;
        check_link_allowed(place, &linked)?;
        Ok(Some(self.asked_at(&linked, with_collections)))
    }

    fn asked_at(&self, place: &Path, with_collections: bool) -> PathBuf {
        let mut parameters = self.parameters();
        parameters.retain(|(name, _)| with_collections || *name != "collections");
        if !has_parameter(place, "limit") {
            parameters.push(("limit", self.limit.min(PAGE).to_string()));
        }
        with_parameters(place, &parameters)
    }
}

/// True for a link with this method of HTTP; links without one are of `GET`.
fn has_method(link: &Json, method: &str) -> bool {
    link.get("method")
        .and_then(Json::as_str)
        .is_some_and(|own| own.eq_ignore_ascii_case(method))
}

/// The address of a link to the next page. A link that is to be asked by `POST` states its
/// parameters as an object; they have the same names in an address, and `merge` adds them to those
/// of the page before.
///
/// # Errors
/// For a link to another network, and parameters that an address can't have.
pub(super) fn address_of_link(place: &Path, link: &Json) -> Result<Option<PathBuf>> {
    let Some(href) = link.get("href").and_then(Json::as_str) else {
        return Ok(None);
    };
    let linked = place_of_link(place, href)?;
    check_link_allowed(place, &linked)?;
    if !has_method(link, "POST") {
        return Ok(Some(linked));
    }
    if Address::from_path(&linked)
        .filter(Address::is_web)
        .is_none()
    {
        return Err(post_search_error(place, ""));
    }
    let body = link
        .get("body")
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default();
    let merges = link.get("merge").and_then(Json::as_bool).unwrap_or(false);
    let before = if merges {
        parameters_of(place)
    } else {
        Vec::new()
    };
    let before: Vec<(&str, String)> = before
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    let parameters = parameters_of_body(&body).map_err(|name| {
        post_search_error(place, &format!(" with {name}, which no address can have"))
    })?;
    let parameters: Vec<(&str, String)> = parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    Ok(Some(with_parameters(
        &with_parameters(&linked, &before),
        &parameters,
    )))
}

fn post_search_error(place: &Path, with: &str) -> Error {
    Error::unsupported(format!(
        "the next page of this search is asked for by POST{with}"
    ))
    .at_path(place)
    .hint("use the address of the search with its parameters behind `?`")
}

/// The parameters of an object: lists are joined by commas, geometries are text of JSON. An error
/// is the name of what is no parameter.
fn parameters_of_body(
    body: &Map<String, Json>,
) -> std::result::Result<Vec<(String, String)>, String> {
    let known = body.iter().filter(|(_, value)| !value.is_null());
    known
        .map(|(name, value)| {
            let text = write_parameter(name, value).ok_or_else(|| name.clone())?;
            Ok((name.clone(), text))
        })
        .collect()
}

fn write_parameter(name: &str, value: &Json) -> Option<String> {
    match (name, value) {
        ("intersects", Json::Object(_)) => Some(value.to_string()),
        (_, Json::Array(values)) => {
            let values: Option<Vec<String>> = values.iter().map(write_scalar_parameter).collect();
            Some(values?.join(","))
        }
        (_, value) => write_scalar_parameter(value),
    }
}

fn write_scalar_parameter(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The parameters behind the `?` of an address, decoded.
fn parameters_of(place: &Path) -> Vec<(String, String)> {
    let text = place.to_string_lossy();
    let Some((_, query)) = text.split_once('?') else {
        return Vec::new();
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(decode_parameter)
        .collect()
}

fn decode_parameter(pair: &str) -> (String, String) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    (decode_query_text(name), decode_query_text(value))
}

fn decode_query_text(text: &str) -> String {
    percent_encoding::percent_decode_str(&text.replace('+', " "))
        .decode_utf8_lossy()
        .into_owned()
}

fn is_in_boxes(item: &ItemMetadata, boxes: &Boxes) -> bool {
    match (&item.geometry, item.bbox) {
        (Some(geometry), _) => boxes.touch_geometry(geometry),
        (None, Some(bbox)) => boxes.touch_geometry(&box_polygon(bbox)),
        (None, None) => false,
    }
}

fn is_in_times(item: &ItemMetadata, times: TimeRange) -> bool {
    let time = |name| parse_time(item.properties.get(name)?.as_str()?);
    match (
        time("start_datetime"),
        time("end_datetime"),
        time("datetime"),
    ) {
        (Some(start), Some(end), _) => times.touches(start, end),
        (_, _, Some(time)) => times.touches(time, time),
        _ => false,
    }
}

/// The first link of a document with a relation that is asked by `GET`.
fn find_get_link<'a>(document: &'a Json, relation: &str) -> Option<&'a Json> {
    let links = document.get("links")?.as_array()?;
    links
        .iter()
        .filter(|link| !has_method(link, "POST"))
        .find(|link| link.get("rel").and_then(Json::as_str) == Some(relation))
}

fn has_parameter(place: &Path, name: &str) -> bool {
    parameters_of(place).iter().any(|(own, _)| own == name)
}

/// The address with these parameters, in place of those of the same names.
fn with_parameters(place: &Path, parameters: &[(&str, String)]) -> PathBuf {
    let text = place.to_string_lossy();
    let base = text.split_once('?').map_or(&*text, |(base, _)| base);
    let mut all = parameters_of(place);
    all.retain(|(name, _)| parameters.iter().all(|(own, _)| own != name));
    all.extend(
        parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone())),
    );
    let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let pairs: Vec<String> = all
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    PathBuf::from(if pairs.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", pairs.join("&"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::item_metadata::NamePool;
    use super::super::items::StacItem;
    use super::*;

    fn choice(collections: &[&str], bbox: Option<[f64; 4]>, datetime: Option<&str>) -> ItemSearch {
        let collections = collections.iter().map(|name| (*name).to_owned()).collect();
        let datetime = datetime.map(str::to_owned);
        ItemSearch::from_choice(
            &CatalogueChoice {
                bbox,
                datetime,
                collections,
                ..CatalogueChoice::default()
            },
            50,
        )
        .expect("a search")
    }

    #[test]
    fn searches_have_addresses() {
        let all = choice(
            &["a b", "c"],
            Some([-1.5, 2.0, 3.0, 4.0]),
            Some("2024-01-02/.."),
        );
        let of = |search: &ItemSearch, place: &str| {
            search
                .address(Path::new(place))
                .map(|place| place.display().to_string())
        };
        assert_eq!(
            of(&all, "https://host/v1/search?collections=x&token=a%2Bb").as_deref(),
            Some(
                "https://host/v1/search?token=a%2Bb&collections=a%20b,c&bbox=-1.5,2,3,4&\
                    datetime=2024-01-02T00:00:00Z/..&limit=50"
            )
        );
        let day = choice(&[], None, Some("2024-01-02"));
        assert_eq!(
            of(&day, "https://host/collections/c/items?limit=9").as_deref(),
            Some(
                "https://host/collections/c/items?limit=9&\
                    datetime=2024-01-02T00:00:00Z/2024-01-02T23:59:59.999999Z"
            )
        );
        assert_eq!(of(&choice(&[], None, None), "https://host/v1/search"), None);
        assert_eq!(of(&all, "https://host/v1/catalog.json"), None);
        assert_eq!(of(&all, "/data/search"), None);
        let root = json!({ "links": [
            { "rel": "search", "method": "POST", "href": "https://host/v1/search" },
            { "rel": "search", "method": "GET", "href": "./search" },
        ] });
        let linked = day
            .linked_address(Path::new("https://host/v1/"), &root)
            .expect("a link")
            .expect("a search");
        let linked = linked.display().to_string();
        assert!(
            linked.starts_with("https://host/v1/search?datetime=2024-01-02T00:00:00Z"),
            "{linked}"
        );
        assert_eq!(
            day.linked_address(Path::new("/data/catalog.json"), &root)
                .expect("no link"),
            None
        );
    }

    #[test]
    fn pages_that_are_asked_by_post_have_addresses() {
        let page = Path::new("https://host/search?bbox=1,2,3,4&limit=2");
        let of = |link: Json| {
            address_of_link(page, &link).map(|place| place.map(|place| place.display().to_string()))
        };
        let post = |more: Json| {
            let mut link =
                json!({ "rel": "next", "href": "https://host/search", "method": "POST" });
            link.as_object_mut()
                .expect("an object")
                .extend(more.as_object().cloned().expect("an object"));
            link
        };
        let merged = of(post(
            json!({ "merge": true, "body": { "token": "next:7", "limit": 3 } }),
        ))
        .expect("a link");
        assert_eq!(
            merged.as_deref(),
            Some("https://host/search?bbox=1,2,3,4&token=next:7&limit=3")
        );
        let whole = of(post(
            json!({ "body": { "collections": ["a", "b"], "token": "7", "ids": null } }),
        ))
        .expect("a link");
        assert_eq!(
            whole.as_deref(),
            Some("https://host/search?collections=a,b&token=7")
        );
        assert!(of(post(json!({ "body": { "filter": { "op": "and" } } }))).is_err());
        assert_eq!(
            of(json!({ "href": "./b?token=1" }))
                .expect("a link")
                .as_deref(),
            Some("https://host/b?token=1")
        );
        assert!(
            of(json!({ "href": "http://127.0.0.1/search" })).is_err(),
            "a server of the internet leads into no narrower network"
        );
    }

    #[test]
    fn items_are_in_the_box_the_time_and_the_collection() {
        let item = |bbox: Json, properties: Json| {
            let feature = json!({
                "id": "a",
                "collection": "c",
                "bbox": bbox,
                "properties": properties,
                "assets": {},
            });
            let document = Path::new("/d/a.json").into();
            let names = &mut NamePool::default();
            let (_, metadata) = StacItem::read(&document, feature, names).expect("an item");
            metadata
        };
        let one = item(
            json!([10.0, 10.0, 11.0, 11.0]),
            json!({ "datetime": "2024-01-02T10:00:00Z" }),
        );
        assert!(choice(&["c"], Some([10.5, 10.5, 12.0, 12.0]), Some("2024-01-02")).takes(&one));
        assert!(!choice(&["d"], None, None).takes(&one));
        assert!(!choice(&[], Some([12.0, 12.0, 13.0, 13.0]), None).takes(&one));
        assert!(!choice(&[], None, Some("2024-01-03/..")).takes(&one));
        let span = item(
            Json::Null,
            json!({
                "datetime": null,
                "start_datetime": "2024-01-01T00:00:00Z",
                "end_datetime": "2024-02-01T00:00:00Z",
            }),
        );
        assert!(choice(&[], None, Some("2024-01-15")).takes(&span));
        assert!(
            !choice(&[], Some([-180.0, -90.0, 180.0, 90.0]), None).takes(&span),
            "a place that is not stated is in no box"
        );
    }
}
