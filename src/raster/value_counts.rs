//! Exact counts of each value of an 8- or 16-bit band, 256 kB for a band of 16 bits. Statistics of
//! large archives are bound by disk and decoder; so counting has to be faster than both.

/// A counter for each value of an integer type.
pub(super) struct ValueCounts {
    low: i64,
    /// Counts since the last spill, in 32 bits so that they fit in the processor's cache.
    counts: Vec<u32>,
    /// Pixels counted since the last spill.
    since: u64,
    /// Counts before the last spill, in 64 bits; empty up to 2^32 pixels.
    spilled: Vec<u64>,
}

/// An integer type of at most 16 bits.
pub(super) trait Countable: Copy {
    /// Number of values of the type.
    const VALUES: usize;
    /// Smallest value of the type.
    const LOW: i64;
    /// Index of the value: `value - LOW`.
    fn place(self) -> usize;
}

impl Countable for u8 {
    const VALUES: usize = 1 << 8;
    const LOW: i64 = 0;
    fn place(self) -> usize {
        usize::from(self)
    }
}

impl Countable for u16 {
    const VALUES: usize = 1 << 16;
    const LOW: i64 = 0;
    fn place(self) -> usize {
        usize::from(self)
    }
}

impl Countable for i16 {
    const VALUES: usize = 1 << 16;
    const LOW: i64 = -(1 << 15);
    fn place(self) -> usize {
        usize::from(self.cast_unsigned() ^ 0x8000)
    }
}

/// Sums over all counted values.
pub(super) struct Sums {
    pub count: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Sum of the squared distances from the mean.
    pub squares: f64,
}

impl ValueCounts {
    /// Counters of type `T`, all 0.
    pub fn for_type<T: Countable>() -> Self {
        Self {
            low: T::LOW,
            counts: vec![0; T::VALUES],
            since: 0,
            spilled: Vec::new(),
        }
    }

    /// Counts the values whose mask byte is not 0, or all values without a mask. Does nothing if
    /// `T` is not the type given to [`ValueCounts::for_type`].
    pub fn add<T: Countable>(&mut self, values: &[T], mask: Option<&[u8]>) {
        if self.low != T::LOW || self.counts.len() != T::VALUES {
            return;
        }
        for (at, piece) in values.chunks(1 << 30).enumerate() {
            self.since += piece.len() as u64;
            if self.since > u64::from(u32::MAX) {
                self.spill();
                self.since = piece.len() as u64;
            }
            let counts = self.counts.as_mut_slice();
            match mask {
                None => {
                    // Runs of equal values would serialise on one counter; pairs halve that
                    // dependency.
                    let (pairs, rest) = piece.as_chunks::<2>();
                    for [one, other] in pairs {
                        let (one, other) = (one.place(), other.place());
                        if one == other {
                            add_count(counts, one, 2);
                        } else {
                            add_count(counts, one, 1);
                            add_count(counts, other, 1);
                        }
                    }
                    rest.iter()
                        .for_each(|value| add_count(counts, value.place(), 1));
                }
                Some(mask) => {
                    let mask = mask.get(at << 30..).unwrap_or_default();
                    let valid = piece.iter().zip(mask).filter(|(_, mask)| **mask != 0);
                    valid.for_each(|(value, _)| add_count(counts, value.place(), 1));
                }
            }
        }
    }

    fn spill(&mut self) {
        self.spilled.resize(self.counts.len(), 0);
        for (total, count) in self.spilled.iter_mut().zip(&mut self.counts) {
            *total += u64::from(std::mem::take(count));
        }
    }

    /// Sets the count of `value` to 0; does nothing for a value outside of the type.
    pub fn forget(&mut self, value: i64) {
        let Some(place) = value
            .checked_sub(self.low)
            .and_then(|place| usize::try_from(place).ok())
        else {
            return;
        };
        if let Some(count) = self.counts.get_mut(place) {
            *count = 0;
        }
        if let Some(count) = self.spilled.get_mut(place) {
            *count = 0;
        }
    }

    /// `(value, count)` of each value that occurs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.counts
            .iter()
            .enumerate()
            .map(|(place, count)| self.add_spilled_count(place, *count))
            .filter(|(_, count)| *count > 0)
    }

    /// The value at `place` with all of its count.
    fn add_spilled_count(&self, place: usize, count: u32) -> (i64, u64) {
        let spilled = self.spilled.get(place).copied().unwrap_or(0);
        (self.low + place as i64, spilled + u64::from(count))
    }

    /// Count, range and moments, summed in integers without rounding.
    pub fn sums(&self) -> Sums {
        // Sums are over `value - LOW`, whose square fits in 32 bits.
        let (mut count, mut sum, mut squares) = (0u64, 0u128, 0u128);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut small = (0u64, 0u64);
        for (value, often) in self.iter() {
            let place = (value - self.low) as u64;
            if count == 0 {
                min = value as f64;
            }
            max = value as f64;
            count += often;
            if self.spilled.is_empty() {
                // At most 2^32 pixels, so both sums fit in 64 bits.
                small.0 += place * often;
                small.1 += place * place * often;
            } else {
                sum += u128::from(place) * u128::from(often);
                squares += u128::from(place * place) * u128::from(often);
            }
        }
        sum += u128::from(small.0);
        squares += u128::from(small.1);
        let (mut mean, mut about) = (0.0, 0.0);
        if count > 0 {
            let (whole, part) = (sum / u128::from(count), sum % u128::from(count));
            mean = (self.low as f64 + whole as f64) + part as f64 / count as f64;
            about = (u128::from(count) * squares - sum * sum) as f64 / count as f64;
        }
        Sums {
            count,
            min,
            max,
            mean,
            squares: about,
        }
    }

    /// The values at these 0-based ranks of all counted values in ascending order; `ranks` are
    /// ascending.
    pub fn at_ranks(&self, ranks: &[u64]) -> Vec<f64> {
        let mut found = Vec::with_capacity(ranks.len());
        let mut seen = 0;
        for (value, often) in self.iter() {
            seen += often;
            while ranks.get(found.len()).is_some_and(|rank| *rank < seen) {
                found.push(value as f64);
            }
            if found.len() == ranks.len() {
                break;
            }
        }
        found
    }
}

fn add_count(counts: &mut [u32], place: usize, by: u32) {
    // `counts` has one entry per value of the type, so `place` is always in range.
    if let Some(count) = counts.get_mut(place) {
        *count += by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_32_bits_are_kept() {
        let mut counts = ValueCounts::for_type::<i16>();
        counts.add(&[-5i16, 7, 7], None);
        let (mut sum, mut squares) = (9.0, 25.0 + 49.0 * 2.0);
        for _ in 0..3 {
            // Simulates this many counted pixels.
            counts.counts[(-5i16).place()] += u32::MAX - 10;
            counts.since = u64::from(u32::MAX);
            counts.add(&[-5i16], None);
            sum += -5.0 * f64::from(u32::MAX - 9);
            squares += 25.0 * f64::from(u32::MAX - 9);
        }
        let found: Vec<_> = counts.iter().collect();
        assert_eq!(found, [(-5, 3 * u64::from(u32::MAX - 9) + 1), (7, 2)]);
        let sums = counts.sums();
        let n = sums.count as f64;
        assert_eq!(
            (sums.min, sums.max, sums.count),
            (-5.0, 7.0, found[0].1 + 2)
        );
        assert!((sums.mean - sum / n).abs() < 1e-12, "{}", sums.mean);
        assert!(
            (sums.squares - (squares - sum * sum / n)).abs() < 1e-3 * sums.squares.max(1.0) + 1e4,
            "{}",
            sums.squares
        );
        assert_eq!(
            counts.at_ranks(&[0, found[0].1 - 1, found[0].1]),
            [-5.0, -5.0, 7.0]
        );
        counts.forget(-5);
        counts.forget(i64::MIN);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(7, 2)]);
    }

    #[test]
    fn masked_values_and_odd_ends_are_counted_once() {
        let mut counts = ValueCounts::for_type::<u8>();
        counts.add(&[1u8, 1, 2, 1, 255], None);
        counts.add(&[1u8, 2, 3], Some(&[255, 0, 1]));
        counts.add(&[9u16], None);
        assert_eq!(
            counts.iter().collect::<Vec<_>>(),
            [(1, 4), (2, 1), (3, 1), (255, 1)]
        );
    }
}
