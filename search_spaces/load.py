"""Spaces from TOML files; every mistake is named with its file and key."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from hpl.sizing import process_grids

from .dimension import DIMENSIONS, Scalar, dimension, ranks_and_threads
from .errors import SpaceError
from .machine import Machine
from .parameter import Parameter, integers
from .restriction import ALWAYS, RESTRICTIONS, Restriction, forbidden
from .space import SearchSpace

KEYS = ("name", "description", "all_blas", "restrictions", "parameters", "forbid", "start")
AUTO, BUDGET = "auto", "budget"
RANGE_KEYS = ("low", "high", "step", "log")


def shipped() -> tuple[str, ...]:
    """Names of the spaces that come with hpltune."""
    return tuple(
        sorted(file.name.removesuffix(".toml") for file in _package().iterdir() if file.name.endswith(".toml"))
    )


def space_text(name: str) -> str:
    """The TOML of a shipped space or of a file.

    Raises:
        SpaceError: there is neither.
    """
    return _text(name)[1]


def describe(name: str) -> str:
    """The one-line description of a space."""
    place, text = _text(name)
    return str(_table(place, text).get("description", ""))


def wants_all_blas(name: str) -> bool:
    """Whether a space compares libraries, so that slow ones belong into it too."""
    place, text = _text(name)
    return _table(place, text).get("all_blas") is True


def load(
    name: str, machine: Machine, overrides: Mapping[str, Sequence[str]] | None = None, text: str | None = None
) -> SearchSpace:
    """The space of a shipped name or a file, on a machine.

    Args:
        overrides: texts of values by parameter; they replace what the file says, or add the parameter.
        text: the TOML, where it is already at hand; `name` is then only what it is called.

    Raises:
        SpaceError: the file cannot be read, a key or value is wrong, or no point is legal; the message names the key.
    """
    place, text = (name, text) if text is not None else _text(name)
    table = _table(place, text)
    _known_keys(place, table, KEYS)
    raw = table.get("parameters", {})
    if not isinstance(raw, dict) or not raw:
        raise SpaceError(f"{place}: [parameters] is missing: expected a table with at least one parameter")
    given = {**_flat(raw), **{name: _override(name, values) for name, values in (overrides or {}).items()}}
    if "N" in (overrides or {}) and "memory_fraction" not in (overrides or {}):
        given.pop("memory_fraction", None)
    layouts = _layouts(given.get("layout", AUTO), machine, place)
    parameters = [_parameter(place, key, value, machine, layouts) for key, value in _ordered(given).items()]
    restrictions = [*ALWAYS, *_restrictions(place, table), *_forbids(place, table)]
    starts = [_flat(start) for start in table.get("start", [])]
    try:
        return SearchSpace(str(table.get("name", place)), machine, [p for p in parameters if p], restrictions, starts)
    except SpaceError as error:
        raise SpaceError(f"{place}: {error}") from error


def _package() -> Any:
    return files(__package__)


def _text(name: str) -> tuple[str, str]:
    """What to call a space in messages, and its TOML."""
    if name in shipped():
        return f"space {name}", (_package() / f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.suffix and not path.exists():
        near = difflib.get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]}?" if near else "give a TOML file or one of these"
        raise SpaceError(f"there is no space {name} (shipped: {', '.join(shipped())}): {hint}")
    try:
        return name, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SpaceError(f"{name} cannot be read: {reason}") from error


def _table(place: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpaceError(f"{place} is not TOML: {error}") from error


def _known_keys(place: str, table: Mapping[str, Any], known: Sequence[str], where: str = "") -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
            raise SpaceError(f"{place}: unknown key {where}{key}: {hint}")


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """`mpi` and `net` are tables in TOML ("mpi.btl = …"); their entries become `mpi.NAME` and `net.NAME`."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in {"mpi", "net"} and isinstance(value, dict):
            found.update({f"{key}.{name}": entry for name, entry in value.items()})
        else:
            found[key] = value
    return found


def _ordered(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in the order of the dimensions, the others behind."""
    order = [name for name in DIMENSIONS if name in given]
    return {name: given[name] for name in (*order, *(name for name in given if name not in order))}


def _parameter(place: str, key: str, value: Any, machine: Machine, layouts: Sequence[str]) -> Parameter | None:
    """The parameter of one entry; None where the entry leaves it to its default."""
    try:
        dimension(key)
        if value == AUTO:
            return _automatic(key, machine, layouts)
        if value == BUDGET and key == "N":
            return None
        if isinstance(value, dict) and "by" in value:
            cases = {case: _values(entry) for case, entry in value.items() if case != "by"}
            return Parameter.depending(key, str(value["by"]), {_scalar(case): entry for case, entry in cases.items()})
        return Parameter(key, _values(value))
    except SpaceError as error:
        raise SpaceError(f"{place}: parameters.{key}: {error}") from error


def _values(value: Any) -> tuple[Scalar, ...]:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        unknown = [key for key in value if key not in RANGE_KEYS]
        if unknown or "low" not in value or "high" not in value:
            raise SpaceError(f"expected a value, a list, or a table with low and high (step, log), not {value}")
        low, high, step = value["low"], value["high"], value.get("step", 1)
        if not all(isinstance(bound, int) for bound in (low, high, step)):
            raise SpaceError("low, high and step must be whole numbers")
        return integers(low, high, step, log=value.get("log", False))
    return (value,)


def _automatic(key: str, machine: Machine, layouts: Sequence[str]) -> Parameter | None:
    """What "auto" means for a parameter on this machine."""
    if key == "blas":
        return Parameter(key, tuple(machine.blas))
    if key == "kernel":
        return Parameter.depending(key, "blas", {name: facts.kernels for name, facts in machine.blas.items()})
    if key == "layout":
        return Parameter(key, tuple(layouts))
    if key == "grid":
        grids = [f"{P}x{Q}" for layout in layouts for P, Q in process_grids(ranks_and_threads(layout)[0])]
        return Parameter(key, tuple(dict.fromkeys(grids)))
    raise SpaceError('"auto" is known for blas, kernel, layout and grid only')


def _layouts(value: Any, machine: Machine, place: str) -> tuple[str, ...]:
    """The layouts of a space: those that fill the cores where it says "auto", single-threaded ones first."""
    if value != AUTO:
        layouts = tuple(str(layout) for layout in (value if isinstance(value, list) else [value]))
        try:
            for layout in layouts:
                ranks_and_threads(layout)
        except SpaceError as error:
            raise SpaceError(f"{place}: parameters.layout: {error}") from error
        return layouts
    threaded = any(facts.threaded for facts in machine.blas.values()) or not machine.blas
    counts = [threads for threads in range(1, machine.cores + 1) if machine.cores % threads == 0]
    return tuple(f"{machine.cores // threads}x{threads}" for threads in counts if threads == 1 or threaded)


def _restrictions(place: str, table: Mapping[str, Any]) -> list[Restriction]:
    names = table.get("restrictions", [])
    for name in names:
        if name not in RESTRICTIONS:
            raise SpaceError(f"{place}: restrictions: unknown name {name}: expected one of {', '.join(RESTRICTIONS)}")
    return [RESTRICTIONS[name] for name in names]


def _forbids(place: str, table: Mapping[str, Any]) -> list[Restriction]:
    found = []
    for number, entry in enumerate(table.get("forbid", []), start=1):
        _known_keys(place, entry, ("when", "because"), f"forbid {number}: ")
        when = entry.get("when")
        if not isinstance(when, dict) or not when or not entry.get("because"):
            raise SpaceError(f"{place}: forbid {number}: expected `when` with parameters and `because` with a sentence")
        cases = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in _flat(when).items()}
        for name in cases:
            dimension(name)
        found.append(forbidden(number, cases, str(entry["because"])))
    return found


def _override(name: str, values: Sequence[str]) -> Any:
    """The values of `--set`, which are texts, as what they look like."""
    dimension(name)
    if list(values) == [AUTO] or list(values) == [BUDGET]:
        return values[0]
    return [_scalar(value) for value in values]


def _scalar(text: str) -> Scalar:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
