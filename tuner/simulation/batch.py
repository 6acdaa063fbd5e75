"""Many simulations of given configurations: no engine, no study, only their rates."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hpl.params import Scalar
from runners.virtual.cluster import VirtualCluster

from ..stopping import StopRequest
from ..trial.plan import PlanError
from .cluster import SimulatedCluster
from .plan import virtual_plan
from .simulator import Simulator


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
    slots: int,
    limit_s: float,
    stop: StopRequest,
    every_message: bool | None = None,
) -> list[Simulated]:
    """Simulate configurations, several at a time.

    Returns:
        One result a wish, in their order; fewer where the user stopped it.
    """
    simulator = Simulator(site, slots, limit_s, every_message)
    folder = Path(tempfile.mkdtemp(prefix="hpltune-simulate-"))
    found: dict[int, Simulated] = {}
    waiting: list[int] = []

    def collect() -> None:
        number = waiting.pop(0)
        _, measured = simulator.next_result(stop)
        shutil.rmtree(folder / str(number), ignore_errors=True)
        fault = measured.verdict.faults[0]
        result = measured.verdict.results[0] if measured.verdict.results and not fault else None
        found[number] = Simulated(
            result.gflops if result else None, measured.cost_s if result else None, fault.reason if fault else ""
        )

    try:
        for number, wish in enumerate(wishes):
            if stop.requested:
                break
            try:
                plan = virtual_plan(wish.params, wish.cluster or site.cluster)
            except PlanError as error:
                found[number] = Simulated(None, None, str(error))
                continue
            while not simulator.free:
                collect()
            simulator.start(plan, folder / str(number))
            waiting.append(number)
        while waiting:
            collect()
    finally:
        simulator.close()
        shutil.rmtree(folder, ignore_errors=True)
    return [found[number] for number in sorted(found)]
