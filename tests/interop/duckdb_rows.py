"""Answers statements with DuckDB as long as they come: duckdb_rows.py TABLES [ORDER ...].

TABLES is a JSON file of `[name, statement]` pairs, each made a table in the schema `main`, and for each expression ORDER a table with its
rows in that order in the schemas `order1`, `order2` and so on. Every line of the input is a schema and a statement as JSON, where the
schema `unoptimized` is `main` without DuckDB's optimizer; every line of the output its rows, or the kind and text of the error.
"""

import datetime
import decimal
import json
import math
import re
import sys
import threading
import types

import duckdb


class Utc(datetime.tzinfo):
    """What DuckDB takes of `pytz`, which the environment of the tests does not have."""

    def utcoffset(self, _):
        return datetime.timedelta(0)

    def dst(self, _):
        return datetime.timedelta(0)

    def localize(self, time):
        return time.replace(tzinfo=self)


sys.modules["pytz"] = types.ModuleType("pytz")
sys.modules["pytz"].timezone = lambda _: Utc()
sys.modules["pytz"].utc = Utc()

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
SECONDS_MAX = 20


def plain(value):
    """The value as JSON; what JSON lacks is an object with one letter for the type."""
    if isinstance(value, float):
        if math.isnan(value):
            return {"f": "NaN"}
        if math.isinf(value):
            return {"f": "inf" if value > 0 else "-inf"}
        return value
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            return {"z": (value.astimezone(datetime.timezone.utc).replace(tzinfo=None) - EPOCH) // MICROSECOND}
        return {"t": (value - EPOCH) // MICROSECOND}
    if isinstance(value, datetime.date):
        return {"d": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"i": value // MICROSECOND}
    if isinstance(value, (bytes, bytearray)):
        return {"b": value.hex()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {"s": [[str(name), plain(one)] for name, one in value.items()]}
    return value


def early(value):
    """A date, which is a text before the year 1: `0001-02-29 (BC)` is in the year 0."""
    found = re.fullmatch(r"(\d{4,})-(\d\d)-(\d\d) \(BC\)", value) if isinstance(value, str) else None
    if not found:
        return plain(value)
    year = 1 - int(found[1])
    return {"d": f"{'-' if year < 0 else ''}{abs(year):04}-{found[2]}-{found[3]}"}


def answer(connection, statement):
    limit = threading.Timer(SECONDS_MAX, connection.interrupt)
    limit.start()
    try:
        cursor = connection.execute(statement)
        is_date = [str(column[1]) == "DATE" for column in cursor.description]
        rows = [[early(value) if date else plain(value) for value, date in zip(row, is_date)] for row in cursor.fetchall()]
        return {"rows": rows}
    except duckdb.Error as error:
        return {"kind": type(error).__name__, "error": str(error).split("\n\nLINE")[0]}
    except (OverflowError, ValueError) as error:
        # Times that Python does not have.
        return {"kind": "Unreadable", "error": str(error)}
    finally:
        limit.cancel()


def main(tables, *orders):
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    connection.execute("SET threads = 1")
    # The statistics of Parquet files leave NaN out, and DuckDB decides comparisons by them and passes over row groups: tables in
    # memory have none of them.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    with open(tables, encoding="utf-8") as file:
        tables = json.load(file)
    for name, statement in tables:
        connection.execute(f'CREATE TABLE "{name}" AS {statement}')
    for number, order in enumerate(orders, 1):
        connection.execute(f"CREATE SCHEMA order{number}")
        for name, _ in tables:
            connection.execute(f'CREATE TABLE order{number}."{name}" AS SELECT * FROM "{name}" ORDER BY {order}')
    for line in sys.stdin:
        schema, statement = json.loads(line)
        is_optimized = schema != "unoptimized"
        connection.execute(f"SET schema = '{schema if is_optimized else 'main'}'")
        connection.execute(f"PRAGMA {'enable' if is_optimized else 'disable'}_optimizer")
        print(json.dumps(answer(connection, statement)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
