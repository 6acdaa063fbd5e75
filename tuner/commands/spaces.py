"""`hpltune spaces`: what there is, how large it is on this machine, and why a point is illegal."""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hpl.blas.registry import CATALOGUE
from hpl.build.toolchain import NAMES as MPI_NAMES
from hpl.errors import HplError
from hpl.params import Scalar
from results.report.model import Report, Sentence, Table, columns
from search_spaces.distinct import distinct
from search_spaces.errors import SpaceError
from search_spaces.load import describe, load, made_for, passed_over, shipped
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.parameter import converted
from search_spaces.space import SearchSpace

from ..asks.texts import parse_overrides
from ..errors import TunerError, UsageError
from ..options import TuneOptions
from ..settings.dimensions import setting_dimensions
from ..trial.workbench import look_around
from ..user_dirs import UserDirs
from ..words import counted

if TYPE_CHECKING:
    from runners.virtual.cluster import VirtualCluster

EXAMPLE_N = 10_000
"""Stands for the N that a budget would choose, where a space leaves it to the budget."""


LookAround = Callable[[], tuple[Machine, Collection[str]]]
"""Looks at a machine: the facts a space needs of it, and the BLAS libraries whose kernels are timed."""


def look_quietly() -> tuple[Machine, Collection[str]]:
    """This machine, with the kernels that were timed before."""
    found = look_around(TuneOptions(), UserDirs.of_user(), lambda _: None, probing=False)
    return found.machine(all_blas=True, N=EXAMPLE_N, slow_kernels=False), found.probes


@dataclass(frozen=True)
class Here:
    """The machine as spaces see it.

    Attributes:
        untimed: BLAS libraries whose kernels are not known, because they were never timed.
        cluster: the virtual cluster that a space is made for, in place of this machine.
    """

    machine: Machine
    untimed: tuple[str, ...] = ()
    cluster: "VirtualCluster | None" = None

    def caution(self, parameters: Collection[str]) -> str:
        """The sentence that a space over these parameters is larger than what can be counted, or nothing."""
        if not self.untimed or "kernel" not in parameters:
            return ""
        return f"Kernels of {', '.join(self.untimed)} are not counted until `tune` or `doctor` has timed them."


def this_machine(cores: int | None = None, look: LookAround = look_quietly) -> Here:
    """The machine with the kernels that were timed before; one that lacks MPI or a BLAS is imagined to have them.

    Args:
        cores: imagines another number of them; None for those that are here.
    """
    try:
        machine, timed = look()
        untimed = [name for name, facts in machine.blas.items() if facts.known_kernels and name not in timed]
    except (HplError, TunerError):
        machine, untimed = Machine(1, 2**34, {"openblas": BlasFacts()}, EXAMPLE_N), []
    return Here(replace(machine, cores=cores or machine.cores), tuple(untimed))


def machine_for(name: str, cores: int | None, look: LookAround) -> Here:
    """The virtual cluster that a space is made for, or this machine.

    Raises:
        TunerError: another number of cores was asked for than that cluster has.
    """
    made = made_for(name)
    if made is None:
        return this_machine(cores, look)
    from runners.virtual.load import load_cluster  # noqa: PLC0415 - only a space of a virtual cluster needs it

    from ..simulation.known import machine_of  # noqa: PLC0415

    cluster = load_cluster(made)
    if cores not in {None, cluster.cores}:
        raise UsageError(
            f"space {name} is counted for {cluster.name}, which has {cluster.cores} cores", field="cores", given=cores
        )
    return Here(machine_of(cluster, EXAMPLE_N), cluster=cluster)


def _loaded(name: str, here: Here, wished: Mapping[str, Sequence[str]]) -> SearchSpace:
    if here.cluster is None:
        return load(name, here.machine, wished, settings=setting_dimensions())
    from ..simulation.known import simulated_space  # noqa: PLC0415 - only a space of a virtual cluster needs it

    return simulated_space(name, here.cluster, EXAMPLE_N, wished)


def list_spaces(cores: int | None = None, look: LookAround = look_quietly) -> Report:
    """The shipped spaces with their size on this machine."""
    here = this_machine(cores, look)
    rows: list[tuple[str, str, str]] = []
    facts: list[object] = []
    for name in shipped():
        try:
            size, problem = len(_loaded(name, here, {})), None
        except SpaceError as error:
            size, problem = 0, str(error)
        why_none = f". Not here: {problem}" if problem else ""
        rows.append((name, f"{size:,}" if size else "none", f"{describe(name)}{why_none}"))
        facts.append({"space": name, "points": size, "problem": problem, "description": describe(name)})
    how = f"Counted with {counted(here.machine.cores, 'core')}, every BLAS and every kernel found, the slow ones too"
    heads = columns("space", "valid combinations", "what it is for", words={"space", "what it is for"})
    table = Table("", heads, tuple(rows), caption=f"{how}. {here.caution(['kernel'])}")
    return Report("Search spaces", (table,), facts)


def show_space(
    name: str, cores: int | None = None, overrides: Sequence[str] = (), look: LookAround = look_quietly
) -> Report:
    """One space: its parameters and their values, its size, how many points HPL can tell apart, and what is odd.

    Args:
        overrides: NAME=VALUE[,VALUE] each, in place of a parameter's values.

    Raises:
        SpaceError: the space is not in order; the message names file and key.
    """
    here, wished = machine_for(name, cores, look), parse_overrides(overrides)
    space = _loaded(name, here, wished)
    told_apart, title = distinct(space), f"Space {space.name}"
    values = {each: list(parameter.values) for each, parameter in space.parameters.items()}
    rows = []
    for parameter, listed in values.items():
        by = space.parameters[parameter].by
        rows.append((parameter, ", ".join(map(str, listed)) + (f"  (by {by})" if by else "")))
    size = counted(len(space), "valid combination")
    if len(space) != 1:
        size = f"{size}, of which {told_apart} really run differently"
    where = f"Counted for the virtual cluster {here.cluster.name}, not for this machine." if here.cluster else ""
    parts: tuple[Sentence | Table, ...] = (
        Table(title, columns("parameter", "values"), tuple(rows)),
        Sentence(f"{size}. {here.caution(values)}{where}".rstrip()),
        *map(Sentence, (*passed_over(space, wished), *_unknown_names(space))),
    )
    facts = {
        "space": space.name,
        "points": len(space),
        "distinct": told_apart.points,
        "distinct_standard_error": told_apart.error,
        "parameters": values,
        "untimed": list(here.untimed),
    }
    return Report(title, parts, facts)


def _unknown_names(space: SearchSpace) -> Iterator[str]:
    """A sentence for each BLAS and MPI library that `tune` would find on no machine."""
    for name, known, unless in (
        ("blas", {*CATALOGUE, *space.machine.blas}, ", unless a virtual cluster has it or ⟦blas⟧ {}=FILE gives it"),
        ("mpi", MPI_NAMES, ""),
    ):
        for value in map(str, space.parameters[name].values if name in space.parameters else ()):
            if value not in known:
                near = difflib.get_close_matches(value, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}."
                yield f"{name} = {value}: `tune` does not know this name{unless.format(value)}: {hint}"


def explain_point(name: str, text: str, cores: int | None, overrides: Sequence[str]) -> str | None:
    """Say why a point of a space is illegal; None where it is legal.

    Args:
        text: NAME=VALUE pairs separated by commas; what is left out takes what makes the point legal, if anything does.
    """
    space = _loaded(name, machine_for(name, cores, look_quietly), parse_overrides(overrides))
    given = _point(space, text)
    return space.why_not({**space.nearest(given), **given})


def point_report(why_not: str | None) -> Report:
    """What `explain_point` says of a point."""
    sentence = "legal" if why_not is None else f"illegal: {why_not}"
    return Report("Point", (Sentence(sentence),), {"legal": why_not is None, "why": why_not})


def _point(space: SearchSpace, text: str) -> dict[str, Scalar]:
    point: dict[str, Scalar] = {}
    for pair in text.split(","):
        name, equals, value = pair.strip().partition("=")
        if not equals or not name or not value:
            raise UsageError("write NAME=VALUE,NAME=VALUE", field="explain", given=text)
        known = space.parameters[name].values if name in space.parameters else ()
        point[name] = next((choice for choice in known if str(choice) == value), _as_taken(name, value))
    return point


def _as_taken(name: str, text: str) -> Scalar:
    """A value as `--set` reads it; that there is no such parameter is for the space to say."""
    try:
        return converted(name, text, setting_dimensions())
    except SpaceError:
        return text
