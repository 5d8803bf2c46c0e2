//! Reads the subset of BibTeX needed for citations:
//! `@type{key, field = {text} or "text" or number, …}`, concatenation with `#`, `@string`
//! abbreviations, braces and common accents. Comments and `@preamble` are skipped.
//!
//! The crate `biblatex` (0.12) was tried instead: it drops the fields that follow
//! `"A {"}quoted{"} title"` without an error, refuses `@misc(key, …)`, and overflows the stack on
//! `@string`s that name each other.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// One BibTeX entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BibtexEntry {
    /// `article`, `misc`, …, in lower case.
    pub kind: String,
    /// Citation key.
    pub key: String,
    fields: HashMap<String, String>,
}

impl BibtexEntry {
    /// The value of a field as plain text.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    /// The DOI, from the field `doi` or from a doi.org URL.
    pub fn doi(&self) -> Option<String> {
        let from_url = || self.field("url").filter(|url| url.contains("doi.org/"));
        self.field("doi").or_else(from_url).map(str::to_owned)
    }

    /// A citation `Authors (year). Title. Venue.`, without the parts that the entry lacks.
    pub fn citation(&self) -> String {
        let authors = self
            .field("author")
            .or_else(|| self.field("editor"))
            .unwrap_or_default();
        let authors = authors
            .split(" and ")
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("; ");
        let year = self
            .field("year")
            .or_else(|| self.field("date").and_then(|date| date.get(..4)));
        let mut text = match (authors.is_empty(), year) {
            (false, Some(year)) => format!("{authors} ({year})."),
            (false, None) => format!("{authors}."),
            (true, Some(year)) => format!("({year})."),
            (true, None) => String::new(),
        };
        if let Some(title) = self.field("title") {
            append_sentence(&mut text, title);
        }
        if let Some(place) = [
            "journal",
            "journaltitle",
            "booktitle",
            "publisher",
            "howpublished",
        ]
        .iter()
        .find_map(|name| self.field(name))
        {
            let mut place = place.to_owned();
            if let Some(volume) = self.field("volume") {
                place.push_str(&format!(" {volume}"));
                if let Some(number) = self.field("number") {
                    place.push_str(&format!("({number})"));
                }
            }
            if let Some(pages) = self.field("pages") {
                place.push_str(&format!(", {}", pages.replace("--", "–")));
            }
            append_sentence(&mut text, &place);
        }
        text
    }
}

fn append_sentence(text: &mut String, words: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(words.trim_end_matches('.'));
    text.push('.');
}

/// Parses all entries of a text.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the entry, when an entry is not closed or has
/// no key, or the text has no entry.
pub fn parse(text: &str) -> Result<Vec<BibtexEntry>> {
    let mut parser = Parser {
        rest: text,
        names: HashMap::new(),
    };
    let mut entries = Vec::new();
    while let Some(at) = parser.rest.find('@') {
        parser.rest = &parser.rest[at + 1..];
        let kind = parser.read_word().to_lowercase();
        match kind.as_str() {
            "comment" | "" => {}
            "preamble" => drop(parser.parse_braced_text()),
            "string" => {
                parser.expect_opening("@string")?;
                let fields = parser.read_fields("@string")?;
                parser.names.extend(fields);
            }
            _ => {
                parser.expect_opening(&kind)?;
                let key = parser.read_key();
                if key.is_empty() || key.contains('=') {
                    return Err(Error::usage(format!(
                        "a BibTeX entry of kind {kind} has no key"
                    )));
                }
                let fields = parser.read_fields(&key)?;
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name, strip_latex(&value)))
                    .collect();
                entries.push(BibtexEntry { kind, key, fields });
            }
        }
    }
    if entries.is_empty() {
        return Err(Error::usage("the text has no BibTeX entry")
            .hint("an entry begins with @article{key, …"));
    }
    Ok(entries)
}

struct Parser<'a> {
    rest: &'a str,
    /// What the abbreviations of `@string` mean, by their names in lower case.
    names: HashMap<String, String>,
}

impl Parser<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn consume(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn read_word(&mut self) -> String {
        self.skip_spaces();
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || "{}(),=#\"".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    fn expect_opening(&mut self, what: &str) -> Result<()> {
        if self.consume('{') || self.consume('(') {
            Ok(())
        } else {
            Err(Error::usage(format!("after @{what} a brace has to come")))
        }
    }

    fn read_key(&mut self) -> String {
        let end = self.rest.find([',', '}', ')']).unwrap_or(self.rest.len());
        let (key, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix(',').unwrap_or(rest);
        key.trim().to_owned()
    }

    /// The content of a braced text; `None` when the braces are unbalanced.
    fn parse_braced_text(&mut self) -> Option<String> {
        if self.consume('{') {
            self.read_until_closing('}')
        } else {
            None
        }
    }

    /// The text before the first `closing` that is not in braces of the text itself, and not
    /// behind a backslash; `None` without one.
    fn read_until_closing(&mut self, closing: char) -> Option<String> {
        let mut depth = 0usize;
        let mut is_escaped = false;
        for (at, letter) in self.rest.char_indices() {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                _ if letter == closing && depth == 0 => {
                    let text = self.rest[..at].to_owned();
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    fn read_fields(&mut self, entry: &str) -> Result<HashMap<String, String>> {
        let mut fields = HashMap::new();
        loop {
            while self.consume(',') {}
            if self.consume('}') || self.consume(')') {
                return Ok(fields);
            }
            let name = self.read_word().to_lowercase();
            if name.is_empty() || !self.consume('=') {
                return Err(unfinished_entry_error(entry));
            }
            let value = self.read_value(entry)?;
            fields.insert(name, value);
        }
    }

    /// A value: texts, numbers and abbreviations, joined by `#`.
    fn read_value(&mut self, entry: &str) -> Result<String> {
        let mut value = String::new();
        loop {
            self.skip_spaces();
            let part = match self.rest.chars().next() {
                Some('{') => self.parse_braced_text(),
                Some('"') => {
                    self.rest = &self.rest[1..];
                    self.read_until_closing('"')
                }
                _ => self.read_abbreviation(),
            };
            value.push_str(&part.ok_or_else(|| unfinished_entry_error(entry))?);
            if !self.consume('#') {
                return Ok(value);
            }
        }
    }

    /// What an abbreviation of a `@string` means, or the word itself; `None` without a word.
    fn read_abbreviation(&mut self) -> Option<String> {
        let word = self.read_word();
        let meaning = self.names.get(&word.to_lowercase()).cloned();
        meaning.or((!word.is_empty()).then_some(word))
    }
}

fn unfinished_entry_error(entry: &str) -> Error {
    Error::usage(format!("the BibTeX entry {entry} does not end"))
        .hint("look for a missing brace or quote")
}

/// The text without LaTeX markup: accents as letters, no braces, single spaces.
fn strip_latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().filter(|c| !matches!(c, '{' | '}')).peekable();
    while let Some(letter) = letters.next() {
        if letter == '~' {
            out.push(' ');
            continue;
        }
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        let Some(command) = letters.next() else { break };
        let mark = match command {
            '\'' => "\u{301}",
            '`' => "\u{300}",
            '^' => "\u{302}",
            '"' => "\u{308}",
            '~' => "\u{303}",
            '=' => "\u{304}",
            'c' if letters.peek() == Some(&' ') => {
                letters.next();
                "\u{327}"
            }
            's' if letters.peek() == Some(&'s') => {
                letters.next();
                out.push('ß');
                continue;
            }
            other => {
                out.push(other);
                continue;
            }
        };
        if let Some(base) = letters.next().map(|base| {
            if base == '\\' {
                letters.next().unwrap_or(base)
            } else {
                base
            }
        }) {
            out.push_str(&compose_accented_letter(base, mark));
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The precomposed character where there is one, else the letter with a combining mark.
fn compose_accented_letter(base: char, mark: &str) -> String {
    let table = [
        ("\u{301}", "aáeéiíoóuúyýnńcćAÁEÉIÍOÓUÚsśzź"),
        ("\u{300}", "aàeèiìoòuùAÀEÈIÌOÒUÙ"),
        ("\u{302}", "aâeêiîoôuûAÂEÊIÎOÔUÛ"),
        ("\u{308}", "aäeëiïoöuüAÄEËIÏOÖUÜ"),
        ("\u{303}", "aãnñoõAÃNÑOÕ"),
        ("\u{304}", "aāeēiīoōuū"),
        ("\u{327}", "cçCÇsşSŞ"),
    ];
    let pairs: Vec<char> = table
        .iter()
        .find(|(known, _)| *known == mark)
        .map(|(_, pairs)| pairs.chars().collect())
        .unwrap_or_default();
    match pairs.chunks_exact(2).find(|pair| pair[0] == base) {
        Some(pair) => pair[1].to_string(),
        None => format!("{base}{mark}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_all_their_notations() {
        let text = r#"% a comment
            @string{nat = "Nature"}
            @comment{nothing}
            @Article{m21,
              author = {M{\"u}ller, J. and Nu{\~n}ez, A.},
              title = "A {"}quoted{"} title",
              journal = nat # { Geoscience}, year = 2021, volume={3}, number = 4,
              pages = {1--9}, url = {https://doi.org/10.1000/xyz},
            }
            @misc(k2, title = {Second})"#;
        let entries = parse(text).expect("parses");
        assert_eq!(
            entries
                .iter()
                .map(|e| (e.kind.as_str(), e.key.as_str()))
                .collect::<Vec<_>>(),
            [("article", "m21"), ("misc", "k2")]
        );
        assert_eq!(
            entries[0].citation(),
            "Müller, J.; Nuñez, A. (2021). A \"quoted\" title. Nature Geoscience 3(4), 1–9."
        );
        assert_eq!(
            entries[0].doi().as_deref(),
            Some("https://doi.org/10.1000/xyz")
        );
        assert_eq!(entries[1].citation(), "Second.");
    }

    #[test]
    fn broken_text_is_an_error_never_a_loop() {
        for bad in [
            "",
            "@",
            "@article",
            "@article{",
            "@article{k, title = {x",
            "@article{k, title = \"x",
            "@article{k, = }",
            "@article{k title = {x}}",
            &format!("@misc{{k, title = {}", "{".repeat(200_000)),
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        parse("@string{a = b} @string{b = a} @misc{k, title = a}")
            .expect("abbreviations that name each other end");
    }
}
