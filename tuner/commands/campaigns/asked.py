"""A tuning as people ask for it: `tune` and the service read it in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...budget import Budget
from ...errors import UsageError
from ...options import DEFAULT_FULL_TRIALS, DEFAULT_WALL_S, TuneOptions
from ...simulation.options import SimulationOptions, simulation_options, time_budget
from ...study.objective import check_objective, check_pareto
from ...units import parse_duration_s, parse_price_usd
from ..real_cluster import RealCluster, check_nodes_check, check_parallel, read_cluster


@dataclass(frozen=True)
class AskedLimits:
    """What a tuning may spend.

    Attributes:
        budget: a time, node-hours or dollars, as people write them; None where the other limits decide.
        run_time: time in runs of HPL alone, as people write it.
    """

    budget: str | None = None
    trials: int | None = None
    run_time: str | None = None

    @property
    def run_s(self) -> float | None:
        """Seconds in runs of HPL alone.

        Raises:
            UsageError: the text is no time.
        """
        return parse_duration_s(self.run_time, "run_time") if self.run_time else None


@dataclass(frozen=True)
class AskedMachine:
    """Where a tuning runs, and what the machine costs.

    Attributes:
        cluster: the file of a real cluster, or a file or shipped name of a virtual one; None for this machine.
        price: US dollars, as people write them.
        limit: real time after which a simulation is stopped, as people write it.
        nodes_check: what happens with nodes that are not ready: "refuse" or "drop"; None checks none.
        replay: the file of a table that stands in place of a machine.
        replay_speed: real seconds that pass for each second of the table.
    """

    cluster: str | None = None
    rpeak_gflops: float | None = None
    price: str | None = None
    power_w: float | None = None
    parallel: int = 1
    jobs: int | None = None
    limit: str | None = None
    nodes_check: str | None = None
    replay: Path | None = None
    replay_speed: float | None = None

    def check_replayed(self) -> dict[str, Any] | None:
        """What names the table; None where machines or simulations are wanted.

        Raises:
            UsageError: there is a field of real or virtual machines beside it, or one of tables without it.
        """
        if self.replay is None:
            if self.replay_speed is not None:
                raise UsageError("«replay_speed» is for tables: name one with «replay»", field="replay_speed")
            return None
        given = {
            "cluster": self.cluster,
            "parallel": self.parallel > 1,
            "jobs": self.jobs,
            "limit": self.limit,
            "nodes_check": self.nodes_check,
        }
        refuse_beside_replay(given)
        return {"table": str(self.replay.expanduser().absolute()), "speed": self.replay_speed or 0.0}


def refuse_beside_replay(given: Mapping[str, object]) -> None:
    """Refuse fields that change nothing where a table stands in place of a machine.

    Raises:
        UsageError: there is one.
    """
    for name in (name for name, value in given.items() if value):
        raise UsageError(
            f"«{name}» is for machines that run HPL and changes nothing with «replay»: leave it out", field=name
        )


@dataclass(frozen=True)
class AskedSearch:
    """What a tuning searches, and how.

    Attributes:
        space: None for the usual one, and with a table for all that it has.
        overrides: values as texts by parameter.
        blas_only: BLAS names to keep; `blas_files` are libraries of the user's.
    """

    space: str | None = None
    engine: str = "hpl"
    objective: str = "gflops"
    pareto: str | None = None
    seed: int = 0
    points: int | None = None
    repeats: int = 1
    confirm: int = 2
    reference: bool = True
    full: bool = False
    memory_fraction: float = 0.8
    overrides: Mapping[str, Sequence[str]] = field(default_factory=dict)
    blas_only: tuple[str, ...] = ()
    blas_files: Mapping[str, Path] = field(default_factory=dict)
    xhpl: Path | None = None
    hpl_source: Path | None = None
    from_simulation: str | None = None
    warm_start: tuple[str, ...] = ()

    def check_replayed(self) -> None:
        """Refuse what a table has no use for: it says what there is, and at which N it ran.

        Raises:
            UsageError: there is such a field.
        """
        refuse_beside_replay(
            {
                "blas": self.blas_only,
                "xhpl": self.xhpl,
                "hpl_source": self.hpl_source,
                "from_simulation": self.from_simulation,
                "warm_start": self.warm_start,
                "full": self.full,
                "reference": not self.reference,
                "memory_fraction": self.memory_fraction != AskedSearch.memory_fraction,
            }
        )

    def check_simulated(self) -> None:
        """Refuse what a virtual cluster has no use for: its file names its libraries, and it learns from simulations.

        Raises:
            UsageError: there is such a field.
        """
        given = {
            "blas": self.blas_only,
            "xhpl": self.xhpl,
            "from_simulation": self.from_simulation,
            "warm_start": self.warm_start,
            "reference": not self.reference,
        }
        for name in (name for name, value in given.items() if value):
            raise UsageError(
                f"«{name}» is for real machines and changes nothing on a virtual «cluster»: leave it out", field=name
            )


@dataclass(frozen=True)
class AskedTuning:
    """A tuning as people ask for it."""

    search: AskedSearch = AskedSearch()
    limits: AskedLimits = AskedLimits()
    machine: AskedMachine = AskedMachine()

    def options(self) -> TuneOptions:
        """Read all of it.

        Raises:
            UsageError: something contradicts something else, or cannot be read; the error has its field.
            runners.toml_file.ClusterFileError: the cluster cannot be used.
        """
        search, machine = self.search, self.machine
        if search.points is not None and search.engine != "grid":
            raise UsageError(
                f"«points» {search.points} makes the engine grid coarser: add «engine» grid, or leave it out",
                field="points",
            )
        replay = machine.check_replayed()
        if replay is not None:
            search.check_replayed()
        real = read_cluster(machine.cluster)
        check_parallel(machine.parallel, real)
        check_nodes_check(machine.nodes_check, real)
        simulation = simulation_options(None if real else machine.cluster, machine.jobs, machine.limit)
        if simulation.cluster is not None:
            search.check_simulated()
        return TuneOptions(
            space=search.space or (TuneOptions.space if replay is None else str(replay["table"])),
            engine=search.engine,
            objective=check_objective(search.objective),
            pareto=check_pareto(search.pareto, search.objective),
            seed=search.seed,
            budget=self._budget(real, simulation, told=simulation.cluster is not None or replay is not None),
            points=search.points,
            repeats=search.repeats,
            confirm=search.confirm,
            reference=search.reference,
            full=search.full,
            memory_fraction=search.memory_fraction,
            overrides=search.overrides,
            blas_only=search.blas_only,
            blas_files=search.blas_files,
            xhpl=search.xhpl,
            hpl_source=search.hpl_source,
            rpeak_gflops=machine.rpeak_gflops,
            price_usd=parse_price_usd(machine.price) or (real.price_usd if real else None),
            power_w=machine.power_w or (real.power_w if real else None),
            parallel=machine.parallel,
            nodes_check=machine.nodes_check,
            real_cluster=real.cluster.table() if real else None,
            cluster=simulation.cluster,
            jobs=machine.jobs,
            limit_s=simulation.limit_s,
            replay=replay,
            from_simulation=search.from_simulation,
            warm_start=search.warm_start,
        )

    def _budget(self, real: RealCluster | None, simulation: SimulationOptions, *, told: bool) -> Budget:
        """The limits, and the usual ones where none are given.

        Args:
            told: no machine runs HPL.
        """
        limits, run_s = self.limits, self.limits.run_s
        nodes = real.cluster.taken(self.machine.parallel) if real else 1
        timed = time_budget(limits.budget, simulation.cluster, nodes) if limits.budget else Budget()
        trials = limits.trials
        if told and timed.wall_s is None and run_s is None:
            trials = trials or simulation.trials
        elif timed.wall_s is None and run_s is None and trials is None:
            timed, trials = (timed, DEFAULT_FULL_TRIALS) if self.search.full else (Budget(wall_s=DEFAULT_WALL_S), None)
        return replace(timed, trials=trials, run_s=run_s)
