"""Measurements that a model is made of, in turn with the HPL runs that it is checked against."""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpl.build.programs import Recipe, build_calibrator
from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from runners.paths import RunPaths
from runners.virtual.cluster import SharedMemory

from ...errors import TunerError
from ...events import Listener, Notice
from ...machine.calibrator import Figures, messages_of, parse_figures, shared_of
from ...machine.cluster_nodes import with_nodes
from ...machine.textbook import textbook
from ...stopping import StopRequest
from ...trial.evaluate import Evaluator
from ...trial.pipeline import NO_STUDY, MemoryBook, run_alone
from ...trial.plan import plan
from ...trial.records import started
from ...trial.workbench import Workbench

CALIBRATOR_LIMIT_S = CHECK_LIMIT_S = 600.0
LEAST_N = 1000
"""N of the plan that tells where the calibrator's ranks are; they compute no matrix."""


@dataclass(frozen=True)
class MeasurementPlan:
    """What is measured.

    Attributes:
        kernels: the kernel of each BLAS to time.
        points: the configurations of the checks.
        rounds: how often everything is measured.
        binding: what ranks of the calibrator are bound to.
    """

    kernels: Mapping[str, str]
    points: Sequence[Mapping[str, Scalar]]
    rounds: int
    binding: str = "core"


@dataclass(frozen=True)
class Measurements:
    """What was measured.

    Attributes:
        shared: what messages within a node take, where several nodes were measured.
        figures: what routines and messages take, by BLAS, one for each round.
        rates: GFLOPS of the valid runs, by the number of their configuration.
        reasons: why a run of a configuration is not valid, by its number.
    """

    shared: SharedMemory = field(default_factory=SharedMemory)
    figures: dict[str, list[Figures]] = field(default_factory=dict)
    rates: dict[int, list[float]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def add_check(self, number: int, record: TrialRecord) -> None:
        """Take in the real run of a configuration."""
        if record.state is not TrialState.COMPLETE or record.gflops is None:
            self.reasons[number] = record.reason or "no result"
        else:
            self.rates.setdefault(number, []).append(record.gflops)


@dataclass(frozen=True)
class Calibrator:
    """The program that times routines and messages, one rank on each core.

    Attributes:
        binding: what its ranks are bound to.
        folder: where it runs.
    """

    evaluator: Evaluator
    binding: str
    folder: Path
    stop: StopRequest

    def time(self, blas: str, kernel: str, name: str, *arguments: str) -> Figures:
        """Run the program in a folder of that name, and read what it prints.

        Raises:
            TunerError: it cannot time this BLAS, or it failed.
        """
        evaluator, inventory = self.evaluator, self.evaluator.site
        library = inventory.library(blas, 1)
        if library is None or evaluator.source is None:
            raise TunerError("calibrating needs a BLAS of this machine; a program of your own hides its routines")
        program = build_calibrator(Recipe(evaluator.source, inventory.mpi, library), evaluator.search)
        cores = inventory.host.physical_cores
        point = textbook(N=LEAST_N, NB=64, blas=blas, kernel=kernel, ranks=cores, threads=1)
        every_core = plan({**point, "binding": self.binding}, inventory)
        folder = self.folder / name
        status = evaluator.run_program(program, arguments, every_core, folder, CALIBRATOR_LIMIT_S, self.stop)
        if status.exit_code != 0 and not self.stop.requested:
            raise TunerError(f"timing {blas}'s routines failed: {status.message}")
        return parse_figures(RunPaths(folder).read_stdout())

    def on_node(self, name: str) -> "Calibrator":
        """The same program on one node of a cluster."""
        return replace(self, evaluator=replace(self.evaluator, site=with_nodes(self.evaluator.site, (name,))))


def measure(workbench: Workbench, asked: MeasurementPlan, listener: Listener, stop: StopRequest) -> Measurements:
    """Time the routines and run the checks in turn, several times over: a drift of the machine then hits both alike.

    The checks run in another order each time, so that something that repeats itself does not always hit the same ones.

    Returns:
        What was measured until somebody stopped it.

    Raises:
        HplError, RunnerError: a program cannot be built or started.
    """
    with _folder(workbench) as folder:
        calibrator = Calibrator(workbench.evaluator, asked.binding, folder, stop)
        found = Measurements(_shared(asked, calibrator, listener))
        book, numbers = MemoryBook(folder / "checks"), range(len(asked.points))
        for turn in range(asked.rounds):
            head = f"Round {turn + 1} of {asked.rounds}: "
            for blas, kernel in asked.kernels.items():
                if stop.requested:
                    return found
                listener(Notice(f"{head}timing {blas}'s routines on all {workbench.site.host.physical_cores} cores"))
                found.figures.setdefault(blas, []).append(calibrator.time(blas, kernel, f"{blas}-{turn}"))
            for number in random.Random(turn).sample(numbers, len(numbers)):  # noqa: S311 - not for secrets
                if stop.requested:
                    return found
                new = started(NO_STUDY, asked.points[number], Kind.RUN, "")
                found.add_check(number, run_alone(workbench.evaluator, book, new, CHECK_LIMIT_S, stop))
            if numbers:
                listener(Notice(f"{head}{len(numbers)} HPL runs to check against are done"))
    return found


def _shared(asked: MeasurementPlan, calibrator: Calibrator, listener: Listener) -> SharedMemory:
    """What messages within a node take; the usual figures where there is one node, or one core on each."""
    inventory = calibrator.evaluator.site
    if not inventory.nodes or inventory.nodes.cores < 2 or len(inventory.node_names) < 2:
        return SharedMemory()
    first = inventory.node_names[0]
    listener(Notice(f"Timing messages within {first}"))
    blas, kernel = next(iter(asked.kernels.items()))
    return shared_of(messages_of(calibrator.on_node(first).time(blas, kernel, "shared", "messages")))


@contextmanager
def _folder(workbench: Workbench) -> Iterator[Path]:
    """A new folder where runs may write; on a cluster all nodes see it."""
    shared = workbench.user_dirs.data / "runs" if workbench.site.nodes else None
    if shared:
        shared.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hpltune-calibrate-", dir=shared, ignore_cleanup_errors=True) as name:
        yield Path(name)
