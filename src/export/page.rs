//! The data card as a self-contained HTML page without scripts, fonts or tile servers. Text of the
//! dataset is escaped.

use super::Described;
use super::card::{Block, blocks, split_urls};
use super::map::{MAP_STYLE, escape_html};
use crate::error::Result;
use crate::jobs::JobContext;

/// The HTML page.
pub(super) fn html(described: &Described<'_>, ctx: &JobContext) -> Result<String> {
    let mut body = String::new();
    if let Some(link) = described.studio_link() {
        body.push_str(&format!(
            "<p><a href=\"{}\">Open in Taco Studio</a></p>\n",
            escape_html(&link.to_string())
        ));
    }
    for block in blocks(described, ctx)? {
        match block {
            Block::Heading(depth, heading) => {
                body.push_str(&format!("<h{depth}>{}</h{depth}>\n", escape_html(&heading)))
            }
            Block::Text(text) => body.push_str(&rich(&text)),
            Block::List(items) => {
                let items: String = items
                    .iter()
                    .map(|item| format!("<li>{}</li>\n", link_urls(item)))
                    .collect();
                body.push_str(&format!("<ul>\n{items}</ul>\n"));
            }
            Block::Code(code) => body.push_str(&format!("<pre>{}</pre>\n", escape_html(&code))),
            Block::Map(map) => {
                body.push_str(&format!(
                    "<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n",
                    map.svg,
                    escape_html(&map.caption)
                ));
            }
            Block::Table(rows) => {
                body.push_str("<div class=\"wide\"><table>\n");
                for (at, row) in rows.iter().enumerate() {
                    let tag = if at == 0 { "th" } else { "td" };
                    let cells: String = row
                        .iter()
                        .map(|cell| format!("<{tag}>{}</{tag}>", link_urls(cell)))
                        .collect();
                    body.push_str(&format!("<tr>{cells}</tr>\n"));
                }
                body.push_str("</table></div>\n");
            }
        }
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
            name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>{STYLE}{MAP_STYLE}</style>\n</head>\n<body>\n{body}</body>\n\
            </html>\n",
        escape_html(described.title())
    ))
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem \
    auto;padding:0 1rem;color:#1c1d20}\
h1,h2,h3{line-height:1.25}.wide{overflow-x:auto}table{border-collapse:collapse}\
th,td{border:1px solid #ccc;padding:.25rem \
    .5rem;text-align:left;vertical-align:top}th{background:#f5f5f2}\
pre{background:#f4f4f4;padding:1rem;overflow-x:auto;white-space:pre-wrap}figure{margin:0}\
    svg{width:100%;height:auto}\
figcaption{color:#5f636b;font-size:.9rem}a{color:#1b5ca8}";

/// Escapes text and turns URLs into links.
fn link_urls(text: &str) -> String {
    let mut out = String::new();
    for (text, address) in split_urls(text) {
        out.push_str(&escape_html(text));
        if !address.is_empty() {
            out.push_str(&format!("<a href=\"{0}\">{0}</a>", escape_html(address)));
        }
    }
    out
}

/// Converts a description to HTML: paragraphs, headings and lists of Markdown; other markup is
/// escaped.
fn rich(text: &str) -> String {
    let mut page = HtmlText::default();
    for line in text.lines().map(str::trim) {
        let item = ["- ", "* ", "• "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        let heading = line
            .strip_prefix('#')
            .map(|rest| rest.trim_start_matches('#').trim())
            .filter(|rest| !rest.is_empty());
        match (line, item, heading) {
            ("", ..) => page.close_blocks(),
            (_, _, Some(heading)) => {
                page.close_blocks();
                page.html
                    .push_str(&format!("<h3>{}</h3>\n", inline(heading)));
            }
            (_, Some(item), _) => {
                if !page.paragraph.is_empty() {
                    page.close_blocks();
                }
                page.items.push(item);
            }
            (line, None, None) => {
                if !page.items.is_empty() {
                    page.close_blocks();
                }
                page.paragraph.push(line);
            }
        }
    }
    page.close_blocks();
    page.html
}

/// HTML, with the lines of a paragraph and the items of a list that may go on.
#[derive(Default)]
struct HtmlText<'a> {
    html: String,
    paragraph: Vec<&'a str>,
    items: Vec<&'a str>,
}

impl HtmlText<'_> {
    fn close_blocks(&mut self) {
        if !self.paragraph.is_empty() {
            self.html.push_str(&format!(
                "<p>{}</p>\n",
                inline(&std::mem::take(&mut self.paragraph).join(" "))
            ));
        }
        if !self.items.is_empty() {
            let lines: String = std::mem::take(&mut self.items)
                .iter()
                .map(|item| format!("<li>{}</li>\n", inline(item)))
                .collect();
            self.html.push_str(&format!("<ul>\n{lines}</ul>\n"));
        }
    }
}

/// `**bold**` and `` `code` `` within a line; URLs become links.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        // Every second part is between two delimiters, unless the last one is unbalanced.
        let closed = at % 2 == 1 && text.split('`').count() > at + 1;
        if closed {
            out.push_str(&format!("<code>{}</code>", escape_html(part)));
            continue;
        }
        if at % 2 == 1 {
            out.push('`');
        }
        let pieces: Vec<&str> = part.split("**").collect();
        for (index, piece) in pieces.iter().enumerate() {
            match index % 2 == 1 {
                true if pieces.len() > index + 1 => {
                    out.push_str(&format!("<strong>{}</strong>", link_urls(piece)))
                }
                true => out.push_str(&format!("**{}", link_urls(piece))),
                false => out.push_str(&link_urls(piece)),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_keeps_its_form_and_nothing_becomes_markup() {
        let html = rich(
            "# Scenes\nTwo **dates** of `B04`\nand <b>more</b>.\n\n- one\n- two **open\n\nSee \
                https://a.example/x?a=1&b=2.",
        );
        assert_eq!(
            html,
            "<h3>Scenes</h3>\n<p>Two <strong>dates</strong> of <code>B04</code> and \
                &lt;b&gt;more&lt;/b&gt;.</p>\n\
             <ul>\n<li>one</li>\n<li>two **open</li>\n</ul>\n\
             <p>See <a \
                href=\"https://a.example/x?a=1&amp;b=2\">https://a.example/x?a=1&amp;b=2</a>.</p>\n"
        );
        assert_eq!(inline("a ` b"), "a ` b");
    }
}
