"""How well cheap runs tell the rate of the full run, on recorded landscapes.

    python benchmarks/rungs.py                       # all that are shipped
    python benchmarks/rungs.py LANDSCAPE.json

For each rung: its part of a full run's seconds, launch included; the rank correlation over all configurations; by how
much it is off in the mean, and how much that differs between configurations; and what the configuration it ranks first
reaches of the best. The bridge puts a small run and a prefix together: with T(n) = A n^3 + B n^2 for what is left when
n columns are left, the small run gives T(n0) and the prefix T(N) - T(N - column), so that T(N) follows.

Then the same of sixteen configurations, as few as run in turn or are told apart by hand: the mean of many draws.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from replay import LAUNCH_S
from scipy.stats import kendalltau, spearmanr
from script import SHIPPED, as_script, opened

from hpl.sizing import flop_count, fraction_done
from tuner.replay.landscape import RecordedLandscape, RecordedPoint

Estimate = tuple[float, float]
"""GFLOPS and seconds of the launch."""


def small(_landscape: RecordedLandscape, place: RecordedPoint) -> Estimate | None:
    """The rate of the small run as it is."""
    run = place.small[0]
    return None if run.gflops is None else (run.gflops, run.cost_s)


def prefix(part: float) -> Callable[[RecordedLandscape, RecordedPoint], Estimate | None]:
    """The rate of the first columns."""

    def estimate(landscape: RecordedLandscape, place: RecordedPoint) -> Estimate | None:
        run = place.full[0]
        panel = next((panel for panel in run.panels if panel[0] >= part * landscape.N), None)
        if panel is None or panel[1] <= 0 or run.gflops is None:
            return None
        flops = fraction_done(landscape.N, panel[0]) * flop_count(landscape.N)
        return flops / panel[1] / 1e9, run.cost_s - run.time_s + panel[1]

    return estimate


def bridge(part: float) -> Callable[[RecordedLandscape, RecordedPoint], Estimate | None]:
    """A small run and a prefix together."""

    def estimate(landscape: RecordedLandscape, place: RecordedPoint) -> Estimate | None:
        begun, whole = prefix(part)(landscape, place), place.small[0]
        if begun is None or whole.gflops is None:
            return None
        N, n0 = landscape.N, landscape.small_n
        column, time_s = next(panel for panel in place.full[0].panels if panel[0] >= part * N)
        left = N - column
        terms = np.array([[n0**3, n0**2], [N**3 - left**3, N**2 - left**2]], dtype=float)
        a, b = np.linalg.solve(terms, np.array([whole.time_s, time_s]))
        total_s = float(a * N**3 + b * N**2)
        return None if total_s <= 0 else (flop_count(N) / total_s / 1e9, begun[1] + whole.cost_s)

    return estimate


RUNGS: dict[str, Callable[[RecordedLandscape, RecordedPoint], Estimate | None]] = {
    "small run": small,
    **{f"prefix of {part:.0%}": prefix(part) for part in (0.05, 0.1, 0.2, 0.3, 0.5)},
    **{f"bridge: small run and {part:.0%}": bridge(part) for part in (0.05, 0.1, 0.2)},
}


def rows(landscape: RecordedLandscape) -> Iterator[str]:
    """A line of Markdown a rung."""
    launch_s = LAUNCH_S if landscape.simulated else 0.0
    for name, rung in RUNGS.items():
        found = [(rung(landscape, place), place) for place in landscape.places if place.gflops]
        if len(told := [(estimate, place) for estimate, place in found if estimate is not None]) < 2:
            continue
        rates, truth = np.array([(estimate[0], place.gflops) for estimate, place in told]).T
        ratios = np.log(rates / truth)
        cost = fmean((estimate[1] + launch_s) / (place.full[0].cost_s + launch_s) for estimate, place in told)
        told_of = f"{cost:.0%} | {spearmanr(rates, truth).statistic:.2f} | {np.expm1(ratios.mean()):+.0%}"
        yield f"| {name} | {told_of} | {ratios.std():.1%} | {truth[int(np.argmax(rates))] / truth.max():.1%} |"


def sixteen(landscape: RecordedLandscape) -> Iterator[str]:
    """How well cheap runs rank sixteen configurations that are drawn at random; a line of Markdown a kind."""
    places = [place for place in landscape.places if place.gflops and place.small[0].gflops]
    draws = [random.Random(number).sample(range(len(places)), 16) for number in range(500)]
    truth = np.array([place.gflops for place in places])
    for name, rung in (
        (f"whole runs at {landscape.small_n / landscape.N:.2g} N", small),
        *((f"the first {part:.0%}", prefix(part)) for part in (0.03, 0.05, 0.1)),
    ):
        rates, costs = np.array([rung(landscape, place) or (0.0, 0.0) for place in places]).T
        cost = fmean(costs / [place.full[0].cost_s for place in places])
        order, pairs = (
            fmean(float(of(rates[one], truth[one]).statistic) for one in draws) for of in (spearmanr, kendalltau)
        )
        reached = fmean(truth[one][rates[one].argmax()] / truth[one].max() for one in draws)
        yield f"| {landscape.name} | {name} | {cost:.1%} | {order:.2f} | {pairs:.2f} | {reached:.1%} |"


def main(arguments: Sequence[str]) -> int:
    landscapes = [opened(path) for path in map(Path, arguments)] or list(map(opened, sorted(SHIPPED.glob("*.json"))))
    for landscape in landscapes:
        print(f"\n### {landscape.name} (N={landscape.N}, small runs at N={landscape.small_n})\n")
        head = "| rung | seconds of a full run | rank correlation | off by | differs by | its first reaches |"
        print("\n".join([head, "|" + " --- |" * 6, *rows(landscape)]))
    head = "| sixteen of | cheap run | seconds of a full run | Spearman | Kendall | its first reaches |"
    print("\n".join(["", head, "|" + " --- |" * 6, *(line for one in landscapes for line in sixteen(one))]))
    return 0


if __name__ == "__main__":
    as_script(main)
