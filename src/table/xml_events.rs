//! XML of the parts of workbooks as events: elements and texts, without namespaces, comments and
//! declarations. References to entities other than the five of XML are texts as they are written,
//! so that no document grows when it is read. Never panics.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::QName;

/// What follows next in a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum XmlEvent<'a> {
    /// A start tag: local name and attributes. An empty element is followed by its
    /// [`XmlEvent::End`].
    Start(&'a str, Attributes<'a>),
    /// An end tag.
    End(&'a str),
    /// Text between tags.
    Text(Cow<'a, str>),
}

/// The attributes of a start tag.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attributes<'a>(BytesStart<'a>);

impl Attributes<'_> {
    /// The value of an attribute by its name with prefix, `office:value-type`.
    pub fn get_qualified(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.as_ref() == name.as_bytes())
    }

    /// The value of an attribute by its local name.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.local_name().as_ref() == name.as_bytes())
    }

    fn find(&self, is_wanted: impl Fn(QName<'_>) -> bool) -> Option<Cow<'_, str>> {
        let mut all = self.0.attributes();
        let found = all
            .with_checks(false)
            .flatten()
            .find(|attribute| is_wanted(attribute.key))?;
        let written = match found.value {
            Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).ok()?),
        };
        // A value with other references stays as it is written.
        let plain = match unescape(&written) {
            Ok(Cow::Owned(plain)) => Some(plain),
            Ok(Cow::Borrowed(_)) | Err(_) => None,
        };
        Some(plain.map_or(written, Cow::Owned))
    }
}

/// Iterates over the events of a document; ends at its end, or where a tag is not closed.
pub(super) struct XmlEvents<'a> {
    document: &'a str,
    reader: Reader<&'a [u8]>,
    /// Name of an empty element whose end is the next event.
    empty: Option<&'a str>,
}

impl<'a> XmlEvents<'a> {
    pub fn new(document: &'a str) -> Self {
        let mut reader = Reader::from_str(document);
        let config = reader.config_mut();
        // Tags of damaged documents are read as far as they go.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self {
            document,
            reader,
            empty: None,
        }
    }

    /// The local name of the tag at `start`, which is written there after `opening`.
    fn name(&self, start: u64, opening: &str, name: &[u8]) -> Option<&'a str> {
        let from = usize::try_from(start).ok()?.checked_add(opening.len())?;
        let name = self.document.get(from..from.checked_add(name.len())?)?;
        Some(name.rsplit_once(':').map_or(name, |(_, local)| local))
    }
}

impl<'a> Iterator for XmlEvents<'a> {
    type Item = XmlEvent<'a>;

    fn next(&mut self) -> Option<XmlEvent<'a>> {
        if let Some(name) = self.empty.take() {
            return Some(XmlEvent::End(name));
        }
        loop {
            let start = self.reader.buffer_position();
            match self.reader.read_event().ok()? {
                Event::Start(tag) => {
                    return Some(XmlEvent::Start(
                        self.name(start, "<", tag.name().as_ref())?,
                        Attributes(tag),
                    ));
                }
                Event::Empty(tag) => {
                    let name = self.name(start, "<", tag.name().as_ref())?;
                    self.empty = Some(name);
                    return Some(XmlEvent::Start(name, Attributes(tag)));
                }
                Event::End(tag) => {
                    return Some(XmlEvent::End(self.name(
                        start,
                        "</",
                        tag.name().as_ref(),
                    )?));
                }
                Event::Text(text) => return Some(XmlEvent::Text(text.decode().ok()?)),
                Event::CData(text) => return Some(XmlEvent::Text(text.decode().ok()?)),
                Event::GeneralRef(reference) => {
                    return Some(XmlEvent::Text(resolve_reference(&reference)?.into()));
                }
                Event::Eof => return None,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }
}

/// The text that replaces a reference: its character where XML itself defines it, else the
/// reference as it is written.
fn resolve_reference(reference: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character.into());
    }
    let name = reference.decode().ok()?;
    Some(resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> String {
        let event = |event| match event {
            XmlEvent::Start(name, attributes) => {
                format!("<{name} r={}>", attributes.get("r").unwrap_or_default())
            }
            XmlEvent::End(name) => format!("</{name}>"),
            XmlEvent::Text(text) => text.into_owned(),
        };
        XmlEvents::new(document).map(event).collect()
    }

    #[test]
    fn elements_texts_and_references_are_read() {
        let document = "<?xml version=\"1.0\"?><!DOCTYPE a><x:a q='1' r:r=\"2>&#xE9;\"><!-- <b> \
            --><c/>&lt;&#233;&amp;&nope;<![CDATA[<&>]]></x:a>";
        assert_eq!(shown(document), "<a r=2>é><c r=></c><é&&nope;<&></a>");
    }

    #[test]
    fn damaged_documents_end() {
        for document in [
            "<a",
            "<a r=\"",
            "<!--",
            "</a",
            "<",
            "&",
            "<a r=><b r='1",
            "é<",
        ] {
            assert!(XmlEvents::new(document).count() < 4, "{document}");
        }
    }
}
