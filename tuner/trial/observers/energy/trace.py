"""What the readings of a source say of a solve: its energy, or why they are not to be believed."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from .contract import HERE, WHOLE, PowerPart, PowerSourceError

EVERY_S = 1.0
"""Seconds between two readings, as the rules of the EE HPC WG want it at least."""
FEWEST = 3
"""Readings within a solve, below which its mean power is not told."""
LONGEST_GAP_S = 3.0
"""Seconds of a solve without a reading after which the rest of them no longer tells its power."""
LEAST_PERIODS = 20
"""Of a source that tells late, in a solve whose energy is told: it may be wrong by one period, so by 5 %."""
UNKNOWN = {65535.0, 65534.0, 4294967295.0}
"""What meters tell in watts that do not know: all bits set."""
MOST_KEPT = 240
"""Powers of a solve that are kept over its time, as nodes keep of their samples."""
MOST_W = 1e6
"""Of one counter: no part of a node draws a megawatt."""


@dataclass
class Trace:
    """The readings of a source, one row a time.

    Attributes:
        period_s: how old a reading may be; 0 where each tells of its moment.
        times_s: by the kernel's monotonic clock, rising.
        rows: what each part told then.
    """

    parts: Sequence[PowerPart]
    period_s: float = 0.0
    times_s: list[float] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, time_s: float, row: Sequence[float]) -> None:
        """Note what was read."""
        self.times_s.append(time_s)
        self.rows.append(tuple(row))

    def energy_j(self, begin_s: float, end_s: float, nodes: Collection[str] = ()) -> float | None:
        """The energy from one time to another; None where the time is too short to tell.

        Args:
            nodes: whose parts count, beside those of this machine and of all nodes together.

        Raises:
            PowerSourceError: the readings cannot be true, or there are too few.
        """
        if end_s - begin_s < max(FEWEST * EVERY_S, LEAST_PERIODS * self.period_s):
            return None
        longest_gap_s = max(LONGEST_GAP_S, FEWEST * self.period_s)
        found = 0.0
        for number, part in enumerate(self.parts):
            if part.host not in {HERE, WHOLE, *nodes}:
                continue
            values = [row[number] for row in self.rows]
            tell = _counted_j if part.counts else _drawn_j
            try:
                found += tell(part, self.times_s, values, Span(begin_s, end_s, longest_gap_s))
            except PowerSourceError as error:
                raise PowerSourceError(f"{f'of {part} ' if str(part) else ''}{error}") from None
        return found

    def power_w(
        self, begin_s: float, end_s: float, nodes: Collection[str] = ()
    ) -> tuple[Sequence[float], Sequence[float]]:
        """The power of the same parts between each reading and the next: seconds since the begin, and watts.

        At most MOST_KEPT are told: of a long time they are means of more readings. A source whose readings may be old
        tells none: its counter stands still and then catches up.

        Raises:
            PowerSourceError: a counter jumped.
        """
        if self.period_s:
            return (), ()
        inside = [place for place, at in enumerate(self.times_s) if begin_s <= at <= end_s]
        step = -(-len(inside) // MOST_KEPT) or 1
        kept = inside[::step]
        total = [0.0 for _ in kept[1:]]
        for number, part in enumerate(self.parts):
            if part.host not in {HERE, WHOLE, *nodes}:
                continue
            values = [self.rows[place][number] for place in inside]
            values = _unwrapped(part, values) if part.counts else values
            for at, before in enumerate(range(0, len(inside) - step, step)):
                after = before + step
                within = values[before : after + 1]
                took_s = self.times_s[inside[after]] - self.times_s[inside[before]]
                total[at] += (within[-1] - within[0]) / took_s if part.counts else fmean(within)
        middles = [(self.times_s[one] + self.times_s[other]) / 2 - begin_s for one, other in pairwise(kept)]
        return middles, total


@dataclass(frozen=True)
class Span:
    """A solve, and for how long nothing need be read within it."""

    begin_s: float
    end_s: float
    longest_gap_s: float


def _drawn_j(part: PowerPart, times_s: Sequence[float], watts: Sequence[float], span: Span) -> float:
    """The integral of power by trapezoids; up to the ends of the solve the nearest reading within it holds."""
    del part
    begin_s, end_s = span.begin_s, span.end_s
    inside = [(at, value) for at, value in zip(times_s, watts, strict=True) if begin_s <= at <= end_s]
    for _, value in inside:
        refuse_impossible(value)
    _refuse_gaps([begin_s, *(at for at, _ in inside), end_s], span.longest_gap_s)
    if len(inside) < FEWEST:
        raise PowerSourceError(f"told {len(inside)} times in {end_s - begin_s:.1f} s, which is too seldom")
    (first_s, first), (last_s, last) = inside[0], inside[-1]
    between = sum((later - at) * (one + other) / 2 for (at, one), (later, other) in pairwise(inside))
    return first * (first_s - begin_s) + between + last * (end_s - last_s)


def refuse_impossible(value: float) -> None:
    """Refuse a power in watts that no node draws.

    Raises:
        PowerSourceError: it is none.
    """
    if not math.isfinite(value):
        raise PowerSourceError("told no number of watts")
    if value in UNKNOWN:
        raise PowerSourceError(f"told {value:.0f} W, which means that the meter does not know")
    if value <= 0:
        raise PowerSourceError(f"told {value:g} W")


def _counted_j(part: PowerPart, times_s: Sequence[float], joules: Sequence[float], span: Span) -> float:
    """How far a counter went between two times; between two readings it is taken to rise evenly."""
    begin_s, end_s = span.begin_s, span.end_s
    first = max((place for place, at in enumerate(times_s) if at <= begin_s), default=None)
    last = min((place for place, at in enumerate(times_s) if at >= end_s), default=None)
    if first is None or last is None:
        raise PowerSourceError("told nothing at the begin or the end of the solve")
    within = slice(first, last + 1)
    times, counted = list(times_s[within]), _unwrapped(part, joules[within])
    _refuse_gaps(times, span.longest_gap_s)
    for (at, one), (later, other) in pairwise(zip(times, counted, strict=True)):
        if other - one > MOST_W * (later - at):
            raise PowerSourceError(f"jumped by {other - one:.3g} J in {later - at:.1f} s")
    drawn = _at(times, counted, end_s) - _at(times, counted, begin_s)
    if drawn <= 0:
        raise PowerSourceError("told 0 W: the counter stood still")
    return drawn


def _unwrapped(part: PowerPart, joules: Sequence[float]) -> list[float]:
    """A counter as if it never began again."""
    found, more = list(joules[:1]), 0.0
    for before, after in pairwise(joules):
        if not math.isfinite(after) or after < 0:
            raise PowerSourceError(f"told {after:g} J")
        if after < before:
            # A counter that begins again stood in the last half of its range; one that was set back need not have.
            if part.range_j is None or before > part.range_j or before - after < part.range_j / 2:
                raise PowerSourceError(f"jumped back from {before:.6g} to {after:.6g} J")
            more += part.range_j
        found.append(after + more)
    return found


def _at(times: Sequence[float], values: Sequence[float], at_s: float) -> float:
    """The value at a time between two readings."""
    for (before_s, before), (after_s, after) in pairwise(zip(times, values, strict=True)):
        if before_s <= at_s <= after_s:
            part = (at_s - before_s) / (after_s - before_s) if after_s > before_s else 0.0
            return before + part * (after - before)
    return values[-1]


def _refuse_gaps(times_s: Sequence[float], longest_s: float) -> None:
    gap_s = max((after - before for before, after in pairwise(times_s)), default=0.0)
    if gap_s > longest_s:
        raise PowerSourceError(f"told nothing for {gap_s:.1f} s of the solve")
