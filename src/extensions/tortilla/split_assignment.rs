//! Assigns samples to the parts of a split: at random, stratified by class, or by spatial blocks. A
//! seed gives the same result on every machine and in every version: random numbers come from
//! ChaCha8 seeded with `seed_from_u64`, lists are shuffled from the end (Fisher-Yates), and a
//! number below `n` is drawn from 64 bits with rejection of the incomplete last range.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::majortom::MajorTomGrid;
use crate::error::{Error, Result};

/// How samples are assigned.
#[derive(Clone, Debug, PartialEq)]
pub enum SplitMethod {
    /// Each sample independently.
    Random,
    /// Each sample independently, with the requested shares in every class to within one sample.
    Stratified {
        /// The class of each sample; samples with `None` form a class.
        classes: Vec<Option<String>>,
    },
    /// Spatial blocks as units, so that neighbours are in the same part.
    Blocks {
        /// `[longitude, latitude]` of each sample in degrees; a sample with `None` forms its own
        /// block.
        places: Vec<Option<[f64; 2]>>,
        /// Side length of a block in kilometres.
        side_km: f64,
    },
    /// Samples with equal keys as units: a scene, a patient, a flight.
    Together {
        /// The key of each sample; a sample with `None` forms its own unit.
        keys: Vec<Option<String>>,
    },
}

/// Names of the parts with their shares, which sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares(Vec<(String, f64)>);

impl Shares {
    /// Normalizes the weights of the parts.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for no parts, a weight that is not a positive
    /// number, or duplicate names.
    pub fn new(parts: Vec<(String, f64)>) -> Result<Self> {
        let sum: f64 = parts.iter().map(|part| part.1).sum();
        if parts.is_empty()
            || parts
                .iter()
                .any(|part| !(part.1.is_finite() && part.1 > 0.0))
            || !sum.is_finite()
        {
            return Err(Error::usage("every part of a split needs a share above 0")
                .hint("leave out parts that are to stay empty"));
        }
        let twice = parts
            .iter()
            .enumerate()
            .find(|(at, part)| parts[..*at].iter().any(|other| other.0 == part.0));
        if let Some((_, part)) = twice {
            return Err(Error::usage(format!("the part {} is named twice", part.0)));
        }
        Ok(Self(
            parts
                .into_iter()
                .map(|(name, share)| (name, share / sum))
                .collect(),
        ))
    }

    /// Names of the parts, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|part| part.0.as_str())
    }
}

/// The part of each of `count` samples, as an index into [`Shares::names`]. Shares are met to
/// within one sample; with blocks or keys, to within the size of the largest unit.
///
/// # Errors
/// When `method` does not have `count` values.
pub fn assign(
    count: usize,
    method: &SplitMethod,
    shares: &Shares,
    seed: u64,
) -> Result<Vec<usize>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut parts = vec![0; count];
    match method {
        SplitMethod::Random => {
            assign_strata(&mut parts, vec![(0..count).collect()], shares, &mut random)
        }
        SplitMethod::Stratified { classes } => {
            expect_all(count, classes.len())?;
            let mut strata: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
            for (index, class) in classes.iter().enumerate() {
                strata.entry(class.as_deref()).or_default().push(index);
            }
            assign_strata(
                &mut parts,
                strata.into_values().collect(),
                shares,
                &mut random,
            );
        }
        SplitMethod::Blocks { places, side_km } => {
            expect_all(count, places.len())?;
            let grid = MajorTomGrid::new(*side_km, (-90.0, 90.0), (-180.0, 180.0), "_")?;
            let keys = places
                .iter()
                .map(|place| place.and_then(|[lon, lat]| grid.code(lon, lat)));
            deal_groups(&mut parts, &keys.collect::<Vec<_>>(), shares, &mut random);
        }
        SplitMethod::Together { keys } => {
            expect_all(count, keys.len())?;
            deal_groups(&mut parts, keys, shares, &mut random);
        }
    }
    Ok(parts)
}

fn expect_all(count: usize, given: usize) -> Result<()> {
    if count == given {
        return Ok(());
    }
    Err(Error::internal(format!(
        "{given} values for {count} samples"
    )))
}

/// Assigns each stratum independently: rounded-down shares first, then the remainder to the parts
/// with the largest deficit.
fn assign_strata(
    parts: &mut [usize],
    strata: Vec<Vec<usize>>,
    shares: &Shares,
    random: &mut ChaCha8Rng,
) {
    let mut given = vec![0u64; shares.0.len()];
    let mut seen = 0u64;
    for mut stratum in strata {
        shuffle(&mut stratum, random);
        seen += stratum.len() as u64;
        let exact: Vec<f64> = shares
            .0
            .iter()
            .map(|part| part.1 * stratum.len() as f64)
            .collect();
        // Compensates rounding errors in products such as 0.7 × 10.
        let mut counts: Vec<usize> = exact
            .iter()
            .map(|wanted| (wanted + 1e-9).floor() as usize)
            .collect();
        let mut left = stratum.len().saturating_sub(counts.iter().sum());
        let mut order: Vec<usize> = (0..counts.len())
            .filter(|&part| exact[part] - counts[part] as f64 > 1e-9)
            .collect();
        let behind = |part: usize, counts: &[usize]| {
            shares.0[part].1 * seen as f64 - (given[part] + counts[part] as u64) as f64
        };
        order.sort_by(|&a, &b| {
            behind(b, &counts)
                .total_cmp(&behind(a, &counts))
                .then(a.cmp(&b))
        });
        for part in order {
            if left == 0 {
                break;
            }
            counts[part] += 1;
            left -= 1;
        }
        let mut members = stratum.into_iter();
        for (part, count) in counts.into_iter().enumerate() {
            for member in members.by_ref().take(count) {
                parts[member] = part;
                given[part] += 1;
            }
        }
    }
}

/// Assigns whole units in random order, each to the part with the largest deficit.
fn deal_groups(
    parts: &mut [usize],
    keys: &[Option<String>],
    shares: &Shares,
    random: &mut ChaCha8Rng,
) {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        match key {
            Some(key) => groups.entry(key).or_default().push(index),
            None => alone.push(vec![index]),
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().chain(alone).collect();
    shuffle(&mut groups, random);
    let mut given = vec![0usize; shares.0.len()];
    for group in groups {
        let lacks = |part: usize| shares.0[part].1 * parts.len() as f64 - given[part] as f64;
        let part = (0..given.len())
            .max_by(|&a, &b| lacks(a).total_cmp(&lacks(b)).then(b.cmp(&a)))
            .unwrap_or(0);
        given[part] += group.len();
        group.into_iter().for_each(|member| parts[member] = part);
    }
}

fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for end in (1..list.len()).rev() {
        list.swap(end, random_below(end as u64 + 1, random) as usize);
    }
}

/// A uniformly distributed number below `limit`.
fn random_below(limit: u64, random: &mut ChaCha8Rng) -> u64 {
    let whole_runs = u64::MAX - u64::MAX % limit;
    loop {
        let bits = random.next_u64();
        if bits < whole_runs {
            return bits % limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thirds() -> Shares {
        Shares::new(vec![
            ("train".into(), 70.0),
            ("validation".into(), 15.0),
            ("test".into(), 15.0),
        ])
        .expect("shares")
    }

    fn counts(parts: &[usize]) -> [usize; 3] {
        [0, 1, 2].map(|part| parts.iter().filter(|&&other| other == part).count())
    }

    #[test]
    fn shares_are_kept_at_every_size() {
        for count in 0..300 {
            let parts =
                assign(count, &SplitMethod::Random, &thirds(), count as u64).expect("assigned");
            for (part, share) in [0.7, 0.15, 0.15].into_iter().enumerate() {
                let off = counts(&parts)[part] as f64 - share * count as f64;
                assert!(off.abs() < 1.0, "{count} samples: part {part} is {off} off");
            }
        }
        assert_eq!(
            counts(&assign(20, &SplitMethod::Random, &thirds(), 1).expect("assigned")),
            [14, 3, 3]
        );
    }

    #[test]
    fn a_seed_gives_the_same_parts_for_ever() {
        let parts = |seed| assign(12, &SplitMethod::Random, &thirds(), seed).expect("assigned");
        assert_eq!(parts(42), parts(42));
        assert_ne!(parts(42), parts(43));
        let moved = (0..50).filter(|&seed| parts(seed)[0] != 0).count();
        assert!(
            (5..=25).contains(&moved),
            "the first sample left the largest part {moved} times of 50"
        );
    }

    #[test]
    fn every_class_has_its_shares() {
        let classes: Vec<Option<String>> = (0..403)
            .map(|n| (n % 31 != 0).then(|| format!("c{}", n % 7 * n % 5)))
            .collect();
        let method = SplitMethod::Stratified {
            classes: classes.clone(),
        };
        let parts = assign(403, &method, &thirds(), 7).expect("assigned");
        let mut names: Vec<_> = classes.clone();
        names.sort();
        names.dedup();
        assert!(names.len() > 3);
        for name in names {
            let of: Vec<usize> = (0..403)
                .filter(|&n| classes[n] == name)
                .map(|n| parts[n])
                .collect();
            for (part, share) in [0.7, 0.15, 0.15].into_iter().enumerate() {
                assert!(
                    (counts(&of)[part] as f64 - share * of.len() as f64).abs() < 1.0 + 1e-6,
                    "class {name:?}"
                );
            }
        }
        for (part, share) in [0.7, 0.15, 0.15].into_iter().enumerate() {
            assert!((counts(&parts)[part] as f64 - share * 403.0).abs() < 3.0);
        }
    }

    #[test]
    fn blocks_and_keys_stay_together() {
        let places: Vec<Option<[f64; 2]>> = (0..600)
            .map(|n| Some([f64::from(n % 30) * 0.2, f64::from(n / 30) * 0.2]))
            .collect();
        let method = SplitMethod::Blocks {
            places: places.clone(),
            side_km: 60.0,
        };
        let parts = assign(600, &method, &thirds(), 3).expect("assigned");
        let grid = MajorTomGrid::new(60.0, (-90.0, 90.0), (-180.0, 180.0), "_").expect("a grid");
        let mut blocks = std::collections::HashMap::new();
        for (place, part) in places.iter().flatten().zip(&parts) {
            let block = grid.code(place[0], place[1]).expect("a code");
            assert_eq!(blocks.entry(block).or_insert(*part), part);
        }
        assert!(
            counts(&parts).iter().all(|&count| count > 40),
            "{:?}",
            counts(&parts)
        );
        let keys: Vec<Option<String>> = (0..90).map(|n| Some(format!("scene {}", n / 3))).collect();
        let parts = assign(90, &SplitMethod::Together { keys }, &thirds(), 3).expect("assigned");
        assert!(
            parts
                .chunks(3)
                .all(|scene| scene.iter().all(|part| *part == scene[0]))
        );
    }

    #[test]
    fn bad_shares_are_refused() {
        for bad in [
            vec![],
            vec![("a".into(), 0.0)],
            vec![("a".into(), f64::NAN)],
            vec![("a".into(), 1.0), ("a".into(), 1.0)],
        ] {
            assert!(Shares::new(bad).is_err());
        }
    }
}
