"""What the benches share: how much each measures, and the report of what they find."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class CreateCase:
    """A flat folder of files of one size, and how much faster than the toolbox a dataset has to be made of it."""

    title: str
    files: int
    size: int
    times_faster: float


@dataclass(frozen=True)
class Sizes:
    """How much each bench measures."""

    repeats: int
    # Queries and the opening of a table take milliseconds, which vary more.
    short_repeats: int
    create: tuple[CreateCase, ...]
    # Bytes that a run of `create` reads, writes and caches at most, with a margin.
    memory_touched: int
    opened_rows: int
    draft_samples: int
    rasters: int
    zips: int
    # Numbers of ZIPs whose peak memory is compared.
    grown_zips: tuple[int, ...]
    queried_rows: int
    preview_side: int
    preview_repeats: int
    preview_turns: int
    idle_seconds: float


COMPLETE = Sizes(
    repeats=3,
    short_repeats=5,
    create=(
        CreateCase("50,000 files of 1 KiB", 50_000, 1024, 20.0),
        CreateCase("20,000 files of 64 KiB", 20_000, 65_536, 4.0),
    ),
    memory_touched=4 << 30,
    opened_rows=1_000_000,
    draft_samples=1_000_000,
    rasters=500,
    zips=200,
    grown_zips=(200, 2000),
    queried_rows=5_000_000,
    preview_side=10_980,
    preview_repeats=1,
    preview_turns=15,
    idle_seconds=60.0,
)
# Chosen so that the whole takes less than five minutes on two cores. Another size is another ratio: its name has the size, and its
# history begins anew.
QUICK = Sizes(
    repeats=5,
    short_repeats=11,
    create=(
        CreateCase("5,000 files of 1 KiB", 5000, 1024, 20.0),
        CreateCase("2,000 files of 64 KiB", 2000, 65_536, 4.0),
    ),
    memory_touched=1 << 30,
    opened_rows=100_000,
    draft_samples=100_000,
    rasters=40,
    zips=50,
    grown_zips=(),
    queried_rows=500_000,
    # About half of the complete side: the overview that is read has the same size.
    preview_side=5460,
    preview_repeats=5,
    preview_turns=5,
    idle_seconds=0.0,
)


class Report:
    """Prints what the benches find. A complete run has seconds, memory and limits, and `missed` names the limits that are exceeded. A
    quick one has ratios alone, which `ratios` keeps by name: its sizes have no limits, and seconds say nothing on another machine."""

    def __init__(self, is_quick):
        self.is_quick = is_quick
        self.missed = []
        self.ratios = {}

    def print_figures(self, line):
        """Prints seconds and memory."""
        if not self.is_quick:
            print(line)

    def check_limit(self, what, value, side, limit):
        """Prints whether a value is within its limit."""
        if self.is_quick:
            return
        met = value <= limit if side == "at most" else value >= limit
        print(f"  {'ok  ' if met else 'MISS'} {what}: {value:.2f} ({side} {limit:g})", flush=True)
        if not met:
            self.missed.append(what)

    def compare_runs(self, name, ours, theirs):
        """The median of the ratios of runs in pairs: both of a pair share what else the machine does meanwhile."""
        if not self.is_quick:
            return
        assert len(ours) == len(theirs), name
        self.ratios[name] = statistics.median(own / other for own, other in zip(ours, theirs))
        print(f"  {self.ratios[name]:7.3f}  {name}", flush=True)


def take_turns(contestants, turn):
    """The contestants in the order of this turn, which every other turn reverses: nobody always runs after the same other."""
    return contestants if turn % 2 == 0 else contestants[::-1]
