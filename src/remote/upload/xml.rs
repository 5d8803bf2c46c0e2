//! Elements of the small XML documents that stores answer with.

/// The text between `<name>` and `</name>`.
pub(super) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    elements(xml, name).next()
}

/// The text of each element `name`, in order.
pub(super) fn elements<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (value, after) = after.split_once(&close)?;
        rest = after;
        Some(value)
    })
}

/// Unescapes the characters that XML reserves.
pub(super) fn plain(text: &str) -> String {
    let text = text
        .replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    text.replace("&apos;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_answers() {
        let text = "<R><UploadId>a&amp;b</UploadId><P><N>1</N></P><P><N>2</N></P></R>";
        assert_eq!(element(text, "UploadId").map(plain).as_deref(), Some("a&b"));
        assert_eq!(element(text, "ETag"), None);
        assert_eq!(
            elements(text, "P")
                .filter_map(|part| element(part, "N"))
                .collect::<Vec<_>>(),
            ["1", "2"]
        );
        assert_eq!(elements("<P>1</P><P>2", "P").collect::<Vec<_>>(), ["1"]);
    }
}
