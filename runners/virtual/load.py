"""Virtual clusters from TOML files; every mistake is named with its file, line and key."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import RunnerError
from .cluster import VirtualCluster


class ClusterFileError(RunnerError):
    """A cluster file that cannot be used."""


def shipped() -> tuple[str, ...]:
    """Names of the clusters that come with hpltune."""
    return tuple(
        sorted(file.name.removesuffix(".toml") for file in _package().iterdir() if file.name.endswith(".toml"))
    )


def cluster_text(name: str) -> tuple[str, str]:
    """Where a cluster is described, and the TOML: a shipped name, or a file.

    Raises:
        ClusterFileError: there is neither.
    """
    if name in shipped():
        return f"shipped cluster {name}", (_package() / f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.suffix and not path.exists():
        near = difflib.get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"shipped are {', '.join(shipped())}; or name a TOML file"
        raise ClusterFileError(f"there is no cluster {name}: {hint}")
    try:
        return name, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterFileError(f"cannot read {name}: {getattr(error, 'strerror', None) or 'not a text'}") from error


def load_cluster(name: str) -> VirtualCluster:
    """The cluster of a shipped name or of a file.

    Raises:
        ClusterFileError: it cannot be read, or a key or a figure in it is wrong.
    """
    return parse_cluster(*cluster_text(name))


def parse_cluster(place: str, text: str) -> VirtualCluster:
    """The cluster a TOML text describes; `place` is what it is called in errors.

    Raises:
        ClusterFileError: a key or a figure in it is wrong.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClusterFileError(f"{place}: {error}") from error
    return checked_cluster(place, table, text)


def checked_cluster(place: str, table: Mapping[str, Any], text: str = "") -> VirtualCluster:
    """The cluster of a table that is already parsed.

    Raises:
        ClusterFileError: a key or a figure in it is wrong.
    """
    try:
        return VirtualCluster.model_validate(dict(table))
    except ValidationError as error:
        raise ClusterFileError(_sentence(place, text, error)) from error


def _sentence(place: str, text: str, error: ValidationError) -> str:
    first = error.errors()[0]
    steps = [step for step in first["loc"] if not (isinstance(step, str) and step in {"float", "RateTable", "[key]"})]
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


def _package() -> Any:
    return files(__package__) / "clusters"
