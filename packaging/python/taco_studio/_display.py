"""How datasets and samples show themselves in a notebook: HTML that needs no server."""

from __future__ import annotations

import base64
import html
import itertools
import os
import urllib.parse

from ._taco_studio import TacoError

#: Samples of level 0, or children, that are shown.
SHOWN = 12
#: Columns and rows of a thumbnail.
SIDE = 96

_CELL = "display:inline-block;margin:4px;text-align:center;vertical-align:top;max-width:120px;overflow:hidden;font-size:11px"


def _image(kind: str, content: bytes, size: str = "") -> str:
    return f'<img src="data:{kind};base64,{base64.b64encode(content).decode()}" {size}>'


def _first_picture(sample):
    """The picture of a FILE, or of the first raster below a FOLDER; None where there is none."""
    if sample.kind == "FILE":
        return _picture(sample, SIDE)
    return next((picture for picture in map(_first_picture, itertools.islice(sample, 4)) if picture), None)


def _picture(sample, side: int):
    """The picture of a FILE; None for a file that is no raster."""
    try:
        return sample.picture(side)
    except TacoError:
        return None


def _thumbnails(samples, count: int) -> str:
    cells = []
    for sample in samples:
        picture = _first_picture(sample)
        shown = _image("image/png", picture) if picture else "▪"
        cells.append(f'<div style="{_CELL}">{shown}<br>{html.escape(sample.id)}</div>')
    more = f"<div>and {count - len(cells)} more</div>" if count > len(cells) else ""
    return "".join(cells) + more


def _link(dataset) -> str:
    """A link that opens the dataset in the window, which asks first."""
    place = dataset.description["path"]
    if "://" not in place:
        place = os.path.abspath(place)
    address = "taco-studio://open?" + urllib.parse.urlencode({"path": place}, quote_via=urllib.parse.quote)
    return f'<p><a href="{html.escape(address)}">Open in Taco Studio</a></p>'


def dataset(dataset) -> str:
    """Title, levels, map and the first samples."""
    seen = dataset.description
    title = dataset.collection.get("title") or dataset.collection.get("id") or seen["path"]
    levels = "".join(
        f"<tr><td>level{level['level']}</td><td>{level['rows']}</td>"
        f"<td style='text-align:left'>{html.escape(', '.join(column['name'] for column in level['columns']))}</td></tr>"
        for level in seen["levels"]
    )
    table = f"<table><tr><th>table</th><th>rows</th><th>columns</th></tr>{levels}</table>"
    map_image = dataset.map()
    map_shown = _image("image/svg+xml", map_image.encode(), 'style="max-width:480px"') if map_image else ""
    first = [dataset[position] for position in range(min(SHOWN, len(dataset)))]
    size = seen.get("size_bytes")
    facts = f"{html.escape(str(seen['format']))}, {len(dataset)} samples" + (f", {size / 1e6:.1f} MB" if size else "")
    return f"<b>{html.escape(str(title))}</b><br>{facts}{table}{map_shown}<div>{_thumbnails(first, len(dataset))}</div>{_link(dataset)}"


def sample(sample) -> str:
    """A picture of a FILE, or the children of a FOLDER."""
    head = f"<b>{html.escape(sample.id)}</b> ({sample.kind}, level {sample.level})"
    if sample.kind == "FOLDER":
        children = [sample[position] for position in range(min(SHOWN, len(sample)))]
        return f"{head}<div>{_thumbnails(children, len(sample))}</div>"
    picture = _picture(sample, 256)
    return f"{head}<br>{_image('image/png', picture)}" if picture else head
