"""Simulates one-at-a-time tuning: what it would have found, at what cost, and what it would have missed.

Its runs are made on the model of a study, so each of them gives the rate that the model expects of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from statistics import median

from hpl.params import Scalar
from hpl.sizing import seconds
from results.record import Kind, TrialRecord
from results.stats.intervals import half_95
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine
from ..engines.baselines.one_at_a_time import OneAtATime, Sweep
from ..engines.hpl.engine import HplEngine
from ..engines.outcomes import Outcome
from ..engines.points import Codes, with_value
from .posterior import NOT_LEGAL, Rates, had

STEPS = 400
"""Configurations it may look at."""
WORTH_A_WORD = 0.1
"""Percent of the rate below which nothing was missed."""
MOST_STARTS = 64
"""Configurations of a space up to which each of them is tried as a start."""


@dataclass(frozen=True)
class SweptParameter:
    """A sweep of one parameter.

    Attributes:
        before, after: its value when the sweep began, None where the configuration had none, and the one it chose.
        followed: what else changed with it, as a grid does with the layout.
        gflops: of the configuration that was kept.
        runs: full runs that no sweep before had made.
    """

    name: str
    before: Scalar | None
    after: Scalar | None
    followed: Mapping[str, Scalar]
    gflops: float
    runs: int


@dataclass(frozen=True)
class MissedValue:
    """A parameter that the sweeps left at another value than the best configuration has.

    Attributes:
        left_at, best: its values, None where a configuration has none.
        gain_percent, gain_sd: what the best one alone would bring where the sweeps ended, None where it is not legal.
        back_percent, back_sd: what the other one alone would do to the best configuration, None where it is not legal.
    """

    name: str
    left_at: Scalar | None
    best: Scalar | None
    gain_percent: float | None
    gain_sd: float | None
    back_percent: float | None
    back_sd: float | None


@dataclass(frozen=True)
class Together:
    """What the best values of two missed parameters would bring together where the sweeps ended, in percent."""

    one: str
    other: str
    gain_percent: float
    gain_sd: float


@dataclass(frozen=True)
class Starts:
    """Where one-at-a-time tuning ends from each configuration of a small space.

    Attributes:
        count, found: all starts, and those from which it ends at the best or at one as good.
        worst: the start from which it ends at the slowest configuration; `end_gflops` is the rate there.
        missing_percent: by how much the best rate is above that.
    """

    count: int
    found: int
    worst: Mapping[str, Scalar]
    end_gflops: float
    missing_percent: float


@dataclass(frozen=True)
class OneByOne:
    """The result of one-at-a-time tuning.

    Attributes:
        start, start_gflops: the textbook's configuration.
        sweeps: all of them in turn, the last round of which changes nothing.
        end: where they end; `missing_percent` is by how much the best rate is above that of the end.
        runs, machine_s: full runs in all, and the seconds they would have taken, their launches included.
        had: whether runs had each value of the end, so that its rate is more than an estimate.
        missed: the parameters that cost most in the best configuration first.
        together: the pairs that would bring most first.
        starts: what it would have found from other starts; None in a space of too many, and of values that did not run.
    """

    start: Mapping[str, Scalar]
    start_gflops: float
    sweeps: tuple[SweptParameter, ...]
    end: Mapping[str, Scalar]
    missing_percent: float
    missing_sd: float
    runs: int
    machine_s: float
    had: bool
    missed: tuple[MissedValue, ...]
    together: tuple[Together, ...]
    starts: Starts | None = None

    @property
    def found(self) -> bool:
        """Whether the sweeps end at the best configuration, or at one that the runs cannot tell from it."""
        return self.missing_percent < max(WORTH_A_WORD, half_95(self.missing_sd))


class Way:
    """One-at-a-time tuning on the model of an engine: the points of its runs, and its sweeps.

    Args:
        start: where it begins; None for the textbook's configuration.
    """

    def __init__(self, engine: HplEngine, start: Point | None = None) -> None:
        self._walker = OneAtATime(engine.space, 0)
        self._walker.start_at = start
        self.points: list[Point] = []
        while len(self.points) < STEPS and (point := self._walker.ask()) is not None:
            self._walker.tell(point, Outcome(engine.expected_gflops(point)))
            self.points.append(point)
        self.sweeps = tuple(self._run())
        self.start = self._walker.start
        self.end = self.sweeps[-1].kept

    def gflops(self, point: Point) -> float:
        """The rate of one of the runs."""
        return self._walker.worth(point)

    def swept(self) -> Iterator[SweptParameter]:
        """Yield the sweeps with their rates and counts of runs."""
        known = {self._walker.key(self.start)}
        for sweep in self.sweeps:
            new = {self._walker.key(point) for point in sweep.points} - known
            known |= new
            changed = {name: value for name, value in sweep.kept.items() if sweep.held.get(name) != value}
            followed = {name: value for name, value in changed.items() if name != sweep.name}
            before, after = sweep.held.get(sweep.name), sweep.kept.get(sweep.name)
            yield SweptParameter(sweep.name, before, after, followed, self.gflops(sweep.kept), len(new))

    def _run(self) -> Iterator[Sweep]:
        """Yield the sweeps with the points that were run; the last sweep is cut off where there were too many steps."""
        for sweep in self._walker.sweeps():
            points = [point for point in sweep.points if self._walker.seen(point)]
            yield replace(sweep, points=points)
            if len(points) < len(sweep.points):
                return


def mixed(engine: Engine, end: Point, best: Point) -> list[Point]:
    """The configurations between the end of the sweeps and the best one; they tell what was missed, and why."""
    return [*_given(engine, end, best, 2).values(), *_given(engine, best, end, 1).values()]


def from_each_start(engine: HplEngine, fastest: Point) -> Starts | None:
    """Tune one parameter at a time from each configuration of a space; None where there are too many.

    Args:
        fastest: the best configuration.
    """
    space = engine.space
    if len(space) > MOST_STARTS:
        return None
    ways = [Way(engine, space.complete(point)) for point in space]
    best_gflops = engine.expected_gflops(fastest)
    missing = [100 * (best_gflops / way.gflops(way.end) - 1) for way in ways]
    worst = max(range(len(ways)), key=missing.__getitem__)
    return Starts(
        count=len(ways),
        found=sum(percent < WORTH_A_WORD for percent in missing),
        worst=ways[worst].start,
        end_gflops=ways[worst].gflops(ways[worst].end),
        missing_percent=missing[worst],
    )


def one_by_one(engine: HplEngine, way: Way, records: Sequence[TrialRecord], best: int, ran: Codes) -> OneByOne:
    """Compare one-at-a-time tuning with the best configuration.

    Args:
        engine: its model knows what is `mixed` of the end and the best.
        best: its place in the pool of the model.
        ran: as in `had`.

    Raises:
        FitError: rates cannot be drawn.
    """
    process, pool = engine.model()
    end, fastest, space = way.end, pool.points[best], engine.space
    towards, back = _given(engine, end, fastest, 2), _given(engine, fastest, end, 1)
    points = [fastest, end, *towards.values(), *back.values()]
    rates = Rates.of(process, pool, [pool.places[engine.key(point)] for point in points])
    gains = {names: rates.above(number, 1) for number, names in enumerate(towards, start=2)}
    taken_back = {names: rates.above(number, 0) for number, names in enumerate(back, start=2 + len(towards))}
    missed = []
    for name in _different(space, end, fastest):
        gain, loss = gains.get((name,)) or NOT_LEGAL, taken_back.get((name,)) or NOT_LEGAL
        missed.append(MissedValue(name, end.get(name), fastest.get(name), *gain, *loss))
    together = [Together(names[0], names[1], *gain) for names, gain in gains.items() if len(names) == 2]
    missing_percent, missing_sd = rates.above(0, 1)
    launch_s, known = _launch_s(records), had(pool, ran)
    return OneByOne(
        start=way.start,
        start_gflops=way.gflops(way.start),
        sweeps=tuple(way.swept()),
        end=end,
        missing_percent=missing_percent,
        missing_sd=missing_sd,
        runs=len(way.points),
        machine_s=sum(launch_s + _time_s(space, point, way.gflops(point)) for point in way.points),
        had=bool(known[pool.places[engine.key(end)]]),
        missed=tuple(sorted(missed, key=lambda one: one.back_percent or 0.0)),
        together=tuple(sorted(together, key=lambda pair: -pair.gain_percent)),
        starts=from_each_start(engine, fastest) if known.all() else None,
    )


def _different(space: SearchSpace, one: Point, other: Point) -> list[str]:
    """The varying parameters in which HPL can tell two configurations apart."""
    ones, others = space.representative(one), space.representative(other)
    differs = [name for name in space.varying if one.get(name) != other.get(name)]
    return [name for name in differs if ones.get(name) != others.get(name)]


def _given(engine: Engine, here: Point, there: Point, most: int) -> dict[tuple[str, ...], Point]:
    """The legal points that take up to `most` values of another configuration, by the names of the parameters.

    What must follow is changed with them.
    """
    names = [name for name in _different(engine.space, here, there) if name in there]
    found = {}
    for some in (some for count in range(1, most + 1) for some in combinations(names, count)):
        point = _with(engine, here, {name: there[name] for name in some})
        if point is not None:
            found[some] = point
    return found


def _with(engine: Engine, here: Point, values: Point) -> Point | None:
    """The legal point with some values changed, one after the other in any order; None where there is none."""
    for order in permutations(values):
        point: Point | None = here
        for name in order:
            point = None if point is None else with_value(engine.space, point, name, values[name])
        if point is not None and values.items() <= point.items():
            return point
    return None


def _launch_s(records: Sequence[TrialRecord]) -> float:
    """Seconds of a launch beside HPL's own time, in the median of full runs; 0 where that is not known."""
    kinds = {Kind.SEARCH, Kind.CONFIRMATION}
    known = [
        record.cost_s - record.time_s
        for record in records
        if record.ranked and record.kind in kinds and record.cost_s is not None and record.time_s is not None
    ]
    return median(known) if known else 0.0


def _time_s(space: SearchSpace, point: Point, gflops: float) -> float:
    return seconds(int(space.complete(point)["N"]), gflops)
