//! Words in the names of published datasets. A word tells scenes apart (a number, a date, a tile),
//! products of one scene (image, mask, band, a sensor), or the parts of a split (train, test).

use crate::draft::pattern::{TokenKind, TokenizedPath};

/// Words of products, by which the files of one scene differ: kinds of images and labels, sensors,
/// polarisations, moments of a pair.
const PRODUCT_WORDS: &[&str] = &[
    "a",
    "aerial",
    "after",
    "ann",
    "annotation",
    "annotations",
    "b",
    "band",
    "bands",
    "bbox",
    "before",
    "box",
    "caption",
    "captions",
    "chm",
    "cm",
    "dem",
    "depth",
    "diff",
    "dsm",
    "dtm",
    "elevation",
    "feature",
    "features",
    "geojson",
    "gt",
    "ground",
    "groundtruth",
    "height",
    "hh",
    "hsi",
    "hv",
    "hyperspectral",
    "im1",
    "im2",
    "image",
    "imagery",
    "images",
    "img",
    "imgs",
    "infrared",
    "input",
    "instance",
    "instances",
    "ir",
    "json",
    "l1c",
    "l2a",
    "l7",
    "l8",
    "label",
    "labels",
    "landcover",
    "las",
    "laz",
    "lbl",
    "lc",
    "lidar",
    "lwir",
    "map",
    "maps",
    "mask",
    "masks",
    "ms",
    "msi",
    "naip",
    "ndvi",
    "ndwi",
    "nir",
    "nlcd",
    "optical",
    "output",
    "pan",
    "panoptic",
    "picture",
    "pictures",
    "post",
    "pre",
    "ps",
    "ref",
    "reference",
    "rgb",
    "rgbnir",
    "s1",
    "s1a",
    "s1b",
    "s1c",
    "s1d",
    "s2",
    "s2a",
    "s2b",
    "s2c",
    "sar",
    "seg",
    "segmentation",
    "semantic",
    "sentinel1",
    "sentinel2",
    "slope",
    "swir",
    "t1",
    "t2",
    "target",
    "targets",
    "text",
    "thermal",
    "time1",
    "time2",
    "tir",
    "truth",
    "udm",
    "udm2",
    "vh",
    "vv",
];

const SPLIT_WORDS: &[&str] = &[
    "dev",
    "eval",
    "evaluation",
    "holdout",
    "test",
    "testing",
    "tests",
    "train",
    "training",
    "trainval",
    "val",
    "valid",
    "validation",
];

/// Words of classes of whole scenes: folders of these names hold different scenes, not products.
const CLASS_WORDS: &[&str] = &[
    "neg",
    "negative",
    "negatives",
    "pos",
    "positive",
    "positives",
];
/// Fewest letters before the digit of a numbered product in the name of a folder, such as `Image1`:
/// of shorter words, such as `s2`, the digit is a part.
const MIN_LETTERS_BEFORE_DIGIT: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextToken {
    /// The text between the word before it and this one.
    pub separator: String,
    pub text: String,
    /// `text` in lower case.
    pub lower: String,
    pub kind: TokenKind,
    /// Index among the words of its name.
    pub index: usize,
    /// What the other names of its folder say of the word; see
    /// [`ParsedPath::from_paths`](super::parsed::ParsedPath::from_paths).
    pub meaning: WordMeaning,
}

/// What a word tells apart, as the other names of its folder show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordMeaning {
    /// They do not show it: the word itself decides.
    Unknown,
    /// Scenes: `T1` in `…_T1_B1` and `…_T1_B2` is a part of the scene's name.
    Scene,
    /// Products: `101` in `prior_101` is a part of the product's name, beside names without it.
    Product,
}

/// The words of a folder's name or of a file's stem.
pub(super) fn split_into_words(text: &str) -> Vec<TextToken> {
    let name = TokenizedPath::from_text(text.to_owned(), false);
    let mut last_end = 0;
    let mut words = Vec::with_capacity(name.tokens.len());
    for (index, token) in name.tokens.iter().enumerate() {
        let word = name.token(index);
        words.push(TextToken {
            separator: text[last_end..token.span.start].to_owned(),
            text: word.to_owned(),
            lower: word.to_lowercase(),
            // Neither a folder nor a stem has an ending: what follows a dot is a word, too.
            kind: if token.kind == TokenKind::Ending {
                kind_of_word(word)
            } else {
                token.kind
            },
            index,
            meaning: WordMeaning::Unknown,
        });
        last_end = token.span.end;
    }
    words
}

/// The kind of a word behind a point, which ends no name here: a band in `v2.0.B02`.
fn kind_of_word(word: &str) -> TokenKind {
    let alone = TokenizedPath::from_text(word.to_owned(), false);
    match alone.tokens.as_slice() {
        [token] if token.kind != TokenKind::Ending => token.kind,
        _ => TokenKind::Word,
    }
}

impl TextToken {
    /// True for the word of a product. Digits before it do not matter: `3band`.
    pub fn is_product(&self) -> bool {
        let without_digits = self.lower.trim_start_matches(|c: char| c.is_ascii_digit());
        self.is_exact_product() || PRODUCT_WORDS.contains(&without_digits)
    }

    /// True for the word of a product without digits before it, and for a band.
    pub fn is_exact_product(&self) -> bool {
        self.kind == TokenKind::Band
            || PRODUCT_WORDS.contains(&self.lower.as_str())
            || self.has_product_in_camel_case()
    }

    /// True for several words in camel case, one of them that of a product: `LabelHand`, `S1Hand`.
    fn has_product_in_camel_case(&self) -> bool {
        let letters: Vec<char> = self.text.chars().collect();
        let mut start = 0;
        let mut parts = Vec::new();
        for at in 1..letters.len() {
            let begins_word = !letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            if letters[at].is_uppercase() && begins_word {
                parts.push(start..at);
                start = at;
            }
        }
        parts.push(start..letters.len());
        parts.len() > 1
            && parts.into_iter().any(|part| {
                let part: String = letters[part].iter().collect::<String>().to_lowercase();
                part.len() > 1 && PRODUCT_WORDS.contains(&part.as_str())
            })
    }

    /// True for the word of a product in the name of a folder, also with a digit: `Image1`.
    pub fn is_product_of_folder(&self) -> bool {
        let without_digit = self.lower.strip_suffix(|c: char| c.is_ascii_digit());
        self.is_product()
            || without_digit.is_some_and(|word| {
                word.len() >= MIN_LETTERS_BEFORE_DIGIT && PRODUCT_WORDS.contains(&word)
            })
    }

    pub fn is_class(&self) -> bool {
        CLASS_WORDS.contains(&self.lower.as_str())
    }

    pub fn is_split(&self) -> bool {
        SPLIT_WORDS.contains(&self.lower.as_str())
    }

    /// True for what identifies scenes: numbers, dates, tiles, words with digits.
    pub fn is_identifier(&self) -> bool {
        match self.meaning {
            WordMeaning::Scene => return true,
            WordMeaning::Product => return false,
            WordMeaning::Unknown => {}
        }
        match self.kind {
            TokenKind::Number | TokenKind::Date | TokenKind::Time | TokenKind::Tile => true,
            TokenKind::Band | TokenKind::Resolution => false,
            TokenKind::Ending | TokenKind::Word => {
                !self.is_exact_product() && self.lower.bytes().any(|b| b.is_ascii_digit())
            }
        }
    }
}

/// The text of some words of a name, with the separators of the name; `_` where it has none between
/// words that were not neighbours, and with the brackets closed that are opened in it.
pub(super) fn join_words<'a>(words: impl IntoIterator<Item = &'a TextToken>) -> String {
    let mut text = String::new();
    let mut last_index: Option<usize> = None;
    for word in words {
        match last_index {
            None => {}
            Some(last) if last + 1 != word.index && word.separator.is_empty() => text.push('_'),
            Some(_) => text.push_str(&word.separator),
        }
        text.push_str(&word.text);
        last_index = Some(word.index);
    }
    for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
        let is_open = text.rfind(open) > text.rfind(close);
        text.extend(is_open.then_some(close));
    }
    text
}

/// The name of a product in the to_singular: `images` → `image`.
pub(super) fn to_singular(text: &str) -> String {
    const PLURALS: [&str; 10] = [
        "annotations",
        "captions",
        "images",
        "imgs",
        "instances",
        "labels",
        "masks",
        "pictures",
        "targets",
        "features",
    ];
    if PLURALS.contains(&text.to_lowercase().as_str()) {
        text[..text.len() - 1].to_owned()
    } else {
        text.to_owned()
    }
}

/// The part of a split in the name of a list: `eurosat-100-train` → `train`. `None` where it has
/// none or several.
pub fn find_split_in_name(stem: &str) -> Option<String> {
    let mut found = split_into_words(stem)
        .into_iter()
        .filter(TextToken::is_split);
    let first = found.next()?;
    found.next().is_none().then_some(first.lower)
}

/// The name that the lists of all parts of one split share, without the part: that of
/// `eurosat-spatial-train` is `eurosat_spatial`.
pub fn find_list_family(stem: &str) -> String {
    let words: Vec<String> = split_into_words(stem)
        .into_iter()
        .filter(|word| !word.is_split())
        .map(|word| word.lower)
        .collect();
    words.join("_")
}
