"""DuckDB's answers to the statements of a file like tests/fixtures/duckdb/answers.json: compares them with the recorded ones, or
records them with `--record`.

The file has the rows of a table `data`, and statements with their rows. An expression without SELECT is taken for each row.
"""

import datetime
import decimal
import json
import sys

import duckdb

COLUMNS = "id VARCHAR, s VARCHAR, n BIGINT, x DOUBLE, d DATE, t TIMESTAMP, b BOOLEAN"


def plain(value):
    """The value as the studio writes it in JSON."""
    if isinstance(value, datetime.datetime):
        digits = "seconds" if value.microsecond == 0 else "microseconds" if value.microsecond % 1000 else "milliseconds"
        return value.isoformat(timespec=digits)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def statement(text):
    return text if text.upper().startswith(("SELECT", "WITH")) else f"SELECT ({text}) FROM data ORDER BY id"


def answers(content):
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    connection.execute(f"CREATE TABLE data ({COLUMNS})")
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?, ?, ?)", content["data"])
    for text, _ in content["answers"]:
        yield text, [[plain(value) for value in row] for row in connection.execute(statement(text)).fetchall()]


def main(path, record):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    found = list(answers(content))
    if record:
        line = lambda value: json.dumps(value, ensure_ascii=False)
        lists = [",\n".join(line(one) for one in content["data"]), ",\n".join(line(one) for one in found)]
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'{{"data": [\n{lists[0]}\n],\n"answers": [\n{lists[1]}\n]}}\n')
        return 0
    other = [(text, was, rows) for (text, was), (_, rows) in zip(content["answers"], found) if json.dumps(was) != json.dumps(rows)]
    for text, was, rows in other:
        print(f"{text}: recorded {was}, DuckDB {rows}")
    print(f"{len(found)} statements, {len(other)} with another answer, DuckDB {duckdb.__version__}")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--record" in sys.argv[2:]))
