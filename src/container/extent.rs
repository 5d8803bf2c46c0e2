//! Spatial and temporal extent computed from the samples' metadata (TACO 2.0, sections 5.5.2 and
//! 7.1.1), and what is noted about where an extent comes from.

use arrow::array::RecordBatch;
use serde_json::{Value as Json, json};

use super::Assembly;
use crate::error::Result;
use crate::footprint::{
    BoxOfDegrees, Detail, box_of_extent, boxes_of, enclosing_box, has_places, interval_of,
};
use crate::jobs::JobContext;
use crate::model::{Collection, EXTENT_ORIGIN, ExtentOrigin};

/// Rows whose times are read at a time.
const TIMES_AT_ONCE: usize = 1 << 16;
/// Tolerance in degrees when a stated box is compared with positions; tools round boxes.
const SLACK: f64 = 1e-9;

/// The extent that is written if no sample has a location: the whole world, as the official tools
/// write it, because readers need an object.
fn unknown_extent() -> Json {
    json!({ "spatial": [-180.0, -90.0, 180.0, 90.0], "temporal": null })
}

/// Extent of the samples. `spatial`: the smallest `[west, south, east, north]` in degrees around
/// the footprints of the first level that has places, with west > east when it crosses the
/// antimeridian. `temporal`: least start to greatest end of the first level that has times, or
/// null. `None` when no sample has a place.
///
/// # Errors
/// When the job is cancelled.
pub fn extent_of_samples(levels: &[&RecordBatch], ctx: &JobContext) -> Result<Option<Json>> {
    let Some(spatial) = box_of_samples(levels, ctx)? else {
        return Ok(None);
    };
    Ok(Some(
        json!({ "spatial": spatial, "temporal": times_of_samples(levels) }),
    ))
}

/// The smallest box around the footprints of the first level that has some.
fn box_of_samples(levels: &[&RecordBatch], ctx: &JobContext) -> Result<Option<BoxOfDegrees>> {
    for batch in levels.iter().filter(|batch| has_places(batch)) {
        if let Some(found) =
            enclosing_box(boxes_of(batch, Detail::Exact, ctx)?.into_iter().flatten())
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Least start and greatest end of the first level that has times, in ISO 8601; null without one.
fn times_of_samples(levels: &[&RecordBatch]) -> Json {
    for batch in levels {
        let (mut first, mut last) = (None, None);
        for start in (0..batch.num_rows()).step_by(TIMES_AT_ONCE) {
            let times =
                interval_of(&batch.slice(start, TIMES_AT_ONCE.min(batch.num_rows() - start)));
            // A sample without an end lasts for an instant.
            let known = || times.iter().flatten().flatten().copied();
            first = first.into_iter().chain(known()).min();
            last = last.into_iter().chain(known()).max();
        }
        if let (Some(first), Some(last)) = (first.and_then(iso), last.and_then(iso)) {
            return json!([first, last]);
        }
    }
    Json::Null
}

impl Assembly {
    /// Recomputes a spatial extent that misses some samples, with a warning. Every operation that
    /// rewrites a dataset calls this, so a wrong extent of the input is never copied.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn correct_extent(&mut self, ctx: &JobContext) -> Result<()> {
        let mut collection = std::mem::take(&mut self.collection);
        let outcome = correct(&mut collection, &self.batches(), ctx);
        self.collection = collection;
        outcome
    }

    /// Sets the extent of a part to that of its own samples, and notes so: what somebody stated is
    /// the extent of the whole. Returns false when no sample has a location: the part then keeps
    /// the extent of the whole dataset.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn narrow_extent(&mut self, ctx: &JobContext) -> Result<bool> {
        let found = extent_of_samples(&self.batches(), ctx)?;
        let is_own = found.is_some();
        if is_own {
            put_extent(&mut self.collection, found);
        }
        Ok(is_own)
    }

    /// Sets the extent of a draft before it is written. An extent that the user stated stays; it
    /// grows only if it misses samples. Any other extent is computed from the samples again,
    /// because the draft may have new locations. `extent:origin` records which of these it is.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn update_extent(&mut self, ctx: &JobContext) -> Result<()> {
        let mut collection = std::mem::take(&mut self.collection);
        let outcome = update_extent(&mut collection, &self.batches(), ctx);
        self.collection = collection;
        outcome
    }
}

/// [`Assembly::update_extent`] for a collection and its level tables.
///
/// # Errors
/// When the job is cancelled.
pub fn update_extent(
    collection: &mut Collection,
    levels: &[&RecordBatch],
    ctx: &JobContext,
) -> Result<()> {
    if ExtentOrigin::from_collection(collection) == Some(ExtentOrigin::Stated) {
        collection.set(EXTENT_ORIGIN, Some(json!(ExtentOrigin::Stated.as_str())));
        return correct(collection, levels, ctx);
    }
    let found = extent_of_samples(levels, ctx)?;
    if found.is_none() {
        ctx.warn(tr!(
            "no sample has a place: the extent is the whole world, which is the default; the stac \
                extension finds places, or state an extent"
        ));
    }
    put_extent(collection, found);
    Ok(())
}

fn correct(collection: &mut Collection, levels: &[&RecordBatch], ctx: &JobContext) -> Result<()> {
    let wider = match collection.get("extent") {
        Some(extent) => wider_spatial(extent, levels, ctx)?,
        None => None,
    };
    let extent = collection
        .fields
        .get_mut("extent")
        .and_then(Json::as_object_mut);
    if let (Some(spatial), Some(extent)) = (wider, extent) {
        extent.insert("spatial".into(), spatial);
        ctx.warn(tr!(
            "the extent missed some samples: it was recomputed from their locations"
        ));
    }
    Ok(())
}

/// Sets the extent computed from the samples, or the unknown extent for `None`, and records which
/// one in `extent:origin`.
pub fn put_extent(collection: &mut Collection, found: Option<Json>) {
    let origin = if found.is_some() {
        ExtentOrigin::Samples
    } else {
        ExtentOrigin::Unknown
    };
    collection.set("extent", Some(found.unwrap_or_else(unknown_extent)));
    collection.set(EXTENT_ORIGIN, Some(json!(origin.as_str())));
}

/// The spatial box to use instead of `extent`'s when some samples are outside it; `None` when the
/// stated box touches all samples, or no sample has a place. The official writers lose the samples
/// on one side of longitude 0.
fn wider_spatial(extent: &Json, levels: &[&RecordBatch], ctx: &JobContext) -> Result<Option<Json>> {
    let Some(stated) = box_of_extent(extent) else {
        return Ok(None);
    };
    for batch in levels.iter().filter(|batch| has_places(batch)) {
        let boxes: Vec<BoxOfDegrees> = boxes_of(batch, Detail::Corners, ctx)?
            .into_iter()
            .flatten()
            .collect();
        if boxes.is_empty() {
            continue;
        }
        // The middle counts: tools compute extents from centroids.
        if boxes.iter().all(|own| is_inside(middle_of(*own), stated)) {
            return Ok(None);
        }
        return Ok(box_of_samples(levels, ctx)?.map(|all| json!(all)));
    }
    Ok(None)
}

/// The middle of a box, longitude within ±180.
pub fn middle_of([west, south, east, north]: BoxOfDegrees) -> [f64; 2] {
    let lon = if west > east {
        (west + east + 360.0) / 2.0
    } else {
        (west + east) / 2.0
    };
    [
        if lon > 180.0 { lon - 360.0 } else { lon },
        (south + north) / 2.0,
    ]
}

/// True when a point is in a box, its edges included.
pub fn is_inside([x, y]: [f64; 2], [west, south, east, north]: BoxOfDegrees) -> bool {
    let (after, before) = (x >= west - SLACK, x <= east + SLACK);
    (if west > east {
        after || before
    } else {
        after && before
    }) && (south - SLACK..=north + SLACK).contains(&y)
}

fn iso(micros: i64) -> Option<String> {
    Some(
        chrono::DateTime::from_timestamp_micros(micros)?
            .format("%Y-%m-%dT%H:%M:%S%.fZ")
            .to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_that_misses_samples_is_recomputed() {
        let wkb =
            |x: f64, y: f64| [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat();
        let places: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::BinaryArray::from_iter_values([
                wkb(-86.0, 24.5),
                wkb(178.5, 52.0),
            ]));
        let batch = RecordBatch::try_from_iter([("stac:centroid", places)]).expect("a batch");
        let ctx = JobContext::default();
        let wider = |spatial: Json| {
            wider_spatial(
                &json!({ "spatial": spatial, "temporal": null }),
                &[&batch],
                &ctx,
            )
            .expect("works")
        };
        assert_eq!(
            wider(json!([-86.0, 24.5, 0.0, 52.0])),
            Some(json!([178.5, 24.5, -86.0, 52.0]))
        );
        assert_eq!(
            wider(json!([-90.0, 0.0, 180.0, 60.0])),
            None,
            "a generous one stays"
        );
        assert_eq!(wider(json!([178.5, 24.5, -86.0, 52.0])), None);
        assert_eq!(wider(json!(null)), None);
    }

    #[test]
    fn the_first_level_with_places_and_the_first_with_times_count() {
        let point =
            |x: f64, y: f64| [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat();
        let array = |places: &[Option<Vec<u8>>]| -> arrow::array::ArrayRef {
            std::sync::Arc::new(
                places
                    .iter()
                    .map(Option::as_deref)
                    .collect::<arrow::array::BinaryArray>(),
            )
        };
        let day = |day: i64| -> arrow::array::ArrayRef {
            std::sync::Arc::new(arrow::array::TimestampMicrosecondArray::from(vec![
                day * 86_400_000_000,
            ]))
        };
        let batch = |place: Option<Vec<u8>>, time: i64| {
            RecordBatch::try_from_iter([
                ("stac:centroid", array(&[place])),
                ("stac:time_start", day(time)),
            ])
            .expect("a batch")
        };
        let scenes =
            RecordBatch::try_from_iter([("stac:centroid", array(&[None]))]).expect("a batch");
        let (files, parts) = (
            batch(Some(point(10.0, 20.0)), 1),
            batch(Some(point(50.0, 60.0)), 2),
        );
        let found = extent_of_samples(&[&scenes, &files, &parts], &JobContext::default())
            .expect("works")
            .expect("an extent");
        assert_eq!(found["spatial"], json!([10.0, 20.0, 10.0, 20.0]));
        assert_eq!(found["temporal"][0], "1970-01-02T00:00:00Z");
    }

    #[test]
    fn times_run_from_the_least_start_to_the_greatest_end() {
        let wkb =
            |x: f64, y: f64| [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat();
        let places: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::BinaryArray::from_iter_values([
                wkb(1.0, 2.0),
                wkb(3.0, 4.0),
            ]));
        let times = |values: [Option<i64>; 2]| -> arrow::array::ArrayRef {
            std::sync::Arc::new(arrow::array::TimestampMicrosecondArray::from(
                values.to_vec(),
            ))
        };
        const DAY: i64 = 86_400_000_000;
        let batch = RecordBatch::try_from_iter([
            ("stac:centroid", places),
            ("stac:time_start", times([Some(0), Some(DAY)])),
            ("stac:time_middle", times([Some(DAY), Some(DAY)])),
            ("stac:time_end", times([Some(2 * DAY), None])),
        ])
        .expect("a batch");
        let found = extent_of_samples(&[&batch], &JobContext::default())
            .expect("works")
            .expect("is known");
        assert_eq!(
            found,
            json!({
                "spatial": [1.0, 2.0, 3.0, 4.0],
                "temporal": ["1970-01-01T00:00:00Z", "1970-01-03T00:00:00Z"],
            })
        );
        let bare = RecordBatch::try_from_iter([("stac:time_start", times([Some(0), None]))])
            .expect("a batch");
        assert_eq!(
            extent_of_samples(&[&bare], &JobContext::default()).expect("works"),
            None,
            "unknown stays unknown"
        );
    }

    #[test]
    fn boxes_across_the_antimeridian_have_a_middle_and_an_inside() {
        let across = [170.0, -10.0, -160.0, 10.0];
        assert_eq!(middle_of(across), [-175.0, 0.0]);
        let places = [
            ([175.0, 0.0], true),
            ([-165.0, 9.0], true),
            ([-150.0, 0.0], false),
            ([160.0, 0.0], false),
            ([180.0, 11.0], false),
        ];
        for (place, inside) in places {
            assert_eq!(is_inside(place, across), inside, "{place:?}");
        }
        assert!(
            !is_inside([175.0, 0.0], [-160.0, -10.0, 170.0, 10.0]),
            "the rest of the world is outside"
        );
    }

    #[test]
    fn microseconds_only_where_there_are_some() {
        assert_eq!(
            iso(979_689_600_000_000).as_deref(),
            Some("2001-01-17T00:00:00Z")
        );
        assert_eq!(
            iso(979_689_600_500_000).as_deref(),
            Some("2001-01-17T00:00:00.500Z")
        );
    }
}
