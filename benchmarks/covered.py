"""How often `best`, `compare` and `check` are right on machines that are noisy, drift, or have two speeds or occasions.

    python benchmarks/covered.py
    python benchmarks/covered.py --studies 300

A study of `best`: 10 configurations whose true rates differ by 3 % (standard deviation) run once, the best three twice
more. A long one: 40, and one of them, the reference, again after every tenth. `compare` and `check` get two occasions
of one configuration, so that each "faster" and "slower" is wrong. Checks a minute apart are of the first occasion.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
from intervals import markdown, percent
from script import as_script, count

from results.stats.compare import RateSample, contrasts
from results.stats.confidence import rerank_by_posterior, standing
from results.stats.noise import Array, noise_of
from results.stats.occasions import APART as OCCASION
from results.stats.occasions import Occasions, speed_change
from results.stats.ranking import Ranked, Time
from results.stats.unfit import MOVED, two_speeds
from tuner.study.machine_changes import BUSY_NOISE, drift
from tuner.study.occasions import TimedRate, occasions_of
from tuner.study.search.reference_runs import EVERY

CONFIGURATIONS, FINALISTS, ROUNDS = 10, 3, 2
BEFORE, NOW = 3, 5
"""Runs of a check, and of its baseline."""
VERDICTS = ("slower", "slower today", "not slower", "cannot tell")
LONG = 4 * EVERY
"""Configurations of a long study."""
CLAIMED = 0.9
"""A confidence from which being right in less than 88 of 100 is too high."""
OCCASIONS = (0.0, 0.01, 0.03)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
EARLIER = {"none": (0, DAY), "5, a day apart": (5, DAY), "20, a minute apart": (20, MINUTE)}
"""Earlier checks of the same configuration that are stored: how many, and how far apart."""
MORE = 5
"""Pairs of occasions for each study of `best`: they take less time."""


@dataclass(frozen=True)
class RunKind:
    """How runs differ.

    Attributes:
        noise: standard deviation in logarithms.
        lost: what a run loses beside, in logarithms.
        lasts: runs for which what is lost stays the same on average, before it is drawn anew.
        apart: standard deviation of the true rates of the configurations, in logarithms.
        drift: by how much the machine slows evenly during the study.
        shown: the noise that is assumed before anything ran twice.
    """

    name: str
    noise: float
    lost: Callable[[np.random.Generator], float] = lambda _: 0.0
    lasts: float = 1.0
    apart: float = 0.03
    drift: float = 0.0
    shown: float = 0.0


def lower_speed(chance: np.random.Generator) -> float:
    """Every other run is at a speed that is 8 % lower."""
    return 0.08 * float(chance.integers(2))


def busy(chance: np.random.Generator) -> float:
    """Each run loses 0 to 70 %."""
    return -math.log1p(-0.7 * float(chance.random()))


KINDS = (
    RunKind("normal 0.3 %", 0.003),
    RunKind("normal 1 %", 0.01),
    RunKind("normal 3 %", 0.03),
    RunKind("normal 10 %", 0.1),
    RunKind("normal 30 %", 0.3),
    RunKind("1 %, one in 10 loses Exp(10 %)", 0.01, lambda one: one.exponential(0.1) * (one.random() < 0.1)),
    RunKind("1 %, three in 10 lose Exp(20 %)", 0.01, lambda one: one.exponential(0.2) * (one.random() < 0.3)),
    RunKind("1 %, one in 5 loses Exp(20 %)", 0.01, lambda one: one.exponential(0.2) * (one.random() < 0.2)),
    RunKind("1 %, two speeds 8 % apart", 0.01, lower_speed),
    RunKind("1 %, two speeds 8 % apart, each for 6 runs", 0.01, lower_speed, lasts=3),
    RunKind("2 %, near ties: rates differ by 1 %", 0.02, apart=0.01),
    RunKind("3 %, near ties: rates differ by 1 %", 0.03, apart=0.01),
    RunKind("busy: each run loses 0 to 70 %", 0.01, busy),
    RunKind("1 %, drifts by 5 %", 0.01, drift=0.05),
    RunKind("1 %, drifts by 20 %", 0.01, drift=0.2),
    RunKind("1 %, busy only at the start", 0.01, shown=BUSY_NOISE),
    RunKind("10 %, busy at the start", 0.1, shown=BUSY_NOISE),
)


@dataclass
class Told:
    """What was told of some studies, and whether it was right."""

    inside: list[bool] = field(default_factory=list)
    sure: list[bool] = field(default_factory=list)
    refused: int = 0
    drifts: int = 0
    speeds: int = 0


@dataclass(frozen=True)
class DrawnStudy:
    """A study whose truth is known.

    Attributes:
        moved: by how much the reference says that the machine changed; 0 for not, and without a reference.
    """

    entries: Sequence[Ranked]
    moved: float = 0.0


def best(kind: RunKind, studies: int, configurations: int = CONFIGURATIONS, *, reference: bool = False) -> Told:
    """Rank studies, and hold the interval and the confidence against the truth.

    Args:
        reference: one configuration runs again every so often.
    """
    told, chance = Told(), np.random.default_rng([KINDS.index(kind), studies])
    for _ in range(studies):
        true = kind.apart * chance.standard_normal(configurations)
        study = _study(kind, true, chance, reference=reference)
        ranking = rerank_by_posterior(study.entries, kind.shown)
        first, sure = ranking[0], standing(ranking, kind.shown, study.moved)
        told.drifts += abs(study.moved) > MOVED
        told.speeds += two_speeds([np.log(np.array(one.gflops)) for one in ranking if one.runs > 1]) > 0
        if first.interval_gflops:
            low, high = np.log(first.interval_gflops)
            told.inside.append(bool(low <= true[int(first.key)] + math.log1p(-kind.drift) <= high))
        if sure is None or sure.unfit:
            told.refused += 1
        elif sure.confidence >= CLAIMED:
            told.sure.append(int(first.key) == int(np.argmax(true)))
    return told


def _study(kind: RunKind, true: Array, chance: np.random.Generator, *, reference: bool) -> DrawnStudy:
    """Each configuration once, and the best twice more."""
    count, again = len(true), list[tuple[float, float]]()
    whole, done = count + FINALISTS * ROUNDS + (count // EVERY if reference else 0), 0
    lost = kind.lost(chance)

    def run(place: int) -> float:
        nonlocal done, lost
        if chance.random() * kind.lasts < 1:
            lost = kind.lost(chance)
        slowed = math.log1p(-kind.drift * done / whole)
        done += 1
        return float(np.exp(true[place] + slowed + kind.noise * chance.standard_normal() - lost))

    runs = list[list[tuple[float, Time]]]()
    for place in range(count):
        runs.append([(run(place), Time(0, 0))])
        if reference and place % EVERY == EVERY - 1:
            runs[0].append((run(0), Time(0, 0)))
            again.append((done, runs[0][-1][0]))
    finalists = sorted(range(count), key=lambda place: -runs[place][0][0])[:FINALISTS]
    for turn in range(1, ROUNDS + 1):
        for place in finalists:
            runs[place].append((run(place), Time(0, turn)))
    entries = [
        Ranked(str(place), {}, tuple(rate for rate, _ in own), place, times=tuple(time for _, time in own))
        for place, own in enumerate(runs)
    ]
    repeats = [np.log([rate for rate, time in runs[place] if time.turn]) for place in finalists]
    return DrawnStudy(entries, drift([(1, runs[0][0][0]), *again], repeats))


def compared(apart: float, earlier: tuple[int, timedelta], studies: int) -> tuple[list[bool], list[bool], list[bool]]:
    """Whether `compare` says "faster" and `check` "slower" of two occasions, and whether the interval holds 0."""
    faster, slower, inside = [], [], []
    checks, later = earlier
    chance = np.random.default_rng([int(1000 * apart), checks, studies])

    def level() -> float:
        return apart * float(chance.standard_normal())

    def runs_at(level: float, runs: int = 5) -> tuple[float, ...]:
        return tuple(np.exp(level + 0.01 * chance.standard_normal(runs)).tolist())

    for _ in range(studies):
        first, begin = level(), datetime(2026, 3, 1, tzinfo=UTC)
        one, other = runs_at(first), runs_at(level())
        history = [TimedRate(begin, rate) for rate in one]
        for place in range(1, checks + 1):
            again = runs_at(first if later < OCCASION else level(), 3)
            history += [TimedRate(begin + place * later, rate) for rate in again]
        known: Occasions = occasions_of([history])
        noise = noise_of([np.log(one), np.log(other)])
        [found] = contrasts([RateSample(one, noise), RateSample(other, noise)], 0.01, known)
        faster.append(found.shown)
        inside.append(found.interval is not None and found.interval[0] <= 0.0 <= found.interval[1])
        slower.append(speed_change(one[:3], other[:3], 0.02, 0.0, known).slower)
    return faster, slower, inside


def checked(noise: float, loss: float, lasts: float, checks: int) -> dict[bool, Counter[str]]:
    """The verdicts of checks of a configuration that lost so much, without and with a reference that lost nothing.

    Occasions differ by 2 %, and so do states of the machine, which last some runs; all of both hits the reference, too.
    The baseline and the reference ran three times each on one occasion, and now five times in turn.

    Args:
        lasts: runs for which a state lasts on average; 0 where there are none.
    """
    found, chance = {False: Counter[str](), True: Counter[str]()}, np.random.default_rng([int(1e4 * noise), checks])
    known = occasions_of([])

    def runs(count: int, level: float) -> list[tuple[float, float]]:
        rates, state = list[list[float]](), 0.0
        for turn in range(count):
            rates.append([])
            for side in (0.0, 1.0):
                if lasts and (not turn or chance.random() * lasts < 1):
                    state = 0.02 * float(chance.standard_normal())
                own = side * math.log1p(-loss) if count > BEFORE else 0.0
                rates[-1].append(math.exp(level + state + own + noise * float(chance.standard_normal())))
        return [(one, other) for one, other in rates]

    for _ in range(checks):
        before, now = (runs(count, 0.02 * float(chance.standard_normal())) for count in (BEFORE, NOW))
        change = speed_change([own for _, own in before], [own for _, own in now], 0.02, 0.0, known)
        against = speed_change([own / one for one, own in before], [own / one for one, own in now])
        for reference, told in found.items():
            slower = change.slower or (reference and against.slower)
            today = "slower today" if change.slower_now else "not slower" if change.can_tell else "cannot tell"
            told["slower" if slower else today] += 1
    return found


def _check_rows(checks: int) -> list[list[str]]:
    """Checks of each noise and loss, without and with states that last."""
    rows = []
    for noise, lasts, loss in product((0.003, 0.01, 0.03), (0, 6), (0.0, 0.03, 0.05, 0.1)):
        told = checked(noise, loss, lasts, checks)
        cells = [f"{100 * told[reference][name] / checks:.0f}" for reference in told for name in VERDICTS]
        rows.append([f"{100 * noise:g} %", f"{lasts} runs" if lasts else "none", f"{100 * loss:g} %", *cells])
    return rows


LONG_HEADS = ["runs", "reference", "drift told, of 100", "two speeds told, of 100", "no percentage told, of 100"]
LONG_HEADS += [f"told ≥ {CLAIMED:.0%} sure: right"]


def _short_rows(studies: int, configurations: int) -> list[list[str]]:
    """Studies of each kind."""
    rows = []
    for kind in KINDS:
        told = best(kind, studies, configurations)
        right = f"{sum(told.sure)} of {len(told.sure)}"
        rows.append([kind.name, percent(told.inside), f"{100 * told.refused / studies:.0f}", right])
    return rows


def _long_rows(studies: int) -> list[list[str]]:
    """Long studies of each kind, without and with a reference."""
    rows = []
    for kind in KINDS:
        for reference in (False, True):
            told = best(kind, studies, LONG, reference=reference)
            parts = [f"{100 * part / studies:.0f}" for part in (told.drifts, told.speeds, told.refused)]
            right = f"{sum(told.sure)} of {len(told.sure)}"
            rows.append([kind.name, "yes" if reference else "no", *parts, right])
    return rows


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=count, default=120, help="of each kind")
    asked = parser.parse_args(arguments)
    rows, few = (_short_rows(asked.studies, count) for count in (CONFIGURATIONS, FINALISTS))
    heads = ["runs", "`best`: true rate inside", "no percentage told, of 100", f"told ≥ {CLAIMED:.0%} sure: right"]
    say(f"{asked.studies} studies a row, ± standard error.\n\n{markdown(heads, rows)}\n")
    say(f"The same of {FINALISTS} configurations, all of which ran three times.\n\n{markdown(heads, few)}\n")
    say(f"Studies of {LONG} configurations.\n\n{markdown(LONG_HEADS, _long_rows(asked.studies))}\n")
    heads = ["runs differ by", "states last", "true loss"]
    heads += [f"{name}{' with a reference' * reference}" for reference in (False, True) for name in VERDICTS]
    say(f"{asked.studies} checks a row, of 100.\n\n{markdown(heads, _check_rows(asked.studies))}\n")
    rows = []
    for apart in OCCASIONS:
        for name, earlier in EARLIER.items():
            faster, slower, inside = compared(apart, earlier, MORE * asked.studies)
            rows.append([f"{100 * apart:g} %", name, *map(percent, (faster, inside, slower))])
    heads = ["occasions differ by", "earlier checks stored", '`compare`: wrongly "faster"']
    heads += ["interval holds 0", '`check`: wrongly "slower"']
    say(f"{MORE * asked.studies} pairs of occasions a row.\n\n{markdown(heads, rows)}")
    return 0


if __name__ == "__main__":
    as_script(main)
