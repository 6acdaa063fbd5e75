"""Reads what is asked of a search: `tune` on this machine and the campaigns of a service do it in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

from ...asks.blas import BlasAsk
from ...asks.field import Useless
from ...asks.texts import override_texts
from ...asks.tune import SearchSettings, TuneAsk
from ...budget import Budget
from ...errors import UsageError
from ...machine.quiet import longest_wait_s
from ...machine.real_cluster import RealCluster, check_nodes_check, check_parallel, read_cluster
from ...options import (
    DEFAULT_FULL_TRIALS,
    DEFAULT_SIMULATED_TRIALS,
    DEFAULT_WALL_S,
    TuneOptions,
    parse_blas,
    parse_programs,
    parse_wrap,
    user_program,
    user_source,
)
from ...simulation.options import SimulationOptions, simulation_options, time_budget
from ...study.objective import check_objective, check_pareto
from ...study.warm_start import absolute
from ...units import parse_duration_s

DEFAULT_BLAS_S, DEFAULT_FULL_BLAS = 600.0, 12
"""Wall time of a comparison of libraries where no limit is given; with --full, search trials of each."""


class NamedThings(Protocol):
    """What the names in an ask stand for."""

    def space(self, name: str) -> str:
        """The file of a space, or its shipped name."""

    def cluster(self, name: str) -> str:
        """The file of a cluster, or its shipped name."""

    def program(self, name: str, image: str) -> Path:
        """The file of an xhpl, on the machine or in an image."""

    def libraries(self, names: Sequence[str]) -> tuple[tuple[str, ...], Mapping[str, Path]]:
        """The names of BLAS libraries, and the files of those that are not in the catalogue."""

    def source(self, name: str) -> str:
        """A study or a file to learn from."""


class ThisMachine:
    """What names stand for on the command line: files of this machine, and what comes with hpltune."""

    def space(self, name: str) -> str:
        """The same."""
        return name

    def cluster(self, name: str) -> str:
        """The same."""
        return name

    def program(self, name: str, image: str) -> Path:
        """The whole path of a program that can be run, on this machine or in an image.

        Raises:
            UsageError: there is none.
        """
        return user_program(name, image=image)

    def libraries(self, names: Sequence[str]) -> tuple[tuple[str, ...], Mapping[str, Path]]:
        """Names, and NAME=FILE.

        Raises:
            UsageError: there is no such file, or two of one name.
        """
        return parse_blas(names)

    def source(self, name: str) -> str:
        """The whole path of a file, the name of a study."""
        return absolute(name)


def tune_options(ask: TuneAsk, things: NamedThings) -> TuneOptions:
    """Read all that is asked of a search.

    Raises:
        UsageError: something contradicts something else, or cannot be read; the error has its field.
        runners.toml_file.ClusterFileError: the cluster cannot be used.
    """
    if ask.points is not None and ask.engine != "grid":
        raise UsageError(
            f"⟦points⟧ {ask.points} makes the engine grid coarser: add ⟦engine⟧ grid, or leave it out", field="points"
        )
    replay = _table(ask)
    names, files = things.libraries(ask.blas)
    cluster = None if ask.cluster is None else things.cluster(ask.cluster)
    real = read_cluster(cluster)
    check_parallel(ask.parallel, real)
    check_nodes_check(ask.nodes_check, real)
    simulation = simulation_options(None if real else cluster, ask.jobs, ask.limit)
    if simulation.cluster is not None:
        ask.refuse_useless(Useless.SIMULATED)
    budget = _budget(ask, real, simulation)
    longest_wait_s(ask.wait_for_quiet, budget.whole_s, budget.wall_s)
    check_objective(ask.objective)
    check_pareto(ask.pareto, ask.objective)
    image = ask.container or (real.cluster.container if real else "")
    settings: dict[str, Any] = {field.name: getattr(ask, field.name) for field in fields(SearchSettings)}
    return TuneOptions(
        **settings,
        space=things.space(ask.space),
        budget=budget,
        overrides={name: override_texts(values) for name, values in ask.set.items()},
        blas_only=names,
        blas_files=files,
        xhpl=None if ask.program is None else things.program(ask.program, image),
        programs=_programs(ask, image),
        hpl_source=user_source(ask.hpl_source),
        price_usd=ask.price_usd or (real.price_usd if real else None),
        power_w=ask.power_w or (real.power_w if real else None),
        power_command=ask.power_command,
        container=ask.container,
        wrap=parse_wrap(ask.wrap),
        real_cluster=real.cluster.table() if real else None,
        cluster=simulation.cluster,
        limit_s=simulation.limit_s,
        replay=replay,
        warm_start=tuple(things.source(name) for name in ask.warm_start),
    )


def _programs(ask: TuneAsk, image: str) -> Mapping[str, Path]:
    """The files that are named as programs.

    Raises:
        UsageError: one is not there, or there is another program beside them.
    """
    if ask.programs and ask.program is not None:
        raise UsageError("⟦xhpl⟧ is the only program of a study: name it with ⟦program⟧ NAME=FILE", field="program")
    return parse_programs(ask.programs, image)


def blas_options(ask: BlasAsk, things: NamedThings) -> TuneOptions:
    """Read all that is asked of a comparison of libraries.

    Raises:
        UsageError: something contradicts something else, or cannot be read; the error has its field.
        runners.toml_file.ClusterFileError: the cluster cannot be used.
    """
    names, files = things.libraries(ask.blas)
    real = read_cluster(None if ask.cluster is None else things.cluster(ask.cluster))
    if ask.cluster and real is None:
        raise UsageError(
            f"⟦cluster⟧ {ask.cluster} is a virtual cluster: BLAS libraries are compared on real machines",
            field="cluster",
        )
    wall_s, trials = parse_duration_s(ask.budget, "budget") if ask.budget else None, ask.trials
    if wall_s is None and trials is None:
        wall_s, trials = (None, DEFAULT_FULL_BLAS) if ask.full else (DEFAULT_BLAS_S, None)
    longest_wait_s(ask.wait_for_quiet, wall_s, wall_s)
    return TuneOptions(
        space=things.space(ask.space),
        seed=ask.seed,
        budget=Budget(trials=trials, wall_s=wall_s),
        full=ask.full,
        memory_fraction=ask.memory_fraction,
        overrides={name: override_texts(values) for name, values in ask.set.items()},
        blas_only=names,
        blas_files=files,
        programs=parse_programs(ask.programs),
        hpl_source=user_source(ask.hpl_source),
        rpeak_gflops=ask.rpeak_gflops,
        price_usd=ask.price_usd or (real.price_usd if real else None),
        power_w=ask.power_w or (real.power_w if real else None),
        real_cluster=real.cluster.table() if real else None,
        wait_for_quiet=ask.wait_for_quiet,
        shootout=True,
    )


def _table(ask: TuneAsk) -> dict[str, Any] | None:
    """What names the table that stands in place of a machine; None for none.

    Raises:
        UsageError: there is an option of machines beside it, or one of tables without it.
    """
    if ask.replay is None:
        if ask.replay_speed is not None:
            raise UsageError("⟦replay_speed⟧ is for tables: name one with ⟦replay⟧", field="replay_speed")
        return None
    ask.refuse_useless(Useless.WITH_TABLE)
    return {"table": str(ask.replay.expanduser().absolute()), "speed": ask.replay_speed or 0.0}


def _budget(ask: TuneAsk, real: RealCluster | None, simulation: SimulationOptions) -> Budget:
    """The limits, and the usual ones where none are given."""
    on_machines = simulation.cluster is None and ask.replay is None
    run_s = run_time_s(ask)
    nodes = real.cluster.taken(ask.parallel) if real else 1
    timed = time_budget(ask.budget, simulation.cluster, nodes) if ask.budget else Budget()
    trials = ask.trials
    if not on_machines and timed.wall_s is None and run_s is None:
        trials = trials or DEFAULT_SIMULATED_TRIALS
    elif timed.wall_s is None and run_s is None and trials is None:
        timed, trials = (timed, DEFAULT_FULL_TRIALS) if ask.full else (Budget(wall_s=DEFAULT_WALL_S), None)
    return replace(timed, trials=trials, run_s=run_s)


def run_time_s(ask: TuneAsk) -> float | None:
    """Seconds in runs of HPL alone; None for no limit.

    Raises:
        UsageError: the text is no time.
    """
    return parse_duration_s(ask.run_time, "run_time") if ask.run_time else None
