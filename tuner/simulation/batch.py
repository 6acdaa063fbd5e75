"""Many simulations of given configurations: no engine, no study, only their rates."""

import shutil
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hpl.flops import seconds
from hpl.params import Scalar
from results.record import Kind, TrialRecord, TrialState
from runners.virtual.cluster import VirtualCluster

from ..stopping import StopRequest
from ..trial.launching import NO_STUDY, MemoryBook, in_turn
from ..trial.records import started
from .cluster import SimulatedCluster
from .simulator import SimulatedTrials, Simulator


@dataclass(frozen=True)
class Wish:
    """A configuration to simulate, on the site's cluster or on a variant of it."""

    params: Mapping[str, Scalar]
    cluster: VirtualCluster | None = None

    @classmethod
    def of_real(cls, params: Mapping[str, Scalar]) -> Self:
        """What a real run had, but for what a simulated one has of the cluster: its binding and its kernel."""
        return cls({**{name: value for name, value in params.items() if name != "binding"}, "kernel": "auto"})


@dataclass(frozen=True)
class Simulated:
    """What came of a wish: GFLOPS and HPL's time in virtual seconds, or the sentence why there are none."""

    gflops: float | None
    time_s: float | None
    reason: str = ""


def simulate(
    site: SimulatedCluster,
    wishes: Sequence[Wish],
    *,
    jobs: int,
    limit_s: float,
    stop: StopRequest,
    every_message: bool | None = None,
) -> list[Simulated]:
    """Simulate configurations, several at a time.

    Returns:
        One result a wish, in their order; fewer where the user stopped it.
    """
    simulator = Simulator(site, jobs, limit_s, every_message)
    folder = Path(tempfile.mkdtemp(prefix="hpltune-simulate-"))
    book = MemoryBook(folder)
    trials = SimulatedTrials(simulator, book, lambda _: None, stop)

    def begin(wish: Wish) -> None:
        trials.begin(started(NO_STUDY, wish.params, Kind.RUN, ""), cluster=wish.cluster)

    try:
        for ended in in_turn(deque(wishes), begin, trials, stop):
            shutil.rmtree(ended.directory, ignore_errors=True)
    finally:
        simulator.close()
        shutil.rmtree(folder, ignore_errors=True)
    return [simulated(book.records[number]) for number in sorted(book.records)]


def simulated(record: TrialRecord) -> Simulated:
    """What is told of the record of a simulation."""
    if record.state is TrialState.COMPLETE and record.hpl and record.gflops:
        return Simulated(record.gflops, seconds(record.hpl.N, record.gflops))
    return Simulated(None, None, record.reason)
