"""Types of the module; written by the test that compares them."""

import os
from typing import Any, Callable, Literal, Sequence

Path = str | os.PathLike[str]
Progress = Callable[[str, int, int | None, int], object]

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

class Output:
    def __getitem__(self, key): ...
    def __iter__(self): ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

class Sample:
    @property
    def _native(self) -> _taco_studio.Sample: ...
    def __reduce__(self): ...
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def level(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def gdal_path(self) -> str: ...
    @property
    def raster_info(self) -> dict: ...
    def ids(self) -> list: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __getitem__(self, key) -> 'Sample': ...
    def __iter__(self): ...
    def picture(self, side=256) -> bytes: ...
    def _repr_html_(self) -> str: ...
    def read(self) -> bytes: ...
    def window(self, bands=None, box=None, size=None, resampling='nearest', masked=False): ...

class Dataset:
    @property
    def _native(self) -> _taco_studio.Dataset: ...
    def __reduce__(self): ...
    @property
    def description(self) -> dict: ...
    @property
    def collection(self) -> dict: ...
    @property
    def levels(self) -> int: ...
    def table(self, level: int=0) -> Table: ...
    def sql(self, text=None, *, box=None, datetime=None, where=None, level=0, filters=(), limit=None, progress=None) -> Table: ...
    def map(self): ...
    def show(self) -> None: ...
    def _repr_html_(self) -> str: ...
    def ids(self) -> list: ...
    def rows(self) -> list: ...
    def sample(self, level: int, row: int) -> Sample: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key) -> Sample: ...
    def __iter__(self): ...

def open(path, *, base_path=None, with_=(), mode=None, progress=None) -> Dataset: ...

def inspect(
    input: Path,
    *,
    open: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def query(
    input: Path,
    *,
    open: dict[str, Any] = ...,
    filters: Sequence[dict[str, Any]] = ...,
    steps: Sequence[str] = ...,
    sql: str | None = ...,
    limit: int | None = ...,
    progress: Progress | None = None,
) -> Output: ...

def validate(
    input: Path,
    *,
    open: dict[str, Any] = ...,
    deep: bool = ...,
    tog: bool = ...,
    profile: Literal["spec"] | Literal["tools"] = ...,
    rules: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def stats(
    input: Path,
    *,
    open: dict[str, Any] = ...,
    level: int | None = ...,
    positions: Sequence[str] = ...,
    filter: str | None = ...,
    bbox: Sequence[float] | None = ...,
    datetime: str | None = ...,
    exact: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def leakage(
    input: Path,
    *,
    open: dict[str, Any] = ...,
    level: int | None = ...,
    column: str = ...,
    min_overlap: float = ...,
    days: float = ...,
    progress: Progress | None = None,
) -> Output: ...

def create(
    source: Path,
    *,
    collection: Path | None = ...,
    metadata: Path | None = ...,
    key: str | None = ...,
    fill_missing: bool = ...,
    pad_to: Sequence[str] = ...,
    align_schema: bool = ...,
    sidecars: Literal["leave"] | Literal["pack"] | Literal["burn-in"] = ...,
    layout: Any = ...,
    exclude: Sequence[str] = ...,
    catalogue: dict[str, Any] = ...,
    options: dict[str, Any] = ...,
    first_generation: Sequence[Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def extend(
    input: Path,
    calls: Sequence[dict[str, Any]],
    options: dict[str, Any],
    *,
    open: dict[str, Any] = ...,
    replace: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def convert(
    input: Path,
    options: dict[str, Any],
    *,
    open: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def repair(
    input: Path,
    options: dict[str, Any],
    *,
    open: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def export(
    input: Path,
    options: dict[str, Any],
    *,
    open: dict[str, Any] = ...,
    filters: Sequence[dict[str, Any]] = ...,
    sql: str | None = ...,
    ids: Sequence[str] | None = ...,
    limit: int | None = ...,
    keep_padding: bool = ...,
    keep_siblings: bool = ...,
    prefix_ids: bool = ...,
    allow_missing_parts: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def compile(
    input: Path,
    options: dict[str, Any],
    *,
    allow_missing_parts: bool = ...,
    filters: Sequence[dict[str, Any]] = ...,
    sql: str | None = ...,
    ids: Sequence[str] | None = ...,
    limit: int | None = ...,
    progress: Progress | None = None,
) -> Output: ...

def edit_tortilla(
    input: Path,
    *,
    output: Path | None = ...,
    overwrite: bool = ...,
    metadata: Path | None = ...,
    key: str | None = ...,
    drop: Sequence[str] = ...,
    level: int = ...,
    collection: dict[str, Any] | None = ...,
    set: dict[str, Any] = ...,
    become_generation: Literal["tortilla"] | Literal["taco"] | None = ...,
    progress: Progress | None = None,
) -> Output: ...

def edit_dataset(
    input: Path,
    *,
    output: Path | None = ...,
    overwrite: bool = ...,
    level: int = ...,
    metadata: Path | None = ...,
    key: str | None = ...,
    drop: Sequence[str] = ...,
    collection: dict[str, Any] | None = ...,
    set: dict[str, Any] = ...,
    parquet: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def describe(
    input: Path,
    form: Literal["stac"] | Literal["geoparquet"] | Literal["stac-geoparquet"] | Literal["croissant"] | Literal["datacite"] | Literal["markdown"] | Literal["html"] | Literal["training"],
    output: Path,
    *,
    open: dict[str, Any] = ...,
    url: str | None = ...,
    level: int | None = ...,
    overwrite: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def migrate(
    input: Path,
    *,
    options: dict[str, Any] | None = ...,
    fields: Sequence[dict[str, Any]] = ...,
    collection: dict[str, Any] = ...,
    fill_missing: bool = ...,
    keep_ids: bool = ...,
    allow_missing_parts: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def prepare_taco3(
    input: Path,
    *,
    target: Path | None = ...,
    overwrite: bool = ...,
    lacking: Literal["placeholder"] | Literal["leave_out"] = ...,
    collection: dict[str, Any] = ...,
    on_damage: Literal["stop"] | Literal["keep"] = ...,
    allow_missing_parts: bool = ...,
    run: dict[str, Any] | None = ...,
    progress: Progress | None = None,
) -> Output: ...

def optimise(
    input: Path,
    output: Path,
    *,
    open: dict[str, Any] = ...,
    tog: dict[str, Any] = ...,
    format: Literal["zip"] | Literal["folder"] | Literal["tacocat"] | Literal["tacocatfile"] | Literal["tacollection"] | Literal["joined"] | Literal["tortilla"] | Literal["taco"] | Literal["taco3"] | Literal["early"] | None = ...,
    parquet: dict[str, Any] = ...,
    stream: bool = ...,
    again: bool = ...,
    variable: str | None = ...,
    overwrite: bool = ...,
    on_damage: Literal["stop"] | Literal["keep"] = ...,
    text_columns: bool = ...,
    align_blocks: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def histograms(
    input: Path,
    output: Path,
    *,
    open: dict[str, Any] = ...,
    scale: Literal["dataset"] | Literal["band"] = ...,
    overwrite: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def percentiles(
    input: Path,
    percents: Sequence[float],
    *,
    filters: Sequence[dict[str, Any]] = ...,
    sql: str | None = ...,
    ids: Sequence[str] | None = ...,
    limit: int | None = ...,
    each: bool = ...,
    histogram: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def publish(
    input: Path,
    target: Path,
    *,
    open: dict[str, Any] = ...,
    layout: Literal["store"] | Literal["hugging-face"] | Literal["zenodo"] | Literal["source-cooperative"] = ...,
    repository: str | None = ...,
    url: str | None = ...,
    overwrite: bool = ...,
    accept: Sequence[Literal["tools-rules"] | Literal["spec-rules"] | Literal["licence"] | Literal["providers"] | Literal["description"] | Literal["extent"] | Literal["columns"] | Literal["statistics"] | Literal["classes"] | Literal["paths"] | Literal["user-names"] | Literal["credentials"] | Literal["private-links"] | Literal["emails"] | Literal["leakage"] | Literal["names"] | Literal["sizes"] | Literal["tables"] | Literal["target"] | Literal["version"] | Literal["cost"]] = ...,
    prices: dict[str, Any] = ...,
    progress: Progress | None = None,
) -> Output: ...

def consolidate(
    options: dict[str, Any],
    *,
    progress: Progress | None = None,
) -> Output: ...

def submit_plan(
    folder: Path,
    engine: dict[str, Any],
    tries: int,
    *,
    program: str | None = ...,
    relocate: Sequence[Sequence[Any]] = ...,
    parts_only: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def run_plan_part(
    folder: Path,
    part: int,
    *,
    again: bool = ...,
    relocate: Sequence[Sequence[Any]] = ...,
    progress: Progress | None = None,
) -> Output: ...

def finish_plan(
    folder: Path,
    *,
    hashes: bool = ...,
    progress: Progress | None = None,
) -> Output: ...

def remote_cache(
    clear: bool,
    *,
    progress: Progress | None = None,
) -> Output: ...

def extensions(
    *,
    progress: Progress | None = None,
) -> Output: ...

def rules(
    *,
    progress: Progress | None = None,
) -> Output: ...
