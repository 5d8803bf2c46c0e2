"""Compares a data card with the page that the official tool generates for the same collection: every text of that page about the
dataset must be in the card. Prints one line per missing text, with exit code 1.

    card.py COLLECTION OURS.html          COLLECTION.json, TACOLLECTION.json, or a ZIP with one
"""

import html.parser
import json
import pathlib
import re
import sys
import tempfile
import types
import zipfile

# The tool renders descriptions with this package; its fallback is sufficient here.
sys.modules.setdefault("markdown", types.ModuleType("markdown"))

# Texts about the page itself, not the dataset. As the page says, there are no readers for R and Julia yet.
FURNITURE = re.compile(
    r"Back to Catalogue|TACO DATASET DOCUMENTATION|None|—|No description|Dataset Overview|partitions|temporal coverage|Keywords|ML Tasks"
    r"|Click on any region.*|TACO Structure.*|Hierarchy Details|Level|Types|Total Samples|Sample IDs \(preview\)|Root level samples"
    r"|Metadata Fields by Level|These fields are available.*|Field Name|Type|Description|Loading the Dataset|Data Providers|Data Curators"
    r"|Curators|Name|Organization|Email|Publications & Citations|How to Cite This Dataset|If you use this dataset.*|BibTeX|Generated with.*"
    r"|No publications.*|No description provided\.|Hierarchical structure showing.*|Providers & Curators|Dataset Curators|Spatial Coverage",
)


class Texts(html.parser.HTMLParser):
    """The texts of a page, without code."""

    def __init__(self):
        super().__init__()
        self.hidden, self.texts = 0, []

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style", "title", "pre", "nav", "button", "footer")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "title", "pre", "nav", "button", "footer")

    def handle_data(self, data):
        text = " ".join(data.split())
        if text and not self.hidden:
            self.texts.append(text)


def texts(page):
    parser = Texts()
    parser.feed(page)
    return parser.texts


def collection_of(path):
    path = pathlib.Path(path)
    if path.suffix == ".json":
        return json.loads(path.read_text())
    if path.is_dir():
        return json.loads((path / "COLLECTION.json").read_text())
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("COLLECTION.json"))


def main():
    from tacotoolbox.docs import generate_html

    collection = collection_of(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        given, page = pathlib.Path(folder, "COLLECTION.json"), pathlib.Path(folder, "index.html")
        given.write_text(json.dumps(collection))
        generate_html(given, page)
        official = texts(page.read_text())
    ours = " ".join(texts(pathlib.Path(sys.argv[2]).read_text()))
    plain = lambda text: re.sub(r"[\s,…]+", " ", text).replace("...", "").strip()  # noqa: E731
    ours = plain(ours)
    missing = []
    for text in official:
        if FURNITURE.fullmatch(text):
            continue
        # "2001 - 2003" is the years of the extent; "LEVEL0 (9 fields)" the head of a table.
        years = re.fullmatch(r"(\d{4}) - (\d{4})", text)
        head = re.fullmatch(r"LEVEL(\d+) \((\d+) fields\)", text)
        version = re.fullmatch(r"v(\S+)", text)
        if years:
            parts = years.groups()
        elif head:
            parts = [f"Level {head[1]} ({head[2]} fields)"]
        elif version:
            parts = [version[1]]
        else:
            parts = [text.replace(",", "") if re.fullmatch(r"[\d,]+", text) else text]
        missing.extend(part for part in parts if plain(part) not in ours)
    print(f"{len(official)} texts, {len(missing)} missing")
    for text in missing:
        print("missing:", text)
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
