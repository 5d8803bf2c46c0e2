//! Merges the collections of several parts: summed counts, united extents, list of parts.

use std::cmp::Ordering;

use arrow::datatypes::{Field, Schema};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::footprint::box_of_extent;
use crate::model::{Collection, PitPattern, PitSchema, dtype_name, is_padding};

/// Input of the merge for one part.
#[derive(Clone, Debug)]
pub struct PartFacts {
    /// Its file name.
    pub name: String,
    /// The dataset's id.
    pub id: String,
    /// `extent`, null when the part has none.
    pub extent: Json,
    /// Its tree pattern.
    pub pit: PitSchema,
}

/// The common tree pattern with summed counts: that of the first part when differences are
/// `ignored`.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid), with the two file names and the difference, when
/// the patterns differ and that is not `ignored`.
pub fn sum_pit_schemas(parts: &[PartFacts], ignored: bool) -> Result<PitSchema> {
    let (first, rest) = parts
        .split_first()
        .ok_or_else(|| Error::usage("no datasets are given"))?;
    let mut sum = first.pit.clone();
    for part in rest {
        if let Some(difference) = difference(&sum, &part.pit).filter(|_| !ignored) {
            return Err(Error::invalid(format!(
                "{} and {} have different trees: {difference}",
                first.name, part.name
            ))
            .hint("only datasets whose samples have the same children can be joined"));
        }
        sum.root.n += part.pit.root.n;
        for (level, patterns) in &mut sum.hierarchy {
            let theirs = part.pit.hierarchy.get(level).map_or(&[][..], Vec::as_slice);
            for (pattern, theirs) in patterns.iter_mut().zip(theirs) {
                pattern.n += theirs.n;
                // Where every root of a part is padding, its pattern lacks the real id; another
                // part supplies it.
                for (id, known) in pattern
                    .ids
                    .iter_mut()
                    .zip(&theirs.ids)
                    .filter(|(id, _)| is_padding(id))
                {
                    id.clone_from(known);
                }
            }
        }
        for (at, widest) in part.pit.shape.iter().enumerate() {
            match sum.shape.get_mut(at) {
                Some(known) => *known = (*known).max(*widest),
                None => sum.shape.push(*widest),
            }
        }
    }
    if let Some(roots) = sum.shape.first_mut() {
        *roots = sum.root.n;
    }
    Ok(sum)
}

/// The first difference between two tree patterns, ignoring counts.
fn difference(one: &PitSchema, other: &PitSchema) -> Option<String> {
    if one.root.kind != other.root.kind {
        return Some(format!(
            "the roots are {} in the first and {} in the second",
            one.root.kind, other.root.kind
        ));
    }
    if one.hierarchy.len() != other.hierarchy.len() {
        let levels = |pit: &PitSchema| pit.hierarchy.len() + 1;
        return Some(format!(
            "the first has {} levels, the second {}",
            levels(one),
            levels(other)
        ));
    }
    for (level, mine) in &one.hierarchy {
        let theirs = other.hierarchy.get(level)?;
        if mine.len() != theirs.len() {
            return Some(format!(
                "level {level} has {} FOLDERs in the first and {} in the second",
                mine.len(),
                theirs.len()
            ));
        }
        for (a, b) in mine.iter().zip(theirs) {
            if a.ids.len() != b.ids.len() {
                let names =
                    |ids: &[String]| ids.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
                return Some(format!(
                    "a FOLDER has {} children on level {level} in the first ({}) and {} in the \
                        second ({})",
                    a.ids.len(),
                    names(&a.ids),
                    b.ids.len(),
                    names(&b.ids)
                ));
            }
            let same_id = |at: usize| {
                a.ids[at] == b.ids[at] || is_padding(&a.ids[at]) || is_padding(&b.ids[at])
            };
            if let Some(at) =
                (0..a.ids.len()).find(|&at| !same_id(at) || a.kinds.get(at) != b.kinds.get(at))
            {
                let (mine, theirs) = (describe_child(at, a), describe_child(at, b));
                return Some(format!(
                    "child {at} on level {level} is {mine} in the first and {theirs} in the second"
                ));
            }
        }
    }
    None
}

fn describe_child(at: usize, children: &PitPattern) -> String {
    format!(
        "{} ({})",
        children.ids[at],
        children
            .kinds
            .get(at)
            .map_or("no type", |kind| kind.as_str())
    )
}

/// Checks that the level tables have the same columns, in any order.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) with file, level, column and both types.
pub fn check_schemas(reference: &[Schema], of: &str, schemas: &[Schema], name: &str) -> Result<()> {
    if reference.len() != schemas.len() {
        return Err(Error::invalid(format!(
            "{of} has {} levels and {name} has {}",
            reference.len(),
            schemas.len()
        )));
    }
    for (level, (wanted, found)) in reference.iter().zip(schemas).enumerate() {
        for field in wanted.fields() {
            match found.field_with_name(field.name()) {
                Ok(other) if other.data_type() == field.data_type() => {}
                Ok(other) => {
                    return Err(Error::invalid(format!(
                        "column {} of level{level} is {} in {of} and {} in {name}",
                        field.name(),
                        dtype_name(field.data_type()),
                        dtype_name(other.data_type())
                    ))
                    .hint("write the parts with one type for the field"));
                }
                Err(_) => return Err(missing_column_error(level, field, of, name)),
            }
        }
        if let Some(more) = found
            .fields()
            .iter()
            .find(|field| wanted.field_with_name(field.name()).is_err())
        {
            return Err(missing_column_error(level, more, name, of));
        }
    }
    Ok(())
}

/// `holder` has the column, `lacking` does not.
fn missing_column_error(level: usize, column: &Field, holder: &str, lacking: &str) -> Error {
    let (name, dtype) = (column.name(), dtype_name(column.data_type()));
    Error::invalid(format!(
        "{lacking} has no column {name} in level{level}; in {holder} it is {dtype}"
    ))
    .hint("write the parts with the same fields")
}

/// The order of the columns of datasets that are joined: `id`, `type`, the others by name.
pub(super) fn compare_columns(one: &str, other: &str) -> Ordering {
    rank_column(one)
        .cmp(&rank_column(other))
        .then_with(|| one.cmp(other))
}

fn rank_column(name: &str) -> u8 {
    match name {
        "id" => 0,
        "type" => 1,
        _ => 2,
    }
}

/// The collection of the first part with summed counts and united extent, for [`collection_bytes`].
///
/// # Errors
/// As [`summed`].
pub fn merge_collection_fields(
    first: &Collection,
    parts: &[PartFacts],
    ignored: bool,
) -> Result<Map<String, Json>> {
    let mut fields = first.fields.clone();
    fields.shift_remove("taco:sources");
    fields.shift_remove("_tacocat");
    let pit = serde_json::to_value(sum_pit_schemas(parts, ignored)?)
        .map_err(|error| Error::internal("the PIT schema is not JSON").because(error))?;
    let extents: Vec<&Json> = parts.iter().map(|part| &part.extent).collect();
    fields.insert("extent".into(), merged_extent(&extents));
    fields.insert("taco:pit_schema".into(), pit);
    Ok(fields)
}

/// `taco:sources`, as the current tools write it (TACO 2.0, section 6.6).
pub fn sources_of(parts: &[PartFacts]) -> Json {
    let extents: Vec<Json> = parts
        .iter()
        .map(|part| {
            let at = |key: &str| part.extent.get(key).cloned().unwrap_or(Json::Null);
            json!({
                "file": part.name,
                "id": part.id,
                "spatial": at("spatial"),
                "temporal": at("temporal"),
            })
        })
        .collect();
    json!({
        "count": parts.len(),
        "ids": parts.iter().map(|part| &part.id).collect::<Vec<_>>(),
        "files": parts.iter().map(|part| &part.name).collect::<Vec<_>>(),
        "extents": extents,
    })
}

/// `_tacocat`, as the tools that wrote `__TACOCAT__` (section 6.5).
pub fn tacocat_of(parts: &[PartFacts]) -> Json {
    let mut names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    names.sort_unstable();
    json!({ "version": 1, "num_datasets": parts.len(), "dataset_sources": names })
}

/// Serializes JSON with this indentation and every non-ASCII character escaped, as the Python tools
/// write collections of several parts.
pub fn collection_bytes(fields: &Map<String, Json>, indent: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(
        &mut bytes,
        serde_json::ser::PrettyFormatter::with_indent(indent),
    );
    fields
        .serialize(&mut serializer)
        .map_err(|error| Error::internal("the collection is not JSON").because(error))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::internal("the collection is not text").because(error))?;
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            escaped.push(letter);
        } else {
            // Outside strings, JSON is ASCII.
            let mut units = [0; 2];
            letter
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        }
    }
    Ok(escaped.into_bytes())
}

/// The union of extents: the smallest box around all boxes, possibly across the antimeridian, and
/// the interval from first to last time.
fn merged_extent(extents: &[&Json]) -> Json {
    let boxes: Vec<[f64; 4]> = extents
        .iter()
        .filter_map(|extent| box_of_extent(extent))
        .collect();
    let spatial = joined_box(&boxes).unwrap_or([-180.0, -90.0, 180.0, 90.0]);
    let times: Vec<&str> = extents
        .iter()
        .filter_map(|extent| extent.get("temporal")?.as_array())
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let parse_time = |text: &&&str| crate::model::parse_utc_time(text);
    let known = || times.iter().filter(|text| parse_time(text).is_some());
    let (first, last) = (
        known().min_by_key(|text| parse_time(text)),
        known().max_by_key(|text| parse_time(text)),
    );
    let temporal = first
        .zip(last)
        .map_or(Json::Null, |(first, last)| json!([first, last]));
    json!({ "spatial": spatial, "temporal": temporal })
}

/// The smallest box around `boxes`, each `[west, south, east, north]` in degrees; west > east when
/// a box crosses the antimeridian.
fn joined_box(boxes: &[[f64; 4]]) -> Option<[f64; 4]> {
    if boxes.is_empty() {
        return None;
    }
    let south = boxes.iter().map(|b| b[1]).fold(f64::INFINITY, f64::min);
    let north = boxes.iter().map(|b| b[3]).fold(f64::NEG_INFINITY, f64::max);
    // Boxes as arcs in degrees from -180; one that crosses the antimeridian ends beyond 180. The
    // result leaves out the widest gap between arcs.
    let mut arcs: Vec<(f64, f64)> = boxes
        .iter()
        .map(|b| (b[0], if b[0] > b[2] { b[2] + 360.0 } else { b[2] }))
        .collect();
    arcs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let first = arcs[0].0;
    let mut reach = arcs[0].1;
    let mut widest = (f64::NEG_INFINITY, first, reach);
    for &(west, east) in &arcs[1..] {
        if west - reach > widest.0 {
            widest = (west - reach, west, reach);
        }
        reach = reach.max(east);
    }
    let wrap = first + 360.0 - reach;
    // Current readers do not interpret west > east, so a box across the antimeridian is only
    // produced when a part has one, or when it is less than a quarter of the width of the plain
    // box.
    let crosses = boxes.iter().any(|b| b[0] > b[2]) || (360.0 - widest.0) * 4.0 < reach - first;
    let (west, east) = if crosses && widest.0 > wrap && widest.0 > 0.0 {
        (
            widest.1,
            if widest.2 > 180.0 {
                widest.2 - 360.0
            } else {
                widest.2
            },
        )
    } else if wrap <= 0.0 {
        (-180.0, 180.0)
    } else {
        (first, if reach > 180.0 { reach - 360.0 } else { reach })
    };
    Some([west, south, east, north])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_join_the_short_way() {
        let joined = |boxes: &[[f64; 4]]| joined_box(boxes).expect("a box");
        assert_eq!(
            joined(&[[-10.0, 30.0, 0.0, 40.0], [100.0, -10.0, 110.0, 0.0]]),
            [-10.0, -10.0, 110.0, 40.0]
        );
        assert_eq!(
            joined(&[[170.0, 0.0, 175.0, 1.0], [-178.0, 0.0, -170.0, 2.0]]),
            [170.0, 0.0, -170.0, 2.0]
        );
        assert_eq!(
            joined(&[[175.0, 0.0, -175.0, 1.0], [-179.0, 0.0, -160.0, 2.0]]),
            [175.0, 0.0, -160.0, 2.0]
        );
        assert_eq!(
            joined(&[[-180.0, -90.0, 180.0, 90.0], [1.0, 1.0, 2.0, 2.0]]),
            [-180.0, -90.0, 180.0, 90.0]
        );
        assert_eq!(joined(&[[5.0, 5.0, 6.0, 6.0]]), [5.0, 5.0, 6.0, 6.0]);
        let apart = [
            [-86.0, 0.0, -80.0, 1.0],
            [-40.0, 0.0, -12.0, 1.0],
            [178.0, 0.0, 179.0, 1.0],
        ];
        assert_eq!(
            joined(&apart),
            [-86.0, 0.0, 179.0, 1.0],
            "as the tools' minimum and maximum"
        );
    }

    #[test]
    fn the_difference_is_in_the_message() {
        let pit = |ids: [&str; 2]| -> PitSchema {
            serde_json::from_value(json!({
                "root": {"n": 2, "type": "FOLDER"}, "shape": [2, 2],
                "hierarchy": {"1": [{"n": 4, "type": ["FILE", "FILE"], "id": ids}]}
            }))
            .expect("a schema")
        };
        let part = |name: &str, ids| PartFacts {
            name: name.into(),
            id: "x".into(),
            extent: Json::Null,
            pit: pit(ids),
        };
        let sum = sum_pit_schemas(&[part("a", ["x", "y"]), part("b", ["x", "y"])], false)
            .expect("one tree");
        assert_eq!(
            (sum.root.n, sum.hierarchy["1"][0].n, sum.shape),
            (4, 8, vec![4, 2])
        );
        let padded = [
            part("a", ["__TACOPAD__0", "y"]),
            part("b", ["x", "y"]),
            part("c", ["x", "__TACOPAD__1"]),
        ];
        let sum = sum_pit_schemas(&padded, false).expect("padding matches any id");
        assert_eq!(sum.hierarchy["1"][0].ids, ["x", "y"]);
        let odd = [
            part("a", ["__TACOPAD__0", "y"]),
            part("b", ["x", "y"]),
            part("c", ["z", "y"]),
        ];
        assert!(
            sum_pit_schemas(&odd, false).is_err(),
            "a name that is known counts from there on"
        );
        let error = sum_pit_schemas(&[part("a", ["x", "y"]), part("b", ["x", "z"])], false)
            .expect_err("differ")
            .to_string();
        let ignored = sum_pit_schemas(&[part("a", ["x", "y"]), part("b", ["x", "z"])], true)
            .expect("is not compared");
        assert_eq!(
            (ignored.root.n, ignored.hierarchy["1"][0].ids.clone()),
            (4, vec!["x".to_owned(), "y".to_owned()])
        );
        assert!(
            error.contains("a and b") && error.contains("y (FILE)") && error.contains("z (FILE)"),
            "{error}"
        );
    }
}
