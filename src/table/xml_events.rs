//! XML of the parts of workbooks as events: elements and texts, without namespaces, comments and declarations. References to entities
//! other than the five of XML are texts as they are written, so that no document grows when it is read. Never panics.

use std::borrow::Cow;

/// What follows next in a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum XmlEvent<'a> {
    /// A start tag: local name and the text of its attributes. An empty element is followed by its [`XmlEvent::End`].
    Start(&'a str, Attributes<'a>),
    /// An end tag.
    End(&'a str),
    /// Text between tags.
    Text(Cow<'a, str>),
}

/// The attributes of a start tag as they are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Attributes<'a>(&'a str);

impl<'a> Attributes<'a> {
    /// The value of an attribute by its local name.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.0;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            let (value, after) = after.get(1..)?.split_once(quote)?;
            if local_name(key.trim()) == name {
                return Some(without_references(value));
            }
            rest = after;
        }
    }
}

/// Iterates over the events of a document; ends at its end, or where a tag is not closed.
pub(super) struct XmlEvents<'a> {
    rest: &'a str,
    /// Name of an empty element whose end is the next event.
    empty: Option<&'a str>,
}

impl<'a> XmlEvents<'a> {
    pub fn new(document: &'a str) -> Self {
        Self { rest: document, empty: None }
    }

    /// Skips what is behind `opening` up to and including `closing`, and returns it.
    fn section(&mut self, opening: &str, closing: &str) -> Option<&'a str> {
        let (inside, after) = self.rest.strip_prefix(opening)?.split_once(closing)?;
        self.rest = after;
        Some(inside)
    }
}

impl<'a> Iterator for XmlEvents<'a> {
    type Item = XmlEvent<'a>;

    fn next(&mut self) -> Option<XmlEvent<'a>> {
        if let Some(name) = self.empty.take() {
            return Some(XmlEvent::End(name));
        }
        loop {
            let start = self.rest.find('<').unwrap_or(self.rest.len());
            if start > 0 {
                let (text, rest) = self.rest.split_at(start);
                self.rest = rest;
                return Some(XmlEvent::Text(without_references(text)));
            }
            if self.section("<!--", "-->").is_some() || self.section("<?", "?>").is_some() {
                continue;
            }
            if let Some(text) = self.section("<![CDATA[", "]]>") {
                return Some(XmlEvent::Text(Cow::Borrowed(text)));
            }
            if self.section("<!", ">").is_some() {
                continue;
            }
            if let Some(name) = self.section("</", ">") {
                return Some(XmlEvent::End(local_name(name.trim())));
            }
            let tag = self.tag()?;
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, attributes) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
            let name = local_name(name);
            self.empty = is_empty.then_some(name);
            return Some(XmlEvent::Start(name, Attributes(attributes)));
        }
    }
}

impl<'a> XmlEvents<'a> {
    /// The inside of the start tag at the cursor; `>` may be in quotes.
    fn tag(&mut self) -> Option<&'a str> {
        let inside = self.rest.strip_prefix('<')?;
        let mut quote = None;
        for (at, byte) in inside.bytes().enumerate() {
            match (quote, byte) {
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'>') => {
                    self.rest = inside.get(at + 1..)?;
                    return inside.get(..at);
                }
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
        }
        None
    }
}

/// A name without its namespace.
fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// A text with the characters that its references name.
fn without_references(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        match after.split_once(';').and_then(|(name, after)| Some((referenced(name)?, after))) {
            Some((character, after)) => {
                plain.push(character);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn referenced(name: &str) -> Option<char> {
    match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => {}
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> String {
        let event = |event| match event {
            XmlEvent::Start(name, attributes) => format!("<{name} r={}>", attributes.get("r").unwrap_or_default()),
            XmlEvent::End(name) => format!("</{name}>"),
            XmlEvent::Text(text) => text.into_owned(),
        };
        XmlEvents::new(document).map(event).collect()
    }

    #[test]
    fn elements_texts_and_references_are_read() {
        let document = "<?xml version=\"1.0\"?><!DOCTYPE a><x:a q='1' r:r=\"2>&#xE9;\"><!-- <b> --><c/>&lt;&#233;&amp;&nope;<![CDATA[<&>]]></x:a>";
        assert_eq!(shown(document), "<a r=2>é><c r=></c><é&&nope;<&></a>");
    }

    #[test]
    fn damaged_documents_end() {
        for document in ["<a", "<a r=\"", "<!--", "</a", "<", "&", "<a r=><b r='1", "é<"] {
            assert!(XmlEvents::new(document).count() < 4, "{document}");
        }
    }
}
