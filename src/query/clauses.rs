//! The clauses of a statement, found among its tokens, and edits of its text that keep its places. Pure text.

use std::collections::BTreeMap;
use std::ops::Range;

use super::sql_dialect::{Kind, Rewritten, Token, tokens};

/// Words that end what stands in FROM.
const AFTER_FROM: [&str; 14] = [
    "where",
    "group",
    "having",
    "qualify",
    "window",
    "order",
    "limit",
    "offset",
    "union",
    "except",
    "intersect",
    "fetch",
    "using",
    "tablesample",
];

/// Words that begin a clause or end a condition, beside those.
const CLAUSES: [&str; 7] = ["select", "from", "on", "then", "else", "when", "end"];

/// Words of conditions and lists that are no names.
pub(super) const NO_NAMES: [&str; 22] = [
    "and",
    "or",
    "not",
    "is",
    "null",
    "in",
    "like",
    "ilike",
    "between",
    "case",
    "when",
    "then",
    "else",
    "end",
    "distinct",
    "true",
    "false",
    "as",
    "cast",
    "interval",
    "date",
    "timestamp",
];

/// A token that is neither blank nor a comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// Its place among the tokens.
    pub at: usize,
    pub kind: Kind,
    pub text: &'a str,
    /// Brackets around it.
    pub depth: usize,
}

/// A statement as pieces; asking beyond its end is no error.
pub(super) struct Clauses<'a> {
    pub tokens: Vec<Token<'a>>,
    pub pieces: Vec<Piece<'a>>,
}

impl<'a> Clauses<'a> {
    pub fn new(sql: &'a str) -> Self {
        let tokens = tokens(sql);
        let mut pieces = Vec::with_capacity(tokens.len());
        let mut depth = 0usize;
        for (at, (kind, text)) in tokens.iter().enumerate() {
            if *kind == Kind::Space || text.starts_with("--") || text.starts_with("/*") {
                continue;
            }
            if *kind == Kind::Mark && [")", "]", "}"].contains(text) {
                depth = depth.saturating_sub(1);
            }
            pieces.push(Piece { at, kind: *kind, text, depth });
            if *kind == Kind::Mark && ["(", "[", "{"].contains(text) {
                depth += 1;
            }
        }
        Self { tokens, pieces }
    }

    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn text(&self, piece: usize) -> &'a str {
        self.pieces.get(piece).map_or("", |piece| piece.text)
    }

    /// True for this keyword or mark.
    pub fn is(&self, piece: usize, wanted: &str) -> bool {
        self.pieces.get(piece).is_some_and(|piece| piece.kind != Kind::Closed && piece.text.eq_ignore_ascii_case(wanted))
    }

    pub fn is_any(&self, piece: usize, wanted: &[&str]) -> bool {
        wanted.iter().any(|wanted| self.is(piece, wanted))
    }

    /// True for a word, or a name in quotes.
    pub fn is_name(&self, piece: usize) -> bool {
        self.pieces.get(piece).is_some_and(|piece| piece.kind == Kind::Word || piece.text.starts_with('"'))
    }

    pub fn depth(&self, piece: usize) -> usize {
        self.pieces.get(piece).map_or(0, |piece| piece.depth)
    }

    /// The bracket that closes the one here.
    pub fn closing(&self, open: usize) -> Option<usize> {
        (open + 1..self.len()).find(|at| self.depth(*at) == self.depth(open))
    }

    /// The first piece from `start` on that `ends` at this depth, or that is outside of its brackets; else the end.
    pub fn until(&self, start: usize, depth: usize, ends: impl Fn(usize) -> bool) -> usize {
        let over = |at: &usize| self.depth(*at) < depth || (self.depth(*at) == depth && (self.is(*at, ";") || ends(*at)));
        (start..self.len()).find(over).unwrap_or(self.len())
    }

    /// The statement's own text of some pieces.
    pub fn typed(&self, pieces: Range<usize>) -> String {
        let (Some(first), Some(last)) = (self.pieces.get(pieces.start), self.pieces.get(pieces.end.wrapping_sub(1))) else {
            return String::new();
        };
        self.tokens.get(first.at..=last.at).unwrap_or_default().iter().map(|(_, text)| *text).collect()
    }

    /// True for the FROM of a SELECT, not that of IS DISTINCT FROM or EXTRACT.
    pub fn is_from(&self, at: usize) -> bool {
        // Looked for only where there is a FROM: a list of thousands of values has as many pieces before each of them.
        if !self.is(at, "from") || self.is(at.wrapping_sub(1), "distinct") {
            return false;
        }
        let of_extract = self.depth(at) > 0
            && (0..at)
                .rev()
                .find(|before| self.depth(*before) < self.depth(at))
                .is_some_and(|open| self.is_any(open.wrapping_sub(1), &["extract", "substring", "trim", "overlay"]));
        !of_extract
    }

    /// Where the tables of a FROM end.
    pub fn end_of_from(&self, from: usize) -> usize {
        self.until(from + 1, self.depth(from), |at| self.is_any(at, &AFTER_FROM) && !self.is(at + 1, "("))
    }

    /// True where a clause begins, or a branch of a CASE.
    pub fn is_clause(&self, at: usize) -> bool {
        self.is_any(at, &AFTER_FROM) || self.is_any(at, &CLAUSES)
    }

    /// The conditions that AND joins among these pieces; outer brackets are taken off.
    pub fn conditions(&self, mut within: Range<usize>) -> Vec<Range<usize>> {
        while self.is(within.start, "(") && self.closing(within.start) == Some(within.end.wrapping_sub(1)) {
            within = within.start + 1..within.end - 1;
        }
        let depth = self.depth(within.start);
        let (mut found, mut start, mut cases, mut between) = (Vec::new(), within.start, 0usize, false);
        for at in within.clone().filter(|at| self.depth(*at) == depth) {
            if self.is(at, "or") && cases == 0 {
                return vec![within];
            }
            if self.is(at, "case") {
                cases += 1;
            } else if self.is(at, "end") {
                cases = cases.saturating_sub(1);
            } else if self.is(at, "between") {
                between = true;
            } else if self.is(at, "and") && cases == 0 && !std::mem::take(&mut between) {
                found.push(start..at);
                start = at + 1;
            }
        }
        found.push(start..within.end);
        found
    }
}

/// Changes of a statement's text, by its tokens.
#[derive(Default)]
pub(super) struct Edits {
    before: BTreeMap<usize, String>,
    after: BTreeMap<usize, String>,
    /// Tokens from here up to there, and what stands instead.
    instead: BTreeMap<usize, (usize, String)>,
}

impl Edits {
    pub fn before(&mut self, token: usize, text: &str) {
        self.before.entry(token).or_default().push_str(text);
    }

    pub fn after(&mut self, token: usize, text: &str) {
        self.after.entry(token).or_default().push_str(text);
    }

    /// What stands for the tokens of some pieces.
    pub fn replace(&mut self, clauses: &Clauses, pieces: Range<usize>, text: impl Into<String>) {
        if let (Some(first), Some(last)) = (clauses.pieces.get(pieces.start), clauses.pieces.get(pieces.end.wrapping_sub(1))) {
            self.instead.insert(first.at, (last.at + 1, text.into()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty() && self.instead.is_empty()
    }

    /// The changed text of some tokens.
    pub fn applied_to(&self, tokens: &[Token], within: Range<usize>) -> Option<String> {
        let (mut out, mut at) = (String::new(), within.start);
        while at < within.end {
            match self.instead.get(&at) {
                Some((end, instead)) => {
                    out.push_str(instead);
                    at = *end;
                }
                None => {
                    out.push_str(tokens.get(at)?.1);
                    at += 1;
                }
            }
        }
        Some(out)
    }

    /// The changed text, with the byte at which every token came from.
    pub fn applied(&self, tokens: &[Token]) -> Rewritten {
        let mut out = String::new();
        let mut pieces = Vec::with_capacity(tokens.len());
        let (mut at, mut byte) = (0, 0);
        while let Some((_, text)) = tokens.get(at) {
            out.push_str(self.before.get(&at).map_or("", String::as_str));
            pieces.push((out.len(), byte));
            let end = match self.instead.get(&at) {
                Some((end, instead)) => {
                    out.push_str(instead);
                    *end
                }
                None => {
                    out.push_str(text);
                    at + 1
                }
            };
            byte += tokens[at..end].iter().map(|(_, text)| text.len()).sum::<usize>();
            for token in at..end {
                out.push_str(self.after.get(&token).map_or("", String::as_str));
            }
            at = end;
        }
        Rewritten { text: out, pieces }
    }
}
