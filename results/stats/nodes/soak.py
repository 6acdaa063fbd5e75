"""What a burn-in tells: nodes that got slower while HPL ran again and again, and whether their clock did, too."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from .check import NodeCheck, SoakSample
from .finding import Finding, Severity, ranges

FEWEST_RUNS = 4
"""Runs of a node that tell whether it got slower: one disturbed run at the begin or the end does not."""
SMALLEST_FALL = 0.03
"""Part of the rate: HPL's usual scatter on a node is up to 1 %."""
SCATTERS = 3.0
"""A fall is so many times the scatter of the runs before and after it."""
MEDIAN_TO_SD = 1.4826
"""From the median of distances to a standard deviation, where values are normal."""
HOT_C = 80.0
"""Processors slow down from 85 to 105 °C."""


@dataclass(frozen=True)
class SoakedNode:
    """What a burn-in showed of one node; None where it has no such sensor.

    Attributes:
        first, last: GFLOPS of the first and of the last run.
        mhz: median clock.
        celsius: the highest temperature.
    """

    node: str
    runs: int
    first: float
    last: float
    mhz: float | None
    celsius: float | None


@dataclass(frozen=True)
class _Fall:
    """A node that got slower: GFLOPS before and after, and the seconds until then."""

    node: str
    before: float
    after: float
    at_s: float

    @property
    def part(self) -> float:
        return 1.0 - self.after / self.before


def soaked_nodes(check: NodeCheck) -> list[SoakedNode]:
    """Sum up the burn-in of each node, in the order of the check."""
    found = []
    for node, samples in samples_by_node(check).items():
        rates = [one.gflops for one in samples if one.gflops is not None]
        if rates:
            clocks = [one.mhz for one in samples if one.mhz is not None]
            hottest = max((one.celsius for one in samples if one.celsius is not None), default=None)
            clock = median(clocks) if clocks else None
            found.append(SoakedNode(node, len(rates), rates[0], rates[-1], clock, hottest))
    return found


def samples_by_node(check: NodeCheck) -> dict[str, list[SoakSample]]:
    """Return the samples of each node, in the order of the check and of time."""
    found: dict[str, list[SoakSample]] = defaultdict(list)
    for sample in sorted(check.soak, key=lambda one: one.at_s):
        found[sample.node].append(sample)
    return {node: found[node] for node in check.nodes if node in found}


def soak_findings(check: NodeCheck) -> list[Finding]:
    """Find nodes that got slower, each with what its clock and its temperature did.

    Where most nodes do, it is how the cluster is when it is warm: one note tells it, and only those are named that fall
    further.
    """
    samples = samples_by_node(check)
    falls = [fall for node, own in samples.items() if (fall := _fall(node, own)) is not None]
    usual = median(fall.part for fall in falls) if 2 * len(falls) > max(2, len(samples)) else 0.0
    found = [_found(fall, samples[fall.node]) for fall in falls if fall.part >= usual + SMALLEST_FALL]
    return [*found, *([_all_fall(falls, usual)] if usual else [])]


def _fall(node: str, samples: Sequence[SoakSample]) -> _Fall | None:
    """Find where a node's rate falls, if it does: the split that leaves the smallest distances to two medians."""
    runs = [(one.at_s, one.gflops) for one in samples if one.gflops]
    if len(runs) < FEWEST_RUNS:
        return None
    rates = [rate for _, rate in runs]
    splits = range(FEWEST_RUNS // 2, len(rates) - FEWEST_RUNS // 2 + 1)
    at = min(splits, key=lambda place: sum(_distances(rates[:place]) + _distances(rates[place:])))
    fall = _Fall(node, median(rates[:at]), median(rates[at:]), runs[at - 1][0])
    scatter = MEDIAN_TO_SD * median(_distances(rates[:at]) + _distances(rates[at:]))
    return fall if fall.part >= SMALLEST_FALL and fall.before - fall.after >= SCATTERS * scatter else None


def _distances(values: Sequence[float]) -> list[float]:
    middle = median(values)
    return [abs(value - middle) for value in values]


def _found(fall: _Fall, samples: Sequence[SoakSample]) -> Finding:
    sentence = (
        f"{fall.node} fell from {fall.before:.4g} to {fall.after:.4g} GFLOPS after {_minutes(fall.at_s)}"
        f"{_why(samples, fall.at_s)}"
    )
    return Finding(Severity.SLOW, "falls", (fall.node,), "hpl", sentence, 100.0 * fall.part)


def _why(samples: Sequence[SoakSample], at_s: float) -> str:
    """Tell what clock and temperature say about a fall."""
    before = [one.mhz for one in samples if one.mhz is not None and one.at_s <= at_s]
    after = [one.mhz for one in samples if one.mhz is not None and one.at_s > at_s]
    hottest = max((one.celsius for one in samples if one.celsius is not None and one.at_s > at_s), default=None)
    counts = [one.throttled for one in samples if one.throttled is not None]
    slowed = counts[-1] - counts[0] if counts else 0.0
    warm = "" if hottest is None else f" at {hottest:.0f} °C"
    times = f"; heat slowed its cores down {slowed:,.0f} times" if slowed else ""
    if not before or not after:
        return f"{warm}{times}; its clock is not known" + ("; look at its cooling" if slowed else "")
    old, new = median(before), median(after)
    if new > (1.0 - SMALLEST_FALL) * old:
        return f"{warm}{times}, and its clock did not fall: look at what else runs there, and at its memory"
    clock = f" while its clock fell from {old:,.0f} to {new:,.0f} MHz{warm}{times}"
    hot = slowed or (hottest is not None and hottest >= HOT_C)
    return f"{clock}: {'look at its cooling' if hot else 'look at its power limit and its cooling'}"


def _all_fall(falls: Sequence[_Fall], usual: float) -> Finding:
    nodes = tuple(fall.node for fall in falls)
    sentence = (
        f"{ranges(nodes)} fell by {100.0 * usual:.1f} % (median) after "
        f"{_minutes(median(fall.at_s for fall in falls))}: "
        "so much less than a short run shows is what these nodes hold when they are warm"
    )
    return Finding(Severity.NOTE, "all-fall", nodes, "hpl", sentence, 100.0 * usual)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"
