//! Total length of the strings in a DELTA_BYTE_ARRAY page, where each string reuses a prefix of the previous one, so one byte per
//! row can encode any length. Reads lengths only. Never panics.

/// Total bytes of all strings of a page; `None` when it is damaged. `values` is the number of values in the page header.
pub(super) fn front_coded_bytes(page: &[u8], values: u64) -> Option<u64> {
    let (shared, read) = sum(page, values)?;
    let (own, _) = sum(page.get(read..)?, values)?;
    shared.checked_add(own)
}

/// The sum of a DELTA_BINARY_PACKED block of non-negative numbers, and the block's length in bytes.
fn sum(bytes: &[u8], most: u64) -> Option<(u64, usize)> {
    let mut at = 0;
    let block = varint(bytes, &mut at)?;
    let parts = varint(bytes, &mut at)?;
    let count = varint(bytes, &mut at)?;
    let mut last = zigzag(varint(bytes, &mut at)?);
    if count == 0 {
        return Some((0, at));
    }
    let length = block.checked_div(parts).filter(|length| *length > 0 && length % 8 == 0 && parts <= 512 && block <= 1 << 20)?;
    if count > most {
        return None;
    }
    let mut total = u64::try_from(last).ok()?;
    let mut left = count - 1;
    while left > 0 {
        let least = zigzag(varint(bytes, &mut at)?);
        let widths = bytes.get(at..at.checked_add(parts as usize)?)?;
        at += widths.len();
        for &width in widths {
            if left == 0 {
                break;
            }
            let packed = usize::try_from(u64::from(width).checked_mul(length)? / 8).ok().filter(|_| width <= 64)?;
            let numbers = bytes.get(at..at.checked_add(packed)?)?;
            at += packed;
            for place in 0..length.min(left) {
                last = last.checked_add(least)?.checked_add(i64::try_from(unpacked(numbers, place, width)).ok()?)?;
                total = total.checked_add(u64::try_from(last).ok()?)?;
            }
            left = left.saturating_sub(length);
        }
    }
    Some((total, at))
}

/// The number of `width` bits at bit offset `place`, least significant bit first.
fn unpacked(bytes: &[u8], place: u64, width: u8) -> u64 {
    let first = place * u64::from(width);
    let mut number = 0u128;
    let from = (first / 8) as usize;
    for (at, byte) in bytes.iter().skip(from).take(9).enumerate() {
        number |= u128::from(*byte) << (8 * at);
    }
    let mask = if width >= 64 { u128::from(u64::MAX) } else { (1u128 << width) - 1 };
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
        // A block of 128 values in 4 miniblocks with 3 numbers, the first 5; minimum delta -1, and bit widths 2, 0, 0, 0: 5, 4,
        // 6.
        let mut block = vec![0x80, 0x01, 4, 3, 10, 1, 2, 0, 0, 0];
        let mut part = [0u8; 8];
        part[0] = 0b1100;
        block.extend(part);
        assert_eq!(sum(&block, 3), Some((15, block.len())));
        assert_eq!(sum(&block, 2), None, "more than the header claims");
        for cut in 0..block.len() {
            assert_eq!(sum(&block[..cut], 3), None, "cut at {cut}");
        }
        assert_eq!(front_coded_bytes(&[block.clone(), block].concat(), 3), Some(30));
    }

    #[test]
    fn numbers_of_any_width_are_unpacked() {
        let bytes: Vec<u8> = (0..80u32).map(|n| (n * 37) as u8).collect();
        for width in [1u8, 7, 8, 31, 57, 64] {
            for place in 0..8u64 {
                let bit = |at: u64| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
                let wanted = (0..u64::from(width)).map(|n| bit(place * u64::from(width) + n) << n).fold(0, |a, b| a | b);
                assert_eq!(unpacked(&bytes, place, width), wanted, "{width} bits at {place}");
            }
        }
    }
}
