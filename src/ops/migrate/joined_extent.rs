//! The box that holds two boxes in degrees, also across the antimeridian.

/// Degrees that rounding may cost.
const SLACK: f64 = 1e-9;

/// The old box, or as much more as the other needs. West greater than east crosses the
/// antimeridian.
pub(super) fn join_extents(old: [f64; 4], found: [f64; 4]) -> [f64; 4] {
    let lower = |old: f64, found: f64| if found < old - SLACK { found } else { old };
    let higher = |old: f64, found: f64| if found > old + SLACK { found } else { old };
    let (south, north) = (lower(old[1], found[1]), higher(old[3], found[3]));
    let [west, east] = match (old[0] > old[2], found[0] > found[2]) {
        (false, false) => [lower(old[0], found[0]), higher(old[2], found[2])],
        _ => joined_arcs([old[0], old[2]], [found[0], found[2]]),
    };
    [west, south, east, north]
}

/// The shortest way from a west to an east, eastwards, that both ways are part of; all around where
/// there is none.
fn joined_arcs(old: [f64; 2], found: [f64; 2]) -> [f64; 2] {
    if arc_contains(old, found) {
        return old;
    }
    [found, [old[0], found[1]], [found[0], old[1]]]
        .into_iter()
        .filter(|&arc| arc_contains(arc, old) && arc_contains(arc, found))
        .min_by(|a, b| measure_arc(*a).total_cmp(&measure_arc(*b)))
        .unwrap_or([-180.0, 180.0])
}

/// Degrees from a west to an east, eastwards.
fn measure_arc([west, east]: [f64; 2]) -> f64 {
    if west <= east {
        east - west
    } else {
        east - west + 360.0
    }
}

fn arc_contains(around: [f64; 2], inner: [f64; 2]) -> bool {
    let width = measure_arc(around);
    let skipped = (inner[0] - around[0] + SLACK).rem_euclid(360.0);
    width >= 360.0 || skipped + measure_arc(inner) <= width + 2.0 * SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_grow_as_far_as_they_have_to() {
        let world = [-180.0, -90.0, 180.0, 90.0];
        for (old, found, wanted) in [
            (
                [-80.5, -8.0, 6.2, 50.0],
                [-88.0, -8.0, 5.0, 40.0],
                [-88.0, -8.0, 6.2, 50.0],
            ),
            (
                [-10.0, -5.0, 10.0, 5.0],
                [-9.0, -5.0, 9.0, 5.0],
                [-10.0, -5.0, 10.0, 5.0],
            ),
            (
                [-10.0, -5.0, 10.0, 5.0],
                [-10.0 - 1e-12, -5.0, 10.0, 5.0],
                [-10.0, -5.0, 10.0, 5.0],
            ),
            (
                [170.0, 0.0, -170.0, 1.0],
                [175.0, -2.0, -160.0, 1.0],
                [170.0, -2.0, -160.0, 1.0],
            ),
            (
                [170.0, 0.0, -170.0, 1.0],
                [172.0, 0.0, 179.0, 1.0],
                [170.0, 0.0, -170.0, 1.0],
            ),
            (
                [0.0, 0.0, 10.0, 1.0],
                [179.0, 0.0, -179.0, 1.0],
                [0.0, 0.0, -179.0, 1.0],
            ),
            (
                [170.0, -10.0, -170.0, 10.0],
                [1.0, 0.0, 1.0, 0.0],
                [1.0, -10.0, -170.0, 10.0],
            ),
            (
                [170.0, -10.0, -170.0, 10.0],
                [-100.0, 0.0, -90.0, 0.0],
                [170.0, -10.0, -90.0, 10.0],
            ),
            (
                [170.0, -10.0, -170.0, 10.0],
                [-175.0, 0.0, 175.0, 0.0],
                [-180.0, -10.0, 180.0, 10.0],
            ),
            (world, [179.0, 0.0, -179.0, 1.0], world),
        ] {
            assert_eq!(join_extents(old, found), wanted, "{old:?} {found:?}");
        }
    }
}
