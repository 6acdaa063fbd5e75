"""Loads spaces from TOML files of bounded size; every mistake is named with its file and key, or with its field.

`runners/toml_file.py` reads texts in the same way: the two folders are siblings that never import each other.
"""

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from hpl.blas.registry import CATALOGUE
from hpl.build.toolchain import NAMES
from hpl.params import Scalar
from hpl.programs.terms import HPL_LINES, OWN

from .errors import MistakePlace, SettingError, SpaceError
from .machine import PROGRAM, Machine
from .parameters.automatic import AUTO, automatic, by_program, full_layouts, layouts_by_cores, layouts_by_nodes
from .parameters.dimension import CORES, DIMENSIONS, Dimension, Settings, dimension, shown
from .parameters.parameter import Parameter, converted, values
from .restriction import ALWAYS, RESTRICTIONS, Restriction, forbidden, known_to, of_settings, taken_by
from .space import SIZES, SearchSpace, never_legal

V = TypeVar("V")

KEYS: Mapping[str, tuple[type, str]] = {
    "name": (str, "a text"),
    "description": (str, "a text"),
    "cluster": (str, "the name of a virtual cluster"),
    "all_blas": (bool, "true or false"),
    "restrictions": (list, "a list of names"),
    "parameters": (dict, "a table with at least one parameter"),
    "forbid": (list, "[[forbid]] tables"),
    "start": (list, "[[start]] tables"),
}
BUDGET = "budget"
OF_ENTRIES = frozenset({"low", "high", "by"})
"""Keys that tell a range or cases from the table of a family."""
OWN_OF_PROGRAM = "program"
"""The entry that stands for all parameters that only the program of a machine has."""

LARGEST_BYTES = 2**20
"""Most bytes of a file: a thousand lines take only some tens of kilobytes."""
SHOWN = 20
"""Most values of a decider that a message names."""
DEEPEST = 50
"""Most tables and lists inside each other; a deeper text is no description of a space."""


def shipped() -> tuple[str, ...]:
    """List the names of the spaces that come with hpltune."""
    return tuple(
        sorted(file.name.removesuffix(".toml") for file in _package().iterdir() if file.name.endswith(".toml"))
    )


def space_text(name: str) -> str:
    """Read the TOML text of a shipped space or of a file.

    Raises:
        SpaceError: there is no such space or file.
    """
    return _text(name)[1]


def describe(name: str) -> str:
    """Read the one-line description of a space."""
    place, text = _text(name)
    return str(_table(place, text).get("description", ""))


def made_for(name: str) -> str | None:
    """Read the virtual cluster of a space, as `--cluster` takes it; None for a space for any machine."""
    place, text = _text(name)
    return _table(place, text).get("cluster")


def wants_all_blas(name: str, text: str | None = None) -> bool:
    """Return whether a space compares libraries, so that it also needs slow ones; `text` is as in `load`."""
    place, text = (name, text) if text is not None else _text(name)
    return _table(place, text).get("all_blas") is True


def load(
    name: str,
    machine: Machine,
    overrides: Mapping[str, Sequence[str]] | None = None,
    text: str | None = None,
    settings: Settings | None = None,
) -> SearchSpace:
    """Load a shipped space or a file for a machine.

    Args:
        overrides: values as texts by parameter; they replace those of the file, or add the parameter.
        text: the TOML text if the caller has it; `name` is then only its name in messages.
        settings: those that hosts may have, with their values; None lets somebody else check them.

    Raises:
        SpaceError: the file cannot be read, a key or value (which the message names) is wrong, or no point is legal.
    """
    place, text = (name, text) if text is not None else _text(name)
    table = _table(place, text)
    if table.get("cluster") and machine.more_cores == Machine.more_cores:
        machine = replace(machine, more_cores=f"add ⟦cluster⟧ {table['cluster']}, which this space is made for")
    wished = overrides or {}
    _require_lines(wished, machine)
    given = _without_lacking(_with_own(entries(place, wished, text, settings), wished, machine), machine)
    if all(size in given for size in SIZES):
        raise SpaceError(f"{place}: N and memory_fraction both say how large the matrix is: keep one of them")
    places = {
        key: MistakePlace.of_setting(key) if key in wished else MistakePlace(f"{place}: parameters.{key}")
        for key in given
    }
    parameters = _parameters_here(given, places, machine, settings, as_it_comes=table.get("all_blas") is True)
    for parameter in parameters.values():
        if parameter.by in given:
            listed = parameter.by not in wished and given[parameter.by] != AUTO
            _check_decider(places[parameter.name], parameter, parameters.get(parameter.by), machine, listed=listed)
    broadcasts = parameters["BCAST"].values if "BCAST" in parameters else ()
    of_others = [*taken_by(machine, broadcasts), *of_settings(parameters, machine)]
    known = known_to(machine, [*ALWAYS, *_restrictions(place, table)])
    restrictions = [*known, *of_others, *_forbids(place, table, settings)]
    starts = [_without_lacking(start, machine) for start in _starts(place, table, settings)]
    try:
        return SearchSpace(table.get("name", place), machine, [*parameters.values()], restrictions, starts)
    except SpaceError as error:
        raise SpaceError(f"{place}: {error}") from error


def _lacks(name: str, machine: Machine) -> bool:
    """Return whether a parameter is of HPL.dat or of the size of a matrix, and no program of a machine has it."""
    return machine.terms.lacks("N" if name in SIZES else name)


def _require_lines(wished: Iterable[str], machine: Machine) -> None:
    """Refuse parameters that the programs of a machine do not have.

    Raises:
        SpaceError: the sentence names one.
    """
    for name in wished:
        if _lacks(name, machine):
            lines = [line for line in DIMENSIONS if line in HPL_LINES and not _lacks(line, machine)]
            own = [parameter.point_name for terms in machine.all_terms for parameter in terms.own]
            has = ", ".join(dict.fromkeys(("layout", *lines, *own)))
            raise MistakePlace.of_setting(name).wrong(SpaceError(f"the program has no such parameter (it has: {has})"))


def _without_lacking(given: Mapping[str, V], machine: Machine) -> dict[str, V]:
    """Return the entries without those that the programs of a machine do not have."""
    return {name: entry for name, entry in given.items() if not _lacks(name, machine)}


def _with_own(given: Mapping[str, Any], wished: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    """Return the entries with all that only the programs of a machine have, where `program` is an entry.

    Those are their own parameters, and their own values of BCAST behind those that the space lists. With several
    programs, which one runs is a parameter, too.
    """
    if OWN_OF_PROGRAM not in given and not machine.programs:
        return dict(given)
    others = {key: entry for key, entry in given.items() if key != OWN_OF_PROGRAM}
    if machine.programs:
        others[PROGRAM] = [*machine.programs]
        others.setdefault("blas", AUTO)
        first = {name: full_layouts(seen)[0] for name, seen in machine.programs.items()}
        others.setdefault("layout", {"by": PROGRAM, **first})
    listed, every = others.get("BCAST"), machine.all_terms
    if isinstance(listed, list) and "BCAST" not in wished:
        others["BCAST"] = [*dict.fromkeys((*listed, *(word for terms in every for word in terms.bcasts)))]
    return {**{own.point_name: AUTO for terms in every for own in terms.own}, **others}


def entries(
    name: str, overrides: Mapping[str, Sequence[str]] | None, text: str, settings: Settings | None = None
) -> dict[str, Any]:
    """Read the entry of each parameter in a space and `--set`, in TOML's form; the arguments are as in `load`.

    Raises:
        SpaceError: the text is no TOML, or has an unknown key or name.
    """
    wished = overrides or {}
    given = _flat(_parameters(name, _table(name, text)))
    if any(size in wished for size in SIZES):
        given = {key: value for key, value in given.items() if key not in SIZES}
    return given | {key: _override(key, texts, settings) for key, texts in wished.items()}


def check_overrides(overrides: Mapping[str, Sequence[str]], settings: Settings) -> None:
    """Refuse names and values of `--set` that are illegal on every machine.

    Args:
        settings: those that hosts may have.

    Raises:
        SpaceError: the sentence names the option, and suggests a similar name if there is one.
    """
    for name, texts in overrides.items():
        place, hint = MistakePlace.of_setting(name), _comma_hint(texts)
        try:
            dimension(name, settings)
        except SpaceError as error:
            raise place.wrong(error) from error
        try:
            entry = _override(name, texts, settings)
            if isinstance(entry, list):
                _legal(place, name, entry, settings)
        except SettingError as error:
            raise SettingError(f"{error.sentence}{hint}", field=error.field, given=error.given) from error


def _comma_hint(texts: Sequence[str]) -> str:
    """Say that a comma separates values, where somebody may have meant one number by several."""
    if len(texts) < 2 or not all(text[:1].isdigit() for text in texts):
        return ""
    joined = "".join(texts)
    whole = f"; write {joined} for one number" if joined.isdigit() and all(len(text) == 3 for text in texts[1:]) else ""
    return f" (a comma separates values, so these are {', '.join(texts[:4])}{whole})"


def passed_over(space: SearchSpace, overrides: Mapping[str, Sequence[str]]) -> list[str]:
    """List a sentence for each value of `--set` that no legal point has, and for each rule or start without effect."""
    given = [name for name, texts in overrides.items() if name in space.parameters and list(texts) != [AUTO]]
    return [
        *(f"⟦set.{name}⟧: {sentence}." for name in given for sentence in never_legal(space, name)),
        *(f"Space {space.name}: {sentence}." for sentence in space.idle(overrides)),
    ]


def _package() -> Any:
    return files(__package__)


def _text(name: str) -> tuple[str, str]:
    """Return a space's name for messages, and its TOML text."""
    if name in shipped():
        return f"space {name}", (_package() / f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.suffix and not path.exists():
        near = difflib.get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]}?" if near else "give a TOML file or one of these"
        raise SpaceError(f"there is no space {name} (shipped: {', '.join(shipped())}): {hint}")
    try:
        return name, read_toml(path)
    except (OSError, ValueError) as error:
        raise SpaceError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _table(place: str, text: str) -> dict[str, Any]:
    """Parse the file's table, and check that its keys are known and have the right type."""
    try:
        table = parse_toml(text)
    except SpaceTomlError as error:
        raise SpaceError(f"{place} is not TOML: {error}") from error
    _known(f"{place}: unknown key", table, KEYS)
    for key, value in table.items():
        kind, expected = KEYS[key]
        if not isinstance(value, kind):
            raise SpaceError(f"{place}: {key}: expected {expected}, not {value}")
    return table


def _known(what: str, names: Iterable[object], known: Collection[str]) -> None:
    """Refuse unknown names, and suggest the nearest known one."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
            raise SpaceError(f"{what} {name}: {hint}")


def _parameters(place: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    if not table.get("parameters"):
        raise SpaceError(f"{place}: [parameters] is missing: expected a table with at least one parameter")
    found: Mapping[str, Any] = table["parameters"]
    return found


def _tables(place: str, table: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    """List the tables of a [[key]] list, each with its name for messages."""
    found = [(f"{place}: {key} {number}", entry) for number, entry in enumerate(table.get(key, []), start=1)]
    for where, entry in found:
        if not isinstance(entry, dict):
            raise SpaceError(f"{where}: expected a table, not {entry}")
    return found


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the table of each family in TOML ("mpi.btl = …") to parameters FAMILY.NAME."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        of_settings = isinstance(value, dict) and key not in DIMENSIONS and OF_ENTRIES.isdisjoint(value)
        if isinstance(value, dict) and (key in {"mpi", OWN_OF_PROGRAM} or of_settings):
            found.update({f"{key}.{name}": entry for name, entry in value.items()})
        else:
            found[key] = value
    return found


def _ordered(given: Mapping[str, Any]) -> list[str]:
    """Sort parameters in the order of the dimensions, with unknown ones last."""
    order = [name for name in DIMENSIONS if name in given]
    return [*order, *(name for name in given if name not in order)]


def _parameters_here(
    given: Mapping[str, Any],
    places: Mapping[str, MistakePlace],
    machine: Machine,
    settings: Settings | None,
    *,
    as_it_comes: bool,
) -> dict[str, Parameter]:
    """Make the parameters for a machine by name, without those that keep their default."""
    order = _ordered(given)
    found: dict[str, Parameter] = {}
    for key in sorted(order, key=lambda name: (name == "grid", name != CORES)):
        if key == "layout" and given[key] == AUTO and "nodes_dropped" in found:
            found[key] = layouts_by_nodes(found["nodes_dropped"], machine)
            continue
        if given[key] == AUTO and machine.programs and (parameter := by_program(key, machine)) is not None:
            found[key] = parameter
            continue
        if key == "layout" and given[key] == AUTO and CORES in found and found[CORES].by is None:
            found[key] = layouts_by_cores(found[CORES], machine)
            continue
        layouts = full_layouts(machine) if key == "layout" else _layouts(found, machine)
        try:
            known = dimension(key, settings)
            if key.startswith(OWN):
                known = _of_program(key, machine)
            if given[key] == AUTO:
                parameter = automatic(key, machine, layouts, as_it_comes=as_it_comes)
            else:
                parameter = _parameter(key, given[key], known, settings)
                if key.startswith(OWN) and machine.programs and parameter is not None:
                    # Only points of programs have it whose own it is.
                    owners = [name for name, seen in machine.programs.items() if seen.terms.parameter(key)]
                    parameter = Parameter.depending(key, PROGRAM, dict.fromkeys(owners, parameter.values), known)
        except SpaceError as error:
            raise places[key].wrong(error) from error
        if parameter is not None:
            found[key] = parameter
    return {key: found[key] for key in order if key in found}


def _parameter(key: str, entry: Any, known: Dimension, settings: Settings | None) -> Parameter | None:
    """Make the parameter of an entry; None if the entry keeps the default."""
    if entry == BUDGET and key == "N":
        return None
    if isinstance(entry, dict) and "by" in entry:
        return _depending(key, entry, known, settings)
    return Parameter(key, values(entry), known=known)


def _of_program(key: str, machine: Machine) -> Dimension:
    """Return what is known of a parameter that only the machine's program has.

    Raises:
        SpaceError: it has none of this name.
    """
    owners = [own for terms in machine.all_terms if (own := terms.parameter(key)) is not None]
    if not owners:
        known = ", ".join(own.point_name for terms in machine.all_terms for own in terms.own) or "none"
        raise SpaceError(f"the program has no such parameter of its own (it has: {known})")
    own = owners[0]
    if any((other.expected, other.default) != (own.expected, own.default) for other in owners):
        raise SpaceError("two programs mean another thing by it: give each a study of its own, and compare them")
    return Dimension(own.expected, own.accepts, lambda _point, _machine: own.default)


def _check_decider(
    place: MistakePlace, parameter: Parameter, decider: Parameter | None, machine: Machine, *, listed: bool
) -> None:
    """Refuse a decider whose value only the budget gives, and cases that never happen: they would never be tried.

    Args:
        decider: the parameter on which the other depends, with its values on this machine.
        listed: whether the space itself lists the decider's values. Otherwise the machine or the command line decides
            them, a case may be for another machine or command line, and only misspelt names are refused.
    """
    if decider is None:
        chosen = f"{parameter.name} depends on {parameter.by}, whose value the budget chooses"
        raise place.wrong(f"{chosen}: give {parameter.by} its values as numbers")
    elsewhere = {"blas": (*machine.blas, *CATALOGUE), "mpi": (*machine.mpis, *NAMES)}.get(decider.name, ())
    if not listed and not elsewhere:
        return
    known = (*decider.values, *elsewhere)
    own = " A library of your own must be in `blas`" if decider.name == "blas" else ""
    for case in parameter.cases or ():
        near = difflib.get_close_matches(str(case), [str(value) for value in known], n=1)
        if case not in known and near:
            raise place.wrong(f"{case} is no value of {decider.name}: did you mean {near[0]}?{own}")
        if case not in known and listed:
            shown = ", ".join(map(str, known[:SHOWN])) + (", …" if len(known) > SHOWN else "")
            raise place.wrong(f"{case} is no value of {decider.name}: expected one of {shown}.{own}")


def _depending(key: str, entry: Mapping[str, Any], known: Dimension, settings: Settings | None) -> Parameter:
    decider = str(entry["by"])
    deciding = dimension(decider, settings)
    cases: dict[Scalar, tuple[Scalar, ...]] = {}
    for word, listed in entry.items():
        if word == "by":
            continue
        case = converted(decider, word, settings)
        if not deciding.accepts(case):
            raise SpaceError(f"{word} is no value of {decider}: {deciding.instead_of(case)}")
        cases[case] = values(listed)
    return Parameter.depending(key, decider, cases, known)


def _layouts(parameters: Mapping[str, Parameter], machine: Machine) -> tuple[str, ...]:
    """List the possible layouts of a space: those of all cases, and the default if a case has none."""
    dropped = parameters["nodes_dropped"].values if "nodes_dropped" in parameters else (0,)
    default, *defaults = (str(DIMENSIONS["layout"].default({"nodes_dropped": count}, machine)) for count in dropped)
    layout = parameters.get("layout")
    if layout is None:
        return (default, *defaults)
    own = tuple(str(value) for value in layout.values)
    if layout.by is None or layout.cases is None:
        return own
    decider = parameters.get(layout.by)
    always = decider is not None and decider.by is None and set(decider.values) <= set(layout.cases)
    return own if always else (*own, default, *defaults)


def _restrictions(place: str, table: Mapping[str, Any]) -> list[Restriction]:
    """Return the rules that a space names; it may also name those that always hold."""
    names = table.get("restrictions", [])
    _known(f"{place}: restrictions: unknown name", names, [*RESTRICTIONS, *(rule.name for rule in ALWAYS)])
    return [RESTRICTIONS[name] for name in names if name in RESTRICTIONS]


def _forbids(place: str, table: Mapping[str, Any], settings: Settings | None) -> list[Restriction]:
    found = []
    for number, (where, entry) in enumerate(_tables(place, table, "forbid"), start=1):
        _known(f"{where}: unknown key", entry, ("when", "because"))
        when = entry.get("when")
        if not isinstance(when, dict) or not when or not entry.get("because"):
            raise SpaceError(f"{where}: expected `when` with parameters and `because` with a sentence")
        cases = {
            name: _legal(MistakePlace(f"{where}: when.{name}"), name, value, settings)
            for name, value in _flat(when).items()
        }
        found.append(forbidden(number, cases, str(entry["because"])))
    return found


def _starts(place: str, table: Mapping[str, Any], settings: Settings | None) -> list[dict[str, Scalar]]:
    return [
        {
            name: _legal(MistakePlace(f"{where}: {name}"), name, value, settings, most=1)[0]
            for name, value in _flat(entry).items()
        }
        for where, entry in _tables(place, table, "start")
    ]


def _legal(
    where: MistakePlace, name: str, entry: Any, settings: Settings | None, most: int | None = None
) -> tuple[Scalar, ...]:
    """Check that a parameter could have these values in some space, and return them."""
    try:
        known = dimension(name, settings)
        listed = values(entry)
    except SpaceError as error:
        raise where.wrong(error) from error
    if not listed or (most is not None and len(listed) > most):
        raise where.wrong(f"expected {'one value' if most == 1 else 'at least one value'}, not {entry}")
    for value in listed:
        if not known.accepts(value):
            raise where.wrong(known.instead_of(value), f" = {shown(value)}")
    return listed


def _override(name: str, texts: Sequence[str], settings: Settings | None) -> Any:
    """Convert the texts of `--set` to values of the parameter."""
    if list(texts) in ([AUTO], [BUDGET]):
        return texts[0]
    try:
        return [converted(name, text, settings) for text in texts]
    except SpaceError as error:
        raise MistakePlace.of_setting(name).wrong(error) from error


class SpaceTomlError(ValueError):
    """A text is no TOML or too large; the message says what is wrong, without the file's name."""


def _toml_hint(text: str, error: str) -> str:
    """Say what to write where the line has a number with a comma, or a name without quotes."""
    place = re.search(r"at line (\d+)", error)
    line = (text.splitlines() or [""])[int(place[1]) - 1] if place else ""
    number = re.fullmatch(r"\s*[\w.\"]+\s*=\s*(\d+),(\d+)\s*", line)
    if number:
        return f": write {number[1]}.{number[2]} for one number, [{number[1]}, {number[2]}] for two"
    name = re.fullmatch(r"\s*[\w.\"]+\s*=\s*([A-Za-z][\w.+-]*)\s*", line)
    return f': names need quotes: "{name[1]}"' if name else ""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text.

    Raises:
        SpaceTomlError: the text is no TOML, is nested too deeply, or has a whole number of more than 64 bits.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpaceTomlError(f"{error}{_toml_hint(text, str(error))}") from error
    except RecursionError as error:
        raise SpaceTomlError(f"tables or lists are more than {DEEPEST} deep") from error
    except ValueError as error:  # int() refuses texts of thousands of digits
        raise SpaceTomlError("a whole number is larger than 64 bits") from error
    _check(table)
    return table


def _check(table: dict[str, Any]) -> None:
    left: list[tuple[object, int]] = [(table, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise SpaceTomlError("a whole number is larger than 64 bits")
        within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if within and depth > DEEPEST:
            raise SpaceTomlError(f"tables or lists are more than {DEEPEST} deep")
        left += [(each, depth + 1) for each in within]


def read_toml(file: Path) -> str:
    """Read the text of a file.

    Raises:
        OSError: the file cannot be read.
        SpaceTomlError: the file is too large or not UTF-8.
    """
    with file.open("rb") as opened:
        read = opened.read(LARGEST_BYTES + 1)
    if len(read) > LARGEST_BYTES:
        raise SpaceTomlError(f"the file is larger than {LARGEST_BYTES / 2**20:g} MiB")
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpaceTomlError("it is not UTF-8 text") from error
