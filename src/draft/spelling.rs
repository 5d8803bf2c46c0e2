//! Detects two spellings of one name.

/// File extensions that an id may include or omit.
const ENDINGS: [&str; 18] = [
    "tif", "tiff", "jp2", "png", "jpg", "jpeg", "webp", "nc", "json", "geojson", "npy", "npz", "csv", "txt", "parquet", "h5",
    "hdf5", "xml",
];

/// True for two spellings of one name: a difference in case, separators or extension, or a single typing error in a word of at
/// least five letters. Digits, short words and first letters distinguish bands, times and sides, and must be equal.
pub(super) fn near_identical(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let ((a, a_ending), (b, b_ending)) = (split_ending(&a), split_ending(&b));
    let alias = |ending: &str| match ending {
        "tiff" => "tif".to_owned(),
        "jpeg" => "jpg".to_owned(),
        other => other.to_owned(),
    };
    let endings = a_ending.zip(b_ending).is_none_or(|(a, b)| alias(a) == alias(b));
    let (a, b) = (words(a), words(b));
    // Words may be joined or split; two adjacent numbers must not be joined.
    let joined = |words: &[String]| {
        let number = |word: &String| word.starts_with(char::is_numeric);
        words.iter().map(|word| if number(word) { format!("_{word}_") } else { word.clone() }).collect::<String>()
    };
    let alike = joined(&a) == joined(&b) || a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| is_one_slip(a, b));
    endings && !a.is_empty() && alike
}

/// How much two ids look like one name, from 0 to 1000: 1000 for two spellings of one name; 500 and more when all words of one occur in
/// the other, as in `Label_FINAL.TIF` and `label.tif`; otherwise the percentage of common letters at the start and end of the stems.
pub(super) fn likeness(a: &str, b: &str) -> usize {
    if near_identical(a, b) {
        return 1000;
    }
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let ((a, _), (b, _)) = (split_ending(&a), split_ending(&b));
    let common = |a: &[char], b: &[char]| {
        let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        100 * (head + tail).min(a.len().min(b.len())) / a.len().max(b.len()).max(1)
    };
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    let letters_of = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<Vec<char>>();
    // The same date in two names doesn't make them alike.
    let letters = common(&chars(a), &chars(b)).min(common(&letters_of(a), &letters_of(b)));
    let (a, b) = (words(a), words(b));
    let inside = |some: &[String], all: &[String]| {
        // A number or a single letter alone names nothing.
        some.iter().any(|word| word.chars().count() > 1 && word.chars().all(char::is_alphabetic))
            && some.iter().all(|word| all.iter().any(|other| word == other || is_one_slip(word, other)))
    };
    if inside(&a, &b) || inside(&b, &a) { 500 + letters } else { letters }
}

fn split_ending(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&ending) => (stem, Some(ending)),
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
    if b.len() < 5 || b.len() - a.len() > 1 || a.first() != b.first() || b.iter().any(|c| c.is_numeric()) {
        return false;
    }
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    match (a, b) {
        _ if a.len() < b.len() => *a == b[1..],
        ([first, second, ..], [other, another, ..]) if (first, second) == (another, other) => a[2..] == b[2..],
        _ => a[1..] == b[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_further_words_is_alike() {
        for (a, b) in [("Label_FINAL.TIF", "label.tif"), ("after_S2A_2020.tif", "after.tif"), ("befor_v2.tif", "before.tif")] {
            assert!((500..1000).contains(&likeness(a, b)), "{a} {b}: {}", likeness(a, b));
        }
        for (a, b) in [("Label_FINAL.TIF", "after.tif"), ("label.tif", "before.tif"), ("mask_2020", "image_2020")] {
            assert!(likeness(a, b) < 50, "{a} {b}: {}", likeness(a, b));
        }
        assert_eq!(likeness("befor", "before"), 1000);
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
            assert!(near_identical(a, b) && near_identical(b, a), "{a} and {b} are one name");
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
            assert!(!near_identical(a, b) && !near_identical(b, a), "{a} and {b} may be two things");
        }
    }
}
