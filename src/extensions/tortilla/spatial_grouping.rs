//! Groups of neighbouring samples: samples sorted along a Z-order curve, split by count or size.

use crate::error::{Error, Result};

/// Bits per coordinate: a resolution of about 10 m in latitude.
const BITS: u32 = 21;

/// Z-order (Morton) code of a location in degrees: longitude in the even bits, latitude in the odd
/// ones. Coordinates are truncated to 21 bits of ±180 and ±90 degrees.
pub fn z_order(lon: f64, lat: f64) -> i64 {
    let largest = ((1i64 << BITS) - 1) as f64;
    let x = ((lon + 180.0) / 360.0 * largest) as i64;
    let y = ((lat + 90.0) / 180.0 * largest) as i64;
    (0..BITS).fold(0, |code, bit| {
        code | (x & (1 << bit)) << bit | (y & (1 << bit)) << (bit + 1)
    })
}

/// Limits of a group. At least one is required; with both, the first one reached ends the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLimits {
    /// Maximum number of samples.
    pub count: Option<u64>,
    /// Maximum size of the data in bytes; a larger sample forms a group of its own.
    pub bytes: Option<u64>,
}

impl GroupLimits {
    /// Checks the limits.
    ///
    /// # Errors
    /// When there is no limit, or a limit is 0.
    pub fn check(&self) -> Result<()> {
        if self.count == Some(0) || self.bytes == Some(0) {
            return Err(Error::usage(
                "a group of no samples or no bytes can't be made",
            ));
        }
        if self.count.is_none() && self.bytes.is_none() {
            return Err(Error::usage("a limit of the groups is missing")
                .hint("give a number of samples, or a size such as 1GB"));
        }
        Ok(())
    }
}

/// For each sample, the number of its group, or `None` without a location. Samples with equal codes
/// keep their order.
///
/// # Errors
/// As [`GroupLimits::check`].
pub fn groups(
    places: &[Option<[f64; 2]>],
    sizes: &[u64],
    limits: GroupLimits,
) -> Result<Vec<Option<u64>>> {
    limits.check()?;
    let mut order: Vec<(i64, usize)> = places
        .iter()
        .enumerate()
        .filter_map(|(index, place)| {
            place
                .filter(|p| p[0].is_finite() && p[1].is_finite())
                .map(|[lon, lat]| (z_order(lon, lat), index))
        })
        .collect();
    order.sort_unstable();
    let mut groups = vec![None; places.len()];
    let (mut group, mut count, mut bytes) = (0u64, 0u64, 0u64);
    for (_, index) in order {
        let size = sizes.get(index).copied().unwrap_or(0);
        let full = limits.count.is_some_and(|limit| count >= limit)
            || limits
                .bytes
                .is_some_and(|limit| bytes.saturating_add(size) > limit);
        if count > 0 && full {
            group += 1;
            (count, bytes) = (0, 0);
        }
        groups[index] = Some(group);
        count += 1;
        bytes = bytes.saturating_add(size);
    }
    Ok(groups)
}

/// Value of `spatialgroup:code` for a group: `sg0000`, `sg0001`, ….
pub fn group_name(group: u64) -> String {
    format!("sg{group:04}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z_orders_are_those_of_the_official_tool() {
        let vectors = include_str!("../../../tests/fixtures/vectors/morton.json");
        let vectors: Vec<(f64, f64, i64)> = serde_json::from_str(vectors).expect("vectors");
        assert!(vectors.len() > 100);
        for (lon, lat, code) in vectors {
            assert_eq!(z_order(lon, lat), code, "at {lon} {lat}");
        }
    }

    #[test]
    fn groups_cover_every_place_once_and_keep_their_limits() {
        let places: Vec<Option<[f64; 2]>> = (0..500)
            .map(|n| {
                (n % 50 != 7).then(|| {
                    [
                        f64::from(n * 37 % 360) - 180.0,
                        f64::from(n * 53 % 180) - 90.0,
                    ]
                })
            })
            .collect();
        let sizes: Vec<u64> = (0..500).map(|n| n * n % 97 + 1).collect();
        let limits = GroupLimits {
            count: Some(12),
            bytes: Some(400),
        };
        let groups = groups(&places, &sizes, limits).expect("groups");
        let last = groups.iter().flatten().max().copied().expect("some");
        for group in 0..=last {
            let members: Vec<usize> = (0..500).filter(|&n| groups[n] == Some(group)).collect();
            assert!(!members.is_empty() && members.len() <= 12);
            assert!(members.iter().map(|&n| sizes[n]).sum::<u64>() <= 400);
        }
        for (place, group) in places.iter().zip(&groups) {
            assert_eq!(place.is_some(), group.is_some());
        }
        // Groups are in ascending order along the curve.
        let mut codes: Vec<(i64, u64)> = places
            .iter()
            .zip(&groups)
            .filter_map(|(p, g)| Some((z_order(p.as_ref()?[0], p.as_ref()?[1]), (*g)?)))
            .collect();
        codes.sort_unstable();
        assert!(codes.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn a_limit_is_needed() {
        assert!(groups(&[], &[], GroupLimits::default()).is_err());
        assert!(
            groups(
                &[],
                &[],
                GroupLimits {
                    count: Some(0),
                    bytes: None
                }
            )
            .is_err()
        );
    }
}
