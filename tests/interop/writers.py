"""Writes datasets with every release of the official Python writers and checks them with the program.

    writers.py --cache FOLDER --studio PROGRAM [--only NAME[==VERSION]]… [--with oldest|newest|both] [--report FILE] [--jobs N]

Each release is installed without its dependencies into a folder of its own below the cache; `write_release.py` writes its
datasets in a process that has this folder, the other official packages that the release needs, and one of the environments of
third-party packages. `--with` says which of the versions that a release accepts are used for its dependencies: the oldest (what
it was written with), the newest, or both, one after the other. Python 3.11 is needed, as some releases exist only for it.

Of every dataset is checked, against what was given to the writer: that the program opens it, the ids of every level, the bytes
of every file through `read` and through the rows of `query`, places, times and a column of numbers, and that `validate --deep`
finds no error but EARLY-1, the name of an early layout. The verdict of a dataset is `pass`, `findings` (all of it is read, but there are errors among the findings), `FAIL`,
or `not written`. The table is printed as Markdown, a row for each release and container; details go to report.json. The exit code
is 1 when a dataset that was written does not pass.
"""

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent

RELEASES = {
    "tacotoolbox": """0.2.0 0.2.1 0.2.2 0.2.3 0.2.4 0.2.5 0.3.0 0.3.1 0.3.2 0.3.3 0.5.0a0 0.5.0b1 0.5.1 0.5.2 0.7.0 0.7.1 0.7.2 0.7.3 0.7.4
        0.9.0 0.9.5 0.9.6 0.9.7 0.9.9 0.9.10 0.9.11 0.10.0 0.10.1 0.10.2 0.13.0 0.15.0 0.15.1 0.15.2 0.15.3 0.15.4 0.15.5
        0.15.6 0.15.7 0.15.8 0.15.9 0.15.10 0.15.11 0.15.12 0.16.0 0.16.1 0.16.2 0.16.5 0.16.7 0.16.8 0.16.11 0.17.4 0.17.5
        0.17.6 0.17.7 0.17.8 0.17.9 0.18.0a1 0.18.0a3 0.18.0 0.20.1 0.20.2 0.20.3 0.20.4 0.20.5 0.20.6 0.20.7 0.21.0 0.21.1
        0.21.2 0.21.3 0.22.0 0.22.1 0.23.0 0.23.1 0.23.2 0.23.3 0.24.0 0.24.1 0.25.0 0.26.0 0.26.1 0.26.2 0.26.3 0.26.4 0.26.5
        0.26.6 0.26.8 0.26.9""".split(),
    "tacozip": """0.1.0 0.2.0 0.4.0 0.5.0 0.6.0 0.8.1 0.9.0 0.9.2 0.9.6 0.9.9 0.9.10 0.10.0 0.10.2 0.11.4 0.12.0 0.13.0""".split(),
    "pytortilla": """0.0.1 0.0.2 0.0.3 0.0.5 0.1.0a0 0.1.0a1 0.1.0a2 0.1.0a3 0.1.0a4 0.1.0a5 0.1.0a6 0.1.0a7 0.1.0 0.1.1 0.1.2 0.2.0 0.2.1
        0.3.0 0.3.1 0.3.2 0.3.3 0.4.0 0.4.1 0.4.2 0.5.0a0 0.5.0b0 0.5.0b1 0.5.0b2 0.5.0 0.5.1""".split(),
    "tortilla": "0.1.0 0.1.1 0.2.0 0.3.0 0.4.0 0.4.1 0.4.2 0.4.3 0.5.0".split(),
    # Only a dependency, of tacotoolbox 0.24.0 … 0.25.0: the oldest and the newest that they accept.
    "tacoreader": "2.3.0 2.4.21".split(),
}

SKIPPED = {"tortilla": "another project of this name: wrappers of web APIs"}

# Third-party packages by generation: the oldest that the releases accept, and new ones. jinja2 and markdown are not declared by
# tacotoolbox 0.17.5 … 0.26.0, which can't be imported without them.
BASES = {
    ("first", "oldest"): "pandas==2.1.4 geopandas==1.0.1 pyarrow==17.0.0 pydantic==2.10.3 requests==2.32.3 tqdm==4.66.5".split(),
    ("first", "newest"): "pandas==3.1.1 geopandas==1.2.0 pyarrow==26.0.1 pydantic==2.14.4 requests==2.34.2 tqdm==4.70.1".split(),
    ("second", "oldest"): """polars==1.25.2 pyarrow==21.0.0 pydantic==2.10.3 pyproj==3.7.2 shapely==2.1.1 fastavro==1.12.0
        tqdm==4.67.1 duckdb==1.4.4 obstore==0.12.1 platformdirs==4.14.8 numpy==2.4.6 jinja2==3.1.6 markdown==3.11.3""".split(),
    ("second", "newest"): """polars==2.1.0 pyarrow==26.0.1 pydantic==2.14.4 pyproj==3.7.2 shapely==2.2.0 fastavro==1.13.1
        tqdm==4.70.1 duckdb==1.4.4 obstore==0.12.1 platformdirs==4.14.8 numpy==2.4.6 jinja2==3.1.6 markdown==3.11.3""".split(),
}

# What releases of tacotoolbox need beyond what they declare: the argument tortilla_message of pytortilla 0.2.1, the header of
# pytortilla 0.3.0, update_header() of tacozip 0.9.0.
UNDECLARED = [
    ([0, 2, 4], [0, 2, 5], {"pytortilla": ">=0.2.1"}),
    ([0, 3, 0], [0, 3, 0], {"pytortilla": ">=0.3.0"}),
    ([0, 7, 0], [0, 7, 4], {"tacozip": ">=0.9.0"}),
]

CHECKS = ["opens", "ids", "bytes", "fields", "rows", "valid"]
BAD = {"findings", "FAIL"}


def numbers(version):
    """The three numbers of a version; those of 0.5.0 for its pre-release 0.5.0b1."""
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def run(command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)


class Cache:
    """The environments and releases below the folder of --cache, each made once."""

    def __init__(self, folder, python):
        self.folder = folder
        self.python = python
        self.lock = threading.RLock()

    def base(self, generation, age):
        """The Python of an environment of third-party packages."""
        folder = self.folder / "bases" / f"{generation}-{age}"
        python = folder / "bin" / "python"
        packages = BASES[generation, age]
        complete = folder / "complete.json"
        with self.lock:
            if not complete.exists() or json.loads(complete.read_text(encoding="utf-8")) != packages:
                self.make([self.python, "-m", "venv", "--clear", folder])
                self.make([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
                complete.write_text(json.dumps(packages), encoding="utf-8")
        return python

    def release(self, name, version):
        """The folder with this release alone."""
        folder = self.folder / "releases" / f"{name}=={version}"
        with self.lock:
            if not folder.exists():
                python = self.base("second", "newest")
                unfinished = folder.with_name(f"{folder.name}.unfinished")
                options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-compile", "--target", unfinished]
                self.make([python, "-m", "pip", "install", *options, f"{name}=={version}"])
                unfinished.rename(folder)
        return folder

    def make(self, command):
        made = run(command)
        if made.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {made.stderr.strip()[-500:]}")

    def needs(self, name, version):
        """The official packages that the release declares, as (name, condition)."""
        [metadata] = self.release(name, version).glob(f"{name}-*.dist-info/METADATA")
        found = {}
        for line in metadata.read_text(encoding="utf-8").splitlines():
            need = re.fullmatch(r"Requires-Dist: ([\w-]+) ?\(?([^;()]*)\)?", line.strip())
            if need and need[1] in RELEASES:
                found[need[1]] = need[2]
        return found


def accepted(name, condition):
    """The releases of a package that meet a condition like >=0.11.4, from the oldest to the newest."""
    tests = {">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "==": lambda a, b: a == b}
    parts = [re.fullmatch(r"(>=|<|==)([\d.]+)", part.strip()).groups() for part in condition.split(",") if part.strip()]
    final = [one for one in RELEASES[name] if re.fullmatch(r"[\d.]+", one)]
    return [one for one in final if all(tests[sign](numbers(one), numbers(wanted)) for sign, wanted in parts)]


class Plan:
    """One run of write_release.py: a release with the others that it needs."""

    def __init__(self, cache, name, version, age):
        self.name, self.version, self.age = name, version, age
        self.error = None
        self.writer = (name, version)
        self.others = {}
        if name == "tacozip":
            self.writer = ("tacotoolbox", self.writer_for_tacozip(cache, version))
        needs = cache.needs(*self.writer)
        if self.writer[0] == "tacotoolbox":
            needs |= next((need for first, last, need in UNDECLARED if first <= numbers(self.writer[1]) <= last), {})
        for other, condition in needs.items():
            versions = accepted(other, condition)
            self.others[other] = versions[0] if age == "oldest" else versions[-1]
        if name == "tacozip":
            self.others["tacozip"] = version
        first = self.writer[0] == "pytortilla" or numbers(self.writer[1]) < [0, 7]
        self.generation = "first" if first else "second"

    @staticmethod
    def writer_for_tacozip(cache, version):
        """The newest tacotoolbox whose declared dependencies accept this tacozip: a dataset is not made by tacozip alone."""
        for one in reversed(accepted("tacotoolbox", "")):
            declared = cache.needs("tacotoolbox", one)
            if "tacozip" in declared and version in accepted("tacozip", declared["tacozip"]):
                return one
            if "tacozip" not in declared and numbers(one) >= [0, 7]:
                return one
        raise ValueError(f"no tacotoolbox accepts tacozip {version}")

    def label(self):
        used = dict(self.others)
        if self.name == "tacozip":
            del used["tacozip"]
            used = {self.writer[0]: self.writer[1], **used}
        return ", ".join([f"{self.age} dependencies", *(f"{name} {version}" for name, version in used.items())])

    def write(self, cache, folder):
        """Runs the writer; returns its expected.json."""
        paths = [cache.release(*self.writer), *(cache.release(*other) for other in self.others.items())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
        python = cache.base(self.generation, self.age)
        ran = run([python, HERE / "write_release.py", *self.writer, folder], env=environment)
        expected = folder / "expected.json"
        if ran.returncode or not expected.exists():
            error = f"exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"
            return {"error": error, "datasets": [], "notes": [], "stand_ins": []}
        return json.loads(expected.read_text(encoding="utf-8"))


class Check:
    """Checks one dataset with the program. `results` holds for each of CHECKS True, False or None (not checked)."""

    def __init__(self, studio, path, expected):
        self.studio, self.path, self.samples = studio, path, expected
        self.results = dict.fromkeys(CHECKS)
        self.faults = []
        self.findings = {}
        self.results["opens"] = self.opens()
        if self.results["opens"]:
            for name in CHECKS[1:]:
                before = len(self.faults)
                try:
                    getattr(self, name)()
                except (LookupError, OSError, TypeError, ValueError) as error:
                    self.fault(f"{name}: the answer is not of the expected form: {type(error).__name__}: {error}")
                self.results[name] = len(self.faults) == before if self.results[name] is None else self.results[name]

    def verdict(self):
        if not self.faults:
            return "pass"
        return "FAIL" if any(self.results[name] is False for name in CHECKS if name != "valid") else "findings"

    def fault(self, text):
        self.faults.append(text)

    def call(self, *arguments):
        """The program's output, or None and a fault."""
        ran = run([self.studio, *arguments])
        if ran.returncode:
            shown = " ".join(str(one) for one in arguments if one != self.path and not isinstance(one, pathlib.Path))
            self.fault(f"{shown}: {' '.join((ran.stderr or ran.stdout).split())[:400]}")
            return None
        return ran.stdout

    def opens(self):
        return self.call("inspect", self.path, "--json") is not None

    def table(self, *arguments):
        found = self.call(*arguments)
        return None if found is None else [json.loads(line) for line in found.splitlines()]

    def ids(self):
        """The ids of level 0 and of every folder, in their order; keeps the rows of level 0 for fields()."""
        self.level0 = self.walk(self.samples, "")

    def walk(self, samples, above):
        rows = self.table("read", self.path, *([above.rstrip("/")] if above else []), "--format", "json")
        if rows is None:
            return []
        # A folder of the first generation has the column under its own name.
        got, wanted = [row.get("id", row.get("tortilla:id")) for row in rows], [sample["id"] for sample in samples]
        if got != wanted:
            self.fault(f"ids of {above or 'level 0'}: {got}, not {wanted}")
        for sample in samples:
            if "children" in sample and sample["id"] in got:
                self.walk(sample["children"], f"{above}{sample['id']}/")
        return rows

    def bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, (path, sample) in enumerate(files(self.samples)):
                out = pathlib.Path(folder) / str(number)
                if self.call("read", self.path, path, "--out", out) is not None:
                    self.same_bytes(path, out.read_bytes(), sample)

    def same_bytes(self, path, data, sample):
        if hashlib.sha256(data).hexdigest() != sample["sha256"]:
            self.fault(f"bytes of {path} differ ({len(data)} bytes)")

    def fields(self):
        """Places, times and the column of numbers at level 0, where the writer keeps them."""
        if not any("place" in sample or "cloud" in sample for sample in self.samples):
            self.results["fields"] = "none"
            return
        for row, sample in zip(self.level0, self.samples):
            name = sample["id"]
            if "place" in sample:
                self.near(f"place of {name}", point(row.get("stac:centroid")), sample["place"])
                times = [seconds(row.get("stac:time_start")), seconds(row.get("stac:time_end"))]
                self.near(f"times of {name}", times, sample["times"])
            if "cloud" in sample:
                self.near(f"cloud of {name}", [row.get("cloud")], [sample["cloud"]])

    def near(self, what, got, wanted):
        if not got or None in got or any(abs(one - other) > 1e-6 for one, other in zip(got, wanted)):
            self.fault(f"{what}: {got}, not {wanted}")

    def rows(self):
        """The rows of every level in SQL: ids and types, and the bytes where internal:gdal_vsi points."""
        for level, samples in enumerate(levels(self.samples)):
            rows = self.table("query", self.path, "--sql", f"SELECT * FROM level{level}", "--json")
            if rows is None:
                continue
            got = collections.Counter((row["id"], row["type"], digest_at(row)) for row in rows)
            kinds = ["FOLDER" if "children" in sample else "FILE" for sample in samples]
            wanted = collections.Counter((sample["id"], kind, sample.get("sha256")) for sample, kind in zip(samples, kinds))
            if got != wanted:
                self.fault(f"rows of level{level}: {sorted(got - wanted, key=str)}, not {sorted(wanted - got, key=str)}"[:600])

    def valid(self):
        ran = run([self.studio, "validate", "--deep", "--json", self.path])
        try:
            findings = json.loads(ran.stdout)["findings"]
        except (ValueError, KeyError):
            self.fault(f"validate --deep --json: {(ran.stderr or ran.stdout).strip()[:400]}")
            return
        for finding in findings:
            self.findings[finding["rule"]] = finding["severity"]
            # EARLY-1 names a layout that today's official readers refuse; the program reads it.
            if finding["severity"] == "error" and finding["rule"] != "EARLY-1":
                self.fault(f"{finding['rule']} at {finding['at']}: {finding['message']}"[:500])


def files(samples, above=""):
    for sample in samples:
        if "children" in sample:
            yield from files(sample["children"], f"{above}{sample['id']}/")
        else:
            yield above + sample["id"], sample


def levels(samples):
    while samples:
        yield samples
        samples = [child for sample in samples for child in sample.get("children", [])]


def digest_at(row):
    """The SHA-256 of the bytes of a FILE row where internal:gdal_vsi points; None for a FOLDER."""
    if row["type"] != "FILE":
        return None
    place = row.get("internal:gdal_vsi")
    if place is None:
        return "no place"
    part = re.fullmatch(r"/vsisubfile/(\d+)_(\d+),(.*)", place)
    data = pathlib.Path(part[3] if part else place).read_bytes()
    return hashlib.sha256(data[int(part[1]) :][: int(part[2])] if part else data).hexdigest()


def point(value):
    """Longitude and latitude of a point in WKT or hexadecimal WKB."""
    if not value:
        return None
    if text := re.fullmatch(r"POINT ?\((\S+) (\S+)\)", value):
        return [float(text[1]), float(text[2])]
    return list(struct.unpack("<dd", bytes.fromhex(value)[5:21]))


def seconds(value):
    """Seconds since 1970 of a number of seconds or a text in UTC."""
    if isinstance(value, str):
        time = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        return (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)).timestamp()
    return value


def run_plan(plan, cache, studio, folder):
    """Writes and checks the datasets of one plan."""
    written = plan.write(cache, folder)
    notes = [f"stand-in for {name}" for name in written["stand_ins"]] + written["notes"]
    result = {"release": f"{plan.name} {plan.version}", "with": plan.label(), "notes": notes, "datasets": []}
    if "error" in written:
        result["error"] = written["error"]
    for dataset in written["datasets"]:
        entry = {"name": dataset["name"], "container": dataset["container"]}
        if "error" in dataset:
            entry |= {"error": dataset["error"], "verdict": "not written"}
        else:
            check = Check(studio, folder / dataset["path"], dataset["samples"])
            entry |= {"path": str(folder / dataset["path"]), "verdict": check.verdict(), "checks": check.results}
            entry |= {"faults": check.faults, "findings": check.findings}
        result["datasets"].append(entry)
    return result


def lines_of(result):
    """Rows of the table: one for each container of a release."""
    start = [result["release"], result["with"]]
    if reason := result.get("skipped") or result.get("error"):
        verdict = "skipped" if "skipped" in result else "not written"
        yield [*start, "", "0", *[""] * len(CHECKS), verdict, "; ".join([reason, *result.get("notes", [])])]
    by_container = {}
    for dataset in result["datasets"]:
        by_container.setdefault(dataset["container"], []).append(dataset)
    for container, datasets in by_container.items():
        written = [dataset for dataset in datasets if "error" not in dataset]
        cells = []
        for name in CHECKS:
            found = [dataset["checks"][name] for dataset in written]
            checked = [one for one in found if one not in (None, "none")]
            cells.append(f"{sum(checked)}/{len(found)}" if checked or None in found else "")
        verdicts = collections.Counter(dataset["verdict"] for dataset in datasets)
        verdict = "pass" if set(verdicts) == {"pass"} else ", ".join(f"{count} {name}" for name, count in verdicts.items())
        findings = sorted({(code, severity) for dataset in written for code, severity in dataset["findings"].items()})
        notes = [f"{code} ({severity})" for code, severity in findings]
        notes += dict.fromkeys(dataset["error"][:200] for dataset in datasets if "error" in dataset)
        yield [*start, container, f"{len(written)}/{len(datasets)}", *cells, verdict, "; ".join([*notes, *result["notes"]])]


def print_table(results):
    heads = ["release", "with", "container", "wrote", *CHECKS, "verdict", "findings and reasons"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for result in results:
        for line in lines_of(result):
            print(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |")
    counts = collections.Counter(dataset["verdict"] for result in results for dataset in result["datasets"])
    print(f"\nDatasets: {', '.join(f'{count} {name}' for name, count in counts.most_common()) or 'none'}.")
    releases = {result["release"] for result in results}
    wrote = {result["release"] for result in results if any("checks" in dataset for dataset in result["datasets"])}
    failed = {result["release"] for result in results if any(dataset["verdict"] in BAD for dataset in result["datasets"])}
    skipped = {result["release"] for result in results if "skipped" in result}
    print(
        f"Releases: {len(releases)}; {len(wrote)} wrote datasets, of which {len(wrote - failed)} pass with all and {len(failed)} "
        f"do not; {len(skipped)} skipped; {len(releases - wrote - skipped)} wrote nothing."
    )


def wanted(only, name, version):
    return not only or name in only or f"{name}=={version}" in only


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="the folder of environments, releases and datasets")
    parser.add_argument("--studio", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--only", action="append", default=[], metavar="NAME[==VERSION]", help="only these; can be repeated")
    ages = ["oldest", "newest", "both"]
    parser.add_argument("--with", dest="ages", choices=ages, default="both", help="versions of dependencies")
    parser.add_argument("--python", default=sys.executable, help="the Python 3.11 of the environments")
    parser.add_argument("--report", type=pathlib.Path, default=pathlib.Path("report.json"), help="the file of all details")
    parser.add_argument("--jobs", type=int, default=1, help="releases at one time")
    options = parser.parse_args()

    cache = Cache(options.cache.resolve(), options.python)
    studio = options.studio.resolve()
    ages = ["oldest", "newest"] if options.ages == "both" else [options.ages]
    names = ("pytortilla", "tacotoolbox", "tacozip", "tortilla")
    releases = [(name, version) for name in names for version in RELEASES[name]]
    chosen = [release for release in releases if wanted(options.only, *release)]
    if not chosen:
        parser.error(f"no such release: {', '.join(options.only)}")

    def work(job):
        name, version, age = job
        if name in SKIPPED:
            return {"release": f"{name} {version}", "with": "", "datasets": [], "skipped": SKIPPED[name]}
        plan = Plan(cache, name, version, age)
        result = run_plan(plan, cache, studio, cache.folder / "datasets" / f"{name}-{version}-{age}")
        verdicts = collections.Counter(dataset["verdict"] for dataset in result["datasets"])
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        print(f"{name} {version} ({age}): {counts or result.get('error')}", file=sys.stderr)
        return result

    # A release of tacozip is written with once; its oldest companions are those of its time.
    jobs = [(name, version, age) for name, version in chosen for age in (ages[:1] if name in ("tacozip", "tortilla") else ages)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(work, jobs))
    print_table(results)
    options.report.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return any(dataset["verdict"] in BAD for result in results for dataset in result["datasets"])


if __name__ == "__main__":
    sys.exit(main())
