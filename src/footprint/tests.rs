//! Footprints of rasters and geometries in the systems that bend, cross and hold the ends of the
//! map.

use std::sync::Arc;

use geo::{Area, BoundingRect, Contains, Geometry, LineString, Point, Polygon};

use super::*;
use crate::model::Value;
use crate::table::write_wkb as wkb;

fn list(numbers: &[f64]) -> Value {
    Value::List(numbers.iter().map(|number| Value::Float(*number)).collect())
}

fn grid(crs: &str, transform: [f64; 6], [rows, columns]: [i64; 2]) -> StatedLocation {
    StatedLocationReader::default().read(&|name| match name {
        "stac:crs" => Value::text(crs),
        "stac:geotransform" => list(&transform),
        "stac:tensor_shape" => Value::List([3, rows, columns].map(Value::Int).into()),
        _ => Value::Null,
    })
}

fn drawn(crs: &str, geometry: &Geometry<f64>) -> StatedLocation {
    let bytes: Arc<[u8]> = wkb(geometry).into();
    StatedLocationReader::default().read(&|name| match name {
        "istac:crs" => Value::text(crs),
        "istac:geometry" => Value::Bytes(bytes.clone()),
        _ => Value::Null,
    })
}

#[track_caller]
fn one(stated: StatedLocation) -> Footprint {
    footprints(&[stated], &JobContext::default())
        .expect("is made")
        .remove(0)
        .expect("has a place")
}

#[track_caller]
fn near(found: BoxOfDegrees, wanted: BoxOfDegrees, within: f64) {
    assert!(
        found
            .iter()
            .zip(wanted)
            .all(|(a, b)| (a - b).abs() <= within),
        "{found:?} is not {wanted:?}"
    );
}

fn area(footprint: &Footprint) -> f64 {
    footprint.geometry.unsigned_area()
}

fn holds(footprint: &Footprint, lon: f64, lat: f64) -> bool {
    footprint.geometry.contains(&Point::new(lon, lat))
}

#[test]
fn every_column_that_states_places_gives_a_level_some() {
    use arrow::array::{ArrayRef, BinaryArray};

    let point = wkb(&Geometry::Point(Point::new(1.0, 2.0)));
    for (column, value, wanted) in [
        ("stac:geometry", Some(point.as_slice()), true),
        ("spatial:centroid", Some(point.as_slice()), true),
        ("stac:geometry", None, false),
        ("other", Some(point.as_slice()), false),
    ] {
        let values: ArrayRef = Arc::new(BinaryArray::from(vec![value]));
        let batch =
            RecordBatch::try_from_iter_with_nullable([(column, values, true)]).expect("one column");
        assert_eq!(has_places(&batch), wanted, "{column}");
    }
}

#[test]
fn metres_become_degrees() {
    let square = Polygon::new(
        LineString::from(vec![
            (500_000., 0.),
            (510_000., 0.),
            (510_000., 10_000.),
            (500_000., 10_000.),
        ]),
        vec![],
    );
    let found = one(drawn("EPSG:32618", &square.into()));
    near(
        found.bbox,
        [-75.0, 0.0, -74.910_132_450, 0.090_473_136],
        1e-8,
    );
    assert_eq!(found.source, PlaceSource::Geometry);
    let Geometry::Polygon(polygon) = &found.geometry else {
        panic!("{found:?}")
    };
    assert!(
        polygon.exterior().0.len() < 20,
        "{}",
        polygon.exterior().0.len()
    );
}

#[test]
fn rings_go_counter_clockwise() {
    let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)];
    let hole = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8), (0.2, 0.2)];
    let clockwise = Polygon::new(
        LineString::from(corners.to_vec()),
        vec![LineString::from(hole.to_vec())],
    );
    let Geometry::Polygon(made) = one(drawn("EPSG:4326", &clockwise.into())).geometry else {
        panic!("one polygon")
    };
    let area = |line: &LineString<f64>| {
        cut::doubled_area(&line.coords().map(|at| [at.x, at.y]).collect::<Vec<_>>())
    };
    assert!(
        area(made.exterior()) > 0.0 && area(&made.interiors()[0]) < 0.0,
        "{made:?}"
    );
}

#[test]
fn the_whole_world_is_not_a_line() {
    for (crs, transform, shape) in [
        ("EPSG:4326", [-180.0, 0.5, 0.0, 90.0, 0.0, -0.5], [360, 720]),
        ("EPSG:4326", [0.0, 0.25, 0.0, 90.0, 0.0, -0.25], [720, 1440]),
        // Centres at the poles and at longitude 0, as weather models have them.
        (
            "EPSG:4326",
            [-0.125, 0.25, 0.0, 90.125, 0.0, -0.25],
            [721, 1440],
        ),
        ("EPSG:4326", [-180.5, 1.0, 0.0, 90.5, 0.0, -1.0], [181, 361]),
    ] {
        let found = one(grid(crs, transform, shape));
        assert_eq!(found.bbox, [-180.0, -90.0, 180.0, 90.0], "{transform:?}");
        assert!(
            (area(&found) - 360.0 * 180.0).abs() < 1e-6,
            "{transform:?}: {}",
            area(&found)
        );
        assert!(
            matches!(found.geometry, Geometry::Polygon(_)),
            "{:?}",
            found.geometry
        );
    }
    // Mercator and an equal-area cylinder end before the poles.
    let size = 20_037_508.342_789_244;
    let found = one(grid(
        "EPSG:3857",
        [-size, size / 50.0, 0.0, size, 0.0, -size / 50.0],
        [100, 100],
    ));
    near(found.bbox, [-180.0, -85.051_129, 180.0, 85.051_129], 1e-6);
    assert!(
        (area(&found) - 360.0 * 2.0 * 85.051_128_779_8).abs() < 1e-3,
        "{}",
        area(&found)
    );
    let found = one(grid(
        "EPSG:6933",
        [
            -17_367_530.45,
            36_032.22,
            0.0,
            7_314_540.83,
            0.0,
            -36_032.22,
        ],
        [406, 964],
    ));
    assert!(
        area(&found) > 360.0 * 165.0 && holds(&found, 0.0, 0.0) && holds(&found, 179.0, -60.0),
        "{:?}",
        found.bbox
    );
}

#[test]
fn half_of_the_world_from_0_to_360_is_cut_at_180() {
    let found = one(grid(
        "EPSG:4326",
        [170.0, 1.0, 0.0, 10.0, 0.0, -1.0],
        [20, 30],
    ));
    assert_eq!(found.bbox, [170.0, -10.0, -160.0, 10.0]);
    assert!(
        (area(&found) - 600.0).abs() < 1e-9
            && holds(&found, 175.0, 0.0)
            && holds(&found, -165.0, 0.0)
            && !holds(&found, 0.0, 0.0)
    );
    let Geometry::MultiPolygon(parts) = &found.geometry else {
        panic!("{found:?}")
    };
    assert_eq!(parts.0.len(), 2);
    let found = one(grid(
        "EPSG:4326",
        [200.0, 1.0, 0.0, 10.0, 0.0, -1.0],
        [20, 30],
    ));
    assert_eq!(found.bbox, [-160.0, -10.0, -130.0, 10.0]);
}

#[test]
fn poles_are_inside() {
    for (crs, pole) in [
        ("EPSG:3413", 90.0),
        ("EPSG:3031", -90.0),
        ("EPSG:3995", 90.0),
        ("EPSG:6931", 90.0),
        ("EPSG:6932", -90.0),
    ] {
        let found = one(grid(crs, [-1e6, 1e4, 0.0, 1e6, 0.0, -1e4], [200, 200]));
        assert_eq!((found.bbox[0], found.bbox[2]), (-180.0, 180.0), "{crs}");
        assert_eq!(
            if pole > 0.0 {
                found.bbox[3]
            } else {
                found.bbox[1]
            },
            pole,
            "{crs}"
        );
        for lon in [-179.9, -135.0, -45.0, 0.0, 90.0, 179.9] {
            assert!(
                holds(&found, lon, pole * 0.9999) && holds(&found, lon, pole * 0.95),
                "{crs} {lon}"
            );
            assert!(
                !holds(&found, lon, pole * 0.8) && !holds(&found, lon, -pole * 0.9),
                "{crs} {lon}"
            );
        }
        assert!(
            matches!(found.geometry, Geometry::Polygon(_)),
            "{crs}: {:?}",
            found.geometry
        );
        // Off the pole, and with it at a corner, on an edge, and with three of four quarters around
        // it.
        let beside = one(grid(crs, [1e6, 1e4, 0.0, 1e6, 0.0, -1e4], [50, 50]));
        assert!(
            beside.bbox[3].abs() < 89.0 && beside.bbox[1].abs() < 89.0,
            "{crs} {:?}",
            beside.bbox
        );
        let corner = one(grid(crs, [0.0, 1e4, 0.0, 1e6, 0.0, -1e4], [100, 100]));
        let width = (corner.bbox[2] - corner.bbox[0]).rem_euclid(360.0);
        assert!((width - 90.0).abs() < 1e-6, "{crs} {:?}", corner.bbox);
        let edge = one(grid(crs, [-1e6, 1e4, 0.0, 1e6, 0.0, -1e4], [100, 200]));
        let width = (edge.bbox[2] - edge.bbox[0]).rem_euclid(360.0);
        assert!((width - 180.0).abs() < 1e-6, "{crs} {:?}", edge.bbox);
        let quarters = [
            corner.geometry.unsigned_area(),
            edge.geometry.unsigned_area(),
            area(&found),
        ];
        assert!(
            (quarters[0] * 4.0 - quarters[2]).abs() < 0.01 * quarters[2],
            "{crs} {quarters:?}"
        );
        assert!(
            (quarters[1] * 2.0 - quarters[2]).abs() < 0.01 * quarters[2],
            "{crs} {quarters:?}"
        );
        let bent = vec![
            (0.0, 0.0),
            (0.0, -1e6),
            (1e6, -1e6),
            (1e6, 1e6),
            (-1e6, 1e6),
            (-1e6, 0.0),
        ];
        let three = one(drawn(
            crs,
            &Polygon::new(LineString::from(bent), Vec::new()).into(),
        ));
        assert!(
            (area(&three) - quarters[2] * 0.75).abs() < 0.01 * quarters[2],
            "{crs} {} {quarters:?}",
            area(&three)
        );
    }
}

#[test]
fn a_ring_around_a_pole_may_have_a_hole_with_the_pole() {
    let square = |half: f64| {
        LineString::from(vec![
            (-half, -half),
            (half, -half),
            (half, half),
            (-half, half),
            (-half, -half),
        ])
    };
    let found = one(drawn(
        "EPSG:3413",
        &Polygon::new(square(2e6), vec![square(5e5)]).into(),
    ));
    assert!(
        holds(&found, 10.0, 80.0) && !holds(&found, 10.0, 88.0) && !holds(&found, -170.0, 89.9),
        "{found:?}"
    );
    assert!(holds(&found, 179.99, 80.0) && holds(&found, -179.99, 80.0));
}

#[test]
fn projected_rasters_are_cut_at_the_antimeridian() {
    // UTM 60 south, around 180 degrees.
    let found = one(grid(
        "EPSG:32760",
        [780_000.0, 100.0, 0.0, 8_000_000.0, 0.0, -100.0],
        [1000, 1000],
    ));
    let Geometry::MultiPolygon(parts) = &found.geometry else {
        panic!("{found:?}")
    };
    assert_eq!(parts.0.len(), 2);
    assert!(
        found.bbox[0] > 179.0 && found.bbox[2] < -179.0 && found.bbox[0] > found.bbox[2],
        "{:?}",
        found.bbox
    );
    let rects: Vec<_> = parts
        .iter()
        .filter_map(|part| part.bounding_rect())
        .collect();
    assert!(
        rects.iter().any(|rect| rect.max().x == 180.0)
            && rects.iter().any(|rect| rect.min().x == -180.0),
        "{rects:?}"
    );
}

#[test]
fn geometries_in_degrees_take_the_short_way() {
    let ring = |corners: [(f64, f64); 4]| {
        Geometry::Polygon(Polygon::new(LineString::from(corners.to_vec()), Vec::new()))
    };
    let found = one(drawn(
        "EPSG:4326",
        &ring([(179.0, 10.0), (179.0, 9.0), (-179.0, 9.0), (-179.0, 10.0)]),
    ));
    assert_eq!(found.bbox, [179.0, 9.0, -179.0, 10.0]);
    assert!((area(&found) - 2.0).abs() < 1e-9);
    let world = one(drawn(
        "OGC:CRS84",
        &ring([
            (-180.0, -90.0),
            (180.0, -90.0),
            (180.0, 90.0),
            (-180.0, 90.0),
        ]),
    ));
    assert_eq!(world.bbox, [-180.0, -90.0, 180.0, 90.0]);
    assert!((area(&world) - 64_800.0).abs() < 1e-6);
}

#[test]
fn rotated_rasters_keep_their_corners() {
    let found = one(grid(
        "EPSG:4326",
        [10.0, 0.3, 0.4, 50.0, 0.4, -0.3],
        [10, 10],
    ));
    let Geometry::Polygon(polygon) = &found.geometry else {
        panic!("{found:?}")
    };
    assert_eq!(polygon.exterior().0.len(), 5);
    assert!((area(&found) - 25.0).abs() < 1e-9, "{}", area(&found));
    near(found.bbox, [10.0, 47.0, 17.0, 54.0], 1e-9);
}

#[test]
fn edges_are_followed() {
    // 1000 km in Lambert's conic of Europe: the edges bend by tenths of a degree.
    let found = one(grid(
        "EPSG:3035",
        [3.5e6, 1e3, 0.0, 4e6, 0.0, -1e3],
        [1000, 1000],
    ));
    let way = LonLatTransform::new("EPSG:3035").expect("is known");
    let Geometry::Polygon(polygon) = &found.geometry else {
        panic!("{found:?}")
    };
    for step in 0..1000 {
        let along = 1e3 * f64::from(step);
        for at in [
            [3.5e6 + along, 4e6],
            [3.5e6 + along, 3e6],
            [3.5e6, 3e6 + along],
            [4.5e6, 3e6 + along],
        ] {
            let [lon, lat] = way.lonlat(&[at])[0].expect("is there");
            let off =
                geo::Distance::distance(&geo::Euclidean, &Point::new(lon, lat), polygon.exterior());
            assert!(off < 2.5e-4, "{at:?} is off by {off}");
        }
    }
    assert!(
        (50..2000).contains(&polygon.exterior().0.len()),
        "{}",
        polygon.exterior().0.len()
    );
}

#[test]
fn a_full_disk_has_the_part_that_is_on_earth() {
    let disk = "+proj=geos +h=35785831 +lon_0=0 +sweep=y +ellps=GRS80";
    let half = 5_567_248.074;
    let found = one(grid(
        disk,
        [-half, half / 100.0, 0.0, half, 0.0, -half / 100.0],
        [200, 200],
    ));
    assert!(
        holds(&found, 0.0, 0.0)
            && holds(&found, 70.0, 0.0)
            && holds(&found, 0.0, 75.0)
            && !holds(&found, 85.0, 0.0)
    );
    assert!(
        found
            .bbox
            .iter()
            .all(|number| (75.0..85.0).contains(&number.abs())),
        "{:?}",
        found.bbox
    );
}

#[test]
fn lines_and_points_are_places() {
    let track = LineString::from(vec![
        (170.0, 0.0),
        (179.0, 10.0),
        (-179.0, 20.0),
        (-170.0, 30.0),
    ]);
    let found = one(drawn("EPSG:4326", &track.into()));
    let Geometry::MultiLineString(parts) = &found.geometry else {
        panic!("{found:?}")
    };
    assert_eq!((parts.0.len(), found.bbox), (2, [170.0, 0.0, -170.0, 30.0]));
    let found = one(drawn("EPSG:32618", &Point::new(500_000.0, 0.0).into()));
    near(found.bbox, [-75.0, 0.0, -75.0, 0.0], 1e-9);
    let mixed = geo::GeometryCollection(vec![
        Point::new(1.0, 2.0).into(),
        LineString::from(vec![(3.0, 4.0), (5.0, 6.0)]).into(),
    ]);
    let found = one(drawn("EPSG:4326", &Geometry::GeometryCollection(mixed)));
    assert!(
        matches!(found.geometry, Geometry::GeometryCollection(_))
            && matches!(found.without_collection(), Geometry::LineString(_))
    );
    assert_eq!(found.bbox, [1.0, 2.0, 5.0, 6.0]);
}

#[test]
fn what_has_no_place_falls_back_to_what_has() {
    let ring = Polygon::new(
        LineString::from(vec![(500_000., 0.), (510_000., 0.), (510_000., 10_000.)]),
        vec![],
    );
    let bytes: Arc<[u8]> = wkb(&ring.into()).into();
    let row = |crs: &'static str| {
        let bytes = bytes.clone();
        StatedLocationReader::default().read(&move |name| match name {
            "istac:crs" => Value::text(crs),
            "istac:geometry" => Value::Bytes(bytes.clone()),
            "istac:centroid" => Value::text("POINT (-75 1)"),
            _ => Value::Null,
        })
    };
    // Metres that are called degrees, and a system that PROJ lacks.
    for crs in ["EPSG:4326", "EPSG:999999"] {
        let found = one(row(crs));
        assert_eq!(
            (found.source, found.bbox),
            (PlaceSource::Centroid, [-75.0, 1.0, -75.0, 1.0]),
            "{crs}"
        );
    }
    assert_eq!(one(row("EPSG:32618")).source, PlaceSource::Geometry);
    assert!(
        StatedLocationReader::default()
            .read(&|_| Value::Null)
            .is_empty()
    );
}

#[test]
fn older_generations_say_the_same() {
    let old = StatedLocationReader::default().read(&|name| match name {
        "stac:crs" => Value::text("EPSG:32618"),
        "stac:geotransform" => list(&[500_000.0, 10.0, 0.0, 10_000.0, 0.0, -10.0]),
        "stac:raster_shape" => Value::List([1000, 1000].map(Value::Int).into()),
        "stac:centroid" => Value::text("POINT (-74.95 0.045)"),
        _ => Value::Null,
    });
    let new = grid(
        "EPSG:32618",
        [500_000.0, 10.0, 0.0, 10_000.0, 0.0, -10.0],
        [1000, 1000],
    );
    assert_eq!(one(old), one(new));
}

#[test]
fn damaged_rings_never_panic() {
    for numbers in [
        [f64::NAN; 4],
        [f64::INFINITY, 0.0, 1.0, 2.0],
        [1e300, -1e300, 0.0, 0.0],
        [0.0; 4],
        [179.9, 0.0, 180.1, 0.0],
    ] {
        let [a, b, c, d] = numbers;
        for crs in [
            "EPSG:4326",
            "EPSG:3413",
            "EPSG:32618",
            "EPSG:3857",
            "EPSG:6974",
        ] {
            let stated = grid(crs, [a, b, c, d, a, b], [3, 5]);
            footprints(&[stated], &JobContext::default()).expect("no error");
        }
    }
}

#[test]
fn an_extent_states_a_box_of_degrees_or_none() {
    let of = |spatial: serde_json::Value| box_of_extent(&serde_json::json!({ "spatial": spatial }));
    assert_eq!(
        of(serde_json::json!([170, -10, -170.5, 10])),
        Some([170.0, -10.0, -170.5, 10.0])
    );
    let world = [-180.0, -90.0, 180.0, 90.0];
    assert_eq!(of(serde_json::json!(world)), Some(world));
    for wrong in [
        serde_json::json!([18446744073709551615u64, -8.0, -34.0, -7.0]),
        serde_json::json!([0, 10, 0, -10]),
        serde_json::json!([0, -91, 0, 0]),
        serde_json::json!([0, 0, 1]),
        serde_json::json!([0, 0, 1, "1"]),
        serde_json::json!(null),
    ] {
        assert_eq!(of(wrong.clone()), None, "{wrong}");
    }
}

#[test]
fn rows_of_other_bodies_have_no_footprint_whatever_their_centroid_says() {
    let row = |crs: &str| {
        let mut stated = grid(crs, [10.0, 0.1, 0.0, 5.0, 0.0, -0.1], [16, 16]);
        stated.centroid = Some([10.8, 4.2]);
        stated
    };
    let rows = [row("IAU_2015:49900"), row("EPSG:4326"), row("EPSG:999999")];
    let found = footprints(&rows, &JobContext::default()).expect("is made");
    let sources: Vec<_> = found
        .iter()
        .map(|found| found.as_ref().map(|footprint| footprint.source))
        .collect();
    assert_eq!(
        sources,
        [None, Some(PlaceSource::Grid), Some(PlaceSource::Centroid)]
    );
}
