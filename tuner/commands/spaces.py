"""`hpltune spaces`: what there is, how large it is on this machine, and why a point is illegal."""

import difflib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from hpl.blas.registry import CATALOGUE
from hpl.build.toolchain import NAMES as MPI_NAMES
from hpl.errors import HplError
from hpl.params import Scalar
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster
from search_spaces.distinct import distinct
from search_spaces.errors import SpaceError
from search_spaces.load import describe, load, made_for, passed_over, shipped
from search_spaces.machine import BlasFacts, Machine
from search_spaces.space import SearchSpace
from search_spaces.values import converted

from ..errors import TunerError, UsageError
from ..options import TuneOptions, parse_overrides
from ..simulation.known import machine_of, simulated_space
from ..trial.workbench import look_around
from ..user_dirs import UserDirs
from ..words import counted

EXAMPLE_N = 10_000
"""Stands for the N that a budget would choose, where a space leaves it to the budget."""


@dataclass(frozen=True)
class Here:
    """The machine as spaces see it.

    Attributes:
        untimed: BLAS libraries whose kernels are not known, because they were never timed.
        cluster: the virtual cluster that a space is made for, in place of this machine.
    """

    machine: Machine
    untimed: tuple[str, ...] = ()
    cluster: VirtualCluster | None = None

    def caution(self, parameters: Collection[str]) -> str:
        """The sentence that a space over these parameters is larger than what can be counted, or nothing."""
        if not self.untimed or "kernel" not in parameters:
            return ""
        return f"Kernels of {', '.join(self.untimed)} are not counted until `tune` or `doctor` has timed them."

    @property
    def counted_for(self) -> str:
        """The sentence that a space was counted for a virtual cluster, or nothing."""
        return f"Counted for the virtual cluster {self.cluster.name}, not for this machine." if self.cluster else ""


def this_machine(cores: int | None) -> Here:
    """The machine with the kernels that were timed before; one that lacks MPI or a BLAS is imagined to have them.

    Args:
        cores: imagines another number of them.
    """
    places = UserDirs.of_user()
    try:
        site = look_around(TuneOptions(), places, lambda _: None, probing=False)
        machine = site.machine(all_blas=True, N=EXAMPLE_N, slow_kernels=False)
        untimed = [name for name, facts in machine.blas.items() if facts.known_kernels and name not in site.probes]
    except (HplError, TunerError):
        machine, untimed = Machine(1, 2**34, {"openblas": BlasFacts()}, EXAMPLE_N), []
    return Here(replace(machine, cores=cores or machine.cores), tuple(untimed))


def machine_for(name: str, cores: int | None) -> Here:
    """The virtual cluster that a space is made for, or this machine.

    Raises:
        TunerError: another number of cores was asked for than that cluster has.
    """
    made = made_for(name)
    if made is None:
        return this_machine(cores)
    cluster = load_cluster(made)
    if cores not in {None, cluster.cores}:
        raise UsageError(
            f"--cores {cores}: space {name} is counted for {cluster.name}, which has {cluster.cores} cores"
        )
    return Here(machine_of(cluster, EXAMPLE_N), cluster=cluster)


def _loaded(name: str, here: Here, wished: Mapping[str, Sequence[str]]) -> SearchSpace:
    if here.cluster is None:
        return load(name, here.machine, wished)
    return simulated_space(name, here.cluster, EXAMPLE_N, wished)


def list_spaces(console: Console, *, cores: int | None, as_json: bool) -> None:
    """The shipped spaces with their size on this machine."""
    here = this_machine(cores)
    rows = []
    for name in shipped():
        try:
            size, problem = len(_loaded(name, here, {})), None
        except SpaceError as error:
            size, problem = 0, str(error)
        rows.append({"space": name, "points": size, "problem": problem, "description": describe(name)})
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    how = f"Counted with {counted(here.machine.cores, 'core')}, every BLAS and every kernel found, the slow ones too"
    table = Table(caption=f"{how}. {here.caution(['kernel'])}", caption_justify="left")
    table.add_column("space")
    table.add_column("valid combinations", justify="right")
    table.add_column("what it is for")
    for row in rows:
        points = f"{row['points']:,}" if row["points"] else "none"
        problem = f". Not here: {row['problem']}" if row["problem"] else ""
        table.add_row(str(row["space"]), points, f"{row['description']}{problem}")
    console.print(table)


def show_space(console: Console, name: str, overrides: Sequence[str], *, cores: int | None, as_json: bool) -> None:
    """One space: its parameters and their values, its size, and how many points HPL can tell apart.

    Raises:
        SpaceError: the space is not in order; the message names file and key.
    """
    here, wished = machine_for(name, cores), parse_overrides(overrides)
    space = _loaded(name, here, wished)
    told_apart = distinct(space)
    values = {name: list(parameter.values) for name, parameter in space.parameters.items()}
    if as_json:
        print(
            json.dumps(
                {
                    "space": space.name,
                    "points": len(space),
                    "distinct": told_apart.points,
                    "distinct_standard_error": told_apart.error,
                    "parameters": values,
                    "untimed": here.untimed,
                },
                indent=1,
            )
        )
        return
    table = Table(title=f"Space {space.name}", title_justify="left")
    for head in ("parameter", "values"):
        table.add_column(head)
    for parameter, listed in values.items():
        by = space.parameters[parameter].by
        table.add_row(parameter, ", ".join(map(str, listed)) + (f"  (by {by})" if by else ""))
    console.print(table)
    console.print(
        f"{len(space):,} valid combinations, of which {told_apart} really run differently. "
        f"{here.caution(values)}{here.counted_for}".rstrip()
    )
    for sentence in (*passed_over(space, wished), *_unknown_names(space)):
        console.print(sentence)


def _unknown_names(space: SearchSpace) -> Iterator[str]:
    """A sentence for each BLAS and MPI library that `tune` would find on no machine."""
    for name, known, unless in (
        ("blas", {*CATALOGUE, *space.machine.blas}, ", unless a virtual cluster has it or --blas {}=FILE gives it"),
        ("mpi", MPI_NAMES, ""),
    ):
        for value in map(str, space.parameters[name].values if name in space.parameters else ()):
            if value not in known:
                near = difflib.get_close_matches(value, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}."
                yield f"{name} = {value}: `tune` does not know this name{unless.format(value)}: {hint}"


def explain_point(
    console: Console, name: str, text: str, overrides: Sequence[str], *, cores: int | None, as_json: bool
) -> int:
    """Say why a point is illegal, or that it is legal.

    Args:
        text: NAME=VALUE pairs separated by commas; what is left out takes what makes the point legal, if anything does.

    Returns:
        0 for a legal point, 1 for an illegal one.
    """
    space = _loaded(name, machine_for(name, cores), parse_overrides(overrides))
    given = _point(space, text)
    sentence = space.why_not({**space.nearest(given), **given})
    if as_json:
        print(json.dumps({"legal": sentence is None, "why": sentence}))
    else:
        console.print("legal" if sentence is None else f"illegal: {sentence}")
    return 0 if sentence is None else 1


def _point(space: SearchSpace, text: str) -> dict[str, Scalar]:
    point: dict[str, Scalar] = {}
    for pair in text.split(","):
        name, equals, value = pair.strip().partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--explain {text}: write NAME=VALUE,NAME=VALUE")
        known = space.parameters[name].values if name in space.parameters else ()
        point[name] = next((choice for choice in known if str(choice) == value), _as_taken(name, value))
    return point


def _as_taken(name: str, text: str) -> Scalar:
    """A value as `--set` reads it; that there is no such parameter is for the space to say."""
    try:
        return converted(name, text)
    except SpaceError:
        return text
