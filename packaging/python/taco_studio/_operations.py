"""The operations of the studio as functions, made of the list that the library has."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Callable

from . import _taco_studio


class Output:
    """What an operation did.

    ``value`` is the output as ``taco-studio`` prints it with ``--json``; ``output["path"]`` reads a field of it. ``summary`` is one line,
    ``sound`` is false when the user should look at the details, and ``warnings`` are those of the work.
    """

    def __init__(self, name: str, answer: dict):
        self.name = name
        self.value = answer["output"]
        self.summary = answer["summary"]
        self.sound = answer["sound"]
        self.warnings = answer["warnings"]

    def __getitem__(self, key):
        return self.value[key]

    def __iter__(self):
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self.name}: {self.summary}>"


def _plain(value):
    """Paths and NumPy numbers in the fields of a request."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (set, tuple)):
        return list(value)
    raise TypeError(f"a request has no {type(value).__name__}")


def _fields(request: dict) -> list:
    """Names and schemas of the fields of a request, required ones first, in the order of the type."""
    found: dict = {}
    required: list = []

    def gather(schema: dict) -> None:
        if "$ref" in schema:
            gather(request["$defs"][schema["$ref"].rsplit("/", 1)[1]])
        for name, field in schema.get("properties", {}).items():
            found.setdefault(name, field)
        required.extend(name for name in schema.get("required", []) if name not in required)
        for keyword in ("allOf", "anyOf", "oneOf"):
            alternatives = schema.get(keyword, [])
            for part in alternatives:
                before = len(required)
                gather(part)
                if keyword != "allOf" and len(alternatives) > 1:
                    del required[before:]

    gather(request)
    return sorted(found.items(), key=lambda field: field[0] not in required), required


def _text_of(description: dict, fields: list) -> str:
    lines = [description["purpose"], "", "Fields of the request:"]
    for name, schema in fields:
        text = " ".join(schema.get("description", "").split())
        lines.append(f"    {name}: {text}" if text else f"    {name}")
    lines += ["    progress: called with (stage, done, total, bytes) while it works", "", "Returns an Output; raises TacoError."]
    return "\n".join(lines)


def _function(description: dict) -> Callable[..., Output]:
    name = description["name"]
    fields, required = _fields(description["request"])
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = []
    for field, schema in fields:
        # The dataset comes first and needs no keyword, also where its field has a default.
        is_first = field in required or (field in ("input", "source") and not parameters)
        default: Any = inspect.Parameter.empty if is_first else schema.get("default")
        parameters.append(inspect.Parameter(field, positional if is_first else keyword, default=default))
    parameters.append(inspect.Parameter("progress", keyword, default=None))
    signature = inspect.Signature(parameters, return_annotation=Output)

    def function(*arguments, **keywords) -> Output:
        given = signature.bind(*arguments, **keywords).arguments
        progress = given.pop("progress", None)
        answer = _taco_studio.run_operation(name, json.dumps(given, default=_plain), progress)
        return Output(name, json.loads(answer))

    function.__name__ = function.__qualname__ = name
    function.__module__ = "taco_studio"
    function.__doc__ = _text_of(description, fields)
    function.__signature__ = signature
    return function


FUNCTIONS = {description["name"]: _function(description) for description in json.loads(_taco_studio.operations())}
