"""TOML files that describe clusters; every mistake is named with its file, line and key."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import RunnerError

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**6)]
GIB = 2**30
Model = TypeVar("Model", bound=BaseModel)
_INNER = {"float", "int", "str", "RateTable", "[key]"}
"""Steps of pydantic's that are no keys of the file."""


class Part(BaseModel):
    """A frozen part of a cluster's description that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClusterFileError(RunnerError):
    """A cluster file that cannot be used."""


def read_text(file: Path) -> str:
    """The text of a file.

    Raises:
        ClusterFileError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterFileError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'not a text'}") from error


def parse_table(place: str, text: str) -> dict[str, Any]:
    """The table of a TOML text; `place` is what it is called in errors.

    Raises:
        ClusterFileError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClusterFileError(f"{place}: {error}") from error


def validated(model: type[Model], place: str, table: Mapping[str, Any], text: str = "") -> Model:
    """What a table describes.

    Raises:
        ClusterFileError: a key or a figure in it is wrong.
    """
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        raise ClusterFileError(_sentence(place, text, error)) from error


def _sentence(place: str, text: str, error: ValidationError) -> str:
    first = error.errors()[0]
    steps = [step for step in first["loc"] if not (isinstance(step, str) and step in _INNER)]
    key = ".".join(str(step) for step in steps) or "the file"
    line = line_of(text, [str(step) for step in steps if isinstance(step, str)])
    where = f"{place}, line {line}" if line else place
    problem = first["msg"].removeprefix("Value error, ").lower()
    if first["type"] == "missing":
        return f"{where}: {key} is missing"
    if first["type"] == "extra_forbidden":
        return f"{where}: {key} is not known here"
    shown = "" if isinstance(first["input"], dict | list | tuple) else f" = {first['input']}"
    return f"{where}: {key}{shown}: {problem.removeprefix('input ')}"


def line_of(text: str, keys: list[str]) -> int | None:
    """The line of a key, or of the table it should be in; None where neither is found."""
    table: list[str] = []
    found = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            if table == keys[: len(table)] and len(table) >= len(keys) - 1:
                found = number
            continue
        key = re.match(r"\s*([\w.\"'+-]+)\s*=", line)
        if key and table + key[1].replace('"', "").split(".") == keys:
            return number
    return found
