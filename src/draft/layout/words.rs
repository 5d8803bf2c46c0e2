//! Words that names of published datasets are made of: what a file is of its scene (image, mask,
//! band) and the part of a split.

use crate::draft::pattern::{TokenKind, TokenizedPath};

/// Words for what a file is within its scene: products, sensors, polarisations, moments of a pair.
const ROLE_WORDS: &[&str] = &[
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

/// Words of classes of whole scenes, which are no products.
const CLASS_WORDS: &[&str] = &[
    "neg",
    "negative",
    "negatives",
    "pos",
    "positive",
    "positives",
];
/// Least letters of a product with a digit after it, in names of folders: `Image1`, `label2`.
const NUMBERED_LEAST: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextToken {
    /// The text before it, from the word before.
    pub before: String,
    pub text: String,
    /// In lower case.
    pub lower: String,
    pub kind: TokenKind,
    /// Index among the words of its text.
    pub at: usize,
    /// What the names beside it say of the word; see
    /// [`ParsedPath::from_paths`](super::parsed::ParsedPath::from_paths).
    pub part: WordPart,
}

/// Whether a word identifies scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    /// As the word itself says.
    ByItself,
    /// It is a part of the scene's name: T1 in `…_T1_B1`, `…_T1_B2`.
    Scene,
    /// It is a part of the product's: 101 in `prior_101`, beside names without.
    Product,
}

/// The words of a folder's name or of a file's stem.
pub(super) fn words_of(text: &str) -> Vec<TextToken> {
    let name = TokenizedPath::from_text(text.to_owned(), false);
    let mut last = 0;
    let mut words = Vec::with_capacity(name.tokens.len());
    for (index, token) in name.tokens.iter().enumerate() {
        let own = name.token(index);
        words.push(TextToken {
            before: text[last..token.span.start].to_owned(),
            text: own.to_owned(),
            lower: own.to_lowercase(),
            kind: if token.kind == TokenKind::Ending {
                kind_of_word(own)
            } else {
                token.kind
            },
            at: index,
            part: WordPart::ByItself,
        });
        last = token.span.end;
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
    /// True for what a file is of its scene. Digits before the word do not matter: 3band.
    pub fn is_role(&self) -> bool {
        let bare = self.lower.trim_start_matches(|c: char| c.is_ascii_digit());
        self.is_exact_role() || (!bare.is_empty() && ROLE_WORDS.contains(&bare))
    }

    /// True for words of the list and for bands.
    pub fn is_exact_role(&self) -> bool {
        self.kind == TokenKind::Band
            || ROLE_WORDS.contains(&self.lower.as_str())
            || self.has_role_within()
    }

    /// True for a word of several, of which one says it: `LabelHand`, `S1Hand`, `JPEGImages`.
    fn has_role_within(&self) -> bool {
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
                part.len() > 1 && ROLE_WORDS.contains(&part.as_str())
            })
    }

    /// True for the word of a product in the name of a folder, which may have one digit after it.
    pub fn is_role_of_folder(&self) -> bool {
        let bare = self.lower.strip_suffix(|c: char| c.is_ascii_digit());
        let is_numbered = |bare: &str| bare.len() >= NUMBERED_LEAST && ROLE_WORDS.contains(&bare);
        self.is_role() || bare.is_some_and(is_numbered)
    }

    pub fn is_class(&self) -> bool {
        CLASS_WORDS.contains(&self.lower.as_str())
    }

    pub fn is_split(&self) -> bool {
        SPLIT_WORDS.contains(&self.lower.as_str())
    }

    /// True for what identifies scenes: numbers, dates, tiles, words with digits.
    pub fn is_identifier(&self) -> bool {
        match self.part {
            WordPart::Scene => return true,
            WordPart::Product => return false,
            WordPart::ByItself => {}
        }
        match self.kind {
            TokenKind::Number | TokenKind::Date | TokenKind::Time | TokenKind::Tile => true,
            TokenKind::Band | TokenKind::Resolution => false,
            TokenKind::Ending | TokenKind::Word => {
                !self.is_exact_role() && self.lower.bytes().any(|b| b.is_ascii_digit())
            }
        }
    }
}

/// The text of some of the words, with what stood between them, and with the brackets closed that
/// are opened in it.
pub(super) fn joined_words<'a>(words: impl IntoIterator<Item = &'a TextToken>) -> String {
    let mut text = String::new();
    let mut last: Option<usize> = None;
    for word in words {
        match last {
            Some(last) if last + 1 == word.at => text.push_str(&word.before),
            Some(_) if word.before.is_empty() => text.push('_'),
            Some(_) => text.push_str(&word.before),
            None => {}
        }
        text.push_str(&word.text);
        last = Some(word.at);
    }
    for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
        let is_open = text.rfind(open) > text.rfind(close);
        text.extend(is_open.then_some(close));
    }
    text
}

/// The singular of a product: images → image.
pub(super) fn singular(text: &str) -> String {
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

/// The part of a split that a list's name says: `eurosat-100-train` → train.
pub fn split_named_by(stem: &str) -> Option<String> {
    let mut found = words_of(stem).into_iter().filter(TextToken::is_split);
    let first = found.next()?;
    found.next().is_none().then_some(first.lower)
}

/// The name of a list without the part of a split: `eurosat-spatial-train` → `eurosat_spatial`.
pub fn list_family(stem: &str) -> String {
    let words: Vec<String> = words_of(stem)
        .into_iter()
        .filter(|word| !word.is_split())
        .map(|word| word.lower)
        .collect();
    words.join("_")
}
