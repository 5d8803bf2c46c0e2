"""Validates exports with the published schemas and validators. Prints one line per error or avoidable warning, with exit code 1.

    catalogues.py stac FOLDER             collection.json and items/*.json, with pystac and its schemas
    catalogues.py geoparquet FILE         with geoparquet-validator
    catalogues.py stac-geoparquet FILE    read back to Items with stac-geoparquet, which pystac then validates
    catalogues.py croissant FILE          with mlcroissant; its warnings count
    catalogues.py datacite FILE           with the JSON schema of DataCite 4.5
    catalogues.py html FILE               with html5lib, which parses by the HTML standard and reports every error
"""

import io
import json
import logging
import os
import pathlib
import sys
import tempfile
import warnings

problems = []


def schemas():
    """Validates a STAC object with the schemas bundled with pystac; those of extensions are online and omitted."""
    import pystac

    def check(document, where):
        kinds = {"Collection": pystac.Collection, "Feature": pystac.Item}
        # Tables keep times and decimals as such, and have a null where an Item lacks a property of others.
        document = json.loads(json.dumps(document, default=str))
        properties = document.get("properties", {})
        document["properties"] = {name: value for name, value in properties.items() if value is not None or name == "datetime"}
        if not properties:
            document.pop("properties")
        extensions = document.get("stac_extensions", [])
        document["stac_extensions"] = []
        try:
            kinds[document["type"]].from_dict(document, migrate=False).validate()
        except Exception as error:
            problems.append(f"{where}: {error}")
        prefixes = {"projection": "proj:", "scientific": "sci:"}
        for extension in extensions:
            name = extension.split("github.io/")[1].split("/")[0]
            fields = {**document, **document.get("properties", {})}
            if not any(key.startswith(prefixes[name]) for key in fields):
                problems.append(f"{where}: {name} is declared and not used")
        used = {name for name, prefix in prefixes.items() for key in {**document, **document.get("properties", {})} if key.startswith(prefix)}
        for name in used:
            if not any(f"/{name}/" in extension for extension in extensions):
                problems.append(f"{where}: {name} is used and not declared")

    return check


def stac(folder):
    check = schemas()
    folder = pathlib.Path(folder)
    collection = json.loads((folder / "collection.json").read_text())
    check(collection, "collection.json")
    for link in collection["links"]:
        if link["rel"] == "item" and not (folder / link["href"]).is_file():
            problems.append(f"collection.json links {link['href']}, which is not there")
    items = sorted((folder / "items").glob("*.json")) if (folder / "items").is_dir() else []
    for path in items:
        check(json.loads(path.read_text()), path.name)
    return f"{len(items)} items"


def geoparquet(path):
    import geoparquet_validator

    import pyarrow.parquet as pq

    report = geoparquet_validator.check(path)
    problems.extend(
        f"{one['id']}: {one['message']}" for one in report["outcomes"] if one["status"] not in ("pass", "skip")
    )

    geo = json.loads(pq.read_schema(path).metadata[b"geo"])
    column = geo["columns"][geo["primary_column"]]
    if geo["version"] != "1.1.0" or "covering" not in column:
        problems.append(f"{path}: {geo}")
    return f"{len(report['outcomes'])} tests"


def stac_geoparquet(path):
    import pyarrow.parquet as pq
    from stac_geoparquet.arrow import stac_table_to_items

    check = schemas()
    table = pq.read_table(path)
    items = list(stac_table_to_items(table))
    for item in items:
        check(item, f"item {item.get('id')}")
    if len(items) != table.num_rows or b"stac-geoparquet" not in table.schema.metadata:
        problems.append(f"{len(items)} items in {table.num_rows} rows")
    return f"{len(items)} items"


def croissant(path):
    # It caches extracted archives by file name only, and would read another dataset of the same name.
    with tempfile.TemporaryDirectory() as kept:
        os.environ["CROISSANT_CACHE"] = kept
        return croissant_alone(path)


def croissant_alone(path):
    from absl import logging as absl_logging

    said = io.StringIO()
    handler = logging.StreamHandler(said)
    absl_logging.get_absl_logger().addHandler(handler)
    absl_logging.set_verbosity(absl_logging.WARNING)
    logging.getLogger().addHandler(handler)
    import mlcroissant

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            dataset = mlcroissant.Dataset(path)
        except Exception as error:
            problems.append(f"{path}: {error}")
            return None
    issues = dataset.metadata.ctx.issues
    problems.extend(sorted(issues.errors) + sorted(issues.warnings))
    problems.extend(line for line in said.getvalue().splitlines() if line.strip())
    problems.extend(str(one.message) for one in caught if "mlcroissant" in str(one.filename))
    for record_set in dataset.metadata.record_sets:
        if record_set.id == "level0":
            next(iter(dataset.records("level0")))
    return f"{len(dataset.metadata.record_sets)} record sets"


def datacite(path):
    import datacite as package
    import jsonschema

    folder = pathlib.Path(package.__file__).parent / "schemas"
    schema = json.loads((folder / "datacite-v4.5.json").read_text())
    resolver = jsonschema.RefResolver(base_uri=folder.as_uri() + "/", referrer=schema)
    validator = jsonschema.Draft7Validator(schema, resolver=resolver)
    for error in validator.iter_errors(json.loads(pathlib.Path(path).read_text())):
        problems.append(f"{'/'.join(map(str, error.path))}: {error.message}")


def html(path):
    import html5lib

    parser = html5lib.HTMLParser()
    page = parser.parse(pathlib.Path(path).read_text())
    for (line, column), name, values in parser.errors:
        problems.append(f"line {line}, column {column}: {name} {values}")
    space = "{http://www.w3.org/1999/xhtml}"
    for name in ("title", "h1", "table", "pre"):
        if page.find(f".//{space}{name}") is None:
            problems.append(f"there is no {name}")
    # No external resources and no scripts.
    for name in ("script", "link", "img", "iframe"):
        if page.find(f".//{space}{name}") is not None:
            problems.append(f"there is a {name}")
    return f"{sum(1 for _ in page.iter())} elements"


def main():
    kinds = {"stac": stac, "geoparquet": geoparquet, "stac-geoparquet": stac_geoparquet, "croissant": croissant, "datacite": datacite, "html": html}
    seen = kinds[sys.argv[1]](sys.argv[2])
    for problem in problems:
        print(problem)
    if not problems:
        print(f"ok: {seen}")
    sys.stdout.flush()
    # Skips the shutdown of library threads, which sometimes aborts the interpreter.
    os._exit(1 if problems else 0)


main()
