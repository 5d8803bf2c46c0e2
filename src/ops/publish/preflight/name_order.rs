//! Names that sort otherwise as text than by their numbers.

/// Two names, in text order, whose text order differs from the order of their numbers.
pub(super) fn find_unsorted_pair<'a>(names: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .map(|two| (two[0], two[1]))
        .find(|(one, other)| in_pieces(one) > in_pieces(other))
}

/// A name split into runs of digits, as numbers, and runs of other characters.
fn in_pieces(name: &str) -> Vec<(bool, u128, &str)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest
            .find(|letter: char| letter.is_ascii_digit() != is_number)
            .unwrap_or(rest.len());
        let (piece, below) = rest.split_at(end);
        pieces.push(if is_number {
            (true, piece.parse().unwrap_or(u128::MAX), "")
        } else {
            (false, 0, piece)
        });
        rest = below;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_leading_zeros_do_not_sort() {
        assert_eq!(
            find_unsorted_pair(&["p_part1.tacozip", "p_part2.tacozip", "p_part10.tacozip"]),
            Some(("p_part10.tacozip", "p_part2.tacozip"))
        );
        assert_eq!(
            find_unsorted_pair(&["p_part01.tacozip", "p_part10.tacozip", "p_part02.tacozip"]),
            None
        );
        assert_eq!(find_unsorted_pair(&["a", "b_2", "b_3", "c"]), None);
    }
}
