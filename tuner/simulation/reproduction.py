"""Published results of real clusters, simulated again, and the search that their authors had no time for."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import median
from typing import Any

from hpl.params import Scalar
from results.record import Kind
from results.stats.ranking import Ranked

from ..errors import UsageError
from ..stopping import StopRequest
from ..study.sized_study import SizedStudy
from .cluster import SimulatedCluster
from .simulator import Simulated, Wish, simulate


@dataclass(frozen=True)
class PublishedTest:
    """One row of a published table.

    Attributes:
        percent_of_peak: as published, a whole number.
        role: "fitted" where a constant of the virtual cluster was fitted to this test, else "predicted".
        what: what was new in this test, in a phrase.
        apart: the test is so unlike the others that its error is not counted among theirs.
        after: number of the test that this one changes; None for the one before it.
    """

    number: int
    gflops: float
    percent_of_peak: int
    role: str
    what: str
    params: Mapping[str, Scalar]
    apart: bool = False
    after: int | None = None


@dataclass(frozen=True)
class PublishedGain:
    """A pair of tests that differ in one thing, by their numbers, and what that thing is."""

    what: str
    before: int
    after: int


@dataclass(frozen=True)
class PublishedAdvice:
    """What the authors advise, and the values of the search space that follow the advice."""

    what: str
    values: Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class KnownDifference:
    """A setting whose best value may be another in the simulation than in the publication, and why."""

    setting: str
    published: Scalar
    why: str


@dataclass(frozen=True)
class PublishedTuning:
    """What a publication says of a cluster.

    Attributes:
        title: of a report that repeats it.
        task: what a student is asked to do, in a sentence.
        space: the search space of all settings that the authors could have changed.
        facts: what else the publication says, in sentences.
        unstated: settings that the publication does not state, with the values that the simulations take.
        best: the figures of its best configuration, by name with their units.
        differs: settings whose best published value is not the best one in the model, with the reason.
        gains: pairs of tests that differ in one thing.
        advice: what the authors advise; a second search follows it.
    """

    name: str
    cluster: str
    source: str
    space: str
    title: str
    task: str
    facts: Sequence[str]
    unstated: Mapping[str, Scalar]
    best: Mapping[str, float]
    tests: tuple[PublishedTest, ...]
    differs: tuple[KnownDifference, ...]
    gains: tuple[PublishedGain, ...]
    advice: PublishedAdvice

    def params(self, test: PublishedTest, ranks: int) -> dict[str, Scalar]:
        """A test as a complete point: the values that are stated, and those taken for the rest."""
        return {**self.unstated, **test.params, "layout": f"{ranks}x1"}

    def test(self, number: int) -> PublishedTest:
        """The test of that number."""
        return next(test for test in self.tests if test.number == number)

    def changed_by(self, test: PublishedTest) -> PublishedTest | None:
        """The test that this one changes; None for the first."""
        return next((other for other in self.tests if other.number == (test.after or test.number - 1)), None)


def names() -> tuple[str, ...]:
    """The names of the publications that come with hpltune."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _package().iterdir()))


def published(name: str, field: str = "") -> PublishedTuning:
    """Read the figures of a publication.

    Args:
        field: of what was asked that named it; "" where nothing else did.

    Raises:
        TunerError: there is none of that name.
    """
    if name not in names():
        sentence = f"there is no published tuning {name}: take {' or '.join(names())}"
        raise UsageError(sentence, field=field, given=name if field else None)
    table: dict[str, Any] = tomllib.loads((_package() / f"{name}.toml").read_text(encoding="utf-8"))
    return PublishedTuning(
        name=name,
        tests=tuple(PublishedTest(number=row.pop("test"), **row) for row in table.pop("tests")),
        differs=tuple(KnownDifference(**row) for row in table.pop("differs")),
        gains=tuple(PublishedGain(**row) for row in table.pop("gains")),
        advice=PublishedAdvice(table["advice"]["what"], table.pop("advice")["set"]),
        **table,
    )


def _package() -> Any:
    return files(__package__) / "published"


@dataclass(frozen=True)
class ComparedTest:
    """A published test and its simulation."""

    test: PublishedTest
    simulated: Simulated

    @property
    def error(self) -> float | None:
        """Simulated over published rate, less 1; None where the simulation failed."""
        return None if self.simulated.gflops is None else self.simulated.gflops / self.test.gflops - 1


def simulate_tests(
    site: SimulatedCluster, published: PublishedTuning, *, jobs: int, limit_s: float, stop: StopRequest
) -> tuple[ComparedTest, ...]:
    """Simulate the published tests; fewer where somebody stopped it."""
    wishes = [Wish(published.params(test, site.cluster.cores)) for test in published.tests]
    simulated = simulate(site, wishes, jobs=jobs, limit_s=limit_s, stop=stop)
    return tuple(ComparedTest(test, row) for test, row in zip(published.tests, simulated, strict=False))


def simulated_gflops(tests: Sequence[ComparedTest], number: int) -> float | None:
    """The simulated rate of the test of that number; None where there is none."""
    return next((row.simulated.gflops for row in tests if row.test.number == number), None)


def error_sizes(tests: Sequence[ComparedTest]) -> dict[int, float]:
    """The size of the error of each predicted test that gave a result and does not stand apart, by test number."""
    predicted = [row for row in tests if row.test.role == "predicted" and not row.test.apart]
    return {row.test.number: abs(row.error) for row in predicted if row.error is not None}


def typical_error(tests: Sequence[ComparedTest]) -> tuple[float, float] | None:
    """Median and largest of the error sizes; None where there is no error to count."""
    sizes = error_sizes(tests).values()
    return (median(sizes), max(sizes)) if sizes else None


def gain(tests: Sequence[ComparedTest], before: int, after: int) -> tuple[float, float] | None:
    """How much faster one test is than another, as published and as simulated; None where one has no result."""
    rows = {row.test.number: row for row in tests}
    if before not in rows or after not in rows:
        return None
    old, new = rows[before], rows[after]
    if not old.simulated.gflops or not new.simulated.gflops:
        return None
    return new.test.gflops / old.test.gflops - 1, new.simulated.gflops / old.simulated.gflops - 1


@dataclass(frozen=True)
class SettingLoss:
    """What is lost by changing one setting of the best configuration.

    Attributes:
        best: its value in the best configuration.
        published: its value in the best published test; None where the publication does not state it.
        assumed: the value that the simulations took where the publication states none, else None.
        loss: part of the best rate that is lost with the published or assumed value; 0 where it is the best value too,
            None where that value cannot run.
        worst: the value that costs most, and `worst_loss` what it costs.
    """

    name: str
    best: Scalar
    published: Scalar | None
    assumed: Scalar | None
    loss: float | None
    worst: Scalar
    worst_loss: float


@dataclass(frozen=True)
class BestFound:
    """What the two searches found.

    Attributes:
        winner: the best configuration.
        settings: what each of its settings is worth, most first.
        advised: the best configuration that follows the published advice; None where none of these gave a result.
    """

    winner: Ranked
    settings: tuple[SettingLoss, ...]
    advised: Ranked | None


def search(study: SizedStudy) -> Ranked | None:
    """Search and polish; None where somebody stopped it or nothing gave a result."""
    study.search()
    best = polish(study) if study.session.ranking() else None
    return None if study.session.stopped else best


def polish(study: SizedStudy) -> Ranked:
    """Try every value of each setting of the best configuration on its own, until that gains nothing.

    Returns:
        The best configuration then.
    """
    best = study.session.ranking()[0]
    while not study.session.stopped:
        study.try_all([point for _, point in neighbours(study, best.params)], Kind.SEARCH)
        better = study.session.ranking()[0]
        if better.key == best.key:
            break
        best = better
    return best


def neighbours(study: SizedStudy, params: Mapping[str, Scalar]) -> list[tuple[str, dict[str, Scalar]]]:
    """The legal points that differ from `params` in one setting, with its name."""
    found = []
    for name, parameter in study.session.space.varying.items():
        for value in parameter.values_in(params):
            point = {**params, name: value}
            if value != params[name] and study.session.space.why_not(point) is None:
                found.append((name, point))
    return found


def setting_losses(
    study: SizedStudy, winner: Ranked, published: PublishedTuning, cores: int
) -> tuple[SettingLoss, ...]:
    """What each setting of a polished winner is worth, most first.

    Args:
        cores: of the virtual cluster.
    """
    test = published.test(int(published.best["test"]))
    simulated = published.params(test, cores)
    rows = []
    for name, lost in _losses(study, winner).items():
        worst = max(lost, key=lambda value: lost[value])
        was = simulated.get(name)
        loss = 0.0 if was == winner.params[name] else lost.get(was) if was is not None else None
        stated, assumed = (None, was) if name in published.unstated and name not in test.params else (was, None)
        rows.append(SettingLoss(name, winner.params[name], stated, assumed, loss, worst, lost[worst]))
    return tuple(sorted(rows, key=lambda row: -row.worst_loss))


def _losses(study: SizedStudy, winner: Ranked) -> dict[str, dict[Scalar, float]]:
    """The part of the winner's rate that each other value of a setting loses, by setting and value."""
    rates = {entry.key: entry.expected_gflops for entry in study.session.ranking()}
    losses: dict[str, dict[Scalar, float]] = {}
    for name, point in neighbours(study, winner.params):
        rate = rates.get(study.session.space.key(point))
        if rate is not None:
            losses.setdefault(name, {})[point[name]] = 1 - rate / winner.expected_gflops
    return losses
