//! Lengths of the strings in DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY pages, read without the
//! strings. In a DELTA_BYTE_ARRAY page each string reuses a prefix of the previous one, so one byte
//! of a row can stand for any length. Never panics.

/// Total bytes of all strings of a DELTA_BYTE_ARRAY page; `None` when it is damaged. `values` is
/// the number of values in the page header.
pub(super) fn front_coded_bytes(page: &[u8], values: u64) -> Option<u64> {
    let (prefixes, read) = sum_list(page, values)?;
    let (suffixes, _) = sum_list(page.get(read..)?, values)?;
    prefixes.checked_add(suffixes)
}

/// True when each of the first `lists` DELTA_BINARY_PACKED lists of a page is well-formed and has
/// at most `values` numbers, the number in the page header: the decoder allocates for as many
/// numbers as a list claims.
pub(super) fn lists_hold_at_most(page: &[u8], lists: usize, values: u64) -> bool {
    let mut at = 0;
    (0..lists).all(|_| {
        let list = DeltaList::read(page, &mut at, values);
        list.and_then(|list| list.miniblocks(page, &mut at, &mut |_| Some(())))
            .is_some()
    })
}

/// The sum of a DELTA_BINARY_PACKED list of non-negative numbers, and the list's length in bytes.
fn sum_list(bytes: &[u8], most: u64) -> Option<(u64, usize)> {
    let mut at = 0;
    let list = DeltaList::read(bytes, &mut at, most)?;
    if list.count == 0 {
        return Some((0, at));
    }
    let mut last = list.first;
    let mut total = u64::try_from(last).ok()?;
    list.miniblocks(bytes, &mut at, &mut |miniblock| {
        for index in 0..miniblock.count {
            let difference =
                i64::try_from(unpack_bits(miniblock.packed, index, miniblock.width)).ok()?;
            last = last
                .checked_add(miniblock.min_delta)?
                .checked_add(difference)?;
            total = total.checked_add(u64::try_from(last).ok()?)?;
        }
        Some(())
    })?;
    Some((total, at))
}

/// The header of a DELTA_BINARY_PACKED list.
struct DeltaList {
    /// Number of numbers in each miniblock.
    numbers_per_miniblock: u64,
    /// Number of miniblocks in each block.
    miniblocks_per_block: u64,
    /// Number of numbers in the list.
    count: u64,
    first: i64,
}

/// Packed deltas of `width` bits, each less `min_delta`.
struct Miniblock<'a> {
    min_delta: i64,
    packed: &'a [u8],
    width: u8,
    /// Number of deltas that belong to the list; padding follows them.
    count: u64,
}

impl DeltaList {
    /// Reads the header at offset `at`; `None` when it is damaged or claims more than `most`
    /// numbers.
    fn read(bytes: &[u8], at: &mut usize, most: u64) -> Option<Self> {
        let block = varint(bytes, at)?;
        let miniblocks_per_block = varint(bytes, at)?;
        let count = varint(bytes, at)?;
        let first = zigzag(varint(bytes, at)?);
        let numbers_per_miniblock = block.checked_div(miniblocks_per_block).unwrap_or_default();
        let is_well_formed = numbers_per_miniblock > 0
            && numbers_per_miniblock % 8 == 0
            && miniblocks_per_block <= 512
            && block <= 1 << 20;
        (count <= most && (is_well_formed || count == 0)).then_some(Self {
            numbers_per_miniblock,
            miniblocks_per_block,
            count,
            first,
        })
    }

    /// Passes the miniblocks that begin at offset `at` to `each`; `None` when they are damaged.
    fn miniblocks(
        &self,
        bytes: &[u8],
        at: &mut usize,
        each: &mut dyn FnMut(Miniblock<'_>) -> Option<()>,
    ) -> Option<()> {
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            let min_delta = zigzag(varint(bytes, at)?);
            let widths = bytes.get(*at..at.checked_add(self.miniblocks_per_block as usize)?)?;
            *at += widths.len();
            for &width in widths {
                if left == 0 {
                    break;
                }
                let size =
                    usize::try_from(u64::from(width).checked_mul(self.numbers_per_miniblock)? / 8)
                        .ok()
                        .filter(|_| width <= 64)?;
                let packed = bytes.get(*at..at.checked_add(size)?)?;
                *at += size;
                each(Miniblock {
                    min_delta,
                    packed,
                    width,
                    count: self.numbers_per_miniblock.min(left),
                })?;
                left = left.saturating_sub(self.numbers_per_miniblock);
            }
        }
        Some(())
    }
}

/// The number at `index` among numbers of `width` bits, least significant bit first.
fn unpack_bits(bytes: &[u8], index: u64, width: u8) -> u64 {
    let first = index * u64::from(width);
    let mut number = 0u128;
    let from = (first / 8) as usize;
    for (at, byte) in bytes.iter().skip(from).take(9).enumerate() {
        number |= u128::from(*byte) << (8 * at);
    }
    let mask = if width >= 64 {
        u128::from(u64::MAX)
    } else {
        (1u128 << width) - 1
    };
    ((number >> (first % 8)) & mask) as u64
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn zigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_added_up_without_the_texts() {
        // A block of 128 values in 4 miniblocks with 3 numbers, the first 5; minimum delta -1, and
        // bit widths 2, 0, 0, 0: 5, 4, 6.
        let mut block = vec![0x80, 0x01, 4, 3, 10, 1, 2, 0, 0, 0];
        let mut part = [0u8; 8];
        part[0] = 0b1100;
        block.extend(part);
        assert_eq!(sum_list(&block, 3), Some((15, block.len())));
        assert_eq!(sum_list(&block, 2), None, "more than the header claims");
        for cut in 0..block.len() {
            assert_eq!(sum_list(&block[..cut], 3), None, "cut at {cut}");
        }
        assert_eq!(
            front_coded_bytes(&[block.clone(), block.clone()].concat(), 3),
            Some(30)
        );
        let two = [block.clone(), block].concat();
        assert!(
            lists_hold_at_most(&two, 2, 3)
                && !lists_hold_at_most(&two, 2, 2)
                && !lists_hold_at_most(&two, 3, 3)
        );
    }

    #[test]
    fn numbers_of_any_width_are_unpacked() {
        let bytes: Vec<u8> = (0..80u32).map(|n| (n * 37) as u8).collect();
        for width in [1u8, 7, 8, 31, 57, 64] {
            for index in 0..8u64 {
                let bit = |at: u64| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
                let wanted = (0..u64::from(width))
                    .map(|n| bit(index * u64::from(width) + n) << n)
                    .fold(0, |a, b| a | b);
                assert_eq!(
                    unpack_bits(&bytes, index, width),
                    wanted,
                    "{width} bits at {index}"
                );
            }
        }
    }
}
