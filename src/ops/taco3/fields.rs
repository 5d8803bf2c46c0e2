//! Columns of a level of 2.0 → groups of fields of TACO 3: each field has a namespace
//! (`namespace:field`), a type as the library spells it, and a description.

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::place::{LevelProfile, TIME_MIDDLES, Taco3Profile};
use crate::error::{Error, Result};
use crate::footprint::{COLUMNS as PLACE_COLUMNS, TIME_COLUMNS};
use crate::model::{dtype_name, find_free_name, taco3_type};
use crate::table::written_field;

/// The namespace of columns that have none, or one that the library keeps for itself.
pub const OWN_NAMESPACE: &str = "meta";
/// Namespaces that are reserved, or have fields of their own in TACO 3.
const RESERVED: [&str; 10] = [
    "cozip", "internal", "taco", "rumi", "stac", "spatial", "temporal", "majortom", "name", "self",
];
/// Parts of a dataset that the library's model of splits has.
const SPLITS: [&str; 3] = ["train", "test", "validation"];
/// What becomes of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldMove {
    /// The level of TACO 3.
    pub level: String,
    /// The column in 2.0.
    pub from: String,
    /// The field in TACO 3; `None` where it has no place.
    pub to: Option<String>,
    /// Its type, as TACO 3 spells it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Why it changes, in a sentence; empty where nothing but the namespace does.
    pub note: String,
}

/// The fields of one level of TACO 3.
#[derive(Debug, Default)]
pub struct LevelFields {
    /// Groups as contract.json lists them.
    pub groups: Vec<Json>,
    /// The columns of the level's table.
    pub columns: Vec<(Field, ArrayRef)>,
    /// Every column of 2.0.
    pub moves: Vec<FieldMove>,
}

/// Maps the columns of `batch`, the rows of one level of TACO 3. `described` gives the description
/// of a column.
///
/// # Errors
/// When a column cannot be converted.
pub fn level_fields(
    level: &str,
    batch: &RecordBatch,
    profile: Option<LevelProfile>,
    described: &dyn Fn(&str) -> String,
) -> Result<LevelFields> {
    let mut fields = LevelFields::default();
    let mut names = FieldNames::default();
    let mut plain: Vec<(String, Vec<Json>)> = Vec::new();
    let parts = profile
        .as_ref()
        .map(ProfileParts::from_profile)
        .unwrap_or_default();
    let centroid = profile
        .as_ref()
        .filter(|profile| profile.profile != Taco3Profile::Temporal && !profile.is_optional);
    let centroid = centroid.map(|profile| format!("{}:centroid", profile.profile.namespace()));
    if let Some(profile) = profile {
        let kind = profile.profile.namespace();
        fields
            .groups
            .push(json!({ "namespace": kind, "kind": kind, "optional": profile.is_optional }));
        fields.columns.extend(profile.columns);
    }
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let name = field.name().as_str();
        if matches!(name, "id" | "type" | "path") || name.starts_with("internal:") {
            continue;
        }
        let mut moved = FieldMove {
            level: level.to_owned(),
            from: name.to_owned(),
            to: None,
            type_name: None,
            note: String::new(),
        };
        if let Some((to, note)) = parts.field_of(name) {
            let stays = is_deep_shape(name, array) || (parts.keeps_grid && is_of_grid(name));
            if !stays {
                (moved.to, moved.note) = (Some(to), note.to_owned());
                fields.moves.push(moved);
                continue;
            }
            moved.note = tr!("also in {field}", field = to);
        }
        if level == "sample"
            && name == "majortom:code"
            && let (Some(distance), Some(centroid)) = (grid_distance(array), &centroid)
        {
            fields.groups.push(json!({
                "namespace": "majortom",
                "kind": "majortom",
                "dist_km": distance,
                "centroid": centroid,
            }));
            moved.to = Some(name.to_owned());
            moved.note = tr!("the library computes it from the centre").to_owned();
            fields.moves.push(moved);
            continue;
        }
        let written = written_field(field);
        let (array, dtype) = match convert_to_storable(array, written.data_type())? {
            Some((array, note)) => {
                if !note.is_empty() {
                    moved.note = note.to_owned();
                }
                let dtype = written_field(&Field::new(name, array.data_type().clone(), true))
                    .data_type()
                    .clone();
                (array, dtype)
            }
            None => {
                moved.to = None;
                moved.note = match array.data_type() {
                    DataType::Null => tr!("it has no value in any row, and no type").to_owned(),
                    other => tr!("TACO 3 has no type for {dtype}", dtype = dtype_name(other)),
                };
                fields.moves.push(moved);
                continue;
            }
        };
        let Some(spec) = taco3_type(&dtype) else {
            moved.to = None;
            moved.note = tr!("TACO 3 has no type for {dtype}", dtype = dtype_name(&dtype));
            fields.moves.push(moved);
            continue;
        };
        // The model of the library has one field: others of its namespace make it a group of plain
        // fields.
        if level == "sample" && name == "split" && is_split(&array) && !has_split_fields(batch) {
            fields
                .groups
                .push(json!({ "namespace": "split", "kind": "split" }));
            names.taken.insert("split:split".into());
            (moved.to, moved.type_name) = (Some("split:split".into()), Some(spec));
            fields
                .columns
                .push((Field::new("split:split", DataType::Utf8, true), array));
            fields.moves.push(moved);
            continue;
        }
        let (namespace, own) = names.reserve_field_name(name);
        let to = format!("{namespace}:{own}");
        let text = described(name);
        let declared = json!({ "name": own, "type": spec, "nullable": true, "description": text });
        match plain.iter_mut().find(|(known, _)| *known == namespace) {
            Some((_, list)) => list.push(declared),
            None => plain.push((namespace, vec![declared])),
        }
        fields
            .columns
            .push((Field::new(&to, array.data_type().clone(), true), array));
        (moved.to, moved.type_name) = (Some(to), Some(spec));
        fields.moves.push(moved);
    }
    let groups = plain.into_iter().map(
        |(namespace, list)| json!({ "namespace": namespace, "kind": "fields", "fields": list }),
    );
    fields.groups.extend(groups);
    Ok(fields)
}

fn has_split_fields(batch: &RecordBatch) -> bool {
    batch
        .schema()
        .fields()
        .iter()
        .any(|field| field.name().starts_with("split:"))
}

/// The parts of a profile that replace columns.
#[derive(Debug, Default)]
struct ProfileParts {
    namespace: &'static str,
    place: bool,
    time: bool,
    /// Some grids are written as outlines: their columns stay as well.
    keeps_grid: bool,
}

impl ProfileParts {
    fn from_profile(profile: &LevelProfile) -> Self {
        Self {
            namespace: profile.profile.namespace(),
            place: profile.profile != Taco3Profile::Temporal,
            time: profile.profile != Taco3Profile::Spatial,
            keeps_grid: profile.outlines > 0,
        }
    }

    /// The field of the profile that has what a column says, and why it is another.
    fn field_of(&self, column: &str) -> Option<(String, &'static str)> {
        let own = column.split_once(':')?.1;
        let (field, note) = if self.place && PLACE_COLUMNS.contains(&column) {
            match own {
                "crs" | "proj_code" => ("proj_code", ""),
                "geotransform" => ("proj_transform", tr!("in the order of rasterio")),
                "proj_transform" => ("proj_transform", ""),
                "tensor_shape" | "raster_shape" | "proj_shape" => {
                    ("proj_shape", tr!("height and width"))
                }
                "geometry" => ("geometry", tr!("in longitude and latitude")),
                "bbox" => ("bbox", tr!("the library computes it from the geometry")),
                _ => ("centroid", tr!("the library computes it")),
            }
        } else if self.time && (TIME_COLUMNS.contains(&column) || TIME_MIDDLES.contains(&column)) {
            match own {
                "time_end" | "end_datetime" => ("end_datetime", ""),
                "time_middle" => (
                    "datetime",
                    tr!("where it is not halfway between start and end"),
                ),
                "datetime" => ("datetime", ""),
                _ => ("start_datetime", tr!("datetime where there is no end")),
            }
        } else {
            return None;
        };
        Some((format!("{}:{field}", self.namespace), note))
    }
}

fn is_of_grid(column: &str) -> bool {
    matches!(
        column.split_once(':'),
        Some((_, "crs" | "geotransform" | "tensor_shape" | "raster_shape"))
    )
}

/// True for shapes with more than height and width.
fn is_deep_shape(column: &str, array: &ArrayRef) -> bool {
    let is_shape = matches!(
        column.split_once(':'),
        Some((_, "tensor_shape" | "raster_shape"))
    );
    let lists = array.as_list_opt::<i32>().filter(|_| is_shape);
    lists.is_some_and(|lists| lists.iter().flatten().any(|list| list.len() > 2))
}

/// Distance of the cells of a Major TOM grid in kilometres, if every row has a code of it.
fn grid_distance(codes: &ArrayRef) -> Option<f64> {
    let codes = codes.as_string_opt::<i32>()?;
    if codes.null_count() > 0 {
        return None;
    }
    let first = codes
        .iter()
        .flatten()
        .next()
        .and_then(parse_grid_distance)?;
    codes
        .iter()
        .flatten()
        .all(|code| parse_grid_distance(code) == Some(first))
        .then_some(first)
}

fn parse_grid_distance(code: &str) -> Option<f64> {
    let (number, _) = code.trim_start_matches("MT").split_once("km")?;
    number.parse::<f64>().ok().filter(|km| *km > 0.0)
}

fn is_split(array: &ArrayRef) -> bool {
    array.as_string_opt::<i32>().is_some_and(|texts| {
        texts
            .iter()
            .all(|text| text.is_some_and(|text| SPLITS.contains(&text)))
    })
}

/// The array in a type that Parquet and the library both store, and what changed; `None` where
/// there is none.
fn convert_to_storable(
    array: &ArrayRef,
    written: &DataType,
) -> Result<Option<(ArrayRef, &'static str)>> {
    let (target, note) = match written {
        DataType::Null
        | DataType::Union(..)
        | DataType::RunEndEncoded(..)
        | DataType::Interval(_) => return Ok(None),
        DataType::ListView(_) | DataType::LargeListView(_) => return Ok(None),
        DataType::Dictionary(_, values) => (values.as_ref().clone(), ""),
        DataType::Utf8View => (DataType::Utf8, ""),
        DataType::BinaryView => (DataType::Binary, ""),
        DataType::Float16 => (
            DataType::Float32,
            tr!("as 32-bit numbers, which have all its values"),
        ),
        DataType::Duration(TimeUnit::Nanosecond) | DataType::Time64(TimeUnit::Nanosecond) => {
            (DataType::Int64, tr!("as numbers of nanoseconds"))
        }
        _ => return Ok(Some((array.clone(), ""))),
    };
    let changed = cast(array, &target)
        .map_err(|error| Error::internal("a column cannot be converted").because(error))?;
    Ok(Some((changed, note)))
}

/// Names of the fields of one level: unique without regard to case.
#[derive(Debug, Default)]
pub struct FieldNames {
    taken: HashSet<String>,
}

impl FieldNames {
    /// Namespace and field for a column or a field of the collection.
    pub fn reserve_field_name(&mut self, name: &str) -> (String, String) {
        let (namespace, own) = match name.split_once(':') {
            Some((namespace, own)) => (plain_namespace(namespace), own.to_owned()),
            None if name == "split" => ("split".to_owned(), name.to_owned()),
            None => (OWN_NAMESPACE.to_owned(), name.to_owned()),
        };
        let (namespace, own) = if RESERVED.contains(&namespace.as_str()) {
            (OWN_NAMESPACE.to_owned(), format!("{namespace}_{own}"))
        } else {
            (namespace, own)
        };
        let free = find_free_name(&plain_field(&own), |name| {
            let name = format!("{namespace}:{}", name.to_lowercase());
            self.taken.insert(name)
        });
        (namespace, free)
    }
}

/// A namespace that the library takes: lower-case letters, digits and single underscores, beginning
/// with a letter.
fn plain_namespace(text: &str) -> String {
    let lower = text.to_lowercase();
    let plain = collapse_underscores(
        lower
            .chars()
            .map(|c| {
                if c.is_ascii_lowercase() || c.is_ascii_digit() {
                    c
                } else {
                    '_'
                }
            })
            .collect(),
    );
    let plain = plain.trim_matches('_');
    match plain.chars().next() {
        Some(first) if first.is_ascii_lowercase() => plain.to_owned(),
        Some(_) => format!("n{plain}"),
        None => OWN_NAMESPACE.to_owned(),
    }
}

/// A field name that the library takes: no `:`, `/` or `__`, and none that its models use
/// themselves.
fn plain_field(text: &str) -> String {
    let plain = collapse_underscores(
        text.chars()
            .map(|c| {
                if matches!(c, ':' | '/') || c.is_control() {
                    '_'
                } else {
                    c
                }
            })
            .collect(),
    );
    let plain = plain.trim_matches('_').trim();
    match plain {
        "" => "field".to_owned(),
        own if own.starts_with("model_") => format!("{own}_field"),
        own => own.to_owned(),
    }
}

fn collapse_underscores(mut text: String) -> String {
    while text.contains("__") {
        text = text.replace("__", "_");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn names_get_a_namespace_that_is_free() {
        let mut names = FieldNames::default();
        let mut of = |name: &str| {
            let (namespace, own) = names.reserve_field_name(name);
            format!("{namespace}:{own}")
        };
        assert_eq!(of("quality"), "meta:quality");
        assert_eq!(of("Quality"), "meta:Quality_2");
        assert_eq!(of("geoenrich:elevation"), "geoenrich:elevation");
        assert_eq!(of("EO:cloud:cover"), "eo:cloud_cover");
        assert_eq!(of("stac:orbit"), "meta:stac_orbit");
        assert_eq!(of("9th band:x__y"), "n9th_band:x_y");
        assert_eq!(of("model_fields"), "meta:model_fields_field");
        assert_eq!(of("split"), "split:split");
    }

    #[test]
    fn the_parts_of_a_profile_replace_their_columns_alone() {
        let of = |place: bool, time: bool, column: &str| {
            let parts = ProfileParts {
                namespace: "stac",
                place,
                time,
                keeps_grid: false,
            };
            parts.field_of(column).map(|(field, _)| field)
        };
        assert_eq!(
            of(true, true, "stac:time_middle").as_deref(),
            Some("stac:datetime")
        );
        assert_eq!(
            of(true, true, "istac:time_end").as_deref(),
            Some("stac:end_datetime")
        );
        assert_eq!(
            of(true, true, "stac:geotransform").as_deref(),
            Some("stac:proj_transform")
        );
        assert_eq!(
            (
                of(true, false, "stac:time_start"),
                of(false, true, "stac:crs")
            ),
            (None, None)
        );
        assert_eq!(
            (of(true, true, "datetime"), of(true, true, "stac:orbit")),
            (None, None)
        );
    }

    #[test]
    fn codes_of_a_grid_state_its_distance() {
        let of = |codes: Vec<Option<&str>>| {
            grid_distance(&(Arc::new(arrow::array::StringArray::from(codes)) as ArrayRef))
        };
        assert_eq!(
            of(vec![Some("0100km_0045U_0004L"), Some("0100km_0001D_0004R")]),
            Some(100.0)
        );
        assert_eq!(of(vec![Some("MT10km_0045U_0004L")]), Some(10.0));
        assert_eq!(of(vec![Some("0100km_x"), None]), None);
        assert_eq!(of(vec![Some("0100km_x"), Some("0010km_x")]), None);
    }
}
