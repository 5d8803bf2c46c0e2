//! Detects two spellings of one name, and names that differ in data: numbers, dates, tiles.

/// File extensions that an id may include or omit.
const ENDINGS: [&str; 33] = [
    "tif", "tiff", "jp2", "png", "jpg", "jpeg", "webp", "nc", "json", "geojson", "npy", "npz",
    "csv", "txt", "parquet", "h5", "hdf5", "xml", "zarr", "hdf", "grib", "vrt", "img", "dat",
    "bin", "shp", "gpkg", "kml", "gml", "md", "pdf", "db", "tfw",
];

/// True for two spellings of one name: a difference in case, separators or extension, or a single
/// typing error in a word of at least five letters. Digits, short words and first letters
/// distinguish bands, times and sides, and must be equal.
pub(super) fn near_identical(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let ((a, a_ending), (b, b_ending)) = (split_ending(&a), split_ending(&b));
    let endings = endings_agree(a_ending, b_ending);
    let (a, b) = (words(a), words(b));
    let alike = join_words(&a) == join_words(&b)
        || a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| is_one_slip(a, b));
    endings && !a.is_empty() && alike
}

/// Words may be joined or split; two adjacent numbers must not be joined.
fn join_words(words: &[String]) -> String {
    let mut joined = String::new();
    for word in words {
        if word.starts_with(char::is_numeric) {
            joined.push_str(&format!("_{word}_"));
        } else {
            joined.push_str(word);
        }
    }
    joined
}

/// How much `found` looks like another name of `wanted`: 1000 for two spellings of one name; 500
/// and more when one has further words, as `Label_FINAL.TIF` has beside `label.tif`; otherwise 0.
/// Renaming never gives `found` a number that it does not have, and never takes one from a name of
/// numbers only: numbers are dates, tiles, and steps.
pub(super) fn likeness(wanted: &str, found: &str) -> usize {
    if near_identical(wanted, found) {
        return 1000;
    }
    let (wanted, found) = (wanted.to_lowercase(), found.to_lowercase());
    let ((wanted, wanted_ending), (found, found_ending)) =
        (split_ending(&wanted), split_ending(&found));
    if !endings_agree(wanted_ending, found_ending) {
        return 0;
    }
    let (a, b) = (words(wanted), words(found));
    let is_number = |word: &&String| word.starts_with(char::is_numeric);
    let has_number = |all: &[String], number: &String| all.iter().any(|other| other == number);
    let invents = a
        .iter()
        .filter(is_number)
        .any(|number| !has_number(&b, number));
    let loses = b
        .iter()
        .filter(is_number)
        .any(|number| !has_number(&a, number));
    let named = a.iter().any(|word| word.chars().all(char::is_alphabetic));
    let affix = contains_part(found, wanted) || contains_part(wanted, found);
    if invents || (loses && !named) || !(affix || contains_words(&b, &a) || contains_words(&a, &b))
    {
        return 0;
    }
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    500 + measure_common_ends(&chars(wanted), &chars(found))
}

/// True when `all` has each of the words, or one with a typing error in it. A number or a single
/// letter alone names nothing.
fn contains_words(all: &[String], words: &[String]) -> bool {
    words
        .iter()
        .any(|word| word.chars().count() > 1 && word.chars().all(char::is_alphabetic))
        && words.iter().all(|word| {
            all.iter()
                .any(|other| word == other || is_one_slip(word, other))
        })
}

/// Letters at the beginning and at the end that both have, in percent of the longer name.
fn measure_common_ends(a: &[char], b: &[char]) -> usize {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    100 * (head + tail).min(a.len().min(b.len())) / a.len().max(b.len()).max(1)
}

/// True when two names are made alike and differ in their numbers, as those of time steps and tiles
/// do: none is another spelling of the other, and which replaces which cannot be known.
pub(super) fn differ_in_data(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let (a, b) = (split_ending(&a).0, split_ending(&b).0);
    let (own, other) = (list_numbers(a), list_numbers(b));
    // `t9` and `t10` have the same letters; tiles such as `T31UFS` the same kinds of characters.
    own != other
        && !own.is_empty()
        && !other.is_empty()
        && (keep_letters(a) == keep_letters(b) || form_of(a) == form_of(b))
}

fn list_numbers(name: &str) -> Vec<String> {
    let mut words = words(name);
    words.retain(|word| word.starts_with(char::is_numeric));
    words
}

fn keep_letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphabetic()).collect()
}

/// A name with `0` for each digit and `a` for each letter.
fn form_of(name: &str) -> String {
    let mut form = String::with_capacity(name.len());
    for c in name.chars() {
        form.push(match c {
            c if c.is_numeric() => '0',
            c if c.is_alphabetic() => 'a',
            c => c,
        });
    }
    form
}

/// True when `part` occurs in `name` between separators, or at its start or end.
fn contains_part(name: &str, part: &str) -> bool {
    let bounded = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut found = name.match_indices(part).filter(|_| !part.is_empty());
    found.any(|(at, _)| {
        bounded(name[..at].chars().next_back()) && bounded(name[at + part.len()..].chars().next())
    })
}

/// False for extensions of two file formats.
fn endings_agree(a: Option<&str>, b: Option<&str>) -> bool {
    a.zip(b)
        .is_none_or(|(a, b)| shorten_ending(a) == shorten_ending(b))
}

fn shorten_ending(ending: &str) -> &str {
    match ending {
        "tiff" => "tif",
        "jpeg" => "jpg",
        "hdf5" => "h5",
        other => other,
    }
}

fn split_ending(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&ending) => {
            (stem, Some(ending))
        }
        _ => (name, None),
    }
}

/// Runs of letters and runs of digits.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in name.chars() {
        let kind = c.is_alphanumeric().then_some(c.is_numeric());
        match words.last_mut() {
            Some(word) if kind == before && kind.is_some() => word.push(c),
            _ if kind.is_some() => words.push(c.into()),
            _ => {}
        }
        before = kind;
    }
    words
}

/// True for equal words, and for longer ones with one missing, extra, replaced or swapped letter.
fn is_one_slip(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (a, b) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if b.len() < 5
        || b.len() - a.len() > 1
        || a.first() != b.first()
        || b.iter().any(|c| c.is_numeric())
    {
        return false;
    }
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    match (a, b) {
        _ if a.len() < b.len() => *a == b[1..],
        ([first, second, ..], [other, another, ..]) if (first, second) == (another, other) => {
            a[2..] == b[2..]
        }
        _ => a[1..] == b[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_further_words_is_alike() {
        let alike = [
            ("label.tif", "Label_FINAL.TIF"),
            ("after.tif", "after_S2A_2020.tif"),
            ("before.tif", "befor_v2.tif"),
            ("B02.tif", "S2_B02.tif"),
            ("image_0001.tif", "scene_image_0001.tif"),
        ];
        for (wanted, found) in alike {
            assert!(
                (500..1000).contains(&likeness(wanted, found)),
                "{found} for {wanted}: {}",
                likeness(wanted, found)
            );
        }
        for (wanted, found) in [
            ("Label_FINAL.TIF", "after.tif"),
            ("label.tif", "before.tif"),
            ("mask_2020", "image_2020"),
            ("vv", "vh"),
            ("B02.tif", "B03.tif"),
            ("label.tif", "label.json"),
            ("label.tif", "label_0001.shp"),
        ] {
            assert_eq!(likeness(wanted, found), 0, "{found} for {wanted}");
        }
        assert_eq!(likeness("befor", "before"), 1000);
    }

    #[test]
    fn a_number_is_never_given_to_a_name_or_exchanged() {
        for (wanted, found) in [
            ("20200101.tif", "20200108.tif"),
            ("s2_20200101.tif", "s2_20200108.tif"),
            ("after_20200101.tif", "after.tif"),
            ("2020.tif", "2020_01.tif"),
            ("t0.tif", "t1.tif"),
            ("T31UFS.tif", "T32UQD.tif"),
        ] {
            assert_eq!(likeness(wanted, found), 0, "{found} for {wanted}");
        }
        for (a, b) in [
            ("20200101.tif", "20200108.tif"),
            ("t9.tif", "t10.tif"),
            ("T31UFS.tif", "T32UQD.tif"),
            ("a_1", "a_2"),
        ] {
            assert!(differ_in_data(a, b) && differ_in_data(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("label.tif", "mask.tif"),
            ("label.tif", "thumbs.db"),
            ("before_2020.tif", "label_2020.tif"),
            ("t0.tif", "dem.tif"),
        ] {
            assert!(!differ_in_data(a, b), "{a} {b}");
        }
    }

    #[test]
    fn only_another_spelling_is_renamed_without_asking() {
        let same = [
            ("befor", "before"),
            ("lable", "label"),
            ("Label.TIF", "label.tif"),
            ("label", "label.tif"),
            ("label.tiff", "label.tif"),
            ("s2-mask", "s2_mask"),
            ("cloudmask", "cloud_mask"),
            ("cloud_mask_2020", "colud_mask_2020"),
        ];
        for (a, b) in same {
            assert!(
                near_identical(a, b) && near_identical(b, a),
                "{a} and {b} are one name"
            );
        }
        let others = [
            ("label.tif", "before.tif"),
            ("B02", "B03"),
            ("t0", "t1"),
            ("image_a", "image_b"),
            ("vv", "vh"),
            ("inner", "outer"),
            ("label.tif", "label.json"),
            ("2020_01", "2020_1"),
            ("t1_11", "t11_1"),
            ("ascending", "descending"),
            ("mask", "task"),
            ("", "a"),
        ];
        for (a, b) in others {
            assert!(
                !near_identical(a, b) && !near_identical(b, a),
                "{a} and {b} may be two things"
            );
        }
    }
}
