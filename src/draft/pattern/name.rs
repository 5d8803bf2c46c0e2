//! File names as tokens: the texts between separators and their kinds. Dates and times are
//! distinguished from plain numbers.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// A date: 20200131 or 2020-01-31.
    Date,
    /// A time of day after a date: 101031.
    Time,
    /// Digits.
    Number,
    /// An MGRS tile: T32TQM, 32TQM.
    Tile,
    /// A band: B02, B8A, red.
    Band,
    /// A pixel size: 10m.
    Resolution,
    /// The file extension.
    Ending,
    /// Anything else.
    Word,
}

impl TokenKind {
    /// Name for the user, in the interface language.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Date => tr!("date" in "part of a name"),
            TokenKind::Time => tr!("time" in "part of a name"),
            TokenKind::Number => tr!("number" in "part of a name"),
            TokenKind::Tile => tr!("tile" in "part of a name"),
            TokenKind::Band => tr!("band" in "part of a name"),
            TokenKind::Resolution => tr!("resolution" in "part of a name"),
            TokenKind::Ending => tr!("ending" in "part of a name"),
            TokenKind::Word => tr!("word" in "part of a name"),
        }
    }

    /// True for kinds that are interchangeable at one position of a name.
    pub(super) fn is_wordy(self) -> bool {
        matches!(
            self,
            TokenKind::Band | TokenKind::Resolution | TokenKind::Word
        )
    }
}

/// One token of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::draft) struct Token {
    pub span: Range<usize>,
    pub kind: TokenKind,
}

/// A path relative to a common folder, split into tokens.
#[derive(Clone, Debug)]
pub(in crate::draft) struct TokenizedPath {
    pub text: String,
    pub tokens: Vec<Token>,
    /// The text between the tokens: names of one shape differ only in their tokens.
    pub shape: String,
}

const BAND_WORDS: [&str; 16] = [
    "red", "green", "blue", "nir", "nir08", "swir", "swir1", "swir2", "swir16", "swir22", "pan",
    "coastal", "vv", "vh", "hh", "hv",
];

impl TokenizedPath {
    /// Splits a path with `/` separators. With `fine`, words are also split from trailing numbers:
    /// img0001.
    pub fn from_text(text: String, fine: bool) -> Self {
        let mut tokens = Vec::new();
        let bytes = text.as_bytes();
        let base = text.rfind('/').map_or(0, |slash| slash + 1);
        let ending = text[base..]
            .rfind('.')
            .map(|dot| base + dot + 1)
            .filter(|&start| start > base + 1 && is_ending(&text[start..]));
        let mut at = 0;
        while at < bytes.len() {
            if let Some(end) = dashed_date(bytes, at) {
                tokens.push(Token {
                    span: at..end,
                    kind: TokenKind::Date,
                });
                at = end;
                continue;
            }
            let Some(first) = text[at..].chars().next() else {
                break;
            };
            if !first.is_alphanumeric() {
                at += first.len_utf8();
                continue;
            }
            let length = text[at..]
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(text.len() - at);
            let word = at..at + length;
            if ending == Some(at) {
                tokens.push(Token {
                    span: word.clone(),
                    kind: TokenKind::Ending,
                });
            } else {
                cut_word(&text, word.clone(), fine, &mut tokens);
            }
            at = word.end;
        }
        let mut shape = String::with_capacity(tokens.len() * 2);
        let mut last = 0;
        for token in &tokens {
            shape.push_str(&text[last..token.span.start]);
            shape.push('*');
            last = token.span.end;
        }
        shape.push_str(&text[last..]);
        Self {
            text,
            tokens,
            shape,
        }
    }

    /// Text of a token; empty when out of range.
    pub fn token(&self, index: usize) -> &str {
        self.tokens
            .get(index)
            .map_or("", |token| &self.text[token.span.clone()])
    }
}

fn is_ending(text: &str) -> bool {
    (1..=8).contains(&text.len())
        && text.chars().all(char::is_alphanumeric)
        && !text.chars().all(|c| c.is_ascii_digit())
}

fn cut_word(text: &str, word: Range<usize>, fine: bool, tokens: &mut Vec<Token>) {
    let part = &text[word.clone()];
    let mut push = |span: Range<usize>, kind| tokens.push(Token { span, kind });
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // 20200131T101031 and 20200131101031.
    if part.is_ascii() && part.len() >= 14 && is_date(&part[..8]) {
        let (gap, rest) = if part.as_bytes()[8] == b'T' {
            (9, &part[9..])
        } else {
            (8, &part[8..])
        };
        if digits(rest) && rest.len() == 6 && is_time(rest) {
            push(word.start..word.start + 8, TokenKind::Date);
            push(word.start + gap..word.end, TokenKind::Time);
            return;
        }
    }
    let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
    if fine && letters >= 2 && letters < part.len() && digits(&part[letters..]) {
        push(word.start..word.start + letters, TokenKind::Word);
        push(word.start + letters..word.end, kind_of(&part[letters..]));
        return;
    }
    push(word, kind_of(part));
}

fn kind_of(part: &str) -> TokenKind {
    let bytes = part.as_bytes();
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if digits(bytes) {
        return if is_date(part) {
            TokenKind::Date
        } else {
            TokenKind::Number
        };
    }
    let tile = bytes.strip_prefix(b"T").unwrap_or(bytes);
    if tile.len() == 5 && digits(&tile[..2]) && tile[2..].iter().all(u8::is_ascii_uppercase) {
        return TokenKind::Tile;
    }
    let band = bytes.strip_prefix(b"B").unwrap_or_default();
    let number = band.strip_suffix(b"A").unwrap_or(band);
    if (1..=2).contains(&number.len()) && digits(number)
        || BAND_WORDS.contains(&part.to_ascii_lowercase().as_str())
    {
        return TokenKind::Band;
    }
    match bytes.strip_suffix(b"m") {
        Some(size) if digits(size) && size.len() <= 5 => TokenKind::Resolution,
        _ => TokenKind::Word,
    }
}

/// End of a date like 2020-01-31 or 2020_01_31 that starts at `at`.
fn dashed_date(bytes: &[u8], at: usize) -> Option<usize> {
    let part = bytes.get(at..at + 10)?;
    let outside = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let dash = part[4];
    let dashed = matches!(dash, b'-' | b'_') && part[7] == dash;
    if !dashed
        || !outside(at.checked_sub(1).and_then(|before| bytes.get(before)))
        || !outside(bytes.get(at + 10))
    {
        return None;
    }
    let digits: Vec<u8> = [&part[..4], &part[5..7], &part[8..]].concat();
    is_date(std::str::from_utf8(&digits).ok()?).then_some(at + 10)
}

fn is_date(text: &str) -> bool {
    if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let number = |range: Range<usize>| text[range].parse::<u32>().unwrap_or(0);
    let year = number(0..4) as i32;
    (1950..2100).contains(&year)
        && chrono::NaiveDate::from_ymd_opt(year, number(4..6), number(6..8)).is_some()
}

fn is_time(text: &str) -> bool {
    let number = |range: Range<usize>| text[range].parse::<u32>().unwrap_or(99);
    number(0..2) < 24 && number(2..4) < 60 && number(4..6) < 61
}

/// Sort key for natural order: scene_9 before scene_10.
pub(in crate::draft) fn natural_key(text: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(letters);
        let digits = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (number, next) = tail.split_at(digits);
        key.push((0, word.to_owned()));
        key.push((number.parse().unwrap_or(u64::MAX), number.to_owned()));
        rest = next;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, fine: bool) -> Vec<(String, TokenKind)> {
        let name = TokenizedPath::from_text(text.into(), fine);
        (0..name.tokens.len())
            .map(|index| (name.token(index).to_owned(), name.tokens[index].kind))
            .collect()
    }

    #[test]
    fn names_fall_into_typed_tokens() {
        use TokenKind::*;
        let expect = |text: &str, fine: bool, expected: &[(&str, TokenKind)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(text, kind)| ((*text).to_owned(), *kind))
                .collect();
            assert_eq!(tokens(text, fine), expected, "{text}");
        };
        expect(
            "T32TQM_20200131T101031_B8A_10m.jp2",
            false,
            &[
                ("T32TQM", Tile),
                ("20200131", Date),
                ("101031", Time),
                ("B8A", Band),
                ("10m", Resolution),
                ("jp2", Ending),
            ],
        );
        expect(
            "2020-02-29/before.tif",
            false,
            &[("2020-02-29", Date), ("before", Word), ("tif", Ending)],
        );
        expect(
            "2021-02-29.tif",
            false,
            &[
                ("2021", Number),
                ("02", Number),
                ("29", Number),
                ("tif", Ending),
            ],
        );
        expect("img0001.png", false, &[("img0001", Word), ("png", Ending)]);
        expect(
            "img0001.png",
            true,
            &[("img", Word), ("0001", Number), ("png", Ending)],
        );
        expect("a/20201345", false, &[("a", Word), ("20201345", Number)]);
        expect(
            "été_v1.2",
            false,
            &[("été", Word), ("v1", Word), ("2", Number)],
        );
        assert_eq!(
            TokenizedPath::from_text("a-b/c_d.tif".into(), false).shape,
            "*-*/*_*.*"
        );
        let mut ids = ["s_10", "s_9", "r_11", "s_9b"];
        ids.sort_by_key(|id| natural_key(id));
        assert_eq!(ids, ["r_11", "s_9", "s_9b", "s_10"]);
    }
}
