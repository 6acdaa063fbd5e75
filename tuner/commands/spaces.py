"""`hpltune spaces`: what there is, how large it is on this machine, and why a point is illegal."""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from hpl.blas.registry import CATALOGUE
from hpl.build.toolchain import NAMES as MPI_NAMES
from hpl.errors import HplError
from hpl.params import Scalar
from results.report.model import Column, Report, Sentence, Table, columns, table_of
from search_spaces.distinct import Distinct, distinct
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


class SurveyFacts(Protocol):
    """What was found on a machine, as far as a space is counted with it."""

    @property
    def probes(self) -> Mapping[str, object]:
        """The timed kernels by BLAS."""

    def machine(self, *, all_blas: bool, N: int | None, slow_kernels: bool | None = None) -> Machine:
        """The facts a search space needs."""


LookAround = Callable[[UserDirs], SurveyFacts]
"""Looks at a machine without timing anything."""


def look_quietly(user_dirs: UserDirs) -> SurveyFacts:
    """This machine, with the kernels that were timed before."""
    return look_around(TuneOptions(), user_dirs, lambda _: None, probing=False)


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

    @property
    def counted_for(self) -> str:
        """The sentence that a space was counted for a virtual cluster, or nothing."""
        return f"Counted for the virtual cluster {self.cluster.name}, not for this machine." if self.cluster else ""


@dataclass(frozen=True)
class SpacesRequest:
    """For which machine spaces are counted.

    Attributes:
        user_dirs: where kept timings are; None for the user's own.
        cores: imagines another number of them; None for those that are here.
        overrides: NAME=VALUE[,VALUE] each, in place of a parameter's values.
        look: looks at the machine.
    """

    user_dirs: UserDirs | None = None
    cores: int | None = None
    overrides: Sequence[str] = ()
    look: LookAround = look_quietly


@dataclass(frozen=True)
class ListedSpace:
    """A shipped space: its size here, and why it has no point here or None."""

    space: str
    points: int
    problem: str | None
    description: str


SPACES: tuple[Column[ListedSpace], ...] = (
    Column("space", lambda one: one.space, words=True),
    Column("valid combinations", lambda one: one.points or None, ",", none="none"),
    Column(
        "what it is for",
        lambda one: one.description + (f". Not here: {one.problem}" if one.problem else ""),
        words=True,
    ),
)
"""What a table tells of each space."""


@dataclass(frozen=True)
class SpacesResult:
    """The shipped spaces, counted for a machine."""

    spaces: tuple[ListedSpace, ...]
    here: Here

    def report(self) -> Report:
        """A table of them."""
        cores = counted(self.here.machine.cores, "core")
        how = f"Counted with {cores}, every BLAS and every kernel found, the slow ones too"
        table = table_of("", SPACES, self.spaces, caption=f"{how}. {self.here.caution(['kernel'])}")
        return Report("Search spaces", (table,), [vars(listed) for listed in self.spaces])


@dataclass(frozen=True)
class SpaceResult:
    """One space on a machine.

    Attributes:
        told_apart: how many points HPL can tell apart.
        notices: sentences about values that are in no point, or that `tune` does not know.
    """

    space: SearchSpace
    here: Here
    told_apart: Distinct
    notices: tuple[str, ...]

    def report(self) -> Report:
        """Its parameters and their values, its size, and what is odd about it."""
        values = {name: list(parameter.values) for name, parameter in self.space.parameters.items()}
        rows = []
        for name, listed in values.items():
            by = self.space.parameters[name].by
            rows.append((name, ", ".join(map(str, listed)) + (f"  (by {by})" if by else "")))
        size = f"{self._size()}. {self.here.caution(values)}{self.here.counted_for}"
        title = f"Space {self.space.name}"
        parts: tuple[Sentence | Table, ...] = (
            Table(title, columns("parameter", "values"), tuple(rows)),
            Sentence(size.rstrip()),
            *map(Sentence, self.notices),
        )
        facts = {
            "space": self.space.name,
            "points": len(self.space),
            "distinct": self.told_apart.points,
            "distinct_standard_error": self.told_apart.error,
            "parameters": values,
            "untimed": list(self.here.untimed),
        }
        return Report(title, parts, facts)

    def _size(self) -> str:
        """How many valid combinations there are, and how many of them differ to HPL."""
        size = counted(len(self.space), "valid combination")
        return size if len(self.space) == 1 else f"{size}, of which {self.told_apart} really run differently"


@dataclass(frozen=True)
class PointResult:
    """Why a point is illegal, or None of a legal one."""

    why_not: str | None

    @property
    def legal(self) -> bool:
        """Whether HPL would be run with it."""
        return self.why_not is None

    def report(self) -> Report:
        """The verdict."""
        sentence = "legal" if self.legal else f"illegal: {self.why_not}"
        return Report("Point", (Sentence(sentence),), {"legal": self.legal, "why": self.why_not})


def this_machine(request: SpacesRequest) -> Here:
    """The machine with the kernels that were timed before; one that lacks MPI or a BLAS is imagined to have them."""
    user_dirs = request.user_dirs or UserDirs.of_user()
    try:
        found = request.look(user_dirs)
        machine = found.machine(all_blas=True, N=EXAMPLE_N, slow_kernels=False)
        untimed = [name for name, facts in machine.blas.items() if facts.known_kernels and name not in found.probes]
    except (HplError, TunerError):
        machine, untimed = Machine(1, 2**34, {"openblas": BlasFacts()}, EXAMPLE_N), []
    return Here(replace(machine, cores=request.cores or machine.cores), tuple(untimed))


def machine_for(name: str, request: SpacesRequest) -> Here:
    """The virtual cluster that a space is made for, or this machine.

    Raises:
        TunerError: another number of cores was asked for than that cluster has.
    """
    made = made_for(name)
    if made is None:
        return this_machine(request)
    from runners.virtual.load import load_cluster  # noqa: PLC0415 - only a space of a virtual cluster needs it

    from ..simulation.known import machine_of  # noqa: PLC0415

    cluster, cores = load_cluster(made), request.cores
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


def list_spaces(request: SpacesRequest) -> SpacesResult:
    """The shipped spaces with their size on this machine."""
    here = this_machine(request)
    listed = []
    for name in shipped():
        try:
            size, problem = len(_loaded(name, here, {})), None
        except SpaceError as error:
            size, problem = 0, str(error)
        listed.append(ListedSpace(name, size, problem, describe(name)))
    return SpacesResult(tuple(listed), here)


def show_space(name: str, request: SpacesRequest) -> SpaceResult:
    """One space: its parameters and their values, its size, and how many points HPL can tell apart.

    Raises:
        SpaceError: the space is not in order; the message names file and key.
    """
    here, wished = machine_for(name, request), parse_overrides(request.overrides)
    space = _loaded(name, here, wished)
    return SpaceResult(space, here, distinct(space), (*passed_over(space, wished), *_unknown_names(space)))


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


def explain_point(name: str, text: str, request: SpacesRequest) -> PointResult:
    """Say why a point of a space is illegal, or that it is legal.

    Args:
        text: NAME=VALUE pairs separated by commas; what is left out takes what makes the point legal, if anything does.
    """
    space = _loaded(name, machine_for(name, request), parse_overrides(request.overrides))
    given = _point(space, text)
    return PointResult(space.why_not({**space.nearest(given), **given}))


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
