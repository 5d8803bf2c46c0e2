"""Prints the type stubs of the module `taco_studio`, which is on PYTHONPATH: its classes as they are written, its operations by their
requests."""

import ast
import inspect
import json
import sys

import taco_studio
from taco_studio import _operations

HEAD = '''"""Types of the module; written by the test that compares them."""

import os
from typing import Any, Callable, Literal, Sequence

Path = str | os.PathLike[str]
Progress = Callable[[str, int, int | None, int], object]
'''

TABLE = '''
class TacoError(Exception):
    kind: str
    place: str | None
    hints: list[str]

class Table:
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> Any: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    def to_pyarrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...

def allow_connect() -> None: ...
def allow_programs() -> None: ...
'''


def type_of(schema, request):
    """The type of a field."""
    if schema is True or not schema:
        return "Any"
    if "$ref" in schema:
        return type_of(request["$defs"][schema["$ref"].rsplit("/", 1)[1]], request)
    if "const" in schema:
        return f'Literal["{schema["const"]}"]' if isinstance(schema["const"], str) else "Any"
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{value}"' if value is not None else "None" for value in schema["enum"]) + "]"
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            types = dict.fromkeys(type_of(part, request) for part in schema[keyword])
            return "Any" if "Any" in types else " | ".join(types)
    kinds = schema.get("type", [])
    names = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            items = schema.get("items")
            names.append(f"Sequence[{type_of(items, request)}]" if items else "Sequence[Any]")
        else:
            simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict[str, Any]"}
            names.append(simple[kind])
    return " | ".join(names) or "Any"


def operation(description):
    request = description["request"]
    fields, required = _operations._fields(request)
    function = taco_studio.__dict__[description["name"]]
    parts, named = [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            parts.append("*")
            named = True
        if name == "progress":
            parts.append("progress: Progress | None = None")
            continue
        schema = dict(fields)[name]
        is_path = name in ("input", "source", "output", "target", "folder", "collection", "metadata")
        kind = type_of(schema, request)
        kind = kind.replace("str", "Path") if is_path and kind in ("str", "str | None") else kind
        parts.append(f"{name}: {kind}" if name in required or not named else f"{name}: {kind} = ...")
    lines = ",\n    ".join(parts)
    return f"def {description['name']}(\n    {lines},\n) -> Output: ...\n"


def class_of(node):
    """A class without the bodies of its methods."""
    lines = [f"class {node.name}:"]
    for item in node.body:
        if not isinstance(item, ast.FunctionDef) or item.name in ("__init__", "__repr__"):
            continue
        lines += [f"    @{ast.unparse(decorator)}" for decorator in item.decorator_list]
        item.body, item.decorator_list = [ast.Expr(ast.Constant(...))], []
        lines += ["    " + line for line in ast.unparse(item).replace(":\n    ...", ": ...").splitlines()]
    return "\n".join(lines) + "\n"


def function_of(node):
    node.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(node).replace(":\n    ...", ": ...") + "\n"


def written(module):
    """Classes and functions of a module, as they are written."""
    found = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            found.append(class_of(node))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found.append(function_of(node))
    return found


sys.stdout.reconfigure(encoding="utf-8")
descriptions = json.loads(taco_studio._taco_studio.operations())
parts = [TABLE.strip() + "\n", *written(_operations), *written(taco_studio), *(operation(description) for description in descriptions)]
print(HEAD + "\n" + "\n".join(parts), end="")
