//! Leakage between parts of synthetic samples, verified by hand.

use arrow::datatypes::TimeUnit;

use super::*;

fn square_facts(west: f64, south: f64, side: f64) -> LeakFacts {
    let ring = vec![
        (west, south),
        (west + side, south),
        (west + side, south + side),
        (west, south + side),
    ];
    let shape = MultiPolygon(vec![Polygon::new(ring.into(), Vec::new())]);
    LeakFacts {
        stated: Some(Box::new(StatedLocation::from_geometry(
            "EPSG:4326",
            shape.into(),
        ))),
        ..LeakFacts::default()
    }
}

fn leak_sample(path: &str, part: &str, facts: LeakFacts) -> (String, LeakSample) {
    let part = (!part.is_empty()).then(|| Arc::from(part));
    let sample = LeakSample {
        part,
        facts,
        compares_location_and_time: true,
        compares_hash: true,
    };
    (path.into(), sample)
}

fn find_leaks(samples: &[(String, LeakSample)]) -> Leakage {
    let (paths, samples): (Vec<String>, Vec<LeakSample>) = samples.iter().cloned().unzip();
    leakage(
        &samples,
        &|at| paths[at].clone(),
        &LeakageRequest::default(),
        0,
        &JobContext::default(),
    )
    .expect("works")
}

fn find_grounds(samples: &[(String, LeakSample)]) -> Vec<Option<Ground>> {
    let samples: Vec<LeakSample> = samples.iter().map(|(_, sample)| sample.clone()).collect();
    resolve_grounds(&samples, &JobContext::default()).expect("places")
}

const DAY: i64 = 86_400_000_000;

#[test]
fn overlapping_ground_leaks_and_a_common_edge_does_not() {
    let samples = [
        leak_sample("a", "train", square_facts(0.0, 0.0, 1.0)),
        leak_sample("b", "test", square_facts(1.0, 0.0, 1.0)),
        leak_sample("c", "test", square_facts(0.5, 0.5, 1.0)),
        leak_sample("d", "train", square_facts(0.5, 0.5, 1.0)),
        leak_sample("e", "", square_facts(0.0, 0.0, 1.0)),
        leak_sample("f", "validation", square_facts(50.0, 0.0, 1.0)),
    ];
    let found = find_leaks(&samples);
    let [leak] = found.footprints.as_slice() else {
        panic!("{found:?}")
    };
    // a–c overlap by a quarter, d–b by a quarter, d–c completely; a–b only touch.
    assert_eq!(
        (&leak.parts, leak.pairs, leak.samples),
        (&["test".to_owned(), "train".to_owned()], 3, [2, 2])
    );
    let shares: Vec<(String, f64)> = leak
        .examples
        .iter()
        .map(|pair| {
            (
                format!("{}{}", pair.one, pair.other),
                pair.overlap.unwrap_or(-1.0),
            )
        })
        .collect();
    for (pair, share) in [("ca", 0.25), ("bd", 0.25), ("cd", 1.0)] {
        assert!(
            shares
                .iter()
                .any(|(name, found)| name == pair && (found - share).abs() < 1e-6),
            "{pair}: {shares:?}"
        );
    }
    assert!(found.leaks() && found.complete && found.content.is_empty());
    assert_eq!(
        found
            .parts
            .iter()
            .map(|part| part.samples)
            .collect::<Vec<_>>(),
        [2, 2, 1]
    );
    assert!(
        found
            .unknown
            .iter()
            .any(|line| line.contains("5 of 5 samples have no time")),
        "{:?}",
        found.unknown
    );
    assert!(
        found.lines()[0]
            .contains("2 samples of test and 2 of train cover the same ground (3 pairs)"),
        "{:?}",
        found.lines()
    );
}

#[test]
fn ground_beyond_the_antimeridian_is_the_same_ground() {
    let fiji = |west: f64| {
        let ring = vec![
            (west, -18.0),
            (-179.0, -18.0),
            (-179.0, -17.0),
            (west, -17.0),
        ];
        let shape = MultiPolygon(vec![Polygon::new(ring.into(), Vec::new())]);
        LeakFacts {
            stated: Some(Box::new(StatedLocation::from_geometry(
                "EPSG:4326",
                shape.into(),
            ))),
            ..LeakFacts::default()
        }
    };
    let samples = [
        leak_sample("a", "train", fiji(179.0)),
        leak_sample("b", "test", square_facts(-180.0, -18.0, 0.5)),
        leak_sample("c", "test", square_facts(179.2, -17.6, 0.5)),
        leak_sample("d", "test", fiji(179.5)),
        leak_sample("e", "test", square_facts(0.0, -18.0, 1.0)),
    ];
    let found = find_leaks(&samples);
    assert_eq!(
        (found.footprints[0].pairs, found.footprints[0].samples),
        (3, [3, 1]),
        "{found:?}"
    );
}

#[test]
fn leakage_by_time_is_counted_apart_from_leakage_by_content() {
    let at = |mut facts: LeakFacts, days: i64, hash: &str| {
        facts.time = Some([days * DAY, days * DAY]);
        facts.hash = (!hash.is_empty()).then(|| Arc::from(hash));
        facts
    };
    let samples = [
        leak_sample("a", "train", at(square_facts(0.0, 0.0, 1.0), 0, "x")),
        leak_sample("b", "test", at(square_facts(0.0, 0.0, 1.0), 1, "y")),
        leak_sample("c", "test", at(square_facts(0.0, 0.0, 1.0), 30, "x")),
        leak_sample("d", "validation", at(square_facts(9.0, 0.0, 1.0), 90, "x")),
    ];
    let found = find_leaks(&samples);
    assert_eq!(found.footprints[0].pairs, 2);
    let [times] = found.times.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(
        (
            times.pairs,
            times.examples[0].one.as_str(),
            times.examples[0].days
        ),
        (1, "b", Some(1.0))
    );
    let pairs: Vec<_> = found
        .content
        .iter()
        .map(|leak| (leak.parts.join(" "), leak.pairs))
        .collect();
    let wanted = [
        ("test train", 1),
        ("test validation", 1),
        ("train validation", 1),
    ];
    assert_eq!(
        pairs,
        wanted.map(|(parts, pairs)| (parts.to_owned(), pairs))
    );
    assert!(found.spans.is_empty());
}

#[test]
fn centroids_leak_to_the_same_place_only() {
    let at = |x: f64| LeakFacts {
        stated: Some(Box::new(StatedLocation::point([x, 10.0]))),
        ..LeakFacts::default()
    };
    let samples = [
        leak_sample("a", "train", at(5.0)),
        leak_sample("b", "test", at(5.0)),
        leak_sample("c", "test", at(5.1)),
    ];
    let found = find_leaks(&samples);
    assert_eq!(
        (
            found.footprints[0].pairs,
            found.footprints[0].examples[0].overlap
        ),
        (1, None)
    );
}

#[test]
fn lines_leak_to_areas_that_they_cross() {
    let track = |points: &[(f64, f64)]| {
        let line = LineString::from(points.to_vec());
        LeakFacts {
            stated: Some(Box::new(StatedLocation::from_geometry(
                "EPSG:4326",
                line.into(),
            ))),
            ..LeakFacts::default()
        }
    };
    let samples = [
        leak_sample("a", "train", track(&[(-1.0, 0.5), (2.0, 0.5)])),
        leak_sample("b", "test", square_facts(0.0, 0.0, 1.0)),
        leak_sample("c", "test", track(&[(-1.0, 0.5), (2.0, 0.5)])),
        leak_sample("d", "test", square_facts(0.0, 3.0, 1.0)),
    ];
    assert_eq!(find_leaks(&samples).footprints[0].pairs, 2);
}

#[test]
fn the_pairs_are_those_of_comparing_every_pair() {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let samples: Vec<(String, LeakSample)> = (0..300)
        .map(|n| {
            leak_sample(
                &n.to_string(),
                ["train", "test", "validation"][n % 3],
                square_facts(next() * 20.0, next() * 10.0, 0.2 + next()),
            )
        })
        .collect();
    let grounds = find_grounds(&samples);
    let mut pairs = 0;
    for a in 0..300 {
        for b in a + 1..300 {
            let boxed = |sample| SampleBox {
                sample,
                bounds: [0.0; 4],
                shift: 0.0,
            };
            pairs += u64::from(
                a % 3 != b % 3 && find_overlap(&grounds, &boxed(a), &boxed(b), 0.001).is_some(),
            );
        }
    }
    assert!(pairs > 100);
    assert_eq!(
        find_leaks(&samples)
            .footprints
            .iter()
            .map(|leak| leak.pairs)
            .sum::<u64>(),
        pairs
    );
}

#[test]
fn facts_of_a_sample_are_read_from_its_columns() {
    let list = |numbers: &[f64]| Value::List(numbers.iter().map(|n| Value::Float(*n)).collect());
    let value = |name: &str| match name {
        "stac:crs" => (Value::text("EPSG:4326"), DataType::Utf8),
        "stac:geotransform" => (list(&[10.0, 0.1, 0.0, 50.0, 0.0, -0.1]), DataType::Null),
        "stac:tensor_shape" => (
            Value::List([3, 20, 10].map(Value::Int).into()),
            DataType::Null,
        ),
        "stac:time_start" => (
            Value::Int(1000),
            DataType::Timestamp(TimeUnit::Millisecond, None),
        ),
        HASH_COLUMN => (Value::text("ab"), DataType::Utf8),
        _ => (Value::Null, DataType::Null),
    };
    let facts = LeakFacts::from_row_values(&StatedLocationReader::default(), &value);
    let place = leak_sample("a", "train", facts.clone());
    let Some(Ground::Area { shape, .. }) = &find_grounds(&[place])[0] else {
        panic!("no area")
    };
    let bounds = shape.bounding_rect().expect("has bounds");
    assert!(
        (bounds.min().x - 10.0).abs() < 1e-9
            && (bounds.max().x - 11.0).abs() < 1e-9
            && (bounds.min().y - 48.0).abs() < 1e-9
    );
    assert_eq!(
        (facts.time, facts.hash.as_deref()),
        (Some([1_000_000, 1_000_000]), Some("ab"))
    );
}

#[test]
fn times_without_unit_are_in_seconds_and_raster_shape_states_the_area() {
    let list = |numbers: &[f64]| Value::List(numbers.iter().map(|n| Value::Float(*n)).collect());
    for (start, dtype) in [
        (Value::Float(1.5), DataType::Float64),
        (Value::Float(1.5), DataType::Float32),
        (Value::Int(1), DataType::Int64),
        (Value::UInt(1), DataType::UInt32),
    ] {
        let wanted = if matches!(start, Value::Float(_)) {
            1_500_000
        } else {
            1_000_000
        };
        let value = |name: &str| match name {
            "stac:time_start" => (start.clone(), dtype.clone()),
            "stac:time_end" => (Value::Float(f64::NAN), DataType::Float64),
            "stac:crs" => (Value::text("EPSG:4326"), DataType::Utf8),
            "stac:geotransform" => (list(&[10.0, 0.1, 0.0, 50.0, 0.0, -0.1]), DataType::Null),
            "stac:raster_shape" => (Value::List([20, 10].map(Value::Int).into()), DataType::Null),
            _ => (Value::Null, DataType::Null),
        };
        let facts = LeakFacts::from_row_values(&StatedLocationReader::default(), &value);
        assert_eq!(facts.time, Some([wanted, wanted]), "{dtype}");
        let grounds = find_grounds(&[leak_sample("a", "train", facts)]);
        assert!(matches!(grounds[0], Some(Ground::Area { area, .. }) if (area - 2.0).abs() < 1e-9));
    }
}
