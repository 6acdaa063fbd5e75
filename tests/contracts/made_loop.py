"""Studies whose trials a test makes one by one, with real HPL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hpl.params import Scalar
from results.record import Kind, TrialRecord
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import Machine
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.fidelity import Fidelity, Rung
from tuner.machine.textbook import textbook
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.launch_worker import LaunchWorker
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.objective import of_study
from tuner.study.scheduler import Scheduler
from tuner.study.session import StudyContext
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

SMALL = Rung(Fidelity.SMALL, 0.35)
SPACE = 'parameters = { NB = [32, 64], grid = ["1x2", "2x1"], layout = "2x1" }'
MakeLoop = Callable[..., Scheduler]


def point(**changes: Scalar) -> dict[str, Scalar]:
    return {**textbook(N=1000, NB=32, blas="openblas", kernel="auto", ranks=2, threads=1), "grid": "1x2", **changes}


@contextmanager
def loops(home: Path) -> Iterator[MakeLoop]:
    """Makes loops of a study of its own, whose stores are closed at the end."""
    stores = []

    def make(xhpl: Path | None = None, *, walltime_s: float = 60.0) -> Scheduler:
        options = TuneOptions(blas_only=() if xhpl else ("openblas",), xhpl=xhpl)
        workshop = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)
        store = Store.open(home / "batches.db")
        stores.append(store)
        begin(store, "study", options, MachineFacts(host={}, versions={}))
        machine = Machine(cores=2, memory_bytes=2**34, blas=workshop.site.machine(all_blas=True, N=1000).blas, N=1000)
        return Scheduler(
            bench=StudyContext(store, lambda _: None, StopRequest(), home / "runs"),
            study="study",
            space=load("made for a test", machine, text=SPACE),
            evaluator=workshop.evaluator,
            meter=Meter(Budget(), RealClock()),
            walltime_s=walltime_s,
            objective=of_study(store.study("study")),
        )

    yield make
    for store in stores:
        store.close()


def launch(loop: Scheduler, points: list[dict[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
    return LaunchWorker(loop, loop.evaluator).launch(points, kind, rung)
