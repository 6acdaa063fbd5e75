"""The parameters that a space may have, each with its legal values and its default."""

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hpl.params import LARGEST_INT, Bcast, Fact, Form, HplParamsError, Pmap, Scalar, Swap, Word, parse_grid
from hpl.sizing import process_grids

from ..errors import SpaceError
from ..machine import BlasFacts, Machine

Point = Mapping[str, Scalar]

BINDINGS = ("core", "l3cache", "numa", "socket", "none")
RANK_ORDERS = ("listed", "fastest-first", "slow-share-column", "slow-share-row", "by-switch", "across-switches")
CORES = "sys.cores"
"""The setting that says which cores ranks use: it decides how many there are."""
_LAYOUT = re.compile(r"([1-9]\d{0,6})x([1-9]\d{0,6})")


@dataclass(frozen=True)
class Dimension:
    """A known parameter.

    Attributes:
        expected: the legal values as a sentence has them.
        words: the legal values where these are a few words; none else.
        accepts: returns whether a value alone is legal.
        default: returns the value when a space does not name it, from the parameters so far; None leaves it out.
    """

    expected: str
    accepts: Callable[[Scalar], bool]
    default: Callable[[Point, Machine], Scalar | None]
    words: tuple[str, ...] = ()

    def instead_of(self, value: Scalar) -> str:
        """Say what is expected in place of a value that is not legal, and which word was probably meant."""
        folded = {word.casefold(): word for word in self.words}
        near = difflib.get_close_matches(str(value).casefold(), folded, n=1)
        return f"expected {self.expected}" + (f"; did you mean {folded[near[0]]}?" if near else "")


def _whole(least: int, default: int | None, most: int = LARGEST_INT) -> Dimension:
    limit = "below 2^31" if most == LARGEST_INT else f"at most {most}"
    return Dimension(
        f"a whole number of at least {least}, {limit}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
        lambda _point, _machine: default,
    )


def _word(kind: type[Word], default: str) -> Dimension:
    words = [member.word for member in kind]
    return _choice(words, default)


def _choice(words: list[str], default: str) -> Dimension:
    return Dimension(
        f"one of {', '.join(words)}", lambda value: value in words, lambda _point, _machine: default, tuple(words)
    )


def _is_grid(value: Scalar) -> bool:
    try:
        P, Q = parse_grid(str(value))
    except HplParamsError:
        return False
    return P >= 1 and Q >= 1 and value == f"{P}x{Q}"


def ranks_and_threads(layout: Scalar) -> tuple[int, int]:
    """Read ranks and threads from "RANKSxTHREADS".

    Raises:
        SpaceError: the text has another form.
    """
    match = _LAYOUT.fullmatch(str(layout))
    if match is None:
        raise SpaceError(f"layout = {layout}: expected ranks x threads as 4x2")
    return int(match[1]), int(match[2])


def _squarest(point: Point, _machine: Machine) -> str:
    P, Q = process_grids(ranks_and_threads(point["layout"])[0])[0]
    return f"{P}x{Q}"


def dropped_nodes(point: Point) -> int:
    """Return how many nodes a point drops."""
    return int(point.get("nodes_dropped", 0))


def _as_the_program_advises(point: Point, machine: Machine) -> str:
    left = machine.without(dropped_nodes(point))
    chosen = replace(left, cores=left.cores_with(point.get(CORES)))
    ranks, threads = machine.terms.layouts(chosen.node, left.nodes)[0]
    return f"{ranks}x{threads}"


def _usual_kernel(point: Point, machine: Machine) -> str:
    return machine.blas.get(str(point["blas"]), BlasFacts()).usual_kernel


def _text(expected: str, pattern: str, default: Callable[[Point, Machine], Scalar | None]) -> Dimension:
    return Dimension(
        expected, lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None, default
    )


DIMENSIONS: dict[str, Dimension] = {
    "program": _text("a program's name", r"(?!auto$)[\w.+-]+", lambda _point, _machine: None),
    "nodes_dropped": _whole(0, None),
    "rank_order": replace(_choice(list(RANK_ORDERS), ""), default=lambda _point, _machine: None),
    "N": _whole(1, None),
    "memory_fraction": Dimension(
        "a number above 0, at most 1",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1,
        lambda _point, _machine: None,
    ),
    "layout": _text("ranks x threads as 4x2", _LAYOUT.pattern, _as_the_program_advises),
    "mpi": _text("an MPI library's name", r"(?!auto$)[\w.+-]+", lambda _point, _machine: None),
    "blas": _text("a BLAS name", r"(?!auto$)[\w.+-]+", lambda _point, machine: next(iter(machine.blas), "openblas")),
    "kernel": _text("a kernel name or auto", r"[\w.+-]+", _usual_kernel),
    "NB": _whole(1, 192),
    "grid": Dimension("P x Q as 2x4", _is_grid, _squarest),
    "BCAST": _word(Bcast, "1rM"),
    "DEPTH": _whole(0, 1),
    "SWAP": _word(Swap, "mix"),
    "swap_threshold": _whole(0, 64),
    "PFACT": _word(Fact, "right"),
    "RFACT": _word(Fact, "crout"),
    "NBMIN": _whole(1, 4),
    "NDIV": _whole(2, 2),
    "PMAP": _word(Pmap, "row"),
    "L1": _word(Form, "transposed"),
    "U": _word(Form, "transposed"),
    "EQUIL": _choice(["yes", "no"], "yes"),
    "alignment": _whole(1, 8),
    "threshold": Dimension(
        "a number above 0, or HPL would not check its result",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf,
        lambda _point, _machine: 16.0,
    ),
    "binding": _choice(list(BINDINGS), "core"),
}
"""In the order in which a point is completed: a default may depend on earlier parameters."""

DERIVED_FROM: Mapping[str, tuple[str, ...]] = {
    "kernel": ("blas",),
    "layout": ("nodes_dropped", CORES),
    "grid": ("layout", "nodes_dropped", CORES),
    "N": ("memory_fraction", "NB", "grid", "layout", "nodes_dropped", CORES),
}
"""The parameters that decide the default of each of these."""

Settings = Mapping[str, Dimension]
"""Settings of hosts by their names, as "net.mtu": those who can set them hand them in."""

FREE = Dimension(
    "a printable text or a number", lambda value: str(value) != "" and str(value).isprintable(), lambda _p, _m: None
)

PROGRAM = replace(FREE, expected="a value that the program takes")
"""A parameter that only some program has; what it takes is known together with the program."""

MPI_PARAMETERS = "mpi."
"""Begins the names of parameters that MPI itself is given."""
MPI_VALUE = r"-[0-9][0-9.]*|[A-Za-z0-9_./^+][A-Za-z0-9_./^+,:=@%-]*"
MPI_RESERVED = (
    r"mca_.*|(.*_)?(agent|args|chdir|libpath|prefix|env_list\w*|component_path|param_files?)"
    r"|I_MPI_\w*(EXEC|ARGS|SHELL|LIBRARY|PATH|DIR|ROOT|FILE)|FI_PROVIDER_PATH|UCX_MODULE_DIR"
)
"""Names and values that launchers accept; `runners/forwarded.py` says why, and which names are reserved."""
MPI = Dimension(
    "letters, digits and _ . , : / + = @ % ^ -, beginning with - only in a number, since shells of nodes read it",
    lambda value: re.fullmatch(MPI_VALUE, str(value)) is not None,
    lambda _p, _m: None,
)


def shown(value: object) -> str:
    """Write a value for a message, with control characters as escapes."""
    return str(value) if str(value).isprintable() else repr(str(value))


def families(settings: Settings) -> tuple[str, ...]:
    """Return the first parts of the names of MPI parameters and settings."""
    return tuple(dict.fromkeys(("mpi", *(name.partition(".")[0] for name in settings))))


def dimension(name: str, settings: Settings | None = None) -> Dimension:
    """Return the parameter of this name; every `program.NAME` and FAMILY.NAME is one.

    Args:
        settings: tell the families; None takes a name with any of them, whose values somebody else checks.

    Raises:
        SpaceError: there is no such parameter; the message suggests the nearest.
    """
    for known in (DIMENSIONS, settings or {}):
        if name in known:
            return known[name]
    if name.startswith(MPI_PARAMETERS) and re.fullmatch(MPI_RESERVED, name[4:]):
        raise SpaceError(f"{name} names what MPI starts or loads, which hpltune chooses itself: leave it out")
    if re.fullmatch(r"program\.[A-Za-z][A-Za-z0-9_]*", name):
        return PROGRAM
    family, *_ = named = name.split(".", 1)
    if len(named) == 2 and family != "program" and re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", named[1]):
        if family == "mpi":
            return MPI
        if settings is None or family in families(settings):
            return FREE
    if len(named) == 2 and family in families(settings or {}):
        example = f"{family}.{'OMP_PROC_BIND' if family == 'env' else 'NAME'}"
        raise SpaceError(f"unknown parameter {shown(name)}: a name follows the dot, as {example}")
    letters = {known.casefold(): known for known in DIMENSIONS}
    near = difflib.get_close_matches(name.casefold(), letters, n=1, cutoff=0.5)
    forms = [f"{each}.NAME" for each in ("program", *families(settings or {}))]
    more = f"{', '.join([*DIMENSIONS, *forms[:-1]])} and {forms[-1]}"
    hint = f"did you mean {letters[near[0]]}?" if near else f"known are {more}"
    raise SpaceError(f"unknown parameter {shown(name)}: {hint}")
