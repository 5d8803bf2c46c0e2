//! Shards of WebDataset: the numbered tars of a folder, whose files are those of one dataset.

use std::collections::{BTreeMap, BTreeSet};

use super::import::is_document;

/// Digits at the end of the name of a shard. Eight are a date.
const DIGITS: std::ops::RangeInclusive<usize> = 3..=7;
/// Digits of a shard that is alone in its folder, at least: WebDataset writes six.
const DIGITS_ALONE: usize = 5;

/// The shards among the names of a folder, with the folder that their files are in: the beginnings
/// of the names where they differ, such as `train` and `val`, or an empty text. None where the
/// folder has other data.
pub(super) fn shards_among<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, &'a str> {
    let families: Option<BTreeMap<&'a str, (&'a str, usize)>> = names
        .filter(|name| !is_document(name))
        .map(|name| Some((name, family_of(name)?)))
        .collect();
    let families = families.unwrap_or_default();
    let beginnings: BTreeSet<&'a str> =
        families.values().map(|(beginning, _)| *beginning).collect();
    let is_alone = families.len() == 1;
    if is_alone && families.values().any(|(_, digits)| *digits < DIGITS_ALONE) {
        return BTreeMap::new();
    }
    let has_one = beginnings.len() == 1;
    families
        .iter()
        .map(|(name, (beginning, _))| (*name, folder_of_family(beginning, has_one)))
        .collect()
}

fn folder_of_family(beginning: &str, has_one: bool) -> &str {
    if has_one {
        ""
    } else {
        beginning.trim_end_matches(['-', '_', '.'])
    }
}

/// What is before the number at the end of the name of a shard, and the length of the number.
fn family_of(name: &str) -> Option<(&str, usize)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let beginning = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = stem.len() - beginning.len();
    (ending.eq_ignore_ascii_case("tar") && DIGITS.contains(&digits)).then_some((beginning, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_tars_alone_in_their_folder_are_shards() {
        let of = |names: &[&'static str]| -> Vec<(&'static str, &'static str)> {
            shards_among(names.iter().copied()).into_iter().collect()
        };
        assert_eq!(
            of(&["000000.tar", "000001.tar", "README.md", "sizes.json"]),
            [("000000.tar", ""), ("000001.tar", "")]
        );
        assert_eq!(
            of(&["train-0000.tar", "train-0001.TAR", "val-0000.tar"]),
            [
                ("train-0000.tar", "train"),
                ("train-0001.TAR", "train"),
                ("val-0000.tar", "val")
            ]
        );
        assert_eq!(of(&["000000.tar"]), [("000000.tar", "")]);
        for names in [
            &["001.tar"][..],
            &["000000.tar", "a.tif"],
            &["train.tar", "val.tar"],
            &["LC08_193026_02_T1.tar", "LC08_193027_02_T1.tar"],
            &["s2_20200101.tar", "s2_20200108.tar"],
            &["000000.tar", "train"],
            &[],
        ] {
            assert!(of(names).is_empty(), "{names:?}");
        }
    }
}
