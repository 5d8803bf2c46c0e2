"""The records of `packaging/bench --quick` in history.jsonl: which ratios are slower than before, and the picture of the documentation.

    python3 history.py compare   the newest record against those before it: a line for each ratio that is slower
    python3 history.py draw      writes docs/bench.svg

A record has the commit, `"modified": true` where the checkout differs from it, the date (UTC), and the ratios by name: seconds or memory
of the studio, divided by those of a peer that did the same at the same time. Needs the standard library of Python alone.
"""

import argparse
import datetime
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
HISTORY = HERE / "history.jsonl"
PICTURE = TOP / "docs" / "bench.svg"
# A ratio is compared with the median of so many earlier records, and from so many on: the median of fewer is chance.
LAST = 10
LEAST = 3
SLOWER = 1.3


def read(path=HISTORY):
    """The records, the oldest first; none where there is no file."""
    if not path.exists():
        return []
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            record["commit"], record["date"], record["ratios"].items()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f"{path}:{number}: this is no record: {error!r}")
        records.append(record)
    return records


def describe_commit():
    """The commit of the checkout, and whether the checkout differs from it in more than the two files that a run changes itself."""

    def git(*arguments):
        return subprocess.run(["git", "-C", str(TOP), *arguments], check=True, capture_output=True, text=True).stdout.strip()

    written = [f":(exclude){path.relative_to(TOP).as_posix()}" for path in (HISTORY, PICTURE)]
    try:
        commit = {"commit": git("rev-parse", "HEAD")}
        if git("status", "--porcelain", "--", ".", *written):
            commit["modified"] = True
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"the commit is not known ({error}): --no-record runs the bench without a record")
    return commit


def make_record(commit, ratios):
    """A record of this moment, the ratios with four digits."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**commit, "date": now, "ratios": {name: float(f"{ratio:.4g}") for name, ratio in ratios.items()}}


def append(record, path=HISTORY):
    """Adds a record at the end of the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def find_slower(records):
    """The ratios of the newest record that are slower than before: by name the ratio, the median of the last records before it that
    have the name, and how many those are."""
    found = {}
    for name, ratio in records[-1]["ratios"].items() if records else ():
        earlier = [record["ratios"][name] for record in records[:-1] if name in record["ratios"]][-LAST:]
        if len(earlier) >= LEAST and ratio > SLOWER * statistics.median(earlier):
            found[name] = ratio, statistics.median(earlier), len(earlier)
    return found


def compare(records):
    """Prints a warning for each ratio of the newest record that is slower than before."""
    for name, (ratio, median, count) in find_slower(records).items():
        print(f"slower: {name} {figure(ratio)}, median of the last {count}: {figure(median)}", flush=True)


def figure(ratio):
    """A ratio with two decimals, or with two digits where decimals would hide it."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


# --- the picture -----------------------------------------------------------------------------------------------------

COLUMNS, WIDTH, HEIGHT = 3, 324, 126
MARGIN, HEAD = 16, 56
# The area of the lines within a chart.
LEFT, RIGHT, UPPER, LOWER = 36, WIDTH - 22, 48, HEIGHT - 18
# Letters of a name that are sure to fit above its chart.
LETTERS = 42
# Shades in the middle: documents show the picture on white and on black.
STYLE = """
text { font: 11px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #76808d; }
.head { font-size: 15px; font-weight: 600; }
.name { font-size: 12px; font-weight: 600; }
.newest { fill: #2f81f7; font-weight: 600; }
.slower { fill: #d9691e; font-weight: 600; }
.peer { stroke: #76808d; stroke-dasharray: 4 3; }
.line { fill: none; stroke: #2f81f7; stroke-width: 1.6; stroke-linejoin: round; }
""".strip()


def draw(records, path=PICTURE):
    """Writes a small chart for each ratio of the last records, all over the same records and on a logarithmic scale, on which twice as
    slow is as far as twice as fast."""
    # In the order of the newest record; what newer records no longer have is at the end.
    names = list(dict.fromkeys(name for record in reversed(records[-LAST:]) for name in record["ratios"]))
    slower = find_slower(records)
    charts = [draw_chart(at, name, records, name in slower) for at, name in enumerate(names)]
    width = 2 * MARGIN + COLUMNS * WIDTH
    height = HEAD + math.ceil(len(names) / COLUMNS) * HEIGHT + MARGIN
    head = "Taco Studio against its peers: below 1 is faster, or takes less memory"
    if records:
        count = "1 record" if len(records) == 1 else f"{len(records)} records"
        days = " to ".join(dict.fromkeys(record["date"][:10] for record in (records[0], records[-1])))
        below = f"{count}, {days}; the newest in numbers. Logarithmic scales; the dashed line is the peer."
    else:
        below = "No records yet: ./packaging/bench --quick adds one."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(head)}</title>",
        f"<style>{escape(STYLE)}</style>",
        f'<text class="head" x="{MARGIN}" y="24">{escape(head)}</text>',
        f'<text x="{MARGIN}" y="42">{escape(below)}</text>',
        *charts,
        "</svg>",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw_chart(at, name, records, is_slower):
    """The chart of a ratio, at its place among the others."""
    points = [(number, record["ratios"][name]) for number, record in enumerate(records) if name in record["ratios"]]
    ratios = [ratio for _, ratio in points]
    # From the peer to the farthest ratio, and no closer than a half more or less, so that noise looks like noise.
    low, high = min(ratios + [1 / 1.5]), max(ratios + [1.5])

    def x(number):
        return RIGHT - (RIGHT - LEFT) * (len(records) - 1 - number) / max(len(records) - 1, 1)

    def y(ratio):
        return LOWER - (LOWER - UPPER) * math.log(ratio / low) / math.log(high / low)

    what, _, peer = name.rpartition(" / ")
    mark = "slower" if is_slower else "newest"
    last = points[-1]
    lines = [
        f'<g transform="translate({MARGIN + at % COLUMNS * WIDTH} {HEAD + at // COLUMNS * HEIGHT})">',
        f"<title>{escape(name)}</title>",
        f'<text class="name" x="0" y="16">{escape(shorten(what))}</text>',
        f'<text x="0" y="31">/ {escape(shorten(peer))}</text>',
        f'<text class="{mark}" x="{RIGHT}" y="31" text-anchor="end">{figure(last[1])}</text>',
        f'<path class="peer" d="M{LEFT} {y(1):.1f}H{RIGHT}"/>',
        f'<text x="{LEFT - 6}" y="{y(1) + 4:.1f}" text-anchor="end">1</text>',
    ]
    farthest = max(ratios, key=lambda ratio: abs(math.log(ratio)))
    if abs(y(farthest) - y(1)) > 14:
        lines.append(f'<text x="{LEFT - 6}" y="{y(farthest) + 4:.1f}" text-anchor="end">{figure(farthest)}</text>')
    if len(points) > 1:
        steps = " ".join(f"{x(number):.1f},{y(ratio):.1f}" for number, ratio in points)
        lines.append(f'<polyline class="line" points="{steps}"/>')
    lines += [f'<circle class="{mark}" cx="{x(last[0]):.1f}" cy="{y(last[1]):.1f}" r="3"/>', "</g>"]
    return "\n".join(lines)


def shorten(text):
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["compare", "draw"])
    parser.add_argument("--history", type=Path, default=HISTORY, help="another file of records")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="another file to draw to")
    arguments = parser.parse_args()
    records = read(arguments.history)
    if arguments.action == "compare":
        compare(records)
    else:
        draw(records, arguments.picture)


if __name__ == "__main__":
    main()
