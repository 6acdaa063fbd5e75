"""`hpltune calibrate`: time this machine's routines, and hold real HPL runs against what follows from them."""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpl.build.programs import Recipe, build_calibrator
from hpl.params import Scalar
from results.record import Kind, TrialState
from runners.paths import RunPaths
from runners.virtual.cluster import SharedMemory

from ...errors import TunerError
from ...events import Listener, Notice
from ...machine.calibrator import Figures, messages_of, parse_figures, shared_of
from ...machine.cluster_nodes import only
from ...machine.textbook import textbook
from ...stopping import StopRequest
from ...trial.evaluate import Evaluator
from ...trial.pipeline import NO_STUDY, MemoryBook, run_alone
from ...trial.plan import plan
from ...trial.records import started
from ...trial.workbench import Workbench

CALIBRATOR_LIMIT_S = CHECK_LIMIT_S = 600.0
LEAST_N = 1000
"""Of the plan that tells where the calibrator's ranks are; they compute no matrix."""


@dataclass
class Measurements:
    """All that was measured, by BLAS and by configuration.

    Attributes:
        shared: messages within a node; of a cluster, where it was measured.
    """

    figures: dict[str, list[Figures]] = field(default_factory=dict)
    rates: dict[int, list[float]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    shared: SharedMemory = field(default_factory=SharedMemory)


def measure(
    workshop: Workbench,
    kernels: Mapping[str, str],
    points: Sequence[Mapping[str, Scalar]],
    rounds: int,
    listener: Listener,
    stop: StopRequest,
    binding: str = "core",
) -> Measurements:
    """Time the routines and run the checks in turn, several times over, so that a drift of the machine hits both alike.

    The checks come in another order each time, so that nothing that repeats itself hits always the same of them.

    Args:
        kernels: kernel of each BLAS to time.
        binding: what ranks of the calibrator are bound to.

    Raises:
        HplError, RunnerError: a program cannot be built or started.
    """
    found = Measurements()
    site = workshop.site
    cores, (first, kernel) = site.host.physical_cores, next(iter(kernels.items()))
    with _folder(workshop) as folder:
        book = MemoryBook(folder / "checks")
        if site.nodes and site.nodes.cores > 1 and len(site.node_names) > 1:
            listener(Notice(f"Timing messages within {site.node_names[0]}"))
            text = _run_calibrator(_first_node(workshop), first, kernel, binding, folder / "shared", stop, "messages")
            found.shared = shared_of(messages_of(parse_figures(text)))
        for turn in range(rounds):
            for blas, one in kernels.items():
                if stop.requested:
                    return found
                listener(Notice(f"Round {turn + 1} of {rounds}: timing {blas}'s routines on all {cores} cores"))
                text = _run_calibrator(workshop.evaluator, blas, one, binding, folder / f"{blas}-{turn}", stop)
                found.figures.setdefault(blas, []).append(parse_figures(text))
            for number in random.Random(turn).sample(range(len(points)), len(points)):  # noqa: S311 - not for secrets
                if stop.requested:
                    return found
                new = started(NO_STUDY, points[number], Kind.RUN, "")
                record = run_alone(workshop.evaluator, book, new, CHECK_LIMIT_S, stop)
                if record.state is not TrialState.COMPLETE or record.gflops is None:
                    found.reasons[number] = record.reason or "no result"
                else:
                    found.rates.setdefault(number, []).append(record.gflops)
            if points:
                listener(Notice(f"Round {turn + 1} of {rounds}: {len(points)} HPL runs to check against are done"))
    return found


@contextmanager
def _folder(workshop: Workbench) -> Iterator[Path]:
    """Where runs may write: on a cluster where all nodes see it."""
    shared = workshop.places.data / "runs" if workshop.site.nodes else None
    if shared:
        shared.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hpltune-calibrate-", dir=shared, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _first_node(workshop: Workbench) -> Evaluator:
    return replace(workshop.evaluator, site=only(workshop.site, workshop.site.node_names[:1]))


def _run_calibrator(
    evaluator: Evaluator, blas: str, kernel: str, binding: str, folder: Path, stop: StopRequest, *arguments: str
) -> str:
    site = evaluator.site
    library = site.library(blas, 1)
    if library is None or evaluator.source is None:
        raise TunerError("calibrating needs a BLAS of this machine; a program of your own hides its routines")
    program = build_calibrator(Recipe(evaluator.source, site.mpi, library), evaluator.search)
    point = textbook(N=LEAST_N, NB=64, blas=blas, kernel=kernel, ranks=site.host.physical_cores, threads=1)
    every_core = plan({**point, "binding": binding}, site)
    status = evaluator.run_program(program, arguments, every_core, folder, CALIBRATOR_LIMIT_S, stop)
    if status.exit_code != 0 and not stop.requested:
        raise TunerError(f"timing {blas}'s routines failed: {status.message}")
    return RunPaths(folder).read_stdout()
