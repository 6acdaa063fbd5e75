"""Published tests beside simulated ones, then the search that the authors had no time for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from hpl.params import Scalar
from results.record import Kind
from results.stats.ranking import Ranked

from ...stopping import StopRequest
from ..batch import Simulated, Wish, simulate
from ..cluster import SimulatedCluster
from ..study import VirtualStudy
from .published import Published, PublishedTest


@dataclass(frozen=True)
class TestRow:
    """A published test and its simulation."""

    test: PublishedTest
    simulated: Simulated

    @property
    def error(self) -> float | None:
        """Simulated over published rate, less 1; None where the simulation failed."""
        return None if self.simulated.gflops is None else self.simulated.gflops / self.test.gflops - 1


@dataclass(frozen=True)
class SettingRow:
    """One setting of the best configuration, all others left as they are.

    Attributes:
        best: its value there.
        published: its value in the best published test; None where the publication does not state it.
        assumed: the value that was taken for it where it is not stated, else None.
        loss: part of the best rate lost with the published or assumed value; 0 where it is the same, None where it
            cannot run.
        worst, worst_loss: the value that costs most.
    """

    name: str
    best: Scalar
    published: Scalar | None
    assumed: Scalar | None
    loss: float | None
    worst: Scalar
    worst_loss: float


@dataclass(frozen=True)
class Found:
    """What the search found.

    Attributes:
        winner: the best configuration.
        settings: what each of its settings is worth, most first.
        advised: the best of those that the published advice leaves; None where none of them gave a result.
    """

    winner: Ranked
    settings: tuple[SettingRow, ...]
    advised: Ranked | None


def simulate_tests(
    site: SimulatedCluster, published: Published, *, slots: int, limit_s: float, stop: StopRequest
) -> tuple[TestRow, ...]:
    """Simulate the published tests."""
    wishes = [Wish(published.params(test, site.cluster.cores)) for test in published.tests]
    simulated = simulate(site, wishes, slots=slots, limit_s=limit_s, stop=stop)
    return tuple(TestRow(test, row) for test, row in zip(published.tests, simulated, strict=False))


def judged(rows: Sequence[TestRow]) -> dict[int, float]:
    """Sizes of the errors of the predicted tests that do not stand apart and gave a result, by number."""
    predicted = [row for row in rows if row.test.role == "predicted" and not row.test.apart]
    return {row.test.number: abs(row.error) for row in predicted if row.error is not None}


def typical_error(rows: Sequence[TestRow]) -> tuple[float, float] | None:
    """Median and largest size of the errors of the tests that are judged; None without any."""
    sizes = judged(rows).values()
    return (median(sizes), max(sizes)) if sizes else None


def gain(rows: Sequence[TestRow], before: int, after: int) -> tuple[float, float] | None:
    """What one published test gained over another, as published and as simulated; None where one is missing."""
    found = {row.test.number: row for row in rows}
    if before not in found or after not in found:
        return None
    old, new = found[before], found[after]
    if not old.simulated.gflops or not new.simulated.gflops:
        return None
    return new.test.gflops / old.test.gflops - 1, new.simulated.gflops / old.simulated.gflops - 1


def search(study: VirtualStudy, engine: str, seed: int) -> Ranked | None:
    """The best that a search found and polishing left; None where the user stopped it or nothing gave a result."""
    study.search(study.engine(engine, seed), 1)
    best = polished(study) if study.ranking() else None
    return None if study.stopped else best


def polished(study: VirtualStudy) -> Ranked:
    """The study's best after every setting of it was tried on its own, until that gains nothing."""
    best = study.ranking()[0]
    while not study.stopped:
        study.try_all([point for _, point in neighbours(study, best.params)], Kind.SEARCH)
        better = study.ranking()[0]
        if better.key == best.key:
            break
        best = better
    return best


def neighbours(study: VirtualStudy, params: Mapping[str, Scalar]) -> list[tuple[str, dict[str, Scalar]]]:
    """The legal points that differ from `params` in one setting, with its name."""
    found = []
    for name, parameter in study.space.varying.items():
        for value in parameter.values_in(params):
            point = {**params, name: value}
            if value != params[name] and study.space.why_not(point) is None:
                found.append((name, point))
    return found


def weighed(study: VirtualStudy, winner: Ranked, published: Published) -> tuple[SettingRow, ...]:
    """What each setting of a polished winner is worth, most first."""
    test = published.test(int(published.best["test"]))
    simulated = published.params(test, study.site.cluster.cores)
    best = winner.expected_gflops
    rates = {entry.key: entry.expected_gflops for entry in study.ranking()}
    losses: dict[str, dict[Scalar, float]] = {}
    for name, point in neighbours(study, winner.params):
        rate = rates.get(study.space.key(point))
        if rate is not None:
            losses.setdefault(name, {})[point[name]] = 1 - rate / best
    rows = []
    for name, lost in losses.items():
        worst = max(lost, key=lambda value: lost[value])
        was = simulated.get(name)
        loss = 0.0 if was == winner.params[name] else lost.get(was) if was is not None else None
        stated, assumed = (None, was) if name in published.unstated and name not in test.params else (was, None)
        rows.append(SettingRow(name, winner.params[name], stated, assumed, loss, worst, lost[worst]))
    return tuple(sorted(rows, key=lambda row: -row.worst_loss))
